//! From raw counts to line integrals: -ln((raw - dark) / (flat - dark)).

use crate::array::Array;
use crate::context::NanPolicy;
use crate::cpu::buffer::zeros;
use crate::error::{Result, fail};
use wide::f32x8;

/// Averaged flat and dark frames of the whole detector.
#[derive(Debug)]
pub(in crate::ct) struct FlatField {
    bins: usize,
    dark: Vec<f32>,
    /// 1 / (flat - dark); 0 marks a pixel that cannot be corrected.
    gain: Vec<f32>,
}

impl FlatField {
    /// Averages the frames; `rows` are the detector rows that will be used, and so must be correctable.
    pub(in crate::ct) fn new(
        flats: Array,
        darks: Option<Array>,
        rows: std::ops::Range<usize>,
        policy: NanPolicy,
    ) -> Result<Self> {
        let bins = flats.shape()[2];
        let flat = average(flats)?;
        let dark = darks.map_or_else(|| zeros(flat.len()), average)?;
        let mut gain = zeros::<f32>(flat.len())?;
        for (k, (f, d)) in flat.iter().zip(&dark).enumerate() {
            let usable = f.is_finite() && d.is_finite() && f > d;
            if !usable && policy == NanPolicy::Error && rows.contains(&(k / bins)) {
                let (row, bin) = (k / bins, k % bins);
                if !f.is_finite() || !d.is_finite() {
                    fail!(
                        NotFiniteData,
                        "flats[{row}, {bin}] and darks are {f} and {d} on average; they must be finite"
                    );
                }
                fail!(
                    FlatField,
                    "flats[{row}, {bin}] is {f} on average; it must be above darks, {d} there (or set the NaN policy to replace: such pixels are then 0)"
                );
            }
            gain[k] = if usable { (1.0 / (f - d)) as f32 } else { 0.0 };
        }
        let mut offset = zeros(dark.len())?;
        for (offset, d) in offset.iter_mut().zip(dark) {
            *offset = if d.is_finite() { d as f32 } else { 0.0 };
        }
        Ok(Self { bins, dark: offset, gain })
    }

    /// Whether it is of a detector of so many rows and bins.
    pub(in crate::ct) fn fits(&self, rows: usize, bins: usize) -> bool {
        self.bins == bins && self.gain.len() == rows * bins
    }

    /// Refuses rows that are to be used and cannot be corrected.
    pub(in crate::ct) fn check_rows(&self, rows: std::ops::Range<usize>) -> Result<()> {
        let first = rows.start * self.bins;
        match self.gain[first..rows.end * self.bins].iter().position(|g| *g == 0.0) {
            Some(k) => {
                let (row, bin) = ((first + k) / self.bins, (first + k) % self.bins);
                fail!(
                    FlatField,
                    "flats[{row}, {bin}] of the plan's flat field is not above darks there, and the geometry now uses that row; give others, or forget the flat field first"
                );
            }
            None => Ok(()),
        }
    }

    /// Dark and gain of some rows, row after row.
    pub(in crate::ct) fn rows(&self, rows: std::ops::Range<usize>) -> (&[f32], &[f32]) {
        let at = rows.start * self.bins..rows.end * self.bins;
        (&self.dark[at.clone()], &self.gain[at])
    }

    /// Whether a pixel can be corrected.
    pub(in crate::ct) fn usable(&self, row: usize, bin: usize) -> bool {
        self.gain[row * self.bins + bin] != 0.0
    }

    /// Corrects one detector row in place, no transmission below `minimum`; gives the number of pixels that cannot be corrected and
    /// became 0.
    pub(in crate::ct) fn correct(&self, row: usize, minimum: f32, values: &mut [f32]) -> usize {
        let at = row * self.bins..(row + 1) * self.bins;
        let (dark, gain) = (&self.dark[at.clone()], &self.gain[at]);
        let minimum = f32x8::splat(minimum);
        let mut unusable = 0;
        for ((v, d), g) in values.chunks_mut(8).zip(dark.chunks(8)).zip(gain.chunks(8)) {
            let n = v.len();
            let lanes = |s: &[f32]| {
                let mut a = [0.0; 8];
                a[..n].copy_from_slice(s);
                f32x8::new(a)
            };
            let integral = -((lanes(v) - lanes(d)) * lanes(g)).max(minimum).ln();
            v.copy_from_slice(&integral.to_array()[..n]);
            for (v, g) in v.iter_mut().zip(g) {
                if *g == 0.0 {
                    *v = 0.0;
                    unusable += 1;
                }
            }
        }
        unusable
    }
}

/// Mean over frames, in f64.
fn average(frames: Array) -> Result<Vec<f64>> {
    let [n, rows, bins] = frames.shape();
    let mut sum: Vec<f64> = zeros(rows * bins)?;
    let mut row: Vec<f32> = zeros(bins)?;
    for frame in 0..n {
        for r in 0..rows {
            frames.read_row([frame, r, 0], &mut row);
            for (s, v) in sum[r * bins..(r + 1) * bins].iter_mut().zip(&row) {
                *s += f64::from(*v);
            }
        }
    }
    sum.iter_mut().for_each(|s| *s /= n as f64);
    Ok(sum)
}
