//! Frames of all kinds in one stack, and the keys that tell which are projections (0), flats (1) and darks (2).

use super::Flats;
use crate::frames::{Frames, Source};
use anyhow::{Result, bail};
use std::sync::Arc;

/// What keys make of frames.
pub struct Parts {
    /// Which frames are projections.
    pub views: Frames,
    /// Those that follow each other are a group.
    pub flats: Vec<Flats>,
    pub darks: Option<Frames>,
}

/// Frames by their keys, which have this name.
pub fn parts(source: &Arc<dyn Source>, keys: &[f64], name: &str) -> Result<Parts> {
    let frames = source.shape()[0];
    if keys.len() != frames {
        bail!("{name} has {} values for {frames} frames", keys.len());
    }
    let of = |wanted: f64| (0..frames).filter(|&k| keys[k] == wanted).collect::<Vec<_>>();
    let (views, flats, darks) = (of(0.0), of(1.0), of(2.0));
    let part = |which: Vec<usize>| Frames { source: source.clone(), which };
    let groups = flats
        .chunk_by(|a, b| !views.iter().any(|v| (a..b).contains(&v)))
        .map(|which| Flats { frames: part(which.to_vec()), position: views.partition_point(|&v| v < which[0]) });
    let flats = groups.collect();
    let darks = (!darks.is_empty()).then(|| part(darks));
    Ok(Parts { views: part(views), flats, darks })
}
