use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SHAPES: [Shape; 4] = [
    Shape::Cylinder { centre: [3.0, -2.0, 1.0], radius: 11.0, length: 14.0 },
    Shape::Ellipsoid { centre: [-1.0, 4.0, -2.0], semi: [12.0, 7.0, 9.0] },
    Shape::Ellipsoid { centre: [0.5, 0.0, 0.0], semi: [8.0; 3] },
    Shape::Box { centre: [1.0, 2.0, -3.0], size: [15.0, 9.0, 11.0] },
];

fn phantom(shape: Shape) -> Phantom {
    Phantom::new(vec![Object { shape, activity: 2.0, attenuation: 0.5 }]).unwrap()
}

fn line_integral(phantom: &Phantom, from: [f64; 3], along: [f64; 3]) -> f64 {
    let mut out = [0.0; 1];
    phantom.line_integrals(&from.map(|v| [v]), &along.map(|v| [v]), &mut out);
    out[0]
}

/// Against a sum over 4000 steps of 0.02: each of the line's two crossings is off by at most half a step.
#[test]
fn line_integrals_match_stepping() {
    let mut random = StdRng::seed_from_u64(1);
    let mut crossed = 0;
    for k in 0..400 {
        let shape = SHAPES[k % 4];
        let from: [f64; 3] = std::array::from_fn(|_| random.random_range(-12.0..12.0));
        let mut along: [f64; 3] = std::array::from_fn(|_| random.random_range(-1.0..1.0));
        if k < 16 {
            along = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.0, 0.8]][k / 4];
        }
        let length = along.iter().map(|v| v * v).sum::<f64>().sqrt();
        let along = along.map(|v| v / length);
        let inside = (0..4000)
            .filter(|t| shape.contains(std::array::from_fn(|d| from[d] + (0.02 * (*t as f64 + 0.5) - 40.0) * along[d])))
            .count();
        let stepped = 0.5 * 0.02 * inside as f64;
        let exact = line_integral(&phantom(shape), from, along);
        assert!((exact - stepped).abs() <= 0.5 * 0.02 + 1e-9, "{shape:?} {from:?} {along:?}: {exact} {stepped}");
        crossed += usize::from(inside > 0);
    }
    assert!(crossed > 100);
}

/// Sum over voxels times their volume. Boxes are exact to the rounding of f32 (1e-7 a voxel, errors of either sign). For the
/// others each of the round directions is sampled with 12 midpoints a voxel of 2 mm, 1/6 mm in all; the midpoint rule's error
/// at a round edge is about (h / r)^1.5 = (1/6 / 7)^1.5 = 0.4 % for one disc's edge rows, and far less for the average over
/// many; 1e-3 is kept.
#[test]
fn voxel_means_keep_the_amount() {
    let lattice = Lattice::new([15, 18, 21], [1.5, 2.0, 2.0]).unwrap();
    for shape in SHAPES {
        let image = phantom(shape).voxel_means(Quantity::Activity, &lattice).unwrap();
        let sum = image.iter().map(|v| f64::from(*v)).sum::<f64>() * lattice.voxel_volume();
        let truth = 2.0 * shape.volume();
        let tolerance = if matches!(shape, Shape::Box { .. }) { 1e-6 } else { 1e-3 };
        assert!((sum / truth - 1.0).abs() < tolerance, "{shape:?}: {sum} {truth}");
        assert!(image.iter().all(|v| (0.0..=2.0 + 1e-6).contains(v)));
    }
}

/// Against counts of 20^3 points in each voxel: a surface crosses at most some 2 x 20^2 of the 8000 cells, and 144 lines
/// with exact ends are better than the points; 0.06 of the value.
#[test]
fn voxel_means_are_where_the_body_is() {
    let lattice = Lattice::new([9, 10, 11], [3.0, 2.5, 2.8]).unwrap();
    for shape in SHAPES {
        let image = phantom(shape).voxel_means(Quantity::Attenuation, &lattice).unwrap();
        for (k, v) in image.iter().enumerate() {
            let at = [k % 11, k / 11 % 10, k / 110];
            let hits = (0..8000usize)
                .filter(|p| {
                    let part = [p % 20, p / 20 % 20, p / 400].map(|q| (q as f64 + 0.5) / 20.0 - 0.5);
                    shape.contains(std::array::from_fn(|d| lattice.position(d, at[d]) + part[d] * lattice.voxel()[d]))
                })
                .count();
            let counted = 0.5 * hits as f64 / 8000.0;
            assert!((f64::from(*v) - counted).abs() < 0.5 * 0.06, "{shape:?} {at:?}: {v} {counted}");
        }
    }
}

/// The cylinder's diameter of water along a line across the middle; the spheres' activity on top of the cylinder's.
#[test]
fn the_ready_phantom_is_the_described_one() {
    let ready = SpherePhantom { ratio: 6.0, background: 3.0, ..SpherePhantom::default() };
    let phantom = ready.phantom().unwrap();
    assert!((line_integral(&phantom, [0.0; 3], [0.6, 0.8, 0.0]) - 0.0096 * 350.0).abs() < 1e-12);
    assert_eq!(phantom.activity([0.0; 3]), 3.0);
    assert_eq!(phantom.activity([0.0, 176.0, 0.0]), 0.0);
    for c in SpherePhantom::centres() {
        assert!((c[0].hypot(c[1]) - 75.0).abs() < 1e-12 && c[2] == 0.0);
        assert_eq!(phantom.activity([c[0], c[1] + 4.9, 0.0]), 18.0);
        assert_eq!(phantom.activity([c[0], c[1], 5.1]), 3.0);
    }
    let total = 3.0 * PI * 175.0 * 175.0 * 300.0 + 6.0 * 15.0 * 4.0 / 3.0 * PI * 125.0;
    assert!((phantom.total_activity() / total - 1.0).abs() < 1e-12);
}

#[test]
fn refuses_impossible_bodies() {
    for shape in [
        Shape::sphere([0.0; 3], 0.0),
        Shape::sphere([f64::NAN, 0.0, 0.0], 1.0),
        Shape::Box { centre: [0.0; 3], size: [1.0, -1.0, 1.0] },
        Shape::Cylinder { centre: [0.0; 3], radius: 1.0, length: f64::INFINITY },
    ] {
        assert!(Phantom::new(vec![Object { shape, activity: 1.0, attenuation: 0.0 }]).is_err());
    }
    let shape = SHAPES[0];
    assert!(Phantom::new(vec![Object { shape, activity: f64::NAN, attenuation: 0.0 }]).is_err());
}
