//! Sessions with `isoc_ct_*`.

use super::caller::{Callbacks, Caller, call};
use super::device::gpu;
use super::input::Input;
use super::memory::Bounds;
use super::session::{Alone, Plan, run};
use super::tensors::{F16, F32, Made, U8, U16, plain};
use isocenter::error::Status;
use isocenter::ffi::ct::*;
use isocenter::ffi::host::*;
use isocenter::ffi::tensor::*;
use std::f64::consts::PI;
use std::ffi::c_void;
use std::ptr;

const SIDE: i64 = 1 << 20;
/// More than sessions iterate.
const ITERATIONS: i64 = 40;

static ALONE: Alone = Alone::new();

/// One session of `isoc_ct_*`; see [`Alone::session`].
pub fn session(bytes: &[u8], bounds: Bounds) {
    ALONE.session(|bytes, bounds| run::<Ct<'_>>(bytes, bounds), bytes, bounds);
}

struct Ct<'d> {
    caller: Caller<'d>,
    plan: *mut isoc_ct,
    sizes: Sizes,
    /// What `reconstruct` stores.
    stored: isoc_dtype,
}

/// Of the geometry that the plan has.
#[derive(Clone, Copy)]
struct Sizes {
    sinograms: bool,
    views: i64,
    rows: i64,
    bins: i64,
    volume: [i64; 3],
}

impl<'d> Plan<'d> for Ct<'d> {
    const STEPS: &'d [fn(&mut Self)] = &[
        Self::options,
        Self::output,
        Self::geometry,
        Self::flat_field,
        Self::stripes,
        Self::tune,
        Self::info,
        Self::angular_weights,
        Self::own_weights,
        Self::bytes,
        Self::shepp_logan,
        Self::phantom_volume,
        Self::phantom_projections,
        Self::filter,
        Self::backproject,
        Self::forward,
        Self::adjoint,
        Self::reconstruct,
        Self::written,
        Self::histogram,
        Self::stream,
        Self::gpu_stream,
        Self::host_memory,
        Self::other_plans,
        Self::find_axis,
        Self::suggest_regularisation,
        Self::find_bad_views,
        Self::ray_weights,
        Self::outliers,
        Self::half_acquisition,
        Self::phase,
        Self::distortion,
        Self::fit_flat_field,
        Self::iterative,
        Self::history,
    ];

    fn new(caller: Caller<'d>) -> Self {
        let mut plan = ptr::null_mut();
        assert!(call!(caller, isoc_ct_create(caller.context, &mut plan)));
        // SAFETY: as call! says; the handle is whatever it is.
        let again = |plan: *mut c_void| unsafe { isoc_ct_memory(plan.cast(), ptr::null_mut()) };
        caller.callbacks.again.set(Some((again, plan.cast())));
        let sizes = Sizes { sinograms: false, views: 6, rows: 2, bins: 8, volume: [2, 8, 8] };
        Self { caller, plan, sizes, stored: F32 }
    }

    fn caller(&mut self) -> &mut Caller<'d> {
        &mut self.caller
    }

    fn destroy(&self) -> Status {
        isoc_ct_destroy(self.plan)
    }
}

impl Ct<'_> {
    fn handle(&mut self) -> *mut isoc_ct {
        self.caller.handle(self.plan)
    }

    fn projections_shape(&self, rows: i64) -> [i64; 3] {
        let Sizes { sinograms, views, bins, .. } = self.sizes;
        if sinograms { [rows, views, bins] } else { [views, rows, bins] }
    }

    fn projections(&mut self, dtype: isoc_dtype) -> Made {
        let (shape, dtype) = (self.projections_shape(self.sizes.rows), self.caller.dtype(dtype));
        self.caller.input_tensor(&shape, dtype, &plain, true)
    }

    fn projections_out(&mut self) -> Made {
        let (shape, dtype) = (self.projections_shape(self.sizes.rows), self.caller.dtype(F32));
        self.caller.output_tensor(&shape, dtype)
    }

    fn volume(&mut self) -> Made {
        let dtype = self.caller.dtype(F32);
        self.caller.input_tensor(&self.sizes.volume, dtype, &plain, true)
    }

    fn volume_out(&mut self) -> Made {
        let dtype = self.caller.dtype(F32);
        self.caller.output_tensor(&self.sizes.volume, dtype)
    }

    fn geometry(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let mut g = isoc_ct_geometry {
            struct_size: input.struct_size(size_of::<isoc_ct_geometry>()),
            order: input.code(2),
            views: input.size(6, 12, SIDE),
            bins: input.size(8, 40, SIDE),
            rows: input.size(2, 4, SIDE),
            angles: ptr::null(),
            axis: ptr::null(),
            axis_count: 0,
            bin_pitch: input.real(0.0),
            pixel_size: input.real(0.0),
            nx: input.size(0, 40, SIDE),
            ny: input.size(0, 40, SIDE),
            x_offset: input.real(0.0),
            y_offset: input.real(0.0),
            first_row: input.size(0, 4, SIDE),
            slices: input.size(0, 4, SIDE),
        };
        let (turn, shift) = (input.real(PI), input.real(0.0));
        g.angles = self.caller.array(g.views, SIDE, |k| shift + turn * k as f64 / g.views as f64);
        if self.caller.input.odd(2).is_some() {
            let middle = self.caller.input.real((g.bins as f64 - 1.0) / 2.0);
            g.axis_count =
                if self.caller.input.odd(2).is_some() { g.views } else { self.caller.input.size(1, 12, SIDE) };
            g.axis = self.caller.array(g.axis_count.max(1), SIDE, |k| middle + 0.01 * k as f64);
        }
        let passed = self.caller.passed(g);
        if self.caller.input.odd(3).is_some() && !passed.is_null() {
            self.region(passed);
            // SAFETY: a geometry of this session.
            g = unsafe { passed.read_unaligned() };
        }
        if self.caller.settled {
            // Flats of before may not serve all rows; there are none where there was no geometry.
            call!(self.caller, isoc_ct_set_flat_field(handle, ptr::null(), ptr::null(), ptr::null()));
            // The careful caller's half turn is no half acquisition, its line integrals have neither outliers nor phase, and shifts of before may
            // be of other views.
            call!(self.caller, isoc_ct_set_half_acquisition(handle, ptr::null()));
            call!(self.caller, isoc_ct_set_distortion(handle, ptr::null()));
            call!(self.caller, isoc_ct_set_outliers(handle, ptr::null()));
            call!(self.caller, isoc_ct_set_phase(handle, ptr::null()));
        }
        let made = call!(self.caller, isoc_ct_set_geometry(handle, passed));
        if made {
            let or = |n: i64, default| if n == 0 { default } else { n };
            let rows = or(g.rows, 1);
            let volume = [or(g.slices, rows - g.first_row), or(g.ny, g.bins), or(g.nx, g.bins)];
            self.sizes = Sizes { sinograms: g.order == 1, views: g.views, rows, bins: g.bins, volume };
        }
        self.caller.done(made, None);
    }

    /// A part of the slice that the geometry describes: sizes are the part's, its pixels lie where they did, and a refusal changes nothing.
    fn region(&mut self, geometry: *mut isoc_ct_geometry) {
        let input = &mut self.caller.input;
        let [c0, r0] = [0; 2].map(|_| input.size(1, 4, SIDE));
        let [c1, r1] = [0; 2].map(|_| input.size(6, 8, SIDE));
        // SAFETY: a geometry of this session.
        let before = unsafe { geometry.read_unaligned() };
        let cut = call!(self.caller, isoc_ct_region(geometry, c0, c1, r0, r1));
        // SAFETY: as above.
        let after = unsafe { geometry.read_unaligned() };
        assert_eq!(
            (before.struct_size, before.views, before.bins, before.angles),
            (after.struct_size, after.views, after.bins, after.angles)
        );
        if !cut {
            let bits = |g: &isoc_ct_geometry| (g.nx, g.ny, g.x_offset.to_bits(), g.y_offset.to_bits());
            assert_eq!(bits(&before), bits(&after), "a region that was refused");
            return;
        }
        let sides = [
            (before.nx, before.x_offset, after.nx, after.x_offset, c0, c1),
            (before.ny, before.y_offset, after.ny, after.y_offset, r0, r1),
        ];
        for (side, offset, part, shifted, begin, end) in sides {
            let side = if side == 0 { before.bins } else { side };
            assert!(begin >= 0 && begin < end && end <= side && part == end - begin);
            if offset.abs() < 1e8 {
                let axis = |n: i64, offset: f64| (n as f64 - 1.0) / 2.0 + offset;
                assert!((axis(side, offset) - axis(part, shifted) - begin as f64).abs() < 1e-6, "the axis has moved");
            }
        }
    }

    fn options(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let mut o = isoc_ct_options {
            struct_size: input.struct_size(size_of::<isoc_ct_options>()),
            filter: input.code(9),
            interpolation: input.code(4),
            padding: input.code(2),
            weighted_backprojection: input.code(2),
            kernel: input.code(6),
            cutoff: input.real(0.0),
            butterworth_order: input.real(0.0),
            response: ptr::null(),
            response_count: input.size(0, 12, SIDE),
            minimum_transmission: input.real(0.0),
            precision: input.code(2),
            input: input.code(4),
            tolerance: input.real(0.0),
            projector: input.code(2),
            algorithm: input.code(6),
        };
        let scale = input.real(0.1);
        o.response = self.caller.array(o.response_count, SIDE, |k| (scale * k as f64) as f32);
        let passed = self.caller.passed(o);
        let done = call!(self.caller, isoc_ct_set_options(handle, passed));
        self.caller.done(done, None);
    }

    fn output(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        // Bytes choose the type; a careful caller takes u8.
        let dtype = input.odd(4).map_or(1, |k| [0, 1, 2, 3, 4, u32::MAX][usize::from(k) % 6]);
        let (percentiles, all) = (input.odd(4).is_some(), input.odd(4).is_some());
        let window = if percentiles { [0.0, 0.0, 5.0, 95.0] } else { [-1.0, 1.0, 0.0, 0.0] };
        let [low, high, low_percentile, high_percentile] = window.map(|v| input.real(v));
        let o = isoc_ct_output {
            struct_size: input.struct_size(size_of::<isoc_ct_output>()),
            dtype,
            low,
            high,
            low_percentile,
            high_percentile,
            histogram_slices: if all { -1 } else { input.size(0, 4, i64::MAX) },
            mask_radius: input.real(0.9),
            mask_value: input.real(0.0),
            histogram_bins: input.size(16, 200, i64::MAX),
        };
        let passed = self.caller.passed(o);
        let done = call!(self.caller, isoc_ct_set_output(handle, passed));
        if done {
            let types = [F32, U8, U16, F16];
            self.stored = if passed.is_null() { F32 } else { types[dtype as usize] };
        }
        self.caller.done(done, None);
    }

    fn written(&mut self) {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut info: isoc_ct_output_info = unsafe { std::mem::zeroed() };
        let handle = self.handle();
        info.struct_size = self.caller.input.struct_size(size_of::<isoc_ct_output_info>());
        let passed = self.caller.passed(info);
        let done = call!(self.caller, isoc_ct_get_output(handle, passed));
        self.caller.done(done, None);
    }

    fn histogram(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.size(16, 200, SIDE));
        let counts = self.caller.array(n, i64::MAX, |_| 0i64);
        let count = self.caller.passed(0i64);
        let done = call!(self.caller, isoc_ct_get_histogram(handle, counts, n, count));
        self.caller.done(done, None);
    }

    fn stripes(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let s = isoc_ct_stripes {
            struct_size: input.struct_size(size_of::<isoc_ct_stripes>()),
            method: input.code(5),
            snr: input.real(0.0),
            large_window: input.size(0, 12, SIDE),
            small_window: input.size(0, 12, SIDE),
            drop_ratio: input.real(0.0),
            alpha: input.real(0.0),
            sigma: input.real(0.0),
            levels: input.size(0, 3, SIDE),
            wavelet: input.size(0, 20, SIDE),
        };
        let passed = self.caller.passed(s);
        let done = call!(self.caller, isoc_ct_set_stripes(handle, passed));
        self.caller.done(done, None);
    }

    fn phase(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        // By the length, of a tenth of a bin, or by what it is made of: frames are padded by the kernel's reach, which is then 30 bins or so.
        let by_length = input.byte() < 128;
        let given = |input: &mut Input<'_>, on: bool, usual: f64| if on { input.real(usual) } else { 0.0 };
        let p = isoc_ct_phase {
            struct_size: input.struct_size(size_of::<isoc_ct_phase>()),
            method: if by_length { 0 } else { input.code(2) },
            energy_kev: given(input, !by_length, 20.0),
            distance_mm: given(input, !by_length, 1.0),
            pixel_um: input.real(1.0),
            delta_beta: given(input, !by_length, 0.1),
            length_um: given(input, by_length, 0.1),
            alpha: input.real(0.0),
            unsharp_sigma: 0.0,
            unsharp_amount: 0.0,
        };
        let mask = input.odd(3).is_some();
        let [unsharp_sigma, unsharp_amount] = [1.0, 0.5].map(|usual| given(input, mask, usual));
        let passed = self.caller.passed(isoc_ct_phase { unsharp_sigma, unsharp_amount, ..p });
        let done = call!(self.caller, isoc_ct_set_phase(handle, passed));
        self.caller.done(done, None);
    }

    fn distortion(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        // Each may be there or not; coefficients fall off with their power, so that pixels of such detectors move by some bins.
        let [radial, mapped, aside, along] = [0; 4].map(|_| input.odd(2).is_some());
        let [constant, slope, shear, shift] = [1.0, 0.02, 0.01, 0.5].map(|usual| input.real(usual));
        let radial_count = if radial { input.size(2, 11, SIDE) } else { 0 };
        let shift_count = if aside || along { input.size(self.sizes.views, 12, SIDE) } else { 0 };
        let mut d = isoc_ct_distortion {
            struct_size: input.struct_size(size_of::<isoc_ct_distortion>()),
            reserved: 0,
            radial: ptr::null(),
            radial_count,
            x_centre: input.real(3.0),
            y_centre: input.real(0.5),
            perspective: ptr::null(),
            tilt: input.real(0.02),
            x_shifts: ptr::null(),
            y_shifts: ptr::null(),
            shift_count,
        };
        if radial {
            let power = |k: usize| if k == 0 { constant } else { slope / 20f64.powi(k as i32) };
            d.radial = self.caller.array(radial_count, SIDE, power);
        }
        if mapped {
            let map = [1.0, shear, shift, -shear, 1.0, -shift, 0.0, 1e-3 * shear];
            d.perspective = self.caller.array(8, SIDE, |k| map[k]);
        }
        let of_views = |k: usize| shift * (k % 3) as f64;
        if aside {
            d.x_shifts = self.caller.array(shift_count, SIDE, of_views);
        }
        if along {
            d.y_shifts = self.caller.array(shift_count, SIDE, of_views);
        }
        let passed = if self.caller.settled { ptr::null_mut() } else { self.caller.passed(d) };
        let done = call!(self.caller, isoc_ct_set_distortion(handle, passed));
        self.caller.done(done, None);
    }

    fn outliers(&mut self) {
        let handle = self.handle();
        let outliers = self.outlier_options();
        let passed = self.caller.passed(outliers);
        let done = call!(self.caller, isoc_ct_set_outliers(handle, passed));
        self.caller.done(done, None);
    }

    fn outlier_options(&mut self) -> isoc_ct_outliers {
        let input = &mut self.caller.input;
        isoc_ct_outliers {
            struct_size: input.struct_size(size_of::<isoc_ct_outliers>()),
            unit: input.code(3),
            side: input.code(3),
            window: input.size(0, 6, SIDE),
            depth: input.size(0, 4, SIDE),
            threshold: input.real(0.0),
        }
    }

    /// NULL, or options of up to three groups.
    fn flat_field_options(&mut self) -> *const isoc_ct_flat_field_options {
        if self.caller.input.byte() < 128 {
            return ptr::null();
        }
        let groups = self.caller.input.size(0, 4, SIDE);
        let frames = self.caller.array(groups, SIDE, |_| 1i64);
        let position = self.caller.input.real(1.0);
        let group_positions = self.caller.array(groups, SIDE, |k| position * k as f64);
        let monitor = self.caller.input.real(1.0);
        let (views, measured) = (self.sizes.views, self.caller.input.byte() < 128);
        let group_monitor = if measured { self.caller.array(groups, SIDE, |_| monitor) } else { ptr::null_mut() };
        let of_views = if measured { self.caller.array(views, SIDE, |_| monitor) } else { ptr::null_mut() };
        let outliers = self.outlier_options();
        let outliers = if self.caller.input.byte() < 128 { self.caller.passed(outliers) } else { ptr::null_mut() };
        let input = &mut self.caller.input;
        let options = isoc_ct_flat_field_options {
            struct_size: input.struct_size(size_of::<isoc_ct_flat_field_options>()),
            combine: input.code(2),
            group_frames: frames,
            group_positions,
            group_monitor,
            group_count: groups,
            monitor: of_views,
            monitor_count: if measured { views } else { 0 },
            bad_pixels: input.real(0.0),
            outliers,
            eigenflats: input.size(0, 4, i64::MAX),
        };
        self.caller.passed(options)
    }

    fn half_acquisition(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let half = isoc_ct_half_acquisition {
            struct_size: input.struct_size(size_of::<isoc_ct_half_acquisition>()),
            rise: input.code(2),
            overlap: input.real(0.0),
        };
        let passed = if self.caller.settled { ptr::null_mut() } else { self.caller.passed(half) };
        let done = call!(self.caller, isoc_ct_set_half_acquisition(handle, passed));
        self.caller.done(done, None);
    }

    fn iterative(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let o = isoc_ct_iterative {
            struct_size: input.struct_size(size_of::<isoc_ct_iterative>()),
            start: input.code(2),
            // Not the limit: a million iterations take their time.
            iterations: input.small(3, 5, 1_000_000),
            subsets: input.size(0, 7, SIDE),
            relaxation: input.real(0.0),
            bounds: input.code(3),
            normal: input.code(3),
            lower: input.real(0.0),
            upper: input.real(0.0),
            mask_radius: input.real(0.0),
            regularisation: input.real(0.0),
            tolerance: input.real(0.0),
            huber: input.real(0.0),
            weighting: input.code(3),
            fit: input.code(2),
            variation: input.code(2),
            reserved: 0,
            ring_weight: input.real(0.0),
        };
        let passed = self.caller.passed(o);
        let done = call!(self.caller, isoc_ct_set_iterative(handle, passed));
        self.caller.done(done, None);
    }

    fn history(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.size(ITERATIONS, 200, SIDE));
        let none = isoc_ct_iteration { iteration: 0, objective: 0.0, gap: 0.0, slices: 0 };
        let iterations = self.caller.room(n, ITERATIONS, none);
        let count = self.caller.passed(0i64);
        let done = call!(self.caller, isoc_ct_history(handle, iterations, n, count));
        // A careful caller's reconstructions do not iterate, and leave none.
        self.caller.done(done || self.caller.settled, None);
    }

    fn flat_field(&mut self) {
        let handle = self.handle();
        let forget = Made::NONE;
        let Sizes { rows, bins, .. } = self.sizes;
        let frames = |caller: &mut Caller<'_>, value: f64| {
            if caller.input.byte() < 64 {
                return forget;
            }
            let (frames, dtype) = (caller.input.small(2, 4, SIDE), caller.dtype(U16));
            caller.input_tensor(&[frames, rows, bins], dtype, &|k| value + 0.001 * (k % 5) as f64, false)
        };
        let (flats, darks) = (frames(&mut self.caller, 2.0), frames(&mut self.caller, 0.0));
        let options = self.flat_field_options();
        let done = call!(self.caller, isoc_ct_set_flat_field(handle, flats.tensor, darks.tensor, options));
        self.caller.done(done, None);
    }

    fn tune(&mut self) {
        // What is measured on a GPU differs from session to session, and so do then the kernels, and the last bits of their results.
        if self.caller.settled && gpu().is_some() {
            return;
        }
        let handle = self.handle();
        let done = call!(self.caller, isoc_ct_tune(handle));
        self.caller.done(done, None);
    }

    fn gpu_stream(&mut self) {
        let handle = self.handle();
        let done = call!(self.caller, isoc_ct_set_stream(handle, ptr::null_mut()));
        self.caller.done(done, None);
    }

    fn info(&mut self) {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut info: isoc_ct_info = unsafe { std::mem::zeroed() };
        let handle = self.handle();
        info.struct_size = self.caller.input.struct_size(size_of::<isoc_ct_info>());
        let passed = self.caller.passed(info);
        let done = call!(self.caller, isoc_ct_get_info(handle, passed));
        self.caller.done(done, None);
    }

    fn angular_weights(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.size(self.sizes.views, 12, SIDE));
        let weights = self.caller.array(n, i64::MAX, |_| 0.0);
        let count = self.caller.passed(0i64);
        let done = call!(self.caller, isoc_ct_get_angular_weights(handle, weights, n, count));
        self.caller.done(done, None);
    }

    fn own_weights(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.size(self.sizes.views, 12, SIDE));
        let first = self.caller.input.real(0.1);
        let weights = self.caller.array(n, SIDE, |k| first + 0.01 * k as f64);
        let done = call!(self.caller, isoc_ct_set_angular_weights(handle, weights, n));
        self.caller.done(done, None);
    }

    fn bytes(&mut self) {
        let (handle, bytes) = (self.handle(), self.caller.passed(0u64));
        let done = call!(self.caller, isoc_ct_memory(handle, bytes));
        self.caller.done(done, None);
    }

    fn shepp_logan(&mut self) {
        let (kind, radius) = (self.caller.input.code(2), self.caller.input.real(3.0));
        let n = self.caller.input.size(ISOC_CT_SHEPP_LOGAN_ELLIPSES, 12, SIDE);
        let zero = isoc_ct_ellipse { value: 0.0, x: 0.0, y: 0.0, semi_x: 0.0, semi_y: 0.0, angle: 0.0 };
        let (ellipses, count) = (self.caller.room(n, ISOC_CT_SHEPP_LOGAN_ELLIPSES, zero), self.caller.count());
        let done = call!(self.caller, isoc_ct_shepp_logan(kind, radius, ellipses, n, count));
        self.caller.done(done, None);
    }

    fn ellipses(&mut self) -> (*const isoc_ct_ellipse, i64) {
        let n = self.caller.input.small(2, 4, SIDE);
        let [value, x, y, semi_x, semi_y, angle] = [1.0, 0.5, -0.25, 2.0, 1.5, 0.3].map(|v| self.caller.input.real(v));
        (self.caller.array(n, SIDE, |_| isoc_ct_ellipse { value, x, y, semi_x, semi_y, angle }), n)
    }

    fn phantom_volume(&mut self) {
        let (handle, (ellipses, n), volume) = (self.handle(), self.ellipses(), self.volume_out());
        let done = call!(self.caller, isoc_ct_phantom_volume(handle, ellipses, n, volume.tensor));
        self.caller.done(done, Some(volume));
    }

    fn phantom_projections(&mut self) {
        let (handle, (ellipses, n), projections) = (self.handle(), self.ellipses(), self.projections_out());
        let done = call!(self.caller, isoc_ct_phantom_projections(handle, ellipses, n, projections.tensor));
        self.caller.done(done, Some(projections));
    }

    fn filter(&mut self) {
        let (handle, from, to) = (self.handle(), self.projections(F32), self.projections_out());
        let done = call!(self.caller, isoc_ct_filter(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn backproject(&mut self) {
        let (handle, from, to) = (self.handle(), self.projections(F32), self.volume_out());
        let done = call!(self.caller, isoc_ct_backproject(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn forward(&mut self) {
        let (handle, from, to) = (self.handle(), self.volume(), self.projections_out());
        let done = call!(self.caller, isoc_ct_forward(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn adjoint(&mut self) {
        let (handle, from, to) = (self.handle(), self.projections(F32), self.volume_out());
        let done = call!(self.caller, isoc_ct_adjoint(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn reconstruct(&mut self) {
        let (handle, from, dtype) = (self.handle(), self.projections(F32), self.caller.dtype(self.stored));
        let to = self.caller.output_tensor(&self.sizes.volume, dtype);
        let done = call!(self.caller, isoc_ct_reconstruct(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn find_axis(&mut self) {
        let (handle, from) = (self.handle(), self.projections(F32));
        let input = &mut self.caller.input;
        let options = isoc_ct_axis_options {
            struct_size: input.struct_size(size_of::<isoc_ct_axis_options>()),
            method: input.code(4),
            low: input.real(0.0),
            high: input.real(0.0),
            rows: input.size(0, 4, SIDE),
            tilt: input.code(2),
            reserved: 0,
        };
        // SAFETY: numbers and a pointer, for which zeros are valid.
        let mut found: isoc_ct_axis = unsafe { std::mem::zeroed() };
        found.struct_size = input.struct_size(size_of::<isoc_ct_axis>());
        found.curve_count = input.size(0, 40, SIDE);
        found.curve = self.caller.array(found.curve_count, SIDE, |_| 0.0);
        let (options, found) = (self.caller.passed(options), self.caller.passed(found));
        // No note is taken: a careful caller's rows of 8 bins are too short for it.
        call!(self.caller, isoc_ct_find_axis(handle, from.tensor, options, found));
    }

    fn suggest_regularisation(&mut self) {
        let (handle, from) = (self.handle(), self.projections(F32));
        let (weight, noise) = (self.caller.passed(0.0f64), self.caller.passed(0.0f64));
        // No note is taken: a careful caller's rows of 8 bins are too short for it.
        call!(self.caller, isoc_ct_suggest_regularisation(handle, from.tensor, weight, noise));
    }

    fn find_bad_views(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.size(self.sizes.views, 12, SIDE));
        let from = self.projections(F32);
        let faults = self.caller.array(n, i64::MAX, |_| 7u32);
        let done = call!(self.caller, isoc_ct_find_bad_views(handle, from.tensor, faults, n));
        self.caller.done(done, None);
    }

    fn ray_weights(&mut self) {
        let (handle, Sizes { views, bins, .. }) = (self.handle(), self.sizes);
        let dtype = self.caller.dtype(F32);
        let weights = self.caller.input_tensor(&[views, bins], dtype, &|k| 0.5 + 0.1 * (k % 5) as f64, false);
        let done = call!(self.caller, isoc_ct_set_ray_weights(handle, weights.tensor));
        self.caller.done(done, None);
    }

    /// Flats with waves of several strengths: those of other sessions hardly differ.
    fn drifting_flats(&mut self) {
        let (handle, Sizes { rows, bins, .. }) = (self.handle(), self.sizes);
        let plane = rows.saturating_mul(bins).max(1) as usize;
        // SAFETY: numbers and pointers, for which zeros are valid.
        let mut options: isoc_ct_flat_field_options = unsafe { std::mem::zeroed() };
        options.struct_size = self.caller.input.struct_size(size_of::<isoc_ct_flat_field_options>());
        options.eigenflats = self.caller.input.size(1, 4, i64::MAX);
        let dtype = self.caller.dtype(U16);
        let wave = |k: usize| 100.0 + if k % 8 < 4 { 10.0 } else { -10.0 } * (k / plane) as f64;
        let flats = self.caller.input_tensor(&[4, rows, bins], dtype, &wave, false);
        let passed = self.caller.passed(options);
        let done = call!(self.caller, isoc_ct_set_flat_field(handle, flats.tensor, ptr::null(), passed));
        self.caller.done(done, None);
    }

    fn fit_flat_field(&mut self) {
        if !self.caller.settled && self.caller.input.byte() >= 128 {
            self.drifting_flats();
        }
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let (views, first) = (input.size(self.sizes.views, 12, SIDE), input.size(0, 12, i64::MAX));
        let options = isoc_ct_flat_fit_options {
            struct_size: input.struct_size(size_of::<isoc_ct_flat_fit_options>()),
            reserved: 0,
            binning: input.size(0, 4, i64::MAX),
        };
        // SAFETY: numbers and pointers, for which zeros are valid.
        let mut found: isoc_ct_flat_fit = unsafe { std::mem::zeroed() };
        found.struct_size = input.struct_size(size_of::<isoc_ct_flat_fit>());
        found.component_count = input.size(4, 20, 64);
        found.weight_count = views.saturating_mul(found.component_count);
        let mut shape = self.projections_shape(self.sizes.rows);
        shape[usize::from(self.sizes.sinograms)] = views;
        let dtype = self.caller.dtype(U16);
        let from = self.caller.input_tensor(&shape, dtype, &plain, true);
        found.explained = self.caller.array(found.component_count, 20, |_| 0.0);
        found.weights = self.caller.array(found.weight_count, SIDE, |_| 0.0);
        let (options, found) = (self.caller.passed(options), self.caller.passed(found));
        // No note is taken: a careful caller's flats have no components.
        call!(self.caller, isoc_ct_fit_flat_field(handle, from.tensor, first, options, found));
    }

    fn stream(&mut self) {
        let (handle, dtype) = (self.handle(), self.caller.dtype(F32));
        let [read, write] = [0; 2].map(|_| self.caller.input.odd(96) != Some(0));
        let read: isoc_ct_read_fn = read.then_some(read_slab);
        let write: isoc_ct_write_fn = write.then_some(write_slab);
        let user = (&raw const *self.caller.callbacks).cast_mut().cast();
        let done = call!(self.caller, isoc_ct_reconstruct_stream(handle, dtype, read, write, user));
        self.caller.done(done, None);
    }

    fn host_memory(&mut self) {
        let context = self.caller.handle(self.caller.context);
        let bytes =
            self.caller.input.odd(96).map_or(64, |k| [0, 1, u64::MAX, 1 << 63, 1 << 62, 1 << 61][usize::from(k) % 6]);
        let out = self.caller.passed(ptr::null_mut::<c_void>());
        if call!(self.caller, isoc_host_alloc(context, bytes, out)) {
            // SAFETY: the call has set it.
            let data = unsafe { out.read_unaligned() };
            // SAFETY: so much memory is there.
            unsafe { data.cast::<u8>().write_bytes(1, bytes as usize) };
            let foreign = self.caller.handle(data);
            let freed = call!(self.caller, isoc_host_free(foreign));
            if foreign != data {
                assert!(!freed || foreign.is_null());
                assert_eq!(isoc_host_free(data), Status::Ok);
            }
        }
    }

    /// Plans come and go, from good contexts and from none, beside this one.
    fn other_plans(&mut self) {
        let context = self.caller.handle(self.caller.context);
        let out = self.caller.passed(ptr::null_mut::<isoc_ct>());
        if call!(self.caller, isoc_ct_create(context, out)) {
            // SAFETY: the call has set it.
            let plan = unsafe { out.read_unaligned() };
            assert_ne!(plan, self.plan);
            assert_eq!(isoc_ct_destroy(plan), Status::Ok);
        }
        let foreign = self.caller.handle(self.plan);
        if foreign != self.plan {
            let destroyed = call!(self.caller, isoc_ct_destroy(foreign));
            assert_eq!(destroyed, foreign.is_null());
        }
    }
}

/// # Safety
/// `tensor` is one of the library's, contiguous.
unsafe fn slab(user: *mut c_void, count: i64, tensor: *const isoc_tensor, slices: usize) -> (i32, *mut u8, usize) {
    // SAFETY: as isoc_ct_read_fn and isoc_ct_write_fn say.
    unsafe {
        let t = &*tensor;
        let shape = std::slice::from_raw_parts(t.shape, t.ndim as usize);
        assert_eq!(shape[slices], count);
        let bytes = shape.iter().product::<i64>() as usize * usize::from(t.dtype.bits) / 8;
        ((*user.cast::<Callbacks>()).stops().into(), t.data.cast(), bytes)
    }
}

unsafe extern "C" fn read_slab(user: *mut c_void, first: i64, count: i64, tensor: *const isoc_tensor) -> i32 {
    // Rows beside the volume's first slice are below 0.
    assert!(first >= -SIDE && count > 0);
    // SAFETY: the library's own.
    unsafe {
        let frames = *(*tensor).shape.add(1) == count;
        let (stop, data, bytes) = slab(user, count, tensor, usize::from(frames));
        data.write_bytes(0x10, bytes);
        stop
    }
}

unsafe extern "C" fn write_slab(user: *mut c_void, first: i64, count: i64, tensor: *const isoc_tensor) -> i32 {
    assert!(first >= 0 && count > 0);
    // SAFETY: the library's own.
    unsafe {
        let (stop, data, bytes) = slab(user, count, tensor, 0);
        assert!(std::slice::from_raw_parts(data, bytes).iter().fold(0u64, |n, b| n + u64::from(*b)) < u64::MAX);
        stop
    }
}
