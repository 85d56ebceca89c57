//! What looks like a mistake in a geometry.

use super::angular::Angular;
use super::geometry::Geometry;
use super::rows::half_acquisition::{Halves, looks_like};
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::error::Result;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Tells the log what is odd, or worth knowing, about a geometry and its angular weights; of angles only where they are new, and not those of
/// the geometry before.
pub(super) fn warn(
    context: &Context,
    g: &Geometry,
    (angular, new): (&Result<Arc<Angular>>, bool),
    halves: Option<&Result<Halves>>,
) {
    if new {
        warn_of_degrees(context, g);
        tell_of_angles(context, angular);
    }
    match halves {
        Some(Ok(halves)) => tell_of_halves(context, g, halves),
        Some(Err(e)) => context.log(LogLevel::Warning, || format!("no half acquisition: {}", e.message)),
        None => warn_of_axis(context, g),
    }
    warn_of_units(context, g);
}

fn warn_of_degrees(context: &Context, g: &Geometry) {
    let (first, last) = g.angles.iter().fold((f64::MAX, f64::MIN), |(a, b), t| (a.min(*t), b.max(*t)));
    let span = last - first;
    let step = span / (g.angles.len() - 1).max(1) as f64;
    // Numbers that would be quarters of a turn in degrees.
    let degrees = [90.0, 180.0, 360.0, 540.0, 720.0, 1080.0, 1440.0];
    // Golden angles, of a half turn and of a whole one, reach any span.
    let golden = [1.941_61, 2.399_96].iter().any(|angle| (step - angle).abs() < 0.01);
    let turns = span / TAU;
    // Steps of twentieths, or even ones of more than a quarter of a radian, over many turns: nobody's radians.
    let twentieths = step >= 0.05 && (20.0 * step - (20.0 * step).round()).abs() < 1e-5;
    let wide = step >= 0.25 && g.angles.windows(2).all(|a| ((a[1] - a[0]).abs() - step).abs() < 1e-6 * span);
    let odd = turns > 2.0 && (twentieths || wide);
    if !golden && (odd || degrees.iter().any(|turn| (span - turn).abs() <= 1.5 * step)) {
        context.log(LogLevel::Warning, || {
            let [first, last, turns] = [first, last, (10.0 * turns).round() / 10.0].map(short);
            format!("angles run from {first} to {last} rad, {turns} turns: they may be degrees, and have to be radians")
        });
    }
    // Nobody takes so many views of so little.
    if span > 0.0 && span < 0.1 && g.views() > 30 {
        context.log(LogLevel::Warning, || {
            let ([first, last], degrees) = ([first, last].map(short), span.to_degrees());
            format!("angles run from {first} to {last} rad, {degrees:.2} degrees in all: were they converted to radians twice?")
        });
    }
}

/// A number in few digits, however large it is.
fn short(v: f64) -> String {
    if v.abs() < 1e9 { v.to_string() } else { format!("{v:e}") }
}

fn warn_of_short_gaps(context: &Context, of: &str, a: &Angular) {
    if a.short_gaps > 0 {
        context.log(LogLevel::Warning, || {
            let (n, sum) = (a.short_gaps, a.in_short_gaps);
            format!("{of}{n} short gap(s) between angles, {sum:.4} rad in all, as of lost views: the views beside them have their weight")
        });
    }
}

fn tell_of_angles(context: &Context, angular: &Result<Arc<Angular>>) {
    if let Ok(a) = angular {
        warn_of_short_gaps(context, "", a);
    }
    match angular {
        Ok(a) if a.missing_wedges > 0 => context.log(LogLevel::Warning, || {
            let (n, covered, at, gap) = (a.missing_wedges, a.covered, a.largest_gap_start, a.largest_gap);
            format!("{n} missing wedge(s), the largest {gap:.4} rad from {at:.4} rad on; angles cover {covered:.4} of pi rad")
        }),
        Ok(a) if !a.evenly_spaced && a.short_gaps == 0 => context.log(LogLevel::Info, || {
            let (n, spacing, gap) = (a.distinct, a.spacing, a.largest_gap);
            format!("{n} angles, unevenly spaced: median gap {spacing:.6} rad, largest {gap:.6} rad; views are weighted for it")
        }),
        Ok(_) => {}
        // Projectors do without.
        Err(e) => context.log(LogLevel::Info, || format!("no angular weights: {}", e.message)),
    }
}

/// Warns of a rotation axis beside the detector, where pixels see too few directions.
///
/// A scan with the axis at the detector's edge, or a little beyond, is in order over a full turn: what one view misses the
/// opposite one sees, so that pixels see all directions, or nearly all. Half of them is what a half turn about the edge leaves (an
/// axis given from the middle, 0, is such a one), and with the axis far outside there are fewer, down to none: an image of zeros.
/// Two thirds lies between. An axis about the detector's middle needs no look.
fn warn_of_axis(context: &Context, g: &Geometry) {
    let middle = (g.bins as f64 - 1.0) / 2.0;
    let axis = g.axis.iter().sum::<f64>() / g.axis.len() as f64;
    let aside = g.x_offset.hypot(g.y_offset) * g.ratio() > middle;
    if (axis - middle).abs() < (middle / 4.0).max(0.5) && !aside {
        return;
    }
    let seen = g.directions_seen();
    if seen < 2.0 / 3.0 {
        context.log(LogLevel::Warning, || {
            let (last, percent) = (g.bins - 1, 100.0 * seen);
            let offset = if aside { format!(" (x_offset is {}, y_offset {} pixels)", g.x_offset, g.y_offset) } else { String::new() };
            format!("axis is {axis}, and the detector's bins are 0 to {last}: pixels of the volume{offset} see {percent:.0} % of the directions on average; axis is a fractional bin, (bins - 1) / 2 = {middle} by default")
        });
    }
}

/// Weights that rise over fewer bins are not sampled well, unless the axis is at a bin or halfway between two.
const NARROW: f64 = 8.0;

/// Tells the log of half acquisition: what it computes with, and what it misses.
pub(super) fn tell_of_halves(context: &Context, g: &Geometry, halves: &Halves) {
    context.log(LogLevel::Info, || {
        let (overlap, bins) = (halves.overlap, halves.geometry.bins);
        format!("half acquisition: weights rise over {overlap:.2} bins; rows of {} bins become {bins}", g.bins)
    });
    if halves.hole > 0.0 {
        context.log(LogLevel::Warning, || {
            let (bins, length) = (halves.hole, halves.hole * g.bin_pitch);
            format!("half acquisition: the axis is beyond the detector's edge; within {bins:.2} bins of it, a radius of {length:.6} in the unit of bin_pitch, no ray is measured, and values there are not to be trusted")
        });
    } else if halves.overlap < NARROW {
        context.log(LogLevel::Warning, || {
            let overlap = halves.overlap;
            format!("half acquisition: weights rise over {overlap:.2} bins; where they are fewer than {NARROW} a spot may be left at the axis")
        });
    }
    let a = &halves.angular;
    warn_of_short_gaps(context, "half acquisition: ", a);
    if a.missing_wedges > 0 {
        context.log(LogLevel::Warning, || {
            let (n, missing) = (a.missing_wedges, (TAU - 2.0 * a.covered).to_degrees());
            let (from, to) = (a.largest_gap_start.to_degrees(), (a.largest_gap_start + a.largest_gap).to_degrees());
            format!("half acquisition: {n} gap(s) in the full turn, {missing:.2} degrees in all, the largest from {from:.2} to {to:.2} degrees: the rays that only views there see, those beyond the overlap, are missing")
        });
    }
}

/// Tells the log, if a scan seems to be a half acquisition that nobody spoke of.
pub(super) fn advise_halves(context: &Context, g: &Geometry) -> Result<()> {
    if looks_like(g)? {
        context.log(LogLevel::Warning, || {
            let axis = g.axis.iter().sum::<f64>() / g.axis.len() as f64;
            let last = g.bins - 1;
            format!("axis is {axis:.2}, the detector's bins are 0 to {last}, and the angles make a full turn: rays that are seen from one side alone count half; isoc_ct_set_half_acquisition is for such scans")
        });
    }
    Ok(())
}

fn warn_of_units(context: &Context, g: &Geometry) {
    let wide = g.nx.max(g.ny) as f64 * g.ratio() / g.bins as f64;
    if !(0.02..=50.0).contains(&g.ratio()) {
        context.log(LogLevel::Warning, || {
            let (pixel, pitch) = (g.pixel_size, g.bin_pitch);
            format!("pixel_size is {pixel} and bin_pitch {pitch}, {:.4} bins: are both in one unit?", g.ratio())
        });
    } else if wide > 5.0 && g.bins >= 8 {
        context.log(LogLevel::Warning, || {
            let (pixel, pitch, side) = (g.pixel_size, g.bin_pitch, g.nx.max(g.ny));
            format!("{side} pixels of pixel_size {pixel} are {wide:.1} times as wide as the detector, whose bin_pitch is {pitch}: are both in one unit?")
        });
    }
}
