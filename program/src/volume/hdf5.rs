//! A volume as a contiguous dataset of an HDF5 file, which the program writes at its offset without the library, and NeXus groups around it,
//! so that silx, napari and others show it.

use anyhow::{Context, Result};
use hdf5_metno::plist::dataset_create::{AllocTime, FillTime, Layout};
use hdf5_metno::types::VarLenUnicode;
use hdf5_metno::{Group, Location};
use isocenter::array::DType;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where the volume is in the file.
pub const PATH: &str = "/entry/reconstruction/data";

/// A file that is written. It has another name until it is finished.
pub struct Writer {
    file: File,
    offset: u64,
    unfinished: Unfinished,
    path: PathBuf,
}

/// A file that goes unless it gets its name.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It may have its name, or never have been made.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What stands beside the values.
pub struct About<'a> {
    pub title: Option<&'a str>,
    /// Side of a pixel in millimetres.
    pub pixel: Option<f64>,
    /// The plan.
    pub plan: &'a str,
}

impl Writer {
    /// Makes the file, with room for (slices, rows, columns).
    pub fn create(path: &Path, shape: [usize; 3], dtype: DType, about: &About) -> Result<Self> {
        let mut name = path.file_name().context("the volume's path has no file name")?.to_owned();
        name.push(".unfinished");
        let unfinished = Unfinished(path.with_file_name(name));
        let made = || -> hdf5_metno::Result<Option<u64>> {
            let file = hdf5_metno::File::create(&unfinished.0)?;
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
            for (name, n) in ["z", "y", "x"].into_iter().zip(shape) {
                let step = about.pixel.unwrap_or(1.0);
                let places: Vec<f64> = (0..n).map(|k| step * (k as f64 - (n as f64 - 1.0) / 2.0)).collect();
                let axis = data.new_dataset::<f64>().shape(n).create(name)?;
                axis.write_raw(&places)?;
                attribute(&axis, "units", if about.pixel.is_some() { "mm" } else { "pixel" })?;
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
            let values = match dtype {
                DType::U8 => values!(u8),
                DType::U16 => values!(u16),
                _ => values!(f32),
            };
            file.flush()?;
            Ok(values.offset())
        };
        let offset = made().with_context(|| format!("making {}", unfinished.0.display()))?;
        let offset = offset.context("the dataset has no place in the file")?;
        let file = File::options().write(true).open(&unfinished.0)?;
        Ok(Self { file, offset, unfinished, path: path.to_owned() })
    }

    /// Writes from a byte of the volume on.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all_at(bytes, self.offset + at)
            .with_context(|| format!("writing {}", self.unfinished.0.display()))
    }

    /// Notes what integers mean, and gives the file its name.
    pub fn finish(self, slope: f64, offset: f64) -> Result<()> {
        self.file.sync_all().with_context(|| format!("writing {}", self.unfinished.0.display()))?;
        let noted = || -> hdf5_metno::Result<()> {
            let file = hdf5_metno::File::open_rw(&self.unfinished.0)?;
            let values = file.dataset(PATH)?;
            for (name, value) in [("scale_factor", slope), ("add_offset", offset)] {
                values.new_attr::<f64>().create(name)?.write_scalar(&value)?;
            }
            file.flush()
        };
        noted().with_context(|| format!("writing {}", self.unfinished.0.display()))?;
        std::fs::rename(&self.unfinished.0, &self.path).with_context(|| format!("naming {}", self.path.display()))
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
