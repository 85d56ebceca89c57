//! What a virtual dataset is made of, as the HDF5 library tells.

use anyhow::{Context, Result, ensure};
use hdf5_metno::Dataset;
use hdf5_metno_sys::h5i::{H5Idec_ref, hid_t};
use hdf5_metno_sys::h5p::{
    H5Pget_virtual_count, H5Pget_virtual_dsetname, H5Pget_virtual_filename, H5Pget_virtual_srcspace,
    H5Pget_virtual_vspace,
};
use hdf5_metno_sys::h5s::{
    H5S_UNLIMITED, H5S_sel_type, H5Sget_regular_hyperslab, H5Sget_select_bounds, H5Sget_select_npoints,
    H5Sget_select_type, H5Sget_simple_extent_ndims,
};
use std::ffi::CStr;
use std::ops::Range;
use std::os::raw::c_char;

/// What is taken of a dataset.
pub enum Taken {
    All,
    /// What lies between the first element and the last, all of it or not.
    Between {
        first: Vec<u64>,
        last: Vec<u64>,
        all: bool,
    },
    /// Blocks without an end along one dimension: where the first begins, and how far they are apart.
    Blocks {
        along: usize,
        first: u64,
        apart: u64,
    },
    Other,
}

/// A part of another dataset.
pub struct Mapping {
    /// As it is named there.
    pub file: String,
    /// Of the dataset.
    pub name: String,
    /// Where it is here.
    pub here: Taken,
    /// Where it is there.
    pub there: Taken,
}

/// Of a virtual dataset.
pub fn of(dataset: &Dataset) -> Result<Vec<Mapping>> {
    let properties = dataset.dcpl()?;
    let list = properties.id();
    hdf5_metno::sync::sync(|| {
        let mut count = 0;
        // SAFETY: the library's lock is held, and the list is open.
        let status = unsafe { H5Pget_virtual_count(list, &mut count) };
        ensure!(status >= 0, "the list of a virtual dataset's parts is damaged");
        let part = |k| {
            // SAFETY: as above; both are selections of their own.
            let spaces = unsafe { [H5Pget_virtual_vspace(list, k), H5Pget_virtual_srcspace(list, k)] };
            let [here, there] = spaces.map(taken);
            // SAFETY: they are not used any more.
            spaces.into_iter().for_each(|space| unsafe {
                H5Idec_ref(space);
            });
            let file = text(|to, size| unsafe { H5Pget_virtual_filename(list, k, to, size) })?;
            let name = text(|to, size| unsafe { H5Pget_virtual_dsetname(list, k, to, size) })?;
            Ok(Mapping { file, name, here, there })
        };
        (0..count).map(part).collect()
    })
}

/// What a selection takes.
fn taken(space: hid_t) -> Taken {
    // SAFETY: the library's lock is held; what is no selection has no dimensions.
    let (kind, dimensions) = unsafe { (H5Sget_select_type(space), H5Sget_simple_extent_ndims(space)) };
    if kind == H5S_sel_type::H5S_SEL_ALL {
        return Taken::All;
    }
    let dimensions = usize::try_from(dimensions).unwrap_or(0);
    let (mut first, mut last) = (vec![0u64; dimensions], vec![0u64; dimensions]);
    // SAFETY: there is room for as many dimensions as there are.
    let bounded = dimensions > 0 && unsafe { H5Sget_select_bounds(space, first.as_mut_ptr(), last.as_mut_ptr()) } >= 0;
    if bounded && !last.contains(&H5S_UNLIMITED) {
        // SAFETY: a selection.
        let points = unsafe { H5Sget_select_npoints(space) };
        let between = first.iter().zip(&last).try_fold(1u64, |n, (a, b)| n.checked_mul(b.checked_sub(*a)? + 1));
        let all = between.is_some() && u64::try_from(points).ok() == between;
        return Taken::Between { first, last, all };
    }
    let [mut starts, mut strides, mut counts, mut blocks] = std::array::from_fn(|_| vec![0u64; dimensions]);
    let [start, stride, count, block] = [&mut starts, &mut strides, &mut counts, &mut blocks].map(Vec::as_mut_ptr);
    // SAFETY: as above.
    let regular = dimensions > 0 && unsafe { H5Sget_regular_hyperslab(space, start, stride, count, block) } >= 0;
    match counts.iter().position(|&n| n == H5S_UNLIMITED) {
        Some(along) if regular => Taken::Blocks { along, first: starts[along], apart: strides[along].max(1) },
        _ => Taken::Other,
    }
}

impl Taken {
    /// The frames that are taken of a dataset of this shape, if all of each are, one after the other.
    pub fn frames(&self, shape: [usize; 3]) -> Option<Range<usize>> {
        match self {
            Self::All => Some(0..shape[0]),
            Self::Between { first, last, all: true } if first.len() == 3 => {
                let whole = (1..3).all(|k| first[k] == 0 && last[k] + 1 == shape[k] as u64);
                let frames = usize::try_from(first[0]).ok()?..usize::try_from(last[0]).ok()? + 1;
                whole.then_some(frames)
            }
            _ => None,
        }
    }
}

impl Mapping {
    /// Whether names have a percent sign, which stands for the number of a block.
    pub fn counted(&self) -> bool {
        self.file.contains('%') || self.name.contains('%')
    }

    /// File and dataset of a block.
    pub fn block(&self, number: usize) -> [String; 2] {
        // Two percent signs are one.
        let with = |part: &str| part.replace("%b", &number.to_string());
        [&self.file, &self.name].map(|name| name.split("%%").map(with).collect::<Vec<_>>().join("%"))
    }
}

/// A text that the library writes to a place of a size, and tells the length of.
fn text(get: impl Fn(*mut c_char, usize) -> isize) -> Result<String> {
    let length = usize::try_from(get(std::ptr::null_mut(), 0)).context("a virtual dataset's part has no name")?;
    let mut bytes = vec![0u8; length + 1];
    get(bytes.as_mut_ptr().cast(), bytes.len());
    let text = CStr::from_bytes_until_nul(&bytes).context("a virtual dataset's part has no name")?;
    Ok(text.to_str().context("a name that is no UTF-8")?.into())
}
