//! Scatter and randoms as histo-images, by the processor.

use super::{Coarse, Pairs, Rays, Scatter, Tails};
use crate::factors::Factors;
use crate::values::Sign;
use crate::values::look;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Job, NanPolicy, Stage};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;
use std::sync::{Mutex, PoisonError};

/// What histo-images of an estimate are made of besides.
#[derive(Debug)]
pub(crate) struct Additive<'a> {
    pub(crate) scatter: &'a Scatter,
    /// Without attenuation, in the image's unit.
    pub(crate) factors: &'a Factors<'a>,
    /// Measured counts whose tails scale the estimate, and where these are.
    pub(crate) measured: Option<(Array<'a, 4>, Tails)>,
    /// Added to it.
    pub(crate) randoms: Option<Array<'a, 4>>,
}

/// What an estimate found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Found {
    /// Counts of single scatter, before they are scaled.
    pub scatter: f64,
    /// By how much they were multiplied.
    pub scale: f64,
    /// Counts in the tails, without randoms; 0 if none were given.
    pub tails: f64,
    /// Single scatter there, before it is scaled.
    pub tails_scatter: f64,
    /// Places of scattering.
    pub places: usize,
}

/// Counts in tails below which they tell nothing, and such of single scatter.
const FEW: f64 = 400.0;
const FEW_OF_SCATTER: f64 = 100.0;

impl Found {
    /// Of all counts of scatter, those in the tails, and what was measured there beside randoms.
    pub(crate) fn new(sums: [f64; 3], is_fitted: bool, places: usize) -> Self {
        let [scatter, tails_scatter, tails] = sums;
        let is_enough = is_fitted && tails >= FEW && tails_scatter >= FEW_OF_SCATTER;
        let scale = if is_enough { tails / tails_scatter } else { 1.0 };
        Self { scatter, scale, tails, tails_scatter, places }
    }

    /// What is odd about it.
    pub(crate) fn doubt(&self, is_fitted: bool) -> Option<String> {
        if !is_fitted {
            return None;
        }
        let Self { scale, tails, tails_scatter, .. } = *self;
        if tails < FEW || tails_scatter < FEW_OF_SCATTER {
            return Some(format!(
                "beside the body there are {tails:.0} counts, where {tails_scatter:.0} of single scatter are expected: too few to scale it by"
            ));
        }
        (!(0.7..2.5).contains(&scale)).then(|| {
            format!(
                "beside the body there are {tails:.0} counts where {tails_scatter:.0} of single scatter are expected: scatter is multiplied by \
                 {scale:.2}; image, factors, randoms or attenuation may be in another unit or place"
            )
        })
    }
}

impl Additive<'_> {
    /// Writes `[view][z][y][x]`.
    pub(crate) fn write(&self, context: &Context, to: &mut ArrayMut<4>) -> Result<Found> {
        let to = &*to;
        context.run(|job| {
            job.enter(Stage::Check);
            self.measured.as_ref().map(|(from, _)| check(from, "measured")).transpose()?;
            self.randoms.as_ref().map(|from| check(from, "randoms")).transpose()?;
            job.enter(Stage::Scatter);
            let (coarse, level) = (Coarse::new(self.scatter), context.level());
            let pairs = self.pairs(level, job)?;
            let views = (0..self.scatter.lines.len()).map(|v| coarse.view(self.scatter, &pairs, v, level));
            let values: Vec<_> = views.collect::<Result<_>>()?;
            drop(pairs);
            job.advance(0.1);
            job.enter(Stage::Factors);
            self.write_scaled(context, job, (&coarse, &values), to)
        })
    }

    fn pairs(&self, level: Level, job: &Job) -> Result<Pairs> {
        let rays = Rays::new(self.scatter, level, job)?;
        job.advance(0.15);
        let pairs = Pairs::new(self.scatter, &rays, level, job)?;
        job.advance(0.25);
        Ok(pairs)
    }

    fn write_scaled(
        &self,
        context: &Context,
        job: &Job,
        (coarse, values): (&Coarse, &[Vec<f32>]),
        to: &ArrayMut<4>,
    ) -> Result<Found> {
        let tails: Option<Vec<_>> = match &self.measured {
            Some((_, tails)) => {
                Some((0..values.len()).map(|v| tails.view(self.scatter, coarse, v)).collect::<Result<_>>()?)
            }
            None => None,
        };
        let [nz, ny, nx] = self.scatter.lattice.shape();
        // In the order of rows, whatever the threads.
        let sums: Vec<Mutex<[f64; 3]>> = (0..ny).map(|_| Mutex::new([0.0; 3])).collect();
        let share = if tails.is_some() { 0.4 } else { 0.5 };
        self.factors.write_as(context, (job, share), to, |[v, z, y], row| {
            let mut other = vec![0f32; nx];
            coarse.row(&values[v], [z, y], &mut other);
            row.iter_mut().zip(&other).for_each(|(a, part)| *a *= part);
            let mut found = [row.iter().map(|v| f64::from(*v)).sum::<f64>(), 0.0, 0.0];
            let mut randoms = vec![0f32; nx];
            if let Some(from) = &self.randoms {
                from.read_row([v, z, y, 0], &mut randoms);
            }
            if let (Some((measured, _)), Some(tails)) = (&self.measured, &tails) {
                coarse.row(&tails[v], [z, y], &mut other);
                let mut counts = vec![0f32; nx];
                measured.read_row([v, z, y, 0], &mut counts);
                for (x, tail) in other.iter().enumerate() {
                    if *tail > 0.999 && row[x] > 0.0 {
                        found[1] += f64::from(row[x]);
                        found[2] += f64::from(counts[x]) - f64::from(randoms[x]);
                    }
                }
            } else {
                row.iter_mut().zip(&randoms).for_each(|(a, b)| *a += b);
            }
            let mut sums = sums[y].lock().unwrap_or_else(PoisonError::into_inner);
            sums.iter_mut().zip(found).for_each(|(sum, v)| *sum += v);
        })?;
        let mut all = [0.0; 3];
        for sums in &sums {
            let sums = sums.lock().unwrap_or_else(PoisonError::into_inner);
            all.iter_mut().zip(*sums).for_each(|(sum, v)| *sum += v);
        }
        let found = Found::new(all, tails.is_some(), self.scatter.places.len());
        if tails.is_some() {
            let scale = found.scale as f32;
            (0..values.len() * nz).into_par_iter().try_for_each(|k| {
                job.check()?;
                let (mut row, mut other) = (vec![0f32; nx], vec![0f32; nx]);
                for y in 0..ny {
                    let at = [k / nz, k % nz, y, 0];
                    to.as_array().read_row(at, &mut row);
                    if let Some(from) = &self.randoms {
                        from.read_row(at, &mut other);
                    }
                    row.iter_mut().zip(&other).for_each(|(v, more)| *v = scale * *v + more);
                    // SAFETY: a row of this task's alone; nobody else has the array.
                    unsafe { to.write_row(at, &row) };
                }
                job.advance(0.1 / (values.len() * nz) as f64);
                Ok(())
            })?;
        }
        Ok(found)
    }
}

/// An error unless all values are finite and at least 0, but for rounding.
fn check(from: &Array<4>, name: &str) -> Result<()> {
    look(from, name, NanPolicy::Error, Sign::NonNegative).map(|_| ())
}
