//! Lengths of a file's elements, before memory is taken for them.

use anyhow::{Context, Result, ensure};
use dicom_core::dictionary::{DataDictionary, DataDictionaryEntry};
use dicom_core::{Tag, VR};
use dicom_dictionary_std::{StandardDataDictionary, tags};

/// Where elements begin, behind a preamble and DICM.
const BEGIN: usize = 132;
const UNDEFINED: u32 = u32::MAX;
/// Of items and their ends.
const ITEMS: u16 = 0xfffe;
const META: u16 = 0x0002;
const IMPLICIT: &str = "1.2.840.10008.1.2";
const BIG: &str = "1.2.840.10008.1.2.2";
/// The length of the elements of a file's header.
const META_LENGTH: Tag = Tag(META, 0);
/// Types with lengths of 16 bits; all others have 32, those that are not known, too.
const SHORT: [&[u8; 2]; 21] = [
    b"AE", b"AS", b"AT", b"CS", b"DA", b"DS", b"DT", b"FD", b"FL", b"IS", b"LO", b"LT", b"PN", b"SH", b"SL", b"SS",
    b"ST", b"TM", b"UI", b"UL", b"US",
];

/// How an element begins.
struct Head {
    tag: Tag,
    /// Where its value begins.
    begin: usize,
    length: u32,
    is_sequence: bool,
}

impl Head {
    fn new(bytes: &[u8], at: usize, is_implicit: bool, is_big: bool) -> Result<Self> {
        let number = |at: usize, size: usize| {
            let part = bytes.get(at..at + size).with_context(|| format!("it ends within an element, at byte {at}"))?;
            let add = |sum, byte: &u8| sum << 8 | u32::from(*byte);
            anyhow::Ok(if is_big { part.iter().fold(0, add) } else { part.iter().rev().fold(0, add) })
        };
        let tag = Tag(number(at, 2)? as u16, number(at + 2, 2)? as u16);
        if tag.0 == ITEMS {
            return Ok(Self { tag, begin: at + 8, length: number(at + 4, 4)?, is_sequence: true });
        }
        if is_implicit {
            let is_sequence = StandardDataDictionary.by_tag(tag).is_some_and(|entry| entry.vr().relaxed() == VR::SQ);
            return Ok(Self { tag, begin: at + 8, length: number(at + 4, 4)?, is_sequence });
        }
        let vr = bytes.get(at + 4..at + 6).unwrap_or_default();
        let is_short = SHORT.iter().any(|short| *short == vr);
        let (length, begin) = if is_short { (number(at + 6, 2)?, at + 8) } else { (number(at + 8, 4)?, at + 12) };
        Ok(Self { tag, begin, length, is_sequence: vr == b"SQ" })
    }
}

/// That each element ends within the file, but for the pixels. What is inside of sequences is looked at as well, one after the other.
pub fn check(bytes: &[u8]) -> Result<()> {
    ensure!(bytes.get(BEGIN - 4..BEGIN) == Some(b"DICM"), "it is no DICOM file");
    let (mut at, mut meta_end, mut syntax) = (BEGIN, usize::MAX, String::new());
    while at < bytes.len() {
        let is_meta = at < meta_end;
        let is_implicit = !is_meta && syntax == IMPLICIT;
        let head = Head::new(bytes, at, is_implicit, !is_meta && syntax == BIG)?;
        ensure!(is_meta == (head.tag.0 == META), "its header does not end where it says");
        let value = bytes.get(head.begin..).and_then(|rest| rest.get(..head.length as usize));
        if head.tag == tags::PIXEL_DATA && (head.length == UNDEFINED || value.is_none()) {
            break;
        }
        if head.is_sequence || head.length == UNDEFINED {
            at = head.begin;
            continue;
        }
        let too_long = || format!("the element {} has {} bytes, more than the file", head.tag, head.length);
        let value = value.with_context(too_long)?;
        at = head.begin + head.length as usize;
        if head.tag == META_LENGTH {
            let length = value.try_into().map_or(0, u32::from_le_bytes);
            meta_end = at.saturating_add(length as usize);
        }
        if head.tag == tags::TRANSFER_SYNTAX_UID {
            syntax = String::from_utf8_lossy(value).trim_matches(['\0', ' ']).into();
        }
    }
    Ok(())
}
