//! Transmissions apart from a reconstruction: for who puts frames of several scans together, each of which has flats of its own.

use super::plan::Ct;
use super::rows::kind::Corrector;
use super::rows::reader::Reader;
use isocenter_base::array::{Array, DType};
use isocenter_base::context::Context;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::sync::Arc;

/// What makes transmissions of a scan's frames: of counts by their flats and darks, with bad pixels replaced; transmissions and line integrals stay what
/// they are. What is no number is an error, or air, as the context has it.
pub struct Transmissions {
    context: Arc<Context>,
    corrector: Corrector,
    dtype: DType,
    /// Views, rows and bins of the scan.
    shape: [usize; 3],
}

impl Ct {
    /// Makes transmissions of frames of this type, by the flats that are set now.
    pub fn transmissions(&self, dtype: DType) -> Result<Transmissions> {
        self.correction(dtype)?;
        let g = self.geometry()?;
        let shape = [g.views(), g.rows, g.bins];
        Ok(Transmissions { context: self.context.clone(), corrector: self.corrector(), dtype, shape })
    }
}

impl Transmissions {
    /// Fills `to` with the transmissions of frames in host memory, (views, rows, bins); `first`: the view and the row in the scan of the first.
    pub fn of(&self, frames: Array, first: [usize; 2], to: &mut [f32]) -> Result<()> {
        let ([views, rows, bins], [all, high, wide]) = (frames.shape(), self.shape);
        let fits = bins == wide && first[0] + views <= all && first[1] + rows <= high;
        if !fits || frames.dtype() != self.dtype || to.len() != views * rows * bins {
            fail!(
                TensorShape,
                "projections are {:?} of {:?} from {first:?} on; they must be {:?} within {:?}, as must the result",
                frames.shape(),
                frames.dtype(),
                self.dtype,
                self.shape
            );
        }
        if to.is_empty() {
            return Ok(());
        }
        let reader = Reader::frames(frames, first, self.corrector.correction(self.dtype)?, &self.context);
        // By the caller's threads: those of the context may all wait for what is made here.
        to.par_chunks_exact_mut(bins).enumerate().try_for_each(|(k, values)| {
            let [view, row] = [first[0] + k / rows, first[1] + k % rows];
            reader.read_raw(view, row, values);
            reader.transmissions(view, row, true, values).map(|_| ())
        })
    }
}
