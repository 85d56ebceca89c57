//! An image or a histo-image of one view on a GPU.

use isocenter_base::gpu::Lent;

/// `[y][x][z]`, see [`super::array::Place`].
#[derive(Debug)]
pub(crate) struct Volume {
    pub(super) memory: Lent,
}

impl Volume {
    pub(super) fn at(&self) -> u64 {
        self.memory.address()
    }
}
