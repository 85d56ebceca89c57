//! What a plan does with lists of events as lines.

use super::blur::Blur;
use super::counted::Counted;
use super::grid::Grid;
use super::list::{List, ListArrays};
use super::through::Through;
use crate::climb;
use crate::cpu::engine::CpuEngine;
use crate::dropped::Dropped;
use crate::engine::{Engine, Scan};
use crate::events::BLOCK;
use crate::gpu::engine::GpuEngine;
use crate::plan::{AnyEngine, Pet, each};
use crate::reconstruct::reconstruct;
use crate::solve::{Algorithm, Order, Solve};
use crate::values::{Sign, is_rounding};
use isocenter_base::array::value::not_finite;
use isocenter_base::array::{Array, ArrayMut, DType};
use isocenter_base::context::{NanPolicy, Stage};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Subsets of events where the caller leaves them open are those of so many views.
const VIEWS: usize = 72;

/// What a reconstruction has of a list: `factors (sum along the line + additive / factors)` is expected of an event.
#[derive(Clone, Copy, Debug)]
pub struct LinesOf<'a> {
    /// The part that is measured of each event's line; None: 1.
    pub factors: Option<Array<'a, 1>>,
    /// What is measured besides; None: 0.
    pub additive: Option<Array<'a, 1>>,
    /// Factors over all lines that could be measured, `[z][y][x]`.
    pub sensitivity: Array<'a, 3>,
}

impl Pet {
    /// An engine without views, beside which there is no other.
    fn line_engine(&mut self) -> Result<&mut AnyEngine> {
        if self.lines.is_none() {
            self.engine = None;
            let scan = Scan {
                lattice: *self.lattice()?,
                views: Vec::new(),
                response: None,
                given: Vec::new(),
                method: Default::default(),
            };
            let mut engine = match self.context.gpus() {
                gpus @ [_, ..] => AnyEngine::Gpu(Box::new(GpuEngine::new(&self.context, &gpus[..1], scan)?)),
                [] => AnyEngine::Cpu(Box::new(CpuEngine::new(self.context.level(), scan)?)),
            };
            let stream = self.stream();
            each!(&mut engine, e => e.set_stream(stream));
            self.lines = Some(engine);
        }
        match &mut self.lines {
            Some(engine) => Ok(engine),
            None => fail!(Internal, "there is no engine"),
        }
    }

    fn blur(&self, grid: &Grid) -> Result<Option<Blur>> {
        self.response().map(|response| Blur::new(response, grid)).transpose()
    }

    /// Sums of an image, blurred by the response, along the lines of a list; 0 of those that are told of.
    pub fn forward_lines(&mut self, list: &ListArrays, image: Array<3>, to: ArrayMut<1>) -> Result<Dropped> {
        let (scanner, response) = (self.scanner.clone(), self.response().cloned());
        let list = List::new(list, scanner.as_deref(), response.as_ref(), 1.0)?;
        let grid = Grid::of(self.lattice()?)?;
        let through = Through { list: &list, grid, blur: self.blur(&grid)? };
        image.layout().check("image", self.lattice()?.shape(), DType::FLOAT, self.gpus())?;
        to.layout().check("values", [list.len()], DType::FLOAT, &[])?;
        let (context, elements) = (self.context.clone(), image.layout().count());
        let policy = context.nan_policy();
        let (dropped, replaced) = each!(self.line_engine()?, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            e.prepare(&context, &[], 2, job)?;
            let image = e.read(&image, "image", policy, Sign::Any)?;
            job.enter(Stage::Forward);
            Ok((e.forward_lines(&through, &image, &to, job)?, e.replaced()))
        }))?;
        self.replaced = replaced;
        context.tell_of_replaced(replaced, elements);
        self.tell_of_lines(&list, &dropped)?;
        Ok(dropped)
    }

    /// image = the transpose of [`Pet::forward_lines`] of one value a line.
    pub fn adjoint_lines(&mut self, list: &ListArrays, values: Array<1>, mut image: ArrayMut<3>) -> Result<Dropped> {
        let (scanner, response) = (self.scanner.clone(), self.response().cloned());
        let list = List::new(list, scanner.as_deref(), response.as_ref(), 1.0)?;
        let grid = Grid::of(self.lattice()?)?;
        let through = Through { list: &list, grid, blur: self.blur(&grid)? };
        image.layout().check("image", self.lattice()?.shape(), DType::FLOAT, self.gpus())?;
        values.layout().check("values", [list.len()], DType::FLOAT, &[])?;
        let context = self.context.clone();
        let (dropped, replaced) = each!(self.line_engine()?, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            let replaced = check_values(&values, "values", context.nan_policy(), Sign::Any)?;
            e.prepare(&context, &[], 2, job)?;
            job.enter(Stage::Adjoint);
            let mut sum = e.zeros()?;
            let dropped = e.adjoint_lines(&through, &values, &mut sum, job)?;
            e.write(&sum, &mut image)?;
            Ok((dropped, replaced))
        }))?;
        self.replaced = replaced;
        context.tell_of_replaced(replaced, list.len());
        self.tell_of_lines(&list, &dropped)?;
        Ok(dropped)
    }

    /// Reconstructs the image of a list as the options say. Nothing is written unless all of it is there.
    pub fn reconstruct_lines(&mut self, list: &ListArrays, of: &LinesOf, mut image: ArrayMut<3>) -> Result<Dropped> {
        let solve = self.solve_of_lines()?;
        let (scanner, response) = (self.scanner.clone(), self.response().cloned());
        let list = List::new(list, scanner.as_deref(), response.as_ref(), self.view_set()?.max_tilt().sin())?;
        if solve.subsets_given && solve.subsets > list.len() {
            fail!(OutOfRange, "options.subsets is {}; the list has {} events", solve.subsets, list.len());
        }
        let (grid, shape) = (Grid::of(self.lattice()?)?, self.lattice()?.shape());
        let through = Through { list: &list, grid, blur: self.blur(&grid)? };
        image.layout().check("image", shape, DType::FLOAT, self.gpus())?;
        of.sensitivity.layout().check("sensitivity", shape, DType::FLOAT, self.gpus())?;
        let given = [(&of.factors, "factors"), (&of.additive, "additive")];
        for (array, name) in given.iter().filter_map(|(array, name)| array.as_ref().map(|a| (a, name))) {
            array.layout().check(name, [list.len()], DType::FLOAT, &[])?;
        }
        let context = self.context.clone();
        let policy = context.nan_policy();
        let mut history = Vec::new();
        let run = each!(self.line_engine()?, e => e.run(&context, |e, job| {
            job.enter(Stage::Check);
            let mut replaced = 0;
            for (array, name) in given.iter().filter_map(|(array, name)| array.as_ref().map(|a| (a, name))) {
                replaced += check_values(array, name, policy, Sign::NonNegative)?;
            }
            e.prepare(&context, &[], solve.volumes(), job)?;
            let mut found = match solve.warm {
                true => e.read(&image.as_array(), "image", policy, Sign::NonNegative)?,
                false => e.zeros()?,
            };
            let counted = Counted {
                through,
                factors: of.factors,
                additive: of.additive,
                sensitivity: of.sensitivity,
                parts: solve.order.len(),
            };
            let (data, dropped) = e.load_lines(&context, &counted, job)?;
            e.tally()?;
            let zeros = reconstruct(e, (&data, &mut found), &solve, (&context, job), &mut history)?;
            e.write(&found, &mut image)?;
            Ok((dropped, replaced + e.replaced(), zeros))
        }));
        self.history = history;
        let (dropped, replaced, zeros) = run?;
        self.replaced = replaced;
        context.tell_of_replaced(replaced, list.len());
        self.tell_of_lines(&list, &dropped)?;
        self.tell_of_zeros(&zeros, "sensitivity is 0 everywhere: nothing is measured, and the image is 0");
        Ok(dropped)
    }

    /// The options for a list, whose parts take the place of views.
    fn solve_of_lines(&self) -> Result<Solve> {
        let options = self.options();
        if options.algorithm == Algorithm::Ramla {
            fail!(
                OutOfRange,
                "options.algorithm is 0 (ramla), which goes view by view, and lines have none: take 1 (osem), 2 (mlem), 3 (bsrem) or 4 (svrg)"
            );
        }
        let parts = match options.algorithm {
            Algorithm::Mlem => 1,
            _ if options.subsets > 0 => options.subsets,
            Algorithm::Osem => crate::plan::DEFAULT_SUBSETS,
            of => climb::default_subsets(of, VIEWS),
        };
        if options.order == Order::Given {
            fail!(
                OutOfRange,
                "options.order is 2 (given), an order of views, and lines have none: take 0 (geometric) or 1 (random)"
            );
        }
        self.solve_of((0..parts).collect(), parts)
    }

    pub(super) fn tell_of_lines(&self, list: &List, dropped: &Dropped) -> Result<()> {
        let lattice = *self.lattice()?;
        // Without times nothing says where an event is.
        self.tell_of_dropped(list.timing().map(|_| list.source()), &lattice, list.len(), dropped);
        Ok(())
    }

    /// Bytes that [`Pet::reconstruct_lines`] takes of a list of so many events.
    pub fn lines_memory(&mut self, events: usize) -> Result<u64> {
        let solve = self.solve_of_lines()?;
        let grid = Grid::of(self.lattice()?)?;
        let context = self.context.clone();
        let parts = solve.order.len();
        each!(self.line_engine()?, e => e.run(&context, |e, _| {
            Ok(e.memory(solve.volumes()) + e.lines_memory(&grid, events, parts))
        }))
    }
}

/// Looks at values of a list: what is not finite is an error that names the first, or counted; so is what is below 0 where it may not be.
fn check_values(values: &Array<1>, name: &str, policy: NanPolicy, sign: Sign) -> Result<u64> {
    let [count] = values.shape();
    let part = |block: usize| -> Result<(u64, f32, f32)> {
        let from = block * BLOCK;
        let mut room = [0.0f32; BLOCK];
        let row = &mut room[..BLOCK.min(count - from)];
        values.read_row([from], row);
        let infinite = row.iter().filter(|v| !v.is_finite()).count();
        if let Some(k) = row.iter().position(|v| !v.is_finite()).filter(|_| policy == NanPolicy::Error) {
            return not_finite(name, &[from + k], row[k]);
        }
        let lowest = row.iter().copied().filter(|v| v.is_finite()).fold(0.0, f32::min);
        let largest = row.iter().copied().filter(|v| v.is_finite()).fold(0.0, f32::max);
        Ok((infinite as u64, lowest, largest))
    };
    let found: Vec<Result<(u64, f32, f32)>> = (0..count.div_ceil(BLOCK)).into_par_iter().map(part).collect();
    let found = found.into_iter().collect::<Result<Vec<_>>>()?;
    let largest = found.iter().map(|f| f.2).fold(0.0, f32::max);
    let wrong =
        found.iter().position(|f| f.1 < 0.0 && !is_rounding(f.1, largest)).filter(|_| sign == Sign::NonNegative);
    if let Some(block) = wrong {
        let from = block * BLOCK;
        let mut room = [0.0f32; BLOCK];
        let row = &mut room[..BLOCK.min(count - from)];
        values.read_row([from], row);
        let k = row.iter().position(|v| v.is_finite() && *v < 0.0 && !is_rounding(*v, largest)).unwrap_or(0);
        fail!(OutOfRange, "{name}[{}] is {}; it must not be below 0", from + k, row[k]);
    }
    Ok(found.iter().map(|f| f.0).sum())
}
