//! Launches `kernels/mri/array.cu`: between the caller's arrays on the GPU and contiguous ones.

use isocenter_base::array::transfer::pinned_rows;
use isocenter_base::array::value::not_finite;
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::context::NanPolicy;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Lent, Precision, Queue, Rows};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Mirrors `Copy`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    array: u64,
    packed: u64,
    sizes: [i64; 4],
    strides: [i64; 4],
    count: i64,
    rank: i32,
    is_double: i32,
    is_complex: i32,
    replace: i32,
    found: u64,
    guard: u64,
}
isocenter_base::gpu::mirrored!(Arguments, 120);

impl Arguments {
    fn new<const N: usize>(layout: &Layout<N>, packed: u64, queue: &Queue) -> Self {
        // Slowest first; neighbours without a gap become one.
        let mut dims: Vec<(i64, i64)> = Vec::new();
        for (&size, &stride) in layout.shape.iter().zip(&layout.strides) {
            let (size, stride) = (size as i64, stride as i64);
            match dims.last_mut() {
                _ if size == 1 => {}
                Some(last) if last.1 == size * stride => *last = (last.0 * size, stride),
                _ => dims.push((size, stride)),
            }
        }
        if dims.is_empty() {
            dims.push((1, 1));
        }
        let (mut sizes, mut strides) = ([1; 4], [0; 4]);
        let first = 4 - dims.len();
        for (k, (size, stride)) in dims.iter().enumerate() {
            (sizes[first + k], strides[first + k]) = (*size, *stride);
        }
        let dtype = layout.dtype;
        Self {
            array: layout.origin.addr() as u64,
            packed,
            sizes,
            strides,
            count: layout.shape.iter().product::<usize>() as i64,
            rank: dims.len() as i32,
            is_double: i32::from([DType::F64, DType::C128].contains(&dtype)),
            is_complex: i32::from([DType::C64, DType::C128].contains(&dtype)),
            replace: 0,
            found: 0,
            guard: queue.guard.address(),
        }
    }
}

/// What reading an array found, which is known once the stream is there.
#[derive(Debug)]
pub(super) struct Pending {
    /// All bits of the index of the first value that is not finite flipped (0: there is none), and how many there are.
    found: Lent,
    name: String,
    policy: NanPolicy,
    shape: Vec<usize>,
    strides: Vec<isize>,
    origin: *const u8,
    dtype: DType,
}

// SAFETY: an address, which is followed only while the caller's array is there.
unsafe impl Send for Pending {}

impl Pending {
    /// Waits for the stream; the number of values that were replaced, or the error that names the first. The array is still
    /// there.
    pub(super) fn resolve(self, queue: &Queue) -> Result<u64> {
        let mut seen = [0.0; 2];
        queue.fetch(self.found.address(), &mut seen)?;
        let [first, count] = seen.map(f64::to_bits);
        if count > 0 && self.policy == NanPolicy::Error {
            let mut rest = !first as usize;
            let mut at = vec![0; self.shape.len()];
            for d in (0..at.len()).rev() {
                at[d] = rest % self.shape[d];
                rest /= self.shape[d];
            }
            let elements: isize = at.iter().zip(&self.strides).map(|(k, s)| *k as isize * s).sum();
            let address = self.origin.wrapping_offset(elements * self.dtype.size() as isize).addr() as u64;
            let (name, value) = (&self.name, value(queue, address, self.dtype)?);
            return not_finite(name, &at, value);
        }
        Ok(count)
    }
}

/// As a message has it.
fn value(queue: &Queue, address: u64, dtype: DType) -> Result<String> {
    let device = &queue.device;
    let real = |k: u64| -> Result<f64> {
        match dtype {
            DType::F64 | DType::C128 => device.read::<f64>(address + 8 * k),
            _ => Ok(device.read::<f32>(address + 4 * k)?.into()),
        }
    };
    Ok(if dtype.is_complex() { format!("{} + {}i", real(0)?, real(1)?) } else { real(0)?.to_string() })
}

/// Copies a caller's array to contiguous complex numbers; what is not finite is an error, or becomes 0 and is counted: see what
/// is returned.
///
/// # Safety
/// The layout is memory of this GPU, and `to` has room for it, until the stream has passed this; the GPU is current.
pub(super) unsafe fn read<T: Scalar, const N: usize>(
    queue: &Queue,
    from: &Array<N>,
    to: u64,
    name: &str,
    policy: NanPolicy,
) -> Result<Pending> {
    let found = queue.pool.take(2 * size_of::<u64>())?;
    found.clear(&queue.stream)?;
    let replace = i32::from(policy == NanPolicy::Replace);
    let arguments = Arguments { replace, found: found.address(), ..Arguments::new(from.layout(), to, queue) };
    let kernel = match T::PRECISION {
        Precision::F32 => "array_read_f32",
        Precision::F64 => "array_read_f64",
    };
    // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
    unsafe { queue.each((&crate::images::ARRAY, kernel), arguments.count as usize, &arguments)? };
    let (name, from) = (name.to_owned(), from.layout());
    let (dtype, origin) = (from.dtype, from.origin);
    Ok(Pending { found, name, policy, shape: from.shape.to_vec(), strides: from.strides.to_vec(), origin, dtype })
}

/// An array's numbers, if copies may take them as they are: contiguous, page-locked, and of the device's own type.
fn same_numbers<T: Scalar, const N: usize>(layout: &Layout<N>) -> Option<Rows> {
    let dtype = match T::PRECISION {
        Precision::F32 => DType::C64,
        Precision::F64 => DType::C128,
    };
    if layout.dtype == dtype { pinned_rows(layout) } else { None }
}

/// [`read`] of an array in host memory whose numbers can be copied as they are; None of others.
///
/// # Safety
/// The array stays, and `to` has room for it, until the stream has passed this; the GPU is current.
pub(super) unsafe fn read_pinned<T: Scalar, const N: usize>(
    queue: &Queue,
    from: &Array<N>,
    to: u64,
    name: &str,
    policy: NanPolicy,
) -> Result<Option<Pending>> {
    let Some(rows) = same_numbers::<T, N>(from.layout()) else { return Ok(None) };
    // SAFETY: by this function's contract.
    unsafe { rows.upload(to, rows.bytes, &queue.stream)? };
    let origin = std::ptr::without_provenance(to as usize);
    let arrived = Layout { origin, gpu: Some(queue.device.index()), ..*from.layout() };
    // SAFETY: the copy, which the kernel looks through in its place.
    unsafe { read::<T, N>(queue, &Array::over(arrived), to, name, policy).map(Some) }
}

/// Copies contiguous complex numbers into a caller's array; of real ones the real part. Nothing is written if something that is no
/// number was read since [`Queue::start`], and not replaced.
///
/// # Safety
/// As for `read`; elements of the array are apart from each other.
pub(super) unsafe fn write<T: Scalar, const N: usize>(queue: &Queue, from: u64, to: &mut ArrayMut<N>) -> Result<()> {
    let arguments = Arguments::new(to.layout(), from, queue);
    let kernel = match T::PRECISION {
        Precision::F32 => "array_write_f32",
        Precision::F64 => "array_write_f64",
    };
    // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
    unsafe { queue.each((&crate::images::ARRAY, kernel), arguments.count as usize, &arguments) }
}

/// Copies into an array in host memory that can take the numbers as they are, and says whether it can. What was read has been
/// verified.
///
/// # Safety
/// As for `write`.
pub(super) unsafe fn write_pinned<T: Scalar, const N: usize>(
    queue: &Queue,
    from: u64,
    to: &mut ArrayMut<N>,
) -> Result<bool> {
    let Some(rows) = same_numbers::<T, N>(to.layout()) else { return Ok(false) };
    // SAFETY: by this function's contract.
    unsafe { Rows::one(from, rows.bytes).download(rows.address, rows.bytes, &queue.stream)? };
    Ok(true)
}

/// Copies a caller's array to the host.
pub(crate) fn read_host<const N: usize>(
    device: &Arc<Device>,
    stream: usize,
    from: &Array<N>,
    name: &str,
    policy: NanPolicy,
    replaced: &mut u64,
) -> Result<Buffer<Complex<f64>>> {
    let _current = device.enter()?;
    let queue = Queue::new(device)?;
    queue.follow(stream)?;
    let mut values = Buffer::zeroed(from.layout().count())?;
    let memory = queue.pool.take(size_of_val(&*values))?;
    // SAFETY: memory of this GPU, as much as that; it is waited for below.
    let pending = unsafe { read::<f64, N>(&queue, from, memory.address(), name, policy) }?;
    *replaced += pending.resolve(&queue)?;
    queue.fetch(memory.address(), &mut values)?;
    Ok(values)
}

/// Copies values of the host into a caller's array.
pub(crate) fn write_host<const N: usize>(
    device: &Arc<Device>,
    stream: usize,
    values: &[Complex<f64>],
    to: &mut ArrayMut<N>,
) -> Result<()> {
    let _current = device.enter()?;
    let queue = Queue::new(device)?;
    queue.follow(stream)?;
    let memory = queue.upload(values)?;
    // SAFETY: memory of this GPU, as much as that; it is waited for below.
    unsafe { write::<f64, N>(&queue, memory.address(), to)? };
    queue.stream.synchronize()
}
