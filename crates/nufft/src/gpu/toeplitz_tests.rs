//! Against sums in f64. Skipped where there is no GPU, unless ISOC_GPU_REQUIRED is set.

use super::*;
use crate::kernel::smooth;
use isocenter_base::gpu::DeviceMemory;
use isocenter_base::gpu::testing::{dft, download, error, gpu, random, tolerance, upload};
use rustfft::num_complex::Complex;

type C = Complex<f64>;

fn places(dims: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    let [nz, ny, nx] = dims;
    (0..nz * ny * nx).map(move |i| [i / (ny * nx), i / nx % ny, i % nx])
}

fn index(grid: [usize; 3], place: [usize; 3]) -> usize {
    (place[0] * grid[1] + place[1]) * grid[2] + place[2]
}

/// sum over j' of q(j - j') v(j')
fn product(q: &[C], grid: [usize; 3], v: &[C], image: [usize; 3]) -> Vec<C> {
    let at = |j: [usize; 3], k: [usize; 3]| index(grid, [0, 1, 2].map(|a| (grid[a] + j[a] - k[a]) % grid[a]));
    places(image).map(|j| places(image).zip(v).map(|(k, v)| q[at(j, k)] * v).sum()).collect()
}

#[test]
fn products() {
    let Some(device) = gpu() else { return };
    let _current = device.enter().expect("current");
    let cases = [[6, 5, 7], [1, 9, 33], [8, 8, 40], [5, 1, 1], [9, 3, 12]];
    for (image, precision) in cases.into_iter().flat_map(|c| [(c, Precision::F32), (c, Precision::F64)]) {
        let grid = [if image[0] == 1 { 1 } else { smooth(2 * image[0]) }, smooth(2 * image[1]), smooth(2 * image[2])];
        let mut toeplitz = Toeplitz::new(&device, image, grid, precision).expect("plan");
        let (small, large): (usize, usize) = (image.iter().product(), grid.iter().product());
        let (coils, stream) = (3, Stream::new(&device).expect("stream"));
        let (v, maps, old) = (random(coils * small, 1), random(coils * small, 2), random(small, 3));
        let any = random(coils * large, 4);
        let opposite = |p: [usize; 3]| index(grid, [0, 1, 2].map(|a| (grid[a] - p[a]) % grid[a]));
        let hermitian = |any: &[C]| places(grid).map(|p| any[index(grid, p)] + any[opposite(p)].conj()).collect();
        let transform = |q: &[C]| {
            let mut spectrum = q.to_vec();
            (0..3).for_each(|axis| dft(&mut spectrum, grid, axis, Direction::Forward));
            spectrum
        };
        // A kernel for each coil; the first one for all, too.
        let kernels: Vec<Vec<C>> = any.chunks(large).map(hermitian).collect();
        let q = &kernels[0];
        let spectrum: Vec<C> = kernels.iter().flat_map(|q| transform(q)).collect();
        // The sums over coils lose what cancels: random terms, so that a few units more are enough.
        let limit = 2.0 * tolerance(large * large, precision);
        let complex = upload(&device, &spectrum, precision);
        let real = DeviceMemory::new(&device, coils * large * precision.bytes()).expect("memory");
        for k in 0..coils {
            let [from, to] = [(&complex, precision.complex()), (&real, precision.bytes())]
                .map(|(memory, size)| memory.address() + (k * large * size) as u64);
            let to = Strided { address: to, stride: 1 };
            // SAFETY: memory of so many of the grid's sizes.
            unsafe { toeplitz.real_part(from, to, &stream).expect("real part") };
        }
        let shared = Spectra::shared(real.address());
        // All columns at a time, and the fewest.
        for limit_bytes in [usize::MAX, 0] {
            toeplitz.limit_scratch(coils, limit_bytes);
            let scratch = DeviceMemory::new(&device, toeplitz.scratch_bytes(coils)).expect("memory");
            let input = upload(&device, &v, precision);
            let buffers = Buffers { input: input.address(), output: input.address(), scratch: scratch.address() };
            // SAFETY: buffers of the sizes that are asked for.
            unsafe { toeplitz.apply(shared, coils, buffers, &stream).expect("apply") };
            let seen = download(&device, input.address(), coils * small, precision, &stream);
            let expected: Vec<C> = v.chunks(small).flat_map(|v| product(q, grid, v, image)).collect();
            let e = error(&seen, &expected);
            assert!(e < limit, "{image:?} {precision:?} scratch {limit_bytes}: {e:e}, not {limit:e}");

            let own = Spectra { stride: large, ..shared };
            for (add, spectra) in [(false, shared), (true, shared), (false, own), (true, own)] {
                let (input, output) = (upload(&device, &v[..small], precision), upload(&device, &old, precision));
                let map = upload(&device, &maps, precision);
                let buffers = Buffers { input: input.address(), output: output.address(), scratch: scratch.address() };
                let map = Maps { address: map.address(), stride: small };
                // SAFETY: as above.
                unsafe { toeplitz.apply_coils(spectra, coils, map, buffers, add, &stream).expect("apply") };
                let seen = download(&device, output.address(), small, precision, &stream);
                let mut expected = if add { old.clone() } else { vec![C::default(); small] };
                for (map, own) in maps.chunks(small).zip(&kernels) {
                    let seen_by: Vec<C> = v.iter().zip(map).map(|(v, m)| v * m).collect();
                    let of_coil = product(if spectra.stride > 0 { own } else { q }, grid, &seen_by, image);
                    expected.iter_mut().zip(of_coil).zip(map).for_each(|((e, o), m)| *e += m.conj() * o);
                }
                let e = error(&seen, &expected);
                assert!(e < limit, "{image:?} {precision:?} coils, add {add}, {spectra:?}: {e:e}, not {limit:e}");
            }
        }
    }
}
