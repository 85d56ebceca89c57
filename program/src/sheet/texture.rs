//! Where in a slice there is most to be seen.

use crate::report::Image;
use crate::report::picture::means;

/// Pixels whose mean is looked at: noise is less, and edges remain.
const BLOCK: usize = 4;
/// Part of half the slice's side in which the object is looked for: beyond it rays are missing.
const WITHIN: f64 = 0.9;

/// The corner of a part of such sides where means differ most from those beside them.
pub fn corner(values: &[f32], [rows, columns]: [usize; 2], [high, wide]: [usize; 2]) -> [usize; 2] {
    let image = Image { values: values.to_vec(), columns, caption: String::new() };
    let (means, across) = means(&image, rows.max(columns).div_ceil(BLOCK));
    let down = means.len() / across;
    let inside = |k: usize| {
        let off = |at: usize, n: usize| (at as f64 + 0.5) / n as f64 * 2.0 - 1.0;
        off(k / across, down).hypot(off(k % across, across)) < WITHIN
    };
    let step = |k: usize| {
        let next = [(k % across + 1 < across).then(|| k + 1), (k / across + 1 < down).then(|| k + across)];
        let changes = next.into_iter().flatten().map(|other| f64::from(means[k] - means[other]).powi(2));
        changes.filter(|change| inside(k) && change.is_finite()).sum::<f64>()
    };
    // Sums of all above and to the left.
    let mut sums = vec![0.0; (down + 1) * (across + 1)];
    for k in 0..means.len() {
        let at = (k / across + 1) * (across + 1) + k % across + 1;
        sums[at] = step(k) + sums[at - 1] + sums[at - across - 1] - sums[at - across - 2];
    }
    let [tall, broad] = [high / BLOCK, wide / BLOCK].map(|n| n.max(1));
    let sum = |y: usize, x: usize| {
        let at = |y: usize, x: usize| sums[y * (across + 1) + x];
        at(y + tall, x + broad) - at(y, x + broad) - at(y + tall, x) + at(y, x)
    };
    let places = (0..=down.saturating_sub(tall)).flat_map(|y| (0..=across.saturating_sub(broad)).map(move |x| (y, x)));
    let best = places.max_by(|a, b| sum(a.0, a.1).total_cmp(&sum(b.0, b.1)));
    let (y, x) = best.unwrap_or((0, 0));
    [(y * BLOCK).min(rows - high), (x * BLOCK).min(columns - wide)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_are_found() {
        let side = 800;
        let chequered = |k: usize| {
            let (y, x) = (k / side, k % side);
            let within = (200..400).contains(&y) && (420..620).contains(&x);
            if within && (y / 10 + x / 10) % 2 == 0 { 1.0 } else { 0.0 }
        };
        let values: Vec<f32> = (0..side * side).map(chequered).collect();
        // All of the squares, and a block more at most.
        let [top, left] = corner(&values, [side; 2], [200; 2]);
        assert!(top.abs_diff(200) <= BLOCK && left.abs_diff(420) <= BLOCK, "{top} {left}");
        // Nothing to be seen, and what is no number, are no reason to fail.
        for value in [0.0, f32::NAN] {
            let [top, left] = corner(&vec![value; 333 * 500], [333, 500], [320; 2]);
            assert!(top <= 13 && left <= 180);
        }
    }
}
