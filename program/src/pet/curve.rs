//! Activity of the body over time.

use super::attenuation;
use super::found::Found;
use super::images::Volume;
use super::lattice::Lattice;

/// Without a map the body is what has more activity than this part of the largest.
const PART: f32 = 0.1;

/// Notes the mean over the body of each image `[z][y][x]`.
pub fn add(found: &mut [Found], images: &[Vec<f32>], map: Option<&Volume>, lattice: &Lattice) {
    let body = match map {
        Some(map) => attenuation::body(map, lattice.shape, lattice.voxel, lattice.centre),
        None => active(images),
    };
    for (of, image) in found.iter_mut().zip(images) {
        let inside: Vec<f64> = image.iter().zip(&body).filter(|(_, is)| **is).map(|(v, _)| f64::from(*v)).collect();
        of.mean = if inside.is_empty() { 0.0 } else { inside.iter().sum::<f64>() / inside.len() as f64 };
    }
}

/// By the mean of all images.
fn active(images: &[Vec<f32>]) -> Vec<bool> {
    let mut sums = vec![0f32; images.first().map_or(0, Vec::len)];
    for image in images {
        sums.iter_mut().zip(image).filter(|(_, v)| v.is_finite()).for_each(|(sum, v)| *sum += v);
    }
    let most = sums.iter().copied().fold(0.0, f32::max);
    sums.iter().map(|sum| *sum > PART * most).collect()
}
