//! The caller's histo-images.

use crate::array::Layout;

/// The caller's histo-images `[view][z][y][x]` of a reconstruction: `expected = factors * (H f) + additive`.
#[derive(Clone, Copy, Debug)]
pub struct Histos {
    pub(crate) measured: Layout<4>,
    /// Attenuation x normalisation; None is 1.
    pub(crate) factors: Option<Layout<4>>,
    /// Scatter + randoms; None is 0.
    pub(crate) additive: Option<Layout<4>>,
}
