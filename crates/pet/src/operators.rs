//! What a plan computes: projections, sensitivity, reconstruction.

use super::engine::Engine;
use super::histos::Histos;
use super::input_doubts;
use super::plan::{Pet, each};
use super::reconstruct::{Zeros, reconstruct};
use super::values::Sign;
use isocenter_base::array::{Array, ArrayMut, DType, Layout};
use isocenter_base::context::{LogLevel, Stage};
use isocenter_base::error::Result;

impl Pet {
    fn check_image(&self, array: &ArrayMut<3>) -> Result<()> {
        array.layout().check("image", self.lattice()?.shape(), DType::FLOAT, self.gpus())
    }

    fn check_histos(&self, array: &Layout<4>, name: &str, views: usize, dtypes: &[DType]) -> Result<()> {
        let [nz, ny, nx] = self.lattice()?.shape();
        array.check(name, [views, nz, ny, nx], dtypes, self.gpus())
    }

    fn doubt_factors(&self, factors: Option<&Array<4>>) {
        let Some(factors) = factors.filter(|_| self.context.logs()) else { return };
        if let Some(doubt) = self.context.install(|| input_doubts::of_factors(factors)) {
            self.context.log(LogLevel::Warning, || doubt);
        }
    }

    /// Maximum number of bytes of working memory that `reconstruct` needs, on the host or on the GPU that it computes on; makes the kernels.
    pub fn memory(&mut self) -> Result<u64> {
        let (solve, context) = (self.solve_settings()?, self.context.clone());
        each!(self.engine()?, e => e.run(&context, |e, job| {
            e.prepare(&context, &solve.order, solve.volumes(), job)?;
            Ok(e.memory(solve.volumes()))
        }))
    }

    /// histos `[k][z][y][x]` = H image of the k-th of these views.
    pub fn forward(&mut self, views: &[usize], image: Array<3>, mut histos: ArrayMut<4>) -> Result<()> {
        image.layout().check("image", self.lattice()?.shape(), DType::HISTOS, self.gpus())?;
        self.check_histos(histos.layout(), "histo_images", views.len(), DType::FLOAT)?;
        let elements = image.layout().count();
        let context = self.context.clone();
        let policy = context.nan_policy();
        self.replaced = each!(self.engine()?, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            let image = e.read(&image, "image", policy, Sign::Any)?;
            e.prepare(&context, views, 2, job)?;
            job.enter(Stage::Forward);
            let mut histo = e.zeros()?;
            for (k, view) in views.iter().enumerate() {
                job.check()?;
                e.forward(*view, &image, &mut histo)?;
                e.write(&histo, &mut histos.part(k))?;
                job.advance(1.0 / views.len() as f64);
            }
            Ok(e.replaced())
        }))?;
        self.context.tell_of_replaced(self.replaced, elements);
        Ok(())
    }

    /// image = sum of H^T histos over these views.
    pub fn adjoint(&mut self, views: &[usize], histos: Array<4>, mut image: ArrayMut<3>) -> Result<()> {
        self.check_histos(histos.layout(), "histo_images", views.len(), DType::HISTOS)?;
        self.check_image(&image)?;
        let context = self.context.clone();
        let policy = context.nan_policy();
        self.replaced = each!(self.engine()?, e => e.run(&context, |e, job| {
            e.prepare(&context, views, 2, job)?;
            job.enter(Stage::Adjoint);
            let mut sum = e.zeros()?;
            for (k, view) in views.iter().enumerate() {
                job.check()?;
                let histo = e.read(&histos.part(k), "histo_images", policy, Sign::Any)?;
                e.add_adjoint(*view, &histo, &mut sum)?;
                job.advance(1.0 / views.len() as f64);
            }
            e.write(&sum, &mut image)?;
            Ok(e.replaced())
        }))?;
        self.context.tell_of_replaced(self.replaced, histos.layout().count());
        Ok(())
    }

    /// image = sum of H^T A over all views; A is 1 without factors.
    pub fn sensitivity(&mut self, factors: Option<Array<4>>, mut image: ArrayMut<3>) -> Result<()> {
        if let Some(factors) = &factors {
            self.check_histos(factors.layout(), "factors", self.views()?.len(), DType::HISTOS)?;
        }
        self.check_image(&image)?;
        self.doubt_factors(factors.as_ref());
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
                if let Some(factors) = &factors {
                    ones = e.read(&factors.part(*view), "factors", policy, Sign::NonNegative)?;
                }
                e.add_adjoint(*view, &ones, &mut sum)?;
                job.advance(1.0 / views.len() as f64);
            }
            e.write(&sum, &mut image)?;
            Ok(e.replaced())
        }))?;
        self.context.tell_of_replaced(self.replaced, factors.map_or(0, |f| f.layout().count()));
        Ok(())
    }

    /// What the prior takes off the log-likelihood of an image, and its gradient.
    pub fn prior_gradient(&mut self, image: Array<3>, mut gradient: Option<ArrayMut<3>>) -> Result<f64> {
        image.layout().check("image", self.lattice()?.shape(), DType::FLOAT, self.gpus())?;
        if let Some(gradient) = &gradient {
            gradient.layout().check("gradient", self.lattice()?.shape(), DType::FLOAT, self.gpus())?;
        }
        let (given, context) = (self.given_prior()?, self.context.clone());
        let elements = image.layout().count();
        let policy = context.nan_policy();
        let (penalty, replaced) = each!(self.engine()?, e => e.run(&context, |e, job| {
            e.prepare(&context, &[], 3 + given.volumes(), job)?;
            job.enter(Stage::Check);
            let image = e.read(&image, "image", policy, Sign::NonNegative)?;
            let prior = e.place(&given)?;
            job.enter(Stage::Solve);
            let penalty = e.penalty(&prior, &image)?;
            if let Some(gradient) = &mut gradient {
                let (mut slope, mut curvature) = (e.zeros()?, e.zeros()?);
                e.slopes(&prior, &image, [&mut slope, &mut curvature])?;
                e.write(&slope, gradient)?;
            }
            Ok((penalty, e.replaced()))
        }))?;
        self.replaced = replaced;
        self.context.tell_of_replaced(replaced, elements);
        Ok(penalty)
    }

    /// Reconstructs the image as the options say. Nothing is written unless all of it is there.
    pub fn reconstruct(&mut self, histos: &Histos, mut image: ArrayMut<3>) -> Result<()> {
        let arrays = [(Some(&histos.measured), "measured"), (histos.factors.as_ref(), "factors")];
        let mut elements = 0;
        for (array, name) in arrays.into_iter().chain([(histos.additive.as_ref(), "additive")]) {
            if let Some(array) = array {
                elements += array.layout().count();
                self.check_histos(array.layout(), name, self.views()?.len(), DType::HISTOS)?;
            }
        }
        self.check_image(&image)?;
        self.doubt_factors(histos.factors.as_ref());
        let (solve, context) = (self.solve_settings()?, self.context.clone());
        if solve.warm {
            elements += image.layout().count();
        }
        let mut history = Vec::new();
        let done = each!(self.engine()?, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            e.prepare(&context, &solve.order, solve.volumes(), job)?;
            let mut found = match solve.warm {
                true => e.read(&image.as_array(), "image", context.nan_policy(), Sign::NonNegative)?,
                false => e.zeros()?,
            };
            let data = e.load(&context, histos, &solve.parts(), job)?;
            e.tally()?;
            let zeros = reconstruct(e, (&data, &mut found), &solve, (&context, job), &mut history)?;
            e.write(&found, &mut image)?;
            Ok((e.replaced(), zeros))
        }));
        self.history = history;
        let (replaced, zeros) = done?;
        self.replaced = replaced;
        self.context.tell_of_replaced(self.replaced, elements);
        self.tell_of_zeros(&zeros, "all factors are 0: no view measures anything, and the image is 0");
        Ok(())
    }

    /// Tells of what was given that makes zeros of an image.
    pub(super) fn tell_of_zeros(&self, zeros: &Zeros, unmeasured: &str) {
        if zeros.factors {
            self.context.log(LogLevel::Warning, || unmeasured.into());
        }
        if zeros.image {
            self.context.log(LogLevel::Warning, || {
                "the image is 0 everywhere, though there are counts: too few for subsets of views; options.algorithm 2 (mlem) takes all views at a time".into()
            });
        }
        if zeros.start > 0 {
            self.context.log(LogLevel::Info, || format!("{} voxels of the warm start are 0 and stay 0", zeros.start));
        }
    }
}
