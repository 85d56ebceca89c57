//! Frames or gates: a table of them, and the activity of the body over time.

use crate::pet::found::{Found, Quantified, UNIT};
use crate::pet::told::{general, grouped};
use crate::report::escaped;
use crate::report::plot::{Axis, Data, Plot};
use anyhow::Result;
use std::fmt::Write;

/// Times above this, s, are told in min.
const MINUTES: f64 = 600.0;

pub fn write(page: &mut String, made: &Quantified) -> Result<()> {
    let is_gated = made.names[0].starts_with("gate");
    writeln!(page, "<h2>{}</h2>", if is_gated { "Gates" } else { "Frames" })?;
    if !is_gated {
        curve(page, &made.found)?;
    }
    let times = if is_gated { "time, s" } else { "to, s<th>measured, s" };
    writeln!(page, "<table>\n<tr><th><th>from, s<th>{times}<th>prompts<th>mean over the body, {UNIT}")?;
    for (name, of) in made.names.iter().zip(&made.found) {
        let ends = if is_gated { vec![of.start] } else { vec![of.start, end(of)] };
        write!(page, "<tr><th>{}", escaped(name))?;
        for second in ends.into_iter().chain([of.duration]) {
            let text = if second.is_finite() { general(second, 6) } else { String::new() };
            write!(page, "<td class=\"number\">{text}")?;
        }
        let mean = if of.mean.is_finite() { general(of.mean, 4) } else { "none".into() };
        writeln!(page, "<td class=\"number\">{}<td class=\"number\">{mean}", grouped(of.prompts as f64))?;
    }
    page.push_str("</table>\n");
    Ok(())
}

fn end(of: &Found) -> f64 {
    of.start + of.duration
}

/// Each frame's mean for as long as the frame was, one after the other.
fn curve(page: &mut String, found: &[Found]) -> Result<()> {
    let there: Vec<&Found> = found.iter().filter(|of| of.duration > 0.0 && of.mean.is_finite()).collect();
    if there.len() < 2 {
        return Ok(());
    }
    let last = there.iter().map(|of| end(of)).fold(0.0, f64::max);
    let most = there.iter().map(|of| of.mean).fold(0.0, f64::max);
    let (scale, unit) = if last > MINUTES { (60.0, "min") } else { (1.0, "s") };
    let steps = there.iter().flat_map(|of| [[of.start / scale, of.mean], [end(of) / scale, of.mean]]);
    let points: Vec<_> = steps.collect();
    let x = format!("time from the start of the scan, {unit}");
    let y = format!("mean over the body, {UNIT}");
    let plot = Plot {
        data: Data::Curve(&points),
        x: Axis { label: &x, range: [0.0, last / scale] },
        y: Axis { label: &y, range: [0.0, if most > 0.0 { most } else { 1.0 }] },
        marked: &[],
        bar: None,
    };
    writeln!(page, "<figure>{}<figcaption>activity of the body over time</figcaption></figure>", plot.html()?)?;
    Ok(())
}
