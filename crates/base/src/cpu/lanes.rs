//! Fourier transforms of many lines side by side, one in each lane of a vector: lines of any stride without a shuffle.
//!
//! Stockham's order with radices of 2 to 8, twiddle factors rounded from double precision.
//!
//! Against rustfft on lines that are contiguous already, lengths 64 to 400, one thread: 0.28 to 0.44 ns a number with AVX2 and 0.22 to
//! 0.44 with AVX-512, rustfft 0.40 to 0.77 (2026-11-22, a 2-core AMD EPYC VM); PET's lines are not, and would be transposed twice besides.

use super::level::Level;
use super::simd::{Kernel, Vector, dispatch};
use std::f64::consts::TAU;
use std::ops::Range;

/// Radices, and what an element costs in a pass: about cycles of a vector of complex numbers.
const RADICES: [(usize, f64); 6] = [(8, 7.8), (6, 6.4), (5, 6.0), (4, 4.6), (3, 5.2), (2, 4.2)];

/// Vectors of complex numbers in memory: element i at `re + i * step` and `im + i * step`, those from `count` on are 0 when
/// they are read and dropped when they are written.
#[derive(Clone, Copy)]
pub struct Strand {
    pub re: *mut f32,
    pub im: *mut f32,
    pub step: usize,
    pub count: usize,
}

impl Strand {
    /// Real and imaginary parts in turns, from `start` on.
    pub fn packed(start: *mut f32, lanes: usize, count: usize) -> Self {
        Self { re: start, im: start.wrapping_add(lanes), step: 2 * lanes, count }
    }

    /// The transform of a swapped line, swapped, is the inverse transform.
    pub fn swapped(self) -> Self {
        Self { re: self.im, im: self.re, ..self }
    }
}

/// sum_j x_j exp(-2 pi i j k / len)
#[derive(Clone, Debug)]
pub struct LaneFft {
    len: usize,
    level: Level,
    passes: Vec<Pass>,
}

/// Butterflies of `radix` elements `stride * spread` apart.
#[derive(Clone, Debug)]
struct Pass {
    radix: usize,
    spread: usize,
    stride: usize,
    /// Real, imaginary of `[spread][1..radix]`.
    twiddles: Vec<[f32; 2]>,
}

/// The cheapest product of radices that is a length, and its cost.
fn factors(len: usize) -> Option<(Vec<usize>, f64)> {
    fn search(rest: usize, from: usize) -> Option<(Vec<usize>, f64)> {
        if rest == 1 {
            return Some((Vec::new(), 0.0));
        }
        let one = |(i, (radix, cost)): (usize, (usize, f64))| {
            let (mut radices, more) = rest.is_multiple_of(radix).then(|| search(rest / radix, i))??;
            radices.push(radix);
            Some((radices, cost + more))
        };
        RADICES.into_iter().enumerate().skip(from).filter_map(one).min_by(|a, b| a.1.total_cmp(&b.1))
    }
    search(len, 0)
}

/// About the cycles of one transform of a vector.
pub fn cost(len: usize) -> f64 {
    factors(len).map_or(f64::INFINITY, |(_, cost)| cost * len as f64)
}

/// Whether [`LaneFft`] takes it.
pub fn is_good_length(len: usize) -> bool {
    factors(len).is_some()
}

/// The length from `minimum` on whose transform is the cheapest.
pub fn good_length(minimum: usize) -> usize {
    let minimum = minimum.max(1);
    // The next power of 2 ends the search.
    let all = minimum..=minimum.next_power_of_two();
    all.min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(minimum)
}

impl LaneFft {
    /// For a [`good_length`].
    pub fn new(len: usize, level: Level) -> Self {
        let radices = factors(len).map_or_else(|| vec![len], |(radices, _)| radices);
        let radices = if radices.is_empty() { vec![1] } else { radices };
        let mut stride = 1;
        let mut passes = Vec::new();
        for radix in radices {
            let rest = len / stride;
            let spread = rest / radix;
            let twiddle = |p: usize, k: usize| {
                let (sin, cos) = (-TAU * ((p * k) % rest) as f64 / rest as f64).sin_cos();
                [cos as f32, sin as f32]
            };
            let twiddles = (0..spread).flat_map(|p| (1..radix).map(move |k| twiddle(p, k))).collect();
            passes.push(Pass { radix, spread, stride, twiddles });
            stride *= radix;
        }
        Self { len, level, passes }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Floats that [`LaneFft::run`] works in.
    pub fn room(&self) -> usize {
        4 * self.len * self.level.lanes()
    }

    pub fn bytes(&self) -> usize {
        self.passes.iter().map(|p| size_of_val(p.twiddles.as_slice())).sum()
    }

    /// `from` and `to` may be the same.
    ///
    /// # Safety
    /// `from` is readable, `to` writable, a vector for every element counted; `room` has [`LaneFft::room`] floats apart from
    /// both.
    pub unsafe fn run(&self, from: Strand, to: Strand, room: *mut f32) {
        dispatch(self.level, Line { fft: self, from, to, room });
    }
}

struct Line<'a> {
    fft: &'a LaneFft,
    from: Strand,
    to: Strand,
    room: *mut f32,
}

impl Kernel<f32> for Line<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Self { fft, from, to, room } = self;
        let half = |i: usize| Strand::packed(room.wrapping_add(i % 2 * 2 * fft.len * V::LANES), V::LANES, fft.len);
        let last = fft.passes.len() - 1;
        for (i, pass) in fft.passes.iter().enumerate() {
            let from = if i == 0 { from } else { half(i + 1) };
            let to = if i == last { to } else { half(i) };
            // SAFETY: by the caller's contract; the halves of the room are apart.
            unsafe {
                match (i == 0, i == last) {
                    (true, true) => pass.any::<V, true, true>(from, to),
                    (true, false) => pass.any::<V, true, false>(from, to),
                    (false, true) => pass.any::<V, false, true>(from, to),
                    (false, false) => pass.any::<V, false, false>(from, to),
                }
            }
        }
    }
}

impl Pass {
    /// # Safety
    /// As [`LaneFft::run`]; the processor has V's instructions.
    #[inline(always)]
    unsafe fn any<V: Vector<Element = f32>, const FIRST: bool, const LAST: bool>(&self, from: Strand, to: Strand) {
        // SAFETY: by the caller's contract.
        unsafe {
            match self.radix {
                1 => self.all::<V, 1, FIRST, LAST>(from, to),
                2 => self.all::<V, 2, FIRST, LAST>(from, to),
                3 => self.all::<V, 3, FIRST, LAST>(from, to),
                4 => self.all::<V, 4, FIRST, LAST>(from, to),
                5 => self.all::<V, 5, FIRST, LAST>(from, to),
                6 => self.all::<V, 6, FIRST, LAST>(from, to),
                8 => self.all::<V, 8, FIRST, LAST>(from, to),
                other => unreachable!("radix {other}"),
            }
        }
    }

    /// The first pass reads what the caller has, its stride is 1; the last writes where the caller wants it, its spread is 1.
    ///
    /// # Safety
    /// As [`Pass::any`].
    #[inline(always)]
    unsafe fn all<V: Vector<Element = f32>, const R: usize, const FIRST: bool, const LAST: bool>(
        &self,
        from: Strand,
        to: Strand,
    ) {
        let (spread, stride) = (if LAST { 1 } else { self.spread }, if FIRST { 1 } else { self.stride });
        // Butterflies before these have all elements.
        let whole = |count: usize, apart: usize| count.saturating_sub(apart * (R - 1)).min(apart);
        let read = if FIRST { whole(from.count, spread) } else { spread };
        let written = if LAST { whole(to.count, stride) } else { stride };
        for p in 0..spread {
            // SAFETY: by the caller's contract.
            unsafe {
                if p < read {
                    self.some::<V, R, FIRST, LAST, true>(from, to, p, 0..written);
                    self.some::<V, R, FIRST, LAST, false>(from, to, p, written..stride);
                } else {
                    self.some::<V, R, FIRST, LAST, false>(from, to, p, 0..stride);
                }
            }
        }
    }

    /// `WHOLE`: no element lies beyond the strands' ends.
    ///
    /// # Safety
    /// As [`Pass::any`].
    #[inline(always)]
    unsafe fn some<V: Vector<Element = f32>, const R: usize, const FIRST: bool, const LAST: bool, const WHOLE: bool>(
        &self,
        from: Strand,
        to: Strand,
        p: usize,
        range: Range<usize>,
    ) {
        let (spread, stride) = (if LAST { 1 } else { self.spread }, if FIRST { 1 } else { self.stride });
        // Whatever is the pass's own lies as [`Strand::packed`]: distances that the compiler knows leave it registers.
        let read_step = if FIRST { from.step } else { 2 * V::LANES };
        let write_step = if LAST { to.step } else { 2 * V::LANES };
        let (read_leg, write_leg) = (stride * spread * read_step, stride * write_step);
        for q in range {
            let (first, target) = (stride * p + q, stride * R * p + q);
            // SAFETY: indices are below the length, and below the counts where strands may end early; there are R - 1 twiddle
            // factors for each p.
            unsafe {
                let (re, im) = (from.re.add(first * read_step), from.im.add(first * read_step));
                let mut v = [C::<V>::zero(); R];
                for (k, v) in v.iter_mut().enumerate() {
                    if WHOLE || !FIRST || first + stride * spread * k < from.count {
                        let re = re.add(k * read_leg);
                        let im = if FIRST { im.add(k * read_leg) } else { re.add(V::LANES) };
                        *v = C { re: V::load(re), im: V::load(im) };
                    }
                }
                let v = butterfly(v);
                let twiddles = self.twiddles.as_ptr().add(p * (R - 1));
                let (re, im) = (to.re.add(target * write_step), to.im.add(target * write_step));
                for (k, mut v) in v.into_iter().enumerate() {
                    if !WHOLE && LAST && target + stride * k >= to.count {
                        continue;
                    }
                    if k > 0 && !LAST {
                        v = v.times(*twiddles.add(k - 1));
                    }
                    let re = re.add(k * write_leg);
                    v.re.store(re);
                    v.im.store(if LAST { im.add(k * write_leg) } else { re.add(V::LANES) });
                }
            }
        }
    }
}

/// Complex numbers of a vector.
#[derive(Clone, Copy)]
struct C<V> {
    re: V,
    im: V,
}

/// # Safety (of every method)
/// The processor has V's instructions.
#[allow(clippy::missing_safety_doc)]
impl<V: Vector<Element = f32>> C<V> {
    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: by the caller's contract.
        unsafe { Self { re: V::splat(0.0), im: V::splat(0.0) } }
    }

    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        // SAFETY: by the caller's contract.
        unsafe { Self { re: self.re.add(b.re), im: self.im.add(b.im) } }
    }

    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        // SAFETY: by the caller's contract.
        unsafe { Self { re: self.re.sub(b.re), im: self.im.sub(b.im) } }
    }

    /// self - i b
    #[inline(always)]
    unsafe fn sub_i(self, b: Self) -> Self {
        // SAFETY: by the caller's contract.
        unsafe { Self { re: self.re.add(b.im), im: self.im.sub(b.re) } }
    }

    /// self + i b
    #[inline(always)]
    unsafe fn add_i(self, b: Self) -> Self {
        // SAFETY: by the caller's contract.
        unsafe { Self { re: self.re.sub(b.im), im: self.im.add(b.re) } }
    }

    #[inline(always)]
    unsafe fn scale(self, by: f32) -> Self {
        // SAFETY: by the caller's contract.
        unsafe {
            let by = V::splat(by);
            Self { re: self.re.mul(by), im: self.im.mul(by) }
        }
    }

    /// self * by + c
    #[inline(always)]
    unsafe fn scale_add(self, by: f32, c: Self) -> Self {
        // SAFETY: by the caller's contract.
        unsafe {
            let by = V::splat(by);
            Self { re: self.re.fma(by, c.re), im: self.im.fma(by, c.im) }
        }
    }

    #[inline(always)]
    unsafe fn times(self, [re, im]: [f32; 2]) -> Self {
        // SAFETY: by the caller's contract.
        unsafe {
            let (re, im) = (V::splat(re), V::splat(im));
            Self { re: self.im.nfma(im, self.re.mul(re)), im: self.im.fma(re, self.re.mul(im)) }
        }
    }
}

/// The transform of R elements; arms of other radices vanish.
///
/// # Safety
/// The processor has V's instructions.
#[inline(always)]
unsafe fn butterfly<V: Vector<Element = f32>, const R: usize>(v: [C<V>; R]) -> [C<V>; R] {
    let mut to = v;
    // SAFETY: by the caller's contract.
    unsafe {
        match R {
            1 => {}
            2 => to.copy_from_slice(&two([v[0], v[1]])),
            3 => to.copy_from_slice(&three([v[0], v[1], v[2]])),
            4 => to.copy_from_slice(&four([v[0], v[1], v[2], v[3]])),
            5 => to.copy_from_slice(&five([v[0], v[1], v[2], v[3], v[4]])),
            6 => {
                // Element 3 a + 2 b, frequency by its remainders: no twiddle factors between 2 and 3.
                let (even, odd) = (three([v[0], v[2], v[4]]), three([v[3], v[5], v[1]]));
                for k in 0..3 {
                    let pair = two([even[k], odd[k]]);
                    to[4 * k % 6] = pair[0];
                    to[(4 * k + 3) % 6] = pair[1];
                }
            }
            8 => {
                let (even, odd) = (four([v[0], v[2], v[4], v[6]]), four([v[1], v[3], v[5], v[7]]));
                const H: f32 = std::f32::consts::FRAC_1_SQRT_2;
                // Times exp(-i pi / 4) and its cube.
                let one = odd[1].sub_i(odd[1]).scale(H);
                let three = odd[3].add_i(odd[3]).scale(-H);
                (to[0], to[4]) = (even[0].add(odd[0]), even[0].sub(odd[0]));
                (to[1], to[5]) = (even[1].add(one), even[1].sub(one));
                (to[2], to[6]) = (even[2].sub_i(odd[2]), even[2].add_i(odd[2]));
                (to[3], to[7]) = (even[3].add(three), even[3].sub(three));
            }
            _ => unreachable!(),
        }
    }
    to
}

/// # Safety
/// As [`butterfly`].
#[inline(always)]
unsafe fn two<V: Vector<Element = f32>>([a, b]: [C<V>; 2]) -> [C<V>; 2] {
    // SAFETY: by the caller's contract.
    unsafe { [a.add(b), a.sub(b)] }
}

/// # Safety
/// As [`butterfly`].
#[inline(always)]
unsafe fn three<V: Vector<Element = f32>>([a, b, c]: [C<V>; 3]) -> [C<V>; 3] {
    const S: f32 = 0.866_025_4;
    // SAFETY: by the caller's contract.
    unsafe {
        let (sum, turned) = (b.add(c), b.sub(c).scale(S));
        let mean = sum.scale_add(-0.5, a);
        [a.add(sum), mean.sub_i(turned), mean.add_i(turned)]
    }
}

/// # Safety
/// As [`butterfly`].
#[inline(always)]
unsafe fn four<V: Vector<Element = f32>>([a, b, c, d]: [C<V>; 4]) -> [C<V>; 4] {
    // SAFETY: by the caller's contract.
    unsafe {
        let ([s, t], [u, v]) = (two([a, c]), two([b, d]));
        [s.add(u), t.sub_i(v), s.sub(u), t.add_i(v)]
    }
}

/// # Safety
/// As [`butterfly`].
#[inline(always)]
unsafe fn five<V: Vector<Element = f32>>([a, b, c, d, e]: [C<V>; 5]) -> [C<V>; 5] {
    /// Cosines and sines of 72 and 144 degrees.
    const COS: [f32; 2] = [0.309_017, -0.809_017];
    const SIN: [f32; 2] = [0.951_056_5, 0.587_785_24];
    // SAFETY: by the caller's contract.
    unsafe {
        let ([s, t], [u, v]) = (two([b, e]), two([c, d]));
        let (near, far) = (u.scale_add(COS[1], s.scale_add(COS[0], a)), u.scale_add(COS[0], s.scale_add(COS[1], a)));
        let (one, two) = (v.scale_add(SIN[1], t.scale(SIN[0])), v.scale_add(-SIN[0], t.scale(SIN[1])));
        [a.add(s).add(u), near.sub_i(one), far.sub_i(two), far.add_i(two), near.add_i(one)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_match_their_definition() {
        for level in Level::available() {
            let lanes = level.lanes();
            for len in (1..=72).chain([150, 160, 162, 180, 192, 288, 320, 360, 500, 512]) {
                if factors(len).is_none() {
                    continue;
                }
                let fft = LaneFft::new(len, level);
                for (read, written) in [(len, len), (len.div_ceil(2), len), (len, len / 2), (len - len / 5, len - 1)] {
                    let number = |i: usize| ((i * i) as f64 * 0.37 + i as f64 * 1.7).sin() as f32;
                    let mut from: Vec<f32> = (0..2 * lanes * len).map(number).collect();
                    let mut to = vec![7.0f32; 2 * lanes * len];
                    let mut room = vec![f32::NAN; fft.room()];
                    let strand = |v: &mut Vec<f32>, count| Strand::packed(v.as_mut_ptr(), lanes, count);
                    // SAFETY: arrays of the strands' sizes.
                    unsafe { fft.run(strand(&mut from, read), strand(&mut to, written), room.as_mut_ptr()) };
                    for lane in 0..lanes {
                        for k in 0..len {
                            let got = [0, lanes].map(|part| f64::from(to[2 * lanes * k + part + lane]));
                            if k >= written {
                                assert_eq!(got, [7.0; 2], "{len} {k} {level:?}");
                                continue;
                            }
                            let mut sum = [0.0; 2];
                            for j in 0..read {
                                let [re, im] = [0, lanes].map(|part| f64::from(from[2 * lanes * j + part + lane]));
                                let (s, c) = (-TAU * (j * k % len) as f64 / len as f64).sin_cos();
                                sum = [sum[0] + re * c - im * s, sum[1] + re * s + im * c];
                            }
                            // Values of rms about sqrt(len); each of up to 9 levels rounds by about 6e-8 of it, and the
                            // largest of thousands is some 5 sigmas: 5 * sqrt(9) * 6e-8 = 9e-7.
                            let error = (0..2).map(|d| (got[d] - sum[d]).abs()).fold(0.0, f64::max);
                            assert!(error < 1e-6 * (len as f64).sqrt(), "{len} {k} {level:?}: {error:e}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn good_lengths_are_products_of_radices_and_not_far() {
        for min in 1..2000 {
            let len = good_length(min);
            assert!(len >= min && factors(len).is_some() && len <= min + 4 + min / 4, "{min}: {len}");
        }
    }
}
