//! Lines on the processor. Results are the same bits for any number of threads.

use super::grid::Grid;
use super::list::{Line, List};
use super::part::Part;
use super::through::Through;
use super::trace::{PLANES, Taps, Trace};
use crate::dropped::Dropped;
use crate::engine::{MIN_EXPECTED, Tally};
use crate::events::{BLOCK, Block};
use crate::values::replace;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{Buffer, reserved};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, widest};
use isocenter_base::error::Result;

/// Blocks of events that a task of plain projection takes.
const GRAIN: usize = 16;
/// Most images that events are added up in side by side, and bytes of them.
const MAX_COPIES: usize = 64;
const MAX_BYTES: u64 = 1 << 30;
/// Events add to another image where there are so many of them for each of its voxels at least: else making it takes longer than they do.
const EVENTS_A_VOXEL: f64 = 1.0 / 32.0;

/// Lines through an image, on a processor of some level.
#[derive(Clone, Debug)]
pub(crate) struct Lines<'a> {
    pub(crate) level: Level,
    pub(crate) through: Through<'a>,
}

/// What a task works in.
struct Room {
    block: Block<f64>,
    lines: Vec<Line>,
    besides: [f32; BLOCK],
    taps: Vec<Taps>,
}

impl Room {
    fn new(grid: &Grid) -> Result<Self> {
        let most = grid.sides.iter().max().map_or(1, |n| n.div_ceil(PLANES));
        let mut taps = reserved(most)?;
        taps.resize_with(most, Taps::new);
        Ok(Self { block: Block::new(), lines: reserved(BLOCK)?, besides: [0.0; BLOCK], taps })
    }

    /// The lines of a run that starts at `from`.
    fn read(&mut self, list: &List, from: usize, size: usize) -> Dropped {
        let Self { block, lines, .. } = self;
        lines.clear();
        list.read(from, size, block, |line| lines.push(*line))
    }
}

/// Weighted sums along lines.
pub(super) struct Forward<'r> {
    pub(super) grid: &'r Grid,
    pub(super) image: &'r [f32],
    pub(super) lines: &'r [Line],
    pub(super) taps: &'r mut Taps,
    pub(super) values: &'r mut [f32; BLOCK],
}

impl Plain for Forward<'_> {
    /// Lines that miss the image.
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let Self { grid, image, lines, taps, values } = self;
        assert_eq!(image.len(), grid.len());
        let mut missed = 0;
        for (line, value) in lines.iter().zip(values) {
            let mut sums = [0.0; 4];
            match Trace::new(grid, &line.event, line.timing) {
                None => missed += 1,
                Some(trace) => {
                    for from in (0..trace.count).step_by(PLANES) {
                        trace.weigh(from, taps);
                        // SAFETY: an image of this grid.
                        unsafe { taps.gather(image.as_ptr(), &mut sums) };
                    }
                }
            }
            *value = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        }
        missed
    }
}

/// Adds values to the voxels that lines cross.
struct Adjoint<'r> {
    grid: &'r Grid,
    image: &'r mut [f32],
    lines: &'r [Line],
    taps: &'r mut Taps,
    values: &'r [f32; BLOCK],
}

impl Plain for Adjoint<'_> {
    /// Lines that miss the image.
    type Output = u64;

    #[inline(always)]
    fn run(self) -> u64 {
        let Self { grid, image, lines, taps, values } = self;
        assert_eq!(image.len(), grid.len());
        let mut missed = 0;
        for (line, value) in lines.iter().zip(values) {
            let Some(trace) = Trace::new(grid, &line.event, line.timing) else {
                missed += 1;
                continue;
            };
            for from in (0..trace.count).step_by(PLANES) {
                trace.weigh(from, taps);
                // SAFETY: an image of this grid, which is borrowed.
                unsafe { taps.scatter(*value, image.as_mut_ptr()) };
            }
        }
        missed
    }
}

/// Adds 1 / (sum along the line + what is there besides) to its voxels.
struct Ratios<'r> {
    grid: &'r Grid,
    image: &'r [f32],
    sum: &'r mut [f32],
    lines: &'r [Line],
    besides: &'r [f32; BLOCK],
    taps: &'r mut [Taps],
}

impl Plain for Ratios<'_> {
    type Output = Tally;

    #[inline(always)]
    fn run(self) -> Tally {
        let Self { grid, image, sum, lines, besides, taps } = self;
        assert!(image.len() == grid.len() && sum.len() == grid.len());
        let mut tally = Tally::default();
        for (line, besides) in lines.iter().zip(besides) {
            let Some(trace) = Trace::new(grid, &line.event, line.timing) else { continue };
            let mut sums = [0.0; 4];
            let count = trace.count.div_ceil(PLANES);
            for (part, taps) in taps[..count].iter_mut().enumerate() {
                trace.weigh(part * PLANES, taps);
                // SAFETY: an image of this grid.
                unsafe { taps.gather(image.as_ptr(), &mut sums) };
            }
            let expected = (sums[0] + sums[1]) + (sums[2] + sums[3]) + besides;
            // Also NaN, of factors of 0.
            if !(expected >= MIN_EXPECTED && expected.is_finite()) {
                tally.skipped += 1;
                continue;
            }
            tally.log_likelihood += f64::from(expected).ln();
            for taps in &taps[..count] {
                // SAFETY: as above; the sum is borrowed.
                unsafe { taps.scatter(1.0 / expected, sum.as_mut_ptr()) };
            }
        }
        tally
    }
}

/// How many images so many events are added up in side by side.
pub(crate) fn copies(grid: &Grid, events: usize) -> usize {
    let voxels: usize = grid.sides.iter().product();
    let by_events = (events as f64 / (EVENTS_A_VOXEL * voxels as f64)) as usize;
    by_events.clamp(1, MAX_COPIES.min(((MAX_BYTES / grid.bytes()) as usize).max(1)))
}

impl Lines<'_> {
    /// Blurs an image, if lines are.
    pub(crate) fn blurred(&self, image: &mut Buffer<f32>) -> Result<()> {
        self.through.blur.as_ref().map_or(Ok(()), |blur| blur.apply(&self.through.grid, image))
    }

    /// What becomes of all events.
    pub(crate) fn survey(&self, job: &Job) -> Result<Dropped> {
        let Through { list, grid, .. } = &self.through;
        let task = |from: usize| -> Result<Dropped> {
            job.check()?;
            let mut room = Room::new(grid)?;
            let mut all = Dropped::default();
            for from in (from..list.len().min(from + GRAIN * BLOCK)).step_by(BLOCK) {
                let mut dropped = room.read(list, from, BLOCK);
                let missed = room.lines.iter().filter(|line| Trace::new(grid, &line.event, line.timing).is_none());
                dropped.outside_lattice += missed.count() as u64;
                all = all.plus(dropped);
            }
            Ok(all)
        };
        let tasks = list.len().div_ceil(GRAIN * BLOCK);
        let found: Vec<Result<Dropped>> = (0..tasks).into_par_iter().map(|t| task(t * GRAIN * BLOCK)).collect();
        found.into_iter().try_fold(Dropped::default(), |sum, part| Ok(sum.plus(part?)))
    }

    /// Writes the sum along each line, of an image that has been blurred.
    pub(crate) fn forward(&self, image: &Buffer<f32>, to: &ArrayMut<1>, job: &Job) -> Result<Dropped> {
        let blocks = self.through.list.len().div_ceil(BLOCK);
        let task = |task: usize| -> Result<Dropped> {
            let mut room = Room::new(&self.through.grid)?;
            let mut all = Dropped::default();
            for block in task * GRAIN..blocks.min((task + 1) * GRAIN) {
                job.check()?;
                let from = block * BLOCK;
                let mut dropped = room.read(self.through.list, from, BLOCK);
                let mut values = [0.0; BLOCK];
                let Room { lines, taps, .. } = &mut room;
                let forward =
                    Forward { grid: &self.through.grid, image, lines, taps: &mut taps[0], values: &mut values };
                dropped.outside_lattice += widest(self.level, forward);
                let mut row = [0.0f32; BLOCK];
                lines.iter().zip(values).for_each(|(line, value)| row[line.number - from] = value);
                // SAFETY: events of this block alone; nobody else has the array.
                unsafe { to.write_row([from], &row[..BLOCK.min(self.through.list.len() - from)]) };
                all = all.plus(dropped);
            }
            job.advance(1.0 / blocks.div_ceil(GRAIN) as f64);
            Ok(all)
        };
        let found: Vec<Result<Dropped>> = (0..blocks.div_ceil(GRAIN)).into_par_iter().map(task).collect();
        found.into_iter().try_fold(Dropped::default(), |sum, part| Ok(sum.plus(part?)))
    }

    /// The sum along each of some lines, of an image that has been blurred.
    pub(crate) fn forward_of(
        &self,
        image: &Buffer<f32>,
        lines: &[Line],
        write: impl Fn(usize, f32) + Sync,
    ) -> Result<()> {
        let grid = &self.through.grid;
        lines.par_chunks(BLOCK).for_each_init(Taps::new, |taps, lines| {
            let mut values = [0.0; BLOCK];
            widest(self.level, Forward { grid, image, lines, taps, values: &mut values });
            lines.iter().zip(values).for_each(|(line, value)| write(line.number, value));
        });
        Ok(())
    }

    /// Sums up in some images side by side what `add` makes of runs of a part, and leaves their sum, blurred, in the first.
    fn sum<T: Send>(
        &self,
        part: Part,
        images: &mut Vec<Buffer<f32>>,
        add: impl Fn(usize, &mut Room, &mut Buffer<f32>) -> Result<T> + Sync,
        join: impl Fn(T, T) -> T + Sync,
        none: impl Fn() -> T + Sync,
    ) -> Result<T> {
        let runs = part.runs(self.through.list.len());
        let count = copies(&self.through.grid, runs * part.size);
        while images.len() < count {
            images.push(self.through.grid.zeroed()?);
        }
        let found: Vec<Result<T>> = images[..count]
            .par_iter_mut()
            .enumerate()
            .map(|(c, image)| {
                image.fill(0.0);
                let mut room = Room::new(&self.through.grid)?;
                let mut all = none();
                for run in c * runs / count..(c + 1) * runs / count {
                    all = join(all, add(part.start(run), &mut room, image)?);
                }
                Ok(all)
            })
            .collect();
        if let [first, others @ ..] = &mut images[..count] {
            let row = self.through.grid.strides[1];
            first.par_chunks_mut(row).enumerate().for_each(|(y, sum)| {
                for other in &*others {
                    sum.iter_mut().zip(&other[y * row..]).for_each(|(sum, v)| *sum += v);
                }
            });
            self.blurred(first)?;
        }
        found.into_iter().try_fold(none(), |sum, part| Ok(join(sum, part?)))
    }

    /// The sum of values times lines, blurred, in the first of some images.
    pub(crate) fn adjoint(&self, values: &Array<1>, images: &mut Vec<Buffer<f32>>, job: &Job) -> Result<Dropped> {
        let add = |from: usize, room: &mut Room, image: &mut Buffer<f32>| {
            job.check()?;
            let mut dropped = room.read(self.through.list, from, BLOCK);
            let (mut row, mut of_lines) = ([0.0f32; BLOCK], [0.0; BLOCK]);
            values.read_row([from], &mut row[..BLOCK.min(self.through.list.len() - from)]);
            replace(&mut row);
            let Room { lines, taps, .. } = room;
            lines.iter().zip(&mut of_lines).for_each(|(line, value)| *value = row[line.number - from]);
            let adjoint = Adjoint { grid: &self.through.grid, image, lines, taps: &mut taps[0], values: &of_lines };
            dropped.outside_lattice += widest(self.level, adjoint);
            Ok(dropped)
        };
        self.sum(Part::ALL, images, add, Dropped::plus, Dropped::default)
    }

    /// The sum of lines over what is expected of them, of the events of a part, blurred, in the first of some images. `besides` fills a row with what is expected of events from one on besides the sum
    /// along the line.
    pub(crate) fn ratios(
        &self,
        part: Part,
        image: &Buffer<f32>,
        images: &mut Vec<Buffer<f32>>,
        besides: &(dyn Fn(usize, &mut [f32]) + Sync),
    ) -> Result<Tally> {
        let add = |from: usize, room: &mut Room, sum: &mut Buffer<f32>| {
            room.read(self.through.list, from, part.size);
            let mut row = [0.0f32; BLOCK];
            besides(from, &mut row[..part.size.min(self.through.list.len() - from)]);
            let Room { lines, taps, besides, .. } = room;
            lines.iter().zip(&mut *besides).for_each(|(line, besides)| *besides = row[line.number - from]);
            Ok(widest(self.level, Ratios { grid: &self.through.grid, image, sum, lines, besides, taps }))
        };
        self.sum(part, images, add, |a, b| a + b, Tally::default)
    }
}
