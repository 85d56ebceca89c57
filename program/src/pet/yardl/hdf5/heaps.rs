//! Bytes of a file, and objects of its global heaps, which vectors and texts are: "GCOL", a version, three bytes, their size, and objects, each with its number, two
//! numbers more, its size and its bytes.

use crate::pet::yardl::damaged;
use anyhow::{Context, Result};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MAGIC: &[u8; 4] = b"GCOL";
/// Of a heap, and of an object.
const HEAD: usize = 16;
/// Bytes of a heap that are looked at together.
const AT_ONCE: u64 = 1 << 12;
/// Heaps whose objects are known at a time, at most.
const KNOWN: usize = 16;

/// Bytes from one of the file on.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub begin: u64,
    pub count: u64,
}

/// Objects of a heap by their numbers.
type Objects = HashMap<u16, Place>;

#[derive(Debug)]
pub struct Heaps {
    file: File,
    size: u64,
    /// What of the file was not taken yet. All is referred to once: what refers to an object again and again would have no end.
    left: Cell<u64>,
    known: RefCell<HashMap<u64, Objects>>,
}

impl Heaps {
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size, left: Cell::new(size), known: RefCell::default() })
    }

    /// How many bytes the file has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What part of the file was taken.
    pub fn progress(&self) -> f64 {
        (self.size - self.left.get()) as f64 / self.size.max(1) as f64
    }

    /// Reads bytes that were taken.
    pub fn read(&self, begin: u64, to: &mut [u8]) -> Result<()> {
        match self.file.read_exact_at(to, begin) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => damaged!("its end after byte {begin}"),
            read => Ok(read?),
        }
    }

    /// The same, in memory.
    pub fn bytes(&self, place: Place) -> Result<Vec<u8>> {
        let mut made = Vec::new();
        let count = place.count as usize;
        made.try_reserve_exact(count).with_context(|| format!("no memory for {count} bytes"))?;
        made.resize(count, 0);
        self.read(place.begin, &mut made)?;
        Ok(made)
    }

    /// Takes bytes, which the file must have.
    pub fn take(&self, begin: u64, count: u64) -> Result<Place> {
        if begin.checked_add(count).is_none_or(|end| end > self.size) {
            damaged!("its end at byte {}, where {count} bytes from byte {begin} on do not fit", self.size);
        }
        match self.left.get().checked_sub(count) {
            Some(left) => self.left.set(left),
            None => damaged!("more values than a file of its size has"),
        }
        Ok(Place { begin, count })
    }

    /// Takes so many bytes of an object.
    pub fn object(&self, heap: u64, number: u16, count: u64) -> Result<Place> {
        let mut known = self.known.borrow_mut();
        if !known.contains_key(&heap) {
            if known.len() >= KNOWN {
                known.clear();
            }
            known.insert(heap, self.objects(heap)?);
        }
        match known[&heap].get(&number) {
            Some(place) if place.count >= count => self.take(place.begin, count),
            _ => damaged!("no {count} bytes in object {number} of the heap at byte {heap}"),
        }
    }

    fn objects(&self, heap: u64) -> Result<Objects> {
        let mut window = vec![0; HEAD];
        if heap.checked_add(HEAD as u64).is_none_or(|end| end > self.size) {
            damaged!("no heap at byte {heap}");
        }
        self.read(heap, &mut window)?;
        let size = long(&window, 8);
        if &window[..4] != MAGIC || window[4] != 1 || size > self.size - heap {
            damaged!("no heap at byte {heap}");
        }
        let (end, mut objects) = (heap + size, Objects::new());
        let (mut at, mut first) = (heap + HEAD as u64, heap);
        while at + HEAD as u64 <= end {
            if at + HEAD as u64 > first + window.len() as u64 {
                window.resize((end - at).min(AT_ONCE) as usize, 0);
                self.read(at, &mut window)?;
                first = at;
            }
            let head = &window[(at - first) as usize..];
            let (number, length) = (u16::from_le_bytes([head[0], head[1]]), long(head, 8));
            let begin = at + HEAD as u64;
            // What is free has no number, and its own head is of its length.
            let step = if number == 0 {
                length
            } else {
                objects.insert(number, Place { begin, count: length.min(end - begin) });
                length.checked_next_multiple_of(8).and_then(|n| n.checked_add(HEAD as u64)).unwrap_or(u64::MAX)
            };
            if step < HEAD as u64 {
                damaged!("an object of {length} bytes in the heap at byte {heap}");
            }
            at = at.saturating_add(step).min(end);
        }
        Ok(objects)
    }
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|k| bytes[at + k]))
}
