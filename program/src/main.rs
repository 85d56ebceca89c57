//! The command `isocenter`: from a scan file to a volume file.

mod cli;
mod commands;
mod frames;
mod plan;
mod scan;
mod volume;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::Cli::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
