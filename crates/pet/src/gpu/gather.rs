//! Launches `kernels/pet/gather.cu`: projections by blocks of voxels.

use super::arranged::{Arranged, Kind, Places, Plan};
use super::finish::Finish;
use crate::direction::Direction;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Function, Image, Launch, Lent, Queue, mirrored};

const IMAGE: &Image = &crate::images::GATHER;

/// Mirrors `Expand` in `kernels/pet/tables.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Expand {
    columns: u64,
    offsets: u64,
    values: u64,
    weights: u64,
    count: i64,
    kernel: i32,
    identifiers: i32,
}
mirrored!(Expand, 48);

/// A view's kernels.
#[derive(Debug)]
pub(super) struct Gather {
    plan: Plan,
    memory: Lent,
    places: Places,
    columns: usize,
    identifiers: usize,
    /// Values of a kernel that weights are made of.
    kernel: usize,
    /// Of one direction; 0 where there is one kernel.
    weight_bytes: usize,
    /// Of adjoint and forward, if they are kept.
    weights: Option<[Lent; 2]>,
    /// Of adjoint and forward; those that make weights, where there are several kernels.
    kernels: [Function; 2],
    expand: Option<[Function; 2]>,
}

impl Gather {
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn new(queue: &Queue, from: &Arranged, keep: bool) -> Result<Self> {
        let Arranged { plan, parts, places, kind, columns, identifiers, kernel, weight_bytes } = from;
        let functions = |image, [adjoint, forward]: [&str; 2]| -> Result<[Function; 2]> {
            Ok([queue.device.function(image, adjoint)?, queue.device.function(image, forward)?])
        };
        let kernels = functions(IMAGE, kind.kernels())?;
        let expand = match kind {
            Kind::Same => None,
            Kind::Factored | Kind::Whole => {
                Some(functions(&crate::images::TABLES, ["tables_of_sum", "tables_of_data"])?)
            }
        };
        let mut made = Self {
            plan: *plan,
            memory: queue.upload(parts.bytes())?,
            places: *places,
            columns: *columns,
            identifiers: *identifiers,
            kernel: *kernel,
            weight_bytes: *weight_bytes as usize,
            weights: None,
            kernels,
            expand,
        };
        if let (true, Some(expand)) = (keep, &made.expand) {
            // SAFETY: by this function's contract.
            made.weights = Some(unsafe { [made.expand(queue, &expand[0])?, made.expand(queue, &expand[1])?] });
        }
        Ok(made)
    }

    pub(super) fn bytes(&self) -> u64 {
        let weights = self.weights.iter().flatten().map(|w| w.bytes() as u64).sum::<u64>();
        self.memory.bytes() as u64 + weights
    }

    /// Whether launches need no memory of the pool.
    pub(super) fn is_complete(&self) -> bool {
        self.weight_bytes == 0 || self.weights.is_some()
    }

    fn at(&self, place: usize) -> u64 {
        self.memory.address() + place as u64
    }

    /// Weights in the order of the steps.
    ///
    /// # Safety
    /// The GPU is current.
    unsafe fn expand(&self, queue: &Queue, kernel: &Function) -> Result<Lent> {
        let weights = queue.pool.take(self.weight_bytes)?;
        let Places { columns, offsets, values, .. } = self.places;
        let arguments = Expand {
            columns: self.at(columns),
            offsets: self.at(offsets),
            values: self.at(values),
            weights: weights.address(),
            count: self.columns as i64,
            kernel: self.kernel as i32,
            identifiers: self.identifiers as i32,
        };
        // SAFETY: the struct mirrors the kernel's; memory of these sizes, which stays in the pool.
        unsafe { queue.launch_each(kernel, self.weight_bytes / 16, &arguments)? };
        Ok(weights)
    }

    /// # Safety
    /// Volumes of the shape that this was made for, in use by the queue's stream alone; the GPU is current.
    pub(super) unsafe fn launch(&self, queue: &Queue, direction: Direction, input: u64, to: Finish) -> Result<()> {
        let k = direction as usize;
        // Goes back to the pool with the launch under way, whose stream later users follow.
        let made;
        let weights = match (&self.weights, &self.expand) {
            (Some(weights), _) => weights[k].address(),
            (None, Some(expand)) => {
                // SAFETY: by this function's contract.
                made = unsafe { self.expand(queue, &expand[k])? };
                made.address()
            }
            (None, None) => 0,
        };
        let Places { groups, axial, map, records, columns, .. } = self.places;
        let arguments = self.plan.arguments.with(
            [input, weights],
            [self.at(records[k]), self.at(columns), self.at(map), self.at(groups), self.at(axial)],
            to,
        );
        let launch =
            Launch { grid: [self.plan.blocks, 1, 1], block: [self.plan.threads, 1, 1], shared: self.plan.shared };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { self.kernels[k].launch(&queue.stream, launch, &arguments) }
    }
}
