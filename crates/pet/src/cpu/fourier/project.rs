//! A projection, term by term: rows to frequencies, the product with the kernels' spectra, and back.

use super::Fourier;
use super::stages::{Lines, Rows};
use crate::cpu::columns::Columns;
use crate::direction::Direction;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::Result;

impl Fourier {
    /// y(p) = sum_m K_a(p+m)(-m) f(p+m); `room` is what [`Fourier::room`] says, contents do not matter.
    pub(crate) fn forward(&self, image: &Columns, histo: &mut Columns, room: &mut [f32]) -> Result<()> {
        self.project(Direction::Forward, image, histo, room)
    }

    /// b(x) = sum_m K_a(x)(m) y(x+m)
    pub(crate) fn adjoint(&self, histo: &Columns, image: &mut Columns, room: &mut [f32]) -> Result<()> {
        self.project(Direction::Adjoint, histo, image, room)
    }

    fn project(&self, direction: Direction, input: &Columns, output: &mut Columns, room: &mut [f32]) -> Result<()> {
        assert!(input.layout() == self.layout && output.layout() == self.layout && room.len() == self.room());
        let forward = direction == Direction::Forward;
        let (data, len) = (Shared::new(room), self.grid.lines(self.layout.shape[1]));
        let lines = Lines { data, len };
        // Along z once: before the terms part, or after they have met.
        let axial = Some(self.axial.as_slice()).filter(|a| a.len() > 1);
        let (before, after) = if forward && self.rank() > 1 { (None, axial) } else { (axial, None) };
        for first in (0..self.rank()).step_by(self.group()) {
            let terms = first..self.rank().min(first + self.group());
            let (source, target) = if forward { (Some(terms.clone()), None) } else { (None, Some(terms.clone())) };
            self.rows(Rows::Spread { input: input.data(), axial: before }, lines, source)?;
            self.frequencies(&self.spectra[terms], forward, lines)?;
            let result = Shared::new(output.data_mut());
            self.rows(Rows::Collect { output: result, add: first > 0 }, lines, target)?;
        }
        if let Some(axial) = after {
            self.along_z(axial, output)?;
        }
        Ok(())
    }
}
