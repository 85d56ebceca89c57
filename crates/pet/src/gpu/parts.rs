//! A view's tables in one piece of memory.

/// Tables one after the other, for one copy to the GPU.
#[derive(Debug, Default)]
pub(super) struct Parts(Vec<u8>);

impl Parts {
    fn push(&mut self, bytes: impl Iterator<Item = [u8; 4]>) -> usize {
        // As far apart as loads of any width ask for.
        self.0.resize(self.0.len().next_multiple_of(256), 0);
        let place = self.0.len();
        self.0.extend(bytes.flatten());
        place
    }

    /// Where they begin.
    pub(super) fn push_ints(&mut self, values: impl Iterator<Item = i32>) -> usize {
        self.push(values.map(i32::to_ne_bytes))
    }

    /// Where they begin.
    pub(super) fn push_floats(&mut self, values: &[f32]) -> usize {
        self.push(values.iter().map(|v| v.to_ne_bytes()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
