//! The engine on the processor. Results are the same bits for any number of threads.

use super::columns::{Columns, Layout as Place};
use super::compare::{compare, load};
use super::lines;
use super::prior;
use super::projector::{Floors, Projector, Room};
use crate::dropped::Dropped;
use crate::engine::{Ascent, Engine, Facts, Method, NEAR, Progress, Ratio, Scan, Sum, Tally};
use crate::histos::Histos;
use crate::lines::{Counted, Grid, Lines, Through};
use crate::prior::Placed;
use crate::values::{Sign, look, replace, replace_below};
use isocenter_base::array::{Array, ArrayMut};
use isocenter_base::context::{Context, Job, NanPolicy};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::sync::Arc;

/// The engine of a plan whose context has no GPU.
pub(crate) struct CpuEngine {
    level: Level,
    scan: Scan,
    place: Place,
    /// Of each view, if it was made and kept.
    projectors: Vec<Option<Arc<Projector>>>,
    /// Room for what a projection gives before it is used.
    scratch: Option<Columns>,
    room: Room,
    tally: Tally,
    prior: Option<Placed<Columns>>,
    lines: lines::Room,
    replaced: u64,
    below: u64,
    /// Bytes of the volumes that the present call was prepared for.
    prepared: u64,
}

/// What was measured.
pub(crate) enum Data<'a> {
    Histos(Box<OfHistos<'a>>),
    Lines(Box<lines::Data<'a>>),
}

/// The caller's arrays, in place.
pub(crate) struct OfHistos<'a> {
    histos: Histos<'a>,
    facts: Facts,
}

impl<'a> Data<'a> {
    fn histos(&self) -> Result<&OfHistos<'a>> {
        match self {
            Data::Histos(of) => Ok(of),
            Data::Lines(_) => fail!(Internal, "lines have no histo-images"),
        }
    }
}

/// Elements that a task of plain arithmetic takes.
const GRAIN: usize = 1 << 14;

impl CpuEngine {
    pub(crate) fn new(level: Level, scan: Scan) -> Result<Self> {
        let place = Place::new(&scan.lattice, scan.height())?;
        let projectors = scan.views.iter().map(|_| None).collect();
        Ok(Self {
            level,
            scan,
            place,
            projectors,
            scratch: None,
            room: Room::default(),
            tally: Tally::default(),
            prior: None,
            lines: lines::Room::default(),
            replaced: 0,
            below: 0,
            prepared: 0,
        })
    }

    fn make(&self, view: usize) -> Result<Arc<Projector>> {
        let tables = self.scan.tables(view)?;
        Ok(Arc::new(Projector::new(&tables, &self.place, self.level, self.scan.method)?))
    }

    fn projector(&self, view: usize) -> Result<Arc<Projector>> {
        match &self.projectors[view] {
            Some(projector) => Ok(projector.clone()),
            None => self.make(view),
        }
    }

    /// Bytes of the projections that are kept.
    fn kept(&self) -> u64 {
        self.projectors.iter().flatten().map(|p| p.bytes() as u64).sum()
    }

    fn volume(&self) -> u64 {
        self.place.bytes() as u64
    }

    /// histo = H image, its values above a floor; tells whether there is one.
    fn project(&mut self, view: usize, image: &Columns, histo: &mut Columns, of: fn(Floors) -> f32) -> Result<bool> {
        let projector = self.projector(view)?;
        projector.forward(image, histo, &mut self.room)?;
        let floors = projector.floors();
        if let Some(floors) = floors {
            let floor = finite(of(floors) * histo.largest());
            let parts = histo.data_mut().par_chunks_mut(GRAIN);
            parts.for_each(|part| part.iter_mut().for_each(|v| *v = beyond(floor, *v)));
        }
        Ok(floors.is_some())
    }

    /// H^T of something, in the scratch room, and its values' floors.
    fn adjoint(&mut self, view: usize, histo: &Columns) -> Result<(Columns, Option<Floors>)> {
        let mut out = match self.scratch.take() {
            Some(out) => out,
            None => Columns::zeroed(self.place)?,
        };
        let projector = self.projector(view)?;
        projector.adjoint(histo, &mut out, &mut self.room)?;
        Ok((out, projector.floors()))
    }
}

/// What rounding made of nothing is nothing: no values below 0 of what has none.
fn beyond(floor: f32, v: f32) -> f32 {
    if v.abs() <= floor { 0.0 } else { v }
}

/// A floor; none where values have left the range of f32, which is to be seen.
fn finite(floor: f32) -> f32 {
    if floor.is_finite() { floor } else { 0.0 }
}

/// a = op(a, b), element by element.
fn merge(a: &mut Columns, b: &Columns, op: impl Fn(f32, f32) -> f32 + Sync) {
    let (a, b) = (a.data_mut(), b.data());
    a.par_chunks_mut(GRAIN).zip(b.par_chunks(GRAIN)).for_each(|(a, b)| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = op(*a, *b));
    });
}

impl Engine for CpuEngine {
    type Volume = Columns;
    type Data<'a> = Data<'a>;
    const WAITS: bool = false;

    fn scan(&self) -> &Scan {
        &self.scan
    }

    fn set_method(&mut self, method: Method) {
        if method != self.scan.method {
            self.scan.method = method;
            self.projectors.fill(None);
        }
    }

    fn set_stream(&mut self, _: usize) {}

    fn within<R: Send>(&mut self, context: &Context, work: impl FnOnce(&mut Self) -> Result<R> + Send) -> Result<R> {
        context.install(|| work(self))
    }

    fn kept_prior(&mut self) -> &mut Option<Placed<Columns>> {
        &mut self.prior
    }

    fn prepare(&mut self, context: &Context, views: &[usize], volumes: usize, job: &Job) -> Result<()> {
        // One more for the scratch room.
        self.prepared = (volumes as u64 + 1) * self.volume();
        let besides = (volumes as u64 + 1) * self.volume();
        let cap = context.memory_cap(self.kept());
        if besides > cap {
            fail!(MemoryCap, "{besides} bytes are needed for images alone; the context's memory_cap is {cap}");
        }
        let mut kept = self.kept();
        if kept > cap - besides {
            self.projectors.fill(None);
            kept = 0;
        }
        for view in views {
            job.check()?;
            if self.projectors[*view].is_some() {
                continue;
            }
            let projector = self.make(*view)?;
            let (bytes, room) = (projector.bytes() as u64, projector.room() as u64);
            if bytes + room > cap - besides {
                fail!(
                    MemoryCap,
                    "{} bytes are needed for images and the kernels of one view; the context's memory_cap is {cap}",
                    besides + bytes + room
                );
            }
            // At most one view's is made beside what is kept.
            if kept + 2 * bytes + room > cap - besides {
                break;
            }
            kept += bytes;
            self.projectors[*view] = Some(projector);
        }
        Ok(())
    }

    fn memory(&self, volumes: usize) -> u64 {
        self.kept() + (volumes as u64 + 1) * self.volume()
    }

    fn spare(&self, context: &Context, data: &Data<'_>, volumes: usize) -> Result<usize> {
        let of_lines = if let Data::Lines(lines) = data { lines.bytes() } else { 0 };
        // One more for the scratch room, and one that is read meanwhile.
        let held = self.kept() + of_lines + (volumes as u64 + 2) * self.volume();
        Ok((context.memory_cap(self.kept()).saturating_sub(held) / self.volume()) as usize)
    }

    fn zeros(&mut self) -> Result<Columns> {
        Columns::zeroed(self.place)
    }

    fn fill(&mut self, volume: &mut Columns, value: f32) -> Result<()> {
        volume.fill(value);
        Ok(())
    }

    fn read(&mut self, from: &Array<3>, name: &str, policy: NanPolicy, sign: Sign) -> Result<Columns> {
        let found = look(from, name, policy, sign)?;
        self.replaced += found.replaced;
        self.below += found.below;
        let clean = if sign == Sign::NonNegative { replace_below } else { replace };
        let mut volume = Columns::zeroed(self.place)?;
        volume.set_rows(|z, y, row| {
            from.read_row([z, y, 0], row);
            clean(row);
        })?;
        Ok(volume)
    }

    fn write(&mut self, from: &Columns, to: &mut ArrayMut<3>) -> Result<()> {
        // SAFETY: each row comes from one task; the array is ours alone for the call.
        from.get_rows(|z, y, row| unsafe { to.write_row([z, y, 0], row) })
    }

    fn replaced(&mut self) -> u64 {
        std::mem::take(&mut self.replaced)
    }

    fn below(&mut self) -> u64 {
        std::mem::take(&mut self.below)
    }

    fn forward(&mut self, view: usize, image: &Columns, histo: &mut Columns) -> Result<()> {
        // A kernel's error is where the kernel is, and does no harm.
        self.project(view, image, histo, |f| f.rounding).map(drop)
    }

    fn add_adjoint(&mut self, view: usize, histo: &Columns, image: &mut Columns) -> Result<()> {
        let (part, floors) = self.adjoint(view, histo)?;
        if let Some(Floors { rounding, .. }) = floors {
            let floor = finite(rounding * part.largest());
            merge(image, &part, |a, b| a + beyond(floor, b));
        } else {
            merge(image, &part, |a, b| a + b);
        }
        self.scratch = Some(part);
        Ok(())
    }

    fn load<'a>(&mut self, context: &Context, histos: &Histos<'a>, _: &[Vec<usize>], job: &Job) -> Result<Data<'a>> {
        let policy = context.nan_policy();
        let mut facts = Facts { largest_factor: 1.0, ..Facts::default() };
        let measured = look(&histos.measured, "measured", policy, Sign::NonNegative)?;
        (facts.measured, self.replaced) = (measured.sum, self.replaced + measured.replaced);
        self.below += measured.below;
        job.check()?;
        facts.factors = histos.measured.shape().iter().map(|n| *n as f64).product();
        if let Some(factors) = &histos.factors {
            let found = look(factors, "factors", policy, Sign::NonNegative)?;
            (facts.factors, facts.largest_factor, facts.has_zero_factor) = (found.sum, found.largest, found.zero);
            self.replaced += found.replaced;
            self.below += found.below;
            facts.has_zero_factor |= found.replaced > 0;
            job.check()?;
        }
        if let Some(additive) = &histos.additive {
            let found = look(additive, "additive", policy, Sign::NonNegative)?;
            (facts.additive, self.replaced) = (found.sum, self.replaced + found.replaced);
            self.below += found.below;
        }
        Ok(Data::Histos(Box::new(OfHistos { histos: *histos, facts })))
    }

    fn lines_memory(&self, grid: &Grid, events: usize, parts: usize) -> u64 {
        grid.bytes() * (1 + crate::lines::copies(grid, events.div_ceil(parts))) as u64
    }

    fn forward_lines(&mut self, of: &Through, image: &Columns, to: &ArrayMut<1>, job: &Job) -> Result<Dropped> {
        let lines = Lines { level: self.level, through: of.clone() };
        let (image, _) = self.lines.image(&lines, image)?;
        lines.forward(image, to, job)
    }

    fn adjoint_lines(&mut self, of: &Through, from: &Array<1>, image: &mut Columns, job: &Job) -> Result<Dropped> {
        let lines = Lines { level: self.level, through: of.clone() };
        let (_, sums) = self.lines.image(&lines, image)?;
        let dropped = lines.adjoint(from, sums, job)?;
        lines::each(image, &of.grid, &sums[0], |v, sum| *v = sum);
        Ok(dropped)
    }

    fn load_lines<'a>(&mut self, context: &Context, counted: &Counted<'a>, job: &Job) -> Result<(Data<'a>, Dropped)> {
        let seen = self.read(&counted.sensitivity, "sensitivity", context.nan_policy(), Sign::NonNegative)?;
        let (data, dropped) = lines::Data::new(self.level, counted, seen, job)?;
        let events = counted.through.list.len();
        let needed = self.prepared + self.lines_memory(&counted.through.grid, events, counted.parts);
        let cap = context.memory_cap(0);
        if needed > cap {
            fail!(MemoryCap, "memory_cap is {cap} bytes; images, and those that lines are added up in, need {needed}");
        }
        Ok((Data::Lines(Box::new(data)), dropped))
    }

    fn facts(&self, data: &Data<'_>) -> Facts {
        match data {
            Data::Histos(of) => of.facts,
            Data::Lines(lines) => lines.facts,
        }
    }

    fn add_sensitivity(&mut self, view: usize, data: &Data<'_>, image: &mut Columns) -> Result<()> {
        let of = match data {
            Data::Histos(of) => of,
            Data::Lines(lines) => {
                merge(image, &lines.sensitivity, |a, b| a + b);
                return Ok(());
            }
        };
        let mut factors = Columns::zeroed(self.place)?;
        match &of.histos.factors {
            Some(from) => load(from, view, &mut factors)?,
            None => factors.fill(1.0),
        }
        self.add_adjoint(view, &factors, image)
    }

    fn compare(&mut self, view: usize, data: &Data<'_>, image: &Columns, of: Ratio, ratio: &mut Columns) -> Result<()> {
        let data = data.histos()?;
        let floored = self.project(view, image, ratio, |f| f.error)?;
        let max = if floored { data.facts.max_quotient() } else { f32::MAX };
        let Tally { log_likelihood, skipped } = compare(self.level, &data.histos, view, (of, max), ratio)?;
        self.tally.log_likelihood += log_likelihood;
        self.tally.skipped += skipped;
        Ok(())
    }

    fn add_ratios(
        &mut self,
        views: &[usize],
        data: &Data<'_>,
        of: Ratio,
        (image, ratio, sum): Sum<Columns>,
        progress: Progress,
    ) -> Result<()> {
        match data {
            Data::Histos(_) => self.add_ratios_by_view(views, data, of, (image, ratio, sum), progress),
            Data::Lines(lines) => {
                let tally = lines.add_ratios(&mut self.lines, views, of, (image, sum), progress)?;
                self.tally = self.tally + tally;
                Ok(())
            }
        }
    }

    fn tally(&mut self) -> Result<Tally> {
        Ok(std::mem::take(&mut self.tally))
    }

    fn relax(&mut self, view: usize, ratio: &Columns, step: f32, image: &mut Columns) -> Result<()> {
        let (part, _) = self.adjoint(view, ratio)?;
        merge(image, &part, |f, c| (f + step * f * c).max(0.0));
        self.scratch = Some(part);
        Ok(())
    }

    fn scale(&mut self, image: &mut Columns, by: &Columns, over: &Columns) -> Result<()> {
        let (image, by, over) = (image.data_mut(), by.data(), over.data());
        let parts = image.par_chunks_mut(GRAIN).zip(by.par_chunks(GRAIN)).zip(over.par_chunks(GRAIN));
        parts.for_each(|((image, by), over)| {
            for ((f, b), s) in image.iter_mut().zip(by).zip(over) {
                *f = if *s > 0.0 { *f * (b.max(0.0) / *s) } else { *f };
            }
        });
        Ok(())
    }

    fn sum(&mut self, volume: &Columns) -> Result<f64> {
        let parts: Vec<f64> =
            volume.data().par_chunks(GRAIN).map(|part| part.iter().map(|v| f64::from(*v)).sum()).collect();
        Ok(parts.into_iter().sum())
    }

    fn mask(&mut self, image: &mut Columns, where_zero: &Columns) -> Result<()> {
        merge(image, where_zero, |f, s| if s > 0.0 { f } else { 0.0 });
        Ok(())
    }

    fn add(&mut self, to: &mut Columns, from: &Columns) -> Result<()> {
        merge(to, from, |a, b| a + b);
        Ok(())
    }

    fn raise(&mut self, to: &mut Columns, from: &Columns, times: f32) -> Result<()> {
        merge(to, from, |a, b| a.max(times * b));
        Ok(())
    }

    fn slopes(&mut self, prior: &Placed<Columns>, image: &Columns, of: [&mut Columns; 2]) -> Result<()> {
        prior::slopes(self.level, &self.scan.lattice, prior, image, of)
    }

    fn penalty(&mut self, prior: &Placed<Columns>, image: &Columns) -> Result<f64> {
        prior::value(self.level, &self.scan.lattice, prior, image)
    }

    fn ascend(&mut self, image: &mut Columns, ascent: &Ascent<Columns>) -> Result<()> {
        let Ascent { gradient, times, anchor, prior, sensitivity, step, floor, limit } = *ascent;
        image.data_mut().par_chunks_mut(GRAIN).enumerate().for_each(|(k, image)| {
            let of = |v: &Columns, i: usize| v.data()[k * GRAIN + i];
            let n = image.len();
            let (gradient, sensitivity) = (&gradient.data()[k * GRAIN..][..n], &sensitivity.data()[k * GRAIN..][..n]);
            for (i, ((f, g), seen)) in image.iter_mut().zip(gradient).zip(sensitivity).enumerate() {
                let (mut g, mut curvature) = (*g, *seen);
                g *= times;
                if let Some([stored, total, earlier]) = anchor {
                    let (now, then) = (*f + floor, of(earlier, i) + floor);
                    let near = now <= NEAR * then && then <= NEAR * now;
                    g += if near { of(total, i) - times * of(stored, i) } else { 0.0 };
                }
                if let Some([slope, bend]) = prior {
                    g -= of(slope, i);
                    curvature += 2.0 * *f * of(bend, i);
                }
                let to = (*f + step * (*f + floor) * g / curvature).max(*f / limit);
                *f = if *seen > 0.0 { to.min(limit * (*f + floor)) } else { 0.0 };
            }
        });
        Ok(())
    }
}
