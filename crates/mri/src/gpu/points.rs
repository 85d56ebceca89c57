//! Samples' positions in a GPU's memory: launches `kernels/mri/points.cu`.

use crate::reach::Reach;
use isocenter_base::array::transfer::pinned_rows;
use isocenter_base::array::{Array, DType, host};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Queue, Rows, Span};
use isocenter_nufft::gpu::Coordinates;
use std::ops::Range;
use std::sync::Arc;

/// Samples on the host from which on the GPU looks at them and keeps them.
const MANY: usize = 1 << 16;
/// Samples that a copy brings at a time, 96 MB of three axes in f64.
const STEP: usize = 4 << 20;
/// Bytes that the driver brings as fast as staging would.
const FEW: usize = 16 << 20;
/// They take no more than this part of the memory that there is, since what works on them has not been counted yet.
const PART: u64 = 16;
/// Samples that say what kind of trajectory it is: many readouts.
const GLANCE: usize = 1 << 16;

/// Mirrors `Read`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    from: u64,
    to: u64,
    strides: [i64; 2],
    stride: i64,
    count: i64,
    scales: [f64; 3],
    limits: [f64; 3],
    dims: i32,
    is_double: i32,
    found: u64,
}
isocenter_base::gpu::mirrored!(Arguments, 112);

/// Positions in cycles per voxel, `[axis][sample]`: of a whole trajectory, or of a part.
#[derive(Clone, Debug)]
pub(crate) struct DevicePoints {
    whole: Arc<Whole>,
    range: Range<usize>,
}

#[derive(Debug)]
struct Whole {
    device: Arc<Device>,
    memory: DeviceMemory,
    samples: usize,
    dims: usize,
}

impl DevicePoints {
    pub(crate) fn device(&self) -> &Device {
        &self.whole.device
    }

    pub(crate) fn count(&self) -> usize {
        self.range.len()
    }

    /// Bytes of all of the trajectory's.
    pub(crate) fn bytes(&self) -> u64 {
        self.whole.memory.bytes() as u64
    }

    /// Of some of these samples, in the same memory.
    pub(crate) fn part(&self, range: &Range<usize>) -> Self {
        let begin = self.range.start;
        Self { whole: self.whole.clone(), range: begin + range.start..begin + range.end }
    }

    fn axis(&self, axis: usize) -> u64 {
        let Whole { memory, samples, .. } = &*self.whole;
        memory.address() + ((axis * samples + self.range.start) * size_of::<f64>()) as u64
    }

    /// For transforms.
    pub(crate) fn coordinates(&self) -> Coordinates {
        let axis = |axis: usize| self.axis(axis.min(self.whole.dims - 1));
        Coordinates { axes: [axis(0), axis(1), axis(2)], stride: 1, count: self.count() }
    }

    /// Along x, y, z on the host; z is all 0 for two axes.
    pub(crate) fn fetch(&self) -> Result<[Buffer<f64>; 3]> {
        let axis = |axis: usize| -> Result<Buffer<f64>> {
            let mut values = Buffer::zeroed(self.count())?;
            if axis < self.whole.dims {
                self.whole.device.read_into(self.axis(axis), &mut values)?;
            }
            Ok(values)
        };
        Ok([axis(0)?, axis(1)?, axis(2)?])
    }

    /// The first ones along an axis.
    pub(crate) fn glance(&self, axis: usize) -> Result<Vec<f64>> {
        let mut values = zeros(GLANCE.min(self.count()))?;
        self.whole.device.read_into(self.axis(axis), &mut values)?;
        Ok(values)
    }
}

/// Samples `[sample][axis]` of the host, if there are many, or of this GPU, and the largest values along their axes; None where one is no
/// number or beyond its limit, and where the host is to look at them. They are done with on return. `stream`: the caller's.
pub(crate) fn read(
    context: &Context,
    (device, stream): (&Arc<Device>, usize),
    from: &Array<2>,
    reach: &Reach,
) -> Result<Option<(DevicePoints, [f64; 3])>> {
    let ([samples, dims], layout) = (from.shape(), from.layout());
    let is_real = [DType::F32, DType::F64].contains(&layout.dtype);
    if !is_real || samples == 0 || (layout.gpu.is_none() && samples < MANY) {
        return Ok(None);
    }
    let bytes = samples.saturating_mul(dims * size_of::<f64>());
    if bytes as u64 > context.gpu_memory(device, 0)? / PART {
        return Ok(None);
    }
    let _current = device.enter()?;
    let memory = DeviceMemory::new(device, bytes)?;
    let queue = Queue::new(device)?;
    let found = queue.pool.take(4 * size_of::<u64>())?;
    found.clear(&queue.stream)?;
    let arguments = Arguments {
        from: layout.origin.addr() as u64,
        to: memory.address(),
        strides: layout.strides.map(|s| s as i64),
        stride: samples as i64,
        count: samples as i64,
        scales: reach.scales(),
        limits: reach.limits(),
        dims: dims as i32,
        is_double: i32::from(layout.dtype == DType::F64),
        found: found.address(),
    };
    if layout.gpu.is_some() {
        queue.follow(stream)?;
        // SAFETY: the caller's array stays until this returns, which waits for the stream below, or where the queue goes.
        unsafe { launch(&queue, &arguments)? };
    } else {
        // Threads of the context's touch what is page-locked, and fill it.
        context.install(|| bring(context, &queue, from, &arguments))?;
    }
    let mut seen = [0u64; 4];
    queue.fetch(found.address(), &mut seen)?;
    let [x, y, z, bad] = seen;
    let whole = Whole { device: device.clone(), memory, samples, dims };
    let points = DevicePoints { whole: Arc::new(whole), range: 0..samples };
    Ok((bad == 0).then_some((points, [x, y, z].map(f64::from_bits))))
}

/// Reads samples of the host, part after part.
fn bring(context: &Context, queue: &Queue, from: &Array<2>, arguments: &Arguments) -> Result<()> {
    let _current = queue.device.enter()?;
    let ([samples, dims], layout) = (from.shape(), from.layout());
    let few = || {
        let bytes = samples * dims * layout.dtype.size();
        from.as_row().filter(|_| bytes <= FEW).map(|_| Rows::one(layout.origin.addr() as u64, bytes))
    };
    // Copies take these as they are.
    let whole = pinned_rows(layout).or_else(few);
    let staging = context.staging(&queue.device).unwrap_or(&queue.staging);
    let each = if whole.is_some() { layout.dtype.size() } else { size_of::<f64>() } * dims;
    let arrived = queue.pool.take(STEP.min(samples) * each)?;
    for first in (0..samples).step_by(STEP) {
        let count = STEP.min(samples - first);
        // SAFETY: room for as many; the caller's array stays until the stream has been waited for.
        unsafe {
            match &whole {
                Some(rows) => {
                    let part = Rows::one(rows.address + (first * each) as u64, count * each);
                    part.upload(arrived.address(), part.bytes, &queue.stream)?;
                }
                None => {
                    let fill = |at: usize, part: &mut [f64]| {
                        host::copy_part(from, first * dims + at, part, |_: &[f64]| ());
                        Ok(())
                    };
                    staging.upload(&queue.stream, Span::new(arrived.address(), count * dims), fill)?;
                }
            }
            let part = Arguments {
                from: arrived.address(),
                to: arguments.to + (first * size_of::<f64>()) as u64,
                strides: [dims as i64, 1],
                count: count as i64,
                is_double: if whole.is_some() { arguments.is_double } else { 1 },
                ..*arguments
            };
            launch(queue, &part)?;
        }
    }
    Ok(())
}

/// # Safety
/// What the arguments name is valid until the queue's stream has passed this; the GPU is current.
unsafe fn launch(queue: &Queue, arguments: &Arguments) -> Result<()> {
    // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
    unsafe { queue.each((&crate::images::POINTS, "points_read"), arguments.count as usize, arguments) }
}
