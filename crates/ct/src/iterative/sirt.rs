//! x = x + relaxation C A^T R (b - A x), with R and C one over the sums of A along rays and over pixels: SIRT (J. Gregor, T. Benson,
//! "Computational analysis and improvement of SIRT", IEEE Trans. Med. Imaging 27, 2008). With subsets, each step takes the next one's rows
//! and sums: OS-SART (G. Wang, M. Jiang, "Ordered-subset simultaneous algebraic reconstruction techniques", J. X-Ray Sci. Technol. 12,
//! 2004), and SART with one view each.

use super::Iteration;
use super::space::{DATA, Image, Needs, Rows, Space, Sum, X};
use isocenter_base::error::Result;

const STEP: Image = Image(1);
const PROJECTED: Rows = Rows(1);
const OBJECTIVE: Sum = Sum(0);

pub(super) const NEEDS: Needs =
    Needs { images: 2, rows: 2, sums: 1, ray_factors: true, pixel_factors: true, ..Needs::NOTHING };

pub(super) fn run<S: Space>(space: &mut S, iteration: &Iteration) -> Result<()> {
    let relaxation = iteration.options.relaxation as f32;
    for k in 0..iteration.options.iterations {
        space.clear(OBJECTIVE)?;
        for subset in 0..iteration.subsets.all().len() {
            space.forward(subset, X, PROJECTED)?;
            space.residual(subset, DATA, PROJECTED, OBJECTIVE)?;
            space.adjoint(subset, PROJECTED, STEP)?;
            space.relax(subset, X, STEP, relaxation)?;
        }
        space.record(k, OBJECTIVE, 0.5)?;
        if !space.go_on()? {
            break;
        }
    }
    Ok(())
}
