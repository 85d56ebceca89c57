//! Exact sums on a GPU against f64 sums on the CPU.

use super::direct::{Bounds, Direct, DirectArrays, DirectProblem, Direction, Sines};
use super::separable::{Problem, SeparableArrays};
use super::separable_adjoint::Adjoint;
use super::separable_forward::Forward;
use isocenter_base::gpu::{Device, DeviceMemory, Pinned, Precision, Rows, Stream};
use std::f64::consts::PI;
use std::io::Write;
use std::sync::{Arc, Once};

type Complex = [f64; 2];

/// None where there is no GPU, which it says.
fn device() -> Option<Arc<Device>> {
    match Device::open(0) {
        Ok(device) => Some(device),
        Err(e) if std::env::var_os("ISOC_GPU_REQUIRED").is_some() => panic!("{e}"),
        Err(e) => {
            // Past the test harness, which keeps what passing tests print; once for all of them.
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                let _ = writeln!(std::io::stderr(), "skipped, all exact sums on a GPU: {}", e.message);
            });
            None
        }
    }
}

/// Uniform in -1/2 to 1/2, the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64) / (1u64 << 53) as f64 - 0.5
    }

    fn list(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.next()).collect()
    }

    /// Complex numbers of very different sizes, as k-space has, that `precision` holds.
    fn complex(&mut self, count: usize, precision: Precision) -> Vec<Complex> {
        let round = |v: f64| if precision == Precision::F32 { f64::from(v as f32) } else { v };
        (0..count)
            .map(|_| {
                let size = 10f64.powf(4.0 * self.next());
                [round(size * self.next()), round(size * self.next())]
            })
            .collect()
    }
}

fn upload(device: &Arc<Device>, values: &[f64], precision: Precision) -> DeviceMemory {
    match precision {
        Precision::F32 => {
            DeviceMemory::from_slice(device, &values.iter().map(|v| *v as f32).collect::<Vec<_>>()).unwrap()
        }
        Precision::F64 => DeviceMemory::from_slice(device, values).unwrap(),
    }
}

fn download(device: &Arc<Device>, memory: &DeviceMemory, precision: Precision) -> Vec<Complex> {
    let (stream, count) = (Stream::new(device).unwrap(), memory.bytes());
    let pinned = Pinned::new(device, count).unwrap();
    let rows = Rows { address: memory.address(), pitch: count, bytes: count, count: 1 };
    let _current = device.enter().unwrap();
    // SAFETY: both sides hold so many bytes, and live until the copy is done.
    let bytes = unsafe {
        rows.download(pinned.data() as u64, count, &stream).unwrap();
        stream.synchronize().unwrap();
        std::slice::from_raw_parts(pinned.data(), count)
    };
    let real: Vec<f64> = match precision {
        Precision::F32 => bytes.chunks_exact(4).map(|b| f64::from(f32::from_ne_bytes(b.try_into().unwrap()))).collect(),
        Precision::F64 => bytes.chunks_exact(8).map(|b| f64::from_ne_bytes(b.try_into().unwrap())).collect(),
    };
    real.chunks_exact(2).map(|c| [c[0], c[1]]).collect()
}

/// sum of v exp(sign 2 pi i (a.b)).
fn reference(a: &[f64; 4], b: &[[f64; 4]], values: &[Complex], sign: f64) -> Complex {
    let mut sum = [0.0; 2];
    for (b, v) in b.iter().zip(values) {
        let phase: f64 = a.iter().zip(b).map(|(x, k)| x * k).sum();
        let (s, c) = (sign * 2.0 * PI * (phase - phase.round())).sin_cos();
        sum[0] += v[0] * c - v[1] * s;
        sum[1] += v[0] * s + v[1] * c;
    }
    sum
}

/// l2 norm of the difference from what is expected, relative to it, over the elements `which`.
fn error(found: &[Complex], which: &[usize], expected: impl Fn(usize) -> Complex) -> f64 {
    let (mut difference, mut norm) = (0.0, 0.0);
    for n in which {
        let e = expected(*n);
        difference += (found[*n][0] - e[0]).powi(2) + (found[*n][1] - e[1]).powi(2);
        norm += e[0].powi(2) + e[1].powi(2);
    }
    (difference / norm).sqrt()
}

/// At most `maximum` indices, evenly spread.
fn some(count: usize, maximum: usize) -> Vec<usize> {
    let n = count.min(maximum);
    (0..n).map(|i| i * count / n + (count / n - 1) * (i % 2)).collect()
}

fn place(voxels: [usize; 3], at: usize) -> [f64; 4] {
    let j = [at % voxels[0], at / voxels[0] % voxels[1], at / voxels[0] / voxels[1]];
    let p: [f64; 3] = std::array::from_fn(|a| j[a] as f64 - (voxels[a] / 2) as f64);
    [p[0], p[1], p[2], 0.0]
}

/// A point of so many dimensions.
fn widen(points: &[f64], dims: usize, fourth: &[f64]) -> Vec<[f64; 4]> {
    let point = |(n, k): (usize, &[f64])| {
        let mut p = [0.0; 4];
        p[..dims].copy_from_slice(k);
        p[3] = fourth.get(n).copied().unwrap_or(0.0);
        p
    };
    points.chunks_exact(dims).enumerate().map(point).collect()
}

fn flat(values: &[Complex]) -> Vec<f64> {
    values.concat()
}

fn weigh(values: &[Complex], weights: &[f64]) -> Vec<Complex> {
    values.iter().zip(weights).map(|(v, w)| [v[0] * w, v[1] * w]).collect()
}

/// Errors of both directions of the separable sums, the greater of the coils'.
fn separable(device: &Arc<Device>, problem: Problem, coils: usize, checked: usize) -> [f64; 2] {
    let Problem { voxels, dims, samples, precision } = problem;
    let mut random = Random(7);
    let mut k = random.list(samples * dims);
    // Both ends of the range.
    for (n, end) in [0.5, -0.5].into_iter().enumerate().take(samples) {
        k[n * dims..(n + 1) * dims].fill(end);
    }
    let count: usize = voxels.iter().product();
    let weights: Vec<f64> = random.list(samples).into_iter().map(|w| f64::from((w + 1.0) as f32)).collect();
    let data = random.complex(coils * samples, precision);
    let image = random.complex(coils * count, precision);
    let [point_memory, weight_memory] =
        [(&k, Precision::F64), (&weights, precision)].map(|(v, p)| upload(device, v, p));
    let [data_memory, image_memory] = [&data, &image].map(|v| upload(device, &flat(v), precision));
    let [image_out, data_out] =
        [count, samples].map(|n| DeviceMemory::new(device, coils * n * precision.complex()).unwrap());
    let adjoint = Adjoint::new(device, &problem).unwrap();
    let forward = Forward::new(device, &problem).unwrap();
    let workspace = DeviceMemory::new(device, adjoint.workspace().max(forward.workspace())).unwrap();
    let stream = Stream::new(device).unwrap();
    let points = point_memory.address();
    let to = SeparableArrays {
        points,
        weights: weight_memory.address(),
        data: data_memory.address(),
        image: image_out.address(),
        coils,
    };
    let from = SeparableArrays { points, weights: 0, image: image_memory.address(), data: data_out.address(), coils };
    let _current = device.enter().unwrap();
    // SAFETY: sizes are the problem's, and all memory outlives the wait.
    unsafe {
        adjoint.run(&to, workspace.address(), &stream).unwrap();
        forward.run(&from, workspace.address(), &stream).unwrap();
    }
    stream.synchronize().unwrap();
    let [image_found, data_found] = [&image_out, &data_out].map(|m| download(device, m, precision));
    let k = widen(&k, dims, &[]);
    let places: Vec<[f64; 4]> = (0..count).map(|at| place(voxels, at)).collect();
    let mut errors = [0.0f64; 2];
    for coil in 0..coils {
        let weighted = weigh(&data[coil * samples..][..samples], &weights);
        let e =
            error(&image_found[coil * count..], &some(count, checked), |r| reference(&places[r], &k, &weighted, 1.0));
        errors[0] = errors[0].max(e);
        let e = error(&data_found[coil * samples..], &some(samples, checked), |m| {
            reference(&k[m], &places, &image[coil * count..][..count], -1.0)
        });
        errors[1] = errors[1].max(e);
    }
    errors
}

/// Errors of both directions of the direct sums.
fn direct(
    device: &Arc<Device>,
    (voxels, samples, dims, coils): (usize, usize, usize, usize),
    field: bool,
    (precision, sines): (Precision, Sines),
    checked: usize,
) -> [f64; 2] {
    let mut random = Random(11);
    let scaled = |list: Vec<f64>, scale: f64| list.into_iter().map(|v| v * scale).collect::<Vec<f64>>();
    let positions = scaled(random.list(voxels * dims), 128.0);
    let k = random.list(samples * dims);
    let map = scaled(random.list(voxels), 400.0);
    let times: Vec<f64> = random.list(samples).into_iter().map(|t| 0.01 * (t + 0.5)).collect();
    let weights: Vec<f64> = random.list(samples).into_iter().map(|w| f64::from((w + 1.0) as f32)).collect();
    let data = random.complex(coils * samples, precision);
    let image = random.complex(coils * voxels, precision);
    let bounds = Bounds { positions: [64.0; 3], points: [0.5; 3], field: 200.0, times: 0.01 };
    let double = |v: &Vec<f64>| upload(device, v, Precision::F64);
    let [positions_memory, points, map_memory, times_memory] = [&positions, &k, &map, &times].map(double);
    let weight_memory = upload(device, &weights, precision);
    let stream = Stream::new(device).unwrap();
    let (a, b) = if field {
        (widen(&positions, dims, &map), widen(&k, dims, &times))
    } else {
        (widen(&positions, dims, &[]), widen(&k, dims, &[]))
    };
    [Direction::Adjoint, Direction::Forward].map(|direction| {
        let adjoint = direction == Direction::Adjoint;
        let problem = DirectProblem { voxels, samples, dims, bounds, field, direction, precision, sines };
        let plan = Direct::new(device, &problem).unwrap();
        let workspace = DeviceMemory::new(device, plan.workspace()).unwrap();
        let (values, sources, targets) = if adjoint { (&data, samples, voxels) } else { (&image, voxels, samples) };
        let input = upload(device, &flat(values), precision);
        let output = DeviceMemory::new(device, coils * targets * precision.complex()).unwrap();
        let arrays = DirectArrays {
            positions: positions_memory.address(),
            points: points.address(),
            field: map_memory.address(),
            times: times_memory.address(),
            weights: weight_memory.address(),
            input: input.address(),
            output: output.address(),
            coils,
        };
        let _current = device.enter().unwrap();
        // SAFETY: sizes are the problem's, and all memory outlives the wait.
        unsafe { plan.run(&arrays, workspace.address(), &stream).unwrap() };
        stream.synchronize().unwrap();
        let found = download(device, &output, precision);
        let mut worst = 0.0f64;
        for coil in 0..coils {
            let values = &values[coil * sources..][..sources];
            let e = if adjoint {
                let weighted = weigh(values, &weights);
                error(&found[coil * targets..], &some(targets, checked), |n| reference(&a[n], &b, &weighted, 1.0))
            } else {
                error(&found[coil * targets..], &some(targets, checked), |n| reference(&b[n], &a, values, -1.0))
            };
            worst = worst.max(e);
        }
        worst
    })
}

/// f32, separable: factors and f16 parts are good to 2^-24 and 2^-23, sums in tensor cores lose up to 48 times 2^-24 before they are
/// moved: 3e-6 at worst. f32, direct: phases of up to 24 cycles, 24 times 2^-24 times 2 pi = 9e-6 at worst, but a quarter of that
/// on average; hardware sines add 5e-7. f64: phases to 2^-53 times 2 pi times 96 cycles, 7e-14 at worst.
fn tolerance(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => 3e-6,
        Precision::F64 => 1e-13,
    }
}

#[test]
fn separable_sums_match_the_definition() {
    let Some(device) = device() else { return };
    for precision in [Precision::F32, Precision::F64] {
        for (voxels, dims, samples, coils) in [
            ([1, 1, 1], 2, 1, 1),
            ([1, 1, 1], 3, 5, 2),
            ([2, 3, 1], 2, 17, 3),
            ([7, 5, 3], 3, 100, 1),
            ([33, 1, 4], 3, 300, 1),
            ([40, 37, 1], 2, 5000, 2),
            ([1, 9, 65], 3, 999, 1),
            ([16, 64, 64], 3, 3000, 1),
            ([131, 20, 18], 3, 2049, 1),
        ] {
            let problem = Problem { voxels, dims, samples, precision };
            let errors = separable(&device, problem, coils, 300);
            assert!(errors.iter().all(|e| *e < tolerance(precision)), "{problem:?}: {errors:?}");
        }
    }
}

#[test]
fn direct_sums_match_the_definition() {
    let Some(device) = device() else { return };
    for kind in [(Precision::F32, Sines::Precise), (Precision::F32, Sines::Hardware), (Precision::F64, Sines::Precise)]
    {
        for field in [false, true] {
            // The last two have targets in plenty: those of a block are close together.
            for shape in [
                (1, 1, 3, 1),
                (7, 300, 2, 1),
                (3000, 257, 3, 1),
                (2000, 1500, 3, 6),
                (200_000, 257, 3, 1),
                (300, 200_000, 3, 5),
            ] {
                let errors = direct(&device, shape, field, kind, 30);
                assert!(errors.iter().all(|e| *e < tolerance(kind.0)), "{shape:?} {field} {kind:?}: {errors:?}");
            }
        }
    }
}

#[test]
fn repeated_sums_are_the_same() {
    let Some(device) = device() else { return };
    let problem = Problem { voxels: [20, 24, 10], dims: 3, samples: 5000, precision: Precision::F32 };
    // The errors' norms over all elements stand for their bits.
    let run = || {
        let kind = (Precision::F32, Sines::Hardware);
        (separable(&device, problem, 1, usize::MAX), direct(&device, (3000, 2000, 3, 1), true, kind, usize::MAX))
    };
    let first = run();
    for _ in 0..3 {
        assert_eq!(first, run());
    }
}
