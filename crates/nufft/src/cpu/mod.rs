//! Spreading and interpolation on the processor: points in the order of their place on the grid, so that what they touch is
//! in the cache; grid rows in SIMD lanes, real and imaginary parts side by side.

pub(super) mod fine_grid;
pub(super) mod interpolate;
mod line_cells;
pub(super) mod line_fft;
pub(super) mod line_grid;
mod line_images;
pub(super) mod line_interpolate;
pub(super) mod line_points;
pub(super) mod line_spread;
pub(super) mod sort;
pub(super) mod spread;
pub(super) mod taps;
