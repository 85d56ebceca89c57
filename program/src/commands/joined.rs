//! Slices of several scans as those of one: of each row from the scan that has it, and of both where two have it.

use crate::plan::Overlap;
use crate::seams::shared;
use anyhow::{Context, Result, ensure};
use isocenter::array::DType;
use isocenter::ct::Iterated;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Takes slices, and the number of the first among those that were asked for.
pub type Write<'a> = dyn FnMut(usize, &[u8]) -> Result<()> + 'a;

/// What makes slices of detector rows.
pub trait Slices {
    /// Of all its slices.
    fn shape(&self) -> [usize; 3];

    /// Makes the slices of some rows, and gives them to `write`, as they are stored, with the number of the first among them.
    fn stream(&mut self, rows: Range<usize>, write: &mut Write) -> Result<()>;

    /// The same with values in f32, whatever is stored.
    fn values(&mut self, rows: Range<usize>, write: &mut Write) -> Result<()>;

    /// Bytes that it takes.
    fn memory(&self) -> Result<u64>;

    /// Time that went on reading.
    fn read(&self) -> Duration;

    /// What iterations found of slices that were made.
    fn iterations(&self) -> &[Vec<Iterated>];
}

/// Scans from which slices of some rows are made.
#[derive(Clone, Debug, PartialEq)]
enum From {
    One(usize),
    /// This one and the next, which both have these rows.
    Two(usize, Range<usize>),
}

/// Rows of the volume that come from the same scans.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    rows: Range<usize>,
    from: From,
}

/// Bytes of slices that wait for those that they are blended with, at most; two slices always may.
const WAITING: usize = 64 << 20;
/// Scans that are prepared at a time: two that are blended.
const READY: usize = 2;

/// Which scans rows come from. Slices are made in pairs, counted from the first of all rows: parts begin with a pair, but for single slices, so that a
/// slice is the same whatever is made at a time.
fn parts(scans: &[Range<usize>], rows: Range<usize>, overlap: Overlap) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut start = scans.first().map_or(0, |first| first.start);
    for (k, shared) in shared(scans, "rows")?.into_iter().enumerate() {
        let middle = shared.start.midpoint(shared.end);
        let both = if overlap == Overlap::Blend { shared.clone() } else { middle..middle };
        parts.push(Part { rows: start..both.start, from: From::One(k) });
        start = both.end;
        parts.push(Part { rows: both, from: From::Two(k, shared) });
    }
    let last = scans.len().saturating_sub(1);
    parts.push(Part { rows: start..scans.last().map_or(0, |last| last.end), from: From::One(last) });
    let mut wanted = Vec::new();
    for Part { rows: of, from } in parts {
        let mut own = of.start.max(rows.start)..of.end.min(rows.end);
        if !own.is_empty() && (own.start - rows.start) % 2 == 1 {
            wanted.push(Part { rows: own.start..own.start + 1, from: from.clone() });
            own.start += 1;
        }
        if !own.is_empty() {
            wanted.push(Part { rows: own, from });
        }
    }
    Ok(wanted)
}

/// The share of the second of two scans in a row of those that both have.
fn share(row: usize, shared: &Range<usize>) -> f32 {
    (row - shared.start + 1) as f32 / (shared.len() + 1) as f32
}

/// How values are stored.
#[derive(Clone, Copy, Debug)]
pub struct Encoding {
    pub dtype: DType,
    /// What integers hold, from the smallest to the largest.
    pub window: [f64; 2],
}

impl Encoding {
    /// Stores values as the library does: integers are the nearest, even ones at ties.
    fn put(self, values: &[f32], to: &mut Vec<u8>) {
        let [low, high] = self.window;
        let integer = |value: &f32, top: f64| {
            // NaN, which has no order, is the lowest.
            ((f64::from(*value) - low) * (top / (high - low))).max(0.0).min(top).round_ties_even()
        };
        match self.dtype {
            DType::U8 => to.extend(values.iter().map(|value| integer(value, u8::MAX.into()) as u8)),
            DType::U16 => {
                to.extend(values.iter().flat_map(|value| (integer(value, u16::MAX.into()) as u16).to_ne_bytes()));
            }
            _ => to.extend(values.iter().flat_map(|value| value.to_ne_bytes())),
        }
    }
}

/// Slices of one scan or of several.
pub struct Joined<'a, P> {
    /// Prepares a scan.
    make: Box<dyn Fn(usize) -> Result<P> + 'a>,
    /// Rows of the volume that each has.
    scans: Vec<Range<usize>>,
    /// Those that are made.
    rows: Range<usize>,
    parts: Vec<Part>,
    encoding: Encoding,
    sides: [usize; 2],
    ready: VecDeque<(usize, P)>,
    /// Time that scans that are not ready any more took to read.
    before: Duration,
    /// And what their iterations found.
    iterations: Vec<Vec<Iterated>>,
}

impl<'a, P: Slices> Joined<'a, P> {
    /// Of scans that have these rows, each prepared by `make`, which is tried with all of them.
    pub fn new(
        scans: Vec<Range<usize>>,
        rows: Range<usize>,
        overlap: Overlap,
        encoding: Encoding,
        make: impl Fn(usize) -> Result<P> + 'a,
    ) -> Result<Self> {
        let parts = parts(&scans, rows.clone(), overlap)?;
        let (make, ready) = (Box::new(make), VecDeque::new());
        let mut joined = Self {
            make,
            scans,
            rows,
            parts,
            encoding,
            sides: [0; 2],
            ready,
            before: Duration::ZERO,
            iterations: Vec::new(),
        };
        for k in joined.used() {
            let [_, ny, nx] = joined.ready(k)?.shape();
            let sides = if joined.sides == [0; 2] { [ny, nx] } else { joined.sides };
            ensure!(sides == [ny, nx], "slices of one scan are of {ny} x {nx}, and those of another of {sides:?}");
            joined.sides = sides;
        }
        Ok(joined)
    }

    /// Scans that have some of the rows.
    pub fn used(&self) -> Vec<usize> {
        let of = |part: &Part| match part.from {
            From::One(k) => k..k + 1,
            From::Two(k, _) => k..k + 2,
        };
        let mut used: Vec<_> = self.parts.iter().flat_map(of).collect();
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Of the whole volume.
    pub fn shape(&self) -> [usize; 3] {
        [self.rows.len(), self.sides[0], self.sides[1]]
    }

    /// Bytes of a slice.
    pub fn slice(&self) -> usize {
        self.sides[0] * self.sides[1] * self.encoding.dtype.size()
    }

    /// One that is prepared: all have the same part of slices.
    pub fn any(&self) -> &P {
        &self.ready[0].1
    }

    /// What iterations found, of slices that were made together.
    pub fn iterations(&self) -> Vec<Vec<Iterated>> {
        let ready = self.ready.iter().flat_map(|(_, slices)| slices.iterations());
        self.iterations.iter().chain(ready).cloned().collect()
    }

    /// Bytes that the library takes at a time.
    pub fn memory(&self) -> Result<u64> {
        self.ready.iter().map(|(_, slices)| slices.memory()).sum()
    }

    /// Time that went on reading.
    pub fn read(&self) -> Duration {
        self.before + self.ready.iter().map(|(_, slices)| slices.read()).sum::<Duration>()
    }

    /// A scan, prepared.
    fn ready(&mut self, k: usize) -> Result<&mut P> {
        let found = self.ready.iter().position(|(which, _)| *which == k);
        let at = match found {
            Some(at) => at,
            None => {
                if self.ready.len() == READY {
                    // The one of those that is farther away.
                    let far = usize::from(self.ready[1].0.abs_diff(k) > self.ready[0].0.abs_diff(k));
                    if let Some((_, slices)) = self.ready.remove(far) {
                        self.before += slices.read();
                        self.iterations.extend_from_slice(slices.iterations());
                    }
                }
                let slices = (self.make)(k)?;
                self.ready.push_back((k, slices));
                self.ready.len() - 1
            }
        };
        Ok(&mut self.ready[at].1)
    }

    /// Makes the slices of some rows of the volume, the first of them the first of a pair, and gives them to `write` with the number of the first among them.
    pub fn stream(&mut self, rows: Range<usize>, write: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        self.stream_by(rows, |_, _| (), write)
    }

    /// The same, and says what share of them is made, and what share is next, before each scan's.
    pub fn stream_by(
        &mut self,
        rows: Range<usize>,
        mut next: impl FnMut(f64, f64),
        mut write: impl FnMut(usize, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let all = rows.len() as f64;
        for Part { rows: of, from } in self.parts.clone() {
            let own = of.start.max(rows.start)..of.end.min(rows.end);
            if own.is_empty() {
                continue;
            }
            let base = own.start - rows.start;
            match from {
                From::One(k) => {
                    next(base as f64 / all, own.len() as f64 / all);
                    self.one(k, own, &mut |at, slices| write(base + at, slices))?;
                }
                From::Two(k, shared) => {
                    let step = (WAITING / (self.sides[0] * self.sides[1] * DType::F32.size()).max(1)).max(2) & !1;
                    for first in own.clone().step_by(step) {
                        let some = first..(first + step).min(own.end);
                        let half = some.len() as f64 / 2.0 / all;
                        let before = (first - rows.start) as f64 / all;
                        let slices = self.two(k, some, &shared, |second| next(before + second * half, half))?;
                        write(first - rows.start, &slices)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Slices of rows of the volume from one scan.
    fn one(&mut self, k: usize, rows: Range<usize>, write: &mut Write) -> Result<()> {
        let first = self.scans[k].start;
        self.ready(k)?.stream(rows.start - first..rows.end - first, write)
    }

    /// Those of two, blended before they are stored.
    fn two(
        &mut self,
        k: usize,
        rows: Range<usize>,
        shared: &Range<usize>,
        mut next: impl FnMut(f64),
    ) -> Result<Vec<u8>> {
        let slice = self.sides[0] * self.sides[1];
        let mut values: Vec<f32> = Vec::new();
        let count = rows.len() * slice;
        values.try_reserve_exact(count).with_context(|| format!("no memory for {count} values that are blended"))?;
        let of = |joined: &Self, k: usize| rows.start - joined.scans[k].start..rows.end - joined.scans[k].start;
        let own = of(self, k);
        next(0.0);
        self.ready(k)?.values(own, &mut |_, slices| {
            values.extend(slices.as_chunks().0.iter().map(|value| f32::from_ne_bytes(*value)));
            Ok(())
        })?;
        let own = of(self, k + 1);
        next(1.0);
        self.ready(k + 1)?.values(own, &mut |at, slices| {
            let rows = values[at * slice..].chunks_exact_mut(slice).zip(rows.start + at..);
            for ((values, row), others) in rows.zip(slices.chunks_exact(slice * DType::F32.size())) {
                let share = share(row, shared);
                let both = values.iter_mut().zip(others.as_chunks().0);
                both.for_each(|(value, other)| *value += share * (f32::from_ne_bytes(*other) - *value));
            }
            Ok(())
        })?;
        let mut stored = Vec::new();
        stored.try_reserve_exact(rows.len() * self.slice()).context("no memory for slices that are blended")?;
        self.encoding.put(&values, &mut stored);
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices of one number, by the scan, the row, and whether it is alone or one of a pair.
    struct Fake {
        scan: usize,
    }

    impl Slices for Fake {
        fn shape(&self) -> [usize; 3] {
            [9, 1, 2]
        }

        fn values(&mut self, rows: Range<usize>, write: &mut Write) -> Result<()> {
            self.stream(rows, write)
        }

        fn stream(&mut self, rows: Range<usize>, write: &mut Write) -> Result<()> {
            for (at, row) in rows.clone().enumerate() {
                // Whether there is one beside it.
                let alone = at % 2 == 0 && row + 1 == rows.end;
                let value = (100 * self.scan + row + if alone { 50 } else { 0 }) as f32;
                write(at, &[value; 2].map(f32::to_ne_bytes).concat())?;
            }
            Ok(())
        }

        fn memory(&self) -> Result<u64> {
            Ok(1)
        }

        fn read(&self) -> Duration {
            Duration::from_secs(1)
        }

        fn iterations(&self) -> &[Vec<Iterated>] {
            &[]
        }
    }

    fn made(scans: &[Range<usize>], rows: Range<usize>, overlap: Overlap, shares: usize) -> Vec<f32> {
        let make = |scan| Ok(Fake { scan });
        let mut joined = Joined::new(
            scans.to_vec(),
            rows.clone(),
            overlap,
            Encoding { dtype: DType::F32, window: [0.0, 1.0] },
            make,
        )
        .expect("scans");
        assert_eq!(joined.shape(), [rows.len(), 1, 2]);
        let mut values = vec![f32::NAN; rows.len()];
        for first in rows.clone().step_by(shares) {
            let own = first..(first + shares).min(rows.end);
            let slice = joined.slice();
            let write = |at: usize, slices: &[u8]| {
                for (k, slice) in slices.chunks_exact(slice).enumerate() {
                    values[own.start - rows.start + at + k] =
                        f32::from_ne_bytes(*slice.first_chunk().expect("a value"));
                }
                Ok(())
            };
            let mut shares = 0.0;
            let next = |before: f64, share: f64| {
                assert!((before - shares).abs() < 1e-9);
                shares += share;
            };
            joined.stream_by(own.clone(), next, write).expect("slices");
            assert!((shares - 1.0).abs() < 1e-9);
        }
        assert!(joined.ready.len() <= READY);
        values
    }

    /// Whatever is made at a time, slices are the same, each from the scans that have its row.
    #[test]
    fn rows_of_scans() {
        let scans = [0..9, 6..15, 15..24, 17..31];
        for overlap in [Overlap::Blend, Overlap::Middle] {
            for rows in [0..31, 3..30, 8..17, 7..8] {
                let whole = made(&scans, rows.clone(), overlap, 100);
                for shares in [2, 4, 6] {
                    let parts = made(&scans, rows.clone(), overlap, shares);
                    // The last of a share may be alone where there are more behind it: blocks are of even numbers.
                    assert_eq!(parts, whole, "{rows:?} {shares}");
                }
                for (row, value) in rows.clone().zip(whole) {
                    let own = |k: usize| (100 * k + row - scans[k].start) as f32;
                    let of: Vec<_> = (0..4).filter(|k| scans[*k].contains(&row)).map(own).collect();
                    let near = |expected: f32| [0.0, 50.0].iter().any(|alone| (value - expected - alone).abs() < 25.0);
                    assert!(of.iter().any(|own| near(*own)) || of.len() > 1, "row {row}: {value} of {of:?}");
                }
            }
        }
    }

    #[test]
    fn parts_and_shares() {
        let of = |rows: Range<usize>, from: From| Part { rows, from };
        let found = parts(&[0..10, 6..20], 1..19, Overlap::Blend).expect("parts");
        let two = From::Two(0, 6..10);
        let expected = [
            of(1..6, From::One(0)),
            of(6..7, two.clone()),
            of(7..10, two),
            of(10..11, From::One(1)),
            of(11..19, From::One(1)),
        ];
        assert_eq!(found[..2], expected[..2]);
        assert_eq!(found, expected);
        let found = parts(&[0..10, 6..20], 0..20, Overlap::Middle).expect("parts");
        assert_eq!(found, [of(0..8, From::One(0)), of(8..20, From::One(1))]);
        assert_eq!([6, 7, 9].map(|row| share(row, &(6..10))), [0.2, 0.4, 0.8]);
        // Three scans in one row: each is blended with the next alone.
        assert_eq!(shared(&[0..10, 4..14, 8..18], "rows").expect("seams"), [4..10, 10..14]);
        for (scans, word) in [
            ([0..5, 6..9], "rows 5..6 are in no scan"),
            ([0..5, 0..9], "rows of its own"),
            ([0..9, 3..9], "rows of its own"),
            ([3..9, 0..5], "rows of its own"),
        ] {
            let error = shared(&scans, "rows").expect_err("an error").to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn numbers_of_each_type() {
        let put = |dtype: DType, values: &[f32]| {
            let mut stored = Vec::new();
            Encoding { dtype, window: [-1.0, 1.0] }.put(values, &mut stored);
            stored
        };
        assert_eq!(put(DType::U8, &[-7.0, 0.0, 1.0, f32::INFINITY, f32::NAN]), [0, 128, 255, 255, 0]);
        assert_eq!(put(DType::U16, &[0.5]), 49151u16.to_ne_bytes());
        assert_eq!(put(DType::F32, &[0.5]), 0.5f32.to_ne_bytes());
    }
}
