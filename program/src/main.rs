//! The command `isocenter`: from a scan file to a volume file.

use isocenter_program::cli::Cli;
use isocenter_program::{status, talk};
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
    let words: Vec<_> = std::env::args_os().collect();
    // Before they are understood: whoever reads lines wants to read that they are not.
    if words.iter().any(|word| word == "--json") {
        talk::in_json();
    }
    match Cli::read(words).and_then(Cli::run) {
        Ok(()) => {
            talk::done();
            ExitCode::SUCCESS
        }
        Err(error) => {
            // Help and versions that were asked for are none.
            if let Some(asked) = error.downcast_ref::<clap::Error>().filter(|error| !error.use_stderr()) {
                asked.exit();
            }
            talk::failed(&error, "");
            ExitCode::from(status::of(&error) as u8)
        }
    }
}
