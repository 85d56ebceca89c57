//! A scanner's crystals and time bins, and lists of events that name them.

mod blocks;
mod cells;
mod crystals;
mod detect;
mod doubts;
mod events;
mod face;
mod fans;
mod layers;
mod pairs;
mod plane;
mod surface;
mod time_bins;

pub use blocks::Blocks;
pub use crystals::{Crystals, MAX_CRYSTALS, Sizes};
pub(super) use detect::detect;
pub use detect::{DetectedMut, LOST, Lost};
pub(super) use doubts::doubt;
pub use events::CrystalArrays;
pub(super) use events::{CrystalEvents, check};
pub use fans::DelayArrays;
pub(super) use fans::{Column, Fan, columns};
pub(super) use pairs::Member;
pub use pairs::{MAX_GROUPS, MAX_MODULES, Pairs};
pub(super) use plane::Plane;
pub(super) use surface::{Nears, Surface};
pub use time_bins::{MAX_TIME_BINS, TimeBins};

/// What a scanner's events are told by.
#[derive(Clone, Debug, PartialEq)]
pub struct Scanner {
    /// Where photons are detected.
    pub crystals: Crystals,
    /// Of the time difference; None: events tell it in ps.
    pub time_bins: Option<TimeBins>,
    /// Which pairs of crystals are measured; None: all.
    pub pairs: Option<Pairs>,
}

impl Scanner {
    /// What a pair of crystals is measured with besides their own efficiencies.
    #[inline(always)]
    pub(super) fn pair(&self, a: usize, b: usize) -> f32 {
        self.pairs.as_ref().map_or(1.0, |pairs| pairs.efficiency(a, b))
    }
}

impl From<Crystals> for Scanner {
    /// Without time bins; all pairs are measured.
    fn from(crystals: Crystals) -> Self {
        Self { crystals, time_bins: None, pairs: None }
    }
}
