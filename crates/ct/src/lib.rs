//! Parallel-beam X-ray CT: filtered back projection, and the matched pair for iterative methods.

mod angular;
mod axis;
mod bad_views;
mod band_limited;
mod cpu;
mod engine;
mod flat_fit;
mod geometry;
mod geometry_warnings;
mod gpu;
mod iterative;
mod noise;
mod operators;
mod options;
mod output;
mod phantom;
mod plan;
mod ray;
mod rows;
mod slab;
mod task;
mod toeplitz;
mod transmissions;
mod weight;

pub use angular::Angular;
pub use axis::{AxisMethod, AxisOptions, FoundAxis};
pub use bad_views::ViewFault;
pub use engine::Measured;
pub use flat_fit::{FlatFit, FlatFitOptions};
pub use geometry::{Geometry, Order};
pub use geometry::{MAX_SIDE, crop};
pub use iterative::history::Iterated;
pub use iterative::options::MAX_ITERATIONS;
pub use iterative::options::{Algorithm, Fit, Iterative, Normal, Start, Variation, Weighting};
pub use options::{Interpolation, Kernel, Options, Pair, Precision};
pub use output::options::{Output, Window};
pub use output::writer::Written;
pub use plan::{Ct, Info};
pub use rows::distortion::Distortion;
pub use rows::distortion::MAX_RADIAL;
pub use rows::filter::{Filter, Padding};
pub use rows::flat_field::{Combine, FlatFieldOptions, FlatGroup};
pub use rows::half_acquisition::{HalfAcquisition, Rise};
pub use rows::kind::InputKind;
pub use rows::outliers::{OutlierSide, OutlierUnit, Outliers};
pub use rows::phase::Setup as PhaseSetup;
pub use rows::phase::{Phase, PhaseMethod};
pub use rows::stripes::{Stripes, Vo, Wavelet};
pub use slab::Slab;
pub use transmissions::Transmissions;
pub use weight::Suggested;

/// Kernels, compiled from `kernels/ct`.
#[allow(unreachable_pub)] // the build script writes one kind of static for all crates
mod images {
    use isocenter_base::gpu::Image;

    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}
