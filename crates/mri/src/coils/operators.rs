//! What is asked: arrays in, arrays out.

use super::arrays::{fetch, store};
use super::fourier::transform_rows;
use super::maps::{Maps, Method, Problem};
use super::{apply as products, compression as principal, geometric, whitening as noise_matrix};
use crate::MAX_SIDE;
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::context::{Context, Stage};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::Device;
use rustfft::FftDirection;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// Maximum number of coils.
pub const MAX_COILS: usize = 1024;
/// Maximum number of elements in ESPIRiT's blocks, all coils' together: a dense eigenproblem of that size.
const MAX_BLOCK: usize = 1 << 13;

/// GPUs whose memory arrays may be in.
pub fn gpus(context: &Context) -> &[Arc<Device>] {
    &context.gpus()[..context.gpus().len().min(1)]
}

fn check<const N: usize>(context: &Context, array: &Layout<N>, name: &str, shape: [usize; N]) -> Result<()> {
    array.check(name, shape, DType::COMPLEX, gpus(context))
}

fn check_coils(coils: usize, name: &str) -> Result<()> {
    if !(1..=MAX_COILS).contains(&coils) {
        fail!(OutOfRange, "{name} has {coils} coils; it must have 1 to {MAX_COILS}");
    }
    Ok(())
}

/// Numbers in an array.
fn numbers(sizes: &[usize]) -> Result<usize> {
    match sizes.iter().try_fold(size_of::<Complex<f64>>(), |a, n| a.checked_mul(*n)) {
        Some(bytes) => Ok(bytes / size_of::<Complex<f64>>()),
        None => fail!(SizeOverflow, "{sizes:?} numbers are more than memory can hold"),
    }
}

/// Divides values by the largest part of one, which it returns: their squares then neither overflow nor vanish.
fn normalise(values: &mut [Complex<f64>], name: &str) -> Result<f64> {
    let largest = values.iter().map(|v| v.re.abs().max(v.im.abs())).fold(0.0, f64::max);
    if largest == 0.0 {
        fail!(OutOfRange, "{name} is 0 in all of its {} values; at least one must differ", values.len());
    }
    values.iter_mut().for_each(|v| *v /= largest);
    Ok(largest)
}

/// An error if so many bytes are more than the context allows.
fn check_memory(context: &Context, bytes: f64, what: &str) -> Result<()> {
    let cap = context.memory_cap(0);
    if bytes > cap as f64 {
        fail!(
            MemoryCap,
            "{what} takes about {:.0} MiB of memory; {:.0} MiB is what the context may use: give it more, or compress the coils",
            bytes / f64::from(1 << 20),
            cap as f64 / f64::from(1 << 20)
        );
    }
    Ok(())
}

/// Whitening matrix `[coil][coil]` of noise `[coil][sample]`.
pub fn whitening(context: &Context, noise: Array<2>, matrix: ArrayMut<2>) -> Result<()> {
    let [coils, samples] = noise.shape();
    check_coils(coils, "noise")?;
    check(context, noise.layout(), "noise", [coils, samples])?;
    check(context, matrix.layout(), "matrix", [coils, coils])?;
    let mut values = fetch(context, &noise, "noise")?;
    let largest = normalise(&mut values, "noise")?;
    let mut found = context.install(|| noise_matrix::whitening_matrix(&values, coils))?;
    found.iter_mut().for_each(|v| *v /= largest);
    store(context, &found, matrix)
}

fn check_kept(matrix: usize, coils: usize) -> Result<()> {
    if matrix > coils {
        fail!(OutOfRange, "matrix has {matrix} virtual coils, data {coils} coils; there must be at most as many");
    }
    Ok(())
}

/// Compression matrix `[kept][coil]` of data `[coil][sample]`, and the part of the energy that it keeps.
pub fn compression(context: &Context, data: Array<2>, matrix: ArrayMut<2>) -> Result<f64> {
    let ([coils, samples], [kept, _]) = (data.shape(), matrix.shape());
    check_coils(coils, "data")?;
    check(context, data.layout(), "data", [coils, samples])?;
    check_kept(kept, coils)?;
    check(context, matrix.layout(), "matrix", [kept, coils])?;
    let mut values = fetch(context, &data, "data")?;
    normalise(&mut values, "data")?;
    let (found, energy) = context.install(|| principal::principal_coils(&values, coils, kept))?;
    store(context, &found, matrix)?;
    Ok(energy)
}

/// Compression matrices `[readout][kept][coil]` of data `[coil][line][readout]`, and the part of the energy that they keep.
pub fn geometric_compression(context: &Context, data: Array<3>, matrix: ArrayMut<3>) -> Result<f64> {
    let ([coils, lines, readout], [_, kept, _]) = (data.shape(), matrix.shape());
    check_coils(coils, "data")?;
    check(context, data.layout(), "data", [coils, lines, readout])?;
    check_kept(kept, coils)?;
    check(context, matrix.layout(), "matrix", [readout, kept, coils])?;
    numbers(&[readout, kept, coils])?;
    let mut values = fetch(context, &data, "data")?;
    normalise(&mut values, "data")?;
    let (found, energy) = context.run(|job| {
        job.enter(Stage::Coils);
        transform_rows(&mut values, readout, FftDirection::Inverse)?;
        job.check()?;
        geometric::matrices(&values, coils, readout, kept)
    })?;
    store(context, &found, matrix)?;
    Ok(energy)
}

/// out `[row][sample]` = matrix `[row][coil]` data `[coil][sample]`.
pub fn apply(context: &Context, matrix: Array<2>, data: Array<2>, out: ArrayMut<2>) -> Result<()> {
    let ([coils, samples], [rows, _]) = (data.shape(), matrix.shape());
    check_coils(coils, "data")?;
    check_coils(rows, "matrix")?;
    check(context, data.layout(), "data", [coils, samples])?;
    check(context, matrix.layout(), "matrix", [rows, coils])?;
    check(context, out.layout(), "out", [rows, samples])?;
    let (factors, values) = (fetch(context, &matrix, "matrix")?, fetch(context, &data, "data")?);
    let mut result = Buffer::zeroed(numbers(&[rows, samples])?)?;
    context.install(|| products::multiply(&factors, coils, &values, &mut result));
    store(context, &result, out)
}

/// The same by a matrix for each position along the readout: out `[row][line][readout]`, matrix `[readout][row][coil]`, data
/// `[coil][line][readout]`, both k-space.
pub fn apply_geometric(context: &Context, matrix: Array<3>, data: Array<3>, out: ArrayMut<3>) -> Result<()> {
    let ([coils, lines, readout], [_, rows, _]) = (data.shape(), matrix.shape());
    check_coils(coils, "data")?;
    check_coils(rows, "matrix")?;
    check(context, data.layout(), "data", [coils, lines, readout])?;
    check(context, matrix.layout(), "matrix", [readout, rows, coils])?;
    check(context, out.layout(), "out", [rows, lines, readout])?;
    let (factors, mut values) = (fetch(context, &matrix, "matrix")?, fetch(context, &data, "data")?);
    let mut result = Buffer::zeroed(numbers(&[rows, lines, readout])?)?;
    context.run(|job| {
        job.enter(Stage::Coils);
        transform_rows(&mut values, readout, FftDirection::Inverse)?;
        job.check()?;
        products::multiply_rows(&factors, [rows, coils, readout], &values, &mut result);
        job.check()?;
        transform_rows(&mut result, readout, FftDirection::Forward)
    })?;
    store(context, &result, out)
}

/// Sensitivities `[set][coil][z][y][x]` and eigenvalues `[set][z][y][x]` of calibration data `[coil][z][y][x]`.
pub fn sensitivities(
    context: &Context,
    maps: &Maps,
    calibration: Array<4>,
    to: ArrayMut<5>,
    eigenvalues: Option<ArrayMut<4>>,
) -> Result<()> {
    let ([coils, cz, cy, cx], [sets, _, nz, ny, nx]) = (calibration.shape(), to.shape());
    let (shape, grid) = ([cz, cy, cx], [nz, ny, nx]);
    check_coils(coils, "calibration")?;
    check(context, calibration.layout(), "calibration", [coils, cz, cy, cx])?;
    if sets > coils {
        fail!(OutOfRange, "maps has {sets} sets of maps of {coils} coils; there must be at most as many");
    }
    for (axis, (small, large)) in ["z", "y", "x"].iter().zip(shape.iter().zip(grid)) {
        if large > MAX_SIDE {
            fail!(OutOfRange, "maps has {large} voxels along {axis}; it must have 1 to {MAX_SIDE}");
        }
        if *small > large {
            fail!(
                TensorShape,
                "calibration has {small} elements along {axis}, maps {large}; there must be at most as many: cut its middle out"
            );
        }
    }
    check(context, to.layout(), "maps", [sets, coils, nz, ny, nx])?;
    if let Some(values) = &eigenvalues {
        values.layout().check("eigenvalues", [sets, nz, ny, nx], DType::REAL, gpus(context))?;
    }
    let maps = checked(maps, coils, shape)?;
    let output = 1.5 * numbers(&[sets, coils, nz, ny, nx])? as f64 * size_of::<Complex<f32>>() as f64;
    check_memory(context, output + working(&maps, coils, shape), "this")?;

    let mut values = fetch(context, &calibration, "calibration")?;
    normalise(&mut values, "calibration")?;
    let problem = Problem { data: &values, coils, shape, grid, sets };
    context.run(|job| {
        job.enter(Stage::Coils);
        problem.solve(&maps, context, job, to, eigenvalues)
    })
}

/// Settings with their defaults for this calibration, or what is wrong with them.
fn checked(maps: &Maps, coils: usize, shape: [usize; 3]) -> Result<Maps> {
    let Maps { method, mut kernel, threshold, crop, window } = *maps;
    for (name, v) in [("threshold", threshold), ("crop", crop)] {
        if !v.is_finite() {
            fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
        }
    }
    if !(0.0..1.0).contains(&crop) {
        fail!(OutOfRange, "options.crop is {crop}; it must be below 1, or negative for all voxels");
    }
    if method == Method::Adaptive {
        if window.is_multiple_of(2) || window > MAX_SIDE {
            fail!(OutOfRange, "options.window is {window}; it must be odd, 1 to {}", MAX_SIDE - 1);
        }
        return Ok(*maps);
    }
    if !(threshold > 0.0 && threshold < 1.0) {
        fail!(OutOfRange, "options.threshold is {threshold}; it must be above 0 and below 1");
    }
    for (axis, (k, n)) in ["z", "y", "x"].iter().zip(kernel.iter_mut().zip(shape)) {
        let default = *k == 0;
        if default {
            *k = if n == 1 { 1 } else { 6 };
        }
        if *k > n {
            let text = if default { " (the default)" } else { "" };
            fail!(
                OutOfRange,
                "options.kernel_{axis} is {k}{text}, calibration has {n} elements along {axis}; the kernel must have at most as many"
            );
        }
    }
    let block = numbers(&[coils, kernel[0], kernel[1], kernel[2]])?;
    if block > MAX_BLOCK {
        fail!(
            OutOfRange,
            "{coils} coils and a kernel of {kernel:?} make blocks of {block}; they must have at most {MAX_BLOCK}: compress the coils, or take a smaller kernel"
        );
    }
    Ok(Maps { kernel, ..*maps })
}

/// Bytes meanwhile.
fn working(maps: &Maps, coils: usize, shape: [usize; 3]) -> f64 {
    let product = |list: [usize; 3]| list.iter().map(|n| *n as f64).product::<f64>();
    let (pairs, number) = (0.5 * (coils * (coils + 1)) as f64, size_of::<Complex<f64>>() as f64);
    let data = 2.0 * coils as f64 * product(shape);
    number
        * match maps.method {
            // Most is there when vectors are taken back: the reflections twice, the vectors, and half as much for those of the tridiagonal
            // matrix. And the field's coefficients.
            Method::Espirit => {
                let block = coils as f64 * product(maps.kernel);
                data + 4.0 * block * block + pairs * product(maps.kernel.map(|k| 2 * k - 1))
            }
            Method::Adaptive => {
                let padded = product(shape.map(|n| (2 * n - 1).next_power_of_two()));
                data + (coils + 1) as f64 * padded + pairs * product(shape.map(|n| 2 * n - 1))
            }
        }
}
