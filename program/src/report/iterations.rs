//! How far iterations came.

use super::plot::{self, Axis, Data, Plot};
use super::rounded;
use anyhow::Result;
use isocenter::ct::Iterated;
use std::fmt::Write;

/// What the iterations of a run found.
pub struct Iterations {
    /// Summed over slices; none where nothing iterated.
    pub found: Vec<Iterated>,
    /// Slices that it made, of so many.
    pub slices: usize,
    pub of: usize,
}

impl Iterations {
    /// The objective over iterations: as powers of ten, where it falls that far.
    pub(super) fn figure(&self, page: &mut String) -> Result<()> {
        let Some(last) = self.found.last() else { return Ok(()) };
        let mut points: Vec<_> = self.found.iter().map(|found| [found.iteration as f64, found.objective]).collect();
        let positive = points.iter().all(|[_, objective]| *objective > 0.0);
        if positive {
            points.iter_mut().for_each(|[_, objective]| *objective = objective.log10());
        }
        let label = if positive { "log10 of the objective" } else { "objective" };
        let plot = Plot {
            data: Data::Curve(&points),
            x: Axis { label: "iteration", range: plot::range(points.iter().map(|p| p[0])) },
            y: Axis { label, range: plot::range(points.iter().map(|p| p[1])) },
            marked: &[],
            bar: None,
        };
        let Iterated { iteration, objective, gap, .. } = last;
        let mut caption = format!(
            "what the iterations make smaller, summed over slices: {} at iteration {iteration}",
            rounded(*objective)
        );
        if gap.is_finite() {
            let part = gap / objective.abs().max(f64::MIN_POSITIVE);
            write!(caption, ", at most {} % above the minimum", rounded(100.0 * part.max(0.0)))?;
        }
        if self.slices < self.of {
            write!(caption, "; of {} of {} slices, others were made by other runs", self.slices, self.of)?;
        }
        writeln!(page, "<figure>{}<figcaption>{caption}</figcaption></figure>", plot.html()?)?;
        Ok(())
    }
}
