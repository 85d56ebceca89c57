//! Launches `kernels/ct/hybrid.cu`.

use super::alu::{self, AluArguments};
use super::case::{Arguments, Case};

use super::format::Format;
use super::state::State;
use super::texture;
use super::textures::Textures;
use crate::options::Sampling;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Launch, Stream, mirrored};

const SIDE: usize = 64;
const MAX_TILES: usize = 1 << 24;
/// Words of the counters by which blocks find their tiles, and shared memory that texture blocks need.
const COUNTERS: usize = 2 + 1024;
const MIN_SHARED: usize = 4096;

/// Mirrors `HybridBackproject`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct HybridArguments {
    a: AluArguments,
    textures: u64,
    counters: u64,
    texture_parts: i32,
    parts: i32,
}
mirrored!(HybridArguments, 104);

fn tiles(case: &Case, format: Format, slices: usize) -> usize {
    let g = case.geometry;
    g.nx.div_ceil(SIDE) * g.ny.div_ceil(SIDE) * slices.div_ceil(format.lanes)
}

pub(super) fn refusal(case: &Case, format: Format) -> Option<String> {
    if tiles(case, format, 1) > MAX_TILES {
        return Some(format!("hybrid kernels take at most {MAX_TILES} tiles of {SIDE} x {SIDE} pixels"));
    }
    let fits = alu::fit_side(case, format, SIDE).is_some();
    texture::refusal(case, format)
        .or_else(|| (!fits).then(|| "pixels are too wide for hybrid kernels' shared memory".to_string()))
}

/// Texture tiles in how many, as measured on an H200: where they do not pay, one in eight, for GPUs of another balance.
fn share(format: Format, linear: bool, tiles: usize) -> (i32, i32) {
    match (linear, format.lanes) {
        (true, 1) if tiles >= 4096 => (1, 5),
        (true, 1) if tiles >= 2048 => (1, 6),
        (true, 4) if tiles >= 4096 => (3, 7),
        (true, 4) if tiles >= 2048 => (2, 5),
        (true, 4) => (1, 3),
        _ => (1, 8),
    }
}

/// `exact`: the texture unit fetches two bins, and the weights are f32.
pub(super) fn launch(
    state: &mut State,
    case: &Case,
    (format, exact): (Format, bool),
    b: Arguments,
    stream: &Stream,
) -> Result<()> {
    let Some(fit) = alu::fit_side(case, format, SIDE) else {
        fail!(Internal, "a hybrid kernel was chosen that does not fit");
    };
    let linear = case.sampling == Sampling::Linear;
    let State { device, textures, .. } = state;
    let textures = Textures::over(textures, device, (format, linear && !exact), &b, stream)?;
    let counters = state.counters.take(&state.device, 4 * COUNTERS)?;
    counters.clear(stream)?;
    let tiles = tiles(case, format, b.slices as usize);
    if tiles > MAX_TILES {
        fail!(OutOfRange, "options.kernel: a slab has {tiles} tiles; hybrid kernels take at most {MAX_TILES}");
    }
    let (texture_parts, parts) = share(format, linear, tiles);
    // What the ALU blocks leave of the first-level cache is the texture units'.
    let stage = fit.stage.min(if format.half { 8 } else { 16 });
    let shared = fit.bytes(stage).max(MIN_SHARED);
    let a = AluArguments { b, slots: fit.slots as i32, stage: stage as i32 };
    let arguments = HybridArguments { a, textures, counters: counters.address(), texture_parts, parts };
    let name = || {
        let way = match (exact, linear) {
            (true, _) => "exact",
            (false, true) => "linear",
            (false, false) => "nearest",
        };
        format!("hybrid_{way}_{}x{}", if format.half { "f16" } else { "f32" }, format.lanes)
    };
    let variant =
        (&crate::images::HYBRID, [usize::from(exact), usize::from(linear), usize::from(format.half), format.lanes]);
    let function = state.kernels.projector(&state.device, variant, name)?;
    let launch = Launch { grid: [tiles, 1, 1], block: [256, 1, 1], shared };
    // SAFETY: HybridArguments mirrors the kernel's struct; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, launch, &arguments) }
}
