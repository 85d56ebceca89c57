//! Items of a stream of several types, in either form of a file.

use super::{At, Kind, Stream, hdf5};
use anyhow::Result;

pub enum Items<'a> {
    Bytes {
        stream: &'a mut Stream,
        /// Of the stream's part, items that are still to come.
        group: u64,
    },
    Tree(hdf5::Items<'a>),
}

impl Items<'_> {
    /// Which of its cases the next one is, and where; nothing at the end, and no place of one that is nothing.
    pub fn next(&mut self, cases: &[Option<Kind>]) -> Result<Option<(usize, Option<At<'_>>)>> {
        match self {
            Self::Bytes { stream, group } => {
                if *group == 0 {
                    *group = stream.count()?;
                }
                if *group == 0 {
                    return Ok(None);
                }
                *group -= 1;
                Ok(Some((stream.case(cases.len())?, Some(At::Bytes(stream)))))
            }
            Self::Tree(items) => Ok(items.next()?.map(|(case, node)| (case, node.map(At::Tree)))),
        }
    }

    /// How far in the file they are, 0 to 1.
    pub fn progress(&self) -> f64 {
        match self {
            Self::Bytes { stream, .. } => stream.place() as f64 / stream.size() as f64,
            Self::Tree(items) => items.at(),
        }
    }
}
