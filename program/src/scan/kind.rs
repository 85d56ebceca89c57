//! What projections are, where it is said.

use super::Scan;
use crate::frames::Converted;
use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use isocenter::array::DType;
use isocenter::ct::InputKind;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Counts of a detector, of a scan with flats
    Counts,
    /// What flats have corrected, before the logarithm
    Transmission,
    /// What has passed the logarithm, too
    LineIntegrals,
}

impl Kind {
    /// For the library.
    pub fn input(self) -> InputKind {
        match self {
            Self::Counts => InputKind::Counts,
            Self::Transmission => InputKind::Transmission,
            Self::LineIntegrals => InputKind::LineIntegrals,
        }
    }

    /// Has a scan's projections taken for this, transmissions with what the full beam is in their numbers.
    pub fn apply(self, full_beam: Option<f64>, scan: &mut Scan) -> Result<()> {
        scan.kind = Some(self);
        if let (Some(value), false) = (full_beam, self == Self::Transmission) {
            bail!("--full-beam {value} belongs to --input transmission");
        }
        if self == Self::Counts {
            ensure!(!scan.flats.is_empty(), "--input counts: the scan has no flats; --flats names them");
            return Ok(());
        }
        if !scan.flats.is_empty() || scan.darks.is_some() {
            scan.notes.push("flats and darks are left out: --input says that projections are corrected by them".into());
        }
        scan.flats.clear();
        scan.darks = None;
        let floating = scan.views.source.dtype() == DType::F32;
        let factor = match full_beam {
            Some(value) if value.is_finite() && value > 0.0 => 1.0 / value,
            Some(value) => bail!("--full-beam is {value}; it must be above 0"),
            None if self == Self::Transmission && !floating => bail!(
                "projections are integers: --full-beam VALUE says which of them the full beam is, as in --full-beam 65535"
            ),
            None => 1.0,
        };
        if !floating || factor != 1.0 {
            scan.views.source = Arc::new(Converted::new(scan.views.source.clone(), factor as f32));
        }
        Ok(())
    }
}
