//! What may be said of DICOM files on the command line.

use clap::Args;
use dicom_core::chrono::NaiveDateTime;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub struct DicomOptions {
    /// A file of the same patient and study, such as a slice of the CT, whose patient, study and frame of reference are taken; of a PET image also what was injected, and when the scan began
    #[arg(long = "dicom-like", value_name = "FILE", requires = "output")]
    pub like: Option<PathBuf>,
    /// When the scan began, in local time: 2026-11-30T10:15:00
    #[arg(long, value_name = "TIME", value_parser = moment, requires = "output")]
    pub acquired: Option<NaiveDateTime>,
}

fn moment(text: &str) -> Result<NaiveDateTime, String> {
    let found = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M"]
        .iter()
        .find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    found.ok_or_else(|| "it must be a date and time without a zone, such as 2026-11-30T10:15:00".into())
}
