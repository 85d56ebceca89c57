//! PackBits: literals and runs, each behind a byte that tells which and how many.

use anyhow::{Context, Result};

/// Decodes up to as many bytes as `to` has; how many they are.
pub fn decode(from: &[u8], to: &mut [u8]) -> Result<usize> {
    let (mut from, mut done) = (from, 0);
    while let (Some((&head, rest)), true) = (from.split_first(), done < to.len()) {
        from = rest;
        let left = to.len() - done;
        match head as i8 {
            -128 => {}
            count @ 0.. => {
                let (values, rest) = rest.split_at_checked(count as usize + 1).context("it ends within literals")?;
                let count = values.len().min(left);
                to[done..done + count].copy_from_slice(&values[..count]);
                (from, done) = (rest, done + count);
            }
            count => {
                let (&value, rest) = rest.split_first().context("it ends within a run")?;
                let count = (1 - isize::from(count)) as usize;
                let count = count.min(left);
                to[done..done + count].fill(value);
                (from, done) = (rest, done + count);
            }
        }
    }
    Ok(done)
}
