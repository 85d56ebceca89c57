//! The page that tells of a run: one file, which needs nothing beside it.

mod picture;
mod plot;

use anyhow::{Context, Result};
use isocenter::ct::FoundAxis;
use picture::Picture;
use plot::Plot;
use std::fmt::Write;
use std::path::Path;

/// What is told.
pub struct Report {
    pub title: String,
    /// Name and value.
    pub facts: Vec<(&'static str, String)>,
    /// A slice, (rows, columns), and its number.
    pub slice: Image,
    /// Line integrals of its row, (views, bins).
    pub sinogram: Image,
    /// Of the search, where there was one.
    pub axis: Option<FoundAxis>,
    pub plan: String,
}

/// Values in rows.
pub struct Image {
    pub values: Vec<f32>,
    pub columns: usize,
    pub caption: String,
}

/// Bars of a histogram.
const BARS: usize = 128;

impl Report {
    /// Writes the page.
    pub fn write(&self, path: &Path) -> Result<()> {
        let page = self.page().context("the report")?;
        std::fs::write(path, page).with_context(|| format!("writing {}", path.display()))
    }

    fn page(&self) -> Result<String> {
        let mut page = String::new();
        let title = escaped(&self.title);
        write!(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n")?;
        write!(
            page,
            "<meta name=\"viewport\" content=\"width=device-width\">\n<style>{STYLE}</style>\n<h1>{title}</h1>\n<table>\n"
        )?;
        for (name, value) in &self.facts {
            writeln!(page, "<tr><th>{}<td>{}", escaped(name), escaped(value))?;
        }
        page.push_str("</table>\n<main>\n");
        for image in [&self.slice, &self.sinogram] {
            let picture = Picture::new(image);
            let [low, high] = picture.window;
            let caption = escaped(&image.caption);
            let data = picture.data()?;
            writeln!(page, "<figure><img alt=\"{caption}\" src=\"{data}\">")?;
            writeln!(page, "<figcaption>{caption}; black {low:.4}, white {high:.4}</figcaption></figure>")?;
        }
        if let Some(found) = &self.axis {
            let [first, step] = found.curve_at;
            let points = found.curve.iter().enumerate().map(|(k, v)| [first + k as f64 * step, *v]).collect();
            let plot = Plot { points, bars: false, marked: Some(found.axis), labels: ["axis (bin)", "score"] };
            let caption = format!(
                "search for the axis: {:.3} +- {:.3} bins, confidence {:.2}",
                found.axis, found.error, found.confidence
            );
            writeln!(page, "<figure>{}<figcaption>{caption}</figcaption></figure>", plot.svg()?)?;
        }
        let plot =
            Plot { points: histogram(&self.slice.values), bars: true, marked: None, labels: ["value", "pixels"] };
        writeln!(page, "<figure>{}<figcaption>histogram of the slice</figcaption></figure>", plot.svg()?)?;
        writeln!(page, "</main>\n<h2>Plan</h2>\n<pre>{}</pre>\n</html>", escaped(&self.plan))?;
        Ok(page)
    }
}

/// Middles of bars over all but the outermost thousandths, and how many values each has.
fn histogram(values: &[f32]) -> Vec<[f64; 2]> {
    let [low, high] = picture::quantiles(values, [0.001, 0.999]);
    let width = (high - low).max(f64::MIN_POSITIVE) / BARS as f64;
    let mut counts = [0u64; BARS];
    for v in values {
        let bar = ((f64::from(*v) - low) / width).floor();
        if (0.0..BARS as f64).contains(&bar) {
            counts[bar as usize] += 1;
        }
    }
    counts.iter().enumerate().map(|(k, n)| [low + (k as f64 + 0.5) * width, *n as f64]).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --mark: #d9730d; --curve: #2f6fb7; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; font-weight: 600; margin: 0 0 1rem; }
h2 { font-size: 1.1rem; font-weight: 600; }
table { border-collapse: collapse; margin-bottom: 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1.5rem .15rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 500; opacity: .7; }
main { columns: 2 26rem; column-gap: 1.5rem; }
figure { margin: 0 0 1.5rem; break-inside: avoid; }
figure img { width: 100%; max-height: 42rem; object-fit: contain; background: #000; image-rendering: auto; }
figcaption { font-size: .85rem; opacity: .75; margin-top: .3rem; }
svg { width: 100%; font: 11px system-ui, sans-serif; }
svg text { fill: currentColor; opacity: .75; }
pre { padding: 1rem; border: 1px solid var(--line); overflow: auto; }
";
