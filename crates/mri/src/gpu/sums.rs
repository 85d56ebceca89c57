//! Fourier sums on the GPU: fast ones, and exact ones with all that acts on them but decay.

use super::coils::CoilKernels;
use super::direct::{Bounds, Direct, DirectArrays, DirectProblem, Direction, Sines};
use super::fast::FastSums;
use super::lines::{LineSums, line_sizes};
use super::place::Place;
use super::separable::{Problem, SeparableArrays};
use super::separable_adjoint::Adjoint;
use super::separable_forward::Forward;
use super::stack::StackSums;
use super::stack_sizes::StackSizes;
use super::workspace::{check_available, side_by_side};
use crate::trajectory::Trajectory;
use crate::transform::{Effects, Fourier, Progress, places};
use isocenter_base::cpu::buffer::collected;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::fft::{Images, Maps};
use isocenter_base::gpu::{Lent, Precision, Queue, WorkspaceBytes};
use isocenter_nufft::Scalar;
use isocenter_nufft::gpu::{Choice, Coordinates, Plan, Values};

/// Coils that exact sums take side by side.
const EXACT_COILS: usize = 4;

/// Sums between the voxels of one grid and the samples of one trajectory, both ways.
pub(super) struct Sums<T: Scalar> {
    voxels: usize,
    samples: usize,
    algorithm: Algorithm<T>,
    coil_kernels: CoilKernels,
}

enum Algorithm<T: Scalar> {
    Fast(FastSums<T>),
    /// Of samples in planes.
    Stack(Box<StackSums<T>>),
    /// On the grid, where sums factorise.
    Separable {
        points: Lent,
        both: Box<(Forward, Adjoint)>,
    },
    /// Anywhere.
    Direct {
        points: Lent,
        positions: Lent,
        /// Hz of voxels, seconds of samples.
        field: Option<[Lent; 2]>,
        both: Box<(Direct, Direct)>,
    },
}

/// Bytes of sums.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumsBytes {
    pub(super) held: u64,
    pub(super) workspace: WorkspaceBytes,
}

impl SumsBytes {
    /// For so many coils, before they are there.
    pub(super) fn new<T: Scalar>(
        fourier: &Fourier,
        queue: &Queue,
        grid: [usize; 3],
        (trajectory, effects): (&Trajectory, &Effects),
        coils: usize,
    ) -> Result<Self> {
        let (samples, voxels): (_, usize) = (trajectory.samples(), grid.iter().product());
        if fourier.is_exact(effects)? {
            let sums = exact_sums::<T>(fourier, queue, grid, trajectory, effects)?;
            let held = 4 * size_of::<f64>() * (voxels + samples);
            let coil_images = EXACT_COILS.min(coils) * voxels * T::PRECISION.complex();
            let workspace = WorkspaceBytes::exactly((sums.workspace() + coil_images) as u64);
            return Ok(Self { held: held as u64, workspace });
        }
        if let Some(sizes) = StackSizes::new::<T>(fourier, grid, trajectory, coils)? {
            return Ok(Self { held: sizes.held_bytes::<T>(), workspace: sizes.workspace_bytes::<T>(coils) });
        }
        let settings = fourier.settings(Level::BASELINE, grid, samples);
        if let Some(sizes) = line_sizes::<T>(&settings, || trajectory.axes(), coils)? {
            let of = |coils| WorkspaceBytes::exactly(sizes.workspace_bytes(coils));
            return Ok(Self { held: sizes.held_bytes(), workspace: side_by_side(of(1), of(coils)) });
        }
        let choice = Choice::new::<T>(&settings)?;
        let of = |coils| choice.workspace_bytes::<T>(grid, samples, coils);
        // Those that are on the GPU are the trajectory's.
        let coordinates = if trajectory.on(&queue.device).is_some() { 0 } else { 3 * size_of::<f64>() * samples };
        let held = choice.point_bytes::<T>(samples) + coordinates as u64;
        Ok(Self { held, workspace: side_by_side(of(1), of(coils)) })
    }
}

/// Plans of exact sums, both ways.
enum ExactSums {
    Separable(Box<(Forward, Adjoint)>),
    Direct(Box<(Direct, Direct)>),
}

impl ExactSums {
    fn workspace(&self) -> usize {
        match self {
            Self::Separable(both) => both.0.workspace().max(both.1.workspace()),
            Self::Direct(both) => both.0.workspace().max(both.1.workspace()),
        }
    }
}

fn exact_sums<T: Scalar>(
    fourier: &Fourier,
    queue: &Queue,
    grid: [usize; 3],
    trajectory: &Trajectory,
    effects: &Effects,
) -> Result<ExactSums> {
    let (dims, samples, [nz, ny, nx]) = (trajectory.dims(), trajectory.samples(), grid);
    let device = &queue.device;
    if !effects.are_present() {
        let problem = Problem { voxels: [nx, ny, nz], dims, samples, precision: T::PRECISION };
        return Ok(ExactSums::Separable(Box::new((Forward::new(device, &problem)?, Adjoint::new(device, &problem)?))));
    }
    let largest = |values: &[f64]| values.iter().fold(0.0f64, |a, v| a.max(v.abs()));
    let positions = match &effects.positions {
        Some(p) => {
            let axis = |d: usize| p.iter().skip(d).step_by(dims).fold(0.0f64, |a, v| a.max(v.abs()));
            [0, 1, 2].map(|d| if d < dims { axis(d) } else { 0.0 })
        }
        None => [nx, ny, nz].map(|n| (n / 2) as f64),
    };
    let (hertz, seconds) = effects.field.as_ref().map_or((0.0, 0.0), |f| (largest(&f.hertz), largest(&f.seconds)));
    let points = trajectory.axes()?.map(largest);
    let hardware = fourier.hardware_sines && T::PRECISION == Precision::F32;
    let problem = DirectProblem {
        voxels: nz * ny * nx,
        samples,
        dims,
        bounds: Bounds { positions, points, field: hertz, times: seconds },
        field: effects.field.is_some(),
        direction: Direction::Forward,
        precision: T::PRECISION,
        sines: if hardware { Sines::Hardware } else { Sines::Precise },
    };
    let adjoint = DirectProblem { direction: Direction::Adjoint, ..problem };
    Ok(ExactSums::Direct(Box::new((Direct::new(device, &problem)?, Direct::new(device, &adjoint)?))))
}

impl<T: Scalar> Sums<T> {
    /// For so many coils, which decide how sums are fastest; it takes any number.
    pub(super) fn new(
        fourier: &Fourier,
        queue: &Queue,
        grid: [usize; 3],
        (trajectory, effects): (&Trajectory, &Effects),
        coils: usize,
    ) -> Result<Self> {
        let (dims, samples, voxels) = (trajectory.dims(), trajectory.samples(), grid.iter().product());
        let coil_kernels = CoilKernels::new(&queue.device, T::PRECISION)?;
        let exact = fourier.is_exact(effects)?;
        let settings = fourier.settings(Level::BASELINE, grid, samples);
        if !exact && let Some(sizes) = StackSizes::new::<T>(fourier, grid, trajectory, coils)? {
            let algorithm = Algorithm::Stack(Box::new(StackSums::new(queue, sizes, trajectory)?));
            return Ok(Self { voxels, samples, algorithm, coil_kernels });
        }
        if !exact && let Some(sizes) = line_sizes::<T>(&settings, || trajectory.axes(), coils)? {
            let algorithm = Algorithm::Fast(FastSums::Lines(Box::new(LineSums::new(&queue.device, sizes)?)));
            return Ok(Self { voxels, samples, algorithm, coil_kernels });
        }
        if !exact && let Some(points) = trajectory.on(&queue.device) {
            // SAFETY: the trajectory has them.
            let plan = unsafe { Plan::new(&queue.device, &settings, &points.coordinates(), &queue.stream) }?;
            let algorithm = Algorithm::Fast(FastSums::Points(Box::new(plan)));
            return Ok(Self { voxels, samples, algorithm, coil_kernels });
        }
        let axes = trajectory.axes()?;
        let points = collected((0..samples * dims).map(|i| axes[i % dims][i / dims]))?;
        let points = queue.upload(&points)?;
        let algorithm = if !exact {
            let axis = |d: usize| points.address() + (d.min(dims - 1) * size_of::<f64>()) as u64;
            let at = Coordinates { axes: [axis(0), axis(1), axis(2)], stride: dims as i64, count: samples };
            // SAFETY: the points were uploaded, and stay until they are sorted.
            let plan = unsafe { Plan::new(&queue.device, &settings, &at, &queue.stream) }?;
            Algorithm::Fast(FastSums::Points(Box::new(plan)))
        } else {
            match exact_sums::<T>(fourier, queue, grid, trajectory, effects)? {
                ExactSums::Separable(both) => Algorithm::Separable { points, both },
                ExactSums::Direct(both) => {
                    let field = match &effects.field {
                        Some(f) => Some([queue.upload(&f.hertz)?, queue.upload(&f.seconds)?]),
                        None => None,
                    };
                    let positions = match &effects.positions {
                        Some(p) => queue.upload(p)?,
                        None => queue.upload(&places(grid, dims)?)?,
                    };
                    Algorithm::Direct { points, positions, field, both }
                }
            }
        };
        Ok(Self { voxels, samples, algorithm, coil_kernels })
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        match &self.algorithm {
            Algorithm::Fast(sums) => sums.bytes(),
            Algorithm::Stack(sums) => sums.bytes(),
            Algorithm::Separable { points, .. } => points.bytes() as u64,
            Algorithm::Direct { points, positions, field, .. } => {
                let field: usize = field.iter().flatten().map(|f| f.bytes()).sum();
                (points.bytes() + positions.bytes() + field) as u64
            }
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match &self.algorithm {
            Algorithm::Fast(sums) => sums.fine_grid(),
            Algorithm::Stack(sums) => sums.fine_grid(),
            _ => ([0; 3], 0),
        }
    }

    /// samples `[coil][m]` = F images: one for each coil, or with maps one that all see.
    ///
    /// # Safety
    /// All are device memory of these sizes until the stream has passed this; the GPU is current.
    pub(super) unsafe fn forward(
        &self,
        place: &Place,
        images: &Images,
        samples: u64,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let queue = place.queue;
        match &self.algorithm {
            Algorithm::Fast(sums) => {
                let values = Values { address: samples, coil_stride: self.samples };
                // SAFETY: by this function's contract.
                unsafe { sums.forward(place, &self.coil_kernels, images, values, coils) }
            }
            // SAFETY: by this function's contract.
            Algorithm::Stack(sums) => unsafe {
                sums.forward(place, &self.coil_kernels, images, samples, coils, progress)
            },
            Algorithm::Separable { points, both } => {
                let (forward, points) = (&both.0, points.address());
                let workspace = self.workspace(place, forward.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    self.multiply_by_maps(place, images, image, coil, count)?;
                    let data = samples + self.bytes_of(coil * self.samples);
                    let arrays = SeparableArrays { points, weights: 0, image: image.address, data, coils: count };
                    // SAFETY: by this function's contract.
                    unsafe { forward.run(&arrays, workspace.address(), &queue.stream) }
                })
            }
            Algorithm::Direct { both, .. } => {
                let forward = &both.0;
                let workspace = self.workspace(place, forward.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    self.multiply_by_maps(place, images, image, coil, count)?;
                    let output = samples + self.bytes_of(coil * self.samples);
                    let arrays = DirectArrays { input: image.address, output, coils: count, ..self.direct_arrays()? };
                    // SAFETY: by this function's contract.
                    unsafe { forward.run(&arrays, workspace.address(), &queue.stream) }
                })
            }
        }
    }

    /// images = F^H samples; with maps the sum of what coils see.
    ///
    /// # Safety
    /// As for `forward`.
    pub(super) unsafe fn adjoint(
        &self,
        place: &Place,
        samples: u64,
        images: &Images,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let queue = place.queue;
        match &self.algorithm {
            Algorithm::Fast(sums) => {
                let values = Values { address: samples, coil_stride: self.samples };
                // SAFETY: by this function's contract.
                unsafe { sums.adjoint(place, &self.coil_kernels, values, images, coils) }
            }
            // SAFETY: by this function's contract.
            Algorithm::Stack(sums) => unsafe {
                sums.adjoint(place, &self.coil_kernels, samples, images, coils, progress)
            },
            Algorithm::Separable { points, both } => {
                let (adjoint, points) = (&both.1, points.address());
                let workspace = self.workspace(place, adjoint.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    let data = samples + self.bytes_of(coil * self.samples);
                    let arrays = SeparableArrays { points, weights: 0, image: image.address, data, coils: count };
                    // SAFETY: by this function's contract.
                    unsafe { adjoint.run(&arrays, workspace.address(), &queue.stream)? };
                    self.combine_coils(place, images, image, coil, count)
                })
            }
            Algorithm::Direct { both, .. } => {
                let adjoint = &both.1;
                let workspace = self.workspace(place, adjoint.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    let input = samples + self.bytes_of(coil * self.samples);
                    let arrays = DirectArrays { input, output: image.address, coils: count, ..self.direct_arrays()? };
                    // SAFETY: by this function's contract.
                    unsafe { adjoint.run(&arrays, workspace.address(), &queue.stream)? };
                    self.combine_coils(place, images, image, coil, count)
                })
            }
        }
    }

    /// Bytes of so many complex numbers.
    fn bytes_of(&self, count: usize) -> u64 {
        (count * T::PRECISION.complex()) as u64
    }

    /// Working memory of exact sums; images of coils have their own.
    fn workspace(&self, place: &Place, bytes: usize, images: &Images, coils: usize) -> Result<Lent> {
        let coil_images = if images.maps.is_some() { self.bytes_of(EXACT_COILS.min(coils) * self.voxels) } else { 0 };
        check_available(place.available, bytes as u64 + coil_images)?;
        place.queue.pool.take(bytes)
    }

    fn direct_arrays(&self) -> Result<DirectArrays> {
        let Algorithm::Direct { points, positions, field, .. } = &self.algorithm else {
            fail!(Internal, "no direct sums")
        };
        let [hertz, seconds] = field.as_ref().map_or([0; 2], |f| [f[0].address(), f[1].address()]);
        Ok(DirectArrays {
            positions: positions.address(),
            points: points.address(),
            field: hertz,
            times: seconds,
            weights: 0,
            input: 0,
            output: 0,
            coils: 0,
        })
    }

    /// Calls with what stands for the images of a few coils, the first coil and their number; waits for each, since they take long.
    fn by_coils(
        &self,
        place: &Place,
        images: &Images,
        coils: usize,
        progress: Progress,
        run: impl Fn(&Images, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let coil_images = match images.maps {
            Some(_) => Some(place.queue.pool.take(EXACT_COILS.min(coils) * self.voxels * T::PRECISION.complex())?),
            None => None,
        };
        for coil in (0..coils).step_by(EXACT_COILS) {
            progress(coil as f64 / coils as f64)?;
            let own = images.address + self.bytes_of(coil * self.voxels);
            let image = Images { address: coil_images.as_ref().map_or(own, |s| s.address()), maps: None };
            run(&image, coil, EXACT_COILS.min(coils - coil))?;
            place.queue.stream.synchronize()?;
        }
        Ok(())
    }

    /// The image as the coils see it, if there are maps.
    fn multiply_by_maps(
        &self,
        place: &Place,
        images: &Images,
        coil_images: &Images,
        coil: usize,
        count: usize,
    ) -> Result<()> {
        let Some(maps) = images.maps else { return Ok(()) };
        let (maps, sizes) = (self.of_coil(maps, coil), [self.voxels, count]);
        // SAFETY: by the contract of `forward`; there is an image for each of so many coils.
        unsafe { self.coil_kernels.multiply(place.queue, maps, images.address, coil_images.address, sizes) }
    }

    /// Adds images of coils to the one that they share, if there are maps.
    fn combine_coils(
        &self,
        place: &Place,
        images: &Images,
        coil_images: &Images,
        coil: usize,
        count: usize,
    ) -> Result<()> {
        let Some(maps) = images.maps else { return Ok(()) };
        let (maps, sizes) = (self.of_coil(maps, coil), [self.voxels, count]);
        // SAFETY: by the contract of `adjoint`; there is an image of each of so many coils.
        unsafe { self.coil_kernels.combine(place.queue, maps, (images.address, coil > 0), coil_images.address, sizes) }
    }

    fn of_coil(&self, maps: Maps, coil: usize) -> Maps {
        Maps { address: maps.address + self.bytes_of(coil * maps.stride), ..maps }
    }
}
