//! The events of a scan. Every chunk of them has its own random numbers, so that a seed gives the same events for any number of
//! threads.

use super::draws::{Drawer, KINDS, Kind};
use super::sampler::Sampler;
use super::scan::{Scan, Tally};
use crate::context::{Context, Job, Stage};
use crate::cpu::random::Random;
use crate::error::Result;
use crate::pet::events::{EventArraysMut, EventsMut};
use rayon::prelude::*;

/// Events that a task makes at once.
pub(super) const CHUNK: usize = 1 << 12;

impl Scan<'_> {
    /// Measures as many events as the arrays hold. The same events for a seed, whatever the threads.
    pub fn simulate(&self, context: &Context, seed: u64, to: EventArraysMut) -> Result<Tally> {
        self.check()?;
        let events = EventsMut::new(to)?;
        let sampler = Sampler::new(context, self)?;
        let drawer = Drawer { scan: self, sampler: &sampler, level: context.level(), seed };
        let drawn = context.run(|job| {
            job.enter(Stage::Simulate);
            (0..events.len().div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| {
                    let first = chunk * CHUNK;
                    let n = CHUNK.min(events.len() - first);
                    let tally = self.chunk(&drawer, chunk as u64, n, job, |k, event| {
                        // SAFETY: each event is one task's.
                        unsafe { events.write(first + k, event) }
                    })?;
                    job.advance(n as f64 / events.len() as f64);
                    Ok(tally)
                })
                .try_reduce(Tally::default, |a, b| Ok(a.add(b)))
        })?;
        Ok(Tally { decays: (drawn.decays as f64 * sampler.decays_a_draw()).round() as u64, ..drawn })
    }

    /// Draws which of `n` events are of which kind, and then the events. Its decays are draws.
    fn chunk(
        &self,
        drawer: &Drawer,
        chunk: u64,
        n: usize,
        job: &Job,
        mut write: impl FnMut(usize, &[f64; 7]),
    ) -> Result<Tally> {
        let b = &self.background;
        let mut random = Random::new(drawer.seed, KINDS, chunk);
        let mut places = [const { Vec::new() }; Kind::ALL.len()];
        while places.iter().map(Vec::len).sum::<usize>() < n {
            for u in random.uniform().as_flattened() {
                let kind = match u {
                    u if *u < b.randoms => Kind::Random,
                    u if *u < b.randoms + b.scatter => Kind::Scatter,
                    _ => Kind::True,
                };
                let k = places.iter().map(Vec::len).sum();
                if k < n {
                    places[kind as usize].push(k);
                }
            }
        }
        let mut draws = [0; Kind::ALL.len()];
        for kind in Kind::ALL {
            let places = &places[kind as usize];
            let (events, drawn) = drawer.draw(kind, chunk, places.len(), job)?;
            draws[kind as usize] = drawn;
            for (k, event) in places.iter().zip(&events) {
                write(*k, event);
            }
        }
        let count = |kind: Kind| places[kind as usize].len() as u64;
        let drawn = |kind: Kind| draws[kind as usize];
        Ok(Tally {
            trues: count(Kind::True),
            scatter: count(Kind::Scatter),
            randoms: count(Kind::Random),
            decays: drawn(Kind::True),
            scatter_draws: drawn(Kind::Scatter),
            random_draws: drawn(Kind::Random),
        })
    }
}
