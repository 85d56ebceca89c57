//! Lines longer than a block takes, in two steps of shorter lines: factors and tables. Mirrors `kernels/common/fft_long.cuh`.

use super::line::{Line, MAX_LENGTH, roots};
use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory, Function, Precision, mirrored};
use std::sync::Arc;

/// Longest line: all products of 2, 3, 5 and 7 up to it have two factors up to [`MAX_LENGTH`].
const LONGEST: usize = 1 << 22;
/// Longest line of which 96 KB take 64 bytes of each position, at either precision.
const WIDE: usize = 1365;

/// Mirrors `FftStep`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DeviceStep {
    roots: u64,
    length: i32,
    others: i32,
}
mirrored!(DeviceStep, 16);

/// One of the two steps.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub line: &'a Line,
    /// How many of them make a long line.
    pub others: usize,
    /// The kernels' own description, valid as long as the long line.
    pub arguments: DeviceStep,
    /// The step of a pass.
    pub(super) kernel: &'a Function,
}

impl Step<'_> {
    /// Places of scratch memory from one of a long line's `others` to the next, and from one element to the next. The step that is
    /// in place has elements where the long line has them; in the other step they are neighbours.
    pub fn places(&self, in_place: bool) -> [usize; 2] {
        if in_place { [1, self.others] } else { [self.line.length(), 1] }
    }
}

/// Long lines of one length, ready to be transformed.
#[derive(Debug)]
pub struct LongLine {
    /// Of the first step and of the second one.
    lines: [Line; 2],
    kernels: [Function; 2],
    /// Of one: exp(-2 pi i k / length).
    roots: DeviceMemory,
}

impl LongLine {
    pub(super) fn new(device: &Arc<Device>, length: usize, precision: Precision) -> Result<Self> {
        match split(length) {
            Some(lengths) => Self::of(device, lengths, precision),
            None => fail!(
                OutOfRange,
                "a transform of length {length} is not for the GPU: it takes products of 2, 3, 5 and 7 from 2 to {LONGEST}"
            ),
        }
    }

    /// With lines of these lengths in the two steps.
    pub(super) fn of(device: &Arc<Device>, [first, second]: [usize; 2], precision: Precision) -> Result<Self> {
        let kernel =
            |step| device.function(&crate::images::FFT_LONG, &format!("fft_long_{step}_{}", precision.suffix()));
        Ok(Self {
            lines: [Line::new(device, first, precision)?, Line::new(device, second, precision)?],
            kernels: [kernel("first")?, kernel("second")?],
            roots: DeviceMemory::from_slice(device, &roots(first * second, precision))?,
        })
    }

    /// How often lines of a length go through registers, shared memory in between, or through global memory between the steps, once
    /// there and once back; None for a length that is none.
    pub(super) fn passes(length: usize) -> Option<usize> {
        let [first, second] = split(length)?;
        Some(Line::passes(first)? + Line::passes(second)? + 2)
    }

    pub fn length(&self) -> usize {
        self.lines.iter().map(Line::length).product()
    }

    pub fn steps(&self) -> [Step<'_>; 2] {
        let length = self.length();
        [0, 1].map(|i| {
            let (line, kernel) = (&self.lines[i], &self.kernels[i]);
            let others = length / line.length();
            let arguments = DeviceStep { roots: self.roots.address(), length: length as i32, others: others as i32 };
            Step { line, others, arguments, kernel }
        })
    }
}

/// Lengths of the two steps' lines: blocks wide enough, then passes few, then lengths alike. None if there are none.
fn split(length: usize) -> Option<[usize; 2]> {
    if length > LONGEST {
        return None;
    }
    let rank = |second: usize| {
        let first = length / second;
        let passes = Line::passes(first)? + Line::passes(second)?;
        (first <= MAX_LENGTH).then_some(((first > WIDE, passes, first), [first, second]))
    };
    // The first step has the longer lines.
    let seconds = (2..=length.isqrt()).filter(|n| length.is_multiple_of(*n));
    seconds.filter_map(rank).min().map(|(_, lengths)| lengths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::fft::line::shared_bytes;

    /// Products of 2, 3, 5 and 7 up to a limit.
    fn products(limit: usize) -> Vec<usize> {
        let mut all = vec![1];
        for p in [2, 3, 5, 7] {
            let mut next = 0;
            while let Some(n) = all.get(next).copied() {
                if n * p <= limit {
                    all.push(n * p);
                }
                next += 1;
            }
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn all_products_are_split() {
        for n in products(LONGEST).into_iter().filter(|n| *n > MAX_LENGTH) {
            let [first, second] = split(n).unwrap_or_else(|| panic!("{n}"));
            assert_eq!(first * second, n);
            assert!(second <= first && first <= MAX_LENGTH, "{n}: {first}, {second}");
            assert!(LongLine::passes(n).is_some(), "{n}");
        }
        for n in [0, 1, 2, 11 * 4096, 2 * LONGEST] {
            assert_eq!(split(n), None);
        }
    }

    /// 32 bytes of each position up to 2^20, and 64 where lengths are those of large images.
    #[test]
    fn blocks_are_wide() {
        for n in products(1 << 20).into_iter().filter(|n| *n > MAX_LENGTH) {
            let [first, _] = split(n).unwrap_or_else(|| panic!("{n}"));
            let bytes = if n <= 150_000 { 64 } else { 32 };
            for precision in [Precision::F32, Precision::F64] {
                let shared = shared_bytes(bytes / precision.complex() * first, precision);
                assert!(shared <= 96 << 10, "{n}: {first}, {precision:?}");
            }
        }
    }

    #[test]
    fn passes_are_few_and_lengths_alike() {
        assert_eq!(split(65_536), Some([256, 256]));
        assert_eq!(split(32_768), Some([256, 128]));
        assert_eq!(split(46_080), Some([240, 192]));
        assert_eq!(split(1 << 20), Some([1024, 1024]));
        assert_eq!(LongLine::passes(65_536), Some(2 + 2 + 2));
    }
}
