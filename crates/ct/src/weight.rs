//! The weight of total variation that projections ask for: that of their noise, by what is left of them.
//!
//! Noise of a deviation s asks for some s sqrt(views) pixel. What pixels cannot show of edges asks for more, and looks like noise in what an image leaves of the
//! data. So some slices are made by total variation of a weight that the noise asks for, and q, the deviation of what they leave over s, says how much more.
//! The exponents and the factor are those that come nearest to the best weights of 576 simulated scans: Shepp-Logan's phantom, ellipses and foam, projected at
//! bins' centres, as means over bins and by the pair, 64 to 512 pixels, 30 to 180 views, noise of 0.3 to 3 % (`benches/results/2026-11-30-suggested-weight.md`).

use super::geometry::{Geometry, Order};
use super::iterative::options::{Algorithm, Iterative};
use super::options::Options;
use super::output::Pass;
use super::plan::Ct;
use super::rows::source::spread;
use super::slab::Arrays;
use super::task::Operator;
use isocenter_base::array::{Array, ArrayMut, DType};
use isocenter_base::context::Part;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::error::{Result, fail};
use std::ops::Range;

/// What projections ask for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suggested {
    /// Weight of total variation, in the length unit.
    pub weight: f64,
    /// Standard deviation of the noise of a line integral.
    pub noise: f64,
}

/// Weight of the slices that are looked at, in s sqrt(views) pixel.
const FIRST: f64 = 0.5;
/// Weight that is suggested where q is 1 and slices have [`SIDE`] pixels across, in s sqrt(views) pixel.
const FACTOR: f64 = 0.7;
const SIDE: f64 = 64.0;
/// Exponents of q, and of the pixels across: parts of an object are larger where there are more.
const OF_LEFT: f64 = 1.6;
const OF_SIDE: f64 = 0.7;
/// What is left of an object that a slice does not hold says nothing.
const LARGEST: f64 = 8.0;
/// Slices that are looked at, and iterations: what they leave is where it stays to a hundredth.
const SLICES: usize = 4;
const ITERATIONS: usize = 60;

/// Parts of the call's work that are done by then.
const NOISE: f64 = 0.05;
const READ: f64 = 0.1;
const ITERATED: f64 = 0.98;

fn part(of: Range<f64>) -> Part {
    Part { before: of.start, share: of.end - of.start, last: of.end == 1.0 }
}

impl Ct {
    /// Suggests a weight of total variation: see `isoc_ct_suggest_regularisation`.
    pub fn suggest_regularisation(&self, projections: Array) -> Result<Suggested> {
        let noise = self.noise_as(part(0.0..NOISE), projections)?;
        let g = self.geometry()?;
        let unit = noise * (g.views() as f64).sqrt() * g.pixel_size;
        if noise == 0.0 {
            self.context.run_part(part(NOISE..1.0), |_| Ok(()))?;
            return Ok(Suggested { weight: 0.0, noise });
        }
        let q = (self.left(&projections, FIRST * unit)? / noise).min(LARGEST);
        let across = g.nx.min(g.ny) as f64 / SIDE;
        Ok(Suggested { weight: FACTOR * unit * q.powf(OF_LEFT) * across.powf(OF_SIDE), noise })
    }

    /// Deviation of what slices of total variation of this weight leave of the data.
    fn left(&self, projections: &Array, regularisation: f64) -> Result<f64> {
        let source = self.source(projections)?;
        let (g, cap) = (source.geometry, self.context.memory_cap(0));
        let (rays, pixels) = (g.views() * g.bins, g.ny * g.nx);
        let bytes = 4 * (2 * rays + pixels) as u64;
        // A quarter of it: the iterations take several times as much.
        let count = (SLICES as u64).min(cap / 4 / bytes) as usize;
        if count == 0 {
            fail!(MemoryCap, "memory_cap is {cap} bytes; a slice that tells the weight needs at least {}", 4 * bytes);
        }
        let slices = spread(count, g.slices)?;
        let views: Vec<usize> = collected(0..g.views())?;
        let mut data = zeros(slices.len() * rays)?;
        self.context.run_part(part(NOISE..READ), |job| {
            for (slice, data) in slices.iter().zip(data.chunks_exact_mut(rays)) {
                job.check()?;
                source.read(*slice, &views, data)?;
            }
            Ok(())
        })?;
        let some =
            Geometry { order: Order::Sinograms, first_row: 0, slices: slices.len(), rows: slices.len(), ..g.clone() };
        let [rows, volume] = [some.projection_shape(), some.volume_shape()];
        let mut ct = Ct::new(self.context.clone());
        ct.set_geometry(some)?;
        let Options { pair, tolerance, .. } = *self.options();
        ct.set_options(Options { algorithm: Algorithm::TotalVariation, pair, tolerance, ..Options::default() })?;
        let Iterative { bounds: [lower, upper], mask_radius, .. } = *self.iterative();
        let bounds = if lower.is_finite() { [lower, upper] } else { [0.0, f64::INFINITY] };
        ct.set_iterative(Iterative {
            iterations: ITERATIONS,
            tolerance: 1e-3,
            regularisation,
            bounds,
            mask_radius,
            ..Iterative::default()
        })?;
        let mut images = zeros(slices.len() * pixels)?;
        let mut run = |operator, range, source: Array, target: ArrayMut| {
            let (arrays, pass) = (Arrays::whole(&source, &target), Pass { part: part(range), ..Pass::DIRECT });
            ct.ask(operator, DType::F32, pass, |engine, context, task| engine.run(context, task, &arrays))
        };
        run(Operator::Iterate, READ..ITERATED, Array::new(&data, rows)?, ArrayMut::new(&mut images, volume)?)?;
        let mut seen = zeros(data.len())?;
        run(Operator::Forward, ITERATED..1.0, Array::new(&images, volume)?, ArrayMut::new(&mut seen, rows)?)?;
        let square: f64 = data.iter().zip(&seen).map(|(b, a)| f64::from(b - a).powi(2)).sum();
        Ok((square / data.len() as f64).sqrt())
    }
}
