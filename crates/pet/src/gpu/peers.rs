//! Other GPUs of the context, which take some of the views of a subset: each has these views' projections and histo-images, gets the image and
//! gives back its part of the subset's sum.

use super::array::Place;
use super::data::Data;
use super::volume::Volume;
use crate::engine::{Engine, Progress, Ratio, Scan, Sum};
use isocenter_base::context::{Context, Job};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Event, Interconnect, Queue, copy_between};
use std::sync::Arc;

/// Seconds that both projections of a view take for each voxel, at the least, and that an exchange of images takes besides its
/// copies. Of H100s.
const VOXEL: f64 = 8e-11;
const EXCHANGE: f64 = 4e-5;
/// Image, ratio, sum.
const VOLUMES: usize = 3;

/// An engine on a GPU, which may work for another one.
pub(super) trait Member: Engine<Volume = Volume> {
    /// On a GPU that no other one helps.
    fn alone(context: &Arc<Context>, device: &Arc<Device>, scan: Scan) -> Result<Self>;
    fn queue(&self) -> &Queue;
    fn place(&self) -> Place;
    /// Whether these views' projections are there and need no memory.
    fn is_complete(&self, views: &[usize]) -> bool;
    /// [`Engine::add_ratios`] on this GPU alone.
    fn add_own(
        &mut self,
        views: &[usize],
        data: &Data<'_>,
        of: Ratio,
        volumes: Sum<Volume>,
        progress: Progress,
    ) -> Result<()>;
}

/// How many GPUs of so many find a subset's sum first, of so many views.
fn fastest(place: Place, views: f64, most: usize, link: Interconnect) -> usize {
    let seconds = |gpus: usize| {
        let exchange = EXCHANGE + 2.0 * (gpus - 1) as f64 * place.bytes() as f64 / bandwidth(link);
        VOXEL * place.floats() as f64 * (views / gpus as f64).ceil() + if gpus > 1 { exchange } else { 0.0 }
    };
    (1..=most).min_by(|a, b| seconds(*a).total_cmp(&seconds(*b))).unwrap_or(1)
}

/// Bytes a second between two GPUs.
fn bandwidth(link: Interconnect) -> f64 {
    match link {
        // Measured between H100s.
        Interconnect::Same | Interconnect::NvLink => 1.5e11,
        // Presumed: what 16 lanes of PCI Express 4 leave, once, and there and back.
        Interconnect::Bus => 2e10,
        Interconnect::Host => 1e10,
    }
}

/// All of them, once they were needed.
pub(super) struct Peers<E> {
    devices: Vec<Arc<Device>>,
    /// The slowest from the first GPU to another.
    link: Interconnect,
    pub(super) list: Vec<Peer<E>>,
    /// The first GPU's work so far.
    pub(super) ready: Event,
    /// One had no memory for what it needs: there are none until something changes.
    pub(super) refused: bool,
    /// However small the work is.
    #[cfg(test)]
    pub(super) always: bool,
}

impl<E: Member> Peers<E> {
    pub(super) fn new(first: &Arc<Device>, others: &[Arc<Device>]) -> Result<Self> {
        Ok(Self {
            devices: others.to_vec(),
            link: others.iter().map(|other| first.link(other)).max().unwrap_or(Interconnect::Same),
            list: Vec::new(),
            ready: Event::new(first)?,
            refused: false,
            #[cfg(test)]
            always: false,
        })
    }

    pub(super) fn dismiss(&mut self) {
        self.list.clear();
        self.refused = false;
    }

    /// Which GPU takes each view, 0 the first; None where the first GPU alone is as fast.
    pub(super) fn split(&self, place: Place, views: usize, subsets: &[Vec<usize>]) -> Option<Vec<usize>> {
        let most = subsets.iter().map(Vec::len).min()?.min(self.devices.len() + 1);
        if self.refused || most < 2 {
            return None;
        }
        let mean = subsets.iter().map(Vec::len).sum::<usize>() as f64 / subsets.len() as f64;
        let best = fastest(place, mean, most, self.link);
        #[cfg(test)]
        let best = if self.always { most } else { best };
        if best < 2 {
            return None;
        }
        let mut owners = vec![0; views];
        for subset in subsets {
            // The first GPU, which adds up, has the fewest.
            subset.iter().enumerate().for_each(|(k, view)| owners[*view] = best - 1 - k % best);
        }
        Some(owners)
    }

    /// The next one, made if it is not there.
    pub(super) fn make(
        &mut self,
        context: &Arc<Context>,
        first: &Arc<Device>,
        scan: &Scan,
        arrived: Volume,
    ) -> Result<()> {
        let device = &self.devices[self.list.len()];
        first.reach(device)?;
        device.reach(first)?;
        let engine = E::alone(context, device, scan.clone())?;
        self.list.push(Peer { done: Event::new(device)?, device: device.clone(), engine, volumes: None, arrived });
        Ok(())
    }

    /// Waits for all of their work.
    pub(super) fn wait(&self) -> Result<()> {
        let waited =
            self.list.iter().map(|p| p.device.enter().and_then(|_current| p.engine.queue().stream.synchronize()));
        waited.fold(Ok(()), Result::and)
    }
}

/// One of them.
pub(super) struct Peer<E> {
    pub(super) device: Arc<Device>,
    pub(super) engine: E,
    volumes: Option<[Volume; VOLUMES]>,
    /// Room on the first GPU for its sum.
    pub(super) arrived: Volume,
    /// Its work so far.
    pub(super) done: Event,
}

impl<E: Member> Peer<E> {
    /// What it needs for some views of the first GPU's data, which stays as it is until this returns.
    pub(super) fn take<'a>(
        &mut self,
        (context, job): (&Context, &Job),
        first: &Queue,
        data: &Data<'a>,
        views: &[usize],
    ) -> Result<Data<'a>> {
        let _current = self.device.enter()?;
        self.engine.prepare(context, views, VOLUMES, job)?;
        if !self.engine.is_complete(views) {
            fail!(MemoryCap, "GPU {} has no memory for {} views", self.device.index(), views.len());
        }
        if self.volumes.is_none() {
            self.volumes = Some([self.engine.zeros()?, self.engine.zeros()?, self.engine.zeros()?]);
        }
        first.stream.synchronize()?;
        let queue = self.engine.queue();
        // SAFETY: this GPU is current; the data are there and are not written to, and the copies are waited for.
        let part = unsafe { data.part(first, queue, self.engine.place(), views) };
        queue.stream.synchronize()?;
        part
    }

    /// Begins its part of a sum, when the first GPU has come to `ready`; see [`Engine::add_ratios`].
    pub(super) fn begin(
        &mut self,
        (first, ready): (&Queue, &Event),
        image: &Volume,
        (views, data): (&[usize], &Data<'_>),
        of: Ratio,
    ) -> Result<()> {
        let _current = self.device.enter()?;
        let Some([own, ratio, sum]) = &mut self.volumes else { fail!(Internal, "a GPU has taken no views") };
        let bytes = self.engine.place().bytes();
        self.engine.queue().stream.wait(ready)?;
        // SAFETY: volumes of either GPU; the first one waits for `done` before it changes its own.
        unsafe {
            copy_between((image.at(), &first.device), (own.at(), &self.device), bytes, &self.engine.queue().stream)?;
        }
        self.engine.fill(sum, 0.0)?;
        self.engine.add_own(views, data, of, (own, ratio, sum), &mut |_| Ok(()))?;
        let stream = &self.engine.queue().stream;
        // SAFETY: as above.
        unsafe { copy_between((sum.at(), &self.device), (self.arrived.at(), &first.device), bytes, stream)? };
        self.done.record(stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_links_make_it_fewer() {
        // 150 x 150 x 48 voxels, 4.3 MB: a view takes 86 us; both copies 58 us by NVLink, 430 by the bus, 860 by the host.
        let place = Place::new([48, 150, 150]).expect("valid");
        for (views, gpus) in [(1.0, [1, 1, 1]), (4.0, [2, 1, 1]), (12.0, [4, 2, 1]), (60.0, [4, 3, 2])] {
            let found = [Interconnect::NvLink, Interconnect::Bus, Interconnect::Host]
                .map(|link| fastest(place, views, 4, link));
            assert_eq!(found, gpus, "{views}");
        }
    }
}
