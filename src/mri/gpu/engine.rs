//! The engine on a GPU. All that a plan keeps stays there.

use super::array::{self, Pending};
use super::penalty::{DeviceMatrix, differences as add_differences};
use super::toeplitz::{Buffers, Toeplitz};
use super::transform::{Needs, Place, Transform, check_room};
use super::vector::Arithmetic;
use crate::array::{Array, ArrayMut, host};
use crate::context::{Context, Job, NanPolicy, Stage};
use crate::cpu::buffer::{Buffer, collected};
use crate::error::{Result, fail};
use crate::gpu::fft::{Direction, Images, Maps, PrunedFft};
use crate::gpu::{Device, DeviceReal, Lent, Queue, then_wait};
use crate::mri::engine::{Engine, Scan, Solve};
use crate::mri::regulariser::{Matrix, Penalty};
use crate::mri::toeplitz::{differences, doubled};
use crate::mri::transform::{Beyond, Fourier, Progress};
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Bytes of working memory that coils side by side may take in products with Q.
const PLENTY: u64 = 2 << 30;

/// Complex numbers on the GPU.
#[derive(Debug)]
pub(in crate::mri) struct Vector {
    memory: Lent,
    count: usize,
}

/// Q and what applies it.
struct Convolution {
    toeplitz: Toeplitz,
    spectrum: Lent,
}

/// See the module.
pub(in crate::mri) struct GpuEngine<T: DeviceReal> {
    context: Arc<Context>,
    queue: Queue,
    arithmetic: Arithmetic<T>,
    scan: Scan,
    /// The caller's stream.
    stream: usize,
    weights: Option<Lent>,
    maps: Option<Vector>,
    differences: Option<Lent>,
    matrix: Option<DeviceMatrix>,
    transform: Option<Transform<T>>,
    convolution: Option<Convolution>,
    /// What was read and not yet verified.
    pending: Vec<Pending>,
    replaced: u64,
    /// Of the transform, and of that which makes Q, once they are known.
    needs: [Option<Needs>; 2],
    /// Bytes that were needed last, and those that there were.
    cap: Option<(u64, u64)>,
    /// Bytes that the present call may take for transforms and what they work in.
    room: u64,
}

impl<T: DeviceReal> GpuEngine<T> {
    pub(in crate::mri) fn new(context: &Arc<Context>, device: &Arc<Device>, scan: Scan) -> Result<Self> {
        let queue = Queue::new(device)?;
        Ok(Self {
            context: context.clone(),
            arithmetic: Arithmetic::new(&queue)?,
            queue,
            scan,
            stream: 0,
            weights: None,
            maps: None,
            differences: None,
            matrix: None,
            transform: None,
            convolution: None,
            pending: Vec::new(),
            replaced: 0,
            needs: [None, None],
            cap: None,
            room: u64::MAX,
        })
    }

    /// Real numbers in the engine's precision.
    fn reals(&self, values: &[f64]) -> Result<Lent> {
        let values: Vec<T> = collected(values.iter().map(|v| T::of(*v)))?;
        self.queue.upload(&values)
    }

    /// Where sums are computed, when so many bytes are taken besides.
    fn place(&self, besides: u64) -> Place<'_, T> {
        Place {
            queue: &self.queue,
            arithmetic: &self.arithmetic,
            room: self.room.saturating_sub(self.taken() + besides),
        }
    }

    /// Bytes of the transform, if it is there.
    fn taken(&self) -> u64 {
        self.transform.as_ref().map_or(0, Transform::bytes)
    }

    fn images(&self, address: u64) -> Images {
        let maps = self.maps.as_ref().map(|m| Maps { address: m.memory.address(), stride: self.scan.voxels() });
        Images { address, maps }
    }

    fn transform(&self) -> Result<&Transform<T>> {
        match &self.transform {
            Some(transform) => Ok(transform),
            None => fail!(Internal, "no transform was prepared"),
        }
    }

    /// Bytes that it keeps from call to call, maps that are still to come included.
    fn held(&self) -> u64 {
        let lent = |l: &Option<Lent>| l.as_ref().map_or(0, |l| l.bytes() as u64);
        let maps = match &self.maps {
            Some(maps) => maps.memory.bytes(),
            None if self.scan.mapped => self.scan.coils * self.scan.voxels() * T::PRECISION.complex(),
            None => 0,
        } as u64;
        let q = self.convolution.as_ref().map_or(0, |c| c.spectrum.bytes() as u64);
        let matrix = self.matrix.as_ref().map_or(0, DeviceMatrix::bytes);
        lent(&self.weights) + lent(&self.differences) + maps + q + matrix
    }

    /// Bytes of what it keeps and of a solution's vectors, Q included.
    fn fixed(&self, solve: &Solve) -> u64 {
        let scan = &self.scan;
        let complex = T::PRECISION.complex() as u64;
        let (voxels, samples) = (scan.voxels() as u64, scan.samples() as u64);
        let solver = solve.purpose.vectors(scan.images(), 5);
        let images = scan.images() as u64 * if solve.warm { 2 } else { 1 } + solver;
        let coils = scan.coils as u64 + scan.seen_by() as u64 * u64::from(!solve.toeplitz);
        let q = if solve.toeplitz && self.convolution.is_none() { self.spectrum_bytes() } else { 0 };
        self.held() + complex * (images * voxels + coils * samples) + q
    }

    fn spectrum_bytes(&self) -> u64 {
        (doubled(self.scan.grid).iter().product::<usize>() * T::PRECISION.bytes()) as u64
    }

    /// Bytes besides: the least that does, and that which takes no more time.
    fn besides(&mut self, fourier: &Fourier, solve: &Solve) -> Result<[u64; 2]> {
        let Scan { grid, trajectory, beyond, coils, .. } = &self.scan;
        let sums = match self.needs[0] {
            Some(needs) => needs,
            None => Needs::new::<T>(fourier, &self.queue, *grid, (trajectory, beyond), *coils)?,
        };
        self.needs[0] = Some(sums);
        let [mut least, mut most] = [sums.least, sums.most];
        if solve.toeplitz {
            let of = |coils| Toeplitz::needs(*grid, doubled(*grid), T::PRECISION, coils).map(|n| n as u64);
            let ([fewest, one], [_, all]) = (of(1), of(self.scan.seen_by()));
            least = least.max(fewest);
            most = most.max(all.min(PLENTY.max(one)));
        }
        if solve.toeplitz && self.convolution.is_none() {
            // q on the grid of differences, its transform, and how they come about.
            let (grid, nothing) = (differences(*grid), Beyond::default());
            let sums = match self.needs[1] {
                Some(needs) => needs,
                None => Needs::new::<T>(fourier, &self.queue, grid, (trajectory, &nothing), 1)?,
            };
            self.needs[1] = Some(sums);
            let numbers: usize = grid.iter().product::<usize>() + 2 * doubled(self.scan.grid).iter().product::<usize>();
            let ones = self.scan.samples() + numbers;
            let making = sums.held + (ones * T::PRECISION.complex()) as u64;
            least = least.max(making + sums.least);
            most = most.max(making + sums.most);
        }
        Ok([least, most].map(|n| n + sums.held))
    }

    fn convolution(&self, spectrum: Lent) -> Result<Convolution> {
        let grid = self.scan.grid;
        Ok(Convolution { toeplitz: Toeplitz::new(&self.queue.device, grid, doubled(grid), T::PRECISION)?, spectrum })
    }
}

impl<T: DeviceReal> Engine for GpuEngine<T> {
    type Real = T;
    type Vector = Vector;
    const WAITS: bool = true;

    fn scan(&self) -> &Scan {
        &self.scan
    }

    fn set_stream(&mut self, stream: usize) {
        self.stream = stream;
    }

    fn set_weights(&mut self, weights: Option<Vec<f64>>) -> Result<()> {
        self.weights = weights.as_deref().map(|w| self.reals(w)).transpose()?;
        self.scan.weights = weights;
        self.convolution = None;
        Ok(())
    }

    fn set_maps(&mut self, maps: Option<Vector>) {
        self.scan.mapped = maps.is_some();
        self.maps = maps;
    }

    fn set_beyond(&mut self, beyond: Beyond) {
        self.scan.beyond = beyond;
        self.forget_transform();
    }

    fn set_difference_weights(&mut self, squared: Option<&[f64]>) -> Result<()> {
        self.differences = squared.map(|w| self.reals(w)).transpose()?;
        Ok(())
    }

    fn set_matrix(&mut self, matrix: Matrix<T>) -> Result<()> {
        self.matrix = Some(DeviceMatrix::new(&self.queue, &matrix)?);
        Ok(())
    }

    fn has_matrix(&self) -> bool {
        self.matrix.is_some()
    }

    fn forget_transform(&mut self) {
        self.transform = None;
        self.convolution = None;
        self.needs = [None, None];
    }

    fn within<R: Send>(&mut self, _: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R> {
        let device = self.queue.device.clone();
        let _current = device.enter()?;
        self.queue.start()?;
        self.replaced = 0;
        let all = |engine: &mut Self| work(engine).and_then(|r| engine.verify().map(|()| r));
        then_wait(self, all, |engine| {
            engine.pending.clear();
            engine.queue.stream.synchronize()
        })
    }

    fn memory(&mut self, _: &Context, fourier: &Fourier, solve: &Solve) -> Result<u64> {
        let [_, most] = self.besides(fourier, solve)?;
        Ok(self.fixed(solve) + most)
    }

    fn check_memory(&mut self, context: &Context, fourier: &Fourier, solve: &Solve) -> Result<()> {
        let (fixed, [least, _]) = (self.fixed(solve), self.besides(fourier, solve)?);
        let needed = fixed + least;
        // To ask the driver takes as long as a small transform.
        let cap = match self.cap {
            Some((for_these, cap)) if for_these == needed => cap,
            _ => context.gpu_memory(&self.queue.device, self.queue.pool.bytes() + self.taken())?,
        };
        // After a failure it is asked again: others may have given memory back.
        self.cap = (needed <= cap).then_some((needed, cap));
        if needed > cap {
            fail!(MemoryCap, "gpu_memory_cap is {cap} bytes; this needs at least {needed}");
        }
        self.room = cap - fixed;
        self.queue.pool.limit(cap.saturating_sub(self.taken()));
        Ok(())
    }

    fn read<const N: usize>(&mut self, from: &Array<N>, name: &str, policy: NanPolicy) -> Result<Vector> {
        let count = from.layout().count();
        if from.layout().gpu.is_none() {
            let (context, replaced) = (self.context.clone(), &mut self.replaced);
            let values: Buffer<Complex<T>> = context.install(|| host::read(from, name, policy, replaced))?;
            return Ok(Vector { memory: self.queue.upload(&values)?, count });
        }
        self.queue.follow(self.stream)?;
        let memory = self.queue.pool.take(count * T::PRECISION.complex())?;
        // SAFETY: room for as many; the array stays until `within` returns, which waits for the stream.
        let pending = unsafe { array::read::<T, N>(&self.queue, from, memory.address(), name, policy) }?;
        self.pending.push(pending);
        Ok(Vector { memory, count })
    }

    fn verify(&mut self) -> Result<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.replaced += pending.resolve(&self.queue)?;
        }
        Ok(())
    }

    fn replaced(&mut self) -> u64 {
        std::mem::take(&mut self.replaced)
    }

    fn write<const N: usize>(&mut self, from: &Vector, to: &mut ArrayMut<N>) -> Result<()> {
        if to.layout().gpu.is_some() {
            // The kernel looks itself whether all was fine: to wait for that here would leave the GPU idle.
            self.queue.follow(self.stream)?;
            // SAFETY: as for `read`.
            return unsafe { array::write::<T, N>(&self.queue, from.memory.address(), to) };
        }
        self.verify()?;
        let mut values = Buffer::<Complex<T>>::zeroed(from.count)?;
        self.queue.fetch(from.memory.address(), &mut values)?;
        self.context.install(|| host::write(&values, to));
        Ok(())
    }

    fn zeros(&mut self, count: usize) -> Result<Vector> {
        let vector = self.room(count)?;
        vector.memory.clear(&self.queue.stream)?;
        Ok(vector)
    }

    fn room(&mut self, count: usize) -> Result<Vector> {
        Ok(Vector { memory: self.queue.pool.take(count * T::PRECISION.complex())?, count })
    }

    fn upload(&mut self, values: &[Complex<f64>]) -> Result<Vector> {
        let values: Vec<Complex<T>> = collected(values.iter().map(|v| Complex::new(T::of(v.re), T::of(v.im))))?;
        Ok(Vector { memory: self.queue.upload(&values)?, count: values.len() })
    }

    fn download(&mut self, vector: &Vector) -> Result<Vec<Complex<f64>>> {
        let mut values = Buffer::<Complex<T>>::zeroed(vector.count)?;
        self.queue.fetch(vector.memory.address(), &mut values)?;
        collected(values.iter().map(|v| Complex::new(v.re.wide(), v.im.wide())))
    }

    fn copy(&mut self, from: (&Vector, usize), to: (&mut Vector, usize), count: usize) -> Result<()> {
        let complex = T::PRECISION.complex();
        if from.1 + count > from.0.count || to.1 + count > to.0.count {
            fail!(Internal, "{count} elements from {} and {} on are not there", from.1, to.1);
        }
        let at = |v: &Vector, first: usize| v.memory.address() + (first * complex) as u64;
        // SAFETY: inside both vectors, which stay in the pool.
        unsafe { self.queue.duplicate(at(from.0, from.1), at(to.0, to.1), count * complex) }
    }

    fn prepare(&mut self, fourier: &Fourier) -> Result<()> {
        if self.transform.is_none() {
            let Scan { grid, trajectory, beyond, .. } = &self.scan;
            self.transform = Some(Transform::new(fourier, &self.queue, *grid, trajectory, beyond)?);
        }
        Ok(())
    }

    fn fine_grid(&self) -> ([usize; 3], usize) {
        self.transform.as_ref().map_or(([0; 3], 0), Transform::fine_grid)
    }

    fn forward(&mut self, images: &Vector, samples: &mut Vector, progress: Progress) -> Result<()> {
        let (coils, from) = (samples.count / self.scan.samples(), self.images(images.memory.address()));
        // SAFETY: vectors of these sizes, which stay in the pool.
        unsafe { self.transform()?.forward(&self.place(0), &from, samples.memory.address(), coils, progress) }
    }

    fn adjoint(&mut self, samples: &Vector, images: &mut Vector, progress: Progress) -> Result<()> {
        let (coils, to) = (samples.count / self.scan.samples(), self.images(images.memory.address()));
        // SAFETY: as for `forward`.
        unsafe { self.transform()?.adjoint(&self.place(0), samples.memory.address(), &to, coils, progress) }
    }

    fn weigh(&mut self, samples: &mut Vector) -> Result<()> {
        let Some(weights) = &self.weights else { return Ok(()) };
        let count = self.scan.samples();
        let (coils, address) = (samples.count / count, samples.memory.address());
        // SAFETY: as for `forward`.
        unsafe { self.arithmetic.weigh(&self.queue, weights.address(), address, count, coils) }
    }

    fn prepare_q(&mut self, fourier: &Fourier, job: &Job) -> Result<()> {
        if self.convolution.is_some() {
            return Ok(());
        }
        self.scan.check_convolution()?;
        job.enter(Stage::Toeplitz);
        let (grid, double, samples) = (differences(self.scan.grid), doubled(self.scan.grid), self.scan.samples());
        let mut ones = self.room(samples)?;
        // SAFETY: a vector of so many samples.
        unsafe { self.arithmetic.fill(&self.queue, ones.memory.address(), 1.0, samples)? };
        self.weigh(&mut ones)?;
        let kernel = self.room(grid.iter().product())?;
        let sums = Transform::<T>::new(fourier, &self.queue, grid, &self.scan.trajectory, &Beyond::default())?;
        let images = Images { address: kernel.memory.address(), maps: None };
        let numbers: usize = double.iter().product();
        let making = sums.bytes() + ((samples + kernel.count + 2 * numbers) * T::PRECISION.complex()) as u64;
        let progress = &mut |_| job.check();
        // SAFETY: an image of all differences.
        unsafe { sums.adjoint(&self.place(making), ones.memory.address(), &images, 1, progress)? };
        let spectrum = self.queue.pool.take(numbers * T::PRECISION.bytes())?;
        let complex = self.queue.pool.take(numbers * T::PRECISION.complex())?;
        let factors = grid.map(|n| vec![1.0; n]);
        let fft =
            PrunedFft::new(&self.queue.device, grid, double, factors.each_ref().map(Vec::as_slice), T::PRECISION)?;
        let scratch = self.queue.pool.take(fft.scratch_bytes(1))?;
        let made = self.convolution(spectrum)?;
        let (to, stream) = (complex.address(), &self.queue.stream);
        // SAFETY: memory of the sizes that are asked for.
        unsafe {
            fft.pad(&images, to, scratch.address(), 1, Direction::Forward, stream)?;
            made.toeplitz.real_part(to, made.spectrum.address(), stream)?;
        }
        // Tables of the transforms are in use until then.
        stream.synchronize()?;
        self.convolution = Some(made);
        Ok(())
    }

    fn has_q(&self) -> bool {
        self.convolution.is_some()
    }

    fn q(&mut self) -> Result<Option<Vec<f64>>> {
        let Some(convolution) = &self.convolution else { return Ok(None) };
        let mut values = Buffer::<T>::zeroed(doubled(self.scan.grid).iter().product())?;
        self.queue.fetch(convolution.spectrum.address(), &mut values)?;
        collected(values.iter().map(|v| v.wide())).map(Some)
    }

    fn set_q(&mut self, q: &[f64]) -> Result<()> {
        self.scan.check_convolution()?;
        self.convolution = Some(self.convolution(self.reals(q)?)?);
        Ok(())
    }

    fn apply_q(&mut self, image: &Vector, out: &mut Vector, job: &Job) -> Result<()> {
        let room = self.room.saturating_sub(self.taken());
        let Some(Convolution { toeplitz, spectrum }) = &mut self.convolution else {
            fail!(Internal, "no Q was prepared");
        };
        let coils = self.scan.seen_by();
        let most = room.min(PLENTY);
        let group = (1..=coils).rev().find(|c| toeplitz.scratch_bytes(*c) as u64 <= most).unwrap_or(1);
        toeplitz.limit_scratch(group, usize::try_from(room).unwrap_or(usize::MAX));
        check_room(room, toeplitz.scratch_bytes(group) as u64)?;
        let scratch = self.queue.pool.take(toeplitz.scratch_bytes(group))?;
        let buffers =
            Buffers { input: image.memory.address(), output: out.memory.address(), scratch: scratch.address() };
        let (spectrum, stream) = (spectrum.address(), &self.queue.stream);
        let Some(maps) = &self.maps else {
            // SAFETY: images of the plan's size, and as much scratch memory as is asked for.
            return unsafe { toeplitz.apply(spectrum, 1, buffers, stream) };
        };
        let voxels = image.count;
        for coil in (0..coils).step_by(group) {
            job.check()?;
            let address = maps.memory.address() + (coil * voxels * T::PRECISION.complex()) as u64;
            let maps = Maps { address, stride: voxels };
            let some = group.min(coils - coil);
            // SAFETY: as above, with maps of so many coils.
            unsafe { toeplitz.apply_coils(spectrum, some, maps, buffers, coil > 0, stream)? };
        }
        Ok(())
    }

    fn add_penalty(&mut self, penalty: Penalty, lambda: f64, image: &Vector, out: &mut Vector) -> Result<()> {
        let (queue, x, to) = (&self.queue, image.memory.address(), out.memory.address());
        // SAFETY: images of the plan's size, which stay in the pool.
        unsafe {
            match (penalty, &self.matrix) {
                (Penalty::Identity, _) => self.arithmetic.combine(queue, (lambda, x), (1.0, to), image.count),
                (Penalty::Differences, _) => {
                    let weights = self.differences.as_ref().map_or(0, |w| w.address());
                    add_differences::<T>(queue, (lambda, weights), self.scan.grid, x, to)
                }
                (Penalty::Matrix, Some(matrix)) => matrix.add(queue, lambda, x, to),
                (Penalty::Matrix, None) => fail!(Internal, "a plan refuses a matrix that was not set"),
            }
        }
    }

    fn dot(&mut self, a: &Vector, b: &Vector) -> Result<f64> {
        // SAFETY: vectors of the same size, which stay in the pool.
        unsafe { self.arithmetic.dot(&self.queue, a.memory.address(), b.memory.address(), a.count) }
    }

    fn combine(&mut self, a: f64, x: &Vector, b: f64, y: &mut Vector) -> Result<()> {
        let (x, y, count) = (x.memory.address(), y.memory.address(), x.count);
        // SAFETY: as for `dot`.
        unsafe { self.arithmetic.combine(&self.queue, (a, x), (b, y), count) }
    }

    fn step(&mut self, a: f64, along: (&Vector, &Vector), x: &mut Vector, residual: &mut Vector) -> Result<f64> {
        let at = |v: &Vector| v.memory.address();
        let (along, to) = ((at(along.0), at(along.1)), (at(x), at(residual)));
        // SAFETY: as for `dot`.
        unsafe { self.arithmetic.step(&self.queue, a, along, to, x.count) }
    }
}

#[cfg(test)]
#[path = "engine_tests.rs"]
mod tests;
