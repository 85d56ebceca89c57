//! The penalty of an image, and what minimises it together with what the data leave.

use super::wavelets::Wavelet;

/// What images are preferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Penalty {
    /// |rho|^2 / 2: small values.
    #[default]
    Identity,
    /// Squared differences of neighbours along every axis: smooth images.
    Differences,
    /// Squares of the caller's matrix times the image.
    Matrix,
    /// The sum of wavelet coefficients' absolute values: images of few wavelets.
    Wavelets,
    /// Total variation, the sum over voxels of the length of their differences: images of few edges.
    Variation,
    /// The sum of the singular values of blocks of voxels by images: series that change in few ways at each place.
    LowRank,
}

/// Number and word of the C interface, for messages.
impl Penalty {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Identity => "0 (identity)",
            Self::Differences => "1 (differences)",
            Self::Matrix => "2 (matrix)",
            Self::Wavelets => "3 (wavelets)",
            Self::Variation => "4 (variation)",
            Self::LowRank => "5 (low_rank)",
        }
    }

    /// Whether the system is linear.
    pub(super) fn is_quadratic(self) -> bool {
        matches!(self, Self::Identity | Self::Differences | Self::Matrix)
    }
}

/// How it is minimised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Conjugate gradient where penalties are squares, else FISTA.
    #[default]
    Auto,
    /// Conjugate gradient.
    ConjugateGradient,
    /// Accelerated proximal gradient.
    Fista,
    /// A primal-dual method.
    PrimalDual,
}

impl Algorithm {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Auto => "0 (auto)",
            Self::ConjugateGradient => "1 (conjugate_gradient)",
            Self::Fista => "2 (fista)",
            Self::PrimalDual => "3 (primal_dual)",
        }
    }
}

/// A penalty that is no square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sparse {
    Wavelets {
        wavelet: Wavelet,
        /// 0 for as many as fit.
        levels: usize,
        /// The grid of wavelets stays where it is.
        fixed: bool,
        joint: bool,
    },
    Variation {
        /// Shorter differences count by their square.
        huber: f64,
        joint: bool,
    },
    LowRank {
        /// Of a block, in voxels; 0 for the default.
        edge: usize,
        /// The grid of blocks stays where it is.
        fixed: bool,
    },
}

impl Sparse {
    /// Whether it takes all images of a series together.
    pub(super) fn takes_all_images(self) -> bool {
        match self {
            Self::Wavelets { joint, .. } | Self::Variation { joint, .. } => joint,
            Self::LowRank { .. } => true,
        }
    }
}

/// What solves the problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Solver {
    ConjugateGradient,
    Fista(Sparse),
    PrimalDual(Sparse),
}

impl Solver {
    /// The same for images in another unit.
    pub(super) fn divided_by(self, unit: f64) -> Self {
        let of = |sparse| match sparse {
            Sparse::Variation { huber, joint } => Sparse::Variation { huber: huber / unit, joint },
            same => same,
        };
        match self {
            Self::ConjugateGradient => self,
            Self::Fista(sparse) => Self::Fista(of(sparse)),
            Self::PrimalDual(sparse) => Self::PrimalDual(of(sparse)),
        }
    }

    /// Whether the penalty is total variation, of which no weight is known that leaves nothing.
    pub(super) fn is_variation(self) -> bool {
        matches!(self, Self::Fista(Sparse::Variation { .. }) | Self::PrimalDual(Sparse::Variation { .. }))
    }

    /// Vectors of voxels that it takes more than conjugate gradient.
    pub(super) fn more_vectors(self, grid: [usize; 3]) -> u64 {
        let axes = grid.iter().filter(|n| **n > 1).count() as u64;
        match self {
            Self::ConjugateGradient => 0,
            Self::Fista(Sparse::Wavelets { .. } | Sparse::LowRank { .. })
            | Self::PrimalDual(Sparse::Wavelets { .. } | Sparse::LowRank { .. }) => 4,
            // p and q of each axis.
            Self::Fista(Sparse::Variation { .. }) | Self::PrimalDual(Sparse::Variation { .. }) => 4 + 2 * axes,
        }
    }

    /// Coils of samples that it takes more: the data's norm is part of the objective.
    pub(super) fn more_coils(self) -> u64 {
        if self == Self::ConjugateGradient { 0 } else { 2 }
    }
}
