//! What methods do to the vectors of some slices in a GPU's memory. The host looks an iteration behind at what was found.

use super::change::{Change, Lessen, Mark};
use super::launches::ONE_BLOCK;
use super::resident::Resident;
use super::slab::Slab;
use crate::iterative::history::Iterated;
use crate::iterative::norms::Norms;
use crate::iterative::space::{
    Bound, Dual, Excess, Hasten, Image, Limit, Offsets, Penalty, Primal, Rows, Shift, Space, Sum,
};
use isocenter_base::cpu::buffer::copied;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{DeviceMemory, Rows as PinnedRows, clear_device, copy_device};

/// Iterations that the GPU may be behind the host.
const BEHIND: usize = 1;

impl Resident<'_> {
    /// Tells the history of all iterations that were recorded.
    pub(super) fn finish(&mut self) -> Result<()> {
        if self.looked < self.recorded {
            self.stream.synchronize()?;
        }
        while self.looked < self.recorded {
            self.look();
        }
        self.slab.iteration.history.add(std::mem::take(&mut self.found));
        Ok(())
    }

    /// Takes what the next iteration found, which must be there.
    fn look(&mut self) -> usize {
        let k = self.looked;
        // SAFETY: page-locked memory of as many pairs as there are iterations; the kernel that wrote this one has ended.
        let (objective, slices) = unsafe {
            let at = self.history.data().add(16 * k);
            (at.cast::<f64>().read(), at.add(8).cast::<i64>().read() as usize)
        };
        self.tell(Iterated { iteration: k, objective, gap: f64::INFINITY, slices });
        self.looked += 1;
        slices
    }
}

impl Space for Resident<'_> {
    fn forward(&mut self, subset: usize, image: Image, rows: Rows) -> Result<()> {
        let v = self.vectors;
        let at = self.places(v.image(self.at, image), v.rows(self.at, rows));
        // SAFETY: vectors of so many slices, which live until the stream is waited for.
        unsafe { self.pairs.forward(self.state, subset, at, v.slices, self.stream)? };
        match self.slab.iteration.weights() {
            Some([roots, _]) => self.times([rows, roots]),
            None => Ok(()),
        }
    }

    fn adjoint(&mut self, subset: usize, rows: Rows, image: Image) -> Result<()> {
        let v = self.vectors;
        let rows = match self.slab.iteration.weights() {
            Some([roots, weighed]) => {
                let [from, to] = [rows, weighed].map(|rows| v.rows(self.at, rows));
                // SAFETY: as above.
                unsafe { copy_device(from, to, 4 * v.slices * v.samples, self.stream)? };
                self.times([weighed, roots])?;
                weighed
            }
            None => rows,
        };
        let at = self.places(v.image(self.at, image), v.rows(self.at, rows));
        // SAFETY: as above.
        unsafe { self.pairs.adjoint(self.state, self.lines, subset, at, v.slices, self.stream) }
    }

    fn convolve(&mut self, image: Image, to: Image) -> Result<()> {
        let v = self.vectors;
        let Some((_, product)) = &self.state.convolution else { fail!(Internal, "a convolution that was not made") };
        let [from, to] = [image, to].map(|image| v.image(self.at, image));
        // SAFETY: as above; the workspace is nobody else's between two launches.
        unsafe { product.apply(from, to, v.slices, self.at.workspace, self.stream) }
    }

    fn residual(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(projected, data, Some(subset)));
        let shared = self.factors.rays.as_ref().map_or(0, |rays| rays.address() + 4 * change.first as u64);
        self.launch(|k| &k.residual, Change { shared, ..change })
    }

    fn ratio(&mut self, subset: usize, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(projected, data, Some(subset)));
        let shared = self.factors.rays.as_ref().map_or(0, |rays| rays.address() + 4 * change.first as u64);
        self.launch(|k| &k.ratio, Change { shared, ..change })
    }

    fn slope(&mut self, data: Rows, projected: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(projected, data, None));
        let shared = self.factors.rays.as_ref().map_or(0, DeviceMemory::address);
        self.launch(|k| &k.slope, Change { shared, ..change })
    }

    fn conjugate(&mut self, rows: Rows, data: Rows, sum: Sum) -> Result<()> {
        let change = self.summed(sum, self.row_change(rows, data, None));
        let shared = self.factors.rays.as_ref().map_or(0, DeviceMemory::address);
        self.launch(|k| &k.conjugate, Change { shared, ..change })
    }

    fn count(&mut self, rows: Rows, projected: Rows, data: Rows, [step, relaxed]: [Sum; 2]) -> Result<()> {
        let shared = self.factors.rays.as_ref().map_or(0, DeviceMemory::address);
        self.launch(|k| &k.beyond, self.part(step, self.row_change(projected, rows, None)))?;
        let change = self.part(step, self.row_change(projected, data, None));
        self.launch(|k| &k.counted, Change { shared, ..change })?;
        self.launch(|k| &k.oppose, self.part(relaxed, self.row_change(rows, projected, None)))
    }

    fn retreat(&mut self, rows: Rows, by: Rows, quotient: [Sum; 2], sum: Sum) -> Result<()> {
        self.launch(|k| &k.add, self.summed(sum, self.by(quotient, -1.0, self.row_change(rows, by, None))))
    }

    fn withdraw(&mut self, image: Image, by: Image, quotient: [Sum; 2], sum: Sum) -> Result<()> {
        self.launch(|k| &k.add, self.summed(sum, self.by(quotient, -1.0, self.image_change(image, by))))
    }

    fn square(&mut self, rows: Rows, sum: Sum) -> Result<()> {
        self.launch(|k| &k.square, self.summed(sum, self.row_change(rows, rows, None)))
    }

    fn relax(&mut self, subset: usize, image: Image, by: Image, step: f32) -> Result<()> {
        let shared = self.factors.pixels[subset].address();
        self.launch(|k| &k.relax, Change { shared, step, ..self.image_change(image, by) })
    }

    fn join(&mut self, image: Image, by: Image) -> Result<()> {
        let shared = self.mask.map_or(0, DeviceMemory::address);
        self.launch(|k| &k.relax, Change { shared, ..self.image_change(image, by) })
    }

    fn multiply(&mut self, subset: usize, image: Image, by: Image) -> Result<()> {
        let shared = self.factors.pixels[subset].address();
        self.launch(|k| &k.multiply, Change { shared, ..self.image_change(image, by) })
    }

    fn blank(&mut self, image: Image, spare: Image) -> Result<()> {
        // 0, whatever it was: the image, less the image.
        self.launch(|k| &k.turn, Change { step: 0.0, ..self.image_change(spare, image) })?;
        self.launch(|k| &k.add, Change { step: -1.0, ..self.image_change(spare, image) })?;
        for of in &self.factors.pixels {
            let (shared, lower, upper) = (of.address(), 0.0, f32::INFINITY);
            self.launch(|k| &k.relax, Change { shared, lower, upper, ..self.image_change(spare, image) })?;
        }
        self.launch(|k| &k.sign, self.image_change(spare, spare))?;
        self.launch(|k| &k.times, self.image_change(image, spare))
    }

    fn descend(&mut self, by: Image, image: Image, weight: f32, sum: Sum) -> Result<()> {
        let shared = self.mask.map_or(0, DeviceMemory::address);
        let change = Change { shared, step: -weight, ..self.image_change(by, image) };
        self.launch(|k| &k.descend, self.summed(sum, change))
    }

    fn advance(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()> {
        self.launch(|k| &k.add, self.by(quotient, 1.0, self.image_change(image, by)))
    }

    fn turn(&mut self, image: Image, by: Image, quotient: [Sum; 2]) -> Result<()> {
        self.launch(|k| &k.turn, self.by(quotient, 1.0, self.image_change(image, by)))
    }

    fn inner(&mut self, image: Image, by: Image, sum: Sum) -> Result<()> {
        self.launch(|k| &k.inner, self.summed(sum, self.image_change(image, by)))
    }

    fn weigh(&mut self, image: Image, weight: f64, sum: Sum) -> Result<()> {
        self.launch(|k| &k.square, Change { weight, ..self.summed(sum, self.image_change(image, image)) })
    }

    fn apart(&mut self, rows: Rows, of: Rows, square: Sum, sum: Sum) -> Result<()> {
        let change = self.row_change(rows, of, None);
        self.launch(|k| &k.distance, self.summed(square, change))?;
        self.launch(|k| &k.difference, self.summed(sum, change))
    }

    fn approach(&mut self, rows: Rows, by: Rows, part: Sum) -> Result<()> {
        self.launch(|k| &k.blend, self.part(part, self.row_change(rows, by, None)))
    }

    fn approach_smoothly(&mut self, rows: Rows, by: Rows, steps: [Sum; 2]) -> Result<()> {
        self.go_smoothly(rows, by, steps)
    }

    fn blend(&mut self, image: Image, by: Image, part: Sum) -> Result<()> {
        self.launch(|k| &k.blend, self.part(part, self.image_change(image, by)))
    }

    fn primal(&mut self, step: Primal) -> Result<()> {
        self.variation().primal(&step)
    }

    fn dual(&mut self, step: Dual) -> Result<()> {
        self.variation().dual(&step)
    }

    fn polish(&mut self, back: Image, fields: [Image; 2], penalty: Penalty) -> Result<()> {
        self.variation().polish(back, fields, penalty)
    }

    fn bound(&mut self, bound: Bound) -> Result<()> {
        self.variation().bound(&bound)
    }

    fn duplicate(&mut self, from: Rows, to: Rows) -> Result<()> {
        let v = self.vectors;
        let [from, to] = [from, to].map(|rows| v.rows(self.at, rows));
        // SAFETY: rows of all slices, which live until the stream is waited for.
        unsafe { copy_device(from, to, 4 * v.slices * v.samples, self.stream) }
    }

    fn spread(&mut self, offsets: Offsets, rows: Rows, factor: f32) -> Result<()> {
        self.rings().spread(offsets, rows, factor)
    }

    fn gather(&mut self, rows: Rows, offsets: Offsets) -> Result<()> {
        self.rings().gather(rows, offsets)
    }

    fn shift(&mut self, step: Shift) -> Result<()> {
        self.rings().shift(&step)
    }

    fn limit(&mut self, limit: Limit) -> Result<()> {
        self.rings().limit(&limit)
    }

    fn hasten(&mut self, step: Hasten) -> Result<()> {
        self.fista().hasten(&step)
    }

    fn excess(&mut self, of: Excess) -> Result<()> {
        self.fista().excess(&of)
    }

    fn quicken(&mut self, momentum: Sum, turned: Sum, part: Sum) -> Result<()> {
        self.fista().quicken([momentum, turned, part])
    }

    fn image_moved(&mut self, image: Image, sum: Sum) -> Result<()> {
        self.variation().image_moved(image, sum)
    }

    fn rows_moved(&mut self, rows: Rows, sum: Sum) -> Result<()> {
        self.variation().rows_moved(rows, sum)
    }

    fn norms(&mut self) -> Result<Norms> {
        match self.factors.norms {
            Some(norms) => Ok(norms),
            None => fail!(Internal, "norms that nobody asked for"),
        }
    }

    fn read(&mut self, sum: Sum) -> Result<Vec<f64>> {
        let (count, from) = (self.vectors.slices, self.vectors.sum(self.at, sum));
        let host = self.numbers.data();
        // SAFETY: page-locked memory of as many numbers, which the stream fills before they are read.
        unsafe {
            PinnedRows::one(from, 8 * count).download(host.addr() as u64, 8 * count, self.stream)?;
            self.stream.synchronize()?;
            copied(std::slice::from_raw_parts(host.cast::<f64>(), count))
        }
    }

    fn set(&mut self, sum: Sum, values: &[f64]) -> Result<()> {
        let (count, to) = (self.vectors.slices, self.vectors.sum(self.at, sum));
        let host = self.numbers.data();
        // SAFETY: page-locked memory of as many numbers, which nobody uses before or after the wait.
        unsafe {
            std::slice::from_raw_parts_mut(host.cast::<f64>(), count).copy_from_slice(values);
            PinnedRows::one(host.addr() as u64, 8 * count).upload(to, 8 * count, self.stream)?;
        }
        self.stream.synchronize()
    }

    fn running(&mut self) -> Result<Vec<bool>> {
        copied(&self.running)
    }

    fn end(&mut self, ended: &[bool]) -> Result<()> {
        self.running.iter_mut().zip(ended).for_each(|(runs, ended)| *runs &= !ended);
        Ok(())
    }

    fn tell(&mut self, found: Iterated) {
        let Slab { context, job, first, count, .. } = *self.slab;
        found.say((context, job), first..first + count);
        self.found.push(found);
    }

    fn clear(&mut self, sum: Sum) -> Result<()> {
        let at = self.vectors.sum(self.at, sum);
        // SAFETY: a sum of each slice, which lives until the stream is waited for.
        unsafe { clear_device(at, 8 * self.vectors.slices, self.stream) }
    }

    fn copy(&mut self, from: Sum, to: Sum) -> Result<()> {
        let [from, to] = [from, to].map(|sum| self.vectors.sum(self.at, sum));
        // SAFETY: as above.
        unsafe { copy_device(from, to, 8 * self.vectors.slices, self.stream) }
    }

    fn lessen(&mut self, sum: Sum, [over, under]: [Sum; 2]) -> Result<()> {
        let [sums, over, under] = [sum, over, under].map(|sum| self.vectors.sum(self.at, sum));
        let (ended, slices) = (self.vectors.ended(self.at), self.vectors.slices as i32);
        let lessen = Lessen { sums, over, under, ended, slices };
        self.queue(&self.kernels()?.lessen, ONE_BLOCK, &lessen)
    }

    fn end_where(&mut self, sum: Sum, part: f64, of: Sum) -> Result<()> {
        let [sums, of] = [sum, of].map(|sum| self.vectors.sum(self.at, sum));
        let (ended, slices) = (self.vectors.ended(self.at), self.vectors.slices as i32);
        let mark = Mark { sums, of, ended, objective: 0, slices_left: 0, part, factor: 0.0, slices };
        self.mark(&self.kernels()?.end, mark)
    }

    fn record(&mut self, iteration: usize, objective: Sum, factor: f64) -> Result<()> {
        let sums = self.vectors.sum(self.at, objective);
        let (ended, slices) = (self.vectors.ended(self.at), self.vectors.slices as i32);
        let to = self.history.data().addr() as u64 + 16 * iteration as u64;
        let mark = Mark { sums, of: 0, ended, objective: to, slices_left: to + 8, part: 0.0, factor, slices };
        self.recorded = iteration + 1;
        self.mark(&self.kernels()?.record, mark)
    }

    fn go_on(&mut self) -> Result<bool> {
        let Slab { context, job, geometry, iteration, own, .. } = self.slab;
        self.marks[self.iterations % 2].record(self.stream)?;
        self.iterations += 1;
        let mut left = true;
        if self.iterations > BEHIND {
            self.marks[(self.iterations - 1 - BEHIND) % 2].synchronize()?;
            while self.looked < self.recorded.min(self.iterations - BEHIND) {
                left = self.look() > 0;
            }
        }
        job.advance(*own as f64 / geometry.slices as f64 / iteration.options.iterations as f64);
        context.report_between(job);
        job.check()?;
        Ok(left && self.running.contains(&true))
    }
}
