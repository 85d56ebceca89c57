//! Stripes in sinograms.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use isocenter::ct::{self, Vo, Wavelet};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// What stands out from noise, and nothing else
    #[default]
    Significant,
    /// All of Vo, Atwood and Drakopoulos 2018
    Vo,
    /// Its algorithm 3 alone
    Sorting,
    /// Titarenko, Withers and Yagola 2010
    Regularised,
    /// Munch, Trtik, Marone and Stampanoni 2009
    WaveletFourier,
    /// Left as they are
    Off,
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stripes {
    /// How stripes, which would become rings, are removed
    #[arg(id = "stripes", long, value_name = "METHOD", value_enum, default_value_t)]
    pub method: Method,
    /// Of vo: how far a stripe stands out, at least [default: 3]
    #[arg(long, value_name = "X")]
    snr: Option<f64>,
    /// Of vo: bins of the median against large stripes [default: 51]
    #[arg(long, value_name = "BINS")]
    large_window: Option<usize>,
    /// Of vo and sorting: bins of the median against small stripes [default: 21]
    #[arg(long, value_name = "BINS")]
    small_window: Option<usize>,
    /// Of regularised: the smaller, the smoother [default: 5e-4]
    #[arg(id = "stripe_alpha", long = "stripe-alpha", value_name = "ALPHA")]
    alpha: Option<f64>,
    /// Of wavelet-fourier: how many frequencies along views are damped [default: 1]
    #[arg(id = "stripe_sigma", long = "stripe-sigma", value_name = "SIGMA")]
    sigma: Option<f64>,
}

impl Stripes {
    /// Each way, and those that have a strength at another one as well; with the options that say it.
    pub fn trials() -> Vec<(String, Self)> {
        let of = |method: Method| Self { method, ..Self::default() };
        let others = [
            Self { snr: Some(1.5), ..of(Method::Vo) },
            Self { alpha: Some(5e-3), ..of(Method::Regularised) },
            Self { sigma: Some(3.0), ..of(Method::WaveletFourier) },
        ];
        let first = [
            Method::Off,
            Method::Significant,
            Method::Vo,
            Method::Sorting,
            Method::Regularised,
            Method::WaveletFourier,
        ];
        let mut all: Vec<_> = first.map(of).into_iter().chain(others).collect();
        all.sort_by_key(|trial| first.iter().position(|method| *method == trial.method));
        all.into_iter().map(|trial| (trial.options(), trial)).collect()
    }

    /// As on the command line.
    fn options(&self) -> String {
        let name = self.method.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default();
        let numbers = [("snr", self.snr), ("stripe-alpha", self.alpha), ("stripe-sigma", self.sigma)];
        let given = numbers.iter().filter_map(|(option, number)| Some(format!(" --{option} {}", (*number)?)));
        given.fold(format!("--stripes {name}"), |text, more| text + &more)
    }

    /// For the library; None where they stay. Refuses parameters of other methods.
    pub fn wanted(&self) -> Result<Option<ct::Stripes>> {
        let (windows, vo) = (matches!(self.method, Method::Vo | Method::Sorting), self.method == Method::Vo);
        let given = [
            ("snr", self.snr.is_some(), vo, "vo"),
            ("large-window", self.large_window.is_some(), vo, "vo"),
            ("small-window", self.small_window.is_some(), windows, "vo and sorting"),
            ("stripe-alpha", self.alpha.is_some(), self.method == Method::Regularised, "regularised"),
            ("stripe-sigma", self.sigma.is_some(), self.method == Method::WaveletFourier, "wavelet-fourier"),
        ];
        if let Some((name, _, _, of)) = given.iter().find(|(_, given, fits, _)| *given && !fits) {
            bail!("--{name} belongs to --stripes {of}");
        }
        let small = self.small_window.unwrap_or(0);
        Ok(match self.method {
            Method::Off => None,
            Method::Significant => Some(ct::Stripes::Significant),
            Method::Vo => {
                let (snr, large) = (self.snr.unwrap_or(3.0), self.large_window.unwrap_or(0));
                Some(ct::Stripes::Vo(Vo { snr, large, small, dropped: 0.1 }))
            }
            Method::Sorting => Some(ct::Stripes::Sorting(small)),
            Method::Regularised => Some(ct::Stripes::Regularised(self.alpha.unwrap_or(5e-4))),
            Method::WaveletFourier => {
                let sigma = self.sigma.unwrap_or(1.0);
                Some(ct::Stripes::Wavelet(Wavelet { levels: 0, sigma, order: 9 }))
            }
        })
    }
}
