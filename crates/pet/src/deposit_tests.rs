use super::super::events::{BLOCK, Block, interleaved};
use super::super::quick::{Found, Quick};
use super::super::response::HALF_LIGHT;
use super::super::view::View;
use super::*;
use isocenter_base::array::{Array, DType};
use isocenter_base::context::{Compute, ContextOptions};
use isocenter_base::error::Status;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;

const TILT: f64 = 0.1745;

fn lattice() -> Lattice {
    Lattice::new([5, 20, 24], [4.0, 5.0, 6.0]).unwrap()
}

fn grid() -> Views {
    Views::grid(8, 3, TILT).unwrap()
}

fn unit(azimuth: f64, tilt: f64) -> [f64; 3] {
    [azimuth.cos() * tilt.cos(), azimuth.sin() * tilt.cos(), tilt.sin()]
}

/// Ends 400 mm before and behind a place, and the time difference that says where it is.
fn event(place: [f64; 3], n: [f64; 3], off: f64) -> [f64; 7] {
    let end = |t: f64| std::array::from_fn::<_, 3, _>(|d| place[d] + t * n[d]);
    let ([x1, y1, z1], [x2, y2, z2]) = (end(400.0 - off), end(-400.0 - off));
    [x1, y1, z1, x2, y2, z2, off / HALF_LIGHT]
}

fn context(level: Level, threads: usize, memory_cap: u64) -> Context {
    let (compute, level) = (Compute::Cpu, Some(level));
    Context::new(ContextOptions { compute, level, threads, memory_cap, ..ContextOptions::default() }).unwrap()
}

fn histos<'a>(counts: &'a mut [u32], views: &Views, lattice: &Lattice) -> ArrayMut<'a, 4> {
    let [nz, ny, nx] = lattice.shape();
    ArrayMut::of(counts, [views.list().len(), nz, ny, nx]).unwrap()
}

fn added(counts: &mut [u32], context: &Context, events: &EventArrays, views: &Views, lattice: &Lattice) -> Dropped {
    deposit(context, views, lattice, events, histos(counts, views, lattice)).unwrap()
}

fn deposited(events: &[[f64; 7]], views: &Views) -> (Vec<u32>, Dropped) {
    let mut counts = vec![0; views.list().len() * lattice().voxels()];
    let context = context(Level::detect(), 2, 0);
    let dropped = added(&mut counts, &context, &interleaved::read(events), views, &lattice());
    (counts, dropped)
}

fn only(counts: &[u32]) -> [usize; 4] {
    let hits: Vec<usize> = (0..counts.len()).filter(|k| counts[*k] > 0).collect();
    assert_eq!(hits.len(), 1);
    let [nz, ny, nx] = lattice().shape();
    [hits[0] / lattice().voxels(), hits[0] / (nx * ny) % nz, hits[0] / nx % ny, hits[0] % nx]
}

/// Voxel (z 3, y 2, x 20): centres are (j - (n-1)/2) * size.
#[test]
fn an_event_is_where_its_time_difference_says() {
    let place = [(20.0 - 11.5) * 4.0 + 1.9, (2.0 - 9.5) * 5.0 - 2.4, (3.0 - 2.0) * 6.0 + 2.9];
    for (off, azimuth, view) in [(0.0, 0.0, 1), (130.0, PI / 8.0, 4), (-70.0, PI / 2.0, 13)] {
        let (counts, dropped) = deposited(&[event(place, unit(azimuth, 0.0), off)], &grid());
        assert_eq!(dropped, Dropped::default());
        assert_eq!(only(&counts), [view, 3, 2, 20]);
    }
}

/// t2 - t1 > 0: nearer to p1.
#[test]
fn a_later_second_photon_is_nearer_to_the_first_position() {
    let dt = 30.0 / HALF_LIGHT;
    let (counts, _) = deposited(&[[465.0, 1.0, 1.0, -465.0, 1.0, 1.0, dt]], &grid());
    assert_eq!(only(&counts), [1, 2, 10, 19]);
}

#[test]
fn exchanged_ends_are_the_same_event() {
    for (azimuth, tilt) in [(0.3, 0.1), (1.6, -0.1), (2.9, 0.12), (3.1, 0.1), (3.1, -0.1)] {
        let one = event([5.0, 6.0, 7.0], unit(azimuth, tilt), 40.0);
        let other = [one[3], one[4], one[5], one[0], one[1], one[2], -one[6]];
        assert_eq!(deposited(&[one], &grid()).0, deposited(&[other], &grid()).0);
    }
}

#[test]
fn each_cause_is_counted() {
    let n = unit(0.4, 0.0);
    let mut events = vec![
        event([47.9, 0.0, 0.0], n, 0.0),
        event([48.1, 0.0, 0.0], n, 0.0),
        event([0.0, -50.1, 0.0], n, 0.0),
        event([0.0, 0.0, 15.1], n, 0.0),
        event([0.0; 3], unit(0.4, 0.18), 0.0),
        event([0.0; 3], [0.0, 0.0, 1.0], 0.0),
        [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 100.0],
        [1e300, 0.0, 0.0, -1e300, 1.0, 0.0, 0.0],
        [1e300, 0.0, 0.0, 1e300, 1.0, 0.0, 0.0],
        [1.0, 2.0, 3.0, -1.0, 2.0, 3.0, f64::MAX],
    ];
    for k in 0..7 {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut e = event([0.0; 3], n, 0.0);
            e[k] = bad;
            events.push(e);
        }
    }
    let (counts, dropped) = deposited(&events, &grid());
    let expected =
        Dropped { not_finite: 21, equal_positions: 1, outside_tilts: 2, outside_lattice: 6, ..Dropped::default() };
    assert_eq!(dropped, expected);
    assert_eq!(counts.iter().map(|c| u64::from(*c)).sum::<u64>() + dropped.total(), events.len() as u64);
}

#[test]
fn full_voxels_stay_full() {
    let events = [event([0.1; 3], unit(0.0, 0.0), 0.0); 5];
    let context = context(Level::detect(), 2, 0);
    let events = interleaved::read(&events);
    let mut counts = vec![u32::MAX - 2; grid().list().len() * lattice().voxels()];
    let dropped = added(&mut counts, &context, &events, &grid(), &lattice());
    assert_eq!(dropped, Dropped { overflow: 3, ..Dropped::default() });
    assert_eq!(counts.iter().filter(|c| **c == u32::MAX).count(), 1);
    // f32 has no odd number beyond 2^24.
    let max = 16_777_216f32;
    counts.fill((max - 2.0).to_bits());
    let to = Layout { dtype: DType::F32, ..*histos(&mut counts, &grid(), &lattice()).layout() };
    // SAFETY: the counts as numbers of the same size.
    let to = unsafe { ArrayMut::over(to) };
    let dropped = deposit(&context, &grid(), &lattice(), &events, to).unwrap();
    assert_eq!(dropped, Dropped { overflow: 3, ..Dropped::default() });
    assert_eq!(counts.iter().filter(|c| f32::from_bits(**c) == max).count(), 1);
}

/// Uniform in a box somewhat larger than the lattice and tilts somewhat beyond the views'.
fn many(n: usize, seed: u64) -> Vec<[f64; 7]> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut draw = |half: f64| random.random_range(-half..half);
    (0..n).map(|_| event([draw(55.0), draw(55.0), draw(17.0)], unit(draw(PI), draw(0.2)), draw(200.0))).collect()
}

/// Borders between voxels are met with probability 1e-13 an event: both ways agree on all of them.
#[test]
fn agrees_with_the_definition() {
    for views in [grid(), Views::new(vec![View::new(0.3, 0.05).unwrap(), View::new(2.0, -0.1).unwrap()], TILT).unwrap()]
    {
        let events = many(20_000, 3);
        let (counts, dropped) = deposited(&events, &views);
        let mut expected = vec![0u32; counts.len()];
        let (mut tilted, mut outside) = (0, 0);
        for e in &events {
            let d = [e[0] - e[3], e[1] - e[4], e[2] - e[5]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let n = d.map(|v| v / length);
            let Some(view) = views.nearest(n) else {
                tilted += 1;
                continue;
            };
            let p = std::array::from_fn(|a| (e[a] + e[a + 3]) / 2.0 + HALF_LIGHT * e[6] * n[a]);
            let Some([x, y, z]) = lattice().voxel_at(p) else {
                outside += 1;
                continue;
            };
            let [nz, ny, nx] = lattice().shape();
            expected[((view * nz + z) * ny + y) * nx + x] += 1;
        }
        assert!(tilted > 1000 && outside > 1000);
        assert_eq!(dropped, Dropped { outside_tilts: tilted, outside_lattice: outside, ..Dropped::default() });
        assert!(counts == expected);
    }
}

/// Within some of its rounding of borders of voxels, azimuths and tilts, at the limits of what is quick, and of every cause.
fn doubtful(n: usize) -> Vec<[f32; 7]> {
    let mut random = StdRng::seed_from_u64(9);
    let mut events = Vec::new();
    for k in 0..n {
        let mut near = |border: f64, by: f64| border + by * random.random_range(-1.0..1.0);
        let [x, y, z] = [4.0, 5.0, 6.0].map(|side| near(0.0, 6.0) * side);
        // About what f32 rounds these by, and more.
        let closer = [1.0, 0.03][k % 2];
        let place =
            [near((x / 4.0f64).round() * 4.0, 2e-3 * closer), near((y / 5.0f64).round() * 5.0, 2e-3 * closer), z];
        let azimuth = (near(0.0, 16.0).round() + 0.5) * PI / 8.0;
        let tilt = near(0.0, 2.4).round() / 3.0 * 2.0 * TILT - TILT / 3.0;
        let n = match k % 3 {
            0 => unit(near(azimuth, 4e-6 * closer), near(0.0, 0.2)),
            1 => unit(near(0.0, PI), near(tilt, 4e-6 * closer)),
            _ => unit(near(0.0, PI), near(0.0, 0.2)),
        };
        let [x1, y1, z1, x2, y2, z2, dt] = event(place, n, near(0.0, 200.0));
        let shrunk = [1.0, 1.0, 1.0, 1e-3, 1e-6, 1e-20, 2.56, 2.5601, 1e6, 1e30][k / 3 % 10];
        events.push([x1, y1, z1, x2, y2, z2, dt].map(|v| (v * shrunk) as f32));
    }
    let n = events.len();
    for k in 0..7 {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0, f32::MAX, f32::MIN_POSITIVE, 1e-40] {
            let mut e = events[(31 * k) % n];
            e[k] = bad;
            events.push(e);
            if k < 3 {
                (e[k], e[k + 3]) = (bad, bad);
                events.push(e);
            }
        }
    }
    events.push([0.0; 7]);
    events
}

/// Positions in f32 are looked at in single precision first, the same numbers in f64 are not.
#[test]
fn single_precision_finds_what_double_does() {
    let usual: Vec<[f32; 7]> = many(CHUNK + 777, 6).into_iter().map(|e| e.map(|v| v as f32)).collect();
    let places = lattice().shape().map(|n| n as isize);
    let strides = [1, places[2], places[1] * places[2], lattice().voxels() as isize, 0];
    let quick = Quick::new(&grid(), &lattice(), strides, 0).expect("it pays");
    for (events, doubts) in [(usual, 0.0..0.02), (doubtful(30_000), 0.6..1.0)] {
        let single = interleaved::read(&events);
        let list = Events::new(&single).unwrap();
        let (mut left, mut elements) = (Vec::new(), vec![0; BLOCK + 1]);
        let mut block = Block::<f32>::new();
        for from in (0..events.len()).step_by(BLOCK) {
            let mut found = Found { elements: &mut elements, count: 0, dropped: Dropped::default() };
            let n = list.read(from, &mut block);
            quick.locate(&block, n, &mut found, &mut left);
        }
        let part = left.len() as f64 / events.len() as f64;
        assert!(doubts.contains(&part), "{part} of them are doubtful");
        let double: Vec<[f64; 7]> = events.iter().map(|e| e.map(f64::from)).collect();
        let (expected, dropped) = deposited(&double, &grid());
        assert!(dropped.total() < events.len() as u64);
        for level in Level::available() {
            let mut counts = vec![0; expected.len()];
            let context = context(level, 2, 0);
            assert_eq!(added(&mut counts, &context, &single, &grid(), &lattice()), dropped, "{level:?}");
            assert!(counts == expected, "{level:?}");
        }
    }
}

/// Where rounding is not small beside voxels or views, and where an image has more elements than 32 bits count, f64 has all events.
#[test]
fn single_precision_is_for_what_it_is_precise_enough_for() {
    let strides = [1, 24, 480, 2400, 0];
    let of = |views: &Views, lattice: &Lattice, strides| Quick::new(views, lattice, strides, 0).is_some();
    assert!(of(&grid(), &lattice(), strides));
    assert!(!of(&grid(), &Lattice::new([5, 20, 24], [0.01, 5.0, 6.0]).unwrap(), strides));
    assert!(!of(&Views::grid(8, 3, 1e-6).unwrap(), &lattice(), strides));
    assert!(!of(&grid(), &lattice(), [1, 24, 1 << 29, 2400, 0]));
    assert!(!of(&grid(), &lattice(), [1, 24, 480, 1 << 40, 0]));
    assert!(!of(&Views::new(vec![View::new(0.3, 0.05).unwrap()], TILT).unwrap(), &lattice(), strides));
}

/// Several rounds of chunks (the cap leaves room for one or two of them), several regions; lists in f32 and f64, forwards and
/// backwards, packed or not; counts in any order, with gaps.
#[test]
fn does_not_depend_on_threads_memory_strides_or_level() {
    let lattice = Lattice::new([9, 100, 100], [1.0, 1.0, 3.0]).unwrap();
    let (views, voxels) = (grid(), lattice.voxels());
    let events: Vec<[f32; 7]> = many(CHUNK * 3 + 123, 4).into_iter().map(|e| e.map(|v| v as f32)).collect();
    let mut expected = vec![0; views.list().len() * voxels];
    assert!(expected.len() as u64 > 2 * REGION);
    let strided = interleaved::read(&events);
    let dropped = added(&mut expected, &context(Level::BASELINE, 1, 0), &strided, &views, &lattice);
    let all: u64 = expected.iter().map(|c| u64::from(*c)).sum();
    assert!(dropped.total() < events.len() as u64 / 2 && all + dropped.total() == events.len() as u64);
    let packed: [Vec<[f32; 3]>; 2] = [0, 3].map(|k| events.iter().map(|e| std::array::from_fn(|a| e[k + a])).collect());
    let times: Vec<f64> = events.iter().map(|e| f64::from(e[6])).collect();
    fn backwards<'a>(e: &EventArrays<'a>) -> EventArrays<'a> {
        fn turned<'a, const N: usize>(array: &Array<'a, N>) -> Array<'a, N> {
            let mut layout = *array.layout();
            let mut last = [0; N];
            last[0] = layout.shape[0] - 1;
            layout.origin = layout.element(last);
            layout.strides[0] *= -1;
            // SAFETY: the same elements.
            unsafe { Array::over(layout) }
        }
        EventArrays { first: turned(&e.first), second: turned(&e.second), time: turned(&e.time) }
    }
    let packed = EventArrays {
        first: Array::of(packed[0].as_flattened(), [events.len(), 3]).unwrap(),
        second: Array::of(packed[1].as_flattened(), [events.len(), 3]).unwrap(),
        time: Array::of(&times, [events.len()]).unwrap(),
    };
    for level in Level::available() {
        for (threads, cap, list) in
            [(2, 0, packed), (3, 1_200_000, strided), (1, 450_000, backwards(&packed)), (2, 0, backwards(&strided))]
        {
            let mut counts = vec![0; expected.len()];
            let context = context(level, threads, cap);
            assert_eq!(added(&mut counts, &context, &list, &views, &lattice), dropped);
            assert!(counts == expected);
            // x slowest, z backwards, room for 3 elements between neighbours; f32.
            let [nz, ny, nx] = lattice.shape();
            let n = views.list().len();
            let mut room = vec![0f32; nx * ny * nz * n * 3];
            let strides = [3, -((3 * n) as isize), (3 * n * nz) as isize, (3 * n * nz * ny) as isize];
            let origin = room.as_mut_ptr().wrapping_add(3 * n * (nz - 1)).cast_const().cast();
            let to = Layout { strides, ..Layout::new(origin, DType::F32, [n, nz, ny, nx]) };
            // SAFETY: elements of `room`.
            let to = unsafe { ArrayMut::over(to) };
            assert_eq!(deposit(&context, &views, &lattice, &list, to).unwrap(), dropped);
            for (k, e) in expected.iter().enumerate() {
                let [v, z, y, x] = [k / voxels, k / (nx * ny) % nz, k / nx % ny, k % nx];
                assert_eq!(room[3 * (v + n * ((nz - 1 - z) + nz * (y + ny * x)))], *e as f32);
            }
        }
    }
}

#[test]
fn refuses_what_does_not_fit() {
    let list = [event([0.0; 3], unit(0.1, 0.0), 0.0)];
    let events = interleaved::read(&list);
    let mut counts = vec![7; grid().list().len() * lattice().voxels()];
    let to = *histos(&mut counts, &grid(), &lattice()).layout();
    let refused = |context: &Context, events: &EventArrays, to: &Layout<4>| {
        // SAFETY: elements of `counts`, or none that is touched: it is refused.
        let to = unsafe { ArrayMut::over(*to) };
        deposit(context, &grid(), &lattice(), events, to).expect_err("refused").status
    };
    let usual = context(Level::detect(), 1, 0);
    assert_eq!(refused(&context(Level::detect(), 1, 300_000), &events, &to), Status::MemoryCap);
    assert_eq!(refused(&usual, &events, &Layout { shape: [24, 5, 20, 23], ..to }), Status::TensorShape);
    let far = Layout { strides: [1 << 43, 480, 24, 1], ..to };
    assert_eq!(refused(&usual, &events, &far), Status::TensorStrides);
    fn with<'a, const N: usize>(array: &Array<'a, N>, shape: [usize; N], dtype: DType) -> Array<'a, N> {
        // SAFETY: fewer elements, or none that is touched: it is refused.
        unsafe { Array::over(Layout { shape, dtype, ..*array.layout() }) }
    }
    let short = EventArrays { second: with(&events.second, [1, 2], DType::F64), ..events };
    assert_eq!(refused(&usual, &short, &to), Status::TensorShape);
    let complex = EventArrays { first: with(&events.first, [1, 3], DType::C64), ..events };
    assert_eq!(refused(&usual, &complex, &to), Status::TensorDtype);
    let none = EventArrays {
        first: with(&events.first, [0, 3], DType::F64),
        second: with(&events.second, [0, 3], DType::F64),
        time: with(&events.time, [0], DType::F64),
    };
    assert_eq!(added(&mut counts, &usual, &none, &grid(), &lattice()), Dropped::default());
    assert!(counts.iter().all(|c| *c == 7));
    let cancelled = ContextOptions { progress: Some(Box::new(|_, _| true)), ..ContextOptions::default() };
    assert_eq!(refused(&Context::new(cancelled).unwrap(), &events, &to), Status::Cancelled);
}
