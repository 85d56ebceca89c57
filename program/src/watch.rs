//! Progress on a terminal or in a log, and Ctrl-C.

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use isocenter::context::{Progress, Stage};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The status of programs that Ctrl-C has ended.
pub const INTERRUPTED: u8 = 130;
/// Steps of the bar.
const STEPS: u64 = 10_000;
/// Between lines of a log.
const EVERY: Duration = Duration::from_secs(10);

/// Looks after a run.
pub struct Watch {
    stop: AtomicBool,
    shown: Mutex<Option<Shown>>,
}

struct Shown {
    /// On a terminal.
    bar: Option<ProgressBar>,
    begun: Instant,
    said: Instant,
}

impl Watch {
    /// From now on Ctrl-C ends the run after the slab that it is at; a second one ends it at once.
    pub fn new() -> Result<Arc<Self>> {
        let watch = Arc::new(Self { stop: AtomicBool::new(false), shown: Mutex::new(None) });
        let handler = watch.clone();
        let interrupted = move || {
            if handler.stop.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
            eprintln!("interrupted: ending after this step; Ctrl-C again ends at once");
        };
        ctrlc::set_handler(interrupted).context("Ctrl-C")?;
        Ok(watch)
    }

    /// For the library.
    pub fn progress(self: &Arc<Self>) -> Progress {
        let watch = self.clone();
        Box::new(move |fraction, stage| watch.report(fraction, stage))
    }

    /// Begins to show progress.
    pub fn begin(&self) {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(5));
            let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}, {eta} left");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        *self.shown() = Some(Shown { bar, begun: Instant::now(), said: Instant::now() });
    }

    /// Ends it.
    pub fn end(&self) {
        if let Some(Shown { bar: Some(bar), .. }) = self.shown().take() {
            bar.finish_and_clear();
        }
    }

    fn shown(&self) -> std::sync::MutexGuard<'_, Option<Shown>> {
        self.shown.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn report(&self, fraction: f64, stage: Stage) -> bool {
        if let Some(shown) = self.shown().as_mut() {
            let name = stage.name().to_string_lossy();
            match &shown.bar {
                Some(bar) => {
                    bar.set_message(name.into_owned());
                    bar.set_position((fraction * STEPS as f64) as u64);
                }
                None if shown.said.elapsed() >= EVERY && fraction > 0.0 => {
                    shown.said = Instant::now();
                    let left = shown.begun.elapsed().as_secs_f64() * (1.0 / fraction - 1.0);
                    eprintln!("{:3.0} %  {name}, {left:.0} s left", 100.0 * fraction);
                }
                None => {}
            }
        }
        self.stop.load(Ordering::Relaxed)
    }
}
