//! Guard against panics, last error, handles, and structs that carry their size.

use isocenter_base::error::{Error, Result, Status, fail};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock};

/// Bytes of a thread's last message, its end included.
const MESSAGE: usize = 4096;
/// It stays in one place, so that the order in which `printf("%d %s", isoc_x(), isoc_last_error())` calls does not matter.
type Message = [u8; MESSAGE];

thread_local! {
    static LAST_ERROR: RefCell<Message> = const { RefCell::new([0; MESSAGE]) };
    static THREAD_MARK: Cell<u8> = const { Cell::new(0) };
}

/// Runs a call's body: any error becomes this thread's last error and its code, and a panic goes no further.
pub(super) fn guard(body: impl FnOnce() -> Result<()>) -> Status {
    let mut body = Some(body);
    guard_erased(&mut || body.take().map_or(Ok(()), |body| body()))
}

/// Compiled once, and not for each call.
fn guard_erased(body: &mut dyn FnMut() -> Result<()>) -> Status {
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic_text(&*panic).to_owned();
        // A panic's payload may panic again when dropped; leaking those few bytes cannot.
        std::mem::forget(panic);
        Err(Error::new(Status::Internal, format!("internal fault, please report it: {text}")))
    });
    match result {
        Ok(()) => Status::Ok,
        Err(error) => {
            let _ = LAST_ERROR.try_with(|last| store(&error.message, &mut last.borrow_mut()));
            error.status
        }
    }
}

/// As much of a text as there is place for, without zeros inside.
fn store(text: &str, to: &mut Message) {
    let mut end = 0;
    for c in text.chars().filter(|c| *c != '\0') {
        if end + c.len_utf8() >= MESSAGE {
            break;
        }
        end += c.encode_utf8(&mut to[end..]).len();
    }
    to[end] = 0;
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// The thread's last message; the pointer lives as long as the thread.
pub(super) fn last_error() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr().cast()).unwrap_or(c"".as_ptr())
}

/// Live handles of one type. A handle is a number dressed as a pointer, never dereferenced and never used twice, so a NULL,
/// stale, foreign or invented one is an error instead of a crash.
///
/// A child process after fork() has copies of its parent's values without their threads, and without their GPUs: they serve it
/// for nothing, and are left as they are.
pub(super) struct Registry<T> {
    name: &'static str,
    live: LazyLock<RwLock<HashMap<usize, Live<T>>>>,
}

struct Live<T> {
    value: Arc<T>,
    /// The process that made it.
    process: u32,
}

static NEXT_HANDLE: AtomicUsize = AtomicUsize::new(0x150C_0010);

impl<T> Registry<T> {
    pub(super) const fn new(name: &'static str) -> Self {
        Self { name, live: LazyLock::new(RwLock::default) }
    }

    pub(super) fn insert<H>(&self, value: T) -> *mut H {
        let key = NEXT_HANDLE.fetch_add(16, Ordering::Relaxed);
        let live = Live { value: Arc::new(value), process: std::process::id() };
        self.live.write().unwrap_or_else(PoisonError::into_inner).insert(key, live);
        std::ptr::without_provenance_mut(key)
    }

    pub(super) fn get<H>(&self, handle: *const H) -> Result<Arc<T>> {
        if handle.is_null() {
            fail!(NullPointer, "the {} handle is NULL", self.name);
        }
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        match live.get(&handle.addr()) {
            Some(Live { value, process }) if *process == std::process::id() => Ok(value.clone()),
            Some(Live { process, .. }) => fail!(
                InvalidHandle,
                "{:#x} is an {} handle of process {process}, which this one was forked from; it needs its own",
                handle.addr(),
                self.name
            ),
            None => Err(self.unknown(handle.addr())),
        }
    }

    /// Calls in progress on another thread keep the value until they return. In a child process nothing happens to its parent's.
    pub(super) fn remove<H>(&self, handle: *mut H) -> Result<()> {
        self.remove_if(handle, |_| Ok(()))
    }

    fn remove_if<H>(&self, handle: *mut H, may: impl FnOnce(&T) -> Result<()>) -> Result<()> {
        if handle.is_null() {
            return Ok(());
        }
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        match live.get(&handle.addr()) {
            Some(inherited) if inherited.process != std::process::id() => return Ok(()),
            Some(own) => may(&own.value)?,
            None => return Err(self.unknown(handle.addr())),
        }
        let removed = live.remove(&handle.addr());
        // Others may look for theirs while this one is dropped.
        drop(live);
        drop(removed);
        Ok(())
    }

    fn unknown(&self, address: usize) -> Error {
        let message = format!("{address:#x} is not a live {} handle (destroyed already, or never made?)", self.name);
        Error::new(Status::InvalidHandle, message)
    }
}

impl<T> Registry<Serial<T>> {
    /// As `remove`, but refused inside the plan's own callbacks.
    pub(super) fn destroy<H>(&self, handle: *mut H) -> Result<()> {
        self.remove_if(handle, |plan| plan.check_not_inside().map(drop))
    }
}

/// State behind a handle whose calls are serialised; a call from inside the handle's own callback fails instead of waiting for itself.
pub(super) struct Serial<T> {
    state: Mutex<T>,
    owner: AtomicUsize,
}

impl<T> Serial<T> {
    pub(super) fn new(state: T) -> Self {
        Self { state: Mutex::new(state), owner: AtomicUsize::new(0) }
    }

    /// Fails on the thread whose call is in progress: this call then comes from inside that one's callback.
    fn check_not_inside(&self) -> Result<usize> {
        let me = THREAD_MARK.with(|mark| mark as *const Cell<u8> as usize);
        if self.owner.load(Ordering::Relaxed) == me {
            fail!(Busy, "called from inside a callback of a call on the same handle");
        }
        Ok(me)
    }

    /// Waits for other threads' calls, then runs `body` alone.
    pub(super) fn with<R>(&self, body: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let me = self.check_not_inside()?;
        // A caught panic may have poisoned the lock; plans stay valid, since calls replace their parts whole.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.owner.store(me, Ordering::Relaxed);
        let mut held = Held { state, owner: &self.owner };
        body(&mut held.state)
    }
}

struct Held<'a, T> {
    state: MutexGuard<'a, T>,
    owner: &'a AtomicUsize,
}

impl<T> Drop for Held<'_, T> {
    fn drop(&mut self) {
        self.owner.store(0, Ordering::Relaxed);
    }
}

/// A struct of plain numbers and pointers for which all zero bytes are valid, beginning with `uint32_t struct_size`.
///
/// # Safety
/// As said; `FIRST_SIZE` is its size when it was first published.
pub(super) unsafe trait Sized32: Copy {
    const NAME: &'static str;
    const FIRST_SIZE: usize;
}

/// # Safety
/// `p` is NULL or points at a `uint32_t` that says how many bytes may be read (or written) there.
unsafe fn declared_size<T: Sized32>(p: *const T) -> Result<usize> {
    // SAFETY: by the caller's contract.
    unsafe { size_within(p.cast(), T::NAME, T::FIRST_SIZE, size_of::<T>()) }
}

/// Compiled once, and not for each struct.
///
/// # Safety
/// As for [`declared_size`].
unsafe fn size_within(p: *const u32, name: &str, first: usize, known: usize) -> Result<usize> {
    if p.is_null() {
        fail!(NullPointer, "{name} is NULL");
    }
    // SAFETY: by the caller's contract.
    let size = unsafe { p.read_unaligned() } as usize;
    if size < first || size > known {
        fail!(
            StructSize,
            "{name}.struct_size is {size}; it must be sizeof({name}) of the header in use, {first} to {known} here"
        );
    }
    Ok(size)
}

/// Copies a caller's struct; fields that the caller's header does not have yet read as zero.
///
/// # Safety
/// As for [`declared_size`].
pub(super) unsafe fn read_struct<T: Sized32>(p: *const T) -> Result<T> {
    // SAFETY: by the caller's contract.
    let size = unsafe { declared_size(p) }?;
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: `size` is at most the type's; zero bytes are valid where the caller's struct ends early.
    unsafe {
        std::ptr::copy_nonoverlapping(p.cast::<u8>(), value.as_mut_ptr().cast(), size);
        Ok(value.assume_init())
    }
}

/// Fills as much of a caller's struct as its `struct_size` says, leaving that field as it is.
///
/// # Safety
/// As for [`declared_size`], for writing.
pub(super) unsafe fn write_struct<T: Sized32>(p: *mut T, value: &T) -> Result<()> {
    // SAFETY: by the caller's contract; the size was checked.
    unsafe {
        let size = declared_size(p)?;
        let skip = size_of::<u32>();
        let from = std::ptr::from_ref(value).cast::<u8>();
        std::ptr::copy_nonoverlapping(from.add(skip), p.cast::<u8>().add(skip), size - skip);
    }
    Ok(())
}

/// The `count` elements at `p`, or NullPointer.
///
/// # Safety
/// `p` is NULL or holds `count` readable elements for `'a`.
pub(super) unsafe fn array<'a, T>(p: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if p.is_null() {
        fail!(NullPointer, "{name} is NULL");
    }
    if count.checked_mul(size_of::<T>()).is_none_or(|bytes| bytes > isize::MAX as usize) {
        fail!(SizeOverflow, "{name} with {count} elements does not fit the address space");
    }
    if !p.is_aligned() {
        fail!(TensorStrides, "{name} is not aligned to {} bytes", align_of::<T>());
    }
    // SAFETY: not NULL, aligned, of a possible size, readable by the caller's contract.
    Ok(unsafe { std::slice::from_raw_parts(p, count) })
}

/// Where a call puts a result, checked before any work is done.
///
/// # Safety
/// `p` is NULL or writable.
pub(super) unsafe fn set_out<T>(p: *mut T, value: T, name: &str) -> Result<()> {
    if p.is_null() {
        fail!(NullPointer, "{name} is NULL");
    }
    // SAFETY: writable, by the caller's contract.
    unsafe { p.write_unaligned(value) };
    Ok(())
}

/// Writes bytes of the host and of a GPU where they are wanted.
///
/// # Safety
/// Both are NULL or writable.
pub(super) unsafe fn set_bytes([host, gpu]: [*mut u64; 2], found: [u64; 2]) {
    for (p, bytes) in [host, gpu].into_iter().zip(found) {
        if !p.is_null() {
            // SAFETY: by this function's contract.
            unsafe { p.write_unaligned(bytes) };
        }
    }
}

/// A list that a call fills for its caller, by one rule. The caller is told how many elements there are, whatever becomes of the
/// call. With capacity 0 that is all that is asked for. Unless there is room for all of them, none is written.
pub(super) struct OutList<T> {
    /// The caller's names of the list and of its capacity.
    pub(super) names: [&'static str; 2],
    pub(super) out: *mut T,
    pub(super) capacity: i64,
    /// Where their number goes, or NULL.
    pub(super) count: *mut i64,
}

impl<T> OutList<T> {
    /// Tells how many elements there are, and whether they can be written.
    ///
    /// # Safety
    /// `count` is NULL or writable.
    pub(super) unsafe fn offer(&self, number: usize) -> Result<()> {
        let Self { names: [name, its_capacity], out, capacity, count } = self;
        if !count.is_null() {
            // SAFETY: by this function's contract.
            unsafe { count.write_unaligned(number as i64) };
        }
        match usize::try_from(*capacity) {
            Err(_) => fail!(OutOfRange, "{its_capacity} is {capacity}; it must be at least {number} for {name}, or 0"),
            Ok(0) => Ok(()),
            Ok(room) if out.is_null() => {
                fail!(
                    NullPointer,
                    "{name} is NULL with {its_capacity} {room}; it must be 0 then, which asks for the number"
                )
            }
            Ok(room) if room < number => {
                fail!(OutOfRange, "{its_capacity} is {room}; it must be at least {number}, the number of {name}, or 0")
            }
            Ok(_) => Ok(()),
        }
    }

    /// Writes what was offered.
    ///
    /// # Safety
    /// `out` has room for as many elements as `capacity` says, which were offered with success.
    pub(super) unsafe fn write(&self, values: impl Iterator<Item = T>) {
        let room = usize::try_from(self.capacity).unwrap_or(0);
        for (k, value) in values.take(room).enumerate() {
            // SAFETY: below the capacity, by this function's contract.
            unsafe { self.out.add(k).write_unaligned(value) };
        }
    }

    /// Both.
    ///
    /// # Safety
    /// `out` is NULL or has room for as many elements as `capacity` says; `count` is NULL or writable.
    pub(super) unsafe fn fill(&self, values: impl ExactSizeIterator<Item = T>) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe {
            self.offer(values.len())?;
            self.write(values);
        }
        Ok(())
    }
}

/// A size or count from C, signed there so that a negative one can be told from a large one; checked before anything of that
/// size is read.
pub(super) fn count(value: i64, name: &str, least: usize, most: usize) -> Result<usize> {
    match usize::try_from(value) {
        Ok(n) if n >= least && n <= most => Ok(n),
        _ => fail!(OutOfRange, "{name} is {value}; it must be {least} to {most}"),
    }
}

/// C text as a static string pointer.
pub(super) fn text(s: &'static CStr) -> *const c_char {
    s.as_ptr()
}

/// By Miri too, which tries many orders of threads and what weak memory lets them see (`make miri`).
#[cfg(test)]
mod handle_tests {
    use super::*;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    #[test]
    fn calls_on_one_handle_wait_for_each_other_and_fail_only_inside_themselves() {
        let serial = Serial::new([0; 2]);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..4 {
                        let inside = serial.with(|state| {
                            state[0] += 1;
                            state[1] += 1;
                            assert_eq!(state[0], state[1]);
                            Ok(serial.with(|_| Ok(())).map_err(|e| e.status))
                        });
                        assert_eq!(inside.map_err(|e| e.status), Ok(Err(Status::Busy)));
                    }
                });
            }
        });
        assert_eq!(serial.with(|state| Ok(*state)).ok(), Some([12; 2]));
    }

    #[test]
    fn what_a_call_uses_outlives_its_handle() {
        struct Watched(Arc<AtomicBool>);
        impl Drop for Watched {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        static WATCHED: Registry<Watched> = Registry::new("watched");
        let gone = Arc::new(AtomicBool::new(false));
        let handle = WATCHED.insert::<u8>(Watched(gone.clone())).addr();
        let of = std::ptr::without_provenance_mut::<u8>;
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| match WATCHED.get(of(handle)) {
                    Ok(value) => assert!(!value.0.load(Ordering::Relaxed), "dropped in use"),
                    Err(e) => assert_eq!(e.status, Status::InvalidHandle),
                });
            }
            // One of two destroys it.
            let destroyers = [0; 2].map(|_| scope.spawn(|| WATCHED.remove(of(handle)).is_ok()));
            let destroyed = destroyers.map(|d| d.join().expect("a destroyer ends"));
            assert_eq!(destroyed.iter().filter(|d| **d).count(), 1);
        });
        assert!(gone.load(Ordering::Relaxed));
        assert!(WATCHED.get(of(handle)).is_err());
    }
}
