//! The arithmetic of every kind of vectors against sums in f64. Skipped on a GPU where there is none, unless ISOC_GPU_REQUIRED is set.

use super::Vectors;
use super::cpu::CpuVectors;
use super::gpu::{DeviceVector, GpuVectors};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::gpu::testing::{gpu, random};
use rustfft::num_complex::Complex;

type C = Complex<f64>;

/// More than one task of the processor, and no whole number of warps.
const COUNT: usize = 40_003;

/// Every operation, on vectors that `put` makes and `get` reads; in f64, where sums are right to a few units of round-off.
fn check<V: Vectors>(
    vectors: &mut V,
    put: impl Fn(&mut V, &[C]) -> V::Vector,
    get: impl Fn(&mut V, &V::Vector) -> Vec<C>,
) {
    let [a, b, c, d] = [1, 2, 3, 4].map(|seed| random(COUNT, seed));
    let near = |seen: &[C], expected: &dyn Fn(usize) -> C| {
        assert_eq!(seen.len(), COUNT);
        assert!(seen.iter().enumerate().all(|(i, v)| (v - expected(i)).norm() < 1e-14), "not what it must be");
    };
    let product = |a: &[C], b: &[C]| a.iter().zip(b).map(|(a, b)| a.re * b.re + a.im * b.im).sum::<f64>();

    let (x, y) = (put(vectors, &a), put(vectors, &b));
    assert_eq!(vectors.len(&x), COUNT);
    assert!((vectors.dot(&x, &y).expect("a product") - product(&a, &b)).abs() < 1e-9);

    let mut sum = put(vectors, &b);
    vectors.combine(0.5, &x, -2.0, &mut sum).expect("a sum");
    near(&get(vectors, &sum), &|i| a[i] * 0.5 - b[i] * 2.0);

    let (mut solution, mut residual) = (put(vectors, &c), put(vectors, &d));
    let square = vectors.step(0.25, (&x, &y), &mut solution, &mut residual).expect("a step");
    near(&get(vectors, &solution), &|i| c[i] + a[i] * 0.25);
    near(&get(vectors, &residual), &|i| d[i] - b[i] * 0.25);
    let expected = get(vectors, &residual);
    assert!((square - product(&expected, &expected)).abs() < 1e-9);

    let mut ones = vectors.filled(COUNT, 1.0).expect("a vector");
    let zeros = vectors.zeros(COUNT).expect("a vector");
    vectors.copy((&x, 5), (&mut ones, 7), 100).expect("a copy");
    vectors.copy((&zeros, 0), (&mut ones, 200), 10).expect("a copy");
    near(&get(vectors, &ones), &|i| match i {
        7..107 => a[i - 2],
        200..210 => C::default(),
        _ => C::new(1.0, 0.0),
    });
}

#[test]
fn on_the_processor() {
    let put = |_: &mut CpuVectors<f64>, values: &[C]| {
        let mut vector = Buffer::zeroed(values.len()).expect("memory");
        vector.copy_from_slice(values);
        vector
    };
    check(&mut CpuVectors::default(), put, |_, vector| vector.to_vec());
}

#[test]
fn on_a_gpu() {
    let Some(device) = gpu() else { return };
    let _current = device.enter().expect("a context");
    let mut vectors = GpuVectors::<f64>::new(&device).expect("vectors");
    let put = |v: &mut GpuVectors<f64>, values: &[C]| {
        DeviceVector::new(v.queue.upload(values).expect("memory"), values.len())
    };
    let get = |v: &mut GpuVectors<f64>, vector: &DeviceVector| {
        let mut values = vec![C::default(); vector.count()];
        v.queue.fetch(vector.address(), &mut values).expect("a copy");
        values
    };
    check(&mut vectors, put, get);
    let (short, mut long) = (vectors.zeros(3).expect("a vector"), vectors.zeros(4).expect("a vector"));
    let error = vectors.combine(1.0, &short, 1.0, &mut long).expect_err("vectors of different lengths");
    assert!(error.message.contains("[3, 4]"), "{error}");
}
