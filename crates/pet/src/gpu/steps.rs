//! A view's kernels, arranged for four output columns at once, which follow one another along the line of response: what each
//! data column gives to all four of them.

use crate::tables::Tables;
use isocenter_base::error::{Result, fail};
use std::collections::BTreeMap;

/// Output columns side by side.
pub(super) const CHAIN: usize = 4;
/// Maximum of weights of a data column for one output column.
pub(super) const TAPS: usize = 4;
/// Maximum of data columns of a segment.
const COLUMNS: usize = 32;

/// Data columns of a group with the same window along z, which is of `taps` voxels from `z` on.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) z: i32,
    pub(super) taps: usize,
    pub(super) columns: Vec<Column>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    /// Row of the group.
    pub(super) row: usize,
    /// From the group's first column on.
    pub(super) minor: usize,
    /// Place in the order of radial distance.
    pub(super) rank: u32,
    /// `[tap][output column]`: offsets of the tables; None where there is none.
    pub(super) offsets: [[Option<u32>; CHAIN]; TAPS],
}

/// Data columns in neighbouring rows of the major axis.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Of the first row, from the first output column on.
    pub(super) major: i32,
    /// Of the first data column on the minor axis.
    pub(super) minor: i32,
    /// Columns from the first to the last.
    pub(super) extent: usize,
    pub(super) segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
pub(super) struct Steps {
    /// The axis that is nearer to the line of response: x, or else y.
    pub(super) along_x: bool,
    /// Of the output columns, one step of the major axis apart, on the minor axis.
    pub(super) chain: [i32; CHAIN],
    pub(super) groups: Vec<Group>,
    /// Of each identifier: columns of this rank or above are all 0, from either end of the kernels.
    pub(super) limits: Vec<u32>,
}

/// A window of one data column.
struct Window {
    major: i32,
    minor: i32,
    z: i32,
    taps: usize,
    distance: f64,
}

impl Steps {
    /// `rows`: of a group.
    pub(super) fn new(tables: &Tables, rows: usize) -> Result<Self> {
        let [rx, ry] = tables.radial();
        let along_x = ry.abs() >= rx.abs();
        let slope = if along_x { -rx / ry } else { -ry / rx };
        let chain: [i32; CHAIN] = std::array::from_fn(|c| (c as f64 * slope).round() as i32);
        let turned = |[x, y]: [i32; 2]| if along_x { [x, y] } else { [y, x] };
        let across = |major: i32, minor: i32| {
            let [x, y] = turned([major, minor]);
            (f64::from(x) * rx + f64::from(y) * ry).abs()
        };
        let Ok(offsets): std::result::Result<u32, _> = tables.offsets().len().try_into() else {
            fail!(SizeOverflow, "kernels of {} voxels are too large", tables.offsets().len())
        };

        // Of each data column, seen from the first output column: z that some output column needs.
        let mut spans: BTreeMap<[i32; 2], [i32; 2]> = BTreeMap::new();
        let mut index: BTreeMap<[i32; 3], u32> = BTreeMap::new();
        for (o, i) in tables.offsets().iter().zip(0..offsets) {
            let [major, minor] = turned([o[0], o[1]]);
            index.insert([major, minor, o[2]], i);
            for (c, shift) in (0..).zip(chain) {
                let span = spans.entry([major + c, minor + shift]).or_insert([o[2], o[2]]);
                *span = [span[0].min(o[2]), span[1].max(o[2])];
            }
        }
        let mut windows = Vec::new();
        for ([major, minor], [low, high]) in spans {
            let near = (0..).zip(chain).map(|(c, shift)| across(major - c, minor - shift));
            let distance = near.fold(f64::INFINITY, f64::min);
            let pieces = pieces(low, high);
            windows.extend(pieces.map(|(z, taps)| Window { major, minor, z, taps, distance }));
        }
        let mut order: Vec<usize> = (0..windows.len()).collect();
        order.sort_by(|a, b| windows[*a].distance.total_cmp(&windows[*b].distance));
        let mut ranks = vec![0; order.len()];
        order.into_iter().zip(0..).for_each(|(window, rank)| ranks[window] = rank);

        let mut groups: Vec<Group> = Vec::new();
        for (w, rank) in windows.iter().zip(ranks) {
            if groups.last().is_none_or(|g| w.major >= g.major + rows as i32) {
                groups.push(Group { major: w.major, minor: w.minor, extent: 0, segments: Vec::new() });
            }
            let Some(group) = groups.last_mut() else { continue };
            let offsets = std::array::from_fn(|r| {
                std::array::from_fn(|c| {
                    let at = [w.major - c as i32, w.minor - chain[c], w.z + r as i32];
                    index.get(&at).filter(|_| r < w.taps).copied()
                })
            });
            let column = Placed { minor: w.minor, row: (w.major - group.major) as usize, rank, offsets };
            group.take(w.z, w.taps, column);
        }
        let limits = limits(&groups, tables);
        Ok(Self { along_x, chain, groups, limits })
    }
}

/// A column whose group may yet begin before it.
struct Placed {
    minor: i32,
    row: usize,
    rank: u32,
    offsets: [[Option<u32>; CHAIN]; TAPS],
}

impl Group {
    fn take(&mut self, z: i32, taps: usize, Placed { minor, row, rank, offsets }: Placed) {
        if minor < self.minor {
            let by = self.minor.abs_diff(minor) as usize;
            self.segments.iter_mut().flat_map(|s| &mut s.columns).for_each(|c| c.minor += by);
            (self.minor, self.extent) = (minor, self.extent + by);
        }
        let minor = minor.abs_diff(self.minor) as usize;
        self.extent = self.extent.max(minor);
        let column = Column { row, minor, rank, offsets };
        let fits = |s: &&mut Segment| s.z == z && s.taps == taps && s.columns.len() < COLUMNS;
        match self.segments.iter_mut().find(fits) {
            Some(segment) => segment.columns.push(column),
            None => self.segments.push(Segment { z, taps, columns: vec![column] }),
        }
    }
}

/// Windows of at most [`TAPS`] voxels, as even as can be: the first voxel and how many.
fn pieces(low: i32, high: i32) -> impl Iterator<Item = (i32, usize)> {
    let length = (high - low + 1) as usize;
    let parts = length.div_ceil(TAPS);
    let start = move |k: usize| k * length / parts;
    (0..parts).map(move |k| (low + start(k) as i32, start(k + 1) - start(k)))
}

fn limits(groups: &[Group], tables: &Tables) -> Vec<u32> {
    let n = tables.offsets().len();
    let mut reach = vec![0; n];
    for column in groups.iter().flat_map(|g| &g.segments).flat_map(|s| &s.columns) {
        for i in column.offsets.iter().flatten().flatten() {
            let reach = &mut reach[*i as usize];
            *reach = (*reach).max(column.rank + 1);
        }
    }
    let limit = |row: &[f32]| {
        let used = row.iter().enumerate().filter(|(_, v)| **v != 0.0);
        used.map(|(i, _)| reach[i].max(reach[n - 1 - i])).max().unwrap_or(0)
    };
    tables.values().chunks_exact(n).map(limit).collect()
}
