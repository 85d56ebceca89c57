//! What stands in front of the values: directories (IFDs), one a page, in this machine's byte order.

use super::super::Wanted;
use isocenter::array::DType;
use std::fmt::Write;

/// Kinds of fields.
#[derive(Clone, Copy)]
enum Kind {
    Byte = 1,
    Ascii = 2,
    Short = 3,
    Long = 4,
    Rational = 5,
    Long8 = 16,
}

/// A field of a directory.
struct Field {
    tag: u16,
    kind: Kind,
    count: u64,
    bytes: Vec<u8>,
}

/// Classic TIFF has 32 bits for places, BigTIFF 64.
#[derive(Clone, Copy, PartialEq)]
pub struct Head {
    big: bool,
    pages: usize,
}

/// Values begin at a multiple of this: of a page of memory.
const ALIGNED: u64 = 4096;
/// Directories of classic files are counted on to take no more, a page.
const DIRECTORY: u64 = 1024;

impl Head {
    /// Of a file with so many pages: BigTIFF only where it has to be, which fewer programs read.
    pub fn new(wanted: &Wanted, pages: usize) -> Self {
        let bytes = pages as u64 * (wanted.slice() as u64 + DIRECTORY) + 2 * ALIGNED;
        Self { big: bytes > u64::from(u32::MAX), pages }
    }

    /// All bytes in front of the values.
    pub fn bytes(self, wanted: &Wanted) -> Vec<u8> {
        let length = self.written(wanted, 0).len() as u64;
        let values = if self.pages > 1 { length.next_multiple_of(ALIGNED) } else { length.next_multiple_of(16) };
        let mut bytes = self.written(wanted, values);
        bytes.resize(values as usize, 0);
        bytes
    }

    fn written(self, wanted: &Wanted, values: u64) -> Vec<u8> {
        let mut to = if cfg!(target_endian = "little") { b"II".to_vec() } else { b"MM".to_vec() };
        if self.big {
            to.extend(43u16.to_ne_bytes());
            to.extend(8u16.to_ne_bytes());
            to.extend(0u16.to_ne_bytes());
        } else {
            to.extend(42u16.to_ne_bytes());
        }
        let first = to.len() + self.word();
        self.place(&mut to, first as u64);
        for page in 0..self.pages {
            let fields = self.fields(wanted, page, values + (page * wanted.slice()) as u64);
            self.directory(&mut to, &fields, page + 1 == self.pages);
        }
        to
    }

    /// Bytes of a place.
    fn word(self) -> usize {
        if self.big { 8 } else { 4 }
    }

    fn place(self, to: &mut Vec<u8>, at: u64) {
        if self.big { to.extend(at.to_ne_bytes()) } else { to.extend((at as u32).to_ne_bytes()) }
    }

    fn directory(self, to: &mut Vec<u8>, fields: &[Field], last: bool) {
        let word = self.word();
        let (count, each) = if self.big { (8, 20) } else { (2, 12) };
        // Longer values stand behind the directory.
        let mut behind = to.len() + count + fields.len() * each + word;
        let next = behind + fields.iter().map(|field| self.behind(field)).sum::<usize>();
        if self.big {
            to.extend((fields.len() as u64).to_ne_bytes());
        } else {
            to.extend((fields.len() as u16).to_ne_bytes());
        }
        for field in fields {
            to.extend(field.tag.to_ne_bytes());
            to.extend((field.kind as u16).to_ne_bytes());
            self.place(to, field.count);
            if self.behind(field) == 0 {
                to.extend(&field.bytes);
                to.resize(to.len() + word - field.bytes.len(), 0);
            } else {
                self.place(to, behind as u64);
                behind += self.behind(field);
            }
        }
        self.place(to, if last { 0 } else { next as u64 });
        for field in fields.iter().filter(|field| self.behind(field) > 0) {
            to.extend(&field.bytes);
            to.resize(to.len() + self.behind(field) - field.bytes.len(), 0);
        }
    }

    /// Bytes of a field's value behind its directory.
    fn behind(self, field: &Field) -> usize {
        if field.bytes.len() <= self.word() { 0 } else { field.bytes.len().next_multiple_of(8) }
    }

    fn fields(self, wanted: &Wanted, page: usize, at: u64) -> Vec<Field> {
        let Wanted { shape: [_, rows, columns], dtype, about, .. } = *wanted;
        let short = |tag, v: u16| Field { tag, kind: Kind::Short, count: 1, bytes: v.to_ne_bytes().to_vec() };
        let long = |tag, v: usize| Field { tag, kind: Kind::Long, count: 1, bytes: (v as u32).to_ne_bytes().to_vec() };
        let place = |tag, v: u64| {
            let mut bytes = Vec::new();
            self.place(&mut bytes, v);
            Field { tag, kind: if self.big { Kind::Long8 } else { Kind::Long }, count: 1, bytes }
        };
        let ascii = |tag, text: &str| {
            let bytes: Vec<u8> = text.bytes().chain([0]).collect();
            Field { tag, kind: Kind::Ascii, count: bytes.len() as u64, bytes }
        };
        let mut fields = vec![
            long(256, columns),
            long(257, rows),
            short(258, 8 * dtype.size() as u16),
            // Uncompressed, black is 0.
            short(259, 1),
            short(262, 1),
        ];
        if page == 0 {
            fields.push(ascii(270, &self.description(wanted)));
        }
        fields.push(place(273, at));
        fields.push(short(277, 1));
        fields.push(long(278, rows));
        fields.push(place(279, wanted.slice() as u64));
        if let Some([_, side]) = about.places.millimetres() {
            let resolution = rational(MM_OF_CM / side);
            let field = |tag| Field { tag, kind: Kind::Rational, count: 1, bytes: resolution.clone() };
            // Pixels a centimetre.
            fields.extend([field(282), field(283), short(296, 3)]);
        }
        fields.push(ascii(305, concat!("isocenter ", env!("CARGO_PKG_VERSION"))));
        fields.push(short(339, if dtype == DType::F32 { 3 } else { 1 }));
        if page == 0 && !about.labels.is_empty() {
            fields.extend(labels(about.labels));
        }
        fields
    }

    /// As ImageJ has it: a stack, its spacing in the unit of the resolution, and what integers mean, c0 + c1 value.
    fn description(self, wanted: &Wanted) -> String {
        let Wanted { dtype, about, .. } = *wanted;
        let mut text = String::from("ImageJ=1.54f\n");
        if self.pages > 1 {
            let _ = writeln!(text, "images={0}\nslices={0}\nloop=false", self.pages);
        }
        if let Some([apart, _]) = about.places.millimetres() {
            // In as many digits as it has.
            let _ = writeln!(text, "unit=cm\nspacing={}", (apart / MM_OF_CM) as f32);
        }
        if dtype != DType::F32 {
            let [slope, offset] = about.scale;
            let unit = if about.places.known { "1/mm" } else { "1/pixel" };
            let _ = writeln!(text, "cf=0\nc0={offset}\nc1={slope}\nvunit={unit}");
        }
        text
    }
}

const MM_OF_CM: f64 = 10.0;

/// ImageJ's names of slices: the lengths of a head and of each name, and these, in UTF-16.
fn labels(labels: &[String]) -> [Field; 2] {
    let word = |text: &[u8; 4]| u32::from_be_bytes(*text).to_ne_bytes();
    let mut bytes = [word(b"IJIJ"), word(b"labl"), (labels.len() as u32).to_ne_bytes()].concat();
    let mut lengths = (bytes.len() as u32).to_ne_bytes().to_vec();
    for label in labels {
        let text: Vec<u8> = label.encode_utf16().flat_map(u16::to_ne_bytes).collect();
        lengths.extend((text.len() as u32).to_ne_bytes());
        bytes.extend(text);
    }
    [
        Field { tag: 50838, kind: Kind::Long, count: 1 + labels.len() as u64, bytes: lengths },
        Field { tag: 50839, kind: Kind::Byte, count: bytes.len() as u64, bytes },
    ]
}

/// A fraction of two 32-bit numbers.
fn rational(value: f64) -> Vec<u8> {
    let most = f64::from(u32::MAX);
    let below = (most / value.max(1.0)).floor().clamp(1.0, 1e6);
    let above = (value * below).round().clamp(0.0, most);
    [above as u32, below as u32].into_iter().flat_map(u32::to_ne_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::{About, Compression, Format, Places};
    use super::*;
    use std::os::unix::fs::FileExt;
    use tiff::decoder::{Decoder, DecodingResult};

    /// More than 4 GB of pages take 64 bits for their places. The file has holes but for its last page.
    #[test]
    fn large_files_of_pages() {
        for (pages, magic) in [(4000, 42), (4100, 43)] {
            let path = std::env::temp_dir().join(format!("isocenter-pages-{pages}-{}", std::process::id()));
            let places = Places { step: [0.002; 3], first: [0.0; 3], known: true };
            let about = About { title: None, places, row: 0, scale: [1.0, 0.0], plan: "", labels: &[] };
            let (shape, dtype) = ([pages, 1024, 1024], DType::U8);
            let (format, compression) = (Format::Tiff, Compression::None);
            let wanted = Wanted { path: &path, format, compression, shape, dtype, block: 128, about };
            let head = Head::new(&wanted, pages).bytes(&wanted);
            assert_eq!(head[2], magic);
            let last: Vec<u8> = (0..1 << 20).map(|k| (k % 251) as u8).collect();
            let at = head.len() as u64 + wanted.bytes() - (1 << 20);
            let file = std::fs::File::create(&path).expect("a file");
            file.write_all_at(&head, 0).and_then(|()| file.write_all_at(&last, at)).expect("written");
            let mut decoder = Decoder::new(std::fs::File::open(&path).expect("a file")).expect("a TIFF file");
            decoder.seek_to_image(pages - 1).expect("a page");
            let DecodingResult::U8(seen) = decoder.read_image().expect("values") else { panic!("other numbers") };
            assert!(seen == last);
            assert!(!decoder.more_images());
            std::fs::remove_file(&path).expect("removed");
        }
    }

    #[test]
    fn resolutions_are_fractions() {
        for value in [1.0, 3333.333, 1e5, 5e8, 0.02] {
            let bytes = rational(value);
            let [above, below] =
                [0, 4].map(|at| u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
            let seen = f64::from(above) / f64::from(below);
            // Half a step of the numerator, which is 2e4 or more.
            assert!((seen - value).abs() <= value * 2.5e-5, "{seen} of {value}");
        }
    }
}
