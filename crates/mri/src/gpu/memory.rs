//! How much of the GPU's memory a solution takes, and how much of it a call may work in.

use super::q::Q;
use super::sums::SumsBytes;
use super::transform::transform_bytes;
use crate::convolutions::Convolutions;
use crate::engine::{Scan, Solve};
use crate::transform::{Effects, Fourier};
use isocenter_base::context::Context;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Queue, WorkspaceBytes};
use isocenter_nufft::Scalar;

/// A plan's estimates, which take time to make, and what the present call may take.
#[derive(Debug)]
pub(super) struct Budget {
    /// Of the transform, once it is known.
    transform: Option<SumsBytes>,
    /// Of the transform that makes Q, once it is known.
    making_q: Option<SumsBytes>,
    /// Bytes that were needed last, and those that there were.
    cap: Option<(u64, u64)>,
    /// Bytes that the present call may take for transforms and what they work in.
    for_transforms: u64,
}

/// Bytes of a solution's vectors.
pub(super) fn vector_bytes<T: Scalar>(scan: &Scan, solve: &Solve) -> u64 {
    let (unknowns, samples) = ((scan.unknowns() * solve.frames) as u64, scan.samples() as u64);
    let solver = solve.purpose.vectors(scan.problems(), 5 + solve.solver.more_vectors(scan.grid));
    let images = scan.problems() as u64 * if solve.warm_start { 2 } else { 1 } + solver;
    let held = if solve.holds_samples { scan.coils as u64 } else { 0 };
    let coils = held + scan.coils_per_problem() as u64 * u64::from(!solve.toeplitz) + solve.solver.more_coils();
    // What shots see: of one image and its product, or of all.
    let seen = (scan.by_shots(scan.problems() * scan.unknowns()) + scan.by_shots(scan.unknowns())) as u64;
    T::PRECISION.complex() as u64 * (images * unknowns + seen + coils * samples + solve.besides)
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { transform: None, making_q: None, cap: None, for_transforms: u64::MAX }
    }

    /// For other transforms.
    pub(super) fn forget_transforms(&mut self) {
        (self.transform, self.making_q) = (None, None);
    }

    /// Bytes that the transform holds.
    pub(super) fn transform_held<T: Scalar>(&mut self, queue: &Queue, scan: &Scan, fourier: &Fourier) -> Result<u64> {
        Ok(self.of_transform::<T>(queue, scan, fourier)?.held)
    }

    fn of_transform<T: Scalar>(&mut self, queue: &Queue, scan: &Scan, fourier: &Fourier) -> Result<SumsBytes> {
        let Scan { grid, trajectory, effects, coils, .. } = scan;
        let transform = match self.transform {
            Some(bytes) => bytes,
            None => transform_bytes::<T>(fourier, queue, *grid, (trajectory, effects), *coils)?,
        };
        self.transform = Some(transform);
        Ok(transform)
    }

    /// Bytes that transforms hold and work in; with Q what its products take, too, and what makes it unless it is there.
    pub(super) fn workspace_bytes<T: Scalar>(
        &mut self,
        queue: &Queue,
        scan: &Scan,
        fourier: &Fourier,
        q: Option<&Convolutions>,
        has_q: bool,
    ) -> Result<WorkspaceBytes> {
        let Scan { trajectory, .. } = scan;
        let transform = self.of_transform::<T>(queue, scan, fourier)?;
        let mut bytes = transform.workspace;
        if let Some(of) = q {
            bytes = bytes.max(Q::<T>::workspace_bytes(scan.coils_per_problem(), of));
        }
        if let Some(of) = q.filter(|_| !has_q) {
            let making = match self.making_q {
                Some(bytes) => bytes,
                None => {
                    let no_terms = Effects::default();
                    transform_bytes::<T>(&of.fourier, queue, of.grids.differences, (trajectory, &no_terms), 1)?
                }
            };
            self.making_q = Some(making);
            let ones = (scan.samples() * T::PRECISION.complex()) as u64;
            bytes = bytes.max(making.workspace.plus(making.held + ones + Q::<T>::bytes_while_made(of.grids)));
        }
        Ok(bytes.plus(transform.held))
    }

    /// An error unless there are `fixed` bytes and the minimum of working memory; else the call may take all that there is.
    /// `held`: bytes of the transform and of the trajectory, which the pool knows nothing of.
    pub(super) fn check(
        &mut self,
        context: &Context,
        queue: &Queue,
        (fixed, workspace): (u64, WorkspaceBytes),
        held: u64,
    ) -> Result<()> {
        let needed = fixed + workspace.minimum;
        // To ask the driver takes as long as a small transform.
        let cap = match self.cap {
            Some((for_these, cap)) if for_these == needed => cap,
            _ => context.gpu_memory(&queue.device, queue.pool.bytes() + held)?,
        };
        // After a failure it is asked again: others may have given memory back.
        self.cap = (needed <= cap).then_some((needed, cap));
        if needed > cap {
            fail!(MemoryCap, "gpu_memory_cap is {cap} bytes; this needs at least {needed}");
        }
        self.for_transforms = cap - fixed;
        queue.pool.limit(cap.saturating_sub(held));
        Ok(())
    }

    /// Bytes that a transform may work in, when so many are taken.
    pub(super) fn available(&self, taken: u64) -> u64 {
        self.for_transforms.saturating_sub(taken)
    }
}
