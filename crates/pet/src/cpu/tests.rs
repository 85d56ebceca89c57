//! Gathers against plain sums in f64.

use super::columns::{Columns, Layout};
use super::gather::Gather;
use crate::cases::{ASYMMETRIC, dot, largest, lattices, noise, plain, responses, view};
use crate::lattice::Lattice;
use crate::response::{FWHM_PER_SIGMA, HALF_LIGHT, Radial, Response, Shape};
use crate::tables::Tables;
use crate::view::View;
use isocenter_base::cpu::level::Level;

pub(super) struct Case {
    pub(super) lattice: Lattice,
    pub(super) tables: Tables,
    gather: Gather,
    pub(super) layout: Layout,
}

impl Case {
    pub(super) fn new(lattice: Lattice, view: &View, response: &Response, level: Level) -> Self {
        let tables = Tables::new(&lattice, view, response).expect("valid");
        Self::of(lattice, tables, level)
    }

    pub(super) fn of(lattice: Lattice, tables: Tables, level: Level) -> Self {
        let full = tables.full().expect("memory");
        let reach = full.offsets.iter().map(|o| o[2].unsigned_abs() as usize).max().expect("offsets");
        let layout = Layout::new(&lattice, reach).expect("small");
        let gather = Gather::new(&tables, &layout, level).expect("fits");
        Self { lattice, tables, gather, layout }
    }

    pub(super) fn project(&self, forward: bool, volume: &[f32]) -> Vec<f32> {
        let mut input = Columns::zeroed(self.layout).expect("memory");
        let mut output = Columns::zeroed(self.layout).expect("memory");
        input.load(volume);
        // What was there before must not matter.
        output.load(&vec![7.0; volume.len()]);
        if forward {
            self.gather.forward(&input, &mut output);
        } else {
            self.gather.adjoint(&input, &mut output);
        }
        let mut result = vec![0.0; volume.len()];
        output.store(&mut result);
        let outside = output.data().iter().filter(|v| **v != 0.0).count();
        assert!(outside <= result.len(), "margins stay 0");
        result
    }
}

#[test]
fn gathers_equal_the_plain_sums_at_every_level() {
    for level in Level::available() {
        for lattice in lattices() {
            let volume = noise(lattice.voxels(), 5);
            for (name, response) in responses() {
                for (azimuth, tilt) in [(0.0, 0.0), (20.0, 7.0), (45.0, -7.0), (97.0, 0.0), (140.0, 9.0)] {
                    let case = Case::new(lattice, &view(azimuth, tilt), &response, level);
                    for forward in [true, false] {
                        let error = largest(
                            &case.project(forward, &volume),
                            &plain(&case.lattice, &case.tables, forward, &volume),
                        );
                        // Sums of positive terms of at most about 2 in all: each of some 300 additions rounds by 6e-8 of it,
                        // with random signs sqrt(300) * 6e-8 * 2 = 2e-6.
                        assert!(error < 4e-6, "{name} {azimuth} {tilt} forward {forward} {level:?}: {error:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn forward_and_adjoint_are_transposes() {
    for lattice in lattices() {
        let (f, y) = (noise(lattice.voxels(), 1), noise(lattice.voxels(), 2));
        for (name, response) in responses() {
            for (azimuth, tilt) in [(10.0, 0.0), (63.0, 6.67), (171.0, -6.67)] {
                let case = Case::new(lattice, &view(azimuth, tilt), &response, Level::detect());
                let (hf, hty) = (case.project(true, &f), case.project(false, &y));
                let difference = (dot(&hf, &y) - dot(&f, &hty)).abs();
                let norms = (dot(&hf, &hf) * dot(&y, &y)).sqrt();
                assert!(difference < 1e-6 * norms, "{name} {azimuth} {tilt}: {:e}", difference / norms);
            }
        }
    }
}

#[test]
fn symmetric_invariant_projections_are_one_and_others_are_not() {
    let [lattice, ..] = lattices();
    let volume = noise(lattice.voxels(), 3);
    for (name, response) in responses() {
        let case = Case::new(lattice, &view(30.0, 5.0), &response, Level::detect());
        let same = case.project(true, &volume) == case.project(false, &volume);
        assert_eq!(same, name.starts_with("invariant symmetric"), "{name}");
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let [_, lattice, _] = lattices();
    let volume = noise(lattice.voxels(), 4);
    let case = Case::new(lattice, &view(75.0, -6.0), &responses()[6].1, Level::detect());
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| [case.project(true, &volume), case.project(false, &volume)])
    };
    assert!(on(1) == on(3));
}

/// Variance of a Gaussian cut at k sigmas, over its own: 1 - 2 k phi(k) / erf(k / sqrt 2).
fn cut_variance(k: f64) -> f64 {
    let steps = 200_000;
    let (mut mass, mut square) = (0.0, 0.0);
    for i in 0..steps {
        let x = (i as f64 + 0.5) / f64::from(steps) * k;
        let g = (-0.5 * x * x).exp();
        (mass, square) = (mass + g, square + g * x * x);
    }
    square / mass
}

#[test]
fn a_point_keeps_its_place_and_gets_the_widths_of_theory() {
    let lattice = Lattice::new([41, 61, 61], [2.0; 3]).expect("valid");
    let response = Response::new(200.0, Radial::Constant(10.0), 12.0);
    let sigmas = [200.0 * HALF_LIGHT, 10.0, 12.0].map(|fwhm| fwhm / FWHM_PER_SIGMA);
    for (azimuth, tilt) in [(0.0, 0.0), (33.0, 0.0), (70.0, 6.67), (115.0, -9.0)] {
        let view = view(azimuth, tilt);
        let case = Case::new(lattice, &view, &response, Level::detect());
        let mut point = vec![0.0; lattice.voxels()];
        point[(20 * 61 + 30) * 61 + 30] = 1.0;
        let histo = case.project(true, &point);
        let total: f64 = histo.iter().map(|v| f64::from(*v)).sum();
        assert!((total - 1.0).abs() < 1e-5, "counts are kept: {total}");
        for (axis, sigma) in view.axes().into_iter().zip(sigmas) {
            let (mut mean, mut square) = (0.0, 0.0);
            for (i, v) in histo.iter().enumerate() {
                let p = lattice.centre([i % 61, i / 61 % 61, i / 3721]);
                let along: f64 = p.iter().zip(axis).map(|(a, b)| a * b).sum();
                (mean, square) = (mean + f64::from(*v) * along, square + f64::from(*v) * along * along);
            }
            assert!(mean.abs() < 1e-4, "centroid {mean} mm");
            let ratio = square / (sigma * sigma * cut_variance(3.0));
            // The cut goes by voxel centres: its place is uncertain by half a voxel of 2 in 2.1, where the density is
            // 0.9 % of the peak: about 2 % of the variance.
            assert!((ratio - 1.0).abs() < 0.025, "{azimuth} {tilt}: variance {ratio} of theory");
        }
    }
}

#[test]
fn a_point_off_the_axis_is_drawn_towards_it_by_the_forward_projection() {
    let lattice = Lattice::new([21, 61, 61], [2.0; 3]).expect("valid");
    let mut response = Response::new(150.0, Radial::Constant(8.0), 8.0);
    response.profile = ASYMMETRIC;
    let sigma = 8.0 / FWHM_PER_SIGMA;
    // At azimuth 0 the radial axis is y.
    let case = Case::new(lattice, &view(0.0, 0.0), &response, Level::detect());
    for (y, sign) in [(15, 1.0), (45, -1.0)] {
        let mut point = vec![0.0; lattice.voxels()];
        point[(10 * 61 + y) * 61 + 30] = 1.0;
        let centroid = |forward| {
            let image = case.project(forward, &point);
            let total: f64 = image.iter().map(|v| f64::from(*v)).sum();
            let rows = image.iter().enumerate().map(|(i, v)| f64::from(*v) * (i / 61 % 61) as f64);
            2.0 * (rows.sum::<f64>() / total - y as f64)
        };
        // The wide Gaussian's share times its shift, less 1 % that the cut takes from its outer end.
        let expected = sign * 0.4 * sigma;
        assert!((centroid(true) - expected).abs() < 0.03 * sigma, "{} of {expected}", centroid(true));
        assert!((centroid(false) + expected).abs() < 0.03 * sigma, "{} of {expected}", centroid(false));
    }
}

#[test]
fn the_cut_keeps_the_mass_that_is_stated() {
    let lattice = Lattice::new([61, 121, 121], [1.0; 3]).expect("valid");
    // The box keeps erf(3 / sqrt 2)^3, the ellipsoid chi-squared's distribution of three degrees at 9.
    for (shape, mass, tolerance) in [(Shape::Box, 0.9919, 0.003), (Shape::Ellipsoid, 0.9707, 0.001)] {
        for tilt in [0.0, 6.67] {
            let mut response = Response::new(150.0, Radial::Constant(8.0), 9.0);
            response.cut.shape = shape;
            let tables = Tables::new(&lattice, &view(25.0, tilt), &response).expect("valid");
            let kept = tables.mass()[0];
            assert!((kept - mass).abs() < tolerance, "{shape:?} {tilt}: {kept}");
        }
    }
}

#[test]
fn the_exported_tables_are_kernels() {
    let [lattice, ..] = lattices();
    for (name, response) in responses() {
        for tilt in [0.0, 7.0] {
            let tables = Tables::new(&lattice, &view(50.0, tilt), &response).expect("valid");
            let full = tables.full().expect("memory");
            let n = full.offsets.len();
            assert_eq!(full.values.len(), n * tables.identifiers());
            assert!(full.offsets.is_sorted_by_key(|o| [o[2], o[1], o[0]]), "{name}");
            for (i, o) in full.offsets.iter().enumerate() {
                assert_eq!(full.offsets[n - 1 - i], o.map(|c| -c), "{name}");
            }
            for row in full.values.chunks_exact(n) {
                let sum: f64 = row.iter().map(|v| f64::from(*v)).sum();
                assert!((sum - 1.0).abs() < 1e-5, "{name}: {sum}");
            }
            let max = *tables.map().iter().max().expect("voxels");
            assert_eq!(max as usize + 1, tables.identifiers(), "{name}");
        }
    }
}

/// The mean of the response over the voxel, by a fine plain rule.
#[test]
fn narrow_responses_are_integrated_over_the_voxel() {
    let lattice = Lattice::new([9, 31, 31], [4.0; 3]).expect("valid");
    let response = Response::new(120.0, Radial::Constant(4.0), 3.5);
    for tilt in [0.0, 8.0] {
        let view = view(35.0, tilt);
        let tables = Tables::new(&lattice, &view, &response).expect("valid");
        let full = tables.full().expect("memory");
        let sigmas = [120.0 * HALF_LIGHT, 4.0, 3.5].map(|fwhm| fwhm / FWHM_PER_SIGMA);
        let axes = view.axes();
        let fine = |o: &[i32; 3]| {
            let mut sum = 0.0;
            for i in 0..8000 {
                let part = [i % 20, i / 20 % 20, i / 400].map(|k| f64::from(k) / 20.0 - 0.475);
                let d: Vec<f64> = o.iter().zip(part).map(|(o, q)| 4.0 * (f64::from(*o) + q)).collect();
                let square: f64 = axes
                    .iter()
                    .zip(sigmas)
                    .map(|(e, s)| (e.iter().zip(&d).map(|(a, b)| a * b).sum::<f64>() / s).powi(2))
                    .sum();
                sum += (-0.5 * square).exp();
            }
            sum
        };
        let weights: Vec<f64> = full.offsets.iter().map(fine).collect();
        let total: f64 = weights.iter().sum();
        let peak = weights.iter().copied().fold(0.0, f64::max) / total;
        for ((o, w), v) in full.offsets.iter().zip(&weights).zip(&full.values) {
            // The plain rule errs by (0.2 / sigma)^2 / 24 = 8e-4 of a value at sigma 1.5.
            assert!((w / total - f64::from(*v)).abs() < 1e-3 * peak, "{o:?}: {} {v}", w / total);
        }
    }
}

#[test]
fn a_caller_s_own_tables_serve_as_well() {
    let lattice = Lattice::new([9, 10, 11], [4.0; 3]).expect("valid");
    let map: Vec<u32> = (0..110).map(|i| i % 3).collect();
    let offsets = [[0, 0, 0], [1, 0, 0], [-2, 3, 1], [4, -1, -2], [0, 0, 3]];
    let values = noise(15, 9);
    let tables = Tables::given(&lattice, &view(20.0, 0.0), map.clone(), &offsets, &values).expect("valid");
    let case = Case::of(lattice, tables, Level::detect());
    let volume = noise(lattice.voxels(), 8);
    for forward in [true, false] {
        let error = largest(&case.project(forward, &volume), &plain(&case.lattice, &case.tables, forward, &volume));
        assert!(error < 1e-6, "{error:e}");
    }
    // The kernel of voxel x = 5, y = 4, z = 4, identifier (4 * 11 + 5) % 3 = 1.
    let mut point = vec![0.0; 990];
    point[(4 * 10 + 4) * 11 + 5] = 1.0;
    let spread = case.project(true, &point);
    let sum: f32 = values[5..10].iter().sum();
    for (o, w) in offsets.iter().zip(&values[5..10]) {
        let at = ((4 + o[2]) * 10 + 4 + o[1]) * 11 + 5 + o[0];
        assert!((spread[at as usize] - w / sum).abs() < 1e-6, "{o:?}");
    }
    let message = |map: &[u32], offsets: &[[i32; 3]], values: &[f32]| {
        Tables::given(&lattice, &view(20.0, 0.0), map.to_vec(), offsets, values).expect_err("invalid").message
    };
    assert_eq!(message(&[0; 110], &[[0; 3], [0; 3]], &[1.0; 2]), "offsets[1], [0, 0, 0], repeats");
    assert_eq!(message(&[0; 110], &[[0, 10, 0]], &[1.0]), "offsets[0] is 10 along y; the lattice has 10 voxels");
    assert_eq!(message(&[1; 110], &[[0; 3]], &[1.0]), "map[0, 0] is 1; there are 1 kernels");
    assert_eq!(message(&[0; 110], &[[0; 3]], &[f32::NAN]), "values[0, 0] is NaN; it must be finite");
    assert_eq!(message(&[0; 110], &[[0; 3]], &[0.0]), "values[0] are all 0");
    assert!(message(&[0; 3], &[[0; 3]], &[1.0]).contains("3 entries"));
}

#[test]
fn a_response_larger_than_the_lattice_is_refused() {
    let lattice = Lattice::new([9, 10, 11], [4.0; 3]).expect("valid");
    let new = |response: &Response| Tables::new(&lattice, &view(0.0, 0.0), response).expect_err("invalid").message;
    let wide = new(&Response::new(400.0, Radial::Constant(5.8), 5.8));
    assert_eq!(
        wide,
        "response.tof_fwhm is 400 ps: kernels reach 19 voxels along x, where the lattice has 11; it must be below 230 beside the other widths"
    );
    let narrow = new(&Response::new(50.0, Radial::Constant(0.1), 5.8));
    assert_eq!(
        narrow,
        "response.radial_fwhm is 0.1 mm; it must be at least 0.188, a sigma of 0.02 voxels of 4 mm (0.1 cm would be 1 mm)"
    );
}
