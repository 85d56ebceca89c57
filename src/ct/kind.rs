//! What projections hold, what is done to them on the way, and whether they look like it.

use super::flat_field::FlatField;
use crate::array::DType;
use crate::context::{Context, LogLevel};
use crate::error::{Result, fail};
use std::sync::Arc;
use wide::f32x8;

/// What the projections of calls that correct hold; the table is in `docs/conventions.md`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputKind {
    /// Integers are counts, f32 are line integrals; f32 while there is a flat field are an error.
    #[default]
    Auto,
    /// Counts: the flat field makes line integrals of them.
    Counts,
    /// Transmissions: line integrals after a logarithm.
    Transmission,
    /// Line integrals, whether there is a flat field or not.
    LineIntegrals,
}

/// How a value becomes a line integral.
#[derive(Clone, Copy, Debug)]
pub(super) enum Correction<'a> {
    /// It is one, or the call takes values as they are.
    None,
    /// By its pixel's flat and dark; the least transmission.
    Counts(&'a FlatField, f32),
    /// By the logarithm; the least transmission.
    Transmission(f32),
}

/// What makes corrections, on its own.
pub(super) struct Corrector {
    pub(super) input: InputKind,
    pub(super) minimum: f64,
    pub(super) flat: Option<Arc<FlatField>>,
}

impl Corrector {
    pub(super) fn correction(&self, dtype: DType) -> Result<Correction<'_>> {
        self.input.correction(dtype, self.flat.as_deref(), self.minimum)
    }
}

impl InputKind {
    /// What is done to projections of this type; refuses what is contradictory, or might be meant one way or the other.
    pub(super) fn correction(self, dtype: DType, flat: Option<&FlatField>, minimum: f64) -> Result<Correction<'_>> {
        let minimum = minimum as f32;
        match (self, dtype, flat) {
            (Self::Auto, DType::F32, Some(_)) => fail!(
                FlatField,
                "projections are F32 and the plan has a flat field: they may be counts or line integrals; set options.input to 1 (counts), 2 (transmission) or 3 (line_integrals), or forget the flat field"
            ),
            (Self::Auto | Self::LineIntegrals, DType::F32, _) => Ok(Correction::None),
            (Self::Transmission, DType::F32, _) => Ok(Correction::Transmission(minimum)),
            (Self::Auto | Self::Counts, _, Some(flat)) => Ok(Correction::Counts(flat, minimum)),
            (Self::Auto | Self::Counts, _, None) => fail!(
                FlatField,
                "projections are {dtype:?} counts and the plan has no flat field; isoc_ct_set_flat_field comes first"
            ),
            (Self::Transmission | Self::LineIntegrals, _, _) => {
                let name = if self == Self::Transmission { "2 (transmission)" } else { "3 (line_integrals)" };
                fail!(TensorDtype, "projections are {dtype:?}; options.input is {name}, which has to be F32")
            }
        }
    }
}

impl<'a> Correction<'a> {
    pub(super) fn flat(self) -> Option<&'a FlatField> {
        match self {
            Self::Counts(flat, _) => Some(flat),
            _ => None,
        }
    }

    /// The least transmission that the logarithm sees.
    pub(super) fn minimum(self) -> f32 {
        match self {
            Self::None => 1.0,
            Self::Counts(_, minimum) | Self::Transmission(minimum) => minimum,
        }
    }

    /// Corrects values of a detector row from its first one on, in place; gives the number of pixels that cannot be corrected and
    /// became 0.
    pub(super) fn apply(self, row: usize, values: &mut [f32]) -> usize {
        match self {
            Self::None => 0,
            Self::Counts(flat, minimum) => flat.correct(row, minimum, values),
            Self::Transmission(minimum) => {
                logarithm(values, minimum);
                0
            }
        }
    }
}

/// -ln of values, none of them below `minimum`.
fn logarithm(values: &mut [f32], minimum: f32) {
    let minimum = f32x8::splat(minimum);
    for v in values.chunks_mut(8) {
        let n = v.len();
        let mut lanes = [1.0; 8];
        lanes[..n].copy_from_slice(v);
        v.copy_from_slice(&(-f32x8::new(lanes).max(minimum).ln()).to_array()[..n]);
    }
}

/// Bins that a row needs for its ends and its middle to mean anything.
const LEAST_BINS: usize = 8;
/// No beam is seen through so much.
const MOST_INTEGRAL: f32 = 20.0;

/// A detector row, and what was read of it.
pub(super) type Sampled = (usize, Vec<f32>);

/// Warns of projections that do not look like what they are taken for, by some of their rows.
pub(super) fn warn_of_kind(context: &Context, correction: Correction, mut rows: Vec<Sampled>) {
    let kind = match correction {
        Correction::None => "line integrals",
        Correction::Counts(..) => "counts",
        Correction::Transmission(_) => "transmissions",
    };
    if let Correction::Counts(..) = correction {
        for (row, values) in &mut rows {
            correction.apply(*row, values);
        }
    }
    let rows: Vec<Vec<f32>> = rows.into_iter().map(|(_, values)| values).collect();
    let doubt = match correction {
        Correction::None => suspicion(&rows),
        Correction::Counts(_, minimum) => doubt_of_counts(&rows, minimum),
        Correction::Transmission(_) => doubt_of_transmissions(&rows),
    };
    if let Some(why) = doubt {
        context.log(LogLevel::Warning, || {
            format!(
                "projections are taken for {kind}, and do not look like any: {why}; options.input says what they are: 1 (counts, with a flat field), 2 (transmission), 3 (line_integrals)"
            )
        });
    }
}

/// Means of the ends of rows and of their middle third, over all rows that are long enough, and all finite values in rising order; None
/// if there are none.
fn profile(rows: &[Vec<f32>]) -> Option<(f64, f64, Vec<f32>)> {
    let rows = || rows.iter().filter(|r| r.len() >= LEAST_BINS);
    let outside = mean(rows().flat_map(|r| ends(r)))?;
    let inside = mean(rows().flat_map(|r| middle(r)))?;
    let mut values: Vec<f32> = rows().flatten().copied().filter(|v| v.is_finite()).collect();
    values.sort_by(f32::total_cmp);
    Some((outside, inside, values))
}

/// Part of a list in rising order.
fn at(values: &[f32], part: f64) -> f32 {
    values[((values.len() - 1) as f64 * part) as usize]
}

/// A beam that misses the object is as bright as the flats, give or take what the source does; behind the object it is darker.
const BRIGHT: f64 = 1.5;

/// Why counts, of which these are the line integrals, are not those of the flat field's exposure.
fn doubt_of_counts(integrals: &[Vec<f32>], minimum: f32) -> Option<String> {
    let transmissions: Vec<Vec<f32>> = integrals.iter().map(|row| row.iter().map(|v| (-v).exp()).collect()).collect();
    let (outside, _, values) = profile(&transmissions)?;
    let floored = values.iter().filter(|v| **v <= 1.001 * minimum).count();
    if 2 * floored > values.len() {
        let percent = 100 * floored / values.len();
        return Some(format!("{percent} % of them are no larger than the darks, or by less than minimum_transmission"));
    }
    let seen = outside.max(f64::from(at(&values, 0.5)));
    (seen > BRIGHT).then(|| format!("they are {seen:.2} times the flats where the object lets most through"))
}

/// Why values are no transmissions.
fn doubt_of_transmissions(rows: &[Vec<f32>]) -> Option<String> {
    let (outside, inside, values) = profile(rows)?;
    let half = at(&values, 0.5);
    if f64::from(half) > BRIGHT {
        return Some(format!("half of them are above {half}, and what is let through is 1 at most"));
    }
    // Line integrals, which are 0 beside the object.
    (outside.abs() < 0.1 && inside > outside + 0.1).then(|| {
        format!(
            "the ends of rows are {outside:.2} on average and their middle third {inside:.2}, as line integrals are"
        )
    })
}

/// Why rows that are taken for line integrals cannot be any; None if they can. Values that are not finite are left out.
///
/// Line integrals are 0 beside the object and largest in its midst, in whatever unit; what a detector measures is largest beside
/// it. Where no row reaches beyond the object (local tomography), only the sizes are left to judge by: in honest units those are
/// small, and a phantom of 1 a pixel still rises towards its middle.
fn suspicion(rows: &[Vec<f32>]) -> Option<String> {
    let rows = rows.iter().filter(|r| r.len() >= LEAST_BINS);
    let mut profiles: Vec<(f64, f64)> = Vec::new();
    let mut values: Vec<f32> = Vec::new();
    // Air is 0 in line integrals only.
    let mut dark_ends = true;
    for row in rows {
        profiles.extend(mean(ends(row)).zip(mean(middle(row))));
        dark_ends &= row[0] == 0.0 && row[row.len() - 1] == 0.0;
        values.extend(row.iter().filter(|v| v.is_finite()));
    }
    if profiles.is_empty() {
        return None;
    }
    values.sort_by(f32::total_cmp);
    let at = |part: f64| at(&values, part);
    let (least, most) = (values[0], values[values.len() - 1]);
    let n = profiles.len() as f64;
    let outside = profiles.iter().map(|p| p.0).sum::<f64>() / n;
    let inside = profiles.iter().map(|p| p.1).sum::<f64>() / n;
    if most > 1.0 && !dark_ends && values.iter().all(|v| v.fract() == 0.0) {
        return Some(format!("all of them are whole numbers, {least} to {most}, as counts are"));
    }
    // Means of equal values differ in their last bits.
    let rises = inside > outside * 1.001;
    if at(0.05) > MOST_INTEGRAL && !rises {
        let low = at(0.05);
        return Some(format!(
            "most are above {low}, where {MOST_INTEGRAL} is a transmission of 2e-9, and no larger in the middle of rows than at their ends"
        ));
    }
    let (sum, size) = values.iter().fold((0.0, 0.0), |(s, a), v| (s + f64::from(*v), a + f64::from(v.abs())));
    if sum < -0.5 * size {
        let least = values[0];
        return Some(format!(
            "most of what they sum to is negative, down to {least}, as logarithms without their minus are"
        ));
    }
    let beside = profiles.iter().filter(|p| (0.7..=1.3).contains(&p.0)).count() as f64;
    if at(0.01) >= -0.05 && at(0.99) <= 1.5 && beside >= 0.9 * n && inside < 0.9 * outside {
        return Some(format!(
            "the ends of rows are {outside:.2} on average and their middle third {inside:.2}, as transmissions are"
        ));
    }
    None
}

/// Bins of a row that most likely lie beside the object.
fn ends(row: &[f32]) -> impl Iterator<Item = &f32> {
    let n = (row.len() / 20).max(1);
    row[..n].iter().chain(&row[row.len() - n..])
}

/// The middle third of a row.
fn middle(row: &[f32]) -> impl Iterator<Item = &f32> {
    row[row.len() / 3..row.len() - row.len() / 3].iter()
}

/// Of finite values; None if there are none.
fn mean<'a>(values: impl IntoIterator<Item = &'a f32>) -> Option<f64> {
    let (n, sum) = values.into_iter().filter(|v| v.is_finite()).fold((0, 0.0), |(n, s), v| (n + 1, s + f64::from(*v)));
    (n > 0).then(|| sum / f64::from(n))
}
