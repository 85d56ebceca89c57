//! Volumes of every kind, through the interface that runs use: what is written in slabs, in any order, by several threads and processes, is what
//! others read.

mod folder;
mod readers;

use folder::Folder;
use isocenter::array::DType;
use isocenter_program::volume::{About, Compression, Format, Places, Volume, Wanted, discard, unfinished};
use readers::{json, line, read};
use std::path::Path;

const NAMES: [&str; 6] = ["v.h5", "v.tif", "v", "v.vol", "v.raw", "v.zarr"];

fn wanted(path: &Path, shape: [usize; 3], dtype: DType) -> Wanted<'_> {
    let format = if path.extension().is_none() { Format::Tiff } else { Format::of(path) };
    let first = shape.map(|n| (1.0 - n as f64) / 2.0);
    let places = Places { step: [0.003; 3], first, known: true };
    let about = About { title: Some("rods"), places, row: 7, scale: [0.5, -3.0], plan: "a plan", labels: &[] };
    Wanted { path, format, compression: Compression::Zstd, shape, dtype, block: 128, about }
}

/// Values that follow from their place; zeros in between, as outside a mask.
fn values([slices, rows, columns]: [usize; 3], dtype: DType) -> Vec<u8> {
    let of = |k: usize| {
        let (x, y) = (k % columns, k / columns % rows);
        let noise = (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        if x.abs_diff(columns / 2) + y.abs_diff(rows / 2) > (rows + columns) / 3 { 0 } else { noise as u16 }
    };
    let all = (0..slices * rows * columns).map(of);
    match dtype {
        DType::U8 => all.map(|v| v as u8).collect(),
        DType::U16 => all.flat_map(u16::to_ne_bytes).collect(),
        _ => all.flat_map(|v| (f32::from(v) - 1e4).to_ne_bytes()).collect(),
    }
}

/// Writes slabs of so many slices, the last first, every other one as another process would.
fn write(wanted: &Wanted, values: &[u8], slab: usize) {
    let slice = values.len() / wanted.shape[0];
    let processes = [wanted.create().expect("a volume"), wanted.resume().expect("the same")];
    // A process has whole blocks of its own.
    std::thread::scope(|scope| {
        for (k, block) in values.chunks(wanted.block * slice).enumerate().rev() {
            let volume: &dyn Volume = &*processes[k % 2];
            scope.spawn(move || {
                for (n, part) in block.chunks(slab * slice).enumerate().rev() {
                    volume.write(k * wanted.block + n * slab, part).expect("written");
                }
                volume.sync().expect("on disk");
            });
        }
    });
    let [volume, _] = processes;
    for k in [0, wanted.shape[0] / 2, wanted.shape[0] - 1] {
        let mut seen = vec![0; slice];
        volume.read(k, &mut seen).expect("a slice");
        assert!(seen == values[k * slice..][..slice], "slice {k} of {}", wanted.path.display());
    }

    volume.finish().expect("finished");
    assert!(!unfinished(wanted.path).expect("a name").exists());
}

#[test]
fn every_kind_holds_what_was_written() {
    let folder = Folder::new("volumes");
    for (shape, block, slab) in [
        ([1, 1, 1], 128, 1),
        ([1, 5, 3], 128, 1),
        ([7, 33, 130], 128, 3),
        ([70, 20, 31], 32, 24),
        ([67, 40, 513], 64, 7),
        // Blocks that are no power of two, and of one slice.
        ([29, 9, 300], 12, 5),
        ([5, 8, 8], 1, 1),
    ] {
        for dtype in [DType::F32, DType::U16, DType::U8] {
            let all = values(shape, dtype);
            for name in NAMES {
                if name == "v.vol" && dtype != DType::F32 {
                    continue;
                }
                let path = folder.path(name);
                let wanted = Wanted { block, ..wanted(&path, shape, dtype) };
                write(&wanted, &all, slab);
                let (seen, bytes) = read(&path);
                assert!(seen == shape && bytes == all, "{name} of {shape:?} {dtype:?} in blocks of {block}");
            }
        }
    }
    let mut left: Vec<_> =
        std::fs::read_dir(&folder.0).expect("a folder").map(|e| e.expect("a name").file_name()).collect();
    left.sort();
    assert_eq!(left, ["v", "v.h5", "v.raw", "v.raw.info", "v.tif", "v.vol", "v.vol.info", "v.zarr"]);
}

/// Each level is the mean of the one before, and lies about the same middle.
#[test]
fn a_pyramid() {
    let folder = Folder::new("pyramid");
    let (path, shape) = (folder.path("v.zarr"), [37, 520, 301]);
    for compression in [Compression::None, Compression::Zstd] {
        let all = values(shape, DType::F32);
        write(&Wanted { block: 16, compression, ..wanted(&path, shape, DType::F32) }, &all, 5);
        let about = json(&path.join("zarr.json"));
        let datasets = about["attributes"]["ome"]["multiscales"][0]["datasets"].as_array().expect("levels").clone();
        // Sides of 520, 260, 130.
        assert_eq!(datasets.len(), 3);
        let mut before = (shape, all);
        for (k, dataset) in datasets.iter().enumerate().skip(1) {
            let (shape, bytes) = readers::zarr(&path, k);
            assert_eq!(shape, before.0.map(|n| n.div_ceil(2)));
            let floats =
                |bytes: &[u8]| -> Vec<f32> { bytes.as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v)).collect() };
            let (small, large) = (floats(&bytes), floats(&before.1));
            let [_, rows, columns] = before.0;
            for (at, seen) in small.iter().enumerate() {
                let place = [at / (shape[1] * shape[2]), at / shape[2] % shape[1], at % shape[2]];
                let (mut sum, mut count) = (0.0, 0.0);
                for n in 0..8usize {
                    let of = [0, 1, 2].map(|k| 2 * place[k] + (n >> k & 1));
                    if (0..3).all(|k| of[k] < before.0[k]) {
                        sum += f64::from(large[(of[0] * rows + of[1]) * columns + of[2]]);
                        count += 1.0;
                    }
                }
                // Eight values of up to 55535 are summed in f32: each sum rounds by half of 2^-5 at most.
                assert!((f64::from(*seen) - sum / count).abs() < 0.2, "{seen} at {place:?}, not {}", sum / count);
            }
            let transforms = &dataset["coordinateTransformations"];
            let number = |of: &serde_json::Value| of[1].as_f64().expect("a number");
            let (scale, first) = (number(&transforms[0]["scale"]), number(&transforms[1]["translation"]));
            let side = f64::from(1 << k);
            assert!((scale - 0.003 * side).abs() < 1e-12);
            // The first value is in the middle of the first values of level 0.
            assert!((first - 0.003 * ((side - 1.0) / 2.0 - 259.5)).abs() < 1e-9);
            before = (shape, bytes);
        }
    }
}

/// What stands beside the values.
#[test]
fn volumes_tell_about_themselves() {
    let folder = Folder::new("about");
    let shape = [3, 40, 50];
    for name in NAMES {
        let (path, dtype) = (folder.path(name), if name == "v.vol" { DType::F32 } else { DType::U16 });
        write(&wanted(&path, shape, dtype), &values(shape, dtype), 1);
    }
    let names: Vec<_> = (7..10).map(|row| folder.path(&format!("v/v_{row:05}.tif"))).collect();
    assert!(names.iter().all(|name| name.exists()));
    let page = std::fs::File::open(&names[0]).expect("a file");
    let mut page = tiff::decoder::Decoder::new(page).expect("a TIFF file");
    let text = page.get_tag_ascii_string(tiff::tags::Tag::ImageDescription).expect("a description");
    assert_eq!(text, "ImageJ=1.54f\nunit=cm\nspacing=0.0003\ncf=0\nc0=-3\nc1=0.5\nvunit=1/mm\n");
    let resolution = page.get_tag_u32_vec(tiff::tags::Tag::XResolution).expect("a resolution");
    assert!((f64::from(resolution[0]) / f64::from(resolution[1]) - 10.0 / 0.003).abs() < 1e-5);
    let info = std::fs::read_to_string(folder.path("v.vol.info")).expect("an info file");
    let floats = values(shape, DType::F32);
    let floats = floats.as_chunks().0.iter().map(|v| f32::from_ne_bytes(*v));
    let most = floats.fold(f32::MIN, f32::max).to_string();
    for (name, value) in
        [("voxelSize", "3"), ("BYTEORDER", "LOWBYTEFIRST"), ("ValMin", "-10000"), ("ValMax", &most), ("S2", &most)]
    {
        assert_eq!(line(&info, name).as_deref(), Some(value), "{name}");
    }
    let info = std::fs::read_to_string(folder.path("v.raw.info")).expect("an info file");
    assert_eq!(line(&info, "DATA_TYPE").as_deref(), Some("uint16"));
    let about = json(&folder.path("v.zarr/zarr.json"));
    assert_eq!(about["attributes"]["isocenter"]["scale_factor"], 0.5);
    assert_eq!(about["attributes"]["isocenter"]["plan"], "a plan");
    let data = hdf5_metno::File::open(folder.path("v.h5")).and_then(|file| file.dataset("entry/reconstruction/data"));
    let offset = data.and_then(|data| data.attr("add_offset")).and_then(|a| a.read_scalar::<f64>());
    assert_eq!(offset.expect("an attribute"), -3.0);
}

/// What is in the way of a volume, and what another plan has left, is an error that names it; nothing is lost.
#[test]
fn what_is_in_the_way() {
    let folder = Folder::new("way");
    let shape = [2, 3, 4];
    std::fs::create_dir(folder.path("folder.h5")).expect("a folder");
    std::fs::create_dir(folder.path("photos")).expect("a folder");
    std::fs::write(folder.path("photos/tooth_00001.jpg"), "a tooth").expect("a file");
    std::fs::create_dir_all(folder.path("labels.zarr/labels")).expect("a folder");
    std::fs::write(folder.path("file"), "text").expect("a file");
    std::fs::write(folder.path("file.zarr"), "text").expect("a file");
    for (name, dtype, word) in [
        ("folder.h5", DType::F32, "is a folder"),
        ("photos", DType::F32, "tooth_00001.jpg"),
        ("labels.zarr", DType::F32, "labels"),
        ("file", DType::F32, "is to be a folder"),
        ("file.zarr", DType::F32, "is to be a folder"),
        ("v.vol", DType::U8, "name it .raw"),
        ("no/v.tif", DType::U8, "no"),
        ("no/v.zarr", DType::U8, "no"),
        ("file/v.h5", DType::U8, "file"),
    ] {
        let path = folder.path(name);
        let wanted = wanted(&path, shape, dtype);
        let error = wanted.create().err().map(|e| format!("{e:#}")).unwrap_or_default();
        assert!(error.contains(word), "{name}: {error}");
    }
    assert!(folder.path("photos/tooth_00001.jpg").exists() && folder.path("labels.zarr/labels").exists());
    // More than any disk has.
    for name in ["v.h5", "v.tif", "v", "v.vol"] {
        let path = folder.path(name);
        let error = wanted(&path, [1 << 20, 1 << 16, 1 << 14], DType::F32).create().err();
        let error = error.map(|e| format!("{e:#}")).unwrap_or_default();
        assert!(error.contains("GB are free"), "{name}: {error}");
    }
    for name in NAMES {
        let path = folder.path(name);
        let first = wanted(&path, shape, DType::F32);
        drop(first.create().expect("a volume"));
        // Of another shape, and gone.
        if name != "v" {
            assert!(Wanted { shape: [2, 3, 5], ..first }.resume().is_err(), "{name}");
        }
        discard(&path);
        let error = first.resume().err().map(|e| format!("{e:#}")).unwrap_or_default();
        assert!(error.contains("is gone"), "{name}: {error}");
    }
    // A volume is replaced by the next one, at the end.
    for name in ["v.zarr", "v"] {
        let path = folder.path(name);
        for dtype in [DType::U16, DType::U8] {
            let all = values(shape, dtype);
            let volume = wanted(&path, shape, dtype).create().expect("a volume");
            volume.write(0, &all).expect("written");
            assert!(dtype == DType::U16 || read(&path).1 == values(shape, DType::U16), "{name} is gone too early");
            volume.finish().expect("finished");
            assert!(read(&path).1 == all, "{name}");
        }
    }
}
