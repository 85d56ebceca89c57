//! Bytes of elements brought together again that were apart: first the first byte of each element, then the second ...

/// Puts elements of `size` bytes together; bytes behind the last whole element are as they were.
pub fn decode(from: &[u8], to: &mut [u8], size: usize) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { decode_avx2(from, to, size) };
        return;
    }
    decode_anywhere(from, to, size);
}

/// The same, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn decode_avx2(from: &[u8], to: &mut [u8], size: usize) {
    decode_anywhere(from, to, size);
}

/// Compiled into its callers, for their level of instructions.
#[inline(always)]
pub fn decode_anywhere(from: &[u8], to: &mut [u8], size: usize) {
    let count = from.len() / size.max(1);
    match size {
        0 | 1 => to.copy_from_slice(from),
        2 => pairs(from, to, count),
        4 => fours(from, to, count),
        8 => eights(from, to, count),
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

/// Elements at a time: their bytes are in registers.
const RUN: usize = 32;

/// With a size that the compiler knows: bytes are shifted into words, of which it makes unpacking. Closures would not be compiled for
/// the caller's level.
macro_rules! fixed {
    ($name:ident, $word:ty) => {
        #[inline(always)]
        fn $name(from: &[u8], to: &mut [u8], count: usize) {
            const N: usize = size_of::<$word>();
            let mut planes = [from; N];
            for (b, plane) in planes.iter_mut().enumerate() {
                *plane = &from[b * count..(b + 1) * count];
            }
            let (elements, _) = to[..count * N].as_chunks_mut::<N>();
            let (runs, rest) = elements.as_chunks_mut::<RUN>();
            let whole = runs.len() * RUN;
            for (r, run) in runs.iter_mut().enumerate() {
                let mut words = [0; RUN];
                for (b, plane) in planes.iter().enumerate() {
                    let bytes = &plane.as_chunks::<RUN>().0[r];
                    for (word, byte) in words.iter_mut().zip(bytes) {
                        *word |= <$word>::from(*byte) << (8 * b);
                    }
                }
                for (to, word) in run.iter_mut().zip(words) {
                    *to = word.to_le_bytes();
                }
            }
            for (k, element) in rest.iter_mut().enumerate() {
                for (byte, plane) in element.iter_mut().zip(&planes) {
                    *byte = plane[whole + k];
                }
            }
            tail(from, to, count * N);
        }
    };
}

fixed!(pairs, u16);
fixed!(fours, u32);
fixed!(eights, u64);

fn tail(from: &[u8], to: &mut [u8], whole: usize) {
    to[whole..].copy_from_slice(&from[whole..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_all_sizes_on_every_path() {
        for size in 1..=9 {
            for bytes in [0, 5, 63 * size, 64 * size + 3, 333 * size + size / 2] {
                let from: Vec<u8> = (0..bytes).map(|k| (k * 37 + k / 11) as u8).collect();
                let count = bytes / size;
                let at = |k: usize| if k < count * size { k % size * count + k / size } else { k };
                let expected: Vec<u8> = (0..bytes).map(|k| from[at(k)]).collect();
                let mut to = vec![0; bytes];
                decode(&from, &mut to, size);
                assert!(to == expected, "{bytes} bytes, elements of {size}");
                to.fill(0);
                decode_anywhere(&from, &mut to, size);
                assert!(to == expected, "{bytes} bytes, elements of {size}, portable");
            }
        }
    }
}
