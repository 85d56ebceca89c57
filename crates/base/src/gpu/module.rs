//! Modules: the embedded fat binaries of kernels, loaded when first needed.

use super::driver::check;
use super::image::Image;
use super::kernel::Function;
use crate::error::{Error, Result, Status, fail};
use cudarc::driver::sys;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Mutex;

/// Oldest compute capability (major) that the kernels are written for.
pub const MIN_CAPABILITY: i32 = 8;

/// Architectures that the kernels were compiled for; None if the library was built without them.
pub fn built_for() -> Option<&'static str> {
    let built_for = crate::images::COPY.built_for;
    (!built_for.is_empty()).then_some(built_for)
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
    pub(super) fn function(&self, image: &'static Image, name: &str, block_shared_bytes: usize) -> Result<Function> {
        if image.binary.is_empty() {
            fail!(NoKernelImage, "this library was built without GPU kernels (no nvcc was found then)");
        }
        let mut loaded = self.loaded.lock().unwrap_or_else(|e| e.into_inner());
        let Module { handle, functions } = match loaded.get_mut(image.name) {
            Some(found) => found,
            None => loaded.entry(image.name).or_insert(Module { handle: load(image)?, functions: HashMap::new() }),
        };
        if let Some(function) = functions.get(name) {
            return Ok(function.clone());
        }
        let text = CString::new(name).unwrap_or_default();
        let mut raw = std::ptr::null_mut();
        // SAFETY: a loaded module, a string ending in 0 and a local.
        let result = unsafe { sys::cuModuleGetFunction(&mut raw, *handle as sys::CUmodule, text.as_ptr()) };
        check(&format!("cuModuleGetFunction({name})"), result)?;
        let function = Function::new(raw, block_shared_bytes)?;
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

fn load(image: &Image) -> Result<usize> {
    let Image { name, binary, built_for } = image;
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
            Error::new(e.status, format!("{}; the kernels were compiled for {built_for}", e.message))
        }
        _ => e,
    })?;
    Ok(module as usize)
}
