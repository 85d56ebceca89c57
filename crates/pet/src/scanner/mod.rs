//! A scanner's crystals and time bins, and lists of events that name them.

mod blocks;
mod crystals;
mod detect;
mod doubts;
mod events;
mod fans;
mod surface;
mod time_bins;

pub use blocks::Blocks;
pub use crystals::{Crystals, MAX_CRYSTALS};
pub(super) use detect::detect;
pub use detect::{DetectedMut, LOST, Lost};
pub(super) use doubts::doubt;
pub use events::CrystalArrays;
pub(super) use events::{CrystalEvents, check};
pub use fans::DelayArrays;
pub(super) use fans::Fan;
pub(super) use surface::{Plane, Surface};
pub use time_bins::{MAX_TIME_BINS, TimeBins};

/// What a scanner's events are told by.
#[derive(Clone, Debug, PartialEq)]
pub struct Scanner {
    /// Where photons are detected.
    pub crystals: Crystals,
    /// Of the time difference; None: events tell it in ps.
    pub time_bins: Option<TimeBins>,
}
