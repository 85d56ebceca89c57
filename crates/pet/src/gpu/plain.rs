//! Launches `kernels/pet/plain.cu`: projections voxel by voxel, for kernels of any extent.

use super::array::Place;
use super::finish::Finish;
use super::parts::Parts;
use crate::direction::Direction;
use crate::tables::Tables;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Function, Lent, Queue, mirrored};

/// Mirrors `Plain`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    input: u64,
    offsets: u64,
    values: u64,
    map: u64,
    to: Finish,
    nx: i32,
    ny: i32,
    nz: i32,
    column: i32,
    count: i32,
    of_data: i32,
}
mirrored!(Arguments, 112);

/// A view's kernels as they are.
#[derive(Debug)]
pub(super) struct Plain {
    memory: Lent,
    offsets: u64,
    values: u64,
    map: u64,
    count: i32,
    kernel: Function,
}

impl Plain {
    /// What it has on the GPU.
    pub(super) fn parts(tables: &Tables) -> Result<(Parts, [usize; 3], usize)> {
        let full = tables.full()?;
        let mut parts = Parts::default();
        let offsets = parts.push_ints(full.offsets.iter().flat_map(|[x, y, z]| [*x, *y, *z, 0]));
        let values = parts.push_floats(&full.values);
        let map = parts.push_ints(tables.map().iter().flat_map(|a| [*a as i32, 0]));
        Ok((parts, [offsets, values, map], full.offsets.len()))
    }

    pub(super) fn new(queue: &Queue, parts: &Parts, places: [usize; 3], count: usize) -> Result<Self> {
        let memory = queue.upload(parts.bytes())?;
        let [offsets, values, map] = places.map(|p| memory.address() + p as u64);
        let Ok(count) = i32::try_from(count) else { fail!(SizeOverflow, "kernels of {count} voxels are too large") };
        let kernel = queue.device.function(&crate::images::PLAIN, "plain_gather")?;
        Ok(Self { memory, offsets, values, map, count, kernel })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.memory.bytes() as u64
    }

    /// Blocks of a launch, which each have a place in the tally.
    pub(super) fn blocks(queue: &Queue, [nz, ny, nx]: [usize; 3]) -> usize {
        queue.shape(nz * ny * nx).grid[0]
    }

    /// # Safety
    /// Volumes of this shape, in use by the queue's stream alone; the GPU is current.
    pub(super) unsafe fn launch(
        &self,
        queue: &Queue,
        Place { shape, column }: Place,
        direction: Direction,
        input: u64,
        to: Finish,
    ) -> Result<()> {
        // Sides are at most 4096.
        let [nz, ny, nx] = shape.map(|n| n as i32);
        let Self { offsets, values, map, count, .. } = *self;
        let (column, of_data) = (column as i32, i32::from(direction == Direction::Forward));
        let arguments = Arguments { input, offsets, values, map, to, nx, ny, nz, column, count, of_data };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { queue.launch_each(&self.kernel, shape.iter().product(), &arguments) }
    }
}
