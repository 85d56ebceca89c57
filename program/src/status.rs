//! How the program ends after an error.

use crate::words;
use anyhow::Error;
use isocenter::error::Status;

/// The status of programs that Ctrl-C has ended.
pub const INTERRUPTED: u8 = 130;
const FAILURE: u8 = 1;

/// Whether Ctrl-C has ended the run.
fn interrupted(error: &Error) -> bool {
    let own = error.downcast_ref::<isocenter::error::Error>();
    own.is_some_and(|error| error.status == Status::Cancelled)
}

/// For the shell.
pub fn of(error: &Error) -> u8 {
    if interrupted(error) { INTERRUPTED } else { FAILURE }
}

/// For people.
pub fn told(error: &Error) -> String {
    if interrupted(error) {
        return "interrupted".into();
    }
    let parts = error.chain().map(|cause| match (cause.downcast_ref(), cause.downcast_ref::<hdf5_metno::Error>()) {
        (Some(own), _) => words::of_error(own),
        (_, Some(hdf5)) => words::of_hdf5(&hdf5.to_string()).into(),
        _ => cause.to_string(),
    });
    format!("error: {}", parts.collect::<Vec<_>>().join(": "))
}
