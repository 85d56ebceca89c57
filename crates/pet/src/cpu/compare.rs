//! Measured counts against expected ones: from caller's rows along x to columns along z.

use super::columns::{Columns, Layout as Place};
use crate::engine::{MIN_EXPECTED, Ratio, Tally};
use crate::histos::Histos;
use crate::values::replace_below;
use isocenter_base::array::Array;
use isocenter_base::cpu::buffer::{filled, zeros};
use isocenter_base::cpu::elementary::ln_single;
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::error::Result;

/// projection = ratio of measured and expected, `expected = factors * projection + additive`; quotients are `most` at most.
pub(super) fn compare(
    level: Level,
    histos: &Histos,
    view: usize,
    (of, max_quotient): (Ratio, f32),
    projection: &mut Columns,
) -> Result<Tally> {
    let place = projection.layout();
    let [_, ny, nx] = place.shape;
    let columns = Shared::new(projection.data_mut());
    let room = || -> Result<(Rows, Vec<f32>)> {
        let rows = Rows {
            measured: zeros(nx)?,
            factors: filled(nx, 1.0)?,
            additive: zeros(nx)?,
            expected: zeros(nx)?,
            terms: zeros(nx.next_multiple_of(LANES))?,
        };
        Ok((rows, zeros(place.shape[0] * nx)?))
    };
    let mut tallies = filled(ny, Tally::default())?;
    tallies.par_iter_mut().enumerate().try_for_each_init(room, |room, (y, tally)| {
        let (rows, plane) = room.as_mut().map_err(|e| e.clone())?;
        dispatch(level, Plane { histos, place, at: [view, y], of, max_quotient, columns, rows, plane, tally });
        Ok(())
    })?;
    // In the order of the rows, whatever the threads.
    Ok(tallies.into_iter().fold(Tally::default(), |a, b| Tally {
        log_likelihood: a.log_likelihood + b.log_likelihood,
        skipped: a.skipped + b.skipped,
    }))
}

/// image = factors of a view, as columns.
pub(super) fn load(from: &Array<4>, view: usize, to: &mut Columns) -> Result<()> {
    to.set_rows(|z, y, row| {
        from.read_row([view, z, y, 0], row);
        replace_below(row);
    })
}

/// Sums that are taken side by side.
const LANES: usize = 8;

/// Of one y and z.
struct Rows {
    measured: Vec<f32>,
    factors: Vec<f32>,
    additive: Vec<f32>,
    expected: Vec<f32>,
    /// Of the likelihood; zeros behind the last.
    terms: Vec<f32>,
}

/// All columns of one y.
struct Plane<'a> {
    histos: &'a Histos<'a>,
    place: Place,
    /// View and y.
    at: [usize; 2],
    of: Ratio,
    max_quotient: f32,
    columns: Shared<'a, f32>,
    rows: &'a mut Rows,
    /// `[z][x]`
    plane: &'a mut [f32],
    tally: &'a mut Tally,
}

impl Kernel<f32> for Plane<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Self { histos, place, at: [view, y], of, max_quotient, columns, rows, plane, tally } = self;
        let [_, _, nx] = place.shape;
        // SAFETY: columns of this y are this task's own.
        unsafe { place.get_rows(columns.at(place.start(0, y)), plane) };
        for (z, projection) in plane.chunks_exact_mut(nx).enumerate() {
            let arrays = [
                (Some(&histos.measured), &mut rows.measured),
                (histos.factors.as_ref(), &mut rows.factors),
                (histos.additive.as_ref(), &mut rows.additive),
            ];
            for (from, row) in arrays {
                if let Some(from) = from {
                    from.read_row([view, z, y, 0], row);
                    replace_below(row);
                }
            }
            tally.skipped += match of {
                Ratio::Quotient => rows.ratio::<false>(max_quotient, projection),
                Ratio::Discrepancy => rows.ratio::<true>(max_quotient, projection),
            };
            tally.log_likelihood += rows.log_likelihood();
        }
        // SAFETY: as above.
        unsafe { place.put_rows(y, plane, &columns) };
    }
}

// Loops over rows do one thing each, without branches: compilers make vectors of them.
impl Rows {
    /// projection = ratio; gives the number of skipped voxels.
    #[inline(always)]
    fn ratio<const DISCREPANCY: bool>(&mut self, max_quotient: f32, projection: &mut [f32]) -> u64 {
        let mut skipped = 0u32;
        let rows = self.measured.iter().zip(&self.factors).zip(&self.additive).zip(&mut self.expected);
        for ((((d, a), b), e), p) in rows.zip(projection) {
            let sum = a * if *p > 0.0 { *p } else { 0.0 } + b;
            *e = if sum > MIN_EXPECTED { sum } else { 0.0 };
            let (minus, of_none) = if DISCREPANCY { (*a, if *d > 0.0 { 0.0 } else { -a }) } else { (0.0, 0.0) };
            // What leaves single precision is nothing where factors are 0.
            let quotient = a * (d / *e).min(f32::MAX);
            let quotient = if quotient < max_quotient { quotient } else { max_quotient };
            *p = if *e <= 0.0 { of_none } else { quotient - minus };
            skipped += u32::from((*e <= 0.0) & (*d > 0.0));
        }
        skipped.into()
    }

    /// Sum of d ln e - e where e is above 0.
    #[inline(always)]
    fn log_likelihood(&mut self) -> f64 {
        for ((t, d), e) in self.terms.iter_mut().zip(&self.measured).zip(&self.expected) {
            let above = *e > 0.0;
            *t = d * ln_single(if above { *e } else { 1.0 }) - if above { *e } else { 0.0 };
        }
        let mut sums = [0.0; LANES];
        for terms in self.terms.chunks_exact(LANES) {
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += f64::from(*term));
        }
        sums.iter().sum()
    }
}
