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
