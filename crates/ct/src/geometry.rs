//! Scan and volume, checked; and the line of bins that a view's pixels fall on.

use isocenter_base::error::{Result, fail};
use std::f64::consts::PI;
use std::ops::{Range, RangeInclusive};

/// Order of the dimensions of projections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// (views, rows, bins).
    #[default]
    Frames,
    /// (rows, views, bins).
    Sinograms,
}

/// Scan and volume; the formula is at `isoc_ct_geometry`.
#[derive(Clone, Debug, PartialEq)]
pub struct Geometry {
    /// Layout of projections.
    pub order: Order,
    /// Angle of each view in radians.
    pub angles: Vec<f64>,
    /// Rotation axis as a fractional bin: one value, or one a view.
    pub axis: Vec<f64>,
    /// Bins in a detector row.
    pub bins: usize,
    /// Detector rows.
    pub rows: usize,
    /// Distance between bins.
    pub bin_pitch: f64,
    /// Side of a pixel, in the same unit.
    pub pixel_size: f64,
    /// Columns of a slice.
    pub nx: usize,
    /// Rows of a slice.
    pub ny: usize,
    /// The rotation axis passes through column (nx - 1) / 2 + x_offset.
    pub x_offset: f64,
    /// The same for rows.
    pub y_offset: f64,
    /// Detector row of slice 0.
    pub first_row: usize,
    /// Slices of the volume.
    pub slices: usize,
}

/// Largest ratio of pixel size to bin pitch, and of bin pitch to pixel size.
const MAX_RATIO: f64 = 1024.0;
/// Maximum number of views, bins, rows, columns, slices: no scanner comes near, and rows and lists of views stay small.
pub const MAX_SIDE: usize = 1 << 20;
/// Offsets and axes beyond this many pixels or bins are mistakes.
const MAX_SHIFT: f64 = 1e8;

/// Fractional bin that pixel (row i, column j) falls on in one view: `origin + j * dx + i * dy`.
#[derive(Clone, Copy, Debug)]
pub(super) struct PixelLine {
    pub(super) origin: f64,
    pub(super) dx: f64,
    pub(super) dy: f64,
}

/// Side and offset of a part of a slice's side, which has `side` pixels and this offset. Names are of a pixel and of the side.
pub fn crop(side: usize, offset: f64, part: Range<usize>, names: [&str; 2]) -> Result<(usize, f64)> {
    let (Range { start, end }, [pixel, name]) = (part, names);
    if start >= end || end > side {
        fail!(
            OutOfRange,
            "{pixel}_begin is {start} and {pixel}_end {end}; they must ascend, and end at {name} ({side}) at most"
        );
    }
    // The axis stays where it is: at (side - 1) / 2 + offset of the whole, `start` less in the part. All halves are exact.
    Ok((end - start, offset + (side as f64 - (start + end) as f64) / 2.0))
}

impl Geometry {
    /// One detector row in `bins` bins, pixels as large as bins, a `bins` x `bins` slice about the middle of the detector.
    pub fn new(angles: Vec<f64>, bins: usize) -> Self {
        Self {
            order: Order::Frames,
            angles,
            axis: vec![(bins as f64 - 1.0) / 2.0],
            bins,
            rows: 1,
            bin_pitch: 1.0,
            pixel_size: 1.0,
            nx: bins,
            ny: bins,
            x_offset: 0.0,
            y_offset: 0.0,
            first_row: 0,
            slices: 1,
        }
    }

    /// The same with `rows` detector rows, all of them reconstructed.
    pub fn with_rows(mut self, rows: usize) -> Self {
        self.rows = rows;
        self.slices = rows;
        self
    }

    /// Number of views.
    pub fn views(&self) -> usize {
        self.angles.len()
    }

    /// Shape of projections in this geometry's order.
    pub fn projection_shape(&self) -> [usize; 3] {
        match self.order {
            Order::Frames => [self.views(), self.rows, self.bins],
            Order::Sinograms => [self.rows, self.views(), self.bins],
        }
    }

    /// Shape of the volume.
    pub fn volume_shape(&self) -> [usize; 3] {
        [self.slices, self.ny, self.nx]
    }

    /// Detector rows of its slices.
    pub(super) fn used_rows(&self) -> Range<usize> {
        self.first_row..self.first_row + self.slices
    }

    /// Detector rows of some slices, and so many on either side as far as there are any.
    pub(super) fn rows_around(&self, slices: &Range<usize>, reach: usize) -> Range<usize> {
        let (start, end) = (self.first_row + slices.start, self.first_row + slices.end);
        start.saturating_sub(reach)..end.saturating_add(reach).min(self.rows)
    }

    /// Updates of one slice: a projection's contribution to a pixel each.
    pub(super) fn updates(&self) -> f64 {
        self.nx as f64 * self.ny as f64 * self.views() as f64
    }

    /// Pixel size over bin pitch.
    pub(super) fn ratio(&self) -> f64 {
        self.pixel_size / self.bin_pitch
    }

    /// Refuses what cannot be reconstructed, naming the field.
    pub(super) fn check(&self) -> Result<()> {
        let sides = [
            ("views", self.views()),
            ("bins", self.bins),
            ("rows", self.rows),
            ("nx", self.nx),
            ("ny", self.ny),
            ("slices", self.slices),
        ];
        for (name, n) in sides {
            if n == 0 || n > MAX_SIDE {
                fail!(OutOfRange, "geometry.{name} is {n}; it must be 1 to {MAX_SIDE}");
            }
        }
        if self.first_row.checked_add(self.slices).is_none_or(|end| end > self.rows) {
            let (first, slices, rows) = (self.first_row, self.slices, self.rows);
            fail!(OutOfRange, "geometry.first_row ({first}) + slices ({slices}) must be at most rows ({rows})");
        }
        for shape in [self.projection_shape(), self.volume_shape()] {
            let bytes = shape.iter().try_fold(4usize, |a, &n| a.checked_mul(n));
            if bytes.is_none_or(|b| b > isize::MAX as usize / 8) {
                fail!(SizeOverflow, "geometry: an array of shape {shape:?} does not fit the address space");
            }
        }
        if self.axis.len() != 1 && self.axis.len() != self.views() {
            fail!(OutOfRange, "geometry.axis has {} values; it must have 1 or {}", self.axis.len(), self.views());
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Result<()> {
        for (name, values) in [("angles", &self.angles), ("axis", &self.axis)] {
            if let Some((k, v)) = values.iter().enumerate().find(|(_, v)| !v.is_finite()) {
                fail!(NotFiniteParameter, "geometry.{name}[{k}] is {v}; it must be finite");
            }
        }
        let scalars = [
            ("bin_pitch", self.bin_pitch),
            ("pixel_size", self.pixel_size),
            ("x_offset", self.x_offset),
            ("y_offset", self.y_offset),
        ];
        if let Some((name, v)) = scalars.iter().find(|(_, v)| !v.is_finite()) {
            fail!(NotFiniteParameter, "geometry.{name} is {v}; it must be finite");
        }
        if let Some((k, v)) = self.angles.iter().enumerate().find(|(_, v)| v.abs() > 1e6) {
            fail!(OutOfRange, "geometry.angles[{k}] is {v}; it must be within 1e6 radians");
        }
        if let Some((k, v)) = self.axis.iter().enumerate().find(|(_, v)| v.abs() > MAX_SHIFT) {
            fail!(OutOfRange, "geometry.axis[{k}] is {v}; it must be within {MAX_SHIFT} bins");
        }
        for (name, v) in [("x_offset", self.x_offset), ("y_offset", self.y_offset)] {
            if v.abs() > MAX_SHIFT {
                fail!(OutOfRange, "geometry.{name} is {v}; it must be within {MAX_SHIFT} pixels");
            }
        }
        // Lengths far from 1 would take the f32 scale factors out of range.
        for (name, v) in [("bin_pitch", self.bin_pitch), ("pixel_size", self.pixel_size)] {
            if !(1e-15..=1e15).contains(&v) {
                fail!(OutOfRange, "geometry.{name} is {v}; it must be 1e-15 to 1e15 (in your length unit)");
            }
        }
        if !(1.0 / MAX_RATIO..=MAX_RATIO).contains(&self.ratio()) {
            let r = self.ratio();
            fail!(
                OutOfRange,
                "geometry.pixel_size / bin_pitch is {r}; it must be 1/{MAX_RATIO} to {MAX_RATIO}: are both in one unit?"
            );
        }
        Ok(())
    }

    pub(super) fn axis_of(&self, view: usize) -> f64 {
        if self.axis.len() == 1 { self.axis[0] } else { self.axis[view] }
    }

    /// Row and column that the rotation axis passes through.
    pub(super) fn centre(&self) -> (f64, f64) {
        ((self.ny as f64 - 1.0) / 2.0 + self.y_offset, (self.nx as f64 - 1.0) / 2.0 + self.x_offset)
    }

    /// The part of the directions (angles modulo pi) of which a pixel of the volume sees some view, mean over the volume: 1 where all
    /// pixels see all. Pixels and views are sampled.
    pub(super) fn directions_seen(&self) -> f64 {
        const PIXELS: usize = 16;
        const VIEWS: usize = 720;
        const SECTORS: usize = 36;
        let spread = |k: usize, count: usize, size: usize| (k as f64 + 0.5) / count as f64 * size as f64 - 0.5;
        // Pixels that a detector about the axis would see; all of them where there are none.
        let reach = self.bins as f64 / 2.0 / self.ratio();
        let within = |centre: f64, size: usize| {
            let (low, high) = ((centre - reach).max(0.0), (centre + reach).min(size as f64 - 1.0));
            if low > high { 0.0..=size as f64 - 1.0 } else { low..=high }
        };
        let (cy, cx) = self.centre();
        let part = |range: &RangeInclusive<f64>, k: usize, count: usize| {
            range.start() + (k as f64 + 0.5) / count as f64 * (range.end() - range.start())
        };
        let (across, along) = (within(cy, self.ny), within(cx, self.nx));
        let (rows, columns, views) = (self.ny.min(PIXELS), self.nx.min(PIXELS), self.views().min(VIEWS));
        let lines: Vec<(usize, PixelLine)> = (0..views)
            .map(|k| {
                let view = spread(k, views, self.views()).round() as usize;
                let turn = self.angles[view].rem_euclid(PI) / PI;
                (((turn * SECTORS as f64) as usize).min(SECTORS - 1), self.pixel_line(view))
            })
            .collect();
        let mut all = [false; SECTORS];
        lines.iter().for_each(|(sector, _)| all[*sector] = true);
        let mut seen = 0;
        for i in (0..rows).map(|k| part(&across, k, rows)) {
            for j in (0..columns).map(|k| part(&along, k, columns)) {
                let mut sectors = [false; SECTORS];
                for (sector, l) in &lines {
                    let h = l.origin + j * l.dx + i * l.dy;
                    sectors[*sector] |= h > -1.0 && h < self.bins as f64;
                }
                seen += sectors.iter().filter(|s| **s).count();
            }
        }
        let all = all.iter().filter(|s| **s).count();
        seen as f64 / (all * rows * columns) as f64
    }

    pub(super) fn pixel_line(&self, view: usize) -> PixelLine {
        let (sin, cos) = self.angles[view].sin_cos();
        let (cy, cx) = self.centre();
        let (dx, dy) = (self.ratio() * cos, -self.ratio() * sin);
        PixelLine { origin: self.axis_of(view) - cx * dx - cy * dy, dx, dy }
    }
}
