//! The caller's histo-images.

use crate::array::Array;

/// The caller's histo-images `[view][z][y][x]` of a reconstruction: `expected = factors * (H f) + additive`.
#[derive(Clone, Copy, Debug)]
pub struct Histos<'a> {
    pub(crate) measured: Array<'a, 4>,
    /// Attenuation x normalisation; None is 1.
    pub(crate) factors: Option<Array<'a, 4>>,
    /// Scatter + randoms; None is 0.
    pub(crate) additive: Option<Array<'a, 4>>,
}
