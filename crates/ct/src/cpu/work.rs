//! What an operator does to a slab on the processor.

use super::groups::{Groups, Lanes};
use crate::output::Finish;
use crate::rows::reader::Reader;
use crate::slab::Arrays;
use isocenter_base::array::ArrayMut;
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::buffer::Workspace;
use isocenter_base::error::Result;
use std::ops::Range;

/// One slab: where its data come from and go to.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) context: &'a Context,
    pub(super) job: &'a Job,
    pub(super) input: &'a Reader<'a>,
    /// The target's array, and the places of slices in it.
    pub(super) target: &'a ArrayMut<'a>,
    pub(super) arrays: &'a Arrays<'a>,
    pub(super) finish: Finish<'a>,
}

impl Call<'_> {
    /// Hands over a part of a row of a finished slice, from the element at `at` of the target on.
    ///
    /// # Safety
    /// No other thread hands over the same elements.
    #[inline(always)]
    pub(super) unsafe fn write_row(&self, at: [usize; 3], values: &[f32]) {
        // SAFETY: by this function's contract.
        unsafe {
            match self.finish {
                Finish::Direct => self.target.write_row(at, values),
                Finish::Write(writer) => writer.write_row(self.context.level(), self.target, at, values),
                Finish::Survey(survey) => survey.add(at[1], at[2], values),
            }
        }
    }
}

/// An operator made ready.
pub(super) trait Work: Sync {
    /// Minimum working memory, in bytes, for groups of these lanes at a time; u64::MAX where they cannot be done.
    fn bytes(&self, lanes: Lanes, groups: usize) -> u64;
    /// The least memory, in bytes, that any slice takes.
    fn least(&self) -> u64 {
        self.bytes(Lanes::Alone, 1)
    }
    /// What a slab takes where there is more.
    fn slab_bytes(&self, slab: &Groups, cap: u64) -> u64;
    /// Independent tasks in a group.
    fn tasks(&self, lanes: Lanes) -> usize;
    /// Whether all data of a slab are read before any of its results is written.
    fn reads_first(&self) -> bool;
    /// Slices that go together: slabs begin at a multiple of it.
    fn unit(&self) -> usize {
        1
    }
    /// The first slab of these slices.
    fn next(&self, slices: Range<usize>, cap: u64, threads: usize) -> Result<Groups>;
    /// Works on a slab within `cap` bytes.
    fn run(&self, call: &Call, slab: &Groups, cap: u64, workspace: &mut Workspace) -> Result<()>;
}
