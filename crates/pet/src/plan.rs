//! The plan behind `isoc_pet`.

use super::climb;
use super::cpu::engine::CpuEngine;
use super::engine::{Engine, Method, Scan};
use super::gpu::deposit::Depositor;
use super::gpu::engine::GpuEngine;
use super::input_doubts;
use super::lattice::Lattice;
use super::prior::{Given, Prior};
use super::response::Response;
use super::scanner::Scanner;
use super::solve::{Algorithm, Iteration, Order, Solve};
use super::stopping::{Bounds, Regions};
use super::tables::Tables;
use super::values::{Sign, look, replace, replace_below};
use super::view::{View, geometric_order};
use super::views::Views;
use isocenter_base::array::fetch::Fetched;
use isocenter_base::array::{Array, DType};
use isocenter_base::context::{Context, LogLevel, NanPolicy};
use isocenter_base::cpu::buffer::{copied, zeros};
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::{Device, Stream};
use std::sync::Arc;

/// Subsets of OSEM where the caller leaves them open.
pub(super) const DEFAULT_SUBSETS: usize = 8;
/// Decay of BSREM's steps where the caller leaves it open.
const DEFAULT_DECAY: f64 = 0.1;

/// How to reconstruct.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// What is iterated.
    pub algorithm: Algorithm,
    /// The order of the views.
    pub order: Order,
    /// How projections are computed.
    pub method: Method,
    /// Passes over all views.
    pub iterations: usize,
    /// Passes that were made before: the relaxation and random orders go on from there.
    pub first_iteration: usize,
    /// Of OSEM; 0 means 8, or one a view where there are fewer. Of BSREM; 0 means one for five views, at most 24; of SVRG one for three, at most 40.
    pub subsets: usize,
    /// Steps of `relaxation / (1 + decay k)` in pass k; of RAMLA over the largest factor.
    pub relaxation: f64,
    /// Decay of the relaxation with the passes; 0 means 0.1 of BSREM.
    pub decay: f64,
    /// Ends when a pass changed the image by no more, in parts of its norm; 0: never.
    pub change: f64,
    /// Ends when a pass changed the mean of no region by more, in parts of the mean of all regions; 0: never.
    pub region_change: f64,
    /// Begins with the image that it is given.
    pub warm_start: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Ramla,
            order: Order::Geometric,
            method: Method::default(),
            iterations: 10,
            first_iteration: 0,
            subsets: 0,
            relaxation: 1.0,
            decay: 0.0,
            change: 0.0,
            region_change: 0.0,
            warm_start: false,
        }
    }
}

/// By where it computes.
pub(super) enum AnyEngine {
    Cpu(Box<CpuEngine>),
    Gpu(Box<GpuEngine>),
}

/// Runs an expression on the engine, whichever it is.
macro_rules! each {
    ($any:expr, $engine:ident => $body:expr) => {
        match $any {
            crate::plan::AnyEngine::Cpu($engine) => $body,
            crate::plan::AnyEngine::Gpu($engine) => $body,
        }
    };
}
pub(super) use each;

/// Lattice and views.
struct Geometry {
    lattice: Lattice,
    views: Views,
    given: Vec<Option<Tables>>,
}

/// A plan for DIRECT time-of-flight PET.
pub struct Pet {
    pub(super) context: Arc<Context>,
    geometry: Option<Geometry>,
    response: Option<Response>,
    /// Made when it is first needed.
    pub(super) engine: Option<AnyEngine>,
    /// The same for lists as lines.
    pub(super) lines: Option<AnyEngine>,
    options: Options,
    /// The caller's order.
    order: Vec<usize>,
    prior: Option<Arc<Given>>,
    regions: Option<Arc<Regions>>,
    pub(super) replaced: u64,
    pub(super) history: Vec<Iteration>,
    /// Made when events are first deposited on a GPU.
    pub(super) depositor: Option<Depositor>,
    pub(super) scanner: Option<Arc<Scanner>>,
    stream: usize,
}

impl Pet {
    /// A plan without geometry.
    pub fn new(context: Arc<Context>) -> Self {
        Self {
            context,
            geometry: None,
            response: None,
            engine: None,
            lines: None,
            options: Options::default(),
            order: Vec::new(),
            prior: None,
            regions: None,
            replaced: 0,
            history: Vec::new(),
            depositor: None,
            scanner: None,
            stream: 0,
        }
    }

    /// GPUs whose memory arrays may be in: the one that it computes on.
    pub fn gpus(&self) -> &[Arc<Device>] {
        let all = self.context.gpus();
        &all[..all.len().min(1)]
    }

    /// Work on arrays that are on a GPU begins when all that is in this stream (a `cudaStream_t`) has been done.
    pub fn set_stream(&mut self, stream: usize) {
        self.stream = stream;
        for engine in [&mut self.engine, &mut self.lines].into_iter().flatten() {
            each!(engine, e => e.set_stream(stream));
        }
    }

    pub(super) fn stream(&self) -> usize {
        self.stream
    }

    /// Sets lattice and views; forgets the caller's tables, order, prior and regions. The response is looked at when it is needed: one that fits
    /// the lattice before need not fit this one.
    pub fn set_geometry(&mut self, lattice: Lattice, views: Views) -> Result<()> {
        let list = views.list();
        if list.len().checked_mul(lattice.voxels()).and_then(|n| n.checked_mul(16)).is_none() {
            fail!(SizeOverflow, "{} views of {:?} voxels are more than memory can hold", list.len(), lattice.shape());
        }
        if let Some(doubt) = input_doubts::of_azimuths(list) {
            self.context.log(LogLevel::Warning, || doubt);
        }
        let given = list.iter().map(|_| None).collect();
        self.geometry = Some(Geometry { lattice, views, given });
        self.order.clear();
        (self.prior, self.regions) = (None, None);
        self.history.clear();
        (self.engine, self.lines) = (None, None);
        self.depositor = None;
        Ok(())
    }

    fn geometry(&self) -> Result<&Geometry> {
        match &self.geometry {
            Some(geometry) => Ok(geometry),
            None => fail!(NotConfigured, "the plan has no geometry yet; isoc_pet_set_geometry comes first"),
        }
    }

    /// Of image and histo-images.
    pub fn lattice(&self) -> Result<&Lattice> {
        Ok(&self.geometry()?.lattice)
    }

    /// Directions of the histo-images.
    pub fn views(&self) -> Result<&[View]> {
        Ok(self.view_set()?.list())
    }

    /// Which view an event belongs to.
    pub(super) fn view_set(&self) -> Result<&Views> {
        Ok(&self.geometry()?.views)
    }

    /// Views from pairs of azimuth and tilt, `[view][angle]`.
    pub fn read_views(&self, from: Array<2>, max_tilt: f64) -> Result<Views> {
        let at = |v, k| {
            let mut number = [0.0];
            from.read_row([v, k], &mut number);
            number[0]
        };
        Views::new((0..from.shape()[0]).map(|v| View { azimuth: at(v, 0), tilt: at(v, 1) }).collect(), max_tilt)
    }

    /// Sets the response of lines, and of all views that have no tables of their own. Whether it is larger than the lattice is looked at when kernels are made of it: lines have none.
    pub fn set_response(&mut self, response: Response) -> Result<()> {
        response.check()?;
        if let Some(g) = &self.geometry {
            g.views.list().iter().try_for_each(|v| response.check_narrow(&g.lattice, v))?;
        }
        self.response = Some(response);
        self.engine = None;
        Ok(())
    }

    /// Of views without tables.
    pub(super) fn response(&self) -> Option<&Response> {
        self.response.as_ref()
    }

    /// Sets a view's kernels: `map[y][x]`, offsets along x, y, z in voxels, `values[kernel][offset]`.
    pub fn set_tables(&mut self, view: usize, map: &[u32], offsets: &[[i32; 3]], values: &[f32]) -> Result<()> {
        let Some(geometry) = &mut self.geometry else {
            fail!(NotConfigured, "the plan has no geometry yet; isoc_pet_set_geometry comes first");
        };
        let tables = Tables::given(&geometry.lattice, &geometry.views.list()[view], copied(map)?, offsets, values)?;
        geometry.given[view] = Some(tables);
        self.engine = None;
        Ok(())
    }

    /// A view's kernels.
    pub fn tables(&self, view: usize) -> Result<Tables> {
        let scan = self.scan()?;
        self.context.install(|| scan.tables(view).map(std::borrow::Cow::into_owned))
    }

    fn scan(&self) -> Result<Scan> {
        let Geometry { lattice, views, given } = self.geometry()?;
        let scan = Scan {
            lattice: *lattice,
            views: views.list().to_vec(),
            response: self.response.clone(),
            given: given.clone(),
            method: self.options.method,
        };
        let mut without_tables = given.iter().enumerate().filter(|(_, tables)| tables.is_none()).map(|(view, _)| view);
        match (&self.response, without_tables.next()) {
            (_, None) => {}
            (None, Some(view)) => fail!(
                NotConfigured,
                "views[{view}] has no response; isoc_pet_set_response or isoc_pet_set_tables comes first"
            ),
            (Some(response), Some(_)) => check_response(lattice, views.list(), response)?,
        }
        Ok(scan)
    }

    pub(super) fn engine(&mut self) -> Result<&mut AnyEngine> {
        if self.engine.is_none() {
            self.lines = None;
            let scan = self.scan()?;
            let modelled = scan.response.as_ref().filter(|_| scan.given.iter().any(Option::is_none));
            if let Some(doubt) = modelled.and_then(|response| input_doubts::of_widths(response, &scan.lattice)) {
                self.context.log(LogLevel::Warning, || doubt);
            }
            let mut engine = match self.context.gpus() {
                gpus @ [_, ..] => AnyEngine::Gpu(Box::new(GpuEngine::new(&self.context, gpus, scan)?)),
                [] => AnyEngine::Cpu(Box::new(CpuEngine::new(self.context.level(), scan)?)),
            };
            each!(&mut engine, e => e.set_stream(self.stream));
            self.engine = Some(engine);
        }
        match &mut self.engine {
            Some(engine) => Ok(engine),
            None => fail!(Internal, "there is no engine"),
        }
    }

    /// Sets options.
    pub fn set_options(&mut self, options: Options) -> Result<()> {
        let Options { relaxation, decay, method, change, region_change, .. } = options;
        for (name, v) in [
            ("relaxation", relaxation),
            ("relaxation_decay", decay),
            ("tolerance", method.tolerance),
            ("stop_change", change),
            ("stop_region_change", region_change),
        ] {
            if !v.is_finite() {
                fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
            }
            if v < 0.0 {
                fail!(OutOfRange, "options.{name} is {v}; it must be at least 0");
            }
        }
        if relaxation == 0.0 || relaxation > 1.0 {
            fail!(OutOfRange, "options.relaxation is {relaxation}; it must be above 0 and at most 1");
        }
        if method.tolerance >= 1.0 {
            fail!(OutOfRange, "options.tolerance is {}; it must be below 1", method.tolerance);
        }
        if let Some(engine) = &mut self.engine {
            each!(engine, e => e.set_method(method));
        }
        self.options = options;
        Ok(())
    }

    /// Sets the order of [`Order::Given`]: views, each at most once.
    pub fn set_order(&mut self, order: &[usize]) -> Result<()> {
        let views = self.views()?.len();
        let mut seen = vec![false; views];
        for (k, v) in order.iter().enumerate() {
            match seen.get_mut(*v) {
                None => fail!(OutOfRange, "order[{k}] is {v}; there are {views} views"),
                Some(true) => fail!(OutOfRange, "order[{k}] is {v}, which is there already"),
                Some(seen) => *seen = true,
            }
        }
        self.order = order.to_vec();
        Ok(())
    }

    /// Sets what is taken off the log-likelihood, or takes it away; `weights` and `anatomy` are images, which are copied.
    pub fn set_prior(&mut self, prior: Option<(Prior, [Option<Array<3>>; 2])>) -> Result<()> {
        let shape = self.lattice()?.shape();
        let Some((prior, [weights, anatomy])) = prior else {
            self.prior = None;
            self.forget_placed();
            return Ok(());
        };
        prior.check(anatomy.is_some())?;
        let copy = |from: Option<Array<3>>, name: &str, sign| match from {
            Some(from) => {
                from.layout().check(name, shape, DType::FLOAT, self.gpus())?;
                self.on_host(&from, |from| copy_of(from, name, self.context.nan_policy(), sign)).map(Some)
            }
            None => Ok(None),
        };
        let weights = copy(weights, "weights", Sign::NonNegative)?;
        let anatomy = copy(anatomy, "anatomy", Sign::Any)?;
        self.prior = Some(Arc::new(Given { prior, weights, anatomy }));
        self.forget_placed();
        Ok(())
    }

    /// The engine's copy of a prior that was.
    fn forget_placed(&mut self) {
        for engine in [&mut self.engine, &mut self.lines].into_iter().flatten() {
            each!(engine, e => *e.kept_prior() = None);
        }
    }

    /// Sets the regions whose means passes are judged by, or takes them away: labels from 1 on, 0 is none; copied.
    pub fn set_regions(&mut self, regions: Option<Array<3>>) -> Result<()> {
        let shape = self.lattice()?.shape();
        self.regions = match regions {
            Some(from) => {
                from.layout().check("regions", shape, DType::COUNTS, self.gpus())?;
                Some(Arc::new(self.on_host(&from, Regions::new)?))
            }
            None => None,
        };
        Ok(())
    }

    /// Calls with an array in host memory: with a copy of one that is on the GPU.
    fn on_host<R>(&self, from: &Array<3>, call: impl FnOnce(&Array<3>) -> Result<R>) -> Result<R> {
        let Some(gpu) = self.gpus().first().filter(|_| from.layout().gpu.is_some()) else { return call(from) };
        let copy = {
            let _current = gpu.enter()?;
            Stream::borrowed(self.stream).synchronize()?;
            Fetched::new(gpu, from.layout())?
        };
        call(&copy.array())
    }

    pub(super) fn given_prior(&self) -> Result<Arc<Given>> {
        match &self.prior {
            Some(given) => Ok(given.clone()),
            None => fail!(NotConfigured, "the plan has no prior; isoc_pet_set_prior comes first"),
        }
    }

    pub(super) fn solve_settings(&self) -> Result<Solve> {
        let views = self.views()?;
        let o = self.options;
        let order = match o.order {
            Order::Geometric => geometric_order(views),
            Order::Random(_) => (0..views.len()).collect(),
            Order::Given if self.order.is_empty() => {
                fail!(NotConfigured, "options.order is 2 (given); isoc_pet_set_order comes first")
            }
            Order::Given => self.order.clone(),
        };
        if !self.order.is_empty() && o.order != Order::Given {
            self.context.log(LogLevel::Warning, || {
                "an order of views was set, and is not used: options.order is not 2 (given)".into()
            });
        }
        let has_subsets = o.algorithm == Algorithm::Osem || o.algorithm.climbs();
        if has_subsets && o.subsets > order.len() {
            fail!(OutOfRange, "options.subsets is {}; there are {} views", o.subsets, order.len());
        }
        let subsets = match o.algorithm {
            Algorithm::Ramla => order.len(),
            Algorithm::Mlem => 1,
            _ if o.subsets > 0 => o.subsets,
            Algorithm::Osem => DEFAULT_SUBSETS.min(order.len()),
            Algorithm::Bsrem | Algorithm::Svrg => climb::default_subsets(o.algorithm, order.len()),
        };
        self.solve_of(order, subsets)
    }

    pub(super) fn options(&self) -> &Options {
        &self.options
    }

    /// The options for views, or what takes their place, in this order.
    pub(super) fn solve_of(&self, order: Vec<usize>, subsets: usize) -> Result<Solve> {
        let o = self.options;
        self.warn_of_unused();
        if self.prior.is_some() && !o.algorithm.climbs() {
            fail!(
                OutOfRange,
                "options.algorithm is {}, which knows no prior; 3 (bsrem) and 4 (svrg) do, and isoc_pet_set_prior takes the one that is set away",
                o.algorithm.name()
            );
        }
        if o.region_change > 0.0 && self.regions.is_none() {
            fail!(
                NotConfigured,
                "options.stop_region_change is {}, and there are no regions; isoc_pet_set_regions comes first",
                o.region_change
            );
        }
        Ok(Solve {
            algorithm: o.algorithm,
            order,
            subsets_given: o.subsets > 0,
            shuffle: if let Order::Random(seed) = o.order { Some(seed) } else { None },
            subsets,
            iterations: o.iterations,
            first: o.first_iteration,
            relaxation: o.relaxation,
            decay: if o.algorithm == Algorithm::Bsrem && o.decay == 0.0 { DEFAULT_DECAY } else { o.decay },
            warm: o.warm_start,
            prior: self.prior.clone(),
            bounds: Bounds { image: o.change, regions: o.region_change },
            regions: self.regions.clone(),
        })
    }

    /// Warns of options that the algorithm does not have.
    fn warn_of_unused(&self) {
        let Options { algorithm, subsets, relaxation, decay, .. } = self.options;
        let default = Options::default();
        let has_steps = algorithm == Algorithm::Ramla || algorithm.climbs();
        let has_subsets = algorithm == Algorithm::Osem || algorithm.climbs();
        let of_subsets = "1 (osem), 3 (bsrem) or 4 (svrg)";
        let of_steps = "0 (ramla), 3 (bsrem) or 4 (svrg)";
        for (name, value, unused, of) in [
            ("subsets", subsets as f64, subsets > 1 && !has_subsets, of_subsets),
            ("relaxation", relaxation, relaxation != default.relaxation && !has_steps, of_steps),
            ("relaxation_decay", decay, decay != default.decay && !has_steps, of_steps),
        ] {
            if unused {
                self.context.log(LogLevel::Warning, || {
                    format!(
                        "options.{name} is {value}, and is not used: options.algorithm is {}, not {of}",
                        algorithm.name()
                    )
                });
            }
        }
    }

    /// NaN and Inf values replaced in the last call that read data.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// What each pass of the last reconstruction saw.
    pub fn history(&self) -> &[Iteration] {
        &self.history
    }
}

/// An image's values, checked.
fn copy_of(from: &Array<3>, name: &str, policy: NanPolicy, sign: Sign) -> Result<Vec<f32>> {
    look(from, name, policy, sign)?;
    let [_, ny, nx] = from.shape();
    let mut copy = zeros(from.layout().count())?;
    for (r, row) in copy.chunks_exact_mut(nx).enumerate() {
        from.read_row([r / ny, r % ny, 0], row);
        if sign == Sign::NonNegative { replace_below(row) } else { replace(row) }
    }
    Ok(copy)
}

/// An error if the response is too large for the lattice, or too narrow, in some view.
fn check_response(lattice: &Lattice, views: &[View], response: &Response) -> Result<()> {
    if response.tof_fwhm_ps == 0.0 {
        fail!(
            OutOfRange,
            "response.tof_fwhm is 0, and histo-images are of times of flight: lists without go along lines, isoc_pet_reconstruct_lines"
        );
    }
    views.iter().try_for_each(|v| response.check_on(lattice, v))
}
