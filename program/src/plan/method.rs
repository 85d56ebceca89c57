//! By which method slices are made, and how iterations go on.

use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use isocenter::ct::{self, Iterative, Pair};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Filtered back projection
    #[default]
    Fbp,
    /// Simultaneous iterative reconstruction; with --subsets OS-SART, with a view in each SART
    Sirt,
    /// Conjugate gradient on the normal equations
    Cgls,
    /// Maximum likelihood, of counts of emission or fluorescence; with --subsets OSEM
    Mlem,
    /// Least squares with total variation
    #[value(alias = "total_variation", alias = "tv")]
    TotalVariation,
    /// Least squares within bounds, by accelerated projected gradient
    Fista,
}

use Algorithm::{Cgls, Fbp, Fista, Mlem, Sirt, TotalVariation};

/// What iterations project by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Projector {
    /// Joseph's line integrals
    Joseph,
    /// Those of the band-limited function through the pixels, by Fourier transforms; cgls and fista take an FFT each way an iteration
    /// where all views see all pixels, as with --support 1
    #[value(alias = "band_limited")]
    BandLimited,
}

/// How much each ray counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// All alike
    Uniform,
    /// By its transmission: right where photons make the noise
    Transmission,
}

/// How an image is measured by the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// By squares
    Squares,
    /// By Poisson's law, of counts of emission or fluorescence
    Poisson,
}

/// Whose differences total variation counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Variation {
    /// Of pixels in a slice: slices are independent
    Slices,
    /// Of neighbouring slices, too: all slices are worked on together, and must fit memory
    Volume,
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Method {
    /// How slices are made
    #[arg(long, value_enum, default_value_t)]
    algorithm: Algorithm,
    /// How many, at most [default: 100 of sirt, 20 with subsets; 10 of cgls; 30 of mlem, 10 with subsets; 50 of fista; 500 of
    /// total-variation]
    #[arg(long, value_name = "N")]
    iterations: Option<usize>,
    /// Of sirt and mlem: subsets of the views, which are taken one after the other: about so many times as fast [default: 1]
    #[arg(long, value_name = "N")]
    subsets: Option<usize>,
    /// Of sirt: factor of each step, above 0 and below 2; below 1 with many subsets [default: 1]
    #[arg(long, value_name = "FACTOR")]
    relaxation: Option<f64>,
    /// Smallest value of a slice, as in 0; of total-variation there must be one [default: none]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    minimum: Option<f64>,
    /// Largest value of a slice [default: none]
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    maximum: Option<f64>,
    /// Radius of the circle outside which the sample is known to be nothing, in parts of half the slice's side; iterations keep to it
    #[arg(long, value_name = "RADIUS")]
    support: Option<f64>,
    /// Of cgls, fista and total-variation [default: joseph]
    #[arg(long, value_enum)]
    projector: Option<Projector>,
    /// Of cgls, fista and total-variation: how much each ray counts [default: uniform]
    #[arg(long, value_enum)]
    weights: Option<Weights>,
    /// Of total-variation: how an image is measured by the data [default: squares]
    #[arg(long, value_enum)]
    fit: Option<Fit>,
    /// Of total-variation: whose differences count [default: slices]
    #[arg(long, value_enum)]
    variation: Option<Variation>,
    /// Weight of the penalty: of total-variation in millimetres (in bins where the side of a pixel is not known), of cgls and fista in their
    /// squares [default: of total-variation by the noise of the projections, else 0]
    #[arg(long, visible_alias = "regularization", value_name = "WEIGHT")]
    pub regularisation: Option<f64>,
    /// Of total-variation: weight of offsets that all views share, which are found with the slice, as of rings; one to three times the
    /// noise of a line integral times the square root of the number of views [default: none]
    #[arg(long, value_name = "WEIGHT")]
    ring_weight: Option<f64>,
    /// Of total-variation: differences below this, in attenuation a length, count by their squares, so that slopes are kept [default: 0]
    #[arg(long, value_name = "VALUE")]
    huber: Option<f64>,
    /// A slice ends when its gradient (cgls) or its distance from the minimum (fista, total-variation) is this part of what it was, or of
    /// its objective [default: 0; 1e-4 of total-variation]
    #[arg(long, value_name = "PART")]
    tolerance: Option<f64>,
}

impl Method {
    pub fn iterates(&self) -> bool {
        self.algorithm != Fbp
    }

    /// Whether no slice is made without the others.
    pub fn together(&self) -> bool {
        self.variation == Some(Variation::Volume)
    }

    /// Whether a weight is needed, and none is there.
    pub fn lacks_weight(&self) -> bool {
        self.algorithm == TotalVariation && self.regularisation.is_none()
    }

    /// As it is called on the command line.
    pub fn name(&self) -> String {
        name(self.algorithm)
    }

    /// For the library.
    pub fn algorithm(&self) -> ct::Algorithm {
        match self.algorithm {
            Fbp => ct::Algorithm::Fbp,
            Sirt => ct::Algorithm::Sirt,
            Cgls => ct::Algorithm::Cgls,
            Mlem => ct::Algorithm::Mlem,
            TotalVariation => ct::Algorithm::TotalVariation,
            Fista => ct::Algorithm::Fista,
        }
    }

    pub fn pair(&self) -> Pair {
        match self.projector {
            Some(Projector::BandLimited) => Pair::BandLimited,
            Some(Projector::Joseph) | None => Pair::Joseph,
        }
    }

    /// The same with all numbers that have a default of this program's.
    pub fn settled(&self) -> Self {
        let in_subsets = self.subsets.is_some_and(|subsets| subsets > 1);
        let usual = match self.algorithm {
            Fbp => None,
            Sirt => Some(if in_subsets { 20 } else { 100 }),
            Cgls => Some(10),
            Mlem => Some(if in_subsets { 10 } else { 30 }),
            TotalVariation => Some(500),
            Fista => Some(50),
        };
        Self { iterations: self.iterations.or(usual), ..self.clone() }
    }

    /// In words.
    pub fn told(&self) -> String {
        let count = self.settled().iterations.unwrap_or_default();
        let subsets = self.subsets.map(|n| format!(", {n} subsets")).unwrap_or_default();
        let weight = self.regularisation.map(|w| format!(", regularisation {w:.4e}")).unwrap_or_default();
        match self.algorithm {
            Fbp => self.name(),
            _ => format!("{}, {count} iterations at most{subsets}{weight}", self.name()),
        }
    }

    /// Refuses what belongs to other methods, and what a method lacks.
    fn check(&self) -> Result<()> {
        const ALL: &[Algorithm] = &[Sirt, Cgls, Mlem, TotalVariation, Fista];
        const LEAST_SQUARES: &[Algorithm] = &[Cgls, Fista, TotalVariation];
        const BOUND: &[Algorithm] = &[Sirt, Mlem, Fista, TotalVariation];
        const SUBSETS: &[Algorithm] = &[Sirt, Mlem];
        const VARIATION: &[Algorithm] = &[TotalVariation];
        let given = [
            ("iterations", self.iterations.is_some(), ALL),
            ("subsets", self.subsets.is_some(), SUBSETS),
            ("relaxation", self.relaxation.is_some(), &[Sirt]),
            ("minimum", self.minimum.is_some(), BOUND),
            ("maximum", self.maximum.is_some(), BOUND),
            ("support", self.support.is_some(), ALL),
            ("projector", self.projector.is_some(), LEAST_SQUARES),
            ("weights", self.weights.is_some(), LEAST_SQUARES),
            ("fit", self.fit.is_some(), VARIATION),
            ("variation", self.variation.is_some(), VARIATION),
            ("regularisation", self.regularisation.is_some(), LEAST_SQUARES),
            ("ring-weight", self.ring_weight.is_some(), VARIATION),
            ("huber", self.huber.is_some(), VARIATION),
            ("tolerance", self.tolerance.is_some(), LEAST_SQUARES),
        ];
        if let Some((option, _, of)) = given.iter().find(|(_, given, of)| *given && !of.contains(&self.algorithm)) {
            let names: Vec<_> = of.iter().map(|of| name(*of)).collect();
            bail!("--{option} belongs to --algorithm {}, not to {}", listed(&names), self.name());
        }
        if let (Some(minimum), Some(maximum)) = (self.minimum, self.maximum) {
            ensure!(
                minimum < maximum,
                "--minimum {minimum} and --maximum {maximum}: the first must be below the second"
            );
        }
        for (option, value) in [("minimum", self.minimum), ("maximum", self.maximum)] {
            ensure!(
                value.is_none_or(f64::is_finite),
                "--{option} must be a finite number; without it there is no such bound"
            );
        }
        let both = self.minimum.is_some() && self.maximum.is_some();
        if self.algorithm == TotalVariation && self.minimum.is_none() {
            bail!("--algorithm total-variation needs --minimum, which is 0 where no part of the sample is below air");
        }
        let poisson = self.fit == Some(Fit::Poisson);
        for (option, needs) in [
            ("--weights transmission", self.weights == Some(Weights::Transmission) && self.algorithm == TotalVariation),
            ("--ring-weight", self.ring_weight.is_some_and(|weight| weight > 0.0)),
            ("--fit poisson", poisson),
        ] {
            ensure!(!needs || both, "{option} of total-variation needs --minimum and --maximum");
        }
        if poisson && self.projector == Some(Projector::BandLimited) {
            bail!("--fit poisson needs --projector joseph, whose weights are not negative");
        }
        Ok(())
    }

    /// For the library; None where nothing iterates.
    pub fn wanted(&self) -> Result<Option<Iterative>> {
        self.check()?;
        let Some(iterations) = self.settled().iterations else { return Ok(None) };
        ensure!(!self.lacks_weight(), "--algorithm total-variation needs --regularisation");
        let usual = Iterative::default();
        let weighting = match self.weights {
            Some(Weights::Transmission) => ct::Weighting::Transmission,
            Some(Weights::Uniform) | None => ct::Weighting::Uniform,
        };
        let fit = match self.fit {
            Some(Fit::Poisson) => ct::Fit::Poisson,
            Some(Fit::Squares) | None => ct::Fit::Squares,
        };
        let variation = if self.together() { ct::Variation::Volume } else { ct::Variation::Slices };
        Ok(Some(Iterative {
            iterations,
            subsets: self.subsets.unwrap_or(usual.subsets),
            relaxation: self.relaxation.unwrap_or(usual.relaxation),
            bounds: [self.minimum.unwrap_or(usual.bounds[0]), self.maximum.unwrap_or(usual.bounds[1])],
            mask_radius: self.support.unwrap_or(usual.mask_radius),
            weighting,
            fit,
            variation,
            regularisation: self.regularisation.unwrap_or(usual.regularisation),
            ring_weight: self.ring_weight.unwrap_or(usual.ring_weight),
            huber: self.huber.unwrap_or(usual.huber),
            tolerance: self.tolerance.unwrap_or(usual.tolerance),
            ..usual
        }))
    }
}

fn name(algorithm: Algorithm) -> String {
    algorithm.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

/// Names with commas and an "and" between.
fn listed(names: &[String]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}
