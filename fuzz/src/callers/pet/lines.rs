//! Calls with lists of events as lines.

use super::super::caller::call;
use super::super::tensors::{F32, F64, Made, U32, plain};
use super::{EVENTS, Pet};
use isocenter::ffi::pet::*;

/// A list, and how many events it has.
struct List {
    list: *const isoc_pet_list,
    events: i64,
}

impl Pet<'_> {
    /// One of crystals with time bins; or of positions, without times, or with widths of their own.
    fn list(&mut self) -> List {
        let events = self.caller.input.small(16, 40, EVENTS);
        let of_places = self.caller.input.odd(2).is_some();
        let both = self.caller.input.odd(96) == Some(0);
        // Values of u32 are eight times as large.
        let whole = |k: usize| k as f64 / 8.0;
        let crystals = if of_places && !both {
            Made::NONE
        } else {
            let dtype = self.caller.dtype(U32);
            // The call takes their number from them.
            self.caller.input_tensor(&[events, 2], dtype, &|k| whole(k / 2 % 16 + 16 * (k % 2)), false)
        };
        let [first, second] = [1.0, -1.0].map(|side| {
            if !(of_places || both) {
                return Made::NONE;
            }
            let dtype = self.caller.dtype(F64);
            let place = |k: usize| [300.0 * side, plain(k) * 20.0, side * plain(k / 3)][k % 3];
            self.caller.input_tensor(&[events, 3], dtype, &place, side < 0.0)
        });
        let times = if self.caller.input.odd(2).is_some() {
            Made::NONE
        } else {
            let dtype = self.caller.dtype(if of_places { F32 } else { U32 });
            let time = |k: usize| if of_places { 100.0 * plain(k) } else { whole(k % 4) };
            self.caller.input_tensor(&[events], dtype, &time, true)
        };
        let tof_fwhm = if self.caller.input.odd(3) == Some(0) {
            let dtype = self.caller.dtype(F32);
            self.caller.input_tensor(&[events], dtype, &|k| 100.0 + 50.0 * plain(k), true)
        } else {
            Made::NONE
        };
        let input = &mut self.caller.input;
        let list = isoc_pet_list {
            struct_size: input.struct_size(size_of::<isoc_pet_list>()),
            reserved: input.code(1),
            first_event: input.odd(96).map_or(0, |k| [1, 1 << 32, u64::MAX - 3, u64::MAX][usize::from(k) % 4]),
            crystals: crystals.tensor,
            first_positions: first.tensor,
            second_positions: second.tensor,
            times: times.tensor,
            tof_fwhm: tof_fwhm.tensor,
        };
        List { list: self.caller.passed(list), events }
    }

    fn of_events(&mut self, events: i64) -> Made {
        let dtype = self.caller.dtype(F32);
        self.caller.input_tensor(&[events], dtype, &|k| 0.5 + plain(k), true)
    }

    fn of_events_out(&mut self, events: i64) -> Made {
        let dtype = self.caller.dtype(F32);
        self.caller.output_tensor(&[events], dtype)
    }

    /// What is told of events that are no lines.
    fn told(&mut self) -> *mut isoc_pet_dropped {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut dropped: isoc_pet_dropped = unsafe { std::mem::zeroed() };
        dropped.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_dropped>());
        self.caller.passed(dropped)
    }

    pub(super) fn forward_lines(&mut self) {
        let (handle, List { list, events }, image) = (self.handle(), self.list(), self.image());
        let (to, dropped) = (self.of_events_out(events), self.told());
        let done = call!(self.caller, isoc_pet_forward_lines(handle, list, image.tensor, to.tensor, dropped));
        self.caller.done(done, Some(to));
    }

    pub(super) fn adjoint_lines(&mut self) {
        let (handle, List { list, events }) = (self.handle(), self.list());
        let (values, to, dropped) = (self.of_events(events), self.image_out(), self.told());
        let done = call!(self.caller, isoc_pet_adjoint_lines(handle, list, values.tensor, to.tensor, dropped));
        self.caller.done(done, Some(to));
    }

    pub(super) fn line_factors(&mut self) {
        let (handle, List { list, events }, options) = (self.handle(), self.list(), self.factor_options());
        let (efficiencies, attenuation) = (self.efficiencies(), self.map());
        let (to, dropped) = (self.of_events_out(events), self.told());
        let done = call!(
            self.caller,
            isoc_pet_line_factors(handle, list, options, efficiencies.tensor, attenuation.tensor, to.tensor, dropped)
        );
        self.caller.done(done, Some(to));
    }

    pub(super) fn line_sensitivity(&mut self) {
        let (handle, efficiencies, attenuation) = (self.handle(), self.efficiencies(), self.map());
        let (options, to) = (self.factor_options(), self.image_out());
        let done = call!(
            self.caller,
            isoc_pet_line_sensitivity(handle, options, efficiencies.tensor, attenuation.tensor, to.tensor)
        );
        self.caller.done(done, Some(to));
    }

    pub(super) fn line_randoms(&mut self) {
        let (handle, List { list, events }) = (self.handle(), self.list());
        let [duration, window] = [60.0, 0.0].map(|v| self.caller.input.real(v));
        let dtype = self.caller.dtype(F32);
        let singles = self.caller.input_tensor(&[self.crystals], dtype, &|k| 100.0 * (1.0 + plain(k)), true);
        let to = self.of_events_out(events);
        let done = call!(self.caller, isoc_pet_line_randoms(handle, list, duration, window, singles.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    pub(super) fn sample_lines(&mut self) {
        let (handle, List { list, events }, histos) = (self.handle(), self.list(), self.histos(self.views, F32));
        let (to, dropped) = (self.of_events_out(events), self.told());
        let done = call!(self.caller, isoc_pet_sample_lines(handle, list, histos.tensor, to.tensor, dropped));
        self.caller.done(done, Some(to));
    }

    pub(super) fn reconstruct_lines(&mut self) {
        let (handle, List { list, events }) = (self.handle(), self.list());
        let [factors, additive] =
            [(); 2].map(|()| if self.caller.input.odd(2).is_some() { Made::NONE } else { self.of_events(events) });
        let (sensitivity, to, dropped) = (self.image(), self.image_out(), self.told());
        let done = call!(
            self.caller,
            isoc_pet_reconstruct_lines(
                handle,
                list,
                factors.tensor,
                additive.tensor,
                sensitivity.tensor,
                to.tensor,
                dropped
            )
        );
        self.caller.done(done, Some(to));
    }

    pub(super) fn lines_bytes(&mut self) {
        let (handle, events) = (self.handle(), self.caller.input.size(16, 200, EVENTS));
        let bytes = self.caller.passed(0u64);
        let done = call!(self.caller, isoc_pet_lines_memory(handle, events as u64, bytes));
        self.caller.done(done, None);
    }
}
