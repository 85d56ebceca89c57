//! NXtomo: an entry with `instrument/detector/data`, `image_key` and `sample/rotation_angle`.

use super::{Flats, Scan, in_millimetres, in_radians, numbers, text, units};
use crate::frames::{Frames, of_dataset};
use anyhow::{Context, Result, bail};
use hdf5_metno::{File, Group};

/// The entry of a file that is one.
pub fn entry(file: &File) -> Result<Option<Group>> {
    let groups = file.groups().context("reading the file's groups")?;
    Ok(groups.into_iter().find(|group| group.dataset("instrument/detector/image_key").is_ok()))
}

pub fn read(entry: &Group) -> Result<Scan> {
    let detector = entry.group("instrument/detector")?;
    let source = of_dataset(detector.dataset("data").context("there is no instrument/detector/data")?)?;
    let keys = numbers(&detector, "image_key")?.unwrap_or_default();
    let frames = source.shape()[0];
    if keys.len() != frames {
        bail!("image_key has {} values for {frames} frames", keys.len());
    }
    let sample = entry.group("sample").context("there is no sample")?;
    let angles = numbers(&sample, "rotation_angle")?.context("there is no sample/rotation_angle")?;
    if angles.len() != frames {
        bail!("rotation_angle has {} values for {frames} frames", angles.len());
    }
    let angles = in_radians(angles, units(&sample, "rotation_angle").as_deref())?;
    let of = |wanted: f64| (0..frames).filter(|&k| keys[k] == wanted).collect::<Vec<_>>();
    let (views, darks) = (of(0.0), of(2.0));
    let part = |which: Vec<usize>| Frames { source: source.clone(), which };
    // Flats that follow each other are a group.
    let flats = of(1.0);
    let flats = flats
        .chunk_by(|a, b| !views.iter().any(|v| (a..b).contains(&v)))
        .map(|which| Flats { frames: part(which.to_vec()), position: views.partition_point(|&v| v < which[0]) });
    let flats = flats.collect();
    let pixel = numbers(&detector, "x_pixel_size")?.and_then(|v| v.first().copied());
    let pixel = pixel.map(|length| in_millimetres(length, units(&detector, "x_pixel_size").as_deref())).transpose()?;
    let angles = views.iter().map(|&v| angles[v]).collect();
    let darks = (!darks.is_empty()).then(|| part(darks));
    let title = text(entry, "title");
    Ok(Scan { format: "NXtomo", title, views: part(views), angles, flats, darks, pixel, notes: Vec::new() })
}
