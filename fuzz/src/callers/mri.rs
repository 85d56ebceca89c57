//! Sessions with `isoc_mri_*`.

use super::caller::{Callbacks, Caller, call};
use super::memory::Bounds;
use super::session::{Alone, Plan, run};
use super::tensors::{C64, F32, Made, Values, plain};
use isocenter::error::Status;
use isocenter::ffi::mri::*;
use isocenter::ffi::tensor::{isoc_dtype, isoc_tensor};
use std::ffi::c_void;
use std::ptr;

const SIDE: i64 = 1 << 16;
const SAMPLES: i64 = 1 << 40;
const ITERATIONS: i64 = 1 << 20;
const ELLIPSOIDS: i64 = 1 << 20;
const FRAMES: i64 = 1 << 16;
/// More than any solution here has.
const RESIDUALS: i64 = 64;

static ALONE: Alone = Alone::new();

/// One session of `isoc_mri_*`; see [`Alone::session`].
pub fn session(bytes: &[u8], bounds: Bounds) {
    ALONE.session(|bytes, bounds| run::<Mri<'_>>(bytes, bounds), bytes, bounds);
}

struct Mri<'d> {
    caller: Caller<'d>,
    plan: *mut isoc_mri,
    sizes: Sizes,
}

/// Of the geometry that the plan has.
#[derive(Clone, Copy)]
struct Sizes {
    grid: [i64; 3],
    axes: i64,
    samples: i64,
    coils: i64,
    /// Images of a scan, without frames and basis.
    images: i64,
    /// Frames, or images of a basis.
    series: i64,
}

impl<'d> Plan<'d> for Mri<'d> {
    const STEPS: &'d [fn(&mut Self)] = &[
        Self::options,
        Self::geometry,
        Self::maps,
        Self::weights,
        Self::compute_weights,
        Self::get_weights,
        Self::field,
        Self::positions,
        Self::difference_weights,
        Self::matrix,
        Self::frames,
        Self::windows,
        Self::basis,
        Self::shots,
        Self::scans,
        Self::info,
        Self::bytes,
        Self::gpu_stream,
        Self::shepp_logan,
        Self::phantom_samples,
        Self::phantom_image,
        Self::forward,
        Self::adjoint,
        Self::gridding,
        Self::normal,
        Self::reconstruct,
        Self::stream,
        Self::stream_bytes,
        Self::history,
        Self::compare,
        Self::compute_q,
        Self::export_q,
        Self::import_q,
        Self::other_plans,
        Self::find_delays,
        Self::delayed_trajectory,
        |mri| mri.beside_the_plan(Self::coil_matrices),
        |mri| mri.beside_the_plan(Self::coil_lines),
        |mri| mri.beside_the_plan(Self::coil_maps),
        Self::find_maps,
    ];

    fn new(caller: Caller<'d>) -> Self {
        let mut plan = ptr::null_mut();
        assert!(call!(caller, isoc_mri_create(caller.context, &mut plan)));
        // SAFETY: as call! says; the handle is whatever it is.
        let again = |plan: *mut c_void| unsafe { isoc_mri_memory(plan.cast(), ptr::null_mut()) };
        caller.callbacks.again.set(Some((again, plan.cast())));
        Self { caller, plan, sizes: Sizes { grid: [1, 8, 8], axes: 2, samples: 24, coils: 2, images: 2, series: 1 } }
    }

    fn caller(&mut self) -> &mut Caller<'d> {
        &mut self.caller
    }

    fn destroy(&self) -> Status {
        isoc_mri_destroy(self.plan)
    }
}

impl Mri<'_> {
    fn handle(&mut self) -> *mut isoc_mri {
        self.caller.handle(self.plan)
    }

    fn input(&mut self, shape: &[i64], dtype: isoc_dtype, values: Values<'_>) -> Made {
        let dtype = self.caller.dtype(dtype);
        self.caller.input_tensor(shape, dtype, values, true)
    }

    /// An input that most sessions go without: NULL then.
    fn optional(&mut self, shape: &[i64], dtype: isoc_dtype, values: Values<'_>) -> Made {
        if self.caller.input.byte() < 64 { Made::NONE } else { self.input(shape, dtype, values) }
    }

    fn output(&mut self, shape: &[i64], dtype: isoc_dtype) -> Made {
        let dtype = self.caller.dtype(dtype);
        self.caller.output_tensor(shape, dtype)
    }

    fn grids(&self, first: i64) -> [i64; 4] {
        let [nz, ny, nx] = self.sizes.grid;
        [first, nz, ny, nx]
    }

    fn samples(&mut self) -> Made {
        self.input(&[self.sizes.coils, self.sizes.samples], C64, &plain)
    }

    fn samples_out(&mut self) -> Made {
        self.output(&[self.sizes.coils, self.sizes.samples], C64)
    }

    fn image(&mut self) -> Made {
        self.input(&self.grids(self.sizes.images.saturating_mul(self.sizes.series)), C64, &plain)
    }

    fn image_out(&mut self) -> Made {
        self.output(&self.grids(self.sizes.images.saturating_mul(self.sizes.series)), C64)
    }

    fn geometry(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let g = isoc_mri_geometry {
            struct_size: input.struct_size(size_of::<isoc_mri_geometry>()),
            unit: input.odd(96).map_or(1, |k| u32::from(k % 5)),
            precision: input.code(2),
            axes: input.odd(96).map_or(0, |k| u32::from(k % 5)),
            nx: input.size(8, 20, SIDE),
            ny: input.size(8, 20, SIDE),
            nz: input.size(1, 6, SIDE),
            samples: input.size(24, 64, SAMPLES),
            coils: input.size(2, 3, SIDE),
        };
        let axes = match g.axes {
            0 if g.nz <= 1 => 2,
            0 => 3,
            n => n.into(),
        };
        let spokes = |k: usize| [0.4, -0.3, 0.1][k % axes as usize % 3] * ((k / axes as usize) as f64 / 12.0 - 1.0);
        let trajectory = self.input(&[g.samples, axes], F32, &spokes);
        let passed = self.caller.passed(g);
        let made = call!(self.caller, isoc_mri_set_geometry(handle, passed, trajectory.tensor));
        if made {
            let coils = g.coils.max(1);
            self.sizes =
                Sizes { grid: [g.nz.max(1), g.ny, g.nx], axes, samples: g.samples, coils, images: coils, series: 1 };
        }
        self.caller.done(made, None);
    }

    fn options(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let o = isoc_mri_options {
            struct_size: input.struct_size(size_of::<isoc_mri_options>()),
            method: input.code(3),
            normal: input.code(3),
            penalty: input.code(6),
            warm_start: input.code(2),
            sines: input.code(2),
            iterations: input.small(3, 6, ITERATIONS),
            tolerance: input.real(0.0),
            upsampling: input.real(0.0),
            lambda: input.real(0.01),
            residual: input.real(0.0),
            algorithm: input.code(4),
            wavelet: input.code(2),
            levels: input.code(4),
            fixed_grid: input.code(2),
            huber: input.real(0.0),
            block: input.small(0, 4, 64),
            joint: input.code(2),
            reserved: 0,
            imaginary: input.real(0.0),
        };
        let passed = self.caller.passed(o);
        let done = call!(self.caller, isoc_mri_set_options(handle, passed));
        self.caller.done(done, None);
    }

    fn maps(&mut self) {
        let (handle, of_set) = (self.handle(), self.grids(self.sizes.coils));
        let sets = 1 + self.caller.input.below(3) as i64;
        let shape = if sets == 1 { of_set.to_vec() } else { [&[sets], &of_set[..]].concat() };
        let forget = self.caller.input.odd(2).is_some();
        let maps = if forget { Made::NONE } else { self.input(&shape, C64, &|k| 0.2 + plain(k)) };
        let done = call!(self.caller, isoc_mri_set_maps(handle, maps.tensor));
        if done {
            self.sizes.images = if maps.tensor.is_null() { self.sizes.coils } else { sets };
        }
        self.caller.done(done, None);
    }

    fn weights(&mut self) {
        let (handle, weights) = (self.handle(), self.optional(&[self.sizes.samples], F32, &|k| 0.01 + plain(k)));
        let done = call!(self.caller, isoc_mri_set_weights(handle, weights.tensor));
        self.caller.done(done, None);
    }

    fn compute_weights(&mut self) {
        let (handle, density) = (self.handle(), self.caller.input.code(2));
        let parameter = self.caller.input.small(5, 30, ITERATIONS);
        let done = call!(self.caller, isoc_mri_compute_weights(handle, density, parameter));
        self.caller.done(done, None);
    }

    fn get_weights(&mut self) {
        let (handle, weights) = (self.handle(), self.output(&[self.sizes.samples], F32));
        let done = call!(self.caller, isoc_mri_get_weights(handle, weights.tensor));
        self.caller.done(done, Some(weights));
    }

    fn field(&mut self) {
        let (handle, grid) = (self.handle(), self.sizes.grid);
        let field = self.optional(&grid, F32, &plain);
        let times = self.optional(&[self.sizes.samples], F32, &|k| 1e-3 * k as f64);
        let decay = self.optional(&grid, F32, &plain);
        let done = call!(self.caller, isoc_mri_set_field(handle, field.tensor, times.tensor, decay.tensor));
        self.caller.done(done, None);
    }

    fn positions(&mut self) {
        let (handle, [nz, ny, nx]) = (self.handle(), self.sizes.grid);
        let positions = self.optional(&[nz, ny, nx, self.sizes.axes], F32, &plain);
        let done = call!(self.caller, isoc_mri_set_positions(handle, positions.tensor));
        self.caller.done(done, None);
    }

    fn difference_weights(&mut self) {
        let axes = if self.sizes.grid[0] == 1 { 2 } else { 3 };
        let (handle, weights) = (self.handle(), self.optional(&self.grids(axes), F32, &plain));
        let done = call!(self.caller, isoc_mri_set_difference_weights(handle, weights.tensor));
        self.caller.done(done, None);
    }

    fn matrix(&mut self) {
        let (handle, voxels) = (self.handle(), self.sizes.grid.iter().fold(1i64, |n, s| n.saturating_mul(*s)));
        let (rows, entries) = (self.caller.input.small(3, 6, SAMPLES), self.caller.input.small(6, 12, SAMPLES));
        let (step, odd) = (self.caller.input.small(2, 4, SAMPLES), self.caller.input.odd(96));
        let starts = self.caller.array(rows.saturating_add(1), SAMPLES + 1, |k| match odd {
            Some(0) => -(k as i64),
            Some(1) => i64::MAX - k as i64,
            _ => (k as i64).saturating_mul(step),
        });
        let columns = self.caller.array(entries, SAMPLES, |k| match odd {
            Some(2) => k as i64 - 1,
            Some(3) => voxels,
            _ => k as i64 % voxels,
        });
        let dtype = self.caller.dtype(F32);
        // As many values as the call is told, or their shape says otherwise.
        let values = self.caller.input_tensor(&[entries], dtype, &plain, true);
        let done = call!(self.caller, isoc_mri_set_matrix(handle, rows, starts, columns, entries, values.tensor));
        self.caller.done(done, None);
    }

    fn frames(&mut self) {
        let (handle, samples, odd) = (self.handle(), self.sizes.samples, self.caller.input.odd(48));
        let frames = self.caller.input.small(3, 5, FRAMES);
        let first = self.caller.array(frames, FRAMES, |k| match odd {
            Some(0) => -1,
            Some(1) => i64::MAX - k as i64,
            _ => (k as i64).saturating_mul(3) % samples.max(1),
        });
        let counts = self.caller.array(frames, FRAMES, |k| match odd {
            Some(2) => 0,
            Some(3) => samples.saturating_add(1),
            _ => samples - (k as i64).saturating_mul(3) % samples.max(1),
        });
        let done = call!(self.caller, isoc_mri_set_frames(handle, frames, first, counts));
        self.caller.done(done, None);
        if done {
            self.sizes.series = frames.max(1);
            self.forget_frames();
        }
    }

    /// As a rule, since other calls are not for frames.
    fn forget_frames(&mut self) {
        if self.caller.input.odd(2).is_none() {
            self.adjoint();
            let (handle, none) = (self.handle(), ptr::null());
            let done = call!(self.caller, isoc_mri_set_frames(handle, 0, none, none));
            self.caller.done(done, None);
            if done {
                self.sizes.series = 1;
            }
        }
    }

    fn windows(&mut self) {
        let handle = self.handle();
        let (length, step) = (self.caller.input.small(12, 24, SAMPLES), self.caller.input.small(6, 12, SAMPLES));
        let done = call!(self.caller, isoc_mri_set_windows(handle, length, step));
        self.caller.done(done, None);
        if done {
            self.sizes.series = (self.sizes.samples - length) / step + 1;
            self.forget_frames();
        }
    }

    fn basis(&mut self) {
        let (handle, samples, forget) = (self.handle(), self.sizes.samples, self.caller.input.odd(3).is_some());
        let (times, images) = (self.caller.input.small(4, 6, SAMPLES), self.caller.input.small(2, 4, SAMPLES));
        let (each, odd) = (self.caller.input.odd(4).is_some(), self.caller.input.odd(48));
        let shape = [if each { samples } else { times }, images];
        let dtype = self.caller.dtype(F32);
        let basis =
            if forget { Made::NONE } else { self.caller.input_tensor(&shape, dtype, &|k| 0.2 + plain(k), true) };
        let rows = if each || forget {
            ptr::null()
        } else {
            self.caller.array(samples, SAMPLES, |m| match odd {
                Some(0) => -1,
                Some(1) => times,
                _ => m as i64 % times.max(1),
            })
        };
        let done = call!(self.caller, isoc_mri_set_basis(handle, basis.tensor, rows));
        self.caller.done(done, None);
        if done {
            self.sizes.series = if basis.tensor.is_null() { 1 } else { images };
            // As above.
            if self.caller.input.odd(2).is_none() {
                self.adjoint();
                let handle = self.handle();
                let done = call!(self.caller, isoc_mri_set_basis(handle, ptr::null(), ptr::null()));
                self.caller.done(done, None);
                if done {
                    self.sizes.series = 1;
                }
            }
        }
    }

    fn shots(&mut self) {
        let (handle, samples, forget) = (self.handle(), self.sizes.samples, self.caller.input.odd(3).is_some());
        let (count, odd) = (self.caller.input.small(2, 4, SAMPLES), self.caller.input.odd(32));
        let shape = self.grids(count);
        let phases = if forget { Made::NONE } else { self.input(&shape, C64, &|k| 0.2 + plain(k)) };
        let shots = if forget {
            ptr::null()
        } else {
            self.caller.array(samples, SAMPLES, |m| match odd {
                Some(0) => -1,
                Some(1) => count,
                _ => m as i64 % count.max(1),
            })
        };
        let done = call!(self.caller, isoc_mri_set_shots(handle, shots, phases.tensor));
        self.caller.done(done, None);
        if done {
            self.adjoint();
            let handle = self.handle();
            // Frames and a basis may come again.
            let done = call!(self.caller, isoc_mri_set_shots(handle, ptr::null(), ptr::null()));
            self.caller.done(done, None);
        }
    }

    /// What the plan says of itself, if it does.
    fn info(&mut self) {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut info: isoc_mri_info = unsafe { std::mem::zeroed() };
        let handle = self.handle();
        info.struct_size = self.caller.input.struct_size(size_of::<isoc_mri_info>());
        let passed = self.caller.passed(info);
        let done = call!(self.caller, isoc_mri_get_info(handle, passed));
        self.caller.done(done, None);
    }

    fn bytes(&mut self) {
        let (handle, bytes) = (self.handle(), self.caller.passed(0u64));
        let done = call!(self.caller, isoc_mri_memory(handle, bytes));
        self.caller.done(done, None);
    }

    fn gpu_stream(&mut self) {
        let handle = self.handle();
        let done = call!(self.caller, isoc_mri_set_stream(handle, ptr::null_mut()));
        self.caller.done(done, None);
    }

    fn shepp_logan(&mut self) {
        let kind = self.caller.input.code(2);
        let (half_xy, half_z) = (self.caller.input.real(4.0), self.caller.input.real(0.0));
        let n = self.caller.input.size(ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS, 12, ELLIPSOIDS);
        let (heads, count) = (self.caller.room(n, ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS, ELLIPSOID), self.caller.count());
        let done = call!(self.caller, isoc_mri_shepp_logan(kind, half_xy, half_z, heads, n, count));
        self.caller.done(done, None);
    }

    fn ellipsoids(&mut self) -> (*const isoc_mri_ellipsoid, i64) {
        let (n, e) = (self.caller.input.small(2, 4, ELLIPSOIDS), ELLIPSOID);
        let [value, x, y, z, semi_x, semi_y, semi_z, angle] =
            [e.value, e.x, e.y, e.z, e.semi_x, e.semi_y, e.semi_z, e.angle].map(|v| self.caller.input.real(v));
        let body = isoc_mri_ellipsoid { value, x, y, z, semi_x, semi_y, semi_z, angle };
        (self.caller.array(n, ELLIPSOIDS, |_| body), n)
    }

    fn phantom_samples(&mut self) {
        let (handle, (bodies, n)) = (self.handle(), self.ellipsoids());
        let samples = self.output(&[self.sizes.samples], C64);
        let done = call!(self.caller, isoc_mri_phantom_samples(handle, bodies, n, samples.tensor));
        self.caller.done(done, Some(samples));
    }

    fn phantom_image(&mut self) {
        let (handle, (bodies, n)) = (self.handle(), self.ellipsoids());
        let image = self.output(&self.grids(1), C64);
        let done = call!(self.caller, isoc_mri_phantom_image(handle, bodies, n, image.tensor));
        self.caller.done(done, Some(image));
    }

    fn forward(&mut self) {
        let (handle, from, to) = (self.handle(), self.image(), self.samples_out());
        let done = call!(self.caller, isoc_mri_forward(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn adjoint(&mut self) {
        let (handle, from, to) = (self.handle(), self.samples(), self.image_out());
        let done = call!(self.caller, isoc_mri_adjoint(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn gridding(&mut self) {
        let (handle, from, to) = (self.handle(), self.samples(), self.image_out());
        let done = call!(self.caller, isoc_mri_gridding(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    /// Several scans in a call.
    fn scans(&mut self) {
        let (handle, scans) = (self.handle(), self.caller.input.small(2, 3, SAMPLES));
        let [images, nz, ny, nx] = self.grids(self.sizes.images.saturating_mul(self.sizes.series));
        let (images, samples) = ([scans, images, nz, ny, nx], [scans, self.sizes.coils, self.sizes.samples]);
        let which = self.caller.input.below(3);
        let [from, to] = match which {
            2 => [self.input(&images, C64, &plain), self.output(&samples, C64)],
            _ => [self.input(&samples, C64, &plain), self.output(&images, C64)],
        };
        let done = match which {
            0 => call!(self.caller, isoc_mri_adjoint(handle, from.tensor, to.tensor)),
            1 => call!(self.caller, isoc_mri_reconstruct(handle, from.tensor, to.tensor)),
            _ => call!(self.caller, isoc_mri_forward(handle, from.tensor, to.tensor)),
        };
        self.caller.done(done, Some(to));
    }

    fn normal(&mut self) {
        let (handle, from, to) = (self.handle(), self.image(), self.image_out());
        let done = call!(self.caller, isoc_mri_normal(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn reconstruct(&mut self) {
        let (handle, from, to) = (self.handle(), self.samples(), self.image_out());
        let done = call!(self.caller, isoc_mri_reconstruct(handle, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn stream(&mut self) {
        let (handle, to, grids) = (self.handle(), self.image_out(), self.caller.input.odd(3).is_some());
        let (dtype, at_once) = (self.caller.dtype(C64), self.caller.input.size(7, 12, SAMPLES));
        let read: isoc_mri_read_fn = (self.caller.input.odd(96) != Some(0)).then_some(read_shots);
        let user = (&raw const *self.caller.callbacks).cast_mut().cast();
        let call = if grids { isoc_mri_gridding_stream } else { isoc_mri_reconstruct_stream };
        let done = call!(self.caller, call(handle, dtype, at_once, read, user, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn stream_bytes(&mut self) {
        let (handle, dtype) = (self.handle(), self.caller.dtype(C64));
        let at_once = self.caller.input.size(7, 12, SAMPLES);
        let [host, gpu] = [(); 2].map(|()| self.caller.passed(0u64));
        let done = call!(self.caller, isoc_mri_stream_memory(handle, dtype, at_once, host, gpu));
        self.caller.done(done, None);
    }

    fn history(&mut self) {
        let (handle, image) = (self.handle(), self.caller.input.size(0, 3, SIDE));
        let capacity = self.caller.input.size(RESIDUALS, 8, SAMPLES);
        let (residuals, found) = (self.caller.room(capacity, RESIDUALS, 0.0), self.caller.passed(0i64));
        let of = match self.caller.input.odd(2) {
            Some(0) => isoc_mri_objective,
            Some(_) => isoc_mri_gap,
            None => isoc_mri_history,
        };
        let done = call!(self.caller, of(handle, image, residuals, capacity, found));
        self.caller.done(done, None);
    }

    fn compare(&mut self) {
        let (handle, shape) = (self.handle(), self.grids(1));
        let (image, truth) = (self.input(&shape, C64, &plain), self.input(&shape, C64, &|k| plain(k + 1)));
        let (psnr, percent) = (self.caller.passed(0.0), self.caller.passed(0.0));
        let done = call!(self.caller, isoc_mri_compare(handle, image.tensor, truth.tensor, psnr, percent));
        self.caller.done(done, None);
    }

    fn compute_q(&mut self) {
        let handle = self.handle();
        let done = call!(self.caller, isoc_mri_compute_q(handle));
        self.caller.done(done, None);
    }

    /// The shape of Q, which the plan tells once it has a geometry.
    fn q_shape(&mut self) -> [i64; 3] {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut info: isoc_mri_info = unsafe { std::mem::zeroed() };
        info.struct_size = size_of::<isoc_mri_info>() as u32;
        call!(self.caller, isoc_mri_get_info(self.plan, &mut info));
        [info.q_nz, info.q_ny, info.q_nx]
    }

    fn export_q(&mut self) {
        let (handle, shape) = (self.handle(), self.q_shape());
        let q = self.output(&shape, F32);
        let done = call!(self.caller, isoc_mri_export_q(handle, q.tensor));
        self.caller.done(done, Some(q));
    }

    fn import_q(&mut self) {
        let (handle, shape) = (self.handle(), self.q_shape());
        let q = self.input(&shape, F32, &plain);
        let done = call!(self.caller, isoc_mri_import_q(handle, q.tensor));
        self.caller.done(done, None);
    }

    fn delay_options(&mut self) -> *const isoc_mri_delay_options {
        // Samples are as many as they are: a half, a third or a quarter of them are a readout.
        let part = 2 + self.caller.input.below(3) as i64;
        let usual = self.sizes.samples / part;
        let input = &mut self.caller.input;
        let o = isoc_mri_delay_options {
            struct_size: input.struct_size(size_of::<isoc_mri_delay_options>()),
            reserved: 0,
            readout: input.small(usual, 8, SIDE),
            range: input.real(0.0),
            voxel_x: input.real(0.0),
            voxel_y: input.real(1.5),
            voxel_z: input.real(0.0),
        };
        if input.odd(48) == Some(0) { ptr::null() } else { self.caller.passed(o).cast_const() }
    }

    fn delays(&mut self) -> *mut isoc_mri_delays {
        let input = &mut self.caller.input;
        // SAFETY: numbers; all zero is valid.
        let mut d: isoc_mri_delays = unsafe { std::mem::zeroed() };
        d.struct_size = input.struct_size(size_of::<isoc_mri_delays>());
        [d.xx, d.yy, d.xy] = [input.real(0.5), input.real(-0.25), input.real(0.0)];
        self.caller.passed(d)
    }

    fn find_maps(&mut self) {
        let (handle, samples, coils) = (self.handle(), self.samples(), self.sizes.coils);
        let (maps, image) = (self.output(&self.grids(coils), C64), self.output(&self.grids(1), C64));
        let input = &mut self.caller.input;
        let o = isoc_mri_maps_options {
            struct_size: input.struct_size(size_of::<isoc_mri_maps_options>()),
            reserved: 0,
            steps: input.small(2, 3, 4),
            iterations: input.small(2, 4, 8),
            residual: input.real(0.0),
            alpha: input.real(0.0),
            reduction: input.real(0.0),
            scale: input.real(0.0),
            order: input.real(0.0),
        };
        let options = if input.odd(48) == Some(0) { ptr::null() } else { self.caller.passed(o).cast_const() };
        let own = if self.caller.input.odd(4) == Some(0) { ptr::null() } else { image.tensor };
        // No note is taken of a failure: plans of a careful caller may have one coil, maps, frames or a basis.
        if call!(self.caller, isoc_mri_find_maps(handle, options, samples.tensor, maps.tensor, own)) {
            self.caller.done(true, Some(maps));
        }
        let mut bytes = 0;
        call!(self.caller, isoc_mri_maps_memory(handle, options, &mut bytes));
    }

    fn find_delays(&mut self) {
        let (handle, samples) = (self.handle(), self.samples());
        let (options, found) = (self.delay_options(), self.delays());
        // No note is taken: a careful caller's few samples tell no delays.
        call!(self.caller, isoc_mri_find_delays(handle, samples.tensor, options, found));
    }

    fn delayed_trajectory(&mut self) {
        let (handle, shape) = (self.handle(), [self.sizes.samples, self.sizes.axes]);
        let (options, delays, out) = (self.delay_options(), self.delays(), self.output(&shape, F32));
        // Samples of another session's plan may be no multiple of a readout.
        if call!(self.caller, isoc_mri_delayed_trajectory(handle, options, delays, out.tensor)) {
            self.caller.done(true, Some(out));
        }
    }

    /// Plans come and go, from good contexts and from none, beside this one.
    fn other_plans(&mut self) {
        let context = self.caller.handle(self.caller.context);
        let out = self.caller.passed(ptr::null_mut::<isoc_mri>());
        if call!(self.caller, isoc_mri_create(context, out)) {
            // SAFETY: the call has set it.
            let plan = unsafe { out.read_unaligned() };
            assert_eq!(isoc_mri_destroy(plan), Status::Ok);
        }
    }

    /// Calls without the plan, which their callbacks may therefore use.
    fn beside_the_plan(&mut self, step: fn(&mut Self)) {
        let again = self.caller.callbacks.again.take();
        step(self);
        self.caller.callbacks.again.set(again);
    }

    /// What the calls for coils take their sizes from.
    fn coil_input(&mut self, shape: &[i64]) -> Made {
        let dtype = self.caller.dtype(C64);
        self.caller.input_tensor(shape, dtype, &|k| (1.0 + (k * k) as f64).sin(), false)
    }

    fn coil_output(&mut self, shape: &[i64], dtype: isoc_dtype) -> Made {
        let dtype = self.caller.dtype(dtype);
        self.caller.output_of_its_size(shape, dtype)
    }

    /// A size of a tensor that says it itself: arrays have at most so many elements here.
    fn coil_size(&mut self, usual: i64, few: u8) -> i64 {
        self.caller.input.size(usual, few, 1 << 12)
    }

    fn coil_matrices(&mut self) {
        let context = self.caller.handle(self.caller.context);
        let (coils, samples, kept) = (self.coil_size(3, 6), self.coil_size(20, 40), self.coil_size(2, 6));
        let noise = self.coil_input(&[coils, samples]);
        let matrix = self.coil_output(&[coils, coils], C64);
        let done = call!(self.caller, isoc_coil_whitening(context, noise.tensor, matrix.tensor));
        self.caller.done(done, Some(matrix));
        let data = self.coil_input(&[coils, samples]);
        let matrix = self.coil_output(&[kept, coils], C64);
        let energy = self.caller.passed(0f64);
        let done = call!(self.caller, isoc_coil_compression(context, data.tensor, matrix.tensor, energy));
        self.caller.done(done, Some(matrix));
        let (factors, out) = (self.coil_input(&[kept, coils]), self.coil_output(&[kept, samples], C64));
        let done = call!(self.caller, isoc_coil_apply(context, factors.tensor, data.tensor, out.tensor));
        self.caller.done(done, Some(out));
    }

    fn coil_lines(&mut self) {
        let context = self.caller.handle(self.caller.context);
        let (coils, kept) = (self.coil_size(3, 5), self.coil_size(2, 5));
        let (lines, readout) = (self.coil_size(4, 6), self.coil_size(8, 12));
        let data = self.coil_input(&[coils, lines, readout]);
        let matrix = self.coil_output(&[readout, kept, coils], C64);
        let energy = self.caller.passed(0f64);
        let done = call!(self.caller, isoc_coil_geometric_compression(context, data.tensor, matrix.tensor, energy));
        self.caller.done(done, Some(matrix));
        let factors = self.coil_input(&[readout, kept, coils]);
        let out = self.coil_output(&[kept, lines, readout], C64);
        let done = call!(self.caller, isoc_coil_apply_geometric(context, factors.tensor, data.tensor, out.tensor));
        self.caller.done(done, Some(out));
    }

    fn coil_maps(&mut self) {
        let context = self.caller.handle(self.caller.context);
        let input = &mut self.caller.input;
        let adaptive = input.code(2);
        let espirit = |v: i64| if adaptive == 1 { 0 } else { v };
        let o = isoc_coil_options {
            struct_size: input.struct_size(size_of::<isoc_coil_options>()),
            method: adaptive,
            kernel_x: espirit(input.small(0, 6, SIDE)),
            kernel_y: espirit(input.small(0, 6, SIDE)),
            kernel_z: espirit(input.small(0, 4, SIDE)),
            window: if adaptive == 1 { input.small(0, 7, SIDE) } else { 0 },
            threshold: if adaptive == 1 { 0.0 } else { input.real(0.0) },
            crop: input.real(0.0),
        };
        let passed = if input.odd(48) == Some(0) { ptr::null() } else { self.caller.passed(o).cast_const() };
        let (coils, sets) = (self.coil_size(2, 4), self.coil_size(1, 3));
        let (z, y, x) = (self.coil_size(1, 5), self.coil_size(7, 9), self.coil_size(8, 9));
        let (more, one) = (self.caller.input.below(4) as i64, self.caller.input.odd(2).is_some());
        let grid = [z, y.saturating_add(more), x.saturating_add(1)];
        let shape = if one { vec![coils, y, x] } else { vec![coils, z, y, x] };
        let calibration = self.coil_input(&shape);
        let shape =
            if one { vec![sets, coils, grid[1], grid[2]] } else { vec![sets, coils, grid[0], grid[1], grid[2]] };
        let maps = self.coil_output(&shape, C64);
        let values = if self.caller.input.odd(2).is_some() {
            Made::NONE
        } else {
            self.coil_output(&[sets, grid[0], grid[1], grid[2]], F32)
        };
        let done = call!(self.caller, isoc_coil_maps(context, passed, calibration.tensor, maps.tensor, values.tensor));
        self.caller.done(done, Some(maps));
    }
}

const ELLIPSOID: isoc_mri_ellipsoid =
    isoc_mri_ellipsoid { value: 1.0, x: 0.5, y: -0.25, z: 0.0, semi_x: 3.0, semi_y: 2.0, semi_z: 2.5, angle: 0.3 };

unsafe extern "C" fn read_shots(user: *mut c_void, first: i64, count: i64, tensor: *const isoc_tensor) -> i32 {
    assert!(first >= 0 && count > 0);
    // SAFETY: the library's own.
    unsafe {
        let tensor = *tensor;
        assert!(
            tensor.ndim == 2 && *tensor.shape.add(1) == count && tensor.byte_offset == 0 && tensor.strides.is_null()
        );
        let bytes = (*tensor.shape * count) as usize * usize::from(tensor.dtype.bits) / 8;
        tensor.data.cast::<u8>().write_bytes(0x10, bytes);
        i32::from((*user.cast::<Callbacks>()).stops())
    }
}
