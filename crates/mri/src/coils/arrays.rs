//! Between the caller's arrays, wherever they are, and contiguous values on the host.

use crate::gpu::array::{read_host, write_host};
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::Context;
use isocenter_base::cpu::buffer::{Buffer, collected};
use isocenter_base::error::Result;
use rustfft::num_complex::Complex;

/// Values of an array; what is not finite is an error or becomes 0, as the context says.
pub(super) fn fetch<const N: usize>(context: &Context, from: &Array<N>, name: &str) -> Result<Buffer<Complex<f64>>> {
    let (policy, mut replaced) = (context.nan_policy(), 0);
    let values = match context.gpus().first().filter(|_| from.layout().gpu.is_some()) {
        Some(gpu) => read_host(gpu, 0, from, name, policy, &mut replaced),
        None => context.install(|| host::read(from, name, policy, &mut replaced)),
    }?;
    context.tell_of_replaced(replaced, values.len());
    Ok(values)
}

/// Writes values in the array's order.
pub(super) fn store<const N: usize>(context: &Context, values: &[Complex<f64>], mut to: ArrayMut<N>) -> Result<()> {
    match context.gpus().first().filter(|_| to.layout().gpu.is_some()) {
        Some(gpu) => write_host(gpu, 0, values, &mut to),
        None => {
            context.install(|| host::write(values, &mut to));
            Ok(())
        }
    }
}

/// Writes values `[z][y][set][coil][x]` into an array of that order.
pub(super) fn store_rows(context: &Context, values: &[Complex<f32>], mut to: ArrayMut<5>) -> Result<()> {
    if to.layout().gpu.is_none() {
        context.install(|| host::write(values, &mut to));
        return Ok(());
    }
    // As many dimensions as the kernel has, and memory for one plane.
    let planes = to.shape()[0];
    for (z, plane) in values.chunks_exact(values.len() / planes).enumerate() {
        let plane = collected(plane.iter().map(|v| Complex::new(v.re.into(), v.im.into())))?;
        store(context, &plane, to.part(z))?;
    }
    Ok(())
}
