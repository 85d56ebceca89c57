//! What a scanner measures of lines: factors of each event's, their image over all lines, and what is measured besides.
//!
//! Counts are told as densities, of a steradian of directions, a mm^2 across lines and, with time of flight, a mm along them. Of an image f of activity there are `m J f` with
//! `m = c e_a e_b exp(-P) / 2 pi`: efficiencies of both crystals (and of their pair), P the integral of the attenuation along the line, and c decays of a mm^3 of 1 Bq/ml: a
//! [`factors`](crate::factors) of one line.

use super::cpu::Lines;
use super::grid::Grid;
use super::list::{Ends, List, ListArrays};
use super::through::Through;
use crate::corrections::FactorOptions;
use crate::dropped::Dropped;
use crate::events::{BLOCK, Block};
use crate::factors::Accidentals;
use crate::gpu;
use crate::plan::Pet;
use crate::response::HALF_LIGHT;
use crate::scanner::{Plane, Scanner};
use isocenter_base::array::{Array, ArrayMut, DType, host};
use isocenter_base::context::{LogLevel, NanPolicy, Stage};
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// Events whose lines are sorted by view at a time.
const AT_ONCE: usize = 1 << 20;

/// Crystals of a list's events, as they are numbered.
struct Pairs<'a> {
    crystals: [Array<'a, 1>; 2],
    count: usize,
}

impl<'a> Pairs<'a> {
    fn new(list: &ListArrays<'a>, scanner: &Scanner, what: &str) -> Result<Self> {
        let Ends::Crystals(events) = &list.ends else {
            fail!(OutOfRange, "{what} are of crystals, and the list has positions alone: give list.crystals");
        };
        let crystals = [events.crystals.column(0), events.crystals.column(1)];
        Ok(Self { crystals, count: scanner.crystals.count() })
    }

    /// Those of events from one on; None of what there is not.
    fn read(&self, from: usize, n: usize) -> impl Iterator<Item = Option<[usize; 2]>> {
        let mut rows = [[0u32; BLOCK]; 2];
        self.crystals.iter().zip(&mut rows).for_each(|(column, row)| column.read_counts([from], &mut row[..n]));
        (0..n).map(move |k| {
            let pair = rows.map(|row| row[k] as usize);
            pair.iter().all(|c| *c < self.count).then_some(pair)
        })
    }
}

impl Pet {
    /// Writes m of each event; 0 of those that no factor is of.
    pub fn line_factors(
        &mut self,
        list: &ListArrays,
        options: &FactorOptions,
        efficiencies: Option<&Array<1>>,
        attenuation: Option<&Array<3>>,
        to: ArrayMut<1>,
    ) -> Result<Dropped> {
        options.acquisition.check()?;
        let lattice = *self.lattice()?;
        let scanner = self.scanner.clone();
        // An event is anywhere along its line, whatever its time.
        let untimed = ListArrays { timed: false, tof_fwhm: None, ..*list };
        let lines = List::new(&untimed, scanner.as_deref(), None, self.view_set()?.max_tilt().sin())?;
        to.layout().check("values", [lines.len()], DType::FLOAT, &[])?;
        let efficiencies = efficiencies.map(|from| self.read_efficiencies(from)).transpose()?;
        let of_crystals = match (&efficiencies, &scanner, &list.ends) {
            (None, _, Ends::Positions(_)) => None,
            (_, Some(scanner), _) => Some((scanner, Pairs::new(list, scanner, "efficiencies")?)),
            (_, None, _) => fail!(NotConfigured, "the plan has no scanner yet; isoc_pet_set_scanner comes first"),
        };
        if let Some(k) = efficiencies.iter().flat_map(|e| e.iter()).position(|e| *e < 0.0) {
            fail!(OutOfRange, "efficiencies[{k}] is below 0; it must be at least 0");
        }
        let values = attenuation.map(|from| self.read_map(from)).transpose()?;
        let (shape, voxel, centre) = match (&values, attenuation) {
            (Some(values), Some(from)) => {
                let map = self.map_of(options, values, from.shape())?;
                if let Some(doubt) = self.doubt_of(&map)? {
                    self.context.log(LogLevel::Warning, || doubt);
                }
                (from.shape(), map.voxel, map.centre)
            }
            _ => (lattice.shape(), lattice.voxel(), [0.0; 3]),
        };
        let grid = Grid::new(shape, voxel, centre)?;
        let all = Lines { level: self.context.level(), through: Through { list: &lines, grid, blur: None } };
        let decays = options.acquisition.decays(lattice.voxel_volume()) / (TAU * lattice.voxel_volume());
        self.context.run(|job| {
            job.enter(Stage::Factors);
            let mut image = grid.zeroed()?;
            let mut attenuated = match &values {
                Some(values) => {
                    let [_, ny, nx] = shape;
                    grid.fill(&mut image, |x, y, column| {
                        column.iter_mut().enumerate().for_each(|(z, v)| *v = values[(z * ny + y) * nx + x]);
                    });
                    zeros::<f32>(lines.len())?
                }
                None => Vec::new(),
            };
            if values.is_some() {
                all.forward(&image, &ArrayMut::new(&mut attenuated, [lines.len()])?, job)?;
            }
            let attenuated = &attenuated;
            let of_block = |from: usize| -> Dropped {
                let (mut row, n) = ([0.0f32; BLOCK], BLOCK.min(lines.len() - from));
                let dropped = lines.read(from, BLOCK, &mut Block::new(), |line| {
                    let through = attenuated.get(line.number).map_or(1.0, |p| (-f64::from(*p)).exp());
                    row[line.number - from] = (decays * through) as f32;
                });
                if let Some((scanner, pairs)) = &of_crystals {
                    for (v, pair) in row.iter_mut().zip(pairs.read(from, n)) {
                        let part = pair.map_or(0.0, |[a, b]| {
                            efficiencies.as_ref().map_or(1.0, |e| e[a] * e[b]) * scanner.pair(a, b)
                        });
                        *v *= part;
                    }
                }
                // SAFETY: events of this block alone; nobody else has the array.
                unsafe { to.write_row([from], &row[..n]) };
                dropped
            };
            let found: Vec<Dropped> =
                (0..lines.len().div_ceil(BLOCK)).into_par_iter().map(|b| of_block(b * BLOCK)).collect();
            Ok(found.into_iter().fold(Dropped::default(), Dropped::plus))
        })
    }

    /// Writes the image of m over all lines within the plan's tilts: the sum over views of [`Pet::factors`].
    pub fn line_sensitivity(
        &mut self,
        options: &FactorOptions,
        efficiencies: Option<&Array<1>>,
        attenuation: Option<&Array<3>>,
        mut to: ArrayMut<3>,
    ) -> Result<()> {
        let lattice = *self.lattice()?;
        to.layout().check("sensitivity", lattice.shape(), DType::FLOAT, self.gpus())?;
        self.with_factors(options, efficiencies, attenuation, |pet, factors| match pet.gpus().first() {
            Some(device) => gpu::factors::write_sum(&pet.context, device, &factors, &mut to, pet.stream()),
            None => factors.write_sum(&pet.context, &to),
        })
    }

    /// Writes the density of random coincidences about each event, of crystals that detect so many photons a second.
    pub fn line_randoms(&self, list: &ListArrays, of: &Accidentals, singles: &Array<1>, to: ArrayMut<1>) -> Result<()> {
        let scanner = self.scanner()?;
        // 2 w s_i s_j of a pair, over the lines that it measures, a_i a_j cos cos / r^2, and with times over their reach.
        let rate = of.pairs()? / if list.timed { 2.0 * HALF_LIGHT * of.window } else { 1.0 };
        let pairs = Pairs::new(list, scanner, "singles")?;
        let lines = List::new(&ListArrays { timed: false, tof_fwhm: None, ..*list }, Some(scanner), None, 1.0)?;
        to.layout().check("values", [lines.len()], DType::FLOAT, &[])?;
        let singles: Vec<f32> = self.context.install(|| {
            let read = host::read(singles, "singles", NanPolicy::Error, &mut 0)?;
            collected(read.iter().copied())
        })?;
        if let Some(k) = singles.iter().position(|s| *s < 0.0) {
            fail!(OutOfRange, "singles[{k}] is {}; it must be at least 0", singles[k]);
        }
        scanner.crystals.check_faces()?;
        let planes: Vec<Plane> =
            collected(scanner.crystals.faces()[..scanner.crystals.count()].iter().map(Plane::new))?;
        self.context.run(|job| {
            job.enter(Stage::Factors);
            (0..lines.len().div_ceil(BLOCK)).into_par_iter().for_each(|block| {
                let from = block * BLOCK;
                let (mut row, n) = ([0.0f32; BLOCK], BLOCK.min(lines.len() - from));
                let of_events: Vec<Option<[usize; 2]>> = pairs.read(from, n).collect();
                lines.read(from, BLOCK, &mut Block::new(), |line| {
                    let Some([a, b]) = of_events[line.number - from] else { return };
                    let [x1, y1, z1, x2, y2, z2, _] = line.event;
                    let apart = [x2 - x1, y2 - y1, z2 - z1];
                    let square = apart.iter().map(|d| d * d).sum::<f64>();
                    let along = apart.map(|d| d / square.sqrt());
                    let density = rate * f64::from(singles[a]) * f64::from(singles[b]) * f64::from(scanner.pair(a, b));
                    let facing = planes[a].facing(along) * planes[b].facing(along);
                    if facing > 0.0 {
                        row[line.number - from] = (density * square / facing) as f32;
                    }
                });
                // SAFETY: events of this block alone; nobody else has the array.
                unsafe { to.write_row([from], &row[..n]) };
            });
            Ok(())
        })
    }

    /// Writes the sum along each event's line of its view's histo-image `[view][z][y][x]`.
    pub fn sample_lines(&mut self, list: &ListArrays, histos: &Array<4>, to: ArrayMut<1>) -> Result<Dropped> {
        let (scanner, response) = (self.scanner.clone(), self.response().cloned());
        let (lattice, views) = (*self.lattice()?, self.view_set()?);
        let all = List::new(list, scanner.as_deref(), response.as_ref(), views.max_tilt().sin())?;
        to.layout().check("values", [all.len()], DType::FLOAT, &[])?;
        let grid = Grid::of(&lattice)?;
        let lines = Lines { level: self.context.level(), through: Through { list: &all, grid, blur: None } };
        let dropped = self.context.run(|job| {
            job.enter(Stage::Factors);
            let mut image = grid.zeroed()?;
            let mut dropped = Dropped::default();
            for from in (0..all.len()).step_by(AT_ONCE) {
                let n = AT_ONCE.min(all.len() - from);
                let mut values = zeros::<f32>(n)?;
                let mut of_views: Vec<Vec<super::list::Line>> = views.list().iter().map(|_| Vec::new()).collect();
                let mut block = Block::new();
                for at in (from..from + n).step_by(BLOCK) {
                    dropped = dropped.plus(all.read(at, BLOCK, &mut block, |line| {
                        let [x1, y1, z1, x2, y2, z2, _] = line.event;
                        if let Some(view) = views.nearest([x2 - x1, y2 - y1, z2 - z1]) {
                            of_views[view].push(*line);
                        }
                    }));
                }
                let shared = Shared::new(&mut values);
                for (v, of_view) in of_views.iter().enumerate().filter(|(_, lines)| !lines.is_empty()) {
                    job.check()?;
                    fill_from(&grid, histos, v, &mut image)?;
                    lines.forward_of(&image, of_view, |number, sum| {
                        // SAFETY: each event is of one view.
                        unsafe { *shared.at(number - from) = sum };
                    })?;
                }
                // SAFETY: this call's own array.
                unsafe { to.write_row([from], &values) };
                job.advance(n as f64 / all.len() as f64);
            }
            Ok(dropped)
        })?;
        self.tell_of_lines(&all, &dropped)?;
        Ok(dropped)
    }
}

/// A view's histo-image where lines cross it.
fn fill_from(grid: &Grid, histos: &Array<4>, view: usize, image: &mut [f32]) -> Result<()> {
    let [nx, ny, nz] = grid.sides;
    let from = histos.part(view);
    let [column, row, _] = grid.strides;
    image.par_chunks_mut(row).skip(1).take(ny).enumerate().for_each_init(
        || vec![0.0f32; nx],
        |room, (y, slab)| {
            for z in 0..nz {
                from.read_row([z, y, 0], room);
                crate::values::replace(room);
                room.iter().enumerate().for_each(|(x, v)| slab[(x + 1) * column + 1 + z] = *v);
            }
        },
    );
    Ok(())
}
