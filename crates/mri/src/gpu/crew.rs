//! Other GPUs of the context, which take frames of a series: each knows all that the first one does, and copies frames' samples and images from
//! its memory and back.

use super::peers::LEAST;
use crate::engine::Engine;
use crate::matrix::Matrix;
use isocenter_base::context::{Context, LogLevel};
use isocenter_base::error::Result;
use isocenter_base::gpu::{Device, Queue, copy_between};
use isocenter_nufft::Scalar;
use isocenter_solve::Vectors;
use isocenter_solve::gpu::{DeviceVector, GpuVectors};
use std::ops::Range;
use std::sync::Arc;

/// What a member is told besides what a scan has.
pub(super) struct Told<T: Scalar> {
    /// Of differences, `[axis][voxel]`.
    pub(super) squared: Option<Vec<f64>>,
    pub(super) matrix: Option<Arc<Matrix<T>>>,
}

impl<T: Scalar> Default for Told<T> {
    fn default() -> Self {
        Self { squared: None, matrix: None }
    }
}

/// The members, once they were needed.
pub(super) struct Crew<E> {
    devices: Vec<Arc<Device>>,
    members: Vec<E>,
    /// A GPU had no memory for what a member keeps: until something changes, there are none.
    refused: bool,
}

impl<E> Crew<E> {
    /// On these GPUs.
    pub(super) fn new(devices: &[Arc<Device>]) -> Self {
        Self { devices: devices.to_vec(), members: Vec::new(), refused: false }
    }

    /// Whether there may be one, so that what its members are told has to be kept.
    pub(super) fn is_possible(&self) -> bool {
        !self.devices.is_empty()
    }

    /// What the first GPU knows has changed.
    pub(super) fn dismiss(&mut self) {
        self.members.clear();
        self.refused = false;
    }

    pub(super) fn keep(&mut self, members: Vec<E>) {
        self.members = members;
    }

    /// For so many frames of so many voxels of coils; `make` gives one on a GPU.
    pub(super) fn take(
        &mut self,
        context: &Context,
        (frames, voxels): (usize, usize),
        first: &Arc<Device>,
        make: impl Fn(&Arc<Device>) -> Result<E>,
    ) -> Result<Vec<E>> {
        if self.refused || frames < 2 || frames.saturating_mul(voxels) < LEAST {
            return Ok(Vec::new());
        }
        let wanted = self.devices.len().min(frames - 1);
        for device in self.devices.iter().take(wanted).skip(self.members.len()) {
            first.reach(device)?;
            device.reach(first)?;
            match make(device) {
                Err(e) if e.lacks_memory() => {
                    context.log(LogLevel::Info, || {
                        format!("frames are not shared out to GPU {}: {}", device.index(), e.message)
                    });
                    self.refused = true;
                    self.members.clear();
                    break;
                }
                made => self.members.push(made?),
            }
        }
        Ok(std::mem::take(&mut self.members))
    }
}

/// A vector of the first GPU's.
pub(crate) struct LentVector {
    address: u64,
    device: Arc<Device>,
}

impl LentVector {
    pub(super) fn new(queue: &Queue, vector: &DeviceVector) -> Result<Self> {
        queue.stream.synchronize()?;
        Ok(Self { address: vector.address(), device: queue.device.clone() })
    }

    fn at<T: Scalar>(&self, piece: &Range<usize>) -> (u64, &Device) {
        (self.address + (piece.start * T::PRECISION.complex()) as u64, &self.device)
    }

    /// Pieces of it, one after the other; the GPU of these vectors is current.
    pub(super) fn fetch<T: Scalar>(
        &self,
        vectors: &mut GpuVectors<T>,
        pieces: &[Range<usize>],
    ) -> Result<DeviceVector> {
        let own = vectors.uninitialised(pieces.iter().map(Range::len).sum())?;
        let (queue, mut at) = (&vectors.queue, own.address());
        for piece in pieces {
            let bytes = piece.len() * T::PRECISION.complex();
            // SAFETY: both have as many numbers; the first GPU's vector is there until all members have ended.
            unsafe { copy_between(self.at::<T>(piece), (at, &queue.device), bytes, &queue.stream)? };
            at += bytes as u64;
        }
        Ok(own)
    }

    /// The other way round.
    pub(super) fn deliver<T: Scalar>(
        &self,
        queue: &Queue,
        vector: &DeviceVector,
        pieces: &[Range<usize>],
    ) -> Result<()> {
        let mut at = vector.address();
        for piece in pieces {
            let bytes = piece.len() * T::PRECISION.complex();
            // SAFETY: as for `fetch`; members write different pieces.
            unsafe { copy_between((at, &queue.device), self.at::<T>(piece), bytes, &queue.stream)? };
            at += bytes as u64;
        }
        Ok(())
    }
}

/// Tells a member what the first GPU was told; its GPU is current.
pub(super) fn tell<T: Scalar, E: Engine<Scalar = T, Vectors = GpuVectors<T>>>(
    member: &mut E,
    maps: Option<(&LentVector, usize)>,
    told: &Told<T>,
) -> Result<()> {
    if let Some((maps, count)) = maps {
        let own = maps.fetch(member.vectors(), std::slice::from_ref(&(0..count)))?;
        member.set_maps(Some(own))?;
    }
    member.set_difference_weights(told.squared.as_deref())?;
    if let Some(matrix) = &told.matrix {
        member.set_matrix(matrix.clone())?;
    }
    member.vectors().queue.stream.synchronize()
}
