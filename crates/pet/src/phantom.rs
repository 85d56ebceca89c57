//! Phantoms of activity and attenuation, in mm from the scanner's centre.

use super::lattice::Lattice;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use isocenter_base::phantom::{Shape, add_segment};
use std::f64::consts::PI;

/// A body and what is in it. Where bodies overlap their values add, so an insert holds the differences to its surroundings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Object {
    /// Where.
    pub shape: Shape,
    /// Activity in any unit for a volume.
    pub activity: f64,
    /// Linear attenuation coefficient in 1/mm.
    pub attenuation: f64,
}

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Quantity {
    Activity,
    Attenuation,
}

/// A sum of objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Phantom {
    objects: Vec<Object>,
}

/// Lines across a voxel along y and z, for voxel means.
const LINES: usize = 12;

impl Phantom {
    /// Objects of finite numbers, whose sizes are above 0.
    pub fn new(objects: Vec<Object>) -> Result<Self> {
        for (k, o) in objects.iter().enumerate() {
            check(&o.shape, k)?;
            if !(o.activity.is_finite() && o.attenuation.is_finite()) {
                let (a, m) = (o.activity, o.attenuation);
                fail!(NotFiniteParameter, "bodies[{k}] has activity {a} and attenuation {m}; they must be finite");
            }
        }
        Ok(Self { objects })
    }

    /// Its objects.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Activity at a place.
    pub fn activity(&self, place: [f64; 3]) -> f64 {
        self.objects.iter().filter(|o| o.shape.contains(place)).map(|o| o.activity).sum()
    }

    /// Integral of the activity over all space.
    pub fn total_activity(&self) -> f64 {
        self.objects.iter().map(|o| o.activity * o.shape.volume()).sum()
    }

    /// Line integrals of the attenuation along whole lines through places; `along` has unit length. In a loop over lines for
    /// each body, which compilers vectorise.
    #[inline(always)]
    pub(super) fn line_integrals<const N: usize>(
        &self,
        from: &[[f64; N]; 3],
        along: &[[f64; N]; 3],
        out: &mut [f64; N],
    ) {
        out.fill(0.0);
        for o in self.attenuating() {
            // One loop for each kind of body.
            match o.shape {
                shape @ Shape::Cylinder { .. } => add_chords(&shape, o.attenuation, from, along, out),
                shape @ Shape::Ellipsoid { .. } => add_chords(&shape, o.attenuation, from, along, out),
                shape @ Shape::Box { .. } => add_chords(&shape, o.attenuation, from, along, out),
            }
        }
    }

    /// Bodies that photons meet.
    pub(super) fn attenuating(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter().filter(|o| o.attenuation != 0.0)
    }

    /// Voxel means, `[z][y][x]`: exact along x; along y and z midpoints of 12 parts of what the body's extent leaves
    /// of the voxel. So boxes are exact, and cylinders are along x and z.
    pub fn voxel_means(&self, quantity: Quantity, lattice: &Lattice) -> Result<Vec<f32>> {
        let [nz, ny, nx] = lattice.shape();
        let mut image = zeros::<f32>(nz * ny * nx)?;
        image.par_chunks_mut(nx).enumerate().for_each_init(
            || vec![0.0; nx],
            |sums, (row, out)| {
                sums.fill(0.0);
                for o in &self.objects {
                    let value = match quantity {
                        Quantity::Activity => o.activity,
                        Quantity::Attenuation => o.attenuation,
                    };
                    if value != 0.0 {
                        add_row(&o.shape, value, lattice, [row % ny, row / ny], sums);
                    }
                }
                for (o, s) in out.iter_mut().zip(sums) {
                    *o = *s as f32;
                }
            },
        );
        Ok(image)
    }
}

/// Refuses a body without volume, or with non-finite numbers.
fn check(shape: &Shape, k: usize) -> Result<()> {
    let (centre, reach) = shape.extent();
    if !centre.iter().chain(&reach).all(|v| v.is_finite()) {
        fail!(NotFiniteParameter, "bodies[{k}] is {centre:?} +- {reach:?} mm; its numbers must be finite");
    }
    if let Some(d) = reach.iter().position(|v| *v <= 0.0) {
        fail!(OutOfRange, "bodies[{k}].half_{} is {}; it must be above 0", ["x", "y", "z"][d], reach[d]);
    }
    Ok(())
}

/// Adds `value` times each line's length within a body.
#[inline(always)]
fn add_chords<const N: usize>(
    shape: &Shape,
    value: f64,
    from: &[[f64; N]; 3],
    along: &[[f64; N]; 3],
    out: &mut [f64; N],
) {
    for (i, out) in out.iter_mut().enumerate() {
        let [a, b] = shape.chord([from[0][i], from[1][i], from[2][i]], [along[0][i], along[1][i], along[2][i]]);
        *out += value * (b - a).max(0.0);
    }
}

/// Adds `value` times the part of each voxel of a row that is in the body.
fn add_row(shape: &Shape, value: f64, lattice: &Lattice, at: [usize; 2], sums: &mut [f64]) {
    let (centre, reach) = shape.extent();
    // What the extent leaves of the row, along y and z.
    let ranges: [(f64, f64); 2] = std::array::from_fn(|k| {
        let (c, half) = (lattice.position(k + 1, at[k]), lattice.voxel()[k + 1] / 2.0);
        ((c - half).max(centre[k + 1] - reach[k + 1]), (c + half).min(centre[k + 1] + reach[k + 1]))
    });
    let [(y0, y1), (z0, z1)] = ranges;
    if y0 >= y1 || z0 >= z1 {
        return;
    }
    let size = lattice.voxel()[0];
    let left = lattice.position(0, 0) - size / 2.0;
    let parts = LINES as f64;
    let weight = value * (y1 - y0) * (z1 - z0) / (parts * parts * lattice.voxel()[1] * lattice.voxel()[2]);
    for k in 0..LINES * LINES {
        let part = |a: f64, b: f64, k: usize| a + (b - a) * (k as f64 + 0.5) / parts;
        let from = [left, part(y0, y1, k % LINES), part(z0, z1, k / LINES)];
        let [a, b] = shape.chord(from, [1.0, 0.0, 0.0]);
        add_segment(sums, [a / size, b / size], weight);
    }
}

/// The phantom of the DIRECT measurements: a uniform cylinder of 35 cm with six 10 mm spheres in the central slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpherePhantom {
    /// Length of the cylinder in mm.
    pub length: f64,
    /// Activity of the cylinder.
    pub background: f64,
    /// Activity of the spheres over that of the cylinder.
    pub ratio: f64,
    /// Attenuation coefficient of both, in 1/mm.
    pub attenuation: f64,
}

impl Default for SpherePhantom {
    /// 30 cm, hot spheres of 4 to 1, water at 511 keV.
    fn default() -> Self {
        Self { length: 300.0, background: 1.0, ratio: 4.0, attenuation: 0.0096 }
    }
}

impl SpherePhantom {
    /// Diameter of the cylinder in mm.
    pub const DIAMETER: f64 = 350.0;
    /// Diameter of the spheres in mm.
    pub const SPHERE: f64 = 10.0;
    /// Distance of the spheres from the centre in mm.
    pub const RADIUS: f64 = 75.0;

    /// Centres of the spheres, the first on the x axis.
    pub fn centres() -> [[f64; 3]; 6] {
        std::array::from_fn(|k| {
            let (sin, cos) = (k as f64 * PI / 3.0).sin_cos();
            [Self::RADIUS * cos, Self::RADIUS * sin, 0.0]
        })
    }

    /// Its objects.
    pub fn phantom(&self) -> Result<Phantom> {
        let body = Shape::Cylinder { centre: [0.0; 3], radius: Self::DIAMETER / 2.0, length: self.length };
        let mut objects = vec![Object { shape: body, activity: self.background, attenuation: self.attenuation }];
        objects.extend(Self::centres().map(|c| Object {
            shape: Shape::sphere(c, Self::SPHERE / 2.0),
            activity: (self.ratio - 1.0) * self.background,
            attenuation: 0.0,
        }));
        Phantom::new(objects)
    }
}

#[cfg(test)]
#[path = "phantom_tests.rs"]
mod tests;
