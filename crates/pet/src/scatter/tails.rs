//! Where histo-images have no true events: beside all that attenuates, as far as the time of flight tells.

use super::Scatter;
use super::coarse::Coarse;
use super::grid::Grid;
use isocenter_base::cpu::buffer::{copied, filled};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;

/// Attenuation of a body, 1/mm: a tenth of water's.
const BODY: f32 = 0.001;
/// Trues are so many standard deviations of the time from a body at most.
const SIGMAS: f64 = 3.5;
/// Samples of a line to either side at most. More would be those of a map that is thinner than a millimetre.
const MOST: f64 = 10_000.0;

#[derive(Debug)]
pub(crate) struct Tails {
    /// 1 where there is a body or the cell next to one.
    pub(crate) body: Grid,
    /// mm along a line.
    reach: f64,
}

impl Tails {
    pub(crate) fn new(of: &Scatter, sigma: f64) -> Result<Self> {
        let from = &of.attenuation;
        let [nx, ny, nz] = from.count;
        let mut body = Grid { values: copied(&from.values)?, ..*from };
        let is_body = |x: usize, y: usize, z: usize| from.values[(z * ny + y) * nx + x] > BODY;
        let near = |k: usize, n: usize| k.saturating_sub(1)..(k + 2).min(n);
        body.values.par_iter_mut().enumerate().for_each(|(k, v)| {
            let (x, y, z) = (k % nx, k / nx % ny, k / (nx * ny));
            let found = near(z, nz).any(|z| near(y, ny).any(|y| near(x, nx).any(|x| is_body(x, y, z))));
            *v = f32::from(u8::from(found));
        });
        Ok(Self { body, reach: SIGMAS * sigma })
    }

    /// mm from one sample of a line to the next, and how many there are to either side.
    pub(crate) fn steps(&self) -> (f64, i64) {
        let least = 0.75 * self.body.cell.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        let step = least.max(self.reach / MOST);
        (step, (self.reach / step).ceil() as i64)
    }

    /// 1 at points `[z][y][x]` from which a view's lines meet no body so near, 0 at others.
    pub(crate) fn view(&self, of: &Scatter, coarse: &Coarse, view: usize) -> Result<Vec<f32>> {
        let [nx, ny, _] = coarse.count;
        let (step, steps) = self.steps();
        let mut tail = filled(coarse.points(), 1f32)?;
        tail.par_iter_mut().enumerate().for_each(|(k, tail)| {
            let at = [k % nx, k / nx % ny, k / (nx * ny)];
            let place = [0, 1, 2].map(|d| coarse.place(d, at[d]));
            let meets = of.lines[view].iter().any(|line| {
                let (sin, cos) = line.azimuth.sin_cos();
                // From the point on: those in a body are found at once.
                (0..2 * steps + 1).any(|s| {
                    let t = (if s % 2 == 0 { s / 2 } else { -s / 2 - 1 }) as f64 * step;
                    let at = [place[0] + t * cos, place[1] + t * sin, place[2] + t * line.tangent];
                    self.body.about(at.map(|v| v as f32)) > 0.0
                })
            });
            *tail = if meets { 0.0 } else { 1.0 };
        });
        Ok(tail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A map of some nanometres, as of a wrong unit, does not keep a call busy for days.
    #[test]
    fn thin_maps_have_few_samples() {
        let of = |cell| {
            let body = Grid { values: Vec::new(), count: [0; 3], cell: [8.0, 8.0, cell], lowest: [0.0; 3] };
            Tails { body, reach: 300.0 }.steps()
        };
        assert_eq!(of(4.0), (3.0, 100));
        assert_eq!(of(1e-9), (0.03, 10_000));
    }
}
