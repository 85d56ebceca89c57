//! Scans side by side as one scan: views of the same angles, and the field that their frames make.

use super::bad_views::{self, BadViews};
use super::corrected::Corrected;
use super::placed::Placed;
use crate::frames::Frames;
use crate::frames::field::{Field, Values};
use crate::frames::wide::{Side, Wide};
use crate::plan::{Piece, Steps};
use crate::scan::{Input, Kind, Scan, chosen, pairs};
use crate::talk;
use anyhow::{Context as _, Result, bail, ensure};
use isocenter::context::Context;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Bins by which the outermost of a field may be off where angles differ.
const OFF: f64 = 0.25;

/// A scan that slices can be made of, and what its frames are put together of, where it is several.
pub struct Whole {
    pub scan: Scan,
    pub wide: Option<Arc<Wide>>,
}

/// Where each scan lies among the bins of all.
fn field(piece: &Piece, scans: &[Scan]) -> Result<Field> {
    let places = piece.scans().zip(scans).map(|((_, bin, _), scan)| (bin, scan.views.source.shape()[2]));
    Field::new(&places.collect::<Vec<_>>()).with_context(|| format!("{} side by side", piece.name()))
}

/// For each view of the first of the scans, those of each at the same angle.
fn views(piece: &Piece, scans: &[Scan], bins: usize) -> Result<Vec<Vec<usize>>> {
    let within = OFF / (bins as f64 / 2.0);
    let of = |((path, ..), scan): ((&std::path::Path, f64, &Input), &Scan)| {
        let pairs = pairs(&scans[0].angles, &scan.angles, within);
        pairs.with_context(|| format!("{} and {}", piece.scan.display(), path.display()))
    };
    piece.scans().zip(scans).map(of).collect()
}

/// Leaves out what is no measurement of each scan, and of scans side by side what is none of another at the same angle; the piece says which.
pub fn leave_out(
    wanted: BadViews,
    context: &Arc<Context>,
    placed: &mut Placed,
    steps: &Steps,
    rows: Range<usize>,
) -> Result<()> {
    let Placed { piece, scans, .. } = placed;
    let together = if scans.len() > 1 { views(piece, scans, field(piece, scans)?.bins)? } else { Vec::new() };
    let name = piece.name();
    let before = scans.iter().zip(piece.inputs()).map(|(scan, input)| chosen::numbers(scan, input));
    let before = before.collect::<Result<Vec<_>>>()?;
    for (scan, input) in scans.iter_mut().zip(piece.inputs()) {
        input.left_out = bad_views::leave_out(wanted, context, scan, (input, &steps.flats), rows.clone())?;
    }
    let after = scans.iter().zip(piece.inputs()).map(|(scan, input)| chosen::numbers(scan, input));
    let after = after.map(|numbers| numbers.map(HashSet::<usize>::from_iter)).collect::<Result<Vec<_>>>()?;
    let Some(first) = together.first() else { return Ok(()) };
    let is = |k: usize, at: usize| after[k].contains(&before[k][together[k][at]]);
    let used: Vec<_> = (0..first.len()).map(|at| (0..scans.len()).all(|k| is(k, at))).collect();
    let left = used.iter().filter(|used| **used).count();
    ensure!(left > 1, "{name}: {left} projections are left that all of them have");
    for (k, (scan, input)) in scans.iter_mut().zip(piece.inputs()).enumerate() {
        let gone = used.iter().zip(&together[k]).filter(|(used, _)| !**used).map(|(_, view)| before[k][*view]);
        let mut gone: Vec<_> = gone.collect();
        gone.sort_unstable();
        let mut others = gone.clone();
        others.retain(|number| after[k].contains(number));
        if others.is_empty() {
            continue;
        }
        let kept: Vec<_> =
            before[k].iter().filter(|number| after[k].contains(number)).map(|n| !gone.contains(n)).collect();
        chosen::keep(scan, &kept);
        input.left_out = Some(chosen::text(&gone));
        let text = chosen::text(&others);
        talk::note(format_args!(
            "projections {text} of scan {} of {name} are left out with those of another at their angles",
            k + 1
        ));
    }
    Ok(())
}

/// One scan of each group of them, which are in the order of their pieces.
pub fn joined(
    context: &Arc<Context>,
    steps: &Steps,
    groups: impl IntoIterator<Item = (Piece, Vec<Scan>)>,
) -> Result<Vec<Whole>> {
    groups.into_iter().map(|(piece, scans)| one(context, steps, &piece, scans)).collect()
}

/// What scans side by side have in common, an error if they do not fit each other.
pub struct Fit {
    pub field: Field,
    /// For each of the field's views that of each scan.
    views: Vec<Vec<usize>>,
    values: Values,
}

pub fn fit(steps: &Steps, piece: &Piece, scans: &[Scan]) -> Result<Fit> {
    let name = piece.name();
    if !steps.distortion.is_none() {
        bail!(
            "{name} lie side by side, and --lens, --tilt and --shifts are of the frames of one detector: frames have to be corrected before they are put \
             together"
        );
    }
    let field = field(piece, scans)?;
    let views = views(piece, scans, field.bins)?;
    let kinds = scans.iter().map(Corrected::values).collect::<Result<Vec<_>>>().with_context(|| name.clone())?;
    let values = kinds[0];
    ensure!(
        kinds.iter().all(|kind| *kind == values),
        "{name} lie side by side, and some are line integrals, and some are not: --input, as a column of the table, says what each is"
    );
    Ok(Fit { field, views, values })
}

fn one(context: &Arc<Context>, steps: &Steps, piece: &Piece, mut scans: Vec<Scan>) -> Result<Whole> {
    let name = piece.name();
    if scans.len() < 2 {
        let scan = scans.pop().with_context(|| format!("{name}: there is no scan"))?;
        return Ok(Whole { scan, wide: None });
    }
    let Fit { field, views, values } = fit(steps, piece, &scans)?;
    let (angles, pixel) = (scans[0].angles.clone(), scans[0].pixel.clone());
    let title = scans.iter().find_map(|scan| scan.title.clone());
    let sides = piece.scans().zip(scans).zip(views).map(|(((path, ..), scan), frames)| {
        let made = Corrected::new(context, scan, path.display().to_string(), steps.flats.clone());
        Side { made: Arc::new(made), frames }
    });
    let wide = Arc::new(Wide::new(field, values, sides.collect()));
    let kind = match values {
        Values::Transmissions => Kind::Transmission,
        Values::LineIntegrals => Kind::LineIntegrals,
    };
    let scan = Scan {
        format: "scans side by side",
        title,
        views: Frames::all(wide.clone()),
        angles,
        flats: Vec::new(),
        darks: None,
        pixel,
        kind: Some(kind),
        notes: Vec::new(),
    };
    Ok(Whole { scan, wide: Some(wide) })
}
