//! The page about an image: one file, which needs nothing beside it.

mod series;

use super::counts::listed;
use super::found::{Found, Quantified, UNIT};
use super::told::{general, grouped};
use crate::names;
use crate::report::picture::{address, greys, quantiles};
use crate::report::plot::{self, Axis, Data, Plot};
use crate::report::{STYLE, escaped};
use anyhow::{Context, Result};
use isocenter::pet::Iteration;
use std::fmt::Write;
use std::path::Path;

/// Part of the values above 0 that is below black.
const BLACK: f64 = 0.998;
/// Width of the widest picture, pixels of the page.
const WIDE: f64 = 320.0;
const OWN: &str = "
.doubts { color: var(--mark); } td.number { text-align: right; font-variant-numeric: tabular-nums; }
.slices { display: flex; flex-wrap: wrap; gap: 1.5rem; align-items: flex-end; margin: 1rem 0; } pre { white-space: pre-wrap; overflow-wrap: anywhere; } .slices figure { margin: 0; } .slices img { image-rendering: pixelated; display: block; }
";

/// Names and values of an image.
fn numbers(of: &Found, name: &str) -> Vec<(&'static str, String)> {
    let counted = of.counted as f64;
    let part = |v: f64| match of.counted {
        0 => "none".into(),
        _ => format!("{} ({:.1} %)", grouped(v), 100.0 * v / counted),
    };
    let dropped: Vec<_> =
        listed(&of.dropped).into_iter().map(|(cause, n)| format!("{} {cause}", grouped(n as f64))).collect();
    let last = of.history.last();
    let change = last.filter(|last| last.change > 0.0);
    let change =
        change.map_or(String::new(), |last| format!(", the last changed the image by {}", general(last.change, 2)));
    let penalty =
        |v: f64| if of.strength > 0.0 { format!(", less {} of the prior", general(v, 5)) } else { String::new() };
    let mut rows = vec![
        (
            "time",
            match name.starts_with("gate") {
                true => format!("{} s of {name}", general(of.duration, 6)),
                false => format!("{} to {} s", general(of.start, 6), general(of.start + of.duration, 6)),
            },
        ),
        ("prompts", grouped(of.prompts as f64)),
        ("delays", grouped(of.delays as f64)),
        ("prompts in the lattice", grouped(counted)),
        ("dropped", if dropped.is_empty() { "none".into() } else { dropped.join(", ") }),
        ("randoms", part(of.randoms)),
        ("scatter", part(of.scatter)),
        (
            "scatter's scale",
            if of.scale_error > 0.0 {
                format!("{:.3} +- {:.3}, by {} counts of tails", of.scale, of.scale_error, grouped(of.tails))
            } else {
                "none".into()
            },
        ),
        ("trues", part(counted - of.randoms - of.scatter)),
        ("sensitivity", format!("{} counts a voxel a {UNIT}", general(of.sensitivity, 4))),
        ("passes", format!("{}{change}", of.history.len())),
        (
            "log-likelihood",
            last.map_or(String::new(), |last| format!("{}{}", general(last.log_likelihood, 8), penalty(last.penalty))),
        ),
    ];
    if of.alive != 1.0 {
        rows.push(("alive", format!("{} %", general(100.0 * of.alive, 4))));
    }
    if of.strength > 0.0 {
        rows.push(("restored", format!("times {:.4}, for the counts that the prior takes", of.restored)));
    }
    rows
}

impl Quantified {
    /// Of each frame, names and values.
    pub fn rows(&self) -> Vec<Vec<(&'static str, String)>> {
        self.found.iter().zip(&self.names).map(|(of, name)| numbers(of, name)).collect()
    }

    /// Writes a page about it; `command` is what made it.
    pub fn report(&self, path: &Path, doubts: &[String], command: &str) -> Result<()> {
        write(path, self, doubts, command)
    }
}

/// Writes the page; `command` is what made it.
fn write(path: &Path, made: &Quantified, doubts: &[String], command: &str) -> Result<()> {
    let page = page(made, doubts, command).context("the report")?;
    names::write(path, page)
}

fn page(made: &Quantified, doubts: &[String], command: &str) -> Result<String> {
    let name = if made.scanner.trim().is_empty() { "PET" } else { &made.scanner };
    let title = escaped(&format!("{name}: activity in {UNIT}"));
    // Nothing is fetched, and nothing runs, whatever a file's names hold.
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<style>{STYLE}{OWN}</style>\n<h1>{title}</h1>\n"
    );
    if !doubts.is_empty() {
        page.push_str("<ul class=\"doubts\">\n");
        doubts.iter().try_for_each(|words| writeln!(page, "<li>{}", escaped(words)))?;
        page.push_str("</ul>\n");
    }
    pictures(&mut page, made)?;
    if made.is_series {
        series::write(&mut page, made)?;
    }
    page.push_str("<header>\n<div><h2>Counts</h2>\n");
    counts(&mut page, made)?;
    writeln!(page, "</div>\n<div><h2>Settings</h2>\n<table>\n<tr><th>isotope<td>{}", escaped(&made.isotope.name))?;
    for (name, value) in made.settings.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(page, "<tr><th>{name}<td>{}", escaped(value))?;
    }
    writeln!(page, "<tr><th>isocenter<td>{}\n</table></div>\n</header>\n<main>", env!("CARGO_PKG_VERSION"))?;
    convergence(&mut page, made)?;
    writeln!(page, "</main>\n<h2>Command</h2>\n<pre>{}</pre>\n</html>", escaped(command))?;
    Ok(page)
}

/// A column for each image.
fn counts(page: &mut String, made: &Quantified) -> Result<()> {
    let columns = made.rows();
    page.push_str("<table>\n");
    let most = columns.iter().max_by_key(|column| column.len()).context("no frames")?;
    for (k, (name, _)) in most.iter().enumerate() {
        write!(page, "<tr><th>{name}")?;
        for column in &columns {
            write!(page, "<td class=\"number\">{}", escaped(column.get(k).map_or("", |(_, value)| value)))?;
        }
        page.push('\n');
    }
    page.push_str("</table>\n");
    Ok(())
}

/// How passes settle.
fn convergence(page: &mut String, made: &Quantified) -> Result<()> {
    for (of, name) in made.found.iter().zip(&made.names) {
        let changes: Vec<_> = passes(of, |one| one.change).filter(|[_, change]| *change > 0.0).collect();
        let (points, label, caption) = match changes.len() {
            0 | 1 => (
                passes(of, |one| one.log_likelihood).collect(),
                "log-likelihood",
                "what passes make larger, of the images that they met",
            ),
            _ => {
                let points: Vec<_> = changes.iter().map(|[pass, change]| [*pass, change.log10()]).collect();
                (points, "log10 of the change", "how much of the image each pass changed")
            }
        };
        if points.len() < 2 {
            continue;
        }
        let plot = Plot {
            data: Data::Curve(&points),
            x: Axis { label: "pass", range: plot::range(points.iter().map(|p| p[0])) },
            y: Axis { label, range: plot::range(points.iter().map(|p| p[1])) },
            marked: &[],
            bar: None,
        };
        let frame = if made.is_series { format!("{}: ", escaped(name)) } else { String::new() };
        writeln!(page, "<figure>{}<figcaption>{frame}{caption}</figcaption></figure>", plot.html()?)?;
    }
    Ok(())
}

/// Passes, counted from 1, and a number of each.
fn passes(of: &Found, number: impl Fn(&Iteration) -> f64) -> impl Iterator<Item = [f64; 2]> {
    of.history.iter().enumerate().map(move |(pass, one)| [(pass + 1) as f64, number(one)])
}

/// The mean of all frames that last.
fn mean(made: &Quantified) -> Vec<f32> {
    let voxels = made.shape.iter().product();
    let all: f64 = made.found.iter().map(|of| of.duration).sum();
    let mut mean = vec![0.0; voxels];
    for (image, of) in made.image.chunks(voxels).zip(&made.found).filter(|(_, of)| of.duration > 0.0) {
        let weight = (of.duration / all) as f32;
        mean.iter_mut().zip(image).for_each(|(mean, v)| *mean += weight * v);
    }
    mean
}

/// Three slices through the middle of the activity, as radiologists look at them.
fn pictures(page: &mut String, made: &Quantified) -> Result<()> {
    let image = mean(made);
    let [nz, ny, nx] = made.shape;
    let seen: Vec<f32> = image.iter().copied().filter(|v| *v > 0.0).collect();
    let black = if seen.is_empty() { 1.0 } else { quantiles(&seen, [BLACK, BLACK])[0] };
    let (counts, steps) = ([nx, ny, nz], [1, nx, nx * ny]);
    let at = middle(&image, counts);
    let matrix = made.position.to_patient();
    let axes = [0, 1, 2].map(|axis| [0, 1, 2].map(|k| matrix[k][axis]));
    let widest = counts.into_iter().max().unwrap_or(1) as f64;
    page.push_str("<div class=\"slices\">\n");
    for (across, name) in [(2, "transverse"), (1, "coronal"), (0, "sagittal")] {
        let [column, row] = [[1, 2], [0, 2], [0, 1]][across];
        let value = |i: usize, j: usize| image[at[across] * steps[across] + i * steps[row] + j * steps[column]];
        let plane = Plane::upright([counts[row], counts[column]], [axes[row], axes[column]], value);
        let grey: Vec<u8> = greys(&plane.values, [0.0, black]).into_iter().map(|grey| 255 - grey).collect();
        let wide = WIDE * plane.columns as f64 / widest;
        let place = made.centre[across] + (at[across] as f64 - (counts[across] as f64 - 1.0) / 2.0) * made.voxel;
        let (axis, black, picture) = (["x", "y", "z"][across], general(black, 4), address(&grey, plane.columns)?);
        writeln!(
            page,
            "<figure><img alt=\"{name} slice\" style=\"width:{wide:.0}px\" src=\"{picture}\"><figcaption>{name}, {axis} = {place:.1} mm; white 0, black {black} {UNIT}</figcaption></figure>"
        )?;
    }
    page.push_str("</div>\n");
    Ok(())
}

/// The voxel in the middle of the activity.
fn middle(image: &[f32], [nx, ny, nz]: [usize; 3]) -> [usize; 3] {
    let mut sums = [0.0; 4];
    for (k, v) in image.iter().enumerate() {
        let place = [1, k % nx, k / nx % ny, k / (nx * ny)];
        sums.iter_mut().zip(place).for_each(|(sum, at)| *sum += f64::from(*v) * at as f64);
    }
    let [total, places @ ..] = sums;
    let counts = [nx, ny, nz];
    [0, 1, 2].map(|k| match total > 0.0 {
        true => (places[k] / total).round().clamp(0.0, (counts[k] - 1) as f64) as usize,
        false => counts[k] / 2,
    })
}

/// A picture.
struct Plane {
    values: Vec<f32>,
    columns: usize,
}

/// Towards where a picture's columns and rows go, by the patient's axis across it: left, back and head are positive.
const VIEWS: [[(usize, f64); 2]; 3] = [[(1, 1.0), (2, -1.0)], [(0, 1.0), (2, -1.0)], [(0, 1.0), (1, 1.0)]];

impl Plane {
    /// The patient's right on the left, and front or head on top; rows and columns go these ways in the patient.
    fn upright([rows, columns]: [usize; 2], [down, right]: [[f64; 3]; 2], value: impl Fn(usize, usize) -> f32) -> Self {
        let goes = |way: [f64; 3], axis: usize| way[axis];
        let across = (0..3).find(|axis| goes(down, *axis) == 0.0 && goes(right, *axis) == 0.0).unwrap_or(2);
        let [(column_axis, column_sign), (row_axis, row_sign)] = VIEWS[across];
        // Rows are shown as columns where these go the other way.
        let is_turned = goes(right, column_axis) == 0.0;
        let (along, upwards) = if is_turned { (down, right) } else { (right, down) };
        let [height, width] = if is_turned { [columns, rows] } else { [rows, columns] };
        let flips = [goes(upwards, row_axis) * row_sign < 0.0, goes(along, column_axis) * column_sign < 0.0];
        let at = |k: usize| {
            let (i, j) = (k / width, k % width);
            let i = if flips[0] { height - 1 - i } else { i };
            let j = if flips[1] { width - 1 - j } else { j };
            if is_turned { value(j, i) } else { value(i, j) }
        };
        Self { values: (0..height * width).map(at).collect(), columns: width }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Head first supine, a transverse slice is as the scanner sees it; a coronal one has the head on top.
    #[test]
    fn slices_are_upright() {
        let value = |i: usize, j: usize| (10 * i + j) as f32;
        let [x, y, z] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let of = |down, right| Plane::upright([2, 3], [down, right], value);
        assert_eq!(of(y, x).values, [0.0, 1.0, 2.0, 10.0, 11.0, 12.0]);
        assert_eq!(of(z, x).values, [10.0, 11.0, 12.0, 0.0, 1.0, 2.0]);
        // Prone: the scanner's x goes to the right, y to the front.
        assert_eq!(of(y.map(|v| -v), x.map(|v| -v)).values, [12.0, 11.0, 10.0, 2.0, 1.0, 0.0]);
        // On the side: rows go to the left, columns to the back.
        let turned = of(x, y);
        assert_eq!((turned.columns, turned.values), (2, vec![0.0, 10.0, 1.0, 11.0, 2.0, 12.0]));
    }
}
