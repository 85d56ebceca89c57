use super::cases::{TIME, crystals, lattice, phantom, scatter};
use super::*;
use crate::compton::{differential, energy, total};
use crate::deposit::deposit;
use crate::events::{EventArrays, interleaved};
use crate::factors::{Acquisition, Factors, Sampling};
use crate::phantom::{Object, Phantom, Quantity};
use crate::response::Radial;
use crate::scanner::Blocks;
use crate::simulation::{Background, Resolution, Scan, Scanner, Source};
use isocenter_base::array::ArrayMut;
use isocenter_base::context::{Context, ContextOptions};
use isocenter_base::cpu::level::Level;
use isocenter_base::phantom::Shape;
use std::f64::consts::TAU;

fn context() -> Context {
    Context::new(ContextOptions::default()).expect("a context")
}

/// The integral over the phantom's voxels, of exact chords: sums over all times, and their mean time, of some pairs.
#[test]
fn pairs_have_what_watson_s_formula_has() {
    let views = Views::grid(8, 3, 0.25).expect("views");
    let (of, phantom) = (scatter(&views, 16.0), phantom());
    let context = context();
    let level = Level::detect();
    let pairs = context.run(|job| Pairs::new(&of, &Rays::new(&of, level, job)?, level, job)).expect("pairs");
    let window = EnergyWindow::default();
    let along = |value: fn(&Object) -> f64, from: [f64; 3], to: [f64; 3], moment: bool| {
        let apart: [f64; 3] = std::array::from_fn(|d| to[d] - from[d]);
        let length = apart.iter().map(|v| v * v).sum::<f64>().sqrt();
        let n = apart.map(|v| v / length);
        let part = |o: &Object| {
            let [a, b] = o.shape.chord(from, n);
            let (a, b) = (a.max(0.0), b.min(length));
            value(o)
                * if b <= a {
                    0.0
                } else if moment {
                    0.5 * (b * b - a * a)
                } else {
                    b - a
                }
        };
        phantom.objects().iter().map(part).sum::<f64>()
    };
    let (step, about) = (6.0, of.times.about);
    let rings = of.nodes.rings();
    for [a, b] in [[0, 24], [3, 30], [10, 35], [40, 20]] {
        let [a, b] = [a * rings + 1, b * rings + 2];
        let (p, q) = (of.nodes.place(a), of.nodes.place(b));
        let (mut sum, mut first) = (0.0, 0.0);
        let apart = |s: [f64; 3], t: [f64; 3]| (0..3).map(|d| (s[d] - t[d]).powi(2)).sum::<f64>().sqrt();
        let line = apart(p, q);
        let facing = |end: [f64; 3], from: [f64; 3]| {
            (0..2).map(|d| end[d] * (end[d] - from[d])).sum::<f64>() / (of.nodes.radius * apart(end, from))
        };
        let count = (200.0 / step) as i32;
        for k in 0..count * count * count {
            let at = [k % count, k / count % count, k / (count * count)];
            let s = at.map(|i| (f64::from(i) + 0.5) * step - 100.0);
            let s = [s[0], s[1] + 10.0, s[2]];
            let here: f64 = phantom.objects().iter().filter(|o| o.shape.contains(s)).map(|o| o.attenuation).sum();
            if here <= 0.0 {
                continue;
            }
            let (sa, sb) = (apart(s, p), apart(s, q));
            let cosine = -(0..3).map(|d| (p[d] - s[d]) * (q[d] - s[d])).sum::<f64>() / (sa * sb);
            let e = energy(cosine);
            let part = differential(cosine) / total(1.0) * window.acceptance(e);
            let open = facing(p, s) * facing(q, s) * line * line / (facing(p, q) * facing(q, p) * sa * sa * sb * sb);
            let common = here * step.powi(3) * part * open / TAU;
            let (pa, pb) = (along(|o| o.attenuation, s, p, false), along(|o| o.attenuation, s, q, false));
            let ratio = total(e) / total(1.0);
            let half = 0.5 * (sb - sa);
            for (end, through, sign) in [(p, pa + ratio * pb, 1.0), (q, pb + ratio * pa, -1.0)] {
                let weight = common * (-through).exp();
                let amount = along(|o| o.activity, s, end, false);
                sum += weight * amount;
                first += weight * (half * amount + sign * along(|o| o.activity, s, end, true));
            }
        }
        let values = &pairs.values[(a * of.nodes.count() + b) * about..][..about];
        let found = values.iter().map(|v| f64::from(*v)).sum::<f64>() * of.times.step;
        let time = |k: usize| (k as f64 - (about / 2) as f64) * of.times.step;
        let mean = values.iter().enumerate().map(|(k, v)| f64::from(*v) * time(k)).sum::<f64>()
            / values.iter().map(|v| f64::from(*v)).sum::<f64>();
        // Places 16 mm apart, cells of 8 mm: a part of (h / s)^2 / 24 each, s some 40 mm; mm for the time.
        assert!((found / sum - 1.0).abs() < 0.015, "{a} {b}: {found} {sum}");
        assert!((mean - first / sum).abs() < 1.5, "{a} {b}: {mean} {}", first / sum);
        let back = &pairs.values[(b * of.nodes.count() + a) * about..][..about];
        assert!(values.iter().eq(back.iter().rev()));
    }
}

/// Against photons that fly one by one, in parts of the histo-images: beside the body, in it, by direction, by plane.
#[test]
fn histo_images_have_what_photons_that_are_scattered_have() {
    let (context, phantom) = (context(), phantom());
    let scan = Scan {
        source: Source::Phantom(&phantom),
        attenuation: &phantom,
        map: None,
        scanner: Scanner { diameter: 500.0, axial_length: 160.0, max_tilt: 0.25 },
        resolution: Resolution { time: TIME, radial: Radial::Constant(0.0), axial: 0.0 },
        background: Background { compton: Some(EnergyWindow::default()), ..Background::default() },
    };
    // By a formula that is exact for both, decays of trues and of scatter are as many, to the noise of a pilot's rates, of 65536 events each: 0.6 %, four times.
    let mut some = vec![[0f32; 7]; 200_000];
    let tally = scan.simulate(&context, 3, interleaved::written(&mut some)).expect("events");
    let decays = tally.decays as f64 / 0.25f64.sin();
    assert!((tally.scatter_draws as f64 / decays - 1.0).abs() < 0.025, "{tally:?} {decays}");

    let (events, decays) = scan.scattered(&context, 3, 120).expect("events");
    // Decays of a voxel of 1 in the phantom's unit of activity.
    let scale = decays / (phantom.total_activity() / lattice().voxel_volume());
    // At the scanner's ends the directions of one wide view have few lines.
    for tilts in [3, 1] {
        parts_are_as(&interleaved::read(&events), scale, tilts);
    }
}

fn parts_are_as(events: &EventArrays, scale: f64, tilts: usize) {
    let views = Views::grid(6, tilts, 0.25).expect("views");
    let (lattice, detectors) = (lattice(), crystals().into());
    let (context, of, count) = (context(), scatter(&views, 12.0), 6 * tilts);
    let sampling = Sampling::new(&views, &lattice, 16).expect("directions");
    let factors =
        Factors::new((sampling, &lattice), (&detectors, None), None, &Acquisition::default()).expect("factors");
    let mut expected = vec![0f32; count * lattice.voxels()];
    let [nz, ny, nx] = lattice.shape();
    let shape = [count, nz, ny, nx];
    let additive = Additive { scatter: &of, factors: &factors, measured: None, randoms: None };
    let found = additive.write(&context, &mut ArrayMut::of(&mut expected, shape).expect("histos")).expect("scatter");
    let mut counts = vec![0u32; expected.len()];
    let to = ArrayMut::of(&mut counts, shape).expect("histos");
    deposit(&context, &views, &lattice, events, to).expect("deposited");
    let tails = Tails::new(&of, HALF_LIGHT * TIME / FWHM_PER_SIGMA).expect("tails");
    let coarse = Coarse::of_voxels(&lattice);
    let mut all: Vec<(&str, [f64; 2])> = Vec::new();
    for name in [
        "tails",
        "lower tails",
        "upper tails",
        "left tails",
        "right tails",
        "level tails",
        "tilted tails",
        "tails at the ends",
        "all",
    ] {
        all.push((name, [0.0; 2]));
    }
    for v in 0..count {
        let mask = tails.view(&of, &coarse, v).expect("tails");
        let mut row = vec![0f32; nx];
        for k in 0..nz * ny {
            coarse.row(&mask, [k / ny, k % ny], &mut row);
            for (x, is_tail) in row.iter().enumerate() {
                let at = (v * nz * ny + k) * nx + x;
                let is_tail = *is_tail > 0.999;
                let (z, left) = (k / ny, x < nx / 2);
                let is = [
                    is_tail,
                    is_tail && z < nz / 3,
                    is_tail && z >= nz - nz / 3,
                    is_tail && left,
                    is_tail && !left,
                    is_tail && v % tilts == tilts / 2,
                    is_tail && v % tilts != tilts / 2,
                    is_tail && !(2..nz - 2).contains(&z),
                    true,
                ];
                for ((_, sums), is) in all.iter_mut().zip(is) {
                    if is {
                        sums[0] += f64::from(counts[at]);
                        sums[1] += f64::from(expected[at]) * scale;
                    }
                }
            }
        }
    }
    let sum: f64 = expected.iter().map(|v| f64::from(*v)).sum();
    assert!((found.scatter / sum - 1.0).abs() < 1e-6 && found.scale == 1.0, "{found:?} {sum}");
    for (name, [measured, expected]) in all {
        if expected == 0.0 && measured == 0.0 {
            continue;
        }
        // Smooth parts to 1 %. Tails, 2 % of all, fall to a half from point to point of the coarse lattice, which second differences tell to 2 %. And chance.
        let slack = if name == "all" { 0.012 } else { 0.025 };
        let chance = 3.0 / expected.sqrt();
        assert!((measured / expected - 1.0).abs() < slack + chance, "{name}: {measured} of {expected}");
    }
}

/// All lengths by as much, and the attenuation by as much less, make the same angles, and counts: a small scanner is sampled as finely as a large one.
#[test]
fn small_scanners_are_as_large_ones() {
    let of = |size: f64| {
        let blocks = Blocks {
            blocks: 60,
            block_rings: 1,
            across: 4,
            along: 10,
            diameter: 600.0 * size,
            pitch_across: 7.8 * size,
            pitch_along: 16.0 * size,
            block_pitch: 0.0,
            first_azimuth: 0.0,
        };
        let normal = |k| blocks.crystal(k)[1];
        let place = |k| blocks.crystal(k)[0];
        let sides = [7.8 * size, 16.0 * size];
        let crystals = Crystals::new(blocks.count().expect("blocks"), place, Some(&normal), sides).expect("crystals");
        let lattice = Lattice::new([8, 20, 20], [16.0 * size; 3]).expect("a lattice");
        let shape = |radius: f64, at: f64| Shape::Cylinder {
            centre: [at * size, 0.0, 0.0],
            radius: radius * size,
            length: 100.0 * size,
        };
        let bodies = vec![
            Object { shape: shape(100.0, 0.0), activity: 1.0, attenuation: 0.006 / size },
            Object { shape: shape(30.0, 40.0), activity: 3.0, attenuation: 0.0 },
        ];
        let phantom = Phantom::new(bodies).expect("a phantom");
        let means = |quantity| phantom.voxel_means(quantity, &lattice).expect("means");
        let (image, values) = (means(Quantity::Activity), means(Quantity::Attenuation));
        let map = AttenuationMap { values: &values, shape: lattice.shape(), voxel: lattice.voxel(), centre: [0.0; 3] };
        let views = Views::grid(4, 1, 0.2).expect("views");
        let model = (&Model::default(), 1000.0 * size);
        let of = Scatter::new((&views, &lattice, &crystals), Some(&image), &map, model).expect("a scatter");
        let scanner = crystals.into();
        let sampling = Sampling::new(&views, &lattice, 8).expect("directions");
        let factors =
            Factors::new((sampling, &lattice), (&scanner, None), None, &Acquisition::default()).expect("factors");
        let mut counts = vec![0f32; 4 * lattice.voxels()];
        let to = &mut ArrayMut::of(&mut counts, [4, 8, 20, 20]).expect("histos");
        let found = Additive { scatter: &of, factors: &factors, measured: None, randoms: None }.write(&context(), to);
        (counts, found.expect("scatter"))
    };
    let ((large, by_large), (small, by_small)) = (of(0.8), of(0.2));
    // Edges' places, where next to nothing attenuates, are left out by the attenuation.
    assert!(by_large.places.abs_diff(by_small.places) * 20 < by_large.places, "{by_large:?} {by_small:?}");
    let most = large.iter().copied().fold(0.0, f32::max);
    let worst = large.iter().zip(&small).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // Steps of time have a least and a largest, which blur that is known to the square makes up for.
    assert!(most > 0.0 && worst < 0.01 * most, "{worst} of {most}: {by_large:?} {by_small:?}");
}
