//! What band-limited operators share, whichever way they go: the lines of their views in the image's Fourier plane, and memory. Two
//! slices are the real and imaginary part of an image, whatever slab they are in, and several images are worked on at a time.

use super::groups::{Groups, Lanes};
use super::work::{Call, Work};
use crate::band_limited::BandLimited;
use crate::geometry::Geometry;
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::cpu::buffer::{Workspace, collected, probe, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_fft::Planner;
use isocenter_nufft::course::Course;
use isocenter_nufft::lines::{ENOUGH, LineSettings, Lines, MAX_IMAGES};
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftDirection};
use std::f64::consts::TAU;
use std::ops::Range;
use std::sync::Arc;

pub(super) type C = Complex<f32>;

/// Frequencies whose phases come of one product.
const PHASES: usize = 64;
/// The part of a slab's progress that lines have; the transform between grid and images has the rest.
pub(super) const LINES: f64 = 0.75;

/// A view's frequencies in its sum.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// What they are multiplied by.
    pub(super) scale: f64,
    /// The last of them, which has half its weight, as its negative has.
    pub(super) last: usize,
}

/// The lines of all views, and the transform of their rows.
pub(super) struct Spectra<'a> {
    pub(super) geometry: &'a Geometry,
    threads: usize,
    pub(super) lines: Lines,
    /// In the order of the lines: the bin that the middle pixel falls on, and frequencies.
    views: Vec<(f64, View)>,
    /// A row and its zeros.
    pub(super) row: Arc<dyn Fft<f32>>,
    /// Numbers of a row, and what its transforms work in.
    lens: [usize; 2],
    /// Bytes of what the operator holds besides.
    other: u64,
}

/// A thread's working memory: rows of two slices, of every image, and the phases of a view.
pub(super) struct Room {
    pub(super) parts: [Vec<f32>; 2],
    pub(super) rows: Vec<C>,
    pub(super) phases: Vec<C>,
    pub(super) fft: Vec<C>,
}

impl<'a> Spectra<'a> {
    /// `view` has each view's frequencies; rows are transformed in `direction`.
    pub(super) fn new(
        geometry: &'a Geometry,
        level: Level,
        threads: usize,
        band_limited: BandLimited,
        direction: FftDirection,
        view: impl Fn(usize) -> View,
    ) -> Result<Self> {
        let BandLimited { period, tolerance, .. } = band_limited;
        let spokes = collected((0..geometry.views()).map(|v| band_limited.spoke(geometry, v)))?;
        let steps = collected(spokes.iter().map(|s| s.step))?;
        // The planner's tables.
        probe(16 * period as u64)?;
        let row = Planner::new().plan_fft(period, direction);
        let (shape, half) =
            ([geometry.ny, geometry.nx], (0..geometry.views()).map(|v| view(v).last).max().unwrap_or(0));
        let lines = Lines::new(LineSettings { shape, tolerance, course: Course::symmetric(half), level }, &steps)?;
        let views = collected(lines.order().iter().map(|v| (spokes[*v].origin, view(*v))))?;
        let lens = [period, row.get_inplace_scratch_len()];
        Ok(Self { geometry, threads, lines, views, row, lens, other: 0 })
    }

    /// The lines of `forward` and `adjoint`.
    pub(super) fn pair(
        geometry: &'a Geometry,
        level: Level,
        threads: usize,
        band_limited: BandLimited,
        direction: FftDirection,
    ) -> Result<Self> {
        let scale = band_limited.pair_scale(geometry);
        let view = |v| View { scale, last: band_limited.last(geometry, v) };
        Self::new(geometry, level, threads, band_limited, direction, view)
    }

    /// Makes room for what else is done to rows in place: numbers of a row and of working memory, bytes of tables.
    pub(super) fn with_room(mut self, lens: [usize; 2], bytes: u64) -> Self {
        self.lens = [self.lens[0].max(lens[0]), self.lens[1].max(lens[1])];
        self.other = bytes;
        self
    }

    pub(super) fn period(&self) -> usize {
        self.row.len()
    }

    /// The last frequency of any view.
    pub(super) fn half(&self) -> usize {
        self.lines.points() / 2
    }

    /// Numbers from row to row: room for all transforms, and no two rows in each other's way.
    pub(super) fn row_len(&self) -> usize {
        (self.lens[0].div_ceil(8) | 1) * 8
    }

    pub(super) fn room(&self, images: usize) -> Result<Room> {
        let bins = self.geometry.bins;
        Ok(Room {
            parts: [zeros(bins)?, zeros(bins)?],
            rows: zeros(images * self.row_len())?,
            phases: zeros(self.lines.points())?,
            fft: zeros(self.lens[1])?,
        })
    }

    /// Bytes beside fine grid and values: the threads' own, and tables.
    pub(super) fn other_bytes(&self, images: usize) -> u64 {
        let numbers = self.geometry.bins + images * self.row_len() + self.lines.points() + self.lens[1];
        let views = size_of::<(f64, View)>() * self.views.len();
        let lines = self.lines.bytes(images, self.threads);
        lines + self.other + self.threads as u64 * 8 * numbers as u64 + (16 * self.period() + views) as u64
    }

    pub(super) fn image_bytes(&self, images: usize) -> u64 {
        let floats = self.lens(images).ok().and_then(|[cells, values]| cells.checked_add(values));
        floats.map_or(u64::MAX, |n| (4 * n as u64).saturating_add(self.other_bytes(images)))
    }

    /// Images side by side for so many slices: as many as there are, and as fit.
    pub(super) fn images(&self, slices: usize, cap: u64) -> usize {
        let mut images = images_of(slices).next_power_of_two().min(MAX_IMAGES);
        while images > 1 && self.image_bytes(images) > cap.min(ENOUGH) {
            images /= 2;
        }
        images
    }

    /// Floats of the fine grid and of values.
    pub(super) fn lens(&self, images: usize) -> Result<[usize; 2]> {
        let Some(cells) = self.lines.grid_len(images) else {
            fail!(SizeOverflow, "the fine grid is more than memory can be");
        };
        Ok([cells, self.lines.values_len(images)])
    }

    /// exp(2 pi i f origin / P) for the frequencies -half..=half of a line, times the view's scale, half of it for its last ones, and 0
    /// beyond.
    pub(super) fn phases(&self, k: usize, phases: &mut [C]) {
        let (origin, View { scale, last }) = self.views[k];
        let turns = origin / self.period() as f64;
        let at = |f: f64, scale: f64| {
            let (sin, cos) = (TAU * (f * turns).rem_euclid(1.0)).sin_cos();
            C::new((scale * cos) as f32, (scale * sin) as f32)
        };
        let fine: [C; PHASES] = std::array::from_fn(|f| at(f as f64, 1.0));
        let beyond = self.half() - last;
        phases.fill(C::default());
        let phases = &mut phases[beyond..][..2 * last + 1];
        for (b, block) in phases.chunks_mut(PHASES).enumerate() {
            let coarse = at((b * PHASES) as f64 - last as f64, scale);
            block.iter_mut().zip(&fine).for_each(|(phase, fine)| *phase = coarse * fine);
        }
        for end in [0, 2 * last] {
            phases[end] = phases[end].scale(0.5);
        }
    }
}

/// Reads a line of a slice, and hands one over.
pub(super) type Read<'e> = dyn Fn([usize; 2], &mut [f32]) -> Result<()> + Sync + 'e;
pub(super) type Write<'e> = dyn Fn([usize; 2], &[f32]) + Sync + 'e;

/// Some slices: where their lines come from and go to. A line is a row of a slice, or a view's.
pub(super) struct Ends<'e> {
    pub(super) context: &'e Context,
    pub(super) job: &'e Job,
    /// Those of all the call's slices, where this is what the job tells of.
    pub(super) share: Option<f64>,
    pub(super) slices: usize,
    /// Images side by side.
    pub(super) images: usize,
    pub(super) read: &'e Read<'e>,
    /// Each line is handed over once.
    pub(super) write: &'e Write<'e>,
}

impl Ends<'_> {
    /// Images that hold the slices.
    pub(super) fn used(&self) -> usize {
        self.slices.div_ceil(2)
    }

    pub(super) fn enter(&self, stage: Stage) {
        if self.share.is_some() {
            self.job.enter(stage);
        }
    }

    pub(super) fn advance(&self, part: f64) {
        if let Some(share) = self.share {
            self.job.advance(part * share);
        }
    }

    /// A line of an image's two slices, or of one and zeros.
    pub(super) fn read_two(&self, [image, line]: [usize; 2], [first, second]: [&mut [f32]; 2]) -> Result<()> {
        (self.read)([2 * image, line], first)?;
        if 2 * image + 1 == self.slices {
            second.fill(0.0);
            return Ok(());
        }
        (self.read)([2 * image + 1, line], second)
    }

    pub(super) fn write_two(&self, [image, line]: [usize; 2], parts: [&[f32]; 2]) {
        for (slice, part) in (2 * image..self.slices).zip(parts) {
            (self.write)([slice, line], part);
        }
    }
}

/// One way of the sums.
pub(super) trait Way: Sync {
    /// Of a slab of a call.
    fn of_slab(&self, on: &Spectra, call: &Call, slab: &Groups, room: [&mut [f32]; 2]) -> Result<()>;
    /// Of some slices; `cells` and `values` as [`Spectra::lens`] has them.
    fn run(&self, on: &Spectra, ends: &Ends, room: [&mut [f32]; 2]) -> Result<()>;
}

/// A band-limited operator made ready.
pub(super) struct Banded<'a, W> {
    pub(super) spectra: Spectra<'a>,
    pub(super) way: W,
}

/// Images of so many slices side by side.
pub(super) fn images_of(lanes: usize) -> usize {
    lanes.div_ceil(2)
}

impl<W: Way> Work for Banded<'_, W> {
    fn bytes(&self, lanes: Lanes, groups: usize) -> u64 {
        self.spectra.image_bytes(images_of(lanes.count())).saturating_mul(groups as u64)
    }

    fn slab_bytes(&self, slab: &Groups, _: u64) -> u64 {
        self.bytes(slab.lanes, 1)
    }

    fn tasks(&self, _: Lanes) -> usize {
        self.spectra.geometry.views()
    }

    fn reads_first(&self) -> bool {
        true
    }

    fn unit(&self) -> usize {
        2
    }

    fn next(&self, slices: Range<usize>, cap: u64, _: usize) -> Result<Groups> {
        let needed = self.spectra.image_bytes(1);
        if needed > cap {
            fail!(
                MemoryCap,
                "memory_cap is {cap} bytes; band-limited projection of two slices needs at least {needed}"
            );
        }
        let images = self.spectra.images(slices.len(), cap);
        Ok(Groups { first: slices.start, count: slices.len().min(2 * images), lanes: Lanes::Side(2 * images) })
    }

    fn run(&self, call: &Call, slab: &Groups, cap: u64, workspace: &mut Workspace) -> Result<()> {
        let (images, on) = (images_of(slab.lanes.count()), &self.spectra);
        let room = workspace.take(on.lens(images)?, cap.saturating_sub(on.other_bytes(images)))?;
        self.way.of_slab(on, call, slab, room)?;
        call.job.check()
    }
}
