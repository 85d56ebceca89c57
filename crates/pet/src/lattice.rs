//! The lattice of image and histo-images.

use isocenter_base::error::{Result, fail};

/// Longest side in voxels.
pub const MAX_SIDE: usize = 4096;

/// Voxels `[z][y][x]`; the centre of the lattice is the centre of the scanner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    shape: [usize; 3],
    voxel: [f64; 3],
}

impl Lattice {
    /// `shape` is nz, ny, nx; `voxel` is the size along x, y, z in mm.
    pub fn new(shape: [usize; 3], voxel: [f64; 3]) -> Result<Self> {
        for (name, side) in ["nz", "ny", "nx"].into_iter().zip(shape) {
            if !(1..=MAX_SIDE).contains(&side) {
                fail!(OutOfRange, "geometry.{name} is {side}; it must be 1 to {MAX_SIDE}");
            }
        }
        for (name, size) in ["x", "y", "z"].into_iter().zip(voxel) {
            if !size.is_finite() {
                fail!(NotFiniteParameter, "geometry.voxel_{name} is {size}; it must be finite, in mm");
            }
            if size <= 0.0 {
                fail!(OutOfRange, "geometry.voxel_{name} is {size} mm; it must be above 0");
            }
        }
        let bytes = shape.iter().try_fold(size_of::<f32>(), |n, side| n.checked_mul(*side));
        if bytes.is_none_or(|n| isize::try_from(n).is_err()) {
            let [nz, ny, nx] = shape;
            fail!(SizeOverflow, "a lattice of {nz} x {ny} x {nx} voxels does not fit the address space");
        }
        Ok(Self { shape, voxel })
    }

    /// nz, ny, nx.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Voxel size along x, y, z in mm.
    pub fn voxel(&self) -> [f64; 3] {
        self.voxel
    }

    /// How many voxels.
    pub fn voxels(&self) -> usize {
        self.shape.iter().product()
    }

    /// How many voxels along x, y, z.
    pub fn along(&self) -> [usize; 3] {
        let [nz, ny, nx] = self.shape;
        [nx, ny, nz]
    }

    /// Volume of a voxel in mm^3.
    pub fn voxel_volume(&self) -> f64 {
        self.voxel.iter().product()
    }

    /// Centre of voxel `index` along an axis (0 is x), in mm.
    pub fn position(&self, axis: usize, index: usize) -> f64 {
        (index as f64 - (self.along()[axis] - 1) as f64 / 2.0) * self.voxel[axis]
    }

    /// Centre of voxel x, y, z in mm.
    pub fn centre(&self, index: [usize; 3]) -> [f64; 3] {
        std::array::from_fn(|axis| self.position(axis, index[axis]))
    }

    /// The voxel x, y, z around a point in mm, if the point is in the lattice.
    pub fn voxel_at(&self, p: [f64; 3]) -> Option<[usize; 3]> {
        let mut index = [0; 3];
        for (axis, n) in self.along().into_iter().enumerate() {
            let along = (p[axis] / self.voxel[axis] + n as f64 / 2.0).floor();
            // NaN lies nowhere.
            if !(along >= 0.0 && along < n as f64) {
                return None;
            }
            index[axis] = along as usize;
        }
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_centre_of_the_lattice_is_the_origin() {
        let odd = Lattice::new([3, 5, 7], [1.0, 2.0, 3.0]).expect("valid");
        assert_eq!(odd.centre([3, 2, 1]), [0.0; 3]);
        assert_eq!(odd.voxel_at([0.0; 3]), Some([3, 2, 1]));
        assert_eq!(odd.voxel_at([3.49, -4.99, 4.49]), Some([6, 0, 2]));
        assert_eq!(odd.voxel_at([3.51, 0.0, 0.0]), None);
        assert_eq!(odd.voxel_at([f64::NAN, 0.0, 0.0]), None);
        let even = Lattice::new([2, 4, 6], [4.0; 3]).expect("valid");
        assert_eq!(even.centre([0, 0, 0]), [-10.0, -6.0, -2.0]);
        assert_eq!(even.voxels(), 48);
    }

    #[test]
    fn sizes_are_checked() {
        let message = |shape, voxel| Lattice::new(shape, voxel).expect_err("invalid").message;
        assert_eq!(message([1, 0, 1], [1.0; 3]), "geometry.ny is 0; it must be 1 to 4096");
        assert_eq!(message([1, 1, 5000], [1.0; 3]), "geometry.nx is 5000; it must be 1 to 4096");
        assert_eq!(message([1; 3], [1.0, -2.0, 1.0]), "geometry.voxel_y is -2 mm; it must be above 0");
        assert_eq!(message([1; 3], [1.0, 1.0, f64::NAN]), "geometry.voxel_z is NaN; it must be finite, in mm");
    }
}
