//! How the program ends after an error.

use crate::words;
use anyhow::Error;
use isocenter::error::Status;
use std::collections::TryReserveError;
use std::error::Error as Cause;
use std::fmt;
use std::io::ErrorKind;

/// For the shell. Numbers stay what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Any other error.
    Error = 1,
    /// The command line cannot be understood.
    CommandLine = 2,
    /// What is to be read is not there, is damaged, or is not what was said of it.
    Input = 3,
    /// Too little memory, of the machine or of `--memory`.
    Memory = 4,
    /// A disk is full, or a quota or a limit on the size of files is reached.
    Disk = 5,
    /// A GPU is not there, cannot be used, or failed.
    Gpu = 6,
    /// As of programs that Ctrl-C has ended.
    Interrupted = 130,
}

impl End {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::CommandLine => "command-line",
            Self::Input => "input",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Gpu => "gpu",
            Self::Interrupted => "interrupted",
        }
    }
}

/// An error of what was to be read.
#[derive(Debug)]
struct Unreadable(Error);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{:#}", self.0)
    }
}

impl Cause for Unreadable {}

/// The same error, of what was to be read.
pub fn unreadable(error: Error) -> Error {
    Unreadable(error).into()
}

/// That a file system has too little room.
#[derive(Debug)]
pub struct Full(pub String);

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Cause for Full {}

/// An error and all that it follows from, in their order.
fn causes(error: &Error) -> Vec<&(dyn Cause + 'static)> {
    error
        .chain()
        .flat_map(|cause| match cause.downcast_ref::<Unreadable>() {
            Some(Unreadable(inner)) => causes(inner),
            None => vec![cause],
        })
        .collect()
}

/// What an error alone says of the end.
fn by_cause(cause: &(dyn Cause + 'static)) -> Option<End> {
    if let Some(own) = cause.downcast_ref::<isocenter::error::Error>() {
        return match own.status {
            Status::Cancelled => Some(End::Interrupted),
            Status::MemoryCap | Status::OutOfMemory => Some(End::Memory),
            Status::NoDevice | Status::DriverTooOld | Status::NoKernelImage | Status::Cuda => Some(End::Gpu),
            Status::NotFiniteData | Status::FlatField | Status::TooFewViews | Status::EqualAngles => Some(End::Input),
            _ => None,
        };
    }
    if let Some(error) = cause.downcast_ref::<std::io::Error>() {
        return by_system(error);
    }
    if let Some(error) = cause.downcast_ref::<hdf5_metno::Error>() {
        // It has what the system said among its words.
        let text = error.to_string();
        let number = text.split_once("errno = ")?.1.split(',').next()?.parse().ok()?;
        return by_system(&std::io::Error::from_raw_os_error(number));
    }
    match () {
        () if cause.is::<Full>() => Some(End::Disk),
        () if cause.is::<TryReserveError>() => Some(End::Memory),
        () if cause.is::<clap::Error>() => Some(End::CommandLine),
        () => None,
    }
}

fn by_system(error: &std::io::Error) -> Option<End> {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Some(End::Disk),
        ErrorKind::OutOfMemory => Some(End::Memory),
        _ => None,
    }
}

/// For the shell. What is not known for certain is any other error.
pub fn of(error: &Error) -> End {
    let unreadable = error.chain().any(|cause| cause.is::<Unreadable>());
    let by_cause = causes(error).into_iter().find_map(by_cause);
    by_cause.unwrap_or(if unreadable { End::Input } else { End::Error })
}

/// For people.
pub fn told(error: &Error) -> String {
    if of(error) == End::Interrupted {
        return "interrupted".into();
    }
    if let Some(line) = error.downcast_ref::<clap::Error>() {
        // It begins with the same word, and ends its own line.
        return line.to_string().trim_end().into();
    }
    let parts = causes(error).into_iter().map(|cause| match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(own), _) => words::of_error(own),
        (_, Some(hdf5)) => words::of_hdf5(&hdf5_metno::Error::to_string(hdf5)).into(),
        _ => cause.to_string(),
    });
    format!("error: {}", parts.collect::<Vec<_>>().join(": "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    fn own(status: Status) -> Error {
        isocenter::error::Error { status, message: "geometry.views is 1".into() }.into()
    }

    fn os(number: i32) -> Error {
        std::io::Error::from_raw_os_error(number).into()
    }

    #[test]
    fn ends_are_told_apart() {
        let nothing = || Vec::<u8>::new().try_reserve_exact(usize::MAX).map_err(Error::from).expect_err("no memory");
        for (error, end) in [
            (anyhow!("a text"), End::Error),
            (unreadable(anyhow!("a text")), End::Input),
            (unreadable(anyhow!("a text").context("more")).context("most"), End::Input),
            // What else a reader meets is no fault of what it reads.
            (unreadable(os(libc::ENOSPC)).context("most"), End::Disk),
            (unreadable(nothing()).context("most"), End::Memory),
            (unreadable(own(Status::Cancelled)), End::Interrupted),
            (os(libc::EFBIG).context("writing"), End::Disk),
            (os(libc::EDQUOT).context("writing"), End::Disk),
            (os(libc::EIO).context("writing"), End::Error),
            (Full("much".into()).into(), End::Disk),
            (own(Status::MemoryCap), End::Memory),
            (own(Status::Cuda).context("slices"), End::Gpu),
            (own(Status::FlatField), End::Input),
            (own(Status::Internal), End::Error),
        ] {
            assert_eq!(of(&error), end, "{error:#}");
        }
    }

    #[test]
    fn all_parts_are_told() {
        let error = Err::<(), _>(unreadable(own(Status::OutOfRange).context("inner"))).context("outer");
        assert_eq!(told(&error.expect_err("an error")), "error: outer: inner: the number of projections is 1");
    }
}
