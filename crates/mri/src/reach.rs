//! Units of trajectories, and what values of them may be.

use isocenter_base::error::{Result, fail};
use std::f64::consts::PI;

/// Unit of a trajectory. There is no default: peers differ, and a wrong guess folds or shrinks the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Cycles per voxel: within +-0.5.
    CyclesPerVoxel,
    /// Cycles per field of view: within +-N/2 along an axis of N voxels.
    CyclesPerFieldOfView,
    /// Radians per voxel: within +-pi.
    RadiansPerVoxel,
}

impl Unit {
    const ALL: [Unit; 3] = [Unit::CyclesPerVoxel, Unit::CyclesPerFieldOfView, Unit::RadiansPerVoxel];

    fn name(self) -> &'static str {
        match self {
            Unit::CyclesPerVoxel => "cycles per voxel",
            Unit::CyclesPerFieldOfView => "cycles per field of view",
            Unit::RadiansPerVoxel => "radians per voxel",
        }
    }

    /// Largest value along an axis of n voxels.
    pub(super) fn bound(self, n: usize) -> f64 {
        match self {
            Unit::CyclesPerVoxel => 0.5,
            Unit::CyclesPerFieldOfView => n as f64 / 2.0,
            Unit::RadiansPerVoxel => PI,
        }
    }
}

/// Values in single precision may be this much over the bound: +-pi rounded to 24 bits is.
const SLACK: f64 = 1.0 + 1e-6;
/// A trajectory that reaches no farther than this part of the bound has its unit, and samples beyond: of a gradient's raster, or measured.
const BEYOND: f64 = 1.1;
/// A trajectory that stays within this part of the bound may have another unit: cycles taken for radians stay within 0.16.
const SUSPICIOUS: f64 = 0.25;

/// What values of a trajectory may be, and what they become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    unit: Unit,
    /// Voxels along x, y, z.
    sizes: [usize; 3],
    pub(super) dims: usize,
    /// The image is one voxel deep.
    pub(super) plane: bool,
}

impl Reach {
    /// Of two or three axes, for an image on a grid `[nz, ny, nx]`.
    pub(super) fn new(unit: Unit, grid: [usize; 3], dims: usize) -> Result<Self> {
        if !(2..=3).contains(&dims) || (dims == 2 && grid[0] > 1) {
            fail!(OutOfRange, "a trajectory has {dims} axes; an image on a grid of {grid:?} needs 2 or 3, a volume 3");
        }
        Ok(Self { unit, sizes: [grid[2], grid[1], grid[0]], dims, plane: grid[0] == 1 })
    }

    /// Voxels along z, y, x.
    pub(super) fn grid(&self) -> [usize; 3] {
        let [nx, ny, nz] = self.sizes;
        [nz, ny, nx]
    }

    /// Ends of the unit's range along the axes.
    pub(super) fn bounds(&self) -> [f64; 3] {
        self.sizes.map(|n| self.unit.bound(n))
    }

    /// Largest values along the axes.
    pub(super) fn limits(&self) -> [f64; 3] {
        self.bounds().map(|bound| bound * SLACK)
    }

    /// Cycles per voxel of one of the unit along the axes.
    pub(super) fn scales(&self) -> [f64; 3] {
        self.sizes.map(|n| 0.5 / self.unit.bound(n))
    }

    /// An error if values `[sample][axis]`, of which these are the largest, are beyond the limits.
    pub(super) fn check(&self, values: &[f64], largest: &[f64; 3]) -> Result<()> {
        let Self { unit, sizes, dims, .. } = *self;
        let fits = |u: Unit| (0..dims).all(|d| largest[d] <= u.bound(sizes[d]) * SLACK);
        if fits(unit) {
            return Ok(());
        }
        let over = |k: &usize| values[*k].abs() > unit.bound(sizes[k % dims]) * SLACK;
        let first = (0..values.len()).find(over).unwrap_or_default();
        let reach = (0..dims).map(|d| largest[d] / unit.bound(sizes[d])).fold(0.0, f64::max);
        let others: Vec<&str> = Unit::ALL.into_iter().filter(|u| fits(*u)).map(Unit::name).collect();
        let hint = if reach <= BEYOND {
            format!(
                "no sample is more than {:.2} % beyond that: clip values to the range, leave those samples out, or \
                 multiply the trajectory by {:.4}",
                // Rounded up, and down, so that both are true.
                ((reach - 1.0) * 1e4).ceil() / 100.0,
                (1e4 / reach).floor() / 1e4
            )
        } else if others.is_empty() {
            "no unit fits all samples".to_owned()
        } else {
            format!("all samples would fit {}", others.join(" or "))
        };
        fail!(
            OutOfRange,
            "trajectory[{}, {}] is {} {}; it must be within +-{}; {hint}",
            first / dims,
            first % dims,
            values[first],
            unit.name(),
            unit.bound(sizes[first % dims])
        );
    }

    /// A remark if so many samples, with these largest values, cover so little of k-space that the unit may be wrong.
    pub(super) fn suspicion(&self, samples: usize, largest: &[f64; 3]) -> Option<String> {
        let Self { unit, sizes, dims, plane } = self;
        // One voxel has no frequency along z.
        let asked = if *plane { 2 } else { *dims };
        suspicion(*unit, samples, &|u, d| (d < asked).then(|| largest[d] / u.bound(sizes[d])))
            .or_else(|| divided_by_the_longest(*unit, &sizes[..asked], &largest[..asked]))
    }
}

/// See [`Reach::suspicion`]; `reach`: the part of a unit's range that the values reach along an axis of the image.
fn suspicion(unit: Unit, samples: usize, reach: &dyn Fn(Unit, usize) -> Option<f64>) -> Option<String> {
    let part = |u| (0..3).filter_map(|d| reach(u, d)).fold(0.0, f64::max);
    let seen = part(unit);
    // Values of +-1, as normalised trajectories have them.
    let normalised = unit == Unit::RadiansPerVoxel && (seen * std::f64::consts::PI - 1.0).abs() < 1e-3;
    // A single sample, or samples of the centre alone, say nothing of the unit.
    if samples < 2 || seen == 0.0 || (seen >= SUSPICIOUS && !normalised) {
        return None;
    }
    let fits = |u: &Unit| (SUSPICIOUS..=SLACK).contains(&part(*u));
    let others: Vec<String> = Unit::ALL
        .into_iter()
        .filter(fits)
        .map(|u| format!("in {} they would reach {:.0} %", u.name(), 100.0 * part(u)))
        .collect();
    let hint = if others.is_empty() { String::new() } else { format!(" ({})", others.join(", ")) };
    Some(format!(
        "the trajectory reaches {:.2} % of the range of {}{hint}: is geometry.unit right?",
        100.0 * seen,
        unit.name()
    ))
}

/// A remark on an axis whose range is not used by just so much as it is shorter than the longest one: frequencies per field of view were
/// divided by the longest axis, where each has its own number of voxels.
fn divided_by_the_longest(unit: Unit, sizes: &[usize], largest: &[f64]) -> Option<String> {
    if unit == Unit::CyclesPerFieldOfView {
        return None;
    }
    let longest = sizes.iter().copied().max()?;
    let part = |d: usize| largest[d] / unit.bound(sizes[d]);
    let full = (0..sizes.len()).any(|d| sizes[d] == longest && part(d) > 0.9);
    let short = |d: &usize| {
        let expected = sizes[*d] as f64 / longest as f64;
        expected < 0.9 && (part(*d) / expected - 1.0).abs() < 0.07
    };
    let d = (0..sizes.len()).find(|d| full && short(d))?;
    Some(format!(
        "along {} the trajectory reaches {:.0} % of the range of {}, and that axis has {} voxels where the longest has {longest}: cycles per voxel are cycles per field of view divided by each axis's own number of voxels",
        ["x", "y", "z"][d],
        100.0 * part(d),
        unit.name(),
        sizes[d]
    ))
}
