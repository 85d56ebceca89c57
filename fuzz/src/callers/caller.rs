//! A caller: its bytes, its buffers, its context, and what it holds the library to.

use super::device::gpu;
use super::input::Input;
use super::memory::{Bounds, Memory};
use super::tensors::Made;
use isocenter::error::Status;
use isocenter::ffi::context::*;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// Calls a function of the API and looks at what it did; true if it succeeded.
macro_rules! call {
    ($caller:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        // SAFETY: arguments are made by the rules in lib.rs.
        #[allow(unused_unsafe)]
        let status = unsafe { $function($($argument),*) };
        $caller.check(stringify!($function), status)
    }};
}
pub(crate) use call;

/// The longest array that is made for a call that claims it.
const LONGEST: i64 = 1 << 20;

/// A call with a handle.
type Again = (fn(*mut c_void) -> Status, *mut c_void);

/// What callbacks see.
pub(crate) struct Callbacks {
    calls: Cell<u32>,
    /// The progress call, or the slab, that stops; 0 is none.
    stop_at: Cell<u32>,
    /// A call with the handle that is in use, which must be refused.
    pub(crate) again: Cell<Option<Again>>,
    /// Reports of the call in progress, and after how many of them it is cancelled because it takes too long; 0 is never.
    reports: Cell<u32>,
    patience: Cell<u32>,
}

/// Reports come twenty times a second: calls that may fail get half a second each.
const PATIENCE: u32 = 10;

impl Callbacks {
    /// Whether the callback that this is called from stops, after its calls to the library.
    pub(crate) fn stops(&self) -> bool {
        if let Some((again, handle)) = self.again.get() {
            assert_eq!(again(handle), Status::Busy, "a call from inside a callback");
        }
        self.calls.set(self.calls.get() + 1);
        self.calls.get() == self.stop_at.get()
    }
}

unsafe extern "C" fn progress(user: *mut c_void, fraction: f64, stage: *const c_char) -> i32 {
    assert!((0.0..=1.0).contains(&fraction), "progress of {fraction}");
    // SAFETY: a C string, as isoc_progress_fn says.
    let stage = unsafe { CStr::from_ptr(stage) };
    assert!(stage.to_str().is_ok_and(|s| !s.is_empty()));
    // SAFETY: the session's own.
    let callbacks = unsafe { &*user.cast::<Callbacks>() };
    // The last report, whose answer is ignored, may come when the handle is free again.
    let done = fraction == 1.0;
    callbacks.reports.set(callbacks.reports.get() + 1);
    (!done && (callbacks.stops() || callbacks.reports.get() == callbacks.patience.get())).into()
}

unsafe extern "C" fn log(_user: *mut c_void, level: i32, message: *const c_char) {
    // SAFETY: a C string, as isoc_log_fn says.
    let message = unsafe { CStr::from_ptr(message) };
    assert!((1..=3).contains(&level) && message.to_str().is_ok_and(|s| !s.is_empty()));
}

pub(crate) struct Caller<'d> {
    pub(crate) input: Input<'d>,
    pub(crate) memory: Memory,
    pub(crate) callbacks: Box<Callbacks>,
    pub(crate) context: *mut isoc_context,
    /// The context is such that a right call succeeds.
    pub(crate) usual: bool,
    /// All calls are right from here on.
    pub(crate) settled: bool,
    /// Of what settled calls wrote.
    pub(crate) digest: u64,
}

impl<'d> Caller<'d> {
    /// A caller with a context, if it could have one.
    pub(crate) fn new(bytes: &'d [u8], bounds: Bounds) -> Option<Self> {
        let callbacks = Callbacks {
            calls: Cell::new(0),
            stop_at: Cell::new(0),
            again: Cell::new(None),
            reports: Cell::new(0),
            patience: Cell::new(PATIENCE),
        };
        let mut caller = Self {
            input: Input::new(bytes),
            memory: Memory::new(bounds),
            callbacks: Box::new(callbacks),
            context: ptr::null_mut(),
            usual: true,
            settled: false,
            digest: 0xCBF2_9CE4_8422_2325,
        };
        let options = caller.context_options();
        let mut context = ptr::null_mut();
        let made = call!(caller, isoc_context_create(options, &mut context));
        caller.context = context;
        assert_eq!(made, !context.is_null());
        made.then_some(caller)
    }

    fn context_options(&mut self) -> *const isoc_context_options {
        let input = &mut self.input;
        let odd = input.odd(8);
        self.usual = odd.is_none();
        let device = if gpu().is_some() { isoc_context_device::Gpu } else { isoc_context_device::Cpu };
        let mut options = isoc_context_options {
            struct_size: size_of::<isoc_context_options>() as u32,
            device: device as u32,
            threads: 1,
            nan_policy: isoc_nan_policy::Error as u32,
            memory_cap: 64 << 20,
            progress: Some(progress),
            progress_user: (&raw const *self.callbacks).cast_mut().cast(),
            log: Some(log),
            log_user: ptr::null_mut(),
            gpus: ptr::null(),
            gpu_count: 0,
            gpu_memory_cap: 0,
        };
        match odd {
            None => {}
            Some(0) => return ptr::null(),
            Some(1) => options.struct_size = input.struct_size(size_of::<isoc_context_options>()),
            Some(2) => {
                options.device = input.code(3);
                options.gpu_count = input.size(0, 4, 1024);
                options.gpus = self.array(options.gpu_count, 1024, |k| k as i32 - 1);
            }
            Some(3) => options.threads = [2, 3, 4097, u32::MAX][self.input.below(4)],
            Some(4) => options.nan_policy = input.code(2),
            Some(5) => options.memory_cap = [1, 4096, 1 << 14, 1 << 17, u64::MAX][self.input.below(5)],
            Some(6) => self.callbacks.stop_at.set(1 + self.input.below(8) as u32),
            Some(_) => (options.progress, options.log) = (None, None),
        }
        self.memory.values(&[options], 0)
    }

    /// What every call keeps to; true if it succeeded.
    pub(crate) fn check(&self, name: &str, status: Status) -> bool {
        self.memory.check(name);
        self.callbacks.reports.set(0);
        if status == Status::Ok {
            return true;
        }
        // SAFETY: valid until this thread's next error.
        let message = unsafe { CStr::from_ptr(isoc_last_error()) };
        let message = message.to_str().expect("a message in UTF-8");
        assert!(!message.is_empty(), "{name}: {status:?} without a message");
        assert_ne!(status, Status::Internal, "{name}: {message}");
        if std::env::var_os("ISOC_FUZZ_PRINT").is_some() {
            eprintln!("{name}: {message}");
        }
        false
    }

    /// An array for a call that is told it has so many elements, of which it takes `limit` at most.
    pub(crate) fn array<T: Copy>(&mut self, claimed: i64, limit: i64, value: impl Fn(usize) -> T) -> *mut T {
        let odd = self.input.odd(96);
        if odd == Some(0) || (LONGEST + 1..=limit).contains(&claimed) {
            return ptr::null_mut(); // the call might believe in more than this caller has
        }
        // Of a number that must be refused nothing may be read.
        let n = if (0..=LONGEST).contains(&claimed) { claimed as usize } else { 0 };
        let values: Vec<T> = (0..n).map(value).collect();
        self.memory.values(&values, usize::from(odd == Some(1)))
    }

    /// Room for a list of `number` elements that a call fills, where the caller says that there is room for `capacity`: NULL now and then.
    pub(crate) fn room<T: Copy>(&mut self, capacity: i64, number: i64, value: T) -> *mut T {
        let odd = self.input.odd(96);
        if odd == Some(0) {
            return ptr::null_mut();
        }
        // Lists are written whole or not at all: nothing may be beyond the last element, whatever the capacity.
        let n = if capacity < number { capacity.max(0) } else { number };
        self.memory.values(&vec![value; n as usize], usize::from(odd == Some(1)))
    }

    /// The same with a capacity that is the number, or another.
    pub(crate) fn list<T: Copy>(&mut self, number: i64, value: T) -> (*mut T, i64) {
        let odd = self.input.odd(96);
        let capacity = match odd {
            Some(2) => number - 1,
            Some(3) => 0,
            Some(4) => -1,
            Some(5) => i64::MAX,
            Some(6) => i64::MIN,
            Some(7) => number + 1,
            _ => number,
        };
        let n = if capacity < number { capacity.max(0) } else { number };
        let list = self.memory.values(&vec![value; n as usize], usize::from(odd == Some(1)));
        (if odd == Some(0) { ptr::null_mut() } else { list }, capacity)
    }

    /// Where a call puts the number of elements of a list, and nothing else.
    pub(crate) fn count(&mut self) -> *mut i64 {
        self.memory.values(&[-1i64], 0)
    }

    /// A struct that is passed by its address, which now and then is NULL.
    pub(crate) fn passed<T: Copy>(&mut self, value: T) -> *mut T {
        match self.input.odd(96) {
            Some(0) => ptr::null_mut(),
            odd => self.memory.values(&[value], usize::from(odd == Some(1))),
        }
    }

    /// The handle, or one that is none.
    pub(crate) fn handle<T>(&mut self, right: *mut T) -> *mut T {
        match self.input.odd(96) {
            Some(0) => ptr::null_mut(),
            Some(1) => self.context.cast(),
            Some(2) => ptr::without_provenance_mut(0xDEAD_BEEF),
            Some(3) => right.wrapping_byte_add(1),
            _ => right,
        }
    }

    /// Takes note of a call's output. A right one succeeds if its context lets it.
    pub(crate) fn done(&mut self, succeeded: bool, output: Option<Made>) {
        if !self.settled {
            return;
        }
        // SAFETY: the thread's own message.
        let message = || unsafe { CStr::from_ptr(isoc_last_error()) };
        assert!(succeeded || !self.usual, "a right call failed: {:?}", message());
        if let Some(Made { data, bytes, .. }) = output.filter(|_| succeeded) {
            // SAFETY: the caller's own buffer.
            let bytes = unsafe { std::slice::from_raw_parts(data, bytes) };
            self.digest = bytes.iter().fold(self.digest, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01B3));
        }
    }

    /// From here on all calls are those of a careful caller.
    pub(crate) fn settle(&mut self) {
        self.input = Input::new(&[]);
        self.callbacks.patience.set(0);
        self.settled = true;
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() || self.context.is_null() {
            return;
        }
        assert_eq!(isoc_context_destroy(self.context), Status::Ok);
        assert_eq!(isoc_context_destroy(self.context), Status::InvalidHandle);
    }
}
