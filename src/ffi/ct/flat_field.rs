//! Flats and darks.

use super::outliers::isoc_ct_outliers;
use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, array, count, read_struct};
use crate::ffi::tensor::{Expected, isoc_tensor};
use isocenter_base::array::{Array, DType};
use isocenter_base::cpu::buffer::{collected, copied};
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{Combine, FlatFieldOptions, FlatGroup, MAX_SIDE};

/// What becomes of several frames.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_combine {
    /// Their mean.
    Mean = 0,
    /// Their median, pixel by pixel; of an even number the mean of the middle two.
    Median = 1,
}

/// How flats and darks make the flat field. Set `struct_size` and zero the rest for the defaults; all lists are copied.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_flat_field_options {
    /// sizeof(isoc_ct_flat_field_options).
    pub struct_size: u32,
    /// An isoc_ct_combine: of the darks, and of the flats of a group.
    pub combine: u32,
    /// Flats taken at several places in the scan: how many frames of `flats` each group has, in their order, `group_count` values that add up
    /// to all of them. NULL: one group.
    pub group_frames: *const i64,
    /// How many views had been taken before each group: 0 is before the scan, `views` after it; ascending. View k lies at k + 0.5 (views are
    /// taken in their order for that of the scan), and its beam on the straight line between the groups around it; before the first and
    /// after the last it is theirs. NULL for one group.
    pub group_positions: *const f64,
    /// What the beam's monitor said of each group, above 0; NULL: 1. Needs `monitor`.
    pub group_monitor: *const f64,
    /// Number of groups; 0 means one, of all frames.
    pub group_count: i64,
    /// What the beam's monitor (ring current, ion chamber, exposure time) said in each view, above 0, in the same unit: the beam of a view is
    /// its flat / group_monitor * monitor. NULL: flats are the beam.
    pub monitor: *const f64,
    /// Number of views, or 0.
    pub monitor_count: i64,
    /// Above 0: finds bad pixels, and replaces their line integrals by the straight line between the nearest good ones of their row. A pixel is
    /// bad where a flat is not above its dark, or where dark or flat - dark differs from the median of the 5 x 5 pixels around by more than
    /// this many times the detector's own scatter (1.4826 times the median difference, and at least a 1000th of the beam): 1 to 1e6, 10
    /// is usual. 0: none are.
    pub bad_pixels: f64,
    /// Removed from each flat and dark before they are combined, or NULL; the frames of a group, and the darks, are its views.
    pub outliers: *const isoc_ct_outliers,
    /// Above 0: for a beam that changes its shape from view to view. The flats of each group, less their mean, have as many principal
    /// components found, as many as noise cannot have made, up to this number; smoothed, they are what isoc_ct_fit_flat_field fits to each
    /// view before any call that needs the flat field. 0 to 20, with at least as many flats as components and groups and one more, and at
    /// most 512. 0: none.
    pub eigenflats: i64,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_ct_flat_field_options {
    const NAME: &'static str = "isoc_ct_flat_field_options";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_flat_field_options {
    /// # Safety
    /// Pointers are as the fields' documentation says.
    unsafe fn to_options(self, views: usize) -> Result<FlatFieldOptions> {
        let combine = match self.combine {
            0 => Combine::Mean,
            1 => Combine::Median,
            v => fail!(UnknownValue, "options.combine is {v}; it must be 0 (mean) or 1 (median)"),
        };
        let n = count(self.group_count, "options.group_count", 0, MAX_SIDE)?;
        let lists = [
            ("group_frames", self.group_frames.is_null()),
            ("group_positions", self.group_positions.is_null()),
            ("group_monitor", self.group_monitor.is_null()),
        ];
        for (name, null) in lists {
            if n == 0 && !null {
                fail!(OutOfRange, "options.{name} is not NULL with group_count 0; it has group_count values");
            }
        }
        let mut groups = Vec::new();
        if n > 0 {
            // SAFETY: `group_count` values, by this function's contract.
            let (frames, positions) = unsafe {
                (
                    array(self.group_frames, n, "options.group_frames")?,
                    array(self.group_positions, n, "options.group_positions")?,
                )
            };
            let monitor = match self.group_monitor.is_null() {
                true => None,
                // SAFETY: as above.
                false => Some(unsafe { array(self.group_monitor, n, "options.group_monitor")? }),
            };
            if monitor.is_some() && self.monitor.is_null() {
                fail!(NullPointer, "options.monitor is NULL with group_monitor; views need values in the same unit");
            }
            groups = collected(frames.iter().zip(positions).enumerate().map(|(k, (frames, position))| {
                let frames = count(*frames, &format!("options.group_frames[{k}]"), 1, MAX_SIDE)?;
                Ok(FlatGroup { frames, position: *position, monitor: monitor.map_or(1.0, |m| m[k]) })
            }))?
            .into_iter()
            .collect::<Result<_>>()?;
        }
        let monitor = if self.monitor.is_null() {
            if self.monitor_count != 0 {
                let given = self.monitor_count;
                fail!(NullPointer, "options.monitor is NULL with monitor_count {given}; it must be 0 then");
            }
            Vec::new()
        } else {
            if usize::try_from(self.monitor_count) != Ok(views) {
                let given = self.monitor_count;
                fail!(OutOfRange, "options.monitor_count is {given}; it must be the number of views, {views}");
            }
            // SAFETY: as above.
            copied(unsafe { array(self.monitor, views, "options.monitor")? })?
        };
        let outliers = match self.outliers.is_null() {
            true => None,
            // SAFETY: valid, by this function's contract.
            false => Some(unsafe { read_struct(self.outliers)? }.to_outliers()?),
        };
        let eigenflats = count(self.eigenflats, "options.eigenflats", 0, MAX_SIDE)?;
        let bad_pixels = (self.bad_pixels != 0.0).then_some(self.bad_pixels);
        Ok(FlatFieldOptions { combine, groups, monitor, bad_pixels, outliers, eigenflats })
    }
}

/// For counts: `filter` and `reconstruct` make -ln((raw - dark) / (flat - dark)) of them. Integers are counts; of f32
/// isoc_ct_options.input has to say what they are. Flats and darks are (frames, rows, bins) or, for one frame, (rows,
/// bins), of f32, u16 or u8; the frames are combined and copied: their means with `options` NULL, or as `options` says. `darks` may be NULL
/// for zeros. `flats` NULL (then `darks` and `options` too) forgets the flat field. Call it after isoc_ct_set_geometry; it stays until a
/// geometry with other rows or bins, or, if it varies from view to view, other views. A flat that is not above its dark is
/// ISOC_STATUS_FLAT_FIELD, or, with the NaN policy "replace", a pixel that reads as 0 and is counted.
///
/// # Safety
/// Tensors are NULL or valid; `options` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_flat_field(
    ct: *mut isoc_ct,
    flats: *const isoc_tensor,
    darks: *const isoc_tensor,
    options: *const isoc_ct_flat_field_options,
) -> Status {
    with_plan(ct, |ct| {
        let geometry = ct.geometry()?;
        let frames = |tensor: *const isoc_tensor, name: &'static str| -> Result<Option<Array>> {
            if tensor.is_null() {
                return Ok(None);
            }
            // SAFETY: readable, by this function's contract.
            let t = unsafe { tensor.read_unaligned() };
            let n = if t.ndim == 3 && !t.shape.is_null() {
                // SAFETY: three sizes, by the tensor's documentation.
                count(unsafe { t.shape.read_unaligned() }, &format!("{name}.shape[0]"), 1, MAX_SIDE)?
            } else {
                1
            };
            let shape = [n, geometry.rows, geometry.bins];
            let expected = Expected {
                name,
                shape,
                dims: ["frames", "rows", "bins"],
                optional: &[0],
                dtypes: DType::FRAMES,
                gpus: &[],
            };
            // SAFETY: by this function's contract.
            unsafe { expected.input(tensor) }.map(Some)
        };
        let (flats, darks) = (frames(flats, "flats")?, frames(darks, "darks")?);
        if flats.is_none() && !options.is_null() {
            fail!(NullPointer, "flats is NULL while options is not; options belong to flats");
        }
        let options = match options.is_null() {
            true => FlatFieldOptions::default(),
            // SAFETY: by this function's contract.
            false => unsafe { read_struct(options)?.to_options(geometry.views())? },
        };
        ct.set_flat_field_by(flats, darks, &options)
    })
}
