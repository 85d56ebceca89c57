//! Elements of a dataset, from where they are in the file.

use super::heaps::{Heaps, Place};
use super::layout::Layout;
use super::types::Type;
use crate::pet::yardl::{Damaged, damaged};
use anyhow::{Context, Result};
use hdf5_metno::{Dataset, Group, LinkType};
use hdf5_metno_sys::h5d::{H5Dget_chunk_info_by_coord, H5Dget_type};
use std::cell::Cell;
use std::sync::Arc;

/// A dataset of a group, where it is in the same file.
pub fn dataset(group: &Group, name: &str) -> Result<Dataset> {
    match (is_here(group, name), group.dataset(name)) {
        (true, Ok(dataset)) => Ok(dataset),
        _ => damaged!("it has no {name} in its {}", group.name()),
    }
}

/// Other links may lead to other files.
pub fn is_here(group: &Group, name: &str) -> bool {
    let found = group.find_link(Default::default(), Default::default(), |known, about| {
        Ok((known == name).then_some(about.link_type == LinkType::Hard))
    });
    found.is_ok_and(|found| found == Some(true))
}

fn layout(dataset: &Dataset) -> Result<Arc<Layout>> {
    let made = hdf5_metno::sync::sync(|| {
        // SAFETY: the library's lock is held, the dataset is open, and what is given is a new type.
        let of = Type::new(unsafe { H5Dget_type(dataset.id()) }).context("a dataset without type")?;
        Layout::of(&of)
    });
    let made = made.map_err(|error| Damaged(format!("its {}: {error:#}", dataset.name())))?;
    Ok(Arc::new(made))
}

/// The only element of a dataset.
pub fn only(heaps: &Heaps, dataset: &Dataset) -> Result<(Arc<Layout>, Place)> {
    let of = layout(dataset)?;
    match dataset.offset() {
        Some(begin) if dataset.ndim() == 0 && dataset.storage_size() == of.size => {
            let place = heaps.take(begin, of.size)?;
            Ok((of, place))
        }
        _ => damaged!("its {} was never written, or is stored in another way than yardl does", dataset.name()),
    }
}

/// The error of a dataset that is not as yardl writes it.
fn other(dataset: &Dataset) -> anyhow::Error {
    let name = dataset.name();
    Damaged(format!("its {name} is compressed, or stored in another way than yardl does: h5repack -f NONE -l CHUNK=1024 does so, too")).into()
}

/// Of a dataset in chunks, one after the other.
#[derive(Debug)]
pub struct Elements {
    dataset: Dataset,
    pub of: Arc<Layout>,
    pub count: u64,
    chunk: u64,
    /// The first of the chunk that was found last, and where it begins.
    found: Cell<Option<(u64, u64)>>,
}

impl Elements {
    pub fn new(dataset: Dataset) -> Result<Self> {
        let (of, chunk) = (layout(&dataset)?, dataset.chunk().unwrap_or_default());
        let (&[count], &[chunk]) = (&dataset.shape()[..], &chunk[..]) else { return Err(other(&dataset)) };
        if chunk == 0 || !dataset.filters().is_empty() {
            return Err(other(&dataset));
        }
        Ok(Self { dataset, of, count: count as u64, chunk: chunk as u64, found: Cell::new(None) })
    }

    pub fn name(&self) -> String {
        self.dataset.name()
    }

    /// Where some are from one on, no more than its chunk has.
    pub fn take(&self, heaps: &Heaps, first: u64, most: u64) -> Result<Place> {
        if first >= self.count {
            damaged!("no element {first} of the {} that there are", self.count);
        }
        let own = first - first % self.chunk;
        let begin = match self.found.get().filter(|(known, _)| *known == own) {
            Some((_, begin)) => begin,
            None => self.begin(own)?,
        };
        self.found.set(Some((own, begin)));
        // One more than the last may be beyond all numbers.
        let count = most.min(self.count - first).min(self.chunk - (first - own));
        heaps.take(begin.saturating_add((first - own).saturating_mul(self.of.size)), count.saturating_mul(self.of.size))
    }

    fn begin(&self, first: u64) -> Result<u64> {
        let (mut skipped, mut address, mut length) = (0, u64::MAX, 0);
        let status = hdf5_metno::sync::sync(|| {
            // SAFETY: the library's lock is held, the dataset is open and has one axis.
            unsafe { H5Dget_chunk_info_by_coord(self.dataset.id(), &first, &mut skipped, &mut address, &mut length) }
        });
        if status < 0 || address == u64::MAX || Some(length) != self.chunk.checked_mul(self.of.size) {
            damaged!("elements of its {} from {first} on that were never written", self.dataset.name());
        }
        Ok(address)
    }
}
