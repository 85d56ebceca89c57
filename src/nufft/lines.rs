//! Points on straight lines through the origin, evenly spaced: sums of type 1 for several images at a time, in two dimensions.
//!
//! What lines give: no point is stored or sorted, since tiles of the fine grid find theirs by arithmetic.

use super::choice::choose;
use super::cpu::line_fft::{Images, LineFft};
use super::cpu::line_grid::{LineGrid, Segment};
use super::cpu::line_spread::LineSpread;
use super::cpu::taps::Taps;
use super::kernel::{Kernel, fast};
use super::settings::Settings;
use crate::cpu::buffer::collected;
use crate::cpu::level::Level;
use crate::error::Result;
use std::ops::Range;

/// Maximum number of images at a time.
pub(crate) const MAX_IMAGES: usize = 8;
/// More images at a time are not worth more memory than this.
pub(crate) const ENOUGH: u64 = 256 << 20;
/// What is tried, in rising order: lengths of the fine grid are far apart.
const UPSAMPLINGS: [f64; 8] = [1.25, 1.3125, 1.4, 1.5, 1.5625, 1.6875, 1.75, 2.0];
/// Points of a chunk, about: enough for all threads, and its values stay near them.
const CHUNK: usize = 64 << 10;
/// Minimum number of lines of a chunk.
const MIN_CHUNK: usize = 16;

/// What lines are made for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineSettings {
    /// Pixels along y, x.
    pub(crate) shape: [usize; 2],
    /// As in [`Settings`].
    pub(crate) tolerance: f64,
    /// Points of a line are -half..=half times its step.
    pub(crate) half: usize,
    pub(crate) level: Level,
}

/// Lines of points, and the transform from them.
pub(crate) struct Lines {
    settings: LineSettings,
    grid: LineGrid,
    taps: Taps<f32>,
    fft: LineFft,
    /// By direction: the caller's line, and cells of the fine grid from point to point along x, y.
    order: Vec<usize>,
    steps: Vec<[f64; 2]>,
    /// Maximum number of segments of any chunk.
    segments: usize,
}

impl Lines {
    /// Lines by their steps along x, y in cycles per pixel.
    pub(crate) fn new(settings: LineSettings, steps: &[[f64; 2]]) -> Result<Self> {
        let LineSettings { shape: [ny, nx], tolerance, half, level } = settings;
        let samples = steps.len().saturating_mul(2 * half + 1);
        let nufft = Settings { shape: [1, ny, nx], tolerance, upsampling: None, samples, level };
        let (kernel, [_, y, x]) =
            choose::<f32>(&nufft, &UPSAMPLINGS, |kernel, len| Some(cost(&nufft, kernel, len.map(fast))))?;
        let [x, y] = [x, y].map(fast);
        let len = [x, y];
        let factors =
            |n: usize, cells: usize| collected(kernel.factors(n, cells).into_iter().map(|factor| factor as f32));
        let fft = LineFft::new(len, [nx, ny], [factors(nx, x)?, factors(ny, y)?], level);
        let grid = LineGrid::new(len, kernel.width())?;
        // From 0 to half a turn: a line has no beginning.
        let angle = |line: &usize| {
            let [x, y] = steps[*line];
            let angle = y.atan2(x);
            if angle < 0.0 { angle + std::f64::consts::PI } else { angle }
        };
        let mut order = collected(0..steps.len())?;
        order.sort_unstable_by(|a, b| angle(a).total_cmp(&angle(b)).then(a.cmp(b)));
        let steps = collected(order.iter().map(|line| [steps[*line][0] * x as f64, steps[*line][1] * y as f64]))?;
        let mut lines = Self { settings, grid, taps: Taps::new(&kernel), fft, order, steps, segments: 0 };
        let of_chunk = |chunk: Range<usize>| {
            lines.steps[chunk].iter().map(|step| lines.grid.max_segments(*step, half)).sum::<usize>()
        };
        lines.segments = lines.chunks().map(of_chunk).max().unwrap_or(0);
        Ok(lines)
    }

    /// Points of a line.
    pub(crate) fn points(&self) -> usize {
        2 * self.settings.half + 1
    }

    /// The caller's lines, by their directions: neighbours touch the same cells.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Parts of [`Lines::order`] that are spread together. They depend on nothing but the points.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (all, chunk) = (self.order.len(), self.chunk());
        (0..all).step_by(chunk).map(move |first| first..all.min(first + chunk))
    }

    fn chunk(&self) -> usize {
        (CHUNK / self.points()).max(MIN_CHUNK).min(self.order.len().max(1))
    }

    /// Floats of the fine grid of so many images; None if it is more than memory can be.
    pub(crate) fn grid_len(&self, images: usize) -> Option<usize> {
        self.grid
            .pitch(images)
            .checked_mul(self.grid.len[1])?
            .checked_mul(2 * images)
            .filter(|n| *n < isize::MAX as usize / 4)
    }

    /// Floats of a chunk's values `[line][point][image]`, and of the room behind.
    pub(crate) fn values_len(&self, images: usize) -> usize {
        self.chunk() * self.points() * 2 * images + LineSpread::BEHIND
    }

    /// Bytes of tables and of what threads work in.
    pub(crate) fn bytes(&self, images: usize, threads: usize) -> u64 {
        let tiles: usize = self.grid.tiles().iter().product();
        let spreading = 3 * size_of::<Segment>() * self.segments + 24 * tiles + 8 * self.grid.len[1];
        let lines = (8 + 16) * self.order.len();
        let scratch = threads as u64 * self.fft.scratch_bytes(images);
        self.grid.bytes() + self.fft.bytes() + scratch + (spreading + lines) as u64
    }

    /// Adds a chunk's points to the fine grid, which began with zeros.
    pub(crate) fn spread(&self, chunk: Range<usize>, images: usize, values: &[f32], cells: &mut [f32]) -> Result<()> {
        let LineSettings { half, level, .. } = self.settings;
        let (grid, taps, steps) = (&self.grid, &self.taps, &self.steps[chunk]);
        LineSpread { grid, taps, steps, half: half as i32, images, level }.run(values, cells)
    }

    /// Hands over every row of the first `used` images, `sum over points of value exp(+2 pi i k . (j - floor(N / 2)))`, as
    /// `write(y, image, [real, imaginary])`. The fine grid's contents are lost.
    pub(crate) fn images(
        &self,
        used: usize,
        count: usize,
        cells: &mut [f32],
        write: impl Fn(usize, usize, [&[f32]; 2]) -> Result<()> + Sync,
    ) -> Result<()> {
        let images = Images { used, count, pitch: self.grid.pitch(count), behind: self.grid.behind() };
        self.fft.run(images, cells, write)
    }
}

/// Of an image among as many as go together, in nanoseconds of one thread with AVX-512, about.
fn cost(settings: &Settings, kernel: &Kernel, [_, y, x]: [usize; 3]) -> f64 {
    // A number's share of a transform, for each doubling of the length; reading and writing a cell; a point of all images, and a tap
    // of one.
    const TRANSFORM: f64 = 0.065;
    const CELL: f64 = 2.3;
    const POINT: f64 = 40.0;
    const TAP: f64 = 0.04;
    let fits = |images: &usize| (8 * images * x * y) as u64 <= ENOUGH;
    let images = std::iter::successors(Some(MAX_IMAGES), |n| Some(n / 2)).take(3).find(fits).unwrap_or(1) as f64;
    let [_, ny, _] = settings.shape.map(|n| n as f64);
    let (width, x, y) = (kernel.width() as f64, x as f64, y as f64);
    let transform = TRANSFORM * (x * y * y.log2() + x * ny * x.log2());
    transform + CELL * x * (y + ny) + settings.samples as f64 * (POINT / images + TAP * width * width)
}
