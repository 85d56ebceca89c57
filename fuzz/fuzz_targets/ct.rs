#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isocenter_fuzz::callers::ct(bytes, isocenter_fuzz::callers::Bounds::Exact));
