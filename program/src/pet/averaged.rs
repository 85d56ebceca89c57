//! Images of parts, each of one place of a patient who moves, made images in the reference position.

use super::cut::Cut;
use super::found::Found;
use super::images::Volume;
use super::lattice::Lattice;
use super::petsird::{Rigid, Turn};
use super::resample::{inverse, rigid};

/// Images that are moved to the reference, and averaged by their sensitivities, which have their times.
pub struct Averaged<'a> {
    cut: &'a Cut,
    /// Transforms of the parts, along the axes of map and lattice.
    transforms: Vec<Rigid>,
    /// In the reference position.
    map: Option<&'a Volume>,
    lattice: &'a Lattice,
    /// `[image][voxel]`, weighted, and the weights.
    sums: Vec<Vec<f64>>,
    weights: Vec<Vec<f64>>,
}

impl<'a> Averaged<'a> {
    /// None of a patient who does not move.
    pub fn new(cut: &'a Cut, turn: Turn, map: Option<&'a Volume>, lattice: &'a Lattice) -> Option<Self> {
        let turned = |of: Rigid| {
            turn.turned(of).map(|[x, y, z, shift]| {
                let [x, y, z] = turn.turned([x, y, z]);
                [x, y, z, shift]
            })
        };
        let transforms: Option<Vec<_>> = cut.parts.iter().map(|part| part.transform.map(turned)).collect();
        let empty = || vec![vec![0.0; lattice.shape.iter().product()]; cut.names.len()];
        Some(Self { cut, transforms: transforms?, map, lattice, sums: empty(), weights: empty() })
    }

    /// The map where the patient is in a part.
    pub fn map(&self, part: usize) -> Option<Volume> {
        self.map.map(|map| {
            let image = rigid(&map.image, map.shape, (map.voxel, map.centre), &self.transforms[part]);
            Volume { image, ..map.clone() }
        })
    }

    pub fn add(&mut self, part: usize, image: &[f32], sensitivity: &[f32]) {
        let Lattice { shape, voxel, centre, .. } = *self.lattice;
        let (to, back) = (self.cut.parts[part].image, inverse(&self.transforms[part]));
        let product: Vec<f32> = sensitivity.iter().zip(image).map(|(s, v)| s * v).collect();
        for (sum, values) in [(&mut self.sums[to], &product[..]), (&mut self.weights[to], sensitivity)] {
            let moved = rigid(values, shape, ([voxel; 3], centre), &back);
            sum.iter_mut().zip(moved).for_each(|(sum, v)| *sum += f64::from(v));
        }
    }

    /// Makes all images: NaN where nothing was measured in any part, 0 where nothing is seen.
    pub fn images(&self) -> Vec<Vec<f32>> {
        let mean = |(sums, weights): (&Vec<f64>, &Vec<f64>)| {
            let measured = weights.iter().any(|w| *w != 0.0);
            let value = |(sum, weight): (&f64, &f64)| match (measured, *weight > 0.0) {
                (false, _) => f32::NAN,
                (true, true) => (sum / weight) as f32,
                (true, false) => *sum as f32,
            };
            sums.iter().zip(weights).map(value).collect()
        };
        self.sums.iter().zip(&self.weights).map(mean).collect()
    }

    /// Numbers of images, of those of their parts; `doubt` is told which have nothing.
    pub fn found(&self, parts: Vec<Found>, doubt: &dyn Fn(String)) -> Vec<Found> {
        let of = |image: usize| {
            let own = parts.iter().zip(&self.cut.parts).filter(|(_, part)| part.image == image);
            let made = together(&own.map(|(found, _)| found).collect::<Vec<_>>());
            if made.counted == 0 {
                let lasts = made.duration > 0.0;
                let (nothing, image_is) = if lasts { ("prompts in the lattice", "0") } else { ("events", "NaN") };
                doubt(format!("there are no {nothing} in {}: its image is {image_is}", self.cut.names[image]));
            }
            made
        };
        (0..self.cut.names.len()).map(of).collect()
    }
}

/// Adds up numbers of all parts that last, or takes those of the first.
fn together(parts: &[&Found]) -> Found {
    let lasting: Vec<&Found> = parts.iter().copied().filter(|part| part.duration > 0.0).collect();
    let there = if lasting.is_empty() { &parts[..1] } else { &lasting[..] };
    let sum = |of: &dyn Fn(&Found) -> f64| there.iter().map(|part| of(part)).sum::<f64>();
    let count = |of: fn(&Found) -> u64| there.iter().map(|part| of(part)).sum::<u64>();
    let mean = |of: &dyn Fn(&Found) -> f64, weight: &dyn Fn(&Found) -> f64| {
        let weights = sum(weight);
        if weights > 0.0 { sum(&|part| of(part) * weight(part)) / weights } else { 1.0 }
    };
    let longest = there.iter().fold(there[0], |a, b| if b.duration > a.duration { b } else { a });
    let (duration, scatter) = (sum(&|part| part.duration), sum(&|part| part.scatter));
    Found {
        start: there.iter().map(|part| part.start).fold(f64::INFINITY, f64::min),
        duration,
        prompts: count(|part| part.prompts),
        delays: count(|part| part.delays),
        counted: count(|part| part.counted),
        dropped: there.iter().fold(Default::default(), |all, part| part.dropped.plus(all)),
        randoms: sum(&|part| part.randoms),
        scatter,
        scale: mean(&|part| part.scale, &|part| part.scatter),
        scale_error: mean(&|part| part.scale_error, &|part| part.scatter),
        tails: sum(&|part| part.tails),
        sensitivity: sum(&|part| part.sensitivity),
        strength: sum(&|part| part.strength),
        restored: mean(&|part| part.restored, &|part| part.counted as f64),
        decay: if duration > 0.0 { duration / sum(&|part| part.duration / part.decay) } else { 1.0 },
        alive: mean(&|part| part.alive, &|part| part.duration),
        ..longest.clone()
    }
}
