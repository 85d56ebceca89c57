//! Expected counts of a simulated scan: the factors and the background of the model `A_v * (H_v f) + additive_v`.
//!
//! With D decays drawn from an activity f of integral F, directions isotropic within the scanner's tilts, a voxel of volume V
//! emits `D V f / F` of them, and the part `q` of these has a direction of view v: `q` is the view's solid angle over that of
//! all tilts. So `A_v(x) = (D V / F) q <accepted * survival>`, the mean taken over directions of the view, for the lines
//! through x. Counts modelled with these factors have f in the phantom's own unit, whatever the scanner and the attenuation.
//! Survival is constant along a line, and acceptance too: blur along the line leaves both as they are.
//!
//! A view's directions are strips of tilts at several azimuths, cut into parts; with u the tangent of the tilt, an element of
//! solid angle is `cos^3(tilt) du d(azimuth)`. Which u miss the detectors is known for each voxel, and taken away exactly;
//! survival and background are those of the part's middle.

use super::scan::{Scan, Tally};
use crate::lattice::Lattice;
use crate::phantom::Object;
use crate::response::HALF_LIGHT;
use crate::views::{Strip, Views};
use isocenter_base::array::{ArrayMut, DType};
use isocenter_base::context::{Context, Job, Stage};
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::elementary::exp;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::{Result, fail};
use isocenter_base::phantom::Shape;
use std::f64::consts::TAU;

/// Tilts that one stands for.
const PART: f64 = 0.065;

impl Scan<'_> {
    /// Writes `A_v` of all views, `[view][z][y][x]` in f32.
    pub fn factors(
        &self,
        context: &Context,
        tally: &Tally,
        views: &Views,
        lattice: &Lattice,
        to: ArrayMut<4>,
    ) -> Result<()> {
        if self.map.is_some() {
            fail!(
                NotConfigured,
                "no formula has the factors of an attenuation map; isoc_pet_factors makes them, of a scanner"
            );
        }
        let activity = self.source.total();
        if activity <= 0.0 || activity.is_nan() {
            fail!(OutOfRange, "the source's activity is {activity}; it must be above 0");
        }
        let scale = tally.decays as f64 * lattice.voxel_volume() / (activity * self.solid_angle());
        let expectation = Expectation { scan: self, lattice, attenuated: true, value: &|_, _| scale };
        expectation.write(context, views, &to)
    }

    /// Writes scatter and randoms of all views in the same way; randoms alone where photons are scattered.
    pub fn additive(
        &self,
        context: &Context,
        tally: &Tally,
        views: &Views,
        lattice: &Lattice,
        to: ArrayMut<4>,
    ) -> Result<()> {
        let (scanner, b) = (&self.scanner, &self.background);
        let (length, radius) = (scanner.axial_length, scanner.diameter / 2.0);
        // Scatter: density of its places, and of its directions.
        let spread = b.scatter_sigma * b.scatter_sigma;
        let volume = lattice.voxel_volume();
        let scatter = match b.compton {
            Some(_) => 0.0,
            None => tally.scatter_draws as f64 * volume / (TAU * spread * length * self.solid_angle()),
        };
        // Two uniform ends make lines of constant density in the area across them and the solid angle: for two pieces of the
        // cylinder at distance r, `dA1 dA2 = r^2 / (cos cos) dA dO`, r is 2 R cos(b) / cos(tilt) and both cosines are
        // cos(b) cos(tilt), so that the angle b between line and radius cancels. Twice, for either order of the ends.
        let surface = TAU * radius * length;
        let lines = 2.0 * 4.0 * radius * radius / (surface * surface);
        let reach = HALF_LIGHT * b.window;
        let randoms = tally.random_draws as f64 * volume * lines / (2.0 * reach);
        let value = |square: f64, line: Line| {
            let uniform = if line.shift / line.cosine <= reach { line.cosine.powi(-4) } else { 0.0 };
            scatter * (-0.5 * square / spread).exp() + randoms * uniform
        };
        let expectation = Expectation { scan: self, lattice, attenuated: false, value: &value };
        expectation.write(context, views, &to)
    }

    /// Of all tilts.
    fn solid_angle(&self) -> f64 {
        TAU * self.scanner.max_tilt.sin()
    }
}

/// A line through a voxel.
#[derive(Clone, Copy)]
struct Line {
    /// Of its tilt.
    cosine: f64,
    /// From the voxel to the middle between its ends, in the transverse plane.
    shift: f64,
}

/// Sums over the directions of views.
struct Expectation<'a> {
    scan: &'a Scan<'a>,
    lattice: &'a Lattice,
    /// Whether survival is part of it.
    attenuated: bool,
    /// The rest of it, of the squared distance from the scanner's axis, and the line.
    value: &'a (dyn Fn(f64, Line) -> f64 + Sync),
}

/// Directions of one azimuth, for which one stands.
#[derive(Clone, Copy)]
struct Part {
    azimuth: f64,
    /// Of the azimuths.
    width: f64,
    /// Tangents of the lowest and the highest tilt.
    low: f64,
    high: f64,
}

fn parts(strip: &Strip, limit: f64) -> impl Iterator<Item = Part> {
    let [low, high] = strip.tilts.map(|t| t.clamp(-limit, limit));
    let count = ((high - low) / PART).ceil();
    let (from, to) = (low.tan(), high.tan());
    let at = move |k: usize| from + (to - from) * k as f64 / count;
    let Strip { azimuth, width, .. } = *strip;
    (0..count as usize).map(move |k| Part { azimuth, width, low: at(k), high: at(k + 1) })
}

impl Expectation<'_> {
    fn write(&self, context: &Context, views: &Views, to: &ArrayMut<4>) -> Result<()> {
        self.scan.check()?;
        let [nz, ny, nx] = self.lattice.shape();
        let shape = [views.list().len(), nz, ny, nx];
        if to.shape() != shape {
            fail!(TensorShape, "the array has shape {:?}; it must be {shape:?}", to.shape());
        }
        if to.dtype() != DType::F32 {
            fail!(TensorDtype, "the array is {:?}; it must be F32", to.dtype());
        }
        if to.layout().gpu.is_some() {
            fail!(TensorDevice, "the array is in a GPU's memory; it must be in host memory");
        }
        let row = (size_of::<f64>() * nx * (nz + 5 + 2 * self.scan.attenuation.attenuating().count())) as u64;
        let (needed, cap) = (row * context.threads() as u64, context.memory_cap(0));
        if needed > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; expected counts need {needed}");
        }
        let cells = views.cells();
        context.run(|job| {
            job.enter(Stage::Simulate);
            (0..views.list().len() * ny).into_par_iter().try_for_each_init(
                || Rows::new(self),
                |rows, k| {
                    let rows = rows.as_mut().map_err(|e| e.clone())?;
                    let (v, y) = (k / ny, k % ny);
                    rows.sum(context.level(), self, &cells[v], y, job)?;
                    for (z, row) in rows.sums.chunks_exact(nx).enumerate() {
                        // SAFETY: a row of this task's alone; nobody else has the array.
                        unsafe { to.write_row([v, z, y, 0], row) };
                    }
                    job.advance(1.0 / (views.list().len() * ny) as f64);
                    Ok(())
                },
            )
        })
    }
}

/// [`Rows::add`] as code for a level.
struct Add<'a> {
    rows: &'a mut Rows,
    of: &'a Expectation<'a>,
    part: Part,
    y: usize,
}

impl Plain for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.rows.add(self.of, &self.part, self.y);
    }
}

/// What a task needs: a row of voxels along x, at all z.
struct Rows {
    /// `[z][x]`
    sums: Vec<f64>,
    /// Of each x: reciprocal distances to the ends of a flat line, behind and ahead, 0 outside the detectors; and the value.
    behind: Vec<f64>,
    ahead: Vec<f64>,
    value: Vec<f64>,
    integral: Vec<f64>,
    /// The value with the survival of lines that no body's end cuts short.
    uncut: Vec<f64>,
    /// Of each cylinder and x: where a line is inside, were the cylinder without end.
    inside: Vec<[Vec<f64>; 2]>,
}

impl Rows {
    fn new(of: &Expectation) -> Result<Self> {
        let [nz, _, nx] = of.lattice.shape();
        let row = || zeros(nx);
        let cylinders = of.scan.attenuation.attenuating().filter(|o| matches!(o.shape, Shape::Cylinder { .. })).count();
        Ok(Self {
            sums: zeros(nz * nx)?,
            behind: row()?,
            ahead: row()?,
            value: row()?,
            integral: row()?,
            uncut: row()?,
            inside: (0..cylinders).map(|_| Ok([row()?, row()?])).collect::<Result<_>>()?,
        })
    }

    /// Sums of the rows at `y`.
    fn sum(&mut self, level: Level, of: &Expectation, cell: &[Strip], y: usize, job: &Job) -> Result<()> {
        self.sums.fill(0.0);
        for part in cell.iter().flat_map(|strip| parts(strip, of.scan.scanner.max_tilt)) {
            job.check()?;
            vectorised(level, Add { rows: self, of, part, y });
        }
        Ok(())
    }

    #[inline(always)]
    fn add(&mut self, of: &Expectation, part: &Part, y: usize) {
        let (lattice, scanner) = (of.lattice, &of.scan.scanner);
        let nx = lattice.along()[0];
        let (sin, cos) = part.azimuth.sin_cos();
        let tangent = 0.5 * (part.low + part.high);
        let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
        let along = [cos * cosine, sin * cosine, tangent * cosine];
        let y = lattice.position(1, y);
        let radius = scanner.diameter / 2.0;
        let solid_angle = part.width * cosine.powi(3);
        for i in 0..nx {
            let x = lattice.position(0, i);
            let (square, middle) = (x * x + y * y, -(x * cos + y * sin));
            let rest = radius * radius - square;
            let half = (middle * middle + rest.max(0.0)).sqrt();
            let line = Line { cosine, shift: middle.abs() };
            let within = rest > 0.0;
            self.behind[i] = if within { 1.0 / (half - middle) } else { 0.0 };
            self.ahead[i] = if within { 1.0 / (half + middle) } else { 0.0 };
            self.value[i] = if within { solid_angle * (of.value)(square, line) } else { 0.0 };
        }
        let bodies = || of.scan.attenuation.attenuating().filter(|_| of.attenuated);
        let cylinders = bodies().filter(|o| matches!(o.shape, Shape::Cylinder { .. }));
        self.integral.fill(0.0);
        // Of all lines that meet a cylinder, where they enter first and leave last.
        let mut reached = Vec::new();
        for (o, [from, to]) in cylinders.zip(&mut self.inside) {
            let (mut first, mut last) = (f64::INFINITY, f64::NEG_INFINITY);
            for i in 0..nx {
                let [a, b] = o.shape.unending_chord([lattice.position(0, i), y, 0.0], along);
                (from[i], to[i]) = (a, b);
                self.integral[i] += o.attenuation * (b - a).max(0.0);
                if a < b {
                    (first, last) = (first.min(a), last.max(b));
                }
            }
            reached.push((o, first, last));
        }
        for ((uncut, value), integral) in self.uncut.iter_mut().zip(&self.value).zip(&self.integral) {
            *uncut = value * exp(-integral);
        }
        let only_cylinders = reached.len() == bodies().count();
        let reach = scanner.axial_length / 2.0;
        for (k, sums) in self.sums.chunks_exact_mut(nx).enumerate() {
            let z = lattice.position(2, k);
            let whole = |(o, first, last): &(&Object, f64, f64)| {
                let [low, high] = o.shape.between_ends(z, along[2]);
                low <= *first && *last <= high
            };
            let weight = if only_cylinders && reached.iter().all(whole) {
                &self.uncut
            } else {
                self.integral.fill(0.0);
                let mut inside = self.inside.iter();
                for o in bodies() {
                    if let Shape::Cylinder { .. } = o.shape {
                        let Some([from, to]) = inside.next() else { continue };
                        let [low, high] = o.shape.between_ends(z, along[2]);
                        for ((sum, from), to) in self.integral.iter_mut().zip(from).zip(to) {
                            *sum += o.attenuation * (to.min(high) - from.max(low)).max(0.0);
                        }
                    } else {
                        for (i, sum) in self.integral.iter_mut().enumerate() {
                            let [from, to] = o.shape.chord([lattice.position(0, i), y, z], along);
                            *sum += o.attenuation * (to - from).max(0.0);
                        }
                    }
                }
                for (integral, value) in self.integral.iter_mut().zip(&self.value) {
                    *integral = value * exp(-*integral);
                }
                &self.integral
            };
            let (down, up) = (-reach - z, reach - z);
            let lines = self.behind.iter().zip(&self.ahead).zip(weight);
            for (sum, ((behind, ahead), weight)) in sums.iter_mut().zip(lines) {
                // Tangents with which both ends are on the detectors.
                let low = part.low.max(down * ahead).max(-up * behind);
                let high = part.high.min(up * ahead).min(-down * behind);
                *sum += (high - low).max(0.0) * weight;
            }
        }
    }
}
