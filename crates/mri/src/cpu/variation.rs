//! Total variation on the processor: differences K of neighbours, and fields of duals, one of an axis's length at every voxel.
//!
//! (K x)(a, i) = w(a, i) (x(i + 1 along a) - x(i)), 0 at the last voxel of a line.

use crate::variation::Raise;
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;

/// Fields for images of one size: row after row, image after image, axis after axis that has more than one voxel, p and its
/// extrapolation q.
pub(crate) struct CpuFields<T: Scalar> {
    level: Level,
    grid: [usize; 3],
    images: usize,
    axes: Vec<usize>,
    fields: Buffer<Complex<T>>,
}

/// Axes along which there are differences, x first.
fn axes(grid: [usize; 3]) -> Vec<usize> {
    (0..3).filter(|a| grid[2 - a] > 1).collect()
}

/// Where rows lie.
#[derive(Clone, Copy)]
struct Rows {
    grid: [usize; 3],
    axes: usize,
    images: usize,
}

impl Rows {
    /// Elements of a row's fields of an image.
    fn of_image(self) -> usize {
        2 * self.axes * self.grid[2]
    }

    /// Elements of a row's fields.
    fn length(self) -> usize {
        self.images * self.of_image()
    }

    /// Rows of an image.
    fn count(self) -> usize {
        self.grid[0] * self.grid[1]
    }

    /// Whether a row has a neighbour behind it along an axis, and how many rows further.
    fn behind(self, row: usize, axis: usize) -> Option<usize> {
        let [nz, ny, _] = self.grid;
        match axis {
            1 => (row % ny + 1 < ny).then_some(1),
            _ => (row / ny + 1 < nz).then_some(ny),
        }
    }

    /// A row of an image, and its neighbours along an axis: the row itself from its second voxel on, or the one behind it if there is one.
    fn neighbours<V>(self, image: &[V], row: usize, axis: usize) -> (&[V], Option<&[V]>) {
        let nx = self.grid[2];
        let here = &image[row * nx..][..nx];
        match axis {
            0 => (here, Some(&here[1..])),
            _ => (here, self.behind(row, axis).map(|by| &image[(row + by) * nx..][..nx])),
        }
    }

    fn before(self, row: usize, axis: usize) -> Option<usize> {
        let [_, ny, _] = self.grid;
        match axis {
            1 => (!row.is_multiple_of(ny)).then_some(1),
            _ => (row >= ny).then_some(ny),
        }
    }

    /// Minimum number of rows of so many images of a task.
    fn grain(self, images: usize) -> usize {
        (1usize << 12).div_ceil(self.grid[2] * images)
    }
}

impl<T: Scalar> CpuFields<T> {
    /// Of so many images together.
    pub(super) fn new(level: Level, grid: [usize; 3], images: usize) -> Result<Self> {
        let (axes, voxels) = (axes(grid), grid.iter().product::<usize>());
        let fields = Buffer::zeroed(2 * axes.len() * images * voxels)?;
        Ok(Self { level, grid, images, axes, fields })
    }

    fn rows(&self) -> Rows {
        Rows { grid: self.grid, axes: self.axes.len(), images: self.images }
    }

    fn voxels(&self) -> usize {
        self.grid.iter().product()
    }

    /// out = images - scale K^H q. Weights squared, `[axis][voxel]`; None for ones.
    pub(super) fn back(&self, weights: Option<&[T]>, scale: f64, images: &[Complex<T>], out: &mut [Complex<T>]) {
        let (rows, nx, voxels, scale) = (self.rows(), self.grid[2], self.voxels(), T::of(scale));
        let factors = |axis: usize, row: usize| weights.map(|w| &w[axis * voxels + row * nx..][..nx]);
        out.par_chunks_mut(nx).zip(images.par_chunks(nx)).enumerate().with_min_len(rows.grain(1)).for_each(
            |(at, (out, image))| {
                out.copy_from_slice(image);
                let (of, row) = (at / rows.count() * rows.of_image(), at % rows.count());
                for (k, axis) in self.axes.iter().copied().enumerate() {
                    let field = |row: usize| &self.fields[row * rows.length() + of + (2 * k + 1) * nx..][..nx];
                    if axis == 0 {
                        let (q, w) = (&field(row)[..nx - 1], factors(0, row).map(|w| &w[..nx - 1]));
                        vectorised(self.level, Added { scale, q, w, out: &mut out[..nx - 1] });
                        vectorised(self.level, Added { scale: -scale, q, w, out: &mut out[1..] });
                        continue;
                    }
                    if rows.behind(row, axis).is_some() {
                        vectorised(self.level, Added { scale, q: field(row), w: factors(axis, row), out });
                    }
                    if let Some(by) = rows.before(row, axis) {
                        let (q, w) = (field(row - by), factors(axis, row - by));
                        vectorised(self.level, Added { scale: -scale, q, w, out });
                    }
                }
            },
        );
    }

    /// p = (keep q + step K x), no longer than 1 over axes and images; q = p + momentum (p - what p was).
    pub(super) fn raise(&mut self, weights: Option<&[T]>, Raise { keep, step, momentum }: Raise, x: &[Complex<T>]) {
        let (rows, nx, voxels, level) = (self.rows(), self.grid[2], self.voxels(), self.level);
        let (keep, step, momentum) = (T::of(keep), T::of(step), T::of(momentum));
        let Self { axes, fields, .. } = self;
        let fields = fields.par_chunks_mut(rows.length()).enumerate().with_min_len(rows.grain(rows.images));
        fields.for_each_init(
            || (vec![Complex::default(); rows.length() / 2], vec![T::ZERO; nx]),
            |(moved, squares), (row, fields)| {
                squares.fill(T::ZERO);
                for ((k, moved), field) in moved.chunks_mut(nx).enumerate().zip(fields.chunks(2 * nx)) {
                    let (image, axis) = (&x[k / axes.len() * voxels..][..voxels], axes[k % axes.len()]);
                    let (here, next) = rows.neighbours(image, row, axis);
                    let w = weights.map(|w| &w[axis * voxels + row * nx..][..nx]);
                    let (q, squares) = (&field[nx..], &mut *squares);
                    vectorised(level, Moved { keep, step, here, next, w, q, moved, squares });
                }
                vectorised(level, Factors { squares });
                for (moved, field) in moved.chunks(nx).zip(fields.chunks_mut(2 * nx)) {
                    let (p, q) = field.split_at_mut(nx);
                    vectorised(level, Limited { moved, factors: squares, momentum, p, q });
                }
            },
        );
    }

    /// The sum over voxels of h(|K x|) of axes and images, where h is the square over 2 huber up to huber, and grows by 1 from there.
    pub(super) fn variation(&self, weights: Option<&[T]>, huber: f64, x: &[Complex<T>]) -> Result<f64> {
        let (rows, nx, voxels, level) = (self.rows(), self.grid[2], self.voxels(), self.level);
        let mut sums: Vec<f64> = zeros(rows.count())?;
        sums.par_iter_mut().enumerate().with_min_len(rows.grain(rows.images)).for_each_init(
            || (vec![Complex::default(); nx], vec![T::ZERO; nx], vec![Complex::default(); nx]),
            |(moved, squares, none), (row, sum)| {
                squares.fill(T::ZERO);
                for image in x.chunks_exact(voxels) {
                    for axis in &self.axes {
                        let (here, next) = rows.neighbours(image, row, *axis);
                        let w = weights.map(|w| &w[axis * voxels + row * nx..][..nx]);
                        let (keep, step, q, squares) = (T::ZERO, T::of(1.0), &**none, &mut *squares);
                        vectorised(level, Moved { keep, step, here, next, w, q, moved, squares });
                    }
                }
                *sum = squares.iter().map(|s| h(huber, s.wide().sqrt())).sum();
            },
        );
        Ok(sums.iter().sum())
    }
}

fn h(huber: f64, length: f64) -> f64 {
    if length < huber { length * length / (2.0 * huber) } else { length - huber / 2.0 }
}

/// out = out + scale w q.
struct Added<'a, T> {
    scale: T,
    q: &'a [Complex<T>],
    /// Squared.
    w: Option<&'a [T]>,
    out: &'a mut [Complex<T>],
}

impl<T: Scalar> Plain for Added<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { scale, q, w, out } = self;
        match w {
            None => out.iter_mut().zip(q).for_each(|(o, q)| *o = *o + q.scale(scale)),
            Some(w) => {
                out.iter_mut().zip(q).zip(w).for_each(|((o, q), w)| *o = *o + q.scale(scale * w.root()));
            }
        }
    }
}

/// moved = keep q + step w (next - here), and squares = squares + |moved|^2.
struct Moved<'a, T> {
    keep: T,
    step: T,
    here: &'a [Complex<T>],
    /// One shorter along a row; None behind the last row.
    next: Option<&'a [Complex<T>]>,
    w: Option<&'a [T]>,
    q: &'a [Complex<T>],
    moved: &'a mut [Complex<T>],
    squares: &'a mut [T],
}

impl<T: Scalar> Plain for Moved<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { keep, step, here, next, w, q, moved, squares } = self;
        let next = next.unwrap_or_default();
        let count = next.len();
        let differences = moved[..count].iter_mut().zip(next).zip(&here[..count]).zip(&q[..count]);
        match w {
            None => differences.for_each(|(((m, n), h), q)| *m = q.scale(keep) + (*n - *h).scale(step)),
            Some(w) => differences
                .zip(w)
                .for_each(|((((m, n), h), q), w)| *m = q.scale(keep) + (*n - *h).scale(step * w.root())),
        }
        // There is no difference, and no field.
        moved[count..].fill(Complex::new(T::ZERO, T::ZERO));
        squares.iter_mut().zip(&*moved).for_each(|(s, m)| *s = *s + m.norm_sqr());
    }
}

/// What makes a length of 1 of longer ones, in the place of their squares.
struct Factors<'a, T> {
    squares: &'a mut [T],
}

impl<T: Scalar> Plain for Factors<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let one = T::of(1.0);
        for s in self.squares {
            *s = one / s.larger(one).root();
        }
    }
}

/// p = factors moved, q = p + momentum (p - what p was).
struct Limited<'a, T> {
    moved: &'a [Complex<T>],
    factors: &'a [T],
    momentum: T,
    p: &'a mut [Complex<T>],
    q: &'a mut [Complex<T>],
}

impl<T: Scalar> Plain for Limited<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { moved, factors, momentum, p, q } = self;
        for (((m, f), p), q) in moved.iter().zip(factors).zip(p).zip(q) {
            let next = m.scale(*f);
            *q = next + (next - *p).scale(momentum);
            *p = next;
        }
    }
}

#[cfg(test)]
#[path = "variation_tests.rs"]
mod tests;
