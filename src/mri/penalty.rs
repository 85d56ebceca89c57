//! The penalty lambda |R rho|^2.

/// Which R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Penalty {
    /// R = 1: small values are preferred.
    #[default]
    Identity,
    /// Differences of neighbours along every axis: smooth images are preferred.
    Differences,
    /// The caller's matrix.
    Matrix,
}
