//! What a plan computes of its scanner for the model `A_v (H_v f) + additive_v`.

use super::factors::{self, Acquisition, AttenuationMap, Factors, Hounsfield, Sampling};
use super::gpu;
use super::plan::Pet;
use super::values::{round, tell_of_rounding};
use isocenter_base::array::{Array, ArrayMut, host};
use isocenter_base::context::{LogLevel, NanPolicy};
use isocenter_base::cpu::buffer::Buffer;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;

/// What factors are for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FactorOptions {
    /// Which unit of activity the image has.
    pub acquisition: Acquisition,
    /// Of each view, about.
    pub directions: usize,
    /// Size of the attenuation map's voxels along x, y, z, mm; 0 is the lattice's.
    pub map_voxel: [f64; 3],
    /// The map's centre, mm from the lattice's.
    pub map_centre: [f64; 3],
}

impl Default for FactorOptions {
    fn default() -> Self {
        Self {
            acquisition: Acquisition::default(),
            directions: factors::DIRECTIONS,
            map_voxel: [0.0; 3],
            map_centre: [0.0; 3],
        }
    }
}

impl Pet {
    /// Writes the factors `[view][z][y][x]` of its scanner, with the crystals' efficiencies and a map of attenuation in 1/mm, `[z][y][x]`; both in host memory.
    pub fn factors(
        &mut self,
        options: &FactorOptions,
        efficiencies: Option<&Array<1>>,
        attenuation: Option<&Array<3>>,
        mut to: ArrayMut<4>,
    ) -> Result<()> {
        self.with_factors(options, efficiencies, attenuation, |pet, factors| match pet.gpus().first() {
            Some(device) => gpu::factors::write(&pet.context, device, &factors, &mut to, pet.stream()),
            None => factors.write(&pet.context, &to),
        })
    }

    /// Calls with what factors are made of.
    pub(super) fn with_factors(
        &self,
        options: &FactorOptions,
        efficiencies: Option<&Array<1>>,
        attenuation: Option<&Array<3>>,
        call: impl FnOnce(&Self, Factors) -> Result<()>,
    ) -> Result<()> {
        let lattice = *self.lattice()?;
        let scanner = self.scanner()?;
        let FactorOptions { acquisition, directions, .. } = options;
        let sampling = Sampling::new(self.view_set()?, &lattice, *directions)?;
        self.check_memory("factors need", self.memory_of_factors(options, &sampling, attenuation.map(Array::shape))?)?;
        let efficiencies = efficiencies.map(|from| self.read_efficiencies(from)).transpose()?;
        let values = attenuation.map(|from| self.read_map(from)).transpose()?;
        let map = match (&values, attenuation) {
            (Some(values), Some(from)) => Some(self.map_of(options, values, from.shape())?),
            _ => None,
        };
        if let Some(doubt) = map.as_ref().map(|map| self.doubt_of(map)).transpose()?.flatten() {
            self.context.log(LogLevel::Warning, || doubt);
        }
        let given = efficiencies.as_deref();
        let made = || Factors::new((sampling, &lattice), (scanner, given), map.as_ref(), acquisition);
        let factors = self.context.install(made)?;
        drop(values);
        call(self, factors)
    }

    /// Writes attenuation in 1/mm at 511 keV of a CT's Hounsfield units, of a tube of so many kV.
    pub fn attenuation(&self, kilovolts: f64, units: &Array<3>, to: &mut ArrayMut<3>) -> Result<()> {
        let of = Hounsfield::new(kilovolts)?;
        self.context.install(|| {
            let mut values: Buffer = host::read(units, "hounsfield", NanPolicy::Error, &mut 0)?;
            values.par_iter_mut().for_each(|v| *v = of.attenuation(f64::from(*v)) as f32);
            host::write(&values, to);
            Ok(())
        })
    }

    /// A copy of crystals' efficiencies.
    pub(super) fn read_efficiencies(&self, from: &Array<1>) -> Result<Buffer> {
        self.context.install(|| host::read(from, "efficiencies", NanPolicy::Error, &mut 0))
    }

    /// See [`factors::doubt`].
    pub(super) fn doubt_of(&self, map: &AttenuationMap) -> Result<Option<String>> {
        let lattice = self.lattice()?;
        self.context.install(|| factors::doubt(map, lattice))
    }

    /// A copy of an attenuation map, whose values below 0 are 0 where they are rounding; what else is below is looked at with its unit.
    pub(super) fn read_map(&self, from: &Array<3>) -> Result<Buffer> {
        self.read_rounded(from, "attenuation", factors::WATER as f32)
    }

    /// A copy of an array, with 0 for what is below by rounding next to its largest value, or `least`.
    pub(super) fn read_rounded(&self, from: &Array<3>, name: &str, least: f32) -> Result<Buffer> {
        let (values, below) = self.context.install(|| {
            let mut values: Buffer = host::read(from, name, NanPolicy::Error, &mut 0)?;
            let below = round(&mut values, least);
            Ok((values, below))
        })?;
        tell_of_rounding(&self.context, below);
        Ok(values)
    }
}
