//! What a detector has spoiled: bins that are dead or flicker, and views without a beam, which would otherwise decide where the axis is.

use crate::bad_views::strays::Strays;
use isocenter_base::cpu::buffer::{append, collected, copied};
use isocenter_base::error::Result;
use std::ops::Range;

/// Bins next to each other that are mended.
const MOST_BINS: usize = 4;
/// How many times less, or more, than those on both sides spoiled bins change from view to view. (Next to air an object's bins change that much
/// more than on one side.)
const CHANGE: f64 = 100.0;
/// And how many times more than nine tenths of all bins flickering ones do.
const FLICKERS: f64 = 3.0;

/// Ranges of bins that change from view to view as none beside them do; `deviation` is that of each bin.
pub(super) fn bins(deviation: &[f64]) -> Result<Vec<Range<usize>>> {
    let mut sorted = copied(deviation)?;
    sorted.sort_unstable_by(f64::total_cmp);
    // Object between bins that are dead stands out, too, but not from itself.
    let least = FLICKERS * sorted.get(9 * sorted.len() / 10).copied().unwrap_or(0.0);
    let flickers =
        |run: &[f64], beside: [f64; 2]| run.iter().all(|d| *d > least.max(CHANGE * beside[0].max(beside[1])));
    let mut spoiled = runs(deviation, flickers)?;
    // What flickers is no neighbour: air beside it is not dead.
    let mut others = copied(deviation)?;
    for run in &spoiled {
        let beside = others[run.start - 1].min(others[run.end]);
        others[run.clone()].fill(beside);
    }
    for run in runs(&others, |run, beside| run.iter().all(|d| *d * CHANGE < beside[0].min(beside[1])))? {
        append(&mut spoiled, run)?;
    }
    spoiled.sort_unstable_by_key(|run| run.start);
    Ok(spoiled)
}

/// Ranges of a few bins that stand out from those on both sides.
fn runs(deviation: &[f64], stands_out: impl Fn(&[f64], [f64; 2]) -> bool) -> Result<Vec<Range<usize>>> {
    let mut runs = Vec::new();
    let mut first = 1;
    while first + 1 < deviation.len() {
        let ends = first + 1..deviation.len().min(first + MOST_BINS + 1);
        match ends.into_iter().find(|end| stands_out(&deviation[first..*end], [deviation[first - 1], deviation[*end]]))
        {
            Some(end) => {
                append(&mut runs, first..end)?;
                first = end + 1;
            }
            None => first += 1,
        }
    }
    Ok(runs)
}

/// Goes straight over spoiled bins of a row.
pub(super) fn mend(row: &mut [f32], spoiled: &[Range<usize>]) {
    for run in spoiled {
        let (before, after) = (row[run.start - 1], row[run.end]);
        let step = (after - before) / (run.len() + 1) as f32;
        row[run.clone()].iter_mut().enumerate().for_each(|(k, v)| *v = before + (k + 1) as f32 * step);
    }
}

/// Views whose mean is far from that of the views next to them by angle: a beam that was off, or a detector that did not answer.
pub(super) fn views(angles: &[f64], views: &[usize], means: &[f64]) -> Result<Vec<usize>> {
    let of_views = collected(views.iter().map(|view| angles[*view]))?;
    let Strays { order, usual, typical } = Strays::new(&of_views, means)?;
    let stray = |k: &usize| (means[*k] - usual[*k]).abs() > 0.5 * usual[*k].abs() + 12.0 * typical;
    collected(order.into_iter().filter(stray).map(|k| views[k]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::TAU;

    #[test]
    fn dead_and_flickering_bins_are_found_and_edges_of_an_object_are_not() {
        let mut deviation = vec![1e-4; 40];
        deviation[10..30].fill(0.3);
        assert_eq!(bins(&deviation).expect("success"), []);
        deviation[15] = 0.0;
        deviation[20..22].fill(1e-9);
        deviation[33] = 2.0;
        assert_eq!(bins(&deviation).expect("success"), [15..16, 20..22, 33..34]);
        // Air without noise.
        deviation[..10].fill(0.0);
        assert_eq!(bins(&deviation).expect("success"), [15..16, 20..22, 33..34]);
        let mut row: Vec<f32> = (0..40u8).map(f32::from).collect();
        row[20..22].fill(-7.0);
        mend(&mut row, &bins(&deviation).expect("success")[1..2]);
        assert!(row.iter().enumerate().all(|(k, v)| (*v - k as f32).abs() < 1e-5), "{row:?}");
    }

    #[test]
    fn views_without_beam_are_found() {
        let angles: Vec<f64> = (0..90).map(|k| TAU * f64::from(k * 37 % 90) / 90.0).collect();
        let every: Vec<usize> = (0..90).collect();
        // An object beyond the detector: a mean that changes slowly.
        let mut means: Vec<f64> = angles.iter().map(|a| 1.0 + 0.6 * (2.0 * a).cos()).collect();
        assert_eq!(views(&angles, &every, &means).expect("success"), []);
        (means[4], means[50]) = (9.0, 0.0);
        let mut found = views(&angles, &every, &means).expect("success");
        found.sort_unstable();
        assert_eq!(found, [4, 50]);
    }
}
