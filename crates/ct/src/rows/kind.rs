//! What projections hold, and what is done to them on the way.

use super::flat_field::FlatField;
use super::logarithm::logarithm;
use isocenter_base::array::DType;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::{Result, fail};
use std::sync::Arc;

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
pub(crate) enum Correction<'a> {
    /// It is one, or the call takes values as they are.
    None,
    /// By its pixel's flat and dark; the minimum transmission.
    Counts(&'a FlatField, f32),
    /// By the logarithm; the minimum transmission.
    Transmission(f32),
}

/// What makes corrections, on its own.
pub(crate) struct Corrector {
    pub(crate) input: InputKind,
    pub(crate) minimum: f64,
    pub(crate) flat: Option<Arc<FlatField>>,
}

impl Corrector {
    pub(crate) fn correction(&self, dtype: DType) -> Result<Correction<'_>> {
        self.input.correction(dtype, self.flat.as_deref(), self.minimum)
    }
}

impl InputKind {
    /// What is done to projections of this type; refuses what is contradictory, or might be meant one way or the other, and a flat field
    /// that is not known of all views.
    pub(crate) fn correction(self, dtype: DType, flat: Option<&FlatField>, minimum: f64) -> Result<Correction<'_>> {
        let correction = self.intended(dtype, flat, minimum)?;
        correction.flat().map_or(Ok(()), FlatField::check_fitted)?;
        Ok(correction)
    }

    /// The same of any flat field.
    pub(crate) fn intended(self, dtype: DType, flat: Option<&FlatField>, minimum: f64) -> Result<Correction<'_>> {
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
    pub(crate) fn flat(self) -> Option<&'a FlatField> {
        match self {
            Self::Counts(flat, _) => Some(flat),
            _ => None,
        }
    }

    /// The minimum transmission that the logarithm sees.
    pub(crate) fn minimum(self) -> f32 {
        match self {
            Self::None => 1.0,
            Self::Counts(_, minimum) | Self::Transmission(minimum) => minimum,
        }
    }

    /// What stands for no value before the logarithm: air.
    pub(crate) fn gap(self) -> f32 {
        if matches!(self, Self::None) { 0.0 } else { 1.0 }
    }

    /// Makes line integrals of transmissions, in place; what are line integrals stays.
    pub(crate) fn finish(self, values: &mut [f32], level: Level) {
        match self {
            Self::None => {}
            Self::Counts(_, minimum) | Self::Transmission(minimum) => logarithm(values, minimum, level),
        }
    }

    /// Corrects values of a view's detector row from its first one on, in place; gives the number of pixels that cannot be corrected and
    /// became 0.
    pub(crate) fn apply(self, [view, row]: [usize; 2], values: &mut [f32], level: Level) -> usize {
        match self {
            Self::None => 0,
            Self::Counts(flat, minimum) => flat.correct([view, row], minimum, values, level),
            Self::Transmission(minimum) => {
                logarithm(values, minimum, level);
                0
            }
        }
    }

    /// The same as far as transmissions; those of pixels that cannot be corrected become 1.
    pub(crate) fn transmit(self, [view, row]: [usize; 2], values: &mut [f32], level: Level) -> usize {
        match self {
            Self::None | Self::Transmission(_) => 0,
            Self::Counts(flat, _) => flat.transmit([view, row], values, level),
        }
    }
}
