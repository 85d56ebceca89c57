//! Where k-space was sampled.

use super::gpu::points::DevicePoints;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::Device;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::OnceLock;

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
#[derive(Debug)]
pub struct Trajectory {
    /// Along x, y, z; z is all 0 for two axes. Of samples on a GPU once they are asked for.
    axes: OnceLock<[Buffer<f64>; 3]>,
    device: Option<DevicePoints>,
    samples: usize,
    dims: usize,
    /// The image is one voxel deep.
    plane: bool,
    /// Largest values along x, y, z in the unit that it was given in.
    bounds: [f64; 3],
    suspicion: Option<String>,
}

/// Values in single precision may be this much over the bound: +-pi rounded to 24 bits is.
const SLACK: f64 = 1.0 + 1e-6;
/// A trajectory that reaches no farther than this part of the bound has its unit, and samples beyond: of a gradient's raster, or measured.
const BEYOND: f64 = 1.1;
/// A trajectory that stays within this part of the bound may have another unit: cycles taken for radians stay within 0.16.
const SUSPICIOUS: f64 = 0.25;

/// Samples that a thread takes at a time.
const GRAIN: usize = 1 << 14;

/// What values of a trajectory may be, and what they become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    unit: Unit,
    /// Voxels along x, y, z.
    sizes: [usize; 3],
    dims: usize,
    plane: bool,
}

impl Reach {
    /// Of two or three axes, for an image on a grid `[nz, ny, nx]`.
    pub(super) fn new(unit: Unit, grid: [usize; 3], dims: usize) -> Result<Self> {
        if !(2..=3).contains(&dims) || (dims == 2 && grid[0] > 1) {
            fail!(OutOfRange, "a trajectory has {dims} axes; an image on a grid of {grid:?} needs 2 or 3, a volume 3");
        }
        Ok(Self { unit, sizes: [grid[2], grid[1], grid[0]], dims, plane: grid[0] == 1 })
    }

    /// Ends of the unit's range along the axes.
    fn bounds(&self) -> [f64; 3] {
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
    fn check(&self, values: &[f64], largest: &[f64; 3]) -> Result<()> {
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

    /// See [`Trajectory::suspicion`]; by the largest of so many samples' values.
    fn suspicion(&self, samples: usize, largest: &[f64; 3]) -> Option<String> {
        let Self { unit, sizes, dims, plane } = self;
        // One voxel has no frequency along z.
        let asked = if *plane { 2 } else { *dims };
        suspicion(*unit, samples, &|u, d| (d < asked).then(|| largest[d] / u.bound(sizes[d])))
            .or_else(|| divided_by_the_longest(*unit, &sizes[..asked], &largest[..asked]))
    }
}

/// The largest value along each axis of `values[sample][axis]`; None if one is no number or infinite.
fn largest(values: &[f64], dims: usize) -> Option<[f64; 3]> {
    let of_part = |part: &[f64]| {
        let mut largest = Some([0.0f64; 3]);
        for sample in part.chunks_exact(dims) {
            for (d, v) in sample.iter().enumerate() {
                match &mut largest {
                    Some(l) if v.is_finite() => l[d] = l[d].max(v.abs()),
                    _ => largest = None,
                }
            }
        }
        largest
    };
    values.par_chunks(GRAIN * dims).map(of_part).reduce(
        || Some([0.0; 3]),
        |a, b| {
            let (a, b) = (a?, b?);
            Some([0, 1, 2].map(|d| f64::max(a[d], b[d])))
        },
    )
}

impl Trajectory {
    /// From `values[sample][axis]`, x first, two or three axes, for an image on a grid `[nz, ny, nx]`.
    pub fn new(values: &[f64], unit: Unit, grid: [usize; 3], dims: usize) -> Result<Self> {
        let reach = Reach::new(unit, grid, dims)?;
        if values.is_empty() || !values.len().is_multiple_of(dims) {
            fail!(TensorShape, "a trajectory of {} values is not {dims} values a sample", values.len());
        }
        let Some(largest) = largest(values, dims) else {
            let k = values.iter().position(|v| !v.is_finite()).unwrap_or_default();
            fail!(NotFiniteData, "trajectory[{}, {}] is {}; it must be finite", k / dims, k % dims, values[k]);
        };
        reach.check(values, &largest)?;
        let (samples, scales) = (values.len() / dims, reach.scales());
        let axis = |d: usize| -> Result<Buffer<f64>> {
            let mut out = Buffer::zeroed(samples)?;
            if d < dims {
                out.par_chunks_mut(GRAIN).zip(values.par_chunks(GRAIN * dims)).for_each(|(out, part)| {
                    let part = part[d..].iter().step_by(dims);
                    out.iter_mut().zip(part).for_each(|(k, v)| *k = (v * scales[d]).clamp(-0.5, 0.5));
                });
            }
            Ok(out)
        };
        let axes = OnceLock::from([axis(0)?, axis(1)?, axis(2)?]);
        Ok(Self { axes, device: None, ..Self::of(&reach, samples, &largest) })
    }

    /// Of samples that a GPU has read, with the largest values along the axes that it saw.
    pub(super) fn of_device(points: DevicePoints, reach: &Reach, largest: &[f64; 3]) -> Self {
        let samples = points.count();
        Self { device: Some(points), ..Self::of(reach, samples, largest) }
    }

    /// What it is besides its samples.
    fn of(reach: &Reach, samples: usize, largest: &[f64; 3]) -> Self {
        let Reach { dims, plane, .. } = *reach;
        let (bounds, suspicion) = (reach.bounds(), reach.suspicion(samples, largest));
        Self { axes: OnceLock::new(), device: None, samples, dims, plane, bounds, suspicion }
    }

    /// Of a part of the samples.
    pub(super) fn part(&self, range: &Range<usize>) -> Result<Self> {
        let device = self.device.as_ref().map(|points| points.part(range));
        let axes = match &device {
            Some(_) => OnceLock::new(),
            None => {
                let copy = |axis: &[f64]| -> Result<Buffer<f64>> {
                    let mut part = Buffer::zeroed(range.len())?;
                    part.copy_from_slice(&axis[range.clone()]);
                    Ok(part)
                };
                let [x, y, z] = self.axes()?.map(copy);
                OnceLock::from([x?, y?, z?])
            }
        };
        Ok(Self {
            axes,
            device,
            samples: range.len(),
            dims: self.dims,
            plane: self.plane,
            bounds: self.bounds,
            suspicion: None,
        })
    }

    /// Samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Axes that it was given with.
    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    /// Axes along which the image is more than a voxel deep.
    pub(super) fn image_dims(&self) -> usize {
        if self.plane { 2 } else { self.dims }
    }

    /// Cycles per voxel along x, y, z.
    pub fn axes(&self) -> Result<[&[f64]; 3]> {
        let axes = match (self.axes.get(), &self.device) {
            (Some(axes), _) => axes,
            (None, Some(points)) => {
                let fetched = points.fetch()?;
                self.axes.get_or_init(|| fetched)
            }
            (None, None) => fail!(Internal, "a trajectory without samples"),
        };
        Ok(axes.each_ref().map(|axis| &**axis))
    }

    /// Samples that are in this GPU's memory.
    pub(super) fn on(&self, device: &Device) -> Option<&DevicePoints> {
        self.device.as_ref().filter(|points| points.device().index() == device.index())
    }

    /// The first of the samples along z, where they are on a GPU alone: enough to tell most that are no stack.
    pub(super) fn glance(&self) -> Result<Option<Vec<f64>>> {
        match &self.device {
            Some(points) if self.axes.get().is_none() && self.dims == 3 => points.glance(2).map(Some),
            _ => Ok(None),
        }
    }

    /// What times cycles per voxel along x, y, z is in the unit that it was given in.
    pub(super) fn unit(&self) -> [f64; 3] {
        self.bounds.map(|bound| 2.0 * bound)
    }

    /// A remark if the samples cover so little of k-space that the unit may be wrong.
    pub(super) fn suspicion(&self) -> Option<&str> {
        self.suspicion.as_deref()
    }
}

/// See [`Trajectory::suspicion`]; `reach`: the part of a unit's range that the values reach along an axis of the image.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(values: &[f64], unit: Unit) -> String {
        Trajectory::new(values, unit, [1, 64, 64], 2).expect_err("out of range").to_string()
    }

    #[test]
    fn what_is_a_little_beyond_the_range_is_no_other_unit() {
        let message = refused(&[-0.500015, 0.0, 0.4, 0.1], Unit::CyclesPerVoxel);
        assert!(message.contains("no sample is more than 0.01 % beyond") && message.contains("by 0.9999"), "{message}");
        assert!(!message.contains("would fit"), "{message}");
        let message = refused(&[33.0, 0.0], Unit::CyclesPerFieldOfView);
        assert!(message.contains("3.13 % beyond") && message.contains("by 0.9696"), "{message}");
        let message = refused(&[3.0, 0.0], Unit::CyclesPerVoxel);
        assert!(message.ends_with("all samples would fit cycles per field of view or radians per voxel"), "{message}");
    }

    #[test]
    fn cycles_per_field_of_view_are_not_divided_by_the_longest_axis() {
        let remark = |unit: Unit| {
            let [x, y] = [96, 72].map(|n| unit.bound(n));
            let values = [-x, -0.75 * y, 0.96 * x, 0.7 * y];
            Trajectory::new(&values, unit, [1, 72, 96], 2).expect("a trajectory").suspicion().is_some()
        };
        assert!(remark(Unit::CyclesPerVoxel));
        assert!(!remark(Unit::CyclesPerFieldOfView));
    }
}
