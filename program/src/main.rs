//! The command `isocenter`: from a scan file to a volume file.

use isocenter_program::cli::Cli;
use isocenter_program::status;
use std::process::ExitCode;

fn main() -> ExitCode {
    // Locks keep scans from being read while they are written, and fail on file systems that have none; what is read here is read once.
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_none() {
        // SAFETY: there is no other thread yet.
        unsafe { std::env::set_var("HDF5_USE_FILE_LOCKING", "FALSE") };
    }
    // A limit on the size of files is an error that says so, as a full disk is, and no signal that ends the program.
    // SAFETY: no handler is set, and there is no other thread yet.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    match Cli::read(std::env::args_os().collect()).and_then(Cli::run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", status::told(&error));
            ExitCode::from(status::of(&error))
        }
    }
}
