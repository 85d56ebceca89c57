//! What a call takes of host and GPU.

/// Maximum number of bytes of working memory that a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Of the host.
    pub host: u64,
    /// Of the GPU that it computes on, with what the plan keeps there; 0 on the processor.
    pub gpu: u64,
}
