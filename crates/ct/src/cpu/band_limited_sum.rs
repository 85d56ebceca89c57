//! Band-limited back projection: the spectra of rows, filtered or not, are values at points on lines in the image's Fourier plane.

use super::band_limited::{Banded, C, Ends, LINES, Room, Spectra, View, Way, images_of};
use super::groups::Groups;
use super::work::Call;
use crate::band_limited::BandLimited;
use crate::geometry::Geometry;
use crate::rows::filter::RowFilter;
use isocenter_base::context::Stage;
use isocenter_base::cpu::buffer::clear;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use rustfft::FftDirection;
use std::ops::Range;

/// `backproject` and `reconstruct`, or `adjoint`.
pub(super) struct BandLimitedSum {
    stage: Stage,
    filter: Option<RowFilter>,
}

impl<'a> Banded<'a, BandLimitedSum> {
    pub(super) fn backproject(
        g: &'a Geometry,
        level: Level,
        threads: usize,
        band_limited: BandLimited,
        weights: Option<&[f64]>,
        filter: Option<RowFilter>,
    ) -> Result<Self> {
        let BandLimited { period, .. } = band_limited;
        let view = |v: usize| View { scale: weights.map_or(1.0, |w| w[v]) / period as f64, last: period / 2 };
        let spectra = Spectra::new(g, level, threads, band_limited, FftDirection::Forward, view)?;
        let spectra = match &filter {
            Some(filter) => spectra.with_room(filter.line_lens(), RowFilter::table_bytes(g.bins)),
            None => spectra,
        };
        Ok(Self { spectra, way: BandLimitedSum { stage: Stage::Backproject, filter } })
    }

    pub(super) fn adjoint(g: &'a Geometry, level: Level, threads: usize, band_limited: BandLimited) -> Result<Self> {
        let spectra = Spectra::pair(g, level, threads, band_limited, FftDirection::Forward)?;
        Ok(Self { spectra, way: BandLimitedSum { stage: Stage::Adjoint, filter: None } })
    }
}

impl Way for BandLimitedSum {
    fn of_slab(&self, on: &Spectra, call: &Call, slab: &Groups, room: [&mut [f32]; 2]) -> Result<()> {
        let g = on.geometry;
        let ends = Ends {
            context: call.context,
            job: call.job,
            share: Some(slab.count as f64 / g.slices as f64),
            slices: slab.count,
            images: images_of(slab.lanes.count()),
            read: &|[slice, view], part| call.input.read(view, g.first_row + slab.first + slice, part),
            write: &|[slice, y], part| {
                let to = call.arrays.slice(slab.first + slice);
                // SAFETY: each row of a slice is handed over once.
                unsafe { call.write_row([to, y, 0], part) };
            },
        };
        self.run(on, &ends, room)
    }

    fn run(&self, on: &Spectra, ends: &Ends, [cells, values]: [&mut [f32]; 2]) -> Result<()> {
        let (g, images, used) = (on.geometry, ends.images, ends.used());
        clear(cells);
        for chunk in on.lines.chunks() {
            ends.enter(if self.filter.is_some() { Stage::Filter } else { self.stage });
            self.values(on, ends, chunk.clone(), values)?;
            ends.enter(self.stage);
            on.lines.spread(chunk.clone(), images, values, cells)?;
            ends.job.check()?;
            ends.advance(LINES * chunk.len() as f64 / g.views() as f64);
        }
        on.lines.images(used, images, cells, |y, image, parts| {
            ends.job.check()?;
            ends.write_two([image, y], parts);
            ends.advance((1.0 - LINES) / (g.ny * used) as f64);
            Ok(())
        })
    }
}

impl BandLimitedSum {
    /// Values of a chunk of lines.
    fn values(&self, on: &Spectra, ends: &Ends, chunk: Range<usize>, values: &mut [f32]) -> Result<()> {
        let images = ends.images;
        let line = on.lines.points() * 2 * images;
        values[..chunk.len() * line].par_chunks_mut(line).zip(chunk).try_for_each_init(
            || on.room(images),
            |room, (values, k)| {
                ends.job.check()?;
                self.line(on, ends, k, room.as_mut().map_err(|e| e.clone())?, values)
            },
        )
    }

    /// Values of a line: the spectra of its view's rows, as seen from the middle pixel.
    fn line(&self, on: &Spectra, ends: &Ends, k: usize, room: &mut Room, values: &mut [f32]) -> Result<()> {
        let (bins, period, images) = (on.geometry.bins, on.period(), ends.images);
        let (view, used) = (on.lines.order()[k], ends.used());
        let Room { parts, rows, phases, fft } = room;
        let apart = on.row_len();
        for (image, row) in rows.chunks_exact_mut(apart).take(used).enumerate() {
            let [real, imaginary] = parts;
            ends.read_two([image, view], [real, imaginary])?;
            for (z, (re, im)) in row.iter_mut().zip(real.iter().zip(imaginary)) {
                *z = C::new(*re, *im);
            }
            if let Some(filter) = &self.filter {
                let [padded, scratch] = filter.line_lens();
                filter.apply_to_line(&mut row[..padded], &mut fft[..scratch]);
            }
            row[bins..period].fill(C::default());
            on.row.process_with_scratch(&mut row[..period], fft);
        }
        on.phases(k, phases);
        let half = on.half();
        vectorised(ends.context.level(), Interleave { rows, apart, period, half, images, phases, values });
        Ok(())
    }
}

/// The values of a view's images side by side: their spectra from -half to half, times phases.
struct Interleave<'a> {
    rows: &'a [C],
    apart: usize,
    period: usize,
    half: usize,
    images: usize,
    phases: &'a [C],
    values: &'a mut [f32],
}

impl Interleave<'_> {
    #[inline(always)]
    fn of<const L: usize>(self) {
        let half = self.half;
        let (values, _) = self.values.as_chunks_mut::<2>();
        let (values, _) = values.as_chunks_mut::<L>();
        let (down, up) = values.split_at_mut(half);
        let (phases_down, phases_up) = self.phases.split_at(half);
        // Frequencies -half .. -1, then 0 .. half - 1, then half; P/2 is -P/2 again.
        let parts = [(down, phases_down, self.period - half), (&mut up[..half], &phases_up[..half], 0)];
        for (values, phases, first) in parts {
            let rows: [&[C]; L] = std::array::from_fn(|k| &self.rows[k * self.apart + first..][..half]);
            for (f, (value, phase)) in values.iter_mut().zip(phases).enumerate() {
                for (row, v) in rows.iter().zip(value) {
                    let z = row[f] * *phase;
                    *v = [z.re, z.im];
                }
            }
        }
        for (k, v) in up[half].iter_mut().enumerate() {
            let z = self.rows[k * self.apart + half] * phases_up[half];
            *v = [z.re, z.im];
        }
    }
}

impl Plain for Interleave<'_> {
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
