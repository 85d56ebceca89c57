//! EDF, the ESRF's files: headers of `key = value ;` in braces, each before its values.

use super::element::{Element, Form};
use super::files::Files;
use super::images::{Images, Place};
use super::{Source, alike};
use crate::memory::at_least;
use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Headers are padded to so many bytes, and read in as many.
const BLOCK: usize = 512;
/// A header is no longer than that.
const LONGEST: usize = 1 << 20;

/// What a header says, keys in capitals, and where its values begin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Header {
    keys: Vec<(String, String)>,
    /// Bytes from its first on.
    length: usize,
}

impl Header {
    /// A key's value, whatever its case.
    fn get(&self, key: &str) -> Option<&str> {
        self.keys.iter().rev().find(|(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, value)| value.as_str())
    }

    /// A whole number, which may be written with a point.
    fn number(&self, key: &str) -> Result<Option<u64>> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let whole = || text.parse::<f64>().ok().filter(|n| n.fract() == 0.0 && (0.0..9e15).contains(n));
        let number = text.parse().ok().or_else(|| whole().map(|n| n as u64));
        number.map(Some).with_context(|| format!("{key} is \"{text}\"; it must be a whole number"))
    }
}

/// What comes next in a file.
enum Found {
    Header(Header),
    /// It goes on behind these bytes.
    More,
    /// Nothing that is a header.
    Nothing,
}

/// Reads a header from the bytes where one may begin.
fn header_of(bytes: &[u8]) -> Found {
    let blank = |b: &u8| b.is_ascii_whitespace() || *b == 0;
    let Some(open) = bytes.iter().position(|b| !blank(b)) else { return Found::Nothing };
    if bytes[open] != b'{' {
        return Found::Nothing;
    }
    // It ends with a brace and a new line; a carriage return alone may be the first of the values.
    let close = (open..bytes.len()).find_map(|at| match &bytes[at..] {
        [b'}', b'\n', ..] => Some((at, 2)),
        [b'}', b'\r', b'\n', ..] => Some((at, 3)),
        _ => None,
    });
    let Some((close, end)) = close else { return Found::More };
    let lines = bytes[open + 1..close].split(|b| *b == b';');
    let keys = lines.filter_map(|line| {
        let at = line.iter().position(|b| *b == b'=')?;
        let text = |part: &[u8]| {
            let text = String::from_utf8_lossy(part);
            text.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_string()
        };
        Some((text(&line[..at]), text(&line[at + 1..])))
    });
    Found::Header(Header { keys: keys.collect(), length: close + end })
}

/// The number that a DataType names, as fabio has them.
fn form(name: &str) -> Option<(Form, u16)> {
    Some(match name {
        "SignedByte" | "Signed8" => (Form::Signed, 8),
        "UnsignedByte" | "Unsigned8" => (Form::Unsigned, 8),
        "SignedShort" | "Signed16" => (Form::Signed, 16),
        "UnsignedShort" | "Unsigned16" | "UnsignedShortInteger" => (Form::Unsigned, 16),
        "SignedInteger" | "Signed32" | "SignedLong" => (Form::Signed, 32),
        "UnsignedInteger" | "Unsigned32" | "UnsignedLong" => (Form::Unsigned, 32),
        "Signed64" => (Form::Signed, 64),
        "Unsigned64" => (Form::Unsigned, 64),
        "FloatValue" | "FLOATVALUE" | "FLOAT" | "Float" | "FloatIEEE32" | "Float32" => (Form::Float, 32),
        "Double" | "DoubleValue" | "FloatIEEE64" | "DoubleIEEE64" => (Form::Float, 64),
        _ => return None,
    })
}

/// One image of a file.
struct Image {
    /// Rows and bins.
    size: [usize; 2],
    element: Element,
    offset: u64,
}

/// All images of some files as one stack.
pub fn open(paths: Vec<PathBuf>) -> Result<Arc<dyn Source>> {
    let read = |path: &PathBuf| images(path).with_context(|| path.display().to_string());
    let found = paths.par_iter().map(read).collect::<Result<Vec<_>>>()?;
    let all = || found.iter().enumerate().flat_map(|(k, images)| images.iter().map(move |image| (k, image)));
    let (_, &Image { size, element, .. }) = all().next().context("there are no images")?;
    alike(all().map(|(k, image)| (paths[k].as_path(), image.size, image.element)))?;
    let places = all().map(|(file, image)| Place { file, piece: size, offsets: vec![image.offset] }).collect();
    let files = Files::new(paths.iter().cloned());
    Ok(Arc::new(Images::new("EDF", files, size, element, places)?))
}

/// The images of a file.
fn images(path: &Path) -> Result<Vec<Image>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let (mut images, mut general) = (Vec::new(), Header::default());
    let mut at = 0;
    while let Some(header) = next(&file, length, at).with_context(|| format!("the header at byte {at}"))? {
        let what = format!("image {}", images.len());
        let start = at + header.length as u64;
        let bytes = if header.get("EDF_DataFormatVersion").is_some() {
            // Defaults of those that follow.
            let bytes = header.number("EDF_BinarySize")?.unwrap_or(0);
            general = header;
            bytes
        } else {
            let header = Header { keys: [general.keys.clone(), header.keys].concat(), ..header };
            let (image, bytes) = image(&header, start).context(what)?;
            images.push(image);
            bytes
        };
        at = start.checked_add(bytes).context("its values are more bytes than can be counted")?;
        ensure!(at <= length, "it has {length} bytes where {at} are needed: it is truncated");
    }
    ensure!(!images.is_empty(), "it is no EDF file: it does not begin with a header in braces");
    Ok(images)
}

/// The header at a place of a file; nothing where no more images follow.
fn next(file: &File, length: u64, at: u64) -> Result<Option<Header>> {
    let mut bytes = Vec::new();
    loop {
        let left = usize::try_from(length - at).unwrap_or(usize::MAX);
        let wanted = (2 * bytes.len()).max(4 * BLOCK).min(left);
        if wanted > bytes.len() {
            at_least(&mut bytes, wanted)?;
            file.read_exact_at(&mut bytes, at)?;
        }
        match header_of(&bytes) {
            Found::Header(header) => return Ok(Some(header)),
            Found::Nothing => return Ok(None),
            Found::More if wanted == left => bail!("it does not end: the file is truncated"),
            Found::More if wanted > LONGEST => bail!("it does not end within {LONGEST} bytes"),
            Found::More => {}
        }
    }
}

/// The image whose values begin at a place, and how many bytes are kept for them.
fn image(header: &Header, offset: u64) -> Result<(Image, u64)> {
    if header.get("EDF_BinaryFileName").is_some() {
        bail!("its values are in another file (EDF_BinaryFileName), which is not read");
    }
    let compression = header.get("Compression").unwrap_or("None");
    if !compression.to_ascii_uppercase().starts_with("NO") && !compression.is_empty() {
        bail!("it is compressed ({compression}), which is not read: fabio can write it anew");
    }
    if let Some(deep) = header.number("Dim_3")?.filter(|&n| n > 1) {
        bail!("it has three dimensions (Dim_3 is {deep}); images have two");
    }
    let side = |key: &str, default: Option<u64>| -> Result<usize> {
        let side = header.number(key)?.or(default).with_context(|| format!("the header has no {key}"))?;
        ensure!((1..=u64::from(u32::MAX)).contains(&side), "{key} is {side}");
        Ok(side as usize)
    };
    let size = [side("Dim_2", Some(1))?, side("Dim_1", None)?];
    let name = header.get("DataType").context("the header has no DataType")?;
    let (form, bits) = form(name).with_context(|| format!("DataType is \"{name}\", which is not known here"))?;
    let order = header.get("ByteOrder").context("the header has no ByteOrder")?;
    let big_endian = match order {
        order if order.contains("Low") => false,
        order if order.contains("High") => true,
        other => bail!("ByteOrder is \"{other}\"; LowByteFirst and HighByteFirst are known"),
    };
    let element = Element::of_form(form, bits, big_endian).context("numbers of this kind are not read")?;
    let needed = size.iter().try_fold(element.size() as u64, |n, &side| n.checked_mul(side as u64));
    let needed = needed.context("it has more values than can be counted")?;
    let kept = header.number("Size")?.or(header.number("EDF_BinarySize")?).unwrap_or(needed);
    ensure!(kept >= needed, "its values take {needed} bytes, of which it has {kept}");
    Ok((Image { size, element, offset }, kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "{\nHeaderID = EH:000001 ;\nEDF_BinarySize = 24 ;\nByteOrder = LowByteFirst ;\n\
        DataType = UnsignedShort ;\nDim_1 = 4 ;\nDim_2 = 3.0 ;\nSize = 24 ;\nCompression = None ;\n   }\n";

    #[test]
    fn headers_that_are_damaged() {
        let Found::Header(header) = header_of(TEXT.as_bytes()) else { panic!("a header") };
        assert_eq!(header.length, TEXT.len());
        assert_eq!([header.get("dim_1"), header.get("Dim_2"), header.get("x")], [Some("4"), Some("3.0"), None]);
        let (image, bytes) = image(&header, 7).expect("an image");
        assert_eq!((image.size, image.offset, bytes), ([3, 4], 7, 24));
        crate::mutations::each(TEXT.as_bytes(), |bytes| {
            if let Found::Header(header) = header_of(bytes) {
                assert!(header.length <= bytes.len());
                // Errors are in order, others are not.
                let _ = super::image(&header, u64::MAX);
            }
        });
    }
}
