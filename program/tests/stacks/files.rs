//! Image files that the tests write, byte by byte.

use std::io::Write;
use std::path::Path;

/// How an image's values are put into pieces of a TIFF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pieces {
    /// Strips of so many rows, one behind the other.
    Strips(usize),
    /// Strips of so many rows, with bytes between, the last first.
    Scattered(usize),
    /// Tiles of so many rows and bins.
    Tiles(usize, usize),
}

/// How pieces are made fewer bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    None,
    Lzw,
    Deflate,
    PackBits,
    Zstd,
}

/// How a TIFF file is written.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub big_endian: bool,
    pub big_tiff: bool,
    pub pieces: Pieces,
    pub packing: Packing,
    /// Differences of neighbours, of floating point those of bytes.
    pub differences: bool,
    /// Bits of a value, and 1, 2 or 3: unsigned, signed, floating point.
    pub bits: u16,
    pub form: u16,
}

pub const PLAIN: Layout = Layout {
    big_endian: false,
    big_tiff: false,
    pieces: Pieces::Strips(1 << 20),
    packing: Packing::None,
    differences: false,
    bits: 16,
    form: 1,
};

/// Values of a kind, in some order of bytes: those that the kind can hold.
pub fn bytes(values: &[u16], bits: u16, form: u16, big_endian: bool) -> Vec<u8> {
    let one = |v: &u16| {
        let mut bytes = match (bits, form) {
            (8, 1) => vec![*v as u8],
            (8, 2) => vec![*v as i8 as u8],
            (16, 1) => v.to_le_bytes().to_vec(),
            (16, 2) => (*v as i16).to_le_bytes().to_vec(),
            (32, 1) => u32::from(*v).to_le_bytes().to_vec(),
            (32, 2) => i32::from(*v as i16).to_le_bytes().to_vec(),
            (32, 3) => f32::from(*v).to_le_bytes().to_vec(),
            (64, 1) => u64::from(*v).to_le_bytes().to_vec(),
            (64, 2) => i64::from(*v as i16).to_le_bytes().to_vec(),
            _ => f64::from(*v).to_le_bytes().to_vec(),
        };
        if big_endian {
            bytes.reverse();
        }
        bytes
    };
    values.iter().flat_map(one).collect()
}

/// A file that grows, and numbers in its order of bytes.
struct Writer {
    file: Vec<u8>,
    layout: Layout,
}

impl Writer {
    fn number(&self, value: u64, size: usize) -> Vec<u8> {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if self.layout.big_endian {
            bytes.reverse();
        }
        bytes
    }

    fn offset_size(&self) -> usize {
        if self.layout.big_tiff { 8 } else { 4 }
    }

    /// A piece, packed; where it begins and how long it is.
    fn piece(&mut self, rows: &[Vec<u8>]) -> [u64; 2] {
        let size = usize::from(self.layout.bits / 8);
        let order = |bytes: &[u8]| {
            let mut bytes = bytes.to_vec();
            if self.layout.big_endian {
                bytes.reverse();
            }
            bytes.resize(8, 0);
            u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
        };
        let less = |values: Vec<u64>| -> Vec<u64> {
            (0..values.len()).map(|k| values[k].wrapping_sub(if k > 0 { values[k - 1] } else { 0 })).collect()
        };
        let differences = |row: &Vec<u8>| -> Vec<u8> {
            let values: Vec<u64> = row.chunks_exact(size).map(order).collect();
            if self.layout.form == 3 {
                let planes = (0..size).rev().flat_map(|b| values.iter().map(move |v| v >> (8 * b) & 0xff));
                return less(planes.collect()).into_iter().map(|byte| byte as u8).collect();
            }
            less(values).into_iter().flat_map(|value| self.number(value, size)).collect()
        };
        let rows: Vec<Vec<u8>> = match self.layout.differences {
            true => rows.iter().map(differences).collect(),
            false => rows.to_vec(),
        };
        let bytes = rows.concat();
        let packed = match self.layout.packing {
            Packing::None => bytes,
            Packing::Lzw => {
                weezl::encode::Encoder::with_tiff_size_switch(weezl::BitOrder::Msb, 8).encode(&bytes).expect("packed")
            }
            Packing::Deflate => {
                let mut packer = libdeflater::Compressor::new(libdeflater::CompressionLvl::fastest());
                let mut packed = vec![0; packer.zlib_compress_bound(bytes.len())];
                let length = packer.zlib_compress(&bytes, &mut packed).expect("packed");
                packed.truncate(length);
                packed
            }
            // Literals, and runs where four bytes are one.
            Packing::PackBits => bytes
                .chunks(4)
                .flat_map(|part| match part {
                    [a, b, c, d] if a == b && b == c && c == d => vec![(-3i8) as u8, *a],
                    part => [&[part.len() as u8 - 1], part].concat(),
                })
                .collect(),
            Packing::Zstd => zstd::bulk::compress(&bytes, 1).expect("packed"),
        };
        let at = self.file.len() as u64;
        self.file.extend(&packed);
        [at, packed.len() as u64]
    }

    /// Pieces of an image: rows and bins of each, and where they are.
    fn pieces(&mut self, rows: &[Vec<u8>], bins: usize) -> ([usize; 2], Vec<[u64; 2]>) {
        let size = usize::from(self.layout.bits / 8);
        match self.layout.pieces {
            Pieces::Strips(high) => ([high, bins], rows.chunks(high).map(|rows| self.piece(rows)).collect()),
            Pieces::Scattered(high) => {
                let mut places: Vec<_> = rows
                    .chunks(high)
                    .rev()
                    .map(|rows| {
                        self.file.extend([0xee; 5]);
                        self.piece(rows)
                    })
                    .collect();
                places.reverse();
                ([high, bins], places)
            }
            Pieces::Tiles(high, wide) => {
                let mut places = Vec::new();
                for rows in rows.chunks(high) {
                    for left in (0..bins).step_by(wide) {
                        let mut tile = vec![vec![0; wide * size]; high];
                        for (to, from) in tile.iter_mut().zip(rows) {
                            let part = &from[left * size..((left + wide) * size).min(from.len())];
                            to[..part.len()].copy_from_slice(part);
                        }
                        places.push(self.piece(&tile));
                    }
                }
                ([high, wide], places)
            }
        }
    }

    /// A directory; where the offset of the next one is to be written.
    fn directory(&mut self, tags: &[(u16, u16, Vec<u8>)]) -> usize {
        let size = self.offset_size();
        // Values that do not fit go before it.
        let mut entries = Vec::new();
        for (tag, kind, values) in tags {
            let each = [0, 1, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8][usize::from(*kind)];
            let mut value = values.clone();
            if values.len() > size {
                let at = self.file.len() as u64;
                self.file.extend(values);
                value = self.number(at, size);
            }
            value.resize(size, 0);
            let count = self.number((values.len() / each) as u64, size);
            entries.push([self.number(u64::from(*tag), 2), self.number(u64::from(*kind), 2), count, value].concat());
        }
        let count = self.number(entries.len() as u64, if self.layout.big_tiff { 8 } else { 2 });
        self.file.extend([count, entries.concat()].concat());
        let next = self.file.len();
        self.file.extend(vec![0; size]);
        next
    }

    /// Writes a place into the bytes that are kept for it.
    fn point(&mut self, at: usize, to: usize) {
        let size = self.offset_size();
        let to = self.number(to as u64, size);
        self.file[at..at + size].copy_from_slice(&to);
    }
}

/// Writes images, each (rows, bins) of them, into a TIFF file; with a description, and `more` bytes behind the first image's values.
pub fn tiff(path: &Path, images: &[&[u16]], bins: usize, layout: Layout, description: &str, more: &[u8]) {
    let mut writer = Writer { file: Vec::new(), layout };
    let mark = if layout.big_endian { b"MM" } else { b"II" };
    writer.file.extend(mark);
    let version = writer.number(if layout.big_tiff { 43 } else { 42 }, 2);
    writer.file.extend(version);
    if layout.big_tiff {
        let sizes = [writer.number(8, 2), writer.number(0, 2)].concat();
        writer.file.extend(sizes);
    }
    let mut link = writer.file.len();
    writer.file.extend(vec![0; writer.offset_size()]);
    for (k, values) in images.iter().enumerate() {
        let rows = values.chunks(bins).map(|row| bytes(row, layout.bits, layout.form, layout.big_endian));
        let rows: Vec<_> = rows.collect();
        let ([high, wide], places) = writer.pieces(&rows, bins);
        if k == 0 {
            writer.file.extend(more);
        }
        let short = |value: u64| (3, writer.number(value, 2));
        let long = |value: usize| (4, writer.number(value as u64, 4));
        let wide_type = if layout.big_tiff { 16 } else { 4 };
        let list =
            |d: usize| (wide_type, places.iter().flat_map(|p| writer.number(p[d], writer.offset_size())).collect());
        let packing = match layout.packing {
            Packing::None => 1,
            Packing::Lzw => 5,
            Packing::Deflate => 8,
            Packing::PackBits => 32773,
            Packing::Zstd => 50000,
        };
        let mut tags = vec![
            (256, long(bins)),
            (257, long(rows.len())),
            (258, short(u64::from(layout.bits))),
            (259, short(packing)),
            (262, short(1)),
            (277, short(1)),
            (339, short(u64::from(layout.form))),
        ];
        if layout.differences {
            tags.push((317, short(if layout.form == 3 { 3 } else { 2 })));
        }
        if !description.is_empty() {
            tags.push((270, (2, [description.as_bytes(), &[0]].concat())));
        }
        if matches!(layout.pieces, Pieces::Tiles(..)) {
            tags.extend([(322, long(wide)), (323, long(high)), (324, list(0)), (325, list(1))]);
        } else {
            tags.extend([(278, long(high)), (273, list(0)), (279, list(1))]);
        }
        tags.sort_by_key(|(tag, _)| *tag);
        let tags: Vec<_> = tags.into_iter().map(|(tag, (kind, value))| (tag, kind, value)).collect();
        // Values of the directory that do not fit into it come first.
        let before = writer.file.len();
        let next = writer.directory(&tags);
        let entry = if layout.big_tiff { 20 } else { 12 };
        let count = if layout.big_tiff { 8 } else { 2 };
        let start = next - tags.len() * entry - count;
        assert!(start >= before);
        writer.point(link, start);
        link = next;
    }
    std::fs::write(path, writer.file).expect("a file");
}

/// Writes images into an EDF file, with more lines in each header.
pub fn edf(path: &Path, images: &[Vec<u8>], [rows, bins]: [usize; 2], kind: &str, big_endian: bool, more: &str) {
    let mut file = Vec::new();
    let order = if big_endian { "HighByteFirst" } else { "LowByteFirst" };
    for (k, values) in images.iter().enumerate() {
        let text = format!(
            "{{\nHeaderID = EH:{:06}:000000:000000 ;\nImage = {} ;\nByteOrder = {order} ;\nDataType = {kind} ;\nDim_1 = {bins} ;\nDim_2 = {rows} ;\n{more}",
            k + 1,
            k + 1
        );
        let length = (text.len() + 2).next_multiple_of(512);
        writeln!(file, "{text:width$}}}", width = length - 2).expect("a header");
        file.extend(values);
    }
    std::fs::write(path, file).expect("a file");
}
