//! Plans of rustfft, which is generic: what becomes of it for f32 and f64 is compiled here, once. The library would compile it with itself,
//! and again with its unit tests, an eighth of all there is. Tests are those of the library.

use rustfft::{Fft, FftDirection, FftNum, FftPlanner};
use std::sync::Arc;

/// f32 and f64.
pub trait Planned: FftNum {
    #[doc(hidden)]
    fn planner() -> Planner<Self>;
}

/// As [`rustfft::FftPlanner`]: plans of one planner share what they can.
pub struct Planner<T>(Box<dyn FnMut(usize, FftDirection) -> Arc<dyn Fft<T>>>);

impl<T: Planned> Planner<T> {
    /// Without plans.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        T::planner()
    }

    /// Transforms of `length`, not scaled.
    pub fn plan_fft(&mut self, length: usize, direction: FftDirection) -> Arc<dyn Fft<T>> {
        (self.0)(length, direction)
    }

    /// The same with `exp(-2 pi i j k / length)`.
    pub fn plan_fft_forward(&mut self, length: usize) -> Arc<dyn Fft<T>> {
        self.plan_fft(length, FftDirection::Forward)
    }

    /// The same with `exp(2 pi i j k / length)`.
    pub fn plan_fft_inverse(&mut self, length: usize) -> Arc<dyn Fft<T>> {
        self.plan_fft(length, FftDirection::Inverse)
    }
}

macro_rules! planned {
    ($number:ty) => {
        impl Planned for $number {
            // Not where it is called, or all that it needs would be compiled there.
            #[inline(never)]
            fn planner() -> Planner<Self> {
                let mut planner = FftPlanner::new();
                Planner(Box::new(move |length, direction| planner.plan_fft(length, direction)))
            }
        }
    };
}
planned!(f32);
planned!(f64);
