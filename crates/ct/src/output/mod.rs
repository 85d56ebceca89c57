//! How finished slices are stored: element type, window, circular mask, histogram.
//!
//! 1. [`options`]: what was asked for;
//! 2. [`mask`]: the pixels of a slice that count;
//! 3. [`survey`]: a first pass over some slices, which finds percentiles;
//! 4. [`code`]: the numbers of the conversion, which the processor and GPUs share;
//! 5. [`writer`]: rows of finished slices into the caller's array, and what was counted on the way.

pub(super) mod code;
pub(super) mod mask;
pub(super) mod options;
pub(super) mod survey;
pub(super) mod writer;

use isocenter_base::array::DType;
use isocenter_base::context::Part;
use options::Output;
use survey::Survey;
use writer::Writer;

/// What becomes of finished slices.
#[derive(Clone, Copy)]
pub(super) enum Finish<'a> {
    /// They go into the caller's f32 array as they are.
    Direct,
    /// They are counted, and nothing is written.
    Survey(&'a Survey<'a>),
    /// They are converted on their way.
    Write(&'a Writer<'a>),
}

/// One pass of a call over slices.
#[derive(Clone, Copy)]
pub(super) struct Pass<'a> {
    /// Element type of what is written.
    pub(super) stored: DType,
    /// Results pass a conversion on their way.
    pub(super) converts: bool,
    /// Host memory of what is counted.
    pub(super) bytes: u64,
    pub(super) finish: Finish<'a>,
    /// The part of the call's work that it is.
    pub(super) part: Part,
}

impl<'a> Pass<'a> {
    /// The only one of a call whose results go into the caller's f32 array as they are.
    pub(super) const DIRECT: Self =
        Self { stored: DType::F32, converts: false, bytes: 0, finish: Finish::Direct, part: Part::WHOLE };

    /// One of those that an output takes.
    pub(super) fn of(output: &Output, threads: usize, finish: Finish<'a>, part: Part) -> Self {
        let bytes = output.bytes(threads);
        Self {
            bytes,
            finish,
            part,
            ..if matches!(finish, Finish::Survey(_)) { Self::DIRECT } else { Self::sizes(output, threads) }
        }
    }

    /// The one that writes, for sizes alone.
    pub(super) fn sizes(output: &Output, threads: usize) -> Self {
        Self { stored: output.dtype, converts: output.converts(), bytes: output.bytes(threads), ..Self::DIRECT }
    }
}
