//! Memory that is used again: what is new costs more than what is done with it.

use crate::memory::at_least;
use anyhow::Result;
use std::sync::Mutex;

#[derive(Default)]
pub struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Buffers {
    /// One of any length.
    pub fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).pop().unwrap_or_default()
    }

    /// One of so many bytes; what they hold says nothing.
    pub fn of(&self, bytes: usize) -> Result<Vec<u8>> {
        let mut buffer = self.take();
        at_least(&mut buffer, bytes)?;
        buffer.truncate(bytes);
        Ok(buffer)
    }

    pub fn give_back(&self, buffer: Vec<u8>) {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(buffer);
    }
}
