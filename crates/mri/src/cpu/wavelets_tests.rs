use super::*;
use crate::wavelets::Wavelet;

type C = Complex<f64>;

fn picture(voxels: usize, seed: usize) -> Vec<C> {
    (0..voxels)
        .map(|k| C::from_polar(1.0 + ((k * k + seed) as f64 * 0.7).sin(), k as f64 * 1.3 + seed as f64))
        .collect()
}

/// One line by the definition: averages and details are products of the periodic line with the filters at even places.
fn split_line(wavelets: &Wavelets, line: &[C]) -> Vec<C> {
    let n = line.len();
    let even = n / 2 * 2;
    let product = |filter: usize, i: usize| -> C {
        (0..wavelets.taps).map(|k| line[(2 * i + k) % even] * wavelets.filters[filter][k]).sum()
    };
    let averages = (0..even / 2).map(|i| product(0, i)).chain((even < n).then(|| line[n - 1]));
    averages.chain((0..even / 2).map(|i| product(1, i))).collect()
}

/// The whole transform, line after line.
fn split(wavelets: &Wavelets, shift: [usize; 3], image: &[C]) -> Vec<C> {
    let [nz, ny, nx] = wavelets.grid;
    let at = |z: usize, y: usize, x: usize| (z * ny + y) * nx + x;
    let mut now = vec![C::default(); image.len()];
    for z in 0..nz {
        for y in 0..ny {
            for x in 0..nx {
                now[at(z, y, x)] = image[at((z + shift[0]) % nz, (y + shift[1]) % ny, (x + shift[2]) % nx)];
            }
        }
    }
    for level in &wavelets.levels {
        for axis in (0..3).filter(|a| level.split[*a]) {
            let lines = |a: usize| if a == axis { 1 } else { level.size[a] };
            for z in 0..lines(0) {
                for y in 0..lines(1) {
                    for x in 0..lines(2) {
                        let place = |k: usize| match axis {
                            0 => at(k, y, x),
                            1 => at(z, k, x),
                            _ => at(z, y, k),
                        };
                        let line: Vec<C> = (0..level.size[axis]).map(|k| now[place(k)]).collect();
                        split_line(wavelets, &line).into_iter().enumerate().for_each(|(k, v)| now[place(k)] = v);
                    }
                }
            }
        }
    }
    now
}

const CASES: [(Wavelet, usize, [usize; 3], [usize; 3]); 6] = [
    (Wavelet::Daubechies4, 0, [1, 64, 48], [0, 0, 0]),
    (Wavelet::Daubechies4, 2, [1, 37, 50], [0, 3, 2]),
    (Wavelet::Daubechies4, 1, [9, 8, 11], [5, 7, 1]),
    (Wavelet::Haar, 0, [16, 33, 20], [1, 0, 1]),
    (Wavelet::Haar, 3, [1, 1, 25], [0, 0, 6]),
    (Wavelet::Daubechies4, 0, [1, 5, 7], [0, 0, 0]),
];

fn apart(a: &[C], b: &[C]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// Coefficients are up to 2 * sqrt(2)^9 where the definition sums 8 products for each of up to three axes and six levels: each sum adds
/// some 8 roundings of 1e-16.
const ROUNDING: f64 = 1e-12;

#[test]
fn transforms_are_the_definition_s_and_come_back() {
    for (wavelet, levels, grid, shift) in CASES {
        let wavelets = Wavelets::new(wavelet, levels, grid).expect("a transform");
        let voxels: usize = grid.iter().product();
        let image = picture(voxels, levels);
        let expected = split(&wavelets, shift, &image);
        for level in Level::available() {
            let mut cpu = CpuWavelets::<f64>::new(level, voxels).expect("memory");
            let mut now = image.clone();
            cpu.transform(&wavelets, shift, Way::Split, &mut now);
            assert!(apart(&now, &expected) < ROUNDING, "{level:?}, {grid:?}");
            let energy = |v: &[C]| v.iter().map(|v| v.norm_sqr()).sum::<f64>();
            assert!((energy(&now) / energy(&image) - 1.0).abs() < 1e-13, "orthonormal: {grid:?}");
            cpu.transform(&wavelets, shift, Way::Join, &mut now);
            assert!(apart(&now, &image) < ROUNDING, "{level:?}, {grid:?}");
        }
    }
}

#[test]
fn coefficients_shrink_by_the_threshold() {
    for (wavelet, levels, grid, shift) in CASES {
        let wavelets = Wavelets::new(wavelet, levels, grid).expect("a transform");
        let voxels: usize = grid.iter().product();
        let mut cpu = CpuWavelets::<f64>::new(Level::detect(), voxels).expect("memory");
        let mut image = picture(voxels, 3);
        let coefficients = split(&wavelets, shift, &image);
        let threshold = 0.8;
        let expected: Vec<C> = coefficients
            .iter()
            .map(|c| if c.norm() > threshold { c * (1.0 - threshold / c.norm()) } else { C::default() })
            .collect();
        let left = cpu.soften(&wavelets, shift, threshold, &mut image).expect("an image");
        let sum: f64 = expected.iter().map(|c| c.norm()).sum();
        assert!((left - sum).abs() < 1e-12 * voxels as f64, "{left} {sum}");
        assert!(apart(&split(&wavelets, shift, &image), &expected) < ROUNDING, "{grid:?}");
        let [again, largest] = cpu.sizes(&wavelets, shift, &mut image).expect("sizes");
        assert!((again - sum).abs() < 1e-11 * voxels as f64);
        assert!((largest - expected.iter().map(|c| c.norm()).fold(0.0, f64::max)).abs() < ROUNDING);
    }
}

/// The length over images of the coefficients at one place.
#[test]
fn coefficients_of_several_images_shrink_together() {
    const IMAGES: usize = 3;
    for (wavelet, levels, grid, shift) in CASES {
        let wavelets = Wavelets::new(wavelet, levels, grid).expect("a transform");
        let voxels: usize = grid.iter().product();
        for level in Level::available() {
            let mut cpu = CpuWavelets::<f64>::new(level, voxels).expect("memory");
            let mut images = picture(IMAGES * voxels, 3);
            let split_all = |images: &[C]| -> Vec<C> {
                images.chunks(voxels).flat_map(|image| split(&wavelets, shift, image)).collect()
            };
            let coefficients = split_all(&images);
            let lengths: Vec<f64> = (0..voxels)
                .map(|i| (0..IMAGES).map(|k| coefficients[k * voxels + i].norm_sqr()).sum::<f64>().sqrt())
                .collect();
            let threshold = 1.4;
            let left = |i: usize| (lengths[i] - threshold).max(0.0);
            let expected: Vec<C> =
                coefficients.iter().enumerate().map(|(i, c)| c * (left(i % voxels) / lengths[i % voxels])).collect();
            let sum: f64 = (0..voxels).map(left).sum();
            let kept = (0..voxels).filter(|i| left(*i) > 0.0).count();
            assert!(kept > 0 && kept < voxels, "{kept} of {voxels}");
            let seen = cpu.soften(&wavelets, shift, threshold, &mut images).expect("images");
            assert!((seen - sum).abs() < 1e-12 * voxels as f64, "{level:?}: {seen} {sum}");
            assert!(apart(&split_all(&images), &expected) < ROUNDING, "{level:?}, {grid:?}");
            let [again, largest] = cpu.sizes(&wavelets, shift, &mut images).expect("sizes");
            assert!((again - sum).abs() < 1e-11 * voxels as f64);
            assert!((largest - (0..voxels).map(left).fold(0.0, f64::max)).abs() < ROUNDING);
        }
    }
}
