//! The view at the smallest angle to a direction, among few candidates.

use super::view::View;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::cpu::elementary::whole;
use isocenter_base::error::Result;
use std::f64::consts::{FRAC_PI_2, PI};

/// Cells of azimuth (0 to pi) and tilt, each with the views that are nearest somewhere in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Search {
    directions: Vec<[f64; 3]>,
    max_tilt: f64,
    /// Along azimuth and tilt.
    cells: [usize; 2],
    /// Where the candidates of each cell begin.
    starts: Vec<u32>,
    candidates: Vec<u32>,
}

/// See [`Search`].
pub(super) struct SearchParts<'a> {
    pub(super) cells: [usize; 2],
    pub(super) starts: &'a [u32],
    pub(super) candidates: &'a [u32],
    pub(super) directions: &'a [[f64; 3]],
}

/// Cells a view, so that most cells have one candidate.
const CELLS_A_VIEW: usize = 32;
const MAX_CELLS: usize = 1 << 19;

impl Search {
    pub(super) fn new(views: &[View], max_tilt: f64) -> Result<Self> {
        let directions: Vec<[f64; 3]> = views.iter().map(|v| v.axes()[0]).collect();
        // About as long as wide.
        let along = (PI / (2.0 * max_tilt)).ceil().min(1024.0) as usize;
        let all = (0..views.len() as u32).collect();
        let mut this =
            Self { directions, max_tilt, cells: [1, 1], starts: vec![0, views.len() as u32], candidates: all };
        this = this.refined([along, 1])?;
        while this.cells[0] * this.cells[1] < (CELLS_A_VIEW * views.len()).min(MAX_CELLS) {
            this = this.refined([2, 2])?;
        }
        Ok(this)
    }

    /// Each cell divided; candidates are looked for among those of the whole cell.
    fn refined(self, parts: [usize; 2]) -> Result<Self> {
        let cells = [self.cells[0] * parts[0], self.cells[1] * parts[1]];
        let size = [PI / cells[0] as f64, 2.0 * self.max_tilt / cells[1] as f64];
        // From the middle of a cell to its farthest point, and some rounding of the arc's cosine.
        let reach = 0.5 * size[0].hypot(size[1]) + 1e-7;
        let mut starts = zeros::<u32>(cells[0] * cells[1] + 1)?;
        let mut candidates = Vec::new();
        for k in 0..cells[0] * cells[1] {
            let (a, t) = (k / cells[1], k % cells[1]);
            let view = View { azimuth: (a as f64 + 0.5) * size[0], tilt: (t as f64 + 0.5) * size[1] - self.max_tilt };
            let middle = view.axes()[0];
            let before = self.candidates([a / parts[0], t / parts[1]]);
            let cosine = |v: &u32| dot(&middle, &self.directions[*v as usize]).abs();
            let nearest = before.iter().map(cosine).fold(0.0, f64::max);
            let lowest = (nearest.min(1.0).acos() + 2.0 * reach).min(FRAC_PI_2).cos();
            candidates.extend(before.iter().filter(|v| cosine(v) >= lowest));
            starts[k + 1] = candidates.len() as u32;
        }
        Ok(Self { cells, starts, candidates, ..self })
    }

    /// For those who search elsewhere.
    pub(super) fn parts(&self) -> SearchParts<'_> {
        let Self { directions, cells, starts, candidates, .. } = self;
        SearchParts { cells: *cells, starts, candidates, directions }
    }

    fn candidates(&self, [a, t]: [usize; 2]) -> &[u32] {
        let k = a * self.cells[1] + t;
        &self.candidates[self.starts[k] as usize..self.starts[k + 1] as usize]
    }

    /// Of a direction of any length whose angles these are.
    #[inline(always)]
    pub(super) fn find(&self, direction: [f64; 3], [azimuth, tilt]: [f64; 2]) -> i32 {
        let cell = |part: f64, cells: usize| whole(part * cells as f64, (cells - 1) as f64) as usize;
        let a = cell(azimuth * (1.0 / PI), self.cells[0]);
        let t = cell(0.5 * (tilt / self.max_tilt + 1.0), self.cells[1]);
        let candidates = self.candidates([a, t]);
        if let [only] = candidates {
            return *only as i32;
        }
        let mut best = (-1.0, 0);
        for v in candidates {
            let cosine = dot(&direction, &self.directions[*v as usize]).abs();
            if cosine > best.0 {
                best = (cosine, *v as i32);
            }
        }
        best.1
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
