//! Coil compression by principal components: M. Buehrer, K. P. Pruessmann, P. Boesiger, S. Kozerke, "Array compression for MRI with large
//! coil arrays", Magn. Reson. Med. 57:1131-1139, 2007; F. Huang, S. Vijayakumar, Y. Li, S. Hertel, G. R. Duensing, "A software channel
//! compression technique for faster reconstruction with many channels", Magn. Reson. Imaging 26:133-141, 2008.

use super::gram::{gram, virtual_coils};
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;

/// The strongest `kept` virtual coils of data `[coil][sample]`, `[kept][coil]` with orthonormal rows, and the part of the data's energy
/// that they have.
pub(crate) fn principal_coils(data: &[Complex<f64>], coils: usize, kept: usize) -> Result<(Vec<Complex<f64>>, f64)> {
    let gram = gram(data, coils)?;
    let total: f64 = (0..coils).map(|c| gram[c * coils + c].re).sum();
    let mut found = virtual_coils(&gram, coils)?;
    found.vectors.truncate(kept * coils);
    let energy = found.values[..kept].iter().sum::<f64>() / total;
    Ok((found.vectors, energy.clamp(0.0, 1.0)))
}
