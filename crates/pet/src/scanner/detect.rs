//! Events with positions as a scanner of crystals has them.

use super::surface::Surface;
use super::{Pairs, Scanner, TimeBins};
use crate::bits::{centred, mix};
use crate::events::{BLOCK, Block, Events, Source};
use crate::response::HALF_LIGHT;
use isocenter_base::array::{ArrayMut, DType};
use isocenter_base::context::{Context, Stage};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Events that are not detected; crystals are [`LOST`] then, and times 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// The line meets no crystal at one end, or is none.
    pub missed: u64,
    /// One of the crystals did not detect its photon, or the pair is not measured.
    pub undetected: u64,
    /// The time difference is in no time bin.
    pub outside_window: u64,
}

impl Lost {
    fn add(self, other: Self) -> Self {
        Self {
            missed: self.missed + other.missed,
            undetected: self.undetected + other.undetected,
            outside_window: self.outside_window + other.outside_window,
        }
    }
}

/// The crystals of events that are lost.
pub const LOST: u32 = u32::MAX;

/// Where detected events go.
#[derive(Debug)]
pub struct DetectedMut<'a> {
    /// `[event][first, second]` crystals, u32.
    pub crystals: ArrayMut<'a, 2>,
    /// `[event]` time bins, or times in ps.
    pub times: ArrayMut<'a, 1>,
}

enum Fate {
    Kept([u32; 2], f64),
    Missed,
    Undetected,
    /// Crystals behind each other detect more photons than there are.
    TooMany,
}

/// Detects events: of each line, one of the crystals that it crosses at either end, with the probability of its efficiency, or without these the first; and of the pair, with the probability
/// of its own.
pub(crate) fn detect(
    context: &Context,
    scanner: &Scanner,
    (efficiencies, seed): (Option<&[f32]>, u64),
    events: &Events,
    to: &DetectedMut,
) -> Result<Lost> {
    if let Some(given) = efficiencies
        && let Some(k) = given.iter().position(|e| !(0.0..=1.0).contains(e))
    {
        fail!(OutOfRange, "efficiencies[{k}] is {}; it must be 0 to 1, a probability", given[k]);
    }
    if let Some(largest) = scanner.pairs.as_ref().map(Pairs::largest).filter(|most| *most > 1.0) {
        fail!(OutOfRange, "efficiencies of pairs are up to {largest}; they must be 0 to 1, probabilities");
    }
    let bins = match &scanner.time_bins {
        Some(bins) if to.times.dtype().is_integer() => Some(bins),
        None if to.times.dtype().is_integer() => {
            fail!(NotConfigured, "times are {:?}, bins; the scanner has no time bins", to.times.dtype())
        }
        _ => None,
    };
    let largest = bins.map_or(0, |bins| bins.count() as u64 - 1);
    if bins.is_some() && largest >> (8 * to.times.dtype().size()) > 0 {
        fail!(TensorDtype, "times are {:?}, too small for {} time bins", to.times.dtype(), largest + 1);
    }
    let surface = context.install(|| Surface::new(&scanner.crystals))?;
    let key = mix(seed as u32 ^ mix((seed >> 32) as u32 ^ 0x5bd1_e995));
    context.run(|job| {
        job.enter(Stage::Simulate);
        let len = events.len();
        (0..len.div_ceil(BLOCK))
            .into_par_iter()
            .map_init(Block::<f64>::new, |block, k| {
                job.check()?;
                let from = k * BLOCK;
                let n = events.read(from, block);
                let mut lost = Lost::default();
                let (mut pairs, mut times, mut numbers) = ([[LOST; 2]; BLOCK], [0.0; BLOCK], [0u32; BLOCK]);
                for i in 0..n {
                    let bits = ((from + i) as u32) ^ mix(key ^ ((from + i) as u64 >> 32) as u32);
                    match fate((scanner, &surface), efficiencies, bits, &block.event(i)) {
                        Fate::Missed => lost.missed += 1,
                        Fate::Undetected => lost.undetected += 1,
                        Fate::TooMany => fail!(
                            OutOfRange,
                            "efficiencies of crystals behind each other add up to more than 1; each must be the part of all photons on a line that the crystal detects"
                        ),
                        Fate::Kept(pair, time) => match bins.map(|bins| bin(bins, time)) {
                            Some(None) => lost.outside_window += 1,
                            Some(Some(number)) => (pairs[i], numbers[i]) = (pair, number),
                            None => (pairs[i], times[i]) = (pair, time),
                        },
                    }
                }
                // SAFETY: these events are this task's alone.
                unsafe {
                    for (i, pair) in pairs[..n].iter().enumerate() {
                        to.crystals.write_elements([from + i, 0], pair);
                    }
                    match to.times.dtype() {
                        DType::U8 => to.times.write_elements([from], &numbers.map(|n| n as u8)[..n]),
                        DType::U16 => to.times.write_elements([from], &numbers.map(|n| n as u16)[..n]),
                        DType::U32 => to.times.write_elements([from], &numbers[..n]),
                        _ => to.times.write_row([from], &times[..n]),
                    }
                }
                job.advance(n as f64 / len as f64);
                Ok(lost)
            })
            .try_reduce(Lost::default, |a, b| Ok(a.add(b)))
    })
}

/// Rounding of sums of efficiencies.
const ROUNDING: f64 = 1e-6;

fn fate((scanner, surface): (&Scanner, &Surface), efficiencies: Option<&[f32]>, bits: u32, event: &[f64; 7]) -> Fate {
    let [x1, y1, z1, x2, y2, z2, time] = *event;
    let apart = [x1 - x2, y1 - y2, z1 - z2];
    let length = apart.iter().map(|d| d * d).sum::<f64>().sqrt();
    let middle = [0.5 * (x1 + x2), 0.5 * (y1 + y2), 0.5 * (z1 + z2)];
    let along = apart.map(|d| d / length);
    let ends = [surface.crossed(middle, along), surface.crossed(middle, along.map(|d| -d))];
    if ends.iter().any(|end| end.all().is_empty()) {
        return Fate::Missed;
    }
    let draw = |which| centred(bits, which) + 0.5;
    let mut detected = [None; 2];
    for (which, end) in ends.iter().enumerate() {
        let Some(all) = efficiencies else {
            detected[which] = end.first().first().copied();
            continue;
        };
        let (mut sum, drawn) = (0.0, draw(which as u32));
        for (crystal, far) in end.all() {
            sum += f64::from(all[*crystal]);
            if detected[which].is_none() && drawn < sum {
                detected[which] = Some((*crystal, *far));
            }
        }
        if sum > 1.0 + ROUNDING {
            return Fate::TooMany;
        }
    }
    let [Some((first, ahead)), Some((second, behind))] = detected else { return Fate::Undetected };
    if draw(2) >= f64::from(scanner.pair(first, second)) {
        return Fate::Undetected;
    }
    // The event stays where it is between its new ends.
    Fate::Kept([first as u32, second as u32], time - 0.5 * (ahead - behind) / HALF_LIGHT)
}

/// The bin of a time difference.
fn bin(bins: &TimeBins, time: f64) -> Option<u32> {
    let all = &bins.bins()[..bins.count()];
    let k = all.partition_point(|[low, _]| *low <= time).checked_sub(1)?;
    (time < all[k][0] + all[k][1]).then_some(k as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::interleaved;
    use crate::scanner::{Blocks, Crystals};
    use isocenter_base::context::ContextOptions;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use std::f64::consts::TAU;

    fn scanner() -> Scanner {
        let blocks = Blocks {
            blocks: 16,
            block_rings: 2,
            across: 4,
            along: 5,
            diameter: 200.0,
            pitch_across: 9.0,
            pitch_along: 8.0,
            block_pitch: 44.0,
            first_azimuth: 0.0,
        };
        let normal = |k| blocks.crystal(k)[1];
        let count = blocks.count().expect("blocks");
        let crystals = Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), [9.0, 8.0]).expect("crystals");
        let bins = TimeBins::new(&[-400.0, -100.0, 0.0, 50.0, 500.0]).expect("bins");
        Scanner { time_bins: Some(bins), ..crystals.into() }
    }

    fn run(
        threads: usize,
        efficiencies: Option<&[f32]>,
        events: &[[f64; 7]],
    ) -> (Lost, Vec<[u32; 2]>, Vec<f64>, Vec<u8>) {
        let context = Context::new(ContextOptions { threads, ..ContextOptions::default() }).expect("a context");
        let (n, scanner) = (events.len(), scanner());
        let events = Events::new(&interleaved::read(events)).expect("events");
        let (mut pairs, mut times, mut bins) = (vec![[0u32; 2]; n], vec![f64::NAN; n], vec![9u8; n]);
        let mut again = pairs.clone();
        let to = DetectedMut {
            crystals: ArrayMut::of(pairs.as_flattened_mut(), [n, 2]).expect("crystals"),
            times: ArrayMut::of(&mut times, [n]).expect("times"),
        };
        let all = detect(&context, &scanner, (efficiencies, 7), &events, &to).expect("detected");
        assert_eq!(all.outside_window, 0, "times in ps have no window");
        let to = DetectedMut {
            crystals: ArrayMut::of(again.as_flattened_mut(), [n, 2]).expect("crystals"),
            times: ArrayMut::of(&mut bins, [n]).expect("times"),
        };
        let lost = detect(&context, &scanner, (efficiencies, 7), &events, &to).expect("detected");
        for (pair, again) in pairs.iter().zip(&again) {
            assert!(pair == again || *again == [LOST; 2]);
        }
        assert_eq!((lost.missed, lost.undetected), (all.missed, all.undetected));
        (lost, again, times, bins)
    }

    fn events(count: usize) -> Vec<[f64; 7]> {
        let mut random = StdRng::seed_from_u64(3);
        let event = |_| {
            let mut part = |half: f64| random.random_range(-half..half);
            let (place, azimuth, tilt) = ([part(60.0), part(60.0), part(30.0)], part(TAU), part(0.25));
            let along = [azimuth.cos() * tilt.cos(), azimuth.sin() * tilt.cos(), tilt.sin()];
            let end = |t: f64| [0, 1, 2].map(|d| place[d] + t * along[d]);
            // Some way off the detectors; the event is at the place.
            let (a, b) = (70.0, 90.0);
            let ([x1, y1, z1], [x2, y2, z2]) = (end(a), end(-b));
            [x1, y1, z1, x2, y2, z2, -0.5 * (a - b) / HALF_LIGHT]
        };
        (0..count).map(event).collect()
    }

    /// An event's crystals are on its line, and its place is where it was, to a crystal's size.
    #[test]
    fn events_keep_their_lines_and_places() {
        let list = events(5000);
        let (lost, pairs, times, bins) = run(0, None, &list);
        let scanner = scanner();
        let mut kept = 0;
        for ((event, pair), (time, bin)) in list.iter().zip(&pairs).zip(times.iter().zip(&bins)) {
            if *pair == [LOST; 2] {
                continue;
            }
            kept += 1;
            let centre = |k: u32| {
                let [x, y, z, _] = scanner.crystals.faces()[k as usize].centre.map(f64::from);
                [x, y, z]
            };
            let ends = pair.map(centre);
            let length = (0..3).map(|d| (ends[0][d] - ends[1][d]).powi(2)).sum::<f64>().sqrt();
            for d in 0..3 {
                let along = (ends[0][d] - ends[1][d]) / length;
                let place = 0.5 * (ends[0][d] + ends[1][d]) + HALF_LIGHT * time * along;
                let shift = 0.5 * (20.0) / 160.0 * (event[d] - event[d + 3]);
                let expected = 0.5 * (event[d] + event[d + 3]) + shift;
                // Half of a crystal's diagonal across, and along by the slope of faces.
                assert!((place - expected).abs() < 7.0, "{event:?}: {place} {expected}");
            }
            let [low, width] = scanner.time_bins.as_ref().expect("bins").bins()[usize::from(*bin)];
            assert!(low <= *time && *time < low + width);
        }
        assert_eq!(kept + lost.missed + lost.outside_window, 5000);
        assert!(kept > 3000 && lost.missed > 100 && lost.outside_window > 20, "{lost:?}");
    }

    #[test]
    fn efficiencies_are_probabilities() {
        let list = events(40_000);
        let count = scanner().crystals.count();
        let (all, ..) = run(1, None, &list);
        let met = 40_000 - all.missed;
        let (lost, pairs, ..) = run(3, Some(&vec![0.6; count]), &list);
        let part = lost.undetected as f64 / met as f64;
        // A deviation of 0.0025.
        assert!((part - 0.64).abs() < 0.01, "{part}");
        assert_eq!(run(1, Some(&vec![0.6; count]), &list).1, pairs, "whatever the threads");
        let mut some = vec![1.0; count];
        some[..count / 2].fill(0.0);
        let (_, pairs, ..) = run(0, Some(&some), &list);
        assert!(pairs.iter().flatten().all(|k| *k == LOST || *k as usize >= count / 2));
        assert!(pairs.iter().any(|p| *p != [LOST; 2]));
    }

    /// Two layers of which the inner one detects 0.5 and the outer one 0.3 of all photons, and pairs of inner crystals 0.6 of what they would: by the product, each to four deviations.
    #[test]
    fn crystals_behind_others_and_pairs_detect_by_their_efficiencies() {
        let inner = scanner().crystals;
        let count = inner.count();
        let place = |k: usize| inner.position(k % count);
        let at = |k: usize| place(k).map(|v| v * if k < count { 1.0 } else { 1.1 });
        let crystals = Crystals::new(2 * count, at, None, [9.8, 8.8]).expect("crystals");
        let modules: Vec<u32> = (0..2 * count).map(|k| u32::from(k >= count)).collect();
        let pairs = Pairs::new(&modules, vec![1, 2, 2, 2], (1, vec![0.6, 1.0])).expect("pairs");
        let layered = Scanner { pairs: Some(pairs), ..crystals.into() };
        let list = events(200_000);
        let n = list.len();
        let context = Context::new(ContextOptions::default()).expect("a context");
        let events = Events::new(&interleaved::read(&list)).expect("events");
        let efficiencies: Vec<f32> = (0..2 * count).map(|k| if k < count { 0.5 } else { 0.3 }).collect();
        let (mut found, mut times) = (vec![[0u32; 2]; n], vec![0.0f64; n]);
        let to = DetectedMut {
            crystals: ArrayMut::of(found.as_flattened_mut(), [n, 2]).expect("crystals"),
            times: ArrayMut::of(&mut times, [n]).expect("times"),
        };
        detect(&context, &layered, (Some(&efficiencies), 3), &events, &to).expect("detected");
        // Of lines that cross two crystals at either end.
        let surface = Surface::new(&layered.crystals).expect("a surface");
        let mut counts = [0u32; 5];
        for (event, pair) in list.iter().zip(&found) {
            let [x1, y1, z1, x2, y2, z2, _] = *event;
            let middle = [0.5 * (x1 + x2), 0.5 * (y1 + y2), 0.5 * (z1 + z2)];
            let length = ((x1 - x2).powi(2) + (y1 - y2).powi(2) + (z1 - z2).powi(2)).sqrt();
            let along = [x1 - x2, y1 - y2, z1 - z2].map(|d| d / length);
            let both = |along| surface.crossed(middle, along).all().len() == 2;
            if both(along) && both(along.map(|d| -d)) {
                counts[4] += 1;
                if *pair != [LOST; 2] {
                    counts[pair.iter().map(|k| usize::from(*k as usize >= count)).fold(0, |a, b| 2 * a + b)] += 1;
                }
            }
        }
        let all = f64::from(counts[4]);
        assert!(all > 50_000.0, "{counts:?}");
        for (found, p) in counts.iter().zip([0.25 * 0.6, 0.15, 0.15, 0.09]) {
            let deviation = (all * p * (1.0 - p)).sqrt();
            assert!((f64::from(*found) - all * p).abs() < 4.0 * deviation, "{counts:?}: {p}");
        }
        let half = vec![0.6f32; 2 * count];
        let to = DetectedMut {
            crystals: ArrayMut::of(found.as_flattened_mut(), [n, 2]).expect("crystals"),
            times: ArrayMut::of(&mut times, [n]).expect("times"),
        };
        let e = detect(&context, &layered, (Some(&half), 3), &events, &to).expect_err("too many");
        assert!(e.message.starts_with("efficiencies of crystals behind each other add up to more than 1"), "{e}");
        let pairs = Pairs::new(&modules, vec![1; 4], (1, vec![1.5])).expect("pairs");
        let many = Scanner { pairs: Some(pairs), ..layered };
        let e = detect(&context, &many, (None, 3), &events, &to).expect_err("no probability");
        assert_eq!(e.message, "efficiencies of pairs are up to 1.5; they must be 0 to 1, probabilities");
    }

    #[test]
    fn what_is_no_line_or_no_probability_is_told() {
        let bad = [[f64::NAN, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], [5.0, 5.0, 0.0, 5.0, 5.0, 0.0, 0.0]];
        let (lost, pairs, ..) = run(1, None, &bad);
        assert_eq!((lost.missed, pairs), (2, vec![[LOST; 2]; 2]));
        let context = Context::new(ContextOptions::default()).expect("a context");
        let (mut pairs, mut times) = ([0u32; 4], [0u8; 2]);
        let to = DetectedMut {
            crystals: ArrayMut::of(&mut pairs, [2, 2]).expect("crystals"),
            times: ArrayMut::of(&mut times, [2]).expect("times"),
        };
        let events = Events::new(&interleaved::read(&bad)).expect("events");
        let without = Scanner { time_bins: None, ..scanner() };
        let e = detect(&context, &without, (None, 0), &events, &to).expect_err("no bins");
        assert!(e.message.contains("no time bins"), "{e}");
        let e = detect(&context, &scanner(), (Some(&[1.5]), 0), &events, &to).expect_err("no probability");
        assert_eq!(e.message, "efficiencies[0] is 1.5; it must be 0 to 1, a probability");
    }
}
