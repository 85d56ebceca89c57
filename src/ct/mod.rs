//! Parallel-beam X-ray CT: filtered back projection, and the matched pair for iterative methods.

mod angular;
mod axis;
mod band_limited;
mod cpu;
mod engine;
mod flat_fit;
mod geometry;
mod geometry_warnings;
mod gpu;
mod iterative;
mod operators;
mod options;
mod output;
mod phantom;
mod plan;
mod ray;
mod rows;
mod slab;
mod task;
#[cfg_attr(not(test), expect(dead_code))]
mod toeplitz;

pub use angular::Angular;
pub use axis::{AxisMethod, AxisOptions, FoundAxis};
pub use engine::Measured;
pub use flat_fit::{FlatFit, FlatFitOptions};
pub use geometry::{Geometry, Order};
pub(crate) use geometry::{MAX_SIDE, crop};
pub use iterative::history::Iterated;
pub(crate) use iterative::options::MAX_ITERATIONS;
pub use iterative::options::{Algorithm, Iterative, Start};
pub use options::{Interpolation, Kernel, Options, Pair, Precision};
pub use output::options::{Output, Window};
pub use output::writer::Written;
pub use plan::{Ct, Info};
pub use rows::distortion::Distortion;
pub(crate) use rows::distortion::MAX_RADIAL;
pub use rows::filter::{Filter, Padding};
pub use rows::flat_field::{Combine, FlatFieldOptions, FlatGroup};
pub use rows::half_acquisition::{HalfAcquisition, Rise};
pub use rows::kind::InputKind;
pub use rows::outliers::{OutlierSide, OutlierUnit, Outliers};
pub use rows::phase::Setup as PhaseSetup;
pub use rows::phase::{Phase, PhaseMethod};
pub use rows::stripes::{Stripes, Vo, Wavelet};
pub use slab::Slab;
