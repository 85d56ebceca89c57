//! What is done to each element of a vector, whatever the others are.

use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};

/// One element's change; gives two numbers whose product it adds to its slice's sum: squares of finite numbers may leave f32.
pub(super) trait Change: Sync {
    /// `y` is changed, by the same element `x` of another vector, the value `shared` that all slices have there, and its slice's
    /// `factor`. Must be `#[inline(always)]`.
    fn apply(&self, y: &mut f32, x: f32, shared: f32, factor: f32) -> [f32; 2];
}

/// What only decays comes to numbers below the normal ones after some 100 to 400 iterations, with which processors are many times slower: it becomes 0, while
/// its products with weights of rays are still normal.
#[inline(always)]
pub(super) fn without_smallest(v: f32) -> f32 {
    if v.abs() < 16.0 * f32::MIN_POSITIVE { 0.0 } else { v }
}

/// Two numbers of a change whose sum nobody wants.
pub(super) const NOTHING: [f32; 2] = [0.0; 2];

/// A change that needs no `shared` has ones there.
pub(super) struct Group<'a> {
    pub(super) y: &'a mut [f32],
    pub(super) x: &'a [f32],
    pub(super) shared: Option<&'a [f32]>,
    /// Of each lane.
    pub(super) factors: &'a [f32],
    /// Each lane's; added to.
    pub(super) sums: &'a mut [f64],
}

/// Elements of a task, in all lanes.
const PART: usize = 1 << 14;
/// Elements side by side where there is one slice.
const SIDE: usize = 16;

/// Changes a group's vector, `[element][lane]`. Sums are the same for any number of threads.
pub(super) fn change<C: Change>(level: Level, group: Group, change: &C) {
    match group.factors.len() {
        1 => lanes::<C, SIDE, true>(level, group, change),
        8 => lanes::<C, 8, false>(level, group, change),
        16 => lanes::<C, 16, false>(level, group, change),
        32 => lanes::<C, 32, false>(level, group, change),
        n => unreachable!("{n} lanes"),
    }
}

fn lanes<C: Change, const L: usize, const ALONG: bool>(level: Level, group: Group, change: &C) {
    let Group { y, x, shared, factors, sums } = group;
    let mut wide = [0.0; L];
    wide.iter_mut().zip(factors.iter().cycle()).for_each(|(w, f)| *w = *f);
    let part = |k: usize, y: &mut [f32]| {
        let first = k * PART;
        let (own, mut sums) = (&x[first..][..y.len()], [0.0; L]);
        match shared {
            Some(shared) => {
                let shared = if ALONG { &shared[first..][..y.len()] } else { &shared[first / L..][..y.len() / L] };
                let work = Part::<C, L, ALONG, true> { change, y, x: own, shared, factors: &wide, sums: &mut sums };
                vectorised(level, work);
            }
            None => {
                let work =
                    Part::<C, L, ALONG, false> { change, y, x: own, shared: &[], factors: &wide, sums: &mut sums };
                vectorised(level, work);
            }
        }
        sums
    };
    for part in of_parts::<L>(y, &part) {
        part.iter().enumerate().for_each(|(l, s)| sums[l % factors.len()] += s);
    }
}

/// Compiled once, and not for each change.
fn of_parts<const L: usize>(y: &mut [f32], part: &(dyn Fn(usize, &mut [f32]) -> [f64; L] + Sync)) -> Vec<[f64; L]> {
    y.par_chunks_mut(PART).enumerate().map(|(k, y)| part(k, y)).collect()
}

struct Part<'a, C, const L: usize, const ALONG: bool, const SHARED: bool> {
    change: &'a C,
    y: &'a mut [f32],
    x: &'a [f32],
    shared: &'a [f32],
    factors: &'a [f32; L],
    sums: &'a mut [f64; L],
}

impl<C: Change, const L: usize, const ALONG: bool, const SHARED: bool> Plain for Part<'_, C, L, ALONG, SHARED> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { change, y, x, shared, factors, sums } = self;
        let shared_at = |e: usize, l: usize| match (SHARED, ALONG) {
            (false, _) => 1.0,
            (true, true) => shared[e * L + l],
            (true, false) => shared[e],
        };
        let (mut y, x) = (y.chunks_exact_mut(L), x.chunks_exact(L));
        for (e, (y, x)) in y.by_ref().zip(x.clone()).enumerate() {
            for l in 0..L {
                sums[l] += product(change.apply(&mut y[l], x[l], shared_at(e, l), factors[l]));
            }
        }
        // Elements of one slice need not fill the last vector.
        let whole = x.len();
        for (l, (y, x)) in y.into_remainder().iter_mut().zip(x.remainder()).enumerate() {
            sums[l] += product(change.apply(y, *x, shared_at(whole, l), factors[l]));
        }
    }
}

#[inline(always)]
fn product([a, b]: [f32; 2]) -> f64 {
    f64::from(a) * f64::from(b)
}

/// The sums of the squares of a group's vector, of each lane.
pub(super) fn squares(level: Level, x: &[f32], lanes: usize) -> Vec<f64> {
    match lanes {
        1 => squares_of::<SIDE>(level, x, lanes),
        8 => squares_of::<8>(level, x, lanes),
        16 => squares_of::<16>(level, x, lanes),
        32 => squares_of::<32>(level, x, lanes),
        n => unreachable!("{n} lanes"),
    }
}

fn squares_of<const L: usize>(level: Level, x: &[f32], lanes: usize) -> Vec<f64> {
    let parts: Vec<[f64; L]> = x.par_chunks(PART).map(|x| vectorised(level, Squares::<L> { x })).collect();
    let mut sums = vec![0.0; lanes];
    for part in parts {
        part.iter().enumerate().for_each(|(l, s)| sums[l % lanes] += s);
    }
    sums
}

struct Squares<'a, const L: usize> {
    x: &'a [f32],
}

impl<const L: usize> Plain for Squares<'_, L> {
    type Output = [f64; L];

    #[inline(always)]
    fn run(self) -> [f64; L] {
        let mut sums = [0.0; L];
        let x = self.x.chunks_exact(L);
        x.remainder().iter().zip(&mut sums).for_each(|(x, sum)| *sum += product([*x; 2]));
        for x in x {
            (0..L).for_each(|l| sums[l] += product([x[l]; 2]));
        }
        sums
    }
}
