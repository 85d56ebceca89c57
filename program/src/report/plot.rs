//! Curves and bars as SVG.

use std::fmt::{Result, Write};

/// A plot.
pub struct Plot {
    /// x ascending, y.
    pub points: Vec<[f64; 2]>,
    /// In place of a curve.
    pub bars: bool,
    /// A line across at this x.
    pub marked: Option<f64>,
    /// Of x and y.
    pub labels: [&'static str; 2],
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
const MARGINS: [f64; 4] = [10.0, 12.0, 40.0, 64.0];

impl Plot {
    pub fn svg(&self) -> std::result::Result<String, std::fmt::Error> {
        let mut svg = String::new();
        let range = |axis: usize| {
            let of = self.points.iter().map(|p| p[axis]).filter(|v| v.is_finite());
            let (low, high) = of.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
            if low < high { [low, high] } else { [low.min(0.0), low.min(0.0) + 1.0] }
        };
        let [x, mut y] = [range(0), range(1)];
        if self.bars {
            y[0] = 0.0;
        }
        let [top, right, bottom, left] = MARGINS;
        let across = |v: f64| left + (v - x[0]) / (x[1] - x[0]) * (WIDTH - left - right);
        let up = |v: f64| HEIGHT - bottom - (v - y[0]) / (y[1] - y[0]) * (HEIGHT - top - bottom);
        write!(svg, "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">")?;
        for v in ticks(x) {
            let at = across(v);
            write!(svg, "<path d=\"M{at:.1} {top}V{:.1}\" stroke=\"var(--line)\"/>", HEIGHT - bottom)?;
            write!(
                svg,
                "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - bottom + 15.0,
                number(v)
            )?;
        }
        for v in ticks(y) {
            let at = up(v);
            write!(svg, "<path d=\"M{left} {at:.1}H{:.1}\" stroke=\"var(--line)\"/>", WIDTH - right)?;
            write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 6.0,
                at + 4.0,
                number(v)
            )?;
        }
        self.data(&mut svg, across, up)?;
        if let Some(v) = self.marked {
            let at = across(v);
            write!(
                svg,
                "<path d=\"M{at:.1} {top}V{:.1}\" stroke=\"var(--mark)\" stroke-width=\"1.5\"/>",
                HEIGHT - bottom
            )?;
        }
        let [below, beside] = self.labels;
        write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{below}</text>",
            (left + WIDTH - right) / 2.0,
            HEIGHT - 6.0
        )?;
        let middle = (top + HEIGHT - bottom) / 2.0;
        write!(
            svg,
            "<text transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{beside}</text></svg>"
        )?;
        Ok(svg)
    }

    fn data(&self, svg: &mut String, across: impl Fn(f64) -> f64, up: impl Fn(f64) -> f64) -> Result {
        if !self.bars {
            svg.push_str("<polyline fill=\"none\" stroke=\"var(--curve)\" stroke-width=\"1.5\" points=\"");
            for [x, y] in self.points.iter().filter(|p| p.iter().all(|v| v.is_finite())) {
                write!(svg, "{:.1},{:.1} ", across(*x), up(*y))?;
            }
            svg.push_str("\"/>");
            return Ok(());
        }
        let step = (WIDTH - MARGINS[1] - MARGINS[3]) / self.points.len().max(1) as f64;
        svg.push_str("<path fill=\"var(--curve)\" d=\"");
        for [x, y] in &self.points {
            write!(svg, "M{:.2} {:.2}h{step:.2}V{:.2}h-{step:.2}z", across(*x) - step / 2.0, up(*y), up(0.0))?;
        }
        svg.push_str("\"/>");
        Ok(())
    }
}

/// Round numbers between two.
fn ticks([low, high]: [f64; 2]) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= rough).unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    (first..).map(|k| k as f64 * step).take_while(|v| *v <= high + 1e-9 * step).take(20).collect()
}

/// As short as it can be.
fn number(v: f64) -> String {
    if v != 0.0 && !(1e-3..1e5).contains(&v.abs()) {
        format!("{v:.1e}")
    } else {
        format!("{}", (v * 1e6).round() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks([0.0, 10.0]), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks([294.3, 297.1]), [295.0, 296.0, 297.0]);
        assert!(ticks([-0.0021, 0.0013]).len() >= 3);
    }
}
