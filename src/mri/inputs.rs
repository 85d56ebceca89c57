//! What a plan is given besides geometry and options: density weights, sensitivities, field, positions, penalties.

use super::array::read;
use super::cpu::engine::CpuEngine;
use super::density::{self, Density};
use super::engine::{Engine, Purpose, Scan, Solve};
use super::gpu::array::read_host as read_gpu;
use super::gpu::engine::GpuEngine;
use super::matrix::Matrix;
use super::penalty::Penalty;
use super::plan::{Array, MAX_SIDE, Mri, each};
use super::toeplitz::differences;
use super::transform::{ExactTerms, Fourier, Method};
use crate::context::{Context, LogLevel, NanPolicy};
use crate::cpu::buffer::{Buffer, collected, filled};
use crate::error::{Result, fail};
use crate::solve::Stop;
use rustfft::num_complex::Complex;
use std::sync::Arc;

impl Mri {
    /// Copies an array to the host, wherever it is, and counts what was replaced.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub(super) unsafe fn fetch<const N: usize>(
        &mut self,
        from: &Array<N>,
        name: &str,
        policy: NanPolicy,
    ) -> Result<Buffer<Complex<f64>>> {
        let (context, mut replaced) = (&self.context, 0);
        let values = match self.gpus().first().filter(|_| from.gpu.is_some()) {
            // SAFETY: by this function's contract.
            Some(gpu) => unsafe { read_gpu(gpu, self.stream(), from, name, policy, &mut replaced) },
            // SAFETY: as above.
            None => context.install(|| unsafe { read(from, name, policy, &mut replaced) }),
        };
        self.replaced = replaced;
        values
    }

    /// The same of real numbers.
    ///
    /// # Safety
    /// As for `fetch`.
    unsafe fn fetch_reals<const N: usize>(
        &mut self,
        from: &Array<N>,
        name: &str,
        policy: NanPolicy,
    ) -> Result<Vec<f64>> {
        // SAFETY: by this function's contract.
        let values = unsafe { self.fetch(from, name, policy) }?;
        collected(values.iter().map(|v| v.re))
    }

    /// Values of a trajectory, for [`super::Trajectory::new`].
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn read_trajectory(&mut self, from: &Array<2>) -> Result<Vec<f64>> {
        // SAFETY: by this function's contract.
        unsafe { self.fetch_reals(from, "trajectory", NanPolicy::Error) }
    }

    /// Sets density weights, one a sample; None for 1.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_weights(&mut self, weights: Option<&Array<1>>) -> Result<()> {
        let policy = self.context.nan_policy();
        let Some(weights) = weights else { return self.keep_weights(None) };
        // SAFETY: by this function's contract.
        let values = unsafe { self.fetch_reals(weights, "weights", policy) }?;
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
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.set_weights(values)))
    }

    /// Finds density weights and sets them.
    pub fn compute_weights(&mut self, density: Density) -> Result<()> {
        let context = self.context.clone();
        // Weights need no more than a few digits.
        let fourier = Fourier { method: Method::Fast, tolerance: 1e-4, ..self.fourier()? };
        let (trajectory, grid) = each!(&self.plan()?.engine, e => (e.scan().trajectory.clone(), e.scan().grid));
        let values = match density {
            Density::Radial(readout) => {
                let (weights, remark) = density::radial(readout, &trajectory)?;
                if let Some(remark) = remark {
                    context.log(LogLevel::Warning, || remark);
                }
                weights
            }
            Density::Iterative(iterations) => {
                // Both voxels of a difference are anywhere in the field of view: it reaches over twice of that.
                let mut scan = Scan::new(differences(grid), 1, trajectory);
                scan.mapped = true;
                match context.gpus().first() {
                    None => iterative(CpuEngine::<f32>::new(context.level(), scan), &context, iterations, &fourier)?,
                    Some(gpu) => {
                        iterative(GpuEngine::<f32>::new(&context, gpu, scan)?, &context, iterations, &fourier)?
                    }
                }
            }
        };
        self.keep_weights(Some(values))
    }

    /// Copies the density weights out, 1 if none were set.
    ///
    /// # Safety
    /// The array is writable for the call.
    pub unsafe fn copy_weights(&mut self, to: &Array<1>) -> Result<()> {
        let values = each!(&self.plan()?.engine, e => match &e.scan().weights {
            Some(w) => collected(w.iter().map(|w| Complex::new(*w, 0.0))),
            None => filled(e.scan().samples(), Complex::new(1.0, 0.0)),
        })?;
        // SAFETY: by this function's contract.
        unsafe { self.store(&values, to) }
    }

    /// Sets coil sensitivities `[coil][z][y][x]`; None for none.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_maps(&mut self, maps: Option<&Array<4>>) -> Result<()> {
        let context = self.context.clone();
        let policy = context.nan_policy();
        self.replaced = each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| {
            let maps = match maps {
                // SAFETY: by this function's contract.
                Some(m) => Some(unsafe { e.read(m, "maps", policy) }?),
                None => None,
            };
            e.verify()?;
            e.set_maps(maps);
            Ok(e.replaced())
        }))?;
        Ok(())
    }

    fn set_exact_terms(&mut self, change: impl FnOnce(&mut ExactTerms)) -> Result<()> {
        each!(&mut self.plan_mut()?.engine, e => {
            let mut terms = e.scan().exact_terms.clone();
            change(&mut terms);
            e.set_exact_terms(terms);
        });
        Ok(())
    }

    /// Sets off-resonance in Hz `[z][y][x]` and the time of each sample in seconds; None for none.
    ///
    /// # Safety
    /// The arrays are readable for the call.
    pub unsafe fn set_field(&mut self, field: Option<(&Array<3>, &Array<1>)>) -> Result<()> {
        let policy = self.context.nan_policy();
        let field = match field {
            Some((hertz, seconds)) => {
                // SAFETY: by this function's contract.
                let hertz = unsafe { self.fetch_reals(hertz, "field", policy) }?;
                let replaced = self.replaced;
                // SAFETY: as above.
                let seconds = unsafe { self.fetch_reals(seconds, "times", policy) }?;
                self.replaced += replaced;
                Some(Arc::new((hertz, seconds)))
            }
            None => None,
        };
        self.set_exact_terms(|terms| terms.field = field)
    }

    /// Sets where the voxels are, `[z][y][x][axis]`, x first, in voxels from the middle; None for the grid's own places.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_positions(&mut self, positions: Option<&Array<4>>) -> Result<()> {
        let policy = self.context.nan_policy();
        let values = match positions {
            // SAFETY: by this function's contract.
            Some(p) => Some(unsafe { self.fetch_reals(p, "positions", policy) }?),
            None => None,
        };
        if let Some((i, r)) = values.iter().flatten().enumerate().find(|(_, r)| r.abs() > MAX_SIDE as f64) {
            fail!(OutOfRange, "positions has {r} at element {i}; it must be within +-{MAX_SIDE} voxels");
        }
        self.set_exact_terms(|terms| terms.positions = values.map(Arc::new))
    }

    /// Weights of the differences penalty, `[axis][z][y][x]`, x first; None for 1.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_difference_weights(&mut self, weights: Option<&Array<4>>) -> Result<()> {
        let context = self.context.clone();
        let squared = match weights {
            Some(w) => {
                // SAFETY: by this function's contract.
                let mut values = unsafe { self.fetch_reals(w, "difference weights", context.nan_policy()) }?;
                values.iter_mut().for_each(|w| *w *= *w);
                Some(values)
            }
            None => None,
        };
        each!(&mut self.plan_mut()?.engine, e => e.within(&context, |e| e.set_difference_weights(squared.as_deref())))
    }

    /// The caller's R as compressed sparse rows.
    ///
    /// # Safety
    /// The array is readable for the call.
    pub unsafe fn set_matrix(&mut self, starts: &[i64], columns: &[i64], values: &Array<1>) -> Result<()> {
        let context = self.context.clone();
        // SAFETY: by this function's contract.
        let values = unsafe { self.fetch(values, "matrix values", context.nan_policy()) }?;
        each!(&mut self.plan_mut()?.engine, e => {
            let matrix = Matrix::new(starts, columns, &values, e.scan().voxels())?;
            e.within(&context, |e| e.set_matrix(matrix))
        })
    }
}

/// Density weights by an engine for this alone.
fn iterative<E: Engine>(mut engine: E, context: &Context, iterations: usize, fourier: &Fourier) -> Result<Vec<f64>> {
    // What pairs of transforms need.
    let stop = Stop { iterations: 0, tolerance: 0.0 };
    let pairs = Solve {
        stop,
        lambda: 0.0,
        penalty: Penalty::Identity,
        toeplitz: false,
        warm_start: false,
        purpose: Purpose::Transform,
    };
    engine.run(context, |e, job| {
        e.check_memory(context, fourier, &pairs)?;
        density::iterative(iterations, e, fourier, job)
    })
}
