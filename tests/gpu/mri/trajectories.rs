//! Trajectories that a GPU looks at: those in its memory, and long ones of the host. Results and words are those of samples that the host
//! looked at.

use super::super::memory::Stream;
use super::array::{Array, Kind, Layout, same};
use super::limits::stars;
use super::scan::*;
use super::{device, everything};
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::host::{isoc_host_alloc, isoc_host_free};
use isocenter::ffi::mri::*;
use isocenter::ffi::tensor::isoc_tensor;

/// More than the host keeps to itself, and an odd number.
const MANY: usize = (1 << 16) + 4465;

/// `[sample][axis]`
fn flat(scan: &Scan) -> Vec<f64> {
    scan.k.iter().flat_map(|k| k[..scan.dims()].to_vec()).collect()
}

fn shape(scan: &Scan) -> [i64; 2] {
    [scan.k.len() as i64, scan.dims() as i64]
}

fn set(scan: &Scan, trajectory: &isoc_tensor, double: bool) -> Status {
    // SAFETY: the tensor has its memory.
    unsafe { isoc_mri_set_geometry(scan.mri, &scan.geometry(1, double), trajectory) }
}

/// A plan whose trajectory stays on the host: on the GPU it may take a sixteenth of the memory.
fn on_the_host(grid: [usize; 3], k: &[[f64; 3]], coils: usize, double: bool) -> Scan {
    let dims = if grid[0] == 1 { 2 } else { 3 };
    let options = isoc_context_options { gpu_memory_cap: (16 * 8 * dims * k.len()) as u64 - 1, ..on(GPU) };
    Scan::with(&options, grid, k.to_vec(), coils, double)
}

/// Such as f32 has as well.
fn rounded(mut k: Vec<[f64; 3]>) -> Vec<[f64; 3]> {
    k.iter_mut().for_each(|k| *k = k.map(|v| f64::from(v as f32)));
    k
}

/// Spokes of 32 through the centre.
fn spokes(count: usize) -> Vec<[f64; 3]> {
    let at = |m: usize| {
        let (sin, cos) = (2.399_963 * (m / 32) as f64).sin_cos();
        let along = ((m % 32) as f64 - 16.0) / 32.0;
        [along * cos, along * sin, 0.0]
    };
    (0..32 * count).map(at).collect()
}

#[test]
fn arrays_anywhere_give_the_same_bits() {
    let Some(_) = device() else { return };
    // One sample, few, in planes, on lines for many coils, and exact sums.
    for (grid, k, coils, method) in [
        ([1, 12, 15], points(1, 2, 91), 1, 1),
        ([5, 6, 7], points(1, 3, 92), 2, 1),
        ([1, 12, 15], points(333, 2, 93), 2, 1),
        ([5, 6, 7], points(333, 3, 94), 2, 1),
        ([5, 6, 7], points(333, 3, 94), 2, 2),
        ([8, 12, 15], stars(8, 0.0), 2, 1),
        ([1, 24, 24], spokes(20), 48, 1),
    ] {
        let k = rounded(k);
        for double in [false, true] {
            // With 48 coils on lines, which take no values that were rounded to f32.
            let tolerance = if coils == 48 && !double { 1e-3 } else { 0.0 };
            let options = |scan: &Scan| {
                scan.options(|o| (o.method, o.iterations, o.tolerance) = (method, 2, tolerance));
            };
            let scan = Scan::new(GPU, grid, k.clone(), coils, double);
            options(&scan);
            let expected = everything(&scan);
            for kind in Kind::all(true).into_iter().chain(Kind::all(false)) {
                let mut array = Array::real(&flat(&scan), &shape(&scan), kind);
                ok(set(&scan, &array.tensor(), double));
                assert!(array.rest_is_untouched(), "{grid:?}, {kind:?}: input");
                assert!(same(&everything(&scan), &expected), "{grid:?}, method {method}, double {double}: {kind:?}");
            }
        }
    }
}

#[test]
fn long_trajectories_of_the_host_give_the_same_bits() {
    let Some(_) = device() else { return };
    for grid in [[1, 30, 28], [8, 14, 12]] {
        let dims = if grid[0] == 1 { 2 } else { 3 };
        let k = rounded(points(MANY, dims, 95));
        for double in [false, true] {
            // Where so little memory has no room for the sums, samples that were on the GPU stand for the host's, as above.
            let expected = if dims == 2 && !double {
                everything(&on_the_host(grid, &k, 1, double))
            } else {
                let scan = Scan::new(GPU, grid, k.clone(), 1, double);
                let mut array = Array::real(&flat(&scan), &shape(&scan), Kind::gpu(Layout::Contiguous, true));
                ok(set(&scan, &array.tensor(), double));
                everything(&scan)
            };
            let scan = Scan::new(GPU, grid, k.clone(), 1, double);
            assert!(same(&everything(&scan), &expected), "{grid:?}, double {double}");
            for kind in Kind::all(true).into_iter().chain(Kind::all(false)) {
                for layout in [Layout::Contiguous, Layout::Gaps, Layout::Turned] {
                    let kind = if kind.gpu.is_none() { Kind { layout, ..kind } } else { kind };
                    let mut array = Array::real(&flat(&scan), &shape(&scan), kind);
                    ok(set(&scan, &array.tensor(), double));
                    assert!(same(&everything(&scan), &expected), "{grid:?}, double {double}: {kind:?}");
                }
            }
            let pinned = Pinned::new(&scan, &flat(&scan));
            ok(set(&scan, &pinned.tensor(&shape(&scan)), double));
            assert!(same(&everything(&scan), &expected), "{grid:?}, double {double}: page-locked");
        }
    }
}

/// Memory of isoc_host_alloc.
struct Pinned<'a>(&'a mut [f64]);

impl Pinned<'_> {
    fn new(scan: &Scan, values: &[f64]) -> Self {
        let mut data = std::ptr::null_mut();
        // SAFETY: valid pointers, and as much memory as values.
        unsafe {
            ok(isoc_host_alloc(scan.ctx, size_of_val(values) as u64, &mut data));
            let memory = std::slice::from_raw_parts_mut(data.cast::<f64>(), values.len());
            memory.copy_from_slice(values);
            Self(memory)
        }
    }

    fn tensor(&self, shape: &[i64]) -> isoc_tensor {
        tensor(self.0, shape)
    }
}

impl Drop for Pinned<'_> {
    fn drop(&mut self) {
        ok(isoc_host_free(self.0.as_mut_ptr().cast()));
    }
}

/// Each frame takes its part of the samples where they are, and density weights take all of them.
#[test]
fn frames_and_weights_of_long_trajectories_give_the_same_bits() {
    let Some(_) = device() else { return };
    let grid = [1, 24, 24];
    let k = spokes(MANY / 32);
    let results = |scan: &mut Scan| {
        let mut weights = vec![0.0; k.len()];
        let mut all = Vec::new();
        // SAFETY: valid pointers.
        unsafe {
            for (density, parameter) in [(1, 32), (0, 2)] {
                ok(isoc_mri_compute_weights(scan.mri, density, parameter));
                ok(isoc_mri_get_weights(scan.mri, &output(&mut weights, &[k.len() as i64])));
                all.extend(weights.iter().map(|w| C::new(*w, 0.0)));
            }
            let frames = 5;
            ok(isoc_mri_set_windows(scan.mri, k.len() as i64 / frames, k.len() as i64 / frames));
            scan.images = frames as usize;
        }
        all.extend(scan.to_image(isoc_mri_gridding, &random(k.len(), 96)));
        all
    };
    let expected = results(&mut on_the_host(grid, &k, 1, false));
    assert!(same(&results(&mut Scan::new(GPU, grid, k.clone(), 1, false)), &expected));
}

/// The same words and index, and the plan is as it was.
#[test]
fn what_is_wrong_is_said_in_the_hosts_words() {
    let Some(_) = device() else { return };
    // A little beyond, far beyond, and beyond in any unit.
    let bad: [(f64, Status); 6] = [
        (f64::NAN, Status::NotFiniteData),
        (f64::INFINITY, Status::NotFiniteData),
        (f64::NEG_INFINITY, Status::NotFiniteData),
        (-0.501, Status::OutOfRange),
        (0.6, Status::OutOfRange),
        (-40.0, Status::OutOfRange),
    ];
    for (grid, count) in [([1, 12, 15], 40), ([5, 6, 7], 1), ([1, 12, 15], MANY), ([5, 6, 7], MANY)] {
        let dims = if grid[0] == 1 { 2 } else { 3 };
        let k = rounded(points(count, dims, 97));
        let host = on_the_host(grid, &k, 1, false);
        let scan = Scan::new(GPU, grid, k, 1, false);
        let before = everything(&scan);
        for (value, status) in bad {
            // The second one of them, of a kind that is looked for first, does not come first.
            for more in [value, 7.0, f64::NAN] {
                let mut values = flat(&scan);
                let (first, second) = (values.len() / 2, values.len() - 1);
                values[second] = more;
                values[first] = value;
                assert_ne!(set(&host, &tensor(&values, &shape(&scan)), false), Status::Ok);
                let words = said();
                for kind in Kind::all(true).into_iter().chain(Kind::all(false)) {
                    let mut array = Array::real(&values, &shape(&scan), kind);
                    let seen = set(&scan, &array.tensor(), false);
                    let expected = if more.is_nan() { Status::NotFiniteData } else { status };
                    assert_eq!(seen, expected, "{value}, {more}, {kind:?}: {}", said());
                    // What f32 makes of a value is said.
                    if kind.double || !matches!(value, -0.501 | 0.6) {
                        assert_eq!(said(), words, "{kind:?}");
                    }
                }
            }
        }
        assert!(same(&everything(&scan), &before), "{grid:?}, {count} samples: the plan is as it was");
    }
}

#[test]
fn a_callers_stream_is_waited_for() {
    let Some(_) = device() else { return };
    let kind = Kind::gpu(Layout::Contiguous, true);
    for own in [true, false] {
        let stream = if own { Stream::own() } else { Stream::default() };
        let scan = Scan::new(GPU, [5, 6, 7], points(300, 3, 98), 1, true);
        let expected = everything(&scan);
        scan.set_geometry(1, 0.5, true);
        ok(isoc_mri_set_stream(scan.mri, stream.0.cast()));
        let values = Array::real(&flat(&scan), &shape(&scan), kind);
        let mut given = Array::empty(&shape(&scan), kind, 1);
        stream.rest();
        stream.copy(values.memory(), given.memory());
        ok(set(&scan, &given.tensor(), true));
        // The caller may overwrite it.
        stream.fill(given.memory());
        assert!(same(&everything(&scan), &expected), "own {own}");
        ok(isoc_mri_set_stream(scan.mri, std::ptr::null_mut()));
    }
}
