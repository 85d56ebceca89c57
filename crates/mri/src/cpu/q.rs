//! Q on the processor: F^H W F as a multiplication on a larger grid, with a field as several between factors of voxels, and with a basis
//! as a matrix of them between images.

use super::coils::{combine, multiply};
use crate::basis::Mixing;
use crate::convolutions::{self, Convolutions};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{Buffer, reserved, zeros};
use isocenter_base::cpu::fft::{Axis, BoxFft};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Error, Result, fail};
use isocenter_nufft::Scalar;
use isocenter_nufft::toeplitz::Grids;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

/// Q and what applies it.
pub(super) struct Q<T: Scalar> {
    plan: Plan<T>,
    /// Spectra of the convolutions.
    spectra: Vec<Buffer<T>>,
    kind: Kind<T>,
}

/// What convolutions are to each other.
pub(super) enum Kind<T: Scalar> {
    Alone,
    /// A sum between factors of voxels.
    Factors(Factors<T>),
    /// A matrix between images.
    Mixed(Mixing),
}

/// What stands on both sides of each convolution, with a field.
pub(super) struct Factors<T: Scalar> {
    /// `[convolution][voxel]`
    voxels: Buffer<Complex<T>>,
    /// Workspace: an image times factors, and its convolution.
    image: Buffer<Complex<T>>,
    convolved: Buffer<Complex<T>>,
}

impl<T: Scalar> Factors<T> {
    /// Of voxels, `[convolution][voxel]`.
    pub(super) fn new(factors: Buffer<Complex<T>>, voxels: usize) -> Result<Self> {
        Ok(Self { voxels: factors, image: Buffer::zeroed(voxels)?, convolved: Buffer::zeroed(voxels)? })
    }
}

/// Convolutions of images on one grid.
pub(super) struct Plan<T: Scalar> {
    grids: Grids,
    /// The spectrum's planes (of a stack), rows and columns.
    len: [usize; 3],
    /// Between planes, and between rows.
    strides: [usize; 2],
    to_spectrum: BoxFft<T>,
    to_image: BoxFft<T>,
    /// 1, and the inverse transform's scale.
    ones: [Vec<T>; 3],
    scale: [Vec<T>; 3],
    /// On the grid of the spectrum, of each image.
    work: Vec<Buffer<Complex<T>>>,
}

/// A plane is transformed as a stack of planes of one row, so that there is work for many threads.
fn stacked<V: Copy>(grid: [V; 3], flat: bool) -> [V; 3] {
    let [z, y, x] = grid;
    if flat { [y, z, x] } else { grid }
}

/// Between planes of `ly` rows, and between rows of `lx`: odd numbers of cache lines, so that they do not crowd the same
/// lines of the first-level cache.
fn strides(ly: usize, lx: usize) -> [usize; 2] {
    const LINE: usize = 8;
    let row = (lx.div_ceil(LINE) | 1) * LINE;
    [if ly == 1 { row } else { (ly | 1) * row }, row]
}

impl<T: Scalar> Q<T> {
    /// Bytes that it holds, and those besides while it is made.
    pub(super) fn memory(of: &Convolutions) -> [u64; 2] {
        let Grids { image: grid, differences, spectrum } = of.grids;
        let count = |g: [usize; 3]| g.iter().fold(1u64, |a, n| a.saturating_mul(*n as u64));
        let (complex, convolutions) = (size_of::<Complex<T>>() as u64, of.count() as u64);
        let [_, ly, lx] = stacked(spectrum, grid[0] == 1);
        let padded = count(spectrum) / (ly * lx) as u64 * strides(ly, lx)[0] as u64;
        let spectra = (count(spectrum) * size_of::<T>() as u64).saturating_mul(convolutions);
        let (images, works) = match of.kind() {
            convolutions::Kind::Alone => (0, 1),
            convolutions::Kind::Factors => (count(grid).saturating_mul((convolutions + 2) * complex), 1),
            convolutions::Kind::Mixed(mixing) => (0, mixing.images as u64),
        };
        let held = (padded * works).saturating_mul(complex).saturating_add(spectra).saturating_add(images);
        [held, count(differences).saturating_mul(complex)]
    }

    /// Without convolutions yet.
    pub(super) fn new(grids: Grids, kind: Kind<T>) -> Result<Self> {
        let works = if let Kind::Mixed(mixing) = &kind { mixing.images } else { 1 };
        Ok(Self { plan: Plan::new(grids, works)?, spectra: Vec::new(), kind })
    }

    /// The next convolution, from q on the grid of differences.
    pub(super) fn push_kernel(&mut self, kernel: &[Complex<T>]) -> Result<()> {
        self.spectra.push(self.plan.spectrum(kernel)?);
        Ok(())
    }

    /// The next convolution, from Q as [`Q::spectrum`] gives it.
    pub(super) fn push_spectrum(&mut self, spectrum: Buffer<T>) -> Result<()> {
        if spectrum.len() != self.plan.len.iter().product::<usize>() {
            fail!(Internal, "a Q of {} values for a grid of {:?}", spectrum.len(), self.plan.len);
        }
        self.spectra.push(spectrum);
        Ok(())
    }

    /// The first convolution's Q on its grid, frequency 0 first along every axis.
    pub(super) fn spectrum(&self) -> Option<&[T]> {
        self.spectra.first().map(|s| &**s)
    }

    /// to = F^H W F from, of one coil.
    pub(super) fn apply(&mut self, from: &[Complex<T>], to: &mut [Complex<T>], job: &Job) -> Result<()> {
        let Self { plan, spectra, kind } = self;
        let Factors { voxels, image, convolved } = match kind {
            Kind::Alone => return spectra.iter().try_for_each(|spectrum| plan.convolve(spectrum, from, to)),
            Kind::Mixed(mixing) => return plan.convolve_mixed(spectra, *mixing, from, to),
            Kind::Factors(factors) => factors,
        };
        to.fill(Complex::default());
        for (spectrum, factors) in spectra.iter().zip(voxels.chunks_exact(from.len())) {
            multiply(factors, from, image);
            plan.convolve(spectrum, image, convolved)?;
            combine(factors, convolved, to);
            job.check()?;
        }
        Ok(())
    }
}

impl<T: Scalar> Plan<T> {
    fn new(grids: Grids, works: usize) -> Result<Self> {
        let Grids { image: grid, spectrum: len, .. } = grids;
        let axis = |d: usize| Axis { len: len[d], start: 0, count: grid[d] };
        let axes = stacked([axis(0), axis(1), axis(2)], grid[0] == 1);
        let len = axes.map(|a| a.len);
        let strides = strides(len[1], len[2]);
        let fft = |direction| BoxFft::new(axes, strides, direction);
        let ones = axes.map(|a| vec![T::of(1.0); a.count]);
        let scale = axes.map(|a| vec![T::of(1.0 / a.len as f64); a.count]);
        let (to_spectrum, to_image) = (fft(FftDirection::Forward)?, fft(FftDirection::Inverse)?);
        let work = (0..works).map(|_| Buffer::zeroed(to_spectrum.grid_len())).collect::<Result<_>>()?;
        Ok(Self { grids, len, strides, to_spectrum, to_image, ones, scale, work })
    }

    /// Q of q on the grid of differences.
    fn spectrum(&mut self, kernel: &[Complex<T>]) -> Result<Buffer<T>> {
        let Grids { image, differences, spectrum: len } = self.grids;
        let axis = |d: usize| {
            let count = differences[d];
            Axis { len: len[d], start: (len[d] - count / 2) % len[d], count }
        };
        let axes = stacked([axis(0), axis(1), axis(2)], image[0] == 1);
        let fft = BoxFft::new(axes, self.strides, FftDirection::Forward)?;
        let work = &mut self.work[0];
        fft.expand(kernel, &axes.map(|a| vec![T::of(1.0); a.count]), work)?;
        let ([_, ly, lx], [plane, row]) = (self.len, self.strides);
        let mut spectrum: Buffer<T> = Buffer::zeroed(len.iter().product())?;
        spectrum.par_chunks_mut(ly * lx).zip(work.par_chunks(plane)).for_each(|(to, from)| {
            for (to, from) in to.chunks_exact_mut(lx).zip(from.chunks_exact(row)) {
                to.iter_mut().zip(from).for_each(|(s, w)| *s = w.re);
            }
        });
        Ok(spectrum)
    }

    /// to = from, convolved with what has this spectrum.
    fn convolve(&mut self, spectrum: &[T], from: &[Complex<T>], to: &mut [Complex<T>]) -> Result<()> {
        let work = &mut self.work[0];
        self.to_spectrum.expand(from, &self.ones, work)?;
        let ([_, ly, lx], [plane, row]) = (self.len, self.strides);
        work.par_chunks_mut(plane).zip(spectrum.par_chunks(ly * lx)).for_each(|(work, spectrum)| {
            for (work, spectrum) in work.chunks_exact_mut(row).zip(spectrum.chunks_exact(lx)) {
                let (work, behind) = work.split_at_mut(lx);
                work.iter_mut().zip(spectrum).for_each(|(w, s)| *w = w.scale(*s));
                // It would be added to the row's beginning.
                behind.fill(Complex::default());
            }
        });
        self.to_image.crop(work, &self.scale, to)
    }

    /// The same of a matrix of convolutions between images.
    fn convolve_mixed(
        &mut self,
        spectra: &[Buffer<T>],
        mixing: Mixing,
        from: &[Complex<T>],
        to: &mut [Complex<T>],
    ) -> Result<()> {
        let voxels = self.grids.image.iter().product();
        for (work, image) in self.work.iter_mut().zip(from.chunks_exact(voxels)) {
            self.to_spectrum.expand(image, &self.ones, work)?;
        }
        let ([lz, ly, lx], [plane, row]) = (self.len, self.strides);
        let mut planes: Vec<Vec<&mut [Complex<T>]>> = reserved(lz)?;
        for _ in 0..lz {
            planes.push(reserved(mixing.images)?);
        }
        for work in &mut self.work {
            planes.iter_mut().zip(work.chunks_mut(plane)).for_each(|(planes, part)| planes.push(part));
        }
        planes.into_par_iter().enumerate().try_for_each_init(
            || zeros(mixing.images * lx),
            |rows, (z, mut planes)| {
                let rows = rows.as_mut().map_err(|e: &mut Error| e.clone())?;
                for y in 0..ly {
                    for (row_of, plane) in rows.chunks_exact_mut(lx).zip(&mut planes) {
                        let work = &mut plane[y * row..(y + 1) * row];
                        row_of.copy_from_slice(&work[..lx]);
                        // What is behind would be added to the row's beginning.
                        work.fill(Complex::default());
                    }
                    let spectrum = |index: usize| &spectra[index][(z * ly + y) * lx..][..lx];
                    mix(mixing, spectrum, rows, (&mut planes, y * row));
                }
                Ok(())
            },
        )?;
        for (work, image) in self.work.iter_mut().zip(to.chunks_exact_mut(voxels)) {
            self.to_image.crop(work, &self.scale, image)?;
        }
        Ok(())
    }
}

/// to(k) = to(k) + sum over l of T(k, l) from(l), T Hermitian, at each frequency of a row, which begins at an element of `to`.
fn mix<'s, T: Scalar>(
    mixing: Mixing,
    spectrum: impl Fn(usize) -> &'s [T],
    from: &[Complex<T>],
    (to, first): (&mut [&mut [Complex<T>]], usize),
) {
    let lx = from.len() / mixing.images;
    let row = |k: usize| &from[k * lx..][..lx];
    for k in 0..mixing.images {
        for l in k..if mixing.apart { k + 1 } else { mixing.images } {
            let real = spectrum(mixing.real(k, l));
            add(&mut to[k][first..], row(l), real, |v| v);
            if k < l {
                add(&mut to[l][first..], row(k), real, |v| v);
            }
            if k < l && mixing.complex {
                let imaginary = spectrum(mixing.imaginary(k, l));
                add(&mut to[k][first..], row(l), imaginary, |v| Complex::new(-v.im, v.re));
                add(&mut to[l][first..], row(k), imaginary, |v| Complex::new(v.im, -v.re));
            }
        }
    }
}

/// to = to + turn(factors from).
#[inline(always)]
fn add<T: Scalar>(to: &mut [Complex<T>], from: &[Complex<T>], factors: &[T], turn: impl Fn(Complex<T>) -> Complex<T>) {
    to.iter_mut().zip(from.iter().zip(factors)).for_each(|(t, (v, a))| *t = *t + turn(v.scale(*a)));
}

#[cfg(test)]
#[path = "q_tests.rs"]
mod tests;
