//! What detectors blur an image with before lines cross it: a Gaussian across the scanner and one along its axis, as much as interpolation between voxels leaves of them.
//!
//! A. J. Reader, P. J. Julyan, H. Williams, D. L. Hastings, J. Zweit, IEEE Trans. Nucl. Sci. 50(5), 2003: a resolution model in the image. It is its own transpose.

use super::grid::Grid;
use crate::quadrature::nodes;
use crate::response::{FWHM_PER_SIGMA, Profile, Radial, Response};
use isocenter_base::cpu::buffer::{Buffer, filled};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Weights at steps 0, 1, ... from the middle, along x, y, z: sums over both sides are 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Blur {
    pub(crate) weights: [Vec<f32>; 3],
}

/// Of a voxel: narrower Gaussians blur nothing.
const NARROW: f64 = 0.05;
/// The square of the standard deviation that interpolation blurs by, in voxels: along z of every line that of a triangle, across of those that are nearer to the other axis, `cos^2` of it.
const ALONG: f64 = 1.0 / 6.0;
const ACROSS: f64 = ALONG * (0.5 + std::f64::consts::FRAC_1_PI);

/// Means over voxels of a Gaussian that ends at `cut` sigmas and half a voxel, by what `interpolated` leaves of it.
fn weights(sigma: f64, voxel: f64, cut: f64, interpolated: f64) -> Vec<f32> {
    let left = sigma * sigma - interpolated * voxel * voxel;
    // The means add a voxel's own, h^2 / 12.
    let left = left - voxel * voxel / 12.0;
    if left <= (NARROW * voxel).powi(2) {
        return vec![1.0];
    }
    let sigma = left.sqrt();
    let reach = (cut * sigma / voxel + 0.5).floor() as usize;
    let nodes = nodes(voxel, sigma);
    let at =
        |k: usize| nodes.iter().map(|(x, w)| w * (-0.5 * ((x + k as f64 * voxel) / sigma).powi(2)).exp()).sum::<f64>();
    let all: Vec<f64> = (0..=reach).map(at).collect();
    let sum = all[0] + 2.0 * all[1..].iter().sum::<f64>();
    all.iter().map(|v| (v / sum) as f32).collect()
}

impl Blur {
    /// Of a response that is the same everywhere; others are errors.
    pub(super) fn new(response: &Response, grid: &Grid) -> Result<Self> {
        let Radial::Constant(radial) = response.radial else {
            fail!(
                OutOfRange,
                "the response has a radial_table, and lines have one width across everywhere: set response.radial_fwhm"
            );
        };
        if response.profile != Profile::Symmetric {
            fail!(OutOfRange, "the response has an asymmetric profile, and lines have a symmetric one");
        }
        let sigmas = [radial, radial, response.axial_fwhm].map(|fwhm| fwhm / FWHM_PER_SIGMA);
        Ok(Self {
            weights: std::array::from_fn(|a| {
                weights(sigmas[a], grid.voxel[a], response.cut.k, [ACROSS, ACROSS, ALONG][a])
            }),
        })
    }

    /// Blurs an image in place; zero beyond it.
    pub(super) fn apply(&self, grid: &Grid, image: &mut Buffer<f32>) -> Result<()> {
        let [nx, ny, nz] = grid.sides;
        let [column, row, _] = grid.strides;
        let [across, up, along] = &self.weights;
        image.par_chunks_mut(row).skip(1).take(ny).try_for_each_init(
            || filled(nx.max(nz), 0.0f32),
            |room, row| {
                let room = room.as_mut().map_err(|e| e.clone())?;
                for x in 0..nx {
                    convolve(along, &mut row[(x + 1) * column + 1..][..nz], 1, nz, room);
                }
                for z in 0..nz {
                    convolve(across, &mut row[column + 1 + z..], column, nx, room);
                }
                Ok(())
            },
        )?;
        if up.len() == 1 {
            return Ok(());
        }
        let from = isocenter_base::cpu::buffer::copied(image)?;
        image.par_chunks_mut(row).skip(1).take(ny).enumerate().for_each(|(y, to)| {
            let of = |y: usize| &from[(y + 1) * row..][..row];
            to.iter_mut().zip(of(y)).for_each(|(to, v)| *to = up[0] * v);
            for (k, weight) in up.iter().enumerate().skip(1) {
                for other in [y.checked_sub(k), Some(y + k).filter(|y| *y < ny)].into_iter().flatten() {
                    to.iter_mut().zip(of(other)).for_each(|(to, v)| *to += weight * v);
                }
            }
        });
        Ok(())
    }
}

/// Convolves `n` values a stride apart; `room` has space for them.
fn convolve(weights: &[f32], values: &mut [f32], stride: usize, n: usize, room: &mut [f32]) {
    if weights.len() == 1 {
        return;
    }
    for (k, v) in room[..n].iter_mut().enumerate() {
        *v = values[k * stride];
    }
    for k in 0..n {
        let mut sum = weights[0] * room[k];
        for (j, weight) in weights.iter().enumerate().skip(1) {
            let below = k.checked_sub(j).map_or(0.0, |at| room[at]);
            let above = if k + j < n { room[k + j] } else { 0.0 };
            sum += weight * (below + above);
        }
        values[k * stride] = sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::noise;

    /// A point becomes the product of three Gaussians, each the mean over voxels of 4, 3 and 5 mm; nothing is lost but at the ends. Weights are f32, of which three are multiplied. With interpolation's part its widths are the response's.
    #[test]
    fn a_point_is_blurred_by_both_widths() {
        let grid = Grid::new([9, 15, 13], [4.0, 3.0, 5.0], [0.0; 3]).expect("a grid");
        let blur = Blur::new(&Response::new(400.0, Radial::Constant(12.0), 18.0), &grid).expect("widths");
        let mut image = grid.zeroed().expect("memory");
        image[grid.column(6, 7) + 4] = 2.0;
        blur.apply(&grid, &mut image).expect("memory");
        let sigma = |fwhm: f64, voxel: f64, interpolated: f64| {
            ((fwhm / FWHM_PER_SIGMA).powi(2) - (interpolated + 1.0 / 12.0) * voxel * voxel).sqrt()
        };
        let of_axis = [sigma(12.0, 4.0, ACROSS), sigma(12.0, 3.0, ACROSS), sigma(18.0, 5.0, ALONG)];
        let mean = |k: i64, voxel: f64, sigma: f64| {
            let at = |i: u32| voxel * (k as f64 - 0.5 + (f64::from(i) + 0.5) / 500.0);
            (0..500).map(|i| (-0.5 * (at(i) / sigma).powi(2)).exp()).sum::<f64>() / 500.0
        };
        let part = |k: i64, voxel: f64, sigma: f64| {
            let reach = (3.0 * sigma / voxel + 0.5).floor() as i64;
            let all: f64 = (-reach..=reach).map(|k| mean(k, voxel, sigma)).sum();
            if k.abs() <= reach { mean(k, voxel, sigma) / all } else { 0.0 }
        };
        for (x, y, z) in [(6, 7, 4), (7, 7, 4), (6, 5, 4), (5, 9, 6), (6, 7, 1), (12, 7, 4)] {
            let expected =
                2.0 * part(x - 6, 4.0, of_axis[0]) * part(y - 7, 3.0, of_axis[1]) * part(z - 4, 5.0, of_axis[2]);
            let found = f64::from(image[grid.column(x as usize, y as usize) + z as usize]);
            assert!((found - expected).abs() < 3e-5, "{x} {y} {z}: {found} {expected}");
        }
        let wide = |fwhm: f64, voxel: f64, interpolated: f64| {
            let weights = weights(fwhm / FWHM_PER_SIGMA, voxel, 6.0, interpolated);
            let square = |(k, w): (usize, &f32)| 2.0 * (k * k) as f64 * voxel * voxel * f64::from(*w);
            weights.iter().enumerate().map(square).sum::<f64>() + interpolated * voxel * voxel
        };
        for (fwhm, voxel, interpolated) in [(12.0, 4.0, ACROSS), (9.0, 3.0, ALONG)] {
            let right = (fwhm / FWHM_PER_SIGMA).powi(2);
            assert!((wide(fwhm, voxel, interpolated) / right - 1.0).abs() < 1e-4, "{fwhm}");
        }
    }

    /// <G a, b> = <a, G b>, to the rounding of sums of 1755 products.
    #[test]
    fn it_is_its_own_transpose() {
        let grid = Grid::new([9, 15, 13], [4.0, 3.0, 5.0], [0.0; 3]).expect("a grid");
        let blur = Blur::new(&Response::new(400.0, Radial::Constant(9.0), 14.0), &grid).expect("widths");
        let [a, b] = [1, 2].map(|seed| {
            let (values, mut image) = (noise(9 * 15 * 13, seed), grid.zeroed().expect("memory"));
            grid.fill(&mut image, |x, y, column| {
                column.iter_mut().enumerate().for_each(|(z, v)| *v = values[(z * 15 + y) * 13 + x]);
            });
            image
        });
        let blurred = |from: &Buffer<f32>| {
            let mut to = grid.zeroed().expect("memory");
            to.copy_from_slice(from);
            blur.apply(&grid, &mut to).expect("memory");
            to
        };
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        let (left, right) = (dot(&blurred(&a), &b), dot(&a, &blurred(&b)));
        assert!((left - right).abs() < 1e-6 * left.abs(), "{left} {right}");
    }
}
