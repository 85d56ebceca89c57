//! What the report shows of a volume: numbers as they are stored, as attenuation, along three planes.

use crate::report::{Image, Section};
use crate::volume::{Through, Volume};
use anyhow::Result;
use isocenter::array::DType;

/// How numbers of a volume are stored.
pub struct Stored {
    dtype: DType,
    /// Slope and offset.
    pub scale: [f64; 2],
}

impl Stored {
    /// Integers over a window, or values as they are.
    pub fn new(window: &Option<Vec<f64>>, dtype: DType) -> Self {
        let scale = match (window.as_deref(), dtype) {
            (Some(&[low, high]), DType::U8) => [(high - low) / f64::from(u8::MAX), low],
            (Some(&[low, high]), DType::U16) => [(high - low) / f64::from(u16::MAX), low],
            _ => [1.0, 0.0],
        };
        Self { dtype, scale }
    }

    fn values(&self, bytes: &[u8]) -> Vec<f32> {
        let [slope, offset] = self.scale;
        let scaled = |v: f32| (f64::from(v) * slope + offset) as f32;
        match self.dtype {
            DType::U8 => bytes.iter().map(|v| scaled(f32::from(*v))).collect(),
            DType::U16 => bytes.as_chunks().0.iter().map(|v| scaled(f32::from(u16::from_ne_bytes(*v)))).collect(),
            _ => bytes.as_chunks().0.iter().map(|v| scaled(f32::from_ne_bytes(*v))).collect(),
        }
    }
}

/// A volume that is there, and places of its first voxel: detector row, line and column of whole slices.
pub struct Sections<'a> {
    pub stored: &'a Stored,
    pub shape: [usize; 3],
    pub first: [usize; 3],
}

impl Sections<'_> {
    /// The middle slice, and, of several, what lies across in the middle.
    pub fn of(&self, volume: &dyn Volume, through: &Through) -> Result<Vec<Section>> {
        let ([slices, lines, columns], [row, line, column]) = (self.shape, self.first);
        let middle = slices / 2;
        let mut bytes = vec![0; lines * columns * self.stored.dtype.size()];
        volume.read(middle, &mut bytes)?;
        let values = self.stored.values(&bytes);
        let caption = format!("slice of row {}", row + middle);
        let mut sections = vec![Section { image: Image { values, columns, caption }, directions: [2, 1] }];
        if slices > 1 {
            let told = |what: &str, at: usize| format!("{what} {at} of rows {row} to {}", row + slices - 1);
            let across = self.across(&through.line, through, columns, told("line", line + lines / 2));
            let along = self.across(&through.column, through, lines, told("column", column + columns / 2));
            sections.push(Section { image: across, directions: [2, 0] });
            sections.push(Section { image: along, directions: [1, 0] });
        }
        Ok(sections)
    }

    fn across(&self, bytes: &[u8], through: &Through, columns: usize, mut caption: String) -> Image {
        let mut values = self.stored.values(bytes);
        let missing = values.chunks_exact_mut(columns).zip(&through.there).filter(|(_, there)| !**there);
        let missing = missing.map(|(values, _)| values.fill(f32::NAN)).count();
        if missing > 0 {
            caption += &format!("; {missing} slices, of a run before, are missing here, not in the volume");
        }
        Image { values, columns, caption }
    }
}
