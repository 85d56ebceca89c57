//! DIRECT PET alone: `cargo bench --bench pet`, or with a part of a name, `-- deposit`.
//!
//! Names are `operation/case/level/threads`. The scan is that of the DIRECT measurements: 144 x 144 x 48 voxels of 4 mm, 40 x 3
//! views, a cylinder of 35 cm with spheres. Rates are events, or voxels of all histo-images.

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use isocenter::array::{Array, ArrayMut, Element};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::pet::deposit::deposit;
use isocenter::pet::events::{EventArrays, EventArraysMut};
use isocenter::pet::lattice::Lattice;
use isocenter::pet::phantom::{Phantom, SpherePhantom};
use isocenter::pet::response::Radial;
use isocenter::pet::simulation::{Background, Resolution, Scan, Scanner, Source, Tally};
use isocenter::pet::views::Views;
use std::thread::available_parallelism;
use std::time::Duration;

const SHAPE: [usize; 3] = [48, 144, 144];
const VIEWS: [usize; 2] = [40, 3];
/// Events of a list that is deposited, and of one that is simulated.
const EVENTS: [usize; 2] = [20_000_000, 400_000];

/// A list, as three arrays.
struct Events {
    first: Vec<[f32; 3]>,
    second: Vec<[f32; 3]>,
    time: Vec<f32>,
}

impl Events {
    fn new(n: usize) -> Self {
        Self { first: vec![[0.0; 3]; n], second: vec![[0.0; 3]; n], time: vec![0.0; n] }
    }

    fn arrays(&self) -> EventArrays<'_> {
        let n = self.time.len();
        EventArrays {
            first: Array::new(self.first.as_flattened(), [n, 3]).expect("positions"),
            second: Array::new(self.second.as_flattened(), [n, 3]).expect("positions"),
            time: Array::new(&self.time, [n]).expect("times"),
        }
    }

    fn arrays_mut(&mut self) -> EventArraysMut<'_> {
        let n = self.time.len();
        EventArraysMut {
            first: ArrayMut::new(self.first.as_flattened_mut(), [n, 3]).expect("positions"),
            second: ArrayMut::new(self.second.as_flattened_mut(), [n, 3]).expect("positions"),
            time: ArrayMut::new(&mut self.time, [n]).expect("times"),
        }
    }

    /// Copies of the first events fill the list.
    fn repeat(&mut self, made: usize) {
        for k in made..self.time.len() {
            self.first[k] = self.first[k - made];
            self.second[k] = self.second[k - made];
            self.time[k] = self.time[k - made];
        }
    }
}

struct Setup {
    phantom: Phantom,
    views: Views,
    lattice: Lattice,
}

impl Setup {
    fn new() -> Self {
        let phantom = SpherePhantom::default().phantom().expect("a phantom");
        let views = Views::grid(VIEWS[0], VIEWS[1], 10f64.to_radians()).expect("views");
        Self { phantom, views, lattice: Lattice::new(SHAPE, [4.0; 3]).expect("a lattice") }
    }

    fn scan(&self) -> Scan<'_> {
        Scan {
            source: Source::Phantom(&self.phantom),
            attenuation: &self.phantom,
            map: None,
            scanner: Scanner::default(),
            resolution: Resolution { time: 400.0, radial: Radial::Constant(5.8), axial: 5.8 },
            background: Background { randoms: 0.2, scatter: 0.15, ..Background::default() },
        }
    }

    fn histos<'a, T: Element>(&self, values: &'a mut [T]) -> ArrayMut<'a, 4> {
        let [nz, ny, nx] = SHAPE;
        ArrayMut::of(values, [self.views.list().len(), nz, ny, nx]).expect("histo-images")
    }
}

/// Usual, lower levels, one thread.
fn contexts() -> Vec<(String, Context)> {
    let threads = available_parallelism().map_or(1, usize::from);
    let mut cases = vec![(Level::detect(), threads)];
    cases.extend(Level::available().filter(|l| *l != Level::detect()).map(|l| (l, threads)));
    cases.extend((threads > 1).then_some((Level::detect(), 1)));
    let context = |(level, threads): (Level, usize)| {
        let options =
            ContextOptions { compute: Compute::Cpu, level: Some(level), threads, ..ContextOptions::default() };
        (format!("{}/{threads}", level.name()), Context::new(options).expect("a context"))
    };
    cases.into_iter().map(context).collect()
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .without_plots()
        .configure_from_args();
    let setup = Setup::new();
    let contexts = contexts();
    let mut events = Events::new(EVENTS[0]);
    let mut counts = vec![0u32; setup.views.list().len() * setup.lattice.voxels()];
    let mut expected = vec![0f32; counts.len()];
    let mut tally = Tally { decays: 10_000_000, scatter_draws: 1_000_000, random_draws: 1_000_000, ..Tally::default() };

    let mut group = criterion.benchmark_group("simulate");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(EVENTS[1] as u64));
    for (name, context) in &contexts {
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            let mut list = Events::new(EVENTS[1]);
            bencher.iter(|| setup.scan().simulate(context, 1, list.arrays_mut()).expect("success"));
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("deposit");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(EVENTS[0] as u64));
    let mut made = false;
    for (name, context) in &contexts {
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            if !made {
                let mut list = Events::new(4 * EVENTS[1]);
                tally = setup.scan().simulate(context, 1, list.arrays_mut()).expect("success");
                let n = list.time.len();
                events.first[..n].copy_from_slice(&list.first);
                events.second[..n].copy_from_slice(&list.second);
                events.time[..n].copy_from_slice(&list.time);
                events.repeat(n);
                made = true;
            }
            let list = events.arrays();
            bencher.iter(|| {
                let to = setup.histos(&mut counts);
                deposit(context, &setup.views, &setup.lattice, &list, to).expect("success")
            });
        });
    }
    group.finish();

    let mut group = criterion.benchmark_group("expect");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(expected.len() as u64));
    for (name, context) in &contexts {
        let (views, lattice) = (&setup.views, &setup.lattice);
        group.bench_function(BenchmarkId::new("factors", name), |bencher| {
            bencher.iter(|| {
                let to = setup.histos(&mut expected);
                setup.scan().factors(context, &tally, views, lattice, to).expect("success")
            });
        });
        group.bench_function(BenchmarkId::new("additive", name), |bencher| {
            bencher.iter(|| {
                let to = setup.histos(&mut expected);
                setup.scan().additive(context, &tally, views, lattice, to).expect("success")
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
