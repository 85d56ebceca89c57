//! Distortion of the detector's optics, tilt, and shifts of views.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, array, count, read_struct};
use isocenter_base::cpu::buffer::{collected, copied};
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{Distortion, MAX_RADIAL, MAX_SIDE};

/// Where in a measured frame the pixels of an undistorted one are read: a view's pixel at (x, y), in bins and rows, pixel centres at whole
/// numbers, is found by these steps:
///
/// 1. (x, y) plus the view's x_shifts and y_shifts;
/// 2. that turned by atan(tilt) about the detector's middle, so that an upright line becomes one that moves by tilt bins a row;
/// 3. (p0 x + p1 y + p2, p3 x + p4 y + p5) / (p6 x + p7 y + 1), p = perspective;
/// 4. c + B(r) ((x, y) - c), c = (x_centre, y_centre), r the distance from c in pixels, B(r) = b0 + b1 r + b2 r^2 + ..., b = radial.
///
/// That is the backward model of N. T. Vo, R. C. Atwood, M. Drakopoulos, "Radial lens distortion correction with sub-pixel accuracy for X-ray
/// micro-tomography", Optics Express 23, 32859 (2015), and the coefficients are those that discorpy gives (`xcenter`, `ycenter`, `list_bfact`,
/// and the eight of its perspective correction). Set `struct_size` and zero the rest for none; all lists are copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_distortion {
    /// sizeof(isoc_ct_distortion).
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Coefficients b of the radial distortion, `radial_count` values, for pixels; b0 is near 1. NULL: B is 1.
    pub radial: *const f64,
    /// Up to 10; 0 with NULL.
    pub radial_count: i64,
    /// Bin of the centre of the radial distortion; it may lie beside the detector (of a part of it that was read out).
    pub x_centre: f64,
    /// Its row.
    pub y_centre: f64,
    /// Eight coefficients p of a perspective, which holds any affine map with p6 = p7 = 0; NULL: none.
    pub perspective: *const f64,
    /// Bins by which the axis moves from a detector row to the next, as isoc_ct_axis.tilt: frames are turned until it is upright. Within 0.5.
    pub tilt: f64,
    /// Bins by which each view lies aside on the detector, `shift_count` values; NULL: 0.
    pub x_shifts: *const f64,
    /// The same in rows.
    pub y_shifts: *const f64,
    /// Number of views; 0 with both NULL.
    pub shift_count: i64,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_ct_distortion {
    const NAME: &'static str = "isoc_ct_distortion";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_distortion {
    /// # Safety
    /// Pointers are as the fields' documentation says.
    unsafe fn to_distortion(self) -> Result<Distortion> {
        let n = count(self.radial_count, "distortion.radial_count", 0, MAX_RADIAL)?;
        if (n == 0) != self.radial.is_null() {
            let null = if n == 0 { "not NULL" } else { "NULL" };
            fail!(NullPointer, "distortion.radial is {null} with radial_count {n}; it has radial_count values");
        }
        let views = count(self.shift_count, "distortion.shift_count", 0, MAX_SIDE)?;
        let lists = [("x_shifts", self.x_shifts), ("y_shifts", self.y_shifts)];
        if views == 0 {
            if let Some((name, _)) = lists.iter().find(|(_, list)| !list.is_null()) {
                fail!(NullPointer, "distortion.{name} is not NULL with shift_count 0; it has shift_count values");
            }
        } else if lists.iter().all(|(_, list)| list.is_null()) {
            fail!(NullPointer, "distortion.x_shifts and y_shifts are NULL with shift_count {views}; it must be 0 then");
        }
        // SAFETY: as many values as the fields' documentation says, by this function's contract.
        let (radial, perspective, [x, y]) = unsafe {
            let radial = if n == 0 { Vec::new() } else { copied(array(self.radial, n, "distortion.radial")?)? };
            let perspective = match self.perspective.is_null() {
                true => None,
                false => <[f64; 8]>::try_from(array(self.perspective, 8, "distortion.perspective")?).ok(),
            };
            let list = |name: &str, list: *const f64| match list.is_null() {
                true => Ok(None),
                false => array(list, views, &format!("distortion.{name}")).map(Some),
            };
            (radial, perspective, [list("x_shifts", self.x_shifts)?, list("y_shifts", self.y_shifts)?])
        };
        let shifts = collected((0..views).map(|view| [x, y].map(|list| list.map_or(0.0, |list| list[view]))))?;
        let centre = [self.x_centre, self.y_centre];
        let distortion = Distortion { centre, radial, perspective, tilt: self.tilt, shifts };
        distortion.check()?;
        Ok(distortion)
    }
}

/// Takes the detector's distortion, a tilt and shifts of views out of the frames in `filter`, `reconstruct` and `reconstruct_stream`, and out of the rows of isoc_ct_find_axis: after
/// outliers and the flat field, which are the detector's own, and before phase and stripes. Transmissions (of projections that are line
/// integrals, these) are read linearly between four pixels; beyond the detector its outermost ones are repeated. NULL turns it off, as it is at
/// first. It holds until set again, whatever the geometry; shifts need as many views as that has, and pixels that move by more than half of
/// the detector's longer side are refused (ISOC_STATUS_OUT_OF_RANGE). The work on a slab looks at the detector rows that its pixels come from, which `read` of a
/// stream is asked for as well; results do not depend on slabs. Where views move sideways alone, isoc_ct_geometry.axis takes an axis for each of
/// them, which reads no pixel between others.
///
/// # Safety
/// `distortion` is NULL or valid, its struct_size set, its lists as long as it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_distortion(ct: *mut isoc_ct, distortion: *const isoc_ct_distortion) -> Status {
    with_plan(ct, |ct| {
        let distortion = if distortion.is_null() {
            None
        } else {
            // SAFETY: by this function's contract.
            Some(unsafe { read_struct(distortion)?.to_distortion()? })
        };
        ct.set_distortion(distortion)
    })
}
