//! Between the caller's arrays in host memory, of any strides and element types, and contiguous values.

use super::access::{Array, ArrayMut};
use super::value::{Value, not_finite};
use crate::context::NanPolicy;
use crate::cpu::buffer::Buffer;
use crate::error::Result;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Minimum number of elements that are worth a task of their own.
const GRAIN: usize = 1 << 14;
/// Elements that are looked at while they are in the nearest cache.
const BLOCK: usize = 1 << 10;

/// Copies a caller's array; a non-finite value is an error that names the first one, or becomes 0 and is counted.
pub(crate) fn read<V: Value, const N: usize>(
    from: &Array<N>,
    name: &str,
    policy: NanPolicy,
    replaced: &mut u64,
) -> Result<Buffer<V>> {
    let layout = from.layout();
    let mut out = Buffer::<V>::zeroed(layout.count())?;
    let n = layout.shape[N - 1];
    let bad = AtomicU64::new(0);
    out.par_chunks_mut(n).with_min_len(GRAIN.div_ceil(n)).enumerate().for_each(|(row, out)| {
        let mut at = layout.index(row * n);
        let mut seen = 0;
        for block in out.chunks_mut(BLOCK) {
            from.read_row(at, block);
            at[N - 1] += block.len();
            seen += block.iter().map(|v| u32::from(!v.is_finite())).sum::<u32>();
        }
        if seen > 0 {
            bad.fetch_add(seen.into(), Ordering::Relaxed);
        }
    });
    let bad = bad.into_inner();
    if bad > 0 {
        if policy == NanPolicy::Error {
            let first = out.iter().position(|v| !v.is_finite()).unwrap_or_default();
            return not_finite(name, &layout.index(first), out[first].text(layout.dtype.is_complex()));
        }
        out.par_iter_mut().filter(|v| !v.is_finite()).for_each(|v| *v = V::ZERO);
        *replaced += bad;
    }
    Ok(out)
}

/// Copies into a caller's array.
pub(crate) fn write<V: Value, const N: usize>(values: &[V], to: &mut ArrayMut<N>) {
    let to = &*to;
    assert_eq!(values.len(), to.layout().count());
    let n = to.shape()[N - 1];
    values.par_chunks(n).with_min_len(GRAIN.div_ceil(n)).enumerate().for_each(|(row, values)| {
        // SAFETY: each row by one task; the array is ours alone for the call.
        unsafe { to.write_row(to.layout().index(row * n), values) };
    });
}
