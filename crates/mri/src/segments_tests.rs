use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A field of so many turns over a readout that begins at `begin`, and a decay whose factor at its end is e^-`decay`.
fn field(turns: f64, begin: f64, decay: f64) -> Field {
    let mut rng = StdRng::seed_from_u64(7);
    let mut uniform = || rng.random_range(0.0..1.0f64);
    let seconds: Vec<f64> = (0..700).map(|_| begin + 0.02 * uniform()).collect();
    // Far from even: most voxels are on resonance, few are far off.
    let mut hertz: Vec<f64> = (0..900).map(|_| turns / 0.02 * (uniform() - 0.3).powi(3) / 0.37).collect();
    (hertz[3], hertz[4]) = (-0.2 * turns / 0.02, 0.8 * turns / 0.02);
    let decay = (decay > 0.0).then(|| (0..900).map(|_| decay / 0.02 * uniform()).collect());
    Field::new(hertz, decay, seconds)
}

/// Root of the mean square of what the sum of products is off, over all voxels and samples, by that of the factors.
fn off(field: &Field, segments: &Segments) -> f64 {
    let of_voxels = segments.of_voxels::<f64>(field).expect("factors");
    let of_samples = segments.of_samples::<f64>(&field.seconds).expect("factors");
    let (voxels, samples) = (field.hertz.len(), field.seconds.len());
    let (mut difference, mut whole) = (0.0, 0.0);
    for v in 0..voxels {
        for m in 0..samples {
            let sum: Complex<f64> =
                (0..segments.terms()).map(|l| of_voxels[l * voxels + v] * of_samples[l * samples + m]).sum();
            let (t, r) = (field.seconds[m], field.decay.as_ref().map_or(0.0, |d| d[v]));
            let exact = Complex::from_polar((-r * t).exp(), -TAU * field.hertz[v] * t);
            difference += (sum - exact).norm_sqr();
            whole += exact.norm_sqr();
        }
    }
    (difference / whole).sqrt()
}

#[test]
fn the_sum_of_products_keeps_to_its_tolerance() {
    for (turns, begin, decay) in
        [(0.0, 0.0, 0.0), (6.0, 0.0, 0.0), (6.0, 0.03, 1.0), (0.0, 0.0, 2.0), (40.0, -0.01, 0.0)]
    {
        let field = field(turns, begin, decay);
        let rates = Rates::of(&field).expect("rates");
        let mut before = 0;
        for tolerance in [1e-2, 1e-4, 1e-6, 1e-9, 1e-12] {
            let segments = Segments::new(&rates, &field.seconds, tolerance).expect("segments");
            let seen = off(&field, &segments);
            // The fit weighs each voxel at least half as much as the mean over voxels does, and the interpolation between times adds a
            // tenth: sqrt(2) + 0.1. Bins have other rates than the voxels in them by a hundredth of a turn or so; no more than that again.
            assert!(
                seen < 2.0 * tolerance + 1e-14,
                "{turns} turns, {tolerance:e}: {seen:e}, said {:e}",
                segments.error()
            );
            // As many as the product of time and bandwidth, and what the logarithm of the tolerance adds.
            let bound = turns + 2.0 + (turns + decay + 2.0).ln() * (1.0 / tolerance).ln();
            assert!(segments.terms() as f64 <= bound, "{turns} turns, {tolerance:e}: {}", segments.terms());
            assert!(segments.terms() >= before);
            before = segments.terms();
        }
    }
}

/// The same of what stands for exp(-(conj(z) + z') t) over pairs of some of the voxels, the two furthest from each other among them.
fn off_pairs(field: &Field, segments: &Segments) -> f64 {
    let of_voxels = segments.of_voxels::<f64>(field).expect("factors");
    let of_samples = segments.of_samples::<f64>(&field.seconds).expect("factors");
    assert!(of_samples.iter().all(|b| b.im == 0.0), "interpolators of pairs are real");
    let (voxels, samples) = (field.hertz.len(), field.seconds.len());
    let rate = |v: usize| Complex::new(field.decay.as_ref().map_or(0.0, |d| d[v]), TAU * field.hertz[v]);
    let some = || (3..voxels).step_by(13).chain([4]);
    let (mut difference, mut whole) = (0.0, 0.0);
    for (one, other) in some().flat_map(|one| some().map(move |other| (one, other))) {
        for m in (0..samples).step_by(7) {
            let term = |l: usize| of_voxels[l * voxels + one].conj() * of_voxels[l * voxels + other];
            let sum: Complex<f64> = (0..segments.terms()).map(|l| term(l) * of_samples[l * samples + m]).sum();
            let exact = (-(rate(one).conj() + rate(other)) * field.seconds[m]).exp();
            difference += (sum - exact).norm_sqr();
            whole += exact.norm_sqr();
        }
    }
    (difference / whole).sqrt()
}

/// Bounds as for a single voxel's factor, with twice the turns and twice the decay.
#[test]
fn the_sum_of_products_of_pairs_keeps_to_its_tolerance() {
    for (turns, begin, decay) in
        [(0.0, 0.0, 0.0), (6.0, 0.0, 0.0), (6.0, 0.03, 1.0), (0.0, 0.0, 2.0), (20.0, -0.01, 0.0)]
    {
        let field = field(turns, begin, decay);
        let rates = Rates::of_pairs(&field).expect("rates");
        for tolerance in [1e-2, 1e-4, 1e-6, 1e-9, 1e-12] {
            let segments = Segments::new(&rates, &field.seconds, tolerance).expect("segments");
            let seen = off_pairs(&field, &segments);
            println!(
                "{turns} turns, {decay}, {tolerance:e}: {seen:.1e}, said {:.1e}, {} terms",
                segments.error(),
                segments.terms()
            );
            assert!(
                seen < 2.0 * tolerance + 1e-14,
                "{turns} turns, {tolerance:e}: {seen:e}, said {:e}",
                segments.error()
            );
            let bound = 2.0 * turns + 2.0 + (2.0 * (turns + decay) + 2.0).ln() * (1.0 / tolerance).ln();
            assert!(segments.terms() as f64 <= bound, "{turns} turns, {tolerance:e}: {}", segments.terms());
        }
    }
}

/// Voxels whose rates are far from each other are within the tolerance, too, and the error that is told is none of a smaller problem's.
#[test]
fn few_rates_keep_to_the_tolerance() {
    for (voxels, turns) in [(5, 60.0), (30, 120.0)] {
        let mut rng = StdRng::seed_from_u64(11);
        let mut uniform = || rng.random_range(0.0..1.0f64);
        let seconds: Vec<f64> = (0..700).map(|_| 0.02 * uniform()).collect();
        let field = Field::new((0..voxels).map(|_| turns / 0.02 * uniform()).collect(), None, seconds);
        for tolerance in [1e-3, 1e-6, 1e-9] {
            let new = |rates: Result<Rates>| {
                Segments::new(&rates.expect("rates"), &field.seconds, tolerance).expect("segments")
            };
            let (single, pairs) = (new(Rates::of(&field)), new(Rates::of_pairs(&field)));
            for (name, seen, said) in
                [("voxels", off(&field, &single), single.error()), ("pairs", off_pairs(&field, &pairs), pairs.error())]
            {
                // As for many rates.
                assert!(
                    seen < 2.0 * tolerance,
                    "{voxels} {name}, {turns} turns, {tolerance:e}: {seen:.1e}, said {said:.1e}"
                );
                assert!(
                    said > 0.1 * seen,
                    "{voxels} {name}, {turns} turns, {tolerance:e}: {seen:.1e}, said {said:.1e}"
                );
            }
        }
    }
}

#[test]
fn what_is_odd_about_a_field_is_told() {
    let with = |seconds: Vec<f64>, decay: Option<Vec<f64>>| Field::new(vec![10.0; 3], decay, seconds).suspicion();
    assert!(with(vec![0.0, 20.0], None).is_some_and(|s| s.contains("seconds")));
    assert!(with(vec![0.0, 0.02], Some(vec![0.05; 3])).is_some_and(|s| s.contains("1/s")));
    assert!(with(vec![0.0; 3], None).is_some_and(|s| s.contains("all 0")));
    assert_eq!(with(vec![0.0, 0.02], Some(vec![20.0; 3])), None);
}
