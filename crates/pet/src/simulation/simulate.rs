//! The events of a scan. Every chunk of them has its own random numbers, so that a seed gives the same events for any number of
//! threads.

use super::draws::{Drawer, KINDS, Kind};
use super::medium::Medium;
use super::sampler::Sampler;
use super::scan::{Scan, Tally};
use super::scattering::Scattering;
use crate::events::{EventArraysMut, EventsMut};
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::random::Random;
use isocenter_base::error::Result;

/// Events that a task makes at once.
pub(super) const CHUNK: usize = 1 << 12;
/// Chunks of trues, and of scatter, by which their rates are found where physics tells them: to 0.4 % for as many events, and of shorter
/// lists to less than their own noise.
const PILOTS: usize = 16;
/// The first of these chunks, beyond those of any list.
const FIRST_PILOT: u64 = 1 << 48;

/// Which part of all events are random, and which are scatter.
#[derive(Clone, Copy)]
struct Parts {
    randoms: f64,
    scatter: f64,
}

impl Scan<'_> {
    /// Measures as many events as the arrays hold. The same events for a seed, whatever the threads.
    pub fn simulate(&self, context: &Context, seed: u64, to: EventArraysMut) -> Result<Tally> {
        self.check()?;
        let events = EventsMut::new(to)?;
        let sampler = Sampler::new(context, self)?;
        let scattering = self.background.compton.map(|window| Scattering::new(self, window)).transpose()?;
        let scattering = scattering.as_ref();
        let map = self.map.map(|_| Medium::new(self)).transpose()?;
        let map = map.as_ref();
        let drawer = Drawer { scan: self, sampler: &sampler, scattering, map, level: context.level(), seed };
        let a_draw = scattering.map_or(1.0, Scattering::decays_a_draw);
        let drawn = context.run(|job| {
            job.enter(Stage::Simulate);
            let parts = self.parts(&drawer, [sampler.decays_a_draw(), a_draw], events.len(), job)?;
            (0..events.len().div_ceil(CHUNK))
                .into_par_iter()
                .map(|chunk| {
                    let first = chunk * CHUNK;
                    let n = CHUNK.min(events.len() - first);
                    let tally = self.chunk((&drawer, parts), chunk as u64, n, job, |k, event| {
                        // SAFETY: each event is one task's.
                        unsafe { events.write(first + k, event) }
                    })?;
                    job.advance(n as f64 / events.len() as f64);
                    Ok(tally)
                })
                .try_reduce(Tally::default, |a, b| Ok(a.add(b)))
        })?;
        let decays = |draws: u64, each: f64| (draws as f64 * each).round() as u64;
        Ok(Tally {
            decays: decays(drawn.decays, sampler.decays_a_draw()),
            scatter_draws: decays(drawn.scatter_draws, a_draw),
            ..drawn
        })
    }

    /// With what trues and scatter have of a decay, if photons are scattered.
    fn parts(&self, drawer: &Drawer, decays_a_draw: [f64; 2], events: usize, job: &Job) -> Result<Parts> {
        let b = &self.background;
        if drawer.scattering.is_none() {
            return Ok(Parts { randoms: b.randoms, scatter: b.scatter });
        }
        let pilot = (events / PILOTS).clamp(CHUNK / 64, CHUNK);
        let rate = |(kind, each): (Kind, f64)| {
            let drawn =
                (0..PILOTS).into_par_iter().map(|k| Ok(drawer.draw(kind, FIRST_PILOT + k as u64, pilot, job)?.1));
            let draws = drawn.try_reduce(|| 0, |a, b| Ok(a + b))?;
            Ok((PILOTS * pilot) as f64 / (draws as f64 * each))
        };
        let trues = self.scanner.max_tilt.sin() * rate((Kind::True, decays_a_draw[0]))?;
        let scatter = rate((Kind::Scatter, decays_a_draw[1]))?;
        Ok(Parts { randoms: b.randoms, scatter: (1.0 - b.randoms) * scatter / (trues + scatter) })
    }

    /// Events of scatter alone, and of how many decays in any direction they are.
    #[cfg(test)]
    pub(crate) fn scattered(&self, context: &Context, seed: u64, chunks: u64) -> Result<(Vec<[f64; 7]>, f64)> {
        let sampler = Sampler::new(context, self)?;
        let scattering = Scattering::new(self, self.background.compton.expect("a window"))?;
        let each = scattering.decays_a_draw();
        let (scan, level) = (self, context.level());
        let drawer = Drawer { scan, sampler: &sampler, scattering: Some(&scattering), map: None, level, seed };
        context.run(|job| {
            let drawn =
                (0..chunks as usize).into_par_iter().map(|chunk| drawer.draw(Kind::Scatter, chunk as u64, CHUNK, job));
            let drawn: Vec<_> = drawn.collect::<Result<_>>()?;
            let draws: u64 = drawn.iter().map(|(_, draws)| draws).sum();
            Ok((drawn.into_iter().flat_map(|(events, _)| events).collect(), draws as f64 * each))
        })
    }

    /// Draws which of `n` events are of which kind, and then the events. Its decays are draws.
    fn chunk(
        &self,
        (drawer, parts): (&Drawer, Parts),
        chunk: u64,
        n: usize,
        job: &Job,
        mut write: impl FnMut(usize, &[f64; 7]),
    ) -> Result<Tally> {
        let mut random = Random::new(drawer.seed, KINDS, chunk);
        let mut places = [const { Vec::new() }; Kind::ALL.len()];
        while places.iter().map(Vec::len).sum::<usize>() < n {
            for u in random.uniform().as_flattened() {
                let kind = match u {
                    u if *u < parts.randoms => Kind::Random,
                    u if *u < parts.randoms + parts.scatter => Kind::Scatter,
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
