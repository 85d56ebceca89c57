//! The three tables of one view: which kernel each voxel has, the offsets that kernels reach, and the kernels' values.
//!
//! A voxel's kernel depends on its x and y only, since the radial axis lies in the transverse plane.

use super::lattice::{Lattice, MAX_SIDE};
use super::quadrature::nodes;
use super::response::{Component, FWHM_PER_SIGMA, HALF_LIGHT, Radial, Response, Shape};
use super::units::{Short, Unit};
use super::view::View;
use isocenter_base::cpu::buffer::{collected, copied, filled, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// Kernels of one view; each sums to 1 over the offsets.
#[derive(Clone, Debug)]
pub struct Tables {
    map: Vec<u32>,
    offsets: Vec<[i32; 3]>,
    values: Vec<f32>,
    axial: Vec<f32>,
    mass: Vec<f64>,
    radial: [f64; 2],
}

/// Offsets x, y, z in the order of z, y, x, offset i opposite to the i-th from the end; and `[identifier][offset]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Full {
    pub offsets: Vec<[i32; 3]>,
    pub values: Vec<f32>,
}

impl Tables {
    pub(crate) fn new(lattice: &Lattice, view: &View, response: &Response) -> Result<Self> {
        response.check()?;
        let (map, steps) = identifiers(lattice, view, response)?;
        let components: Vec<_> = steps.iter().map(|s| response.components(*s)).collect();
        let axial_sigma = response.axial_sigma();
        let model = Model::new(lattice, view, response, &components);
        model.check_size(response)?;
        let (offsets, weights) = model.weights()?;
        let (values, mut mass) = normalised(&weights, components.len(), model.total())?;
        let mut axial = vec![1.0];
        if model.axial.is_none() {
            let kept;
            (axial, kept) = model.axial_factor(axial_sigma);
            mass.iter_mut().for_each(|m| *m *= kept);
        }
        Ok(Self { map, offsets, values, axial, mass, radial: radial_step(lattice, view) })
    }

    /// The caller's own: `map[y][x]` names a voxel's kernel, `offsets` are voxels along x, y, z, `values[identifier][offset]`
    /// are scaled to a sum of 1.
    pub(crate) fn given(
        lattice: &Lattice,
        view: &View,
        map: Vec<u32>,
        offsets: &[[i32; 3]],
        values: &[f32],
    ) -> Result<Self> {
        let [nz, ny, nx] = lattice.shape();
        if map.len() != nx * ny {
            fail!(TensorShape, "the map has {} entries; it must have {ny} x {nx}", map.len());
        }
        if offsets.is_empty() || values.is_empty() || !values.len().is_multiple_of(offsets.len()) {
            let (v, o) = (values.len(), offsets.len());
            fail!(TensorShape, "{v} values for {o} offsets; there must be as many for each kernel, at least 1");
        }
        let kernels = values.len() / offsets.len();
        if let Some(i) = map.iter().position(|a| *a as usize >= kernels) {
            fail!(OutOfRange, "map[{}, {}] is {}; there are {kernels} kernels", i / nx, i % nx, map[i]);
        }
        for (i, o) in offsets.iter().enumerate() {
            if let Some(axis) = (0..3).find(|d| o[*d].unsigned_abs() as usize >= [nx, ny, nz][*d]) {
                let (name, n) = (["x", "y", "z"][axis], [nx, ny, nz][axis]);
                fail!(OutOfRange, "offsets[{i}] is {} along {name}; the lattice has {n} voxels", o[axis]);
            }
        }
        let key = |o: &[i32; 3]| [o[2], o[1], o[0]];
        let mut all = collected(offsets.iter().flat_map(|o| [*o, o.map(|c| -c)]))?;
        all.sort_unstable_by_key(key);
        all.dedup();
        let mut weights: Vec<f64> = zeros(all.len() * kernels)?;
        let mut seen: Vec<bool> = zeros(all.len())?;
        for (i, o) in offsets.iter().enumerate() {
            let Ok(at) = all.binary_search_by_key(&key(o), key) else { continue };
            if std::mem::replace(&mut seen[at], true) {
                fail!(OutOfRange, "offsets[{i}], {o:?}, repeats");
            }
            for (a, row) in values.chunks_exact(offsets.len()).enumerate() {
                if !row[i].is_finite() {
                    fail!(NotFiniteData, "values[{a}, {i}] is {}; it must be finite", row[i]);
                }
                if row[i] < 0.0 {
                    fail!(OutOfRange, "values[{a}, {i}] is {}; it must not be below 0", row[i]);
                }
                weights[a * all.len() + at] = row[i].into();
            }
        }
        if let Some(a) = weights.chunks_exact(all.len()).position(|row| row.iter().sum::<f64>() == 0.0) {
            fail!(OutOfRange, "values[{a}] are all 0");
        }
        let (values, _) = normalised(&weights, kernels, 1.0)?;
        let radial = radial_step(lattice, view);
        Ok(Self { map, offsets: all, values, axial: vec![1.0], mass: filled(kernels, 1.0)?, radial })
    }

    /// `[y][x]`: steps of the radius that occur, from the smallest on.
    pub fn map(&self) -> &[u32] {
        &self.map
    }

    pub fn identifiers(&self) -> usize {
        self.mass.len()
    }

    /// The part of each kernel that the cut kept, before it was scaled to a sum of 1.
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    /// All three axes in one table of offsets and one of values.
    pub fn full(&self) -> Result<Full> {
        let (offsets, values) = self.with_axial(&self.values)?;
        Ok(Full { offsets, values })
    }

    /// Offsets along all three axes, and rows of values at the tables' offsets times the axial factor.
    pub(super) fn with_axial(&self, rows: &[f32]) -> Result<(Vec<[i32; 3]>, Vec<f32>)> {
        if self.axial.len() == 1 {
            return Ok((copied(&self.offsets)?, copied(rows)?));
        }
        let reach = (self.axial.len() / 2) as i32;
        let planes = || (-reach..).zip(&self.axial);
        let offsets = collected(planes().flat_map(|(z, _)| self.offsets.iter().map(move |o| [o[0], o[1], o[2] + z])))?;
        let mut values: Vec<f32> = zeros(rows.len() * self.axial.len())?;
        let rows = rows.chunks_exact(self.offsets.len());
        for (to, row) in values.chunks_exact_mut(offsets.len()).zip(rows) {
            let products = planes().flat_map(|(_, a)| row.iter().map(move |v| v * a));
            to.iter_mut().zip(products).for_each(|(to, p)| *to = p);
        }
        Ok((offsets, values))
    }

    /// Voxels along z that the kernels reach.
    pub(super) fn height(&self) -> usize {
        let of_offsets = self.offsets.iter().map(|o| o[2].unsigned_abs() as usize).max().unwrap_or(0);
        of_offsets + self.axial.len() / 2
    }

    /// The kernels, without the axial factor if there is one: offsets in the order of z, y, x.
    pub(super) fn offsets(&self) -> &[[i32; 3]] {
        &self.offsets
    }

    /// `[identifier][offset]`
    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// The factor along z, an odd number of values, symmetric; 1 alone where the kernels do not factor.
    pub(super) fn axial(&self) -> &[f32] {
        &self.axial
    }

    /// Radial distance of a step along x, and along y.
    pub(super) fn radial(&self) -> [f64; 2] {
        self.radial
    }
}

impl Response {
    /// An error if a view's kernels would be larger than the lattice, or too narrow for it.
    pub(super) fn check_on(&self, lattice: &Lattice, view: &View) -> Result<()> {
        let (_, steps) = identifiers(lattice, view, self)?;
        let components: Vec<_> = steps.iter().map(|s| self.components(*s)).collect();
        Model::new(lattice, view, self, &components).check_size(self)
    }

    /// An error if a width is too narrow for the lattice, as in another unit.
    pub(super) fn check_narrow(&self, lattice: &Lattice, view: &View) -> Result<()> {
        let (_, steps) = identifiers(lattice, view, self)?;
        let components: Vec<_> = steps.iter().map(|s| self.components(*s)).collect();
        Model::new(lattice, view, self, &components).lowest(self).map(|_| ())
    }

    /// Voxels along z that a view's kernels do not reach beyond.
    pub(super) fn height(&self, lattice: &Lattice, view: &View) -> usize {
        let [n, _, a] = view.axes();
        let mm = self.cut.k * (self.tof_sigma() * n[2].abs() + self.axial_sigma() * a[2].abs());
        // As a float: a response of any size has a height, and lattices are smaller than what wraps.
        voxels_within(mm, lattice.voxel()[2]).min(MAX_SIDE as f64) as usize
    }
}

/// Whole voxels of a size in a distance; rounding must not lose one whose centre lies on the cut.
fn voxels_within(mm: f64, side: f64) -> f64 {
    (mm / side + 1e-9).floor()
}

fn radial_step(lattice: &Lattice, view: &View) -> [f64; 2] {
    let [_, radial, _] = view.axes();
    let [vx, vy, _] = lattice.voxel();
    [radial[0] * vx, radial[1] * vy]
}

/// The map, and the step of each identifier.
fn identifiers(lattice: &Lattice, view: &View, response: &Response) -> Result<(Vec<u32>, Vec<i64>)> {
    let [_, ny, nx] = lattice.shape();
    let [_, radial, _] = view.axes();
    let mut of_voxel: Vec<i64> = zeros(nx * ny)?;
    for (i, step) in of_voxel.iter_mut().enumerate() {
        let [x, y, _] = lattice.centre([i % nx, i / nx, 0]);
        *step = response.step_of(x * radial[0] + y * radial[1]);
    }
    let mut steps = copied(&of_voxel)?;
    steps.sort_unstable();
    steps.dedup();
    let map = collected(of_voxel.iter().map(|s| steps.partition_point(|t| t < s) as u32))?;
    Ok((map, steps))
}

/// f64 weights `[identifier][offset]` to f32 values of sum 1, and their sums over `total`.
fn normalised(weights: &[f64], kernels: usize, total: f64) -> Result<(Vec<f32>, Vec<f64>)> {
    let rows = weights.chunks_exact(weights.len() / kernels);
    let sums: Vec<f64> = collected(rows.clone().map(|row| row.iter().sum()))?;
    let mut values: Vec<f32> = zeros(weights.len())?;
    let scaled = rows.zip(&sums).flat_map(|(row, sum)| row.iter().map(move |w| (w / sum) as f32));
    values.iter_mut().zip(scaled).for_each(|(v, w)| *v = w);
    Ok((values, collected(sums.into_iter().map(|s| s / total))?))
}

/// Name, value, unit, and sigma in mm for a value of 1.
type Widths = [(&'static str, f64, Unit, f64); 3];

/// The response of a view on the lattice.
struct Model<'a> {
    lattice: &'a Lattice,
    view: &'a View,
    shape: Shape,
    k: f64,
    tof: f64,
    /// None: the transverse plane alone.
    axial: Option<f64>,
    radial: &'a [Vec<Component>],
}

impl<'a> Model<'a> {
    fn new(lattice: &'a Lattice, view: &'a View, response: &Response, radial: &'a [Vec<Component>]) -> Self {
        let factored = view.tilt == 0.0 && response.cut.shape == Shape::Box;
        Self {
            lattice,
            view,
            shape: response.cut.shape,
            k: response.cut.k,
            tof: response.tof_sigma(),
            axial: (!factored).then_some(response.axial_sigma()),
            radial,
        }
    }

    /// Smallest radial sigma, and the farthest that any component is kept.
    fn radial_extent(&self) -> (f64, f64) {
        let all = || self.radial.iter().flatten();
        let narrowest = all().map(|c| c.sigma).fold(f64::INFINITY, f64::min);
        (narrowest, all().map(|c| c.place.abs() + self.k * c.sigma).fold(0.0, f64::max))
    }

    /// How far kernels reach along x, y, z in mm: by the widths of time, radial and axial.
    fn parts(&self, axial: f64) -> [[f64; 3]; 3] {
        let [n, r, a] = self.view.axes();
        let (_, radial) = self.radial_extent();
        std::array::from_fn(|d| [self.k * self.tof * n[d].abs(), radial * r[d].abs(), self.k * axial * a[d].abs()])
    }

    /// Voxels along x, y, z beyond which nothing is kept.
    fn reach(&self, axial: f64) -> [f64; 3] {
        let (parts, voxel) = (self.parts(axial), self.lattice.voxel());
        std::array::from_fn(|d| voxels_within(parts[d].iter().sum(), voxel[d]))
    }

    /// An error, which names the width that is to blame, if kernels are larger than the lattice, or narrower than makes sense on it.
    /// The widths, and the lowest that they may be; an error if one is lower.
    fn lowest(&self, response: &Response) -> Result<(Widths, [f64; 3])> {
        let (sigma, _) = self.radial_extent();
        let (radial, narrowest) = match response.radial {
            Radial::Constant(_) => ("response.radial_fwhm", ""),
            Radial::Table { .. } => ("response.radial_table", " at its narrowest"),
        };
        let widths = [
            ("response.tof_fwhm", response.tof_fwhm_ps, Unit::Picosecond, HALF_LIGHT / FWHM_PER_SIGMA),
            (radial, sigma * FWHM_PER_SIGMA, Unit::Millimetre, 1.0 / FWHM_PER_SIGMA),
            ("response.axial_fwhm", response.axial_fwhm, Unit::Millimetre, 1.0 / FWHM_PER_SIGMA),
        ];
        const MIN_SIGMA: f64 = 0.02;
        let side = self.lattice.voxel().into_iter().fold(0.0, f64::max);
        let lowest = widths.map(|(.., sigma)| MIN_SIGMA * side / sigma);
        for ((name, value, unit, sigma), lowest) in widths.into_iter().zip(lowest) {
            // Without time of flight there is no width.
            if value != 0.0 && value * sigma < MIN_SIGMA * side {
                let at = if name == radial { narrowest } else { "" };
                fail!(
                    OutOfRange,
                    "{name} is {} {}{at}; it must be at least {}, a sigma of {MIN_SIGMA} voxels of {} mm{}",
                    Short(value),
                    unit.name(),
                    Short(lowest),
                    Short(side),
                    unit.hint(value, [lowest, f64::INFINITY])
                );
            }
        }
        Ok((widths, lowest))
    }

    fn check_size(&self, response: &Response) -> Result<()> {
        let (widths, lowest) = self.lowest(response)?;
        let parts = self.parts(response.axial_sigma());
        for (d, name) in ["x", "y", "z"].into_iter().enumerate() {
            let (n, voxel) = (self.lattice.along()[d], self.lattice.voxel()[d]);
            let reach = voxels_within(parts[d].iter().sum(), voxel);
            if reach < n as f64 {
                continue;
            }
            let widest = (0..3).max_by(|a, b| parts[d][*a].total_cmp(&parts[d][*b])).unwrap_or(0);
            let (width, _, unit, _) = widths[widest];
            let value = if widest == 1 { response.radial.largest() } else { widths[widest].1 };
            // What the others leave, for a width that the reach is proportional to.
            let left = n as f64 * voxel - (0..3).filter(|k| *k != widest).map(|k| parts[d][k]).sum::<f64>();
            let highest = value * left / parts[d][widest];
            let allowed = if highest > lowest[widest] {
                format!(
                    "; it must be below {} beside the other widths{}",
                    Short(highest),
                    unit.hint(value, [lowest[widest], highest])
                )
            } else {
                String::new()
            };
            fail!(
                OutOfRange,
                "{width} is {value} {}: kernels reach {reach} voxels along {name}, where the lattice has {n}{allowed}",
                unit.name()
            );
        }
        Ok(())
    }

    /// Sum over all offsets if nothing were cut; exact where voxels are integrated, to 1e-8 where sigmas exceed a voxel.
    fn total(&self) -> f64 {
        let [x, y, z] = self.lattice.voxel();
        match self.axial {
            Some(axial) => TAU.powf(1.5) * self.tof * axial / (x * y * z),
            None => TAU * self.tof / (x * y),
        }
    }

    /// Where each axis is sampled in a voxel: its centre, or a rule where a sigma is below one voxel.
    fn nodes(&self) -> [Vec<(f64, f64)>; 3] {
        let narrowest = self.radial_extent().0.min(self.tof).min(self.axial.unwrap_or(f64::INFINITY));
        let voxel = self.lattice.voxel();
        let side = if self.axial.is_some() { voxel[2] } else { 0.0 };
        let integrate = narrowest < voxel[0].max(voxel[1]).max(side);
        let mut of_axis = voxel.map(|side| if integrate { nodes(side, narrowest) } else { vec![(0.0, 1.0)] });
        if self.axial.is_none() {
            of_axis[2] = vec![(0.0, 1.0)];
        }
        of_axis
    }

    /// Offsets, and unscaled weights `[identifier][offset]`.
    fn weights(&self) -> Result<(Vec<[i32; 3]>, Vec<f64>)> {
        let reach = self.reach(self.axial.unwrap_or(0.0)).map(|r| r as i32);
        let deep = if self.axial.is_some() { reach[2] } else { 0 };
        let nodes = self.nodes();
        let plane = collected((-reach[1]..=reach[1]).flat_map(|y| (-reach[0]..=reach[0]).map(move |x| [x, y])))?;
        let mut towers = collected(plane.iter().map(|_| Tower::default()))?;
        towers.par_iter_mut().zip(&plane).try_for_each(|(tower, d)| {
            *tower = self.tower(*d, deep, &nodes)?;
            Ok(())
        })?;
        // Opposite offsets are both there, whichever kernel needs one of them: tower i is opposite to the i-th from the end.
        let height = 2 * deep as usize + 1;
        let kept = |i: usize, z: usize| {
            let opposite = &towers[towers.len() - 1 - i];
            towers[i].kept[z] || opposite.kept[height - 1 - z]
        };
        let cells = |z: usize| (0..plane.len()).filter(move |i| kept(*i, z)).map(move |i| (i, z));
        let cells = collected((0..height).flat_map(cells))?;
        let offsets = collected(cells.iter().map(|(i, z)| [plane[*i][0], plane[*i][1], *z as i32 - deep]))?;
        let mut weights = zeros(offsets.len() * self.radial.len())?;
        for (a, row) in weights.chunks_exact_mut(offsets.len()).enumerate() {
            for (w, (i, z)) in row.iter_mut().zip(&cells) {
                *w = towers[*i].weights.get(a * height + z).copied().unwrap_or(0.0);
            }
            // To the last bit, so that forward and adjoint can share the table.
            if self.radial[a].iter().all(|c| c.place == 0.0) {
                let (half, other) = row.split_at_mut(offsets.len() / 2);
                half.iter().zip(other.iter_mut().rev()).for_each(|(from, to)| *to = *from);
            }
        }
        Ok((offsets, weights))
    }

    /// All offsets with one x and y.
    fn tower(&self, [x, y]: [i32; 2], deep: i32, nodes: &[Vec<(f64, f64)>; 3]) -> Result<Tower> {
        let [vx, vy, vz] = self.lattice.voxel();
        let ((sp, cp), (st, ct)) = (self.view.azimuth.sin_cos(), self.view.tilt.sin_cos());
        let axial = self.axial.unwrap_or(f64::INFINITY);
        let (dx, dy) = (f64::from(x) * vx, f64::from(y) * vy);
        // Along the view's azimuth, and radially.
        let turned = |x: f64, y: f64| (x * cp + y * sp, y * cp - x * sp);
        let (along, across) = turned(dx, dy);
        let square = self.k * self.k;
        let heights = || (-deep..=deep).map(|z| f64::from(z) * vz);
        let radial: Vec<f64> = self.radial.iter().map(|c| nearest(c, across)).collect();
        let inside = |radial: f64, z: f64| {
            let line = ((along * ct + z * st) / self.tof).powi(2);
            let height = ((z * ct - along * st) / axial).powi(2);
            match self.shape {
                Shape::Box => line <= square && height <= square && radial <= square,
                Shape::Ellipsoid => line + height + radial <= square,
            }
        };
        let nearest = radial.iter().copied().fold(f64::INFINITY, f64::min);
        let kept: Vec<bool> = heights().map(|z| inside(nearest, z)).collect();
        if !kept.contains(&true) {
            return Ok(Tower { kept, weights: Vec::new() });
        }
        let mut weights: Vec<f64> = zeros(self.radial.len() * kept.len())?;
        for ((qx, wx), (qy, wy)) in nodes[0].iter().flat_map(|a| nodes[1].iter().map(move |b| (*a, *b))) {
            let (along, across) = turned(dx + qx, dy + qy);
            // Line and height: the same for all identifiers.
            let common: Vec<f64> = heights()
                .map(|z| {
                    let at = |q: f64| {
                        let line = (along * ct + (z + q) * st) / self.tof;
                        let height = ((z + q) * ct - along * st) / axial;
                        (-0.5 * (line * line + height * height)).exp()
                    };
                    wx * wy * nodes[2].iter().map(|(q, w)| w * at(*q)).sum::<f64>()
                })
                .collect();
            for ((components, near), row) in self.radial.iter().zip(&radial).zip(weights.chunks_exact_mut(kept.len())) {
                if *near <= square {
                    let profile = density(components, across);
                    row.iter_mut().zip(&common).for_each(|(w, c)| *w += profile * c);
                }
            }
        }
        for (near, row) in radial.iter().zip(weights.chunks_exact_mut(kept.len())) {
            for (w, z) in row.iter_mut().zip(heights()) {
                if !inside(*near, z) {
                    *w = 0.0;
                }
            }
        }
        Ok(Tower { kept, weights })
    }

    /// The factor along z and the part of its mass that is kept.
    fn axial_factor(&self, sigma: f64) -> (Vec<f32>, f64) {
        let side = self.lattice.voxel()[2];
        let rule = if sigma < side { nodes(side, sigma) } else { vec![(0.0, 1.0)] };
        let reach = voxels_within(self.k * sigma, side) as i32;
        let weight = |z: i32| {
            let z = f64::from(z) * side;
            rule.iter().map(|(q, w)| w * (-0.5 * ((z + q) / sigma).powi(2)).exp()).sum::<f64>()
        };
        // Both halves from one, so that they are the same numbers.
        let weights: Vec<f64> = (-reach..=reach).map(|z| weight(z.abs())).collect();
        let sum: f64 = weights.iter().sum();
        (weights.iter().map(|w| (w / sum) as f32).collect(), sum * side / (TAU.sqrt() * sigma))
    }
}

/// Weights `[identifier][z]` of one x and y, none where no kernel keeps any.
#[derive(Default)]
struct Tower {
    kept: Vec<bool>,
    weights: Vec<f64>,
}

/// Square of the distance to the nearest component's centre, in its sigmas.
fn nearest(components: &[Component], across: f64) -> f64 {
    components.iter().map(|c| ((across - c.place) / c.sigma).powi(2)).fold(f64::INFINITY, f64::min)
}

/// The radial profile, its integral sqrt(2 pi).
fn density(components: &[Component], across: f64) -> f64 {
    let one = |c: &Component| c.share / c.sigma * (-0.5 * ((across - c.place) / c.sigma).powi(2)).exp();
    components.iter().map(one).sum()
}
