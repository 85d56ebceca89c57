//! Arrays wherever a caller may have them.

use super::super::memory::OnGpu;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::tensor::{isoc_device, isoc_dtype, isoc_tensor};

/// Where elements lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Layout {
    /// One after the other.
    Contiguous,
    /// The same, but complex numbers begin where only their parts are aligned.
    Shifted,
    /// Every other element of rows that have room behind them.
    Gaps,
    /// The first dimension fastest, and the last one backwards.
    Turned,
}

/// A kind of array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kind {
    /// None: host memory.
    pub(crate) gpu: Option<i32>,
    pub(crate) layout: Layout,
    pub(crate) double: bool,
}

impl Kind {
    pub(crate) fn host(double: bool) -> Self {
        Self { gpu: None, layout: Layout::Contiguous, double }
    }

    pub(crate) fn gpu(layout: Layout, double: bool) -> Self {
        Self { gpu: Some(0), layout, double }
    }

    /// Host memory, and a GPU's in every layout.
    pub(crate) fn all(double: bool) -> [Self; 5] {
        let gpu = |layout| Self::gpu(layout, double);
        [Self::host(double), gpu(Layout::Contiguous), gpu(Layout::Shifted), gpu(Layout::Gaps), gpu(Layout::Turned)]
    }
}

enum Memory {
    Host(Vec<u64>),
    Gpu(OnGpu<u64>),
}

/// An array, all other bits of whose memory are 1: as a number that is NaN.
pub(crate) struct Array {
    memory: Memory,
    kind: Kind,
    /// Numbers of an element: 1 or 2.
    parts: usize,
    shape: Vec<i64>,
    /// In elements.
    strides: Vec<i64>,
    /// Of the element at index 0, in parts.
    first: i64,
}

impl Array {
    /// Complex numbers.
    pub(crate) fn complex(values: &[C], shape: &[i64], kind: Kind) -> Self {
        let mut array = Self::empty(shape, kind, 2);
        array.fill(values);
        array
    }

    /// Real numbers.
    pub(crate) fn real(values: &[f64], shape: &[i64], kind: Kind) -> Self {
        let mut array = Self::empty(shape, kind, 1);
        array.fill(&values.iter().map(|v| C::new(*v, 0.0)).collect::<Vec<_>>());
        array
    }

    /// Elements of 1 or 2 numbers, none of them set.
    pub(crate) fn empty(shape: &[i64], kind: Kind, parts: usize) -> Self {
        let mut strides = vec![0; shape.len()];
        let (mut first, mut next) = (0, 1);
        let last = shape.len() - 1;
        match kind.layout {
            Layout::Turned => {
                for (s, n) in strides.iter_mut().zip(shape) {
                    *s = next;
                    next *= n;
                }
                first = (shape[last] - 1) * strides[last] * parts as i64;
                strides[last] = -strides[last];
            }
            Layout::Contiguous | Layout::Shifted | Layout::Gaps => {
                let (step, room) = if kind.layout == Layout::Gaps { (2, 3) } else { (1, 0) };
                next = step;
                for (s, n) in strides.iter_mut().zip(shape).rev() {
                    *s = next;
                    next = next * n + room;
                }
                first += i64::from(kind.layout == Layout::Shifted);
            }
        }
        // No dimension reaches beyond `next`, and a shift not beyond one element more.
        let bytes = (next as usize + 1) * parts * if kind.double { 8 } else { 4 };
        let blank = vec![u64::MAX; bytes.div_ceil(8)];
        let memory = match kind.gpu {
            None => Memory::Host(blank),
            Some(gpu) => Memory::Gpu(OnGpu::on(gpu, &blank)),
        };
        Self { memory, kind, parts, shape: shape.to_vec(), strides, first }
    }

    fn size(&self) -> usize {
        if self.kind.double { 8 } else { 4 }
    }

    /// Byte of the first number of every element, the last dimension fastest.
    fn places(&self) -> Vec<usize> {
        let count = self.shape.iter().product::<i64>();
        let place = |mut i: i64| {
            let mut at = self.first;
            for (n, s) in self.shape.iter().zip(&self.strides).rev() {
                at += i % n * s * self.parts as i64;
                i /= n;
            }
            at as usize * self.size()
        };
        (0..count).map(place).collect()
    }

    fn words(&self) -> Vec<u64> {
        match &self.memory {
            Memory::Host(words) => words.clone(),
            Memory::Gpu(memory) => memory.read(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.words().into_iter().flat_map(u64::to_ne_bytes).collect()
    }

    fn fill(&mut self, values: &[C]) {
        let (mut bytes, places, size) = (self.bytes(), self.places(), self.size());
        assert_eq!(places.len(), values.len());
        for (place, v) in places.into_iter().zip(values) {
            for (part, number) in [v.re, v.im].into_iter().enumerate().take(self.parts) {
                let to = &mut bytes[place + part * size..][..size];
                if self.kind.double {
                    to.copy_from_slice(&number.to_ne_bytes());
                } else {
                    to.copy_from_slice(&(number as f32).to_ne_bytes());
                }
            }
        }
        let word = |b: &[u8]| u64::from_ne_bytes(b.try_into().expect("8 bytes"));
        let words: Vec<u64> = bytes.chunks_exact(8).map(word).collect();
        self.memory = match self.kind.gpu {
            None => Memory::Host(words),
            Some(gpu) => Memory::Gpu(OnGpu::on(gpu, &words)),
        };
    }

    /// The elements; a real one as a complex number.
    pub(crate) fn values(&self) -> Vec<C> {
        let (bytes, size) = (self.bytes(), self.size());
        let number = |at: usize| {
            let from = &bytes[at..][..size];
            match self.kind.double {
                true => f64::from_ne_bytes(from.try_into().expect("8 bytes")),
                false => f64::from(f32::from_ne_bytes(from.try_into().expect("4 bytes"))),
            }
        };
        let imaginary = |at| if self.parts == 2 { number(at + size) } else { 0.0 };
        self.places().into_iter().map(|at| C::new(number(at), imaginary(at))).collect()
    }

    /// Whether all that is no element is as it was.
    pub(crate) fn rest_is_untouched(&self) -> bool {
        let (mut bytes, element) = (self.bytes(), self.parts * self.size());
        self.places().into_iter().for_each(|at| bytes[at..][..element].fill(0xff));
        bytes.iter().all(|b| *b == 0xff)
    }

    /// Whether an array that began empty still is.
    pub(crate) fn is_untouched(&self) -> bool {
        self.words().iter().all(|w| *w == u64::MAX)
    }

    /// Its memory, if a GPU's.
    pub(crate) fn memory(&self) -> &OnGpu<u64> {
        match &self.memory {
            Memory::Gpu(memory) => memory,
            Memory::Host(_) => panic!("an array in host memory"),
        }
    }

    /// For a call while this array stays where it is.
    pub(crate) fn tensor(&mut self) -> isoc_tensor {
        let (data, device) = match &mut self.memory {
            Memory::Host(words) => (words.as_mut_ptr().cast(), isoc_device { device_type: 1, device_id: 0 }),
            Memory::Gpu(m) => (
                std::ptr::with_exposed_provenance_mut(m.address as usize),
                isoc_device { device_type: 2, device_id: self.kind.gpu.unwrap_or(0) },
            ),
        };
        let code = if self.parts == 2 { 5 } else { 2 };
        isoc_tensor {
            data,
            device,
            ndim: self.shape.len() as i32,
            dtype: isoc_dtype { code, bits: (8 * self.parts * self.size()) as u8, lanes: 1 },
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            byte_offset: (self.first * self.size() as i64) as u64,
        }
    }
}

/// A call on arrays.
pub(crate) fn call(scan: &Scan, run: Run, from: &mut Array, to: &mut Array) -> Status {
    // SAFETY: both tensors have their memory.
    unsafe { run(scan.mri, &from.tensor(), &to.tensor()) }
}

/// Not a bit is different.
pub(crate) fn same(a: &[C], b: &[C]) -> bool {
    let bits = |v: &C| [v.re.to_bits(), v.im.to_bits()];
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bits(a) == bits(b))
}
