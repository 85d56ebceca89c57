//! Long lists of numbers of 7 bits a byte, on all cores.

use super::{Stream, damaged};
use anyhow::Result;
use rayon::prelude::*;

/// Bytes that are looked at together, and those of a task.
const WINDOW: usize = 1 << 22;
const CHUNK: usize = 1 << 15;
/// Bytes of a number, at most.
const LONGEST: usize = 10;
/// The last byte of a number has its highest bit clear.
const LAST: u8 = 128;

impl Stream {
    /// Reads rows of so many numbers of 32 bits into a buffer that has room for one at least: as many as it has room for, `most` and those at hand. Gives how many rows they are.
    pub fn rows(&mut self, columns: usize, most: u64, to: &mut [u32]) -> Result<usize> {
        let wanted = (to.len() / columns).min(usize::try_from(most).unwrap_or(usize::MAX));
        loop {
            self.window()?;
            let window = self.seen();
            let ends = Ends::of(window, wanted * columns);
            let rows = (ends.count / columns).min(wanted);
            if rows == 0 && wanted > 0 {
                // A row that is not whole needs more bytes, which there may be.
                if window.len() > LONGEST * columns {
                    damaged!("a number of more than {LONGEST} bytes at byte {}", self.place());
                }
                let more = window.len() + 1;
                self.fill(more)?;
                continue;
            }
            let (end, starts) = ends.up_to(window, rows * columns);
            let is_right = decode(&window[..end], &starts, &mut to[..rows * columns]);
            if !is_right {
                damaged!("a number of more than 32 bits after byte {}", self.place());
            }
            self.pass(end);
            return Ok(rows);
        }
    }

    /// Goes on after so many numbers.
    pub(super) fn skip_wholes(&mut self, mut count: u64) -> Result<()> {
        while count > 0 {
            self.window()?;
            let window = self.seen();
            if window.is_empty() {
                self.fill(1)?;
                continue;
            }
            let wanted = usize::try_from(count).unwrap_or(usize::MAX);
            let ends = Ends::of(window, wanted);
            let (all, seen) = (ends.count.min(wanted), window.len());
            if ends.count < wanted && wanted.saturating_mul(LONGEST) <= seen {
                damaged!("a number of more than {LONGEST} bytes after byte {}", self.place());
            }
            let end = if ends.count < wanted { seen } else { ends.up_to(window, wanted).0 };
            self.pass(end);
            count -= all as u64;
            if count > 0 {
                self.fill(1)?;
            }
        }
        Ok(())
    }

    /// Brings as many bytes as are looked at together, or all that there are.
    fn window(&mut self) -> Result<()> {
        let count = (WINDOW as u64).min(self.left()) as usize;
        // Those that are there are used up first: what is brought is not moved about for a few bytes.
        if self.seen().len() < count / 4 { self.fill(count) } else { Ok(()) }
    }
}

/// Ends of numbers in bytes: how many each chunk has.
struct Ends {
    chunks: Vec<usize>,
    /// In all.
    count: usize,
}

impl Ends {
    /// Of a window's first bytes, as far as so many numbers need them at least.
    fn of(window: &[u8], wanted: usize) -> Self {
        let needed = wanted.saturating_mul(LONGEST).min(window.len());
        let count = |chunk: &[u8]| chunk.iter().filter(|byte| **byte < LAST).count();
        let chunks: Vec<_> = window[..needed].par_chunks(CHUNK).map(count).collect();
        Self { count: chunks.iter().sum(), chunks }
    }

    /// Behind which byte so many numbers end, and how many there are before each chunk up to there and in all.
    fn up_to(&self, window: &[u8], wanted: usize) -> (usize, Vec<usize>) {
        let (mut before, mut starts) = (0, vec![0]);
        for (k, count) in self.chunks.iter().enumerate() {
            if before + count >= wanted {
                let missing = wanted - before;
                let mut ends = window[k * CHUNK..].iter().enumerate().filter(|(_, byte)| **byte < LAST);
                let end = missing.checked_sub(1).and_then(|k| ends.nth(k)).map_or(0, |(at, _)| at + 1);
                starts.push(wanted);
                return (k * CHUNK + end, starts);
            }
            before += count;
            starts.push(before);
        }
        (window.len(), starts)
    }
}

/// Numbers of bytes that end with one, chunk by chunk; whether all have 32 bits at most.
fn decode(bytes: &[u8], starts: &[usize], to: &mut [u32]) -> bool {
    let mut rest = to;
    let mut tasks = Vec::with_capacity(starts.len());
    for (k, pair) in starts.windows(2).enumerate() {
        let (own, others) = rest.split_at_mut(pair[1] - pair[0]);
        tasks.push((k * CHUNK, own));
        rest = others;
    }
    tasks.into_par_iter().map(|(from, own)| chunk(bytes, from, own)).reduce(|| true, |a, b| a && b)
}

/// Numbers that end from a byte on.
fn chunk(bytes: &[u8], from: usize, to: &mut [u32]) -> bool {
    // The first may begin before.
    let mut at = from;
    while at > 0 && bytes[at - 1] >= LAST {
        at -= 1;
    }
    let mut is_right = true;
    for to in to {
        let (value, length) = match bytes.get(at..at + 8) {
            Some(eight) => number(u64::from_le_bytes(eight.try_into().unwrap_or_default())),
            None => {
                let mut eight = [0; 8];
                let rest = &bytes[at..];
                eight[..rest.len()].copy_from_slice(rest);
                number(u64::from_le_bytes(eight))
            }
        };
        is_right &= length <= 5 && value <= u64::from(u32::MAX);
        *to = value as u32;
        at += length;
        if at > bytes.len() {
            return false;
        }
    }
    is_right
}

/// The first number of 8 bytes, and its length: 9 where it is longer.
#[inline(always)]
fn number(eight: u64) -> (u64, usize) {
    let ends = (!eight & 0x8080_8080_8080_8080).trailing_zeros();
    let own = eight & (u64::MAX >> (63 - ends.min(63)));
    let value = own & 0x7f
        | own >> 1 & 0x3f80
        | own >> 2 & 0x1f_c000
        | own >> 3 & 0xfe0_0000
        | own >> 4 & 0x7_f000_0000;
    (value, ends as usize / 8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn coded(values: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for value in values {
            let mut rest = *value;
            while rest >= 128 {
                bytes.push(rest as u8 | 128);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        bytes
    }

    fn stream(bytes: &[u8]) -> (tempfile::NamedTempFile, Stream) {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(bytes).expect("written");
        let stream = Stream::open(file.path()).expect("a stream");
        (file, stream)
    }

    /// Of all lengths, across chunks and windows.
    #[test]
    fn numbers_are_as_they_were() {
        let values: Vec<u64> = (0..1_500_000u64).map(|k| (k * 0x9e37_79b9) >> (k % 33) & 0xffff_ffff).collect();
        let bytes = coded(&values);
        assert!(bytes.len() > WINDOW);
        let (_file, mut all) = stream(&bytes);
        let (mut read, mut buffer) = (Vec::new(), vec![0; 300_000]);
        while read.len() < values.len() {
            let rows = all.rows(3, (values.len() - read.len()) as u64 / 3, &mut buffer).expect("rows");
            assert!(rows > 0);
            read.extend_from_slice(&buffer[..3 * rows]);
        }
        assert!(read.iter().zip(&values).all(|(a, b)| u64::from(*a) == *b));
        assert_eq!(all.left(), 0);
        let (_file, mut all) = stream(&bytes);
        all.skip_wholes(values.len() as u64 - 1).expect("skipped");
        assert_eq!(all.whole(32).expect("a number"), values[values.len() - 1]);
        assert!(all.skip_wholes(1).is_err());
    }

    #[test]
    fn what_is_no_number() {
        for (bytes, word) in [
            (coded(&[1, 2, 1 << 32]), "32 bits"),
            ([&[0x80; 31][..], &[0]].concat(), "10 bytes"),
            (coded(&[1, 2]), "its end"),
            (vec![1, 0x80, 0x80, 0x80, 0x80, 0x80, 0, 1], "32 bits"),
            (vec![0xff, 0xff, 0xff], "its end"),
        ] {
            let (_file, mut all) = stream(&bytes);
            let error = all.rows(3, 9, &mut [0; 9]).expect_err("refused").to_string();
            assert!(error.contains(word), "{bytes:?}: {error}");
        }
    }
}
