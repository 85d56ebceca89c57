//! The driver: looked for before it is touched, and every call checked.

use crate::error::{Error, Result, Status, fail};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::CStr;
use std::sync::OnceLock;

/// Oldest driver interface that loads machine code of the compiler in use.
const MIN_VERSION: i32 = 13_000;

/// The library that the driver installs.
const DRIVER: &str = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };

/// The result of a driver call, with the call's name and CUDA's own text on failure.
pub(super) fn check(call: &str, result: CUresult) -> Result<()> {
    if result == CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let text = |get: unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult| {
        let mut p = std::ptr::null();
        // SAFETY: the driver is loaded, since a call of it failed; it gives a static string or leaves NULL.
        unsafe {
            get(result, &mut p);
            if p.is_null() { String::new() } else { CStr::from_ptr(p).to_string_lossy().into_owned() }
        }
    };
    let status = match result {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => Status::OutOfMemory,
        CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU
        | CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | CUresult::CUDA_ERROR_INVALID_PTX
        | CUresult::CUDA_ERROR_JIT_COMPILER_NOT_FOUND => Status::NoKernelImage,
        _ => Status::Cuda,
    };
    let (name, description) = (text(sys::cuGetErrorName), text(sys::cuGetErrorString));
    Err(Error::new(status, format!("{call} failed: {name} ({}), {description}", result as u32)))
}

/// Makes sure of a driver that is new enough.
pub(super) fn probe() -> Result<()> {
    static PROBED: OnceLock<Result<()>> = OnceLock::new();
    PROBED
        .get_or_init(|| {
            // SAFETY: looks for a shared library; its initialisers are NVIDIA's.
            if !unsafe { sys::is_culib_present() } {
                fail!(NoDevice, "no NVIDIA driver: the library {DRIVER} was not found");
            }
            let mut version = 0;
            // SAFETY: the library is there; the call may come before cuInit.
            check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) })?;
            if version < MIN_VERSION {
                let (major, minor) = (version / 1000, version % 1000 / 10);
                fail!(
                    DriverTooOld,
                    "the NVIDIA driver supports CUDA {major}.{minor}; this library needs a driver for CUDA 13.0 (580 or newer)"
                );
            }
            // SAFETY: as above.
            match unsafe { sys::cuInit(0) } {
                CUresult::CUDA_ERROR_NO_DEVICE => fail!(NoDevice, "the NVIDIA driver found no GPU"),
                result => check("cuInit", result),
            }
        })
        .clone()
}

/// GPUs that the driver sees, or why it sees none.
pub fn device_count() -> Result<usize> {
    probe()?;
    let mut n = 0;
    // SAFETY: the driver is initialised.
    check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut n) })?;
    if n <= 0 {
        fail!(NoDevice, "the NVIDIA driver found no GPU");
    }
    Ok(n as usize)
}
