//! What a plan is given besides geometry and options: density weights, sensitivities, field, positions, penalties.

use super::basis::Basis;
use super::cpu::engine::CpuEngine;
use super::density::{self, Density};
use super::engine::{Engine, Imaginary, Purpose, Scan, Solve, Vector};
use super::frames::Frames;
use super::gpu::array::read_host as read_gpu;
use super::gpu::engine::GpuEngine;
use super::gpu::points;
use super::matrix::Matrix;
use super::penalty::{Penalty, Solver};
use super::plan::{Geometry, MAX_SIDE, Mri, each};
use super::reach::{Reach, Unit};
use super::segments::Field;
use super::trajectory::Trajectory;
use super::transform::{Effects, Fourier, Method};
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::{Context, LogLevel, NanPolicy};
use isocenter_base::cpu::buffer::{Buffer, collected, filled};
use isocenter_base::error::{Result, fail};
use isocenter_nufft::toeplitz::differences;
use isocenter_solve::Stop;
use isocenter_solve::Vectors;
use rustfft::num_complex::Complex;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The largest of difference weights: single precision holds its square, and that times those of ordinary samples.
const WEIGHTS: RangeInclusive<f64> = 1e-15..=1e15;

impl Mri {
    /// Copies an array of this name and shape to the host, wherever it is, and counts what was replaced.
    pub(super) fn fetch<const N: usize>(
        &mut self,
        from: &Array<N>,
        (name, shape): (&str, [usize; N]),
        policy: NanPolicy,
    ) -> Result<Buffer<Complex<f64>>> {
        self.check(from.layout(), name, shape)?;
        let (context, mut replaced) = (&self.context, 0);
        let values = match self.gpus().first().filter(|_| from.layout().gpu.is_some()) {
            Some(gpu) => read_gpu(gpu, self.stream(), from, name, policy, &mut replaced),
            None => context.install(|| host::read(from, name, policy, &mut replaced)),
        };
        self.replaced = replaced;
        values
    }

    /// The same of real numbers.
    fn fetch_reals<const N: usize>(
        &mut self,
        from: &Array<N>,
        expected: (&str, [usize; N]),
        policy: NanPolicy,
    ) -> Result<Vec<f64>> {
        let values = self.fetch(from, expected, policy)?;
        collected(values.iter().map(|v| v.re))
    }

    /// A trajectory from `[sample][axis]`, wherever that is, in this unit for an image on a grid `[nz, ny, nx]`. A long one is looked at and
    /// kept by the GPU that the plan computes on. One axis is that of a plane of one row, with 0 along y.
    pub fn read_trajectory(&mut self, from: Array<2>, unit: Unit, grid: [usize; 3]) -> Result<Trajectory> {
        let dims = from.shape()[1];
        self.check(from.layout(), "trajectory", from.shape())?;
        self.replaced = 0;
        if dims == 1 {
            let values = self.fetch_reals(&from, ("trajectory", from.shape()), NanPolicy::Error)?;
            let values: Vec<f64> = collected(values.into_iter().flat_map(|k| [k, 0.0]))?;
            return self.context.install(|| Trajectory::new(&values, unit, grid, 2));
        }
        let reach = Reach::new(unit, grid, dims)?;
        if let Some(gpu) = self.gpus().first() {
            match points::read(&self.context, (gpu, self.stream()), &from, &reach) {
                Ok(Some((points, largest))) => return Ok(Trajectory::of_device(points, &reach, &largest)),
                // The host finds what is wrong, and says it.
                Ok(None) => {}
                Err(e) if e.lacks_memory() => {}
                Err(e) => return Err(e),
            }
        }
        if from.layout().gpu.is_some() {
            let values = self.fetch_reals(&from, ("trajectory", from.shape()), NanPolicy::Error)?;
            return self.context.install(|| Trajectory::new(&values, unit, grid, dims));
        }
        self.context.install(|| {
            let values = host::read::<f64, 2>(&from, "trajectory", NanPolicy::Error, &mut 0)?;
            Trajectory::new(&values, unit, grid, dims)
        })
    }

    /// Sets density weights, one a sample; None for 1.
    pub fn set_weights(&mut self, weights: Option<Array<1>>) -> Result<()> {
        let policy = self.context.nan_policy();
        let Some(weights) = weights else { return self.keep_weights(None) };
        let values = self.fetch_reals(&weights, ("weights", [self.samples()?]), policy)?;
        if let Some(m) = values.iter().position(|w| *w < 0.0) {
            fail!(OutOfRange, "weights[{m}] is {}; it must not be negative", values[m]);
        }
        if values.iter().all(|w| *w == 0.0) {
            fail!(OutOfRange, "all weights are 0; at least one must be above");
        }
        self.keep_weights(Some(values))
    }

    fn keep_weights(&mut self, values: Option<Vec<f64>>) -> Result<()> {
        let context = self.context.clone();
        if let Some(frames) = &mut self.plan_mut()?.frames {
            frames.set_weights(None);
        }
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.set_weights(values)))
    }

    /// Finds density weights and sets them; of a series those of each frame, as if there were no other.
    pub fn compute_weights(&mut self, density: Density) -> Result<()> {
        let trajectory = each!(&self.plan()?.engine, e => e.scan().trajectory.clone());
        let Some(frames) = self.plan()?.frames.clone() else {
            let values = self.density(density, trajectory)?;
            return self.keep_weights(Some(values));
        };
        let mut weights = isocenter_base::cpu::buffer::reserved(frames.count())?;
        for range in frames.ranges() {
            weights.push(self.density(density, Arc::new(trajectory.part(range)?))?);
        }
        self.keep_weights(None)?;
        if let Some(frames) = &mut self.plan_mut()?.frames {
            frames.set_weights(Some(weights));
        }
        Ok(())
    }

    /// Density weights of a trajectory.
    fn density(&self, density: Density, trajectory: Arc<Trajectory>) -> Result<Vec<f64>> {
        let (context, grid) = (self.context.clone(), self.geometry()?.grid);
        // Weights need no more than a few digits.
        let fourier = Fourier { method: Method::Fast, tolerance: 1e-4, ..self.fourier()? };
        match density {
            Density::Radial(readout) => {
                let (weights, remark) = density::radial(readout, &trajectory)?;
                if let Some(remark) = remark {
                    context.log(LogLevel::Warning, || remark);
                }
                Ok(weights)
            }
            Density::Iterative(iterations) => {
                // Both voxels of a difference are anywhere in the field of view: it reaches over twice of that.
                let mut scan = Scan::new(differences(grid), 1, trajectory);
                scan.mapped = true;
                match context.gpus().first() {
                    None => iterative(CpuEngine::<f32>::new(context.level(), scan), &context, iterations, &fourier),
                    Some(gpu) => {
                        iterative(GpuEngine::<f32>::new(&context, gpu, &[], scan)?, &context, iterations, &fourier)
                    }
                }
            }
        }
    }

    /// Copies the density weights out, 1 if none were set, and those of frames that do not overlap, 0 where a sample is in none.
    pub fn copy_weights(&mut self, to: ArrayMut<1>) -> Result<()> {
        if let Some((frames, weights)) = self.plan()?.frames.as_ref().and_then(|f| Some((f, f.weights()?))) {
            frames.check_apart()?;
            let mut values = filled(self.samples()?, Complex::new(0.0, 0.0))?;
            for (range, weights) in frames.ranges().iter().zip(weights) {
                let of = values[range.clone()].iter_mut().zip(weights);
                of.for_each(|(v, w): (&mut Complex<f64>, _)| v.re = *w);
            }
            return self.store(&values, (to, [values.len()]));
        }
        let values = each!(&self.plan()?.engine, e => match &e.scan().weights {
            Some(w) => collected(w.iter().map(|w| Complex::new(*w, 0.0))),
            None => filled(e.scan().samples(), Complex::new(1.0, 0.0)),
        })?;
        self.store(&values, (to, [values.len()]))
    }

    /// Sets coil sensitivities `[set][coil][z][y][x]`; None for none.
    pub fn set_maps(&mut self, maps: Option<Array<5>>) -> Result<()> {
        let context = self.context.clone();
        let policy = context.nan_policy();
        let Geometry { coils, grid: [nz, ny, nx], .. } = *self.geometry()?;
        if let Some(maps) = &maps {
            let sets = maps.shape()[0];
            self.check(maps.layout(), "maps", [sets, coils, nz, ny, nx])?;
            if sets == 0 || sets > coils {
                fail!(OutOfRange, "maps have {sets} sets for {coils} coils; there must be 1 to {coils}");
            }
        }
        let (replaced, blind) = each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| {
            let maps = match maps {
                Some(m) => Some(read_maps(e, &m, policy)?),
                None => None,
            };
            e.verify()?;
            let blind = match &maps {
                Some(m) => e.vectors().dot(m, m)? == 0.0,
                None => false,
            };
            e.set_maps(maps)?;
            Ok((e.replaced(), blind))
        }))?;
        self.replaced = replaced;
        if blind {
            context.log(LogLevel::Warning, || "maps are 0 everywhere: no coil sees anything".to_owned());
        }
        Ok(())
    }

    fn set_effects(&mut self, change: impl FnOnce(&mut Effects)) -> Result<()> {
        each!(&mut self.plan_mut()?.engine, e => {
            let mut terms = e.scan().effects.clone();
            change(&mut terms);
            e.set_effects(terms);
        });
        Ok(())
    }

    /// Sets off-resonance in Hz and decay (R2*) in 1/s, `[z][y][x]`, either or both, and the time of each sample in seconds.
    pub fn set_field(&mut self, hertz: Option<Array<3>>, seconds: Array<1>, decay: Option<Array<3>>) -> Result<()> {
        let (policy, grid) = (self.context.nan_policy(), self.geometry()?.grid);
        let mut replaced = 0;
        let mut map = |mri: &mut Self, from: Option<Array<3>>, name| -> Result<Option<Vec<f64>>> {
            let Some(from) = from else { return Ok(None) };
            let values = mri.fetch_reals(&from, (name, grid), policy)?;
            replaced += mri.replaced;
            Ok(Some(values))
        };
        let (hertz, decay) = (map(self, hertz, "field")?, map(self, decay, "decay")?);
        let seconds = self.fetch_reals(&seconds, ("times", [self.samples()?]), policy)?;
        self.replaced += replaced;
        if let Some((i, r)) = decay.iter().flatten().enumerate().find(|(_, r)| **r < 0.0) {
            let [_, ny, nx] = grid;
            let at = [i / (ny * nx), i / nx % ny, i % nx];
            fail!(OutOfRange, "decay{at:?} is {r}; it must not be negative, in 1/s");
        }
        let Some(hertz) =
            hertz.map_or_else(|| decay.as_ref().map(|d| filled(d.len(), 0.0)).transpose(), |h| Ok(Some(h)))?
        else {
            fail!(Internal, "neither field nor decay");
        };
        let field = Field::new(hertz, decay, seconds);
        field.check()?;
        if let Some(remark) = field.suspicion() {
            self.context.log(LogLevel::Warning, || remark);
        }
        self.set_effects(|effects| effects.field = Some(Arc::new(field)))
    }

    /// Forgets off-resonance and decay.
    pub fn forget_field(&mut self) -> Result<()> {
        self.set_effects(|effects| effects.field = None)
    }

    /// A series of frames; frame f has `counts[f]` samples from `first[f]` on.
    pub fn set_frames(&mut self, first: &[i64], counts: &[i64]) -> Result<()> {
        let frames = Frames::new(first, counts, self.samples()?)?;
        self.keep_frames(Some(frames))
    }

    /// A series of frames of `length` samples, `step` apart, as many as the trajectory has.
    pub fn set_windows(&mut self, length: usize, step: usize) -> Result<()> {
        let frames = Frames::windows(length, step, self.samples()?)?;
        self.keep_frames(Some(frames))
    }

    /// One scan, not a series.
    pub fn forget_frames(&mut self) -> Result<()> {
        self.keep_frames(None)
    }

    fn keep_frames(&mut self, frames: Option<Frames>) -> Result<()> {
        if frames.is_some() {
            self.check_no_shots("frames (isoc_mri_set_frames)")?;
        }
        if frames.is_some() && each!(&self.plan()?.engine, e => e.scan().effects.basis.is_some()) {
            fail!(
                NotConfigured,
                "a basis (isoc_mri_set_basis) and frames exclude each other: images of a basis are of all samples"
            );
        }
        let (count, images) = (
            frames.as_ref().map_or(1, Frames::count),
            each!(&self.plan()?.engine, e => e.scan().coils * e.scan().voxels()),
        );
        if images.checked_mul(16).and_then(|n| n.checked_mul(count)).is_none() {
            fail!(SizeOverflow, "{count} frames of {images} voxels are more than memory can hold");
        }
        let plan = self.plan_mut()?;
        // Each frame has a transform of its own.
        each!(&mut plan.engine, e => e.drop_transform());
        plan.frames = frames;
        Ok(())
    }

    /// Images that change while samples are taken: `basis[row][image]`, and the row of each sample, None where rows are samples.
    pub fn set_basis(&mut self, basis: Array<2>, rows: Option<&[i64]>) -> Result<()> {
        let (policy, samples, [times, images]) = (self.context.nan_policy(), self.samples()?, basis.shape());
        self.check_no_shots("a basis (isoc_mri_set_basis)")?;
        if self.plan()?.frames.is_some() {
            fail!(
                NotConfigured,
                "frames (isoc_mri_set_frames) and a basis exclude each other: images of a basis are of all samples"
            );
        }
        if let Some(rows) = rows.filter(|rows| rows.len() != samples) {
            fail!(TensorShape, "times has {} elements, the trajectory {samples} samples", rows.len());
        }
        let values = self.fetch(&basis, ("basis", [times, images]), policy)?;
        let basis = Basis::new(collected(values.iter().copied())?, images, rows, samples)?;
        let scan = self.geometry()?;
        let all = [images, scan.coils, 16].iter().chain(&scan.grid).try_fold(1usize, |a, n| a.checked_mul(*n));
        if all.is_none() {
            fail!(SizeOverflow, "{images} images of {:?} voxels are more than memory can hold", scan.grid);
        }
        self.set_effects(|effects| effects.basis = Some(Arc::new(basis)))
    }

    fn check_no_shots(&self, what: &str) -> Result<()> {
        if self.has_shots()? {
            fail!(NotConfigured, "shots (isoc_mri_set_shots) and {what} exclude each other");
        }
        Ok(())
    }

    /// Samples of shots, of which each sees the image times `phases[shot][z][y][x]`; `shots` has the shot of each sample.
    pub fn set_shots(&mut self, shots: &[i64], phases: Array<4>) -> Result<()> {
        let (context, samples, [count, ..]) = (self.context.clone(), self.samples()?, phases.shape());
        let (policy, &Geometry { grid: [nz, ny, nx], coils, .. }) = (context.nan_policy(), self.geometry()?);
        if self.is_series()? {
            fail!(
                NotConfigured,
                "frames (isoc_mri_set_frames) or a basis (isoc_mri_set_basis) and shots exclude each other: shots are of one image"
            );
        }
        self.check(phases.layout(), "phases", [count, nz, ny, nx])?;
        if shots.len() != samples {
            fail!(TensorShape, "shots has {} elements, the trajectory {samples} samples", shots.len());
        }
        let basis = Basis::of_shots(shots, count)?;
        if [count, coils, 16, nz, ny, nx].iter().try_fold(1usize, |a, n| a.checked_mul(*n)).is_none() {
            fail!(SizeOverflow, "{count} images of {:?} voxels are more than memory can hold", [nz, ny, nx]);
        }
        self.replaced = each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| {
            let phases = e.read(&phases, "phases", policy)?;
            e.verify()?;
            e.set_phases(Some(phases));
            Ok(e.replaced())
        }))?;
        self.set_effects(|effects| effects.basis = Some(Arc::new(basis)))
    }

    /// Forgets shots: all samples see the image as it is.
    pub fn forget_shots(&mut self) -> Result<()> {
        if self.has_shots()? {
            each!(&mut self.plan_mut()?.engine, e => e.set_phases(None));
            self.set_effects(|effects| effects.basis = None)?;
        }
        Ok(())
    }

    /// Forgets the basis: one image for all samples.
    pub fn forget_basis(&mut self) -> Result<()> {
        if self.has_shots()? {
            return Ok(());
        }
        self.set_effects(|effects| effects.basis = None)
    }

    /// Sets where the voxels are, `[z][y][x][axis]`, x first, in voxels from the middle; None for the grid's own places.
    pub fn set_positions(&mut self, positions: Option<Array<4>>) -> Result<()> {
        let policy = self.context.nan_policy();
        let values = match positions {
            Some(p) => {
                let [nz, ny, nx] = self.geometry()?.grid;
                Some(self.fetch_reals(&p, ("positions", [nz, ny, nx, self.axes()?]), policy)?)
            }
            None => None,
        };
        if let Some((i, r)) = values.iter().flatten().enumerate().find(|(_, r)| r.abs() > MAX_SIDE as f64) {
            fail!(OutOfRange, "positions has {r} at element {i}; it must be within +-{MAX_SIDE} voxels");
        }
        self.set_effects(|effects| effects.positions = values.map(Arc::new))
    }

    /// Weights of the differences penalty, `[axis][z][y][x]`, x first; None for 1.
    pub fn set_difference_weights(&mut self, weights: Option<Array<4>>) -> Result<()> {
        let context = self.context.clone();
        let squared = match weights {
            Some(w) => {
                let [nz, ny, nx] = self.geometry()?.grid;
                let shape = [if nz == 1 { 2 } else { 3 }, nz, ny, nx];
                let mut values = self.fetch_reals(&w, ("difference weights", shape), context.nan_policy())?;
                let largest = values.iter().fold(0.0f64, |a, w| a.max(w.abs()));
                if largest > 0.0 && !WEIGHTS.contains(&largest) {
                    let (low, high) = WEIGHTS.into_inner();
                    fail!(
                        OutOfRange,
                        "the largest difference weight is {largest:e}; it must be {low:e} to {high:e}: divide or multiply all by a power of ten, and options.lambda by what its unit says"
                    );
                }
                values.iter_mut().for_each(|w| *w *= *w);
                Some(values)
            }
            None => None,
        };
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.set_difference_weights(squared.as_deref())))
    }

    /// The caller's R as compressed sparse rows.
    pub fn set_matrix(&mut self, starts: &[i64], columns: &[i64], values: Array<1>) -> Result<()> {
        let context = self.context.clone();
        let values = self.fetch(&values, ("matrix values", [columns.len()]), context.nan_policy())?;
        each!(&mut self.plan_mut()?.engine, e => {
            let matrix = Matrix::new(starts, columns, &values, e.scan().voxels())?;
            e.within(&context, |e| e.set_matrix(Arc::new(matrix)))
        })
    }
}

/// Sensitivities `[set][coil][z][y][x]` as an engine takes them, `[coil][set][z][y][x]`.
fn read_maps<E: Engine>(e: &mut E, maps: &Array<5>, policy: NanPolicy) -> Result<Vector<E>> {
    let [sets, coils, nz, ny, nx] = maps.shape();
    if sets == 1 {
        return e.read(&maps.part(0), "maps", policy);
    }
    let voxels = nz * ny * nx;
    let mut all = e.vectors().uninitialised(sets * coils * voxels)?;
    for set in 0..sets {
        let of_set = e.read(&maps.part(set), &format!("maps[{set}]"), policy)?;
        for coil in 0..coils {
            e.vectors().copy((&of_set, coil * voxels), (&mut all, (coil * sets + set) * voxels), voxels)?;
        }
    }
    Ok(all)
}

/// Density weights by an engine for this alone.
fn iterative<E: Engine>(mut engine: E, context: &Context, iterations: usize, fourier: &Fourier) -> Result<Vec<f64>> {
    // What pairs of transforms need.
    let stop = Stop { iterations: 0, tolerance: 0.0 };
    let pairs = Solve {
        stop,
        lambda: 0.0,
        penalty: Penalty::Identity,
        solver: Solver::ConjugateGradient,
        toeplitz: false,
        or_pairs: false,
        warm_start: false,
        imaginary: Imaginary::Free,
        purpose: Purpose::Transform,
        frames: 1,
        besides: 0,
        holds_samples: true,
    };
    engine.run(context, |e, job| {
        e.check_memory(context, fourier, &pairs)?;
        density::iterative(iterations, e, fourier, job)
    })
}
