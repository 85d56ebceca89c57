//! Reconstruction from callback to callback gives what reconstruction from array to array gives.

use crate::common::{on_processor, plan, projection_len, random, to_volume, volume_len};
use isocenter::array::DType;
use isocenter::context::{Context, ContextOptions, Stage};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Order, Slab};
use isocenter::error::{Error, Result, Status};
use std::f64::consts::PI;
use std::sync::{Arc, Mutex};

fn geometry(order: Order) -> Geometry {
    let angles = (0..40).map(|v| PI * f64::from(v) / 40.0).collect();
    Geometry { order, first_row: 3, slices: 17, ..Geometry::new(angles, 50).with_rows(23) }
}

/// Copies the rows that a slab asks for.
fn read(g: &Geometry, all: &[f32], slab: &Slab) {
    let [_, rows, bins] = [g.views(), g.rows, g.bins];
    // SAFETY: the slab's array holds as many elements as its shape says.
    let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), slab.shape.iter().product()) };
    for v in 0..g.views() {
        for r in 0..slab.count {
            let row = g.first_row + slab.first + r;
            let (from, at) = match g.order {
                Order::Frames => (v * rows + row, v * slab.count + r),
                Order::Sinograms => (row * g.views() + v, r * g.views() + v),
            };
            to[at * bins..(at + 1) * bins].copy_from_slice(&all[from * bins..(from + 1) * bins]);
        }
    }
}

fn stream(ct: &mut Ct, g: &Geometry, all: &[f32]) -> Result<(Vec<f32>, Vec<usize>)> {
    let mut out = vec![f32::NAN; volume_len(g)];
    let mut firsts = Vec::new();
    let pixels = g.ny * g.nx;
    ct.reconstruct_stream(
        DType::F32,
        |slab| {
            read(g, all, &slab);
            Ok(())
        },
        |slab| {
            firsts.push(slab.first);
            // SAFETY: as in `read`.
            let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.count * pixels) };
            out[slab.first * pixels..][..from.len()].copy_from_slice(from);
            Ok(())
        },
    )?;
    Ok((out, firsts))
}

#[test]
fn slabs_add_up_to_the_volume() {
    for order in [Order::Frames, Order::Sinograms] {
        let g = geometry(order);
        let all = random(projection_len(&g), 21);
        let expected = to_volume(&mut plan(&g, Level::detect(), 2), &g, Ct::reconstruct, &all);
        // Room for a few slices at a time.
        let options = ContextOptions { memory_cap: 1 << 20, ..on_processor() };
        let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
        ct.set_geometry(g.clone()).expect("a geometry");
        let (seen, firsts) = stream(&mut ct, &g, &all).expect("success");
        assert!(firsts.len() > 1 && firsts.is_sorted() && firsts[0] == 0, "{firsts:?}");
        // Groups of slices differ, so sums do in their last bits: as for slabs under a small cap, 5e-6 of the largest.
        let max = expected.iter().fold(0.0f32, |a, v| a.max(v.abs()));
        let worst = seen.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(worst <= 5e-6 * max, "{worst} of {max}");
    }
}

#[test]
fn a_callback_that_fails_stops_the_call() {
    let g = geometry(Order::Frames);
    let mut ct = plan(&g, Level::detect(), 1);
    let failure = || Err(Error::new(Status::Callback, "no more"));
    let e = ct.reconstruct_stream(DType::F32, |_| failure(), |_| Ok(())).expect_err("read fails");
    assert_eq!((e.status, e.message.as_str()), (Status::Callback, "no more"));
    let all = random(projection_len(&g), 22);
    let reading = |slab: Slab| {
        read(&g, &all, &slab);
        Ok(())
    };
    let e = ct.reconstruct_stream(DType::F32, reading, |_| failure()).expect_err("write fails");
    assert_eq!(e.status, Status::Callback);
}

#[test]
fn bad_data_is_found() {
    let g = geometry(Order::Sinograms);
    let mut all = random(projection_len(&g), 23);
    all[(9 * g.views() + 4) * g.bins + 7] = f32::NAN;
    let e = stream(&mut plan(&g, Level::detect(), 1), &g, &all).expect_err("NaN");
    assert_eq!(e.status, Status::NotFiniteData);
    assert!(e.message.starts_with("projections[9, 4, 7] is NaN"), "{}", e.message);
}

/// A plan with room for a few slices at a time, what it reported, and what it answers from a fraction on: the wish to cancel.
fn reporting(g: &Geometry, stop: f64) -> (Ct, Reports) {
    let reports = Reports::default();
    let copy = Arc::clone(&reports);
    let progress = move |fraction, stage| {
        copy.lock().expect("reports").push((fraction, stage));
        fraction >= stop
    };
    let options = ContextOptions { memory_cap: 300_000, progress: Some(Box::new(progress)), ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    (ct, reports)
}

type Reports = Arc<Mutex<Vec<(f64, Stage)>>>;

#[test]
fn progress_of_all_slabs_is_one_calls() {
    let g = geometry(Order::Frames);
    let all = random(projection_len(&g), 24);
    let (mut ct, reports) = reporting(&g, 2.0);
    let (_, firsts) = stream(&mut ct, &g, &all).expect("success");
    let seen = reports.lock().expect("reports");
    assert!(firsts.len() > 2, "{firsts:?}");
    assert!(seen.windows(2).all(|w| w[0].0 <= w[1].0), "{seen:?}");
    assert_eq!(seen.iter().filter(|r| r.1 == Stage::Done).count(), 1, "{seen:?}");
    assert_eq!((seen[0].0, seen.last().copied()), (0.0, Some((1.0, Stage::Done))));
    // A report after each slab says how many slices there are; parts of 2^50 are rounded down.
    for first in &firsts[1..] {
        let share = *first as f64 / g.slices as f64;
        assert!(seen.iter().any(|r| (r.0 - share).abs() < 1e-9), "{share}: {seen:?}");
    }
}

#[test]
fn a_wish_to_cancel_between_slabs_is_heard() {
    let g = geometry(Order::Sinograms);
    let all = random(projection_len(&g), 25);
    let mut written = 0;
    let (mut ct, reports) = reporting(&g, 0.5);
    let reading = |slab: Slab| {
        read(&g, &all, &slab);
        Ok(())
    };
    let writing = |slab: Slab| {
        written += slab.count;
        Ok(())
    };
    let e = ct.reconstruct_stream(DType::F32, reading, writing).expect_err("a cancel");
    assert_eq!(e.status, Status::Cancelled, "{}", e.message);
    assert!(written > 0 && written < g.slices, "{written} slices written");
    assert!(reports.lock().expect("reports").iter().all(|r| r.1 != Stage::Done));
}
