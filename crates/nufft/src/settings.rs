//! What a transform is planned for.

use isocenter_base::cpu::level::Level;

/// What a plan is made for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Voxels along z, y, x; one along z makes it a 2-D problem.
    pub shape: [usize; 3],
    /// Maximum l2 error, relative to the result, or to what terms of random phase would sum to where they cancel.
    pub tolerance: f64,
    /// Minimum size of the fine grid relative to the image; None takes the fastest.
    pub upsampling: Option<f64>,
    /// About how many points there will be: the fastest upsampling depends on it, nothing else.
    pub samples: usize,
    /// Instruction-set level.
    pub level: Level,
}

impl Settings {
    /// The fastest upsampling at the processor's best level.
    pub fn new(shape: [usize; 3], tolerance: f64, samples: usize) -> Self {
        Self { shape, tolerance, upsampling: None, samples, level: Level::detect() }
    }

    pub(super) fn dims(&self) -> usize {
        if self.shape[0] == 1 { 2 } else { 3 }
    }
}
