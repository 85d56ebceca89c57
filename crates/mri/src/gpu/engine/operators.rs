//! Transforms and F^H W F: what shots see of images first, then what coils see, by this GPU and by those that take some of the coils.

use super::super::q::{Q, QArrays};
use super::super::sets::Sets;
use super::GpuEngine;
use crate::transform::Progress;
use isocenter_base::context::Job;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::fft::{Images, Maps};
use isocenter_nufft::Scalar;
use isocenter_solve::Vectors;
use isocenter_solve::gpu::DeviceVector;

impl<T: Scalar> GpuEngine<T> {
    /// Room for what coils see where there are several sets of sensitivities.
    fn sets(&self) -> Result<Option<Sets<'_>>> {
        match &self.maps {
            Some(maps) if self.scan.sets > 1 => {
                Sets::new::<T>(&self.vectors.queue, &self.coil_kernels, maps.address(), &self.scan).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// samples `[coil][m]` = F images, for the first of the coils.
    ///
    /// # Safety
    /// Both are device memory of these sizes until the stream has passed this; the GPU is current.
    unsafe fn forward_own(&self, images: u64, samples: u64, coils: usize, progress: Progress) -> Result<()> {
        let Some(sets) = self.sets()? else {
            // SAFETY: by this function's contract.
            return unsafe {
                self.transform()?.forward(&self.place(0), &self.images(images), samples, coils, progress)
            };
        };
        let seen = Images { address: sets.seen()[0], maps: None };
        for group in sets.groups(coils) {
            let part = &mut |f: f64| progress((group.start as f64 + f * group.len() as f64) / coils as f64);
            // SAFETY: as above.
            unsafe {
                sets.see(&group, images)?;
                let to = samples + self.samples_before(group.start);
                self.transform()?.forward(&self.place(0), &seen, to, group.len(), part)?;
            }
        }
        Ok(())
    }

    /// images = F^H samples of the first of the coils.
    ///
    /// # Safety
    /// As for `forward_own`.
    unsafe fn adjoint_own(&self, samples: u64, images: u64, coils: usize, progress: Progress) -> Result<()> {
        let Some(sets) = self.sets()? else {
            // SAFETY: by this function's contract.
            return unsafe {
                self.transform()?.adjoint(&self.place(0), samples, &self.images(images), coils, progress)
            };
        };
        let seen = Images { address: sets.seen()[0], maps: None };
        for group in sets.groups(coils) {
            let part = &mut |f: f64| progress((group.start as f64 + f * group.len() as f64) / coils as f64);
            // SAFETY: as above.
            unsafe {
                let from = samples + self.samples_before(group.start);
                self.transform()?.adjoint(&self.place(0), from, &seen, group.len(), part)?;
                sets.combine(&group, seen.address, images)?;
            }
        }
        Ok(())
    }

    /// out = F^H W F image by Q.
    ///
    /// # Safety
    /// As for `forward_own`, with maps of so many coils.
    unsafe fn apply_own_q(&self, q: &mut Q<T>, arrays: QArrays, available: u64, job: &Job) -> Result<()> {
        let Some(sets) = self.sets()? else {
            // SAFETY: by this function's contract.
            return unsafe { q.apply(&self.vectors.queue, arrays, available, job) };
        };
        let [image, out] = sets.seen();
        for group in sets.groups(arrays.coils) {
            // SAFETY: as above.
            unsafe {
                sets.see(&group, arrays.image)?;
                let seen = QArrays { image, out, maps: None, coils: group.len() };
                q.apply(&self.vectors.queue, seen, available, job)?;
                sets.combine(&group, out, arrays.out)?;
            }
        }
        Ok(())
    }

    /// Bytes of so many coils' samples.
    fn samples_before(&self, coil: usize) -> u64 {
        (coil * self.scan.samples() * T::PRECISION.complex()) as u64
    }

    /// What shots see of images; None where there are no shots.
    pub(super) fn by_shots(&mut self, images: &DeviceVector) -> Result<Option<DeviceVector>> {
        let Some(seen) = self.room_by_shots(images.count())? else { return Ok(None) };
        self.each_image(images, &seen, |e, phases, [image, seen], sizes| {
            // SAFETY: vectors of these sizes, which stay in the pool.
            unsafe { e.coil_kernels.multiply(&e.vectors.queue, phases, image, seen, sizes) }
        })?;
        Ok(Some(seen))
    }

    /// images = the sum over shots of what they see.
    pub(super) fn of_shots(&self, seen: &DeviceVector, images: &DeviceVector) -> Result<()> {
        self.each_image(images, seen, |e, phases, [image, seen], sizes| {
            // SAFETY: as for `by_shots`.
            unsafe { e.coil_kernels.combine(&e.vectors.queue, phases, (image, false), seen, sizes) }
        })
    }

    /// Room for what shots see of so many voxels; None where there are no shots.
    pub(super) fn room_by_shots(&mut self, voxels: usize) -> Result<Option<DeviceVector>> {
        match self.scan.by_shots(voxels) {
            0 => Ok(None),
            seen => self.vectors.uninitialised(seen).map(Some),
        }
    }

    /// Calls with where each image and what shots see of it are.
    fn each_image(
        &self,
        images: &DeviceVector,
        seen: &DeviceVector,
        work: impl Fn(&Self, Maps, [u64; 2], [usize; 2]) -> Result<()>,
    ) -> Result<()> {
        let Some(phases) = &self.phases else { return Ok(()) };
        let (voxels, shots) = (self.scan.voxels(), self.scan.effects.images());
        let phases = Maps { address: phases.address(), stride: voxels };
        let behind = |address: u64, images: usize| address + (images * voxels * T::PRECISION.complex()) as u64;
        (0..images.count() / voxels).try_for_each(|k| {
            work(self, phases, [behind(images.address(), k), behind(seen.address(), k * shots)], [voxels, shots])
        })
    }

    /// [`crate::engine::Engine::forward`] of images as shots see them.
    pub(super) fn forward_seen(
        &mut self,
        images: &DeviceVector,
        samples: &mut DeviceVector,
        progress: Progress,
    ) -> Result<()> {
        let coils = samples.count() / self.scan.samples();
        let shares = self.shares(coils);
        if shares {
            self.peers.forward(&self.vectors.queue, images, samples)?;
        }
        let own = if shares { self.peers.own() } else { coils };
        // SAFETY: vectors of these sizes, which stay in the pool.
        unsafe { self.forward_own(images.address(), samples.address(), own, progress)? };
        if shares { self.peers.join(&self.vectors.queue) } else { Ok(()) }
    }

    /// [`crate::engine::Engine::adjoint`] of images as shots see them.
    pub(super) fn adjoint_seen(
        &mut self,
        samples: &DeviceVector,
        images: &mut DeviceVector,
        progress: Progress,
    ) -> Result<()> {
        let coils = samples.count() / self.scan.samples();
        let shares = self.shares(coils);
        let results = match shares {
            true => self.peers.adjoint(&mut self.vectors, samples, images.count())?,
            false => Vec::new(),
        };
        let own = if shares { self.peers.own() } else { coils };
        // SAFETY: as for `forward`.
        unsafe { self.adjoint_own(samples.address(), images.address(), own, progress)? };
        if shares { self.peers.add(&mut self.vectors, results, images) } else { Ok(()) }
    }

    /// [`crate::engine::Engine::apply_pair`] of images as shots see them.
    pub(super) fn apply_pair_seen(
        &mut self,
        image: &DeviceVector,
        samples: &mut DeviceVector,
        out: &mut DeviceVector,
        job: &Job,
    ) -> Result<()> {
        let coils = samples.count() / self.scan.samples();
        let shares = self.shares(coils);
        let results = if shares { self.peers.normal(&mut self.vectors, image, false, job)? } else { Vec::new() };
        let own = if shares { self.peers.own() } else { coils };
        let at = samples.address();
        // SAFETY: vectors of these sizes, which stay in the pool.
        unsafe {
            self.forward_own(image.address(), at, own, &mut |_| job.check())?;
            self.weigh_coils(at, own)?;
            self.adjoint_own(at, out.address(), own, &mut |_| job.check())?;
        }
        if shares { self.peers.add(&mut self.vectors, results, out) } else { Ok(()) }
    }

    /// [`crate::engine::Engine::apply_q`] of images as shots see them.
    pub(super) fn apply_q_seen(&mut self, image: &DeviceVector, out: &mut DeviceVector, job: &Job) -> Result<()> {
        let available = self.budget.available(self.transform_bytes());
        let (shares, maps) = (self.shares(self.scan.coils), self.maps());
        let results = if shares { self.peers.normal(&mut self.vectors, image, true, job)? } else { Vec::new() };
        let coils = if shares { self.peers.own() } else { self.scan.coils_per_problem() };
        let Some(mut q) = self.q.take() else { fail!(Internal, "no Q was prepared") };
        let arrays = QArrays { image: image.address(), out: out.address(), maps, coils };
        // SAFETY: images of the plan's size, which stay in the pool, and maps of so many coils.
        let applied = unsafe { self.apply_own_q(&mut q, arrays, available, job) };
        self.q = Some(q);
        applied?;
        if shares { self.peers.add(&mut self.vectors, results, out) } else { Ok(()) }
    }
}
