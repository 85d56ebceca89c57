//! Tensors of a shape that a call expects, in all the ways that a caller lays them out, and in some that are wrong.

use super::caller::Caller;
use isocenter::ffi::tensor::*;
use std::ptr;

pub(crate) const F16: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_FLOAT, bits: 16, lanes: 1 };
pub(crate) const F32: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_FLOAT, bits: 32, lanes: 1 };
pub(crate) const F64: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_FLOAT, bits: 64, lanes: 1 };
pub(crate) const C64: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_COMPLEX, bits: 64, lanes: 1 };
pub(crate) const C128: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_COMPLEX, bits: 128, lanes: 1 };
pub(crate) const U32: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_UINT, bits: 32, lanes: 1 };
pub(crate) const U16: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_UINT, bits: 16, lanes: 1 };
pub(crate) const U8: isoc_dtype = isoc_dtype { code: ISOC_DTYPE_UINT, bits: 8, lanes: 1 };

/// Elements that an array has at most.
const MOST: i64 = 1 << 16;
/// Elements that the buffer of one with strides has at most.
const WIDEST: i128 = 1 << 18;

/// A tensor, and its elements' buffer where it is contiguous.
#[derive(Clone, Copy)]
pub(crate) struct Made {
    pub(crate) tensor: *const isoc_tensor,
    pub(crate) data: *mut u8,
    pub(crate) bytes: usize,
}

impl Made {
    /// NULL.
    pub(crate) const NONE: Self = Self { tensor: ptr::null(), data: ptr::null_mut(), bytes: 0 };
}

/// Values of an input, one after the other.
pub(crate) type Values<'v> = &'v dyn Fn(usize) -> f64;

/// Small, positive, and different from their neighbours.
pub(crate) fn plain(k: usize) -> f64 {
    0.125 * ((7 * k + 3) % 11) as f64
}

fn size_of_dtype(dtype: isoc_dtype) -> usize {
    usize::from(dtype.bits) / 8
}

/// # Safety
/// `to` is an element's place.
unsafe fn write(to: *mut u8, dtype: isoc_dtype, value: f64) {
    // SAFETY: as the dtype says; places may be misaligned.
    unsafe {
        match (dtype.code, dtype.bits) {
            // As any other two bytes.
            (ISOC_DTYPE_FLOAT, 16) => to.cast::<u16>().write_unaligned((1000.0 * value) as u16),
            (ISOC_DTYPE_FLOAT, 32) => to.cast::<f32>().write_unaligned(value as f32),
            (ISOC_DTYPE_FLOAT, _) => to.cast::<f64>().write_unaligned(value),
            (ISOC_DTYPE_COMPLEX, 64) => to.cast::<[f32; 2]>().write_unaligned([value as f32, 0.5 * value as f32]),
            (ISOC_DTYPE_COMPLEX, _) => to.cast::<[f64; 2]>().write_unaligned([value, 0.5 * value]),
            (_, 8) => to.write((40.0 * value) as u8),
            (_, 16) => to.cast::<u16>().write_unaligned((1000.0 * value) as u16),
            _ => to.cast::<u32>().write_unaligned((8.0 * value) as u32),
        }
    }
}

impl Caller<'_> {
    /// An input of this shape; its sizes are altered only where the call knows them beforehand (`known`).
    pub(crate) fn input_tensor(&mut self, shape: &[i64], dtype: isoc_dtype, values: Values<'_>, known: bool) -> Made {
        let value = match self.input.odd(96) {
            Some(0) => f64::NAN,
            Some(1) => f64::INFINITY,
            Some(2) => -1.0,
            Some(3) => 0.0,
            Some(4) => 1e38,
            Some(5) => f64::MAX,
            Some(6) => self.input.real(0.0),
            _ => return self.tensor(shape, dtype, Some(values), known),
        };
        let (place, all) = (self.input.below(16), self.input.odd(2).is_some());
        self.tensor(shape, dtype, Some(&|k| if all || k == place { value } else { values(k) }), known)
    }

    pub(crate) fn output_tensor(&mut self, shape: &[i64], dtype: isoc_dtype) -> Made {
        self.tensor(shape, dtype, None, true)
    }

    /// An output whose sizes the call takes from it, so that they are never more than there is.
    pub(crate) fn output_of_its_size(&mut self, shape: &[i64], dtype: isoc_dtype) -> Made {
        self.tensor(shape, dtype, None, false)
    }

    /// The dtype, or one of all that there are.
    pub(crate) fn dtype(&mut self, usual: isoc_dtype) -> isoc_dtype {
        self.input
            .odd(96)
            .and_then(|k| [F32, F64, C64, C128, U32, U16, U8, F16].get(usize::from(k)).copied())
            .unwrap_or(usual)
    }

    fn tensor(&mut self, shape: &[i64], dtype: isoc_dtype, values: Option<Values<'_>>, known: bool) -> Made {
        let product = shape.iter().try_fold(1i64, |n, s| n.checked_mul(*s).filter(|n| *s >= 0 && *n <= MOST));
        let Some(elements) = product else {
            // More than this caller has: an array that is too small, which its shape says.
            return self.put(&vec![1; shape.len()], None, dtype, values, (0, 1), 0);
        };
        let n = shape.len();
        let contiguous = (0, elements as i128);
        let Some(odd) = self.input.odd(48) else { return self.put(shape, None, dtype, values, contiguous, 0) };
        let mut sizes = shape.to_vec();
        let mut strides: Option<Vec<i64>> = None;
        match odd {
            0 => return Made::NONE,
            1 if n > 1 => {
                sizes.remove(0);
            }
            2 => sizes.insert(0, 1),
            3 if known => {
                let k = self.input.below(n);
                sizes[k] = self.input.size(sizes[k] + 1, 20, i64::MAX - 1);
            }
            4 | 5 => strides = Some(self.permuted(shape, odd == 5)),
            6 => strides = Some(vec![0; n]),
            7 => strides = Some((0..n).map(|_| self.input.below(17) as i64 - 8).collect()),
            8 => {
                let far = [i64::MAX, i64::MIN, 1 << 62, 1 << 56, -(1 << 60), 1 << 59];
                strides = Some((0..n).map(|_| far[self.input.below(6)]).collect());
            }
            _ => {}
        }
        let extent = match &strides {
            None => contiguous,
            Some(strides) => {
                let reach = |(n, s): (&i64, &i64)| i128::from(n - 1) * i128::from(*s);
                let reaches: Vec<i128> = sizes.iter().zip(strides).map(reach).collect();
                (reaches.iter().filter(|r| **r < 0).sum(), 1 + reaches.iter().filter(|r| **r > 0).sum::<i128>())
            }
        };
        let span = extent.1 - extent.0;
        if span > WIDEST && span * (size_of_dtype(dtype) as i128) <= 1 << 56 {
            // The library may believe it, and there is no such buffer.
            return self.put(shape, None, dtype, values, contiguous, 0);
        }
        self.put(&sizes, strides, dtype, values, extent, odd)
    }

    /// Strides of dimensions in another order, with gaps between elements, some of them reversed.
    fn permuted(&mut self, shape: &[i64], reversed: bool) -> Vec<i64> {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        for k in 1..order.len() {
            order.swap(k, self.input.below(k + 1));
        }
        let mut next = 1 + self.input.below(3) as i64;
        let mut strides = vec![0; shape.len()];
        for d in order {
            let sign = if reversed && self.input.below(2) == 0 { -1 } else { 1 };
            strides[d] = sign * next;
            next *= shape[d].max(1);
        }
        strides
    }

    /// The tensor, with the faults that its bytes and pointers can have.
    fn put(
        &mut self,
        shape: &[i64],
        strides: Option<Vec<i64>>,
        dtype: isoc_dtype,
        values: Option<Values<'_>>,
        (low, high): (i128, i128),
        odd: u8,
    ) -> Made {
        let size = size_of_dtype(dtype);
        let fits = high - low <= WIDEST;
        let bytes = if fits { (high - low) as usize * size } else { 0 };
        let offset = if fits { -low as usize * size } else { 0 };
        let mut data = match (odd == 9).then(|| self.input.below(3)).and_then(|back| self.memory.earlier(back)) {
            Some((data, len)) if len >= bytes => data,
            _ => self.memory.bytes(bytes, usize::from(odd == 10)),
        };
        if let Some(values) = values.filter(|_| fits) {
            let walk = strides.clone().unwrap_or_else(|| contiguous(shape));
            let elements = shape.iter().fold(1, |n: i64, s| n.saturating_mul(*s));
            for k in 0..elements.min(MOST) {
                let (mut left, mut at) = (k, 0i64);
                for (n, s) in shape.iter().zip(&walk).rev() {
                    at = at.wrapping_add((left % n).wrapping_mul(*s));
                    left /= n;
                }
                let place = at.wrapping_mul(size as i64).wrapping_add(offset as i64);
                if (0..bytes as i64).contains(&place) {
                    // SAFETY: within the buffer, since the extent is that of all elements.
                    unsafe { write(data.add(place as usize), dtype, values(k as usize)) };
                }
            }
        }
        let made = data;
        let mut tensor = isoc_tensor {
            data: data.cast(),
            device: isoc_device { device_type: ISOC_DEVICE_HOST, device_id: 0 },
            ndim: shape.len() as i32,
            dtype,
            shape: self.memory.values(shape, usize::from(odd == 11)),
            strides: strides.map_or(ptr::null(), |s| self.memory.values(&s, usize::from(odd == 12)).cast_const()),
            byte_offset: offset as u64,
        };
        match odd {
            13 => data = ptr::null_mut(),
            14 => tensor.shape = ptr::null(),
            15 => tensor.ndim = [-1, 0, i32::MAX, i32::MIN][self.input.below(4)],
            16 => tensor.device.device_type = [0, ISOC_DEVICE_CUDA_HOST][self.input.below(2)],
            17 => tensor.device.device_type = [ISOC_DEVICE_CUDA, -1, 4, i32::MAX][self.input.below(4)],
            18 => tensor.byte_offset = [u64::MAX, 1 << 63, i64::MAX as u64, u64::MAX - 3][self.input.below(4)],
            19 => tensor.dtype.code = 7,
            20 => tensor.dtype.bits = [0, 1, 255][self.input.below(3)],
            21 => tensor.dtype.lanes = [0, 2, u16::MAX][self.input.below(3)],
            22 if offset > 0 => tensor.byte_offset = 0, // strides that reach before the data
            _ => {}
        }
        tensor.data = data.cast();
        Made { tensor: self.memory.values(&[tensor], usize::from(odd == 23)), data: made, bytes }
    }
}

fn contiguous(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1i64; shape.len()];
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d].saturating_mul(shape[d]);
    }
    strides
}
