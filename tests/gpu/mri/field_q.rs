//! F^H W F with a field by Q, on the GPU: beside the processor, in little memory, and where a plan may choose.

use super::array::{Array, Kind, call, same};
use super::limits::asked_for;
use super::scan::*;
use super::{device, everything, usual_tolerance};
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::mri::*;

/// 300 Hz and decay over readouts of 20 ms, random samples, density weights.
fn scan(
    options: &isoc_context_options,
    grid: [usize; 3],
    [coils, count]: [usize; 2],
    mapped: bool,
    double: bool,
) -> Scan {
    let dims = if grid[0] == 1 { 2 } else { 3 };
    let mut scan = Scan::with(options, grid, points(count, dims, 1), coils, double);
    let n = scan.voxels();
    let hertz = random(n, 2).iter().map(|v| 150.0 * v.re + 40.0).collect();
    let decay = random(n, 3).iter().map(|v| 25.0 * (1.0 + v.re)).collect();
    scan.set_decaying_field(hertz, (0..count).map(|m| 1e-3 * (m % 20) as f64).collect(), decay);
    scan.set_weights((0..count).map(|m| 0.1 + (m % 9) as f64).collect());
    if mapped {
        scan.set_maps(random(coils * n, 4));
    }
    scan
}

/// The convolutions are the same ones, to rounding, so that the two sides are apart by their transforms' errors, half a tolerance of each kernel
/// and side: below the 5 tolerances of Q without a field. A solution is off by the condition besides, as without a field.
#[test]
fn with_a_field_q_agrees_with_the_processor() {
    let Some(_) = device() else { return };
    const CONDITION: f64 = 25.0;
    for (grid, coils, mapped) in
        [([1, 21, 18], 5, true), ([7, 6, 9], 5, true), ([1, 12, 15], 2, false), ([5, 8, 9], 2, false)]
    {
        for double in [false, true] {
            let n: usize = grid.iter().product();
            let (tolerance, residual) = (usual_tolerance(double), if double { 1e-9 } else { 1e-5 });
            let samples = random(coils * 6 * n, 5);
            let run = |device| {
                let scan = scan(&on(device), grid, [coils, 6 * n], mapped, double);
                scan.options(|o| (o.normal, o.iterations, o.residual) = (1, 60, residual));
                let image = random(scan.images * n, 6);
                let both = [scan.normal(&image), scan.to_image(isoc_mri_reconstruct, &samples)];
                (both, scan.info().normal_terms)
            };
            let ((on_gpu, terms), (on_cpu, expected)) = (run(GPU), run(PROCESSOR));
            assert_eq!(terms, expected);
            for (k, allowed) in
                [5.0 * tolerance, CONDITION * (5.0 * tolerance + 2.0 * residual)].into_iter().enumerate()
            {
                let e = error(&on_gpu[k], &on_cpu[k]);
                println!("{grid:?}, double {double}, maps {mapped}, {k}: {e:.1e} of {allowed:.1e}");
                assert!(e <= allowed, "{grid:?}, double {double}, maps {mapped}, {k}: {e:.2e}");
            }
        }
    }
}

/// With what a message of too little memory asks for, and with anything between that and what isoc_mri_memory tells, results are the same.
#[test]
fn little_memory_changes_no_bit_of_q_with_a_field() {
    let Some(_) = device() else { return };
    for (mapped, double) in [(false, false), (true, false), (true, true)] {
        let scan = |gpu_memory_cap| {
            let options = isoc_context_options { gpu_memory_cap, ..on(GPU) };
            let scan = scan(&options, [24, 32, 28], [3, 4000], mapped, double);
            scan.options(|o| (o.normal, o.iterations) = (1, 2));
            scan
        };
        let (small, free) = (scan(1 << 20), scan(0));
        let mut given = Array::complex(&random(12_000, 7), &small.scan_shape(), Kind::host(true));
        let mut image = Array::empty(&small.image_shape(), Kind::host(true), 2);
        assert_eq!(call(&small, isoc_mri_reconstruct, &mut given, &mut image), Status::MemoryCap);
        let (min, mut max) = (asked_for(&said()), 0);
        // SAFETY: a valid pointer.
        ok(unsafe { isoc_mri_memory(free.mri, &mut max) });
        println!("maps {mapped}, double {double}: {min} to {max} bytes");
        assert!(min <= max, "{min} of {max}");
        let expected = everything(&free);
        for cap in [min, min + (max - min) / 3, max] {
            assert!(
                same(&everything(&scan(cap)), &expected),
                "maps {mapped}, double {double}: {cap} of {min} to {max}"
            );
        }
        assert!(same(&everything(&free), &expected), "again");
    }
}

/// A plan that may choose takes Q where there is memory for it, else pairs of transforms; one that must not says what is missing.
#[test]
fn a_plan_takes_pairs_where_memory_is_short() {
    let Some(_) = device() else { return };
    let (grid, sizes) = ([24, 32, 28], [1, 1000]);
    let scan = |normal, gpu_memory_cap| {
        let options = isoc_context_options { gpu_memory_cap, ..on(GPU) };
        let scan = scan(&options, grid, sizes, false, true);
        // Enough of them for Q to pay.
        scan.options(|o| (o.normal, o.iterations, o.residual) = (normal, 134, 1e-3));
        scan
    };
    let samples = random(sizes[1], 8);
    let mut given = Array::complex(&samples, &[1, sizes[1] as i64], Kind::host(true));
    let mut refused = |scan: &Scan| {
        let mut image = Array::empty(&scan.image_shape(), Kind::host(true), 2);
        assert_eq!(call(scan, isoc_mri_reconstruct, &mut given, &mut image), Status::MemoryCap);
        asked_for(&said())
    };
    let [q, pairs] = [1, 2].map(|normal| refused(&scan(normal, 1 << 20)));
    println!("by Q {q} bytes, by pairs {pairs}");
    assert!(pairs < q / 2, "too small a scan to tell the two apart");
    let expected = scan(2, 0).to_image(isoc_mri_reconstruct, &samples);
    let short = scan(0, pairs);
    assert!(same(&short.to_image(isoc_mri_reconstruct, &samples), &expected));
    assert_eq!(short.info().has_q, 0);
    refused(&scan(1, pairs));
    let enough = scan(0, q);
    let seen = enough.to_image(isoc_mri_reconstruct, &samples);
    assert!(enough.info().has_q == 1 && enough.info().normal_terms > 5);
    assert!(same(&seen, &scan(1, 0).to_image(isoc_mri_reconstruct, &samples)));
}
