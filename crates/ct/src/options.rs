//! How a plan reconstructs.

use super::iterative::options::Algorithm;
use super::rows::filter::{Filter, Padding};
use super::rows::kind::InputKind;
use isocenter_base::error::{Result, fail};
use std::ops::RangeInclusive;

/// How a row is read between its bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Linear, exact in f32.
    #[default]
    Linear,
    /// The nearest bin.
    Nearest,
    /// The nearest of four samples a bin.
    Oversampled,
    /// By the trigonometric polynomial through the row's samples and zeros beyond them.
    BandLimited,
}

/// How a pixel reads a row from the samples next to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampling {
    Linear,
    Nearest,
    Oversampled,
}

impl Interpolation {
    /// None for what takes all of the row.
    pub(super) fn sampling(self) -> Option<Sampling> {
        match self {
            Self::Linear => Some(Sampling::Linear),
            Self::Nearest => Some(Sampling::Nearest),
            Self::Oversampled => Some(Sampling::Oversampled),
            Self::BandLimited => None,
        }
    }
}

/// What `forward` and `adjoint` are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pair {
    /// Joseph's line integrals.
    #[default]
    Joseph,
    /// Line integrals of the band-limited function through the pixels.
    BandLimited,
}

/// Family of back projectors on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// The fastest that keeps the precision asked for.
    #[default]
    Auto,
    /// Texture units with everybody's mapping of threads to pixels.
    TextureStandard,
    /// Texture units, pixels in squares.
    Texture,
    /// Bins cached in shared memory, interpolated in f32.
    Alu,
    /// Texture and shared-memory blocks side by side.
    Hybrid,
    /// Weights times data on tensor cores.
    Tensor,
}

impl Kernel {
    /// Number and word of the C interface, for messages.
    fn word(self) -> &'static str {
        match self {
            Self::Auto => "0 (auto)",
            Self::TextureStandard => "1 (texture_standard)",
            Self::Texture => "2 (texture)",
            Self::Alu => "3 (alu)",
            Self::Hybrid => "4 (hybrid)",
            Self::Tensor => "5 (tensor)",
        }
    }
}

/// Precision of the data that are back projected on a GPU; sums are f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f32 grade.
    #[default]
    Single,
    /// f16 data.
    Half,
}

/// How to reconstruct.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Of `reconstruct`.
    pub algorithm: Algorithm,
    /// Filter.
    pub filter: Filter,
    /// How a row is read between its bins.
    pub interpolation: Interpolation,
    /// What the filter sees beyond a row's ends.
    pub padding: Padding,
    /// `backproject` multiplies by the angular weights.
    pub weighted_backprojection: bool,
    /// Minimum transmission that the logarithm sees.
    pub minimum_transmission: f64,
    /// Back projector on a GPU.
    pub kernel: Kernel,
    /// Precision of back-projected data on a GPU.
    pub precision: Precision,
    /// What the projections of `filter` and `reconstruct` hold.
    pub input: InputKind,
    /// `forward` and `adjoint`.
    pub pair: Pair,
    /// Maximum l2 error of band-limited sums.
    pub tolerance: f64,
}

/// Tolerance of band-limited sums.
const TOLERANCES: RangeInclusive<f64> = 1e-6..=1e-2;

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            filter: Filter::RamLak { cutoff: 1.0 },
            interpolation: Interpolation::Linear,
            padding: Padding::Zero,
            weighted_backprojection: false,
            minimum_transmission: 1e-6,
            kernel: Kernel::default(),
            precision: Precision::default(),
            input: InputKind::default(),
            pair: Pair::default(),
            tolerance: 1e-4,
        }
    }
}

impl Options {
    /// Refuses parameters out of range, naming the field.
    pub(super) fn check(&self) -> Result<()> {
        self.filter.check()?;
        let t = self.minimum_transmission;
        if !t.is_finite() {
            fail!(NotFiniteParameter, "options.minimum_transmission is {t}; it must be finite");
        }
        if !(t >= f64::from(f32::MIN_POSITIVE) && t < 1.0) {
            fail!(OutOfRange, "options.minimum_transmission is {t}; it must be above 1.2e-38 and below 1");
        }
        let t = self.tolerance;
        if !t.is_finite() {
            fail!(NotFiniteParameter, "options.tolerance is {t}; it must be finite");
        }
        if !TOLERANCES.contains(&t) {
            let (low, high) = TOLERANCES.into_inner();
            fail!(OutOfRange, "options.tolerance is {t:?}; it must be {low:?} to {high:?}");
        }
        if matches!(self.algorithm, Algorithm::Sirt | Algorithm::Mlem) && self.pair != Pair::Joseph {
            let word = self.algorithm.word();
            fail!(
                OutOfRange,
                "options.projector is 1 (band_limited), some of whose weights are negative; it must be 0 (joseph) where options.algorithm is {word}"
            );
        }
        if self.interpolation == Interpolation::BandLimited && self.kernel != Kernel::Auto {
            let kernel = self.kernel.word();
            fail!(
                OutOfRange,
                "options.kernel is {kernel}; it must be 0 (auto) where options.interpolation is 3 (band_limited)"
            );
        }
        Ok(())
    }
}
