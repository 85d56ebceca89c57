//! From a list of events to an image in Bq/ml.

use super::attenuation;
use super::averaged::Averaged;
use super::checks::{Sources, check_counts, doubt_pairs};
use super::chosen::{doubt_header, doubt_scanner, isotope, position};
use super::counts::{Counts, Frame};
use super::curve;
use super::cut::Cut;
use super::dead::Dead;
use super::doubts::Doubts;
use super::found::{Found, Quantified};
use super::images::Volume;
use super::lattice::Lattice;
use super::options::{Projector, Reconstruction, Unit};
use super::petsird::{Events, Opened, Said, Scanner, Turn, Wanted};
use super::position::Position;
use super::settings::{computed_in, settings};
use super::solving::{Made, READING, Recorded, Scan, Steps};
use super::time::{acquisition, correction, duration};
use super::told::general;
use crate::status::unreadable;
use crate::stopwatch::Stopwatch;
use crate::watch::Watch;
use anyhow::{Result, anyhow, ensure};
use isocenter::context::Context;
use isocenter::error::{Error, Status};
use std::sync::Arc;

const KILOVOLTS: f64 = 120.0;
/// Arrays of histo-images besides those of frames: factors, randoms, what is added, and a projection.
const ARRAYS: usize = 4;

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
    let cut = Cut::new(&given.activity)?;
    let mut scanner = opened.understood(Scanner::new(&opened.header, given.lattice.depth))?;
    scanner.take(&given.scanner)?;
    let said = opened.understood(Said::new(&opened.header))?;
    let path = opened.path.display();
    let none = || unreadable(anyhow!("{path} has no coincidences: they have to be sorted from its singles first"));
    said.stores[0].then_some(()).ok_or_else(none)?;
    let isotope = isotope(&opened, &said, &given.activity, &doubt)?;
    let position = position(&said, given.map.position, &doubt);
    let shift = if given.map.no_alignment { [0.0; 3] } else { said.shift()? };
    let map = map(given, &scanner, position, shift)?;
    let lattice = Lattice::new(&scanner, map.as_ref().map(|(map, _)| map), &given.lattice)?;
    if lattice.projector == Projector::HistoImages {
        check_memory(&lattice, cut.parts.len())?;
    }
    let randoms = !given.method.no_randoms && said.stores[1];
    check_window(&mut scanner, given.scanner.window, randoms)?;
    let mut pet = lattice.plan(context.clone(), &scanner)?;
    let map = match map {
        None => None,
        Some((mut map, unit)) => {
            let kilovolts = given.map.kilovolts.unwrap_or(KILOVOLTS);
            attenuation::in_millimetres(&pet, &mut map, unit, kilovolts, &doubt)?;
            Some(Arc::new(map))
        }
    };
    doubt_scanner(&scanner, &isotope, (map.is_some(), given.method.scatter > 0), &doubt);
    doubt_header(&said, &scanner, &doubt);
    scanner.doubts.iter().chain(&cut.doubts).cloned().for_each(&doubt);
    let is_needed = !given.method.no_randoms;
    watch.begin();
    stopwatch.stage("header and map");
    let path = opened.path.clone();
    let kind = (lattice.projector, scanner.times.is_timed());
    let mut counts = Counts::new(&mut pet, &cut, kind, (watch, READING))?;
    let wanted = Wanted { delays: randoms, singles: is_needed };
    let events = Events::read(opened, &scanner, &cut.spans, wanted, &mut counts)?;
    let frames = counts.frames;
    let events = cut.grouped(events);
    stopwatch.stage("events");
    events.doubts.iter().cloned().for_each(&doubt);
    let moves =
        || unreadable(anyhow!("bed or gantry move in {}: events of several places are in one image", path.display()));
    (!events.moves).then_some(()).ok_or_else(moves)?;
    let mut found: Vec<_> = frames.iter().enumerate().map(|(k, frame)| told(&events, k, frame)).collect();
    doubt_pairs(&found, &cut, &doubt);
    // Delays go before rates of single photons.
    let recorded = events.singles.as_ref().filter(|_| found.iter().all(|of| of.delays == 0));
    let sources = Sources { is_needed, is_recorded: recorded.is_some() };
    check_counts(&found, &events, (&cut, &frames), sources, &doubt).map_err(unreadable)?;
    if let Some(recorded) = recorded {
        recorded.doubts(&events.blocks.concat(), &scanner).into_iter().for_each(&doubt);
    }
    let scanner = Arc::new(scanner);
    let dead = Dead::new(scanner.clone(), &events, (given.activity.live, isotope.half_life), &doubt);
    let mut averaged = Averaged::new(&cut, scanner.turn, map.as_deref(), &lattice);
    let mut scan = Scan {
        context,
        pet,
        scanner: scanner.clone(),
        recorded: None,
        lattice: &lattice,
        map: map.clone(),
        method: &given.method,
        steps: Steps::new(watch, found.iter().filter(|of| of.counted > 0).count(), &given.method),
        doubt: &doubt,
        stopwatch,
    };
    let mut images = Vec::new();
    for (k, ((of, frame), blocks)) in found.iter_mut().zip(frames).zip(&events.blocks).enumerate() {
        let voxels = lattice.shape.iter().product();
        if of.duration == 0.0 {
            if averaged.is_none() {
                images.push(vec![if blocks.is_empty() { f32::NAN } else { 0.0 }; voxels]);
            }
            continue;
        }
        if let Some(averaged) = &averaged {
            scan.map = averaged.map(k).map(Arc::new);
        }
        let name = &cut.parts[k].name;
        let own = dead.of(name, blocks, of.counted)?;
        of.alive = own.alive;
        if own.alive <= 0.0 {
            // Nothing could be measured.
            if averaged.is_none() {
                images.push(vec![f32::NAN; voxels]);
            }
            continue;
        }
        let of_time = acquisition(blocks, &isotope, own.live, given.activity.delay);
        let rates = recorded.filter(|_| of.counted > 0).map(|recorded| recorded.of(blocks, &own.scanner, name));
        let rates = rates.transpose()?.map(|(rates, words)| {
            words.into_iter().for_each(&doubt);
            // These are counted before coincidences are made of them.
            let rates = rates.iter().map(|rate| (rate * own.ready.sqrt()) as f32).collect();
            Recorded { rates, pairs: own.randoms }
        });
        scan.take(own.scanner, rates)?;
        of.decay = correction(blocks, &isotope, given.activity.delay);
        let made = match (&averaged, of.counted) {
            (None, 0) => Made { image: vec![0.0; voxels], sensitivity: Vec::new() },
            (Some(_), 0) => scan.without_counts(&frame, of_time)?,
            _ => scan.image(of, &frame, of_time)?,
        };
        match &mut averaged {
            Some(averaged) => averaged.add(k, &made.image, &made.sensitivity),
            None => images.push(made.image),
        }
    }
    if let Some(averaged) = &averaged {
        (images, found) = (averaged.images(), averaged.found(found, &doubt));
    }
    let calibration = given.activity.calibration as f32;
    images.iter_mut().flatten().for_each(|v| *v *= calibration);
    curve::add(&mut found, &images, map.as_deref(), &lattice);
    let mut image = Vec::new();
    for made in images {
        image.extend(scanner.turn.back().image(made, lattice.shape).0);
    }
    watch.end();
    let shape = turned(scanner.turn.back(), lattice.shape);
    let centre = scanner.turn.back().turned(lattice.centre);
    let centre = [0, 1, 2].map(|k| centre[k] + shift[k]);
    let mut settings = settings(&lattice, shape, &scanner, given, (&isotope, position), map.as_deref(), shift);
    let live = match (given.activity.live, &events.dead) {
        (None, Some(_)) => "of the file".into(),
        (live, _) => general(live.unwrap_or(1.0), 6),
    };
    settings.push(("live, calibration", format!("{live}, {}", general(given.activity.calibration, 6))));
    let of_randoms = match (is_needed, recorded, &events.singles) {
        (false, ..) => "none",
        (_, Some(_), _) => "of single photons that the file has",
        (_, None, Some(_)) => "of delays, before the single photons that the file has",
        _ => "of delays",
    };
    settings.push(("randoms", of_randoms.into()));
    if cut.is_moved() {
        let places = cut.parts.len();
        settings.push((
            "motion",
            format!("images of {places} places, moved to the reference and averaged by sensitivity and time"),
        ));
    }
    settings.push(("computed in", computed_in(&scan.stopwatch)));
    Ok(Quantified {
        image,
        names: cut.names,
        is_series: cut.is_series,
        shape,
        voxel: lattice.voxel,
        centre,
        found,
        isotope,
        settings,
        position,
        scanner: scanner.model.clone(),
        delay: given.activity.delay,
        energy_window: scanner.window,
        by_time_of_flight: lattice.tof_fwhm > 0.0,
    })
}

/// By which delays become rates of randoms.
fn check_window(scanner: &mut Scanner, given: Option<f64>, randoms: bool) -> Result<()> {
    if let Some(window) = given {
        ensure!(
            scanner.times.has_widths(),
            "--window is {window} ps, and the file has time bins, which tell it: leave it out"
        );
        scanner.times.window = window;
    }
    ensure!(
        !randoms || !scanner.times.has_widths() || scanner.times.window > 0.0,
        "the file does not say the largest time difference of its coincidences, by which delays become randoms: give --window, ps, or --no-randoms"
    );
    Ok(())
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
) -> Result<Option<(Volume, Unit)>> {
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
        counted: frame.counts(),
        dropped: frame.dropped,
        randoms: 0.0,
        scatter: 0.0,
        scale: 1.0,
        scale_error: 0.0,
        tails: 0.0,
        sensitivity: 0.0,
        strength: 0.0,
        restored: 1.0,
        history: Vec::new(),
        decay: 1.0,
        mean: 0.0,
        alive: 1.0,
    }
}
