//! The counts that a prior took.

use rayon::prelude::*;

/// Of Newton's method, at most.
const STEPS: usize = 30;
const ENOUGH: f64 = 1e-6;
/// Values of a task.
const CHUNK: usize = 1 << 16;

/// The factor of an image with which it explains the counts of the body, of histo-images of the body and of the image, and of factors and what comes in addition. Beside the body an image of few
/// counts takes randoms and scatter for activity, which cannot be below 0 where they are fewer than is expected, and so has too many.
pub fn restored(measured: &[u32], factors: &[f32], [body, image]: [&[f32]; 2], additive: Option<&[f32]>) -> f64 {
    let part = |k: usize| {
        (k * CHUNK..((k + 1) * CHUNK).min(measured.len())).fold([0.0; 2], |[counts, explained], at| {
            let more = f64::from(measured[at]) - additive.map_or(0.0, |additive| f64::from(additive[at]));
            let own = body[at] * (factors[at] * image[at]);
            [counts + f64::from(body[at]) * more, explained + f64::from(own)]
        })
    };
    let parts: Vec<[f64; 2]> = (0..measured.len().div_ceil(CHUNK)).into_par_iter().map(part).collect();
    let [counts, explained] = [0, 1].map(|k| parts.iter().map(|part| part[k]).sum::<f64>());
    if explained > 0.0 { counts.max(0.0) / explained } else { 1.0 }
}

/// The factor of an image with which it explains a list of events best, of what is expected of each, and of all lines together.
pub fn restored_list(total: f64, factors: &[f32], projected: &[f32], additive: Option<&[f32]>) -> f64 {
    let pair = |at: usize| [factors[at] * projected[at], additive.map_or(0.0, |additive| additive[at])].map(f64::from);
    let events: Vec<[f64; 2]> = (0..factors.len()).into_par_iter().map(pair).filter(|[own, _]| *own > 0.0).collect();
    let mut factor = 1.0;
    // The likelihood's slope falls, and bends upwards: from below Newton's steps do not go too far, and from above half the way at most.
    for _ in 0..if total > 0.0 && !events.is_empty() { STEPS } else { 0 } {
        let sums = events.par_chunks(CHUNK).map(|events| {
            events.iter().fold([0.0; 2], |[first, second], [own, other]| {
                let part = own / (factor * own + other);
                [first + part, second + part * part]
            })
        });
        let sums: Vec<[f64; 2]> = sums.collect();
        let [first, second] = [0, 1].map(|k| sums.iter().map(|sum| sum[k]).sum::<f64>());
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

    /// By hand: the body's counts 2 (4 - 1) + (6 - 2), of which its image explains 2 x 2 + 3 x 1.
    #[test]
    fn the_body_has_its_counts() {
        let (body, image) = ([2.0, 0.0, 1.0], [2.0, 9.0, 1.0]);
        let factor = restored(&[4, 50, 6], &[1.0, 1.0, 3.0], [&body, &image], Some(&[1.0, 0.0, 2.0]));
        assert!((factor - 10.0 / 7.0).abs() < 1e-12, "{factor}");
        let factor = restored(&[4, 0, 6], &[1.0, 2.0, 1.0], [&[1.0; 3], &[2.0, 0.5, 1.0]], None);
        assert!((factor - 10.0 / 4.0).abs() < 1e-12, "{factor}");
        // Fewer than is expected without the image, and an image of nothing.
        assert_eq!(restored(&[1], &[1.0], [&[1.0], &[1.0]], Some(&[2.0])), 0.0);
        assert_eq!(restored(&[1, 2], &[0.0; 2], [&[1.0; 2]; 2], None), 1.0);
    }

    #[test]
    fn events_are_given_back() {
        // The slope of the likelihood is 0: the sum of p / (f p + b) over events is what all lines expect.
        let (projected, additive) = ([1.0f32, 2.0, 4.0], [2.0f32, 1.0, 0.5]);
        let factor = restored_list(1.5, &[1.0; 3], &projected, Some(&additive));
        let slope: f64 =
            projected.iter().zip(additive).map(|(p, b)| f64::from(*p) / (factor * f64::from(*p) + f64::from(b))).sum();
        assert!((slope - 1.5).abs() < 1e-4, "{factor}: {slope}");
        // Without anything else as many as there are.
        let factor = restored_list(1.5, &[1.0; 3], &projected, None);
        assert!((factor - 2.0).abs() < 1e-6, "{factor}");
        assert_eq!(restored_list(0.0, &[0.0; 2], &[1.0; 2], None), 1.0);
    }
}
