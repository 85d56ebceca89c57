//! What libFuzzer found for the readers of the program, in `fuzz/corpus`, and random variations: whatever the bytes are, there is no panic.

#[path = "../../../fuzz/corpus/repeat.rs"]
pub(crate) mod corpus;

use crate::readers;
use corpus::repeat;

macro_rules! readers {
    ($($name:ident: $reader:path, $variations:literal;)*) => {$(
        #[test]
        fn $name() {
            let corpus = include_str!(concat!("../../../fuzz/corpus/", stringify!($name), ".txt"));
            repeat(stringify!($name), corpus, $reader, $variations);
        }
    )*};
}

readers! {
    filters: readers::filters, 20000;
    tiff: readers::tiff, 10000;
    edf: readers::edf, 10000;
    folder: readers::folder::read, 1000;
    par: readers::par, 2000;
    options: readers::options, 10000;
    plan: readers::plan, 5000;
    table: readers::table, 2000;
    hdf5: readers::hdf5::read, 500;
    petsird: readers::petsird::read, 2000;
}
