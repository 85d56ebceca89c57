//! Arrays in the GPU's memory: where the library reads and writes, when, and what it refuses.

use super::super::memory::{OnGpu, Stream, gpu_count};
use super::array::{Array, Kind, Layout, call, same};
use super::scan::*;
use super::{device, everything};
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;
use isocenter::ffi::tensor::{isoc_device, isoc_tensor};

/// Calls from one array to another: name, function, whether it reads samples, whether it writes samples.
const RUNS: [(&str, Run, bool, bool); 5] = [
    ("forward", isoc_mri_forward, false, true),
    ("adjoint", isoc_mri_adjoint, true, false),
    ("gridding", isoc_mri_gridding, true, false),
    ("normal", isoc_mri_normal, false, false),
    ("reconstruct", isoc_mri_reconstruct, true, false),
];

fn shape(scan: &Scan, samples: bool) -> Vec<i64> {
    if samples { scan.scan_shape().to_vec() } else { scan.image_shape().to_vec() }
}

/// Two coils, weights, with maps or without.
fn scan_of(grid: [usize; 3], maps: bool, double: bool) -> Scan {
    let dims = if grid[0] == 1 { 2 } else { 3 };
    let mut scan = Scan::new(GPU, grid, points(300, dims, 61), 2, double);
    scan.set_weights((0..300).map(|m| 0.5 + 0.1 * f64::from(m % 11)).collect());
    if maps {
        scan.set_maps(random(2 * scan.voxels(), 62));
    }
    scan
}

#[test]
fn arrays_anywhere_give_the_same_bits() {
    let Some(_) = device() else { return };
    for (grid, maps, plan) in
        [([1, 12, 15], false, false), ([5, 6, 7], true, false), ([1, 9, 10], true, true), ([5, 6, 7], false, true)]
    {
        let scan = scan_of(grid, maps, plan);
        scan.options(|o| o.iterations = 4);
        for double in [false, true] {
            for (name, run, reads_samples, writes_samples) in RUNS {
                let (source, target) = (shape(&scan, reads_samples), shape(&scan, writes_samples));
                let data = random(source.iter().product::<i64>() as usize, 63);
                let mut given = Array::complex(&data, &source, Kind::host(double));
                let mut expected = Array::empty(&target, Kind::host(double), 2);
                ok(call(&scan, run, &mut given, &mut expected));
                let expected = expected.values();
                assert!(expected.iter().all(|v| v.norm().is_finite()), "{name} on the host");
                for from in Kind::all(double) {
                    for to in Kind::all(double) {
                        let case = format!("{grid:?}, maps {maps}, double {plan}: {name} from {from:?} to {to:?}");
                        let mut given = Array::complex(&data, &source, from);
                        let mut seen = Array::empty(&target, to, 2);
                        assert_eq!(call(&scan, run, &mut given, &mut seen), Status::Ok, "{case}: {}", said());
                        assert!(same(&seen.values(), &expected), "{case}");
                        assert!(seen.rest_is_untouched(), "{case}: written beside the elements");
                        let before = Array::complex(&data, &source, from);
                        assert!(same(&given.values(), &before.values()) && given.rest_is_untouched(), "{case}: input");
                    }
                }
            }
        }
    }
}

/// reconstruct reads its output then.
#[test]
fn a_warm_start_may_be_on_the_gpu() {
    let Some(_) = device() else { return };
    for double in [false, true] {
        let scan = scan_of([5, 6, 7], true, double);
        scan.options(|o| (o.iterations, o.warm_start) = (3, 1));
        let (samples, start) = (random(600, 64), random(scan.voxels(), 65));
        let run = |from, to| {
            let mut image = Array::complex(&start, &scan.image_shape(), to);
            let mut given = Array::complex(&samples, &scan.scan_shape(), from);
            ok(call(&scan, isoc_mri_reconstruct, &mut given, &mut image));
            image.values()
        };
        let expected = run(Kind::host(double), Kind::host(double));
        let cold = {
            let zeros = vec![C::default(); start.len()];
            let mut image = Array::complex(&zeros, &scan.image_shape(), Kind::host(double));
            let mut given = Array::complex(&samples, &scan.scan_shape(), Kind::host(double));
            ok(call(&scan, isoc_mri_reconstruct, &mut given, &mut image));
            image.values()
        };
        assert!(!same(&cold, &expected), "the start is looked at");
        for kind in Kind::all(double) {
            assert!(same(&run(Kind::host(double), kind), &expected), "{kind:?}");
            assert!(same(&run(kind, kind), &expected), "{kind:?}");
        }
    }
}

/// A plan's every array of one kind, and what comes of it.
fn digest(grid: [usize; 3], kind: Kind) -> Vec<C> {
    let dims = if grid[0] == 1 { 2usize } else { 3 };
    let n = grid.iter().product::<usize>();
    let [nz, ny, nx] = grid.map(|n| n as i64);
    let mut scan = Scan::new(GPU, grid, points(120, dims, 66), 2, true);
    let reals = |count: usize, seed| -> Vec<f64> { random(count, seed).iter().map(|v| v.re).collect() };
    let sizes = |count: usize, seed| -> Vec<f64> { random(count, seed).iter().map(|v| v.norm() + 0.1).collect() };
    let k: Vec<f64> = scan.k.iter().flat_map(|k| k[..dims].to_vec()).collect();
    let mut k = Array::real(&k, &[120, dims as i64], kind);
    let mut weights = Array::real(&sizes(120, 67), &[120], kind);
    let mut maps = Array::complex(&random(2 * n, 68), &[2, nz, ny, nx], kind);
    let mut differences = Array::real(&sizes(dims * n, 69), &[dims as i64, nz, ny, nx], kind);
    // Row i: voxels i and 5 i.
    let starts: Vec<i64> = (0..=n as i64).map(|i| 2 * i).collect();
    let columns: Vec<i64> = (0..n as i64).flat_map(|i| [i, 5 * i % n as i64]).collect();
    let mut entries = Array::complex(&random(2 * n, 70), &[2 * n as i64], kind);
    let g = scan.geometry(1, true);
    scan.images = 1;
    // SAFETY: valid pointers, and tensors that have their memory.
    unsafe {
        ok(isoc_mri_set_geometry(scan.mri, &g, &k.tensor()));
        ok(isoc_mri_set_weights(scan.mri, &weights.tensor()));
        ok(isoc_mri_set_maps(scan.mri, &maps.tensor()));
        ok(isoc_mri_set_difference_weights(scan.mri, &differences.tensor()));
        let (rows, count) = (n as i64, columns.len() as i64);
        ok(isoc_mri_set_matrix(scan.mri, rows, starts.as_ptr(), columns.as_ptr(), count, &entries.tensor()));
    }
    let image = random(n, 71);
    let mut all = Vec::new();
    let mut keep = |array: &Array, name: &str| {
        let values = array.values();
        assert!(values.iter().all(|v| v.norm().is_finite()), "{kind:?}: {name}");
        assert!(array.rest_is_untouched(), "{kind:?}: {name}: written beside the elements");
        all.extend(values);
    };
    let mut out = |call: &dyn Fn(&isoc_tensor) -> Status, shape: &[i64], parts: usize, name: &str| {
        let mut array = Array::empty(shape, kind, parts);
        let status = call(&array.tensor());
        assert_eq!(status, Status::Ok, "{kind:?}: {name}: {}", said());
        keep(&array, name);
        array
    };
    let (shape, scan_shape) = (scan.image_shape(), scan.scan_shape());
    let ellipsoid =
        isoc_mri_ellipsoid { value: 2.0, x: 0.4, y: 0.3, z: 0.1, semi_x: 3.0, semi_y: 2.5, semi_z: 1.5, angle: 0.2 };
    // SAFETY: valid pointers, and tensors that have their memory.
    unsafe {
        for penalty in 0..3 {
            scan.options(|o| (o.lambda, o.penalty) = (40.0, penalty));
            let mut image = Array::complex(&image, &shape, kind);
            let image = image.tensor();
            out(&|t| isoc_mri_normal(scan.mri, &image, t), &shape, 2, "normal");
        }
        out(&|t| isoc_mri_get_weights(scan.mri, t), &[120], 1, "weights");
        let mut info: isoc_mri_info = std::mem::zeroed();
        info.struct_size = size_of::<isoc_mri_info>() as u32;
        ok(isoc_mri_get_info(scan.mri, &mut info));
        let q_shape = [info.q_nz, info.q_ny, info.q_nx];
        let mut q = out(&|t| isoc_mri_export_q(scan.mri, t), &q_shape, 1, "Q");
        ok(isoc_mri_import_q(scan.mri, &q.tensor()));
        let mut given = Array::complex(&image, &shape, kind);
        let given = given.tensor();
        out(&|t| isoc_mri_normal(scan.mri, &given, t), &shape, 2, "normal by an imported Q");
        out(&|t| isoc_mri_phantom_samples(scan.mri, &ellipsoid, 1, t), &[120], 2, "samples of a phantom");
        let volume = [nz, ny, nx];
        let mut a = out(&|t| isoc_mri_phantom_image(scan.mri, &ellipsoid, 1, t), &volume, 2, "a phantom");
        let mut b = Array::complex(&image, &volume, kind);
        let (mut psnr, mut percent) = (f64::NAN, f64::NAN);
        ok(isoc_mri_compare(scan.mri, &a.tensor(), &b.tensor(), &mut psnr, &mut percent));
        let mut hertz = Array::real(&reals(n, 72), &volume, kind);
        let mut seconds = Array::real(&sizes(120, 73), &[120], kind);
        ok(isoc_mri_set_field(scan.mri, &hertz.tensor(), &seconds.tensor(), std::ptr::null()));
        out(&|t| isoc_mri_forward(scan.mri, &given, t), &scan_shape, 2, "forward with a field map");
        let mut positions = Array::real(&reals(n * dims, 74), &[nz, ny, nx, dims as i64], kind);
        ok(isoc_mri_set_positions(scan.mri, &positions.tensor()));
        out(&|t| isoc_mri_forward(scan.mri, &given, t), &scan_shape, 2, "forward with positions");
        all.push(C::new(psnr, percent));
    }
    all
}

#[test]
fn a_plans_own_arrays_may_be_on_the_gpu() {
    let Some(_) = device() else { return };
    for grid in [[1, 7, 8], [4, 5, 6]] {
        for double in [false, true] {
            let expected = digest(grid, Kind::host(double));
            for kind in &Kind::all(double)[1..] {
                assert!(same(&digest(grid, *kind), &expected), "{grid:?}, {kind:?}");
            }
        }
    }
}

/// The caller's stream rests, then brings the input and spoils the output: both before the library begins, or the result is wrong.
#[test]
fn a_callers_stream_is_waited_for() {
    let Some(_) = device() else { return };
    let kind = Kind::gpu(Layout::Contiguous, true);
    for own in [true, false] {
        let stream = if own { Stream::own() } else { Stream::default() };
        let mut scan = Scan::new(GPU, [1, 9, 10], points(200, 2, 75), 2, true);
        scan.options(|o| o.iterations = 3);
        let late = |values: &Array, shape: &[i64], parts: usize| {
            let given = Array::empty(shape, kind, parts);
            stream.rest();
            stream.copy(values.memory(), given.memory());
            given
        };
        // Weights and maps first, so that the calls below show whether they came in time.
        let weights: Vec<f64> = (0..200).map(|m| 0.5 + 0.1 * f64::from(m % 7)).collect();
        let maps = random(2 * 90, 76);
        scan.set_weights(weights.clone());
        scan.set_maps(maps.clone());
        let expected = everything(&scan);
        ok(isoc_mri_set_stream(scan.mri, stream.0.cast()));
        let mut given = late(&Array::real(&weights, &[200], kind), &[200], 1);
        // SAFETY: the tensor has its memory.
        ok(unsafe { isoc_mri_set_weights(scan.mri, &given.tensor()) });
        let mut given = late(&Array::complex(&maps, &[2, 1, 9, 10], kind), &[2, 1, 9, 10], 2);
        // SAFETY: as above.
        ok(unsafe { isoc_mri_set_maps(scan.mri, &given.tensor()) });
        assert!(same(&everything(&scan), &expected), "own {own}: weights and maps");
        for (name, run, reads_samples, writes_samples) in RUNS {
            let (source, target) = (shape(&scan, reads_samples), shape(&scan, writes_samples));
            let data = random(source.iter().product::<i64>() as usize, 77);
            let mut expected = Array::empty(&target, Kind::host(true), 2);
            ok(call(&scan, run, &mut Array::complex(&data, &source, Kind::host(true)), &mut expected));
            let expected = expected.values();
            let mut seen = Array::empty(&target, kind, 2);
            let data = Array::complex(&data, &source, kind);
            let mut given = late(&data, &source, 2);
            stream.fill(seen.memory());
            ok(call(&scan, run, &mut given, &mut seen));
            assert!(same(&seen.values(), &expected), "{name}, own {own}");
            stream.wait();
            assert!(same(&seen.values(), &expected), "{name}, own {own}: something came later");
        }
        ok(isoc_mri_set_stream(scan.mri, std::ptr::null_mut()));
    }
}

/// The index is the caller's, whatever the strides; what was not finite may become 0, and is counted.
#[test]
fn what_is_not_a_number_is_found_or_replaced() {
    let Some(_) = device() else { return };
    let lenient = isoc_context_options { nan_policy: 1, ..on(GPU) };
    let grid = [3, 4, 5];
    let nan = C::new(0.5, f64::NAN);
    let inf = C::new(f64::NEG_INFINITY, 0.0);
    for double in [false, true] {
        let (strict, lenient) = (
            Scan::new(GPU, grid, points(40, 3, 78), 2, double),
            Scan::with(&lenient, grid, points(40, 3, 78), 2, double),
        );
        for kind in Kind::all(double) {
            for (name, run, reads_samples, writes_samples) in RUNS {
                let (source, target) = (shape(&strict, reads_samples), shape(&strict, writes_samples));
                let good = random(source.iter().product::<i64>() as usize, 79);
                // samples[1, 5] and samples[1, 39], or image[1, 0, 3, 2] and image[1, 2, 3, 4].
                let (at, words) =
                    if reads_samples { ([45, 79], "samples[1, 5]") } else { ([77, 119], "image[1, 0, 3, 2]") };
                for (bad, text) in [(nan, "NaN"), (inf, "-inf")] {
                    let mut data = good.clone();
                    at.iter().for_each(|i| data[*i] = bad);
                    let mut given = Array::complex(&data, &source, kind);
                    let mut out = Array::empty(&target, kind, 2);
                    assert_eq!(call(&strict, run, &mut given, &mut out), Status::NotFiniteData, "{name} {kind:?}");
                    let said = said();
                    assert!(said.contains(words) && said.contains(text), "{name} {kind:?}: {said}");
                    assert!(out.is_untouched(), "{name} {kind:?}: nothing is written");
                    let mut zeroed = good.clone();
                    at.iter().for_each(|i| zeroed[*i] = C::default());
                    let mut expected = Array::empty(&target, kind, 2);
                    let mut clean = Array::complex(&zeroed, &source, kind);
                    ok(call(&strict, run, &mut clean, &mut expected));
                    ok(call(&lenient, run, &mut given, &mut out));
                    assert!(same(&out.values(), &expected.values()), "{name} {kind:?}: replaced");
                    assert_eq!(replaced(&lenient), 2, "{name} {kind:?}");
                    ok(call(&lenient, run, &mut clean, &mut out));
                    assert_eq!(replaced(&lenient), 0, "{name} {kind:?}: of the last call");
                }
            }
            // What a plan keeps.
            let mut weights = Array::real(&[vec![1.0; 7], vec![f64::NAN], vec![1.0; 32]].concat(), &[40], kind);
            let mut map = random(120, 80);
            (map[60], map[61]) = (inf, nan);
            let mut map = Array::complex(&map, &[2, 3, 4, 5], kind);
            let mut hertz = vec![1.0; 60];
            hertz[59] = f64::INFINITY;
            let mut hertz = Array::real(&hertz, &[3, 4, 5], kind);
            let mut seconds = Array::real(&[vec![0.1; 39], vec![f64::NAN]].concat(), &[40], kind);
            let mut sound = Array::real(&[0.1; 40], &[40], kind);
            // SAFETY: the tensors have their memory.
            unsafe {
                let bad = |status, words: [&str; 2]| {
                    assert_eq!(status, Status::NotFiniteData, "{words:?} {kind:?}");
                    let said = said();
                    assert!(words.iter().all(|w| said.contains(w)), "{words:?} {kind:?}: {said}");
                };
                bad(isoc_mri_set_weights(strict.mri, &weights.tensor()), ["weights[7]", "NaN"]);
                bad(isoc_mri_set_maps(strict.mri, &map.tensor()), ["maps[1, 0, 0, 0]", "-inf"]);
                bad(
                    isoc_mri_set_field(strict.mri, &hertz.tensor(), &sound.tensor(), std::ptr::null()),
                    ["field[2, 3, 4]", "inf"],
                );
                bad(
                    isoc_mri_set_field(strict.mri, &sound_field(kind).tensor(), &seconds.tensor(), std::ptr::null()),
                    ["times[39]", "NaN"],
                );
                let other =
                    Scan::with(&isoc_context_options { nan_policy: 1, ..on(GPU) }, grid, points(40, 3, 78), 2, double);
                ok(isoc_mri_set_weights(other.mri, &weights.tensor()));
                assert_eq!(replaced(&other), 1, "weights {kind:?}");
                ok(isoc_mri_set_maps(other.mri, &map.tensor()));
                assert_eq!(replaced(&other), 2, "maps {kind:?}");
                ok(isoc_mri_set_field(other.mri, &hertz.tensor(), &seconds.tensor(), std::ptr::null()));
                assert_eq!(replaced(&other), 2, "field and times {kind:?}");
            }
        }
    }
}

fn sound_field(kind: Kind) -> Array {
    Array::real(&[1.0; 60], &[3, 4, 5], kind)
}

fn replaced(scan: &Scan) -> i64 {
    // SAFETY: all zero is valid, and the pointer too.
    unsafe {
        let mut info: isoc_mri_info = std::mem::zeroed();
        info.struct_size = size_of::<isoc_mri_info>() as u32;
        ok(isoc_mri_get_info(scan.mri, &mut info));
        info.replaced_values
    }
}

#[test]
fn memory_that_is_not_the_contexts_is_refused() {
    let Some(_) = device() else { return };
    let scan = scan_of([1, 8, 9], false, false);
    let (data, mut out) = (random(600, 81), vec![C::default(); 144]);
    let (samples, image) = (tensor(&data, &scan.scan_shape()), output(&mut out, &scan.image_shape()));
    // Of the host, whatever the tensor says.
    for (device_type, device_id) in [(2, 0), (2, 77), (2, -1), (4, 0)] {
        let elsewhere = |t: &isoc_tensor| isoc_tensor { device: isoc_device { device_type, device_id }, ..*t };
        for (from, to, name) in [(elsewhere(&samples), image, "samples"), (samples, elsewhere(&image), "image")] {
            // SAFETY: tensors of host memory; the library looks at where they are first.
            let status = unsafe { isoc_mri_adjoint(scan.mri, &from, &to) };
            assert_eq!(status, Status::TensorDevice, "{device_type}, {device_id}");
            assert!(said().contains(name), "{}", said());
        }
    }
    assert!(out.iter().all(|v| *v == C::default()));
    // A context on the processor knows no GPU.
    let scan = Scan::new(PROCESSOR, [1, 8, 9], points(300, 2, 61), 2, false);
    let mut from = Array::complex(&data, &scan.scan_shape(), Kind::gpu(Layout::Contiguous, true));
    let mut to = Array::empty(&scan.image_shape(), Kind::host(true), 2);
    assert_eq!(call(&scan, isoc_mri_adjoint, &mut from, &mut to), Status::TensorDevice);
}

/// Only the first GPU of a context has to do with MRI.
#[test]
fn memory_of_another_gpu_is_refused() {
    let Some(_) = device() else { return };
    if gpu_count() < 2 {
        return;
    }
    let data = random(300, 82);
    let expected = {
        let scan = Scan::new(GPU, [1, 8, 9], points(300, 2, 83), 1, false);
        scan.to_image(isoc_mri_adjoint, &data)
    };
    for gpus in [[0, 1], [1, 0]] {
        let options = isoc_context_options { gpus: gpus.as_ptr(), gpu_count: 2, ..on(GPU) };
        let scan = Scan::with(&options, [1, 8, 9], points(300, 2, 83), 1, false);
        let run = |from: i32, to: i32| {
            let kind = |gpu| Kind { gpu: Some(gpu), layout: Layout::Contiguous, double: true };
            let mut given = Array::complex(&data, &scan.scan_shape(), kind(from));
            let mut out = Array::empty(&scan.image_shape(), kind(to), 2);
            (call(&scan, isoc_mri_adjoint, &mut given, &mut out), out)
        };
        let (first, second) = (gpus[0], gpus[1]);
        let (status, out) = run(first, first);
        assert_eq!(status, Status::Ok, "{gpus:?}: {}", said());
        assert!(same(&out.values(), &expected), "{gpus:?}");
        for (from, to) in [(first, second), (second, first), (second, second)] {
            let (status, out) = run(from, to);
            assert_eq!(status, Status::TensorDevice, "{gpus:?}, from {from} to {to}");
            assert!(out.is_untouched());
        }
        // And an address of the other GPU under the first one's name.
        let other = OnGpu::on(second, &[0.0f64; 600]);
        let mut given =
            Array::complex(&data, &scan.scan_shape(), Kind { gpu: Some(first), ..Kind::gpu(Layout::Contiguous, true) });
        let t = isoc_tensor { data: std::ptr::with_exposed_provenance_mut(other.address as usize), ..given.tensor() };
        let mut out = Array::empty(&scan.image_shape(), Kind::host(true), 2);
        // SAFETY: both have their memory.
        assert_eq!(unsafe { isoc_mri_adjoint(scan.mri, &t, &out.tensor()) }, Status::TensorDevice);
    }
}
