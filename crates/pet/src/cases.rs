//! What projections are tested on, and sums to test them by.

use super::lattice::Lattice;
use super::response::{Cut, Profile, Radial, Response, Shape};
use super::tables::Tables;
use super::view::View;

/// Reproducible numbers in 0..1.
pub(crate) fn noise(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32
    };
    (0..n).map(|_| next()).collect()
}

/// The definition, voxel by voxel; forward scatters, so that no reflection of offsets is shared with the gather.
pub(crate) fn plain(lattice: &Lattice, tables: &Tables, forward: bool, volume: &[f32]) -> Vec<f64> {
    let [nz, ny, nx] = lattice.shape();
    let full = tables.full().expect("memory");
    let mut result = vec![0.0; volume.len()];
    for (i, (value, z, y, x)) in volume.iter().enumerate().map(|(i, v)| (i, (*v, i / (ny * nx), i / nx % ny, i % nx))) {
        let a = tables.map()[y * nx + x] as usize;
        for (o, w) in full.offsets.iter().zip(&full.values[a * full.offsets.len()..]) {
            let at = [x as i32 + o[0], y as i32 + o[1], z as i32 + o[2]];
            if (0..3).any(|d| at[d] < 0 || at[d] >= [nx, ny, nz][d] as i32) {
                continue;
            }
            let other = (at[2] as usize * ny + at[1] as usize) * nx + at[0] as usize;
            if forward {
                result[other] += f64::from(*w) * f64::from(value);
            } else {
                result[i] += f64::from(*w) * f64::from(volume[other]);
            }
        }
    }
    result
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

pub(crate) fn largest(a: &[f32], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max)
}

pub(crate) fn view(azimuth: f64, tilt: f64) -> View {
    View::new(azimuth.to_radians(), tilt.to_radians()).expect("valid")
}

pub(crate) const ASYMMETRIC: Profile = Profile::Asymmetric { ratio: 2.0, shift: 1.0, share: 0.4 };

pub(crate) fn variant() -> Radial {
    Radial::Table { radius: vec![0.0, 60.0], fwhm: vec![4.8, 12.0] }
}

pub(crate) fn responses() -> Vec<(&'static str, Response)> {
    let mut all = Vec::new();
    for (radial_name, radial) in [("invariant", Radial::Constant(5.8)), ("variant", variant())] {
        for (profile_name, profile) in [("symmetric", Profile::Symmetric), ("asymmetric", ASYMMETRIC)] {
            for (shape_name, shape) in [("box", Shape::Box), ("ellipsoid", Shape::Ellipsoid)] {
                let name = [radial_name, profile_name, shape_name].join(" ");
                let mut response = Response::new(100.0, radial.clone(), 5.8);
                (response.profile, response.cut) = (profile, Cut { shape, k: 3.0 });
                all.push((&*name.leak(), response));
            }
        }
    }
    all
}

pub(crate) fn lattices() -> [Lattice; 3] {
    // Odd and even; parts of lines; one vector and a little, several passes; box voxels.
    [([19, 21, 17], [4.0; 3]), ([8, 38, 43], [4.0; 3]), ([53, 16, 15], [5.0, 6.0, 4.0])]
        .map(|(shape, voxel)| Lattice::new(shape, voxel).expect("valid"))
}
