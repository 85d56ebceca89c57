//! Phase retrieval.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use isocenter::ct::{self, PhaseMethod, PhaseSetup};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Paganin 2002: one material, any contrast, near field
    Paganin,
    /// Contrast transfer function: weak contrast, longer distances
    Ctf,
}

#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Phase {
    /// Retrieve phase from transmissions; with --energy, --distance and --delta-beta (or --phase-length), and --pixel where the file does
    /// not tell
    #[arg(id = "phase", long, value_name = "METHOD", value_enum, num_args = 0..=1, default_missing_value = "paganin")]
    pub method: Option<Method>,
    /// Of the photons, in keV
    #[arg(id = "energy", long, value_name = "KEV", requires = "phase")]
    energy_kev: Option<f64>,
    /// From sample to detector, in mm
    #[arg(id = "distance", long, value_name = "MM", requires = "phase")]
    distance_mm: Option<f64>,
    /// Decrement of the refractive index over its imaginary part
    #[arg(id = "delta_beta", long = "delta-beta", value_name = "RATIO", requires = "phase")]
    delta_beta: Option<f64>,
    /// Of paganin, in place of these three: its length in um, sqrt(pi wavelength distance ratio), PyHST's PAGANIN_Lmicron
    #[arg(id = "phase_length", long = "phase-length", value_name = "UM", requires = "phase", conflicts_with_all = ["energy", "distance", "delta_beta"])]
    length_um: Option<f64>,
    /// Of ctf, where its transfer function is small [default: 0.01]
    #[arg(id = "phase_alpha", long = "phase-alpha", value_name = "ALPHA", requires = "phase")]
    alpha: Option<f64>,
    /// An unsharp mask: standard deviation in bins, and amount
    #[arg(id = "unsharp", long, value_names = ["SIGMA", "AMOUNT"], num_args = 2, requires = "phase")]
    unsharp: Option<Vec<f64>>,
}

impl Phase {
    /// For the library, with the side of a pixel in millimetres; None where none is retrieved.
    pub fn wanted(&self, pixel: Option<f64>) -> Result<Option<ct::Phase>> {
        let method = match self.method {
            None => return Ok(None),
            Some(Method::Paganin) => PhaseMethod::Paganin,
            Some(Method::Ctf) => PhaseMethod::Ctf,
        };
        let Some(pixel) = pixel else { bail!("--phase needs --pixel: the scan does not tell the side of a pixel") };
        let (fresnel, delta_beta) = match (self.energy_kev, self.distance_mm, self.delta_beta, self.length_um) {
            (Some(energy_kev), Some(distance_mm), Some(delta_beta), None) => {
                (PhaseSetup { energy_kev, distance_mm, pixel_um: 1e3 * pixel }.fresnel()?, delta_beta)
            }
            // Only the product of both counts.
            (None, None, None, Some(length_um)) if method == PhaseMethod::Paganin => {
                ((length_um / (1e3 * pixel)).powi(2) / PI, 1.0)
            }
            (None, None, None, Some(_)) => bail!("--phase-length belongs to --phase paganin"),
            _ => bail!("--phase needs --energy, --distance and --delta-beta, or --phase-length"),
        };
        let unsharp = match self.unsharp.as_deref() {
            None => [0.0; 2],
            Some(&[sigma, amount]) => [sigma, amount],
            Some(other) => bail!("unsharp has {} numbers; it has two, sigma and amount", other.len()),
        };
        if self.alpha.is_some() && method != PhaseMethod::Ctf {
            bail!("--phase-alpha belongs to --phase ctf");
        }
        let alpha = self.alpha.unwrap_or(0.01);
        Ok(Some(ct::Phase { method, fresnel, delta_beta, alpha, unsharp }))
    }
}
