//! What a plan computes with: the processor, or the GPUs of its context.

use super::options::{Kernel, Precision};
use super::slab::{Arrays, Callbacks};
use super::task::Task;
use isocenter_base::array::DType;
use isocenter_base::context::Context;
use isocenter_base::error::Result;

/// What happened to values on their way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Treated {
    /// Values that were not usable, and replaced by 0.
    pub(super) replaced: u64,
    /// Outliers, replaced by the median of their neighbourhood.
    pub(super) outliers: u64,
}

impl std::ops::AddAssign for Treated {
    fn add_assign(&mut self, more: Self) {
        self.replaced += more.replaced;
        self.outliers += more.outliers;
    }
}

impl std::iter::Sum for Treated {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, more| {
            sum += more;
            sum
        })
    }
}

/// An engine keeps its memory from call to call.
pub(super) trait Engine: Send {
    /// What a task takes between arrays in host memory.
    fn needs(&self, context: &Context, task: &Task) -> Result<Needs>;
    /// Runs a task between arrays.
    fn run(&mut self, context: &Context, task: &Task, arrays: &Arrays) -> Result<Treated>;
    /// Runs a task slab after slab between callbacks, which are called from this thread; projections are of this type.
    fn stream(&mut self, context: &Context, task: &Task, dtype: DType, callbacks: Callbacks) -> Result<Treated>;
    /// Gives memory back, and forgets what was measured: both were for another geometry.
    fn forget(&mut self);
    /// Measures what there is to choose from; later choices go by that.
    fn tune(&mut self, _: &Context, _: &Task) -> Result<Vec<Measured>> {
        Ok(Vec::new())
    }
}

/// What a call takes.
pub(super) struct Needs {
    /// Slices of the first slab.
    pub(super) slab: usize,
    /// Working memory.
    pub(super) bytes: u64,
    /// Length of the filter's transforms.
    pub(super) padded_bins: usize,
}

/// What `tune` found of a back projector.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Its name in the table of results.
    pub name: String,
    /// Its family.
    pub kernel: Kernel,
    /// What it keeps.
    pub precision: Precision,
    /// Slices that it sums together, and with which it was measured.
    pub slices: usize,
    /// Giga-updates a second.
    pub rate: f64,
}
