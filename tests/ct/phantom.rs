//! The analytic phantoms against brute force: everything else is checked against them.

use crate::common::scene::*;
use isocenter::array::ArrayMut;
use isocenter::ct::Geometry;
use isocenter::error::Status;
use isocenter::phantom::{Ellipse, SheppLogan};

/// A tilted one, a needle, one smaller than a pixel on a pixel's corner, one that touches the slice's middle; some overlap.
fn ellipses() -> Vec<Ellipse> {
    let ellipse = |value, x, y, a, b, angle| Ellipse { value, centre: [x, y], semi: [a, b], angle };
    vec![
        ellipse(1.0, 3.0, -2.0, 9.0, 5.0, 0.7),
        ellipse(-0.5, 1.0, 4.0, 11.0, 0.06, -0.3),
        ellipse(2.0, -7.0, 7.0, 0.2, 0.1, 1.0),
        ellipse(0.25, 0.1, 0.2, 2.5, 2.5, 0.0),
        ellipse(3.0, -5.0, -8.0, 0.5, 3.0, 2.0),
    ]
}

/// Odd and even sides, an axis that passes through no pixel's middle, and pixels that are not of unit size.
fn geometry() -> Geometry {
    let mut g = Geometry::new((0..17).map(|v| -1.0 + 0.37 * f64::from(v)).collect(), 101).with_rows(2);
    (g.nx, g.ny, g.pixel_size, g.bin_pitch, g.axis) = (43, 40, 0.75, 0.4, vec![47.6]);
    (g.x_offset, g.y_offset) = (0.4, -1.3);
    g
}

/// A square of n x n points judges a pixel that an edge crosses to 1/n of its value: a convex edge crosses at most 2n of its
/// cells, and each is off by at most half of itself. Everything else it judges exactly.
#[test]
fn pixel_means_are_those_of_many_points() {
    const N: usize = 64;
    let g = geometry();
    let ct = best_plan(&g);
    for e in ellipses() {
        let seen = pixel_means(&ct, &g, &[e]);
        assert_eq!(seen[..g.nx * g.ny], seen[g.nx * g.ny..], "slices differ");
        for (k, &value) in seen[..g.nx * g.ny].iter().enumerate() {
            let (x, y) = pixel_middle(&g, k / g.nx, k % g.nx);
            let at = |n: usize| ((n as f64 + 0.5) / N as f64 - 0.5) * g.pixel_size;
            let inside = (0..N * N).filter(|n| contains(&e, (x + at(n / N), y + at(n % N)))).count();
            let expected = e.value * inside as f64 / (N * N) as f64;
            let tolerance = if inside == N * N { 1e-6 } else { 1.0 / N as f64 };
            let off = (f64::from(value) - expected).abs() / e.value.abs();
            assert!(off <= tolerance, "{e:?}: pixel {k} is {value}, not {expected}");
        }
    }
}

/// Pixel means are rounded to f32 one by one, so their sum is exact to some 1e-7; the centre of mass also tells up from down.
#[test]
fn pixel_means_keep_area_and_place() {
    let g = geometry();
    let ct = best_plan(&g);
    for e in ellipses() {
        let volume = pixel_means(&ct, &g, &[e]);
        let (mut mass, mut mx, mut my) = (0.0, 0.0, 0.0);
        for (k, v) in volume[..g.nx * g.ny].iter().enumerate() {
            let ((x, y), m) = (pixel_middle(&g, k / g.nx, k % g.nx), f64::from(*v) * g.pixel_size.powi(2));
            (mass, mx, my) = (mass + m, mx + m * x, my + m * y);
        }
        let expected = std::f64::consts::PI * e.semi[0] * e.semi[1] * e.value;
        assert!((mass / expected - 1.0).abs() < 1e-6, "{e:?}: mass {mass}, not {expected}");
        // A pixel's mass sits in its middle, which is right to a pixel's sixth at worst where an edge crosses many.
        let (x, y) = (mx / mass, my / mass);
        assert!((x - e.centre[0]).hypot(y - e.centre[1]) < 0.5 * g.pixel_size, "{e:?}: centre of mass ({x}, {y})");
    }
}

/// Points along each ray, `STEP` apart, judge a chord to one step.
#[test]
fn line_integrals_are_those_of_many_points() {
    const STEP: f64 = 0.005;
    let g = geometry();
    let ct = best_plan(&g);
    let list = ellipses();
    let seen = line_integrals(&ct, &g, &list);
    let tolerance = STEP * list.iter().map(|e| e.value.abs()).sum::<f64>();
    let mut worst: f64 = 0.0;
    for (v, angle) in g.angles.iter().enumerate() {
        let (sin, cos) = angle.sin_cos();
        assert_eq!(seen[2 * v * g.bins..][..g.bins], seen[(2 * v + 1) * g.bins..][..g.bins], "rows differ");
        for k in (v % 3..g.bins).step_by(3) {
            // x cos + y sin = s, and along it the direction (-sin, cos).
            let s = (k as f64 - g.axis[0]) * g.bin_pitch;
            let mut expected = 0.0;
            for e in &list {
                let reach = e.semi[0].max(e.semi[1]) + STEP;
                let near = e.centre[1] * cos - e.centre[0] * sin;
                let steps = (2.0 * reach / STEP) as usize;
                let point = |n: usize| near - reach + (n as f64 + 0.5) * STEP;
                let inside = (0..steps).filter(|&n| contains(e, (s * cos - point(n) * sin, s * sin + point(n) * cos)));
                expected += e.value * STEP * inside.count() as f64;
            }
            worst = worst.max((f64::from(seen[2 * v * g.bins + k]) - expected).abs());
        }
    }
    println!("worst {worst:.1e} of {tolerance:.1e} allowed");
    assert!(worst <= tolerance, "a line integral is off by {worst}");
}

/// Values of the two published tables at points in one, two and three of their ellipses.
#[test]
fn shepp_logan_is_the_published_one() {
    let value = |set: SheppLogan, x: f64, y: f64| {
        let list = set.section(50.0).expect("ellipses");
        list.iter().filter(|e| contains(e, (50.0 * x, 50.0 * y))).map(|e| e.value).sum::<f64>()
    };
    for (x, y, original, modified) in [
        (0.0, 0.9, 2.0, 1.0),      // skull, top
        (0.0, -0.91, 2.0, 1.0),    // skull, bottom: thicker, since the brain is moved down by less
        (0.0, -0.4, 1.02, 0.2),    // brain
        (0.22, 0.0, 1.0, 0.0),     // right ventricle
        (-0.22, 0.0, 1.0, 0.0),    // left ventricle
        (0.3, 0.25, 1.0, 0.0),     // right ventricle's upper end, which leans out
        (-0.34, 0.35, 1.0, 0.0),   // left ventricle's
        (0.0, 0.35, 1.03, 0.3),    // the large disk
        (0.0, 0.08, 1.03, 0.3),    // the upper small disk, below where the large one ends
        (0.06, -0.605, 1.03, 0.3), // upright one of the three at the bottom
        (0.06, -0.57, 1.03, 0.3),
        (-0.04, -0.605, 1.03, 0.3), // the lying one of them
        (0.8, 0.0, 0.0, 0.0),
    ] {
        for (set, expected) in [(SheppLogan::Original, original), (SheppLogan::Modified, modified)] {
            let seen = value(set, x, y);
            assert!((seen - expected).abs() < 1e-12, "{set:?} at ({x}, {y}) is {seen}, not {expected}");
        }
    }
}

#[test]
fn ellipses_without_area_are_refused() {
    let status = |e: &[Ellipse]| {
        let g = geometry();
        let ct = best_plan(&g);
        let mut volume = vec![7.0; crate::common::volume_len(&g)];
        let out = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
        let error = ct.phantom_volume(e, out).expect_err("a refusal");
        assert!(volume.iter().all(|v| *v == 7.0), "written in spite of an error");
        error.status
    };
    assert_eq!(status(&[OBJECT, Ellipse { semi: [30.0, 0.0], ..OBJECT }]), Status::OutOfRange);
    assert_eq!(status(&[Ellipse { semi: [-1.0, 18.0], ..OBJECT }]), Status::OutOfRange);
    assert_eq!(status(&[Ellipse { value: f64::NAN, ..OBJECT }]), Status::NotFiniteParameter);
    for (radius, expected) in [(0.0, Status::OutOfRange), (f64::INFINITY, Status::NotFiniteParameter)] {
        assert_eq!(SheppLogan::Modified.section(radius).expect_err("a refusal").status, expected);
    }
}
