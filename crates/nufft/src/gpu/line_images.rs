//! How many images lines take side by side.

/// Maximum number of images at a time: as many as a block of spreading takes.
pub const MAX_IMAGES: usize = 64;
/// More of them are spread by blocks of so many: these cost as much where they are half empty, and about as much as four of some.
pub(super) const MANY_IMAGES: usize = 24;
