//! The back projectors: which there are, what each needs, and how it is launched.

use super::case::{Arguments, Case};
use super::format::Format;
use super::state::State;
use crate::options::Sampling;
use isocenter_base::error::Result;
use isocenter_base::gpu::Stream;

/// A back projector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Projector {
    /// Weights times data on tensor cores; `split` for f32 grade.
    Tensor { split: bool },
    /// Texture units: one f32 slice, two, or four of f16; `standard` with everybody's mapping of threads to pixels.
    Texture { standard: bool, lanes: usize },
    /// Bins cached in shared memory, interpolated in f32; f16 data with `half`.
    Alu { half: bool, lanes: usize },
    /// Texture and ALU blocks side by side; `exact` with f32 weights in both.
    Hybrid { exact: bool, lanes: usize },
    /// No cache, f64 positions: for what the others refuse.
    Direct { lanes: usize },
    /// The transpose of the forward projection.
    Adjoint { lanes: usize },
}

impl Projector {
    /// Rows as it reads them.
    pub(super) fn format(self, sampling: Sampling) -> Format {
        let oversampling = if sampling == Sampling::Oversampled { 4 } else { 1 };
        match self {
            Projector::Tensor { split } => Format { lanes: 8, half: true, split, oversampling, tight: false },
            Projector::Texture { lanes, .. } | Projector::Hybrid { lanes, .. } => {
                Format { lanes, half: lanes == 4, split: false, oversampling, tight: false }
            }
            Projector::Alu { half, lanes } => Format { lanes, half, split: false, oversampling, tight: false },
            Projector::Direct { lanes } => Format { lanes, half: false, split: false, oversampling, tight: false },
            Projector::Adjoint { lanes } => Format { lanes, half: false, split: false, oversampling: 1, tight: false },
        }
    }

    /// Such as "texture f16 x4".
    pub(super) fn name(self) -> String {
        match self {
            Projector::Tensor { split: false } => "tensor f16 x64".into(),
            Projector::Tensor { split: true } => "tensor split x32".into(),
            Projector::Texture { standard, lanes } => {
                let (how, kind) = (if standard { " standard" } else { "" }, if lanes == 4 { "f16" } else { "f32" });
                format!("texture{how} {kind} x{lanes}")
            }
            Projector::Alu { half, lanes } => format!("alu {} x{lanes}", if half { "f16" } else { "f32" }),
            Projector::Hybrid { exact, lanes } => {
                let (how, kind) = (if exact { " exact" } else { "" }, if lanes == 4 { "f16" } else { "f32" });
                format!("hybrid{how} {kind} x{lanes}")
            }
            Projector::Direct { lanes } => format!("direct f32 x{lanes}"),
            Projector::Adjoint { lanes } => format!("adjoint f32 x{lanes}"),
        }
    }

    /// Slices that one block takes: others cost as much as these.
    pub(super) fn slices(self) -> usize {
        match self {
            Projector::Tensor { split } => {
                if split {
                    32
                } else {
                    64
                }
            }
            Projector::Texture { lanes, .. }
            | Projector::Alu { lanes, .. }
            | Projector::Hybrid { lanes, .. }
            | Projector::Direct { lanes } => lanes,
            Projector::Adjoint { lanes } => {
                if lanes == 4 {
                    8
                } else {
                    lanes
                }
            }
        }
    }

    /// Why it cannot serve this case; None if it can.
    pub(super) fn refusal(self, case: &Case) -> Option<String> {
        match self {
            Projector::Tensor { .. } => super::tensor::refusal(case),
            Projector::Texture { .. } => super::texture::refusal(case, self.format(case.sampling)),
            Projector::Alu { .. } => super::alu::refusal(case, self.format(case.sampling)),
            Projector::Hybrid { exact, .. } if exact && case.sampling != Sampling::Linear => {
                Some("the exact hybrid kernel is for linear sampling".into())
            }
            Projector::Hybrid { .. } => super::hybrid::refusal(case, self.format(case.sampling)),
            Projector::Direct { .. } | Projector::Adjoint { .. } => None,
        }
    }

    /// Sums `arguments.slices` slices.
    pub(super) fn launch(self, state: &mut State, case: &Case, arguments: Arguments, stream: &Stream) -> Result<()> {
        match self {
            Projector::Tensor { split } => super::tensor::launch(state, case, split, arguments, stream),
            Projector::Texture { standard, .. } => {
                let format = self.format(case.sampling);
                super::texture::launch(state, case, (format, standard), arguments, stream)
            }
            Projector::Alu { .. } => super::alu::launch(state, case, self.format(case.sampling), arguments, stream),
            Projector::Hybrid { exact, .. } => {
                let format = self.format(case.sampling);
                super::hybrid::launch(state, case, (format, exact), arguments, stream)
            }
            Projector::Direct { lanes } => super::direct::launch(state, case, lanes, arguments, stream),
            Projector::Adjoint { lanes } => super::adjoint::launch(state, case, lanes, arguments, stream),
        }
    }
}
