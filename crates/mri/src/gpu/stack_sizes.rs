//! What sums over a stack take on a GPU, known before anything is there.

use super::lines::line_sizes;
use super::workspace::side_by_side;
use crate::stack::{Plane, Stack};
use crate::trajectory::Trajectory;
use crate::transform::Fourier;
use isocenter_base::cpu::buffer::append;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use isocenter_base::gpu::WorkspaceBytes;
use isocenter_base::gpu::fft::{Line, MAX_LENGTH, Window};
use isocenter_nufft::Scalar;
use isocenter_nufft::Settings;
use isocenter_nufft::gpu::{Choice, LineSizes, MAX_IMAGES};

/// Sizes of all that the sums work on.
pub(super) struct StackSizes {
    pub(super) stack: Stack,
    /// Bins from the first plane to the last.
    pub(super) span: Window,
    pub(super) patterns: Vec<PatternSizes>,
    pub(super) runs: Vec<Run>,
}

/// Of sums in planes that have their samples at the same places.
pub(super) struct PatternSizes {
    pub(super) kind: Kind,
    pub(super) settings: Settings,
    /// Planes of its longest run.
    pub(super) planes: usize,
}

pub(super) enum Kind {
    Lines(LineSizes),
    Points(Choice),
}

/// Planes of a pattern in neighbouring bins.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) pattern: usize,
    /// Of the first plane in the span.
    pub(super) position: usize,
    pub(super) planes: usize,
    /// Of a plane, and the first of them in the stack's order.
    pub(super) samples: usize,
    pub(super) first_sample: usize,
}

impl StackSizes {
    /// For so many coils; None where samples are no stack, or one whose planes no transform on a GPU has.
    pub(super) fn new<T: Scalar>(
        fourier: &Fourier,
        grid: [usize; 3],
        trajectory: &Trajectory,
        coils: usize,
    ) -> Result<Option<Self>> {
        let takes = |length: usize| length <= MAX_LENGTH && Line::passes(length).is_some();
        let Some(stack) = Stack::find(trajectory, grid, fourier.tolerance, takes)? else { return Ok(None) };
        let (start, count) = stack.span();
        let span = Window { start, count, whole: false };
        let runs = runs(&stack)?;
        let [_, ny, nx] = grid;
        let fourier = Fourier { tolerance: stack.tolerance(), ..*fourier };
        let mut patterns = Vec::new();
        for planes in stack.patterns() {
            let first = &planes[0];
            let settings = fourier.settings(Level::BASELINE, [1, ny, nx], first.samples.len());
            let longest = runs.iter().filter(|r| r.pattern == first.pattern).map(|r| r.planes).max().unwrap_or(1);
            let [x, y] = stack.points(first, trajectory)?;
            let kind = match line_sizes::<T>(&settings, || Ok([&x, &y, &[]]), longest.saturating_mul(coils))? {
                Some(sizes) => Kind::Lines(sizes),
                None => Kind::Points(Choice::new::<T>(&settings)?),
            };
            append(&mut patterns, PatternSizes { kind, settings, planes: longest })?;
        }
        Ok(Some(Self { stack, span, patterns, runs }))
    }

    /// Bytes of what is kept, but for small tables.
    pub(super) fn held_bytes<T: Scalar>(&self) -> u64 {
        let of = |p: &PatternSizes| match &p.kind {
            Kind::Lines(sizes) => sizes.held_bytes(),
            Kind::Points(choice) => {
                let coordinates = 2 * size_of::<f64>() * p.settings.samples;
                choice.point_bytes::<T>(p.settings.samples) + coordinates as u64
            }
        };
        self.patterns.iter().map(of).sum::<u64>() + size_of_val(self.stack.order()) as u64
    }

    /// Of a workspace for so many coils side by side.
    pub(super) fn workspace_bytes<T: Scalar>(&self, coils: usize) -> WorkspaceBytes {
        let [nz, ny, nx] = self.stack.grid();
        let coil = ((self.span.count + nz) * ny * nx * T::PRECISION.complex()) as u64;
        let of = |coils: usize| {
            let images = |p: &PatternSizes| p.bytes::<T>(images_together(p.planes, coils));
            let planes = self.patterns.iter().map(images).fold(WorkspaceBytes::exactly(0), WorkspaceBytes::max);
            planes.plus(coils as u64 * coil)
        };
        side_by_side(WorkspaceBytes { minimum: self.minimum::<T>() + coil, ..of(1) }, of(coils))
    }

    /// Bytes without which planes cannot be transformed one by one.
    fn minimum<T: Scalar>(&self) -> u64 {
        self.patterns.iter().map(|p| p.bytes::<T>(1).minimum).max().unwrap_or(0)
    }
}

impl PatternSizes {
    /// Of sums for so many images side by side, with their samples.
    fn bytes<T: Scalar>(&self, images: usize) -> WorkspaceBytes {
        let samples = self.settings.samples;
        let sums = match &self.kind {
            Kind::Lines(sizes) => WorkspaceBytes::exactly(sizes.workspace_bytes(images)),
            Kind::Points(choice) => choice.workspace_bytes::<T>(self.settings.shape, samples, images),
        };
        sums.plus((images * samples * T::PRECISION.complex()) as u64)
    }
}

/// Images of planes that are transformed together, where there are so many planes of so many coils: no more than lines take.
pub(super) fn images_together(planes: usize, coils: usize) -> usize {
    planes.saturating_mul(coils).min(MAX_IMAGES)
}

fn runs(stack: &Stack) -> Result<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    for plane in stack.planes() {
        let Plane { position, pattern, samples } = plane;
        match runs.last_mut() {
            Some(run) if run.pattern == *pattern && run.position + run.planes == *position => run.planes += 1,
            _ => {
                let (samples, first_sample) = (samples.len(), samples.start);
                append(&mut runs, Run { pattern: *pattern, position: *position, planes: 1, samples, first_sample })?;
            }
        }
    }
    Ok(runs)
}
