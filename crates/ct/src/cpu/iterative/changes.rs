//! The changes that methods make to vectors' elements: y is changed by x, s is what all slices share there, f the slice's factor.

use super::pointwise::{Change, NOTHING, without_smallest};

/// y = s (x - y); the sum of s (x - y)^2.
pub(super) struct Residual;
/// y = x / y; the sum of the Kullback-Leibler divergence.
pub(super) struct Ratio;
/// y = x / y - 1; the sum of the Kullback-Leibler divergence.
pub(super) struct Slope;
/// y = -y; the sum of -x ln(1 - y), where s is not 0.
pub(super) struct Conjugate;
/// y = f y - x
pub(super) struct Beyond;
/// y = (1 + y - sqrt((1 - y)^2 + 4 f x)) / 2, 0 where s is: the next dual of Poisson's law.
pub(super) struct Counted;
/// y = y - f (x + y)
pub(super) struct Oppose;
/// y = y + f x; the sum of y^2.
pub(super) struct Add;
/// The sum of (x - y)^2.
pub(super) struct Distance;
/// The sum of x - y.
pub(super) struct Difference;
/// y = y x
pub(super) struct Times;
/// y = exp(-x / 2), 1 at most: the root of a ray's weight.
pub(super) struct Transmission;
/// The sum of x y.
pub(super) struct Inner;
/// y = y + f (x - y), to the bit where f is 1.
pub(super) struct Blend;
/// y = x + f y
pub(super) struct Turn;
/// y = s (y + f x); the sum of y^2.
pub(super) struct Descend;
/// y = y + step s x within bounds
pub(super) struct Relax {
    pub(super) step: f32,
    pub(super) bounds: [f32; 2],
}
/// y = y s x within bounds
pub(super) struct Multiply {
    pub(super) bounds: [f32; 2],
}

impl Change for Residual {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, _: f32) -> [f32; 2] {
        let apart = x - *y;
        *y = shared * apart;
        [*y, apart]
    }
}

impl Change for Ratio {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, _: f32) -> [f32; 2] {
        let expected = *y;
        if expected <= 0.0 || shared == 0.0 {
            *y = 0.0;
            // No image that has nothing there is a possible one.
            return [if x > 0.0 && shared != 0.0 { f32::INFINITY } else { 0.0 }, 1.0];
        }
        *y = x / expected;
        // x ln(x / e) - x + e, whose limit at x = 0 is e.
        [if x > 0.0 { x * y.ln() - x + expected } else { expected }, 1.0]
    }
}

impl Change for Times {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, _: f32) -> [f32; 2] {
        *y *= x;
        NOTHING
    }
}

impl Change for Transmission {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, _: f32) -> [f32; 2] {
        *y = (-0.5 * x.max(0.0)).exp();
        NOTHING
    }
}

impl Change for Inner {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, _: f32) -> [f32; 2] {
        [x, *y]
    }
}

impl Change for Slope {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, _: f32) -> [f32; 2] {
        let expected = *y;
        if shared == 0.0 {
            *y = 0.0;
            return NOTHING;
        }
        if expected <= 0.0 {
            *y = -1.0;
            return [if x > 0.0 { f32::INFINITY } else { 0.0 }, 1.0];
        }
        let ratio = x / expected;
        *y = ratio - 1.0;
        [if x > 0.0 { x * ratio.ln() - x + expected } else { expected }, 1.0]
    }
}

impl Change for Conjugate {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, _: f32) -> [f32; 2] {
        let q = *y;
        *y = if shared == 0.0 { 0.0 } else { -q };
        if shared == 0.0 || x <= 0.0 { NOTHING } else { [-x, (1.0 - q).ln()] }
    }
}

impl Change for Beyond {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, factor: f32) -> [f32; 2] {
        *y = factor * *y - x;
        NOTHING
    }
}

impl Change for Counted {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, factor: f32) -> [f32; 2] {
        let a = 1.0 - *y;
        let root = (a * a + 4.0 * factor * x).sqrt();
        // Without a difference of numbers that are nearly alike.
        let left = if a >= 0.0 { 0.5 * (a + root) } else { 2.0 * factor * x / (root - a) };
        *y = if shared == 0.0 { 0.0 } else { 1.0 - left };
        NOTHING
    }
}

impl Change for Oppose {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, factor: f32) -> [f32; 2] {
        *y -= factor * (x + *y);
        NOTHING
    }
}

impl Change for Add {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, factor: f32) -> [f32; 2] {
        *y += factor * x;
        [*y; 2]
    }
}

impl Change for Distance {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, _: f32) -> [f32; 2] {
        [x - *y; 2]
    }
}

impl Change for Difference {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, _: f32) -> [f32; 2] {
        [x - *y, 1.0]
    }
}

impl Change for Blend {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, factor: f32) -> [f32; 2] {
        *y = if factor == 1.0 { x } else { *y + factor * (x - *y) };
        NOTHING
    }
}

impl Change for Turn {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, _: f32, factor: f32) -> [f32; 2] {
        *y = x + factor * *y;
        NOTHING
    }
}

impl Change for Descend {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, factor: f32) -> [f32; 2] {
        *y = shared * (*y + factor * x);
        [*y; 2]
    }
}

impl Change for Relax {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, _: f32) -> [f32; 2] {
        // No pixel that no ray meets, and none outside the mask, leaves what it is.
        let moved = (*y + self.step * shared * x).max(self.bounds[0]).min(self.bounds[1]);
        *y = if shared == 0.0 { *y } else { moved };
        NOTHING
    }
}

impl Change for Multiply {
    #[inline(always)]
    fn apply(&self, y: &mut f32, x: f32, shared: f32, _: f32) -> [f32; 2] {
        // A pixel that no ray of this subset meets waits for another's.
        let moved = without_smallest(*y * shared * x).max(self.bounds[0]).min(self.bounds[1]);
        *y = if shared == 0.0 { *y } else { moved };
        NOTHING
    }
}
