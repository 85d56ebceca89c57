//! Fourier sums between voxels and the trajectory: what is asked of them.

use crate::cpu::buffer::zeros;
use crate::cpu::level::Level;
use crate::error::{Result, fail};
use crate::nufft::Settings;
use std::sync::Arc;

/// How Fourier sums are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a fast transform where it serves, else exactly.
    Auto,
    /// By a non-uniform fast Fourier transform.
    Fast,
    /// Term by term.
    Exact,
}

/// The options of Fourier sums.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fourier {
    pub(super) method: Method,
    /// Largest relative l2 error of the fast transform.
    pub(super) tolerance: f64,
    /// Of the fast transform's grid; None takes the fastest.
    pub(super) upsampling: Option<f64>,
    /// Exact sums may use a GPU's units for sine and cosine.
    pub(super) hardware_sines: bool,
}

/// What only exact sums can take into account.
#[derive(Clone, Debug, Default)]
pub(super) struct ExactTerms {
    /// Off-resonance: Hz at every voxel, and seconds of every sample.
    pub(super) field: Option<Arc<(Vec<f64>, Vec<f64>)>>,
    /// Places of the voxels, in voxels, `[voxel][axis]`, x first; None for the grid's own.
    pub(super) positions: Option<Arc<Vec<f64>>>,
}

impl ExactTerms {
    pub(super) fn are_present(&self) -> bool {
        self.field.is_some() || self.positions.is_some()
    }
}

/// Called with the part done.
pub(super) type Progress<'a> = &'a mut (dyn FnMut(f64) -> Result<()> + Send);

impl Fourier {
    pub(super) fn settings(&self, level: Level, grid: [usize; 3], samples: usize) -> Settings {
        let Self { tolerance, upsampling, .. } = *self;
        Settings { shape: grid, tolerance, upsampling, samples, level }
    }

    /// Whether sums are computed exactly.
    pub(super) fn is_exact(&self, exact_terms: &ExactTerms) -> Result<bool> {
        if self.method == Method::Fast && exact_terms.are_present() {
            fail!(
                NotConfigured,
                "a fast transform knows no field map and no voxel positions: options.method must be 0 (auto) or 2 (exact)"
            );
        }
        Ok(self.method == Method::Exact || exact_terms.are_present())
    }
}

/// Where the voxels of a grid are.
pub(super) fn places([nz, ny, nx]: [usize; 3], dims: usize) -> Result<Vec<f64>> {
    let mut out = zeros::<f64>(nz * ny * nx * dims)?;
    for (voxel, place) in out.chunks_exact_mut(dims).enumerate() {
        let at = [(voxel % nx, nx), (voxel / nx % ny, ny), (voxel / nx / ny, nz)];
        place.iter_mut().zip(at).for_each(|(p, (j, n))| *p = j as f64 - (n / 2) as f64);
    }
    Ok(out)
}
