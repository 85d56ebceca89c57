//! Files in yardl's binary format, <https://microsoft.github.io/yardl/reference/binary.html>, or in HDF5: they have their schema, by which any version is read.

mod at;
mod hdf5;
mod items;
mod kinds;
mod numbers;
mod plain;
mod skip;
mod stream;
mod value;

pub use at::At;
pub use items::Items;
pub use kinds::{Kind, plain};
pub use stream::Stream;
pub use value::Value;

use anyhow::{Context, Result};
use hdf5::Tree;
use kinds::Schema;
use plain::Plain;
use std::fmt;
use std::path::Path;

const MAGIC: &[u8] = b"yardl";
/// Of the format.
const VERSION: i32 = 1;

/// The file ends early, or has bytes that its schema does not allow.
#[derive(Debug)]
pub struct Damaged(pub String);

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Damaged {}

/// Ends with [`Damaged`].
macro_rules! damaged {
    ($($words:tt)*) => {
        return Err($crate::pet::yardl::Damaged(format!($($words)*)).into())
    };
}
pub(super) use damaged;

/// One of the parts that follow each other in a file.
#[derive(Debug)]
pub struct Step {
    pub name: String,
    /// As the schema has it.
    written: String,
    /// Of each item, where it is a stream.
    pub kind: Kind,
    pub streamed: bool,
}

/// A file whose schema has been read; its steps follow.
#[derive(Debug)]
pub struct File {
    form: Form,
    /// As the file has it.
    pub schema: String,
    pub steps: Vec<Step>,
    /// For as long as it is read.
    _plain: Plain,
}

#[derive(Debug)]
enum Form {
    Bytes(Stream),
    Tree(Tree),
}

impl File {
    pub fn open(path: &Path) -> Result<Self> {
        let plain = Plain::of(path)?;
        let mut stream = Stream::open(plain.path())?;
        if stream.left() == 0 {
            damaged!("it is empty");
        }
        let (form, schema) = if stream.begins_with(hdf5::MAGIC)? {
            let tree = Tree::open(plain.path())?;
            let schema = tree.schema()?;
            (Form::Tree(tree), schema)
        } else {
            let schema = schema(&mut stream)?;
            (Form::Bytes(stream), schema)
        };
        let steps = Schema::steps(&schema).context("a schema that cannot be read");
        let steps = steps.map_err(|error| Damaged(format!("{error:#}")))?;
        Ok(Self { form, schema, steps, _plain: plain })
    }

    /// The value of a step, which has to be the next one.
    pub fn value(&mut self, step: usize) -> Result<Value> {
        let step = &self.steps[step];
        match &mut self.form {
            Form::Bytes(stream) => At::Bytes(stream).value(&step.kind),
            Form::Tree(tree) => At::Tree(tree.step(&step.written)?).value(&step.kind),
        }
    }

    /// Items of a step, which has to be the next one.
    pub fn items(&mut self, step: usize) -> Result<Items<'_>> {
        match &mut self.form {
            Form::Bytes(stream) => Ok(Items::Bytes { stream, group: 0 }),
            Form::Tree(tree) => tree.stream(&self.steps[step].written).map(Items::Tree),
        }
    }
}

/// That with which a file in the binary form begins.
fn schema(stream: &mut Stream) -> Result<String> {
    if !stream.begins_with(MAGIC)? {
        damaged!("it does not begin with yardl");
    }
    stream.take(MAGIC.len())?;
    let version = i32::from_le_bytes(stream.array()?);
    if version != VERSION {
        damaged!("version {version} of yardl's format");
    }
    stream.text()
}
