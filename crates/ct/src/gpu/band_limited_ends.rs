//! The ends of band-limited sums on a GPU, of lines of any length: launches `kernels/ct/band_limited.cu` and
//! `kernels/ct/band_limited_long.cu`.

use isocenter_base::error::Result;
use isocenter_base::gpu::fft::{DeviceLine, DeviceStep, DeviceWindow, Line, Transform};
use isocenter_base::gpu::{Device, Function, Launch, Precision, Stream, mirrored};
use std::sync::Arc;

/// Mirrors `Spectra`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpectraArguments {
    pub(super) line: DeviceLine,
    pub(super) values: u64,
    pub(super) phases: u64,
    pub(super) last: u64,
    pub(super) rows: u64,
    pub(super) pitch: i64,
    pub(super) projections: u64,
    pub(super) view_stride: i64,
    pub(super) slice_stride: i64,
    pub(super) scale: f32,
    pub(super) views: i32,
    pub(super) bins: i32,
    pub(super) slices: i32,
    pub(super) images: i32,
    pub(super) stride: i32,
    pub(super) width: i32,
    pub(super) log_width: i32,
    pub(super) chunks: i32,
    pub(super) unused: i32,
}
mirrored!(SpectraArguments, 272);

/// Mirrors `Slices`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SlicesArguments {
    pub(super) line: DeviceLine,
    pub(super) window: DeviceWindow,
    pub(super) plane: u64,
    pub(super) factors: u64,
    pub(super) volume: u64,
    pub(super) slice_stride: i64,
    pub(super) row_stride: i64,
    pub(super) column_stride: i64,
    pub(super) slices: i32,
    pub(super) images: i32,
    pub(super) width: i32,
    pub(super) log_width: i32,
    pub(super) chunks: i32,
    pub(super) unused: i32,
}
mirrored!(SlicesArguments, 256);

/// Mirrors `Scratch`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct DeviceScratch {
    step: DeviceStep,
    first: u64,
    strides: [i64; 3],
}
mirrored!(DeviceScratch, 48);

/// Mirrors `LongSpectra`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct LongSpectraArguments {
    spectra: SpectraArguments,
    scratch: DeviceScratch,
    first_view: i32,
    unused: i32,
}
mirrored!(LongSpectraArguments, 328);

/// Mirrors `LongSlices`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct LongSlicesArguments {
    slices: SlicesArguments,
    scratch: DeviceScratch,
}
mirrored!(LongSlicesArguments, 304);

/// Lines of one end, and its kernels there and back: one of a way, or two where lines are long.
#[derive(Debug)]
pub(super) struct End {
    transform: Transform,
    kernels: [Vec<Function>; 2],
}

/// Towards the image's Fourier plane, or away from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    There,
    Back,
}

/// What one launch of lines takes.
struct Lines {
    line: DeviceLine,
    launch: Launch,
    /// Of a block, and blocks of a row.
    width: usize,
    chunks: usize,
}

impl Lines {
    /// Of `rows` times `count` lines side by side.
    fn new(line: &Line, count: usize, rows: usize) -> Self {
        let shape = line.across_at_most(count);
        let chunks = count.div_ceil(shape.width);
        let launch = Launch { grid: [rows * chunks, 1, 1], block: [shape.threads, 1, 1], shared: shape.shared };
        Self { line: line.arguments(), launch, width: shape.width, chunks }
    }
}

impl End {
    /// Kernels by their names for the way there and the way back.
    pub(super) fn new(device: &Arc<Device>, length: usize, names: [&str; 2]) -> Result<Self> {
        let transform = Transform::new(device, length, Precision::F32)?;
        let (image, steps): (_, &[&str]) = match &transform {
            Transform::Short(_) => (&crate::images::BAND_LIMITED, &[""]),
            Transform::Long(_) => (&crate::images::BAND_LIMITED_LONG, &["_first", "_second"]),
        };
        let kernels = |name: &str| {
            steps
                .iter()
                .map(|step| device.function(image, &format!("ct_band_limited_{name}{step}")))
                .collect::<Result<_>>()
        };
        Ok(Self { kernels: [kernels(names[0])?, kernels(names[1])?], transform })
    }

    /// Between rows and spectra; `scratch` holds long rows of some views at a time.
    ///
    /// # Safety
    /// Addresses are device memory of the sizes that the arguments tell until the stream has passed this; the GPU is current.
    pub(super) unsafe fn spectra(
        &self,
        way: Way,
        of: SpectraArguments,
        scratch: &Scratch,
        stream: &Stream,
    ) -> Result<()> {
        let (kernels, images, views) = (&self.kernels[way as usize], of.stride as usize, of.views as usize);
        let arguments = |lines: &Lines| SpectraArguments {
            line: lines.line,
            width: lines.width as i32,
            log_width: lines.width.ilog2() as i32,
            chunks: lines.chunks as i32,
            ..of
        };
        let long = match &self.transform {
            Transform::Short(line) => {
                let lines = Lines::new(line, images, views);
                // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
                return unsafe { kernels[0].launch(stream, lines.launch, &arguments(&lines)) };
            }
            Transform::Long(long) => long,
        };
        let together = (scratch.elements / long.length()).clamp(1, views);
        for first in (0..views).step_by(together) {
            let some = together.min(views - first);
            for ((step, in_place), kernel) in long.steps().into_iter().zip([true, false]).zip(kernels) {
                let lines = Lines::new(step.line, step.others * images, some);
                let [other, k] = step.places(in_place).map(|n| (n * images) as i64);
                let strides = [other, k, (long.length() * images) as i64];
                let scratch = DeviceScratch { step: step.arguments, first: scratch.address, strides };
                let arguments =
                    LongSpectraArguments { spectra: arguments(&lines), scratch, first_view: first as i32, unused: 0 };
                // SAFETY: as above.
                unsafe { kernel.launch(stream, lines.launch, &arguments)? };
            }
        }
        Ok(())
    }

    /// Between `rows` rows of slices and the transform half done.
    ///
    /// # Safety
    /// As for `spectra`.
    pub(super) unsafe fn slices(&self, way: Way, of: SlicesArguments, rows: usize, stream: &Stream) -> Result<()> {
        let (kernels, images) = (&self.kernels[way as usize], of.images as usize);
        let arguments = |lines: &Lines| SlicesArguments {
            line: lines.line,
            width: lines.width as i32,
            log_width: lines.width.ilog2() as i32,
            chunks: lines.chunks as i32,
            ..of
        };
        let long = match &self.transform {
            Transform::Short(line) => {
                let lines = Lines::new(line, images, rows);
                // SAFETY: as in `spectra`.
                return unsafe { kernels[0].launch(stream, lines.launch, &arguments(&lines)) };
            }
            Transform::Long(long) => long,
        };
        // The transform half done is its own scratch memory: of the step that reads it, or of the one that writes it.
        let in_place = [way == Way::Back, way == Way::There];
        for ((step, in_place), kernel) in long.steps().into_iter().zip(in_place).zip(kernels) {
            let lines = Lines::new(step.line, step.others * images, rows);
            let [other, k] = step.places(in_place).map(|n| (n * images) as i64);
            let strides = [other, k, (long.length() * images) as i64];
            let scratch = DeviceScratch { step: step.arguments, first: of.plane, strides };
            let arguments = LongSlicesArguments { slices: arguments(&lines), scratch };
            // SAFETY: as in `spectra`.
            unsafe { kernel.launch(stream, lines.launch, &arguments)? };
        }
        Ok(())
    }
}

/// Memory that is not needed meanwhile, in complex numbers for each image.
pub(super) struct Scratch {
    pub(super) address: u64,
    pub(super) elements: usize,
}
