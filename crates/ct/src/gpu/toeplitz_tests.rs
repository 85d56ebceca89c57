//! Against sums in f64, and against the processor. Skipped where there is no GPU, unless ISOC_GPU_REQUIRED is set.

use super::*;
use crate::cpu::toeplitz::Product;
use crate::geometry::Geometry;
use crate::toeplitz::tests::{apart, noise, product, reading, scans, toeplitz};
use isocenter_base::context::Job;
use isocenter_base::cpu::level::Level;
use isocenter_base::gpu::testing::{download, gpu};

fn apply(device: &Arc<Device>, toeplitz: &Toeplitz, x: &[f32], in_place: bool) -> Vec<f32> {
    let slices = x.len() / toeplitz.shape.image.iter().product::<usize>();
    let product = DeviceProduct::new(device, toeplitz).expect("a product");
    assert_eq!(DeviceProduct::held_bytes(toeplitz.shape)[0], product.spectrum.bytes() as u64);
    let stream = Stream::new(device).expect("stream");
    // An even number of floats: they are read back as complex numbers.
    let padded = |values: Vec<f32>| DeviceMemory::from_slice(device, &[&values[..], &[0.0]].concat()).expect("memory");
    let (from, to) = (padded(x.to_vec()), padded(vec![f32::NAN; x.len()]));
    let out = if in_place { &from } else { &to };
    let bytes = DeviceProduct::bytes(toeplitz.shape, slices) as usize;
    let scratch = DeviceMemory::from_slice(device, &vec![u8::MAX; bytes]).expect("memory");
    let _current = device.enter().expect("current");
    // SAFETY: memory of the sizes that are asked for.
    unsafe { product.apply(from.address(), out.address(), slices, scratch.address(), &stream).expect("a product") };
    let pairs = download(device, out.address(), x.len().div_ceil(2), Precision::F32, &stream);
    let mut seen: Vec<f32> = pairs.into_iter().flat_map(|v| [v.re as f32, v.im as f32]).collect();
    seen.truncate(x.len());
    seen
}

/// As on the processor.
const TOLERANCE: f64 = 6e-7;

#[test]
fn products_are_sums() {
    let Some(device) = gpu() else { return };
    for g in scans() {
        let (toeplitz, pixels) = (toeplitz(&g), g.ny * g.nx);
        // More pairs than are worked on at a time.
        for slices in [1, 2, 5, 19] {
            let x = noise(slices * pixels, slices as u64);
            let expected: Vec<f64> = x.chunks(pixels).flat_map(|slice| product(&g, slice)).collect();
            for in_place in [false, true] {
                let error = apart(&apply(&device, &toeplitz, &x, in_place), &expected);
                assert!(error < TOLERANCE, "{error:.1e}, {slices} slices of {g:?}");
            }
        }
    }
}

/// Lines of which a block of a GPU takes one, and blocks of more threads than usual.
#[test]
fn large_slices_are_the_processors() {
    let Some(device) = gpu() else { return };
    for [ny, nx] in [[600, 500], [1000, 40], [40, 1200], [2048, 2048], [2500, 64]] {
        let angles = (0..50).map(|v| std::f64::consts::PI * f64::from(v) / 50.0).collect();
        let g = Geometry { ny, nx, ..Geometry::new(angles, (ny as f64).hypot(nx as f64) as usize + 2) };
        let toeplitz = Toeplitz::new(&g, reading(&g), Level::detect()).expect("a convolution");
        let x = noise(3 * ny * nx, 7);
        let mut expected = vec![0.0; x.len()];
        let mut on_cpu = Product::new(&toeplitz, Level::detect(), 4).expect("memory");
        on_cpu.apply(&Job::default(), &x, &mut expected, 3).expect("a product");
        let expected: Vec<f64> = expected.into_iter().map(f64::from).collect();
        let error = apart(&apply(&device, &toeplitz, &x, false), &expected);
        assert!(error < TOLERANCE, "{error:.1e}, {ny} x {nx}");
    }
}
