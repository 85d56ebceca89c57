//! What transforms between images and points on lines take on a GPU, known before anything is there.

use super::line_choice::LineChoice;
use super::line_images::MAX_IMAGES;
use super::line_lists::{LineLists, MAX_POINTS};
use crate::Settings;
use crate::straight::StraightLines;
use isocenter_base::error::Result;

/// A block spreads 64 images, which cost as much where there are fewer: on an H200 both ways are faster than by sorted points from so many
/// on (256^2 to 1024^2 pixels), and one of them slower below.
const MIN_IMAGES: usize = 48;

/// Sizes of all that the transforms work on.
#[derive(Debug)]
pub struct LineSizes {
    /// Pixels along y, x.
    pub(super) shape: [usize; 2],
    pub(super) samples: usize,
    pub(super) choice: LineChoice,
    pub(super) lists: LineLists,
}

impl LineSizes {
    /// For images in f32 and points along x, y, z in cycles per pixel; None where these are on no lines, and where sorted points serve so few
    /// images. Points are asked for unless images alone tell that.
    pub fn new<'p>(
        settings: &Settings,
        points: impl FnOnce() -> Result<[&'p [f64]; 3]>,
        images: usize,
    ) -> Result<Option<Self>> {
        let Settings { shape: [nz, ny, nx], tolerance, samples, .. } = *settings;
        if images < MIN_IMAGES || nz > 1 {
            return Ok(None);
        }
        let Some(StraightLines { course, steps }) = StraightLines::find(points()?, settings.shape, tolerance)? else {
            return Ok(None);
        };
        if course.points > MAX_POINTS {
            return Ok(None);
        }
        let shape = [ny, nx];
        let choice = LineChoice::new(shape, samples as u64, tolerance)?;
        let lists = LineLists::new(&steps, course, &choice)?;
        Ok(Some(Self { shape, samples, choice, lists }))
    }

    /// Bytes of what is kept, but for small tables.
    pub fn held_bytes(&self) -> u64 {
        self.lists.bytes()
    }

    /// Of an image.
    pub fn pixels(&self) -> usize {
        self.shape.iter().product()
    }

    /// Images that stand side by side where there are so many, or a part of more.
    pub(super) fn pitch(images: usize) -> usize {
        images.min(MAX_IMAGES).next_multiple_of(2)
    }

    /// Bytes of points' values (or of the transform half done, or of images), and of the grid.
    pub(super) fn parts(&self, images: usize) -> [u64; 2] {
        let ([gy, gx], ny) = (self.choice.grid, self.shape[0]);
        [self.samples.max(ny.saturating_mul(gx)), gy.saturating_mul(gx)]
            .map(|n| (n as u64).saturating_mul(8 * Self::pitch(images) as u64))
    }

    /// Bytes of a workspace for so many images, or a part of more at a time.
    pub fn workspace_bytes(&self, images: usize) -> u64 {
        let [values, grid] = self.parts(images);
        values.saturating_add(grid).saturating_add(self.lists.part_bytes(Self::pitch(images)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use isocenter_base::cpu::level::Level;

    fn sizes(images: usize, bad: f64) -> Option<LineSizes> {
        let (spokes, readout) = (60, 64);
        let at = |k: usize| {
            let (sin, cos) = (2.4 * (k / readout) as f64).sin_cos();
            let r = (k % readout) as f64 / readout as f64 - 0.5;
            [r * cos, r * sin]
        };
        let [mut x, y] = [0, 1].map(|a| (0..spokes * readout).map(|k| at(k)[a]).collect::<Vec<_>>());
        x[77] += bad;
        let settings = Settings { level: Level::BASELINE, ..Settings::new([1, 64, 64], 1e-5, x.len()) };
        LineSizes::new(&settings, || Ok([&x, &y, &[]]), images).expect("memory")
    }

    /// Many images on lines; not few, and not other points.
    #[test]
    fn many_images_on_lines_are_taken() {
        assert!(sizes(47, 0.0).is_none());
        for images in [48, 64, 70] {
            let lines = sizes(images, 0.0).unwrap_or_else(|| panic!("{images}"));
            assert!(sizes(images, 1e-5).is_none());
            // Never more than those that are side by side.
            assert_eq!(lines.workspace_bytes(70), lines.workspace_bytes(64));
            assert_eq!(lines.workspace_bytes(2), lines.workspace_bytes(1));
            assert!(lines.workspace_bytes(4) > lines.workspace_bytes(2));
        }
    }
}
