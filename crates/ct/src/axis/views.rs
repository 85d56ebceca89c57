//! The axis from views about seams: where it is roughly, then exactly, and whether that can be believed.

use super::answer::{Answer, Told};
use super::coarse::Coarse;
use super::rows::Rows;
use super::seams::Seams;
use super::step::Steps;
use crate::rows::source::Source;
use isocenter_base::context::Job;
use isocenter_base::cpu::buffer::append;
use isocenter_base::error::{Error, Result, Status, fail};

/// Below this confidence there is no axis to tell from chance: noise alone gives 0.1 at most.
const MIN_CONFIDENCE: f64 = 0.15;
/// Rows that disagree by more bins than this, when each of them should be far better, do not have one axis.
const MAX_SCATTER: f64 = 2.0;

/// Times that views are read again without those that were spoiled: others stand in for them, which may be spoiled, too.
const ROUNDS: usize = 8;

/// What the views about these seams tell, of so many detector rows.
pub(super) fn ask(
    source: &Source,
    seams: &Seams,
    range: [f64; 2],
    wanted: usize,
    tilt: bool,
    job: &Job,
) -> Result<Told> {
    let (g, [low, high]) = (source.geometry, range);
    let unclear =
        |why: String| Ok(Told::Unclear(Error::new(Status::OutOfRange, format!("the axis cannot be told: {why}"))));
    let (mut left_out, mut others) = (Vec::new(), None);
    let mut rows = Rows::read(source, seams, &left_out, wanted, job)?;
    for _ in 0..ROUNDS {
        if rows.spoiled.is_empty() {
            break;
        }
        rows.spoiled.iter().try_for_each(|view| append(&mut left_out, *view))?;
        let seams = others.insert(seams.without(&g.angles, &left_out)?);
        rows = Rows::read(source, seams, &left_out, wanted, job)?;
    }
    let seams = others.as_ref().unwrap_or(seams);
    let coarse = Coarse::new(&rows, seams, range, tilt)?;
    let confidence = coarse.confidence();
    if confidence < MIN_CONFIDENCE {
        return unclear(format!(
            "no place from {low:.1} to {high:.1} makes opposite views agree better than others do (confidence {confidence:.2}): a row without structure, an axis outside the range, or angles that are not those of the scan"
        ));
    }
    job.check()?;
    let mut centres = coarse.centres(&rows)?;
    let steps = Steps::new(&rows, seams, &centres)?;
    let found = steps.settle(&rows, seams, &mut centres, tilt, job)?;
    // Rows that stray are of no use to any other method, either.
    if found.scatter > MAX_SCATTER.max(20.0 * found.noise * (rows.lines.len() as f64).sqrt()) {
        let scatter = found.scatter;
        fail!(
            OutOfRange,
            "the axis cannot be told: rows disagree by {scatter:.1} bins (a tilt, where options.tilt is not set, or rows of other scans)"
        );
    }
    let axis = found.line.at(g.first_row as f64 + (g.slices as f64 - 1.0) / 2.0);
    if !(low - 1.0..=high + 1.0).contains(&axis) {
        return unclear(format!("it seems to be at {axis:.1}, outside {low:.1} to {high:.1}"));
    }
    let (tilt, error, method) = (found.line.slope, found.error, seams.method);
    Ok(Told::Axis(Answer { axis, tilt, error, confidence, method, curve: coarse.curve, range }))
}
