//! The side of a pixel at the sample: what a scan says of it, and whether that can be.

use anyhow::{Result, bail, ensure};
use std::ops::RangeInclusive;

/// Sides of pixels in millimetres: others are of another unit than the file says.
const SIDES: RangeInclusive<f64> = 1e-6..=10.0;

/// What a scan says.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Pixel {
    /// Nothing.
    #[default]
    Untold,
    Millimetres(f64),
    /// Something that is no length, in words.
    Unread(String),
    /// A length that no pixel has, in words.
    Doubtful(String),
}

impl Pixel {
    /// Of a number in millimetres, which the scan tells in these words.
    pub fn of(side: f64, told: &str) -> Self {
        if !(side > 0.0 && side.is_finite()) {
            return Self::Unread(format!("the side of a pixel is {told}, which is no length"));
        }
        if !SIDES.contains(&side) {
            return Self::Doubtful(format!("the side of a pixel is {told}: {side} mm; it must be 1 nm to 10 mm"));
        }
        Self::Millimetres(side)
    }

    pub fn millimetres(&self) -> Option<f64> {
        match self {
            Self::Millimetres(side) => Some(*side),
            _ => None,
        }
    }

    /// Of so many by so many pixels.
    pub fn binned(&mut self, n: usize) {
        if let Self::Millimetres(side) = self {
            *side *= n as f64;
        }
    }

    /// What is given beside the scan, as a pixel of its detector, takes its place; a scan that is doubtful needs that.
    pub fn settle(&mut self, given: Option<f64>, binning: usize) -> Result<()> {
        match (given, &*self) {
            (Some(side), _) => {
                ensure!(side > 0.0 && side.is_finite(), "--pixel is {side}; it must be above 0");
                *self = Self::Millimetres(side * binning as f64);
            }
            (None, Self::Doubtful(told)) => bail!("{told}: --pixel MM gives the right one"),
            (None, _) => {}
        }
        Ok(())
    }

    /// What is to be said of it.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Unread(told) => Some(format!("{told}: values are per bin, unless --pixel MM gives it")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_wins() {
        let settled = |pixel: &Pixel, given| {
            let mut pixel = pixel.clone();
            pixel.settle(given, 1).map(|()| pixel.millimetres())
        };
        let doubtful = Pixel::of(650.0, "0.65 without units, which is taken for m");
        for pixel in [Pixel::Untold, Pixel::of(3.0, "3"), Pixel::of(f64::NAN, "a text"), doubtful.clone()] {
            assert_eq!(settled(&pixel, Some(0.5)).expect("a side"), Some(0.5), "{pixel:?}");
            assert!(settled(&pixel, Some(0.0)).is_err());
        }
        let error = settled(&doubtful, None).expect_err("an error").to_string();
        assert!(
            error.contains("0.65 without units") && error.contains("650 mm") && error.contains("--pixel"),
            "{error}"
        );
        assert_eq!(settled(&Pixel::Unread("it is a text".into()), None).expect("none"), None);
        let mut binned = Pixel::of(0.5, "0.5");
        binned.binned(3);
        assert_eq!(binned.millimetres(), Some(1.5));
        binned.settle(Some(0.25), 4).expect("a side");
        assert_eq!(binned.millimetres(), Some(1.0));
        assert_eq!(settled(&Pixel::of(1e-6, "1 nm"), None).expect("a side"), Some(1e-6));
        assert!(settled(&Pixel::of(9e-7, "0.9 nm"), None).is_err());
    }
}
