//! The sheet as one picture.

use super::{Picture, Shown, font};
use crate::report::{picture, rounded};
use anyhow::Result;

/// Points of letters are squares of so many pixels.
const SIZE: usize = 2;
const GAP: usize = 10;
/// A line of text with what is around it.
const LINE: usize = font::HIGH * SIZE + GAP;
/// Of the bar of greys.
const BAR: [usize; 2] = [256, 16];
/// Width over height that a sheet should have.
const SHAPE: f64 = 1.5;

const PAPER: u8 = 255;
const INK: u8 = 0;

struct Canvas {
    greys: Vec<u8>,
    columns: usize,
}

impl Canvas {
    fn put(&mut self, picture: &Picture, [x, y]: [usize; 2]) {
        for (k, row) in picture.greys.chunks_exact(picture.columns).enumerate() {
            self.greys[(y + k) * self.columns + x..][..row.len()].copy_from_slice(row);
        }
    }

    /// As much of a text as there is room for.
    fn text(&mut self, text: &str, [x, y]: [usize; 2], room: usize) {
        let whole = room / (font::STEP * SIZE);
        let text: String = text.chars().take(whole).collect();
        for [right, down] in font::points(&text) {
            for k in 0..SIZE {
                let at = (y + down * SIZE + k) * self.columns + x + right * SIZE;
                self.greys[at..at + SIZE].fill(INK);
            }
        }
    }
}

impl Shown<'_> {
    fn high(&self) -> usize {
        let rows = |picture: &Picture| picture.greys.len() / picture.columns;
        rows(&self.whole).max(self.part.as_ref().map_or(0, rows))
    }
}

/// Pixels that a text takes.
fn wide(text: &str) -> usize {
    text.chars().count() * font::STEP * SIZE
}

pub fn png(title: &str, shown: &[Shown], window: [f64; 2]) -> Result<Vec<u8>> {
    let (canvas, _) = drawn(title, shown, window);
    picture::png(&canvas.greys, canvas.columns)
}

/// The picture, and where the labels of its tiles are.
fn drawn(title: &str, shown: &[Shown], window: [f64; 2]) -> (Canvas, Vec<[usize; 2]>) {
    let most = |of: fn(&Shown) -> usize| shown.iter().map(of).max().unwrap_or(0);
    let both: fn(&Shown) -> usize = |tile| tile.whole.columns + tile.part.as_ref().map_or(0, |part| GAP + part.columns);
    let cell = [most(both).max(most(|tile| wide(tile.label))) + GAP, most(|tile| tile.high()) + LINE + GAP];
    let across = (1..=shown.len()).min_by(|a, b| {
        let off = |n: usize| ((n * cell[0]) as f64 / (shown.len().div_ceil(n) * cell[1]) as f64 / SHAPE).ln().abs();
        off(*a).total_cmp(&off(*b))
    });
    let across = across.unwrap_or(1);
    let ends = window.map(rounded);
    let scale = wide(&ends[0]) + GAP + BAR[0] + GAP + wide(&ends[1]);
    let columns = (across * cell[0]).max(scale).max(wide(title)) + GAP;
    let rows = GAP + LINE + shown.len().div_ceil(across) * cell[1] + LINE + GAP;
    let mut canvas = Canvas { greys: vec![PAPER; columns * rows], columns };
    canvas.text(title, [GAP, GAP], columns);
    let mut labels = Vec::new();
    for (k, tile) in shown.iter().enumerate() {
        let [x, y] = [GAP + k % across * cell[0], GAP + LINE + k / across * cell[1]];
        canvas.text(tile.label, [x, y], cell[0]);
        labels.push([x, y]);
        canvas.put(&tile.whole, [x, y + LINE]);
        if let Some(part) = &tile.part {
            canvas.put(part, [x + tile.whole.columns + GAP, y + LINE]);
        }
    }
    let y = rows - LINE - GAP / 2;
    canvas.text(&ends[0], [GAP, y], columns);
    let x = GAP + wide(&ends[0]) + GAP;
    let bar = (0..BAR[0] * BAR[1]).map(|k| (k % BAR[0]) as u8).collect();
    canvas.put(&Picture { greys: bar, columns: BAR[0] }, [x, y]);
    canvas.text(&ends[1], [x + BAR[0] + GAP, y], columns);
    (canvas, labels)
}

#[cfg(test)]
mod tests {
    use super::super::SIDE;
    use super::*;

    /// Labels are read back from the picture, by their points, above the tile that they belong to.
    #[test]
    fn each_tile_has_its_label_above_it() {
        for (pictures, count) in [(1, 2), (1, 7), (2, 5)] {
            let labels: Vec<_> = (0..count).map(|k| format!("--axis {}.{k}", 1000 + 7 * k)).collect();
            let picture = |grey: usize| Picture { greys: vec![grey as u8; SIDE * SIDE / 2], columns: SIDE };
            let shown: Vec<_> = labels
                .iter()
                .enumerate()
                .map(|(k, label)| Shown {
                    label,
                    whole: picture(k + 1),
                    part: (pictures == 2).then(|| picture(k + 101)),
                })
                .collect();
            let (canvas, places) = drawn("a title (of a sheet): 1/2, +3=4", &shown, [-0.01, 2.0]);
            for (k, [x, y]) in places.into_iter().enumerate() {
                let expected: std::collections::BTreeSet<_> = font::points(&labels[k]).collect();
                for down in 0..font::HIGH {
                    for right in 0..wide(&labels[k]) / SIZE {
                        let grey = canvas.greys[(y + down * SIZE) * canvas.columns + x + right * SIZE];
                        assert_eq!(grey == INK, expected.contains(&[right, down]), "{} at {right}, {down}", labels[k]);
                    }
                }
                let at = (y + LINE) * canvas.columns + x;
                assert_eq!(canvas.greys[at] as usize, k + 1);
                assert!(pictures == 1 || canvas.greys[at + SIDE + GAP] as usize == k + 101);
            }
        }
    }

    #[test]
    fn letters_differ() {
        let text = "0123456789abcdefghijklmnopqrstuvwxyz.,-+:/()= ?";
        let letters: std::collections::BTreeSet<Vec<_>> =
            text.chars().map(|c| font::points(&c.to_string()).collect()).collect();
        assert_eq!(letters.len(), text.len());
    }
}
