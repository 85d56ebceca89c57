//! Views that are no measurement of the object: without beam, saturated, repeated by a frozen camera, not finite, or doubtful.
//!
//! [`look`] has some rows of every view tell a few numbers, [`judge`] says what these mean, and [`strays`] how far a view is from those
//! beside it, which the search for the axis asks, too. Nothing depends on where frames are or how they are read: each view's numbers are
//! summed in one order, by plain arithmetic.

mod fault;
mod judge;
mod look;
pub(crate) mod strays;

use super::plan::Ct;
pub use fault::ViewFault;
use isocenter_base::array::{Array, DType};
use isocenter_base::error::Result;
use judge::judge;
use look::{Frames, Scale};

impl Ct {
    /// Says of each view what is wrong with it: see `isoc_ct_find_bad_views`.
    pub fn find_bad_views(&self, projections: Array) -> Result<Vec<Option<ViewFault>>> {
        let plan = self.plan()?;
        let g = &plan.geometry;
        projections.layout().check("projections", g.projection_shape(), DType::FRAMES, self.gpus())?;
        // What fits the beam of views asks first which of them are any good.
        let options = &self.options;
        let correction =
            options.input.intended(projections.dtype(), plan.flat.as_deref(), options.minimum_transmission)?;
        let gpu = self.device_of(&projections)?;
        let scale = Scale::new(correction, g)?;
        let frames = Frames { geometry: g, projections: &projections, gpu, scale: &scale };
        let looks = self.context.run(|job| frames.look(job))?;
        judge(&scale, &g.angles, &looks)
    }
}
