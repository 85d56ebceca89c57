//! The caller's lists of events.

use crate::array::{DType, Layout};
use crate::error::{Result, fail};

/// Events that are looked at together, in loops without branches.
pub(super) const BLOCK: usize = 256;

/// x1, y1, z1, x2, y2, z2 in mm and t2 - t1 in ps of a block of events.
pub(super) type Block = [[f64; BLOCK]; 7];

/// Where events are, in host memory, f32 or f64 each.
#[derive(Clone, Copy, Debug)]
pub struct EventLayouts {
    /// Position of the first photon, `[event][x, y, z]` in mm.
    pub first: Layout<2>,
    /// Of the second.
    pub second: Layout<2>,
    /// `[event]` time of the second less that of the first, in ps.
    pub time: Layout<1>,
}

/// Arrays that may be read, and written where they were promised to be writable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events<'a>(&'a EventLayouts);

impl<'a> Events<'a> {
    /// # Safety
    /// For `'a` the elements are readable, and nobody writes to them but through this.
    pub(super) unsafe fn new(arrays: &'a EventLayouts) -> Result<Self> {
        let EventLayouts { first, second, time } = arrays;
        let events = time.shape[0];
        for (name, positions) in [("first", first), ("second", second)] {
            if positions.shape != [events, 3] {
                fail!(TensorShape, "{name} has shape {:?}; times are of {events} events", positions.shape);
            }
        }
        for (name, dtype, gpu) in
            [("first", first.dtype, first.gpu), ("second", second.dtype, second.gpu), ("time", time.dtype, time.gpu)]
        {
            if !matches!(dtype, DType::F32 | DType::F64) {
                fail!(TensorDtype, "{name} is {dtype:?}; it must be F32 or F64");
            }
            if gpu.is_some() {
                fail!(TensorDevice, "{name} is in a GPU's memory; events must be in host memory");
            }
        }
        Ok(Self(arrays))
    }

    pub(super) fn len(&self) -> usize {
        self.0.time.shape[0]
    }

    /// Reads events `from` on, as many as a block holds or as there are; returns how many.
    #[inline(always)]
    pub(super) fn read(&self, from: usize, block: &mut Block) -> usize {
        let n = BLOCK.min(self.len() - from);
        let [x1, y1, z1, x2, y2, z2, time] = block;
        for (array, mut columns) in [(&self.0.first, [x1, y1, z1]), (&self.0.second, [x2, y2, z2])] {
            if array.dtype == DType::F32 && array.strides == [3, 1] {
                // SAFETY: these elements lie one after the other, and the constructor's contract covers them.
                let places = unsafe { std::slice::from_raw_parts(array.element([from, 0]).cast::<[f32; 3]>(), n) };
                for (i, p) in places.iter().enumerate() {
                    for (column, v) in columns.iter_mut().zip(p) {
                        column[i] = f64::from(*v);
                    }
                }
            } else {
                for (axis, column) in columns.into_iter().enumerate() {
                    read(array.element([from, axis]), array.dtype, array.strides[0], &mut column[..n]);
                }
            }
        }
        read(self.0.time.element([from]), self.0.time.dtype, self.0.time.strides[0], &mut time[..n]);
        n
    }

    /// Writes event `k`.
    ///
    /// # Safety
    /// The arrays are writable, and nobody else uses this event meanwhile.
    pub(super) unsafe fn write(&self, k: usize, event: &[f64; 7]) {
        for (c, v) in event.iter().enumerate() {
            let (at, dtype) = match c {
                0..3 => (self.0.first.element([k, c]), self.0.first.dtype),
                3..6 => (self.0.second.element([k, c - 3]), self.0.second.dtype),
                _ => (self.0.time.element([k]), self.0.time.dtype),
            };
            // SAFETY: an element, by the layout; writable by this function's contract.
            unsafe {
                match dtype {
                    DType::F64 => *at.cast::<f64>().cast_mut() = *v,
                    _ => *at.cast::<f32>().cast_mut() = *v as f32,
                }
            }
        }
    }
}

/// `start` and what follows it are elements of an array that [`Events`] holds.
#[inline(always)]
fn read(start: *const u8, dtype: DType, stride: isize, out: &mut [f64]) {
    // SAFETY: the constructor's contract covers these elements.
    unsafe {
        match dtype {
            DType::F64 => strided(start.cast::<f64>(), stride, out),
            _ => strided(start.cast::<f32>(), stride, out),
        }
    }
}

/// # Safety
/// `out.len()` elements, `stride` apart from `start`, are readable.
#[inline(always)]
unsafe fn strided<T: Copy + Into<f64>>(start: *const T, stride: isize, out: &mut [f64]) {
    if stride == 1 {
        // SAFETY: contiguous, by the caller's contract.
        let source = unsafe { std::slice::from_raw_parts(start, out.len()) };
        for (o, v) in out.iter_mut().zip(source) {
            *o = (*v).into();
        }
    } else {
        for (k, o) in out.iter_mut().enumerate() {
            // SAFETY: by the caller's contract.
            *o = unsafe { *start.offset(k as isize * stride) }.into();
        }
    }
}
