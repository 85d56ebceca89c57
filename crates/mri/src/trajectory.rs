//! Where k-space was sampled.

use super::gpu::points::DevicePoints;
use super::reach::{Reach, Unit};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::Device;
use std::ops::Range;
use std::sync::OnceLock;

/// Sample positions in cycles per voxel, within +-0.5.
#[derive(Debug)]
pub struct Trajectory {
    /// Along x, y, z; z is all 0 for two axes. Of samples on a GPU once they are asked for.
    axes: OnceLock<[Buffer<f64>; 3]>,
    device: Option<DevicePoints>,
    samples: usize,
    dims: usize,
    /// Of the image, along z, y, x.
    grid: [usize; 3],
    /// Largest values along x, y, z in the unit that it was given in.
    bounds: [f64; 3],
    suspicion: Option<String>,
    /// See [`Trajectory::off_whole`].
    off_whole: OnceLock<[f64; 3]>,
}

/// Cycles in the field of view from which on samples are off whole numbers of them, for any tolerance.
const OFF: f64 = 0.01;

/// Samples that a thread takes at a time.
const GRAIN: usize = 1 << 14;

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
        let Reach { dims, .. } = *reach;
        let (bounds, suspicion) = (reach.bounds(), reach.suspicion(samples, largest));
        let (axes, off_whole) = (OnceLock::new(), OnceLock::new());
        Self { axes, device: None, samples, dims, grid: reach.grid(), bounds, suspicion, off_whole }
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
            grid: self.grid,
            bounds: self.bounds,
            suspicion: None,
            // As of all samples, so that parts are on the same grids.
            off_whole: OnceLock::from(self.off_whole()?),
        })
    }

    /// Samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Of the image that it is for, along z, y, x.
    pub(super) fn grid(&self) -> [usize; 3] {
        self.grid
    }

    /// Axes that it was given with.
    pub(super) fn dims(&self) -> usize {
        self.dims
    }

    /// Axes along which the image is more than a voxel deep.
    pub(super) fn image_dims(&self) -> usize {
        if self.grid[0] == 1 { 2 } else { self.dims }
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

    /// How far samples are at most from whole numbers of cycles in the field of view, along z, y, x; infinite where that is [`OFF`] or more.
    pub(super) fn off_whole(&self) -> Result<[f64; 3]> {
        if let Some(found) = self.off_whole.get() {
            return Ok(*found);
        }
        let off = |d: usize, axis: &[f64]| {
            let n = self.grid[2 - d];
            let of_part =
                |part: &[f64]| part.iter().map(|k| k * n as f64).map(|k| (k - k.round()).abs()).fold(0.0, f64::max);
            // Most trajectories are told from their first samples.
            let first = of_part(&axis[..axis.len().min(GRAIN)]);
            let all = if first < OFF { axis.par_chunks(GRAIN).map(of_part).reduce(|| 0.0, f64::max) } else { first };
            if all < OFF { all } else { f64::INFINITY }
        };
        let glances = match &self.device {
            Some(points) if self.axes.get().is_none() => {
                let glance =
                    |d: usize| if d < self.dims { points.glance(d).map(|axis| off(d, &axis)) } else { Ok(0.0) };
                Some([glance(0)?, glance(1)?, glance(2)?])
            }
            _ => None,
        };
        let found = match glances {
            Some(off) if off[..self.image_dims()].iter().all(|off| off.is_infinite()) => off,
            _ => {
                let axes = self.axes()?;
                [0, 1, 2].map(|d| off(d, axes[d]))
            }
        };
        let [x, y, z] = found;
        Ok(*self.off_whole.get_or_init(|| [z, y, x]))
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
