use super::blur::Blur;
use super::cpu::Lines;
use super::list::{Ends, List, ListArrays, no_times};
use super::{Grid, Part, Through};
use crate::cases::noise;
use crate::events::interleaved;
use crate::lattice::Lattice;
use crate::response::{FWHM_PER_SIGMA, HALF_LIGHT, Radial, Response};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, ContextOptions};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::level::Level;

/// Ends and times of lines of all directions through and past a lattice, some along its axes.
pub(crate) fn lines(count: usize, seed: u64) -> Vec<[f64; 7]> {
    let draws = noise(7 * count, seed);
    let mut all: Vec<[f64; 7]> = draws
        .chunks(7)
        .map(|d| {
            let d: Vec<f64> = d.iter().map(|v| 2.0 * f64::from(*v) - 1.0).collect();
            let (a, b) = (d[0] * 3.2, d[0] * 3.2 + std::f64::consts::PI + 0.7 * d[1]);
            [120.0 * a.cos(), 120.0 * a.sin(), 60.0 * d[2], 120.0 * b.cos(), 120.0 * b.sin(), 60.0 * d[3], 500.0 * d[4]]
        })
        .collect();
    all[0] = [-90.0, 4.0, 2.0, 90.0, 4.0, 2.0, 100.0];
    all[1] = [7.0, 90.0, -3.0, 7.0, -90.0, -3.0, 0.0];
    all[2] = [7.0, 8.0, 80.0, 7.0, 8.0, -80.0, -50.0];
    // Along the border of the lattice, within it, from within to without, and past it.
    all[3] = [-90.0, 26.5, 3.0, 90.0, 26.5, 3.0, 0.0];
    all[4] = [-10.0, 5.0, 3.0, 12.0, -7.0, 9.0, 20.0];
    all[5] = [0.0, 0.0, 0.0, 90.0, 30.0, 10.0, 200.0];
    all[6] = [-90.0, 80.0, 3.0, 90.0, 80.0, 3.0, 0.0];
    all
}

pub(crate) fn lattice() -> Lattice {
    Lattice::new([11, 18, 21], [3.0, 2.8, 5.0]).expect("a lattice")
}

/// The error function by Simpson's rule.
fn part_of_normal(u: f64) -> f64 {
    let density = |t: f64| (-0.5 * t * t).exp() / std::f64::consts::TAU.sqrt();
    let weight = |k: u32| if k == 0 || k == 400 { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
    (0..=400).map(|k| weight(k) * density(u * f64::from(k) / 400.0)).sum::<f64>() * u / 1200.0
}

/// The definition, plane by plane in f64: (voxel, weight) of a line.
pub(super) fn by_definition(lattice: &Lattice, event: &[f64; 7], timing: Option<(f64, f64)>) -> Vec<(usize, f64)> {
    let (n, size) = (lattice.along(), lattice.voxel());
    let (p, q) = ([event[0], event[1], event[2]], [event[3], event[4], event[5]]);
    let length = (0..3).map(|a| (q[a] - p[a]).powi(2)).sum::<f64>().sqrt();
    let crossed: Vec<f64> = (0..3).map(|a| ((q[a] - p[a]) / size[a]).abs()).collect();
    let axis = (0..3).max_by(|a, b| crossed[*a].total_cmp(&crossed[*b]).then(b.cmp(a))).expect("three");
    let step = length / crossed[axis];
    let mut all = Vec::new();
    for k in 0..n[axis] {
        // From p on, as a part of the line.
        let t = (lattice.position(axis, k) - p[axis]) / (q[axis] - p[axis]);
        if !(0.0..=1.0).contains(&t) {
            continue;
        }
        let weight = match timing {
            None => step,
            Some((sigma, cut)) => {
                let off = t * length - (0.5 * length - HALF_LIGHT * event[6]);
                let edge = |d: f64| part_of_normal(((off + d * step) / sigma).clamp(-cut, cut));
                (edge(0.5) - edge(-0.5)) / (2.0 * part_of_normal(cut))
            }
        };
        let at: [f64; 3] = std::array::from_fn(|a| p[a] + t * (q[a] - p[a]));
        for voxel in 0..lattice.voxels() {
            let index = [voxel % n[0], voxel / n[0] % n[1], voxel / n[0] / n[1]];
            let near = |a: usize| (1.0 - ((at[a] - lattice.position(a, index[a])) / size[a]).abs()).max(0.0);
            if index[axis] == k {
                let part: f64 = (0..3).filter(|a| *a != axis).map(near).product();
                if part * weight > 0.0 {
                    all.push((voxel, part * weight));
                }
            }
        }
    }
    all
}

pub(super) fn padded(grid: &Grid, values: &[f32]) -> Buffer<f32> {
    let [nx, ny, _] = grid.sides;
    let mut image = grid.zeroed().expect("memory");
    grid.fill(&mut image, |x, y, column| {
        column.iter_mut().enumerate().for_each(|(z, v)| *v = values[(z * ny + y) * nx + x]);
    });
    image
}

pub(crate) fn arrays<'a>(events: &'a [[f64; 7]], timed: bool) -> ListArrays<'a> {
    let mut ends = interleaved::read(events);
    if !timed {
        ends.time = no_times(events.len());
    }
    ListArrays { ends: Ends::Positions(ends), timed, tof_fwhm: None }
}

fn context(threads: usize) -> Context {
    Context::new(ContextOptions { threads, ..ContextOptions::default() }).expect("a context")
}

fn on<'a>(level: Level, list: &'a List<'a>, blur: Option<Blur>) -> Lines<'a> {
    Lines { level, through: Through { list, grid: Grid::of(&lattice()).expect("a grid"), blur } }
}

fn forward(lines: &Lines, image: &[f32], threads: usize) -> (Vec<f32>, crate::dropped::Dropped) {
    let mut values = vec![f32::NAN; lines.through.list.len()];
    let dropped = context(threads).run(|job| {
        let mut image = padded(&lines.through.grid, image);
        lines.blurred(&mut image)?;
        let to = ArrayMut::new(&mut values, [lines.through.list.len()])?;
        lines.forward(&image, &to, job)
    });
    (values, dropped.expect("lines"))
}

fn image_of(lines: &Lines, from: &Buffer<f32>) -> Vec<f32> {
    let [nx, ny, nz] = lines.through.grid.sides;
    (0..nx * ny * nz).map(|v| from[lines.through.grid.column(v % nx, v / nx % ny) + v / nx / ny]).collect()
}

fn adjoint(lines: &Lines, values: &[f32], threads: usize) -> Vec<f32> {
    let mut images = Vec::new();
    let values = Array::new(values, [values.len()]).expect("values");
    context(threads).run(|job| lines.adjoint(&values, &mut images, job)).expect("lines");
    image_of(lines, &images[0])
}

const FWHM: f64 = 150.0;

fn response() -> Response {
    Response::new(FWHM, Radial::Constant(1e-3), 1e-3)
}

fn levels() -> Vec<Level> {
    Level::available().collect()
}

/// Against the definition in f64, at every level, with and without times. Places of f32 are wrong by 2e-6 voxels on either axis, weights of planes by 3e-7 of the whole Gaussian: with values of up to 1 that is
/// 4e-6 of the planes' weights, 110 mm at most or 1, and rounding of sums is half as much.
#[test]
fn sums_along_lines_are_the_definition_s() {
    let (events, lattice) = (lines(600, 1), lattice());
    let image = noise(lattice.voxels(), 2);
    for timed in [false, true] {
        let timing = timed.then_some((FWHM * HALF_LIGHT / FWHM_PER_SIGMA, 3.0));
        let list = List::new(&arrays(&events, timed), None, Some(&response()), 1.0).expect("a list");
        for level in levels() {
            let (found, dropped) = forward(&on(level, &list, None), &image, 2);
            let (mut missed, whole) = (0, if timed { 1.0 } else { 110.0 });
            for (k, event) in events.iter().enumerate() {
                let weights = by_definition(&lattice, event, timing);
                let expected: f64 = weights.iter().map(|(v, w)| w * f64::from(image[*v])).sum();
                let all: f64 = weights.iter().map(|(_, w)| w).sum();
                let error = (f64::from(found[k]) - expected).abs();
                assert!(error < 6e-6 * whole, "{level:?} {timed} {k}: {} {expected}", found[k]);
                missed += u64::from(all == 0.0);
            }
            // Some touch the image at a corner with next to no weight.
            assert!(dropped.total() == dropped.outside_lattice && dropped.outside_lattice <= missed, "{dropped:?}");
            assert!(dropped.outside_lattice + 8 > missed && missed > 20, "{missed} {dropped:?}");
        }
    }
}

/// <J G f, v> = <f, G J' v>, to the rounding of sums of some 10^4 products; the same bits for any number of threads.
#[test]
fn back_projection_is_the_transpose() {
    let (events, lattice) = (lines(3000, 3), lattice());
    let (image, values) = (noise(lattice.voxels(), 4), noise(3000, 5));
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    let wide = Response::new(FWHM, Radial::Constant(6.0), 7.0);
    for timed in [false, true] {
        let list = List::new(&arrays(&events, timed), None, Some(&wide), 1.0).expect("a list");
        for level in levels() {
            let grid = Grid::of(&lattice).expect("a grid");
            let all = on(level, &list, Some(Blur::new(&wide, &grid).expect("widths")));
            let back = adjoint(&all, &values, 3);
            let (left, right) = (dot(&forward(&all, &image, 1).0, &values), dot(&image, &back));
            assert!((left - right).abs() < 2e-6 * left.abs(), "{level:?} {timed}: {left} {right}");
            assert_eq!(back, adjoint(&all, &values, 1));
        }
    }
}

/// Against the definition: the sum over events of weights over what is expected.
#[test]
fn ratios_are_the_definition_s() {
    let (events, lattice) = (lines(500, 6), lattice());
    let image = noise(lattice.voxels(), 7);
    let mut more = noise(500, 8);
    let list = List::new(&arrays(&events, true), None, Some(&response()), 1.0).expect("a list");
    let timing = Some((FWHM * HALF_LIGHT / FWHM_PER_SIGMA, 3.0));
    let parts = 3;
    let mut expected = vec![vec![0.0; lattice.voxels()]; parts];
    let mut logs = vec![0.0; parts];
    let part_of = |k: usize| k / Part::of(0, parts, 500).size % parts;
    for (k, event) in events.iter().enumerate() {
        let weights = by_definition(&lattice, event, timing);
        if weights.is_empty() {
            // Whether a line that touches the border counts or not.
            more[k] = 1.0;
        }
        let sum = weights.iter().map(|(v, w)| w * f64::from(image[*v])).sum::<f64>() + f64::from(more[k]);
        logs[part_of(k)] += sum.ln();
        weights.iter().for_each(|(v, w)| expected[part_of(k)][*v] += w / sum);
    }
    for level in levels() {
        let all = on(level, &list, None);
        let image = padded(&all.through.grid, &image);
        for part in 0..parts {
            let mut images = Vec::new();
            let besides = |from: usize, row: &mut [f32]| row.copy_from_slice(&more[from..][..row.len()]);
            let tally = all.ratios(Part::of(part, parts, 500), &image, &mut images, &besides).expect("lines");
            for (v, (found, right)) in image_of(&all, &images[0]).iter().zip(&expected[part]).enumerate() {
                // Sums of a few dozen weights, each 3e-7 of a Gaussian off, over 0.3 or so.
                assert!((f64::from(*found) - right).abs() < 1e-5 * right.max(1.0), "{level:?} {v}: {found} {right}");
            }
            assert!((tally.log_likelihood - logs[part]).abs() < 1e-4 * logs[part].abs().max(1.0));
            assert_eq!(tally.skipped, 0);
        }
    }
}

/// Lines of every direction through the middle see a constant image as long as it is: half a voxel beyond either end at most, by interpolation. With times all of the Gaussian.
#[test]
fn a_constant_is_as_long_as_the_lattice() {
    let image = vec![1.0; lattice().voxels()];
    let events: Vec<[f64; 7]> = (0..60)
        .map(|k| {
            let azimuth = 0.1 * f64::from(k);
            let (x, y) = (300.0 * azimuth.cos(), 300.0 * azimuth.sin());
            [x, y, 0.0, -x, -y, 0.0, 0.0]
        })
        .collect();
    for timed in [false, true] {
        let list = List::new(&arrays(&events, timed), None, Some(&response()), 1.0).expect("a list");
        let (found, _) = forward(&on(levels()[0], &list, None), &image, 1);
        for (event, found) in events.iter().zip(found) {
            let (cos, sin) = (event[0] / 300.0, event[1] / 300.0);
            let across = (63.0 / cos.abs()).min(50.4 / sin.abs());
            let right = if timed { 1.0 } else { across };
            // In one plane of voxels a line ends within half a voxel of the border, 3 and 2.8 mm, where interpolation has half.
            let slack = if timed { 0.02 } else { 3.0 };
            assert!((f64::from(found) - right).abs() < slack, "{timed} {event:?}: {found} {right}");
        }
    }
}

/// Widths of each event's own.
#[test]
fn widths_of_events_are_their_own() {
    let events = lines(64, 9);
    let image = noise(lattice().voxels(), 10);
    let widths: Vec<f32> = (0..64).map(|k| if k % 2 == 0 { 150.0 } else { 400.0 }).collect();
    let of = |response: &Response, widths: Option<&[f32]>| {
        let tof_fwhm = widths.map(|w| Array::new(w, [w.len()]).expect("widths"));
        let given = ListArrays { tof_fwhm, ..arrays(&events, true) };
        let list = List::new(&given, None, Some(response), 1.0).expect("a list");
        forward(&on(levels()[0], &list, None), &image, 1).0
    };
    let [narrow, wide] = [150.0, 400.0].map(|fwhm| of(&Response { tof_fwhm_ps: fwhm, ..response() }, None));
    let mixed = of(&response(), Some(&widths));
    for k in 0..64 {
        assert_eq!(mixed[k], if k % 2 == 0 { narrow[k] } else { wide[k] }, "{k}");
    }
    assert_ne!(narrow, wide);
}

#[test]
fn what_is_no_list_is_refused() {
    let events = lines(10, 1);
    let message = |given: &ListArrays, response: Option<&Response>| {
        List::new(given, None, response, 1.0).expect_err("refused").message
    };
    assert!(message(&arrays(&events, true), None).contains("no response that tells how exact"));
    let widths = [100.0f32; 10];
    let with = |widths, timed| ListArrays { tof_fwhm: Some(widths), ..arrays(&events, timed) };
    assert!(message(&with(Array::new(&widths, [10]).expect("widths"), false), None).contains("list.times is NULL"));
    assert!(message(&with(Array::new(&widths[..9], [9]).expect("widths"), true), None).contains("10 events"));
    let bad = [0.0f32; 10];
    assert_eq!(
        message(&with(Array::new(&bad, [10]).expect("widths"), true), None),
        "list.tof_fwhm[0] is 0 ps; it must be above 0"
    );
    let bad = [f32::NAN; 10];
    assert!(message(&with(Array::new(&bad, [10]).expect("widths"), true), None).starts_with("list.tof_fwhm[0] is NaN"));
    let mut variant = response();
    variant.radial = Radial::Table { radius: vec![0.0, 10.0], fwhm: vec![4.0, 5.0] };
    let grid = Grid::of(&lattice()).expect("a grid");
    assert!(Blur::new(&variant, &grid).expect_err("refused").message.contains("radial_table"));
}

/// Every event is in one part, parts of few events have some of all times.
#[test]
fn parts_have_all_events() {
    for (events, count) in [(1, 1), (5, 3), (100, 8), (10_000, 24), (3, 8)] {
        let mut seen = vec![0; events];
        for first in 0..count {
            let part = Part::of(first, count, events);
            for run in 0..part.runs(events) {
                let from = part.start(run);
                seen[from..events.min(from + part.size)].iter_mut().for_each(|n| *n += 1);
            }
        }
        assert!(seen.iter().all(|n| *n == 1), "{events} {count}: {seen:?}");
    }
}
