//! Figures of merit of reconstructed images: contrast recovery and noise, over regions of transverse slices.
//!
//! A pixel at a region's border counts by the part of its area that is inside. A region lies in the slice nearest to its
//! centre, in both where two are equally near. Means and variances are weighted with these areas; the variance is that of the
//! population (not n - 1).

use super::lattice::Lattice;
use super::units::Short;
use isocenter_base::error::{Result, fail};

/// Diameter of the disc over a sphere, in mm.
pub const SPHERE_DISC: f64 = 10.0;
/// Inner and outer diameter of the ring about it: 14 mm wider than the sphere, 8 mm thick.
pub const RING: [f64; 2] = [24.0, 40.0];
/// Diameter of the disc for noise.
pub const NOISE_DISC: f64 = 50.0;

/// Area below y, within x0 to x1, of a disc of radius r about the origin.
fn area_below(r: f64, [x0, x1]: [f64; 2], y: f64) -> f64 {
    let (a, b) = (x0.clamp(-r, r), x1.clamp(-r, r));
    // Integral of sqrt(r^2 - x^2).
    let half = |x: f64| 0.5 * (x * (r * r - x * x).max(0.0).sqrt() + r * r * (x / r).clamp(-1.0, 1.0).asin());
    let strip = |a: f64, b: f64| half(b) - half(a);
    if y.abs() >= r {
        return if y > 0.0 { 2.0 * strip(a, b) } else { 0.0 };
    }
    // The chord at y spans -w to w; beyond it the disc is whole below (y > 0) or not there.
    let w = (r * r - y * y).sqrt();
    let (c, d) = (a.clamp(-w, w), b.clamp(-w, w));
    let beyond = if y > 0.0 { 2.0 * (strip(a, c) + strip(d, b)) } else { 0.0 };
    y * (d - c) + strip(c, d) + beyond
}

/// Area of a disc about the origin within a rectangle.
fn area_in_disc(r: f64, x: [f64; 2], [y0, y1]: [f64; 2]) -> f64 {
    area_below(r, x, y1) - area_below(r, x, y0)
}

/// Voxels of a region and the area of each that is inside.
#[derive(Debug)]
struct Region(Vec<(usize, f64)>);

impl Region {
    /// Ring between two diameters (the inner 0 for a disc) in the transverse plane.
    fn new(lattice: &Lattice, centre: [f64; 3], diameters: [f64; 2]) -> Result<Self> {
        let [nx, ny, nz] = lattice.along();
        let outer = diameters[1] / 2.0;
        let half = |d: usize| lattice.along()[d] as f64 * lattice.voxel()[d] / 2.0;
        let inside = (0..2).all(|d| centre[d].abs() + outer <= half(d)) && centre[2].abs() <= half(2);
        if !inside {
            let [x, y, z] = [0, 1, 2].map(|d| Short(2.0 * half(d)));
            fail!(OutOfRange, "a disc of {} mm at {centre:?} mm leaves the lattice, {x} x {y} x {z} mm", diameters[1]);
        }
        let distance = |z: usize| (lattice.position(2, z) - centre[2]).abs();
        let nearest = (0..nz).map(distance).fold(f64::INFINITY, f64::min);
        let mut pixels = Vec::new();
        for z in (0..nz).filter(|z| distance(*z) <= nearest + 1e-6 * lattice.voxel()[2]) {
            for y in 0..ny {
                for x in 0..nx {
                    let edges = |d: usize, j: usize| {
                        let c = lattice.position(d, j) - centre[d];
                        [c - lattice.voxel()[d] / 2.0, c + lattice.voxel()[d] / 2.0]
                    };
                    let disc = |diameter: f64| area_in_disc(diameter / 2.0, edges(0, x), edges(1, y));
                    let inner = if diameters[0] > 0.0 { disc(diameters[0]) } else { 0.0 };
                    let area = disc(diameters[1]) - inner;
                    // What rounding leaves of pixels outside is some 1e-16 of the disc.
                    if area > 1e-9 * outer * outer {
                        pixels.push(((z * ny + y) * nx + x, area));
                    }
                }
            }
        }
        Ok(Self(pixels))
    }

    fn mean(&self, value: impl Fn(usize) -> f64) -> f64 {
        let area: f64 = self.0.iter().map(|(_, a)| a).sum();
        self.0.iter().map(|(k, a)| a * value(*k)).sum::<f64>() / area
    }
}

fn check(image: &[f32], lattice: &Lattice) -> Result<()> {
    if image.len() != lattice.voxels() {
        fail!(TensorShape, "the image has {} voxels; {:?} were expected", image.len(), lattice.shape());
    }
    Ok(())
}

/// Mean over the spheres of `((p_s - p_b) / p_b) / (ratio - 1)`: p_s the mean of the disc over a sphere, p_b of the ring about
/// it. 1 is the true contrast; `ratio` is the sphere's activity over the background's.
pub fn contrast_recovery(image: &[f32], lattice: &Lattice, spheres: &[[f64; 3]], ratio: f64) -> Result<f64> {
    check(image, lattice)?;
    if spheres.is_empty() {
        fail!(OutOfRange, "centres are of no spheres; there must be at least 1");
    }
    if !ratio.is_finite() || ratio == 1.0 {
        fail!(OutOfRange, "ratio is {ratio}; it must be finite and not 1");
    }
    let mut sum = 0.0;
    for centre in spheres {
        let mean = |diameters| Ok(Region::new(lattice, *centre, diameters)?.mean(|k| f64::from(image[k])));
        let (sphere, background): (f64, f64) = (mean([0.0, SPHERE_DISC])?, mean(RING)?);
        if background <= 0.0 || background.is_nan() {
            fail!(OutOfRange, "the background about the sphere at {centre:?} is {background}; it must be above 0");
        }
        sum += (sphere - background) / background / (ratio - 1.0);
    }
    Ok(sum / spheres.len() as f64)
}

/// Standard deviation of the voxels over their mean, in a disc about the middle of the lattice.
pub fn noise(image: &[f32], lattice: &Lattice) -> Result<f64> {
    check(image, lattice)?;
    let region = Region::new(lattice, [0.0; 3], [0.0, NOISE_DISC])?;
    let mean = region.mean(|k| f64::from(image[k]));
    if mean <= 0.0 || mean.is_nan() {
        fail!(OutOfRange, "the mean of the central disc is {mean}; it must be above 0");
    }
    Ok(region.mean(|k| (f64::from(image[k]) - mean).powi(2)).sqrt() / mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lattice() -> Lattice {
        Lattice::new([4, 61, 64], [2.5, 3.0, 4.0]).unwrap()
    }

    fn image(value: impl Fn(f64, f64, f64) -> f64) -> Vec<f32> {
        let [nx, ny, nz] = lattice().along();
        let at = |k: usize| {
            (lattice().position(0, k % nx), lattice().position(1, k / nx % ny), lattice().position(2, k / nx / ny))
        };
        (0..nx * ny * nz).map(at).map(|(x, y, z)| value(x, y, z) as f32).collect()
    }

    /// Against midpoints of 400 x 400 parts of the rectangle: each of the cells that the circle crosses (at most 4 for each
    /// row or column, of the rectangle's area / 160,000) is wrong by less than itself.
    #[test]
    fn area_of_disc_in_rectangle_matches_counting() {
        let cases = [
            (5.0, [-6.0, 7.0], [-8.0, 5.5]),
            (5.0, [-1.0, 3.0], [-2.0, 2.5]),
            (5.0, [2.0, 6.0], [3.0, 7.0]),
            (5.0, [-4.9, -4.0], [-3.0, -1.0]),
            (5.0, [-3.0, 4.5], [-6.0, -4.0]),
            (2.0, [3.0, 4.0], [0.0, 1.0]),
        ];
        for (r, x, y) in cases {
            let n = 400;
            let at = |[a, b]: [f64; 2], k: usize| a + (b - a) * (k as f64 + 0.5) / n as f64;
            let hits = (0..n * n).filter(|k| at(x, k % n).hypot(at(y, k / n)) <= r).count();
            let cell = (x[1] - x[0]) * (y[1] - y[0]) / (n * n) as f64;
            let area = area_in_disc(r, x, y);
            assert!((area - hits as f64 * cell).abs() <= 4.0 * n as f64 * cell, "{r} {x:?} {y:?}: {area}");
        }
    }

    /// Areas are closed forms: the sum over pixels is the ring's to rounding, in both slices that are equally near.
    #[test]
    fn regions_have_their_area() {
        let region = Region::new(&lattice(), [13.0, -7.0, 0.0], RING).unwrap();
        let area: f64 = region.0.iter().map(|(_, a)| a).sum();
        let truth = 2.0 * std::f64::consts::PI * (20.0f64.powi(2) - 12.0f64.powi(2));
        assert!((area / truth - 1.0).abs() < 1e-9, "{area} {truth}");
        let one = Region::new(&lattice(), [13.0, -7.0, 2.5], RING).unwrap();
        assert_eq!(2 * one.0.len(), region.0.len());
    }

    /// Spheres twice as wide as the disc are seen whole; the image is that of the spheres at 3.4 over 2, a true ratio of 2:
    /// contrast (1.7 - 1) / 1. Values are f32: 1e-6 is some ten roundings.
    #[test]
    fn contrast_is_that_of_wide_spheres() {
        let centres = [[40.0, 0.0, 0.0], [-40.0, 20.0, 0.0]];
        let near = |x: f64, y: f64| centres.iter().any(|c| (x - c[0]).hypot(y - c[1]) < 9.0);
        let image = image(|x, y, _| if near(x, y) { 3.4 } else { 2.0 });
        let recovery = contrast_recovery(&image, &lattice(), &centres, 2.0).unwrap();
        assert!((recovery - 0.7).abs() < 1e-6, "{recovery}");
        let flat = vec![2.0; lattice().voxels()];
        assert_eq!(contrast_recovery(&flat, &lattice(), &centres, 2.0).unwrap(), 0.0);
    }

    /// A ramp of slope g over a disc of radius r has standard deviation g r / 2; voxel means of a ramp lose its variance
    /// within a voxel, g^2 size^2 / 12, and border pixels are taken at their middle, which moves the variance by less than
    /// the border's share (perimeter x 3 mm over area) of g^2 r size.
    #[test]
    fn noise_of_a_ramp() {
        let image = image(|x, _, _| 10.0 + 0.02 * x);
        let r = NOISE_DISC / 2.0;
        let (truth, step) = ((0.02f64 * r / 2.0).powi(2) / 100.0, lattice().voxel()[0]);
        let variance = noise(&image, &lattice()).unwrap().powi(2);
        let share = 2.0 * 3.0 / r;
        let tolerance = 0.02f64.powi(2) / 100.0 * (step * step / 12.0 + share * r * step / 2.0);
        assert!((variance - truth).abs() < tolerance, "{variance} {truth} {tolerance}");
        assert_eq!(noise(&vec![2.0; lattice().voxels()], &lattice()).unwrap(), 0.0);
    }

    #[test]
    fn refuses_what_has_no_merit() {
        let flat = vec![1.0; lattice().voxels()];
        assert!(contrast_recovery(&flat, &lattice(), &[[75.0, 0.0, 0.0]], 2.0).is_err());
        assert!(contrast_recovery(&flat, &lattice(), &[[0.0; 3]], 1.0).is_err());
        assert!(contrast_recovery(&flat, &lattice(), &[], 2.0).is_err());
        assert!(noise(&vec![0.0; lattice().voxels()], &lattice()).is_err());
        assert!(noise(&flat[1..], &lattice()).is_err());
    }
}
