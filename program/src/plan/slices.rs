//! How rows become slices: their ends, their filter, and how a pixel reads them.

use super::Halves;
use super::method::Method;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use isocenter::ct::{Filter, InputKind, Interpolation, Options, Padding, Precision};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The window over the ramp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// The plain ramp
    #[default]
    #[value(alias = "ram_lak")]
    RamLak,
    /// A little smoother: sinc(f / 2)
    #[value(alias = "shepp_logan")]
    SheppLogan,
    /// cos(pi f / 2)
    Cosine,
    /// 0.54 + 0.46 cos(pi f)
    Hamming,
    /// 0.5 + 0.5 cos(pi f)
    Hann,
    /// The smoothest
    Parzen,
    /// 1 / sqrt(1 + f^(2 order)), f over the cutoff
    Butterworth,
    /// No ramp: rows are back projected as they are
    None,
    /// That of --response
    Custom,
}

/// How a pixel reads a filtered row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Reading {
    /// By Fourier transforms: the fastest, all of the row's frequencies
    #[default]
    #[value(alias = "band-limited", alias = "band_limited")]
    Fourier,
    /// Between two bins
    Linear,
    /// The nearest bin
    Nearest,
    /// The nearest of four samples a bin
    Oversampled,
}

/// What is beyond the ends of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Ends {
    /// Nothing: the sample lies within the detector
    #[default]
    Zero,
    /// The row's outermost values: the sample goes on beyond the detector
    Edge,
}

/// Of data that a GPU back projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// 32 bits
    Single,
    /// 16 bits: faster
    Half,
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Slices {
    /// Join rows of a full turn about an axis near an edge; iterations take such rows as they are, and the wider slice alone
    #[arg(long, value_enum, default_value_t)]
    pub half_acquisition: Halves,
    /// Of fbp: the window over the ramp filter [default: ram-lak]
    #[arg(long, value_enum)]
    filter: Option<Window>,
    /// Of fbp: where the filter's window ends (butterworth: where it is 0.71), in parts of the highest frequency of a row [default: 1; butterworth: 0.5]
    #[arg(long, value_name = "PART")]
    cutoff: Option<f64>,
    /// Of --filter butterworth [default: 4]
    #[arg(long, value_name = "ORDER")]
    butterworth_order: Option<f64>,
    /// Of fbp: a filter of your own, a text file with a number a line: at frequencies evenly spaced from 0 to the highest, both in; 0 to 0.5 is the plain ramp
    #[arg(long, value_name = "FILE")]
    response: Option<PathBuf>,
    /// Of fbp: how a pixel reads a filtered row
    #[arg(long, value_enum, default_value_t)]
    interpolation: Reading,
    /// Of fbp: what the filter sees beyond the ends of a row
    #[arg(long, value_enum, default_value_t)]
    padding: Ends,
    /// Of fbp on a GPU, but with --interpolation fourier: precision of what is back projected [default: single]
    #[arg(long, value_enum)]
    precision: Option<Grade>,
    /// Smallest transmission, which the logarithm takes for all below it [default: 1e-6]
    #[arg(long, value_name = "PART")]
    minimum_transmission: Option<f64>,
}

impl Slices {
    /// For the library: of projections that are this, by this method.
    pub fn options(&self, method: &Method, input: InputKind) -> Result<Options> {
        if method.iterates() {
            self.check_unfiltered(method)?;
        }
        let usual = Options::default();
        let padding = match self.padding {
            Ends::Zero => Padding::Zero,
            Ends::Edge => Padding::Edge,
        };
        let interpolation = match self.interpolation {
            // What iterations have no use for is what it is without them.
            _ if method.iterates() => usual.interpolation,
            Reading::Fourier => Interpolation::BandLimited,
            Reading::Linear => Interpolation::Linear,
            Reading::Nearest => Interpolation::Nearest,
            Reading::Oversampled => Interpolation::Oversampled,
        };
        let precision = match self.precision {
            Some(Grade::Half) if self.interpolation == Reading::Fourier => {
                bail!("--precision half belongs to --interpolation linear, nearest and oversampled")
            }
            Some(Grade::Half) => Precision::Half,
            _ => Precision::Single,
        };
        if self.minimum_transmission.is_some() && input == InputKind::LineIntegrals {
            bail!("--minimum-transmission belongs to counts and transmissions, and projections are line integrals");
        }
        let minimum_transmission = self.minimum_transmission.unwrap_or(usual.minimum_transmission);
        let (filter, algorithm, pair) = (self.filter()?, method.algorithm(), method.pair());
        Ok(Options { algorithm, filter, interpolation, padding, minimum_transmission, precision, input, pair, ..usual })
    }

    pub fn by_fourier(&self) -> bool {
        self.interpolation == Reading::Fourier
    }

    /// Whether a GPU is asked for by what nothing else has.
    pub fn of_gpus(&self) -> bool {
        self.precision == Some(Grade::Half)
    }

    /// Refuses what belongs to filtered back projection.
    fn check_unfiltered(&self, method: &Method) -> Result<()> {
        let given = [
            ("filter", self.filter.is_some()),
            ("cutoff", self.cutoff.is_some()),
            ("butterworth-order", self.butterworth_order.is_some()),
            ("response", self.response.is_some()),
            ("interpolation", self.interpolation != Reading::default()),
            ("padding", self.padding != Ends::default()),
            ("precision", self.precision.is_some()),
        ];
        match given.iter().find(|(_, given)| *given) {
            Some((name, _)) => bail!("--{name} belongs to --algorithm fbp, not to {}", method.name()),
            None => Ok(()),
        }
    }

    fn filter(&self) -> Result<Filter> {
        let window = match (self.filter, &self.response) {
            (None | Some(Window::Custom), Some(response)) => return Ok(Filter::Custom(self.read(response)?)),
            (Some(Window::Custom), None) => bail!("--filter custom needs --response"),
            (Some(_), Some(_)) => bail!("--response belongs to --filter custom"),
            (window, None) => window.unwrap_or_default(),
        };
        if self.butterworth_order.is_some() && window != Window::Butterworth {
            bail!("--butterworth-order belongs to --filter butterworth");
        }
        let cutoff = self.cutoff.unwrap_or(1.0);
        Ok(match window {
            Window::RamLak => Filter::RamLak { cutoff },
            Window::SheppLogan => Filter::SheppLogan { cutoff },
            Window::Cosine => Filter::Cosine { cutoff },
            Window::Hamming => Filter::Hamming { cutoff },
            Window::Hann => Filter::Hann { cutoff },
            Window::Parzen => Filter::Parzen { cutoff },
            Window::Butterworth => {
                Filter::Butterworth { cutoff: self.cutoff.unwrap_or(0.5), order: self.butterworth_order.unwrap_or(4.0) }
            }
            Window::None if self.cutoff.is_some() => bail!("--cutoff belongs to a filter, and --filter is none"),
            Window::None => Filter::None,
            Window::Custom => bail!("--filter custom needs --response"),
        })
    }

    /// A filter's values, a line each.
    fn read(&self, path: &Path) -> Result<Vec<f32>> {
        for (name, given) in [("cutoff", self.cutoff), ("butterworth-order", self.butterworth_order)] {
            if given.is_some() {
                bail!("--{name} belongs to a window, and --response has a filter whole");
            }
        }
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("--response: reading {shown}"))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let value = |(k, line): (usize, &str)| {
            let value = line.trim().parse::<f32>().ok().filter(|value| value.is_finite());
            value.with_context(|| format!("--response: {shown}, line {}: one number is expected", k + 1))
        };
        lines.map(value).collect()
    }
}
