//! Coil sensitivities: voxels on the GPU against voxels on the processor, whose tests stand behind that.

use super::super::{cpu, gpu, gpu_with};
use super::array::{Array, Kind, same};
use super::device;
use super::scan::{C, GPU, Scan, ok, points, random};
use isocenter::array::{Array as View, ArrayMut};
use isocenter::context::{Context, ContextOptions};
use isocenter::ffi::mri::{isoc_coil_maps, isoc_coil_options};
use isocenter::mri::coils::{self, Maps, Method};

/// What is found from where: calibration data `[coil][z][y][x]` of these sizes, sets on a grid.
#[derive(Clone, Copy, Debug)]
struct Case {
    coils: usize,
    shape: [usize; 3],
    sets: usize,
    grid: [usize; 3],
    maps: Maps,
}

impl Case {
    /// What coils of two frequencies along each axis see of a random object, and some noise.
    fn data(&self) -> Vec<C> {
        let [nz, ny, nx] = self.shape;
        let reach = self.shape.map(|n| n.min(2));
        let padded: [usize; 3] = std::array::from_fn(|a| self.shape[a] + reach[a] - 1);
        let (object, count) = (random(padded.iter().product(), 8), self.coils * nz * ny * nx);
        let (taps, noise) = (random(8 * self.coils, 9), random(count, 10));
        let value = |k: usize| -> C {
            let (c, z, y, x) = (k / (nz * ny * nx), k / (ny * nx) % nz, k / nx % ny, k % nx);
            let offsets = (0..8).map(|t| [t / 4, t / 2 % 2, t % 2]);
            let inside = offsets.enumerate().filter(|(_, o)| (0..3).all(|a| o[a] < reach[a]));
            let at = |o: [usize; 3]| ((z + o[0]) * padded[1] + y + o[1]) * padded[2] + x + o[2];
            inside.map(|(t, o)| taps[8 * c + t] * object[at(o)]).sum::<C>() + 0.05 * noise[k]
        };
        (0..count).map(value).collect()
    }

    /// `[set][coil][voxel]`, and eigenvalues `[set][voxel]` unless they are not asked for.
    fn find(&self, context: &Context, with_values: bool) -> (Vec<C>, Vec<f64>) {
        let Self { coils, shape: [cz, cy, cx], sets, grid: [nz, ny, nx], .. } = *self;
        let (data, voxels) = (self.data(), nz * ny * nx);
        let (mut maps, mut values) = (vec![C::new(7.0, 7.0); sets * coils * voxels], vec![7.0; sets * voxels]);
        let from = View::of(&data, [coils, cz, cy, cx]).expect("an array");
        let to = ArrayMut::of(&mut maps, [sets, coils, nz, ny, nx]).expect("an array");
        let to_values = with_values.then(|| ArrayMut::of(&mut values, [sets, nz, ny, nx]).expect("an array"));
        coils::sensitivities(context, &self.maps, from, to, to_values).expect("sensitivities");
        (maps, values)
    }
}

fn cases() -> Vec<Case> {
    let espirit = |kernel| Maps { kernel, threshold: 0.2, crop: 0.0, ..Default::default() };
    let adaptive = Maps { method: Method::Adaptive, crop: 0.0, window: 3, ..Default::default() };
    let case = |coils, shape, sets, grid, maps| Case { coils, shape, sets, grid, maps };
    vec![
        case(1, [1, 8, 9], 1, [1, 10, 37], espirit([1, 3, 3])),
        case(2, [1, 9, 8], 2, [1, 13, 70], espirit([1, 4, 3])),
        case(8, [5, 6, 6], 2, [7, 9, 17], espirit([3, 3, 2])),
        case(9, [1, 10, 9], 3, [1, 10, 12], espirit([1, 3, 3])),
        case(16, [3, 8, 7], 2, [3, 8, 9], espirit([2, 2, 2])),
        case(32, [1, 9, 9], 32, [1, 9, 10], espirit([1, 2, 2])),
        case(8, [4, 6, 5], 2, [5, 7, 12], adaptive),
        case(5, [1, 6, 11], 2, [1, 8, 11], adaptive),
    ]
}

/// As in the processor's tests: f32 sums of some 10 terms a matrix element, 1e-6 of them, with room; on both sides.
const ROUNDING: f64 = 2.0 * 10.0 * 2e-6;

#[test]
fn the_gpu_finds_what_the_processor_finds() {
    let (Some(gpu), cpu) = (gpu(), cpu()) else { return };
    for case in cases() {
        let Case { coils, sets, grid, .. } = case;
        let ((seen, seen_values), (expected, values)) = (case.find(&gpu, true), case.find(&cpu, true));
        let voxels = grid.iter().product::<usize>();
        // u^H of the strongest virtual coil, whose own sensitivity is real and positive.
        let (data, mut reference) = (case.data(), vec![C::default(); coils]);
        let from = View::of(&data, [coils, data.len() / coils]).expect("an array");
        coils::compression(&cpu, from, ArrayMut::of(&mut reference, [1, coils]).expect("an array")).expect("a coil");
        let mut checked = 0;
        for voxel in 0..voxels {
            let value = |set: usize| if set < sets { values[set * voxels + voxel] } else { 0.0 };
            for set in 0..sets {
                let at = set * voxels + voxel;
                assert!(
                    (seen_values[at] - values[at]).abs() < ROUNDING,
                    "{case:?} {voxel}, {set}: {} {}",
                    seen_values[at],
                    values[at]
                );
            }
            // Only of the first set are both neighbours known, unless all sets are asked for.
            let known = if sets == coils { sets } else { sets - 1 };
            for set in 0..known {
                let above = if set == 0 { f64::INFINITY } else { value(set - 1) - value(set) };
                let below = if set + 1 == coils { f64::INFINITY } else { value(set) - value(set + 1) };
                let gap = above.min(below).min(1.0);
                let map = |from: &[C], c: usize| from[(set * coils + c) * voxels + voxel];
                let phase = (0..coils).map(|c| reference[c] * map(&expected, c)).sum::<C>().norm();
                // The vector is off by rounding over the gap, its phase by that over what the reference sees of it.
                let bound = ROUNDING / gap / phase;
                if gap < 0.02 || bound > 0.1 {
                    continue;
                }
                checked += 1;
                for c in 0..coils {
                    let (a, b) = (map(&seen, c), map(&expected, c));
                    assert!((a - b).norm() < 2.0 * bound, "{case:?} {voxel}, {set}, {c}: {a} {b}, gap {gap}");
                }
            }
            // What is left of weak ones is rounding, and may be nothing.
            for set in (0..sets).filter(|set| value(*set) > 1e-3) {
                let squares: f64 = (0..coils).map(|c| seen[(set * coils + c) * voxels + voxel].norm_sqr()).sum();
                // Of up to 32 f32 squares.
                assert!((squares - 1.0).abs() < 5e-6, "{case:?} {voxel}, {set}: {squares}");
            }
        }
        assert!(checked > voxels / 3, "{case:?}: {checked}");
    }
}

#[test]
fn cropped_voxels_are_0_on_the_gpu() {
    let Some(gpu) = gpu() else { return };
    for case in cases() {
        let voxels = case.grid.iter().product::<usize>();
        let (all, values) = case.find(&gpu, true);
        // The median of the first set's.
        let mut sorted = values[..voxels].to_vec();
        sorted.sort_by(f64::total_cmp);
        let crop = sorted[voxels / 2].min(0.99);
        let case = Case { maps: Maps { crop, ..case.maps }, ..case };
        let (with_values, _) = case.find(&gpu, true);
        let (alone, untouched) = case.find(&gpu, false);
        assert!(untouched.iter().all(|v| *v == 7.0));
        assert!(alone == with_values, "{case:?}: voxels that are skipped early are others");
        for (k, v) in with_values.iter().enumerate() {
            let (set, voxel) = (k / (case.coils * voxels), k % voxels);
            let expected = if values[set * voxels + voxel] < crop as f32 as f64 { C::default() } else { all[k] };
            assert_eq!(*v, expected, "{case:?} {k}");
        }
    }
}

#[test]
fn more_coils_than_lanes_are_the_processors() {
    let (Some(gpu), cpu) = (gpu(), cpu()) else { return };
    let maps = Maps { kernel: [1, 2, 2], threshold: 0.2, crop: 0.0, ..Default::default() };
    let case = Case { coils: 33, shape: [1, 8, 8], sets: 1, grid: [1, 9, 9], maps };
    assert!(case.find(&gpu, true) == case.find(&cpu, true));
}

/// A part of the planes at a time, and no plane at all.
#[test]
fn little_memory_changes_nothing() {
    let (Some(gpu), cpu) = (gpu(), cpu()) else { return };
    let case = cases()[2];
    let whole = case.find(&gpu, true);
    // A plane of 17 x 9 voxels takes 22 KB for maps and eigenvalues, and 19 KB for sums.
    for (cap, expected) in [(100 << 10, &whole), (50 << 10, &whole), (1 << 10, &case.find(&cpu, true))] {
        let Some(context) = gpu_with(ContextOptions { gpu_memory_cap: cap, ..Default::default() }) else { return };
        assert!(case.find(&context, true) == *expected, "{cap} bytes");
    }
}

#[test]
fn sensitivities_go_anywhere() {
    let Some(_) = device() else { return };
    let scan = Scan::new(GPU, [1, 8, 8], points(10, 2, 1), 1, true);
    // SAFETY: numbers; all zero is valid.
    let mut options: isoc_coil_options = unsafe { std::mem::zeroed() };
    (options.struct_size, options.crop, options.threshold) = (size_of::<isoc_coil_options>() as u32, -1.0, 0.2);
    (options.kernel_x, options.kernel_y) = (3, 3);
    for (from, maps, values) in [
        (vec![3, 8, 9], vec![3, 10, 13], vec![10, 13]),
        (vec![3, 8, 9], vec![2, 3, 10, 13], vec![2, 10, 13]),
        (vec![3, 1, 8, 9], vec![3, 4, 10, 13], vec![4, 10, 13]),
    ] {
        let data = random(from.iter().product::<i64>() as usize, 5);
        for double in [false, true] {
            let run = |kind: Kind| {
                let mut given = Array::complex(&data, &from, kind);
                let (mut to, mut to_values) = (Array::empty(&maps, kind, 2), Array::empty(&values, kind, 1));
                let tensors = (given.tensor(), to.tensor(), to_values.tensor());
                // SAFETY: the scan's context, and arrays that stay for the call.
                let status = unsafe { isoc_coil_maps(scan.ctx, &options, &tensors.0, &tensors.1, &tensors.2) };
                ok(status);
                assert!(
                    to.rest_is_untouched() && to_values.rest_is_untouched(),
                    "{kind:?}: written beside the elements"
                );
                (to.values(), to_values.values())
            };
            let expected = run(Kind::host(double));
            assert!(expected.0.iter().all(|v| v.norm().is_finite()));
            for kind in Kind::all(double) {
                let seen = run(kind);
                assert!(same(&seen.0, &expected.0) && same(&seen.1, &expected.1), "{kind:?} {maps:?}");
            }
        }
    }
}
