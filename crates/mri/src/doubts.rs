//! A doubt about samples: that they lost their imaginary parts.

use isocenter_base::array::Array;
use isocenter_base::cpu::parallel::*;
use rustfft::num_complex::Complex;

/// Fewer samples say nothing.
const MIN_SAMPLES: usize = 100;

/// Whether samples in host memory are real numbers, not all of one value (of which a point spread function is made). Of measured ones
/// the first says that they are not.
pub(super) fn are_real(samples: &Array<2>) -> bool {
    let layout = samples.layout();
    let [coils, count] = layout.shape;
    if layout.gpu.is_some() || coils * count <= MIN_SAMPLES {
        return false;
    }
    const BLOCK: usize = 1 << 10;
    let blocks = count.div_ceil(BLOCK);
    let block = |k: usize| {
        let first = k % blocks * BLOCK;
        let mut values = vec![Complex::new(0.0f64, 0.0); BLOCK.min(count - first)];
        samples.read_row([k / blocks, first], &mut values);
        values
    };
    let all = |is: &(dyn Fn(&Complex<f64>) -> bool + Sync)| {
        (0..coils * blocks).into_par_iter().all(|k| block(k).iter().all(is))
    };
    let value = block(0)[0].re;
    all(&|v| v.im == 0.0) && !all(&|v| v.re == value)
}
