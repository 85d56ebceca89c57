//! From a list of events to an image in Bq/ml.

use super::attenuation;
use super::checks::{check_counts, doubt_pairs};
use super::chosen::{doubt_header, doubt_scanner, isotope, position};
use super::counts::{Counts, Frame};
use super::doubts::Doubts;
use super::found::{Found, Quantified};
use super::images::Volume;
use super::lattice::Lattice;
use super::options::{Reconstruction, Unit};
use super::petsird::{Events, Opened, Said, Scanner, Span, Turn};
use super::position::Position;
use super::settings::{computed_in, settings};
use super::solving::{READING, Scan, Steps};
use super::time::{acquisition, duration};
use super::told::general;
use crate::status::unreadable;
use crate::stopwatch::Stopwatch;
use crate::watch::Watch;
use anyhow::{Result, anyhow, bail, ensure};
use isocenter::context::Context;
use isocenter::error::{Error, Status};
use isocenter::pet::corrections::FactorOptions;
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
    let spans = given.activity.frames();
    check_frames(&spans)?;
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
    doubt_scanner(&scanner, &isotope, (map.is_some(), given.method.scatter > 0), &doubt);
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
