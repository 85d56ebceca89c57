//! Which view a direction belongs to, found without a search over all views.

use crate::error::{Result, fail};
use std::f64::consts::{FRAC_PI_2, PI};

/// Assigns directions to views.
pub trait NearestView: Sync {
    /// How many views.
    fn count(&self) -> usize;
    /// The view of a direction of unit length, which and whose opposite are the same; `None` beyond the views' tilts.
    fn nearest(&self, n: [f64; 3]) -> Option<usize>;
}

/// Grows with the azimuth from 0 at 0 to 2 at pi, for y >= 0: no trigonometric function for each event.
#[inline(always)]
fn diamond(x: f64, y: f64) -> f64 {
    let sum = x.abs() + y;
    if sum > 0.0 { 1.0 - x / sum } else { 0.0 }
}

/// A direction or its opposite, whichever has y >= 0.
#[inline(always)]
fn fold([x, y, z]: [f64; 3]) -> [f64; 3] {
    let sign = 1f64.copysign(y);
    [x * sign, y * sign, z * sign]
}

/// Which of several intervals a number lies in. No branch depends on the number: mispredicted ones would cost the most here.
#[derive(Debug)]
struct Intervals {
    /// Between the intervals, ascending, each belonging to the interval above it; then infinity for each of `steps`.
    bounds: Vec<f64>,
    origin: f64,
    per_unit: f64,
    /// The last of equal cells that say where to begin.
    last: f64,
    /// Bounds in earlier cells; no cells if there are few bounds.
    before: Vec<u32>,
    /// Most bounds in a cell.
    steps: usize,
}

impl Intervals {
    /// Bounds that are all looked at.
    const FEW: usize = 4;
    /// Most cells: the table stays in the first-level cache.
    const MOST_CELLS: usize = 2048;

    /// `bounds` between `from` and `to`, or infinite.
    fn new(bounds: Vec<f64>, from: f64, to: f64) -> Self {
        if bounds.len() <= Self::FEW || from >= to {
            let steps = bounds.len();
            return Self { bounds, origin: from, per_unit: 0.0, last: 0.0, before: Vec::new(), steps };
        }
        let mut cells = 64;
        loop {
            let this = Self::with_cells(&bounds, from, to, cells);
            if this.steps <= 1 || cells >= Self::MOST_CELLS {
                return this;
            }
            cells *= 2;
        }
    }

    fn with_cells(bounds: &[f64], from: f64, to: f64, cells: usize) -> Self {
        let (per_unit, last) = (cells as f64 / (to - from), (cells - 1) as f64);
        let mut this =
            Self { bounds: bounds.to_vec(), origin: from, per_unit, last, before: vec![0; cells + 1], steps: 0 };
        for bound in bounds {
            let cell = this.cell(*bound);
            this.before[cell + 1] += 1;
        }
        this.steps = this.before.iter().max().map_or(0, |n| *n as usize);
        for c in 1..=cells {
            this.before[c] += this.before[c - 1];
        }
        this.bounds.extend(std::iter::repeat_n(f64::INFINITY, this.steps));
        this
    }

    #[inline(always)]
    fn cell(&self, v: f64) -> usize {
        ((v - self.origin) * self.per_unit).clamp(0.0, self.last) as i32 as usize
    }

    #[inline(always)]
    fn find(&self, v: f64) -> usize {
        if self.before.is_empty() {
            return self.bounds.iter().map(|b| usize::from(v >= *b)).sum();
        }
        let k = self.before[self.cell(v)] as usize;
        k + self.bounds[k..k + self.steps].iter().map(|b| usize::from(v >= *b)).sum::<usize>()
    }
}

/// Views at all pairs of azimuths and tilts, tilts varying fastest: a direction goes to the nearest azimuth, and there to the
/// nearest tilt.
#[derive(Debug)]
pub struct ViewGrid {
    azimuth: Intervals,
    /// First view of each interval of azimuths, and -1 where the view looks the other way.
    columns: Vec<(usize, f64)>,
    tilt: Intervals,
    tilts: Vec<usize>,
    /// Sines of the lowest and highest tilt.
    limits: [f64; 2],
    count: usize,
}

impl ViewGrid {
    /// Azimuths in any order; tilts in any order, and the lowest and highest that a direction may have.
    pub fn new(azimuths: &[f64], tilts: &[f64], limits: [f64; 2]) -> Result<Self> {
        for (name, values) in [("azimuths", azimuths), ("tilts", tilts)] {
            if values.is_empty() {
                fail!(OutOfRange, "there are no {name}; there must be at least 1");
            }
            if let Some((k, v)) = values.iter().enumerate().find(|(_, v)| !v.is_finite()) {
                fail!(NotFiniteParameter, "{name}[{k}] is {v}; it must be finite");
            }
        }
        let limits = check_limits(limits)?;
        if let Some((k, t)) = tilts.iter().enumerate().find(|(_, t)| !(limits[0]..=limits[1]).contains(*t)) {
            fail!(OutOfRange, "tilts[{k}] is {t}; it must be {} to {}", limits[0], limits[1]);
        }
        // Azimuths folded into [0, pi), which turns the view round for odd numbers of half turns.
        let folded = |a: f64| {
            let turns = (a / PI).floor();
            let rest = a - turns * PI;
            let over = rest >= PI;
            (if over { rest - PI } else { rest }, if (turns as i64 + i64::from(over)) % 2 == 0 { 1.0 } else { -1.0 })
        };
        let mut order: Vec<(f64, usize, f64)> = azimuths
            .iter()
            .enumerate()
            .map(|(k, &a)| {
                let (a, sign) = folded(a);
                (a, k * tilts.len(), sign)
            })
            .collect();
        order.sort_by(|p, q| p.0.total_cmp(&q.0));
        // Half way to the neighbours; one more interval at either end for the last azimuth seen from pi earlier, and the
        // first from pi later. One of the two is empty.
        let (lowest, highest) = (order[0], order[order.len() - 1]);
        order.insert(0, (highest.0 - PI, highest.1, -highest.2));
        order.push((lowest.0 + PI, lowest.1, -lowest.2));
        let at = |a: f64| match a {
            a if a <= 0.0 => f64::NEG_INFINITY,
            a if a > PI => f64::INFINITY,
            a => diamond(a.cos(), a.sin().abs()),
        };
        let bounds = order.windows(2).map(|w| at(0.5 * (w[0].0 + w[1].0))).collect();
        let mut by_tilt: Vec<usize> = (0..tilts.len()).collect();
        by_tilt.sort_by(|a, b| tilts[*a].total_cmp(&tilts[*b]));
        let sines = limits.map(f64::sin);
        let tilt_bounds = by_tilt.windows(2).map(|w| (0.5 * (tilts[w[0]] + tilts[w[1]])).sin()).collect();
        Ok(Self {
            azimuth: Intervals::new(bounds, 0.0, 2.0),
            columns: order.into_iter().map(|(_, first, sign)| (first, sign)).collect(),
            tilt: Intervals::new(tilt_bounds, sines[0], sines[1]),
            tilts: by_tilt,
            limits: sines,
            count: azimuths.len() * tilts.len(),
        })
    }
}

fn check_limits(limits: [f64; 2]) -> Result<[f64; 2]> {
    let [low, high] = limits;
    if !(-FRAC_PI_2 <= low && low <= high && high <= FRAC_PI_2) {
        fail!(OutOfRange, "the tilts' limits are {low} and {high}; they must ascend within -pi/2 to pi/2");
    }
    Ok(limits)
}

impl NearestView for ViewGrid {
    fn count(&self) -> usize {
        self.count
    }

    #[inline(always)]
    fn nearest(&self, n: [f64; 3]) -> Option<usize> {
        let [x, y, z] = fold(n);
        let (first, sign) = self.columns[self.azimuth.find(diamond(x, y))];
        let sine = z * sign;
        let within = sine >= self.limits[0] && sine <= self.limits[1];
        within.then(|| first + self.tilts[self.tilt.find(sine)])
    }
}

/// Any views: a direction goes to the one at the smallest angle, the first of equals.
#[derive(Debug)]
pub struct ViewList {
    directions: Vec<[f64; 3]>,
    limit: f64,
    /// Cells of azimuth and sine of the tilt.
    cells: [usize; 2],
    /// Where the candidates of each cell begin.
    starts: Vec<u32>,
    /// Views that are nearest somewhere in the cell.
    candidates: Vec<u32>,
}

impl ViewList {
    /// Views as unit vectors, and the largest tilt, up or down, that a direction may have.
    pub fn new(directions: &[[f64; 3]], limit: f64) -> Result<Self> {
        if directions.is_empty() {
            fail!(OutOfRange, "there are no views; there must be at least 1");
        }
        let unit = |d: &[f64; 3]| (dot(d, d) - 1.0).abs() < 1e-6;
        if let Some((k, d)) = directions.iter().enumerate().find(|(_, d)| !unit(d)) {
            fail!(OutOfRange, "the direction of view {k} is {d:?}; its length must be 1");
        }
        if !(limit > 0.0 && limit <= FRAC_PI_2) {
            fail!(OutOfRange, "the largest tilt is {limit}; it must be above 0 and at most pi/2");
        }
        let sine = limit.sin();
        // About four cells a view along either direction of a square of them.
        let side = (4.0 * (directions.len() as f64).sqrt()).ceil() as usize;
        let cells = [(2 * side).clamp(8, 512), side.clamp(4, 256)];
        let (mut starts, mut candidates) = (vec![0], Vec::new());
        for a in 0..cells[0] {
            for s in 0..cells[1] {
                let at = |a: f64, s: f64| {
                    let z = sine * (2.0 * s / cells[1] as f64 - 1.0).clamp(-1.0, 1.0);
                    let (x, y) = undiamond(2.0 * a / cells[0] as f64);
                    let r = (1.0 - z * z).max(0.0).sqrt();
                    [r * x, r * y, z]
                };
                let (a, s) = (a as f64, s as f64);
                let middle = at(a + 0.5, s + 0.5);
                // Corners are farthest from the middle of a cell as small as these, but for its sides' bulge.
                let reach = [(a, s), (a + 1.0, s), (a, s + 1.0), (a + 1.0, s + 1.0)]
                    .into_iter()
                    .map(|(a, s)| angle(&middle, &at(a, s)))
                    .fold(0.0, f64::max)
                    * 1.1;
                let cosine = directions.iter().map(|d| dot(&middle, d).abs()).fold(0.0, f64::max);
                let farthest = (cosine.min(1.0).acos() + 2.0 * reach + 1e-9).min(FRAC_PI_2).cos() - 1e-12;
                let near = |v: &usize| dot(&middle, &directions[*v]).abs() >= farthest;
                candidates.extend((0..directions.len()).filter(near).map(|v| v as u32));
                starts.push(candidates.len() as u32);
            }
        }
        Ok(Self { directions: directions.to_vec(), limit: sine, cells, starts, candidates })
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Between two lines, at most a right angle.
fn angle(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    dot(a, b).abs().min(1.0).acos()
}

/// Cosine and sine of the azimuth of which [`diamond`] is `t`.
fn undiamond(t: f64) -> (f64, f64) {
    let x = 1.0 - t;
    let y = 1.0 - x.abs();
    let length = x.hypot(y);
    (x / length, y / length)
}

impl NearestView for ViewList {
    fn count(&self) -> usize {
        self.directions.len()
    }

    #[inline(always)]
    fn nearest(&self, n: [f64; 3]) -> Option<usize> {
        if n[2].abs() > self.limit {
            return None;
        }
        let [x, y, z] = fold(n);
        let cell = |part: f64, cells: usize| ((part * cells as f64) as usize).min(cells - 1);
        let a = cell(0.5 * diamond(x, y), self.cells[0]);
        let s = cell(0.5 * (z / self.limit + 1.0), self.cells[1]);
        let k = a * self.cells[1] + s;
        let candidates = &self.candidates[self.starts[k] as usize..self.starts[k + 1] as usize];
        let mut best = (-1.0, 0);
        for &v in candidates {
            let cosine = dot(&n, &self.directions[v as usize]).abs();
            if cosine > best.0 {
                best = (cosine, v as usize);
            }
        }
        Some(best.1)
    }
}
