//! Monte Carlo of the events of a time-of-flight scan, and the counts that are expected of it.
//!
//! A decay has a uniform place in the source's activity and a direction that is isotropic within the scanner's tilts. Its line
//! is moved by the radial and axial blur; it counts if the moved line ends on the detectors and the photons survive the
//! attenuation along it. What an event measures is blurred along the line by the time of flight. Attenuation and acceptance
//! belong to the measured line: this is the model `A_v * (H_v f)` of the reconstruction, in which they multiply what the
//! resolution has blurred. Photons that are scattered fly one by one.

mod choice;
mod draws;
mod envelope;
mod expectation;
mod medium;
mod sampler;
mod scan;
mod scattering;
mod simulate;
mod source;
#[cfg(test)]
mod tests;

pub use scan::{Background, Resolution, Scan, Scanner, Tally};
pub use source::Source;
