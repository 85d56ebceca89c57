//! LZF, the compression of h5py's own filter: literals, and repetitions of what came at most 8192 bytes before.

use super::copy::repeat;
use anyhow::{Context, Result, ensure};

/// Decodes all of `from`; the number of bytes.
pub fn decode(mut from: &[u8], to: &mut [u8]) -> Result<usize> {
    let mut at = 0;
    while let Some((&control, rest)) = from.split_first() {
        from = rest;
        let control = usize::from(control);
        if control < 32 {
            let (literals, rest) = from.split_at_checked(control + 1).context("literals end too early")?;
            let to = to.get_mut(at..at + literals.len()).context("more is decoded than there is room for")?;
            to.copy_from_slice(literals);
            at += literals.len();
            from = rest;
            continue;
        }
        let mut next = || -> Result<usize> {
            let (&byte, rest) = from.split_first().context("a repetition ends too early")?;
            from = rest;
            Ok(usize::from(byte))
        };
        let length = match control >> 5 {
            7 => 9 + next()?,
            short => short + 2,
        };
        let back = ((control & 31) << 8 | next()?) + 1;
        ensure!(length <= to.len() - at, "more is decoded than there is room for");
        repeat(to, at, back, length)?;
        at += length;
    }
    Ok(at)
}
