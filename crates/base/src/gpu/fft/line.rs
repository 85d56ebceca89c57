//! Transforms of lines of one length: factors, tables, and how many lines a block takes. Mirrors `kernels/common/fft_lines.cuh`.

use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory, Precision, mirrored};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Longest line that any GPU's shared memory takes at either precision.
pub const MAX_LENGTH: usize = 4096;
/// Longest line that some GPU's shared memory takes, in f32. Places in it are counted in 16 bits.
const LONGEST: usize = 27_347;
/// Of butterflies, the largest first: passes that read global memory have much on the way then.
const RADICES: [usize; 11] = [16, 12, 10, 9, 8, 7, 6, 5, 4, 3, 2];
/// The largest.
pub const MAX_RADIX: usize = RADICES[0];
const MAX_PASSES: usize = 6;
/// Shared memory of which a multiprocessor has three times as much.
const THIRD: usize = 74 << 10;

/// Mirrors `FftPass`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct DevicePass {
    radix: i32,
    stride: i32,
    count: i32,
    step: i32,
    by_stride: u32,
    by_count: u32,
}
mirrored!(DevicePass, 24);

/// Mirrors `FftLine`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceLine {
    roots: u64,
    order: u64,
    length: i32,
    passes: i32,
    pass: [DevicePass; MAX_PASSES],
}
mirrored!(DeviceLine, 168);

/// Mirrors `FftWindow`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceWindow {
    stride: i32,
    start: i32,
    count: i32,
    whole: i32,
}
mirrored!(DeviceWindow, 16);

/// The part of a line that an array holds or that is wanted: `count` positions from `start` on, cyclically.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub start: usize,
    pub count: usize,
    /// The array has room for all positions; if not, it begins with the one at `start`.
    pub whole: bool,
}

impl Window {
    /// All positions.
    pub fn all(length: usize) -> Self {
        Self { start: 0, count: length, whole: true }
    }

    /// An array of the first positions.
    pub fn first(count: usize) -> Self {
        Self { start: 0, count, whole: false }
    }

    /// An array whose element `count` / 2 is at position 0.
    pub fn centred(count: usize, length: usize) -> Self {
        Self { start: (length - count / 2) % length, count, whole: false }
    }

    pub fn device(&self, stride: usize) -> Result<DeviceWindow> {
        let Ok(stride) = i32::try_from(stride) else {
            fail!(OutOfRange, "a grid with {stride} elements between neighbours is too large for the GPU's transforms");
        };
        Ok(DeviceWindow { stride, start: self.start as i32, count: self.count as i32, whole: i32::from(self.whole) })
    }
}

/// Launch shape: lines and threads of a block, and the shared memory that they take.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub width: usize,
    pub threads: usize,
    pub shared: usize,
}

/// Lines of one length, ready to be transformed.
#[derive(Debug)]
pub struct Line {
    device: Arc<Device>,
    precision: Precision,
    factors: Vec<usize>,
    /// Roots of one, then the order: what `line` points to.
    _tables: DeviceMemory,
    line: DeviceLine,
}

/// Shared memory of so many elements, with gaps.
pub(super) fn shared_bytes(elements: usize, precision: Precision) -> usize {
    match precision {
        Precision::F32 => (elements + elements / 16) * 8,
        Precision::F64 => (elements + elements / 8) * 16,
    }
}

/// exp(-2 pi i k / length) for all k < length, as kernels read them.
pub(super) fn roots(length: usize, precision: Precision) -> Vec<u8> {
    let mut bytes = Vec::new();
    for k in 0..length {
        let (sin, cos) = root(k, length);
        match precision {
            Precision::F32 => [cos as f32, -sin as f32].iter().for_each(|v| bytes.extend(v.to_ne_bytes())),
            Precision::F64 => [cos, -sin].iter().for_each(|v| bytes.extend(v.to_ne_bytes())),
        }
    }
    bytes
}

impl Line {
    pub fn new(device: &Arc<Device>, length: usize, precision: Precision) -> Result<Self> {
        Self::with_radices_up_to(MAX_RADIX, device, length, precision)
    }

    /// The same by radices up to the largest, where so few passes as there may be suffice for it: more passes, with more threads.
    pub fn with_radices_up_to(
        max_radix: usize,
        device: &Arc<Device>,
        length: usize,
        precision: Precision,
    ) -> Result<Self> {
        let longest = Self::longest(device, precision);
        let factors = match factors(length, max_radix).or_else(|| factors(length, MAX_RADIX)) {
            Some(factors) if (2..=longest).contains(&length) => factors,
            _ => fail!(
                OutOfRange,
                "a transform of length {length} is not for the GPU: it takes products of 2, 3, 5 and 7 from 2 to {longest}"
            ),
        };
        let mut bytes = roots(length, precision);
        let order_at = bytes.len() as u64;
        order(&factors).iter().for_each(|v| bytes.extend(v.to_ne_bytes()));
        let tables = DeviceMemory::from_slice(device, &bytes)?;
        let mut pass = [DevicePass::default(); MAX_PASSES];
        let mut rest = length;
        for (pass, &radix) in pass.iter_mut().zip(&factors) {
            let (step, stride, count) = (length / rest, rest / radix, length / radix);
            let [radix, stride_i32, count_i32, step] = [radix, stride, count, step].map(|n| n as i32);
            let (by_stride, by_count) = (divisor(stride), divisor(count));
            *pass = DevicePass { radix, stride: stride_i32, count: count_i32, step, by_stride, by_count };
            rest = stride;
        }
        let line = DeviceLine {
            roots: tables.address(),
            order: tables.address() + order_at,
            length: length as i32,
            passes: factors.len() as i32,
            pass,
        };
        Ok(Self { device: device.clone(), precision, factors, _tables: tables, line })
    }

    /// Longest line that a block of this GPU transforms.
    pub(super) fn longest(device: &Device, precision: Precision) -> usize {
        let room = device.shared_bytes();
        (MAX_LENGTH..=LONGEST).rev().find(|n| shared_bytes(*n, precision) <= room).unwrap_or(MAX_LENGTH)
    }

    /// How often lines of a length go through shared memory or past it; None for a length that is no block's.
    pub fn passes(length: usize) -> Option<usize> {
        factors(length, MAX_RADIX).filter(|_| length <= LONGEST).map(|f| f.len())
    }

    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    pub fn precision(&self) -> Precision {
        self.precision
    }

    pub fn length(&self) -> usize {
        self.line.length as usize
    }

    /// The kernels' own description, valid as long as this.
    pub fn arguments(&self) -> DeviceLine {
        self.line
    }

    /// For lines along the fastest axis.
    pub fn along(&self) -> Shape {
        let width = (4096 / self.length()).clamp(1, 16);
        self.shape(width)
    }

    /// For lines across the fastest axis, side by side: 128 bytes of each position where shared memory still takes a few blocks,
    /// not less than 32 bytes where it takes one.
    pub fn across(&self) -> Shape {
        let max = self.device.shared_bytes();
        let widths = [(128, 48 << 10), (64, 96 << 10), (32, 160 << 10), (16, usize::MAX)];
        let fits = |(_, room): &(usize, usize), shape: &Shape| shape.shared <= max.min(*room);
        let shapes = widths.map(|w| (w, self.shape(w.0 / (2 * self.precision.bytes()))));
        shapes.iter().find(|(w, s)| fits(w, s)).map_or_else(|| self.shape(1), |(_, s)| *s)
    }

    /// The same where there are only so many lines.
    pub fn across_at_most(&self, lines: usize) -> Shape {
        let shape = self.across();
        let width = lines.max(1).next_power_of_two();
        if width < shape.width { self.shape(width) } else { shape }
    }

    /// As [`Line::across`], for blocks that hold the lines of so many images, one behind the other, and have at most so many threads; None
    /// if shared memory does not hold them.
    pub fn across_several(&self, images: usize, max_threads: usize) -> Option<Shape> {
        let room = self.device.shared_bytes();
        let width = several_width(self.length(), images, self.precision, room)?;
        // Lines across have no gaps between elements.
        let shared = images * several_bytes(self.length(), width, self.precision);
        let max = if shared <= room / 2 { max_threads.min(256) } else { max_threads };
        Some(Shape { width, threads: self.threads(images * width, max), shared })
    }

    /// At most so many threads, with which passes of so many lines have the fewest turns.
    pub fn threads(&self, width: usize, max: usize) -> usize {
        let turn = |count: usize| count.div_ceil(count.div_ceil(max));
        let threads = self.factors.iter().map(|r| turn(width * self.length() / r)).max().unwrap_or(1);
        threads.next_multiple_of(32).min(max)
    }

    fn shape(&self, width: usize) -> Shape {
        let elements = width * self.length();
        let shared = shared_bytes(elements, self.precision);
        // Three blocks of a multiprocessor, or two where they are all that its shared memory takes.
        let max = match self.precision {
            Precision::F32 if shared <= THIRD => 320,
            Precision::F32 => 512,
            Precision::F64 => 256,
        };
        // Threads that are idle the least, but not much fewer than those that have sixteen elements each.
        let cost = |threads: usize| -> usize {
            let slots: usize = self.factors.iter().map(|r| (elements / r).div_ceil(threads) * threads * r).sum();
            slots * (8 * threads + elements / 16) / threads
        };
        let threads = (64..=max).step_by(32).min_by_key(|t| cost(*t)).unwrap_or(max);
        Shape { width, threads, shared }
    }
}

fn several_bytes(length: usize, width: usize, precision: Precision) -> usize {
    length * width * precision.complex()
}

/// Lines side by side of each of so many images, whose blocks take so many bytes of shared memory at most.
pub fn several_width(length: usize, images: usize, precision: Precision, room: usize) -> Option<usize> {
    // Two blocks to a multiprocessor while lines are 32 bytes wide; else whatever fits.
    let fits = |width: &usize| images * several_bytes(length, *width, precision) <= room;
    let sector = 32 / precision.complex();
    let halves = |width: &usize| images * several_bytes(length, *width, precision) <= room / 2;
    [4 * sector, 2 * sector, sector].into_iter().find(halves).or_else(|| [sector, sector / 2, 1].into_iter().find(fits))
}

/// sin and cos of 2 pi k / n, exact where they are 0 or 1.
fn root(k: usize, n: usize) -> (f64, f64) {
    // Within an eighth of a turn around a multiple of a quarter.
    let quarters = (4 * k + n / 2) / n;
    let rest = TAU * (4 * k as i64 - (quarters * n) as i64) as f64 / (4 * n) as f64;
    let (s, c) = rest.sin_cos();
    match quarters % 4 {
        0 => (s, c),
        1 => (c, -s),
        2 => (-s, -c),
        _ => (-c, s),
    }
}

/// What `divide` multiplies by.
pub fn divisor(d: usize) -> u32 {
    if d == 1 { 0 } else { (1u64 << 32).div_ceil(d as u64) as u32 }
}

/// The fewest radices up to the largest whose product is a length; of these, those whose smallest is largest. In descending order; None if there
/// are none.
fn factors(length: usize, max_radix: usize) -> Option<Vec<usize>> {
    fn search(length: usize, radices: &[usize], so_far: &mut Vec<usize>, best: &mut Option<Vec<usize>>) {
        if length == 1 {
            let rank = |f: &[usize]| (f.len(), std::cmp::Reverse(f.last().copied()));
            if best.as_ref().is_none_or(|b| rank(so_far) < rank(b)) {
                *best = Some(so_far.clone());
            }
            return;
        }
        if so_far.len() == MAX_PASSES {
            return;
        }
        for (i, r) in radices.iter().enumerate().filter(|(_, r)| length.is_multiple_of(**r)) {
            so_far.push(*r);
            search(length / r, &radices[i..], so_far, best);
            so_far.pop();
        }
    }
    let mut best = None;
    if length > 1 {
        let first = RADICES.partition_point(|r| *r > max_radix);
        search(length, &RADICES[first..], &mut Vec::new(), &mut best);
    }
    best
}

/// Where the last pass finds frequencies q, q + length / radix, ...: digits in reverse.
fn order(factors: &[usize]) -> Vec<u16> {
    let (_, earlier) = factors.split_last().unwrap_or((&1, &[]));
    let count = earlier.iter().product();
    (0..count)
        .map(|q: usize| {
            let (mut digits, mut place) = (q, 0);
            for r in earlier {
                place = place * r + digits % r;
                digits /= r;
            }
            place as u16
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_multiply_to_the_length() {
        for n in 2..=MAX_LENGTH {
            let mut rest = n;
            for p in [2, 3, 5, 7] {
                while rest.is_multiple_of(p) {
                    rest /= p;
                }
            }
            match factors(n, MAX_RADIX) {
                Some(f) => {
                    assert_eq!(f.iter().product::<usize>(), n);
                    assert!(f.is_sorted_by(|a, b| a >= b));
                }
                None => assert_ne!(rest, 1, "{n}"),
            }
            if let Some(f) = factors(n, 8) {
                assert_eq!(f.iter().product::<usize>(), n);
                assert!(f.is_sorted_by(|a, b| a >= b) && f[0] <= 8);
            }
        }
        assert_eq!(factors(256, MAX_RADIX), Some(vec![16, 16]));
        assert_eq!(factors(320, MAX_RADIX), Some(vec![8, 8, 5]));
        assert_eq!(factors(160, 8), Some(vec![8, 5, 4]));
    }

    #[test]
    fn division_by_multiplication_is_exact() {
        for d in 1..=MAX_LENGTH {
            let by = divisor(d);
            for n in (0..1usize << 16).step_by(if d % 64 == 1 { 1 } else { 257 }).chain([d - 1, d, (1 << 16) - 1]) {
                let quotient = if by == 0 { n } else { ((n as u64 * u64::from(by)) >> 32) as usize };
                assert_eq!(quotient, n / d, "{n} / {d}");
            }
        }
    }
}
