//! Histo-images of a reconstruction, on the GPU as long as they fit.

use super::array::{Check, Copies, Place, Survey};
use super::lines;
use crate::engine::Facts;
use crate::histos::Histos;
use crate::values::Sign;
use isocenter_base::array::Array;
use isocenter_base::context::{Job, NanPolicy};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Lent, Queue, copy_between};

/// Measured, factors, additive.
const KINDS: usize = 3;

/// The histo-images of a reconstruction: held on the GPU, or read from the caller view by view.
pub(crate) struct Data<'a> {
    pub(super) facts: Facts,
    /// None of lines.
    histos: Option<Histos<'a>>,
    /// A list in the place of histo-images.
    pub(super) lines: Option<lines::Data<'a>>,
    /// Volumes of all views, or of a part of them.
    held: Option<[Option<Lent>; KINDS]>,
    /// Which of a part's volumes is a view's.
    places: Option<Vec<usize>>,
    /// With other GPUs.
    pub(super) shared: Option<Shared<'a>>,
}

/// What other GPUs have.
pub(super) struct Shared<'a> {
    /// Of each view: which of them takes it, from 1 on, or 0.
    pub(super) owners: Vec<usize>,
    pub(super) parts: Vec<Data<'a>>,
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

    /// Reads and checks all of them, and keeps them if told so; the numbers of values that were replaced, and that are below 0 by rounding.
    ///
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn load(
        copies: &Copies,
        histos: &Histos<'a>,
        policy: NanPolicy,
        hold: bool,
        job: &Job,
    ) -> Result<(Self, [u64; 2])> {
        let (queue, place) = (copies.queue, copies.place);
        let [views, ..] = histos.measured.shape();
        let voxels: usize = place.shape.iter().product();
        let mut held = [None, None, None];
        let mut found = [(0.0, 1.0, false); KINDS];
        found[1].0 = (views * voxels) as f64;
        let (mut replaced, mut below) = (0, 0);
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
            found[k] = survey.result(queue)?;
            let [here, rounded] = check.resolve(queue, array, name, || Ok(found[k].1))?;
            (replaced, below) = (replaced + here, below + rounded);
            held[k] = hold.then_some(memory);
        }
        let [(measured, ..), (factors, largest_factor, has_zero_factor), (additive, ..)] = found;
        let facts = Facts { measured, factors, additive, largest_factor, has_zero_factor };
        let held = hold.then_some(held);
        Ok((Self { facts, histos: Some(*histos), lines: None, held, places: None, shared: None }, [replaced, below]))
    }

    /// A copy of some views' volumes, which are held, for another GPU.
    ///
    /// # Safety
    /// The other GPU is current; these volumes stay until its stream has passed the copies.
    pub(super) unsafe fn part(&self, own: &Queue, other: &Queue, place: Place, views: &[usize]) -> Result<Self> {
        let (Some(held), Some(histos)) = (&self.held, &self.histos) else {
            fail!(Internal, "histo-images are not held")
        };
        let mut places = vec![usize::MAX; histos.measured.shape()[0]];
        views.iter().enumerate().for_each(|(k, view)| places[*view] = k);
        let mut copies = [None, None, None];
        for (from, to) in held.iter().zip(&mut copies) {
            let Some(from) = from else { continue };
            let to = to.insert(other.pool.take(place.bytes() * views.len())?);
            for (k, view) in views.iter().enumerate() {
                let at = |memory: &Lent, k: usize| memory.address() + (k * place.bytes()) as u64;
                let (from, to) = ((at(from, *view), &*own.device), (at(to, k), &*other.device));
                // SAFETY: by this function's contract; room for as many volumes.
                unsafe { copy_between(from, to, place.bytes(), &other.stream)? };
            }
        }
        Ok(Self {
            facts: self.facts,
            histos: self.histos,
            lines: None,
            held: Some(copies),
            places: Some(places),
            shared: None,
        })
    }

    /// A list's lines as data.
    pub(super) fn of_lines(lines: lines::Data<'a>, facts: Facts) -> Self {
        Self { facts, histos: None, lines: Some(lines), held: None, places: None, shared: None }
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
        let place = self.places.as_ref().map_or(view, |places| places[view]);
        let Some(histos) = &self.histos else { fail!(Internal, "lines have no histo-images") };
        for (k, kind) in kinds(histos).into_iter().enumerate() {
            let Some((array, _)) = kind else { continue };
            at[k] = match &self.held {
                Some(held) => held[k].as_ref().map_or(0, |m| m.address() + (place * copies.place.bytes()) as u64),
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
