//! From a list of events to an image in Bq/ml.

use super::attenuation;
use super::counts::{Counts, Frame, listed};
use super::doubts::Doubts;
use super::images::Volume;
use super::isotopes::{self, Isotope};
use super::lattice::Lattice;
use super::options::{ActivityOptions, MethodOptions, Reconstruction};
use super::petsird::{Events, Opened, Said, Scanner, Span, Turn};
use super::position::Position;
use super::report;
use super::restored::restored;
use super::time::{acquisition, duration};
use super::told::general;
use crate::status::unreadable;
use crate::stopwatch::Stopwatch;
use crate::watch::Watch;
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::Context;
use isocenter::cpu::buffer::Buffer;
use isocenter::error::{Error, Status};
use isocenter::pet::background::{ScatterArrays, ScatterOptions};
use isocenter::pet::corrections::FactorOptions;
use isocenter::pet::dropped::Dropped;
use isocenter::pet::factors::{Accidentals, DIRECTIONS};
use isocenter::pet::scatter::{EnergyWindow, Model};
use isocenter::pet::{Algorithm, Histos, Iteration, Options, Pet, Potential, Prior};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const UNIT: &str = "Bq/ml";
/// Passes of "svrg" and "bsrem" end when one has changed the image by no more; if the last one changed it by more than the second it is told.
const SETTLED: f64 = 1e-3;
const UNSETTLED: f64 = 0.02;
/// What a prior may take of the counts without a word: given back, means of regions are within 2 percent.
const TAKEN: f64 = 0.06;
const SMOOTHNESS: f64 = 0.02;
/// How early the prior keeps edges.
const GAMMA: f64 = 2.0;
const KILOVOLTS: f64 = 120.0;
/// What scatter is made of: images that have the activity, which may be noisy.
const DRAFT: usize = 3;
/// Part of the run that reading is, about.
const READING: f64 = 0.3;
/// Arrays of histo-images besides those of frames: factors, randoms, what is added, and a projection.
const ARRAYS: usize = 4;

/// Numbers of a frame.
#[derive(Clone, Debug)]
pub struct Found {
    /// Of its first block, s from the start of the scan; of all its blocks together, s.
    pub start: f64,
    pub duration: f64,
    /// Of the frame in the file.
    pub prompts: u64,
    pub delays: u64,
    /// Prompts in histo-images.
    pub counted: u64,
    /// The others, by cause.
    pub dropped: Dropped,
    /// Counts that are expected in histo-images.
    pub randoms: f64,
    pub scatter: f64,
    /// By what single scatter was multiplied, and the counts beside all that attenuates that tell so; 1 and 0 where it was not.
    pub scale: f64,
    pub tails: f64,
    /// Mean over the body: counts of a voxel a Bq/ml.
    pub sensitivity: f64,
    /// Of the prior; 0 without.
    pub strength: f64,
    /// What the image was multiplied by, so that it explains the counts that the prior took.
    pub restored: f64,
    /// Of each pass; empty of a frame without counts.
    pub history: Vec<Iteration>,
}

impl Found {
    /// For programs.
    pub fn event(&self) -> Value {
        let dropped: serde_json::Map<_, _> =
            listed(&self.dropped).into_iter().map(|(cause, n)| (cause.replace(' ', "_"), n.into())).collect();
        let passes = self
            .history
            .iter()
            .map(|one| json!({"log_likelihood": one.log_likelihood, "penalty": one.penalty, "change": one.change}));
        json!({
            "start": self.start, "duration": self.duration, "prompts": self.prompts, "delays": self.delays, "counted": self.counted, "dropped": dropped,
            "randoms": self.randoms, "scatter": self.scatter, "scatter_scale": self.scale, "tails": self.tails, "sensitivity": self.sensitivity,
            "strength": self.strength, "restored": self.restored, "passes": passes.collect::<Vec<_>>(),
        })
    }
}

/// What was made.
pub struct Quantified {
    /// `[frame][z][y][x]`
    pub image: Vec<f32>,
    /// None of one image of all.
    pub frames: Option<usize>,
    pub shape: [usize; 3],
    pub voxel: f64,
    /// x, y, z of the image's middle in the file's frame, mm: the scanner's, or the reference of its gantry alignment.
    pub centre: [f64; 3],
    pub found: Vec<Found>,
    pub isotope: Isotope,
    /// What was given and chosen, in words.
    pub settings: Vec<(&'static str, String)>,
    pub position: Position,
    pub scanner: String,
}

impl Quantified {
    /// Of each frame, names and values.
    pub fn rows(&self) -> Vec<Vec<(&'static str, String)>> {
        self.found.iter().map(report::numbers).collect()
    }

    /// Writes a page about it; `command` is what made it.
    pub fn report(&self, path: &Path, doubts: &[String], command: &str) -> Result<()> {
        report::write(path, self, doubts, command)
    }
}

/// The activity at the start of the scan.
///
/// Prompts are counted in histo-images, randoms are made of the delays, scatter of images, the attenuation, and the file's energy window, all with the factors of the
/// file's crystals and their efficiencies.
pub fn quantify(
    opened: Opened,
    given: &Reconstruction,
    context: Arc<Context>,
    watch: &Watch,
    doubts: &Doubts,
) -> Result<Quantified> {
    let mut stopwatch = Stopwatch::default();
    let doubt = |words: String| doubts.tell(words);
    let spans = given.activity.frames();
    check_frames(&spans)?;
    let scanner = opened.understood(Scanner::new(&opened.header, given.lattice.depth))?;
    let said = opened.understood(Said::new(&opened.header))?;
    let path = opened.path.display();
    let none = || unreadable(anyhow!("{path} has no coincidences: they have to be sorted from its singles first"));
    said.stores[0].then_some(()).ok_or_else(none)?;
    let isotope = isotope(&opened, &said, &given.activity, &doubt)?;
    let position = position(&said, given.map.position, &doubt);
    let shift = if given.map.no_alignment { [0.0; 3] } else { said.shift()? };
    let map = map(given, &scanner, position, shift)?;
    let lattice = Lattice::new(&scanner, map.as_ref().map(|(map, _)| map), &given.lattice)?;
    check_memory(&lattice, spans.len().max(1))?;
    let mut pet = lattice.plan(context, &scanner)?;
    let map = match map {
        None => None,
        Some((mut map, unit)) => {
            let kilovolts = given.map.kilovolts.unwrap_or(KILOVOLTS);
            attenuation::in_millimetres(&pet, &mut map, unit, kilovolts, &doubt)?;
            Some(map)
        }
    };
    doubt_scanner(&scanner, &isotope, map.is_some(), &doubt);
    doubt_header(&said, &scanner, &doubt);
    let randoms = !given.method.no_randoms && said.stores[1];
    let is_needed = !given.method.no_randoms;
    watch.begin();
    stopwatch.stage("header and map");
    let path = opened.path.clone();
    let mut counts = Counts::new(&mut pet, spans.len().max(1), (watch, READING))?;
    let events = Events::read(opened, &scanner, &spans, randoms, &mut counts)?;
    let frames = counts.frames;
    stopwatch.stage("events");
    events.doubts.iter().cloned().for_each(&doubt);
    let moves =
        || unreadable(anyhow!("bed or gantry move in {}: events of several places are in one image", path.display()));
    (!events.moves).then_some(()).ok_or_else(moves)?;
    if events.has_dead_time && given.activity.live == 1.0 {
        doubt("the file has dead times, which are not used: give --live, the part of the time in which the scanner was ready".into());
    }
    let mut found: Vec<_> = frames.iter().enumerate().map(|(k, frame)| told(&events, k, frame)).collect();
    doubt_pairs(&found, &doubt);
    check_counts(&found, &events, &frames, is_needed, &doubt).map_err(unreadable)?;
    let mut scan = Scan {
        pet,
        scanner: &scanner,
        lattice: &lattice,
        map: map.as_ref(),
        method: &given.method,
        steps: Steps::new(watch, found.iter().filter(|of| of.counted > 0).count(), &given.method),
        doubt: &doubt,
        stopwatch,
    };
    let mut image = Vec::new();
    for ((of, frame), blocks) in found.iter_mut().zip(frames).zip(&events.blocks) {
        let mut made = if of.counted == 0 {
            vec![if blocks.is_empty() { f32::NAN } else { 0.0 }; lattice.shape.iter().product()]
        } else {
            let of_time = acquisition(blocks, &isotope, given.activity.live, given.activity.delay);
            scan.image(of, &frame, FactorOptions { acquisition: of_time, ..FactorOptions::default() })?
        };
        made.iter_mut().for_each(|v| *v *= given.activity.calibration as f32);
        image.extend(scanner.turn.back().image(made, lattice.shape).0);
    }
    watch.end();
    let shape = turned(scanner.turn.back(), lattice.shape);
    let centre = scanner.turn.back().turned(lattice.centre);
    let centre = [0, 1, 2].map(|k| centre[k] + shift[k]);
    let mut settings = settings(&lattice, shape, &scanner, given, (&isotope, position), map.as_ref(), shift);
    settings.push(("computed in", computed_in(&scan.stopwatch)));
    let frames = if spans.is_empty() { None } else { Some(spans.len()) };
    Ok(Quantified {
        image,
        frames,
        shape,
        voxel: lattice.voxel,
        centre,
        found,
        isotope,
        settings,
        position,
        scanner: scanner.model,
    })
}

/// A shape along other axes.
fn turned(turn: Turn, [nz, ny, nx]: [usize; 3]) -> [usize; 3] {
    let [x, y, z] = turn.turned([nx, ny, nz]);
    [z, y, x]
}

fn map(
    given: &Reconstruction,
    scanner: &Scanner,
    position: Position,
    shift: [f64; 3],
) -> Result<Option<(Volume, super::options::Unit)>> {
    let Some(path) = &given.map.attenuation else { return Ok(None) };
    let (map, unit) = attenuation::read(path, given.map.unit, position)?;
    let centre = match given.map.map_centre.as_deref() {
        Some([x, y, z]) => [*x, *y, *z],
        _ => [0, 1, 2].map(|k| map.centre[k] - shift[k]),
    };
    let turn = scanner.turn;
    let (image, shape) = turn.image(map.image, map.shape);
    let map = Volume { image, shape, voxel: turn.turned(map.voxel), centre: turn.turned(centre), unit: map.unit };
    Ok(Some((map, unit)))
}

fn check_frames(spans: &[Span]) -> Result<()> {
    for (k, span) in spans.iter().enumerate() {
        let [start, end] = span.map(|v| general(v, 6));
        ensure!(span[1] > span[0], "--frame {start} {end}: its end must be after its start");
        if let Some(before) = k.checked_sub(1).map(|before| spans[before][1]).filter(|before| span[0] < *before) {
            let before = general(before, 6);
            bail!(
                "--frame {start} {end} begins before the end of the one before it, {before} s; frames must ascend and not overlap"
            );
        }
    }
    Ok(())
}

/// That histo-images fit what memory there is.
fn check_memory(lattice: &Lattice, frames: usize) -> Result<()> {
    let values = lattice.histo_images().and_then(|n| n.checked_mul(frames + ARRAYS));
    let bytes = values.and_then(|n| n.checked_mul(size_of::<f32>())).map(|n| n as u64);
    let available = isocenter::cpu::memory::available();
    if bytes.is_none_or(|bytes| available.is_some_and(|there| bytes > there)) {
        let ([nz, ny, nx], [azimuths, tilts]) = (lattice.shape, [lattice.azimuths, lattice.tilts]);
        let needed = bytes.map_or("more than any machine has".into(), |bytes| format!("{:.1} GB", bytes as f64 / 1e9));
        let there = available.map_or(String::new(), |there| format!(", and there are {:.1} GB", there as f64 / 1e9));
        let words = format!(
            "{azimuths} x {tilts} views of {nx} x {ny} x {nz} voxels, of {frames} frames, need {needed}{there}: take larger voxels (--voxel), fewer views (--azimuths, --tilts), or \
             frames one by one"
        );
        return Err(Error { status: Status::OutOfMemory, message: words }.into());
    }
    Ok(())
}

/// What is given goes before what the file says.
fn isotope(opened: &Opened, said: &Said, given: &ActivityOptions, doubt: &dyn Fn(String)) -> Result<Isotope> {
    let Said { isotope: known, nuclide, .. } = said;
    let numbers = given.half_life.is_some() && given.branching.is_some();
    let found = match &given.isotope {
        Some(name) => {
            let found = isotopes::known(name);
            ensure!(
                found.is_some() || numbers,
                "--isotope {name} is none that is known; it must be one of {}, or give --half-life and --branching",
                isotopes::names()
            );
            if known.is_some() && *known != found {
                doubt(format!("--isotope is {name}, and the file's is {nuclide}"));
            }
            found
        }
        None if !nuclide.is_empty() && known.is_none() && !numbers => {
            let (path, names) = (opened.path.display(), isotopes::names());
            return Err(unreadable(anyhow!(
                "{path} names its isotope {nuclide}, which is not one that is known: give --isotope, one of {names}, or --half-life and --branching"
            )));
        }
        None if nuclide.is_empty() && !numbers => {
            doubt("the file does not name its isotope, which is taken to be F-18: give --isotope".into());
            isotopes::known("F-18")
        }
        None => known.clone(),
    };
    let name =
        found.as_ref().map(|one| one.name.clone()).or_else(|| given.isotope.clone()).unwrap_or_else(|| nuclide.clone());
    let half_life = given.half_life.or(found.as_ref().map(|one| one.half_life));
    let branching = given.branching.or(found.as_ref().map(|one| one.branching));
    let (half_life, branching) = half_life.zip(branching).context("an isotope without half-life")?;
    Ok(Isotope { name, half_life, branching })
}

fn position(said: &Said, given: Option<Position>, doubt: &dyn Fn(String)) -> Position {
    let lies = &said.lies;
    if let Some(given) = given {
        if let Some(other) = said.position.filter(|other| *other != given) {
            doubt(format!("--position is {given}, and the file says that the patient lies {lies}, which is {other}"));
        }
        return given;
    }
    if said.position.is_none() && !lies.is_empty() {
        let names = super::position::NAMES.join(", ");
        doubt(format!(
            "the file says that the patient lies {lies}, which is none of {names}: HFS is taken, give --position"
        ));
    }
    said.position.unwrap_or_default()
}

/// Numbers of a frame that its events tell.
fn told(events: &Events, k: usize, frame: &Frame) -> Found {
    let blocks = &events.blocks[k];
    let start = blocks.iter().map(|[begin, _]| *begin).fold(f64::INFINITY, f64::min);
    Found {
        // Of a frame without blocks, the time that was asked for.
        start: if start.is_finite() { start } else { events.asked[k][0] },
        duration: duration(blocks),
        prompts: frame.prompts,
        delays: frame.delays,
        counted: frame.measured.iter().map(|n| u64::from(*n)).sum(),
        dropped: frame.dropped,
        randoms: 0.0,
        scatter: 0.0,
        scale: 1.0,
        tails: 0.0,
        sensitivity: 0.0,
        strength: 0.0,
        restored: 1.0,
        history: Vec::new(),
    }
}

fn doubt_pairs(found: &[Found], doubt: &dyn Fn(String)) {
    for (k, of) in found.iter().enumerate().filter(|(_, of)| of.dropped.not_measured > 0) {
        let (lost, prompts) = (of.dropped.not_measured, of.prompts);
        let frame = if found.len() > 1 { format!(" of frame {k}") } else { String::new() };
        doubt(format!(
            "{lost} of {prompts} prompts{frame} are of pairs of crystals that the file says are not measured: they are dropped"
        ));
    }
}

/// What no image at all can be made of is an error; of single frames it is told.
fn check_counts(
    found: &[Found],
    events: &Events,
    frames: &[Frame],
    randoms: bool,
    doubt: &dyn Fn(String),
) -> Result<()> {
    let sum = |of: fn(&Found) -> u64| found.iter().map(of).sum::<u64>();
    let (prompts, delays, several) = (sum(|of| of.prompts), sum(|of| of.delays), found.len() > 1);
    let in_frames = if several { " in any frame" } else { "" };
    ensure!(prompts > 0 || delays > 0, "there are no events{in_frames}");
    ensure!(
        prompts > 0,
        "there are delays without prompts: {delays} delayed coincidences, of which alone no image can be made"
    );
    ensure!(
        !randoms || delays > 0,
        "there are prompts without delays, of which randoms are made: give --no-randoms if there are none, or they were taken off"
    );
    let causes = || {
        listed(&found[0].dropped).into_iter().map(|(cause, n)| format!("{n} {cause}")).collect::<Vec<_>>().join(", ")
    };
    ensure!(sum(|of| of.counted) > 0, "none of {prompts} prompts are in the lattice: {}", causes());
    for (k, of) in found.iter().enumerate() {
        let frame = |with: &str| if several { format!(" {with} frame {k}") } else { String::new() };
        ensure!(
            of.counted == 0 || of.duration > 0.0,
            "blocks of events{} last 0 s, so that there is no activity a second",
            frame("of")
        );
        if events.blocks[k].is_empty() {
            doubt(format!("no block of events begins in frame {k}: its image is NaN"));
        } else if of.counted == 0 {
            let prompts = if of.prompts > 0 { "prompts in the lattice" } else { "prompts" };
            doubt(format!("there are no {prompts} in frame {k}: its image is 0"));
        } else if randoms && frames[k].sums.iter().all(|n| *n == 0) {
            let frame = frame("in");
            doubt(format!(
                "there are prompts without delays in the field of view{frame}: there are taken to be no randoms"
            ));
        }
    }
    Ok(())
}

fn doubt_scanner(scanner: &Scanner, isotope: &Isotope, has_map: bool, doubt: &dyn Fn(String)) {
    if scanner.efficiencies.is_none() {
        doubt(
            "the file has no efficiencies of its crystals, so that they are taken to detect every photon: values are too small by the square of what they detect".into(),
        );
    }
    if !has_map {
        doubt("there is no map of attenuation: neither attenuation nor scatter is taken off".into());
    }
    if let Some(remark) = isotopes::remark(&isotope.name) {
        doubt(format!("{} {remark}", isotope.name));
    }
}

fn doubt_header(said: &Said, scanner: &Scanner, doubt: &dyn Fn(String)) {
    if said.calibration != 1.0 {
        let factor = general(said.calibration, 6);
        doubt(format!(
            "the file's calibration factor, {factor}, is not used, which is one of line integrals: give --calibration, the activity of a phantom over what this makes of its scan"
        ));
    }
    let ([lower, upper], resolution) = (scanner.window, scanner.energy_resolution);
    if upper != 0.0 && !(lower < 511.0 && 511.0 < upper) {
        let [lower, upper] = [lower, upper].map(|v| general(v, 6));
        doubt(format!(
            "the file's energy window, {lower} to {upper} keV, does not have 511 keV, of which scatter is made: it may be in another unit"
        ));
    }
    if resolution > 1.0 {
        let resolution = general(resolution, 6);
        doubt(format!(
            "the file's energy resolution, {resolution} of 511 keV, is more than all of it: it may be in percent or keV"
        ));
    }
    if scanner.turn != Turn::NONE {
        let axis = ["x", "y", "z"][scanner.turn.0[2]];
        doubt(format!(
            "the scanner's axis is {axis} of the file: the image is along the file's axes, and the patient's position is of a patient along its z"
        ));
    }
}

/// How far a run is, in passes over the views.
struct Steps<'a> {
    watch: &'a Watch,
    done: f64,
    all: f64,
}

/// What factors, randoms and scatter are worth, about.
const STEP: f64 = 3.0;

impl<'a> Steps<'a> {
    fn new(watch: &'a Watch, frames: usize, method: &MethodOptions) -> Self {
        let passes = method.iterations.unwrap_or(method.algorithm.passes()) as f64;
        let scatter = f64::from(method.scatter) * (DRAFT as f64 + STEP);
        Self { watch, done: 0.0, all: frames as f64 * (4.0 * STEP + scatter + passes) }
    }

    /// Calls that follow are worth so many passes.
    fn next(&mut self, passes: f64) {
        let part = (1.0 - READING) / self.all;
        self.watch.part(READING + self.done * part, passes * part);
        self.done += passes;
    }
}

/// What images are made with.
struct Scan<'a> {
    pet: Pet,
    scanner: &'a Scanner,
    lattice: &'a Lattice,
    map: Option<&'a Volume>,
    method: &'a MethodOptions,
    steps: Steps<'a>,
    doubt: &'a dyn Fn(String),
    stopwatch: Stopwatch,
}

impl Scan<'_> {
    /// views, nz, ny, nx.
    fn shape(&self) -> [usize; 4] {
        let [nz, ny, nx] = self.lattice.shape;
        [self.lattice.azimuths * self.lattice.tilts, nz, ny, nx]
    }

    fn histos(&self) -> Result<Buffer> {
        Ok(Buffer::zeroed(self.shape().iter().product())?)
    }

    /// Of a frame, in Bq/ml before calibration.
    fn image(&mut self, of: &mut Found, frame: &Frame, mut options: FactorOptions) -> Result<Vec<f32>> {
        if let Some(map) = self.map {
            options.map_voxel = map.voxel;
            options.map_centre = [0, 1, 2].map(|k| map.centre[k] - self.lattice.centre[k]);
        }
        let factors = self.factors(&options).context("factors")?;
        self.stopwatch.stage("factors");
        of.sensitivity = self.sensitivity(&factors).context("sensitivity")?;
        self.stopwatch.stage("sensitivity");
        let randoms = self.randoms(of, frame).context("randoms")?;
        self.stopwatch.stage("randoms");
        let scatter = self.scatter(of, frame, &options, (&factors, randoms.as_ref())).context("scatter")?;
        self.stopwatch.stage("scatter");
        let additive = scatter.or(randoms);
        let image = self.solve(of, frame, &factors, additive.as_ref()).context("the image");
        self.stopwatch.stage("image");
        image
    }

    fn factors(&mut self, options: &FactorOptions) -> Result<Buffer> {
        self.steps.next(STEP);
        let (shape, mut factors) = (self.shape(), self.histos()?);
        let efficiencies = efficiencies(self.scanner)?;
        let map = self.map.map(|map| Array::new(&map.image, map.shape)).transpose()?;
        self.pet.factors(options, efficiencies.as_ref(), map.as_ref(), ArrayMut::new(&mut factors, shape)?)?;
        Ok(factors)
    }

    /// Mean over what is seen of the body.
    fn sensitivity(&mut self, factors: &[f32]) -> Result<f64> {
        self.steps.next(STEP);
        let mut image = vec![0.0; self.lattice.shape.iter().product()];
        let to = ArrayMut::new(&mut image, self.lattice.shape)?;
        self.pet.sensitivity(Some(Array::new(factors, self.shape())?), to)?;
        let Lattice { shape, voxel, centre, .. } = self.lattice;
        let body = self.map.map(|map| attenuation::body(map, *shape, *voxel, *centre));
        let is_inside = |k: usize| image[k] > 0.0 && body.as_ref().is_none_or(|body| body[k]);
        let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
        let inside: Vec<_> = (0..image.len()).filter(|k| is_inside(*k)).map(|k| f64::from(image[k])).collect();
        Ok(mean(if inside.is_empty() { image.iter().map(|v| f64::from(*v)).collect() } else { inside }))
    }

    fn randoms(&mut self, of: &mut Found, frame: &Frame) -> Result<Option<Buffer>> {
        self.steps.next(STEP);
        if frame.sums.iter().all(|n| *n == 0) {
            return Ok(None);
        }
        let crystals = frame.sums.len();
        let accidentals = Accidentals { duration: of.duration, window: self.pet.random_window()? };
        let mut singles = vec![0f32; crystals];
        let sums = Array::of(&frame.sums, [crystals])?;
        self.pet.singles(0.0, &accidentals, &sums, &mut ArrayMut::of(&mut singles, [crystals])?)?;
        let (shape, mut randoms) = (self.shape(), self.histos()?);
        let to = ArrayMut::new(&mut randoms, shape)?;
        self.pet.randoms(&accidentals, DIRECTIONS, &Array::of(&singles, [crystals])?, to)?;
        of.randoms = randoms.iter().map(|v| f64::from(*v)).sum();
        Ok(Some(randoms))
    }

    /// Scatter and randoms; None of a scan without scatter.
    fn scatter(
        &mut self,
        of: &mut Found,
        frame: &Frame,
        factors: &FactorOptions,
        (known, randoms): (&Buffer, Option<&Buffer>),
    ) -> Result<Option<Buffer>> {
        let Some(map) = self.map.filter(|_| self.method.scatter > 0) else { return Ok(None) };
        let or = |v: f64, default: f64| if v == 0.0 { default } else { v };
        let ([lower, upper], default) = (self.scanner.window, EnergyWindow::default());
        let window = EnergyWindow {
            resolution: or(self.scanner.energy_resolution, default.resolution),
            lower: or(lower, default.lower),
            upper: or(upper, default.upper),
        };
        let options = ScatterOptions { factors: *factors, model: Model { window, ..Model::default() } };
        self.pet.set_options(Options { algorithm: Algorithm::Osem, iterations: DRAFT, ..Options::default() })?;
        let shape = self.shape();
        let mut additive: Option<Buffer> = None;
        for _ in 0..self.method.scatter {
            self.steps.next(DRAFT as f64);
            let image = self.reconstruct(frame, known, additive.as_ref().or(randoms))?;
            self.steps.next(STEP);
            let mut made = self.histos()?;
            let arrays = ScatterArrays {
                image: Array::new(&image, self.lattice.shape)?,
                efficiencies: efficiencies(self.scanner)?,
                attenuation: Array::new(&map.image, map.shape)?,
                measured: Some(Array::of(&frame.measured, shape)?),
                randoms: randoms.map(|randoms| Array::new(randoms, shape)).transpose()?,
            };
            let found = self.pet.scatter(&options, &arrays, ArrayMut::new(&mut made, shape)?)?;
            (of.scatter, of.scale, of.tails) = (found.scatter * found.scale, found.scale, found.tails);
            additive = Some(made);
        }
        Ok(additive)
    }

    fn reconstruct(&mut self, frame: &Frame, factors: &[f32], additive: Option<&Buffer>) -> Result<Vec<f32>> {
        let (shape, mut image) = (self.shape(), vec![0.0; self.lattice.shape.iter().product()]);
        let histos = Histos {
            measured: Array::of(&frame.measured, shape)?,
            factors: Some(Array::new(factors, shape)?),
            additive: additive.map(|additive| Array::new(additive, shape)).transpose()?,
        };
        self.pet.reconstruct(&histos, ArrayMut::new(&mut image, self.lattice.shape)?)?;
        Ok(image)
    }

    fn solve(&mut self, of: &mut Found, frame: &Frame, factors: &[f32], additive: Option<&Buffer>) -> Result<Vec<f32>> {
        let MethodOptions { algorithm, iterations, smoothness, .. } = *self.method;
        let climbs = algorithm.climbs();
        of.strength = if climbs { smoothness.unwrap_or(SMOOTHNESS) * of.sensitivity } else { 0.0 };
        let potential = Potential::RelativeDifference { gamma: GAMMA, epsilon: 0.0 };
        let prior = Prior { potential, strength: of.strength, anatomy_sigma: 0.0 };
        self.pet.set_prior((of.strength > 0.0).then_some((prior, [None, None])))?;
        let passes = iterations.unwrap_or(algorithm.passes());
        self.pet.set_options(Options {
            algorithm: algorithm.algorithm(),
            iterations: passes,
            change: if climbs { SETTLED } else { 0.0 },
            ..Options::default()
        })?;
        self.steps.next(passes as f64);
        let mut image = self.reconstruct(frame, factors, additive)?;
        of.history = self.pet.history().to_vec();
        if of.strength > 0.0 {
            self.restore(of, frame, &mut image, (factors, additive))?;
        }
        if image.iter().all(|v| *v == 0.0) && of.counted as f64 > of.randoms {
            (self.doubt)(format!("the image is 0 everywhere, though there are {} counts", of.counted));
        }
        if let Some(last) = of.history.last().filter(|last| last.change > UNSETTLED) {
            let (passes, change) = (of.history.len(), general(last.change, 2));
            (self.doubt)(format!(
                "the last of {passes} passes changed the image by {change} of it: it has not settled"
            ));
        }
        Ok(image)
    }

    /// Gives the counts back that the prior took.
    fn restore(
        &mut self,
        of: &mut Found,
        frame: &Frame,
        image: &mut [f32],
        (factors, additive): (&[f32], Option<&Buffer>),
    ) -> Result<()> {
        self.steps.next(STEP);
        let (shape, mut projected) = (self.shape(), self.histos()?);
        let views: Vec<usize> = (0..shape[0]).collect();
        self.pet.forward(&views, Array::new(image, self.lattice.shape)?, ArrayMut::new(&mut projected, shape)?)?;
        of.restored = restored(&frame.measured, factors, &projected, additive.map(|additive| &additive[..]));
        image.iter_mut().for_each(|v| *v *= of.restored as f32);
        if of.restored > 1.0 + TAKEN {
            let (percent, factor) = (100.0 * (1.0 - 1.0 / of.restored), of.restored);
            (self.doubt)(format!(
                "the prior took {percent:.0} % of the counts, and the image was multiplied by {factor:.3} for them: means of regions may be some percent off; a smaller \
                 --smoothness takes fewer, --algorithm mlem none"
            ));
        }
        Ok(())
    }
}

/// Of crystals.
fn efficiencies(scanner: &Scanner) -> Result<Option<Array<'_, 1>>> {
    Ok(scanner.efficiencies.as_ref().map(|values| Array::of(values, [values.len()])).transpose()?)
}

/// All of it, and what each part took.
fn computed_in(stopwatch: &Stopwatch) -> String {
    let seconds = |time: Duration| format!("{} s", general(time.as_secs_f64(), 3));
    let mut parts: Vec<(&str, Duration)> = Vec::new();
    for (name, taken) in stopwatch.stages() {
        match parts.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += *taken,
            None => parts.push((name, *taken)),
        }
    }
    let parts: Vec<_> = parts.into_iter().map(|(name, taken)| format!("{name} {}", seconds(taken))).collect();
    format!("{}: {}", seconds(stopwatch.elapsed()), parts.join(", "))
}

/// What was given and chosen, in words.
fn settings(
    lattice: &Lattice,
    [nz, ny, nx]: [usize; 3],
    scanner: &Scanner,
    given: &Reconstruction,
    (isotope, position): (&Isotope, Position),
    map: Option<&Volume>,
    shift: [f64; 3],
) -> Vec<(&'static str, String)> {
    let number = |v: f64| general(v, 6);
    let ([lower, upper], resolution) = (scanner.window.map(number), scanner.energy_resolution);
    let ActivityOptions { delay, live, calibration, .. } = given.activity;
    let smoothness = number(given.method.smoothness.unwrap_or(SMOOTHNESS));
    let algorithm = given.method.algorithm;
    let shifts = shift.map(|v| general(v, 4)).join(", ");
    let of_map = map.map_or("none".into(), |map| {
        let [mz, my, mx] = map.shape;
        let [voxel, centre] = [map.voxel, map.centre].map(|of| of.map(|v| general(v, 4)));
        format!("{mx} x {my} x {mz} voxels of {} mm, centre {} mm", voxel.join(" x "), centre.join(", "))
    });
    let when = |is: bool, words: String| if is { words } else { String::new() };
    vec![
        ("lattice", format!("{nx} x {ny} x {nz} voxels of {} mm", number(lattice.voxel))),
        (
            "views",
            format!("{} azimuths x {} tilts to {} rad", lattice.azimuths, lattice.tilts, general(lattice.max_tilt, 3)),
        ),
        ("response", format!("{} ps, {} mm across", general(lattice.tof_fwhm, 4), general(lattice.width, 3))),
        (
            "energy window",
            when(resolution != 0.0, format!("{lower} to {upper} keV, resolution {}", general(resolution, 3))),
        ),
        ("gantry alignment", when(shift != [0.0; 3], format!("map and image are shifted by {shifts} mm"))),
        ("efficiencies", if scanner.efficiencies.is_some() { "of the file" } else { "1" }.into()),
        ("attenuation", of_map),
        ("half-life, branching", format!("{} s, {}", number(isotope.half_life), general(isotope.branching, 4))),
        (
            "reference time",
            if delay > 0.0 {
                format!("{} s before the start of the scan", number(delay))
            } else {
                "start of the scan".into()
            },
        ),
        ("live, calibration", format!("{}, {}", number(live), number(calibration))),
        (
            "algorithm",
            format!("{}{}", algorithm.name(), when(algorithm.climbs(), format!(", smoothness {smoothness}"))),
        ),
        ("patient", position.to_string()),
    ]
}
