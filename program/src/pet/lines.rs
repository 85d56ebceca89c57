//! Images of lists along lines: without time of flight, with too little of it, or of modules that differ in theirs.

use super::counts::EventList;
use super::found::Found;
use super::images::Volume;
use super::lattice::Lattice;
use super::restored::restored_list;
use super::solving::{DRAFT, Made, STEP, Scan, efficiencies, with_pairs};
use anyhow::{Context, Result};
use isocenter::array::{Array, ArrayMut};
use isocenter::cpu::buffer::Buffer;
use isocenter::pet::Pet;
use isocenter::pet::background::{ScatterArrays, ScatterOptions};
use isocenter::pet::corrections::FactorOptions;
use isocenter::pet::factors::{Accidentals, DIRECTIONS};
use isocenter::pet::lines::LinesOf;
use isocenter::pet::scanner::{CrystalArrays, Scanner as Crystals, TimeBins};
use isocenter::pet::scatter::Model;

/// Of the sensitivity, with less noise of its directions than images show.
const SENSITIVITY_DIRECTIONS: usize = 32;
/// Where nothing is told along lines, what is counted beside what attenuates, and randoms, are put within so many ps of the middle.
const MIDDLE: f64 = 100.0;
/// The width in ps with which scatter is spread along lines before it is added up along them.
const SPREAD: f64 = 300.0;
/// Of the largest factor: with less, next to nothing of a direction is measured.
const LEAST: f32 = 1e-3;
/// Scatter is smooth: voxels of its lattice across the scanner, and mm along it.
const ACROSS: usize = 28;
const ALONG: f64 = 12.0;

/// What is measured of each event, and what is measured besides, as densities.
struct Measured<'a> {
    list: &'a EventList,
    factors: Vec<f32>,
    sensitivity: &'a [f32],
}

impl Scan<'_> {
    pub(super) fn along_lines(
        &mut self,
        of: &mut Found,
        list: &EventList,
        sums: &[u32],
        options: &FactorOptions,
    ) -> Result<Made> {
        let factors = self.line_factors(list, options, self.map.clone().as_deref()).context("factors")?;
        self.stopwatch.stage("factors");
        let sensitivity = self.line_sensitivity(options)?;
        of.sensitivity = self.mean_sensitivity(&sensitivity);
        self.stopwatch.stage("sensitivity");
        let measured = Measured { list, factors, sensitivity: &sensitivity };
        let randoms = self.line_randoms(of, list, sums).context("randoms")?;
        self.stopwatch.stage("randoms");
        let scatter = self.line_scatter(of, &measured, options, randoms.as_ref()).context("scatter")?;
        self.stopwatch.stage("scatter");
        let randoms = randoms.map(|randoms| randoms.densities);
        let additive = match (scatter, randoms) {
            (Some(scatter), Some(randoms)) => Some(sum(&scatter, &randoms)),
            (one, other) => one.or(other),
        };
        let image = self.solve_lines(of, &measured, additive.as_deref()).context("the image")?;
        self.stopwatch.stage("image");
        Ok(Made { image, sensitivity })
    }

    fn line_factors(&mut self, list: &EventList, options: &FactorOptions, map: Option<&Volume>) -> Result<Vec<f32>> {
        self.steps.next(STEP);
        let mut factors = zeros(list.len())?;
        let efficiencies = efficiencies(&self.scanner)?;
        let map = map.map(|map| Array::new(&map.image, map.shape)).transpose()?;
        let to = ArrayMut::new(&mut factors, [list.len()])?;
        self.pet.line_factors(&list.arrays()?, options, efficiencies.as_ref(), map.as_ref(), to)?;
        Ok(factors)
    }

    pub(super) fn line_sensitivity(&mut self, options: &FactorOptions) -> Result<Vec<f32>> {
        self.steps.next(STEP);
        let mut image = vec![0.0; self.lattice.shape.iter().product()];
        let options = FactorOptions { directions: SENSITIVITY_DIRECTIONS, ..*options };
        let efficiencies = efficiencies(&self.scanner)?;
        let map = self.map.as_ref().map(|map| Array::new(&map.image, map.shape)).transpose()?;
        let to = ArrayMut::new(&mut image, self.lattice.shape)?;
        self.pet.line_sensitivity(&options, efficiencies.as_ref(), map.as_ref(), to).context("sensitivity")?;
        Ok(image)
    }

    fn line_randoms(&mut self, of: &mut Found, list: &EventList, sums: &[u32]) -> Result<Option<Randoms>> {
        self.steps.next(STEP);
        let accidentals = self.accidentals(of.duration)?;
        let Some(singles) = self.singles(sums, &accidentals)? else { return Ok(None) };
        let mut densities = zeros(list.len())?;
        let to = ArrayMut::new(&mut densities, [list.len()])?;
        let (pairs, is_recorded) = (self.pairs_of_randoms()?, self.recorded.is_some());
        let [nz, ny, nx] = self.lattice.shape;
        let shape = [self.lattice.azimuths * self.lattice.tilts, nz, ny, nx];
        // All pairs' in the field of view.
        of.randoms = with_pairs(&mut self.pet, pairs, |pet| {
            pet.line_randoms(&list.arrays()?, &accidentals, &Array::of(&singles, [singles.len()])?, to)?;
            match is_recorded {
                true => Ok(in_the_middle(pet, &accidentals, &singles, shape)?.iter().map(|v| f64::from(*v)).sum()),
                false => Ok(sums.iter().map(|n| f64::from(*n)).sum::<f64>() / 2.0),
            }
        })?;
        Ok(Some(Randoms { densities, singles, accidentals }))
    }

    /// Densities of scatter; None of a scan without.
    fn line_scatter(
        &mut self,
        of: &mut Found,
        measured: &Measured,
        options: &FactorOptions,
        randoms: Option<&Randoms>,
    ) -> Result<Option<Vec<f32>>> {
        let Some(map) = self.map.clone().filter(|_| self.method.scatter > 0) else { return Ok(None) };
        let mut wide = Wide::new(self)?;
        let (counts, middle) = wide.in_the_middle(self, measured.list, randoms)?;
        // Of what crystals measure in each direction, and of lines.
        let unattenuated = FactorOptions { acquisition: options.acquisition, ..FactorOptions::default() };
        let whole = wide.factors(self, &unattenuated)?;
        let of_lines = self.line_factors(measured.list, &unattenuated, None)?;
        let least = LEAST * whole.iter().copied().fold(0.0, f32::max);
        let tof_fwhm = if self.lattice.tof_fwhm > 0.0 { self.lattice.tof_fwhm } else { SPREAD };
        let options = ScatterOptions { factors: *options, model: Model { tof_fwhm: Some(tof_fwhm), ..self.model() } };
        self.draft()?;
        let mut additive: Option<Vec<f32>> = randoms.map(|randoms| randoms.densities.clone());
        let mut scatter = None;
        for _ in 0..self.method.scatter {
            self.steps.next(DRAFT as f64);
            let image = self.reconstruct_lines(measured, additive.as_deref())?;
            self.steps.next(STEP);
            let image = coarse(&image, self.lattice, wide.shape, wide.sides);
            let mut histos = wide.zeroed()?;
            let arrays = ScatterArrays {
                image: Array::new(&image, wide.shape)?,
                efficiencies: efficiencies(&self.scanner)?,
                attenuation: Array::new(&map.image, map.shape)?,
                measured: Some(Array::of(&counts, wide.histos())?),
                randoms: middle.as_ref().map(|middle| Array::new(middle, wide.histos())).transpose()?,
            };
            let to = ArrayMut::new(&mut histos, wide.histos())?;
            let found = wide.pet.scatter(&options, &arrays, to)?;
            (of.scatter, of.scale, of.scale_error) = (found.scatter * found.scale, found.scale, found.scale_error);
            of.tails = found.tails;
            for (k, (v, whole)) in histos.iter_mut().zip(&whole[..]).enumerate() {
                let own = *v - middle.as_ref().map_or(0.0, |middle| middle[k]);
                *v = if *whole > least { (own / whole).max(0.0) } else { 0.0 };
            }
            let mut densities = wide.sampled(measured.list, &histos)?;
            densities.iter_mut().zip(&of_lines).for_each(|(density, part)| *density *= part);
            additive = Some(match randoms {
                Some(randoms) => sum(&densities, &randoms.densities),
                None => densities.clone(),
            });
            scatter = Some(densities);
        }
        Ok(scatter)
    }

    fn reconstruct_lines(&mut self, of: &Measured, additive: Option<&[f32]>) -> Result<Vec<f32>> {
        let (events, mut image) = ([of.list.len()], vec![0.0; self.lattice.shape.iter().product()]);
        let lines = LinesOf {
            factors: Some(Array::new(&of.factors, events)?),
            additive: additive.map(|additive| Array::new(additive, events)).transpose()?,
            sensitivity: Array::new(of.sensitivity, self.lattice.shape)?,
        };
        self.pet.reconstruct_lines(&of.list.arrays()?, &lines, ArrayMut::new(&mut image, self.lattice.shape)?)?;
        Ok(image)
    }

    fn solve_lines(&mut self, found: &mut Found, of: &Measured, additive: Option<&[f32]>) -> Result<Vec<f32>> {
        self.prepare(found)?;
        let mut image = self.reconstruct_lines(of, additive)?;
        // Told before another call.
        let mut factor = 1.0;
        if found.strength > 0.0 {
            self.steps.next(STEP);
            let mut projected = zeros(of.list.len())?;
            let to = ArrayMut::new(&mut projected, [of.list.len()])?;
            self.pet.forward_lines(&of.list.arrays()?, Array::new(&image, self.lattice.shape)?, to)?;
            let total = of.sensitivity.iter().zip(&image).map(|(s, v)| f64::from(s * v)).sum();
            factor = restored_list(total, &of.factors, &projected, additive);
        }
        self.finish(found, &mut image, factor);
        Ok(image)
    }
}

/// Random coincidences about each event, and what they are made of.
struct Randoms {
    densities: Vec<f32>,
    /// Of each crystal, a second.
    singles: Vec<f32>,
    accidentals: Accidentals,
}

/// A plan whose lattice reaches to the crystals: scattered photons seem to come from beside what they were scattered in.
struct Wide {
    pet: Pet,
    /// nz, ny, nx.
    shape: [usize; 3],
    /// Of voxels, x, y, z, mm.
    sides: [f64; 3],
    views: usize,
}

impl Wide {
    fn new(of: &Scan) -> Result<Self> {
        let Lattice { centre, azimuths, tilts, .. } = *of.lattice;
        let most = |distance: &dyn Fn(&[f64; 3]) -> f64| of.scanner.positions.iter().map(distance).fold(0.0, f64::max);
        let across = 2.0 * most(&|[x, y, _]| (x - centre[0]).hypot(y - centre[1]));
        let along = 2.0 * most(&|[.., z]| (z - centre[2]).abs()) + of.scanner.crystal[1];
        let count = ((along / ALONG).ceil() as usize).max(1);
        let shape = [count, ACROSS, ACROSS];
        let sides = [across / ACROSS as f64, across / ACROSS as f64, along / count as f64];
        let pet = of.lattice.plan_of(of.context.clone(), &of.scanner, shape, sides)?;
        Ok(Self { pet, shape, sides, views: azimuths * tilts })
    }

    fn histos(&self) -> [usize; 4] {
        let [nz, ny, nx] = self.shape;
        [self.views, nz, ny, nx]
    }

    fn zeroed(&self) -> Result<Buffer> {
        Ok(Buffer::zeroed(self.histos().iter().product())?)
    }

    /// Histo-images of counts and randoms that are as many on each line, about its middle: scatter is scaled where lines miss what attenuates, wherever along them.
    fn in_the_middle(
        &mut self,
        of: &Scan,
        list: &EventList,
        randoms: Option<&Randoms>,
    ) -> Result<(Buffer<u32>, Option<Buffer>)> {
        let [views, nz, ny, nx] = self.histos();
        let mut counts = Buffer::<u32>::zeroed(self.histos().iter().product())?;
        let bin = Some(TimeBins::new(&[-MIDDLE, MIDDLE])?);
        self.pet.set_scanner(Crystals { time_bins: bin, ..of.scanner.plan(of.lattice.centre)? });
        let bins = vec![0u8; list.len()];
        let events = CrystalArrays {
            crystals: Array::of(&list.crystals, [list.len(), 2])?,
            times: Array::of(&bins, [list.len()])?,
            labels: None,
            first: 0,
        };
        self.pet.deposit_crystals(&events, ArrayMut::of(&mut counts[..], [1, views, nz, ny, nx])?)?;
        let middle = match randoms {
            None => None,
            Some(Randoms { singles, accidentals, .. }) => {
                let shape = self.histos();
                let made = with_pairs(&mut self.pet, of.pairs_of_randoms()?, |pet| {
                    in_the_middle(pet, accidentals, singles, shape)
                })?;
                Some(made)
            }
        };
        self.pet.set_scanner(of.scanner.plan(of.lattice.centre)?);
        Ok((counts, middle))
    }

    fn factors(&mut self, of: &Scan, options: &FactorOptions) -> Result<Buffer> {
        let mut factors = self.zeroed()?;
        let to = ArrayMut::new(&mut factors, self.histos())?;
        self.pet.factors(options, efficiencies(&of.scanner)?.as_ref(), None, to)?;
        Ok(factors)
    }

    fn sampled(&mut self, list: &EventList, histos: &[f32]) -> Result<Vec<f32>> {
        let mut values = zeros(list.len())?;
        let to = ArrayMut::new(&mut values, [list.len()])?;
        self.pet.sample_lines(&list.arrays()?, &Array::new(histos, self.histos())?, to)?;
        Ok(values)
    }
}

/// Histo-images of as many randoms on each line, about its middle.
fn in_the_middle(pet: &mut Pet, of: &Accidentals, singles: &[f32], shape: [usize; 4]) -> Result<Buffer> {
    let same = Accidentals { duration: of.duration * of.window / MIDDLE, window: MIDDLE };
    let mut made = Buffer::zeroed(shape.iter().product())?;
    pet.randoms(&same, DIRECTIONS, &Array::of(singles, [singles.len()])?, ArrayMut::new(&mut made, shape)?)?;
    Ok(made)
}

fn zeros(count: usize) -> Result<Vec<f32>> {
    let mut made = Vec::new();
    made.try_reserve_exact(count).context("no memory for a value of each event")?;
    made.resize(count, 0.0);
    Ok(made)
}

fn sum(a: &[f32], b: &[f32]) -> Vec<f32> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

/// Means of an image over the voxels of another lattice about the same middle, of sides x, y, z, mm.
fn coarse(image: &[f32], from: &Lattice, shape: [usize; 3], sides: [f64; 3]) -> Vec<f32> {
    let mut values: Vec<f64> = image.iter().map(|v| f64::from(*v)).collect();
    let mut own = from.shape;
    for axis in 0..3 {
        let (old, new, side) = (own[axis], shape[axis], sides[2 - axis]);
        let after: usize = own[axis + 1..].iter().product();
        let before: usize = own[..axis].iter().product();
        let mut made = vec![0.0; before * new * after];
        for (j, k) in (0..new).flat_map(|j| (0..old).map(move |k| (j, k))) {
            let place = |k: usize, count: usize, side: f64| (k as f64 - count as f64 / 2.0) * side;
            let begin = place(j, new, side).max(place(k, old, from.voxel));
            let end = place(j + 1, new, side).min(place(k + 1, old, from.voxel));
            if end <= begin {
                continue;
            }
            let part = (end - begin) / side;
            for outer in 0..before {
                let from = &values[(outer * old + k) * after..][..after];
                let to = &mut made[(outer * new + j) * after..][..after];
                to.iter_mut().zip(from).for_each(|(to, v)| *to += part * v);
            }
        }
        own[axis] = new;
        values = made;
    }
    values.into_iter().map(|v| v as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pet::options::Projector;

    fn lattice(shape: [usize; 3], voxel: f64) -> Lattice {
        Lattice {
            shape,
            voxel,
            centre: [0.0; 3],
            azimuths: 1,
            tilts: 1,
            max_tilt: 0.1,
            tof_fwhm: 0.0,
            width: 4.0,
            projector: Projector::Lines,
        }
    }

    /// Activity times volume stays, and so does the place: a voxel off the middle along each axis.
    #[test]
    fn coarse_images_keep_the_activity() {
        let (shape, voxel) = ([6, 8, 10], 2.0);
        let mut image = vec![0f32; shape.iter().product()];
        image[(4 * 8 + 1) * 10 + 7] = 3.0;
        let (wide, sides) = ([4, 4, 4], [7.0, 6.0, 5.0]);
        let made = coarse(&image, &lattice(shape, voxel), wide, sides);
        let total: f64 = made.iter().map(|v| f64::from(*v)).sum::<f64>() * sides.iter().product::<f64>();
        assert!((total - 3.0 * 8.0).abs() < 1e-5, "{total}");
        // At z 2 to 4, y -6 to -4 and x 4 to 6 mm, in voxels of z 0 to 5, y -6 to 0, x 0 to 7.
        let at = |k: usize| [k / 16, k / 4 % 4, k % 4];
        let filled: Vec<_> = (0..64).filter(|k| made[*k] > 0.0).map(at).collect();
        assert_eq!(filled, [[2, 1, 2]]);
    }
}
