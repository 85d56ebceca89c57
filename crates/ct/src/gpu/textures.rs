//! Textures over packed rows.

use super::case::Arguments;
use super::format::Format;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, DeviceMemory, Stream, Texel, Texture};
use std::sync::Arc;

/// Textures over the packed rows of a slab, which they must not outlive.
#[derive(Debug)]
pub(super) struct Textures {
    /// Key: address, groups, width, height, format, filter.
    key: (u64, usize, usize, usize, Format, bool),
    list: DeviceMemory,
    /// Kept for the objects that `list` names.
    _objects: Vec<Texture>,
}

impl Textures {
    /// The list of textures over a slab's packed rows, one for each group; `linear` interpolates in hardware. `kept` is that of the
    /// last launch, for the next one over the same rows.
    pub(super) fn over(
        kept: &mut Option<Self>,
        device: &Arc<Device>,
        (format, linear): (Format, bool),
        b: &Arguments,
        stream: &Stream,
    ) -> Result<u64> {
        let groups = (b.slices as usize).div_ceil(format.lanes);
        let (width, height) = (b.pitch as usize, b.views as usize);
        let key = (b.data, groups, width, height, format, linear);
        if let Some(kept) = kept.as_ref().filter(|t| t.key == key) {
            return Ok(kept.list.address());
        }
        // Launches may still read the old ones.
        stream.synchronize()?;
        let texel = Texel { half: format.half, channels: format.lanes as u32 };
        let bytes = (width * height * format.lanes * if format.half { 2 } else { 4 }) as u64;
        let object = |g: usize| {
            // SAFETY: rows of the slab, which the plan keeps longer than the textures or replaces them with it.
            unsafe { Texture::new(device, b.data + g as u64 * bytes, texel, [width, height], linear) }
        };
        let objects: Vec<Texture> = (0..groups).map(object).collect::<Result<_>>()?;
        let raw: Vec<u64> = objects.iter().map(Texture::raw).collect();
        let list = DeviceMemory::from_slice(device, &raw)?;
        let address = list.address();
        *kept = Some(Self { key, list, _objects: objects });
        Ok(address)
    }
}
