//! What a plan computes with, on the processor or on a GPU: projections of a view, the comparison with measured counts, and what
//! becomes of the image.

use super::dropped::Dropped;
use super::histos::Histos;
use super::lattice::Lattice;
use super::lines::{Counted, Grid, Through};
use super::prior::{Given, Placed};
use super::response::Response;
use super::tables::Tables;
use super::values::{Sign, tell_of_rounding};
use super::view::View;
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Job, NanPolicy, Part};
use isocenter_base::error::{Result, fail};
use std::borrow::Cow;
use std::sync::Arc;

/// What a plan was told, wherever it computes.
#[derive(Clone, Debug)]
pub(super) struct Scan {
    pub(super) lattice: Lattice,
    pub(super) views: Vec<View>,
    /// There if some view has no tables of the caller's.
    pub(super) response: Option<Response>,
    /// The caller's own, of each view.
    pub(super) given: Vec<Option<Tables>>,
    pub(super) method: Method,
}

impl Scan {
    /// Voxels along z that no kernel reaches beyond.
    pub(super) fn height(&self) -> usize {
        let of_view = |(v, given): (&View, &Option<Tables>)| match (given, &self.response) {
            (Some(tables), _) => tables.height(),
            (None, Some(response)) => response.height(&self.lattice, v),
            (None, None) => 0,
        };
        self.views.iter().zip(&self.given).map(of_view).max().unwrap_or(0)
    }

    pub(super) fn tables(&self, view: usize) -> Result<Cow<'_, Tables>> {
        match (&self.given[view], &self.response) {
            (Some(tables), _) => Ok(Cow::Borrowed(tables)),
            (None, Some(response)) => Tables::new(&self.lattice, &self.views[view], response).map(Cow::Owned),
            (None, None) => fail!(
                NotConfigured,
                "views[{view}] has no response; isoc_pet_set_response or isoc_pet_set_tables comes first"
            ),
        }
    }
}

/// How projections are computed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Method {
    /// Which engine.
    pub projector: Projector,
    /// Largest error of an expansion of variant kernels, relative to the largest value; 0 takes 1e-5.
    pub tolerance: f64,
}

impl Method {
    /// Of an expansion.
    pub(super) fn tolerance(&self) -> f64 {
        if self.tolerance > 0.0 { self.tolerance } else { 1e-5 }
    }
}

/// Which engine projects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projector {
    /// The cheapest for each view.
    #[default]
    Auto,
    /// Sums over the kernel, exact.
    Gather,
    /// Products of Fourier transforms, one for each term of an expansion of the kernels.
    Fourier,
}

/// Largest A d / e that Fourier transforms project, next to the largest A: their rounding, 1e-6 of the largest value at most, goes to
/// all voxels, where sums give each no more than it has a part in. A count is as much more than expected where 1e-4 are.
pub(super) const MAX_QUOTIENT: f32 = 1e4;

/// Expected counts below are none: their quotients would leave the range of f32.
pub(super) const MIN_EXPECTED: f32 = 1e-30;

/// What becomes of measured d and expected e, in histo-image voxels with factor A. Where e is 0 and d is not, nothing does: the
/// voxel is skipped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ratio {
    /// A d / e; 0 where both are 0.
    Quotient,
    /// A (d / e - 1); -A where both are 0.
    Discrepancy,
}

/// Of the voxels compared since it was asked for last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Sum of d ln e - e.
    pub(super) log_likelihood: f64,
    /// Voxels with counts where none are expected.
    pub(super) skipped: u64,
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { log_likelihood: self.log_likelihood + other.log_likelihood, skipped: self.skipped + other.skipped }
    }
}

/// Of the histo-images of a reconstruction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Facts {
    /// Sum of the measured counts.
    pub(super) measured: f64,
    /// Sum of the factors; the number of voxels without factors.
    pub(super) factors: f64,
    pub(super) additive: f64,
    /// 1 without factors.
    pub(super) largest_factor: f32,
    /// Views with a factor of 0 do not see all of the image.
    pub(super) has_zero_factor: bool,
}

impl Facts {
    /// Upper bound of the quotients of projections by Fourier transforms.
    pub(super) fn max_quotient(&self) -> f32 {
        MAX_QUOTIENT * self.largest_factor
    }
}

/// The operations of a reconstruction, where the volumes are. All but the constructors and setters are called inside
/// [`Engine::within`].
pub(super) trait Engine: Sized + Send {
    /// An image or a histo-image of one view, where and in the order in which the engine keeps it.
    type Volume: Send;
    /// The histo-images of a reconstruction, as the engine wants them.
    type Data<'a>: Send;
    /// Calls mostly wait for a GPU.
    const WAITS: bool;

    fn scan(&self) -> &Scan;
    /// Forgets what it made for another method.
    fn set_method(&mut self, method: Method);
    /// The caller's stream, whose work on arrays on a GPU is waited for.
    fn set_stream(&mut self, stream: usize);
    /// Runs where the engine works.
    fn within<R: Send>(&mut self, context: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R>;
    /// The same with progress and cancel.
    fn run<R: Send>(&mut self, context: &Context, work: impl FnOnce(&mut Self, &Job) -> Result<R> + Send) -> Result<R> {
        let run = |job: &Job| self.within(context, |e| Ok((work(e, job)?, e.below())));
        let (done, below) = context.run_on(Self::WAITS, Part::WHOLE, run)?;
        tell_of_rounding(context, below);
        Ok(done)
    }

    /// The plan's prior, if it was placed; to be forgotten when another one is set.
    fn kept_prior(&mut self) -> &mut Option<Placed<Self::Volume>>;
    /// The plan's prior where the engine works, copied when it is first asked for.
    fn place(&mut self, given: &Given) -> Result<Placed<Self::Volume>> {
        if let Some(kept) = self.kept_prior() {
            return Ok(kept.clone());
        }
        let shape = self.scan().lattice.shape();
        // They were looked at when they were given.
        let mut place = |values: &Option<Vec<f32>>| -> Result<Option<Arc<Self::Volume>>> {
            let Some(values) = values else { return Ok(None) };
            let volume = self.read(&Array::new(values, shape)?, "weights", NanPolicy::Error, Sign::Any)?;
            Ok(Some(Arc::new(volume)))
        };
        let placed = Placed { prior: given.prior, weights: place(&given.weights)?, anatomy: place(&given.anatomy)? };
        *self.kept_prior() = Some(placed.clone());
        Ok(placed)
    }

    /// Makes the projections of these views, unless they are there; so many volumes are needed beside them. What does not fit
    /// into the context's memory is made anew for every use; an error if even that does not fit.
    fn prepare(&mut self, context: &Context, views: &[usize], volumes: usize, job: &Job) -> Result<()>;
    /// Bytes of all that was prepared, and of so many volumes.
    fn memory(&self, volumes: usize) -> u64;
    /// How many volumes more than so many would fit, beside what was loaded.
    fn spare(&self, context: &Context, data: &Self::Data<'_>, volumes: usize) -> Result<usize>;

    fn zeros(&mut self) -> Result<Self::Volume>;
    fn fill(&mut self, volume: &mut Self::Volume, value: f32) -> Result<()>;
    /// Copies a caller's array `[z][y][x]`; non-finite values is replaced by 0, and counted, or is an error. So are values below
    /// 0 where `sign` says so.
    fn read(&mut self, from: &Array<3>, name: &str, policy: NanPolicy, sign: Sign) -> Result<Self::Volume>;
    /// Copies into a caller's f32 array `[z][y][x]`.
    fn write(&mut self, from: &Self::Volume, to: &mut ArrayMut<3>) -> Result<()>;
    /// Values replaced since it was asked last.
    fn replaced(&mut self) -> u64;
    /// Values below 0 by rounding, taken for 0, since it was asked last.
    fn below(&mut self) -> u64;

    /// histo = H image
    fn forward(&mut self, view: usize, image: &Self::Volume, histo: &mut Self::Volume) -> Result<()>;
    /// image = image + H^T histo
    fn add_adjoint(&mut self, view: usize, histo: &Self::Volume, image: &mut Self::Volume) -> Result<()>;

    /// Takes the histo-images of a reconstruction: none may have values below 0; non-finite values as in [`Engine::read`]. Its sums will be of
    /// these subsets of views, if of any.
    fn load<'a>(
        &mut self,
        context: &Context,
        histos: &Histos<'a>,
        subsets: &[Vec<usize>],
        job: &Job,
    ) -> Result<Self::Data<'a>>;
    /// Takes a list of events as lines; each of `counted.parts` parts of it counts as a view in what follows.
    fn load_lines<'a>(
        &mut self,
        context: &Context,
        counted: &Counted<'a>,
        job: &Job,
    ) -> Result<(Self::Data<'a>, Dropped)>;
    /// Bytes of a reconstruction from so many lines, beside its volumes.
    fn lines_memory(&self, grid: &Grid, events: usize, parts: usize) -> u64;
    /// Writes the sum of a blurred image along each line.
    fn forward_lines(&mut self, of: &Through, image: &Self::Volume, to: &ArrayMut<1>, job: &Job) -> Result<Dropped>;
    /// image = the blurred sum of values times lines
    fn adjoint_lines(&mut self, of: &Through, from: &Array<1>, image: &mut Self::Volume, job: &Job) -> Result<Dropped>;
    fn facts(&self, data: &Self::Data<'_>) -> Facts;
    /// image = image + H^T A
    fn add_sensitivity(&mut self, view: usize, data: &Self::Data<'_>, image: &mut Self::Volume) -> Result<()>;
    /// ratio = of the measured counts and A (H image) + additive.
    fn compare(
        &mut self,
        view: usize,
        data: &Self::Data<'_>,
        image: &Self::Volume,
        of: Ratio,
        ratio: &mut Self::Volume,
    ) -> Result<()>;
    /// Of all that was compared since it was asked for last.
    fn tally(&mut self) -> Result<Tally>;
    /// sum = sum + H^T ratio of each of these views; `ratio` is room. `progress` hears of how many more views that is
    /// under way, and may end it.
    fn add_ratios(
        &mut self,
        views: &[usize],
        data: &Self::Data<'_>,
        of: Ratio,
        volumes: Sum<Self::Volume>,
        progress: Progress,
    ) -> Result<()> {
        self.add_ratios_by_view(views, data, of, volumes, progress)
    }

    /// The same, for engines that can do no better for these views.
    fn add_ratios_by_view(
        &mut self,
        views: &[usize],
        data: &Self::Data<'_>,
        of: Ratio,
        (image, ratio, sum): Sum<Self::Volume>,
        progress: Progress,
    ) -> Result<()> {
        for view in views {
            self.compare(*view, data, image, of, ratio)?;
            self.add_adjoint(*view, ratio, sum)?;
            progress(1.0)?;
        }
        Ok(())
    }

    /// image = max(image + step image H^T ratio, 0)
    fn relax(&mut self, view: usize, ratio: &Self::Volume, step: f32, image: &mut Self::Volume) -> Result<()>;
    /// image = image max(by, 0) / over; as it was where `over` is 0.
    fn scale(&mut self, image: &mut Self::Volume, by: &Self::Volume, over: &Self::Volume) -> Result<()>;
    /// Sum of values that are not below 0.
    fn sum(&mut self, volume: &Self::Volume) -> Result<f64>;
    /// image = 0 where `where_zero` is 0.
    fn mask(&mut self, image: &mut Self::Volume, where_zero: &Self::Volume) -> Result<()>;

    /// to = to + from
    fn add(&mut self, to: &mut Self::Volume, from: &Self::Volume) -> Result<()>;
    /// to = max(to, times from)
    fn raise(&mut self, to: &mut Self::Volume, from: &Self::Volume, times: f32) -> Result<()>;
    /// Gradient of a prior at an image, and the sums of its second derivatives by the voxel itself or bounds of them.
    fn slopes(
        &mut self,
        prior: &Placed<Self::Volume>,
        image: &Self::Volume,
        gradient_and_curvature: [&mut Self::Volume; 2],
    ) -> Result<()>;
    /// What a prior takes off the log-likelihood.
    fn penalty(&mut self, prior: &Placed<Self::Volume>, image: &Self::Volume) -> Result<f64>;
    /// A step up, of an image in which voxels that no view sees are 0.
    fn ascend(&mut self, image: &mut Self::Volume, ascent: &Ascent<Self::Volume>) -> Result<()>;

    /// A pass of block RAMLA over views in this order; `ratio` is room. Progress is told after each part that can be told.
    fn ramla(
        &mut self,
        order: &[usize],
        data: &Self::Data<'_>,
        step: f32,
        volumes: (&mut Self::Volume, &mut Self::Volume),
        progress: Progress,
    ) -> Result<()> {
        self.ramla_by_view(order, data, step, volumes, progress)
    }

    /// The same, for engines that can do no better for these views.
    fn ramla_by_view(
        &mut self,
        order: &[usize],
        data: &Self::Data<'_>,
        step: f32,
        (image, ratio): (&mut Self::Volume, &mut Self::Volume),
        progress: Progress,
    ) -> Result<()> {
        for view in order {
            self.compare(*view, data, image, Ratio::Discrepancy, ratio)?;
            self.relax(*view, ratio, step, image)?;
            progress(1.0 / order.len() as f64)?;
        }
        Ok(())
    }
}

/// Values within this factor of each other are near.
pub(super) const NEAR: f32 = 4.0;

/// image = image + step (image + floor) g / (sensitivity + 2 image curvature), within `limit`, `g = times (gradient - stored) + total - slope`.
pub(super) struct Ascent<'a, V> {
    pub(super) gradient: &'a V,
    /// Of one subset stands for that of all: so many times.
    pub(super) times: f32,
    /// The same subset's gradient and that of all views, of an earlier image, which is the third. Voxels that are no longer [`NEAR`] theirs do without: what a gradient was
    /// says nothing of them, and where next to nothing was expected of counts it was huge.
    pub(super) anchor: Option<[&'a V; 3]>,
    /// Slope and curvature of the prior.
    pub(super) prior: Option<[&'a V; 2]>,
    pub(super) sensitivity: &'a V,
    pub(super) step: f32,
    /// With it voxels come back from 0.
    pub(super) floor: f32,
    /// A voxel becomes smaller or, but for the floor, larger by this factor at most; infinity: not below 0.
    pub(super) limit: f32,
}

/// Image, room for a ratio, and a sum.
pub(super) type Sum<'a, V> = (&'a V, &'a mut V, &'a mut V);

/// Called with the part done.
pub(super) type Progress<'a> = &'a mut (dyn FnMut(f64) -> Result<()> + Send);
