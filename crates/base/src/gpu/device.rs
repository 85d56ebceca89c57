//! One GPU: its primary context, shared with every other user of CUDA in the process, and its kernels.

use super::address::owner;
use super::driver::{check, device_count, probe};
use super::image::Image;
use super::kernel::Function;
use super::module::Modules;
use crate::cpu::buffer::Plain;
use crate::error::{Result, fail};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute as Attribute};
use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::Arc;

/// An open GPU.
pub struct Device {
    index: usize,
    raw: CUdevice,
    context: sys::CUcontext,
    name: String,
    capability: (i32, i32),
    multiprocessors: usize,
    shared_bytes: usize,
    singles_per_double: usize,
    modules: Modules,
}

// SAFETY: driver handles may be used from any thread; modules are behind a lock.
unsafe impl Send for Device {}
// SAFETY: as above.
unsafe impl Sync for Device {}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GPU {} ({})", self.index, self.name)
    }
}

/// What lies between two GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interconnect {
    /// They are one.
    Same,
    NvLink,
    /// PCI Express.
    Bus,
    /// Memory of the host.
    Host,
}

impl Device {
    /// Opens GPU `index`, as the driver counts them (CUDA_VISIBLE_DEVICES is heeded).
    pub fn open(index: usize) -> Result<Arc<Self>> {
        probe()?;
        let count = device_count()?;
        if index >= count {
            fail!(NoDevice, "GPU {index} does not exist; the driver sees {count} (0 to {})", count - 1);
        }
        let (mut raw, mut context) = (0, std::ptr::null_mut());
        let mut name = [0; 256];
        // SAFETY: the driver is initialised and the index exists; every pointer is to a local of the right type.
        unsafe {
            check("cuDeviceGet", sys::cuDeviceGet(&mut raw, index as i32))?;
            check("cuDeviceGetName", sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as i32, raw))?;
            check("cuDevicePrimaryCtxRetain", sys::cuDevicePrimaryCtxRetain(&mut context, raw))?;
        }
        // SAFETY: the driver ends the name with 0.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let mut device = Self {
            index,
            raw,
            context,
            name,
            capability: (0, 0),
            multiprocessors: 0,
            shared_bytes: 0,
            singles_per_double: 0,
            modules: Modules::default(),
        };
        device.capability = (
            device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        device.multiprocessors = device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1) as usize;
        device.shared_bytes =
            device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.max(0) as usize;
        device.singles_per_double =
            device.attribute(Attribute::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO)?.max(1) as usize;
        Ok(Arc::new(device))
    }

    fn attribute(&self, attribute: Attribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: an open device and a local.
        check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.raw) })?;
        Ok(value)
    }

    /// As the driver counts.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Such as "NVIDIA H200".
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Compute capability, major and minor.
    pub fn capability(&self) -> (i32, i32) {
        self.capability
    }

    /// Streaming multiprocessors.
    pub fn multiprocessors(&self) -> usize {
        self.multiprocessors
    }

    /// Shared memory that one block may have.
    pub fn shared_bytes(&self) -> usize {
        self.shared_bytes
    }

    /// By how much arithmetic in f32 is faster than in f64.
    pub fn singles_per_double(&self) -> usize {
        self.singles_per_double
    }

    /// Free and total memory, in bytes.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let _current = self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: a context is current; locals.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) })?;
        Ok((free as u64, total as u64))
    }

    /// Makes this GPU the thread's own until the guard is dropped; the caller's choice then comes back.
    pub fn enter(&self) -> Result<Current<'_>> {
        // SAFETY: the primary context is retained for as long as the device lives.
        check("cuCtxPushCurrent", unsafe { sys::cuCtxPushCurrent_v2(self.context) })?;
        Ok(Current { device: PhantomData, thread: PhantomData })
    }

    pub(super) fn raw_context(&self) -> sys::CUcontext {
        self.context
    }

    /// Lets this GPU read and write another one's memory where the machine has a way; copies between them go through the host elsewhere.
    pub fn reach(&self, other: &Device) -> Result<()> {
        if self.index == other.index {
            return Ok(());
        }
        let _current = self.enter()?;
        let mut can = 0;
        // SAFETY: two open devices and a local.
        check("cuDeviceCanAccessPeer", unsafe { sys::cuDeviceCanAccessPeer(&mut can, self.raw, other.raw) })?;
        if can != 0 {
            // SAFETY: a context is current; the other one is retained for as long as the device lives.
            match unsafe { sys::cuCtxEnablePeerAccess(other.context, 0) } {
                sys::CUresult::CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED => {}
                // Access is a matter of speed.
                sys::CUresult::CUDA_ERROR_TOO_MANY_PEERS => {}
                result => check("cuCtxEnablePeerAccess", result)?,
            }
        }
        Ok(())
    }

    /// How copies between this GPU's memory and another one's go; the slowest way where the driver does not say.
    pub fn link(&self, other: &Device) -> Interconnect {
        if self.index == other.index {
            return Interconnect::Same;
        }
        let has = |what| {
            let mut value = 0;
            // SAFETY: two open devices and a local.
            let result = unsafe { sys::cuDeviceGetP2PAttribute(&mut value, what, self.raw, other.raw) };
            result == sys::CUresult::CUDA_SUCCESS && value != 0
        };
        use sys::CUdevice_P2PAttribute as Attribute;
        // Of the links that there are, NVLink alone has atomic operations.
        if has(Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED) {
            Interconnect::NvLink
        } else if has(Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED) {
            Interconnect::Bus
        } else {
            Interconnect::Host
        }
    }

    /// Whether an address is memory of this GPU.
    pub fn holds(&self, address: *const u8) -> bool {
        let Ok(_current) = self.enter() else { return false };
        owner(address) == Some((sys::CUmemorytype::CU_MEMORYTYPE_DEVICE, self.raw))
    }

    /// One value of this GPU's memory; nothing writes to it meanwhile.
    pub fn read<V: Plain + Default>(&self, address: u64) -> Result<V> {
        let _current = self.enter()?;
        let mut value = V::default();
        // SAFETY: the caller's address, and a local of that size; all bit patterns are values.
        check("cuMemcpyDtoH", unsafe { sys::cuMemcpyDtoH_v2((&raw mut value).cast(), address, size_of::<V>()) })?;
        Ok(value)
    }

    /// As many values as the slice has, from an address on; nothing writes to them meanwhile.
    pub fn read_into<V: Plain>(&self, address: u64, values: &mut [V]) -> Result<()> {
        let _current = self.enter()?;
        let bytes = size_of_val(values);
        // SAFETY: the caller's address, and a slice of that size; all bit patterns are values.
        check("cuMemcpyDtoH", unsafe { sys::cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), address, bytes) })
    }

    /// A kernel, by its source and name.
    pub fn function(&self, image: &'static Image, name: &str) -> Result<Function> {
        let _current = self.enter()?;
        self.modules.function(image, name, self.shared_bytes)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if let Ok(_current) = self.enter() {
            self.modules.unload();
        }
        // SAFETY: retained once in `open`. A failure (the process is ending) leaves nothing to do.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.raw) };
    }
}

/// A GPU made current on this thread.
pub struct Current<'a> {
    device: PhantomData<&'a Device>,
    /// Stays on its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut context = std::ptr::null_mut();
        // SAFETY: undoes the push of `enter`.
        unsafe { sys::cuCtxPopCurrent_v2(&mut context) };
    }
}
