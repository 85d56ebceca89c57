//! TIFF files: what their tags say, and which way leads to their values.

use super::coded::Coded;
use super::element::{Element, Form};
use super::files::Files;
use super::images::{Images, Place};
use super::{Source, alike};
use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tiff::decoder::{ChunkType, Decoder};
use tiff::tags::{ByteOrder, CompressionMethod, SampleFormat, Tag};

/// One image of a file.
struct Image {
    /// Rows and bins.
    size: [usize; 2],
    element: Element,
    compression: CompressionMethod,
    /// Rows and bins of a strip or tile.
    piece: [usize; 2],
    /// Of strips or tiles.
    offsets: Vec<u64>,
    /// What only whole decoding gives right: compression, differences of neighbours.
    coded: bool,
}

/// All images of some files as one stack.
pub fn open(paths: Vec<PathBuf>) -> Result<Arc<dyn Source>> {
    let read = |path: &PathBuf| images(path).with_context(|| path.display().to_string());
    let found = paths.par_iter().map(read).collect::<Result<Vec<_>>>()?;
    let all = || found.iter().enumerate().flat_map(|(k, images)| images.iter().map(move |image| (k, image)));
    let first = &found.first().and_then(|images| images.first()).context("there are no images")?;
    let described = all().map(|(k, image)| (paths[k].as_path(), image.size, image.element));
    alike(described)?;
    let (size, element) = (first.size, first.element);
    let coded = all().find(|(_, image)| image.coded).map(|(_, image)| image.compression);
    let files = Files::new(paths.iter().cloned());
    if let Some(compression) = coded {
        let images = found.iter().enumerate().flat_map(|(k, images)| (0..images.len()).map(move |image| [k, image]));
        let codec = format!("{compression:?}");
        return Ok(Arc::new(Coded::new(files, size, element.native(), images.collect(), codec)));
    }
    let places = found.into_iter().enumerate().flat_map(|(file, images)| {
        images.into_iter().map(move |image| Place { file, piece: image.piece, offsets: image.offsets })
    });
    Ok(Arc::new(Images::new("TIFF", files, size, element, places.collect())?))
}

/// The images of a file.
fn images(path: &Path) -> Result<Vec<Image>> {
    let mut decoder = Decoder::new(BufReader::new(File::open(path)?))?;
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
        && let Some(count) = imagej(&text)
        && count > 1
    {
        return together(one, count);
    }
    Ok(images)
}

/// How many images an ImageJ file says it has: those behind the first may have no directory of their own.
fn imagej(text: &str) -> Option<usize> {
    let lines = text.strip_prefix("ImageJ=")?.lines();
    lines.filter_map(|line| line.strip_prefix("images=")).find_map(|count| count.trim().parse().ok())
}

/// Images that lie behind the first.
fn together(first: &Image, count: usize) -> Result<Vec<Image>> {
    let [rows, bins] = first.size;
    ensure!(!first.coded && first.offsets.len() == 1, "an ImageJ stack of {count} images that is not in one piece");
    let bytes = (rows * bins * first.element.size()) as u64;
    let all = (0..count as u64).map(|k| {
        let offset = k.checked_mul(bytes).and_then(|at| at.checked_add(first.offsets[0]));
        let offset = offset.context("an ImageJ stack of more images than can be counted")?;
        Ok(Image { offsets: vec![offset], ..*first })
    });
    all.collect()
}

/// The image that a decoder is at.
fn image(decoder: &mut Decoder<BufReader<File>>) -> Result<Image> {
    let (bins, rows) = decoder.dimensions()?;
    let (rows, bins) = (rows as usize, bins as usize);
    let number = |decoder: &mut Decoder<BufReader<File>>, tag, default: u16| {
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
    let compression = number(decoder, Tag::Compression, CompressionMethod::None.to_u16())?;
    let compression = CompressionMethod::from_u16_exhaustive(compression);
    let lossy = matches!(compression, CompressionMethod::JPEG | CompressionMethod::ModernJPEG);
    ensure!(!lossy, "it is compressed as JPEG, which is not read");
    let coded = compression != CompressionMethod::None || number(decoder, Tag::Predictor, 1)? != 1;
    // The decoder turns these values over, other programs do not.
    let turned = number(decoder, Tag::PhotometricInterpretation, 1)? == 0;
    ensure!(!coded || !turned, "it is compressed with white as 0, which programs read in two ways");
    ensure!(
        number(decoder, Tag::FillOrder, 1)? == 1,
        "the bits of its bytes are in reverse order, which is not known here"
    );
    let (piece, tag) = match decoder.get_chunk_type() {
        ChunkType::Strip => {
            let high = decoder.find_tag_unsigned::<u32>(Tag::RowsPerStrip)?.unwrap_or(rows as u32) as usize;
            ([high.min(rows), bins], Tag::StripOffsets)
        }
        ChunkType::Tile => {
            let [wide, high] = [Tag::TileWidth, Tag::TileLength].map(|tag| decoder.get_tag_unsigned::<u32>(tag));
            ([high? as usize, wide? as usize], Tag::TileOffsets)
        }
    };
    ensure!(piece.iter().all(|&n| n > 0), "its pieces have {piece:?} rows and bins");
    if coded {
        return Ok(Image { size: [rows, bins], element, compression, piece, offsets: Vec::new(), coded });
    }
    let offsets = decoder.find_tag_unsigned_vec::<u64>(tag)?.context("it does not say where its values are")?;
    let count = rows.div_ceil(piece[0]) * bins.div_ceil(piece[1]);
    ensure!(offsets.len() == count, "it says where {} pieces are; there are {count}", offsets.len());
    ensure!(offsets.iter().all(|&at| at > 0), "a piece of it was never written");
    let (piece, offsets) =
        if piece[1] == bins { joined(piece, offsets, rows, bins * element.size()) } else { (piece, offsets) };
    Ok(Image { size: [rows, bins], element, compression, piece, offsets, coded })
}

/// Strips, of rows of so many bytes; one where they lie behind each other.
fn joined(piece: [usize; 2], offsets: Vec<u64>, rows: usize, row: usize) -> ([usize; 2], Vec<u64>) {
    let [high, wide] = piece;
    let next = |pair: &[u64]| pair[0].checked_add((high * row) as u64) == Some(pair[1]);
    if offsets.windows(2).all(next) { ([rows, wide], vec![offsets[0]]) } else { (piece, offsets) }
}
