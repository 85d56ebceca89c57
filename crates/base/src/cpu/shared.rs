//! One array that several tasks write to, each its own elements.

use std::marker::PhantomData;

/// A mutable borrow that tasks share.
#[derive(Clone, Copy)]
pub struct Shared<'a, T> {
    data: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: elements are only reached through unsafe calls, whose callers keep to their own.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub fn new(values: &'a mut [T]) -> Self {
        Self { data: values.as_mut_ptr(), len: values.len(), borrow: PhantomData }
    }

    /// Writes from element `i` on.
    ///
    /// # Safety
    /// These elements are the caller's.
    pub unsafe fn write(&self, i: usize, values: &[T])
    where
        T: Copy,
    {
        assert!(i <= self.len && values.len() <= self.len - i, "{} from {i} of {}", values.len(), self.len);
        // SAFETY: they lie in the array, and nobody else has them.
        unsafe { self.data.add(i).copy_from_nonoverlapping(values.as_ptr(), values.len()) };
    }

    /// Element `i`, to write by whoever it belongs to.
    pub fn at(&self, i: usize) -> *mut T {
        assert!(i < self.len, "{i} of {}", self.len);
        // SAFETY: it lies in the array.
        unsafe { self.data.add(i) }
    }
}
