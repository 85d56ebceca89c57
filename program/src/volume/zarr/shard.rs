//! Chunks in a shard (Zarr 3's `sharding_indexed`): one behind the other, then the place and length of each, then a checksum of these.

use super::super::Compression;
use crate::memory::zeros;
use anyhow::{Context, Result, bail, ensure};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use zstd::bulk::Compressor;

/// Of Zstandard: higher ones take several times as long for noise that hardly becomes smaller.
pub const ZSTD: i32 = 1;
/// The place and length of a chunk that is not there: all of it is zeros.
const MISSING: u64 = u64::MAX;
/// Bytes of a chunk's place and length, and of the checksum.
const PLACE: usize = 16;
const SUM: usize = 4;

thread_local! {
    /// Its tables take a megabyte, and time, to make.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// A chunk as it is stored: nothing, where it holds zeros alone.
pub fn encode(values: &[u8], compression: Compression, to: &mut Vec<u8>) -> Result<()> {
    to.clear();
    if values.iter().all(|v| *v == 0) {
        return Ok(());
    }
    let compress = |to: &mut Vec<u8>| {
        to.reserve(zstd::zstd_safe::compress_bound(values.len()));
        COMPRESSOR.with_borrow_mut(|kept| {
            let compressor = match kept {
                Some(compressor) => compressor,
                None => kept.insert(Compressor::new(ZSTD)?),
            };
            compressor.compress_to_buffer(values, to)
        })
    };
    match compression {
        Compression::None => to.extend_from_slice(values),
        Compression::Zstd => {
            compress(to).context("compressing a chunk")?;
        }
    }
    Ok(())
}

/// What stands behind the chunks.
pub fn places(chunks: &[Vec<u8>]) -> Vec<u8> {
    let mut places = Vec::with_capacity(chunks.len() * PLACE + SUM);
    let mut at = 0;
    for chunk in chunks {
        let length = chunk.len() as u64;
        let [place, length] = if length == 0 { [MISSING; 2] } else { [at, length] };
        places.extend([place, length].into_iter().flat_map(u64::to_le_bytes));
        at += chunk.len() as u64;
    }
    places.extend(crc32c(&places).to_le_bytes());
    places
}

/// The values of a chunk of a shard that has so many.
pub fn decoded(shard: &File, chunk: usize, chunks: usize, bytes: usize, compression: Compression) -> Result<Vec<u8>> {
    let end = shard.metadata()?.len();
    let mut places = zeros(chunks * PLACE + SUM)?;
    let index = end.checked_sub(places.len() as u64).context("the shard is cut off")?;
    shard.read_exact_at(&mut places, index)?;
    let (places, sum) = places.split_at(chunks * PLACE);
    ensure!(crc32c(places).to_le_bytes() == sum, "the shard is damaged");
    let number = |at: usize| places[at..].first_chunk().map_or(MISSING, |bytes| u64::from_le_bytes(*bytes));
    let (place, length) = (number(chunk * PLACE), number(chunk * PLACE + 8));
    if place == MISSING && length == MISSING {
        return zeros(bytes);
    }
    ensure!(place.checked_add(length).is_some_and(|end| end <= index), "the shard is cut off");
    let mut stored = zeros(length as usize)?;
    shard.read_exact_at(&mut stored, place)?;
    let values = match compression {
        Compression::None => stored,
        Compression::Zstd => zstd::bulk::decompress(&stored, bytes).context("decompressing a chunk")?,
    };
    if values.len() != bytes {
        bail!("a chunk has {} bytes in place of {bytes}", values.len());
    }
    Ok(values)
}

/// Castagnoli's cyclic redundancy check.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let step = |sum: u32, _| (sum >> 1) ^ (POLYNOMIAL & (sum & 1).wrapping_neg());
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_of_nine_digits() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn chunks_come_back() {
        for compression in [Compression::None, Compression::Zstd] {
            let values = [vec![7u8; 64], vec![0; 64], (0..64).collect()];
            let encoded = |values: &Vec<u8>| {
                // What was in it before says nothing.
                let mut chunk = vec![9; 3];
                encode(values, compression, &mut chunk).expect("a chunk");
                chunk
            };
            let chunks: Vec<_> = values.iter().map(encoded).collect();
            assert!(chunks[1].is_empty());
            let mut shard = chunks.concat();
            shard.extend(places(&chunks));
            let read = |bytes: &[u8], chunk| {
                let file = tempfile::tempfile().expect("a file");
                file.write_all_at(bytes, 0).expect("written");
                decoded(&file, chunk, 3, 64, compression)
            };
            for (k, values) in values.iter().enumerate() {
                assert_eq!(&read(&shard, k).expect("values"), values);
            }
            let cut = shard.len() - 1;
            assert!(read(&shard[..cut], 0).is_err());
            assert!(read(&shard[..10], 0).is_err());
            shard[cut - 30] ^= 1;
            assert!(read(&shard, 0).is_err());
        }
    }
}
