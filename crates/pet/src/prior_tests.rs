//! Priors against sums over pairs in f64, whose gradients are differences of values.

use super::*;
use crate::cases::{lattices, noise};
use crate::engine::Engine;
use crate::values::Sign;
use crate::{Pet, Response, View, Views};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, ContextOptions, NanPolicy};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Status;
use std::sync::Arc;

pub(crate) const POTENTIALS: [Potential; 4] = [
    Potential::RelativeDifference { gamma: 2.0, epsilon: 0.0 },
    Potential::RelativeDifference { gamma: 0.4, epsilon: 0.2 },
    Potential::Quadratic { edge: 0.0 },
    Potential::Quadratic { edge: 0.15 },
];

/// phi as its definition has it.
pub(crate) fn phi(potential: Potential, f: f64, g: f64) -> f64 {
    match potential {
        Potential::RelativeDifference { gamma, epsilon } => {
            let sum = f + g + gamma * (f - g).abs() + epsilon;
            if sum == 0.0 { 0.0 } else { (f - g) * (f - g) / sum }
        }
        Potential::Quadratic { edge: 0.0 } => (f - g) * (f - g) / 2.0,
        Potential::Quadratic { edge } => edge * edge * ((1.0 + ((f - g) / edge).powi(2)).sqrt() - 1.0),
    }
}

/// Slope of phi by f.
fn slope(potential: Potential, f: f64, g: f64) -> f64 {
    // Errors are of the order h^2 and 1e-16 / h of numbers up to 1.
    let h = 1e-6;
    // At 0, 0 relative differences have an edge, where 0 is one of the slopes.
    if f + g == 0.0 { 0.0 } else { (phi(potential, f + h, g) - phi(potential, f - h, g)) / (2.0 * h) }
}

/// Voxels that are neighbours, each pair from both its ends, with the part of its weight that is of their places.
fn pairs(lattice: &Lattice) -> Vec<(usize, usize, f64)> {
    let ([nz, ny, nx], voxel) = (lattice.shape(), lattice.voxel());
    let mut all = Vec::new();
    for i in 0..lattice.voxels() {
        let at = [i % nx, i / nx % ny, i / (nx * ny)].map(|k| k as i64);
        for k in 0..27 {
            let step = [k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1];
            let there: [i64; 3] = std::array::from_fn(|d| at[d] + step[d]);
            let inside = there.iter().zip([nx, ny, nz]).all(|(c, n)| (0..n as i64).contains(c));
            if step != [0; 3] && inside {
                let distance = (0..3).map(|d| (step[d] as f64 * voxel[d]).powi(2)).sum::<f64>().sqrt();
                let other = (there[2] as usize * ny + there[1] as usize) * nx + there[0] as usize;
                all.push((i, other, voxel[0] / distance));
            }
        }
    }
    all
}

/// Value and gradient.
pub(crate) fn plain(lattice: &Lattice, given: &Given, image: &[f32]) -> (f64, Vec<f64>) {
    let (mut value, mut gradient) = (0.0, vec![0.0; image.len()]);
    for (i, j, mut weight) in pairs(lattice) {
        weight *= given.prior.strength;
        if let Some(of) = &given.weights {
            weight *= f64::from(of[i]) * f64::from(of[j]);
        }
        if let Some(anatomy) = &given.anatomy {
            weight *= (-0.5 * (f64::from(anatomy[i] - anatomy[j]) / given.prior.anatomy_sigma).powi(2)).exp();
        }
        let (f, g) = (f64::from(image[i]), f64::from(image[j]));
        value += 0.5 * weight * phi(given.prior.potential, f, g);
        gradient[i] += weight * slope(given.prior.potential, f, g);
    }
    (value, gradient)
}

/// With weights, some of which are 0, and an anatomical image, or without.
pub(crate) fn given(potential: Potential, voxels: usize, with: [bool; 2]) -> Given {
    let [weights, anatomy] = with;
    let weights = weights.then(|| noise(voxels, 21).into_iter().map(|v| if v < 0.1 { 0.0 } else { v }).collect());
    let prior = Prior { potential, strength: 0.7, anatomy_sigma: if anatomy { 0.3 } else { 0.0 } };
    Given { prior, weights, anatomy: anatomy.then(|| noise(voxels, 22)) }
}

/// A plan with one view.
fn plan(context: &Arc<Context>, lattice: Lattice) -> Pet {
    let mut pet = Pet::new(context.clone());
    let views = Views::new(vec![View { azimuth: 0.3, tilt: 0.0 }], 0.2).expect("a view");
    pet.set_geometry(lattice, views).expect("valid");
    let [_, ny, nx] = lattice.shape();
    pet.set_tables(0, &vec![0; ny * nx], &[[0; 3]], &[1.0]).expect("valid");
    pet
}

pub(crate) fn set(pet: &mut Pet, given: &Given, shape: [usize; 3]) -> Result<()> {
    let images = [&given.weights, &given.anatomy];
    pet.set_prior(Some((given.prior, images.map(|v| v.as_ref().map(|v| Array::new(v, shape).expect("as many"))))))
}

/// Of all potentials, on lattices with one voxel along an axis, too.
pub(crate) fn are_sums_over_pairs(context: &Arc<Context>) {
    let flat = [([1, 6, 5], [4.0; 3]), ([21, 1, 4], [3.0, 4.0, 5.0]), ([2, 7, 1], [4.0; 3])];
    let flat = flat.map(|(shape, voxel)| Lattice::new(shape, voxel).expect("valid"));
    for lattice in lattices().into_iter().chain(flat) {
        let mut pet = plan(context, lattice);
        let (shape, n) = (lattice.shape(), lattice.voxels());
        // Some are 0, next to each other as well.
        let image: Vec<f32> = noise(n, 20).into_iter().map(|v| if v < 0.3 { 0.0 } else { v }).collect();
        for potential in POTENTIALS {
            for with in [[false, false], [true, false], [false, true], [true, true]] {
                let given = given(potential, n, with);
                set(&mut pet, &given, shape).expect("valid");
                let mut gradient = vec![7.0; n];
                let to = ArrayMut::new(&mut gradient, shape).expect("as many");
                let value =
                    pet.prior_gradient(Array::new(&image, shape).expect("as many"), Some(to)).expect("computes");
                let (wanted, slopes) = plain(&lattice, &given, &image);
                // Each term has some five roundings of 6e-8, and sums of 26 terms as many of theirs.
                assert!((value - wanted).abs() < 1e-6 * wanted, "{shape:?} {given:?}: {value} for {wanted}");
                let largest = slopes.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                let error = gradient.iter().zip(&slopes).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
                // As the value; differences of phi at distances of 2e-6 err by 1e-10.
                assert!(error < 2e-6 * largest, "{shape:?} {potential:?} {with:?}: {error:e} of {largest}");
            }
        }
    }
}

#[test]
fn values_and_gradients_are_sums_over_pairs() {
    for level in Level::available() {
        let options = ContextOptions { level: Some(level), ..ContextOptions::default() };
        are_sums_over_pairs(&Arc::new(Context::new(options).expect("a context")));
    }
}

/// Second derivatives by differences of slopes; of edges the slope over the difference, which bounds them.
#[test]
fn curvatures_are_second_derivatives_or_bounds() {
    let lattice = Lattice::new([5, 4, 6], [4.0; 3]).expect("valid");
    let n = lattice.voxels();
    let image: Vec<f32> = noise(n, 23).into_iter().map(|v| 0.2 + v).collect();
    for potential in POTENTIALS {
        let given = given(potential, n, [true, true]);
        let scan = crate::engine::Scan {
            lattice,
            views: vec![View { azimuth: 0.3, tilt: 0.0 }],
            response: Some(Response::new(100.0, crate::Radial::Constant(5.8), 5.8)),
            given: vec![None],
            method: crate::Method::default(),
        };
        let mut e = crate::cpu::engine::CpuEngine::new(Level::detect(), scan).expect("valid");
        let placed = e.place(&given).expect("memory");
        let from = Array::new(&image, lattice.shape()).expect("as many");
        let image_there = e.read(&from, "image", NanPolicy::Error, Sign::Any).expect("finite");
        let (mut slopes, mut curvature) = (e.zeros().expect("memory"), e.zeros().expect("memory"));
        e.slopes(&placed, &image_there, [&mut slopes, &mut curvature]).expect("computes");
        let mut found = vec![0.0; n];
        e.write(&curvature, &mut ArrayMut::new(&mut found, lattice.shape()).expect("as many")).expect("written");
        let mut wanted = vec![0.0; n];
        for (i, j, mut weight) in pairs(&lattice) {
            weight *= given.prior.strength;
            for (of, is_anatomy) in [(&given.weights, false), (&given.anatomy, true)] {
                let of = of.as_ref().expect("given");
                weight *= match is_anatomy {
                    true => (-0.5 * (f64::from(of[i] - of[j]) / given.prior.anatomy_sigma).powi(2)).exp(),
                    false => f64::from(of[i]) * f64::from(of[j]),
                };
            }
            let (f, g) = (f64::from(image[i]), f64::from(image[j]));
            let h = 1e-4;
            let phi = |f: f64| phi(potential, f, g);
            let second = match potential {
                Potential::Quadratic { edge } if edge > 0.0 && f != g => slope(potential, f, g) / (f - g),
                _ => (phi(f + h) - 2.0 * phi(f) + phi(f - h)) / (h * h),
            };
            wanted[i] += weight * second;
        }
        // Relative differences have a third derivative that steps where f = g: by h times as much in one of many thousand pairs. Others err by 1e-16 / h^2.
        let largest = wanted.iter().fold(0.0f64, |m, v| m.max(*v));
        let error = found.iter().zip(&wanted).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
        assert!(error < 1e-4 * largest, "{potential:?}: {error:e} of {largest}");
    }
}

#[test]
fn what_makes_no_prior_is_an_error() {
    let lattice = Lattice::new([3, 4, 5], [4.0; 3]).expect("valid");
    let (shape, n) = (lattice.shape(), lattice.voxels());
    let mut pet = plan(&Arc::new(Context::new(ContextOptions::default()).expect("a context")), lattice);
    let image = noise(n, 1);
    let from = || Array::new(&image, shape).expect("as many");
    assert_eq!(pet.prior_gradient(from(), None).expect_err("no prior").status, Status::NotConfigured);
    let good = given(POTENTIALS[0], n, [true, true]);
    let with = |change: &dyn Fn(&mut Given)| {
        let mut given = good.clone();
        change(&mut given);
        given
    };
    let of = |gamma, epsilon| Potential::RelativeDifference { gamma, epsilon };
    for (case, status, word) in [
        (with(&|g| g.prior.strength = -1.0), Status::OutOfRange, "prior.strength is -1"),
        (with(&|g| g.prior.strength = f64::NAN), Status::NotFiniteParameter, "prior.strength"),
        (with(&|g| g.prior.potential = of(-2.0, 0.0)), Status::OutOfRange, "prior.gamma"),
        (with(&|g| g.prior.potential = of(2.0, f64::INFINITY)), Status::NotFiniteParameter, "prior.epsilon"),
        (with(&|g| g.prior.potential = Potential::Quadratic { edge: -0.1 }), Status::OutOfRange, "prior.edge"),
        (with(&|g| g.prior.anatomy_sigma = 0.0), Status::OutOfRange, "anatomy_sigma is 0 with an anatomical image"),
        (with(&|g| g.anatomy = None), Status::OutOfRange, "anatomy_sigma is 0.3 without"),
        (with(&|g| g.weights = Some(vec![-0.5; n])), Status::OutOfRange, "weights[0, 0, 0] is -0.5"),
        (with(&|g| g.anatomy = Some(vec![f32::NAN; n])), Status::NotFiniteData, "anatomy[0, 0, 0]"),
    ] {
        let error = set(&mut pet, &case, shape).expect_err(word);
        assert!(error.status == status && error.message.contains(word), "{error}");
    }
    set(&mut pet, &good, shape).expect("valid");
    let negative = vec![-1.0; n];
    let error = pet.prior_gradient(Array::new(&negative, shape).expect("as many"), None).expect_err("negative");
    assert!(error.message.contains("image[0, 0, 0] is -1"), "{error}");
}
