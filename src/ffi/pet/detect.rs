//! Events with positions as a scanner of crystals has them.

use super::events::expect_events;
use super::plan::{isoc_pet, with_plan};
use crate::ffi::boundary::{Sized32, read_struct, write_struct};
use crate::ffi::tensor::{Expected, check_apart, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::Status;
use isocenter_pet::events::EventArrays;
use isocenter_pet::scanner::{DetectedMut, Lost};

/// Events that isoc_pet_detect did not detect, by the first cause that applies, in this order.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_lost {
    /// sizeof(isoc_pet_lost), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// All of them.
    pub events: u64,
    /// The line meets no crystal at one end or the other, or both positions are the same, or not finite.
    pub missed: u64,
    /// By the efficiencies of the crystals and the pair.
    pub undetected: u64,
    /// The time difference is in no time bin.
    pub outside_window: u64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_lost {
    const NAME: &'static str = "isoc_pet_lost";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// What the plan's scanner makes of events that have positions, as isoc_pet_simulate's do: the crystals that their lines meet, each of which detects with the
/// probability of its efficiency, of several behind each other one at most, and the pair with the probability of its own (isoc_pet_set_pairs). So simulated scans, and lists of positions, become lists for isoc_pet_deposit_crystals. An event stays at its place on the
/// line: t2 - t1 is that between its crystals.
///
/// First three as in isoc_pet_deposit; `efficiencies`: real (crystals), 0 to 1, and so the sum of those behind each other; NULL: the first that a line meets detects; `crystals`: u32 (events, 2), 2^32 - 1 both for an event
/// that is lost; `times`: u8, u16 or u32 (events) of time bins, or real (events) in ps. All in host memory. `seed` of the random numbers: the same events for the
/// same seed, whatever the threads. `lost` may be NULL.
///
/// # Safety
/// Pointers are NULL or valid; `lost` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_detect(
    pet: *mut isoc_pet,
    first_positions: *const isoc_tensor,
    second_positions: *const isoc_tensor,
    time_differences: *const isoc_tensor,
    efficiencies: *const isoc_tensor,
    seed: u64,
    crystals: *const isoc_tensor,
    times: *const isoc_tensor,
    lost: *mut isoc_pet_lost,
) -> Status {
    with_plan(pet, |pet| {
        let known = pet.scanner()?.crystals.count();
        // SAFETY: by this function's contract.
        unsafe {
            let ([first, second], time) = expect_events(time_differences, &[])?;
            let [number] = time.shape;
            let events = EventArrays {
                time: time.input(time_differences)?,
                first: first.input(first_positions)?,
                second: second.input(second_positions)?,
            };
            let one = |name, shape, dims, dtypes| Expected { name, shape, dims, optional: &[], dtypes, gpus: &[] };
            let efficiencies = match efficiencies.is_null() {
                true => None,
                false => Some(one("efficiencies", [known], ["crystals"], DType::REAL).input(efficiencies)?),
            };
            let pairs = Expected {
                name: "crystals",
                shape: [number, 2],
                dims: ["events", "crystals"],
                optional: &[],
                dtypes: &[DType::U32],
                gpus: &[],
            };
            let to = DetectedMut {
                crystals: pairs.output(crystals)?,
                times: one("times", [number], ["events"], DType::TIMES).output(times)?,
            };
            check_apart((to.crystals.layout(), "crystals"), (to.times.layout(), "times"))?;
            for (positions, name) in [(&events.first, "first_positions"), (&events.second, "second_positions")] {
                check_apart((positions.layout(), name), (to.crystals.layout(), "crystals"))?;
                check_apart((positions.layout(), name), (to.times.layout(), "times"))?;
            }
            check_apart((events.time.layout(), "time_differences"), (to.crystals.layout(), "crystals"))?;
            check_apart((events.time.layout(), "time_differences"), (to.times.layout(), "times"))?;
            if !lost.is_null() {
                read_struct(lost)?;
            }
            let Lost { missed, undetected, outside_window } = pet.detect(&events, efficiencies.as_ref(), seed, &to)?;
            if lost.is_null() {
                return Ok(());
            }
            let events = missed + undetected + outside_window;
            write_struct(
                lost,
                &isoc_pet_lost { struct_size: 0, reserved: 0, events, missed, undetected, outside_window },
            )
        }
    })
}
