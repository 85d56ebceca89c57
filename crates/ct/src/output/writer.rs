//! Rows of finished slices on their way into the caller's array, and what was counted of them.

use super::code::{Code, nearest};
use super::mask::Mask;
use super::options::Output;
use isocenter_base::array::{ArrayMut, DType, Element};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::half::F16;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Pixels that are converted at a time, in the nearest cache.
const BLOCK: usize = 512;

/// What was written, for the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// Element type of the volume.
    pub dtype: DType,
    /// value = offset + slope * stored.
    pub slope: f64,
    /// See slope.
    pub offset: f64,
    /// The window; None where there is none.
    pub window: Option<[f64; 2]>,
    /// Slices whose values gave the window; 0 where it was given.
    pub surveyed: usize,
    /// Values inside the mask that were below and above what can be stored, or what the histogram covers.
    pub clipped: [u64; 2],
    /// Histogram of the values inside the mask.
    pub histogram: Vec<u64>,
}

impl Written {
    /// f32 as they are.
    pub(crate) fn direct() -> Self {
        let (dtype, histogram) = (DType::F32, Vec::new());
        Self { dtype, slope: 1.0, offset: 0.0, window: None, surveyed: 0, clipped: [0; 2], histogram }
    }
}

/// Counts of what was written.
#[derive(Debug)]
struct Tally {
    clipped: [u64; 2],
    counts: Vec<u64>,
}

impl Tally {
    fn new(bins: usize) -> Result<Self> {
        Ok(Self { clipped: [0; 2], counts: zeros(bins)? })
    }

    fn add(&mut self, clipped: [u64; 2], counts: &[u64]) {
        self.clipped.iter_mut().zip(clipped).for_each(|(sum, n)| *sum += n);
        self.counts.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
    }
}

/// Rows of finished slices on their way.
pub(crate) struct Writer<'a> {
    mask: &'a Mask,
    code: Code,
    /// In place of values outside the mask.
    outside: f32,
    window: Option<[f64; 2]>,
    surveyed: usize,
    /// Of the slab under way on the processor, one for each thread, so that they are never in each other's way.
    tallies: Vec<Mutex<Tally>>,
    /// Of all that is written for good.
    total: Mutex<Tally>,
}

impl<'a> Writer<'a> {
    /// `window` has low and high, where there is one, and the number of slices that they come from.
    pub(crate) fn new(
        output: &Output,
        window: Option<[f64; 2]>,
        surveyed: usize,
        mask: &'a Mask,
        threads: usize,
    ) -> Result<Self> {
        let code = Code::new(output, window);
        let tally = || Tally::new(code.bins).map(Mutex::new);
        let tallies = (0..threads).map(|_| tally()).collect::<Result<_>>()?;
        Ok(Self { mask, code, outside: output.mask_value as f32, window, surveyed, tallies, total: tally()? })
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    pub(crate) fn mask(&self) -> &Mask {
        self.mask
    }

    /// What pixels outside the mask hold, before it is converted.
    pub(crate) fn outside(&self) -> f32 {
        self.outside
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.tallies.len();
        locked(&self.tallies[thread])
    }

    /// Adds what a GPU has counted.
    pub(crate) fn add(&self, clipped: [u64; 2], counts: &[u64]) {
        locked(&self.total).add(clipped, counts);
    }

    /// After a slab on the processor: its counts hold, or, where it has to be repeated, some of its rows having been written already, are
    /// forgotten.
    pub(crate) fn settle(&self, written: bool) {
        let mut total = locked(&self.total);
        for tally in &self.tallies {
            let Tally { clipped, counts } = &mut *locked(tally);
            if written {
                total.add(*clipped, counts);
            }
            *clipped = [0; 2];
            counts.fill(0);
        }
    }

    /// Writes values into a row of the volume, from the element at `at` on.
    ///
    /// # Safety
    /// No other thread touches the same elements meanwhile.
    pub(crate) unsafe fn write_row(&self, level: Level, target: &ArrayMut, at: [usize; 3], values: &[f32]) {
        // SAFETY: by this function's contract.
        unsafe {
            match self.code.dtype {
                DType::U8 => self.write::<u8>(level, target, at, values),
                DType::U16 => self.write::<u16>(level, target, at, values),
                DType::F16 => self.write::<F16>(level, target, at, values),
                _ => self.write::<f32>(level, target, at, values),
            }
        }
    }

    /// # Safety
    /// As for `write_row`.
    unsafe fn write<T: Stored>(&self, level: Level, target: &ArrayMut, at: [usize; 3], values: &[f32]) {
        let code = &self.code;
        let mut stored = [T::ZERO; BLOCK];
        let mut outside = [T::ZERO];
        T::convert(level, code, &[self.outside], &mut outside);
        let inside = self.mask.inside(at[1]);
        let mut tally = (code.bins > 0).then(|| self.tally());
        let mut sums = [0; 2];
        for (k, values) in values.chunks(BLOCK).enumerate() {
            let column = at[2] + k * BLOCK;
            let [first, end] = [inside.start, inside.end].map(|c| c.saturating_sub(column).min(values.len()));
            let stored = &mut stored[..values.len()];
            stored[..first].fill(outside[0]);
            stored[end..].fill(outside[0]);
            if first < end {
                let (values, stored) = (&values[first..end], &mut stored[first..end]);
                T::convert(level, code, values, stored);
                let clipped = vectorised(level, Clipped { code, values });
                sums.iter_mut().zip(clipped).for_each(|(sum, n)| *sum += u64::from(n));
                if let Some(tally) = &mut tally {
                    for (value, stored) in values.iter().zip(stored) {
                        tally.counts[stored.bin(code, *value)] += 1;
                    }
                }
            }
            // SAFETY: by this function's contract.
            unsafe { target.write_elements([at[0], at[1], column], stored) };
        }
        if sums != [0; 2] {
            let mut tally = tally.unwrap_or_else(|| self.tally());
            tally.clipped.iter_mut().zip(sums).for_each(|(sum, n)| *sum += n);
        }
    }

    /// What there is to tell when all has been written.
    pub(crate) fn written(self) -> Written {
        let Self { code, window, surveyed, total, .. } = self;
        let [slope, offset] = code.line();
        let Tally { clipped, counts: histogram } = total.into_inner().unwrap_or_else(PoisonError::into_inner);
        Written { dtype: code.dtype, slope, offset, window, surveyed, clipped, histogram }
    }
}

fn locked(tally: &Mutex<Tally>) -> MutexGuard<'_, Tally> {
    tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An element type that values are stored as.
trait Stored: Element {
    const ZERO: Self;
    fn convert(level: Level, code: &Code, values: &[f32], to: &mut [Self]);
    /// The histogram's bin of a value that is stored so.
    fn bin(self, code: &Code, value: f32) -> usize;
}

macro_rules! integer {
    ($integer:ty) => {
        impl Stored for $integer {
            const ZERO: Self = 0;

            fn convert(level: Level, code: &Code, values: &[f32], to: &mut [Self]) {
                vectorised(level, Placed { code, values, to, number: |place| nearest(place) as $integer });
            }

            #[inline(always)]
            fn bin(self, code: &Code, _: f32) -> usize {
                (usize::from(self) * code.bins) >> <$integer>::BITS
            }
        }
    };
}

integer!(u8);
integer!(u16);

impl Stored for F16 {
    const ZERO: Self = F16(0);

    fn convert(level: Level, code: &Code, values: &[f32], to: &mut [Self]) {
        vectorised(level, Placed { code, values, to, number: |place| F16::nearest(place as f32) });
    }

    #[inline(always)]
    fn bin(self, code: &Code, value: f32) -> usize {
        code.bin(value)
    }
}

impl Stored for f32 {
    const ZERO: Self = 0.0;

    fn convert(_: Level, _: &Code, values: &[f32], to: &mut [Self]) {
        to.copy_from_slice(values);
    }

    #[inline(always)]
    fn bin(self, code: &Code, value: f32) -> usize {
        code.bin(value)
    }
}

/// Values by their places in the window.
struct Placed<'a, T, F> {
    code: &'a Code,
    values: &'a [f32],
    to: &'a mut [T],
    number: F,
}

impl<T, F: Fn(f64) -> T> Plain for Placed<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (to, v) in self.to.iter_mut().zip(self.values) {
            *to = (self.number)(self.code.place(*v));
        }
    }
}

/// Values below and above the limits, of a block: 32 bits are enough, and vectors count in them.
struct Clipped<'a> {
    code: &'a Code,
    values: &'a [f32],
}

impl Plain for Clipped<'_> {
    type Output = [u32; 2];

    #[inline(always)]
    fn run(self) -> [u32; 2] {
        let [low, high] = self.code.limits;
        let mut sums = [0; 2];
        for v in self.values {
            sums[0] += u32::from(f64::from(*v) < low);
            sums[1] += u32::from(f64::from(*v) > high);
        }
        sums
    }
}
