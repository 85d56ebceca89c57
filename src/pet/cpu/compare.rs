//! Measured counts against expected ones: from caller's rows along x to columns along z.

use super::columns::{Columns, Layout as Place};
use crate::cpu::level::Level;
use crate::cpu::shared::Shared;
use crate::cpu::vector::{Kernel, Vector, dispatch};
use crate::pet::array::{read_row, replace};
use crate::pet::engine::{Histos, Ratio, Tally};
use crate::tensor::{Counts, Layout};
use rayon::prelude::*;

/// projection = ratio of measured and expected, `expected = factors * projection + additive`; nothing below `floor` is expected of a
/// projection.
///
/// # Safety
/// The arrays are readable.
pub(super) unsafe fn compare(
    level: Level,
    histos: &Histos,
    view: usize,
    (of, floor): (Ratio, f32),
    projection: &mut Columns,
) -> Tally {
    let place = projection.layout();
    let [nz, ny, nx] = place.shape;
    let columns = Shared::new(projection.data_mut());
    let row = |y: usize| {
        let mut rows = [vec![0.0f32; nz * nx], vec![], vec![]];
        let optional = [histos.factors, histos.additive];
        // SAFETY: by this function's contract.
        unsafe {
            fill(&histos.measured, [view, y], &mut rows[0]);
            for (rows, from) in rows[1..].iter_mut().zip(&optional) {
                if let Some(from) = from {
                    rows.resize(nz * nx, 0.0);
                    fill(from, [view, y], rows);
                }
            }
        }
        let mut tally = Tally::default();
        dispatch(level, Row { rows: &rows, place, y, of, floor, columns, tally: &mut tally });
        tally
    };
    // In the order of the rows, whatever the threads.
    let tallies: Vec<Tally> = (0..ny).into_par_iter().map(row).collect();
    tallies.into_iter().fold(Tally::default(), |a, b| Tally {
        log_likelihood: a.log_likelihood + b.log_likelihood,
        skipped: a.skipped + b.skipped,
    })
}

/// `[z][x]` of a view and y.
///
/// # Safety
/// The array is readable.
unsafe fn fill(from: &Layout<Counts, 4>, [view, y]: [usize; 2], rows: &mut [f32]) {
    let [_, nz, _, nx] = from.shape;
    for (z, row) in rows.chunks_exact_mut(nx).enumerate().take(nz) {
        // SAFETY: by this function's contract.
        unsafe { read_row(from, [view, z, y, 0], row) };
        replace(row);
    }
}

/// image = factors of a view, as columns.
///
/// # Safety
/// The array is readable.
pub(super) unsafe fn load(from: &Layout<Counts, 4>, view: usize, to: &mut Columns) {
    let place = to.layout();
    let [nz, ny, nx] = place.shape;
    let columns = Shared::new(to.data_mut());
    (0..ny).into_par_iter().for_each(|y| {
        let mut rows = vec![0.0f32; nz * nx];
        // SAFETY: by this function's contract; columns of this y are this task's own.
        unsafe {
            fill(from, [view, y], &mut rows);
            for x in 0..nx {
                let column = columns.at(place.start(x, y));
                for z in 0..nz {
                    *column.add(z) = rows[z * nx + x];
                }
            }
        }
    });
}

/// All columns of one y.
struct Row<'a> {
    /// Measured, factors, additive: `[z][x]`, empty for none.
    rows: &'a [Vec<f32>; 3],
    place: Place,
    y: usize,
    of: Ratio,
    floor: f32,
    columns: Shared<'a, f32>,
    tally: &'a mut Tally,
}

impl Kernel<f32> for Row<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let [nz, _, nx] = self.place.shape;
        let [measured, factors, additive] = self.rows;
        let mut sums = (0.0f64, 0u64);
        for x in 0..nx {
            let column = self.columns.at(self.place.start(x, self.y));
            for z in 0..nz {
                let at = z * nx + x;
                // SAFETY: the column has nz voxels, this task's own.
                let p = unsafe { column.add(z) };
                let d = measured[at];
                let a = if factors.is_empty() { 1.0 } else { factors[at] };
                let b = if additive.is_empty() { 0.0 } else { additive[at] };
                // SAFETY: as above.
                let expected = unsafe { *p };
                let e = a * if expected > self.floor { expected } else { 0.0 } + b;
                let ratio = match self.of {
                    _ if e <= 0.0 && d > 0.0 => {
                        sums.1 += 1;
                        0.0
                    }
                    Ratio::Quotient if e <= 0.0 => 0.0,
                    Ratio::Discrepancy if e <= 0.0 => -a,
                    Ratio::Quotient => a * (d / e),
                    Ratio::Discrepancy => a * (d / e - 1.0),
                };
                if e > 0.0 {
                    sums.0 += if d > 0.0 { f64::from(d) * f64::from(e).ln() } else { 0.0 } - f64::from(e);
                }
                // SAFETY: as above.
                unsafe { *p = ratio };
            }
        }
        self.tally.log_likelihood += sums.0;
        self.tally.skipped += sums.1;
    }
}
