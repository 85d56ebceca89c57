//! Choices from bytes.

/// When the bytes are used up, every choice is the first.
pub struct Choices<'b>(&'b [u8]);

impl<'b> Choices<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// Of a byte, or of two where there are so many choices.
    pub fn below(&mut self, end: usize) -> usize {
        let high = if end > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (high | usize::from(self.byte())) % end
    }

    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// In one of so many cases.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// As many bytes as the next one says, and there are.
    pub fn some(&mut self) -> &'b [u8] {
        let length = self.below(256).min(self.0.len());
        let (some, rest) = self.0.split_at(length);
        self.0 = rest;
        some
    }

    /// All that are left.
    pub fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.0)
    }
}
