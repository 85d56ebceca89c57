//! Progress runs from 0 to 1, and cancel leaves nothing half done.

use crate::common::on_processor;
use crate::common::*;
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions, Stage};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Pair};
use isocenter::error::{Result, Status};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;

const TO_VOLUME: [(&str, Operator, Stage); 3] = [
    ("backproject", Ct::backproject, Stage::Backproject),
    ("adjoint", Ct::adjoint, Stage::Adjoint),
    ("reconstruct", Ct::reconstruct, Stage::Backproject),
];

/// The pair of projectors and the interpolation by sums over pixels, and by Fourier transforms.
const OPTIONS: [fn() -> Options; 2] = [Options::default, || Options {
    interpolation: Interpolation::BandLimited,
    pair: Pair::BandLimited,
    ..Options::default()
}];

type Reports = Arc<Mutex<Vec<(f64, Stage, ThreadId)>>>;

/// One slow thread and a cap of a few slices, so that a run takes several reports' time and many slabs. Cancels at `stop`.
fn slow_plan(g: &Geometry, stop: f64) -> (Ct, Reports) {
    let reports = Reports::default();
    let copy = Arc::clone(&reports);
    let options = ContextOptions {
        threads: 1,
        level: Some(Level::BASELINE),
        memory_cap: 2_200_000,
        progress: Some(Box::new(move |fraction, stage| {
            copy.lock().expect("reports").push((fraction, stage, std::thread::current().id()));
            fraction >= stop
        })),
        ..on_processor()
    };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    (ct, reports)
}

fn geometry() -> Geometry {
    let mut g = Geometry::new(scene::half_turn(360), 280).with_rows(40);
    (g.nx, g.ny) = (200, 201);
    g
}

fn forward(ct: &mut Ct, g: &Geometry, volume: &[f32], projections: &mut [f32]) -> Result<()> {
    ct.forward(Array::new(volume, g.volume_shape())?, ArrayMut::new(projections, g.projection_shape())?)
}

fn filter(ct: &mut Ct, g: &Geometry, given: &[f32], filtered: &mut [f32]) -> Result<()> {
    ct.filter(Array::new(given, g.projection_shape())?, ArrayMut::new(filtered, g.projection_shape())?)
}

/// Starts at 0, never falls, ends with 1 and `Done`; all from the calling thread, and at least once in between.
fn check(name: &str, reports: &Reports, stage: Stage) {
    let seen = std::mem::take(&mut *reports.lock().expect("reports"));
    assert!(seen.windows(2).all(|w| w[0].0 <= w[1].0), "{name}: {seen:?}");
    let (first, last) = (seen[0], seen[seen.len() - 1]);
    assert!(first.0 == 0.0 && (last.0, last.1) == (1.0, Stage::Done), "{name}: {seen:?}");
    assert!(seen.iter().all(|r| r.2 == std::thread::current().id()), "{name} reports from another thread");
    assert!(seen.iter().any(|r| r.0 > 0.0 && r.0 < 1.0), "{name} says nothing between start and end: {seen:?}");
    assert!(seen.iter().any(|r| r.1 == stage), "{name} never says that it is at {stage:?}: {seen:?}");
}

#[test]
fn progress_runs_from_0_to_1() {
    let g = geometry();
    let (mut ct, reports) = slow_plan(&g, 2.0);
    let p = random(projection_len(&g), 1);
    let mut out = vec![0.0; p.len()];
    for options in OPTIONS {
        ct.set_options(options()).expect("options");
        let mut v = Vec::new();
        for (name, run, stage) in TO_VOLUME {
            v = to_volume(&mut ct, &g, run, &p);
            check(name, &reports, stage);
        }
        forward(&mut ct, &g, &v, &mut out).expect("success");
        check("forward", &reports, Stage::Forward);
    }
    // Too short to be caught in between.
    filter(&mut ct, &g, &p, &mut out).expect("success");
    let seen = reports.lock().expect("reports");
    assert!(seen.first().is_some_and(|r| r.0 == 0.0) && seen.last().is_some_and(|r| r.0 == 1.0 && r.1 == Stage::Done));
}

/// At the first report nothing has been written.
#[test]
fn cancel_at_once_writes_nothing() {
    let g = geometry();
    let (mut ct, reports) = slow_plan(&g, 0.0);
    let (p, v) = (random(projection_len(&g), 1), random(volume_len(&g), 2));
    let (mut volume, mut projections) = (vec![f32::MAX; v.len()], vec![f32::MAX; p.len()]);
    for options in OPTIONS {
        ct.set_options(options()).expect("options");
        for (name, run, _) in TO_VOLUME {
            let from = Array::new(&p, g.projection_shape()).expect("projections");
            let e = run(&mut ct, from, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume"));
            assert_eq!(e.expect_err(name).status, Status::Cancelled);
        }
        assert_eq!(forward(&mut ct, &g, &v, &mut projections).expect_err("forward").status, Status::Cancelled);
    }
    assert_eq!(filter(&mut ct, &g, &p, &mut projections).expect_err("filter").status, Status::Cancelled);
    assert!(volume.iter().chain(&projections).all(|v| *v == f32::MAX));
    assert_eq!(reports.lock().expect("reports").len(), 9, "one report a call");
}

/// Half way, some slices are finished and the others untouched; and the plan goes on to work.
#[test]
fn cancel_leaves_whole_slices() {
    let g = geometry();
    let p = random(projection_len(&g), 1);
    let (mut undisturbed, _) = slow_plan(&g, 2.0);
    for (name, run, _) in TO_VOLUME {
        let expected = to_volume(&mut undisturbed, &g, run, &p);
        let (mut ct, _) = slow_plan(&g, 0.25);
        let mut volume = vec![f32::MAX; expected.len()];
        for _ in 0..2 {
            let from = Array::new(&p, g.projection_shape()).expect("projections");
            let to = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
            assert_eq!(run(&mut ct, from, to).expect_err(name).status, Status::Cancelled);
        }
        let slice = g.nx * g.ny;
        let pairs = || volume.chunks(slice).zip(expected.chunks(slice));
        let finished = pairs().filter(|(v, e)| v == e).count();
        let untouched = pairs().filter(|(v, _)| v.iter().all(|v| *v == f32::MAX)).count();
        println!("{name}: {finished} slices finished, {untouched} untouched");
        assert_eq!(finished + untouched, g.slices, "{name} left a slice half done");
        assert!(finished > 0 && untouched > 0, "{name}: {finished} slices finished, {untouched} untouched");
    }
}
