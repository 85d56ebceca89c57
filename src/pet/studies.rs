//! What a plan does with events, phantoms and images besides reconstructing.

use super::array::{look, read_row, write_row};
use super::deposit::{Dropped, deposit};
use super::doubts;
use super::engine::Sign;
use super::events::{EventLayouts, Events};
use super::measures;
use super::phantom::{Phantom, Quantity};
use super::plan::Pet;
use super::simulation::{Scan, Tally};
use crate::array::Layout;
use crate::context::{Context, LogLevel, NanPolicy};
use crate::cpu::buffer::zeros;
use crate::error::Result;

impl Pet {
    /// What it computes with.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Largest tilt of an event.
    pub fn max_tilt(&self) -> Result<f64> {
        Ok(self.view_set()?.max_tilt())
    }

    /// Adds events to histo-images of its views.
    ///
    /// # Safety
    /// As for [`deposit`].
    pub unsafe fn deposit(&self, events: &EventLayouts, histos: &Layout<4>) -> Result<Dropped> {
        let lattice = self.lattice()?;
        // SAFETY: by this function's contract.
        let (dropped, events) =
            unsafe { (deposit(&self.context, self.view_set()?, lattice, events, histos)?, Events::new(events)?) };
        let Dropped { not_finite, equal_positions, outside_tilts, outside_lattice, .. } = dropped;
        let with_view = events.len() as u64 - not_finite - equal_positions - outside_tilts;
        let outside = (outside_lattice == with_view).then_some(with_view);
        let lost = || doubts::lost(&dropped, events.len() as u64);
        if let Some(doubt) = doubts::doubt(&events, lattice, outside).or_else(lost) {
            self.context.log(LogLevel::Warning, || doubt);
        }
        Ok(dropped)
    }

    /// Writes the factors and the background that a simulated scan has in its views, either of which may be left out.
    ///
    /// # Safety
    /// As for [`Scan::factors`].
    pub unsafe fn expected_counts(
        &self,
        scan: &Scan,
        tally: &Tally,
        factors: Option<&Layout<4>>,
        additive: Option<&Layout<4>>,
    ) -> Result<()> {
        let (views, lattice) = (self.view_set()?, self.lattice()?);
        // SAFETY: by this function's contract.
        unsafe {
            if let Some(to) = factors {
                scan.factors(&self.context, tally, views, lattice, to)?;
            }
            if let Some(to) = additive {
                scan.additive(&self.context, tally, views, lattice, to)?;
            }
        }
        Ok(())
    }

    /// Writes the voxel means of a phantom.
    ///
    /// # Safety
    /// The array is writable, in host memory.
    pub unsafe fn phantom_image(&self, phantom: &Phantom, quantity: Quantity, to: &Layout<3>) -> Result<()> {
        let values = self.context.install(|| phantom.voxel_means(quantity, self.lattice()?))?;
        let [_, ny, nx] = to.shape;
        for (k, row) in values.chunks_exact(nx).enumerate() {
            // SAFETY: by this function's contract.
            unsafe { write_row(to, [k / ny, k % ny, 0], row) };
        }
        Ok(())
    }

    /// A copy of an image, whose values must be finite.
    ///
    /// # Safety
    /// The array is readable, in host memory.
    pub unsafe fn copy_image(&self, from: &Layout<3>, name: &str) -> Result<Vec<f32>> {
        // SAFETY: by this function's contract.
        self.context.install(|| unsafe { look(from, name, NanPolicy::Error, Sign::Any) })?;
        let mut values = zeros::<f32>(from.shape.iter().product())?;
        let [_, ny, nx] = from.shape;
        for (k, row) in values.chunks_exact_mut(nx).enumerate() {
            // SAFETY: as above.
            unsafe { read_row(from, [k / ny, k % ny, 0], row) };
        }
        Ok(values)
    }

    /// Mean contrast recovery of spheres.
    ///
    /// # Safety
    /// As for [`Pet::copy_image`].
    pub unsafe fn contrast_recovery(&self, image: &Layout<3>, spheres: &[[f64; 3]], ratio: f64) -> Result<f64> {
        // SAFETY: by this function's contract.
        let image = unsafe { self.copy_image(image, "image") }?;
        measures::contrast_recovery(&image, self.lattice()?, spheres, ratio)
    }

    /// Relative standard deviation in the middle of the image.
    ///
    /// # Safety
    /// As for [`Pet::copy_image`].
    pub unsafe fn noise(&self, image: &Layout<3>) -> Result<f64> {
        // SAFETY: by this function's contract.
        let image = unsafe { self.copy_image(image, "image") }?;
        measures::noise(&image, self.lattice()?)
    }
}
