//! What timing and detectors do to a point: widths, profile, and where it is cut.

use isocenter_base::error::{Result, fail};

/// Half the speed of light, mm/ps: a time difference moves an event along its line by this much.
pub(crate) const HALF_LIGHT: f64 = 0.149_896_229;
/// 2 sqrt(2 ln 2).
pub(crate) const FWHM_PER_SIGMA: f64 = 2.354_820_045_030_949_3;

/// Radial full width at half maximum in mm.
#[derive(Clone, Debug, PartialEq)]
pub enum Radial {
    /// The same everywhere.
    Constant(f64),
    /// Over the signed distance from the scanner's axis in mm, ascending; linear between, constant beyond the ends. A table
    /// that begins at 0 or above holds for either sign.
    Table {
        /// In mm.
        radius: Vec<f64>,
        /// In mm.
        fwhm: Vec<f64>,
    },
}

/// Across the line, in the transverse plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Profile {
    /// One Gaussian.
    Symmetric,
    /// The sum of two Gaussians: the radial width's own, and one `ratio` times wider, moved towards the scanner's axis by
    /// `shift` of the narrow one's sigmas, with the given share of the mass.
    Asymmetric {
        /// At least 1.
        ratio: f64,
        /// Of the narrow one's sigmas.
        shift: f64,
        /// 0 to 1.
        share: f64,
    },
}

/// Of the region that a cut keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Along each axis of the response.
    Box,
    /// About all of them.
    Ellipsoid,
}

/// Voxels are kept whose centres lie within `k` sigmas, along each axis of the response or as an ellipsoid. Where a sigma is
/// below a voxel, steps of the lattice decide: at 0.62 voxels, 3 sigmas keep the nearest neighbours and 3.3 the next ones too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Its shape.
    pub shape: Shape,
    /// Its half width, in sigmas.
    pub k: f64,
}

impl Default for Cut {
    fn default() -> Self {
        Self { shape: Shape::Box, k: 3.0 }
    }
}

/// Full widths at half maximum, and how kernels are made of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// Of the time difference.
    pub tof_fwhm_ps: f64,
    /// Across the line, in the transverse plane.
    pub radial: Radial,
    /// Across both, in mm.
    pub axial_fwhm: f64,
    /// Across the line, in the transverse plane.
    pub profile: Profile,
    /// Voxels whose radii lie in one step of so many mm share a kernel.
    pub step: f64,
    /// Where kernels end.
    pub cut: Cut,
}

/// One Gaussian of a radial profile: share of the mass, place, and sigma in mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Component {
    pub(super) share: f64,
    pub(super) place: f64,
    pub(super) sigma: f64,
}

impl Response {
    /// Symmetric, cut by a box of three sigmas, steps of 2 mm.
    #[cfg(test)]
    pub(crate) fn new(tof_fwhm_ps: f64, radial: Radial, axial_fwhm: f64) -> Self {
        Self { tof_fwhm_ps, radial, axial_fwhm, profile: Profile::Symmetric, step: 2.0, cut: Cut::default() }
    }

    pub(crate) fn check(&self) -> Result<()> {
        // 0: none, as of lists without times.
        if self.tof_fwhm_ps != 0.0 {
            positive("response.tof_fwhm", self.tof_fwhm_ps, "ps")?;
        }
        positive("response.axial_fwhm", self.axial_fwhm, "mm")?;
        positive("response.step", self.step, "mm")?;
        positive("response.cut_width", self.cut.k, "sigmas")?;
        self.radial.check("response", |name, width| positive(name, width, "mm"))?;
        if let Profile::Asymmetric { ratio, shift, share } = self.profile {
            for (name, value) in [("ratio", ratio), ("shift", shift), ("share", share)] {
                if !value.is_finite() {
                    fail!(NotFiniteParameter, "response.{name} is {value}; it must be finite");
                }
            }
            if ratio < 1.0 {
                fail!(OutOfRange, "response.ratio is {ratio}; it must be at least 1");
            }
            if !(0.0..=self.cut.k).contains(&shift) {
                fail!(
                    OutOfRange,
                    "response.shift is {shift} sigmas; it must be 0 to response.cut_width, {}",
                    self.cut.k
                );
            }
            if !(0.0..=1.0).contains(&share) {
                fail!(OutOfRange, "response.share is {share}; it must be 0 to 1");
            }
        }
        Ok(())
    }

    pub(super) fn tof_sigma(&self) -> f64 {
        self.tof_fwhm_ps * HALF_LIGHT / FWHM_PER_SIGMA
    }

    pub(super) fn axial_sigma(&self) -> f64 {
        self.axial_fwhm / FWHM_PER_SIGMA
    }

    /// Which step a signed radius lies in. Steps that cannot differ are one.
    pub(super) fn step_of(&self, radius: f64) -> i64 {
        let symmetric = matches!(self.profile, Profile::Symmetric);
        match &self.radial {
            Radial::Constant(_) if symmetric => 0,
            Radial::Constant(_) => (radius >= 0.0).into(),
            Radial::Table { radius: table, .. } if symmetric && table[0] >= 0.0 => {
                (radius.abs() / self.step).floor() as i64
            }
            Radial::Table { .. } => (radius / self.step).floor() as i64,
        }
    }

    /// The radial profile of a step: at the radius of the step's middle.
    pub(super) fn components(&self, step: i64) -> Vec<Component> {
        let radius = match self.radial {
            Radial::Constant(_) => step as f64 - 0.5,
            Radial::Table { .. } => (step as f64 + 0.5) * self.step,
        };
        let sigma = self.radial.fwhm(radius) / FWHM_PER_SIGMA;
        match self.profile {
            Profile::Symmetric => vec![Component { share: 1.0, place: 0.0, sigma }],
            Profile::Asymmetric { ratio, shift, share } => vec![
                Component { share: 1.0 - share, place: 0.0, sigma },
                Component { share, place: -radius.signum() * shift * sigma, sigma: ratio * sigma },
            ],
        }
    }
}

impl Radial {
    /// `of` names what the widths belong to; `width` says whether one may be what it is.
    pub(super) fn check(&self, of: &str, width: impl Fn(&str, f64) -> Result<()>) -> Result<()> {
        let (radius, fwhm) = match self {
            Radial::Constant(fwhm) => return width(&format!("{of}.radial_fwhm"), *fwhm),
            Radial::Table { radius, fwhm } => (radius, fwhm),
        };
        if radius.is_empty() || radius.len() != fwhm.len() {
            let (r, f) = (radius.len(), fwhm.len());
            fail!(
                OutOfRange,
                "{of}.radial_table has {r} radii and {f} widths; it must have as many of both, at least 1"
            );
        }
        for (i, f) in fwhm.iter().enumerate() {
            width(&format!("{of}.radial_table[{i}, 1]"), *f)?;
        }
        for (i, r) in radius.iter().enumerate() {
            if !r.is_finite() {
                fail!(NotFiniteParameter, "{of}.radial_table[{i}, 0] is {r}; it must be finite, in mm");
            }
        }
        if let Some(i) = radius.windows(2).position(|w| w[0] >= w[1]) {
            let (a, b) = (radius[i], radius[i + 1]);
            fail!(OutOfRange, "{of}.radial_table[{}, 0] is {b} mm after {a} mm; distances must ascend", i + 1);
        }
        Ok(())
    }

    /// The field of the response that it is set by.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Radial::Constant(_) => "radial_fwhm",
            Radial::Table { .. } => "radial_table",
        }
    }

    /// The largest width.
    pub(super) fn largest(&self) -> f64 {
        match self {
            Radial::Constant(fwhm) => *fwhm,
            Radial::Table { fwhm, .. } => fwhm.iter().copied().fold(0.0, f64::max),
        }
    }

    /// Width at a signed radius.
    pub(super) fn fwhm(&self, radius: f64) -> f64 {
        match self {
            Radial::Constant(fwhm) => *fwhm,
            Radial::Table { radius: table, fwhm } => {
                let at = if table[0] >= 0.0 { radius.abs() } else { radius };
                let i = table.partition_point(|r| *r <= at);
                if i == 0 || i == table.len() {
                    return fwhm[i.min(table.len() - 1)];
                }
                let t = (at - table[i - 1]) / (table[i] - table[i - 1]);
                fwhm[i - 1] + t * (fwhm[i] - fwhm[i - 1])
            }
        }
    }
}

fn positive(name: &str, value: f64, unit: &str) -> Result<()> {
    if !value.is_finite() {
        fail!(NotFiniteParameter, "{name} is {value}; it must be finite, in {unit}");
    }
    if value <= 0.0 {
        fail!(OutOfRange, "{name} is {value} {unit}; it must be above 0");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Radial {
        Radial::Table { radius: vec![0.0, 100.0, 300.0], fwhm: vec![4.0, 6.0, 12.0] }
    }

    #[test]
    fn widths_are_linear_between_and_constant_beyond() {
        let r = Response::new(400.0, table(), 5.0);
        for (radius, fwhm) in [(0.0, 4.0), (50.0, 5.0), (-50.0, 5.0), (100.0, 6.0), (200.0, 9.0), (900.0, 12.0)] {
            assert!((r.radial.fwhm(radius) - fwhm).abs() < 1e-12, "{radius}");
        }
        let signed = Radial::Table { radius: vec![-10.0, 10.0], fwhm: vec![4.0, 6.0] };
        let r = Response::new(400.0, signed, 5.0);
        assert_eq!([-20.0, 0.0, 20.0].map(|x| r.radial.fwhm(x)), [4.0, 5.0, 6.0]);
        assert_eq!([-0.1, 0.1].map(|x| r.step_of(x)), [-1, 0]);
    }

    #[test]
    fn only_steps_that_differ_are_told_apart() {
        let mut r = Response::new(400.0, Radial::Constant(5.0), 5.0);
        assert_eq!([-9.0, 9.0].map(|x| r.step_of(x)), [0, 0]);
        r.profile = Profile::Asymmetric { ratio: 2.0, shift: 1.0, share: 0.5 };
        assert_eq!([-9.0, 0.0, 9.0].map(|x| r.step_of(x)), [0, 1, 1]);
        assert!(r.components(0)[1].place > 0.0 && r.components(1)[1].place < 0.0, "towards the axis");
        r.radial = table();
        assert_eq!([-9.0, 9.0].map(|x| r.step_of(x)), [-5, 4]);
        r.profile = Profile::Symmetric;
        assert_eq!([-9.0, 9.0].map(|x| r.step_of(x)), [4, 4]);
    }

    #[test]
    fn bad_responses_are_named() {
        let good = Response::new(400.0, Radial::Constant(5.8), 5.8);
        assert!(good.check().is_ok());
        let message = |change: fn(&mut Response)| {
            let mut r = good.clone();
            change(&mut r);
            r.check().expect_err("invalid").message
        };
        assert_eq!(message(|r| r.tof_fwhm_ps = -1.0), "response.tof_fwhm is -1 ps; it must be above 0");
        assert_eq!(message(|r| r.radial = Radial::Constant(-1.0)), "response.radial_fwhm is -1 mm; it must be above 0");
        assert_eq!(message(|r| r.axial_fwhm = f64::NAN), "response.axial_fwhm is NaN; it must be finite, in mm");
        assert_eq!(
            message(|r| r.radial = Radial::Table { radius: vec![0.0, 0.0], fwhm: vec![1.0, 1.0] }),
            "response.radial_table[1, 0] is 0 mm after 0 mm; distances must ascend"
        );
        assert_eq!(
            message(|r| r.profile = Profile::Asymmetric { ratio: 0.5, shift: 0.0, share: 0.5 }),
            "response.ratio is 0.5; it must be at least 1"
        );
    }
}
