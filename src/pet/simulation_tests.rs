use super::super::deposit::deposit;
use super::super::phantom::{Object, Shape, SpherePhantom};
use super::super::simulation_expectation::ViewCell;
use super::super::views::Views;
use super::*;
use crate::cpu::level::Level;
use std::f64::consts::PI;

const SCANNER: Scanner = Scanner { diameter: 930.0, axial_length: 250.0, max_tilt: 0.1745 };

fn sharp() -> Resolution {
    Resolution { time: 0.0, radial: Radial::Constant(0.0), axial: 0.0 }
}

fn ball(centre: [f64; 3], radius: f64) -> Phantom {
    Phantom::new(vec![Object { shape: Shape::sphere(centre, radius), activity: 1.0, attenuation: 0.0 }]).unwrap()
}

fn scan<'a>(source: &'a Phantom, attenuation: &'a Phantom, resolution: Resolution) -> Scan<'a> {
    let background = Background::default();
    Scan { source: Source::Phantom(source), attenuation, scanner: SCANNER, resolution, background }
}

/// Place and direction of each event.
fn places(simulated: &Simulated) -> Vec<([f64; 3], [f64; 3])> {
    let place = |e: &[f32]| {
        let e: [f64; 7] = std::array::from_fn(|k| f64::from(e[k]));
        let d: [f64; 3] = std::array::from_fn(|k| e[k] - e[k + 3]);
        let n = d.map(|v| v / d.iter().map(|v| v * v).sum::<f64>().sqrt());
        (std::array::from_fn(|k| 0.5 * (e[k] + e[k + 3]) + HALF_LIGHT * e[6] * n[k]), n)
    };
    simulated.list.chunks_exact(7).map(place).collect()
}

#[test]
fn a_seed_gives_the_same_events_for_any_threads() {
    let phantom = SpherePhantom::default().phantom().unwrap();
    let mut scan = scan(&phantom, &phantom, Resolution { time: 400.0, radial: Radial::Constant(5.8), axial: 5.8 });
    scan.background = Background { randoms: 0.2, scatter: 0.3, ..Background::default() };
    let run = |threads, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| scan.simulate(3 * CHUNK + 5, seed)).unwrap()
    };
    let one = run(1, 9);
    assert_eq!(one.events().len(), 3 * CHUNK + 5);
    let three = run(3, 9);
    assert!(one.list == three.list && one.tally == three.tally);
    assert!(one.list != run(1, 10).list);
    // Binomial counts: five standard deviations.
    let n = (3 * CHUNK + 5) as f64;
    let t = one.tally;
    assert_eq!(t.trues + t.scatter + t.randoms, n as u64);
    for (count, part) in [(t.randoms, 0.2), (t.scatter, 0.3f64)] {
        assert!((count as f64 - part * n).abs() < 5.0 * (n * part * (1.0 - part)).sqrt(), "{t:?}");
    }
    // Ends lie on the detectors; f32 has steps of 3e-5 at 465.
    for e in one.list.chunks_exact(7) {
        for p in [&e[..3], &e[3..6]] {
            assert!((f64::from(p[0]).hypot(f64::from(p[1])) - 465.0).abs() < 1e-3 && p[2].abs() <= 125.001);
        }
    }
}

/// A ball of 0.1 mm at radius 100 on the x axis. Blur along the line, across it in the plane, and across both: variances are
/// those of the widths (the ball adds 0.1^2/5), within five standard deviations, sqrt(2/n) of the variance. The radial
/// width's variance is the mean of its square over azimuths, at |100 sin(azimuth)|: a line from 4 at 0 to 9 at 100.
#[test]
fn blur_has_the_widths_asked_for() {
    let source = ball([100.0, 0.0, 0.0], 0.1);
    let empty = Phantom::default();
    let radial = Radial::Table { radius: vec![0.0, 100.0], fwhm: vec![4.0, 9.0] };
    let mut scan = scan(&source, &empty, Resolution { time: 400.0, radial, axial: 6.0 });
    // So long that no line misses it; steep ones tell the axial direction from z.
    scan.scanner = Scanner { axial_length: 2000.0, max_tilt: 0.6, ..SCANNER };
    let n = 60_000;
    let simulated = scan.simulate(n, 3).unwrap();
    assert_eq!(simulated.tally.decays, n as u64);
    let mut squares = [0.0; 3];
    for (p, u) in places(&simulated) {
        let across = u[0].hypot(u[1]);
        let radial = [-u[1] / across, u[0] / across, 0.0];
        let axial = [-u[2] * radial[1], u[2] * radial[0], across];
        let off = [p[0] - 100.0, p[1], p[2]];
        let dot = |e: [f64; 3]| (0..3).map(|d| off[d] * e[d]).sum::<f64>();
        for (s, e) in squares.iter_mut().zip([u, radial, axial]) {
            *s += dot(e).powi(2) / n as f64;
        }
    }
    // 16 + 40 <|sin|> + 25 <sin^2>, with <|sin|> = 2/pi.
    let widths = [(400.0 * HALF_LIGHT).powi(2), 16.0 + 80.0 / PI + 12.5, 36.0];
    // The mixture's fourth moment is below 1.5 times that of one Gaussian with the mean variance.
    for (s, (w, mixed)) in squares.iter().zip(widths.into_iter().zip([1.0, 1.5, 1.0])) {
        let expected = w / FWHM_PER_SIGMA.powi(2) + 0.002;
        assert!((s / expected - 1.0).abs() < mixed * 5.0 * (2.0 / n as f64).sqrt(), "{squares:?} {widths:?}");
    }
}

/// A small source in the middle of a water ball of radius 50: all lines lose the same, so decays out of which one is measured
/// have a geometric distribution of mean exp(0.0096 * 100) and standard deviation below that mean.
#[test]
fn attenuation_takes_its_part() {
    let source = ball([0.0; 3], 0.01);
    let water = Shape::sphere([0.0; 3], 50.0);
    let water = Phantom::new(vec![Object { shape: water, activity: 0.0, attenuation: 0.0096 }]).unwrap();
    let n = 40_000;
    let tally = scan(&source, &water, sharp()).simulate(n, 4).unwrap().tally;
    // Lines of up to 0.1745 over 250 mm of length: 465 * tan(0.1745) = 82 mm, none misses.
    let mean = tally.decays as f64 / n as f64;
    let expected = 0.96f64.exp();
    assert!((mean / expected - 1.0).abs() < 5.0 / (n as f64).sqrt(), "{mean} {expected}");
}

/// What a voxel source draws is uniform over its bright voxels, in proportion to their values.
#[test]
fn images_are_sources() {
    let lattice = Lattice::new([2, 3, 4], [10.0, 12.0, 14.0]).unwrap();
    let mut image = vec![0.0; 24];
    (image[5], image[23]) = (1.0, 3.0);
    let empty = Phantom::default();
    let mut scan = scan(&empty, &empty, sharp());
    scan.source = Source::Image(&image, lattice);
    let n = 20_000;
    let simulated = scan.simulate(n, 5).unwrap();
    let views = Views::grid(1, 1, 0.2).unwrap();
    let mut counts = vec![0; 24];
    let dropped = deposit(Level::detect(), &simulated.events(), &views, &lattice, &mut counts).unwrap();
    // Positions in f32 put a few places across a voxel's border: 3e-5 mm of 10 each.
    let strays = n as u64 - u64::from(counts[5]) - u64::from(counts[23]);
    assert!(strays <= 10 && dropped.total() <= strays, "{counts:?} {dropped:?}");
    // Within voxels places have the variance 1/12 of the size squared; that of such a mean is 0.8 / n of its square.
    for d in 0..3 {
        let part = |p: f64| (p / lattice.voxel()[d] + lattice.along()[d] as f64 / 2.0).rem_euclid(1.0) - 0.5;
        let square = places(&simulated).iter().map(|(p, _)| part(p[d]).powi(2)).sum::<f64>() / n as f64;
        assert!((12.0 * square - 1.0).abs() < 5.0 * (0.8 / n as f64).sqrt(), "{d}: {square}");
    }
    let sigma = (n as f64 * 3.0 / 16.0).sqrt();
    assert!((f64::from(counts[5]) - n as f64 / 4.0).abs() < 5.0 * sigma + 10.0, "{counts:?}");
}

/// A cold ball within a hot one: its share of places is that of its activity, none at all.
#[test]
fn negative_activity_takes_away() {
    let hot = Object { shape: Shape::sphere([0.0; 3], 40.0), activity: 2.0, attenuation: 0.0 };
    let cold = Object { shape: Shape::sphere([10.0, 0.0, 0.0], 20.0), activity: -2.0, attenuation: 0.0 };
    let phantom = Phantom::new(vec![hot, cold]).unwrap();
    let empty = Phantom::default();
    let simulated = scan(&phantom, &empty, sharp()).simulate(5000, 6).unwrap();
    // 1e-3: f32 positions.
    assert!(places(&simulated).iter().all(|(p, _)| (p[0] - 10.0).hypot(p[1]).hypot(p[2]) > 20.0 - 1e-3));
}

/// Sums over regions of the histo-images against expected counts, in 6 views of an attenuated, axially cut scan without blur:
/// mostly trues, mostly scatter, mostly randoms. Both sides fluctuate as counts do (the expected ones by the tally): five
/// standard deviations of either together. And voxel means of the cut and the attenuation are taken at voxel centres and 4 x 8
/// directions: 1 % in a region, 0.4 % in all.
#[test]
fn expected_counts_are_those_that_come() {
    let body = Shape::Cylinder { centre: [10.0, -5.0, 20.0], radius: 90.0, length: 160.0 };
    let ball = Shape::sphere([30.0, 20.0, 10.0], 25.0);
    let phantom = Phantom::new(vec![
        Object { shape: body, activity: 1.0, attenuation: 0.0096 },
        Object { shape: ball, activity: 4.0, attenuation: -0.005 },
    ])
    .unwrap();
    let mut scan = scan(&phantom, &phantom, sharp());
    scan.scanner = Scanner { diameter: 600.0, axial_length: 200.0, max_tilt: 0.3 };
    for (randoms, scatter) in [(0.01, 0.01), (0.01, 0.95), (0.95, 0.01)] {
        scan.background = Background { randoms, window: 900.0, scatter, scatter_sigma: 60.0 };
        compare_with_expected(&scan, &phantom);
    }
}

fn compare_with_expected(scan: &Scan, phantom: &Phantom) {
    let lattice = Lattice::new([25, 33, 33], [9.0, 9.0, 8.0]).unwrap();
    let count = lattice.voxels();
    let (step, tilt) = (PI / 3.0, scan.scanner.max_tilt);
    let azimuths = [0.0, step, 2.0 * step];
    let views = Views::grid(3, 2, tilt).unwrap();
    let simulated = scan.simulate(600_000, 7).unwrap();
    let mut counts = vec![0; 6 * count];
    deposit(Level::detect(), &simulated.events(), &views, &lattice, &mut counts).unwrap();
    let activity = phantom.voxel_means(super::super::phantom::Quantity::Activity, &lattice).unwrap();
    let (mut factors, mut additive) = (vec![0.0; count], vec![0.0; count]);
    let mut all = [0.0; 2];
    let check = |[expected, counted]: [f64; 2], part: f64| {
        let tolerance = 5.0 * (2.0 * expected).sqrt() + part * expected + 1.0;
        assert!(
            (expected - counted).abs() < tolerance,
            "{:?}: expected {expected}, counted {counted}",
            scan.background
        );
    };
    for v in 0..6 {
        let azimuth = azimuths[v / 2];
        let tilt = if v % 2 == 0 { [-tilt, 0.0] } else { [0.0, tilt] };
        let cell = ViewCell { azimuth: [azimuth - step / 2.0, azimuth + step / 2.0], tilt, samples: [4, 8] };
        scan.factors(&simulated.tally, &cell, &lattice, &mut factors).unwrap();
        scan.additive(&simulated.tally, &cell, &lattice, &mut additive).unwrap();
        // Slabs of z, inside and outside the body: the sums that differ if a scale, a cut or a density is wrong.
        let mut sums = vec![[0.0; 2]; 10];
        for k in 0..count {
            let [x, y] = [lattice.position(0, k % 33), lattice.position(1, k / 33 % 33)];
            let outside = usize::from((x - 10.0).hypot(y + 5.0) > 90.0);
            let sum = &mut sums[k / (33 * 33) / 5 * 2 + outside];
            sum[0] += f64::from(factors[k]) * f64::from(activity[k]) + f64::from(additive[k]);
            sum[1] += f64::from(counts[v * count + k]);
        }
        for sum in sums {
            check(sum, 0.01);
            all = [all[0] + sum[0], all[1] + sum[1]];
        }
    }
    check(all, 0.004);
    // Half of the randoms are beyond the lattice.
    assert!(all[1] > 250_000.0, "{all:?}");
}

fn refused<'a>(mut scan: Scan<'a>, change: impl Fn(&mut Scan<'a>)) -> bool {
    change(&mut scan);
    scan.simulate(10, 0).is_err()
}

#[test]
fn refuses_impossible_scans() {
    let source = ball([0.0; 3], 1.0);
    let empty = Phantom::default();
    let valid = || scan(&source, &empty, sharp());
    assert!(valid().simulate(10, 0).is_ok());
    assert!(refused(valid(), |s| s.scanner.diameter = 0.0));
    assert!(refused(valid(), |s| s.scanner.axial_length = f64::NAN));
    assert!(refused(valid(), |s| s.scanner.max_tilt = 1.6));
    assert!(refused(valid(), |s| s.resolution.time = -1.0));
    assert!(refused(valid(), |s| s.resolution.axial = f64::INFINITY));
    assert!(refused(valid(), |s| s.resolution.radial = Radial::Constant(-1.0)));
    assert!(refused(valid(), |s| s.resolution.radial = Radial::Table { radius: vec![], fwhm: vec![] }));
    assert!(refused(valid(), |s| s.background.randoms = 1.0));
    assert!(refused(valid(), |s| s.background.scatter = -0.1));
    assert!(refused(valid(), |s| s.source = Source::Phantom(&empty)));
    let lattice = Lattice::new([1, 1, 2], [1.0; 3]).unwrap();
    assert!(refused(valid(), |s| s.source = Source::Image(&[1.0], lattice)));
    assert!(refused(valid(), |s| s.source = Source::Image(&[1.0, -1.0], lattice)));
    assert!(refused(valid(), |s| s.source = Source::Image(&[0.0, 0.0], lattice)));
    let cell = ViewCell { azimuth: [0.0, 0.1], tilt: [-0.1, 0.1], samples: [1, 1] };
    let mut out = [0.0; 2];
    assert!(valid().factors(&Tally::default(), &cell, &lattice, &mut out).is_ok());
    for bad in [
        ViewCell { azimuth: [0.1, 0.0], ..cell },
        ViewCell { tilt: [0.1, f64::NAN], ..cell },
        ViewCell { samples: [0, 1], ..cell },
    ] {
        assert!(valid().factors(&Tally::default(), &bad, &lattice, &mut out).is_err());
    }
    assert!(valid().factors(&Tally::default(), &cell, &lattice, &mut out[..1]).is_err());
    let outside = ball([600.0, 0.0, 0.0], 1.0);
    let mut blind = valid();
    blind.source = Source::Phantom(&outside);
    assert!(blind.simulate(1, 0).is_err());
}
