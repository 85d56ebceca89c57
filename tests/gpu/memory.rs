//! Memory and streams of a GPU, made as a caller would make them. The library has initialised the driver before.

use cudarc::driver::sys::{self, CUresult};

pub(crate) fn check(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

/// Makes a GPU's primary context current, and keeps it until the process ends.
fn enter(gpu: i32) {
    let (mut device, mut context) = (0, std::ptr::null_mut());
    // SAFETY: locals of the right types.
    unsafe {
        check(sys::cuDeviceGet(&mut device, gpu));
        check(sys::cuDevicePrimaryCtxRetain(&mut context, device));
        check(sys::cuCtxSetCurrent(context));
    }
}

pub(crate) fn gpu_count() -> i32 {
    let mut count = 0;
    // SAFETY: a local.
    check(unsafe { sys::cuDeviceGetCount(&mut count) });
    count
}

/// An array in a GPU's memory.
pub(crate) struct OnGpu<T> {
    pub(crate) address: u64,
    gpu: i32,
    first: Vec<T>,
}

impl<T: Copy> OnGpu<T> {
    /// On GPU 0.
    pub(crate) fn new(values: &[T]) -> Self {
        Self::on(0, values)
    }

    pub(crate) fn on(gpu: i32, values: &[T]) -> Self {
        enter(gpu);
        let mut address = 0;
        // SAFETY: a local, and as many bytes as are copied.
        unsafe {
            check(sys::cuMemAlloc_v2(&mut address, size_of_val(values)));
            check(sys::cuMemcpyHtoD_v2(address, values.as_ptr().cast(), size_of_val(values)));
        }
        Self { address, gpu, first: values.to_vec() }
    }

    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.first)
    }

    pub(crate) fn read(&self) -> Vec<T> {
        enter(self.gpu);
        let mut values = self.first.clone();
        // SAFETY: both are of this size.
        check(unsafe { sys::cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), self.address, self.bytes()) });
        values
    }
}

impl<T> Drop for OnGpu<T> {
    fn drop(&mut self) {
        enter(self.gpu);
        // SAFETY: made in `on`.
        unsafe { sys::cuMemFree_v2(self.address) };
    }
}

/// A stream of GPU 0: one of the caller's own, which waits for no other, or the default one.
pub(crate) struct Stream(pub(crate) sys::CUstream);

impl Stream {
    pub(crate) fn own() -> Self {
        enter(0);
        let mut stream = std::ptr::null_mut();
        // SAFETY: a local.
        check(unsafe { sys::cuStreamCreate(&mut stream, sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32) });
        Self(stream)
    }

    pub(crate) fn default() -> Self {
        enter(0);
        Self(std::ptr::null_mut())
    }

    /// Everything after it in this stream waits.
    pub(crate) fn rest(&self) {
        unsafe extern "C" fn rest(_: *mut std::ffi::c_void) {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        // SAFETY: the function takes no data.
        check(unsafe { sys::cuLaunchHostFunc(self.0, Some(rest), std::ptr::null_mut()) });
    }

    pub(crate) fn copy(&self, from: &OnGpu<u64>, to: &OnGpu<u64>) {
        assert_eq!(from.bytes(), to.bytes());
        // SAFETY: both are of this size.
        check(unsafe { sys::cuMemcpyDtoDAsync_v2(to.address, from.address, from.bytes(), self.0) });
    }

    /// All bits 1.
    pub(crate) fn fill(&self, to: &OnGpu<u64>) {
        // SAFETY: it is of this size.
        check(unsafe { sys::cuMemsetD8Async(to.address, 0xff, to.bytes(), self.0) });
    }

    pub(crate) fn wait(&self) {
        // SAFETY: a stream that is there.
        check(unsafe { sys::cuStreamSynchronize(self.0) });
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: made in `own`.
            unsafe { sys::cuStreamDestroy_v2(self.0) };
        }
    }
}
