//! A method that sees views in the order of their angles.

use super::Remover;
use super::by_angle::{ByAngle, move_rows};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;

/// A method, and what views have to be moved by before and after it.
pub(super) struct Reordered<'a> {
    method: Box<dyn Remover + 'a>,
    by_angle: &'a ByAngle,
    held: Vec<f32>,
}

impl<'a> Reordered<'a> {
    pub(super) fn new(method: Box<dyn Remover + 'a>, by_angle: &'a ByAngle, bins: usize) -> Result<Self> {
        Ok(Self { method, by_angle, held: zeros(bins)? })
    }

    /// What it takes besides its method.
    pub(super) fn bytes(bins: usize) -> u64 {
        4 * bins as u64
    }
}

impl Remover for Reordered<'_> {
    fn correct(&mut self, sinogram: &mut [f32], level: Level) -> Result<()> {
        move_rows(&self.by_angle.there, sinogram, &mut self.held);
        self.method.correct(sinogram, level)?;
        move_rows(&self.by_angle.back, sinogram, &mut self.held);
        Ok(())
    }
}
