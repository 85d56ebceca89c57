//! Timing the back projectors on the caller's own GPU.

use super::band_limited::{DeviceBandLimited, Sums, Volume};
use super::band_limited_sizes::BandLimitedSizes;
use super::case::{Arguments, Case, view_lines};
use super::projector::Projector;
use super::state::State;
use crate::geometry::Geometry;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Event, Stream};
use std::sync::Arc;

/// Runs whose median counts, after one that does not.
const RUNS: usize = 5;

/// Seconds that a projector takes for `slices` slices of the case, by events. The data are small random numbers: neither zeros,
/// which some units find easier, nor what overflows.
pub(super) fn seconds(state: &mut State, case: &Case, projector: Projector, slices: usize) -> Result<f64> {
    let device = state.device.clone();
    let _current = device.enter()?;
    let g = case.geometry;
    let format = projector.format(case.sampling);
    let stream = Stream::new(&device)?;
    let data = DeviceMemory::new(&device, format.bytes(slices, g.views(), g.bins) as usize)?;
    noise(state, &data, format.half, &stream)?;
    let lines = DeviceMemory::from_slice(&device, &view_lines(g, &format, g.bins)?)?;
    let scale = DeviceMemory::from_slice(&device, &vec![1.0f32; format.groups(slices) * format.lanes])?;
    let volume = DeviceMemory::new(&device, 4 * slices * g.ny * g.nx)?;
    let arguments = Arguments {
        data: data.address(),
        lines: lines.address(),
        scale: scale.address(),
        volume: volume.address(),
        slice_stride: (g.ny * g.nx) as i64,
        row_stride: g.nx as i64,
        views: g.views() as i32,
        bins: format.samples(g.bins).0 as i32,
        pitch: format.pitch(g.bins) as i32,
        slices: slices as i32,
        nx: g.nx as i32,
        ny: g.ny as i32,
    };
    let seconds = median(&device, &stream, || projector.launch(state, case, arguments, &stream));
    state.textures = None;
    seconds
}

/// The same of band-limited sums.
pub(super) fn band_limited_seconds(
    state: &State,
    sums: &DeviceBandLimited,
    g: &Geometry,
    slices: usize,
) -> Result<f64> {
    let device = &state.device;
    let _current = device.enter()?;
    let stream = Stream::new(device)?;
    let format = BandLimitedSizes::FORMAT;
    let rows = DeviceMemory::new(device, format.bytes(slices, g.views(), g.bins) as usize)?;
    noise(state, &rows, format.half, &stream)?;
    let volume = DeviceMemory::new(device, 4 * slices * g.ny * g.nx)?;
    let workspace = DeviceMemory::new(device, sums.sizes().bytes(slices) as usize)?;
    let to = Volume { address: volume.address(), slice_stride: (g.ny * g.nx) as i64, row_stride: g.nx as i64 };
    // SAFETY: all are of so many slices, and outlive the stream's work, for which `median` waits.
    median(device, &stream, || unsafe {
        sums.backproject(Sums::Reading, rows.address(), to, slices, workspace.address(), &stream)
    })
}

/// Median time of some runs.
fn median(device: &Arc<Device>, stream: &Stream, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let (from, to) = (Event::timed(device)?, Event::timed(device)?);
    let mut times = Vec::with_capacity(RUNS);
    for number in 0..=RUNS {
        from.record(stream)?;
        let done = run().and_then(|()| to.record(stream));
        // What has been started goes on in the caller's buffers.
        stream.synchronize().and(done)?;
        if number > 0 {
            times.push(from.seconds_to(&to)?);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

/// Fills with uniform numbers between -1 and 1.
fn noise(state: &State, data: &DeviceMemory, half: bool, stream: &Stream) -> Result<()> {
    use isocenter_base::gpu::{Launch, mirrored};
    /// Mirrors `Noise` in `kernels/common/copy.cu`.
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Noise {
        to: u64,
        count: i64,
        half: i32,
    }
    mirrored!(Noise, 24);
    let count = (data.bytes() / if half { 2 } else { 4 }) as i64;
    let noise = Noise { to: data.address(), count, half: half.into() };
    let launch = Launch { grid: [16 * state.device.multiprocessors(), 1, 1], block: [256, 1, 1], shared: 0 };
    // SAFETY: Noise mirrors the kernel's struct; the buffer outlives the stream's work.
    unsafe { state.device.function(&isocenter_base::images::COPY, "fill_noise")?.launch(stream, launch, &noise) }
}
