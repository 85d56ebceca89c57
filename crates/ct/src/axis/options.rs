//! How and where the axis is looked for.

/// How the axis is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AxisMethod {
    /// Opposite views where there are any, else the sinogram; sharpness where they disagree, or have too little to go by.
    #[default]
    Auto,
    /// Views half a turn apart.
    OppositeViews,
    /// Half a turn alone, which continues mirrored where it ends.
    Sinogram,
    /// Trial slices.
    Sharpness,
}

/// Where and how to look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AxisOptions {
    /// Method.
    pub method: AxisMethod,
    /// First and last axis to look at; None goes by the angles.
    pub range: Option<[f64; 2]>,
    /// Detector rows used; 0 takes up to 24.
    pub rows: usize,
    /// The tilt is wanted.
    pub tilt: bool,
    /// Points of the curve that are wanted.
    pub curve: usize,
}

/// Detector rows that are used where the caller does not say: with so many, noise of a scan with few opposite views is well averaged.
pub(super) const DEFAULT_ROWS: usize = 24;
