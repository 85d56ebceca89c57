//! The GPU against the processor, and the processor's tests stand behind that. Skipped, and said so, where there is no driver.

#[path = "../common/mod.rs"]
mod common;

mod bad_views;
mod band_limited;
mod ct;
mod distortion;
mod frames;
mod half_acquisition;
mod iterative;
mod memory;
mod mri;
mod output;
mod pet;
mod phase;
mod strides;
mod stripes;
mod threads;

use isocenter::context::{Compute, Context, ContextOptions, NanPolicy};
use std::io::Write;
use std::sync::{Arc, Once};

/// A context on the first GPU; None (and a line of output) where there is none.
fn gpu() -> Option<Arc<Context>> {
    gpu_with(ContextOptions::default())
}

fn gpu_with(options: ContextOptions) -> Option<Arc<Context>> {
    match Context::new(ContextOptions { compute: Compute::Gpus(vec![0]), ..options }) {
        Ok(context) => Some(Arc::new(context)),
        Err(e) if std::env::var_os("ISOC_GPU_REQUIRED").is_some() => panic!("{e}"),
        Err(e) => {
            // Past the test harness, which keeps what passing tests print; once for all of them.
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                let _ = writeln!(std::io::stderr(), "skipped, all tests on a GPU: {}", e.message);
            });
            None
        }
    }
}

/// All GPUs; the one that there is three times where there are no more.
fn several() -> Vec<usize> {
    match isocenter::gpu::device_count().expect("GPUs") {
        1 => vec![0; 3],
        n => (0..n).collect(),
    }
}

fn cpu() -> Arc<Context> {
    let options = ContextOptions { compute: Compute::Cpu, nan_policy: NanPolicy::Error, ..ContextOptions::default() };
    Arc::new(Context::new(options).expect("a CPU context"))
}
