//! What the numbers of all views say of each.

use super::fault::ViewFault;
use super::look::{Kind, Look, Scale, is_full};
use super::strays::Strays;
use isocenter_base::cpu::buffer::{append, collected, filled};
use isocenter_base::error::Result;
use std::f64::consts::TAU;

/// A view is black where its mean transmission is below this with all but certainty. What lets a hundredth of the beam through is not, nor is
/// it when the beam has decayed to a half: 0.005.
const BLACK: f64 = 0.004;
/// Standard errors of that certainty: 1 in 30,000 of normal noise, and what is dark by absorption lies above the limit, by more of them.
const ERRORS: f64 = 4.0;
/// And below one over this of what the brighter views have.
const FAR_BELOW: f64 = 3.0;
/// The part of the values that changes from a view to the next where noise makes any two differ. Counts of 0.2 change in 0.3 of the pixels.
/// Without noise views may be equal but for rounding where the object turns its longest side: those beside them change nine times as many
/// values as they do, at most a few of a hundred.
const CHANGED: f64 = 0.25;
/// How often third differences along the bins, of what changed, have another sign than those before: of white noise 0.77, as their correlation is
/// -0.75; of noise that a scintillator has blurred by 1 bin 0.53. What moves without noise has long runs of one sign, but at edges.
const OPPOSITE: f64 = 0.45;
/// Doubtful views are brighter or darker than usual by this factor, and this many times the typical part.
const FACTOR: f64 = 1.35;
const TYPICAL: f64 = 12.0;
/// And at an end of their run the light falls by this part of the whole at once, and by no more than another part of that from there to the next
/// view, all of which are near. Behind a slab it falls as one over the sine of the angle, in several steps: so sharply between views 2
/// degrees apart only where it is 170 times as wide as thick.
const AT_ONCE: f64 = 0.5;
const BESIDE: f64 = 0.1;
const NEAR: f64 = 0.035;
/// Views that say what is usual, at least.
const LEAST: usize = 9;
/// Transmissions below this are noise of the dark, for the ratio of views.
const FLOOR: f64 = 0.002;

/// What is wrong with each view; None where nothing is seen.
pub(super) fn judge(scale: &Scale, angles: &[f64], looks: &[Look]) -> Result<Vec<Option<ViewFault>>> {
    let kind = &scale.kind;
    let mut faults = filled(looks.len(), None)?;
    let largest = looks.iter().map(|look| look.largest).fold(f32::NEG_INFINITY, f32::max);
    let black = black_below(kind, looks)?;
    for (look, fault) in looks.iter().zip(&mut faults) {
        *fault = if 2 * look.not_finite > look.values + look.not_finite {
            Some(ViewFault::NotFinite)
        } else if look.is_saturated(largest) {
            Some(ViewFault::Saturated)
        } else if look.values >= scale.least && black.is_some_and(|limit| look.is_black(limit)) {
            Some(ViewFault::Black)
        } else {
            None
        };
    }
    freeze(angles, looks, &mut faults)?;
    doubt(kind, angles, looks, &mut faults)?;
    Ok(faults)
}

impl Look {
    fn is_saturated(&self, largest: f32) -> bool {
        self.largest == largest && is_full(largest) && 2 * self.at_largest > self.values
    }

    fn is_black(&self, limit: f64) -> bool {
        self.mean + ERRORS * self.error < limit
    }

    /// Sums over all values are the same to the bit, as they are where all values are.
    fn is_like(&self, other: &Self) -> bool {
        [self.mean, self.error, self.light] == [other.mean, other.error, other.light]
    }

    /// What changed since the view before is noise for a good part.
    fn is_noisy(&self) -> bool {
        let part = |n: usize, of: usize| n as f64 / of.max(1) as f64;
        part(self.changed, self.values) >= CHANGED && part(self.opposite, self.differences) >= OPPOSITE
    }
}

/// The mean transmission below which views are black; None where line integrals hide it, or no view has light.
fn black_below(kind: &Kind, looks: &[Look]) -> Result<Option<f64>> {
    let mut means = collected(looks.iter().filter(|look| look.values > 0).map(|look| look.mean))?;
    if *kind == Kind::LineIntegrals || means.is_empty() {
        return Ok(None);
    }
    let at = 9 * (means.len() - 1) / 10;
    let bright = *means.select_nth_unstable_by(at, f64::total_cmp).1;
    Ok((bright > BLACK).then_some(BLACK.min(bright / FAR_BELOW)))
}

/// Finds frames that are those before them, in a scan that has noise: most views differ from the one before as noise does, and so do those
/// on both sides of the frames that do not.
fn freeze(angles: &[f64], looks: &[Look], faults: &mut [Option<ViewFault>]) -> Result<()> {
    // What is no measurement, and what comes behind it, says nothing of noise.
    let measured = |k: usize| k > 0 && faults[k].is_none() && faults[k - 1].is_none();
    let telling = collected((1..looks.len()).filter(|&k| measured(k) && !looks[k].same))?;
    let noisy = telling.iter().filter(|k| looks[**k].is_noisy()).count();
    // Noise is certain where it alone has changed a third of all frames.
    if 2 * noisy <= telling.len() || 3 * noisy < looks.len() - 1 {
        return Ok(());
    }
    let mut frozen = Vec::new();
    let mut first = 0;
    for run in looks.chunk_by(|_, next| next.same) {
        let (last, next) = (first + run.len() - 1, first + run.len());
        // Views about an axis of symmetry come in pairs; those at one angle may well be one.
        let symmetric = first > 0 && next < looks.len() && looks[first - 1].is_like(&looks[next]);
        let moved = |k: &usize| (angles[*k] - angles[*k - 1]).rem_euclid(TAU) != 0.0;
        let at = telling.partition_point(|k| *k <= first);
        let mut beside = telling[at.saturating_sub(1)..].iter().take(if at == 0 { 1 } else { 2 });
        if !symmetric && beside.all(|k| looks[*k].is_noisy()) {
            for k in (first + 1..=last).filter(moved).filter(|k| faults[*k].is_none()) {
                append(&mut frozen, k)?;
            }
        }
        first = next;
    }
    frozen.into_iter().for_each(|k| faults[k] = Some(ViewFault::Frozen));
    Ok(())
}

/// Finds views that stray from those beside them all at once.
fn doubt(kind: &Kind, angles: &[f64], looks: &[Look], faults: &mut [Option<ViewFault>]) -> Result<()> {
    let left = collected((0..looks.len()).filter(|&k| faults[k].is_none() && looks[k].values > 0))?;
    if left.len() < LEAST {
        return Ok(());
    }
    let logarithm = |light: f64| if *kind == Kind::Light { light.max(FLOOR).ln() } else { light };
    let light = collected(left.iter().map(|k| logarithm(looks[*k].light)))?;
    let of_left = collected(left.iter().map(|k| angles[*k]))?;
    let Strays { order, usual, typical } = Strays::new(&of_left, &light)?;
    let limit = FACTOR.ln() + TYPICAL * typical;
    let stray = |at: usize| light[order[at]] - usual[order[at]];
    let n = order.len();
    let mut at = 0;
    while at < n {
        let side = stray(at).signum();
        let end = (at..n).find(|&k| side * stray(k) <= limit).unwrap_or(n);
        if end == at {
            at += 1;
            continue;
        }
        let most = (at..end).map(|k| side * stray(k)).fold(0.0, f64::max);
        let falls = |places: [usize; 3]| {
            let [inside, beside, beyond] = places.map(|k| order[k % n]);
            let near = |a: usize, b: usize| {
                let apart = (of_left[a] - of_left[b]).rem_euclid(TAU);
                apart.min(TAU - apart) <= NEAR
            };
            let fall = side * (light[inside] - light[beside]);
            let flat = (light[beside] - light[beyond]).abs() < BESIDE * fall;
            near(inside, beside) && near(beside, beyond) && fall > AT_ONCE * most && flat
        };
        if falls([at, at + n - 1, at + n - 2]) || falls([end - 1, end, end + 1]) {
            (at..end).for_each(|k| faults[left[order[k]]] = Some(ViewFault::Doubtful));
        }
        at = end;
    }
    Ok(())
}
