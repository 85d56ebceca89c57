//! The caller's histo-images.

use isocenter_base::array::Array;

/// The caller's histo-images `[view][z][y][x]` of a reconstruction: `expected = factors * (H f) + additive`.
#[derive(Clone, Copy, Debug)]
pub struct Histos<'a> {
    pub measured: Array<'a, 4>,
    /// Attenuation x normalisation; None is 1.
    pub factors: Option<Array<'a, 4>>,
    /// Scatter + randoms; None is 0.
    pub additive: Option<Array<'a, 4>>,
}
