//! Priors and steps up gradients on a GPU: against sums over pairs in f64, and against the conditions of an optimum.

use super::tests::context;
use crate::climb::tests::{Case, few_counts_make_images, given, options};
use crate::prior::tests::{POTENTIALS, are_sums_over_pairs, set};
use crate::{Algorithm, Options};
use isocenter_base::context::ContextOptions;

#[test]
fn values_and_gradients_are_sums_over_pairs() {
    let Some(context) = context(ContextOptions::default()) else { return };
    are_sums_over_pairs(&context);
}

/// As on the processor.
#[test]
fn svrg_finds_the_optimum() {
    let Some(context) = context(ContextOptions::default()) else { return };
    let case = Case::new();
    for potential in [POTENTIALS[0], POTENTIALS[1]] {
        let (given, mut pet) = (given(potential), case.plan(&context));
        set(&mut pet, &given, case.lattice.shape()).expect("valid");
        let image = case.found(&mut pet, options(Algorithm::Svrg, 100));
        let far = case.distance(Some(&given), &image);
        // Fast logarithms and divisions err by a few roundings more.
        assert!(far < 5e-6, "{potential:?}: {far:e}");
    }
}

#[test]
fn few_counts_make_images_that_explain_them() {
    let Some(context) = context(ContextOptions::default()) else { return };
    few_counts_make_images(&context);
}

/// With room for the gradients of subsets or without, from host memory or the GPU's.
#[test]
fn little_memory_makes_the_same_image() {
    let Some(plenty) = context(ContextOptions::default()) else { return };
    let case = Case::new();
    let found = |context| {
        let mut pet = case.plan(context);
        set(&mut pet, &given(POTENTIALS[0]), case.lattice.shape()).expect("valid");
        let options = Options { subsets: 10, change: 1e-9, ..options(Algorithm::Svrg, 6) };
        pet.set_options(options).expect("valid");
        let needed = pet.memory().expect("known");
        let mut image = vec![0.0; case.lattice.voxels()];
        let history = case.run(&mut pet, options, &mut image).expect("computes");
        (image, history.last().expect("passes").log_likelihood, needed)
    };
    let (wanted, likelihood, needed) = found(&plenty);
    // Room for eight volumes more than must be there: neither histo-images nor gradients of subsets fit.
    let gpu_memory_cap = needed + 8 * 4 * 8 * 17 * 18;
    let Some(little) = context(ContextOptions { gpu_memory_cap, ..ContextOptions::default() }) else { return };
    let (image, short, _) = found(&little);
    let largest = wanted.iter().fold(0.0f32, |m, v| m.max(*v));
    let error = wanted.iter().zip(&image).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(image == wanted, "{error} of {largest}");
    assert!((short - likelihood).abs() < 1e-6 * likelihood.abs(), "{short} for {likelihood}");
}
