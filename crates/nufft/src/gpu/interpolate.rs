//! Launches `kernels/nufft/interpolate.cu`.

use super::sort::SortedPoints;
use super::spread::Values;
use super::spreading::Spreading;
use isocenter_base::error::Result;
use isocenter_base::gpu::{DeviceReal, Launch, Stream, mirrored};

/// Mirrors the kernel's.
const THREADS: usize = 256;
/// Limit of a launch's second dimension.
const MAX_GROUPS: usize = 65535;

/// Mirrors `Interpolate`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct InterpolateArguments {
    points: u64,
    order: u64,
    parts: u64,
    coefficients: u64,
    grid: u64,
    values: u64,
    value_stride: i64,
    size: [i32; 3],
    coils: i32,
}
mirrored!(InterpolateArguments, 72);

impl<T: DeviceReal> Spreading<T> {
    /// `values[coil][coil_stride]` = sum over the grid of `grid[coil][z][y][x]` times function, at the points.
    ///
    /// # Safety
    /// Values and grid are valid device memory of this GPU until the stream is there, and so is all that is passed.
    pub(super) unsafe fn interpolate(
        &self,
        points: &SortedPoints<T>,
        grid: u64,
        values: Values,
        coils: usize,
        stream: &Stream,
    ) -> Result<()> {
        let _current = self.device.enter()?;
        let (together, complex) = (self.coils_at_once(), 2 * size_of::<T>());
        for first in (0..coils).step_by(MAX_GROUPS * together) {
            let some = (coils - first).min(MAX_GROUPS * together);
            let arguments = InterpolateArguments {
                points: points.points.address(),
                order: points.order.address(),
                parts: points.parts.address(),
                coefficients: self.coefficients.address(),
                grid: grid + (first * self.size.iter().product::<usize>() * complex) as u64,
                values: values.address + (first * values.coil_stride * complex) as u64,
                value_stride: values.coil_stride as i64,
                size: self.size.map(|n| n as i32),
                coils: some as i32,
            };
            let launch = Launch {
                grid: [points.part_count, some.div_ceil(together), 1],
                block: [THREADS, 1, 1],
                shared: self.interpolate_shared(),
            };
            // SAFETY: InterpolateArguments mirrors the kernel's struct; the rest by this function's contract.
            unsafe { self.kernels.interpolate.launch(stream, launch, &arguments)? };
        }
        Ok(())
    }
}
