//! `isoc_context_*`, versions and errors.

use super::boundary::{Registry, Sized32, array, count, guard, last_error, read_struct, set_out, text};
use isocenter_base::context::{Compute, Context, ContextOptions, Log, LogLevel, NanPolicy, Progress, Stage};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Error, Result, Status, fail};
use isocenter_base::gpu;
use std::ffi::{CStr, CString, c_char, c_void};
use std::io::Write as _;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Number of the ABI: a program built against another number must be rebuilt.
pub const ISOC_ABI_VERSION: u32 = 2;

/// Where a context computes.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_context_device {
    /// All NVIDIA GPUs, or the processor where there is none that this library can use (the log says why).
    Auto = 0,
    /// The processor.
    Cpu = 1,
    /// NVIDIA GPUs: isoc_context_options.gpus, or all of them.
    Gpu = 2,
}

/// What to do with NaN and Inf in data.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_nan_policy {
    /// ISOC_STATUS_NOT_FINITE_DATA, naming the first index, the output untouched. On a GPU slabs are looked at one by one: the
    /// index is the slab's first, and slabs before it may have been written, with several GPUs others too (that slab too if the
    /// output is on the GPU).
    Error = 0,
    /// Replace by zero, and count (isoc_ct_info.replaced_values).
    Replace = 1,
}

/// Reports progress, some twenty times a second and once at the end (fraction 1, stage "done", return value ignored).
/// Returning non-zero cancels that call: it returns ISOC_STATUS_CANCELLED soon after, others go on. Called only from the thread that made
/// the call: where several threads make calls with plans of one context, several may be in this function at a time, with the same
/// `user`. It must not throw, and must not call the library with the handle that it reports on (ISOC_STATUS_BUSY).
pub type isoc_progress_fn = Option<unsafe extern "C" fn(user: *mut c_void, fraction: f64, stage: *const c_char) -> i32>;

/// Gets log messages: level 1 is a warning, 2 a decision that the library took, 3 what iterations have come to (objective and, where it is
/// known, how far that is above the minimum at most), some twenty times a second at most. Called only from the thread that made the call, so from several threads at a time as isoc_progress_fn is; it must not throw.
pub type isoc_log_fn = Option<unsafe extern "C" fn(user: *mut c_void, level: i32, message: *const c_char)>;

/// How a context is set up. Set `struct_size` and zero the rest for the defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_context_options {
    /// sizeof(isoc_context_options).
    pub struct_size: u32,
    /// An isoc_context_device.
    pub device: u32,
    /// Worker threads, at most 4096; 0 takes one per processor that this process may use.
    pub threads: u32,
    /// An isoc_nan_policy.
    pub nan_policy: u32,
    /// Maximum number of bytes of working memory of the host at a time, beyond the caller's arrays: a promise. 0 takes seven eighths of what is
    /// available when a call begins (under the limits of a container or a batch job, too), at least 256 MiB.
    pub memory_cap: u64,
    /// Progress and cancel, or NULL.
    pub progress: isoc_progress_fn,
    /// Passed to `progress`; what it points to is for several threads at a time if several make calls.
    pub progress_user: *mut c_void,
    /// Log; NULL: warnings go to stderr, each once, decisions nowhere.
    pub log: isoc_log_fn,
    /// Passed to `log`.
    pub log_user: *mut c_void,
    /// ISOC_CONTEXT_DEVICE_GPU: `gpu_count` indices of GPUs as the driver counts them (CUDA_VISIBLE_DEVICES is heeded); NULL
    /// takes all. Copied. Several GPUs share the slabs of a call of CT, and the coils of one of MRI where it is large.
    pub gpus: *const i32,
    /// Number of values in `gpus`.
    pub gpu_count: i64,
    /// Maximum number of bytes of memory on each GPU, beyond the caller's arrays; 0 takes nine tenths of what is free when a call begins.
    pub gpu_memory_cap: u64,
}

// SAFETY: numbers, pointers and optional function pointers; all zero is valid.
unsafe impl Sized32 for isoc_context_options {
    const NAME: &'static str = "isoc_context_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Threads, memory cap, callbacks: what plans share. Opaque. Any thread may use it, several at a time. Plans made from it
/// keep what they need, so it may be destroyed before them.
///
/// After fork(), while no other thread is in a call, a child process makes contexts and plans of its own (on GPUs: if its parent had not
/// used them yet). Those of its parent are ISOC_STATUS_INVALID_HANDLE there, and destroying them does nothing.
pub struct isoc_context {
    _opaque: [u8; 0],
}

static CONTEXTS: Registry<Context> = Registry::new("isoc_context");

/// The context behind a handle.
pub(super) fn context(handle: *const isoc_context) -> Result<Arc<Context>> {
    CONTEXTS.get(handle)
}

/// The caller's pointer for a callback, which is never followed here.
struct User(*mut c_void);
// SAFETY: callbacks get it on the threads of the caller's own calls, and isoc_progress_fn says that these may be several.
unsafe impl Send for User {}
// SAFETY: as above, several at a time.
unsafe impl Sync for User {}

/// What a caller who gave no log is told all the same, once: that something looks wrong.
fn warn_on_stderr() -> Log {
    /// Different warnings of a context; none beyond them.
    const MOST: usize = 64;
    let told = Mutex::new(Vec::<String>::new());
    Box::new(move |level, message| {
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if level == LogLevel::Warning && told.len() < MOST && told.iter().all(|t| t != message) {
            told.push(message.to_owned());
            // A caller without stderr cannot be told.
            let _ = writeln!(std::io::stderr(), "isocenter: warning: {message}");
        }
    })
}

impl isoc_context_options {
    /// # Safety
    /// `gpus` is as the field's documentation says.
    unsafe fn into_options(self) -> Result<ContextOptions> {
        let compute = match self.device {
            0 => Compute::Auto,
            1 => Compute::Cpu,
            // SAFETY: by this function's contract.
            2 => Compute::Gpus(unsafe { self.gpus() }?),
            v => fail!(UnknownValue, "device is {v}; it must be 0 (auto), 1 (cpu) or 2 (gpu)"),
        };
        if self.device != 2 && (!self.gpus.is_null() || self.gpu_count != 0) {
            let name = if self.device == 0 { "auto" } else { "cpu" };
            fail!(
                OutOfRange,
                "gpus or gpu_count is given, but device is {} ({name}); it must be 2 (gpu) then",
                self.device
            );
        }
        let nan_policy = match self.nan_policy {
            0 => NanPolicy::Error,
            1 => NanPolicy::Replace,
            v => fail!(UnknownValue, "nan_policy is {v}; it must be 0 (error) or 1 (replace)"),
        };
        let progress = self.progress.map(|call| {
            let user = User(self.progress_user);
            Box::new(move |fraction: f64, stage: Stage| {
                let user = &user;
                // SAFETY: the caller's function, with the caller's pointer, from the thread that made the call.
                unsafe { call(user.0, fraction, stage.name().as_ptr()) != 0 }
            }) as Progress
        });
        let log = Some(match self.log {
            None => warn_on_stderr(),
            Some(call) => {
                let user = User(self.log_user);
                Box::new(move |level: LogLevel, message: &str| {
                    let (user, message) = (&user, CString::new(message).unwrap_or_default());
                    // SAFETY: as for progress.
                    unsafe { call(user.0, level as i32, message.as_ptr()) }
                })
            }
        });
        let (threads, memory_cap, gpu_memory_cap) = (self.threads as usize, self.memory_cap, self.gpu_memory_cap);
        let warnings_only = self.log.is_none();
        Ok(ContextOptions {
            compute,
            gpu_memory_cap,
            threads,
            memory_cap,
            nan_policy,
            level: None,
            progress,
            log,
            warnings_only,
        })
    }

    /// # Safety
    /// `gpus` is as the field's documentation says.
    unsafe fn gpus(&self) -> Result<Vec<usize>> {
        if self.gpus.is_null() {
            if self.gpu_count != 0 {
                fail!(NullPointer, "gpus is NULL with gpu_count {}; it must be 0 then", self.gpu_count);
            }
            return Ok(Vec::new());
        }
        let n = count(self.gpu_count, "gpu_count", 1, 1024)?;
        // SAFETY: `gpu_count` values, by this function's contract.
        let indices = unsafe { array(self.gpus, n, "gpus") }?;
        let index =
            |&i: &i32| usize::try_from(i).or_else(|_| fail!(NoDevice, "gpus names GPU {i}; indices begin at 0"));
        if let Some((_, twice)) = indices.iter().enumerate().find(|(k, g)| indices[..*k].contains(g)) {
            fail!(OutOfRange, "gpus names GPU {twice} twice");
        }
        indices.iter().map(index).collect()
    }
}

/// Makes a context. `options` may be NULL for the defaults.
///
/// The environment variable ISOC_CPU_LEVEL (x86-64: baseline, avx2, avx512; 64-bit Arm: baseline, neon) lowers the instruction set that contexts made after
/// it is set use; it never raises it.
///
/// # Safety
/// `options` is NULL or valid, `out` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_context_create(
    options: *const isoc_context_options,
    out: *mut *mut isoc_context,
) -> Status {
    guard(|| {
        if out.is_null() {
            fail!(NullPointer, "out is NULL");
        }
        let options = if options.is_null() {
            ContextOptions::default()
        } else {
            // SAFETY: by this function's contract.
            unsafe { read_struct(options)?.into_options() }?
        };
        let handle = CONTEXTS.insert(Context::new(options)?);
        // SAFETY: by this function's contract.
        unsafe { set_out(out, handle, "out") }
    })
}

/// Destroys a context; NULL is accepted, a handle destroyed already is ISOC_STATUS_INVALID_HANDLE.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_context_destroy(context: *mut isoc_context) -> Status {
    guard(|| CONTEXTS.remove(context))
}

/// This thread's message of its last failed call: which argument, the value seen, the value allowed. Empty before the
/// first failure. The pointer stays the same as long as the thread lives, its text until the thread's next failed call.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_last_error() -> *const c_char {
    last_error()
}

/// A short phrase for a status, or "unknown status". Static.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_status_string(status: i32) -> *const c_char {
    let known = usize::try_from(status).ok().and_then(|s| Status::ALL.get(s));
    text(known.map_or(c"unknown status", |s| s.phrase()))
}

/// The library's version, such as "0.1.0". Static.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_version() -> *const c_char {
    const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(s) => s,
        Err(_) => c"",
    };
    text(VERSION)
}

/// ISOC_ABI_VERSION of the library that is running.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_abi_version() -> u32 {
    ISOC_ABI_VERSION
}

/// What the library was built from, and the CPU level that it will use. Static.
#[unsafe(no_mangle)]
pub extern "C" fn isoc_build_info() -> *const c_char {
    static INFO: LazyLock<CString> = LazyLock::new(|| {
        let level = Level::from_environment().unwrap_or_else(|_: Error| Level::detect());
        let info = format!(
            "isocenter {} for {} ({}, {}); cpu levels {}, using {}; gpu: {}",
            env!("CARGO_PKG_VERSION"),
            env!("ISOC_TARGET"),
            env!("ISOC_PROFILE"),
            env!("ISOC_RUSTC"),
            Level::names(),
            level.name(),
            gpu::built_for().unwrap_or("not built in")
        );
        CString::new(info).unwrap_or_default()
    });
    INFO.as_ptr()
}
