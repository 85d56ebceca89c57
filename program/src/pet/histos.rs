//! Images of counts in histo-images, one for each direction.

use super::found::Found;
use super::restored::restored;
use super::solving::{DRAFT, Made, STEP, Scan, efficiencies, with_pairs};
use anyhow::{Context, Result};
use isocenter::array::{Array, ArrayMut};
use isocenter::cpu::buffer::Buffer;
use isocenter::pet::Histos;
use isocenter::pet::background::{ScatterArrays, ScatterOptions};
use isocenter::pet::corrections::FactorOptions;
use isocenter::pet::factors::DIRECTIONS;

impl Scan<'_> {
    /// views, nz, ny, nx.
    fn shape(&self) -> [usize; 4] {
        let [nz, ny, nx] = self.lattice.shape;
        [self.lattice.azimuths * self.lattice.tilts, nz, ny, nx]
    }

    fn histos(&self) -> Result<Buffer> {
        Ok(Buffer::zeroed(self.shape().iter().product())?)
    }

    pub(super) fn by_histos(
        &mut self,
        of: &mut Found,
        measured: &Buffer<u32>,
        sums: &[u32],
        options: &FactorOptions,
    ) -> Result<Made> {
        let factors = self.factors(options)?;
        self.stopwatch.stage("factors");
        let sensitivity = self.sensitivity(&factors)?;
        of.sensitivity = self.mean_sensitivity(&sensitivity);
        self.stopwatch.stage("sensitivity");
        let randoms = self.randoms(of, sums).context("randoms")?;
        self.stopwatch.stage("randoms");
        let scatter = self.scatter(of, measured, options, (&factors, randoms.as_ref())).context("scatter")?;
        self.stopwatch.stage("scatter");
        let additive = scatter.or(randoms);
        let image = self.solve(of, measured, &factors, additive.as_ref()).context("the image")?;
        self.stopwatch.stage("image");
        Ok(Made { image, sensitivity })
    }

    pub(super) fn factors(&mut self, options: &FactorOptions) -> Result<Buffer> {
        self.steps.next(STEP);
        let (shape, mut factors) = (self.shape(), self.histos()?);
        let efficiencies = efficiencies(&self.scanner)?;
        let map = self.map.as_ref().map(|map| Array::new(&map.image, map.shape)).transpose()?;
        let to = ArrayMut::new(&mut factors, shape)?;
        self.pet.factors(options, efficiencies.as_ref(), map.as_ref(), to).context("factors")?;
        Ok(factors)
    }

    pub(super) fn sensitivity(&mut self, factors: &[f32]) -> Result<Vec<f32>> {
        self.steps.next(STEP);
        let mut image = vec![0.0; self.lattice.shape.iter().product()];
        let to = ArrayMut::new(&mut image, self.lattice.shape)?;
        self.pet.sensitivity(Some(Array::new(factors, self.shape())?), to).context("sensitivity")?;
        Ok(image)
    }

    fn randoms(&mut self, of: &mut Found, sums: &[u32]) -> Result<Option<Buffer>> {
        self.steps.next(STEP);
        let accidentals = self.accidentals(of.duration)?;
        let Some(singles) = self.singles(sums, &accidentals)? else { return Ok(None) };
        let (shape, mut randoms) = (self.shape(), self.histos()?);
        let to = ArrayMut::new(&mut randoms, shape)?;
        let pairs = self.pairs_of_randoms()?;
        with_pairs(&mut self.pet, pairs, |pet| {
            Ok(pet.randoms(&accidentals, DIRECTIONS, &Array::of(&singles, [singles.len()])?, to)?)
        })?;
        of.randoms = randoms.iter().map(|v| f64::from(*v)).sum();
        Ok(Some(randoms))
    }

    /// Scatter and randoms; None of a scan without scatter.
    fn scatter(
        &mut self,
        of: &mut Found,
        measured: &Buffer<u32>,
        factors: &FactorOptions,
        (known, randoms): (&Buffer, Option<&Buffer>),
    ) -> Result<Option<Buffer>> {
        let Some(map) = self.map.clone().filter(|_| self.method.scatter > 0) else { return Ok(None) };
        let options = ScatterOptions { factors: *factors, model: self.model() };
        self.draft()?;
        let shape = self.shape();
        let mut additive: Option<Buffer> = None;
        for _ in 0..self.method.scatter {
            self.steps.next(DRAFT as f64);
            let image = self.reconstruct(measured, known, additive.as_ref().or(randoms))?;
            self.steps.next(STEP);
            let mut made = self.histos()?;
            let arrays = ScatterArrays {
                image: Array::new(&image, self.lattice.shape)?,
                efficiencies: efficiencies(&self.scanner)?,
                attenuation: Array::new(&map.image, map.shape)?,
                measured: Some(Array::of(measured, shape)?),
                randoms: randoms.map(|randoms| Array::new(randoms, shape)).transpose()?,
            };
            let found = self.pet.scatter(&options, &arrays, ArrayMut::new(&mut made, shape)?)?;
            (of.scatter, of.scale, of.scale_error) = (found.scatter * found.scale, found.scale, found.scale_error);
            of.tails = found.tails;
            additive = Some(made);
        }
        Ok(additive)
    }

    fn reconstruct(&mut self, measured: &Buffer<u32>, factors: &[f32], additive: Option<&Buffer>) -> Result<Vec<f32>> {
        let (shape, mut image) = (self.shape(), vec![0.0; self.lattice.shape.iter().product()]);
        let histos = Histos {
            measured: Array::of(measured, shape)?,
            factors: Some(Array::new(factors, shape)?),
            additive: additive.map(|additive| Array::new(additive, shape)).transpose()?,
        };
        self.pet.reconstruct(&histos, ArrayMut::new(&mut image, self.lattice.shape)?)?;
        Ok(image)
    }

    fn solve(
        &mut self,
        of: &mut Found,
        measured: &Buffer<u32>,
        factors: &[f32],
        additive: Option<&Buffer>,
    ) -> Result<Vec<f32>> {
        self.prepare(of)?;
        let mut image = self.reconstruct(measured, factors, additive)?;
        let mut factor = 1.0;
        if of.strength > 0.0 {
            self.steps.next(STEP);
            let body = self.body().iter().map(|is_in| f32::from(u8::from(*is_in))).collect::<Vec<_>>();
            let [body, expected] = [self.project(&body)?, self.project(&image)?];
            factor = restored(measured, factors, [&body, &expected], additive.map(|additive| &additive[..]));
        }
        self.finish(of, &mut image, factor);
        Ok(image)
    }

    fn project(&mut self, image: &[f32]) -> Result<Buffer> {
        let (shape, mut projected) = (self.shape(), self.histos()?);
        let views: Vec<usize> = (0..shape[0]).collect();
        let from = Array::new(image, self.lattice.shape)?;
        self.pet.forward(&views, from, ArrayMut::new(&mut projected, shape)?)?;
        Ok(projected)
    }
}
