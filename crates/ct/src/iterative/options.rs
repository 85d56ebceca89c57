//! How iterative methods reconstruct.

use crate::geometry::Geometry;
use isocenter_base::error::{Result, fail};

/// How `reconstruct` reconstructs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Filtered back projection.
    #[default]
    Fbp,
    /// Simultaneous iterative reconstruction; with subsets of the views OS-SART.
    Sirt,
    /// Conjugate gradient on the normal equations.
    Cgls,
    /// Maximum likelihood of Poisson data; with subsets OSEM.
    Mlem,
    /// Least squares with total variation.
    TotalVariation,
    /// Least squares within bounds, by accelerated projected gradient.
    Fista,
}

impl Algorithm {
    /// Number and word of the C interface, for messages.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Fbp => "0 (fbp)",
            Self::Sirt => "1 (sirt)",
            Self::Cgls => "2 (cgls)",
            Self::Mlem => "3 (mlem)",
            Self::TotalVariation => "4 (total_variation)",
            Self::Fista => "5 (fista)",
        }
    }
}

/// How A^T A is applied, where a method has no other use for A.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normal {
    /// As a convolution where that is what it is, else by the pair.
    #[default]
    Auto,
    /// By A, then A^T.
    Pair,
    /// As a convolution.
    Toeplitz,
}

impl Normal {
    fn word(self) -> &'static str {
        match self {
            Self::Auto => "0 (auto)",
            Self::Pair => "1 (pair)",
            Self::Toeplitz => "2 (toeplitz)",
        }
    }
}

/// How much each ray counts in least squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighting {
    /// All alike.
    #[default]
    Uniform,
    /// By its transmission exp(-b), 1 at most: one over the variance that photons leave in a line integral.
    Transmission,
    /// By the caller's weights.
    Given,
}

impl Weighting {
    fn word(self) -> &'static str {
        match self {
            Self::Uniform => "0 (uniform)",
            Self::Transmission => "1 (transmission)",
            Self::Given => "2 (given)",
        }
    }
}

/// How total variation measures what an image leaves of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// By squares.
    #[default]
    Squares,
    /// By Poisson's law.
    Poisson,
}

/// Whose differences total variation counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Variation {
    /// Of neighbours in a slice: slices are independent.
    #[default]
    Slices,
    /// Of neighbouring slices, too.
    Volume,
}

/// What the first iteration begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// Zeros; ones, where each iteration multiplies.
    #[default]
    Uniform,
    /// What is in the volume.
    Volume,
}

/// How to iterate.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterative {
    /// Maximum number of iterations, each over all views.
    pub iterations: usize,
    /// Subsets of the views.
    pub subsets: usize,
    /// Factor of each step, in (0, 2).
    pub relaxation: f64,
    /// Values are kept within these.
    pub bounds: [f64; 2],
    /// Pixels outside this circle stay 0: radius in halves of the slice's shorter side; 0 for none.
    pub mask_radius: f64,
    /// What the first iteration begins with.
    pub start: Start,
    /// How A^T A is applied.
    pub normal: Normal,
    /// How much each ray counts.
    pub weighting: Weighting,
    /// How an image is measured by the data.
    pub fit: Fit,
    /// Whose differences the penalty counts.
    pub variation: Variation,
    /// Weight of the penalty.
    pub regularisation: f64,
    /// Weight of offsets that all views share.
    pub ring_weight: f64,
    /// Differences of neighbours below this are penalised by their square.
    pub huber: f64,
    /// Ends a slice's iterations.
    pub tolerance: f64,
}

/// No bounds.
const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];
/// More are a mistake.
pub const MAX_ITERATIONS: usize = 1_000_000;

impl Default for Iterative {
    fn default() -> Self {
        Self {
            iterations: 30,
            subsets: 1,
            relaxation: 1.0,
            bounds: FREE,
            mask_radius: 0.0,
            start: Start::Uniform,
            normal: Normal::Auto,
            weighting: Weighting::Uniform,
            fit: Fit::Squares,
            variation: Variation::Slices,
            regularisation: 0.0,
            ring_weight: 0.0,
            huber: 0.0,
            tolerance: 0.0,
        }
    }
}

impl Iterative {
    /// Refuses numbers out of range, naming the field.
    pub(crate) fn check(&self) -> Result<()> {
        let Self { iterations, relaxation, bounds: [lower, upper], .. } = *self;
        if iterations == 0 || iterations > MAX_ITERATIONS {
            fail!(OutOfRange, "iterative.iterations is {iterations}; it must be 1 to {MAX_ITERATIONS}");
        }
        if self.subsets == 0 {
            fail!(OutOfRange, "iterative.subsets is 0; it must be 1 or more");
        }
        let finite = [
            ("relaxation", relaxation),
            ("mask_radius", self.mask_radius),
            ("regularisation", self.regularisation),
            ("ring_weight", self.ring_weight),
            ("huber", self.huber),
            ("tolerance", self.tolerance),
        ];
        for (name, v) in finite {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "iterative.{name} is {v}; it must be finite");
            }
        }
        if !(relaxation > 0.0 && relaxation < 2.0) {
            fail!(OutOfRange, "iterative.relaxation is {relaxation:?}; it must be above 0 and below 2");
        }
        for (name, v) in [("lower", lower), ("upper", upper)] {
            if v.is_nan() {
                fail!(NotFiniteParameter, "iterative.{name} is {v}; it must be a number (infinite for no bound)");
            }
        }
        if lower >= upper {
            fail!(OutOfRange, "iterative.lower is {lower:?} and upper {upper:?}; lower must be below upper");
        }
        if !(0.0..=1.5).contains(&self.mask_radius) {
            fail!(OutOfRange, "iterative.mask_radius is {:?}; it must be 0 to 1.5", self.mask_radius);
        }
        let weights =
            [("regularisation", self.regularisation), ("ring_weight", self.ring_weight), ("huber", self.huber)];
        for (name, v) in weights {
            // They go into f32 factors.
            if !(v == 0.0 || (1e-30..=1e30).contains(&v)) {
                fail!(OutOfRange, "iterative.{name} is {v:?}; it must be 0, or 1e-30 to 1e30");
            }
        }
        if !(0.0..1.0).contains(&self.tolerance) {
            fail!(OutOfRange, "iterative.tolerance is {:?}; it must be 0 or more and below 1", self.tolerance);
        }
        Ok(())
    }

    /// Whether data must not be negative.
    pub(crate) fn is_poisson(&self, algorithm: Algorithm) -> bool {
        algorithm == Algorithm::Mlem || self.fit == Fit::Poisson
    }

    /// Refuses what an algorithm has no use for, or cannot do with this scan; `banded`: with the band-limited pair.
    pub(crate) fn check_for(&self, algorithm: Algorithm, banded: bool, g: &Geometry) -> Result<()> {
        let Self { subsets, relaxation, bounds: [lower, upper], .. } = *self;
        if subsets > g.views() {
            let views = g.views();
            fail!(OutOfRange, "iterative.subsets is {subsets}; it must be at most the number of views, {views}");
        }
        let word = algorithm.word();
        let (cgls, variation) = (algorithm == Algorithm::Cgls, algorithm == Algorithm::TotalVariation);
        let fista = algorithm == Algorithm::Fista;
        if subsets > 1 && (cgls || variation || fista) {
            fail!(OutOfRange, "iterative.subsets is {subsets}; it must be 1 where options.algorithm is {word}");
        }
        if self.normal != Normal::Auto && !cgls && !fista {
            let normal = self.normal.word();
            fail!(
                OutOfRange,
                "iterative.normal is {normal}; it must be 0 (auto) where options.algorithm is {word}, which needs A and A^T one by one"
            );
        }
        if self.normal == Normal::Toeplitz && !banded {
            fail!(
                OutOfRange,
                "iterative.normal is 2 (toeplitz) and options.projector 0 (joseph), whose A^T A is no convolution; options.projector must be 1 (band_limited)"
            );
        }
        if cgls && [lower, upper] != FREE {
            fail!(
                OutOfRange,
                "iterative.bounds are {lower:?} and {upper:?}; there must be none (0) where options.algorithm is {word}"
            );
        }
        let unused = [
            ("relaxation", relaxation, 1.0, algorithm != Algorithm::Sirt),
            ("regularisation", self.regularisation, 0.0, !cgls && !variation && !fista),
            ("huber", self.huber, 0.0, !variation),
            ("ring_weight", self.ring_weight, 0.0, !variation),
            ("tolerance", self.tolerance, 0.0, !cgls && !variation && !fista),
        ];
        for (name, value, only, idle) in unused {
            if idle && value != only {
                fail!(
                    OutOfRange,
                    "iterative.{name} is {value:?}; it must be {only:?} where options.algorithm is {word}"
                );
            }
        }
        if algorithm == Algorithm::Mlem && (lower > f64::NEG_INFINITY && lower < 0.0 || upper <= 0.0) {
            fail!(
                OutOfRange,
                "iterative.lower is {lower:?} and upper {upper:?}; bounds must be 0 or more, upper above 0, where options.algorithm is {word}, whose images are never negative"
            );
        }
        let (between, weighting) = (lower.is_finite() && upper.is_finite(), self.weighting.word());
        let weighted = self.weighting != Weighting::Uniform;
        if weighted && !cgls && !variation && !fista {
            fail!(
                OutOfRange,
                "iterative.weighting is {weighting}; it must be 0 (uniform) where options.algorithm is {word}, which weighs rays its own way"
            );
        }
        if weighted && variation && !between {
            fail!(
                OutOfRange,
                "iterative.weighting is {weighting}, and upper {upper:?}; there must be two bounds (2, box) where options.algorithm is {word}, whose gap needs both then"
            );
        }
        if self.fit == Fit::Poisson {
            if !variation {
                fail!(
                    OutOfRange,
                    "iterative.fit is 1 (poisson); it must be 0 (squares) where options.algorithm is {word}"
                );
            }
            if banded || weighted || !between || lower < 0.0 {
                fail!(
                    OutOfRange,
                    "iterative.fit is 1 (poisson), which needs two bounds (2, box) of 0 or more, options.projector 0 (joseph) and weighting 0 (uniform)"
                );
            }
        }
        if self.ring_weight > 0.0 && (!between || self.fit == Fit::Poisson) {
            fail!(
                OutOfRange,
                "iterative.ring_weight is {:?}, which needs two bounds (2, box), and fit 0 (squares)",
                self.ring_weight
            );
        }
        if self.variation == Variation::Volume && !variation {
            fail!(
                OutOfRange,
                "iterative.variation is 1 (volume); it must be 0 (slices) where options.algorithm is {word}"
            );
        }
        if weighted && self.normal == Normal::Toeplitz {
            fail!(
                OutOfRange,
                "iterative.normal is 2 (toeplitz) and weighting {weighting}; A^T W A is no convolution: normal must be 0 or 1"
            );
        }
        if fista && self.tolerance > 0.0 && self.regularisation == 0.0 && !between {
            fail!(
                OutOfRange,
                "iterative.tolerance is {:?}; it must be 0 where options.algorithm is {word} with neither two bounds (2, box) nor a regularisation above 0: the gap is not known then",
                self.tolerance
            );
        }
        if variation && self.regularisation == 0.0 {
            fail!(OutOfRange, "iterative.regularisation is 0; it must be above 0 where options.algorithm is {word}");
        }
        if variation && lower == f64::NEG_INFINITY {
            fail!(
                OutOfRange,
                "iterative.bounds have no lower one; there must be one where options.algorithm is {word}, whose gap needs it: bounds 1 (non_negative), or 2 (box) with a finite lower"
            );
        }
        Ok(())
    }
}

/// The error of a measured value below 0 where data are counts: `at` is its view, detector row and bin.
pub(crate) fn refuse_negative<T>(at: [usize; 3]) -> Result<T> {
    let [view, row, bin] = at;
    fail!(
        OutOfRange,
        "the line integral of view {view}, row {row}, bin {bin} is below 0; Poisson data must not be (or set the NaN policy to replace)"
    );
}
