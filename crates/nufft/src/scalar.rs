//! f32 and f64 with the transforms' inner loops, which are compiled here, once for each, and not for every crate that transforms.

use super::cpu::interpolate::Interpolate;
use super::cpu::spread::Spread;
use isocenter_base::error::Result;
use isocenter_base::gpu::DeviceReal;
use rustfft::num_complex::Complex;

/// f32 or f64.
pub trait Scalar: DeviceReal {
    #[doc(hidden)]
    fn spread(spread: &Spread<Self>, values: &[Complex<Self>], grid: &mut [Complex<Self>]) -> Result<()>;
    #[doc(hidden)]
    fn interpolate(interpolate: &Interpolate<Self>, grid: &[Complex<Self>], values: &mut [Complex<Self>]);
}

macro_rules! scalar {
    ($real:ty) => {
        impl Scalar for $real {
            fn spread(spread: &Spread<Self>, values: &[Complex<Self>], grid: &mut [Complex<Self>]) -> Result<()> {
                spread.run(values, grid)
            }

            fn interpolate(interpolate: &Interpolate<Self>, grid: &[Complex<Self>], values: &mut [Complex<Self>]) {
                interpolate.run(grid, values);
            }
        }
    };
}

scalar!(f32);
scalar!(f64);
