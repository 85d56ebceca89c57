//! Stripes that stand out from noise, on a GPU: launches of `kernels/ct/stripes.cu`.

use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Launch, Stream, mirrored};

/// Threads of the blocks that work on lists.
pub(super) const LIST_THREADS: usize = 512;
/// Bins that a block has side by side.
pub(super) const TILE: usize = 256;
/// Views whose sums are kept apart.
pub(super) const RUN: usize = 64;
/// Parts of the scan that drifts are followed in.
const PARTS: usize = 128;
/// Pieces of the scan whose means tell structure from stripes, and the widths that they do for.
const PIECES: usize = 8;
const WIDTHS: usize = 4;
/// Fewer views or bins than these tell nothing.
const MINIMUM: usize = 16;

/// Mirrors `Lists` in `kernels/ct/stripes.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Lists {
    sinograms: u64,
    sums: u64,
    mean: u64,
    noise: u64,
    offset: u64,
    value: u64,
    local: u64,
    ratio: u64,
    piece_mean: u64,
    piece_noise: u64,
    structure: u64,
    sorted: u64,
    parabolas: u64,
    from: u64,
    weight: u64,
    bad: u64,
    found: u64,
    listed: u64,
    count: u64,
    views: i32,
    bins: i32,
    slices: i32,
    runs: i32,
    padded: i32,
    pieces: i32,
    alpha: f64,
}
mirrored!(Lists, 184);

/// Memory that is shared out.
pub(super) struct Regions {
    next: u64,
}

impl Regions {
    pub(super) fn new(address: u64) -> Self {
        Self { next: address }
    }

    pub(super) fn take(&mut self, bytes: usize) -> u64 {
        let at = self.next;
        self.next += bytes.next_multiple_of(256) as u64;
        at
    }

    pub(super) fn end(&self) -> u64 {
        self.next
    }
}

/// Line integrals, (slice, view, bin).
#[derive(Clone, Copy)]
pub(super) struct Sinograms {
    pub(super) address: u64,
    pub(super) views: usize,
    pub(super) bins: usize,
    pub(super) slices: usize,
}

impl Lists {
    /// `sums` of each bin and slice; lists of pieces where there are several.
    pub(super) fn new(s: &Sinograms, sums: usize, pieces: usize, regions: &mut Regions) -> Self {
        let Sinograms { address, views, bins, slices } = *s;
        let padded = bins.next_power_of_two();
        let mut list = |bytes: usize| regions.take(bytes * slices * bins);
        let several = if pieces > 1 { 8 } else { 0 };
        Self {
            sinograms: address,
            sums: list(8 * sums),
            mean: list(8),
            noise: list(8),
            offset: list(8),
            value: list(8),
            local: list(8),
            ratio: list(8),
            piece_mean: list(several * pieces),
            piece_noise: list(several * pieces),
            structure: list(several * WIDTHS),
            parabolas: list(24),
            from: list(8),
            weight: list(8),
            bad: list(1),
            found: list(1),
            listed: list(4),
            sorted: regions.take(8 * slices * padded),
            count: regions.take(4 * slices),
            views: views as i32,
            bins: bins as i32,
            slices: slices as i32,
            runs: 0,
            padded: padded as i32,
            pieces: pieces as i32,
            alpha: 0.0,
        }
    }

    /// With sums of so many runs of views.
    pub(super) fn in_runs(self, runs: usize) -> Self {
        Self { runs: runs as i32, ..self }
    }
}

/// Runs of views, which end where pieces do.
fn runs(views: usize, pieces: usize) -> usize {
    pieces * views.div_ceil(pieces).div_ceil(RUN)
}

fn sums(views: usize, pieces: usize) -> usize {
    (2 * runs(views, pieces)).max(PARTS.min(views))
}

/// What work on so many slices takes.
pub(super) fn bytes(views: usize, bins: usize, slices: usize) -> u64 {
    let mut regions = Regions::new(0);
    Lists::new(&Sinograms { address: 0, views, bins, slices }, sums(views, PIECES), PIECES, &mut regions);
    regions.end()
}

/// Kernels of `ct/stripes`.
#[derive(Debug)]
pub(super) struct Kernels {
    statistics: Function,
    offsets: Function,
    drifts: Function,
    again: Function,
    pub(super) replace: Function,
    subtract: Function,
    regularise: Function,
    pub(super) move_views: Function,
}

impl Kernels {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let kernel = |name| device.function(&crate::images::STRIPES, name);
        Ok(Self {
            statistics: kernel("stripes_statistics")?,
            offsets: kernel("stripes_offsets")?,
            drifts: kernel("stripes_drifts")?,
            again: kernel("stripes_again")?,
            replace: kernel("stripes_replace")?,
            subtract: kernel("stripes_subtract")?,
            regularise: kernel("stripes_regularise")?,
            move_views: kernel("stripes_move_views")?,
        })
    }
}

/// Work on some sinograms.
struct Work<'a> {
    lists: Lists,
    across: usize,
    slices: usize,
    stream: &'a Stream,
}

impl<'a> Work<'a> {
    fn new(s: &Sinograms, pieces: usize, lists: u64, stream: &'a Stream) -> Self {
        let lists = Lists::new(s, sums(s.views, pieces), pieces, &mut Regions::new(lists));
        Self { lists, across: s.bins.div_ceil(TILE), slices: s.slices, stream }
    }

    /// Bins side by side, runs of views or parts of the scan one after the other.
    fn over_views(&self, kernel: &Function, runs: usize) -> Result<()> {
        self.launch(kernel, [self.across, runs.min(65535), self.slices], TILE, runs)
    }

    /// A block a slice.
    fn over_lists(&self, kernel: &Function, runs: usize) -> Result<()> {
        self.launch(kernel, [self.slices, 1, 1], LIST_THREADS, runs)
    }

    fn launch(&self, kernel: &Function, grid: [usize; 3], threads: usize, runs: usize) -> Result<()> {
        let launch = Launch { grid, block: [threads, 1, 1], shared: 0 };
        // SAFETY: Lists mirrors the kernels' struct; the memory lives until the stream is waited for.
        unsafe { kernel.launch(self.stream, launch, &self.lists.in_runs(runs)) }
    }
}

/// Takes what stands out from noise off sinograms, with lists at an address.
pub(super) fn correct(kernels: &Kernels, s: &Sinograms, lists: u64, stream: &Stream) -> Result<()> {
    let (views, work) = (s.views, Work::new(s, PIECES, lists, stream));
    if views < MINIMUM || s.bins < MINIMUM {
        return Ok(());
    }
    let (runs, parts) = (runs(views, PIECES), PARTS.min(views));
    work.over_views(&kernels.statistics, runs)?;
    work.over_lists(&kernels.offsets, runs)?;
    work.over_views(&kernels.drifts, parts)?;
    work.over_lists(&kernels.again, parts)?;
    work.launch(&kernels.replace, [views.div_ceil(TILE), 1, s.slices], TILE, 0)?;
    work.over_views(&kernels.subtract, runs)
}

/// Takes offsets off sinograms that make their means smooth.
pub(super) fn regularise(kernels: &Kernels, alpha: f64, s: &Sinograms, lists: u64, stream: &Stream) -> Result<()> {
    let (runs, mut work) = (runs(s.views, 1), Work::new(s, 1, lists, stream));
    work.lists.alpha = alpha;
    work.over_views(&kernels.statistics, runs)?;
    work.over_lists(&kernels.regularise, runs)?;
    work.over_views(&kernels.subtract, runs)
}
