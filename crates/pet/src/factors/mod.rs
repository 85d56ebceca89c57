//! Factors: which part of the decays in a voxel is measured in each view.
//!
//! Photons of a decay leave along a line of any direction. In view v they are measured with the mean, over all directions, of
//!
//! `A_v(x) = 1 / (2 pi) integral over the view's cone of e_i e_j exp(-P) dO`
//!
//! for lines through x: e_i and e_j are sums over the crystals that a line crosses at either end, one behind the other, of their efficiencies, 0 where it meets none (where pairs
//! of crystals have efficiencies of their own, their product is the sum over all pairs), and P the integral of the attenuation along it (S. Matej et al., IEEE Trans. Med. Imag. 28(5), 2009, have the histo-images that these belong to).
//!
//! Each view is cut into cones, and these into directions. Lines of a direction fill the lattice, two a voxel across and along z, each anywhere within what it
//! stands for. So a voxel has the mean over nine lines of each direction, as far as they are in it: a few hundred of a view. P is that of the cone's middle.

mod acquisition;
mod attenuation;
#[cfg(test)]
pub(crate) mod cases;
mod cones;
mod doubts;
mod gather;
mod hounsfield;
mod sampling;
mod sizes;
mod tables;
#[cfg(test)]
mod tests;

pub use acquisition::Acquisition;
pub use attenuation::AttenuationMap;
pub(super) use attenuation::Map;
pub(super) use cones::{Cone, Direction, FINE, Lines, cones};
pub(super) use doubts::{WATER, doubt};
use gather::Gather;
pub use hounsfield::Hounsfield;
use isocenter_base::cpu::parallel::*;
pub(super) use sampling::Sampling;
pub(super) use sizes::Sizes;
use std::f64::consts::TAU;
pub(super) use tables::{Between, Detectors, seed};

use super::lattice::Lattice;
use super::response::HALF_LIGHT;
use super::scanner::{Scanner, Surface};
use isocenter_base::array::ArrayMut;
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::cpu::buffer::{Buffer, copied, filled};
use isocenter_base::cpu::simd::vectorised;
use isocenter_base::error::{Result, fail};

/// Directions of a view where the caller leaves them open, and at most.
pub const DIRECTIONS: usize = 32;
/// See [`DIRECTIONS`].
pub const MAX_DIRECTIONS: usize = 1 << 14;

/// What factors are made of.
#[derive(Debug)]
pub(super) struct Factors<'a> {
    pub(super) lattice: Lattice,
    pub(super) detectors: Detectors<'a>,
    pub(super) map: Option<Map>,
    pub(super) views: Vec<OfView>,
    /// Of what has a density of 1 steradian.
    pub(super) scale: f64,
    pub(super) sizes: Sizes,
}

/// A view's directions and lines.
type OfView = (Vec<Cone>, Lines);

/// Random coincidences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accidentals {
    /// Of the measurement, s.
    pub duration: f64,
    /// Largest time difference of an event, ps; infinite for any.
    pub window: f64,
}

impl Accidentals {
    /// Coincidences of two crystals that detect one photon a second each.
    pub(super) fn pairs(&self) -> Result<f64> {
        self.check()?;
        if self.window.is_infinite() {
            fail!(NotConfigured, "window is 0, and the scanner has no time bins that would tell it");
        }
        Ok(2.0 * self.window / PICO * self.duration)
    }

    fn check(&self) -> Result<()> {
        let Self { duration, window } = *self;
        if !duration.is_finite() {
            fail!(NotFiniteParameter, "duration is {duration}; it must be finite, in s");
        }
        if !(duration > 0.0 && (1e-9..=1e9).contains(&duration)) {
            fail!(OutOfRange, "duration is {duration} s; it must be above 0, 1e-9 to 1e9");
        }
        if window.is_nan() {
            fail!(NotFiniteParameter, "window is NaN; it must be finite, in ps");
        }
        if !(window > 0.0 && (1e-3..=1e9).contains(&window) || window == f64::INFINITY) {
            fail!(OutOfRange, "window is {window} ps; it must be above 0, 1e-3 to 1e9");
        }
        Ok(())
    }
}

/// Picoseconds of a second.
const PICO: f64 = 1e12;

impl<'a> Factors<'a> {
    /// `efficiencies` of all crystals; without them every photon that meets a crystal is detected.
    pub(super) fn new(
        of: (Sampling, &Lattice),
        (scanner, given): (&'a Scanner, Option<&[f32]>),
        attenuation: Option<&AttenuationMap>,
        acquisition: &Acquisition,
    ) -> Result<Self> {
        acquisition.check()?;
        let efficiencies = match given {
            Some(given) => {
                check_parts("efficiencies", given)?;
                copied(given)?
            }
            None => filled(scanner.crystals.count(), 1.0)?,
        };
        let detectors = Detectors {
            surface: Surface::new(&scanner.crystals)?,
            efficiencies,
            first_alone: given.is_none(),
            pairs: scanner.pairs.as_ref(),
            accidental: None,
        };
        let scale = acquisition.decays(of.1.voxel_volume()) / TAU;
        Self::with(of, (scanner, detectors), attenuation, scale)
    }

    /// Random coincidences of crystals that detect so many `singles` a second: two of them make `2 w s_i s_j`, times the pair's own efficiency, a second in a window of +-w. Anywhere on the crystals and in
    /// the window, these are `2 s_i s_j / c r^2 / (a_i a_j cos cos)` a second, a mm^2 sr of lines and a mm along them, for crystals of areas a at a distance r.
    pub(super) fn accidentals(
        (sampling, lattice): (Sampling, &Lattice),
        (scanner, singles): (&'a Scanner, &[f32]),
        of: &Accidentals,
    ) -> Result<Self> {
        of.check()?;
        check_parts("singles", singles)?;
        let reach = HALF_LIGHT * of.window;
        let detectors = Detectors {
            surface: Surface::new(&scanner.crystals)?,
            efficiencies: copied(singles)?,
            first_alone: false,
            pairs: scanner.pairs.as_ref(),
            accidental: Some(reach),
        };
        let scale = lattice.voxel_volume() * of.duration / (PICO * HALF_LIGHT);
        Self::with((sampling, lattice), (scanner, detectors), None, scale)
    }

    fn with(
        (sampling, lattice): (Sampling, &Lattice),
        (scanner, detectors): (&Scanner, Detectors<'a>),
        attenuation: Option<&AttenuationMap>,
        scale: f64,
    ) -> Result<Self> {
        let sizes = Sizes::new((&sampling, lattice), scanner, attenuation)?;
        let map = attenuation.map(|map| Map::new(map, lattice)).transpose()?;
        Ok(Self { lattice: *lattice, detectors, map, views: sampling.into_views()?, scale, sizes })
    }

    /// Writes those of all views, `[view][z][y][x]` in host memory, by the processor.
    pub(super) fn write(&self, context: &Context, to: &ArrayMut<4>) -> Result<()> {
        context.run(|job| {
            job.enter(Stage::Factors);
            self.write_as(context, (job, 1.0), to, |_, _| {})
        })
    }

    /// The same as a part of a job, each row along x at `[view, z, y]` as something has changed it: those of a `y` one after the other.
    pub(super) fn write_as(
        &self,
        context: &Context,
        (job, share): (&Job, f64),
        to: &ArrayMut<4>,
        change: impl Fn([usize; 3], &mut [f32]) + Sync,
    ) -> Result<()> {
        let [nz, _, nx] = self.lattice.shape();
        let mut sums = Buffer::<f32>::zeroed(self.lattice.voxels())?;
        let mut tables = Tables::default();
        for v in 0..self.views.len() {
            isocenter_base::cpu::buffer::clear(&mut sums);
            self.add(context, job, v, &mut tables, &mut sums)?;
            sums.par_chunks(nx * nz).enumerate().for_each_init(
                || vec![0f32; nx],
                |row, (y, slab)| {
                    for z in 0..nz {
                        row.iter_mut().zip(slab.chunks(nz)).for_each(|(v, column)| *v = column[z]);
                        change([v, z, y], row);
                        // SAFETY: a row of this task's alone; nobody else has the array.
                        unsafe { to.write_row([v, z, y, 0], row) };
                    }
                },
            );
            job.advance(share / self.views.len() as f64);
        }
        Ok(())
    }

    /// Writes the sum over all views, `[z][y][x]` in host memory, by the processor, as lines take it: factors are means over voxels, and what lines that are interpolated along z see of a voxel is
    /// the mean over two, weighed by how near they are. That is the mean over its neighbourhood, whose square of the width is h^2 / 12 more, as of a 24th of both neighbours. Across, half of the lines are interpolated along
    /// x or y, and half go by planes: together as wide as the voxel.
    pub(super) fn write_sum(&self, context: &Context, to: &ArrayMut<3>) -> Result<()> {
        let [nz, _, nx] = self.lattice.shape();
        context.run(|job| {
            job.enter(Stage::Factors);
            let mut sums = Buffer::<f32>::zeroed(self.lattice.voxels())?;
            let mut tables = Tables::default();
            for v in 0..self.views.len() {
                self.add(context, job, v, &mut tables, &mut sums)?;
                job.advance(1.0 / self.views.len() as f64);
            }
            sums.par_chunks(nx * nz).enumerate().for_each_init(
                || vec![0f32; nx],
                |row, (y, slab)| {
                    for z in 0..nz {
                        let inside = z > 0 && z + 1 < nz;
                        row.iter_mut().zip(slab.chunks(nz)).for_each(|(v, column)| {
                            let more = if inside { column[z - 1] + column[z + 1] - 2.0 * column[z] } else { 0.0 };
                            *v = column[z] + more / 24.0;
                        });
                        // SAFETY: a row of this task's alone; nobody else has the array.
                        unsafe { to.write_row([z, y, 0], row) };
                    }
                },
            );
            Ok(())
        })
    }

    /// Adds a view's to sums `[y][x][z]`.
    fn add(&self, context: &Context, job: &Job, v: usize, tables: &mut Tables, sums: &mut Buffer<f32>) -> Result<()> {
        let [nz, _, nx] = self.lattice.shape();
        let (cones, lines) = &self.views[v];
        let mut first = 0;
        for cone in cones {
            job.check()?;
            tables.fill(context, self, (lines, cone), (v, first), job)?;
            sums.par_chunks_mut(nx * nz).enumerate().for_each(|(y, sums)| {
                let gather = Gather {
                    lattice: &self.lattice,
                    lines,
                    directions: &cone.directions,
                    tables: &tables.measured,
                    between: &tables.between,
                    scale: self.scale,
                    y,
                    sums,
                };
                vectorised(context.level(), gather);
            });
            first += cone.directions.len();
        }
        Ok(())
    }
}

fn check_parts(name: &str, given: &[f32]) -> Result<()> {
    if let Some(k) = given.iter().position(|e| *e < 0.0) {
        fail!(OutOfRange, "{name}[{k}] is {}; it must be at least 0", given[k]);
    }
    if given.iter().all(|e| *e == 0.0) {
        fail!(OutOfRange, "{name} are 0 everywhere: nothing is measured");
    }
    Ok(())
}

/// The lines of a cone.
#[derive(Default)]
struct Tables {
    /// `[cell along s][cell along z]`
    through: Vec<f32>,
    /// `[direction][line along s][even, odd][cell along z]`
    measured: Vec<f32>,
    /// `[direction][line along s]`
    between: Vec<Between>,
}

/// Grown to a size, contents left over.
fn grown<T: Clone>(buffer: &mut Vec<T>, len: usize, value: T) -> Result<&mut [T]> {
    if buffer.len() < len {
        *buffer = filled(len, value)?;
    }
    Ok(&mut buffer[..len])
}

impl Tables {
    fn fill(
        &mut self,
        context: &Context,
        of: &Factors,
        (lines, cone): (&Lines, &Cone),
        (view, first): (usize, usize),
        job: &Job,
    ) -> Result<()> {
        let [across, along] = lines.count;
        let (rows, row) = (FINE * across, FINE * along);
        let through = match &of.map {
            None => None,
            Some(map) => {
                let all = grown(&mut self.through, lines.len(), 0.0)?;
                all.par_chunks_mut(along)
                    .enumerate()
                    .for_each(|(i, row)| tables::through(context.level(), map, lines, cone, i, row));
                Some(&all[..])
            }
        };
        let count = cone.directions.len();
        let measured = grown(&mut self.measured, count * rows * row, 0.0)?;
        let between = grown(&mut self.between, count * rows, [0.0; 2])?;
        measured.par_chunks_mut(row).zip(between).enumerate().try_for_each(|(k, (row, between))| {
            job.check()?;
            let (d, i) = (k / rows, k % rows);
            let through = through.map(|all| &all[i / FINE * along..][..along]);
            let seed = seed(view, first + d);
            *between = of.detectors.measured(lines, &cone.directions[d], (seed, i), through, row);
            Ok(())
        })
    }
}
