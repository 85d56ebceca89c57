//! What is a stack, and what is none.

use super::*;
use crate::reach::Unit;
use std::f64::consts::TAU;

const GRID: [usize; 3] = [16, 32, 32];
const TOLERANCE: f64 = 1e-5;

/// Places in a plane: spokes turned by so many radians.
fn spokes(turned: f64) -> Vec<[f64; 2]> {
    let spoke = |s: usize| {
        let (sin, cos) = (0.7 * s as f64 + turned).sin_cos();
        (0..12).map(move |r| (f64::from(r) - 6.0) / 24.0).map(move |k| [k * cos, k * sin])
    };
    (0..9).flat_map(spoke).collect()
}

/// Planes one after the other, by their kz and their places.
fn planes(of: &[(f64, Vec<[f64; 2]>)]) -> Vec<[f64; 3]> {
    of.iter().flat_map(|(kz, places)| places.iter().map(|[x, y]| [*x, *y, *kz])).collect()
}

fn same_places(kz: &[f64]) -> Vec<[f64; 3]> {
    planes(&kz.iter().map(|kz| (*kz, spokes(0.0))).collect::<Vec<_>>())
}

fn trajectory(k: &[[f64; 3]]) -> Trajectory {
    Trajectory::new(k.as_flattened(), Unit::CyclesPerVoxel, GRID, 3).expect("a trajectory")
}

fn find(k: &[[f64; 3]]) -> Option<Stack> {
    let stack = Stack::find(&trajectory(k), GRID, TOLERANCE, |_| true).expect("memory")?;
    // Every sample is in one plane, the one of its kz, and planes of a pattern have the same places.
    let mut seen = vec![0; k.len()];
    for pattern in stack.patterns() {
        let first = stack.points(&pattern[0], &trajectory(k)).expect("memory");
        for plane in pattern {
            assert_eq!(stack.points(plane, &trajectory(k)), Ok(first.clone()));
            for m in &stack.order[plane.samples.clone()] {
                seen[*m as usize] += 1;
                let bins = k[*m as usize][2] * stack.depth.length as f64 - stack.depth.offset - stack.bin(plane) as f64;
                let off = bins / stack.depth.length as f64;
                assert!(
                    (off - off.round()).abs() * stack.depth.length as f64 <= stack.depth.moved + 1e-12,
                    "{m}: {bins}"
                );
            }
        }
    }
    assert!(seen.iter().all(|n| *n == 1), "{seen:?}");
    Some(stack)
}

fn even(count: usize, spacing: f64, first: f64) -> Vec<f64> {
    (0..count).map(|p| (p as f64 + first) * spacing).collect()
}

fn bins(stack: &Stack) -> Vec<usize> {
    stack.planes.iter().map(|p| stack.bin(p)).collect()
}

#[test]
fn even_planes_are_a_stack() {
    for (kz, length, offset) in [
        (even(16, 1.0 / 16.0, -8.0), 16, 0.0),
        // Between the bins: half way, and anywhere.
        (even(16, 1.0 / 16.0, -7.5), 16, 0.5),
        (even(16, 1.0 / 16.0, -7.7), 16, 0.3),
        // Up to twice as dense as the image needs, and less dense.
        (even(20, 1.0 / 20.0, -10.0), 20, 0.0),
        (even(20, 1.0 / 31.0, -10.0), 31, 0.0),
        (even(20, 1.0 / 32.0, -9.0), 32, 0.0),
        (even(12, 1.0 / 12.0, -6.0), 24, 0.0),
        (even(5, 1.0 / 5.0, -2.0), 20, 0.0),
        // From end to end, which are the same frequency.
        (even(17, 1.0 / 16.0, -8.0), 16, 0.0),
        // One plane, and two.
        (vec![0.123], 16, 0.968),
        (vec![0.0], 16, 0.0),
        (vec![-0.25, 0.1875], 16, 0.0),
    ] {
        let stack = find(&same_places(&kz)).unwrap_or_else(|| panic!("{kz:?}"));
        assert_eq!(stack.depth.length, length, "{kz:?}");
        let apart = stack.depth.offset - offset;
        assert!((apart - apart.round()).abs() < 1e-9 && stack.depth.moved < 1e-9, "{kz:?}: {:?}", stack.depth);
        // What is on the grid leaves all but a hundredth of the square.
        assert!((stack.tolerance / TOLERANCE - 0.99f64.sqrt()).abs() < 1e-9);
    }
}

/// Planes may be missing, come in any order, and more than once.
#[test]
fn planes_may_be_any_of_a_grid() {
    let kz = [3.0, -8.0, -7.0, 0.0, 5.0, -1.0].map(|p| p / 16.0);
    let stack = find(&same_places(&kz)).expect("a stack");
    assert_eq!((stack.depth.length, bins(&stack)), (16, vec![15, 0, 3, 5, 8, 9]));
    // Behind the longest gap, from 9 to 15.
    assert_eq!(stack.span(), (15, 11));
    assert_eq!(stack.patterns().count(), 1);
    // A plane that comes twice has twice as many samples: a pattern of its own, behind the first plane's.
    let twice = [0.0, 1.0, 2.0, 1.0].map(|p| p / 16.0);
    let stack = find(&same_places(&twice)).expect("a stack");
    let (planes, n) = (stack.planes(), spokes(0.0).len());
    assert_eq!(planes.iter().map(|p| (stack.bin(p), p.pattern)).collect::<Vec<_>>(), [(0, 0), (2, 0), (1, 1)]);
    assert_eq!(planes[2].samples, 2 * n..4 * n);
}

/// Spoke by spoke, sample by sample and shuffled samples are the same stack as plane by plane.
#[test]
fn samples_may_come_in_any_order() {
    let (kz, n) = (even(16, 1.0 / 16.0, -8.0), spokes(0.0).len());
    let k = same_places(&kz);
    assert_eq!(find(&k).map(|s| (s.patterns().count(), s.planes.len())), Some((1, 16)));
    let orders: [Box<dyn Fn(usize) -> usize>; 3] = [
        // [spoke][plane][readout], [readout][plane], and planes backwards.
        Box::new(|m| m / 12 % 16 * n + m / (12 * 16) * 12 + m % 12),
        Box::new(|m| m % 16 * n + m / 16),
        Box::new(|m| (15 - m / n) * n + m % n),
    ];
    for order in orders {
        let of = |m: usize| k[order(m)];
        let stack = find(&(0..k.len()).map(of).collect::<Vec<_>>()).expect("a stack");
        assert_eq!((stack.patterns().count(), stack.planes.len()), (1, 16));
        for (plane, own) in stack.planes.iter().zip(0..) {
            assert_eq!((stack.bin(plane), plane.samples.clone()), ((own + 8) % 16, own * n..(own + 1) * n));
        }
    }
}

/// Planes that are turned against each other have their own places; those that are not share them.
#[test]
fn planes_of_a_pattern_come_together() {
    let turned = |p: usize| (p as f64 / 16.0, spokes(1.1 * (p % 3) as f64));
    let stack = find(&planes(&(0..7).map(turned).collect::<Vec<_>>())).expect("a stack");
    let seen: Vec<_> = stack.planes.iter().map(|p| (p.pattern, stack.bin(p))).collect();
    assert_eq!(seen, [(0, 0), (0, 3), (0, 6), (1, 1), (1, 4), (2, 2), (2, 5)]);
    // By 1e-9 of a turn a pixel they are the same to this tolerance, by 1e-6 they are not: 16 pixels away that is 2 pi 1.6e-5.
    let shifted = |by: f64| {
        let k = [(0.0, spokes(0.0)), (0.25, spokes(0.0).iter().map(|[x, y]| [x + by, *y]).collect())];
        Stack::find(&trajectory(&planes(&k)), GRID, TOLERANCE, |_| true).expect("memory").map(|s| s.patterns().count())
    };
    assert_eq!([shifted(1e-9), shifted(1e-6)], [Some(1), Some(2)]);
}

/// As derived at [`Stack::find`]: a kz that is off by 2^-26 changes sums over 16 voxels by 4.3e-7.
#[test]
fn single_precision_is_near_enough_for_its_tolerances() {
    let kz: Vec<f64> = even(11, 1.0 / 22.0, -5.3).iter().map(|k| f64::from(*k as f32)).collect();
    let of = |tolerance| {
        let k = trajectory(&same_places(&kz));
        Stack::find(&k, GRID, tolerance, |_| true).expect("memory")
    };
    let stack = of(1e-5).expect("a stack");
    assert_eq!(stack.depth.length, 22);
    let moved = stack.depth.moved / 22.0;
    assert!(moved > 1e-10 && moved <= 2f64.powi(-26), "{moved:e}");
    let spent = TAU * moved * 16.0 / 12f64.sqrt();
    assert!((stack.tolerance.powi(2) + spent.powi(2) - 0.99 * 1e-10).abs() < 1e-16, "{:e}", stack.tolerance);
    assert!(of(1e-9).is_none());
}

#[test]
fn other_samples_are_no_stack() {
    let good = same_places(&even(16, 1.0 / 16.0, -8.0));
    assert!(find(&good).is_some());
    // Samples and one that is off meet half way: 2e-7 of a turn a voxel are 5.8e-6 for 16 voxels, more than a half of 1e-5.
    for (off, is_stack) in [(4e-7, false), (1e-7, true)] {
        for sample in [0, 700, good.len() - 1] {
            let mut k = good.clone();
            k[sample][2] += if sample == 0 { off } else { -off };
            assert_eq!(find(&k).is_some(), is_stack, "{off} of {sample}");
        }
    }
    // Uneven planes, and denser ones than the longest transform has.
    assert!(find(&same_places(&even(16, 1.0 / 16.0, -8.0).iter().map(|k| k * k.abs()).collect::<Vec<_>>())).is_none());
    assert!(find(&same_places(&even(37, 1.0 / 74.0, -18.0))).is_none());
    // Anywhere.
    let scattered = |m: usize| [0.41, 0.67, 0.83].map(|f| (f * m as f64).fract() - 0.5);
    assert!(find(&(0..3000).map(scattered).collect::<Vec<_>>()).is_none());
    // Of an image of one plane.
    let flat = Trajectory::new(good.as_flattened(), Unit::CyclesPerVoxel, [1, 32, 32], 3).expect("a trajectory");
    assert!(Stack::find(&flat, [1, 32, 32], TOLERANCE, |_| true).expect("memory").is_none());
}

/// Lengths that there is no transform of are left out: 17 has none on a GPU, nor has 34.
#[test]
fn lengths_are_those_that_are_taken() {
    let k = trajectory(&same_places(&even(17, 1.0 / 17.0, -8.0)));
    let find = |takes: &dyn Fn(usize) -> bool| {
        Stack::find(&k, GRID, TOLERANCE, takes).expect("memory").map(|s| s.depth.length)
    };
    assert_eq!(find(&|_| true), Some(17));
    assert_eq!(find(&|n| n.is_multiple_of(2)), Some(34));
    assert_eq!(find(&|n| !n.is_multiple_of(17)), None);
}

/// Q of a stack is made by sums over differences of voxels: a grid of 2 n - 1.
#[test]
fn differences_of_a_stack_are_one() {
    for kz in [even(16, 1.0 / 16.0, -8.0), even(16, 1.0 / 16.0, -7.5), even(20, 0.05, -10.0)] {
        let k = trajectory(&same_places(&kz));
        let found = Stack::find(&k, GRID.map(|n| 2 * n - 1), TOLERANCE, |_| true).expect("memory");
        let length = found.expect("a stack").depth.length;
        assert!((31..=40).contains(&length) && length.is_multiple_of(4), "{length}");
    }
}

/// Planes in the order of their kz are in the stack's order, also where the lowest ones are missing, and where all are there.
#[test]
fn positions_follow_kz() {
    for kz in
        [even(16, 1.0 / 16.0, -8.0), even(17, 1.0 / 17.0, -8.0), even(16, 1.0 / 16.0, -7.5), even(11, 1.0 / 16.0, -3.0)]
    {
        let stack = find(&same_places(&kz)).expect("a stack");
        assert!(stack.order.iter().zip(0..).all(|(m, place)| *m == place), "{kz:?}");
        assert!(stack.planes.iter().zip(0..).all(|(p, position)| p.position == position), "{kz:?}");
        assert_eq!(stack.span().1, kz.len());
    }
}

/// Half empty planes of twice as many bins cost more than a transform in three dimensions.
#[test]
fn many_planes_of_few_samples_do_not_pay() {
    assert!(!pays(32, 32 * 9, GRID));
    assert!(pays(16, 16 * 9, GRID) && pays(20, 20, GRID) && pays(32, 32 * 32 * 32, GRID));
}
