//! Values alone in a file, and an `.info` file that says what they are, as PyHST2 writes volumes. `.vol` is of 32-bit floating point; files
//! of integers, `.raw`, tell their type, which PyHST2's readers of the latter look for.

use super::contiguous::Contiguous;
use super::disk::{ending, rename, replace_file};
use super::range::Ranges;
use super::{Places, Volume, Wanted};
use anyhow::{Result, bail};
use isocenter::array::DType;
use std::fs::File;
use std::path::{Path, PathBuf};

pub struct Vol {
    values: Contiguous,
    ranges: Ranges,
    path: PathBuf,
    shape: [usize; 3],
    dtype: DType,
    places: Places,
}

/// Makes a file.
pub fn create(unfinished: &Path, wanted: &Wanted) -> Result<Vol> {
    if wanted.dtype != DType::F32 && wanted.path.extension().is_some_and(|e| e.eq_ignore_ascii_case("vol")) {
        bail!(".vol files hold 32-bit floating point: name it .raw, whose .info tells the type of its numbers");
    }
    let [apart, _, side] = wanted.about.places.step;
    if apart != side {
        bail!(".info files tell one side of voxels, and --voxel gives them two: another --format is needed");
    }
    File::create(unfinished)?;
    let ranges = Ranges::create(unfinished, wanted.shape[0])?;
    at(unfinished, wanted, ranges)
}

/// Opens one.
pub fn resume(unfinished: &Path, wanted: &Wanted) -> Result<Vol> {
    if std::fs::metadata(unfinished)?.len() != wanted.bytes() {
        bail!("it holds another volume than its journal says");
    }
    at(unfinished, wanted, Ranges::open(unfinished)?)
}

fn at(unfinished: &Path, wanted: &Wanted, ranges: Ranges) -> Result<Vol> {
    let Wanted { path, shape, dtype, .. } = *wanted;
    let values = Contiguous::open(unfinished, 0, wanted.slice(), shape[0])?;
    Ok(Vol { values, ranges, path: path.to_owned(), shape, dtype, places: wanted.about.places })
}

impl Vol {
    fn info(&self) -> Result<String> {
        let [slices, rows, columns] = self.shape;
        let [low, high] = self.ranges.all()?;
        let order = if cfg!(target_endian = "little") { "LOW" } else { "HIGH" };
        // In micrometres, in as many digits as it has.
        let voxel = self.places.millimetres().map_or(1.0, |[_, mm]| mm * 1e3) as f32;
        let mut info = format!(
            "! PyHST_SLAVE VOLUME INFO FILE\nNUM_X = {columns}\nNUM_Y = {rows}\nNUM_Z = {slices}\nvoxelSize = {voxel}\n\
             BYTEORDER = {order}BYTEFIRST\nValMin = {low}\nValMax = {high}\n"
        );
        // Where greys saturate: they do not.
        info += &format!("s1 = {low}\ns2 = {high}\nS1 = {low}\nS2 = {high}\n");
        match self.dtype {
            DType::U8 => info += "DATA_TYPE = uint8\n",
            DType::U16 => info += "DATA_TYPE = uint16\n",
            _ => {}
        }
        Ok(info)
    }
}

impl Volume for Vol {
    fn write(&self, first: usize, slices: &[u8]) -> Result<()> {
        self.ranges.add(first, self.dtype, self.values.slice(), slices)?;
        self.values.write(first, slices)
    }

    fn waits(&self) -> bool {
        self.values.waits()
    }

    fn inside_page(&self, slice: usize) -> usize {
        self.values.inside_page(slice)
    }

    fn sync(&self) -> Result<()> {
        self.ranges.sync()?;
        self.values.sync()
    }

    fn read(&self, slice: usize, to: &mut [u8]) -> Result<()> {
        self.values.read(slice, to)
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.sync()?;
        replace_file(&ending(&self.path, ".info"), self.info()?.as_bytes())?;
        rename(self.values.path(), &self.path)?;
        self.ranges.remove()
    }
}
