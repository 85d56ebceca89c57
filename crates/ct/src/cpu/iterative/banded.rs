//! The band-limited pair between vectors that stay where they are: images `[slice][y][x]`, rows `[slice][view][bin]`.

use super::resident::{Kept, Row};
use crate::band_limited::BandLimited;
use crate::cpu::band_limited::{Banded, Ends, Way};
use crate::cpu::band_limited_forward::BandLimitedForward;
use crate::cpu::band_limited_sum::BandLimitedSum;
use crate::cpu::groups::Lanes;
use crate::geometry::Geometry;
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::Result;

/// Both ways of all views.
pub(super) struct BandedPair<'a> {
    geometry: &'a Geometry,
    forward: Banded<'a, BandLimitedForward>,
    adjoint: Banded<'a, BandLimitedSum>,
}

/// A line of some vector: which slice's, and which of it.
struct Lines<'v> {
    from: &'v [f32],
    to: Shared<'v, f32>,
    /// From one line to the next, and from slice to slice.
    strides: [[usize; 2]; 2],
}

impl<'a> BandedPair<'a> {
    pub(super) fn new(g: &'a Geometry, level: Level, threads: usize, band_limited: BandLimited) -> Result<Self> {
        Ok(Self {
            geometry: g,
            forward: Banded::forward(g, level, threads, band_limited)?,
            adjoint: Banded::adjoint(g, level, threads, band_limited)?,
        })
    }

    pub(super) fn views(&self) -> usize {
        self.geometry.views()
    }

    /// For so many slices.
    pub(super) fn kept(&self, slices: usize) -> Result<Kept> {
        let g = self.geometry;
        let (pixels, samples) = (g.ny * g.nx, g.views() * g.bins);
        let images = self.images(slices);
        let [forward, adjoint] = [self.forward.spectra.lens(images)?, self.adjoint.spectra.lens(images)?];
        Ok(Kept {
            side: Lanes::Alone,
            lanes: 1,
            groups: slices,
            pixels,
            image: pixels * slices,
            row: Row { floats: g.bins, pad: 0 },
            samples,
            rows: samples * slices,
            packed: forward.iter().sum::<usize>().max(adjoint.iter().sum()),
            chunk: 1,
        })
    }

    /// Bytes beside the vectors and what is packed.
    pub(super) fn other_bytes(&self, slices: usize) -> u64 {
        let images = self.images(slices);
        self.forward.spectra.other_bytes(images) + self.adjoint.spectra.other_bytes(images)
    }

    /// Worked on together.
    fn images(&self, slices: usize) -> usize {
        let [a, b] = [&self.forward.spectra, &self.adjoint.spectra].map(|s| s.images(slices, u64::MAX));
        a.min(b)
    }

    /// rows = A image
    pub(super) fn forward(
        &self,
        at_work: (&Context, &Job),
        slices: usize,
        image: &[f32],
        packed: &mut [f32],
        rows: &mut [f32],
    ) -> Result<()> {
        let g = self.geometry;
        let strides = [[g.nx, g.ny * g.nx], [g.bins, g.views() * g.bins]];
        self.apply(&self.forward, at_work, slices, Lines { from: image, to: Shared::new(rows), strides }, packed)
    }

    /// image = A^T rows
    pub(super) fn adjoint(
        &self,
        at_work: (&Context, &Job),
        slices: usize,
        rows: &[f32],
        packed: &mut [f32],
        image: &mut [f32],
    ) -> Result<()> {
        let g = self.geometry;
        let strides = [[g.bins, g.views() * g.bins], [g.nx, g.ny * g.nx]];
        self.apply(&self.adjoint, at_work, slices, Lines { from: rows, to: Shared::new(image), strides }, packed)
    }

    fn apply(
        &self,
        way: &Banded<'_, impl Way>,
        (context, job): (&Context, &Job),
        slices: usize,
        Lines { from, to, strides: [there, back] }: Lines,
        packed: &mut [f32],
    ) -> Result<()> {
        let images = self.images(slices);
        let [cells, values] = way.spectra.lens(images)?;
        for first in (0..slices).step_by(2 * images) {
            let ends = Ends {
                context,
                job,
                share: None,
                slices: (slices - first).min(2 * images),
                images,
                read: &|[slice, line], part| {
                    part.copy_from_slice(&from[(first + slice) * there[1] + line * there[0]..][..part.len()]);
                    Ok(())
                },
                write: &|[slice, line], part| {
                    // SAFETY: each line is handed over once, and lines do not overlap.
                    unsafe { to.write((first + slice) * back[1] + line * back[0], part) };
                },
            };
            let (cells, rest) = packed.split_at_mut(cells);
            way.way.run(&way.spectra, &ends, [cells, &mut rest[..values]])?;
        }
        Ok(())
    }
}
