//! Forward projection and adjoint of one view, both as gathers: every output voxel sums what lies around it.
//!
//! Columns of voxels along z in SIMD lanes, since all of a column has one kernel; two output columns at once, neighbours along
//! the line of response, so that each load of data serves two sums.

use super::columns::{Columns, Layout};
use super::taps::{Group, Run, Taps, Weights};
use crate::tables::Tables;
use isocenter_base::cpu::buffer::{collected, copied, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::error::{Result, fail};
use std::collections::HashSet;

/// Vectors along z in one pass over the runs: with two output columns 12 sums, which with the data and two weights fill 16 registers.
const DEEP: usize = 6;
/// Output columns of a line in one task, an even number.
const PART: i32 = 36;
/// Lines of one task, where they cross rows.
const LINES: i32 = 8;

/// Projections of one view.
#[derive(Clone, Debug)]
pub(crate) struct Gather {
    layout: Layout,
    map: Vec<u32>,
    taps: Taps,
    /// Of each column: the largest class of any around it.
    around: Vec<u32>,
    axial: Vec<f32>,
    level: Level,
}

impl Gather {
    pub(crate) fn new(tables: &Tables, layout: &Layout, level: Level) -> Result<Self> {
        let [_, ny, nx] = layout.shape;
        if tables.map().len() != nx * ny {
            fail!(TensorShape, "the map has {} entries; the lattice has {ny} x {nx}", tables.map().len());
        }
        let height = tables.offsets().iter().map(|o| o[2].unsigned_abs() as usize).max().unwrap_or(0);
        let reach = height.max(tables.axial().len() / 2);
        if reach > layout.margin {
            fail!(OutOfRange, "the response reaches {reach} voxels along z; the columns' margin is {}", layout.margin);
        }
        let taps = Taps::new(tables, layout)?;
        let around = largest_around(&collected(tables.map().iter().map(|a| taps.class[*a as usize]))?, nx, &taps)?;
        let (map, axial) = (copied(tables.map())?, copied(tables.axial())?);
        Ok(Self { layout: *layout, map, taps, around, axial, level })
    }

    /// Bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        let weights = |w: &Weights| size_of_val(w.values.as_slice());
        let runs: usize = self.taps.classes.iter().flatten().map(|g| size_of_val(g.runs.as_slice())).sum();
        let forward = self.taps.forward.as_ref().map_or(0, weights);
        2 * size_of_val(self.map.as_slice()) + runs + weights(&self.taps.adjoint) + forward
    }

    /// About the time of a projection, in some 0.3 ns of a core, as measured at the AVX2 level: columns of data take as long as
    /// the products with them.
    pub(crate) fn cost(tables: &Tables, layout: &Layout) -> f64 {
        const EACH: f64 = 0.7;
        let of = |row: &[f32]| {
            let used = || tables.offsets().iter().zip(row).filter(|(_, v)| **v != 0.0);
            let columns: HashSet<[i32; 2]> = used().map(|(o, _)| [o[0], o[1]]).collect();
            used().count() + columns.len() + tables.axial().len()
        };
        let rows: Vec<usize> = tables.values().chunks_exact(tables.offsets().len()).map(of).collect();
        let all: usize = tables.map().iter().map(|a| rows[*a as usize]).sum();
        EACH * (all * layout.shape[0].div_ceil(8)) as f64
    }

    /// y(p) = sum_m K_a(p+m)(-m) f(p+m)
    pub(crate) fn forward(&self, image: &Columns, histo: &mut Columns) {
        let weights = self.taps.forward.as_ref().unwrap_or(&self.taps.adjoint);
        match self.map_varies() {
            true => self.run::<true>(weights, image, histo),
            false => self.run::<false>(weights, image, histo),
        }
    }

    /// b(x) = sum_m K_a(x)(m) y(x+m)
    pub(crate) fn adjoint(&self, histo: &Columns, image: &mut Columns) {
        self.run::<false>(&self.taps.adjoint, histo, image);
    }

    fn map_varies(&self) -> bool {
        self.taps.adjoint.limit.len() > 1
    }

    /// `OF_DATA`: the kernel is that of the data's voxel, not of the sum's.
    fn run<const OF_DATA: bool>(&self, weights: &Weights, input: &Columns, output: &mut Columns) {
        assert!(input.layout() == self.layout && output.layout() == self.layout);
        let [_, ny, nx] = self.layout.shape;
        let [px, py] = self.taps.pair;
        let input = input.data();
        let output = Shared::new(output.data_mut());
        let run = |steps, lines| {
            dispatch(self.level, Task::<OF_DATA> { gather: self, weights, input, output, steps, lines });
        };
        // Pairs follow one another along lines in the pair's direction, which are cut into parts. Each column is the first or
        // the second of one pair.
        let (nx, ny) = (nx as i32, ny as i32);
        if py == 0 {
            let parts = nx.unsigned_abs().div_ceil(PART as u32) as i32;
            (0..(ny * parts).max(0) as usize).into_par_iter().for_each(|i| {
                let i = i as i32;
                let low = i % parts * PART;
                run([low, nx.min(low + PART)], [i / parts, i / parts + 1]);
            });
        } else {
            // Lines are named by their x at y = 0.
            let last = ny - 1 + ny % 2;
            let names = [0.min(-px * last), nx.max(nx - px * last)];
            let lines = (names[1] - names[0]).unsigned_abs().div_ceil(LINES as u32) as i32;
            let parts = ny.unsigned_abs().div_ceil(PART as u32) as i32;
            (0..(lines * parts).max(0) as usize).into_par_iter().for_each(|i| {
                let i = i as i32;
                let (low, first) = (i % parts * PART, names[0] + i / parts * LINES);
                run([low, ny.min(low + PART)], [first, names[1].min(first + LINES)]);
            });
        }
    }
}

/// Of each column, the largest of the `[y][x]` values wherever a run may reach from it as the first or the second of a pair.
fn largest_around(values: &[u32], nx: usize, taps: &Taps) -> Result<Vec<u32>> {
    let [[left, right], [low, high]] = [0, 1].map(|d| {
        let ([from, to], pair) = (taps.reach[d], taps.pair[d]);
        [from.min(from - pair), to.max(to - pair)]
    });
    let largest = |line: &[u32], [from, to]: [i32; 2]| -> Vec<u32> {
        let within = |i: i32| i.clamp(0, line.len() as i32) as usize;
        let around = |i: i32| line[within(i + from)..within(i + to + 1)].iter().copied().max().unwrap_or(0);
        (0..line.len() as i32).map(around).collect()
    };
    let mut rows: Vec<u32> = zeros(values.len())?;
    for (to, row) in rows.chunks_exact_mut(nx).zip(values.chunks_exact(nx)) {
        to.copy_from_slice(&largest(row, [left, right]));
    }
    let ny = rows.len() / nx;
    let mut out = zeros(rows.len())?;
    for x in 0..nx {
        let column: Vec<u32> = (0..ny).map(|y| rows[y * nx + x]).collect();
        largest(&column, [low, high]).into_iter().zip(out[x..].iter_mut().step_by(nx)).for_each(|(v, to)| *to = v);
    }
    Ok(out)
}

/// Parts of neighbouring lines.
struct Task<'a, const OF_DATA: bool> {
    gather: &'a Gather,
    weights: &'a Weights,
    input: &'a [f32],
    output: Shared<'a, f32>,
    /// Along the lines: y, or x where they lie in rows.
    steps: [i32; 2],
    lines: [i32; 2],
}

impl<const OF_DATA: bool> Kernel<f32> for Task<'_, OF_DATA> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Layout { shape: [nz, ny, nx], margin, column, .. } = self.gather.layout;
        let inside = |x: i32, y: i32| (x as usize) < nx && (y as usize) < ny;
        let [px, py] = self.gather.taps.pair;
        let vectors = nz.div_ceil(V::LANES);
        // Sums of both columns with a margin on either side, for the axial factor.
        let mut sums = vec![0.0f32; 2 * (column + margin)];
        let (first, second) = sums.split_at_mut(column + margin);
        let steps = || (self.steps[0]..self.steps[1]).step_by(2);
        let pairs = (self.lines[0]..self.lines[1])
            .flat_map(|line| steps().map(move |s| if py == 0 { [s, line] } else { [line + px * s, s] }));
        let pairs = pairs.map(|[x, y]| [[x, y], [x + px, y + py]]).filter(|p| p.iter().any(|[x, y]| inside(*x, *y)));
        for (i, pair) in pairs.enumerate() {
            // Every other pair takes the runs from the last to the first: it begins with the data that are still in the cache.
            let back = i % 2 == 1;
            let to = [first[margin..].as_mut_ptr(), second[margin..].as_mut_ptr()];
            for z in (0..vectors).step_by(DEEP) {
                // SAFETY: the sums have room for whole vectors; instructions by the caller's contract.
                unsafe {
                    let to = [to[0].add(z * V::LANES), to[1].add(z * V::LANES)];
                    match vectors - z {
                        1 => self.pass::<V, 1>(pair, z, back, to),
                        2 => self.pass::<V, 2>(pair, z, back, to),
                        3 => self.pass::<V, 3>(pair, z, back, to),
                        4 => self.pass::<V, 4>(pair, z, back, to),
                        5 => self.pass::<V, 5>(pair, z, back, to),
                        _ => self.pass::<V, DEEP>(pair, z, back, to),
                    }
                }
            }
            for (sums, [x, y]) in [&mut *first, &mut *second].into_iter().zip(pair) {
                if !inside(x, y) {
                    continue;
                }
                // Lanes beyond the lattice have summed what is in it.
                sums[margin + nz..].fill(0.0);
                // SAFETY: whole vectors of this task's own column, which is as long as a multiple of the widest vector, and of
                // the sums; instructions by the caller's contract.
                unsafe {
                    let to = self.output.at(self.gather.layout.start(x as usize, y as usize));
                    self.along_z::<V>(sums.as_ptr().add(margin), to, vectors);
                }
            }
        }
    }
}

impl<const OF_DATA: bool> Task<'_, OF_DATA> {
    /// N vectors from vector `z` on of both columns of a pair.
    ///
    /// # Safety
    /// The processor has V's instructions; `to` has room for N vectors each.
    #[inline(always)]
    unsafe fn pass<V: Vector<Element = f32>, const N: usize>(
        &self,
        pair: [[i32; 2]; 2],
        z: usize,
        back: bool,
        to: [*mut f32; 2],
    ) {
        let Layout { shape: [_, ny, nx], margin, column, row } = self.gather.layout;
        let Weights { values, stride, limit } = self.weights;
        let [x, y] = pair[0];
        let map = self.gather.map.as_slice();
        let at = |x: i32, y: i32| {
            ((x as usize) < nx && (y as usize) < ny).then(|| map[y as usize * nx + x as usize] as usize)
        };
        let [rx, ry] = self.gather.taps.reach;
        let within = |x: i32, [low, high]: [i32; 2], n: usize| x + low >= 0 && x + high < n as i32;
        let interior = within(x, rx, nx) && within(y, ry, ny);
        // A column outside the lattice is summed and thrown away.
        let of = [at(pair[0][0], pair[0][1]), at(pair[1][0], pair[1][1])];
        let Some(some) = of[0].or(of[1]) else { return };
        let own = [of[0].unwrap_or(some), of[1].unwrap_or(some)];
        let weights_of = |a: usize| values[a * stride..][..*stride].as_ptr();
        let own_rows = [weights_of(own[0]), weights_of(own[1])];
        let class = if OF_DATA {
            let [x, y] = pair[usize::from(of[0].is_none())];
            self.gather.around[y as usize * nx + x as usize]
        } else {
            self.gather.taps.class[own[0]].max(self.gather.taps.class[own[1]])
        };
        // May lie outside, where the first column does.
        let origin = y as isize * row as isize + x as isize * column as isize + (margin + z * V::LANES) as isize;
        // SAFETY: data columns are in the lattice, runs stay in their margins, which hold zeros; weights lie in their
        // identifier's row; instructions by the caller's contract.
        unsafe {
            let mut sums = [[V::splat(0.0); N]; 2];
            let cell = y as isize * nx as isize + x as isize;
            macro_rules! group {
                ($runs:expr, $length:expr, $interior:literal) => {{
                    let runs: &[Run] = $runs;
                    let (mut next, step) = if back {
                        (runs.as_ptr().wrapping_add(runs.len()).wrapping_sub(1), -1)
                    } else {
                        (runs.as_ptr(), 1)
                    };
                    for _ in 0..runs.len() {
                        let run = &*next;
                        next = next.wrapping_offset(step);
                        if !$interior {
                            let [x, y] = [x + i32::from(run.x), y + i32::from(run.y)];
                            if x as usize >= nx || y as usize >= ny {
                                continue;
                            }
                        }
                        let rows = if OF_DATA {
                            let a = *map.as_ptr().wrapping_offset(cell + run.cell as isize) as usize;
                            if run.rank >= *limit.get_unchecked(a) {
                                continue;
                            }
                            [values.as_ptr().add(a * stride); 2]
                        } else {
                            own_rows
                        };
                        // Not `map`, which costs the compiler a page for each of these groups.
                        let mut weights = [rows[0].add(run.weight as usize), rows[1].add(run.weight as usize)];
                        let mut data = self.input.as_ptr().offset(origin + run.shift);
                        for _ in 0..$length {
                            let [one, two] = [V::splat(*weights[0]), V::splat(*weights[1].add(1))];
                            for v in 0..N {
                                let d = V::load(data.add(v * V::LANES));
                                sums[0][v] = d.fma(one, sums[0][v]);
                                sums[1][v] = d.fma(two, sums[1][v]);
                            }
                            data = data.add(1);
                            weights = [weights[0].add(2), weights[1].add(2)];
                        }
                    }
                }};
            }
            let groups = self.gather.taps.classes[class as usize].as_slice();
            for i in 0..groups.len() {
                let Group { length, runs } = &groups[if back { groups.len() - 1 - i } else { i }];
                // The usual lengths unrolled.
                match (*length, interior) {
                    (1, true) => group!(runs, 1, true),
                    (3, true) => group!(runs, 3, true),
                    (4, true) => group!(runs, 4, true),
                    (5, true) => group!(runs, 5, true),
                    (length, true) => group!(runs, length, true),
                    (1, false) => group!(runs, 1, false),
                    (4, false) => group!(runs, 4, false),
                    (length, false) => group!(runs, length, false),
                }
            }
            for (sums, to) in sums.iter().zip(to) {
                for (v, sum) in sums.iter().enumerate() {
                    sum.store(to.add(v * V::LANES));
                }
            }
        }
    }

    /// The axial factor, which is symmetric, and the column's end.
    ///
    /// # Safety
    /// The processor has V's instructions; both pointers are good for `vectors`, `from` with the margin on either side.
    #[inline(always)]
    unsafe fn along_z<V: Vector<Element = f32>>(&self, from: *const f32, to: *mut f32, vectors: usize) {
        let [nz, ..] = self.gather.layout.shape;
        let axial = self.gather.axial.as_slice();
        let reach = axial.len() / 2;
        // SAFETY: by the caller's contract.
        unsafe {
            for v in 0..vectors {
                let from = from.add(v * V::LANES).sub(reach);
                let mut sum = V::splat(0.0);
                for (k, weight) in axial.iter().enumerate() {
                    sum = V::load(from.add(k)).fma(V::splat(*weight), sum);
                }
                sum.store(to.add(v * V::LANES));
            }
            for z in nz..vectors * V::LANES {
                *to.add(z) = 0.0;
            }
        }
    }
}
