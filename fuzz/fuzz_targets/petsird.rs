#![no_main]

libfuzzer_sys::fuzz_target!(init: isocenter_fuzz::alone(), |bytes: &[u8]| isocenter_fuzz::readers::petsird::read(bytes));
