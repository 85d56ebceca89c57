//! From transmissions to line integrals.

use isocenter_base::cpu::elementary::ln_single;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};

/// -ln of values, none of them below `minimum`.
pub(super) fn logarithm(values: &mut [f32], minimum: f32, level: Level) {
    vectorised(level, Logarithm { values, minimum });
}

struct Logarithm<'a> {
    values: &'a mut [f32],
    minimum: f32,
}

impl Plain for Logarithm<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.values.iter_mut().for_each(|v| *v = line_integral(*v, self.minimum));
    }
}

/// Of one transmission; NaN is taken for the minimum.
#[inline(always)]
pub(super) fn line_integral(transmission: f32, minimum: f32) -> f32 {
    -ln_single(if transmission > minimum { transmission } else { minimum })
}
