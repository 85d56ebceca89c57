//! Views read without the detector's distortion, on the processor: some at a time, which share the places of their pixels.

use super::{BLOCK, Distortion, Map};
use crate::geometry::Geometry;
use crate::slab::rows_of;
use isocenter_base::cpu::buffer::{filled, zeros};
use isocenter_base::cpu::level::Level;
use isocenter_base::cpu::simd::{Plain, vectorised};
use isocenter_base::error::Result;
use std::ops::Range;

/// Some views as they were measured, and where their pixels are read.
pub(crate) struct Warp<'a> {
    distortion: &'a Distortion,
    map: Map<'a>,
    /// Rows and bins of the detector.
    size: [usize; 2],
    /// Rows that are there.
    rows: Range<usize>,
    /// Of each view these rows and the last one again, each with its last bin again, so that any pixel has four corners.
    images: Vec<f32>,
    /// Of a row: a table of all rows would outgrow the caches.
    places: Places,
    level: Level,
}

/// Where the pixels of a row are read.
struct Places {
    /// Row of the image and bin of the corner above on the left.
    corners: Vec<[i32; 2]>,
    /// How far it lies from there.
    parts: Vec<[f32; 2]>,
}

/// Values of a view.
fn image(rows: usize, bins: usize) -> usize {
    (rows + 1) * (bins + 1)
}

impl<'a> Warp<'a> {
    /// What it takes for so many views and rows, in bytes.
    pub(crate) fn bytes(distortion: &Distortion, g: &Geometry, [views, rows]: [usize; 2]) -> u64 {
        let place = size_of::<[i32; 2]>() + size_of::<[f32; 2]>();
        (size_of::<f32>() * views * image(rows_of(g, rows, distortion.reach(g)), g.bins) + place * g.bins) as u64
    }

    /// For so many views, and some rows of the detector.
    pub(crate) fn new(
        distortion: &'a Distortion,
        g: &Geometry,
        (views, rows): (usize, Range<usize>),
        level: Level,
    ) -> Result<Self> {
        let rows = distortion.rows(g, &rows);
        let (size, map) = ([g.rows, g.bins], Map::new(distortion, [g.rows, g.bins]));
        let places = Places { corners: filled(g.bins, [0; 2])?, parts: filled(g.bins, [0.0; 2])? };
        let images = zeros(views * image(rows.len(), g.bins))?;
        Ok(Self { distortion, map, size, rows, images, places, level })
    }

    /// Takes the view at a place among those that it has room for, of which `measured` gives the rows that are needed.
    pub(crate) fn fill(
        &mut self,
        place: usize,
        mut measured: impl FnMut(usize, &mut [f32]) -> Result<()>,
    ) -> Result<()> {
        let (bins, rows, len) = (self.size[1], self.rows.clone(), self.len());
        let image = &mut self.images[place * len..][..len];
        for (row, line) in rows.zip(image.chunks_exact_mut(bins + 1)) {
            measured(row, &mut line[..bins])?;
            line[bins] = line[bins - 1];
        }
        image.copy_within(len - 2 * (bins + 1)..len - (bins + 1), len - (bins + 1));
        Ok(())
    }

    /// Values of a view.
    fn len(&self) -> usize {
        image(self.rows.len(), self.size[1])
    }

    /// Reads a row of these views, of which the first is at place 0, without the distortion, and gives it to `take` with its view's place;
    /// beyond the detector its outermost pixels are repeated.
    pub(crate) fn read(
        &mut self,
        row: usize,
        views: Range<usize>,
        values: &mut [f32],
        mut take: impl FnMut(usize, &mut [f32]),
    ) {
        for (place, view) in views.enumerate() {
            if place == 0 || !self.distortion.shifts.is_empty() {
                let Self { map, size, ref rows, level, .. } = *self;
                let at = (row, self.distortion.shift(view));
                vectorised(level, Placing { map, size, rows, at, places: &mut self.places });
            }
            let (pitch, len) = (self.size[1] + 1, self.len());
            let image = &self.images[place * len..][..len];
            for ((value, [line, bin]), [x, y]) in values.iter_mut().zip(&self.places.corners).zip(&self.places.parts) {
                let corners = &image[*line as usize * pitch + *bin as usize..];
                let (above, below) = ([corners[0], corners[1]], [corners[pitch], corners[pitch + 1]]);
                let [above, below] = [above, below].map(|[a, b]| a + x * (b - a));
                *value = above + y * (below - above);
            }
            take(place, values);
        }
    }
}

/// The places of a row.
struct Placing<'a> {
    map: Map<'a>,
    size: [usize; 2],
    /// Rows that are there.
    rows: &'a Range<usize>,
    /// Row and shift of the view.
    at: (usize, [f64; 2]),
    places: &'a mut Places,
}

impl Plain for Placing<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { map, size: [rows, bins], rows: there, at: (row, [x_shift, y_shift]), places } = self;
        let [last_row, last_bin] = [(rows - 1) as f64, (bins - 1) as f64];
        let [first_there, last_there] = [there.start as f64, (there.end - 1) as f64];
        let blocks = places.corners.chunks_mut(BLOCK).zip(places.parts.chunks_mut(BLOCK));
        for (block, (corners, parts)) in blocks.enumerate() {
            let (mut px, mut py) = ([0.0; BLOCK], [0.0; BLOCK]);
            map.places([(block * BLOCK) as f64 + x_shift, row as f64 + y_shift], &mut px, &mut py);
            for ((corner, parts), (px, py)) in corners.iter_mut().zip(parts).zip(px.iter().zip(&py)) {
                // What is no number is bin 0, row 0.
                let [x, y] = [px.max(0.0).min(last_bin), py.max(0.0).min(last_row)];
                let [left, above] = [x.floor(), y.floor()];
                // Of what is wanted all rows are there.
                let line = above.max(first_there).min(last_there) - first_there;
                // Whole numbers of at most 2^20, for which there are vector instructions.
                *corner = [line as i32, left as i32];
                *parts = [(x - left) as f32, (y - above) as f32];
            }
        }
    }
}
