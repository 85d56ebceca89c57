//! The spectrum against sums in f64, and what is refused.

use super::*;
use std::f64::consts::{PI, TAU};

/// Uniform numbers in [-1, 1).
pub(crate) fn noise(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2) + 1;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) as f32
    };
    (0..len).map(|_| next()).collect()
}

/// Views all over, not evenly.
fn uneven(views: usize) -> Vec<f64> {
    (0..views).map(|v| 0.3 + 2.0 * PI * (v as f64 * 0.618_034).fract() + 0.01 * v as f64).collect()
}

/// All of the slice falls on the detector, and not more than that.
fn scan(angles: Vec<f64>, [ny, nx]: [usize; 2], ratio: f64, [y_offset, x_offset]: [f64; 2]) -> Geometry {
    let room = ratio * ((ny as f64).hypot(nx as f64) + 2.0 * x_offset.hypot(y_offset));
    let g = Geometry::new(angles, room.ceil() as usize + 1);
    // Units other than bins.
    Geometry { ny, nx, pixel_size: 0.7 * ratio, bin_pitch: 0.7, x_offset, y_offset, ..g }
}

/// Odd and even sides, longer ones along either axis; one pixel, one row; pixels of less than a bin and of several.
pub(crate) fn scans() -> Vec<Geometry> {
    let none = [0.0; 2];
    vec![
        scan(uneven(20), [16, 16], 1.0, none),
        scan(uneven(13), [9, 24], 1.0, [3.25, -5.5]),
        scan((0..12).map(|v| PI * f64::from(v) / 12.0).collect(), [21, 10], 0.6, [0.5, 0.0]),
        scan(uneven(15), [14, 11], 2.0, none),
        scan(uneven(9), [7, 8], 3.7, [-1.0, 2.0]),
        scan(vec![0.9], [12, 13], 1.0, none),
        scan(vec![0.0], [8, 8], 1.5, none),
        scan(uneven(5), [1, 17], 1.0, none),
        scan(uneven(5), [17, 1], 1.25, none),
        scan(uneven(3), [1, 1], 1.0, none),
    ]
}

pub(crate) fn reading(g: &Geometry) -> BandLimited {
    BandLimited::new(g, 1e-6).expect("a period")
}

pub(crate) fn toeplitz(g: &Geometry) -> Toeplitz {
    Toeplitz::new(g, reading(g), Level::detect()).expect("a convolution")
}

/// h at a difference (y, x) of pixels, by its definition.
fn kernel(g: &Geometry, b: BandLimited, [y, x]: [f64; 2]) -> f64 {
    let of_view = |v: usize| {
        let ([sx, sy], last) = (b.spoke(g, v).step, b.last(g, v) as i32);
        let weight = |f: i32| if f.abs() == last { 0.25 } else { 1.0 };
        (-last..=last).map(|f| weight(f) * (TAU * f64::from(f) * (x * sx + y * sy)).cos()).sum::<f64>()
    };
    let scale = (g.pixel_size * g.ratio()).powi(2) / b.period as f64;
    scale * (0..g.views()).map(of_view).sum::<f64>()
}

/// h at all differences of pixels, those of rows -(ny - 1) first.
fn kernels(g: &Geometry) -> Vec<f64> {
    let (b, [y, x]) = (reading(g), [g.ny as i32 - 1, g.nx as i32 - 1]);
    let row = |dy: i32| (-x..=x).map(move |dx| [f64::from(dy), f64::from(dx)]);
    (-y..=y).flat_map(row).map(|d| kernel(g, b, d)).collect()
}

/// The convolution of a slice by its definition.
pub(crate) fn product(g: &Geometry, slice: &[f32]) -> Vec<f64> {
    let (h, nx, ny) = (kernels(g), g.nx, g.ny);
    let at = |n: usize, m: usize| h[(n / nx + ny - 1 - m / nx) * (2 * nx - 1) + n % nx + nx - 1 - m % nx];
    (0..ny * nx).map(|n| slice.iter().enumerate().map(|(m, x)| at(n, m) * f64::from(*x)).sum()).collect()
}

/// Of the second, in the l2 norm.
pub(crate) fn apart(seen: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    let off: f64 = seen.iter().zip(expected).map(|(s, e)| (f64::from(*s) - e).powi(2)).sum();
    (off / expected.iter().map(|e| e * e).sum::<f64>()).sqrt()
}

/// Back from the spectrum to h, at all differences. The transform errs by its tolerance, and values rounded to f32 by 3e-8 of their size.
#[test]
fn the_spectrum_is_of_h() {
    for g in scans() {
        let Toeplitz { shape, spectrum, scale } = toeplitz(&g);
        let [gy, gx] = shape.grid;
        let all = |ky: usize, kx: usize| {
            let [ky, kx] = if kx <= gx / 2 { [ky, kx] } else { [(gy - ky) % gy, gx - kx] };
            f64::from(spectrum[kx * gy + ky])
        };
        let turn = |k: usize, d: i32, n: usize| TAU * ((k as i32 * d).rem_euclid(n as i32)) as f64 / n as f64;
        let h = |[dy, dx]: [i32; 2]| {
            let row = |ky: usize| (0..gx).map(move |kx| (ky, kx));
            let terms = (0..gy).flat_map(row).map(|(ky, kx)| all(ky, kx) * (turn(ky, dy, gy) + turn(kx, dx, gx)).cos());
            scale * terms.sum::<f64>()
        };
        let [y, x] = [g.ny as i32 - 1, g.nx as i32 - 1];
        let seen: Vec<f32> = (-y..=y).flat_map(|dy| (-x..=x).map(move |dx| [dy, dx])).map(|d| h(d) as f32).collect();
        let error = apart(&seen, &kernels(&g));
        assert!(error < 1.5e-7, "{error:.1e} of {g:?}");
    }
}

#[test]
fn the_memory_is_what_it_takes() {
    let g = &scans()[1];
    let [held, making] = Toeplitz::memory(g, reading(g), Level::detect()).expect("a size");
    assert_eq!(held, 4 * toeplitz(g).spectrum.len() as u64);
    // An image of complex f64 at least.
    assert!(making > (16 * g.ny * 2 * g.nx) as u64, "{making}");
}

#[test]
fn truncated_slices_are_refused() {
    let angles: Vec<f64> = (0..4).map(|v| PI * f64::from(v) / 4.0).collect();
    let g = Geometry::new(angles, 64);
    let check = |g: &Geometry, radius| check_inside(g, radius).map_err(|e| e.message);
    // Corners, seen at 45 degrees: 31.5 sqrt(2) from the axis, where the detector has 32.
    let message = check(&g, None).expect_err("corners are outside");
    assert!(
        message.contains("view 1 ") && message.contains("12.55 bins") && message.contains("32.00 pixels"),
        "{message}"
    );
    assert_eq!(check(&g, Some(32.0)), Ok(()));
    assert!(check(&g, Some(32.1)).is_err());
    // Half the pixels' side: twice as many fit.
    assert_eq!(check(&Geometry { pixel_size: 0.5, ..g.clone() }, None), Ok(()));
    // The axis to one side.
    let moved = Geometry { axis: vec![33.5], ..g.clone() };
    let message = check(&moved, Some(32.0)).expect_err("the axis is not in the middle");
    assert!(
        message.contains("view 0 ") && message.contains("1.50 bins") && message.contains("30.00 pixels"),
        "{message}"
    );
    assert_eq!(check(&moved, Some(30.0)), Ok(()));
    let far = Geometry { x_offset: 100.0, ..g };
    assert!(check(&far, Some(1.0)).is_err_and(|m| m.contains("middle does not")));
}
