//! BloscLZ, the compression of Blosc's own: literals, and repetitions of what came before, near or far.

use super::copy::repeat;
use anyhow::{Context, Result};

/// The largest distance of a near repetition.
const NEAR: usize = 8191;

/// Decodes all of `from`; the number of bytes.
pub fn decode(from: &[u8], to: &mut [u8]) -> Result<usize> {
    let mut from = from.iter().copied().map(usize::from);
    let mut at = 0;
    // The first byte's high bits say what the encoder did, not what follows.
    let mut control = from.next().context("there is nothing")? & 31;
    loop {
        if control < 32 {
            for _ in 0..=control {
                let literal = from.next().context("literals end too early")?;
                *to.get_mut(at).context("more is decoded than there is room for")? = literal as u8;
                at += 1;
            }
        } else {
            let mut next = || from.next().context("a repetition ends too early");
            let mut length = (control >> 5) + 2;
            if length == 9 {
                loop {
                    let more = next()?;
                    length += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let low = next()?;
            let back = match (control & 31) << 8 | low {
                NEAR => NEAR + (next()? << 8 | next()?),
                near => near,
            };
            repeat(to, at, back + 1, length)?;
            at += length;
        }
        let Some(next) = from.next() else { return Ok(at) };
        control = next;
    }
}
