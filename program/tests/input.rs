//! Reading of frames from HDF5 files in all layouts, against what was written, exactly.

mod encoders;
mod folder;

use encoders::Encoder;
use folder::Folder;
use hdf5_metno::dataset::DatasetBuilder;
use hdf5_metno::plist::dataset_create::ChunkOpts;
use hdf5_metno::types::TypeDescriptor;
use hdf5_metno::{Dataset, File, H5Type, Hyperslab, Selection, SliceOrIndex};
use isocenter::array::DType;
use isocenter_program::frames::{Frames, Room, Source, hold, of_dataset};
use isocenter_program::team::Alone;
use std::path::Path;
use std::sync::Arc;

/// Frames, rows and bins that no chunk below divides.
const SHAPE: [usize; 3] = [11, 13, 37];

fn room(memory: u64) -> Room {
    Room { memory, scratch: std::env::temp_dir() }
}

/// Values of which neighbours are alike, with noise: what compresses a little.
fn values() -> Vec<u16> {
    let count: usize = SHAPE.iter().product();
    let noise = |k: usize| (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_shr(61) as u16;
    (0..count).map(|k| (k / 37 * 9) as u16 + noise(k)).collect()
}

/// Bytes of numbers.
fn bytes<T: Copy>(values: &[T]) -> Vec<u8> {
    // SAFETY: numbers, of which each byte may be read.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) }.to_vec()
}

/// Some rows of some frames of all values.
fn part(all: &[u8], size: usize, frames: &[usize], rows: std::ops::Range<usize>) -> Vec<u8> {
    let row = SHAPE[2] * size;
    frames
        .iter()
        .flat_map(|f| all[(f * SHAPE[1] + rows.start) * row..(f * SHAPE[1] + rows.end) * row].to_vec())
        .collect()
}

/// Reads in several ways, each of which has to give what was written.
fn check(source: &Arc<dyn Source>, expected: &[u8], what: &str) {
    let size = source.dtype().size();
    let all: Vec<_> = (0..SHAPE[0]).collect();
    let read = |source: &dyn Source, frames: &[usize], rows: std::ops::Range<usize>| {
        let mut to = vec![0xa5; frames.len() * rows.len() * SHAPE[2] * size];
        source.read(frames, rows.clone(), &mut to).unwrap_or_else(|e| panic!("{what}: {e:#}"));
        assert!(to == part(expected, size, frames, rows.clone()), "{what}: frames {frames:?}, rows {rows:?}");
    };
    let some = [0, 2, 3, 4, 5, 8, 10];
    read(&**source, &all, 0..SHAPE[1]);
    read(&**source, &some, 0..SHAPE[1]);
    read(&**source, &some, 3..9);
    read(&**source, &[7], 12..13);
    read(&**source, &[5], 4..4);
    read(&**source, &[], 0..4);
    // Kept in memory and in a file, of all rows and of some.
    for memory in [u64::MAX, 0] {
        let mut frames = Frames { source: source.clone(), which: all.clone() };
        let mut others = Frames { source: source.clone(), which: some.to_vec() };
        hold(&mut [&mut frames, &mut others], &(0..SHAPE[1]).collect::<Vec<_>>(), &mut room(memory), &Alone::default())
            .unwrap_or_else(|e| panic!("{what}: {e:#}"));
        let after = source.decoded();
        for rows in [0..SHAPE[1], 0..5, 5..6, 6..13] {
            read(&*frames.source, &all, rows.clone());
            read(&*others.source, &some, rows);
        }
        assert_eq!(source.decoded(), after, "{what}: something was decoded again");
        if let Some(layer) = source.together() {
            assert!(!Arc::ptr_eq(&frames.source, source), "{what}: not held");
            assert!(Arc::ptr_eq(&frames.source, &others.source), "{what}: held twice");
            assert!(layer > 0, "{what}");
        }
        let mut frames = Frames { source: source.clone(), which: some.to_vec() };
        hold(&mut [&mut frames], &[2, 3, 4, 7, 12], &mut room(memory), &Alone::default()).expect("held");
        for rows in [2..5, 3..4, 12..13, 1..8] {
            read(&*frames.source, &some, rows);
        }
        let rows = frames.rows(&[2, 3, 7]).expect("rows");
        let wanted: Vec<u8> =
            some.iter().flat_map(|&f| [2, 3, 7].map(|r| part(expected, size, &[f], r..r + 1)).concat()).collect();
        assert!(rows == wanted, "{what}: rows apart");
    }
}

/// Writes a dataset as the builder makes it, and opens it for reading.
fn written<T: H5Type>(path: &Path, values: &[T], make: impl Fn(DatasetBuilder) -> DatasetBuilder) -> Dataset {
    let file = File::create(path).expect("a file");
    let dataset = make(file.new_dataset_builder()).empty::<T>().shape(SHAPE).create("data").expect("a dataset");
    let view = ndarray::ArrayView3::from_shape((SHAPE[0], SHAPE[1], SHAPE[2]), values).expect("a shape");
    dataset.write(view).expect("written");
    file.close().expect("closed");
    File::open(path).and_then(|file| file.dataset("data")).expect("opened")
}

const CHUNKS: [[usize; 3]; 6] = [[1, 13, 37], [1, 5, 37], [4, 13, 37], [3, 4, 8], [11, 1, 37], [2, 6, 40]];

#[test]
fn chunks_of_all_shapes() {
    let folder = Folder::new("shapes");
    let values = values();
    for chunk in CHUNKS.into_iter().filter(|chunk| chunk[2] <= SHAPE[2]) {
        for filter in [
            "none",
            "deflate",
            "shuffle, deflate",
            "shuffle, deflate, fletcher32",
            "fletcher32",
            "deflate, then shuffle",
        ] {
            let what = format!("{chunk:?} {filter}");
            let dataset = written(&folder.path("scan.h5"), &values, |b| {
                let b = b.chunk(chunk);
                let b = if filter.contains("shuffle") { b.shuffle() } else { b };
                let b = if filter.contains("deflate") { b.deflate(4) } else { b };
                if filter.contains("fletcher32") { b.fletcher32() } else { b }
            });
            let source = of_dataset(dataset).expect(&what);
            let storage = source.storage();
            assert!(storage.contains("by this program"), "{what}: {storage}");
            check(&source, &bytes(&values), &what);
        }
    }
}

#[test]
fn every_chunk_is_decoded_once() {
    let folder = Folder::new("once");
    let values = values();
    for chunk in [[1, 13, 37], [4, 13, 37], [3, 4, 8]] {
        let dataset = written(&folder.path("scan.h5"), &values, |b| b.chunk(chunk).deflate(4));
        let source = of_dataset(dataset).expect("a source");
        let mut frames = Frames::all(source.clone());
        hold(&mut [&mut frames], &(0..SHAPE[1]).collect::<Vec<_>>(), &mut room(u64::MAX), &Alone::default())
            .expect("held");
        let chunks: usize = (0..3).map(|d| SHAPE[d].div_ceil(chunk[d])).product();
        assert_eq!(source.decoded(), (chunks * chunk.iter().product::<usize>() * 2) as u64, "{chunk:?}");
    }
}

#[test]
fn filters_from_elsewhere() {
    let folder = Folder::new("filters");
    let values = values();
    for chunk in [[1, 13, 37], [4, 13, 36], [11, 13, 37], [3, 4, 8]] {
        for encoder in Encoder::ALL {
            let what = format!("{encoder:?}, {chunk:?}");
            let dataset = written(&folder.path("scan.h5"), &values, |b| {
                let b = b.chunk(chunk);
                encoder.add(if encoder.alone() { b } else { b.shuffle() }, 2)
            });
            let source = of_dataset(dataset).expect(&what);
            assert!(source.storage().contains("by this program"), "{what}: {}", source.storage());
            check(&source, &bytes(&values), &what);
        }
    }
}

/// What becomes f32 is compared with the language's own conversion.
#[test]
fn element_types_and_byte_orders() {
    let folder = Folder::new("types");
    let values = values();
    macro_rules! of {
        ($type:ty, $to:ty, $dtype:expr) => {
            let typed: Vec<$type> = values.iter().map(|&v| (v as $type).wrapping_mul_like(v)).collect();
            let expected: Vec<$to> = typed.iter().map(|&v| v as $to).collect();
            for chunk in [None, Some([2, 5, 37])] {
                for big in [false, true] {
                    let what = format!("{}, big endian {big}, {chunk:?}", stringify!($type));
                    let dataset = written_as(&folder.path("scan.h5"), &typed, big, chunk, big);
                    let source = of_dataset(dataset).expect(&what);
                    assert_eq!(source.dtype(), $dtype, "{what}");
                    assert!(!source.storage().contains("HDF5"), "{what}: {}", source.storage());
                    check(&source, &bytes(&expected), &what);
                }
            }
        };
    }
    of!(u8, u8, DType::U8);
    of!(i8, f32, DType::F32);
    of!(u16, u16, DType::U16);
    of!(i16, f32, DType::F32);
    of!(u32, f32, DType::F32);
    of!(i32, f32, DType::F32);
    of!(u64, f32, DType::F32);
    of!(i64, f32, DType::F32);
    of!(f32, f32, DType::F32);
    of!(f64, f32, DType::F32);
}

/// Values that fill the type's range: of both signs, with all bytes in use.
trait Spread: Copy {
    fn wrapping_mul_like(self, v: u16) -> Self;
}

macro_rules! spread {
    ($($type:ty),*) => {$(impl Spread for $type {
        fn wrapping_mul_like(self, v: u16) -> Self {
            (u64::from(v).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - 8 * size_of::<Self>().min(8) as u32)) as Self
        }
    })*};
}
spread!(u8, i8, u16, i16, u32, i32, u64, i64);

impl Spread for f32 {
    fn wrapping_mul_like(self, v: u16) -> Self {
        (f32::from(v) - 300.0) / 7.0
    }
}

impl Spread for f64 {
    fn wrapping_mul_like(self, v: u16) -> Self {
        (f64::from(v) - 300.0) / 7.0
    }
}

/// With `late`, bytes are shuffled after they were compressed, as nobody should.
fn written_as<T: H5Type>(path: &Path, values: &[T], big: bool, chunk: Option<[usize; 3]>, late: bool) -> Dataset {
    use hdf5_metno_sys::{h5d, h5p, h5s, h5t};
    let file = File::create(path).expect("a file");
    let native = hdf5_metno::datatype::Datatype::from_type::<T>().expect("a type");
    hdf5_metno::sync::sync(|| {
        // SAFETY: the library's lock is held, and all identifiers are open.
        unsafe {
            let stored = h5t::H5Tcopy(native.id());
            let order = if big { h5t::H5T_order_t::H5T_ORDER_BE } else { h5t::H5T_order_t::H5T_ORDER_LE };
            h5t::H5Tset_order(stored, order);
            let shape = SHAPE.map(|n| n as u64);
            let space = h5s::H5Screate_simple(3, shape.as_ptr(), std::ptr::null());
            let properties = h5p::H5Pcreate(*hdf5_metno::globals::H5P_DATASET_CREATE);
            if let Some(chunk) = chunk {
                h5p::H5Pset_chunk(properties, 3, chunk.map(|n| n as u64).as_ptr());
                if !late {
                    h5p::H5Pset_shuffle(properties);
                }
                h5p::H5Pset_deflate(properties, 3);
                if late {
                    h5p::H5Pset_shuffle(properties);
                }
            }
            let id = h5d::H5Dcreate2(file.id(), c"data".as_ptr(), stored, space, 0, properties, 0);
            let all = h5s::H5S_ALL;
            assert!(h5d::H5Dwrite(id, native.id(), all, all, 0, values.as_ptr().cast()) >= 0);
            assert!(h5d::H5Dclose(id) >= 0 && h5s::H5Sclose(space) >= 0);
            assert!(h5p::H5Pclose(properties) >= 0 && h5t::H5Tclose(stored) >= 0);
        }
    });
    file.close().expect("closed");
    File::open(path).and_then(|file| file.dataset("data")).expect("opened")
}

#[test]
fn chunks_that_were_never_written_hold_the_fill_value() {
    let folder = Folder::new("missing");
    let path = folder.path("scan.h5");
    let values = values();
    let frame = |frame: usize| &values[frame * 481..(frame + 1) * 481];
    let mut expected = vec![777u16; values.len()];
    for k in [4, 10] {
        expected[k * 481..(k + 1) * 481].copy_from_slice(frame(k));
    }
    for filtered in [true, false] {
        let file = File::create(&path).expect("a file");
        let builder = file.new_dataset::<u16>().chunk([2, 5, 37]).fill_value(777u16);
        let builder = if filtered { builder.deflate(3) } else { builder };
        let dataset = builder.shape(SHAPE).create("data").expect("a dataset");
        for k in [4, 10] {
            let values = ndarray::ArrayView2::from_shape((SHAPE[1], SHAPE[2]), frame(k)).expect("a shape");
            dataset.write_slice(values.into_dyn(), (k, .., ..)).expect("written");
        }
        drop((dataset, file));
        let source = of_dataset(File::open(&path).expect("a file").dataset("data").expect("data")).expect("a source");
        check(&source, &bytes(&expected), &format!("missing chunks, filtered {filtered}"));
        assert_eq!(source.together().is_some(), filtered);
    }
}

#[test]
fn partial_chunks_that_pass_no_filter() {
    let folder = Folder::new("partial");
    let values = values();
    let dataset = written(&folder.path("scan.h5"), &values, |b| {
        b.chunk([2, 5, 37]).shuffle().deflate(3).chunk_opts(ChunkOpts::DONT_FILTER_PARTIAL_CHUNKS)
    });
    check(&of_dataset(dataset).expect("a source"), &bytes(&values), "partial chunks");
}

#[test]
fn one_image_is_a_frame() {
    let folder = Folder::new("image");
    let path = folder.path("scan.h5");
    let values: Vec<u16> = values()[..481].to_vec();
    let file = File::create(&path).expect("a file");
    let image = ndarray::ArrayView2::from_shape((13, 37), &values).expect("a shape");
    file.new_dataset_builder().chunk([6, 10]).deflate(3).with_data(image).create("data").expect("a dataset");
    drop(file);
    let source = of_dataset(File::open(&path).expect("a file").dataset("data").expect("data")).expect("a source");
    assert_eq!(source.shape(), [1, 13, 37]);
    let mut to = vec![0; 2 * values.len()];
    source.read(&[0], 0..13, &mut to).expect("read");
    assert!(to == bytes(&values));
}

/// A file with frames of which some lie elsewhere; `make` maps them.
fn virtual_file(path: &Path, make: impl Fn(DatasetBuilder) -> DatasetBuilder) -> Arc<dyn Source> {
    let file = File::create(path).expect("a file");
    make(file.new_dataset_builder().fill_value(5u16)).empty::<u16>().shape(SHAPE).create("data").expect("a dataset");
    drop(file);
    of_dataset(File::open(path).expect("a file").dataset("data").expect("data")).expect("a source")
}

fn of_frames(range: std::ops::Range<usize>) -> Selection {
    Hyperslab::from(vec![range.into(), SliceOrIndex::from(0..SHAPE[1]), SliceOrIndex::from(0..SHAPE[2])]).into()
}

#[test]
fn virtual_datasets_of_whole_frames() {
    let folder = Folder::new("virtual");
    let values = values();
    written(&folder.path("first.h5"), &values, |b| b.chunk([1, 13, 37]).deflate(3));
    written(&folder.path("second.h5"), &values, |b| b);
    // Frames 6 to 9 of the first, then nothing for a frame, then frames 0 to 4 of the second.
    let source = virtual_file(&folder.path("scan.h5"), |b| {
        b.virtual_map("first.h5", "data", SHAPE, of_frames(6..10), SHAPE, of_frames(0..4)).virtual_map(
            "second.h5",
            "data",
            SHAPE,
            of_frames(0..5),
            SHAPE,
            of_frames(5..10),
        )
    });
    let mut expected = vec![5u16; values.len()];
    expected[..4 * 481].copy_from_slice(&values[6 * 481..10 * 481]);
    expected[5 * 481..10 * 481].copy_from_slice(&values[..5 * 481]);
    assert!(source.storage().starts_with("virtual, 2 parts"), "{}", source.storage());
    check(&source, &bytes(&expected), "virtual");
    // By rows: the HDF5 library has to put it together.
    let of_rows = |rows: std::ops::Range<usize>| -> Selection {
        Hyperslab::from(vec![SliceOrIndex::from(0..SHAPE[0]), rows.into(), SliceOrIndex::from(0..SHAPE[2])]).into()
    };
    let source = virtual_file(&folder.path("rows.h5"), |b| {
        b.virtual_map("first.h5", "data", SHAPE, of_rows(0..4), SHAPE, of_rows(0..4))
    });
    assert!(source.storage().contains("HDF5 library"), "{}", source.storage());
    let expected: Vec<u16> = values.iter().enumerate().map(|(k, &v)| if k / 37 % 13 < 4 { v } else { 5 }).collect();
    check(&source, &bytes(&expected), "virtual by rows");
}

/// The message of a dataset that is not opened.
fn refused(path: &Path) -> String {
    let opened = of_dataset(File::open(path).expect("a file").dataset("data").expect("data"));
    opened.err().map(|e| format!("{e:#}")).expect("an error")
}

/// Makes a virtual dataset, and says nothing of what it is made of.
fn mapped(path: &Path, make: impl Fn(DatasetBuilder) -> DatasetBuilder) {
    let file = File::create(path).expect("a file");
    make(file.new_dataset_builder()).empty::<u16>().shape(SHAPE).create("data").expect("a dataset");
}

/// Where HDF5 would give its fill value there is an error, however parts are put together and named.
#[test]
fn virtual_datasets_with_missing_sources() {
    let folder = Folder::new("virtual-missing");
    let path = folder.path("scan.h5");
    let values = values();
    let rows: Selection =
        Hyperslab::from(vec![SliceOrIndex::from(0..SHAPE[0]), (0..4).into(), SliceOrIndex::from(0..SHAPE[2])]).into();
    type Make<'a> = &'a dyn Fn(DatasetBuilder) -> DatasetBuilder;
    // All of a dataset is what h5py writes for a whole one.
    let all: Make = &|b| b.virtual_map("part.h5", "data", SHAPE, Selection::All, SHAPE, Selection::All);
    let frames: Make = &|b| b.virtual_map("part.h5", "data", SHAPE, of_frames(5..10), SHAPE, of_frames(0..5));
    let by_rows: Make = &|b| b.virtual_map("part.h5", "data", SHAPE, rows.clone(), SHAPE, rows.clone());
    for (make, what) in [(all, "all"), (frames, "frames"), (by_rows, "rows")] {
        mapped(&path, make);
        let message = refused(&path);
        assert!(message.contains("part.h5") && message.contains("missing"), "{what}: {message}");
        // The file without the dataset.
        drop(File::create(folder.path("part.h5")).expect("a file"));
        let message = refused(&path);
        assert!(message.contains("part.h5") && message.contains("data in"), "{what}: {message}");
        written(&folder.path("part.h5"), &values, |b| b);
        of_dataset(File::open(&path).expect("a file").dataset("data").expect("data")).expect(what);
        std::fs::remove_file(folder.path("part.h5")).expect("removed");
    }
    mapped(&path, frames);
    assert!(refused(&path).contains("0 to 4"), "{}", refused(&path));
    // All of one is read as quickly as frames are.
    written(&folder.path("part.h5"), &values, |b| b.chunk([1, 13, 37]).deflate(3));
    let source = virtual_file(&path, all);
    assert!(source.storage().starts_with("virtual, 1 parts"), "{}", source.storage());
    check(&source, &bytes(&values), "all");
    // More frames than there are.
    let long = [30, SHAPE[1], SHAPE[2]];
    mapped(&path, |b| b.virtual_map("part.h5", "data", long, of_frames(20..25), SHAPE, of_frames(2..7)));
    assert!(refused(&path).contains("[25, 13, 37] are taken"), "{}", refused(&path));
    // A virtual dataset of a virtual one, whose source is missing.
    mapped(&folder.path("between.h5"), all);
    mapped(&path, |b| b.virtual_map("between.h5", "data", SHAPE, Selection::All, SHAPE, Selection::All));
    std::fs::remove_file(folder.path("part.h5")).expect("removed");
    let message = refused(&path);
    assert!(message.contains("part.h5") && message.contains("missing"), "{message}");
    // Of its own file.
    mapped(&path, |b| b.virtual_map(".", "frames", SHAPE, Selection::All, SHAPE, Selection::All));
    assert!(refused(&path).contains("frames in"), "{}", refused(&path));
    // Of itself.
    mapped(&path, |b| b.virtual_map(".", "data", SHAPE, Selection::All, SHAPE, Selection::All));
    assert!(refused(&path).contains("made of itself"), "{}", refused(&path));
}

/// Files that are counted: the dataset ends where HDF5 finds the first that is missing, and would say nothing.
#[test]
fn virtual_datasets_of_counted_files() {
    let folder = Folder::new("virtual-counted");
    let path = folder.path("scan.h5");
    let values = values();
    {
        use hdf5_metno_sys::{h5d, h5i, h5p, h5s};
        let file = File::create(&path).expect("a file");
        hdf5_metno::sync::sync(|| {
            let [frames, rows, bins] = SHAPE.map(|n| n as u64);
            // SAFETY: the library's lock is held, all identifiers are open, and lists are of three dimensions.
            unsafe {
                let most = [h5s::H5S_UNLIMITED, rows, bins];
                let here = h5s::H5Screate_simple(3, SHAPE.map(|n| n as u64).as_ptr(), most.as_ptr());
                let there = h5s::H5Screate_simple(3, SHAPE.map(|n| n as u64).as_ptr(), std::ptr::null());
                let (start, count) = ([0u64; 3], [h5s::H5S_UNLIMITED, 1, 1]);
                let block = [frames, rows, bins];
                let set = h5s::H5S_seloper_t::H5S_SELECT_SET;
                let lists = [start.as_ptr(), block.as_ptr(), count.as_ptr(), block.as_ptr()];
                assert!(h5s::H5Sselect_hyperslab(here, set, lists[0], lists[1], lists[2], lists[3]) >= 0);
                let properties = h5p::H5Pcreate(*hdf5_metno::globals::H5P_DATASET_CREATE);
                let mapped = h5p::H5Pset_virtual(properties, here, c"part_%b.h5".as_ptr(), c"data".as_ptr(), there);
                assert!(mapped >= 0);
                let kind = hdf5_metno::datatype::Datatype::from_type::<u16>().expect("a type");
                let id = h5d::H5Dcreate2(file.id(), c"data".as_ptr(), kind.id(), here, 0, properties, 0);
                assert!(id >= 0);
                for id in [id, here, there, properties] {
                    h5i::H5Idec_ref(id);
                }
            }
        });
    }
    assert!(refused(&path).contains("part_0.h5"), "{}", refused(&path));
    let write = |k: usize| drop(written(&folder.path(&format!("part_{k}.h5")), &values, |b| b));
    write(0);
    write(1);
    let opened = || of_dataset(File::open(&path).expect("a file").dataset("data").expect("data"));
    assert_eq!(opened().expect("a source").shape(), [2 * SHAPE[0], SHAPE[1], SHAPE[2]]);
    // One in between.
    write(3);
    let message = refused(&path);
    assert!(message.contains("part_2.h5") && message.contains("missing"), "{message}");
    write(2);
    assert_eq!(opened().expect("a source").shape()[0], 4 * SHAPE[0]);
}

/// The place of a chunk in its file, and its length.
fn place(dataset: &Dataset, index: usize) -> (usize, usize) {
    let about = dataset.chunk_info(index).expect("a chunk");
    (about.addr as usize, about.size as usize)
}

fn message(path: &Path) -> String {
    let source = of_dataset(File::open(path).expect("a file").dataset("data").expect("data")).expect("a source");
    let mut frames = Frames::all(source);
    let held = hold(&mut [&mut frames], &(0..SHAPE[1]).collect::<Vec<_>>(), &mut room(u64::MAX), &Alone::default());
    format!("{:#}", held.expect_err("damaged"))
}

#[test]
fn damage_tells_where_it_is() {
    let folder = Folder::new("damage");
    let path = folder.path("scan.h5");
    let values = values();
    for (filter, told) in [("deflate", "filter deflate"), ("fletcher32", "checksum"), ("blosc", "filter Blosc")] {
        let dataset = written(&path, &values, |b| {
            let b = b.chunk([1, 13, 37]);
            match filter {
                "deflate" => b.shuffle().deflate(3),
                "blosc" => Encoder::Blosc(c"zstd", 5, 1).add(b, 2),
                _ => b.fletcher32(),
            }
        });
        let (at, length) = place(&dataset, 7);
        drop(dataset);
        let mut file = std::fs::read(&path).expect("read");
        // Blosc checks nothing but its own numbers, which are in front.
        let damaged = if filter == "blosc" { at + 4 } else { at + length / 2 };
        for byte in &mut file[damaged..damaged + 8] {
            *byte ^= 0xff;
        }
        std::fs::write(&path, &file).expect("written");
        let message = message(&path);
        assert!(message.contains("chunk of frame 7, row 0, bin 0") && message.contains(told), "{filter}: {message}");
        assert!(message.contains("scan.h5:/data"), "{message}");
    }
}

#[test]
fn a_file_that_is_cut_off() {
    let folder = Folder::new("short");
    let path = folder.path("scan.h5");
    let dataset = written(&path, &values(), |b| b.chunk([1, 13, 37]).deflate(3));
    let last = (0..SHAPE[0]).map(|k| place(&dataset, k)).max().expect("chunks");
    let source = of_dataset(dataset).expect("a source");
    std::fs::OpenOptions::new().write(true).open(&path).expect("a file").set_len(last.0 as u64 + 3).expect("cut");
    let mut to = vec![0; values().len() * 2];
    let error = source.read(&(0..SHAPE[0]).collect::<Vec<_>>(), 0..SHAPE[1], &mut to).expect_err("cut off");
    assert!(format!("{error:#}").contains("reading"), "{error:#}");
}

#[test]
fn too_little_room_is_told_before_anything_is_decoded() {
    let folder = Folder::new("room");
    let dataset = written(&folder.path("scan.h5"), &values(), |b| b.chunk([1, 13, 37]).deflate(3));
    let source = of_dataset(dataset).expect("a source");
    let mut frames = Frames::all(source.clone());
    let nowhere = Room { memory: 100, scratch: folder.path("nowhere") };
    let rows: Vec<_> = (0..SHAPE[1]).collect();
    let error = hold(&mut [&mut frames], &rows, &mut nowhere.clone(), &Alone::default()).expect_err("no folder");
    assert!(format!("{error:#}").contains("nowhere"), "{error:#}");
    assert_eq!(source.decoded(), 0);
}

/// A scan of terabytes, of which nothing was ever written.
#[test]
fn a_scan_larger_than_the_disk_is_refused_at_once() {
    let folder = Folder::new("large");
    let path = folder.path("scan.h5");
    let file = File::create(&path).expect("a file");
    let shape = [400_000, 4096, 40960];
    file.new_dataset::<u16>().chunk([100, 512, 40960]).deflate(3).shape(shape).create("data").expect("a dataset");
    drop(file);
    let source = of_dataset(File::open(&path).expect("a file").dataset("data").expect("data")).expect("a source");
    let mut frames = Frames::all(source.clone());
    let rows: Vec<_> = (0..4096).collect();
    let few = Room { memory: 1 << 30, scratch: folder.0.clone() };
    let error =
        format!("{:#}", hold(&mut [&mut frames], &rows, &mut few.clone(), &Alone::default()).expect_err("too large"));
    let folder = folder.0.display().to_string();
    assert!(error.contains("134217.7 GB") && error.contains(&folder) && error.contains("--scratch"), "{error}");
    assert_eq!(source.decoded(), 0);
}

/// Whatever the bytes of a chunk are, there is an error or there are values.
#[test]
fn damaged_bytes_never_panic() {
    let folder = Folder::new("random");
    let path = folder.path("scan.h5");
    let values = values();
    let mut random = 1u64;
    let mut next = move || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize
    };
    let mut failed = 0;
    // The first eight: of Blosc's, two.
    for encoder in &Encoder::ALL[..8] {
        let dataset = written(&path, &values, |b| {
            let b = b.chunk([4, 13, 37]);
            encoder.add(if *encoder == Encoder::Lzf { b.shuffle() } else { b }, 2)
        });
        let (at, length) = place(&dataset, 1);
        drop(dataset);
        let file = std::fs::read(&path).expect("read");
        for _ in 0..200 {
            let mut file = file.clone();
            for _ in 0..1 + next() % 4 {
                // Half of them in front, where lengths are.
                let reach = if next() % 2 == 0 { length.min(32) } else { length };
                file[at + next() % reach] = next() as u8;
            }
            std::fs::write(&path, &file).expect("written");
            let source =
                of_dataset(File::open(&path).expect("a file").dataset("data").expect("data")).expect("a source");
            let mut to = vec![0; values.len() * 2];
            failed += usize::from(source.read(&(0..SHAPE[0]).collect::<Vec<_>>(), 0..SHAPE[1], &mut to).is_err());
        }
    }
    assert!(failed > 0, "nothing was noticed");
}

#[test]
fn what_is_no_number_is_refused() {
    let folder = Folder::new("text");
    let path = folder.path("scan.h5");
    let file = File::create(&path).expect("a file");
    let text = TypeDescriptor::FixedAscii(4);
    file.new_dataset_builder().empty_as(&text).shape(SHAPE).create("data").expect("a dataset");
    drop(file);
    let opened = of_dataset(File::open(&path).expect("a file").dataset("data").expect("data"));
    assert!(opened.err().is_some_and(|e| format!("{e:#}").contains("no numbers")));
}
