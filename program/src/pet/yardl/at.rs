//! Where a value is, in either form of a file.

use super::hdf5::Node;
use super::kinds::Kind;
use super::{Stream, damaged};
use anyhow::Result;

/// Where the next value is: in a stream, in which that of each part follows the one before, or in HDF5.
pub enum At<'a> {
    Bytes(&'a mut Stream),
    Tree(Node<'a>),
}

impl At<'_> {
    /// Goes on after it.
    pub fn leave_out(&mut self, kind: &Kind) -> Result<()> {
        match self {
            Self::Bytes(stream) => stream.leave_out(kind),
            Self::Tree(_) => Ok(()),
        }
    }

    /// Goes on after so many items of a vector.
    pub fn leave_items_out(&mut self, item: &Kind, count: u64) -> Result<()> {
        match self {
            Self::Bytes(stream) => stream.leave_items_out(item, count),
            Self::Tree(_) => Ok(()),
        }
    }

    /// The same place, for a while.
    pub fn again(&mut self) -> At<'_> {
        match self {
            Self::Bytes(stream) => At::Bytes(stream),
            Self::Tree(node) => At::Tree(node.clone()),
        }
    }

    /// A field of a record, by its plain name; those of a stream follow each other.
    pub fn field(&mut self, name: &str) -> Result<At<'_>> {
        match self {
            Self::Bytes(stream) => Ok(At::Bytes(stream)),
            Self::Tree(node) => node.field(name).map(At::Tree),
        }
    }

    /// Which of the cases of a union there is, and where its value is.
    pub fn case(&mut self, cases: &[Option<Kind>]) -> Result<(usize, At<'_>)> {
        match self {
            Self::Bytes(stream) => Ok((stream.case(cases.len())?, At::Bytes(stream))),
            Self::Tree(node) => node.case(cases).map(|(case, part)| (case, At::Tree(part))),
        }
    }

    /// How many items a vector has, of a length that is fixed or not, and where they are.
    pub fn vector(&mut self, length: Option<u64>) -> Result<(u64, At<'_>)> {
        match self {
            Self::Bytes(stream) => {
                let count = length.map_or_else(|| stream.count(), Ok)?;
                Ok((count, At::Bytes(stream)))
            }
            Self::Tree(node) => node.vector(length).map(|(count, part)| (count, At::Tree(part))),
        }
    }

    /// The shape of an array, and where its values are.
    pub fn array(&mut self, axes: Option<&[Option<u64>]>) -> Result<(Vec<u64>, At<'_>)> {
        match self {
            Self::Bytes(stream) => Ok((stream.shape(axes)?, At::Bytes(stream))),
            Self::Tree(node) => node.array_of(axes).map(|(shape, part)| (shape, At::Tree(part))),
        }
    }

    /// An error unless so many items, which are read next, may be there; in HDF5 they were found to be.
    pub fn room(&self, item: &Kind, count: u64) -> Result<()> {
        match self {
            Self::Bytes(stream) => stream.room(count.saturating_mul(item.bytes().or(item.columns()).unwrap_or(1))),
            Self::Tree(_) => Ok(()),
        }
    }

    /// One of some items, which are read one after the other.
    pub fn item(&mut self, k: u64) -> Result<At<'_>> {
        match self {
            Self::Bytes(stream) => Ok(At::Bytes(stream)),
            Self::Tree(node) => node.item(k).map(At::Tree),
        }
    }

    pub fn text(&mut self) -> Result<String> {
        match self {
            Self::Bytes(stream) => stream.text(),
            Self::Tree(node) => node.text(),
        }
    }

    /// One of some numbers, which are read one after the other.
    pub fn number(&mut self, kind: &Kind, k: u64) -> Result<f64> {
        if !kind.is_number() {
            damaged!("a schema with {kind} where a number must be");
        }
        match self {
            Self::Bytes(stream) => stream.number(kind),
            Self::Tree(node) => node.number(kind, k),
        }
    }

    /// Reads the next of some rows of so many numbers of 32 bits into a buffer that has room for one at least: as many as it has room for, `most` and those at
    /// hand. Gives how many rows they are.
    pub fn rows(&mut self, columns: usize, most: u64, to: &mut [u32]) -> Result<usize> {
        match self {
            Self::Bytes(stream) => stream.rows(columns, most, to),
            Self::Tree(node) => node.rows(columns, most, to),
        }
    }

    /// How far in the file it is, 0 to 1.
    pub fn progress(&self) -> f64 {
        match self {
            Self::Bytes(stream) => stream.place() as f64 / stream.size() as f64,
            Self::Tree(node) => node.at(),
        }
    }

    /// Bytes of the file.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Bytes(stream) => stream.size(),
            Self::Tree(node) => node.size(),
        }
    }
}
