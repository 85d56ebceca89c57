//! The nonuniform Fourier transforms alone: `cargo bench --bench nufft`, or with a part of a name, `-- adjoint/128`.
//!
//! Names are `transform/shape x coils/points/type/tolerance/level/threads`. Points lie on spokes of 256 in random directions; they
//! are sorted outside the timing, except in `set_points`.

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use isocenter::cpu::level::Level;
use isocenter::nufft::{Plan, Scalar, Settings};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rayon::{ThreadPool, ThreadPoolBuilder};
use rustfft::num_complex::Complex;
use std::thread::available_parallelism;
use std::time::Duration;

const SPOKE: usize = 256;

#[derive(Clone, Copy, PartialEq)]
enum Transform {
    SetPoints,
    Adjoint,
    Forward,
}

/// One line of the table.
#[derive(Clone, Copy)]
struct Case {
    shape: [usize; 3],
    coils: usize,
    samples: usize,
    tolerance: f64,
    level: Level,
    threads: usize,
}

impl Case {
    fn name<T>(&self) -> String {
        let Case { shape: [z, y, x], coils, samples, tolerance, level, threads } = *self;
        let element = std::any::type_name::<T>();
        format!("{z}x{y}x{x}x{coils}/{samples}/{element}/{tolerance:e}/{}/{threads}", level.name())
    }

    /// In whole spokes; z, y, x.
    fn points(&self) -> Vec<[f64; 3]> {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut points = Vec::new();
        while points.len() < self.samples {
            let flat = self.shape[0] == 1;
            let d: [f64; 3] = std::array::from_fn(|a| if flat && a == 0 { 0.0 } else { rng.random_range(-1.0..1.0) });
            let length = d.iter().map(|v| v * v).sum::<f64>().sqrt();
            if (0.01..1.0).contains(&length) {
                points.extend((0..SPOKE).map(|s| d.map(|v| v / length * (s as f64 / SPOKE as f64 - 0.5))));
            }
        }
        points
    }
}

/// A plan with its data.
struct Setup<T: Scalar> {
    pool: ThreadPool,
    plan: Plan<T>,
    points: Vec<[f64; 3]>,
    values: Vec<Complex<T>>,
    images: Vec<Complex<T>>,
}

impl<T: Scalar> Setup<T> {
    fn new(case: &Case) -> Self {
        let pool = ThreadPoolBuilder::new().num_threads(case.threads).build().expect("threads");
        let points = case.points();
        let settings = Settings { level: case.level, ..Settings::new(case.shape, case.tolerance, points.len()) };
        let plan = Plan::new(settings).expect("a plan");
        let mut rng = SmallRng::seed_from_u64(2);
        let mut random = |n: usize| -> Vec<Complex<T>> {
            let mut number = || T::of(rng.random_range(-1.0..1.0));
            (0..n).map(|_| Complex::new(number(), number())).collect()
        };
        let values = random(case.coils * points.len());
        let images = random(case.coils * case.shape.iter().product::<usize>());
        let mut setup = Self { pool, plan, points, values, images };
        setup.run(Transform::SetPoints);
        setup
    }

    fn run(&mut self, transform: Transform) {
        let Self { pool, plan, points, values, images } = self;
        let go_on = &mut |_| Ok(());
        let done = pool.install(|| match transform {
            Transform::SetPoints => plan.set_points(points.len(), |m| points[m]),
            Transform::Adjoint => plan.adjoint(values, images, go_on),
            Transform::Forward => plan.forward(images, values, go_on),
        });
        done.expect("success");
    }
}

fn bench<T: Scalar>(criterion: &mut Criterion, case: Case) {
    for (name, transform) in
        [("set_points", Transform::SetPoints), ("adjoint", Transform::Adjoint), ("forward", Transform::Forward)]
    {
        let mut group = criterion.benchmark_group(name);
        group.sampling_mode(SamplingMode::Flat);
        group.throughput(Throughput::Elements((case.samples * case.coils) as u64));
        let mut setup = None;
        group.bench_function(BenchmarkId::from_parameter(case.name::<T>()), |bencher| {
            let setup = setup.get_or_insert_with(|| Setup::<T>::new(&case));
            bencher.iter(|| setup.run(transform));
        });
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .without_plots()
        .configure_from_args();
    let (threads, level) = (available_parallelism().map_or(1, usize::from), Level::detect());
    let large = Case { shape: [128; 3], coils: 1, samples: 284_416, tolerance: 1e-5, level, threads };
    bench::<f32>(&mut criterion, large);
    bench::<f64>(&mut criterion, Case { tolerance: 1e-9, ..large });
    for level in Level::available().filter(|l| *l != level) {
        bench::<f32>(&mut criterion, Case { level, ..large });
    }
    if threads > 1 {
        bench::<f32>(&mut criterion, Case { threads: 1, ..large });
    }
    bench::<f32>(&mut criterion, Case { shape: [1, 256, 256], coils: 32, samples: 16_384, ..large });
    bench::<f32>(&mut criterion, Case { shape: [16, 64, 64], samples: 66_048, ..large });
    criterion.final_summary();
}
