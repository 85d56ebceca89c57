//! Householder's reduction of a Hermitian matrix to a tridiagonal one, by panels of rows: J. J. Dongarra, D. C. Sorensen, S. J. Hammarling,
//! "Block reduction of matrices to condensed forms for eigenvalue computations", J. Comput. Appl. Math. 27:215-227, 1989.
//!
//! Half of the work is products with a vector, which take what the memory gives, and half products of matrices. Both are cut into pieces by
//! the matrix's size alone, and pieces are added up in order, so that results are the same whatever the number of threads.

use isocenter_base::cpu::buffer::{Buffer, reserved, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;
use std::ops::Range;

/// Columns from a row's diagonal on begin at a multiple of this, so that all vectors are whole; two of the widest.
const BLOCK: usize = 16;
/// Reflections that are applied to the rest of the matrix together.
pub(super) const PANEL: usize = 32;
/// Rows of a tile.
const TILE: usize = 2;
/// Rows of a piece of a product of matrices.
const ROWS: usize = 32;

/// Real and imaginary parts.
type Parts<'a> = [&'a [f64]; 2];
type PartsMut<'a> = [&'a mut [f64]; 2];

/// A = H_0 H_1 ... T ... H_1 H_0, T tridiagonal and Hermitian, H_k = 1 - v_k v_k^H.
pub(super) struct Tridiagonal {
    pub(super) n: usize,
    /// Of T.
    pub(super) diagonal: Vec<f64>,
    /// T(k + 1, k).
    pub(super) below: Vec<Complex<f64>>,
    pitch: usize,
    /// Row k has v_k from column k + 1 on, of length sqrt(2), or 0.
    parts: [Buffer<f64>; 2],
}

impl Tridiagonal {
    /// Of a matrix, row after row, of which the upper triangle is read; `tell` hears of each part of the work, and may end it.
    pub(super) fn new(
        matrix: &[Complex<f64>],
        n: usize,
        level: Level,
        tell: impl Fn(f64) -> Result<()>,
    ) -> Result<Self> {
        let pitch = n.next_multiple_of(BLOCK);
        let mut parts = [Buffer::zeroed(pitch * pitch)?, Buffer::zeroed(pitch * pitch)?];
        let [re, im] = &mut parts;
        let rows = re.par_chunks_exact_mut(pitch).zip(im.par_chunks_exact_mut(pitch));
        rows.zip(matrix.par_chunks_exact(n)).enumerate().for_each(|(i, ((re, im), row))| {
            for j in i / BLOCK * BLOCK..n {
                let value = if j < i { matrix[j * n + i].conj() } else { row[j] };
                (re[j], im[j]) = (value.re, value.im);
            }
            im[i] = 0.0;
        });
        let mut found = Self { n, diagonal: reserved(n)?, below: reserved(n)?, pitch, parts };
        let mut panel = Panel::new(pitch)?;
        let share = 1.0 / n.div_ceil(PANEL) as f64;
        for first in (0..n).step_by(PANEL) {
            for k in first..n.min(first + PANEL) {
                panel.step(&mut found, first, k, level);
            }
            panel.apply(&mut found, first, level);
            tell(share)?;
        }
        Ok(found)
    }

    fn row(&self, k: usize) -> Parts<'_> {
        self.parts.each_ref().map(|p| &p[k * self.pitch..][..self.pitch])
    }

    /// Of v_k, from row k + 1 on.
    pub(super) fn reflection(&self, k: usize) -> impl Iterator<Item = Complex<f64>> {
        let [re, im] = self.row(k);
        re[k + 1..self.n].iter().zip(&im[k + 1..]).map(|(re, im)| Complex::new(*re, *im))
    }
}

/// What a panel's rows need besides their reflections.
struct Panel {
    /// `[row][column]`: A without the panel's first q reflections is the matrix before, minus v w^H + w v^H of each.
    others: [Vec<f64>; 2],
    pitch: usize,
    /// A column, and the matrix's product with it.
    vector: [Vec<f64>; 2],
    product: [Vec<f64>; 2],
    /// Products by pieces of the matrix, `[piece][column]`.
    pieces: [Vec<f64>; 2],
}

/// Pieces of a product of a triangle of so many rows with a vector: small ones take less time than a thread takes to begin.
fn piece_count(rows: usize) -> usize {
    (rows / 96).clamp(1, MOST)
}

/// Pieces at most.
const MOST: usize = 16;

/// Rows of a piece of the triangle from row `from` to `to`: pieces have about the same area.
fn piece(k: usize, count: usize, from: usize, to: usize) -> Range<usize> {
    let start = |k: usize| {
        let part = 1.0 - (1.0 - k as f64 / count as f64).sqrt();
        if k == count { to } else { from + ((to - from) as f64 * part) as usize / BLOCK * BLOCK }
    };
    start(k)..start(k + 1)
}

fn whole(parts: &[Vec<f64>; 2]) -> Parts<'_> {
    parts.each_ref().map(Vec::as_slice)
}

fn whole_mut(parts: &mut [Vec<f64>; 2]) -> PartsMut<'_> {
    parts.each_mut().map(Vec::as_mut_slice)
}

impl Panel {
    fn new(pitch: usize) -> Result<Self> {
        let pair = |len: usize| Ok([zeros(len)?, zeros(len)?]);
        Ok(Self {
            others: pair(PANEL * pitch)?,
            pitch,
            vector: pair(pitch)?,
            product: pair(pitch)?,
            pieces: pair(MOST * pitch)?,
        })
    }

    /// Takes row k of a panel that begins at row `first` to its reflection.
    fn step(&mut self, to: &mut Tridiagonal, first: usize, k: usize, level: Level) {
        let (n, pitch, done) = (to.n, self.pitch, k - first);
        let start = k / BLOCK * BLOCK;
        let [own, others] = [to.parts.each_ref().map(|p| &p[first * pitch..k * pitch]), whole(&self.others)];
        // The column from the diagonal on, of the matrix after the reflections so far.
        for ((to, from), sign) in self.vector.iter_mut().zip(to.row(k)).zip([1.0, -1.0]) {
            to[..k].fill(0.0);
            to[k..].iter_mut().zip(&from[k..]).for_each(|(t, f)| *t = sign * f);
        }
        let mut factors = [[Complex::default(); 2]; PANEL];
        for (q, factor) in factors[..done].iter_mut().enumerate() {
            let at = |[re, im]: Parts| Complex::new(re[q * pitch + k], -im[q * pitch + k]);
            *factor = [at(others), at(own)];
        }
        let to_subtract = |to, start| Subtract { own, others, pitch, factors: &factors[..done], start, to };
        dispatch(level, to_subtract(whole_mut(&mut self.vector), start));
        let [re, im] = &mut self.vector;
        to.diagonal.push(re[k]);
        let begin = k + 1;
        re[..begin].fill(0.0);
        im[..begin].fill(0.0);
        let (row_re, row_im) = (k * pitch, (k + 1) * pitch);
        if begin == n {
            to.parts.iter_mut().for_each(|p| p[row_re..row_im].fill(0.0));
            return;
        }
        let squares: f64 = re[begin..n].iter().chain(&im[begin..n]).map(|v| v * v).sum();
        let head = Complex::new(re[begin], im[begin]);
        if squares < f64::MIN_POSITIVE {
            // Nothing to turn, to rounding of a matrix whose largest number is about 1.
            to.below.push(Complex::default());
            re.fill(0.0);
            im.fill(0.0);
        } else {
            let (length, size) = (squares.sqrt(), head.norm());
            let turn = if size > 0.0 { head / size } else { 1.0.into() };
            to.below.push(-turn * length);
            // x + turn |x| e, whose squares add up to 2 |x| (|x| + |x_0|).
            let scale = 1.0 / (length * (length + size)).sqrt();
            let head = turn * (size + length);
            (re[begin], im[begin]) = (head.re, head.im);
            re[begin..n].iter_mut().chain(&mut im[begin..n]).for_each(|v| *v *= scale);
        }
        for (to, from) in to.parts.iter_mut().zip(&self.vector) {
            to[row_re..row_im].copy_from_slice(from);
        }
        self.multiply(to, begin, level);
        // What the panel's reflections so far have changed.
        let start = begin / BLOCK * BLOCK;
        let own = to.parts.each_ref().map(|p| &p[first * pitch..k * pitch]);
        dispatch(
            level,
            Dots {
                own,
                others: whole(&self.others),
                pitch,
                start,
                vector: whole(&self.vector),
                factors: &mut factors[..done],
            },
        );
        let subtract = Subtract {
            own,
            others: whole(&self.others),
            pitch,
            factors: &factors[..done],
            start,
            to: whole_mut(&mut self.product),
        };
        dispatch(level, subtract);
        // H A H = A - v w^H - w v^H with w = A v - v (v^H A v) / 2.
        let [v, y] = [&self.vector, &self.product];
        let half =
            0.5 * (0..2).flat_map(|p| v[p][begin..n].iter().zip(&y[p][begin..n])).map(|(v, y)| v * y).sum::<f64>();
        for (p, others) in self.others.iter_mut().enumerate() {
            let row = &mut others[done * pitch..][..pitch];
            row[..begin].fill(0.0);
            for (j, w) in row.iter_mut().enumerate().skip(begin) {
                *w = y[p][j] - half * v[p][j];
            }
        }
    }

    /// The matrix before the panel times the vector, rows and columns from `begin` on.
    fn multiply(&mut self, of: &Tridiagonal, begin: usize, level: Level) {
        let (pitch, start) = (self.pitch, begin / BLOCK * BLOCK);
        let count = piece_count(pitch - start);
        let [re, im] = whole_mut(&mut self.pieces).map(|p| &mut p[..count * pitch]);
        let vector = whole(&self.vector);
        let pieces = re.par_chunks_exact_mut(pitch).zip(im.par_chunks_exact_mut(pitch));
        pieces.enumerate().for_each(|(k, (re, im))| {
            let rows = piece(k, count, start, pitch);
            re[rows.start..].fill(0.0);
            im[rows.start..].fill(0.0);
            let matrix = of.parts.each_ref().map(|p| &p[..]);
            dispatch(level, Product { matrix, pitch, rows, vector, to: [re, im] });
        });
        for (to, pieces) in self.product.iter_mut().zip([re, im]) {
            to[start..].copy_from_slice(&pieces[start..pitch]);
            for k in 1..count {
                let from = piece(k, count, start, pitch).start;
                to[from..].iter_mut().zip(&pieces[k * pitch + from..]).for_each(|(t, v)| *t += v);
            }
        }
    }

    /// Applies a whole panel's reflections to the rows behind it.
    fn apply(&self, to: &mut Tridiagonal, first: usize, level: Level) {
        let (pitch, next) = (self.pitch, first + PANEL);
        if next >= to.n {
            return;
        }
        let [re, im] = to.parts.each_mut().map(|p| p.split_at_mut(next * pitch));
        let own: Parts = [&re.0[first * pitch..], &im.0[first * pitch..]];
        let rows = re.1.par_chunks_mut(ROWS * pitch).zip(im.1.par_chunks_mut(ROWS * pitch));
        rows.enumerate().for_each(|(k, (re, im))| {
            let others = whole(&self.others);
            dispatch(level, Update { own, others, pitch, first: next + k * ROWS, to: [re, im] });
        });
    }
}

/// Rows of a Hermitian matrix times a vector, and their conjugates below the diagonal times it.
struct Product<'a> {
    matrix: Parts<'a>,
    pitch: usize,
    rows: Range<usize>,
    vector: Parts<'a>,
    to: PartsMut<'a>,
}

/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn sum<V: Vector<Element = f64>>(v: V) -> f64 {
    let mut lanes = [0.0; BLOCK];
    // SAFETY: a block holds any vector; instructions by this function's contract.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes[..V::LANES].iter().sum()
}

impl Kernel<f64> for Product<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f64>>(self) {
        let Self { matrix, pitch, rows, vector, to: [to_re, to_im] } = self;
        assert!(matrix.map(<[_]>::len) == [pitch * pitch; 2] && rows.end <= pitch && rows.start.is_multiple_of(BLOCK));
        assert!(vector.map(<[_]>::len) == [pitch; 2] && [to_re.len(), to_im.len()] == [pitch; 2]);
        assert!(pitch.is_multiple_of(BLOCK) && rows.len().is_multiple_of(BLOCK));
        for r in rows.step_by(TILE) {
            let block = r / BLOCK * BLOCK;
            // SAFETY: rows and columns are below the pitch, which is a multiple of all lanes, and so is the first column; instructions by
            // this function's contract.
            unsafe {
                let zero = V::splat(0.0);
                let (mut re, mut im, mut own_re, mut own_im) = ([zero; TILE], [zero; TILE], [zero; TILE], [zero; TILE]);
                for k in 0..TILE {
                    (own_re[k], own_im[k]) = (V::splat(vector[0][r + k]), V::splat(vector[1][r + k]));
                }
                let (from_re, from_im) = (matrix[0].as_ptr().add(r * pitch), matrix[1].as_ptr().add(r * pitch));
                // Blocks on the diagonal are whole: what is below them is there, too.
                for j in (block..block + BLOCK).step_by(V::LANES) {
                    let (vr, vi) = (V::load(vector[0].as_ptr().add(j)), V::load(vector[1].as_ptr().add(j)));
                    for k in 0..TILE {
                        let (ar, ai) = (V::load(from_re.add(k * pitch + j)), V::load(from_im.add(k * pitch + j)));
                        re[k] = ai.nfma(vi, ar.fma(vr, re[k]));
                        im[k] = ai.fma(vr, ar.fma(vi, im[k]));
                    }
                }
                for j in (block + BLOCK..pitch).step_by(V::LANES) {
                    let (vr, vi) = (V::load(vector[0].as_ptr().add(j)), V::load(vector[1].as_ptr().add(j)));
                    let (pr, pi) = (to_re.as_mut_ptr().add(j), to_im.as_mut_ptr().add(j));
                    let (mut yr, mut yi) = (V::load(pr), V::load(pi));
                    for k in 0..TILE {
                        let (ar, ai) = (V::load(from_re.add(k * pitch + j)), V::load(from_im.add(k * pitch + j)));
                        re[k] = ai.nfma(vi, ar.fma(vr, re[k]));
                        im[k] = ai.fma(vr, ar.fma(vi, im[k]));
                        yr = ai.fma(own_im[k], ar.fma(own_re[k], yr));
                        yi = ai.nfma(own_re[k], ar.fma(own_im[k], yi));
                    }
                    yr.store(pr);
                    yi.store(pi);
                }
                for k in 0..TILE {
                    to_re[r + k] += sum(re[k]);
                    to_im[r + k] += sum(im[k]);
                }
            }
        }
    }
}

/// w^H x and v^H x of a panel's reflections.
struct Dots<'a> {
    own: Parts<'a>,
    others: Parts<'a>,
    pitch: usize,
    start: usize,
    vector: Parts<'a>,
    factors: &'a mut [[Complex<f64>; 2]],
}

impl Kernel<f64> for Dots<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f64>>(self) {
        let Self { own, others, pitch, start, vector, factors } = self;
        assert!(own.iter().chain(&others).all(|p| p.len() >= factors.len() * pitch) && start.is_multiple_of(BLOCK));
        assert!(vector.map(<[_]>::len) == [pitch; 2] && pitch.is_multiple_of(BLOCK));
        for (q, factor) in factors.iter_mut().enumerate() {
            // SAFETY: as many rows of `pitch`, a multiple of all lanes, and so is the first column; instructions by this function's contract.
            unsafe {
                let zero = V::splat(0.0);
                let (mut wr, mut wi, mut vr, mut vi) = (zero, zero, zero, zero);
                for j in (start..pitch).step_by(V::LANES) {
                    let (xr, xi) = (V::load(vector[0].as_ptr().add(j)), V::load(vector[1].as_ptr().add(j)));
                    let at = q * pitch + j;
                    let (re, im) = (V::load(others[0].as_ptr().add(at)), V::load(others[1].as_ptr().add(at)));
                    wr = im.fma(xi, re.fma(xr, wr));
                    wi = im.nfma(xr, re.fma(xi, wi));
                    let (re, im) = (V::load(own[0].as_ptr().add(at)), V::load(own[1].as_ptr().add(at)));
                    vr = im.fma(xi, re.fma(xr, vr));
                    vi = im.nfma(xr, re.fma(xi, vi));
                }
                *factor = [Complex::new(sum(wr), sum(wi)), Complex::new(sum(vr), sum(vi))];
            }
        }
    }
}

/// Subtracts v a + w b, of factors (a, b) for each of a panel's reflections.
struct Subtract<'a> {
    own: Parts<'a>,
    others: Parts<'a>,
    pitch: usize,
    factors: &'a [[Complex<f64>; 2]],
    start: usize,
    to: PartsMut<'a>,
}

impl Kernel<f64> for Subtract<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f64>>(self) {
        let Self { own, others, pitch, factors, start, to: [to_re, to_im] } = self;
        assert!(own.iter().chain(&others).all(|p| p.len() >= factors.len() * pitch) && start.is_multiple_of(BLOCK));
        assert!([to_re.len(), to_im.len()] == [pitch; 2] && pitch.is_multiple_of(BLOCK));
        for j in (start..pitch).step_by(V::LANES) {
            // SAFETY: as for `Dots`.
            unsafe {
                let (pr, pi) = (to_re.as_mut_ptr().add(j), to_im.as_mut_ptr().add(j));
                // Two sums each, which do not wait for each other.
                let (mut re, mut im, mut more_re, mut more_im) =
                    (V::load(pr), V::load(pi), V::splat(0.0), V::splat(0.0));
                for (q, [a, b]) in factors.iter().enumerate() {
                    let at = q * pitch + j;
                    let (vr, vi) = (V::load(own[0].as_ptr().add(at)), V::load(own[1].as_ptr().add(at)));
                    let (fr, fi) = (V::splat(a.re), V::splat(a.im));
                    re = fi.fma(vi, fr.nfma(vr, re));
                    im = fi.nfma(vr, fr.nfma(vi, im));
                    let (wr, wi) = (V::load(others[0].as_ptr().add(at)), V::load(others[1].as_ptr().add(at)));
                    let (fr, fi) = (V::splat(b.re), V::splat(b.im));
                    more_re = fi.fma(wi, fr.nfma(wr, more_re));
                    more_im = fi.nfma(wr, fr.nfma(wi, more_im));
                }
                re.add(more_re).store(pr);
                im.add(more_im).store(pi);
            }
        }
    }
}

/// Subtracts a panel's v w^H + w v^H from rows of the matrix, from their diagonal blocks on.
struct Update<'a> {
    own: Parts<'a>,
    others: Parts<'a>,
    pitch: usize,
    /// First row.
    first: usize,
    to: PartsMut<'a>,
}

impl Kernel<f64> for Update<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f64>>(self) {
        let Self { own, others, pitch, first, to: [to_re, to_im] } = self;
        let rows = to_re.len() / pitch;
        assert!(own.iter().chain(&others).all(|p| p.len() == PANEL * pitch) && to_im.len() == to_re.len());
        assert!(pitch.is_multiple_of(BLOCK) && [first, rows].iter().all(|v| v.is_multiple_of(BLOCK)));
        assert!(first + rows <= pitch && to_re.len() == rows * pitch);
        for r in (0..rows).step_by(TILE) {
            for j in ((first + r) / BLOCK * BLOCK..pitch).step_by(2 * V::LANES) {
                // SAFETY: rows and columns are below the pitch, which is a multiple of twice all lanes, and so is the first column;
                // instructions by this function's contract.
                unsafe {
                    let zero = V::splat(0.0);
                    let (mut re, mut im) = ([[zero; 2]; TILE], [[zero; 2]; TILE]);
                    for q in 0..PANEL {
                        let (row, column) = (q * pitch + first + r, q * pitch + j);
                        for (left, right) in [(own, others), (others, own)] {
                            let (cr, ci) = (right[0].as_ptr().add(column), right[1].as_ptr().add(column));
                            let (cr, dr) = (V::load(cr), V::load(cr.add(V::LANES)));
                            let (ci, di) = (V::load(ci), V::load(ci.add(V::LANES)));
                            for k in 0..TILE {
                                let vr = V::splat(*left[0].as_ptr().add(row + k));
                                let vi = V::splat(*left[1].as_ptr().add(row + k));
                                re[k][0] = vi.fma(ci, vr.fma(cr, re[k][0]));
                                im[k][0] = vr.nfma(ci, vi.fma(cr, im[k][0]));
                                re[k][1] = vi.fma(di, vr.fma(dr, re[k][1]));
                                im[k][1] = vr.nfma(di, vi.fma(dr, im[k][1]));
                            }
                        }
                    }
                    for k in 0..TILE {
                        for o in 0..2 {
                            let at = (r + k) * pitch + j + o * V::LANES;
                            let (pr, pi) = (to_re.as_mut_ptr().add(at), to_im.as_mut_ptr().add(at));
                            V::load(pr).sub(re[k][o]).store(pr);
                            V::load(pi).sub(im[k][o]).store(pi);
                        }
                    }
                }
            }
        }
    }
}
