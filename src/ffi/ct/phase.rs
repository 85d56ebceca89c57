//! How phase is retrieved.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, read_struct};
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{Phase, PhaseMethod, PhaseSetup};
use std::f64::consts::PI;

/// Formula of isoc_ct_phase. Transmissions I of a frame, their transform over both axes of the detector, f the frequency there in cycles a
/// bin, F = wavelength * distance / pixel^2, d = delta_beta.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_phase_method {
    /// One material (or one ratio), any contrast: D. Paganin, S. C. Mayo, T. E. Gureyev, P. R. Miller, S. W. Wilkins, Journal of
    /// Microscopy 206, 33 (2002). Line integrals are -ln of I filtered by 1 / (1 + pi F d f^2).
    Paganin = 0,
    /// One ratio, weak contrast, distances of more than the near field: contrast transfer function (P. Cloetens et al., Applied Physics
    /// Letters 75, 2912 (1999)) of one distance, c = cos x + d sin x, x = pi F f^2. Line integrals are 1 - I filtered by
    /// (1 + alpha) c / (c^2 + alpha (1 + (d sin min(x, pi / 2))^2)).
    Ctf = 1,
}

/// Phase retrieval. Set `struct_size` and zero what is not needed; there are no defaults for what describes the scan.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_phase {
    /// sizeof(isoc_ct_phase).
    pub struct_size: u32,
    /// An isoc_ct_phase_method.
    pub method: u32,
    /// Photon energy in keV: 1 to 1000.
    pub energy_kev: f64,
    /// Sample to detector in millimetres (for a cone beam the effective distance): 1 to 1e5.
    pub distance_mm: f64,
    /// A bin at the sample in micrometres: 0.01 to 1000. Rows of the detector are as far apart as bins.
    pub pixel_um: f64,
    /// Decrement of the refractive index over its imaginary part: 1e-3 to 1e6.
    pub delta_beta: f64,
    /// In place of energy, distance and delta_beta, which are then 0: Paganin's length sqrt(pi wavelength distance delta_beta) in micrometres
    /// (PyHST's PAGANIN_Lmicron). 0: these are given. Only with ISOC_CT_PHASE_METHOD_PAGANIN.
    pub length_um: f64,
    /// Of ISOC_CT_PHASE_METHOD_CTF, where its transfer function is small: 1e-8 to 1; 0 means 0.01.
    pub alpha: f64,
    /// Standard deviation in bins of a Gaussian that an unsharp mask takes away: the filter times 1 + unsharp_amount (1 - the Gaussian's
    /// transform); 0 to 100. Both 0: no mask.
    pub unsharp_sigma: f64,
    /// See unsharp_sigma: 0 to 100.
    pub unsharp_amount: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_ct_phase {
    const NAME: &'static str = "isoc_ct_phase";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_phase {
    fn to_phase(self) -> Result<Phase> {
        let Self { energy_kev, distance_mm, pixel_um, delta_beta, length_um, .. } = self;
        let method = match self.method {
            0 => PhaseMethod::Paganin,
            1 => PhaseMethod::Ctf,
            v => fail!(UnknownValue, "phase.method is {v}; it must be 0 or 1 (isoc_ct_phase_method)"),
        };
        let setup = PhaseSetup { energy_kev, distance_mm, pixel_um };
        let (fresnel, delta_beta) = if length_um == 0.0 {
            (setup.fresnel()?, delta_beta)
        } else {
            setup.check_pixel()?;
            if method != PhaseMethod::Paganin {
                fail!(OutOfRange, "phase.length_um is {length_um}; with phase.method 1 (ctf) it must be 0");
            }
            for (name, value) in [("energy_kev", energy_kev), ("distance_mm", distance_mm), ("delta_beta", delta_beta)]
            {
                if value != 0.0 {
                    fail!(OutOfRange, "phase.{name} is {value} with length_um {length_um}; it must be 0 then");
                }
            }
            if !length_um.is_finite() {
                fail!(NotFiniteParameter, "phase.length_um is {length_um}; it must be finite");
            }
            let length = length_um / pixel_um;
            if !(1e-3..=1e5).contains(&length) {
                fail!(
                    OutOfRange,
                    "phase.length_um is {length_um} for pixel_um {pixel_um}; it must be 1e-3 to 1e5 pixels: are both in micrometres?"
                );
            }
            (length * length / PI, 1.0)
        };
        let alpha = if self.alpha == 0.0 { 0.01 } else { self.alpha };
        let phase = Phase { method, fresnel, delta_beta, alpha, unsharp: [self.unsharp_sigma, self.unsharp_amount] };
        phase.check()?;
        Ok(phase)
    }
}

/// Retrieves phase in `filter`, `reconstruct` and `reconstruct_stream`: filters each frame of transmissions, after outliers and the flat field,
/// which makes line integrals of attenuation. NULL turns it off, as it is at first. It holds until set again, whatever the geometry. Beyond the
/// detector its outermost bins and rows are repeated. The work on a slab looks at as many detector rows on either side as the filter's kernel
/// is long (Paganin: 2.2 lengths and 8 rows, and 170 at most for lengths of a few bins), which `read` of a stream is asked for as well; results depend
/// on slabs by 1e-6 of a step of the transmission, with ISOC_CT_PHASE_METHOD_CTF by 1e-5. Pixels
/// without a value count as air. A call whose projections are line integrals is ISOC_STATUS_FLAT_FIELD.
///
/// # Safety
/// `phase` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_phase(ct: *mut isoc_ct, phase: *const isoc_ct_phase) -> Status {
    with_plan(ct, |ct| {
        let phase = if phase.is_null() {
            None
        } else {
            // SAFETY: by this function's contract.
            Some(unsafe { read_struct(phase)? }.to_phase()?)
        };
        ct.set_phase(phase)
    })
}
