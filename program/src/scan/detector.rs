//! What is done to frames before all else: where rows lie, which bins are used, and means of pixels.

use super::Scan;
use crate::frames::{Binned, Frames, Part, Source, Transposed};
use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What comes in the opposite order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Flip {
    /// Left and right are exchanged, as in a mirror
    Bins,
    /// Up and down
    Rows,
    /// Both: half a turn
    Both,
}

/// In the order in which it is done.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Detector {
    /// The rotation axis is along the rows of frames: rows and bins are exchanged before all else
    #[arg(long)]
    pub transpose: bool,
    /// Bins to use: the first and the one behind the last, as in 100..1900, counted before --bin and --flip
    #[arg(long, value_name = "FIRST..END", value_parser = range)]
    pub crop_bins: Option<[usize; 2]>,
    /// Means of so many by so many detector pixels, 2 to 16, of projections, flats and darks; --axis, --rows and the slices are in these then
    #[arg(long, value_name = "N")]
    pub bin: Option<usize>,
    /// What frames have in the opposite order, such as those of a detector that looks into a mirror
    #[arg(long, value_enum, value_name = "WHAT")]
    pub flip: Option<Flip>,
}

/// The first and the one behind the last.
pub fn range(text: &str) -> Result<[usize; 2], String> {
    let both = text.split_once("..").and_then(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]));
    both.filter(|[a, b]| a < b).ok_or_else(|| "two ascending numbers are expected, as in 100..200".into())
}

impl Detector {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Sides of pixels that one has of which slices are made.
    pub fn binning(&self) -> usize {
        self.bin.unwrap_or(1)
    }

    /// Rows, and bins, in the opposite order.
    fn turned(&self) -> [bool; 2] {
        let is = |which| self.flip == Some(which) || self.flip == Some(Flip::Both);
        [is(Flip::Rows), is(Flip::Bins)]
    }

    /// Of all frames of a scan, which are of one size.
    pub fn apply(&self, scan: &mut Scan) -> Result<()> {
        if let Some(n) = self.bin.filter(|n| !(2..=Binned::MOST).contains(n)) {
            bail!("--bin {n}; it must be 2 to {}", Binned::MOST);
        }
        let [_, rows, bins] = scan.views.source.shape();
        let [rows, bins] = if self.transpose { [bins, rows] } else { [rows, bins] };
        let [first, end] = self.crop_bins.unwrap_or([0, bins]);
        ensure!(first < end && end <= bins, "--crop-bins {first}..{end}: frames have {bins} bins");
        let (n, wide) = (self.binning(), end - first);
        ensure!(rows >= n && wide >= n, "--bin {n}: frames have {rows} rows of {wide} bins");
        for (left, what) in [(rows % n, "rows"), (wide % n, "bins")] {
            if left > 0 {
                scan.notes.push(format!("the last {left} of the {what} are left out, too few for --bin {n}"));
            }
        }
        let flats = scan.flats.iter_mut().map(|flats| &mut flats.frames);
        let mut frames: Vec<_> = flats.chain(&mut scan.darks).collect();
        frames.push(&mut scan.views);
        self.layers(&mut frames);
        scan.pixel.binned(n);
        Ok(())
    }

    /// Puts what is made of each source, once, in its place: what is decoded for one is kept for all.
    fn layers(&self, frames: &mut [&mut Frames]) {
        let mut done: Vec<(Arc<dyn Source>, Arc<dyn Source>)> = Vec::new();
        for frames in frames {
            let source = frames.source.clone();
            let known = done.iter().find(|(of, _)| Arc::ptr_eq(of, &source)).map(|(_, made)| made.clone());
            frames.source = known.unwrap_or_else(|| {
                let made = self.layer(source.clone());
                done.push((source, made.clone()));
                made
            });
        }
    }

    fn layer(&self, mut source: Arc<dyn Source>) -> Arc<dyn Source> {
        if self.transpose {
            source = Arc::new(Transposed::new(source));
        }
        if let Some([first, end]) = self.crop_bins {
            source = Arc::new(Part::of(source, first..end));
        }
        if let Some(n) = self.bin {
            source = Arc::new(Binned::new(source, n));
        }
        if self.flip.is_some() {
            source = Arc::new(Part::turned(source, self.turned()));
        }
        source
    }

    /// Where a place of the detector, [bin, row], is in frames of so many rows and bins that are made of it.
    pub fn place(&self, [mut bin, mut row]: [f64; 2], [rows, bins]: [usize; 2]) -> [f64; 2] {
        if self.transpose {
            [bin, row] = [row, bin];
        }
        let n = self.binning() as f64;
        // The middle of the first n pixels is the centre of a new one.
        let among = |at: f64, first: usize| (at - first as f64 - (n - 1.0) / 2.0) / n;
        let place = [among(bin, self.crop_bins.map_or(0, |[first, _]| first)), among(row, 0)];
        let [upside_down, mirrored] = self.turned();
        let turned = |at: f64, turned: bool, all: usize| if turned { all as f64 - 1.0 - at } else { at };
        [turned(place[0], mirrored, bins), turned(place[1], upside_down, rows)]
    }

    /// The same of a step from a place to another.
    pub fn step(&self, [mut bins, mut rows]: [f64; 2]) -> [f64; 2] {
        if self.transpose {
            [bins, rows] = [rows, bins];
        }
        let n = self.binning() as f64;
        let [upside_down, mirrored] = self.turned().map(|turned| if turned { -n } else { n });
        [bins / mirrored, rows / upside_down]
    }
}
