//! What kernels that interpolate in tables need besides.

use super::vector::Vector;

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
