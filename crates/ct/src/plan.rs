//! The plan behind `isoc_ct`: what it was told (geometry, options, flat field, weights), and what it found of that. It knows no
//! device but by its engine.

use super::angular::Angular;
use super::band_limited::BandLimited;
use super::cpu::engine::CpuEngine;
use super::engine::{Engine, Measured, Needs, Treated};
use super::geometry::Geometry;
use super::geometry_warnings;
use super::gpu::engine::GpuEngine;
use super::iterative::Iteration;
use super::iterative::history::Iterated;
use super::iterative::kept::Kept;
use super::iterative::options::{Algorithm, Iterative};
use super::iterative::weights::RayWeights;
use super::options::{Interpolation, Options, Pair};
use super::output::Pass;
use super::output::options::Output;
use super::output::writer::Written;
use super::rows::distortion::Distortion;
use super::rows::flat_field::{FlatField, FlatFieldOptions};
use super::rows::half_acquisition::{HalfAcquisition, Halves};
use super::rows::kind::Correction;
use super::rows::outliers::Outliers;
use super::rows::phase::Phase;
use super::rows::stripes::{ByAngle, Stripes};
use super::rows::{Chain, Stages};
use super::task::{Operator, Task};
use isocenter_base::array::{Array, DType};
use isocenter_base::context::{Context, LogLevel, NanPolicy};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::gpu::Device;
use std::f64::consts::PI;
use std::sync::Arc;

/// What a plan found and decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Angles and their weights; None where all angles are one.
    pub angular: Option<Arc<Angular>>,
    /// Sum of the weights in force, the caller's or those of the angles; 0 where there are none.
    pub covered: f64,
    /// Length of the filter's transforms.
    pub padded_bins: usize,
    /// Bins of the rows that `reconstruct` computes with.
    pub computed_bins: usize,
    /// Bins over which half acquisition's weights rise; 0 without.
    pub overlap: f64,
    /// Period of band-limited sums; 0 where there are none.
    pub period: usize,
    /// Slices in `reconstruct`'s first slab.
    pub slab_slices: usize,
    /// Values replaced in the last call that read data.
    pub replaced: u64,
    /// Outliers removed in that call.
    pub outliers: u64,
    /// Pixels of the flat field that are replaced by their neighbours.
    pub bad_pixels: usize,
}

/// What depends on a geometry.
pub(super) struct Plan {
    pub(super) geometry: Geometry,
    /// Or why there are no weights.
    angular: Result<Arc<Angular>>,
    /// The caller's own weights.
    given: Option<Vec<f64>>,
    /// Where views are not in the order of their angles.
    by_angle: Option<ByAngle>,
    pub(super) flat: Option<Arc<FlatField>>,
    /// Half acquisition, or why there can be none; None where nobody wants it.
    pub(super) halves: Option<Result<Halves>>,
    /// Whether it might be wanted has been looked at.
    pub(super) advised: bool,
    /// Of iterations.
    kept: Kept,
    ray_weights: Option<RayWeights>,
}

impl Plan {
    /// Angular weights in force, or why there are none.
    pub(super) fn weights(&self) -> Result<&[f64]> {
        match (&self.given, &self.halves) {
            (Some(given), _) => Ok(given),
            (None, Some(Ok(halves))) => Ok(&halves.angular.weights),
            (None, _) => self.angular.as_ref().map(|a| a.weights.as_slice()).map_err(Clone::clone),
        }
    }

    /// Half acquisition, where it is wanted.
    fn halves(&self) -> Result<Option<&Halves>> {
        self.halves.as_ref().map(|halves| halves.as_ref().map_err(Clone::clone)).transpose()
    }

    /// What `reconstruct` computes with.
    fn computed(&self) -> Result<&Geometry> {
        Ok(self.halves()?.map_or(&self.geometry, |halves| &halves.geometry))
    }

    /// The iterations of a call, if its algorithm has any.
    pub(super) fn iteration<'a>(
        &'a self,
        (algorithm, pair, tolerance): (Algorithm, Pair, f64),
        options: &'a Iterative,
    ) -> Result<Option<Iteration<'a>>> {
        if algorithm == Algorithm::Fbp {
            return Ok(None);
        }
        if self.halves.is_some() {
            let word = algorithm.word();
            fail!(
                OutOfRange,
                "half acquisition is set, which is for filtered back projection; options.algorithm is {word}, which takes such rows as they are: call isoc_ct_set_half_acquisition with NULL"
            );
        }
        let g = &self.geometry;
        let banded = (pair == Pair::BandLimited).then(|| BandLimited::new(g, tolerance)).transpose()?;
        Iteration::new(algorithm, options, g, (banded, &self.kept), self.ray_weights.as_ref()).map(Some)
    }

    /// A call of an operator; `correction` is what is done to projections.
    pub(super) fn task<'a>(
        &'a self,
        operator: Operator,
        (options, stages): (&'a Options, &'a Stages),
        correction: Correction<'a>,
        stream: usize,
    ) -> Result<Task<'a>> {
        let weighted = match operator {
            Operator::Reconstruct => true,
            Operator::Backproject => options.weighted_backprojection,
            Operator::Iterate | Operator::Filter | Operator::Adjoint | Operator::Forward => false,
        };
        let weights = if weighted { Some(self.weights()?) } else { None };
        Ok(Task {
            rows: Chain { weights, ..self.rows(operator, (options, stages), correction)? },
            ..self.bare(operator, options, stream)?
        })
    }

    /// What `reconstruct` takes, for sizes alone: there may be no weights.
    fn sizes<'a>(
        &'a self,
        (options, stages): (&'a Options, &'a Stages),
        iteration: Option<&'a Iteration<'a>>,
        pass: Pass<'a>,
    ) -> Result<Task<'a>> {
        let operator = Operator::to_reconstruct(options.algorithm);
        let minimum = options.minimum_transmission as f32;
        let correction = self.flat.as_deref().map_or(Correction::None, |flat| Correction::Counts(flat, minimum));
        let rows = self.rows(operator, (options, stages), correction)?;
        Ok(Task { rows, iteration, pass, ..self.bare(operator, options, 0)? })
    }

    /// What back projectors are measured for.
    fn tuning<'a>(&'a self, (options, stages): (&'a Options, &'a Stages)) -> Result<Task<'a>> {
        let rows = self.rows(Operator::Reconstruct, (options, stages), Correction::None)?;
        Ok(Task { rows, ..self.bare(Operator::Reconstruct, options, 0)? })
    }

    /// The stages that rows pass in a call of an operator, but for weights.
    fn rows<'a>(
        &'a self,
        operator: Operator,
        (options, stages): (&'a Options, &'a Stages),
        correction: Correction<'a>,
    ) -> Result<Chain<'a>> {
        let corrects = matches!(operator, Operator::Reconstruct | Operator::Iterate | Operator::Filter);
        let filters = corrects && operator != Operator::Iterate;
        let halves = if operator == Operator::Reconstruct { self.halves()? } else { None };
        // Half acquisition begins with line integrals as stages leave them, whether there are any or not.
        let ahead = stages.any().is_some() || correction.flat().is_some_and(FlatField::varies) || halves.is_some();
        let stages = Some(stages).filter(|_| corrects && ahead);
        if let Some(stages) = stages {
            stages.check_size(&self.geometry)?;
        }
        Ok(Chain {
            correction,
            stages,
            by_angle: stages.and_then(|stages| stages.stripes.as_ref().and(self.by_angle.as_ref())),
            halves,
            filter: filters.then_some((&options.filter, options.padding)),
            weights: None,
        })
    }

    fn bare<'a>(&'a self, operator: Operator, options: &Options, stream: usize) -> Result<Task<'a>> {
        let Options { interpolation, pair, tolerance, kernel, precision, .. } = *options;
        let geometry = if operator == Operator::Reconstruct { self.computed()? } else { &self.geometry };
        Ok(Task {
            operator,
            geometry,
            detector: &self.geometry,
            interpolation,
            pair,
            tolerance,
            rows: Chain::NONE,
            kernel,
            precision,
            stream,
            iteration: None,
            pass: Pass::DIRECT,
        })
    }
}

/// A plan for parallel-beam CT.
pub struct Ct {
    pub(super) context: Arc<Context>,
    pub(super) plan: Option<Plan>,
    pub(super) options: Options,
    pub(super) stages: Stages,
    half_acquisition: Option<HalfAcquisition>,
    pub(super) engine: Box<dyn Engine>,
    pub(super) treated: Treated,
    /// The caller's stream, for arrays on a GPU; 0 is the default one.
    pub(super) stream: usize,
    /// Projections taken for line integrals have been looked at since the last change.
    pub(super) looked: bool,
    /// How `reconstruct` stores its volume, and what it stored last under that; None if that was not finished.
    pub(super) output: Output,
    pub(super) written: Option<Written>,
    /// How it iterates, and what the last iterations found.
    pub(super) iterative: Iterative,
    pub(super) history: Option<Vec<Iterated>>,
}

impl Ct {
    /// A plan without geometry.
    pub fn new(context: Arc<Context>) -> Self {
        let engine: Box<dyn Engine> = match context.gpus() {
            [] => Box::<CpuEngine>::default(),
            _ => Box::<GpuEngine>::default(),
        };
        let (options, stages, output) = (Options::default(), Stages::default(), Output::default());
        let (plan, half_acquisition, treated) = (None, None, Treated::default());
        let (stream, looked, written) = (0, false, None);
        let (iterative, history) = (Iterative::default(), None);
        Self {
            context,
            plan,
            options,
            stages,
            half_acquisition,
            engine,
            treated,
            stream,
            looked,
            output,
            written,
            iterative,
            history,
        }
    }

    /// The GPUs that it computes on; none if it computes on the processor.
    pub fn gpus(&self) -> &[Arc<Device>] {
        self.context.gpus()
    }

    /// Work on arrays that are on a GPU begins when all that is in this stream (a `cudaStream_t`) has been done.
    pub fn set_stream(&mut self, stream: usize) {
        self.stream = stream;
    }

    /// Measures the back projectors on the GPUs for this plan: see `isoc_ct_tune`.
    pub fn tune(&mut self) -> Result<Vec<Measured>> {
        let Self { context, plan, options, stages, engine, .. } = self;
        let result = engine.tune(context, &configured(plan)?.tuning((options, stages))?);
        for m in result.iter().flatten() {
            context.log(LogLevel::Info, || format!("{}: {:.0} GU/s", m.name, m.rate));
        }
        result
    }

    pub(super) fn plan(&self) -> Result<&Plan> {
        configured(&self.plan)
    }

    /// The same, to be changed.
    pub(super) fn plan_mut(&mut self) -> Result<&mut Plan> {
        configured_mut(&mut self.plan)
    }

    /// The geometry in force.
    pub fn geometry(&self) -> Result<&Geometry> {
        self.plan().map(|p| &p.geometry)
    }

    /// Checks and takes a geometry; forgets the caller's weights, and the flat field unless it is of such a detector.
    pub fn set_geometry(&mut self, geometry: Geometry) -> Result<()> {
        geometry.check()?;
        let Geometry { rows, bins, .. } = geometry;
        let old = self.plan.as_ref().and_then(|p| p.flat.as_ref().map(|flat| (flat, &p.geometry)));
        if let Some((flat, _)) = old.filter(|(flat, _)| flat.fits(&geometry))
            && self.context.nan_policy() == NanPolicy::Error
        {
            flat.check_rows(geometry.used_rows())?;
        }
        let angular = match Angular::new(&geometry.angles) {
            Err(e) if e.status == Status::OutOfMemory => return Err(e),
            angular => angular.map(Arc::new),
        };
        let by_angle = ByAngle::new(&geometry.angles)?;
        let halves = self.half_acquisition.as_ref().map(|options| Halves::new(options, &geometry));
        if let Some(Err(e)) = halves.as_ref().filter(|h| h.as_ref().is_err_and(|e| e.status == Status::OutOfMemory)) {
            return Err(e.clone());
        }
        let new = self.plan.as_ref().is_none_or(|plan| plan.geometry.angles != geometry.angles);
        geometry_warnings::warn(&self.context, &geometry, (&angular, new), halves.as_ref());
        if let Some((_, g)) = old.filter(|(flat, _)| !flat.fits(&geometry)) {
            self.context.log(LogLevel::Warning, || {
                let (v, r, b, views) = (g.views(), g.rows, g.bins, geometry.views());
                let (of, now) = if (r, b) == (rows, bins) {
                    (format!("{v} views"), format!("{views}"))
                } else {
                    (format!("{r} rows of {b} bins"), format!("{rows} of {bins}"))
                };
                format!("the flat field is of {of}, the geometry now of {now}: it is forgotten")
            });
        }
        // What is kept is of sizes, angles and axes: others of the detector's rows change none of these.
        let old = self.plan.take();
        let moved =
            |old: &Plan| Geometry { first_row: geometry.first_row, slices: geometry.slices, ..old.geometry.clone() };
        if !old.as_ref().is_some_and(|old| moved(old) == geometry) {
            self.engine.forget();
        }
        let flat = old.and_then(|p| p.flat).filter(|flat| flat.fits(&geometry));
        self.looked = false;
        let kept = Kept::default();
        self.plan = Some(Plan {
            geometry,
            angular,
            given: None,
            by_angle,
            flat,
            halves,
            advised: false,
            kept,
            ray_weights: None,
        });
        Ok(())
    }

    /// Checks and takes options.
    pub fn set_options(&mut self, options: Options) -> Result<()> {
        options.check()?;
        self.options = options;
        self.looked = false;
        Ok(())
    }

    /// Options in force.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Checks and takes how outliers are removed from frames; None leaves them.
    pub fn set_outliers(&mut self, outliers: Option<Outliers>) -> Result<()> {
        outliers.as_ref().map_or(Ok(()), Outliers::check)?;
        self.stages.outliers = outliers;
        Ok(())
    }

    /// Checks and takes how the detector distorts frames; None takes them as they are.
    pub fn set_distortion(&mut self, distortion: Option<Distortion>) -> Result<()> {
        if let Some(distortion) = &distortion {
            distortion.check()?;
            if let Some(plan) = &self.plan {
                distortion.check_size(&plan.geometry)?;
            }
        }
        self.stages.distortion = distortion;
        Ok(())
    }

    /// Checks and takes how phase is retrieved; None leaves it.
    pub fn set_phase(&mut self, phase: Option<Phase>) -> Result<()> {
        phase.as_ref().map_or(Ok(()), Phase::check)?;
        self.stages.phase = phase;
        Ok(())
    }

    /// Checks and takes how stripes are removed; None leaves them.
    pub fn set_stripes(&mut self, stripes: Option<Stripes>) -> Result<()> {
        if let Some(stripes) = &stripes {
            stripes.check()?;
            if let Some(plan) = &self.plan {
                stripes.check_size(plan.geometry.views(), plan.geometry.bins)?;
            }
        }
        self.stages.stripes = stripes;
        Ok(())
    }

    /// Checks and takes how the halves of a half acquisition are joined; None takes rows as they are.
    pub fn set_half_acquisition(&mut self, options: Option<HalfAcquisition>) -> Result<()> {
        if let Some(options) = &options {
            options.check()?;
        }
        if let Some(plan) = &mut self.plan {
            let halves = options.as_ref().map(|options| Halves::new(options, &plan.geometry)).transpose()?;
            if let Some(halves) = &halves {
                geometry_warnings::tell_of_halves(&self.context, &plan.geometry, halves);
            }
            plan.halves = halves.map(Ok);
            self.engine.forget();
        }
        self.half_acquisition = options;
        Ok(())
    }

    /// Checks and takes how `reconstruct` stores its volume.
    pub fn set_output(&mut self, output: Output) -> Result<()> {
        output.check()?;
        (self.output, self.written) = (output, None);
        Ok(())
    }

    /// Checks and takes how iterative algorithms iterate; forgets what the last did.
    pub fn set_iterative(&mut self, iterative: Iterative) -> Result<()> {
        iterative.check()?;
        (self.iterative, self.history) = (iterative, None);
        Ok(())
    }

    /// How iterative algorithms iterate.
    pub fn iterative(&self) -> &Iterative {
        &self.iterative
    }

    /// Takes weights of rays, (views, 1, bins) in host memory, of least squares by iterations, until the next geometry; None forgets them.
    pub fn set_ray_weights(&mut self, weights: Option<Array>) -> Result<()> {
        let plan = configured_mut(&mut self.plan)?;
        plan.ray_weights = weights.map(|weights| RayWeights::new(&weights, &plan.geometry)).transpose()?;
        Ok(())
    }

    /// What the iterations of the last reconstruction found.
    pub fn history(&self) -> Result<&[Iterated]> {
        match &self.history {
            Some(history) => Ok(history),
            None => fail!(NotConfigured, "no iterative reconstruction has been finished since isoc_ct_set_iterative"),
        }
    }

    /// How `reconstruct` stores its volume.
    pub fn output(&self) -> &Output {
        &self.output
    }

    /// What the last reconstruction stored.
    pub fn written(&self) -> Result<&Written> {
        match &self.written {
            Some(written) => Ok(written),
            None => fail!(NotConfigured, "no reconstruction has been finished since isoc_ct_set_output"),
        }
    }

    /// Takes flat and dark frames, (frames, rows, bins), of which the means are taken; None forgets them.
    pub fn set_flat_field(&mut self, flats: Option<Array>, darks: Option<Array>) -> Result<()> {
        self.set_flat_field_by(flats, darks, &FlatFieldOptions::default())
    }

    /// The same with options.
    pub fn set_flat_field_by(
        &mut self,
        flats: Option<Array>,
        darks: Option<Array>,
        options: &FlatFieldOptions,
    ) -> Result<()> {
        let plan = configured_mut(&mut self.plan)?;
        let Some(flats) = flats else {
            if darks.is_some() {
                fail!(NullPointer, "flats is NULL while darks is not; both or flats alone may be given");
            }
            plan.flat = None;
            self.looked = false;
            return Ok(());
        };
        let g = &plan.geometry;
        for (name, array) in [("flats", Some(flats)), ("darks", darks)] {
            let Some(array) = array else { continue };
            array.dtype().check(name, DType::FRAMES)?;
            let [_, rows, bins] = array.shape();
            if (rows, bins) != (g.rows, g.bins) {
                fail!(TensorShape, "{name} has {rows} rows of {bins} bins; they must have {} of {}", g.rows, g.bins);
            }
        }
        options.check(flats.shape()[0], g.views())?;
        plan.flat = Some(Arc::new(FlatField::new(flats, darks, g, options, &self.context)?));
        self.looked = false;
        Ok(())
    }

    /// Angular weights in radians, or why there are none.
    pub fn angular_weights(&self) -> Result<&[f64]> {
        self.plan()?.weights()
    }

    /// An error where `reconstruct` needs angular weights and there are none.
    pub(super) fn check_weights(&self) -> Result<()> {
        if self.options.algorithm == Algorithm::Fbp { self.angular_weights().map(drop) } else { self.plan().map(drop) }
    }

    /// Takes the caller's angular weights, in radians, until the next geometry; None goes back to those of the angles.
    pub fn set_angular_weights(&mut self, weights: Option<&[f64]>) -> Result<()> {
        let plan = configured_mut(&mut self.plan)?;
        let Some(weights) = weights else {
            plan.given = None;
            return Ok(());
        };
        let views = plan.geometry.views();
        if weights.len() != views {
            fail!(OutOfRange, "weight_count is {}; it must be the number of views, {views}", weights.len());
        }
        if let Some((k, w)) = weights.iter().enumerate().find(|(_, w)| !w.is_finite()) {
            fail!(NotFiniteParameter, "weights[{k}] is {w}; it must be finite");
        }
        if let Some((k, w)) = weights.iter().enumerate().find(|(_, w)| **w < 0.0) {
            fail!(OutOfRange, "weights[{k}] is {w}; it must be 0 or more");
        }
        // They go into f32 factors.
        let (sum, minimum, maximum) = (weights.iter().sum::<f64>(), f32::MIN_POSITIVE, f32::MAX);
        if !(f64::from(minimum)..=f64::from(maximum)).contains(&sum) {
            fail!(
                OutOfRange,
                "the sum of weights is {sum}; it must be {minimum:e} to {maximum:e} (pi for a whole half turn)"
            );
        }
        let mut given = zeros(views)?;
        given.copy_from_slice(weights);
        plan.given = Some(given);
        let covered = plan.angular.as_ref().map_or(PI, |a| a.covered);
        if sum < 0.9 * covered {
            self.context.log(LogLevel::Warning, || {
                format!("the caller's angular weights sum to {sum:.4} rad, where the angles cover {covered:.4}: values come out {:.4} times too small", sum / covered)
            });
        }
        if sum > 1.01 * PI {
            self.context.log(LogLevel::Warning, || {
                format!("the caller's angular weights sum to {sum:.4} rad: values come out {:.4} times too large (pi keeps them)", sum / PI)
            });
        }
        Ok(())
    }

    /// What the plan found and decided.
    pub fn info(&self) -> Result<Info> {
        let Needs { padded_bins, slab, .. } = self.needs()?;
        let plan = self.plan()?;
        let Options { interpolation, pair, tolerance, .. } = self.options;
        let band_limited = interpolation == Interpolation::BandLimited || pair == Pair::BandLimited;
        let computed = plan.computed()?;
        // `reconstruct`'s, if it has one.
        let of = if interpolation == Interpolation::BandLimited { computed } else { &plan.geometry };
        let period = if band_limited { BandLimited::new(of, tolerance)?.period } else { 0 };
        let angular = plan.angular.as_ref().ok().cloned();
        let covered = plan.weights().map_or(0.0, |w| w.iter().sum());
        let (computed_bins, overlap) = (computed.bins, plan.halves()?.map_or(0.0, |halves| halves.overlap));
        let bad_pixels = plan.flat.as_ref().map_or(0, |flat| flat.repairs().all().len());
        let Treated { replaced, outliers } = self.treated;
        let slab_slices = slab;
        Ok(Info {
            angular,
            covered,
            padded_bins,
            computed_bins,
            overlap,
            period,
            slab_slices,
            replaced,
            outliers,
            bad_pixels,
        })
    }

    /// Bytes that `reconstruct` will allocate at a time.
    pub fn memory(&self) -> Result<u64> {
        self.check_weights()?;
        self.needs().map(|needs| needs.bytes)
    }

    fn needs(&self) -> Result<Needs> {
        let pass = Pass::sizes(&self.output, self.context.threads());
        let plan = self.plan()?;
        let Options { algorithm, pair, tolerance, .. } = self.options;
        let iteration = plan.iteration((algorithm, pair, tolerance), &self.iterative)?;
        self.engine.needs(&self.context, &plan.sizes((&self.options, &self.stages), iteration.as_ref(), pass)?)
    }
}

/// The plan, once there is a geometry.
pub(super) fn configured(plan: &Option<Plan>) -> Result<&Plan> {
    match plan {
        Some(plan) => Ok(plan),
        None => fail!(NotConfigured, "the plan has no geometry yet; isoc_ct_set_geometry comes first"),
    }
}

fn configured_mut(plan: &mut Option<Plan>) -> Result<&mut Plan> {
    match plan {
        Some(plan) => Ok(plan),
        None => fail!(NotConfigured, "the plan has no geometry yet; isoc_ct_set_geometry comes first"),
    }
}
