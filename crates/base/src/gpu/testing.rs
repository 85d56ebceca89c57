//! What tests on a GPU share, in every crate: the first GPU, complex numbers on it, and a Fourier transform by its definition. Tests are
//! skipped where there is no GPU, unless ISOC_GPU_REQUIRED is set.

use super::fft::Direction;
use super::{Device, DeviceMemory, Pinned, Precision, Rows, Stream};
use crate::cpu::random::{OneByOne, Random};
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Numbers of references.
pub type C = Complex<f64>;

/// The first GPU; None where there is none.
pub fn gpu() -> Option<Arc<Device>> {
    match Device::open(0) {
        Ok(device) => Some(device),
        Err(e) if std::env::var_os("ISOC_GPU_REQUIRED").is_some() => panic!("{e}"),
        Err(_) => None,
    }
}

/// Numbers whose parts f32 holds, in -1..1.
pub fn random(n: usize, seed: u64) -> Vec<C> {
    let mut draws = OneByOne::uniform(Random::new(seed, 0, 0));
    let mut value = || f64::from((2.0 * draws.draw() - 1.0) as f32);
    (0..n).map(|_| C::new(value(), value())).collect()
}

/// In the GPU's memory.
pub fn upload(device: &Arc<Device>, values: &[C], precision: Precision) -> DeviceMemory {
    match precision {
        Precision::F32 => {
            let v: Vec<[f32; 2]> = values.iter().map(|v| [v.re as f32, v.im as f32]).collect();
            DeviceMemory::from_slice(device, &v)
        }
        Precision::F64 => DeviceMemory::from_slice(device, &values.iter().map(|v| [v.re, v.im]).collect::<Vec<_>>()),
    }
    .expect("memory")
}

/// The first elements at an address, after all work of the stream.
pub fn download(device: &Arc<Device>, address: u64, n: usize, precision: Precision, stream: &Stream) -> Vec<C> {
    let bytes = n * 2 * precision.bytes();
    let pinned = Pinned::new(device, bytes).expect("memory");
    let rows = Rows { address, pitch: bytes, bytes, count: 1 };
    // SAFETY: both sides have as many bytes, which the host reads after the copy.
    let bytes = unsafe {
        rows.download(pinned.data() as u64, bytes, stream).expect("copy");
        stream.synchronize().expect("work");
        std::slice::from_raw_parts(pinned.data(), bytes)
    };
    let real: Vec<f64> = match precision {
        Precision::F32 => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_ne_bytes(*b))).collect(),
        Precision::F64 => bytes.as_chunks().0.iter().map(|b| f64::from_ne_bytes(*b)).collect(),
    };
    real.as_chunks().0.iter().map(|[re, im]| C::new(*re, *im)).collect()
}

/// Relative to the reference, in the l2 norm.
pub fn error(seen: &[C], expected: &[C]) -> f64 {
    assert_eq!(seen.len(), expected.len());
    let norm = |v: f64| if v.is_nan() { f64::INFINITY } else { v.sqrt() };
    norm(seen.iter().zip(expected).map(|(a, b)| (a - b).norm_sqr()).sum())
        / norm(expected.iter().map(C::norm_sqr).sum())
}

/// Rounding errors of a pass are independent and come a few roundings an element; passes add up as their squares, so half of a
/// unit in the last place times log2 of all lengths together holds with room to spare.
pub fn tolerance(elements: usize, precision: Precision) -> f64 {
    let unit = match precision {
        Precision::F32 => f64::from(f32::EPSILON),
        Precision::F64 => f64::EPSILON,
    };
    unit * (elements as f64).log2().max(2.0)
}

/// Along one axis of `[z][y][x]`, by definition.
pub fn dft(values: &mut [C], dims: [usize; 3], axis: usize, direction: Direction) {
    let n = dims[axis];
    let sign = if direction == Direction::Forward { -1.0 } else { 1.0 };
    let roots: Vec<C> =
        (0..n).map(|k| C::from_polar(1.0, sign * std::f64::consts::TAU * k as f64 / n as f64)).collect();
    let stride: usize = dims[axis + 1..].iter().product();
    for first in (0..values.len()).filter(|i| (i / stride).is_multiple_of(n)) {
        let line: Vec<C> = (0..n).map(|j| values[first + j * stride]).collect();
        for k in 0..n {
            let terms = line.iter().scan(0, |at, v| {
                let term = v * roots[*at];
                *at = (*at + k) % n;
                Some(term)
            });
            values[first + k * stride] = terms.sum();
        }
    }
}
