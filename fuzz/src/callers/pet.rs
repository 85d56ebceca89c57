//! Sessions with `isoc_pet_*`.

mod lines;

use super::caller::{Caller, call};
use super::memory::Bounds;
use super::session::{Alone, Plan, run};
use super::tensors::{F32, F64, Made, U8, U32, plain};
use isocenter::error::Status;
use isocenter::ffi::pet::*;
use isocenter::ffi::tensor::isoc_dtype;
use std::ffi::c_void;
use std::ptr;

const SIDE: i64 = 4096;
const VIEWS: i64 = 1 << 16;
const ENTRIES: i64 = 1 << 20;
const ITERATIONS: i64 = 1 << 20;
const EVENTS: i64 = 1 << 40;
const CRYSTALS: i64 = 1 << 24;
const EDGES: i64 = (1 << 16) + 1;
/// More than any reconstruction here makes.
const PASSES: i64 = 16;

static ALONE: Alone = Alone::new();

/// One session of `isoc_pet_*`; see [`Alone::session`].
pub fn session(bytes: &[u8], bounds: Bounds) {
    ALONE.session(|bytes, bounds| run::<Pet<'_>>(bytes, bounds), bytes, bounds);
}

struct Pet<'d> {
    caller: Caller<'d>,
    plan: *mut isoc_pet,
    /// Of the geometry that the plan has.
    lattice: [i64; 3],
    views: i64,
    /// Of its scanner.
    crystals: i64,
}

impl<'d> Plan<'d> for Pet<'d> {
    const STEPS: &'d [fn(&mut Self)] = &[
        Self::options,
        Self::geometry,
        Self::get_views,
        Self::response,
        Self::tables,
        Self::get_tables,
        Self::order,
        Self::gpu_stream,
        Self::info,
        Self::bytes,
        Self::forward,
        Self::adjoint,
        Self::sensitivity,
        Self::reconstruct,
        Self::history,
        Self::prior,
        Self::prior_gradient,
        Self::regions,
        Self::options_with_prior,
        Self::reconstruct,
        Self::history,
        Self::deposit,
        Self::block_crystals,
        Self::scanner,
        Self::deposit_crystals,
        Self::detect,
        Self::factors,
        Self::factors_bytes,
        Self::attenuation,
        Self::fan_sums,
        Self::singles,
        Self::randoms,
        Self::randoms_bytes,
        Self::scatter,
        Self::scatter_bytes,
        Self::phantom_image,
        Self::simulate,
        Self::expect,
        Self::contrast_recovery,
        Self::noise,
        Self::other_plans,
        Self::pairs,
        Self::forward_lines,
        Self::adjoint_lines,
        Self::line_factors,
        Self::line_sensitivity,
        Self::line_randoms,
        Self::sample_lines,
        Self::reconstruct_lines,
        Self::lines_bytes,
        Self::normalisation,
    ];

    fn new(caller: Caller<'d>) -> Self {
        let mut plan = ptr::null_mut();
        assert!(call!(caller, isoc_pet_create(caller.context, &mut plan)));
        // SAFETY: as call! says; the handle is whatever it is.
        let again = |plan: *mut c_void| unsafe { isoc_pet_memory(plan.cast(), ptr::null_mut()) };
        caller.callbacks.again.set(Some((again, plan.cast())));
        Self { caller, plan, lattice: [4, 8, 9], views: 3, crystals: 32 }
    }

    fn caller(&mut self) -> &mut Caller<'d> {
        &mut self.caller
    }

    fn destroy(&self) -> Status {
        isoc_pet_destroy(self.plan)
    }
}

impl Pet<'_> {
    fn handle(&mut self) -> *mut isoc_pet {
        self.caller.handle(self.plan)
    }

    fn image(&mut self) -> Made {
        let dtype = self.caller.dtype(F32);
        self.caller.input_tensor(&self.lattice, dtype, &plain, true)
    }

    fn image_out(&mut self) -> Made {
        let dtype = self.caller.dtype(F32);
        self.caller.output_tensor(&self.lattice, dtype)
    }

    fn histos_shape(&self, views: i64) -> [i64; 4] {
        let [nz, ny, nx] = self.lattice;
        [views, nz, ny, nx]
    }

    fn histos(&mut self, views: i64, dtype: isoc_dtype) -> Made {
        let (shape, dtype) = (self.histos_shape(views), self.caller.dtype(dtype));
        self.caller.input_tensor(&shape, dtype, &|k| 1.0 + plain(k), true)
    }

    /// Histo-images of a call that does without: NULL now and then.
    fn optional_histos(&mut self) -> Made {
        if self.caller.input.odd(2).is_some() { Made::NONE } else { self.histos(self.views, F32) }
    }

    fn histos_out(&mut self, views: i64, dtype: isoc_dtype) -> Made {
        let (shape, dtype) = (self.histos_shape(views), self.caller.dtype(dtype));
        self.caller.output_tensor(&shape, dtype)
    }

    fn geometry(&mut self) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let struct_size = input.struct_size(size_of::<isoc_pet_geometry>());
        let tilts = input.odd(96).map(|k| [0, 2, 3, 70_000, u32::MAX][usize::from(k) % 5]);
        let mut g = isoc_pet_geometry {
            struct_size,
            tilts: tilts.unwrap_or(1),
            // As few voxels as have room for the kernels and for the regions of figures of merit.
            nx: input.size(9, 12, SIDE),
            ny: input.size(8, 12, SIDE),
            nz: input.size(4, 6, SIDE),
            voxel_x: input.real(12.0),
            voxel_y: input.real(0.0),
            voxel_z: input.real(0.0),
            azimuths: input.size(3, 8, VIEWS),
            max_tilt: input.real(0.06),
        };
        let list = if self.caller.input.odd(2).is_none() {
            Made::NONE
        } else {
            let (angle, dtype, n) = (self.caller.input.real(0.3), self.caller.dtype(F32), g.azimuths);
            if tilts.is_none() {
                (g.azimuths, g.tilts) = (0, 0);
            }
            // The call takes their number from the list.
            self.caller.input_tensor(&[n, 2], dtype, &|k| if k % 2 == 0 { angle * k as f64 } else { 0.0 }, false)
        };
        let passed = self.caller.passed(g);
        let made = call!(self.caller, isoc_pet_set_geometry(handle, passed, list.tensor));
        if made {
            self.lattice = [g.nz, g.ny, g.nx];
            // SAFETY: plain numbers, for which zeros are valid.
            let mut info: isoc_pet_info = unsafe { std::mem::zeroed() };
            info.struct_size = size_of::<isoc_pet_info>() as u32;
            assert!(call!(self.caller, isoc_pet_get_info(self.plan, &mut info)));
            self.views = info.views;
        }
        self.caller.done(made, None);
    }

    fn get_views(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.size(self.views, 8, VIEWS));
        let (views, count) = (self.caller.room(n, self.views, [0.0; 2]), self.caller.count());
        let done = call!(self.caller, isoc_pet_get_views(handle, views.cast(), n, count));
        // SAFETY: the caller's own.
        assert!(!done || unsafe { *count } == self.views, "as many views as the plan says");
        self.caller.done(done, None);
    }

    /// Pairs of a radius and a width.
    fn radial_table(&mut self) -> (u32, *const f64) {
        let n = self.caller.input.odd(96).map_or(0, |k| [1, 2, 3, 8, 1 << 20, 1 << 21, u32::MAX][usize::from(k) % 7]);
        let (step, width, slope) =
            (self.caller.input.real(20.0), self.caller.input.real(18.0), self.caller.input.real(0.5));
        let pairs = self.caller.array(n.into(), ENTRIES, |k| [step * k as f64, width + slope * k as f64]);
        (n, pairs.cast_const().cast())
    }

    fn response(&mut self) {
        let (handle, (radial_table_count, radial_table)) = (self.handle(), self.radial_table());
        let input = &mut self.caller.input;
        let r = isoc_pet_response {
            struct_size: input.struct_size(size_of::<isoc_pet_response>()),
            profile: input.code(2),
            cut: input.code(2),
            radial_table_count,
            tof_fwhm: input.real(200.0),
            radial_fwhm: input.real(20.0),
            axial_fwhm: input.real(20.0),
            radial_table,
            step: input.real(0.0),
            cut_width: input.real(0.0),
            ratio: input.real(1.5),
            shift: input.real(0.5),
            share: input.real(0.3),
        };
        let passed = self.caller.passed(r);
        let done = call!(self.caller, isoc_pet_set_response(handle, passed));
        self.caller.done(done, None);
    }

    fn tables(&mut self) {
        let (handle, view) = (self.handle(), self.caller.input.size(0, 8, VIEWS));
        let [_, ny, nx] = self.lattice;
        let (offsets, kernels) = (self.caller.input.small(3, 9, ENTRIES), self.caller.input.small(2, 4, ENTRIES));
        let (id, step, value) = (
            self.caller.input.small(0, 4, ENTRIES),
            self.caller.input.small(1, 4, ENTRIES),
            self.caller.input.real(0.5),
        );
        let map = self.caller.array(ny * nx, SIDE * SIDE, |k| if k == 5 { id as u32 } else { 0 });
        let places = self.caller.array(offsets, EVENTS, |k| [(step as i32).wrapping_mul(k as i32), 0, 1]);
        let number = kernels.checked_mul(offsets).unwrap_or(i64::MAX);
        let values = self.caller.array(number, EVENTS, |k| (value + 0.125 * k as f64) as f32);
        let done =
            call!(self.caller, isoc_pet_set_tables(handle, view, map, ny * nx, places.cast(), offsets, values, number));
        self.caller.done(done, None);
    }

    fn get_tables(&mut self) {
        let (handle, view) = (self.handle(), self.caller.input.size(1, 8, VIEWS));
        // SAFETY: plain numbers, for which zeros are valid.
        let mut sizes: isoc_pet_table_sizes = unsafe { std::mem::zeroed() };
        sizes.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_table_sizes>());
        let told = call!(self.caller, isoc_pet_get_table_sizes(self.plan, view, &mut sizes));
        if !told {
            return self.caller.done(false, None);
        }
        let isoc_pet_table_sizes { kernels, offsets, .. } = sizes;
        if sizes.struct_size as usize != size_of::<isoc_pet_table_sizes>() || kernels * offsets > ENTRIES {
            return; // told in part, or more than this caller has room for
        }
        let (map, map_capacity) = self.caller.list(self.lattice[1] * self.lattice[2], 0u32);
        let (places, offset_capacity) = self.caller.list(offsets, [0i32; 3]);
        let (values, value_capacity) = self.caller.list(kernels * offsets, 0f32);
        let (mass, mass_capacity) = self.caller.list(kernels, 0f64);
        let mut to = isoc_pet_tables {
            struct_size: size_of::<isoc_pet_tables>() as u32,
            reserved: 0,
            map,
            map_capacity,
            map_count: -1,
            offsets: places.cast(),
            offset_capacity,
            offset_count: -1,
            values,
            value_capacity,
            value_count: -1,
            mass,
            mass_capacity,
            mass_count: -1,
        };
        let done = call!(self.caller, isoc_pet_get_tables(handle, view, &mut to));
        assert!(!done || (to.offset_count, to.value_count, to.mass_count) == (offsets, kernels * offsets, kernels));
        self.caller.done(done, None);
    }

    fn options(&mut self) {
        let algorithm = self.caller.input.code(5);
        self.set_options(algorithm, 0, 2, 0.0);
    }

    /// Those of the algorithms that know priors.
    fn options_with_prior(&mut self) {
        let bsrem = self.caller.input.odd(2).is_some();
        let algorithm = if bsrem { isoc_pet_algorithm::Bsrem } else { isoc_pet_algorithm::Svrg };
        self.set_options(algorithm as u32, 3, 3, 1e-6);
    }

    fn set_options(&mut self, algorithm: u32, subsets: u32, iterations: i64, stop_change: f64) {
        let (handle, input) = (self.handle(), &mut self.caller.input);
        let o = isoc_pet_options {
            struct_size: input.struct_size(size_of::<isoc_pet_options>()),
            algorithm,
            order: input.code(3),
            projector: input.code(3),
            warm_start: input.code(2),
            subsets: input.odd(96).map_or(subsets, |k| [1, 2, 3, 70_000, u32::MAX][usize::from(k) % 5]),
            iterations: input.small(iterations, 3, ITERATIONS),
            first_iteration: input.size(0, 9, ITERATIONS),
            seed: input.byte().into(),
            relaxation: input.real(0.0),
            relaxation_decay: input.real(0.0),
            tolerance: input.real(0.0),
            stop_change: input.real(stop_change),
            stop_region_change: input.real(stop_change),
        };
        let passed = self.caller.passed(o);
        let done = call!(self.caller, isoc_pet_set_options(handle, passed));
        self.caller.done(done, None);
    }

    /// An image that a call may do without: NULL now and then.
    fn optional_image(&mut self) -> Made {
        if self.caller.input.odd(2).is_some() { Made::NONE } else { self.image() }
    }

    /// NULL, without images, takes the prior away.
    fn prior(&mut self) {
        let handle = self.handle();
        if self.caller.input.odd(4) == Some(0) {
            let done = call!(self.caller, isoc_pet_set_prior(handle, ptr::null(), ptr::null(), ptr::null()));
            return self.caller.done(done, None);
        }
        let (weights, anatomy) = (self.optional_image(), self.optional_image());
        let input = &mut self.caller.input;
        let potential = input.code(2);
        let of = |potential_of: u32, usual| if potential == potential_of { usual } else { 0.0 };
        let p = isoc_pet_prior {
            struct_size: input.struct_size(size_of::<isoc_pet_prior>()),
            potential,
            strength: input.real(0.1),
            gamma: input.real(of(0, 1.5)),
            epsilon: input.real(of(0, 0.01)),
            edge: input.real(of(1, 0.5)),
            anatomy_sigma: input.real(if anatomy.tensor.is_null() { 0.0 } else { 0.5 }),
        };
        let passed = self.caller.passed(p);
        let done = call!(self.caller, isoc_pet_set_prior(handle, passed, weights.tensor, anatomy.tensor));
        self.caller.done(done, None);
    }

    fn prior_gradient(&mut self) {
        let (handle, image) = (self.handle(), self.image());
        let to = if self.caller.input.odd(2).is_some() { Made::NONE } else { self.image_out() };
        let value = self.caller.passed(0.0);
        let done = call!(self.caller, isoc_pet_prior_gradient(handle, image.tensor, to.tensor, value));
        self.caller.done(done, Some(to));
    }

    fn regions(&mut self) {
        let handle = self.handle();
        let regions = if self.caller.input.odd(2).is_some() {
            Made::NONE
        } else {
            let dtype = self.caller.dtype(U32);
            self.caller.input_tensor(&self.lattice, dtype, &plain, true)
        };
        let done = call!(self.caller, isoc_pet_set_regions(handle, regions.tensor));
        self.caller.done(done, None);
    }

    fn order(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.size(self.views, 8, VIEWS));
        let (first, step) = (self.caller.input.size(0, 3, VIEWS), self.caller.input.size(1, 3, VIEWS));
        let order = self.caller.array(n, VIEWS, |k| step.wrapping_mul(k as i64).wrapping_add(first));
        let done = call!(self.caller, isoc_pet_set_order(handle, order, n));
        self.caller.done(done, None);
    }

    fn gpu_stream(&mut self) {
        let handle = self.handle();
        let done = call!(self.caller, isoc_pet_set_stream(handle, ptr::null_mut()));
        self.caller.done(done, None);
    }

    fn info(&mut self) {
        // SAFETY: plain numbers, for which zeros are valid.
        let mut info: isoc_pet_info = unsafe { std::mem::zeroed() };
        let handle = self.handle();
        info.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_info>());
        let passed = self.caller.passed(info);
        let done = call!(self.caller, isoc_pet_get_info(handle, passed));
        self.caller.done(done, None);
    }

    fn bytes(&mut self) {
        let (handle, bytes) = (self.handle(), self.caller.passed(0u64));
        let done = call!(self.caller, isoc_pet_memory(handle, bytes));
        self.caller.done(done, None);
    }

    /// Views that a call names, and how many it says there are.
    fn chosen(&mut self) -> (*const i64, i64) {
        if self.caller.input.odd(2).is_none() {
            return (ptr::null(), 0);
        }
        let (n, step) = (self.caller.input.size(2, 4, VIEWS), self.caller.input.size(1, 3, VIEWS));
        (self.caller.array(n, VIEWS, |k| step.wrapping_mul(k as i64)), n)
    }

    fn forward(&mut self) {
        let (handle, (views, n), from) = (self.handle(), self.chosen(), self.image());
        let to = self.histos_out(if views.is_null() { self.views } else { n }, F32);
        let done = call!(self.caller, isoc_pet_forward(handle, views, n, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn adjoint(&mut self) {
        let (handle, (views, n)) = (self.handle(), self.chosen());
        let from = self.histos(if views.is_null() { self.views } else { n }, U32);
        let to = self.image_out();
        let done = call!(self.caller, isoc_pet_adjoint(handle, views, n, from.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn sensitivity(&mut self) {
        let (handle, factors, to) = (self.handle(), self.optional_histos(), self.image_out());
        let done = call!(self.caller, isoc_pet_sensitivity(handle, factors.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn reconstruct(&mut self) {
        let (handle, measured) = (self.handle(), self.histos(self.views, U32));
        let (factors, additive, to) = (self.optional_histos(), self.optional_histos(), self.image_out());
        let done = call!(
            self.caller,
            isoc_pet_reconstruct(handle, measured.tensor, factors.tensor, additive.tensor, to.tensor)
        );
        self.caller.done(done, Some(to));
    }

    fn history(&mut self) {
        let (handle, capacity) = (self.handle(), self.caller.input.size(PASSES, 4, ITERATIONS));
        let none = isoc_pet_iteration {
            log_likelihood: 0.0,
            penalty: 0.0,
            change: 0.0,
            region_change: 0.0,
            skipped_voxels: 0,
        };
        let passes = self.caller.room(capacity, PASSES, none);
        let found = self.caller.passed(0i64);
        let done = call!(self.caller, isoc_pet_history(handle, passes, capacity, found));
        self.caller.done(done, None);
    }

    /// Positions and times of so many events, to be read or written.
    fn events(&mut self, n: i64, write: bool) -> [Made; 3] {
        let across = |k: usize| [300.0, 20.0 * (k % 5) as f64, 3.0][k % 3];
        [(vec![n, 3], 1.0), (vec![n, 3], -1.0), (vec![n], 2.0)].map(|(shape, sign)| {
            let dtype = self.caller.dtype(F32);
            if write {
                self.caller.output_tensor(&shape, dtype)
            } else {
                // The call takes their number from the times.
                let known = shape.len() == 2;
                self.caller.input_tensor(&shape, dtype, &|k| sign * across(k), known)
            }
        })
    }

    fn deposit(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.small(16, 40, EVENTS));
        let [first, second, times] = self.events(n, false);
        let histos = self.histos_out(self.views, U32);
        // SAFETY: plain numbers, for which zeros are valid.
        let mut dropped: isoc_pet_dropped = unsafe { std::mem::zeroed() };
        dropped.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_dropped>());
        let dropped = self.caller.passed(dropped);
        let done = call!(
            self.caller,
            isoc_pet_deposit(handle, first.tensor, second.tensor, times.tensor, histos.tensor, dropped)
        );
        self.caller.done(done, Some(histos));
    }

    fn block_crystals(&mut self) {
        let input = &mut self.caller.input;
        let b = isoc_pet_blocks {
            struct_size: input.struct_size(size_of::<isoc_pet_blocks>()),
            reserved: input.code(1),
            blocks: input.small(6, 9, CRYSTALS),
            block_rings: input.small(2, 4, CRYSTALS),
            across: input.small(3, 5, CRYSTALS),
            along: input.small(2, 5, CRYSTALS),
            diameter: input.real(300.0),
            pitch_across: input.real(4.0),
            pitch_along: input.real(0.0),
            block_pitch: input.real(0.0),
            first_azimuth: input.real(0.1),
        };
        // Of sizes beyond those few there is no scanner.
        let number = [b.blocks, b.block_rings.max(1), b.across, b.along]
            .iter()
            .try_fold(1i64, |n, size| n.checked_mul(*size).filter(|_| (1..=9).contains(size)))
            .unwrap_or(0);
        let capacity = self.caller.input.size(number, 8, EVENTS);
        let positions = self.caller.room(capacity, number, [0.0; 3]);
        let normals = self.caller.room(capacity, number, [0.0; 3]);
        let (passed, count) = (self.caller.passed(b), self.caller.count());
        let done =
            call!(self.caller, isoc_pet_block_crystals(passed, positions.cast(), normals.cast(), capacity, count));
        // SAFETY: the caller's own.
        assert!(!done || b.block_rings < 0 || unsafe { *count } == number, "as many crystals as there are");
        self.caller.done(done, None);
    }

    fn scanner(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.small(32, 40, CRYSTALS));
        let odd = self.caller.input.odd(96);
        let time_bins = odd.map_or(4, |k| [0, 1, 2, 70_000, u32::MAX][usize::from(k) % 5]);
        let (first, step) = (self.caller.input.real(-200.0), self.caller.input.real(100.0));
        let edges = self.caller.array(i64::from(time_bins) + 1, EDGES, |k| first + step * k as f64);
        let input = &mut self.caller.input;
        let s = isoc_pet_scanner {
            struct_size: input.struct_size(size_of::<isoc_pet_scanner>()),
            time_bins,
            crystal_width: input.real(4.0),
            crystal_height: input.real(4.0),
            time_edges: if time_bins == 0 && input.odd(2).is_none() { ptr::null() } else { edges },
            crystal_sizes: ptr::null(),
        };
        let circle = |k: usize| {
            let angle = (k / 3) as f64 * std::f64::consts::TAU / 32.0;
            [300.0 * angle.cos(), 300.0 * angle.sin(), 1.0][k % 3]
        };
        let dtype = self.caller.dtype(F64);
        // The call takes their number from the positions.
        let positions = self.caller.input_tensor(&[n, 3], dtype, &circle, false);
        let normals = if self.caller.input.odd(2).is_none() {
            Made::NONE
        } else {
            let dtype = self.caller.dtype(F64);
            self.caller.input_tensor(&[n, 3], dtype, &circle, true)
        };
        let passed = self.caller.passed(s);
        let done = call!(self.caller, isoc_pet_set_scanner(handle, passed, positions.tensor, normals.tensor));
        if done {
            self.crystals = n;
        }
        self.caller.done(done, None);
    }

    /// Two modules, of which some pairs are measured; NULL now and then, as what is left out.
    fn pairs(&mut self) {
        let handle = self.handle();
        let dtypes = [U32, U32, F32].map(|dtype| self.caller.dtype(dtype));
        // Values of u32 are eight times as large.
        let whole = |k: usize| k as f64 / 8.0;
        let [modules, groups] = if self.caller.input.odd(16).is_some() {
            [Made::NONE; 2]
        } else {
            [
                self.caller.input_tensor(&[self.crystals], dtypes[0], &|k| whole(k / 16 % 2), true),
                self.caller.input_tensor(&[2, 2], dtypes[1], &|k| whole(usize::from(k != 0)), false),
            ]
        };
        let side = i64::from(self.caller.input.byte() % 32);
        let efficiencies = match self.caller.input.odd(3) {
            Some(0) => Made::NONE,
            Some(_) => self.caller.input_tensor(&[1, side, side], dtypes[2], &|k| 1.0 - 0.5 * plain(k), false),
            None => self.caller.input_tensor(&[1], dtypes[2], &|k| 1.0 - 0.5 * plain(k), false),
        };
        let done = call!(self.caller, isoc_pet_set_pairs(handle, modules.tensor, groups.tensor, efficiencies.tensor));
        self.caller.done(done, None);
    }

    fn deposit_crystals(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.small(16, 40, EVENTS));
        // Values of u32 are eight times as large.
        let whole = |k: usize| k as f64 / 8.0;
        let dtypes = [U32; 3].map(|dtype| self.caller.dtype(dtype));
        let crystals = self.caller.input_tensor(&[n, 2], dtypes[0], &|k| whole(k / 2 % 16 + 16 * (k % 2)), true);
        // The call takes their number from the times.
        let times = self.caller.input_tensor(&[n], dtypes[1], &|k| whole(k % 4), false);
        let labels = if self.caller.input.odd(2).is_some() {
            Made::NONE
        } else {
            self.caller.input_tensor(&[n], dtypes[2], &|k| whole(k % 2), true)
        };
        let first = self.caller.input.odd(96).map_or(0, |k| [1, 1 << 32, u64::MAX - 3, u64::MAX][usize::from(k) % 4]);
        let ([nz, ny, nx], dtype) = (self.lattice, self.caller.dtype(U32));
        // The call takes the number of labels from them.
        let histos = self.caller.output_of_its_size(&[2, self.views, nz, ny, nx], dtype);
        // SAFETY: plain numbers, for which zeros are valid.
        let mut dropped: isoc_pet_dropped = unsafe { std::mem::zeroed() };
        dropped.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_dropped>());
        let dropped = self.caller.passed(dropped);
        let done = call!(
            self.caller,
            isoc_pet_deposit_crystals(
                handle,
                crystals.tensor,
                times.tensor,
                labels.tensor,
                first,
                histos.tensor,
                dropped
            )
        );
        self.caller.done(done, Some(histos));
    }

    /// Of the scanner's crystals; NULL now and then.
    fn efficiencies(&mut self) -> Made {
        if self.caller.input.odd(2).is_some() {
            return Made::NONE;
        }
        let dtype = self.caller.dtype(F32);
        self.caller.input_tensor(&[self.crystals], dtype, &|k| 1.0 - 0.5 * plain(k), true)
    }

    fn detect(&mut self) {
        let (handle, n) = (self.handle(), self.caller.input.small(16, 40, EVENTS));
        let [first, second, times] = self.events(n, false);
        let (efficiencies, seed) = (self.efficiencies(), self.caller.input.byte().into());
        let dtypes = [U32, U8].map(|dtype| self.caller.dtype(dtype));
        let crystals = self.caller.output_tensor(&[n, 2], dtypes[0]);
        let bins = self.caller.output_tensor(&[n], dtypes[1]);
        // SAFETY: plain numbers, for which zeros are valid.
        let mut lost: isoc_pet_lost = unsafe { std::mem::zeroed() };
        lost.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_lost>());
        let lost = self.caller.passed(lost);
        let done = call!(
            self.caller,
            isoc_pet_detect(
                handle,
                first.tensor,
                second.tensor,
                times.tensor,
                efficiencies.tensor,
                seed,
                crystals.tensor,
                bins.tensor,
                lost
            )
        );
        self.caller.done(done, Some(crystals));
        self.caller.done(done, Some(bins));
    }

    /// Sizes of a map, which calls take from it.
    fn map_shape(&mut self) -> [i64; 3] {
        [3, 4, 5].map(|n| self.caller.input.small(n, 6, SIDE))
    }

    fn map(&mut self) -> Made {
        if self.caller.input.odd(2).is_some() {
            return Made::NONE;
        }
        let (shape, dtype) = (self.map_shape(), self.caller.dtype(F32));
        self.caller.input_tensor(&shape, dtype, &|k| 0.005 * (1.0 + plain(k)), false)
    }

    fn directions(&mut self) -> u32 {
        self.caller.input.odd(96).map_or(2, |k| [0, 1, 20, 1 << 14, 1 << 15, u32::MAX][usize::from(k) % 6])
    }

    /// NULL now and then.
    fn factor_options(&mut self) -> *const isoc_pet_factor_options {
        let (directions, input) = (self.directions(), &mut self.caller.input);
        let o = isoc_pet_factor_options {
            struct_size: input.struct_size(size_of::<isoc_pet_factor_options>()),
            directions,
            duration: input.real(60.0),
            branching: input.real(0.0),
            half_life: input.real(6586.0),
            delay: input.real(0.0),
            live: input.real(0.0),
            map_voxel_x: input.real(0.0),
            map_voxel_y: input.real(0.0),
            map_voxel_z: input.real(0.0),
            map_centre_x: input.real(0.0),
            map_centre_y: input.real(0.0),
            map_centre_z: input.real(0.0),
        };
        let passed = self.caller.passed(o);
        if self.caller.input.odd(2).is_some() { ptr::null() } else { passed.cast_const() }
    }

    fn factors(&mut self) {
        let (handle, efficiencies, attenuation) = (self.handle(), self.efficiencies(), self.map());
        let (options, to) = (self.factor_options(), self.histos_out(self.views, F32));
        let done =
            call!(self.caller, isoc_pet_factors(handle, options, efficiencies.tensor, attenuation.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn factors_bytes(&mut self) {
        let (handle, attenuation, options) = (self.handle(), self.map(), self.factor_options());
        let [host, gpu] = [(); 2].map(|()| self.caller.passed(0u64));
        let done = call!(self.caller, isoc_pet_factors_memory(handle, options, attenuation.tensor, host, gpu));
        self.caller.done(done, None);
    }

    fn attenuation(&mut self) {
        let (handle, kilovolts) = (self.handle(), self.caller.input.real(120.0));
        let shape = self.map_shape();
        let dtypes = [F64, F32].map(|dtype| self.caller.dtype(dtype));
        let units = self.caller.input_tensor(&shape, dtypes[0], &|k| 1000.0 * (plain(k) - 1.0), false);
        let to = self.caller.output_tensor(&shape, dtypes[1]);
        let done = call!(self.caller, isoc_pet_attenuation(handle, kilovolts, units.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn fan_sums(&mut self) {
        let (handle, field_of_view) = (self.handle(), self.caller.input.real(0.0));
        let n = self.caller.input.small(16, 40, EVENTS);
        // Values of u32 are eight times as large.
        let whole = |k: usize| k as f64 / 8.0;
        let dtypes = [U32; 3].map(|dtype| self.caller.dtype(dtype));
        // The call takes their number from them.
        let crystals = self.caller.input_tensor(&[n, 2], dtypes[0], &|k| whole(k / 2 % 16 + 16 * (k % 2)), false);
        let labels = if self.caller.input.odd(2).is_some() {
            Made::NONE
        } else {
            self.caller.input_tensor(&[n], dtypes[1], &|k| whole(k % 2), true)
        };
        // The call takes the number of labels from them.
        let sums = self.caller.output_of_its_size(&[2, self.crystals], dtypes[2]);
        // SAFETY: plain numbers, for which zeros are valid.
        let mut dropped: isoc_pet_dropped = unsafe { std::mem::zeroed() };
        dropped.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_dropped>());
        let dropped = self.caller.passed(dropped);
        let done = call!(
            self.caller,
            isoc_pet_fan_sums(handle, field_of_view, crystals.tensor, labels.tensor, sums.tensor, dropped)
        );
        self.caller.done(done, Some(sums));
    }

    fn singles(&mut self) {
        let handle = self.handle();
        let [field_of_view, duration, window] = [0.0, 60.0, 0.0].map(|v| self.caller.input.real(v));
        let dtypes = [U32, F32].map(|dtype| self.caller.dtype(dtype));
        let sums = self.caller.input_tensor(&[self.crystals], dtypes[0], &|k| 1.0 + plain(k), true);
        let to = self.caller.output_tensor(&[self.crystals], dtypes[1]);
        let done =
            call!(self.caller, isoc_pet_singles(handle, field_of_view, duration, window, sums.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn normalisation(&mut self) {
        let (handle, image, options) = (self.handle(), self.image(), self.factor_options());
        let [field_of_view, window] = [0.0; 2].map(|v| self.caller.input.real(v));
        let dtypes = [U32, F32, F32].map(|dtype| self.caller.dtype(dtype));
        // Alike, as two that face each other alone must be.
        let sums = self.caller.input_tensor(&[self.crystals], dtypes[0], &|_| 1.0, true);
        let attenuation = self.map();
        let singles = match self.caller.input.odd(2) {
            Some(_) => self.caller.input_tensor(&[self.crystals], dtypes[1], &|k| 100.0 * (1.0 + plain(k)), true),
            None => Made::NONE,
        };
        let to = self.caller.output_tensor(&[self.crystals], dtypes[2]);
        let done = call!(
            self.caller,
            isoc_pet_efficiencies(
                handle,
                field_of_view,
                window,
                options,
                sums.tensor,
                image.tensor,
                attenuation.tensor,
                singles.tensor,
                to.tensor
            )
        );
        self.caller.done(done, Some(to));
    }

    fn randoms(&mut self) {
        let handle = self.handle();
        let [duration, window] = [60.0, 0.0].map(|v| self.caller.input.real(v));
        let (directions, dtype) = (self.directions(), self.caller.dtype(F32));
        let singles = self.caller.input_tensor(&[self.crystals], dtype, &|k| 100.0 * (1.0 + plain(k)), true);
        let to = self.histos_out(self.views, F32);
        let done =
            call!(self.caller, isoc_pet_randoms(handle, duration, window, directions, singles.tensor, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn randoms_bytes(&mut self) {
        let (handle, directions) = (self.handle(), self.directions());
        let [host, gpu] = [(); 2].map(|()| self.caller.passed(0u64));
        let done = call!(self.caller, isoc_pet_randoms_memory(handle, directions, host, gpu));
        self.caller.done(done, None);
    }

    /// NULL now and then.
    fn scatter_options(&mut self, factors: *const isoc_pet_factor_options) -> *const isoc_pet_scatter_options {
        let input = &mut self.caller.input;
        let o = isoc_pet_scatter_options {
            struct_size: input.struct_size(size_of::<isoc_pet_scatter_options>()),
            reserved: input.code(1),
            factors,
            energy_resolution: input.real(0.0),
            energy_lower: input.real(0.0),
            energy_upper: input.real(0.0),
            tof_fwhm: input.real(0.0),
            // So few places that a session is short.
            spacing: input.real(50.0),
        };
        let passed = self.caller.passed(o);
        if self.caller.input.odd(2).is_some() { ptr::null() } else { passed.cast_const() }
    }

    fn scatter(&mut self) {
        let (handle, image, factors) = (self.handle(), self.image(), self.factor_options());
        let (efficiencies, attenuation) = (self.efficiencies(), self.map());
        let measured = if self.caller.input.odd(2).is_some() { Made::NONE } else { self.histos(self.views, U32) };
        let (randoms, to) = (self.optional_histos(), self.histos_out(self.views, F32));
        let options = self.scatter_options(factors);
        // SAFETY: plain numbers, for which zeros are valid.
        let mut found: isoc_pet_scatter_found = unsafe { std::mem::zeroed() };
        found.struct_size = self.caller.input.struct_size(size_of::<isoc_pet_scatter_found>());
        let found = self.caller.passed(found);
        let done = call!(
            self.caller,
            isoc_pet_scatter(
                handle,
                options,
                image.tensor,
                efficiencies.tensor,
                attenuation.tensor,
                measured.tensor,
                randoms.tensor,
                to.tensor,
                found
            )
        );
        self.caller.done(done, Some(to));
    }

    fn scatter_bytes(&mut self) {
        let (handle, attenuation, factors) = (self.handle(), self.map(), self.factor_options());
        let options = self.scatter_options(factors);
        let [host, gpu] = [(); 2].map(|()| self.caller.passed(0u64));
        let done = call!(self.caller, isoc_pet_scatter_memory(handle, options, attenuation.tensor, host, gpu));
        self.caller.done(done, None);
    }

    fn bodies(&mut self) -> (*const isoc_pet_body, i64) {
        let input = &mut self.caller.input;
        let (n, shape) = (input.small(2, 4, ENTRIES), input.code(3));
        let [x, y, z, half_x, half_y, half_z, activity, attenuation] =
            [1.0, -2.0, 0.0, 40.0, 0.0, 20.0, 1.0, 0.0096].map(|v| input.real(v));
        let body = isoc_pet_body { shape, reserved: 0, x, y, z, half_x, half_y, half_z, activity, attenuation };
        (self.caller.array(n, ENTRIES, |_| body), n)
    }

    fn phantom_image(&mut self) {
        let (handle, (bodies, n), quantity) = (self.handle(), self.bodies(), self.caller.input.code(2));
        let to = self.image_out();
        let done = call!(self.caller, isoc_pet_phantom_image(handle, bodies, n, quantity, to.tensor));
        self.caller.done(done, Some(to));
    }

    fn scan(&mut self) -> *const isoc_pet_scan {
        let ((bodies, body_count), (radial_table_count, radial_table)) = (self.bodies(), self.radial_table());
        let map = if self.caller.input.odd(2).is_none() { Made::NONE } else { self.map() };
        let input = &mut self.caller.input;
        // The careful caller's photons do not scatter; others' do in one of three scans.
        let resolution = if input.odd(2).is_some() { input.real(0.11) } else { 0.0 };
        let scan = isoc_pet_scan {
            struct_size: input.struct_size(size_of::<isoc_pet_scan>()),
            radial_table_count,
            bodies,
            body_count,
            diameter: input.real(0.0),
            axial_length: input.real(0.0),
            tof_fwhm: input.real(200.0),
            radial_fwhm: input.real(4.0),
            axial_fwhm: input.real(4.0),
            radial_table,
            randoms: input.real(0.1),
            random_window: input.real(0.0),
            scatter: if resolution == 0.0 { input.real(0.1) } else { input.real(0.0) },
            scatter_sigma: input.real(0.0),
            seed: input.byte().into(),
            energy_resolution: resolution,
            energy_lower: input.real(0.0),
            energy_upper: input.real(0.0),
            attenuation: map.tensor,
            map_voxel_x: input.real(0.0),
            map_voxel_y: input.real(0.0),
            map_voxel_z: input.real(0.0),
            map_centre_x: input.real(0.0),
            map_centre_y: input.real(0.0),
            map_centre_z: input.real(0.0),
        };
        self.caller.passed(scan)
    }

    fn activity(&mut self) -> Made {
        if self.caller.input.odd(2).is_none() { Made::NONE } else { self.image() }
    }

    fn simulate(&mut self) {
        let (handle, scan, activity) = (self.handle(), self.scan(), self.activity());
        let n = self.caller.input.small(16, 40, EVENTS);
        let [first, second, times] = self.events(n, true);
        let tally = self.tally();
        let done = call!(
            self.caller,
            isoc_pet_simulate(handle, scan, activity.tensor, first.tensor, second.tensor, times.tensor, tally)
        );
        self.caller.done(done, Some(times));
    }

    fn tally(&mut self) -> *mut isoc_pet_tally {
        let input = &mut self.caller.input;
        let struct_size = input.struct_size(size_of::<isoc_pet_tally>());
        let [trues, scatter, randoms, decays, scatter_draws, random_draws] =
            [10, 2, 2, 100, 8, 8].map(|n| input.odd(96).map_or(n, |k| [0, 1, 1 << 62, u64::MAX][usize::from(k) % 4]));
        let tally =
            isoc_pet_tally { struct_size, reserved: 0, trues, scatter, randoms, decays, scatter_draws, random_draws };
        self.caller.passed(tally)
    }

    fn expect(&mut self) {
        let (handle, scan, activity, tally) = (self.handle(), self.scan(), self.activity(), self.tally());
        let (factors, additive) = (self.histos_out(self.views, F32), self.histos_out(self.views, F32));
        let done =
            call!(self.caller, isoc_pet_expect(handle, scan, activity.tensor, tally, factors.tensor, additive.tensor));
        self.caller.done(done, Some(factors));
        self.caller.done(done, Some(additive));
    }

    fn contrast_recovery(&mut self) {
        let (handle, image, n) = (self.handle(), self.image(), self.caller.input.small(2, 4, ENTRIES));
        let (place, ratio) = (self.caller.input.real(6.0), self.caller.input.real(4.0));
        let centres = self.caller.array(n, ENTRIES, |k| [place, place * k as f64, 0.0]);
        let recovery = self.caller.passed(0.0);
        let done =
            call!(self.caller, isoc_pet_contrast_recovery(handle, image.tensor, centres.cast(), n, ratio, recovery));
        self.caller.done(done, None);
    }

    fn noise(&mut self) {
        let (handle, image, noise) = (self.handle(), self.image(), self.caller.passed(0.0));
        let done = call!(self.caller, isoc_pet_noise(handle, image.tensor, noise));
        self.caller.done(done, None);
    }

    /// Plans come and go, from good contexts and from none, beside this one.
    fn other_plans(&mut self) {
        let context = self.caller.handle(self.caller.context);
        let out = self.caller.passed(ptr::null_mut::<isoc_pet>());
        if call!(self.caller, isoc_pet_create(context, out)) {
            // SAFETY: the call has set it.
            let plan = unsafe { out.read_unaligned() };
            assert_eq!(isoc_pet_destroy(plan), Status::Ok);
        }
    }
}
