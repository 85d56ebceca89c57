//! PET: from a list of events to an image in Bq/ml.

mod attenuation;
mod averaged;
mod checks;
mod chosen;
mod counts;
mod curve;
mod cut;
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
use petsird::{Events, Part, Pass, TimesOf};
use std::path::Path;

/// Half the speed of light, mm/ps.
const HALF_LIGHT: f64 = 0.149896229;
/// Full width at half maximum over the standard deviation.
const FWHM: f64 = 2.354820;

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
    Events::read(opened, &scanner, &[], true, &mut looked)?;
    Ok(looked.0)
}
