use super::*;
use crate::deposit::{deposit, deposit_crystals};
use crate::dropped::Dropped;
use crate::events::interleaved;
use crate::lattice::Lattice;
use crate::scanner::{Blocks, Crystals, Pairs, TimeBins};
use crate::views::Views;
use isocenter_base::array::{ArrayMut, DType};
use isocenter_base::context::{Compute, Context, ContextOptions};
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Status;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BINS: [f64; 5] = [-900.0, -200.0, 0.0, 150.0, 1000.0];

/// 12 blocks of 4 x 3 crystals, 2 rings of them.
fn blocks() -> Blocks {
    Blocks {
        blocks: 12,
        block_rings: 2,
        across: 4,
        along: 3,
        diameter: 120.0,
        pitch_across: 6.0,
        pitch_along: 5.0,
        block_pitch: 17.0,
        first_azimuth: 0.1,
    }
}

fn scanner() -> Scanner {
    let blocks = blocks();
    let normal = |k| blocks.crystal(k)[1];
    let count = blocks.count().expect("a scanner");
    let crystals = Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), [5.5, 4.5]).expect("crystals");
    Scanner { time_bins: Some(TimeBins::new(&BINS).expect("bins")), ..crystals.into() }
}

/// Crystals, time bin and label of events, some of which name what there is not.
fn records(count: usize) -> Vec<[u32; 4]> {
    let mut random = StdRng::seed_from_u64(8);
    let crystals = blocks().count().expect("a scanner") as u32;
    let mut below = |n: u32| random.random_range(0..n);
    let draw = |k| match k % 53 {
        0 => [crystals, below(crystals), below(4), below(3)],
        1 => [below(crystals), 60_000, below(4), below(3)],
        2 => [below(crystals), below(crystals), 4, below(3)],
        3 => [below(crystals), below(crystals), 200, 255],
        4 => [below(crystals), below(crystals), 0, 3],
        5 => [17, 17, below(4), below(3)],
        _ => [below(crystals), below(crystals), below(4), below(3)],
    };
    (0..count).map(draw).collect()
}

/// Fields of records, u32 each.
fn fields(records: &[[u32; 4]], first: u64) -> CrystalArrays<'_> {
    let at = |k: usize| records.as_ptr().cast::<u32>().wrapping_add(k).cast();
    // SAFETY: elements of the records.
    unsafe {
        let one = |k| Array::from_raw(at(k), DType::U32, [records.len()], [4], None);
        CrystalArrays {
            crystals: Array::from_raw(at(0), DType::U32, [records.len(), 2], [4, 1], None),
            times: one(2),
            labels: Some(one(3)),
            first,
        }
    }
}

/// Events as they are read, and which set each belongs to.
fn read(scanner: &Scanner, arrays: &CrystalArrays) -> Vec<([f64; 7], u32)> {
    let events = CrystalEvents::new(scanner, arrays, 3).expect("events");
    let mut all = Vec::new();
    let mut block = Block::<f64>::new();
    for from in (0..events.len()).step_by(BLOCK) {
        let n = events.read(from, &mut block);
        all.extend((0..n).map(|i| (block.event(i), block.set[i])));
    }
    all
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Numbers on each axis are uniform: mean and variance to 5 standard deviations, and no two of an event's five numbers correlate by more.
#[test]
fn events_are_anywhere_on_their_faces_and_in_their_bins() {
    let (scanner, records) = (scanner(), records(100_000));
    let mut parts: Vec<[f64; 5]> = Vec::new();
    for (k, (event, set)) in read(&scanner, &fields(&records, 7)).into_iter().enumerate() {
        let [a, b, bin, label] = records[k];
        let known = a < 288 && b < 288 && bin < 4 && label < 3;
        assert_eq!(set, if known { label } else { NO_SET }, "event {k}");
        if !known {
            continue;
        }
        let [low, high] = [BINS[bin as usize], BINS[bin as usize + 1]];
        let mut part = [0.0; 5];
        part[4] = (event[6] - low) / (high - low) - 0.5;
        for (end, crystal) in [a, b].into_iter().enumerate() {
            let [centre, normal] = blocks().crystal(crystal as usize);
            let off: [f64; 3] = std::array::from_fn(|d| event[3 * end + d] - centre[d]);
            // Faces are of f32: positions of some 60 mm.
            assert!(dot(off, normal).abs() < 2e-5, "event {k} is not on the face");
            part[2 * end] = dot(off, [-normal[1], normal[0], 0.0]) / 5.5;
            part[2 * end + 1] = off[2] / 4.5;
        }
        assert!(part.iter().all(|p| p.abs() < 0.5 + 1e-5), "event {k}: {part:?}");
        if a == b {
            assert_eq!(event[..3], event[3..6], "the same place");
        } else {
            parts.push(part);
        }
    }
    let n = parts.len() as f64;
    for i in 0..5 {
        let mean = parts.iter().map(|p| p[i]).sum::<f64>() / n;
        let square = parts.iter().map(|p| p[i] * p[i]).sum::<f64>() / n;
        // Of a uniform number: variance 1/12, that of its square 1/180.
        assert!(mean.abs() < 5.0 / (12.0 * n).sqrt(), "number {i}: {mean}");
        assert!((square - 1.0 / 12.0).abs() < 5.0 / (180.0 * n).sqrt(), "number {i}: {square}");
        for j in 0..i {
            let product = parts.iter().map(|p| p[i] * p[j]).sum::<f64>() / n;
            assert!(product.abs() < 5.0 / 12.0 / n.sqrt(), "numbers {i}, {j}: {product}");
        }
        let next = parts.windows(2).map(|p| p[0][i] * p[1][i]).sum::<f64>() / n;
        assert!(next.abs() < 5.0 / 12.0 / n.sqrt(), "number {i} and the next event's: {next}");
    }
}

#[test]
fn a_place_depends_on_the_number_alone() {
    let (scanner, records) = (scanner(), records(3000));
    // Beyond 32 bits, and over their end.
    for first in [0, 12_345, (1 << 32) - 1000, u64::MAX - 10] {
        let all = read(&scanner, &fields(&records, first));
        let later = read(&scanner, &fields(&records[700..], first.wrapping_add(700)));
        assert_eq!(all[700..], later);
        let mut other = read(&scanner, &fields(&records, first.wrapping_add(1 << 32)));
        other.retain(|(_, set)| *set != NO_SET);
        let same = all.iter().filter(|e| e.1 != NO_SET).zip(&other).filter(|(a, b)| a.0 == b.0).count();
        // Twice the same crystal in the same bin is in another place of both.
        assert_eq!(same, 0);
    }
}

#[test]
fn points_are_points_and_times_are_times() {
    let blocks = blocks();
    let crystals = Crystals::new(288, |k| blocks.crystal(k)[0], None, [0.0; 2]).expect("crystals");
    let scanner = crystals.into();
    let (pairs, times) = ([[3u16, 99], [287, 0], [288, 5]], [12.5f64, f64::NAN, 3.0]);
    let arrays = CrystalArrays {
        crystals: Array::of(pairs.as_flattened(), [3, 2]).expect("pairs"),
        times: Array::of(&times, [3]).expect("times"),
        labels: None,
        first: 0,
    };
    let found = read(&scanner, &arrays);
    let at = |k: usize| blocks.crystal(k)[0].map(|v| f64::from(v as f32));
    assert_eq!(found[0].0[..3], at(3));
    assert_eq!(found[0].0[3..6], at(99));
    assert_eq!((found[0].0[6], found[0].1), (12.5, 0));
    assert!(found[1].0[6].is_nan() && found[1].1 == 0);
    assert_eq!(found[2].1, NO_SET);
}

fn context(level: Level, threads: usize) -> Context {
    let (compute, level) = (Compute::Cpu, Some(level));
    Context::new(ContextOptions { compute, level, threads, ..ContextOptions::default() }).expect("a context")
}

/// By each form of list, on each level: what the positions of the same events give.
#[test]
fn sets_hold_what_their_events_positions_give() {
    let lattice = Lattice::new([10, 20, 22], [4.0; 3]).expect("a lattice");
    let views = Views::grid(7, 2, 0.5).expect("views");
    let (scanner, records) = (scanner(), records(60_000));
    let voxels = views.list().len() * lattice.voxels();
    let [nz, ny, nx] = lattice.shape();
    let shape = [views.list().len(), nz, ny, nx];
    let usual = context(Level::detect(), 2);
    let events = read(&scanner, &fields(&records, 3));
    let mut expected = vec![0u32; 3 * voxels];
    let mut dropped = Dropped::default();
    for (set, counts) in expected.chunks_exact_mut(voxels).enumerate() {
        let own: Vec<[f64; 7]> = events.iter().filter(|e| e.1 == set as u32).map(|e| e.0).collect();
        assert!(own.len() > 10_000);
        let to = ArrayMut::of(counts, shape).expect("counts");
        let of_set = deposit(&usual, &views, &lattice, &interleaved::read(&own), to).expect("success");
        dropped = Dropped {
            unknown: 0,
            not_measured: 0,
            not_finite: 0,
            equal_positions: dropped.equal_positions + of_set.equal_positions,
            outside_tilts: dropped.outside_tilts + of_set.outside_tilts,
            outside_lattice: dropped.outside_lattice + of_set.outside_lattice,
            overflow: 0,
        };
    }
    dropped.unknown = events.iter().filter(|e| e.1 == NO_SET).count() as u64;
    assert!(dropped.unknown > 5000 && dropped.equal_positions > 1000 && dropped.outside_tilts > 1000);
    let pairs: Vec<u16> = records.iter().flat_map(|r| [r[0] as u16, r[1] as u16]).collect();
    let [bins, labels] = [2, 3].map(|k| records.iter().map(|r| r[k] as u8).collect::<Vec<_>>());
    let packed = CrystalArrays {
        crystals: Array::of(&pairs, [records.len(), 2]).expect("pairs"),
        times: Array::of(&bins, [records.len()]).expect("bins"),
        labels: Some(Array::of(&labels, [records.len()]).expect("labels")),
        first: 3,
    };
    for level in Level::available() {
        for (threads, list) in [(1, packed), (3, fields(&records, 3))] {
            let mut counts = vec![0u32; 3 * voxels];
            let to = ArrayMut::of(&mut counts, [3, shape[0], nz, ny, nx]).expect("counts");
            let context = context(level, threads);
            let found = deposit_crystals(&context, &views, &lattice, (&scanner, &list), to).expect("success");
            assert_eq!(found, dropped);
            assert!(counts == expected);
        }
    }
}

/// Blocks of one ring of blocks alone are measured with each other, and of these the first crystals not with each other. Events of other pairs are dropped; all else is as without.
#[test]
fn events_of_pairs_that_are_not_measured_are_dropped() {
    let lattice = Lattice::new([10, 20, 22], [4.0; 3]).expect("a lattice");
    let views = Views::grid(7, 2, 0.5).expect("views");
    let (plain, records) = (scanner(), records(60_000));
    let ring = |crystal: u32| crystal / 144;
    let modules: Vec<u32> = (0..288).map(ring).collect();
    let mut values = vec![0.5; 144 * 144];
    values[0] = 0.0;
    let pairs = Pairs::new(&modules, vec![1, 0, 0, 1], (144, values)).expect("pairs");
    let is_measured =
        |r: &[u32; 4]| r[0] > 287 || r[1] > 287 || ring(r[0]) == ring(r[1]) && (r[0] % 144, r[1] % 144) != (0, 0);
    let scanner = Scanner { pairs: Some(pairs), ..plain.clone() };
    let events = read(&scanner, &fields(&records, 3));
    let before = read(&plain, &fields(&records, 3));
    for ((event, before), record) in events.iter().zip(&before).zip(&records) {
        let of_none = before.1 == NO_SET;
        assert_eq!(event.1, if of_none || is_measured(record) { before.1 } else { NOT_MEASURED }, "{record:?}");
    }
    let not_measured = events.iter().filter(|e| e.1 == NOT_MEASURED).count() as u64;
    assert!(not_measured > 20_000);
    let shape = [3, views.list().len(), 10, 20, 22];
    for level in Level::available() {
        let count = |scanner: &Scanner, list: &CrystalArrays| {
            let mut counts = vec![0u32; shape.iter().product()];
            let to = ArrayMut::of(&mut counts, shape).expect("counts");
            let dropped = deposit_crystals(&context(level, 2), &views, &lattice, (scanner, list), to).expect("success");
            (counts, dropped)
        };
        let (counts, dropped) = count(&scanner, &fields(&records, 3));
        assert_eq!(dropped.not_measured, not_measured);
        assert_eq!(counts.iter().map(|c| u64::from(*c)).sum::<u64>() + dropped.total(), 60_000);
        // Those that are left, with labels that are none in place of the others.
        let left: Vec<_> = records.iter().map(|r| if is_measured(r) { *r } else { [r[0], r[1], r[2], 9] }).collect();
        let (expected, others) = count(&plain, &fields(&left, 3));
        assert!(counts == expected);
        assert_eq!(others.unknown, dropped.unknown + not_measured);
    }
}

#[test]
fn what_is_no_list_is_refused() {
    let scanner = scanner();
    let (pairs, times, labels) = ([[1u16, 2], [3, 4]], [0u8, 1], [0u8, 0]);
    let list = CrystalArrays {
        crystals: Array::of(pairs.as_flattened(), [2, 2]).expect("pairs"),
        times: Array::of(&times, [2]).expect("times"),
        labels: Some(Array::of(&labels, [2]).expect("labels")),
        first: 0,
    };
    let refused = |scanner: &Scanner, list: &CrystalArrays| {
        let e = CrystalEvents::new(scanner, list, 1).expect_err("refused");
        (e.status, e.message)
    };
    let unbinned = Scanner { time_bins: None, ..scanner.clone() };
    let (status, message) = refused(&unbinned, &list);
    assert!(status == Status::NotConfigured && message.contains("time_edges"), "{message}");
    let one = Array::of(&labels[..1], [1]).expect("a label");
    assert_eq!(refused(&scanner, &CrystalArrays { labels: Some(one), ..list }).0, Status::TensorShape);
    assert_eq!(refused(&scanner, &CrystalArrays { times: one, ..list }).0, Status::TensorShape);
    let numbers = [0.0f32; 2];
    let floats = Array::of(&numbers, [2]).expect("numbers");
    assert_eq!(refused(&scanner, &CrystalArrays { labels: Some(floats), ..list }).0, Status::TensorDtype);
}
