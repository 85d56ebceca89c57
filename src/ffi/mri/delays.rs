//! Delays of gradients.

use super::plan::{isoc_mri, with_plan};
use super::tensors::samples_from;
use crate::ffi::boundary::{Sized32, count, read_struct, write_struct};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status};
use isocenter_mri::delays::{FoundDelays, Timing};

/// How readouts lie in the samples, and where isoc_mri_find_delays looks. Set `struct_size` and `readout`, and zero the rest for the
/// defaults.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_delay_options {
    /// sizeof(isoc_mri_delay_options).
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Samples of a readout (a spoke, an interleaf), of which all have as many; required, 4 or more.
    pub readout: i64,
    /// Largest delay that is looked for, in samples, up to half a readout; 0 means 5.
    pub range: f64,
    /// Edge of a voxel along x, in the unit of the others. Mixed delays (xy, xz, yz) are of axes in space, and need the edges where these
    /// differ; 0 means 1.
    pub voxel_x: f64,
    /// Along y.
    pub voxel_y: f64,
    /// Along z.
    pub voxel_z: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_delay_options {
    const NAME: &'static str = "isoc_mri_delay_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Delays between gradients and samples: a symmetric matrix, in samples. Positive: gradients come late, so that sample m of a readout was
/// taken where the trajectory is at m - delay.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_mri_delays {
    /// sizeof(isoc_mri_delays), set by the caller.
    pub struct_size: u32,
    /// Axes that readouts move along, 2 or 3: delays of the third have no effect, and are 0 with an error of 0.
    pub axes: u32,
    /// Of the gradient along x.
    pub xx: f64,
    /// Along y.
    pub yy: f64,
    /// Along z.
    pub zz: f64,
    /// Of x by y, and of y by x: 0 where the image's axes are those of the gradients, or where all gradients come equally late.
    pub xy: f64,
    /// Of x by z, and of z by x.
    pub xz: f64,
    /// Of y by z, and of z by y.
    pub yz: f64,
    /// Standard error of `xx`, and so on: of simulated scans 95 % and more are within twice of it.
    pub xx_error: f64,
    /// Of `yy`.
    pub yy_error: f64,
    /// Of `zz`.
    pub zz_error: f64,
    /// Of `xy`.
    pub xy_error: f64,
    /// Of `xz`.
    pub xz_error: f64,
    /// Of `yz`.
    pub yz_error: f64,
    /// 0 to 1: the part of the samples' energy in the middle of k-space that one image explains with these delays. Of good scans it is above
    /// 0.99; noise, motion, off-resonance, and a trajectory that is another one, take from it.
    pub confidence: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_mri_delays {
    const NAME: &'static str = "isoc_mri_delays";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_mri_delay_options {
    /// # Safety
    /// `options` is NULL or valid.
    unsafe fn timing(options: *const Self) -> Result<Timing> {
        // SAFETY: by this function's contract.
        let Self { readout, range, voxel_x, voxel_y, voxel_z, .. } = unsafe { read_struct(options) }?;
        let readout = count(readout, "options.readout", 4, 1 << 30)?;
        let voxel = [voxel_x, voxel_y, voxel_z].map(|v| if v == 0.0 { 1.0 } else { v });
        Ok(Timing { readout, range, voxel })
    }
}

/// Finds delays between gradients and samples from a scan itself, whose readouts cross in the middle of k-space: radial scans, whole spokes
/// or from the centre, evenly or by golden angles, from some 9 spokes on, spirals, and others. `samples`: complex (coils, samples), of the
/// plan's trajectory, which has to be without delays. Nothing in the plan changes; isoc_mri_delayed_trajectory makes the trajectory with them,
/// which isoc_mri_set_geometry takes. `options`: its `readout` is needed.
///
/// Samples of one object agree: those of the middle of k-space (up to 8 cycles per field of view, 2.5 of a volume) are the transform of one
/// small image for each coil, which is fitted to them; delays are those with which the least is left. At crossings of spokes that is RING
/// (Rosenzweig, Holme and Uecker, Magn. Reson. Med. 81, 2019), whose model of delays this is. Sensitivities are not needed. Of a stack
/// whose planes have a constant kz the middle one is taken. Maps, weights, a field, frames and a basis have no say: the image should be one
/// that stands still.
///
/// Samples may be on the host or on the plan's GPU, from which they are copied to the host, where the fit is made, in double precision. Progress is reported and a wish to cancel heeded.
///
/// Where delays cannot be told the call says why, and `found` is left alone: ISOC_STATUS_OUT_OF_RANGE for readouts of one direction (Cartesian lines),
/// for too few of them, for samples that are 0 in the middle of k-space, and where no delays within the range make samples agree. Where they can be told, but
/// badly, the errors say so.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_find_delays(
    mri: *mut isoc_mri,
    samples: *const isoc_tensor,
    options: *const isoc_mri_delay_options,
    found: *mut isoc_mri_delays,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        let timing = unsafe { isoc_mri_delay_options::timing(options) }?;
        // SAFETY: by this function's contract.
        let mut value = unsafe { read_struct(found.cast_const()) }?;
        // SAFETY: by this function's contract.
        let samples = unsafe { samples_from(mri, samples) }?;
        let FoundDelays { delays, errors, confidence, axes } = mri.find_delays(samples, &timing)?;
        [value.xx, value.yy, value.zz, value.xy, value.xz, value.yz] = delays;
        [value.xx_error, value.yy_error, value.zz_error, value.xy_error, value.xz_error, value.yz_error] = errors;
        (value.axes, value.confidence) = (axes as u32, confidence);
        // SAFETY: by this function's contract.
        unsafe { write_struct(found, &value) }
    })
}

/// Writes the plan's trajectory as it is with delays: real (samples, axes), in the geometry's unit. Each readout's coordinates, along the axes on
/// which delays are independent of each other, are those of as much earlier, by a cubic through four samples; beyond its ends a readout goes
/// on straight, or rests where it begins (or ends) at rest, as spirals do. Of `delays` xx to yz are read, which are isoc_mri_find_delays' or your own; `options` as there.
///
/// Samples that come to lie beyond the unit's range, which the log has the number of, are refused by isoc_mri_set_geometry: leave them out, or
/// clip their places to the range and give them a weight of 0 (isoc_mri_set_weights). Nothing in the plan changes.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_mri_delayed_trajectory(
    mri: *mut isoc_mri,
    options: *const isoc_mri_delay_options,
    delays: *const isoc_mri_delays,
    trajectory: *const isoc_tensor,
) -> Status {
    with_plan(mri, |mri| {
        // SAFETY: by this function's contract.
        let (timing, d) = unsafe { (isoc_mri_delay_options::timing(options)?, read_struct(delays)?) };
        let expected = Expected {
            name: "trajectory",
            shape: [mri.samples()?, mri.axes()?],
            dims: ["samples", "axes"],
            optional: &[],
            dtypes: DType::REAL,
            gpus: mri.gpus(),
        };
        // SAFETY: by this function's contract.
        let to = unsafe { expected.output(trajectory) }?;
        mri.delayed_trajectory(&[d.xx, d.yy, d.zz, d.xy, d.xz, d.yz], &timing, to)
    })
}
