//! The filter on a GPU: its tables, and the launches of `kernels/ct/filter.cu`.

use super::format::{PackedRows, RawRows};
use super::state::{Slot, State};
use crate::rows::filter::{Filter, Kernel, Padding};
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Function, Image, Launch, Stream, mirrored};
use std::f64::consts::PI;
use std::sync::Arc;

/// log2 of the lengths that one block transforms in shared memory, and of those that it can be a part of.
const SHORT: std::ops::RangeInclusive<u32> = 6..=14;
/// Passes of radix 16 through global memory leave parts of 2^10 to 2^13.
const LONGEST_WITH_ONE_PASS: u32 = 17;
/// Lines of longer transforms are worked on in batches of so many bytes.
const BATCH: usize = 256 << 20;
const IMAGE: &Image = &crate::images::FILTER;

/// Mirrors `Filter` in `kernels/ct/filter.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    raw: RawRows,
    packed: PackedRows,
    roots: u64,
    response: u64,
    tails: u64,
    scratch: u64,
    first: i64,
    width: i32,
    log: i32,
    pass: i32,
}
mirrored!(Arguments, 184);

/// A filter on the device.
#[derive(Debug)]
pub(super) struct DeviceFilter {
    /// log2 of the transforms' length.
    log: u32,
    /// Passes through global memory, for what does not fit shared memory.
    passes: u32,
    /// Roots of unity of the whole length, and of the part in shared memory.
    roots: DeviceMemory,
    part_roots: DeviceMemory,
    response: DeviceMemory,
    /// The kernel's tails, where edge values go on beyond the row: at n bins from its end.
    tails: Option<DeviceMemory>,
    kernels: Kernels,
}

#[derive(Debug)]
enum Kernels {
    /// Lines that fit into shared memory.
    Short(Function),
    /// Passes through global memory on either side of the part in shared memory.
    Long { forward: Function, middle: Function, backward: Function, store: Function },
}

impl Kernels {
    /// `part`: log2 of what a block transforms in shared memory.
    fn new(device: &Device, passes: u32, part: u32) -> Result<Self> {
        let kernel = |name: &str| device.function(IMAGE, name);
        Ok(match passes {
            0 => Self::Short(kernel(&format!("ct_filter_{part}"))?),
            _ => Self::Long {
                forward: kernel("ct_filter_long_forward")?,
                middle: kernel(&format!("ct_filter_middle_{part}"))?,
                backward: kernel("ct_filter_long_backward")?,
                store: kernel("ct_filter_long_store")?,
            },
        })
    }
}

/// log2 of the transforms' length for rows of `bins`.
fn log(bins: usize) -> u32 {
    (2 * bins - 1).next_power_of_two().trailing_zeros().max(*SHORT.start())
}

/// Length of the transforms on a GPU.
pub(super) fn padded_bins(bins: usize) -> usize {
    1 << log(bins)
}

/// Shared memory of a line of 2^log elements.
fn line_bytes(log: u32) -> usize {
    ((1 << log) + (1 << log) / 16) * 8
}

impl DeviceFilter {
    /// The filter's tables, and what it multiplies the largest value by at most. None passes rows as they are.
    pub(super) fn new(
        device: &Arc<Device>,
        filter: &Filter,
        padding: Padding,
        bins: usize,
        bin_pitch: f64,
    ) -> Result<Option<(Self, f64)>> {
        let Some(kernel) = Kernel::new(filter, bins)? else { return Ok(None) };
        let edge = padding == Padding::Edge;
        let log = log(bins);
        let fits = log <= *SHORT.end() && line_bytes(log) <= device.shared_bytes();
        let passes = if fits { 0 } else { 1 + u32::from(log > LONGEST_WITH_ONE_PASS) };
        let n = 1usize << log;
        let natural = kernel.response(n)?;
        let scaled = |k: usize| natural[k] / bin_pitch / n as f64;
        let part = log - 4 * passes;
        let table = collected((0..n).map(|s| scaled(frequency(place(s, part), log)) as f32))?;
        let filter = Self {
            log,
            passes,
            roots: DeviceMemory::from_slice(device, &roots(n)?)?,
            part_roots: DeviceMemory::from_slice(device, &roots(1 << part)?)?,
            response: DeviceMemory::from_slice(device, &table)?,
            tails: match edge {
                true => {
                    let tails = collected(kernel.tails.iter().map(|t| (t / bin_pitch) as f32))?;
                    Some(DeviceMemory::from_slice(device, &tails)?)
                }
                false => None,
            },
            kernels: Kernels::new(device, passes, part)?,
        };
        Ok(Some((filter, kernel.gain(edge) / bin_pitch)))
    }
}

/// exp(-2 pi i k / n).
fn roots(n: usize) -> Result<Vec<[f32; 2]>> {
    let root = |k: usize| {
        let (sin, cos) = (-2.0 * PI * k as f64 / n as f64).sin_cos();
        [cos as f32, sin as f32]
    };
    collected((0..n).map(root))
}

/// Corrects, filters (or not), weighs, converts and interleaves rows of `padded` slices.
pub(super) fn run(
    state: &State,
    filter: Option<&DeviceFilter>,
    raw: RawRows,
    packed: PackedRows,
    padded: usize,
    lines: &mut Slot,
    stream: &Stream,
) -> Result<()> {
    let device = &state.device;
    let (views, lanes) = (raw.views as usize, packed.lanes as usize);
    let group = lanes.max(2);
    // Two pairs of slices are stored side by side where they are neighbours; bytes that a thread puts aside for that.
    let aside = if packed.half != 0 && packed.split == 0 { 32 } else { 64 };
    let wide = lanes >= 4 && packed.oversampling == 1;
    let mut arguments =
        Arguments { raw, packed, roots: 0, response: 0, tails: 0, scratch: 0, first: 0, width: 1, log: 0, pass: 0 };
    let launch = |kernel: &Function, grid: [usize; 3], block: [usize; 3], shared: usize, arguments: &Arguments| {
        // SAFETY: Arguments mirrors the kernels' struct; the buffers live until the stream is there.
        unsafe { kernel.launch(stream, Launch { grid, block, shared }, arguments) }
    };
    let Some(f) = filter else {
        arguments.width = if wide { 2 } else { 1 };
        let parts = group / (2 * arguments.width as usize);
        let shared = if wide { 256 * aside } else { 0 };
        return launch(
            state.kernels.pack(device)?,
            [views * parts, padded / group, 1],
            [256, 1, 1],
            shared,
            &arguments,
        );
    };
    arguments.roots = f.roots.address();
    arguments.response = f.response.address();
    arguments.tails = f.tails.as_ref().map_or(0, |t| t.address());
    arguments.log = f.log as i32;
    let n = 1usize << f.log;
    let (forward, middle, backward, store) = match &f.kernels {
        Kernels::Short(kernel) => {
            // Lines of a block, as the kernels are stamped out.
            let lines = [16, 8, 8, 4, 2].get((f.log - SHORT.start()) as usize).copied().unwrap_or(1);
            let shared = |width: i32| lines * (line_bytes(f.log) + if width > 1 { aside * n / 16 } else { 0 });
            arguments.width = if wide && shared(2) <= device.shared_bytes() { 2 } else { 1 };
            let parts = group / (2 * arguments.width as usize);
            let grid = [views.div_ceil(lines) * parts, padded / group, 1];
            return launch(kernel, grid, [n / 16, lines, 1], shared(arguments.width), &arguments);
        }
        Kernels::Long { forward, middle, backward, store } => (forward, middle, backward, store),
    };
    let all = views * padded / 2;
    let batch = all.min((BATCH / (8 * n)).clamp(1, 65535));
    arguments.scratch = lines.take(device, batch * 8 * n)?.address();
    let part = f.log - 4 * f.passes;
    for first in (0..all).step_by(batch) {
        let count = batch.min(all - first);
        arguments.first = first as i64;
        let blocks = [n / 4096, count, 1];
        for pass in 0..f.passes {
            arguments.pass = pass as i32;
            launch(forward, blocks, [256, 1, 1], 0, &arguments)?;
        }
        let inner = Arguments { roots: f.part_roots.address(), ..arguments };
        let threads = (1usize << part) / 16;
        launch(middle, [1 << (4 * f.passes), count, 1], [threads, 1, 1], line_bytes(part), &inner)?;
        for pass in (0..f.passes).rev() {
            arguments.pass = pass as i32;
            launch(backward, blocks, [256, 1, 1], 0, &arguments)?;
        }
        let pieces = (packed.pitch as usize).div_ceil(256);
        launch(store, [pieces, count, 1], [256, 1, 1], 0, &arguments)?;
    }
    Ok(())
}

/// Place of entry `s` of the response's table: so permuted that neighbouring threads of a part of 2^log read neighbours.
fn place(s: usize, log: u32) -> usize {
    let (threads, i) = ((1 << log) / 16, s & ((1 << log) - 1));
    s - i + 16 * (i / 4 % threads) + 4 * (i / (4 * threads)) + i % 4
}

/// Frequency that the kernels' forward transform leaves at place `i`: radix 16 from the top, the rest last.
fn frequency(i: usize, log: u32) -> usize {
    let (mut left, mut k, mut weight, mut rest) = (log, 0, 1, i);
    while left > 4 {
        left -= 4;
        k += weight * (rest >> left);
        rest &= (1 << left) - 1;
        weight *= 16;
    }
    k + weight * rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_a_permutation_with_digits_reversed() {
        for log in 6..=21 {
            let n = 1usize << log;
            let part = log - 4 * if log <= 14 { 0 } else { 1 + u32::from(log > 17) };
            let mut seen = vec![false; n];
            (0..n).for_each(|s| seen[frequency(place(s, part), log)] = true);
            assert!(seen.iter().all(|s| *s), "2^{log}");
        }
        // 256 = 16 x 16: digits change places.
        assert_eq!(frequency(0x3a, 8), 0xa3);
        // 128 = 16 x 8: place 8 a + b holds a + 16 b.
        assert_eq!(frequency(8 * 5 + 3, 7), 5 + 16 * 3);
    }

    #[test]
    fn transforms_are_long_enough() {
        for bins in [1, 2, 32, 33, 1000, 2048, 2049, 8192] {
            let n = padded_bins(bins);
            assert!(n >= 2 * bins - 1 && n >= 64 && (n == 64 || n / 2 < 2 * bins - 1), "{bins}: {n}");
        }
    }
}
