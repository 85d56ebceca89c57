//! Launches `kernels/pet/fourier.cu`: projections by Fourier transforms along x and y, one for each term of the kernels' expansion.

use super::array::Place;
use super::finish::{Finish, What};
use super::parts::Parts;
use crate::direction::Direction;
use crate::expansion::Expansion;
use crate::spectrum::{Slices, spectrum};
use crate::tables::Tables;
use isocenter_base::cpu::lanes::is_good_length;
use isocenter_base::cpu::level::Level;
use isocenter_base::error::Result;
use isocenter_base::gpu::fft::{DeviceLine, Line, MAX_LENGTH, MAX_RADIX, divisor};
use isocenter_base::gpu::{Function, Image, Launch, Lent, Precision, Queue, mirrored};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

const IMAGE: &Image = &crate::images::FOURIER;
/// Maximum of threads of a block; of one that takes all planes there and back.
const THREADS: usize = 320;
const ALL_PLANES: usize = 768;
/// Lines along x for each multiprocessor below which they are few, and the largest radix of these.
const FEW_LINES: usize = 64;
const FEW_LINES_RADIX: usize = 8;
/// Maximum of terms that one launch takes.
const TERMS: usize = 8;
/// Bytes of a complex number.
const NUMBER: usize = 8;

/// Mirrors `Fourier`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    line: DeviceLine,
    from: u64,
    to: u64,
    spectrum: u64,
    coefficients: u64,
    map: u64,
    between: u64,
    from_term: i64,
    to_term: i64,
    spectrum_term: i64,
    peaks: u64,
    peak_count: i32,
    floor: f32,
    concentration: f32,
    finish: Finish,
    nx: i32,
    ny: i32,
    nz: i32,
    column: i32,
    long_x: i32,
    long_y: i32,
    reach: i32,
    floats: i32,
    even: i32,
    transposed: i32,
    terms: i32,
    identifiers: i32,
    add: i32,
    goes_on: i32,
    width: i32,
    log_width: i32,
    chunks: i32,
    by_width: u32,
}
mirrored!(Arguments, 392);

/// Bytes of shared memory in which a block takes all planes of a frequency along x there and back: lines of complex numbers, between passes and
/// transformed. None where it has not as many, or where more than one term needs the frequencies.
fn both_ways(queue: &Queue, sizes: &Sizes) -> Option<usize> {
    let bytes = 2 * sizes.long[1] * sizes.place.shape[0] * NUMBER;
    (sizes.rank == 1 && bytes <= queue.device.shared_bytes()).then_some(bytes)
}

/// What a view has on the GPU.
pub(super) struct Spectra {
    parts: Parts,
    /// Bytes from one term's spectrum to the next one's, and where coefficients and map begin; none of these for one kernel.
    term: usize,
    varying: Option<[usize; 2]>,
    identifiers: usize,
    sizes: Sizes,
    slices: Slices,
    error: f32,
    rounding: f32,
    concentration: f32,
}

#[derive(Clone, Copy, Debug)]
struct Sizes {
    place: Place,
    /// Of the transforms along x and y.
    long: [usize; 2],
    rank: usize,
}

impl Sizes {
    fn pairs(&self) -> usize {
        self.place.shape[1].div_ceil(2)
    }

    fn half(&self) -> usize {
        self.long[0] / 2 + 1
    }

    /// Terms of a launch.
    fn terms(&self) -> usize {
        self.rank.min(TERMS)
    }

    /// Bytes of a term's frequencies along x, first of pairs of rows and then, in their place, of rows; of all frequencies.
    fn term(&self) -> [usize; 2] {
        let bytes = |columns: usize| (columns * self.place.column * NUMBER).next_multiple_of(256);
        let [_, ny, _] = self.place.shape;
        [bytes(self.long[0] * self.pairs()).max(bytes(self.half() * ny)), bytes(self.half() * self.long[1])]
    }

    /// Bytes of these of all terms of a launch, and of room for what terms add up to: frequencies of rows, or a volume.
    fn work(&self) -> [usize; 3] {
        let [rows, all] = self.term();
        let between = if self.rank > 1 { rows.max(self.place.bytes()) } else { 0 };
        [self.terms() * rows, self.terms() * all, between]
    }

    /// Bytes of what the blocks of the first step find.
    fn peaks(&self) -> usize {
        Fourier::max_blocks(self.place.shape) * size_of::<[f32; 2]>()
    }
}

/// The length from `minimum` on that is the fastest; None where there is none.
fn good_length(minimum: usize) -> Option<usize> {
    // Each pass takes as long as reading and writing it does.
    let cost = |n: usize| n * (Line::passes(n).unwrap_or(MAX_LENGTH) + 3);
    (minimum.max(2)..=MAX_LENGTH.min(2 * minimum.max(2)))
        .filter(|n| is_good_length(*n) && Line::passes(*n).is_some())
        .min_by_key(|n| cost(*n))
}

impl Spectra {
    /// None for kernels that have no such expansion, or that are too long.
    pub(super) fn new(place: Place, tables: &Tables, expansion: &Expansion, level: Level) -> Result<Option<Self>> {
        let [_, ny, nx] = place.shape;
        let (offsets, first) = tables.with_axial(expansion.term(0))?;
        let reach = |d: usize| offsets.iter().map(|o| o[d].unsigned_abs() as usize).max().unwrap_or(0);
        let (Some(long_x), Some(long_y)) = (good_length(nx + reach(0)), good_length(ny + reach(1))) else {
            return Ok(None);
        };
        let slices = Slices { reach: reach(2), even: expansion.symmetric() };
        let sizes = Sizes { place, long: [long_x, long_y], rank: expansion.rank() };
        // Twice what two rows share; both inverse transforms are unscaled.
        let scale = (0.5 / (long_x * long_y) as f64) as f32;
        let mut parts = Parts::default();
        let mut concentration = 0.0f32;
        let mut of = |values: &[f32]| {
            let largest = values.iter().fold(0.0f32, |m, v| m.max(v.abs()));
            concentration = concentration.max(largest / values.iter().map(|v| v.abs()).sum::<f32>());
            spectrum(&offsets, values, slices, sizes.long, scale, level)
        };
        parts.push_floats(&of(&first)?);
        let mut term = parts.bytes().len();
        for k in 1..expansion.rank() {
            let at = parts.push_floats(&of(&tables.with_axial(expansion.term(k))?.1)?);
            term = at / k;
        }
        let varying = (!expansion.invariant()).then(|| {
            let coefficients: Vec<f32> =
                (0..expansion.rank()).flat_map(|k| expansion.coefficients(k)).copied().collect();
            let at = parts.push_floats(&coefficients);
            [at, parts.push_ints(tables.map().iter().map(|a| *a as i32))]
        });
        let (error, rounding) = (expansion.projection_error(), expansion.rounding());
        let identifiers = tables.identifiers();
        Ok(Some(Self { parts, term, varying, identifiers, sizes, slices, error, rounding, concentration }))
    }

    /// About the seconds of a projection of one term on an H200.
    pub(super) fn cost(place: Place, tables: &Tables) -> f64 {
        const LAUNCHES: f64 = 8e-6;
        const NUMBER: f64 = 4.7e-11;
        let [_, ny, nx] = place.shape;
        let reach = |d: usize| tables.offsets().iter().map(|o| o[d].unsigned_abs() as usize).max().unwrap_or(0);
        match (good_length(nx + reach(0)), good_length(ny + reach(1))) {
            (Some(x), Some(y)) => LAUNCHES + NUMBER * ((x * ny / 2).max(x / 2 * y) * place.column) as f64,
            _ => f64::INFINITY,
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.parts.bytes().len() as u64
    }

    /// Bytes that a projection works in.
    pub(super) fn work(&self) -> u64 {
        (self.sizes.work().iter().sum::<usize>() + self.sizes.peaks()) as u64
    }
}

/// What all views of a plan use, one after the other.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<Store>);

#[derive(Debug, Default)]
struct Store {
    /// By length and largest radix.
    lines: HashMap<[usize; 2], Arc<Line>>,
    work: Option<Arc<Lent>>,
    /// Of this one and of smaller ones, which projections that were made before it still use.
    bytes: u64,
}

impl Shared {
    fn line(&self, queue: &Queue, length: usize, max_radix: usize) -> Result<Arc<Line>> {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = store.lines.get(&[length, max_radix]) {
            return Ok(line.clone());
        }
        let line = Arc::new(Line::with_radices_up_to(max_radix, &queue.device, length, Precision::F32)?);
        store.lines.insert([length, max_radix], line.clone());
        Ok(line)
    }

    fn work(&self, queue: &Queue, bytes: usize) -> Result<Arc<Lent>> {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &store.work {
            Some(work) if work.bytes() >= bytes => Ok(work.clone()),
            _ => {
                let work = Arc::new(queue.pool.take(bytes)?);
                store.bytes += work.bytes() as u64;
                store.work = Some(work.clone());
                Ok(work)
            }
        }
    }

    /// Bytes of work room.
    pub(super) fn bytes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).bytes
    }

    /// Bytes that room of such a size would take beside what there is.
    pub(super) fn more(&self, bytes: u64) -> u64 {
        let store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let there = store.work.as_ref().map_or(0, |w| w.bytes() as u64);
        if bytes <= there { 0 } else { bytes }
    }

    /// Once no projection uses it any longer.
    pub(super) fn forget(&self) {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (store.work, store.bytes) = (None, 0);
    }
}

/// Projections of one view.
#[derive(Debug)]
pub(super) struct Fourier {
    memory: Lent,
    term: usize,
    varying: Option<[usize; 2]>,
    identifiers: usize,
    lines: [Arc<Line>; 2],
    work: Arc<Lent>,
    sizes: Sizes,
    slices: Slices,
    error: f32,
    rounding: f32,
    concentration: f32,
    kernels: Kernels,
}

#[derive(Debug)]
struct Kernels {
    rows_there: Function,
    columns: Columns,
    rows_back: Function,
    /// Of some terms.
    rows_sum: Function,
}

/// Along y.
#[derive(Debug)]
enum Columns {
    /// There and back in one, where a block's shared memory holds all planes, so much of it.
    Both(Function, usize),
    Each {
        there: Function,
        back: Function,
        /// Of some terms.
        sum: Function,
    },
}

impl Fourier {
    pub(super) fn new(queue: &Queue, spectra: &Spectra, shared: &Shared) -> Result<Self> {
        let memory = queue.upload(spectra.parts.bytes())?;
        let [x, y] = spectra.sizes.long;
        // Where there are few lines for each multiprocessor, more threads with less work each wait less.
        let few = spectra.sizes.pairs() * spectra.sizes.place.shape[0] < FEW_LINES * queue.device.multiprocessors();
        let along_x = if few { FEW_LINES_RADIX } else { MAX_RADIX };
        let lines = [shared.line(queue, x, along_x)?, shared.line(queue, y, MAX_RADIX)?];
        let work = shared.work(queue, spectra.work() as usize)?;
        let Spectra { term, varying, identifiers, sizes, slices, error, rounding, concentration, .. } = *spectra;
        let kernel = |name| queue.device.function(IMAGE, name);
        let kernels = Kernels {
            rows_there: kernel("fourier_rows_there")?,
            columns: match both_ways(queue, &sizes) {
                Some(shared) => Columns::Both(kernel("fourier_columns")?, shared),
                None => Columns::Each {
                    there: kernel("fourier_columns_there")?,
                    back: kernel("fourier_columns_back")?,
                    sum: kernel("fourier_columns_sum")?,
                },
            },
            rows_back: kernel("fourier_rows_back")?,
            rows_sum: kernel("fourier_rows_sum")?,
        };
        Ok(Self {
            memory,
            term,
            varying,
            identifiers,
            lines,
            work,
            sizes,
            slices,
            error,
            rounding,
            concentration,
            kernels,
        })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.memory.bytes() as u64
    }

    /// Maximum number of blocks that take pairs of rows.
    pub(super) fn max_blocks([nz, ny, _]: [usize; 3]) -> usize {
        // Two lines of the greatest length fit into a block.
        ny.div_ceil(2) * nz.div_ceil(2)
    }

    /// # Safety
    /// Volumes of this shape, in use by the queue's stream alone; the GPU is current.
    pub(super) unsafe fn launch(&self, queue: &Queue, direction: Direction, input: u64, to: Finish) -> Result<()> {
        let Sizes { place, rank, .. } = self.sizes;
        let [rows, all, _] = self.sizes.work();
        let forward = direction == Direction::Forward;
        let rows_at = self.work.address();
        let all_at = rows_at + rows as u64;
        let between = all_at + all as u64;
        let peaks = rows_at + self.sizes.work().iter().sum::<usize>() as u64;
        let peaks = if to.what == What::Relax { 0 } else { peaks };
        // A kernel's error is where the kernel is, and does harm in comparisons alone; rounding is everywhere.
        let compares = matches!(to.what, What::Quotient | What::Discrepancy);
        let floor = if compares { self.error } else { self.rounding };
        let [nz, ny, nx] = place.shape.map(|n| n as i32);
        let base = Arguments {
            line: self.lines[0].arguments(),
            from: 0,
            to: 0,
            spectrum: 0,
            coefficients: 0,
            map: 0,
            between,
            from_term: 0,
            to_term: 0,
            spectrum_term: (self.term / size_of::<f32>()) as i64,
            peaks: 0,
            peak_count: 0,
            floor,
            concentration: self.concentration,
            finish: to,
            nx,
            ny,
            nz,
            column: place.column as i32,
            long_x: self.sizes.long[0] as i32,
            long_y: self.sizes.long[1] as i32,
            reach: self.slices.reach as i32,
            floats: self.slices.floats() as i32,
            even: i32::from(self.slices.even),
            transposed: i32::from(!forward),
            terms: 1,
            identifiers: self.identifiers as i32,
            add: 0,
            goes_on: 0,
            width: 0,
            log_width: 0,
            chunks: 0,
            by_width: 0,
        };
        let [rows_term, all_term] = self.sizes.term().map(|bytes| (bytes / NUMBER) as i64);
        for k in (0..rank).step_by(TERMS) {
            let terms = TERMS.min(rank - k);
            let (first, last) = (k == 0, k + terms == rank);
            let varied = |arguments: Arguments| match self.varying {
                None => arguments,
                Some([coefficients, map]) => {
                    let address = self.memory.address();
                    let coefficients = address + (coefficients + k * self.identifiers * size_of::<f32>()) as u64;
                    Arguments { coefficients, map: address + map as u64, ..arguments }
                }
            };
            let spectrum = self.memory.address() + (k * self.term) as u64;
            let there = Arguments { from: input, to: rows_at, to_term: rows_term, peaks, ..base };
            let across = Arguments { from: rows_at, from_term: rows_term, to: all_at, to_term: all_term, ..base };
            let Kernels { rows_there, columns, rows_back, rows_sum } = &self.kernels;
            // SAFETY: by this function's contract; the work room has as many bytes, and one stream uses it.
            unsafe {
                match columns {
                    Columns::Both(kernel, shared) => {
                        self.rows(queue, rows_there, 1, if forward { varied(there) } else { there })?;
                        // Blocks end at different times: others still read what was there.
                        let through = Arguments { from: rows_at, to: all_at, spectrum, ..base };
                        self.all_planes(queue, (kernel, *shared), through)?;
                        let back = Arguments { from: all_at, peaks, ..base };
                        self.rows(queue, rows_back, 1, if forward { back } else { varied(back) })?;
                    }
                    Columns::Each { there: columns_there, sum, back } if forward => {
                        self.rows(queue, rows_there, terms, varied(there))?;
                        self.columns(queue, columns_there, terms, across)?;
                        let (kernel, sums) = if rank > 1 { (sum, between) } else { (back, rows_at) };
                        let summed = Arguments {
                            from: all_at,
                            from_term: all_term,
                            to: sums,
                            spectrum,
                            terms: terms as i32,
                            add: i32::from(!first),
                            ..base
                        };
                        self.columns(queue, kernel, 1, summed)?;
                        if last {
                            self.rows(queue, rows_back, 1, Arguments { from: sums, peaks, ..base })?;
                        }
                    }
                    Columns::Each { there: columns_there, back, .. } => {
                        if first {
                            self.rows(queue, rows_there, 1, there)?;
                            self.columns(queue, columns_there, 1, across)?;
                        }
                        let of_each = Arguments { from: all_at, to: rows_at, to_term: rows_term, spectrum, ..base };
                        self.columns(queue, back, terms, of_each)?;
                        let summed = Arguments {
                            from: rows_at,
                            from_term: rows_term,
                            terms: terms as i32,
                            add: i32::from(!first),
                            goes_on: i32::from(!last),
                            peaks,
                            ..base
                        };
                        self.rows(queue, if rank > 1 { rows_sum } else { rows_back }, 1, varied(summed))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A block for pairs of rows and parts of their lines, of each of so many terms.
    ///
    /// # Safety
    /// As for `launch`.
    unsafe fn rows(&self, queue: &Queue, kernel: &Function, terms: usize, arguments: Arguments) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.step(queue, kernel, &self.lines[0], [self.sizes.pairs(), terms], arguments) }
    }

    /// A block for one kx and parts of its lines, of each of so many terms.
    ///
    /// # Safety
    /// As for `launch`.
    unsafe fn columns(&self, queue: &Queue, kernel: &Function, terms: usize, arguments: Arguments) -> Result<()> {
        // SAFETY: by this function's contract.
        unsafe { self.step(queue, kernel, &self.lines[1], [self.sizes.half(), terms], arguments) }
    }

    /// A block for one kx and all of its lines.
    ///
    /// # Safety
    /// As for `launch`.
    unsafe fn all_planes(
        &self,
        queue: &Queue,
        (kernel, shared): (&Function, usize),
        arguments: Arguments,
    ) -> Result<()> {
        let (line, planes) = (&self.lines[1], self.sizes.place.shape[0]);
        let arguments = Arguments {
            line: line.arguments(),
            width: planes as i32,
            chunks: 1,
            by_width: divisor(planes),
            ..arguments
        };
        let block = [line.threads(planes, ALL_PLANES), 1, 1];
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { kernel.launch(&queue.stream, Launch { grid: [self.sizes.half(), 1, 1], block, shared }, &arguments) }
    }

    /// # Safety
    /// As for `launch`.
    unsafe fn step(
        &self,
        queue: &Queue,
        kernel: &Function,
        line: &Line,
        [outer, terms]: [usize; 2],
        arguments: Arguments,
    ) -> Result<()> {
        let shape = line.across();
        let chunks = self.sizes.place.shape[0].div_ceil(shape.width);
        let blocks = outer * chunks;
        let arguments = Arguments {
            line: line.arguments(),
            peak_count: blocks as i32,
            width: shape.width as i32,
            log_width: shape.width.ilog2() as i32,
            chunks: chunks as i32,
            ..arguments
        };
        let launch = Launch {
            grid: [blocks, terms, 1],
            block: [line.threads(shape.width, THREADS), 1, 1],
            shared: shape.shared,
        };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { kernel.launch(&queue.stream, launch, &arguments) }
    }
}
