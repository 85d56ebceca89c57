//! A reconstruction from lines, on the engine's columns.

use super::columns::Columns;
use crate::dropped::Dropped;
use crate::engine::{Facts, Progress, Ratio, Tally};
use crate::lines::{Counted, Grid, Lines, Through, copies};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// A list of events, in place, and what is needed beside it.
pub(crate) struct Data<'a> {
    lines: Lines<'a>,
    counted: Counted<'a>,
    /// Each part's sensitivity, blurred as images are.
    pub(super) sensitivity: Columns,
    pub(super) facts: Facts,
}

/// Images that lines cross and are added up in.
#[derive(Default)]
pub(crate) struct Room {
    image: Option<Buffer<f32>>,
    sums: Vec<Buffer<f32>>,
}

impl Room {
    /// The image where lines cross it, blurred.
    pub(super) fn image(&mut self, lines: &Lines, from: &Columns) -> Result<(&Buffer<f32>, &mut Vec<Buffer<f32>>)> {
        let Self { image, sums } = self;
        let grid = &lines.through.grid;
        if image.as_ref().is_none_or(|image| image.len() != grid.len()) {
            (*image, *sums) = (Some(grid.zeroed()?), Vec::new());
        }
        let Some(image) = image else { fail!(Internal, "there is no image") };
        grid.fill(image, |x, y, column| column.copy_from_slice(from.column(x, y)));
        lines.blurred(image)?;
        Ok((image, sums))
    }
}

/// Passes on each voxel's value in the columns, and in the grid.
pub(super) fn each(columns: &mut Columns, grid: &Grid, image: &[f32], op: impl Fn(&mut f32, f32) + Sync) {
    columns.par_columns(|x, y, column| {
        let from = &image[grid.column(x, y)..][..column.len()];
        column.iter_mut().zip(from).for_each(|(v, from)| op(v, *from));
    });
}

impl<'a> Data<'a> {
    /// `seen` is the sensitivity as it was given.
    pub(super) fn new(level: Level, counted: &Counted<'a>, mut seen: Columns, job: &Job) -> Result<(Self, Dropped)> {
        let lines = Lines { level, through: counted.through.clone() };
        let grid = &counted.through.grid;
        let mut room = Room { image: Some(grid.zeroed()?), sums: Vec::new() };
        let (image, _) = room.image(&lines, &seen)?;
        let part = 1.0 / counted.parts as f32;
        each(&mut seen, grid, image, |v, blurred| *v = blurred * part);
        let dropped = lines.survey(job)?;
        let sum = |part: &[f32]| part.iter().map(|v| f64::from(*v)).sum::<f64>();
        let factors = seen.data().par_chunks(1 << 14).map(sum).collect::<Vec<f64>>().iter().sum::<f64>();
        let facts = Facts {
            measured: (lines.through.list.len() as u64 - dropped.total()) as f64,
            factors: factors * counted.parts as f64,
            largest_factor: 1.0,
            // Voxels beyond what lines cross.
            has_zero_factor: true,
            ..Facts::default()
        };
        Ok((Self { lines, counted: counted.clone(), sensitivity: seen, facts }, dropped))
    }

    /// Bytes of images that lines cross and are added up in.
    pub(super) fn bytes(&self) -> u64 {
        let Through { list, grid, .. } = &self.counted.through;
        grid.bytes() * (1 + copies(grid, list.len().div_ceil(self.counted.parts))) as u64
    }

    /// See [`crate::engine::Engine::add_ratios`]; a part of the list for each view.
    pub(super) fn add_ratios(
        &self,
        room: &mut Room,
        parts: &[usize],
        of: Ratio,
        (image, sum): (&Columns, &mut Columns),
        progress: Progress,
    ) -> Result<Tally> {
        let Self { lines, counted, sensitivity, .. } = self;
        let (blurred, sums) = room.image(lines, image)?;
        let expected: Vec<f64> = image
            .data()
            .par_chunks(1 << 14)
            .zip(sensitivity.data().par_chunks(1 << 14))
            .map(|(f, s)| f.iter().zip(s).map(|(f, s)| f64::from(*f) * f64::from(*s)).sum())
            .collect();
        let expected: f64 = expected.iter().sum();
        let mut tally = Tally::default();
        for part in parts {
            tally =
                tally + lines.ratios(counted.part(*part), blurred, sums, &|from, row| counted.besides(from, row))?;
            tally.log_likelihood -= expected;
            each(sum, &lines.through.grid, &sums[0], |v, more| *v += more);
            if of == Ratio::Discrepancy {
                let (to, seen) = (sum.data_mut().par_chunks_mut(1 << 14), sensitivity.data().par_chunks(1 << 14));
                to.zip(seen).for_each(|(to, seen)| to.iter_mut().zip(seen).for_each(|(to, s)| *to -= s));
            }
            progress(1.0)?;
        }
        Ok(tally)
    }
}
