//! The head of Shepp and Logan: as a plane section, and as a volume.

use super::ellipsoid::{Ellipse, Ellipsoid};
use crate::error::{Result, fail};

/// Contrasts of the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SheppLogan {
    /// Those of X-ray attenuation, 2 % within the brain: of the section in Shepp and Logan, "The Fourier reconstruction of a head
    /// section", 1974; of the volume in Kak and Slaney, "Principles of Computerized Tomographic Imaging", 1988, page 102.
    Original,
    /// Ten times as strong: of the section in Toft, "The Radon transform", 1996, appendix B; of the volume in Koay, Sarlls and
    /// Ozarslan, "Three-dimensional analytical magnetic resonance imaging phantom in the Fourier domain", Magn. Reson. Med. 58,
    /// 2007, table 1.
    Modified,
}

/// x, y, semi-axes, degrees, original value, modified value; the longer half is 0.92.
const SECTION: [[f64; 7]; 10] = [
    [0.0, 0.0, 0.69, 0.92, 0.0, 2.0, 1.0],
    [0.0, -0.0184, 0.6624, 0.874, 0.0, -0.98, -0.8],
    [0.22, 0.0, 0.11, 0.31, -18.0, -0.02, -0.2],
    [-0.22, 0.0, 0.16, 0.41, 18.0, -0.02, -0.2],
    [0.0, 0.35, 0.21, 0.25, 0.0, 0.01, 0.1],
    [0.0, 0.1, 0.046, 0.046, 0.0, 0.01, 0.1],
    [0.0, -0.1, 0.046, 0.046, 0.0, 0.01, 0.1],
    [-0.08, -0.605, 0.046, 0.023, 0.0, 0.01, 0.1],
    [0.0, -0.605, 0.023, 0.023, 0.0, 0.01, 0.1],
    [0.06, -0.605, 0.023, 0.046, 0.0, 0.01, 0.1],
];

/// x, y, z, semi-axes, degrees, original value, modified value, in halves of the field of view.
const HEAD: [[f64; 9]; 10] = [
    [0.0, 0.0, 0.0, 0.69, 0.92, 0.9, 0.0, 2.0, 2.0],
    [0.0, 0.0, 0.0, 0.6624, 0.874, 0.88, 0.0, -0.98, -0.8],
    [-0.22, 0.0, -0.25, 0.41, 0.16, 0.21, 108.0, -0.02, -0.2],
    [0.22, 0.0, -0.25, 0.31, 0.11, 0.22, 72.0, -0.02, -0.2],
    [0.0, 0.35, -0.25, 0.21, 0.25, 0.5, 0.0, 0.02, 0.2],
    [0.0, 0.1, -0.25, 0.046, 0.046, 0.046, 0.0, 0.02, 0.2],
    [-0.08, -0.65, -0.25, 0.046, 0.023, 0.02, 0.0, 0.01, 0.1],
    [0.06, -0.65, -0.25, 0.046, 0.023, 0.02, 90.0, 0.01, 0.1],
    [0.06, -0.105, 0.625, 0.056, 0.04, 0.1, 90.0, 0.02, 0.2],
    [0.0, 0.1, 0.625, 0.056, 0.056, 0.1, 0.0, -0.02, -0.2],
];

/// The z of the head's slice that crosses most of its ellipsoids, in halves of the field of view along z.
pub const HEAD_SLICE: f64 = -0.25;

impl SheppLogan {
    fn value(self, original: f64, modified: f64) -> f64 {
        if self == SheppLogan::Original { original } else { modified }
    }

    /// The ten ellipses of the section, scaled to a circle of this radius.
    pub fn section(self, radius: f64) -> Result<[Ellipse; 10]> {
        check("radius", radius)?;
        Ok(SECTION.map(|[x, y, a, b, degrees, original, modified]| Ellipsoid {
            value: self.value(original, modified),
            centre: [x * radius, y * radius],
            semi: [a * radius, b * radius],
            angle: degrees.to_radians(),
        }))
    }

    /// The ten ellipsoids of the volume, for a field of view that reaches `half_xy` along x and y, `half_z` along z, to either side.
    pub fn head(self, half_xy: f64, half_z: f64) -> Result<[Ellipsoid<3>; 10]> {
        check("half_xy", half_xy)?;
        check("half_z", half_z)?;
        Ok(HEAD.map(|[x, y, z, a, b, c, degrees, original, modified]| Ellipsoid {
            value: self.value(original, modified),
            centre: [x * half_xy, y * half_xy, z * half_z],
            semi: [a * half_xy, b * half_xy, c * half_z],
            angle: degrees.to_radians(),
        }))
    }

    /// The ellipses of the volume's slice at [`HEAD_SLICE`].
    pub fn head_slice(self, half: f64) -> Result<Vec<Ellipse>> {
        let list = self.head(half, half)?;
        Ok(list.iter().filter_map(|e| e.slice(HEAD_SLICE * half)).collect())
    }
}

fn check(name: &str, length: f64) -> Result<()> {
    if !length.is_finite() {
        fail!(NotFiniteParameter, "{name} is {length}; it must be finite");
    }
    if length <= 0.0 {
        fail!(OutOfRange, "{name} is {length}; it must be above 0");
    }
    Ok(())
}
