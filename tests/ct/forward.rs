//! `forward` and `adjoint`: transposes of each other, and true line integrals of what the pixels hold.

use crate::common::scene::*;
use crate::common::*;
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Order};
use isocenter::phantom::Ellipse;
use std::f64::consts::PI;

fn angle_sets() -> Vec<(&'static str, Vec<f64>)> {
    let of = |n: usize, angle: &dyn Fn(f64) -> f64| (0..n).map(|v| angle(v as f64 / n as f64)).collect::<Vec<_>>();
    vec![
        ("even", half_turn(45)),
        ("full turn", of(46, &|v| 2.0 * PI * v)),
        ("t + 0.1 sin 2t", of(45, &|v| PI * v + 0.1 * (2.0 * PI * v).sin())),
        ("quadratic, downwards", of(33, &|v| 3.0 - PI * v * v)),
        ("a wedge, twice", of(40, &|v| 0.3 + 2.0 * (2.0 * v).fract())),
        ("one view", vec![0.77]),
        ("one view along the pixels", vec![PI / 2.0]),
        ("diagonals and right angles", (-8..8).map(|v| f64::from(v) * PI / 4.0).collect()),
    ]
}

/// Sizes, offsets, axes, slices: bins, nx, ny, pixel size, bin pitch, x and y offset, shift of the axis, rows, first row, slices.
type Setting = (usize, usize, usize, f64, f64, f64, f64, f64, usize, usize, usize);

const SETTINGS: [Setting; 9] = [
    (64, 64, 64, 1.0, 1.0, 0.0, 0.0, 0.0, 1, 0, 1),
    (64, 64, 64, 1.0, 1.0, 0.0, 0.0, 0.0, 33, 0, 33),
    (67, 41, 58, 0.5, 1.0, 0.0, 0.0, -7.3, 2, 1, 1),
    (67, 41, 58, 2.0, 1.0, 3.5, -11.2, 7.3, 12, 2, 9),
    (50, 70, 39, 1.0, 0.5, -20.0, 6.25, 0.2, 3, 0, 3),
    (90, 33, 30, 2.0, 0.5, 1.0, 1.0, -37.3, 17, 0, 17),
    (30, 90, 101, 0.5, 2.0, 0.0, 40.0, 0.0, 1, 0, 1),
    (120, 20, 24, 7.0, 1.0, 0.0, 0.0, 0.5, 6, 0, 6),
    (1, 1, 1, 1.0, 1.0, 0.0, 0.0, 0.0, 1, 0, 1),
];

fn geometry(angles: &[f64], s: &Setting) -> Geometry {
    let mut g = Geometry::new(angles.to_vec(), s.0).with_rows(s.8);
    (g.nx, g.ny, g.pixel_size, g.bin_pitch, g.x_offset, g.y_offset) = (s.1, s.2, s.3, s.4, s.5, s.6);
    g.axis[0] += s.7;
    (g.first_row, g.slices) = (s.9, s.10);
    g
}

#[test]
fn adjoint_is_the_transpose_of_forward() {
    let mut worst: f64 = 0.0;
    for (name, angles) in angle_sets() {
        for (k, setting) in SETTINGS.iter().enumerate() {
            let mut g = geometry(&angles, setting);
            if k % 2 == 1 {
                g.order = Order::Sinograms;
            }
            let e = mismatch(&mut best_plan(&g), &g, 10 + k as u64, 0.0);
            worst = worst.max(e);
            assert!(e < 1e-5, "{name}, {setting:?}: {e:.1e}");
        }
    }
    println!("worst {worst:.1e}");
}

#[test]
fn adjoint_is_the_transpose_of_forward_with_an_axis_a_view() {
    for level in Level::available() {
        for setting in &SETTINGS[..4] {
            let mut g = geometry(&half_turn(45), setting);
            g.axis = (0..45).map(|v| g.axis[0] + 5.0 * (0.9 * f64::from(v)).sin()).collect();
            let e = mismatch(&mut plan(&g, level, 2), &g, 3, 0.0);
            assert!(e < 1e-5, "{level:?}, {setting:?}: {e:.1e}");
        }
    }
}

/// A disk's pixel means, projected, against its line integrals: relative to the largest of these, 0.2 % where the ray passes
/// the disk's edge by at least `EDGE` pixels, inside or outside, and 2 % where it grazes.
///
/// Joseph sees the edge a pixel or two wide. A chord s from the centre is 2 sqrt(R^2 - s^2) long, and blurring that raises it
/// at the tangent from 0 to about 0.6 sqrt(2 R): 1.9 % of 2 R at R = 500 pixels (and 7 % at 40, so a small disk cannot do).
/// Further in, each end of the chord is right to a quarter of a step, sqrt(2) pixels at most: 0.07 % for both.
#[test]
fn forward_of_a_disk_is_its_line_integrals() {
    const EDGE: f64 = 2.0;
    const RADIUS: f64 = 500.0;
    let disk = |pixel: f64| {
        let (x, y, r) = (21.3 * pixel, -14.8 * pixel, RADIUS * pixel);
        Ellipse { value: 1.0, centre: [x, y], semi: [r; 2], angle: 0.0 }
    };
    let angles: Vec<f64> = (0..13).map(|v| 2.0 * PI * f64::from(v) / 13.0).chain([PI / 4.0, PI / 2.0, 1.0]).collect();
    for (pixel_size, bin_pitch, rows) in [(1.0, 1.0, 1), (1.0, 0.5, 1), (0.5, 1.0, 1), (2.0, 1.4, 1), (1.0, 1.0, 6)] {
        let bins = (1080.0 * pixel_size / bin_pitch) as usize;
        let mut g = Geometry::new(angles.clone(), bins).with_rows(rows);
        (g.nx, g.ny, g.pixel_size, g.bin_pitch) = (1061, 1060, pixel_size, bin_pitch);
        g.axis = vec![(bins as f64 - 1.0) / 2.0 + 0.37];
        let (mut ct, disk) = (best_plan(&g), disk(pixel_size));
        let volume = pixel_means(&ct, &g, &[disk]);
        let exact = line_integrals(&ct, &g, &[disk]);
        let seen = to_projections(&mut ct, &g, Ct::forward, &volume);
        let (mut at_edge, mut elsewhere): (f64, f64) = (0.0, 0.0);
        for (k, (seen, exact)) in seen.iter().zip(&exact).enumerate() {
            let (sin, cos) = g.angles[k / (g.bins * g.rows)].sin_cos();
            let s = ((k % g.bins) as f64 - g.axis[0]) * bin_pitch - (disk.centre[0] * cos + disk.centre[1] * sin);
            let off = f64::from(seen - exact).abs() / (2.0 * disk.semi[0]);
            let edge = (s.abs() - disk.semi[0]).abs() < EDGE * pixel_size;
            let worst = if edge { &mut at_edge } else { &mut elsewhere };
            *worst = worst.max(off);
        }
        println!("pixels of {pixel_size}, bins of {bin_pitch}: {at_edge:.5} at the edge, {elsewhere:.5} elsewhere");
        assert!(at_edge > 1e-3, "no ray near the edge");
        assert!(at_edge < 0.02, "{pixel_size}, {bin_pitch}: {at_edge:.4} at the edge");
        assert!(elsewhere < 0.002, "{pixel_size}, {bin_pitch}: {elsewhere:.5} elsewhere");
    }
}

/// SART takes one view at a time: the same geometry with only that view gives that view of the whole, and the views' adjoints
/// add up to the whole's.
#[test]
fn one_view_at_a_time() {
    let g = geometry(&half_turn(12), &SETTINGS[3]);
    let mut ct = best_plan(&g);
    let (x, y) = (random(volume_len(&g), 5), random(projection_len(&g), 6));
    let (ax, aty) = (to_projections(&mut ct, &g, Ct::forward, &x), to_volume(&mut ct, &g, Ct::adjoint, &y));
    let frame = g.rows * g.bins;
    let mut sum = vec![0.0; aty.len()];
    for v in 0..g.views() {
        let mut one = g.clone();
        one.angles = vec![g.angles[v]];
        ct.set_geometry(one.clone()).expect("a geometry");
        let part = to_projections(&mut ct, &one, Ct::forward, &x);
        let e = error(&part, &ax[v * frame..][..frame].iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
        // The same sums, perhaps in another order.
        assert!(e < 1e-6, "view {v}: {e:.1e}");
        let back = to_volume(&mut ct, &one, Ct::adjoint, &y[v * frame..][..frame]);
        sum.iter_mut().zip(&back).for_each(|(s, b)| *s += f64::from(*b));
    }
    let e = error(&aty, &sum);
    assert!(e < 1e-6, "sum of the views' adjoints: {e:.1e}");
}

/// SART itself, from nothing: the residual of consistent data falls with every sweep, as it can only where the operators
/// belong together and have the scale that they say. A' of ones is the column sums, A of ones the row sums.
#[test]
fn sart_converges() {
    let g = scene(half_turn(40), 1.0, 1.0);
    let mut ct = best_plan(&g);
    let truth = pixel_means(&ct, &g, &[OBJECT]);
    let data = to_projections(&mut ct, &g, Ct::forward, &truth);
    let mut x = vec![0.0f32; volume_len(&g)];
    let mut residuals = Vec::new();
    for _ in 0..3 {
        // Far apart in turn, as neighbouring views teach little.
        for v in (0..g.views()).map(|v| v * 17 % g.views()) {
            let mut one = g.clone();
            one.angles = vec![g.angles[v]];
            ct.set_geometry(one.clone()).expect("a geometry");
            let row_sums = to_projections(&mut ct, &one, Ct::forward, &vec![1.0; x.len()]);
            let column_sums = to_volume(&mut ct, &one, Ct::adjoint, &vec![1.0; g.bins]);
            let now = to_projections(&mut ct, &one, Ct::forward, &x);
            let ratio = |a: f32, b: f32| if b > 1e-3 { a / b } else { 0.0 };
            let step: Vec<f32> = (0..g.bins).map(|k| ratio(data[v * g.bins + k] - now[k], row_sums[k])).collect();
            let back = to_volume(&mut ct, &one, Ct::adjoint, &step);
            x.iter_mut().zip(back.iter().zip(&column_sums)).for_each(|(x, (b, c))| *x += ratio(*b, *c));
        }
        ct.set_geometry(g.clone()).expect("a geometry");
        let left: Vec<f32> =
            to_projections(&mut ct, &g, Ct::forward, &x).iter().zip(&data).map(|(a, b)| a - b).collect();
        residuals.push((dot(&left, &left) / dot(&data, &data)).sqrt());
    }
    println!("residuals {residuals:?}");
    assert!(
        residuals[0] < 0.05 && residuals[1] < residuals[0] && residuals[2] < residuals[1],
        "residuals {residuals:?}"
    );
    let seen = mean(&x, &well_inside(&g, &OBJECT, 2.0));
    assert!((seen - 1.0).abs() < 0.01, "mean {seen:.4}");
}
