//! The plan behind `isoc_ct`: geometry, options, flat field, and the operators over them.

use super::angular::Angular;
use super::backproject::Gather;
use super::filter::{Filter, Padding, RowFilter, padded_bins};
use super::flat_field::FlatField;
use super::forward::Forward;
use super::geometry::{Geometry, Order};
use super::gpu::{Gpus, Kernel, Measured, Needs, Operator, Precision, Task};
use super::input::Input;
use super::kind::{Correction, Corrector, InputKind, Sampled, warn_of_kind};
use super::phantom;
use super::pipeline::{self, Call, Footprint, slabs};
use crate::context::{Context, Job, LogLevel, NanPolicy, Stage};
use crate::cpu::buffer::{Workspace, zeros};
use crate::error::{Result, Status, fail};
use crate::gpu::{Device, Stream};
use crate::phantom::Ellipse;
use crate::tensor::{DType, Layout, View, ViewMut};
use rayon::prelude::*;
use std::f64::consts::{PI, TAU};
use std::ops::Range;
use std::sync::Arc;

/// How a row is read between its bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interpolation {
    /// Linear, exact in f32.
    #[default]
    Linear,
    /// The nearest bin.
    Nearest,
    /// The nearest of four samples a bin.
    Oversampled,
}

/// How to reconstruct.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Filter.
    pub filter: Filter,
    /// How a row is read between its bins.
    pub interpolation: Interpolation,
    /// What the filter sees beyond a row's ends.
    pub padding: Padding,
    /// `backproject` multiplies by the angular weights.
    pub weighted_backprojection: bool,
    /// Least transmission before the logarithm.
    pub minimum_transmission: f64,
    /// Back projector on a GPU.
    pub kernel: Kernel,
    /// Precision of back-projected data on a GPU.
    pub precision: Precision,
    /// What the projections of `filter` and `reconstruct` hold.
    pub input: InputKind,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            filter: Filter::RamLak { cutoff: 1.0 },
            interpolation: Interpolation::Linear,
            padding: Padding::Zero,
            weighted_backprojection: false,
            minimum_transmission: 1e-6,
            kernel: Kernel::default(),
            precision: Precision::default(),
            input: InputKind::default(),
        }
    }
}

/// What a plan found and decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Angles and their weights; None where all angles are one.
    pub angular: Option<Arc<Angular>>,
    /// Sum of the weights in force, the caller's or those of the angles; 0 where there are none.
    pub covered: f64,
    /// Length of the filter's transforms.
    pub padded_bins: usize,
    /// Slices in `reconstruct`'s first slab.
    pub slab_slices: usize,
    /// Values replaced in the last call that read data.
    pub replaced: u64,
}

struct Plan {
    geometry: Geometry,
    /// Or why there are no weights.
    angular: Result<Arc<Angular>>,
    /// The caller's own weights.
    given: Option<Arc<Vec<f64>>>,
    flat: Option<Arc<FlatField>>,
}

impl Plan {
    /// Angular weights in force, or why there are none.
    fn weights(&self) -> Result<&[f64]> {
        match &self.given {
            Some(given) => Ok(given),
            None => self.angular.as_ref().map(|a| a.weights.as_slice()).map_err(Clone::clone),
        }
    }
}

/// A plan for parallel-beam CT.
pub struct Ct {
    context: Arc<Context>,
    plan: Option<Plan>,
    options: Options,
    replaced: u64,
    workspace: Workspace,
    gpus: Gpus,
    /// The caller's stream, for tensors on a GPU; 0 is the default one.
    stream: usize,
    /// Rows of the whole scan above its projections, of a part; messages count from the top.
    above: usize,
    /// Projections taken for line integrals have been looked at since the last change.
    looked: bool,
}

/// Rows that are looked at in host memory, and on a GPU.
const HOST_ROWS: usize = 64;
const GPU_ROWS: usize = 8;
/// Bins of such a row on a GPU, where they do not follow each other.
const GPU_BINS: usize = 64;

impl Ct {
    /// A plan without geometry.
    pub fn new(context: Arc<Context>) -> Self {
        let (options, workspace, gpus) = (Options::default(), Workspace::default(), Gpus::default());
        Self { context, plan: None, options, replaced: 0, workspace, gpus, stream: 0, above: 0, looked: false }
    }

    /// The GPUs that it computes on; none if it computes on the processor.
    pub fn gpus(&self) -> &[Arc<Device>] {
        self.context.gpus()
    }

    /// Work on tensors that are on a GPU begins when all that is in this stream (a `cudaStream_t`) has been done.
    pub fn set_stream(&mut self, stream: usize) {
        self.stream = stream;
    }

    /// Measures the back projectors on the GPUs for this plan: see `isoc_ct_tune`.
    pub fn tune(&mut self) -> Result<Vec<Measured>> {
        let mut gpus = std::mem::take(&mut self.gpus);
        let result = self.plan().and_then(|p| gpus.tune(&self.context, &p.geometry, self.options.interpolation));
        self.gpus = gpus;
        for m in result.iter().flatten() {
            self.context.log(LogLevel::Info, || format!("{}: {:.0} GU/s", m.name, m.rate));
        }
        result
    }

    /// Runs an operator on the GPUs.
    fn on_gpus(&mut self, operator: Operator, weighted: bool, source: &Layout, target: &Layout) -> Result<()> {
        self.with_gpus(|ct, gpus| gpus.run(&ct.context, &ct.task(operator, weighted, source, target)?))
    }

    /// Runs what gives the number of values replaced.
    pub(super) fn with_gpus(&mut self, run: impl FnOnce(&Self, &mut Gpus) -> Result<u64>) -> Result<()> {
        let mut gpus = std::mem::take(&mut self.gpus);
        let done = run(self, &mut gpus);
        self.gpus = gpus;
        self.replaced = done?;
        Ok(())
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    pub(super) fn set_replaced(&mut self, replaced: u64) {
        self.replaced = replaced;
    }

    /// The same plan for some detector rows alone, from `row` on.
    pub(super) fn part(&self, geometry: Geometry, row: usize) -> Result<Ct> {
        let plan = self.plan()?;
        let mut part = Ct::new(self.context.clone());
        let options = Options { filter: self.options.filter.copy()?, ..self.options };
        (part.options, part.above, part.looked) = (options, row, true);
        let flat = plan.flat.as_ref().map(|f| f.part(row..row + geometry.rows)).transpose()?.map(Arc::new);
        part.plan = Some(Plan { geometry, angular: plan.angular.clone(), given: plan.given.clone(), flat });
        Ok(part)
    }

    pub(super) fn task<'a>(
        &'a self,
        operator: Operator,
        weighted: bool,
        source: &'a Layout,
        target: &'a Layout,
    ) -> Result<Task<'a>> {
        let correction = match operator {
            Operator::Filter | Operator::Reconstruct => self.correction(source.dtype)?,
            _ => uncorrected(source.dtype)?,
        };
        self.task_with(operator, correction, weighted, source, target)
    }

    fn task_with<'a>(
        &'a self,
        operator: Operator,
        correction: Correction<'a>,
        weighted: bool,
        source: &'a Layout,
        target: &'a Layout,
    ) -> Result<Task<'a>> {
        let plan = self.plan()?;
        Ok(Task {
            operator,
            geometry: &plan.geometry,
            interpolation: self.options.interpolation,
            filter: &self.options.filter,
            padding: self.options.padding,
            correction,
            weights: if weighted { Some(plan.weights()?) } else { None },
            kernel: self.options.kernel,
            precision: self.options.precision,
            stream: self.stream,
            source,
            target,
            part: None,
        })
    }

    /// What `reconstruct` takes on a GPU, between arrays of f32 in host memory.
    fn gpu_needs(&self) -> Result<Needs> {
        let g = self.geometry()?;
        let (source, target) = (
            Layout::new(std::ptr::null(), DType::F32, g.projection_shape()),
            Layout::new(std::ptr::null(), DType::F32, g.volume_shape()),
        );
        let task = self.task_with(Operator::Reconstruct, Correction::None, false, &source, &target)?;
        Gpus::needs(&self.context, &task)
    }

    /// What is done to projections of this type by the calls that correct.
    pub(super) fn correction(&self, dtype: DType) -> Result<Correction<'_>> {
        self.options.input.correction(dtype, self.plan()?.flat.as_deref(), self.options.minimum_transmission)
    }

    /// The same without the plan, for the length of a call that changes it.
    pub(super) fn corrector(&self) -> Corrector {
        let Options { input, minimum_transmission, .. } = self.options;
        Corrector { input, minimum: minimum_transmission, flat: self.plan.as_ref().and_then(|p| p.flat.clone()) }
    }

    /// Whether nobody has looked at what projections hold since the last change, where that can be wrong.
    pub(super) fn unseen(&self, dtype: DType) -> bool {
        let said = dtype == DType::F32 && self.options.input == InputKind::LineIntegrals;
        !self.looked && self.context.logs() && !said
    }

    /// They have been.
    pub(super) fn seen(&mut self) {
        self.looked = true;
    }

    /// Looks at some rows of projections, whether they are what they are taken for, once until something changes.
    fn look_once(&mut self, projections: &View) -> Result<()> {
        if !self.unseen(projections.dtype()) {
            return Ok(());
        }
        let g = self.geometry()?;
        let used = g.first_row..g.first_row + g.slices;
        let array = projections.layout();
        let rows = match array.gpu {
            None => host_rows(projections, g.order, used)?,
            // A few bytes at a time are slow to read from there, and integers are taken for counts as they are.
            Some(_) if array.dtype != DType::F32 => return Ok(()),
            Some(index) => match self.context.gpus().iter().find(|gpu| gpu.index() == index) {
                Some(gpu) => {
                    let _current = gpu.enter()?;
                    Stream::borrowed(self.stream).synchronize()?;
                    places(g.order, array.shape, used, GPU_ROWS)
                        .map(|[i, j]| Ok((if g.order == Order::Sinograms { i } else { j }, gpu_row(gpu, array, i, j)?)))
                        .collect::<Result<_>>()?
                }
                // The call will refuse it.
                None => return Ok(()),
            },
        };
        warn_of_kind(&self.context, self.correction(projections.dtype())?, rows);
        self.seen();
        Ok(())
    }

    fn plan(&self) -> Result<&Plan> {
        match &self.plan {
            Some(plan) => Ok(plan),
            None => fail!(NotConfigured, "the plan has no geometry yet; isoc_ct_set_geometry comes first"),
        }
    }

    /// The geometry in force.
    pub fn geometry(&self) -> Result<&Geometry> {
        self.plan().map(|p| &p.geometry)
    }

    /// Checks and takes a geometry; forgets the caller's weights, and the flat field unless it is of such a detector.
    pub fn set_geometry(&mut self, geometry: Geometry) -> Result<()> {
        geometry.check()?;
        let used = geometry.first_row..geometry.first_row + geometry.slices;
        let kept = self.plan.as_ref().and_then(|p| p.flat.as_ref()).filter(|f| f.fits(geometry.rows, geometry.bins));
        if let Some(flat) = kept.filter(|_| self.context.nan_policy() == NanPolicy::Error) {
            flat.check_rows(used)?;
        }
        let angular = match Angular::new(&geometry.angles) {
            Err(e) if e.status == Status::OutOfMemory => return Err(e),
            angular => angular.map(Arc::new),
        };
        let (first, last) = geometry.angles.iter().fold((f64::MAX, f64::MIN), |(a, b), t| (a.min(*t), b.max(*t)));
        let span = last - first;
        let step = span / (geometry.angles.len() - 1).max(1) as f64;
        // Numbers that would be quarters of a turn in degrees.
        let degrees = [90.0, 180.0, 360.0, 540.0, 720.0, 1080.0, 1440.0];
        // Golden angles, of a half turn and of a whole one, reach any span.
        let golden = [1.941_61, 2.399_96].iter().any(|angle| (step - angle).abs() < 0.01);
        // Steps of twentieths, over many turns: nobody's radians.
        let decimal = step >= 0.05 && (20.0 * step - (20.0 * step).round()).abs() < 1e-5 && span > 2.0 * TAU;
        if !golden && (decimal || degrees.iter().any(|turn| (span - turn).abs() <= 1.5 * step)) {
            self.context.log(LogLevel::Warning, || {
                let turns = span / TAU;
                format!("angles run from {first} to {last} rad, {turns:.1} turns: they may be degrees, and have to be radians")
            });
        }
        match &angular {
            Ok(a) if a.missing_wedges > 0 => self.context.log(LogLevel::Warning, || {
                let (n, covered, at, gap) = (a.missing_wedges, a.covered, a.largest_gap_start, a.largest_gap);
                format!("{n} missing wedge(s), the largest {gap:.4} rad from {at:.4} rad on; angles cover {covered:.4} of pi rad")
            }),
            Ok(a) if !a.evenly_spaced => self.context.log(LogLevel::Info, || {
                let (n, spacing, gap) = (a.distinct, a.spacing, a.largest_gap);
                format!("{n} angles, unevenly spaced: median gap {spacing:.6} rad, largest {gap:.6} rad; views are weighted for it")
            }),
            Ok(_) => {}
            // Projectors do without.
            Err(e) => self.context.log(LogLevel::Info, || format!("no angular weights: {}", e.message)),
        }
        self.warn_of_axis(&geometry);
        if !(0.02..=50.0).contains(&geometry.ratio()) {
            self.context.log(LogLevel::Warning, || {
                let (pixel, pitch) = (geometry.pixel_size, geometry.bin_pitch);
                format!(
                    "pixel_size is {pixel} and bin_pitch {pitch}, {:.4} bins: are both in one unit?",
                    geometry.ratio()
                )
            });
        }
        let flat = self.plan.take().and_then(|p| {
            let Geometry { rows, bins, .. } = p.geometry;
            let fits = |f: &Arc<FlatField>| f.fits(geometry.rows, geometry.bins);
            if p.flat.as_ref().is_some_and(|f| !fits(f)) {
                self.context.log(LogLevel::Warning, || {
                    let (r, b) = (geometry.rows, geometry.bins);
                    format!("the flat field is of {rows} rows of {bins} bins, the geometry now of {r} of {b}: it is forgotten")
                });
            }
            p.flat.filter(fits)
        });
        self.workspace = Workspace::default();
        self.gpus.forget();
        self.looked = false;
        self.plan = Some(Plan { geometry, angular, given: None, flat });
        Ok(())
    }

    /// Warns of a rotation axis beside the detector, where pixels see too few directions.
    ///
    /// A scan with the axis at the detector's edge, or a little beyond, is in order over a full turn: what one view misses the
    /// opposite one sees, so that pixels see all directions, or nearly all. Half of them is what a half turn about the edge leaves (an
    /// axis given from the middle, 0, is such a one), and with the axis far outside there are fewer, down to none: an image of zeros.
    /// Two thirds lies between. An axis about the detector's middle needs no look.
    fn warn_of_axis(&self, g: &Geometry) {
        let middle = (g.bins as f64 - 1.0) / 2.0;
        let axis = g.axis.iter().sum::<f64>() / g.axis.len() as f64;
        let aside = g.x_offset.hypot(g.y_offset) * g.ratio() > middle;
        if (axis - middle).abs() < (middle / 4.0).max(0.5) && !aside {
            return;
        }
        let seen = g.directions_seen();
        if seen < 2.0 / 3.0 {
            self.context.log(LogLevel::Warning, || {
                let (last, percent) = (g.bins - 1, 100.0 * seen);
                let offset = if aside { format!(" (x_offset is {}, y_offset {} pixels)", g.x_offset, g.y_offset) } else { String::new() };
                format!("axis is {axis}, and the detector's bins are 0 to {last}: pixels of the volume{offset} see {percent:.0} % of the directions on average; axis is a fractional bin, (bins - 1) / 2 = {middle} by default")
            });
        }
    }

    /// Checks and takes options.
    pub fn set_options(&mut self, options: Options) -> Result<()> {
        options.filter.check()?;
        let t = options.minimum_transmission;
        if !t.is_finite() {
            fail!(NotFiniteParameter, "options.minimum_transmission is {t}; it must be finite");
        }
        if !(t >= f64::from(f32::MIN_POSITIVE) && t < 1.0) {
            fail!(OutOfRange, "options.minimum_transmission is {t}; it must be above 1.2e-38 and below 1");
        }
        self.options = options;
        self.looked = false;
        Ok(())
    }

    /// Takes flat and dark frames, (frames, rows, bins); None forgets them.
    pub fn set_flat_field(&mut self, flats: Option<View>, darks: Option<View>) -> Result<()> {
        let policy = self.context.nan_policy();
        let Some(plan) = &mut self.plan else {
            fail!(NotConfigured, "the plan has no geometry yet; isoc_ct_set_geometry comes first");
        };
        let Some(flats) = flats else {
            if darks.is_some() {
                fail!(NullPointer, "flats is NULL while darks is not; both or flats alone may be given");
            }
            plan.flat = None;
            self.looked = false;
            return Ok(());
        };
        let g = &plan.geometry;
        for (name, view) in [("flats", Some(flats)), ("darks", darks)] {
            let Some([_, rows, bins]) = view.map(|v| v.shape()) else { continue };
            if (rows, bins) != (g.rows, g.bins) {
                fail!(TensorShape, "{name} has {rows} rows of {bins} bins; they must have {} of {}", g.rows, g.bins);
            }
        }
        plan.flat = Some(Arc::new(FlatField::new(flats, darks, g.first_row..g.first_row + g.slices, policy)?));
        self.looked = false;
        Ok(())
    }

    /// Angular weights in radians, or why there are none.
    pub fn angular_weights(&self) -> Result<&[f64]> {
        self.plan()?.weights()
    }

    /// Takes the caller's angular weights, in radians, until the next geometry; None goes back to those of the angles.
    pub fn set_angular_weights(&mut self, weights: Option<&[f64]>) -> Result<()> {
        let Some(plan) = &mut self.plan else {
            fail!(NotConfigured, "the plan has no geometry yet; isoc_ct_set_geometry comes first");
        };
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
        let (sum, least, most) = (weights.iter().sum::<f64>(), f32::MIN_POSITIVE, f32::MAX);
        if !(f64::from(least)..=f64::from(most)).contains(&sum) {
            fail!(
                OutOfRange,
                "the sum of weights is {sum}; it must be {least:e} to {most:e} (pi for a whole half turn)"
            );
        }
        let mut given = zeros(views)?;
        given.copy_from_slice(weights);
        plan.given = Some(Arc::new(given));
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
        let plan = self.plan()?;
        let angular = plan.angular.as_ref().ok().cloned();
        let covered = plan.weights().map_or(0.0, |w| w.iter().sum());
        if !self.context.gpus().is_empty() {
            let Needs { padded_bins, slab: slab_slices, .. } = self.gpu_needs()?;
            return Ok(Info { angular, covered, padded_bins, slab_slices, replaced: self.replaced });
        }
        let filter = self.row_filter(&plan.geometry)?;
        let gather = self.fbp(&plan.geometry, None, &filter)?;
        let slabs = slabs(plan.geometry.slices, self.memory_cap(&self.workspace), self.context.threads(), &gather)?;
        let (padded_bins, slab_slices) = (padded_bins(plan.geometry.bins), slabs[0].count);
        Ok(Info { angular, covered, padded_bins, slab_slices, replaced: self.replaced })
    }

    /// Bytes that `reconstruct` will allocate at a time.
    pub fn memory(&self) -> Result<u64> {
        let (plan, weights) = (self.plan()?, self.angular_weights()?);
        if !self.context.gpus().is_empty() {
            return Ok(self.gpu_needs()?.bytes);
        }
        let g = &plan.geometry;
        let filter = self.row_filter(g)?;
        let gather = self.fbp(g, Some(weights), &filter)?;
        let cap = self.memory_cap(&self.workspace);
        let slabs = slabs(g.slices, cap, self.context.threads(), &gather)?;
        Ok(slabs.iter().map(|slab| gather.slab_bytes(slab, cap)).max().unwrap_or(0))
    }

    fn row_filter(&self, g: &Geometry) -> Result<RowFilter> {
        RowFilter::new(&self.options.filter, self.options.padding, g.bins, g.bin_pitch)
    }

    fn fbp<'a>(&self, g: &'a Geometry, weights: Option<&[f64]>, filter: &'a RowFilter) -> Result<Gather<'a>> {
        Gather::backproject(g, self.context.threads(), self.options.interpolation, weights, Some(filter))
    }

    /// Projections as an input, corrected where the call does that.
    fn projections<'a>(&'a self, view: View<'a>, corrects: bool) -> Result<Input<'a>> {
        let g = self.geometry()?;
        check_shape("projections", view.shape(), g.projection_shape())?;
        let correction = if corrects { self.correction(view.dtype())? } else { uncorrected(view.dtype())? };
        let rows = g.first_row..g.first_row + g.slices;
        Ok(Input::projections(view, g.order == Order::Sinograms, (rows, self.above), correction, &self.context))
    }

    /// Filters the rows of all slices: see `isoc_ct_filter`.
    pub fn filter(&mut self, projections: View, filtered: ViewMut) -> Result<()> {
        let g = self.geometry()?;
        check_shape("filtered", filtered.shape(), g.projection_shape())?;
        check_shape("projections", projections.shape(), g.projection_shape())?;
        self.correction(projections.dtype())?;
        self.look_once(&projections)?;
        if !self.context.gpus().is_empty() {
            return self.on_gpus(Operator::Filter, false, projections.layout(), filtered.layout());
        }
        let g = self.geometry()?;
        let input = self.projections(projections, true)?;
        let cap = self.memory_cap(&self.workspace);
        let needed = self.context.threads() as u64 * (RowFilter::scratch_bytes(g.bins) + 8 * g.bins as u64)
            + RowFilter::table_bytes(g.bins);
        if needed > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; filtering needs at least {needed}");
        }
        let filter = self.row_filter(g)?;
        let target = if g.order == Order::Sinograms { filtered.swapped() } else { filtered };
        let pairs = g.views().div_ceil(2);
        self.context.run(|job| {
            input.check(job)?;
            job.enter(Stage::Filter);
            (0..pairs).into_par_iter().try_for_each_init(
                || Ok((zeros(g.bins)?, zeros(g.bins)?, filter.scratch()?)),
                |room: &mut Result<_>, pair| {
                    job.check()?;
                    let (a, b, scratch) = room.as_mut().map_err(|e| e.clone())?;
                    let (v, two) = (2 * pair, 2 * pair + 1 < g.views());
                    for row in g.first_row..g.first_row + g.slices {
                        input.read(v, row, a)?;
                        if two {
                            input.read(v + 1, row, b)?
                        } else {
                            b.fill(0.0)
                        }
                        filter.apply(a, b, scratch);
                        // SAFETY: this task alone has these two views.
                        unsafe {
                            target.write_row(v, row, 0, a);
                            if two {
                                target.write_row(v + 1, row, 0, b);
                            }
                        }
                    }
                    job.advance(1.0 / pairs as f64);
                    Ok(())
                },
            )
        })?;
        self.replaced = input.replaced();
        Ok(())
    }

    /// Pixel-driven back projection: see `isoc_ct_backproject`.
    pub fn backproject(&mut self, projections: View, volume: ViewMut) -> Result<()> {
        if !self.context.gpus().is_empty() {
            self.check_shapes(&projections, &volume)?;
            let weighted = self.options.weighted_backprojection;
            return self.on_gpus(Operator::Backproject, weighted, projections.layout(), volume.layout());
        }
        let mut workspace = std::mem::take(&mut self.workspace);
        let plan = self.plan()?;
        let weights = if self.options.weighted_backprojection { Some(self.angular_weights()?) } else { None };
        let threads = self.context.threads();
        let gather = Gather::backproject(&plan.geometry, threads, self.options.interpolation, weights, None)?;
        self.replaced = self.gather(plan, &gather, projections, volume, &mut workspace)?;
        self.workspace = workspace;
        Ok(())
    }

    /// Transpose of `forward`: see `isoc_ct_adjoint`.
    pub fn adjoint(&mut self, projections: View, volume: ViewMut) -> Result<()> {
        if !self.context.gpus().is_empty() {
            self.check_shapes(&projections, &volume)?;
            return self.on_gpus(Operator::Adjoint, false, projections.layout(), volume.layout());
        }
        let mut workspace = std::mem::take(&mut self.workspace);
        let plan = self.plan()?;
        let gather = Gather::adjoint(&plan.geometry, self.context.threads())?;
        self.replaced = self.gather(plan, &gather, projections, volume, &mut workspace)?;
        self.workspace = workspace;
        Ok(())
    }

    /// Filtered back projection: see `isoc_ct_reconstruct`.
    pub fn reconstruct(&mut self, projections: View, volume: ViewMut) -> Result<()> {
        self.check_shapes(&projections, &volume)?;
        self.correction(projections.dtype())?;
        self.angular_weights()?;
        self.look_once(&projections)?;
        if !self.context.gpus().is_empty() {
            return self.on_gpus(Operator::Reconstruct, true, projections.layout(), volume.layout());
        }
        let mut workspace = std::mem::take(&mut self.workspace);
        let (plan, weights) = (self.plan()?, self.angular_weights()?);
        let filter = self.row_filter(&plan.geometry)?;
        let gather = self.fbp(&plan.geometry, Some(weights), &filter)?;
        self.replaced = self.gather(plan, &gather, projections, volume, &mut workspace)?;
        self.workspace = workspace;
        Ok(())
    }

    /// Joseph's forward projection: see `isoc_ct_forward`.
    pub fn forward(&mut self, volume: View, projections: ViewMut) -> Result<()> {
        let mut workspace = std::mem::take(&mut self.workspace);
        let plan = self.plan()?;
        let g = &plan.geometry;
        check_shape("volume", volume.shape(), g.volume_shape())?;
        check_shape("projections", projections.shape(), g.projection_shape())?;
        if !self.context.gpus().is_empty() {
            return self.on_gpus(Operator::Forward, false, volume.layout(), projections.layout());
        }
        let input = Input::volume(volume, &self.context);
        let target = if g.order == Order::Sinograms { projections.swapped() } else { projections };
        let forward = Forward::new(g, self.context.threads())?;
        let cap = self.memory_cap(&workspace);
        let plan = slabs(g.slices, cap, self.context.threads(), &forward)?;
        pipeline::log(&self.context, "forward", &plan);
        self.context.run(|job| {
            input.check(job)?;
            pipeline::run(&self.context, g.slices, cap, &forward, |slab, cap| {
                let call = Call { context: &self.context, job, input: &input, target: &target };
                forward.run(&call, slab, cap, &mut workspace)
            })
        })?;
        self.replaced = input.replaced();
        self.workspace = workspace;
        Ok(())
    }

    /// Runs a gather over all slices; gives the number of values replaced.
    fn gather(
        &self,
        plan: &Plan,
        gather: &Gather,
        projections: View,
        volume: ViewMut,
        workspace: &mut Workspace,
    ) -> Result<u64> {
        let g = &plan.geometry;
        check_shape("volume", volume.shape(), g.volume_shape())?;
        let input = self.projections(projections, gather.filters())?;
        let cap = self.memory_cap(workspace);
        let slabs = slabs(g.slices, cap, self.context.threads(), gather)?;
        pipeline::log(&self.context, gather.name(), &slabs);
        self.context.run(|job| {
            // A single slab is written only once all of its data has been read; several need a look ahead.
            if slabs.len() > 1 {
                input.check(job)?;
            }
            self.gather_slabs(gather, (&input, &volume), cap, workspace, job)
        })?;
        Ok(input.replaced())
    }

    fn gather_slabs(
        &self,
        gather: &Gather,
        (input, target): (&Input, &ViewMut),
        cap: u64,
        workspace: &mut Workspace,
        job: &Job,
    ) -> Result<()> {
        pipeline::run(&self.context, self.geometry()?.slices, cap, gather, |slab, cap| {
            gather.run(&Call { context: &self.context, job, input, target }, slab, cap, workspace)
        })
    }

    /// Filtered back projection on the processor of a plan that is a part of a call, which has `job` and `cap` bytes for the work; gives
    /// the number of values replaced.
    pub(super) fn reconstruct_part(
        &self,
        (projections, volume): (View, ViewMut),
        cap: u64,
        workspace: &mut Workspace,
        job: &Job,
    ) -> Result<u64> {
        let (plan, weights) = (self.plan()?, self.angular_weights()?);
        let filter = self.row_filter(&plan.geometry)?;
        let gather = self.fbp(&plan.geometry, Some(weights), &filter)?;
        let input = self.projections(projections, true)?;
        self.context.on_workers(job, |job| {
            input.check(job)?;
            self.gather_slabs(&gather, (&input, &volume), cap, workspace, job)
        })?;
        Ok(input.replaced())
    }

    /// Slices of a slab of `reconstruct` on the processor, and the memory for the work, where the arrays of a slab of so many slices take
    /// `arrays` bytes; all of it stays within `cap` bytes.
    pub(super) fn streamed_slab(&self, cap: u64, arrays: impl Fn(usize) -> u64) -> Result<(usize, u64)> {
        let plan = self.plan()?;
        let filter = self.row_filter(&plan.geometry)?;
        let gather = self.fbp(&plan.geometry, None, &filter)?;
        let work = |slices| cap.checked_sub(arrays(slices));
        // The arrays take half of it at most, where there is a choice.
        let most = usize::try_from(cap / 2 / arrays(1)).unwrap_or(usize::MAX);
        let mut slices = most.clamp(1, plan.geometry.slices);
        loop {
            match work(slices).map(|cap| slabs(slices, cap, self.context.threads(), &gather)) {
                Some(Ok(slabs)) => {
                    let count = slabs[0].count;
                    return Ok((count, work(count).unwrap_or(0)));
                }
                _ if slices == 1 => {
                    let needed = arrays(1) + gather.bytes(1, 1);
                    fail!(MemoryCap, "memory_cap is {cap} bytes; streaming needs at least {needed}");
                }
                _ => slices = slices.div_ceil(2),
            }
        }
    }

    /// Most bytes of working memory for a call that begins now.
    pub(super) fn memory_cap(&self, workspace: &Workspace) -> u64 {
        self.context.memory_cap(workspace.bytes())
    }

    /// The buffers that calls on the processor work in, for the length of a call.
    pub(super) fn workspace_mut(&mut self) -> &mut Workspace {
        &mut self.workspace
    }

    fn check_shapes(&self, projections: &View, volume: &ViewMut) -> Result<()> {
        let g = self.geometry()?;
        check_shape("projections", projections.shape(), g.projection_shape())?;
        check_shape("volume", volume.shape(), g.volume_shape())
    }

    /// Exact pixel means of a phantom, the same in every slice.
    pub fn phantom_volume(&self, ellipses: &[Ellipse], volume: ViewMut) -> Result<()> {
        let g = self.geometry()?;
        check_shape("volume", volume.shape(), g.volume_shape())?;
        phantom::check(ellipses)?;
        self.context.run(|job| {
            (0..g.ny).into_par_iter().try_for_each(|i| {
                job.check()?;
                let row = phantom::pixel_means(g, ellipses, i)?;
                // SAFETY: this task alone has row i.
                (0..g.slices).for_each(|z| unsafe { volume.write_row(z, i, 0, &row) });
                job.advance(1.0 / g.ny as f64);
                Ok(())
            })
        })
    }

    /// Exact line integrals of a phantom, the same in every row.
    pub fn phantom_projections(&self, ellipses: &[Ellipse], projections: ViewMut) -> Result<()> {
        let g = self.geometry()?;
        check_shape("projections", projections.shape(), g.projection_shape())?;
        phantom::check(ellipses)?;
        let target = if g.order == Order::Sinograms { projections.swapped() } else { projections };
        self.context.run(|job| {
            (0..g.views()).into_par_iter().try_for_each(|v| {
                job.check()?;
                let row = phantom::line_integrals(g, ellipses, v)?;
                // SAFETY: this task alone has view v.
                (0..g.rows).for_each(|r| unsafe { target.write_row(v, r, 0, &row) });
                job.advance(1.0 / g.views() as f64);
                Ok(())
            })
        })
    }
}

/// What calls that do not correct do to projections: nothing.
fn uncorrected<'a>(dtype: DType) -> Result<Correction<'a>> {
    if dtype != DType::F32 {
        fail!(TensorDtype, "projections are {dtype:?}; this call takes F32");
    }
    Ok(Correction::None)
}

/// First two indices of up to `most` rows, spread over views and over the rows in use.
fn places(order: Order, shape: [usize; 3], used: Range<usize>, most: usize) -> impl Iterator<Item = [usize; 2]> {
    let views = if order == Order::Sinograms { shape[1] } else { shape[0] };
    let most = most.min(views * used.len());
    (0..most).map(move |k| {
        // The golden section spreads rows whatever the number of views.
        let part = (k as f64 * 0.618_034).fract();
        let (view, row) = (k * views / most, used.start + (part * used.len() as f64) as usize);
        if order == Order::Sinograms { [row, view] } else { [view, row] }
    })
}

/// Some rows of projections in host memory.
pub(super) fn host_rows(projections: &View, order: Order, used: Range<usize>) -> Result<Vec<Sampled>> {
    let [.., bins] = projections.shape();
    places(order, projections.shape(), used, HOST_ROWS)
        .map(|[i, j]| {
            let mut row = zeros(bins)?;
            projections.read_row(i, j, 0, &mut row);
            Ok((if order == Order::Sinograms { i } else { j }, row))
        })
        .collect()
}

/// A row of an array on a GPU; where its bins do not follow each other, some of them, evenly.
fn gpu_row(gpu: &Device, projections: &Layout, i: usize, j: usize) -> Result<Vec<f32>> {
    let bins = projections.shape[2];
    let address = |k: usize| projections.element([i, j, k]).addr() as u64;
    if projections.strides[2] == 1 {
        let mut row = zeros(bins)?;
        gpu.read_into(address(0), &mut row)?;
        return Ok(row);
    }
    let n = bins.min(GPU_BINS);
    (0..n).map(|k| gpu.read(address(k * (bins - 1) / (n - 1).max(1)))).collect()
}

fn check_shape(name: &str, seen: [usize; 3], expected: [usize; 3]) -> Result<()> {
    if seen != expected {
        fail!(TensorShape, "{name} has shape {seen:?}; it must have {expected:?}");
    }
    Ok(())
}
