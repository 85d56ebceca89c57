//! The calibration matrix, whose rows are all blocks of the calibration data of the kernel's size, every coil's beside each other's: its
//! Gram matrix, without itself.
//!
//! Two elements of a block at a fixed distance are two elements of the data at that distance: their products are made once for all
//! blocks, and summed over the blocks' places axis after axis, each sum from its neighbour's.

use super::lags::pairs;
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{Buffer, collected, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;

/// Part of the whole work of a call.
pub(super) const SHARE: f64 = 0.1;

/// k-space of the coils around frequency 0, as real and imaginary parts `[coil][z][y][x]`.
pub(super) struct Calibration {
    pub(super) coils: usize,
    pub(super) shape: [usize; 3],
    re: Vec<f64>,
    im: Vec<f64>,
}

impl Calibration {
    pub(super) fn new(values: &[Complex<f64>], coils: usize, shape: [usize; 3]) -> Result<Self> {
        let (mut re, mut im) = (zeros(values.len())?, zeros(values.len())?);
        for (v, (re, im)) in values.iter().zip(re.iter_mut().zip(&mut im)) {
            (*re, *im) = (v.re, v.im);
        }
        Ok(Self { coils, shape, re, im })
    }

    fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// Scalar and imaginary parts of a coil.
    fn coil(&self, c: usize) -> [&[f64]; 2] {
        let n = self.voxels();
        [&self.re[c * n..][..n], &self.im[c * n..][..n]]
    }

    /// Places along z, y, x at which a block of `kernel` begins.
    fn places(&self, kernel: [usize; 3]) -> [usize; 3] {
        std::array::from_fn(|a| self.shape[a] - kernel[a] + 1)
    }

    /// How many blocks of `kernel` there are.
    pub(super) fn blocks(&self, kernel: [usize; 3]) -> usize {
        self.places(kernel).iter().product()
    }

    /// All blocks x of `kernel` = z, y, x elements, one after another, `[block][coil][z][y][x]`.
    pub(super) fn all_blocks(&self, kernel: [usize; 3]) -> Result<Buffer<Complex<f64>>> {
        let ([_, ny, nx], [_, py, px]) = (self.shape, self.places(kernel));
        let size = self.coils * kernel.iter().product::<usize>();
        let mut out = Buffer::<Complex<f64>>::zeroed(self.blocks(kernel) * size)?;
        out.par_chunks_mut(size).enumerate().for_each(|(p, block)| {
            let first = (p / (py * px) * ny + p / px % py) * nx + p % px;
            for (line, row) in block.chunks_exact_mut(kernel[2]).enumerate() {
                let (c, z, y) = (line / (kernel[0] * kernel[1]), line / kernel[1] % kernel[0], line % kernel[1]);
                let from = c * self.voxels() + first + (z * ny + y) * nx;
                for (k, v) in row.iter_mut().enumerate() {
                    *v = Complex::new(self.re[from + k], self.im[from + k]);
                }
            }
        });
        Ok(out)
    }

    /// Sum over blocks p of x(p) x(p)^H, x a block of `kernel` = z, y, x elements, `[coil][z][y][x]`: Hermitian, whole.
    pub(super) fn gram(&self, kernel: [usize; 3], level: Level, job: &Job) -> Result<Buffer<Complex<f64>>> {
        let block: usize = kernel.iter().product();
        let n = self.coils * block;
        let mut gram = Buffer::<Complex<f64>>::zeroed(n * n)?;
        let lag = |k: usize| -(k as isize - 1)..k as isize;
        let tasks: Vec<Task> =
            collected(pairs(self.coils).flat_map(|coils| {
                lag(kernel[0]).flat_map(move |z| lag(kernel[1]).map(move |y| Task { coils, z, y }))
            }))?;
        let share = SHARE / tasks.len() as f64;
        // Some at a time, so that what they found is not all there at once.
        for tasks in tasks.chunks(1 << 10) {
            let found: Vec<Vec<Found>> = tasks
                .par_iter()
                .map_init(Scratch::default, |scratch, task| {
                    job.check()?;
                    let found = vectorised(level, Sums { data: self, kernel, task: *task, scratch });
                    job.advance(share);
                    found
                })
                .collect::<Result<_>>()?;
            for (task, found) in tasks.iter().zip(found) {
                let (c, d) = task.coils;
                for Found { at, to, value } in found {
                    let (i, j) = (c * block + at, d * block + to);
                    gram[i * n + j] = value;
                    gram[j * n + i] = value.conj();
                }
            }
        }
        Ok(gram)
    }
}

/// Products of two coils at one distance along z and y, and at all along x.
#[derive(Clone, Copy)]
struct Task {
    coils: (usize, usize),
    z: isize,
    y: isize,
}

/// An entry of the Gram matrix: elements of the block, and their sum of products.
struct Found {
    at: usize,
    to: usize,
    value: Complex<f64>,
}

#[derive(Default)]
struct Scratch {
    products: [Vec<f64>; 2],
    sums: [[Vec<f64>; 2]; 3],
}

struct Sums<'a> {
    data: &'a Calibration,
    kernel: [usize; 3],
    task: Task,
    scratch: &'a mut Scratch,
}

/// Places of the first element of two at distance `lag` in a kernel of `k`: from the first of these, so many.
#[inline(always)]
fn places(k: usize, lag: isize) -> (usize, usize) {
    (lag.max(0) as usize, k - lag.unsigned_abs())
}

/// Sums of `window` neighbours, from each of `count` on, of runs of `step` numbers.
#[inline(always)]
fn slide(from: &[f64], step: usize, window: usize, count: usize, to: &mut Vec<f64>) {
    to.clear();
    to.extend_from_slice(&from[..step]);
    for run in from[step..].chunks_exact(step).take(window - 1) {
        to.iter_mut().zip(run).for_each(|(t, v)| *t += v);
    }
    for k in 1..count {
        for s in 0..step {
            let next = to[(k - 1) * step + s] + (from[(k + window - 1) * step + s] - from[(k - 1) * step + s]);
            to.push(next);
        }
    }
}

impl Plain for Sums<'_> {
    type Output = Result<Vec<Found>>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { data, kernel: [kz, ky, kx], task: Task { coils: (c, d), z, y }, scratch } = self;
        let [nz, ny, nx] = data.shape;
        let (first, second) = (data.coil(c), data.coil(d));
        let windows = [nz - kz + 1, ny - ky + 1, nx - kx + 1];
        let ((z0, zs), (y0, ys)) = (places(kz, z), places(ky, y));
        // Rows and planes that take part.
        let (planes, rows) = (zs + windows[0] - 1, ys + windows[1] - 1);
        let mut found = isocenter_base::cpu::buffer::reserved(zs * ys * kx * kx)?;
        for x in -(kx as isize - 1)..kx as isize {
            // The mirror image of another.
            if c == d && (z, y, x) < (0, 0, 0) {
                continue;
            }
            let (x0, xs) = places(kx, x);
            let columns = xs + windows[2] - 1;
            let [re, im] = &mut scratch.products;
            for p in [&mut *re, &mut *im] {
                p.clear();
                p.resize(planes * rows * columns, 0.0);
            }
            for (row, (re, im)) in re.chunks_exact_mut(columns).zip(im.chunks_exact_mut(columns)).enumerate() {
                let (qz, qy) = (z0 + row / rows, y0 + row % rows);
                let a = (qz * ny + qy) * nx + x0;
                let b = a as isize - (z * ny as isize + y) * nx as isize - x;
                let [ar, ai] = first.map(|v| &v[a..][..columns]);
                let [br, bi] = second.map(|v| &v[b as usize..][..columns]);
                for k in 0..columns {
                    re[k] = ar[k] * br[k] + ai[k] * bi[k];
                    im[k] = ai[k] * br[k] - ar[k] * bi[k];
                }
            }
            let [over_z, over_y, over_x] = &mut scratch.sums;
            for part in 0..2 {
                slide(&scratch.products[part], rows * columns, windows[0], zs, &mut over_z[part]);
                over_y[part].clear();
                over_x[part].clear();
            }
            let mut line = Vec::new();
            for part in 0..2 {
                for plane in over_z[part].chunks_exact(rows * columns) {
                    slide(plane, columns, windows[1], ys, &mut line);
                    over_y[part].extend_from_slice(&line);
                }
                for row in over_y[part].chunks_exact(columns) {
                    slide(row, 1, windows[2], xs, &mut line);
                    over_x[part].extend_from_slice(&line);
                }
            }
            for (k, (re, im)) in over_x[0].iter().zip(&over_x[1]).enumerate() {
                let at = [z0 + k / (ys * xs), y0 + k / xs % ys, x0 + k % xs];
                let place = |[z, y, x]: [usize; 3]| (z * ky + y) * kx + x;
                let to = [at[0].wrapping_add_signed(-z), at[1].wrapping_add_signed(-y), at[2].wrapping_add_signed(-x)];
                found.push(Found { at: place(at), to: place(to), value: Complex::new(*re, *im) });
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gram_matrix_is_that_of_all_blocks() {
        for (shape, kernel) in
            [([4, 5, 6], [2, 3, 4]), ([1, 7, 6], [1, 3, 2]), ([3, 3, 3], [3, 3, 3]), ([1, 1, 9], [1, 1, 4])]
        {
            let (coils, voxels) = (3, shape.iter().product::<usize>());
            let value = |k: usize| Complex::new(((k * 31) % 17) as f64 - 8.0, ((k * 13) % 11) as f64 - 5.0);
            let x: Vec<Complex<f64>> = (0..coils * voxels).map(value).collect();
            let data = Calibration::new(&x, coils, shape).expect("memory");
            let block: usize = kernel.iter().product();
            let n = coils * block;
            // Of a place in z, y, x; x fastest.
            let at = |k: usize, of: [usize; 3]| [k / (of[1] * of[2]), k / of[2] % of[1], k % of[2]];
            let windows: [usize; 3] = std::array::from_fn(|a| shape[a] - kernel[a] + 1);
            let mut expected = vec![Complex::default(); n * n];
            for p in 0..windows.iter().product() {
                let p = at(p, windows);
                let block: Vec<Complex<f64>> = (0..n)
                    .map(|i| {
                        let o = at(i % block, kernel);
                        let q = [p[0] + o[0], p[1] + o[1], p[2] + o[2]];
                        x[(i / block) * voxels + (q[0] * shape[1] + q[1]) * shape[2] + q[2]]
                    })
                    .collect();
                for (k, e) in expected.iter_mut().enumerate() {
                    *e += block[k / n] * block[k % n].conj();
                }
            }
            for level in Level::available() {
                let gram = data.gram(kernel, level, &Job::default()).expect("a matrix");
                // Sums of whole numbers are exact.
                assert_eq!(&gram[..], &expected[..], "{shape:?} {kernel:?} {level:?}");
            }
            let blocks = data.all_blocks(kernel).expect("memory");
            assert_eq!(blocks.len(), data.blocks(kernel) * n);
            let sum = |k: usize| blocks.chunks_exact(n).map(|x| x[k / n] * x[k % n].conj()).sum::<Complex<f64>>();
            assert!(expected.iter().enumerate().all(|(k, e)| sum(k) == *e), "{shape:?} {kernel:?}");
        }
    }
}
