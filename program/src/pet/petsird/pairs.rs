//! Which pairs of modules are in coincidence, and how well pairs of crystals are measured.

use super::Scanner;
use crate::pet::yardl::Value;
use anyhow::{Context, Result, bail, ensure};
use isocenter::pet::scanner::{MAX_GROUPS, MAX_MODULES, Pairs as Plan};
use std::collections::BTreeMap;

/// Fractions of pairs of modules are rounded to so many.
const STEP: f64 = 1e-4;
/// Efficiencies of pairs of elements, at most.
const MOST: usize = 1 << 28;

/// How many modules a type has, and how many elements these have.
#[derive(Clone, Copy, Debug)]
pub struct Modules {
    pub modules: usize,
    pub elements: usize,
}

/// Groups of pairs of modules that are alike.
#[derive(Clone, Debug)]
pub struct Pairs {
    /// Of each crystal.
    modules: Vec<u32>,
    /// `[module][other module]`, from 1 on; 0: the pair is not measured.
    groups: Vec<u32>,
    /// `[group][side][side]`; None: 1.
    values: Option<(usize, Vec<f32>)>,
}

/// Of a group, `[element][other element]`: None of one that has none.
type Group = Option<Table>;

#[derive(Clone)]
struct Table {
    rows: usize,
    columns: usize,
    /// All, or one that all have.
    values: Vec<f32>,
}

impl Pairs {
    /// Those of a described scanner; None: all pairs are measured, and alike.
    pub fn new(scanner: &Value, kinds: &[Modules], energies: &[usize]) -> Result<Option<Self>> {
        let found = scanner.part("detectionEfficiencies")?;
        let vectors = found.field("modulePairEfficienciesVectors").map(Value::list).transpose()?.unwrap_or_default();
        let tables = found.field("modulePairSGIDLUT").map(Value::list).transpose()?.unwrap_or_default();
        if tables.is_empty() {
            let lists = vectors.iter().map(|row| row.list().map(<[Value]>::to_vec)).collect::<Result<Vec<_>>>()?;
            let any = lists.iter().flatten().any(|one| one.list().is_ok_and(|list| !list.is_empty()));
            ensure!(
                !any,
                "the file has efficiencies of pairs, and no modulePairSGIDLUT that says which pairs of modules have them"
            );
            return Ok(None);
        }
        let mut first = vec![0];
        kinds.iter().for_each(|kind| first.push(first[first.len() - 1] + kind.modules));
        let all = first[kinds.len()];
        ensure!(all <= MAX_MODULES, "there are {all} modules; a table of their pairs has {MAX_MODULES} at most");
        let modules = modules_of(kinds);
        let (mut groups, mut values) = (Vec::new(), Vec::<Group>::new());
        groups.try_reserve_exact(all * all).context("no memory for a table of pairs of modules")?;
        groups.resize(all * all, 0);
        for (a, row) in tables.iter().enumerate().take(kinds.len()) {
            for (b, table) in row.list()?.iter().enumerate().take(a + 1) {
                let whole = rectangle(table, [kinds[a].modules, kinds[b].modules], [a, b])?;
                let most = whole.iter().copied().max().unwrap_or(-1);
                for (k, group) in whole.iter().enumerate() {
                    let (m, n) = (first[a] + k / kinds[b].modules, first[b] + k % kinds[b].modules);
                    // Files have the lower triangle.
                    if *group >= 0 && n <= m {
                        let group = *group as u32 + 1 + values.len() as u32;
                        groups[m * all + n] = group;
                        groups[n * all + m] = group;
                    }
                }
                let of = vectors.get(a).map(|row| row.list()).transpose()?.and_then(|row| row.get(b));
                let sizes = [(kinds[a].elements, energies[a]), (kinds[b].elements, energies[b])];
                values.extend(of_groups(of, (most + 1) as usize, sizes)?);
                ensure!(values.len() <= MAX_GROUPS, "there are more than {MAX_GROUPS} groups of pairs of modules");
            }
        }
        ensure!(
            groups.iter().any(|group| *group > 0),
            "no pair of modules is in coincidence: modulePairSGIDLUT has nothing but -1"
        );
        Self::told(modules, groups, values, kinds).map(Some).map(|found| found.filter(|one| !one.is_everything()))
    }

    fn told(modules: Vec<u32>, mut groups: Vec<u32>, values: Vec<Group>, kinds: &[Modules]) -> Result<Self> {
        let mut used = vec![false; values.len()];
        groups.iter().filter(|group| **group > 0).for_each(|group| used[*group as usize - 1] = true);
        let used = || values.iter().zip(&used).filter(|(_, used)| **used).map(|(value, _)| value);
        let missing = used().filter(|value| value.is_none()).count();
        ensure!(missing == 0, "modulePairSGIDLUT names {missing} groups of pairs that have no efficiencies");
        if used().flatten().all(|table| table.values.iter().all(|v| *v == 1.0)) {
            groups.iter_mut().for_each(|group| *group = (*group).min(1));
            return Ok(Self { modules, groups, values: None });
        }
        let alike = |table: &Table| table.values.iter().all(|v| *v == table.values[0]);
        if values.iter().flatten().all(alike) {
            let one = values.iter().map(|value| value.as_ref().map_or(0.0, |table| table.values[0])).collect();
            return Ok(Self { modules, groups, values: Some((1, one)) });
        }
        let side = kinds.iter().map(|kind| kind.elements).max().unwrap_or(1);
        let size = side.checked_mul(side).and_then(|n| n.checked_mul(values.len()));
        let mut made: Vec<f32> = Vec::new();
        let size = size.context("efficiencies of pairs are more than memory can hold")?;
        made.try_reserve_exact(size).context("no memory for efficiencies of pairs")?;
        made.resize(size, 0.0);
        for (to, table) in made.chunks_mut(side * side).zip(&values) {
            let Some(table) = table else { continue };
            for (row, to) in to.chunks_mut(side).take(table.rows).enumerate() {
                let of = |k: usize| table.values.get(row * table.columns + k).unwrap_or(&table.values[0]);
                to.iter_mut().take(table.columns).enumerate().for_each(|(k, to)| *to = *of(k));
            }
        }
        Ok(Self { modules, groups, values: Some((side, made)) })
    }

    /// The same pairs, with 1.
    pub fn without_values(&self) -> Self {
        let groups = self.groups.iter().map(|group| (*group).min(1)).collect();
        Self { modules: self.modules.clone(), groups, values: None }
    }

    /// Which pairs of modules are measured, `[module][other module]`.
    pub fn measured(&self) -> impl Iterator<Item = bool> + '_ {
        self.groups.iter().map(|group| *group > 0)
    }

    /// Pairs, or all of a scanner, times fractions of pairs of modules, which are rounded.
    pub fn times(pairs: Option<&Self>, scanner: &Scanner, fractions: &[f32]) -> Result<Self> {
        let all = || vec![1; fractions.len()];
        let groups = pairs.map_or_else(all, |pairs| pairs.groups.clone());
        let modules = pairs.map_or_else(|| modules_of(&scanner.modules), |pairs| pairs.modules.clone());
        let key = |(group, fraction): (&u32, &f32)| (*group, (f64::from(*fraction) / STEP).round_ties_even() as u64);
        let keys: Vec<(u32, u64)> = groups.iter().zip(fractions).map(key).collect();
        let mut numbers: BTreeMap<(u32, u64), u32> =
            keys.iter().filter(|(group, _)| *group > 0).map(|key| (*key, 0)).collect();
        numbers.values_mut().zip(1..).for_each(|(number, k)| *number = k);
        let made = keys.iter().map(|key| numbers.get(key).copied().unwrap_or(0)).collect();
        let fraction = |steps: u64| (steps as f64 * STEP) as f32;
        let values = match pairs.and_then(|pairs| pairs.values.as_ref()) {
            None => (1, numbers.keys().map(|(_, steps)| fraction(*steps)).collect()),
            Some((side, values)) => {
                let own = side * side;
                let (kinds, elements) = (numbers.len(), own);
                ensure!(
                    kinds.checked_mul(own).is_some_and(|all| all <= MOST),
                    "coincidences of pairs of modules have dead times of {kinds} kinds, and each of them efficiencies of {elements} pairs of elements, which are too many: give --live"
                );
                let of = |(group, steps): &(u32, u64)| {
                    let table = &values[(*group as usize - 1) * own..][..own];
                    table.iter().map(|v| v * fraction(*steps)).collect::<Vec<_>>()
                };
                (*side, numbers.keys().flat_map(of).collect())
            }
        };
        Ok(Self { modules, groups: made, values: Some(values) })
    }

    /// All pairs with 1.
    fn is_everything(&self) -> bool {
        self.values.is_none() && self.groups.iter().all(|group| *group > 0)
    }

    /// Whether pairs have efficiencies.
    pub fn is_measured(&self) -> bool {
        self.values.is_some()
    }

    /// For a plan.
    pub fn plan(&self) -> Result<Plan> {
        let values = self.values.clone().unwrap_or_else(|| (1, vec![1.0]));
        Ok(Plan::new(&self.modules, self.groups.clone(), values)?)
    }
}

/// The module of each crystal, numbered by type.
fn modules_of(kinds: &[Modules]) -> Vec<u32> {
    let each = kinds.iter().flat_map(|kind| std::iter::repeat_n(kind.elements, kind.modules));
    each.enumerate().flat_map(|(module, elements)| std::iter::repeat_n(module as u32, elements)).collect()
}

/// Groups of modules' pairs, -1 of those that there are not; of one type rows end at the diagonal, but for versions before 0.10.
fn rectangle(table: &Value, [rows, columns]: [usize; 2], [a, b]: [usize; 2]) -> Result<Vec<i64>> {
    let given: Vec<&[f64]> = match table {
        Value::Numbers { shape, values } if shape.len() == 2 && shape[1] > 0 => values.chunks(shape[1]).collect(),
        Value::List(list) => {
            let row = |row: &'_ Value| match row {
                Value::Numbers { .. } => Ok(()),
                _ => bail!("modulePairSGIDLUT of types {a} and {b} is no table"),
            };
            list.iter().try_for_each(row)?;
            list.iter()
                .filter_map(|row| if let Value::Numbers { values, .. } = row { Some(&values[..]) } else { None })
                .collect()
        }
        _ => Vec::new(),
    };
    let fits = |(k, row): (usize, &&[f64])| row.len() == columns || (a == b && row.len() == k + 1);
    ensure!(
        given.len() == rows && given.iter().enumerate().all(fits),
        "modulePairSGIDLUT of types {a} and {b} is not of their {rows} and {columns} modules"
    );
    let mut whole = vec![-1; rows * columns];
    for (k, (to, row)) in whole.chunks_mut(columns).zip(given).enumerate() {
        let end = if a == b { k + 1 } else { columns };
        to.iter_mut().zip(&row[..end]).for_each(|(to, group)| *to = *group as i64);
    }
    let (most, all) = (whole.iter().copied().max().unwrap_or(-1), rows * columns);
    ensure!(
        most < all as i64,
        "modulePairSGIDLUT of types {a} and {b} has group {most} of {all} pairs of modules at most"
    );
    Ok(whole)
}

/// Values of so many groups; 1 of a file that has none at all.
fn of_groups(given: Option<&Value>, count: usize, [first, second]: [(usize, usize); 2]) -> Result<Vec<Group>> {
    let given = given.map(Value::list).transpose()?.unwrap_or_default();
    if given.is_empty() {
        return Ok(vec![Some(Table { rows: first.0, columns: second.0, values: vec![1.0] }); count]);
    }
    let mut values = vec![None; count];
    for one in given {
        let group = one.part("sgid")?.number("groups of pairs")?;
        let Some(to) = values.get_mut(group as usize).filter(|_| group >= 0.0) else { continue };
        let (shape, own) = one.part("values")?.numbers("efficiencies of pairs")?;
        ensure!(own.iter().all(|v| *v >= 0.0), "efficiencies of pairs of group {group} are below 0");
        let needed = [first.0.saturating_mul(first.1), second.0.saturating_mul(second.1)];
        ensure!(
            shape == needed,
            "efficiencies of pairs of group {group} have shape {shape:?}; modules of {} and {} elements of {} and {} energy bins need {needed:?}",
            first.0,
            second.0,
            first.1,
            second.1
        );
        let at = |i: usize, j: usize| own[i * needed[1] + j];
        // Then the sum over energy bins of a pair is the product of sums.
        let alike = (0..needed[0])
            .all(|i| (0..needed[1]).all(|j| at(i, j) == at(i / first.1 * first.1, j / second.1 * second.1)));
        ensure!(
            alike,
            "efficiencies of pairs of group {group} differ between energy bins; there must be one of all bins of a pair of elements"
        );
        let rows = (0..first.0).flat_map(|i| (0..second.0).map(move |j| (i, j)));
        let own = rows.map(|(i, j)| at(i * first.1, j * second.1) as f32).collect();
        *to = Some(Table { rows: first.0, columns: second.0, values: own });
    }
    Ok(values)
}
