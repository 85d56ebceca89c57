//! The caller's histo-images.

use crate::tensor::{Counts, Layout};

/// The caller's histo-images `[view][z][y][x]` of a reconstruction: `expected = factors * (H f) + additive`.
#[derive(Clone, Copy, Debug)]
pub struct Histos {
    pub(crate) measured: Layout<Counts, 4>,
    /// Attenuation x normalisation; None is 1.
    pub(crate) factors: Option<Layout<Counts, 4>>,
    /// Scatter + randoms; None is 0.
    pub(crate) additive: Option<Layout<Counts, 4>>,
}

/// One histo-image of several.
pub(super) fn one(all: &Layout<Counts, 4>, k: usize) -> Layout<Counts, 3> {
    let ([_, nz, ny, nx], [_, z, y, x]) = (all.shape, all.strides);
    Layout {
        origin: all.element([k, 0, 0, 0]),
        dtype: all.dtype,
        shape: [nz, ny, nx],
        strides: [z, y, x],
        gpu: all.gpu,
    }
}
