//! A file's bytes, of which few are in memory at a time.

use super::damaged;
use super::kinds::{AXES, Kind};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes that are asked of a file at a time.
const AT_ONCE: usize = 1 << 20;

#[derive(Debug)]
pub struct Stream {
    file: File,
    size: u64,
    /// Bytes of the file before `data`.
    before: u64,
    data: Vec<u8>,
    at: usize,
}

impl Stream {
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            damaged!("it is no regular file");
        }
        Ok(Self { file, size: about.len(), before: 0, data: Vec::new(), at: 0 })
    }

    /// How many bytes the file has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The number of the next byte.
    pub fn place(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Bytes that are still to come.
    pub fn left(&self) -> u64 {
        self.size - self.place()
    }

    /// Bytes that are in memory.
    pub(super) fn seen(&self) -> &[u8] {
        &self.data[self.at..]
    }

    /// Leaves bytes out that are in memory.
    pub(super) fn pass(&mut self, count: usize) {
        self.at += count;
    }

    /// Whether so many bytes follow, and are these.
    pub(super) fn begins_with(&mut self, bytes: &[u8]) -> Result<bool> {
        if self.left() < bytes.len() as u64 {
            return Ok(false);
        }
        self.fill(bytes.len())?;
        Ok(self.seen().starts_with(bytes))
    }

    /// Brings so many bytes into memory at least.
    pub(super) fn fill(&mut self, count: usize) -> Result<()> {
        let have = self.data.len() - self.at;
        if have >= count {
            return Ok(());
        }
        if count as u64 > self.left() {
            damaged!("its end at byte {}", self.size);
        }
        self.before += self.at as u64;
        self.data.drain(..self.at);
        self.at = 0;
        let more = (count - have).max(AT_ONCE);
        self.data.try_reserve(more).with_context(|| format!("no memory for {more} bytes"))?;
        (&mut self.file).take(more as u64).read_to_end(&mut self.data)?;
        if self.data.len() < count {
            self.size = self.before + self.data.len() as u64;
            damaged!("its end at byte {}", self.size);
        }
        Ok(())
    }

    pub fn take(&mut self, count: usize) -> Result<&[u8]> {
        self.fill(count)?;
        self.at += count;
        Ok(&self.data[self.at - count..self.at])
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut made = [0; N];
        made.copy_from_slice(self.take(N)?);
        Ok(made)
    }

    /// Goes on after so many bytes.
    pub(super) fn pass_over(&mut self, count: u64) -> Result<()> {
        if count > self.left() {
            damaged!("its end at byte {}", self.size);
        }
        let have = (self.data.len() - self.at) as u64;
        if count <= have {
            self.at += count as usize;
            return Ok(());
        }
        let to = self.place() + count;
        match self.file.seek(SeekFrom::Start(to)) {
            Err(error) if error.kind() == ErrorKind::InvalidInput => damaged!("its end at byte {}", self.size),
            sought => drop(sought?),
        }
        self.data.clear();
        (self.before, self.at) = (to, 0);
        Ok(())
    }

    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// A number of 7 bits a byte.
    pub fn whole(&mut self, bits: u32) -> Result<u64> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.byte()?;
            let part = u64::from(byte & 127);
            if shift == 63 && part > 1 {
                damaged!("a number of more than {bits} bits before byte {}", self.place());
            }
            value |= part << shift;
            if byte < 128 {
                break;
            }
            shift += 7;
            if shift > 63 {
                damaged!("a number of more than 10 bytes before byte {}", self.place());
            }
        }
        if bits < 64 && value >> bits != 0 {
            damaged!("a number of more than {bits} bits before byte {}", self.place());
        }
        Ok(value)
    }

    /// How many there are of what takes a byte or more.
    pub fn count(&mut self) -> Result<u64> {
        let value = self.whole(64)?;
        self.room(value)?;
        Ok(value)
    }

    /// An error unless so many bytes are there, of as many of something.
    pub fn room(&self, count: u64) -> Result<()> {
        if count > self.left() {
            damaged!("its end at byte {}, where {count} of what begins at byte {} do not fit", self.size, self.place());
        }
        Ok(())
    }

    /// Which of so many cases of a union follows.
    pub fn case(&mut self, count: usize) -> Result<usize> {
        let at = usize::from(self.byte()?);
        if at >= count {
            damaged!("case {at} of {count} before byte {}", self.place());
        }
        Ok(at)
    }

    /// Of an array.
    pub(super) fn shape(&mut self, axes: Option<&[Option<u64>]>) -> Result<Vec<u64>> {
        let any;
        let axes = match axes {
            Some(axes) => axes,
            None => {
                let count = self.whole(64)?;
                if count > AXES as u64 {
                    damaged!("an array of {count} axes before byte {}", self.place());
                }
                any = vec![None; count as usize];
                &any
            }
        };
        axes.iter().map(|size| size.map_or_else(|| self.count(), Ok)).collect()
    }

    pub(super) fn number(&mut self, kind: &Kind) -> Result<f64> {
        let folded = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
        Ok(match kind {
            Kind::F32 => f32::from_le_bytes(self.array()?).into(),
            Kind::F64 => f64::from_le_bytes(self.array()?),
            Kind::I8 => (self.byte()? as i8).into(),
            Kind::U8 => self.byte()?.into(),
            Kind::Bool => f64::from(u8::from(self.byte()? != 0)),
            Kind::Whole(bits) => self.whole(*bits)? as f64,
            Kind::Folded(bits) => folded(self.whole(*bits)?) as f64,
            _ => damaged!("a schema with {kind} where a number must be"),
        })
    }

    pub fn text(&mut self) -> Result<String> {
        let count = self.count()? as usize;
        let bytes = self.take(count)?.to_vec();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => damaged!("a text that is none before byte {}", self.place()),
        }
    }
}
