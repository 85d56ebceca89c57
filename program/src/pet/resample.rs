//! Images in another position.

use super::petsird::Rigid;
use rayon::prelude::*;

/// Places that are as near to a voxel's middle, voxels, are there: a shift by whole voxels changes no value.
const NEAR: f64 = 1e-6;

/// The image `[z][y][x]` whose value at x is that of `image` at `transform` x, between voxels by trilinear interpolation, and beyond them 0. Both have these sides and this middle, x, y, z in mm.
pub fn rigid(image: &[f32], shape: [usize; 3], (voxel, centre): ([f64; 3], [f64; 3]), transform: &Rigid) -> Vec<f32> {
    let [nz, ny, nx] = shape;
    let count = [nx, ny, nz];
    let first = [0, 1, 2].map(|k| centre[k] - (count[k] as f64 - 1.0) / 2.0 * voxel[k]);
    // Of voxels' numbers along x, y and z.
    let step = [0, 1, 2].map(|k| [0, 1, 2].map(|j| transform[k][j] * voxel[j] / voxel[k]));
    let begin = [0, 1, 2].map(|k| {
        let moved = (0..3).map(|j| transform[k][j] * first[j]).sum::<f64>() + transform[k][3];
        (moved - first[k]) / voxel[k]
    });
    let mut made = vec![0.0; image.len()];
    made.par_chunks_mut(nx).enumerate().for_each(|(row, to)| {
        let [y, z] = [row % ny, row / ny].map(|k| k as f64);
        for (x, to) in to.iter_mut().enumerate() {
            let place = [0, 1, 2].map(|k| begin[k] + step[k][0] * x as f64 + step[k][1] * y + step[k][2] * z);
            *to = between(image, count, place);
        }
    });
    made
}

/// A value at a place in voxels, x, y, z.
fn between(image: &[f32], [nx, ny, nz]: [usize; 3], place: [f64; 3]) -> f32 {
    let split = |place: f64, count: usize| {
        let near = place.round_ties_even();
        let place = if (place - near).abs() < NEAR { near } else { place };
        // Beyond the image all is 0.
        let place = place.clamp(-1.0, count as f64);
        let below = place.floor();
        (below as i64, (place - below) as f32)
    };
    let [(x, fx), (y, fy), (z, fz)] = [split(place[0], nx), split(place[1], ny), split(place[2], nz)];
    let at = |x: i64, y: i64, z: i64| {
        let inside = |k: i64, count: usize| usize::try_from(k).ok().filter(|k| *k < count);
        match (inside(x, nx), inside(y, ny), inside(z, nz)) {
            (Some(x), Some(y), Some(z)) => image[(z * ny + y) * nx + x],
            _ => 0.0,
        }
    };
    let along = |y, z| at(x, y, z) * (1.0 - fx) + at(x + 1, y, z) * fx;
    let across = |z| along(y, z) * (1.0 - fy) + along(y + 1, z) * fy;
    across(z) * (1.0 - fz) + across(z + 1) * fz
}

/// The way back, of a rotation and a shift.
pub fn inverse(of: &Rigid) -> Rigid {
    [0, 1, 2].map(|k| {
        let shift = -(0..3).map(|j| of[j][k] * of[j][3]).sum::<f64>();
        [of[0][k], of[1][k], of[2][k], shift]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: [usize; 3] = [4, 5, 6];
    const PLACE: ([f64; 3], [f64; 3]) = ([2.0, 3.0, 4.0], [10.0, -5.0, 7.0]);

    fn image() -> Vec<f32> {
        (0..120).map(|k| ((k * 37) % 101) as f32).collect()
    }

    fn shifted(x: f64, y: f64, z: f64) -> Rigid {
        [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]]
    }

    /// By whole voxels values are others' to the bit; by half of one they are means of two.
    #[test]
    fn shifts() {
        let image = image();
        let made = rigid(&image, SHAPE, PLACE, &shifted(2.0, -3.0, 0.0));
        let at = |of: &[f32], x: usize, y: usize, z: usize| of[(z * 5 + y) * 6 + x];
        assert_eq!(at(&made, 0, 1, 2), at(&image, 1, 0, 2));
        assert!((0..5).all(|y| at(&made, 5, y, 0) == 0.0) && (0..6).all(|x| at(&made, x, 0, 0) == 0.0));
        let made = rigid(&image, SHAPE, PLACE, &shifted(0.0, 0.0, 2.0));
        assert_eq!(at(&made, 3, 3, 1), 0.5 * (at(&image, 3, 3, 1) + at(&image, 3, 3, 2)));
        assert_eq!(at(&made, 3, 3, 3), 0.5 * at(&image, 3, 3, 3));
    }

    /// There and back: a quarter of a turn about the middle of a cube of voxels changes none.
    #[test]
    fn turns() {
        let (shape, place) = ([5, 5, 5], ([2.0; 3], [0.0; 3]));
        let image: Vec<f32> = (0..125).map(|k| ((k * 37) % 101) as f32).collect();
        // x goes to y.
        let turn = [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
        let made = rigid(&image, shape, place, &turn);
        // What is at x is of the place that x goes to: (1, 0) has that of (0, 1).
        assert_eq!(made[(2 * 5 + 2) * 5 + 3], image[(2 * 5 + 3) * 5 + 2]);
        let back = rigid(&made, shape, place, &inverse(&turn));
        assert_eq!(back, image);
        let both = [[0.6, -0.8, 0.0, 3.0], [0.8, 0.6, 0.0, -2.0], [0.0, 0.0, 1.0, 5.0]];
        let undone = inverse(&both);
        for k in 0..3 {
            let x = [1.0, 2.0, 3.0];
            let there = both.map(|row| row[0] * x[0] + row[1] * x[1] + row[2] * x[2] + row[3]);
            let row = undone[k];
            assert!((row[0] * there[0] + row[1] * there[1] + row[2] * there[2] + row[3] - x[k]).abs() < 1e-12);
        }
    }
}
