//! Bitshuffle (Masui et al., "A compression scheme for radio data in high performance computing", Astron. Comput. 12, 2015): within a
//! block first the first bit of each element, then the second ...

use super::{Codec, Tools, blocks, shuffle};
use crate::memory::at_least;
use anyhow::{Result, ensure};

/// Elements of a block are multiples of this.
const STEP: usize = 8;

/// Elements of a block: as the filter's options say, or its default.
pub fn block(asked: usize, size: usize) -> usize {
    const BYTES: usize = 8192;
    const FEWEST: usize = 128;
    match asked {
        0 => (BYTES / size / STEP * STEP).max(FEWEST),
        asked => asked,
    }
}

/// Lengths of the blocks of so many bytes, in blocks of `block` bytes; what is left after them stays as it is.
fn lengths(bytes: usize, block: usize, size: usize) -> impl Iterator<Item = usize> {
    let last = bytes % block / (size * STEP) * (size * STEP);
    std::iter::repeat_n(block, bytes / block).chain((last > 0).then_some(last))
}

/// Puts bits together in blocks of so many elements.
pub fn decode(from: &[u8], to: &mut [u8], size: usize, block: usize, spare: &mut Vec<u8>) -> Result<()> {
    ensure!(block > 0 && block.is_multiple_of(STEP), "blocks of {block} elements, which is no multiple of {STEP}");
    let bytes = block * size;
    at_least(spare, bytes.min(to.len()))?;
    let mut at = 0;
    for length in lengths(to.len(), bytes, size) {
        elements(&from[at..at + length], &mut to[at..at + length], size, &mut spare[..length]);
        at += length;
    }
    to[at..].copy_from_slice(&from[at..]);
    Ok(())
}

/// Decompresses blocks, each with its length before it, and puts their bits together.
pub fn decompress(from: &[u8], to: &mut [u8], size: usize, codec: Codec, tools: &mut Tools) -> Result<()> {
    let Tools { codecs, spare } = tools;
    let (bytes, mut from) = blocks::header(from, to.len())?;
    ensure!(bytes > 0 && bytes.is_multiple_of(size * STEP), "blocks of {bytes} bytes for elements of {size}");
    let most = bytes.min(to.len());
    at_least(spare, 2 * most)?;
    let (shuffled, planes) = spare.split_at_mut(most);
    let mut at = 0;
    for length in lengths(to.len(), bytes, size) {
        let (compressed, rest) = blocks::block(from)?;
        codec.decode(compressed, &mut shuffled[..length], codecs)?;
        elements(&shuffled[..length], &mut to[at..at + length], size, &mut planes[..length]);
        from = rest;
        at += length;
    }
    let to = &mut to[at..];
    ensure!(from.len() >= to.len(), "{} bytes are left where {} are needed", from.len(), to.len());
    to.copy_from_slice(&from[..to.len()]);
    Ok(())
}

/// Puts the bits of a multiple of 8 elements together, by way of bytes that are apart.
pub fn elements(from: &[u8], to: &mut [u8], size: usize, planes: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        unsafe { elements_avx2(from, to, size, planes) };
        return;
    }
    elements_anywhere(from, to, size, planes);
}

/// The same, compiled for AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn elements_avx2(from: &[u8], to: &mut [u8], size: usize, planes: &mut [u8]) {
    elements_anywhere(from, to, size, planes);
}

#[inline(always)]
fn elements_anywhere(from: &[u8], to: &mut [u8], size: usize, planes: &mut [u8]) {
    let count = from.len() / size;
    // Elements of one byte need no second step.
    let bytes: &mut [u8] = if size == 1 { to } else { planes };
    for (from, to) in from.chunks_exact(count).zip(bytes.chunks_exact_mut(count)) {
        plane(from, to);
    }
    if size > 1 {
        shuffle::decode_anywhere(planes, to, size);
    }
}

/// Eight rows of bits, the first bit of all bytes first, become bytes.
#[inline(always)]
fn plane(from: &[u8], to: &mut [u8]) {
    /// Bytes of a row at a time.
    const RUN: usize = 32;
    let row = from.len() / 8;
    let whole = row / RUN * RUN;
    for at in (0..whole).step_by(RUN) {
        let mut words = [[0u64; RUN / 8]; 8];
        for (b, words) in words.iter_mut().enumerate() {
            let bytes = &from[b * row + at..b * row + at + RUN];
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_ne_bytes(*bytes);
            }
        }
        transpose(&mut words);
        let mut rows = [[0u8; RUN]; 8];
        for (bytes, words) in rows.iter_mut().zip(&words) {
            for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
                *bytes = word.to_ne_bytes();
            }
        }
        // Bytes k of all rows together, by pairs: what the compiler makes unpacking of. Closures would not be compiled for AVX2.
        let mut pairs = [[0u16; RUN]; 4];
        for (pair, rows) in pairs.iter_mut().zip(rows.as_chunks::<2>().0) {
            for (k, to) in pair.iter_mut().enumerate() {
                *to = u16::from(rows[0][k]) | u16::from(rows[1][k]) << 8;
            }
        }
        let mut fours = [[0u32; RUN]; 2];
        for (four, pairs) in fours.iter_mut().zip(pairs.as_chunks::<2>().0) {
            for (k, to) in four.iter_mut().enumerate() {
                *to = u32::from(pairs[0][k]) | u32::from(pairs[1][k]) << 16;
            }
        }
        for (k, to) in to[8 * at..8 * (at + RUN)].as_chunks_mut::<8>().0.iter_mut().enumerate() {
            *to = (u64::from(fours[0][k]) | u64::from(fours[1][k]) << 32).to_le_bytes();
        }
    }
    for at in whole..row {
        let mut words: [[u64; 1]; 8] = std::array::from_fn(|b| [u64::from(from[b * row + at])]);
        transpose(&mut words);
        for (to, word) in to[8 * at..8 * at + 8].iter_mut().zip(words) {
            *to = word[0] as u8;
        }
    }
}

/// Bits b of the bytes k of eight rows become the bytes k of rows b: squares of 4, 2 and 1 bits change places.
#[inline(always)]
fn transpose<const N: usize>(rows: &mut [[u64; N]; 8]) {
    for (step, mask) in [(4, [0x0f; 8]), (2, [0x33; 8]), (1, [0x55; 8])] {
        let mask = u64::from_ne_bytes(mask);
        for a in (0..8).filter(|a| a & step == 0) {
            let (low, high) = rows.split_at_mut(a + step);
            for (low, high) in low[a].iter_mut().zip(&mut high[0]) {
                let change = ((*low >> step) ^ *high) & mask;
                *low ^= change << step;
                *high ^= change;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, as the format is defined.
    fn plain(from: &[u8], size: usize) -> Vec<u8> {
        let count = from.len() / size;
        let mut to = vec![0; from.len()];
        for row in 0..8 * size {
            for k in 0..count {
                let bit = from[row * (count / 8) + k / 8] >> (k % 8) & 1;
                to[k * size + row / 8] |= bit << (row % 8);
            }
        }
        to
    }

    #[test]
    fn elements_of_all_sizes_on_every_path() {
        for size in [1, 2, 3, 4, 8] {
            for count in [8, 64, 256, 264, 1024 + 24] {
                let from: Vec<u8> = (0..size * count).map(|k| (k * k * 31 + k / 7) as u8).collect();
                let expected = plain(&from, size);
                let (mut to, mut planes) = (vec![0; from.len()], vec![0; from.len()]);
                elements(&from, &mut to, size, &mut planes);
                assert!(to == expected, "{count} elements of {size} bytes");
                to.fill(0);
                elements_anywhere(&from, &mut to, size, &mut planes);
                assert!(to == expected, "{count} elements of {size} bytes, portable");
            }
        }
    }
}
