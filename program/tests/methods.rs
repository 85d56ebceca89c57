//! Filters, iterations and regions: what the command makes is what the library makes of the same numbers.

mod folder;

use folder::Folder;
use hdf5_metno::File;
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::ct::{
    Algorithm, Ct, Filter, Fit, Geometry, InputKind, Interpolation, Iterative, Options, Padding, Pair, Variation,
    Weighting, crop,
};
use std::f64::consts::PI;
use std::process::{Command, Output};
use std::sync::Arc;

const VIEWS: usize = 40;
const ROWS: usize = 6;
const BINS: usize = 48;
const AXIS: f64 = 23.2;
const PIXEL: f64 = 0.05;

/// Line integrals of a disc and a rod in it, which moves from row to row, with a little noise.
fn values() -> Vec<f32> {
    let chord = |s: f64, radius: f64| 2.0 * (radius * radius - s * s).max(0.0).sqrt();
    let value = |k: usize| {
        let (view, row, bin) = (k / (ROWS * BINS), k / BINS % ROWS, (k % BINS) as f64);
        let angle = PI * view as f64 / VIEWS as f64;
        let rod = bin - AXIS - 6.0 * angle.cos() - row as f64 * angle.sin();
        let noise = ((k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / f64::from(1 << 24);
        (PIXEL * (chord(bin - AXIS, 16.0) + 2.0 * chord(rod, 4.0)) + 0.02 * noise) as f32
    };
    (0..VIEWS * ROWS * BINS).map(value).collect()
}

fn scan(folder: &Folder, values: &[f32]) {
    let exchange =
        File::create(folder.path("scan.h5")).and_then(|file| file.create_group("exchange")).expect("a group");
    let data = exchange.new_dataset::<f32>().shape([VIEWS, ROWS, BINS]).create("data").expect("a dataset");
    data.write_raw(values).expect("values");
}

/// About the axis, as angles of the file become.
fn geometry() -> Geometry {
    let angles = (0..VIEWS).map(|v| v as f64 * PI / VIEWS as f64).collect();
    let (axis, bin_pitch, pixel_size) = (vec![AXIS], PIXEL, PIXEL);
    Geometry { axis, bin_pitch, pixel_size, ..Geometry::new(angles, BINS) }.with_rows(ROWS)
}

/// As the command has it.
fn options() -> Options {
    Options { interpolation: Interpolation::BandLimited, input: InputKind::LineIntegrals, ..Options::default() }
}

fn iterations(algorithm: Algorithm) -> Options {
    Options { algorithm, input: InputKind::LineIntegrals, ..Options::default() }
}

fn library(values: &[f32], g: &Geometry, options: Options, set: impl FnOnce(&mut Ct)) -> Vec<f32> {
    let context =
        Context::new(ContextOptions { compute: Compute::Cpu, ..ContextOptions::default() }).expect("a context");
    let mut ct = Ct::new(Arc::new(context));
    ct.set_geometry(g.clone()).expect("a geometry");
    ct.set_options(options).expect("options");
    set(&mut ct);
    let mut volume = vec![0.0; g.volume_shape().iter().product()];
    let from = Array::of(values, [VIEWS, ROWS, BINS]).expect("projections");
    ct.reconstruct(from, ArrayMut::new(&mut volume, g.volume_shape()).expect("a volume")).expect("success");
    volume
}

/// What the library makes by iterations.
fn iterated(values: &[f32], options: Options, iterative: Iterative) -> Vec<f32> {
    library(values, &geometry(), options, |ct| ct.set_iterative(iterative).expect("iterations"))
}

fn isocenter(folder: &Folder, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_isocenter"))
        .args(arguments)
        .current_dir(&folder.0)
        .output()
        .expect("the command runs")
}

fn succeeds(folder: &Folder, arguments: &[&str]) -> String {
    let output = isocenter(folder, arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &error
}

const REST: [&str; 13] = [
    "recon",
    "scan.h5",
    "-o",
    "v.h5",
    "--axis",
    "23.2",
    "--pixel",
    "0.05",
    "--stripes",
    "off",
    "--input",
    "line-integrals",
    "--device=cpu",
];

/// What the command makes.
fn made(folder: &Folder, more: &[&str]) -> Vec<f32> {
    succeeds(folder, &[REST.as_slice(), more].concat());
    volume(folder)
}

fn volume(folder: &Folder) -> Vec<f32> {
    let data = File::open(folder.path("v.h5")).and_then(|file| file.dataset("entry/reconstruction/data"));
    data.and_then(|data| data.read_raw()).expect("a volume")
}

/// To the bit.
fn same(seen: &[f32], expected: &[f32], what: &[&str]) {
    assert!(expected.iter().any(|v| *v != 0.0), "{what:?}: nothing");
    let differ = seen.iter().zip(expected).filter(|(a, b)| a.to_bits() != b.to_bits()).count();
    assert!(seen.len() == expected.len() && differ == 0, "{what:?}: {differ} of {} differ", expected.len());
}

#[test]
fn filters_are_the_librarys() {
    let (folder, values) = (Folder::new("filters"), values());
    scan(&folder, &values);
    std::fs::write(folder.path("response.txt"), "# of |f|\n0\n0.2\n0.3\n\n0.1\n").expect("a file");
    let of = |filter| Options { filter, ..options() };
    let linear = Options { interpolation: Interpolation::Linear, ..options() };
    for (words, options) in [
        (vec![], options()),
        (vec!["--filter", "ram-lak", "--cutoff", "0.7"], of(Filter::RamLak { cutoff: 0.7 })),
        (vec!["--cutoff", "0.7"], of(Filter::RamLak { cutoff: 0.7 })),
        (vec!["--filter", "shepp-logan"], of(Filter::SheppLogan { cutoff: 1.0 })),
        // As Python and C have it.
        (vec!["--filter", "shepp_logan"], of(Filter::SheppLogan { cutoff: 1.0 })),
        (vec!["--filter", "cosine"], of(Filter::Cosine { cutoff: 1.0 })),
        (vec!["--filter", "hamming"], of(Filter::Hamming { cutoff: 1.0 })),
        (vec!["--filter", "hann", "--cutoff", "0.5"], of(Filter::Hann { cutoff: 0.5 })),
        (vec!["--filter", "parzen"], of(Filter::Parzen { cutoff: 1.0 })),
        (vec!["--filter", "butterworth"], of(Filter::Butterworth { cutoff: 0.5, order: 4.0 })),
        (
            vec!["--filter", "butterworth", "--cutoff", "0.3", "--butterworth-order", "2"],
            of(Filter::Butterworth { cutoff: 0.3, order: 2.0 }),
        ),
        (vec!["--filter", "none"], of(Filter::None)),
        (vec!["--response", "response.txt"], of(Filter::Custom(vec![0.0, 0.2, 0.3, 0.1]))),
        (vec!["--interpolation", "linear", "--padding", "edge"], Options { padding: Padding::Edge, ..linear.clone() }),
        (vec!["--interpolation", "nearest"], Options { interpolation: Interpolation::Nearest, ..linear.clone() }),
        (vec!["--interpolation", "oversampled"], Options { interpolation: Interpolation::Oversampled, ..linear }),
    ] {
        same(&made(&folder, &words), &library(&values, &geometry(), options, |_| {}), &words);
    }
}

/// Of transmissions, of which some are below what the logarithm goes down to.
#[test]
fn the_smallest_transmission() {
    let folder = Folder::new("transmissions");
    let values: Vec<f32> = values().iter().map(|v| (-v).exp()).collect();
    scan(&folder, &values);
    let rest: Vec<_> = REST.iter().map(|word| if *word == "line-integrals" { "transmission" } else { word }).collect();
    succeeds(&folder, &[&rest[..], &["--minimum-transmission", "0.2"]].concat());
    let of = |minimum_transmission| {
        let options = Options { minimum_transmission, input: InputKind::Transmission, ..options() };
        library(&values, &geometry(), options, |_| {})
    };
    same(&volume(&folder), &of(0.2), &["--minimum-transmission"]);
    assert!(of(0.2) != of(1e-6), "none is as small");
}

#[test]
fn iterations_are_the_librarys() {
    let (folder, values) = (Folder::new("iterations"), values());
    scan(&folder, &values);
    let usual = |iterations| Iterative { iterations, ..Iterative::default() };
    let (least, free) = (0.0, f64::INFINITY);
    let banded = |algorithm| Options { pair: Pair::BandLimited, ..iterations(algorithm) };
    for (words, options, iterative) in [
        ("--algorithm sirt --iterations 4", iterations(Algorithm::Sirt), usual(4)),
        ("--algorithm sirt", iterations(Algorithm::Sirt), usual(100)),
        (
            "--algorithm sirt --subsets 5 --relaxation 0.7 --minimum 0 --maximum 1.5",
            iterations(Algorithm::Sirt),
            Iterative { subsets: 5, relaxation: 0.7, bounds: [least, 1.5], ..usual(20) },
        ),
        (
            "--algorithm cgls --regularisation 0.4 --tolerance 0.01",
            iterations(Algorithm::Cgls),
            Iterative { regularisation: 0.4, tolerance: 0.01, ..usual(10) },
        ),
        (
            "--algorithm cgls --weights transmission --support 0.9 --regularization 0.1",
            iterations(Algorithm::Cgls),
            Iterative { weighting: Weighting::Transmission, mask_radius: 0.9, regularisation: 0.1, ..usual(10) },
        ),
        (
            "--algorithm cgls --projector band-limited --support 0.9",
            banded(Algorithm::Cgls),
            Iterative { mask_radius: 0.9, ..usual(10) },
        ),
        (
            "--algorithm mlem --subsets 4 --maximum 3",
            iterations(Algorithm::Mlem),
            Iterative { subsets: 4, bounds: [f64::NEG_INFINITY, 3.0], ..usual(10) },
        ),
        ("--algorithm mlem", iterations(Algorithm::Mlem), usual(30)),
        (
            "--algorithm fista --minimum -0.1 --maximum 2 --tolerance 0.05",
            iterations(Algorithm::Fista),
            Iterative { bounds: [-0.1, 2.0], tolerance: 0.05, ..usual(50) },
        ),
        (
            "--algorithm total-variation --minimum 0 --regularisation 0.02 --huber 0.1 --iterations 45",
            iterations(Algorithm::TotalVariation),
            Iterative { bounds: [least, free], regularisation: 0.02, huber: 0.1, ..usual(45) },
        ),
        (
            "--algorithm total-variation --minimum 0 --maximum 3 --regularisation 0.02 --ring-weight 0.1 --tolerance 0.01 --weights transmission",
            iterations(Algorithm::TotalVariation),
            Iterative {
                bounds: [least, 3.0],
                regularisation: 0.02,
                ring_weight: 0.1,
                tolerance: 0.01,
                weighting: Weighting::Transmission,
                ..usual(500)
            },
        ),
        (
            "--algorithm total-variation --minimum 0 --maximum 3 --regularisation 0.02 --fit poisson --iterations 30",
            iterations(Algorithm::TotalVariation),
            Iterative { bounds: [least, 3.0], regularisation: 0.02, fit: Fit::Poisson, ..usual(30) },
        ),
        (
            "--algorithm total-variation --minimum 0 --regularisation 0.02 --variation volume --iterations 45",
            iterations(Algorithm::TotalVariation),
            Iterative { bounds: [least, free], regularisation: 0.02, variation: Variation::Volume, ..usual(45) },
        ),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        same(&made(&folder, &words), &iterated(&values, options, iterative), &words);
    }
}

/// A plan has all that was found, and makes the same: the weight that the library suggests, which the log tells.
#[test]
fn the_weight_is_suggested_by_noise() {
    let (folder, values) = (Folder::new("suggested"), values());
    scan(&folder, &values);
    let mut weight = 0.0;
    let expected = library(&values, &geometry(), iterations(Algorithm::TotalVariation), |ct| {
        let from = Array::of(&values, [VIEWS, ROWS, BINS]).expect("projections");
        weight = ct.suggest_regularisation(from).expect("a weight").weight;
        let (bounds, regularisation) = ([0.0, f64::INFINITY], weight);
        ct.set_iterative(Iterative { iterations: 25, bounds, regularisation, ..Iterative::default() }).expect("set");
    });
    let words = ["--algorithm", "total-variation", "--minimum", "0", "--iterations", "25"];
    let told = succeeds(&folder, &[REST.as_slice(), &words].concat());
    assert!(weight > 0.0 && told.contains(&format!("regularisation {weight:.4e}, by a noise of")), "{told}");
    same(&volume(&folder), &expected, &words);
    let plan = std::fs::read_to_string(folder.path("v.toml")).expect("a plan");
    assert!(plan.contains(&format!("regularisation = {weight}")), "{plan}");
    std::fs::remove_file(folder.path("v.h5")).expect("removed");
    succeeds(&folder, &["repeat", "v.toml", "--device", "cpu"]);
    same(&volume(&folder), &expected, &["repeat"]);
    // The report has the objective, of all slices.
    let page = std::fs::read_to_string(folder.path("v.html")).expect("a report");
    for word in ["log10 of the objective", "at iteration 25, at most", "total-variation, 25 iterations at most"] {
        assert!(page.contains(word), "{word}");
    }
    assert!(!page.contains("by other runs"));
}

/// Iterations go slice by slice: a volume is the same, whatever blocks it is made in, but for roundings. Where slices are made together, blocks are
/// refused.
#[test]
fn blocks_make_no_difference() {
    let (folder, values) = (Folder::new("blocks"), values());
    scan(&folder, &values);
    for (words, off) in [
        // Six slices lie side by side in vectors, two do not, so that sums of 40 views and 48 bins are added up in another order: a few
        // roundings of 6e-8 in each of 20 iterations, of which the later ones take back what is off of the earlier ones.
        (vec!["--algorithm", "sirt", "--subsets", "4"], 2e-5),
        (vec!["--algorithm", "total-variation", "--minimum", "0", "--iterations", "40"], 1e-3),
        // Two slices are one image of a transform, wherever they are.
        (vec!["--algorithm", "cgls", "--projector", "band-limited", "--support", "0.9"], 0.0),
    ] {
        let whole = made(&folder, &words);
        let largest = whole.iter().fold(0.0f32, |l, v| l.max(v.abs()));
        let plan = std::fs::read_to_string(folder.path("v.toml")).expect("a plan");
        for block in ["2", "4"] {
            let text = plan.replace("block = 128", &format!("block = {block}"));
            std::fs::write(folder.path("plan.toml"), text).expect("a plan");
            std::fs::remove_file(folder.path("v.h5")).expect("removed");
            succeeds(&folder, &["repeat", "plan.toml", "--device", "cpu"]);
            let far = volume(&folder).iter().zip(&whole).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(largest > 0.0 && far <= off * largest, "{words:?} in blocks of {block}: {far:e} of {largest}");
        }
    }
    let volume = ["--algorithm", "total-variation", "--minimum", "0", "--variation", "volume", "--iterations", "20"];
    made(&folder, &volume);
    let plan = std::fs::read_to_string(folder.path("v.toml")).expect("a plan");
    assert!(plan.contains("block = 6"), "{plan}");
    std::fs::write(folder.path("plan.toml"), plan.replace("block = 6", "block = 4")).expect("a plan");
    let error = isocenter(&folder, &["repeat", "plan.toml", "--device", "cpu"]);
    assert!(String::from_utf8_lossy(&error.stderr).contains("it must be 6 or more"));
    let error = isocenter(&folder, &[REST.as_slice(), &volume, &["--memory", "1M"]].concat());
    let error = String::from_utf8_lossy(&error.stderr).into_owned();
    assert!(error.contains("6 slices together need") && error.contains("half of --memory"), "{error}");
}

/// A part of slices of this side.
fn part(whole: &[f32], side: usize, lines: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> Vec<f32> {
    let lines = |slice: usize| lines.clone().map(move |line| (slice * side + line) * side);
    let starts = (0..whole.len() / (side * side)).flat_map(lines);
    starts.flat_map(|at| whole[at + columns.start..at + columns.end].iter().copied()).collect()
}

const REGION: [&str; 4] = ["--columns", "10..31", "--lines", "5..40"];

#[test]
fn regions_are_parts_of_slices() {
    let (folder, values) = (Folder::new("regions"), values());
    scan(&folder, &values);
    for (words, off) in [
        // Sums of 40 views in f32, in another order at most.
        (vec!["--interpolation", "linear"], 1e-5),
        // Of whole slices, and so the same.
        (vec![], 0.0),
        (vec!["--mask", "0.8", "--interpolation", "linear"], 0.0),
        (vec!["--algorithm", "sirt", "--subsets", "4", "--iterations", "5"], 0.0),
        (vec!["--algorithm", "total-variation", "--minimum", "0", "--iterations", "25", "--rows", "1..4"], 0.0),
        (vec!["--half-acquisition", "on", "--algorithm", "cgls"], 0.0),
        (vec!["--width", "60", "--voxel", "0.03", "--interpolation", "linear"], 1e-5),
    ] {
        let whole = made(&folder, &words);
        let side = if words.contains(&"60") {
            60
        } else if words.contains(&"on") {
            49
        } else {
            BINS
        };
        let expected = part(&whole, side, 5..40, 10..31);
        let seen = made(&folder, &[words.as_slice(), &REGION].concat());
        let largest = expected.iter().fold(0.0f32, |l, v| l.max(v.abs()));
        let far = seen.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(
            seen.len() == expected.len() && largest > 0.0 && far <= off * largest,
            "{words:?}: {far:e} of {largest}"
        );
    }
}

/// Geometry of the library's: width, size of voxels and turn.
#[test]
fn slices_of_other_sizes() {
    let (folder, values) = (Folder::new("sizes"), values());
    scan(&folder, &values);
    let turned = geometry().angles.iter().map(|angle| angle + 30f64.to_radians()).collect();
    let half = |g: Geometry| -> Geometry {
        let (nx, x_offset) = crop(g.nx, g.x_offset, 3..40, ["nx", "nx"]).expect("a part");
        Geometry { nx, x_offset, ..g }
    };
    for (words, g) in [
        ("--width 70", Geometry { nx: 70, ny: 70, ..geometry() }),
        // 48 bins of 0.05 are 32 voxels of 0.075; those of 0.07 are 34.3.
        ("--voxel 0.075", Geometry { nx: 32, ny: 32, pixel_size: 0.075, ..geometry() }),
        ("--voxel 0.07", Geometry { nx: 35, ny: 35, pixel_size: 0.07, ..geometry() }),
        ("--rotate 30", Geometry { angles: turned, ..geometry() }),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        same(&made(&folder, &words), &library(&values, &g, options(), |_| {}), &words);
    }
    let (words, linear) = (["--columns", "3..40", "--interpolation", "linear"], Interpolation::Linear);
    let expected = library(&values, &half(geometry()), Options { interpolation: linear, ..options() }, |_| {});
    same(&made(&folder, &words), &expected, &words);
    // Counter-clockwise, as slices are looked at, with lines downwards: the rod is at the right, and goes to the top.
    let brightest = |words: &[&str]| {
        let slice: Vec<f32> = made(&folder, words)[..BINS * BINS].to_vec();
        let weight = |at: usize| f64::from(slice[at].max(0.0).powi(4));
        let sum: f64 = (0..BINS * BINS).map(weight).sum();
        let mean = |place: &dyn Fn(usize) -> usize| {
            (0..BINS * BINS).map(|at| weight(at) * place(at) as f64).sum::<f64>() / sum
        };
        [mean(&|at| at % BINS), mean(&|at| at / BINS)]
    };
    let middle = (BINS as f64 - 1.0) / 2.0;
    let [right, top] = [brightest(&[]), brightest(&["--rotate", "90"])];
    assert!(right[0] > middle + 3.0 && (right[1] - middle).abs() < 1.0, "{right:?}");
    assert!(top[1] < middle - 3.0 && (top[0] - middle).abs() < 1.0, "{top:?}");
}

/// Integers of a part: the window is of what is written, and the same numbers are clipped.
#[test]
fn integers_of_a_region() {
    let (folder, values) = (Folder::new("integers"), values());
    scan(&folder, &values);
    let window = ["--depth", "u16", "--window", "0", "4"];
    let words = [&["--algorithm", "sirt", "--iterations", "3"][..], &window].concat();
    let read = || {
        let data = File::open(folder.path("v.h5")).and_then(|file| file.dataset("entry/reconstruction/data"));
        data.and_then(|data| data.read_raw::<u16>()).expect("a volume")
    };
    let go = |more: &[&str]| {
        succeeds(&folder, &[REST.as_slice(), &words, more].concat());
        read().into_iter().map(f32::from).collect::<Vec<_>>()
    };
    let whole = go(&[]);
    same(&go(&REGION), &part(&whole, BINS, 5..40, 10..31), &REGION);
    // Half a step, and a rounding of f32.
    let floats = made(&folder, &["--algorithm", "sirt", "--iterations", "3"]);
    let far = whole.iter().zip(&floats).map(|(stored, v)| (stored - v.clamp(0.0, 4.0) / 4.0 * 65535.0).abs());
    assert!(far.fold(0.0, f32::max) < 0.51);
    // Percentiles of a masked part are of its pixels inside the circle of whole slices.
    let told = succeeds(&folder, &[REST.as_slice(), &["--depth", "u8", "--mask", "0.9"], &REGION].concat());
    let all = {
        let kept = made(&folder, &[&["--mask", "0.9"], REGION.as_slice()].concat());
        let inside = |at: &usize| {
            let (x, y) = ((at % 21 + 10) as f64 - 23.5, (at / 21 % 35 + 5) as f64 - 23.5);
            x.hypot(y) <= 0.9 * 24.0
        };
        (0..kept.len()).filter(inside).map(|at| kept[at]).collect::<Vec<_>>()
    };
    let window = told.lines().find_map(|line| line.strip_prefix("window ")).expect("a window");
    let [low, high] =
        window.split_once(" to ").map(|(a, b)| [a, b].map(|v| v.parse::<f32>().expect("a number"))).expect("two");
    let mut sorted = all.clone();
    sorted.sort_by(f32::total_cmp);
    let at = |part: f64| sorted[(part * (sorted.len() - 1) as f64).round() as usize];
    // Seven digits are told.
    assert!(
        (low - at(0.001)).abs() < 1e-5 && (high - at(0.999)).abs() < 1e-5,
        "{window}: {} to {}",
        at(0.001),
        at(0.999)
    );
}

/// Voxels of a part are where they are in the whole.
#[test]
fn places_of_a_region() {
    let (folder, values) = (Folder::new("places"), values());
    scan(&folder, &values);
    let words = [REGION.as_slice(), &["--rows", "2..5", "--voxel", "0.025"]].concat();
    made(&folder, &words);
    // 96 columns of 0.025, six rows of 0.05.
    let expected = |name: &str| match name {
        "z" => [0.05 * (2.0 - 2.5), 0.05],
        "y" => [0.025 * (5.0 - 47.5), 0.025],
        _ => [0.025 * (10.0 - 47.5), 0.025],
    };
    let file = File::open(folder.path("v.h5")).expect("a volume");
    for (name, count) in [("z", 3), ("y", 35), ("x", 21)] {
        let places: Vec<f64> =
            file.dataset(&format!("entry/reconstruction/{name}")).and_then(|d| d.read_raw()).expect("places");
        let [first, step] = expected(name);
        assert_eq!(places.len(), count);
        let off = places.iter().enumerate().map(|(k, v)| (v - first - k as f64 * step).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12, "{name}: {places:?}");
    }
    let replaced = |output: &'static str| REST.map(|word| if word == "v.h5" { output } else { word });
    succeeds(&folder, &[&replaced("v.zarr"), words.as_slice()].concat());
    let text = std::fs::read_to_string(folder.path("v.zarr/zarr.json")).expect("metadata");
    let about: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let transforms = &about["attributes"]["ome"]["multiscales"][0]["datasets"][0]["coordinateTransformations"];
    for (k, name) in ["z", "y", "x"].into_iter().enumerate() {
        let told = [transforms[1]["translation"][k].as_f64(), transforms[0]["scale"][k].as_f64()]
            .map(Option::unwrap_or_default);
        let expected = expected(name);
        assert!((0..2).all(|k| (told[k] - expected[k]).abs() < 1e-12), "{name}: {told:?}");
    }
    succeeds(&folder, &[&replaced("slices/"), words.as_slice()].concat());
    let page = std::fs::File::open(folder.path("slices/slices_00002.tif")).expect("a slice");
    let mut page = tiff::decoder::Decoder::new(page).expect("a TIFF file");
    assert_eq!(page.dimensions().expect("sides"), (21, 35));
    let resolution = page.get_tag_u32_vec(tiff::tags::Tag::XResolution).expect("a resolution");
    // Pixels a centimetre.
    assert!((f64::from(resolution[0]) / f64::from(resolution[1]) - 400.0).abs() < 1e-6);
    let text = page.get_tag_ascii_string(tiff::tags::Tag::ImageDescription).expect("a description");
    assert!(text.contains("spacing=0.005\n"), "{text}");
}

/// What does not belong together, or has no sense, is an error before anything is made, in words that name options.
#[test]
fn what_cannot_be_is_refused() {
    let (folder, values) = (Folder::new("methods-refused"), values());
    scan(&folder, &values);
    for (name, text) in
        [("words.txt", "0\nhalf\n"), ("one.txt", "0\n"), ("nan.txt", "0\nnan\n"), ("good.txt", "0\n1\n")]
    {
        std::fs::write(folder.path(name), text).expect("a file");
    }
    let tv = "--algorithm total-variation --minimum 0 --regularisation 0.1";
    for (words, told) in [
        ("--filter hanning", "hann"),
        ("--cutoff 0", "--cutoff is 0; it must be above 0"),
        ("--cutoff 1.5", "--cutoff"),
        ("--cutoff nan", "--cutoff is NaN"),
        ("--filter butterworth --butterworth-order 0.1", "--butterworth-order is 0.1; it must be 0.5 to 64"),
        ("--butterworth-order 2", "--filter butterworth"),
        ("--filter none --cutoff 0.5", "--filter is none"),
        ("--filter custom", "--response"),
        ("--filter hann --response good.txt", "--filter custom"),
        ("--response good.txt --cutoff 0.5", "--cutoff"),
        ("--response words.txt", "words.txt, line 2"),
        ("--response nan.txt", "nan.txt, line 2"),
        ("--response one.txt", "the number of values of --response is 1; it must be at least 2"),
        ("--response none.txt", "none.txt"),
        ("--precision half", "--interpolation linear"),
        ("--minimum-transmission 0.1", "line integrals"),
        ("--algorithm sart", "sirt"),
        (
            "--iterations 5",
            "--iterations belongs to --algorithm sirt, cgls, mlem, total-variation and fista, not to fbp",
        ),
        ("--minimum 0", "--minimum belongs to --algorithm sirt"),
        ("--support 1", "--support belongs to"),
        ("--algorithm sirt --filter hann", "--filter belongs to --algorithm fbp, not to sirt"),
        ("--algorithm cgls --cutoff 0.5", "--cutoff belongs to --algorithm fbp"),
        ("--algorithm cgls --padding edge", "--padding belongs to --algorithm fbp"),
        ("--algorithm cgls --interpolation linear", "--interpolation belongs to --algorithm fbp"),
        ("--algorithm cgls --response good.txt", "--response belongs to --algorithm fbp"),
        ("--algorithm cgls --precision half", "--precision belongs to --algorithm fbp"),
        (
            "--algorithm cgls --minimum 0",
            "--minimum belongs to --algorithm sirt, mlem, fista and total-variation, not to cgls",
        ),
        ("--algorithm cgls --subsets 3", "--subsets belongs to --algorithm sirt and mlem"),
        ("--algorithm mlem --relaxation 0.5", "--relaxation belongs to --algorithm sirt,"),
        ("--algorithm sirt --regularisation 0.5", "--regularisation belongs to --algorithm cgls"),
        ("--algorithm sirt --projector band-limited", "--projector belongs to"),
        ("--algorithm sirt --tolerance 0.1", "--tolerance belongs to"),
        ("--algorithm fista --huber 0.1", "--huber belongs to --algorithm total-variation"),
        ("--algorithm fista --variation volume", "--variation belongs to"),
        ("--algorithm fista --ring-weight 1", "--ring-weight belongs to"),
        ("--algorithm fista --fit poisson", "--fit belongs to"),
        ("--algorithm sirt --weights transmission", "--weights belongs to"),
        ("--algorithm sirt --iterations 0", "--iterations is 0; it must be 1 to 1000000"),
        ("--algorithm sirt --subsets 0", "--subsets is 0; it must be 1 or more"),
        ("--algorithm sirt --subsets 41", "--subsets is 41; it must be at most the number of views, 40"),
        ("--algorithm sirt --relaxation 2", "--relaxation is 2.0; it must be above 0 and below 2"),
        ("--algorithm sirt --minimum 2 --maximum 1", "--minimum 2 and --maximum 1"),
        ("--algorithm sirt --minimum nan", "--minimum must be a finite number"),
        ("--algorithm sirt --maximum inf", "--maximum must be a finite number"),
        ("--algorithm sirt --support 2", "--support is 2.0; it must be 0 to 1.5"),
        ("--algorithm mlem --minimum -1", "--minimum is -1.0 and --maximum inf; bounds must be 0 or more"),
        ("--algorithm cgls --tolerance 1", "--tolerance is 1.0; it must be 0 or more and below 1"),
        ("--algorithm cgls --regularisation -1", "-1"),
        ("--algorithm fista --tolerance 0.1", "with neither --minimum and --maximum nor --regularisation"),
        ("--algorithm total-variation", "--algorithm total-variation needs --minimum"),
        ("--algorithm total-variation --minimum 0 --phase --phase-length 3", "--regularisation gives one"),
        (
            &format!("{tv} --weights transmission"),
            "--weights transmission of total-variation needs --minimum and --maximum",
        ),
        (&format!("{tv} --ring-weight 1"), "--ring-weight of total-variation needs"),
        (&format!("{tv} --fit poisson"), "--fit poisson of total-variation needs"),
        (&format!("{tv} --fit poisson --maximum 3 --projector band-limited"), "--projector joseph"),
        (&format!("{tv} --variation volume --depth u8"), "--window LOW HIGH"),
        (&format!("{tv} --variation volume --probe"), "--variation volume"),
        ("--columns 5..49", "--columns 5..49: slices have 48 columns; --width"),
        ("--lines 48..50", "--lines 48..50: slices have 48 lines"),
        ("--lines 5..5", "ascending"),
        ("--columns 5", "ascending"),
        ("--columns -3..5", "-3"),
        ("--width 0", "--width is 0"),
        ("--width 2000000", "the number of columns of a slice is 2000000"),
        ("--voxel 0", "--voxel is 0"),
        ("--voxel nan", "--voxel is NaN"),
        ("--voxel 1000", "the side of a voxel over that of a pixel is"),
        ("--voxel 0.1 --format vol -o v.vol", "--voxel gives them two"),
        ("--rotate inf", "--rotate is inf"),
    ] {
        let words: Vec<_> = words.split(' ').collect();
        let rest: Vec<&str> = if words.contains(&"-o") { [&REST[..2], &REST[4..]].concat() } else { REST.to_vec() };
        let output = isocenter(&folder, &[rest, words.clone()].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(told), "{words:?}: {error}");
        assert!(!error.contains("iterative.") && !error.contains("options."), "{words:?}: {error}");
        for name in ["v.h5", "v.h5.unfinished", "v.vol", "v.vol.unfinished"] {
            assert!(!folder.path(name).exists(), "{words:?}: {name} of a refused run");
        }
    }
    // Noise-free data ask for no weight; and Poisson's law has no data below 0.
    let flat = vec![0.5f32; VIEWS * ROWS * BINS];
    scan(&folder, &flat);
    let error = isocenter(&folder, &[REST.as_slice(), &["--algorithm", "total-variation", "--minimum", "0"]].concat());
    let error = String::from_utf8_lossy(&error.stderr).into_owned();
    assert!(error.contains("no noise") && error.contains("--regularisation"), "{error}");
    let mut below = flat;
    below[(3 * ROWS + 2) * BINS + 7] = -0.1;
    scan(&folder, &below);
    let error = isocenter(&folder, &[REST.as_slice(), &["--algorithm", "mlem"]].concat());
    let error = String::from_utf8_lossy(&error.stderr).into_owned();
    assert!(error.contains("view 3, row 2, bin 7") && error.contains("--nan replace"), "{error}");
    succeeds(&folder, &[REST.as_slice(), &["--algorithm", "mlem", "--nan", "replace", "--iterations", "2"]].concat());
}
