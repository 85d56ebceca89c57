//! A file's bytes, of which few are in memory at a time.

use super::damaged;
use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes that are asked of a file at a time.
const AT_ONCE: usize = 1 << 20;

/// What gzip's files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What is in a file that gzip compressed, in a temporary file that nothing names.
fn unpacked(mut file: File) -> Result<File> {
    let mut begin = Vec::new();
    (&mut file).take(GZIP.len() as u64).read_to_end(&mut begin)?;
    file.rewind()?;
    if begin != GZIP {
        return Ok(file);
    }
    let mut made = tempfile::tempfile().context("no temporary file for what is compressed by gzip")?;
    let copied = std::io::copy(&mut MultiGzDecoder::new(BufReader::with_capacity(AT_ONCE, file)), &mut made);
    match copied.map_err(|error| (error.kind(), error)) {
        Ok(_) => {}
        Err((ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof, error)) => {
            damaged!("it is compressed by gzip, and damaged: {error}")
        }
        Err((_, error)) => {
            return Err(error).with_context(|| {
                format!("it is compressed by gzip, and cannot be unpacked in {}", std::env::temp_dir().display())
            });
        }
    }
    made.rewind()?;
    Ok(made)
}

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
        if !file.metadata()?.is_file() {
            damaged!("it is no regular file");
        }
        let file = unpacked(file)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size, before: 0, data: Vec::new(), at: 0 })
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
    pub fn skip(&mut self, count: u64) -> Result<()> {
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

    pub fn text(&mut self) -> Result<String> {
        let count = self.count()? as usize;
        let bytes = self.take(count)?.to_vec();
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => damaged!("a text that is none before byte {}", self.place()),
        }
    }
}
