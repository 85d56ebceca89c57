//! Images as they were written, whatever file they are in.

use crate::files::{Layout, PLAIN, Packing, Pieces, bytes, edf, tiff};
use crate::folder::Folder;
use isocenter::array::DType;
use isocenter_program::frames::{Frames, Kind, Room, Source, hold, of_files};
use isocenter_program::team::Alone;
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
    hold(&mut [&mut held], &(0..rows).collect::<Vec<_>>(), &mut room, &Alone::default()).expect("held");
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
