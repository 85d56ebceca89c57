//! HDF5 files that are scans in part: whatever is in them, there is a volume or an error, and no panic.

use crate::folder::Folder;
use crate::scans::isocenter;
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor as Kind, VarLenUnicode};
use hdf5_metno::{Extents, File, Group, Selection, SliceOrIndex};
use std::os::unix::process::ExitStatusExt;

/// Files that are made; one after the other, the same each time.
const FILES: usize = 300;

const FRAMES: usize = 12;
const ROWS: usize = 3;
const BINS: usize = 16;

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// In one of so many cases.
    fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// The shape that a dataset has, as a rule.
fn shape(random: &mut Random, usual: &[usize]) -> Extents {
    let others: [&[usize]; 14] = [
        &[],
        &[0],
        &[1],
        &[FRAMES],
        &[FRAMES + 1],
        &[0, ROWS, BINS],
        &[FRAMES, 0, BINS],
        &[FRAMES, ROWS, 0],
        &[FRAMES, ROWS, BINS],
        &[ROWS, BINS],
        &[1, 1, 1],
        &[FRAMES, ROWS, BINS, 2],
        &[FRAMES, ROWS, BINS + 1],
        &[2, ROWS, BINS],
    ];
    match random.below(40) {
        0 => Extents::Null,
        1 => Extents::simple([1 << 40]),
        2 => {
            let mut large = [FRAMES, ROWS, BINS];
            large[random.below(3)] = 1 << 40;
            Extents::simple(large)
        }
        3..=8 => Extents::simple(*random.one(&others)),
        _ => Extents::simple(usual),
    }
}

fn kind(random: &mut Random, usual: &Kind) -> Kind {
    let others = [
        Kind::Unsigned(IntSize::U1),
        Kind::Unsigned(IntSize::U2),
        Kind::Integer(IntSize::U2),
        Kind::Integer(IntSize::U4),
        Kind::Unsigned(IntSize::U8),
        Kind::Float(FloatSize::U4),
        Kind::Float(FloatSize::U8),
        Kind::Boolean,
        Kind::FixedAscii(5),
        Kind::FixedUnicode(5),
        Kind::VarLenUnicode,
        Kind::VarLenArray(Box::new(Kind::Float(FloatSize::U4))),
        Kind::FixedArray(Box::new(Kind::Unsigned(IntSize::U2)), 3),
    ];
    if random.once_in(5) { random.one(&others).clone() } else { usual.clone() }
}

/// A dataset that is as it should be, or is not.
fn dataset(random: &mut Random, group: &Group, name: &str, usual: &[usize], of: &Kind, value: impl Fn(usize) -> f64) {
    match random.below(40) {
        0 | 1 => return,
        2 => return drop(group.create_group(name)),
        3 => return drop(group.link_soft("/nowhere", name)),
        4 => return drop(group.link_external("nowhere.h5", "/data", name)),
        _ => {}
    }
    let (shape, kind) = (shape(random, usual), kind(random, of));
    let (sides, huge) = (shape.dims(), shape.size() > 1 << 20);
    let builder = group.new_dataset_builder();
    let chunk: Vec<_> = sides.iter().map(|&side| 1 + random.below(side.clamp(1, 7))).collect();
    let builder = match random.below(6) {
        // One that is so large is never written.
        _ if huge => builder.chunk(chunk),
        0 if !sides.contains(&0) && !sides.is_empty() => builder.chunk(chunk),
        1 if !sides.contains(&0) && !sides.is_empty() => builder.chunk(chunk).shuffle().deflate(3),
        2 if sides.len() == usual.len() && random.once_in(3) => {
            let to: Vec<SliceOrIndex> = sides.iter().map(|&side| (0..side).into()).collect();
            let to = Selection::from(hdf5_metno::Hyperslab::from(to));
            builder.virtual_map("nowhere.h5", "data", sides.clone(), Selection::All, sides.clone(), to)
        }
        _ => builder,
    };
    // What HDF5 itself refuses is not there.
    let Ok(made) = builder.empty_as(&kind).shape(shape.clone()).create(name) else { return };
    let odd = [f64::NAN, f64::INFINITY, -1e308, 0.0, -5.0];
    let odd = random.once_in(6).then(|| *random.one(&odd));
    let values = (0..shape.size()).map(|k| match odd {
        Some(odd) if k % 7 == 3 => odd,
        _ => value(k),
    });
    if !huge {
        let _ = made.write_raw(&values.collect::<Vec<_>>());
    }
    let unit: VarLenUnicode = random.one(&["um", "m", "rad", "degree", "furlong", ""]).parse().expect("text");
    match random.below(5) {
        0 => drop(made.new_attr::<VarLenUnicode>().create("units").and_then(|attribute| attribute.write_scalar(&unit))),
        1 => drop(made.new_attr::<f64>().shape([2]).create("units")),
        2 => drop(made.new_attr::<VarLenUnicode>().shape([0]).create("units")),
        _ => {}
    }
}

fn file(random: &mut Random, folder: &Folder) {
    let file = File::create(folder.path("scan.h5")).expect("a file");
    let [float, counts] = [Kind::Float(FloatSize::U8), Kind::Unsigned(IntSize::U2)];
    let frame = |k: usize| 500.0 + 3000.0 * ((k as f64 * 0.7).sin() + 1.0);
    let view = |k: usize| 180.0 * k as f64 / FRAMES as f64;
    if random.once_in(2) {
        let entry = file.create_group("entry").expect("a group");
        let detector = entry.create_group("instrument/detector").expect("a group");
        let sample = entry.create_group("sample").expect("a group");
        dataset(random, &detector, "data", &[FRAMES, ROWS, BINS], &counts, |k| {
            let level = if k < ROWS * BINS { 0.0 } else { 8000.0 };
            if k < 3 * ROWS * BINS { level } else { frame(k) }
        });
        let flats = random.below(4);
        let key = |k: usize| if k == 0 { 2.0 } else { f64::from(u8::from(k <= flats)) };
        dataset(random, &detector, "image_key", &[FRAMES], &Kind::Integer(IntSize::U4), key);
        dataset(random, &detector, "x_pixel_size", &[], &float, |_| 1e-6);
        dataset(random, &sample, "rotation_angle", &[FRAMES], &float, view);
        dataset(random, &entry, "title", &[], &Kind::VarLenUnicode, view);
    } else {
        let exchange = file.create_group("exchange").expect("a group");
        dataset(random, &exchange, "data", &[FRAMES, ROWS, BINS], &counts, frame);
        dataset(random, &exchange, "data_white", &[2, ROWS, BINS], &counts, |_| 8000.0);
        dataset(random, &exchange, "data_dark", &[2, ROWS, BINS], &counts, |_| 3.0);
        dataset(random, &exchange, "theta", &[FRAMES], &float, view);
        let objective = file.create_group("measurement/instrument/detection_system/objective").expect("a group");
        dataset(random, &objective, "resolution", &[], &float, |_| 0.7);
    }
}

#[test]
fn whatever_a_file_holds() {
    let folder = Folder::new("random");
    let mut random = Random(1);
    let options: [&[&str]; 16] = [
        &[],
        &[],
        &["--sinograms"],
        &["--input", "transmission"],
        &["--input", "transmission", "--full-beam", "9000"],
        &["--input", "line-integrals"],
        &["--nan", "replace"],
        &["--bad-pixels"],
        &["--bad-pixels", "--nan", "replace", "--median-flats"],
        &["--rows", "0..1"],
        &["--outliers"],
        &["--angles", "0..360", "--half-acquisition", "on"],
        &["--eigenflats", "1"],
        &["--depth", "u8"],
        &["--phase", "--phase-length", "30", "--pixel", "0.001"],
        &["--stripes", "vo", "--padding", "edge"],
    ];
    let (mut made, mut refused) = (0, 0);
    for number in 0..FILES {
        file(&mut random, &folder);
        let more = *random.one(&options);
        let axis: &[&str] = if random.once_in(2) { &["--axis", "7.3"] } else { &[] };
        for words in [
            &["inspect", "scan.h5"],
            &[&["recon", "scan.h5", "--device", "cpu", "--memory", "1G", "-o", "v.h5"], axis, more].concat()[..],
        ] {
            let output = isocenter(&folder, words);
            let told = String::from_utf8_lossy(&output.stderr);
            let ended = matches!(output.status.code(), Some(0 | 1 | 3..=5)) && !told.contains("panicked");
            assert!(
                ended,
                "file {number}, {words:?}: {:?}, {:?}: {told}",
                output.status.code(),
                output.status.signal()
            );
            assert!(!told.contains("H5D"), "file {number}, {words:?}: {told}");
            if words[0] == "recon" {
                *(if output.status.success() { &mut made } else { &mut refused }) += 1;
            }
        }
    }
    // Both happen.
    assert!(made > FILES / 20 && refused > FILES / 5, "{made} made, {refused} refused");
}
