//! A plan at work: block after block of slices, from the scan file through the library into the volume file.

use super::history::{gathered, together};
use super::joined::{Encoding, Joined, Slices, Write};
use super::pictures::{Sections, Stored};
use super::shares;
use super::{array, geometry, input, plan, plan_of};
use crate::frames::{Ahead, Frames, following};
use crate::memory::at_least;
use crate::plan::{Part, Piece, Plan, cut};
use crate::report::{Image, Iterations, Report, Section, peak};
use crate::scan::{Input, Scan};
use crate::stopwatch::Stopwatch;
use crate::team::Team;
use crate::volume::journal::{self, Journal};
use crate::volume::{About, Places, Sliced, Volume, Wanted, behind, discard, unfinished};
use crate::watch::Watch;
use crate::{status, talk};
use anyhow::{Context as _, Result, bail};
use isocenter::array::{ArrayMut, DType};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::ct::{
    Algorithm, Ct, Filter, FlatFitOptions, FoundAxis, Geometry, Iterated, Options, Output, Slab, Window,
};
use isocenter::error::{Error, Status};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What of a plan a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// All of it, together with the others of its team.
    All,
    /// Just the beginning.
    Begin,
    /// One of several parts, counted from 1, of a volume that has begun.
    Part([usize; 2]),
}

/// A volume that has begun, and blocks of it that are on disk.
struct Begun {
    volume: Box<Sliced>,
    journal: Journal,
    done: BTreeSet<usize>,
}

/// A plan, its scan, and what looks after the run.
pub struct Run<'a> {
    pub team: &'a dyn Team,
    pub context: Arc<Context>,
    pub watch: Arc<Watch>,
    pub plan: Plan,
    /// One, or those that make one volume.
    pub scans: Vec<Scan>,
    /// Of the search, where there was one.
    pub axis: Option<FoundAxis>,
    pub stopwatch: Stopwatch,
}

/// The library's plan of a run, for any of its slices.
pub struct Prepared<'a> {
    ct: Ct,
    geometry: Geometry,
    scan: &'a Scan,
    /// Of each slice, what is wanted of it, and whether it is cut out of whole ones.
    pub part: Part,
    cuts: bool,
    output: Output,
    /// Bytes of a number, and of a slice that is wanted.
    size: usize,
    slice: usize,
    ahead: Ahead,
    pub read: Duration,
    /// What the iterations found of the slices that were made.
    iterations: Vec<Vec<Iterated>>,
}

/// An error of this program for the library, which hands it back from callbacks.
fn handed(error: &anyhow::Error) -> Error {
    Error { status: Status::Callback, message: format!("{error:#}") }
}

/// Whether two paths lead to one file.
fn same_file(a: &Path, b: &Path) -> bool {
    let of = |path: &Path| std::fs::metadata(path).map(|about| (about.dev(), about.ino()));
    of(a).is_ok_and(|a| of(b).is_ok_and(|b| a == b))
}

/// Frames that are read together for their fit.
const TOGETHER: usize = 32;

/// Fits the flat field's components to all views.
pub fn fit(ct: &mut Ct, scan: &Scan, rows: &[usize]) -> Result<()> {
    if scan.flats.is_empty() {
        bail!("--eigenflats: the scan has no flats");
    }
    let ([_, _, bins], dtype) = (scan.views.source.shape(), scan.views.source.dtype());
    for (k, which) in scan.views.which.chunks(TOGETHER).enumerate() {
        let frames = Frames { source: scan.views.source.clone(), which: which.to_vec() };
        let bytes = frames.rows(rows).map_err(status::unreadable)?;
        let frames = array(&bytes, dtype, [which.len(), rows.len(), bins]);
        ct.fit_flat_field(frames, k * TOGETHER, &FlatFitOptions::default()).context("eigenflats")?;
    }
    Ok(())
}

impl<'a> Prepared<'a> {
    /// With the volume stored in this way.
    pub fn new(context: &Arc<Context>, wanted: &Plan, scan: &'a Scan, output: &Output) -> Result<Self> {
        let all = scan.views.source.shape()[1];
        let [first, end] = wanted.rows;
        if first >= end || end > all {
            bail!("rows {first}..{end}: the scan has {all}");
        }
        let rows: Vec<usize> = (0..all).collect();
        let mut whole = geometry(scan, all);
        let part = wanted.whole(scan, &mut whole)?;
        let ct = plan_of(context, scan, &wanted.steps.flats, &rows, whole)?;
        let (geometry, ahead) = (ct.geometry()?.clone(), Ahead::new(&scan.views));
        let (read, iterations) = (Duration::ZERO, Vec::new());
        let mut prepared = Self {
            ct,
            geometry,
            scan,
            part,
            cuts: false,
            output: output.clone(),
            size: 0,
            slice: 0,
            ahead,
            read,
            iterations,
        };
        prepared.place(wanted)?;
        if wanted.steps.flats.eigenflats.is_some() {
            fit(&mut prepared.ct, scan, &rows)?;
        }
        prepared.steps(wanted, output)?;
        Ok(prepared)
    }

    /// Goes over to another axis and other steps of the same rows and flats.
    pub fn change(&mut self, wanted: &Plan, output: &Output) -> Result<()> {
        self.place(wanted)?;
        self.steps(wanted, output)
    }

    fn place(&mut self, wanted: &Plan) -> Result<()> {
        let [first, end] = wanted.rows;
        let mut placed = geometry(self.scan, self.geometry.rows);
        self.part = wanted.whole(self.scan, &mut placed)?;
        self.cuts = wanted.cuts(&self.part);
        if !self.cuts {
            cut(&mut placed, &self.part)?;
        }
        (placed.axis, placed.first_row, placed.slices) = (vec![wanted.axis], first, end - first);
        self.ct.set_geometry(placed.clone())?;
        self.geometry = placed;
        self.ct.set_options(wanted.options(self.scan)?)?;
        Ok(())
    }

    fn steps(&mut self, wanted: &Plan, output: &Output) -> Result<()> {
        wanted.set_up(&mut self.ct, self.scan)?;
        self.store(output.clone())
    }

    /// Has slices stored in this way from now on.
    fn store(&mut self, output: Output) -> Result<()> {
        self.ct.set_output(output.clone())?;
        self.size = output.dtype.size();
        self.slice = self.part.sides().iter().product::<usize>() * self.size;
        self.output = output;
        Ok(())
    }

    /// Of the whole volume.
    pub fn shape(&self) -> [usize; 3] {
        let [lines, columns] = self.part.sides();
        [self.geometry.slices, lines, columns]
    }

    /// Side of a slice's pixels in millimetres, where it is known.
    pub fn side(&self) -> Option<f64> {
        self.scan.pixel.millimetres().map(|_| self.geometry.pixel_size)
    }

    /// Where its voxels are, the first of which is of this row of so many.
    fn places(&self, row: usize, rows: usize) -> Places {
        let Geometry { bin_pitch: apart, pixel_size: side, .. } = self.geometry;
        let [line, column] = self.part.off_axis([0, 0]);
        let first = [row as f64 - (rows as f64 - 1.0) / 2.0, line, column];
        Places { step: [apart, side, side], first, known: self.scan.pixel.millimetres().is_some() }
    }

    /// Makes the slices of some detector rows, and gives them to `write` with the number of the first among them.
    pub fn stream(&mut self, rows: Range<usize>, mut write: impl FnMut(usize, &[u8]) -> Result<()>) -> Result<()> {
        let Self { ct, geometry, scan, part: kept, cuts, size, slice, ahead, read: reading, iterations, .. } = self;
        let mut most = 0;
        let all = geometry.rows;
        // What callbacks hand on is a text; the error itself tells what kind it is.
        let failed = RefCell::new(None);
        let keep = |error| {
            let handed = handed(&error);
            failed.replace(Some(error));
            handed
        };
        let part = Geometry { first_row: rows.start, slices: rows.len(), ..geometry.clone() };
        if *ct.geometry()? != part {
            ct.set_geometry(part)?;
        }
        let read = |slab: Slab| {
            let begun = Instant::now();
            let own = rows.start + slab.first..rows.start + slab.first + slab.count;
            let read = slab.first_row..slab.first_row + slab.shape[1];
            most = most.max(slab.count);
            let next = following(&read, &own, &(own.end..own.end.saturating_add(most).min(rows.end)), all);
            let bytes = slab.shape.iter().product::<usize>() * slab.dtype.size();
            // SAFETY: the slab's array, (views, rows, bins), lent for this call.
            let to = unsafe { std::slice::from_raw_parts_mut(slab.data, bytes) };
            ahead.read(read, next, to).map_err(|error| keep(status::unreadable(error)))?;
            *reading += begun.elapsed();
            Ok(())
        };
        let (made, mut cut_out) = (geometry.nx * geometry.ny * *size, Vec::new());
        let write = |slab: Slab| {
            // SAFETY: the slab's array of finished slices, lent for this call.
            let from = unsafe { std::slice::from_raw_parts(slab.data, slab.count * made) };
            if !*cuts {
                return write(slab.first, from).map_err(keep);
            }
            at_least(&mut cut_out, slab.count * *slice).map_err(keep)?;
            let to = &mut cut_out[..slab.count * *slice];
            kept.cut_out(from, *size, to);
            write(slab.first, to).map_err(keep)
        };
        ct.reconstruct_stream(scan.views.source.dtype(), read, write)
            .map_err(|error| failed.take().unwrap_or_else(|| error.into()))?;
        if ct.options().algorithm != Algorithm::Fbp {
            iterations.push(ct.history()?.to_vec());
        }
        Ok(())
    }
}

impl Slices for Prepared<'_> {
    fn shape(&self) -> [usize; 3] {
        self.shape()
    }

    fn stream(&mut self, rows: Range<usize>, write: &mut Write) -> Result<()> {
        self.stream(rows, write)
    }

    fn values(&mut self, rows: Range<usize>, write: &mut Write) -> Result<()> {
        let stored = self.output.clone();
        self.store(Output { dtype: DType::F32, window: None, ..stored.clone() })?;
        let made = self.stream(rows, write);
        self.store(stored)?;
        made
    }

    fn memory(&self) -> Result<u64> {
        Ok(self.ct.memory()?)
    }

    fn read(&self) -> Duration {
        self.read
    }

    fn iterations(&self) -> &[Vec<Iterated>] {
        &self.iterations
    }
}

/// Rows of the volume that each scan of a plan has.
pub fn rows_of(wanted: &Plan, scans: &[Scan]) -> Vec<Range<usize>> {
    let first = |k: usize| wanted.scans.get(k).map_or(0, |piece| piece.row);
    scans.iter().enumerate().map(|(k, scan)| first(k)..first(k) + scan.views.source.shape()[1]).collect()
}

/// The library's plan of a run for each of its scans, with the volume stored in this way.
pub fn prepared<'a>(
    context: &'a Arc<Context>,
    wanted: &'a Plan,
    scans: &'a [Scan],
    output: &'a Output,
) -> Result<Joined<'a, Prepared<'a>>> {
    let [first, end] = wanted.rows;
    let rows = rows_of(wanted, scans);
    let all = rows.last().map_or(0, |last| last.end);
    if first >= end || end > all {
        bail!("rows {first}..{end}: the scan has {all}");
    }
    if wanted.steps.method.together() && scans.len() > 1 {
        bail!("--variation volume makes all slices together, and these are of several scans");
    }
    let high = |k: usize| scans[k].views.source.shape()[1];
    // Where more is seen about the axis of one, others have as much.
    let mut wide = 0;
    for (k, scan) in scans.iter().enumerate() {
        let own = wanted.of(k, high(k));
        if !own.is_empty() {
            wide = wide.max(own.whole(scan, &mut geometry(scan, high(k)))?.whole[1]);
        }
    }
    let make = move |k: usize| {
        let scan: &Scan = &scans[k];
        let mut own = wanted.of(k, high(k));
        if scans.len() == 1 {
            return Prepared::new(context, &own, scan, output);
        }
        own.steps.region.widen(wide);
        Prepared::new(context, &own, scan, output).with_context(|| own.scan.display().to_string())
    };
    let window = match output.window {
        Some(Window::Given { low, high }) => [low, high],
        // Of floating point there is none, and those that are not found yet are found from it.
        _ => [0.0, 1.0],
    };
    Joined::new(rows, first..end, wanted.overlap, Encoding { dtype: output.dtype, window }, make)
}

impl Run<'_> {
    /// Makes the volume, or what is left of it, and the report; of a new run also its plan, beside the volume.
    pub fn go(mut self, new: bool, task: Task) -> Result<()> {
        let mut stopwatch = std::mem::take(&mut self.stopwatch);
        let Self { plan: wanted, scans, team, .. } = &self;
        let scan = &scans[0];
        let mut files = wanted.scans.iter().flat_map(Piece::scans).map(|(scan, ..)| scan).chain([&*wanted.scan]);
        if files.any(|file| same_file(file, &wanted.output)) {
            bail!("{}: the scan is read from this file; the volume needs another name", wanted.output.display());
        }
        if wanted.steps.volume.open()?.is_some() {
            bail!("the plan has no window: steps.volume.window says what integers hold");
        }
        let output = wanted.steps.volume.wanted()?;
        let mut prepared = prepared(&self.context, wanted, scans, &output)?;
        let shape @ [slices, ny, nx] = prepared.shape();
        let memory = prepared.memory()?;
        let text = wanted.text()?;
        let (format, compression) = wanted.steps.volume.kind(&wanted.output)?;
        let (row, stored) = (wanted.rows[0], Stored::new(&wanted.steps.volume.window, output.dtype));
        let all = rows_of(wanted, scans).last().map_or(0, |last| last.end);
        let (places, scale) = (prepared.any().places(row, all), stored.scale);
        let about = About { title: scan.title.as_deref(), places, row, scale, plan: &text, labels: &[] };
        let (dtype, block) = (output.dtype, wanted.block);
        let volume = Wanted { path: &wanted.output, format, compression, shape, dtype, block, about };
        let Begun { volume, mut journal, done } = self.begin(&volume, new, task)?;
        let count = slices.div_ceil(wanted.block);
        if task == Task::Begin {
            let text = format!("begun: {count} blocks of {} slices, {} of them there", wanted.block, done.len());
            talk::tell("begun", json!({"blocks": count, "block": wanted.block, "there": done.len()}), text);
            return Ok(());
        }
        stopwatch.stage("setting up");
        let mine = match task {
            Task::Part(part) => shares::part(part, count),
            _ => 0..count,
        };
        let blocks: Vec<_> = mine.filter(|k| !done.contains(k)).collect();
        let leads = team.rank() == 0;
        if leads {
            self.watch.begin();
        }
        let made = self.blocks(&blocks, &mut prepared, &*volume, &mut journal);
        self.watch.end();
        let writing = made.inspect_err(|_| self.clear(&text))?;
        // What others have made is on disk.
        team.meet()?;
        let found = gathered(*team, together(&prepared.iterations()))?;
        stopwatch.stage("slices");
        let unfinished = unfinished(&wanted.output)?;
        let last = match task {
            Task::Part(_) => journal::done(&unfinished, &text)?.len() == count && journal::claim(&unfinished)?,
            _ => leads,
        };
        if !last {
            return Ok(());
        }
        let [line, column] = [0, 1].map(|k| prepared.any().part.kept[k].start);
        let sections = Sections { stored: &stored, shape, first: [row, line, column] };
        let sections = sections.of(&*volume, &volume.through()?)?;
        volume.finish()?;
        journal::remove(&unfinished)?;
        stopwatch.stage("finishing");
        let made = blocks.iter().map(|k| ((k + 1) * wanted.block).min(slices) - k * wanted.block).sum();
        let iterations = Iterations { found, slices: made, of: slices };
        self.report((sections, places, iterations), [prepared.read(), writing], shape, memory, &stopwatch)?;
        stopwatch.stage("report");
        let (path, seconds) = (talk::path(&wanted.output), stopwatch.elapsed().as_secs_f64());
        let event = json!({
            "path": path, "shape": shape, "dtype": format!("{:?}", output.dtype).to_lowercase(),
            "scale_factor": scale[0], "add_offset": scale[1], "axis": wanted.axis, "rows": wanted.rows,
            "seconds": seconds, "stages": stopwatch.seconds(),
        });
        talk::tell(
            "volume",
            event,
            format_args!("{path}: {slices} slices of {ny} x {nx} in {seconds:.1} s: {stopwatch}"),
        );
        Ok(())
    }

    /// Begins the volume, or goes on with it.
    fn begin(&self, volume: &Wanted, new: bool, task: Task) -> Result<Begun> {
        let (team, plan) = (self.team, volume.about.plan);
        let unfinished = unfinished(volume.path)?;
        if let Task::Part([which, _]) = task {
            journal::begun(&unfinished, plan).context("`recon --begin` comes before `repeat --part`")?;
            let done = journal::done(&unfinished, plan)?;
            let journal = Journal::follow(&unfinished, plan, which)?;
            return Ok(Begun { volume: Box::new(Sliced::resume(volume)?), journal, done });
        }
        if team.rank() > 0 {
            // Not before the leader has looked for other runs, and made what was not there.
            let done = team.told(Vec::new())?.chunks_exact(8).map(number).collect();
            let journal = Journal::follow(&unfinished, plan, team.rank())?;
            return Ok(Begun { volume: Box::new(Sliced::resume(volume)?), journal, done });
        }
        let journal = Journal::lead(&unfinished, plan)?;
        if new {
            // Not before: that of a run that ended early, and goes on by it, stays.
            let path = self.plan.write().inspect_err(|_| self.clear(plan))?;
            talk::tell("plan", json!({"path": talk::path(&path)}), format_args!("plan {}", path.display()));
        }
        let done = journal.done().clone();
        let made = if done.is_empty() {
            Sliced::create(volume)
        } else {
            let text = format!("going on: {} blocks of {} slices are there", done.len(), self.plan.block);
            talk::tell("going-on", json!({"block": self.plan.block, "there": done.len()}), text);
            Sliced::resume(volume)
        };
        let volume = made.map(Box::new).inspect_err(|_| self.clear(plan))?;
        team.told(done.iter().flat_map(|&k| (k as u64).to_le_bytes()).collect())?;
        Ok(Begun { volume, journal, done })
    }

    /// Some blocks, which are shared out as processes ask for them; gives the time that writing took.
    fn blocks(
        &self,
        blocks: &[usize],
        prepared: &mut Joined<Prepared>,
        volume: &dyn Volume,
        journal: &mut Journal,
    ) -> Result<Duration> {
        let ([first, end], block, slice) = (self.plan.rows, self.plan.block, prepared.slice());
        let shares = shares::shares(blocks, self.team.size());
        let all = blocks.len().max(1) as f64;
        behind::written(volume, journal, |behind| {
            let mut before = 0;
            let mut taken = 0..self.team.next()?;
            while let Some(share) = shares.get(taken.end) {
                if self.watch.stopped() {
                    return Err(Error { status: Status::Cancelled, message: "interrupted".into() }.into());
                }
                // Others have taken those in between.
                before += shares[taken.clone()].iter().map(Range::len).sum::<usize>();
                let pieces =
                    if self.plan.by_blocks() { share.clone().map(|k| k..k + 1).collect() } else { vec![share.clone()] };
                for piece in pieces {
                    let done = before + piece.start - share.start;
                    let next = |made: f64, part: f64| {
                        let blocks = piece.len() as f64;
                        self.watch.part((done as f64 + made * blocks) / all, part * blocks / all);
                    };
                    let start = piece.start * block;
                    let rows = first + start..(first + piece.end * block).min(end);
                    let mut begun = piece.start;
                    prepared.stream_by(rows.clone(), next, |at, slices| {
                        behind.slices(start + at, slices)?;
                        let made = rows.start + at + slices.len() / slice;
                        while begun < piece.end && (first + (begun + 1) * block).min(end) <= made {
                            behind.block(begun)?;
                            begun += 1;
                        }
                        Ok(())
                    })?;
                }
                taken = taken.end..self.team.next()?;
            }
            Ok(())
        })
    }

    /// After an error: files of a run of which nothing is finished go, others are said to be there.
    fn clear(&self, plan: &str) {
        let Ok(path) = unfinished(&self.plan.output) else { return };
        let nothing = journal::done(&path, plan).is_ok_and(|done| done.is_empty());
        if !nothing {
            talk::remark(format_args!("{} is kept: the same command goes on with it", path.display()));
        } else if self.team.size() == 1 {
            // Those that cannot be removed are written over by the next run.
            let _ = journal::remove(&path);
            discard(&self.plan.output);
        }
    }

    fn report(
        &self,
        (sections, places, iterations): (Vec<Section>, Places, Iterations),
        [read, write]: [Duration; 2],
        shape: [usize; 3],
        memory: u64,
        stopwatch: &Stopwatch,
    ) -> Result<()> {
        let Self { plan: wanted, scans, .. } = self;
        let row = wanted.rows[0] + shape[0] / 2;
        // The last that has the row.
        let which = rows_of(wanted, scans).iter().rposition(|rows| rows.contains(&row)).unwrap_or_default();
        let (scan, own) = (&scans[which], wanted.of(which, scans[which].views.source.shape()[1]));
        let ([_, all, bins], [slices, ny, nx]) = (scan.views.source.shape(), shape);
        let (views, dtype) = (scan.views.which.len(), wanted.steps.volume.dtype());
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let frames = format!("{:?}, {}", scan.views.source.dtype(), scan.views.source.storage());
        let megabytes = (shape.iter().product::<usize>() * dtype.size()) as f64 / 1e6;
        let peak =
            peak::memory().map(|bytes| format!("{:.1} MB at its peak, ", bytes as f64 / 1e6)).unwrap_or_default();
        let taken = [stopwatch.elapsed(), read, write].map(seconds);
        let facts = vec![
            ("scan", format!("{}, {}", wanted.name(which), scan.format)),
            ("scans", listed(wanted)),
            ("title", scan.title.clone().unwrap_or_default()),
            ("projections", format!("{views} of {all} rows x {bins} bins, {frames}")),
            ("left out", own.input.left_out.clone().unwrap_or_default()),
            ("volume", format!("{slices} slices of {ny} x {nx}, {dtype:?}: {megabytes:.1} MB")),
            ("axis", format!("{:.3}", own.axis)),
            ("method", wanted.steps.method.told()),
            ("time", format!("{} in all; {} went on reading, {} on writing beside", taken[0], taken[1], taken[2])),
            ("memory", format!("{peak}{:.1} MB of the library", memory as f64 / 1e6)),
            ("isocenter", env!("CARGO_PKG_VERSION").into()),
        ];
        let sinogram = self.sinogram(scan, &own, row - wanted.scans.get(which).map_or(0, |piece| piece.row), row)?;
        let title = wanted.output.display().to_string();
        let (axis, found) = (own.axis, self.axis.clone());
        let (stages, plan) = (stopwatch.stages().to_vec(), wanted.text()?);
        let report = Report { title, facts, stages, sections, places, sinogram, axis, found, iterations, plan };
        let path = wanted.output.with_extension("html");
        report.write(&path)?;
        talk::tell("report", json!({"path": talk::path(&path)}), format_args!("report {}", path.display()));
        Ok(())
    }

    /// Line integrals of a detector row as they are measured, which is this one of the volume.
    fn sinogram(&self, scan: &Scan, wanted: &Plan, row: usize, of_volume: usize) -> Result<Image> {
        let [_, _, bins] = scan.views.source.shape();
        let views = scan.views.which.len();
        // A row is not worth a GPU; and Ctrl-C does not end a run whose volume is there.
        let options = ContextOptions {
            compute: Compute::Cpu,
            threads: self.context.threads(),
            nan_policy: wanted.input.nan.policy(),
            ..Default::default()
        };
        let context = Context::new(options).map(Arc::new)?;
        let mut ct = plan(&context, scan, &wanted.steps.flats.of_rows(), &[row])?;
        ct.set_options(Options { input: input(scan), filter: Filter::None, ..Options::default() })?;
        let bytes = scan.views.rows(&[row])?;
        let mut values = vec![0.0; views * bins];
        let to = ArrayMut::new(&mut values, [views, 1, bins])?;
        ct.filter(array(&bytes, scan.views.source.dtype(), [views, 1, bins]), to).context("the report's sinogram")?;
        Ok(Image {
            values,
            columns: bins,
            caption: format!("line integrals of row {of_volume}, views from top to bottom"),
        })
    }
}

/// Scans that make one volume, in words.
fn listed(plan: &Plan) -> String {
    let one = |piece: &Piece| {
        let of = |(scan, bin, _): (&Path, f64, &Input)| match piece.beside.is_empty() {
            true => scan.display().to_string(),
            false => format!("{} from bin {bin:.3} on", scan.display()),
        };
        let scans = piece.scans().map(of).collect::<Vec<_>>().join(" and ");
        format!("{scans} from row {} on, axis {:.3}", piece.row, piece.axis)
    };
    plan.scans.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// A number that was told.
fn number(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |n, &byte| n << 8 | usize::from(byte))
}
