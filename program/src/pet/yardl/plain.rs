//! Where a file is without compression.

use super::damaged;
use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// What gzip's files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];
const AT_ONCE: usize = 1 << 20;

/// A file, or a copy of one that gzip compressed, which is removed at last.
#[derive(Debug)]
pub enum Plain {
    Itself(PathBuf),
    Copy(NamedTempFile),
}

impl Plain {
    pub fn of(path: &Path) -> Result<Self> {
        let mut file = File::open(path)?;
        let mut begin = Vec::new();
        if file.metadata()?.is_file() {
            (&mut file).take(GZIP.len() as u64).read_to_end(&mut begin)?;
        }
        if begin != GZIP {
            return Ok(Self::Itself(path.into()));
        }
        file.rewind()?;
        let mut made = NamedTempFile::new().context("no temporary file for what is compressed by gzip")?;
        match std::io::copy(&mut MultiGzDecoder::new(BufReader::with_capacity(AT_ONCE, file)), &mut made) {
            Ok(_) => Ok(Self::Copy(made)),
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof
                ) =>
            {
                damaged!("it is compressed by gzip, and damaged: {error}")
            }
            Err(error) => Err(error).with_context(|| {
                format!("it is compressed by gzip, and cannot be unpacked in {}", std::env::temp_dir().display())
            }),
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Itself(path) => path,
            Self::Copy(file) => file.path(),
        }
    }
}
