//! What all methods have in common.

use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;

/// A method with what it works in.
pub(crate) trait Remover {
    /// Corrects a sinogram, (views, bins) of finite values, in place.
    fn correct(&mut self, sinogram: &mut [f32], level: Level) -> Result<()>;
}
