//! Where the elements of the caller's arrays are; and strided three-dimensional views of them that are read and written row
//! by row, never copied whole.

use crate::error::{Result, fail};
use std::marker::PhantomData;

/// A set of element types.
pub trait Element: Copy + PartialEq + std::fmt::Debug {
    /// Bytes an element.
    fn size(self) -> usize;
    /// Most bytes that an element's address must be a multiple of.
    fn alignment(self) -> usize;
}

/// Element types of arrays that hold real or complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// Two 32-bit floats, real part first.
    C64,
    /// Two 64-bit floats, real part first.
    C128,
}

impl Element for Number {
    fn size(self) -> usize {
        match self {
            Number::F32 => 4,
            Number::F64 | Number::C64 => 8,
            Number::C128 => 16,
        }
    }

    fn alignment(self) -> usize {
        match self {
            Number::F32 | Number::C64 => 4,
            Number::F64 | Number::C128 => 8,
        }
    }
}

/// Element types that projections may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DType {
    /// 32-bit float.
    F32,
    /// 16-bit unsigned counts.
    U16,
    /// 8-bit unsigned counts.
    U8,
}

impl Element for DType {
    fn size(self) -> usize {
        match self {
            DType::F32 => 4,
            DType::U16 => 2,
            DType::U8 => 1,
        }
    }

    fn alignment(self) -> usize {
        self.size()
    }
}

/// Element types of images and histo-images of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// 32-bit float.
    F32,
    /// 32-bit unsigned.
    U32,
}

impl Element for Counts {
    fn size(self) -> usize {
        4
    }

    fn alignment(self) -> usize {
        4
    }
}

/// Where the elements lie: shape, strides in elements, and the element at index 0.
#[derive(Clone, Copy, Debug)]
pub struct Layout<D = DType, const N: usize = 3> {
    pub(crate) origin: *const u8,
    pub(crate) dtype: D,
    pub(crate) shape: [usize; N],
    pub(crate) strides: [isize; N],
    /// The GPU in whose memory it is; None for host memory.
    pub(crate) gpu: Option<usize>,
}

// SAFETY: an address; whoever follows it has a view's access.
unsafe impl<D: Send, const N: usize> Send for Layout<D, N> {}
// SAFETY: as above.
unsafe impl<D: Sync, const N: usize> Sync for Layout<D, N> {}

impl<D: Element, const N: usize> Layout<D, N> {
    /// A contiguous array in host memory; with a NULL origin, for sizes alone.
    pub fn new(origin: *const u8, dtype: D, shape: [usize; N]) -> Self {
        Self { origin, dtype, shape, strides: contiguous(shape), gpu: None }
    }

    /// Bytes of all elements.
    pub(crate) fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype.size()
    }

    /// Address of an element, on host or GPU. In range for every index below the shape, as the constructors promise.
    pub(crate) fn element(&self, at: [usize; N]) -> *const u8 {
        assert!(at.iter().zip(self.shape).all(|(k, n)| *k < n));
        let elements: isize = at.iter().zip(self.strides).map(|(k, s)| *k as isize * s).sum();
        self.origin.wrapping_offset(elements * self.dtype.size() as isize)
    }

    /// Lowest address and one past the highest. Strides were checked, so nothing wraps.
    pub(crate) fn extent(&self) -> (usize, usize) {
        let (mut low, mut high) = (self.origin as isize, self.origin as isize);
        for (n, s) in self.shape.iter().zip(self.strides) {
            let reach = (*n as isize - 1) * s * self.dtype.size() as isize;
            if reach < 0 { low += reach } else { high += reach }
        }
        (low as usize, high as usize + self.dtype.size())
    }
}

impl Layout {
    /// Address of the first element of row (i, j).
    fn row(&self, i: usize, j: usize) -> *const u8 {
        assert!(self.gpu.is_none());
        self.element([i, j, 0])
    }

    fn swapped(mut self) -> Self {
        self.shape.swap(0, 1);
        self.strides.swap(0, 1);
        self
    }
}

fn contiguous<const N: usize>(shape: [usize; N]) -> [isize; N] {
    std::array::from_fn(|d| shape[d + 1..].iter().product::<usize>() as isize)
}

fn check_len(len: usize, shape: [usize; 3]) -> Result<()> {
    let needed = shape.iter().try_fold(1usize, |a, &n| a.checked_mul(n));
    if shape.contains(&0) || needed != Some(len) {
        fail!(TensorShape, "shape {shape:?} does not describe {len} elements");
    }
    Ok(())
}

/// Read access to a caller's array of any strides.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    layout: Layout,
    lifetime: PhantomData<&'a [u8]>,
}

// SAFETY: a view only reads, and its lifetime keeps writers away.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// A contiguous f32 array.
    pub fn new(data: &'a [f32], shape: [usize; 3]) -> Result<Self> {
        check_len(data.len(), shape)?;
        // SAFETY: the slice holds every element of this shape.
        Ok(unsafe { Self::from_raw(data.as_ptr().cast(), DType::F32, shape, contiguous(shape), None) })
    }

    /// A contiguous array of 16-bit counts.
    pub fn from_u16(data: &'a [u16], shape: [usize; 3]) -> Result<Self> {
        check_len(data.len(), shape)?;
        // SAFETY: the slice holds every element of this shape.
        Ok(unsafe { Self::from_raw(data.as_ptr().cast(), DType::U16, shape, contiguous(shape), None) })
    }

    /// A contiguous array of 8-bit counts.
    pub fn from_u8(data: &'a [u8], shape: [usize; 3]) -> Result<Self> {
        check_len(data.len(), shape)?;
        // SAFETY: the slice holds every element of this shape.
        Ok(unsafe { Self::from_raw(data.as_ptr(), DType::U8, shape, contiguous(shape), None) })
    }

    /// Any strides (in elements) from the element at index (0, 0, 0), in host memory or on a GPU.
    ///
    /// # Safety
    /// Every element of the shape is readable, aligned and unchanged for `'a`, and no byte offset overflows `isize`.
    pub unsafe fn from_raw(
        origin: *const u8,
        dtype: DType,
        shape: [usize; 3],
        strides: [isize; 3],
        gpu: Option<usize>,
    ) -> Self {
        Self { layout: Layout { origin, dtype, shape, strides, gpu }, lifetime: PhantomData }
    }

    /// Where its elements are.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same array with its first two dimensions exchanged.
    pub fn swapped(self) -> Self {
        Self { layout: self.layout.swapped(), lifetime: PhantomData }
    }

    /// Sizes, slowest dimension first.
    pub fn shape(&self) -> [usize; 3] {
        self.layout.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// Lowest address and one past the highest.
    pub(crate) fn extent(&self) -> (usize, usize) {
        self.layout.extent()
    }

    /// Copies row (i, j), from its element `first` on, into `row` as f32.
    pub(crate) fn read_row(&self, i: usize, j: usize, first: usize, row: &mut [f32]) {
        assert!(first + row.len() <= self.layout.shape[2]);
        let stride = self.layout.strides[2];
        let start = self.layout.row(i, j).wrapping_offset(first as isize * stride * self.dtype().size() as isize);
        // SAFETY: the constructor's contract covers every element of the row, whose length is the shape's.
        unsafe {
            match self.layout.dtype {
                DType::F32 if stride == 1 => {
                    std::ptr::copy_nonoverlapping(start.cast::<f32>(), row.as_mut_ptr(), row.len());
                }
                DType::F32 => convert_row(start.cast::<f32>(), stride, row, |v| v),
                DType::U16 => convert_row(start.cast::<u16>(), stride, row, f32::from),
                DType::U8 => convert_row(start, stride, row, f32::from),
            }
        }
    }
}

/// # Safety
/// `row.len()` elements, `stride` apart from `start`, are readable.
unsafe fn convert_row<T: Copy>(start: *const T, stride: isize, row: &mut [f32], convert: impl Fn(T) -> f32) {
    if stride == 1 {
        // SAFETY: contiguous, by the caller's contract.
        let source = unsafe { std::slice::from_raw_parts(start, row.len()) };
        for (out, v) in row.iter_mut().zip(source) {
            *out = convert(*v);
        }
    } else {
        for (k, out) in row.iter_mut().enumerate() {
            // SAFETY: element k of the row, by the caller's contract.
            *out = convert(unsafe { *start.offset(k as isize * stride) });
        }
    }
}

/// Write access to a caller's f32 array of any strides.
#[derive(Debug)]
pub struct ViewMut<'a> {
    layout: Layout,
    lifetime: PhantomData<&'a mut [f32]>,
}

// SAFETY: the view owns the write access for its lifetime; rows are handed out under `write_row`'s contract.
unsafe impl Send for ViewMut<'_> {}
// SAFETY: as above.
unsafe impl Sync for ViewMut<'_> {}

impl<'a> ViewMut<'a> {
    /// A contiguous f32 array.
    pub fn new(data: &'a mut [f32], shape: [usize; 3]) -> Result<Self> {
        check_len(data.len(), shape)?;
        // SAFETY: the slice holds every element of this shape, and is borrowed mutably.
        Ok(unsafe { Self::from_raw(data.as_mut_ptr(), shape, contiguous(shape), None) })
    }

    /// Any strides (in elements) from the element at index (0, 0, 0), in host memory or on a GPU.
    ///
    /// # Safety
    /// Every element of the shape is writable, aligned, distinct from every other and not otherwise used for `'a`, and no
    /// byte offset overflows `isize`.
    pub unsafe fn from_raw(origin: *mut f32, shape: [usize; 3], strides: [isize; 3], gpu: Option<usize>) -> Self {
        let layout = Layout { origin: origin.cast_const().cast(), dtype: DType::F32, shape, strides, gpu };
        Self { layout, lifetime: PhantomData }
    }

    /// Where its elements are.
    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The same array with its first two dimensions exchanged.
    pub fn swapped(self) -> Self {
        Self { layout: self.layout.swapped(), lifetime: PhantomData }
    }

    /// Sizes, slowest dimension first.
    pub fn shape(&self) -> [usize; 3] {
        self.layout.shape
    }

    /// Lowest address and one past the highest.
    pub(crate) fn extent(&self) -> (usize, usize) {
        self.layout.extent()
    }

    /// Writes `values` into row (i, j), from its element `first` on.
    ///
    /// # Safety
    /// No other thread touches the same elements meanwhile.
    pub(crate) unsafe fn write_row(&self, i: usize, j: usize, first: usize, values: &[f32]) {
        assert!(first + values.len() <= self.layout.shape[2]);
        let stride = self.layout.strides[2];
        // SAFETY: the constructor's contract covers these elements, the caller keeps other threads away.
        unsafe {
            let start = self.layout.row(i, j).cast::<f32>().cast_mut().offset(first as isize * stride);
            if stride == 1 {
                std::ptr::copy_nonoverlapping(values.as_ptr(), start, values.len());
            } else {
                for (k, v) in values.iter().enumerate() {
                    *start.offset(k as isize * stride) = *v;
                }
            }
        }
    }
}
