//! Access to the caller's arrays, which are read and written in place: an array to read, and one to write.

use super::dtype::{DType, Element};
use super::layout::{Layout, contiguous};
use crate::error::{Result, fail};
use std::marker::PhantomData;

/// Read access to a caller's array of any strides.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a, const N: usize = 3> {
    layout: Layout<N>,
    lifetime: PhantomData<&'a [u8]>,
}

impl<'a, const N: usize> Array<'a, N> {
    /// A contiguous f32 array.
    pub fn new(data: &'a [f32], shape: [usize; N]) -> Result<Self> {
        Self::of(data, shape)
    }

    /// A contiguous array of any elements.
    pub fn of<T: Element>(data: &'a [T], shape: [usize; N]) -> Result<Self> {
        check_len(data.len(), shape)?;
        // SAFETY: the slice holds every element of this shape.
        Ok(unsafe { Self::from_raw(data.as_ptr().cast(), T::DTYPE, shape, contiguous(shape), None) })
    }

    /// Any strides (in elements) from the element at index 0, in host memory or on a GPU.
    ///
    /// # Safety
    /// Every element of the shape is readable, aligned and unchanged for `'a`, and no byte offset overflows `isize`. Memory of
    /// a GPU stays so until the call that takes the array has returned: it is read by work that the call queues and waits for.
    pub unsafe fn from_raw(
        origin: *const u8,
        dtype: DType,
        shape: [usize; N],
        strides: [isize; N],
        gpu: Option<usize>,
    ) -> Self {
        Self { layout: Layout { origin, dtype, shape, strides, gpu }, lifetime: PhantomData }
    }

    /// Where its elements are.
    pub(crate) fn layout(&self) -> &Layout<N> {
        &self.layout
    }

    /// Sizes, slowest dimension first.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// Copies elements of a row, from the one at `at` on, as f32.
    pub(crate) fn read_row(&self, at: [usize; N], row: &mut [f32]) {
        assert!(self.layout.gpu.is_none() && at[N - 1] + row.len() <= self.layout.shape[N - 1]);
        let (start, stride) = (self.layout.element(at), self.layout.strides[N - 1]);
        // SAFETY: the constructor's contract covers every element of the row, whose length is the shape's.
        unsafe {
            match self.layout.dtype {
                DType::F32 if stride == 1 => {
                    std::ptr::copy_nonoverlapping(start.cast::<f32>(), row.as_mut_ptr(), row.len());
                }
                DType::F32 => convert_row(start.cast::<f32>(), stride, row, |v| v),
                DType::U16 => convert_row(start.cast::<u16>(), stride, row, f32::from),
                DType::U8 => convert_row(start, stride, row, f32::from),
                dtype => unreachable!("{dtype:?} is not read as f32"),
            }
        }
    }
}

impl Array<'_, 3> {
    /// The same array with its first two dimensions exchanged.
    pub fn swapped(self) -> Self {
        Self { layout: self.layout.swapped(), lifetime: PhantomData }
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

/// Write access to a caller's array of any strides.
#[derive(Debug)]
pub struct ArrayMut<'a, const N: usize = 3> {
    layout: Layout<N>,
    lifetime: PhantomData<&'a mut [u8]>,
}

impl<'a, const N: usize> ArrayMut<'a, N> {
    /// A contiguous f32 array.
    pub fn new(data: &'a mut [f32], shape: [usize; N]) -> Result<Self> {
        Self::of(data, shape)
    }

    /// A contiguous array of any elements.
    pub fn of<T: Element>(data: &'a mut [T], shape: [usize; N]) -> Result<Self> {
        check_len(data.len(), shape)?;
        // SAFETY: the slice holds every element of this shape, and is borrowed mutably.
        Ok(unsafe { Self::from_raw(data.as_mut_ptr().cast(), T::DTYPE, shape, contiguous(shape), None) })
    }

    /// Any strides (in elements) from the element at index 0, in host memory or on a GPU.
    ///
    /// # Safety
    /// Every element of the shape is writable, aligned, distinct from every other and not otherwise used for `'a`, and no
    /// byte offset overflows `isize`. Memory of a GPU stays so until the call that takes the array has returned: it is written
    /// by work that the call queues and waits for.
    pub unsafe fn from_raw(
        origin: *mut u8,
        dtype: DType,
        shape: [usize; N],
        strides: [isize; N],
        gpu: Option<usize>,
    ) -> Self {
        let layout = Layout { origin: origin.cast_const(), dtype, shape, strides, gpu };
        Self { layout, lifetime: PhantomData }
    }

    /// Read access while nothing is written.
    pub fn as_array(&self) -> Array<'_, N> {
        Array { layout: self.layout, lifetime: PhantomData }
    }

    /// Where its elements are.
    pub(crate) fn layout(&self) -> &Layout<N> {
        &self.layout
    }

    /// Sizes, slowest dimension first.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// Writes `values` into a row of f32 in host memory, from the element at `at` on.
    ///
    /// # Safety
    /// No other thread touches the same elements meanwhile.
    pub(crate) unsafe fn write_row(&self, at: [usize; N], values: &[f32]) {
        let layout = &self.layout;
        assert!(layout.gpu.is_none() && layout.dtype == DType::F32 && at[N - 1] + values.len() <= layout.shape[N - 1]);
        let stride = layout.strides[N - 1];
        // SAFETY: the constructor's contract covers these elements, the caller keeps other threads away.
        unsafe {
            let start = layout.element(at).cast::<f32>().cast_mut();
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

impl ArrayMut<'_, 3> {
    /// The same array with its first two dimensions exchanged.
    pub fn swapped(self) -> Self {
        Self { layout: self.layout.swapped(), lifetime: PhantomData }
    }
}

fn check_len<const N: usize>(len: usize, shape: [usize; N]) -> Result<()> {
    let needed = shape.iter().try_fold(1usize, |a, &n| a.checked_mul(n));
    if shape.contains(&0) || needed != Some(len) {
        fail!(TensorShape, "shape {shape:?} does not describe {len} elements");
    }
    Ok(())
}
