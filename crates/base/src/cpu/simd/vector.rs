//! What kernels do with vectors of f32 or f64.

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

/// What kernels that interpolate in tables need besides.
///
/// # Safety (of every method)
/// As for [`Vector`].
#[allow(clippy::missing_safety_doc)]
pub trait Lookup: Vector<Element = f32> {
    /// Integers, as many.
    type Index: Copy;

    /// Smaller of two.
    unsafe fn min(self, b: Self) -> Self;
    /// Larger of two.
    unsafe fn max(self, b: Self) -> Self;
    /// 0, 1, 2, ...
    unsafe fn ramp() -> Self;
    /// Towards zero; the value must fit.
    unsafe fn truncate(self) -> Self::Index;
    /// Of integers.
    unsafe fn of_index(index: Self::Index) -> Self;
    /// (index << shift) + base
    unsafe fn shift_add(index: Self::Index, shift: u32, base: i32) -> Self::Index;
    /// `p[l]` is lane l.
    unsafe fn store_index(index: Self::Index, p: *mut i32);
    /// Lane l is `p[index[l]]`, each index in 0..LANES; reads all LANES floats at `p`.
    unsafe fn window(p: *const f32, index: Self::Index) -> Self;
    /// Lane l is `p[index[l]]`, each index in 0..2 LANES; reads all 2 LANES floats at `p`.
    unsafe fn wide_window(p: *const f32, index: Self::Index) -> Self;
    /// Lane l is `p[index[l]]`, any index.
    unsafe fn gather(p: *const f32, index: Self::Index) -> Self;
}
