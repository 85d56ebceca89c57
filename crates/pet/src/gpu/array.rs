//! Launches `kernels/pet/array.cu`: between the caller's arrays and volumes on the GPU, and arithmetic of volumes.

use crate::values::{Sign, is_rounding};
use isocenter_base::array::layout::contiguous;
use isocenter_base::array::transfer::pinned_rows;
use isocenter_base::array::value::not_finite;
use isocenter_base::array::{Array, ArrayMut, DType, host};
use isocenter_base::context::{Context, NanPolicy};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Image, Lent, Queue, Rows, Span};

const IMAGE: &Image = &crate::images::ARRAY;
/// Elements that the kernel reads.
const AS_THEY_ARE: [DType; 2] = [DType::F32, DType::U32];

/// Mirrors `Copy`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Copy {
    array: u64,
    volume: u64,
    sizes: [i64; 3],
    strides: [i64; 3],
    column: i32,
    is_integer: i32,
    replace: i32,
    least: f32,
    first: i64,
    found: u64,
}
isocenter_base::gpu::mirrored!(Copy, 96);

/// Mirrors `Volumes`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Volumes {
    to: u64,
    by: u64,
    over: u64,
    count: i64,
    column: i32,
    nz: i32,
    value: f32,
}
isocenter_base::gpu::mirrored!(Volumes, 48);

/// Mirrors `Ascent`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Ascent {
    pub(super) image: u64,
    pub(super) gradient: u64,
    pub(super) stored: u64,
    pub(super) total: u64,
    pub(super) earlier: u64,
    pub(super) slope: u64,
    pub(super) curvature: u64,
    pub(super) sensitivity: u64,
    /// Set by the launch.
    pub(super) count: i64,
    pub(super) times: f32,
    pub(super) step: f32,
    pub(super) floor: f32,
    pub(super) near: f32,
    pub(super) limit: f32,
    pub(super) unused: i32,
}
isocenter_base::gpu::mirrored!(Ascent, 96);

/// Mirrors `Facts`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct FactsArguments {
    volume: u64,
    count: i64,
    column: i32,
    nz: i32,
    sums: u64,
    largest: u64,
    zero: u64,
}
isocenter_base::gpu::mirrored!(FactsArguments, 48);

/// Mirrors `Total`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Total {
    tally: u64,
    total: u64,
    count: i32,
}
isocenter_base::gpu::mirrored!(Total, 24);

/// Where a volume's voxels lie: columns along z, `[y][x]`, each as long as a multiple of 4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) shape: [usize; 3],
    pub(super) column: usize,
}

impl Place {
    pub(super) fn new(shape: [usize; 3]) -> Result<Self> {
        let [nz, ny, nx] = shape;
        let column = nz.next_multiple_of(4);
        if column.checked_mul(ny * nx).and_then(|n| n.checked_mul(size_of::<f32>())).is_none() {
            fail!(SizeOverflow, "columns of {nz} x {ny} x {nx} voxels overflow");
        }
        Ok(Self { shape, column })
    }

    /// Floats of a volume.
    pub(super) fn floats(&self) -> usize {
        self.column * self.shape[1] * self.shape[2]
    }

    pub(super) fn bytes(&self) -> usize {
        self.floats() * size_of::<f32>()
    }

    fn copy(&self, array: u64, strides: [isize; 3], volume: u64) -> Copy {
        let (sizes, strides) = (self.shape.map(|n| n as i64), strides.map(|s| s as i64));
        let column = self.column as i32;
        Copy { array, volume, sizes, strides, column, is_integer: 0, replace: 0, least: 0.0, first: 0, found: 0 }
    }

    fn volumes(&self, to: u64, count: usize) -> Volumes {
        let (column, nz) = (self.column as i32, self.shape[0] as i32);
        Volumes { to, by: 0, over: 0, count: (count * self.floats()) as i64, column, nz, value: 0.0 }
    }

    /// # Safety
    /// A volume of the queue's GPU, which is current.
    pub(super) unsafe fn fill(&self, queue: &Queue, to: u64, value: f32) -> Result<()> {
        let arguments = Volumes { value, ..self.volumes(to, 1) };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { queue.each((IMAGE, "array_fill"), self.floats(), &arguments) }
    }

    /// to = to by / over; as it was where `over` is 0.
    ///
    /// # Safety
    /// As for `fill`.
    pub(super) unsafe fn scale(&self, queue: &Queue, to: u64, by: u64, over: u64) -> Result<()> {
        let arguments = Volumes { by, over, ..self.volumes(to, 1) };
        // SAFETY: as for `fill`.
        unsafe { queue.each((IMAGE, "array_scale"), self.floats(), &arguments) }
    }

    /// to = to + by.
    ///
    /// # Safety
    /// As for `fill`.
    pub(super) unsafe fn add(&self, queue: &Queue, to: u64, by: u64) -> Result<()> {
        let arguments = Volumes { by, ..self.volumes(to, 1) };
        // SAFETY: as for `fill`.
        unsafe { queue.each((IMAGE, "array_add"), self.floats(), &arguments) }
    }

    /// to = max(to, times by).
    ///
    /// # Safety
    /// As for `fill`.
    pub(super) unsafe fn raise(&self, queue: &Queue, to: u64, by: u64, times: f32) -> Result<()> {
        let arguments = Volumes { by, value: times, ..self.volumes(to, 1) };
        // SAFETY: as for `fill`.
        unsafe { queue.each((IMAGE, "array_raise"), self.floats(), &arguments) }
    }

    /// See [`crate::engine::Engine::ascend`].
    ///
    /// # Safety
    /// As for `fill`.
    pub(super) unsafe fn ascend(&self, queue: &Queue, ascent: &Ascent) -> Result<()> {
        let arguments = Ascent { count: self.floats() as i64, ..*ascent };
        // SAFETY: as for `fill`.
        unsafe { queue.each((IMAGE, "array_ascend"), self.floats(), &arguments) }
    }

    /// to = 0 where `over` is 0.
    ///
    /// # Safety
    /// As for `fill`.
    pub(super) unsafe fn mask(&self, queue: &Queue, to: u64, over: u64) -> Result<()> {
        let arguments = Volumes { over, ..self.volumes(to, 1) };
        // SAFETY: as for `fill`.
        unsafe { queue.each((IMAGE, "array_mask"), self.floats(), &arguments) }
    }
}

/// What reading found, which is known once the stream is there.
#[derive(Debug)]
pub(super) struct Check {
    /// See `Copy` in the kernel's file.
    found: Lent,
    policy: NanPolicy,
    sign: Sign,
}

impl Check {
    pub(super) fn new(queue: &Queue, policy: NanPolicy, sign: Sign) -> Result<Self> {
        let found = queue.pool.take(5 * size_of::<u64>())?;
        found.clear(&queue.stream)?;
        Ok(Self { found, policy, sign })
    }

    /// Waits for the stream; the number of values that were replaced, and of those below 0 by rounding, next to the largest; or the error that names the first.
    pub(super) fn resolve<const N: usize>(
        self,
        queue: &Queue,
        from: &Array<N>,
        name: &str,
        largest: impl FnOnce() -> Result<f32>,
    ) -> Result<[u64; 2]> {
        let mut seen = [0u64; 5];
        queue.fetch(self.found.address(), &mut seen)?;
        let [first, replaced, below, lowest, first_below] = seen;
        if first == 0 && (below == 0 || is_rounding(-f32::from_bits(lowest as u32), largest()?)) {
            return Ok([replaced, below]);
        }
        let at = from.layout().index(!(if first != 0 { first } else { first_below }) as usize);
        // Integers are never errors.
        let mut value = [0f32];
        match from.layout().gpu {
            Some(_) => value[0] = queue.device.read::<f32>(from.layout().element(at).addr() as u64)?,
            None => from.read_row(at, &mut value),
        }
        if !value[0].is_finite() {
            return not_finite(name, &at, value[0]);
        }
        // The first value below 0 may be rounding, and a later one not.
        let lowest = -f32::from_bits(lowest as u32);
        if value[0] > lowest {
            fail!(OutOfRange, "{name}{at:?} is {}, and others are down to {lowest}; none must be below 0", value[0]);
        }
        fail!(OutOfRange, "{name}{at:?} is {}; it must not be below 0", value[0]);
    }
}

/// Copies between the caller's arrays and volumes.
pub(super) struct Copies<'a> {
    pub(super) context: &'a Context,
    pub(super) queue: &'a Queue,
    pub(super) place: Place,
    /// The caller's.
    pub(super) stream: usize,
}

impl Copies<'_> {
    /// Copies an array into a volume; `first` is the number of its first element among those that are checked.
    ///
    /// # Safety
    /// The array is readable, on the host or on this GPU, until the stream has passed this; the GPU is current.
    pub(super) unsafe fn read(&self, from: &Array<3>, to: u64, check: &Check, first: usize) -> Result<()> {
        let (queue, place) = (self.queue, self.place);
        // Back to the pool with the copy under way, whose stream later users follow.
        let copied;
        let layout = from.layout();
        let (array, strides, dtype) = if layout.gpu.is_some() {
            queue.follow(self.stream)?;
            (layout.origin.addr() as u64, layout.strides, layout.dtype)
        } else {
            copied = queue.pool.take(layout.count() * size_of::<f32>())?;
            // SAFETY: room for as many; the rest by this function's contract.
            let dtype = unsafe { self.bring(from, copied.address())? };
            (copied.address(), contiguous(layout.shape), dtype)
        };
        let arguments = Copy {
            is_integer: i32::from(dtype == DType::U32),
            replace: i32::from(check.policy == NanPolicy::Replace),
            least: if check.sign == Sign::NonNegative { 0.0 } else { f32::NEG_INFINITY },
            first: first as i64,
            found: check.found.address(),
            ..place.copy(array, strides, to)
        };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { queue.each((IMAGE, "array_read"), place.shape.iter().product(), &arguments) }
    }

    /// Brings an array in host memory to contiguous elements of the type that it gives: as they are from page-locked memory, as
    /// floats through staging.
    ///
    /// # Safety
    /// As for `read`.
    unsafe fn bring(&self, from: &Array<3>, to: u64) -> Result<DType> {
        let (queue, layout) = (self.queue, from.layout());
        if AS_THEY_ARE.contains(&layout.dtype)
            && let Some(rows) = pinned_rows(layout)
        {
            // SAFETY: by this function's contract.
            unsafe { rows.upload(to, rows.bytes, &queue.stream)? };
            return Ok(layout.dtype);
        }
        // The kernel that follows looks at the values.
        let fill = |first: usize, part: &mut [f32]| {
            self.context.install(|| host::copy_part(from, first, part, |_| {}));
            Ok(())
        };
        // SAFETY: by this function's contract.
        unsafe { queue.staging.upload(&queue.stream, Span::new(to, layout.count()), fill)? };
        Ok(DType::F32)
    }

    /// Copies a volume into an array.
    ///
    /// # Safety
    /// The array is one of f32, writable, on the host or on this GPU, until the stream has passed this; the GPU is current.
    pub(super) unsafe fn write(&self, from: u64, to: &mut ArrayMut<3>) -> Result<()> {
        let (queue, place) = (self.queue, self.place);
        let count = place.shape.iter().product();
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        let copy =
            |array, strides| unsafe { queue.each((IMAGE, "array_write"), count, &place.copy(array, strides, from)) };
        let layout = *to.layout();
        if layout.gpu.is_some() {
            queue.follow(self.stream)?;
            return copy(layout.origin.addr() as u64, layout.strides);
        }
        let copied = queue.pool.take(layout.bytes())?;
        copy(copied.address(), contiguous(layout.shape))?;
        if let Some(rows) = pinned_rows(&layout) {
            // SAFETY: as much memory of the pool; the rest by this function's contract.
            return unsafe {
                Rows::one(copied.address(), rows.bytes).download(rows.address, rows.bytes, &queue.stream)
            };
        }
        let drain = |first: usize, part: &mut [f32]| {
            self.context.install(|| host::write_part(part, first, to));
            Ok(())
        };
        // SAFETY: as above.
        unsafe { queue.staging.download(&queue.stream, Span::new(copied.address(), count), drain) }
    }
}

/// Sum, largest and whether there is a 0, of volumes that are looked at one after the other.
pub(super) struct Survey {
    sums: Lent,
    blocks: usize,
}

/// Bytes for the largest value and whether there is a 0, behind the blocks' sums.
const EXTREMES: usize = 8;

impl Survey {
    pub(super) fn new(queue: &Queue, place: Place) -> Result<Self> {
        let blocks = queue.shape(place.floats()).grid[0];
        let sums = queue.pool.take(blocks * size_of::<f64>() + EXTREMES)?;
        sums.clear(&queue.stream)?;
        Ok(Self { sums, blocks })
    }

    /// # Safety
    /// A volume of the queue's GPU, which is current.
    pub(super) unsafe fn look(&self, queue: &Queue, place: Place, volume: u64) -> Result<()> {
        let sums = self.sums.address();
        let largest = sums + (self.blocks * size_of::<f64>()) as u64;
        let (column, nz) = (place.column as i32, place.shape[0] as i32);
        let count = place.floats() as i64;
        let arguments = FactsArguments { volume, count, column, nz, sums, largest, zero: largest + 4 };
        // SAFETY: the struct mirrors the kernel's, whose blocks are those that there is room for.
        unsafe { queue.each((IMAGE, "array_facts"), place.floats(), &arguments) }
    }

    pub(super) fn result(self, queue: &Queue) -> Result<(f64, f32, bool)> {
        let mut sums = vec![0.0; self.blocks];
        queue.fetch(self.sums.address(), &mut sums)?;
        let mut extremes = [0f32; 2];
        queue.fetch(self.sums.address() + (self.blocks * size_of::<f64>()) as u64, &mut extremes)?;
        Ok((sums.iter().sum(), extremes[0], extremes[1].to_bits() > 0))
    }
}

/// Adds the blocks' tallies up, and takes them back to 0.
///
/// # Safety
/// `tally` has so many pairs of f64, `total` room for one; the GPU is current.
pub(super) unsafe fn total(queue: &Queue, tally: u64, count: usize, total: u64) -> Result<()> {
    // SAFETY: the struct mirrors the kernel's, which is one block's; the rest by this function's contract.
    unsafe { queue.each((IMAGE, "array_total"), 1, &Total { tally, total, count: count as i32 }) }
}

#[cfg(test)]
#[path = "array_tests.rs"]
mod tests;
