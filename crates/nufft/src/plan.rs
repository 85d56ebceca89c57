//! A problem's shape and tolerance, its points, and the two transforms.

use super::choice::{UPSAMPLINGS, choose};
use super::cpu::fine_grid::FineGrid;
use super::cpu::interpolate::Interpolate;
use super::cpu::sort::SortedPoints;
use super::cpu::spread::Spread;
use super::cpu::taps::Taps;
use super::kernel::Kernel;
use super::scalar::Scalar;
use super::settings::Settings;
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::fft::{Axis, BoxFft};
use isocenter_base::cpu::simd::Real;
use isocenter_base::error::{Error, Result, Status, fail};
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

/// What a call tells how much of it is done; its error ends the call.
pub type Progress<'a> = &'a mut dyn FnMut(f64) -> Result<()>;

/// Points that a plan has taken; none to begin with.
#[derive(Debug)]
pub struct Points<T: Real>(Option<SortedPoints<T>>);

impl<T: Real> Default for Points<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// Maximum length of an axis: coordinates on the fine grid stay far from the end of 32 bits.
const MAX_SIDE: usize = 1 << 24;

/// Transforms, both ways, between images of one shape and one set of points. Work runs on the rayon pool that a call is made in; results are the same, bit for bit, for any number of
/// threads.
pub struct Plan<T: Scalar> {
    settings: Settings,
    kernel: Kernel,
    fine_grid: FineGrid,
    taps: Taps<T>,
    factors: [Vec<T>; 3],
    to_image: BoxFft<T>,
    from_image: BoxFft<T>,
    sorted: Option<SortedPoints<T>>,
    grid: Option<Buffer<Complex<T>>>,
}

impl<T: Scalar> Plan<T> {
    /// Chooses the spreading function and the fine grid; allocates little.
    pub fn new(settings: Settings) -> Result<Self> {
        let Settings { shape, .. } = settings;
        if let Some(n) = shape.iter().find(|n| !(1..=MAX_SIDE).contains(*n)) {
            fail!(OutOfRange, "shape is {shape:?}, with an axis of {n}; every axis must be 1 to {MAX_SIDE}");
        }
        let (kernel, len) =
            choose::<T>(&settings, &UPSAMPLINGS, |kernel, len| Some(cost::<T>(&settings, kernel, len)))?;
        let fine_grid = FineGrid { len, width: kernel.width() };
        if grid_bytes::<T>(&fine_grid).is_none() {
            fail!(SizeOverflow, "shape is {shape:?}; its fine grid of {:?} is more than memory can be", fine_grid.len);
        }
        let taps = Taps::new(&kernel);
        let factors = |axis: usize| {
            let flat = settings.dims() == 2 && axis == 0;
            let exact = if flat { vec![1.0] } else { kernel.factors(shape[axis], fine_grid.len[axis]) };
            exact.into_iter().map(T::of).collect()
        };
        let axis = |axis: usize| {
            let (len, count) = (fine_grid.len[axis], shape[axis]);
            Axis { len, start: (len - count / 2) % len, count }
        };
        // A plane is transformed as a stack of planes of one row, so that there is work for many threads.
        let order = if settings.dims() == 2 { [1, 0, 2] } else { [0, 1, 2] };
        let [plane, row] = fine_grid.strides();
        let strides = if settings.dims() == 2 { [row, row] } else { [plane, row] };
        let fft = |direction| BoxFft::new(order.map(axis), strides, direction);
        let (to_image, from_image) = (fft(FftDirection::Inverse)?, fft(FftDirection::Forward)?);
        let factors = order.map(factors);
        Ok(Self { settings, kernel, fine_grid, taps, factors, to_image, from_image, sorted: None, grid: None })
    }

    /// The spreading function.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The fine grid, along z, y, x.
    pub fn grid_shape(&self) -> [usize; 3] {
        self.fine_grid.len
    }

    /// Maximum number of bytes that the plan holds, but for small tables, with so many points in the pool that this is called in.
    pub fn memory(&self, samples: usize) -> u64 {
        let grid = grid_bytes::<T>(&self.fine_grid).unwrap_or(u64::MAX);
        let lines = self.to_image.scratch_bytes().max(self.from_image.scratch_bytes());
        grid.saturating_add(SortedPoints::<T>::bytes(samples)).saturating_add(
            Spread::<T>::bytes(&self.fine_grid, samples).max(lines * rayon::current_num_threads() as u64),
        )
    }

    /// Takes the points: `at(m)` is point m along z, y, x, in cycles per voxel (z of a 2-D problem is not looked at). It is
    /// called from all threads, twice a point, and must give the same both times.
    pub fn set_points(&mut self, samples: usize, at: impl Fn(usize) -> [f64; 3] + Sync) -> Result<()> {
        self.sorted = None;
        self.sorted = Some(SortedPoints::new(&self.fine_grid, samples, &at)?);
        Ok(())
    }

    /// Exchanges the points for others that it took before, or for none.
    pub fn swap_points(&mut self, points: &mut Points<T>) {
        std::mem::swap(&mut self.sorted, &mut points.0);
    }

    /// Whether there are points.
    pub fn has_points(&self) -> bool {
        self.sorted.is_some()
    }

    /// `images[coil][j] = sum_m values[coil][m] exp(+2 pi i k_m . (j - floor(N / 2)))`, for all coils.
    pub fn adjoint(&mut self, values: &[Complex<T>], images: &mut [Complex<T>], progress: Progress) -> Result<()> {
        let (samples, voxels, coils) = self.sizes(values.len(), images.len())?;
        let Self { fine_grid, taps, sorted, grid, settings, .. } = self;
        let (sorted, grid) = ready(sorted, grid, fine_grid)?;
        let spread = Spread { fine_grid, taps, sorted, level: settings.level };
        for coil in 0..coils {
            progress(coil as f64 / coils as f64)?;
            T::spread(&spread, &values[coil * samples..][..samples], grid)?;
            progress((coil as f64 + 0.5) / coils as f64)?;
            self.to_image.crop(grid, &self.factors, &mut images[coil * voxels..][..voxels])?;
        }
        Ok(())
    }

    /// `values[coil][m] = sum_j images[coil][j] exp(-2 pi i k_m . (j - floor(N / 2)))`, for all coils.
    pub fn forward(&mut self, images: &[Complex<T>], values: &mut [Complex<T>], progress: Progress) -> Result<()> {
        let (samples, voxels, coils) = self.sizes(values.len(), images.len())?;
        let Self { fine_grid, taps, sorted, grid, settings, .. } = self;
        let (sorted, grid) = ready(sorted, grid, fine_grid)?;
        let interpolate = Interpolate { fine_grid, taps, sorted, level: settings.level };
        for coil in 0..coils {
            progress(coil as f64 / coils as f64)?;
            self.from_image.expand(&images[coil * voxels..][..voxels], &self.factors, grid)?;
            progress((coil as f64 + 0.5) / coils as f64)?;
            T::interpolate(&interpolate, grid, &mut values[coil * samples..][..samples]);
        }
        Ok(())
    }

    /// Points, voxels and coils of arrays this long.
    fn sizes(&self, values: usize, images: usize) -> Result<(usize, usize, usize)> {
        let Some(samples) = self.sorted.as_ref().map(SortedPoints::len) else {
            fail!(NotConfigured, "the plan has no points yet; set_points comes first");
        };
        let voxels = self.settings.shape.iter().product();
        let coils = images / voxels;
        if images != coils * voxels || values != coils * samples {
            fail!(
                TensorShape,
                "{images} voxels and {values} samples are not of the same number of coils: a coil has {voxels} voxels and {samples} samples"
            );
        }
        Ok((samples, voxels, coils))
    }
}

/// The sorted points, and the grid, which is allocated when it is first needed.
fn ready<'a, T: Real>(
    sorted: &'a Option<SortedPoints<T>>,
    grid: &'a mut Option<Buffer<Complex<T>>>,
    fine_grid: &FineGrid,
) -> Result<(&'a SortedPoints<T>, &'a mut Buffer<Complex<T>>)> {
    let missing = || Error::new(Status::NotConfigured, "the plan has no points yet; set_points comes first");
    let sorted = sorted.as_ref().ok_or_else(missing)?;
    if grid.is_none() {
        *grid = Some(Buffer::zeroed(fine_grid.grid_len())?);
    }
    let grid = grid.as_mut().unwrap_or_else(|| unreachable!("it is there now"));
    Ok((sorted, grid))
}

/// None if it is more than an address space.
fn grid_bytes<T: Real>(fine_grid: &FineGrid) -> Option<u64> {
    let plane = (fine_grid.len[1] + 1).checked_mul(fine_grid.len[2] + 32)?;
    let bytes = fine_grid.len[0].checked_mul(plane)?.checked_mul(size_of::<Complex<T>>())?;
    isize::try_from(bytes).ok()?;
    Some((fine_grid.grid_len() * size_of::<Complex<T>>()) as u64)
}

/// Of one coil with AVX2, in processor cycles, about: a transform's step for each number of the grid that takes part, and a row
/// of taps for each point.
fn cost<T: Real>(settings: &Settings, kernel: &Kernel, len: [usize; 3]) -> f64 {
    let fine_grid = FineGrid { len, width: kernel.width() };
    const TRANSFORM: f64 = 1.4;
    const POINT: f64 = 120.0;
    const VECTOR: f64 = 3.2;
    let [z, y, x] = fine_grid.len.map(|n| n as f64);
    let [_, ny, nx] = settings.shape.map(|n| n as f64);
    let words = size_of::<T>() as f64 / 4.0;
    let used = z * y * x + z * y * nx + z * ny * nx;
    let transform = TRANSFORM * words * used * (z * y * x).log2() / settings.dims() as f64;
    let rows: usize = fine_grid.reach().iter().product();
    let vectors = (fine_grid.width as f64 * words / 4.0).ceil();
    transform + settings.samples as f64 * (POINT + VECTOR * rows as f64 * vectors)
}
