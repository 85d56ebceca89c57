#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| isocenter_fuzz::ct(bytes, isocenter_fuzz::Bounds::Exact));
