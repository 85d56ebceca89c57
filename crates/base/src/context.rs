//! The context: threads, CPU level, memory cap, NaN policy, progress and log. Shared by all plans made from it.

use crate::cpu::buffer::Buffer;
use crate::cpu::level::Level;
use crate::cpu::memory;
use crate::error::{Error, Result, Status, fail};
use crate::gpu::{self, Device, Pinned, Staging};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, ThreadId};
use std::time::{Duration, Instant};

/// What to do with NaN and Inf in data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NanPolicy {
    /// Fail, naming the first index.
    #[default]
    Error,
    /// Replace by zero, and count.
    Replace,
}

/// How urgent a log message is.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something that probably is not what the caller wants.
    Warning = 1,
    /// What the library decided.
    Info = 2,
    /// How far iterations have come.
    Progress = 3,
}

/// Gets the fraction done and the stage's name; true asks to cancel.
pub type Progress = Box<dyn Fn(f64, Stage) -> bool + Send + Sync>;
/// Gets each log message.
pub type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// Where a context computes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Compute {
    /// All GPUs, or the processor where there is none that this library can use.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// These GPUs, as the driver counts; all of them if none is named. One that is named more than once counts as so many, which tests of what
    /// several do need; the C interface refuses it.
    Gpus(Vec<usize>),
}

/// How a context is set up; `Default` is right for most.
#[derive(Default)]
pub struct ContextOptions {
    /// Where to compute.
    pub compute: Compute,
    /// Maximum number of bytes of memory on each GPU; 0 takes nine tenths of what is free when a call begins.
    pub gpu_memory_cap: u64,
    /// Worker threads; 0 takes one per processor that this process may use.
    pub threads: usize,
    /// Most bytes of working memory on the host at a time; 0 takes seven eighths of what is available when a call begins, at least
    /// 256 MiB.
    pub memory_cap: u64,
    /// NaN and Inf in data.
    pub nan_policy: NanPolicy,
    /// A level below the processor's best; None takes the best, or what `ISOC_CPU_LEVEL` says.
    pub level: Option<Level>,
    /// Progress and cancel.
    pub progress: Option<Progress>,
    /// Log.
    pub log: Option<Log>,
    /// The log gets warnings alone; decisions are not put into words then.
    pub warnings_only: bool,
}

/// Names of the stages that progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Looking for NaN and Inf before anything is written.
    Check,
    /// Stages before the filter that see more than a row.
    Prepare,
    /// Ramp filter.
    Filter,
    /// Back projection.
    Backproject,
    /// Forward projection.
    Forward,
    /// Transpose of the forward projection.
    Adjoint,
    /// Density weights.
    Density,
    /// Q, the kernel of F^H W F.
    Toeplitz,
    /// F^H W F and the penalty.
    Normal,
    /// Iterations between projections and slices.
    Iterate,
    /// Conjugate gradient.
    Solve,
    /// Events into histo-images.
    Deposit,
    /// Factors of a scanner and an attenuation map.
    Factors,
    /// Scatter of all pairs of detectors.
    Scatter,
    /// Simulated events, and what is expected of them.
    Simulate,
    /// Matrices and sensitivities of coils.
    Coils,
    /// Delays of gradients.
    Delays,
    /// Finished.
    Done,
}

impl Stage {
    const ALL: [Stage; 18] = [
        Stage::Check,
        Stage::Prepare,
        Stage::Filter,
        Stage::Backproject,
        Stage::Forward,
        Stage::Adjoint,
        Stage::Density,
        Stage::Toeplitz,
        Stage::Normal,
        Stage::Iterate,
        Stage::Solve,
        Stage::Deposit,
        Stage::Factors,
        Stage::Scatter,
        Stage::Simulate,
        Stage::Coils,
        Stage::Delays,
        Stage::Done,
    ];

    /// The name that the callback gets.
    pub fn name(self) -> &'static std::ffi::CStr {
        match self {
            Stage::Check => c"check",
            Stage::Prepare => c"prepare",
            Stage::Filter => c"filter",
            Stage::Backproject => c"backproject",
            Stage::Forward => c"forward",
            Stage::Adjoint => c"adjoint",
            Stage::Density => c"density",
            Stage::Toeplitz => c"toeplitz",
            Stage::Normal => c"normal",
            Stage::Iterate => c"iterate",
            Stage::Solve => c"solve",
            Stage::Deposit => c"deposit",
            Stage::Factors => c"factors",
            Stage::Scatter => c"scatter",
            Stage::Simulate => c"simulate",
            Stage::Coils => c"coils",
            Stage::Delays => c"delays",
            Stage::Done => c"done",
        }
    }
}

/// What all plans made from it share.
pub struct Context {
    workers: Workers,
    level: Level,
    gpus: Vec<Arc<Device>>,
    /// One for each GPU.
    staging: Vec<Staging>,
    /// As it was set; None goes by what is available.
    memory_cap: Option<u64>,
    /// What the system answered, and when.
    available: Mutex<Option<(Instant, Option<u64>)>>,
    gpu_memory_cap: u64,
    nan_policy: NanPolicy,
    progress: Option<Progress>,
    log: Option<Log>,
    warnings_only: bool,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context {{ threads: {}, level: {:?}, gpus: {:?} }}", self.threads(), self.level, self.gpus)
    }
}

/// More threads than any machine has: a larger number is a mistake.
const MAX_THREADS: usize = 4096;
const MIN_DEFAULT_CAP: u64 = 256 << 20;

impl Context {
    /// Starts the worker threads.
    pub fn new(options: ContextOptions) -> Result<Self> {
        let ContextOptions {
            compute,
            gpu_memory_cap,
            threads,
            memory_cap,
            nan_policy,
            level,
            progress,
            log,
            warnings_only,
        } = options;
        if threads > MAX_THREADS {
            fail!(OutOfRange, "threads is {threads}; it must be at most {MAX_THREADS} (0 takes one per processor)");
        }
        let best = Level::from_environment()?;
        let level = level.map_or(best, |l| l.min(best));
        let memory_cap = (memory_cap > 0).then_some(memory_cap);
        let workers = Workers::start(threads)
            .map_err(|e| Error::new(Status::OutOfMemory, format!("could not start the worker threads: {e}")))?;
        let gpus = open(compute, &log)?;
        let available = Mutex::default();
        Ok(Self {
            workers,
            level,
            staging: gpus.iter().map(Staging::new).collect(),
            gpus,
            memory_cap,
            available,
            gpu_memory_cap,
            nan_policy,
            progress,
            log,
            warnings_only,
        })
    }

    /// GPUs in use; none if it computes on the processor.
    pub fn gpus(&self) -> &[Arc<Device>] {
        &self.gpus
    }

    /// For what plans are given, which share it: to page-lock memory takes longer than most copies. None for a GPU of another context.
    pub fn staging(&self, gpu: &Device) -> Option<&Staging> {
        self.gpus.iter().zip(&self.staging).find(|(own, _)| own.index() == gpu.index()).map(|(_, staging)| staging)
    }

    /// Memory for the caller's arrays that GPUs copy to and from at full speed.
    pub fn host_memory(&self, bytes: usize) -> Result<HostMemory> {
        Ok(HostMemory(match self.gpus.first() {
            Some(gpu) => Held::Pinned(self.install(|| Pinned::new(gpu, bytes))?),
            None => Held::Ordinary(Buffer::zeroed(bytes.div_ceil(size_of::<f32>()))?),
        }))
    }

    /// Whether the caller has set a cap of GPUs' memory.
    pub fn caps_gpus(&self) -> bool {
        self.gpu_memory_cap > 0
    }

    /// Maximum number of bytes to use on a GPU now.
    /// `held`: what the asker holds already.
    pub fn gpu_memory(&self, gpu: &Device, held: u64) -> Result<u64> {
        let (free, _) = gpu.memory()?;
        let cap = if self.gpu_memory_cap > 0 { self.gpu_memory_cap } else { u64::MAX };
        Ok(cap.min((free + held) / 10 * 9))
    }

    /// Instruction-set level in use.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Worker threads.
    pub fn threads(&self) -> usize {
        self.workers.pool().current_num_threads()
    }

    /// Maximum number of bytes of working memory on the host for a call that begins now. Asks the system where no cap was set, so a call asks once.
    /// `held`: what the asker has already, which counts.
    pub fn memory_cap(&self, held: u64) -> u64 {
        self.memory_cap.unwrap_or_else(|| {
            let usable = match self.available() {
                // The reserve is for other processes, for tables, and for the system's own.
                Some(free) => (free + held) / 8 * 7,
                None => memory::physical() / 8,
            };
            usable.max(MIN_DEFAULT_CAP)
        })
    }

    /// What the system had to give lately: to ask takes as long as a small transform.
    fn available(&self) -> Option<u64> {
        const LATELY: Duration = Duration::from_millis(200);
        let mut asked = self.available.lock().unwrap_or_else(|e| e.into_inner());
        if let Some((when, bytes)) = *asked
            && when.elapsed() < LATELY
        {
            return bytes;
        }
        let bytes = memory::available();
        *asked = Some((Instant::now(), bytes));
        bytes
    }

    /// NaN and Inf in data.
    pub fn nan_policy(&self) -> NanPolicy {
        self.nan_policy
    }

    /// Whether anybody gets more than warnings.
    pub fn tells(&self) -> bool {
        self.log.is_some() && !self.warnings_only
    }

    /// Whether anybody gets messages.
    pub fn logs(&self) -> bool {
        self.log.is_some()
    }

    /// Passes a message to the log callback, if there is one; from work on another thread than the caller's, by way of that thread.
    pub fn log(&self, level: LogLevel, message: impl FnOnce() -> String) {
        if let Some(log) = self.log.as_ref().filter(|_| level == LogLevel::Warning || !self.warnings_only) {
            match NOTES.with_borrow(Option::clone) {
                Some(notes) => notes.add(level, message()),
                None => log(level, &message()),
            }
        }
    }

    /// Tells the log of values that were not finite, or could not be corrected, and were replaced by 0; warns of many.
    pub fn tell_of_replaced(&self, replaced: u64, of: usize) {
        if replaced > 0 {
            let level = if replaced as f64 >= 0.01 * of as f64 { LogLevel::Warning } else { LogLevel::Info };
            self.log(level, || format!("{replaced} of {of} values were not usable and replaced by 0"));
        }
    }

    /// Runs `work` on the worker threads, while the calling thread reports progress. Callbacks come only from the calling
    /// thread, as MATLAB and most user interfaces need. `work` says how far it is.
    pub fn run<T: Send>(&self, work: impl FnOnce(&Job) -> Result<T> + Send) -> Result<T> {
        self.run_part(Part::WHOLE, work)
    }

    /// The same for a part of a call's work.
    pub fn run_part<T: Send>(&self, part: Part, work: impl FnOnce(&Job) -> Result<T> + Send) -> Result<T> {
        self.report_part(part, |job| self.on_workers(job, work))
    }

    /// Runs a part of a call's work on the worker threads, inside [`Context::report_while`] of the whole.
    pub fn on_workers<T: Send>(&self, job: &Job, work: impl FnOnce(&Job) -> Result<T> + Send) -> Result<T> {
        if self.progress.is_none() && !self.tells() {
            return self.install(|| job.elsewhere(|| work(job)));
        }
        self.beside(false, job, work)
    }

    /// The same for work that mostly waits for GPUs: on a thread of its own, so that the worker threads stay free for
    /// [`Context::install`].
    pub fn run_waiting<T: Send>(&self, work: impl FnOnce(&Job) -> Result<T> + Send) -> Result<T> {
        self.run_waiting_part(Part::WHOLE, work)
    }

    /// The same for a part of a call's work.
    pub fn run_waiting_part<T: Send>(&self, part: Part, work: impl FnOnce(&Job) -> Result<T> + Send) -> Result<T> {
        if self.progress.is_none() {
            let job = Job::default();
            let result = work(&job);
            self.pass_notes(&job);
            return result;
        }
        self.report_part(part, |job| self.beside(true, job, work))
    }

    /// One or the other: for work that mostly `waits` for a GPU, or for the worker threads.
    pub fn run_on<T: Send>(&self, waits: bool, part: Part, work: impl FnOnce(&Job) -> Result<T> + Send) -> Result<T> {
        if waits { self.run_waiting_part(part, work) } else { self.run_part(part, work) }
    }

    /// Like [`Context::run_on`], for work that asks for callbacks in between: the calling thread does what it is asked for, and reports.
    pub fn run_serving<T: Send, Q: Send>(
        &self,
        waits: bool,
        mut serve: impl FnMut(Q),
        work: impl FnOnce(&Job, &Desk<T, Q>) -> Result<T> + Send,
    ) -> Result<T> {
        self.report_while(|job| {
            let (to, from) = channel();
            let worker = move || {
                let desk = Desk(to);
                let result = job.elsewhere(|| work(job, &desk));
                let _ = desk.0.send(Message::Done(result));
            };
            let mut caller = || {
                loop {
                    match from.recv_timeout(REPORTS) {
                        Ok(Message::Done(result)) => return result,
                        Ok(Message::Asks(what)) => {
                            serve(what);
                            self.report_between(job);
                        }
                        Err(RecvTimeoutError::Timeout) => self.report(job),
                        // The scope passes the panic on as soon as this function returns.
                        Err(RecvTimeoutError::Disconnected) => fail!(Internal, "a worker stopped"),
                    }
                }
            };
            if waits {
                std::thread::scope(|scope| {
                    scope.spawn(worker);
                    caller()
                })
            } else {
                self.workers.pool().in_place_scope(|scope| {
                    scope.spawn(move |_| worker());
                    caller()
                })
            }
        })
    }

    /// Runs on the worker threads, from a thread that is none of them.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let (mut done, mut work) = (None, Some(work));
        self.workers.install(&mut || done = work.take().map(|work| work()));
        done.unwrap_or_else(|| unreachable!("the pool ran the work"))
    }

    /// Runs `work` on this thread, which may [`Context::report`] in between.
    pub fn report_while<T>(&self, work: impl FnOnce(&Job) -> Result<T>) -> Result<T> {
        self.report_part(Part::WHOLE, work)
    }

    /// The same for a part of a call's work.
    pub fn report_part<T>(&self, part: Part, work: impl FnOnce(&Job) -> Result<T>) -> Result<T> {
        let (mut done, mut work) = (None, Some(work));
        self.report_erased(part, &mut |job| {
            done = work.take().map(|work| work(job)).transpose()?;
            Ok(())
        })?;
        Ok(done.unwrap_or_else(|| unreachable!("the work has run")))
    }

    /// Compiled once, and not for each kind of work.
    fn report_erased(&self, part: Part, work: &mut dyn FnMut(&Job) -> Result<()>) -> Result<()> {
        let job = Job { part, ..Job::default() };
        self.report(&job);
        job.check()?;
        let result = work(&job);
        self.pass_notes(&job);
        result?;
        if let Some(progress) = self.progress.as_ref().filter(|_| part.last) {
            progress(1.0, Stage::Done);
        }
        Ok(())
    }

    fn pass_notes(&self, job: &Job) {
        for (level, note) in job.notes.take() {
            self.log(level, || note);
        }
        let said = std::mem::take(&mut *job.said.lock().unwrap_or_else(|e| e.into_inner()));
        for (_, message) in said {
            self.log(LogLevel::Progress, || message);
        }
    }

    /// Tells the progress callback how far `job` is, and takes its wish to cancel; on the calling thread only.
    pub fn report(&self, job: &Job) {
        self.pass_notes(job);
        if self.progress.as_ref().is_some_and(|progress| progress(job.fraction(), job.stage())) {
            job.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// The same from work that may be on the calling thread or on others, as often as it likes.
    pub fn report_between(&self, job: &Job) {
        if std::thread::current().id() == job.caller && job.is_due() {
            self.report(job);
        }
    }

    /// Runs `work` on the worker threads, or on a thread of its own if it `waits`, while this thread reports.
    fn beside<T: Send>(&self, waits: bool, job: &Job, work: impl FnOnce(&Job) -> Result<T> + Send) -> Result<T> {
        let (mut done, mut work) = (None, Some(work));
        self.beside_erased(waits, job, &mut || done = work.take().map(|work| work(job)));
        done.unwrap_or_else(|| fail!(Internal, "a worker stopped"))
    }

    /// Compiled once, and not for each kind of work: there are hundreds.
    fn beside_erased(&self, waits: bool, job: &Job, work: &mut (dyn FnMut() + Send)) {
        let (done, finished) = sync_channel(1);
        let worker = move || {
            job.elsewhere(work);
            let _ = done.send(());
        };
        // A panic ends the wait, too; the scope passes it on as soon as this thread has left it.
        let wait = || {
            while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(REPORTS) {
                self.report(job);
            }
        };
        if waits {
            std::thread::scope(|scope| {
                scope.spawn(worker);
                wait();
            });
        } else {
            self.workers.pool().in_place_scope(|scope| {
                scope.spawn(move |_| worker());
                wait();
            });
        }
    }
}

enum Message<T, Q> {
    Asks(Q),
    Done(Result<T>),
}

/// Where work asks the calling thread for something.
pub struct Desk<T, Q>(Sender<Message<T, Q>>);

impl<T, Q> Desk<T, Q> {
    /// The answer comes by what the question holds.
    pub fn ask(&self, what: Q) {
        // A caller that has left takes the answer's way with it.
        let _ = self.0.send(Message::Asks(what));
    }
}

/// Host memory from [`Context::host_memory`]: page-locked if the context computes on GPUs. Uninitialised, 64-byte aligned.
#[derive(Debug)]
pub struct HostMemory(Held);

#[derive(Debug)]
enum Held {
    Pinned(Pinned),
    Ordinary(Buffer),
}

impl HostMemory {
    /// Its first byte.
    pub fn data(&self) -> *mut u8 {
        match &self.0 {
            Held::Pinned(memory) => memory.data(),
            Held::Ordinary(buffer) => buffer.data().cast(),
        }
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Held::Pinned(memory) => memory.bytes(),
            Held::Ordinary(buffer) => buffer.len() * size_of::<f32>(),
        }
    }
}

/// Opens the GPUs that are asked for.
fn open(compute: Compute, log: &Option<Log>) -> Result<Vec<Arc<Device>>> {
    let chosen = match compute {
        Compute::Cpu => return Ok(Vec::new()),
        Compute::Gpus(list) => list,
        Compute::Auto => {
            // GPUs that no kernel runs on are left out, as long as there is another.
            let usable = gpu::device_count().and_then(|n| {
                let (served, refused): (Vec<_>, Vec<_>) = (0..n).map(open_served).partition(Result::is_ok);
                let first = refused.into_iter().find_map(Result::err);
                match first.filter(|_| served.is_empty()) {
                    Some(e) => Err(e),
                    None => served.into_iter().collect(),
                }
            });
            return Ok(usable.unwrap_or_else(|e: Error| {
                if let Some(log) = log {
                    log(LogLevel::Info, &format!("computing on the processor: {}", e.message));
                }
                Vec::new()
            }));
        }
    };
    let count = gpu::device_count()?;
    let all: Vec<usize> = if chosen.is_empty() { (0..count).collect() } else { chosen };
    all.into_iter().map(open_served).collect()
}

/// Opens a GPU that the library has kernels for.
fn open_served(index: usize) -> Result<Arc<Device>> {
    let Some(built_for) = gpu::built_for() else {
        fail!(NoKernelImage, "this library was built without GPU kernels (no nvcc was found then)");
    };
    let device = Device::open(index)?;
    let (major, minor) = device.capability();
    if major < gpu::MIN_CAPABILITY {
        let min = gpu::MIN_CAPABILITY;
        fail!(
            NoKernelImage,
            "{device:?} has compute capability {major}.{minor}; kernels ({built_for}) need {min}.0 or newer"
        );
    }
    Ok(device)
}

/// A thread pool whose threads have ended when it is dropped, so that a program may unload the library then; on Windows they end soon after.
struct Workers {
    /// Taken only by `drop`.
    pool: Option<rayon::ThreadPool>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    fn start(threads: usize) -> std::result::Result<Self, rayon::ThreadPoolBuildError> {
        #[cfg(windows)]
        stay_loaded();
        let mut started = Vec::new();
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .spawn_handler(|thread| {
                let name = format!("isocenter-{}", thread.index());
                started.push(std::thread::Builder::new().name(name).spawn(|| thread.run())?);
                Ok(())
            })
            .build()?;
        Ok(Self { pool: Some(pool), threads: started })
    }

    /// Compiled once, and not for each kind of work: there are hundreds.
    fn install(&self, work: &mut (dyn FnMut() + Send)) {
        self.pool().install(work);
    }

    fn pool(&self) -> &rayon::ThreadPool {
        self.pool.as_ref().unwrap_or_else(|| unreachable!("the pool is there until it is dropped"))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        drop(self.pool.take());
        // A thread that ends on Windows waits for the loader's lock. Whoever destroys a context while a DLL is unloaded, as a C++ object
        // in it with static storage does, holds this lock: to wait for the threads would never end. See `stay_loaded`.
        if !cfg!(windows) {
            for thread in self.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}

/// Keeps this library in memory as long as the process lives: FreeLibrary must not take away the code of threads that run, or that are
/// still ending. On Linux the linker says so (`-z nodelete` in build.rs); a DLL has no such flag.
#[cfg(windows)]
fn stay_loaded() {
    const PIN: u32 = 1;
    const FROM_ADDRESS: u32 = 4;
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const u16, module: *mut *mut std::ffi::c_void) -> i32;
    }
    let mut module = std::ptr::null_mut();
    // SAFETY: with FROM_ADDRESS any address within a module stands in the place of a name; it writes the handle, which nobody has to close.
    // It cannot fail for the address of this function, and may be called again.
    unsafe { GetModuleHandleExW(PIN | FROM_ADDRESS, stay_loaded as *const u16, &mut module) };
}

/// Between reports.
pub const REPORTS: Duration = Duration::from_millis(50);

const WHOLE: f64 = (1u64 << 50) as f64;

/// The part of a call's work that is under way: of several passes, one.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// What was done before.
    pub before: f64,
    /// What this part's own progress is multiplied by.
    pub share: f64,
    /// Nothing follows it.
    pub last: bool,
}

impl Part {
    pub const WHOLE: Self = Self { before: 0.0, share: 1.0, last: true };
}

/// Messages from other threads than the caller's, for the log, which gets them from there.
#[derive(Clone, Debug, Default)]
struct Notes(Arc<Mutex<Vec<(LogLevel, String)>>>);

impl Notes {
    fn add(&self, level: LogLevel, message: String) {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push((level, message));
    }

    fn take(&self) -> Vec<(LogLevel, String)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

thread_local! {
    /// Of the job that this thread works for, if it is not the caller's.
    static NOTES: RefCell<Option<Notes>> = const { RefCell::new(None) };
}

/// One call's work in progress: how far it is, and whether it should stop.
#[derive(Debug)]
pub struct Job {
    part: Part,
    /// In parts of [`WHOLE`].
    done: AtomicU64,
    stage: AtomicUsize,
    cancelled: AtomicBool,
    notes: Notes,
    /// How far each part of the work has come, for the log.
    said: Mutex<BTreeMap<usize, String>>,
    /// Callbacks come from this thread alone.
    caller: ThreadId,
    began: Instant,
    /// When it was reported last, in milliseconds.
    reported: AtomicU64,
}

/// What this thread worked for before.
struct Elsewhere(Option<Notes>);

impl Drop for Elsewhere {
    fn drop(&mut self) {
        NOTES.set(self.0.take());
    }
}

impl Default for Job {
    fn default() -> Self {
        Self {
            part: Part::WHOLE,
            done: AtomicU64::new(0),
            stage: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            notes: Notes::default(),
            said: Mutex::default(),
            caller: std::thread::current().id(),
            began: Instant::now(),
            reported: AtomicU64::new(0),
        }
    }
}

impl Job {
    /// This much more of the whole, which is 1, is done.
    pub fn advance(&self, part: f64) {
        self.done.fetch_add((part * WHOLE) as u64, Ordering::Relaxed);
    }

    /// A warning for the log, which gets it from the calling thread.
    pub fn note(&self, message: String) {
        self.notes.add(LogLevel::Warning, message);
    }

    /// How far a part of the work is, by its number, for the log; which gets what was said last.
    pub fn say(&self, part: usize, message: String) {
        self.said.lock().unwrap_or_else(|e| e.into_inner()).insert(part, message);
    }

    /// Works for it on another thread than the caller's.
    pub fn elsewhere<T>(&self, work: impl FnOnce() -> T) -> T {
        if std::thread::current().id() == self.caller {
            return work();
        }
        let _until = Elsewhere(NOTES.replace(Some(self.notes.clone())));
        work()
    }

    /// Whether it is time for a report, which the asker then makes.
    fn is_due(&self) -> bool {
        let [now, between] = [self.began.elapsed(), REPORTS].map(|t| t.as_millis() as u64);
        let due = now >= self.reported.load(Ordering::Relaxed) + between;
        if due {
            self.reported.store(now, Ordering::Relaxed);
        }
        due
    }

    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as usize, Ordering::Relaxed);
    }

    /// An error once the caller has asked to cancel.
    pub fn check(&self) -> Result<()> {
        if self.cancelled.load(Ordering::Relaxed) {
            fail!(Cancelled, "the progress callback returned non-zero at {:.1} %", 100.0 * self.fraction());
        }
        Ok(())
    }

    fn fraction(&self) -> f64 {
        let Part { before, share, .. } = self.part;
        (before + share * (self.done.load(Ordering::Relaxed) as f64 / WHOLE)).min(1.0)
    }

    fn stage(&self) -> Stage {
        Stage::ALL[self.stage.load(Ordering::Relaxed)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever thread says it, and however the work is run.
    #[test]
    fn the_log_is_called_from_the_calling_thread() {
        for told in [false, true] {
            let said = Arc::new(Mutex::new(Vec::new()));
            let caller = std::thread::current().id();
            let log = said.clone();
            let context = Context::new(ContextOptions {
                compute: Compute::Cpu,
                threads: 2,
                progress: told.then(|| Box::new(|_, _| false) as Progress),
                log: Some(Box::new(move |level, text| {
                    assert_eq!(std::thread::current().id(), caller);
                    log.lock().expect("no panic").push((level, text.to_owned()));
                })),
                ..ContextOptions::default()
            })
            .expect("a context");
            let speak = |job: &Job, name: &'static str| {
                context.log(LogLevel::Info, || name.to_owned());
                std::thread::scope(|scope| {
                    scope.spawn(|| job.elsewhere(|| context.log(LogLevel::Warning, || format!("beside {name}"))));
                });
                Ok(())
            };
            context.run(|job| speak(job, "workers")).expect("success");
            context.run_waiting(|job| speak(job, "waiting")).expect("success");
            context.run_serving(true, |(): ()| (), |job, _| speak(job, "serving")).expect("success");
            context.run_serving(false, |(): ()| (), |job, _| speak(job, "workers that ask")).expect("success");
            context.log(LogLevel::Info, || "after".to_owned());
            let mut said: Vec<_> = said.lock().expect("no panic").iter().map(|(_, text)| text.clone()).collect();
            said.sort();
            let names = ["serving", "waiting", "workers", "workers that ask"];
            let mut expected: Vec<_> = names.iter().flat_map(|n| [(*n).to_owned(), format!("beside {n}")]).collect();
            expected.push("after".to_owned());
            expected.sort();
            assert_eq!(said, expected, "{told}");
        }
    }
}
