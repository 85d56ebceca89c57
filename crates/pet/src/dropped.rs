//! Events that count nowhere.

/// Events that are in no histo-image, by the first cause that applies, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// A crystal, a time bin or a label is none that there is.
    pub unknown: u64,
    /// The pair of crystals is not measured.
    pub not_measured: u64,
    /// A position or the time difference is NaN or Inf.
    pub not_finite: u64,
    /// Both positions are the same, so that there is no direction.
    pub equal_positions: u64,
    /// The direction's tilt is beyond the views'.
    pub outside_tilts: u64,
    /// The place is outside the lattice.
    pub outside_lattice: u64,
    /// The voxel has as many counts as its type can add one to: 2^32 - 1 in 32 bits, 2^24 in f32.
    pub overflow: u64,
}

/// How many causes there are.
pub(super) const CAUSES: usize = 7;

impl Dropped {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.unknown
            + self.not_measured
            + self.not_finite
            + self.equal_positions
            + self.outside_tilts
            + self.outside_lattice
            + self.overflow
    }

    /// The sum, cause by cause.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            unknown: self.unknown + other.unknown,
            not_measured: self.not_measured + other.not_measured,
            not_finite: self.not_finite + other.not_finite,
            equal_positions: self.equal_positions + other.equal_positions,
            outside_tilts: self.outside_tilts + other.outside_tilts,
            outside_lattice: self.outside_lattice + other.outside_lattice,
            overflow: self.overflow + other.overflow,
        }
    }
}
