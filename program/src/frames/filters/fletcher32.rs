//! Fletcher's checksum over 16-bit words, as HDF5 has it at the end of a chunk.

use anyhow::{Result, ensure};

/// Of a checksum.
pub const BYTES: usize = 4;

/// The data in front of a checksum that is right.
pub fn checked(from: &[u8]) -> Result<&[u8]> {
    let Some((data, &stored)) = from.split_last_chunk::<BYTES>() else {
        anyhow::bail!("{} bytes are too few for a checksum", from.len());
    };
    let (stored, sum) = (u32::from_le_bytes(stored), sum(data));
    // HDF5 until 1.6.2 swapped the bytes of each half on some machines.
    let swapped = (sum & 0x00ff_00ff) << 8 | (sum >> 8) & 0x00ff_00ff;
    ensure!(stored == sum || stored == swapped, "the checksum is {stored:08x}, of these data it is {sum:08x}");
    Ok(data)
}

fn sum(data: &[u8]) -> u32 {
    // So many words fit into 32 bits before they have to be folded.
    const WORDS: usize = 360;
    let (mut low, mut high) = (0u32, 0u32);
    let fold = |v: u32| (v & 0xffff) + (v >> 16);
    for run in data.chunks(2 * WORDS) {
        let (words, rest) = run.as_chunks::<2>();
        for &word in words {
            low += u32::from(u16::from_be_bytes(word));
            high += low;
        }
        if let [last] = rest {
            low += u32::from(*last) << 8;
            high += low;
        }
        (low, high) = (fold(low), fold(high));
    }
    fold(high) << 16 | fold(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published example: "abcde" as little-endian words has f04fc729, as big-endian ones, padded, this.
    #[test]
    fn sums_words_of_two_bytes() {
        // 0x6162, 0x6364, 0x6500 modulo 65535: their sum, and the sum of the sums.
        let (a, b, c) = (0x6162u32, 0x6364, 0x6500);
        let low = (a + b + c) % 65535;
        let high = (3 * a + 2 * b + c) % 65535;
        assert_eq!(sum(b"abcde"), high << 16 | low);
    }
}
