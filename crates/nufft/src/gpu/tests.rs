//! Against sums in f64, point by point and grid point by grid point. Skipped, and said so, where there is no GPU.

use super::sort::{Coordinates, SortedPoints};
use super::spread::Values;
use super::spreading::Spreading;
use isocenter_base::gpu::{Device, DeviceMemory, DeviceReal, Rows, Stream};
use std::sync::Arc;

pub(super) fn gpu() -> Option<Arc<Device>> {
    match Device::open(0) {
        Ok(device) => Some(device),
        Err(e) if std::env::var_os("ISOC_GPU_REQUIRED").is_some() => panic!("{e}"),
        Err(e) => {
            eprintln!("skipped: {}", e.message);
            None
        }
    }
}

/// Start of a width-w function at k, on a grid of n points, and z of [`Spreading::new`].
fn start(k: f64, n: usize, w: usize) -> (i64, f64) {
    // k n in two parts, as exact as k itself.
    let n = n as f64;
    let (high, low) = (k * n, k.mul_add(n, -(k * n)));
    let s = (high - 0.5 * w as f64).ceil();
    (s as i64, 2.0 * ((s - high) - low) + w as f64 - 1.0)
}

/// Uniform numbers in [-1, 1).
pub(super) struct Noise(pub(super) u64);

impl Noise {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// (1 - (2 x / w)^2)^2: a polynomial, exactly, which is flat at its edges, so that a start that rounding moves by one where two
/// are possible makes no difference.
fn coefficients(w: usize) -> Vec<f64> {
    let mut table = vec![0.0; 5 * w];
    for t in 0..w {
        // 2 x / w = a + b z
        let (a, b) = ((2.0 * t as f64 + 1.0 - w as f64) / w as f64, 1.0 / w as f64);
        let q = [-b * b, -2.0 * a * b, 1.0 - a * a];
        for (i, p) in q.into_iter().enumerate() {
            for (j, r) in q.into_iter().enumerate() {
                table[(i + j) * w + t] += p * r;
            }
        }
    }
    table
}

fn phi(t: usize, z: f64, w: usize) -> f64 {
    let x = (2.0 * t as f64 + 1.0 - w as f64 + z) / w as f64;
    (1.0 - x * x).powi(2)
}

/// Points (x, y, z) of one kind.
fn points(kind: &str, count: usize) -> Vec<[f64; 3]> {
    let mut noise = Noise(7);
    let mut direction = [1.0, 0.0, 0.0];
    (0..count)
        .map(|i| match kind {
            "random" => [0; 3].map(|_| 0.5 * noise.next()),
            "radial" => {
                if i % 64 == 0 {
                    direction = [0; 3].map(|_| noise.next());
                    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
                    direction = direction.map(|v| v / length);
                }
                direction.map(|v| v * ((i % 64) as f64 / 63.0 - 0.5))
            }
            "clustered" => [0.21, -0.4999, 0.0].map(|c: f64| (c + 0.004 * noise.next()).max(-0.5)),
            // Within rounding of the grid points of the grids below.
            "ties" => [0, 1, 2].map(|a| {
                let n = [37, 41, 53, 45, 64][(i + a) % 5];
                let k = (i * (a + 3) % n) as f64 / n as f64 - 0.5;
                (k * (1.0 + ((i / 7 % 5) as f64 - 2.0) * f64::EPSILON)).clamp(-0.5, 0.5)
            }),
            // All corners, edges and faces.
            _ => [1, 3, 9].map(|n| (i / n % 3) as f64 * 0.5 - 0.5),
        })
        .collect()
}

/// Place and weight of every grid point that a point touches.
fn touch(starts: &[(i64, f64); 3], dims: usize, shape: [usize; 3], w: usize, mut each: impl FnMut(usize, f64)) {
    let [nz, ny, nx] = shape.map(|n| n as i64);
    let deep = if dims == 3 { w } else { 1 };
    for c in 0..deep {
        let (z, fz) =
            if dims == 3 { ((starts[2].0 + c as i64).rem_euclid(nz), phi(c, starts[2].1, w)) } else { (0, 1.0) };
        for b in 0..w {
            let (y, fy) = ((starts[1].0 + b as i64).rem_euclid(ny), fz * phi(b, starts[1].1, w));
            for a in 0..w {
                let x = (starts[0].0 + a as i64).rem_euclid(nx);
                each(((z * ny + y) * nx + x) as usize, fy * phi(a, starts[0].1, w));
            }
        }
    }
}

pub(super) fn download<T: Copy>(device: &Arc<Device>, memory: &DeviceMemory, stream: &Stream) -> Vec<T> {
    let pinned = isocenter_base::gpu::Pinned::new(device, memory.bytes()).expect("host memory");
    let rows = Rows { address: memory.address(), pitch: memory.bytes(), bytes: memory.bytes(), count: 1 };
    let _current = device.enter().expect("a context");
    // SAFETY: both sides are of this size, and the copy is waited for.
    unsafe {
        rows.download(pinned.data().addr() as u64, memory.bytes(), stream).expect("a copy");
        stream.synchronize().expect("work done");
        std::slice::from_raw_parts(pinned.data().cast::<T>(), memory.bytes() / size_of::<T>()).to_vec()
    }
}

/// Relative l2 error.
pub(super) fn error<T: DeviceReal>(seen: &[T], expected: &[f64]) -> f64 {
    let (mut difference, mut size) = (0.0, 0.0);
    for (a, b) in seen.iter().zip(expected) {
        difference += (a.wide() - b).powi(2);
        size += b * b;
    }
    (difference / size).sqrt()
}

struct Case<'a> {
    kind: &'a str,
    count: usize,
    width: usize,
    shape: [usize; 3],
    coils: usize,
}

/// Both directions against f64, and (`repeats`) the same bits each time.
fn check<T: DeviceReal>(device: &Arc<Device>, case: &Case, repeats: usize) {
    let Case { kind, count, width: w, shape, coils } = *case;
    let name = format!("{} {kind} {count} points, width {w}, grid {shape:?}, {coils} coils", T::PRECISION.suffix());
    let stream = Stream::new(device).expect("a stream");
    let dims = if shape[0] == 1 { 2 } else { 3 };
    let at = points(kind, count);
    let grid_points: usize = shape.iter().product();
    // Values have a gap between coils that must not be touched.
    let value_stride = count + 3;
    let mut noise = Noise(coils as u64 + 1);
    let values: Vec<T> = (0..2 * coils * value_stride).map(|_| T::of(noise.next())).collect();
    let image: Vec<T> = (0..2 * coils * grid_points).map(|_| T::of(noise.next())).collect();

    let mut spread = vec![0.0; 2 * coils * grid_points];
    let mut meeting = vec![0.0; grid_points];
    let mut sampled: Vec<f64> = values.iter().map(|v| v.wide()).collect();
    for (m, p) in at.iter().enumerate() {
        let starts = [0, 1, 2].map(|a| start(p[a], shape[2 - a], w));
        for c in 0..coils {
            let from = 2 * (c * value_stride + m);
            let (re, im) = (values[from].wide(), values[from + 1].wide());
            let mut sum = [0.0; 2];
            touch(&starts, dims, shape, w, |place, weight| {
                let to = 2 * (c * grid_points + place);
                if c == 0 {
                    meeting[place] += 1.0;
                }
                spread[to] += weight * re;
                spread[to + 1] += weight * im;
                sum[0] += weight * image[to].wide();
                sum[1] += weight * image[to + 1].wide();
            });
            sampled[from..from + 2].copy_from_slice(&sum);
        }
    }

    let largest = meeting.into_iter().fold(0.0, f64::max);

    let spreading = Spreading::<T>::new(device, w, &coefficients(w), shape).expect("a spreading function");
    let upload = |values: &[T]| DeviceMemory::from_slice(device, values).expect("memory");
    let coordinates = DeviceMemory::from_slice(device, &at).expect("memory");
    let axes = [0, 1, 2].map(|a| coordinates.address() + 8 * a as u64);
    let coordinates = Coordinates { axes, stride: 3, count };
    let (values_there, image_there) = (upload(&values), upload(&image));
    let mut first: Option<(Vec<T>, Vec<T>)> = None;
    for repeat in 0..repeats {
        // What was there before must not matter.
        let grid = upload(&vec![T::of(f64::NAN); 2 * coils * grid_points]);
        let samples = upload(&values);
        // SAFETY: all memory has the sizes that the calls ask for, and lives until `download` has waited.
        unsafe {
            let points = SortedPoints::new(&spreading, &coordinates, &stream).expect("points");
            // Room for two coils (groups of coils) at a time, or for a slab, alternately.
            let (minimum, all) = spreading.tile_bytes(&points);
            let tiles = DeviceMemory::new(device, if repeat % 2 == 0 { 2 * all } else { minimum }).expect("memory");
            let values = |memory: &DeviceMemory| Values { address: memory.address(), coil_stride: value_stride };
            let there = values(&values_there);
            spreading.spread(&points, there, grid.address(), coils, &tiles, &stream).expect("spreading");
            let there = values(&samples);
            spreading.interpolate(&points, image_there.address(), there, coils, &stream).expect("interpolation");
            stream.synchronize().expect("work done");
        }
        let seen = (download::<T>(device, &grid, &stream), download::<T>(device, &samples, &stream));
        let errors = [error(&seen.0, &spread), error(&seen.1, &sampled)];
        // Weights are rounded a dozen times, which adds up as a random walk: 30 units of round-off. A running sum of n random
        // numbers, rounded at every step, is off by sqrt(n / 2) units of its usual size, here and (f64) in the expected sums;
        // where all points fall together their sum may well be a quarter of that.
        let unit = if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0;
        assert!(
            errors.iter().all(|e| *e < (30.0 + 8.0 * (0.5 * largest).sqrt()) * unit),
            "{name}: {:.1e} {:.1e}",
            errors[0],
            errors[1]
        );
        match &first {
            None => first = Some(seen),
            Some(first) => assert!(*first == seen, "{name}: other bits"),
        }
    }
}

#[test]
fn widths_and_shapes() {
    let Some(device) = gpu() else { return };
    for width in 1..=16 {
        for (shape, count) in [([34, 41, 53], 2000), ([1, 45, 64], 3000), ([32, 16, 40], 500)] {
            let case = Case { kind: "random", count, width, shape, coils: 1 };
            check::<f32>(&device, &case, 2);
            check::<f64>(&device, &case, 2);
        }
    }
}

#[test]
fn kinds_of_points() {
    let Some(device) = gpu() else { return };
    for (kind, count) in
        [("radial", 6400), ("ties", 3000), ("clustered", 6000), ("edges", 270), ("random", 1), ("edges", 27)]
    {
        for width in [6, 7, 8, 10] {
            for shape in [[37, 41, 53], [1, 45, 64], [64, 64, 64]] {
                let case = Case { kind, count, width, shape, coils: 1 };
                check::<f32>(&device, &case, 1);
                check::<f64>(&device, &case, 1);
            }
        }
    }
}

/// As small as a grid may be: tiles then reach round it, on to themselves.
#[test]
fn grids_of_a_width() {
    let Some(device) = gpu() else { return };
    for width in [1, 2, 5, 7, 8, 9, 16] {
        let n = width;
        for shape in [[n.max(2), n, n], [n + 1, n.max(3), n + 2], [1, n, n + 1], [n.max(2), 2 * n, 3 * n]] {
            check::<f64>(&device, &Case { kind: "random", count: 300, width, shape, coils: 2 }, 1);
            check::<f32>(&device, &Case { kind: "random", count: 300, width, shape, coils: 1 }, 1);
        }
    }
}

#[test]
fn coils() {
    let Some(device) = gpu() else { return };
    for coils in [2, 3, 7, 8, 9, 33] {
        for (width, shape) in [(7, [20, 34, 46]), (6, [1, 96, 80]), (12, [1, 64, 48])] {
            check::<f32>(&device, &Case { kind: "radial", count: 1280, width, shape, coils }, 1);
            check::<f64>(&device, &Case { kind: "radial", count: 1280, width, shape, coils }, 1);
        }
    }
}

#[test]
fn the_same_bits_every_time() {
    let Some(device) = gpu() else { return };
    for (width, shape) in [(7, [90, 96, 96]), (6, [1, 128, 128]), (8, [64, 64, 64])] {
        check::<f32>(&device, &Case { kind: "radial", count: 20_000, width, shape, coils: 1 }, 10);
    }
}

#[test]
fn points_out_of_range_are_named() {
    let Some(device) = gpu() else { return };
    let stream = Stream::new(&device).expect("a stream");
    let spreading = Spreading::<f32>::new(&device, 6, &coefficients(6), [32, 32, 32]).expect("a spreading function");
    for wrong in [0.500_000_1, -0.6, f64::NAN, f64::INFINITY] {
        let mut at = vec![0.25; 3 * 1000];
        at[3 * 321 + 1] = wrong;
        at[3 * 900] = wrong;
        let memory = DeviceMemory::from_slice(&device, &at).expect("memory");
        let axes = [0, 8, 16].map(|a| memory.address() + a);
        // SAFETY: the memory holds so many points.
        let points = unsafe { SortedPoints::new(&spreading, &Coordinates { axes, stride: 3, count: 1000 }, &stream) };
        let message = points.expect_err("a wrong point").message;
        assert!(message.contains("point 321 "), "{message}");
    }
}
