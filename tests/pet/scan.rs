//! A plan through the C ABI, on the processor or on GPUs, and the model's sums term by term.
#![allow(dead_code)] // Each test binary uses its part.

use isocenter::error::Status;
use isocenter::ffi::context::{
    isoc_context, isoc_context_create, isoc_context_destroy, isoc_context_options, isoc_last_error,
};
use isocenter::ffi::pet::*;
use isocenter::ffi::tensor::{isoc_device, isoc_dtype, isoc_tensor};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::ptr::null;

/// isoc_context_options.device.
pub(crate) const PROCESSOR: u32 = 1;
pub(crate) const GPU: u32 = 2;

/// A contiguous tensor of f32, f64 or whole numbers. Its shape stays for the rest of the run.
pub(crate) fn tensor<T: 'static>(data: &[T], shape: &[usize]) -> isoc_tensor {
    assert_eq!(data.len(), shape.iter().product::<usize>());
    let of = std::any::TypeId::of::<T>();
    let float = of == std::any::TypeId::of::<f32>() || of == std::any::TypeId::of::<f64>();
    let shape = shape.iter().map(|n| *n as i64).collect::<Vec<_>>().leak();
    isoc_tensor {
        data: data.as_ptr().cast_mut().cast(),
        device: isoc_device { device_type: 1, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: isoc_dtype { code: if float { 2 } else { 1 }, bits: 8 * size_of::<T>() as u8, lanes: 1 },
        shape: shape.as_ptr(),
        strides: null(),
        byte_offset: 0,
    }
}

/// The same to write to.
pub(crate) fn output<T: 'static>(data: &mut [T], shape: &[usize]) -> isoc_tensor {
    let start = data.as_mut_ptr().cast();
    isoc_tensor { data: start, ..tensor(data, shape) }
}

/// This thread's last error message.
pub(crate) fn said() -> String {
    // SAFETY: the message lives until this thread's next failing call.
    unsafe { std::ffi::CStr::from_ptr(isoc_last_error()) }.to_string_lossy().into_owned()
}

pub(crate) fn ok(status: Status) {
    assert_eq!(status, Status::Ok, "{}", said());
}

/// A struct of the API with its size and zeros.
pub(crate) fn sized<T>() -> T {
    // SAFETY: numbers and pointers; all zero is valid; every struct begins with its size.
    unsafe {
        let mut v = std::mem::MaybeUninit::<T>::zeroed();
        v.as_mut_ptr().cast::<u32>().write(size_of::<T>() as u32);
        v.assume_init()
    }
}

/// Options of a context on a device.
pub(crate) fn on(device: u32) -> isoc_context_options {
    isoc_context_options { device, ..sized() }
}

pub(crate) fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut random = SmallRng::seed_from_u64(seed);
    (0..n).map(|_| random.random_range(0.0f32..1.0)).collect()
}

/// A view's tables.
pub(crate) struct Tables {
    pub(crate) map: Vec<u32>,
    pub(crate) offsets: Vec<[i32; 3]>,
    pub(crate) values: Vec<f32>,
    pub(crate) mass: Vec<f64>,
}

impl Tables {
    /// What a call may fill.
    pub(crate) fn room(&mut self) -> isoc_pet_tables {
        isoc_pet_tables {
            map: self.map.as_mut_ptr(),
            map_capacity: self.map.len() as i64,
            offsets: self.offsets.as_mut_ptr().cast(),
            offset_capacity: self.offsets.len() as i64,
            values: self.values.as_mut_ptr(),
            value_capacity: self.values.len() as i64,
            mass: self.mass.as_mut_ptr(),
            mass_capacity: self.mass.len() as i64,
            ..sized()
        }
    }
}

/// A plan.
pub(crate) struct Plan {
    /// Its own context; NULL if it shares one.
    pub(crate) ctx: *mut isoc_context,
    pub(crate) pet: *mut isoc_pet,
    /// z, y, x
    pub(crate) shape: [usize; 3],
    pub(crate) voxel: [f64; 3],
    /// Azimuth and tilt.
    pub(crate) views: Vec<[f64; 2]>,
}

/// Widths at half maximum: ps, mm, mm.
pub(crate) fn response(tof: f64, radial: f64, axial: f64) -> isoc_pet_response {
    isoc_pet_response { tof_fwhm: tof, radial_fwhm: radial, axial_fwhm: axial, ..sized() }
}

/// A radial width that grows from the axis on; the pairs stay for the rest of the run.
pub(crate) fn widening(base: isoc_pet_response, pairs: &[[f64; 2]]) -> isoc_pet_response {
    let pairs = pairs.to_vec().leak();
    isoc_pet_response { radial_table_count: pairs.len() as u32, radial_table: pairs.as_ptr().cast(), ..base }
}

impl Plan {
    pub(crate) fn new(device: u32, shape: [usize; 3], voxel: [f64; 3], views: &[[f64; 2]]) -> Self {
        Self::with(&on(device), shape, voxel, views)
    }

    pub(crate) fn with(options: &isoc_context_options, shape: [usize; 3], voxel: [f64; 3], views: &[[f64; 2]]) -> Self {
        let mut ctx = std::ptr::null_mut();
        // SAFETY: valid pointers.
        ok(unsafe { isoc_context_create(options, &mut ctx) });
        let mut plan = Self::sharing(ctx, shape, voxel, views);
        plan.ctx = ctx;
        plan
    }

    /// A plan of somebody else's context.
    pub(crate) fn sharing(
        context: *const isoc_context,
        shape: [usize; 3],
        voxel: [f64; 3],
        views: &[[f64; 2]],
    ) -> Self {
        let mut pet = std::ptr::null_mut();
        let list: Vec<f64> = views.as_flattened().to_vec();
        let geometry = isoc_pet_geometry {
            nx: shape[2] as i64,
            ny: shape[1] as i64,
            nz: shape[0] as i64,
            voxel_x: voxel[0],
            voxel_y: voxel[1],
            voxel_z: voxel[2],
            max_tilt: 0.5,
            ..sized()
        };
        // SAFETY: valid pointers.
        unsafe {
            ok(isoc_pet_create(context, &mut pet));
            ok(isoc_pet_set_geometry(pet, &geometry, &tensor(&list, &[views.len(), 2])));
        }
        Self { ctx: std::ptr::null_mut(), pet, shape, voxel, views: views.to_vec() }
    }

    pub(crate) fn set_response(&self, response: &isoc_pet_response) {
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_set_response(self.pet, response) });
    }

    pub(crate) fn set_options(&self, options: &isoc_pet_options) {
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_set_options(self.pet, options) });
    }

    pub(crate) fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// Of `views` histo-images.
    pub(crate) fn histos(&self, views: usize) -> [usize; 4] {
        let [nz, ny, nx] = self.shape;
        [views, nz, ny, nx]
    }

    pub(crate) fn forward(&self, views: &[i64], image: &[f32]) -> Vec<f32> {
        let mut out = vec![f32::NAN; views.len() * self.voxels()];
        let to = output(&mut out, &self.histos(views.len()));
        // SAFETY: valid pointers.
        let status =
            unsafe { isoc_pet_forward(self.pet, views.as_ptr(), views.len() as i64, &tensor(image, &self.shape), &to) };
        ok(status);
        out
    }

    pub(crate) fn adjoint(&self, views: &[i64], histos: &[f32]) -> Vec<f32> {
        let mut out = vec![f32::NAN; self.voxels()];
        let to = output(&mut out, &self.shape);
        let from = tensor(histos, &self.histos(views.len()));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_adjoint(self.pet, views.as_ptr(), views.len() as i64, &from, &to) });
        out
    }

    /// The status, and the image that was there or is there now.
    pub(crate) fn try_reconstruct<T: 'static>(
        &self,
        measured: &[T],
        factors: Option<&[f32]>,
        additive: Option<&[f32]>,
        start: &[f32],
    ) -> (Status, Vec<f32>) {
        let mut image = start.to_vec();
        let to = output(&mut image, &self.shape);
        let shape = self.histos(self.views.len());
        let optional = |data: Option<&[f32]>| data.map(|d| tensor(d, &shape));
        let pointer = |t: &Option<isoc_tensor>| t.as_ref().map_or(null(), std::ptr::from_ref);
        let (factors, additive) = (optional(factors), optional(additive));
        // SAFETY: valid pointers.
        let status = unsafe {
            isoc_pet_reconstruct(self.pet, &tensor(measured, &shape), pointer(&factors), pointer(&additive), &to)
        };
        (status, image)
    }

    pub(crate) fn reconstruct(&self, measured: &[f32], factors: Option<&[f32]>, additive: Option<&[f32]>) -> Vec<f32> {
        let (status, image) = self.try_reconstruct(measured, factors, additive, &vec![f32::NAN; self.voxels()]);
        ok(status);
        image
    }

    pub(crate) fn history(&self) -> Vec<(f64, u64)> {
        let blank = isoc_pet_iteration {
            log_likelihood: f64::NAN,
            penalty: 0.0,
            change: 0.0,
            region_change: 0.0,
            skipped_voxels: 0,
        };
        let mut list = vec![blank; 1000];
        let mut written = 0;
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_history(self.pet, list.as_mut_ptr(), list.len() as i64, &mut written) });
        list[..written as usize].iter().map(|i| (i.log_likelihood, i.skipped_voxels)).collect()
    }

    pub(crate) fn tables(&self, view: usize) -> Tables {
        let mut sizes: isoc_pet_table_sizes = sized();
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_get_table_sizes(self.pet, view as i64, &mut sizes) });
        let (kernels, offsets) = (sizes.kernels as usize, sizes.offsets as usize);
        let mut t = Tables {
            map: vec![u32::MAX; self.shape[1] * self.shape[2]],
            offsets: vec![[0; 3]; offsets],
            values: vec![f32::NAN; kernels * offsets],
            mass: vec![f64::NAN; kernels],
        };
        let mut to = t.room();
        // SAFETY: there is room.
        ok(unsafe { isoc_pet_get_tables(self.pet, view as i64, &mut to) });
        let counts = [to.map_count, to.offset_count, to.value_count, to.mass_count];
        assert_eq!(counts, [t.map.len(), t.offsets.len(), t.values.len(), t.mass.len()].map(|n| n as i64));
        t
    }

    /// Projections term by term: H image, or H' image.
    pub(crate) fn plain(&self, tables: &Tables, forward: bool, from: &[f64]) -> Vec<f64> {
        let [nz, ny, nx] = self.shape;
        let mut out = vec![0.0; from.len()];
        for p in 0..from.len() {
            let (x, y, z) = (p % nx, p / nx % ny, p / (nx * ny));
            let kernel = tables.map[y * nx + x] as usize;
            let row = &tables.values[kernel * tables.offsets.len()..][..tables.offsets.len()];
            for (o, w) in tables.offsets.iter().zip(row) {
                let to = [(x, nx, o[0]), (y, ny, o[1]), (z, nz, o[2])]
                    .map(|(c, n, o)| usize::try_from(c as i32 + o).ok().filter(|c| *c < n));
                let [Some(qx), Some(qy), Some(qz)] = to else { continue };
                let q = (qz * ny + qy) * nx + qx;
                // Voxel p of the image has the kernel: it gives to p + m, or gets from there.
                if forward { out[q] += f64::from(*w) * from[p] } else { out[p] += f64::from(*w) * from[q] }
            }
        }
        out
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        ok(isoc_pet_destroy(self.pet));
        ok(isoc_context_destroy(self.ctx));
    }
}

pub(crate) fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|v| f64::from(*v)).collect()
}

pub(crate) fn norm(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// Largest difference over the largest value of `b`.
pub(crate) fn apart(a: &[f32], b: &[f64]) -> f64 {
    let max = b.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max) / max
}
