//! The engine on a GPU. All that a plan keeps stays there as long as it fits.

use super::array::{self, Check, Copies, Place, Survey, total};
use super::data::Data;
use super::finish::{Finish, What};
use super::fourier::{self, Fourier};
use super::gather::max_blocks;
use super::plain::Plain;
use super::prior::Arguments;
use super::projection::{Draft, Projection};
use crate::array::{Array, ArrayMut};
use crate::context::{Context, Job, NanPolicy};
use crate::error::{Result, fail};
use crate::gpu::{Device, DeviceMemory, Event, Graph, Lent, Queue, then_wait};
use crate::pet::direction::Direction;
use crate::pet::engine::{Ascent, Engine, Facts, Method, NEAR, Progress, Ratio, Scan, Sign, Tally};
use crate::pet::histos::Histos;
use crate::pet::prior::Placed;
use rayon::prelude::*;
use std::sync::Arc;

/// Views of a pass that are launched as one; the caller's wish to cancel is heard in between.
const PART: usize = 40;
/// Recorded parts that are kept.
const KEPT: usize = 64;
/// Views whose tables are made at a time.
const BATCH: usize = 16;

/// A volume on the GPU, `[y][x][z]`.
#[derive(Debug)]
pub(in crate::pet) struct Volume {
    memory: Lent,
}

impl Volume {
    fn at(&self) -> u64 {
        self.memory.address()
    }
}

/// Part of a pass, with the addresses that it was recorded with.
struct Recorded {
    order: Vec<usize>,
    /// Of image, ratio, measured, factors, additive.
    addresses: [u64; 5],
    max_quotient: f32,
    graph: Graph,
}

/// The engine of a plan whose context has a GPU.
pub(in crate::pet) struct GpuEngine {
    context: Arc<Context>,
    queue: Queue,
    scan: Scan,
    place: Place,
    /// The caller's stream.
    stream: usize,
    /// Of each view, if it was made and kept.
    projections: Vec<Option<Arc<Projection>>>,
    shared: fourier::Shared,
    recorded: Vec<Recorded>,
    /// A pair of f64 for each block, and their sum.
    tally: DeviceMemory,
    blocks: usize,
    sum: DeviceMemory,
    /// The size of relaxation steps.
    step: DeviceMemory,
    marks: [Event; 2],
    prior: Option<Placed<Volume>>,
    replaced: u64,
    /// Bytes that the present call may take.
    cap: u64,
}

impl GpuEngine {
    /// Bytes of the GPU's memory that it has.
    pub(in crate::pet) fn held(&self) -> u64 {
        self.queue.pool.bytes()
    }

    pub(in crate::pet) fn new(context: &Arc<Context>, device: &Arc<Device>, scan: Scan) -> Result<Self> {
        let queue = Queue::new(device)?;
        let shape = scan.lattice.shape();
        let blocks = max_blocks(shape).max(Plain::blocks(&queue, shape)).max(Fourier::max_blocks(shape));
        let tally = DeviceMemory::new(device, blocks * 2 * size_of::<f64>())?;
        {
            let _current = device.enter()?;
            tally.clear(&queue.stream)?;
        }
        Ok(Self {
            context: context.clone(),
            place: Place::new(shape)?,
            stream: 0,
            projections: scan.views.iter().map(|_| None).collect(),
            shared: fourier::Shared::default(),
            recorded: Vec::new(),
            tally,
            blocks,
            sum: DeviceMemory::new(device, 2 * size_of::<f64>())?,
            step: DeviceMemory::new(device, size_of::<f32>())?,
            marks: [Event::new(device)?, Event::new(device)?],
            prior: None,
            replaced: 0,
            cap: u64::MAX,
            queue,
            scan,
        })
    }

    fn copies(&self) -> Copies<'_> {
        Copies { context: &self.context, queue: &self.queue, place: self.place, stream: self.stream }
    }

    fn room(&self) -> Result<Lent> {
        self.queue.pool.take(self.place.bytes())
    }

    fn draft(&self, view: usize) -> Result<Draft> {
        // Some is the kernels' own.
        let shared = self.queue.device.shared_bytes().saturating_sub(1 << 10);
        let level = self.context.level();
        self.context.install(|| Draft::new(self.place, &*self.scan.tables(view)?, self.scan.method, level, shared))
    }

    fn projection(&self, view: usize) -> Result<Arc<Projection>> {
        match &self.projections[view] {
            Some(projection) => Ok(projection.clone()),
            // SAFETY: the GPU is current inside `within`.
            None => Ok(Arc::new(unsafe { Projection::new(&self.queue, &self.draft(view)?, &self.shared, false)? })),
        }
    }

    /// Bytes of the projections that are kept.
    fn kept(&self) -> u64 {
        self.projections.iter().flatten().map(|p| p.bytes()).sum::<u64>() + self.shared.bytes()
    }

    fn forget(&mut self) {
        self.recorded.clear();
        self.projections.fill(None);
        self.shared.forget();
    }

    fn launch(&self, view: usize, direction: Direction, input: u64, to: Finish) -> Result<()> {
        // SAFETY: volumes of the plan's, which stay in the pool; the GPU is current inside `within`.
        unsafe { self.projection(view)?.launch(&self.queue, self.place, direction, input, to) }
    }

    fn set_step(&self, step: f32) -> Result<()> {
        self.step.fill(step, &self.queue.stream)
    }

    fn update(&self, view: usize, ratio: &Volume, image: &Volume) -> Result<()> {
        let to = Finish { step: self.step.address(), ..Finish::new(What::Relax, image.at()) };
        self.launch(view, Direction::Adjoint, ratio.at(), to)
    }

    /// The part's launches as one.
    fn record(
        &self,
        order: &[usize],
        addresses: [u64; 5],
        data: &Data<'_>,
        image: &Volume,
        ratio: &Volume,
    ) -> Result<Recorded> {
        let graph = Graph::record(&self.queue.device, &self.queue.stream, || {
            order.iter().try_for_each(|view| {
                self.weigh(*view, data, image, Ratio::Discrepancy, ratio)?;
                self.update(*view, ratio, image)
            })
        })?;
        Ok(Recorded { order: order.to_vec(), addresses, max_quotient: data.facts.max_quotient(), graph })
    }

    fn neighbours(&self, prior: &Placed<Volume>, image: &Volume) -> Arguments {
        let at = |of: &Option<Arc<Volume>>| of.as_ref().map_or(0, |v| v.at());
        let volumes = [image.at(), at(&prior.weights), at(&prior.anatomy)];
        Arguments::new(self.place, &self.scan.lattice, &prior.prior, volumes)
    }

    fn weigh(&self, view: usize, data: &Data<'_>, image: &Volume, of: Ratio, ratio: &Volume) -> Result<()> {
        let what = match of {
            Ratio::Quotient => What::Quotient,
            Ratio::Discrepancy => What::Discrepancy,
        };
        // SAFETY: the GPU is current inside `within`.
        let of_view = unsafe { data.view(&self.copies(), view)? };
        let to = Finish {
            measured: of_view.measured,
            factors: of_view.factors,
            additive: of_view.additive,
            tally: self.tally.address(),
            most: data.facts.max_quotient(),
            ..Finish::new(what, ratio.at())
        };
        self.launch(view, Direction::Forward, image.at(), to)
    }
}

impl Engine for GpuEngine {
    type Volume = Volume;
    type Data<'a> = Data<'a>;
    const WAITS: bool = true;

    fn scan(&self) -> &Scan {
        &self.scan
    }

    fn set_method(&mut self, method: Method) {
        if method != self.scan.method {
            self.scan.method = method;
            self.forget();
        }
    }

    fn set_stream(&mut self, stream: usize) {
        self.stream = stream;
    }

    fn within<R: Send>(&mut self, _: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R> {
        let device = self.queue.device.clone();
        let _current = device.enter()?;
        then_wait(self, work, |engine| engine.queue.stream.synchronize())
    }

    fn kept_prior(&mut self) -> &mut Option<Placed<Volume>> {
        &mut self.prior
    }

    fn prepare(&mut self, context: &Context, views: &[usize], volumes: usize, job: &Job) -> Result<()> {
        let device = self.queue.device.clone();
        self.cap = context.gpu_memory(&device, self.queue.pool.bytes())?;
        self.queue.pool.limit(self.cap);
        let (cap, besides) = (self.cap, (volumes * self.place.bytes()) as u64);
        if besides > cap {
            fail!(MemoryCap, "gpu_memory_cap is {cap} bytes; images alone need {besides}");
        }
        let room = cap - besides;
        if self.kept() > room {
            self.forget();
        }
        let mut kept = self.kept();
        let missing: Vec<usize> = views.iter().copied().filter(|v| self.projections[*v].is_none()).collect();
        for batch in missing.chunks(BATCH) {
            job.check()?;
            let drafts: Vec<Draft> =
                context.install(|| batch.par_iter().map(|v| self.draft(*v)).collect::<Result<_>>())?;
            for (view, draft) in batch.iter().zip(drafts) {
                let work = self.shared.more(draft.work());
                let [minimum, all] = draft.bytes().map(|b| b + work);
                // What is not kept is made anew for every use, one view at a time.
                if all > room {
                    fail!(MemoryCap, "gpu_memory_cap is {cap} bytes; images and one view need {}", besides + all);
                }
                let keep = kept + 2 * all <= room;
                if !keep && kept + minimum + all > room {
                    return Ok(());
                }
                // SAFETY: the GPU is current inside `within`.
                let projection = unsafe { Projection::new(&self.queue, &draft, &self.shared, keep)? };
                kept += projection.bytes() + work;
                self.projections[*view] = Some(Arc::new(projection));
            }
        }
        Ok(())
    }

    fn memory(&self, volumes: usize) -> u64 {
        self.kept() + (volumes * self.place.bytes()) as u64
    }

    fn spare(&self, context: &Context, data: &Data<'_>, volumes: usize) -> Result<usize> {
        let volume = self.place.bytes() as u64;
        let cap = context.gpu_memory(&self.queue.device, self.queue.pool.bytes())?;
        // Some more for copies of arrays.
        let held = self.kept() + data.held() + (volumes as u64 + 4) * volume;
        Ok((cap.saturating_sub(held) / volume) as usize)
    }

    fn zeros(&mut self) -> Result<Volume> {
        let memory = self.room()?;
        memory.clear(&self.queue.stream)?;
        Ok(Volume { memory })
    }

    fn fill(&mut self, volume: &mut Volume, value: f32) -> Result<()> {
        // SAFETY: a volume of the plan's; the GPU is current inside `within`.
        unsafe { self.place.fill(&self.queue, volume.at(), value) }
    }

    fn read(&mut self, from: &Array<3>, name: &str, policy: NanPolicy, sign: Sign) -> Result<Volume> {
        let volume = self.zeros()?;
        let check = Check::new(&self.queue, policy, sign)?;
        // SAFETY: a volume of the plan's; the GPU is current inside `within`.
        unsafe { self.copies().read(from, volume.at(), &check, 0)? };
        self.replaced += check.resolve(&self.queue, from, name)?;
        Ok(volume)
    }

    fn write(&mut self, from: &Volume, to: &mut ArrayMut<3>) -> Result<()> {
        // SAFETY: the GPU is current inside `within`, which waits for the stream.
        unsafe { self.copies().write(from.at(), to) }
    }

    fn replaced(&mut self) -> u64 {
        std::mem::take(&mut self.replaced)
    }

    fn forward(&mut self, view: usize, image: &Volume, histo: &mut Volume) -> Result<()> {
        self.launch(view, Direction::Forward, image.at(), Finish::new(What::Store, histo.at()))
    }

    fn add_adjoint(&mut self, view: usize, histo: &Volume, image: &mut Volume) -> Result<()> {
        self.launch(view, Direction::Adjoint, histo.at(), Finish::new(What::Add, image.at()))
    }

    fn load<'a>(&mut self, context: &Context, histos: &Histos<'a>, job: &Job) -> Result<Data<'a>> {
        // Room for volumes that are asked for later, and for copies of arrays.
        let besides = self.kept() + 12 * self.place.bytes() as u64;
        let hold = besides + Data::bytes(histos, self.place.bytes()) <= self.cap;
        // SAFETY: the GPU is current inside `within`, which waits for the stream.
        let (data, replaced) = unsafe { Data::load(&self.copies(), histos, context.nan_policy(), hold, job)? };
        self.replaced += replaced;
        Ok(data)
    }

    fn facts(&self, data: &Data<'_>) -> Facts {
        data.facts
    }

    fn add_sensitivity(&mut self, view: usize, data: &Data<'_>, image: &mut Volume) -> Result<()> {
        // SAFETY: the GPU is current inside `within`.
        let of_view = unsafe { data.view(&self.copies(), view)? };
        let to = Finish::new(What::Add, image.at());
        if of_view.factors != 0 {
            return self.launch(view, Direction::Adjoint, of_view.factors, to);
        }
        let mut ones = Volume { memory: self.room()? };
        self.fill(&mut ones, 1.0)?;
        self.launch(view, Direction::Adjoint, ones.at(), to)
    }

    fn compare(&mut self, view: usize, data: &Data<'_>, image: &Volume, of: Ratio, ratio: &mut Volume) -> Result<()> {
        self.weigh(view, data, image, of, ratio)
    }

    fn tally(&mut self) -> Result<Tally> {
        let mut sum = [0.0; 2];
        // SAFETY: the tally has so many pairs; the GPU is current inside `within`.
        unsafe { total(&self.queue, self.tally.address(), self.blocks, self.sum.address())? };
        self.queue.fetch(self.sum.address(), &mut sum)?;
        Ok(Tally { log_likelihood: sum[0], skipped: sum[1] as u64 })
    }

    fn relax(&mut self, view: usize, ratio: &Volume, step: f32, image: &mut Volume) -> Result<()> {
        self.set_step(step)?;
        self.update(view, ratio, image)
    }

    fn scale(&mut self, image: &mut Volume, by: &Volume, over: &Volume) -> Result<()> {
        // SAFETY: volumes of the plan's; the GPU is current inside `within`.
        unsafe { self.place.scale(&self.queue, image.at(), by.at(), over.at()) }
    }

    fn sum(&mut self, volume: &Volume) -> Result<f64> {
        let survey = Survey::new(&self.queue, self.place)?;
        // SAFETY: as for `scale`.
        unsafe { survey.look(&self.queue, self.place, volume.at())? };
        let (sum, ..) = survey.result(&self.queue)?;
        Ok(sum)
    }

    fn mask(&mut self, image: &mut Volume, where_zero: &Volume) -> Result<()> {
        // SAFETY: as for `scale`.
        unsafe { self.place.mask(&self.queue, image.at(), where_zero.at()) }
    }

    fn add(&mut self, to: &mut Volume, from: &Volume) -> Result<()> {
        // SAFETY: as for `scale`.
        unsafe { self.place.add(&self.queue, to.at(), from.at()) }
    }

    fn slopes(&mut self, prior: &Placed<Volume>, image: &Volume, of: [&mut Volume; 2]) -> Result<()> {
        // SAFETY: as for `scale`.
        unsafe { self.neighbours(prior, image).slopes(&self.queue, of.map(|v| v.at())) }
    }

    fn penalty(&mut self, prior: &Placed<Volume>, image: &Volume) -> Result<f64> {
        // SAFETY: as for `scale`.
        unsafe { self.neighbours(prior, image).value(&self.queue) }
    }

    fn ascend(&mut self, image: &mut Volume, ascent: &Ascent<Volume>) -> Result<()> {
        let Ascent { gradient, times, anchor, prior, sensitivity, step, floor } = *ascent;
        let [stored, total, earlier] = anchor.map_or([0; 3], |all| all.map(Volume::at));
        let [slope, curvature] = prior.map_or([0; 2], |both| both.map(Volume::at));
        let arguments = array::Ascent {
            image: image.at(),
            gradient: gradient.at(),
            stored,
            total,
            earlier,
            slope,
            curvature,
            sensitivity: sensitivity.at(),
            count: 0,
            times,
            step,
            floor,
            near: NEAR,
        };
        // SAFETY: as for `scale`.
        unsafe { self.place.ascend(&self.queue, &arguments) }
    }

    fn ramla(
        &mut self,
        order: &[usize],
        data: &Data<'_>,
        step: f32,
        (image, ratio): (&mut Volume, &mut Volume),
        progress: Progress,
    ) -> Result<()> {
        let complete = |view: &usize| self.projections[*view].as_ref().is_some_and(|p| p.is_complete());
        if !data.is_held() || !order.iter().all(complete) {
            return self.ramla_by_view(order, data, step, (image, ratio), progress);
        }
        self.set_step(step)?;
        for (k, part) in order.chunks(PART).enumerate() {
            // SAFETY: the GPU is current inside `within`.
            let first = unsafe { data.view(&self.copies(), 0)? };
            let addresses = [image.at(), ratio.at(), first.measured, first.factors, first.additive];
            let max_quotient = data.facts.max_quotient();
            let same = |r: &Recorded| r.order == part && r.addresses == addresses && r.max_quotient == max_quotient;
            let at = match self.recorded.iter().position(same) {
                Some(at) => at,
                None => {
                    if self.recorded.len() == KEPT {
                        self.recorded.clear();
                    }
                    self.recorded.push(self.record(part, addresses, data, image, ratio)?);
                    self.recorded.len() - 1
                }
            };
            // SAFETY: volumes, data and projections are there until the stream has passed the launch.
            unsafe { self.recorded[at].graph.launch(&self.queue.stream)? };
            // One part is under way while the next one is launched.
            self.marks[k % 2].record(&self.queue.stream)?;
            if k > 0 {
                self.marks[(k - 1) % 2].synchronize()?;
            }
            progress(part.len() as f64 / order.len() as f64)?;
        }
        Ok(())
    }
}
