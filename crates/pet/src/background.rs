//! What a plan computes of its scanner for the additive part of the model `A_v (H_v f) + additive_v`: randoms and scatter.

use super::corrections::FactorOptions;
use super::dropped::Dropped;
use super::factors::{Accidentals, AttenuationMap, Factors, Sampling};
use super::gpu;
use super::plan::Pet;
use super::response::{FWHM_PER_SIGMA, HALF_LIGHT};
use super::scanner::{DelayArrays, Fan};
use super::scatter::{Additive, Found, Model, Scatter, Tails};
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::{LogLevel, NanPolicy};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::error::{Result, fail};

impl Pet {
    /// Pairs whose lines are within so many mm of the axis, those of the lattice's inscribed circle where it is 0, and within the tilts.
    pub(super) fn fan(&self, field_of_view: f64) -> Result<Fan> {
        if !field_of_view.is_finite() {
            fail!(NotFiniteParameter, "field_of_view is {field_of_view}; it must be finite, in mm");
        }
        if field_of_view < 0.0 {
            fail!(OutOfRange, "field_of_view is {field_of_view} mm; it must be at least 0");
        }
        let lattice = self.lattice()?;
        let side = |axis: usize| lattice.voxel()[axis] * lattice.along()[axis] as f64;
        let diameter = if field_of_view == 0.0 { side(0).min(side(1)) } else { field_of_view };
        Ok(Fan { radius: 0.5 * diameter, sine: self.view_set()?.max_tilt().sin() })
    }

    /// An error unless it is the diameter of one.
    pub fn check_field_of_view(&self, diameter: f64) -> Result<()> {
        self.fan(diameter).map(|_| ())
    }

    /// Largest time difference of events, ps, where the caller says 0: that of the time bins, or none.
    pub fn random_window(&self) -> Result<f64> {
        let Some(bins) = &self.scanner()?.time_bins else { return Ok(f64::INFINITY) };
        let edges = bins.bins()[..bins.count()].iter().flat_map(|[low, width]| [low.abs(), (low + width).abs()]);
        Ok(edges.fold(0.0, f64::max))
    }

    /// Adds one to the sums `[set][crystal]` of both crystals of each coincidence in the field of view.
    pub fn fan_sums(&self, field_of_view: f64, events: &DelayArrays, sums: &mut ArrayMut<2>) -> Result<Dropped> {
        let fan = self.fan(field_of_view)?;
        let dropped = fan.count(&self.context, self.scanner()?, events, sums)?;
        let all = events.crystals.shape()[0] as u64;
        // Labels beyond the sums are left out on purpose.
        if dropped.unknown > 0 && events.labels.is_none() {
            self.context.log(LogLevel::Warning, || {
                format!("{} of {all} coincidences name crystals that the scanner does not have", dropped.unknown)
            });
        }
        Ok(dropped)
    }

    /// Photons that each crystal detects a second, of the sums over fans of delayed coincidences in so many seconds, with time differences of +-`window` ps.
    pub fn singles(&self, field_of_view: f64, of: &Accidentals, sums: &Array<1>, to: &mut ArrayMut<1>) -> Result<()> {
        let pairs = of.pairs()?;
        let fan = self.fan(field_of_view)?;
        let sums = self.context.install(|| host::read(sums, "sums", NanPolicy::Error, &mut 0))?;
        let found = fan.singles(&self.context, self.scanner()?, &sums, pairs)?;
        self.context.install(|| {
            host::write(&found, to);
            Ok(())
        })
    }

    /// Writes the histo-images `[view][z][y][x]` of random coincidences of crystals that detect so many photons a second.
    pub fn randoms(
        &mut self,
        of: &Accidentals,
        directions: usize,
        singles: &Array<1>,
        mut to: ArrayMut<4>,
    ) -> Result<()> {
        let lattice = *self.lattice()?;
        let sampling = Sampling::new(self.view_set()?, &lattice, directions)?;
        let options = FactorOptions { directions, ..FactorOptions::default() };
        self.check_memory("randoms need", self.memory_of_factors(&options, &sampling, None)?)?;
        let scanner = self.scanner()?;
        let singles = self.context.install(|| host::read(singles, "singles", NanPolicy::Error, &mut 0))?;
        let made = || Factors::accidentals((sampling, &lattice), (scanner, &singles), of);
        let factors = self.context.install(made)?;
        match self.gpus().first() {
            Some(device) => gpu::factors::write(&self.context, device, &factors, &mut to, self.stream()),
            None => factors.write(&self.context, &to),
        }
    }
}

/// What an estimate of scatter is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScatterOptions {
    /// Of the factors without attenuation, and the attenuation map's place.
    pub factors: FactorOptions,
    /// How photons are scattered and measured.
    pub model: Model,
}

/// Arrays that an estimate of scatter is made of.
#[derive(Clone, Copy, Debug)]
pub struct ScatterArrays<'a> {
    /// `[z][y][x]`, in host memory.
    pub image: Array<'a, 3>,
    /// Of all crystals, 1 where there are none.
    pub efficiencies: Option<Array<'a, 1>>,
    /// 1/mm, `[z][y][x]`, in host memory.
    pub attenuation: Array<'a, 3>,
    /// Counts `[view][z][y][x]`, whose tails scale the estimate.
    pub measured: Option<Array<'a, 4>>,
    /// Added to it.
    pub randoms: Option<Array<'a, 4>>,
}

impl Pet {
    /// Full width at half maximum of the time difference, ps.
    fn time_of(&self, options: &ScatterOptions) -> Result<f64> {
        match (options.model.tof_fwhm, self.response()) {
            (Some(time), _) => Ok(time),
            (None, Some(response)) => Ok(response.tof_fwhm_ps),
            (None, None) => {
                fail!(NotConfigured, "options.tof_fwhm is 0, and the plan has no response that would tell it")
            }
        }
    }

    /// A copy of an image of activity, which is at least 0.
    pub(super) fn read_activity(&self, from: &Array<3>) -> Result<Buffer> {
        let image = self.read_rounded(from, "image", 0.0)?;
        if let Some(k) = image.iter().position(|v: &f32| *v < 0.0) {
            let [_, ny, nx] = from.shape();
            let at = [k / (nx * ny), k / nx % ny, k % nx];
            fail!(OutOfRange, "image{at:?} is {}; it must be at least 0", image[k]);
        }
        Ok(image)
    }

    /// What an estimate is computed of; None: an image of the lattice's size.
    pub(super) fn scatter_of(
        &self,
        options: &ScatterOptions,
        image: Option<&[f32]>,
        map: &AttenuationMap,
    ) -> Result<Scatter> {
        let time = self.time_of(options)?;
        let of = (self.view_set()?, self.lattice()?, &self.scanner()?.crystals);
        self.context.install(|| Scatter::new(of, image, map, (&options.model, time)))
    }

    /// Writes scatter and randoms, `[view][z][y][x]`.
    pub fn scatter(&mut self, options: &ScatterOptions, of: &ScatterArrays, mut to: ArrayMut<4>) -> Result<Found> {
        let (lattice, time) = (*self.lattice()?, self.time_of(options)?);
        let shape = of.attenuation.shape();
        let sampling = Sampling::new(self.view_set()?, &lattice, options.factors.directions)?;
        let sizes = self.sizes_of_scatter(options, &sampling, shape)?;
        self.check_memory("scatter needs at least", sizes.input)?;
        let efficiencies = of.efficiencies.as_ref().map(|from| self.read_efficiencies(from)).transpose()?;
        let values = self.read_map(&of.attenuation)?;
        let map = self.map_of(&options.factors, &values, shape)?;
        if let Some(doubt) = self.doubt_of(&map)? {
            self.context.log(LogLevel::Warning, || doubt);
        }
        let image = self.read_activity(&of.image)?;
        let scatter = self.scatter_of(options, Some(&image), &map)?;
        self.check_memory("scatter needs", self.memory_of_scatter(&scatter, &sizes)?)?;
        let (scanner, given) = (self.scanner()?, efficiencies.as_deref());
        let acquisition = &options.factors.acquisition;
        let made = || Factors::new((sampling, &lattice), (scanner, given), None, acquisition);
        let factors = self.context.install(made)?;
        let sigma = HALF_LIGHT * time / FWHM_PER_SIGMA;
        let tails = |measured| Ok((measured, self.context.install(|| Tails::new(&scatter, sigma))?));
        let tails = of.measured.map(tails).transpose()?;
        let additive = Additive { measured: tails, randoms: of.randoms, scatter: &scatter, factors: &factors };
        let found = match self.gpus().first() {
            Some(device) => gpu::scatter::write(&self.context, device, &additive, &mut to, self.stream())?,
            None => additive.write(&self.context, &mut to)?,
        };
        if let Some(doubt) = found.doubt(of.measured.is_some()) {
            self.context.log(LogLevel::Warning, || doubt);
        }
        Ok(found)
    }
}
