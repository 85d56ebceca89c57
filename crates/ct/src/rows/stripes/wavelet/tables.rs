//! All that is done along views, as two matrices.
//!
//! What the method takes off is linear in the sinogram, and what it does along views does not depend on the bin. The damped part of a
//! band has few frequencies along views, so that it is a few amplitudes a bin: each is a sum over views (`down`), is transformed along bins,
//! and is what a few functions of the view are multiplied by (`up`). Nothing else of the transform is needed.

use super::Wavelet;
use super::axis::Axis;
use super::products::ROWS;
use super::transform::{Filters, synthesise, transposed};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use std::f64::consts::TAU;

/// Frequencies that are damped by less than this stay.
const DAMPED: f64 = 1e-9;
/// Functions that are worked on side by side.
const LANES: usize = 8;

/// A cosine or a sine over the values of a band along views.
#[derive(Clone, Copy, Debug, Default)]
struct Mode {
    frequency: usize,
    sine: bool,
    /// What an amplitude is multiplied by.
    weight: f64,
}

/// The last frequency that is damped, of a band of so many values along views.
fn last_frequency(sigma: f64, len: usize) -> usize {
    let last = sigma * (-2.0 * DAMPED.ln()).sqrt();
    (len / 2).min(last as usize)
}

/// The number of functions that a band has.
fn count(sigma: f64, len: usize) -> usize {
    let last = last_frequency(sigma, len);
    // The highest frequency of an even number has no sine.
    1 + 2 * last - usize::from(last > 0 && 2 * last == len)
}

/// Damping of frequency f: 1 - exp(-f^2 / (2 sigma^2)); what is taken off is the rest. `place` is of 0..count.
fn mode(sigma: f64, len: usize, place: usize) -> Mode {
    let frequency = place.div_ceil(2);
    let alone = frequency == 0 || 2 * frequency == len;
    let taken = (-(frequency as f64 / sigma).powi(2) / 2.0).exp();
    let weight = taken * if alone { 1.0 } else { 2.0 } / len as f64;
    Mode { frequency, sine: place > 0 && place.is_multiple_of(2), weight }
}

impl Mode {
    /// At a value of a band of so many.
    fn at(&self, place: usize, len: usize) -> f64 {
        // Whole turns away first: so the argument stays small.
        let phase = TAU * (self.frequency as u64 * place as u64 % len as u64) as f64 / len as f64;
        if self.sine { phase.sin() } else { phase.cos() }
    }
}

/// For sinograms of one size.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    pub(crate) sizes: Sizes,
    /// (mode, view), rows padded with zeros.
    pub(crate) down: Vec<f32>,
    /// (view, mode), rows padded with zeros.
    pub(crate) up: Vec<f32>,
    pub(crate) filters: Filters<f32>,
}

impl Tables {
    pub(crate) fn new(wavelet: &Wavelet, views: usize, bins: usize, level: Level) -> Result<Self> {
        let sizes = Sizes::new(wavelet, views, bins);
        let down = zeros(sizes.modes.next_multiple_of(ROWS) * views)?;
        let up = zeros(views.next_multiple_of(ROWS) * sizes.modes)?;
        let mut tables = Self { sizes, down, up, filters: Filters::new(wavelet.order) };
        let room = || zeros::<[f64; LANES]>(tables.sizes.along.longest());
        let rooms = [room()?, room()?];
        vectorised(level, Fill { wavelet, filters: &Filters::new(wavelet.order), rooms, tables: &mut tables });
        Ok(tables)
    }

    /// What they take, and what making them does, in bytes.
    pub(crate) fn bytes(wavelet: &Wavelet, views: usize, bins: usize) -> u64 {
        let Sizes { along, modes, .. } = Sizes::new(wavelet, views, bins);
        let matrices = modes.next_multiple_of(ROWS) * views + views.next_multiple_of(ROWS) * modes;
        (4 * matrices + 2 * 8 * LANES * along.longest()) as u64
    }
}

/// Sizes of [`Tables`].
#[derive(Clone, Debug)]
pub(crate) struct Sizes {
    /// Views, and bins.
    pub(crate) along: Axis,
    pub(crate) across: Axis,
    /// Functions of each level, from the first one on, and of all.
    pub(crate) counts: Vec<usize>,
    pub(crate) modes: usize,
}

impl Sizes {
    pub(crate) fn new(wavelet: &Wavelet, views: usize, bins: usize) -> Self {
        let levels = wavelet.levels_of(views, bins);
        let [along, across] = Axis::both(views, bins, levels, 2 * wavelet.order);
        let counts: Vec<usize> = along.lens[1..].iter().map(|len| count(wavelet.sigma, *len)).collect();
        let modes = counts.iter().sum();
        Self { along, across, counts, modes }
    }
}

struct Fill<'a> {
    wavelet: &'a Wavelet,
    filters: &'a Filters<f64>,
    rooms: [Vec<[f64; LANES]>; 2],
    tables: &'a mut Tables,
}

impl Plain for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { wavelet, filters, rooms: [mut a, mut b], tables } = self;
        let Tables { sizes: Sizes { along, counts, modes: all, .. }, down, up, .. } = tables;
        let (views, pad, lens, all) = (along.count, along.pad, &along.lens, *all);
        let mut first = 0;
        for (level, count) in (1..).zip(counts.iter().copied()) {
            let len = lens[level];
            for place in (0..count).step_by(LANES) {
                let width = LANES.min(count - place);
                let mut modes = [Mode::default(); LANES];
                (0..width).for_each(|l| modes[l] = mode(wavelet.sigma, len, place + l));
                let at = first + place;
                // A sum's weights: those of the band's values, on their way back to the views that these come from.
                fill(&mut a[..len], |i, l| modes[l].weight * modes[l].at(i, len));
                for step in (0..level).rev() {
                    transposed(&filters.down, &a[..lens[step + 1]], &mut b[..lens[step]]);
                    std::mem::swap(&mut a, &mut b);
                }
                for l in 0..width {
                    // Padding is a column's mean.
                    let outside = |i: &usize| *i < pad || *i >= pad + views;
                    let share = (0..lens[0]).filter(outside).map(|i| a[i][l]).sum::<f64>() / views as f64;
                    let row = &mut down[(at + l) * views..][..views];
                    row.iter_mut().zip(&a[pad..]).for_each(|(w, a)| *w = (a[l] + share) as f32);
                }
                // What a band's function is among the views.
                fill(&mut a[..len], |i, l| modes[l].at(i, len));
                for step in (0..level).rev() {
                    synthesise(&filters.up, &a[..lens[step + 1]], &mut b[..lens[step]]);
                    std::mem::swap(&mut a, &mut b);
                }
                for (row, a) in up.chunks_exact_mut(all).zip(&a[pad..pad + views]) {
                    row[at..at + width].iter_mut().zip(a).for_each(|(u, a)| *u = *a as f32);
                }
            }
            first += count;
        }
    }
}

#[inline(always)]
fn fill(values: &mut [[f64; LANES]], value: impl Fn(usize, usize) -> f64) {
    for (i, v) in values.iter_mut().enumerate() {
        (0..LANES).for_each(|l| v[l] = value(i, l));
    }
}
