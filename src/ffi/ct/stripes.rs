//! How stripes are removed.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, count, read_struct};
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{MAX_SIDE, Stripes, Vo, Wavelet};

/// Of the longest sides.
const MAX_LEVELS: usize = (MAX_SIDE / 16).ilog2() as usize;

/// A way to remove stripes: what a bin of the detector does wrong in many views, and what becomes a ring in a slice.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_stripe_method {
    /// What stands out from noise, and nothing else: a bin's offset from what its neighbours say (a robust local parabola through the
    /// means over views) is taken off where noise cannot have made it; bins that are dead, that fluctuate, or that are off in a part of
    /// the views, are replaced by their neighbours. No parameters. Clean data stay as they are, to noise; fewer than 16 views or
    /// 16 bins stay altogether. Views are taken in their order for that of the scan.
    Significant = 0,
    /// N. T. Vo, R. C. Atwood, M. Drakopoulos, Optics Express 26, 28396 (2018): dead and fluctuating stripes (algorithm 6), large ones (5),
    /// the rest by sorting (3). Uses snr, large_window, small_window and drop_ratio.
    Vo = 1,
    /// Algorithm 3 of the same alone: each bin's values over views in rising order, a median over bins at each rank, and back. Uses
    /// small_window.
    Sorting = 2,
    /// S. Titarenko, P. J. Withers, A. Yagola, Applied Mathematics Letters 23, 1489 (2010): the offsets o, one a bin, that make the means
    /// m over views smooth: sum of ((m - o)(k + 1) - (m - o)(k))^2 + alpha sum of o(k)^2 smallest. Uses alpha.
    Regularised = 3,
    /// B. Munch, P. Trtik, F. Marone, M. Stampanoni, Optics Express 17, 8567 (2009): of each level's wavelet coefficients that are high
    /// along bins and low along views, frequency f along views (whole waves over the coefficients) is multiplied by
    /// 1 - exp(-f^2 / (2 sigma^2)). Before that the sinogram is padded by a tenth of its shorter side, 150 at most, on all sides: along
    /// views with each bin's mean, along bins with the value at the end. Uses levels, sigma and wavelet.
    WaveletFourier = 4,
}

/// How stripes are removed, from the line integrals of one detector row at a time. Set `struct_size` and zero the rest for the defaults.
/// What the method does not use is checked all the same.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_stripes {
    /// sizeof(isoc_ct_stripes).
    pub struct_size: u32,
    /// An isoc_ct_stripe_method.
    pub method: u32,
    /// How far a stripe stands out of what sorted values do, at least: above 1; larger finds fewer. 0 means 3.
    pub snr: f64,
    /// Bins of the median against large stripes: 2 to the detector's; 0 means 51, or all of fewer.
    pub large_window: i64,
    /// Bins of the median against small stripes: 2 to the detector's; 0 means 21, or all of fewer.
    pub small_window: i64,
    /// Part of a bin's values, its largest and smallest, that does not count towards its mean: 0 to 0.8; 0 means 0.1.
    pub drop_ratio: f64,
    /// What offsets weigh against steps: the smaller, the smoother means become; 1e-9 to 1e6; 0 means 5e-4.
    pub alpha: f64,
    /// How many frequencies along views are damped: 0.01 to 100; larger takes off stripes that change along views; 0 means 1.
    pub sigma: f64,
    /// Levels of the wavelet transform: a stripe is found that is up to 2^levels bins wide or so. The padded sinogram's shorter side
    /// over 2^levels must be 16 or more; 0 means 5, or as many as that allows (none below 32: the sinogram stays).
    pub levels: i64,
    /// Order of Daubechies' wavelet, half the number of its filters' coefficients: 1 to 20; 0 means 9.
    pub wavelet: i64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_stripes {
    const NAME: &'static str = "isoc_ct_stripes";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_stripes {
    fn to_stripes(self) -> Result<Stripes> {
        let or = |value: f64, default: f64| if value == 0.0 { default } else { value };
        let vo = Vo {
            snr: or(self.snr, 3.0),
            large: count(self.large_window, "stripes.large_window", 0, MAX_SIDE)?,
            small: count(self.small_window, "stripes.small_window", 0, MAX_SIDE)?,
            dropped: or(self.drop_ratio, 0.1),
        };
        let regularised = Stripes::Regularised(or(self.alpha, 5e-4));
        let wavelet = Stripes::Wavelet(Wavelet {
            levels: count(self.levels, "stripes.levels", 0, MAX_LEVELS)?,
            sigma: or(self.sigma, 1.0),
            order: if self.wavelet == 0 { 9 } else { count(self.wavelet, "stripes.wavelet", 1, 20)? },
        });
        wavelet.check()?;
        Stripes::Vo(vo).check()?;
        regularised.check()?;
        Ok(match self.method {
            0 => Stripes::Significant,
            1 => Stripes::Vo(vo),
            2 => Stripes::Sorting(vo.small),
            3 => regularised,
            4 => wavelet,
            v => fail!(UnknownValue, "stripes.method is {v}; it must be 0 to 4 (isoc_ct_stripe_method)"),
        })
    }
}

/// Removes stripes in `filter`, `reconstruct` and `reconstruct_stream`, after the flat field and the logarithm and before the filter
/// (with ISOC_CT_FILTER_NONE, isoc_ct_filter gives line integrals without stripes). NULL turns it off, as it is at first. It holds until set
/// again, whatever the geometry; where a window is longer than the detector, or levels are more than fit, that call, or the calls that use it, are
/// ISOC_STATUS_OUT_OF_RANGE. Results do not depend on slabs.
///
/// # Safety
/// `stripes` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_stripes(ct: *mut isoc_ct, stripes: *const isoc_ct_stripes) -> Status {
    with_plan(ct, |ct| {
        let stripes = if stripes.is_null() {
            None
        } else {
            // SAFETY: by this function's contract.
            Some(unsafe { read_struct(stripes)? }.to_stripes()?)
        };
        ct.set_stripes(stripes)
    })
}
