//! What becomes of each key of a parameter file: options of this program, nothing, or an error.

use super::Parameters;
use super::keys::{IGNORED, REFUSED, SCAN};
use anyhow::{Result, bail};
use std::fmt::{Display, Formatter};

/// What became of a key.
#[derive(Clone, Debug, PartialEq)]
enum Fate {
    /// In words.
    Scan(String),
    /// Words of a command line.
    Words(Vec<String>),
    Ignored(String),
    Refused(String),
}

/// Keys, their values, and what became of them.
#[derive(Clone, Debug, Default)]
pub struct Taken(Vec<(String, String, Fate)>);

impl Parameters {
    /// What becomes of all keys, beside options that are given and go before them.
    pub fn taken(&self, given: impl Fn(&str) -> bool) -> Result<Taken> {
        let mut taken = Taken::default();
        for (key, value) in self.listed() {
            let fate = match self.get(key) {
                None => Fate::Ignored("not said".into()),
                Some(_) => self.fate(key, &given)?,
            };
            taken.0.push((key.clone(), value.clone(), fate));
        }
        if self.get("TAKE_LOGARITHM").is_none() {
            let fate = Fate::Refused("what projections are: YES with CORRECT_FLATFIELD, NO for line integrals".into());
            taken.0.retain(|(key, ..)| key != "TAKE_LOGARITHM");
            taken.0.push(("TAKE_LOGARITHM".into(), "not said".into(), fate));
        }
        // What PyHST does not do unless it is told.
        if !["DO_SINO_FILTER", "DO_RING_FILTER"].iter().any(|key| self.yes(key).unwrap_or(true)) && !given("--stripes")
        {
            let words = vec!["--stripes=off".into()];
            taken.0.push(("DO_RING_FILTER".into(), "not said, or NO".into(), Fate::Words(words)));
        }
        Ok(taken)
    }

    fn fate(&self, key: &str, given: &impl Fn(&str) -> bool) -> Result<Fate> {
        let value = self.get(key).unwrap_or_default();
        let on = || value != "0" && !matches!(self.yes(key), Ok(false));
        let table = |keys: &[(&str, &str)]| keys.iter().find(|(k, _)| *k == key).map(|(_, told)| told.to_string());
        // Words, unless one of these options is given.
        let unless = |options: &[&str], words: &[String]| match options.iter().find(|option| given(option)) {
            Some(option) => Fate::Ignored(format!("{option} is given")),
            None => Fate::Words(words.to_vec()),
        };
        // Options that give bins and rows other numbers than the file has for them.
        let upright = self.get("ROTATION_VERTICAL").is_none() || self.yes("ROTATION_VERTICAL")?;
        let moving =
            ["--bin", "--flip", "--transpose"].into_iter().filter(|option| upright || *option != "--transpose");
        let moved = |more: &[&'static str]| moving.chain(more.iter().copied()).find(|option| given(option));
        Ok(match key {
            "CORRECT_FLATFIELD" | "TAKE_LOGARITHM" => {
                match [self.yes("CORRECT_FLATFIELD")?, self.yes("TAKE_LOGARITHM")?] {
                    [true, true] => Fate::Scan("counts, flats and darks".into()),
                    [false, false] if !self.yes("SUBTRACT_BACKGROUND")? => Fate::Scan("line integrals".into()),
                    _ => Fate::Refused("counts with flats, and line integrals, are what is reconstructed".into()),
                }
            }
            "FILE_INTERVAL" if value == "1" => Fate::Scan("all projections".into()),
            "FILE_INTERVAL" if given("--angles") => Fate::Scan("some of the projections".into()),
            "FILE_INTERVAL" => Fate::Refused(
                "whether angles are between files or between projections; --angles FIRST..LAST tells".into(),
            ),
            "ROTATION_VERTICAL" if self.yes(key)? => Fate::Scan("as it has to be".into()),
            "ROTATION_VERTICAL" => unless(&["--transpose"], &["--transpose".into()]),
            // Bins are counted from the centre of the first, which is 0, as here: nabu quotes PyHST's sources so, in which the middle is
            // (bins - 1) / 2, and has back projectors from there. Some of the ESRF's scripts write bins / 2 for the middle.
            "ROTATION_AXIS_POSITION" => {
                self.number(key)?;
                if let (Some(option), false) = (moved(&["--crop-bins"]), given("--axis")) {
                    return Ok(Fate::Refused(format!("a bin that {option} moves; --axis says where it is then")));
                }
                unless(&["--axis"], &[format!("--axis={value}")])
            }
            "START_VOXEL_3" | "END_VOXEL_3" => {
                let (start, end) = (self.count("START_VOXEL_3")?.unwrap_or(1), self.count("END_VOXEL_3")?);
                match end {
                    _ if start == 0 => bail!("START_VOXEL_3 is 0; slices are counted from 1"),
                    None => bail!("START_VOXEL_3 is said, and END_VOXEL_3 is not"),
                    Some(end) if end < start => bail!("START_VOXEL_3 is {start} and END_VOXEL_3 {end}"),
                    Some(_) if key == "START_VOXEL_3" => Fate::Scan("with END_VOXEL_3".into()),
                    Some(end) => match moved(&[]) {
                        Some(option) if !given("--rows") => {
                            Fate::Refused(format!("rows that {option} moves; --rows says which they are then"))
                        }
                        // From 1, the last included.
                        _ => unless(&["--rows"], &[format!("--rows={}..{end}", start - 1)]),
                    },
                }
            }
            "DO_CCD_FILTER" if on() && !self.yes("CORRECT_FLATFIELD")? && !given("--outliers") => {
                Fate::Refused("outliers of line integrals; # before it leaves them".into())
            }
            "DO_CCD_FILTER" if on() => unless(&["--outliers"], &["--outliers=noise".into()]),
            // Its old name.
            "DO_SINO_FILTER" if on() && self.yes("DO_RING_FILTER")? => Fate::Scan("with DO_RING_FILTER".into()),
            "DO_SINO_FILTER" | "DO_RING_FILTER" if on() => unless(&["--stripes"], &["--stripes=significant".into()]),
            "DO_AXIS_CORRECTION" if on() => {
                let path = self.file("AXIS_CORRECTION_FILE", "")?;
                unless(&["--shifts"], &[format!("--shifts={}", path.display())])
            }
            "DO_PAGANIN" if on() => {
                let length = self.number("PAGANIN_Lmicron")?.unwrap_or(0.0);
                if length <= 0.0 {
                    bail!("DO_PAGANIN is {value}, and PAGANIN_Lmicron is {length}: it must be above 0");
                }
                unless(&["--phase"], &["--phase=paganin".into(), format!("--phase-length={length}")])
            }
            "BINNING" if given("--bin") => Fate::Ignored("--bin is given".into()),
            "PAGANIN_Lmicron" if self.yes("DO_PAGANIN")? => Fate::Scan("with DO_PAGANIN".into()),
            "PUS" | "PUC" if self.yes("DO_PAGANIN")? => {
                let [sigma, amount] = [self.number("PUS")?.unwrap_or(0.0), self.number("PUC")?.unwrap_or(0.0)];
                match sigma > 0.0 && amount > 0.0 {
                    true if key == "PUS" => Fate::Scan("with PUC".into()),
                    true => unless(&["--unsharp"], &["--unsharp".into(), sigma.to_string(), amount.to_string()]),
                    false => Fate::Ignored("no unsharp mask".into()),
                }
            }
            "PAGANIN_Lmicron" | "PUS" | "PUC" => Fate::Ignored("DO_PAGANIN is off".into()),
            "UNSHARP_LOG" | "UNSHARP_LoG"
                if on() && self.yes("DO_PAGANIN")? && self.number("PUC")?.unwrap_or(0.0) > 0.0 =>
            {
                match given("--unsharp") {
                    true => Fate::Ignored("--unsharp is given".into()),
                    false => {
                        Fate::Refused("an unsharp mask by a Laplacian; --unsharp SIGMA AMOUNT has a Gaussian's".into())
                    }
                }
            }
            "UNSHARP_LOG" | "UNSHARP_LoG" => Fate::Ignored("no unsharp mask, or a Gaussian's".into()),
            "ZEROOFFMASK" if on() => unless(&["--mask"], &["--mask=1".into()]),
            "FBFILTER" if matches!(value, "0" | "1") => Fate::Scan("the ramp filter".into()),
            "FBFILTER" if given("--filter") => Fate::Ignored("--filter is given".into()),
            "FBFILTER" => Fate::Refused("a filter other than the ramp; --filter names one".into()),
            "ITERATIVE_CORRECTIONS" if given("--algorithm") => Fate::Ignored("--algorithm is given".into()),
            "OPTIONS" => {
                let mut words = Vec::new();
                if self.option("padding") == Some("E") && !given("--padding") {
                    words.push("--padding=edge".into());
                }
                if self.option("avoidhalftomo").is_some_and(|v| matches!(v, "Y" | "1")) && !given("--half-acquisition")
                {
                    words.push("--half-acquisition=off".into());
                }
                if self.option("axis_to_the_center") == Some("N") {
                    Fate::Refused("slices that are not about the axis".into())
                } else if words.is_empty() {
                    Fate::Ignored("as it is here".into())
                } else {
                    Fate::Words(words)
                }
            }
            _ => match (table(&SCAN), table(&IGNORED), table(&REFUSED)) {
                _ if matches!(key, "OUTPUT_SINOGRAMS" | "RECONSTRUCT_FROM_SINOGRAMS") && on() => {
                    Fate::Refused("sinograms in files".into())
                }
                _ if key == "OUTPUT_RECONSTRUCTION" && !on() => Fate::Refused("a run without a volume".into()),
                (Some(told), ..) => Fate::Scan(told),
                (_, Some(told), _) => Fate::Ignored(if told.is_empty() { "says nothing here".into() } else { told }),
                (.., Some(told)) if key == "BINNING" && value == "1" => Fate::Ignored(format!("no {told}")),
                (.., Some(told)) if on() && value.parse() != Ok(0.0) => Fate::Refused(told),
                (.., Some(_)) => Fate::Ignored("off".into()),
                _ if key.starts_with("DO_") && !on() => Fate::Ignored("off".into()),
                _ if key == "ZEROOFFMASK" => Fate::Ignored("off".into()),
                _ => Fate::Refused("not known here; # before it leaves it out".into()),
            },
        })
    }
}

impl Taken {
    /// Options of this program.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        let words = self.0.iter().filter_map(|(_, _, fate)| match fate {
            Fate::Words(words) => Some(words),
            _ => None,
        });
        words.flatten()
    }

    /// An error with all keys that would change the result.
    pub fn check(&self) -> Result<()> {
        let refused = self.0.iter().filter_map(|(key, value, fate)| match fate {
            Fate::Refused(told) => Some(format!("\n  {key} = {value}: {told}")),
            _ => None,
        });
        let refused: Vec<_> = refused.collect();
        if !refused.is_empty() {
            bail!("these keys would change the result, and are not to be had here:{}", refused.concat());
        }
        Ok(())
    }
}

impl Display for Taken {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        let width = self.0.iter().map(|(key, ..)| key.len()).max().unwrap_or(0);
        let mut list = |title: &str, told: &dyn Fn(&Fate) -> Option<String>| -> std::fmt::Result {
            let lines = self.0.iter().filter_map(|(key, value, fate)| Some((key, value, told(fate)?)));
            let lines: Vec<_> = lines.collect();
            if !lines.is_empty() {
                writeln!(f, "{title}")?;
            }
            lines.into_iter().try_for_each(|(key, value, told)| writeln!(f, "  {key:width$} = {value} -> {told}"))
        };
        list("taken over", &|fate| match fate {
            Fate::Scan(told) => Some(told.clone()),
            Fate::Words(words) => Some(words.join(" ")),
            _ => None,
        })?;
        list("ignored", &|fate| match fate {
            Fate::Ignored(told) => Some(told.clone()),
            _ => None,
        })
    }
}
