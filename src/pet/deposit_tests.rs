use super::super::deposit_views::{NearestView, ViewGrid, ViewList};
use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::PI;

const VOXELS: Voxels = Voxels { shape: [5, 20, 24], size: [4.0, 5.0, 6.0] };
const TILT: f64 = 0.1745;

fn azimuths(n: usize) -> Vec<f64> {
    (0..n).map(|k| k as f64 * PI / n as f64).collect()
}

fn grid() -> ViewGrid {
    ViewGrid::new(&azimuths(8), &[-0.116, 0.0, 0.116], [-TILT, TILT]).unwrap()
}

fn unit(azimuth: f64, tilt: f64) -> [f64; 3] {
    [azimuth.cos() * tilt.cos(), azimuth.sin() * tilt.cos(), tilt.sin()]
}

/// Ends 400 mm before and behind a place, and the time difference that says where it is.
fn event(place: [f64; 3], n: [f64; 3], off: f64) -> [f64; 7] {
    let end = |t: f64| std::array::from_fn::<_, 3, _>(|d| place[d] + t * n[d]);
    let ([x1, y1, z1], [x2, y2, z2]) = (end(400.0 - off), end(-400.0 - off));
    [x1, y1, z1, x2, y2, z2, off / HALF_LIGHT_SPEED]
}

fn columns(events: &[[f64; 7]]) -> [Vec<f64>; 7] {
    std::array::from_fn(|k| events.iter().map(|e| e[k]).collect())
}

fn deposited(events: &[[f64; 7]], views: &impl NearestView) -> (Vec<u32>, Dropped) {
    let columns = columns(events);
    let mut counts = vec![0; views.count() * VOXELS.count()];
    let events = Events::new(std::array::from_fn(|k| &columns[k][..])).unwrap();
    let dropped = deposit(Level::detect(), &events, views, &VOXELS, &mut counts).unwrap();
    (counts, dropped)
}

fn only(counts: &[u32]) -> [usize; 4] {
    let hits: Vec<usize> = (0..counts.len()).filter(|k| counts[*k] > 0).collect();
    assert_eq!(hits.len(), 1);
    let [nz, ny, nx] = VOXELS.shape;
    [hits[0] / VOXELS.count(), hits[0] / (nx * ny) % nz, hits[0] / nx % ny, hits[0] % nx]
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
    let dt = 30.0 / HALF_LIGHT_SPEED;
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

/// Past the last azimuth the nearest view is the first one, seen from the other side: its tilt is the opposite.
#[test]
fn azimuths_close_over_half_a_turn_with_opposite_tilt() {
    let near_pi = PI - 0.1;
    assert_eq!(grid().nearest(unit(near_pi, 0.1)), Some(0));
    assert_eq!(grid().nearest(unit(near_pi, -0.1)), Some(2));
    assert_eq!(grid().nearest(unit(0.1, 0.1)), Some(2));
    assert_eq!(grid().nearest(unit(PI, 0.1)), Some(0));
    assert_eq!(grid().nearest(unit(-0.1, 0.1)), Some(2));
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
    let mut counts = vec![u32::MAX - 2; grid().count() * VOXELS.count()];
    let dropped = deposit(Level::detect(), &events, &grid(), &VOXELS, &mut counts).unwrap();
    assert_eq!(dropped, Dropped { overflow: 3, ..Dropped::default() });
    assert_eq!(counts.iter().filter(|c| **c == u32::MAX).count(), 1);
}

/// Uniform in a box somewhat larger than the lattice and tilts somewhat beyond the views'.
fn many(n: usize, seed: u64) -> Vec<[f64; 7]> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut draw = |half: f64| random.random_range(-half..half);
    (0..n).map(|_| event([draw(55.0), draw(55.0), draw(17.0)], unit(draw(PI), draw(0.2)), draw(200.0))).collect()
}

/// The definition, written out: angles from arc functions, differences modulo pi.
fn plain_view(azimuths: &[f64], tilts: &[f64], n: [f64; 3]) -> Option<usize> {
    let (azimuth, tilt) = (n[1].atan2(n[0]), n[2].asin());
    let (mut best, mut sign) = ((f64::INFINITY, 0), 1.0);
    for (k, a) in azimuths.iter().enumerate() {
        let turns = ((azimuth - a) / PI).round();
        let distance = (azimuth - a - turns * PI).abs();
        if distance < best.0 {
            best = (distance, k);
            sign = if turns as i64 % 2 == 0 { 1.0 } else { -1.0 };
        }
    }
    let tilt = tilt * sign;
    let nearest = (0..tilts.len()).min_by(|a, b| (tilts[*a] - tilt).abs().total_cmp(&(tilts[*b] - tilt).abs()))?;
    (tilt.abs() <= TILT).then_some(best.1 * tilts.len() + nearest)
}

/// Borders between views and voxels are met with probability 1e-13 an event: both ways agree on all of them.
#[test]
fn agrees_with_the_definition() {
    let uneven: Vec<f64> = [0.3, 2.9, 1.0, 1.1, -0.2, 5.0, 1.7].to_vec();
    for (azimuths, tilts) in
        [(azimuths(8), vec![-0.116, 0.0, 0.116]), (uneven, vec![0.12, -0.1]), (vec![1.0], vec![0.0])]
    {
        let views = ViewGrid::new(&azimuths, &tilts, [-TILT, TILT]).unwrap();
        let events = many(20_000, 3);
        let (counts, dropped) = deposited(&events, &views);
        let mut expected = vec![0u32; counts.len()];
        let (mut tilted, mut outside) = (0, 0);
        for e in &events {
            let d = [e[0] - e[3], e[1] - e[4], e[2] - e[5]];
            let length = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            let n = d.map(|v| v / length);
            let Some(view) = plain_view(&azimuths, &tilts, n) else {
                tilted += 1;
                continue;
            };
            let at: [f64; 3] = std::array::from_fn(|a| {
                let p = (e[a] + e[a + 3]) / 2.0 + HALF_LIGHT_SPEED * e[6] * n[a];
                (p / VOXELS.size[a] + (VOXELS.along()[a] - 1) as f64 / 2.0).round()
            });
            if (0..3).any(|a| at[a] < 0.0 || at[a] >= VOXELS.along()[a] as f64) {
                outside += 1;
                continue;
            }
            let [x, y, z] = at.map(|v| v as usize);
            expected[((view * VOXELS.shape[0] + z) * VOXELS.shape[1] + y) * VOXELS.shape[2] + x] += 1;
        }
        assert!(tilted > 1000 && outside > 1000);
        assert_eq!(dropped, Dropped { outside_tilts: tilted, outside_lattice: outside, ..Dropped::default() });
        assert!(counts == expected);
    }
}

/// Several rounds of chunks, several regions.
#[test]
fn does_not_depend_on_threads_strides_or_level() {
    let voxels = Voxels { shape: [9, 100, 100], size: [1.0, 1.0, 3.0] };
    let events: Vec<f32> = many(CHUNK * 7 + 123, 4).into_iter().flatten().map(|v| v as f32).collect();
    let len = events.len() / 7;
    let last = 7 * (len - 1);
    let run = |level, threads, reverse: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut counts = vec![0; grid().count() * voxels.count()];
        assert!(counts.len() > 2 * REGION);
        // SAFETY: seven columns of `len` values, forwards or backwards.
        let list = unsafe {
            let first = events.as_ptr().wrapping_add(if reverse { last } else { 0 });
            Events::from_raw(std::array::from_fn(|k| first.wrapping_add(k)), [if reverse { -7 } else { 7 }; 7], len)
        };
        let dropped = pool.install(|| deposit(level, &list, &grid(), &voxels, &mut counts)).unwrap();
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

/// Both take the view at the smallest angle, but where two are equally near to rounding.
#[test]
fn lists_of_views_are_searched_well() {
    let mut random = StdRng::seed_from_u64(5);
    for (views, limit) in [(1, 0.2), (7, 0.2), (120, 0.3), (700, PI / 2.0)] {
        let list: Vec<_> =
            (0..views).map(|_| unit(random.random_range(-PI..PI), random.random_range(-limit..limit))).collect();
        let found = ViewList::new(&list, limit).unwrap();
        for _ in 0..20_000 {
            let tilt = random.random_range(-1.1 * limit..1.1 * limit).clamp(-PI / 2.0, PI / 2.0);
            let n = unit(random.random_range(-PI..PI), tilt);
            let cosine = |v: usize| (0..3).map(|d| n[d] * list[v][d]).sum::<f64>().abs();
            match found.nearest(n) {
                None => assert!(tilt.abs() > limit),
                Some(v) => {
                    assert!(tilt.abs() <= limit + 1e-12);
                    assert_eq!(cosine(v), (0..views).map(cosine).fold(0.0, f64::max));
                }
            }
        }
    }
}

#[test]
fn refuses_impossible_views_and_arrays() {
    assert!(ViewGrid::new(&[], &[0.0], [-0.1, 0.1]).is_err());
    assert!(ViewGrid::new(&[f64::NAN], &[0.0], [-0.1, 0.1]).is_err());
    assert!(ViewGrid::new(&[0.0], &[0.2], [-0.1, 0.1]).is_err());
    assert!(ViewGrid::new(&[0.0], &[0.0], [0.1, -0.1]).is_err());
    assert!(ViewGrid::new(&[0.0], &[0.0], [-0.1, f64::NAN]).is_err());
    assert!(ViewList::new(&[[2.0, 0.0, 0.0]], 0.1).is_err());
    assert!(ViewList::new(&[], 0.1).is_err());
    assert!(ViewList::new(&[[1.0, 0.0, 0.0]], 0.0).is_err());
    assert!(Events::new([&[1.0][..], &[], &[1.0], &[1.0], &[1.0], &[1.0], &[1.0]]).is_err());
    let none = Events::<f32>::new([&[]; 7]).unwrap();
    assert!(deposit(Level::detect(), &none, &grid(), &VOXELS, &mut [0; 5]).is_err());
    let mut counts = vec![7; grid().count() * VOXELS.count()];
    assert_eq!(deposit(Level::detect(), &none, &grid(), &VOXELS, &mut counts).unwrap(), Dropped::default());
    let mut out = vec![0.0; counts.len()];
    to_f32(&counts, &mut out).unwrap();
    assert!(out.iter().all(|v| *v == 7.0));
    assert!(to_f32(&counts, &mut out[1..]).is_err());
}
