//! Histo-images of a reconstruction, on the GPU as long as they fit.

use super::array::{Check, Copies, Survey};
use crate::array::Array;
use crate::context::{Job, NanPolicy};
use crate::error::Result;
use crate::gpu::Lent;
use crate::pet::engine::{Facts, Sign};
use crate::pet::histos::Histos;

/// Measured, factors, additive.
const KINDS: usize = 3;

/// The histo-images of a reconstruction: held on the GPU, or read from the caller view by view.
pub(in crate::pet) struct Data<'a> {
    pub(super) facts: Facts,
    histos: Histos<'a>,
    /// Volumes of all views.
    held: Option<[Option<Lent>; KINDS]>,
}

/// A view's volumes; 0 where there is none. What was read for them alone goes back to the pool with them.
pub(super) struct OfView {
    pub(super) measured: u64,
    pub(super) factors: u64,
    pub(super) additive: u64,
    _read: [Option<Lent>; KINDS],
}

fn kinds<'h, 'a>(histos: &'h Histos<'a>) -> [Option<(&'h Array<'a, 4>, &'static str)>; KINDS] {
    let Histos { measured, factors, additive } = histos;
    let (factors, additive) = (factors.as_ref(), additive.as_ref());
    [Some((measured, "measured")), factors.map(|f| (f, "factors")), additive.map(|a| (a, "additive"))]
}

impl<'a> Data<'a> {
    /// Bytes of histo-images that are held.
    pub(super) fn bytes(histos: &Histos, volume: usize) -> u64 {
        let [views, ..] = histos.measured.shape();
        (kinds(histos).iter().flatten().count() * views) as u64 * volume as u64
    }

    /// Reads and checks all of them, and keeps them if told so; the number of values that were replaced.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn load(
        copies: &Copies,
        histos: &Histos<'a>,
        policy: NanPolicy,
        hold: bool,
        job: &Job,
    ) -> Result<(Self, u64)> {
        let (queue, place) = (copies.queue, copies.place);
        let [views, ..] = histos.measured.shape();
        let voxels: usize = place.shape.iter().product();
        let mut held = [None, None, None];
        let mut found = [(0.0, 1.0, false); KINDS];
        found[1].0 = (views * voxels) as f64;
        let mut replaced = 0;
        for (k, kind) in kinds(histos).into_iter().enumerate() {
            let Some((array, name)) = kind else { continue };
            let memory = queue.pool.take(place.bytes() * if hold { views } else { 1 })?;
            // Voxels beyond the lattice.
            memory.clear(&queue.stream)?;
            let (check, survey) = (Check::new(queue, policy, Sign::NonNegative)?, Survey::new(queue, place)?);
            for view in 0..views {
                job.check()?;
                let to = memory.address() + if hold { (view * place.bytes()) as u64 } else { 0 };
                // SAFETY: by this function's contract; room for a volume.
                unsafe {
                    copies.read(&array.part(view), to, &check, view * voxels)?;
                    survey.look(queue, place, to)?;
                }
            }
            let here = check.resolve(queue, array, name)?;
            found[k] = survey.result(queue)?;
            replaced += here;
            held[k] = hold.then_some(memory);
        }
        let [(measured, ..), (factors, largest_factor, has_zero_factor), (additive, ..)] = found;
        let facts = Facts { measured, factors, additive, largest_factor, has_zero_factor };
        Ok((Self { facts, histos: *histos, held: hold.then_some(held) }, replaced))
    }

    /// Bytes of what is held.
    pub(super) fn held(&self) -> u64 {
        self.held.iter().flatten().flatten().map(|memory| memory.bytes() as u64).sum()
    }

    /// Whether views need no reading.
    pub(super) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// A view's, to be used in the order of the queue's stream.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn view(&self, copies: &Copies, view: usize) -> Result<OfView> {
        let (mut read, mut at) = ([None, None, None], [0; KINDS]);
        for (k, kind) in kinds(&self.histos).into_iter().enumerate() {
            let Some((array, _)) = kind else { continue };
            at[k] = match &self.held {
                Some(held) => held[k].as_ref().map_or(0, |m| m.address() + (view * copies.place.bytes()) as u64),
                None => {
                    let memory = copies.queue.pool.take(copies.place.bytes())?;
                    memory.clear(&copies.queue.stream)?;
                    // All was checked before; non-finite values was counted then.
                    let check = Check::new(copies.queue, NanPolicy::Replace, Sign::Any)?;
                    // SAFETY: by this function's contract; room for a volume.
                    unsafe { copies.read(&array.part(view), memory.address(), &check, 0)? };
                    read[k].insert(memory).address()
                }
            };
        }
        let [measured, factors, additive] = at;
        Ok(OfView { measured, factors, additive, _read: read })
    }
}
