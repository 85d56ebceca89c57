//! Stacks of images: read exactly as they were written, and reconstructed as the same scan in an NXtomo file.

mod folder;
mod images;

use folder::Folder;
use hdf5_metno::File;
use images::{Layout, PLAIN, Packing, Pieces, bytes, edf, tiff};
use isocenter::array::DType;
use isocenter_program::frames::{Frames, Kind, Room, Source, hold, of_files};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;

/// Frames, rows and bins that no piece below divides.
const SHAPE: [usize; 3] = [6, 13, 37];

/// Values that fit into any kind of number, with neighbours that are alike.
fn values() -> Vec<u16> {
    (0..SHAPE.iter().product::<usize>()).map(|k| (k / 3 * 7 % 113) as u16).collect()
}

fn frame(values: &[u16], k: usize) -> &[u16] {
    &values[k * SHAPE[1] * SHAPE[2]..][..SHAPE[1] * SHAPE[2]]
}

/// Reads in several ways, each of which has to give what was written.
fn check(source: Arc<dyn Source>, values: &[u16], what: &str) {
    assert_eq!(source.shape(), SHAPE, "{what}");
    let [count, rows, bins] = SHAPE;
    let all: Vec<_> = (0..count).collect();
    let expected = |frames: &[usize], rows: std::ops::Range<usize>| {
        let part = |f: &usize| frame(values, *f)[rows.start * bins..rows.end * bins].to_vec();
        let values: Vec<u16> = frames.iter().flat_map(part).collect();
        match source.dtype() {
            DType::U8 => bytes(&values, 8, 1, false),
            DType::U16 => bytes(&values, 16, 1, cfg!(target_endian = "big")),
            _ => bytes(&values, 32, 3, cfg!(target_endian = "big")),
        }
    };
    let read = |source: &dyn Source, frames: &[usize], rows: std::ops::Range<usize>| {
        let mut to = vec![0xa5; frames.len() * rows.len() * bins * source.dtype().size()];
        source.read(frames, rows.clone(), &mut to).unwrap_or_else(|e| panic!("{what}: {e:#}"));
        assert!(to == expected(frames, rows.clone()), "{what}: frames {frames:?}, rows {rows:?}");
    };
    for (frames, rows) in [(&all[..], 0..rows), (&[5, 0, 3], 0..rows), (&[1, 2], 3..9), (&[4], 12..13), (&[4], 4..4)] {
        read(&*source, frames, rows);
    }
    let mut held = Frames::all(source.clone());
    let mut room = Room { memory: u64::MAX, scratch: std::env::temp_dir() };
    hold(&mut [&mut held], &(0..rows).collect::<Vec<_>>(), &mut room).expect("held");
    read(&*held.source, &all, 2..11);
}

fn of(folder: &Folder, names: &[&str]) -> Arc<dyn Source> {
    let kind = Kind::of(names[0].as_ref()).expect("an image");
    let paths = names.iter().map(|name| folder.path(name)).collect();
    of_files(kind, paths).unwrap_or_else(|e| panic!("{names:?}: {e:#}"))
}

const KINDS: [(u16, u16); 10] =
    [(8, 1), (8, 2), (16, 1), (16, 2), (32, 1), (32, 2), (32, 3), (64, 1), (64, 2), (64, 3)];

#[test]
fn tiff_in_every_layout() {
    let (folder, values) = (Folder::new("tiff"), values());
    let names: Vec<_> = (0..SHAPE[0]).map(|k| format!("p{k}.tif")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let mut layouts = Vec::new();
    for big_endian in [false, true] {
        for big_tiff in [false, true] {
            for pieces in [
                Pieces::Strips(99),
                Pieces::Strips(4),
                Pieces::Scattered(5),
                Pieces::Tiles(16, 16),
                Pieces::Tiles(16, 48),
            ] {
                layouts.extend(KINDS.map(|(bits, form)| Layout { big_endian, big_tiff, pieces, bits, form, ..PLAIN }));
            }
        }
        for packing in [Packing::Lzw, Packing::Deflate, Packing::PackBits, Packing::Zstd] {
            for pieces in [Pieces::Strips(4), Pieces::Tiles(16, 16)] {
                let packed = Layout { big_endian, pieces, packing, ..PLAIN };
                let differences = |(bits, form)| Layout { differences: true, bits, form, ..packed };
                layouts.extend([(8, 1), (16, 1), (32, 1), (32, 3), (64, 2), (64, 3)].map(differences));
                layouts.extend(KINDS.map(|(bits, form)| Layout { bits, form, ..packed }));
            }
        }
        layouts.push(Layout { big_endian, differences: true, ..PLAIN });
    }
    for layout in layouts {
        for (k, name) in names.iter().enumerate() {
            tiff(&folder.path(name), &[frame(&values, k)], SHAPE[2], layout, "", &[]);
        }
        let source = of(&folder, &names);
        let whole = layout.packing == Packing::None && !layout.differences;
        assert_eq!(source.together().is_none(), whole, "{layout:?}: {}", source.storage());
        check(source, &values, &format!("{layout:?}"));
        // All in one file, and in two.
        let all: Vec<_> = (0..SHAPE[0]).map(|k| frame(&values, k)).collect();
        tiff(&folder.path("all.tif"), &all, SHAPE[2], layout, "", &[]);
        check(of(&folder, &["all.tif"]), &values, &format!("one file of {layout:?}"));
        tiff(&folder.path("first.tif"), &all[..4], SHAPE[2], layout, "", &[]);
        tiff(&folder.path("rest.tif"), &all[4..], SHAPE[2], layout, "", &[]);
        check(of(&folder, &["first.tif", "rest.tif"]), &values, &format!("two files of {layout:?}"));
    }
}

/// One directory, and all values behind those of the first image.
#[test]
fn imagej_stacks() {
    let (folder, values) = (Folder::new("imagej"), values());
    for (bits, form) in [(8, 1), (16, 1), (32, 3)] {
        let layout = Layout { big_endian: true, bits, form, ..PLAIN };
        let more = bytes(&values[SHAPE[1] * SHAPE[2]..], bits, form, true);
        let told = format!("ImageJ=1.54f\nimages={}\nslices={}\nloop=false\n", SHAPE[0], SHAPE[0]);
        tiff(&folder.path("stack.tif"), &[frame(&values, 0)], SHAPE[2], layout, &told, &more);
        check(of(&folder, &["stack.tif"]), &values, &format!("ImageJ, {bits} bits"));
        let short = &more[..more.len() - 1];
        tiff(&folder.path("short.tif"), &[frame(&values, 0)], SHAPE[2], layout, &format!("{told}x"), short);
        let whole = std::fs::read(folder.path("short.tif")).expect("a file");
        std::fs::write(folder.path("short.tif"), &whole[..whole.len() / 2]).expect("a file");
        let error = of_files(Kind::Tiff, vec![folder.path("short.tif")]).err().map(|e| format!("{e:#}"));
        assert!(error.is_some_and(|error| error.contains("short.tif")));
    }
}

#[test]
fn edf_of_every_kind() {
    let (folder, values) = (Folder::new("edf"), values());
    let kinds = [
        ("UnsignedByte", 8, 1),
        ("Signed8", 8, 2),
        ("UnsignedShort", 16, 1),
        ("SignedShort", 16, 2),
        ("UnsignedInteger", 32, 1),
        ("UnsignedLong", 32, 1),
        ("SignedInteger", 32, 2),
        ("Unsigned64", 64, 1),
        ("Signed64", 64, 2),
        ("FloatValue", 32, 3),
        ("Float", 32, 3),
        ("DoubleValue", 64, 3),
    ];
    for (name, bits, form) in kinds {
        for big_endian in [false, true] {
            let images: Vec<_> = (0..SHAPE[0]).map(|k| bytes(frame(&values, k), bits, form, big_endian)).collect();
            let size = [SHAPE[1], SHAPE[2]];
            let what = format!("{name}, big endian {big_endian}");
            edf(&folder.path("all.edf"), &images, size, name, big_endian, "");
            check(of(&folder, &["all.edf"]), &values, &what);
            let told = format!("Size = {}.0 ;\nCompression = None ;\nmotor_pos = 1 2 3 ;\n", images[0].len());
            for (k, image) in images.iter().enumerate() {
                edf(&folder.path(&format!("p{k}.edf")), std::slice::from_ref(image), size, name, big_endian, &told);
            }
            let names: Vec<_> = (0..SHAPE[0]).map(|k| format!("p{k}.edf")).collect();
            check(of(&folder, &names.iter().map(String::as_str).collect::<Vec<_>>()), &values, &what);
        }
    }
}

const VIEWS: usize = 91;
const ROWS: usize = 6;
const BINS: usize = 64;
const PLANE: usize = ROWS * BINS;

/// Two rods in counts, with flats of two levels and darks of 100.
fn projection(view: usize, angle: f64) -> Vec<u16> {
    let depth = |bin: f64, row: usize, r: [f64; 2]| {
        let s = bin - 30.7 - r[0] * angle.cos() - r[1] * angle.sin();
        0.9 * (-s * s / 12.0).exp() * (1.0 + 0.05 * row as f64)
    };
    let value = |k: usize| {
        let (row, bin) = (k / BINS, (k % BINS) as f64);
        let noise = ((k + view * PLANE) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
        let through = (-depth(bin, row, [14.0, 5.0]) - depth(bin, row, [-10.0, 12.0])).exp();
        100 + (through * (9000.0 - 5.0 * view as f64)) as u16 + noise as u16
    };
    (0..PLANE).map(value).collect()
}

fn flat(position: usize) -> Vec<u16> {
    (0..PLANE).map(|k| (9110 - 5 * position + k % 13) as u16).collect()
}

const DARK: [u16; PLANE] = [100; PLANE];

/// The same scan in an NXtomo file, with a flat at each of these places; angles in degrees.
fn nxtomo(path: PathBuf, angles: &[f64], flats: &[usize]) {
    let file = File::create(path).expect("a file");
    let entry = file.create_group("entry").expect("a group");
    let detector = entry.create_group("instrument/detector").expect("a group");
    let (mut frames, mut keys, mut degrees) = (DARK.to_vec(), vec![2], vec![0.0]);
    for k in 0..=angles.len() {
        if flats.contains(&k) {
            frames.extend(flat(k));
            keys.push(1);
            degrees.push(0.0);
        }
        if let Some(angle) = angles.get(k) {
            frames.extend(projection(k, angle.to_radians()));
            keys.push(0);
            degrees.push(*angle);
        }
    }
    let data = detector.new_dataset::<u16>().shape([keys.len(), ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(&frames).expect("frames");
    let list = detector.new_dataset::<i32>().shape(keys.len()).create("image_key").expect("a dataset");
    list.write_raw(&keys).expect("keys");
    let sample = entry.create_group("sample").expect("a group");
    let list = sample.new_dataset::<f64>().shape(keys.len()).create("rotation_angle").expect("a dataset");
    list.write_raw(&degrees).expect("angles");
}

fn isocenter(folder: &Folder, arguments: &[&str]) -> Output {
    let command = env!("CARGO_BIN_EXE_isocenter");
    Command::new(command).args(arguments).current_dir(&folder.0).output().expect("the command runs")
}

fn succeeds(folder: &Folder, arguments: &[&str]) -> String {
    let output = isocenter(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

const RUN: [&str; 5] = ["--axis", "30.7", "--device", "cpu", "-o"];

/// What becomes of a scan.
fn volume(folder: &Folder, scan: &str, words: &[&str]) -> Vec<f32> {
    succeeds(folder, &[&["recon", scan], words, &RUN, &["volume.h5"]].concat());
    let file = File::open(folder.path("volume.h5")).expect("a volume");
    file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")
}

/// The same frames take the same way, whatever file they come from: to the bit, but for the pixel's side and frames that became floating
/// point, whose flats are averages of other roundings.
fn same(seen: &[f32], expected: &[f32], what: &str) {
    let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
    let off = seen.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(seen.len() == expected.len() && largest > 0.0 && off < 1e-5 * largest, "{what}: {off:e} of {largest:e}");
}

fn write_tiff(folder: &Folder, name: &str, image: &[u16], layout: Layout) {
    tiff(&folder.path(name), &[image], BINS, layout, "", &[]);
}

/// Of so many views, the end of the turn left out.
fn half_turn(views: usize) -> Vec<f64> {
    (0..views).map(|k| 180.0 * k as f64 / views as f64).collect()
}

#[test]
fn folders_of_tiff() {
    let folder = Folder::new("tiff-folder");
    let angles = half_turn(VIEWS);
    nxtomo(folder.path("whole.nx"), &angles, &[0]);
    nxtomo(folder.path("twice.nx"), &angles, &[0, VIEWS]);
    let [expected, twice] = ["whole.nx", "twice.nx"].map(|name| volume(&folder, name, &[]));
    std::fs::create_dir_all(folder.path("scan/sub")).expect("a folder");
    let packed = Layout { packing: Packing::Deflate, ..PLAIN };
    for (layout, what) in [(PLAIN, "plain"), (packed, "deflate"), (Layout { bits: 32, form: 3, ..PLAIN }, "f32")] {
        for (k, angle) in angles.iter().enumerate() {
            // Numbers of as many digits as they need: 10 comes behind 9.
            write_tiff(&folder, &format!("scan/bone_{k}.tif"), &projection(k, angle.to_radians()), layout);
        }
        write_tiff(&folder, "scan/flat_0.tif", &flat(0), layout);
        write_tiff(&folder, "scan/dark_0.tif", &DARK, layout);
        std::fs::write(folder.path("scan/notes.txt"), "nothing").expect("a file");
        same(&volume(&folder, "scan", &[]), &expected, what);
        write_tiff(&folder, "after.tiff", &flat(VIEWS), layout);
        let words = ["--flats", "scan/flat_*.tif", "--flats", "after.tiff", "--darks", "scan/dark_0.tif"];
        same(&volume(&folder, "scan/bone_*.tif", &words), &twice, what);
    }
    let told = succeeds(&folder, &["inspect", "scan"]);
    for word in ["TIFF images", "91 of 6 rows x 64 bins", "0.0000 to 178.0220", "1 after 0 views", "half a turn"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    // Angles and images are in the plan.
    let words =
        ["recon", "scan/bone_*.tif", "--angles", "0..180", "--flats", "scan/flat_0.tif", "--darks", "scan/dark_0.tif"];
    succeeds(&folder, &[&words[..], &RUN, &["first.h5"]].concat());
    let plan = std::fs::read_to_string(folder.path("first.toml")).expect("a plan");
    std::fs::write(folder.path("again.toml"), plan.replace("first.h5", "again.h5")).expect("a plan");
    succeeds(&folder, &["repeat", "again.toml", "--device", "cpu"]);
    let bytes = |name: &str| {
        let file = File::open(folder.path(name)).expect("a volume");
        file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw::<f32>()).expect("values")
    };
    assert!(bytes("first.h5") == bytes("again.h5"));
    let list: String = (0..VIEWS).map(|k| format!("{}\n", 2.0 * k as f64)).collect();
    std::fs::write(folder.path("angles.txt"), format!("# degrees\n{list}")).expect("a file");
    same(&volume(&folder, "scan", &["--angles", "angles.txt"]), &bytes("first.h5"), "a list of angles");
}

/// Flats are groups at their places, and frames behind the scan are left out.
#[test]
fn folders_of_edf() {
    let folder = Folder::new("edf-folder");
    let step = 180.0 / VIEWS as f64;
    nxtomo(folder.path("whole.nx"), &half_turn(VIEWS), &[0, 45, VIEWS]);
    let expected = volume(&folder, "whole.nx", &["--pixel", "0.0007"]);
    std::fs::create_dir_all(folder.path("bone_")).expect("a folder");
    let write = |name: &str, images: &[&[u16]]| {
        let images: Vec<_> = images.iter().map(|image| bytes(image, 16, 1, false)).collect();
        edf(&folder.path(&format!("bone_/{name}")), &images, [ROWS, BINS], "UnsignedShort", false, "");
    };
    for k in 0..VIEWS + 3 {
        write(&format!("bone_{k:04}.edf"), &[&projection(k, (k as f64 * step).to_radians())]);
    }
    for position in [0, 45, VIEWS] {
        write(&format!("refHST{position:04}.edf"), &[&flat(position)]);
    }
    write("dark.edf", &[&DARK]);
    let info = format!(
        "Prefix=  bone_\nTOMO_N=   {VIEWS}\nREF_ON= 45\nREF_N= 1\nDARK_N= 20\nScanRange=  180\nPixelSize= 0.7\n"
    );
    std::fs::write(folder.path("bone_/bone_.info"), &info).expect("a file");
    same(&volume(&folder, "bone_", &[]), &expected, "refHST");
    let told = succeeds(&folder, &["inspect", "bone_"]);
    for word in [
        "EDF",
        "1 after 0 views, 1 after 45 views, 1 after 91 views",
        "0.0007 mm",
        "bone_0091.edf, bone_0092.edf, bone_0093.edf",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    // Flats one by one, and a sum of darks.
    for position in [0, 45, VIEWS] {
        std::fs::remove_file(folder.path(&format!("bone_/refHST{position:04}.edf"))).expect("removed");
        write(&format!("ref0000_{position:04}.edf"), &[&flat(position)]);
        write(&format!("ref0001_{position:04}.edf"), &[&flat(position)]);
    }
    std::fs::remove_file(folder.path("bone_/dark.edf")).expect("removed");
    write("darkend0000.edf", &[&DARK.map(|v| 20 * v)]);
    same(&volume(&folder, "bone_", &[]), &expected, "flats one by one");
    assert!(succeeds(&folder, &["inspect", "bone_"]).contains("2 after 45 views"));
    std::fs::remove_file(folder.path("bone_/bone_.info")).expect("removed");
    let output = isocenter(&folder, &["inspect", "bone_"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("DARK_N"));
    // All in one file.
    let all: Vec<_> = (0..VIEWS).map(|k| projection(k, (k as f64 * step).to_radians())).collect();
    write("all.edf", &all.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let words = ["--flats", "bone_/ref0000_0000.edf", "--flats", "bone_/ref0001_0091.edf", "--darks", "dark.tif"];
    write_tiff(&folder, "dark.tif", &DARK, PLAIN);
    nxtomo(folder.path("twice.nx"), &half_turn(VIEWS), &[0, VIEWS]);
    same(&volume(&folder, "bone_/all.edf", &words), &volume(&folder, "twice.nx", &[]), "one file");
}

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
