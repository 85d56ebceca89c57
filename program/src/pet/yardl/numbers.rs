//! Long lists of numbers of 7 bits a byte, on all cores.

use super::{Stream, damaged};
use anyhow::Result;
use rayon::prelude::*;

/// Bytes that are looked at together, and those of a chunk.
const WINDOW: usize = 1 << 22;
const CHUNK: usize = 1 << 13;
/// Chunks of a task: their numbers, each of which begins where the one before ends, are decoded in turns, so that none waits for another.
const LANES: usize = 4;
const MANY: usize = LANES * CHUNK;
/// Bytes whose last ones of numbers are counted in a byte.
const COUNTED: usize = 128;
/// Bytes of a number, at most.
const LONGEST: usize = 10;
/// Of most numbers, at most.
const USUAL: usize = 3;
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
    /// Of a window's first bytes, as far as so many numbers need them.
    fn of(window: &[u8], wanted: usize) -> Self {
        let most = wanted.saturating_mul(LONGEST).min(window.len());
        let (mut ends, mut seen) = (Self { chunks: Vec::new(), count: 0 }, 0);
        while ends.count < wanted && seen < most {
            let more = (wanted - ends.count).saturating_mul(USUAL).next_multiple_of(CHUNK).min(most - seen);
            // Whole chunks, but for the last one of all.
            let more = if seen + more < most { more / CHUNK * CHUNK } else { more };
            ends.count_in(&window[seen..seen + more]);
            seen += more;
        }
        ends
    }

    fn count_in(&mut self, bytes: &[u8]) {
        let few = |bytes: &[u8]| bytes.iter().map(|byte| u8::from(*byte < LAST)).sum::<u8>();
        let count = |chunk: &[u8]| chunk.chunks(COUNTED).map(|bytes| usize::from(few(bytes))).sum();
        let chunks: Vec<usize> = match bytes.len() {
            // One alone is no work for several.
            0..=MANY => bytes.chunks(CHUNK).map(count).collect(),
            _ => bytes.par_chunks(CHUNK).with_min_len(LANES).map(count).collect(),
        };
        self.count += chunks.iter().sum::<usize>();
        self.chunks.extend(chunks);
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
    let (mut rest, mut chunks) = (to, Vec::with_capacity(starts.len()));
    for (k, pair) in starts.windows(2).enumerate() {
        let (own, others) = rest.split_at_mut(pair[1] - pair[0]);
        chunks.push(Chunk { at: begin(bytes, k * CHUNK), to: own });
        rest = others;
    }
    let all = |chunks: &mut [Chunk]| match chunks {
        [a, b, c, d] => in_turns(bytes, [a, b, c, d]),
        few => few.iter_mut().map(|chunk| chunk.rest(bytes, 0)).fold(true, |a, b| a & b),
    };
    // One alone is no work for several.
    match chunks.len() {
        0..=LANES => all(&mut chunks),
        _ => chunks.par_chunks_mut(LANES).map(all).reduce(|| true, |a, b| a & b),
    }
}

/// Where the first number begins that ends from a byte on.
fn begin(bytes: &[u8], from: usize) -> usize {
    bytes[..from].iter().rposition(|byte| *byte < LAST).map_or(0, |at| at + 1)
}

/// Numbers from a byte on, and where they go.
struct Chunk<'a> {
    at: usize,
    to: &'a mut [u32],
}

impl Chunk<'_> {
    #[inline(always)]
    fn one(&mut self, bytes: &[u8], k: usize) -> bool {
        let (value, length) = match bytes.get(self.at..self.at + 8) {
            Some(eight) => number(u64::from_le_bytes(eight.try_into().unwrap_or_default())),
            None => {
                let rest = bytes.get(self.at..).unwrap_or_default();
                let mut eight = [0; 8];
                eight[..rest.len()].copy_from_slice(rest);
                number(u64::from_le_bytes(eight))
            }
        };
        self.to[k] = value as u32;
        self.at += length;
        (length <= 5) & (value <= u64::from(u32::MAX))
    }

    /// All from a number on.
    fn rest(&mut self, bytes: &[u8], first: usize) -> bool {
        (first..self.to.len()).fold(true, |is_right, k| is_right & self.one(bytes, k))
    }
}

fn in_turns(bytes: &[u8], mut chunks: [&mut Chunk; LANES]) -> bool {
    let common = chunks.iter().map(|chunk| chunk.to.len()).min().unwrap_or(0);
    let mut is_right = true;
    for k in 0..common {
        for chunk in &mut chunks {
            is_right &= chunk.one(bytes, k);
        }
    }
    chunks.into_iter().fold(is_right, |is_right, chunk| is_right & chunk.rest(bytes, common))
}

/// The first number of 8 bytes, and its length: 9 where it is longer.
#[inline(always)]
fn number(eight: u64) -> (u64, usize) {
    let ends = (!eight & 0x8080_8080_8080_8080).trailing_zeros();
    let own = eight & (u64::MAX >> (63 - ends.min(63)));
    let value =
        own & 0x7f | own >> 1 & 0x3f80 | own >> 2 & 0x1f_c000 | own >> 3 & 0xfe0_0000 | own >> 4 & 0x7_f000_0000;
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
