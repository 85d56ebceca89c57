//! MRI on the processor.

mod coils;
mod delays;
mod field;
mod field_normal;
mod finite;
mod imaginary;
mod joint;
mod merit;
mod phantom;
mod radial;
mod scan;
mod series;
mod sets;
mod shots;
mod sparse;
mod stack;
mod stream;
mod suite;
mod warnings;

/// Where the suite's plans compute: isoc_context_options.device.
fn device() -> Option<u32> {
    Some(scan::PROCESSOR)
}
