//! The engine on a GPU. All that a plan keeps stays there as long as it fits.

use super::arranged::max_blocks;
use super::array::{self, Check, Copies, Place, Survey, total};
use super::data::{Data, Shared};
use super::finish::{Finish, What};
use super::fourier::{self, Fourier};
use super::lines::{self, OnGpu};
use super::peers::{Member, Peer, Peers};
use super::plain::Plain;
use super::prior::Arguments;
use super::projection::{Draft, Projection};
use super::volume::Volume;
use crate::direction::Direction;
use crate::dropped::Dropped;
use crate::engine::{Ascent, Engine, Facts, Method, NEAR, Progress, Ratio, Scan, Sum, Tally};
use crate::histos::Histos;
use crate::lines::{Counted, Grid, Through};
use crate::prior::Placed;
use crate::values::Sign;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Job, LogLevel, NanPolicy};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, DeviceMemory, Event, Graph, Lent, Queue, then_wait};
use std::sync::Arc;

/// Views of a pass that are launched as one; the caller's wish to cancel is heard in between.
const PART: usize = 40;
/// Recorded parts that are kept.
const KEPT: usize = 128;
/// Views whose tables are made at a time.
const BATCH: usize = 16;

/// What a recorded part of a pass does, with the addresses that it was recorded with.
#[derive(PartialEq)]
struct Part {
    /// Views, and the volumes of what was measured.
    views: Vec<(usize, u64)>,
    /// What is summed up; None: RAMLA.
    of: Option<Ratio>,
    /// Of image, ratio, sum, and the first view's factors and additive part.
    addresses: [u64; 5],
    max_quotient: f32,
}

/// The engine of a plan whose context has a GPU.
pub(crate) struct GpuEngine {
    context: Arc<Context>,
    queue: Queue,
    scan: Scan,
    place: Place,
    /// The caller's stream.
    stream: usize,
    /// Of each view, if it was made and kept.
    projections: Vec<Option<Arc<Projection>>>,
    shared: fourier::Shared,
    recorded: Vec<(Part, Graph)>,
    /// A pair of f64 for each block, and their sum.
    tally: DeviceMemory,
    blocks: usize,
    sum: DeviceMemory,
    /// The size of relaxation steps.
    step: DeviceMemory,
    marks: [Event; 2],
    /// How many parts were launched.
    turn: usize,
    peers: Peers<Self>,
    prior: Option<Placed<Volume>>,
    replaced: u64,
    below: u64,
    /// Bytes that the present call may take.
    cap: u64,
}

impl GpuEngine {
    /// Bytes of the GPU's memory that it has.
    pub(crate) fn held(&self) -> u64 {
        self.queue.pool.bytes()
    }

    /// On the first of some GPUs, which the others help.
    pub(crate) fn new(context: &Arc<Context>, devices: &[Arc<Device>], scan: Scan) -> Result<Self> {
        let [device, others @ ..] = devices else { fail!(Internal, "there is no GPU") };
        let queue = Queue::new(device)?;
        let shape = scan.lattice.shape();
        let of_views = max_blocks(shape).max(Plain::blocks(&queue, shape)).max(Fourier::max_blocks(shape));
        let blocks = of_views.max(lines::blocks(&queue));
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
            turn: 0,
            peers: Peers::new(device, others)?,
            prior: None,
            replaced: 0,
            below: 0,
            cap: u64::MAX,
            queue,
            scan,
        })
    }

    /// Views are shared out however little work there is.
    #[cfg(test)]
    pub(super) fn share_always(&mut self) {
        self.peers.always = true;
    }

    /// How many GPUs have taken views.
    #[cfg(test)]
    pub(super) fn helpers(&self) -> usize {
        self.peers.list.len()
    }

    fn copies(&self) -> Copies<'_> {
        Copies { context: &self.context, queue: &self.queue, place: self.place, stream: self.stream }
    }

    fn lines(&self) -> OnGpu<'_> {
        let Self { context, queue, place, .. } = self;
        OnGpu { context, queue, place: *place, tally: self.tally.address() }
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
        self.peers.dismiss();
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

    /// Launches a part of a pass as one, recorded when it comes for the first time.
    fn play(&mut self, views: &[usize], of: Option<Ratio>, data: &Data<'_>, volumes: [&Volume; 3]) -> Result<()> {
        let [image, ratio, sum] = volumes;
        let copies = self.copies();
        // SAFETY: the GPU is current inside `within`.
        let at = |view: &usize| unsafe { data.view(&copies, *view) };
        let Some(first) = views.first().map(at).transpose()? else { return Ok(()) };
        let measured = views.iter().map(|view| Ok((*view, at(view)?.measured))).collect::<Result<_>>()?;
        let addresses = [image.at(), ratio.at(), sum.at(), first.factors, first.additive];
        let part = Part { views: measured, of, addresses, max_quotient: data.facts.max_quotient() };
        let at = match self.recorded.iter().position(|(known, _)| *known == part) {
            Some(at) => at,
            None => {
                let graph = Graph::record(&self.queue.device, &self.queue.stream, || {
                    views.iter().try_for_each(|view| {
                        self.weigh(*view, data, image, of.unwrap_or(Ratio::Discrepancy), ratio)?;
                        match of {
                            Some(_) => {
                                self.launch(*view, Direction::Adjoint, ratio.at(), Finish::new(What::Add, sum.at()))
                            }
                            None => self.update(*view, ratio, image),
                        }
                    })
                })?;
                if self.recorded.len() == KEPT {
                    self.recorded.clear();
                }
                self.recorded.push((part, graph));
                self.recorded.len() - 1
            }
        };
        // SAFETY: volumes, data and projections are there until the stream has passed the launch.
        unsafe { self.recorded[at].1.launch(&self.queue.stream)? };
        // One part is under way while the next one is launched.
        self.marks[self.turn % 2].record(&self.queue.stream)?;
        self.turn += 1;
        self.marks[self.turn % 2].synchronize()
    }

    /// [`Engine::add_ratios`] with other GPUs, which have taken their part of the data.
    fn add_shared(
        &mut self,
        peers: &mut [Peer<Self>],
        (views, data, shared): (&[usize], &Data<'_>, &Shared<'_>),
        of: Ratio,
        (image, ratio, sum): Sum<Volume>,
        progress: Progress,
    ) -> Result<()> {
        let part = |gpu: usize| -> Vec<usize> { views.iter().copied().filter(|v| shared.owners[*v] == gpu).collect() };
        self.peers.ready.record(&self.queue.stream)?;
        let mut at_work = Vec::new();
        for ((peer, data), gpu) in peers.iter_mut().zip(&shared.parts).zip(1..) {
            let views = part(gpu);
            if !views.is_empty() {
                peer.begin((&self.queue, &self.peers.ready), image, (&views, data), of)?;
                at_work.push(&*peer);
            }
        }
        let own = part(0);
        self.add_own(&own, data, of, (image, ratio, sum), &mut *progress)?;
        progress((views.len() - own.len()) as f64)?;
        for peer in at_work {
            self.queue.stream.wait(&peer.done)?;
            // SAFETY: volumes of the plan's; the GPU is current inside `within`.
            unsafe { self.place.add(&self.queue, sum.at(), peer.arrived.at())? };
        }
        Ok(())
    }

    /// What other GPUs take of the data, some views each.
    fn take_parts<'a>(
        &mut self,
        context: &Context,
        data: &Data<'a>,
        views: &[Vec<usize>],
        job: &Job,
    ) -> Result<Vec<Data<'a>>> {
        while self.peers.list.len() < views.len() {
            let arrived = Volume { memory: self.room()? };
            self.peers.make(&self.context, &self.queue.device, &self.scan, arrived)?;
        }
        let with_views = self.peers.list.iter_mut().zip(views);
        with_views.map(|(peer, views)| peer.take((context, job), &self.queue, data, views)).collect()
    }

    /// Gives other GPUs their part of the data.
    fn share<'a>(&mut self, context: &Context, data: &mut Data<'a>, owners: Vec<usize>, job: &Job) -> Result<()> {
        let gpus = owners.iter().max().map_or(1, |last| last + 1);
        let views: Vec<Vec<usize>> =
            (0..gpus).map(|gpu| (0..owners.len()).filter(|view| owners[*view] == gpu).collect()).collect();
        match self.take_parts(context, data, &views[1..], job) {
            Ok(parts) => {
                context.log(LogLevel::Info, || {
                    let others = self.peers.list.iter().zip(&views[1..]);
                    let others = others.map(|(p, views)| format!(", GPU {} {}", p.device.index(), views.len()));
                    let first = self.queue.device.index();
                    format!("GPU {first} takes {} views{}", views[0].len(), others.collect::<String>())
                });
                data.shared = Some(Shared { owners, parts });
                Ok(())
            }
            Err(e) if e.lacks_memory() => {
                context.log(LogLevel::Info, || format!("views are not shared out among GPUs: {}", e.message));
                self.peers.dismiss();
                self.peers.refused = true;
                Ok(())
            }
            Err(e) => Err(e),
        }
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

impl Member for GpuEngine {
    fn alone(context: &Arc<Context>, device: &Arc<Device>, scan: Scan) -> Result<Self> {
        Self::new(context, std::slice::from_ref(device), scan)
    }

    fn queue(&self) -> &Queue {
        &self.queue
    }

    fn place(&self) -> Place {
        self.place
    }

    fn is_complete(&self, views: &[usize]) -> bool {
        views.iter().all(|view| self.projections[*view].as_ref().is_some_and(|p| p.is_complete()))
    }

    fn add_own(
        &mut self,
        views: &[usize],
        data: &Data<'_>,
        of: Ratio,
        (image, ratio, sum): Sum<Volume>,
        progress: Progress,
    ) -> Result<()> {
        if !data.is_held() || !self.is_complete(views) {
            return self.add_ratios_by_view(views, data, of, (image, ratio, sum), progress);
        }
        for part in views.chunks(PART) {
            self.play(part, Some(of), data, [image, ratio, sum])?;
            progress(part.len() as f64)?;
        }
        Ok(())
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
        then_wait(self, work, |engine| engine.queue.stream.synchronize().and(engine.peers.wait()))
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
        let held = self.kept() + data.held() + (volumes + self.peers.list.len() + 4) as u64 * volume;
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
        let largest = || {
            let survey = Survey::new(&self.queue, self.place)?;
            // SAFETY: a volume of the plan's; the GPU is current inside `within`.
            unsafe { survey.look(&self.queue, self.place, volume.at())? };
            Ok(survey.result(&self.queue)?.1)
        };
        let [replaced, below] = check.resolve(&self.queue, from, name, largest)?;
        (self.replaced, self.below) = (self.replaced + replaced, self.below + below);
        Ok(volume)
    }

    fn write(&mut self, from: &Volume, to: &mut ArrayMut<3>) -> Result<()> {
        // SAFETY: the GPU is current inside `within`, which waits for the stream.
        unsafe { self.copies().write(from.at(), to) }
    }

    fn replaced(&mut self) -> u64 {
        std::mem::take(&mut self.replaced)
    }

    fn below(&mut self) -> u64 {
        std::mem::take(&mut self.below)
    }

    fn forward(&mut self, view: usize, image: &Volume, histo: &mut Volume) -> Result<()> {
        self.launch(view, Direction::Forward, image.at(), Finish::new(What::Store, histo.at()))
    }

    fn add_adjoint(&mut self, view: usize, histo: &Volume, image: &mut Volume) -> Result<()> {
        self.launch(view, Direction::Adjoint, histo.at(), Finish::new(What::Add, image.at()))
    }

    fn load<'a>(
        &mut self,
        context: &Context,
        histos: &Histos<'a>,
        subsets: &[Vec<usize>],
        job: &Job,
    ) -> Result<Data<'a>> {
        // Room for volumes that are asked for later, and for copies of arrays.
        let besides = self.kept() + 12 * self.place.bytes() as u64;
        let hold = besides + Data::bytes(histos, self.place.bytes()) <= self.cap;
        // SAFETY: the GPU is current inside `within`, which waits for the stream.
        let (mut data, [replaced, below]) =
            unsafe { Data::load(&self.copies(), histos, context.nan_policy(), hold, job)? };
        (self.replaced, self.below) = (self.replaced + replaced, self.below + below);
        if let Some(owners) = self.peers.split(self.place, self.scan.views.len(), subsets).filter(|_| hold) {
            self.share(context, &mut data, owners, job)?;
        }
        Ok(data)
    }

    fn lines_memory(&self, grid: &Grid, events: usize, parts: usize) -> u64 {
        lines::room(grid, events) + lines::bytes(events, parts).max(lines::piece(events))
    }

    fn forward_lines(&mut self, of: &Through, image: &Volume, to: &ArrayMut<1>, job: &Job) -> Result<Dropped> {
        // SAFETY: a volume of the plan's; the GPU is current inside `within`, which waits for the stream.
        unsafe { self.lines().forward(of, image.at(), to, job) }
    }

    fn adjoint_lines(&mut self, of: &Through, from: &Array<1>, image: &mut Volume, job: &Job) -> Result<Dropped> {
        // SAFETY: as above.
        unsafe { self.lines().adjoint(of, from, image.at(), job) }
    }

    fn load_lines<'a>(&mut self, context: &Context, counted: &Counted<'a>, job: &Job) -> Result<(Data<'a>, Dropped)> {
        let seen = self.read(&counted.sensitivity, "sensitivity", context.nan_policy(), Sign::NonNegative)?;
        // Room for volumes that are asked for later, and for copies of arrays.
        let free = self.cap.saturating_sub(self.kept() + 12 * self.place.bytes() as u64);
        // SAFETY: as above.
        let (lines, facts, dropped) = unsafe { self.lines().load(counted, seen, free, job)? };
        Ok((Data::of_lines(lines, facts), dropped))
    }

    fn facts(&self, data: &Data<'_>) -> Facts {
        data.facts
    }

    fn add_sensitivity(&mut self, view: usize, data: &Data<'_>, image: &mut Volume) -> Result<()> {
        if let Some(lines) = &data.lines {
            // SAFETY: volumes of the plan's; the GPU is current inside `within`.
            return unsafe { self.place.add(&self.queue, image.at(), lines.sensitivity.at()) };
        }
        // SAFETY: as above.
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
        let mut all = Tally { log_likelihood: sum[0], skipped: sum[1] as u64 };
        for peer in &mut self.peers.list {
            let _current = peer.device.enter()?;
            all = all + peer.engine.tally()?;
        }
        Ok(all)
    }

    fn add_ratios(
        &mut self,
        views: &[usize],
        data: &Data<'_>,
        of: Ratio,
        volumes: Sum<Volume>,
        progress: Progress,
    ) -> Result<()> {
        if let Some(lines) = &data.lines {
            let (image, _, sum) = volumes;
            // SAFETY: as for `add_sensitivity`.
            return unsafe { self.lines().add_ratios(lines, views, of, (image, sum), progress) };
        }
        let Some(shared) = &data.shared else { return self.add_own(views, data, of, volumes, progress) };
        let mut peers = std::mem::take(&mut self.peers.list);
        let added = self.add_shared(&mut peers, (views, data, shared), of, volumes, progress);
        self.peers.list = peers;
        added
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

    fn raise(&mut self, to: &mut Volume, from: &Volume, times: f32) -> Result<()> {
        // SAFETY: as for `scale`.
        unsafe { self.place.raise(&self.queue, to.at(), from.at(), times) }
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
        let Ascent { gradient, times, anchor, prior, sensitivity, step, floor, limit } = *ascent;
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
            limit,
            unused: 0,
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
        if !data.is_held() || !self.is_complete(order) {
            return self.ramla_by_view(order, data, step, (image, ratio), progress);
        }
        self.set_step(step)?;
        for part in order.chunks(PART) {
            self.play(part, None, data, [image, ratio, image])?;
            progress(part.len() as f64 / order.len() as f64)?;
        }
        Ok(())
    }
}
