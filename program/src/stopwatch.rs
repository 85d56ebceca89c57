//! How long the stages of a run take.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// Runs from its making on.
pub struct Stopwatch {
    begun: Instant,
    last: Instant,
    stages: Vec<(&'static str, Duration)>,
}

impl Default for Stopwatch {
    fn default() -> Self {
        let begun = Instant::now();
        Self { begun, last: begun, stages: Vec::new() }
    }
}

impl Stopwatch {
    /// What went on since the last stage has ended.
    pub fn stage(&mut self, name: &'static str) {
        let now = Instant::now();
        self.stages.push((name, now - self.last));
        self.last = now;
    }

    /// All that have ended.
    pub fn stages(&self) -> &[(&'static str, Duration)] {
        &self.stages
    }

    /// The same in seconds, by their names.
    pub fn seconds(&self) -> BTreeMap<&'static str, f64> {
        let mut seconds = BTreeMap::new();
        self.stages.iter().for_each(|(name, taken)| *seconds.entry(*name).or_default() += taken.as_secs_f64());
        seconds
    }

    /// Since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// The stages that took a hundredth of a second or more.
impl fmt::Display for Stopwatch {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let shown = self.stages.iter().filter(|(_, taken)| taken.as_secs_f64() >= 0.01);
        for (k, (name, taken)) in shown.enumerate() {
            write!(f, "{}{name} {:.2} s", if k > 0 { ", " } else { "" }, taken.as_secs_f64())?;
        }
        Ok(())
    }
}
