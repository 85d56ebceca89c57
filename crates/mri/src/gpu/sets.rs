//! Several sets of sensitivities on the GPU: what coils see, the sum over sets of an image times its sensitivities, stands before sums that
//! know none, and is taken apart behind them.

use super::coils::CoilKernels;
use crate::engine::Scan;
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::Maps;
use isocenter_base::gpu::{Lent, Queue};
use isocenter_nufft::Scalar;
use std::ops::Range;

/// Voxels of what coils see at a time: enough for any GPU, and 512 MB in f32 for input and output.
const VOXELS: usize = 1 << 25;

/// Coils whose images are made at a time.
fn together(scan: &Scan) -> usize {
    (VOXELS / scan.seen().max(1)).clamp(1, scan.coils.max(1))
}

/// Bytes of what coils see, and of its product; none where there is one set, which sums take themselves.
pub(super) fn bytes_seen<T: Scalar>(scan: &Scan) -> u64 {
    if scan.sets == 1 { 0 } else { (2 * together(scan) * scan.seen() * T::PRECISION.complex()) as u64 }
}

/// Sensitivities `[coil][set][voxel]`, and room for what some coils see.
pub(super) struct Sets<'a> {
    queue: &'a Queue,
    kernels: &'a CoilKernels,
    maps: u64,
    sets: usize,
    voxels: usize,
    /// That each coil sees.
    images: usize,
    together: usize,
    /// Bytes of a number.
    size: usize,
    seen: [Lent; 2],
}

impl<'a> Sets<'a> {
    pub(super) fn new<T: Scalar>(queue: &'a Queue, kernels: &'a CoilKernels, maps: u64, scan: &Scan) -> Result<Self> {
        let (sets, voxels, images, size) = (scan.sets, scan.voxels(), scan.effects.images(), T::PRECISION.complex());
        let half = bytes_seen::<T>(scan) as usize / 2;
        let seen = [queue.pool.take(half)?, queue.pool.take(half)?];
        Ok(Self { queue, kernels, maps, sets, voxels, images, together: together(scan), size, seen })
    }

    /// What some of the coils see, and where a product with that goes.
    pub(super) fn seen(&self) -> [u64; 2] {
        self.seen.each_ref().map(|half| half.address())
    }

    /// Coils some at a time.
    pub(super) fn groups(&self, coils: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let together = self.together;
        (0..coils).step_by(together).map(move |first| first..coils.min(first + together))
    }

    /// Calls for each set and image, from a coil on, with where sensitivities, the image and what coils see of it are, and for how many coils.
    fn each(
        &self,
        coils: &Range<usize>,
        (images, seen): (u64, u64),
        mut work: impl FnMut((usize, usize), Maps, [u64; 2], [usize; 2]) -> Result<()>,
    ) -> Result<()> {
        let behind = |address: u64, images: usize| address + (images * self.voxels * self.size) as u64;
        // Coils' images are side by side where there is one of each.
        let at_once = if self.images == 1 { coils.len() } else { 1 };
        for (set, image) in (0..self.sets).flat_map(|set| (0..self.images).map(move |image| (set, image))) {
            for coil in coils.clone().step_by(at_once) {
                let maps = Maps { address: behind(self.maps, coil * self.sets + set), stride: self.sets * self.voxels };
                let image_at = behind(images, set * self.images + image);
                let seen_at = behind(seen, (coil - coils.start) * self.images + image);
                work((set, coil), maps, [image_at, seen_at], [self.voxels, at_once])?;
            }
        }
        Ok(())
    }

    /// What coils see of images `[set][image]`.
    ///
    /// # Safety
    /// Images of all sets, and room for what so many coils see, until the stream has passed this; the GPU is current.
    pub(super) unsafe fn see(&self, coils: &Range<usize>, images: u64) -> Result<()> {
        let [seen, _] = self.seen();
        self.each(coils, (images, seen), |(set, _), maps, [image, seen], sizes| {
            // SAFETY: by this function's contract.
            unsafe {
                match set {
                    0 => self.kernels.multiply(self.queue, maps, image, seen, sizes),
                    _ => self.kernels.add_products(self.queue, maps, image, seen, sizes),
                }
            }
        })
    }

    /// Images `[set][image]` of what so many coils see; added to those of the coils before them.
    ///
    /// # Safety
    /// As for [`Sets::see`].
    pub(super) unsafe fn combine(&self, coils: &Range<usize>, seen: u64, images: u64) -> Result<()> {
        self.each(coils, (images, seen), |(_, coil), maps, [image, seen], sizes| {
            // SAFETY: by this function's contract.
            unsafe { self.kernels.combine(self.queue, maps, (image, coil > 0), seen, sizes) }
        })
    }
}
