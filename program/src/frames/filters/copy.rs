//! Repetition of bytes that were decoded before, as all Lempel-Ziv codes have it.

use anyhow::{Result, ensure};

/// Writes `length` bytes from `at` on, each as the one `back` bytes before it; they may overlap.
pub fn repeat(to: &mut [u8], at: usize, back: usize, length: usize) -> Result<()> {
    ensure!(0 < back && back <= at, "a repetition begins before the data");
    ensure!(length <= to.len() - at, "more is decoded than there is room for");
    if length <= back {
        to.copy_within(at - back..at - back + length, at);
    } else if back == 1 {
        let byte = to[at - 1];
        to[at..at + length].fill(byte);
    } else {
        for k in at..at + length {
            to[k] = to[k - back];
        }
    }
    Ok(())
}
