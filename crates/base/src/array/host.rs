//! Between the caller's arrays in host memory, of any strides and element types, and contiguous values.

use super::access::{Array, ArrayMut};
use super::dtype::Element;
use super::layout::Layout;
use super::value::{Value, not_finite};
use crate::context::NanPolicy;
use crate::cpu::buffer::{Buffer, Plain};
use crate::cpu::parallel::*;
use crate::error::Result;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Elements of a task: enough to be worth one.
const GRAIN: usize = 1 << 14;
/// Elements that are looked at while they are in the nearest cache.
const BLOCK: usize = 1 << 10;

/// Copies a caller's array; a non-finite value is an error that names the first one, or becomes 0 and is counted.
pub fn read<V: Value, const N: usize>(
    from: &Array<N>,
    name: &str,
    policy: NanPolicy,
    replaced: &mut u64,
) -> Result<Buffer<V>> {
    let mut out = Buffer::<V>::zeroed(from.layout().count())?;
    read_part(from, 0, &mut out, name, policy, replaced)?;
    Ok(out)
}

/// The same for a part of the elements, from number `first` on.
pub fn read_part<V: Value, const N: usize>(
    from: &Array<N>,
    first: usize,
    out: &mut [V],
    name: &str,
    policy: NanPolicy,
    replaced: &mut u64,
) -> Result<()> {
    let bad = AtomicU64::new(0);
    copy_part(from, first, out, |block| {
        let seen: u32 = block.iter().map(|v| u32::from(!v.is_finite())).sum();
        if seen > 0 {
            bad.fetch_add(seen.into(), Ordering::Relaxed);
        }
    });
    let bad = bad.into_inner();
    if bad > 0 {
        if policy == NanPolicy::Error {
            let k = out.iter().position(|v| !v.is_finite()).unwrap_or_default();
            let layout = from.layout();
            return not_finite(name, &layout.index(first + k), out[k].text(layout.dtype.is_complex()));
        }
        out.par_iter_mut().for_each(|v| {
            if !v.is_finite() {
                *v = V::ZERO;
            }
        });
        *replaced += bad;
    }
    Ok(())
}

/// Copies elements of a caller's array, from number `first` on, with a look at each block on its way.
pub fn copy_part<V: Value, const N: usize>(from: &Array<N>, first: usize, out: &mut [V], look: impl Fn(&[V]) + Sync) {
    // Rows may be as short as a sample's coordinates.
    match from.as_row() {
        Some(row) => copy_rows(&row, first, out, look),
        None => copy_rows(from, first, out, look),
    }
}

fn copy_rows<V: Value, const N: usize>(from: &Array<N>, first: usize, out: &mut [V], look: impl Fn(&[V]) + Sync) {
    out.par_chunks_mut(GRAIN).enumerate().for_each(|(task, out)| {
        for (at, piece) in pieces(from.layout(), first + task * GRAIN, out.len()) {
            let block = &mut out[piece];
            from.read_row(at, block);
            look(block);
        }
    });
}

/// Copies elements of a caller's array as they are, from number `first` on.
pub fn copy_elements<T: Element + Plain, const N: usize>(from: &Array<N>, first: usize, out: &mut [T]) {
    out.par_chunks_mut(GRAIN).enumerate().for_each(|(task, out)| {
        for (at, piece) in pieces(from.layout(), first + task * GRAIN, out.len()) {
            from.read_elements(at, &mut out[piece]);
        }
    });
}

/// Copies into a caller's array.
pub fn write<V: Value, const N: usize>(values: &[V], to: &mut ArrayMut<N>) {
    assert_eq!(values.len(), to.layout().count());
    write_part(values, 0, to);
}

/// The same for a part of the elements, from number `first` on.
pub fn write_part<V: Value, const N: usize>(values: &[V], first: usize, to: &mut ArrayMut<N>) {
    let to = &*to;
    values.par_chunks(GRAIN).enumerate().for_each(|(task, values)| {
        for (at, piece) in pieces(to.layout(), first + task * GRAIN, values.len()) {
            // SAFETY: each element by one task; the array is ours alone for the call.
            unsafe { to.write_row(at, &values[piece]) };
        }
    });
}

/// Elements from number `first` on, by pieces of rows: where each begins, and which of the elements it is.
fn pieces<const N: usize>(
    layout: &Layout<N>,
    first: usize,
    count: usize,
) -> impl Iterator<Item = ([usize; N], Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == count {
            return None;
        }
        let (at, start) = (layout.index(first + done), done);
        done += (layout.shape[N - 1] - at[N - 1]).min(BLOCK).min(count - done);
        Some((at, start..done))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::DType;

    /// An array of this shape over every third number, its first two dimensions exchanged in memory.
    fn array(values: &[f64], shape: [usize; 3]) -> Array<'_, 3> {
        let [a, b, c] = shape;
        assert!(values.len() >= 3 * a * b * c);
        let strides = [3 * c, 3 * c * a, 3].map(|s| s as isize);
        // SAFETY: inside the slice, as was asserted.
        unsafe { Array::from_raw(values.as_ptr().cast(), DType::F64, shape, strides, None) }
    }

    /// Rows of three are copied as one.
    #[test]
    fn short_rows_are_one() {
        let numbers: Vec<f64> = (0..150_000).map(f64::from).collect();
        let from = Array::of(&numbers, [50_000, 3]).expect("an array");
        assert_eq!(from.as_row().map(|row| row.shape()), Some([150_000]));
        let mut seen = vec![0f64; 100_001];
        read_part(&from, 20_002, &mut seen, "x", NanPolicy::Error, &mut 0).expect("finite numbers");
        assert_eq!(seen, numbers[20_002..120_003]);
        let numbers: Vec<f64> = numbers.iter().map(|v| if *v == 70_004.0 { f64::NAN } else { *v }).collect();
        let from = Array::of(&numbers, [50_000, 3]).expect("an array");
        let refused = read::<f64, 2>(&from, "x", NanPolicy::Error, &mut 0).expect_err("NaN");
        assert!(refused.to_string().contains("x[23334, 2]"), "{refused}");
        assert!(array(&[0.0; 18], [1, 2, 3]).as_row().is_none());
    }

    #[test]
    fn parts_are_the_whole() {
        for shape in [[3, 5, 7], [2, 1, 40_000], [70, 80, 9], [1, 1, 1]] {
            let count: usize = shape.iter().product();
            let numbers: Vec<f64> = (0..3 * count).map(|k| k as f64).collect();
            let from = array(&numbers, shape);
            let whole = read::<f32, 3>(&from, "x", NanPolicy::Error, &mut 0).expect("finite numbers");
            let [a, b, c] = shape;
            for (k, v) in whole.iter().enumerate() {
                assert_eq!(*v, (3 * (k % c) + 3 * c * (k / (b * c)) + 3 * c * a * (k / c % b)) as f32);
            }
            for step in [1 + count / 3, 17_000, count] {
                let mut parts = vec![0f32; count];
                let mut written = vec![0f64; count];
                let mut to = ArrayMut::of(&mut written, shape).expect("an array");
                for (k, part) in parts.chunks_mut(step).enumerate() {
                    read_part(&from, k * step, part, "x", NanPolicy::Error, &mut 0).expect("finite numbers");
                    write_part(part, k * step, &mut to);
                }
                assert_eq!(parts, *whole, "{shape:?} in parts of {step}");
                assert!(written.iter().zip(&parts).all(|(w, v)| *w == f64::from(*v)), "{shape:?} in parts of {step}");
            }
        }
    }

    #[test]
    fn a_part_names_the_index_in_the_whole() {
        let mut numbers = vec![1.0; 3 * 4 * 5 * 6];
        let shape = [4, 5, 6];
        // The elements [1, 2, 3] and [2, 0, 5].
        numbers[3 * (6 + 2 * 24 + 3)] = f64::NAN;
        numbers[3 * (2 * 6 + 5)] = f64::INFINITY;
        let from = array(&numbers, shape);
        let whole = read::<f32, 3>(&from, "x", NanPolicy::Error, &mut 0).expect_err("a NaN");
        assert!(whole.message.starts_with("x[1, 2, 3] is NaN"), "{whole}");
        let mut part = vec![0f32; 20];
        // From [1, 2, 0] on.
        let error = read_part(&from, 42, &mut part, "x", NanPolicy::Error, &mut 0).expect_err("a NaN");
        assert_eq!(error.message, whole.message);
        let mut replaced = 5;
        read_part(&from, 42, &mut part, "x", NanPolicy::Replace, &mut replaced).expect("replaced");
        assert_eq!((replaced, part[3], part[4]), (6, 0.0, 1.0));
        // Up to [2, 0, 5].
        read_part(&from, 46, &mut part, "x", NanPolicy::Replace, &mut replaced).expect("replaced");
        assert_eq!((replaced, part[18], part[19]), (7, 1.0, 0.0));
    }
}
