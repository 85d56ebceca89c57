//! TIFF files: what their tags say, and which way leads to their values.

use super::coded::{Coded, Coding, Differences};
use super::element::{Element, Form};
use super::files::Files;
use super::filters::Codec;
use super::images::{Images, Place};
use super::{Source, alike};
use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tiff::decoder::{ChunkType, Decoder};
use tiff::tags::{ByteOrder, CompressionMethod, SampleFormat, Tag};

/// One image of a file.
struct Image {
    /// Rows and bins.
    size: [usize; 2],
    element: Element,
    /// Nothing where values are stored as they are.
    coding: Option<Coding>,
    /// Rows and bins of a strip or tile.
    piece: [usize; 2],
    /// Of strips or tiles, and their bytes.
    offsets: Vec<u64>,
    lengths: Vec<u64>,
}

/// All images of some files as one stack.
pub fn open(paths: Vec<PathBuf>) -> Result<Arc<dyn Source>> {
    let read = |path: &PathBuf| images(path).with_context(|| path.display().to_string());
    let found = paths.par_iter().map(read).collect::<Result<Vec<_>>>()?;
    let all = || found.iter().enumerate().flat_map(|(k, images)| images.iter().map(move |image| (k, image)));
    let first = &found.first().and_then(|images| images.first()).context("there are no images")?;
    let described = all().map(|(k, image)| (paths[k].as_path(), image.size, image.element));
    alike(described)?;
    let (size, element, coding) = (first.size, first.element, first.coding);
    if let Some((k, _)) = all().find(|(_, image)| image.coding != coding) {
        bail!("{} is compressed in another way than {}", paths[k].display(), paths[0].display());
    }
    let files = Files::new(paths.iter().cloned());
    let places = found.into_iter().enumerate().flat_map(|(file, images)| {
        images.into_iter().map(move |image| {
            let Image { piece, offsets, lengths, .. } = image;
            (Place { file, piece, offsets }, lengths)
        })
    });
    Ok(match coding {
        Some(coding) => Arc::new(Coded::new(files, size, element, coding, places.collect())?),
        None => Arc::new(Images::new("TIFF", files, size, element, places.map(|(place, _)| place).collect())?),
    })
}

/// The images of a file.
fn images(path: &Path) -> Result<Vec<Image>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    images_of(BufReader::new(file), length)
}

/// The images of so many bytes.
fn images_of(reader: impl Read + Seek, length: u64) -> Result<Vec<Image>> {
    let mut decoder = Decoder::new(reader)?;
    let mut images = Vec::new();
    loop {
        let what = || format!("image {}", images.len());
        images.push(image(&mut decoder).with_context(what)?);
        if !decoder.more_images() {
            break;
        }
        decoder.next_image().with_context(|| format!("image {}", images.len()))?;
    }
    if let [one] = images.as_slice()
        && let Ok(text) = decoder.get_tag_ascii_string(Tag::ImageDescription)
        && let Some(count) = imagej(&text).or_else(|| shaped(&text))
        && count > 1
    {
        return together(one, count, length);
    }
    Ok(images)
}

/// How many images an ImageJ file says it has: those behind the first may have no directory of their own.
fn imagej(text: &str) -> Option<usize> {
    let lines = text.strip_prefix("ImageJ=")?.lines();
    lines.filter_map(|line| line.strip_prefix("images=")).find_map(|count| count.trim().parse().ok())
}

/// How many images a file of tifffile's says it has, of which the first alone has a directory: by the shape of the array.
fn shaped(text: &str) -> Option<usize> {
    let (_, shape) = text.split_once("\"truncated\": true").and(text.split_once("\"shape\": ["))?;
    let sides = shape.split_once(']')?.0.split(',').map(|side| side.trim().parse::<usize>().ok());
    let sides = sides.collect::<Option<Vec<_>>>()?;
    sides[..sides.len().checked_sub(2)?].iter().try_fold(1usize, |n, &side| n.checked_mul(side))
}

/// Images that lie behind the first, in a file of so many bytes.
fn together(first: &Image, count: usize, length: u64) -> Result<Vec<Image>> {
    let [rows, bins] = first.size;
    ensure!(
        first.coding.is_none() && first.offsets.len() == 1,
        "a stack of {count} images with one directory, which are not in one piece"
    );
    let (start, bytes) = (first.offsets[0], (rows * bins * first.element.size()) as u64);
    let end = bytes.checked_mul(count as u64).and_then(|all| all.checked_add(start));
    ensure!(
        end.is_some_and(|end| end <= length),
        "it has {length} bytes, too few for the {count} images that it says it has: it is truncated"
    );
    let image = |k| Image { offsets: vec![start + k * bytes], lengths: Vec::new(), ..*first };
    Ok((0..count as u64).map(image).collect())
}

/// The image that a decoder is at.
fn image<R: Read + Seek>(decoder: &mut Decoder<R>) -> Result<Image> {
    let (bins, rows) = decoder.dimensions()?;
    let (rows, bins) = (rows as usize, bins as usize);
    let number = |decoder: &mut Decoder<R>, tag, default: u16| {
        let values = decoder.find_tag_unsigned_vec::<u16>(tag)?.unwrap_or_default();
        Ok::<_, anyhow::Error>(values.first().copied().unwrap_or(default))
    };
    let samples = number(decoder, Tag::SamplesPerPixel, 1)?;
    ensure!(samples == 1, "it has {samples} values a pixel, as colours have; one is needed");
    let bits = number(decoder, Tag::BitsPerSample, 1)?;
    let form = match SampleFormat::from_u16_exhaustive(number(decoder, Tag::SampleFormat, 1)?) {
        SampleFormat::Uint => Form::Unsigned,
        SampleFormat::Int => Form::Signed,
        SampleFormat::IEEEFP => Form::Float,
        other => bail!("its values are of the format {other:?}; integers and floating point are known"),
    };
    let big_endian = matches!(decoder.byte_order(), ByteOrder::BigEndian);
    let element = Element::of_form(form, bits, big_endian);
    let element = element.with_context(|| format!("its values have {bits} bits, which are not known here"))?;
    let codec = match CompressionMethod::from_u16_exhaustive(number(decoder, Tag::Compression, 1)?) {
        CompressionMethod::None => None,
        CompressionMethod::LZW => Some(Codec::Lzw),
        CompressionMethod::Deflate | CompressionMethod::OldDeflate => Some(Codec::Deflate),
        CompressionMethod::PackBits => Some(Codec::PackBits),
        CompressionMethod::ZSTD => Some(Codec::Zstd),
        other => bail!("it is compressed by {other:?}; LZW, deflate, PackBits and zstd are read"),
    };
    let differences = match (number(decoder, Tag::Predictor, 1)?, form) {
        (1, _) => Differences::None,
        (2, _) => Differences::Values,
        (3, Form::Float) => Differences::Bytes,
        (other, _) => bail!("its predictor has the number {other}; 1, 2 and, of floating point, 3 are known"),
    };
    let plain = codec.is_none() && differences == Differences::None;
    let coding = (!plain).then_some(Coding { codec, differences });
    ensure!(
        number(decoder, Tag::FillOrder, 1)? == 1,
        "the bits of its bytes are in reverse order, which is not known here"
    );
    let (piece, tags) = match decoder.get_chunk_type() {
        ChunkType::Strip => {
            let high = decoder.find_tag_unsigned::<u32>(Tag::RowsPerStrip)?.unwrap_or(rows as u32) as usize;
            ([high.min(rows), bins], [Tag::StripOffsets, Tag::StripByteCounts])
        }
        ChunkType::Tile => {
            let [wide, high] = [Tag::TileWidth, Tag::TileLength].map(|tag| decoder.get_tag_unsigned::<u32>(tag));
            ([high? as usize, wide? as usize], [Tag::TileOffsets, Tag::TileByteCounts])
        }
    };
    ensure!(piece.iter().all(|&n| n > 0), "its pieces have {piece:?} rows and bins");
    for sides in [piece, [rows, bins]] {
        let bytes = sides.iter().try_fold(element.size().max(4), |n, &side| n.checked_mul(side));
        ensure!(bytes.is_some(), "it has more bytes than can be counted");
    }
    let [offsets, lengths] = tags.map(|tag| decoder.find_tag_unsigned_vec::<u64>(tag));
    let told = "it does not say where its values are";
    let (offsets, lengths) = (offsets?.context(told)?, lengths?.context(told)?);
    let count = rows.div_ceil(piece[0]) * bins.div_ceil(piece[1]);
    ensure!(
        [offsets.len(), lengths.len()] == [count; 2],
        "it says where {} pieces are, and the bytes of {}; there are {count}",
        offsets.len(),
        lengths.len()
    );
    ensure!(offsets.iter().all(|&at| at > 0), "a piece of it was never written");
    let (piece, offsets) = match coding {
        None if piece[1] == bins => joined(piece, offsets, rows, bins * element.size()),
        _ => (piece, offsets),
    };
    Ok(Image { size: [rows, bins], element, coding, piece, offsets, lengths })
}

/// Strips, of rows of so many bytes; one where they lie behind each other.
fn joined(piece: [usize; 2], offsets: Vec<u64>, rows: usize, row: usize) -> ([usize; 2], Vec<u64>) {
    let [high, wide] = piece;
    let next = |pair: &[u64]| pair[0].checked_add((high * row) as u64) == Some(pair[1]);
    if offsets.windows(2).all(next) { ([rows, wide], vec![offsets[0]]) } else { (piece, offsets) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Tags of three rows of four bins, the values behind them.
    fn file() -> Vec<u8> {
        let tags: [(u16, u32, u32); 11] = [
            (256, 1, 4),
            (257, 1, 3),
            (258, 1, 16),
            (259, 1, 1),
            (262, 1, 1),
            (270, 20, 170),
            (273, 1, 146),
            (277, 1, 1),
            (278, 1, 3),
            (279, 1, 24),
            (339, 1, 1),
        ];
        let entry = |(tag, count, value): (u16, u32, u32)| {
            let kind = if tag == 270 { 2u16 } else { 4 };
            [tag.to_le_bytes().as_slice(), &kind.to_le_bytes(), &count.to_le_bytes(), &value.to_le_bytes()].concat()
        };
        let head = [b"II*\0".as_slice(), &8u32.to_le_bytes(), &(tags.len() as u16).to_le_bytes()].concat();
        let entries = tags.into_iter().flat_map(entry).collect();
        [head, entries, vec![0; 4 + 24], b"ImageJ=1.5\nimages=1\0".to_vec(), vec![0; 48]].concat()
    }

    #[test]
    fn files_that_are_damaged() {
        let bytes = file();
        let read = |bytes: &[u8]| images_of(Cursor::new(bytes), bytes.len() as u64);
        let images = read(&bytes).expect("an image");
        assert_eq!((images.len(), images[0].size, &images[0].offsets), (1, [3, 4], &vec![146]));
        let more = bytes.iter().map(|b| if *b == b'1' { b'3' } else { *b }).collect::<Vec<_>>();
        assert_eq!(read(&more).expect("images").iter().map(|i| i.offsets[0]).collect::<Vec<_>>(), [146, 170, 194]);
        // Errors are in order, others are not.
        crate::mutations::each(&bytes, |bytes| drop(read(bytes)));
    }
}
