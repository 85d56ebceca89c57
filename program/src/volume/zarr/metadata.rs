//! `zarr.json` of the folder and of each array.

use super::super::{About, Compression, Places, Wanted};
use super::level::Level;
use super::shard::ZSTD;
use anyhow::{Context, Result};
use isocenter::array::DType;
use serde_json::{Value, json};

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
