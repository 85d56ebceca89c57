//! Ways between places of scattering and detectors: what attenuates along them, and the activity by the distance from the place.

use super::Scatter;
use super::grid::Grid;
use super::places::Place;
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::{filled, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;

/// A way from a place of scattering to a detector.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ray {
    /// Unit vector.
    pub(crate) along: [f32; 3],
    /// mm.
    pub(crate) length: f32,
    /// Integral of the attenuation.
    pub(crate) attenuation: f32,
    /// The cosine at the detector over the square of the length.
    pub(crate) open: f32,
    /// Steps between which there is activity.
    pub(crate) first: u32,
    pub(crate) end: u32,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Rays {
    /// `[node][place]`
    pub(crate) rays: Vec<Ray>,
    /// Integrals of the activity over steps, `[node][place][step]`.
    pub(crate) activity: Vec<f32>,
}

/// Samples of a step.
const SAMPLES: usize = 2;

impl Rays {
    pub(crate) fn new(of: &Scatter, level: Level, job: &Job) -> Result<Self> {
        let (places, steps) = (of.places.len(), of.times.along);
        let mut rays = filled(of.nodes.count() * places, Ray::default())?;
        let mut activity = zeros::<f32>(rays.len() * steps)?;
        let rows = rays.par_chunks_mut(places).zip(activity.par_chunks_mut(places * steps)).enumerate();
        rows.try_for_each(|(node, (rays, activity))| {
            job.check()?;
            vectorised(level, Row { of, node, rays, activity });
            Ok(())
        })?;
        Ok(Self { rays, activity })
    }
}

/// Ways to a detector.
struct Row<'a> {
    of: &'a Scatter,
    node: usize,
    rays: &'a mut [Ray],
    activity: &'a mut [f32],
}

impl Plain for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { of, node, rays, activity } = self;
        let end = of.nodes.place(node).map(|v| v as f32);
        let steps = of.times.along;
        for ((place, ray), activity) in of.places.iter().zip(rays).zip(activity.chunks_exact_mut(steps)) {
            *ray = way(of, place, end, activity);
        }
    }
}

#[inline(always)]
fn way(of: &Scatter, place: &Place, end: [f32; 3], activity: &mut [f32]) -> Ray {
    let apart: [f32; 3] = std::array::from_fn(|d| end[d] - place.at[d]);
    let length = (apart[0] * apart[0] + apart[1] * apart[1] + apart[2] * apart[2]).sqrt();
    let along = apart.map(|v| v / length);
    let sample = of.times.step as f32 / SAMPLES as f32;
    let mut attenuation = 0.0;
    let (mut first, mut last) = (activity.len() as u32, 0);
    for (k, sum) in activity.iter_mut().enumerate() {
        *sum = 0.0;
        for s in 0..SAMPLES {
            let t = (k * SAMPLES + s) as f32 * sample + 0.5 * sample;
            if t > length {
                break;
            }
            let at = std::array::from_fn(|d| place.at[d] + t * along[d]);
            attenuation += Grid::at(&of.attenuation, at);
            *sum += Grid::at(&of.activity, at);
        }
        *sum *= sample;
        if *sum > 0.0 {
            first = first.min(k as u32);
            last = k as u32 + 1;
        }
    }
    // Activity is on the lattice; what attenuates may be beyond it.
    let mut t = (activity.len() as f32 * SAMPLES as f32 + 0.5) * sample;
    while t < length {
        attenuation += Grid::at(&of.attenuation, std::array::from_fn(|d| place.at[d] + t * along[d]));
        t += sample;
    }
    let cosine = (along[0] * end[0] + along[1] * end[1]) / of.nodes.radius as f32;
    Ray {
        along,
        length,
        attenuation: attenuation * sample,
        open: cosine.max(0.0) / (length * length),
        first: first.min(last),
        end: last,
    }
}
