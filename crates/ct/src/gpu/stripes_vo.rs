//! All of Vo, Atwood and Drakopoulos 2018 on a GPU: launches of `kernels/ct/stripes_vo.cu`.

use super::stripes::{self, LIST_THREADS, Lists, RUN, Regions, Sinograms, TILE};
use crate::rows::stripes::Vo;
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Function, Launch, Stream, mirrored};

/// Mirrors `Vo` in `kernels/ct/stripes_vo.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    lists: Lists,
    sorted: u64,
    view: u64,
    medians: u64,
    windows: u64,
    keys: u64,
    snr: f64,
    pitch: i32,
    padded_views: i32,
    window: i32,
    shared: i32,
    dropped: i32,
    group: i32,
}
mirrored!(Arguments, 256);

/// Lengths of columns that a block sorts, with its threads and each one's items.
const SORTS: [(usize, usize); 7] = [(64, 4), (64, 8), (128, 8), (256, 8), (512, 8), (512, 16), (1024, 16)];
/// Windows that a thread keeps in registers.
const IN_REGISTERS: [usize; 5] = [11, 21, 31, 51, 81];
/// Threads that filter ranks side by side, where their windows fit shared memory.
const RANKS: [usize; 3] = [128, 64, 32];
/// Shared memory that a block should take at most, so that several run side by side.
const SHARED: usize = 48 << 10;
/// Shared memory that every GPU has.
const MAX_SHARED: usize = 96 << 10;

/// Threads and shared memory of a median's blocks; None where the windows are too long for that.
fn windows_in_shared(window: usize) -> Option<(usize, usize)> {
    let fits = |limit: usize| RANKS.into_iter().map(|t| (t, 4 * t * window)).find(|(_, bytes)| *bytes <= limit);
    fits(SHARED).or_else(|| fits(MAX_SHARED))
}

/// Columns too long for a block's sort.
fn long(views: usize) -> bool {
    SORTS.iter().all(|(threads, items)| threads * items < views)
}

impl Arguments {
    fn new(s: &Sinograms, largest_window: usize, regions: &mut Regions) -> Self {
        let Sinograms { views, bins, slices, .. } = *s;
        let pitch = views.next_multiple_of(32);
        let values = slices * bins * pitch;
        let lists = Lists::new(s, views.div_ceil(RUN), 1, regions);
        let windows = if windows_in_shared(largest_window).is_some() { 0 } else { 4 * slices * largest_window * pitch };
        let padded_views = views.next_power_of_two();
        let keys = if long(views) { 8 * slices * bins * padded_views } else { 0 };
        Self {
            lists: lists.in_runs(views.div_ceil(RUN)),
            sorted: regions.take(4 * values),
            view: regions.take(4 * values),
            medians: regions.take(4 * values),
            windows: regions.take(windows),
            keys: regions.take(keys),
            snr: 0.0,
            pitch: pitch as i32,
            padded_views: padded_views as i32,
            window: 0,
            shared: 0,
            dropped: 0,
            group: 1,
        }
    }
}

/// What work on so many slices takes.
pub(super) fn bytes(views: usize, bins: usize, largest_window: usize, slices: usize) -> u64 {
    let mut regions = Regions::new(0);
    Arguments::new(&Sinograms { address: 0, views, bins, slices }, largest_window, &mut regions);
    regions.end()
}

/// Kernels of `ct/stripes_vo`.
#[derive(Debug)]
pub(super) struct Kernels {
    fluctuation: Function,
    dead: Function,
    sorts: Vec<Function>,
    sort_long: Function,
    medians: Function,
    in_registers: Vec<Function>,
    factors: Function,
    large: Function,
    apply: Function,
    put_back: Function,
}

impl Kernels {
    pub(super) fn new(device: &Device) -> Result<Self> {
        let kernel = |name: &str| device.function(&crate::images::STRIPES_VO, name);
        let sorts = SORTS.iter().map(|(threads, items)| kernel(&format!("vo_sort_{}", threads * items)));
        let in_registers = IN_REGISTERS.iter().map(|window| kernel(&format!("vo_medians_{window}")));
        Ok(Self {
            fluctuation: kernel("vo_fluctuation")?,
            dead: kernel("vo_dead")?,
            sorts: sorts.collect::<Result<_>>()?,
            sort_long: kernel("vo_sort_long")?,
            medians: kernel("vo_medians")?,
            in_registers: in_registers.collect::<Result<_>>()?,
            factors: kernel("vo_factors")?,
            large: kernel("vo_large")?,
            apply: kernel("vo_apply")?,
            put_back: kernel("vo_put_back")?,
        })
    }
}

/// Work on some sinograms.
struct Work<'a> {
    kernels: &'a Kernels,
    sinograms: &'a Sinograms,
    arguments: Arguments,
    stream: &'a Stream,
}

impl Work<'_> {
    fn launch(
        &self,
        kernel: &Function,
        grid: [usize; 3],
        (threads, shared): (usize, usize),
        arguments: &Arguments,
    ) -> Result<()> {
        // SAFETY: Arguments mirrors the kernels' struct; the memory lives until the stream is waited for.
        unsafe { kernel.launch(self.stream, Launch { grid, block: [threads, 1, 1], shared }, arguments) }
    }

    fn sort(&self) -> Result<()> {
        let Sinograms { views, bins, slices, .. } = *self.sinograms;
        let grid = [bins, slices, 1];
        let mut sorts = SORTS.iter().zip(&self.kernels.sorts);
        match sorts.find(|((threads, items), _)| threads * items >= views) {
            // What cub's block-wide sort takes is within this, as the kernel asserts.
            Some(((threads, items), kernel)) => {
                let shared = 5 * threads * items + 36 * threads + 1024;
                self.launch(kernel, grid, (*threads, shared), &self.arguments)
            }
            None => self.launch(&self.kernels.sort_long, grid, (1024, 0), &self.arguments),
        }
    }

    fn medians(&self, window: usize) -> Result<()> {
        let Sinograms { views, slices, .. } = *self.sinograms;
        let mut in_registers = IN_REGISTERS.iter().zip(&self.kernels.in_registers);
        if let Some((_, kernel)) = in_registers.find(|(w, _)| **w == window) {
            let threads = RANKS[0];
            return self.launch(kernel, [views.div_ceil(threads), slices, 1], (threads, 0), &self.arguments);
        }
        let place = windows_in_shared(window);
        let (threads, shared) = place.unwrap_or((RANKS[0], 0));
        let arguments = Arguments { window: window as i32, shared: place.is_some().into(), ..self.arguments };
        self.launch(&self.kernels.medians, [views.div_ceil(threads), slices, 1], (threads, shared), &arguments)
    }

    fn put_back(&self) -> Result<()> {
        let Sinograms { views, bins, slices, .. } = *self.sinograms;
        // Whole sectors of memory, where views are few enough.
        let group = [8, 4, 2].into_iter().find(|g| 4 * g * views <= MAX_SHARED);
        let arguments =
            Arguments { group: group.unwrap_or(1) as i32, shared: group.is_some().into(), ..self.arguments };
        let shared = group.map_or(0, |g| 4 * g * views);
        let grid = [bins.div_ceil(group.unwrap_or(1)), slices, 1];
        self.launch(&self.kernels.put_back, grid, (TILE, shared), &arguments)
    }
}

/// Algorithm 3 alone.
pub(super) fn sorting(kernels: &Kernels, window: usize, s: &Sinograms, lists: u64, stream: &Stream) -> Result<()> {
    let arguments = Arguments::new(s, window, &mut Regions::new(lists));
    let work = Work { kernels, sinograms: s, arguments, stream };
    work.sort()?;
    work.medians(window)?;
    work.put_back()
}

/// All of it; `stripes` has the kernel that replaces bins.
pub(super) fn all(
    (kernels, stripes): (&Kernels, &stripes::Kernels),
    vo: &Vo,
    s: &Sinograms,
    lists: u64,
    stream: &Stream,
) -> Result<()> {
    let Sinograms { views, bins, slices, .. } = *s;
    let dropped = (0.5 * vo.dropped * views as f64) as i32;
    let arguments = Arguments::new(s, vo.large.max(vo.small), &mut Regions::new(lists));
    let arguments = Arguments { snr: vo.snr, window: vo.large as i32, dropped, ..arguments };
    let work = Work { kernels, sinograms: s, arguments, stream };
    let Kernels { fluctuation, dead, factors, large, apply, .. } = work.kernels;
    let runs = views.div_ceil(RUN).min(65535);
    work.launch(fluctuation, [bins.div_ceil(TILE), runs, slices], (TILE, 0), &arguments)?;
    work.launch(dead, [slices, 1, 1], (LIST_THREADS, 0), &arguments)?;
    let launch = Launch { grid: [views.div_ceil(TILE), 1, slices], block: [TILE, 1, 1], shared: 0 };
    // SAFETY: Lists mirrors the kernel's struct; the memory lives until the stream is waited for.
    unsafe { stripes.replace.launch(stream, launch, &arguments.lists)? };
    work.sort()?;
    work.medians(vo.large)?;
    work.launch(factors, [bins, slices, 1], (LIST_THREADS, 0), &arguments)?;
    work.launch(large, [slices, 1, 1], (LIST_THREADS, 0), &arguments)?;
    work.launch(apply, [bins, slices, 1], (TILE, 0), &arguments)?;
    work.medians(vo.small)?;
    work.put_back()
}
