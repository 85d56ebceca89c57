//! Vectors of complex numbers in a GPU's memory.

use super::{Course, Momentum, Survey, Vectors};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Arithmetic, Device, DeviceReal, Lent, Queue};
use std::sync::Arc;

/// Complex numbers on the GPU.
#[derive(Debug)]
pub struct DeviceVector {
    memory: Lent,
    count: usize,
}

impl DeviceVector {
    /// Of memory that holds so many complex numbers.
    pub fn new(memory: Lent, count: usize) -> Self {
        Self { memory, count }
    }

    pub fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Bytes of its memory.
    pub fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    /// Complex numbers.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Their arithmetic, in the order of the queue's stream. Methods are called while the queue's GPU is current.
#[derive(Debug)]
pub struct GpuVectors<T> {
    pub queue: Arc<Queue>,
    arithmetic: Arithmetic<T>,
}

impl<T: DeviceReal> GpuVectors<T> {
    pub fn new(device: &Arc<Device>) -> Result<Self> {
        Self::on(Arc::new(Queue::new(device)?))
    }

    /// With the stream and the memory of others that are not at work.
    pub fn on(queue: Arc<Queue>) -> Result<Self> {
        Ok(Self { arithmetic: Arithmetic::new(&queue)?, queue })
    }
}

/// An error unless all have the same length.
fn check_lengths(vectors: &[&DeviceVector]) -> Result<()> {
    if vectors.windows(2).any(|pair| pair[0].count != pair[1].count) {
        let counts: Vec<usize> = vectors.iter().map(|v| v.count).collect();
        fail!(Internal, "vectors of {counts:?} elements; they must have the same length");
    }
    Ok(())
}

impl<T: DeviceReal> Vectors for GpuVectors<T> {
    type Vector = DeviceVector;

    fn len(&self, vector: &DeviceVector) -> usize {
        vector.count
    }

    fn uninitialised(&mut self, count: usize) -> Result<DeviceVector> {
        Ok(DeviceVector { memory: self.queue.pool.take(count * T::PRECISION.complex())?, count })
    }

    fn zeros(&mut self, count: usize) -> Result<DeviceVector> {
        let vector = self.uninitialised(count)?;
        vector.memory.clear(&self.queue.stream)?;
        Ok(vector)
    }

    fn filled(&mut self, count: usize, value: f64) -> Result<DeviceVector> {
        let vector = self.uninitialised(count)?;
        // SAFETY: a vector of so many elements, which stays in the pool.
        unsafe { self.arithmetic.fill(&self.queue, vector.address(), value, count)? };
        Ok(vector)
    }

    fn copy(&mut self, from: (&DeviceVector, usize), to: (&mut DeviceVector, usize), count: usize) -> Result<()> {
        let complex = T::PRECISION.complex();
        if from.1 + count > from.0.count || to.1 + count > to.0.count {
            fail!(Internal, "{count} elements from {} and {} on are not there", from.1, to.1);
        }
        let at = |v: &DeviceVector, first: usize| v.address() + (first * complex) as u64;
        // SAFETY: inside both vectors, which stay in the pool.
        unsafe { self.queue.duplicate(at(from.0, from.1), at(to.0, to.1), count * complex) }
    }

    fn dot(&mut self, a: &DeviceVector, b: &DeviceVector) -> Result<f64> {
        check_lengths(&[a, b])?;
        // SAFETY: vectors of the same length, which stay in the pool.
        unsafe { self.arithmetic.dot(&self.queue, a.address(), b.address(), a.count) }
    }

    fn combine(&mut self, a: f64, x: &DeviceVector, b: f64, y: &mut DeviceVector) -> Result<()> {
        check_lengths(&[x, y])?;
        // SAFETY: as for `dot`.
        unsafe { self.arithmetic.combine(&self.queue, (a, x.address()), (b, y.address()), x.count) }
    }

    fn step(
        &mut self,
        a: f64,
        (direction, product): (&DeviceVector, &DeviceVector),
        x: &mut DeviceVector,
        residual: &mut DeviceVector,
    ) -> Result<f64> {
        check_lengths(&[direction, product, x, residual])?;
        let along = (direction.address(), product.address());
        let to = (x.address(), residual.address());
        // SAFETY: as for `dot`.
        unsafe { self.arithmetic.step(&self.queue, a, along, to, x.count) }
    }
}

impl<T: DeviceReal> Momentum for GpuVectors<T> {
    fn descend(
        &mut self,
        step: f64,
        momentum: f64,
        course: Course<&DeviceVector>,
        right: &DeviceVector,
        out: &mut DeviceVector,
    ) -> Result<()> {
        let Course { x: [x, nx], before: [b, nb] } = course;
        check_lengths(&[x, nx, b, nb, right, out])?;
        let of = [x, nx, b, nb, right].map(DeviceVector::address);
        // SAFETY: as for `dot`.
        unsafe { self.arithmetic.descend(&self.queue, [step, momentum], of, out.address(), x.count) }
    }

    fn survey(
        &mut self,
        momentum: f64,
        course: Course<&DeviceVector>,
        right: &DeviceVector,
        [next, nn]: [&DeviceVector; 2],
    ) -> Result<Survey> {
        let Course { x: [x, nx], before: [b, nb] } = course;
        check_lengths(&[x, nx, b, nb, right, next, nn])?;
        let of = [x, nx, b, nb, right].map(DeviceVector::address);
        // SAFETY: as for `dot`.
        let sums =
            unsafe { self.arithmetic.survey(&self.queue, momentum, of, [next.address(), nn.address()], x.count) }?;
        Ok(Survey::new(sums))
    }
}
