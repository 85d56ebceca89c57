//! Files in yardl's binary format, <https://microsoft.github.io/yardl/reference/binary.html>: they begin with their schema, by which any version is read.

mod kinds;
mod numbers;
mod stream;
mod value;

pub use kinds::{Kind, plain};
pub use stream::Stream;
pub use value::Value;

use anyhow::{Context, Result};
use kinds::Schema;
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
    /// Of each item, where it is a stream.
    pub kind: Kind,
    pub streamed: bool,
}

/// A file whose schema has been read; its steps follow.
#[derive(Debug)]
pub struct File {
    pub stream: Stream,
    /// As the file has it.
    pub schema: String,
    pub steps: Vec<Step>,
}

impl File {
    pub fn open(path: &Path) -> Result<Self> {
        let mut stream = Stream::open(path)?;
        if stream.left() == 0 {
            damaged!("it is empty");
        }
        if stream.left() < MAGIC.len() as u64 || stream.take(MAGIC.len())? != MAGIC {
            damaged!("it does not begin with yardl");
        }
        let version = i32::from_le_bytes(stream.array()?);
        if version != VERSION {
            damaged!("version {version} of yardl's format");
        }
        let schema = stream.text()?;
        let steps = Schema::steps(&schema).context("a schema that cannot be read");
        let steps = steps.map_err(|error| Damaged(format!("{error:#}")))?;
        Ok(Self { stream, schema, steps })
    }
}
