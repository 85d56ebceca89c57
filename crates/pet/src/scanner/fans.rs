//! Rates of single photons, of delayed coincidences.
//!
//! Two crystals that detect s_i and s_j photons a second make `2 w s_i s_j` delayed coincidences a second with time differences of +-w. Of Poisson counts of all
//! pairs of a fan, the likelihood is largest where each crystal's sum over its fan is the expected one, so that these sums are all that is needed
//! (M. E. Casey, E. J. Hoffman, J. Comput. Assist. Tomogr. 10(5), 1986; D. Hogg, K. Thielemans, T. Spinks, N. Spyrou, IEEE NSS-MIC 2001).

use super::{Pairs, Scanner};
use crate::dropped::Dropped;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Stage};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

/// Pairs of crystals whose lines are near the axis, and level enough: every scanner has all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fan {
    /// Largest distance of a line from the axis, mm.
    pub(crate) radius: f64,
    /// Sine of the largest tilt.
    pub(crate) sine: f64,
}

/// Coincidences to count.
#[derive(Clone, Copy, Debug)]
pub struct DelayArrays<'a> {
    /// `[event][first, second]` crystals: unsigned integers.
    pub crystals: Array<'a, 2>,
    /// `[event]` which set of sums it belongs to, unsigned integers; None: the first.
    pub labels: Option<Array<'a, 1>>,
}

/// Events that a task counts.
const CHUNK: usize = 1 << 14;

impl Fan {
    /// Why a pair is not one of its.
    fn misses(&self, [x, y, z]: [f64; 3], [u, v, w]: [f64; 3]) -> Option<Beyond> {
        let (flat, rise) = ((x - u).hypot(y - v), (z - w).abs());
        if (x * v - u * y).abs() > self.radius * flat || flat == 0.0 {
            return Some(Beyond::Radius);
        }
        (rise > self.slope() * flat).then_some(Beyond::Tilt)
    }

    fn slope(&self) -> f64 {
        self.sine / (1.0 - self.sine * self.sine).sqrt()
    }

    /// Adds one to both crystals' sums `[set][crystal]`, u32, of each event of the fan.
    pub(crate) fn count(
        &self,
        context: &Context,
        scanner: &Scanner,
        events: &DelayArrays,
        sums: &mut ArrayMut<2>,
    ) -> Result<Dropped> {
        let [sets, count] = sums.shape();
        let crystals = &scanner.crystals;
        let all = filled_atomics(sets * count)?;
        let len = events.crystals.shape()[0];
        let columns = [events.crystals.column(0), events.crystals.column(1)];
        let dropped = context.run(|job| {
            job.enter(Stage::Deposit);
            (0..len.div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| {
                    job.check()?;
                    let from = chunk * CHUNK;
                    let n = CHUNK.min(len - from);
                    let mut numbers = [zeros::<u32>(n)?, zeros::<u32>(n)?, zeros::<u32>(n)?];
                    let [first, second, set] = &mut numbers;
                    columns[0].read_counts([from], first);
                    columns[1].read_counts([from], second);
                    if let Some(labels) = &events.labels {
                        labels.read_counts([from], set);
                    }
                    let mut dropped = Dropped::default();
                    for ((a, b), set) in first.iter().zip(second.iter()).zip(set.iter()) {
                        let (a, b, set) = (*a as usize, *b as usize, *set as usize);
                        if a >= count || b >= count || set >= sets {
                            dropped.unknown += 1;
                            continue;
                        }
                        if scanner.pair(a, b) == 0.0 {
                            dropped.not_measured += 1;
                            continue;
                        }
                        match self.misses(crystals.position(a), crystals.position(b)) {
                            None => {
                                for k in [a, b] {
                                    all[set * count + k].fetch_add(1, Ordering::Relaxed);
                                }
                            }
                            Some(Beyond::Radius) if a == b => dropped.equal_positions += 1,
                            Some(Beyond::Radius) => dropped.outside_lattice += 1,
                            Some(Beyond::Tilt) => dropped.outside_tilts += 1,
                        }
                    }
                    job.advance(n as f64 / len as f64);
                    Ok(dropped)
                })
                .try_reduce(Dropped::default, |a, b| Ok(a.plus(b)))
        })?;
        let mut row = zeros::<u32>(count)?;
        // All are looked at before any is written.
        for is_written in [false, true] {
            for set in 0..sets {
                sums.as_array().read_counts([set, 0], &mut row);
                for (k, (sum, more)) in row.iter_mut().zip(&all[set * count..]).enumerate() {
                    let Some(after) = sum.checked_add(more.load(Ordering::Relaxed)) else {
                        fail!(SizeOverflow, "sums[{set}, {k}] would be above 2^32 - 1");
                    };
                    *sum = after;
                }
                if is_written {
                    // SAFETY: nobody else has the array.
                    unsafe { sums.write_elements([set, 0], &row) };
                }
            }
        }
        Ok(dropped)
    }
}

/// Why a pair is not of the fan.
enum Beyond {
    Radius,
    Tilt,
}

fn filled_atomics(count: usize) -> Result<Vec<AtomicU32>> {
    isocenter_base::cpu::buffer::collected((0..count).map(|_| AtomicU32::new(0)))
}

/// Crystals above each other, of one module.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    at: [f64; 2],
    pub(crate) module: usize,
    /// Ascending, and whose they are.
    pub(crate) heights: Vec<(f64, usize)>,
}

/// Crystals in the same place, across the axis, are so near, mm.
const SAME: f64 = 1e-3;

/// All crystals of a scanner.
pub(crate) fn columns(Scanner { crystals, pairs, .. }: &Scanner) -> Vec<Column> {
    let module = |k: usize| pairs.as_ref().map_or(0, |pairs| pairs.module(k));
    let key = |k: usize| {
        let [x, y, _] = crystals.position(k);
        let [x, y] = [x, y].map(|v| (v / SAME).round() as i64);
        [x, y, module(k) as i64]
    };
    let mut order: Vec<usize> = (0..crystals.count()).collect();
    order.sort_by_key(|k| key(*k));
    let mut columns = Vec::<Column>::new();
    let mut last = None;
    for k in order {
        let [x, y, z] = crystals.position(k);
        if last != Some(key(k)) {
            columns.push(Column { at: [x, y], module: module(k), heights: Vec::new() });
            last = Some(key(k));
        }
        if let Some(column) = columns.last_mut() {
            column.heights.push((z, k));
        }
    }
    columns.iter_mut().for_each(|c| c.heights.sort_by(|a, b| a.0.total_cmp(&b.0)));
    columns
}

/// Iterations at most; it ends where expected sums are right to this part, the root of the mean square.
const ITERATIONS: usize = 300;
const ENOUGH: f64 = 1e-5;

impl Fan {
    /// Photons that each crystal detects a second, of its sum over the fan: `pairs` is how many coincidences two crystals of one a second have in the measurement.
    pub(crate) fn singles(&self, context: &Context, scanner: &Scanner, sums: &[f32], pairs: f64) -> Result<Vec<f32>> {
        if let Some(k) = sums.iter().position(|s| *s < 0.0) {
            fail!(OutOfRange, "sums[{k}] is {}; it must be at least 0", sums[k]);
        }
        let total: f64 = sums.iter().map(|s| f64::from(*s)).sum();
        if total == 0.0 {
            fail!(OutOfRange, "sums are 0 everywhere: there are no delayed coincidences in the field of view");
        }
        context.run(|job| {
            job.enter(Stage::Factors);
            let columns = columns(scanner);
            let measured = scanner.pairs.as_ref();
            let ones = vec![1.0; sums.len()];
            let partners = self.sums_of(&columns, measured, &ones);
            if let Some(k) = sums.iter().zip(&partners).position(|(sum, n)| *sum > 0.0 && *n == 0.0) {
                fail!(OutOfRange, "sums[{k}] is {}, of a crystal that has no other in its fan", sums[k]);
            }
            // All alike, as many in all.
            let start = (total / (pairs * partners.iter().sum::<f64>())).sqrt();
            let mut singles: Vec<f64> = sums.iter().map(|s| if *s > 0.0 { start } else { 0.0 }).collect();
            let mut left = f64::INFINITY;
            for iteration in 0..ITERATIONS {
                job.check()?;
                let others = self.sums_of(&columns, measured, &singles);
                let mut square = 0.0;
                for ((s, sum), other) in singles.iter_mut().zip(sums).zip(&others) {
                    if *sum > 0.0 && *other > 0.0 {
                        let ratio = f64::from(*sum) / (pairs * *s * other);
                        square += f64::from(*sum) * (ratio - 1.0).powi(2);
                        // The root: of two crystals that face each other, each would take what both lack.
                        *s *= ratio.sqrt();
                    }
                }
                left = (square / total).sqrt();
                job.advance(1.0 / ITERATIONS as f64);
                if left < ENOUGH {
                    job.advance((ITERATIONS - iteration - 1) as f64 / ITERATIONS as f64);
                    break;
                }
            }
            if left > 1e-2 {
                job.note(format!(
                    "rates of single photons explain the fans' sums to {left:.2} of them only: crystals may be numbered in another order"
                ));
            }
            Ok(singles.iter().map(|s| *s as f32).collect())
        })
    }

    /// Of each crystal of a column, from below, which of another column's are in its fan; None where none can be.
    pub(crate) fn bands<'c>(
        &self,
        column: &'c Column,
        other: &'c Column,
    ) -> Option<impl Iterator<Item = Range<usize>> + use<'c>> {
        let ([x, y], [u, v]) = (column.at, other.at);
        let flat = (x - u).hypot(y - v);
        if flat == 0.0 || (x * v - u * y).abs() > self.radius * flat {
            return None;
        }
        let rise = self.slope() * flat;
        let (heights, mut low, mut high) = (&other.heights, 0, 0);
        Some(column.heights.iter().map(move |(z, _)| {
            while low < heights.len() && z - heights[low].0 > rise {
                low += 1;
            }
            while high < heights.len() && heights[high].0 - z <= rise {
                high += 1;
            }
            low..high.max(low)
        }))
    }

    /// Of each crystal, the sum of the others' values in its fan, times what the pair is measured with.
    pub(crate) fn sums_of(&self, columns: &[Column], pairs: Option<&Pairs>, values: &[f64]) -> Vec<f64> {
        let running: Vec<Vec<f64>> = columns
            .iter()
            .map(|column| {
                let mut sum = 0.0;
                std::iter::once(0.0)
                    .chain(column.heights.iter().map(|(_, k)| {
                        sum += values[*k];
                        sum
                    }))
                    .collect()
            })
            .collect();
        let of_columns: Vec<Vec<f64>> = columns
            .par_iter()
            .map(|column| {
                let mut sums = vec![0.0; column.heights.len()];
                for (other, running) in columns.iter().zip(&running) {
                    let Some(bands) = self.bands(column, other) else { continue };
                    let common = pairs.map_or(Some(1.0), |pairs| pairs.common(column.module, other.module));
                    if common == Some(0.0) {
                        continue;
                    }
                    for ((sum, (_, k)), band) in sums.iter_mut().zip(&column.heights).zip(bands) {
                        *sum += match (common, pairs) {
                            (None, Some(pairs)) => {
                                let others = other.heights[band].iter();
                                others.map(|(_, j)| f64::from(pairs.efficiency(*k, *j)) * values[*j]).sum()
                            }
                            _ => f64::from(common.unwrap_or(1.0)) * (running[band.end] - running[band.start]),
                        };
                    }
                }
                sums
            })
            .collect();
        let mut out = vec![0.0; values.len()];
        for (column, sums) in columns.iter().zip(of_columns) {
            for ((_, k), sum) in column.heights.iter().zip(sums) {
                out[*k] = sum;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::{Blocks, Crystals};
    use isocenter_base::context::ContextOptions;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    fn scanner() -> Scanner {
        let blocks = Blocks {
            blocks: 12,
            block_rings: 2,
            across: 4,
            along: 3,
            diameter: 200.0,
            pitch_across: 12.0,
            pitch_along: 8.0,
            block_pitch: 30.0,
            first_azimuth: 0.1,
        };
        let normal = |k| blocks.crystal(k)[1];
        let count = blocks.count().expect("blocks");
        Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), [12.0, 8.0]).expect("crystals").into()
    }

    /// Modules of a block and ring of blocks, and pairs of which some are not measured, and others by parts of their elements.
    fn with_pairs(side: usize) -> Scanner {
        let scanner = scanner();
        // A ring of crystals has 48, and a ring of blocks 3 of them.
        let modules: Vec<u32> = (0..scanner.crystals.count() as u32).map(|k| k / 144 * 12 + k % 48 / 4).collect();
        let group = |k: usize| {
            let apart = (k / 24 % 12).abs_diff(k % 24 % 12);
            if (k / 24 + k % 24).is_multiple_of(5) { 0 } else { apart.min(12 - apart) as u32 / 2 + 1 }
        };
        let mut random = StdRng::seed_from_u64(9);
        let values = (0..4 * side * side).map(|_| random.random_range(0.5..1.0)).collect();
        let pairs = Pairs::new(&modules, (0..24 * 24).map(group).collect(), (side, values)).expect("pairs");
        Scanner { pairs: Some(pairs), ..scanner }
    }

    const FAN: Fan = Fan { radius: 60.0, sine: 0.15 };

    fn context() -> Context {
        Context::new(ContextOptions::default()).expect("a context")
    }

    #[test]
    fn sums_over_fans_are_those_of_all_pairs() {
        for scanner in [scanner(), with_pairs(1), with_pairs(12)] {
            let crystals = &scanner.crystals;
            let mut random = StdRng::seed_from_u64(1);
            let values: Vec<f64> = (0..crystals.count()).map(|_| random.random_range(0.5..2.0)).collect();
            let sums = FAN.sums_of(&columns(&scanner), scanner.pairs.as_ref(), &values);
            let mut members = 0;
            for (k, sum) in sums.iter().enumerate() {
                let of = |j: usize| match FAN.misses(crystals.position(k), crystals.position(j)) {
                    None => values[j] * f64::from(scanner.pair(k, j)),
                    Some(_) => 0.0,
                };
                let expected: f64 = (0..values.len()).map(of).sum();
                members += (0..values.len()).filter(|j| of(*j) > 0.0).count();
                assert!((sum - expected).abs() < 1e-9, "{k}: {sum} {expected}");
            }
            assert!(members > 20 * values.len() && members < values.len() * values.len() / 2, "{members}");
        }
    }

    /// Of expected sums, the rates themselves; of random counts, to their noise: each has some 4000.
    #[test]
    fn rates_come_back() {
        let (scanner, context) = (with_pairs(12), context());
        let count = scanner.crystals.count();
        let mut random = StdRng::seed_from_u64(2);
        let rates: Vec<f64> =
            (0..count).map(|k| if k == 17 { 0.0 } else { random.random_range(500.0..2000.0) }).collect();
        let pairs = 2.0 * 3000e-12 * 60.0;
        let all = FAN.sums_of(&columns(&scanner), scanner.pairs.as_ref(), &rates);
        let sums: Vec<f32> = rates.iter().zip(&all).map(|(s, other)| (pairs * s * other) as f32).collect();
        let found = FAN.singles(&context, &scanner, &sums, pairs).expect("rates");
        for (k, (s, expected)) in found.iter().zip(&rates).enumerate() {
            assert!((f64::from(*s) - expected).abs() <= 1e-3 * expected, "{k}: {s} {expected}");
        }
        // Pairs by their rates, of which those outside the fan do not count.
        let mut events = Vec::new();
        let most = 2000.0;
        let draw = |random: &mut StdRng| loop {
            let k = random.random_range(0..count);
            if random.random_range(0.0..most) < rates[k] {
                return k as u32;
            }
        };
        while events.len() < 2 * 2_500_000 {
            let pair = [draw(&mut random), draw(&mut random)];
            // Some that are not measured are in the list nevertheless.
            let part = scanner.pair(pair[0] as usize, pair[1] as usize);
            if random.random_range(0.0..1.0) < part || part == 0.0 && events.len() % 1000 == 0 {
                events.extend(pair);
            }
        }
        let n = events.len() / 2;
        let labels: Vec<u8> = (0..n).map(|k| u8::from(k % 2 == 1)).collect();
        let mut sums = vec![0u32; 2 * count];
        let arrays = DelayArrays {
            crystals: Array::of(&events, [n, 2]).expect("events"),
            labels: Some(Array::of(&labels, [n]).expect("labels")),
        };
        let mut to = ArrayMut::of(&mut sums, [2, count]).expect("sums");
        let dropped = FAN.count(&context, &scanner, &arrays, &mut to).expect("counted");
        let counted: u64 = sums.iter().map(|s| u64::from(*s)).sum();
        assert_eq!(counted / 2 + dropped.total(), n as u64);
        assert!(
            dropped.unknown == 0
                && dropped.not_measured > 100
                && dropped.outside_lattice > 0
                && dropped.outside_tilts > 0,
            "{dropped:?}"
        );
        let of_set: Vec<f32> = sums[count..].iter().map(|s| *s as f32).collect();
        let found = FAN.singles(&context, &scanner, &of_set, 1.0).expect("rates");
        let scale = rates.iter().sum::<f64>() / found.iter().map(|s| f64::from(*s)).sum::<f64>();
        let mut square = 0.0;
        for (k, (s, expected)) in found.iter().zip(&rates).enumerate() {
            let off = f64::from(*s) * scale - expected;
            assert!(off.abs() <= 0.12 * expected, "{k}: {s} {expected}");
            square += if *expected > 0.0 { (off / expected).powi(2) * f64::from(of_set[k]) } else { 0.0 };
        }
        // Errors in units of 1 / sqrt(counts): 1, and a little for the other ends'.
        let spread = (square / count as f64).sqrt();
        assert!(spread > 0.8 && spread < 1.3, "{spread}");
    }

    #[test]
    fn what_is_no_sum_is_refused() {
        let (scanner, context) = (scanner(), context());
        let mut sums = vec![1f32; scanner.crystals.count()];
        let of = |sums: &[f32]| FAN.singles(&context, &scanner, sums, 1.0).expect_err("refused").message;
        assert!(of(&vec![0.0; sums.len()]).contains("no delayed coincidences"));
        sums[5] = -2.0;
        assert_eq!(of(&sums), "sums[5] is -2; it must be at least 0");
        let places = [[100.0, 0.0, 0.0], [-100.0, 0.0, 0.0], [0.0, 100.0, 900.0]];
        let scanner = Crystals::new(3, |k| places[k], None, [4.0; 2]).expect("crystals").into();
        assert_eq!(FAN.singles(&context, &scanner, &[9.0, 9.0, 0.0], 1.0).expect("rates"), [3.0, 3.0, 0.0]);
        let e = FAN.singles(&context, &scanner, &[9.0, 9.0, 1.0], 1.0).expect_err("refused");
        assert_eq!(e.message, "sums[2] is 1, of a crystal that has no other in its fan");
    }
}
