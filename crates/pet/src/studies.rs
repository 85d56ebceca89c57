//! What a plan does with phantoms and images besides reconstructing.

use super::merit;
use super::phantom::{Phantom, Quantity};
use super::plan::Pet;
use super::simulation::{Scan, Tally};
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::{Context, NanPolicy};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::error::Result;

impl Pet {
    /// What it computes with.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Largest tilt of an event.
    pub fn max_tilt(&self) -> Result<f64> {
        Ok(self.view_set()?.max_tilt())
    }

    /// Writes the factors and the background that a simulated scan has in its views, either of which may be left out.
    pub fn expected_counts(
        &self,
        scan: &Scan,
        tally: &Tally,
        factors: Option<ArrayMut<4>>,
        additive: Option<ArrayMut<4>>,
    ) -> Result<()> {
        let (views, lattice) = (self.view_set()?, self.lattice()?);
        if let Some(to) = factors {
            scan.factors(&self.context, tally, views, lattice, to)?;
        }
        if let Some(to) = additive {
            scan.additive(&self.context, tally, views, lattice, to)?;
        }
        Ok(())
    }

    /// Writes the voxel means of a phantom.
    pub fn phantom_image(&self, phantom: &Phantom, quantity: Quantity, mut to: ArrayMut<3>) -> Result<()> {
        let values = self.context.install(|| phantom.voxel_means(quantity, self.lattice()?))?;
        self.context.install(|| host::write(&values, &mut to));
        Ok(())
    }

    /// A copy of an image, whose values must be finite.
    pub fn copy_image(&self, from: &Array<3>, name: &str) -> Result<Buffer> {
        self.context.install(|| host::read(from, name, NanPolicy::Error, &mut 0))
    }

    /// See [`merit::contrast_recovery`].
    pub fn contrast_recovery(&self, image: &Array<3>, spheres: &[[f64; 3]], ratio: f64) -> Result<f64> {
        let image = self.copy_image(image, "image")?;
        merit::contrast_recovery(&image, self.lattice()?, spheres, ratio)
    }

    /// See [`merit::noise`].
    pub fn noise(&self, image: &Array<3>) -> Result<f64> {
        let image = self.copy_image(image, "image")?;
        merit::noise(&image, self.lattice()?)
    }
}
