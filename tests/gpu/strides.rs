//! Arrays of the host with any strides, page-locked and ordinary: what a GPU makes of them is what it makes of packed copies.

use super::{common, gpu};
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::Context;
use isocenter::ct::{Ct, Geometry, Order};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;
use std::sync::Arc;

fn rounds() -> u64 {
    std::env::var("ISOC_TEST_ROUNDS").map_or(60, |n| 20 * n.parse::<u64>().expect("a number"))
}

/// Elements in memory of the library's, page-locked, or of the program's own.
struct Elements {
    data: *mut f32,
    count: usize,
    _page_locked: Option<isocenter::context::HostMemory>,
    _ordinary: Vec<f32>,
}

impl Elements {
    fn new(context: &Context, page_locked: bool, count: usize, value: impl FnMut(usize) -> f32) -> Self {
        let memory = page_locked.then(|| context.host_memory(4 * count).expect("host memory"));
        let mut ordinary = if page_locked { Vec::new() } else { vec![0.0f32; count] };
        let data = memory.as_ref().map_or(ordinary.as_mut_ptr(), |m| m.data().cast());
        for (k, value) in (0..count).map(value).enumerate() {
            // SAFETY: one of `count` elements.
            unsafe { data.add(k).write(value) };
        }
        Self { data, count, _page_locked: memory, _ordinary: ordinary }
    }

    fn all(&self) -> &[f32] {
        // SAFETY: as many elements, written in `new`.
        unsafe { std::slice::from_raw_parts(self.data, self.count) }
    }
}

fn number(rng: &mut SmallRng, range: std::ops::Range<i64>) -> isize {
    rng.random_range(range) as isize
}

/// Strides of an input: in any order, with gaps, reversed, overlapping, or all the same element.
fn input_strides(rng: &mut SmallRng, shape: [usize; 3]) -> [isize; 3] {
    match rng.random_range(0..6) {
        // Rows that overlap, as windows of a longer line do.
        0 => {
            let step = rng.random_range(0..=shape[2]) as isize;
            [rng.random_range(0..=shape[2]) as isize, step, 1]
        }
        1 => std::array::from_fn(|_| number(rng, -9..10)),
        2 => [0, number(rng, 0..2), 1],
        // A scan's frames of which every other row, or some first rows, are wanted.
        3 => {
            let rows = shape[1] * rng.random_range(1..3) + rng.random_range(0..3);
            [(rows * shape[2]) as isize, (shape[2] * rng.random_range(1..3)) as isize, 1]
        }
        _ => output_strides(rng, shape),
    }
}

/// Strides of an output: no two elements at one place.
fn output_strides(rng: &mut SmallRng, shape: [usize; 3]) -> [isize; 3] {
    let mut order = [0, 1, 2];
    if rng.random_range(0..2) > 0 {
        (1..3).for_each(|k| order.swap(k, rng.random_range(0..=k)));
    }
    let mut step = if rng.random_range(0..4) > 0 { 1 } else { number(rng, 1..4) };
    let mut strides = [0; 3];
    for d in order.into_iter().rev() {
        let sign = if rng.random_range(0..6) == 0 { -1 } else { 1 };
        strides[d] = sign * step;
        step = step * shape[d] as isize + number(rng, 0..3) * number(rng, 0..5);
    }
    strides
}

/// Elements before the first one, and in all, of an array with these strides.
fn extent(shape: [usize; 3], strides: [isize; 3]) -> (usize, usize) {
    let reach = |d: usize| (shape[d] as isize - 1) * strides[d];
    let low: isize = (0..3).map(|d| reach(d).min(0)).sum();
    let high: isize = (0..3).map(|d| reach(d).max(0)).sum();
    (low.unsigned_abs(), (high - low + 1) as usize)
}

fn element(shape: [usize; 3], strides: [isize; 3], before: usize, k: usize) -> usize {
    let at = [k / (shape[1] * shape[2]), k / shape[2] % shape[1], k % shape[2]];
    (before as isize + (0..3).map(|d| at[d] as isize * strides[d]).sum::<isize>()) as usize
}

#[test]
fn any_strides_of_host_arrays_give_what_packed_copies_give() {
    let Some(context) = gpu() else { return };
    for seed in 0..rounds() {
        let rng = &mut SmallRng::seed_from_u64(seed);
        let (views, rows, bins) = (rng.random_range(1..20), rng.random_range(1..9), rng.random_range(1..40));
        let order = [Order::Frames, Order::Sinograms][rng.random_range(0..2)];
        let angles = (0..views).map(|v| PI * v as f64 / views as f64).collect();
        let geometry = Geometry { order, ..Geometry::new(angles, bins).with_rows(rows) };
        let (p, v) = (geometry.projection_shape(), geometry.volume_shape());
        // One angle has no weights.
        let backward = if views > 1 { Ct::reconstruct } else { Ct::backproject };
        one(&context, &geometry, (p, v), backward, rng, seed);
        one(&context, &geometry, (v, p), Ct::forward, rng, seed);
        one(&context, &geometry, (p, p), Ct::filter, rng, seed);
    }
}

fn one(
    context: &Arc<Context>,
    geometry: &Geometry,
    (from, to): ([usize; 3], [usize; 3]),
    operator: common::Operator,
    rng: &mut SmallRng,
    seed: u64,
) {
    let locked = rng.random_range(0..3) > 0;
    let (strides, (before, count)) = {
        let strides = input_strides(rng, from);
        (strides, extent(from, strides))
    };
    let data = Elements::new(context, locked, count, |_| rng.random_range(-1.0..1.0));
    let packed: Vec<f32> = (0..from.iter().product()).map(|k| data.all()[element(from, strides, before, k)]).collect();
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(geometry.clone()).expect("geometry");
    let mut expected = vec![0.0; to.iter().product()];
    let (view, target) = (Array::new(&packed, from).expect("input"), ArrayMut::new(&mut expected, to).expect("output"));
    operator(&mut ct, view, target).expect("packed arrays");

    let target_strides = output_strides(rng, to);
    let (target_before, target_count) = extent(to, target_strides);
    let mark = f32::from_bits(0x7fc0_1234);
    let out = Elements::new(context, rng.random_range(0..3) > 0, target_count, |_| mark);
    // SAFETY: all elements lie in the two arrays, and no two of the output's at one place.
    let (view, target) = unsafe {
        (
            Array::from_raw(data.data.add(before).cast(), DType::F32, from, strides, None),
            ArrayMut::from_raw(out.data.add(target_before).cast(), DType::F32, to, target_strides, None),
        )
    };
    let case = format!("seed {seed}, {from:?} by {strides:?}, {locked}, to {to:?} by {target_strides:?}");
    operator(&mut ct, view, target).unwrap_or_else(|e| panic!("{case}: {}", e.message));
    let mut places: Vec<usize> = Vec::with_capacity(expected.len());
    for (k, value) in expected.iter().enumerate() {
        let place = element(to, target_strides, target_before, k);
        // The same kernels over the same values in another place.
        assert_eq!(out.all()[place].to_bits(), value.to_bits(), "{case}: element {k}");
        places.push(place);
    }
    places.sort_unstable();
    let untouched = (0..target_count).filter(|k| places.binary_search(k).is_err());
    assert!(
        untouched.into_iter().all(|k| out.all()[k].to_bits() == mark.to_bits()),
        "{case}: written between elements"
    );
}
