//! Numbers from bytes. When the bytes are used up, every choice is the first one: what a careful caller would pass.

pub(crate) struct Input<'d>(&'d [u8]);

/// Bytes below this make the usual choice.
const USUAL: u8 = 160;

impl<'d> Input<'d> {
    pub(crate) fn new(bytes: &'d [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.byte())
    }

    /// Which of so many other than the usual; `None` is the usual one.
    pub(crate) fn odd(&mut self, choices: u8) -> Option<u8> {
        let byte = self.byte();
        (byte >= USUAL).then(|| (byte - USUAL) % choices)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n.max(1)
    }

    /// A value of an enumeration with so many of them, from 0 on; or one that it does not have.
    pub(crate) fn code(&mut self, values: u32) -> u32 {
        match self.byte() {
            255 => u32::MAX,
            b => u32::from(b) % (values + 1) * u32::from(b >= 32),
        }
    }

    /// A size: `usual`, up to `few`, or one about the limit and the ends of its type.
    pub(crate) fn size(&mut self, usual: i64, few: u8, limit: i64) -> i64 {
        match self.odd(96) {
            None => usual,
            Some(k) if k < 80 => i64::from(k % (few + 1)),
            Some(k) => [-1, limit, limit.saturating_add(1), 1 << 31, 1 << 32, 1 << 62, i64::MAX, i64::MIN]
                [usize::from(k - 80) % 8],
        }
    }

    /// A size without the limit itself, where that would take its time.
    pub(crate) fn small(&mut self, usual: i64, few: u8, limit: i64) -> i64 {
        match self.size(usual, few, limit) {
            n if n == limit => usual,
            n => n,
        }
    }

    pub(crate) fn real(&mut self, usual: f64) -> f64 {
        const SPECIAL: [f64; 16] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            1e-3,
            1e3,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            -1e300,
            1e-30,
        ];
        match self.odd(96) {
            None => usual,
            Some(k) if k < 48 => SPECIAL[usize::from(k % 16)],
            Some(k) if k < 80 => usual + f64::from(i16::from_le_bytes(self.bytes())) / 4096.0,
            Some(_) => f64::from_bits(u64::from_le_bytes(self.bytes())),
        }
    }

    /// `struct_size` of a struct of so many bytes.
    pub(crate) fn struct_size(&mut self, right: usize) -> u32 {
        let right = right as u32;
        self.odd(96).and_then(|k| [0, 4, right - 8, right + 8, u32::MAX].get(usize::from(k)).copied()).unwrap_or(right)
    }
}
