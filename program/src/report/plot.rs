//! Curves, bars and pictures with axes, as SVG.

use std::fmt::{Result, Write};

/// A plot.
pub struct Plot<'a> {
    pub data: Data<'a>,
    pub x: Axis<'a>,
    /// Upwards.
    pub y: Axis<'a>,
    /// Lines across at these x.
    pub marked: &'a [f64],
    /// Length of a bar that shows the scale, in units of x, and what it is called.
    pub bar: Option<(f64, String)>,
}

pub enum Data<'a> {
    /// x ascending, y.
    Curve(&'a [[f64; 2]]),
    Bars(&'a [[f64; 2]]),
    /// An address, and its height over its width.
    Picture {
        address: &'a str,
        about: &'a str,
        side: f64,
    },
}

pub struct Axis<'a> {
    pub label: &'a str,
    /// From here to there.
    pub range: [f64; 2],
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
const TOP: f64 = 10.0;
const RIGHT: f64 = 12.0;
const BOTTOM: f64 = 40.0;
const LEFT: f64 = 64.0;
/// Width of the data.
const INNER: f64 = WIDTH - LEFT - RIGHT;

/// The smallest and the largest of these, as far as they are finite.
pub fn range(of: impl Iterator<Item = f64>) -> [f64; 2] {
    let (low, high) = of.filter(|v| v.is_finite()).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
    if low < high { [low, high] } else { [low.min(0.0), low.min(0.0) + 1.0] }
}

impl Plot<'_> {
    /// A `<div>`.
    pub fn html(&self) -> std::result::Result<String, std::fmt::Error> {
        let height = match self.data {
            Data::Picture { side, .. } => TOP + INNER * side + BOTTOM,
            _ => HEIGHT,
        };
        let bottom = height - BOTTOM;
        let along = |v: f64, [low, high]: [f64; 2]| (v - low) / (high - low);
        let across = |v: f64| LEFT + along(v, self.x.range) * INNER;
        let up = |v: f64| bottom - along(v, self.y.range) * (bottom - TOP);
        let mut html = String::from("<div class=\"plot\">");
        if let Data::Picture { address, about, .. } = self.data {
            let percent = |v: f64, of: f64| 100.0 * v / of;
            write!(
                html,
                "<img alt=\"{about}\" src=\"{address}\" style=\"left:{:.3}%;top:{:.3}%;width:{:.3}%;height:{:.3}%\">",
                percent(LEFT, WIDTH),
                percent(TOP, height),
                percent(INNER, WIDTH),
                percent(bottom - TOP, height)
            )?;
        }
        write!(html, "<svg viewBox=\"0 0 {WIDTH} {height:.1}\" role=\"img\">")?;
        let picture = matches!(self.data, Data::Picture { .. });
        for v in ticks(self.x.range) {
            let (at, from) = (across(v), if picture { bottom + 4.0 } else { TOP });
            write!(html, "<path class=\"grid\" d=\"M{at:.1} {from:.1}V{bottom:.1}\"/>")?;
            write!(html, "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>", bottom + 16.0, number(v))?;
        }
        for v in ticks(self.y.range) {
            let (at, to) = (up(v), if picture { LEFT - 4.0 } else { WIDTH - RIGHT });
            write!(html, "<path class=\"grid\" d=\"M{LEFT} {at:.1}H{to:.1}\"/>")?;
            write!(
                html,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 7.0,
                at + 4.0,
                number(v)
            )?;
        }
        self.drawn(&mut html, across, up)?;
        for v in self.marked.iter().filter(|v| along(**v, self.x.range).clamp(0.0, 1.0) == along(**v, self.x.range)) {
            write!(html, "<path class=\"mark\" d=\"M{:.1} {TOP}V{bottom:.1}\"/>", across(*v))?;
        }
        if let Some((length, name)) = &self.bar {
            let (right, length) = (WIDTH - RIGHT - 16.0, across(*length) - across(0.0));
            let (left, at) = (right - length, bottom - 18.0);
            write!(html, "<path class=\"bar\" d=\"M{left:.1} {at:.1}h{length:.1}\"/>")?;
            let middle = right - length / 2.0;
            write!(
                html,
                "<text class=\"bar\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
                at - 8.0
            )?;
        }
        let (below, middle) = (LEFT + INNER / 2.0, (TOP + bottom) / 2.0);
        write!(
            html,
            "<text x=\"{below:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - 6.0,
            self.x.label
        )?;
        write!(
            html,
            "<text transform=\"translate(12 {middle:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text></svg></div>",
            self.y.label
        )?;
        Ok(html)
    }

    fn drawn(&self, html: &mut String, across: impl Fn(f64) -> f64, up: impl Fn(f64) -> f64) -> Result {
        match self.data {
            Data::Curve(points) => {
                html.push_str("<polyline class=\"curve\" points=\"");
                for [x, y] in points.iter().filter(|p| p.iter().all(|v| v.is_finite())) {
                    write!(html, "{:.1},{:.1} ", across(*x), up(*y))?;
                }
                html.push_str("\"/>");
            }
            Data::Bars(points) => {
                let step = INNER / points.len().max(1) as f64;
                html.push_str("<path class=\"bars\" d=\"");
                for [x, y] in points {
                    let left = across(*x) - step / 2.0;
                    write!(html, "M{left:.2} {:.2}h{step:.2}V{:.2}h-{step:.2}z", up(*y), up(0.0))?;
                }
                html.push_str("\"/>");
            }
            Data::Picture { .. } => {}
        }
        Ok(())
    }
}

/// A round length, a quarter of this at most.
pub fn bar(length: f64) -> f64 {
    let rough = length / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    [5.0, 2.0].into_iter().map(|k| k * power).find(|bar| *bar <= rough).unwrap_or(power)
}

/// Round numbers between two.
fn ticks([a, b]: [f64; 2]) -> Vec<f64> {
    let (low, high) = (a.min(b), a.max(b));
    let rough = (high - low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| *s >= rough).unwrap_or(10.0 * power);
    let first = (low / step).ceil() as i64;
    (first..).map(|k| k as f64 * step).take_while(|v| *v <= high + 1e-9 * step).take(20).collect()
}

/// As short as it can be.
pub fn number(v: f64) -> String {
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
        assert_eq!(ticks([10.0, 0.0]), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks([294.3, 297.1]), [295.0, 296.0, 297.0]);
        assert!(ticks([-0.0021, 0.0013]).len() >= 3);
    }

    #[test]
    fn bars_are_round() {
        assert_eq!([4.0, 2.9, 640.0, 0.03].map(bar), [1.0, 0.5, 100.0, 0.005]);
    }
}
