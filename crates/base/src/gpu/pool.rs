//! Device memory that is used again: the driver's own allocation takes longer than many a kernel.

use super::device::Device;
use super::memory::DeviceMemory;
use crate::error::{Result, Status};
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory for work in one stream: what comes back is lent again at once, and is ready when the stream's earlier work is done.
#[derive(Debug)]
pub struct Pool {
    device: Arc<Device>,
    free: Mutex<Vec<DeviceMemory>>,
    /// Bytes of all of its memory, lent or not.
    total: AtomicU64,
    /// Nothing is kept unused beyond so many.
    limit: AtomicU64,
}

impl Pool {
    pub fn new(device: &Arc<Device>) -> Arc<Self> {
        Arc::new(Self {
            device: device.clone(),
            free: Mutex::default(),
            total: AtomicU64::new(0),
            limit: AtomicU64::new(u64::MAX),
        })
    }

    fn free(&self) -> MutexGuard<'_, Vec<DeviceMemory>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At least `bytes`, with whatever was there before.
    pub fn take(self: &Arc<Self>, bytes: usize) -> Result<Lent> {
        let mut free = self.free();
        let fitting =
            free.iter().enumerate().filter(|(_, m)| m.bytes() >= bytes && m.bytes() / 2 <= bytes.max(1 << 16));
        let best = fitting.min_by_key(|(_, m)| m.bytes()).map(|(k, _)| k);
        let memory = match best {
            Some(k) => free.swap_remove(k),
            None => {
                if self.bytes() + bytes as u64 > self.limit.load(Ordering::Relaxed) {
                    self.give_back(&mut free);
                }
                let memory = match DeviceMemory::new(&self.device, bytes) {
                    Err(e) if e.status == Status::OutOfMemory && !free.is_empty() => {
                        self.give_back(&mut free);
                        DeviceMemory::new(&self.device, bytes)?
                    }
                    made => made?,
                };
                self.total.fetch_add(memory.bytes() as u64, Ordering::Relaxed);
                memory
            }
        };
        Ok(Lent { memory: Some(memory), pool: self.clone() })
    }

    fn give_back(&self, free: &mut Vec<DeviceMemory>) {
        let bytes: usize = free.drain(..).map(|m| m.bytes()).sum();
        self.total.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// From now on keeps to so many bytes, as far as it has any that nobody uses.
    pub fn limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        if self.bytes() > bytes {
            self.give_back(&mut self.free());
        }
    }

    /// Bytes that it has from the driver.
    pub fn bytes(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }
}

/// Memory of a pool, which gets it back.
#[derive(Debug)]
pub struct Lent {
    /// There until it is dropped.
    memory: Option<DeviceMemory>,
    pool: Arc<Pool>,
}

impl Deref for Lent {
    type Target = DeviceMemory;

    fn deref(&self) -> &DeviceMemory {
        self.memory.as_ref().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            self.pool.free().push(memory);
        }
    }
}
