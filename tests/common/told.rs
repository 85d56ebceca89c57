//! What the log is told while iterations go on.

use isocenter::context::{Context, ContextOptions, LogLevel};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

/// Messages, and the threads that they came on.
pub type Told = Arc<Mutex<Vec<(ThreadId, String)>>>;

/// A context whose log keeps what it is told of iterations; with `cancels` the first of it ends the call.
pub fn context(options: ContextOptions, cancels: bool) -> (isocenter::error::Result<Context>, Told) {
    let told = Told::default();
    let [heard, seen] = [told.clone(), told.clone()];
    let log = move |level, text: &str| {
        if level == LogLevel::Progress {
            heard.lock().expect("what was told").push((std::thread::current().id(), text.to_owned()));
        }
    };
    let progress = move |_, _| !seen.lock().expect("what was told").is_empty();
    let options = ContextOptions { log: Some(Box::new(log)), ..options };
    let options = if cancels { ContextOptions { progress: Some(Box::new(progress)), ..options } } else { options };
    (Context::new(options), told)
}
