//! Filters that HDF5 does not have, as encoders alone: the HDF5 library calls them when the tests write, and could not read the files.

mod library;

use hdf5_metno::dataset::DatasetBuilder;
use hdf5_metno_sys::h5z::{H5Z_CLASS_T_VERS, H5Z_class2_t, H5Zregister};
use library::library;
use std::ffi::CStr;
use std::os::raw::{c_int, c_uint, c_void};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoder {
    /// With one of `CODECS`, at a level, after nothing, bytes or bits were shuffled: 0, 1, 2.
    Blosc(&'static CStr, c_uint, c_uint),
    Lzf,
    Lz4,
    Zstd,
    Bitshuffle,
    BitshuffleLz4,
    BitshuffleZstd,
}

/// C-Blosc's, by their numbers.
const CODECS: [&CStr; 6] = [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"];

/// Bytes of a block of LZ4, so few that there are several.
const BLOCK: usize = 300;
/// Elements of a block of bitshuffle.
const ELEMENTS: usize = 128;

impl Encoder {
    pub const ALL: [Self; 14] = [
        Self::Lz4,
        Self::Zstd,
        Self::Bitshuffle,
        Self::BitshuffleLz4,
        Self::BitshuffleZstd,
        Self::Lzf,
        Self::Blosc(c"blosclz", 5, 1),
        Self::Blosc(c"lz4", 5, 1),
        Self::Blosc(c"lz4", 5, 0),
        Self::Blosc(c"lz4", 5, 2),
        Self::Blosc(c"zlib", 5, 1),
        Self::Blosc(c"zstd", 5, 2),
        Self::Blosc(c"lz4hc", 9, 1),
        // Stored, which does not fit where the chunk was: the library leaves the filter out.
        Self::Blosc(c"lz4", 0, 1),
    ];

    /// The filter's number.
    pub fn id(self) -> c_int {
        match self {
            Self::Lzf => 32000,
            Self::Blosc(..) => 32001,
            Self::Lz4 => 32004,
            Self::Zstd => 32015,
            _ => 32008,
        }
    }

    /// Whether it shuffles by itself.
    pub fn alone(self) -> bool {
        matches!(self.id(), 32001 | 32008)
    }

    /// Its options, for elements of this size.
    pub fn options(self, size: c_uint) -> Vec<c_uint> {
        match self {
            Self::Blosc(codec, level, shuffle) => {
                let number = CODECS.iter().position(|&name| name == codec).expect("a codec");
                vec![2, 2, size, 0, level, shuffle, number as c_uint]
            }
            Self::Lzf => vec![4, 262],
            Self::Bitshuffle => vec![0, 4, size, ELEMENTS as c_uint, 0],
            Self::BitshuffleLz4 => vec![0, 4, size, ELEMENTS as c_uint, 2],
            Self::BitshuffleZstd => vec![0, 4, size, 0, 3, 3],
            _ => vec![],
        }
    }

    /// A dataset of elements of this size passes it.
    pub fn add(self, to: DatasetBuilder, size: c_uint) -> DatasetBuilder {
        self.register();
        to.add_filter(self.id(), &self.options(size))
    }

    /// Makes it known to the HDF5 library.
    fn register(self) {
        let class = H5Z_class2_t {
            version: H5Z_CLASS_T_VERS as c_int,
            id: self.id(),
            encoder_present: 1,
            decoder_present: 0,
            name: c"a test's".as_ptr(),
            can_apply: None,
            set_local: None,
            filter: Some(match self {
                Self::Blosc(..) => blosc,
                Self::Lzf => lzf,
                Self::Lz4 => lz4,
                Self::Zstd => zstd,
                _ => bitshuffle,
            }),
        };
        // SAFETY: the library's lock is held, and the class is complete; the library copies it.
        let status = hdf5_metno::sync::sync(|| unsafe { H5Zregister(std::ptr::from_ref(&class).cast()) });
        assert!(status >= 0);
    }
}

/// Puts what `encode` makes of the library's buffer there; where that is nothing, says that it failed.
///
/// # Safety
/// The pointers are those that the library gives a filter.
unsafe fn exchange(
    flags: c_uint,
    bytes: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
    encode: impl FnOnce(&[u8]) -> Vec<u8>,
) -> usize {
    if flags & 0x100 != 0 {
        return 0;
    }
    // SAFETY: the library's buffer, which holds so many bytes and was made by malloc, as its successor has to be.
    unsafe {
        let encoded = encode(std::slice::from_raw_parts((*buffer).cast(), bytes));
        if encoded.is_empty() {
            return 0;
        }
        let successor = libc::malloc(encoded.len());
        std::ptr::copy_nonoverlapping(encoded.as_ptr(), successor.cast(), encoded.len());
        libc::free(*buffer);
        (*buffer, *size) = (successor, encoded.len());
        encoded.len()
    }
}

extern "C" fn blosc(
    flags: c_uint,
    count: usize,
    options: *const c_uint,
    bytes: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    // SAFETY: as many options as the library says.
    let options = unsafe { std::slice::from_raw_parts(options, count) };
    let (element, codec) = (options[2] as usize, CODECS[options[6] as usize].as_ptr());
    let (level, shuffle) = (options[4] as c_int, options[5] as c_int);
    let encode = |from: &[u8]| {
        fitting(from, |from, to, room| {
            // SAFETY: so many bytes are there.
            unsafe { (library().blosc)(codec, level, shuffle, element, room, from, to, room) }
        })
    };
    // SAFETY: what the library gives.
    unsafe { exchange(flags, bytes, size, buffer, encode) }
}

extern "C" fn lzf(
    flags: c_uint,
    _: usize,
    _: *const c_uint,
    bytes: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    let encode = |from: &[u8]| {
        fitting(from, |from, to, room| {
            // SAFETY: so many bytes are there.
            unsafe { (library().lzf)(room as c_uint, from, to, room as c_uint) }
        })
    };
    // SAFETY: what the library gives.
    unsafe { exchange(flags, bytes, size, buffer, encode) }
}

/// What an encoder writes where it has as much room as the bytes took; nothing if that does not do.
fn fitting(from: &[u8], encode: impl FnOnce(*const c_void, *mut c_void, usize) -> usize) -> Vec<u8> {
    let mut to = vec![0u8; from.len()];
    let written = encode(from.as_ptr().cast(), to.as_mut_ptr().cast(), from.len());
    to.truncate(written);
    to
}

extern "C" fn lz4(
    flags: c_uint,
    _: usize,
    _: *const c_uint,
    bytes: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    let encode = |from: &[u8]| {
        let mut to = (from.len() as u64).to_be_bytes().to_vec();
        to.extend((BLOCK as u32).to_be_bytes());
        for block in from.chunks(BLOCK) {
            let compressed = lz4_flex::block::compress(block);
            let kept = if compressed.len() < block.len() { &compressed } else { block };
            to.extend((kept.len() as u32).to_be_bytes());
            to.extend(kept);
        }
        to
    };
    // SAFETY: what the library gives.
    unsafe { exchange(flags, bytes, size, buffer, encode) }
}

extern "C" fn zstd(
    flags: c_uint,
    _: usize,
    _: *const c_uint,
    bytes: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    // SAFETY: what the library gives.
    unsafe { exchange(flags, bytes, size, buffer, |from| ::zstd::bulk::compress(from, 3).expect("compressed")) }
}

/// Bits of elements, bit by bit: all first bits, all second bits ...
fn bits(from: &[u8], size: usize) -> Vec<u8> {
    let count = from.len() / size;
    let mut to = vec![0; from.len()];
    for k in 0..count {
        for row in 0..8 * size {
            let bit = from[k * size + row / 8] >> (row % 8) & 1;
            to[row * (count / 8) + k / 8] |= bit << (k % 8);
        }
    }
    to
}

extern "C" fn bitshuffle(
    flags: c_uint,
    count: usize,
    options: *const c_uint,
    bytes: usize,
    size: *mut usize,
    buffer: *mut *mut c_void,
) -> usize {
    // SAFETY: as many options as the library says.
    let options = unsafe { std::slice::from_raw_parts(options, count) };
    let (element, codec) = (options[2] as usize, options[4]);
    let block = if options[3] == 0 { 8192 / element } else { options[3] as usize };
    let encode = |from: &[u8]| {
        let mut to = Vec::new();
        if codec != 0 {
            to.extend((from.len() as u64).to_be_bytes());
            to.extend(((block * element) as u32).to_be_bytes());
        }
        let mut rest = from;
        while rest.len() >= 8 * element {
            let length = (rest.len() / element / 8 * 8).min(block) * element;
            let shuffled = bits(&rest[..length], element);
            let kept = match codec {
                0 => shuffled,
                2 => lz4_flex::block::compress(&shuffled),
                _ => ::zstd::bulk::compress(&shuffled, 3).expect("compressed"),
            };
            if codec != 0 {
                to.extend((kept.len() as u32).to_be_bytes());
            }
            to.extend(kept);
            rest = &rest[length..];
        }
        to.extend(rest);
        to
    };
    // SAFETY: what the library gives.
    unsafe { exchange(flags, bytes, size, buffer, encode) }
}
