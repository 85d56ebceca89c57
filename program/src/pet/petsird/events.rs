//! One pass over a file's events, about a million at a time.

use super::alive::DeadTimes;
use super::singles::{Singles, is_field};
use super::{Opened, Scanner};
use crate::pet::told::general;
use crate::pet::yardl::{At, Damaged, Items, Kind as Type, Value};
use anyhow::{Context, Result, anyhow, bail, ensure};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};

/// Events that are given at a time, at most, and those that are read together.
const AT_ONCE: usize = 1 << 20;
const TOGETHER: usize = 1 << 17;
/// Events of a task.
const CHUNK: usize = 1 << 14;
/// A crystal or time bin that there is not.
const UNKNOWN: u32 = u32::MAX;
/// Edges of frames and blocks that are as near, s, are the same: files have whole milliseconds.
const SAME: f64 = 1e-3;

/// Start and end, s.
pub type Span = [f64; 2];

/// Prompts and delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Prompt,
    Delay,
}

/// Events one after the other, of one frame.
pub struct Part<'a> {
    pub kind: Kind,
    pub frame: usize,
    /// `[event][first, second]`; 2^32 - 1 of one that there is not.
    pub crystals: &'a [u32],
    pub times: TimesOf<'a>,
    /// How far in the file it is, 0 to 1.
    pub at: f64,
}

/// `[event]`
#[derive(Clone, Copy)]
pub enum TimesOf<'a> {
    /// 2^32 - 1 of one that there is not.
    Bins(&'a [u32]),
    /// Of t2 - t1, and their full widths at half maximum, ps.
    Differences { ps: &'a [f32], widths: &'a [f32] },
}

/// What is done with events.
pub trait Pass {
    /// Called first, and again where all events come once more.
    fn begin(&mut self) -> Result<()>;
    fn part(&mut self, part: &Part) -> Result<()>;
}

/// Which besides prompts are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    pub delays: bool,
    /// Histograms of single photons.
    pub singles: bool,
}

/// What a pass found.
#[derive(Clone, Debug)]
pub struct Events {
    /// Frames that were asked for.
    pub asked: Vec<Span>,
    /// From the first block's start to the last one's end.
    pub seconds: Span,
    /// Of each frame, its blocks.
    pub blocks: Vec<Vec<Span>>,
    /// Bed or gantry were at several places.
    pub moves: bool,
    /// Blocks of dead time, and of single photons; None of a file without any.
    pub dead: Option<DeadTimes>,
    pub singles: Option<Singles>,
    /// What is not as it was asked for, or not as files should be; and of frames whose edges are within blocks.
    pub doubts: Vec<String>,
    pub within: Vec<String>,
}

/// The number of the last whole block, and why there are no others.
type End = (usize, String);

impl Events {
    /// Reads all events: a block of them is of the frame in which it begins. Without frames there is one of all. Of a file
    /// that is not whole, blocks that are whole are read, and it is told.
    pub fn read(
        mut opened: Opened,
        scanner: &Scanner,
        frames: &[Span],
        wanted: Wanted,
        to: &mut dyn Pass,
    ) -> Result<Self> {
        let whole = [[f64::NEG_INFINITY, f64::INFINITY]];
        let asked = if frames.is_empty() { &whole[..] } else { frames };
        let mut end = None;
        loop {
            to.begin()?;
            let mut reader = Reader::new(&opened, scanner, asked, wanted);
            let more = reader.all(&mut opened, end.take(), to);
            end = opened.understood(more)?;
            if end.is_none() {
                return reader.told(&opened);
            }
            // A part of a block that is not whole was given: without it, once more.
            opened = Opened::new(&opened.path)?;
        }
    }
}

/// Events that wait to be given.
struct Batch {
    crystals: Vec<u32>,
    times: BatchTimes,
    len: usize,
}

enum BatchTimes {
    Bins(Vec<u32>),
    Differences { ps: Vec<f32>, widths: Vec<f32> },
}

impl Batch {
    fn new(scanner: &Scanner) -> Self {
        let times = match scanner.times.has_widths() {
            false => BatchTimes::Bins(vec![0; AT_ONCE]),
            true => BatchTimes::Differences { ps: vec![0.0; AT_ONCE], widths: vec![0.0; AT_ONCE] },
        };
        Self { crystals: vec![0; 2 * AT_ONCE], times, len: 0 }
    }
}

/// How many events, of each type of module, have a number one beyond the last one, and the first.
type Ends = Vec<[u64; 2]>;

struct Reader<'a> {
    scanner: &'a Scanner,
    /// Of the file.
    path: String,
    /// Without blocks yet, or why there are none.
    singles: Result<Singles, String>,
    wanted: Wanted,
    found: Events,
    batches: [Batch; 2],
    raw: Vec<u32>,
    /// That of the block, and of events that wait.
    frame: Option<usize>,
    ends: Ends,
    /// What waited at the begin of the block, and whether any was given since.
    mark: ([usize; 2], Ends),
    is_given: bool,
    /// Of events.
    blocks: usize,
    cut: BTreeSet<usize>,
    overlaps: usize,
    /// Events of types of modules that there are not.
    strange: u64,
    place: Option<(bool, Vec<u64>)>,
    places: HashSet<Option<(bool, Vec<u64>)>>,
    /// Why it ended early.
    ended: Option<String>,
}

impl<'a> Reader<'a> {
    fn new(opened: &Opened, scanner: &'a Scanner, asked: &[Span], wanted: Wanted) -> Self {
        let path = opened.path.display().to_string();
        let found = Events {
            asked: asked.to_vec(),
            seconds: [f64::INFINITY, f64::NEG_INFINITY],
            blocks: vec![Vec::new(); asked.len()],
            moves: false,
            dead: None,
            singles: None,
            doubts: Vec::new(),
            within: Vec::new(),
        };
        let ends = vec![[0; 2]; scanner.energies.len()];
        Self {
            scanner,
            singles: Singles::new(path.clone(), &opened.header).map_err(|error| format!("{error:#}")),
            path,
            wanted,
            found,
            batches: [Batch::new(scanner), Batch::new(scanner)],
            raw: vec![0; 3 * TOGETHER],
            frame: None,
            mark: ([0; 2], ends.clone()),
            ends,
            is_given: false,
            blocks: 0,
            cut: BTreeSet::new(),
            overlaps: 0,
            strange: 0,
            place: None,
            places: HashSet::new(),
            ended: None,
        }
    }

    /// Reads blocks up to an end, or all. Gives the end to which they have to be read once more.
    fn all(&mut self, opened: &mut Opened, end: Option<End>, to: &mut dyn Pass) -> Result<Option<End>> {
        let Type::Union(cases) = opened.file.steps[1].kind.clone() else { bail!("its time blocks are of one kind") };
        let shown = opened.path.display();
        let items = opened.file.items(1).with_context(|| format!("{shown} has no blocks of time that can be read"));
        let mut items = items.map_err(crate::status::unreadable)?;
        let mut blocks = 0;
        loop {
            if let Some((_, words)) = end.as_ref().filter(|(last, _)| *last == blocks) {
                self.ended = Some(words.clone());
                break;
            }
            self.set_mark();
            match self.next(&mut items, &cases, to) {
                Ok(true) => blocks += 1,
                Ok(false) => break,
                Err(error) if error.is::<Damaged>() => {
                    let words = format!("{error:#}");
                    if self.is_given {
                        return Ok(Some((blocks, words)));
                    }
                    self.back();
                    self.ended = Some(words);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.give_all(items.progress(), to).map(|()| None)
    }

    fn set_mark(&mut self) {
        self.mark = (self.batches.each_ref().map(|batch| batch.len), self.ends.clone());
        self.is_given = false;
    }

    /// As it was at the mark.
    fn back(&mut self) {
        let (lens, ends) = &self.mark;
        self.batches.iter_mut().zip(lens).for_each(|(batch, len)| batch.len = *len);
        self.ends.clone_from(ends);
    }

    /// Reads a block, unless there is none.
    fn next(&mut self, items: &mut Items, cases: &[Option<Type>], to: &mut dyn Pass) -> Result<bool> {
        let Some((case, at)) = items.next(cases)? else { return Ok(false) };
        match (cases.get(case), at) {
            (Some(Some(Type::Record(record))), Some(mut at)) => {
                let fields = record.names.iter().zip(&record.kinds).map(|(name, kind)| (name.as_str(), kind));
                self.block(&mut at, &fields.collect::<Vec<_>>(), to)?;
            }
            (Some(Some(other)), Some(mut at)) => at.leave_out(other)?,
            (Some(None), _) => {}
            _ => return Err(Damaged(format!("case {case} of {}", cases.len())).into()),
        }
        Ok(true)
    }

    fn block(&mut self, block: &mut At, fields: &[(&str, &Type)], to: &mut dyn Pass) -> Result<()> {
        let is_of_events = fields.iter().any(|(name, _)| *name == "promptevents");
        let (mut time, mut singles) = (None, Vec::new());
        for (name, kind) in fields {
            let mut at = block.field(name)?;
            match *name {
                "timeinterval" => {
                    let interval = at.value(kind)?;
                    let edge = |name| Ok::<_, anyhow::Error>(interval.part(name)?.number("times of blocks")? / 1e3);
                    let span = [edge("start")?, edge("stop")?];
                    time = Some(span);
                    let frame = if is_of_events { self.frame_of(span)? } else { self.frame };
                    if frame != self.frame {
                        self.give_all(at.progress(), to)?;
                        self.frame = frame;
                        self.set_mark();
                    }
                }
                "promptevents" if time.is_none() => bail!("its blocks of events have no time before their events"),
                "promptevents" => self.events(&mut at, kind, Kind::Prompt, to)?,
                "delayedevents" if self.wanted.delays && time.is_some() => {
                    self.events(&mut at, kind, Kind::Delay, to)?
                }
                "alivetimefractions" => {
                    let (value, span) = (at.value(kind)?, time.unwrap_or([0.0; 2]));
                    let path = self.path.clone();
                    self.found.dead.get_or_insert_with(|| DeadTimes::new(path)).add(span, &value, self.scanner)?;
                }
                name if self.wanted.singles && is_field(name) => singles.push((name.to_string(), at.value(kind)?)),
                "transform" | "transforms" => {
                    let value = at.value(kind)?;
                    let of = if let Value::List(all) = &value { &all[..] } else { std::slice::from_ref(&value) };
                    let mut bits = Vec::new();
                    for one in of.iter().filter(|one| !matches!(one, Value::Nothing)) {
                        bits.extend(
                            one.part("matrix")?.numbers("places of bed and gantry")?.1.into_iter().map(f64::to_bits),
                        );
                    }
                    self.place = Some((*name == "transforms", bits));
                }
                _ => at.leave_out(kind)?,
            }
        }
        if let Some(span) = time.filter(|_| is_of_events) {
            self.note(span);
        }
        if let Some(span) = time.filter(|_| !singles.is_empty()) {
            if self.found.singles.is_none() {
                self.found.singles = Some(self.singles.clone().map_err(|words| anyhow!(words))?);
            }
            if let Some(found) = &mut self.found.singles {
                found.add(span, &singles)?;
            }
        }
        Ok(())
    }

    /// Of a block; None of one that is beyond all frames.
    fn frame_of(&self, [begin, end]: Span) -> Result<Option<usize>> {
        let [from, to] = [begin, end].map(|v| general(v, 6));
        ensure!(end >= begin, "it has a block of events from {from} to {to} s, which ends before it begins");
        // A block that begins a rounding error before a frame is of it.
        let begin = begin + SAME / 2.0;
        Ok(self.found.asked.iter().rposition(|asked| asked[0] <= begin).filter(|k| begin < self.found.asked[*k][1]))
    }

    /// A block of events that is whole.
    fn note(&mut self, [begin, end]: Span) {
        let found = &mut self.found;
        self.places.insert(self.place.clone());
        found.moves = self.places.len() > 1;
        self.blocks += 1;
        self.overlaps += usize::from(begin < found.seconds[1] - SAME);
        found.seconds = [found.seconds[0].min(begin), found.seconds[1].max(end)];
        let inside = |edge: f64| begin + SAME / 2.0 < edge && edge < end - SAME / 2.0;
        let cut = found.asked.iter().enumerate().filter(|(_, asked)| asked.iter().any(|edge| inside(*edge)));
        self.cut.extend(cut.map(|(k, _)| k));
        if let Some(frame) = self.frame {
            found.blocks[frame].push([begin, end]);
        }
    }

    /// Lists of a lower triangle of types of modules.
    fn events(&mut self, at: &mut At, kind: &Type, of: Kind, to: &mut dyn Pass) -> Result<()> {
        if self.frame.is_none() {
            return at.leave_out(kind);
        }
        let (kind, mut at) = match kind {
            Type::Union(cases) => {
                let (case, at) = at.case(cases)?;
                let Some(kind) = &cases[case] else { return Ok(()) };
                (kind, at)
            }
            kind => (kind, at.again()),
        };
        let Type::Vector(row, None) = kind else { bail!("its events are no lists of types of modules") };
        let Type::Vector(list, None) = &**row else { bail!("its events are no lists of types of modules") };
        let Type::Vector(event, None) = &**list else { bail!("its events are no lists") };
        let (rows, mut at) = at.vector(None)?;
        for a in 0..rows {
            let mut row = at.item(a)?;
            let (lists, mut row) = row.vector(None)?;
            for b in 0..lists {
                let mut list = row.item(b)?;
                let (count, mut list) = list.vector(None)?;
                if count == 0 {
                    continue;
                }
                let columns = event.columns().unwrap_or(0);
                ensure!(columns == 3, "it has events of {columns} numbers; there must be two crystals and a time bin");
                list.room(event, count)?;
                if a.max(b) >= self.ends.len() as u64 {
                    list.leave_items_out(event, count)?;
                    self.strange += count;
                    continue;
                }
                self.list(&mut list, count, [a as usize, b as usize], of, to)?;
            }
        }
        Ok(())
    }

    fn list(&mut self, list: &mut At, mut count: u64, types: [usize; 2], kind: Kind, to: &mut dyn Pass) -> Result<()> {
        while count > 0 {
            let room = AT_ONCE - self.batches[kind as usize].len;
            if room == 0 {
                self.give(kind, list.progress(), to)?;
                self.is_given = true;
                continue;
            }
            let rows = list.rows(3, count.min(room as u64), &mut self.raw)?;
            count -= rows as u64;
            self.add(rows, types, kind);
        }
        Ok(())
    }

    /// Numbers crystals and time bins of rows that were read as they are numbered here.
    fn add(&mut self, rows: usize, types: [usize; 2], kind: Kind) {
        let Self { scanner, batches, raw, ends, .. } = self;
        let of = types.map(|kind| Numbers {
            first: scanner.first[kind] as u32,
            count: (scanner.first[kind + 1] - scanner.first[kind]) as u32,
            energies: scanner.energies[kind] as u32,
        });
        let batch = &mut batches[kind as usize];
        let (begin, end) = (batch.len, batch.len + rows);
        let (raw, crystals) = (&raw[..3 * rows], &mut batch.crystals[2 * begin..2 * end]);
        let seen = match (&mut batch.times, scanner.times.of(types)) {
            (BatchTimes::Bins(times), _) => {
                let bins = scanner.times.count() as u32;
                // A file's places are c (t1 - t2) / 2.
                let time = |bin: u32, _: &mut [u32]| if bin < bins { bins - 1 - bin } else { UNKNOWN };
                numbered(of, (raw, crystals), &mut times[begin..end], time)
            }
            (BatchTimes::Differences { ps, widths }, Some(bins)) => {
                let (ps, widths) = (&mut ps[begin..end], &mut widths[begin..end]);
                ps.par_iter_mut().zip(widths).zip(raw.par_chunks(3)).with_min_len(CHUNK).for_each(
                    |((ps, width), raw)| {
                        let bin = raw[2] as usize;
                        // Of one that there is not the crystals are none.
                        *ps = bins.middles.get(bin).copied().unwrap_or(0.0);
                        *width = bins.widths.get(bin).copied().unwrap_or(bins.widths[0]);
                    },
                );
                let count = bins.middles.len() as u32;
                let time = |bin: u32, pair: &mut [u32]| {
                    if bin >= count {
                        pair.fill(UNKNOWN);
                    }
                    0
                };
                numbered(of, (raw, crystals), &mut vec![0; rows], time)
            }
            (BatchTimes::Differences { .. }, None) => [[0; 2]; 2],
        };
        for (kind, seen) in types.into_iter().zip(seen) {
            ends[kind] = [ends[kind][0] + seen[0], ends[kind][1] + seen[1]];
        }
        batch.len += rows;
    }

    fn give_all(&mut self, at: f64, to: &mut dyn Pass) -> Result<()> {
        self.give(Kind::Prompt, at, to)?;
        self.give(Kind::Delay, at, to)
    }

    fn give(&mut self, kind: Kind, at: f64, to: &mut dyn Pass) -> Result<()> {
        let batch = &mut self.batches[kind as usize];
        let len = std::mem::take(&mut batch.len);
        let Some(frame) = self.frame.filter(|_| len > 0) else { return Ok(()) };
        let times = match &batch.times {
            BatchTimes::Bins(bins) => TimesOf::Bins(&bins[..len]),
            BatchTimes::Differences { ps, widths } => TimesOf::Differences { ps: &ps[..len], widths: &widths[..len] },
        };
        to.part(&Part { kind, frame, crystals: &batch.crystals[..2 * len], times, at })
    }

    /// With what is to be told.
    fn told(mut self, opened: &Opened) -> Result<Events> {
        let path = opened.path.display();
        if let Some(words) = self.ended {
            let (blocks, end) = (self.blocks, general(self.found.seconds[1], 6));
            if blocks == 0 {
                let none = anyhow::anyhow!("{path} is not whole, and no block of events of it is: {words}");
                return Err(crate::status::unreadable(none));
            }
            self.found.doubts.push(format!(
                "{path} is not whole ({words}): {blocks} blocks of events to {end} s are in the image, and what came after is not"
            ));
        }
        if self.strange > 0 {
            let (events, types) = (self.strange, self.ends.len());
            self.found.doubts.push(format!(
                "{events} events are of more types of modules than the {types} that the scanner has, and are left out: the package petsird's example of a generator lists those of its last type twice"
            ));
        }
        for (kind, [beyond, _]) in self.ends.iter().enumerate().filter(|(_, ends)| ends[0] > 0 && ends[1] == 0) {
            let of = if self.ends.len() > 1 { format!(" of modules of type {kind}") } else { String::new() };
            let [first, end] = [self.scanner.first[kind], self.scanner.first[kind + 1]];
            let number = (end - first) * self.scanner.energies[kind];
            self.found.doubts.push(format!(
                "detection bins{of} seem to be counted from 1, and PETSIRD counts from 0: {beyond} events have number {number}, which there is not, and none has 0"
            ));
        }
        for k in self.cut {
            let ([start, end], found) = (self.found.asked[k].map(|v| general(v, 6)), &self.found.blocks[k]);
            let has = match (found.first(), found.last()) {
                (Some([first, _]), Some([_, last])) => {
                    format!("has the events from {} to {} s", general(*first, 6), general(*last, 6))
                }
                _ => "has no events".into(),
            };
            self.found.within.push(format!(
                "frame {k}, {start} to {end} s, {has}: its edges are within blocks of events, whose events have no times of their own"
            ));
        }
        if self.overlaps > 0 {
            let count = self.overlaps;
            self.found.doubts.push(format!(
                "{count} blocks of events begin before the one before them ends: their durations are added up"
            ));
        }
        Ok(self.found)
    }
}

/// Numbers crystals and times of rows of two detection bins and a time bin; gives how many bins of each crystal are one beyond the last one, and the first.
fn numbered(
    of: [Numbers; 2],
    (raw, crystals): (&[u32], &mut [u32]),
    times: &mut [u32],
    time: impl Fn(u32, &mut [u32]) -> u32 + Sync,
) -> [[u64; 2]; 2] {
    let one = |((raw, crystals), times): ((&[u32], &mut [u32]), &mut [u32])| {
        let mut seen = [[0u64; 2]; 2];
        for ((raw, crystals), to) in raw.chunks_exact(3).zip(crystals.chunks_exact_mut(2)).zip(times) {
            for k in 0..2 {
                seen[k][0] += u64::from(u64::from(raw[k]) == of[k].end());
                seen[k][1] += u64::from(raw[k] == 0);
                crystals[k] = of[k].crystal(raw[k]);
            }
            *to = time(raw[2], crystals);
        }
        seen
    };
    if times.len() <= CHUNK {
        return one(((raw, crystals), times));
    }
    let parts = raw.par_chunks(3 * CHUNK).zip(crystals.par_chunks_mut(2 * CHUNK)).zip(times.par_chunks_mut(CHUNK));
    let sum = |a: [[u64; 2]; 2], b: [[u64; 2]; 2]| [0, 1].map(|k| [0, 1].map(|j| a[k][j] + b[k][j]));
    parts.map(one).reduce(|| [[0; 2]; 2], sum)
}

/// How detection bins of a type of module are numbered.
#[derive(Clone, Copy)]
struct Numbers {
    first: u32,
    count: u32,
    energies: u32,
}

impl Numbers {
    /// One beyond the last.
    fn end(self) -> u64 {
        u64::from(self.count) * u64::from(self.energies)
    }

    #[inline(always)]
    fn crystal(self, bin: u32) -> u32 {
        let crystal = if self.energies > 1 { bin / self.energies } else { bin };
        if crystal < self.count { self.first + crystal } else { UNKNOWN }
    }
}
