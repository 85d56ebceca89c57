//! What is said of a scan on the command line, and lists in files that it names.

use super::{scratch, values};
use isocenter::array::DType;
use isocenter_program::frames::{Frames, Source};
use isocenter_program::scan::{Flats, Input, Pixel, Scan};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Frames of ones.
struct Ones([usize; 3]);

impl Source for Ones {
    fn shape(&self) -> [usize; 3] {
        self.0
    }

    fn dtype(&self) -> DType {
        DType::U8
    }

    fn read(&self, _: &[usize], _: Range<usize>, to: &mut [u8]) -> anyhow::Result<()> {
        to.fill(1);
        Ok(())
    }

    fn storage(&self) -> String {
        "ones".into()
    }
}

/// A scan of these frames, with flats before and after.
pub fn small(views: usize) -> Scan {
    let of = |frames| Frames::all(Arc::new(Ones([frames, 3, 8])));
    let flats = [0, views].map(|position| Flats { frames: of(1), position });
    let angles = (0..views).map(|k| k as f64 * std::f64::consts::PI / views as f64).collect();
    Scan {
        format: "memory",
        title: None,
        views: of(views),
        angles,
        flats: flats.into(),
        darks: Some(of(2)),
        pixel: Pixel::Untold,
        kind: None,
        notes: Vec::new(),
    }
}

/// A line each says which projections are used and which are left out, and which flats, what angles are, and how bright the full beam is; what follows is the
/// text of a file of angles, which is taken where there is no line of them.
pub fn taken(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.splitn(6, '\n');
    let mut line = || lines.next().filter(|line| !line.is_empty()).map(str::to_string);
    let [views, skip, skip_flats, angles, beam] = std::array::from_fn(|_| line());
    let file = line().unwrap_or_default();
    scratch::with(|folder| {
        let path = folder.join("angles.txt");
        // A name is no option's text here: there may be anything in the folder in which this runs.
        let angles = angles.filter(|text| text.contains("..")).unwrap_or_else(|| {
            std::fs::write(&path, file).expect("a file");
            path.display().to_string()
        });
        let full_beam = beam.and_then(|text| text.parse().ok());
        let input = Input { views, skip, skip_flats, angles: Some(angles), full_beam, ..Input::default() };
        let _ = (input.is_empty(), input.each_angle());
        let mut scan = small(12);
        // Errors are in order, others are not.
        if scan.take(&input, Path::new("scan")).is_ok() {
            assert!(scan.views.which.len() == scan.angles.len() && scan.turn().is_finite());
            values(&scan.views);
        }
    });
}
