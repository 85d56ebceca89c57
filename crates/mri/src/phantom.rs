//! Phantoms as coils and images sample them, in voxels from the image's middle: voxel j of n lies at j - floor(n / 2). x counts
//! columns, y rows, z slices.

use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::phantom::{Ellipsoid, add_segment};
use rustfft::num_complex::Complex;

/// Fourier transform of the phantom at each k, in cycles a voxel: the integral of its value times exp(-i 2 pi k.r). A voxel
/// has unit size, so that this is what a sum over voxels approximates.
pub fn kspace<const D: usize>(ellipsoids: &[Ellipsoid<D>], k: &[[f64; D]]) -> Result<Vec<Complex<f64>>> {
    Ellipsoid::check(ellipsoids, "ellipsoids")?;
    let mut values = zeros(k.len())?;
    values.par_iter_mut().zip(k).for_each(|(v, k)| *v = ellipsoids.iter().map(|e| e.transform(*k)).sum());
    Ok(values)
}

/// Lines a voxel is sampled by along each of y and z.
const LINES: usize = 8;

/// Mean of the phantom over each voxel of an image \[\[z\]\[y\]\[x\]: exact along x, means of `LINES` lines along y and z.
pub fn voxel_means<const D: usize>(ellipsoids: &[Ellipsoid<D>], shape: [usize; D]) -> Result<Vec<f64>> {
    Ellipsoid::check(ellipsoids, "ellipsoids")?;
    let Some(count) = shape.iter().try_fold(1usize, |n, s| n.checked_mul(*s)).filter(|n| *n > 0) else {
        fail!(
            OutOfRange,
            "the image's shape is {shape:?}; all its sizes must be at least 1 and their product fit 64 bits"
        );
    };
    let mut image = zeros(count)?;
    let nx = shape[D - 1];
    image.par_chunks_mut(nx).enumerate().for_each(|(row, voxels)| {
        for e in ellipsoids {
            (0..LINES.pow(D as u32 - 1)).for_each(|line| add_line(e, shape, row, line, voxels));
        }
    });
    Ok(image)
}

/// Adds an ellipsoid along one of the lines of a row.
fn add_line<const D: usize>(e: &Ellipsoid<D>, shape: [usize; D], row: usize, line: usize, voxels: &mut [f64]) {
    let (mut row, mut line, mut place) = (row, line, [0.0; D]);
    // Places start at the first voxel's left face, so that voxel j covers j to j + 1 along x.
    place[0] = -((voxels.len() / 2) as f64) - 0.5;
    for d in 1..D {
        let n = shape[D - 1 - d];
        let within = ((line % LINES) as f64 + 0.5) / LINES as f64 - 0.5;
        place[d] = (row % n) as f64 - (n / 2) as f64 + within;
        (row, line) = (row / n, line / LINES);
    }
    add_segment(voxels, e.chord(place), e.value / LINES.pow(D as u32 - 1) as f64);
}
