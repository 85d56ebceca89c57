//! From counts of a frame to its image.

use super::attenuation;
use super::counts::Frame;
use super::found::Found;
use super::images::Volume;
use super::lattice::Lattice;
use super::options::MethodOptions;
use super::petsird::Scanner;
use super::restored::restored;
use super::told::general;
use crate::stopwatch::Stopwatch;
use crate::watch::Watch;
use anyhow::{Context, Result};
use isocenter::array::{Array, ArrayMut};
use isocenter::cpu::buffer::Buffer;
use isocenter::pet::background::{ScatterArrays, ScatterOptions};
use isocenter::pet::corrections::FactorOptions;
use isocenter::pet::factors::{Accidentals, DIRECTIONS};
use isocenter::pet::scatter::{EnergyWindow, Model};
use isocenter::pet::{Algorithm, Histos, Options, Pet, Potential, Prior};

/// Passes of "svrg" and "bsrem" end when one has changed the image by no more; if the last one changed it by more than the second it is told.
const SETTLED: f64 = 1e-3;
const UNSETTLED: f64 = 0.02;
/// What a prior may take of the counts without a word: given back, means of regions are within 2 percent.
const TAKEN: f64 = 0.06;
pub(super) const SMOOTHNESS: f64 = 0.02;
/// How early the prior keeps edges.
const GAMMA: f64 = 2.0;
/// What scatter is made of: images that have the activity, which may be noisy.
const DRAFT: usize = 3;
/// Part of the run that reading is, about.
pub(super) const READING: f64 = 0.3;

/// How far a run is, in passes over the views.
pub(super) struct Steps<'a> {
    watch: &'a Watch,
    done: f64,
    all: f64,
}

/// What factors, randoms and scatter are worth, about.
const STEP: f64 = 3.0;

impl<'a> Steps<'a> {
    pub(super) fn new(watch: &'a Watch, frames: usize, method: &MethodOptions) -> Self {
        let passes = method.iterations.unwrap_or(method.algorithm.passes()) as f64;
        let scatter = f64::from(method.scatter) * (DRAFT as f64 + STEP);
        Self { watch, done: 0.0, all: frames as f64 * (4.0 * STEP + scatter + passes) }
    }

    /// Calls that follow are worth so many passes.
    fn next(&mut self, passes: f64) {
        let part = (1.0 - READING) / self.all;
        self.watch.part(READING + self.done * part, passes * part);
        self.done += passes;
    }
}

/// What images are made with.
pub(super) struct Scan<'a> {
    pub(super) pet: Pet,
    pub(super) scanner: &'a Scanner,
    pub(super) lattice: &'a Lattice,
    pub(super) map: Option<&'a Volume>,
    pub(super) method: &'a MethodOptions,
    pub(super) steps: Steps<'a>,
    pub(super) doubt: &'a dyn Fn(String),
    pub(super) stopwatch: Stopwatch,
}

impl Scan<'_> {
    /// views, nz, ny, nx.
    fn shape(&self) -> [usize; 4] {
        let [nz, ny, nx] = self.lattice.shape;
        [self.lattice.azimuths * self.lattice.tilts, nz, ny, nx]
    }

    fn histos(&self) -> Result<Buffer> {
        Ok(Buffer::zeroed(self.shape().iter().product())?)
    }

    /// Of a frame, in Bq/ml before calibration.
    pub(super) fn image(&mut self, of: &mut Found, frame: &Frame, mut options: FactorOptions) -> Result<Vec<f32>> {
        if let Some(map) = self.map {
            options.map_voxel = map.voxel;
            options.map_centre = [0, 1, 2].map(|k| map.centre[k] - self.lattice.centre[k]);
        }
        let factors = self.factors(&options).context("factors")?;
        self.stopwatch.stage("factors");
        of.sensitivity = self.sensitivity(&factors).context("sensitivity")?;
        self.stopwatch.stage("sensitivity");
        let randoms = self.randoms(of, frame).context("randoms")?;
        self.stopwatch.stage("randoms");
        let scatter = self.scatter(of, frame, &options, (&factors, randoms.as_ref())).context("scatter")?;
        self.stopwatch.stage("scatter");
        let additive = scatter.or(randoms);
        let image = self.solve(of, frame, &factors, additive.as_ref()).context("the image");
        self.stopwatch.stage("image");
        image
    }

    fn factors(&mut self, options: &FactorOptions) -> Result<Buffer> {
        self.steps.next(STEP);
        let (shape, mut factors) = (self.shape(), self.histos()?);
        let efficiencies = efficiencies(self.scanner)?;
        let map = self.map.map(|map| Array::new(&map.image, map.shape)).transpose()?;
        self.pet.factors(options, efficiencies.as_ref(), map.as_ref(), ArrayMut::new(&mut factors, shape)?)?;
        Ok(factors)
    }

    /// Mean over what is seen of the body.
    fn sensitivity(&mut self, factors: &[f32]) -> Result<f64> {
        self.steps.next(STEP);
        let mut image = vec![0.0; self.lattice.shape.iter().product()];
        let to = ArrayMut::new(&mut image, self.lattice.shape)?;
        self.pet.sensitivity(Some(Array::new(factors, self.shape())?), to)?;
        let Lattice { shape, voxel, centre, .. } = self.lattice;
        let body = self.map.map(|map| attenuation::body(map, *shape, *voxel, *centre));
        let is_inside = |k: usize| image[k] > 0.0 && body.as_ref().is_none_or(|body| body[k]);
        let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
        let inside: Vec<_> = (0..image.len()).filter(|k| is_inside(*k)).map(|k| f64::from(image[k])).collect();
        Ok(mean(if inside.is_empty() { image.iter().map(|v| f64::from(*v)).collect() } else { inside }))
    }

    fn randoms(&mut self, of: &mut Found, frame: &Frame) -> Result<Option<Buffer>> {
        self.steps.next(STEP);
        if frame.sums.iter().all(|n| *n == 0) {
            return Ok(None);
        }
        let crystals = frame.sums.len();
        let accidentals = Accidentals { duration: of.duration, window: self.pet.random_window()? };
        let mut singles = vec![0f32; crystals];
        let sums = Array::of(&frame.sums, [crystals])?;
        self.pet.singles(0.0, &accidentals, &sums, &mut ArrayMut::of(&mut singles, [crystals])?)?;
        let (shape, mut randoms) = (self.shape(), self.histos()?);
        let to = ArrayMut::new(&mut randoms, shape)?;
        self.pet.randoms(&accidentals, DIRECTIONS, &Array::of(&singles, [crystals])?, to)?;
        of.randoms = randoms.iter().map(|v| f64::from(*v)).sum();
        Ok(Some(randoms))
    }

    /// Scatter and randoms; None of a scan without scatter.
    fn scatter(
        &mut self,
        of: &mut Found,
        frame: &Frame,
        factors: &FactorOptions,
        (known, randoms): (&Buffer, Option<&Buffer>),
    ) -> Result<Option<Buffer>> {
        let Some(map) = self.map.filter(|_| self.method.scatter > 0) else { return Ok(None) };
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        let ([lower, upper], default) = (self.scanner.window, EnergyWindow::default());
        let window = EnergyWindow {
            resolution: or(self.scanner.energy_resolution, default.resolution),
            lower: or(lower, default.lower),
            upper: or(upper, default.upper),
        };
        let options = ScatterOptions { factors: *factors, model: Model { window, ..Model::default() } };
        self.pet.set_options(Options { algorithm: Algorithm::Osem, iterations: DRAFT, ..Options::default() })?;
        let shape = self.shape();
        let mut additive: Option<Buffer> = None;
        for _ in 0..self.method.scatter {
            self.steps.next(DRAFT as f64);
            let image = self.reconstruct(frame, known, additive.as_ref().or(randoms))?;
            self.steps.next(STEP);
            let mut made = self.histos()?;
            let arrays = ScatterArrays {
                image: Array::new(&image, self.lattice.shape)?,
                efficiencies: efficiencies(self.scanner)?,
                attenuation: Array::new(&map.image, map.shape)?,
                measured: Some(Array::of(&frame.measured, shape)?),
                randoms: randoms.map(|randoms| Array::new(randoms, shape)).transpose()?,
            };
            let found = self.pet.scatter(&options, &arrays, ArrayMut::new(&mut made, shape)?)?;
            (of.scatter, of.scale, of.tails) = (found.scatter * found.scale, found.scale, found.tails);
            additive = Some(made);
        }
        Ok(additive)
    }

    fn reconstruct(&mut self, frame: &Frame, factors: &[f32], additive: Option<&Buffer>) -> Result<Vec<f32>> {
        let (shape, mut image) = (self.shape(), vec![0.0; self.lattice.shape.iter().product()]);
        let histos = Histos {
            measured: Array::of(&frame.measured, shape)?,
            factors: Some(Array::new(factors, shape)?),
            additive: additive.map(|additive| Array::new(additive, shape)).transpose()?,
        };
        self.pet.reconstruct(&histos, ArrayMut::new(&mut image, self.lattice.shape)?)?;
        Ok(image)
    }

    fn solve(&mut self, of: &mut Found, frame: &Frame, factors: &[f32], additive: Option<&Buffer>) -> Result<Vec<f32>> {
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
        let mut image = self.reconstruct(frame, factors, additive)?;
        of.history = self.pet.history().to_vec();
        if of.strength > 0.0 {
            self.restore(of, frame, &mut image, (factors, additive))?;
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
        Ok(image)
    }

    /// Gives the counts back that the prior took.
    fn restore(
        &mut self,
        of: &mut Found,
        frame: &Frame,
        image: &mut [f32],
        (factors, additive): (&[f32], Option<&Buffer>),
    ) -> Result<()> {
        self.steps.next(STEP);
        let (shape, mut projected) = (self.shape(), self.histos()?);
        let views: Vec<usize> = (0..shape[0]).collect();
        self.pet.forward(&views, Array::new(image, self.lattice.shape)?, ArrayMut::new(&mut projected, shape)?)?;
        of.restored = restored(&frame.measured, factors, &projected, additive.map(|additive| &additive[..]));
        image.iter_mut().for_each(|v| *v *= of.restored as f32);
        if of.restored > 1.0 + TAKEN {
            let (percent, factor) = (100.0 * (1.0 - 1.0 / of.restored), of.restored);
            (self.doubt)(format!(
                "the prior took {percent:.0} % of the counts, and the image was multiplied by {factor:.3} for them: means of regions may be some percent off; a smaller \
                 --smoothness takes fewer, --algorithm mlem none"
            ));
        }
        Ok(())
    }
}

/// Of crystals.
pub(super) fn efficiencies(scanner: &Scanner) -> Result<Option<Array<'_, 1>>> {
    Ok(scanner.efficiencies.as_ref().map(|values| Array::of(values, [values.len()])).transpose()?)
}
