//! Time bins, of one kind or of several pairs of types of modules.

use super::scanner::{Entry, triangle};
use crate::pet::yardl::Value;
use crate::pet::{FWHM, HALF_LIGHT};
use anyhow::{Result, bail, ensure};

/// Bins and resolutions of pairs of types of modules: those below the diagonal and on it, whatever is written above.
#[derive(Clone, Debug)]
pub struct Times {
    /// Of t2 - t1, ascending, ps, where all pairs have the same; of several without time of flight one bin that has them all. None: each pair has its own.
    pub edges: Option<Vec<f64>>,
    /// Of all pairs, full width at half maximum without what bins add, ps; the smallest of several, 0 where the file does not say.
    pub fwhm: f64,
    /// The largest time difference, ps, where there are no edges to tell it.
    pub window: f64,
    /// Of pairs in the order of the triangle.
    pairs: Vec<Bins>,
}

/// Of a pair of types, by the file's numbers, ps: middles of bins, and widths of times.
#[derive(Clone, Debug)]
pub struct Bins {
    pub middles: Vec<f32>,
    pub widths: Vec<f32>,
}

impl Times {
    pub fn new(scanner: &Value, count: usize) -> Result<Self> {
        let edges = triangle(scanner.part("tofBinEdges")?, count, "time bins")?;
        let edges = edges.into_iter().map(|(types, pair)| checked(types, pair)).collect::<Result<Vec<_>>>()?;
        let widths = triangle(scanner.part("tofResolution")?, count, "resolutions of time")?;
        let widths = widths.into_iter().map(|(_, value)| Ok(value.number("resolutions of time")? / HALF_LIGHT));
        let widths = widths.collect::<Result<Vec<_>>>()?;
        let fwhm = widths.iter().copied().fold(f64::INFINITY, f64::min);
        let widest = edges.iter().flatten().fold(0.0, |widest: f64, edge| widest.max(edge.abs()));
        let are_alike = edges.iter().all(|own| *own == edges[0]);
        let is_timed = edges.iter().any(|own| own.len() > 2);
        let same = match (are_alike, is_timed) {
            // Nothing is told by one bin but that the event was in it.
            (false, false) => Some(vec![-widest, widest]),
            (true, false) => Some(edges[0].clone()),
            (true, true) if widths.iter().all(|width| *width == widths[0]) => Some(edges[0].clone()),
            _ => None,
        };
        let pairs = match same {
            Some(_) => Vec::new(),
            None => edges.iter().zip(&widths).map(|(edges, width)| Bins::new(edges, *width)).collect(),
        };
        Ok(Self { window: if same.is_some() { 0.0 } else { widest }, edges: same, fwhm, pairs })
    }

    /// Those of a pair of types; None where all pairs have the same edges.
    pub fn of(&self, [a, b]: [usize; 2]) -> Option<&Bins> {
        let (a, b) = (a.max(b), a.min(b));
        self.pairs.get(a * (a + 1) / 2 + b)
    }

    /// How many bins; 0 where pairs have their own.
    pub fn count(&self) -> usize {
        self.edges.as_ref().map_or(0, |edges| edges.len() - 1)
    }

    /// Whether where an event was along its line is told.
    pub fn is_timed(&self) -> bool {
        self.count() != 1
    }

    /// Whether each event has a width of its time.
    pub fn has_widths(&self) -> bool {
        self.edges.is_none()
    }
}

impl Bins {
    fn new(edges: &[f64], fwhm: f64) -> Self {
        // A file's places are c (t1 - t2) / 2.
        let of = |value: fn(&[f64], f64) -> f64| edges.windows(2).rev().map(|pair| value(pair, fwhm) as f32).collect();
        Self {
            middles: of(|pair, _| pair[0] + (pair[1] - pair[0]) / 2.0),
            widths: of(|pair, fwhm| fwhm.hypot(FWHM * (pair[1] - pair[0]) / 12f64.sqrt())),
        }
    }
}

/// Of t2 - t1, ascending, ps.
pub(super) fn checked([a, b]: [usize; 2], pair: Entry) -> Result<Vec<f64>> {
    let Entry::Value(pair) = pair else { bail!("modules of types {a} and {b} have no edges of time bins") };
    let (_, own) = pair.part("edges")?.numbers("edges of time bins")?;
    let ascend = own.len() >= 2 && own.windows(2).all(|pair| pair[0] < pair[1]);
    let known = own.len();
    ensure!(
        ascend,
        "modules of types {a} and {b} have {known} edges of time bins; there must be 2 at least, ascending"
    );
    Ok(own.iter().rev().map(|edge| -edge / HALF_LIGHT).collect())
}
