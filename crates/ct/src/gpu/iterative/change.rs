//! Launches `kernels/ct/iterative.cu`.

use super::launches::over;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Function, Stream, mirrored};

/// Mirrors `Change`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) y: u64,
    pub(super) x: u64,
    pub(super) shared: u64,
    pub(super) over: u64,
    pub(super) under: u64,
    pub(super) ended: u64,
    pub(super) parts: u64,
    pub(super) sums: u64,
    pub(super) done: u64,
    pub(super) stride: i64,
    pub(super) first: i64,
    pub(super) count: i64,
    pub(super) weight: f64,
    pub(super) step: f32,
    pub(super) lower: f32,
    pub(super) upper: f32,
    pub(super) aligned: i32,
}
mirrored!(Change, 120);

/// Mirrors `Load`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) order: u64,
    pub(super) found: u64,
    pub(super) slice_stride: i64,
    pub(super) views: i32,
    pub(super) bins: i32,
    pub(super) slices: i32,
    pub(super) replace: i32,
}
mirrored!(Load, 56);

/// Mirrors `Begin`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Begin {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) mask: u64,
    pub(super) found: u64,
    pub(super) slice_stride: i64,
    pub(super) row_stride: i64,
    pub(super) column_stride: i64,
    pub(super) value: f32,
    pub(super) lower: f32,
    pub(super) upper: f32,
    pub(super) nx: i32,
    pub(super) ny: i32,
    pub(super) replace: i32,
}
mirrored!(Begin, 80);

/// Mirrors `Store`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) slice_stride: i64,
    pub(super) row_stride: i64,
    pub(super) nx: i32,
    pub(super) ny: i32,
}
mirrored!(Store, 40);

/// Mirrors `Mark`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) sums: u64,
    pub(super) of: u64,
    pub(super) ended: u64,
    pub(super) objective: u64,
    pub(super) slices_left: u64,
    pub(super) part: f64,
    pub(super) factor: f64,
    pub(super) slices: i32,
}
mirrored!(Mark, 64);

/// Mirrors `Lessen`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Lessen {
    pub(super) sums: u64,
    pub(super) over: u64,
    pub(super) under: u64,
    pub(super) ended: u64,
    pub(super) slices: i32,
}
mirrored!(Lessen, 40);

impl Change {
    /// # Safety
    /// The vectors hold these elements of so many slices, and other addresses are as the kernel's struct says, until the stream has passed.
    pub(super) unsafe fn launch(mut self, kernel: &Function, slices: usize, stream: &Stream) -> Result<()> {
        let at = |address: u64| address == 0 || (address + 4 * self.first as u64).is_multiple_of(16);
        let whole = self.count % 4 == 0 && self.stride % 4 == 0 && self.shared.is_multiple_of(16);
        self.aligned = (at(self.y) && at(self.x) && whole).into();
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { kernel.launch(stream, over(self.count as usize, slices), &self) }
    }
}
