//! Launches `kernels/ct/alu.cu`.

use super::case::{Arguments, Case, too_tall, widest};

use super::format::Format;
use super::state::State;
use crate::options::Sampling;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Launch, Stream, mirrored};

/// Bytes of a view's line in shared memory, and of what the system takes of each block's.
const LINE: usize = 144;
const SYSTEM: usize = 1 << 10;
/// Views cached together, at most.
const MAX_STAGE: usize = 32;
/// Samples that a tile's pixels may span. Linear: beyond, sums are off by more than 1e-5 of the largest. Nearest: positions are
/// good to 1e-4 of a sample.
const MAX_REACH: [f64; 2] = [180.0, 900.0];

/// Mirrors `AluBackproject`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct AluArguments {
    pub(super) b: Arguments,
    pub(super) slots: i32,
    pub(super) stage: i32,
}
mirrored!(AluArguments, 80);

/// One size of tile of a kernel.
#[derive(Clone, Copy, Debug)]
struct Tile {
    side: usize,
    threads: usize,
    /// Blocks that its registers let share a multiprocessor.
    blocks: usize,
}

/// Tiles of the kernels of so many slices side by side, large ones first: as they are stamped out in alu.cu.
fn tiles(format: Format, linear: bool) -> &'static [Tile] {
    const fn tile(side: usize, threads: usize, blocks: usize) -> Tile {
        Tile { side, threads, blocks }
    }
    match (linear, format.lanes) {
        (_, 1) => const { &[tile(64, 256, 4), tile(32, 512, 2), tile(16, 512, 2)] },
        (true, 2) => const { &[tile(64, 256, 3), tile(32, 256, 3)] },
        (true, 4) => const { &[tile(64, 256, 2), tile(32, 256, 2)] },
        (false, 2) => const { &[tile(64, 256, 3), tile(32, 512, 2)] },
        (false, 4) => const { &[tile(64, 256, 2), tile(32, 512, 2)] },
        _ => const { &[tile(64, 512, 1), tile(32, 512, 1)] },
    }
}

/// A tile made to fit a case.
pub(super) struct Fit {
    tile: Tile,
    pub(super) slots: usize,
    pub(super) stage: usize,
    /// Shared memory: of a view, and at least.
    view: usize,
    min: usize,
}

impl Fit {
    fn new(case: &Case, format: Format, tile: Tile) -> Option<Self> {
        let linear = case.sampling == Sampling::Linear;
        if too_tall(case.geometry, tile.side).is_some() {
            return None;
        }
        let reach = widest(case.geometry, format.oversampling, tile.side - 1, tile.side - 1);
        if reach > MAX_REACH[usize::from(!linear)] {
            return None;
        }
        let slots = reach.ceil() as usize + 4;
        let bytes = match (linear, format.half) {
            (true, _) => 8 * format.lanes,
            (false, half) => format.lanes * if half { 2 } else { 4 },
        };
        let view = LINE + 2 * slots * bytes;
        let min = if tile.side < 64 { 4 * tile.side * tile.side * format.lanes } else { 0 };
        let mut fit = Self { tile, slots, stage: MAX_STAGE, view, min };
        // A multiprocessor has what one block may have, and the system's share of one.
        let crowded = |bytes| bytes > case.shared || tile.blocks * (bytes + SYSTEM) > case.shared + SYSTEM;
        while fit.stage > 1 && crowded(fit.bytes(fit.stage)) {
            fit.stage /= 2;
        }
        (fit.bytes(fit.stage) <= case.shared).then_some(fit)
    }

    /// Dynamic shared memory for so many views at a time.
    pub(super) fn bytes(&self, stage: usize) -> usize {
        (stage * self.view).max(self.min)
    }
}

/// The tile of this side, if it fits.
pub(super) fn fit_side(case: &Case, format: Format, side: usize) -> Option<Fit> {
    let linear = case.sampling == Sampling::Linear;
    tiles(format, linear).iter().find(|t| t.side == side).and_then(|t| Fit::new(case, format, *t))
}

/// The largest tile that gives the GPU enough blocks, else the smallest.
fn fit(case: &Case, format: Format, slices: usize, device: Option<&Device>) -> Option<Fit> {
    let (nx, ny, groups) = (case.geometry.nx, case.geometry.ny, slices.div_ceil(format.lanes));
    let linear = case.sampling == Sampling::Linear;
    let enough = device.map_or(0, |d| d.multiprocessors() * 3 / 2);
    let mut last = None;
    for tile in tiles(format, linear) {
        let Some(fit) = Fit::new(case, format, *tile) else { continue };
        let filled = nx.div_ceil(tile.side) * ny.div_ceil(tile.side) * groups >= enough;
        last = Some(fit);
        if filled {
            break;
        }
    }
    last
}

pub(super) fn refusal(case: &Case, format: Format) -> Option<String> {
    let ratio = case.geometry.ratio();
    let why = || format!("pixels are {ratio:.1} bins wide: too many bins for the GPU's shared memory");
    fit(case, format, 1, None).is_none().then(why)
}

pub(super) fn launch(state: &mut State, case: &Case, format: Format, b: Arguments, stream: &Stream) -> Result<()> {
    let Some(fit) = fit(case, format, b.slices as usize, Some(&state.device)) else {
        fail!(Internal, "an ALU kernel was chosen that does not fit");
    };
    let (tile, shared) = (fit.tile, fit.bytes(fit.stage));
    let linear = case.sampling == Sampling::Linear;
    let name = || {
        format!(
            "alu_{}_{}x{}_{}",
            if linear { "linear" } else { "nearest" },
            if format.half { "f16" } else { "f32" },
            format.lanes,
            tile.side
        )
    };
    let variant = (&crate::images::ALU, [usize::from(linear), usize::from(format.half), format.lanes, tile.side]);
    let groups = (b.slices as usize).div_ceil(format.lanes);
    let grid = [(b.nx as usize).div_ceil(tile.side), (b.ny as usize).div_ceil(tile.side), groups];
    let arguments = AluArguments { b, slots: fit.slots as i32, stage: fit.stage as i32 };
    let function = state.kernels.projector(&state.device, variant, name)?;
    // SAFETY: AluArguments mirrors the kernel's struct; the caller keeps the buffers until the stream is there.
    unsafe { function.launch(stream, Launch { grid, block: [tile.threads, 1, 1], shared }, &arguments) }
}
