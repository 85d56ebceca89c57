//! Weights of rays in least squares: with W on its diagonal, |b - A x|^2 becomes (b - A x)^T W (b - A x), which is |S b - S A x|^2 with S the
//! square root of W. Methods see S A and S b.

use crate::geometry::Geometry;
use isocenter_base::array::{Array, DType};
use isocenter_base::cpu::buffer::reserved;
use isocenter_base::error::{Result, fail};

/// The caller's, of every view and bin, the same in all slices.
pub(crate) struct RayWeights {
    /// Square roots, (view, bin), of weights in `unit`.
    pub(crate) roots: Vec<f32>,
    /// In `unit`: 1 to 4.
    pub(crate) largest: f64,
    /// In `unit`.
    pub(crate) mean: f64,
    /// A power of 4, so that nothing is rounded: what is made of small or large weights leaves f32.
    pub(crate) unit: f64,
}

impl RayWeights {
    /// From (views, 1, bins), of values that are not negative.
    pub(crate) fn new(weights: &Array, g: &Geometry) -> Result<Self> {
        weights.dtype().check("weights", &[DType::F32, DType::F64])?;
        let (shape, expected) = (weights.shape(), [g.views(), 1, g.bins]);
        if shape != expected {
            fail!(TensorShape, "weights has shape {shape:?}; it must be {expected:?}: views, 1, bins");
        }
        let mut roots = reserved(g.views() * g.bins)?;
        let mut row = vec![0.0f32; g.bins];
        let mut largest = 0.0;
        for view in 0..g.views() {
            weights.read_row([view, 0, 0], &mut row);
            for (bin, w) in row.iter().enumerate() {
                if !w.is_finite() {
                    fail!(NotFiniteData, "weights[{view}, {bin}] is {w}; it must be finite");
                }
                if *w < 0.0 {
                    fail!(OutOfRange, "weights[{view}, {bin}] is {w:?}; it must be 0 or more");
                }
                largest = f64::max(largest, f64::from(*w));
                roots.push(w.sqrt());
            }
        }
        if largest == 0.0 {
            fail!(OutOfRange, "weights are all 0; some ray must count");
        }
        let root = 2f64.powi((0.5 * largest.log2()).floor() as i32);
        // Those that are nothing beside others may become 0.
        roots.iter_mut().for_each(|v| *v = (f64::from(*v) / root) as f32);
        let unit = root * root;
        let mean = roots.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / roots.len() as f64;
        Ok(Self { roots, largest: largest / unit, mean, unit })
    }
}
