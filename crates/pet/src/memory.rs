//! How much memory calls take that make what a reconstruction is given.

use super::background::ScatterOptions;
use super::bytes::Memory;
use super::corrections::FactorOptions;
use super::factors::{AttenuationMap, Sampling, Sizes};
use super::gpu::{self, deposit::Depositor};
use super::plan::{AnyEngine, Pet};
use super::scatter::{self, Scatter};
use isocenter_base::array::Array;
use isocenter_base::error::{Result, fail};

impl Pet {
    /// What [`Pet::factors`] takes, with an attenuation map of this shape.
    pub fn factors_memory(&self, options: &FactorOptions, map: Option<[usize; 3]>) -> Result<Memory> {
        let sampling = Sampling::new(self.view_set()?, self.lattice()?, options.directions)?;
        self.memory_of_factors(options, &sampling, map)
    }

    /// What [`Pet::randoms`] takes.
    pub fn randoms_memory(&self, directions: usize) -> Result<Memory> {
        self.factors_memory(&FactorOptions { directions, ..FactorOptions::default() }, None)
    }

    /// What [`Pet::scatter`] takes, whatever it is given besides.
    pub fn scatter_memory(&self, options: &ScatterOptions, attenuation: &Array<3>) -> Result<Memory> {
        let shape = attenuation.shape();
        let sampling = Sampling::new(self.view_set()?, self.lattice()?, options.factors.directions)?;
        let sizes = self.sizes_of_scatter(options, &sampling, shape)?;
        self.check_memory("scatter needs at least", sizes.input)?;
        let values = self.read_map(attenuation)?;
        let map = self.map_of(&options.factors, &values, shape)?;
        self.doubt_of(&map)?;
        self.memory_of_scatter(&self.scatter_of(options, None, &map)?, &sizes)
    }

    /// Where a map is.
    pub(super) fn map_of<'a>(
        &self,
        options: &FactorOptions,
        values: &'a [f32],
        shape: [usize; 3],
    ) -> Result<AttenuationMap<'a>> {
        let (lattice, of) = (self.lattice()?, options);
        AttenuationMap::new((values, shape), "options", of.map_voxel, of.map_centre, lattice.voxel())
    }

    pub(super) fn memory_of_factors(
        &self,
        options: &FactorOptions,
        sampling: &Sampling,
        map: Option<[usize; 3]>,
    ) -> Result<Memory> {
        options.acquisition.check()?;
        let lattice = self.lattice()?;
        let map = map.map(|shape| self.map_of(options, &[], shape)).transpose()?;
        let sizes = Sizes::new((sampling, lattice), self.scanner()?, map.as_ref())?;
        Ok(self.with_held(match self.gpus() {
            [] => Memory { host: sizes.host(None), gpu: 0 },
            _ => gpu::factors::memory(&sizes, lattice.shape())?,
        }))
    }

    /// What an estimate takes before it is known how many places there are, with a map of this shape.
    pub(super) fn sizes_of_scatter(
        &self,
        options: &ScatterOptions,
        sampling: &Sampling,
        map: [usize; 3],
    ) -> Result<ScatterSizes> {
        options.factors.acquisition.check()?;
        let lattice = self.lattice()?;
        let factors = Sizes::new((sampling, lattice), self.scanner()?, None)?;
        let input = scatter::input(lattice, &self.scanner()?.crystals, &self.map_of(&options.factors, &[], map)?)?;
        let host = factors.kept().saturating_add(input);
        Ok(ScatterSizes { factors, input: Memory { host, gpu: 0 } })
    }

    pub(super) fn memory_of_scatter(&self, of: &Scatter, sizes: &ScatterSizes) -> Result<Memory> {
        let ScatterSizes { factors, input } = sizes;
        let shape = of.lattice.shape();
        Ok(self.with_held(match self.gpus() {
            [] => Memory { host: input.host.saturating_add(scatter::work(of, factors.work(None))), gpu: 0 },
            _ => {
                let (of_factors, work) = (gpu::factors::memory(factors, shape)?, gpu::scatter::memory(of)?);
                // The copy of efficiencies and what is made are in both.
                let host = input.host.saturating_add(of_factors.host - factors.kept()).saturating_add(work.host);
                Memory { host, gpu: of_factors.gpu.saturating_add(work.gpu) }
            }
        }))
    }

    /// With what the plan keeps on the GPU.
    fn with_held(&self, of: Memory) -> Memory {
        Memory { gpu: of.gpu.saturating_add(self.held()), ..of }
    }

    /// An error where the context's caps are less. `what` needs it.
    pub(super) fn check_memory(&self, what: &str, needed: Memory) -> Result<()> {
        let (Memory { host, gpu }, cap) = (needed, self.context.memory_cap(0));
        if host > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; {what} {host}");
        }
        if let Some(device) = self.gpus().first() {
            let cap = self.context.gpu_memory(device, self.held())?;
            if gpu > cap {
                fail!(MemoryCap, "gpu_memory_cap is {cap} bytes; {what} {gpu}");
            }
        }
        Ok(())
    }

    /// Bytes of the GPU's memory that the plan keeps: the engine's, and tables of events.
    pub(super) fn held(&self) -> u64 {
        let tables = self.depositor.as_ref().map_or(0, Depositor::bytes);
        match self.engine.as_ref().or(self.lines.as_ref()) {
            Some(AnyEngine::Gpu(engine)) => engine.held() + tables,
            _ => tables,
        }
    }
}

/// Of an estimate of scatter.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScatterSizes {
    factors: Sizes,
    pub(super) input: Memory,
}
