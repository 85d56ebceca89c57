//! Where voxels are.

/// From the rotation axis, along columns and lines, and from the detector's middle row, along slices: so that parts of a volume lie where they
/// are in the whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Places {
    /// From a slice, a line and a column to the next: in millimetres, or in bins where nobody knows how large these are.
    pub step: [f64; 3],
    /// Of the middle of the first voxel, in steps.
    pub first: [f64; 3],
    /// Whether steps are in millimetres.
    pub known: bool,
}

impl Places {
    /// About the middle of a volume, where nothing tells how far it is from the axis: with sides of voxels as `millimetres` gives them.
    pub fn about_the_middle(shape: [usize; 3], sides: Option<[f64; 2]>) -> Self {
        let [apart, side] = sides.unwrap_or([1.0; 2]);
        Self { step: [apart, side, side], first: shape.map(|n| (1.0 - n as f64) / 2.0), known: sides.is_some() }
    }

    /// Of the middle of a voxel along one direction.
    pub fn at(&self, direction: usize, k: f64) -> f64 {
        self.step[direction] * (self.first[direction] + k)
    }

    /// Sides of a voxel along slices and within them in millimetres, where they are known.
    pub fn millimetres(&self) -> Option<[f64; 2]> {
        self.known.then_some([self.step[0], self.step[2]])
    }

    /// With columns so far apart, in millimetres, and slices and lines as they were beside them.
    pub fn with_side(self, side: f64) -> Self {
        Self { step: self.step.map(|step| side * step / self.step[2]), known: true, ..self }
    }

    /// Of lengths.
    pub fn unit(&self) -> &'static str {
        if self.known { "mm" } else { "pixel" }
    }
}
