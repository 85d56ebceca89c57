//! The engine on a GPU. All that a plan keeps stays there.

use super::array::{self, Pending};
use super::coils::CoilKernels;
use super::crew::{Crew, LentVector, Told, tell};
use super::imaginary::ImaginaryKernels;
use super::low_rank::DeviceBlocks;
use super::memory::{Budget, vector_bytes};
use super::peers::{Member, Peers};
use super::penalty::{DeviceDifferences, DeviceMatrix};
use super::place::Place;
use super::points::DevicePoints;
use super::q::{Kind, Q};
use super::sets;
use super::transform::Transform;
use super::variation::DeviceFields;
use super::wavelets::DeviceWavelets;
use crate::convolutions::{self, Convolutions};
use crate::engine::{Engine, Scan, Solve};
use crate::low_rank::Blocks;
use crate::matrix::Matrix;
use crate::penalty::Penalty;
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress};
use crate::variation::Raise;
use crate::wavelets::Wavelets;
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::{Context, Job, LogLevel, NanPolicy, Stage};
use isocenter_base::cpu::buffer::{Buffer, collected, copied};
use isocenter_base::error::{Result, Status, fail};
use isocenter_base::gpu::fft::{Images, Maps};
use isocenter_base::gpu::{Device, Lent, Queue, Span, WorkspaceBytes, then_wait};
use isocenter_nufft::Scalar;
use isocenter_nufft::gpu::mixes;
use isocenter_solve::Vectors;
use isocenter_solve::gpu::{DeviceVector, GpuVectors};
use rustfft::num_complex::Complex;
use std::mem::swap;
use std::ops::Range;
use std::sync::Arc;

mod operators;

/// What belongs to some of the samples.
pub(crate) struct GpuSide<T: Scalar> {
    trajectory: Arc<Trajectory>,
    scan_weights: Option<Vec<f64>>,
    effects: Effects,
    weights: Option<Lent>,
    transform: Option<Transform<T>>,
    convolutions: Option<Convolutions>,
    q: Option<Q<T>>,
    budget: Budget,
    /// Those of other GPUs.
    peers: Vec<GpuSide<T>>,
}

/// What a plan computes with on a GPU, which others may help with coils.
pub(crate) struct GpuEngine<T: Scalar> {
    context: Arc<Context>,
    vectors: GpuVectors<T>,
    scan: Scan,
    /// The caller's stream.
    stream: usize,
    weights: Option<Lent>,
    maps: Option<DeviceVector>,
    /// What shots see of an image, `[shot][voxel]`.
    phases: Option<DeviceVector>,
    coil_kernels: CoilKernels,
    imaginary: ImaginaryKernels,
    differences: DeviceDifferences,
    matrix: Option<DeviceMatrix>,
    transform: Option<Transform<T>>,
    /// What Q is of, once that is known.
    convolutions: Option<Convolutions>,
    q: Option<Q<T>>,
    /// What was read and not yet verified.
    pending: Vec<Pending>,
    replaced: u64,
    budget: Budget,
    peers: Peers<T, Self>,
    crew: Crew<Self>,
    /// For members of a crew.
    told: Told<T>,
}

impl<T: Scalar> GpuEngine<T> {
    /// `others` share the coils, if they see one image and that is worth it.
    pub(crate) fn new(
        context: &Arc<Context>,
        device: &Arc<Device>,
        others: &[Arc<Device>],
        scan: Scan,
    ) -> Result<Self> {
        Self::on(Arc::new(Queue::new(device)?), context, others, scan)
    }

    /// The same in the stream and the memory of one that will be gone before this one works.
    pub(crate) fn on(queue: Arc<Queue>, context: &Arc<Context>, others: &[Arc<Device>], scan: Scan) -> Result<Self> {
        let device = &queue.device.clone();
        let peers = Peers::new(context, device, others, &scan)?;
        Ok(Self {
            peers,
            crew: Crew::new(others),
            told: Told::default(),
            context: context.clone(),
            vectors: GpuVectors::on(queue)?,
            scan,
            stream: 0,
            weights: None,
            maps: None,
            phases: None,
            coil_kernels: CoilKernels::new(device, T::PRECISION)?,
            imaginary: ImaginaryKernels::new(device, T::PRECISION)?,
            differences: DeviceDifferences::new(device, T::PRECISION)?,
            matrix: None,
            transform: None,
            convolutions: None,
            q: None,
            pending: Vec::new(),
            replaced: 0,
            budget: Budget::new(),
        })
    }

    fn device(&self) -> &Arc<Device> {
        &self.vectors.queue.device
    }

    pub(crate) fn queue(&self) -> &Arc<Queue> {
        &self.vectors.queue
    }

    /// Whether others take some of so many coils.
    fn shares(&self, coils: usize) -> bool {
        self.scan.mapped && coils == self.scan.coils && self.peers.are_ready()
    }

    /// samples = W samples of so many coils.
    ///
    /// # Safety
    /// Device memory of so many samples until the stream has passed this; the GPU is current.
    unsafe fn weigh_coils(&self, samples: u64, coils: usize) -> Result<()> {
        let Some(weights) = &self.weights else { return Ok(()) };
        // SAFETY: by this function's contract.
        unsafe { self.coil_kernels.weigh(&self.vectors.queue, weights.address(), samples, self.scan.samples(), coils) }
    }

    /// Makes Q, unless it is there.
    fn make_q(&mut self, fourier: &Fourier, job: &Job) -> Result<()> {
        if self.q.is_some() {
            return Ok(());
        }
        let alone = self.convolutions(fourier)?.kind() == convolutions::Kind::Alone;
        job.enter(Stage::Toeplitz);
        let mut ones = if alone { Some(self.vectors.filled(self.scan.samples(), 1.0)?) } else { None };
        let Self { vectors, scan, convolutions: Some(of), coil_kernels, weights, .. } = &*self else {
            fail!(Internal, "no convolutions")
        };
        let (queue, grids, samples) = (&vectors.queue, of.grids, scan.samples());
        let kind = match (of.of_voxels::<T>()?, of.kind()) {
            (Some(factors), _) => Kind::Factors(queue.upload(&factors)?),
            (None, convolutions::Kind::Mixed(mixing)) => Kind::Mixed(mixing),
            (None, _) => Kind::Alone,
        };
        let sums =
            Transform::<T>::new(&of.fourier, queue, grids.differences, (&scan.trajectory, &Effects::default()), 1)?;
        let taken = (samples * T::PRECISION.complex()) as u64 + Q::<T>::bytes_while_made(grids);
        let place = self.place(sums.bytes() + taken);
        let mut values = Buffer::<Complex<T>>::zeroed(if alone { 0 } else { samples })?;
        let fill = |index, kernel| {
            let data = match ones.take() {
                Some(ones) => ones,
                None => {
                    of.of_samples(index, &mut values);
                    DeviceVector::new(queue.upload(&values)?, samples)
                }
            };
            let images = Images { address: kernel, maps: None };
            // SAFETY: as many samples and weights, and an image of all differences; the GPU is current inside `within`.
            unsafe {
                if let Some(weights) = weights {
                    coil_kernels.weigh(queue, weights.address(), data.address(), samples, 1)?;
                }
                sums.adjoint(&place, data.address(), &images, 1, &mut |_| job.check())
            }
        };
        // SAFETY: the GPU is current inside `within`. This waits for the stream, so that the sums can go.
        let q = unsafe { Q::from_kernels(queue, grids, (of.count(), kind), fill)? };
        self.q = Some(q);
        Ok(())
    }

    /// Scalar numbers in the engine's precision.
    fn reals(&self, values: &[f64]) -> Result<Lent> {
        let values: Vec<T> = collected(values.iter().map(|v| T::of(*v)))?;
        self.vectors.queue.upload(&values)
    }

    /// Where sums are computed, when so many bytes are taken besides the transform's.
    fn place(&self, taken: u64) -> Place<'_> {
        Place { queue: &self.vectors.queue, available: self.budget.available(self.transform_bytes() + taken) }
    }

    /// Bytes of samples' positions on the GPU.
    fn trajectory_bytes(&self) -> u64 {
        self.scan.trajectory.on(self.device()).map_or(0, DevicePoints::bytes)
    }

    /// Bytes of the transform, if it is there.
    fn transform_bytes(&self) -> u64 {
        self.transform.as_ref().map_or(0, Transform::bytes)
    }

    fn maps(&self) -> Option<Maps> {
        self.maps.as_ref().map(|m| Maps { address: m.address(), stride: self.scan.voxels() })
    }

    fn images(&self, address: u64) -> Images {
        Images { address, maps: self.maps() }
    }

    /// Where a vector's images are, and how many there are.
    fn all_of(&self, images: &DeviceVector) -> (u64, usize) {
        (images.address(), images.count() / self.scan.voxels())
    }

    fn transform(&self) -> Result<&Transform<T>> {
        match &self.transform {
            Some(transform) => Ok(transform),
            None => fail!(Internal, "no transform was prepared"),
        }
    }

    /// Bytes that it keeps from call to call besides the transform, maps that are still to come included.
    fn kept_bytes(&self) -> u64 {
        let weights = self.weights.as_ref().map_or(0, |w| w.bytes() as u64);
        let maps = match &self.maps {
            Some(maps) => maps.bytes(),
            None if self.scan.mapped => self.scan.sets * self.scan.coils * self.scan.voxels() * T::PRECISION.complex(),
            None => 0,
        } as u64;
        let q = self.q.as_ref().map_or(0, Q::bytes);
        let matrix = self.matrix.as_ref().map_or(0, DeviceMatrix::bytes);
        let phases = self.phases.as_ref().map_or(0, DeviceVector::bytes) as u64;
        weights + self.differences.bytes() + maps + phases + q + matrix + self.trajectory_bytes()
    }

    /// What Q is of.
    fn convolutions(&mut self, fourier: &Fourier) -> Result<&Convolutions> {
        if self.convolutions.is_none() {
            let grids = self.q_grids(fourier)?;
            self.convolutions = Some(Convolutions::new(fourier, grids, &self.scan.effects, T::UNIT)?);
        }
        match &self.convolutions {
            Some(c) => Ok(c),
            None => fail!(Internal, "no convolutions"),
        }
    }

    /// Bytes of what it keeps and of a solution's vectors, Q included, and those that it works in besides.
    fn needed(&mut self, fourier: &Fourier, solve: &Solve) -> Result<(u64, WorkspaceBytes)> {
        if solve.toeplitz {
            self.convolutions(fourier)?;
        }
        let results = if self.scan.mapped {
            self.peers.results(self.scan.sets * self.scan.seen()) * T::PRECISION.complex()
        } else {
            0
        };
        let fixed = self.kept_bytes()
            + vector_bytes::<T>(&self.scan, solve)
            + sets::bytes_seen::<T>(&self.scan)
            + results as u64;
        let Self { budget, vectors, scan, q, convolutions, .. } = self;
        let of = convolutions.as_ref().filter(|_| solve.toeplitz);
        let workspace = budget.workspace_bytes::<T>(&vectors.queue, scan, fourier, of, q.is_some())?;
        let to_make = of.filter(|_| q.is_none()).map_or(0, |of| Q::<T>::bytes_of(of));
        Ok((fixed + to_make, workspace))
    }
}

impl<T: Scalar> Member<T> for GpuEngine<T> {
    fn alone(context: &Arc<Context>, device: &Arc<Device>, scan: Scan) -> Result<Self> {
        Self::new(context, device, &[], scan)
    }

    fn forget_q(&mut self) {
        self.q = None;
        self.peers.forget_q();
    }

    fn keep_q(&mut self, q: Q<T>) {
        self.q = Some(q);
    }
}

impl<T: Scalar> Engine for GpuEngine<T> {
    type Scalar = T;
    type Vectors = GpuVectors<T>;
    type Wavelets = DeviceWavelets<T>;
    type Fields = DeviceFields<T>;
    type Blocks = DeviceBlocks<T>;
    type Side = GpuSide<T>;
    type Lent = LentVector;
    const WAITS: bool = true;
    /// On an H100, 128^3 voxels, 6 turns: Q took 312 ms to make, a product 4.05 ms by it and 6.38 by a pair.
    const Q_FOR_FIELDS: Option<usize> = Some(134);

    fn scan(&self) -> &Scan {
        &self.scan
    }

    fn vectors(&mut self) -> &mut GpuVectors<T> {
        &mut self.vectors
    }

    fn set_stream(&mut self, stream: usize) {
        self.stream = stream;
    }

    fn take_crew(&mut self, context: &Arc<Context>, frames: usize) -> Result<Vec<Self>> {
        if !self.crew.is_possible() {
            return Ok(Vec::new());
        }
        let maps = match &self.maps {
            Some(maps) => Some((LentVector::new(&self.vectors.queue, maps)?, maps.count())),
            None => None,
        };
        let Self { crew, told, scan, vectors, .. } = self;
        let make = |device: &Arc<Device>| {
            let _current = device.enter()?;
            let own = Scan::new(scan.grid, scan.coils, scan.trajectory.clone());
            let mut member = Self::new(context, device, &[], own)?;
            member.set_weights(scan.weights.clone())?;
            member.set_effects(scan.effects.clone());
            tell(&mut member, maps.as_ref().map(|(maps, count)| (maps, *count)), told)?;
            Ok(member)
        };
        let members = crew.take(context, (frames, scan.coils * scan.voxels()), &vectors.queue.device, make)?;
        self.peers.are_away = !members.is_empty();
        Ok(members)
    }

    fn keep_crew(&mut self, crew: Vec<Self>) {
        self.peers.are_away = false;
        self.crew.keep(crew);
    }

    fn lend(&mut self, vector: &DeviceVector) -> Result<LentVector> {
        LentVector::new(&self.vectors.queue, vector)
    }

    fn fetch(&mut self, from: &LentVector, pieces: &[Range<usize>]) -> Result<DeviceVector> {
        from.fetch(&mut self.vectors, pieces)
    }

    fn deliver(&mut self, vector: &DeviceVector, to: &LentVector, pieces: &[Range<usize>]) -> Result<()> {
        to.deliver::<T>(&self.vectors.queue, vector, pieces)
    }

    fn set_weights(&mut self, weights: Option<Vec<f64>>) -> Result<()> {
        self.weights = weights.as_deref().map(|w| self.reals(w)).transpose()?;
        self.peers.set_weights(weights.as_ref())?;
        self.crew.dismiss();
        self.scan.weights = weights;
        self.forget_q();
        Ok(())
    }

    fn set_phases(&mut self, phases: Option<DeviceVector>) {
        self.scan.shots = phases.is_some();
        self.phases = phases;
    }

    fn set_maps(&mut self, maps: Option<DeviceVector>) -> Result<()> {
        self.peers.set_maps(&self.context, &self.vectors.queue, (maps.as_ref(), self.scan.coils))?;
        self.crew.dismiss();
        self.scan.take_maps(maps.as_ref().map(DeviceVector::count));
        self.maps = maps;
        Ok(())
    }

    fn set_effects(&mut self, terms: Effects) {
        self.peers.set_effects(&terms);
        self.crew.dismiss();
        self.scan.effects = terms;
        self.forget_transform();
    }

    fn side(&mut self, trajectory: Arc<Trajectory>, weights: Option<Vec<f64>>, effects: Effects) -> Result<GpuSide<T>> {
        let own = weights.as_deref().map(|w| self.reals(w)).transpose()?;
        let peers = self.peers.sides(&trajectory, weights.as_ref(), &effects)?;
        Ok(GpuSide {
            peers,
            trajectory,
            scan_weights: weights,
            effects,
            weights: own,
            transform: None,
            convolutions: None,
            q: None,
            budget: Budget::new(),
        })
    }

    fn side_bytes(&mut self, fourier: &Fourier, solve: &Solve) -> Result<u64> {
        if solve.toeplitz {
            return self.q_bytes(fourier);
        }
        let Self { budget, vectors, scan, .. } = self;
        budget.transform_held::<T>(&vectors.queue, scan, fourier)
    }

    fn q_bytes(&mut self, fourier: &Fourier) -> Result<u64> {
        Ok(Q::<T>::bytes_of(self.convolutions(fourier)?))
    }

    fn drop_transform(&mut self) {
        self.transform = None;
        self.peers.drop_transform();
    }

    fn exchange(&mut self, side: &mut GpuSide<T>) {
        swap(&mut side.trajectory, &mut self.scan.trajectory);
        swap(&mut side.scan_weights, &mut self.scan.weights);
        swap(&mut side.effects, &mut self.scan.effects);
        swap(&mut side.weights, &mut self.weights);
        swap(&mut side.transform, &mut self.transform);
        swap(&mut side.convolutions, &mut self.convolutions);
        swap(&mut side.q, &mut self.q);
        swap(&mut side.budget, &mut self.budget);
        self.peers.exchange(&mut side.peers);
    }

    fn set_difference_weights(&mut self, squared: Option<&[f64]>) -> Result<()> {
        self.scan.see_difference_weights(squared);
        self.crew.dismiss();
        self.told.squared = squared.filter(|_| self.crew.is_possible()).map(copied).transpose()?;
        let squared = squared.map(|w| self.reals(w)).transpose()?;
        self.differences.set_weights(squared);
        Ok(())
    }

    fn set_matrix(&mut self, matrix: Arc<Matrix<T>>) -> Result<()> {
        self.matrix = Some(DeviceMatrix::new(&self.vectors.queue, &matrix)?);
        self.crew.dismiss();
        self.told.matrix = self.crew.is_possible().then_some(matrix);
        Ok(())
    }

    fn has_matrix(&self) -> bool {
        self.matrix.is_some()
    }

    fn forget_transform(&mut self) {
        self.transform = None;
        self.convolutions = None;
        self.q = None;
        self.budget.forget_transforms();
        self.peers.forget_transform();
    }

    fn mixes(&self, grid: [usize; 3], images: usize) -> bool {
        images == 1 || mixes(&self.vectors.queue.device, grid, images, T::PRECISION)
    }

    fn within<R: Send>(&mut self, _: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R> {
        let device = self.vectors.queue.device.clone();
        let _current = device.enter()?;
        self.vectors.queue.start()?;
        self.replaced = 0;
        // What is no number in the data is why the work failed, if it did, on whatever it met.
        let all = |engine: &mut Self| match (work(engine), engine.verify()) {
            (Err(_), Err(found)) if found.status == Status::NotFiniteData => Err(found),
            (done, verified) => done.and_then(|r| verified.map(|()| r)),
        };
        then_wait(self, all, |engine| {
            engine.pending.clear();
            let waited = engine.vectors.queue.stream.synchronize();
            waited.and(engine.peers.wait())
        })
    }

    fn memory(&mut self, _: &Context, fourier: &Fourier, solve: &Solve) -> Result<u64> {
        let (fixed, workspace) = self.needed(fourier, solve)?;
        Ok(fixed + workspace.preferred)
    }

    fn check_memory(&mut self, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<()> {
        let (needed, held) = (self.needed(fourier, solve)?, self.transform_bytes() + self.trajectory_bytes());
        self.budget.check(context, &self.vectors.queue, needed, held)?;
        if self.scan.mapped {
            self.peers.check_memory(context, fourier, solve)?;
        }
        if self.shares(self.scan.coils) {
            context.log(LogLevel::Info, || self.peers.describe(self.device()));
        }
        Ok(())
    }

    fn read<const N: usize>(&mut self, from: &Array<N>, name: &str, policy: NanPolicy) -> Result<DeviceVector> {
        let Self { context, vectors, replaced, .. } = self;
        let (queue, count) = (&vectors.queue, from.layout().count());
        let memory = queue.pool.take(count * T::PRECISION.complex())?;
        let to = memory.address();
        let vector = DeviceVector::new(memory, count);
        if from.layout().gpu.is_some() {
            queue.follow(self.stream)?;
            // SAFETY: room for as many; the array stays until `within` returns, which waits for the stream.
            self.pending.push(unsafe { array::read::<T, N>(queue, from, to, name, policy) }?);
            return Ok(vector);
        }
        // SAFETY: as above.
        if let Some(pending) = unsafe { array::read_pinned::<T, N>(queue, from, to, name, policy) }? {
            *replaced += pending.resolve(queue)?;
            return Ok(vector);
        }
        let fill = |first: usize, part: &mut [Complex<T>]| {
            context.install(|| host::read_part(from, first, part, name, policy, replaced))
        };
        // SAFETY: room for as many, which stays in the pool.
        unsafe { queue.staging.upload(&queue.stream, Span::new(to, count), fill)? };
        Ok(vector)
    }

    fn verify(&mut self) -> Result<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.replaced += pending.resolve(&self.vectors.queue)?;
        }
        Ok(())
    }

    fn replaced(&mut self) -> u64 {
        std::mem::take(&mut self.replaced)
    }

    fn write<const N: usize>(&mut self, from: &DeviceVector, to: &mut ArrayMut<N>) -> Result<()> {
        if to.layout().gpu.is_some() {
            // The kernel looks itself whether all was fine: to wait for that here would leave the GPU idle.
            self.vectors.queue.follow(self.stream)?;
            // SAFETY: as for `read`.
            return unsafe { array::write::<T, N>(&self.vectors.queue, from.address(), to) };
        }
        self.verify()?;
        let queue = &self.vectors.queue;
        // SAFETY: a vector of as many numbers; the array stays until `within` returns, which waits for the stream.
        if unsafe { array::write_pinned::<T, N>(queue, from.address(), to) }? {
            return Ok(());
        }
        let drain = |first: usize, part: &mut [Complex<T>]| {
            self.context.install(|| host::write_part(part, first, to));
            Ok(())
        };
        // SAFETY: a vector of as many numbers, which stays in the pool.
        unsafe { queue.staging.download(&queue.stream, Span::new(from.address(), from.count()), drain) }
    }

    fn upload(&mut self, values: &[Complex<f64>]) -> Result<DeviceVector> {
        let values: Vec<Complex<T>> = collected(values.iter().map(|v| Complex::new(T::of(v.re), T::of(v.im))))?;
        Ok(DeviceVector::new(self.vectors.queue.upload(&values)?, values.len()))
    }

    fn download(&mut self, vector: &DeviceVector) -> Result<Vec<Complex<f64>>> {
        let mut values = Buffer::<Complex<T>>::zeroed(vector.count())?;
        self.vectors.queue.fetch(vector.address(), &mut values)?;
        collected(values.iter().map(|v| Complex::new(v.re.wide(), v.im.wide())))
    }

    fn prepare(&mut self, fourier: &Fourier) -> Result<()> {
        if self.transform.is_none() {
            let Scan { grid, trajectory, effects, coils, .. } = &self.scan;
            let of = (trajectory.as_ref(), effects);
            self.transform = Some(Transform::new(fourier, &self.vectors.queue, *grid, of, *coils)?);
        }
        if self.shares(self.scan.coils) { self.peers.prepare(fourier) } else { Ok(()) }
    }

    fn fine_grid(&self) -> ([usize; 3], usize) {
        self.transform.as_ref().map_or(([0; 3], 0), Transform::fine_grid)
    }

    fn terms(&self) -> (usize, f64) {
        self.transform.as_ref().map_or((0, 0.0), Transform::terms)
    }

    fn normal_terms(&self) -> (usize, f64) {
        self.convolutions.as_ref().filter(|_| self.q.is_some()).map_or((0, 0.0), Convolutions::terms)
    }

    fn forward(&mut self, images: &DeviceVector, samples: &mut DeviceVector, progress: Progress) -> Result<()> {
        let seen = self.by_shots(images)?;
        self.forward_seen(seen.as_ref().unwrap_or(images), samples, progress)
    }

    fn adjoint(&mut self, samples: &DeviceVector, images: &mut DeviceVector, progress: Progress) -> Result<()> {
        let Some(mut seen) = self.room_by_shots(images.count())? else {
            return self.adjoint_seen(samples, images, progress);
        };
        self.adjoint_seen(samples, &mut seen, progress)?;
        self.of_shots(&seen, images)
    }

    fn weigh(&mut self, samples: &mut DeviceVector) -> Result<()> {
        let coils = samples.count() / self.scan.samples();
        // SAFETY: as for `forward`.
        unsafe { self.weigh_coils(samples.address(), coils) }
    }

    fn clear_imaginary(&mut self, images: &mut DeviceVector) -> Result<()> {
        // SAFETY: as for `forward`.
        unsafe { self.imaginary.clear(&self.vectors.queue, images.address(), images.count()) }
    }

    fn add_imaginary(&mut self, weight: f64, images: &DeviceVector, out: &mut DeviceVector) -> Result<()> {
        // SAFETY: as for `forward`.
        unsafe { self.imaginary.add(&self.vectors.queue, weight, images.address(), out.address(), out.count()) }
    }

    fn apply_pair(
        &mut self,
        image: &DeviceVector,
        samples: &mut DeviceVector,
        out: &mut DeviceVector,
        job: &Job,
    ) -> Result<()> {
        let (seen, product) = (self.by_shots(image)?, self.room_by_shots(out.count())?);
        let (Some(seen), Some(mut product)) = (seen, product) else {
            return self.apply_pair_seen(image, samples, out, job);
        };
        self.apply_pair_seen(&seen, samples, &mut product, job)?;
        self.of_shots(&product, out)
    }

    fn prepare_q(&mut self, fourier: &Fourier, job: &Job) -> Result<()> {
        self.make_q(fourier, job)?;
        let shares = self.shares(self.scan.coils);
        match &self.q {
            Some(q) if shares => self.peers.take_q(&self.vectors.queue, q),
            _ => Ok(()),
        }
    }

    fn has_q(&self) -> bool {
        self.q.is_some()
    }
    fn q(&mut self) -> Result<Option<Vec<f64>>> {
        self.q.as_ref().map(|q| q.values(&self.vectors.queue)).transpose()
    }

    fn set_q(&mut self, fourier: &Fourier, q: &[f64]) -> Result<()> {
        self.peers.forget_q();
        let grids = self.q_grids(fourier)?;
        self.q = Some(Q::new(&self.vectors.queue, grids, self.reals(q)?, (1, Kind::Alone))?);
        Ok(())
    }

    fn apply_q(&mut self, image: &DeviceVector, out: &mut DeviceVector, job: &Job) -> Result<()> {
        let (seen, product) = (self.by_shots(image)?, self.room_by_shots(out.count())?);
        let (Some(seen), Some(mut product)) = (seen, product) else { return self.apply_q_seen(image, out, job) };
        self.apply_q_seen(&seen, &mut product, job)?;
        self.of_shots(&product, out)
    }

    fn add_penalty(
        &mut self,
        penalty: Penalty,
        lambda: f64,
        image: &DeviceVector,
        out: &mut DeviceVector,
    ) -> Result<()> {
        let (queue, x, to) = (&self.vectors.queue, image.address(), out.address());
        match (penalty, &self.matrix) {
            (Penalty::Identity, _) => self.vectors.combine(lambda, image, 1.0, out),
            // SAFETY: images of the plan's size, which stay in the pool.
            (Penalty::Differences, _) => unsafe { self.differences.add(queue, lambda, self.scan.grid, x, to) },
            // SAFETY: as above.
            (Penalty::Matrix, Some(matrix)) => unsafe { matrix.add(queue, lambda, x, to) },
            (Penalty::Matrix, None) => fail!(Internal, "a plan refuses a matrix that was not set"),
            (Penalty::Wavelets | Penalty::Variation | Penalty::LowRank, _) => {
                fail!(Internal, "a penalty that is no square has no R^H R")
            }
        }
    }

    fn wavelets(&mut self) -> Result<DeviceWavelets<T>> {
        DeviceWavelets::new(&self.vectors.queue, self.scan.voxels())
    }

    fn soften(
        &mut self,
        work: &mut DeviceWavelets<T>,
        of: (&Wavelets, [usize; 3]),
        threshold: f64,
        images: &mut DeviceVector,
    ) -> Result<f64> {
        let all = self.all_of(images);
        // SAFETY: images of the plan's size, which stay in the pool.
        unsafe { work.soften(&self.vectors.queue, of, threshold, all) }
    }

    fn coefficient_sizes(
        &mut self,
        work: &mut DeviceWavelets<T>,
        of: (&Wavelets, [usize; 3]),
        images: &mut DeviceVector,
    ) -> Result<[f64; 2]> {
        let all = self.all_of(images);
        // SAFETY: as above.
        unsafe { work.sizes(&self.vectors.queue, of, all) }
    }

    fn blocks(&mut self, of: &Blocks, images: usize) -> Result<DeviceBlocks<T>> {
        DeviceBlocks::new(&self.vectors.queue, of, images)
    }

    fn shrink(
        &mut self,
        work: &mut DeviceBlocks<T>,
        of: &Blocks,
        threshold: Option<f64>,
        images: &mut DeviceVector,
    ) -> Result<[f64; 2]> {
        let all = self.all_of(images);
        // SAFETY: images of the plan's size, which stay in the pool.
        unsafe { work.shrink(&self.vectors.queue, of, threshold, all) }
    }

    fn fields(&mut self, images: usize) -> Result<DeviceFields<T>> {
        DeviceFields::new(&self.vectors.queue, self.scan.grid, images)
    }

    fn back(
        &mut self,
        fields: &DeviceFields<T>,
        scale: f64,
        image: &DeviceVector,
        out: &mut DeviceVector,
    ) -> Result<()> {
        let (queue, weights) = (&self.vectors.queue, self.differences.weights());
        // SAFETY: as above.
        unsafe { fields.back(queue, weights, scale, image.address(), out.address()) }
    }

    fn raise(&mut self, fields: &mut DeviceFields<T>, raise: Raise, x: &DeviceVector) -> Result<()> {
        // SAFETY: as above.
        unsafe { fields.raise(&self.vectors.queue, self.differences.weights(), raise, x.address()) }
    }

    fn variation(&mut self, fields: &DeviceFields<T>, huber: f64, x: &DeviceVector) -> Result<f64> {
        // SAFETY: as above.
        unsafe { fields.variation(&self.vectors.queue, self.differences.weights(), huber, x.address()) }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
