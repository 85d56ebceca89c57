//! Counts, transmissions or line integrals: what is done to each, what is refused, and what is warned of.

use crate::common::on_processor;
use crate::common::scene::{half_turn, line_integrals};
use crate::common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions, NanPolicy};
use isocenter::ct::{Ct, Filter, Geometry, InputKind, Options, Order, Slab};
use isocenter::error::{Result, Status};
use isocenter::phantom::Ellipse;
use std::sync::{Arc, Mutex};

type Log = Arc<Mutex<Vec<String>>>;

/// A plan, and what it logs.
fn logging(g: &Geometry, nan_policy: NanPolicy) -> (Ct, Log) {
    let log: Log = Arc::default();
    let copy = Arc::clone(&log);
    let options = ContextOptions {
        threads: 2,
        nan_policy,
        log: Some(Box::new(move |level, text| copy.lock().expect("the log").push(format!("{level:?}: {text}")))),
        ..on_processor()
    };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    (ct, log)
}

/// The warnings since the last look.
fn warnings(log: &Log) -> Vec<String> {
    log.lock().expect("the log").drain(..).filter(|m| m.starts_with("Warning")).collect()
}

fn geometry(order: Order) -> Geometry {
    let mut g = Geometry::new(half_turn(12), 37).with_rows(4);
    (g.order, g.nx, g.ny, g.first_row, g.slices) = (order, 30, 31, 1, 2);
    g
}

fn set_input(ct: &mut Ct, input: InputKind) {
    ct.set_options(Options { filter: Filter::None, input, ..Options::default() }).expect("options");
}

fn set_flat(ct: &mut Ct, g: &Geometry, value: f32) {
    let flat = vec![value; g.rows * g.bins];
    ct.set_flat_field(Some(Array::new(&flat, [1, g.rows, g.bins]).expect("flats")), None).expect("a flat field");
}

/// Every call that corrects: to the array of its result.
fn calls(ct: &mut Ct, g: &Geometry, projections: Array) -> [Result<Vec<f32>>; 3] {
    let mut filtered = vec![0.0; projection_len(g)];
    let first = ct.filter(projections, ArrayMut::new(&mut filtered, g.projection_shape()).expect("projections"));
    let mut volume = vec![0.0; volume_len(g)];
    let second = ct.reconstruct(projections, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume"));
    let third = stream(ct, g, projections);
    [first.map(|()| filtered), second.map(|()| volume), third]
}

/// Contiguous projections slab by slab.
fn stream(ct: &mut Ct, g: &Geometry, projections: Array) -> Result<Vec<f32>> {
    let mut rows = vec![0.0f32; projection_len(g)];
    let same = Geometry { first_row: 0, slices: g.rows, ..g.clone() };
    // As they are: a plan without any correction copies them.
    let mut copy = plan(&same, isocenter::cpu::level::Level::detect(), 1);
    let dtype = projections.dtype();
    if dtype == DType::F32 {
        copy.set_options(Options { filter: Filter::None, input: InputKind::LineIntegrals, ..Options::default() })
            .expect("options");
        copy.filter(projections, ArrayMut::new(&mut rows, g.projection_shape()).expect("projections")).expect("a copy");
    }
    let mut volume = vec![0.0; volume_len(g)];
    let pixels = g.ny * g.nx;
    ct.reconstruct_stream(
        dtype,
        |slab: Slab| {
            let n: usize = slab.shape.iter().product();
            if dtype != DType::F32 {
                // SAFETY: the slab's array; counts of one value.
                unsafe { slab.data.write_bytes(50, n * 2 / if dtype == DType::U8 { 2 } else { 1 }) };
                return Ok(());
            }
            // SAFETY: the slab's array has as many elements.
            let to = unsafe { std::slice::from_raw_parts_mut(slab.data.cast::<f32>(), n) };
            for v in 0..g.views() {
                for r in 0..slab.count {
                    let row = g.first_row + slab.first + r;
                    let (from, at) = match g.order {
                        Order::Frames => (v * g.rows + row, v * slab.count + r),
                        Order::Sinograms => (row * g.views() + v, r * g.views() + v),
                    };
                    to[at * g.bins..][..g.bins].copy_from_slice(&rows[from * g.bins..][..g.bins]);
                }
            }
            Ok(())
        },
        |slab: Slab| {
            // SAFETY: as above.
            let from = unsafe { std::slice::from_raw_parts(slab.data.cast::<f32>(), slab.count * pixels) };
            volume[slab.first * pixels..][..from.len()].copy_from_slice(from);
            Ok(())
        },
    )?;
    Ok(volume)
}

/// The table of the conventions page: type x flat field x input.
#[test]
fn what_happens_to_what() {
    use InputKind::*;
    for order in [Order::Frames, Order::Sinograms] {
        let g = geometry(order);
        let shape = g.projection_shape();
        let (float, short, byte) =
            (vec![50.0f32; projection_len(&g)], vec![0x3232u16; projection_len(&g)], vec![50u8; projection_len(&g)]);
        let views = [
            Array::new(&float, shape).expect("f32"),
            Array::of(&short, shape).expect("u16"),
            Array::of(&byte, shape).expect("u8"),
        ];
        for flat in [false, true] {
            for input in [Auto, Counts, Transmission, LineIntegrals] {
                for view in views {
                    let integer = view.dtype() != DType::F32;
                    let refused = match input {
                        Auto if integer != flat => Some(Status::FlatField),
                        Counts if !flat => Some(Status::FlatField),
                        Transmission | LineIntegrals if integer => Some(Status::TensorDtype),
                        _ => None,
                    };
                    let (mut ct, _) = logging(&g, NanPolicy::Error);
                    set_input(&mut ct, input);
                    let value = f64::from(if view.dtype() == DType::U16 { 0x3232 as f32 } else { 50.0 });
                    if flat {
                        set_flat(&mut ct, &g, 100.0);
                    }
                    let corrected = match input {
                        Transmission => -value.ln(),
                        Counts | Auto if flat => -(value / 100.0).ln(),
                        _ => value,
                    };
                    let seen = calls(&mut ct, &g, view);
                    for result in &seen {
                        assert_eq!(
                            result.as_ref().err().map(|e| e.status),
                            refused,
                            "{order:?}, {input:?}, {:?}, flat field {flat}: {result:?}",
                            view.dtype()
                        );
                    }
                    let [Ok(filtered), Ok(volume), Ok(streamed)] = seen else { continue };
                    // Without a filter `filter` gives the line integrals; f32 logarithms of numbers of size 6 at most.
                    let row = match order {
                        Order::Frames => &filtered[g.bins..2 * g.bins],
                        Order::Sinograms => &filtered[g.views() * g.bins..][..g.bins],
                    };
                    assert!(
                        row.iter().all(|v| (f64::from(*v) - corrected).abs() < 1e-5),
                        "{input:?}: {row:?}, not {corrected}"
                    );
                    // And `reconstruct` their weighted sum: pi times the value where all views see the pixel.
                    let middle = (g.ny / 2) * g.nx + g.nx / 2;
                    for v in [volume[middle], streamed[middle]] {
                        assert!((f64::from(v) / std::f64::consts::PI - corrected).abs() < 1e-4, "{input:?}: {v}");
                    }
                }
            }
        }
    }
}

/// The message names the ways out.
#[test]
fn what_may_be_either_is_refused() {
    let g = geometry(Order::Frames);
    let (mut ct, _) = logging(&g, NanPolicy::Error);
    set_flat(&mut ct, &g, 100.0);
    let p = vec![50.0f32; projection_len(&g)];
    let mut volume = vec![7.0; volume_len(&g)];
    let p = Array::new(&p, g.projection_shape()).expect("projections");
    let to = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
    let e = ct.reconstruct(p, to).expect_err("a refusal");
    for word in ["F32", "flat field", "counts", "line integrals", "forget"] {
        assert!(e.message.contains(word), "{}", e.message);
    }
    assert!(volume.iter().all(|v| *v == 7.0));
    // What does not correct does not ask, and neither do the figures.
    ct.memory().expect("memory");
    ct.info().expect("info");
    ct.backproject(p, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
    ct.adjoint(p, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
    ct.set_flat_field(None, None).expect("no flat field");
    ct.reconstruct(p, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
}

/// -ln of what is there, the quotient no lower than stated; NaN is 0 and counted once.
#[test]
fn transmissions_by_hand() {
    let g = Geometry::new(half_turn(4), 13);
    let (mut ct, _) = logging(&g, NanPolicy::Replace);
    let options = Options {
        filter: Filter::None,
        input: InputKind::Transmission,
        minimum_transmission: 0.01,
        ..Options::default()
    };
    ct.set_options(options).expect("options");
    let values = [1.0, 0.5, 0.01, 0.001, 0.0, -3.0, 1.25, 1e30, f32::NAN, f32::INFINITY, 0.1];
    let p: Vec<f32> = (0..projection_len(&g)).map(|k| values[k % values.len()]).collect();
    let mut seen = vec![7.0; p.len()];
    let view = Array::new(&p, g.projection_shape()).expect("projections");
    ct.filter(view, ArrayMut::new(&mut seen, g.projection_shape()).expect("projections")).expect("success");
    for (v, s) in p.iter().zip(&seen) {
        let expected = if v.is_finite() { -f64::from(*v).max(0.01).ln() } else { 0.0 };
        // f32 logarithms of size 70 at most.
        assert!((f64::from(*s) - expected).abs() < 1e-5, "{v} became {s}, not {expected}");
    }
    let bad = p.iter().filter(|v| !v.is_finite()).count() as u64;
    assert_eq!(ct.info().expect("info").replaced, bad);
    let volume = to_volume(&mut ct, &g, Ct::reconstruct, &p);
    assert!(volume.iter().all(|v| v.is_finite()));
    assert_eq!(ct.info().expect("info").replaced, bad);
}

/// The flat field stays while it fits, and is looked at again when other rows are used.
#[test]
fn the_flat_field_stays() {
    let g = geometry(Order::Frames);
    let (mut ct, log) = logging(&g, NanPolicy::Error);
    let mut flat = vec![100.0f32; g.rows * g.bins];
    // Row 0 is not used.
    flat[5] = 0.0;
    ct.set_flat_field(Some(Array::new(&flat, [1, g.rows, g.bins]).expect("flats")), None).expect("a flat field");
    let raw = vec![50u8; projection_len(&g)];
    let counts = |g: &Geometry, ct: &mut Ct| {
        let mut out = vec![0.0; volume_len(g)];
        let raw = Array::of(&raw[..projection_len(g)], g.projection_shape()).expect("counts");
        ct.reconstruct(raw, ArrayMut::new(&mut out, g.volume_shape()).expect("a volume"))
    };
    // Another axis, other angles, fewer of them, sinograms.
    for change in [
        Geometry { axis: vec![17.0], ..g.clone() },
        Geometry { angles: half_turn(9), ..g.clone() },
        Geometry { order: Order::Sinograms, nx: 8, ..g.clone() },
    ] {
        ct.set_geometry(change.clone()).expect("a geometry");
        counts(&change, &mut ct).expect("the flat field is still there");
    }
    let e = ct.set_geometry(Geometry { first_row: 0, ..g.clone() }).expect_err("row 0 cannot be corrected");
    assert!(e.status == Status::FlatField && e.message.starts_with("flats[0, 5]"), "{}", e.message);
    assert!(ct.geometry().expect("the last one").first_row == 1);
    assert_eq!(warnings(&log), Vec::<String>::new());
    let smaller = Geometry { rows: 3, ..g.clone() };
    ct.set_geometry(smaller.clone()).expect("a geometry");
    let seen = warnings(&log);
    assert!(seen.len() == 1 && seen[0].contains("flat field") && seen[0].contains("forgotten"), "{seen:?}");
    assert_eq!(counts(&smaller, &mut ct).expect_err("no flat field").status, Status::FlatField);
    // Where such pixels are replaced, they are.
    let (mut ct, _) = logging(&g, NanPolicy::Replace);
    ct.set_flat_field(Some(Array::new(&flat, [1, g.rows, g.bins]).expect("flats")), None).expect("a flat field");
    let other = Geometry { first_row: 0, ..g.clone() };
    ct.set_geometry(other.clone()).expect("a geometry");
    counts(&other, &mut ct).expect("success");
    assert_eq!(ct.info().expect("info").replaced, g.views() as u64);
}

const BINS: usize = 120;

/// Warnings of reconstructing f32 projections from array to array, and as a stream.
fn warned(g: &Geometry, p: &[f32]) -> Vec<String> {
    let (mut ct, log) = logging(g, NanPolicy::Error);
    let view = Array::new(p, g.projection_shape()).expect("projections");
    let [.., streamed] = {
        let mut out = vec![0.0; volume_len(g)];
        ct.reconstruct(view, ArrayMut::new(&mut out, g.volume_shape()).expect("a volume")).expect("success");
        let seen = warnings(&log);
        // Once, until something changes.
        ct.reconstruct(view, ArrayMut::new(&mut out, g.volume_shape()).expect("a volume")).expect("success");
        assert_eq!(warnings(&log), Vec::<String>::new());
        ct.set_options(Options::default()).expect("options");
        let mut filtered = vec![0.0; p.len()];
        ct.filter(view, ArrayMut::new(&mut filtered, g.projection_shape()).expect("projections")).expect("success");
        assert_eq!(warnings(&log), seen);
        ct.set_flat_field(None, None).expect("no flat field");
        stream(&mut ct, g, view).expect("success");
        assert_eq!(warnings(&log), seen);
        // Said is said.
        set_input(&mut ct, InputKind::LineIntegrals);
        calls(&mut ct, g, view).into_iter().for_each(|r| assert!(r.is_ok()));
        assert_eq!(warnings(&log), Vec::<String>::new());
        [seen]
    };
    streamed
}

fn disk(value: f64, x: f64, radius: f64) -> Ellipse {
    Ellipse { value, centre: [x, 0.0], semi: [radius; 2], angle: 0.0 }
}

/// A scan of some ellipses, each value changed.
fn scan(ellipses: &[Ellipse], change: impl Fn(usize, f32) -> f32) -> Vec<String> {
    let g = Geometry::new(half_turn(90), BINS).with_rows(3);
    let ct = plan(&g, isocenter::cpu::level::Level::detect(), 1);
    let p: Vec<f32> = line_integrals(&ct, &g, ellipses).into_iter().enumerate().map(|(k, v)| change(k, v)).collect();
    warned(&g, &p)
}

/// Noise of mean 0, the same every time.
fn noise(k: usize) -> f32 {
    (k as f32 * 78.233).sin()
}

#[test]
fn what_cannot_be_line_integrals_is_warned_of() {
    let object = [disk(0.02, 10.0, 45.0), disk(0.03, -20.0, 10.0)];
    let is = |seen: &[String], word: &str| {
        // Values that were replaced have a warning of their own.
        let seen: Vec<&String> = seen.iter().filter(|m| !m.contains("replaced by 0")).collect();
        assert!(seen.len() == 1 && seen[0].contains("line integrals") && seen[0].contains(word), "{seen:?}");
    };
    // Counts: whole ones, few of them, averaged ones, dark ones among them, in a beam that is brightest in the middle.
    is(&scan(&object, |k, v| (30000.0 * (-v).exp() + 100.0 * noise(k)).round()), "whole numbers");
    is(&scan(&object, |k, v| (20.0 * (-v).exp() + 3.0 * noise(k)).round()), "whole numbers");
    is(&scan(&object, |k, v| 30000.0 * (-v).exp() + 100.0 * noise(k)), "most are above");
    is(&scan(&object, |k, v| if k % BINS < 5 { 40.5 } else { 30000.0 * (-v).exp() }), "most are above");
    // Transmissions, of an object that absorbs much or little, with noise and a dead bin.
    is(&scan(&object, |k, v| (-v).exp() * (1.0 + 0.02 * noise(k))), "transmissions");
    is(&scan(&[disk(0.005, 5.0, 45.0)], |_, v| (-v).exp()), "transmissions");
    is(&scan(&object, |k, v| if k % BINS == 33 { 0.0 } else { (-v).exp() }), "transmissions");
    // NaN does not hide it: with the policy that replaces them, `suspicion` looks at what is left.
    let g = Geometry::new(half_turn(30), BINS);
    let (mut ct, log) = logging(&g, NanPolicy::Replace);
    let p: Vec<f32> =
        (0..projection_len(&g)).map(|k| if k % 7 == 0 { f32::NAN } else { (k % 50) as f32 + 3.0 }).collect();
    to_volume(&mut ct, &g, Ct::reconstruct, &p);
    is(&warnings(&log), "whole numbers");
}

#[test]
fn honest_line_integrals_are_not_warned_of() {
    let silent = |seen: Vec<String>| assert_eq!(seen, Vec::<String>::new());
    let object = [disk(0.02, 10.0, 45.0), disk(0.03, -20.0, 10.0)];
    silent(scan(&object, |_, v| v));
    silent(scan(&object, |k, v| v + 0.05 * noise(k)));
    // Attenuation of 1 a pixel: up to 90, and 0 beside it; as whole numbers too.
    silent(scan(&[disk(1.0, 10.0, 45.0)], |_, v| v));
    silent(scan(&[disk(1.0, 10.0, 45.0)], |_, v| v.round()));
    silent(scan(&[disk(100.0, 0.0, 45.0)], |_, v| v.round()));
    // Nothing at all, and a mask.
    silent(scan(&[disk(0.0, 0.0, 45.0)], |_, v| v));
    silent(scan(&object, |_, v| if v > 0.0 { 1.0 } else { 0.0 }));
    // Local tomography: no row reaches beyond the object, in honest units and with 1 a pixel.
    silent(scan(&[disk(0.01, 0.0, 200.0)], |k, v| v + 0.01 * noise(k)));
    silent(scan(&[disk(1.0, 0.0, 200.0)], |_, v| v));
    silent(scan(&[disk(1.0, 0.0, 200.0), disk(-0.5, 20.0, 20.0)], |_, v| v));
    // A phase image or differences: both signs.
    silent(scan(&object, |k, v| v * noise(k)));
    // Random numbers, as tests of codes have them.
    let g = Geometry::new(half_turn(30), BINS);
    silent(warned(&g, &random(projection_len(&g), 3)));
    // Ones: an image of the detector's sensitivity.
    silent(warned(&g, &vec![1.0; projection_len(&g)]));
    // A view of a few bins says nothing.
    let g = Geometry::new(half_turn(3), 4);
    silent(warned(&g, &vec![3.0; projection_len(&g)]));
}

/// Warnings of a scan whose kind the caller has said, with flats of 1000.
fn warned_as(input: InputKind, ellipses: &[Ellipse], change: impl Fn(f32) -> f32) -> Vec<String> {
    let g = Geometry::new(half_turn(90), BINS).with_rows(3);
    let maker = plan(&g, isocenter::cpu::level::Level::detect(), 1);
    let p: Vec<f32> = line_integrals(&maker, &g, ellipses).into_iter().map(change).collect();
    let (mut ct, log) = logging(&g, NanPolicy::Error);
    if input == InputKind::Counts {
        let (flats, darks) = (vec![1000.0; 3 * BINS], vec![100.0; 3 * BINS]);
        let frames = |values| Array::new(values, [1, 3, BINS]).expect("frames");
        ct.set_flat_field(Some(frames(&flats)), Some(frames(&darks))).expect("a flat field");
    }
    set_input(&mut ct, input);
    let mut volume = vec![0.0; volume_len(&g)];
    let (from, to) = (Array::new(&p, g.projection_shape()), ArrayMut::new(&mut volume, g.volume_shape()));
    ct.reconstruct(from.expect("projections"), to.expect("a volume")).expect("success");
    warnings(&log)
}

#[test]
fn what_is_said_is_doubted_too() {
    let object = [disk(0.02, 10.0, 45.0), disk(0.03, -20.0, 10.0)];
    let counts = |scale: f32| move |v: f32| 100.0 + scale * 900.0 * (-v).exp();
    for (input, change, words) in [
        (InputKind::Counts, Box::new(counts(4.0)) as Box<dyn Fn(f32) -> f32>, "3.99 times the flats"),
        (InputKind::Counts, Box::new(|_| 50.0), "100 % of them are no larger than the darks"),
        (InputKind::Transmission, Box::new(counts(1.0)), "half of them are above"),
        (InputKind::Transmission, Box::new(|v| v), "as line integrals are"),
    ] {
        let seen = warned_as(input, &object, change);
        assert!(seen.len() == 1 && seen[0].contains(words), "{words}: {seen:?}");
    }
    // A beam that is a little brighter or darker than the flats, an object that fills the detector.
    for scale in [0.7, 1.0, 1.3] {
        assert_eq!(warned_as(InputKind::Counts, &object, counts(scale)), Vec::<String>::new(), "{scale}");
        let transmission = move |v: f32| scale * (-v).exp();
        assert_eq!(warned_as(InputKind::Transmission, &object, transmission), Vec::<String>::new(), "{scale}");
    }
    assert_eq!(warned_as(InputKind::Counts, &[disk(0.02, 0.0, 300.0)], counts(1.0)), Vec::<String>::new());
    // Logarithms without their minus.
    let negative = scan(&object, |k, v| -v + 0.01 * noise(k));
    assert!(negative.len() == 1 && negative[0].contains("negative"), "{negative:?}");
}
