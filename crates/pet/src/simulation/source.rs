//! Where decays are.

use crate::lattice::Lattice;
use crate::phantom::Phantom;

/// Where decays are.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// In a phantom's activity.
    Phantom(&'a Phantom),
    /// In the voxels of an image of activity for a volume; uniform within a voxel.
    Image(&'a [f32], Lattice),
}

impl Source<'_> {
    /// Integral of the activity over all space.
    pub(super) fn total(&self) -> f64 {
        match self {
            Source::Phantom(phantom) => phantom.total_activity(),
            Source::Image(image, lattice) => image.iter().map(|v| f64::from(*v)).sum::<f64>() * lattice.voxel_volume(),
        }
    }
}
