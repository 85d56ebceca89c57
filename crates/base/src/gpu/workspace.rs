//! How much working memory a computation takes, and its parts.

/// Bytes of working memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkspaceBytes {
    /// What the computation cannot do without.
    pub minimum: u64,
    /// What it takes no more time with; beyond, nothing is gained.
    pub preferred: u64,
}

impl WorkspaceBytes {
    /// No more and no less.
    pub fn exactly(bytes: u64) -> Self {
        Self { minimum: bytes, preferred: bytes }
    }

    /// For either of two computations, one after the other in the same memory.
    pub fn max(self, other: Self) -> Self {
        Self { minimum: self.minimum.max(other.minimum), preferred: self.preferred.max(other.preferred) }
    }

    /// With so many bytes beside it.
    pub fn plus(self, bytes: u64) -> Self {
        Self { minimum: self.minimum + bytes, preferred: self.preferred + bytes }
    }
}

/// Regions of one piece of memory, one after the other, each aligned to 256 bytes.
#[derive(Debug, Default)]
pub struct Regions {
    end: usize,
}

impl Regions {
    /// The offset of a new one.
    pub fn add(&mut self, bytes: usize) -> usize {
        let start = self.end;
        self.end += bytes.next_multiple_of(256);
        start
    }

    /// Bytes of all regions.
    pub fn bytes(&self) -> usize {
        self.end
    }
}
