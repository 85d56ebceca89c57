//! A Hermitian matrix of coils by coils at each voxel, from its Fourier coefficients ([`Lags`]): summed along z for a plane, along y for a
//! row, and along x for a vector of voxels.

use super::lags::Lags;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, Vector, vectorised};
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;

/// Turns of distance `lag` at voxel `j` of an axis of `n`, whose middle is floor(n / 2).
fn turn(lag: isize, j: usize, n: usize) -> Complex<f64> {
    let n = n as i64;
    // Whole turns go before they cost digits.
    let steps = (lag as i64 * (j as i64 - n / 2)).rem_euclid(n);
    Complex::cis(TAU * steps as f64 / n as f64)
}

/// The field on a grid.
pub(super) struct Field<'a> {
    lags: &'a Lags,
    grid: [usize; 3],
    /// Cosines, then sines, of distances 1 to the reach, `[lag][x]`, each row as long as [`Field::pitch`].
    waves: [Vec<f32>; 2],
}

/// Lanes of the widest vector: rows are as long as a multiple of this.
pub(super) const LANES: usize = 16;

impl<'a> Field<'a> {
    pub(super) fn new(lags: &'a Lags, grid: [usize; 3]) -> Result<Self> {
        let (reach, nx) = (lags.reach[2], grid[2]);
        let pitch = nx.next_multiple_of(LANES);
        let mut waves = [zeros(reach * pitch)?, zeros(reach * pitch)?];
        for lag in 1..=reach {
            for x in 0..nx {
                let v = turn(lag as isize, x, nx);
                waves[0][(lag - 1) * pitch + x] = v.re as f32;
                waves[1][(lag - 1) * pitch + x] = v.im as f32;
            }
        }
        Ok(Self { lags, grid, waves })
    }

    pub(super) fn pitch(&self) -> usize {
        self.grid[2].next_multiple_of(LANES)
    }

    /// How many sums a plane has.
    pub(super) fn plane_len(&self) -> usize {
        self.lags.values.len() / (2 * self.lags.reach[0] + 1)
    }

    /// Sums along z: `[pair][y][x]` distances of plane z.
    pub(super) fn plane(&self, z: usize, out: &mut [Complex<f64>]) {
        let [rz, ry, rx] = self.lags.reach;
        let size = (2 * ry + 1) * (2 * rx + 1);
        let pairs = out.par_chunks_exact_mut(size).zip(self.lags.values.par_chunks_exact(self.lags.count()));
        pairs.for_each(|(out, from)| {
            out.fill(Complex::default());
            for (k, from) in from.chunks_exact(size).enumerate() {
                let turn = turn(k as isize - rz as isize, z, self.grid[0]);
                out.iter_mut().zip(from).for_each(|(o, v)| *o += v * turn);
            }
        });
    }

    /// Sums along y of a plane's: what [`Field::matrices`] takes.
    pub(super) fn row(&self, plane: &[Complex<f64>], y: usize, level: Level, out: &mut Vec<[f32; 4]>) {
        let [_, ry, _] = self.lags.reach;
        let turns: Vec<_> = (0..=2 * ry).map(|k| turn(k as isize - ry as isize, y, self.grid[1])).collect();
        vectorised(level, RowSums { plane, turns: &turns, reach: self.lags.reach[2], out });
    }

    /// Sums along x at the voxels from `x` on, one a lane: `[c][d]` real parts and imaginary parts, `side` from row to row.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; x + V::LANES is at most the pitch.
    #[inline(always)]
    pub(super) unsafe fn matrices<V: Vector<Element = f32>>(
        &self,
        row: &[[f32; 4]],
        x: usize,
        side: usize,
        re: &mut [V],
        im: &mut [V],
    ) {
        let (coils, reach, pitch) = (self.lags.coils, self.lags.reach[2], self.pitch());
        assert!(x + V::LANES <= pitch && re.len() >= side * coils && im.len() == re.len() && coils <= side);
        let mut terms = row.chunks_exact(reach + 1);
        for c in 0..coils {
            for d in c..coils {
                let Some([[a, b, ..], terms @ ..]) = terms.next() else { unreachable!("a row has all pairs") };
                // SAFETY: waves have `reach` rows of `pitch`; instructions by this function's contract.
                unsafe {
                    let (mut real, mut imaginary) = (V::splat(*a), V::splat(*b));
                    for (k, [p, q, s, t]) in terms.iter().enumerate() {
                        let cosine = V::load(self.waves[0].as_ptr().add(k * pitch + x));
                        let sine = V::load(self.waves[1].as_ptr().add(k * pitch + x));
                        real = V::splat(*p).fma(cosine, V::splat(*s).fma(sine, real));
                        imaginary = V::splat(*q).fma(cosine, V::splat(*t).fma(sine, imaginary));
                    }
                    re[c * side + d] = real;
                    re[d * side + c] = real;
                    if c == d {
                        im[c * side + c] = V::splat(0.0);
                    } else {
                        im[c * side + d] = imaginary;
                        im[d * side + c] = V::splat(0.0).sub(imaginary);
                    }
                }
            }
        }
    }
}

/// Sums along y.
struct RowSums<'a> {
    plane: &'a [Complex<f64>],
    /// Of the distances along y.
    turns: &'a [Complex<f64>],
    /// Along x.
    reach: usize,
    out: &'a mut Vec<[f32; 4]>,
}

impl Plain for RowSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { plane, turns, reach, out } = self;
        let width = 2 * reach + 1;
        let mut line = vec![Complex::<f64>::default(); width];
        out.clear();
        for from in plane.chunks_exact(turns.len() * width) {
            line.fill(Complex::default());
            for (from, turn) in from.chunks_exact(width).zip(turns) {
                for (o, v) in line.iter_mut().zip(from) {
                    o.re += v.re * turn.re - v.im * turn.im;
                    o.im += v.re * turn.im + v.im * turn.re;
                }
            }
            let middle = line[reach];
            out.push([middle.re as f32, middle.im as f32, 0.0, 0.0]);
            for lag in 1..=reach {
                // v exp(i a) + w exp(-i a) = (v + w) cos a + i (v - w) sin a
                let (v, w) = (line[reach + lag], line[reach - lag]);
                let (sum, difference) = (v + w, v - w);
                out.push([sum.re as f32, sum.im as f32, -difference.im as f32, difference.re as f32]);
            }
        }
    }
}
