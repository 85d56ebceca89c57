//! A view's kernels, arranged for two output columns at once: what either needs of a data column, side by side.

use crate::cpu::columns::Layout;
use crate::tables::Tables;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::{Result, fail};
use std::collections::BTreeMap;

/// Neighbouring offsets along z of one data column, seen from the first output column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) x: i16,
    pub(super) y: i16,
    /// From the first output column to the data column in the map.
    pub(super) cell: i32,
    /// From the first output column to the run's first voxel, in floats.
    pub(super) shift: isize,
    /// Of the first pair of weights in an identifier's row.
    pub(super) weight: u32,
    /// Place in the order of radial distance.
    pub(super) rank: u32,
}

/// Runs of one length, in the order of rank.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) length: usize,
    pub(super) runs: Vec<Run>,
}

/// `[identifier][run][z][output column]`
#[derive(Clone, Debug)]
pub(super) struct Weights {
    pub(super) values: Vec<f32>,
    pub(super) stride: usize,
    /// Of each identifier: runs of this rank or above are all 0.
    pub(super) limit: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct Taps {
    /// From the first output column to the second.
    pub(super) pair: [i32; 2],
    /// What kernels of a size need, and all smaller ones: the last has the runs of all.
    pub(super) classes: Vec<Vec<Group>>,
    /// Class of each identifier.
    pub(super) class: Vec<u32>,
    /// Minimum and maximum x and y of a run.
    pub(super) reach: [[i32; 2]; 2],
    pub(super) adjoint: Weights,
    /// None where it is the same.
    pub(super) forward: Option<Weights>,
}

impl Taps {
    pub(super) fn new(tables: &Tables, layout: &Layout) -> Result<Self> {
        let [rx, ry] = tables.radial();
        let across = |x: i32, y: i32| (f64::from(x) * rx + f64::from(y) * ry).abs();
        // The neighbour nearest to the line of response shares most of the data.
        let angle = |[x, y]: [i32; 2]| across(x, y) / f64::from(x * x + y * y).sqrt();
        let candidates = [[1, 0], [0, 1], [1, 1], [-1, 1]];
        let pair = candidates.into_iter().min_by(|a, b| angle(*a).total_cmp(&angle(*b))).unwrap_or([1, 0]);

        let mut spans = Spans::new();
        tables.offsets().iter().for_each(|o| widen(&mut spans, o, pair));
        let mut reach = [[0; 2]; 2];
        for column in spans.keys() {
            for (reach, c) in reach.iter_mut().zip(column) {
                *reach = [reach[0].min(*c), reach[1].max(*c)];
            }
        }
        let mut ordered: Vec<_> = spans.into_iter().collect();
        let distance = |[x, y]: [i32; 2]| across(x, y).min(across(x - pair[0], y - pair[1]));
        ordered.sort_by(|(a, _), (b, _)| distance(*a).total_cmp(&distance(*b)));

        let mut first: BTreeMap<[i32; 2], First> = BTreeMap::new();
        let mut weight = 0;
        for (rank, (column, [low, high])) in (0..).zip(&ordered) {
            let Ok(start) = u32::try_from(weight) else {
                fail!(SizeOverflow, "kernels of {} voxels are too large", tables.offsets().len())
            };
            first.insert(*column, First { weight: start, low: *low, rank });
            weight += 2 * (high - low + 1) as usize;
        }
        let (class, of_classes) = classes(tables, pair);
        let classes = of_classes.iter().map(|spans| groups(spans, &first, layout)).collect();

        let arrange = |opposite: bool| -> Result<Weights> {
            let offsets = tables.offsets();
            let mut values = zeros(weight * tables.identifiers())?;
            let mut limit = vec![0; tables.identifiers()];
            for (o, at) in offsets.iter().zip(0..) {
                let from = if opposite { offsets.len() - 1 - at } else { at };
                for (j, column) in [[o[0], o[1]], [o[0] + pair[0], o[1] + pair[1]]].into_iter().enumerate() {
                    let First { weight: start, low, rank } = first[&column];
                    let to = start as usize + 2 * (o[2] - low) as usize + j;
                    for (a, limit) in limit.iter_mut().enumerate() {
                        let value = tables.values()[a * offsets.len() + from];
                        values[a * weight + to] = value;
                        if value != 0.0 {
                            *limit = (rank + 1).max(*limit);
                        }
                    }
                }
            }
            Ok(Weights { values, stride: weight, limit })
        };
        let adjoint = arrange(false)?;
        let forward = Some(arrange(true)?).filter(|f| f.values != adjoint.values);
        Ok(Self { pair, classes, class, reach, adjoint, forward })
    }
}

/// Minimum and maximum z of each data column, seen from the first output column.
type Spans = BTreeMap<[i32; 2], [i32; 2]>;

/// Of a data column.
struct First {
    /// Of its first pair of weights.
    weight: u32,
    /// Its z.
    low: i32,
    rank: u32,
}

/// With an offset of both columns of a pair.
fn widen(spans: &mut Spans, o: &[i32; 3], pair: [i32; 2]) {
    for column in [[o[0], o[1]], [o[0] + pair[0], o[1] + pair[1]]] {
        let span = spans.entry(column).or_insert([o[2], o[2]]);
        *span = [span[0].min(o[2]), span[1].max(o[2])];
    }
}

/// From class to class products grow by so much.
const GROWTH: f64 = 1.04;

/// Each identifier's class, and what the classes need: each all that the ones before it do.
fn classes(tables: &Tables, pair: [i32; 2]) -> (Vec<u32>, Vec<Spans>) {
    let products = |spans: &Spans| spans.values().map(|[low, high]| f64::from(high - low + 1)).sum::<f64>();
    let offsets = tables.offsets();
    // Of the kernel and its opposite.
    let of = |values: &[f32]| {
        let mut spans = Spans::new();
        let used =
            offsets.iter().zip(values.iter().zip(values.iter().rev())).filter(|(_, (a, b))| **a != 0.0 || **b != 0.0);
        used.for_each(|(o, _)| widen(&mut spans, o, pair));
        spans
    };
    let mut sized: Vec<(usize, Spans)> = tables.values().chunks_exact(offsets.len()).map(of).enumerate().collect();
    sized.sort_by(|(_, a), (_, b)| products(a).total_cmp(&products(b)));
    let mut class = vec![0; tables.identifiers()];
    let mut classes: Vec<Spans> = Vec::new();
    let (mut all, mut started) = (Spans::new(), 0.0);
    for (a, own) in sized {
        for (column, [low, high]) in own {
            let span = all.entry(column).or_insert([low, high]);
            *span = [span[0].min(low), span[1].max(high)];
        }
        match classes.last_mut() {
            Some(last) if products(&all) <= GROWTH * started => last.clone_from(&all),
            _ => {
                started = products(&all);
                classes.push(all.clone());
            }
        }
        class[a] = classes.len() as u32 - 1;
    }
    (class, classes)
}

/// Runs of one length one after the other: the processor foresees how often the innermost loop turns.
fn groups(spans: &Spans, first: &BTreeMap<[i32; 2], First>, layout: &Layout) -> Vec<Group> {
    let mut by_length: BTreeMap<usize, Vec<Run>> = BTreeMap::new();
    for (column @ [x, y], [low, high]) in spans {
        let of = &first[column];
        by_length.entry((high - low + 1) as usize).or_default().push(Run {
            x: *x as i16,
            y: *y as i16,
            // Sides are at most 4096.
            cell: y * layout.shape[2] as i32 + x,
            shift: *y as isize * layout.row as isize + *x as isize * layout.column as isize + *low as isize,
            weight: of.weight + 2 * (low - of.low).unsigned_abs(),
            rank: of.rank,
        });
    }
    let of = |(length, mut runs): (usize, Vec<Run>)| {
        runs.sort_by_key(|run| run.rank);
        Group { length, runs }
    };
    by_length.into_iter().map(of).collect()
}
