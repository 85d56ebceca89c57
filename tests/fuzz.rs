//! Sessions at the C boundary: those of the corpora in `fuzz/corpus`, and random variations of them. `make fuzz` lets libFuzzer look for
//! others, with AddressSanitizer. `ISOC_FUZZ_DEVICE=gpu` takes a GPU's contexts.

#[path = "../fuzz/corpus/repeat.rs"]
mod corpus;
#[allow(unreachable_pub, dead_code)] // Part of another crate elsewhere.
#[path = "../fuzz/src/callers/mod.rs"]
mod sessions;

use corpus::repeat;
use sessions::Bounds;

#[test]
fn ct() {
    repeat("ct", include_str!("../fuzz/corpus/ct.txt"), |bytes| sessions::ct(bytes, Bounds::Guarded), 1000);
}

#[test]
fn mri() {
    repeat("mri", include_str!("../fuzz/corpus/mri.txt"), |bytes| sessions::mri(bytes, Bounds::Guarded), 1000);
}

#[test]
fn pet() {
    // Each may simulate, make factors and scatter, and reconstruct: fewer take as long as the others' thousand.
    repeat("pet", include_str!("../fuzz/corpus/pet.txt"), |bytes| sessions::pet(bytes, Bounds::Guarded), 300);
}
