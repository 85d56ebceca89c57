//! Analytic phantoms: bodies with their exact chords, integrals, transforms and means. Each modality samples sums of them on its own
//! grid.

mod body;
mod chord;
mod ellipse;
mod ellipsoid;
mod row;
mod shepp_logan;
mod transform;

pub use body::Shape;
pub use ellipsoid::{Ellipse, Ellipsoid};
pub use row::add_segment;
pub use shepp_logan::{HEAD_SLICE, SheppLogan};
