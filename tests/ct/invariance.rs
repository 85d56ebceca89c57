//! What must not change a result: level, threads, slabs, neighbours in the volume, and where the caller's elements lie.

use crate::common::on_processor;
use crate::common::scene::{OBJECT, best_plan, line_integrals, pixel_means};
use crate::common::*;
use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Context, ContextOptions};
use isocenter::cpu::level::Level;
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Order};
use isocenter::error::{Result, Status};
use std::f64::consts::PI;
use std::sync::Arc;

const TO_VOLUME: [(&str, Operator); 3] =
    [("backproject", Ct::backproject), ("adjoint", Ct::adjoint), ("reconstruct", Ct::reconstruct)];

/// Uneven angles, an axis off the middle, sides that are no multiple of anything.
fn geometry(views: usize, rows: usize) -> Geometry {
    let part = |v: usize| v as f64 / views as f64;
    let mut g =
        Geometry::new((0..views).map(|v| 0.017 + PI * part(v) + 0.1 * (2.0 * PI * part(v)).sin()).collect(), 75);
    (g.nx, g.ny, g.axis, g.pixel_size) = (71, 67, vec![35.3], 0.9);
    g.with_rows(rows)
}

fn capped(g: &Geometry, threads: usize, memory_cap: u64) -> Ct {
    let options = ContextOptions { threads, memory_cap, ..on_processor() };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct
}

/// All four operators on the same data, one after the other: three volumes and the projections.
fn run_all(ct: &mut Ct, g: &Geometry, projections: &[f32], volume: &[f32]) -> Vec<Vec<f32>> {
    let mut out: Vec<_> = TO_VOLUME.iter().map(|(_, run)| to_volume(ct, g, *run, projections)).collect();
    out.push(to_projections(ct, g, Ct::forward, volume));
    out
}

fn difference(a: &[f32], b: &[f32]) -> f64 {
    error(a, &b.iter().map(|v| f64::from(*v)).collect::<Vec<_>>())
}

/// Other levels fuse or do not fuse multiplications and additions, and place the runs that positions are relative to
/// elsewhere: both move results by rounding, as against f64.
#[test]
fn levels_agree() {
    for rows in [1, 7, 40] {
        let g = geometry(60, rows);
        let (p, v) = (random(projection_len(&g), 1), random(volume_len(&g), 2));
        let expected = run_all(&mut plan(&g, Level::BASELINE, 2), &g, &p, &v);
        for level in Level::available() {
            for (k, (seen, expected)) in run_all(&mut plan(&g, level, 2), &g, &p, &v).iter().zip(&expected).enumerate()
            {
                let e = difference(seen, expected);
                assert!(e < 1e-5, "{level:?}, {rows} rows, operator {k}: {e:.1e}");
            }
        }
    }
}

/// Threads divide bins and tiles, never a sum: equal to the bit.
#[test]
fn threads_agree() {
    for rows in [1, 5, 33] {
        let g = geometry(60, rows);
        let (p, v) = (random(projection_len(&g), 3), random(volume_len(&g), 4));
        let expected = run_all(&mut plan(&g, Level::detect(), 1), &g, &p, &v);
        for threads in [2, 3, 7] {
            let seen = run_all(&mut plan(&g, Level::detect(), threads), &g, &p, &v);
            assert!(seen == expected, "{threads} threads, {rows} rows");
        }
    }
}

/// The least memory cap under which `run` succeeds.
fn min_cap(g: &Geometry, run: impl Fn(&mut Ct) -> Result<()>) -> u64 {
    let (mut no, mut yes) = (0, 1 << 30);
    while yes - no > 1 {
        let cap = (no + yes) / 2;
        match run(&mut capped(g, 2, cap)) {
            Ok(()) => yes = cap,
            Err(e) => {
                assert_eq!(e.status, Status::MemoryCap, "{e:?}");
                no = cap;
            }
        }
    }
    yes
}

/// Slices of a call are added up alike whatever a slab has of them: equal to the bit.
#[test]
fn slabs_do_not_matter() {
    for rows in [1, 2, 5, 7, 9, 17, 23, 33, 40, 71] {
        let g = geometry(60, rows);
        let (p, v) = (random(projection_len(&g), 5), random(volume_len(&g), 6));
        let expected = run_all(&mut capped(&g, 2, 1 << 30), &g, &p, &v);
        let min = min_cap(&g, |ct| {
            let mut v = vec![0.0; volume_len(&g)];
            ct.reconstruct(Array::new(&p, g.projection_shape())?, ArrayMut::new(&mut v, g.volume_shape())?)
        });
        let mut slabs = Vec::new();
        for cap in [1.0, 1.4, 2.5, 6.0, 11.0, 18.0, 30.0, 60.0].map(|f| (f * min as f64) as u64) {
            let mut ct = capped(&g, 2, cap);
            slabs.push(ct.info().expect("info").slab_slices);
            let mut seen: Vec<Option<Vec<f32>>> = Vec::new();
            for (_, run) in TO_VOLUME {
                seen.push(Some(to_volume(&mut ct, &g, run, &p)));
            }
            // `forward` keeps a packed volume, and may need more.
            let mut projections = vec![0.0; p.len()];
            let (from, to) = (Array::new(&v, g.volume_shape()), ArrayMut::new(&mut projections, g.projection_shape()));
            let forward = ct.forward(from.expect("a volume"), to.expect("projections"));
            match forward {
                Ok(()) => seen.push(Some(projections)),
                Err(e) => {
                    assert_eq!(e.status, Status::MemoryCap);
                    seen.push(None);
                }
            }
            for (k, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
                let Some(seen) = seen else { continue };
                assert!(seen == expected, "{rows} slices, cap {cap}, operator {k}: {:.1e}", difference(seen, expected));
            }
        }
        println!("{rows} slices: slabs of {slabs:?}");
        assert!(slabs.is_sorted() && slabs.last() > slabs.first() || rows < 2, "caps have no effect: {slabs:?}");
    }
}

/// The plan's answers hold for the call that they are about, just at the least cap and just below.
#[test]
fn what_the_plan_says_of_memory_is_what_reconstruct_does() {
    for rows in [1, 9, 40] {
        let g = geometry(60, rows);
        let p = random(projection_len(&g), 5);
        let min = min_cap(&g, |ct| {
            let mut v = vec![0.0; volume_len(&g)];
            ct.reconstruct(Array::new(&p, g.projection_shape())?, ArrayMut::new(&mut v, g.volume_shape())?)
        });
        let memory = capped(&g, 2, min).memory().expect("memory");
        assert!(memory <= min, "{rows} rows: {memory} bytes under a cap of {min}");
        assert_eq!(capped(&g, 2, min - 1).memory().expect_err("too little").status, Status::MemoryCap);
        assert!(capped(&g, 2, min).info().is_ok(), "{rows} rows");
        let below = capped(&g, 2, min - 1).info();
        assert!(
            below.is_err(),
            "{rows} rows: info plans slabs of {} under a cap too small",
            below.map_or(0, |i| i.slab_slices)
        );
    }
}

/// Calls of fewer than 6 slices keep positions relative to other elements, and add their views in another order. Random neighbours differ so much that the few 1e-6 of a bin
/// by which f32 positions err show: as against f64 (see operators.rs). On a phantom's rows and slices, where neighbours
/// differ little, only the sums' own rounding is left: a sum of n = 60 equal terms that comes to s has partial sums k s / n,
/// each rounded by 2^-24 / sqrt(3) of itself (rms), together sqrt(n / 3) 2^-24 / sqrt(3) s = 1.5e-7 s; two orders of adding
/// differ by sqrt(2) of it, the worst of 1e5 elements by 4.5 times that, 9.8e-7 of the largest s. Filtered projections have
/// both signs, and partial sums twice the result's: 2e-6.
const ROUNDING: f64 = 1e-5;
const SMOOTH_ROUNDING: f64 = 2e-6;

/// `forward` by itself, down to the least it takes.
#[test]
fn forward_slabs_do_not_matter() {
    for rows in [1, 9, 40] {
        let g = geometry(60, rows);
        let v = random(volume_len(&g), 6);
        let expected = to_projections(&mut capped(&g, 2, 1 << 30), &g, Ct::forward, &v);
        let min = min_cap(&g, |ct| {
            let mut p = vec![0.0; projection_len(&g)];
            ct.forward(Array::new(&v, g.volume_shape())?, ArrayMut::new(&mut p, g.projection_shape())?)
        });
        for cap in [min, 2 * min, 9 * min, 17 * min] {
            let e = difference(&to_projections(&mut capped(&g, 2, cap), &g, Ct::forward, &v), &expected);
            assert!(e < ROUNDING, "{rows} slices, cap {cap}: {e:.1e}");
        }
    }
}

/// Slabs of 32 and of 64 slices use the same groups of 32 lanes, so the first 32 slices are the same to the bit.
#[test]
fn slabs_of_the_same_lanes_are_the_same_to_the_bit() {
    let g = geometry(100, 64);
    let (p, v) = (random(projection_len(&g), 7), random(volume_len(&g), 8));
    let with_slab_of = |slices: usize| {
        let caps = (0..200).map(|k| (200_000.0 * 1.05f64.powi(k)) as u64);
        let cap = caps.into_iter().find(|&cap| capped(&g, 4, cap).info().is_ok_and(|i| i.slab_slices == slices));
        run_all(&mut capped(&g, 4, cap.expect("a cap for such slabs")), &g, &p, &v)
    };
    assert!(with_slab_of(32) == with_slab_of(64), "slabs of 32 and of 64 slices differ");
}

/// Each slice alone, by `first_row`, against the same slice among many.
#[test]
fn a_slice_alone_is_the_slice_among_many() {
    for rows in [2, 7, 23, 40] {
        for order in [Order::Frames, Order::Sinograms] {
            let mut g = geometry(60, rows);
            g.order = order;
            smooth_slices_agree(&g);
            let (p, v) = (random(projection_len(&g), 9), random(volume_len(&g), 10));
            let slice = g.nx * g.ny;
            let whole = run_all(&mut best_plan(&g), &g, &p, &v);
            for row in [0, rows / 2, rows - 1] {
                let mut one = g.clone();
                (one.first_row, one.slices) = (row, 1);
                let seen = run_all(&mut best_plan(&one), &one, &p, &v[row * slice..][..slice]);
                for k in 0..3 {
                    let e = difference(&seen[k], &whole[k][row * slice..][..slice]);
                    assert!(e < ROUNDING, "row {row} of {rows}, {}: {e:.1e}", TO_VOLUME[k].0);
                }
                // Forward writes this row, and zeros stay in the others.
                let expected: Vec<f32> =
                    whole[3].iter().enumerate().map(|(k, v)| if row_of(&g, k) == row { *v } else { 0.0 }).collect();
                let others = seen[3].iter().enumerate().filter(|(k, _)| row_of(&g, *k) != row);
                assert!(others.clone().count() > 0 && others.clone().all(|(_, v)| *v == 0.0));
                let e = difference(&seen[3], &expected);
                assert!(e < ROUNDING, "row {row} of {rows}, forward: {e:.1e}");
            }
        }
    }
}

/// A phantom's slice alone and among many.
fn smooth_slices_agree(g: &Geometry) {
    let mut one = g.clone();
    (one.first_row, one.slices) = (g.rows - 1, 1);
    let (mut many, mut single) = (best_plan(g), best_plan(&one));
    let (p, v) = (line_integrals(&many, g, &[OBJECT]), pixel_means(&many, g, &[OBJECT]));
    let (whole, seen) = (run_all(&mut many, g, &p, &v), run_all(&mut single, &one, &p, &v[..g.nx * g.ny]));
    for (k, (name, _)) in TO_VOLUME.into_iter().enumerate() {
        let e = difference(&seen[k], &whole[k][(g.rows - 1) * g.nx * g.ny..]);
        println!("smooth {name} {e:.1e}");
        assert!(e < SMOOTH_ROUNDING, "one of {} slices, {name}: {e:.1e}", g.rows);
    }
    let last = |p: &[f32]| (0..p.len()).filter(|k| row_of(g, *k) == g.rows - 1).map(|k| p[k]).collect::<Vec<_>>();
    let e = difference(&last(&seen[3]), &last(&whole[3]));
    println!("smooth forward {e:.1e}");
    assert!(e < SMOOTH_ROUNDING, "one of {} slices, forward: {e:.1e}", g.rows);
}

/// Detector row of element k of contiguous projections.
fn row_of(g: &Geometry, k: usize) -> usize {
    match g.order {
        Order::Frames => k / g.bins % g.rows,
        Order::Sinograms => k / (g.bins * g.views()),
    }
}

/// A range of rows of 12: `filter` and `forward` write them and no others, and everything is as it is in the whole.
#[test]
fn a_range_of_slices() {
    for order in [Order::Frames, Order::Sinograms] {
        for (first, count) in [(0, 5), (3, 6), (11, 1), (2, 10)] {
            let mut whole = geometry(31, 12);
            whole.order = order;
            let mut part = whole.clone();
            (part.first_row, part.slices) = (first, count);
            let (p, v) = (random(projection_len(&whole), 11), random(volume_len(&whole), 12));
            let slice = whole.nx * whole.ny;
            let range = first * slice..(first + count) * slice;

            let expected = run_all(&mut best_plan(&whole), &whole, &p, &v);
            let mut ct = best_plan(&part);
            for (k, (name, run)) in TO_VOLUME.into_iter().enumerate() {
                let e = difference(&to_volume(&mut ct, &part, run, &p), &expected[k][range.clone()]);
                assert!(e < ROUNDING, "{name}, rows {first} + {count}: {e:.1e}");
            }
            let shape = part.projection_shape();
            for (name, expected) in
                [("filter", &filtered(&mut best_plan(&whole), &whole, &p)), ("forward", &expected[3])]
            {
                let mut seen = vec![f32::MAX; p.len()];
                let to = ArrayMut::new(&mut seen, shape).expect("projections");
                match name {
                    "filter" => ct.filter(Array::new(&p, shape).expect("projections"), to),
                    _ => ct.forward(Array::new(&v[range.clone()], part.volume_shape()).expect("a volume"), to),
                }
                .expect("success");
                // `filter` treats every row alike.
                let tolerance = if name == "filter" { 1e-7 } else { ROUNDING as f32 };
                let scale = expected.iter().fold(0.0f32, |m, v| m.max(v.abs()));
                for (k, (seen, expected)) in seen.iter().zip(expected).enumerate() {
                    if (first..first + count).contains(&row_of(&part, k)) {
                        assert!(
                            (seen - expected).abs() < tolerance * scale,
                            "{name}, element {k}: {seen}, not {expected}"
                        );
                    } else {
                        assert!(*seen == f32::MAX, "{name} wrote row {} beside {first} + {count}", row_of(&part, k));
                    }
                }
            }
        }
    }
}

/// An array whose elements lie anywhere: contiguous values of a shape, scattered into a larger buffer.
struct Scattered {
    data: Vec<f32>,
    origin: usize,
    shape: [usize; 3],
    strides: [isize; 3],
}

const GAP: f32 = -12345.0;

impl Scattered {
    fn new(values: &[f32], shape: [usize; 3], strides: [isize; 3]) -> Self {
        let reach = |sign: isize| -> usize {
            shape.iter().zip(strides).map(|(n, s)| (s * sign).max(0) as usize * (n - 1)).sum()
        };
        let mut out = Self { data: vec![GAP; reach(1) + reach(-1) + 1], origin: reach(-1), shape, strides };
        for (k, v) in values.iter().enumerate() {
            let at = out.at(k);
            out.data[at] = *v;
        }
        out
    }

    fn at(&self, k: usize) -> usize {
        let [_, m, n] = self.shape;
        let index = [k / (m * n), k / n % m, k % n];
        let offset: isize = index.iter().zip(self.strides).map(|(i, s)| *i as isize * s).sum();
        self.origin.checked_add_signed(offset).expect("inside")
    }

    fn view(&self) -> Array<'_> {
        // SAFETY: `new` made room for every element on both sides of the origin.
        unsafe {
            Array::from_raw(self.data.as_ptr().add(self.origin).cast(), DType::F32, self.shape, self.strides, None)
        }
    }

    fn view_mut(&mut self) -> ArrayMut<'_> {
        // SAFETY: as above, and the strides used here keep elements apart.
        unsafe {
            ArrayMut::from_raw(
                self.data.as_mut_ptr().add(self.origin).cast(),
                DType::F32,
                self.shape,
                self.strides,
                None,
            )
        }
    }

    /// The values, contiguous; what lies between them must be untouched.
    fn gather(&self) -> Vec<f32> {
        let n = self.shape.iter().product();
        let mut rest = self.data.clone();
        let values = (0..n).map(|k| std::mem::replace(&mut rest[self.at(k)], GAP)).collect();
        assert!(rest.iter().all(|v| *v == GAP), "something was written between the rows");
        values
    }
}

/// Strides for a shape: contiguous, padded, column-major, transposed, negative, every other element.
fn layouts([a, b, c]: [usize; 3]) -> Vec<[isize; 3]> {
    let [a, b, c] = [a as isize, b as isize, c as isize];
    vec![
        [b * c, c, 1],
        [b * (c + 5) + 3, c + 5, 1],
        [1, a, a * b],
        [c, a * c, 1],
        [b, 1, a * b],
        [-b * c, c, 1],
        [b * c, -c, 1],
        [b * c, c, -1],
        [-1, -a, -a * b],
        [2 * b * c, 2 * c, 2],
        [b * 3 * c, -3 * c, -3],
    ]
}

/// Strides only say where elements are: equal to the bit.
#[test]
fn strides_do_not_matter() {
    for rows in [1, 9] {
        for order in [Order::Frames, Order::Sinograms] {
            let mut g = geometry(13, rows + 1);
            (g.order, g.first_row, g.slices, g.nx) = (order, 1, rows, 47);
            let (p, v) = (random(projection_len(&g), 13), random(volume_len(&g), 14));
            let mut ct = best_plan(&g);
            let expected = run_all(&mut ct, &g, &p, &v);
            let rows_filtered = filtered(&mut ct, &g, &p);
            let (from, to) = (g.projection_shape(), g.volume_shape());
            for (k, (input, output)) in layouts(from).into_iter().zip(layouts(to)).enumerate() {
                let scattered = Scattered::new(&p, from, input);
                for ((name, run), expected) in TO_VOLUME.into_iter().zip(&expected) {
                    let mut out = Scattered::new(&vec![0.0; v.len()], to, output);
                    run(&mut ct, scattered.view(), out.view_mut()).expect("success");
                    assert!(out.gather() == *expected, "{name}, layout {k}, {order:?}");
                }
                let mut out = Scattered::new(&vec![0.0; p.len()], from, input);
                ct.forward(Scattered::new(&v, to, output).view(), out.view_mut()).expect("success");
                assert!(out.gather() == expected[3], "forward, layout {k}, {order:?}");
                let mut out = Scattered::new(&vec![0.0; p.len()], from, layouts(from)[(k + 3) % 11]);
                ct.filter(scattered.view(), out.view_mut()).expect("success");
                assert!(out.gather() == rows_filtered, "filter, layout {k}, {order:?}");
            }
        }
    }
}

fn filtered(ct: &mut Ct, g: &Geometry, p: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; p.len()];
    let to = ArrayMut::new(&mut out, g.projection_shape()).expect("projections");
    ct.filter(Array::new(p, g.projection_shape()).expect("projections"), to).expect("success");
    out
}

/// Frames as acquired, passed as sinograms by their strides alone, and the other way round.
#[test]
fn an_order_is_a_transposition() {
    let g = geometry(13, 9);
    let p = random(projection_len(&g), 15);
    let [views, rows, bins] = g.projection_shape();
    let expected = to_volume(&mut best_plan(&g), &g, Ct::reconstruct, &p);
    let mut sinograms = g.clone();
    sinograms.order = Order::Sinograms;
    let mut volume = vec![0.0; volume_len(&g)];
    // SAFETY: the strides of the transpose of contiguous frames.
    let view = unsafe {
        Array::from_raw(
            p.as_ptr().cast(),
            DType::F32,
            [rows, views, bins],
            [bins as isize, (rows * bins) as isize, 1],
            None,
        )
    };
    let to = ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume");
    best_plan(&sinograms).reconstruct(view, to).expect("success");
    assert!(volume == expected);
}

/// Filtered rows are rounded to f32 in both, weights multiply before or after interleaving: nothing else differs.
#[test]
fn filter_then_weighted_backprojection_is_reconstruct() {
    for rows in [1, 9, 33] {
        for interpolation in [Interpolation::Linear, Interpolation::Nearest, Interpolation::Oversampled] {
            let g = geometry(61, rows);
            let p = random(projection_len(&g), 16);
            let mut ct = best_plan(&g);
            ct.set_options(Options { interpolation, ..Options::default() }).expect("options");
            let expected = to_volume(&mut ct, &g, Ct::reconstruct, &p);
            let rows_filtered = filtered(&mut ct, &g, &p);
            let options = Options { interpolation, weighted_backprojection: true, ..Options::default() };
            ct.set_options(options).expect("options");
            let e = difference(&to_volume(&mut ct, &g, Ct::backproject, &rows_filtered), &expected);
            assert!(e < 1e-6, "{rows} rows, {interpolation:?}: {e:.1e}");
        }
    }
}
