//! `backproject`, `forward` and `adjoint` against plain f64 loops.

use crate::common::*;
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options};
use std::f64::consts::PI;

/// Sums of n products in f32 err by some sqrt(n) 6e-8 of their terms; positions, kept relative to a tile, by 4e-6 of a bin,
/// which with neighbouring bins up to 2 apart is 8e-6 a view, at random: below 1e-5 of the largest sum of n views.
const TOLERANCE: f64 = 1e-5;

fn geometries() -> Vec<(&'static str, Geometry)> {
    // Not quite from 0, so that no position is exactly halfway between bins, where nearest may take either.
    let even = |n: usize| (0..n).map(|v| 0.0123 + PI * v as f64 / n as f64).collect::<Vec<_>>();
    let mut list = vec![("even", Geometry::new(even(60), 50).with_rows(3))];
    let mut g = Geometry::new(even(37), 61).with_rows(2);
    (g.nx, g.ny, g.pixel_size, g.bin_pitch, g.axis) = (83, 45, 0.7, 0.5, vec![17.3]);
    list.push(("coarse pixels, off-centre axis", g));
    let mut g = Geometry::new((0..41).map(|v| 0.3 + 2.0 * PI * v as f64 / 41.0).collect(), 70);
    (g.nx, g.ny, g.x_offset, g.y_offset) = (40, 70, -9.25, 4.5);
    g.axis = (0..41).map(|v| 33.0 + (v as f64).sin()).collect();
    list.push(("region of interest, axis a view, full turn", g));
    let mut g = Geometry::new(even(24), 200).with_rows(9);
    (g.nx, g.ny, g.pixel_size, g.first_row, g.slices) = (33, 35, 5.0, 2, 6);
    list.push(("pixels of five bins", g));
    let mut g = Geometry::new(even(30), 40).with_rows(40);
    (g.nx, g.ny, g.pixel_size, g.first_row, g.slices) = (100, 70, 0.31, 1, 38);
    list.push(("fine pixels, many slices", g));
    let mut g = Geometry::new(vec![0.0, PI / 2.0, PI, 1.5 * PI, PI / 4.0, -PI / 4.0], 32).with_rows(17);
    g.pixel_size = 2.0;
    g.axis = vec![15.27];
    list.push(("right angles, full turn", g));
    list
}

fn check(name: &str, operator: &str, seen: &[f32], expected: &[f64], level: Level) {
    let e = error(seen, expected);
    println!("{name}, {operator}, {level:?}: {e:.1e}");
    assert!(e < TOLERANCE, "{name}, {operator}, {level:?}: error {e:.2e}");
}

#[test]
fn backproject_matches_f64() {
    for (name, g) in geometries() {
        let projections = random(projection_len(&g), 1);
        for interpolation in [Interpolation::Linear, Interpolation::Nearest, Interpolation::Oversampled] {
            let expected = backproject(&g, interpolation, None, &projections);
            for level in Level::available() {
                let mut ct = plan(&g, level, 2);
                ct.set_options(Options { interpolation, ..Options::default() }).expect("options");
                let seen = to_volume(&mut ct, &g, Ct::backproject, &projections);
                if interpolation == Interpolation::Linear {
                    check(name, "linear", &seen, &expected, level);
                } else {
                    // A position within f32 rounding of halfway between samples may fall to either side.
                    let scale = expected.iter().fold(0.0f64, |m, v| m.max(v.abs()));
                    let off =
                        seen.iter().zip(&expected).filter(|(s, e)| (f64::from(**s) - **e).abs() > TOLERANCE * scale);
                    let part = off.count() as f64 / seen.len() as f64;
                    println!("{name}, {interpolation:?}, {level:?}: {part:.1e} of the pixels differ");
                    assert!(part < 2e-3, "{name}, {interpolation:?}, {level:?}: {part:.1e} of the pixels differ");
                }
            }
        }
    }
}

#[test]
fn forward_and_adjoint_match_f64() {
    for (name, g) in geometries() {
        let (x, y) = (random(volume_len(&g), 2), random(projection_len(&g), 3));
        let (ax, aty) = (forward(&g, &x), adjoint(&g, &y));
        for level in Level::available() {
            let mut ct = plan(&g, level, 2);
            check(name, "forward", &to_projections(&mut ct, &g, Ct::forward, &x), &ax, level);
            check(name, "adjoint", &to_volume(&mut ct, &g, Ct::adjoint, &y), &aty, level);
        }
    }
}
