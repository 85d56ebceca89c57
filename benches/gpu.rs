//! Speed on GPUs: every back projector by itself, and whole reconstructions from host memory to host memory.
//!
//! Prints a table for `benches/results`. Arguments: `kernels [size]`, `pipeline [size] [slices] [gpus]`; all of it without.

use isocenter::context::{Compute, Context, ContextOptions, HostMemory};
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Precision};
use isocenter::tensor::{DType, View, ViewMut};
use std::error::Error;
use std::f64::consts::PI;
use std::sync::Arc;
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let number = |k: usize, default: usize| args.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let what = args.first().map_or("all", String::as_str);
    let gpus = number(3, 1);
    let options = || ContextOptions { compute: Compute::Gpus((0..gpus).collect()), ..ContextOptions::default() };
    let context = match Context::new(options()) {
        Ok(context) => Arc::new(context),
        Err(e) => {
            println!("no GPU figures: {}", e.message);
            return Ok(());
        }
    };
    for gpu in context.gpus() {
        println!("{gpu:?}, compute capability {:?}", gpu.capability());
    }
    if what != "pipeline" {
        kernels(&context, number(1, 2048))?;
    }
    if what == "all" || what == "pipeline" {
        pipeline(&context, number(1, 2048), number(2, 512))?;
    }
    Ok(())
}

fn geometry(size: usize, rows: usize) -> Geometry {
    Geometry::new((0..size).map(|v| PI * v as f64 / size as f64).collect(), size).with_rows(rows)
}

/// Giga-updates a second of every back projector, on random data, by events: median of five.
fn kernels(context: &Arc<Context>, size: usize) -> Outcome {
    println!(
        "\n{size}^2 pixels, {size} views, GU/s\n{:<24} {:>7} {:>10} {:>10} {:>12}",
        "kernel", "slices", "linear", "nearest", "oversampled"
    );
    let mut table: Vec<(String, usize, [Option<f64>; 3])> = Vec::new();
    let kinds = [Interpolation::Linear, Interpolation::Nearest, Interpolation::Oversampled];
    for (k, interpolation) in kinds.into_iter().enumerate() {
        let mut ct = Ct::new(context.clone());
        ct.set_geometry(geometry(size, 64))?;
        ct.set_options(Options { interpolation, ..Options::default() })?;
        for m in ct.tune()? {
            match table.iter_mut().find(|row| row.0 == m.name) {
                Some(row) => row.2[k] = Some(m.rate),
                None => {
                    let mut rates = [None; 3];
                    rates[k] = Some(m.rate);
                    table.push((m.name, m.slices, rates));
                }
            }
        }
    }
    for (name, slices, rates) in table {
        let [a, b, c] = rates.map(|r| r.map_or("-".into(), |r| format!("{r:.0}")));
        println!("{name:<24} {slices:>7} {a:>10} {b:>10} {c:>12}");
    }
    Ok(())
}

/// Seconds from host memory to host memory, filter included.
fn pipeline(context: &Arc<Context>, size: usize, slices: usize) -> Outcome {
    println!(
        "\n{slices} slices of {size}^2 from {size} views, host to host\n{:<34} {:>9} {:>10}",
        "case", "seconds", "GU/s"
    );
    let g = geometry(size, slices);
    let pixels = size * size * slices;
    let volume = context.host_memory(4 * pixels)?;
    let raw = context.host_memory(4 * pixels)?;
    fill(&raw, pixels);
    for (name, dtype, precision) in [
        ("pinned f32, half data", DType::F32, Precision::Half),
        ("pinned f32, f32 grade", DType::F32, Precision::Single),
        ("pinned u16 frames, half data", DType::U16, Precision::Half),
    ] {
        let mut ct = Ct::new(context.clone());
        ct.set_geometry(g.clone())?;
        ct.set_options(Options { precision, ..Options::default() })?;
        if dtype == DType::U16 {
            let flats = vec![60000u16; slices * size];
            ct.set_flat_field(Some(View::from_u16(&flats, [1, slices, size])?), None)?;
        }
        let mut times = Vec::new();
        for run in 0..4 {
            // SAFETY: both arrays hold as many elements as the shapes say, and nothing else uses them meanwhile.
            let (p, v) = unsafe {
                let s = g.projection_shape();
                let strides = [(s[1] * s[2]) as isize, s[2] as isize, 1];
                let v = g.volume_shape();
                let out = [(v[1] * v[2]) as isize, v[2] as isize, 1];
                (
                    View::from_raw(raw.data(), dtype, s, strides, None),
                    ViewMut::from_raw(volume.data().cast(), v, out, None),
                )
            };
            let start = Instant::now();
            ct.reconstruct(p, v)?;
            if run > 0 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
        times.sort_by(f64::total_cmp);
        let updates = pixels as f64 * size as f64;
        println!("{name:<34} {:>9.3} {:>10.0}", times[1], updates / times[1] / 1e9);
    }
    Ok(())
}

/// Numbers that are plausible as projections, and as counts.
fn fill(memory: &HostMemory, floats: usize) {
    // SAFETY: the memory holds as many floats, and is this function's alone.
    let values = unsafe { std::slice::from_raw_parts_mut(memory.data().cast::<f32>(), floats) };
    let mut state = 1u32;
    for v in values {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *v = (state >> 9) as f32 / (1u32 << 23) as f32;
    }
}
