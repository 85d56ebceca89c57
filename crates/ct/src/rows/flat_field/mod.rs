//! From raw counts to line integrals: -ln((raw - dark) / (flat - dark)).

mod bad_pixels;
mod beams;
mod combine;
mod components;
mod options;
mod smoothing;

use super::logarithm::line_integral;
use crate::geometry::Geometry;
pub(crate) use bad_pixels::{Repair, Repairs};
use beams::Beam;
pub(crate) use beams::{Beams, Drifted};
use combine::Combination;
pub use combine::Combine;
use components::{Components, Flats};
use isocenter_base::array::Array;
use isocenter_base::context::{Context, LogLevel, NanPolicy};
use isocenter_base::cpu::buffer::{collected, reserved, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::{Result, fail};
pub use options::{FlatFieldOptions, FlatGroup};
use std::ops::Range;

/// Flats and darks of the whole detector.
#[derive(Debug)]
pub(crate) struct FlatField {
    bins: usize,
    dark: Vec<f32>,
    /// 1 / (flat - dark), of the mean over groups; 0 marks a pixel that cannot be corrected, 1 one that is replaced by its neighbours.
    gain: Vec<f32>,
    /// Where the beam is not the same in all views.
    beams: Option<Beams>,
    repairs: Repairs,
    /// Where components were asked for, the part of the flats' variance that each of those kept explains.
    explained: Option<Vec<f64>>,
}

impl FlatField {
    /// Combines the frames; the rows that a geometry uses must be correctable, unless values may be replaced.
    pub(crate) fn new(
        flats: Array,
        darks: Option<Array>,
        g: &Geometry,
        options: &FlatFieldOptions,
        context: &Context,
    ) -> Result<Self> {
        let [frames, rows, bins] = flats.shape();
        let level = context.level();
        let combination = Combination { combine: options.combine, outliers: options.outliers.as_ref(), level };
        let combined = |frames: &Array, which: Range<usize>| context.install(|| combination.of(frames, which));
        let whole = [FlatGroup { frames, position: 0.0, monitor: 1.0 }];
        let groups: &[FlatGroup] = if options.groups.is_empty() { &whole } else { &options.groups };
        let mut dark = match darks {
            Some(darks) => combined(&darks, 0..darks.shape()[0])?,
            None => zeros(rows * bins)?,
        };
        let mut planes: Vec<f32> = zeros(groups.len() * dark.len())?;
        let mut beam: Vec<f64> = zeros(dark.len())?;
        let mut first = 0;
        for (group, plane) in groups.iter().zip(planes.chunks_exact_mut(dark.len())) {
            let flat = combined(&flats, first..first + group.frames)?;
            first += group.frames;
            for (k, (plane, beam)) in plane.iter_mut().zip(&mut beam).enumerate() {
                let value = flat[k] - dark[k];
                let usable = value.is_finite() && value > 0.0;
                *plane = if usable { value as f32 } else { 0.0 };
                *beam += if usable { value / groups.len() as f64 } else { f64::NAN };
            }
        }
        let repairs = match options.bad_pixels {
            Some(threshold) => {
                let bad = context.install(|| bad_pixels::find([&dark, &beam], bins, threshold, level))?;
                Repairs::new(&bad, bins)?
            }
            None => Repairs::default(),
        };
        // Whatever these hold is replaced.
        for k in repairs.all().iter().map(|r| r.row as usize * bins + r.bin as usize) {
            (dark[k], beam[k]) = (0.0, 1.0);
            planes.iter_mut().skip(k).step_by(rows * bins).for_each(|p| *p = 1.0);
        }
        let mut gain = zeros::<f32>(beam.len())?;
        for (k, (gain, beam)) in gain.iter_mut().zip(&beam).enumerate() {
            if beam.is_finite() {
                *gain = (1.0 / beam) as f32;
            } else if context.nan_policy() == NanPolicy::Error && g.used_rows().contains(&(k / bins)) {
                let mut start = 0;
                for (n, group) in groups.iter().enumerate() {
                    let which = start..start + group.frames;
                    start = which.end;
                    let of = if groups.len() == 1 { String::new() } else { format!(" in group {n}") };
                    check_pixel([combined(&flats, which)?[k], dark[k]], [k / bins, k % bins], &of)?;
                }
            }
        }
        if !repairs.all().is_empty() {
            let (n, of) = (repairs.all().len(), beam.len());
            context.log(LogLevel::Info, || {
                format!("{n} of {of} pixels are dead, hot or far from their neighbours, and are replaced by these")
            });
        }
        let explained = match options.eigenflats {
            0 => None,
            wanted => {
                let mut bad = collected(beam.iter().map(|beam| !beam.is_finite()))?;
                repairs.all().iter().for_each(|r| bad[r.row as usize * bins + r.bin as usize] = true);
                let monitored = !options.monitor.is_empty();
                let flats = Flats { frames: flats, groups, monitored, combination, bad: &bad, beam: &beam };
                let Components { planes: components, explained } = context.install(|| flats.components(wanted))?;
                tell_of_components(&explained, context);
                let mut all = reserved(planes.len() + components.len())?;
                all.extend_from_slice(&planes);
                all.extend_from_slice(&components);
                planes = all;
                Some(explained)
            }
        };
        let drifts = explained.as_ref().is_some_and(|explained| !explained.is_empty());
        let beams = match (groups, options.monitor.as_slice()) {
            ([_], []) if !drifts => None,
            (groups, monitor) => Some(Beams::new(planes, groups, g.views(), monitor, dark.len())?),
        };
        let mut offset = zeros(dark.len())?;
        for (offset, d) in offset.iter_mut().zip(dark) {
            *offset = if d.is_finite() { d as f32 } else { 0.0 };
        }
        Ok(Self { bins, dark: offset, gain, beams, repairs, explained })
    }

    /// Whether it is of such a scan.
    pub(crate) fn fits(&self, g: &Geometry) -> bool {
        let views = self.beams.as_ref().is_none_or(|beams| beams.views() == g.views());
        views && self.bins == g.bins && self.gain.len() == g.rows * g.bins
    }

    /// Refuses rows that are to be used and cannot be corrected.
    pub(crate) fn check_rows(&self, rows: Range<usize>) -> Result<()> {
        let first = rows.start * self.bins;
        match self.gain[first..rows.end * self.bins].iter().position(|g| *g == 0.0) {
            Some(k) => {
                let (row, bin) = ((first + k) / self.bins, (first + k) % self.bins);
                fail!(
                    FlatField,
                    "flats[{row}, {bin}] of the plan's flat field is not above darks there, and the geometry now uses that row; give others, or forget the flat field first"
                );
            }
            None => Ok(()),
        }
    }

    /// Dark and gain of some rows, row after row.
    pub(crate) fn rows(&self, rows: Range<usize>) -> (&[f32], &[f32]) {
        let at = rows.start * self.bins..rows.end * self.bins;
        (&self.dark[at.clone()], &self.gain[at])
    }

    /// Whether it is more than a dark and a gain for each pixel.
    pub(crate) fn varies(&self) -> bool {
        self.beams.is_some() || !self.repairs.all().is_empty()
    }

    /// What varies from view to view.
    pub(crate) fn beams(&self) -> Option<&Beams> {
        self.beams.as_ref()
    }

    /// Takes what was found of the beam in views from this one on.
    pub(crate) fn drift(&mut self, first: usize, found: &[Drifted]) {
        if let Some(beams) = &mut self.beams {
            beams.drift(first, found);
        }
    }

    /// The part of the flats' variance that each component explains; None where none were asked for.
    pub(crate) fn explained(&self) -> Option<&[f64]> {
        self.explained.as_deref()
    }

    /// Refuses views whose components have not been found.
    pub(crate) fn check_fitted(&self) -> Result<()> {
        match self.beams.as_ref().and_then(Beams::unfitted) {
            Some(view) => fail!(
                FlatField,
                "the beam of views[{view}] is not known: the flat field has eigenflats, and isoc_ct_fit_flat_field has not seen that view since"
            ),
            None => Ok(()),
        }
    }

    /// Pixels that are replaced by their neighbours.
    pub(crate) fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// Bins of a row that cannot be corrected, or not by themselves.
    pub(crate) fn unmeasured(&self, row: usize) -> impl Iterator<Item = usize> {
        let gain = &self.gain[row * self.bins..(row + 1) * self.bins];
        let unusable = gain.iter().enumerate().filter(|(_, gain)| **gain == 0.0).map(|(bin, _)| bin);
        unusable.chain(self.repairs.of_rows(row..row + 1).iter().map(|r| r.bin as usize))
    }

    /// Whether a pixel can be corrected, or is replaced by its neighbours.
    pub(crate) fn usable(&self, row: usize, bin: usize) -> bool {
        self.gain[row * self.bins + bin] != 0.0
    }

    /// Corrects one detector row of a view in place, no transmission below `minimum`; gives the number of pixels that cannot be
    /// corrected and became 0. Bad pixels are left to [`Self::repair`].
    pub(crate) fn correct(&self, [view, row]: [usize; 2], minimum: f32, values: &mut [f32], level: Level) -> usize {
        let each = |transmission| line_integral(transmission, minimum);
        vectorised(level, Correcting { planes: self.planes(view, row), gap: 0.0, values, each })
    }

    /// The same as far as transmissions; those of pixels that cannot be corrected become 1.
    pub(crate) fn transmit(&self, [view, row]: [usize; 2], values: &mut [f32], level: Level) -> usize {
        vectorised(level, Correcting { planes: self.planes(view, row), gap: 1.0, values, each: |v| v })
    }

    /// What corrects a row of a view.
    fn planes(&self, view: usize, row: usize) -> Planes<'_> {
        let at = row * self.bins..(row + 1) * self.bins;
        let beam = self.beams.as_ref().map(|beams| beams.of(view, at.clone()));
        Planes { dark: &self.dark[at.clone()], gain: &self.gain[at], beam }
    }

    /// Replaces bad pixels of a corrected row.
    pub(crate) fn repair(&self, row: usize, values: &mut [f32]) {
        self.repairs.apply(row, values);
    }
}

/// Values whose beam is put together before they are divided by it.
const BLOCK: usize = 64;
/// Components leave at least this part of what flats say of a pixel's beam, so that no quotient is without bounds.
pub(crate) const LOWEST_BEAM: f32 = 0.05;

/// Of one row: dark, gain, and the beam of a view, where it varies.
struct Planes<'a> {
    dark: &'a [f32],
    gain: &'a [f32],
    beam: Option<Beam<'a>>,
}

/// Transmissions of a row, and what is made of each; `gap` where there is none.
struct Correcting<'a, F> {
    planes: Planes<'a>,
    gap: f32,
    values: &'a mut [f32],
    each: F,
}

impl<F: Fn(f32) -> f32> Plain for Correcting<'_, F> {
    type Output = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let Self { planes: Planes { dark, gain, beam }, gap, values, each } = self;
        let pixels = values.iter_mut().zip(dark.iter().zip(gain));
        // Of all of them, and then chosen from, so that loops have no branches.
        match beam {
            None => {
                for (v, (d, g)) in pixels {
                    let made = each((*v - d) * g);
                    *v = if *g == 0.0 { gap } else { made };
                }
            }
            Some(Beam { planes: [a, b], weights: [wa, wb], of_components: [], .. }) => {
                for ((v, (d, g)), (a, b)) in pixels.zip(a.iter().zip(b)) {
                    let made = each((*v - d) / (wa * a + wb * b));
                    *v = if *g == 0.0 { gap } else { made };
                }
            }
            Some(Beam { planes: [a, b], weights: [wa, wb], components, stride, of_components }) => {
                let mut flats = [0.0; BLOCK];
                let pixels = values.chunks_mut(BLOCK).zip(dark.chunks(BLOCK).zip(gain.chunks(BLOCK)));
                let pixels = pixels.zip(a.chunks(BLOCK).zip(b.chunks(BLOCK)));
                for (block, ((values, (dark, gain)), (a, b))) in pixels.enumerate() {
                    for (flat, (a, b)) in flats.iter_mut().zip(a.iter().zip(b)) {
                        *flat = wa * a + wb * b;
                    }
                    let mut beams = flats;
                    for (k, weight) in of_components.iter().enumerate() {
                        let component = &components[k * stride + block * BLOCK..][..values.len()];
                        beams.iter_mut().zip(component).for_each(|(beam, u)| *beam += weight * u);
                    }
                    let beams = flats.iter().zip(&beams).map(|(flat, beam)| beam.max(LOWEST_BEAM * flat));
                    for ((v, (d, g)), beam) in values.iter_mut().zip(dark.iter().zip(gain)).zip(beams) {
                        let made = each((*v - d) / beam);
                        *v = if *g == 0.0 { gap } else { made };
                    }
                }
            }
        }
        gain.iter().map(|g| u32::from(*g == 0.0)).sum::<u32>() as usize
    }
}

fn tell_of_components(explained: &[f64], context: &Context) {
    context.log(LogLevel::Info, || match explained {
        [] => "flats do not differ by more than noise: there are no eigenflats".into(),
        _ => {
            let (kept, percent) = (explained.len(), 100.0 * explained.iter().sum::<f64>());
            format!("{kept} eigenflats explain {percent:.1} % of the variance of flats")
        }
    });
}

/// Refuses a pixel whose flat and dark cannot correct it.
fn check_pixel([flat, dark]: [f64; 2], [row, bin]: [usize; 2], of: &str) -> Result<()> {
    if !flat.is_finite() || !dark.is_finite() {
        fail!(NotFiniteData, "flats[{row}, {bin}] and darks are {flat} and {dark} on average{of}; they must be finite");
    }
    if flat <= dark {
        fail!(
            FlatField,
            "flats[{row}, {bin}] is {flat} on average{of}; it must be above darks, {dark} there (or set the NaN policy to replace: such pixels are then 0)"
        );
    }
    Ok(())
}
