//! Events that single precision is enough for: those whose voxel and view it finds with certainty, or whose cause to be dropped.
//!
//! Of positions within [`LARGEST`] of the centre, exact in f32, and shifts by time as long, with u = 2^-24: `d = p1 - p2` errs by u of itself, `(c / 2)
//! dt / |d|` by 8 u, their product, of at most `LARGEST`, by 10 u; half the sum of positions errs by u `LARGEST`, what both add up to by another 2 u, and by 4 u
//! in voxels: 18 u `LARGEST` in mm with what multiplies these errors. Half the lattice, added, makes 2 u of its side more. Angles err by 3e-7
//! ([`angle_single`]), by 2 u for the errors of `d` and by 4 u for pi's, and as steps by 4 u of those. Farther than all that from a border, f64 finds the same.

use super::dropped::Dropped;
use super::events::{BLOCK, Block, MOST_SETS, NO_SET};
use super::lattice::Lattice;
use super::response::HALF_LIGHT;
use super::views::{Rule, Views};
use isocenter_base::cpu::elementary::{angle_single, nearest_single};
use std::f64::consts::PI;

/// An event's numbers, and its set.
pub(super) type Event = ([f64; 7], u32);

/// Largest coordinate and shift, mm.
const LARGEST: f32 = 1024.0;
/// Least distance of both photons from each other across the axis, mm: its square is far from the least of f32.
const APART: f32 = 1e-3;
/// Rounding, as parts of a value.
const ROUNDING: f64 = 1.0 / (1u64 << 24) as f64;
/// Of angles, rad.
const ANGLE: f64 = 7e-7;
/// Parts of a voxel or a step about its borders beyond which it does not pay.
const MOST: f64 = 0.05;

/// What becomes of events: elements of those that count.
pub(super) struct Found<'a> {
    pub(super) elements: &'a mut [u64],
    pub(super) count: usize,
    pub(super) dropped: Dropped,
}

/// Lattice, views and counts in single precision, with what each may be wrong by.
#[derive(Clone, Copy)]
pub(super) struct Quick {
    /// Voxels along x, y, z, halves of them, voxels a millimetre, and what places may be wrong by.
    sides: [f32; 3],
    middle: [f32; 3],
    per_mm: [f32; 3],
    place_error: [f32; 3],
    /// Views: azimuths and tilts, and steps a radian.
    azimuths: f32,
    a_radian: f32,
    azimuth_error: f32,
    tilts: f32,
    tilts_a_radian: f32,
    tilt_error: f32,
    /// Elements from one to the next along x, y, z.
    strides: [i32; 3],
    /// Of views and sets, and the element at index 0.
    view: i32,
    set: i64,
    first: u64,
}

/// What becomes of an event, or else it is dropped.
const KEPT: i32 = 1;
const DOUBTFUL: i32 = 2;

impl Quick {
    /// None where views are in a list, where voxels are small beside rounding, or where an image's elements are far apart.
    pub(super) fn new(views: &Views, lattice: &Lattice, strides: [isize; 5], first: u64) -> Option<Self> {
        let Rule::Grid { azimuths, tilts } = views.rule() else { return None };
        let (azimuths, tilts) = (*azimuths as f64, *tilts as f64);
        let sides = lattice.along();
        let per_mm = lattice.voxel().map(|v| 1.0 / v);
        let place =
            [0, 1, 2].map(|a| 18.0 * ROUNDING * f64::from(LARGEST) * per_mm[a] + 4.0 * ROUNDING * sides[a] as f64);
        let azimuth = azimuths * (ANGLE / PI + 4.0 * ROUNDING);
        let tilt = tilts * (0.5 * ANGLE / views.max_tilt() + 4.0 * ROUNDING);
        if place.iter().chain([&azimuth, &tilt]).any(|e| *e > MOST) {
            return None;
        }
        let reach = (0..3)
            .map(|a| strides[a].unsigned_abs().checked_mul(sides[a]))
            .try_fold(0, |sum: usize, s| sum.checked_add(s?));
        if reach.is_none_or(|r| r > i32::MAX as usize) {
            return None;
        }
        let [x, y, z, view, set] = strides;
        Some(Self {
            sides: sides.map(|n| n as f32),
            middle: sides.map(|n| n as f32 / 2.0),
            per_mm: per_mm.map(|v| v as f32),
            place_error: place.map(|e| e as f32),
            azimuths: azimuths as f32,
            a_radian: (azimuths / PI) as f32,
            azimuth_error: azimuth as f32,
            tilts: tilts as f32,
            tilts_a_radian: (0.5 * tilts / views.max_tilt()) as f32,
            tilt_error: tilt as f32,
            strides: [x, y, z].map(|s| s as i32),
            view: i32::try_from(view).ok()?,
            set: set as i64,
            first,
        })
    }

    /// Adds events to `doubtful` whose place or cause is left to f64.
    #[inline(always)]
    pub(super) fn locate(&self, list: &Block<f32>, n: usize, found: &mut Found, doubtful: &mut Vec<Event>) {
        let mut places = [[0f32; BLOCK]; 3];
        let mut steps = [0f32; BLOCK];
        let mut intervals = [0f32; BLOCK];
        // A loop of numbers of one size has twice the lanes.
        let mut along = [0f32; BLOCK];
        for (along, time) in along.iter_mut().zip(&list.time) {
            *along = HALF_LIGHT as f32 * *time as f32;
        }
        let [x1, y1, z1, x2, y2, z2] = &list.positions;
        for i in 0..BLOCK {
            let first = [x1[i], y1[i], z1[i]];
            let second = [x2[i], y2[i], z2[i]];
            let d: [f32; 3] = std::array::from_fn(|a| first[a] - second[a]);
            let across = (d[0] * d[0] + d[1] * d[1]).sqrt();
            let along = along[i];
            let shift = along / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let mut near = (along.abs() <= LARGEST) & (across >= APART);
            for (a, place) in places.iter_mut().enumerate() {
                place[i] = (0.5 * (first[a] + second[a]) + shift * d[a]) * self.per_mm[a] + self.middle[a];
                near &= (first[a].abs() <= LARGEST) & (second[a].abs() <= LARGEST);
            }
            let sign = 1f32.copysign(d[1]);
            let part = angle_single(d[0].abs(), d[1].abs());
            let azimuth = if d[0] * sign < 0.0 { PI as f32 - part } else { part };
            let tilt = angle_single(across, d[2].abs()).copysign(d[2] * sign);
            let step = azimuth * self.a_radian + 0.5;
            // Half a turn is azimuth 0 seen from the other side.
            let tilt = if step >= self.azimuths { -tilt } else { tilt };
            // NaN is near no border and far from none.
            steps[i] = if near { step } else { f32::NAN };
            intervals[i] = tilt * self.tilts_a_radian + 0.5 * self.tilts;
        }
        steps[n..].fill(f32::NAN);
        let mut states = [0i32; BLOCK];
        let mut views = [0i32; BLOCK];
        let mut offsets = [0i32; BLOCK];
        let (mut tilted, mut outside) = (0, 0);
        let limit = |v: f32, most: f32| v.max(0.0).min(most);
        let apart = |v: f32, error: f32| (v - nearest_single(v)).abs() > error;
        for i in 0..BLOCK {
            let mut sure = true;
            let mut inside = true;
            let mut offset = 0;
            for (a, place) in places.iter().enumerate() {
                let q = place[i];
                sure &= apart(q, self.place_error[a]);
                inside &= (q > 0.0) & (q < self.sides[a]);
                // SAFETY: not NaN, and within 32 bits.
                let voxel: i32 = unsafe { limit(q, self.sides[a]).to_int_unchecked() };
                offset += voxel * self.strides[a];
            }
            let (step, interval) = (steps[i], intervals[i]);
            sure &= apart(step, self.azimuth_error) & apart(interval, self.tilt_error);
            let level = (interval > 0.0) & (interval < self.tilts);
            // SAFETY: not NaN, and within 32 bits.
            let (azimuth, tilt): (i32, i32) = unsafe {
                (limit(step, self.azimuths).to_int_unchecked(), limit(interval, self.tilts).to_int_unchecked())
            };
            let known = list.set[i] < MOST_SETS;
            views[i] = (if step >= self.azimuths { 0 } else { azimuth }) * self.tilts as i32 + tilt;
            offsets[i] = offset;
            tilted += u32::from(known & sure & !level);
            outside += u32::from(known & sure & level & !inside);
            states[i] = if known & !sure {
                DOUBTFUL
            } else if known & level & inside {
                KEPT
            } else {
                0
            };
        }
        let unknown: u32 = list.set[..n].iter().map(|set| u32::from(*set == NO_SET)).sum();
        let none: u32 = list.set[..n].iter().map(|set| u32::from(*set >= MOST_SETS)).sum();
        found.dropped.unknown += u64::from(unknown);
        found.dropped.not_measured += u64::from(none - unknown);
        found.dropped.outside_tilts += u64::from(tilted);
        found.dropped.outside_lattice += u64::from(outside);
        let Self { view, set, .. } = *self;
        let mut elements = [0u64; BLOCK];
        for i in 0..BLOCK {
            // Of events that are none, whatever it is.
            let of_set = u64::from(list.set[i]).wrapping_mul(set as u64);
            let within = i64::from(views[i]) * i64::from(view) + i64::from(offsets[i]);
            elements[i] = self.first.wrapping_add_signed(within).wrapping_add(of_set);
        }
        let mut count = found.count;
        for i in 0..n {
            found.elements[count] = elements[i];
            count += usize::from(states[i] == KEPT);
            if states[i] == DOUBTFUL {
                doubtful.push((list.event(i), list.set[i]));
            }
        }
        found.count = count;
    }
}
