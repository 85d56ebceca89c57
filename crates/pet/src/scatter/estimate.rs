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
    /// By how much they were multiplied, and the standard deviation of that.
    pub scale: f64,
    pub scale_error: f64,
    /// Counts in the tails, without randoms; 0 if none were given.
    pub tails: f64,
    /// Single scatter there, before it is scaled.
    pub tails_scatter: f64,
    /// Places of scattering.
    pub places: usize,
}

/// What is known of the scale before: single scatter is most of it.
const BEFORE: f64 = 1.0;
const BEFORE_ERROR: f64 = 0.2;
/// Standard deviations above which the scale is doubted.
const UNSURE: f64 = 0.15;

/// Sums over histo-images of single scatter s, counts d and randoms r.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums {
    /// s, of all.
    pub(crate) scatter: f64,
    /// s, d - r and d, of tails.
    pub(crate) tails: [f64; 3],
}

impl std::ops::AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.scatter += other.scatter;
        self.tails.iter_mut().zip(other.tails).for_each(|(a, b)| *a += b);
    }
}

impl Found {
    /// The most likely scale by counts of tails, which are as noisy as all of them, randoms too, and by what is known before. No voxel weighs more than another: counts without times, in the middle of their
    /// lines, are not where scatter is.
    pub(crate) fn new(sums: &Sums, is_fitted: bool, places: usize) -> Self {
        let Sums { scatter, tails: [tails_scatter, tails, counts] } = *sums;
        if !is_fitted {
            return Self { scatter, scale: BEFORE, places, ..Self::default() };
        }
        if tails <= 0.0 || tails_scatter <= 0.0 {
            // Cut away, or next to none.
            return Self { scatter, scale: BEFORE, scale_error: BEFORE_ERROR, tails, tails_scatter, places };
        }
        let (before, information) = (BEFORE_ERROR.powi(-2), tails_scatter * tails_scatter / counts);
        let scale = (information * (tails / tails_scatter) + before * BEFORE) / (information + before);
        Self { scatter, scale, scale_error: (information + before).powf(-0.5), tails, tails_scatter, places }
    }

    /// What is odd about it.
    pub(crate) fn doubt(&self, is_fitted: bool) -> Option<String> {
        let Self { scale, scale_error, tails, tails_scatter, .. } = *self;
        let there = format!(
            "beside the body there are {tails:.0} counts, where {tails_scatter:.0} of single scatter are expected"
        );
        if is_fitted && !(0.7..2.5).contains(&scale) {
            return Some(format!(
                "{there}: scatter is multiplied by {scale:.2}; image, factors, randoms or attenuation may be in another unit or place"
            ));
        }
        (is_fitted && scale_error > UNSURE).then(|| {
            format!(
                "{there}: too few beside randoms to scale it by, and it is multiplied by {scale:.2} +- {scale_error:.2}"
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
        let sums: Vec<Mutex<Sums>> = (0..ny).map(|_| Mutex::new(Sums::default())).collect();
        let share = if tails.is_some() { 0.4 } else { 0.5 };
        self.factors.write_as(context, (job, share), to, |[v, z, y], row| {
            let mut other = vec![0f32; nx];
            coarse.row(&values[v], [z, y], &mut other);
            row.iter_mut().zip(&other).for_each(|(a, part)| *a *= part);
            let mut found = Sums { scatter: row.iter().map(|v| f64::from(*v)).sum(), ..Sums::default() };
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
                        let (own, randoms) = (f64::from(row[x]), f64::from(randoms[x]));
                        let counts = f64::from(counts[x]);
                        found += Sums { tails: [own, counts - randoms, counts], scatter: 0.0 };
                    }
                }
            } else {
                row.iter_mut().zip(&randoms).for_each(|(a, b)| *a += b);
            }
            *sums[y].lock().unwrap_or_else(PoisonError::into_inner) += found;
        })?;
        let mut all = Sums::default();
        for sums in &sums {
            all += *sums.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let found = Found::new(&all, tails.is_some(), self.scatter.places.len());
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
