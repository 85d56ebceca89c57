//! Whether samples can tell an image from its fold-overs.

use rustfft::num_complex::Complex;

/// Voxels on either side of a peak that belong to it.
const SIDE: usize = 3;
/// Energy of another peak, relative to that of the first, from which on there is nothing to tell the two apart by.
const ALIKE: f64 = 0.9;

/// The axis along which the response of a grid `[z][y][x]` to its first voxel has a second peak as high as the first: all samples are on
/// lines that are further apart than the field of view asks for.
pub(super) fn folded_axis(response: &[Complex<f64>], [nz, ny, nx]: [usize; 3]) -> Option<&'static str> {
    let axes = [("z", nz, ny * nx), ("y", ny, nx), ("x", nx, 1)];
    axes.into_iter().find(|(_, n, step)| is_repeated(response.iter().step_by(*step).take(*n))).map(|(name, ..)| name)
}

fn is_repeated<'a>(line: impl Iterator<Item = &'a Complex<f64>>) -> bool {
    let line: Vec<f64> = line.map(Complex::norm_sqr).collect();
    if line.len() <= 2 * SIDE + 1 {
        return false;
    }
    // The other side of the first peak is its mirror image.
    let first = line[0] + 2.0 * line[1..=SIDE].iter().sum::<f64>();
    line[SIDE + 1..].windows(2 * SIDE + 1).any(|near| near.iter().sum::<f64>() >= ALIKE * first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// The response of lines at these cycles per field of view along y, of 32 voxels, sampled as x asks for.
    fn response(lines: &[f64]) -> Vec<Complex<f64>> {
        let (ny, nx) = (32, 9);
        let value = |y: usize| lines.iter().map(|k| Complex::cis(TAU * k * y as f64 / ny as f64)).sum::<Complex<f64>>();
        (0..ny * nx).map(|i| if i % nx == 0 { value(i / nx) } else { Complex::default() }).collect()
    }

    #[test]
    fn regular_lines_repeat_and_others_do_not() {
        let regular = |factor: usize| (0..32).step_by(factor).map(|k| k as f64 - 16.0).collect::<Vec<_>>();
        let grid = [1, 32, 9];
        assert_eq!(folded_axis(&response(&regular(1)), grid), None);
        // Of 3 peaks lie between voxels.
        for factor in [2, 3, 4] {
            assert_eq!(folded_axis(&response(&regular(factor)), grid), Some("y"), "{factor}");
        }
        let mut with_middle = regular(2);
        with_middle.extend([-3.0, -1.0, 1.0, 3.0]);
        assert_eq!(folded_axis(&response(&with_middle), grid), None);
    }
}
