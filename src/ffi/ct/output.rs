//! How the volume is stored: 8 and 16 bits, circular mask, histogram.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{OutList, Sized32, count, read_struct, write_struct};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{Output, Window};

/// Element type of the volume that `reconstruct` and `reconstruct_stream` write.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_output_type {
    /// f32 (ISOC_F32): the values.
    F32 = 0,
    /// u8 (ISOC_U8): 0 to 255 over the window.
    U8 = 1,
    /// u16 (ISOC_U16): 0 to 65535 over the window.
    U16 = 2,
    /// f16 (ISOC_F16): the values, or, with a window or percentiles, 0 to 1 over the window.
    F16 = 3,
}

/// How `reconstruct` and `reconstruct_stream` store the volume; other calls keep f32. Set `struct_size` and zero the rest for f32 as
/// they are.
///
/// The window, `low` to `high`, is one for all slices. Integers: stored = round((value - low) / (high - low) * largest), `largest` being
/// 255 or 65535, values outside the window those of its ends; ties go to even. f16: the nearest, ties to even; values beyond +-65504 become
/// that; with a window (value - low) / (high - low), 0 to 1. The arithmetic before the last rounding is f64, on the processor and GPUs
/// alike. value = offset + slope * stored, with offset and slope from isoc_ct_get_output.
///
/// Percentiles are those of the values inside the mask of `histogram_slices` slices (k-th of n: number (2 k + 1) slices / (2 n),
/// rounded down), reconstructed in a pass before the one that writes: rank p / 100 * (number of values - 1) of the sorted values, linear
/// between neighbours. They come from a histogram of floats with 2^12 steps an octave, in one pass: within 2^-12 of their size of those of
/// sorted values, and far nearer where values lie densely; 0 and 100 are the smallest and the largest value exactly. The pass takes
/// about the share of the time that its slices are of all (a slice alone takes up to 6 times as long on the processor as one of many),
/// and 16 MiB of host memory. Percentiles of one value are a window of zero width, ISOC_STATUS_OUT_OF_RANGE, before anything is written. isoc_ct_reconstruct_stream asks `read` for its slices first, and for all slices again afterwards;
/// `write` gets none of the first pass.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_output {
    /// sizeof(isoc_ct_output).
    pub struct_size: u32,
    /// An isoc_ct_output_type.
    pub dtype: u32,
    /// The value that integers store as 0; finite, below `high`. Both 0: from percentiles.
    pub low: f64,
    /// The value that integers store as their largest.
    pub high: f64,
    /// In percent, 0 to 100, below `high_percentile`; both 0 mean 0.1 and 99.9. Both must be 0 where low and high are not. f32 use window
    /// and percentiles for the histogram alone, and f16 too with both 0.
    pub low_percentile: f64,
    /// See low_percentile.
    pub high_percentile: f64,
    /// Slices that percentiles are of: 0 means 16 (or all, if there are fewer), -1 all.
    pub histogram_slices: i64,
    /// Pixels outside a circle about the centre of the slice, of this radius in halves of its shorter side, get `mask_value`: pixel (i, j)
    /// is inside where (j - (nx - 1) / 2)^2 + (i - (ny - 1) / 2)^2 <= (mask_radius min(nx, ny) / 2)^2. Up to 1.5 (from sqrt(2) on a square
    /// slice is inside as a whole); 0: no mask. What is outside counts neither in percentiles nor in the histogram.
    pub mask_radius: f64,
    /// In place of values outside the circle, and stored as a value is.
    pub mask_value: f64,
    /// Bins of a histogram of what was written, over the window: up to 65536; 0 for none. See isoc_ct_get_histogram.
    pub histogram_bins: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_output {
    const NAME: &'static str = "isoc_ct_output";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_output {
    fn to_output(self) -> Result<Output> {
        let dtype = match self.dtype {
            0 => DType::F32,
            1 => DType::U8,
            2 => DType::U16,
            3 => DType::F16,
            v => fail!(UnknownValue, "output.dtype is {v}; it must be 0 to 3 (isoc_ct_output_type)"),
        };
        let Self { low, high, low_percentile, high_percentile, mask_radius, mask_value, .. } = self;
        let histogram_bins = count(self.histogram_bins, "output.histogram_bins", 0, 1 << 16)?;
        let slices = match self.histogram_slices {
            -1 => None,
            0 => Some(Window::SLICES),
            n if n > 0 => Some(usize::try_from(n).unwrap_or(usize::MAX)),
            n => fail!(OutOfRange, "output.histogram_slices is {n}; it must be 1 or more, 0 for 16, or -1 for all"),
        };
        let percentiles = |low, high| Window::Percentiles { low, high, slices };
        let (given, named) = ((low, high) != (0.0, 0.0), (low_percentile, high_percentile) != (0.0, 0.0));
        let window = match (given, named) {
            (true, true) => fail!(
                OutOfRange,
                "output.low_percentile is {low_percentile:?} and output.high_percentile is {high_percentile:?}; both must be 0 where output.low ({low:?}) and output.high ({high:?}) are given"
            ),
            (true, false) => Window::Given { low, high },
            (false, true) => percentiles(low_percentile, high_percentile),
            (false, false) => {
                let [low, high] = Window::PERCENTILES;
                percentiles(low, high)
            }
        };
        let mapped = dtype == DType::F16 && (given || named);
        // Neither stored nor counted by it.
        let idle = matches!(dtype, DType::F16 | DType::F32) && !given && !named && histogram_bins == 0;
        let window = (!idle).then_some(window);
        Ok(Output { dtype, window, mapped, mask_radius, mask_value, histogram_bins })
    }
}

/// Sets how the volume is stored; NULL sets f32 as they are. It holds until set again, whatever the geometry. The volume's tensor, and
/// that of a stream's `write`, must have the type that was set: others are ISOC_STATUS_TENSOR_DTYPE. Forgets what isoc_ct_get_output tells.
///
/// # Safety
/// `output` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_output(ct: *mut isoc_ct, output: *const isoc_ct_output) -> Status {
    with_plan(ct, |ct| {
        let output = if output.is_null() {
            Output::default()
        } else {
            // SAFETY: by this function's contract.
            unsafe { read_struct(output)? }.to_output()?
        };
        ct.set_output(output)
    })
}

/// What the last reconstruction stored.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_output_info {
    /// sizeof(isoc_ct_output_info), set by the caller.
    pub struct_size: u32,
    /// The volume's type, that of isoc_ct_output.dtype.
    pub dtype: u32,
    /// value = offset + slope * stored; 1 for f32, and for f16 that hold values.
    pub slope: f64,
    /// See slope.
    pub offset: f64,
    /// The window, given or from percentiles; 0 where there is none.
    pub low: f64,
    /// See low.
    pub high: f64,
    /// Values below `low` (inside the mask), which were stored as it, or lie below the histogram; without a window, below -65504 (f16).
    pub clipped_low: i64,
    /// The same above `high`, or 65504.
    pub clipped_high: i64,
    /// Slices that percentiles are of; 0 where there were none.
    pub histogram_slices: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_output_info {
    const NAME: &'static str = "isoc_ct_output_info";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Tells how the last isoc_ct_reconstruct or isoc_ct_reconstruct_stream stored its volume; ISOC_STATUS_NOT_CONFIGURED where none has
/// been finished since isoc_ct_set_output, or the last one failed.
///
/// # Safety
/// `info` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_get_output(ct: *mut isoc_ct, info: *mut isoc_ct_output_info) -> Status {
    with_plan(ct, |ct| {
        let written = ct.written()?;
        let [low, high] = written.window.unwrap_or_default();
        let [clipped_low, clipped_high] = written.clipped.map(|n| n as i64);
        let dtype = match written.dtype {
            DType::U8 => isoc_ct_output_type::U8,
            DType::U16 => isoc_ct_output_type::U16,
            DType::F16 => isoc_ct_output_type::F16,
            _ => isoc_ct_output_type::F32,
        };
        let value = isoc_ct_output_info {
            struct_size: 0,
            dtype: dtype as u32,
            slope: written.slope,
            offset: written.offset,
            low,
            high,
            clipped_low,
            clipped_high,
            histogram_slices: written.surveyed as i64,
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(info, &value) }
    })
}

/// Writes the histogram of the volume that was written last to `counts`, which has room for `capacity`; `count`, which may be NULL, gets
/// how many bins there are: isoc_ct_output.histogram_bins. `counts` NULL with `capacity` 0 asks for the number alone; a smaller capacity is
/// ISOC_STATUS_OUT_OF_RANGE, and nothing is written. Errors as for isoc_ct_get_output.
///
/// Bins are equal parts of the window, from low to high; what is clipped counts in the bins at the ends, so that the sum is the number of
/// pixels inside the mask. Integers: bin stored * bins / (largest + 1), rounded down; floats: (value - low) / (high - low) * bins, rounded
/// down.
///
/// # Safety
/// `counts` is NULL or holds `capacity` writable values; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_get_histogram(
    ct: *mut isoc_ct,
    counts: *mut i64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    with_plan(ct, |ct| {
        let histogram = &ct.written()?.histogram;
        let list = OutList { names: ["counts", "capacity"], out: counts, capacity, count };
        // SAFETY: by this function's contract.
        unsafe { list.fill(histogram.iter().map(|n| *n as i64)) }
    })
}
