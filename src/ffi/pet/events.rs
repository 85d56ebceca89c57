//! List-mode events.

use super::plan::{isoc_pet, with_plan};
use super::tensors::expect_histos;
use crate::ffi::boundary::{Sized32, count, read_struct, write_struct};
use crate::ffi::tensor::{Expected, check_apart, first_size, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::gpu::Device;
use isocenter_pet::dropped::Dropped;
use isocenter_pet::events::EventArrays;
use std::sync::Arc;

/// Events that are in no histo-image, by the first cause that applies, in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct isoc_pet_dropped {
    /// sizeof(isoc_pet_dropped), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// All of them.
    pub events: u64,
    /// A position or the time difference is NaN or Inf.
    pub not_finite: u64,
    /// Both positions are the same.
    pub equal_positions: u64,
    /// The tilt is beyond isoc_pet_geometry.max_tilt.
    pub outside_tilts: u64,
    /// The place is outside the lattice.
    pub outside_lattice: u64,
    /// The voxel can count no further: 2^32 - 1 in u32, 2^24 in f32.
    pub overflow: u64,
    /// Comes before the others: a crystal or a time bin is none of the scanner's, or a label none of the histo-images'.
    pub unknown: u64,
    /// Comes after `unknown`, before the others: the scanner does not measure the pair of crystals (isoc_pet_set_pairs).
    pub not_measured: u64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_dropped {
    const NAME: &'static str = "isoc_pet_dropped";
    const FIRST_SIZE: usize = std::mem::offset_of!(Self, unknown);
}

impl isoc_pet_dropped {
    pub(super) fn of(found: Dropped) -> Self {
        let Dropped { unknown, not_measured, not_finite, equal_positions, outside_tilts, outside_lattice, overflow } =
            found;
        Self {
            struct_size: 0,
            reserved: 0,
            events: found.total(),
            not_finite,
            equal_positions,
            outside_tilts,
            outside_lattice,
            overflow,
            unknown,
            not_measured,
        }
    }
}

/// As many events as the array of times has.
///
/// # Safety
/// The tensor is NULL or valid.
unsafe fn event_count(time: *const isoc_tensor, least: usize) -> Result<usize> {
    if time.is_null() {
        fail!(NullPointer, "time_differences is NULL");
    }
    // SAFETY: by this function's contract.
    let number = unsafe { first_size(time, "time_differences", &["events"]) }?;
    count(number, "time_differences.shape[0]", least, MAX_EVENTS)
}

/// An error unless an array of positions is NULL or has none.
///
/// # Safety
/// The tensor is NULL or valid.
unsafe fn no_events(name: &str, positions: *const isoc_tensor) -> Result<()> {
    if positions.is_null() {
        return Ok(());
    }
    // SAFETY: by this function's contract.
    let number = unsafe { first_size(positions, name, &["events", "axes"]) }?;
    if number != 0 {
        fail!(TensorShape, "{name}.shape[0] is {number}; it must be 0, as that of time_differences");
    }
    Ok(())
}

/// What is expected of a list's arrays: both positions, and times.
///
/// # Safety
/// `time` is NULL or valid.
pub(super) unsafe fn expect_events(
    time: *const isoc_tensor,
    gpus: &[Arc<Device>],
) -> Result<([Expected<'_, 2>; 2], Expected<'_, 1>)> {
    // SAFETY: by this function's contract.
    let number = unsafe { event_count(time, 1) }?;
    let positions = |name| Expected {
        name,
        shape: [number, 3],
        dims: ["events", "axes"],
        optional: &[],
        dtypes: DType::REAL,
        gpus,
    };
    let times = Expected {
        name: "time_differences",
        shape: [number],
        dims: ["events"],
        optional: &[],
        dtypes: DType::REAL,
        gpus,
    };
    Ok(([positions("first_positions"), positions("second_positions")], times))
}

/// More events than any list has: a larger number is a mistake.
pub(super) const MAX_EVENTS: usize = 1 << 40;

/// Adds list-mode events to histo-images, u32 or f32 (views, nz, ny, nx), which the caller has set to zeros before
/// the first of several lists, in host memory or on the GPU that the plan computes on. There the GPU counts, and the same voxels as the processor
/// does. An event is counted in the view of its direction, in the voxel about
/// `(p1 + p2) / 2 + (c / 2)(t2 - t1)(p1 - p2) / |p1 - p2|`.
///
/// `first_positions` and `second_positions`: real (events, 3) of x, y, z in mm; `time_differences`: real (events) of t2 - t1 in ps,
/// positive where the event is nearer to p1. f32 or f64, of any strides, in host memory, or with histo-images on a GPU on that GPU, all three; a list may be empty. `dropped` may be NULL.
/// After an error (cancel, memory) part of the events may have been added.
///
/// It works in at most 35 MB and 0.3 MB a thread, on a GPU in 2^21 events where they are in host memory, and in less where the context's caps leave less.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_deposit(
    pet: *mut isoc_pet,
    first_positions: *const isoc_tensor,
    second_positions: *const isoc_tensor,
    time_differences: *const isoc_tensor,
    histo_images: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        unsafe {
            let views = pet.views()?.len();
            let to = expect_histos(pet, "histo_images", views, DType::HISTOS)?.output(histo_images)?;
            if event_count(time_differences, 0)? == 0 {
                for (name, positions) in [("first_positions", first_positions), ("second_positions", second_positions)]
                {
                    no_events(name, positions)?;
                }
                // Nothing may be at NULL.
                return if dropped.is_null() { Ok(()) } else { write_struct(dropped, &isoc_pet_dropped::default()) };
            }
            let ([first, second], times) = expect_events(time_differences, pet.gpus())?;
            let time = times.input(time_differences)?;
            let events =
                EventArrays { first: first.input(first_positions)?, second: second.input(second_positions)?, time };
            check_apart((events.first.layout(), "first_positions"), (to.layout(), "histo_images"))?;
            check_apart((events.second.layout(), "second_positions"), (to.layout(), "histo_images"))?;
            check_apart((events.time.layout(), "time_differences"), (to.layout(), "histo_images"))?;
            if !dropped.is_null() {
                read_struct(dropped)?;
            }
            let found = pet.deposit(&events, to)?;
            if dropped.is_null() {
                return Ok(());
            }
            write_struct(dropped, &isoc_pet_dropped::of(found))
        }
    })
}
