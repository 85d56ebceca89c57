//! Where k-space was sampled.

use crate::error::{Result, fail};
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
    fn bound(self, n: usize) -> f64 {
        match self {
            Unit::CyclesPerVoxel => 0.5,
            Unit::CyclesPerFieldOfView => n as f64 / 2.0,
            Unit::RadiansPerVoxel => PI,
        }
    }
}

/// Sample positions in cycles per voxel, within +-0.5.
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// Along x, y, z; z is all 0 for two axes.
    axes: [Vec<f64>; 3],
    dims: usize,
    suspicion: Option<String>,
}

/// Values in single precision may be this much over the bound: +-pi rounded to 24 bits is.
const SLACK: f64 = 1.0 + 1e-6;
/// A trajectory that stays within this part of the bound may have another unit: cycles taken for radians stay within 0.16.
const SUSPICIOUS: f64 = 0.25;

impl Trajectory {
    /// From `values[sample][axis]`, x first, two or three axes, for an image on a grid `[nz, ny, nx]`.
    pub fn new(values: &[f64], unit: Unit, grid: [usize; 3], dims: usize) -> Result<Self> {
        if !(2..=3).contains(&dims) || (dims == 2 && grid[0] > 1) {
            fail!(OutOfRange, "a trajectory has {dims} axes; an image on a grid of {grid:?} needs 2 or 3, a volume 3");
        }
        if values.is_empty() || !values.len().is_multiple_of(dims) {
            fail!(TensorShape, "a trajectory of {} values is not {dims} values a sample", values.len());
        }
        let sizes = [grid[2], grid[1], grid[0]];
        let mut largest = [0.0f64; 3];
        for (k, v) in values.iter().enumerate() {
            if !v.is_finite() {
                fail!(NotFiniteData, "trajectory[{}, {}] is {v}; it must be finite", k / dims, k % dims);
            }
            largest[k % dims] = largest[k % dims].max(v.abs());
        }
        let fits = |u: Unit| (0..dims).all(|d| largest[d] <= u.bound(sizes[d]) * SLACK);
        if !fits(unit) {
            let over = |k: &usize| values[*k].abs() > unit.bound(sizes[k % dims]) * SLACK;
            let first = (0..values.len()).find(over).unwrap_or_default();
            let others: Vec<&str> = Unit::ALL.into_iter().filter(|u| fits(*u)).map(Unit::name).collect();
            let hint = match others.len() {
                0 => "no unit fits all samples".to_owned(),
                _ => format!("all samples would fit {}", others.join(" or ")),
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
        let axis = |d: usize| -> Result<Vec<f64>> {
            let mut out = crate::cpu::buffer::zeros(values.len() / dims)?;
            if d < dims {
                let scale = 0.5 / unit.bound(sizes[d]);
                let part = values[d..].iter().step_by(dims);
                out.iter_mut().zip(part).for_each(|(k, v): (&mut f64, _)| *k = (v * scale).clamp(-0.5, 0.5));
            }
            Ok(out)
        };
        let suspicion = suspicion(unit, values.len() / dims, &|u| {
            (0..dims).map(|d| largest[d] / u.bound(sizes[d])).fold(0.0, f64::max)
        });
        Ok(Self { axes: [axis(0)?, axis(1)?, axis(2)?], dims, suspicion })
    }

    /// Samples.
    pub fn samples(&self) -> usize {
        self.axes[0].len()
    }

    /// Axes that it was given with.
    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    /// Cycles per voxel along x, y, z.
    pub fn axes(&self) -> [&[f64]; 3] {
        self.axes.each_ref().map(Vec::as_slice)
    }

    /// Sample m along z, y, x.
    pub(super) fn zyx(&self, m: usize) -> [f64; 3] {
        [self.axes[2][m], self.axes[1][m], self.axes[0][m]]
    }

    /// A remark if the samples cover so little of k-space that the unit may be wrong.
    pub(super) fn suspicion(&self) -> Option<&str> {
        self.suspicion.as_deref()
    }
}

/// See [`Trajectory::suspicion`]; `part`: of a unit's range that the values reach.
fn suspicion(unit: Unit, samples: usize, part: &dyn Fn(Unit) -> f64) -> Option<String> {
    let seen = part(unit);
    // A single sample, or samples of the centre alone, say nothing of the unit.
    if samples < 2 || seen == 0.0 || seen >= SUSPICIOUS {
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
