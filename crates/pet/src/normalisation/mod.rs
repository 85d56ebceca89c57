//! Normalisation: how much crystals detect, from a scan of a known source.
//!
//! Two crystals a and b have the mean count `e_a e_b p_ab g_ab + r_ab`: p their pair's own efficiency, r randoms, and `g = c / (2 pi) (integral of the activity along the line between their middles)
//! exp(-integral of the attenuation) a_a cos_a a_b cos_b / r^2`, of crystals of areas a at a distance r, with c decays of a mm^3 of activity 1.
//!
//! Sums over fans: R. D. Badawi, M. A. Lodge, P. K. Marsden, Phys. Med. Biol. 43(1), 1998, after M. Defrise et al., Phys. Med. Biol. 36(7), 1991; of the largest likelihood: D. Hogg, K. Thielemans, T. Spinks, N. Spyrou,
//! IEEE NSS-MIC 2001.

mod expected;
mod fit;
#[cfg(test)]
mod tests;

use crate::bytes::Memory;
use crate::corrections::FactorOptions;
use crate::factors::Accidentals;
use crate::lines::Integrals;
use crate::plan::Pet;
use crate::units::Short;
use expected::{Expected, Source};
use fit::{Products, fit};
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::{Job, LogLevel, NanPolicy, Stage};
use isocenter_base::cpu::buffer::{Buffer, collected, zeros};
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// A scan of a known source; all in host memory.
#[derive(Clone, Copy, Debug)]
pub struct KnownSource<'a> {
    /// Of each crystal, over its fan: real or u32.
    pub sums: Array<'a, 1>,
    /// The source's activity, `[z][y][x]`.
    pub image: Array<'a, 3>,
    /// 1/mm, `[z][y][x]`.
    pub attenuation: Option<Array<'a, 3>>,
    /// Photons that each crystal detects a second, and the largest time difference of a coincidence, ps: of randoms in the sums.
    pub singles: Option<(Array<'a, 1>, f64)>,
}

/// Crystals that see less of the source than this part of what half of the crystals see are not known.
const LEAST: f64 = 0.01;

/// What is done of a job when all pairs have been looked at.
const LOOKED: f64 = 0.5;

/// What is known of a crystal.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Detects,
    /// Has no counts.
    Dead,
    /// Sees too little of the source.
    Unseen,
}

struct OfJob<'a, 'b> {
    expected: Expected<'a>,
    job: &'b Job,
}

impl Products for OfJob<'_, '_> {
    fn times(&mut self, values: &[f64], to: &mut [f64]) -> Result<()> {
        self.expected.times(self.job, values, to)
    }
}

impl Pet {
    /// Writes which part of the photons that meet it each crystal detects.
    pub fn efficiencies(
        &mut self,
        field_of_view: f64,
        options: &FactorOptions,
        of: &KnownSource,
        to: &mut ArrayMut<1>,
    ) -> Result<()> {
        options.acquisition.check()?;
        let (fan, scanner) = (self.fan(field_of_view)?, self.scanner()?);
        scanner.crystals.check_faces()?;
        let randoms =
            of.singles.as_ref().map(|(singles, window)| self.random_pairs(options, *window, singles)).transpose()?;
        let least = self.least_memory(options, of)?;
        self.check_memory("efficiencies need at least", Memory { host: least, gpu: 0 })?;
        let sums: Buffer<f64> = self.context.install(|| host::read(&of.sums, "sums", NanPolicy::Error, &mut 0))?;
        check_sums(&sums)?;
        let source = self.source(options, of)?;
        let bytes = self.context.memory_cap(0).saturating_sub(least);
        let (found, states) = self.context.run(|job| {
            job.enter(Stage::Factors);
            let all = (self.context.level(), fan, scanner);
            let expected = Expected::new(all, &source, bytes, (job, LOOKED))?;
            let counts = match &randoms {
                Some((singles, pairs)) => {
                    let others = fan.sums_of(expected.columns(), scanner.pairs.as_ref(), singles);
                    let of = |((sum, s), other): ((&f64, &f64), f64)| sum - pairs * s * other;
                    trues(sums.iter().zip(singles).zip(others).map(of))?
                }
                None => collected(sums.iter().copied())?,
            };
            of_counts(job, expected, &counts)
        })?;
        self.tell_of(&found, &states);
        self.context.install(|| {
            host::write(&found, to);
            Ok(())
        })
    }

    /// Rates of single photons, and the coincidences of two crystals of one a second.
    fn random_pairs(&self, options: &FactorOptions, window: f64, singles: &Array<1>) -> Result<(Vec<f64>, f64)> {
        let duration = options.acquisition.duration;
        if duration == 0.0 {
            fail!(
                OutOfRange,
                "options.duration is 0, and singles are photons a second: give the image in Bq/ml, with the duration"
            );
        }
        let pairs = Accidentals { duration, window }.pairs()?;
        let read: Buffer<f64> = self.context.install(|| host::read(singles, "singles", NanPolicy::Error, &mut 0))?;
        if let Some(k) = read.iter().position(|s| *s < 0.0) {
            fail!(OutOfRange, "singles[{k}] is {}; it must be at least 0", read[k]);
        }
        Ok((collected(read.iter().copied())?, pairs))
    }

    /// Bytes without counts of pairs.
    fn least_memory(&self, options: &FactorOptions, of: &KnownSource) -> Result<u64> {
        let lattice = self.lattice()?;
        // As they are given, and as lines cross them.
        let of_image = |shape: [usize; 3], voxel| -> Result<u64> {
            let values = shape.iter().product::<usize>() * size_of::<f32>();
            Ok(Integrals::most_bytes(shape, voxel)?.saturating_add(values as u64))
        };
        let mut bytes = of_image(lattice.shape(), lattice.voxel())?;
        if let Some(map) = &of.attenuation {
            let shape = map.shape();
            bytes = bytes.saturating_add(of_image(shape, self.map_of(options, &[], shape)?.voxel)?);
        }
        let crystals = self.scanner()?.crystals.count();
        let own = crystals * (fit::BYTES + 10 * size_of::<f64>());
        Ok(bytes.saturating_add(Expected::least_bytes(crystals)).saturating_add(own as u64))
    }

    fn source(&self, options: &FactorOptions, of: &KnownSource) -> Result<Source> {
        let lattice = self.lattice()?;
        let image = self.read_activity(&of.image)?;
        let Some(activity) = Integrals::new(&image, lattice.shape(), lattice.voxel(), [0.0; 3])? else {
            fail!(OutOfRange, "image is 0 everywhere: there is no source");
        };
        let attenuation = match &of.attenuation {
            Some(from) => {
                let values = self.read_map(from)?;
                let map = self.map_of(options, &values, from.shape())?;
                if let Some(doubt) = self.doubt_of(&map)? {
                    self.context.log(LogLevel::Warning, || doubt);
                }
                Integrals::new(&values, from.shape(), map.voxel, map.centre)?
            }
            None => None,
        };
        let decays = options.acquisition.decays(lattice.voxel_volume()) / (TAU * lattice.voxel_volume());
        Ok(Source { activity, attenuation, decays })
    }

    /// Warns of crystals whose efficiency is none, or not their own, and of more than all photons.
    fn tell_of(&self, found: &[f32], states: &[State]) {
        let numbers = |state: State| states.iter().enumerate().filter(move |(_, s)| **s == state).map(|(k, _)| k);
        let all = found.len();
        if let Some(first) = numbers(State::Dead).next() {
            let n = numbers(State::Dead).count();
            self.context.log(LogLevel::Warning, || {
                format!(
                    "{n} of {all} crystals have no counts, the first of them is crystal {first}: their efficiency is 0"
                )
            });
        }
        if let Some(first) = numbers(State::Unseen).next() {
            let (n, mean) = (numbers(State::Unseen).count(), Short(found[first].into()));
            self.context.log(LogLevel::Warning, || {
                format!(
                    "{n} of {all} crystals see next to nothing of the source, the first of them is crystal {first}: their efficiency is the mean of the others', {mean}; \
                     take a longer source, or a scan in several places"
                )
            });
        }
        let mut own: Vec<f32> = numbers(State::Detects).map(|k| found[k]).collect();
        let middle = own.len() / 2;
        let median = f64::from(*own.select_nth_unstable_by(middle, f32::total_cmp).1);
        if median > 1.0 {
            self.context.log(LogLevel::Warning, || {
                format!(
                    "half of the efficiencies are above {}, more than all photons: they are relative ones, unless image, duration or attenuation are in another unit",
                    Short(median)
                )
            });
        }
    }
}

/// Sums without randoms, whatever is left of them.
fn trues(sums: impl Iterator<Item = f64>) -> Result<Vec<f64>> {
    let found: Vec<f64> = collected(sums)?;
    if found.iter().sum::<f64>() <= 0.0 {
        fail!(
            OutOfRange,
            "randoms of singles are as many as the sums, or more: look at duration and window, or leave singles out"
        );
    }
    Ok(found)
}

/// Efficiencies, and what is known, of crystals with these sums of trues.
fn of_counts(job: &Job, expected: Expected, trues: &[f64]) -> Result<(Vec<f32>, Vec<State>)> {
    let crystals: Vec<usize> = collected(expected.crystals())?;
    let mut counts: Vec<f64> = collected(crystals.iter().map(|k| trues[*k]))?;
    let mut products = OfJob { expected, job };
    let states = states(&mut products, &mut counts)?;
    job.check()?;
    let mut values = fit(&mut products, &counts)?;
    give_mean(&mut values, &states);
    job.advance(1.0 - LOOKED);
    let mut found: Vec<f32> = zeros(values.len())?;
    let mut of_crystals: Vec<State> = collected(states.iter().copied())?;
    for ((k, v), state) in crystals.iter().zip(values).zip(states) {
        (found[*k], of_crystals[*k]) = (v as f32, state);
    }
    Ok((found, of_crystals))
}

fn check_sums(sums: &[f64]) -> Result<()> {
    if let Some(k) = sums.iter().position(|s| *s < 0.0) {
        fail!(OutOfRange, "sums[{k}] is {}; it must be at least 0", sums[k]);
    }
    if sums.iter().all(|s| *s == 0.0) {
        fail!(OutOfRange, "sums are 0 everywhere: there are no coincidences in the field of view");
    }
    Ok(())
}

/// Which crystals can be known; counts of others become 0.
fn states(products: &mut impl Products, counts: &mut [f64]) -> Result<Vec<State>> {
    let n = counts.len();
    let (mut values, mut sums): (Vec<f64>, Vec<f64>) = (zeros(n)?, zeros(n)?);
    values.fill(1.0);
    products.times(&values, &mut sums)?;
    let mut seen: Vec<f64> = collected(sums.iter().copied().filter(|sum| *sum > 0.0))?;
    if seen.is_empty() {
        fail!(
            OutOfRange,
            "no line between two crystals of the field of view crosses the source: the image must be where the source was, and the pairs measured"
        );
    }
    let middle = seen.len() / 2;
    let least = LEAST * *seen.select_nth_unstable_by(middle, f64::total_cmp).1;
    let of = |(count, sum): (&f64, &f64)| match (*count > 0.0, *sum < least) {
        (_, true) => State::Unseen,
        (true, false) => State::Detects,
        (false, false) => State::Dead,
    };
    let mut states: Vec<State> = collected(counts.iter().zip(&sums).map(of))?;
    // Those whose others are dead see nothing, either.
    loop {
        values.iter_mut().zip(&states).for_each(|(v, state)| *v = f64::from(u8::from(*state == State::Detects)));
        products.times(&values, &mut sums)?;
        let blind = |(state, sum): (&State, &f64)| *state == State::Detects && *sum < least;
        if !states.iter().zip(&sums).any(blind) {
            break;
        }
        states.iter_mut().zip(&sums).filter(|(state, sum)| blind((state, sum))).for_each(|(s, _)| *s = State::Unseen);
    }
    counts.iter_mut().zip(&states).filter(|(_, s)| **s != State::Detects).for_each(|(count, _)| *count = 0.0);
    if counts.iter().all(|count| *count == 0.0) {
        fail!(
            OutOfRange,
            "no crystal that has counts sees the source: the image must be where the source was, and crystals in their order"
        );
    }
    Ok(states)
}

/// Crystals that are not known have the mean of those that detect.
fn give_mean(values: &mut [f64], states: &[State]) {
    let of = |state: State| states.iter().filter(move |s| **s == state).count();
    let mean = values.iter().sum::<f64>() / of(State::Detects) as f64;
    values.iter_mut().zip(states).filter(|(_, s)| **s == State::Unseen).for_each(|(v, _)| *v = mean);
}
