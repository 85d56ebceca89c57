//! Volumes read in other ways than they are written.

use hdf5_metno::File;
use serde_json::Value;
use std::path::Path;
use tiff::decoder::{Decoder, DecodingResult, Limits};

/// Shape and bytes of values.
pub type Values = ([usize; 3], Vec<u8>);

/// A volume of any kind, by its name.
pub fn read(path: &Path) -> Values {
    match path.extension().and_then(|e| e.to_str()) {
        Some("h5") => hdf5(path),
        Some("tif") => tiff(path),
        Some("vol" | "raw") => vol(path),
        Some("zarr") => zarr(path, 0),
        _ => stack(path),
    }
}

fn shape(of: &[usize]) -> [usize; 3] {
    of.try_into().expect("three sides")
}

pub fn hdf5(path: &Path) -> Values {
    let data = File::open(path).and_then(|file| file.dataset("entry/reconstruction/data")).expect("a volume");
    let bytes = match data.dtype().expect("a type").size() {
        1 => data.read_raw::<u8>().expect("values"),
        2 => data.read_raw::<u16>().expect("values").into_iter().flat_map(u16::to_ne_bytes).collect(),
        _ => data.read_raw::<f32>().expect("values").into_iter().flat_map(f32::to_ne_bytes).collect(),
    };
    (shape(&data.shape()), bytes)
}

pub fn tiff(path: &Path) -> Values {
    let file = std::fs::File::open(path).expect("a file");
    let mut decoder =
        Decoder::new(std::io::BufReader::new(file)).expect("a TIFF file").with_limits(Limits::unlimited());
    let (mut bytes, mut pages) = (Vec::new(), 0);
    let (columns, rows) = decoder.dimensions().expect("sides");
    loop {
        pages += 1;
        assert_eq!(decoder.dimensions().expect("sides"), (columns, rows));
        match decoder.read_image().expect("a page") {
            DecodingResult::U8(values) => bytes.extend(values),
            DecodingResult::U16(values) => bytes.extend(values.into_iter().flat_map(u16::to_ne_bytes)),
            DecodingResult::F32(values) => bytes.extend(values.into_iter().flat_map(f32::to_ne_bytes)),
            _ => panic!("other numbers"),
        }
        if !decoder.more_images() {
            return ([pages, rows as usize, columns as usize], bytes);
        }
        decoder.next_image().expect("a page");
    }
}

/// Files in the order of their names.
fn stack(path: &Path) -> Values {
    let mut files: Vec<_> =
        std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let slices: Vec<_> = files.iter().map(|file| tiff(file)).collect();
    let [_, rows, columns] = slices[0].0;
    ([slices.len(), rows, columns], slices.into_iter().flat_map(|(_, bytes)| bytes).collect())
}

/// A line of an `.info` file.
pub fn line(info: &str, name: &str) -> Option<String> {
    let mut values = info.lines().filter_map(|line| line.split_once(" = ")).filter(|(key, _)| *key == name);
    values.next().map(|(_, value)| value.to_owned())
}

fn vol(path: &Path) -> Values {
    let info = std::fs::read_to_string(path.with_added_extension("info")).expect("an info file");
    let side = |name| line(&info, name).and_then(|v| v.parse().ok()).expect("a side");
    (["NUM_Z", "NUM_Y", "NUM_X"].map(side), std::fs::read(path).expect("values"))
}

pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn sides(of: &Value) -> [usize; 3] {
    let sides: Vec<_> = of.as_array().expect("sides").iter().map(|v| v.as_u64().expect("a side") as usize).collect();
    shape(&sides)
}

/// A level of a pyramid, value by value from its chunks.
pub fn zarr(path: &Path, level: usize) -> Values {
    let folder = path.join(level.to_string());
    let about = json(&folder.join("zarr.json"));
    let sharding = &about["codecs"][0]["configuration"];
    let codecs = sharding["codecs"].as_array().expect("codecs");
    let [all, shard, chunk] =
        [&about["shape"], &about["chunk_grid"]["configuration"]["chunk_shape"], &sharding["chunk_shape"]].map(sides);
    let size = match about["data_type"].as_str() {
        Some("uint8") => 1,
        Some("uint16") => 2,
        Some("float32") => 4,
        other => panic!("{other:?}"),
    };
    let mut values = vec![0; all.iter().product::<usize>() * size];
    let inside = [0, 1, 2].map(|k| shard[k] / chunk[k]);
    let count: usize = inside.iter().product();
    for place in grid([0, 1, 2].map(|k| all[k].div_ceil(shard[k]))) {
        let file = folder.join("c").join(place.map(|k| k.to_string()).join("/"));
        let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let index = &bytes[bytes.len() - 4 - 16 * count..];
        for (k, within) in grid(inside).enumerate() {
            let number = |at: usize| u64::from_le_bytes(index[at..at + 8].try_into().expect("8 bytes"));
            let (at, length) = (number(16 * k), number(16 * k + 8));
            if at == u64::MAX && length == u64::MAX {
                continue;
            }
            let stored = &bytes[at as usize..][..length as usize];
            let most = chunk.iter().product::<usize>() * size;
            let stored = match codecs.get(1).map(|codec| codec["name"].as_str()) {
                None => stored.to_vec(),
                Some(Some("zstd")) => zstd::bulk::decompress(stored, most).expect("a chunk"),
                other => panic!("{other:?}"),
            };
            assert_eq!(stored.len(), most);
            for (n, [z, y, x]) in grid(chunk).enumerate() {
                let at = [z, y, x];
                let at = [0, 1, 2].map(|k| place[k] * shard[k] + within[k] * chunk[k] + at[k]);
                if (0..3).all(|k| at[k] < all[k]) {
                    let to = ((at[0] * all[1] + at[1]) * all[2] + at[2]) * size;
                    values[to..to + size].copy_from_slice(&stored[n * size..][..size]);
                }
            }
        }
    }
    (all, values)
}

/// All places of a grid, the last side first.
fn grid([a, b, c]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..a * b * c).map(move |k| [k / (b * c), k / c % b, k % c])
}
