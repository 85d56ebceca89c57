//! HDF5 files that are scans in part. Their metadata are right, as HDF5 writes them; what they tell of is not, and chunks are as bytes say.

use super::{Choices, scan, scratch};
use hdf5_metno::filters::Filter;
use hdf5_metno::types::{FloatSize, IntSize, TypeDescriptor as Kind, VarLenUnicode};
use hdf5_metno::{Dataset, Extents, File, Group, Hyperslab, Selection, SliceOrIndex};
use hdf5_metno_sys::h5d::H5Dwrite_chunk;
use isocenter_program::scan::Input;
use std::path::Path;

const FRAMES: usize = 12;
const ROWS: usize = 3;
const BINS: usize = 16;

/// The shape that a dataset has, as a rule.
fn shape(choices: &mut Choices, usual: &[usize]) -> Extents {
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
    match choices.below(40) {
        39 => Extents::Null,
        38 => Extents::simple([1 << 40]),
        37 => {
            let mut large = [FRAMES, ROWS, BINS];
            large[choices.below(3)] = *choices.one(&[1 << 40, 1 << 20, (1 << 24) + 1]);
            Extents::simple(large)
        }
        36 => Extents::from(usual.to_vec()).resizable(),
        30..=35 => Extents::simple(*choices.one(&others)),
        _ => Extents::simple(usual),
    }
}

fn kind(choices: &mut Choices, usual: &Kind) -> Kind {
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
    if choices.once_in(5) { choices.one(&others).clone() } else { usual.clone() }
}

/// Filters of which no more is asked than that they are named: chunks come as they are given.
fn filters(choices: &mut Choices) -> Vec<Filter> {
    let numbers = [32015, 32001, 32008, 32004, 32000, 77];
    let options = [0, 2, 0, 8, 128, 3, u32::MAX];
    let one = |choices: &mut Choices| match choices.below(8) {
        6 => Filter::shuffle(),
        7 => Filter::fletcher32(),
        number => {
            let count = choices.below(7);
            Filter::user(numbers[number], &(0..count).map(|_| *choices.one(&options)).collect::<Vec<_>>())
        }
    };
    (0..1 + choices.below(2)).map(|_| one(choices)).collect()
}

/// Writes bytes as they are in the place of a chunk, as detectors do.
pub fn write_chunk(dataset: &Dataset, at: &[usize], skipped: u32, bytes: &[u8]) {
    let at: Vec<_> = at.iter().map(|&k| k as u64).collect();
    // What HDF5 refuses is not there.
    hdf5_metno::sync::sync(|| {
        // SAFETY: the library's lock is held, the dataset is open and has as many dimensions; the bytes are as many as are told.
        unsafe { H5Dwrite_chunk(dataset.id(), 0, skipped, at.as_ptr(), bytes.len(), bytes.as_ptr().cast()) };
    });
}

/// A selection of all of a shape.
fn all(sides: &[usize]) -> Selection {
    Selection::from(Hyperslab::from(sides.iter().map(|&side| (0..side).into()).collect::<Vec<SliceOrIndex>>()))
}

/// A dataset that is as it should be, or is not.
fn dataset(choices: &mut Choices, group: &Group, name: &str, usual: &[usize], of: &Kind, value: impl Fn(usize) -> f64) {
    match choices.below(40) {
        39 | 38 => return,
        37 => return drop(group.create_group(name)),
        36 => return drop(group.link_soft("/nowhere", name)),
        35 => return drop(group.link_external("nowhere.h5", "/data", name)),
        34 => return drop(group.link_soft(".", name)),
        _ => {}
    }
    let (shape, kind) = (shape(choices, usual), kind(choices, of));
    let (sides, huge) = (shape.dims(), shape.size() > 1 << 20);
    // Chunks of texts are there from the beginning.
    let kind = if huge { Kind::Unsigned(IntSize::U2) } else { kind };
    let builder = group.new_dataset_builder();
    let resizable = shape.is_resizable();
    let chunk = |choices: &mut Choices| {
        // Of what may grow chunks may be larger than what is there.
        let most = |side: usize| if resizable { 2 * side } else { side.clamp(1, 7) };
        sides.iter().map(|&side| 1 + choices.below(most(side).max(1))).collect::<Vec<_>>()
    };
    let plain = !sides.contains(&0) && !sides.is_empty();
    let (mut raw, mut virtually) = (None, false);
    let builder = match choices.below(8) {
        // One that is so large is never written, and has few chunks.
        _ if huge => builder.chunk(sides.iter().map(|side| side.div_ceil(16).min(1 << 16)).collect::<Vec<_>>()),
        7 if plain => builder.chunk(chunk(choices)),
        6 if plain => builder.chunk(chunk(choices)).shuffle().deflate(3),
        // What is of texts and lists of any length names places in the file, which are metadata.
        5 | 4 if plain && !matches!(kind, Kind::VarLenUnicode | Kind::VarLenArray(_)) => {
            let chunk = chunk(choices);
            raw = Some(chunk.clone());
            builder.chunk(chunk).set_filters(&filters(choices))
        }
        3 if sides.len() == usual.len() && choices.once_in(3) => {
            virtually = true;
            let of = *choices.one(&["nowhere.h5", ".", "."]);
            let source = *choices.one(&["other", "entry/instrument/detector/data", "exchange/data", "%b"]);
            builder.virtual_map(of, source, sides.clone(), Selection::All, sides.clone(), all(&sides))
        }
        _ => builder,
    };
    // What HDF5 itself refuses is not there.
    let Ok(made) = builder.empty_as(&kind).shape(shape.clone()).create(name) else { return };
    let odd = [f64::NAN, f64::INFINITY, -1e308, 0.0, -5.0];
    let odd = choices.once_in(6).then(|| *choices.one(&odd));
    let values = (0..shape.size()).map(|k| match odd {
        Some(odd) if k % 7 == 3 => odd,
        _ => value(k),
    });
    if let Some(chunk) = raw {
        for _ in 0..choices.below(4) {
            let at: Vec<_> = chunk.iter().zip(&sides).map(|(c, s)| choices.below(s.div_ceil(*c)) * c).collect();
            let skipped = choices.below(4) as u32;
            // As long as a chunk is, as a rule of those that nothing compresses.
            let bytes = match choices.once_in(2) {
                true => vec![7; chunk.iter().product::<usize>() * kind.size() + 4 * choices.below(3)],
                false => choices.some().to_vec(),
            };
            write_chunk(&made, &at, skipped, &bytes);
        }
    } else if !huge && !virtually && made.chunk().is_none_or(|chunk| chunk.iter().product::<usize>() < 1 << 16) {
        let _ = made.write_raw(&values.collect::<Vec<_>>());
    }
    let unit: VarLenUnicode = choices.one(&["um", "m", "rad", "degree", "furlong", ""]).parse().expect("text");
    match choices.below(5) {
        4 => drop(made.new_attr::<VarLenUnicode>().create("units").and_then(|attribute| attribute.write_scalar(&unit))),
        3 => drop(made.new_attr::<f64>().shape([2]).create("units")),
        2 => drop(made.new_attr::<VarLenUnicode>().shape([0]).create("units")),
        _ => {}
    }
}

/// Writes a file as the bytes say.
pub fn write(choices: &mut Choices, path: &Path) {
    // In memory until it is whole.
    let file = File::with_options().with_fapl(|list| list.core_filebacked(true)).create(path).expect("a file");
    let [float, counts] = [Kind::Float(FloatSize::U8), Kind::Unsigned(IntSize::U2)];
    let frame = |k: usize| 500.0 + 3000.0 * ((k as f64 * 0.7).sin() + 1.0);
    let view = |k: usize| 180.0 * k as f64 / FRAMES as f64;
    if choices.once_in(8) {
        dataset(choices, &file, "other", &[FRAMES, ROWS, BINS], &counts, frame);
    }
    if choices.below(2) == 0 {
        let entry = file.create_group("entry").expect("a group");
        let detector = entry.create_group("instrument/detector").expect("a group");
        let sample = entry.create_group("sample").expect("a group");
        dataset(choices, &detector, "data", &[FRAMES, ROWS, BINS], &counts, |k| {
            let level = if k < ROWS * BINS { 0.0 } else { 8000.0 };
            if k < 3 * ROWS * BINS { level } else { frame(k) }
        });
        let flats = 3 - choices.below(4);
        let key = |k: usize| if k == 0 { 2.0 } else { f64::from(u8::from(k <= flats)) };
        dataset(choices, &detector, "image_key", &[FRAMES], &Kind::Integer(IntSize::U4), key);
        dataset(choices, &detector, "x_pixel_size", &[], &float, |_| 1e-6);
        dataset(choices, &sample, "rotation_angle", &[FRAMES], &float, view);
        dataset(choices, &entry, "title", &[], &Kind::VarLenUnicode, view);
        if choices.once_in(12) {
            let _ = file.link_hard("entry", choices.one::<&str>(&["entry2", "entry/entry", "\u{e9}"]));
        }
    } else {
        let exchange = file.create_group("exchange").expect("a group");
        dataset(choices, &exchange, "data", &[FRAMES, ROWS, BINS], &counts, frame);
        dataset(choices, &exchange, "data_white", &[2, ROWS, BINS], &counts, |_| 8000.0);
        dataset(choices, &exchange, "data_dark", &[2, ROWS, BINS], &counts, |_| 3.0);
        dataset(choices, &exchange, "theta", &[FRAMES], &float, view);
        let objective = file.create_group("measurement/instrument/detection_system/objective").expect("a group");
        dataset(choices, &objective, "resolution", &[], &float, |_| 0.7);
    }
}

/// Makes a file as the bytes say, and reads the scan in it.
pub fn read(bytes: &[u8]) {
    scratch::with(|folder| {
        let mut choices = Choices::new(bytes);
        let path = folder.join("scan.h5");
        let (sinograms, angles) = (choices.once_in(8), choices.once_in(3).then(|| "0..180".to_string()));
        write(&mut choices, &path);
        scan(&path, &Input { sinograms, angles, ..Input::default() });
    });
}
