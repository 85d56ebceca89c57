//! Blocks of dead time: fractions of the time in which crystals and pairs of modules were ready.

use super::{Scanner, Span};
use crate::pet::products::{Measured, separated, weights};
use crate::pet::told::general;
use crate::pet::yardl::Value;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::f64::consts::LN_2;

/// Above 1, by rounding.
const ROUNDING: f64 = 1e-6;
/// Seconds that no block covers, without a word.
const SAME: f64 = 1e-3;

/// One number of all, or one of each.
#[derive(Clone, Debug)]
pub enum Of {
    All(f64),
    Each(Vec<f32>),
}

impl Of {
    fn new(values: Vec<f32>) -> Self {
        if values.iter().all(|v| *v == values[0]) { Self::All(values[0].into()) } else { Self::Each(values) }
    }

    fn at(&self, k: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values[k].into(),
        }
    }

    pub fn mean(&self) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values.iter().map(|v| f64::from(*v)).sum::<f64>() / values.len() as f64,
        }
    }
}

/// Of blocks of events.
pub struct Alive {
    /// Of each crystal, and by how much their squares are off where they change against each other.
    pub fractions: Vec<f64>,
    pub off: Vec<f64>,
    /// Of coincidences of pairs of modules, `[module][other module]`.
    pub pairs: Of,
}

/// Those of a file, each of which holds from its start until the next one starts, the first one before that, too.
#[derive(Clone, Debug)]
pub struct DeadTimes {
    path: String,
    blocks: Vec<Block>,
    pub has_fractions: bool,
}

#[derive(Clone, Debug)]
struct Block {
    span: Span,
    /// Of crystals, and of pairs of modules; or what is wrong.
    values: Result<(Of, Of), String>,
}

impl DeadTimes {
    pub fn new(path: String) -> Self {
        Self { path, blocks: Vec::new(), has_fractions: false }
    }

    pub fn add(&mut self, span: Span, fractions: &Value, scanner: &Scanner) -> Result<()> {
        let names = ["modulePairAliveTimeFractions", "moduleCoincidenceAliveTimeFractions"];
        let rows =
            names.iter().find_map(|name| fractions.field(name)).map(Value::list).transpose()?.unwrap_or_default();
        let crystals = fractions.part("singlesAliveTimeFractions")?.list()?;
        let read = || {
            ensure!(span[1] >= span[0], "which ends before it begins");
            Ok((of_crystals(crystals, scanner)?, of_pairs(rows, scanner)?))
        };
        let [begin, end] = span.map(|v| general(v, 6));
        let path = &self.path;
        let values = read().map_err(|error: anyhow::Error| {
            format!("{path} has a block of dead time from {begin} to {end} s, {error}: give --live, the part of the time in which the scanner was ready, in its place")
        });
        self.has_fractions |= values.is_err() || !crystals.is_empty() || !rows.is_empty();
        let at = self.blocks.partition_point(|block| block.span[0] <= span[0]);
        self.blocks.insert(at, Block { span, values });
        Ok(())
    }

    /// What may be wrong of these blocks of events.
    pub fn doubt(&self, blocks: &[Span]) -> Option<String> {
        if !self.has_fractions {
            return Some("the file has blocks of dead times without fractions: give --live, the part of the time in which the scanner was ready".into());
        }
        let whole = weights(blocks, &[[f64::NEG_INFINITY, f64::INFINITY]], 0.0)[0];
        let next = self.blocks.iter().skip(1).map(|block| block.span[0]).chain([f64::INFINITY]);
        let own: Vec<Span> =
            self.blocks.iter().zip(next).map(|(block, next)| [block.span[0], block.span[1].min(next)]).collect();
        let covered: f64 = weights(blocks, &own, 0.0).iter().sum();
        (whole - covered > SAME).then(|| {
            let [covered, whole] = [covered, whole].map(|v| general(v, 6));
            format!("blocks of dead time cover {covered} of {whole} s of events: in the others the one before holds, and the first before that")
        })
    }

    /// Of blocks of events, of an activity of a half-life.
    pub fn of(&self, blocks: &[Span], half_life: f64, scanner: &Scanner) -> Result<Alive> {
        let begins = self.blocks.iter().skip(1).map(|block| block.span[0]);
        let edges: Vec<f64> = std::iter::once(f64::NEG_INFINITY).chain(begins).chain([f64::INFINITY]).collect();
        let intervals: Vec<Span> = edges.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        let weights = weights(blocks, &intervals, LN_2 / half_life);
        let mut used = Vec::new();
        for (weight, block) in weights.iter().zip(&self.blocks).filter(|(weight, _)| **weight > 0.0) {
            let values = block.values.as_ref().map_err(|words| crate::status::unreadable(anyhow!("{words}")))?;
            used.push((*weight, values));
        }
        let crystals = scanner.count();
        let of = |k: usize| {
            let values = (0..crystals).map(|i| used[k].1.0.at(i)).collect();
            Ok(Measured { values, noise: vec![0.0; crystals] })
        };
        let weights: Vec<f64> = used.iter().map(|(weight, _)| *weight).collect();
        let [fractions, off] = separated(of, &weights, weights.iter().sum(), crystals)?;
        // Pairs' are weighed by what crystals measure of them.
        let by: Vec<f64> = used.iter().map(|(weight, (crystals, _))| weight * crystals.mean().powi(2)).collect();
        let sum: f64 = by.iter().sum();
        let mean = |k: usize| used.iter().zip(&by).map(|((_, (_, pairs)), by)| by * pairs.at(k)).sum::<f64>() / sum;
        let pairs = match used
            .iter()
            .find_map(|(_, (_, pairs))| if let Of::Each(all) = pairs { Some(all.len()) } else { None })
        {
            _ if sum <= 0.0 => Of::All(0.0),
            Some(count) => Of::Each((0..count).map(|k| mean(k) as f32).collect()),
            None => Of::All(mean(0)),
        };
        Ok(Alive { fractions, off, pairs })
    }
}

/// Means over energy bins, weighed by these' efficiencies, of whose products a crystal's is the sum.
fn of_crystals(lists: &[Value], scanner: &Scanner) -> Result<Of> {
    if lists.is_empty() {
        return Ok(Of::All(1.0));
    }
    let (known, types) = (lists.len(), scanner.energies.len());
    ensure!(known >= types, "which has fractions of {known} of {types} types of modules");
    let mut made = Vec::new();
    for (kind, (bins, list)) in scanner.energies.iter().zip(lists).enumerate() {
        let count = scanner.first[kind + 1] - scanner.first[kind];
        let values = checked(list)?;
        let (known, needed) = (values.len(), count * bins);
        ensure!(
            known == needed,
            "whose modules of type {kind} have {known} fractions; their {count} crystals of {bins} energy bins need {needed}"
        );
        let parts = &scanner.bin_parts[kind];
        made.extend(values.chunks(*bins).enumerate().map(|(k, own)| match bins {
            1 => own[0] as f32,
            _ => own.iter().zip(&parts[k * bins..]).map(|(v, part)| v * part).sum::<f64>() as f32,
        }));
    }
    Ok(Of::new(made))
}

/// Of pairs of modules `[module][other module]`; of one type rows end at the diagonal, but for versions before 0.10.
fn of_pairs(rows: &[Value], scanner: &Scanner) -> Result<Of> {
    let kinds = &scanner.modules;
    let mut first = vec![0];
    kinds.iter().for_each(|kind| first.push(first[first.len() - 1] + kind.modules));
    let all = first[kinds.len()];
    let filled = |row: &Value| row.list().is_ok_and(|tables| tables.iter().any(|table| !is_empty(table)));
    if !rows.iter().any(filled) {
        return Ok(Of::All(1.0));
    }
    let mut whole = Vec::new();
    let size = all.checked_mul(all).context("of too many modules")?;
    whole.try_reserve_exact(size).context("for which there is no memory")?;
    whole.resize(size, 1f32);
    for a in 0..kinds.len() {
        for b in 0..=a {
            let table = rows.get(a).and_then(|row| row.list().ok()).and_then(|row| row.get(b));
            let sizes = [kinds[a].modules, kinds[b].modules];
            for (k, row) in of_types(table, sizes, [a, b])?.into_iter().enumerate() {
                let end = if a == b { k + 1 } else { sizes[1] };
                for (m, value) in row.into_iter().take(end).enumerate() {
                    let (i, j) = (first[a] + k, first[b] + m);
                    whole[i * all + j] = value as f32;
                    whole[j * all + i] = value as f32;
                }
            }
        }
    }
    Ok(Of::new(whole))
}

fn is_empty(table: &Value) -> bool {
    match table {
        Value::Numbers { values, .. } => values.is_empty(),
        Value::List(list) => list.is_empty(),
        _ => true,
    }
}

/// Rows of a pair of types.
fn of_types(table: Option<&Value>, [rows, columns]: [usize; 2], [a, b]: [usize; 2]) -> Result<Vec<Vec<f64>>> {
    let strange = || {
        anyhow!("whose fractions of coincidences of types {a} and {b} are not of their {rows} and {columns} modules")
    };
    // Versions from 0.10 have an array of one matrix, those before a matrix.
    let table = match table {
        Some(Value::List(list)) if list.len() == 1 && matches!(list[0], Value::List(_)) => Some(&list[0]),
        other => other,
    };
    let found: Vec<Vec<f64>> = match table {
        Some(Value::Numbers { shape, values }) if shape.len() == 2 && shape[1] > 0 => {
            let fits = checked(&Value::Numbers { shape: shape.clone(), values: values.clone() })?;
            fits.chunks(shape[1]).map(<[f64]>::to_vec).collect()
        }
        Some(Value::List(list)) => list.iter().map(checked).collect::<Result<_>>()?,
        _ => bail!(strange()),
    };
    let fits = |(k, row): (usize, &Vec<f64>)| row.len() == columns || (a == b && row.len() == k + 1);
    ensure!(found.len() == rows && found.iter().enumerate().all(fits), strange());
    Ok(found)
}

fn checked(values: &Value) -> Result<Vec<f64>> {
    let Value::Numbers { values, .. } = values else {
        if values.list().is_ok_and(<[Value]>::is_empty) {
            return Ok(Vec::new());
        }
        bail!("whose fractions are no numbers");
    };
    ensure!(values.iter().all(|v| v.is_finite()), "whose fractions are not all finite");
    let [low, high] = [f64::min, f64::max].map(|of| values.iter().copied().reduce(of).unwrap_or(1.0));
    let [from, to] = [low, high].map(|v| general(v, 6));
    ensure!(low >= 0.0 && high <= 1.0 + ROUNDING, "whose fractions are {from} to {to}; they must be 0 to 1");
    Ok(values.iter().map(|v| v.min(1.0)).collect())
}
