//! Band-limited back projection: the spectra of filtered rows are values at points on lines in the image's Fourier plane. Two
//! slices are the real and imaginary part of an image, whatever slab they are in, and several images are worked on at a time.

use super::groups::Groups;
use super::work::{Call, Work};
use crate::context::Stage;
use crate::cpu::buffer::{Workspace, clear, collected, probe, zeros};
use crate::cpu::level::Level;
use crate::cpu::simd::{Plain, vectorised};
use crate::ct::band_limited::{BandLimited, Spoke};
use crate::ct::geometry::Geometry;
use crate::ct::rows::filter::RowFilter;
use crate::error::{Result, fail};
use crate::nufft::lines::{ENOUGH, LineSettings, Lines, MAX_IMAGES};
use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};
use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

type C = Complex<f32>;

/// Frequencies whose phases come of one product.
const PHASES: usize = 64;
/// The part of a slab's progress that lines have; the transform to images has the rest.
const SPREADING: f64 = 0.75;

/// A band-limited back projection made ready.
pub(super) struct BandLimitedSum<'a> {
    geometry: &'a Geometry,
    threads: usize,
    filter: Option<RowFilter>,
    lines: Lines,
    /// Of the views in the order of the lines; what their spectra are multiplied by.
    spokes: Vec<Spoke>,
    scales: Vec<f64>,
    /// A row and its zeros.
    row: Arc<dyn Fft<f32>>,
}

/// A thread's working memory: a row of every image, and the phases of a view.
struct Room {
    part: Vec<f32>,
    rows: Vec<C>,
    phases: Vec<C>,
    fft: Vec<C>,
}

impl<'a> BandLimitedSum<'a> {
    pub(super) fn new(
        geometry: &'a Geometry,
        level: Level,
        threads: usize,
        band_limited: BandLimited,
        weights: Option<&[f64]>,
        filter: Option<RowFilter>,
    ) -> Result<Self> {
        let BandLimited { period, tolerance } = band_limited;
        let spokes = collected((0..geometry.views()).map(|v| band_limited.spoke(geometry, v)))?;
        let steps = collected(spokes.iter().map(|s| s.step))?;
        let shape = [geometry.ny, geometry.nx];
        // The planner's tables.
        probe(16 * period as u64)?;
        let row = FftPlanner::new().plan_fft_forward(period);
        let lines = Lines::new(LineSettings { shape, tolerance, half: period / 2, level }, &steps)?;
        let spokes = collected(lines.order().iter().map(|v| spokes[*v]))?;
        let weight = |v: &usize| weights.map_or(1.0, |w| w[*v]) / period as f64;
        let scales = collected(lines.order().iter().map(weight))?;
        Ok(Self { geometry, threads, filter, lines, spokes, scales, row })
    }

    fn period(&self) -> usize {
        self.row.len()
    }

    /// Numbers from row to row: room for both transforms, and no two rows in each other's way.
    fn row_len(&self) -> usize {
        let padded = self.filter.as_ref().map_or(0, |f| f.line_lens()[0]);
        (self.period().max(padded).div_ceil(8) | 1) * 8
    }

    /// Numbers that transforms of rows work in.
    fn fft_len(&self) -> usize {
        self.row.get_inplace_scratch_len().max(self.filter.as_ref().map_or(0, |f| f.line_lens()[1]))
    }

    fn room(&self, images: usize) -> Result<Room> {
        Ok(Room {
            part: zeros(self.geometry.bins)?,
            rows: zeros(images * self.row_len())?,
            phases: zeros(self.lines.points())?,
            fft: zeros(self.fft_len())?,
        })
    }

    /// Bytes beside fine grid and values: the threads' own, and tables.
    fn other_bytes(&self, images: usize) -> u64 {
        let (bins, period) = (self.geometry.bins, self.period());
        let tables = self.filter.as_ref().map_or(0, |_| RowFilter::table_bytes(bins));
        let room = 4 * bins + 8 * (images * self.row_len() + self.lines.points() + self.fft_len());
        let spokes = (size_of::<Spoke>() + 8) * self.spokes.len();
        let lines = self.lines.bytes(images, self.threads);
        lines + tables + self.threads as u64 * room as u64 + (16 * period + spokes) as u64
    }

    fn image_bytes(&self, images: usize) -> u64 {
        let floats = self.lines.grid_len(images).and_then(|n| n.checked_add(self.lines.values_len(images)));
        floats.map_or(u64::MAX, |n| (4 * n as u64).saturating_add(self.other_bytes(images)))
    }

    /// Values of a chunk of lines.
    fn values(&self, call: &Call, slab: &Groups, chunk: Range<usize>, values: &mut [f32]) -> Result<()> {
        let images = images_of(slab.lanes);
        let line = self.lines.points() * 2 * images;
        values[..chunk.len() * line].par_chunks_mut(line).zip(chunk).try_for_each_init(
            || self.room(images),
            |room, (values, k)| {
                call.job.check()?;
                self.line(call, slab, k, room.as_mut().map_err(|e| e.clone())?, values)
            },
        )
    }

    /// Values of a line: the spectra of its view's rows, as seen from the middle pixel.
    fn line(&self, call: &Call, slab: &Groups, k: usize, room: &mut Room, values: &mut [f32]) -> Result<()> {
        let (bins, period, images) = (self.geometry.bins, self.period(), images_of(slab.lanes));
        let (view, used) = (self.lines.order()[k], slab.count.div_ceil(2));
        let Room { part, rows, phases, fft } = room;
        let apart = self.row_len();
        for (image, row) in rows.chunks_exact_mut(apart).take(used).enumerate() {
            self.read_two(call, slab, view, 2 * image, part, &mut row[..bins])?;
            if let Some(filter) = &self.filter {
                let [padded, scratch] = filter.line_lens();
                filter.apply_to_line(&mut row[..padded], &mut fft[..scratch]);
            }
            row[bins..period].fill(C::default());
            self.row.process_with_scratch(&mut row[..period], fft);
        }
        self.phases(k, phases);
        vectorised(call.context.level(), Interleave { rows, apart, period, images, phases, values });
        Ok(())
    }

    /// The rows of two slices, or of one and zeros.
    fn read_two(
        &self,
        call: &Call,
        slab: &Groups,
        view: usize,
        first: usize,
        part: &mut [f32],
        line: &mut [C],
    ) -> Result<()> {
        let row = self.geometry.first_row + slab.first + first;
        call.input.read(view, row, part)?;
        line.iter_mut().zip(part.iter()).for_each(|(z, v)| *z = C::new(*v, 0.0));
        if first + 1 < slab.count {
            call.input.read(view, row + 1, part)?;
            line.iter_mut().zip(part.iter()).for_each(|(z, v)| z.im = *v);
        }
        Ok(())
    }

    /// exp(2 pi i f origin / P) for all frequencies, times the view's scale, half of it at both ends.
    fn phases(&self, k: usize, phases: &mut [C]) {
        let (turns, scale) = (self.spokes[k].origin / self.period() as f64, self.scales[k]);
        let at = |f: f64, scale: f64| {
            let (sin, cos) = (TAU * (f * turns).rem_euclid(1.0)).sin_cos();
            C::new((scale * cos) as f32, (scale * sin) as f32)
        };
        let fine: [C; PHASES] = std::array::from_fn(|f| at(f as f64, 1.0));
        let half = (self.period() / 2) as f64;
        for (b, block) in phases.chunks_mut(PHASES).enumerate() {
            let coarse = at((b * PHASES) as f64 - half, scale);
            block.iter_mut().zip(&fine).for_each(|(phase, fine)| *phase = coarse * fine);
        }
        let last = phases.len() - 1;
        for end in [0, last] {
            phases[end] = phases[end].scale(0.5);
        }
    }
}

/// Images of so many slices side by side.
fn images_of(lanes: usize) -> usize {
    lanes.div_ceil(2)
}

impl Work for BandLimitedSum<'_> {
    fn bytes(&self, lanes: usize, groups: usize) -> u64 {
        self.image_bytes(images_of(lanes)).saturating_mul(groups as u64)
    }

    fn slab_bytes(&self, slab: &Groups, _: u64) -> u64 {
        self.bytes(slab.lanes, 1)
    }

    fn tasks(&self, _: usize) -> usize {
        self.geometry.views()
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn unit(&self) -> usize {
        2
    }

    /// As many images side by side as there are, and as fit.
    fn next(&self, slices: Range<usize>, cap: u64, _: usize) -> Result<Groups> {
        let needed = self.image_bytes(1);
        if needed > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; band-limited back projection needs at least {needed}");
        }
        let wanted = images_of(slices.len()).next_power_of_two().min(MAX_IMAGES);
        let mut images = wanted;
        while images > 1 && self.image_bytes(images) > cap.min(ENOUGH) {
            images /= 2;
        }
        Ok(Groups { first: slices.start, count: slices.len().min(2 * images), lanes: 2 * images })
    }

    fn run(&self, call: &Call, slab: &Groups, cap: u64, workspace: &mut Workspace) -> Result<()> {
        let Call { job, .. } = *call;
        let (images, g) = (images_of(slab.lanes), self.geometry);
        let Some(len) = self.lines.grid_len(images) else {
            fail!(SizeOverflow, "the fine grid is more than memory can be");
        };
        let lens = [len, self.lines.values_len(images)];
        let [cells, values] = workspace.take(lens, cap.saturating_sub(self.other_bytes(images)))?;
        clear(cells);
        let share = slab.count as f64 / g.slices as f64;
        for chunk in self.lines.chunks() {
            job.enter(if self.filter.is_some() { Stage::Filter } else { Stage::Backproject });
            self.values(call, slab, chunk.clone(), values)?;
            job.enter(Stage::Backproject);
            self.lines.spread(chunk.clone(), images, values, cells)?;
            job.check()?;
            job.advance(SPREADING * share * chunk.len() as f64 / g.views() as f64);
        }
        let rows = g.ny * slab.count.div_ceil(2);
        self.lines.images(slab.count.div_ceil(2), images, cells, |y, image, parts| {
            job.check()?;
            self.write(call, slab, [image, y], parts);
            job.advance((1.0 - SPREADING) * share / rows as f64);
            Ok(())
        })?;
        job.check()
    }
}

impl BandLimitedSum<'_> {
    fn write(&self, call: &Call, slab: &Groups, [image, y]: [usize; 2], parts: [&[f32]; 2]) {
        for (slice, line) in (2 * image..slab.count).zip(parts) {
            let to = call.arrays.slice(slab.first + slice);
            // SAFETY: each row of a slice is handed over once.
            unsafe { call.target.write_row([to, y, 0], line) };
        }
    }
}

/// The values of a view's images side by side: their spectra from -P/2 to P/2, times phases.
struct Interleave<'a> {
    rows: &'a [C],
    apart: usize,
    period: usize,
    images: usize,
    phases: &'a [C],
    values: &'a mut [f32],
}

impl Interleave<'_> {
    #[inline(always)]
    fn of<const L: usize>(self) {
        let half = self.period / 2;
        let (values, _) = self.values.as_chunks_mut::<2>();
        let (values, _) = values.as_chunks_mut::<L>();
        let (down, up) = values.split_at_mut(half);
        let (phases_down, phases_up) = self.phases.split_at(half);
        // Frequencies -P/2 .. -1, then 0 .. P/2 - 1, then P/2, which is -P/2 again.
        let parts = [(down, phases_down, half), (&mut up[..half], &phases_up[..half], 0)];
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
