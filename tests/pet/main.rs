//! PET on the processor.

mod scan;
mod suite;

/// Where the suite's plans compute: isoc_context_options.device.
fn device() -> Option<u32> {
    Some(scan::PROCESSOR)
}
