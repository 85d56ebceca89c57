//! Progress on a terminal or in a log, and Ctrl-C.

use crate::{status, talk};
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use isocenter::context::{Progress, Stage};
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Steps of the bar.
const STEPS: u64 = 10_000;
const MILLION: u64 = 1_000_000;
/// Between lines of a log.
const EVERY: Duration = Duration::from_secs(10);
/// Between lines for programs.
const SECOND: Duration = Duration::from_secs(1);

/// Looks after a run.
pub struct Watch {
    stop: AtomicBool,
    /// Share of the run before the call that goes on, and of that call, in millionths.
    part: [AtomicU64; 2],
    shown: Mutex<Option<Shown>>,
}

struct Shown {
    /// On a terminal.
    bar: Option<ProgressBar>,
    begun: Instant,
    /// When a line was said.
    said: Option<Instant>,
    /// Between lines.
    every: Duration,
}

impl Watch {
    /// From now on Ctrl-C ends the run after the slab that it is at; a second one ends it at once.
    pub fn new() -> Result<Arc<Self>> {
        let watch = Arc::new(Self {
            stop: AtomicBool::new(false),
            part: [AtomicU64::new(0), AtomicU64::new(MILLION)],
            shown: Mutex::new(None),
        });
        let handler = watch.clone();
        let interrupted = move || {
            if handler.stop.swap(true, Ordering::Relaxed) {
                std::process::exit(status::End::Interrupted as i32);
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
        let bar = (std::io::stderr().is_terminal() && !talk::is_json()).then(|| {
            let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::stderr_with_hz(5));
            let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {msg}, {eta} left");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        let begun = Instant::now();
        // Programs are told at once, and more often.
        let (said, every) = if talk::is_json() { (None, SECOND) } else { (Some(begun), EVERY) };
        *self.shown() = Some(Shown { bar, begun, said, every });
    }

    /// Calls that follow take this share of the run, after what was before.
    pub fn part(&self, before: f64, share: f64) {
        for (to, value) in self.part.iter().zip([before, share]) {
            to.store((value * MILLION as f64) as u64, Ordering::Relaxed);
        }
    }

    /// Whether Ctrl-C was pressed.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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
        let [before, share] = [0, 1].map(|k| self.part[k].load(Ordering::Relaxed) as f64 / MILLION as f64);
        let fraction = before + share * fraction;
        if let Some(shown) = self.shown().as_mut() {
            let name = stage.name().to_string_lossy();
            match &shown.bar {
                Some(bar) => {
                    bar.set_message(name.into_owned());
                    bar.set_position((fraction * STEPS as f64) as u64);
                }
                None if shown.said.is_none_or(|said| said.elapsed() >= shown.every) => {
                    shown.said = Some(Instant::now());
                    let left = shown.begun.elapsed().as_secs_f64() * (1.0 / fraction - 1.0);
                    talk::progress(fraction, &name, (fraction > 0.0).then_some(left));
                }
                None => {}
            }
        }
        self.stopped()
    }
}
