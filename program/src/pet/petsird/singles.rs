//! Histograms of single photons, of crystals or of units of modules, which randoms are made of where there are no delays.

use super::times::checked;
use super::{Scanner, Span, scanner::triangle};
use crate::pet::products::{Measured, separated, weights};
use crate::pet::told::general;
use crate::pet::yardl::Value;
use crate::status::unreadable;
use anyhow::{Context, Result, anyhow, ensure};
use std::ops::Range;

/// Edges of energy windows and blocks that are as near, keV and s, are the same.
const SAME: f64 = 1.0;
const NEAR: f64 = 1e-3;
/// Photons a second that no crystal counts.
const MOST: f64 = 1e9;
/// Of randoms, what is told if they are off by more.
const OFF: f64 = 0.02;

/// What a file may have them in, in its order: of units, of all types of modules together; lists of each type; and those of versions before 0.12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Units,
    Bins,
    Old,
}

const FIELDS: [(&str, Way); 3] = [
    ("singlespersinglesunithistogram", Way::Units),
    ("singlesperdetectionbinhistogram", Way::Bins),
    ("singleshistograms", Way::Old),
];

/// A field of a block that has some.
pub fn is_field(name: &str) -> bool {
    FIELDS.iter().any(|(known, _)| *known == name)
}

/// Those of a file: each block has the rates of its own time.
#[derive(Clone, Debug)]
pub struct Singles {
    path: String,
    /// Whether units of versions before 0.12 are modules.
    is_of_modules: bool,
    /// Of each type, the unit of each module; empty where the file does not say.
    units: Vec<Vec<i64>>,
    /// Of each type, edges of energy bins.
    edges: Vec<Vec<f64>>,
    /// Whether pairs of types have several coincidence windows.
    has_several_windows: bool,
    blocks: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    span: Span,
    way: Way,
    /// How many counts each row has, and all of them.
    sizes: Vec<usize>,
    counts: Vec<u64>,
}

impl Singles {
    pub fn new(path: String, header: &Value) -> Result<Self> {
        let scanner = header.part("scanner")?;
        let level = scanner.field("singlesHistogramLevel").and_then(|level| level.text().ok());
        let lists = |name: &str| scanner.field(name).map(Value::list).transpose().map(Option::unwrap_or_default);
        let units = lists("moduleSinglesUnitIdxLUTs")?
            .iter()
            .map(|units| Ok(units.numbers("units of singles")?.1.into_iter().map(|v| v as i64).collect()));
        let edges = lists("singlesHistogramEnergyBinEdges")?
            .iter()
            .map(|bins| Ok(bins.part("edges")?.numbers("edges of energy bins of singles")?.1));
        let types = scanner.part("scannerGeometry")?.part("replicatedModules")?.list()?.len();
        let windows = triangle(scanner.part("tofBinEdges")?, types, "time bins")?.into_iter();
        let windows = windows.map(|(types, pair)| checked(types, pair)).collect::<Result<Vec<_>>>()?;
        let ends = |edges: &Vec<f64>| [edges[0], edges[edges.len() - 1]];
        Ok(Self {
            path,
            is_of_modules: level == Some("module"),
            units: units.collect::<Result<_>>()?,
            edges: edges.collect::<Result<_>>()?,
            has_several_windows: windows.iter().any(|edges| ends(edges) != ends(&windows[0])),
            blocks: Vec::new(),
        })
    }

    /// Of a block, its fields; the first of the ways that has counts, or the last.
    pub fn add(&mut self, span: Span, fields: &[(String, Value)]) -> Result<()> {
        let of = |(name, way): (&str, Way)| fields.iter().find(|(known, _)| known == name).map(|(_, rows)| (way, rows));
        let mut chosen = None;
        for (way, rows) in FIELDS.into_iter().filter_map(of) {
            if chosen.is_none_or(|(way, _)| way == Way::Units && is_without_rows(chosen.map(|(_, rows)| rows))) {
                chosen = Some((way, rows));
            }
        }
        let Some((way, rows)) = chosen else { return Ok(()) };
        let (mut sizes, mut counts) = (Vec::new(), Vec::new());
        for row in rows.list()? {
            let (_, own) = row.numbers("singles")?;
            sizes.push(own.len());
            counts.extend(own.iter().map(|v| *v as u64));
        }
        let at = self.blocks.partition_point(|block| block.span[0] <= span[0]);
        self.blocks.insert(at, Block { span, way, sizes, counts });
        Ok(())
    }

    /// What may be wrong of these blocks of events.
    pub fn doubts(&self, blocks: &[Span], scanner: &Scanner) -> Vec<String> {
        let mut made = Vec::new();
        let whole = weights(blocks, &[[f64::NEG_INFINITY, f64::INFINITY]], 0.0)[0];
        let covered: f64 = weights(blocks, &self.intervals(), 0.0).iter().sum();
        if whole - covered > NEAR {
            let [covered, whole] = [covered, whole].map(|v| general(v, 6));
            made.push(format!(
                "singles, of which randoms are made, are of {covered} of {whole} s of events: in the others they are taken to be as many"
            ));
        }
        let window = scanner.window.into_iter().filter(|_| scanner.window[1] > 0.0);
        for (kind, edge) in (0..scanner.modules.len()).flat_map(|kind| window.clone().map(move |edge| (kind, edge))) {
            let edges = self.of_energy(kind);
            let near = edges.iter().map(|own| (own - edge).abs()).fold(f64::INFINITY, f64::min);
            if near > SAME && edges[0] < edge && edge < edges[edges.len() - 1] {
                let edge = general(edge, 6);
                made.push(format!(
                    "energy bins of singles of modules of type {kind} are cut by the energy window at {edge} keV: those whose middle is within it are taken, and randoms may be too many or too few"
                ));
            }
        }
        if self.has_several_windows && !scanner.times.has_widths() {
            made.push("pairs of modules have coincidence windows that differ: randoms of singles are made with the widest of all, and are too many of the others".into());
        }
        made
    }

    /// Photons a second of each crystal, whose products are the mean of those of blocks of events, and what is wrong with these.
    pub fn of(&self, blocks: &[Span], scanner: &Scanner, name: &str) -> Result<(Vec<f64>, Option<String>)> {
        let weights = weights(blocks, &self.intervals(), 0.0);
        let path = &self.path;
        if weights.iter().all(|weight| *weight == 0.0) {
            return Err(unreadable(anyhow!(
                "{path} has no singles of {name}, of which randoms are made where there are no delays: give --no-randoms if there are none"
            )));
        }
        let shares = shares(scanner);
        let rates = |k: usize| {
            let block: &Block = &self.blocks[k];
            let [begin, end] = block.span.map(|v| general(v, 6));
            let found = self.rates(block, &shares, scanner);
            found.map_err(|error| {
                let words =
                    anyhow!("{path} has singles from {begin} to {end} s {error}: give --no-randoms to do without them");
                unreadable(words)
            })
        };
        let [made, off] = separated(rates, &weights, weights.iter().sum(), scanner.count())?;
        // Of all pairs: single crystals' counts are too few to tell.
        let most = off.iter().sum::<f64>() / made.iter().map(|v| v * v).sum::<f64>().max(f64::MIN_POSITIVE);
        let doubt = (most > OFF).then(|| {
            let percent = general(100.0 * most, 2);
            format!("rates of single photons change against each other within {name}: randoms of them are off by some {percent} %; shorter frames have less")
        });
        Ok((made, doubt))
    }

    /// In which blocks have their rates.
    fn intervals(&self) -> Vec<Span> {
        let next = self.blocks.iter().skip(1).map(|block| block.span[0]).chain([f64::INFINITY]);
        let own = |(block, next): (&Block, f64)| [block.span[0], block.span[1].min(next).max(block.span[0])];
        self.blocks.iter().zip(next).map(own).collect()
    }

    fn of_energy(&self, kind: usize) -> Vec<f64> {
        let all = vec![f64::NEG_INFINITY, f64::INFINITY];
        self.edges.get(kind).filter(|edges| edges.len() > 1).cloned().unwrap_or(all)
    }

    /// Energy bins within the window, and how many there are.
    fn chosen(&self, kind: usize, scanner: &Scanner) -> Result<(Range<usize>, usize)> {
        let edges = self.of_energy(kind);
        let middles: Vec<f64> = edges.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
        ensure!(
            middles.windows(2).all(|pair| pair[1] > pair[0]),
            "whose edges of energy bins of modules of type {kind} do not ascend"
        );
        let [lower, upper] = scanner.window;
        let is_in = |middle: &f64| middles.len() == 1 || upper == 0.0 || (lower < *middle && *middle < upper);
        let first = middles.iter().position(is_in);
        let last = middles.iter().rposition(is_in);
        let (first, last) = first.zip(last).with_context(|| {
            let [from, to] = [edges[0], edges[edges.len() - 1]].map(|v| general(v, 6));
            let [lower, upper] = [lower, upper].map(|v| general(v, 6));
            format!("whose energy bins of modules of type {kind}, {from} to {to} keV, are not within the energy window, {lower} to {upper} keV")
        })?;
        Ok((first..last + 1, middles.len()))
    }

    /// Of a block.
    fn rates(&self, block: &Block, shares: &[f64], scanner: &Scanner) -> Result<Measured> {
        let seconds = block.span[1] - block.span[0];
        ensure!(!block.sizes.is_empty(), "without counts");
        let sums: Vec<u64> = running(&block.counts);
        let first: Vec<usize> = running(&block.sizes);
        let (mut starts, mut counts) = (Vec::new(), Vec::new());
        for (kind, of) in scanner.modules.iter().enumerate() {
            let (chosen, bins) = self.chosen(kind, scanner)?;
            let own = self.starts(block, kind, bins, &first, scanner)?;
            let each = if own.len() == of.modules { of.elements } else { 1 };
            for start in own {
                let count = sums[start + chosen.end] - sums[start + chosen.start];
                starts.extend(std::iter::repeat_n(start, each));
                counts.extend(std::iter::repeat_n(count as f64, each));
            }
        }
        // Crystals that have the same counts share them.
        let mut together = vec![(0.0, 0.0); block.counts.len().max(1)];
        for (start, share) in starts.iter().zip(shares) {
            together[*start].0 += share;
            together[*start].1 += 1.0;
        }
        let part = |(start, share): (&usize, &f64)| {
            let (sum, alike) = together[*start];
            if sum > 0.0 { share / sum } else { 1.0 / alike }
        };
        let parts: Vec<f64> = starts.iter().zip(shares).map(part).collect();
        let values: Vec<f64> = counts.iter().zip(&parts).map(|(count, part)| count * part / seconds).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        ensure!(most <= MOST, "that are {} a second of a crystal, more than any counts", general(most, 3));
        let noise = values.iter().zip(&parts).map(|(rate, part)| rate * part / seconds).collect();
        Ok(Measured { values, noise })
    }

    /// Where counts of a type's modules, or of its crystals, begin.
    fn starts(
        &self,
        block: &Block,
        kind: usize,
        bins: usize,
        first: &[usize],
        scanner: &Scanner,
    ) -> Result<Vec<usize>> {
        let (of, sizes) = (scanner.modules[kind], &block.sizes);
        if block.way == Way::Units {
            let units = self.unit(kind, sizes.len(), of.modules)?;
            let other = units.iter().map(|unit| sizes[*unit]).find(|size| *size != bins);
            if let Some(other) = other {
                anyhow::bail!("of units with {other} energy bins; modules of type {kind} have {bins} of singles");
            }
            return Ok(units.into_iter().map(|unit| first[unit]).collect());
        }
        let (known, types) = (sizes.len(), scanner.modules.len());
        ensure!(kind < known, "of {known} types of modules, of which there are {types}");
        let (units, needed) = match (block.way == Way::Old && self.is_of_modules, self.units.is_empty()) {
            // Units of each type, or modules.
            (true, false) => {
                let count = sizes[kind] / bins;
                (self.unit(kind, count, of.modules)?, count)
            }
            (true, true) => ((0..of.modules).collect(), of.modules),
            (false, _) => ((0..of.modules * of.elements).collect(), of.modules * of.elements),
        };
        let size = sizes[kind];
        ensure!(
            needed.checked_mul(bins) == Some(size),
            "whose modules of type {kind} have {size} counts; {needed} of {bins} energy bins need {}",
            needed.saturating_mul(bins)
        );
        Ok(units.into_iter().map(|unit| first[kind] + unit * bins).collect())
    }

    /// The unit of each module of a type.
    fn unit(&self, kind: usize, count: usize, modules: usize) -> Result<Vec<usize>> {
        let units = self.units.get(kind).map_or(&[][..], Vec::as_slice);
        let known = units.len();
        ensure!(
            known == modules,
            "of units, of which moduleSinglesUnitIdxLUTs names {known} for {modules} modules of type {kind}"
        );
        let none = units.iter().filter(|unit| **unit < 0).count();
        ensure!(none == 0, "that are not of all modules: {none} of type {kind} have no unit");
        let most = units.iter().copied().max().unwrap_or(0) as usize;
        ensure!(most < count, "of {count} units, and moduleSinglesUnitIdxLUTs names unit {most}, counted from 0");
        Ok(units.iter().map(|unit| *unit as usize).collect())
    }
}

fn is_without_rows(rows: Option<&Value>) -> bool {
    rows.is_none_or(|rows| rows.list().is_ok_and(<[Value]>::is_empty))
}

/// Sums of all before each, and of all.
fn running<T: Copy + Default + std::ops::Add<Output = T>>(values: &[T]) -> Vec<T> {
    let mut sum = T::default();
    let sums = values.iter().map(|v| {
        sum = sum + *v;
        sum
    });
    std::iter::once(T::default()).chain(sums).collect()
}

/// By which crystals of a unit share its counts: photons come alike to all of its area, and crystals count what they detect of them.
fn shares(scanner: &Scanner) -> Vec<f64> {
    let area = |k: usize| scanner.sizes.as_ref().map_or(1.0, |sizes| sizes[k][0] * sizes[k][1]);
    let part = |k: usize| scanner.efficiencies.as_ref().map_or(1.0, |of| f64::from(of[k]));
    (0..scanner.count()).map(|k| part(k) * area(k)).collect()
}
