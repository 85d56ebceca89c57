//! Fourier sums between voxels and the trajectory: what is asked of them.

use super::basis::Basis;
use super::segments::{Field, MAX_TURNS, Rates, Segments};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Settings;
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
    /// Largest relative l2 error of fast sums.
    pub(super) tolerance: f64,
    /// Of the fast transform's grid; None takes the fastest.
    pub(super) upsampling: Option<f64>,
    /// Exact sums may use a GPU's units for sine and cosine.
    pub(super) hardware_sines: bool,
}

/// What acts on sums besides grid and trajectory.
#[derive(Clone, Debug, Default)]
pub(super) struct Effects {
    pub(super) field: Option<Arc<Field>>,
    /// Places of the voxels, in voxels, `[voxel][axis]`, x first; None for the grid's own. Fast sums know none.
    pub(super) positions: Option<Arc<Vec<f64>>>,
    /// Of images that change while samples are taken.
    pub(super) basis: Option<Arc<Basis>>,
}

impl Effects {
    /// Whether sums themselves are others.
    pub(super) fn are_present(&self) -> bool {
        self.field.is_some() || self.positions.is_some()
    }

    /// Images that samples of a coil are of.
    pub(super) fn images(&self) -> usize {
        self.basis.as_ref().map_or(1, |basis| basis.images())
    }
}

/// A field taken out of sums, which become several without it.
pub(super) struct Taken {
    pub(super) segments: Segments,
    pub(super) field: Arc<Field>,
    /// How the sums that are left are computed, and what acts on them.
    pub(super) fourier: Fourier,
    pub(super) effects: Effects,
}

/// Called with the part done.
pub(super) type Progress<'a> = &'a mut (dyn FnMut(f64) -> Result<()> + Send);

/// Of the tolerance, for the sum of products and for the transforms in it: their errors are independent of each other.
pub(super) const SHARES: [f64; 2] = [0.7, 0.5];

impl Fourier {
    pub(super) fn settings(&self, level: Level, grid: [usize; 3], samples: usize) -> Settings {
        let Self { tolerance, upsampling, .. } = *self;
        Settings { shape: grid, tolerance, upsampling, samples, level }
    }

    /// Whether sums are computed exactly.
    pub(super) fn is_exact(&self, effects: &Effects) -> Result<bool> {
        let fast = self.method == Method::Fast;
        if fast && effects.positions.is_some() {
            fail!(
                NotConfigured,
                "a fast transform knows no voxel positions: options.method must be 0 (auto) or 2 (exact)"
            );
        }
        let turns = effects.field.as_ref().map_or(0.0, |field| field.turns());
        if fast && turns > MAX_TURNS {
            fail!(
                OutOfRange,
                "between its fastest and its slowest voxel the field turns {turns:.0} times while samples are taken; fast sums take {MAX_TURNS} times: are times in seconds, and is the field in Hz? Else options.method must be 0 (auto) or 2 (exact)"
            );
        }
        Ok(self.method == Method::Exact || effects.positions.is_some() || turns > MAX_TURNS)
    }

    /// The field as a sum of products, where sums are fast, and the decay where they are exact; None where sums have neither.
    pub(super) fn take_field(&self, effects: &Effects, round_off: f64) -> Result<Option<Taken>> {
        let Some(field) = &effects.field else { return Ok(None) };
        if !self.is_exact(effects)? {
            let segments = Segments::new(&Rates::of(field)?, &field.seconds, SHARES[0] * self.tolerance)?;
            let fourier = Self { tolerance: SHARES[1] * self.tolerance, ..*self };
            return Ok(Some(Taken { segments, field: field.clone(), fourier, effects: Effects::default() }));
        }
        let Some((decay, rest)) = field.apart()? else { return Ok(None) };
        let segments = Segments::new(&Rates::of(&decay)?, &decay.seconds, round_off)?;
        let effects = Effects { field: Some(Arc::new(rest)), ..effects.clone() };
        Ok(Some(Taken { segments, field: Arc::new(decay), fourier: *self, effects }))
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
