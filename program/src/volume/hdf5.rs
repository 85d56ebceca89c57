//! A volume as a contiguous dataset of an HDF5 file, which the program writes at its offset without the library, and NeXus groups around it,
//! so that silx, napari and others show it.

use super::contiguous::Contiguous;
use super::disk::rename;
use super::{Volume, Wanted};
use anyhow::{Context, Result, bail};
use hdf5_metno::plist::dataset_create::{AllocTime, FillTime, Layout};
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Group, Location};
use isocenter::array::DType;
use std::path::{Path, PathBuf};

/// Where the volume is in the file.
pub const PATH: &str = "/entry/reconstruction/data";

pub struct Hdf5 {
    values: Contiguous,
    path: PathBuf,
}

/// Makes a file.
pub fn create(unfinished: &Path, wanted: &Wanted) -> Result<Hdf5> {
    let offset = make(unfinished, wanted)?;
    at(unfinished, wanted, offset)
}

/// Opens one.
pub fn resume(unfinished: &Path, wanted: &Wanted) -> Result<Hdf5> {
    let data = hdf5_metno::File::open(unfinished)?.dataset(PATH)?;
    if data.shape() != wanted.shape || data.dtype()?.size() != wanted.dtype.size() {
        bail!("it holds another volume than its journal says");
    }
    at(unfinished, wanted, data.offset())
}

fn at(unfinished: &Path, wanted: &Wanted, offset: Option<u64>) -> Result<Hdf5> {
    let offset = offset.context("the dataset has no place in the file")?;
    let values = Contiguous::open(unfinished, offset, wanted.slice(), wanted.shape[0])?;
    Ok(Hdf5 { values, path: wanted.path.to_owned() })
}

fn make(unfinished: &Path, wanted: &Wanted) -> hdf5_metno::Result<Option<u64>> {
    let Wanted { shape, dtype, about, .. } = *wanted;
    let file = hdf5_metno::File::create(unfinished)?;
    attribute(&file, "default", "entry")?;
    let entry = group(&file, "entry", "NXentry")?;
    attribute(&entry, "default", "reconstruction")?;
    line(&entry, "definition", "NXtomoproc")?;
    if let Some(title) = about.title {
        line(&entry, "title", title)?;
    }
    let program = group(&entry, "program", "NXprocess")?;
    line(&program, "program", "isocenter")?;
    line(&program, "version", env!("CARGO_PKG_VERSION"))?;
    line(&program, "plan", about.plan)?;
    let data = group(&entry, "reconstruction", "NXdata")?;
    attribute(&data, "signal", "data")?;
    let axes = ["z", "y", "x"].map(text);
    data.new_attr::<VarLenUnicode>().shape(3).create("axes")?.write_raw(&axes)?;
    for (k, (name, n)) in ["z", "y", "x"].into_iter().zip(shape).enumerate() {
        let places: Vec<f64> = (0..n).map(|at| about.places.at(k, at as f64)).collect();
        let axis = data.new_dataset::<f64>().shape(n).create(name)?;
        axis.write_raw(&places)?;
        attribute(&axis, "units", about.places.unit())?;
    }
    macro_rules! values {
        ($type:ty) => {
            data.new_dataset::<$type>()
                .layout(Layout::Contiguous)
                .alloc_time(Some(AllocTime::Early))
                .fill_time(FillTime::Never)
                .shape(shape)
                .create("data")?
        };
    }
    let data = match dtype {
        DType::U8 => values!(u8),
        DType::U16 => values!(u16),
        _ => values!(f32),
    };
    for (name, value) in ["scale_factor", "add_offset"].into_iter().zip(about.scale) {
        data.new_attr::<f64>().create(name)?.write_scalar(&value)?;
    }
    file.flush()?;
    Ok(data.offset())
}

impl Volume for Hdf5 {
    fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        self.values.write(first, slices)
    }

    fn waits(&self) -> bool {
        self.values.waits()
    }

    fn inside_page(&self, slice: usize) -> usize {
        self.values.inside_page(slice)
    }

    fn sync(&self) -> Result<()> {
        self.values.sync()
    }

    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        self.values.read(slice, to)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.values.sync()?;
        rename(self.values.path(), &self.path)
    }
}

fn text(value: &str) -> VarLenUnicode {
    value.replace('\0', " ").parse().unwrap_or_default()
}

fn attribute(of: &Location, name: &str, value: &str) -> hdf5_metno::Result<()> {
    of.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&text(value))
}

fn group(parent: &Group, name: &str, class: &str) -> hdf5_metno::Result<Group> {
    let group = parent.create_group(name)?;
    attribute(&group, "NX_class", class)?;
    Ok(group)
}

fn line(parent: &Group, name: &str, value: &str) -> hdf5_metno::Result<()> {
    parent.new_dataset::<VarLenUnicode>().create(name)?.write_scalar(&text(value))
}
