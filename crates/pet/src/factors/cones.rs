//! The directions of a view that lines are taken in.

use crate::lattice::Lattice;
use crate::views::Strip;
use isocenter_base::cpu::buffer::{collected, reserved};
use isocenter_base::error::Result;

/// Sides of cones, in radians, whose lines meet the attenuation of the cone's middle: at 150 mm from the axis its lines are 3 mm from the
/// middle one at most, and as many on either side.
const CONE: f64 = 0.04;

/// Directions of much the same attenuation.
#[derive(Clone, Debug)]
pub(crate) struct Cone {
    pub(crate) middle: Direction,
    pub(crate) directions: Vec<Direction>,
}

/// A part of a view's directions, for which its middle stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direction {
    pub(crate) azimuth: f64,
    /// Of the azimuths.
    pub(crate) width: f64,
    /// Of the middle tilt.
    pub(crate) sine: f64,
    /// Of the tilts' sines.
    pub(crate) height: f64,
}

impl Direction {
    pub(crate) fn tangent(&self) -> f64 {
        self.sine / self.cosine()
    }

    pub(crate) fn cosine(&self) -> f64 {
        (1.0 - self.sine * self.sine).sqrt()
    }

    pub(crate) fn solid_angle(&self) -> f64 {
        self.width * self.height
    }

    /// So many by so many, of equal solid angles.
    fn split(self, [across, up]: [usize; 2]) -> impl Iterator<Item = Self> {
        let Self { azimuth, width, sine, height } = self;
        let middle = move |k: usize, n: usize| (k as f64 + 0.5) / n as f64 - 0.5;
        (0..across * up).map(move |k| Self {
            azimuth: azimuth + width * middle(k % across, across),
            width: width / across as f64,
            sine: sine + height * middle(k / across, up),
            height: height / up as f64,
        })
    }
}

/// Of a view's cones, of about `directions` directions in all: the middle, and how many directions there are across and up.
fn parts(cell: &[Strip], directions: usize) -> impl Iterator<Item = (Direction, [usize; 2])> {
    let strips = || cell.iter().map(whole).filter(|strip| strip.solid_angle() > 0.0);
    let side = (strips().map(|strip| strip.solid_angle()).sum::<f64>() / directions as f64).sqrt();
    // Angles on the sphere of a direction's sides.
    let sides = |d: &Direction| [d.width * d.cosine(), d.height / d.cosine()];
    let cone = move |middle: Direction| (middle, sides(&middle).map(|s| ((s / side).round() as usize).max(1)));
    strips().flat_map(move |strip| strip.split(sides(&strip).map(|s| (s / CONE).ceil() as usize)).map(cone))
}

/// A view's cones, of about `directions` directions in all.
pub(crate) fn cones(cell: &[Strip], directions: usize) -> Result<Vec<Cone>> {
    let mut all = reserved(parts(cell, directions).count())?;
    for (middle, parts) in parts(cell, directions) {
        all.push(Cone { middle, directions: collected(middle.split(parts))? });
    }
    Ok(all)
}

/// How many [`cones`] gives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Count {
    pub(super) cones: usize,
    pub(super) directions: usize,
    /// Directions of a cone.
    pub(super) most: usize,
    /// Largest slope against the plane across the axis.
    pub(super) steepest: f64,
}

impl Count {
    pub(super) fn of(cell: &[Strip], directions: usize) -> Self {
        parts(cell, directions).fold(Self::default(), |count, (middle, [across, up])| {
            let end = 0.5 * middle.height * (1.0 - 1.0 / up as f64);
            let slopes = [-end, end].map(|end| Direction { sine: middle.sine + end, ..middle }.tangent().abs());
            Self {
                cones: count.cones + 1,
                directions: count.directions + across * up,
                most: count.most.max(across * up),
                steepest: slopes.into_iter().fold(count.steepest, f64::max),
            }
        })
    }
}

fn whole(strip: &Strip) -> Direction {
    let [low, high] = strip.tilts.map(f64::sin);
    Direction { azimuth: strip.azimuth, width: strip.width, sine: 0.5 * (low + high), height: high - low }
}

/// Lines of a cell along either axis. A voxel has the mean over three by three, as far as they are in it.
pub(crate) const FINE: usize = 2;

/// Cells of the lines of one direction: `s` from the axis, along (-sin azimuth, cos azimuth), and `z` where they are nearest to it. They are as large as
/// voxels, so that voxels one above the other are equally far from cells, and each has [`FINE`] by as many lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lines {
    pub(crate) pitch: [f64; 2],
    /// Along `s`, and along `z`.
    pub(crate) count: [usize; 2],
    /// Planes of voxels from the lattice's first to the first cell, which is below it.
    pub(crate) below: usize,
    /// Place of the lattice's first plane.
    pub(crate) lowest: f64,
    /// Farthest voxel's distance from the axis.
    pub(crate) reach: f64,
}

impl Lines {
    /// Those of a view whose directions have slopes up to this: all of them have the same.
    pub(super) fn new(lattice: &Lattice, steepest: f64) -> Option<Self> {
        let [vx, vy, vz] = lattice.voxel();
        let reach = lattice.position(0, 0).hypot(lattice.position(1, 0));
        let pitch = [vx.min(vy), vz];
        let across = (reach / pitch[0]).ceil() + 1.0;
        let below = (reach * steepest / vz).ceil() + 1.0;
        // More are more than memory holds.
        if across.max(below) > 1e9 {
            return None;
        }
        let count = [2 * across as usize + 1, lattice.along()[2] + 2 * below as usize];
        count[0].checked_mul(count[1])?.checked_mul(FINE * FINE * size_of::<f32>())?;
        Some(Self { pitch, count, below: below as usize, lowest: lattice.position(2, 0), reach })
    }

    /// Cells of one direction.
    pub(crate) fn len(&self) -> usize {
        self.count[0] * self.count[1]
    }

    /// Middle of cell `i` along `s`.
    pub(crate) fn off_axis(&self, i: f64) -> f64 {
        (i - (self.count[0] / 2) as f64) * self.pitch[0]
    }

    /// Middle of cell `j` along `z`.
    pub(crate) fn height(&self, j: f64) -> f64 {
        self.lowest + (j - self.below as f64) * self.pitch[1]
    }

    /// The place of line `k` of an axis, in cells, moved by a part of its own width.
    pub(crate) fn fine(k: usize, part: f64) -> f64 {
        (k as f64 + 0.5 + part) / FINE as f64 - 0.5
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::Views;

    /// Directions of a view cover it once, are about as many as wanted, and their lines reach all voxels.
    #[test]
    fn cones_cover_their_view() {
        let views = Views::grid(20, 3, 0.2).expect("views");
        let lattice = Lattice::new([7, 10, 12], [4.0, 5.0, 3.0]).expect("lattice");
        for (v, cell) in views.cells().iter().enumerate() {
            for wanted in [1, 16, 64, 300] {
                let (cones, count) = (cones(cell, wanted).expect("cones"), Count::of(cell, wanted));
                let all: Vec<&Direction> = cones.iter().flat_map(|c| &c.directions).collect();
                let most = cones.iter().map(|c| c.directions.len()).max();
                assert_eq!((count.cones, count.directions, Some(count.most)), (cones.len(), all.len(), most));
                let steepest = all.iter().map(|d| d.tangent().abs()).fold(0.0, f64::max);
                // Rounding of sines.
                assert!((count.steepest - steepest).abs() < 1e-12, "{count:?} {steepest}");
                assert!(
                    all.len() >= wanted / 2 && all.len() <= 2 * wanted.max(cones.len()),
                    "{} of {wanted}",
                    all.len()
                );
                let solid: f64 = all.iter().map(|d| d.solid_angle()).sum();
                let expected: f64 = cell.iter().map(|s| s.width * (s.tilts[1].sin() - s.tilts[0].sin())).sum();
                assert!((solid / expected - 1.0).abs() < 1e-12);
                let lines = Lines::new(&lattice, count.steepest).expect("lines");
                for d in &all {
                    let (sin, cos) = d.azimuth.sin_cos();
                    assert_eq!(views.nearest([cos * d.cosine(), sin * d.cosine(), d.sine]), Some(v));
                    for corner in 0..8usize {
                        let at = |axis: usize| if corner >> axis & 1 == 0 { 0 } else { lattice.along()[axis] - 1 };
                        let [x, y, z] = lattice.centre([at(0), at(1), at(2)]);
                        let i = (y * cos - x * sin) / lines.pitch[0] + (lines.count[0] / 2) as f64;
                        let j = (z - (x * cos + y * sin) * d.tangent() - lines.height(0.0)) / lines.pitch[1];
                        assert!(
                            i >= 0.0 && i + 1.0 < lines.count[0] as f64 && j >= 0.0 && j + 1.0 < lines.count[1] as f64
                        );
                    }
                }
            }
        }
    }
}
