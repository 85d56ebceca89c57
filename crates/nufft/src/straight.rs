//! Whether points in their order form straight lines through the origin, evenly.

use super::course::Course;
use isocenter_base::cpu::buffer::{append, reserved};
use isocenter_base::error::Result;
use std::f64::consts::PI;

/// Lines one after the other, which have their points at the same places: point p is point `p % points` of line `p / points`.
#[derive(Clone, Debug, PartialEq)]
pub struct StraightLines {
    pub course: Course,
    /// From point to point along x, y, in cycles per pixel.
    pub steps: Vec<[f64; 2]>,
}

/// Points by their coordinates along x, y in cycles per pixel, and how far they may be from a line.
struct Points<'a> {
    axes: [&'a [f64]; 2],
    /// Pixels along x, y.
    sides: [f64; 2],
    /// Maximum change of a term of a sum, relative to it.
    change: f64,
}

impl StraightLines {
    /// Those of points along x, y, z for an image of z, y, x voxels and sums to a tolerance; None in three dimensions and where there are
    /// none.
    ///
    /// Points that were rounded to f32 are off by up to 2^-26 along each axis, which is 2^-25 pi N of phase for a square image: they are on
    /// lines for tolerances above 1e-6 N alone, 2.4e-4 for 256 pixels.
    pub fn find([x, y, _]: [&[f64]; 3], shape: [usize; 3], tolerance: f64) -> Result<Option<Self>> {
        let [nz, ny, nx] = shape;
        if nz > 1 {
            return Ok(None);
        }
        // A tenth of the tolerance: errors of the transform are for the rest.
        let points = Points { axes: [x, y], sides: [nx as f64, ny as f64], change: 0.1 * tolerance };
        let even = points.first_even();
        // The second line may happen to begin where the first one would go on; a third point cannot.
        for line in [even, even.saturating_sub(1)] {
            if line >= 2
                && x.len().is_multiple_of(line)
                && let Some(lines) = points.lines(line)?
            {
                return Ok(Some(lines));
            }
        }
        Ok(None)
    }
}

impl Points<'_> {
    fn at(&self, p: usize) -> [f64; 2] {
        self.axes.map(|axis| axis[p])
    }

    /// Whether points may be moved so far: by d, the phase of pixel j changes by 2 pi d . j, and |j| <= N / 2 along each axis.
    fn is_near(&self, [dx, dy]: [f64; 2], change: f64) -> bool {
        PI * (self.sides[0] * dx.abs() + self.sides[1] * dy.abs()) <= change
    }

    /// How many of the first points are evenly spaced.
    fn first_even(&self) -> usize {
        let bends = |p: &usize| {
            let bend = self.axes.map(|axis| axis[*p] - 2.0 * axis[p - 1] + axis[p - 2]);
            // Each of the three may be off its place.
            !self.is_near(bend, 4.0 * self.change)
        };
        let all = self.axes[0].len();
        (2..all).find(bends).unwrap_or(all)
    }

    /// Lines of so many points, if they are.
    fn lines(&self, points: usize) -> Result<Option<StraightLines>> {
        let count = self.axes[0].len() / points;
        let Some(course) = self.course(points, count) else { return Ok(None) };
        let weight = |r: usize| r as f64 - course.twice_centre as f64 / 2.0;
        let weights: f64 = (0..points).map(|r| weight(r).powi(2)).sum();
        let mut steps = reserved(count)?;
        for line in 0..count {
            let first = line * points;
            // Least squares.
            let step = self.axes.map(|axis| {
                let moments = axis[first..first + points].iter().enumerate().map(|(r, v)| weight(r) * v);
                moments.sum::<f64>() / weights
            });
            let off = |r: usize| [0, 1].map(|a| self.axes[a][first + r] - weight(r) * step[a]);
            if !(0..points).all(|r| self.is_near(off(r), self.change)) {
                return Ok(None);
            }
            append(&mut steps, step)?;
        }
        Ok(Some(StraightLines { course, steps }))
    }

    /// Where the longest line passes the origin; None if it does not, between its ends.
    fn course(&self, points: usize, count: usize) -> Option<Course> {
        let span = |line: &usize| {
            let [begin, end] = [self.at(line * points), self.at(line * points + points - 1)];
            [end[0] - begin[0], end[1] - begin[1]]
        };
        let square = |[x, y]: [f64; 2]| x * x + y * y;
        let longest = (0..count).max_by(|a, b| square(span(a)).total_cmp(&square(span(b))))?;
        let (begin, span) = (self.at(longest * points), span(&longest));
        let last = points - 1;
        if square(span) == 0.0 {
            return Some(Course { points, twice_centre: last });
        }
        let part = -(begin[0] * span[0] + begin[1] * span[1]) / square(span);
        let twice_centre = (part * 2.0 * last as f64).round();
        (0.0..=2.0 * last as f64)
            .contains(&twice_centre)
            .then_some(Course { points, twice_centre: twice_centre as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: [usize; 3] = [1, 60, 64];

    fn find(points: &[[f64; 2]], tolerance: f64) -> Option<StraightLines> {
        let [x, y] = [0, 1].map(|a| points.iter().map(|p| p[a]).collect::<Vec<_>>());
        let z = vec![0.0; x.len()];
        StraightLines::find([&x, &y, &z], SHAPE, tolerance).expect("memory")
    }

    /// Point r of each line at (r - centre) / count of its direction.
    fn radial(angles: &[f64], count: usize, centre: f64) -> Vec<[f64; 2]> {
        let line = |angle: &f64| {
            let (sin, cos) = angle.sin_cos();
            (0..count).map(move |r| (r as f64 - centre) / count as f64).map(move |k| [k * cos, k * sin])
        };
        angles.iter().flat_map(line).collect()
    }

    fn golden(count: usize) -> Vec<f64> {
        (0..count).map(|k| k as f64 * PI * (5f64.sqrt() - 1.0) / 2.0).collect()
    }

    #[test]
    fn lines_are_found() {
        let even: Vec<f64> = (0..12).map(|k| f64::from(k) * PI / 12.0).collect();
        let duplicates = vec![0.3, 0.3, 0.3, 1.0];
        for angles in [even, golden(31), duplicates, vec![0.7]] {
            // Without one end, with both, an echo that is not in the middle, from the origin on, towards it.
            for (points, twice_centre) in [(32, 32), (32, 31), (33, 32), (32, 17), (16, 0), (16, 30), (2, 1), (3, 2)] {
                let at = radial(&angles, points, twice_centre as f64 / 2.0);
                let lines = find(&at, 1e-6).unwrap_or_else(|| panic!("{points} {twice_centre} {angles:?}"));
                assert_eq!(lines.course, Course { points, twice_centre }, "{angles:?}");
                for (p, at) in at.iter().enumerate() {
                    let (step, r) = (lines.steps[p / points], (p % points) as f64 - twice_centre as f64 / 2.0);
                    assert!((0..2).all(|a| (step[a] * r - at[a]).abs() < 1e-12), "{p}");
                }
            }
        }
    }

    /// Out and back: the second line begins where the first one would go on.
    #[test]
    fn a_line_may_begin_where_another_would_go_on() {
        let lines = find(&radial(&[0.3, 0.3 + PI, 1.0, 1.0 + PI], 32, 16.0), 1e-6).expect("lines");
        assert_eq!(lines.course, Course { points: 32, twice_centre: 32 });
        assert_eq!(lines.steps.len(), 4);
    }

    #[test]
    fn points_at_the_origin_are_a_line() {
        let lines = find(&[[0.0; 2]; 12], 1e-6).expect("a line");
        assert_eq!((lines.course.points, lines.steps), (12, vec![[0.0; 2]]));
    }

    #[test]
    fn other_points_are_refused() {
        let good = radial(&golden(20), 32, 16.0);
        assert!(find(&good, 1e-6).is_some());
        let shifted: Vec<_> = good.iter().map(|[x, y]| [x + 1e-3, y - 2e-3]).collect();
        assert_eq!(find(&shifted, 1e-6), None, "a shifted centre");
        // Of some lines half a sample.
        let mut mixed = radial(&golden(20), 32, 16.0);
        mixed.extend(radial(&golden(20), 32, 15.5));
        assert_eq!(find(&mixed, 1e-6), None, "two centres");
        // 3e-7 pixels of 64 are 6e-5 of phase.
        for bad in [0, 5, 31, 32, 333, good.len() - 1] {
            let mut points = good.clone();
            points[bad][bad % 2] += 3e-7;
            assert_eq!(find(&points, 1e-4), None, "point {bad}");
            assert!(find(&points, 1e-2).is_some(), "point {bad} is near enough");
        }
        assert_eq!(find(&good[..good.len() - 1], 1e-6), None, "an incomplete line");
        let spiral: Vec<_> = (0..640).map(|k| (f64::from(k) / 1300.0, 0.1 * f64::from(k))).collect();
        let spiral: Vec<_> = spiral.into_iter().map(|(r, angle)| [r * angle.cos(), r * angle.sin()]).collect();
        assert_eq!(find(&spiral, 1e-3), None, "a spiral");
        let rows: Vec<_> = (0..256).map(|k| [f64::from(k % 16) / 16.0 - 0.5, f64::from(k / 16) / 16.0 - 0.5]).collect();
        assert_eq!(find(&rows, 1e-3), None, "rows");
        for points in [&[][..], &[[0.1, 0.2]], &[[0.1, 0.2], [0.2, 0.1]]] {
            assert_eq!(find(points, 1e-3), None, "{points:?}");
        }
    }

    /// As derived at [`StraightLines::find`]: up to 1e-6 of 64 pixels.
    #[test]
    fn single_precision_is_for_loose_tolerances() {
        let points: Vec<_> =
            radial(&golden(20), 32, 16.0).into_iter().map(|p| p.map(|v| f64::from(v as f32))).collect();
        assert!(find(&points, 1e-4).is_some());
        assert_eq!(find(&points, 1e-6), None);
    }

    #[test]
    fn volumes_have_none() {
        let line: Vec<f64> = (0..32).map(|k| f64::from(k) / 32.0 - 0.5).collect();
        let find = |shape| StraightLines::find([&line, &line, &line], shape, 1e-3).expect("memory");
        assert!(find([1, 32, 32]).is_some());
        assert_eq!(find([2, 32, 32]), None);
    }
}
