//! Which spreading function and fine grid serve a tolerance in the least time.

use super::kernel::{Kernel, UPSAMPLING, smooth};
use super::settings::Settings;
use isocenter_base::cpu::simd::Real;
use isocenter_base::error::{Result, fail};

/// What is tried as a rule, in rising order.
pub(super) const UPSAMPLINGS: [f64; 6] = [1.25, 1.4, 1.5, 1.5625, 1.6875, 2.0];

/// The kernel and the fine grid's lengths that cost the least, or those of the upsampling that is asked for. `upsamplings` are tried, in
/// rising order. `cost` is None for
/// what cannot be computed.
pub(super) fn choose<T: Real>(
    settings: &Settings,
    upsamplings: &[f64],
    cost: impl Fn(&Kernel, [usize; 3]) -> Option<f64>,
) -> Result<(Kernel, [usize; 3])> {
    if let Some(upsampling) = settings.upsampling {
        let (kernel, len) = with_upsampling::<T>(settings, upsampling)?;
        if cost(&kernel, len).is_none() {
            let (shape, width) = (settings.shape, kernel.width());
            fail!(
                OutOfRange,
                "a spreading function of width {width} on a fine grid of {len:?} points, for an image of {shape:?} with upsampling {upsampling}, is beyond this processor's kernels"
            );
        }
        return Ok((kernel, len));
    }
    let mut best: Option<(f64, Kernel, [usize; 3])> = None;
    let mut refusal = Ok(());
    for &upsampling in upsamplings {
        match with_upsampling::<T>(settings, upsampling) {
            // What the last one, which has the longest grid, cannot reach, none can.
            Err(e) => refusal = Err(e),
            Ok((kernel, len)) => {
                let Some(cost) = cost(&kernel, len) else { continue };
                if best.as_ref().is_none_or(|(lowest, ..)| cost < *lowest) {
                    best = Some((cost, kernel, len));
                }
            }
        }
    }
    match best {
        Some((_, kernel, len)) => Ok((kernel, len)),
        None => {
            refusal?;
            let Settings { shape, tolerance, .. } = settings;
            fail!(
                OutOfRange,
                "an image of {shape:?} to a tolerance of {tolerance:e} is beyond this processor's kernels"
            );
        }
    }
}

/// The shortest kernel, with a fine grid at least `upsampling` times as long as the image.
fn with_upsampling<T: Real>(settings: &Settings, upsampling: f64) -> Result<(Kernel, [usize; 3])> {
    if !UPSAMPLING.contains(&upsampling) {
        let (low, high) = UPSAMPLING.into_inner();
        fail!(OutOfRange, "upsampling is {upsampling}; it must be {low} to {high}");
    }
    // Good sizes are a little longer than asked for: what they all have more serves the kernel.
    let split = 3 - settings.dims();
    let ratio = |n: &usize| smooth((*n as f64 * upsampling - 1e-9).ceil() as usize) as f64 / *n as f64;
    let shortest = settings.shape[split..].iter().map(ratio).fold(*UPSAMPLING.end(), f64::min);
    let kernel = Kernel::new(settings.tolerance, shortest, settings.dims(), T::UNIT)?;
    let mut len = settings.shape;
    for n in &mut len[split..] {
        *n = kernel.grid_size(*n);
    }
    Ok((kernel, len))
}
