//! Large zeroed buffers whose allocation can fail without harm.

use crate::cpu::parallel::*;
use crate::error::{Error, Result, Status};
use rustfft::num_complex::Complex;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Cache line, and the widest vector.
const ALIGN: usize = 64;

/// `len` zeros in a vector, or [`Status::OutOfMemory`]: for what the caller's numbers can make large.
pub fn zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    filled(len, T::default())
}

/// The same with any value.
pub fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut v = reserved(len)?;
    v.resize(len, value);
    Ok(v)
}

/// A copy of a slice, under the same terms.
pub fn copied<T: Copy>(from: &[T]) -> Result<Vec<T>> {
    let mut v = reserved(from.len())?;
    v.extend_from_slice(from);
    Ok(v)
}

/// What an iterator gives, under the same terms.
pub fn collected<T>(items: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let mut items = items.into_iter();
    let mut v = reserved(items.size_hint().0)?;
    loop {
        // No more than there is room for, so that it does not grow by itself.
        let room = v.capacity() - v.len();
        v.extend(items.by_ref().take(room));
        let Some(item) = items.next() else { return Ok(v) };
        append(&mut v, item)?;
    }
}

/// Adds an item behind the others, under the same terms.
pub fn append<T>(to: &mut Vec<T>, item: T) -> Result<()> {
    to.try_reserve(1).map_err(|_| failed(to.len() + 1))?;
    to.push(item);
    Ok(())
}

/// An empty vector with room for so many, under the same terms.
pub fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut v = Vec::new();
    v.try_reserve_exact(len).map_err(|_| failed(len))?;
    Ok(v)
}

/// An error if so many bytes cannot be had now: ahead of what others allocate, which ends the process where it fails.
pub fn probe(bytes: u64) -> Result<()> {
    reserved::<u8>(usize::try_from(bytes).unwrap_or(usize::MAX)).map(drop)
}

#[cold]
fn failed(len: usize) -> Error {
    Error::new(Status::OutOfMemory, format!("could not allocate {len} elements"))
}

/// Numbers that zero bytes are a zero of.
///
/// # Safety
/// All bit patterns are values, and the type is aligned to at most 64 bytes.
pub unsafe trait Plain: Copy + Send + Sync {}
// SAFETY: floating-point numbers.
unsafe impl Plain for f32 {}
// SAFETY: whole numbers.
unsafe impl Plain for u32 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: floating-point numbers.
unsafe impl Plain for f64 {}
// SAFETY: integers.
unsafe impl Plain for u8 {}
// SAFETY: integers.
unsafe impl Plain for u64 {}
// SAFETY: two plain numbers.
unsafe impl<T: Plain> Plain for Complex<T> {}

/// A zeroed array, aligned to 64 bytes; large ones ask for huge pages, since the kernels stride through them.
#[derive(Debug)]
pub struct Buffer<T: Plain = f32> {
    data: NonNull<T>,
    len: usize,
}

// SAFETY: the buffer owns its memory.
unsafe impl<T: Plain> Send for Buffer<T> {}
// SAFETY: shared access only reads.
unsafe impl<T: Plain> Sync for Buffer<T> {}

impl<T: Plain> Buffer<T> {
    /// `len` zeros, or [`Status::OutOfMemory`].
    pub fn zeroed(len: usize) -> Result<Self> {
        let failed = || Error::new(Status::OutOfMemory, format!("could not allocate {len} numbers"));
        let layout = Self::layout(len).ok_or_else(failed)?;
        let data = Self::allocate(layout).ok_or_else(failed)?;
        Ok(Self { data, len })
    }

    /// Its first element, for whoever has the right to write.
    pub fn data(&self) -> *mut T {
        self.data.as_ptr()
    }

    fn layout(len: usize) -> Option<Layout> {
        Layout::from_size_align(len.max(1).checked_mul(size_of::<T>())?, ALIGN).ok()
    }

    /// Memory straight from the system from this size on: pages arrive zeroed, and huge where the system has them.
    #[cfg(target_os = "linux")]
    const MAPPED: usize = 4 << 20;

    #[cfg(target_os = "linux")]
    fn allocate(layout: Layout) -> Option<NonNull<T>> {
        if layout.size() < Self::MAPPED {
            // SAFETY: the layout's size is not zero.
            return NonNull::new(unsafe { alloc_zeroed(layout) }.cast());
        }
        let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new private mapping touches nothing that exists; advice may fail without harm.
        unsafe {
            let p = libc::mmap(std::ptr::null_mut(), layout.size(), prot, flags, -1, 0);
            if p == libc::MAP_FAILED {
                return None;
            }
            libc::madvise(p, layout.size(), libc::MADV_HUGEPAGE);
            NonNull::new(p.cast())
        }
    }

    #[cfg(target_os = "linux")]
    fn release(&mut self, layout: Layout) {
        // SAFETY: `allocate` made it the same way with the same layout.
        unsafe {
            if layout.size() < Self::MAPPED {
                dealloc(self.data.as_ptr().cast(), layout);
            } else {
                libc::munmap(self.data.as_ptr().cast(), layout.size());
            }
        }
    }

    /// From Rust's allocator. On Windows it takes large blocks from the system as they are asked for, zeroed, and gives them back at once;
    /// large pages need a right there (SeLockMemoryPrivilege) that programs do not have.
    #[cfg(not(target_os = "linux"))]
    fn allocate(layout: Layout) -> Option<NonNull<T>> {
        // SAFETY: the layout's size is not zero.
        NonNull::new(unsafe { alloc_zeroed(layout) }.cast())
    }

    #[cfg(not(target_os = "linux"))]
    fn release(&mut self, layout: Layout) {
        // SAFETY: `allocate` made it with the same layout.
        unsafe { dealloc(self.data.as_ptr().cast(), layout) }
    }
}

impl<T: Plain> Drop for Buffer<T> {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.len) {
            self.release(layout);
        }
    }
}

impl<T: Plain> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialised numbers, owned.
        unsafe { std::slice::from_raw_parts(self.data.as_ptr(), self.len) }
    }
}

impl<T: Plain> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` initialised numbers, owned and borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr(), self.len) }
    }
}

/// The large buffers of a plan, kept from slab to slab and from call to call: a fresh one costs a page fault every few
/// kilobytes, which is a tenth of a back projection.
#[derive(Debug, Default)]
pub struct Workspace {
    slots: [Option<Buffer>; 2],
}

impl Workspace {
    /// What it holds.
    pub fn bytes(&self) -> u64 {
        self.slots.iter().flatten().map(|b| size_of_val::<[f32]>(b) as u64).sum()
    }

    /// Two buffers of these lengths, their contents left over from before. Larger ones are kept while all of them fit `cap` bytes.
    pub fn take(&mut self, lens: [usize; 2], cap: u64) -> Result<[&mut [f32]; 2]> {
        let have = |slot: &Option<Buffer>| slot.as_ref().map_or(0, |b| b.len());
        let floats: usize = self.slots.iter().zip(lens).map(|(slot, len)| have(slot).max(len)).sum();
        let crowded = floats as u64 * size_of::<f32>() as u64 > cap;
        for (slot, len) in self.slots.iter_mut().zip(lens) {
            if have(slot) < len || crowded && have(slot) > len {
                *slot = None;
            }
        }
        for (slot, len) in self.slots.iter_mut().zip(lens) {
            if slot.is_none() && len > 0 {
                *slot = Some(Buffer::zeroed(len)?);
            }
        }
        fn part(slot: &mut Option<Buffer>, len: usize) -> &mut [f32] {
            slot.as_mut().map_or(&mut [], |buffer| &mut buffer[..len])
        }
        let [a, b] = &mut self.slots;
        Ok([part(a, lens[0]), part(b, lens[1])])
    }
}

/// Zeros, by all threads.
pub fn clear(values: &mut [f32]) {
    values.par_chunks_mut(1 << 16).for_each(|part| part.fill(0.0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_what_was_asked_for_or_an_error() {
        assert_eq!(zeros::<u8>(3), Ok(vec![0; 3]));
        assert_eq!(copied(&[1, 2]), Ok(vec![1, 2]));
        assert_eq!(collected(0..5), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(collected((0..1000).filter(|i| i % 7 == 0)), Ok((0..1000).step_by(7).collect()));
        let huge = zeros::<u64>(1 << 60).expect_err("more than an address space");
        assert!(huge.status == Status::OutOfMemory && huge.message.contains("1152921504606846976"), "{huge}");
        assert_eq!(collected((0..1u64 << 60).map(|i| [i; 8])).map_err(|e| e.status), Err(Status::OutOfMemory));
    }

    #[test]
    fn a_workspace_keeps_what_fits_the_cap() {
        let mut w = Workspace::default();
        let held = |w: &Workspace| w.slots.each_ref().map(|s| s.as_ref().map_or(0, |b| b.len()));
        let taken =
            |w: &mut Workspace, lens, cap| w.take(lens, cap).map(|parts| parts.map(|p| p.len())).expect("memory");
        assert_eq!(taken(&mut w, [100, 10], 440), [100, 10]);
        assert_eq!(taken(&mut w, [50, 0], 440), [50, 0]);
        assert_eq!(held(&w), [100, 10], "both still fit");
        assert_eq!(taken(&mut w, [20, 30], 440), [20, 30]);
        assert_eq!(held(&w), [20, 30], "100 and 30 floats are over the cap");
    }
}
