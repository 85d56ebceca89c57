//! Blosc 1: blocks, of which each is split by the bytes of its elements or not, shuffled by bytes or bits, and compressed.

use super::{Codec, Tools, bitshuffle, shuffle};
use crate::memory::at_least;
use anyhow::{Context, Result, bail, ensure};

/// Bytes in front of the blocks' places.
const HEADER: usize = 16;

/// Flags of the header.
const SHUFFLED: u8 = 1;
const COPIED: u8 = 2;
const BITSHUFFLED: u8 = 4;
const NOT_SPLIT: u8 = 16;

/// Only elements up to this size are split, and blocks with as many elements.
const LARGEST_SPLIT: usize = 16;
const FEWEST_SPLIT: usize = 128;

fn number(from: &[u8], at: usize) -> Result<usize> {
    let bytes = from.get(at..).and_then(|from| from.first_chunk::<4>()).context("the data end too early")?;
    Ok(u32::from_le_bytes(*bytes) as usize)
}

/// Decodes a buffer of Blosc.
pub fn decode(from: &[u8], to: &mut [u8], tools: &mut Tools) -> Result<()> {
    let Tools { codecs, spare } = tools;
    let &[version, _, flags, size, ..] = from else { bail!("the data end too early") };
    ensure!(version <= 2, "format {version} of Blosc; up to 2 are known");
    let (total, block, size) = (number(from, 4)?, number(from, 8)?, usize::from(size).max(1));
    ensure!(total == to.len(), "the header tells of {total} bytes where {} are needed", to.len());
    if flags & COPIED != 0 {
        let data = from.get(HEADER..HEADER + total).context("the data end too early")?;
        to.copy_from_slice(data);
        return Ok(());
    }
    let codec = match flags >> 5 {
        0 => Codec::BloscLz,
        1 => Codec::Lz4,
        3 => Codec::Deflate,
        4 => Codec::Zstd,
        other => bail!("compressor {other} of Blosc, which is not known"),
    };
    ensure!(block > 0 || to.is_empty(), "blocks of 0 bytes");
    let most = block.min(to.len());
    at_least(spare, 2 * most)?;
    let (shuffled, planes) = spare.split_at_mut(most);
    for (k, to) in to.chunks_mut(block.max(1)).enumerate() {
        let length = to.len();
        let split = flags & NOT_SPLIT == 0 && length == block && size <= LARGEST_SPLIT && block / size >= FEWEST_SPLIT;
        let by_bytes = flags & SHUFFLED != 0 && size > 1;
        let by_bits = flags & BITSHUFFLED != 0 && length >= size && (length / size).is_multiple_of(8);
        let shuffled = &mut shuffled[..length];
        let target: &mut [u8] = if by_bytes || by_bits { &mut *shuffled } else { &mut *to };
        let mut at = number(from, HEADER + 4 * k)?;
        for part in target.chunks_mut(if split { length / size } else { length }) {
            let compressed = number(from, at)?;
            let data = from.get(at + 4..).and_then(|from| from.get(..compressed)).context("a block ends too early")?;
            // What does not become shorter stays as it is.
            if compressed == part.len() {
                part.copy_from_slice(data);
            } else {
                codec.decode(data, part, codecs)?;
            }
            at += 4 + compressed;
        }
        if by_bytes {
            shuffle::decode(shuffled, to, size);
        } else if by_bits {
            let whole = length / size * size;
            bitshuffle::elements(&shuffled[..whole], &mut to[..whole], size, &mut planes[..whole]);
            to[whole..].copy_from_slice(&shuffled[whole..]);
        }
    }
    Ok(())
}
