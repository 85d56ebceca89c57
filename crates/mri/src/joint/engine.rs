//! What joint estimation asks of an engine besides.

use super::smooth::Smooth;
use crate::engine::{Engine, Vector};
use isocenter_base::context::Context;
use isocenter_base::error::Result;

/// A vector, and the element in it from which on something lies.
pub(crate) type Part<'a, E> = (&'a Vector<E>, usize);
pub(crate) type PartMut<'a, E> = (&'a mut Vector<E>, usize);

/// Products of images, voxel by voxel, and smooth coils.
pub(crate) trait Joint: Engine {
    /// Tables of waves, and what transforms with them work in.
    type Waves: Send;

    fn waves(&mut self, context: &Context, smooth: &Smooth) -> Result<Self::Waves>;
    /// A coil from its coefficients.
    fn expand(&mut self, waves: &mut Self::Waves, from: Part<'_, Self>, coil: PartMut<'_, Self>) -> Result<()>;
    /// The transpose: coefficients from a coil.
    fn contract(&mut self, waves: &mut Self::Waves, coil: &Vector<Self>, to: PartMut<'_, Self>) -> Result<()>;
    /// out = a b, in addition to what is there if `add`.
    fn multiply(&mut self, a: Part<'_, Self>, b: Part<'_, Self>, out: &mut Vector<Self>, add: bool) -> Result<()>;
    /// out = conj(a) b, in addition to what is there if `add`; `out` may have more than an image.
    fn multiply_conjugate(
        &mut self,
        a: Part<'_, Self>,
        b: &Vector<Self>,
        out: &mut Vector<Self>,
        add: bool,
    ) -> Result<()>;
    /// Coils `[coil][voxel]` become shorter by their length at each voxel, or by `least` where that is more, and the image longer.
    fn normalise(&mut self, coils: &mut Vector<Self>, image: &mut Vector<Self>, least: f64) -> Result<()>;
}
