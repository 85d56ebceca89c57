//! Readouts of a Cartesian scan between k-space, frequency 0 at floor(n / 2), and position, 0 at floor(n / 2).

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use isocenter_fft::Planner;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;

/// Transforms rows of `n` in place, unitary: to positions by `Inverse`, exp(+2 pi i), to k-space by `Forward`.
pub(super) fn transform_rows(rows: &mut [Complex<f64>], n: usize, direction: FftDirection) -> Result<()> {
    let plan = Planner::<f64>::new().plan_fft(n, direction);
    let scale = 1.0 / (n as f64).sqrt();
    rows.par_chunks_exact_mut(n).with_min_len((1 << 12) / n.min(1 << 12)).try_for_each_init(
        || zeros(plan.get_inplace_scratch_len()),
        |scratch, row| {
            let scratch = scratch.as_mut().map_err(|e| e.clone())?;
            row.rotate_left(n / 2);
            plan.process_with_scratch(row, scratch);
            row.rotate_right(n / 2);
            row.iter_mut().for_each(|v| *v *= scale);
            Ok(())
        },
    )
}
