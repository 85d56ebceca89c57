//! LZW as TIFF has it.

use anyhow::Result;
use weezl::decode::Configuration;
use weezl::{BitOrder, LzwStatus};

/// Decodes up to as many bytes as `to` has; how many they are.
pub fn decode(from: &[u8], to: &mut [u8]) -> Result<usize> {
    let configuration = Configuration::with_tiff_size_switch(BitOrder::Msb, 8).with_yield_on_full_buffer(true);
    let mut decoder = configuration.build();
    let (mut from, mut done) = (from, 0);
    while done < to.len() {
        let part = decoder.decode_bytes(from, &mut to[done..]);
        from = &from[part.consumed_in..];
        done += part.consumed_out;
        // The end code may be missing.
        if !matches!(part.status?, LzwStatus::Ok) {
            break;
        }
    }
    Ok(done)
}
