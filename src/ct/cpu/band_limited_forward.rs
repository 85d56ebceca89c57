//! Band-limited forward projection: slices are transformed to points on lines in their Fourier plane, and these to rows.

use super::band_limited::{Banded, C, LINES, Room, Spectra, Way, images_of, read_two};
use super::groups::Groups;
use super::work::Call;
use crate::context::Stage;
use crate::cpu::level::Level;
use crate::cpu::simd::{Plain, vectorised};
use crate::ct::band_limited::BandLimited;
use crate::ct::geometry::Geometry;
use crate::error::Result;
use rayon::prelude::*;
use rustfft::FftDirection;
use std::ops::Range;

/// `forward`.
pub(super) struct BandLimitedForward;

impl<'a> Banded<'a, BandLimitedForward> {
    pub(super) fn forward(g: &'a Geometry, level: Level, threads: usize, band_limited: BandLimited) -> Result<Self> {
        let spectra = Spectra::pair(g, level, threads, band_limited, FftDirection::Inverse)?;
        Ok(Self { spectra, way: BandLimitedForward })
    }
}

impl Way for BandLimitedForward {
    fn run(&self, on: &Spectra, call: &Call, slab: &Groups, cells: &mut [f32], values: &mut [f32]) -> Result<()> {
        let (job, g, images) = (call.job, on.geometry, images_of(slab.lanes));
        let (used, share) = (slab.count.div_ceil(2), slab.count as f64 / g.slices as f64);
        job.enter(Stage::Forward);
        on.lines.cells(used, images, cells, |y, image, parts| {
            job.check()?;
            read_two(slab, image, parts, |slice, part| call.input.read(slab.first + slice, y, part))?;
            job.advance((1.0 - LINES) * share / (g.ny * used) as f64);
            Ok(())
        })?;
        for chunk in on.lines.chunks() {
            job.check()?;
            on.lines.interpolate(chunk.clone(), images, cells, values)?;
            write(on, call, slab, chunk.clone(), values)?;
            job.advance(LINES * share * chunk.len() as f64 / g.views() as f64);
        }
        Ok(())
    }
}

/// Rows of a chunk of lines from their values.
fn write(on: &Spectra, call: &Call, slab: &Groups, chunk: Range<usize>, values: &[f32]) -> Result<()> {
    let images = images_of(slab.lanes);
    let line = on.lines.points() * 2 * images;
    values[..chunk.len() * line].par_chunks(line).zip(chunk).try_for_each_init(
        || on.room(images),
        |room, (values, k)| {
            call.job.check()?;
            let Room { parts, rows, phases, fft } = room.as_mut().map_err(|e| e.clone())?;
            on.phases(k, phases);
            let (apart, period, half) = (on.row_len(), on.period(), on.half());
            vectorised(call.context.level(), Apart { values, images, phases, half, rows, apart, period });
            for (image, row) in rows.chunks_exact_mut(apart).take(slab.count.div_ceil(2)).enumerate() {
                on.row.process_with_scratch(&mut row[..period], fft);
                let [real, imaginary] = &mut *parts;
                for ((re, im), z) in real.iter_mut().zip(imaginary).zip(row.iter()) {
                    (*re, *im) = (z.re, z.im);
                }
                for (slice, part) in (2 * image..slab.count).zip(&*parts) {
                    let to = call.arrays.row(on.geometry, slab.first + slice);
                    // SAFETY: a view is one line's, and its row of a slice is written once.
                    unsafe { call.target.write_row([on.lines.order()[k], to, 0], part) };
                }
            }
            Ok(())
        },
    )
}

/// The spectra of a view's images, from their values side by side: times conjugate phases, in the order of the transform.
struct Apart<'a> {
    values: &'a [f32],
    images: usize,
    phases: &'a [C],
    half: usize,
    rows: &'a mut [C],
    apart: usize,
    period: usize,
}

impl Apart<'_> {
    #[inline(always)]
    fn of<const L: usize>(self) {
        let Self { half, apart, period, .. } = self;
        let (values, _) = self.values.as_chunks::<2>();
        let (values, _) = values.as_chunks::<L>();
        let (down, up) = values.split_at(half);
        let (phases_down, phases_up) = self.phases.split_at(half);
        let of = |[re, im]: [f32; 2], phase: &C| C::new(re, im) * phase.conj();
        for (k, row) in self.rows.chunks_exact_mut(apart).take(L).enumerate() {
            row[half..period - half].fill(C::default());
            let parts = [(down, phases_down, period - half), (&up[..half], &phases_up[..half], 0)];
            for (values, phases, first) in parts {
                let pairs = values.iter().zip(phases);
                row[first..][..half].iter_mut().zip(pairs).for_each(|(z, (v, phase))| *z = of(v[k], phase));
            }
            // P/2 is -P/2 again.
            row[half] += of(up[half][k], &phases_up[half]);
        }
    }
}

impl Plain for Apart<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.images {
            1 => self.of::<1>(),
            2 => self.of::<2>(),
            4 => self.of::<4>(),
            8 => self.of::<8>(),
            images => unreachable!("{images} images"),
        }
    }
}
