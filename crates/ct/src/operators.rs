//! What a plan computes: each call checks its arrays, and asks the engine.

use super::engine::{Engine, Treated};
use super::geometry::Order;
use super::geometry_warnings::advise_halves;
use super::iterative::options::{Algorithm, Start, Variation};
use super::output::mask::Mask;
use super::output::survey::Survey;
use super::output::writer::{Writer, Written};
use super::output::{Finish, Pass};
use super::phantom;
use super::plan::{Ct, configured};
use super::rows::doubts::{gpu_rows, host_rows, warn_of_kind};
use super::rows::kind::{Correction, Corrector, InputKind};
use super::rows::source::Source;
use super::slab::{Arrays, Callbacks, Slab};
use super::task::{Operator, Task};
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::context::{Context, LogLevel, Part};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Stream};
use isocenter_base::phantom::Ellipse;

impl Ct {
    /// Filters the rows of all slices: see `isoc_ct_filter`.
    pub fn filter(&mut self, projections: Array, filtered: ArrayMut) -> Result<()> {
        let shape = self.geometry()?.projection_shape();
        filtered.layout().check("filtered", shape, DType::FLOAT, self.gpus())?;
        projections.layout().check("projections", shape, DType::FRAMES, self.gpus())?;
        self.corrected(Operator::Filter, &projections, &filtered)
    }

    /// Pixel-driven back projection: see `isoc_ct_backproject`.
    pub fn backproject(&mut self, projections: Array, volume: ArrayMut) -> Result<()> {
        self.check_pair(projections.layout(), volume.layout(), DType::FLOAT)?;
        self.run(Operator::Backproject, &projections, &volume)
    }

    /// Transpose of `forward`: see `isoc_ct_adjoint`.
    pub fn adjoint(&mut self, projections: Array, volume: ArrayMut) -> Result<()> {
        self.check_pair(projections.layout(), volume.layout(), DType::FLOAT)?;
        self.run(Operator::Adjoint, &projections, &volume)
    }

    /// Filtered back projection: see `isoc_ct_reconstruct`.
    pub fn reconstruct(&mut self, projections: Array, volume: ArrayMut) -> Result<()> {
        let g = self.geometry()?;
        projections.layout().check("projections", g.projection_shape(), DType::FRAMES, self.gpus())?;
        volume.layout().check("volume", g.volume_shape(), &[self.output.dtype], self.gpus())?;
        self.correction(projections.dtype())?;
        self.check_weights()?;
        self.look_once(&projections)?;
        self.advise_once()?;
        let arrays = Arrays::whole(&projections, &volume);
        self.finished(projections.dtype(), |engine, context, task| engine.run(context, task, &arrays))
    }

    /// Joseph's forward projection: see `isoc_ct_forward`.
    pub fn forward(&mut self, volume: Array, projections: ArrayMut) -> Result<()> {
        self.check_pair(projections.layout(), volume.layout(), DType::FLOAT)?;
        self.run(Operator::Forward, &volume, &projections)
    }

    /// Reconstruction from callback to callback, for volumes larger than memory: see `isoc_ct_reconstruct_stream`.
    pub fn reconstruct_stream(
        &mut self,
        dtype: DType,
        mut read: impl FnMut(Slab) -> Result<()>,
        mut write: impl FnMut(Slab) -> Result<()>,
    ) -> Result<()> {
        // Before anything is read.
        dtype.check("projections", DType::FRAMES)?;
        self.check_weights()?;
        if self.options.algorithm != Algorithm::Fbp && self.iterative.start == Start::Volume {
            fail!(
                OutOfRange,
                "iterative.start is 1 (volume); it must be 0 (uniform) in a stream, whose volume is not there yet"
            );
        }
        self.correction(dtype)?;
        self.advise_once()?;
        let (unseen, mut looked) = (self.unseen(dtype), false);
        let (context, correct) = (self.context.clone(), self.corrector());
        let g = self.geometry()?;
        let order = g.order;
        let mut read = |slab: Slab| {
            read(slab)?;
            if unseen && !looked {
                looked = true;
                let Layout { origin, shape, strides, .. } = Layout::new(slab.data, dtype, slab.shape);
                // SAFETY: the slab's array, which the callback has just filled.
                let array = unsafe { Array::from_raw(origin, dtype, shape, strides, None) };
                let held = if order == Order::Sinograms { slab.shape[0] } else { slab.shape[1] };
                let mut rows = host_rows(&array, order, 0..held)?;
                rows.iter_mut().for_each(|([_, row], _)| *row += slab.first_row);
                warn_of_kind(&context, correct.correction(dtype)?, rows);
            }
            Ok(())
        };
        let result = self.finished(dtype, |engine, context, task| {
            let mut nothing = |_| Ok(());
            let write: &mut dyn FnMut(Slab) -> Result<()> = match task.pass.finish {
                Finish::Survey(_) => &mut nothing,
                Finish::Direct | Finish::Write(_) => &mut write,
            };
            engine.stream(context, task, dtype, Callbacks { read: &mut read, write })
        });
        self.looked |= looked;
        result
    }

    /// An operator that makes line integrals of what projections hold.
    fn corrected(&mut self, operator: Operator, projections: &Array, target: &ArrayMut) -> Result<()> {
        // Before anything is looked at.
        self.correction(projections.dtype())?;
        self.look_once(projections)?;
        self.run(operator, projections, target)
    }

    /// Reconstruction in the passes that the output takes: percentiles first, where they are asked for.
    fn finished(
        &mut self,
        dtype: DType,
        mut work: impl FnMut(&mut dyn Engine, &Context, &Task) -> Result<Treated>,
    ) -> Result<()> {
        (self.written, self.history) = (None, None);
        let operator = Operator::to_reconstruct(self.options.algorithm);
        if self.output.converts() && operator == Operator::Iterate && self.iterative.start == Start::Volume {
            fail!(
                OutOfRange,
                "iterative.start is 1 (volume); it must be 0 (uniform) where the volume is stored by isoc_ct_set_output"
            );
        }
        if !self.output.converts() {
            self.ask(operator, dtype, Pass::DIRECT, work)?;
            self.written = Some(Written::direct());
            return Ok(());
        }
        // A GPU counts for itself.
        let threads = if self.gpus().is_empty() { self.context.threads() } else { 0 };
        let output = self.output.clone();
        let g = self.geometry()?;
        let (mask, slices) = (Mask::new(g, output.mask_radius, "output.mask_radius")?, g.slices as f64);
        let (mut window, mut surveyed) = (output.given(), 0);
        let mut part = Part::WHOLE;
        if let Some((percentiles, count)) = output.percentiles() {
            if operator == Operator::Iterate && self.iterative.variation == Variation::Volume {
                fail!(
                    OutOfRange,
                    "iterative.variation is 1 (volume), and isoc_ct_set_output asks for percentiles, which some slices alone would tell: give output.low and output.high, or store f32"
                );
            }
            let survey = Survey::new(g, &mask, count)?;
            surveyed = survey.count();
            let share = slices / (slices + surveyed as f64);
            let first = Part { before: 0.0, share, last: false };
            let pass = Pass::of(&output, threads, Finish::Survey(&survey), first);
            self.ask(operator, dtype, pass, &mut work)?;
            let found = survey.window(percentiles)?;
            self.context.log(LogLevel::Info, || {
                let ([p, q], [low, high]) = (percentiles, found);
                format!("reconstruct: percentiles {p} and {q} of {surveyed} slices are {low:.7e} and {high:.7e}")
            });
            window = Some(found);
            part = Part { before: 1.0 - share, share, last: true };
        }
        let writer = Writer::new(&output, window, surveyed, &mask, threads)?;
        let pass = Pass::of(&output, threads, Finish::Write(&writer), part);
        self.ask(operator, dtype, pass, work)?;
        self.written = Some(writer.written());
        Ok(())
    }

    fn run(&mut self, operator: Operator, source: &Array, target: &ArrayMut) -> Result<()> {
        let arrays = Arrays::whole(source, target);
        self.ask(operator, source.dtype(), Pass::DIRECT, |engine, context, task| engine.run(context, task, &arrays))
    }

    /// Asks the engine for a task.
    pub(super) fn ask(
        &mut self,
        operator: Operator,
        dtype: DType,
        pass: Pass,
        work: impl FnOnce(&mut dyn Engine, &Context, &Task) -> Result<Treated>,
    ) -> Result<()> {
        let Self { context, plan, options, stages, engine, stream, iterative, .. } = self;
        let plan = configured(plan)?;
        let algorithm = if operator == Operator::Iterate { options.algorithm } else { Algorithm::Fbp };
        let iteration = plan.iteration((algorithm, options.pair, options.tolerance), iterative)?;
        let correction = match operator {
            Operator::Filter | Operator::Reconstruct | Operator::Iterate => {
                let correction = options.input.correction(dtype, plan.flat.as_deref(), options.minimum_transmission)?;
                stages.check(correction)?;
                correction
            }
            _ => Correction::None,
        };
        let task = plan.task(operator, (options, stages), correction, *stream)?;
        if let Some(iteration) = &iteration {
            iteration.prepare(context, &plan.geometry)?;
        }
        let task = Task { pass, iteration: iteration.as_ref(), ..task };
        self.treated = work(&mut **engine, context, &task)?;
        if matches!(pass.finish, Finish::Survey(_)) {
            // The next pass meets them again.
            return Ok(());
        }
        let shape =
            if operator == Operator::Forward { task.detector.volume_shape() } else { task.detector.projection_shape() };
        context.tell_of_replaced(self.treated.replaced, shape.iter().product());
        if self.treated.outliers > 0 {
            context.log(LogLevel::Info, || format!("{} outliers were removed", self.treated.outliers));
        }
        self.history = iteration.map(|iteration| iteration.history.take()).or(self.history.take());
        Ok(())
    }

    /// The GPU that an array is on, when all that is in the caller's stream has been done; None for host memory.
    pub(super) fn device_of(&self, array: &Array) -> Result<Option<&Device>> {
        let Some(index) = array.layout().gpu else { return Ok(None) };
        let Some(gpu) = self.context.gpus().iter().find(|gpu| gpu.index() == index) else { return Ok(None) };
        let _current = gpu.enter()?;
        Stream::borrowed(self.stream).synchronize()?;
        Ok(Some(gpu))
    }

    /// Where line integrals of some rows of projections are read from, after the flat field, the logarithm and the distortion.
    pub(super) fn source<'a>(&'a self, projections: &'a Array<'a>) -> Result<Source<'a>> {
        let geometry = self.geometry()?;
        projections.layout().check("projections", geometry.projection_shape(), DType::FRAMES, self.gpus())?;
        let correction = self.correction(projections.dtype())?;
        let distortion = self.stages.distortion.as_ref();
        distortion.map_or(Ok(()), |distortion| distortion.check_size(geometry))?;
        let gpu = self.device_of(projections)?;
        Ok(Source { context: &self.context, geometry, projections, correction, distortion, gpu })
    }

    /// What is done to projections of this type by the calls that correct.
    pub(super) fn correction(&self, dtype: DType) -> Result<Correction<'_>> {
        self.options.input.correction(dtype, self.plan()?.flat.as_deref(), self.options.minimum_transmission)
    }

    /// The same without the plan, for the length of a call that changes it.
    pub(super) fn corrector(&self) -> Corrector {
        let flat = self.plan.as_ref().and_then(|p| p.flat.clone());
        Corrector { input: self.options.input, minimum: self.options.minimum_transmission, flat }
    }

    /// Whether nobody has looked at what projections hold since the last change, where that can be wrong.
    fn unseen(&self, dtype: DType) -> bool {
        let said = dtype == DType::F32 && self.options.input == InputKind::LineIntegrals;
        !self.looked && self.context.logs() && !said
    }

    /// Looks at the geometry of a scan that is reconstructed, whether it is a half acquisition.
    fn advise_once(&mut self) -> Result<()> {
        let Self { context, plan: Some(plan), .. } = self else { return Ok(()) };
        let filtered = self.options.algorithm == Algorithm::Fbp;
        if context.logs() && !plan.advised && plan.halves.is_none() && filtered {
            advise_halves(context, &plan.geometry)?;
            plan.advised = true;
        }
        Ok(())
    }

    /// Looks at some rows of projections, whether they are what they are taken for, once until something changes.
    fn look_once(&mut self, projections: &Array) -> Result<()> {
        if !self.unseen(projections.dtype()) {
            return Ok(());
        }
        let g = self.geometry()?;
        let used = g.used_rows();
        let array = projections.layout();
        let rows = match array.gpu {
            None => host_rows(projections, g.order, used)?,
            // A few bytes at a time are slow to read from there, and integers are taken for counts as they are.
            Some(_) if array.dtype != DType::F32 => return Ok(()),
            Some(_) => match self.device_of(projections)? {
                Some(gpu) => gpu_rows(gpu, array, g.order, used)?,
                // The call will refuse it.
                None => return Ok(()),
            },
        };
        warn_of_kind(&self.context, self.correction(projections.dtype())?, rows);
        self.looked = true;
        Ok(())
    }

    fn check_pair(&self, projections: &Layout, volume: &Layout, dtypes: &[DType]) -> Result<()> {
        let g = self.geometry()?;
        projections.check("projections", g.projection_shape(), dtypes, self.gpus())?;
        volume.check("volume", g.volume_shape(), DType::FLOAT, self.gpus())
    }

    /// Exact pixel means of a phantom, the same in every slice.
    pub fn phantom_volume(&self, ellipses: &[Ellipse], volume: ArrayMut) -> Result<()> {
        let g = self.geometry()?;
        volume.layout().check("volume", g.volume_shape(), DType::FLOAT, self.gpus())?;
        phantom::check(ellipses)?;
        self.context.run(|job| {
            (0..g.ny).into_par_iter().try_for_each(|i| {
                job.check()?;
                let row = phantom::pixel_means(g, ellipses, i)?;
                // SAFETY: this task alone has row i.
                (0..g.slices).for_each(|z| unsafe { volume.write_row([z, i, 0], &row) });
                job.advance(1.0 / g.ny as f64);
                Ok(())
            })
        })
    }

    /// Exact line integrals of a phantom, the same in every row.
    pub fn phantom_projections(&self, ellipses: &[Ellipse], projections: ArrayMut) -> Result<()> {
        let g = self.geometry()?;
        projections.layout().check("projections", g.projection_shape(), DType::FLOAT, self.gpus())?;
        phantom::check(ellipses)?;
        let target = if g.order == Order::Sinograms { projections.swapped() } else { projections };
        self.context.run(|job| {
            (0..g.views()).into_par_iter().try_for_each(|v| {
                job.check()?;
                let row = phantom::line_integrals(g, ellipses, v)?;
                // SAFETY: this task alone has view v.
                (0..g.rows).for_each(|r| unsafe { target.write_row([v, r, 0], &row) });
                job.advance(1.0 / g.views() as f64);
                Ok(())
            })
        })
    }
}
