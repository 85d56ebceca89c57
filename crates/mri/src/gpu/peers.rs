//! Other GPUs of the context, which take some of the coils: each knows the trajectory, its coils' sensitivities and Q, and works on images
//! and samples that the first GPU has and gets back.

use super::q::Q;
use crate::engine::{Engine, Scan, Solve};
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier};
use isocenter_base::context::{Context, Job, LogLevel};
use isocenter_base::error::{Error, Result};
use isocenter_base::gpu::{Device, Event, Queue, copy_between};
use isocenter_nufft::Scalar;
use isocenter_solve::Vectors;
use isocenter_solve::gpu::{DeviceVector, GpuVectors};
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// Voxels times coils from which on coils are shared out: the fewest at which two H100 were measured, where a call of one product by Q took
/// as long as on one, and all else less.
pub(super) const LEAST: usize = 1 << 23;

/// An engine on a GPU, which may work for another one.
pub(super) trait Member<T: Scalar>: Engine<Scalar = T, Vectors = GpuVectors<T>> {
    /// On a GPU that no other one helps.
    fn alone(context: &Arc<Context>, device: &Arc<Device>, scan: Scan) -> Result<Self>;
    fn forget_q(&mut self);
    fn keep_q(&mut self, q: Q<T>);
}

/// All of them; none where coils are not shared out.
pub(super) struct Peers<T, E> {
    list: Vec<Peer<E>>,
    /// Coils that the first GPU takes itself.
    own: usize,
    /// The first GPU's work so far.
    ready: Event,
    /// For what the present call does.
    have_memory: bool,
    /// They work on frames of their own.
    pub(super) are_away: bool,
    real: PhantomData<T>,
}

struct Peer<E> {
    engine: E,
    device: Arc<Device>,
    coils: Range<usize>,
    /// Its work so far.
    done: Event,
}

/// What the first GPU's arrays are, for a peer.
#[derive(Clone, Copy)]
struct Part {
    address: u64,
    count: usize,
}

impl<T: Scalar, E: Member<T>> Peers<T, E> {
    /// Of some GPUs, for a scan that is large enough; none where they have no memory.
    pub(super) fn new(
        context: &Arc<Context>,
        first: &Arc<Device>,
        others: &[Arc<Device>],
        scan: &Scan,
    ) -> Result<Self> {
        let enough = scan.coils.saturating_mul(scan.voxels()) >= LEAST;
        match Self::of(context, first, if enough { others } else { &[] }, scan) {
            Err(e) if e.lacks_memory() => {
                tell_of_one(context, &e);
                Self::of(context, first, &[], scan)
            }
            made => made,
        }
    }

    /// Of as many of these GPUs as there are coils for.
    pub(super) fn of(context: &Arc<Context>, first: &Arc<Device>, others: &[Arc<Device>], scan: &Scan) -> Result<Self> {
        let (coils, gpus) = (scan.coils, (others.len() + 1).min(scan.coils.max(1)));
        let part = |gpu: usize| coils * gpu / gpus..coils * (gpu + 1) / gpus;
        let mut list = Vec::new();
        for (gpu, device) in (1..gpus).zip(others) {
            first.reach(device)?;
            device.reach(first)?;
            let coils = part(gpu);
            let own = Scan::new(scan.grid, coils.len(), scan.trajectory.clone());
            let engine = E::alone(context, device, own)?;
            list.push(Peer { engine, device: device.clone(), coils, done: Event::new(device)? });
        }
        Ok(Self {
            list,
            own: part(0).len(),
            ready: Event::new(first)?,
            have_memory: true,
            are_away: false,
            real: PhantomData,
        })
    }

    /// Whether there are any, with memory for what the present call does.
    pub(super) fn are_ready(&self) -> bool {
        !self.list.is_empty() && self.have_memory && !self.are_away
    }

    /// Coils that the first GPU takes itself.
    pub(super) fn own(&self) -> usize {
        self.own
    }

    /// Numbers that the first GPU keeps for their results, of so many voxels each.
    pub(super) fn results(&self, unknowns: usize) -> usize {
        self.list.len() * unknowns
    }

    /// Where each GPU and the number of its coils are told.
    pub(super) fn describe(&self, first: &Device) -> String {
        let others = self.list.iter().map(|p| format!(", GPU {} {}", p.device.index(), p.coils.len()));
        format!("GPU {} takes {} coils{}", first.index(), self.own, others.collect::<String>())
    }

    /// Works with each peer's engine, its GPU current.
    fn each(&mut self, mut work: impl FnMut(&mut Peer<E>) -> Result<()>) -> Result<()> {
        for peer in &mut self.list {
            let device = peer.device.clone();
            let _current = device.enter()?;
            work(peer)?;
        }
        Ok(())
    }

    /// Waits for all of their work.
    pub(super) fn wait(&mut self) -> Result<()> {
        let mut result = Ok(());
        for peer in &mut self.list {
            let device = peer.device.clone();
            let waited = device.enter().and_then(|_current| peer.engine.vectors().queue.stream.synchronize());
            result = result.and(waited);
        }
        result
    }

    pub(super) fn set_weights(&mut self, weights: Option<&Vec<f64>>) -> Result<()> {
        self.each(|peer| peer.engine.set_weights(weights.cloned()))
    }

    /// Each gets its coils' sensitivities from the first GPU's, `[coil][set][voxel]`, of so many coils. Where one has no memory for them, the first GPU is alone
    /// from now on.
    pub(super) fn set_maps(
        &mut self,
        context: &Context,
        first: &Queue,
        (maps, coils): (Option<&DeviceVector>, usize),
    ) -> Result<()> {
        let Some(maps) = maps else { return self.each(|peer| peer.engine.set_maps(None)) };
        let sent = self.send_maps(first, maps, coils);
        self.wait()?;
        match sent {
            Err(e) if e.lacks_memory() => {
                tell_of_one(context, &e);
                self.list.clear();
                Ok(())
            }
            sent => sent,
        }
    }

    fn send_maps(&mut self, first: &Queue, maps: &DeviceVector, coils: usize) -> Result<()> {
        self.ready.record(&first.stream)?;
        let Self { list, ready, .. } = self;
        for peer in list {
            let device = peer.device.clone();
            let _current = device.enter()?;
            let part = part::<T>(maps.address(), &peer.coils, maps.count() / coils);
            let own = peer.fetch(first, ready, part)?;
            peer.engine.set_maps(Some(own))?;
        }
        Ok(())
    }

    pub(super) fn set_effects(&mut self, effects: &Effects) {
        self.list.iter_mut().for_each(|peer| peer.engine.set_effects(effects.clone()));
    }

    pub(super) fn forget_transform(&mut self) {
        self.list.iter_mut().for_each(|peer| peer.engine.forget_transform());
    }

    pub(super) fn drop_transform(&mut self) {
        self.list.iter_mut().for_each(|peer| peer.engine.drop_transform());
    }

    pub(super) fn forget_q(&mut self) {
        self.list.iter_mut().for_each(|peer| peer.engine.forget_q());
    }

    pub(super) fn sides(
        &mut self,
        trajectory: &Arc<Trajectory>,
        weights: Option<&Vec<f64>>,
        effects: &Effects,
    ) -> Result<Vec<E::Side>> {
        let mut sides = Vec::new();
        self.each(|peer| {
            sides.push(peer.engine.side(trajectory.clone(), weights.cloned(), effects.clone())?);
            Ok(())
        })?;
        Ok(sides)
    }

    pub(super) fn exchange(&mut self, sides: &mut [E::Side]) {
        self.list.iter_mut().zip(sides).for_each(|(peer, side)| peer.engine.exchange(side));
    }

    /// Where one has too little memory for what the present call does, the first GPU does it alone.
    pub(super) fn check_memory(&mut self, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<()> {
        if self.are_away {
            return Ok(());
        }
        let checked = self.each(|peer| peer.engine.check_memory(context, fourier, solve));
        self.have_memory = checked.is_ok();
        match checked {
            Err(e) if e.lacks_memory() => {
                tell_of_one(context, &e);
                Ok(())
            }
            checked => checked,
        }
    }

    pub(super) fn prepare(&mut self, fourier: &Fourier) -> Result<()> {
        self.each(|peer| peer.engine.prepare(fourier))
    }

    /// Those that have no Q get the first GPU's.
    pub(super) fn take_q(&mut self, first: &Queue, q: &Q<T>) -> Result<()> {
        if self.list.iter().all(|peer| peer.engine.has_q()) {
            return Ok(());
        }
        self.ready.record(&first.stream)?;
        let Self { list, ready, .. } = self;
        for peer in list.iter_mut().filter(|p| !p.engine.has_q()) {
            let device = peer.device.clone();
            let _current = device.enter()?;
            peer.engine.vectors().queue.stream.wait(ready)?;
            // SAFETY: the first GPU keeps its Q until peers are waited for, below.
            let own = unsafe { q.duplicate(&first.device, &peer.engine.vectors().queue)? };
            peer.engine.keep_q(own);
        }
        self.wait()
    }

    /// Begins samples = F image of peers' coils, which go where those of the first GPU's are.
    pub(super) fn forward(&mut self, first: &Queue, image: &DeviceVector, samples: &DeviceVector) -> Result<()> {
        self.ready.record(&first.stream)?;
        let Self { list, ready, .. } = self;
        for peer in list {
            let count = peer.engine.scan().samples();
            let to = part::<T>(samples.address(), &peer.coils, count);
            let from = Part { address: image.address(), count: image.count() };
            peer.run(first, ready, (from, to), |engine, image, samples| {
                engine.forward(image, samples, &mut |_| Ok(()))
            })?;
        }
        Ok(())
    }

    /// Begins F^H samples of peers' coils; the results are there once [`Peers::add`] has them.
    pub(super) fn adjoint(
        &mut self,
        first: &mut GpuVectors<T>,
        samples: &DeviceVector,
        unknowns: usize,
    ) -> Result<Vec<DeviceVector>> {
        let results = self.results_in(first, unknowns)?;
        let Self { list, ready, .. } = self;
        for (peer, result) in list.iter_mut().zip(&results) {
            let from = part::<T>(samples.address(), &peer.coils, peer.engine.scan().samples());
            let to = Part { address: result.address(), count: unknowns };
            peer.run(&first.queue, ready, (from, to), |engine, samples, image| {
                engine.adjoint(samples, image, &mut |_| Ok(()))
            })?;
        }
        Ok(results)
    }

    /// Begins F^H W F image of peers' coils by Q, or by pairs of transforms, whose samples stay where they are; as for [`Peers::adjoint`].
    pub(super) fn normal(
        &mut self,
        first: &mut GpuVectors<T>,
        image: &DeviceVector,
        by_q: bool,
        job: &Job,
    ) -> Result<Vec<DeviceVector>> {
        let results = self.results_in(first, image.count())?;
        let Self { list, ready, .. } = self;
        for (peer, result) in list.iter_mut().zip(&results) {
            let [from, to] = [image, result].map(|v| Part { address: v.address(), count: v.count() });
            peer.run(&first.queue, ready, (from, to), |engine, image, out| {
                if by_q {
                    return engine.apply_q(image, out, job);
                }
                let count = engine.scan().coils * engine.scan().samples();
                let mut samples = engine.vectors().uninitialised(count)?;
                engine.apply_pair(image, &mut samples, out, job)
            })?;
        }
        Ok(results)
    }

    /// Memory of the first GPU for each peer's result, and the mark that they begin from: what used that memory before has ended there.
    fn results_in(&self, first: &mut GpuVectors<T>, count: usize) -> Result<Vec<DeviceVector>> {
        let results = self.list.iter().map(|_| first.uninitialised(count)).collect::<Result<_>>()?;
        self.ready.record(&first.queue.stream)?;
        Ok(results)
    }

    /// What the first GPU does next waits for the peers' work.
    pub(super) fn join(&self, first: &Queue) -> Result<()> {
        self.list.iter().try_for_each(|peer| first.stream.wait(&peer.done))
    }

    /// Adds their results.
    pub(super) fn add(
        &self,
        first: &mut GpuVectors<T>,
        results: Vec<DeviceVector>,
        to: &mut DeviceVector,
    ) -> Result<()> {
        self.join(&first.queue)?;
        results.iter().try_for_each(|result| first.combine(1.0, result, 1.0, to))
    }
}

impl<E> Peer<E> {
    /// Copies a part of the first GPU's memory, once that has come to a mark; this peer's GPU is current.
    fn fetch<T: Scalar>(&mut self, first: &Queue, ready: &Event, part: Part) -> Result<DeviceVector>
    where
        E: Member<T>,
    {
        let own = self.engine.vectors().uninitialised(part.count)?;
        let queue = &self.engine.vectors().queue;
        queue.stream.wait(ready)?;
        let (from, to) = ((part.address, &*first.device), (own.address(), &*queue.device));
        // SAFETY: both have as many numbers; the first GPU's call ends after this stream's work.
        unsafe { copy_between(from, to, part.count * T::PRECISION.complex(), &queue.stream)? };
        Ok(own)
    }

    /// Begins work on a part of the first GPU's memory, whose result goes to another part.
    fn run<T: Scalar>(
        &mut self,
        first: &Queue,
        ready: &Event,
        (from, to): (Part, Part),
        work: impl FnOnce(&mut E, &DeviceVector, &mut DeviceVector) -> Result<()>,
    ) -> Result<()>
    where
        E: Member<T>,
    {
        let device = self.device.clone();
        let _current = device.enter()?;
        let input = self.fetch(first, ready, from)?;
        let mut output = self.engine.vectors().uninitialised(to.count)?;
        work(&mut self.engine, &input, &mut output)?;
        let queue = &self.engine.vectors().queue;
        let (from, at) = ((output.address(), &*device), (to.address, &*first.device));
        // SAFETY: as for `fetch`.
        unsafe { copy_between(from, at, to.count * T::PRECISION.complex(), &queue.stream)? };
        self.done.record(&queue.stream)
    }
}

fn tell_of_one(context: &Context, error: &Error) {
    context.log(LogLevel::Info, || format!("coils are not shared out among GPUs: {}", error.message));
}

/// Coils of an array `[coil][..]` with so many numbers a coil.
fn part<T: Scalar>(address: u64, coils: &Range<usize>, each: usize) -> Part {
    Part { address: address + (coils.start * each * T::PRECISION.complex()) as u64, count: coils.len() * each }
}
