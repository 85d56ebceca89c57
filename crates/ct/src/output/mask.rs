//! The circle inside which pixels count.

use crate::geometry::Geometry;
use isocenter_base::cpu::buffer::collected;
use isocenter_base::error::{Result, fail};
use std::ops::Range;

/// Columns of each row of a slice that are inside; all of them without a circle.
pub(crate) struct Mask {
    /// First column and the one after the last, for each row; none where everything is inside.
    spans: Vec<[u32; 2]>,
    columns: usize,
}

impl Mask {
    /// Pixel (i, j) is inside where (j - (nx - 1) / 2)^2 + (i - (ny - 1) / 2)^2 is at most the square of `radius` min(nx, ny) / 2;
    /// with a radius of 0 all are. `name` is that of the radius.
    pub(crate) fn new(g: &Geometry, radius: f64, name: &str) -> Result<Self> {
        let columns = g.nx;
        if radius == 0.0 {
            return Ok(Self { spans: Vec::new(), columns });
        }
        let (cx, cy) = ((g.nx as f64 - 1.0) / 2.0, (g.ny as f64 - 1.0) / 2.0);
        let pixels = radius * g.nx.min(g.ny) as f64 / 2.0;
        let spans = collected((0..g.ny).map(|i| {
            let y = i as f64 - cy;
            let square = pixels * pixels - y * y;
            if square < 0.0 {
                return [0, 0];
            }
            let half = square.sqrt();
            let (first, last) = ((cx - half).ceil().max(0.0), (cx + half).floor().min(g.nx as f64 - 1.0));
            if first <= last { [first as u32, last as u32 + 1] } else { [0, 0] }
        }))?;
        if spans.iter().all(|[first, end]| first == end) {
            fail!(OutOfRange, "{name} is {radius:?}, {pixels:.3} pixels of this slice: no pixel is inside");
        }
        Ok(Self { spans, columns })
    }

    /// Columns of a row that are inside.
    #[inline]
    pub(crate) fn inside(&self, row: usize) -> Range<usize> {
        self.spans.get(row).map_or(0..self.columns, |[first, end]| *first as usize..*end as usize)
    }

    /// The table of all rows, as a GPU takes it; empty where everything is inside.
    pub(crate) fn spans(&self) -> &[[u32; 2]] {
        &self.spans
    }
}
