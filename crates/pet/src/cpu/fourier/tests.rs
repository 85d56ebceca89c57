//! Projections by Fourier transforms against plain sums in f64 and against the gather.

use super::Fourier;
use crate::cases::{ASYMMETRIC, dot, largest, lattices, noise, plain, responses, view};
use crate::cpu::columns::Columns;
use crate::cpu::tests::Case;
use crate::expansion::Expansion;
use crate::lattice::Lattice;
use crate::response::{Cut, Radial, Response, Shape};
use crate::tables::Tables;
use isocenter_base::cpu::level::Level;

fn fourier(case: &Case, tolerance: f64, level: Level) -> Fourier {
    let expansion = Expansion::new(&case.tables, tolerance, usize::MAX).expect("memory").expect("any rank");
    assert!(expansion.error() <= tolerance, "{:e}", expansion.error());
    Fourier::new(&case.tables, &expansion, &case.layout, level).expect("fits")
}

fn project(fourier: &Fourier, case: &Case, forward: bool, volume: &[f32]) -> Vec<f32> {
    let mut input = Columns::zeroed(case.layout).expect("memory");
    let mut output = Columns::zeroed(case.layout).expect("memory");
    input.load(volume);
    // What was there before must not matter.
    output.load(&vec![7.0; volume.len()]);
    let mut room = vec![f32::NAN; fourier.room()];
    if forward {
        fourier.forward(&input, &mut output, &mut room).expect("memory");
    } else {
        fourier.adjoint(&input, &mut output, &mut room).expect("memory");
    }
    let mut result = vec![0.0; volume.len()];
    output.store(&mut result);
    let outside = output.data().iter().filter(|v| **v != 0.0).count();
    assert!(outside <= result.len(), "margins stay 0");
    result
}

const VIEWS: [(f64, f64); 5] = [(0.0, 0.0), (20.0, 7.0), (45.0, -7.0), (97.0, 0.0), (140.0, 9.0)];
const TOLERANCE: f64 = 1e-6;

#[test]
fn projections_equal_the_plain_sums_at_every_level() {
    for level in Level::available() {
        for lattice in lattices() {
            let volume = noise(lattice.voxels(), 5);
            for (name, response) in responses() {
                for (azimuth, tilt) in VIEWS {
                    let case = Case::new(lattice, &view(azimuth, tilt), &response, level);
                    let fourier = fourier(&case, TOLERANCE, level);
                    for forward in [true, false] {
                        let result = project(&fourier, &case, forward, &volume);
                        let error = largest(&result, &plain(&case.lattice, &case.tables, forward, &volume));
                        // Values are 0 to 1 and kernels sum to 1: the expansion errs by its tolerance and, forward, little
                        // more. Transforms round each term by some 6e-8 * sqrt(levels, 28) * rms of the spectrum's values,
                        // 0.6: 2e-7, times 5 for the largest of thousands; terms are about as large as the first.
                        assert!(error < 4e-6, "{name} {azimuth} {tilt} forward {forward} {level:?}: {error:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn forward_and_adjoint_are_transposes() {
    for lattice in lattices() {
        let (f, y) = (noise(lattice.voxels(), 1), noise(lattice.voxels(), 2));
        for (name, response) in responses() {
            for (azimuth, tilt) in [(10.0, 0.0), (63.0, 6.67), (171.0, -6.67)] {
                let case = Case::new(lattice, &view(azimuth, tilt), &response, Level::detect());
                // The same truncation in both: a poor expansion is as good.
                for tolerance in [1e-2, TOLERANCE] {
                    let fourier = fourier(&case, tolerance, Level::detect());
                    let (hf, hty) = (project(&fourier, &case, true, &f), project(&fourier, &case, false, &y));
                    let difference = (dot(&hf, &y) - dot(&f, &hty)).abs();
                    let norms = (dot(&hf, &hf) * dot(&y, &y)).sqrt();
                    assert!(difference < 1e-6 * norms, "{name} {azimuth} {tilt}: {:e}", difference / norms);
                }
            }
        }
    }
}

#[test]
fn invariant_kernels_are_one_term_and_symmetric_ones_project_alike() {
    let [lattice, ..] = lattices();
    let volume = noise(lattice.voxels(), 3);
    for (name, response) in responses() {
        let case = Case::new(lattice, &view(30.0, 5.0), &response, Level::detect());
        let expansion = Expansion::new(&case.tables, TOLERANCE, usize::MAX).expect("memory").expect("any rank");
        let invariant = name.starts_with("invariant symmetric");
        assert_eq!(expansion.rank() == 1, invariant, "{name}");
        assert_eq!(expansion.invariant(), invariant, "{name}");
        assert_eq!(expansion.error() == 0.0, invariant, "{name}");
        assert_eq!(expansion.symmetric(), name.contains(" symmetric"), "{name}");
        let fourier = fourier(&case, TOLERANCE, Level::detect());
        assert_eq!(fourier.rank(), expansion.rank());
        let same = project(&fourier, &case, true, &volume) == project(&fourier, &case, false, &volume);
        assert_eq!(same, invariant, "{name}");
    }
}

#[test]
fn expansions_keep_their_tolerance() {
    let [lattice, ..] = lattices();
    for (name, response) in responses() {
        let case = Case::new(lattice, &view(25.0, 6.0), &response, Level::detect());
        let (tables, count) = (&case.tables, case.tables.offsets().len());
        let largest = tables.values().iter().fold(0.0f32, |m, v| m.max(*v));
        let mut ranks = Vec::new();
        for tolerance in [1e-1, 1e-2, 1e-4, 1e-6] {
            let expansion = Expansion::new(tables, tolerance, usize::MAX).expect("memory").expect("any rank");
            ranks.push(expansion.rank());
            for (a, row) in tables.values().chunks_exact(count).enumerate() {
                let (mut worst, mut sum) = (0.0f64, 0.0);
                for (i, value) in row.iter().enumerate() {
                    let product = |r| f64::from(expansion.coefficients(r)[a]) * f64::from(expansion.term(r)[i]);
                    let error = ((0..expansion.rank()).map(product).sum::<f64>() - f64::from(*value)).abs();
                    (worst, sum) = (worst.max(error), sum + error);
                }
                // Sums in another order.
                let bound = tolerance * (1.0 + 1e-6);
                assert!(worst <= bound * f64::from(largest) && sum <= bound, "{name} {tolerance}: {worst:e} {sum:e}");
            }
            for r in 0..expansion.rank() {
                let even = expansion.term(r).iter().eq(expansion.term(r).iter().rev());
                assert!(even || !expansion.symmetric(), "{name}");
            }
        }
        assert!(ranks.is_sorted(), "{name}: {ranks:?}");
        assert!(Expansion::new(tables, 1e-6, ranks[3]).expect("memory").is_some(), "{name}");
        if ranks[3] > 1 {
            assert!(Expansion::new(tables, 1e-6, ranks[2] - 1).expect("memory").is_none(), "{name}: {ranks:?}");
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let [_, lattice, _] = lattices();
    let volume = noise(lattice.voxels(), 4);
    let case = Case::new(lattice, &view(75.0, -6.0), &responses()[6].1, Level::detect());
    let fourier = fourier(&case, 1e-3, Level::detect());
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| [true, false].map(|forward| project(&fourier, &case, forward, &volume)))
    };
    assert!(on(1) == on(3));
}

/// The farthest output voxels get exactly what a point sends there, and nothing comes round the other side.
#[test]
fn nothing_wraps_around_borders() {
    for shape in [[1, 9, 14], [5, 1, 13], [9, 13, 1], [7, 11, 20], [23, 16, 15]] {
        let lattice = Lattice::new(shape, [4.0; 3]).expect("valid");
        let [nz, ny, nx] = shape;
        // As far as the lattice is wide, along all axes.
        let (x, y, z) = (nx as i32 - 1, ny as i32 - 1, nz as i32 - 1);
        let mut offsets = vec![[x, y, z], [-x, y / 2, z], [x / 2, -y, -z], [0, 0, 0], [x / 3, y / 3, 0]];
        offsets.sort();
        offsets.dedup();
        let map: Vec<u32> = (0..nx * ny).map(|i| i as u32 % 3).collect();
        let values: Vec<f32> = noise(3 * offsets.len(), 9).iter().map(|v| v + 0.1).collect();
        let tables = Tables::given(&lattice, &view(20.0, 0.0), map, &offsets, &values).expect("valid");
        let volume = noise(lattice.voxels(), 8);
        for level in Level::available() {
            let case = Case::of(lattice, tables.clone(), level);
            let fourier = fourier(&case, TOLERANCE, level);
            for forward in [true, false] {
                let error = largest(
                    &project(&fourier, &case, forward, &volume),
                    &plain(&case.lattice, &case.tables, forward, &volume),
                );
                // As above, fewer terms; forward, up to three kernels of sum 1 meet.
                assert!(error < 4e-6, "{shape:?} {level:?} forward {forward}: {error:e}");
            }
        }
    }
}

#[test]
fn it_agrees_with_the_gather() {
    let lattice = Lattice::new([20, 40, 44], [4.0; 3]).expect("valid");
    let volume = noise(lattice.voxels(), 11);
    let mut response = Response::new(200.0, Radial::Table { radius: vec![0.0, 80.0], fwhm: vec![6.0, 7.5] }, 6.0);
    for profile in [crate::response::Profile::Symmetric, ASYMMETRIC] {
        response.profile = profile;
        response.cut = Cut { shape: Shape::Box, k: 3.0 };
        for (azimuth, tilt) in VIEWS {
            let case = Case::new(lattice, &view(azimuth, tilt), &response, Level::detect());
            let fourier = fourier(&case, 1e-5, Level::detect());
            for forward in [true, false] {
                let exact: Vec<f64> = case.project(forward, &volume).iter().map(|v| (*v).into()).collect();
                let error = largest(&project(&fourier, &case, forward, &volume), &exact);
                assert!(error < 2e-5, "{azimuth} {tilt} forward {forward}: {error:e}");
            }
        }
    }
}
