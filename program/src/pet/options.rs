//! What may be said on the command line of `isocenter pet`.

use super::images::dicom::DicomOptions;
use super::petsird::Span;
use super::position::Position;
use clap::{Args, ValueEnum};
use isocenter::pet::Algorithm;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
pub struct Pet {
    /// The list of events: a PETSIRD file, binary, of version 0.6 or later
    pub file: PathBuf,
    #[command(flatten)]
    pub reconstruction: Reconstruction,
    /// auto: GPUs if there are any; cpu; gpu: all of them
    #[arg(long, default_value = "auto", value_parser = ["auto", "cpu", "gpu"], help_heading = "Machine", requires = "output")]
    pub device: String,
    /// Worker threads, no more than there are processors; 0: one per processor
    #[arg(long, default_value_t = 0, help_heading = "Machine", requires = "output")]
    pub threads: usize,
}

#[derive(Clone, Debug, Args)]
pub struct Reconstruction {
    /// The image in Bq/ml: NAME.nii, NAME.nii.gz, NAME.hv (Interfile), NAME.dcm (DICOM) or NAME.npy [default: just tell what is in the file]
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// A page about it [default: beside the output]
    #[arg(long, value_name = "NAME.html", requires = "output")]
    pub report: Option<PathBuf>,
    #[command(flatten, next_help_heading = "DICOM")]
    pub dicom: DicomOptions,
    #[command(flatten, next_help_heading = "Attenuation")]
    pub map: MapOptions,
    #[command(flatten, next_help_heading = "Activity")]
    pub activity: ActivityOptions,
    #[command(flatten, next_help_heading = "Scanner")]
    pub scanner: ScannerOptions,
    #[command(flatten, next_help_heading = "Lattice, views and response")]
    pub lattice: LatticeOptions,
    #[command(flatten, next_help_heading = "Method")]
    pub method: MethodOptions,
}

#[derive(Clone, Debug, Args)]
pub struct MapOptions {
    /// Map of attenuation, NIfTI, which reaches as far as the lattice [default: nothing attenuates or scatters]
    #[arg(long, value_name = "MAP.nii", requires = "output")]
    pub attenuation: Option<PathBuf>,
    /// Of the map's values [default: what its intent name says, or 1/mm]
    #[arg(long, value_enum, requires = "attenuation")]
    pub unit: Option<Unit>,
    /// Voltage of the CT's tube, of a map in HU [default: 120]
    #[arg(long, value_name = "KV", requires = "attenuation")]
    pub kilovolts: Option<f64>,
    /// The map's middle in the scanner's frame, mm [default: as its file says]
    #[arg(long, num_args = 3, value_names = ["X", "Y", "Z"], allow_negative_numbers = true, value_parser = finite, requires = "attenuation")]
    pub map_centre: Option<Vec<f64>>,
    /// The map is in the scanner's frame, and so is the image: the file's gantry alignment is not applied
    #[arg(long, requires = "output")]
    pub no_alignment: bool,
    /// How the patient lies, by DICOM's name [default: what the file says, or HFS]
    #[arg(long, requires = "output")]
    pub position: Option<Position>,
}

#[derive(Clone, Debug, Args)]
pub struct ActivityOptions {
    /// Such as F-18 or Ga-68, one of DICOM's context group 4020, in any spelling [default: what the file says, or F-18]
    #[arg(long, requires = "output")]
    pub isotope: Option<String>,
    /// Half-life, s [default: the isotope's]
    #[arg(long, value_name = "S", value_parser = positive, requires = "output")]
    pub half_life: Option<f64>,
    /// Part of the decays that send positrons [default: the isotope's]
    #[arg(long, value_name = "PART", value_parser = part, requires = "output")]
    pub branching: Option<f64>,
    /// Part of the time in which the scanner was ready [default: as the file's dead times say, else 1]
    #[arg(long, value_name = "PART", value_parser = part, requires = "output")]
    pub live: Option<f64>,
    /// From the time that the activity is told at to the start of the scan, s
    #[arg(long, value_name = "S", default_value_t = 0.0, value_parser = not_negative, requires = "output")]
    pub delay: f64,
    /// By which the image is multiplied: the activity of a phantom over what this makes of its scan
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = positive, requires = "output")]
    pub calibration: f64,
    /// Start and end of a frame, s; once for each, ascending [default: one image of all]
    #[arg(long, num_args = 2, value_names = ["START", "END"], allow_negative_numbers = true, value_parser = finite, requires = "output")]
    frame: Vec<f64>,
    /// All frames at once: counts and seconds, such as 12x10,6x20,5x60, or a file of starts and ends: a text, .npy, or PET-BIDS's .json
    #[arg(long, value_name = "TEXT|FILE", requires = "output", conflicts_with = "frame")]
    pub frames: Option<String>,
    /// An image of each gate: a file of start, end and gate, or of triggers, s
    #[arg(long, value_name = "FILE", requires = "output", conflicts_with_all = ["frame", "frames"])]
    pub gates: Option<PathBuf>,
    /// Of triggers, into how many gates each time between two of them is divided
    #[arg(long, value_name = "GATES", value_parser = count, requires = "gates")]
    pub gate_count: Option<usize>,
    /// Where the patient was: a file of start, s, and shift, mm, and angles, degrees, or a matrix of 3 x 4, to the reference position
    #[arg(long, value_name = "FILE", requires = "output")]
    pub motion: Option<PathBuf>,
}

impl ActivityOptions {
    pub fn single_frames(&self) -> Vec<Span> {
        self.frame.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()
    }
}

#[derive(Clone, Debug, Args)]
pub struct LatticeOptions {
    /// Side of a voxel, mm
    #[arg(long, value_name = "MM", default_value_t = 4.0, value_parser = positive, requires = "output")]
    pub voxel: f64,
    /// Voxels along x and y [default: as far as the map reaches, 0.7 of the scanner's diameter at most]
    #[arg(long, value_name = "VOXELS", value_parser = count, requires = "output")]
    pub size: Option<usize>,
    /// Voxels along z [default: the scanner's length]
    #[arg(long, value_name = "VOXELS", value_parser = count, requires = "output")]
    pub slices: Option<usize>,
    /// Azimuths of views [default: by the resolution in space and time]
    #[arg(long, value_name = "VIEWS", value_parser = count, requires = "output")]
    pub azimuths: Option<usize>,
    /// Tilts of views [default: likewise]
    #[arg(long, value_name = "VIEWS", value_parser = count, requires = "output")]
    pub tilts: Option<usize>,
    /// Largest tilt of an event, radians [default: from end to end of the scanner across its middle]
    #[arg(long, value_name = "RAD", value_parser = positive, requires = "output")]
    pub max_tilt: Option<f64>,
    /// What events are counted in [default: lines where there is no time of flight, where it is as long as the lattice, or where pairs of modules differ in it; else histo-images]
    #[arg(long, value_enum, requires = "output")]
    pub projector: Option<Projector>,
    /// Of the time difference, full width at half maximum, ps [default: the file's, and what its time bins add]
    #[arg(long, value_name = "PS", value_parser = positive, requires = "output")]
    pub tof_fwhm: Option<f64>,
    /// Of lines across, full width at half maximum, mm [default: by the crystals and the scanner's diameter]
    #[arg(long, value_name = "MM", value_parser = positive, requires = "output")]
    pub resolution: Option<f64>,
    /// Behind crystals' inner faces, where photons are detected on average, mm [default: their middles]
    #[arg(long, value_name = "MM", value_parser = not_negative, requires = "output")]
    pub depth: Option<f64>,
}

#[derive(Clone, Debug, Args)]
pub struct ScannerOptions {
    /// Which part of the photons each crystal detects, (crystals,) [default: what the file says, or 1]
    #[arg(long, value_name = "FILE.npy", requires = "output")]
    pub efficiencies: Option<PathBuf>,
    /// Largest time difference of a coincidence, ps, of files whose pairs of modules have time bins of their own [default: what these say]
    #[arg(long, value_name = "PS", value_parser = positive, requires = "output")]
    pub window: Option<f64>,
    /// Full width at half maximum at 511 keV, over that [default: what the file says, or 0.11]
    #[arg(long, value_name = "PART", value_parser = positive, requires = "output")]
    pub energy_resolution: Option<f64>,
    /// Of energy, keV [default: what the file says, or 435 to 585]
    #[arg(long, num_args = 2, value_names = ["LOWER", "UPPER"], value_parser = positive, requires = "output")]
    pub energy_window: Option<Vec<f64>>,
}

#[derive(Clone, Debug, Args)]
pub struct MethodOptions {
    /// There are no randoms, or they were taken off: the file needs no delays
    #[arg(long, requires = "output")]
    pub no_randoms: bool,
    /// How often scatter is made of an image with the scatter before; 0: there is none
    #[arg(long, value_name = "TIMES", default_value_t = 3, requires = "output")]
    pub scatter: u32,
    /// svrg and bsrem have a prior of relative differences, and go to the same image, svrg in fewer passes
    #[arg(long, value_enum, default_value_t, requires = "output")]
    pub algorithm: Method,
    /// Passes at most [default: 100, of osem 4, of the others 40]
    #[arg(long, value_name = "PASSES", value_parser = count, requires = "output")]
    pub iterations: Option<usize>,
    /// Of svrg and bsrem, the same for every scan: 0.05 weighs neighbours as much as a voxel's own counts; 0: none [default: 0.02]
    #[arg(long, value_name = "STRENGTH", value_parser = not_negative, requires = "output")]
    pub smoothness: Option<f64>,
}

/// What events are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Projector {
    /// Of their directions, by time of flight
    HistoImages,
    /// Whatever their times
    Lines,
}

impl Projector {
    pub fn name(self) -> &'static str {
        match self {
            Self::HistoImages => "histo-images",
            Self::Lines => "lines",
        }
    }
}

/// Of maps of attenuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unit {
    #[value(name = "1/mm")]
    Millimetres,
    #[value(name = "1/cm")]
    Centimetres,
    /// Hounsfield units of a CT
    #[value(name = "HU")]
    Hounsfield,
}

impl Unit {
    pub fn name(self) -> &'static str {
        match self {
            Self::Millimetres => "1/mm",
            Self::Centimetres => "1/cm",
            Self::Hounsfield => "HU",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Method {
    #[default]
    Svrg,
    Bsrem,
    Osem,
    Mlem,
}

impl Method {
    pub fn name(self) -> &'static str {
        match self {
            Self::Svrg => "svrg",
            Self::Bsrem => "bsrem",
            Self::Osem => "osem",
            Self::Mlem => "mlem",
        }
    }

    /// Whether it has a prior.
    pub fn climbs(self) -> bool {
        matches!(self, Self::Svrg | Self::Bsrem)
    }

    /// Where none are given.
    pub fn passes(self) -> usize {
        match self {
            Self::Svrg => 100,
            Self::Osem => 4,
            Self::Bsrem | Self::Mlem => 40,
        }
    }

    /// For the library.
    pub fn algorithm(self) -> Algorithm {
        match self {
            Self::Svrg => Algorithm::Svrg,
            Self::Bsrem => Algorithm::Bsrem,
            Self::Osem => Algorithm::Osem,
            Self::Mlem => Algorithm::Mlem,
        }
    }
}

fn number(text: &str, is: impl Fn(f64) -> bool, must: &str) -> Result<f64, String> {
    text.parse().ok().filter(|v| is(*v)).ok_or_else(|| format!("it must be {must}"))
}

fn finite(text: &str) -> Result<f64, String> {
    number(text, f64::is_finite, "a number")
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |v| v.is_finite() && v > 0.0, "a number above 0")
}

fn not_negative(text: &str) -> Result<f64, String> {
    number(text, |v| v.is_finite() && v >= 0.0, "a number of 0 or more")
}

fn part(text: &str) -> Result<f64, String> {
    number(text, |v| v > 0.0 && v <= 1.0, "above 0, and 1 at most")
}

fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=1 << 20).contains(n)).ok_or_else(|| "it must be a whole number, 1 or more".into())
}
