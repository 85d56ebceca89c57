//! Launches of kernels, and the structs that they take.

use super::driver::check;
use super::kernel::Function;
use super::stream::Stream;
use crate::error::{Result, fail};
use cudarc::driver::sys;
use std::ffi::c_void;

/// States the size of a struct that a kernel has too. Its `static_assert` there states the same size, so that neither side is changed
/// without the other.
#[macro_export]
macro_rules! mirrored {
    ($own:ty, $bytes:literal) => {
        const _: () = assert!(size_of::<$own>() == $bytes, "another size than in the kernel");
    };
}
pub use crate::mirrored;

/// Shape of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    pub grid: [usize; 3],
    pub block: [usize; 3],
    /// Dynamic shared memory.
    pub shared: usize,
}

impl Function {
    /// Launches with one parameter, a struct that the kernel takes by value.
    ///
    /// # Safety
    /// `P` is laid out as the kernel's parameter; what it points to stays valid until the stream has passed the launch; the
    /// GPU is current.
    pub unsafe fn launch<P: Copy>(&self, stream: &Stream, launch: Launch, parameter: &P) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.launch_erased(stream, launch, std::ptr::from_ref(parameter).cast()) }
    }

    /// Compiled once, and not for each kernel's parameter.
    ///
    /// # Safety
    /// As for `launch`.
    unsafe fn launch_erased(&self, stream: &Stream, launch: Launch, parameter: *const c_void) -> Result<()> {
        let Launch { grid, block, shared } = launch;
        let limits = [i32::MAX as usize, 65535, 65535];
        if grid.contains(&0) || grid.iter().zip(limits).any(|(n, max)| *n > max) {
            fail!(Internal, "a grid of {grid:?} blocks is out of range");
        }
        // Static shared memory counts too.
        const USUAL: usize = 32 << 10;
        if shared > USUAL {
            self.raise_shared_limit()?;
        }
        let [gx, gy, gz] = grid.map(|n| n as u32);
        let [bx, by, bz] = block.map(|n| n as u32);
        let mut parameters = [parameter.cast_mut()];
        let (raw, list, none) = (self.raw(), parameters.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: by this function's contract; the driver copies the parameter.
        check("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(raw, gx, gy, gz, bx, by, bz, shared as u32, stream.raw(), list, none)
        })
    }
}
