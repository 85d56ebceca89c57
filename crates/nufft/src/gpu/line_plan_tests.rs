//! Against sums in f64. Skipped, and said so, where there is no GPU.

use super::super::line_choice::LineChoice;
use super::super::line_lists::LineLists;
use super::super::tests::{Noise, download, error, gpu};
use super::*;
use crate::course::Course;
use std::f64::consts::TAU;

/// Spokes in golden angles, as they are given: from end to end of k-space.
fn steps(lines: usize, course: Course) -> Vec<[f64; 2]> {
    let length = 0.5 / course.farthest();
    (0..lines).map(|k| (2.4 * k as f64).sin_cos()).map(|(sin, cos)| [length * cos, length * sin]).collect()
}

/// Sums in f64, of type 2 and of type 1, for each image.
fn sums(shape: [usize; 2], at: &[[f64; 2]], images: &[f32], values: &[f32]) -> [Vec<f64>; 2] {
    let [ny, nx] = shape;
    let (pixels, points) = (2 * ny * nx, 2 * at.len());
    let (mut seen, mut back) = (vec![0.0; values.len()], vec![0.0; images.len()]);
    for (m, [kx, ky]) in at.iter().enumerate() {
        for j in 0..ny * nx {
            let [x, y] = [(j % nx) as f64 - (nx / 2) as f64, (j / nx) as f64 - (ny / 2) as f64];
            let (sin, cos) = (TAU * (kx * x + ky * y)).sin_cos();
            for image in 0..images.len() / pixels {
                let (p, v) = (image * pixels + 2 * j, image * points + 2 * m);
                let [a, b, re, im] = [images[p], images[p + 1], values[v], values[v + 1]].map(f64::from);
                seen[v] += a * cos + b * sin;
                seen[v + 1] += b * cos - a * sin;
                back[p] += re * cos - im * sin;
                back[p + 1] += re * sin + im * cos;
            }
        }
    }
    [seen, back]
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

/// Both ways against f64, each other's transpose, and the same bits again.
fn check(device: &Arc<Device>, shape: [usize; 2], course: Course, lines: usize, count: usize, tolerance: f64) {
    let case = format!("{shape:?}, {lines} lines, {course:?}, {count} images, {tolerance:e}");
    let steps = steps(lines, course);
    let weight = |r: usize| r as f64 - course.twice_centre as f64 / 2.0;
    let at: Vec<_> = steps.iter().flat_map(|s| (0..course.points).map(move |r| s.map(|d| d * weight(r)))).collect();
    let choice = LineChoice::new(shape, at.len() as u64, tolerance).expect("a spreading function");
    let lists = LineLists::new(&steps, course, &choice).expect("lists");
    let plan = LinePlan::new(device, LineSizes { shape, samples: at.len(), choice, lists }).expect("a plan");
    let mut noise = Noise(9);
    let mut random = |len: usize| (0..len).map(|_| noise.next() as f32).collect::<Vec<f32>>();
    // Values have a gap between images that must not be touched.
    let stride = at.len() + 3;
    let (images, values) = (random(2 * count * plan.sizes().pixels()), random(2 * count * stride));
    let close = |all: &[f32]| all.chunks(2 * stride).flat_map(|v| v[..2 * at.len()].to_vec()).collect::<Vec<_>>();
    let expected = sums(shape, &at, &images, &close(&values));
    let (stream, pool) = (Stream::new(device).expect("a stream"), Pool::new(device));
    let upload = |values: &[f32]| DeviceMemory::from_slice(device, values).expect("memory");
    let (images_there, values_there) = (upload(&images), upload(&values));
    let _current = device.enter().expect("a context");
    let run = || {
        let (seen, back) = (upload(&values), upload(&vec![f32::NAN; images.len()]));
        let workspace = plan.workspace(&pool, count).expect("memory");
        let of = |memory: &DeviceMemory| Values { address: memory.address(), coil_stride: stride };
        // SAFETY: all memory has the plan's sizes, and lives until `download` has waited.
        unsafe {
            plan.forward(images_there.address(), of(&seen), count, &workspace, &stream).expect("forward");
            plan.adjoint(of(&values_there), back.address(), count, &workspace, &stream).expect("adjoint");
        }
        (download::<f32>(device, &seen, &stream), download::<f32>(device, &back, &stream))
    };
    let (seen, back) = run();
    let again = run();
    assert!(seen == again.0 && back == again.1, "{case}: other bits");
    let gaps = |all: &[f32]| all.chunks(2 * stride).flat_map(|v| v[2 * at.len()..].to_vec()).collect::<Vec<_>>();
    assert_eq!(gaps(&seen), gaps(&values), "{case}: gaps");
    let (seen, values) = (close(&seen), close(&values));
    let errors = [error(&seen, &expected[0]), error(&back, &expected[1])];
    println!("{case}: {:.1e} {:.1e}", errors[0], errors[1]);
    // The tolerance is an average over places between grid points; of few places it may be twice as much.
    let allowed = tolerance * if lines <= 2 { 2.0 } else { 1.0 };
    assert!(errors.iter().all(|e| *e <= allowed), "{case}: {errors:?}");
    // Both are off by rounding from a pair that is exact: sums of some hundred terms, and as many again in transforms.
    let norm = |v: &[f32]| dot(v, v).sqrt();
    let apart = (dot(&seen, &values) - dot(&images, &back)).abs() / (norm(&seen) * norm(&values));
    assert!(apart < 1e-5, "{case}: {apart:.1e} from adjoint");
}

/// With one end, with both, the centre between two samples; from the origin on, and towards it.
const COURSES: [(usize, usize); 5] = [(32, 32), (33, 32), (32, 31), (24, 0), (24, 40)];

#[test]
fn images_of_every_number() {
    let Some(device) = gpu() else { return };
    for count in [1, 2, 3, 8, 25, 33, 64] {
        for (points, twice_centre) in COURSES {
            check(&device, [20, 23], Course { points, twice_centre }, 37, count, 1e-5);
        }
    }
}

/// Small and odd sides, tiles of many lines, lines that are one, and steps of nothing.
#[test]
fn shapes_and_tolerances() {
    let Some(device) = gpu() else { return };
    for (points, twice_centre) in COURSES {
        let course = Course { points, twice_centre };
        for (shape, lines) in [([32, 32], 300), ([67, 41], 50), ([1, 11], 5), ([40, 2], 1), ([5, 5], 2)] {
            for tolerance in [1e-2, 1e-3, 1e-4, 1e-6] {
                check(&device, shape, course, lines, 4, tolerance);
            }
        }
    }
}
