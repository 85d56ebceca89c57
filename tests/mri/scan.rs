//! A plan through the C ABI, on the processor or on GPUs, and the model's sums term by term.
#![allow(dead_code)] // Each test binary uses its part.

use isocenter::error::Status;
use isocenter::ffi::context::{
    isoc_context, isoc_context_create, isoc_context_destroy, isoc_context_options, isoc_last_error,
};
use isocenter::ffi::mri::*;
use isocenter::ffi::tensor::{ISOC_DTYPE_COMPLEX, isoc_device, isoc_dtype, isoc_tensor};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustfft::num_complex::Complex;
use std::f64::consts::TAU;
use std::ffi::c_void;

/// isoc_context_options.device.
pub(crate) const PROCESSOR: u32 = 1;
pub(crate) const GPU: u32 = 2;

pub(crate) type C = Complex<f64>;

/// A call that takes one array to another.
pub(crate) type Run = unsafe extern "C" fn(*mut isoc_mri, *const isoc_tensor, *const isoc_tensor) -> Status;

/// A call that has samples brought.
pub(crate) type Stream =
    unsafe extern "C" fn(*mut isoc_mri, isoc_dtype, i64, isoc_mri_read_fn, *mut c_void, *const isoc_tensor) -> Status;

/// complex128, or complex64.
pub(crate) fn complex(double: bool) -> isoc_dtype {
    isoc_dtype { code: ISOC_DTYPE_COMPLEX, bits: if double { 128 } else { 64 }, lanes: 1 }
}

/// Fills `(coils, count)` from `samples[coil][sample]`.
///
/// # Safety
/// `to` is a tensor of a stream's callback, and `samples` are of as many coils.
pub(crate) unsafe fn fill(samples: &[C], first: usize, to: &isoc_tensor) {
    // SAFETY: of two dimensions.
    let [coils, count] = unsafe { to.shape.cast::<[i64; 2]>().read() }.map(|n| n as usize);
    let all = samples.len() / coils;
    for coil in 0..coils {
        for k in 0..count {
            let value = samples[coil * all + first + k];
            // SAFETY: within the shape.
            unsafe {
                match to.dtype.bits {
                    64 => *to.data.cast::<[f32; 2]>().add(coil * count + k) = [value.re as f32, value.im as f32],
                    _ => *to.data.cast::<C>().add(coil * count + k) = value,
                }
            }
        }
    }
}

/// Reads from all samples, which `user` points to.
pub(crate) unsafe extern "C" fn read_all(user: *mut c_void, first: i64, _: i64, to: *const isoc_tensor) -> i32 {
    // SAFETY: the library's tensor; the test's samples.
    unsafe { fill(&*user.cast::<Vec<C>>(), first as usize, &*to) };
    0
}

/// A contiguous tensor of complex numbers, or of real ones, in double precision. Its shape stays for the rest of the run.
pub(crate) fn tensor<T>(data: &[T], shape: &[i64]) -> isoc_tensor {
    let complex = size_of::<T>() == 16;
    let shape = shape.to_vec().leak();
    isoc_tensor {
        data: data.as_ptr().cast_mut().cast(),
        device: isoc_device { device_type: 1, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: isoc_dtype { code: if complex { 5 } else { 2 }, bits: if complex { 128 } else { 64 }, lanes: 1 },
        shape: shape.as_ptr(),
        strides: std::ptr::null(),
        byte_offset: 0,
    }
}

/// The same to write to.
pub(crate) fn output<T>(data: &mut [T], shape: &[i64]) -> isoc_tensor {
    let start = data.as_mut_ptr().cast();
    isoc_tensor { data: start, ..tensor(data, shape) }
}

/// A scan and its plan.
pub(crate) struct Scan {
    /// Its own context; NULL if it shares one.
    pub(crate) ctx: *mut isoc_context,
    pub(crate) mri: *mut isoc_mri,
    /// z, y, x
    pub(crate) grid: [usize; 3],
    pub(crate) coils: usize,
    pub(crate) images: usize,
    /// Cycles per voxel, x first.
    pub(crate) k: Vec<[f64; 3]>,
    pub(crate) weights: Option<Vec<f64>>,
    pub(crate) maps: Option<Vec<C>>,
    pub(crate) field: Option<(Vec<f64>, Vec<f64>)>,
    /// Beside a field.
    pub(crate) decay: Option<Vec<f64>>,
    /// `[voxel][axis]`, x first.
    pub(crate) positions: Option<Vec<f64>>,
}

/// This thread's last error message.
pub(crate) fn said() -> String {
    // SAFETY: the message lives until this thread's next failing call.
    unsafe { std::ffi::CStr::from_ptr(isoc_last_error()) }.to_string_lossy().into_owned()
}

pub(crate) fn ok(status: Status) {
    assert_eq!(status, Status::Ok, "{}", said());
}

/// Options of a context on a device.
pub(crate) fn on(device: u32) -> isoc_context_options {
    // SAFETY: numbers, pointers and optional functions; all zero is valid.
    let zeros: isoc_context_options = unsafe { std::mem::zeroed() };
    isoc_context_options { struct_size: size_of::<isoc_context_options>() as u32, device, ..zeros }
}

impl Scan {
    pub(crate) fn new(device: u32, grid: [usize; 3], k: Vec<[f64; 3]>, coils: usize, double: bool) -> Self {
        Self::with(&on(device), grid, k, coils, double)
    }

    pub(crate) fn with(
        options: &isoc_context_options,
        grid: [usize; 3],
        k: Vec<[f64; 3]>,
        coils: usize,
        double: bool,
    ) -> Self {
        let mut ctx = std::ptr::null_mut();
        // SAFETY: valid pointers.
        ok(unsafe { isoc_context_create(options, &mut ctx) });
        let mut scan = Self::sharing(ctx, grid, k, coils, double);
        scan.ctx = ctx;
        scan
    }

    /// A scan and its plan of somebody else's context.
    pub(crate) fn sharing(
        context: *const isoc_context,
        grid: [usize; 3],
        k: Vec<[f64; 3]>,
        coils: usize,
        double: bool,
    ) -> Self {
        let (ctx, mut mri) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_create(context, &mut mri) });
        let scan = Self {
            ctx,
            mri,
            grid,
            coils,
            images: coils,
            k,
            weights: None,
            maps: None,
            field: None,
            decay: None,
            positions: None,
        };
        scan.set_geometry(1, 1.0, double);
        scan
    }

    pub(crate) fn dims(&self) -> usize {
        if self.grid[0] == 1 { 2 } else { 3 }
    }

    pub(crate) fn geometry(&self, unit: u32, double: bool) -> isoc_mri_geometry {
        let [nz, ny, nx] = self.grid.map(|n| n as i64);
        isoc_mri_geometry {
            struct_size: size_of::<isoc_mri_geometry>() as u32,
            unit,
            precision: double.into(),
            axes: self.dims() as u32,
            nx,
            ny,
            nz,
            samples: self.k.len() as i64,
            coils: self.coils as i64,
        }
    }

    pub(crate) fn try_geometry(&self, unit: u32, scale: f64, double: bool) -> Status {
        let g = self.geometry(unit, double);
        let n = [self.grid[2], self.grid[1], self.grid[0]];
        let own = |d: usize| if unit == 2 { n[d] as f64 } else { scale };
        let values: Vec<f64> = self.k.iter().flat_map(|k| (0..self.dims()).map(move |d| k[d] * own(d))).collect();
        let shape = [self.k.len() as i64, self.dims() as i64];
        // SAFETY: valid pointers.
        unsafe { isoc_mri_set_geometry(self.mri, &g, &tensor(&values, &shape)) }
    }

    pub(crate) fn set_geometry(&self, unit: u32, scale: f64, double: bool) {
        ok(self.try_geometry(unit, scale, double));
    }

    pub(crate) fn options(&self, change: impl FnOnce(&mut isoc_mri_options)) {
        // SAFETY: all zero is valid.
        let mut o: isoc_mri_options = unsafe { std::mem::zeroed() };
        o.struct_size = size_of::<isoc_mri_options>() as u32;
        change(&mut o);
        // SAFETY: a valid pointer.
        ok(unsafe { isoc_mri_set_options(self.mri, &o) });
    }

    pub(crate) fn set_weights(&mut self, weights: Vec<f64>) {
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_set_weights(self.mri, &tensor(&weights, &[weights.len() as i64])) });
        self.weights = Some(weights);
    }

    pub(crate) fn set_maps(&mut self, maps: Vec<C>) {
        let [nz, ny, nx] = self.grid.map(|n| n as i64);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_set_maps(self.mri, &tensor(&maps, &[self.coils as i64, nz, ny, nx])) });
        self.maps = Some(maps);
        self.images = 1;
    }

    pub(crate) fn set_positions(&mut self, positions: Vec<f64>) {
        let [nz, ny, nx] = self.grid.map(|n| n as i64);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_set_positions(self.mri, &tensor(&positions, &[nz, ny, nx, self.dims() as i64])) });
        self.positions = Some(positions);
    }

    pub(crate) fn set_field(&mut self, hertz: Vec<f64>, seconds: Vec<f64>) {
        let shape = self.grid.map(|n| n as i64);
        // SAFETY: valid pointers.
        ok(unsafe {
            let seconds = tensor(&seconds, &[seconds.len() as i64]);
            isoc_mri_set_field(self.mri, &tensor(&hertz, &shape), &seconds, std::ptr::null())
        });
        self.field = Some((hertz, seconds));
    }

    pub(crate) fn set_decaying_field(&mut self, hertz: Vec<f64>, seconds: Vec<f64>, decay: Vec<f64>) {
        let shape = self.grid.map(|n| n as i64);
        // SAFETY: valid pointers.
        ok(unsafe {
            let seconds = tensor(&seconds, &[seconds.len() as i64]);
            isoc_mri_set_field(self.mri, &tensor(&hertz, &shape), &seconds, &tensor(&decay, &shape))
        });
        (self.field, self.decay) = (Some((hertz, seconds)), Some(decay));
    }

    pub(crate) fn info(&self) -> isoc_mri_info {
        // SAFETY: numbers; all zero is valid.
        let mut info: isoc_mri_info = unsafe { std::mem::zeroed() };
        info.struct_size = size_of::<isoc_mri_info>() as u32;
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_get_info(self.mri, &mut info) });
        info
    }

    pub(crate) fn voxels(&self) -> usize {
        self.grid.iter().product()
    }

    pub(crate) fn image_shape(&self) -> [i64; 4] {
        let [nz, ny, nx] = self.grid.map(|n| n as i64);
        [self.images as i64, nz, ny, nx]
    }

    pub(crate) fn scan_shape(&self) -> [i64; 2] {
        [self.coils as i64, self.k.len() as i64]
    }

    /// Images to samples.
    pub(crate) fn forward(&self, image: &[C]) -> Vec<C> {
        let mut out = vec![C::new(f64::NAN, 0.0); self.coils * self.k.len()];
        let (from, to) = (tensor(image, &self.image_shape()), output(&mut out, &self.scan_shape()));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_forward(self.mri, &from, &to) });
        out
    }

    /// Samples to images.
    pub(crate) fn to_image(&self, run: Run, samples: &[C]) -> Vec<C> {
        let mut out = vec![C::new(f64::NAN, 0.0); self.images * self.voxels()];
        let (from, to) = (tensor(samples, &self.scan_shape()), output(&mut out, &self.image_shape()));
        // SAFETY: valid pointers.
        ok(unsafe { run(self.mri, &from, &to) });
        out
    }

    pub(crate) fn normal(&self, image: &[C]) -> Vec<C> {
        let mut out = vec![C::new(f64::NAN, 0.0); image.len()];
        let (from, to) = (tensor(image, &self.image_shape()), output(&mut out, &self.image_shape()));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_normal(self.mri, &from, &to) });
        out
    }

    pub(crate) fn history(&self, image: i64) -> Vec<f64> {
        let (mut found, mut values) = (0, vec![f64::NAN; 1000]);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_history(self.mri, image, values.as_mut_ptr(), values.len() as i64, &mut found) });
        values.truncate(found as usize);
        values
    }

    pub(crate) fn objective(&self, image: i64) -> Vec<f64> {
        let (mut found, mut values) = (0, vec![f64::NAN; 10_000]);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_objective(self.mri, image, values.as_mut_ptr(), values.len() as i64, &mut found) });
        values.truncate(found as usize);
        values
    }

    pub(crate) fn gap(&self, image: i64) -> Vec<f64> {
        let (mut found, mut values) = (0, vec![f64::NAN; 10_000]);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_mri_gap(self.mri, image, values.as_mut_ptr(), values.len() as i64, &mut found) });
        values.truncate(found as usize);
        values
    }

    /// exp(-2 pi i (k_m . r + f(r) t_m) - d(r) t_m) S_c(r), by the model's words.
    pub(crate) fn element(&self, coil: usize, m: usize, voxel: usize) -> C {
        let [nz, ny, nx] = self.grid;
        let at = [voxel % nx, voxel / nx % ny, voxel / nx / ny];
        let centre = [nx / 2, ny / 2, nz / 2];
        let place = |d: usize| match &self.positions {
            Some(p) if d < self.dims() => p[voxel * self.dims() + d],
            _ => at[d] as f64 - centre[d] as f64,
        };
        let mut phase: f64 = (0..3).map(|d| self.k[m][d] * place(d)).sum();
        let mut size = 1.0;
        if let Some((hertz, seconds)) = &self.field {
            phase += hertz[voxel] * seconds[m];
            size = self.decay.as_ref().map_or(1.0, |decay| (-decay[voxel] * seconds[m]).exp());
        }
        let map = self.maps.as_ref().map_or(C::new(1.0, 0.0), |maps| maps[coil * self.voxels() + voxel]);
        map * C::from_polar(size, -TAU * phase)
    }

    pub(crate) fn exact_forward(&self, images: &[C]) -> Vec<C> {
        let (n, count) = (self.voxels(), self.k.len());
        let image = |coil: usize| &images[if self.images == 1 { 0 } else { coil * n }..][..n];
        (0..self.coils * count)
            .map(|i| {
                let (coil, m) = (i / count, i % count);
                (0..n).map(|r| self.element(coil, m, r) * image(coil)[r]).sum()
            })
            .collect()
    }

    pub(crate) fn exact_adjoint(&self, samples: &[C]) -> Vec<C> {
        let (n, count) = (self.voxels(), self.k.len());
        let mut out = vec![C::default(); self.images * n];
        for coil in 0..self.coils {
            let to = if self.images == 1 { 0 } else { coil * n };
            for r in 0..n {
                for m in 0..count {
                    out[to + r] += self.element(coil, m, r).conj() * samples[coil * count + m];
                }
            }
        }
        out
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        isoc_mri_destroy(self.mri);
        isoc_context_destroy(self.ctx);
    }
}

pub(crate) fn random(n: usize, seed: u64) -> Vec<C> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..n).map(|_| C::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0))).collect()
}

pub(crate) fn points(n: usize, dims: usize, seed: u64) -> Vec<[f64; 3]> {
    let mut rng = SmallRng::seed_from_u64(seed);
    (0..n).map(|_| std::array::from_fn(|d| if d < dims { rng.random_range(-0.5..=0.5) } else { 0.0 })).collect()
}

/// Relative l2 error.
pub(crate) fn error(seen: &[C], expected: &[C]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    let power: f64 = expected.iter().map(C::norm_sqr).sum();
    let wrong: f64 = seen.iter().zip(expected).map(|(a, b)| (a - b).norm_sqr()).sum();
    (wrong / power).sqrt()
}

pub(crate) fn dot(a: &[C], b: &[C]) -> C {
    a.iter().zip(b).map(|(a, b)| a.conj() * b).sum()
}
