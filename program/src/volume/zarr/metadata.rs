//! `zarr.json` of the folder and of each array.

use super::super::{About, Compression, Places, Wanted};
use super::level::Level;
use super::shard::ZSTD;
use anyhow::{Context, Result, bail, ensure};
use isocenter::array::DType;
use serde_json::{Value, json};
use std::path::Path;

/// What it is called.
pub const METADATA: &str = "zarr.json";

/// Names and texts.
pub fn files(wanted: &Wanted, levels: &[Level]) -> Result<Vec<(String, String)>> {
    let arrays = levels.iter().map(|level| (format!("{}/{METADATA}", level.name), array(level)));
    let all = std::iter::once((METADATA.to_owned(), group(wanted, levels))).chain(arrays);
    all.map(|(name, value)| Ok((name, serde_json::to_string_pretty(&value).context("the metadata")?))).collect()
}

fn array(level: &Level) -> Value {
    let data_type = match level.dtype {
        DType::U8 => "uint8",
        DType::U16 => "uint16",
        _ => "float32",
    };
    let endian = if cfg!(target_endian = "little") { "little" } else { "big" };
    let mut codecs = vec![json!({"name": "bytes", "configuration": {"endian": endian}})];
    if level.compression == Compression::Zstd {
        codecs.push(json!({"name": "zstd", "configuration": {"level": ZSTD, "checksum": false}}));
    }
    let index = [json!({"name": "bytes", "configuration": {"endian": "little"}}), json!({"name": "crc32c"})];
    let sharding = json!({
        "chunk_shape": level.chunk, "codecs": codecs, "index_codecs": index, "index_location": "end"
    });
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": level.shape,
        "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": level.shard}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
        "dimension_names": AXES,
        "attributes": {},
    })
}

const AXES: [&str; 3] = ["z", "y", "x"];

fn group(wanted: &Wanted, levels: &[Level]) -> Value {
    let Wanted { path, shape, dtype, about: About { title, places, scale: [slope, offset], plan, .. }, .. } = *wanted;
    let axis = |name: &&str| match places.known {
        true => json!({"name": name, "type": "space", "unit": "millimeter"}),
        false => json!({"name": name, "type": "space"}),
    };
    let name = title.map_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), str::to_owned);
    let datasets: Vec<_> = levels.iter().enumerate().map(|(k, level)| dataset(k, level, places)).collect();
    let mut ome = json!({
        "version": "0.5",
        "multiscales": [{
            "name": name,
            "axes": AXES.iter().map(axis).collect::<Vec<_>>(),
            "datasets": datasets,
            "type": "mean",
            "metadata": {"description": "means of 2 x 2 x 2 values"},
        }],
    });
    // Integers are spread over the window.
    if let Some(most) = match dtype {
        DType::U8 => Some(f64::from(u8::MAX)),
        DType::U16 => Some(f64::from(u16::MAX)),
        _ => None,
    } {
        ome["omero"] = json!({
            "channels": [{
                "label": name,
                "color": "FFFFFF",
                "active": true,
                "window": {"min": 0.0, "max": most, "start": 0.0, "end": most},
            }],
            "rdefs": {"model": "greyscale", "defaultZ": shape[0] / 2},
        });
    }
    json!({
        "zarr_format": 3,
        "node_type": "group",
        "attributes": {
            "ome": ome,
            "isocenter": {
                "version": env!("CARGO_PKG_VERSION"), "scale_factor": slope, "add_offset": offset, "plan": plan
            },
        },
    })
}

/// Where a level's values are: their middles.
fn dataset(k: usize, level: &Level, places: Places) -> Value {
    let factor = (1u64 << k) as f64;
    let first: Vec<_> = (0..3).map(|direction| places.at(direction, (factor - 1.0) / 2.0)).collect();
    json!({
        "path": level.name,
        "coordinateTransformations": [
            {"type": "scale", "scale": places.step.map(|step| step * factor)},
            {"type": "translation", "translation": first},
        ],
    })
}

/// What a folder says of its largest array.
pub struct Told {
    /// Where its values are, if that is told.
    pub places: Option<Places>,
    /// What integers mean: slope and offset.
    pub scale: [f64; 2],
    /// It is of this program.
    pub own: bool,
}

/// Sides of an array, of its chunks or of its shards, at most: so many can be multiplied.
const SIDE: u64 = 1 << 20;

/// The largest array of a folder, as this program writes them.
pub fn read(folder: &Path) -> Result<(Level, Told)> {
    let json = |path: &Path| -> Result<Value> {
        let read = || Ok::<Value, anyhow::Error>(serde_json::from_slice(&std::fs::read(path)?)?);
        read().with_context(|| format!("reading {}", path.display()))
    };
    let group = json(&folder.join(METADATA))?;
    let attributes = &group["attributes"];
    let first = &attributes["ome"]["multiscales"][0];
    let of = first["datasets"][0]["path"].as_str().context("it names no array: it is no OME-Zarr 0.5 (Zarr 3)")?;
    let path = folder.join(of).join(METADATA);
    let level = level(of, &json(&path)?).with_context(|| format!("reading {}", path.display()))?;
    let own = &attributes["isocenter"];
    let scale = [("scale_factor", 1.0), ("add_offset", 0.0)].map(|(name, none)| own[name].as_f64().unwrap_or(none));
    Ok((level, Told { places: places(first), scale, own: own.is_object() }))
}

/// Of the largest array: in millimetres, or in pixels where no unit is told.
fn places(multiscales: &Value) -> Option<Places> {
    let transformations = &multiscales["datasets"][0]["coordinateTransformations"];
    let numbers = |of: &Value| -> Option<[f64; 3]> {
        let numbers = of.as_array()?.iter().map(|number| number.as_f64().filter(|number| number.is_finite()));
        numbers.collect::<Option<Vec<_>>>()?.try_into().ok()
    };
    let (step, first) = (numbers(&transformations[0]["scale"])?, numbers(&transformations[1]["translation"])?);
    let units = [0, 1, 2].map(|k| multiscales["axes"][k]["unit"].as_str());
    let known = units == [Some("millimeter"); 3];
    let sound = step.iter().all(|step| *step > 0.0) && (known || units == [None; 3]);
    sound.then(|| Places { step, first: [0, 1, 2].map(|k| first[k] / step[k]), known })
}

/// An array; others than those that are written here are an error.
fn level(name: &str, array: &Value) -> Result<Level> {
    let dtype = match array["data_type"].as_str() {
        Some("uint8") => DType::U8,
        Some("uint16") => DType::U16,
        Some("float32") => DType::F32,
        other => bail!("its values are {}; uint8, uint16 and float32 are known", other.unwrap_or("not told")),
    };
    let sharding = &array["codecs"][0]["configuration"];
    let [shape, shard, chunk] =
        [&array["shape"], &array["chunk_grid"]["configuration"]["chunk_shape"], &sharding["chunk_shape"]].map(sides);
    let known = "shards, of chunks without compression or with zstd, are known";
    let (Some(shape), Some(shard), Some(chunk)) = (shape, shard, chunk) else {
        bail!("it is not stored in three-dimensional {known}");
    };
    let whole = (1..3).all(|k| shard[k].is_multiple_of(chunk[k])) && shard[0] == chunk[0];
    ensure!(whole, "its shards have {shard:?} values, its chunks {chunk:?}; shards of one chunk's slices are known");
    let compression = match sharding["codecs"][1]["name"].as_str() {
        None => Compression::None,
        Some("zstd") => Compression::Zstd,
        Some(other) => bail!("its chunks are compressed by {other}; {known}"),
    };
    let level = Level::new(name.into(), [shape, chunk, shard], dtype, compression);
    let mut same = self::array(&level);
    // What these say, the places of values do not depend on.
    for field in ["attributes", "dimension_names"] {
        same[field] = array[field].clone();
    }
    // Whatever level of it another program had, it is read alike.
    if compression == Compression::Zstd {
        same["codecs"][0]["configuration"]["codecs"][1] = sharding["codecs"][1].clone();
    }
    ensure!(same == *array, "it is stored in another way than by this program, which has not been tried");
    Ok(level)
}

/// Three sides, none of them 0.
fn sides(of: &Value) -> Option<[usize; 3]> {
    let sides = of.as_array()?.iter().map(|side| side.as_u64().filter(|side| (1..=SIDE).contains(side)));
    let sides: Vec<_> = sides.map(|side| side.map(|side| side as usize)).collect::<Option<_>>()?;
    sides.try_into().ok()
}
