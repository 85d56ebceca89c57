//! From counts of a frame to its image: what histo-images and lines have alike.

use super::attenuation;
use super::counts::{Counted, Frame};
use super::found::Found;
use super::images::Volume;
use super::lattice::Lattice;
use super::options::MethodOptions;
use super::petsird::{Pairs, Scanner};
use super::told::general;
use crate::stopwatch::Stopwatch;
use crate::watch::Watch;
use anyhow::Result;
use isocenter::array::{Array, ArrayMut};
use isocenter::context::Context;
use isocenter::pet::corrections::FactorOptions;
use isocenter::pet::factors::{Accidentals, Acquisition};
use isocenter::pet::scanner::Pairs as Plan;
use isocenter::pet::scatter::{EnergyWindow, Model};
use isocenter::pet::{Algorithm, Options, Pet, Potential, Prior};
use std::sync::Arc;

/// Passes of "svrg" and "bsrem" end when one has changed the image by no more; if the last one changed it by more than the second it is told.
const SETTLED: f64 = 1e-3;
const UNSETTLED: f64 = 0.02;
/// What a prior may take of the counts, or make of them, without a word: given back, means of regions are within 2 percent.
const TAKEN: f64 = 0.06;
pub(super) const SMOOTHNESS: f64 = 0.02;
/// How early the prior keeps edges.
const GAMMA: f64 = 2.0;
/// What scatter is made of: images that have the activity, which may be noisy.
pub(super) const DRAFT: usize = 3;
/// Part of the run that reading is, about.
pub(super) const READING: f64 = 0.3;

/// How far a run is, in passes over the views.
pub(super) struct Steps<'a> {
    watch: &'a Watch,
    done: f64,
    all: f64,
}

/// What factors, randoms and scatter are worth, about.
pub(super) const STEP: f64 = 3.0;

impl<'a> Steps<'a> {
    pub(super) fn new(watch: &'a Watch, frames: usize, method: &MethodOptions) -> Self {
        let passes = method.iterations.unwrap_or(method.algorithm.passes()) as f64;
        let scatter = f64::from(method.scatter) * (DRAFT as f64 + STEP);
        Self { watch, done: 0.0, all: frames as f64 * (4.0 * STEP + scatter + passes) }
    }

    /// Calls that follow are worth so many passes.
    pub(super) fn next(&mut self, passes: f64) {
        let part = (1.0 - READING) / self.all;
        self.watch.part(READING + self.done * part, passes * part);
        self.done += passes;
    }
}

/// What images are made with.
pub(super) struct Scan<'a> {
    pub(super) context: Arc<Context>,
    pub(super) pet: Pet,
    /// Of the frame.
    pub(super) scanner: Arc<Scanner>,
    pub(super) recorded: Option<Recorded>,
    pub(super) lattice: &'a Lattice,
    pub(super) map: Option<Arc<Volume>>,
    pub(super) method: &'a MethodOptions,
    pub(super) steps: Steps<'a>,
    pub(super) doubt: &'a dyn Fn(String),
    pub(super) stopwatch: Stopwatch,
}

/// Single photons a second of each crystal that the file has, where there are no delays, and the pairs that randoms of them are of.
pub(super) struct Recorded {
    pub(super) rates: Vec<f32>,
    pub(super) pairs: Option<Pairs>,
}

/// In Bq/ml before calibration, and the counts of each voxel a Bq/ml.
pub(super) struct Made {
    pub(super) image: Vec<f32>,
    pub(super) sensitivity: Vec<f32>,
}

impl Scan<'_> {
    /// What there is of the frame of the next image.
    pub(super) fn take(&mut self, scanner: Arc<Scanner>, recorded: Option<Recorded>) -> Result<()> {
        // Each frame's is the scanner itself, or one of its own.
        if !Arc::ptr_eq(&scanner, &self.scanner) {
            self.pet.set_pairs(scanner.pairs.as_ref().map(Pairs::plan).transpose()?)?;
        }
        (self.scanner, self.recorded) = (scanner, recorded);
        Ok(())
    }

    pub(super) fn image(&mut self, of: &mut Found, frame: &Frame, acquisition: Acquisition) -> Result<Made> {
        let options = self.options(acquisition);
        match &frame.counted {
            Counted::Histos(measured) => self.by_histos(of, measured, &frame.sums, &options),
            Counted::Lines(list) => self.along_lines(of, list, &frame.sums, &options),
        }
    }

    /// Of a part that has no counts.
    pub(super) fn without_counts(&mut self, frame: &Frame, acquisition: Acquisition) -> Result<Made> {
        let options = self.options(acquisition);
        let sensitivity = match &frame.counted {
            Counted::Histos(_) => {
                let factors = self.factors(&options)?;
                self.sensitivity(&factors)?
            }
            Counted::Lines(_) => self.line_sensitivity(&options)?,
        };
        Ok(Made { image: vec![0.0; sensitivity.len()], sensitivity })
    }

    fn options(&self, acquisition: Acquisition) -> FactorOptions {
        let mut options = FactorOptions { acquisition, ..FactorOptions::default() };
        if let Some(map) = &self.map {
            options.map_voxel = map.voxel;
            options.map_centre = [0, 1, 2].map(|k| map.centre[k] - self.lattice.centre[k]);
        }
        options
    }

    /// Which voxels attenuate as a body does; without a map, all.
    pub(super) fn body(&self) -> Vec<bool> {
        let Lattice { shape, voxel, centre, .. } = self.lattice;
        match &self.map {
            Some(map) => attenuation::body(map, *shape, *voxel, *centre),
            None => vec![true; shape.iter().product()],
        }
    }

    /// Mean of the sensitivity over what is seen of the body.
    pub(super) fn mean_sensitivity(&self, image: &[f32]) -> f64 {
        let body = self.body();
        let is_inside = |k: usize| image[k] > 0.0 && body[k];
        let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
        let inside: Vec<_> = (0..image.len()).filter(|k| is_inside(*k)).map(|k| f64::from(image[k])).collect();
        mean(if inside.is_empty() { image.iter().map(|v| f64::from(*v)).collect() } else { inside })
    }

    /// By which randoms are made of delays.
    pub(super) fn accidentals(&self, duration: f64) -> Result<Accidentals> {
        let window =
            if self.scanner.times.has_widths() { self.scanner.times.window } else { self.pet.random_window()? };
        Ok(Accidentals { duration, window })
    }

    /// Photons a second of each crystal: of delays over the fans of each, or as the file has them; None without any.
    pub(super) fn singles(&self, sums: &[u32], of: &Accidentals) -> Result<Option<Vec<f32>>> {
        if let Some(recorded) = &self.recorded {
            return Ok(Some(recorded.rates.clone()));
        }
        if sums.iter().all(|n| *n == 0) {
            return Ok(None);
        }
        let mut singles = vec![0f32; sums.len()];
        let to = &mut ArrayMut::of(&mut singles, [sums.len()])?;
        self.pet.singles(0.0, of, &Array::of(sums, [sums.len()])?, to)?;
        Ok(Some(singles))
    }

    /// Pairs of randoms, and then those of trues again; None where they are the same.
    pub(super) fn pairs_of_randoms(&self) -> Result<Option<[Plan; 2]>> {
        let (Some(recorded), Some(own)) = (&self.recorded, &self.scanner.pairs) else { return Ok(None) };
        let of_randoms = recorded.pairs.as_ref().unwrap_or(own);
        Ok(Some([of_randoms.plan()?, own.plan()?]))
    }

    /// By which scatter is made.
    pub(super) fn model(&self) -> Model {
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        let ([lower, upper], default) = (self.scanner.window, EnergyWindow::default());
        let window = EnergyWindow {
            resolution: or(self.scanner.energy_resolution, default.resolution),
            lower: or(lower, default.lower),
            upper: or(upper, default.upper),
        };
        Model { window, ..Model::default() }
    }

    /// For what scatter is made of.
    pub(super) fn draft(&mut self) -> Result<()> {
        self.pet.set_options(Options { algorithm: Algorithm::Osem, iterations: DRAFT, ..Options::default() })?;
        Ok(())
    }

    /// Sets the algorithm, with a prior by the mean sensitivity in the body.
    pub(super) fn prepare(&mut self, of: &mut Found) -> Result<()> {
        let MethodOptions { algorithm, iterations, smoothness, .. } = *self.method;
        let climbs = algorithm.climbs();
        of.strength = if climbs { smoothness.unwrap_or(SMOOTHNESS) * of.sensitivity } else { 0.0 };
        let potential = Potential::RelativeDifference { gamma: GAMMA, epsilon: 0.0 };
        let prior = Prior { potential, strength: of.strength, anatomy_sigma: 0.0 };
        self.pet.set_prior((of.strength > 0.0).then_some((prior, [None, None])))?;
        let passes = iterations.unwrap_or(algorithm.passes());
        self.pet.set_options(Options {
            algorithm: algorithm.algorithm(),
            iterations: passes,
            change: if climbs { SETTLED } else { 0.0 },
            ..Options::default()
        })?;
        self.steps.next(passes as f64);
        Ok(())
    }

    /// What the prior took is given back, and what may be wrong is told; `restored` is the factor of the image.
    pub(super) fn finish(&self, of: &mut Found, image: &mut [f32], restored: f64) {
        of.history = self.pet.history().to_vec();
        if of.strength > 0.0 {
            of.restored = restored;
            image.iter_mut().for_each(|v| *v *= of.restored as f32);
        }
        if of.restored > 1.0 + TAKEN {
            let (percent, factor) = (100.0 * (1.0 - 1.0 / of.restored), of.restored);
            (self.doubt)(format!(
                "the prior took {percent:.0} % of the counts, and the image was multiplied by {factor:.3} for them: means of regions may be some percent off; a smaller \
                 --smoothness takes fewer, --algorithm mlem none"
            ));
        } else if of.restored < 1.0 - TAKEN {
            (self.doubt)(format!(
                "of few counts the image took randoms and scatter for activity, and was multiplied by {:.3} for them: means of regions may be some percent \
                 off",
                of.restored
            ));
        }
        if image.iter().all(|v| *v == 0.0) && of.counted as f64 > of.randoms {
            (self.doubt)(format!("the image is 0 everywhere, though there are {} counts", of.counted));
        }
        if let Some(last) = of.history.last().filter(|last| last.change > UNSETTLED) {
            let (passes, change) = (of.history.len(), general(last.change, 2));
            (self.doubt)(format!(
                "the last of {passes} passes changed the image by {change} of it: it has not settled"
            ));
        }
    }
}

/// Calls with a plan of these pairs, and sets the others after that.
pub(super) fn with_pairs<T>(
    pet: &mut Pet,
    pairs: Option<[Plan; 2]>,
    call: impl FnOnce(&mut Pet) -> Result<T>,
) -> Result<T> {
    let Some([during, after]) = pairs else { return call(pet) };
    pet.set_pairs(Some(during))?;
    let made = call(pet);
    pet.set_pairs(Some(after))?;
    made
}

/// Of crystals.
pub(super) fn efficiencies(scanner: &Scanner) -> Result<Option<Array<'_, 1>>> {
    Ok(scanner.efficiencies.as_ref().map(|values| Array::of(values, [values.len()])).transpose()?)
}
