//! Images that change while samples are taken, as sums of a few: subspace models.
//!
//! Sample m of a coil is the sum over k of `basis(m, k) (F rho_k)(m)`, where the basis has a row for each time and a column for each image
//! rho_k. F^H W F is then a matrix of convolutions, the one of images k and l with density weights `w_m conj(basis(m, k)) basis(m, l)`:
//! as many multiplications on the doubled grid, whatever the number of times. J. I. Tamir et al., "T2 shuffling: sharp, multicontrast,
//! volumetric fast spin-echo imaging", Magn. Reson. Med. 77, 2017; M. Mani et al., "Fast iterative algorithm for the reconstruction of
//! multishot non-Cartesian diffusion data", Magn. Reson. Med. 74, 2015.

use isocenter_base::cpu::buffer::{Buffer, copied};
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of images.
pub(super) const MAX_IMAGES: usize = 64;

/// What each sample sees of each image.
#[derive(Debug)]
pub(super) struct Basis {
    images: usize,
    /// `[row][image]`
    values: Arc<Vec<Complex<f64>>>,
    /// The row of each sample.
    rows: Vec<u32>,
    /// Each sample sees one image.
    apart: bool,
}

impl Basis {
    /// From `values[row][image]`; `rows` has the row of each sample, None for a row a sample.
    pub(super) fn new(values: Vec<Complex<f64>>, images: usize, rows: Option<&[i64]>, samples: usize) -> Result<Self> {
        if !(1..=MAX_IMAGES).contains(&images) {
            fail!(OutOfRange, "basis has {images} columns; it must have 1 to {MAX_IMAGES}, one an image");
        }
        let times = values.len() / images;
        if rows.is_none() && times != samples {
            fail!(
                TensorShape,
                "basis has {times} rows, the trajectory {samples} samples; with as many rows as times, `times` says which is a sample's"
            );
        }
        let mut own = isocenter_base::cpu::buffer::reserved(samples)?;
        for m in 0..samples {
            let row = rows.map_or(m as i64, |rows| rows[m]);
            match u32::try_from(row) {
                Ok(r) if (r as usize) < times => own.push(r),
                _ => fail!(OutOfRange, "times[{m}] is {row}; it must be 0 to {}, a row of the basis", times as i64 - 1),
            }
        }
        let used = |k: usize| own.iter().any(|r| values[*r as usize * images + k] != Complex::default());
        if let Some(k) = (0..images).find(|k| !used(*k)) {
            fail!(OutOfRange, "column {k} of basis is 0 at every sample: no sample sees that image");
        }
        Ok(Self { images, values: Arc::new(values), rows: own, apart: false })
    }

    /// A basis of shots, each of which sees an image of its own: `shots` has that of each sample.
    pub(super) fn of_shots(shots: &[i64], count: usize) -> Result<Self> {
        if !(1..=MAX_IMAGES).contains(&count) {
            fail!(OutOfRange, "phases are of {count} shots; there must be 1 to {MAX_IMAGES}");
        }
        let mut rows = isocenter_base::cpu::buffer::reserved(shots.len())?;
        for (m, shot) in shots.iter().enumerate() {
            match u32::try_from(*shot) {
                Ok(s) if (s as usize) < count => rows.push(s),
                _ => fail!(OutOfRange, "shots[{m}] is {shot}; it must be 0 to {}, a shot that phases has", count - 1),
            }
        }
        let one = |k: usize| Complex::new(f64::from(u8::from(k.is_multiple_of(count + 1))), 0.0);
        let values = isocenter_base::cpu::buffer::collected((0..count * count).map(one))?;
        Ok(Self { images: count, values: Arc::new(values), rows, apart: true })
    }

    /// Of a part of the samples.
    pub(super) fn part(&self, range: &Range<usize>) -> Result<Self> {
        let rows = copied(&self.rows[range.clone()])?;
        Ok(Self { images: self.images, values: self.values.clone(), rows, apart: self.apart })
    }

    pub(super) fn images(&self) -> usize {
        self.images
    }

    fn is_real(&self) -> bool {
        self.values.iter().all(|v| v.im == 0.0)
    }

    fn at(&self, sample: usize, image: usize) -> Complex<f64> {
        self.values[self.rows[sample] as usize * self.images + image]
    }

    /// `[image][sample]`
    pub(super) fn of_samples<T: Scalar>(&self) -> Result<Buffer<Complex<T>>> {
        let samples = self.rows.len();
        let mut out = Buffer::<Complex<T>>::zeroed(self.images * samples)?;
        for (k, out) in out.chunks_exact_mut(samples.max(1)).enumerate() {
            out.iter_mut().enumerate().for_each(|(m, o)| *o = narrow(self.at(m, k)));
        }
        Ok(out)
    }

    /// The convolutions that F^H W F is a matrix of.
    pub(super) fn mixing(&self) -> Mixing {
        Mixing { images: self.images, complex: !self.is_real(), apart: self.apart }
    }

    /// What samples count in one of them, without density weights.
    pub(super) fn of_convolution<T: Scalar>(&self, index: usize, samples: &mut [Complex<T>]) {
        let (pairs, [k, l]) = (self.mixing().pairs(), self.mixing().pair(index));
        for (m, out) in samples.iter_mut().enumerate() {
            let product = self.at(m, k).conj() * self.at(m, l);
            *out = narrow(Complex::new(if index < pairs { product.re } else { product.im }, 0.0));
        }
    }
}

fn narrow<T: Scalar>(v: Complex<f64>) -> Complex<T> {
    Complex::new(T::of(v.re), T::of(v.im))
}

/// A Hermitian matrix of convolutions between images: the real parts of pairs (k, l), k at most l, column after column, and where there
/// are any, the imaginary parts of those with k below l. The weights of each are real, and so is its Q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mixing {
    pub(super) images: usize,
    pub(super) complex: bool,
    /// Nothing is between two images: there are those of each image with itself, in their order.
    pub(super) apart: bool,
}

impl Mixing {
    /// Pairs (k, l), k at most l.
    pub(super) fn pairs(self) -> usize {
        self.images * (self.images + 1) / 2
    }

    /// Convolutions.
    pub(super) fn count(self) -> usize {
        match self {
            Self { apart: true, images, .. } => images,
            Self { complex: true, images, .. } => images * images,
            _ => self.pairs(),
        }
    }

    /// Where the real part of a pair is, k at most l.
    pub(super) fn real(self, k: usize, l: usize) -> usize {
        if self.apart { l } else { l * (l + 1) / 2 + k }
    }

    /// Where the imaginary part of a pair is, k below l.
    pub(super) fn imaginary(self, k: usize, l: usize) -> usize {
        self.pairs() + self.real(k, l) - l
    }

    /// The pair that a convolution is of.
    fn pair(self, index: usize) -> [usize; 2] {
        if self.apart {
            return [index; 2];
        }
        let all = (0..self.images).flat_map(|k| (k..self.images).map(move |l| [k, l]));
        let is = |[k, l]: &[usize; 2]| {
            self.real(*k, *l) == index || (self.complex && k < l && self.imaginary(*k, *l) == index)
        };
        all.into_iter().find(is).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_convolution_has_a_place() {
        for images in 1..7 {
            for complex in [false, true] {
                let mixing = Mixing { images, complex, apart: false };
                let mut places = Vec::new();
                for k in 0..images {
                    for l in k..images {
                        places.push((mixing.real(k, l), [k, l]));
                        if complex && k < l {
                            places.push((mixing.imaginary(k, l), [k, l]));
                        }
                    }
                }
                places.sort_unstable();
                assert!(places.iter().enumerate().all(|(i, (place, _))| *place == i), "{images} {complex}: {places:?}");
                assert_eq!(places.len(), mixing.count());
                assert!(places.iter().all(|(place, pair)| mixing.pair(*place) == *pair));
            }
            let apart = Mixing { images, complex: false, apart: true };
            assert_eq!(apart.count(), images);
            assert!((0..images).all(|k| apart.real(k, k) == k && apart.pair(k) == [k, k]));
        }
    }
}
