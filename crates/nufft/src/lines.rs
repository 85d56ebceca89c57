//! Points on straight lines through the origin, evenly spaced: sums of type 1 and of type 2 for several images at a time, in two
//! dimensions.
//!
//! What lines give: no point is stored or sorted, since tiles of the fine grid find theirs by arithmetic.

use super::choice::choose;
use super::course::Course;
use super::cpu::line_fft::{Images, LineFft};
use super::cpu::line_grid::{LineGrid, Segment};
use super::cpu::line_interpolate::interpolate;
use super::cpu::line_points::LinePoints;
use super::cpu::line_spread::{BEHIND, spread};
use super::cpu::taps::Taps;
use super::kernel::{Kernel, fast};
use super::settings::Settings;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use std::ops::Range;

/// Maximum number of images at a time.
pub const MAX_IMAGES: usize = 8;
/// More images at a time are not worth more memory than this.
pub const ENOUGH: u64 = 256 << 20;
/// What is tried, in rising order: lengths of the fine grid are far apart.
const UPSAMPLINGS: [f64; 8] = [1.25, 1.3125, 1.4, 1.5, 1.5625, 1.6875, 1.75, 2.0];
/// Points of a chunk, about: enough for all threads, and its values stay near them.
const CHUNK: usize = 64 << 10;
/// Minimum number of lines of a chunk.
const MIN_CHUNK: usize = 16;

/// What lines are made for.
#[derive(Clone, Copy, Debug)]
pub struct LineSettings {
    /// Pixels along y, x.
    pub shape: [usize; 2],
    /// As in [`Settings`].
    pub tolerance: f64,
    pub course: Course,
    pub level: Level,
}

/// Lines of points, and the transforms from them to images and back.
pub struct Lines {
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
    pub fn new(settings: LineSettings, steps: &[[f64; 2]]) -> Result<Self> {
        let LineSettings { shape: [ny, nx], tolerance, course, level } = settings;
        let samples = steps.len().saturating_mul(course.points);
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
            lines.steps[chunk].iter().map(|step| lines.grid.max_segments(*step, course)).sum::<usize>()
        };
        lines.segments = lines.chunks().map(of_chunk).max().unwrap_or(0);
        Ok(lines)
    }

    /// The fine grid along y, x, and the spreading function's width.
    pub fn fine_grid(&self) -> ([usize; 2], usize) {
        let [x, y] = self.grid.len;
        ([y, x], self.grid.width)
    }

    /// Points of a line.
    pub fn points(&self) -> usize {
        self.settings.course.points
    }

    /// The caller's lines, by their directions: neighbours touch the same cells.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Parts of [`Lines::order`] that are worked on together. They depend on nothing but the points.
    pub fn chunks(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (all, chunk) = (self.order.len(), self.chunk());
        (0..all).step_by(chunk).map(move |first| first..all.min(first + chunk))
    }

    fn chunk(&self) -> usize {
        (CHUNK / self.points()).max(MIN_CHUNK).min(self.order.len().max(1))
    }

    /// Floats of the fine grid of so many images; None if it is more than memory can be.
    pub fn grid_len(&self, images: usize) -> Option<usize> {
        self.grid
            .pitch(images)
            .checked_mul(self.grid.len[1])?
            .checked_mul(2 * images)
            .filter(|n| *n < isize::MAX as usize / 4)
    }

    /// Floats of a chunk's values `[line][point][image]`, and of the room behind.
    pub fn values_len(&self, images: usize) -> usize {
        self.chunk() * self.points() * 2 * images + BEHIND
    }

    /// Bytes of tables and of what threads work in.
    pub fn bytes(&self, images: usize, threads: usize) -> u64 {
        let tiles: usize = self.grid.tiles().iter().product();
        let spreading = 3 * size_of::<Segment>() * self.segments + 24 * tiles + 8 * self.grid.len[1];
        let lines = (8 + 16) * self.order.len();
        let scratch = threads as u64 * self.fft.scratch_bytes(images);
        self.grid.bytes() + self.fft.bytes() + scratch + (spreading + lines) as u64
    }

    fn of_chunk(&self, chunk: Range<usize>, images: usize) -> LinePoints<'_> {
        let LineSettings { course, level, .. } = self.settings;
        // Of fewer images a vector of 16 lanes holds several cells, which costs more than it saves. Each lane's arithmetic is the same.
        let level = if images < MAX_IMAGES { level.of_eight_lanes() } else { level };
        let (grid, taps, steps) = (&self.grid, &self.taps, &self.steps[chunk]);
        LinePoints { grid, taps, steps, course, images, level }
    }

    /// Adds a chunk's points to the fine grid, which began with zeros.
    pub fn spread(&self, chunk: Range<usize>, images: usize, values: &[f32], cells: &mut [f32]) -> Result<()> {
        spread(&self.of_chunk(chunk, images), values, cells)
    }

    /// Values of a chunk's points, from what [`Lines::cells`] has made.
    pub fn interpolate(&self, chunk: Range<usize>, images: usize, cells: &[f32], values: &mut [f32]) -> Result<()> {
        interpolate(&self.of_chunk(chunk, images), cells, values)
    }

    /// Hands over every row of the first `used` images, `sum over points of value exp(+2 pi i k . (j - floor(N / 2)))`, as
    /// `write(y, image, [real, imaginary])`. The fine grid's contents are lost.
    pub fn images(
        &self,
        used: usize,
        count: usize,
        cells: &mut [f32],
        write: impl Fn(usize, usize, [&[f32]; 2]) -> Result<()> + Sync,
    ) -> Result<()> {
        self.fft.to_images(self.on_grid(used, count), cells, write)
    }

    /// Asks for every row of the first `used` images, by `read(y, image, [real, imaginary])`, and makes the fine grid of
    /// `sum over pixels of value exp(-2 pi i k . (j - floor(N / 2)))`.
    pub fn cells(
        &self,
        used: usize,
        count: usize,
        cells: &mut [f32],
        read: impl Fn(usize, usize, [&mut [f32]; 2]) -> Result<()> + Sync,
    ) -> Result<()> {
        self.fft.to_cells(self.on_grid(used, count), cells, read)
    }

    fn on_grid(&self, used: usize, count: usize) -> Images {
        Images { used, count, pitch: self.grid.pitch(count), behind: self.grid.behind() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    /// Uniform numbers in [-1, 1).
    fn noise(len: usize, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) as f32
        };
        (0..len).map(|_| next()).collect()
    }

    /// Sums of type 1 and 2 in f64 for an image: `values` are the points' `[line][point]`, `pixels` the image's, as re, im.
    fn sums(shape: [usize; 2], steps: &[[f64; 2]], course: Course, values: &[f32], pixels: &[f32]) -> [Vec<f64>; 2] {
        let [ny, nx] = shape;
        let (mut image, mut points) = (vec![0.0; 2 * ny * nx], vec![0.0; values.len()]);
        let at = |list: &[f32], k: usize| [f64::from(list[2 * k]), f64::from(list[2 * k + 1])];
        for p in 0..values.len() / 2 {
            let (line, f) = (p / course.points, (p % course.points) as f64 - course.twice_centre as f64 / 2.0);
            for j in 0..ny * nx {
                let [x, y] = [(j % nx) as f64 - (nx / 2) as f64, (j / nx) as f64 - (ny / 2) as f64];
                let (sin, cos) = (TAU * (f * (steps[line][0] * x + steps[line][1] * y)).rem_euclid(1.0)).sin_cos();
                let ([re, im], [a, b]) = (at(values, p), at(pixels, j));
                image[2 * j] += re * cos - im * sin;
                image[2 * j + 1] += re * sin + im * cos;
                points[2 * p] += a * cos + b * sin;
                points[2 * p + 1] += b * cos - a * sin;
            }
        }
        [image, points]
    }

    /// Both ways, for images side by side; `values[image]`, `pixels[image]` as in [`sums`], and so are the results.
    fn both(lines: &Lines, count: usize, values: &[Vec<f32>], pixels: &[Vec<f32>]) -> [Vec<Vec<f32>>; 2] {
        let (used, [ny, nx]) = (values.len(), lines.settings.shape);
        let line = 2 * lines.points();
        let mut cells = vec![0.0; lines.grid_len(count).expect("a size")];
        let mut some = vec![0.0; lines.values_len(count)];
        for chunk in lines.chunks() {
            for (k, from) in chunk.clone().enumerate() {
                for i in 0..line * used {
                    let (image, at) = (i / line, i % line);
                    some[((k * line + at) / 2 * count + image) * 2 + at % 2] =
                        values[image][lines.order[from] * line + at];
                }
            }
            lines.spread(chunk, count, &some, &mut cells).expect("memory");
        }
        let images: Vec<_> = (0..used).map(|_| std::sync::Mutex::new(vec![0.0; 2 * ny * nx])).collect();
        let write = |y: usize, image: usize, [re, im]: [&[f32]; 2]| {
            let mut to = images[image].lock().expect("an image");
            for (j, (re, im)) in re.iter().zip(im).enumerate() {
                (to[2 * (y * nx + j)], to[2 * (y * nx + j) + 1]) = (*re, *im);
            }
            Ok(())
        };
        lines.images(used, count, &mut cells, write).expect("memory");
        // What was there before must not matter.
        cells.fill(f32::NAN);
        let read = |y: usize, image: usize, [re, im]: [&mut [f32]; 2]| {
            for (j, (re, im)) in re.iter_mut().zip(im).enumerate() {
                (*re, *im) = (pixels[image][2 * (y * nx + j)], pixels[image][2 * (y * nx + j) + 1]);
            }
            Ok(())
        };
        lines.cells(used, count, &mut cells, read).expect("memory");
        let mut points = vec![vec![0.0; values[0].len()]; used];
        for chunk in lines.chunks() {
            some.fill(f32::NAN);
            lines.interpolate(chunk.clone(), count, &cells, &mut some).expect("memory");
            for (k, to) in chunk.enumerate() {
                for i in 0..line * used {
                    let (image, at) = (i / line, i % line);
                    points[image][lines.order[to] * line + at] =
                        some[((k * line + at) / 2 * count + image) * 2 + at % 2];
                }
            }
        }
        [images.into_iter().map(|image| image.into_inner().expect("an image")).collect(), points]
    }

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    /// Both ways against f64, each other's transpose, and an image's bits the same whatever is beside it.
    fn check(shape: [usize; 2], course: Course, steps: &[[f64; 2]], tolerance: f64, level: Level) {
        let lines = Lines::new(LineSettings { shape, tolerance, course, level }, steps).expect("lines");
        let (points, pixels) = (2 * steps.len() * lines.points(), 2 * shape[0] * shape[1]);
        let values: Vec<_> = (0..8).map(|k| noise(points, k)).collect();
        let images: Vec<_> = (0..8).map(|k| noise(pixels, 100 + k)).collect();
        let expected: Vec<_> = (0..2).map(|k| sums(shape, steps, course, &values[k], &images[k])).collect();
        let mut first: Option<[Vec<Vec<f32>>; 2]> = None;
        for count in [8, 4, 2, 1] {
            for used in [count, count / 2 + 1] {
                let seen = both(&lines, count, &values[..used], &images[..used]);
                for k in 0..used {
                    for (way, seen) in seen.iter().enumerate() {
                        if let Some(expected) = expected.get(k).map(|e| &e[way]) {
                            let off: f64 = seen[k].iter().zip(expected).map(|(s, e)| (f64::from(*s) - e).powi(2)).sum();
                            let size: f64 = expected.iter().map(|e| e * e).sum();
                            let error = (off / size).sqrt() / tolerance;
                            assert!(error < 1.0, "{shape:?} {level:?} {tolerance:e}, way {way}: {error} tolerances");
                        }
                    }
                    // A product of n rounded numbers: some 1e-7 of their norms.
                    let products = [dot(&seen[0][k], &images[k]), dot(&values[k], &seen[1][k])];
                    let size = (dot(&values[k], &values[k]) * dot(&seen[1][k], &seen[1][k])).sqrt();
                    assert!(
                        (products[0] - products[1]).abs() < 1e-6 * size,
                        "{shape:?} {level:?}: {products:?} {size}"
                    );
                }
                let all = first.get_or_insert_with(|| seen.clone());
                for (all, seen) in all.iter().zip(&seen) {
                    assert!(all[..used] == seen[..], "{shape:?} {level:?}: {count} images, {used} of them used");
                }
            }
        }
    }

    #[test]
    fn sums_are_kept_to_both_ways() {
        let spokes = |n: usize, length: f64| -> Vec<[f64; 2]> {
            let spoke = |v: usize| (std::f64::consts::PI * v as f64 / n as f64 + 0.01).sin_cos();
            (0..n).map(spoke).map(|(sin, cos)| [length * cos, length * sin]).collect()
        };
        for level in Level::available() {
            for tolerance in [1e-2, 1e-3, 1e-4, 1e-5, 2e-6] {
                check([23, 30], Course::symmetric(16), &spokes(11, 0.5 / 16.0), tolerance, level);
                check([70, 51], Course::symmetric(40), &spokes(20, 0.3 / 40.0), tolerance, level);
            }
            // The origin between two points, at an end, and anywhere.
            for (points, twice_centre) in [(32, 31), (32, 32), (24, 0), (24, 46), (24, 13)] {
                let course = Course { points, twice_centre };
                check([40, 31], course, &spokes(13, 0.5 / course.farthest()), 1e-5, level);
            }
            // Beyond half a cycle, along the axes, a point, all points at the origin.
            check([1, 1], Course::symmetric(5), &[[0.1, 0.0], [0.0, 0.2]], 1e-4, level);
            check([9, 40], Course::symmetric(30), &[[0.05, 0.0], [0.0, -0.03], [0.02, 0.02], [0.0, 0.0]], 1e-4, level);
        }
    }
}
