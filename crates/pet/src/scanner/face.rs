//! Faces of crystals.

use isocenter_base::cpu::buffer::Plain;

/// A crystal's face: `(u, v)` on it, each from -1/2 to 1/2, is at `centre + u width + v height`, mm. Fourth numbers are 0: three loads of all four.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Face {
    pub(crate) centre: [f32; 4],
    pub(crate) width: [f32; 4],
    pub(crate) height: [f32; 4],
}

// SAFETY: twelve floats; any bits are some.
unsafe impl Plain for Face {}
