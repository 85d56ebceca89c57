//! The counts that a prior took.

use rayon::prelude::*;

/// Of Newton's method, at most.
const STEPS: usize = 30;
const ENOUGH: f64 = 1e-6;
/// Values of a task.
const CHUNK: usize = 1 << 16;

/// The factor of an image with which it explains the counts best, of what is expected of it and what comes in addition: a prior of relative differences lowers all of it, by
/// its value over the counts. `projected` is the image's, without the factors.
pub fn restored(measured: &[u32], factors: &[f32], projected: &[f32], additive: Option<&[f32]>) -> f64 {
    let chunks = measured.len().div_ceil(CHUNK);
    let part = |k: usize| {
        let (mut total, mut hit) = (0.0, Vec::new());
        for at in k * CHUNK..((k + 1) * CHUNK).min(measured.len()) {
            let own = factors[at] * projected[at];
            total += f64::from(own);
            if measured[at] > 0 && own > 0.0 {
                hit.push([measured[at] as f32, own, additive.map_or(0.0, |additive| additive[at])]);
            }
        }
        (total, hit)
    };
    let parts: Vec<(f64, Vec<[f32; 3]>)> = (0..chunks).into_par_iter().map(part).collect();
    let total: f64 = parts.iter().map(|(total, _)| total).sum();
    factor_of(total, &parts.into_iter().map(|(_, hit)| hit).collect::<Vec<_>>())
}

/// The same of a list of events: what is expected of each, and of all lines together.
pub fn restored_list(total: f64, factors: &[f32], projected: &[f32], additive: Option<&[f32]>) -> f64 {
    let part = |k: usize| {
        let all = k * CHUNK..((k + 1) * CHUNK).min(factors.len());
        let own = all.map(|at| [1.0, factors[at] * projected[at], additive.map_or(0.0, |additive| additive[at])]);
        own.filter(|[_, own, _]| *own > 0.0).collect()
    };
    factor_of(total, &(0..factors.len().div_ceil(CHUNK)).into_par_iter().map(part).collect::<Vec<_>>())
}

/// Of counts, what the image and what else expects of them, and all that the image expects.
fn factor_of(total: f64, parts: &[Vec<[f32; 3]>]) -> f64 {
    let mut factor = 1.0;
    // The likelihood's slope falls, and bends upwards: from below Newton's steps do not go too far, and from above half the way at most.
    for _ in 0..if total > 0.0 { STEPS } else { 0 } {
        let sums = parts.par_iter().map(|hit| {
            hit.iter().fold([0.0; 2], |[first, second], values| {
                let [counts, own, other] = values.map(f64::from);
                let part = own / (factor * own + other);
                [first + counts * part, second + counts * part * part]
            })
        });
        let sums: Vec<[f64; 2]> = sums.collect();
        let [first, second] = [0, 1].map(|k| sums.iter().map(|sum| sum[k]).sum::<f64>());
        if second == 0.0 {
            break;
        }
        let step = (first - total) / second;
        factor = (factor + step).max(factor / 2.0);
        if step.abs() < ENOUGH * factor {
            break;
        }
    }
    factor
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_given_back() {
        // Without anything else the sum of the counts over that of what is expected.
        let factor = restored(&[4, 0, 6], &[1.0, 2.0, 1.0], &[2.0, 0.5, 1.0], None);
        assert!((factor - 10.0 / 4.0).abs() < 1e-9, "{factor}");
        // With it the slope of the likelihood is 0: the sum of d p / (f p + b) is that of p.
        let (measured, projected, additive) = ([9, 3, 1], [1.0f32, 2.0, 4.0], [2.0f32, 1.0, 0.5]);
        let factor = restored(&measured, &[1.0; 3], &projected, Some(&additive));
        let slope: f64 = (0..3)
            .map(|k| {
                let [d, p, b] = [measured[k] as f64, projected[k].into(), additive[k].into()];
                d * p / (factor * p + b) - p
            })
            .sum();
        assert!(slope.abs() < 1e-4, "{factor}: {slope}");
        assert_eq!(restored(&[1, 2], &[0.0; 2], &[1.0; 2], None), 1.0);
    }
}
