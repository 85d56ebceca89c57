//! Who is asked for the axis, and who is believed.

use super::answer::{Answer, Told};
use super::halves::halves;
use super::options::{AxisMethod, AxisOptions, DEFAULT_ROWS};
use super::seams::Seams;
use super::sharpness::sharpest;
use super::views;
use crate::rows::source::Source;
use isocenter_base::context::Job;
use isocenter_base::error::{Error, Result, Status, fail};

/// A search that was checked.
pub(super) struct Search<'a> {
    source: Source<'a>,
    options: &'a AxisOptions,
    seams: Seams,
    range: [f64; 2],
}

/// Views of this confidence need no arbiter.
const SURE: f64 = 0.5;
/// Bins by which methods may differ besides their errors: samples drift, beams move, and each method looks at other views.
const SLACK: f64 = 1.0;
/// Sharpness has to be this far below its second best place: noise alone gives 0.15 at most.
const SHARP: f64 = 0.2;

impl<'a> Search<'a> {
    pub(super) fn new(source: Source<'a>, options: &'a AxisOptions) -> Result<Self> {
        let g = source.geometry;
        // Sharpness wants half a turn, too: with less of it simulated scans were sharpest some bins away.
        let sharp = options.method == AxisMethod::Sharpness;
        let seams = Seams::new(&g.angles, if sharp { AxisMethod::Sinogram } else { options.method }, &[])?;
        let range = range(g.bins, sharp, options.range)?;
        Ok(Self { source, options, seams, range })
    }

    /// Whether most views have an opposite one.
    fn opposed(&self) -> bool {
        self.seams.opposed
    }

    /// Whether halves of the object, seen by opposite views, are to be joined about this axis.
    pub(super) fn half_acquisition(&self, axis: f64) -> Result<bool> {
        Ok(self.opposed() && halves(&self.source, axis)?)
    }

    pub(super) fn run(&self, job: &Job) -> Result<Answer> {
        if self.options.method == AxisMethod::Sharpness {
            return self.sharp(self.range, job)?.axis();
        }
        let seams = &self.seams;
        let first = self.views(seams, job)?;
        if self.options.method != AxisMethod::Auto {
            return first.axis();
        }
        let second = match &first {
            // Half a turn tells little of an axis near an edge.
            Told::Axis(a) if seams.method == AxisMethod::OppositeViews && self.central(a.axis) => {
                Some(self.half_turn(job)?)
            }
            _ => None,
        };
        match (first, second) {
            (Told::Axis(a), Some(Told::Axis(b))) if near(&a, &b) => Ok(a),
            (Told::Axis(a), None | Some(Told::Unclear(_)))
                if a.confidence >= SURE || self.opposed() && !self.central(a.axis) =>
            {
                Ok(a)
            }
            (first, second) => match self.at_ends(job)? {
                Some(found) => Ok(found),
                None => self.arbitrated(first, second, job),
            },
        }
    }

    /// Half a turn alone, which need not be there, or of use, where opposite views are.
    fn half_turn(&self, job: &Job) -> Result<Told> {
        let seams = Seams::new(&self.source.geometry.angles, AxisMethod::Sinogram, &[]);
        match seams.and_then(|seams| self.views(&seams, job)) {
            Err(e) if e.status == Status::OutOfRange => Ok(Told::Unclear(e)),
            told => told,
        }
    }

    /// More than half a turn about an axis near an edge: few bins that agree well there weigh little against many that agree somewhat elsewhere, so
    /// the ends of the range are looked at alone.
    fn at_ends(&self, job: &Job) -> Result<Option<Answer>> {
        if !self.opposed() || self.options.range.is_some() {
            return Ok(None);
        }
        let ([low, high], last) = (self.range, self.source.geometry.bins as f64 - 1.0);
        let ends = [[low, (last / 8.0).max(low)], [(last * 7.0 / 8.0).min(high), high]];
        let [first, second] = ends.map(|range| match self.views_in(range, &self.seams, job) {
            Ok(Told::Axis(a)) if a.confidence >= SURE => Ok(Some(a)),
            Ok(_) => Ok(None),
            Err(e) => Err(e),
        });
        Ok(match (first?, second?) {
            (Some(a), None) | (None, Some(a)) => Some(a),
            _ => None,
        })
    }

    /// What sharpness makes of methods that disagree, or have too little to go by.
    fn arbitrated(&self, first: Told, second: Option<Told>, job: &Job) -> Result<Answer> {
        // Trial slices want an axis that both halves of a row are about.
        let last = self.source.geometry.bins as f64 - 1.0;
        let range = [self.range[0].max(last / 4.0), self.range[1].min(last * 0.75)];
        let sharp = match range[0] < range[1] {
            true => self.sharp(range, job)?,
            false => return first.axis(),
        };
        let alone = !self.options.tilt && !self.opposed();
        match (first, second, sharp) {
            (Told::Axis(a), _, Told::Axis(c)) if near(&a, &c) => Ok(Answer { confidence: a.confidence / 2.0, ..a }),
            (_, Some(Told::Axis(b)), Told::Axis(c)) if near(&b, &c) => {
                Ok(Answer { confidence: b.confidence / 2.0, ..b })
            }
            // More than half a turn about an axis beside the detector makes sharp slices of another object.
            (Told::Unclear(_), _, Told::Axis(c)) if alone && c.confidence >= SURE => Ok(c),
            (Told::Axis(a), b, c) => {
                let place = |told: Option<&Told>| match told {
                    Some(Told::Axis(a)) => format!("{:.1}", a.axis),
                    _ => "nothing".into(),
                };
                let (b, c) = (place(b.as_ref()), place(Some(&c)));
                let first = if a.method == AxisMethod::Sinogram { "the sinogram" } else { "opposite views" };
                fail!(
                    OutOfRange,
                    "the axis cannot be told: {first} made it {:.1} with confidence {:.2}, which no other method confirms (the sinogram: {b}, sharpness: {c}): an axis beside the detector, an object that moved, or angles that are not those of the scan",
                    a.axis,
                    a.confidence
                )
            }
            (first, ..) => first.axis(),
        }
    }

    fn views(&self, seams: &Seams, job: &Job) -> Result<Told> {
        self.views_in(self.range, seams, job)
    }

    fn views_in(&self, range: [f64; 2], seams: &Seams, job: &Job) -> Result<Told> {
        views::ask(&self.source, seams, range, self.rows(), self.options.tilt, job)
    }

    fn rows(&self) -> usize {
        if self.options.rows == 0 { DEFAULT_ROWS } else { self.options.rows }
    }

    fn sharp(&self, range: [f64; 2], job: &Job) -> Result<Told> {
        let found = sharpest(&self.source, range, self.rows(), job)?;
        let [low, high] = range;
        let (axis, error, confidence) = (found.axis, found.error, found.confidence);
        if confidence < SHARP || !(low + error..=high - error).contains(&axis) {
            return Ok(Told::Unclear(Error::new(
                Status::OutOfRange,
                format!(
                    "the axis cannot be told: no place from {low:.1} to {high:.1} makes slices much sharper than others do (the sharpest is {axis:.1}, confidence {confidence:.2})"
                ),
            )));
        }
        let method = AxisMethod::Sharpness;
        Ok(Told::Axis(Answer { axis, tilt: 0.0, error, confidence, method, curve: found.curve, range }))
    }

    /// Whether both halves of a row see much of the object.
    fn central(&self, axis: f64) -> bool {
        let last = self.source.geometry.bins as f64 - 1.0;
        (axis - last / 2.0).abs() <= last / 4.0
    }
}

fn near(a: &Answer, b: &Answer) -> bool {
    (a.axis - b.axis).abs() <= SLACK + 3.0 * a.error.hypot(b.error)
}

/// Axes to look at: the caller's, or all of the detector but its ends; for trial slices its middle half.
fn range(bins: usize, sharp: bool, given: Option<[f64; 2]>) -> Result<[f64; 2]> {
    let last = bins as f64 - 1.0;
    // Fewer bins that are seen from both sides agree by chance.
    let edge = (bins as f64 / 64.0).max(4.0);
    let Some([low, high]) = given else {
        return Ok(if sharp { [last / 4.0, last * 0.75] } else { [edge, last - edge] });
    };
    for (name, v) in [("low", low), ("high", high)] {
        if !v.is_finite() {
            fail!(NotFiniteParameter, "options.{name} is {v}; it must be finite");
        }
    }
    if !(low >= edge && high <= last - edge && low < high) {
        let (first, end) = (edge, last - edge);
        fail!(
            OutOfRange,
            "options.low is {low} and options.high {high}; they must ascend, from {first} to {end} here: opposite views have nothing in common where the axis is beside the detector"
        );
    }
    Ok([low, high])
}
