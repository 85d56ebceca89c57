//! The strongest eigenvectors of a field's matrices, a vector of voxels at a time.
//!
//! A matrix that is squared again and again, and divided by its trace each time, becomes v v^H of its strongest eigenvector v; how near it
//! is, its own squares' traces tell. Squaring costs the same whatever there is between the eigenvalues, needs no first guess, and keeps all lanes of
//! a vector at the same work. The next eigenvector is the strongest of what is left without the first.

use super::field::{Field, LANES};
use isocenter_base::cpu::buffer::filled;
use isocenter_base::cpu::simd::{Kernel, Vector};
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;

/// What is wanted of each voxel.
pub(super) struct Wanted<'a> {
    /// Eigenvectors.
    pub(super) sets: usize,
    /// Eigenvalues below have no vector; 0 keeps all.
    pub(super) crop: f32,
    /// Eigenvalues are parts of the matrix's trace.
    pub(super) relative: bool,
    /// Its product with a vector is made real and positive: conjugate, one number a coil.
    pub(super) reference: &'a [Complex<f32>],
    /// Eigenvalues of voxels without a vector are wanted, too.
    pub(super) values: bool,
}

/// A row of voxels.
pub(super) struct Row<'a> {
    pub(super) field: &'a Field<'a>,
    /// From [`Field::row`].
    pub(super) terms: &'a [[f32; 4]],
    pub(super) wanted: &'a Wanted<'a>,
    /// `[set][coil][x]`
    pub(super) vectors: &'a mut [Complex<f32>],
    /// `[set][x]`
    pub(super) values: &'a mut [f32],
    /// What came of it.
    pub(super) result: &'a mut Result<()>,
}

/// Squarings at most: the eigenvalues' ratio to the power of 2^12; what is nearer than that is one eigenvalue to f32.
const SQUARINGS: usize = 12;
/// A trace that is this near to 1 is off by its square after another squaring: less than rounding.
const NEAR: f32 = 1e-3;

/// A trace this small is none: the square of its inverse is still a number.
const SMALL: f32 = 1e-18;

/// Matrices `[row][column]`, one a lane; rows and columns up to an even number, zeros behind the last coil.
struct Matrices<V> {
    re: Vec<V>,
    im: Vec<V>,
}

impl<V: Vector<Element = f32>> Matrices<V> {
    #[inline(always)]
    fn zero(count: usize) -> Result<Self> {
        // SAFETY: called by kernels whose processor has the instructions.
        let zero = unsafe { V::splat(0.0) };
        Ok(Self { re: filled(count, zero)?, im: filled(count, zero)? })
    }
}

impl Kernel<f32> for Row<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Self { field, terms, wanted, vectors, values, result } = self;
        let coils = wanted.reference.len();
        let side = coils.next_multiple_of(2);
        let nx = values.len() / wanted.sets;
        let scratch = (|| {
            Ok((
                [
                    Matrices::<V>::zero(side * side)?,
                    Matrices::<V>::zero(side * side)?,
                    Matrices::<V>::zero(side * side)?,
                ],
                [Matrices::<V>::zero(side)?, Matrices::<V>::zero(wanted.sets * coils)?],
            ))
        })();
        let ([mut g, mut a, mut b], [mut v, mut found]) = match scratch {
            Ok(scratch) => scratch,
            Err(e) => {
                *result = Err(e);
                return;
            }
        };
        let mut eigenvalues = [[0f32; LANES]].repeat(wanted.sets);
        for x in (0..nx).step_by(V::LANES) {
            // SAFETY: the pitch is a multiple of all lanes; instructions by this function's contract.
            unsafe {
                field.matrices(terms, x, side, &mut g.re, &mut g.im);
                let scale = if wanted.relative {
                    let mut sum = V::splat(0.0);
                    (0..coils).for_each(|c| sum = sum.add(g.re[c * side + c]));
                    inverses(sum, SMALL)
                } else {
                    [1.0; LANES]
                };
                if wanted.crop > 0.0 && !wanted.values && !any_above(&g, &scale, wanted.crop) {
                    found.re.fill(V::splat(0.0));
                    found.im.fill(V::splat(0.0));
                } else {
                    for (set, values) in eigenvalues.iter_mut().enumerate() {
                        let sizes = (coils, side);
                        *values = strongest(&mut g, [&mut a, &mut b], &mut v, &mut found, set, sizes);
                    }
                }
                eigenvalues.iter_mut().for_each(|e| e.iter_mut().zip(&scale).for_each(|(e, s)| *e *= s));
                let count = V::LANES.min(nx - x);
                finish(&found, wanted, &eigenvalues, (x, count, nx), vectors, values);
            }
        }
    }
}

/// 1 / each lane, 0 for what is at most `least`.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn inverses<V: Vector<Element = f32>>(v: V, least: f32) -> [f32; LANES] {
    let mut lanes = [0.0; LANES];
    // SAFETY: as many lanes as any vector has; instructions by this function's contract.
    unsafe { v.store(lanes.as_mut_ptr()) };
    lanes.map(|v| if v > least { 1.0 / v } else { 0.0 })
}

/// Whether an eigenvalue may be above: the root of the sum of their squares is.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn any_above<V: Vector<Element = f32>>(g: &Matrices<V>, scale: &[f32; LANES], crop: f32) -> bool {
    let mut lanes = [0.0; LANES];
    // SAFETY: as many lanes as any vector has; instructions by this function's contract.
    unsafe {
        let mut sum = V::splat(0.0);
        for (re, im) in g.re.iter().zip(&g.im) {
            sum = re.fma(*re, im.fma(*im, sum));
        }
        sum.store(lanes.as_mut_ptr());
    }
    lanes.iter().zip(scale).any(|(s, scale)| s.max(0.0).sqrt() * scale >= crop)
}

/// to = factor from from^H of Hermitian matrices, and its trace. (Loops, since closures may be left without the kernel's instructions.)
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn square<V: Vector<Element = f32>>(from: &Matrices<V>, to: &mut Matrices<V>, side: usize, factor: V) -> V {
    assert!([from.re.len(), from.im.len(), to.re.len(), to.im.len()] == [side * side; 4] && side.is_multiple_of(2));
    let (re_in, im_in) = (from.re.as_ptr(), from.im.as_ptr());
    // SAFETY: rows i to i + 1 and j to j + 1 are among the `side` of both; instructions by this function's contract.
    unsafe {
        let zero = V::splat(0.0);
        let mut trace = zero;
        for i in (0..side).step_by(2) {
            for j in (i..side).step_by(2) {
                // As many sums as hide the latency of one.
                let (mut r00, mut r01, mut r10, mut r11) = (zero, zero, zero, zero);
                let (mut i00, mut i01, mut i10, mut i11) = (zero, zero, zero, zero);
                for k in 0..side {
                    let (a, b) = (i * side + k, j * side + k);
                    let (ar, ai) = (*re_in.add(a), *im_in.add(a));
                    let (cr, ci) = (*re_in.add(a + side), *im_in.add(a + side));
                    let (br, bi) = (*re_in.add(b), *im_in.add(b));
                    let (dr, di) = (*re_in.add(b + side), *im_in.add(b + side));
                    r00 = ai.fma(bi, ar.fma(br, r00));
                    i00 = ar.nfma(bi, ai.fma(br, i00));
                    r01 = ai.fma(di, ar.fma(dr, r01));
                    i01 = ar.nfma(di, ai.fma(dr, i01));
                    r10 = ci.fma(bi, cr.fma(br, r10));
                    i10 = cr.nfma(bi, ci.fma(br, i10));
                    r11 = ci.fma(di, cr.fma(dr, r11));
                    i11 = cr.nfma(di, ci.fma(dr, i11));
                }
                for (m, n, re, im) in
                    [(i, j, r00, i00), (i, j + 1, r01, i01), (i + 1, j, r10, i10), (i + 1, j + 1, r11, i11)]
                {
                    let (re, im) = (re.mul(factor), im.mul(factor));
                    to.re[m * side + n] = re;
                    to.im[m * side + n] = im;
                    to.re[n * side + m] = re;
                    to.im[n * side + m] = zero.sub(im);
                    if m == n {
                        trace = trace.add(re);
                    }
                }
            }
        }
        trace
    }
}

/// Writes the strongest eigenvector of `g` as number `set` of `found`, takes it away from `g`, and returns its eigenvalues.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn strongest<V: Vector<Element = f32>>(
    g: &mut Matrices<V>,
    [a, b]: [&mut Matrices<V>; 2],
    v: &mut Matrices<V>,
    found: &mut Matrices<V>,
    set: usize,
    (coils, side): (usize, usize),
) -> [f32; LANES] {
    // SAFETY: arrays hold as many lanes as any vector has; instructions by this function's contract.
    unsafe {
        let mut trace = V::splat(0.0);
        for c in 0..coils {
            trace = trace.add(g.re[c * side + c]);
        }
        let factor = V::load(inverses(trace, SMALL).as_ptr());
        // Relative to the square of the last one's trace: 1 if it was of one vector alone.
        trace = square(g, a, side, factor.mul(factor));
        for _ in 0..SQUARINGS {
            let scale = inverses(trace, SMALL);
            let factor = V::load(scale.as_ptr());
            trace = square(a, b, side, factor.mul(factor));
            std::mem::swap(a, b);
            let mut lanes = [0.0; LANES];
            trace.store(lanes.as_mut_ptr());
            if lanes[..V::LANES].iter().zip(&scale).all(|(t, s)| *t > 1.0 - NEAR || *s == 0.0) {
                break;
            }
        }
        // Any column is the vector: the one with the largest diagonal has it best.
        let mut column = [(0usize, 0f32); LANES];
        let mut lanes = [0f32; LANES];
        for c in 0..coils {
            a.re[c * side + c].store(lanes.as_mut_ptr());
            for (best, lane) in column.iter_mut().zip(&lanes) {
                if *lane > best.1 {
                    *best = (c, *lane);
                }
            }
        }
        for c in 0..coils {
            // A vector in memory is its lanes, one after another.
            let (re, im) =
                (a.re[c * side..][..side].as_ptr().cast::<f32>(), a.im[c * side..][..side].as_ptr().cast::<f32>());
            let mut picked = [[0f32; LANES]; 2];
            for l in 0..V::LANES {
                picked[0][l] = *re.add(column[l].0 * V::LANES + l);
                picked[1][l] = *im.add(column[l].0 * V::LANES + l);
            }
            v.re[c] = V::load(picked[0].as_ptr());
            v.im[c] = V::load(picked[1].as_ptr());
        }
        // One more product with the matrix itself, which is not rounded as often: its length is the eigenvalue.
        let own = set * coils;
        let (mut product, mut length) = (V::splat(0.0), V::splat(0.0));
        for c in 0..coils {
            let (mut re, mut im) = (V::splat(0.0), V::splat(0.0));
            for d in 0..coils {
                let (gr, gi) = (g.re[c * side + d], g.im[c * side + d]);
                re = gi.nfma(v.im[d], gr.fma(v.re[d], re));
                im = gi.fma(v.re[d], gr.fma(v.im[d], im));
            }
            (found.re[own + c], found.im[own + c]) = (re, im);
            product = re.fma(v.re[c], im.fma(v.im[c], product));
            length = v.re[c].fma(v.re[c], v.im[c].fma(v.im[c], length));
        }
        let lengths = inverses(length, f32::MIN_POSITIVE);
        let eigenvalue = product.mul(V::load(lengths.as_ptr()));
        // At right angles with those before, which rounding and neighbouring eigenvalues blur.
        for before in 0..set {
            let (mut re, mut im) = (V::splat(0.0), V::splat(0.0));
            for c in 0..coils {
                let (ur, ui) = (found.re[before * coils + c], found.im[before * coils + c]);
                let (wr, wi) = (found.re[own + c], found.im[own + c]);
                re = ur.fma(wr, ui.fma(wi, re));
                im = ui.nfma(wr, ur.fma(wi, im));
            }
            for c in 0..coils {
                let (ur, ui) = (found.re[before * coils + c], found.im[before * coils + c]);
                found.re[own + c] = ui.fma(im, ur.nfma(re, found.re[own + c]));
                found.im[own + c] = ui.nfma(re, ur.nfma(im, found.im[own + c]));
            }
        }
        let mut squares = V::splat(0.0);
        for c in own..own + coils {
            squares = found.re[c].fma(found.re[c], found.im[c].fma(found.im[c], squares));
        }
        let roots = inverses(squares, f32::MIN_POSITIVE).map(f32::sqrt);
        let factor = V::load(roots.as_ptr());
        for c in own..own + coils {
            found.re[c] = found.re[c].mul(factor);
            found.im[c] = found.im[c].mul(factor);
        }
        for c in 0..coils {
            let (sr, si) = (found.re[own + c].mul(eigenvalue), found.im[own + c].mul(eigenvalue));
            for d in 0..coils {
                let (ur, ui) = (found.re[own + d], found.im[own + d]);
                g.re[c * side + d] = si.nfma(ui, sr.nfma(ur, g.re[c * side + d]));
                g.im[c * side + d] = sr.fma(ui, si.nfma(ur, g.im[c * side + d]));
            }
        }
        eigenvalue.store(lanes.as_mut_ptr());
        lanes
    }
}

/// Turns, crops, and writes what was found, strongest first.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
unsafe fn finish<V: Vector<Element = f32>>(
    found: &Matrices<V>,
    wanted: &Wanted,
    eigenvalues: &[[f32; LANES]],
    (x, count, nx): (usize, usize, usize),
    vectors: &mut [Complex<f32>],
    values: &mut [f32],
) {
    let coils = wanted.reference.len();
    let read = |m: &[V], i: usize| -> [f32; LANES] {
        let mut lanes = [0.0; LANES];
        // SAFETY: as many lanes as any vector has; instructions by this function's contract.
        unsafe { m[i].store(lanes.as_mut_ptr()) };
        lanes
    };
    // Where the set of each rank is: two of nearly the same eigenvalue may have come the other way round.
    let mut order = [const { [0usize; LANES] }; 1].repeat(wanted.sets);
    for l in 0..count {
        for (rank, order) in order.iter_mut().enumerate() {
            order[l] = rank;
        }
        for rank in 1..wanted.sets {
            let mut k = rank;
            while k > 0 && eigenvalues[order[k][l]][l] > eigenvalues[order[k - 1][l]][l] {
                let (a, b) = (order[k][l], order[k - 1][l]);
                (order[k][l], order[k - 1][l]) = (b, a);
                k -= 1;
            }
        }
    }
    for (set, own) in eigenvalues.iter().enumerate() {
        let mut sums = [Complex::new(0f32, 0.0); LANES];
        for (c, u) in wanted.reference.iter().enumerate() {
            let (re, im) = (read(&found.re, set * coils + c), read(&found.im, set * coils + c));
            for ((sum, re), im) in sums.iter_mut().zip(re).zip(im) {
                *sum += u * Complex::new(re, im);
            }
        }
        let mut factors = [Complex::new(0f32, 0.0); LANES];
        for (l, factor) in factors.iter_mut().enumerate().take(count) {
            let length = sums[l].norm();
            let turned = if length > 0.0 { sums[l].conj() / length } else { Complex::new(1.0, 0.0) };
            *factor = if own[l] < wanted.crop { Complex::default() } else { turned };
        }
        let mut rank = [0; LANES];
        for (l, rank) in rank.iter_mut().enumerate().take(count) {
            *rank = (0..wanted.sets).find(|r| order[*r][l] == set).unwrap_or(set);
            values[*rank * nx + x + l] = own[l];
        }
        for c in 0..coils {
            let (re, im) = (read(&found.re, set * coils + c), read(&found.im, set * coils + c));
            for l in 0..count {
                vectors[(rank[l] * coils + c) * nx + x + l] = Complex::new(re[l], im[l]) * factors[l];
            }
        }
    }
}
