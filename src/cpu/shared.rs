//! One array that several tasks write to, each its own elements.

use std::marker::PhantomData;

/// A mutable borrow that tasks share.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a, T> {
    data: *mut T,
    len: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: elements are only reached through unsafe calls, whose callers keep to their own.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub(crate) fn new(values: &'a mut [T]) -> Self {
        Self { data: values.as_mut_ptr(), len: values.len(), borrow: PhantomData }
    }

    /// Element `i`, to write by whoever it belongs to.
    pub(crate) fn at(&self, i: usize) -> *mut T {
        assert!(i < self.len, "{i} of {}", self.len);
        // SAFETY: it lies in the array.
        unsafe { self.data.add(i) }
    }
}
