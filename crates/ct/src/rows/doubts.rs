//! Whether projections look like what they are taken for.

use super::kind::Correction;
use crate::geometry::Order;
use isocenter_base::array::{Array, Layout};
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::Result;
use isocenter_base::gpu::Device;
use std::ops::Range;

/// Rows that are looked at in host memory, and on a GPU.
const HOST_ROWS: usize = 64;
const GPU_ROWS: usize = 8;
/// Bins of such a row on a GPU, where they do not follow each other.
const GPU_BINS: usize = 64;
/// Bins that a row needs for its ends and its middle to mean anything.
const MIN_BINS: usize = 8;
/// No beam is seen through so much.
const MAX_INTEGRAL: f32 = 20.0;

/// A view and a detector row, and what was read of it.
pub(crate) type Sampled = ([usize; 2], Vec<f32>);

/// Warns of projections that do not look like what they are taken for, by some of their rows.
pub(crate) fn warn_of_kind(context: &Context, correction: Correction, mut rows: Vec<Sampled>) {
    let kind = match correction {
        Correction::None => "line integrals",
        Correction::Counts(..) => "counts",
        Correction::Transmission(_) => "transmissions",
    };
    if let Correction::Counts(..) = correction {
        for (place, values) in &mut rows {
            correction.apply(*place, values, context.level());
        }
    }
    let rows: Vec<Vec<f32>> = rows.into_iter().map(|(_, values)| values).collect();
    let doubt = match correction {
        Correction::None => suspicion(&rows),
        Correction::Counts(_, minimum) => doubt_of_counts(&rows, minimum),
        Correction::Transmission(_) => doubt_of_transmissions(&rows),
    };
    if let Some(why) = doubt {
        context.log(LogLevel::Warning, || {
            format!(
                "projections are taken for {kind}, and do not look like any: {why}; options.input says what they are: 1 (counts, with a flat field), 2 (transmission), 3 (line_integrals)"
            )
        });
    }
}

/// Means of the ends of rows and of their middle third, over all rows that are long enough, and all finite values in rising order; None
/// if there are none.
fn profile(rows: &[Vec<f32>]) -> Option<(f64, f64, Vec<f32>)> {
    let rows = || rows.iter().filter(|r| r.len() >= MIN_BINS);
    let outside = mean(rows().flat_map(|r| ends(r)))?;
    let inside = mean(rows().flat_map(|r| middle(r)))?;
    let mut values: Vec<f32> = rows().flatten().copied().filter(|v| v.is_finite()).collect();
    values.sort_by(f32::total_cmp);
    Some((outside, inside, values))
}

/// Part of a list in rising order.
fn at(values: &[f32], part: f64) -> f32 {
    values[((values.len() - 1) as f64 * part) as usize]
}

/// A beam that misses the object is as bright as the flats, give or take what the source does; behind the object it is darker.
const BRIGHT: f64 = 1.5;

/// Why counts, of which these are the line integrals, are not those of the flat field's exposure.
fn doubt_of_counts(integrals: &[Vec<f32>], minimum: f32) -> Option<String> {
    let transmissions: Vec<Vec<f32>> = integrals.iter().map(|row| row.iter().map(|v| (-v).exp()).collect()).collect();
    let (outside, _, values) = profile(&transmissions)?;
    let floored = values.iter().filter(|v| **v <= 1.001 * minimum).count();
    if 2 * floored > values.len() {
        let percent = 100 * floored / values.len();
        return Some(format!("{percent} % of them are no larger than the darks, or by less than minimum_transmission"));
    }
    let seen = outside.max(f64::from(at(&values, 0.5)));
    (seen > BRIGHT).then(|| format!("they are {seen:.2} times the flats where the object lets most through"))
}

/// Why values are no transmissions.
fn doubt_of_transmissions(rows: &[Vec<f32>]) -> Option<String> {
    let (outside, inside, values) = profile(rows)?;
    let half = at(&values, 0.5);
    if f64::from(half) > BRIGHT {
        return Some(format!("half of them are above {half}, and what is let through is 1 at most"));
    }
    // Line integrals, which are 0 beside the object.
    (outside.abs() < 0.1 && inside > outside + 0.1).then(|| {
        format!(
            "the ends of rows are {outside:.2} on average and their middle third {inside:.2}, as line integrals are"
        )
    })
}

/// Why rows that are taken for line integrals cannot be any; None if they can. Values that are not finite are left out.
///
/// Line integrals are 0 beside the object and largest in its midst, in whatever unit; what a detector measures is largest beside
/// it. Where no row reaches beyond the object (local tomography), only the sizes are left to judge by: in honest units those are
/// small, and a phantom of 1 a pixel still rises towards its middle.
fn suspicion(rows: &[Vec<f32>]) -> Option<String> {
    let rows = rows.iter().filter(|r| r.len() >= MIN_BINS);
    let mut profiles: Vec<(f64, f64)> = Vec::new();
    let mut values: Vec<f32> = Vec::new();
    // Air is 0 in line integrals only.
    let mut dark_ends = true;
    for row in rows {
        profiles.extend(mean(ends(row)).zip(mean(middle(row))));
        dark_ends &= row[0] == 0.0 && row[row.len() - 1] == 0.0;
        values.extend(row.iter().filter(|v| v.is_finite()));
    }
    if profiles.is_empty() {
        return None;
    }
    values.sort_by(f32::total_cmp);
    let at = |part: f64| at(&values, part);
    let (min, max) = (values[0], values[values.len() - 1]);
    let n = profiles.len() as f64;
    let outside = profiles.iter().map(|p| p.0).sum::<f64>() / n;
    let inside = profiles.iter().map(|p| p.1).sum::<f64>() / n;
    if max > 1.0 && !dark_ends && values.iter().all(|v| v.fract() == 0.0) {
        return Some(format!("all of them are whole numbers, {min} to {max}, as counts are"));
    }
    // Means of equal values differ in their last bits.
    let rises = inside > outside * 1.001;
    if at(0.05) > MAX_INTEGRAL && !rises {
        let low = at(0.05);
        return Some(format!(
            "most are above {low}, where {MAX_INTEGRAL} is a transmission of 2e-9, and no larger in the middle of rows than at their ends"
        ));
    }
    let (sum, size) = values.iter().fold((0.0, 0.0), |(s, a), v| (s + f64::from(*v), a + f64::from(v.abs())));
    if sum < -0.5 * size {
        let min = values[0];
        return Some(format!("they are mostly negative, down to {min}, as logarithms without their minus are"));
    }
    let beside = profiles.iter().filter(|p| (0.7..=1.3).contains(&p.0)).count() as f64;
    if at(0.01) >= -0.05 && at(0.99) <= 1.5 && beside >= 0.9 * n && inside < 0.9 * outside {
        return Some(format!(
            "the ends of rows are {outside:.2} on average and their middle third {inside:.2}, as transmissions are"
        ));
    }
    None
}

/// Bins of a row that most likely lie beside the object.
fn ends(row: &[f32]) -> impl Iterator<Item = &f32> {
    let n = (row.len() / 20).max(1);
    row[..n].iter().chain(&row[row.len() - n..])
}

/// The middle third of a row.
fn middle(row: &[f32]) -> impl Iterator<Item = &f32> {
    row[row.len() / 3..row.len() - row.len() / 3].iter()
}

/// Of finite values; None if there are none.
fn mean<'a>(values: impl IntoIterator<Item = &'a f32>) -> Option<f64> {
    let (n, sum) = values.into_iter().filter(|v| v.is_finite()).fold((0, 0.0), |(n, s), v| (n + 1, s + f64::from(*v)));
    (n > 0).then(|| sum / f64::from(n))
}

/// First two indices of up to `most` rows, spread over views and over the rows in use.
fn places(order: Order, shape: [usize; 3], used: Range<usize>, max: usize) -> impl Iterator<Item = [usize; 2]> {
    let views = if order == Order::Sinograms { shape[1] } else { shape[0] };
    let max = max.min(views * used.len());
    (0..max).map(move |k| {
        // The golden section spreads rows whatever the number of views.
        let part = (k as f64 * 0.618_034).fract();
        let (view, row) = (k * views / max, used.start + (part * used.len() as f64) as usize);
        if order == Order::Sinograms { [row, view] } else { [view, row] }
    })
}

/// Some rows of projections in host memory.
pub(crate) fn host_rows(projections: &Array, order: Order, used: Range<usize>) -> Result<Vec<Sampled>> {
    let [.., bins] = projections.shape();
    places(order, projections.shape(), used, HOST_ROWS)
        .map(|[i, j]| {
            let mut row = zeros(bins)?;
            projections.read_row([i, j, 0], &mut row);
            Ok((if order == Order::Sinograms { [j, i] } else { [i, j] }, row))
        })
        .collect()
}

/// Some rows of projections on a GPU.
pub(crate) fn gpu_rows(gpu: &Device, projections: &Layout, order: Order, used: Range<usize>) -> Result<Vec<Sampled>> {
    places(order, projections.shape, used, GPU_ROWS)
        .map(|[i, j]| {
            let place = if order == Order::Sinograms { [j, i] } else { [i, j] };
            Ok((place, gpu_row(gpu, projections, i, j)?))
        })
        .collect()
}

/// A row of an array on a GPU; where its bins do not follow each other, some of them, evenly.
fn gpu_row(gpu: &Device, projections: &Layout, i: usize, j: usize) -> Result<Vec<f32>> {
    let bins = projections.shape[2];
    let address = |k: usize| projections.element([i, j, k]).addr() as u64;
    if projections.strides[2] == 1 {
        let mut row = zeros(bins)?;
        gpu.read_into(address(0), &mut row)?;
        return Ok(row);
    }
    let n = bins.min(GPU_BINS);
    (0..n).map(|k| gpu.read(address(k * (bins - 1) / (n - 1).max(1)))).collect()
}
