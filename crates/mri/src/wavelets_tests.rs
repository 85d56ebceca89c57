use super::*;

/// Orthonormality at even shifts, and as many vanishing moments as half the filter's length.
#[test]
fn filters_are_orthonormal_and_details_see_no_polynomials() {
    for wavelet in [Wavelet::Daubechies4, Wavelet::Haar] {
        let Wavelets { filters: [h, g], taps, .. } = Wavelets::new(wavelet, 1, [1, 16, 16]).expect("a transform");
        for (a, b, same) in [(h, h, true), (g, g, true), (h, g, false)] {
            for shift in 0..taps / 2 {
                let product: f64 = (2 * shift..taps).map(|k| a[k] * b[k - 2 * shift]).sum();
                let expected = f64::from(same && shift == 0);
                // Coefficients are given to 17 digits.
                assert!((product - expected).abs() < 1e-14, "{wavelet:?}, {shift}: {product}");
            }
        }
        for power in 0..taps / 2 {
            let moment: f64 = (0..taps).map(|k| g[k] * (k as f64).powi(power as i32)).sum();
            // Terms are up to 7^3, and rounded coefficients are off by 1e-17 of it.
            assert!(moment.abs() < 1e-12, "{wavelet:?}, moment {power}: {moment}");
        }
    }
}

#[test]
fn levels_end_where_lines_are_short() {
    let sizes = |levels, grid| {
        Wavelets::new(Wavelet::Daubechies4, levels, grid).map(|w| w.levels.iter().map(|l| l.size).collect::<Vec<_>>())
    };
    assert_eq!(sizes(0, [1, 64, 40]), Ok(vec![[1, 64, 40], [1, 32, 20], [1, 16, 10]]));
    assert_eq!(sizes(0, [1, 15, 15]), Ok(vec![]));
    // The odd length's last element goes with the averages.
    assert_eq!(sizes(2, [9, 17, 33]), Ok(vec![[9, 17, 33], [5, 9, 17]]));
    let error = sizes(5, [1, 64, 40]).expect_err("a line of 4 elements is too short for a fifth level");
    assert!(error.message.contains("at most 4"), "{error}");
}

/// Of 128 shifts in a row along an axis of 32 voxels, each of the 32 comes twice to six times, where chance would leave some out.
#[test]
fn shifts_are_spread() {
    let wavelets = Wavelets::new(Wavelet::Haar, 5, [32, 32, 32]).expect("a transform");
    for axis in 0..3 {
        let mut seen = [0; 32];
        (0..128).for_each(|k| seen[wavelets.shift(k)[axis]] += 1);
        assert!(seen.iter().all(|n| (2..=6).contains(n)), "{axis}: {seen:?}");
    }
}
