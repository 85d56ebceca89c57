use super::simulate::CHUNK;
use super::*;
use crate::deposit::deposit;
use crate::events::interleaved;
use crate::lattice::Lattice;
use crate::phantom::{Object, Phantom, Quantity, SpherePhantom};
use crate::response::{FWHM_PER_SIGMA, HALF_LIGHT, Radial};
use crate::view::View;
use crate::views::Views;
use isocenter_base::array::{ArrayMut, DType, Layout};
use isocenter_base::context::{Compute, Context, ContextOptions};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, Status};
use isocenter_base::phantom::Shape;
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
    Scan { source: Source::Phantom(source), attenuation, map: None, scanner: SCANNER, resolution, background }
}

fn context(level: Level, threads: usize) -> Context {
    let (compute, level) = (Compute::Cpu, Some(level));
    Context::new(ContextOptions { compute, level, threads, ..ContextOptions::default() }).unwrap()
}

fn simulated_by(context: &Context, scan: &Scan, n: usize, seed: u64) -> Result<(Vec<[f32; 7]>, Tally)> {
    let mut events = vec![[0.0f32; 7]; n];
    let tally = scan.simulate(context, seed, interleaved::written(&mut events))?;
    Ok((events, tally))
}

fn simulated(scan: &Scan, n: usize, seed: u64) -> (Vec<[f32; 7]>, Tally) {
    simulated_by(&context(Level::detect(), 2), scan, n, seed).unwrap()
}

/// Place and direction of each event.
fn places(events: &[[f32; 7]]) -> Vec<([f64; 3], [f64; 3])> {
    let place = |e: &[f32; 7]| {
        let e = e.map(f64::from);
        let d: [f64; 3] = std::array::from_fn(|k| e[k] - e[k + 3]);
        let n = d.map(|v| v / d.iter().map(|v| v * v).sum::<f64>().sqrt());
        (std::array::from_fn(|k| 0.5 * (e[k] + e[k + 3]) + HALF_LIGHT * e[6] * n[k]), n)
    };
    events.iter().map(place).collect()
}

fn deposited(events: &mut [[f32; 7]], views: &Views, lattice: &Lattice) -> Vec<u32> {
    let [nz, ny, nx] = lattice.shape();
    let shape = [views.list().len(), nz, ny, nx];
    let mut counts = vec![0u32; shape.iter().product()];
    let to = ArrayMut::of(&mut counts, shape).unwrap();
    deposit(&context(Level::detect(), 2), views, lattice, &interleaved::read(events), to).unwrap();
    counts
}

#[test]
fn a_seed_gives_the_same_events_for_any_threads() {
    let phantom = SpherePhantom::default().phantom().unwrap();
    let mut scan = scan(&phantom, &phantom, Resolution { time: 400.0, radial: Radial::Constant(5.8), axial: 5.8 });
    scan.background = Background { randoms: 0.2, scatter: 0.3, ..Background::default() };
    let run = |level, threads, seed| simulated_by(&context(level, threads), &scan, 3 * CHUNK + 5, seed).unwrap();
    let (list, tally) = run(Level::BASELINE, 1, 9);
    assert!(Level::available().all(|level| run(level, 3, 9) == (list.clone(), tally)));
    assert!(list != run(Level::detect(), 1, 10).0);
    // In double precision and in packed arrays they are the same.
    let mut wide = vec![[0.0f64; 7]; list.len()];
    let to = interleaved::written(&mut wide);
    assert_eq!(scan.simulate(&context(Level::detect(), 2), 9, to).unwrap(), tally);
    assert!(wide.iter().map(|e| e.map(|v| v as f32)).eq(list.iter().copied()));
    // Binomial counts: five standard deviations.
    let n = (3 * CHUNK + 5) as f64;
    let t = tally;
    assert_eq!(t.trues + t.scatter + t.randoms, n as u64);
    for (count, part) in [(t.randoms, 0.2), (t.scatter, 0.3f64)] {
        assert!((count as f64 - part * n).abs() < 5.0 * (n * part * (1.0 - part)).sqrt(), "{t:?}");
    }
    // Ends lie on the detectors; f32 has steps of 3e-5 at 465.
    for e in &list {
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
    let (events, tally) = simulated(&scan, n, 3);
    // The ball fills pi / 6 of what is drawn: draws have a relative deviation of sqrt((1 - pi / 6) / n).
    assert!((tally.decays as f64 / n as f64 - 1.0).abs() < 5.0 * (0.4764 / n as f64).sqrt(), "{tally:?}");
    let mut squares = [0.0; 3];
    for (p, u) in places(&events) {
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
    let (_, tally) = simulated(&scan(&source, &water, sharp()), n, 4);
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
    let (mut events, _) = simulated(&scan, n, 5);
    let counts = deposited(&mut events, &Views::grid(1, 1, 0.2).unwrap(), &lattice);
    // Positions in f32 put a few places across a voxel's border: 3e-5 mm of 10 each.
    let strays = n as u64 - u64::from(counts[5]) - u64::from(counts[23]);
    assert!(strays <= 10, "{counts:?}");
    // Within voxels places have the variance 1/12 of the size squared; that of such a mean is 0.8 / n of its square.
    for d in 0..3 {
        let part = |p: f64| (p / lattice.voxel()[d] + lattice.along()[d] as f64 / 2.0).rem_euclid(1.0) - 0.5;
        let square = places(&events).iter().map(|(p, _)| part(p[d]).powi(2)).sum::<f64>() / n as f64;
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
    let (events, _) = simulated(&scan(&phantom, &empty, sharp()), 5000, 6);
    // 1e-3: f32 positions.
    assert!(places(&events).iter().all(|(p, _)| (p[0] - 10.0).hypot(p[1]).hypot(p[2]) > 20.0 - 1e-3));
}

/// Sums over regions of the histo-images against expected counts, in 6 views of an attenuated, axially cut scan without blur:
/// mostly trues, mostly scatter, mostly randoms; views as a grid and as a list. Both sides fluctuate as counts do (the expected
/// ones by the tally): five standard deviations of either together. And the cut and the attenuation are those of voxel centres:
/// 1 % in a region, 0.4 % in all; 20 % of the trues of voxels that only reach into the body, where less survives than at their
/// centres.
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
    let grid = Views::grid(3, 2, 0.3).unwrap();
    let list = [(0.1, -0.2), (0.2, 0.15), (1.4, 0.0), (1.9, -0.1), (2.5, 0.2), (2.7, -0.25)];
    let list = list.map(|(azimuth, tilt)| View::new(azimuth, tilt).unwrap());
    let list = Views::new(list.to_vec(), 0.3).unwrap();
    for (randoms, scatter) in [(0.01, 0.01), (0.01, 0.95), (0.95, 0.01)] {
        scan.background = Background { randoms, window: 900.0, scatter, scatter_sigma: 60.0, compton: None };
        for views in [&grid, &list] {
            compare_with_expected(&scan, &phantom, views);
        }
    }
}

fn compare_with_expected(scan: &Scan, phantom: &Phantom, views: &Views) {
    let lattice = Lattice::new([25, 33, 33], [9.0, 9.0, 8.0]).unwrap();
    let count = lattice.voxels();
    let (mut events, tally) = simulated(scan, 600_000, 7);
    let counts = deposited(&mut events, views, &lattice);
    let activity = phantom.voxel_means(Quantity::Activity, &lattice).unwrap();
    let (mut factors, mut additive) = (vec![0.0f32; 6 * count], vec![0.0f32; 6 * count]);
    let shape = [6, 25, 33, 33];
    let context = context(Level::detect(), 2);
    scan.factors(&context, &tally, views, &lattice, ArrayMut::new(&mut factors, shape).unwrap()).unwrap();
    scan.additive(&context, &tally, views, &lattice, ArrayMut::new(&mut additive, shape).unwrap()).unwrap();
    let mut all = [0.0; 2];
    let rim = if scan.background.randoms + scan.background.scatter < 0.1 { 0.2 } else { 0.01 };
    let check = |[expected, counted]: [f64; 2], part: f64| {
        let tolerance = 5.0 * (2.0 * expected).sqrt() + part * expected + 1.0;
        let background = scan.background;
        assert!((expected - counted).abs() < tolerance, "{background:?}: expected {expected}, counted {counted}");
    };
    for v in 0..6 {
        // Slabs of z, inside and outside the body: the sums that differ if a scale, a cut or a density is wrong.
        let mut sums = vec![[0.0; 2]; 10];
        for k in 0..count {
            let [x, y] = [lattice.position(0, k % 33), lattice.position(1, k / 33 % 33)];
            let outside = usize::from((x - 10.0).hypot(y + 5.0) > 90.0);
            let sum = &mut sums[k / (33 * 33) / 5 * 2 + outside];
            let at = v * count + k;
            sum[0] += f64::from(factors[at]) * f64::from(activity[k]) + f64::from(additive[at]);
            sum[1] += f64::from(counts[at]);
        }
        for (k, sum) in sums.into_iter().enumerate() {
            check(sum, if k % 2 == 1 { rim } else { 0.01 });
            all = [all[0] + sum[0], all[1] + sum[1]];
        }
    }
    check(all, 0.004);
    // Half of the randoms are beyond the lattice.
    assert!(all[1] > 250_000.0, "{all:?}");
}

/// Against means over 40 x 400 directions of a view, each with its own line: within 1e-4 of the largest factor where the phantom
/// is, for 2.25 and 3.3 degrees of a part; at a body's rim its chord's square root costs more.
#[test]
fn factors_are_means_over_directions() {
    let phantom = Phantom::new(vec![
        Object {
            shape: Shape::Cylinder { centre: [5.0, 0.0, 0.0], radius: 100.0, length: 200.0 },
            activity: 1.0,
            attenuation: 0.0096,
        },
        Object { shape: Shape::sphere([-20.0, 30.0, 5.0], 30.0), activity: 1.0, attenuation: 0.004 },
        Object {
            shape: Shape::Box { centre: [20.0, -30.0, 0.0], size: [30.0, 20.0, 40.0] },
            activity: 1.0,
            attenuation: -0.003,
        },
    ])
    .unwrap();
    let scan = scan(&phantom, &phantom, sharp());
    let views = Views::grid(40, 3, 0.1745).unwrap();
    let lattice = Lattice::new([9, 11, 12], [14.0, 14.0, 24.0]).unwrap();
    let mut factors = vec![0.0f32; 120 * lattice.voxels()];
    let to = ArrayMut::new(&mut factors, [120, 9, 11, 12]).unwrap();
    let tally = Tally { decays: 1_000_000, ..Tally::default() };
    scan.factors(&context(Level::detect(), 2), &tally, &views, &lattice, to).unwrap();
    let largest = factors.iter().fold(0f32, |m, v| m.max(*v));
    for (v, k) in [(0, 600), (1, 611), (50, 123), (77, 900), (119, 40), (118, 660)] {
        let view = views.list()[v];
        let place = lattice.centre([k % 12, k / 12 % 11, k / 132]);
        let (na, nt) = (40, 400);
        let (width, tilts) = (PI / 40.0, 0.1745 * 2.0 / 3.0);
        let mut mean = 0.0;
        for j in 0..na * nt {
            let part = |k: usize, n: usize| (k as f64 + 0.5) / n as f64 - 0.5;
            let (azimuth, tilt) = (view.azimuth + width * part(j % na, na), view.tilt + tilts * part(j / na, nt));
            let n = View::new(azimuth, tilt).unwrap().axes()[0];
            let radius = |t: f64| (place[0] + t * n[0]).hypot(place[1] + t * n[1]);
            // Ends by bisection.
            let end = |sign: f64| {
                let (mut low, mut high) = (0.0, 1000.0);
                for _ in 0..50 {
                    let t = 0.5 * (low + high);
                    if radius(sign * t) < 465.0 { low = t } else { high = t }
                }
                place[2] + sign * low * n[2]
            };
            if end(1.0).abs() <= 125.0 && end(-1.0).abs() <= 125.0 {
                let mut integral = [0.0];
                phantom.line_integrals(&place.map(|v| [v]), &n.map(|v| [v]), &mut integral);
                mean += tilt.cos() * width * tilts * (-integral[0]).exp() / (na * nt) as f64;
            }
        }
        let scale = 1e6 * lattice.voxel_volume() / (phantom.total_activity() * 2.0 * PI * 0.1745f64.sin());
        let (expected, found) = (scale * mean, f64::from(factors[v * lattice.voxels() + k]));
        assert!((expected - found).abs() < 1e-3 * f64::from(largest), "{v} {k}: {expected} {found} of {largest}");
    }
}

fn refused<'a>(mut scan: Scan<'a>, change: impl Fn(&mut Scan<'a>)) -> bool {
    change(&mut scan);
    simulated_by(&context(Level::detect(), 1), &scan, 10, 0).is_err()
}

#[test]
fn refuses_impossible_scans() {
    let source = ball([0.0; 3], 1.0);
    let empty = Phantom::default();
    let valid = || scan(&source, &empty, sharp());
    assert!(simulated_by(&context(Level::detect(), 1), &valid(), 10, 0).is_ok());
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
    let outside = ball([600.0, 0.0, 0.0], 1.0);
    let mut blind = valid();
    blind.source = Source::Phantom(&outside);
    assert!(simulated_by(&context(Level::detect(), 1), &blind, 1, 0).is_err());
    let views = Views::grid(1, 1, 0.1).unwrap();
    let refused = |shape, dtype, memory_cap| {
        let mut out = [0f32; 2];
        // SAFETY: elements of `out`, both types are of 4 bytes.
        let to = unsafe { ArrayMut::over(Layout::new(out.as_mut_ptr().cast_const().cast(), dtype, shape)) };
        let options = ContextOptions { compute: Compute::Cpu, threads: 1, memory_cap, ..ContextOptions::default() };
        let context = Context::new(options).unwrap();
        valid().factors(&context, &Tally::default(), &views, &lattice, to).map_err(|e| e.status)
    };
    assert_eq!(refused([1, 1, 1, 2], DType::F32, 0), Ok(()));
    assert_eq!(refused([1, 1, 1, 1], DType::F32, 0), Err(Status::TensorShape));
    assert_eq!(refused([1, 1, 1, 2], DType::U32, 0), Err(Status::TensorDtype));
    assert_eq!(refused([1, 1, 1, 2], DType::F32, 10), Err(Status::MemoryCap));
}
