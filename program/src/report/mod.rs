//! The page that tells of a run: one file, which needs nothing beside it.

mod iterations;
pub mod peak;
pub mod picture;
pub mod plot;
mod sections;

pub use iterations::Iterations;
pub use sections::Section;

use crate::names;
use crate::volume::Places;
use anyhow::{Context, Result};
use isocenter::ct::FoundAxis;
use picture::Picture;
use plot::{Axis, Data, Plot};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// What is told.
pub struct Report {
    pub title: String,
    /// Name and value.
    pub facts: Vec<(&'static str, String)>,
    /// What went on one after the other.
    pub stages: Vec<(&'static str, Duration)>,
    /// Planes through the volume, a slice, (lines, columns), first.
    pub sections: Vec<Section>,
    /// Of its voxels.
    pub places: Places,
    /// Line integrals of the slice's row, (views, bins).
    pub sinogram: Image,
    /// The rotation axis.
    pub axis: f64,
    /// The search for it, where there was one.
    pub found: Option<FoundAxis>,
    pub iterations: Iterations,
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

impl Image {
    fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }
}

impl Report {
    /// Writes the page.
    pub fn write(&self, path: &Path) -> Result<()> {
        let page = self.page().context("the report")?;
        names::write(path, page)
    }

    fn page(&self) -> Result<String> {
        let mut page = String::new();
        let title = escaped(&self.title);
        write!(page, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n")?;
        // Nothing is fetched, and nothing runs, whatever names and titles of a scan hold.
        page.push_str(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n",
        );
        write!(
            page,
            "<meta name=\"viewport\" content=\"width=device-width\">\n<style>{STYLE}</style>\n<h1>{title}</h1>\n"
        )?;
        page.push_str("<header>\n<table>\n");
        for (name, value) in self.facts.iter().filter(|(_, value)| !value.is_empty()) {
            writeln!(page, "<tr><th>{}<td>{}", escaped(name), escaped(value))?;
        }
        page.push_str("</table>\n");
        self.times(&mut page)?;
        page.push_str("</header>\n<main>\n");
        for section in &self.sections {
            self.section(&mut page, section)?;
        }
        self.values(&mut page)?;
        self.iterations.figure(&mut page)?;
        self.sinogram(&mut page)?;
        if let Some(found) = &self.found {
            search(&mut page, found)?;
        }
        writeln!(page, "</main>\n<h2>Plan</h2>\n<pre>{}</pre>\n</html>", escaped(&self.plan))?;
        Ok(page)
    }

    /// A bar for each stage.
    fn times(&self, page: &mut String) -> Result<()> {
        let longest = self.stages.iter().map(|(_, taken)| taken.as_secs_f64()).fold(0.0, f64::max);
        if longest == 0.0 {
            return Ok(());
        }
        page.push_str("<table class=\"times\">\n");
        for (name, taken) in &self.stages {
            let width = 100.0 * taken.as_secs_f64() / longest;
            let (name, taken) = (escaped(name), told(*taken));
            writeln!(page, "<tr><th>{name}<td><div style=\"width:{width:.1}%\"></div><td>{taken}")?;
        }
        page.push_str("</table>\n");
        Ok(())
    }

    /// The histogram of the slice.
    fn values(&self, page: &mut String) -> Result<()> {
        let Some(Section { image: slice, .. }) = self.sections.first() else { return Ok(()) };
        let [low, high] = picture::window(slice);
        let points = histogram(&slice.values);
        let label = format!("attenuation (1/{})", self.places.unit());
        let most = points.iter().map(|p| p[1]).fold(1.0, f64::max);
        let plot = Plot {
            data: Data::Bars(&points),
            x: Axis { label: &label, range: plot::range(points.iter().map(|p| p[0])) },
            y: Axis { label: "pixels", range: [0.0, most] },
            marked: &[low, high],
            bar: None,
        };
        let caption = "histogram of the slice; lines at the picture's black and white";
        writeln!(page, "<figure>{}<figcaption>{caption}</figcaption></figure>", plot.html()?)?;
        Ok(())
    }

    fn sinogram(&self, page: &mut String) -> Result<()> {
        let picture = Picture::new(&self.sinogram);
        let [low, high] = picture.window;
        let (views, bins) = (self.sinogram.rows() as f64, self.sinogram.columns as f64);
        let about = escaped(&self.sinogram.caption);
        let plot = Plot {
            // Wide or tall ones have a shape that can be looked at.
            data: Data::Picture { address: &picture.data()?, about: &about, side: (views / bins).clamp(0.4, 1.0) },
            x: Axis { label: "bin", range: [-0.5, bins - 0.5] },
            y: Axis { label: "view", range: [views - 0.5, -0.5] },
            marked: &[self.axis],
            bar: None,
        };
        let caption = format!("{about}; black {}, white {}, a line at the axis", rounded(low), rounded(high));
        writeln!(page, "<figure>{}<figcaption>{caption}</figcaption></figure>", plot.html()?)?;
        Ok(())
    }
}

/// The curve of the search for the axis.
pub fn search(page: &mut String, found: &FoundAxis) -> Result<()> {
    let [first, step] = found.curve_at;
    let points: Vec<_> = found.curve.iter().enumerate().map(|(k, v)| [first + k as f64 * step, *v]).collect();
    let plot = Plot {
        data: Data::Curve(&points),
        x: Axis { label: "axis (bin)", range: plot::range(points.iter().map(|p| p[0])) },
        y: Axis { label: "score", range: plot::range(points.iter().map(|p| p[1])) },
        marked: &[found.axis],
        bar: None,
    };
    let FoundAxis { axis, error, confidence, .. } = found;
    let caption = format!("search for the axis: {axis:.3} \u{b1} {error:.3} bins, confidence {confidence:.2}");
    writeln!(page, "<figure>{}<figcaption>{caption}</figcaption></figure>", plot.html()?)?;
    Ok(())
}

/// In a unit that fits.
fn told(taken: Duration) -> String {
    let seconds = taken.as_secs_f64();
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{seconds:.2} s") }
}

/// Four digits.
pub fn rounded(v: f64) -> String {
    if v == 0.0 {
        return "0".into();
    }
    let digits = (3.0 - v.abs().max(1e-30).log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{v:.digits$}")
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

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

pub const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --mark: #d9730d; --curve: #2f6fb7; }
@media (prefers-color-scheme: dark) { :root { --mark: #ff9d4a; --curve: #6ba6ea; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; font-weight: 600; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; font-weight: 600; }
header { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem 2rem; align-items: start; }
table { border-collapse: collapse; margin-bottom: 1rem; }
th, td { text-align: left; vertical-align: top; padding: .15rem 1.5rem .15rem 0; border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; }
th { font-weight: 500; opacity: .7; white-space: nowrap; }
.times td { border: 0; white-space: nowrap; padding-right: .5rem; vertical-align: middle; }
.times th { border: 0; }
.times td:nth-child(2) { width: 100%; }
.times td:last-child { text-align: right; }
.times div { background: var(--curve); height: .8rem; min-width: 1px; }
main { columns: 2 26rem; column-gap: 2rem; margin-top: 1rem; }
figure { margin: 0 0 1.5rem; break-inside: avoid; }
figcaption { font-size: .85rem; opacity: .75; margin-top: .2rem; }
.plot { position: relative; }
.plot img { position: absolute; }
svg { position: relative; display: block; width: 100%; font: 11px system-ui, sans-serif; }
svg text { fill: currentColor; opacity: .75; }
svg path, svg polyline { fill: none; stroke-width: 1.5; }
.grid { stroke: var(--line); }
svg .mark { stroke: var(--mark); }
svg .curve { stroke: var(--curve); }
svg .bars { fill: var(--curve); }
path.bar { stroke: #fff; stroke-width: 4; filter: drop-shadow(0 0 1px #000); }
svg text.bar { fill: #fff; opacity: 1; font-size: 13px; font-weight: 600; paint-order: stroke; stroke: #000; stroke-width: 2.5px; }
pre { padding: 1rem; border: 1px solid var(--line); overflow: auto; font-size: 13px; }
@media print { body { margin: 0; max-width: none; } main { columns: 2; } pre { white-space: pre-wrap; border: 0; padding: 0; } * { print-color-adjust: exact; } }
";
