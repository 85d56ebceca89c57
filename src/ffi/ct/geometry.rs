//! The scan and the volume.

use super::plan::{isoc_ct, with_plan};
use crate::ffi::boundary::{Sized32, array, count, guard, read_struct, write_struct};
use isocenter_base::cpu::buffer::copied;
use isocenter_base::error::{Result, Status, fail};
use isocenter_ct::{Geometry, MAX_SIDE, Order, crop};

/// Order of the dimensions of projections.
#[repr(u32)]
#[derive(Clone, Copy, Debug)]
pub enum isoc_ct_order {
    /// Frames: (views, rows, bins).
    Frames = 0,
    /// Sinograms: (rows, views, bins).
    Sinograms = 1,
}

/// Parallel-beam scan and volume.
///
/// Pixel (row i, column j) of a slice projects in view p to the fractional bin
///
///     h = axis_p + (pixel_size / bin_pitch) * ((j - cx) cos t_p - (i - cy) sin t_p)
///     cx = (nx - 1) / 2 + x_offset,   cy = (ny - 1) / 2 + y_offset
///
/// where bin k has its centre at k (0-based) and t_p is the view's angle in radians. With y upwards that is x cos t + y sin t.
/// A region of interest is an offset with any nx, ny and pixel_size: see isoc_ct_region. Slice z of the volume is detector row first_row + z.
/// Views, bins, rows, nx and ny are at most 2^20 each.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_ct_geometry {
    /// sizeof(isoc_ct_geometry).
    pub struct_size: u32,
    /// An isoc_ct_order: how projection tensors are laid out.
    pub order: u32,
    /// Number of projections.
    pub views: i64,
    /// Detector bins in a row.
    pub bins: i64,
    /// Detector rows; 0 means 1.
    pub rows: i64,
    /// `views` angles in radians, in any order; copied.
    pub angles: *const f64,
    /// The rotation axis as a fractional bin, `axis_count` values; NULL means (bins - 1) / 2. Copied.
    pub axis: *const f64,
    /// 1, or `views` for one axis a view; 0 means 1.
    pub axis_count: i64,
    /// Distance between bins, in any length unit; 0 means 1.
    pub bin_pitch: f64,
    /// Side of a pixel in the same unit, from bin_pitch / 1024 to 1024 bin_pitch; 0 means bin_pitch.
    pub pixel_size: f64,
    /// Columns of the volume; 0 means bins.
    pub nx: i64,
    /// Rows of a slice; 0 means bins.
    pub ny: i64,
    /// The rotation axis passes through column (nx - 1) / 2 + x_offset of the volume.
    pub x_offset: f64,
    /// The same for rows. For a part of a slice isoc_ct_region works both out.
    pub y_offset: f64,
    /// First detector row to reconstruct.
    pub first_row: i64,
    /// Slices of the volume; 0 means all rows from first_row on.
    pub slices: i64,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_ct_geometry {
    const NAME: &'static str = "isoc_ct_geometry";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_ct_geometry {
    /// # Safety
    /// `angles` and `axis` are as the fields' documentation says.
    pub(super) unsafe fn to_geometry(self) -> Result<Geometry> {
        let order = match self.order {
            0 => Order::Frames,
            1 => Order::Sinograms,
            v => fail!(UnknownValue, "geometry.order is {v}; it must be 0 (frames) or 1 (sinograms)"),
        };
        let views = count(self.views, "geometry.views", 1, MAX_SIDE)?;
        let bins = count(self.bins, "geometry.bins", 1, MAX_SIDE)?;
        let or = |value: i64, name, default: usize| {
            count(value, name, 0, MAX_SIDE).map(|n| if n == 0 { default } else { n })
        };
        let rows = or(self.rows, "geometry.rows", 1)?;
        let first_row = count(self.first_row, "geometry.first_row", 0, MAX_SIDE)?;
        if first_row >= rows {
            fail!(OutOfRange, "geometry.first_row is {first_row}; it must be below rows ({rows})");
        }
        let slices = or(self.slices, "geometry.slices", rows.saturating_sub(first_row))?;
        let (nx, ny) = (or(self.nx, "geometry.nx", bins)?, or(self.ny, "geometry.ny", bins)?);
        // SAFETY: `views` angles, by this function's contract.
        let angles = copied(unsafe { array(self.angles, views, "geometry.angles") }?)?;
        let axis = if self.axis.is_null() {
            if self.axis_count != 0 {
                fail!(NullPointer, "geometry.axis is NULL with axis_count {}; it must be 0 then", self.axis_count);
            }
            vec![(bins as f64 - 1.0) / 2.0]
        } else {
            let n = or(self.axis_count, "geometry.axis_count", 1)?;
            if n != 1 && n != views {
                fail!(OutOfRange, "geometry.axis_count is {n}; it must be 1 or views ({views})");
            }
            // SAFETY: `axis_count` values, by this function's contract.
            copied(unsafe { array(self.axis, n, "geometry.axis") }?)?
        };
        let bin_pitch = if self.bin_pitch == 0.0 { 1.0 } else { self.bin_pitch };
        let pixel_size = if self.pixel_size == 0.0 { bin_pitch } else { self.pixel_size };
        let (x_offset, y_offset) = (self.x_offset, self.y_offset);
        Ok(Geometry {
            order,
            angles,
            axis,
            bins,
            rows,
            bin_pitch,
            pixel_size,
            nx,
            ny,
            x_offset,
            y_offset,
            first_row,
            slices,
        })
    }
}

/// Sets scan and volume: validates, copies, works out the angular weights. Forgets weights of the caller's own. The flat field stays
/// while `rows` and `bins` do (ISOC_STATUS_FLAT_FIELD if rows now in use cannot be corrected), else it is forgotten, with a warning in
/// the log. One view, or views that all have the same angle, are accepted here (`forward` and `adjoint` can use them); what needs
/// angular weights is not, without isoc_ct_set_angular_weights. An axis so far beside the detector that pixels see less than two thirds
/// of the directions is warned of.
///
/// # Safety
/// `geometry` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_set_geometry(ct: *mut isoc_ct, geometry: *const isoc_ct_geometry) -> Status {
    with_plan(ct, |ct| {
        // SAFETY: by this function's contract.
        let geometry = unsafe { read_struct(geometry)?.to_geometry() }?;
        ct.set_geometry(geometry)
    })
}

/// Cuts the slice of a geometry down to a region of interest: columns column_begin to column_end and rows row_begin to row_end of
/// the slice that the geometry describes, counted from 0, ends not included. It changes nx, ny, x_offset and y_offset, so that pixels keep
/// their places and sizes: the volume is then `[:, row_begin:row_end, column_begin:column_end]` of what it would have been. A second
/// region counts from the first one's corner. nx or ny of 0 means bins, as ever; other fields are not looked at. Rows are the slice's, not
/// the detector's: those are first_row and slices.
///
/// # Safety
/// `geometry` is NULL or valid, and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_ct_region(
    geometry: *mut isoc_ct_geometry,
    column_begin: i64,
    column_end: i64,
    row_begin: i64,
    row_end: i64,
) -> Status {
    guard(|| {
        // SAFETY: by this function's contract.
        let mut g = unsafe { read_struct(geometry.cast_const())? };
        let side = |n: i64, name| match n {
            0 => count(g.bins, "geometry.bins", 1, MAX_SIDE),
            n => count(n, name, 1, MAX_SIDE),
        };
        let (nx, ny) = (side(g.nx, "geometry.nx")?, side(g.ny, "geometry.ny")?);
        let columns = count(column_begin, "column_begin", 0, nx)?..count(column_end, "column_end", 0, nx)?;
        let rows = count(row_begin, "row_begin", 0, ny)?..count(row_end, "row_end", 0, ny)?;
        let (nx, x_offset) = crop(nx, g.x_offset, columns, ["column", "nx"])?;
        let (ny, y_offset) = crop(ny, g.y_offset, rows, ["row", "ny"])?;
        (g.nx, g.ny, g.x_offset, g.y_offset) = (nx as i64, ny as i64, x_offset, y_offset);
        // SAFETY: by this function's contract.
        unsafe { write_struct(geometry, &g) }
    })
}
