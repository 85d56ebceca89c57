//! What chunks and pieces of images are decoded by.

use super::Choices;
use isocenter_program::frames::filters::{Codec, Codecs, Pipeline, Workspace};
use std::cell::RefCell;

/// Numbers of filters of HDF5: all that are known, and one that is not.
const FILTERS: [i32; 9] = [1, 2, 3, 32000, 32001, 32004, 32008, 32015, 77];

const CODECS: [Codec; 7] =
    [Codec::Lzw, Codec::PackBits, Codec::Deflate, Codec::Lz4, Codec::Lzf, Codec::BloscLz, Codec::Zstd];

thread_local! {
    // Kept from chunk to chunk, as threads of the program do.
    static KEPT: RefCell<(Workspace, Codecs)> =
        RefCell::new((Workspace::new().expect("a workspace"), Codecs::new().expect("codecs")));
}

/// An option of a filter: small, as most are, or as large as it can be.
fn option(choices: &mut Choices) -> u32 {
    match choices.byte() {
        byte @ 0..=247 => u32::from(byte),
        byte => [256, 1 << 13, 1 << 16, 1 << 31, u32::MAX - 7, u32::MAX, 8, 0][usize::from(byte - 248)],
    }
}

/// Decodes bytes by a codec, or by some filters one behind the other, into as many bytes as are wanted.
pub fn decoded(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let count = choices.below(6);
    let codec = *choices.one(&CODECS);
    let filters: Vec<_> = (1..count)
        .map(|_| {
            let filter = *choices.one(&FILTERS);
            let options = choices.below(8);
            (filter, (0..options).map(|_| option(&mut choices)).collect())
        })
        .collect();
    let (size, skipped) = (1 + choices.below(9), choices.below(256) as u32 & 0b1010);
    let mut to = vec![0; choices.below(1 << 14)];
    let from = choices.rest();
    KEPT.with_borrow_mut(|(workspace, codecs)| {
        // Errors are in order, others are not.
        if count == 0 {
            let done = codec.decode_some(from, &mut to, codecs).unwrap_or(0);
            assert!(done <= to.len() && done as u64 <= codec.most(from.len() as u64), "{codec:?}: {done} bytes");
        } else if let Some(pipeline) = Pipeline::of_filters(&filters, size) {
            workspace.now.clear();
            workspace.now.extend_from_slice(from);
            let done = pipeline.decode(workspace, from.len(), skipped, &mut to);
            let most = pipeline.most(from.len() as u64);
            assert!(done.is_err() || to.len() as u64 <= most, "{} of {filters:?}: {most} bytes at most", to.len());
        }
    });
}
