//! Copies of arrays that are on a GPU, in host memory.

use super::access::Array;
use super::layout::{Layout, contiguous};
use crate::cpu::buffer::Buffer;
use crate::error::{Result, fail};
use crate::gpu::Device;

/// The elements of an array, one after the other.
pub struct Fetched {
    bytes: Buffer<u8>,
    layout: Layout,
}

impl Fetched {
    /// Copies all elements; their rows in pieces as large as they lie together, with what is between strided ones.
    pub fn new(gpu: &Device, from: &Layout) -> Result<Self> {
        let ([n, rows, length], size) = (from.shape, from.dtype.size());
        let Some(count) = n.checked_mul(rows).and_then(|lines| lines.checked_mul(length)?.checked_mul(size)) else {
            fail!(SizeOverflow, "{n} x {rows} x {length} elements do not fit the address space");
        };
        let mut bytes = Buffer::zeroed(count)?;
        let whole = from.strides[2] == 1 && (rows == 1 || from.strides[1] == length as isize);
        if whole {
            for (i, part) in bytes.chunks_exact_mut(rows * length * size).enumerate() {
                gpu.read_into(from.element([i, 0, 0]).addr() as u64, part)?;
            }
        } else {
            let step = from.strides[2].unsigned_abs() * size;
            let mut span = Buffer::<u8>::zeroed(step * (length - 1) + size)?;
            for (line, part) in bytes.chunks_exact_mut(length * size).enumerate() {
                let [first, last] = [0, length - 1].map(|k| from.element([line / rows, line % rows, k]).addr());
                gpu.read_into(first.min(last) as u64, &mut span)?;
                for (k, to) in part.chunks_exact_mut(size).enumerate() {
                    let at = if from.strides[2] < 0 { length - 1 - k } else { k } * step;
                    to.copy_from_slice(&span[at..at + size]);
                }
            }
        }
        let layout = Layout { origin: bytes.data(), strides: contiguous(from.shape), gpu: None, ..*from };
        Ok(Self { bytes, layout })
    }

    /// Access to the copy.
    pub fn array(&self) -> Array<'_> {
        debug_assert_eq!(self.bytes.len(), self.layout.bytes());
        // SAFETY: the buffer, which lives as long, holds the elements, aligned for any.
        unsafe { Array::over(self.layout) }
    }
}
