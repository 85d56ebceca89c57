//! `isoc_tensor` and its checks.

use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::gpu::Device;
use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

/// Host memory (DLPack's kDLCPU). A device_type of 0 means the same.
pub const ISOC_DEVICE_HOST: i32 = 1;
/// Memory of an NVIDIA GPU (DLPack's kDLCUDA) that the context computes on: used in place.
pub const ISOC_DEVICE_CUDA: i32 = 2;
/// Page-locked host memory (DLPack's kDLCUDAHost). Host memory is looked up, so ISOC_DEVICE_HOST serves it as well.
pub const ISOC_DEVICE_CUDA_HOST: i32 = 3;
/// Unsigned integers (DLPack's kDLUInt).
pub const ISOC_DTYPE_UINT: u8 = 1;
/// Floating point (DLPack's kDLFloat).
pub const ISOC_DTYPE_FLOAT: u8 = 2;
/// Complex floating point, real part first (DLPack's kDLComplex).
pub const ISOC_DTYPE_COMPLEX: u8 = 5;

/// Bytes that no processor's address space exceeds: strides that span more are a mistake.
const MAX_SPAN: i128 = 1 << 56;

/// Where a tensor lives (DLPack's DLDevice).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_device {
    /// ISOC_DEVICE_HOST (or 0 for the same), ISOC_DEVICE_CUDA or ISOC_DEVICE_CUDA_HOST.
    pub device_type: i32,
    /// ISOC_DEVICE_CUDA: the GPU, as the driver counts.
    pub device_id: i32,
}

/// Element type (DLPack's DLDataType). ISOC_F16, ISOC_F32, ISOC_F64, ISOC_C64, ISOC_C128, ISOC_U32, ISOC_U16 and ISOC_U8 are ready-made
/// initialisers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_dtype {
    /// ISOC_DTYPE_FLOAT, ISOC_DTYPE_COMPLEX or ISOC_DTYPE_UINT.
    pub code: u8,
    /// Bits an element, both parts of a complex number counted.
    pub bits: u8,
    /// 1.
    pub lanes: u16,
}

/// A caller's array; laid out as DLPack's DLTensor, so one from NumPy, PyTorch or CuPy can be passed as it is.
///
/// The library reads (or writes) the elements in place and keeps no pointer after the call. Strides may be any, negative
/// ones too, as long as no element lies before `data`; an output's elements must not share memory with each other or with
/// an input.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_tensor {
    /// Start of the buffer.
    pub data: *mut c_void,
    /// Where it is.
    pub device: isoc_device,
    /// Number of dimensions.
    pub ndim: i32,
    /// Element type.
    pub dtype: isoc_dtype,
    /// `ndim` sizes, slowest dimension first.
    pub shape: *const i64,
    /// `ndim` distances between neighbours, in elements; NULL means contiguous with the last dimension fastest.
    pub strides: *const i64,
    /// Bytes from `data` to the element at index 0.
    pub byte_offset: u64,
}

impl isoc_tensor {
    /// A contiguous array in host memory.
    pub(super) fn contiguous(data: *mut c_void, dtype: DType, shape: &[i64]) -> Self {
        let code = match dtype {
            DType::C64 | DType::C128 => ISOC_DTYPE_COMPLEX,
            _ if dtype.is_integer() => ISOC_DTYPE_UINT,
            _ => ISOC_DTYPE_FLOAT,
        };
        Self {
            data,
            device: isoc_device { device_type: ISOC_DEVICE_HOST, device_id: 0 },
            ndim: shape.len() as i32,
            dtype: isoc_dtype { code, bits: 8 * dtype.size() as u8, lanes: 1 },
            shape: shape.as_ptr(),
            strides: std::ptr::null(),
            byte_offset: 0,
        }
    }
}

impl fmt::Display for isoc_dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // DLPack's kDLInt, kDLUInt, kDLFloat, kDLBfloat, kDLComplex.
        let letters = ["I", "U", "F", "", "BF", "C"];
        match (letters.get(usize::from(self.code)), self.lanes) {
            (Some(letter), 1) if !letter.is_empty() => write!(f, "{letter}{}", self.bits),
            _ => write!(f, "code {}, {} bits, {} lanes", self.code, self.bits, self.lanes),
        }
    }
}

/// The element type that DLPack codes so.
fn decode(dtype: isoc_dtype) -> Option<DType> {
    match (dtype.code, dtype.bits, dtype.lanes) {
        (ISOC_DTYPE_FLOAT, 16, 1) => Some(DType::F16),
        (ISOC_DTYPE_FLOAT, 32, 1) => Some(DType::F32),
        (ISOC_DTYPE_FLOAT, 64, 1) => Some(DType::F64),
        (ISOC_DTYPE_COMPLEX, 64, 1) => Some(DType::C64),
        (ISOC_DTYPE_COMPLEX, 128, 1) => Some(DType::C128),
        (ISOC_DTYPE_UINT, 8, 1) => Some(DType::U8),
        (ISOC_DTYPE_UINT, 16, 1) => Some(DType::U16),
        (ISOC_DTYPE_UINT, 32, 1) => Some(DType::U32),
        _ => None,
    }
}

/// What a call expects of a tensor.
pub(super) struct Expected<'e, const N: usize = 3> {
    /// Argument name, for messages.
    pub(super) name: &'static str,
    /// Sizes.
    pub(super) shape: [usize; N],
    /// Names of the dimensions.
    pub(super) dims: [&'static str; N],
    /// Dimensions that a tensor may leave out where they are 1, the first of them first.
    pub(super) optional: &'static [usize],
    /// Element types allowed.
    pub(super) dtypes: &'static [DType],
    /// GPUs whose memory it may be in.
    pub(super) gpus: &'e [Arc<Device>],
}

impl<const N: usize> Expected<'_, N> {
    /// Access to an input's elements.
    ///
    /// # Safety
    /// `tensor` is NULL or a readable `isoc_tensor` whose pointers are as its documentation says, for `'a`.
    pub(super) unsafe fn input<'a>(&self, tensor: *const isoc_tensor) -> Result<Array<'a, N>> {
        // SAFETY: by the caller's contract, and the checks of `parse`.
        unsafe { self.parse(tensor).map(|layout| Array::over(layout)) }
    }

    /// Access to an output's elements.
    ///
    /// # Safety
    /// As for `input`, for writing; nothing else touches the elements for `'a`.
    pub(super) unsafe fn output<'a>(&self, tensor: *const isoc_tensor) -> Result<ArrayMut<'a, N>> {
        // SAFETY: by the caller's contract, and the checks of `parse` and `check_distinct`.
        unsafe {
            let layout = self.parse(tensor)?;
            self.check_distinct(layout.strides)?;
            Ok(ArrayMut::over(layout))
        }
    }

    /// Where a tensor's elements are.
    ///
    /// # Safety
    /// As for `input`.
    unsafe fn parse(&self, tensor: *const isoc_tensor) -> Result<Layout<N>> {
        let name = self.name;
        if tensor.is_null() {
            fail!(NullPointer, "{name} is NULL");
        }
        // SAFETY: readable, by the caller's contract.
        let t = unsafe { tensor.read_unaligned() };
        let gpu = self.check_device(t.device)?;
        let dtype = self.check_dtype(t.dtype)?;
        if t.data.is_null() || t.shape.is_null() {
            let field = if t.data.is_null() { "data" } else { "shape" };
            fail!(NullPointer, "{name}.{field} is NULL");
        }
        // SAFETY: `ndim` sizes, by the tensor's documentation.
        let kept = self.check_ndim(t.ndim, || unsafe { sizes(&t, N) })?;
        let mut strides = [0isize; N];
        let mut next = 1i64;
        for (k, d) in kept.iter().enumerate().rev() {
            // SAFETY: `ndim` sizes, by the tensor's documentation.
            let size = unsafe { t.shape.add(k).read_unaligned() };
            if usize::try_from(size) != Ok(self.shape[*d]) {
                // SAFETY: `ndim` sizes, by the tensor's documentation.
                let seen = unsafe { sizes(&t, N) };
                let (must, remark) = (self.shape[*d], self.remark(&seen));
                fail!(TensorShape, "{name}.shape[{k}] is {size}; it must be {must} ({}){remark}", self.describe());
            }
            // SAFETY: `ndim` strides where there are any, by the tensor's documentation.
            let stride = if t.strides.is_null() { next } else { unsafe { t.strides.add(k).read_unaligned() } };
            strides[*d] = isize::try_from(stride).or_else(|_| self.bad_strides(k, stride))?;
            next = next.checked_mul(size).map_or_else(|| self.too_large(), Ok)?;
        }
        let origin = self.check_extent(&t, dtype, strides)?;
        if let Some(gpu) = gpu.filter(|g| !g.holds(origin)) {
            fail!(
                TensorDevice,
                "{name} is on device type 2, id {}, but {name}.data ({origin:p}) is not memory of that GPU; host memory is type 0, 1 or 3",
                gpu.index()
            );
        }
        Ok(Layout { origin, dtype, shape: self.shape, strides, gpu: gpu.map(|g| g.index()) })
    }

    /// The GPU whose memory it is in, if any.
    fn check_device(&self, device: isoc_device) -> Result<Option<&Device>> {
        let isoc_device { device_type: kind, device_id: id } = device;
        if [0, ISOC_DEVICE_HOST, ISOC_DEVICE_CUDA_HOST].contains(&kind) {
            return Ok(None);
        }
        let owned = self.gpus.iter().find(|g| kind == ISOC_DEVICE_CUDA && usize::try_from(id) == Ok(g.index()));
        match owned {
            Some(gpu) => Ok(Some(gpu)),
            None if self.gpus.is_empty() => fail!(
                TensorDevice,
                "{} is on device type {kind}, id {id}; this takes host memory (type 0, 1 or 3)",
                self.name
            ),
            None => fail!(
                TensorDevice,
                "{} is on device type {kind}, id {id}; this context takes host memory (type 0, 1 or 3) and type 2 with id {:?}",
                self.name,
                self.gpus.iter().map(|g| g.index()).collect::<Vec<_>>()
            ),
        }
    }

    pub(super) fn check_dtype(&self, dtype: isoc_dtype) -> Result<DType> {
        match decode(dtype).filter(|d| self.dtypes.contains(d)) {
            Some(d) => Ok(d),
            None => fail!(TensorDtype, "{}.dtype is {dtype}; it must be one of {:?}", self.name, self.dtypes),
        }
    }

    /// The expected dimension behind each of the tensor's.
    fn check_ndim(&self, ndim: i32, seen: impl FnOnce() -> Vec<i64>) -> Result<Vec<usize>> {
        let may_go: Vec<usize> = self.optional.iter().copied().filter(|d| self.shape[*d] == 1).collect();
        match usize::try_from(ndim) {
            Ok(n) if n <= N && N - n <= may_go.len() => {
                let gone = &may_go[..N - n];
                Ok((0..N).filter(|d| !gone.contains(d)).collect())
            }
            _ => {
                let names: Vec<&str> = self.optional.iter().map(|d| self.dims[*d]).collect();
                let fewer = match names.len() {
                    0 => String::new(),
                    n => format!(" (or {}, without {}, where that is 1)", N - n, names.join(" and ")),
                };
                let remark = self.remark(&seen());
                fail!(TensorNdim, "{}.ndim is {ndim}; it must be {N} {}{fewer}{remark}", self.name, self.describe())
            }
        }
    }

    /// Every element lies inside the address space, at or after `data`, aligned.
    fn check_extent(&self, t: &isoc_tensor, dtype: DType, strides: [isize; N]) -> Result<*const u8> {
        let (mut low, mut high) = (i128::from(t.byte_offset), i128::from(t.byte_offset));
        for (n, s) in self.shape.iter().zip(strides) {
            let reach = (*n as i128 - 1) * s as i128 * dtype.size() as i128;
            if reach < 0 { low += reach } else { high += reach }
        }
        high += dtype.size() as i128;
        let start = t.data.addr() as i128;
        if low < 0 {
            fail!(TensorStrides, "{}: its strides reach {} bytes before its data", self.name, -low);
        }
        if high - low > MAX_SPAN || start + high > isize::MAX as i128 {
            fail!(TensorStrides, "{}: its strides reach beyond the address space", self.name);
        }
        if !(start + i128::from(t.byte_offset)).unsigned_abs().is_multiple_of(dtype.alignment() as u128) {
            let offset = t.byte_offset;
            fail!(
                TensorStrides,
                "{}: data + byte_offset ({offset}) is not aligned to {} bytes",
                self.name,
                dtype.alignment()
            );
        }
        Ok(t.data.cast_const().cast::<u8>().wrapping_add(t.byte_offset as usize))
    }

    /// No two elements share memory: each dimension steps over all that the finer ones span.
    fn check_distinct(&self, strides: [isize; N]) -> Result<()> {
        let mut order: Vec<(u128, u128)> = (0..N)
            .filter(|&d| self.shape[d] > 1)
            .map(|d| (strides[d].unsigned_abs() as u128, self.shape[d] as u128))
            .collect();
        order.sort_unstable();
        let mut span = 1u128;
        for (stride, size) in order {
            if stride < span {
                fail!(TensorStrides, "{}: a stride of {stride} makes elements of this output share memory", self.name);
            }
            span += stride * (size - 1);
        }
        Ok(())
    }

    /// What a shape that does not fit has to do with the one that would.
    fn remark(&self, seen: &[i64]) -> String {
        if seen.is_empty() {
            return String::new();
        }
        let product = |sizes: &[i64]| sizes.iter().try_fold(1i64, |a, n| a.checked_mul(*n));
        let expected = self.shape.map(|n| n as i64);
        let list: Vec<String> = seen.iter().map(i64::to_string).collect();
        let remark = if expected.iter().rev().eq(seen) {
            ", the other way round"
        } else if product(seen) == product(&expected) {
            ", of as many elements"
        } else {
            ""
        };
        format!(": its shape is ({}){remark}", list.join(", "))
    }

    fn describe(&self) -> String {
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        format!("({}) = ({})", self.dims.join(", "), sizes.join(", "))
    }

    fn bad_strides<T>(&self, k: usize, stride: i64) -> Result<T> {
        fail!(TensorStrides, "{}.strides[{k}] is {stride}; it does not fit the address space", self.name);
    }

    fn too_large<T>(&self) -> Result<T> {
        Err(isocenter_base::error::Error::new(
            Status::SizeOverflow,
            format!("{}: the product of its sizes overflows", self.name),
        ))
    }
}

/// A tensor's sizes; none if it says that it has more than `most`, or where they are NULL.
///
/// # Safety
/// Its shape is as its documentation says, if it has no more dimensions than that.
pub(super) unsafe fn sizes(tensor: &isoc_tensor, most: usize) -> Vec<i64> {
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    if ndim > most || tensor.shape.is_null() {
        return Vec::new();
    }
    // SAFETY: by this function's contract.
    (0..ndim).map(|k| unsafe { tensor.shape.add(k).read_unaligned() }).collect()
}

/// Two arrays of which one is written must not share memory.
pub(super) fn check_apart<const N: usize, const M: usize>(
    (a, a_name): (&Layout<N>, &str),
    (b, b_name): (&Layout<M>, &str),
) -> Result<()> {
    let ((a0, a1), (b0, b1)) = (a.extent(), b.extent());
    if a0 < b1 && b0 < a1 {
        fail!(Overlap, "{a_name} ({a0:#x} to {a1:#x}) and {b_name} ({b0:#x} to {b1:#x}) share memory");
    }
    Ok(())
}

/// The first size of a tensor of these dimensions.
///
/// # Safety
/// The tensor is valid.
pub(super) unsafe fn first_size(tensor: *const isoc_tensor, name: &str, dims: &[&str]) -> Result<i64> {
    // SAFETY: by this function's contract.
    let isoc_tensor { ndim, shape, .. } = unsafe { tensor.read_unaligned() };
    if usize::try_from(ndim) != Ok(dims.len()) {
        fail!(TensorNdim, "{name}.ndim is {ndim}; it must be {} ({})", dims.len(), dims.join(", "));
    }
    if shape.is_null() {
        fail!(NullPointer, "{name}.shape is NULL");
    }
    // SAFETY: as many sizes as dimensions, by the tensor's documentation.
    Ok(unsafe { shape.read_unaligned() })
}
