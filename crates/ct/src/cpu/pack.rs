//! From planar rows (one slice after another) to packed rows (all slices of a sample together), and back.

/// Sums and volumes are interleaved in runs of this many samples, which keeps both sides in the first-level cache.
const RUN: usize = 16;

/// `to[k * lanes + s] = scale * from[s * samples + k]`; slices beyond those in `from` are left as they are.
pub(super) fn interleave(from: &[f32], samples: usize, lanes: usize, scale: f32, to: &mut [f32]) {
    if lanes == 1 {
        to.iter_mut().zip(from).for_each(|(t, f)| *t = f * scale);
        return;
    }
    for (run, to) in to[..samples * lanes].chunks_mut(RUN * lanes).enumerate() {
        for (s, slice) in from.chunks_exact(samples).enumerate() {
            let slice = &slice[run * RUN..samples.min((run + 1) * RUN)];
            for (t, f) in to.chunks_exact_mut(lanes).zip(slice) {
                t[s] = f * scale;
            }
        }
    }
}

/// `to[k] = scale * from[k * lanes + slice]`.
pub(super) fn extract(from: &[f32], lanes: usize, slice: usize, scale: f32, to: &mut [f32]) {
    for (t, f) in to.iter_mut().zip(from.chunks_exact(lanes)) {
        *t = f[slice] * scale;
    }
}

/// Samples that [`oversample`] makes of a bin.
pub(super) const SAMPLES_A_BIN: usize = 4;

/// Length of an oversampled row, and where bin 0 lies in it: the outermost samples lie between the edge bins and the zeros
/// beyond them.
pub(super) fn oversampled(bins: usize) -> (usize, usize) {
    (SAMPLES_A_BIN * bins + SAMPLES_A_BIN - 1, SAMPLES_A_BIN - 1)
}

/// Four samples a bin by linear interpolation, zero outside.
pub(super) fn oversample(bins: &[f32], to: &mut [f32]) {
    let mut left = 0.0;
    for (k, to) in to.chunks_mut(SAMPLES_A_BIN).enumerate() {
        let right = bins.get(k).copied().unwrap_or(0.0);
        for (i, t) in to.iter_mut().enumerate() {
            let at = (i + 1) as f32 / SAMPLES_A_BIN as f32;
            *t = left + (right - left) * at;
        }
        left = right;
    }
}
