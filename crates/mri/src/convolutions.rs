//! F^H W F as a convolution, or with a field as a sum of several between factors of voxels.
//!
//! Element (r, r') is `sum_m w_m exp(-(conj(z(r)) + z(r')) t_m) exp(+2 pi i k_m . (r - r'))`, z = decay + 2 pi i frequency. With
//! `exp(-u t) = sum over l of b_l(t) exp(-u t_l)` for the sums u of all pairs, F^H W F is the sum over l of `D_l^H T_l D_l`: factors of
//! voxels `D_l = exp(-z t_l)`, and T_l the convolution of density weights `w_m b_l(t_m)`. Values u come with their conjugates, so that b_l
//! and Q of T_l are real and the sum is Hermitian; it may have eigenvalues below 0, by no more than its error. J. A. Fessler, S. Lee,
//! V. T. Olafsson, H. R. Shi, D. C. Noll, IEEE Trans. Signal Process. 53, 2005.

use super::basis::{Basis, Mixing};
use super::engine::{Engine, Solve};
use super::segments::{Field, MAX_TURNS, Rates, Segments};
use super::transform::{Effects, Fourier, SHARES};
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::error::{Error, Result, Status, fail};
use isocenter_nufft::Scalar;
use isocenter_nufft::toeplitz::Grids;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Roundings that the sum of all convolutions makes anyway, so that more of them gain nothing.
const ROUNDINGS: f64 = 30.0;

/// What F^H W F is a sum of.
pub(super) struct Convolutions {
    /// How the sums that make Q are computed.
    pub(super) fourier: Fourier,
    pub(super) grids: Grids,
    of: Of,
}

enum Of {
    Alone,
    Field(Segments, Arc<Field>),
    Basis(Arc<Basis>),
}

/// What convolutions are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Alone,
    /// A sum between factors of voxels.
    Factors,
    /// A matrix between images.
    Mixed(Mixing),
}

impl Effects {
    /// An error if F^H W F is no sum of convolutions.
    pub(super) fn check_convolutions(&self) -> Result<()> {
        if self.positions.is_some() {
            fail!(
                NotConfigured,
                "with voxel positions F^H W F is no convolution, so that there is no Q: options.normal cannot be 1 (toeplitz)"
            );
        }
        if self.field.is_some() && self.basis.is_some() {
            fail!(
                NotConfigured,
                "with a field map and a basis, convolutions would be as many as for both: options.normal must be 0 (auto) or 2 (pair)"
            );
        }
        // Between pairs of voxels frequencies reach twice as far as between voxels.
        let (turns, most) = (self.field.as_ref().map_or(0.0, |f| f.turns()), MAX_TURNS / 2.0);
        if turns > most {
            fail!(
                OutOfRange,
                "between its fastest and its slowest voxel the field turns {turns:.0} times while samples are taken; Q takes {most} times: are times in seconds, and is the field in Hz? Else options.normal must be 0 (auto) or 2 (pair)"
            );
        }
        Ok(())
    }
}

impl Convolutions {
    /// With a field as many as the tolerance takes, or where sums are exact as rounding does.
    pub(super) fn new(fourier: &Fourier, grids: Grids, effects: &Effects, round_off: f64) -> Result<Self> {
        effects.check_convolutions()?;
        let Some(field) = &effects.field else {
            let of = effects.basis.as_ref().map_or(Of::Alone, |basis| Of::Basis(basis.clone()));
            return Ok(Self { fourier: *fourier, grids, of });
        };
        let [products, transforms] = match fourier.is_exact(effects)? {
            true => [ROUNDINGS * round_off, fourier.tolerance],
            false => SHARES.map(|share| share * fourier.tolerance),
        };
        let segments = Segments::new(&Rates::of_pairs(field)?, &field.seconds, products)?;
        Ok(Self {
            fourier: Fourier { tolerance: transforms, ..*fourier },
            grids,
            of: Of::Field(segments, field.clone()),
        })
    }

    /// How many.
    pub(super) fn count(&self) -> usize {
        match &self.of {
            Of::Alone => 1,
            Of::Field(segments, _) => segments.terms(),
            Of::Basis(basis) => basis.mixing().count(),
        }
    }

    pub(super) fn kind(&self) -> Kind {
        match &self.of {
            Of::Alone => Kind::Alone,
            Of::Field(..) => Kind::Factors,
            Of::Basis(basis) => Kind::Mixed(basis.mixing()),
        }
    }

    /// Those that a field or a basis takes, and their relative l2 error; 0 without.
    pub(super) fn terms(&self) -> (usize, f64) {
        match &self.of {
            Of::Alone => (0, 0.0),
            Of::Field(segments, _) => (segments.terms(), segments.error()),
            Of::Basis(_) => (self.count(), 0.0),
        }
    }

    /// Factors of voxels, `[convolution][voxel]`; None without a field.
    pub(super) fn of_voxels<T: Scalar>(&self) -> Result<Option<Buffer<Complex<T>>>> {
        match &self.of {
            Of::Field(segments, field) => segments.of_voxels(field).map(Some),
            _ => Ok(None),
        }
    }

    /// What samples count in a convolution, without density weights.
    pub(super) fn of_samples<T: Scalar>(&self, index: usize, samples: &mut [Complex<T>]) {
        match &self.of {
            Of::Alone => samples.fill(Complex::new(T::of(1.0), T::of(0.0))),
            Of::Field(segments, field) => segments.of_term(index, &field.seconds, samples),
            Of::Basis(basis) => basis.of_convolution(index, samples),
        }
    }
}

/// Checks that there is memory for a solution; if Q takes too much, and the plan may choose, pairs of transforms take its place.
pub(super) fn fitting<E: Engine>(engine: &mut E, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<Solve> {
    match engine.check_memory(context, fourier, solve) {
        Err(e) if solve.or_pairs && e.status == Status::MemoryCap => {
            tell_of_pairs(context, &e);
            let pairs = Solve { toeplitz: false, or_pairs: false, ..*solve };
            engine.check_memory(context, fourier, &pairs).map(|()| pairs)
        }
        checked => checked.map(|()| *solve),
    }
}

/// Why F^H W F goes by pairs of transforms.
pub(super) fn tell_of_pairs(context: &Context, error: &Error) {
    context.log(LogLevel::Info, || {
        format!("F^H W F goes by pairs of transforms, since there is no memory for Q: {}", error.message)
    });
}
