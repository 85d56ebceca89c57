//! What may be said on the command line.

use crate::commands;
use crate::plan::Steps;
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// From a scan file to a volume file: parallel-beam CT
///
/// A scan is an NXtomo or a Data Exchange file. With no option `recon` searches the rotation axis, removes stripes that stand out from
/// noise, and writes attenuation in 32-bit floating point.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell what a scan file holds
    Inspect {
        /// The scan file
        scan: PathBuf,
    },
    /// Search the rotation axis
    Axis(Axis),
    /// Reconstruct a volume
    #[command(after_help = EXAMPLES)]
    Recon(Box<Recon>),
    /// Do a run again
    Repeat(Repeat),
}

const EXAMPLES: &str = "examples:
  isocenter recon tooth.h5
  isocenter recon scan.nx -o volume.h5 --depth u16 --outliers --bad-pixels
  isocenter recon scan.nx -o slices/
  isocenter recon scan.nx -o volume.zarr --depth u16
  isocenter recon scan.nx --rows 1000..1010 --phase --energy 20 --distance 300 --delta-beta 200
  isocenter repeat volume.toml";

/// Where to compute.
#[derive(Debug, Args)]
pub struct Machine {
    /// auto: GPUs if there are any; cpu; gpu: all of them
    #[arg(long, default_value = "auto", value_parser = ["auto", "cpu", "gpu"], help_heading = "Machine")]
    pub device: String,
    /// Worker threads; 0: one per processor
    #[arg(long, default_value_t = 0, help_heading = "Machine")]
    pub threads: usize,
    /// Memory that a run may take, as in 48G or 500M: half of it for the decoded frames of a compressed scan, half for the work [default:
    /// what is available]
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Machine")]
    pub memory: Option<u64>,
    /// Where decoded frames are kept if half of it is too little, in a file that goes with the run [default: TMPDIR, or /tmp]
    #[arg(long, value_name = "FOLDER", help_heading = "Machine")]
    pub scratch: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Axis {
    /// The scan file
    pub scan: PathBuf,
    /// Look at rows far apart, and tell how the axis moves from row to row
    #[arg(long)]
    pub tilt: bool,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(Debug, Args)]
pub struct Repeat {
    /// The plan that `recon` has written beside a volume
    pub plan: PathBuf,
    /// Just one of several equal parts of a volume that `recon --begin` has begun, as in 3/8; whoever is done last finishes it
    #[arg(long, value_parser = part, value_name = "WHICH/OF")]
    pub part: Option<[usize; 2]>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(Debug, Args)]
pub struct Recon {
    /// The scan file
    pub scan: PathBuf,
    /// The volume: its name tells its kind (.h5, .tif, .vol, .zarr, or folder/ for a TIFF file a slice), as --format does [default: the scan's name with
    /// _volume.h5, in this folder]
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Rotation axis as a fractional bin, counted from 0 [default: it is searched]
    #[arg(long)]
    pub axis: Option<f64>,
    /// First detector row and the one behind the last, as in 100..200 [default: all]
    #[arg(long, value_parser = rows, value_name = "FIRST..END")]
    pub rows: Option<[usize; 2]>,
    /// Just measure how fast the scan is read, slices are made and the volume's folder is written, and tell how long a run takes
    #[arg(long, conflicts_with = "begin")]
    pub probe: bool,
    /// Just find what is to be found, write the plan, and begin the volume: `repeat --part` does the rest, in as many processes
    #[arg(long)]
    pub begin: bool,
    /// Side of a pixel in millimetres: attenuation comes out per millimetre [default: what the file says, or 1]
    #[arg(long, value_name = "MM")]
    pub pixel: Option<f64>,
    #[command(flatten)]
    pub steps: Steps,
    #[command(flatten)]
    pub machine: Machine,
}

impl Cli {
    /// Does what is said.
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Inspect { scan } => commands::inspect::run(&scan),
            Command::Axis(axis) => commands::axis::run(&axis),
            Command::Recon(recon) => commands::recon::run(&recon),
            Command::Repeat(repeat) => commands::recon::repeat(&repeat),
        }
    }
}

fn rows(text: &str) -> Result<[usize; 2], String> {
    let both = text.split_once("..").and_then(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]));
    both.filter(|[a, b]| a < b).ok_or_else(|| "two ascending numbers are expected, as in 100..200".into())
}

fn part(text: &str) -> Result<[usize; 2], String> {
    let both = text.split_once('/').and_then(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]));
    both.filter(|[a, b]| (1..=*b).contains(a)).ok_or_else(|| "a part is expected, 1/8 to 8/8 for example".into())
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1e3),
        Some((at, 'M' | 'm')) => (&text[..at], 1e6),
        Some((at, 'G' | 'g')) => (&text[..at], 1e9),
        Some((at, 'T' | 't')) => (&text[..at], 1e12),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    number.map(|n| (n * factor) as u64).ok_or_else(|| "a number of bytes is expected, as in 48G or 500M".into())
}
