//! What a virtual dataset is made of, as the HDF5 library tells.

use anyhow::{Context, Result};
use hdf5_metno::Dataset;
use hdf5_metno_sys::h5i::{H5Idec_ref, hid_t};
use hdf5_metno_sys::h5p::{
    H5Pget_virtual_count, H5Pget_virtual_dsetname, H5Pget_virtual_filename, H5Pget_virtual_srcspace,
    H5Pget_virtual_vspace,
};
use hdf5_metno_sys::h5s::{H5Sget_select_bounds, H5Sget_select_npoints, H5Sget_simple_extent_ndims};
use std::ffi::CStr;
use std::ops::Range;
use std::os::raw::c_char;

/// Whole frames of another dataset.
pub struct Mapping {
    /// As it is named there.
    pub file: String,
    /// Of the dataset.
    pub name: String,
    /// Which frames they are here.
    pub here: Range<usize>,
    /// Which they are there.
    pub there: Range<usize>,
}

/// Of a virtual dataset of this shape; nothing if it is made of other things than whole frames.
pub fn of(dataset: &Dataset, shape: [usize; 3]) -> Result<Option<Vec<Mapping>>> {
    let properties = dataset.dcpl()?;
    let list = properties.id();
    hdf5_metno::sync::sync(|| {
        let mut count = 0;
        // SAFETY: the library's lock is held, and the list is open.
        let status = unsafe { H5Pget_virtual_count(list, &mut count) };
        anyhow::ensure!(status >= 0, "the list of a virtual dataset's parts is damaged");
        let mut maps = Vec::new();
        for k in 0..count {
            // SAFETY: as above; both are selections of their own.
            let spaces = unsafe { [H5Pget_virtual_vspace(list, k), H5Pget_virtual_srcspace(list, k)] };
            let [here, there] = spaces.map(|space| frames(space, shape));
            // SAFETY: they are not used any more.
            spaces.into_iter().for_each(|space| unsafe {
                H5Idec_ref(space);
            });
            let file = text(|to, size| unsafe { H5Pget_virtual_filename(list, k, to, size) })?;
            let name = text(|to, size| unsafe { H5Pget_virtual_dsetname(list, k, to, size) })?;
            // A percent sign stands for numbers of files that may come later.
            let (Some(here), Some(there), false) = (here, there, file.contains('%') || name.contains('%')) else {
                return Ok(None);
            };
            if here.len() != there.len() || here.end > shape[0] {
                return Ok(None);
            }
            maps.push(Mapping { file, name, here, there });
        }
        Ok(Some(maps))
    })
}

/// The frames that a selection takes, if it takes all of each, one after the other.
fn frames(space: hid_t, shape: [usize; 3]) -> Option<Range<usize>> {
    let (mut first, mut last) = ([0u64; 3], [0u64; 3]);
    // SAFETY: the library's lock is held; there is room for three dimensions, of which it is asked that there are as many.
    let points = unsafe {
        if H5Sget_simple_extent_ndims(space) != 3
            || H5Sget_select_bounds(space, first.as_mut_ptr(), last.as_mut_ptr()) < 0
        {
            return None;
        }
        H5Sget_select_npoints(space)
    };
    let sides: [u64; 3] = std::array::from_fn(|k| last[k] - first[k] + 1);
    // As many points as there are in the box about them: it is the box.
    let all = u64::try_from(points).ok()? == sides.iter().product::<u64>();
    let whole = (1..3).all(|k| first[k] == 0 && sides[k] == shape[k] as u64);
    (all && whole).then(|| first[0] as usize..last[0] as usize + 1)
}

/// A text that the library writes to a place of a size, and tells the length of.
fn text(get: impl Fn(*mut c_char, usize) -> isize) -> Result<String> {
    let length = usize::try_from(get(std::ptr::null_mut(), 0)).context("a virtual dataset's part has no name")?;
    let mut bytes = vec![0u8; length + 1];
    get(bytes.as_mut_ptr().cast(), bytes.len());
    let text = CStr::from_bytes_until_nul(&bytes).context("a virtual dataset's part has no name")?;
    Ok(text.to_str().context("a name that is no UTF-8")?.into())
}
