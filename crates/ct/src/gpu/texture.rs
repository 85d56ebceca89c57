//! Launches `kernels/ct/texture.cu`.

use super::case::{Arguments, Case, too_tall, widest};

use super::format::Format;
use super::state::State;
use super::textures::Textures;
use crate::options::Sampling;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Launch, Stream, mirrored};

const TILE: usize = 16;
/// Limits of two-dimensional textures over rows in memory.
const MAX_WIDTH: usize = 131_072;
const MAX_VIEWS: usize = 65_000;
/// Samples a pixel beyond which f32 positions are off by more than 1e-3.
const MAX_SPAN: f64 = 1500.0;

/// Mirrors `TextureBackproject`.
#[repr(C)]
#[derive(Clone, Copy)]
struct TextureArguments {
    b: Arguments,
    textures: u64,
}
mirrored!(TextureArguments, 80);

pub(super) fn refusal(case: &Case, format: Format) -> Option<String> {
    let (views, pitch) = (case.geometry.views(), format.pitch(case.geometry.bins));
    if views > MAX_VIEWS || pitch > MAX_WIDTH {
        return Some(format!("{views} views of {pitch} samples; textures have at most {MAX_VIEWS} of {MAX_WIDTH}"));
    }
    if let Some(why) = too_tall(case.geometry, TILE) {
        return Some(why);
    }
    let span = widest(case.geometry, format.oversampling, 1, 1);
    (span > MAX_SPAN).then(|| format!("a pixel spans {span:.0} samples; texture kernels take at most {MAX_SPAN}"))
}

/// `standard`: the mapping of threads to pixels that everybody uses.
pub(super) fn launch(
    state: &mut State,
    case: &Case,
    (format, standard): (Format, bool),
    b: Arguments,
    stream: &Stream,
) -> Result<()> {
    let linear = case.sampling == Sampling::Linear;
    let State { device, textures, .. } = state;
    let textures = Textures::over(textures, device, (format, linear), &b, stream)?;
    let name = || {
        format!(
            "texture_{}{}x{}_{}",
            if standard { "standard_" } else { "" },
            if format.half { "f16" } else { "f32" },
            format.lanes,
            if linear { "linear" } else { "nearest" }
        )
    };
    let variant =
        (&crate::images::TEXTURE, [usize::from(standard), usize::from(format.half), format.lanes, usize::from(linear)]);
    let function = state.kernels.projector(&state.device, variant, name)?;
    let groups = (b.slices as usize).div_ceil(format.lanes);
    let grid = [(b.nx as usize).div_ceil(TILE), (b.ny as usize).div_ceil(TILE), groups];
    let arguments = TextureArguments { b, textures };
    // SAFETY: TextureArguments mirrors the kernel's struct; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, Launch { grid, block: [256, 1, 1], shared: 0 }, &arguments) }
}
