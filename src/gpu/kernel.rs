//! Kernels: embedded fat binaries, loaded when first needed, and launches.

use super::driver::check;
use super::stream::Stream;
use crate::error::{Error, Result, Status, fail};
use cudarc::driver::sys;
use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

mod images {
    include!(concat!(env!("OUT_DIR"), "/images.rs"));
}

/// States the size of a struct that a kernel has too. Its `static_assert` there states the same size, so that neither side is changed
/// without the other.
macro_rules! mirrored {
    ($own:ty, $bytes:literal) => {
        const _: () = assert!(size_of::<$own>() == $bytes, "another size than in the kernel");
    };
}
pub(crate) use mirrored;

/// Oldest compute capability (major) that the kernels are written for.
pub(crate) const LEAST_CAPABILITY: i32 = 8;

/// Architectures that the kernels were compiled for; None if the library was built without them.
pub(crate) fn built_for() -> Option<&'static str> {
    (!images::BUILT_FOR.is_empty()).then_some(images::BUILT_FOR)
}

/// A loaded module, and its kernels that were asked for: driver handles.
struct Module {
    handle: usize,
    functions: HashMap<String, Function>,
}

/// The loaded modules of one GPU.
#[derive(Default)]
pub(super) struct Modules {
    loaded: Mutex<HashMap<&'static str, Module>>,
}

impl Modules {
    /// A kernel, of a GPU whose blocks can have so much shared memory. Needs the GPU to be current.
    pub(super) fn function(&self, image: &str, name: &str, block_shared_bytes: usize) -> Result<Function> {
        let Some((image, binary)) = images::IMAGES.iter().find(|(n, _)| *n == image) else {
            fail!(NoKernelImage, "this library was built without GPU kernels (no nvcc was found then)");
        };
        let mut loaded = self.loaded.lock().unwrap_or_else(|e| e.into_inner());
        let Module { handle, functions } = match loaded.get_mut(image) {
            Some(found) => found,
            None => loaded.entry(image).or_insert(Module { handle: load(image, binary)?, functions: HashMap::new() }),
        };
        if let Some(function) = functions.get(name) {
            return Ok(function.clone());
        }
        let text = CString::new(name).unwrap_or_default();
        let mut raw = std::ptr::null_mut();
        // SAFETY: a loaded module, a string ending in 0 and a local.
        let result = unsafe { sys::cuModuleGetFunction(&mut raw, *handle as sys::CUmodule, text.as_ptr()) };
        check(&format!("cuModuleGetFunction({name})"), result)?;
        let function = Function {
            raw,
            most_shared: most_shared_bytes(raw, block_shared_bytes)?,
            is_raised: Arc::new(AtomicBool::new(false)),
        };
        functions.insert(name.to_owned(), function.clone());
        Ok(function)
    }

    /// Needs the GPU to be current.
    pub(super) fn unload(&self) {
        let mut loaded = self.loaded.lock().unwrap_or_else(|e| e.into_inner());
        for (_, module) in loaded.drain() {
            // SAFETY: loaded once; functions of it are not used after their device.
            unsafe { sys::cuModuleUnload(module.handle as sys::CUmodule) };
        }
    }
}

/// The dynamic shared memory that a kernel may have beside its static shared memory.
fn most_shared_bytes(raw: sys::CUfunction, block_shared_bytes: usize) -> Result<i32> {
    let mut fixed = 0;
    let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
    // SAFETY: a function of the current GPU and a local.
    check("cuFuncGetAttribute", unsafe { sys::cuFuncGetAttribute(&mut fixed, attribute, raw) })?;
    Ok((block_shared_bytes as i32).saturating_sub(fixed))
}

fn load(name: &str, binary: &[u8]) -> Result<usize> {
    // The driver reads the header as words.
    let mut aligned = vec![0u64; binary.len().div_ceil(8)];
    for (word, bytes) in aligned.iter_mut().zip(binary.chunks(8)) {
        let mut b = [0; 8];
        b[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(b);
    }
    let mut module = std::ptr::null_mut();
    // SAFETY: a whole fat binary, which the driver copies.
    let result = unsafe { sys::cuModuleLoadData(&mut module, aligned.as_ptr().cast()) };
    check(&format!("cuModuleLoadData({name})"), result).map_err(|e| match e.status {
        Status::NoKernelImage => {
            let built = images::BUILT_FOR;
            Error::new(e.status, format!("{}; the kernels were compiled for {built}", e.message))
        }
        _ => e,
    })?;
    Ok(module as usize)
}

/// A kernel of one GPU; lives as long as its device.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    raw: sys::CUfunction,
    /// Dynamic shared memory that a launch may have.
    most_shared: i32,
    /// The driver's limit, which is lower at first, is that.
    is_raised: Arc<AtomicBool>,
}

// SAFETY: driver handles may be used from any thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// Shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) grid: [usize; 3],
    pub(crate) block: [usize; 3],
    /// Dynamic shared memory.
    pub(crate) shared: usize,
}

impl Function {
    /// Raises the driver's limit of dynamic shared memory to all that a block can have, once and for all launches: plans on other threads
    /// launch the same function with other sizes, and a limit made for one launch would be the next one's error. Kernels that need no more
    /// than usual keep their limit, since they run a percent or two slower with a higher one.
    fn raise_shared_limit(&self) -> Result<()> {
        if self.is_raised.load(Ordering::Acquire) {
            return Ok(());
        }
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a function of the current GPU. Threads that come here at the same time set the same value.
        check("cuFuncSetAttribute", unsafe { sys::cuFuncSetAttribute(self.raw, attribute, self.most_shared) })?;
        self.is_raised.store(true, Ordering::Release);
        Ok(())
    }

    /// Launches with one parameter, a struct that the kernel takes by value.
    ///
    /// # Safety
    /// `P` is laid out as the kernel's parameter; what it points to stays valid until the stream has passed the launch; the
    /// GPU is current.
    pub(crate) unsafe fn launch<P: Copy>(&self, stream: &Stream, launch: Launch, parameter: &P) -> Result<()> {
        let Launch { grid, block, shared } = launch;
        let limits = [i32::MAX as usize, 65535, 65535];
        if grid.contains(&0) || grid.iter().zip(limits).any(|(n, most)| *n > most) {
            fail!(Internal, "a grid of {grid:?} blocks is out of range");
        }
        // Static shared memory counts too.
        const USUAL: usize = 32 << 10;
        if shared > USUAL {
            self.raise_shared_limit()?;
        }
        let [gx, gy, gz] = grid.map(|n| n as u32);
        let [bx, by, bz] = block.map(|n| n as u32);
        let mut parameters = [std::ptr::from_ref(parameter).cast_mut().cast::<c_void>()];
        let (raw, list, none) = (self.raw, parameters.as_mut_ptr(), std::ptr::null_mut());
        // SAFETY: by this function's contract; the driver copies the parameter.
        check("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(raw, gx, gy, gz, bx, by, bz, shared as u32, stream.raw(), list, none)
        })
    }
}
