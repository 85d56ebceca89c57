//! What may be said on the command line.

use crate::commands;
use crate::plan::{Depth, StripeMethod};
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

/// From a scan file to a volume file: parallel-beam CT.
///
/// A scan is an NXtomo or a Data Exchange file. With no option `recon` searches the rotation axis, removes stripes that stand out from noise,
/// and writes attenuation as 32-bit floating point.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell what a scan file holds.
    Inspect {
        /// The scan file.
        scan: PathBuf,
    },
    /// Search the rotation axis.
    Axis {
        /// The scan file.
        scan: PathBuf,
        #[command(flatten)]
        machine: Machine,
    },
    /// Reconstruct a volume.
    #[command(
        after_help = "examples:\n  isocenter recon tooth.h5\n  isocenter recon scan.nx -o volume.h5 --depth u16\n  isocenter recon --plan volume.toml"
    )]
    Recon(Recon),
}

/// Where to compute.
#[derive(Debug, Args)]
pub struct Machine {
    /// auto: GPUs if there are any; cpu; gpu: all of them.
    #[arg(long, default_value = "auto", value_parser = ["auto", "cpu", "gpu"], help_heading = "Machine")]
    pub device: String,
    /// Worker threads; 0: one per processor.
    #[arg(long, default_value_t = 0, help_heading = "Machine")]
    pub threads: usize,
}

#[derive(Debug, Args)]
pub struct Recon {
    /// The scan file.
    #[arg(required_unless_present = "plan", conflicts_with = "plan")]
    pub scan: Option<PathBuf>,
    /// The volume file [default: the scan's name with _volume.h5, in this folder].
    #[arg(short = 'o', long, conflicts_with = "plan")]
    pub output: Option<PathBuf>,
    /// Repeat the run that this file describes, which every run writes beside its volume.
    #[arg(long)]
    pub plan: Option<PathBuf>,
    /// Rotation axis as a fractional bin, counted from 0 [default: it is searched].
    #[arg(long, conflicts_with = "plan", help_heading = "Scan")]
    pub axis: Option<f64>,
    /// First detector row and the one behind the last, as in 100..200 [default: all].
    #[arg(long, conflicts_with = "plan", value_parser = rows, help_heading = "Scan")]
    pub rows: Option<[usize; 2]>,
    /// How stripes, which would become rings, are removed.
    #[arg(long, value_enum, default_value_t, conflicts_with = "plan", help_heading = "Steps")]
    pub stripes: StripeMethod,
    /// Element type of the volume.
    #[arg(long, value_enum, default_value_t, conflicts_with = "plan", help_heading = "Volume")]
    pub depth: Depth,
    /// What integers hold: the smallest and the largest value [default: percentiles 0.1 and 99.9].
    #[arg(long, num_args = 2, value_names = ["LOW", "HIGH"], allow_negative_numbers = true, conflicts_with = "plan", help_heading = "Volume")]
    pub window: Option<Vec<f64>>,
    #[command(flatten)]
    pub machine: Machine,
}

impl Cli {
    /// Does what is said.
    pub fn run(self) -> Result<()> {
        match self.command {
            Command::Inspect { scan } => commands::inspect::run(&scan),
            Command::Axis { scan, machine } => commands::axis::run(&scan, &machine),
            Command::Recon(recon) => commands::recon::run(&recon),
        }
    }
}

fn rows(text: &str) -> Result<[usize; 2], String> {
    let both = text.split_once("..").and_then(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]));
    both.filter(|[a, b]| a < b).ok_or_else(|| "two ascending numbers are expected, as in 100..200".into())
}
