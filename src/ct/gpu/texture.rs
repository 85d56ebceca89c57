//! Launches `kernels/ct/texture.cu`.

use super::projector::{Arguments, Case, too_tall, widest};
use super::rows::Format;
use super::state::State;
use crate::ct::options::Interpolation;
use crate::error::Result;
use crate::gpu::{DeviceMemory, Launch, Stream, Texel, Texture, mirrored};

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

/// Textures over the packed rows of a slab, which they must not outlive.
#[derive(Debug)]
pub(super) struct Textures {
    /// Key: address, groups, width, height, format, filter.
    key: (u64, usize, usize, usize, Format, bool),
    list: DeviceMemory,
    /// Kept for the objects that `list` names.
    _objects: Vec<Texture>,
}

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

/// The list of textures over a slab's packed rows, one for each group; `linear` interpolates in hardware. Kept for the next
/// launch over the same rows.
pub(super) fn textures(state: &mut State, format: Format, linear: bool, b: &Arguments, stream: &Stream) -> Result<u64> {
    let groups = (b.slices as usize).div_ceil(format.lanes);
    let (width, height) = (b.pitch as usize, b.views as usize);
    let key = (b.data, groups, width, height, format, linear);
    if let Some(kept) = state.textures.as_ref().filter(|t| t.key == key) {
        return Ok(kept.list.address());
    }
    // Launches may still read the old ones.
    stream.synchronize()?;
    let texel = Texel { half: format.half, channels: format.lanes as u32 };
    let bytes = (width * height * format.lanes * if format.half { 2 } else { 4 }) as u64;
    let object = |g: usize| {
        // SAFETY: rows of the slab, which the state keeps longer than the textures or replaces them with it.
        unsafe { Texture::new(&state.device, b.data + g as u64 * bytes, texel, [width, height], linear) }
    };
    let objects: Vec<Texture> = (0..groups).map(object).collect::<Result<_>>()?;
    let raw: Vec<u64> = objects.iter().map(Texture::raw).collect();
    let list = DeviceMemory::from_slice(&state.device, &raw)?;
    let address = list.address();
    state.textures = Some(Textures { key, list, _objects: objects });
    Ok(address)
}

/// `standard`: the mapping of threads to pixels that everybody uses.
pub(super) fn launch(
    state: &mut State,
    case: &Case,
    (format, standard): (Format, bool),
    b: Arguments,
    stream: &Stream,
) -> Result<()> {
    let linear = case.interpolation == Interpolation::Linear;
    let textures = textures(state, format, linear, &b, stream)?;
    let name = || {
        format!(
            "texture_{}{}x{}_{}",
            if standard { "standard_" } else { "" },
            if format.half { "f16" } else { "f32" },
            format.lanes,
            if linear { "linear" } else { "nearest" }
        )
    };
    let variant = ("ct/texture", [usize::from(standard), usize::from(format.half), format.lanes, usize::from(linear)]);
    let function = state.kernels.projector(&state.device, variant, name)?;
    let groups = (b.slices as usize).div_ceil(format.lanes);
    let grid = [(b.nx as usize).div_ceil(TILE), (b.ny as usize).div_ceil(TILE), groups];
    let arguments = TextureArguments { b, textures };
    // SAFETY: TextureArguments mirrors the kernel's struct; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, Launch { grid, block: [256, 1, 1], shared: 0 }, &arguments) }
}
