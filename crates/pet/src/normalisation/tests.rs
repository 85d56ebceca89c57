use super::*;
use crate::factors::Acquisition;
use crate::scanner::{Blocks, Crystals, Pairs, Scanner};
use crate::{Lattice, Views};
use isocenter_base::context::{Compute, Context, ContextOptions};
use isocenter_base::error::Status;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::{Arc, Mutex};

const LATTICE: [usize; 3] = [50, 60, 60];
const VOXEL: f64 = 4.0;
/// Centres, widths along x, y, z and heights of the source, Bq/ml, and of what attenuates, 1/mm.
const SOURCE: ([f64; 3], [f64; 3], f64) = ([6.0, -10.0, 5.0], [34.0, 34.0, 28.0], 2e4);
const WATER: ([f64; 3], [f64; 3], f64) = ([-10.0, 5.0, 0.0], [34.0, 34.0, 31.0], 0.0115);
const FIELD: f64 = 220.0;
const TILT: f64 = 0.25;
const SECONDS: f64 = 300.0;
/// ps
const WINDOW: f64 = 3000.0;

fn crystals(block_rings: usize) -> Crystals {
    let blocks = Blocks {
        blocks: 20,
        block_rings,
        across: 4,
        along: 4,
        diameter: 400.0,
        pitch_across: 14.0,
        pitch_along: 10.0,
        block_pitch: 44.0,
        first_azimuth: 0.05,
    };
    let (count, normal) = (blocks.count().expect("blocks"), |k| blocks.crystal(k)[1]);
    Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), [13.0, 9.0]).expect("crystals")
}

/// Rings of blocks are modules; two apart are not measured, others with parts of their own.
fn scanner(block_rings: usize) -> Scanner {
    let crystals = crystals(block_rings);
    // A ring of crystals has 80, and a ring of blocks 4 of them.
    let modules: Vec<u32> = (0..crystals.count() as u32).map(|k| k / 320).collect();
    let group = |k: usize| [1, 2, 0, 1, 2][(k / block_rings).abs_diff(k % block_rings)];
    let groups = (0..block_rings * block_rings).map(group).collect();
    let pairs = Pairs::new(&modules, groups, (1, vec![0.9, 0.7])).expect("pairs");
    Scanner { pairs: Some(pairs), ..crystals.into() }
}

fn plan(scanner: Scanner, memory_cap: u64) -> (Pet, Arc<Mutex<Vec<String>>>) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let into = log.clone();
    let told = Box::new(move |level: LogLevel, text: &str| {
        if level == LogLevel::Warning {
            into.lock().expect("a log").push(text.to_owned());
        }
    });
    let options =
        ContextOptions { compute: Compute::Cpu, memory_cap, threads: 2, log: Some(told), ..ContextOptions::default() };
    let context = Context::new(options).expect("a context");
    let mut pet = Pet::new(Arc::new(context));
    let lattice = Lattice::new(LATTICE, [VOXEL; 3]).expect("a lattice");
    pet.set_geometry(lattice, Views::grid(4, 1, TILT).expect("views")).expect("a geometry");
    pet.set_scanner(scanner);
    (pet, log)
}

fn sampled((centre, sigma, height): ([f64; 3], [f64; 3], f64)) -> Vec<f32> {
    let [nz, ny, nx] = LATTICE;
    let at = |k: usize| [k % nx, k / nx % ny, k / nx / ny];
    let value = |k: usize| {
        let square = (0..3).map(|a| {
            let place = VOXEL * (at(k)[a] as f64 - 0.5 * (LATTICE[2 - a] - 1) as f64);
            ((place - centre[a]) / sigma[a]).powi(2)
        });
        (height * (-0.5 * square.sum::<f64>()).exp()) as f32
    };
    (0..nz * ny * nx).map(value).collect()
}

/// Along a line without end.
fn integral((centre, sigma, height): ([f64; 3], [f64; 3], f64), from: [f64; 3], along: [f64; 3]) -> f64 {
    let of = |v: [f64; 3], w: [f64; 3]| (0..3).map(|a| v[a] * w[a] / (sigma[a] * sigma[a])).sum::<f64>();
    let off: [f64; 3] = std::array::from_fn(|a| from[a] - centre[a]);
    let (square, mixed, narrow) = (of(off, off), of(off, along), of(along, along));
    height * (-0.5 * (square - mixed * mixed / narrow)).exp() * (TAU / narrow).sqrt()
}

/// Means of all pairs of the fan where each photon is detected, in f64 and by integrals of Gaussians: trues, and coincidences of crystals of one photon a second.
fn pairs_of(scanner: &Scanner, attenuates: bool) -> Vec<([usize; 2], [f64; 2])> {
    let count = scanner.crystals.count();
    let mut all = Vec::new();
    for a in 0..count {
        for b in a + 1..count {
            let [p, q] = [a, b].map(|k| scanner.crystals.position(k));
            let apart: [f64; 3] = std::array::from_fn(|d| q[d] - p[d]);
            let flat = apart[0].hypot(apart[1]);
            let off = (p[0] * q[1] - p[1] * q[0]).abs() / flat;
            if !(off <= 0.5 * FIELD && apart[2].abs() <= TILT.tan() * flat) {
                continue;
            }
            let length = flat.hypot(apart[2]);
            let along = apart.map(|d| d / length);
            // Normals are towards the axis but for blocks, which are flat: of the block's middle.
            let cosine = |k: usize| {
                let angle = 0.05 + TAU / 20.0 * (k % 80 / 4) as f64;
                (along[0] * angle.cos() + along[1] * angle.sin()).abs()
            };
            let through = if attenuates { (-integral(WATER, p, along)).exp() } else { 1.0 };
            let measure = (13.0f64 * 9.0).powi(2) * cosine(a) * cosine(b) / (length * length);
            // Decays of a mm^3 of 1 Bq/ml, half of 2 pi of directions each.
            let decays = 1e-3 * SECONDS * 0.9 / TAU;
            let part = f64::from(scanner.pair(a, b));
            let trues = decays * integral(SOURCE, p, along) * through * measure * part;
            all.push(([a, b], [trues, 2.0 * WINDOW * 1e-12 * SECONDS * part]));
        }
    }
    all
}

fn options() -> FactorOptions {
    let acquisition = Acquisition { duration: SECONDS, live: 0.9, ..Acquisition::default() };
    FactorOptions { acquisition, ..FactorOptions::default() }
}

/// 0.4 to 1, and crystals that are dead.
fn truth(count: usize) -> Vec<f64> {
    let mut random = StdRng::seed_from_u64(5);
    (0..count).map(|k| if k % 97 == 40 { 0.0 } else { random.random_range(0.4..1.0) }).collect()
}

fn found(pet: &mut Pet, sums: &[f64], water: Option<&[f32]>, singles: Option<&[f64]>) -> Result<Vec<f32>> {
    let image = sampled(SOURCE);
    let mut out = vec![0f32; sums.len()];
    let of = KnownSource {
        sums: Array::of(sums, [sums.len()])?,
        image: Array::of(&image, LATTICE)?,
        attenuation: water.map(|map| Array::of(map, LATTICE)).transpose()?,
        singles: singles.map(|s| Array::of(s, [s.len()])).transpose()?.map(|s| (s, WINDOW)),
    };
    pet.efficiencies(FIELD, &options(), &of, &mut ArrayMut::of(&mut out, [sums.len()])?)?;
    Ok(out)
}

fn sums_of(all: &[([usize; 2], f64)], count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    all.iter().for_each(|(ends, n)| ends.iter().for_each(|k| sums[*k] += n));
    sums
}

/// Of expected sums, efficiencies are the true ones. Interpolation between voxels of 4 mm adds 4^2 / 6 mm^2 to the squares of widths of 28 mm and more, in the mean and along two axes: half as large a part, 0.003, goes from integrals
/// of the source in its middle, and 0.003 of 1 from those of the attenuation. A crystal's efficiency has all of that at most. Beyond the lattice's ends, at 3.2 widths and more, is less than 0.001.
#[test]
fn efficiencies_come_back() {
    let water = sampled(WATER);
    for (attenuates, accidental) in [(false, false), (true, false), (true, true)] {
        let scanner = scanner(2);
        let count = scanner.crystals.count();
        let truth = truth(count);
        let singles: Vec<f64> = truth.iter().map(|e| 3e4 * e).collect();
        let mean = |([a, b], [g, r]): ([usize; 2], [f64; 2])| {
            let randoms = if accidental { r * singles[a] * singles[b] } else { 0.0 };
            ([a, b], truth[a] * truth[b] * g + randoms)
        };
        let all: Vec<_> = pairs_of(&scanner, attenuates).into_iter().map(mean).collect();
        let (mut pet, log) = plan(scanner, 0);
        let sums = sums_of(&all, count);
        let given = accidental.then_some(&singles[..]);
        let found = found(&mut pet, &sums, attenuates.then_some(&water[..]), given).expect("efficiencies");
        for (k, (e, expected)) in found.iter().zip(&truth).enumerate() {
            assert!((f64::from(*e) - expected).abs() <= 0.005 * expected, "{k}: {e} {expected}");
        }
        let log = log.lock().expect("a log");
        assert_eq!(
            log[..],
            ["7 of 640 crystals have no counts, the first of them is crystal 40: their efficiency is 0"],
            "{attenuates} {accidental}"
        );
    }
}

/// Of random counts, they deviate by as much as these say: the errors of their logarithms, in units of 1 / sqrt(counts), are 1, and a little for the other ends'.
#[test]
fn random_counts_give_their_noise() {
    let scanner = scanner(2);
    let count = scanner.crystals.count();
    let truth = truth(count);
    let mut random = StdRng::seed_from_u64(8);
    let mut poisson = |mean: f64| {
        let (least, mut n, mut product) = ((-mean).exp(), 0.0, random.random_range(0.0..1.0f64));
        while product > least {
            n += 1.0;
            product *= random.random_range(0.0..1.0f64);
        }
        n
    };
    // A fiftieth of the activity, so that it is noise that is seen.
    let draw = |([a, b], [g, _]): ([usize; 2], [f64; 2])| ([a, b], poisson(0.02 * truth[a] * truth[b] * g));
    let all: Vec<_> = pairs_of(&scanner, true).into_iter().map(draw).collect();
    let sums = sums_of(&all, count);
    let (mut pet, _) = plan(scanner, 0);
    let found = found(&mut pet, &sums, Some(&sampled(WATER)), None).expect("efficiencies");
    let found: Vec<f64> = found.iter().map(|e| f64::from(*e) / 0.02f64.sqrt()).collect();
    let (mut square, mut mean, mut n) = (0.0, 0.0, 0.0);
    for ((e, expected), sum) in found.iter().zip(&truth).zip(&sums).filter(|((_, e), _)| **e > 0.0) {
        let off = (e / expected).ln();
        assert!(off.abs() < 6.0 / sum.sqrt(), "{e} {expected} of {sum}");
        (square, mean, n) = (square + off * off * sum, mean + off, n + 1.0);
    }
    let (spread, mean, total) = ((square / n).sqrt(), mean / n, sums.iter().sum::<f64>());
    assert!(spread > 0.85 && spread < 1.3, "{spread}");
    // Half of the total's, sqrt(2 / total), three times, and a third of the model's largest error.
    assert!(total > 1e5 && mean.abs() < 3.0 / (2.0 * total).sqrt() + 0.001, "{mean} of {total}");
}

/// Crystals far from a short source have the mean of the others, and are told.
#[test]
fn what_is_not_seen_has_the_mean() {
    let scanner = scanner(5);
    let count = scanner.crystals.count();
    let (mut pet, log) = plan(scanner.clone(), 0);
    let truth = truth(count);
    // Of the lines' integrals nothing is left at its ends.
    let image = sampled(([0.0; 3], [35.0, 35.0, 4.0], 2e4));
    let ones = vec![1.0; count];
    let mut out = vec![0f32; count];
    let mut of = |sums: &[f64], out: &mut [f32]| {
        let image = Array::of(&image, LATTICE).expect("an image");
        let sums = Array::of(sums, [count]).expect("sums");
        let of = KnownSource { sums, image, attenuation: None, singles: None };
        pet.efficiencies(FIELD, &options(), &of, &mut ArrayMut::of(out, [count]).expect("efficiencies"))
    };
    of(&ones, &mut out).expect("efficiencies");
    let unseen: Vec<usize> = (0..count).filter(|k| out[*k] == out[0]).collect();
    let own: Vec<f64> = out.iter().filter(|e| **e != out[0]).map(|e| f64::from(*e)).collect();
    let mean = own.iter().sum::<f64>() / own.len() as f64;
    assert!(unseen.len() >= 4 * 80 && unseen.len() < count / 2, "{}", unseen.len());
    assert!((f64::from(out[0]) / mean - 1.0).abs() < 1e-5, "{} {mean}", out[0]);
    let text = log.lock().expect("a log").join("\n");
    assert!(
        text.contains(&format!(
            "{} of 1600 crystals see next to nothing of the source, the first of them is crystal 0",
            unseen.len()
        )),
        "{text}"
    );
    // Counts that nothing can see.
    let alone: Vec<f64> = truth.iter().enumerate().map(|(k, _)| f64::from(u8::from(k == 0))).collect();
    let e = of(&alone, &mut out).expect_err("refused");
    assert!(e.message.starts_with("no crystal that has counts sees the source"), "{e}");
}

/// What there is no memory for is computed anew, to the same bits.
#[test]
fn memory_is_capped() {
    let scanner = scanner(2);
    let (count, water) = (scanner.crystals.count(), sampled(WATER));
    let truth = truth(count);
    let all: Vec<_> = pairs_of(&scanner, true);
    let means: Vec<_> = all.iter().map(|([a, b], [g, _])| ([*a, *b], truth[*a] * truth[*b] * g)).collect();
    let sums = sums_of(&means, count);
    let image = sampled(SOURCE);
    let least = {
        let (pet, _) = plan(scanner.clone(), 0);
        let of = KnownSource {
            sums: Array::of(&sums, [count]).expect("sums"),
            image: Array::of(&image, LATTICE).expect("an image"),
            attenuation: Some(Array::of(&water, LATTICE).expect("a map")),
            singles: None,
        };
        pet.least_memory(&options(), &of).expect("bytes")
    };
    let of = |cap: u64| found(&mut plan(scanner.clone(), cap).0, &sums, Some(&water), None);
    // 4 bytes for each pair. As many for the list of columns of 4 crystals, those of a module, and 4 kB for tasks.
    let bytes = 4 * all.len() as u64;
    let whole = of(least + 2 * bytes + 4096).expect("all kept");
    assert_eq!(of(least + bytes + bytes / 4).expect("some kept"), whole);
    assert_eq!(of(least + bytes + 4096).expect("none kept"), whole);
    let e = of(least + 10_000).expect_err("no list");
    assert!(e.status == Status::MemoryCap && e.message.contains("to go through them takes"), "{e}");
    let e = of(least - 1).expect_err("no images");
    assert!(e.status == Status::MemoryCap && e.message.contains("efficiencies need at least"), "{e}");
}

#[test]
fn what_is_no_scan_is_refused() {
    let count = 640;
    let (mut pet, log) = plan(scanner(2), 0);
    let (ones, none) = (vec![1e3; count], vec![0.0; count]);
    let refused = |pet: &mut Pet, sums: &[f64], singles: Option<&[f64]>| {
        found(pet, sums, None, singles).expect_err("refused").message
    };
    let mut below = ones.clone();
    below[7] = -1.0;
    assert_eq!(refused(&mut pet, &below, None), "sums[7] is -1; it must be at least 0");
    assert!(refused(&mut pet, &none, None).starts_with("sums are 0 everywhere"));
    assert_eq!(refused(&mut pet, &ones, Some(&below)), "singles[7] is -1; it must be at least 0");
    assert!(refused(&mut pet, &ones, Some(&vec![1e7; count])).starts_with("randoms of singles are as many"));
    // One that has more counts than all others together.
    let mut more = ones.clone();
    more[7] = 1e9;
    assert!(refused(&mut pet, &more, None).starts_with("no efficiencies explain the sums"));
    let mut of = |image: &[f32], options: &FactorOptions, singles: bool| {
        let arrays = KnownSource {
            sums: Array::of(&ones, [count]).expect("sums"),
            image: Array::of(image, LATTICE).expect("an image"),
            attenuation: None,
            singles: singles.then(|| (Array::of(&ones, [count]).expect("singles"), WINDOW)),
        };
        let mut out = vec![0f32; count];
        let mut to = ArrayMut::of(&mut out, [count]).expect("efficiencies");
        pet.efficiencies(FIELD, options, &arrays, &mut to).map_err(|e| e.message)
    };
    let (source, empty) = (sampled(SOURCE), sampled((SOURCE.0, SOURCE.1, 0.0)));
    let mut bad = source.clone();
    bad[3] = -1.0;
    assert_eq!(of(&empty, &options(), false), Err("image is 0 everywhere: there is no source".into()));
    assert_eq!(of(&bad, &options(), false), Err("image[0, 0, 3] is -1; it must be at least 0".into()));
    let decays = FactorOptions::default();
    assert!(of(&source, &decays, true).expect_err("no duration").starts_with("options.duration is 0, and singles"));
    // On the axis, far behind the crystals.
    let mut behind = empty.clone();
    behind[30 * 60 + 30] = 1.0;
    let text = of(&behind, &options(), false).expect_err("no line");
    assert!(text.starts_with("no line between two crystals"), "{text}");
    // In kBq/ml: more than all photons.
    let weak = sampled((SOURCE.0, SOURCE.1, 1e-4));
    log.lock().expect("a log").clear();
    assert_eq!(of(&weak, &options(), false), Ok(()));
    let text = log.lock().expect("a log").join("\n");
    assert!(text.starts_with("half of the efficiencies are above") && text.contains("another unit"), "{text}");
    let (mut points, _) =
        plan(Crystals::new(3, |k| [100.0 * k as f64, 9.0, 0.0], None, [0.0; 2]).expect("points").into(), 0);
    let e = found(&mut points, &[1.0; 3], None, None).expect_err("no faces");
    assert!(e.message.starts_with("crystals are points"), "{e}");
}
