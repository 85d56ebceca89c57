//! Wavelet transforms of images on the processor, thresholds between.
//!
//! Each element of an axis's result is a sum over at most 8 elements of the axis; along z and y these are whole rows. Shifts are part
//! of the first pass's and the last one's reading.

use crate::wavelets::{TAPS, Wavelets, halves};
use isocenter_base::cpu::buffer::{Buffer, reserved, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use isocenter_solve::cpu::GRAIN;
use rustfft::num_complex::Complex;

/// Along an axis: of each element of the result, the elements that it is a sum of, and their factors.
struct Sums<T> {
    from: Vec<[usize; TAPS]>,
    factors: Vec<[T; TAPS]>,
}

/// The two directions of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Split,
    Join,
}

impl<T: Scalar> Sums<T> {
    /// For `n` elements, which were shifted by so many before they were split, and are back after they were joined.
    fn new(wavelets: &Wavelets, n: usize, shift: usize, way: Way) -> Self {
        let (averages, even) = halves(n);
        let (half, taps) = (even / 2, wavelets.taps);
        let mut made = Self { from: Vec::new(), factors: Vec::new() };
        for at in 0..n {
            let (mut from, mut factors) = ([0; TAPS], [T::ZERO; TAPS]);
            match way {
                // The last of an odd length passes.
                Way::Split if at == half && averages > half => {
                    (from[0], factors[0]) = ((n - 1 + shift) % n, T::of(1.0));
                }
                Way::Split => {
                    let (filter, i) = if at < half { (0, at) } else { (1, at - averages) };
                    for k in 0..taps {
                        from[k] = ((2 * i + k) % even + shift) % n;
                        factors[k] = T::of(wavelets.filters[filter][k]);
                    }
                }
                Way::Join => {
                    let at = (at + n - shift) % n;
                    if at == even {
                        (from[0], factors[0]) = (half, T::of(1.0));
                    } else {
                        for s in 0..taps / 2 {
                            // Whole turns more, so that the difference is no less than 0.
                            let i = (at / 2 + TAPS * half - s) % half;
                            let k = at % 2 + 2 * s;
                            (from[2 * s], factors[2 * s]) = (i, T::of(wavelets.filters[0][k]));
                            (from[2 * s + 1], factors[2 * s + 1]) = (averages + i, T::of(wavelets.filters[1][k]));
                        }
                    }
                }
            }
            made.from.push(from);
            made.factors.push(factors);
        }
        made
    }
}

/// out = a sum of rows.
struct RowSum<'a, T> {
    rows: [&'a [Complex<T>]; TAPS],
    factors: [T; TAPS],
    out: &'a mut [Complex<T>],
}

impl<T: Scalar> Plain for RowSum<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { rows, factors, out } = self;
        let count = out.len();
        let rows = rows.map(|r| &r[..count]);
        for i in 0..count {
            let mut sum = Complex::new(T::ZERO, T::ZERO);
            for k in 0..TAPS {
                sum = sum + rows[k][i].scale(factors[k]);
            }
            out[i] = sum;
        }
    }
}

/// Each element of a row is a sum of elements of another.
struct Within<'a, T> {
    row: &'a [Complex<T>],
    sums: &'a Sums<T>,
    out: &'a mut [Complex<T>],
}

impl<T: Scalar> Plain for Within<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for ((from, factors), out) in self.sums.from.iter().zip(&self.sums.factors).zip(self.out) {
            let mut sum = Complex::new(T::ZERO, T::ZERO);
            for k in 0..TAPS {
                sum = sum + self.row[from[k]].scale(factors[k]);
            }
            *out = sum;
        }
    }
}

/// Transforms of images of one size.
pub(crate) struct CpuWavelets<T: Scalar> {
    level: Level,
    work: Buffer<Complex<T>>,
}

impl<T: Scalar> CpuWavelets<T> {
    pub(super) fn new(level: Level, voxels: usize) -> Result<Self> {
        Ok(Self { level, work: Buffer::zeroed(voxels)? })
    }

    /// Coefficients in the place of an image, or the other way round.
    fn transform(&mut self, wavelets: &Wavelets, shift: [usize; 3], way: Way, image: &mut [Complex<T>]) {
        let last = wavelets.levels.len();
        for turn in 0..last {
            let depth = if way == Way::Split { turn } else { last - 1 - turn };
            let level = wavelets.levels[depth];
            for axis in 0..3 {
                // Joined in the other order.
                let axis = if way == Way::Split { 2 - axis } else { axis };
                if !level.split[axis] {
                    continue;
                }
                let by = if depth == 0 { shift[axis] } else { 0 };
                let sums = Sums::new(wavelets, level.size[axis], by, way);
                self.along(axis, wavelets.grid, level.size, &sums, image);
                copy(wavelets.grid, level.size, &self.work, image);
            }
        }
    }

    /// work = sums along an axis, of the part of this size.
    fn along(&mut self, axis: usize, grid: [usize; 3], size: [usize; 3], sums: &Sums<T>, image: &[Complex<T>]) {
        let ([_, ny, nx], level) = (grid, self.level);
        let rows = self.work.par_chunks_mut(nx).with_min_len((1usize << 12).div_ceil(nx)).enumerate();
        rows.for_each(|(row, out)| {
            let (z, y) = (row / ny, row % ny);
            if z >= size[0] || y >= size[1] {
                return;
            }
            let out = &mut out[..size[2]];
            let line = |z: usize, y: usize| &image[(z * ny + y) * nx..][..size[2]];
            match axis {
                0 => {
                    let rows = sums.from[z].map(|z| line(z, y));
                    vectorised(level, RowSum { rows, factors: sums.factors[z], out });
                }
                1 => {
                    let rows = sums.from[y].map(|y| line(z, y));
                    vectorised(level, RowSum { rows, factors: sums.factors[y], out });
                }
                _ => vectorised(level, Within { row: line(z, y), sums, out }),
            }
        });
    }

    fn transform_all(&mut self, wavelets: &Wavelets, shift: [usize; 3], way: Way, images: &mut [Complex<T>]) {
        let voxels = self.work.len();
        images.chunks_exact_mut(voxels).for_each(|image| self.transform(wavelets, shift, way, image));
    }

    /// Replaces images by those whose coefficients are smaller by a threshold, down to 0, the length of those at one place over all images;
    /// the sum of what is left of these lengths.
    pub(super) fn soften(
        &mut self,
        wavelets: &Wavelets,
        shift: [usize; 3],
        threshold: f64,
        images: &mut [Complex<T>],
    ) -> Result<f64> {
        let (threshold, level, voxels) = (T::of(threshold), self.level, self.work.len());
        self.transform_all(wavelets, shift, Way::Split, images);
        let mut parts: Vec<f64> = zeros(voxels.div_ceil(GRAIN))?;
        let count = images.len() / voxels;
        if count == 1 {
            let pairs = parts.par_iter_mut().zip(images.par_chunks_mut(GRAIN));
            pairs.for_each(|(part, values)| *part = vectorised(level, Soften { values, threshold }));
        } else {
            // The same chunk of each image.
            let mut chunks: Vec<Vec<&mut [Complex<T>]>> = reserved(parts.len())?;
            for _ in 0..parts.len() {
                chunks.push(reserved(count)?);
            }
            for image in images.chunks_exact_mut(voxels) {
                chunks.iter_mut().zip(image.chunks_mut(GRAIN)).for_each(|(of_all, chunk)| of_all.push(chunk));
            }
            parts.par_iter_mut().zip(chunks).for_each_init(
                || vec![T::ZERO; GRAIN],
                |squares, (part, images)| *part = vectorised(level, SoftenTogether { images, squares, threshold }),
            );
        }
        self.transform_all(wavelets, shift, Way::Join, images);
        Ok(parts.iter().sum())
    }

    /// The sum of these lengths, and the largest; coefficients take the place of the images.
    pub(super) fn sizes(
        &mut self,
        wavelets: &Wavelets,
        shift: [usize; 3],
        images: &mut [Complex<T>],
    ) -> Result<[f64; 2]> {
        self.transform_all(wavelets, shift, Way::Split, images);
        let voxels = self.work.len();
        let mut parts: Vec<[f64; 2]> = zeros(voxels.div_ceil(GRAIN))?;
        let images = &*images;
        parts.par_iter_mut().enumerate().for_each(|(chunk, part)| {
            for i in chunk * GRAIN..voxels.min((chunk + 1) * GRAIN) {
                let squares = images[i..].iter().step_by(voxels).map(|v| v.norm_sqr().wide());
                let size = squares.sum::<f64>().sqrt();
                *part = [part[0] + size, part[1].max(size)];
            }
        });
        Ok([parts.iter().map(|p| p[0]).sum(), parts.iter().map(|p| p[1]).fold(0.0, f64::max)])
    }
}

/// As [`Soften`], of the length over several images.
struct SoftenTogether<'a, T> {
    images: Vec<&'a mut [Complex<T>]>,
    /// Room.
    squares: &'a mut [T],
    threshold: T,
}

impl<T: Scalar> Plain for SoftenTogether<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let Self { images, squares, threshold } = self;
        squares.fill(T::ZERO);
        for image in &images {
            squares.iter_mut().zip(&**image).for_each(|(s, v)| *s = *s + v.norm_sqr());
        }
        let (mut sum, count) = (0.0, images.first().map_or(0, |image| image.len()));
        for s in &mut squares[..count] {
            let size = s.root();
            let left = (size - threshold).larger(T::ZERO);
            *s = (left / size).larger(T::ZERO);
            sum += left.wide();
        }
        for image in images {
            image.iter_mut().zip(&*squares).for_each(|(v, factor)| *v = v.scale(*factor));
        }
        sum
    }
}

/// Values smaller by a threshold, down to 0, and the sum of their absolute values.
struct Soften<'a, T> {
    values: &'a mut [Complex<T>],
    threshold: T,
}

impl<T: Scalar> Plain for Soften<'_, T> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut sum = 0.0;
        for v in self.values {
            let size = v.norm_sqr().root();
            let left = (size - self.threshold).larger(T::ZERO);
            // 0 / 0 where both are: then it is the 0 that stays.
            *v = v.scale((left / size).larger(T::ZERO));
            sum += left.wide();
        }
        sum
    }
}

/// Copies the part of this size.
fn copy<T: Scalar>(grid: [usize; 3], size: [usize; 3], from: &[Complex<T>], to: &mut [Complex<T>]) {
    let [_, ny, nx] = grid;
    let rows = to.par_chunks_mut(nx).zip(from.par_chunks(nx)).with_min_len((1usize << 13).div_ceil(nx)).enumerate();
    rows.for_each(|(row, (to, from))| {
        if row / ny < size[0] && row % ny < size[1] {
            to[..size[2]].copy_from_slice(&from[..size[2]]);
        }
    });
}

#[cfg(test)]
#[path = "wavelets_tests.rs"]
mod tests;
