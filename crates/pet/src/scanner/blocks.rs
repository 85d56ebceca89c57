//! Scanners whose flat blocks of crystals make rings.

use crate::scanner::MAX_CRYSTALS;
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// Rings of flat blocks about the z axis, the same distance from it; the middle of all is 0, 0, 0. Lengths in mm.
///
/// Crystal `r * (blocks * across) + b * across + a` is the a-th across block b of the ring of crystals r; a rises with the azimuth, r with z.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// Blocks of a ring.
    pub blocks: usize,
    /// Rings of blocks.
    pub block_rings: usize,
    /// Crystals of a block across, about the axis.
    pub across: usize,
    /// Crystals of a block along the axis.
    pub along: usize,
    /// Between faces of opposite blocks.
    pub diameter: f64,
    /// From crystal to crystal, across.
    pub pitch_across: f64,
    /// The same along the axis.
    pub pitch_along: f64,
    /// From block to block along the axis; 0: no gap.
    pub block_pitch: f64,
    /// Azimuth of the middle of block 0, rad.
    pub first_azimuth: f64,
}

impl Blocks {
    /// How many crystals, if it is a scanner.
    pub fn count(&self) -> Result<usize> {
        let sizes = [
            ("blocks", self.blocks),
            ("block_rings", self.block_rings),
            ("across", self.across),
            ("along", self.along),
        ];
        for (name, n) in sizes {
            if !(1..=MAX_CRYSTALS).contains(&n) {
                fail!(OutOfRange, "blocks.{name} is {n}; it must be 1 to {MAX_CRYSTALS}");
            }
        }
        let count = sizes.iter().try_fold(1usize, |a, (_, n)| a.checked_mul(*n)).filter(|n| *n <= MAX_CRYSTALS);
        let Some(count) = count else {
            let [a, b, c, d] = sizes.map(|(_, n)| n);
            fail!(OutOfRange, "{a} x {b} blocks of {c} x {d} crystals are more than {MAX_CRYSTALS} crystals");
        };
        let lengths =
            [("diameter", self.diameter), ("pitch_across", self.pitch_across), ("pitch_along", self.pitch_along)];
        for (name, v) in lengths.into_iter().chain([("block_pitch", self.block_pitch)]) {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "blocks.{name} is {v}; it must be finite, in mm");
            }
            if v < 0.0 || (v == 0.0 && name != "block_pitch") {
                fail!(OutOfRange, "blocks.{name} is {v} mm; it must be above 0");
            }
        }
        if !self.first_azimuth.is_finite() {
            fail!(NotFiniteParameter, "blocks.first_azimuth is {}; it must be finite, in rad", self.first_azimuth);
        }
        let height = self.along as f64 * self.pitch_along;
        // Rounding of decimal fractions is no overlap.
        if self.block_pitch > 0.0 && self.block_pitch < height * (1.0 - 1e-9) {
            fail!(
                OutOfRange,
                "blocks.block_pitch is {} mm; a block is {height} mm long, so that it must be at least that, or 0",
                self.block_pitch
            );
        }
        let (width, room) = (self.across as f64 * self.pitch_across, self.side());
        if width > room * (1.0 + 1e-9) {
            fail!(
                OutOfRange,
                "blocks.pitch_across is {} mm: {} crystals are {width} mm wide; {} blocks about {} mm have room for {room} mm each",
                self.pitch_across,
                self.across,
                self.blocks,
                self.diameter
            );
        }
        Ok(count)
    }

    /// Of the polygon that the blocks of a ring have room in.
    fn side(&self) -> f64 {
        match self.blocks {
            1 | 2 => f64::INFINITY,
            n => self.diameter * (TAU / 2.0 / n as f64).tan(),
        }
    }

    /// Centre of a crystal's face, and the direction that it looks in.
    pub fn crystal(&self, k: usize) -> [[f64; 3]; 2] {
        let Self { blocks, across, along, block_rings, .. } = *self;
        let (ring, place) = (k / (blocks * across), k % (blocks * across));
        let from_middle = |i: usize, n: usize| i as f64 - (n - 1) as f64 / 2.0;
        let pitch = if self.block_pitch > 0.0 { self.block_pitch } else { along as f64 * self.pitch_along };
        let z = from_middle(ring / along, block_rings) * pitch + from_middle(ring % along, along) * self.pitch_along;
        let (sin, cos) = (self.first_azimuth + (place / across) as f64 * TAU / blocks as f64).sin_cos();
        let (radius, off) = (self.diameter / 2.0, from_middle(place % across, across) * self.pitch_across);
        [[radius * cos - off * sin, radius * sin + off * cos, z], [-cos, -sin, 0.0]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks() -> Blocks {
        Blocks {
            blocks: 4,
            block_rings: 2,
            across: 3,
            along: 2,
            diameter: 100.0,
            pitch_across: 4.0,
            pitch_along: 5.0,
            block_pitch: 12.0,
            first_azimuth: 0.0,
        }
    }

    #[test]
    fn crystals_lie_as_they_are_counted() {
        let blocks = blocks();
        assert_eq!(blocks.count().expect("a scanner"), 48);
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        // Ring 0: the lower half of the lower blocks.
        let [place, normal] = blocks.crystal(0);
        assert!(near(place, [50.0, -4.0, -8.5]) && near(normal, [-1.0, 0.0, 0.0]));
        assert!(near(blocks.crystal(12)[0], [50.0, -4.0, -3.5]), "the next ring");
        let [place, normal] = blocks.crystal(2 * 12 + 3 + 2);
        assert!(near(place, [-4.0, 50.0, 3.5]) && near(normal, [0.0, -1.0, 0.0]), "block 1 of the upper ring");
        let middle = (0..48).fold([0.0; 3], |sum, k| {
            let [place, _] = blocks.crystal(k);
            std::array::from_fn(|d| sum[d] + place[d])
        });
        assert!(middle.iter().all(|v| v.abs() < 1e-9), "{middle:?}");
    }

    #[test]
    fn blocks_need_room() {
        let message = |change: &dyn Fn(&mut Blocks)| {
            let mut b = blocks();
            change(&mut b);
            b.count().expect_err("refused").message
        };
        assert_eq!(message(&|b| b.across = 0), "blocks.across is 0; it must be 1 to 16777216");
        assert_eq!(message(&|b| b.diameter = -1.0), "blocks.diameter is -1 mm; it must be above 0");
        assert_eq!(
            message(&|b| b.block_pitch = 9.0),
            "blocks.block_pitch is 9 mm; a block is 10 mm long, so that it must be at least that, or 0"
        );
        let wide = message(&|b| b.pitch_across = 40.0);
        assert!(
            wide.starts_with("blocks.pitch_across is 40 mm: 3 crystals are 120 mm wide; 4 blocks about 100 mm"),
            "{wide}"
        );
        assert!(message(&|b| b.blocks = 1 << 23).contains("are more than 16777216 crystals"));
        assert!(message(&|b| b.first_azimuth = f64::NAN).contains("first_azimuth"));
    }
}
