//! Where a line crosses the planes of an image, and with which weights: Joseph's projector.
//!
//! P. M. Joseph, IEEE Trans. Med. Imag. 1(3), 1982: a line is followed along the axis that it crosses most voxels of, from one plane of voxels' middles to the next, in each of
//! which the image is interpolated between the four voxels about the line. With time of flight a plane counts by the part of the Gaussian about the event that is nearer to it than to the
//! next (as in parallelproj: G. Schramm, K. Thielemans, Front. Nucl. Med. 3, 2024).

use super::grid::Grid;
use super::normal::half_normal;
use crate::response::HALF_LIGHT;

/// Planes that are looked at together, in loops without branches.
pub(super) const PLANES: usize = 64;

/// The width of the Gaussian about an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Timing {
    /// mm along the line.
    pub(crate) sigma: f64,
    /// Where it ends, in sigmas.
    pub(crate) cut: f64,
}

/// A line's way through an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trace {
    /// Planes that it crosses.
    pub(super) count: usize,
    /// The axis that they are across: 0 is x; and the first of them.
    axis: usize,
    first: usize,
    /// From plane to plane, and along the other two axes.
    strides: [usize; 3],
    /// Along these two: where it is in the first plane, from the voxels of zeros on, by how much from plane to plane, and where the last voxel of zeros is reached.
    place: [f32; 2],
    slope: [f32; 2],
    last: [f32; 2],
    /// Of each plane without time of flight: mm from one to the next.
    length: f32,
    /// With: the event's place in planes from the first, sigmas of a plane, and sigmas where the Gaussian ends; and 1 over what is left of it.
    event: f32,
    sigmas: f32,
    cut: f32,
    whole: f32,
}

/// The axes within planes across each; the one along which voxels follow one another is the last.
const OTHERS: [[usize; 2]; 3] = [[1, 2], [0, 2], [1, 0]];

/// Where places end on an axis, counted from the voxels of zeros on: before those behind the last voxel are reached.
fn last(grid: &Grid, axis: usize) -> f32 {
    ((grid.sides[axis] + 1) as f32).next_down()
}

/// A line as a GPU takes it: see `Line` in kernels/pet/lines.cu.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Packed {
    place: [f32; 2],
    slope: [f32; 2],
    event: f32,
    sigmas: f32,
    length: f32,
    besides: f32,
    /// Axis, first and number of planes: 2, 13 and 13 bits.
    planes: u32,
}

/// What all lines of a list have in common, for a GPU: where the Gaussian ends, in sigmas, 1 over what is left of it, and the last places along x, y, z.
pub(crate) fn common(grid: &Grid, timing: Option<Timing>) -> ([f32; 2], [f32; 3]) {
    let cut = timing.map_or(1.0, |t| t.cut as f32);
    ([cut, 0.5 / half_normal(cut)], [0, 1, 2].map(|axis| last(grid, axis)))
}

/// Planes on an axis where a place that moves by `slope` is in `low..high`.
fn within(place: f64, slope: f64, [low, high]: [f64; 2], [from, to]: [f64; 2]) -> Option<[f64; 2]> {
    if slope == 0.0 {
        return (place > low && place < high).then_some([from, to]);
    }
    let (a, b) = ((low - place) / slope, (high - place) / slope);
    Some([from.max(a.min(b)), to.min(a.max(b))])
}

impl Trace {
    /// Of the line between two places, mm, with t2 - t1 in ps; None where it misses the image.
    pub(super) fn new(grid: &Grid, event: &[f64; 7], timing: Option<Timing>) -> Option<Self> {
        let [x1, y1, z1, x2, y2, z2, time] = *event;
        let (first, second) = ([x1, y1, z1], [x2, y2, z2]);
        let start: [f64; 3] = std::array::from_fn(|a| first[a] / grid.voxel[a] + grid.origin[a]);
        let delta: [f64; 3] = std::array::from_fn(|a| (second[a] - first[a]) / grid.voxel[a]);
        let size = delta.map(f64::abs);
        let axis = if size[0] >= size[1] && size[0] >= size[2] { 0 } else { 1 + usize::from(size[2] > size[1]) };
        if size[axis].is_nan() || size[axis] == 0.0 {
            return None;
        }
        let others = OTHERS[axis];
        let slope = others.map(|a| delta[a] / delta[axis]);
        let place = std::array::from_fn::<f64, 2, _>(|o| start[others[o]] - start[axis] * slope[o]);
        let end = start[axis] + delta[axis];
        let mut range = [start[axis].min(end).max(0.0), start[axis].max(end).min((grid.sides[axis] - 1) as f64)];
        for o in 0..2 {
            range = within(place[o], slope[o], [-1.0, grid.sides[others[o]] as f64], range)?;
        }
        let length = (0..3).map(|a| (second[a] - first[a]).powi(2)).sum::<f64>().sqrt();
        let step = length / size[axis];
        let mut gauss = [0.0; 4];
        if let Some(Timing { sigma, cut }) = timing {
            let at = start[axis] + delta[axis] * (0.5 - HALF_LIGHT * time / length);
            let (reach, sigmas) = (cut * sigma / step + 0.5, step / sigma);
            range = [range[0].max(at - reach), range[1].min(at + reach)];
            gauss = [at, sigmas, cut, 0.5 / half_normal(cut as f32) as f64];
        }
        let (from, to) = (range[0].ceil(), range[1].floor());
        if from > to || from.is_nan() || to.is_nan() {
            return None;
        }
        let strides = [axis, others[0], others[1]].map(|a| grid.strides[a]);
        Some(Self {
            count: (to - from) as usize + 1,
            axis,
            first: from as usize,
            strides,
            place: std::array::from_fn(|o| (place[o] + from * slope[o] + 1.0) as f32),
            slope: slope.map(|s| s as f32),
            last: others.map(|a| last(grid, a)),
            length: step as f32,
            event: (gauss[0] - from) as f32,
            sigmas: gauss[1] as f32,
            cut: gauss[2] as f32,
            whole: gauss[3] as f32,
        })
    }

    /// For a GPU, with what is expected besides the sum along it.
    pub(super) fn packed(&self, besides: f32) -> Packed {
        let Self { place, slope, event, sigmas, length, .. } = *self;
        let planes = (self.axis | self.first << 2 | self.count << 15) as u32;
        Packed { place, slope, event, sigmas, length, besides, planes }
    }

    /// The weights of planes from `from` on, as many as there is room for.
    #[inline(always)]
    pub(super) fn weigh(&self, from: usize, taps: &mut Taps) {
        let n = PLANES.min(self.count - from);
        taps.count = n;
        taps.apart = [self.strides[2], self.strides[1]];
        let mut weight = [self.length; PLANES];
        if self.sigmas > 0.0 {
            let mut edges = [0.0f32; PLANES + 1];
            let first = from as f32 - 0.5 - self.event;
            for (k, edge) in edges.iter_mut().enumerate() {
                *edge = half_normal(((first + k as f32) * self.sigmas).max(-self.cut).min(self.cut));
            }
            for ((weight, below), above) in weight.iter_mut().zip(&edges).zip(&edges[1..]) {
                *weight = (above - below) * self.whole;
            }
        }
        let base = ((self.first + from + 1) * self.strides[0]) as i32;
        let [ahead, a_stride, b_stride] = self.strides.map(|s| s as i32);
        for (k, weight) in weight.iter().enumerate() {
            let plane = (from + k) as f32;
            let at = |o: usize| (self.place[o] + plane * self.slope[o]).max(0.0).min(self.last[o]);
            let (a, b) = (at(0), at(1));
            // SAFETY: between 0 and the last voxel, and not NaN, which `max` leaves out.
            let (i, j): (i32, i32) = unsafe { (a.to_int_unchecked(), b.to_int_unchecked()) };
            let (fa, fb) = (a - i as f32, b - j as f32);
            // Wraps beyond the last plane alone, where nobody looks.
            taps.index[k] = base.wrapping_add((k as i32).wrapping_mul(ahead)).wrapping_add(i * a_stride + j * b_stride);
            let (low, high) = (weight * (1.0 - fa), weight * fa);
            taps.weights[0][k] = low * (1.0 - fb);
            taps.weights[1][k] = low * fb;
            taps.weights[2][k] = high * (1.0 - fb);
            taps.weights[3][k] = high * fb;
        }
    }
}

/// Voxels of some planes, and their weights.
#[derive(Clone, Debug)]
pub(crate) struct Taps {
    count: usize,
    /// From the first voxel of a plane's four to the others.
    apart: [usize; 2],
    index: [i32; PLANES],
    weights: [[f32; PLANES]; 4],
}

impl Taps {
    pub(crate) fn new() -> Self {
        Self { count: 0, apart: [0; 2], index: [0; PLANES], weights: [[0.0; PLANES]; 4] }
    }

    /// Sum of weighted voxels, four that are to be added up.
    ///
    /// # Safety
    /// The image is of the grid that the line was traced in.
    #[inline(always)]
    pub(super) unsafe fn gather(&self, image: *const f32, sums: &mut [f32; 4]) {
        let [b, a] = self.apart;
        for k in 0..self.count {
            // SAFETY: planes, and voxels in them, are the grid's: a place is held before the zeros behind the last voxel.
            unsafe {
                let at = image.add(self.index[k] as usize);
                sums[0] += self.weights[0][k] * *at;
                sums[1] += self.weights[1][k] * *at.add(b);
                sums[2] += self.weights[2][k] * *at.add(a);
                sums[3] += self.weights[3][k] * *at.add(a + b);
            }
        }
    }

    /// Adds a value times the weights to voxels.
    ///
    /// # Safety
    /// As for `gather`; nobody else has the image.
    #[inline(always)]
    pub(super) unsafe fn scatter(&self, value: f32, image: *mut f32) {
        let [b, a] = self.apart;
        for k in 0..self.count {
            // SAFETY: as for `gather`.
            unsafe {
                let at = image.add(self.index[k] as usize);
                *at += self.weights[0][k] * value;
                *at.add(b) += self.weights[1][k] * value;
                *at.add(a) += self.weights[2][k] * value;
                *at.add(a + b) += self.weights[3][k] * value;
            }
        }
    }
}
