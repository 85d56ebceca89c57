//! The caller's data, row by row: line integrals where counts or transmissions are meant, and never NaN.

use super::kind::Correction;
use crate::geometry::{Geometry, Order};
use crate::slab::Arrays;
use isocenter_base::array::value::not_finite;
use isocenter_base::array::{Array, DType, Layout};
use isocenter_base::context::{Context, Job, NanPolicy, Stage};
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// An array as (items, lines, samples): views, detector rows and bins, or slices, rows and columns. Items and lines are those of the
/// whole scan, of which the array may hold a part.
pub(crate) struct Reader<'a> {
    array: Array<'a>,
    /// The array's own first two dimensions are the other way round.
    swapped: bool,
    name: &'static str,
    /// What is read.
    items: Range<usize>,
    lines: Range<usize>,
    /// The item and the line of the whole that the array begins with.
    origin: [usize; 2],
    correction: Correction<'a>,
    policy: NanPolicy,
    level: Level,
    replaced: AtomicU64,
}

impl<'a> Reader<'a> {
    /// Some slices of a volume.
    pub(crate) fn volume(arrays: &Arrays<'a>, slices: Range<usize>, context: &Context) -> Self {
        let array = arrays.read();
        let (lines, origin) = (0..array.shape()[1], [slices.start - arrays.slice(slices.start), 0]);
        let (policy, level, replaced) = (context.nan_policy(), context.level(), AtomicU64::new(0));
        let (name, correction) = ("volume", Correction::None);
        Self { array, swapped: false, name, items: slices, lines, origin, correction, policy, level, replaced }
    }

    /// The rows of some slices, whatever the order of the array's dimensions.
    pub(crate) fn projections(
        arrays: &Arrays<'a>,
        g: &Geometry,
        slices: Range<usize>,
        correction: Correction<'a>,
        context: &Context,
    ) -> Self {
        let (array, swapped) = (arrays.read(), g.order == Order::Sinograms);
        let array = if swapped { array.swapped() } else { array };
        let lines = g.first_row + slices.start..g.first_row + slices.end;
        let origin = [0, arrays.first_row()];
        let (policy, level, replaced) = (context.nan_policy(), context.level(), AtomicU64::new(0));
        let (name, items) = ("projections", 0..g.views());
        Self { array, swapped, name, items, lines, origin, correction, policy, level, replaced }
    }

    /// Frames from a view and a row of a scan on.
    pub(crate) fn frames(array: Array<'a>, first: [usize; 2], correction: Correction<'a>, context: &Context) -> Self {
        let [views, rows, _] = array.shape();
        let [items, lines] = [first[0]..first[0] + views, first[1]..first[1] + rows];
        let (policy, level, replaced) = (context.nan_policy(), context.level(), AtomicU64::new(0));
        let (name, swapped) = ("projections", false);
        Self { array, swapped, name, items, lines, origin: first, correction, policy, level, replaced }
    }

    /// Line integrals of some slices that were made from the caller's rows, (slice, view, bin) in host memory.
    ///
    /// # Safety
    /// `data` holds them for 'a.
    pub(crate) unsafe fn prepared(data: *const f32, g: &Geometry, slices: Range<usize>, context: &Context) -> Self {
        let Layout { origin, dtype, shape, strides, gpu } =
            Layout::new(data.cast(), DType::F32, [slices.len(), g.views(), g.bins]);
        // SAFETY: by this function's contract.
        let array = unsafe { Array::from_raw(origin, dtype, shape, strides, gpu) }.swapped();
        let lines = g.first_row + slices.start..g.first_row + slices.end;
        let origin = [0, lines.start];
        let (policy, level, replaced) = (context.nan_policy(), context.level(), AtomicU64::new(0));
        let (name, items, correction) = ("line integrals", 0..g.views(), Correction::None);
        Self { array, swapped: true, name, items, lines, origin, correction, policy, level, replaced }
    }

    #[inline]
    fn read_row(&self, item: usize, line: usize, first: usize, row: &mut [f32]) {
        self.array.read_row([item - self.origin[0], line - self.origin[1], first], row);
    }

    /// Values replaced so far.
    pub(crate) fn replaced(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Reads a line.
    pub(crate) fn read(&self, item: usize, line: usize, row: &mut [f32]) -> Result<()> {
        let replaced = self.read_part(item, line, 0, row)?;
        self.count(replaced);
        Ok(())
    }

    /// Adds to the number of values replaced.
    pub(crate) fn count(&self, replaced: usize) {
        // To write, if only 0, would take the line with all else that a reader holds from the other threads.
        if replaced > 0 {
            self.replaced.fetch_add(replaced as u64, Ordering::Relaxed);
        }
    }

    /// Reads a line from sample `first` on (a part of a line only where no flat field corrects it), and gives the number of values
    /// replaced, which is the caller's to count: data may be read more than once.
    pub(crate) fn read_part(&self, item: usize, line: usize, first: usize, row: &mut [f32]) -> Result<usize> {
        self.read_row(item, line, first, row);
        self.corrected(item, line, row)
    }

    /// Reads a whole line as it is, for work on raw data; the array need only hold it.
    pub(crate) fn read_raw(&self, item: usize, line: usize, row: &mut [f32]) {
        self.read_row(item, line, 0, row);
    }

    /// Makes line integrals of what a line held, in place; gives the number of values replaced.
    pub(crate) fn corrected(&self, item: usize, line: usize, row: &mut [f32]) -> Result<usize> {
        self.treated(line, 0.0, row, |row| self.correction.apply([item, line], row, self.level))
    }

    /// Makes transmissions of it, unless they are line integrals; a line that is not the call's own may hold what is no number. Those, and
    /// what cannot be corrected, are air.
    pub(crate) fn transmissions(&self, item: usize, line: usize, own: bool, row: &mut [f32]) -> Result<usize> {
        let gap = self.correction.gap();
        if own {
            return self.treated(line, gap, row, |row| self.correction.transmit([item, line], row, self.level));
        }
        self.correction.transmit([item, line], row, self.level);
        row.iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = gap);
        if let Some(flat) = self.correction.flat() {
            flat.repair(line, row);
        }
        Ok(0)
    }

    /// What is no number is an error, or becomes `gap`, as does what `apply` says; gives the number of both.
    fn treated(&self, line: usize, gap: f32, row: &mut [f32], apply: impl Fn(&mut [f32]) -> usize) -> Result<usize> {
        let mut bad = Vec::new();
        if self.array.dtype() == DType::F32 && !all_finite(row) {
            if self.policy == NanPolicy::Error {
                return self.first_not_finite();
            }
            bad = collected((0..row.len()).filter(|&k| !row[k].is_finite()))?;
        }
        let flat = self.correction.flat();
        let usable = |k: &&usize| flat.is_none_or(|flat| flat.usable(line, **k));
        let bad_alone = bad.iter().filter(usable).count();
        let unusable = apply(row);
        bad.iter().for_each(|&k| row[k] = gap);
        if let Some(flat) = flat {
            flat.repair(line, row);
        }
        Ok(unusable + bad_alone)
    }

    /// Reads everything once, so that bad data is found before anything is written.
    pub(crate) fn check(&self, job: &Job) -> Result<()> {
        if self.array.dtype() != DType::F32 || self.policy == NanPolicy::Replace {
            return Ok(());
        }
        job.enter(Stage::Check);
        let [.., samples] = self.array.shape();
        let found = self.items.clone().into_par_iter().try_for_each_init(
            || zeros(samples),
            |row, item| {
                let row = row.as_mut().map_err(|e| Some(e.clone()))?;
                for line in self.lines.clone() {
                    self.read_row(item, line, 0, row);
                    if !all_finite(row) {
                        return Err(None);
                    }
                }
                Ok(())
            },
        );
        match found {
            Ok(()) => job.check(),
            Err(Some(error)) => Err(error),
            Err(None) => self.first_not_finite(),
        }
    }

    /// The error that names the first NaN or Inf in the tensor's own order.
    fn first_not_finite<T>(&self) -> Result<T> {
        let [.., samples] = self.array.shape();
        let mut row = zeros(samples)?;
        let (items, lines) = (self.items.clone(), self.lines.clone());
        let (outer, inner) = if self.swapped { (lines, items) } else { (items, lines) };
        for i in outer {
            for j in inner.clone() {
                let (item, line) = if self.swapped { (j, i) } else { (i, j) };
                self.read_row(item, line, 0, &mut row);
                if let Some(k) = row.iter().position(|v| !v.is_finite()) {
                    let (name, v) = (self.name, row[k]);
                    return not_finite(name, &[i, j, k], v);
                }
            }
        }
        fail!(NotFiniteData, "{} held a value that was not finite and has changed since", self.name);
    }
}

/// 0 x v is 0 for finite v, NaN for NaN and Inf; the sum vectorises.
fn all_finite(row: &[f32]) -> bool {
    let mut sums = [0.0f32; 16];
    let chunks = row.chunks_exact(16);
    let rest: f32 = chunks.remainder().iter().map(|v| v * 0.0).sum();
    for chunk in chunks {
        for (s, v) in sums.iter_mut().zip(chunk) {
            *s += v * 0.0;
        }
    }
    (sums.iter().sum::<f32>() + rest).is_finite()
}
