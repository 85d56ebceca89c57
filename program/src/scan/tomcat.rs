//! Folders of TIFF images of TOMCAT's, at the Swiss Light Source: one series of darks, flats and projections, whose numbers are in a `.log`.

use super::pixel::Pixel;
use super::{Flats, Scan, half_turn, listing, units};
use crate::frames::{Frames, Kind, of_files};
use crate::scan::Input;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

/// Lines of a log, `Number of flats   : 100` or `Rot Y max position  [deg]    : 180.000`.
pub struct Log {
    path: PathBuf,
    lines: Vec<(String, String)>,
}

impl Log {
    fn parse(path: PathBuf, text: &str) -> Self {
        let line = |line: &str| {
            let (key, value) = line.split_once(':')?;
            // The unit stands behind the key.
            let key = key.split('[').next().unwrap_or_default().trim();
            Some((key.to_lowercase(), value.trim().to_string()))
        };
        Self { path, lines: text.lines().filter_map(line).collect() }
    }

    /// The log of a folder; nothing where it has none that tells of projections.
    pub fn of(folder: &Path) -> Result<Option<Self>> {
        for path in listing::folder(folder)? {
            if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("log")) {
                let text = std::fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
                let log = Self::parse(path, &String::from_utf8_lossy(&text));
                if log.get("number of projections").is_some() && log.get("number of darks").is_some() {
                    return Ok(Some(log));
                }
            }
        }
        Ok(None)
    }

    fn get(&self, key: &str) -> Option<&str> {
        self.lines.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str())
    }

    /// The first word of a value, as a number.
    fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let number = text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).filter(|n| n.is_finite());
        let told = || format!("{}: \"{key}\" is \"{text}\"; it must be a number", self.path.display());
        number.map(Some).with_context(told)
    }

    fn count(&self, key: &str) -> Result<usize> {
        let number = self.number(key)?.unwrap_or(0.0);
        ensure!(
            number.fract() == 0.0 && (0.0..1e9).contains(&number),
            "{}: \"{key}\" is {number}; it must be a whole number",
            self.path.display()
        );
        Ok(number as usize)
    }

    /// The scan whose images are these, in their order.
    pub fn scan(&self, folder: &Path, files: Vec<PathBuf>, input: &Input) -> Result<Scan> {
        let name = self.path.display();
        listing::one_series(folder, &files)?;
        listing::complete(&files)?;
        let [darks, flats, count] =
            [self.count("number of darks")?, self.count("number of flats")?, self.count("number of projections")?];
        let begin = darks + flats;
        let after = files.len().checked_sub(begin + count).filter(|&after| [0, flats].contains(&after));
        let between = self.count("number of inter-flats")? > 0;
        let Some(after) = after.filter(|_| !between) else {
            bail!(
                "{name} tells of {darks} darks, {flats} flats and {count} projections{}, and there are {} images: name the projections \
                 by a pattern, and --flats and --darks",
                if between { ", and of flats between them" } else { "" },
                files.len()
            );
        };
        let source = of_files(Kind::Tiff, files)?;
        let part =
            |first: usize, count: usize| Frames { source: source.clone(), which: (first..first + count).collect() };
        let groups = [(darks, flats, 0), (begin + count, after, count)].into_iter().filter(|(_, flats, _)| *flats > 0);
        let groups = groups.filter(|_| input.flats.is_empty());
        let groups = groups.map(|(first, flats, position)| Flats { frames: part(first, flats), position }).collect();
        let mut notes = vec![format!("{name} tells which images are darks, flats and projections, in this order")];
        let angles = match (self.number("rot y min position")?, self.number("rot y max position")?) {
            _ if input.angles.is_some() => vec![0.0; count],
            // Both ends are projections.
            (Some(first), Some(last)) => {
                let step = (last - first) / (count.max(2) - 1) as f64;
                (0..count).map(|k| (first + k as f64 * step).to_radians()).collect()
            }
            _ => {
                notes.push("angles are half a turn, its end left out, for want of others: --angles tells them".into());
                half_turn(count)
            }
        };
        let pixel = match self.number("actual pixel size")? {
            Some(side) => units::pixel(side, None, "um"),
            None => Pixel::Untold,
        };
        Ok(Scan {
            format: "TIFF images of TOMCAT",
            title: self.get("file prefix").map(str::to_string),
            views: part(begin, count),
            angles,
            flats: groups,
            darks: (darks > 0 && input.darks.is_none()).then(|| part(0, darks)),
            pixel,
            kind: None,
            notes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_that_are_damaged() {
        let text = "File Prefix                  : rods\nNumber of projections        : 91\nNumber of darks              : 2\n\
                    Rot Y max position  [deg]    : 180.000\nActual pixel size [um]       : 0.65 0.65\n";
        let log = Log::parse(PathBuf::new(), text);
        assert_eq!(log.count("number of projections").expect("a count"), 91);
        assert_eq!(log.number("rot y max position").expect("a number"), Some(180.0));
        assert_eq!(log.number("actual pixel size").expect("a number"), Some(0.65));
        assert_eq!(log.number("nothing").expect("nothing"), None);
        crate::mutations::each(text.as_bytes(), |bytes| {
            let log = Log::parse(PathBuf::new(), &String::from_utf8_lossy(bytes));
            // Errors are in order, others are not.
            let _ = (log.count("number of darks"), log.number("rot y max position"));
        });
    }
}
