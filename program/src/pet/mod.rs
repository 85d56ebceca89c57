//! PET: from a list of events to an image in Bq/ml.

mod attenuation;
mod averaged;
mod checks;
mod chosen;
mod counts;
mod curve;
mod cut;
mod dead;
mod doubts;
mod found;
mod histos;
pub mod images;
mod isotopes;
mod lattice;
mod lines;
pub mod options;
mod petsird;
mod position;
mod products;
mod quantify;
mod report;
mod resample;
mod restored;
mod settings;
mod solving;
mod tables;
mod time;
mod told;
mod yardl;

pub use doubts::Doubts;
pub use found::{Found, Quantified, UNIT};
pub use images::Format;
pub use petsird::{Opened, Said, Scanner};
pub use quantify::quantify;
pub use told::general;

use anyhow::Result;
use petsird::{Events, Part, Pass, TimesOf, Wanted};
use std::path::Path;

/// Half the speed of light, mm/ps.
const HALF_LIGHT: f64 = 0.149896229;
/// Full width at half maximum over the standard deviation.
const FWHM: f64 = 2.354820;

/// Of an isotope, s, where a file is looked at alone.
const HALF_LIFE: f64 = 6600.0;

/// Events that are looked at alone.
struct Looked(u64);

impl Pass for Looked {
    fn begin(&mut self) -> Result<()> {
        self.0 = 0;
        Ok(())
    }

    fn part(&mut self, part: &Part) -> Result<()> {
        let count = part.crystals.len() / 2;
        match part.times {
            TimesOf::Bins(bins) => assert!(bins.len() == count),
            TimesOf::Differences { ps, widths } => assert!(ps.len() == count && widths.len() == count),
        }
        self.0 += count as u64;
        Ok(())
    }
}

/// Reads all of a file; gives how many events it has.
pub fn look(path: &Path) -> Result<u64> {
    let opened = Opened::new(path)?;
    let scanner = opened.understood(Scanner::new(&opened.header, None))?;
    opened.understood(Said::new(&opened.header))?.shift()?;
    let mut looked = Looked(0);
    let found = Events::read(opened, &scanner, &[], Wanted { delays: true, singles: true }, &mut looked)?;
    let blocks = found.blocks.concat();
    if let Some(dead) = found.dead.filter(|_| !blocks.is_empty()) {
        dead.doubt(&blocks);
        dead.of(&blocks, HALF_LIFE, &scanner)?;
    }
    if let Some(singles) = found.singles.filter(|_| !blocks.is_empty()) {
        singles.doubts(&blocks, &scanner);
        singles.of(&blocks, &scanner, "the scan")?;
    }
    Ok(looked.0)
}
