//! The filters of an HDF5 dataset's chunks, decoded without the HDF5 library, and the codecs of TIFF.

mod bitshuffle;
mod blocks;
mod blosc;
mod blosclz;
mod copy;
mod fletcher32;
mod lzf;
mod lzw;
mod packbits;
mod shuffle;

use crate::memory::at_least;
use anyhow::{Context, Result, ensure};
use hdf5_metno::Dataset;
use hdf5_metno_sys::h5p::{H5Pget_filter2, H5Pget_nfilters};

/// How bytes were made fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// A zlib stream.
    Deflate,
    /// An LZ4 block, without its frame.
    Lz4,
    Lzf,
    BloscLz,
    Zstd,
    /// As in TIFF.
    Lzw,
    PackBits,
}

impl Codec {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deflate => "deflate",
            Self::Lz4 => "LZ4",
            Self::Lzf => "LZF",
            Self::BloscLz => "Blosc",
            Self::Zstd => "zstd",
            Self::Lzw => "LZW",
            Self::PackBits => "PackBits",
        }
    }

    /// Bytes that so many decode to, at most: what a file says of its sizes is compared with it before there is memory for them.
    pub fn most(self, bytes: u64) -> u64 {
        let times = match self {
            // Repetitions of 258 bytes that take two bits.
            Self::Deflate => 1032,
            // Bytes of a length, each of which adds so many.
            Self::Lz4 | Self::BloscLz => 255,
            // Repetitions of 264 bytes that take three.
            Self::Lzf => 88,
            // Blocks of 128 KiB of one value that take four.
            Self::Zstd => 32768,
            // The longest texts of the table, and nine bits.
            Self::Lzw => 4096,
            // Runs of 128 that take two.
            Self::PackBits => 64,
        };
        bytes.saturating_mul(times)
    }

    /// Decodes what fills `to`.
    fn decode(self, from: &[u8], to: &mut [u8], codecs: &mut Codecs) -> Result<()> {
        let length = self.decode_some(from, to, codecs)?;
        ensure!(length == to.len(), "{length} bytes are decoded where {} are needed", to.len());
        Ok(())
    }

    /// Decodes up to as many bytes as `to` has; how many they are.
    pub fn decode_some(self, from: &[u8], to: &mut [u8], codecs: &mut Codecs) -> Result<usize> {
        Ok(match self {
            Self::Deflate => codecs.deflate.zlib_decompress(from, to).context("a damaged deflate stream")?,
            Self::Lz4 => lz4::block::decompress_to_buffer(from, Some(i32::try_from(to.len())?), to)
                .context("a damaged LZ4 block")?,
            Self::Lzf => lzf::decode(from, to).context("damaged LZF data")?,
            Self::BloscLz => blosclz::decode(from, to).context("damaged BloscLZ data")?,
            Self::Zstd => codecs.zstd.decompress_to_buffer(from, to).context("a damaged zstd frame")?,
            Self::Lzw => lzw::decode(from, to).context("damaged LZW data")?,
            Self::PackBits => packbits::decode(from, to).context("damaged PackBits data")?,
        })
    }
}

/// What the codecs keep between calls.
pub struct Codecs {
    deflate: libdeflater::Decompressor,
    zstd: zstd::bulk::Decompressor<'static>,
}

impl Codecs {
    pub fn new() -> Result<Self> {
        Ok(Self { deflate: libdeflater::Decompressor::new(), zstd: zstd::bulk::Decompressor::new()? })
    }
}

/// One filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Bytes of elements of this size, first the first byte of each.
    Shuffle(usize),
    /// Checksum at the end.
    Fletcher32,
    /// All bytes of a chunk at once.
    Whole(Codec),
    /// LZ4 in blocks, the length of each before it.
    Lz4Blocks,
    /// Bits of elements of this size, in blocks of so many elements, first the first bit of each.
    Bitshuffle {
        size: usize,
        block: usize,
    },
    /// The same, each block compressed.
    CompressedBitshuffle {
        size: usize,
        codec: Codec,
    },
    Blosc,
}

impl Stage {
    /// Of a filter of elements of this size, by its number and options; nothing if it is not known here.
    fn of(filter: i32, options: &[u32], size: usize) -> Option<Self> {
        Some(match filter {
            1 => Self::Whole(Codec::Deflate),
            2 => Self::Shuffle(size),
            3 => Self::Fletcher32,
            32000 => Self::Whole(Codec::Lzf),
            // Snappy is left to the HDF5 library.
            32001 if options.get(6) != Some(&3) => Self::Blosc,
            32004 => Self::Lz4Blocks,
            32008 => {
                let size = *options.get(2).filter(|&&size| size > 0)? as usize;
                match options.get(4).copied().unwrap_or(0) {
                    0 => {
                        let asked = options.get(3).copied().unwrap_or(0) as usize;
                        Self::Bitshuffle { size, block: bitshuffle::block(asked, size) }
                    }
                    2 => Self::CompressedBitshuffle { size, codec: Codec::Lz4 },
                    3 => Self::CompressedBitshuffle { size, codec: Codec::Zstd },
                    _ => return None,
                }
            }
            32015 => Self::Whole(Codec::Zstd),
            _ => return None,
        })
    }

    /// Whether the length of what comes out says nothing of what went in.
    fn compresses(self) -> bool {
        !matches!(self, Self::Shuffle(_) | Self::Fletcher32 | Self::Bitshuffle { .. })
    }

    /// Bytes that so many decode to, at most.
    fn most(self, bytes: u64) -> u64 {
        match self {
            Self::Shuffle(_) | Self::Fletcher32 | Self::Bitshuffle { .. } => bytes,
            Self::Whole(codec) | Self::CompressedBitshuffle { codec, .. } => codec.most(bytes),
            Self::Lz4Blocks => Codec::Lz4.most(bytes),
            // Whatever its data say that they are compressed by.
            Self::Blosc => Codec::Zstd.most(bytes),
        }
    }

    /// What it is called.
    fn name(self) -> &'static str {
        match self {
            Self::Shuffle(_) => "shuffle",
            Self::Fletcher32 => "fletcher32",
            Self::Whole(codec) => codec.name(),
            Self::Lz4Blocks => "LZ4",
            Self::Blosc => "Blosc",
            Self::Bitshuffle { .. } => "bitshuffle",
            Self::CompressedBitshuffle { codec: Codec::Zstd, .. } => "bitshuffle/zstd",
            Self::CompressedBitshuffle { .. } => "bitshuffle/LZ4",
        }
    }

    fn decode(self, from: &[u8], to: &mut [u8], tools: &mut Tools) -> Result<()> {
        let Tools { codecs, spare } = tools;
        match self {
            Self::Shuffle(size) => {
                ensure!(from.len() == to.len(), "{} bytes where {} are needed", from.len(), to.len());
                shuffle::decode(from, to, size);
                Ok(())
            }
            Self::Fletcher32 => {
                let data = fletcher32::checked(from)?;
                ensure!(data.len() == to.len(), "{} bytes where {} are needed", data.len(), to.len());
                to.copy_from_slice(data);
                Ok(())
            }
            Self::Whole(codec) => codec.decode(from, to, codecs),
            Self::Lz4Blocks => blocks::decode(from, to, codecs),
            Self::Bitshuffle { size, block } => {
                ensure!(from.len() == to.len(), "{} bytes where {} are needed", from.len(), to.len());
                bitshuffle::decode(from, to, size, block, spare)
            }
            Self::CompressedBitshuffle { size, codec } => bitshuffle::decompress(from, to, size, codec, tools),
            Self::Blosc => blosc::decode(from, to, tools),
        }
    }
}

/// What decoding a filter needs besides its data.
struct Tools {
    codecs: Codecs,
    spare: Vec<u8>,
}

/// What a thread keeps between chunks.
pub struct Workspace {
    /// The chunk as it is in the file, then what was decoded last.
    pub now: Vec<u8>,
    next: Vec<u8>,
    tools: Tools,
}

impl Workspace {
    pub fn new() -> Result<Self> {
        let tools = Tools { codecs: Codecs::new()?, spare: Vec::new() };
        Ok(Self { now: Vec::new(), next: Vec::new(), tools })
    }
}

/// Options of a filter that are looked at.
const OPTIONS: usize = 32;

/// All filters of a dataset.
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    stages: Vec<Stage>,
}

impl Pipeline {
    /// Of a dataset with elements of this size, in the order in which they were applied; nothing if one is not known here.
    pub fn of(dataset: &Dataset, size: usize) -> Result<Option<Self>> {
        let properties = dataset.dcpl()?;
        let filters = hdf5_metno::sync::sync(|| {
            // SAFETY: the library's lock is held, and the list is open.
            let count = unsafe { H5Pget_nfilters(properties.id()) };
            let count = u32::try_from(count).context("the list of filters is damaged")?;
            let filters = (0..count).map(|k| {
                let mut options = [0; OPTIONS];
                let (mut flags, mut given) = (0, OPTIONS);
                // SAFETY: as above; there is room for so many options, and none for a name.
                let filter = unsafe {
                    let (id, options) = (properties.id(), options.as_mut_ptr());
                    let null = std::ptr::null_mut();
                    H5Pget_filter2(id, k, &mut flags, &mut given, options, 0, null, null.cast())
                };
                (filter, options[..given.min(OPTIONS)].to_vec())
            });
            Ok::<_, anyhow::Error>(filters.collect::<Vec<_>>())
        })?;
        Ok(Self::of_filters(&filters, size))
    }

    /// Of filters' numbers and options.
    pub fn of_filters(filters: &[(i32, Vec<u32>)], size: usize) -> Option<Self> {
        let stages = filters.iter().map(|(filter, options)| Stage::of(*filter, options, size));
        let stages = stages.collect::<Option<Vec<_>>>()?;
        // What came between two that compress has a length that nobody noted.
        (stages.iter().filter(|stage| stage.compresses()).count() <= 1).then_some(Self { stages })
    }

    /// Bytes that a chunk of so many has in the file, if it passed no filter that compresses; bits of `skipped` are those that it did not pass.
    pub fn stored(&self, bytes: u64, skipped: u32) -> Option<u64> {
        let passed = self.stages.iter().enumerate().filter(|(k, _)| *k >= 32 || skipped & (1 << k) == 0);
        passed.map(|(_, stage)| stage).try_fold(bytes, |bytes, stage| match stage {
            Stage::Fletcher32 => Some(bytes + fletcher32::BYTES as u64),
            stage => (!stage.compresses()).then_some(bytes),
        })
    }

    /// Bytes that so many decode to, at most.
    pub fn most(&self, bytes: u64) -> u64 {
        self.stages.iter().fold(bytes, |bytes, stage| stage.most(bytes))
    }

    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// In words.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.stages.iter().map(|stage| stage.name()).collect();
        names.join(", ")
    }

    /// Decodes the chunk in the first `length` bytes of `workspace.now` into `to`, which it fills; bits of `skipped` are filters that
    /// it did not pass.
    pub fn decode(&self, workspace: &mut Workspace, length: usize, skipped: u32, to: &mut [u8]) -> Result<()> {
        let Workspace { now, next, tools } = workspace;
        // Bytes before each stage, where they are known.
        let mut stages = Vec::with_capacity(self.stages.len());
        let mut bytes = to.len();
        for (k, &stage) in self.stages.iter().enumerate() {
            if k < 32 && skipped & (1 << k) != 0 {
                continue;
            }
            stages.push((stage, bytes));
            bytes += if stage == Stage::Fletcher32 { fletcher32::BYTES } else { 0 };
        }
        let mut length = length;
        for (k, &(stage, bytes)) in stages.iter().enumerate().rev() {
            // Behind the one that compresses none but a checksum changes the length.
            let after = match stages[..k].iter().any(|(stage, _)| stage.compresses()) {
                true if stage == Stage::Fletcher32 => length.saturating_sub(fletcher32::BYTES),
                true => length,
                false => bytes,
            };
            if k == 0 {
                return stage.decode(&now[..length], to, tools).with_context(|| format!("filter {}", stage.name()));
            }
            at_least(next, after)?;
            stage
                .decode(&now[..length], &mut next[..after], tools)
                .with_context(|| format!("filter {}", stage.name()))?;
            std::mem::swap(now, next);
            length = after;
        }
        ensure!(length == to.len(), "{length} bytes where {} are needed", to.len());
        to.copy_from_slice(&now[..length]);
        Ok(())
    }
}
