//! What a plan does with events, phantoms and images besides reconstructing.

use super::deposit::{Dropped, deposit};
use super::doubts;
use super::events::{self, EventArrays, Events};
use super::gpu::deposit::{Depositor, check_place};
use super::lattice::Lattice;
use super::merit;
use super::phantom::{Phantom, Quantity};
use super::plan::Pet;
use super::simulation::{Scan, Tally};
use crate::array::{Array, ArrayMut, host};
use crate::context::{Context, LogLevel, NanPolicy};
use crate::cpu::buffer::Buffer;
use crate::error::{Result, fail};

impl Pet {
    /// What it computes with.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Largest tilt of an event.
    pub fn max_tilt(&self) -> Result<f64> {
        Ok(self.view_set()?.max_tilt())
    }

    /// Adds events to histo-images of its views, where these are: on the processor, or on the GPU that it computes on.
    pub fn deposit(&mut self, events: &EventArrays, mut histos: ArrayMut<4>) -> Result<Dropped> {
        let lattice = *self.lattice()?;
        let dropped = match histos.layout().gpu {
            Some(gpu) => self.deposit_on_gpu(gpu, &lattice, events, &mut histos)?,
            None => deposit(&self.context, self.view_set()?, &lattice, events, histos)?,
        };
        let lattice = &lattice;
        let all = events.time.shape()[0] as u64;
        let Dropped { not_finite, equal_positions, outside_tilts, .. } = dropped;
        let located = all - not_finite - equal_positions - outside_tilts;
        // Events on a GPU are not looked at again.
        let seen = if events.time.layout().gpu.is_none() { Some(Events::new(events)?) } else { None };
        let doubt = seen
            .and_then(|events| doubts::doubt(&events, lattice, &dropped, located))
            .or_else(|| doubts::lost(&dropped, all));
        if let Some(doubt) = doubt {
            self.context.log(LogLevel::Warning, || doubt);
        } else if let Some(fact) = doubts::tell(&dropped, lattice, all) {
            self.context.log(LogLevel::Info, || fact);
        }
        Ok(dropped)
    }

    fn deposit_on_gpu(
        &mut self,
        gpu: usize,
        lattice: &Lattice,
        events: &EventArrays,
        histos: &mut ArrayMut<4>,
    ) -> Result<Dropped> {
        let EventArrays { first, second, time } = events;
        events::check(first.layout(), second.layout(), time.layout())?;
        check_place(gpu, events)?;
        let Some(device) = self.gpus().iter().find(|device| device.index() == gpu).cloned() else {
            fail!(TensorDevice, "histo_images are on GPU {gpu}, which is not the one that the plan computes on");
        };
        let depositor = match self.depositor.take() {
            Some(depositor) => depositor,
            None => Depositor::new(&device, self.view_set()?)?,
        };
        let dropped = depositor.deposit(&self.context, lattice, events, histos, self.stream());
        self.depositor = Some(depositor);
        dropped
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
