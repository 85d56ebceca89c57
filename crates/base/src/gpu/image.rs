//! Compiled kernels, embedded in the library.

/// A source of kernels, compiled: a static that the build script of the crate with the launchers writes.
#[derive(Debug)]
pub struct Image {
    pub(super) name: &'static str,
    /// A fat binary; empty in a library built without kernels.
    pub(super) binary: &'static [u8],
    /// Architectures that it was compiled for.
    pub(super) built_for: &'static str,
}

/// Names are unique.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Image {
    /// By its source's name, such as &isocenter_base::images::FILTER.
    pub const fn new(name: &'static str, binary: &'static [u8], built_for: &'static str) -> Self {
        Self { name, binary, built_for }
    }
}
