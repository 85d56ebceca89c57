//! What kernels do with vectors of f32 or f64.

use super::lookup::Lookup;

/// # Safety (of every method)
/// The processor has the level's instructions; pointers are valid for a whole vector, unaligned.
#[allow(clippy::missing_safety_doc)]
pub trait Vector: Copy {
    /// What it holds.
    type Element: Copy;
    /// The vector of f32 for the same instructions.
    type Singles: Lookup;
    /// How many, an even number.
    const LANES: usize;

    /// The same in all lanes.
    unsafe fn splat(v: Self::Element) -> Self;
    /// Lane l is `p[l]`.
    unsafe fn load(p: *const Self::Element) -> Self;
    /// Lanes are `p[0], p[1], p[0], p[1]` and so on.
    unsafe fn pairs(p: *const Self::Element) -> Self;
    /// `p[l]` is lane l.
    unsafe fn store(self, p: *mut Self::Element);
    /// Sum.
    unsafe fn add(self, b: Self) -> Self;
    /// Difference.
    unsafe fn sub(self, b: Self) -> Self;
    /// Product.
    unsafe fn mul(self, b: Self) -> Self;
    /// self * b + c; one rounding where the level has it.
    unsafe fn fma(self, b: Self, c: Self) -> Self;
    /// c - self * b; one rounding where the level has it.
    unsafe fn nfma(self, b: Self, c: Self) -> Self;
}
