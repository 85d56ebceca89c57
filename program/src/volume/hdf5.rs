//! A volume as a contiguous dataset of an HDF5 file, which the program writes at its offset without the library, and NeXus groups around it,
//! so that silx, napari and others show it.

use anyhow::{Context, Result, bail};
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
    unfinished: PathBuf,
    path: PathBuf,
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
    /// What the file of a volume is called until it is finished.
    pub fn unfinished(path: &Path) -> Result<PathBuf> {
        let mut name = path.file_name().context("the volume's path has no file name")?.to_owned();
        name.push(".unfinished");
        Ok(path.with_file_name(name))
    }

    /// Goes on with the file of an earlier run.
    pub fn resume(path: &Path, shape: [usize; 3], dtype: DType) -> Result<Self> {
        let unfinished = Self::unfinished(path)?;
        if !unfinished.exists() {
            bail!("{0} is gone, of which {0}.journal tells: remove that to begin again", unfinished.display());
        }
        let found = || -> hdf5_metno::Result<(Vec<usize>, usize, Option<u64>)> {
            let data = hdf5_metno::File::open(&unfinished)?.dataset(PATH)?;
            Ok((data.shape(), data.dtype()?.size(), data.offset()))
        };
        let (held, size, offset) = found().with_context(|| format!("reading {}", unfinished.display()))?;
        if held != shape || size != dtype.size() {
            bail!("{} holds another volume than its journal says", unfinished.display());
        }
        Self::at(path, unfinished, offset)
    }

    fn at(path: &Path, unfinished: PathBuf, offset: Option<u64>) -> Result<Self> {
        let offset = offset.context("the dataset has no place in the file")?;
        let file = File::options().read(true).write(true).open(&unfinished);
        let file = file.with_context(|| format!("opening {}", unfinished.display()))?;
        Ok(Self { file, offset, unfinished, path: path.to_owned() })
    }

    /// Makes the file, with room for (slices, rows, columns).
    pub fn create(path: &Path, shape: [usize; 3], dtype: DType, about: &About) -> Result<Self> {
        let unfinished = Self::unfinished(path)?;
        let made = || -> hdf5_metno::Result<Option<u64>> {
            let file = hdf5_metno::File::create(&unfinished)?;
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
        let offset = made().with_context(|| format!("making {}", unfinished.display()))?;
        Self::at(path, unfinished, offset)
    }

    /// Writes from a byte of the volume on.
    pub fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
        self.file
            .write_all_at(bytes, self.offset + at)
            .with_context(|| format!("writing {}", self.unfinished.display()))
    }

    /// Has what was written on disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync_data().with_context(|| format!("writing {}", self.unfinished.display()))
    }

    /// Reads what was written from a byte of the volume on.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        self.file
            .read_exact_at(bytes, self.offset + at)
            .with_context(|| format!("reading {}", self.unfinished.display()))
    }

    /// Notes what integers mean, and gives the file its name.
    pub fn finish(self, slope: f64, offset: f64) -> Result<()> {
        self.file.sync_all().with_context(|| format!("writing {}", self.unfinished.display()))?;
        let noted = || -> hdf5_metno::Result<()> {
            let file = hdf5_metno::File::open_rw(&self.unfinished)?;
            let values = file.dataset(PATH)?;
            for (name, value) in [("scale_factor", slope), ("add_offset", offset)] {
                values.new_attr::<f64>().create(name)?.write_scalar(&value)?;
            }
            file.flush()
        };
        noted().with_context(|| format!("writing {}", self.unfinished.display()))?;
        std::fs::rename(&self.unfinished, &self.path).with_context(|| format!("naming {}", self.path.display()))
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
