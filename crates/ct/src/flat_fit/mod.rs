//! What the beam of each view takes of the flat field's components: see [`variation`]. Frames are read whole, in [blocks](binned) of
//! pixels, and each view is a task for itself, so that a scan may come in parts.

mod binned;
mod variation;

use super::geometry::Order;
use super::plan::Ct;
use super::rows::flat_field::{Beams, Drifted, FlatField};
use super::rows::kind::Correction;
use binned::Binned;
use isocenter_base::array::fetch::Fetched;
use isocenter_base::array::value::not_finite;
use isocenter_base::array::{Array, DType, Layout};
use isocenter_base::context::{Context, Job, NanPolicy, Stage};
use isocenter_base::cpu::buffer::{collected, copied, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::Device;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use variation::{Fit, Fitted};

/// How the beam is fitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlatFitOptions {
    /// Rows and bins of a block whose mean is taken; 0 makes 100 to 200 blocks of the longer side.
    pub binning: usize,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct FlatFit {
    /// The part of the flats' variance that each component explains.
    pub explained: Vec<f64>,
    /// (view, component): those of flats are 1 on average, as a root mean square.
    pub weights: Vec<f64>,
    /// Total variation of transmissions over their sum, before and after, on average over the views.
    pub variation: [f64; 2],
}

/// Blocks of the longer side where the caller does not say.
const SIDE: usize = 200;
/// Blocks for each component and for the beam that are needed.
const BLOCKS: usize = 4;
/// Views whose frames are copied from a GPU together, at most.
const TOGETHER: usize = 64;

impl Ct {
    /// Fits the components of the flat field to the beam of views from this one on: see `isoc_ct_fit_flat_field`.
    pub fn fit_flat_field(
        &mut self,
        projections: Array,
        first_view: usize,
        options: &FlatFitOptions,
    ) -> Result<FlatFit> {
        let plan = self.plan()?;
        let g = &plan.geometry;
        let (dim, dtype) = (usize::from(g.order == Order::Sinograms), projections.dtype());
        let views = projections.shape()[dim];
        let mut shape = g.projection_shape();
        shape[dim] = views;
        projections.layout().check("projections", shape, DType::FRAMES, self.gpus())?;
        if first_view >= g.views() || views > g.views() - first_view {
            let all = g.views();
            fail!(
                OutOfRange,
                "first_view is {first_view} and projections have {views} views; the geometry has {all} views"
            );
        }
        let flat = match self.options.input.intended(dtype, plan.flat.as_deref(), 1.0)? {
            Correction::Counts(flat, _) => flat,
            Correction::None | Correction::Transmission(_) => fail!(
                FlatField,
                "projections are {dtype:?}, and by options.input no counts; the beam is fitted to counts"
            ),
        };
        let Some(explained) = flat.explained().map(copied).transpose()? else {
            fail!(
                FlatField,
                "the flat field has no eigenflats; options.eigenflats of isoc_ct_set_flat_field asks for them"
            );
        };
        let none = FlatFit { explained, weights: Vec::new(), variation: [0.0; 2] };
        let Some(beams) = flat.beams().filter(|beams| beams.components() > 0) else { return Ok(none) };
        let gpu = self.device_of(&projections)?;
        let source = Source { context: &self.context, projections, order: g.order, gpu, first_view, flat, beams };
        let by = match options.binning {
            0 => g.rows.max(g.bins).div_ceil(SIDE),
            by => by,
        };
        let found = self.context.run(|job| source.fit(by, [g.rows, g.bins], job))?;
        let components = beams.components();
        let (mut weights, mut variation) = (zeros(views * components)?, [0.0; 2]);
        for ((drifted, of_view), to) in found.iter().zip(weights.chunks_exact_mut(components)) {
            to.copy_from_slice(&drifted.weights);
            variation.iter_mut().zip(of_view).for_each(|(sum, v)| *sum += v / views as f64);
        }
        let drifted = collected(found.into_iter().map(|(drifted, _)| drifted))?;
        let flat = self.plan_mut()?.flat.as_mut().and_then(Arc::get_mut);
        let Some(flat) = flat else { fail!(Internal, "the flat field is in use") };
        flat.drift(first_view, &drifted);
        self.looked = false;
        Ok(FlatFit { weights, variation, ..none })
    }
}

/// What is found of a view, and its total variation before and after.
type Found = (Drifted, [f64; 2]);

/// Frames, and the flat field that they are fitted by.
struct Source<'a> {
    context: &'a Context,
    projections: Array<'a>,
    order: Order,
    /// Where they are, if not on the host.
    gpu: Option<&'a Device>,
    first_view: usize,
    flat: &'a FlatField,
    beams: &'a Beams,
}

impl Source<'_> {
    fn fit(&self, by: usize, detector: [usize; 2], job: &Job) -> Result<Vec<Found>> {
        job.enter(Stage::Prepare);
        let size = detector.map(|side| side.div_ceil(by));
        let (components, blocks) = (self.beams.components(), size[0] * size[1]);
        let needed = BLOCKS * (components + 1);
        if blocks < needed {
            fail!(
                OutOfRange,
                "options.binning is {by}, which leaves {} x {} pixels; {components} eigenflats need {needed}",
                size[0],
                size[1]
            );
        }
        let Layout { shape, dtype, .. } = *self.projections.layout();
        let views = shape[usize::from(self.order == Order::Sinograms)];
        let frame = (detector[0] * detector[1] * dtype.size()) as u64;
        let (cap, all) = (self.context.memory_cap(0), 8 * ((self.beams.count() + 5) * blocks) as u64);
        let (each, copied) = (Fit::bytes(size, components), if self.gpu.is_some() { frame } else { 0 });
        let room = cap.saturating_sub(all);
        if room < each + copied {
            let needed = all + each + copied;
            fail!(
                MemoryCap,
                "memory_cap is {cap} bytes; a fit of frames of {} x {} pixels needs at least {needed}",
                size[0],
                size[1]
            );
        }
        let threads = self.context.threads().min(views).min(((room - copied) / each) as usize);
        let together = match self.gpu {
            Some(_) => ((room - threads as u64 * each) / frame).clamp(1, TOGETHER as u64) as usize,
            None => views,
        };
        let binned = Binned::new(self.flat, self.beams, detector, by)?;
        job.check()?;
        let mut found = Vec::new();
        for first in (0..views).step_by(together) {
            let part = first..views.min(first + together);
            let chunk = self.gpu.map(|gpu| Fetched::new(gpu, &self.part(&part))).transpose()?;
            let frames = chunk.as_ref().map_or(self.projections, Fetched::array);
            let frames = Frames { source: self, frames, first: self.first_view + first };
            found.append(&mut frames.fit(&binned, (threads, part.len()), job, 1.0 / views as f64)?);
        }
        Ok(found)
    }

    /// Where some views are.
    fn part(&self, views: &Range<usize>) -> Layout {
        let dim = usize::from(self.order == Order::Sinograms);
        let (mut at, layout) = ([0; 3], self.projections.layout());
        let mut shape = layout.shape;
        (at[dim], shape[dim]) = (views.start, views.len());
        Layout { origin: layout.element(at), shape, ..*layout }
    }
}

/// Frames in host memory, from a view on.
struct Frames<'a> {
    source: &'a Source<'a>,
    frames: Array<'a>,
    first: usize,
}

impl Frames<'_> {
    fn fit(&self, binned: &Binned, (threads, views): (usize, usize), job: &Job, part: f64) -> Result<Vec<Found>> {
        let beams = self.source.beams;
        let mut found: Vec<Option<Found>> = zeros(views)?;
        let queue = Mutex::new(found.iter_mut().enumerate());
        // A task a thread, and no more, so that there is memory for each.
        (0..threads.min(views)).into_par_iter().try_for_each(|_| {
            let mut fit = Fit::new(binned, self.source.context.level())?;
            let mut scratch = binned.scratch()?;
            loop {
                let next = queue.lock().unwrap_or_else(|e| e.into_inner()).next();
                let Some((view, to)) = next else { return Ok(()) };
                job.check()?;
                binned.frame(|row, values| self.read([view, row], values), &mut fit.counts, &mut scratch)?;
                let (mixture, strength) = beams.before(self.first + view);
                let [a, b] = mixture.planes.map(|plane| binned.plane(plane as usize));
                let [wa, wb] = mixture.weights.map(f64::from);
                let Fitted { weights, scale, variation } = fit.run(|k| wa * a[k] + wb * b[k], strength)?;
                *to = Some((Drifted { weights, scale }, variation));
                job.advance(part);
            }
        })?;
        collected(found.into_iter().flatten())
    }

    /// Reads a row of a frame; what is no number is an error, or as bright as the beam.
    fn read(&self, [view, row]: [usize; 2], values: &mut [f32]) -> Result<()> {
        let Source { context, order, flat, beams, .. } = *self.source;
        let at = if order == Order::Sinograms { [row, view, 0] } else { [view, row, 0] };
        self.frames.read_row(at, values);
        if self.frames.dtype() != DType::F32 || values.iter().all(|v| v.is_finite()) {
            return Ok(());
        }
        if context.nan_policy() == NanPolicy::Error {
            return self.first_not_finite();
        }
        let pixels = row * values.len()..(row + 1) * values.len();
        let (mixture, (dark, _)) = (beams.before(self.first + view).0, flat.rows(row..row + 1));
        let [a, b] = mixture.planes.map(|plane| beams.of_plane(plane as usize, pixels.clone()));
        for (k, v) in values.iter_mut().enumerate().filter(|(_, v)| !v.is_finite()) {
            *v = dark[k] + mixture.weights[0] * a[k] + mixture.weights[1] * b[k];
        }
        Ok(())
    }

    /// The error that names the first NaN or Inf in the tensor's own order.
    fn first_not_finite(&self) -> Result<()> {
        let [n, m, length] = self.frames.shape();
        let dim = usize::from(self.source.order == Order::Sinograms);
        let mut row: Vec<f32> = zeros(length)?;
        for (i, j) in (0..n).flat_map(|i| (0..m).map(move |j| (i, j))) {
            self.frames.read_row([i, j, 0], &mut row);
            if let Some(k) = row.iter().position(|v| !v.is_finite()) {
                let mut at = [i, j, k];
                at[dim] += self.first - self.source.first_view;
                return not_finite("projections", &at, row[k]);
            }
        }
        fail!(Internal, "projections held a value that was not finite and has changed since");
    }
}
