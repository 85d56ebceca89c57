//! Files in gzip's format.

use anyhow::{Context, Result, bail};
use libdeflater::{CompressionLvl, Compressor, DecompressionError, Decompressor};

/// Bytes that one can become, at most.
const RATIO: usize = 1032;
const FIRST: usize = 1 << 16;

pub fn is(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// What was packed. As much memory is taken as what is unpacked needs, not as the file says.
pub fn unpacked(bytes: &[u8]) -> Result<Vec<u8>> {
    let most = bytes.len().saturating_mul(RATIO);
    let mut size = FIRST.max(4 * bytes.len()).min(most);
    loop {
        let mut made = crate::memory::zeros(size)?;
        match Decompressor::new().gzip_decompress(bytes, &mut made) {
            Ok(count) => {
                made.truncate(count);
                return Ok(made);
            }
            Err(DecompressionError::InsufficientSpace) if size < most => size = size.saturating_mul(2).min(most),
            Err(_) => bail!("its gzip data are damaged"),
        }
    }
}

pub fn packed(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut compressor = Compressor::new(CompressionLvl::default());
    let mut made = crate::memory::zeros(compressor.gzip_compress_bound(bytes.len()))?;
    let count = compressor.gzip_compress(bytes, &mut made).context("packing by gzip")?;
    made.truncate(count);
    Ok(made)
}
