//! A run of one process.

use super::{Shared, Team};
use crate::memory::zeros;
use anyhow::Result;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
pub struct Alone {
    next: AtomicUsize,
}

impl Team for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn neighbours(&self) -> [usize; 2] {
        [0, 1]
    }

    fn threads(&self) -> usize {
        0
    }

    fn told(&self, said: Vec<u8>) -> Result<Vec<u8>> {
        Ok(said)
    }

    fn next(&self) -> Result<usize> {
        Ok(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn gathered(&self, own: f64) -> Result<Vec<f64>> {
        Ok(vec![own])
    }

    fn meet(&self) -> Result<()> {
        Ok(())
    }

    fn shared(&self, bytes: usize) -> Result<Box<dyn Shared>> {
        Ok(Box::new(Own(zeros(bytes)?)))
    }
}

struct Own(Vec<u8>);

impl Shared for Own {
    fn own(&mut self) -> &mut [u8] {
        &mut self.0
    }

    fn read(&self, _: usize, at: u64, step: u64, piece: usize, to: &mut [u8]) -> Result<()> {
        let from = self.0[at as usize..].chunks(step as usize);
        to.chunks_exact_mut(piece).zip(from).for_each(|(to, from)| to.copy_from_slice(&from[..piece]));
        Ok(())
    }
}
