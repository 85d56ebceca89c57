//! The command `isocenter`: from a scan file to a volume file.

use isocenter::error::{Error, Status};
use isocenter_program::cli::Cli;
use isocenter_program::watch;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Locks keep scans from being read while they are written, and fail on file systems that have none; what is read here is read once.
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_none() {
        // SAFETY: there is no other thread yet.
        unsafe { std::env::set_var("HDF5_USE_FILE_LOCKING", "FALSE") };
    }
    match Cli::read(std::env::args_os().collect()).and_then(Cli::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if cancelled(&error) => {
            eprintln!("interrupted");
            ExitCode::from(watch::INTERRUPTED)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Whether Ctrl-C has ended the run.
fn cancelled(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Error>().is_some_and(|error| error.status == Status::Cancelled)
}
