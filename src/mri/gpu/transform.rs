//! Fourier sums on the GPU.

use super::direct::{Bounds, Direct, DirectArrays, DirectProblem, Direction, Sines};
use super::separable::Problem;
use super::separable_adjoint::{Adjoint, AdjointArrays};
use super::separable_forward::{Forward, ForwardArrays};
use super::vector::Arithmetic;
use crate::cpu::buffer::collected;
use crate::cpu::level::Level;
use crate::error::{Result, fail};
use crate::gpu::fft::{Images, Maps};
use crate::gpu::{DeviceReal, Lent, Precision, Queue};
use crate::mri::trajectory::Trajectory;
use crate::mri::transform::{Beyond, Fourier, Progress, places};
use crate::nufft::gpu::{Choice, Coordinates, Plan, Values};

/// Bytes of working memory that coils side by side may take: beyond, they gain nothing.
const PLENTY: u64 = 2 << 30;
/// Coils that exact sums take side by side.
const EXACT_COILS: usize = 4;

/// See the module.
pub(super) struct Transform<T: DeviceReal> {
    voxels: usize,
    samples: usize,
    way: Way<T>,
}

enum Way<T: DeviceReal> {
    Fast(Box<Plan<T>>),
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

/// Where the sums are computed, and with how many bytes at most.
pub(super) struct Place<'a, T> {
    pub(super) queue: &'a Queue,
    pub(super) arithmetic: &'a Arithmetic<T>,
    pub(super) room: u64,
}

/// Bytes of a transform: what it holds, the working memory that always does, and that which takes no more time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    pub(super) held: u64,
    pub(super) least: u64,
    pub(super) most: u64,
}

impl Needs {
    /// For so many coils, before there is a transform.
    pub(super) fn new<T: DeviceReal>(
        fourier: &Fourier,
        queue: &Queue,
        grid: [usize; 3],
        (trajectory, beyond): (&Trajectory, &Beyond),
        coils: usize,
    ) -> Result<Self> {
        let (samples, voxels): (_, usize) = (trajectory.samples(), grid.iter().product());
        if fourier.is_exact(beyond)? {
            let sums = sums::<T>(fourier, queue, grid, trajectory, beyond)?;
            let held = 4 * size_of::<f64>() * (voxels + samples);
            let seen = EXACT_COILS.min(coils) * voxels * T::PRECISION.complex();
            let work = (sums.workspace() + seen) as u64;
            return Ok(Self { held: held as u64, least: work, most: work });
        }
        let choice = Choice::new::<T>(&fourier.settings(Level::BASELINE, grid, samples))?;
        let of = |coils| choice.workspace_bytes::<T>(grid, samples, coils);
        let [least, one] = of(1);
        Ok(Self { held: choice.point_bytes::<T>(samples), least, most: of(coils)[1].min(PLENTY.max(one)) })
    }
}

/// Plans of exact sums, both ways.
enum Sums {
    Separable(Box<(Forward, Adjoint)>),
    Direct(Box<(Direct, Direct)>),
}

impl Sums {
    fn workspace(&self) -> usize {
        match self {
            Self::Separable(both) => both.0.workspace().max(both.1.workspace()),
            Self::Direct(both) => both.0.workspace().max(both.1.workspace()),
        }
    }
}

fn sums<T: DeviceReal>(
    fourier: &Fourier,
    queue: &Queue,
    grid: [usize; 3],
    trajectory: &Trajectory,
    beyond: &Beyond,
) -> Result<Sums> {
    let (dims, samples, [nz, ny, nx]) = (trajectory.dims(), trajectory.samples(), grid);
    let device = &queue.device;
    if !beyond.is_needed() {
        let problem = Problem { voxels: [nx, ny, nz], dims, samples, precision: T::PRECISION };
        return Ok(Sums::Separable(Box::new((Forward::new(device, &problem)?, Adjoint::new(device, &problem)?))));
    }
    let most = |values: &[f64]| values.iter().fold(0.0f64, |a, v| a.max(v.abs()));
    let positions = match &beyond.positions {
        Some(p) => {
            let axis = |d: usize| p.iter().skip(d).step_by(dims).fold(0.0f64, |a, v| a.max(v.abs()));
            [0, 1, 2].map(|d| if d < dims { axis(d) } else { 0.0 })
        }
        None => [nx, ny, nz].map(|n| (n / 2) as f64),
    };
    let (hertz, seconds) = beyond.field.as_ref().map_or((0.0, 0.0), |f| (most(&f.0), most(&f.1)));
    let points = trajectory.axes().map(most);
    let hardware = fourier.hardware_sines && T::PRECISION == Precision::F32;
    let problem = DirectProblem {
        voxels: nz * ny * nx,
        samples,
        dims,
        bounds: Bounds { positions, points, field: hertz, times: seconds },
        field: beyond.field.is_some(),
        direction: Direction::Forward,
        precision: T::PRECISION,
        sines: if hardware { Sines::Hardware } else { Sines::Precise },
    };
    let adjoint = DirectProblem { direction: Direction::Adjoint, ..problem };
    Ok(Sums::Direct(Box::new((Direct::new(device, &problem)?, Direct::new(device, &adjoint)?))))
}

impl<T: DeviceReal> Transform<T> {
    pub(super) fn new(
        fourier: &Fourier,
        queue: &Queue,
        grid: [usize; 3],
        trajectory: &Trajectory,
        beyond: &Beyond,
    ) -> Result<Self> {
        let (dims, samples, voxels) = (trajectory.dims(), trajectory.samples(), grid.iter().product());
        let axes = trajectory.axes();
        let points = collected((0..samples * dims).map(|i| axes[i % dims][i / dims]))?;
        let points = queue.upload(&points)?;
        let way = if !fourier.is_exact(beyond)? {
            let settings = fourier.settings(Level::BASELINE, grid, samples);
            let axis = |d: usize| points.address() + (d.min(dims - 1) * size_of::<f64>()) as u64;
            let at = Coordinates { axes: [axis(0), axis(1), axis(2)], stride: dims as i64, count: samples };
            // SAFETY: the points were uploaded, and stay until they are sorted.
            Way::Fast(Box::new(unsafe { Plan::new(&queue.device, &settings, &at, &queue.stream) }?))
        } else {
            match sums::<T>(fourier, queue, grid, trajectory, beyond)? {
                Sums::Separable(both) => Way::Separable { points, both },
                Sums::Direct(both) => {
                    let field = match &beyond.field {
                        Some(f) => Some([queue.upload(&f.0)?, queue.upload(&f.1)?]),
                        None => None,
                    };
                    let positions = match &beyond.positions {
                        Some(p) => queue.upload(p)?,
                        None => queue.upload(&places(grid, dims)?)?,
                    };
                    Way::Direct { points, positions, field, both }
                }
            }
        };
        Ok(Self { voxels, samples, way })
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        match &self.way {
            Way::Fast(plan) => plan.point_bytes(),
            Way::Separable { points, .. } => points.bytes() as u64,
            Way::Direct { points, positions, field, .. } => {
                let field: usize = field.iter().flatten().map(|f| f.bytes()).sum();
                (points.bytes() + positions.bytes() + field) as u64
            }
        }
    }

    /// The fast transform's grid along z, y, x, and its spreading function's width; 0 for exact sums.
    pub(super) fn fine_grid(&self) -> ([usize; 3], usize) {
        match &self.way {
            Way::Fast(plan) => (plan.choice().grid(), plan.choice().width()),
            _ => ([0; 3], 0),
        }
    }

    /// samples `[coil][m]` = F images: one for each coil, or with maps one that all see.
    ///
    /// # Safety
    /// All are device memory of these sizes until the stream has passed this; the GPU is current.
    pub(super) unsafe fn forward(
        &self,
        place: &Place<T>,
        images: &Images,
        samples: u64,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let queue = place.queue;
        match &self.way {
            Way::Fast(plan) => {
                let workspace = plan.workspace(&queue.pool, group(plan, coils, place.room)?, place.room)?;
                let values = Values { address: samples, coil_stride: self.samples };
                // SAFETY: by this function's contract.
                unsafe { plan.forward(images, values, coils, &workspace, &queue.stream) }
            }
            Way::Separable { points, both } => {
                let (forward, points) = (&both.0, points.address());
                let workspace = self.workspace(place, forward.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    self.look(place, images, image, coil, count)?;
                    let data = samples + self.behind(coil * self.samples);
                    let arrays = ForwardArrays { points, image: image.address, data, coils: count };
                    // SAFETY: by this function's contract.
                    unsafe { forward.run(&arrays, workspace.address(), &queue.stream) }
                })
            }
            Way::Direct { both, .. } => {
                let forward = &both.0;
                let workspace = self.workspace(place, forward.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    self.look(place, images, image, coil, count)?;
                    let output = samples + self.behind(coil * self.samples);
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
        place: &Place<T>,
        samples: u64,
        images: &Images,
        coils: usize,
        progress: Progress,
    ) -> Result<()> {
        let queue = place.queue;
        match &self.way {
            Way::Fast(plan) => {
                let workspace = plan.workspace(&queue.pool, group(plan, coils, place.room)?, place.room)?;
                let values = Values { address: samples, coil_stride: self.samples };
                // SAFETY: by this function's contract.
                unsafe { plan.adjoint(values, images, coils, &workspace, &queue.stream) }
            }
            Way::Separable { points, both } => {
                let (adjoint, points) = (&both.1, points.address());
                let workspace = self.workspace(place, adjoint.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    let data = samples + self.behind(coil * self.samples);
                    let arrays = AdjointArrays { points, weights: 0, data, image: image.address, coils: count };
                    // SAFETY: by this function's contract.
                    unsafe { adjoint.run(&arrays, workspace.address(), &queue.stream)? };
                    self.merge(place, images, image, coil, count)
                })
            }
            Way::Direct { both, .. } => {
                let adjoint = &both.1;
                let workspace = self.workspace(place, adjoint.workspace(), images, coils)?;
                self.by_coils(place, images, coils, progress, |image, coil, count| {
                    let input = samples + self.behind(coil * self.samples);
                    let arrays = DirectArrays { input, output: image.address, coils: count, ..self.direct_arrays()? };
                    // SAFETY: by this function's contract.
                    unsafe { adjoint.run(&arrays, workspace.address(), &queue.stream)? };
                    self.merge(place, images, image, coil, count)
                })
            }
        }
    }

    /// Bytes of so many complex numbers.
    fn behind(&self, count: usize) -> u64 {
        (count * T::PRECISION.complex()) as u64
    }

    /// Of exact sums.
    fn workspace(&self, place: &Place<T>, bytes: usize, images: &Images, coils: usize) -> Result<Lent> {
        let seen = if images.maps.is_some() { self.behind(EXACT_COILS.min(coils) * self.voxels) } else { 0 };
        check_room(place.room, bytes as u64 + seen)?;
        place.queue.pool.take(bytes)
    }

    fn direct_arrays(&self) -> Result<DirectArrays> {
        let Way::Direct { points, positions, field, .. } = &self.way else { fail!(Internal, "no direct sums") };
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
        place: &Place<T>,
        images: &Images,
        coils: usize,
        progress: Progress,
        run: impl Fn(&Images, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let seen = match images.maps {
            Some(_) => Some(place.queue.pool.take(EXACT_COILS.min(coils) * self.voxels * T::PRECISION.complex())?),
            None => None,
        };
        for coil in (0..coils).step_by(EXACT_COILS) {
            progress(coil as f64 / coils as f64)?;
            let own = images.address + self.behind(coil * self.voxels);
            let image = Images { address: seen.as_ref().map_or(own, |s| s.address()), maps: None };
            run(&image, coil, EXACT_COILS.min(coils - coil))?;
            place.queue.stream.synchronize()?;
        }
        Ok(())
    }

    /// What coils see of the image, if there are maps.
    fn look(&self, place: &Place<T>, images: &Images, seen: &Images, coil: usize, count: usize) -> Result<()> {
        let Some(maps) = images.maps else { return Ok(()) };
        let (maps, sizes) = (self.of_coil(maps, coil), [self.voxels, count]);
        // SAFETY: by the contract of `forward`; `seen` has room for so many coils.
        unsafe { place.arithmetic.see(place.queue, maps, images.address, seen.address, sizes) }
    }

    /// Adds what comes back from coils to the image, if there are maps.
    fn merge(&self, place: &Place<T>, images: &Images, seen: &Images, coil: usize, count: usize) -> Result<()> {
        let Some(maps) = images.maps else { return Ok(()) };
        let (maps, sizes) = (self.of_coil(maps, coil), [self.voxels, count]);
        // SAFETY: by the contract of `adjoint`; `seen` has images of so many coils.
        unsafe { place.arithmetic.merge(place.queue, maps, (images.address, coil > 0), seen.address, sizes) }
    }

    fn of_coil(&self, maps: Maps, coil: usize) -> Maps {
        Maps { address: maps.address + self.behind(coil * maps.stride), ..maps }
    }
}

/// Coils that a fast transform takes side by side.
fn group<T: DeviceReal>(plan: &Plan<T>, coils: usize, room: u64) -> Result<usize> {
    let [least, _] = plan.workspace_bytes(1);
    check_room(room, least)?;
    let most = room.min(PLENTY);
    Ok((1..=coils).rev().find(|c| plan.workspace_bytes(*c)[1] <= most).unwrap_or(1))
}

/// What a plan's check of the memory cap promised.
pub(super) fn check_room(room: u64, needed: u64) -> Result<()> {
    if needed > room {
        fail!(Internal, "{needed} bytes of working memory, of which {room} are left");
    }
    Ok(())
}
