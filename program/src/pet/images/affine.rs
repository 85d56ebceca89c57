//! Rotations, as NIfTI's quaternions have them.

/// (b, c, d) of a rotation, and the factor of its last column: -1 of one that mirrors.
pub fn quaternion(mut r: [[f64; 3]; 3]) -> ([f64; 3], f64) {
    let determinant = r[0][0] * (r[1][1] * r[2][2] - r[1][2] * r[2][1])
        - r[0][1] * (r[1][0] * r[2][2] - r[1][2] * r[2][0])
        + r[0][2] * (r[1][0] * r[2][1] - r[1][1] * r[2][0]);
    let factor = if determinant < 0.0 { -1.0 } else { 1.0 };
    r.iter_mut().for_each(|row| row[2] *= factor);
    // Four times the products with the largest of a, b, c, d, so that no small one is divided by.
    let squares = [
        1.0 + r[0][0] + r[1][1] + r[2][2],
        1.0 + r[0][0] - r[1][1] - r[2][2],
        1.0 - r[0][0] + r[1][1] - r[2][2],
        1.0 - r[0][0] - r[1][1] + r[2][2],
    ];
    let largest = (0..4).max_by(|a, b| squares[*a].total_cmp(&squares[*b])).unwrap_or(0);
    let [x, y, z] = [r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]];
    let [u, v, w] = [r[0][1] + r[1][0], r[0][2] + r[2][0], r[1][2] + r[2][1]];
    let products = match largest {
        0 => [squares[0], x, y, z],
        1 => [x, squares[1], u, v],
        2 => [y, u, squares[2], w],
        _ => [z, v, w, squares[3]],
    };
    let scale = 0.5 / squares[largest].sqrt() * if products[0] < 0.0 { -1.0 } else { 1.0 };
    // Not -0.
    let [_, b, c, d] = products.map(|v| v * scale + 0.0);
    ([b, c, d], factor)
}

/// Squares of a that are smaller are rounding of files' 24 bits.
const HALF_A_TURN: f64 = 1e-7;

/// The other way.
pub fn rotation([b, c, d]: [f64; 3], factor: f64) -> [[f64; 3]; 3] {
    let square = b * b + c * c + d * d;
    let (a, scale) = if 1.0 - square < HALF_A_TURN { (0.0, 1.0 / square.sqrt()) } else { ((1.0 - square).sqrt(), 1.0) };
    let [b, c, d] = [b, c, d].map(|v| v * scale);
    let mut r = [
        [a * a + b * b - c * c - d * d, 2.0 * (b * c - a * d), 2.0 * (b * d + a * c)],
        [2.0 * (b * c + a * d), a * a + c * c - b * b - d * d, 2.0 * (c * d - a * b)],
        [2.0 * (b * d - a * c), 2.0 * (c * d + a * b), a * a + d * d - c * c - b * b],
    ];
    r.iter_mut().for_each(|row| row[2] *= if factor < 0.0 { -1.0 } else { 1.0 });
    r
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pet::position::{NAMES, Position};

    #[test]
    fn turns_come_back() {
        for name in NAMES {
            let matrix = name.parse::<Position>().expect("a position").to_nifti();
            let (q, factor) = quaternion(matrix);
            let back = rotation(q, factor);
            let off = back.as_flattened().iter().zip(matrix.as_flattened()).map(|(a, b)| (a - b).abs());
            assert!(off.fold(0.0, f64::max) < 1e-12, "{name}: {back:?} {matrix:?}");
        }
    }
}
