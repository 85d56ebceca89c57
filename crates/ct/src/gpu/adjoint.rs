//! Launches `kernels/ct/adjoint.cu`.

use super::case::{Arguments, Case, widest};

use super::state::State;
use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Launch, Stream, mirrored};

const SIDE: usize = 32;
const MAX_VIEWS: usize = 32;
/// Shared memory for the cache, on every GPU, and bytes of a view's line there.
const SHARED: usize = 48 << 10;
const LINE: usize = 32;

/// Mirrors `Adjoint`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct AdjointArguments {
    b: Arguments,
    tent: u64,
    taps: i32,
    width: i32,
    views: i32,
}
mirrored!(AdjointArguments, 96);

/// max(|cos|, |sin|) of a view's angle.
fn major(g: &Geometry, view: usize) -> f64 {
    g.angles[view].cos().abs().max(g.angles[view].sin().abs())
}

/// Of each view, b / (m a) and a / m: the tent's slope and height.
pub(super) fn tents(g: &Geometry) -> Result<Vec<[f32; 2]>> {
    let tent = |v| {
        let m = major(g, v);
        [(1.0 / (m * g.ratio())) as f32, (g.pixel_size / m) as f32]
    };
    collected((0..g.views()).map(tent))
}

/// Sums `b.slices` slices of rows packed `lanes` side by side.
pub(super) fn launch(state: &mut State, case: &Case, lanes: usize, b: Arguments, stream: &Stream) -> Result<()> {
    let g = case.geometry;
    let reach = (0..g.views()).map(|v| major(g, v) * g.ratio()).fold(0.0, f64::max);
    let square = (0..g.views()).map(|v| {
        let line = g.pixel_line(v);
        2.0 * major(g, v) * g.ratio() + line.dx.abs() + line.dy.abs()
    });
    let narrow = g.ratio() <= 1.0;
    let taps = if narrow { 4 } else { (square.fold(0.0, f64::max) - 1e-9).ceil() as usize };
    let width = widest(g, 1, SIDE - 1, SIDE - 1).ceil() as usize + taps + 4;
    let groups = (b.slices as usize).div_ceil(lanes);
    // Blocks of two groups, unless half a block would be wasted on three.
    let per = if lanes == 4 && groups > 1 && groups != 3 { 2 } else { 1 };
    let bytes = LINE + width * 4 * lanes * per;
    let views = (SHARED / bytes).min(MAX_VIEWS);
    let (nx, ny) = (b.nx as usize, b.ny as usize);
    let wide = views == 0;
    let (taps, launch) = if wide {
        let shape = Launch { grid: [(nx * ny).div_ceil(4), groups, 1], block: [128, 1, 1], shared: 0 };
        ((2.0 * reach - 1e-9).ceil().max(1.0) as usize, shape)
    } else {
        let grid = [nx.div_ceil(SIDE) * ny.div_ceil(SIDE), groups.div_ceil(per), 1];
        let shape = Launch { grid, block: [128 * per, 1, 1], shared: views * bytes };
        (taps, shape)
    };
    let name = || match (wide, narrow, if per == 2 { "x2" } else { "" }) {
        (true, ..) => format!("adjoint_wide_{lanes}"),
        (false, true, double) => format!("adjoint_{lanes}{double}"),
        (false, false, double) => format!("adjoint_taps_{lanes}{double}"),
    };
    let variant = (&crate::images::ADJOINT, [usize::from(wide), usize::from(narrow), per, lanes]);
    let function = state.kernels.projector(&state.device, variant, name)?;
    let arguments =
        AdjointArguments { b, tent: case.tents, taps: taps as i32, width: width as i32, views: views as i32 };
    // SAFETY: AdjointArguments mirrors the kernel's struct; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, launch, &arguments) }
}
