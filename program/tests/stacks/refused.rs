//! What is no scan, and what is said of it.

use crate::files::{Layout, PLAIN, Packing, bytes, edf, tiff};
use crate::folder::Folder;
use crate::scans::{BINS, ROWS, flat, isocenter, write_tiff};

#[test]
fn what_cannot_be_is_refused() {
    let folder = Folder::new("stacks-refused");
    let dir = |name: &str| std::fs::create_dir_all(folder.path(name)).expect("a folder");
    let image = |name: &str, layout: Layout| write_tiff(&folder, name, &flat(0), layout);
    for name in ["empty", "gap", "sizes", "types", "cut", "two", "flats", "mixed", "damaged", "colours"] {
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
    // The values come before the directory: only strips can be cut from a file that still has one.
    let mut whole = std::fs::read(folder.path("cut/p_2.tif")).expect("a file");
    let at = whole.windows(4).rposition(|bytes| bytes == [0x11, 1, 4, 0]).expect("a tag of strips");
    whole[at + 8..at + 12].copy_from_slice(&1_000_000u32.to_le_bytes());
    std::fs::write(folder.path("cut/p_2.tif"), whole).expect("a file");
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
        (vec!["one.tif", "--flats", "sizes/p_2.tif"], "flats or darks have"),
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
