//! A table of scans, each of which becomes a volume of its own.

use super::decide::output;
use crate::cli::Recon;
use crate::names;
use crate::scan::Scan;
use crate::status::{self, End};
use crate::talk;
use crate::volume::journal::digest;
use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Lines of a table that are done, so that the same command goes on behind them: a file in this folder, until all are.
struct Done {
    path: PathBuf,
    file: File,
    lines: Vec<String>,
}

/// What tells a line from others.
fn sign(line: &Recon) -> String {
    let Recon { scan, output, axis, rows, pixel, bad_views, input, steps, .. } = line;
    let text = format!("{:?}", (scan, output, axis, rows, pixel, bad_views, input, steps));
    format!("{:016x}", digest(&text))
}

impl Done {
    fn open(table: &Path) -> Result<Self> {
        let mut name = table.file_name().unwrap_or_default().to_owned();
        name.push(".unfinished");
        let path = PathBuf::from(name);
        names::file(&path)?;
        let told = || format!("opening {}", path.display());
        let mut file = File::options().read(true).append(true).create(true).open(&path).with_context(told)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            bail!("{} is in use: another run is at this table", path.display());
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(told)?;
        // A line that was cut off is of a scan that is done again.
        let whole = text.rfind('\n').map_or(0, |at| at + 1);
        file.set_len(whole as u64).with_context(told)?;
        let lines = text[..whole].lines().map(String::from).collect();
        Ok(Self { path, file, lines })
    }

    fn note(&mut self, line: &Recon) -> Result<()> {
        let written = writeln!(self.file, "{}", sign(line)).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("writing {}", self.path.display()))
    }

    fn remove(self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("removing {}", self.path.display()))
    }
}

/// An error unless all scans can be opened and volumes have names of their own: before the first of them is made.
fn check(lines: &[Recon]) -> Result<()> {
    let outputs: Vec<_> = lines.iter().map(|line| output(line).0).collect();
    for (k, line) in lines.iter().enumerate() {
        if let Some(other) = outputs[..k].iter().position(|other| *other == outputs[k]) {
            bail!(
                "{} and {} both make {}: a column output tells the volumes apart",
                lines[other].scan.display(),
                line.scan.display(),
                outputs[k].display()
            );
        }
    }
    let opened = |line: &Recon| {
        let mut scan = Scan::open(&line.scan, &line.input).map_err(status::unreadable)?;
        scan.pixel.settle(line.pixel, line.input.detector.binning()).with_context(|| line.scan.display().to_string())
    };
    let mut wrong: Vec<_> = lines.iter().filter_map(|line| opened(line).err()).collect();
    let Some(last) = wrong.pop() else { return Ok(()) };
    wrong.iter().for_each(|error| talk::remark(status::told(error)));
    Err(last)
}

/// Makes each volume by `one`, those of an earlier run of the same command excepted; one that fails does not keep others from being made.
pub fn run(recon: &Recon, one: impl Fn(&Recon) -> Result<()>) -> Result<()> {
    let Recon { scan: table, lines, .. } = recon;
    ensure!(
        recon.overlap.is_none(),
        "--overlap belongs to scans that make one volume: columns such as z-mm or z-rows place them"
    );
    check(lines)?;
    // Of volumes that are just begun or looked at, none is done.
    let mut done =
        if recon.probe || recon.begin.is_some() || recon.trial.wanted() { None } else { Some(Done::open(table)?) };
    let mut failed = Vec::new();
    for (k, line) in lines.iter().enumerate() {
        let (name, volume) = (line.scan.display(), output(line).0);
        let event = json!({"number": k + 1, "of": lines.len(), "path": talk::path(&line.scan)});
        talk::tell("scan", event, format_args!("scan {} of {}: {name}", k + 1, lines.len()));
        if done.as_ref().is_some_and(|done| done.lines.contains(&sign(line))) && volume.exists() {
            let text = format_args!("{} is there: an earlier run of this table has made it", volume.display());
            talk::tell("there", json!({"path": talk::path(&volume)}), text);
            continue;
        }
        match one(line) {
            Ok(()) => done.as_mut().map_or(Ok(()), |done| done.note(line))?,
            Err(error) if status::of(&error) == End::Interrupted => return Err(error),
            Err(error) => {
                talk::remark(format_args!("{name}: {}", status::told(&error)));
                failed.push(name.to_string());
            }
        }
    }
    if failed.is_empty() {
        return done.map_or(Ok(()), Done::remove);
    }
    let again = if done.is_some() { "; the same command does these again, and no others" } else { "" };
    bail!("{} of {} scans: {}{again}", failed.len(), lines.len(), failed.join(", "))
}
