//! Bytes of elements brought together again that were apart: first the first byte of each element, then the second ...

/// Puts elements of `size` bytes together; bytes behind the last whole element are as they were.
// Compiled into its callers, for their level of instructions.
#[inline(always)]
pub fn decode(from: &[u8], to: &mut [u8], size: usize) {
    let count = from.len() / size.max(1);
    match size {
        0 | 1 => to.copy_from_slice(from),
        2 => fixed::<2>(from, to, count),
        4 => fixed::<4>(from, to, count),
        8 => fixed::<8>(from, to, count),
        _ => {
            for (k, element) in to.chunks_exact_mut(size).enumerate() {
                for (byte, plane) in element.iter_mut().zip(from.chunks_exact(count)) {
                    *byte = plane[k];
                }
            }
            tail(from, to, count * size);
        }
    }
}

/// With a size that the compiler knows, so that it makes shuffles of it.
#[inline(always)]
fn fixed<const N: usize>(from: &[u8], to: &mut [u8], count: usize) {
    /// Elements at a time: their bytes are in registers.
    const RUN: usize = 32;
    let planes: [&[u8]; N] = std::array::from_fn(|b| &from[b * count..(b + 1) * count]);
    let (elements, _) = to.as_chunks_mut::<N>();
    let (runs, rest) = elements.as_chunks_mut::<RUN>();
    let whole = runs.len() * RUN;
    for (r, run) in runs.iter_mut().enumerate() {
        let from = r * RUN..(r + 1) * RUN;
        let planes: [&[u8]; N] = std::array::from_fn(|b| &planes[b][from.clone()]);
        for k in 0..RUN {
            run[k] = std::array::from_fn(|b| planes[b][k]);
        }
    }
    for (k, element) in rest.iter_mut().enumerate() {
        *element = std::array::from_fn(|b| planes[b][whole + k]);
    }
    tail(from, to, count * N);
}

fn tail(from: &[u8], to: &mut [u8], whole: usize) {
    to[whole..].copy_from_slice(&from[whole..]);
}
