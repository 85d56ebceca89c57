//! Against sums in f64. Skipped where there is no GPU, unless ISOC_GPU_REQUIRED is set.

use super::*;
use crate::gpu::testing::{C, dft, download, error, gpu, random, tolerance, upload};
use crate::gpu::{Device, DeviceMemory, Precision, Stream};
use std::sync::Arc;

fn check_lines(device: &Arc<Device>, n: usize, axis: usize, others: [usize; 2], precision: Precision) {
    let mut dims = [others[0], others[0], others[1]];
    if axis == 2 {
        dims[1] = others[1];
    }
    dims[axis] = n;
    let all = dims.iter().product();
    for direction in [Direction::Forward, Direction::Backward] {
        let stream = Stream::new(device).expect("stream");
        let line = Line::new(device, n, precision).expect("line");
        let values = random(all, n as u64);
        let memory = upload(device, &values, precision);
        let side = Side::new(memory.address(), dims, Window::all(n));
        let kernels = Kernels::new(device, precision).expect("kernels");
        let pass = Pass {
            kernels: &kernels,
            steps: Steps::One(&line),
            axis,
            lines: dims,
            batches: 1,
            from: side,
            to: side,
            direction,
            scale: 0.5,
            map_stride: 0,
            sum: Sum::No,
        };
        let _current = device.enter().expect("current");
        // SAFETY: in place, on memory of as many elements.
        unsafe { pass.launch(&stream).expect("launch") };
        let seen = download(device, memory.address(), all, precision, &stream);
        let mut expected = values;
        dft(&mut expected, dims, axis, direction);
        expected.iter_mut().for_each(|v| *v *= 0.5);
        let (error, limit) = (error(&seen, &expected), tolerance(n, precision));
        assert!(error < limit, "{n} along {axis}, {precision:?} {direction:?}: {error:e}, not {limit:e}");
    }
}

#[test]
fn lines_of_all_lengths() {
    let Some(device) = gpu() else { return };
    let smooth = |n: &usize| (1..=*n).all(|p| !n.is_multiple_of(p) || p < 2 || [2, 3, 5, 7].iter().any(|q| p % q == 0));
    for n in (2..=180).filter(smooth) {
        for precision in [Precision::F32, Precision::F64] {
            check_lines(&device, n, 2, [2, 21], precision);
            check_lines(&device, n, 1, [3, 19], precision);
            check_lines(&device, n, 0, [3, 5], precision);
        }
    }
    for n in [225, 243, 256, 320, 343, 360, 375, 384, 400, 512, 625, 640, 686, 729, 768, 1000, 1024, 1260] {
        for precision in [Precision::F32, Precision::F64] {
            check_lines(&device, n, 2, [1, 5], precision);
            check_lines(&device, n, 0, [1, 9], precision);
        }
    }
    for n in [1344, 2048, 2187, 2401, 3125, 3840, 4096] {
        for precision in [Precision::F32, Precision::F64] {
            check_lines(&device, n, 2, [1, 2], precision);
            check_lines(&device, n, 1, [1, 3], precision);
        }
    }
}

#[test]
fn other_lengths_are_refused() {
    let Some(device) = gpu() else { return };
    for n in [0, 1, 11, 253, 4097, 32768] {
        assert!(Line::new(&device, n, Precision::F32).is_err(), "{n}");
    }
}

/// Voxel j of an image is at this position of a grid.
fn position(j: usize, n: usize, g: usize) -> usize {
    (j + g - n / 2) % g
}

#[test]
fn images_and_grids() {
    let Some(device) = gpu() else { return };
    let _current = device.enter().expect("current");
    let cases = [
        ([6, 5, 7], [8, 12, 10]),
        ([1, 9, 8], [1, 14, 20]),
        ([7, 1, 33], [14, 2, 42]),
        ([1, 1, 2], [2, 2, 3]),
        ([20, 18, 16], [20, 18, 16]),
    ];
    for ((image, grid), precision) in cases.into_iter().flat_map(|c| [(c, Precision::F32), (c, Precision::F64)]) {
        let batches = 2;
        let (small, large): (usize, usize) = (image.iter().product(), grid.iter().product());
        let factors: [Vec<f64>; 3] = [0, 1, 2]
            .map(|a| (0..image[a]).map(|j| if grid[a] == 1 { 1.0 } else { 1.0 + (7 * j % 4) as f64 / 4.0 }).collect());
        let fft = PrunedFft::new(&device, image, grid, [0, 1, 2].map(|a| &factors[a][..]), precision).expect("fft");
        let places: Vec<(usize, f64)> = (0..small)
            .map(|i| {
                let j = [i / (image[1] * image[2]), i / image[2] % image[1], i % image[2]];
                let p = [0, 1, 2].map(|a| position(j[a], image[a], grid[a]));
                let factor = factors[0][j[0]] * factors[1][j[1]] * factors[2][j[2]];
                ((p[0] * grid[1] + p[1]) * grid[2] + p[2], factor)
            })
            .collect();
        let stream = Stream::new(&device).expect("stream");
        let scratch = DeviceMemory::new(&device, fft.scratch_bytes(batches)).expect("memory");
        let images = random(batches * small, 1);
        let grids = random(batches * large, 2);
        let limit = tolerance(large, precision);

        let (from, to) = (upload(&device, &images, precision), upload(&device, &grids, precision));
        // SAFETY: memory of the sizes that are asked for.
        unsafe {
            let images = Images { address: from.address(), maps: None };
            fft.pad(&images, to.address(), scratch.address(), batches, Direction::Forward, &stream).expect("pad");
        }
        let seen = download(&device, to.address(), batches * large, precision, &stream);
        for (b, image) in images.chunks(small).enumerate() {
            let mut expected = vec![C::default(); large];
            image.iter().zip(&places).for_each(|(v, (p, f))| expected[*p] = v * f);
            (0..3).for_each(|axis| dft(&mut expected, grid, axis, Direction::Forward));
            let error = error(&seen[b * large..][..large], &expected);
            assert!(error < limit, "pad {image:?} {grid:?} {precision:?}: {error:e}, not {limit:e}");
        }

        let (from, to) = (upload(&device, &grids, precision), upload(&device, &images, precision));
        // SAFETY: as above.
        unsafe {
            let images = Images { address: to.address(), maps: None };
            fft.crop(from.address(), (&images, false), scratch.address(), batches, Direction::Backward, &stream)
                .expect("crop");
        }
        let seen = download(&device, to.address(), batches * small, precision, &stream);
        for (b, values) in grids.chunks(large).enumerate() {
            let mut all = values.to_vec();
            (0..3).for_each(|axis| dft(&mut all, grid, axis, Direction::Backward));
            let expected: Vec<C> = places.iter().map(|(p, f)| all[*p] * f).collect();
            let error = error(&seen[b * small..][..small], &expected);
            assert!(error < limit, "crop {image:?} {grid:?} {precision:?}: {error:e}, not {limit:e}");
        }
    }
}
