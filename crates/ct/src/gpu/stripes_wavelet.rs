//! Munch, Trtik, Marone and Stampanoni 2009 on a GPU: launches of `kernels/ct/stripes_wavelet.cu`.

use super::stripes::{Regions, Sinograms};
use crate::rows::stripes::{Tables, Wavelet, WaveletSizes};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Function, Launch, Stream, mirrored};
use std::sync::Arc;

/// Warps of a block at most, rows of products of each, and bins of a block.
const WARPS: usize = 8;
const ROWS: usize = 12;
const BINS: usize = 128;
/// Lanes of a warp.
const LANES: usize = 32;
/// Threads of the blocks that work on a line.
const LINE_THREADS: usize = 256;
/// Shared memory that every GPU has without asking, less what filters take.
const MAX_SHARED: usize = 46 << 10;
const MAX_LEVELS: usize = 16;

/// Mirrors `Arguments` in `kernels/ct/stripes_wavelet.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    sinograms: u64,
    down: u64,
    up: u64,
    filters: u64,
    amplitudes: u64,
    bands: u64,
    views: i32,
    bins: i32,
    modes: i32,
    taps: i32,
    longest: i32,
    pad: i32,
    shared: i32,
    lens: [i32; MAX_LEVELS + 1],
    ends: [i32; MAX_LEVELS],
}
mirrored!(Arguments, 208);

/// Tables of one size, and what they were made for.
#[derive(Debug)]
pub(super) struct DeviceTables {
    wavelet: Wavelet,
    size: [usize; 2],
    sizes: WaveletSizes,
    /// (view, mode) and (mode, view).
    down: DeviceMemory,
    up: DeviceMemory,
    filters: DeviceMemory,
}

impl DeviceTables {
    pub(super) fn new(
        device: &Arc<Device>,
        wavelet: &Wavelet,
        [views, bins]: [usize; 2],
        level: Level,
    ) -> Result<Self> {
        let Tables { sizes, down, up, filters } = Tables::new(wavelet, views, bins, level)?;
        let modes = sizes.modes;
        let taps = [filters.down, filters.up, filters.high].concat();
        Ok(Self {
            wavelet: *wavelet,
            size: [views, bins],
            down: DeviceMemory::from_slice(device, &turned(&down, modes, views)?)?,
            up: DeviceMemory::from_slice(device, &turned(&up, views, modes)?)?,
            filters: DeviceMemory::from_slice(device, &taps)?,
            sizes,
        })
    }

    /// Whether they are for that.
    pub(super) fn serve(&self, wavelet: &Wavelet, size: [usize; 2]) -> bool {
        self.wavelet == *wavelet && self.size == size
    }
}

/// The first rows of a matrix as its columns.
fn turned(matrix: &[f32], rows: usize, columns: usize) -> Result<Vec<f32>> {
    let mut turned = zeros(rows * columns)?;
    for (row, values) in matrix.chunks_exact(columns.max(1)).take(rows).enumerate() {
        values.iter().enumerate().for_each(|(column, v)| turned[column * rows + row] = *v);
    }
    Ok(turned)
}

fn in_shared(sizes: &WaveletSizes) -> bool {
    8 * sizes.across.longest() <= MAX_SHARED
}

/// Takes what lines of so many slices need: amplitudes and bands.
fn take(sizes: &WaveletSizes, slices: usize, regions: &mut Regions) -> [u64; 2] {
    let lines = slices * sizes.modes;
    let bands = if in_shared(sizes) { 0 } else { 8 * lines * sizes.across.longest() };
    [regions.take(4 * lines * sizes.across.count), regions.take(bands)]
}

/// What work on so many slices takes.
pub(super) fn bytes(wavelet: &Wavelet, [views, bins]: [usize; 2], slices: usize) -> u64 {
    let mut regions = Regions::new(0);
    take(&WaveletSizes::new(wavelet, views, bins), slices, &mut regions);
    regions.end()
}

/// What tables take.
pub(super) fn table_bytes(wavelet: &Wavelet, [views, bins]: [usize; 2]) -> u64 {
    8 * (WaveletSizes::new(wavelet, views, bins).modes * views) as u64
}

/// Kernels of `ct/stripes_wavelet`.
#[derive(Debug)]
pub(super) struct Kernels {
    sum: Function,
    bins: Function,
    subtract: Function,
}

impl Kernels {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let kernel = |name: &str| device.function(&crate::images::STRIPES_WAVELET, name);
        Ok(Self { sum: kernel("wavelet_sum")?, bins: kernel("wavelet_bins")?, subtract: kernel("wavelet_subtract")? })
    }
}

impl Arguments {
    fn new(tables: &DeviceTables, s: &Sinograms, lists: u64) -> Self {
        let sizes = &tables.sizes;
        let [amplitudes, bands] = take(sizes, s.slices, &mut Regions::new(lists));
        let mut end = 0;
        Self {
            sinograms: s.address,
            down: tables.down.address(),
            up: tables.up.address(),
            filters: tables.filters.address(),
            amplitudes,
            bands,
            views: s.views as i32,
            bins: s.bins as i32,
            modes: sizes.modes as i32,
            taps: 2 * tables.wavelet.order as i32,
            longest: sizes.across.longest() as i32,
            pad: sizes.across.pad as i32,
            shared: in_shared(sizes).into(),
            lens: std::array::from_fn(|l| sizes.across.lens.get(l).map_or(0, |len| *len as i32)),
            ends: std::array::from_fn(|l| {
                end += sizes.counts.get(l).copied().unwrap_or(0);
                end as i32
            }),
        }
    }
}

/// Takes off sinograms what the method damps, with lists at an address.
pub(super) fn correct(
    kernels: &Kernels,
    tables: &DeviceTables,
    s: &Sinograms,
    lists: u64,
    stream: &Stream,
) -> Result<()> {
    if tables.sizes.modes == 0 {
        return Ok(());
    }
    let arguments = Arguments::new(tables, s, lists);
    let launch = |kernel: &Function, grid: [usize; 3], threads: usize, shared: usize| {
        // SAFETY: Arguments mirrors the kernels' struct; tables and lists live until the stream is waited for.
        unsafe { kernel.launch(stream, Launch { grid, block: [threads, 1, 1], shared }, &arguments) }
    };
    // Blocks of as many warps as share the rows evenly.
    let products = |kernel: &Function, rows: usize| {
        let warps = rows.div_ceil(ROWS);
        let blocks = warps.div_ceil(WARPS);
        launch(kernel, [blocks, s.bins.div_ceil(BINS), s.slices], LANES * warps.div_ceil(blocks), 0)
    };
    products(&kernels.sum, tables.sizes.modes)?;
    let shared = if in_shared(&tables.sizes) { 8 * tables.sizes.across.longest() } else { 0 };
    launch(&kernels.bins, [tables.sizes.modes, s.slices, 1], LINE_THREADS, shared)?;
    products(&kernels.subtract, s.views)
}
