//! The caller's data, row by row: line integrals where counts or transmissions are meant, and never NaN.

use super::kind::Correction;
use crate::array::value::not_finite;
use crate::array::{Array, DType};
use crate::context::{Context, Job, NanPolicy, Stage};
use crate::cpu::buffer::{collected, zeros};
use crate::error::{Result, fail};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A tensor as (items, lines, samples): views or slices, rows, bins or columns.
pub(super) struct Input<'a> {
    view: Array<'a>,
    /// The tensor's own first two dimensions are the other way round.
    swapped: bool,
    name: &'static str,
    /// Only these lines are used.
    lines: std::ops::Range<usize>,
    /// Lines of the whole above line 0.
    above: usize,
    correction: Correction<'a>,
    policy: NanPolicy,
    replaced: AtomicU64,
}

impl<'a> Input<'a> {
    /// A volume: items are slices.
    pub(super) fn volume(view: Array<'a>, context: &Context) -> Self {
        let lines = 0..view.shape()[1];
        let (policy, replaced) = (context.nan_policy(), AtomicU64::new(0));
        Self { view, swapped: false, name: "volume", lines, above: 0, correction: Correction::None, policy, replaced }
    }

    /// Projections as (views, rows, bins), whatever the tensor's order; they begin `above` rows from the top of the whole.
    pub(super) fn projections(
        view: Array<'a>,
        swapped: bool,
        (rows, above): (std::ops::Range<usize>, usize),
        correction: Correction<'a>,
        context: &Context,
    ) -> Self {
        let view = if swapped { view.swapped() } else { view };
        let (policy, replaced) = (context.nan_policy(), AtomicU64::new(0));
        Self { view, swapped, name: "projections", lines: rows, above, correction, policy, replaced }
    }

    /// Values replaced so far.
    pub(super) fn replaced(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Reads a line.
    pub(super) fn read(&self, item: usize, line: usize, row: &mut [f32]) -> Result<()> {
        let replaced = self.read_part(item, line, 0, row)?;
        self.count(replaced);
        Ok(())
    }

    /// Adds to the number of values replaced.
    pub(super) fn count(&self, replaced: usize) {
        self.replaced.fetch_add(replaced as u64, Ordering::Relaxed);
    }

    /// Reads a line from sample `first` on (a part of a line only where no flat field corrects it), and gives the number of values
    /// replaced, which is the caller's to count: data may be read more than once.
    pub(super) fn read_part(&self, item: usize, line: usize, first: usize, row: &mut [f32]) -> Result<usize> {
        self.view.read_row([item, line, first], row);
        let mut bad = Vec::new();
        if self.view.dtype() == DType::F32 && !all_finite(row) {
            if self.policy == NanPolicy::Error {
                return self.first_not_finite();
            }
            bad = collected((0..row.len()).filter(|&k| !row[k].is_finite()))?;
        }
        let usable = |k: &&usize| self.correction.flat().is_none_or(|flat| flat.usable(line, **k));
        let bad_alone = bad.iter().filter(usable).count();
        let unusable = self.correction.apply(line, row);
        bad.iter().for_each(|&k| row[k] = 0.0);
        Ok(unusable + bad_alone)
    }

    /// Reads everything once, so that bad data is found before anything is written.
    pub(super) fn check(&self, job: &Job) -> Result<()> {
        if self.view.dtype() != DType::F32 || self.policy == NanPolicy::Replace {
            return Ok(());
        }
        job.enter(Stage::Check);
        let [items, _, samples] = self.view.shape();
        let found = (0..items).into_par_iter().try_for_each_init(
            || zeros(samples),
            |row, item| {
                let row = row.as_mut().map_err(|e| Some(e.clone()))?;
                for line in self.lines.clone() {
                    self.view.read_row([item, line, 0], row);
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
        let [items, _, samples] = self.view.shape();
        let mut row = zeros::<f32>(samples)?;
        let (outer, inner) = if self.swapped { (self.lines.clone(), 0..items) } else { (0..items, self.lines.clone()) };
        for i in outer {
            for j in inner.clone() {
                let (item, line) = if self.swapped { (j, i) } else { (i, j) };
                self.view.read_row([item, line, 0], &mut row);
                if let Some(k) = row.iter().position(|v| !v.is_finite()) {
                    let (name, v) = (self.name, row[k]);
                    let [i, j] = if self.swapped { [i + self.above, j] } else { [i, j + self.above] };
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
