//! x = x / (A^T 1) A^T (b / A x): L. A. Shepp, Y. Vardi, "Maximum likelihood reconstruction for emission tomography", IEEE Trans. Med.
//! Imaging 1, 1982; with subsets H. M. Hudson, R. S. Larkin, "Accelerated image reconstruction using ordered subsets of projection data",
//! ibid. 13, 1994. Rays that barely meet the image are left out: their quotients would be those of rounding. A pixel that no ray of a subset meets stays as it is.

use super::Iteration;
use super::options::Start;
use super::space::{DATA, Image, Needs, Rows, Space, Sum, X};
use isocenter_base::error::Result;

const FACTOR: Image = Image(1);
const PROJECTED: Rows = Rows(1);
const OBJECTIVE: Sum = Sum(0);

pub(super) const NEEDS: Needs = Needs {
    images: 2,
    rows: 2,
    sums: 1,
    ray_factors: true,
    pixel_factors: true,
    leaves_rays_out: true,
    start: 1.0,
    ..Needs::NOTHING
};

pub(super) fn run<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    if iteration.options.start == Start::Uniform {
        space.blank(X, FACTOR)?;
    }
    for k in 0..iteration.options.iterations {
        space.clear(OBJECTIVE)?;
        for subset in 0..iteration.subsets.all().len() {
            space.forward(subset, X, PROJECTED)?;
            space.ratio(subset, DATA, PROJECTED, OBJECTIVE)?;
            space.adjoint(subset, PROJECTED, FACTOR)?;
            space.multiply(subset, X, FACTOR)?;
        }
        space.record(k, OBJECTIVE, 1.0)?;
        if !space.go_on()? {
            break;
        }
    }
    Ok(())
}
