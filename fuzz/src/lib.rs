//! What libFuzzer runs: callers of the C API, and the readers of the program, made from bytes.

pub mod callers;
#[path = "../../program/tests/stacks/files.rs"]
mod files;
pub mod readers;

/// Has readers work on the thread that calls them: small files are read before another one would wake up.
pub fn alone() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("a pool of threads");
}
