//! Motion that is given: rigid transforms from where the patient is to the reference position.

use crate::pet::petsird::Rigid;
use crate::pet::tables;
use crate::pet::told::general;
use anyhow::{Result, ensure};
use std::path::Path;

/// Matrices whose columns are off unit length and right angles by more are no rotations.
const RIGID: f64 = 1e-3;

/// Where the patient is from a time on, s, until the next one.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub start: f64,
    /// To the reference, in the scanner's frame, mm.
    pub transform: Rigid,
}

/// Of a file of rows of the start and 6 or 12 numbers, or 16 of a matrix whose last row is 0, 0, 0, 1.
pub fn read(path: &Path) -> Result<Vec<Place>> {
    places(&path.display().to_string(), &tables::read(path)?)
}

fn places(name: &str, rows: &[Vec<f64>]) -> Result<Vec<Place>> {
    let columns = rows[0].len();
    ensure!(
        matches!(columns, 7 | 13 | 17),
        "{name} has rows of {columns} numbers; they must be the start in s, then x, y, z in mm and angles about x, y, z in degrees, or a matrix of 3 x 4"
    );
    ensure!(rows.windows(2).all(|pair| pair[1][0] > pair[0][0]), "{name} has starts that do not ascend");
    let start = rows[0][0];
    ensure!(
        start <= 0.0,
        "{name} begins at {} s; it must say from 0 on where the patient is: zeros are the reference",
        general(start, 6)
    );
    let place = |row: &Vec<f64>| {
        let (start, numbers) = (row[0], &row[1..]);
        let transform = if columns == 7 { of_angles(numbers) } else { of_matrix(name, start, numbers)? };
        Ok(Place { start, transform })
    };
    rows.iter().map(place).collect()
}

fn of_matrix(name: &str, start: f64, numbers: &[f64]) -> Result<Rigid> {
    let matrix: Rigid = [0, 1, 2].map(|row| [0, 1, 2, 3].map(|k| numbers[4 * row + k]));
    let column = |k: usize| [0, 1, 2].map(|row| matrix[row][k]);
    let product = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let right = |a: usize, b: usize| (product(column(a), column(b)) - f64::from(u8::from(a == b))).abs() <= RIGID;
    let [x, y, z] = [0, 1, 2].map(column);
    let turns = product([x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]], z) > 0.0;
    let last = numbers.get(12..).filter(|last| !last.is_empty());
    ensure!(
        turns && (0..3).all(|a| (0..3).all(|b| right(a, b))) && last.is_none_or(|last| *last == [0.0, 0.0, 0.0, 1.0]),
        "{name} has a matrix from {} s on that is no rotation and shift: its first three columns must be of unit length and at right angles",
        general(start, 6)
    );
    Ok(matrix)
}

/// About x, then y, then z, about the middle of the scanner, and a shift after that.
fn of_angles(numbers: &[f64]) -> Rigid {
    let turned = |mut vector: [f64; 3]| {
        for axis in 0..3 {
            let (sine, cosine) = numbers[3 + axis].to_radians().sin_cos();
            let (one, other) = ((axis + 1) % 3, (axis + 2) % 3);
            let [a, b] = [vector[one], vector[other]];
            (vector[one], vector[other]) = (cosine * a - sine * b, sine * a + cosine * b);
        }
        vector
    };
    let columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(turned);
    [0, 1, 2].map(|row| [columns[0][row], columns[1][row], columns[2][row], numbers[row]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(m: &Rigid, x: [f64; 3]) -> [f64; 3] {
        m.map(|row| row[0] * x[0] + row[1] * x[1] + row[2] * x[2] + row[3])
    }

    /// By the right hand: about z, x goes to y; about x, y to z; about y, z to x.
    #[test]
    fn angles_turn_by_the_right_hand() {
        let of = |angles: [f64; 3], x: [f64; 3]| {
            let row = vec![vec![0.0, 1.0, 2.0, 3.0, angles[0], angles[1], angles[2]]];
            at(&places("m", &row).expect("places")[0].transform, x)
        };
        let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near(of([0.0, 0.0, 90.0], [10.0, 0.0, 0.0]), [1.0, 12.0, 3.0]));
        assert!(near(of([90.0, 0.0, 0.0], [0.0, 10.0, 0.0]), [1.0, 2.0, 13.0]));
        assert!(near(of([0.0, 90.0, 0.0], [0.0, 0.0, 10.0]), [11.0, 2.0, 3.0]));
        // About x first, then z: y goes to z and stays there.
        assert!(near(of([90.0, 0.0, 90.0], [0.0, 10.0, 0.0]), [1.0, 2.0, 13.0]));
    }

    #[test]
    fn what_is_no_motion() {
        let shift = |numbers: &[f64]| vec![numbers.to_vec()];
        let matrix = [0.0, 1.0, 0.0, 0.0, 5.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
        assert_eq!(places("m", &shift(&matrix)).expect("places")[0].transform[0][3], 5.0);
        let with = |k: usize, v: f64| {
            let mut changed = matrix.to_vec();
            changed[k] = v;
            changed
        };
        let mut square = matrix.to_vec();
        square.extend([0.0, 0.0, 0.0, 2.0]);
        for (rows, word) in [
            (shift(&[0.0; 5]), "rows of 5 numbers"),
            (shift(&with(1, 1.1)), "no rotation"),
            (shift(&with(1, -1.0)), "no rotation"),
            (shift(&square), "no rotation"),
            (shift(&with(0, 3.0)), "begins at 3 s"),
            (vec![vec![0.0; 7], vec![0.0; 7]], "do not ascend"),
        ] {
            let error = places("m", &rows).expect_err(word).to_string();
            assert!(error.contains(word), "{word}: {error}");
        }
    }
}
