//! What a plan keeps of its geometry from call to call, because it takes longer to make than an iteration.

use super::norms::Norms;
use crate::band_limited::BandLimited;
use crate::toeplitz::Toeplitz;
use isocenter_base::error::Result;
use std::sync::{Arc, Mutex, PoisonError};

/// The convolution of a band-limited pair, and norms of a pair inside a circle.
#[derive(Default)]
pub(crate) struct Kept {
    convolution: Mutex<Option<(BandLimited, Arc<Toeplitz>)>>,
    norms: Mutex<Option<(Normed, Norms)>>,
}

/// Which pair's norms: None is Joseph's; the circle's radius; and whether smooth components count less.
pub(super) type Normed = (Option<BandLimited>, f64, bool);

impl Kept {
    /// The convolution, which `make` makes where it is not there.
    pub(super) fn convolution(
        &self,
        of: BandLimited,
        make: impl FnOnce() -> Result<Toeplitz>,
    ) -> Result<Arc<Toeplitz>> {
        let mut kept = self.convolution.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, toeplitz)) = &*kept
            && *known == of
        {
            return Ok(toeplitz.clone());
        }
        // Never two at a time.
        *kept = None;
        let toeplitz = Arc::new(make()?);
        *kept = Some((of, toeplitz.clone()));
        Ok(toeplitz)
    }

    pub(super) fn norms(&self, of: Normed) -> Option<Norms> {
        let kept = self.norms.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().filter(|(known, _)| *known == of).map(|(_, norms)| *norms)
    }

    pub(super) fn keep_norms(&self, of: Normed, norms: Norms) {
        *self.norms.lock().unwrap_or_else(PoisonError::into_inner) = Some((of, norms));
    }
}
