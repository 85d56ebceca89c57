//! Delays between gradients and samples, found from a scan itself.
//!
//! Where a gradient comes `t` samples late, a readout's sample `m` is of the place that its trajectory has at `m - t`. Delays belong to the
//! physical gradients; along axes that are turned against these they are a symmetric matrix: D = R^T diag(t) R, and a spoke along n is off
//! by D n steps (S. Rosenzweig, H. C. M. Holme, M. Uecker, "Simple auto-calibrated gradient delay estimation from few spokes using radial
//! intersections (RING)", Magn. Reson. Med. 81, 2019, Eq. 3).
//!
//! RING finds D from where spokes cross. Crossings are a case of something that holds for any readouts: samples of one object agree. An
//! object within the field of view has a transform that is smooth over one cycle per field of view, so that the samples in a circle of
//! radius K about the middle of k-space are, to rounding, the transform of an image of some (2 K + 3)^2 voxels for each coil. Where there
//! are more samples than voxels, and readouts of several directions among them, only right places let one image explain them all. So D is
//! what minimises
//!
//! `E(D) = sum over coils of min over images x of |s_c - F(D) x|^2 + ridge |x|^2`,
//!
//! a separable least-squares problem: images are eliminated by Cholesky's factor of F^H F, and D is found by Gauss and Newton's
//! steps with derivatives less what images follow of them (G. H. Golub, V. Pereyra, "The differentiation of pseudo-inverses and nonlinear
//! least squares problems whose variables separate", SIAM J. Numer. Anal. 10, 1973; L. Kaufman's approximation, BIT 15, 1975).
//! A first look finds the valley: descents from equal delays along all axes, over a coarser image and a large ridge, of which that is taken
//! whose end makes the samples likeliest of random images and noise. E alone would not do, since delays that scatter samples let images
//! explain anything. Errors are those of least squares, by the residual, or by what readouts say singly, which is more where the
//! model is wrong.
//!
//! Spokes and spirals are the same here, whole or from the centre; no coil sensitivities are needed, and no image.

mod fit;
mod middle;
mod pairs;
mod search;
mod shift;

use super::coils::{multiply, principal_coils};
use super::engine::Engine;
use super::plan::{Geometry, Mri, each};
use super::trajectory::Trajectory;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{LogLevel, Stage};
use isocenter_base::cpu::buffer::{Buffer, collected, zeros};
use isocenter_base::error::{Result, fail};
use middle::Middle;
pub use pairs::Delays;
use pairs::PAIRS;
use rustfft::num_complex::Complex;
use search::{Found, Search};
use shift::{Readouts, Shift};
use std::sync::Arc;

/// Coils of most energy that are looked at, and virtual coils of them that are fitted.
const COILS: [usize; 2] = [64, 6];
/// Of the range, where none is given, in samples.
const RANGE: f64 = 5.0;

/// How readouts lie in the samples, and where to look.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Samples of a readout.
    pub readout: usize,
    /// Largest delay that is looked for, in samples; 0 takes 5.
    pub range: f64,
    /// Edges of a voxel along x, y, z, in any unit.
    pub voxel: [f64; 3],
}

/// What was found.
#[derive(Clone, Copy, Debug)]
pub struct FoundDelays {
    /// Samples by which gradients come late.
    pub delays: Delays,
    /// Standard errors of these.
    pub errors: Delays,
    /// The part of the samples' energy in the middle of k-space that one image explains.
    pub confidence: f64,
    /// Axes that readouts move along; delays of others are 0, and their errors, too.
    pub axes: usize,
}

impl Mri {
    fn trajectory(&self) -> Result<Arc<Trajectory>> {
        Ok(each!(&self.plan()?.engine, e => e.scan().trajectory.clone()))
    }

    fn check_timing(&self, timing: &Timing) -> Result<()> {
        let (samples, Timing { readout, range, voxel }) = (self.samples()?, *timing);
        if !(4..=samples).contains(&readout) || samples % readout != 0 {
            fail!(
                OutOfRange,
                "options.readout is {readout}; it must be the samples of a readout, 4 or more, of which geometry.samples, {samples}, is a multiple"
            );
        }
        if !range.is_finite() || range < 0.0 || range > readout as f64 / 2.0 {
            fail!(OutOfRange, "options.range is {range}; it must be 0 to {}, half a readout", readout as f64 / 2.0);
        }
        if let Some(d) = (0..3).find(|d| !(voxel[*d].is_finite() && voxel[*d] > 0.0)) {
            fail!(OutOfRange, "options.voxel_{} is {}; it must be above 0", ["x", "y", "z"][d], voxel[d]);
        }
        Ok(())
    }

    /// Delays of the gradients, from samples `[coil][m]` of the plan's trajectory, which is without.
    pub fn find_delays(&mut self, samples: Array<2>, timing: &Timing) -> Result<FoundDelays> {
        self.check_timing(timing)?;
        let Geometry { grid: [nz, ny, nx], coils, .. } = *self.geometry()?;
        self.check(samples.layout(), "samples", [coils, self.samples()?])?;
        let (trajectory, context) = (self.trajectory()?, self.context.clone());
        let readouts = Readouts { axes: trajectory.axes()?, voxel: timing.voxel, length: timing.readout };
        let sides = [nx, ny, nz];
        let middle = context.install(|| Middle::new(&readouts, sides))?;
        let data = self.strongest(&samples, &middle)?;
        let range = if timing.range == 0.0 { RANGE.min(timing.readout as f64 / 2.0) } else { timing.range };
        let search = Search { readouts: &readouts, middle: &middle, sides, level: context.level(), range };
        let Found { delays, errors, confidence } = context.run(|job| {
            job.enter(Stage::Delays);
            let (data, coils) = virtual_coils(data, middle.samples.len())?;
            search.run(&data, coils, job)
        })?;
        if let Some(p) = (0..6).find(|p| delays[*p].abs() > range + errors[*p]) {
            fail!(
                OutOfRange,
                "samples agree best with a delay of {:.2} samples, beyond the {range} that were looked at (options.range); or something else differs between readouts",
                delays[p]
            );
        }
        Ok(FoundDelays { delays, errors, confidence, axes: middle.axes.len() })
    }

    /// Samples of the middle of k-space, of those coils that have most energy there: `[coil][sample]`.
    fn strongest(&mut self, samples: &Array<2>, middle: &Middle) -> Result<Vec<Complex<f64>>> {
        let (policy, [coils, count], mut replaced) = (self.context.nan_policy(), samples.shape(), 0);
        let mut kept: Vec<(f64, Vec<Complex<f64>>)> = Vec::new();
        for coil in 0..coils {
            let values = self.fetch(&samples.row(coil), (&format!("samples[{coil}]"), [count]), policy)?;
            replaced += self.replaced;
            let values = collected(middle.samples.iter().map(|m| values[*m]))?;
            let energy = values.iter().map(|v| v.norm_sqr()).sum();
            let place = kept.partition_point(|(other, _)| *other >= energy);
            kept.insert(place, (energy, values));
            kept.truncate(COILS[0]);
        }
        self.replaced = replaced;
        self.context.tell_of_replaced(replaced, coils * count);
        if !(kept[0].0 > 0.0 && kept[0].0.is_finite()) {
            fail!(
                OutOfRange,
                "samples of the middle of k-space add up to an energy of {}; it must be above 0",
                kept[0].0
            );
        }
        let scale = (middle.samples.len() as f64 / kept[0].0).sqrt();
        collected(kept.into_iter().flat_map(|(_, values)| values).map(|v| v * scale))
    }

    /// Writes the plan's trajectory as it is with these delays, in its own unit: `[sample][axis]`.
    pub fn delayed_trajectory(&mut self, delays: &Delays, timing: &Timing, to: ArrayMut<2>) -> Result<()> {
        self.check_timing(timing)?;
        let (trajectory, context, dims) = (self.trajectory()?, self.context.clone(), self.axes()?);
        self.check(to.layout(), "trajectory", [trajectory.samples(), dims])?;
        let most = timing.readout as f64;
        if let Some(p) = (0..6).find(|p| !(-most..=most).contains(&delays[*p])) {
            let name = PAIRS[p].map(|d| ["x", "y", "z"][d]).concat();
            fail!(OutOfRange, "delays.{name} is {}; it must be within +-{}, a readout", delays[p], timing.readout);
        }
        let readouts = Readouts { axes: trajectory.axes()?, voxel: timing.voxel, length: timing.readout };
        let (shift, unit) = (Shift::new(delays), trajectory.unit());
        let mut values = zeros::<Complex<f64>>(trajectory.samples() * dims)?;
        let mut outside = 0;
        for (m, out) in values.chunks_exact_mut(dims).enumerate() {
            let place = shift.place(&readouts, m);
            outside += usize::from(place[..dims].iter().any(|k| k.abs() > 0.5));
            out.iter_mut().enumerate().for_each(|(d, v)| *v = (place[d] * unit[d]).into());
        }
        if outside > 0 {
            context.log(LogLevel::Info, || {
                format!("with these delays {outside} of {} samples are beyond the unit's range", trajectory.samples())
            });
        }
        self.store(&values, (to, [trajectory.samples(), dims]))
    }
}

/// The virtual coils that are fitted, strongest first, of `[coil][sample]`.
fn virtual_coils(data: Vec<Complex<f64>>, samples: usize) -> Result<(Vec<Complex<f64>>, usize)> {
    let coils = data.len() / samples;
    let kept = coils.min(COILS[1]);
    let (matrix, _) = principal_coils(&data, coils, kept)?;
    let mut out = Buffer::zeroed(kept * samples)?;
    multiply(&matrix, coils, &data, &mut out);
    Ok((collected(out.iter().copied())?, kept))
}
