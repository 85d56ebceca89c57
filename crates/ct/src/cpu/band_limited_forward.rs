//! Band-limited forward projection: slices are transformed to points on lines in their Fourier plane, and these to rows.

use super::band_limited::{Banded, C, Ends, LINES, Room, Spectra, Way, images_of};
use super::groups::Groups;
use super::work::Call;
use crate::band_limited::BandLimited;
use crate::geometry::Geometry;
use isocenter_base::context::Stage;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
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
    fn of_slab(&self, on: &Spectra, call: &Call, slab: &Groups, room: [&mut [f32]; 2]) -> Result<()> {
        let g = on.geometry;
        let ends = Ends {
            context: call.context,
            job: call.job,
            share: Some(slab.count as f64 / g.slices as f64),
            slices: slab.count,
            images: images_of(slab.lanes.count()),
            read: &|[slice, y], part| call.input.read(slab.first + slice, y, part),
            write: &|[slice, view], part| {
                let to = call.arrays.row(g, slab.first + slice);
                // SAFETY: a view's row of a slice is written once.
                unsafe { call.target.write_row([view, to, 0], part) };
            },
        };
        self.run(on, &ends, room)
    }

    fn run(&self, on: &Spectra, ends: &Ends, [cells, values]: [&mut [f32]; 2]) -> Result<()> {
        let (g, images, used) = (on.geometry, ends.images, ends.used());
        ends.enter(Stage::Forward);
        on.lines.cells(used, images, cells, |y, image, parts| {
            ends.job.check()?;
            ends.read_two([image, y], parts)?;
            ends.advance((1.0 - LINES) / (g.ny * used) as f64);
            Ok(())
        })?;
        for chunk in on.lines.chunks() {
            ends.job.check()?;
            on.lines.interpolate(chunk.clone(), images, cells, values)?;
            write(on, ends, chunk.clone(), values)?;
            ends.advance(LINES * chunk.len() as f64 / g.views() as f64);
        }
        Ok(())
    }
}

/// Rows of a chunk of lines from their values.
fn write(on: &Spectra, ends: &Ends, chunk: Range<usize>, values: &[f32]) -> Result<()> {
    let images = ends.images;
    let line = on.lines.points() * 2 * images;
    values[..chunk.len() * line].par_chunks(line).zip(chunk).try_for_each_init(
        || on.room(images),
        |room, (values, k)| {
            ends.job.check()?;
            let Room { parts, rows, phases, fft } = room.as_mut().map_err(|e| e.clone())?;
            on.phases(k, phases);
            let (apart, period, half) = (on.row_len(), on.period(), on.half());
            vectorised(ends.context.level(), Apart { values, images, phases, half, rows, apart, period });
            for (image, row) in rows.chunks_exact_mut(apart).take(ends.used()).enumerate() {
                on.row.process_with_scratch(&mut row[..period], fft);
                let [real, imaginary] = &mut *parts;
                for ((re, im), z) in real.iter_mut().zip(imaginary.iter_mut()).zip(row.iter()) {
                    (*re, *im) = (z.re, z.im);
                }
                ends.write_two([image, on.lines.order()[k]], [real, imaginary]);
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
