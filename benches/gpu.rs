//! Speed on GPUs: every back projector by itself, whole reconstructions from host memory to host memory, and coil sensitivities.
//!
//! Prints tables for `benches/results`. Arguments: `kernels [size]`, `sizes`, `pipeline [size] [slices]`, `coils [size] [planes]`; all of it without.

use isocenter::array::{Array, ArrayMut, DType};
use isocenter::context::{Compute, Context, ContextOptions, HostMemory};
use isocenter::ct::{Ct, Geometry, Interpolation, Options, Precision};
use isocenter::gpu::device_count;
use isocenter::mri::coils::{Maps, Method, sensitivities};
use rustfft::num_complex::Complex;
use std::error::Error;
use std::f64::consts::PI;
use std::sync::Arc;
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn main() -> Outcome {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let number = |k: usize, default: usize| args.get(k).and_then(|a| a.parse().ok()).unwrap_or(default);
    let what = args.first().map_or("all", String::as_str);
    let count = match device_count() {
        Ok(count) => count,
        Err(e) => {
            println!("no GPU figures: {}", e.message);
            return Ok(());
        }
    };
    let first = context(1)?;
    for gpu in first.gpus() {
        println!("{count} x {}, compute capability {:?}", gpu.name(), gpu.capability());
    }
    if matches!(what, "all" | "kernels") {
        kernels(&first, number(1, 2048))?;
    }
    if matches!(what, "all" | "sizes") {
        sizes(&first)?;
    }
    if matches!(what, "all" | "pipeline") {
        pipeline(count, number(1, 2048), number(2, 512))?;
    }
    if matches!(what, "all" | "coils") {
        coils(&first, number(1, 256), number(2, 64))?;
    }
    Ok(())
}

/// A context on the first GPUs.
fn context(gpus: usize) -> Outcome<Arc<Context>> {
    let compute = Compute::Gpus((0..gpus).collect());
    Ok(Arc::new(Context::new(ContextOptions { compute, ..ContextOptions::default() })?))
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

/// Linear interpolation over slices of many sizes, as many views as pixels on a side.
fn sizes(context: &Arc<Context>) -> Outcome {
    const SIZES: [usize; 9] = [256, 512, 1000, 1024, 1999, 2048, 2049, 3000, 4096];
    let mut names: Vec<String> = Vec::new();
    let mut table: Vec<Vec<String>> = Vec::new();
    for size in SIZES {
        let mut ct = Ct::new(context.clone());
        ct.set_geometry(geometry(size, 64))?;
        for m in ct.tune()? {
            let row = names.iter().position(|n| *n == m.name).unwrap_or_else(|| {
                names.push(m.name.clone());
                table.push(Vec::new());
                names.len() - 1
            });
            table[row].push(format!("{:.0}", m.rate));
        }
    }
    println!(
        "\nsize^2 pixels, size views, linear, GU/s\n{:<24}{}",
        "kernel",
        SIZES.map(|n| format!("{n:>8}")).concat()
    );
    for (name, rates) in names.iter().zip(table) {
        println!("{name:<24}{}", rates.iter().map(|r| format!("{r:>8}")).collect::<String>());
    }
    Ok(())
}

/// Seconds from host memory to host memory, filter included, with 1, 2, 4 ... GPUs.
fn pipeline(count: usize, size: usize, slices: usize) -> Outcome {
    println!(
        "\n{slices} slices of {size}^2 from {size} views, host to host\n{:<30} {:>5} {:>9} {:>10}",
        "case", "GPUs", "seconds", "GU/s"
    );
    let g = geometry(size, slices);
    let pixels = size * size * slices;
    let first = context(1)?;
    let volume = first.host_memory(4 * pixels)?;
    let raw = first.host_memory(4 * pixels)?;
    fill(&raw, pixels);
    let (mut pageable_in, mut pageable_out) = (Vec::new(), Vec::new());
    for (name, dtype, precision, pinned) in [
        ("pinned f32, half data", DType::F32, Precision::Half, true),
        ("pinned f32, f32 grade", DType::F32, Precision::Single, true),
        ("pinned u16 frames, half data", DType::U16, Precision::Half, true),
        ("pageable f32, half data", DType::F32, Precision::Half, false),
    ] {
        let (mut from, mut to) = (raw.data(), volume.data());
        if !pinned && pixels > 1 << 31 {
            continue;
        }
        if !pinned {
            pageable_in.resize(pixels, 0.5f32);
            pageable_out.resize(pixels, 0.0f32);
            (from, to) = (pageable_in.as_mut_ptr().cast(), pageable_out.as_mut_ptr().cast());
        }
        for gpus in [1, 2, 4, 8].into_iter().take_while(|n| *n <= count) {
            let mut ct = Ct::new(context(gpus)?);
            ct.set_geometry(g.clone())?;
            ct.set_options(Options { precision, ..Options::default() })?;
            if dtype == DType::U16 {
                let flats = vec![60000u16; slices * size];
                ct.set_flat_field(Some(Array::of(&flats, [1, slices, size])?), None)?;
            }
            let mut times = Vec::new();
            for run in 0..4 {
                let ([a, b, c], [d, e, f]) = (g.projection_shape(), g.volume_shape());
                let (s, t) = ([(b * c) as isize, c as isize, 1], [(e * f) as isize, f as isize, 1]);
                // SAFETY: both arrays hold as many elements as the shapes say, and nothing else uses them meanwhile.
                let (p, v) = unsafe {
                    let p = Array::from_raw(from, dtype, [a, b, c], s, None);
                    (p, ArrayMut::from_raw(to.cast(), DType::F32, [d, e, f], t, None))
                };
                let start = Instant::now();
                ct.reconstruct(p, v)?;
                if run > 0 {
                    times.push(start.elapsed().as_secs_f64());
                }
            }
            times.sort_by(f64::total_cmp);
            let updates = pixels as f64 * size as f64;
            println!("{name:<30} {gpus:>5} {:>9.3} {:>10.0}", times[1], updates / times[1] / 1e9);
        }
    }
    Ok(())
}

/// Numbers that are plausible as projections, and as counts.
fn fill(memory: &HostMemory, floats: usize) {
    // SAFETY: the memory holds as many floats, and is this function's alone.
    let values = unsafe { std::slice::from_raw_parts_mut(memory.data().cast::<f32>(), floats) };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for (k, part) in values.chunks_mut(floats.div_ceil(threads)).enumerate() {
            scope.spawn(move || {
                let mut state = k as u32 + 1;
                for v in part {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    *v = (state >> 9) as f32 / (1u32 << 23) as f32;
                }
            });
        }
    });
}

/// Sensitivities of 8 coils from 24^3 elements of k-space, host memory to host memory, best of three. A kernel of 2^3 leaves little but the
/// voxels.
fn coils(gpu: &Context, size: usize, planes: usize) -> Outcome {
    const COILS: usize = 8;
    const WIDTH: usize = 24;
    // Waves of slowly varying coils, whose energy falls as that of an object's edges.
    let value = |k: usize| {
        let (coil, at) = (k / WIDTH.pow(3), k % WIDTH.pow(3));
        let [z, y, x] = [at / WIDTH.pow(2), at / WIDTH % WIDTH, at % WIDTH].map(|j| j as f64 - (WIDTH / 2) as f64);
        let terms = (0..8).map(|t| {
            let [a, b, c] = [z + f64::from(t / 4), y + f64::from(t / 2 % 2), x + f64::from(t % 2)];
            let angle = 7.0 * (a * a + 1.7 * b * b + 2.3 * c * c + a * b * c).sin()
                + 1.9 * (coil * 8) as f64
                + f64::from(t * t) * coil as f64;
            Complex::cis(angle) / (1.0 + a * a + b * b + c * c)
        });
        terms.sum::<Complex<f64>>() + 1e-3 * Complex::cis((k * k % 10007) as f64)
    };
    let data: Vec<Complex<f64>> = (0..COILS * WIDTH.pow(3)).map(value).collect();
    let data: Vec<Complex<f32>> = data.iter().map(|v| Complex::new(v.re as f32, v.im as f32)).collect();
    let cpu = Context::new(ContextOptions { compute: Compute::Cpu, ..ContextOptions::default() })?;
    let mut maps = vec![Complex::<f32>::default(); COILS * planes * size * size];
    println!(
        "\nsensitivities of {COILS} coils, {planes} x {size} x {size} voxels, {} threads, seconds\n{:<28} {:>8} {:>10}",
        cpu.threads(),
        "",
        "GPU",
        "processor"
    );
    for (name, asked) in [
        ("ESPIRiT, kernel 6^3", Maps::default()),
        ("ESPIRiT, kernel 2^3", Maps { kernel: [2; 3], ..Maps::default() }),
        ("adaptive combination", Maps { method: Method::Adaptive, crop: 0.0, ..Maps::default() }),
    ] {
        let mut times = [f64::INFINITY; 2];
        for (time, context) in times.iter_mut().zip([gpu, &cpu]) {
            for _ in 0..3 {
                let from = Array::of(&data, [COILS, WIDTH, WIDTH, WIDTH])?;
                let to = ArrayMut::of(&mut maps, [1, COILS, planes, size, size])?;
                let start = Instant::now();
                sensitivities(context, &asked, from, to, None)?;
                *time = time.min(start.elapsed().as_secs_f64());
            }
        }
        println!("{name:<28} {:>8.3} {:>10.3}", times[0], times[1]);
    }
    Ok(())
}
