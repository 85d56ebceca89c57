use super::super::view::View;
use super::*;
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

fn columns(events: &[[f64; 7]]) -> [Vec<f64>; 7] {
    std::array::from_fn(|k| events.iter().map(|e| e[k]).collect())
}

fn deposited(events: &[[f64; 7]], views: &Views) -> (Vec<u32>, Dropped) {
    let columns = columns(events);
    let mut counts = vec![0; views.list().len() * lattice().voxels()];
    let events = Events::new(std::array::from_fn(|k| &columns[k][..])).unwrap();
    let dropped = deposit(Level::detect(), &events, views, &lattice(), &mut counts).unwrap();
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
    let expected = Dropped { not_finite: 21, equal_positions: 1, outside_tilts: 2, outside_lattice: 6, overflow: 0 };
    assert_eq!(dropped, expected);
    assert_eq!(counts.iter().map(|c| u64::from(*c)).sum::<u64>() + dropped.total(), events.len() as u64);
}

#[test]
fn full_voxels_stay_full() {
    let columns = columns(&[event([0.1; 3], unit(0.0, 0.0), 0.0); 5]);
    let events = Events::new(std::array::from_fn(|k| &columns[k][..])).unwrap();
    let mut counts = vec![u32::MAX - 2; grid().list().len() * lattice().voxels()];
    let dropped = deposit(Level::detect(), &events, &grid(), &lattice(), &mut counts).unwrap();
    assert_eq!(dropped, Dropped { overflow: 3, ..Dropped::default() });
    assert_eq!(counts.iter().filter(|c| **c == u32::MAX).count(), 1);
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

/// Several rounds of chunks, several regions.
#[test]
fn does_not_depend_on_threads_strides_or_level() {
    let lattice = Lattice::new([9, 100, 100], [1.0, 1.0, 3.0]).unwrap();
    let events: Vec<f32> = many(CHUNK * 7 + 123, 4).into_iter().flatten().map(|v| v as f32).collect();
    let len = events.len() / 7;
    let last = 7 * (len - 1);
    let run = |level, threads, reverse: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut counts = vec![0; grid().list().len() * lattice.voxels()];
        assert!(counts.len() > 2 * REGION);
        // SAFETY: seven columns of `len` values, forwards or backwards.
        let list = unsafe {
            let first = events.as_ptr().wrapping_add(if reverse { last } else { 0 });
            Events::from_raw(std::array::from_fn(|k| first.wrapping_add(k)), [if reverse { -7 } else { 7 }; 7], len)
        };
        let dropped = pool.install(|| deposit(level, &list, &grid(), &lattice, &mut counts)).unwrap();
        assert_eq!(counts.iter().map(|c| u64::from(*c)).sum::<u64>() + dropped.total(), len as u64);
        (counts, dropped)
    };
    let one = run(Level::Baseline, 1, false);
    assert!(one.1.total() < len as u64 / 2);
    for level in Level::available() {
        assert!(one == run(level, 2, true));
        assert!(one == run(level, 3, false));
    }
}

#[test]
fn refuses_impossible_arrays() {
    assert!(Events::new([&[1.0][..], &[], &[1.0], &[1.0], &[1.0], &[1.0], &[1.0]]).is_err());
    let none = Events::<f32>::new([&[]; 7]).unwrap();
    assert!(deposit(Level::detect(), &none, &grid(), &lattice(), &mut [0; 5]).is_err());
    let mut counts = vec![7; grid().list().len() * lattice().voxels()];
    assert_eq!(deposit(Level::detect(), &none, &grid(), &lattice(), &mut counts).unwrap(), Dropped::default());
    let mut out = vec![0.0; counts.len()];
    to_f32(&counts, &mut out).unwrap();
    assert!(out.iter().all(|v| *v == 7.0));
    assert!(to_f32(&counts, &mut out[1..]).is_err());
}
