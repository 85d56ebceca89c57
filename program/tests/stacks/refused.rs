//! What is no scan, and what is said of it.

use crate::files::{Layout, PLAIN, Packing, bytes, edf, tiff};
use crate::folder::Folder;
use crate::scans::{BINS, ROWS, flat, isocenter, write_tiff};

/// Writes another value into a tag of a TIFF file, of which only the last of a tag counts.
fn patch(folder: &Folder, name: &str, tag: u16, value: u32) {
    let mut whole = std::fs::read(folder.path(name)).expect("a file");
    let tag = tag.to_le_bytes();
    let is = |bytes: &[u8]| bytes[..2] == tag && matches!(bytes[2..], [3 | 4, 0, 1, 0, 0, 0]);
    let at = whole.windows(8).rposition(is).expect("a tag");
    whole[at + 8..at + 12].copy_from_slice(&value.to_le_bytes());
    std::fs::write(folder.path(name), whole).expect("a file");
}

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new("stacks-refused");
    let dir = |name: &str| std::fs::create_dir_all(folder.path(name)).expect("a folder");
    let image = |name: &str, layout: Layout| write_tiff(&folder, name, &flat(0), layout);
    for name in ["empty", "gap", "sizes", "types", "cut", "two", "flats", "mixed", "damaged"] {
        dir(name);
    }
    for k in [0, 1, 3] {
        image(&format!("gap/p_{k:03}.tif"), PLAIN);
    }
    for (k, name) in ["sizes", "types", "cut", "damaged"].iter().flat_map(|name| (0..4).map(move |k| (k, name))) {
        image(
            &format!("{name}/p_{k}.tif"),
            if *name == "damaged" { Layout { packing: Packing::Deflate, ..PLAIN } } else { PLAIN },
        );
    }
    tiff(&folder.path("sizes/p_2.tif"), &[&flat(0)], BINS / 2, PLAIN, "", &[]);
    image("types/p_2.tif", Layout { bits: 8, ..PLAIN });
    let cut = |name: &str, length: usize| {
        let whole = std::fs::read(folder.path(name)).expect("a file");
        std::fs::write(folder.path(name), &whole[..length]).expect("a file");
    };
    // The values come before the directory: only their place can be beyond the end of a file that still has one.
    patch(&folder, "cut/p_2.tif", 273, 1_000_000);
    for (name, tag, value) in [
        ("colours.tif", 277, 3),
        ("jpeg.tif", 259, 7),
        ("bits.tif", 258, 12),
        ("complex.tif", 339, 6),
        ("order.tif", 266, 2),
        ("rows.tif", 278, 2),
        ("high.tif", 257, 4_000_000_000),
    ] {
        image(name, PLAIN);
        // The order of bits takes the place of a tag that says what goes without saying.
        if name == "order.tif" {
            let mut whole = std::fs::read(folder.path(name)).expect("a file");
            let at = whole.windows(4).rposition(|bytes| bytes == [21, 1, 3, 0]).expect("a tag");
            whole[at..at + 2].copy_from_slice(&266u16.to_le_bytes());
            std::fs::write(folder.path(name), whole).expect("a file");
        }
        patch(&folder, name, tag, value);
    }
    let mut whole = std::fs::read(folder.path("damaged/p_1.tif")).expect("a file");
    whole[12..40].fill(0x5a);
    std::fs::write(folder.path("damaged/p_1.tif"), whole).expect("a file");
    for name in ["two/a_0.tif", "two/b_0.tif", "flats/flat_0.tif", "mixed/p_0.tif", "one.tif"] {
        image(name, PLAIN);
    }
    let values = bytes(&flat(0), 16, 1, false);
    let write = |name: &str, more: &str| {
        edf(&folder.path(name), std::slice::from_ref(&values), [ROWS, BINS], "UnsignedShort", false, more)
    };
    write("mixed/p_0.edf", "");
    write("packed.edf", "Compression = GzipCompression ;\n");
    write("short.edf", "");
    cut("short.edf", 1000);
    write("header.edf", "");
    cut("header.edf", 100);
    write("type.edf", "DataType = Quadruple ;\n");
    write("order.edf", "ByteOrder = Middle ;\n");
    write("big.edf", "Dim_1 = 4000000000 ;\nDim_2 = 4000000000 ;\n");
    write("side.edf", "Dim_1 = -3 ;\n");
    write("outside.edf", "EDF_BinaryFileName = x.bin ;\n");
    std::fs::write(folder.path("text.tif"), "no image").expect("a file");
    std::fs::write(folder.path("text.edf"), "no image").expect("a file");
    std::fs::write(folder.path("words.txt"), "0\nten\n").expect("a file");
    std::fs::write(folder.path("few.txt"), "0\n10\n").expect("a file");
    for (arguments, word) in [
        (vec!["empty"], "no TIFF and no EDF images"),
        (vec!["gap"], "p_002.tif is missing"),
        (vec!["sizes"], "p_2.tif"),
        (vec!["types"], "p_2.tif"),
        (vec!["cut"], "p_2.tif"),
        (vec!["two"], "more than one series"),
        (vec!["flats"], "no projections"),
        (vec!["mixed"], "TIFF and EDF"),
        (vec!["nothing_*.tif"], "no file has a name like"),
        (vec!["nothing/*.tif"], "nothing"),
        (vec!["text.tif"], "text.tif"),
        (vec!["colours.tif"], "3 values a pixel"),
        (vec!["jpeg.tif"], "ModernJPEG"),
        (vec!["bits.tif"], "12 bits"),
        (vec!["complex.tif"], "format"),
        (vec!["order.tif"], "reverse order"),
        (vec!["rows.tif"], "rows.tif"),
        (vec!["high.tif"], "high.tif"),
        (vec!["text.edf"], "braces"),
        (vec!["packed.edf"], "GzipCompression"),
        (vec!["packed.edf.gz"], "gunzip"),
        (vec!["short.edf"], "truncated"),
        (vec!["header.edf"], "truncated"),
        (vec!["type.edf"], "Quadruple"),
        (vec!["order.edf"], "Middle"),
        (vec!["big.edf"], "counted"),
        (vec!["side.edf"], "Dim_1"),
        (vec!["outside.edf"], "EDF_BinaryFileName"),
        (vec!["one.tif", "--angles", "0..x"], "0..x"),
        (vec!["one.tif", "--angles", "words.txt"], "line 2"),
        (vec!["one.tif", "--angles", "few.txt"], "2 angles for 1 projections"),
        (vec!["one.tif", "--angles", "nan..3"], "finite"),
        (vec!["one.tif", "--flats", "empty"], "--flats"),
        (vec!["one.tif", "--darks", "nowhere.tif"], "nowhere.tif"),
        (vec!["one.tif", "--flats", "sizes/p_2.tif"], "flats have"),
        (vec!["one.tif", "--flats", "one.tif", "--flats", "one.tif", "--flats", "one.tif"], "3 times"),
    ] {
        let output = isocenter(&folder, &[vec!["inspect"], arguments.clone()].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(word), "{arguments:?}: {error}");
    }
    // Found when it is decoded.
    let output = isocenter(&folder, &["recon", "damaged", "--axis", "30", "--device", "cpu"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("p_1.tif"), "{error}");
}
