//! Means of Gaussians over a voxel.

/// Places and weights of Gauss's rule of four points on -1..1.
const RULE: [(f64, f64); 4] = [
    (-0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
    (-0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
    (0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
];

/// Places in -side/2..side/2 and weights of sum 1, whose weighted sum of a function as smooth as a Gaussian of width `sigma` is
/// its mean to about 1e-5: panels of at most two sigmas.
pub(super) fn nodes(side: f64, sigma: f64) -> Vec<(f64, f64)> {
    let panels = (side / (2.0 * sigma)).ceil().max(1.0) as usize;
    let width = side / panels as f64;
    let rule = |p| RULE.map(|(x, w)| (width * (p as f64 + (1.0 + x) / 2.0) - side / 2.0, w / (2 * panels) as f64));
    (0..panels).flat_map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_gaussian_is_right() {
        for sigma in [0.05f64, 0.3, 0.62, 2.0] {
            // Both off centre: the nearest voxel and its neighbour.
            for offset in [0.2, 0.9] {
                let g = |x: f64| (-0.5 * (x / sigma).powi(2)).exp();
                let mean: f64 = nodes(1.0, sigma).iter().map(|(x, w)| w * g(offset + x)).sum();
                let fine: f64 = (0..20_000).map(|i| g(offset - 0.5 + (i as f64 + 0.5) / 2e4)).sum::<f64>() / 2e4;
                assert!((mean - fine).abs() < 2e-5, "{sigma} {offset}: {mean} {fine}");
            }
        }
    }
}
