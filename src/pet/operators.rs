//! What a plan computes: projections, sensitivity, reconstruction.

use super::engine::{Engine, Sign};
use super::histos::Histos;
use super::plan::{Pet, each};
use super::reconstruct::reconstruct;
use crate::array::Layout;
use crate::context::Stage;
use crate::error::Result;

impl Pet {
    /// Maximum of bytes of working memory that `reconstruct` needs, on the host or on the GPU that it computes on; makes the kernels.
    pub fn memory(&mut self) -> Result<u64> {
        let (solve, context) = (self.solve_settings()?, self.context.clone());
        each!(self.engine()?, e => e.run(&context, |e, job| {
            e.prepare(&context, &solve.order, solve.volumes(), job)?;
            Ok(e.memory(solve.volumes()))
        }))
    }

    /// histos `[k][z][y][x]` = H image of the k-th of these views.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn forward(&mut self, views: &[usize], image: &Layout<3>, histos: &Layout<4>) -> Result<()> {
        let context = self.context.clone();
        let policy = context.nan_policy();
        self.replaced = each!(self.engine()?, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            // SAFETY: by this function's contract.
            let image = unsafe { e.read(image, "image", policy, Sign::Any) }?;
            e.prepare(&context, views, 2, job)?;
            job.enter(Stage::Forward);
            let mut histo = e.zeros()?;
            for (k, view) in views.iter().enumerate() {
                job.check()?;
                e.forward(*view, &image, &mut histo)?;
                // SAFETY: by this function's contract.
                unsafe { e.write(&histo, &histos.part(k)) }?;
                job.advance(1.0 / views.len() as f64);
            }
            Ok(e.replaced())
        }))?;
        Ok(())
    }

    /// image = sum of H^T histos over these views.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn adjoint(&mut self, views: &[usize], histos: &Layout<4>, image: &Layout<3>) -> Result<()> {
        let context = self.context.clone();
        let policy = context.nan_policy();
        self.replaced = each!(self.engine()?, e => e.run(&context, |e, job| {
            e.prepare(&context, views, 2, job)?;
            job.enter(Stage::Adjoint);
            let mut sum = e.zeros()?;
            for (k, view) in views.iter().enumerate() {
                job.check()?;
                // SAFETY: by this function's contract.
                let histo = unsafe { e.read(&histos.part(k), "histo_images", policy, Sign::Any) }?;
                e.add_adjoint(*view, &histo, &mut sum)?;
                job.advance(1.0 / views.len() as f64);
            }
            // SAFETY: by this function's contract.
            unsafe { e.write(&sum, image) }?;
            Ok(e.replaced())
        }))?;
        Ok(())
    }

    /// image = sum of H^T A over all views; A is 1 without factors.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn sensitivity(&mut self, factors: Option<&Layout<4>>, image: &Layout<3>) -> Result<()> {
        let context = self.context.clone();
        let policy = context.nan_policy();
        let views: Vec<usize> = (0..self.views()?.len()).collect();
        self.replaced = each!(self.engine()?, e => e.run(&context, |e, job| {
            e.prepare(&context, &views, 2, job)?;
            job.enter(Stage::Adjoint);
            let (mut sum, mut ones) = (e.zeros()?, e.zeros()?);
            e.fill(&mut ones, 1.0)?;
            for view in &views {
                job.check()?;
                if let Some(factors) = factors {
                    // SAFETY: by this function's contract.
                    ones = unsafe { e.read(&factors.part(*view), "factors", policy, Sign::NonNegative) }?;
                }
                e.add_adjoint(*view, &ones, &mut sum)?;
                job.advance(1.0 / views.len() as f64);
            }
            // SAFETY: by this function's contract.
            unsafe { e.write(&sum, image) }?;
            Ok(e.replaced())
        }))?;
        Ok(())
    }

    /// Reconstructs the image as the options say. Nothing is written unless all of it is there.
    ///
    /// # Safety
    /// The arrays are readable and writable for the call.
    pub unsafe fn reconstruct(&mut self, histos: &Histos, image: &Layout<3>) -> Result<()> {
        let (solve, context) = (self.solve_settings()?, self.context.clone());
        let mut history = Vec::new();
        let replaced = each!(self.engine()?, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            e.prepare(&context, &solve.order, solve.volumes(), job)?;
            let mut found = match solve.warm {
                // SAFETY: by this function's contract.
                true => unsafe { e.read(image, "image", context.nan_policy(), Sign::NonNegative) }?,
                false => e.zeros()?,
            };
            // SAFETY: by this function's contract; the data live as long as this closure.
            let data = unsafe { e.load(&context, histos, job) }?;
            e.tally()?;
            reconstruct(e, (&data, &mut found), &solve, (&context, job), &mut history)?;
            // SAFETY: by this function's contract.
            unsafe { e.write(&found, image) }?;
            Ok(e.replaced())
        }));
        self.history = history;
        self.replaced = replaced?;
        Ok(())
    }
}
