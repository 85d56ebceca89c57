//! The CT operators alone, on random data: `cargo bench --bench ct`, or with a part of a name, `-- backproject/1024`.
//!
//! Names are `operator/side x side x slices/level/threads/interpolation`. Each slice has 256 views whatever its side: the
//! rate depends little on their number, the time to wait very much. The full size is in `peers/`.

use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

const VIEWS: usize = 256;

#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Filter,
    Backproject,
    Forward,
    Adjoint,
    Reconstruct,
}

impl Operator {
    const ALL: [Operator; 5] =
        [Operator::Filter, Operator::Backproject, Operator::Forward, Operator::Adjoint, Operator::Reconstruct];

    fn name(self) -> &'static str {
        match self {
            Operator::Filter => "filter",
            Operator::Backproject => "backproject",
            Operator::Forward => "forward",
            Operator::Adjoint => "adjoint",
            Operator::Reconstruct => "reconstruct",
        }
    }
}

/// One line of the table.
#[derive(Clone, Copy)]
struct Case {
    side: usize,
    slices: usize,
    level: Level,
    threads: usize,
    interpolation: Interpolation,
}

impl Case {
    fn name(&self) -> String {
        let Case { side, slices, level, threads, interpolation } = *self;
        format!("{side}x{side}x{slices}/{}/{threads}/{interpolation:?}", level.name()).to_lowercase()
    }

    fn elements(&self, operator: Operator) -> u64 {
        let a_view = if operator == Operator::Filter { self.side } else { self.side * self.side };
        (self.slices * VIEWS * a_view) as u64
    }
}

/// A plan with its data.
struct Setup {
    ct: Ct,
    geometry: Geometry,
    input: Vec<f32>,
    output: Vec<f32>,
}

impl Setup {
    fn new(case: &Case, operator: Operator) -> Self {
        let angles = (0..VIEWS).map(|v| v as f64 * PI / VIEWS as f64).collect();
        let geometry = Geometry::new(angles, case.side).with_rows(case.slices);
        let (compute, level) = (Compute::Cpu, Some(case.level));
        let options = ContextOptions { compute, level, threads: case.threads, ..ContextOptions::default() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(geometry.clone()).expect("a geometry");
        ct.set_options(Options { interpolation: case.interpolation, ..Options::default() }).expect("options");
        let [projections, volume] = [geometry.projection_shape(), geometry.volume_shape()].map(|s| s.iter().product());
        let (from, to): (usize, usize) = match operator {
            Operator::Filter => (projections, projections),
            Operator::Forward => (volume, projections),
            _ => (projections, volume),
        };
        let mut rng = SmallRng::seed_from_u64(1);
        let input = (0..from).map(|_| rng.random_range(-1.0..1.0)).collect();
        Self { ct, geometry, input, output: vec![0.0; to] }
    }

    fn run(&mut self, operator: Operator) {
        let (projections, volume) = (self.geometry.projection_shape(), self.geometry.volume_shape());
        let (apply, from, to): (fn(&mut Ct, Array, ArrayMut) -> _, _, _) = match operator {
            Operator::Filter => (Ct::filter, projections, projections),
            Operator::Backproject => (Ct::backproject, projections, volume),
            Operator::Forward => (Ct::forward, volume, projections),
            Operator::Adjoint => (Ct::adjoint, projections, volume),
            Operator::Reconstruct => (Ct::reconstruct, projections, volume),
        };
        let input = Array::new(&self.input, from).expect("an input");
        let output = ArrayMut::new(&mut self.output, to).expect("an output");
        apply(&mut self.ct, input, output).expect("success");
    }
}

/// Sizes and slices in full; levels, threads and interpolations at one size each.
fn cases(operator: Operator) -> Vec<Case> {
    let threads = available_parallelism().map_or(1, usize::from);
    let usual = Case { side: 512, slices: 8, level: Level::detect(), threads, interpolation: Interpolation::Linear };
    let mut cases = Vec::new();
    for side in [256, 512, 1024] {
        cases.extend([1, 8, 32].map(|slices| Case { side, slices, ..usual }));
    }
    for level in Level::available().filter(|l| *l != usual.level) {
        cases.extend([1, 8].map(|slices| Case { slices, level, ..usual }));
    }
    if threads > 1 {
        cases.extend([1, 8].map(|slices| Case { slices, threads: 1, ..usual }));
    }
    if operator == Operator::Backproject {
        for interpolation in [Interpolation::Nearest, Interpolation::Oversampled] {
            cases.extend([1, 8].map(|slices| Case { slices, interpolation, ..usual }));
        }
    }
    cases
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(800))
        .without_plots()
        .configure_from_args();
    for operator in Operator::ALL {
        let mut group = criterion.benchmark_group(operator.name());
        group.sampling_mode(SamplingMode::Flat);
        for case in cases(operator) {
            group.throughput(Throughput::Elements(case.elements(operator)));
            let mut setup = None;
            group.bench_function(BenchmarkId::from_parameter(case.name()), |bencher| {
                let setup = setup.get_or_insert_with(|| Setup::new(&case, operator));
                bencher.iter(|| setup.run(operator));
            });
        }
        group.finish();
    }
    criterion.final_summary();
}
