//! Views of two scans that were taken at the same angles.

use anyhow::{Result, bail, ensure};
use std::f64::consts::{PI, TAU};

/// How far apart two angles are, whatever whole turns lie between them.
fn apart(a: f64, b: f64) -> f64 {
    (a - b + PI).rem_euclid(TAU) - PI
}

/// Views in the order of their angles, from the largest gap on, so that no two that belong together lie on either side of the cut.
fn sorted(angles: &[f64], cut: f64) -> Vec<(f64, usize)> {
    let mut sorted: Vec<_> = angles.iter().map(|angle| (angle - cut).rem_euclid(TAU)).zip(0..).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    sorted
}

/// The middle of the largest gap between angles of a turn.
fn cut(angles: &[f64]) -> f64 {
    let sorted = sorted(angles, 0.0);
    let next = |k: usize| sorted.get(k + 1).map_or(sorted[0].0 + TAU, |next| next.0);
    let gaps = (0..sorted.len()).map(|k| (next(k) - sorted[k].0, sorted[k].0.midpoint(next(k))));
    gaps.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0.0, |(_, middle)| middle)
}

/// For each view of the first scan the one of the second at the same angle, in radians, whatever order they were taken in; an error if they are not as
/// many, or one has none within so much.
pub fn pairs(a: &[f64], b: &[f64], within: f64) -> Result<Vec<usize>> {
    ensure!(
        a.len() == b.len(),
        "they have {} and {} projections, and those of scans side by side are joined angle by angle: --views or --skip, as columns of the \
         table, leave out what the other has not",
        a.len(),
        b.len()
    );
    if a.iter().zip(b).all(|(a, b)| apart(*a, *b).abs() <= within) {
        return Ok((0..a.len()).collect());
    }
    let cut = cut(a);
    let [of_a, of_b] = [a, b].map(|angles| sorted(angles, cut));
    let mut pairs = vec![0; a.len()];
    for (&(angle, view), &(other, pair)) in of_a.iter().zip(&of_b) {
        if apart(angle, other).abs() > within {
            let [told, near] = [a[view], b[pair]].map(f64::to_degrees);
            bail!(
                "projection {view} of the one is at {told:.4} degrees, and the other has none within {:.4} degrees of that (the next in order is at \
                 {near:.4}): projections of scans side by side have to be of the same angles; --angles, as a column of the table, tells them where the \
                 files are wrong",
                within.to_degrees()
            );
        }
        pairs[view] = pair;
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_at_the_same_angles() {
        let half: Vec<f64> = (0..8).map(|k| k as f64 * PI / 8.0).collect();
        let identity: Vec<_> = (0..8).collect();
        assert_eq!(pairs(&half, &half, 1e-3).expect("pairs"), identity);
        // A turn later, and not quite at the same place, on either side of 0.
        let late: Vec<_> =
            half.iter().enumerate().map(|(k, a)| a + TAU + if k % 2 == 0 { -5e-4 } else { 5e-4 }).collect();
        assert_eq!(pairs(&half, &late, 1e-3).expect("pairs"), identity);
        // The other way round.
        let back: Vec<_> = late.iter().rev().copied().collect();
        assert_eq!(pairs(&half, &back, 1e-3).expect("pairs"), [7, 6, 5, 4, 3, 2, 1, 0]);
        for (other, word) in [
            (half[1..].to_vec(), "8 and 7 projections"),
            (half.iter().map(|a| a + PI / 16.0).collect(), "--angles"),
            (half.iter().map(|a| a * 1.01).collect(), "none within 0.0573 degrees"),
            // Half a turn on, rays are the same and come from the other side.
            (half.iter().map(|a| a + PI).collect(), "--angles"),
        ] {
            let error = pairs(&half, &other, 1e-3).expect_err(word).to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
