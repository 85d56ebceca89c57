//! Files of yardl's in HDF5: a group of a protocol's name, in which each step is a dataset, and a stream of several types a group of them.
//!
//! The HDF5 library finds datasets and says what their elements are. It takes what heaps have without a look at their objects' sizes, and a vector as a whole; so values are
//! taken here from where they are in the file: elements of datasets, and the objects of global heaps that they refer to (HDF5 File Format Specification, III.E).

mod elements;
mod heaps;
mod layout;
mod node;
mod types;

pub use node::Node;

use super::damaged;
use crate::words;
use anyhow::Result;
use elements::{Elements, dataset, is_here, only};
use hdf5_metno::plist::file_create::Sizeof;
use hdf5_metno::{File, Group};
use heaps::Heaps;
use layout::Form;
use std::path::Path;
use types::Number;

pub const MAGIC: &[u8] = b"\x89HDF\r\n\x1a\n";
const SCHEMA: &str = "$yardl_schema";
const VERSION: &str = "$yardl_format_version";
/// Of the format.
const KNOWN: i64 = 1;
/// The group that is read of several.
const PREFERRED: &str = "PETSIRD";
/// Entries of an index that are looked at together.
const ENTRIES: u64 = 1 << 12;

/// A file.
#[derive(Debug)]
pub struct Tree {
    group: Group,
    heaps: Heaps,
}

impl Tree {
    pub fn open(path: &Path) -> Result<Self> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) => damaged!("it cannot be read as HDF5: {}", words::of_hdf5(&error.to_string())),
        };
        let mut groups = Vec::new();
        for name in file.member_names().unwrap_or_default() {
            let group = file.group(&name).ok().filter(|_| is_here(&file, &name));
            groups.extend(group.filter(|group| is_here(group, SCHEMA)));
        }
        let at = groups.iter().position(|group| group.name().trim_matches('/') == PREFERRED).unwrap_or(0);
        if groups.is_empty() {
            damaged!("it is an HDF5 file without a group of yardl's, which PETSIRD has");
        }
        let group = groups.swap_remove(at);
        let version = group.attr(VERSION).and_then(|version| version.read_scalar::<i64>());
        match version {
            Ok(KNOWN) => {}
            Ok(version) => damaged!("version {version} of yardl's HDF5 format"),
            Err(_) => damaged!("no version of yardl's HDF5 format"),
        }
        let sizes = file.create_plist().map(|how| (how.sizes().sizeof_addr, how.sizes().sizeof_size, how.userblock()));
        if !matches!(sizes, Ok((Sizeof::Bytes8, Sizeof::Bytes8, 0))) {
            damaged!("it is an HDF5 file with a user block, or with addresses of other sizes than yardl writes");
        }
        Ok(Self { group, heaps: Heaps::open(path)? })
    }

    pub fn schema(&self) -> Result<String> {
        self.step(SCHEMA)?.text()
    }

    /// Where the value of a step is.
    pub fn step(&self, name: &str) -> Result<Node<'_>> {
        let (of, place) = only(&self.heaps, &dataset(&self.group, name)?)?;
        Ok(Node::new(&self.heaps, of, place))
    }

    /// A stream of several types.
    pub fn stream(&self, name: &str) -> Result<Items<'_>> {
        let group = match (is_here(&self.group, name), self.group.group(name)) {
            (true, Ok(group)) => group,
            _ => damaged!("it has no {name}"),
        };
        let index = Elements::new(dataset(&group, "$index")?)?;
        let ((kind, of_kind), (offset, of_offset)) = (index.of.field("type")?, index.of.field("offset")?);
        let (Form::Number(Number::I8, symbols), Form::Number(Number::U64, _)) = (&of_kind.form, &of_offset.form) else {
            damaged!("its {name} have no index as yardl writes it")
        };
        let begins = [kind as usize, offset as usize];
        let nullable = symbols.iter().any(|(kind, _)| *kind < 0);
        let mut symbols: Vec<_> = symbols.iter().filter(|(kind, _)| *kind >= 0).cloned().collect();
        symbols.sort_by_key(|(kind, _)| *kind);
        if !symbols.iter().map(|(kind, _)| *kind).eq(0..symbols.len() as i8) {
            damaged!("its {name} have no index as yardl writes it");
        }
        let types = symbols.iter().map(|(_, of)| Elements::new(dataset(&group, of)?)).collect::<Result<Vec<_>>>()?;
        let seen = vec![0; types.len()];
        let names = symbols.into_iter().map(|(_, of)| of).collect();
        Ok(Items {
            heaps: &self.heaps,
            index,
            begins,
            nullable,
            types,
            names,
            seen,
            next: 0,
            entries: Vec::new(),
            at: 0,
        })
    }
}

/// Items of a stream of several types, in their order.
#[derive(Debug)]
pub struct Items<'a> {
    heaps: &'a Heaps,
    index: Elements,
    /// Of type and offset within an entry.
    begins: [usize; 2],
    nullable: bool,
    types: Vec<Elements>,
    names: Vec<String>,
    /// Of each type.
    seen: Vec<u64>,
    /// The first entry that is not in memory.
    next: u64,
    entries: Vec<u8>,
    at: usize,
}

impl<'a> Items<'a> {
    /// Which case the next one is, and where; no place of one that is nothing.
    pub fn next(&mut self) -> Result<Option<(usize, Option<Node<'a>>)>> {
        let size = self.index.of.size as usize;
        if self.at >= self.entries.len() {
            if self.next >= self.index.count {
                return self.end().map(|()| None);
            }
            let place = self.index.take(self.heaps, self.next, ENTRIES)?;
            (self.entries, self.at) = (self.heaps.bytes(place)?, 0);
            self.next += (self.entries.len() / size) as u64;
        }
        let entry = &self.entries[self.at..][..size];
        self.at += size;
        let [kind, offset] = self.begins;
        let (kind, offset) = (entry[kind] as i8, u64::from_le_bytes(std::array::from_fn(|k| entry[offset + k])));
        if kind == -1 && self.nullable {
            return Ok(Some((0, None)));
        }
        let Some(of) = usize::try_from(kind).ok().filter(|of| *of < self.types.len()) else {
            damaged!("an entry of its {} of type {kind}, which there is not", self.index.name())
        };
        let place = self.types[of].take(self.heaps, offset, 1)?;
        self.seen[of] += 1;
        Ok(Some((of + usize::from(self.nullable), Some(Node::new(self.heaps, self.types[of].of.clone(), place)))))
    }

    /// How far in the file they are, 0 to 1.
    pub fn at(&self) -> f64 {
        self.heaps.progress()
    }

    /// What was written and is not in the index is lost: the file was not closed.
    fn end(&self) -> Result<()> {
        for ((of, name), seen) in self.types.iter().zip(&self.names).zip(&self.seen) {
            if *seen < of.count {
                damaged!("{} of {name} were written, and {seen} of them are in the index", of.count);
            }
        }
        Ok(())
    }
}
