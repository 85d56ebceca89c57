//! What pairs of crystals in each other's fans detect of a source.

use crate::events::BLOCK;
use crate::lines::{Integrals, Line, Taps};
use crate::scanner::{Column, Fan, Plane, Scanner, columns};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{append, collected, copied, reserved, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::sync::atomic::{AtomicU64, Ordering};

/// Sums that are added up side by side, in their order, so that they are the same for any number of threads.
const TASKS: usize = 32;

/// A known source.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) activity: Integrals,
    pub(super) attenuation: Option<Integrals>,
    /// Decays of a mm of a line whose activity is 1, that send pairs of photons into a mm^2 sr of lines.
    pub(super) decays: f64,
}

/// Counts of all pairs whose lines cross a source, if every photon that meets a crystal is detected. Crystals are in the order of columns.
pub(super) struct Expected<'a> {
    level: Level,
    fan: Fan,
    scanner: &'a Scanner,
    source: &'a Source,
    columns: Vec<Column>,
    planes: Vec<Plane>,
    /// Where each column begins.
    first: Vec<usize>,
    tasks: Vec<Task>,
}

/// Every so many columns, with those behind each in the order.
struct Task {
    blocks: Vec<Block>,
    room: Room,
    sums: Vec<f64>,
}

/// Two columns with pairs that cross the source.
struct Block {
    columns: [u32; 2],
    /// Counts of all pairs of the fan, `[crystal of the first][of the other]`; None where there is no memory for them: they are computed anew.
    counts: Option<Vec<f32>>,
}

/// What a task works in.
struct Room {
    lines: Vec<Line>,
    ends: Vec<[usize; 2]>,
    counts: Vec<f32>,
    taps: Taps,
}

impl<'a> Expected<'a> {
    /// Bytes that it takes at least, of so many crystals.
    pub(super) fn least_bytes(crystals: usize) -> u64 {
        // Lists of columns' crystals grow.
        let listed = 4 * size_of::<(f64, usize)>() + 2 * size_of::<Column>() + size_of::<usize>();
        let a_crystal = size_of::<Plane>() + listed + TASKS * size_of::<f64>();
        let room = BLOCK * (size_of::<Line>() + size_of::<[usize; 2]>()) + size_of::<Taps>();
        (crystals * a_crystal + TASKS * room) as u64
    }

    /// Keeps as many counts as there are bytes for, with what lists them.
    pub(super) fn new(
        (level, fan, scanner): (Level, Fan, &'a Scanner),
        source: &'a Source,
        bytes: u64,
        (job, share): (&Job, f64),
    ) -> Result<Self> {
        let crystals = &scanner.crystals;
        let columns = columns(scanner);
        let planes: Vec<Plane> = collected(crystals.faces()[..crystals.count()].iter().map(Plane::new))?;
        let mut behind = 0;
        let first = collected(columns.iter().map(|column| {
            behind += column.heights.len();
            behind - column.heights.len()
        }))?;
        let mut of = Self { level, fan, scanner, source, columns, planes, first, tasks: Vec::new() };
        let list = of.list_bytes();
        if list > bytes {
            fail!(
                MemoryCap,
                "{bytes} bytes are left under memory_cap for pairs of crystals; to go through them takes {list}"
            );
        }
        let left = AtomicU64::new(bytes - list);
        let tasks: Vec<Result<Task>> =
            (0..TASKS).into_par_iter().map(|task| of.task(task, &left, (job, share))).collect();
        of.tasks = tasks.into_iter().collect::<Result<_>>()?;
        Ok(of)
    }

    /// Of each place in the order, the crystal.
    pub(super) fn crystals(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().flat_map(|column| column.heights.iter().map(|(_, k)| *k))
    }

    /// Crystals above each other.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Most bytes that blocks take without the counts that are kept, and tasks for those of one.
    fn list_bytes(&self) -> u64 {
        let all = &self.columns;
        let others = |i: usize| all[i + 1..].iter().filter(|other| self.fan.bands(&all[i], other).is_some()).count();
        let blocks: usize = (0..all.len()).into_par_iter().map(others).sum();
        let largest = all.iter().map(|column| column.heights.len().pow(2)).max().unwrap_or(0);
        // Of a list that grows, half may be empty.
        (2 * (blocks * size_of::<Block>() + TASKS * largest * size_of::<f32>())) as u64
    }

    fn task(&self, task: usize, left: &AtomicU64, (job, share): (&Job, f64)) -> Result<Task> {
        let mut room = Room { lines: reserved(BLOCK)?, ends: reserved(BLOCK)?, counts: Vec::new(), taps: Taps::new() };
        let mut blocks = Vec::new();
        for i in (task..self.columns.len()).step_by(TASKS) {
            for j in i + 1..self.columns.len() {
                self.fill([i, j], &mut room)?;
                if room.counts.iter().all(|count| *count == 0.0) {
                    continue;
                }
                job.check()?;
                let bytes = size_of_val(&room.counts[..]) as u64;
                let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
                let counts = if taken.is_ok() { Some(copied(&room.counts)?) } else { None };
                append(&mut blocks, Block { columns: [i as u32, j as u32], counts })?;
            }
            job.advance(share / self.columns.len() as f64);
        }
        Ok(Task { blocks, room, sums: zeros(self.scanner.crystals.count())? })
    }

    /// Counts of two columns' pairs in the fan; none where there are none.
    fn fill(&self, [i, j]: [usize; 2], room: &mut Room) -> Result<()> {
        room.counts.clear();
        let (column, other) = (&self.columns[i], &self.columns[j]);
        let common = self.scanner.pairs.as_ref().map(|pairs| pairs.common(column.module, other.module));
        if common == Some(Some(0.0)) {
            return Ok(());
        }
        let Some(bands) = self.fan.bands(column, other) else { return Ok(()) };
        for ((_, a), band) in column.heights.iter().zip(bands) {
            for (_, b) in &other.heights[band] {
                let [[x1, y1, z1], [x2, y2, z2]] = [a, b].map(|k| self.scanner.crystals.position(*k));
                room.lines.push(Line { number: 0, event: [x1, y1, z1, x2, y2, z2, 0.0], timing: None });
                room.ends.push([*a, *b]);
                if room.lines.len() == BLOCK {
                    self.count(room)?;
                }
            }
        }
        self.count(room)
    }

    /// Adds the counts of lines, which are few enough for that.
    fn count(&self, Room { lines, ends, counts, taps }: &mut Room) -> Result<()> {
        let active = self.source.activity.along(self.level, lines, taps);
        let crosses = active[..lines.len()].iter().any(|sum| *sum > 0.0);
        let through =
            self.source.attenuation.as_ref().filter(|_| crosses).map(|map| map.along(self.level, lines, taps));
        for (k, (line, [a, b])) in lines.iter().zip(&*ends).enumerate() {
            let mut count = 0.0;
            if active[k] > 0.0 {
                let [x1, y1, z1, x2, y2, z2, _] = line.event;
                let apart = [x2 - x1, y2 - y1, z2 - z1];
                let square = apart.iter().map(|d| d * d).sum::<f64>();
                let along = apart.map(|d| d / square.sqrt());
                let facing = self.planes[*a].facing(along) * self.planes[*b].facing(along);
                let passed = through.map_or(1.0, |sums| (-f64::from(sums[k])).exp());
                let part = f64::from(self.scanner.pair(*a, *b)) * passed * facing / square;
                count = self.source.decays * f64::from(active[k]) * part;
            }
            append(counts, count as f32)?;
        }
        lines.clear();
        ends.clear();
        Ok(())
    }

    /// Of each crystal, the sum over its pairs of their counts times the other's value.
    pub(super) fn times(&mut self, job: &Job, values: &[f64], to: &mut [f64]) -> Result<()> {
        let mut tasks = std::mem::take(&mut self.tasks);
        let done = tasks.par_iter_mut().try_for_each(|task| self.add(job, values, task));
        to.fill(0.0);
        for task in &tasks {
            to.iter_mut().zip(&task.sums).for_each(|(sum, more)| *sum += more);
        }
        self.tasks = tasks;
        done
    }

    fn add(&self, job: &Job, values: &[f64], Task { blocks, room, sums }: &mut Task) -> Result<()> {
        sums.fill(0.0);
        for Block { columns, counts } in blocks {
            job.check()?;
            let [i, j] = columns.map(|c| c as usize);
            let mut row = match counts {
                Some(kept) => &kept[..],
                None => {
                    self.fill([i, j], room)?;
                    &room.counts[..]
                }
            };
            let Some(bands) = self.fan.bands(&self.columns[i], &self.columns[j]) else { continue };
            for (a, band) in (self.first[i]..).zip(bands) {
                let (counts, rest) = row.split_at(band.len());
                row = rest;
                let of = self.first[j] + band.start..self.first[j] + band.end;
                let mut sum = 0.0;
                for ((count, value), to) in counts.iter().zip(&values[of.clone()]).zip(&mut sums[of]) {
                    sum += f64::from(*count) * value;
                    *to += f64::from(*count) * values[a];
                }
                sums[a] += sum;
            }
        }
        Ok(())
    }
}
