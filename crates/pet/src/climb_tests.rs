//! BSREM and SVRG against the conditions of an optimum, in f64.

use super::super::prior::tests as priors;
use super::super::prior::{Given, Potential, Prior};
use crate::cases::{noise, plain, view};
use crate::{Algorithm, Histos, Iteration, Lattice, Options, Order, Pet, Radial, Response, Tables, View, Views};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, ContextOptions};
use isocenter_base::error::{Result, Status};
use std::sync::Arc;

/// A noisy scan of warm and cold places.
pub(crate) struct Case {
    pub(crate) lattice: Lattice,
    views: Vec<View>,
    response: Response,
    measured: Vec<f32>,
    factors: Vec<f32>,
    additive: Vec<f32>,
}

impl Case {
    pub(crate) fn new() -> Self {
        Self::of(7.0, 0.6, 0.0)
    }

    /// A cylinder of so many voxels, with so many additive counts in each voxel of a histo-image, and one count more in this part of them.
    fn of(radius: f32, additive: f32, strays: f32) -> Self {
        let lattice = Lattice::new([7, 18, 17], [4.0; 3]).expect("valid");
        let n = lattice.voxels();
        let views: Vec<View> = (0..20).map(|k| view(9.0 * f64::from(k), [-6.0, 0.0, 6.0][k as usize % 3])).collect();
        let response = Response::new(150.0, Radial::Constant(5.8), 5.8);
        let truth: Vec<f32> = (0..n)
            .map(|i| {
                let [x, y, z] = [i % 17, i / 17 % 18, i / (17 * 18)].map(|k| k as f32);
                let r = ((x - 8.0).powi(2) + (y - 8.5).powi(2)).sqrt();
                let hot = (x - 11.0).powi(2) + (y - 9.0).powi(2) + (z - 3.0).powi(2) < 5.0;
                if hot {
                    40.0
                } else if r < radius {
                    10.0
                } else {
                    0.0
                }
            })
            .collect();
        let factors: Vec<f32> = noise(views.len() * n, 31).into_iter().map(|v| 0.3 + 0.3 * v).collect();
        let background = vec![additive; views.len() * n];
        let mut measured = Vec::new();
        for (v, spread) in views.iter().zip(0..) {
            let tables = Tables::new(&lattice, v, &response).expect("valid");
            let expected = plain(&lattice, &tables, true, &truth);
            let (stray, noise) = (noise(n, 80 + spread), noise(n, 40 + spread));
            // Integers about as far from what is expected as counts are.
            measured.extend((0..n).map(|i| {
                let e = expected[i] * f64::from(factors[spread as usize * n + i]) + f64::from(additive);
                let count = (e + 3.46 * (f64::from(noise[i]) - 0.5) * e.sqrt()).max(0.0).round() as f32;
                if stray[i] < strays { count + 1.0 } else { count }
            }));
        }
        Self { lattice, views, response, measured, factors, additive: background }
    }

    fn shape(&self) -> [usize; 4] {
        let [nz, ny, nx] = self.lattice.shape();
        [self.views.len(), nz, ny, nx]
    }

    pub(crate) fn plan(&self, context: &Arc<Context>) -> Pet {
        let mut pet = Pet::new(context.clone());
        pet.set_geometry(self.lattice, Views::new(self.views.clone(), 0.2).expect("views")).expect("valid");
        pet.set_response(self.response.clone()).expect("valid");
        pet
    }

    /// An image, from the one that is there if the options say so.
    pub(crate) fn run(&self, pet: &mut Pet, options: Options, image: &mut [f32]) -> Result<Vec<Iteration>> {
        pet.set_options(options)?;
        let of = |values| Array::new(values, self.shape()).expect("as many");
        let histos = Histos {
            measured: of(&self.measured),
            factors: Some(of(&self.factors)),
            additive: Some(of(&self.additive)),
        };
        pet.reconstruct(&histos, ArrayMut::new(image, self.lattice.shape()).expect("as many"))?;
        Ok(pet.history().to_vec())
    }

    pub(crate) fn found(&self, pet: &mut Pet, options: Options) -> Vec<f32> {
        let mut image = vec![0.0; self.lattice.voxels()];
        self.run(pet, options, &mut image).expect("computes");
        image
    }

    /// Gradient of the log-likelihood less a prior, and sensitivity.
    fn gradient(&self, given: Option<&Given>, image: &[f32]) -> (Vec<f64>, Vec<f64>) {
        let n = self.lattice.voxels();
        let (mut gradient, mut seen) = (vec![0.0; n], vec![0.0; n]);
        for (v, of) in self.views.iter().zip(0..) {
            let tables = Tables::new(&self.lattice, v, &self.response).expect("valid");
            let expected = plain(&self.lattice, &tables, true, image);
            let a = &self.factors[of * n..][..n];
            let ratios = expected.iter().enumerate().map(|(i, e)| {
                let e = f64::from(a[i]) * e + f64::from(self.additive[of * n + i]);
                (f64::from(a[i]) * (f64::from(self.measured[of * n + i]) / e - 1.0)) as f32
            });
            let up = plain(&self.lattice, &tables, false, &ratios.collect::<Vec<f32>>());
            gradient.iter_mut().zip(up).for_each(|(g, u)| *g += u);
            let up = plain(&self.lattice, &tables, false, a);
            seen.iter_mut().zip(up).for_each(|(s, u)| *s += u);
        }
        if let Some(given) = given {
            let (_, slopes) = priors::plain(&self.lattice, given, image);
            gradient.iter_mut().zip(slopes).for_each(|(g, s)| *g -= s);
        }
        (gradient, seen)
    }

    /// How far an image is from the optimum: the largest step that its gradient asks for, as of MLEM, over the mean of the image.
    pub(crate) fn distance(&self, given: Option<&Given>, image: &[f32]) -> f64 {
        let (gradient, seen) = self.gradient(given, image);
        let mean = image.iter().map(|v| f64::from(*v)).sum::<f64>() / image.len() as f64;
        let step = |((f, g), s): ((&f32, &f64), &f64)| {
            let f = f64::from(*f);
            // From 0 up as from a hundredth of the mean.
            ((f + 0.01 * mean) * g / s).max(-f).abs() / mean
        };
        image.iter().zip(&gradient).zip(&seen).map(step).fold(0.0, f64::max)
    }
}

fn context() -> Arc<Context> {
    Arc::new(Context::new(ContextOptions::default()).expect("a context"))
}

/// Smooths some ten per cent of noise.
pub(crate) fn given(potential: Potential) -> Given {
    let strength = match potential {
        Potential::RelativeDifference { .. } => 0.6,
        Potential::Quadratic { .. } => 0.1,
    };
    Given { prior: Prior { potential, strength, anatomy_sigma: 0.0 }, weights: None, anatomy: None }
}

pub(crate) fn options(algorithm: Algorithm, iterations: usize) -> Options {
    Options { algorithm, iterations, ..Options::default() }
}

fn difference(a: &[f32], b: &[f32]) -> f64 {
    let square = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>();
    let apart = square(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
    (apart / square(&mut b.iter().map(|v| f64::from(*v)))).sqrt()
}

/// From the conditions of an optimum, not from what another algorithm finds.
#[test]
fn svrg_finds_the_optimum() {
    let case = Case::new();
    let edge = Potential::Quadratic { edge: 3.0 };
    for potential in [priors::POTENTIALS[0], priors::POTENTIALS[1], priors::POTENTIALS[2], edge] {
        let (given, mut pet) = (given(potential), case.plan(&context()));
        priors::set(&mut pet, &given, case.lattice.shape()).expect("valid");
        let [few, many] = [7, 100].map(|passes| case.found(&mut pet, options(Algorithm::Svrg, passes)));
        let [few, many] = [few, many].map(|image| case.distance(Some(&given), &image));
        // Rounding alone makes steps of 4e-7. Quadratic priors take voxels to 0, which go there like 1 / passes.
        let bound = if matches!(potential, Potential::Quadratic { .. }) { 3e-4 } else { 2e-6 };
        assert!(many < bound && few < 0.1, "{potential:?}: {few:e}, {many:e}");
    }
}

#[test]
fn without_a_prior_it_goes_to_the_largest_likelihood() {
    let case = Case::new();
    let mut pet = case.plan(&context());
    let mut image = vec![0.0; case.lattice.voxels()];
    let [climbed, mlem] = [(Algorithm::Svrg, 40), (Algorithm::Mlem, 80)].map(|(algorithm, passes)| {
        let history = case.run(&mut pet, options(algorithm, passes), &mut image).expect("computes");
        history.last().expect("passes").log_likelihood
    });
    let sum: f32 = case.measured.iter().sum();
    // It goes beyond what MLEM finds in twice as many passes, each of which raises the likelihood.
    assert!(climbed > mlem, "{climbed} after {mlem} of {sum} counts");
}

/// BSREM's errors go with its steps, 1 / (1 + k / 10): an eleventh after 160 passes of that after 5, and a sixth is asked for.
#[test]
fn bsrem_goes_to_the_same_image() {
    let case = Case::new();
    let given = given(priors::POTENTIALS[0]);
    let mut pet = case.plan(&context());
    priors::set(&mut pet, &given, case.lattice.shape()).expect("valid");
    let wanted = case.found(&mut pet, options(Algorithm::Svrg, 60));
    let errors =
        [5, 20, 160].map(|passes| difference(&case.found(&mut pet, options(Algorithm::Bsrem, passes)), &wanted));
    assert!(errors[0] > errors[1] && errors[1] > errors[2] && errors[2] < errors[0] / 6.0, "{errors:?}");
}

/// Where there is no room for the subsets' gradients they are found again: the same to the bit.
#[test]
fn little_memory_makes_the_same_image() {
    let case = Case::new();
    let given = given(priors::POTENTIALS[0]);
    let found = |memory_cap| {
        let context = Context::new(ContextOptions { memory_cap, ..ContextOptions::default() }).expect("a context");
        let mut pet = case.plan(&Arc::new(context));
        priors::set(&mut pet, &given, case.lattice.shape()).expect("valid");
        let options = Options { subsets: 10, ..options(Algorithm::Svrg, 6) };
        pet.set_options(options).expect("valid");
        let needed = pet.memory().expect("known");
        let mut image = vec![0.0; case.lattice.voxels()];
        (case.run(&mut pet, options, &mut image).expect("computes"), image, needed)
    };
    let (history, image, needed) = found(0);
    // Room for 3 volumes more than must be there.
    let (short_history, short, _) = found(needed + 3 * 4 * 7 * 20 * 20);
    assert_eq!(history, short_history);
    assert!(short == image, "{:e}", difference(&short, &image));
}

/// Where next to nothing is expected of a count, its gradient is huge, and what it was for an earlier image says nothing.
#[test]
fn stray_counts_do_no_harm() {
    let case = Case::of(4.0, 1e-4, 0.01);
    let counts: f64 = case.measured.iter().map(|v| f64::from(*v)).sum();
    let mut pet = case.plan(&context());
    let mut seen = vec![0.0; case.lattice.voxels()];
    let factors = Array::new(&case.factors, case.shape()).expect("as many");
    let to = ArrayMut::new(&mut seen, case.lattice.shape()).expect("as many");
    pet.sensitivity(Some(factors), to).expect("computes");
    let mut image = vec![0.0; case.lattice.voxels()];
    let mut likelihoods = Vec::new();
    for (algorithm, subsets) in [(Algorithm::Svrg, 4), (Algorithm::Svrg, 20), (Algorithm::Bsrem, 4)] {
        let options = Options { subsets, ..options(algorithm, 30) };
        let history = case.run(&mut pet, options, &mut image).expect("computes");
        likelihoods.push(history.last().expect("passes").log_likelihood);
        // At the largest likelihood, and so about there, the image explains as many counts as there are.
        let explained: f64 = image.iter().zip(&seen).map(|(f, s)| f64::from(*f) * f64::from(*s)).sum();
        assert!((explained / counts - 1.0).abs() < 0.02, "{algorithm:?} {subsets}: {explained} of {counts}");
    }
    assert!(likelihoods[0] > likelihoods[2], "{likelihoods:?}");
}

impl Case {
    /// The first counts alone, without additive ones.
    fn thinned(mut self, counts: usize) -> Self {
        self.additive.fill(0.0);
        let mut left = counts;
        for (k, v) in self.measured.iter_mut().enumerate() {
            // Spread over all views.
            let is_kept = *v > 0.0 && left > 0 && (k * 7919).is_multiple_of(101);
            *v = if is_kept { 1.0 } else { 0.0 };
            left -= usize::from(is_kept);
        }
        self
    }

    /// Counts that an image explains.
    fn explained(&self, pet: &mut Pet, image: &[f32]) -> f64 {
        let mut seen = vec![0.0; self.lattice.voxels()];
        let factors = Array::new(&self.factors, self.shape()).expect("as many");
        pet.sensitivity(Some(factors), ArrayMut::new(&mut seen, self.lattice.shape()).expect("as many"))
            .expect("computes");
        image.iter().zip(&seen).map(|(f, s)| f64::from(*f) * f64::from(*s)).sum()
    }
}

/// Subsets that have next to no counts, as all of few views or those that the caller wants: images go to the largest likelihood, which explains all counts, and none is skipped or 0. MLEM has gone
/// there but for a thousandth of the counts after 200 passes; steps that have been halved go as far in 80.
pub(crate) fn few_counts_make_images(context: &Arc<Context>) {
    let case = Case::new().thinned(300);
    let counts: f64 = case.measured.iter().map(|v| f64::from(*v)).sum();
    assert!((100.0..=300.0).contains(&counts), "{counts}");
    let mut pet = case.plan(context);
    let mut image = vec![0.0; case.lattice.voxels()];
    let mlem = case.run(&mut pet, options(Algorithm::Mlem, 200), &mut image).expect("computes");
    let wanted = mlem.last().expect("passes").log_likelihood;
    for (algorithm, subsets, off) in
        [(Algorithm::Svrg, 0, 0.01), (Algorithm::Svrg, 20, 0.03), (Algorithm::Bsrem, 0, 0.1)]
    {
        let options = Options { subsets, ..options(algorithm, 80) };
        let last = *case.run(&mut pet, options, &mut image).expect("computes").last().expect("passes");
        let explained = case.explained(&mut pet, &image);
        assert!((explained / counts - 1.0).abs() < 0.03, "{algorithm:?} {subsets}: {explained} of {counts}");
        assert!(last.skipped == 0 && last.log_likelihood > wanted - off * counts, "{algorithm:?}: {last:?} {wanted}");
    }
    for count in [1, 3] {
        let case = Case::new().thinned(count);
        let mut pet = case.plan(context);
        for algorithm in [Algorithm::Svrg, Algorithm::Bsrem, Algorithm::Osem] {
            let last =
                *case.run(&mut pet, options(algorithm, 20), &mut image).expect("computes").last().expect("passes");
            let explained = case.explained(&mut pet, &image);
            assert!(
                last.skipped == 0 && (explained / count as f64 - 1.0).abs() < 0.3,
                "{algorithm:?} {count}: {explained}"
            );
        }
    }
}

#[test]
fn few_counts_make_images_that_explain_them() {
    few_counts_make_images(&context());
}

/// Voxels whose counts one subset has and another has not: steps over the sensitivity alone go beyond the optimum, and back, for ever.
#[test]
fn single_counts_settle() {
    let mut case = Case::new();
    case.additive.fill(0.0);
    // One count of 20 is kept, and so three a voxel of the image.
    let kept = noise(case.measured.iter().sum::<f32>() as usize, 5);
    let mut draws = kept.iter();
    for v in &mut case.measured {
        *v = draws.by_ref().take(*v as usize).filter(|u| **u < 0.05).count() as f32;
    }
    // Voxels that are as large as the resolution share few counts with their neighbours.
    case.response = Response::new(150.0, Radial::Constant(1.7), 1.7);
    let (counts, voxels) = (case.measured.iter().sum::<f32>(), case.lattice.voxels() as f32);
    assert!((2.0..4.0).contains(&(counts / voxels)), "{counts}");
    let given =
        Given { prior: Prior { strength: 0.03, ..given(priors::POTENTIALS[0]).prior }, weights: None, anatomy: None };
    let mut pet = case.plan(&context());
    priors::set(&mut pet, &given, case.lattice.shape()).expect("valid");
    let mut image = vec![0.0; case.lattice.voxels()];
    let until = Options { change: 1e-3, subsets: 10, ..options(Algorithm::Svrg, 100) };
    let history = case.run(&mut pet, until, &mut image).expect("computes");
    let change = history.last().expect("passes").change;
    // It takes 34, and others 100 and more.
    assert!(history.len() < 60 && change <= 1e-3, "{} passes, {change:e}", history.len());
}

#[test]
fn what_no_view_sees_is_nobodys_neighbour() {
    let mut case = Case::new();
    let [_, nz, ny, nx] = case.shape();
    let n = nz * ny * nx;
    // Kernels reach 8 voxels along x.
    let unseen = |i: usize| i % nx < 10;
    case.factors.iter_mut().enumerate().filter(|(i, _)| unseen(i % n)).for_each(|(_, a)| *a = 0.0);
    let given = given(priors::POTENTIALS[0]);
    let mut pet = case.plan(&context());
    priors::set(&mut pet, &given, case.lattice.shape()).expect("valid");
    let image = case.found(&mut pet, options(Algorithm::Svrg, 300));
    assert!((0..n).filter(|i| i % nx < 2).all(|i| image[i] == 0.0), "what none sees is 0");
    let mut seen = vec![0.0; n];
    let factors = Array::new(&case.factors, case.shape()).expect("as many");
    pet.sensitivity(Some(factors), ArrayMut::new(&mut seen, case.lattice.shape()).expect("as many")).expect("computes");
    let weights = seen.iter().map(|s| if *s > 0.0 { 1.0 } else { 0.0 }).collect();
    let weighted = Given { weights: Some(weights), ..given };
    let (gradient, sensitivity) = case.gradient(Some(&weighted), &image);
    let mean = image.iter().sum::<f32>() / n as f32;
    let largest = (0..n).filter(|i| seen[*i] > 0.0).fold(0.0f64, |largest, i| {
        let f = f64::from(image[i]);
        largest.max((f * gradient[i] / sensitivity[i]).abs() / f64::from(mean))
    });
    // Where 1e-3 of a view sees a voxel, its neighbours tell what it is, and slowly. One that were 0 would pull by 100 means.
    assert!(largest < 0.1, "{largest:e}");
}

#[test]
fn passes_end_when_they_change_little() {
    let case = Case::new();
    let mut pet = case.plan(&context());
    priors::set(&mut pet, &given(priors::POTENTIALS[0]), case.lattice.shape()).expect("valid");
    let mut image = vec![0.0; case.lattice.voxels()];
    let all = Options { change: 1e-3, ..options(Algorithm::Svrg, 50) };
    let history = case.run(&mut pet, all, &mut image).expect("computes");
    let (last, before) = history.split_last().expect("passes");
    assert!(history.len() < 50 && last.change <= 1e-3 && last.region_change == 0.0, "{history:?}");
    // Passes 1, 4, 7 are one step.
    let judged = before.iter().enumerate().filter(|(k, _)| k % 3 != 1);
    assert!(judged.clone().count() > 2 && judged.clone().all(|(_, i)| i.change > 1e-3), "{history:?}");
    assert!((history.len() - 1) % 3 != 1);
    // Going on changes as little.
    let mut again = image.clone();
    let warm = Options { warm_start: true, iterations: 1, change: 0.5, ..all };
    case.run(&mut pet, warm, &mut again).expect("computes");
    assert!(difference(&again, &image) < 1e-3);

    let labels: Vec<u8> = (0..image.len()).map(|i| u8::from(i % 17 == 8) + 2 * u8::from(i % 17 == 9)).collect();
    let regions = || Array::of(&labels, case.lattice.shape()).expect("as many");
    let by_regions = Options { region_change: 1e-3, ..options(Algorithm::Osem, 50) };
    let climbs = Options { algorithm: Algorithm::Svrg, ..by_regions };
    let error = case.run(&mut pet, climbs, &mut image).expect_err("no regions");
    assert!(error.status == Status::NotConfigured && error.message.contains("isoc_pet_set_regions"), "{error}");
    pet.set_regions(Some(regions())).expect("valid");
    pet.set_prior(None).expect("none");
    let history = case.run(&mut pet, by_regions, &mut image).expect("computes");
    let last = history.last().expect("passes");
    assert!(history.len() < 50 && last.region_change <= 1e-3 && last.region_change > 0.0, "{history:?}");
    // Both must hold.
    let both = Options { change: 1e-9, ..by_regions };
    assert_eq!(case.run(&mut pet, both, &mut image).expect("computes").len(), 50);
}

#[test]
fn images_of_zeros_come_back() {
    let case = Case::new();
    let mut pet = case.plan(&context());
    priors::set(&mut pet, &given(priors::POTENTIALS[0]), case.lattice.shape()).expect("valid");
    let mut image = vec![0.0; case.lattice.voxels()];
    let warm = Options { warm_start: true, ..options(Algorithm::Svrg, 40) };
    case.run(&mut pet, warm, &mut image).expect("computes");
    let wanted = case.found(&mut pet, options(Algorithm::Svrg, 40));
    let error = difference(&image, &wanted);
    assert!(error < 0.05, "{error}");
}

#[test]
fn orders_are_of_subsets() {
    let case = Case::new();
    let given = given(priors::POTENTIALS[0]);
    let mut pet = case.plan(&context());
    priors::set(&mut pet, &given, case.lattice.shape()).expect("valid");
    let of = |seed, passes| Options { order: Order::Random(seed), ..options(Algorithm::Svrg, passes) };
    let [a, b] = [3, 4].map(|seed| case.found(&mut pet, of(seed, 1)));
    assert!(a != b && a == case.found(&mut pet, of(3, 1)));
    let far = case.distance(Some(&given), &case.found(&mut pet, of(3, 100)));
    assert!(far < 2e-6, "{far:e}");
}

#[test]
fn what_priors_cannot_be_with_is_an_error() {
    let case = Case::new();
    let mut pet = case.plan(&context());
    priors::set(&mut pet, &given(priors::POTENTIALS[0]), case.lattice.shape()).expect("valid");
    let mut image = vec![5.0; case.lattice.voxels()];
    for (algorithm, name) in
        [(Algorithm::Ramla, "0 (ramla)"), (Algorithm::Osem, "1 (osem)"), (Algorithm::Mlem, "2 (mlem)")]
    {
        let error = case.run(&mut pet, options(algorithm, 1), &mut image).expect_err("a prior");
        assert!(error.status == Status::OutOfRange && error.message.contains(name), "{error}");
    }
    assert!(image.iter().all(|v| *v == 5.0));
    let error = case.run(&mut pet, Options { subsets: 21, ..options(Algorithm::Svrg, 1) }, &mut image).expect_err("21");
    assert!(error.message.contains("there are 20 views"), "{error}");
    for change in [-1.0, f64::NAN] {
        let error = pet.set_options(Options { change, ..options(Algorithm::Svrg, 1) }).expect_err("no change");
        assert!(error.message.contains("stop_change"), "{error}");
    }
    pet.set_prior(None).expect("none");
    case.run(&mut pet, options(Algorithm::Ramla, 1), &mut image).expect("computes");
}
