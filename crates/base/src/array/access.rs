//! Access to the caller's arrays, which are read and written in place: an array to read, and one to write.

use super::dtype::{DType, Element};
use super::layout::{Layout, contiguous};
use super::value::Value;
use crate::error::{Result, fail};
use std::marker::PhantomData;

/// Read access to a caller's array of any strides.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a, const N: usize = 3> {
    layout: Layout<N>,
    lifetime: PhantomData<&'a [u8]>,
}

impl<'a> Array<'a, 1> {
    /// The same number, as often as it is said.
    pub fn repeated<T: Element>(value: &'a T, count: usize) -> Self {
        // SAFETY: with a stride of 0 every element is this one.
        unsafe { Self::from_raw(std::ptr::from_ref(value).cast(), T::DTYPE, [count], [0], None) }
    }
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
        // SAFETY: by this function's contract.
        unsafe { Self::over(Layout { origin, dtype, shape, strides, gpu }) }
    }

    /// Access to the elements of a layout.
    ///
    /// # Safety
    /// As for [`Array::from_raw`].
    pub unsafe fn over(layout: Layout<N>) -> Self {
        Self { layout, lifetime: PhantomData }
    }

    /// Where its elements are.
    pub fn layout(&self) -> &Layout<N> {
        &self.layout
    }

    /// All elements, if they follow each other in host memory and are of this type.
    pub fn as_slice<T: Element>(&self) -> Option<&'a [T]> {
        let Layout { origin, dtype, shape, strides, gpu } = self.layout;
        let fits = gpu.is_none() && dtype == T::DTYPE && strides == contiguous(shape);
        // SAFETY: the constructor's contract covers all elements, for `'a`.
        fits.then(|| unsafe { std::slice::from_raw_parts(origin.cast(), self.layout.count()) })
    }

    /// All elements as one row, if they follow each other.
    pub fn as_row(&self) -> Option<Array<'a, 1>> {
        let Layout { origin, dtype, shape, strides, gpu } = self.layout;
        let row = Layout { origin, dtype, shape: [self.layout.count()], strides: [1], gpu };
        (strides == contiguous(shape)).then_some(Array { layout: row, lifetime: PhantomData })
    }

    /// Sizes, slowest dimension first.
    pub fn shape(&self) -> [usize; N] {
        self.layout.shape
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.layout.dtype
    }

    /// Copies elements of a row in host memory, from the one at `at` on.
    #[inline(always)]
    pub fn read_row<V: Value>(&self, at: [usize; N], row: &mut [V]) {
        assert!(self.layout.gpu.is_none() && at[N - 1] + row.len() <= self.layout.shape[N - 1]);
        let (start, stride) = (self.layout.element(at), self.layout.strides[N - 1]);
        // SAFETY: the constructor's contract covers every element of the row, whose length is the shape's.
        unsafe {
            match self.layout.dtype {
                DType::F32 => convert_row(start.cast(), stride, row, V::of_f32),
                DType::F64 => convert_row(start.cast(), stride, row, V::of_f64),
                DType::C64 => convert_row(start.cast(), stride, row, V::of_c64),
                DType::C128 => convert_row(start.cast(), stride, row, V::of_c128),
                DType::U8 => convert_row(start, stride, row, |v| V::of_count(v.into())),
                DType::U16 => convert_row(start.cast::<u16>(), stride, row, |v| V::of_count(v.into())),
                DType::U32 => convert_row(start.cast(), stride, row, V::of_count),
                DType::F16 => unreachable!("F16 is no type of inputs"),
            }
        }
    }
}

impl<const N: usize> Array<'_, N> {
    /// Copies elements of a row of unsigned integers in host memory, from the one at `at` on.
    #[inline(always)]
    pub fn read_counts(&self, at: [usize; N], row: &mut [u32]) {
        assert!(self.layout.gpu.is_none() && at[N - 1] + row.len() <= self.layout.shape[N - 1]);
        let (start, stride) = (self.layout.element(at), self.layout.strides[N - 1]);
        // SAFETY: as for `read_row`.
        unsafe {
            match self.layout.dtype {
                DType::U8 => convert_row(start, stride, row, u32::from),
                DType::U16 => convert_row(start.cast::<u16>(), stride, row, u32::from),
                DType::U32 => convert_row(start.cast(), stride, row, |v: u32| v),
                dtype => unreachable!("{dtype:?} are no counts"),
            }
        }
    }

    /// The same of elements of the array's own type.
    pub fn read_elements<T: Element>(&self, at: [usize; N], row: &mut [T]) {
        let Layout { dtype, shape, strides, gpu, .. } = self.layout;
        assert!(gpu.is_none() && dtype == T::DTYPE && at[N - 1] + row.len() <= shape[N - 1]);
        // SAFETY: as for `read_row`.
        unsafe { convert_row(self.layout.element(at).cast(), strides[N - 1], row, |v| v) }
    }
}

impl<'a> Array<'a, 2> {
    /// The k-th of the last dimension.
    pub fn column(&self, k: usize) -> Array<'a, 1> {
        Array { layout: self.layout.column(k), lifetime: PhantomData }
    }

    /// The k-th of the first dimension.
    pub fn row(&self, k: usize) -> Array<'a, 1> {
        Array { layout: self.layout.row(k), lifetime: PhantomData }
    }
}

impl<'a> Array<'a, 4> {
    /// The only one of a first dimension.
    pub fn stacked(self) -> Array<'a, 5> {
        Array { layout: self.layout.stacked(), lifetime: PhantomData }
    }

    /// The k-th of the first dimension.
    pub fn part(&self, k: usize) -> Array<'a, 3> {
        Array { layout: self.layout.part(k), lifetime: PhantomData }
    }
}

impl<'a> Array<'a, 5> {
    /// The k-th of the first dimension.
    pub fn part(&self, k: usize) -> Array<'a, 4> {
        Array { layout: self.layout.part(k), lifetime: PhantomData }
    }
}

impl<'a> Array<'a, 3> {
    /// The k-th of the first dimension.
    pub fn part(&self, k: usize) -> Array<'a, 2> {
        Array { layout: self.layout.part(k), lifetime: PhantomData }
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
#[inline(always)]
unsafe fn convert_row<T: Copy, V>(start: *const T, stride: isize, row: &mut [V], convert: impl Fn(T) -> V) {
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
        // SAFETY: by this function's contract.
        unsafe { Self::over(Layout { origin: origin.cast_const(), dtype, shape, strides, gpu }) }
    }

    /// Access to the elements of a layout.
    ///
    /// # Safety
    /// As for [`ArrayMut::from_raw`].
    pub unsafe fn over(layout: Layout<N>) -> Self {
        Self { layout, lifetime: PhantomData }
    }

    /// Read access while nothing is written.
    pub fn as_array(&self) -> Array<'_, N> {
        Array { layout: self.layout, lifetime: PhantomData }
    }

    /// Where its elements are.
    pub fn layout(&self) -> &Layout<N> {
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

    /// Writes `values` into a row of floats in host memory, from the element at `at` on; of complex values into a real array the
    /// real part.
    ///
    /// # Safety
    /// No other thread touches the same elements meanwhile.
    #[inline(always)]
    pub unsafe fn write_row<V: Value>(&self, at: [usize; N], values: &[V]) {
        assert!(self.layout.gpu.is_none() && at[N - 1] + values.len() <= self.layout.shape[N - 1]);
        let (start, stride) = (self.layout.element(at).cast_mut(), self.layout.strides[N - 1]);
        // SAFETY: the constructor's contract covers these elements, the caller keeps other threads away.
        unsafe {
            match self.layout.dtype {
                DType::F32 => store_row(start.cast(), stride, values, |v| v.parts()[0] as f32),
                DType::F64 => store_row(start.cast(), stride, values, |v| v.parts()[0]),
                DType::C64 => store_row(start.cast(), stride, values, |v| v.parts().map(|v| v as f32)),
                DType::C128 => store_row(start.cast(), stride, values, |v| v.parts()),
                dtype @ (DType::F16 | DType::U8 | DType::U16 | DType::U32) => {
                    unreachable!("{dtype:?} is written by elements")
                }
            }
        }
    }

    /// The same of elements of the array's own type.
    ///
    /// # Safety
    /// As for [`ArrayMut::write_row`].
    pub unsafe fn write_elements<T: Element>(&self, at: [usize; N], elements: &[T]) {
        let Layout { dtype, shape, strides, gpu, .. } = self.layout;
        assert!(gpu.is_none() && dtype == T::DTYPE && at[N - 1] + elements.len() <= shape[N - 1]);
        let start = self.layout.element(at).cast_mut();
        // SAFETY: as above.
        unsafe { store_row(start.cast(), strides[N - 1], elements, |v| v) }
    }
}

impl ArrayMut<'_, 3> {
    /// The k-th of the first dimension.
    pub fn part(&mut self, k: usize) -> ArrayMut<'_, 2> {
        ArrayMut { layout: self.layout.part(k), lifetime: PhantomData }
    }
}

impl<'a> ArrayMut<'a, 4> {
    /// The k-th of the first dimension.
    pub fn part(&mut self, k: usize) -> ArrayMut<'_, 3> {
        ArrayMut { layout: self.layout.part(k), lifetime: PhantomData }
    }

    /// The only one of a first dimension.
    pub fn stacked(self) -> ArrayMut<'a, 5> {
        ArrayMut { layout: self.layout.stacked(), lifetime: PhantomData }
    }
}

impl ArrayMut<'_, 5> {
    /// The k-th of the first dimension.
    pub fn part(&mut self, k: usize) -> ArrayMut<'_, 4> {
        ArrayMut { layout: self.layout.part(k), lifetime: PhantomData }
    }
}

impl<const N: usize> ArrayMut<'_, N> {
    /// The same array with dimension `order[d]`, each once, in place d.
    pub fn permuted(self, order: [usize; N]) -> Self {
        assert!((0..N).all(|d| order.contains(&d)));
        Self { layout: self.layout.permuted(order), lifetime: PhantomData }
    }
}

/// # Safety
/// As many elements as values, `stride` apart from `start`, are writable.
#[inline(always)]
unsafe fn store_row<T, V: Copy>(start: *mut T, stride: isize, values: &[V], convert: impl Fn(V) -> T) {
    if stride == 1 {
        for (k, v) in values.iter().enumerate() {
            // SAFETY: element k of the row, by the caller's contract.
            unsafe { start.add(k).write(convert(*v)) };
        }
    } else {
        for (k, v) in values.iter().enumerate() {
            // SAFETY: as above.
            unsafe { start.offset(k as isize * stride).write(convert(*v)) };
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
