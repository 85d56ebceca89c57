//! The caller's lists of events.

use isocenter_base::array::value::Value;
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::cpu::prefetch::prefetch_bytes;
use isocenter_base::error::{Result, fail};

/// Events that are looked at together, in loops without branches.
pub(super) const BLOCK: usize = 256;

/// A block of events, with positions in double or in single precision.
pub(super) struct Block<P = f64> {
    /// x1, y1, z1, x2, y2, z2 in mm.
    pub(super) positions: [[P; BLOCK]; 6],
    /// t2 - t1 in ps.
    pub(super) time: [f64; BLOCK],
    /// Which set of histo-images each belongs to, [`NO_SET`] or [`NOT_MEASURED`].
    pub(super) set: [u32; BLOCK],
}

/// Of events that name what there is not.
pub(super) const NO_SET: u32 = u32::MAX;
/// Of events whose pair of crystals is not measured.
pub(super) const NOT_MEASURED: u32 = u32::MAX - 1;
/// Sets are fewer.
pub(super) const MOST_SETS: u32 = NOT_MEASURED;

impl<P: Value + Into<f64>> Block<P> {
    pub(super) fn new() -> Self {
        Self { positions: [[P::ZERO; BLOCK]; 6], time: [0.0; BLOCK], set: [0; BLOCK] }
    }

    /// Positions and time of an event.
    pub(super) fn event(&self, i: usize) -> [f64; 7] {
        let [x1, y1, z1, x2, y2, z2] = self.positions.each_ref().map(|column| column[i].into());
        [x1, y1, z1, x2, y2, z2, self.time[i]]
    }
}

/// A list of events that is read block by block.
pub(super) trait Source: Copy + Send + Sync {
    /// How many events.
    fn len(&self) -> usize;

    /// Whether single precision holds all positions.
    fn is_single(&self) -> bool;

    /// Reads events `from` on, as many as a block holds or as there are; returns how many.
    fn read<P: Value>(&self, from: usize, block: &mut Block<P>) -> usize;
}

/// Events to read, f32 or f64 each.
#[derive(Clone, Copy, Debug)]
pub struct EventArrays<'a> {
    /// Position of the first photon, `[event][x, y, z]` in mm.
    pub first: Array<'a, 2>,
    /// Of the second.
    pub second: Array<'a, 2>,
    /// `[event]` time of the second less that of the first, in ps.
    pub time: Array<'a, 1>,
}

/// Events to write, as those to read.
#[derive(Debug)]
pub struct EventArraysMut<'a> {
    /// Position of the first photon, `[event][x, y, z]` in mm.
    pub first: ArrayMut<'a, 2>,
    /// Of the second.
    pub second: ArrayMut<'a, 2>,
    /// `[event]` time of the second less that of the first, in ps.
    pub time: ArrayMut<'a, 1>,
}

/// An error if the three are no list of events.
pub(super) fn check(first: &Layout<2>, second: &Layout<2>, time: &Layout<1>) -> Result<()> {
    let events = time.shape[0];
    for (name, positions) in [("first", first), ("second", second)] {
        if positions.shape != [events, 3] {
            fail!(TensorShape, "{name} has shape {:?}; times are of {events} events", positions.shape);
        }
    }
    for (name, dtype) in [("first", first.dtype), ("second", second.dtype), ("time", time.dtype)] {
        if !matches!(dtype, DType::F32 | DType::F64) {
            fail!(TensorDtype, "{name} is {dtype:?}; it must be F32 or F64");
        }
    }
    Ok(())
}

/// The same of a list that the processor reads or writes.
fn check_on_host(first: &Layout<2>, second: &Layout<2>, time: &Layout<1>) -> Result<()> {
    for (name, gpu) in
        [("first_positions", first.gpu), ("second_positions", second.gpu), ("time_differences", time.gpu)]
    {
        if gpu.is_some() {
            fail!(
                TensorDevice,
                "{name} is in a GPU's memory; with histo-images in host memory, events must be there, too"
            );
        }
    }
    check(first, second, time)
}

/// Positions of photons.
#[derive(Clone, Copy, Debug)]
struct Positions<'a> {
    /// x, y, z
    columns: [Array<'a, 1>; 3],
    /// All of them where they lie one after the other in f32.
    packed: Option<&'a [[f32; 3]]>,
}

impl<'a> Positions<'a> {
    fn new(array: &Array<'a, 2>) -> Self {
        let packed = array.as_slice().map(|all| all.as_chunks().0);
        Self { columns: [0, 1, 2].map(|k| array.column(k)), packed }
    }

    fn is_single(&self) -> bool {
        self.columns[0].dtype() == DType::F32
    }

    #[inline(always)]
    fn read<P: Value>(&self, from: usize, n: usize, mut columns: [&mut [P; BLOCK]; 3]) {
        if let Some(packed) = self.packed {
            // Ahead of the next call, beside what is made of these.
            prefetch_bytes(packed.as_ptr().wrapping_add(from + n), BLOCK * size_of::<[f32; 3]>());
            for (i, p) in packed[from..][..n].iter().enumerate() {
                for (column, v) in columns.iter_mut().zip(p) {
                    column[i] = P::of_f32(*v);
                }
            }
        } else {
            for (array, column) in self.columns.iter().zip(columns) {
                array.read_row([from], &mut column[..n]);
            }
        }
    }
}

/// A list of positions and times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events<'a> {
    first: Positions<'a>,
    second: Positions<'a>,
    time: Array<'a, 1>,
}

impl<'a> Events<'a> {
    pub(super) fn new(EventArrays { first, second, time }: &EventArrays<'a>) -> Result<Self> {
        check_on_host(first.layout(), second.layout(), time.layout())?;
        Ok(Self { first: Positions::new(first), second: Positions::new(second), time: *time })
    }
}

impl Source for Events<'_> {
    fn len(&self) -> usize {
        self.time.shape()[0]
    }

    fn is_single(&self) -> bool {
        self.first.is_single() && self.second.is_single()
    }

    #[inline(always)]
    fn read<P: Value>(&self, from: usize, block: &mut Block<P>) -> usize {
        let n = BLOCK.min(self.len() - from);
        let [x1, y1, z1, x2, y2, z2] = &mut block.positions;
        self.first.read(from, n, [x1, y1, z1]);
        self.second.read(from, n, [x2, y2, z2]);
        self.time.read_row([from], &mut block.time[..n]);
        n
    }
}

/// A list that is written event by event.
#[derive(Debug)]
pub(super) struct EventsMut<'a>(EventArraysMut<'a>);

impl<'a> EventsMut<'a> {
    pub(super) fn new(to: EventArraysMut<'a>) -> Result<Self> {
        check_on_host(to.first.layout(), to.second.layout(), to.time.layout())?;
        Ok(Self(to))
    }

    pub(super) fn len(&self) -> usize {
        self.0.time.shape()[0]
    }

    /// Writes event `k`.
    ///
    /// # Safety
    /// Nobody else writes this event meanwhile.
    pub(super) unsafe fn write(&self, k: usize, event: &[f64; 7]) {
        // SAFETY: by this function's contract.
        unsafe {
            self.0.first.write_row([k, 0], &event[..3]);
            self.0.second.write_row([k, 0], &event[3..6]);
            self.0.time.write_row([k], &event[6..]);
        }
    }
}

/// Lists of events that lie one after the other, seven numbers each.
#[cfg(test)]
pub(super) mod interleaved {
    use super::*;
    use isocenter_base::array::Element;

    fn layouts<T: Element>(start: *const T, n: usize) -> ([Layout<2>; 2], Layout<1>) {
        let at = |k: usize| start.wrapping_add(k).cast();
        let positions = |k| Layout { strides: [7, 1], ..Layout::new(at(k), T::DTYPE, [n, 3]) };
        ([positions(0), positions(3)], Layout { strides: [7], ..Layout::new(at(6), T::DTYPE, [n]) })
    }

    pub(crate) fn read<T: Element>(events: &[[T; 7]]) -> EventArrays<'_> {
        let ([first, second], time) = layouts(events.as_ptr().cast::<T>(), events.len());
        // SAFETY: elements of the borrowed list.
        unsafe { EventArrays { first: Array::over(first), second: Array::over(second), time: Array::over(time) } }
    }

    pub(crate) fn written<T: Element>(events: &mut [[T; 7]]) -> EventArraysMut<'_> {
        let ([first, second], time) = layouts(events.as_mut_ptr().cast::<T>(), events.len());
        // SAFETY: elements of the list, each in one array.
        unsafe {
            EventArraysMut { first: ArrayMut::over(first), second: ArrayMut::over(second), time: ArrayMut::over(time) }
        }
    }
}
