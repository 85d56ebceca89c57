use super::cases::{crystals, gaussian, histos, layered, map, small};
use super::*;
use crate::phantom::{Object, Phantom, Quantity};
use crate::response::Radial;
use crate::scanner::{Blocks, Crystals, Sizes};
use crate::simulation::{self, Background, Resolution, Scan, Source, Tally};
use crate::views::Views;
use isocenter_base::context::ContextOptions;
use isocenter_base::cpu::level::Level;
use isocenter_base::phantom::Shape;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn written(factors: &Factors<'_>, context: &Context) -> Vec<f32> {
    let views = factors.views.len();
    let mut out = vec![f32::NAN; views * factors.lattice.voxels()];
    factors.write(context, &histos(&mut out, views, &factors.lattice)).expect("factors");
    out
}

/// Those of crystals and the Gaussian map.
fn with_map<'a>(
    (scanner, efficiencies): (&'a Scanner, Option<&[f32]>),
    (views, lattice): (&Views, &Lattice),
    directions: usize,
) -> Factors<'a> {
    let (values, shape, voxel) = map();
    let attenuation = AttenuationMap { values: &values, shape, voxel, centre: [0.0; 3] };
    let sampling = Sampling::new(views, lattice, directions).expect("directions");
    let acquisition = Acquisition::default();
    Factors::new((sampling, lattice), (scanner, efficiencies), Some(&attenuation), &acquisition).expect("factors")
}

fn context(options: ContextOptions) -> Context {
    Context::new(options).expect("a context")
}

/// A crystal's middle, normal, and edges over their squares.
type Plain = [[f64; 3]; 4];

fn plain(crystals: &Crystals) -> Vec<Plain> {
    let of = |v: [f32; 4]| [v[0], v[1], v[2]].map(f64::from);
    let faces = &crystals.faces()[..crystals.count()];
    let plain = faces.iter().map(|face| {
        let [c, w, h] = [of(face.centre), of(face.width), of(face.height)];
        let n = [w[1] * h[2] - w[2] * h[1], w[2] * h[0] - w[0] * h[2], w[0] * h[1] - w[1] * h[0]];
        [c, n, w.map(|v| v / dot(w, w)), h.map(|v| v / dot(h, h))]
    });
    plain.collect()
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// The crystals that a line meets ahead, by a look at all faces, and how far they are.
fn meet(crystals: &[Plain], place: [f64; 3], along: [f64; 3]) -> Vec<(usize, f64)> {
    let of = |(k, [c, n, w, h]): (usize, &Plain)| {
        let to = [0, 1, 2].map(|d| c[d] - place[d]);
        let t = dot(to, *n) / dot(along, *n);
        let off = [0, 1, 2].map(|d| t * along[d] - to[d]);
        // Comparisons with NaN fail.
        (t > 0.0 && dot(off, *w).abs() <= 0.5 && dot(off, *h).abs() <= 0.5).then_some((k, t))
    };
    crystals.iter().enumerate().filter_map(of).collect()
}

/// Sums over pairs of crystals, of what a line meets behind and ahead.
type OfLine<'a> = &'a (dyn Fn(&[(usize, f64)], &[(usize, f64)]) -> f64 + Sync);

/// The definition: the mean over random lines through a voxel, whose crystals are looked for one by one, and whose attenuation is a formula.
fn by_lines(
    (crystals, of_line): (&[Plain], OfLine),
    lattice: &Lattice,
    (cell, voxel): (&[crate::views::Strip], [usize; 3]),
    random: &mut StdRng,
) -> f64 {
    const LINES: usize = 4000;
    let solid: f64 = cell.iter().map(|s| s.width * (s.tilts[1].sin() - s.tilts[0].sin())).sum();
    let mut sum = 0.0;
    for k in 0..LINES {
        // Strips are as wide and as high as each other.
        let strip = &cell[k % cell.len()];
        let mut part = || random.random_range(-0.5..0.5);
        let azimuth = strip.azimuth + strip.width * part();
        let [low, high] = strip.tilts.map(f64::sin);
        let sine = 0.5 * (low + high) + (high - low) * part();
        let centre = lattice.centre(voxel);
        let place: [f64; 3] = std::array::from_fn(|d| centre[d] + lattice.voxel()[d] * part());
        let cosine = (1.0 - sine * sine).sqrt();
        let along = [azimuth.cos() * cosine, azimuth.sin() * cosine, sine];
        let ends = [meet(crystals, place, along), meet(crystals, place, along.map(|v| -v))];
        let value = of_line(&ends[1], &ends[0]);
        if value > 0.0 {
            let t: f64 = place.iter().zip(along).map(|(p, n)| p * n).sum();
            let nearest = std::array::from_fn(|d| place[d] - t * along[d]);
            let integral = gaussian(nearest) * 30.0 * TAU.sqrt();
            sum += value * (-integral).exp();
        }
    }
    sum / LINES as f64 * solid / TAU
}

/// Where every other block has crystals of half the width, twice as many that together are as wide, lines meet crystals where they did: the same factors to rounding of edges, which few lines are on.
#[test]
fn crystals_of_two_sizes_are_met_as_those_of_one() {
    let blocks = |across: usize| Blocks {
        blocks: 24,
        block_rings: 2,
        across,
        along: 6,
        diameter: 200.0,
        pitch_across: 20.0 / across as f64,
        pitch_along: 5.0,
        block_pitch: 33.0,
        first_azimuth: 0.1,
    };
    let (coarse, fine) = (blocks(4), blocks(8));
    let of_block = |blocks: &Blocks, across: usize, even: usize| -> Vec<([[f64; 3]; 2], [f64; 2])> {
        let width = 20.0 / across as f64;
        let all = 0..blocks.count().expect("blocks");
        let chosen = all.filter(|k| k % (24 * across) / across % 2 == even);
        chosen.map(|k| (blocks.crystal(k), [width, 4.6])).collect()
    };
    let same: Vec<_> = [0, 1].iter().flat_map(|even| of_block(&coarse, 4, *even)).collect();
    let mixed: Vec<_> = of_block(&coarse, 4, 0).into_iter().chain(of_block(&fine, 8, 1)).collect();
    let (views, lattice) =
        (Views::grid(5, 2, 0.2).expect("views"), Lattice::new([12, 20, 20], [5.0; 3]).expect("lattice"));
    let [same, mixed] = [same, mixed].map(|all| {
        let (normal, size) = (|k: usize| all[k].0[1], |k: usize| all[k].1);
        let crystals = Crystals::new(all.len(), |k| all[k].0[0], Some(&normal), Sizes::Each(&size)).expect("crystals");
        let scanner: Scanner = crystals.into();
        let factors = with_map((&scanner, None), (&views, &lattice), 32);
        written(&factors, &context(ContextOptions::default()))
    });
    let most = same.iter().fold(0.0f32, |m, v| m.max(*v));
    let apart = same.iter().zip(&mixed).filter(|(a, b)| (*a - *b).abs() > 1e-4 * most).count();
    assert!(most > 0.0 && apart < same.len() / 200, "{apart} of {}", same.len());
    let sum = |values: &[f32]| values.iter().map(|v| f64::from(*v)).sum::<f64>();
    assert!((sum(&mixed) / sum(&same) - 1.0).abs() < 1e-4);
}

/// The sum over views is that of all views' factors, and a 24th of neighbours along z, but for the order of some thousand lines' parts, which rounding leaves 1e-6 of.
#[test]
fn the_sum_over_views_is_theirs() {
    let (scanner, efficiencies) = small();
    let (views, lattice) =
        (Views::grid(5, 2, 0.2).expect("views"), Lattice::new([9, 16, 14], [5.0; 3]).expect("lattice"));
    let factors = with_map((&scanner, Some(&efficiencies)), (&views, &lattice), 32);
    let context = context(ContextOptions::default());
    let each = written(&factors, &context);
    let mut sum = vec![f32::NAN; lattice.voxels()];
    factors.write_sum(&context, &ArrayMut::new(&mut sum, lattice.shape()).expect("an image")).expect("a sum");
    let of = |v: usize| -> f64 { each.iter().skip(v).step_by(lattice.voxels()).map(|f| f64::from(*f)).sum() };
    for (v, sum) in sum.iter().enumerate() {
        let (slice, inside) = (16 * 14, (16 * 14..8 * 16 * 14).contains(&v));
        let expected = of(v) + if inside { (of(v - slice) + of(v + slice) - 2.0 * of(v)) / 24.0 } else { 0.0 };
        assert!((f64::from(*sum) - expected).abs() < 5e-6 * expected.max(1e-6), "{v}: {sum} {expected}");
    }
}

/// Single voxels have the noise of the lines that they are the mean of, of both, as parts of the mean voxel: by 4000 lines 2 % (a line's value deviates by 1.3 of the
/// mean, most of it whether it meets crystals at all), by 480 directions of 2.4^2 lines each (parts of a line are 1 - f, 1 and f of 2, whose squares sum to 1 / 2.4) as
/// many as 2800, 2.4 %, less what strata take off. And the lines are of places in cells about the voxel, half a voxel farther at most: near gaps between rings, whose
/// shadows are as wide as voxels here, that makes 1 % or 2 %. Together 3.5 %; of the mean of 200 voxels 0.25 %.
#[test]
fn they_are_means_over_lines() {
    let (scanner, efficiencies) = small();
    let of_line = |behind: &[(usize, f64)], ahead: &[(usize, f64)]| match (behind, ahead) {
        ([(a, _)], [(b, _)]) => f64::from(efficiencies[*a] * efficiencies[*b]),
        _ => 0.0,
    };
    check_means((&scanner, Some(&efficiencies)), &of_line, (200, 0.035));
}

/// Of crystals behind each other, all pairs that a line crosses, times the pairs' own efficiencies; lines deviate by as much as pairs do, 0.3 of them, and those of either layer's gaps: as single
/// ones do, 0.035 together. Without crystals' efficiencies each photon is detected once, by the first.
#[test]
fn all_crystals_that_lines_cross_detect() {
    let (scanner, efficiencies) = layered();
    let pairs = scanner.pairs.as_ref().expect("pairs");
    let of_line = |behind: &[(usize, f64)], ahead: &[(usize, f64)]| {
        let all = behind.iter().flat_map(|(a, _)| ahead.iter().map(move |(b, _)| (*a, *b)));
        all.map(|(a, b)| f64::from(efficiencies[a] * efficiencies[b] * pairs.efficiency(a, b))).sum()
    };
    check_means((&scanner, Some(&efficiencies)), &of_line, (25, 0.045));
    let nearest = |met: &[(usize, f64)]| met.iter().min_by(|a, b| a.1.total_cmp(&b.1)).map(|m| m.0);
    let of_line = |behind: &[(usize, f64)], ahead: &[(usize, f64)]| match (nearest(behind), nearest(ahead)) {
        (Some(a), Some(b)) => f64::from(pairs.efficiency(a, b)),
        _ => 0.0,
    };
    check_means((&scanner, None), &of_line, (25, 0.045));
}

/// Factors of so many voxels against [`by_lines`]; `most`: their deviation over the mean.
fn check_means((scanner, efficiencies): (&Scanner, Option<&[f32]>), of_line: OfLine, (count, most): (usize, f64)) {
    let views = Views::grid(12, 3, 0.25).expect("views");
    let lattice = Lattice::new([8, 14, 16], [6.0, 7.0, 5.0]).expect("lattice");
    let factors = with_map((scanner, efficiencies), (&views, &lattice), 500);
    let found = written(&factors, &context(ContextOptions::default()));
    let cells = views.cells();
    let plain = plain(&scanner.crystals);
    let pairs: Vec<[f64; 2]> = (0..count)
        .into_par_iter()
        .map(|k| {
            let mut random = StdRng::seed_from_u64(k as u64);
            let v = random.random_range(0..cells.len());
            let [nx, ny, nz] = lattice.along();
            let at = [random.random_range(0..nx), random.random_range(0..ny), random.random_range(0..nz)];
            let expected = by_lines((&plain, of_line), &lattice, (&cells[v], at), &mut random);
            [f64::from(found[((v * nz + at[2]) * ny + at[1]) * nx + at[0]]), expected]
        })
        .collect();
    let (mut sums, mut squares, mut largest) = ([0.0; 2], 0.0, 0f64);
    for [value, expected] in pairs {
        sums = [sums[0] + value, sums[1] + expected];
        squares += (value - expected).powi(2);
        largest = largest.max(expected);
    }
    let mean = sums[1] / count as f64;
    let deviation = (squares / count as f64).sqrt() / mean;
    assert!((sums[0] / sums[1] - 1.0).abs() < 0.085 / (count as f64).sqrt(), "{} of {}", sums[0], sums[1]);
    assert!(deviation < most, "{deviation}");
    assert!(mean > 0.25 * largest, "lines that are measured: {mean} of {largest}");
}

/// Crystals that nearly make a cylinder, against the formulas of the simulated one, which are those of voxels' middles and of few directions. Without attenuation
/// all lines between its ends are measured, and those of a voxel differ from its middle's there alone; with a body, they differ at its edge, where the integral rises by
/// half within a voxel.
#[test]
fn a_ring_of_crystals_is_a_cylinder_of_detectors() {
    let blocks = Blocks {
        blocks: 180,
        block_rings: 1,
        across: 2,
        along: 50,
        diameter: 400.0,
        pitch_across: 200.0 * (TAU / 360.0).tan(),
        pitch_along: 4.0,
        block_pitch: 0.0,
        first_azimuth: 0.0,
    };
    let detectors: Scanner = crystals(&blocks, [blocks.pitch_across * 1.0001, 4.0]).into();
    let views = Views::grid(16, 3, 0.2).expect("views");
    let lattice = Lattice::new([24, 32, 32], [6.0, 6.0, 6.0]).expect("lattice");
    let context = context(ContextOptions::default());
    for (attenuation, [mean, deviation]) in [(0.0, [0.001, 0.01]), (0.0096, [0.003, 0.035])] {
        let body = Shape::Cylinder { centre: [10.0, -20.0, 0.0], radius: 60.0, length: 500.0 };
        let phantom = Phantom::new(vec![Object { shape: body, activity: 2.0, attenuation }]).expect("a phantom");
        // Longer than the lattice.
        let long = Lattice::new([60, 32, 32], [6.0, 6.0, 6.0]).expect("lattice");
        let values = phantom.voxel_means(Quantity::Attenuation, &long).expect("a map");
        let map = AttenuationMap { values: &values, shape: [60, 32, 32], voxel: [6.0; 3], centre: [0.0; 3] };
        let sampling = Sampling::new(&views, &lattice, 64).expect("directions");
        let factors = Factors::new((sampling, &lattice), (&detectors, None), Some(&map), &Acquisition::default())
            .expect("factors");
        let found = written(&factors, &context);
        let scan = Scan {
            source: Source::Phantom(&phantom),
            attenuation: &phantom,
            map: None,
            scanner: simulation::Scanner { diameter: 400.0, axial_length: 200.0, max_tilt: 0.2 },
            resolution: Resolution { time: 0.0, radial: Radial::Constant(0.0), axial: 0.0 },
            background: Background::default(),
        };
        // Decays within the tilts are so many for one of activity 1 in a voxel, in any direction.
        let total = phantom.total_activity() / lattice.voxel_volume() * 0.2f64.sin();
        let tally = Tally { decays: 1 << 40, ..Tally::default() };
        let mut expected = vec![0f32; found.len()];
        scan.factors(&context, &tally, &views, &lattice, histos(&mut expected, 48, &lattice)).expect("factors");
        let scale = total / (1u64 << 40) as f64;
        let (mut sums, mut squares, mut count) = ([0.0; 2], 0.0, 0);
        for (k, (a, b)) in found.iter().zip(&expected).enumerate() {
            let (x, y, z) = (k % 32, k / 32 % 32, k / 1024 % 24);
            let [px, py, _] = lattice.centre([x, y, z]);
            if (4..20).contains(&z) && px.hypot(py) < 90.0 {
                let (a, b) = (f64::from(*a), f64::from(*b) * scale);
                sums = [sums[0] + a, sums[1] + b];
                squares += (a - b).powi(2);
                count += 1;
            }
        }
        let off = (squares / f64::from(count)).sqrt() / (sums[1] / f64::from(count));
        assert!((sums[0] / sums[1] - 1.0).abs() < mean, "{attenuation}: {} of {}", sums[0], sums[1]);
        assert!(off < deviation, "{attenuation}: {off}");
    }
}

#[test]
fn any_level_and_any_threads_make_the_same() {
    let views = Views::grid(4, 2, 0.25).expect("views");
    let lattice = Lattice::new([5, 9, 8], [6.0, 7.0, 5.0]).expect("lattice");
    let (scanner, efficiencies) = layered();
    let factors = with_map((&scanner, Some(&efficiencies)), (&views, &lattice), 20);
    let of = |level, threads| {
        written(&factors, &context(ContextOptions { level: Some(level), threads, ..ContextOptions::default() }))
    };
    let plain = of(Level::available().next().expect("a level"), 1);
    for level in Level::available() {
        for threads in [1, 3] {
            assert_eq!(of(level, threads), plain, "{level:?} with {threads} threads");
        }
    }
    assert!(plain.iter().all(|v| v.is_finite() && *v >= 0.0) && plain.iter().any(|v| *v > 0.0));
}

#[test]
fn what_makes_no_factors_is_refused() {
    let (scanner, efficiencies) = small();
    let views = Views::grid(4, 2, 0.25).expect("views");
    let lattice = Lattice::new([5, 9, 8], [6.0, 7.0, 5.0]).expect("lattice");
    let of = |efficiencies: &[f32], directions| {
        let made = Sampling::new(&views, &lattice, directions).and_then(|sampling| {
            Factors::new((sampling, &lattice), (&scanner, Some(efficiencies)), None, &Acquisition::default())
        });
        made.expect_err("refused").message
    };
    let mut negative = efficiencies.clone();
    negative[7] = -0.25;
    assert_eq!(of(&negative, 8), "efficiencies[7] is -0.25; it must be at least 0");
    assert!(of(&vec![0.0; efficiencies.len()], 8).starts_with("efficiencies are 0 everywhere"));
    assert_eq!(of(&efficiencies, 0), "options.directions is 0; it must be 1 to 16384");
}
