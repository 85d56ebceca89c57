//! The caller's arrays on their way to and from a GPU: straight from pinned memory, through pinned staging otherwise.

use super::layout::{Layout, contiguous};
use crate::context::Context;
use crate::cpu::parallel::*;
use crate::error::Result;
use crate::gpu::{Device, Rows, Span, Staging, Stream, is_pinned};
use std::sync::Arc;

/// Bytes that are worth a task of their own.
const TASK: usize = 256 << 10;
/// The driver's limit on distances between rows.
const MAX_PITCH: usize = (1 << 31) - 1;

/// A three-dimensional part of a caller's array, its dimensions from slow to fast as a packed copy has them.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    address: *mut u8,
    shape: [usize; 3],
    /// In bytes.
    strides: [isize; 3],
    element: usize,
    /// Dimension of the array behind each of these.
    order: [usize; 3],
}

// SAFETY: an address; whoever follows it has a view's access.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// `count` indices from `first` on in dimension `dim`, all of the others; slow and fast as they lie in memory.
    pub fn new(layout: &Layout, dim: usize, first: usize, count: usize) -> Self {
        let mut order = [0, 1, 2];
        let size = |d: usize| if d == dim { count } else { layout.shape[d] };
        // Dimensions of one index have no say.
        order.sort_by_key(|&d| {
            std::cmp::Reverse(if size(d) == 1 { usize::MAX } else { layout.strides[d].unsigned_abs() })
        });
        Self::ordered(layout, dim, first, count, order)
    }

    /// The same with the order of a packed copy given.
    pub fn ordered(layout: &Layout, dim: usize, first: usize, count: usize, order: [usize; 3]) -> Self {
        let element = layout.dtype.size();
        let bytes = layout.strides.map(|s| s * element as isize);
        let address = layout.origin.cast_mut().wrapping_offset(first as isize * bytes[dim]);
        let mut shape = layout.shape;
        shape[dim] = count;
        Self { address, shape: order.map(|d| shape[d]), strides: order.map(|d| bytes[d]), element, order }
    }

    /// Sizes in the order of a packed copy.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Strides in the order of a packed copy, in elements.
    pub fn strides(&self) -> [i64; 3] {
        self.strides.map(|s| s as i64 / self.element as i64)
    }

    pub fn address(&self) -> u64 {
        self.address.addr() as u64
    }

    pub fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.element
    }

    /// The packed copy at this address of a device, a line a unit.
    fn span(&self, address: u64) -> Span {
        Span { address, count: self.bytes(), unit: self.shape[2] * self.element }
    }

    /// Strides of the packed copy on the device, in elements, for the array's own dimensions.
    pub fn packed_strides(&self) -> [i64; 3] {
        let mut strides = [0; 3];
        let mut step = 1;
        for (&d, &n) in self.order.iter().zip(&self.shape).rev() {
            strides[d] = step;
            step *= n as i64;
        }
        strides
    }

    /// Strides as they are, in elements, for the array's own dimensions.
    pub fn own_strides(&self) -> [i64; 3] {
        let mut strides = [0; 3];
        for (&d, &s) in self.order.iter().zip(&self.strides) {
            strides[d] = s as i64 / self.element as i64;
        }
        strides
    }

    /// Rows that the driver can copy, with their places in a packed copy; None if elements do not follow each other, or rows lie
    /// closer together than they are long (an input may repeat or overlap them): the driver's pitch is a row's length at least.
    fn rows(&self) -> Option<Vec<(Rows, usize)>> {
        let [a, b, c] = self.shape;
        let [sa, sb, sc] = self.strides;
        if (c > 1 && sc != self.element as isize) || (a > 1 && sa < 0) || (b > 1 && sb < 0) {
            return None;
        }
        let line = c * self.element;
        // A single row or plane has no distance to the next; its stride may be anything.
        let sb = if b == 1 { line } else { sb.unsigned_abs() };
        let sa = if a == 1 { b * sb } else { sa.unsigned_abs() };
        let pitches = |length: usize| length..=MAX_PITCH.max(length);
        let rows =
            |offset: usize, pitch, bytes, count| Rows { address: self.address() + offset as u64, pitch, bytes, count };
        if sb == line && pitches(b * line).contains(&sa) {
            return Some(vec![(rows(0, sa, b * line, a), 0)]);
        }
        if !pitches(line).contains(&sb) {
            return None;
        }
        if sa == b * sb {
            return Some(vec![(rows(0, sb, line, a * b), 0)]);
        }
        Some((0..a).map(|i| (rows(i * sa, sb, line, b), i * b * line)).collect())
    }

    /// Copies lines (first two dimensions as one) from `first` on between the array and packed bytes.
    ///
    /// # Safety
    /// The array is host memory that holds the block, and nobody else touches it in a way that conflicts.
    unsafe fn copy_lines<const IN: bool>(&self, first: usize, packed: &mut [u8]) {
        let [_, b, c] = self.shape;
        let line = c * self.element;
        let lines = (TASK / line).max(1);
        packed.par_chunks_mut(lines * line).enumerate().for_each(|(task, part)| {
            for (k, bytes) in part.chunks_exact_mut(line).enumerate() {
                let l = first + task * lines + k;
                let offset = (l / b) as isize * self.strides[0] + (l % b) as isize * self.strides[1];
                let at = self.address.wrapping_offset(offset);
                // SAFETY: a line of the block, by this function's contract; packed bytes are not the caller's.
                unsafe { copy_line::<IN>(at, self.strides[2], self.element, bytes) };
            }
        });
    }
}

/// # Safety
/// Elements `stride` bytes apart from `at` are valid, as many as there are in `bytes`.
unsafe fn copy_line<const IN: bool>(at: *mut u8, stride: isize, element: usize, bytes: &mut [u8]) {
    // SAFETY: by this function's contract.
    unsafe {
        if stride == element as isize || bytes.len() == element {
            if IN {
                std::ptr::copy_nonoverlapping(at, bytes.as_mut_ptr(), bytes.len());
            } else {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, bytes.len());
            }
            return;
        }
        for (k, value) in bytes.chunks_exact_mut(element).enumerate() {
            let at = at.offset(k as isize * stride);
            if IN {
                std::ptr::copy_nonoverlapping(at, value.as_mut_ptr(), element);
            } else {
                std::ptr::copy_nonoverlapping(value.as_ptr(), at, element);
            }
        }
    }
}

/// Copies blocks one way, in one stream.
#[derive(Debug)]
pub struct Transfer {
    /// Waited for before the staging goes.
    pub stream: Stream,
    staging: Staging,
}

impl Transfer {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Ok(Self { stream: Stream::new(device)?, staging: Staging::new(device) })
    }

    /// Brings a block of host memory to packed device memory, in the stream's order. The block has been read, or stays valid
    /// until the stream is there.
    ///
    /// # Safety
    /// The block is readable, `to` holds it, for that long; the GPU is current.
    pub unsafe fn upload(&self, context: &Context, block: &Block, to: u64) -> Result<()> {
        if let Some(rows) = block.rows().filter(|_| is_pinned(block.address)) {
            for (rows, at) in rows {
                // SAFETY: by this function's contract.
                unsafe { rows.upload(to + at as u64, rows.bytes, &self.stream)? };
            }
            return Ok(());
        }
        let span = block.span(to);
        // SAFETY: lines of the block, by this function's contract.
        let fill = |first: usize, part: &mut [u8]| unsafe {
            context.install(|| block.copy_lines::<true>(first / span.unit, part));
            Ok(())
        };
        // SAFETY: by this function's contract.
        unsafe { self.staging.upload(&self.stream, span, fill) }
    }

    /// Brings packed device memory to a block of host memory. Pinned blocks are complete when the stream is there, others when
    /// this returns.
    ///
    /// # Safety
    /// The block is writable, `from` holds it, for that long; the GPU is current.
    pub unsafe fn download(&self, context: &Context, block: &Block, from: u64) -> Result<()> {
        if let Some(list) = block.rows().filter(|_| is_pinned(block.address)) {
            for (rows, at) in list {
                let Rows { address, pitch, bytes, count } = rows;
                let packed = Rows { address: from + at as u64, pitch: bytes, bytes, count };
                // SAFETY: by this function's contract.
                unsafe { packed.download(address, pitch, &self.stream)? };
            }
            return Ok(());
        }
        let span = block.span(from);
        // SAFETY: lines of the block, by this function's contract.
        let drain = |first: usize, part: &mut [u8]| unsafe {
            context.install(|| block.copy_lines::<false>(first / span.unit, part));
            Ok(())
        };
        // SAFETY: by this function's contract.
        unsafe { self.staging.download(&self.stream, span, drain) }
    }
}

/// All elements of an array, if they follow each other in page-locked memory, so that copies need no staging. Needs a GPU to be
/// current.
pub fn pinned_rows<const N: usize>(layout: &Layout<N>) -> Option<Rows> {
    let lies = layout.gpu.is_none() && layout.strides == contiguous(layout.shape) && is_pinned(layout.origin);
    lies.then(|| Rows::one(layout.origin.addr() as u64, layout.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::DType;

    /// A packed copy, by the rows that the driver would copy.
    fn copied(block: &Block, rows: &[(Rows, usize)]) -> Vec<u8> {
        let mut packed = vec![0xEE; block.bytes()];
        for (rows, at) in rows {
            assert!(rows.count == 1 || rows.pitch >= rows.bytes, "{rows:?}: the driver refuses such a pitch");
            for r in 0..rows.count {
                let from = block.address.wrapping_add(rows.address as usize - block.address.addr() + r * rows.pitch);
                // SAFETY: inside the test's array, which `block` describes; bytes of numbers.
                let line = unsafe { std::slice::from_raw_parts(from, rows.bytes) };
                packed[at + r * rows.bytes..][..rows.bytes].copy_from_slice(line);
            }
        }
        packed
    }

    #[test]
    fn the_drivers_rows_are_the_blocks() {
        let values: Vec<f32> = (0..4096).map(|k| k as f32).collect();
        let (shape, [v, r, b]) = ([5, 2, 7], [14, 7, 1]);
        // Packed; frames and rows with gaps; rows that overlap; rows and frames that are the same.
        let copies =
            [[v, r, b], [v + 3, r, b], [2 * v, 2 * r, b], [50, 11, b], [r, r, b], [9, r, b], [0, r, b], [r, v * 5, b]];
        let staged = [[7, 3, b], [v, 0, b], [0, 0, b], [v, r, 2], [-v, r, b], [v, -r, b], [1, 5, 10]];
        for (strides, by_rows) in copies.map(|s| (s, true)).into_iter().chain(staged.map(|s| (s, false))) {
            for (first, count) in [(0, 2), (1, 1)] {
                let middle = values[1024..].as_ptr().cast::<u8>();
                let layout = Layout { strides, ..Layout::new(middle, DType::F32, shape) };
                let block = Block::ordered(&layout, 1, first, count, [0, 1, 2]);
                let mut expected = vec![0; block.bytes()];
                // SAFETY: strides stay within the array.
                unsafe { block.copy_lines::<true>(0, &mut expected) };
                match block.rows() {
                    Some(rows) => assert_eq!(copied(&block, &rows), expected, "{strides:?}, {count} rows"),
                    None => assert!(!by_rows || count == 1, "{strides:?} can be copied by rows"),
                }
            }
        }
    }
}
