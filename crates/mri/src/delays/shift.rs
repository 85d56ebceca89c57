//! Where samples were taken when gradients come late.

use super::pairs::Delays;
use isocenter_solve::dense::eigenvectors;

/// A trajectory as readouts of as many samples each.
pub(super) struct Readouts<'a> {
    /// Cycles per voxel along x, y, z.
    pub(super) axes: [&'a [f64]; 3],
    /// Edges of a voxel along x, y, z, in any unit.
    pub(super) voxel: [f64; 3],
    pub(super) length: usize,
}

impl Readouts<'_> {
    /// Where sample `j` of the readout that begins with sample `first` is, in cycles per unit of length. Beyond its ends a readout goes
    /// on straight as it is there, or stays where it is, if it begins or ends at rest.
    fn at(&self, first: usize, j: isize) -> [f64; 3] {
        let last = self.length as isize - 1;
        let k = |j: isize| -> [f64; 3] { std::array::from_fn(|d| self.axes[d][first + j as usize] / self.voxel[d]) };
        let (end, inward) = match j {
            ..0 => (0, 1),
            _ if j > last => (last, -1),
            _ => return k(j),
        };
        let [here, next, after] = [0, 1, 2].map(|n| k(end + n * inward));
        let step = |a: [f64; 3], b: [f64; 3]| (0..3).map(|d| (b[d] - a[d]).powi(2)).sum::<f64>();
        // From rest the second step is three times the first.
        let rests = 4.0 * step(here, next) < step(next, after);
        let beyond = if rests { 0.0 } else { (end - j).abs() as f64 };
        std::array::from_fn(|d| here[d] - beyond * (next[d] - here[d]))
    }
}

/// Delays along the axes on which they are independent of each other.
pub(super) struct Shift(Vec<([f64; 3], f64)>);

impl Shift {
    pub(super) fn new(delays: &Delays) -> Self {
        let matrix = (0..9).map(|k| delays[[[0, 3, 4], [3, 1, 5], [4, 5, 2]][k / 3][k % 3]]).collect();
        Self(eigenvectors(matrix, 3).into_iter().map(|(delay, v)| ([v[0], v[1], v[2]], delay)).collect())
    }

    /// Where sample `m` was taken, in cycles per voxel along x, y, z: its coordinates are those that the trajectory has so much earlier,
    /// by a cubic through four samples (Catmull and Rom's).
    pub(super) fn place(&self, readouts: &Readouts, m: usize) -> [f64; 3] {
        let (first, j) = (m - m % readouts.length, (m % readouts.length) as f64);
        let mut place = [0.0; 3];
        for (direction, delay) in &self.0 {
            let (base, part) = ((j - delay).floor(), (j - delay) - (j - delay).floor());
            let [a, b, c, d] = [-1, 0, 1, 2].map(|step| {
                let k = readouts.at(first, base as isize + step);
                k.iter().zip(direction).map(|(k, v)| k * v).sum::<f64>()
            });
            let value =
                b + 0.5 * part * (c - a + part * (2.0 * a - 5.0 * b + 4.0 * c - d + part * (3.0 * (b - c) + d - a)));
            place.iter_mut().zip(direction).for_each(|(p, v)| *p += value * v);
        }
        std::array::from_fn(|d| place[d] * readouts.voxel[d])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A readout that begins at rest stays there before, and one that ends in full motion goes on.
    #[test]
    fn beyond_its_ends_a_readout_goes_on_or_rests() {
        let curve: Vec<f64> = (0..9).map(|j| 0.01 * f64::from(if j < 4 { j * j } else { 8 * j - 16 })).collect();
        let axes = [curve, vec![0.0; 9], vec![0.0; 9]];
        let readouts = Readouts { axes: axes.each_ref().map(Vec::as_slice), voxel: [1.0; 3], length: 9 };
        let late = |by: f64, m: usize| Shift::new(&[by, 0.0, 0.0, 0.0, 0.0, 0.0]).place(&readouts, m)[0];
        assert!(late(2.5, 1).abs() < 1e-15 && (late(-3.0, 7) - 0.01 * 64.0).abs() < 1e-14);
    }

    /// A parabola is what the cubic gives back, to rounding, and a line beyond the ends.
    #[test]
    fn coordinates_are_those_of_earlier_samples() {
        let curve = |t: f64| [0.01 * t, 0.002 * t * t - 0.1, 0.0];
        let axes: [Vec<f64>; 3] = std::array::from_fn(|d| (0..40).map(|m| curve(f64::from(m % 20))[d]).collect());
        let readouts = Readouts { axes: axes.each_ref().map(Vec::as_slice), voxel: [1.0; 3], length: 20 };
        let late = Shift::new(&[1.5, -0.25, 0.0, 0.0, 0.0, 0.0]);
        let place = late.place(&readouts, 29);
        assert!((place[0] - curve(7.5)[0]).abs() < 1e-14 && (place[1] - curve(9.25)[1]).abs() < 1e-14, "{place:?}");
        assert!((late.place(&readouts, 20)[0] + 0.015).abs() < 1e-14);
        let none = Shift::new(&[0.0; 6]).place(&readouts, 29);
        assert!((0..3).all(|d| (none[d] - curve(9.0)[d]).abs() < 1e-15));
    }

    /// Mixed delays are those of axes turned by 45 degrees: (xx + yy) / 2 +- xy.
    #[test]
    fn mixed_delays_are_of_turned_axes() {
        let along = |angle: f64| -> [Vec<f64>; 3] {
            let k = |c: f64| (0..9).map(|j| 0.1 * c * (f64::from(j) - 4.0)).collect();
            [k(angle.cos()), k(angle.sin()), vec![0.0; 9]]
        };
        let axes = along(std::f64::consts::FRAC_PI_4);
        let readouts = Readouts { axes: axes.each_ref().map(Vec::as_slice), voxel: [1.0, 1.0, 1.0], length: 9 };
        let place = Shift::new(&[0.5, 0.5, 0.0, 0.3, 0.0, 0.0]).place(&readouts, 4);
        // 0.8 samples late along the diagonal, of which each axis has cos(45 degrees).
        let expected = -0.8 * 0.1 * std::f64::consts::FRAC_1_SQRT_2;
        assert!((place[0] - expected).abs() < 1e-14 && (place[1] - expected).abs() < 1e-14, "{place:?}");
    }

    /// Voxels twice as long along x have twice the cycles, and the same delays.
    #[test]
    fn mixed_delays_know_the_voxels_edges() {
        let axes: [Vec<f64>; 3] = [vec![0.0; 6], (0..6).map(|j| 0.05 * f64::from(j)).collect(), vec![0.0; 6]];
        let delays = [0.2, 0.3, 0.0, 0.1, 0.0, 0.0];
        let at = |x: f64| {
            let readouts = Readouts { axes: axes.each_ref().map(Vec::as_slice), voxel: [x, 1.0, 1.0], length: 6 };
            Shift::new(&delays).place(&readouts, 3)
        };
        assert!((at(1.0)[0] + 0.1 * 0.05).abs() < 1e-14 && (at(2.0)[0] + 0.2 * 0.05).abs() < 1e-14);
    }
}
