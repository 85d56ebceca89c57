//! Memory that other processes read without this one: MPI's one-sided calls, for which the binding has no types. Whoever calls holds the
//! lock of all calls. MPI ends all processes if one of these fails, which is how windows handle errors unless told otherwise.

use mpi::ffi;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

pub struct Window {
    handle: ffi::MPI_Win,
    own: *mut u8,
    bytes: usize,
}

// SAFETY: a handle and memory that MPI has allocated, neither of which belongs to a thread; calls are one at a time.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl Window {
    /// Zeros, as many as this process wants; all processes make it at once.
    pub fn new(bytes: usize) -> Self {
        let (mut own, mut handle) = (ptr::null_mut::<u8>(), MaybeUninit::uninit());
        // SAFETY: room for the addresses of memory and window; the window is open to all for its life.
        unsafe {
            ffi::MPI_Win_allocate(
                bytes as ffi::MPI_Aint,
                1,
                ffi::RSMPI_INFO_NULL,
                ffi::RSMPI_COMM_WORLD,
                ptr::from_mut(&mut own).cast::<c_void>(),
                handle.as_mut_ptr(),
            );
            if bytes > 0 {
                own.write_bytes(0, bytes);
            }
            let handle = handle.assume_init();
            ffi::MPI_Win_lock_all(0, handle);
            // Nobody looks at it before it is zero everywhere.
            ffi::MPI_Win_sync(handle);
            ffi::MPI_Barrier(ffi::RSMPI_COMM_WORLD);
            Self { handle, own, bytes }
        }
    }

    /// What this process has.
    ///
    /// # Safety
    /// No other reference to it lives while it is written, and no process reads it then.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn own(&self) -> &mut [u8] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: MPI has allocated as many bytes, which were written.
        unsafe { std::slice::from_raw_parts_mut(self.own, self.bytes) }
    }

    /// Pieces of so many bytes of a process, the first from a byte on, others a step apart.
    pub fn read(&self, rank: usize, at: u64, step: u64, piece: usize, to: &mut [u8]) {
        for (k, to) in to.chunks_mut(piece).enumerate() {
            let (at, count) = (at + k as u64 * step, to.len() as i32);
            // SAFETY: `to` has room for as many, and is borrowed until they have arrived.
            unsafe {
                ffi::MPI_Get(
                    to.as_mut_ptr().cast(),
                    count,
                    ffi::RSMPI_UINT8_T,
                    rank as i32,
                    at as ffi::MPI_Aint,
                    count,
                    ffi::RSMPI_UINT8_T,
                    self.handle,
                );
            }
        }
        // SAFETY: a window that is open to all.
        unsafe { ffi::MPI_Win_flush(rank as i32, self.handle) };
    }

    /// Adds one to the number that a process has, and gives what it was.
    pub fn add_one(&self, rank: i32) -> i64 {
        let (one, mut before) = (1i64, 0i64);
        // SAFETY: both numbers live until the flush.
        unsafe {
            ffi::MPI_Fetch_and_op(
                ptr::from_ref(&one).cast(),
                ptr::from_mut(&mut before).cast(),
                ffi::RSMPI_INT64_T,
                rank,
                0,
                ffi::RSMPI_SUM,
                self.handle,
            );
            ffi::MPI_Win_flush(rank, self.handle);
        }
        before
    }

    /// Has what was written here seen by others, and what others wrote seen here.
    pub fn synchronise(&self) {
        // SAFETY: a window that is there.
        unsafe { ffi::MPI_Win_sync(self.handle) };
    }

    /// Frees the memory: all processes do it at once, and do not use it afterwards.
    pub fn free(&self) {
        let mut handle = self.handle;
        // SAFETY: a window that is there, and is not used again.
        unsafe {
            ffi::MPI_Win_unlock_all(handle);
            ffi::MPI_Win_free(&mut handle);
        }
    }
}

/// Gives MPI an opportunity to answer others.
pub fn answer() {
    let mut flag = 0;
    // SAFETY: room for the answer; any message of any process.
    unsafe {
        ffi::MPI_Iprobe(
            ffi::RSMPI_ANY_SOURCE,
            ffi::RSMPI_ANY_TAG,
            ffi::RSMPI_COMM_WORLD,
            &mut flag,
            ffi::RSMPI_STATUS_IGNORE,
        );
    }
}
