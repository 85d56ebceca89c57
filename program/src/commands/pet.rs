//! `isocenter pet`.

use super::context_told;
use crate::cli::Machine;
use crate::names;
use crate::pet::images::dicom::{DicomOptions, Like, Scan};
use crate::pet::options::Pet;
use crate::pet::{self, Doubts, Format, Opened, Quantified, Said, Scanner, general};
use crate::scan::Nan;
use crate::talk;
use crate::team::Alone;
use crate::watch::Watch;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub fn run(given: &Pet) -> Result<()> {
    let opened = Opened::new(&given.file)?;
    tell(&opened)?;
    let Some(output) = &given.reconstruction.output else { return Ok(()) };
    // Before the work.
    let (format, stem) = Format::of(output)?;
    let report = given.reconstruction.report.clone().unwrap_or_else(|| PathBuf::from(stem + ".html"));
    [output, &report].into_iter().try_for_each(|path| names::file(path))?;
    let (watch, doubts) = (Watch::new()?, Arc::new(Doubts::default()));
    let like = like(given, format, &doubts)?;
    let machine = Machine { device: given.device.clone(), threads: given.threads, memory: None, scratch: None };
    let (alone, heard) = (Alone::default(), doubts.clone());
    let context = context_told(&machine, Nan::Error, &watch, &alone, move |message| heard.of_library(message))?;
    let made = pet::quantify(opened, &given.reconstruction, context, &watch, &doubts);
    watch.end();
    let made = made?;
    told(&made);
    let doubt = |words| doubts.tell(words);
    let files = made.write(output, Scan::new(&made, &given.reconstruction, like, &doubt))?;
    for path in &files {
        talk::tell("written", json!({"path": talk::path(path)}), format_args!("written {}", path.display()));
    }
    made.report(&report, &doubts.all(), &command())?;
    talk::tell("report", json!({"path": talk::path(&report)}), format_args!("report {}", report.display()));
    Ok(())
}

/// What a DICOM file tells besides.
fn like(given: &Pet, format: Format, doubts: &Doubts) -> Result<Like> {
    let DicomOptions { like, acquired } = &given.reconstruction.dicom;
    ensure!(
        format == Format::Dicom || like.is_none() && acquired.is_none(),
        "--dicom-like and --acquired are for DICOM, and the output is not: leave them out, or let --output end in .dcm"
    );
    like.as_ref().map_or(Ok(Like::default()), |path| Like::read(path, &|words| doubts.tell(words)))
}

/// What was typed.
fn command() -> String {
    let quoted = |word: String| match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c))
        && !word.is_empty()
    {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("isocenter".to_string()).chain(words).collect::<Vec<_>>().join(" ")
}

/// What a file's header has.
fn tell(opened: &Opened) -> Result<()> {
    let scanner = opened.understood(Scanner::new(&opened.header, None))?;
    let said = opened.understood(Said::new(&opened.header))?;
    let isotope = match &said.isotope {
        Some(isotope) => isotope.name.clone(),
        None if said.nuclide.is_empty() => "not named".into(),
        None => format!("{} (not known)", said.nuclide),
    };
    let lies = said.position.map_or(said.lies.clone(), |position| position.to_string());
    let patient = if lies.is_empty() { String::new() } else { format!(", patient {lies}") };
    let (ends, bins) = match scanner.times.edges.as_deref() {
        Some(edges) => (json!([edges[0], edges[edges.len() - 1]]), json!(edges.len() - 1)),
        None => (Value::Null, Value::Null),
    };
    let times = match scanner.times.edges.as_deref() {
        Some([_, _]) => "no time of flight".into(),
        Some([first, .., last]) => {
            format!("{bins} time bins of {} to {} ps", general(*first, 4), general(*last, 4))
        }
        _ => "time bins of several kinds".into(),
    };
    let version = if opened.version.is_empty() { "of a version that is not known" } else { opened.version };
    let name = opened.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let [width, height] = scanner.crystal;
    let text = format!(
        "{name}: {}, {} crystals of {} x {} mm{}, {times}, {}efficiencies, isotope {isotope}{patient}, PETSIRD {version}",
        scanner.model,
        scanner.count(),
        general(width, 3),
        general(height, 3),
        if scanner.sizes.is_some() { " and other sizes" } else { "" },
        if scanner.efficiencies.is_some() { "" } else { "no " },
    );
    let event = json!({
        "path": talk::path(&opened.path), "version": opened.version, "model": scanner.model, "crystals": scanner.count(), "crystal": scanner.crystal,
        "time_bins": bins, "time": ends, "tof_fwhm": scanner.times.fwhm, "energy_window": scanner.window,
        "energy_resolution": scanner.energy_resolution, "efficiencies": scanner.efficiencies.is_some(), "isotope": said.isotope.map(|one| one.name),
        "nuclide": said.nuclide, "position": said.position.map(|position| position.to_string()), "lies": said.lies, "prompts": said.stores[0],
        "delays": said.stores[1],
    });
    talk::tell("petsird", event, text);
    Ok(())
}

/// Numbers of an image.
fn told(made: &Quantified) {
    let settings = [("isotope", made.isotope.name.clone())].into_iter().chain(made.settings.clone());
    let settings: Vec<_> = settings.filter(|(_, value)| !value.is_empty()).collect();
    let mut lines: Vec<_> = settings.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    for (name, frame) in made.names.iter().zip(made.rows()) {
        lines.extend(made.is_series.then(|| name.clone()));
        lines.extend(frame.into_iter().map(|(name, value)| format!("{name}: {value}")));
    }
    let frames: Vec<Value> = made.found.iter().zip(&made.names).map(|(of, name)| of.event(name)).collect();
    let event = json!({
        "unit": pet::UNIT, "shape": made.shape, "voxel": made.voxel, "centre": made.centre, "isotope": made.isotope.name, "half_life": made.isotope.half_life,
        "branching": made.isotope.branching, "position": made.position.to_string(),
        "settings": settings.into_iter().map(|(name, value)| (name.to_string(), value.into())).collect::<serde_json::Map<_, _>>(),
        "frames": frames,
    });
    talk::tell("image", event, lines.join("\n"));
}

impl Quantified {
    fn write(&self, path: &Path, scan: Scan) -> Result<Vec<PathBuf>> {
        let about = pet::images::About {
            voxel: [self.voxel; 3],
            centre: self.centre,
            unit: pet::UNIT,
            position: self.position,
            starts: self.found.iter().map(|of| of.start).collect(),
            durations: self.found.iter().map(|of| of.duration).collect(),
            isotope: &self.isotope,
            scanner: &self.scanner,
            scan,
        };
        let mut files = pet::images::write(
            path,
            &pet::images::Image {
                values: &self.image,
                frames: self.is_series.then_some(self.found.len()),
                shape: self.shape,
            },
            &about,
        )?;
        files.extend(pet::images::write_beside(path, self)?);
        Ok(files)
    }
}
