//! Doubts about what a plan is given besides events: azimuths of views, widths of the response, factors.

use super::lattice::Lattice;
use super::response::{HALF_LIGHT, Response};
use super::units::Short;
use super::view::View;
use isocenter_base::array::Array;
use isocenter_base::cpu::parallel::*;
use std::f64::consts::TAU;

/// Golden angles of a half turn and of a whole one: azimuths in their steps go round and round.
const GOLDEN: [f64; 2] = [1.941_61, 2.399_96];

/// Views are directions: beyond a turn, azimuths are nobody's radians.
pub(super) fn of_azimuths(views: &[View]) -> Option<String> {
    let size = |v: usize| views[v].azimuth.abs();
    let farthest = (1..views.len()).fold(0, |a, b| if size(b) > size(a) { b } else { a });
    let mut sorted: Vec<f64> = views.iter().map(|v| v.azimuth).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let golden = |step: f64| sorted.windows(2).all(|a| (a[1] - a[0] - step).abs() < 0.01);
    if views.is_empty() || size(farthest) <= TAU + 1e-6 || (sorted.len() > 1 && GOLDEN.into_iter().any(golden)) {
        return None;
    }
    Some(format!(
        "views[{farthest}] has an azimuth of {} rad, more than a turn: azimuths may be degrees, and have to be radians",
        Short(views[farthest].azimuth)
    ))
}

/// Widths below half a voxel blur nothing: such ones are in another unit, or not at half maximum.
pub(super) fn of_widths(response: &Response, lattice: &Lattice) -> Option<String> {
    let side = lattice.voxel().into_iter().fold(f64::MAX, f64::min);
    let tof = response.tof_fwhm_ps * HALF_LIGHT;
    let in_mm = |name: &str, width: f64| (width, format!("response.{name} is {} mm", Short(width)));
    let widths = [
        (tof, format!("response.tof_fwhm is {} ps, {} mm", Short(response.tof_fwhm_ps), Short(tof))),
        in_mm(response.radial.name(), response.radial.largest()),
        in_mm("axial_fwhm", response.axial_fwhm),
    ];
    let narrow: Vec<String> =
        widths.into_iter().filter(|(width, _)| *width < 0.5 * side).map(|(_, text)| text).collect();
    if narrow.is_empty() {
        return None;
    }
    Some(format!(
        "{}: below half a voxel, whose smallest side is {} mm; widths are full widths at half maximum, 2.35 sigmas, in ps and mm",
        narrow.join("; "),
        Short(side)
    ))
}

/// The lowest of what corrects for attenuation, or nearly: the air about the object needs no correction.
const UNCORRECTED: std::ops::RangeInclusive<f32> = 1.0..=1.05;
/// Least part of correction factors that is air: one in so many.
const AIR: u64 = 100;

/// The lowest and the largest of no values, how many are of air, and how many there are.
const NONE: (f32, f32, u64, u64) = (f32::INFINITY, 0.0, 0, 0);

/// Factors are parts of what is emitted, below 1, or in a unit of their own, as those of simulated scans, from any number on. What corrects
/// for them, by which counts would be multiplied, runs from 1, which much of it is. Of an array in host memory; all of it is looked at only if no factor is below 1.
pub(super) fn of_factors(factors: &Array<4>) -> Option<String> {
    let layout = factors.layout();
    if layout.gpu.is_some() {
        return None;
    }
    let [views, nz, ny, nx] = layout.shape;
    let room = || vec![0.0f32; nx];
    let read = |row: &mut Vec<f32>, r: usize| factors.read_row(layout.index(r * nx), row);
    let rows = || (0..views * nz * ny).into_par_iter().with_min_len(64);
    let has_part = rows().map_init(room, |row, r| {
        read(row, r);
        row.iter().any(|v| *v > 0.0 && *v < 1.0)
    });
    if has_part.any(|part| part) {
        return None;
    }
    let extremes = rows().map_init(room, |row, r| {
        read(row, r);
        let seen = row.iter().filter(|v| v.is_finite() && **v > 0.0);
        seen.fold(NONE, |(low, high, air, all), v| {
            (low.min(*v), high.max(*v), air + u64::from(UNCORRECTED.contains(v)), all + 1)
        })
    });
    let (low, high, air, all) = extremes.reduce(|| NONE, |a, b| (a.0.min(b.0), a.1.max(b.1), a.2 + b.2, a.3 + b.3));
    if low >= high || !UNCORRECTED.contains(&low) || air < all / AIR {
        return None;
    }
    Some(format!(
        "factors run from {} to {}: they are what part of the emissions is measured, exp(-integral of the attenuation) x efficiency, and look \
         like correction factors, their inverse",
        Short(low.into()),
        Short(high.into())
    ))
}

#[cfg(test)]
#[path = "input_doubts_tests.rs"]
mod tests;
