use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn unit(azimuth: f64, tilt: f64) -> [f64; 3] {
    View { azimuth, tilt }.axes()[0]
}

fn random_list(random: &mut StdRng, views: usize, limit: f64) -> Vec<View> {
    let view = |_| View::new(random.random_range(-PI..PI), random.random_range(-limit..limit)).unwrap();
    (0..views).map(view).collect()
}

/// atan is to 1e-14 of the tangent's range.
#[test]
fn angles_are_those_of_arc_functions() {
    let mut random = StdRng::seed_from_u64(1);
    for _ in 0..100_000 {
        let scale = 10f64.powf(random.random_range(-6.0..0.0));
        let [x, y, z] = [1.0, scale, scale].map(|s| s * random.random_range(-1.0..1.0f64));
        let [azimuth, tilt] = angles([x, y, z]);
        let sign = 1f64.copysign(y);
        assert!((azimuth - (y * sign).atan2(x * sign)).abs() < 2e-14, "{x} {y}: {azimuth}");
        assert!((tilt - (z * sign).atan2(x.hypot(y))).abs() < 2e-14, "{x} {y} {z}: {tilt}");
    }
    assert_eq!(angles([-1.0, 0.0, 0.0])[0], PI);
    assert_eq!(angles([0.0, 2.0, 2.0]), [FRAC_PI_2, PI / 4.0]);
}

#[test]
fn every_view_is_nearest_to_itself_either_way_round() {
    let mut random = StdRng::seed_from_u64(2);
    let grid = |a, t| Views::grid(a, t, 0.17).unwrap();
    let list = Views::new(random_list(&mut random, 60, 0.3), 0.3).unwrap();
    for views in [grid(40, 3), grid(7, 4), grid(1, 1), grid(2, 1), list] {
        for (v, view) in views.list().iter().enumerate() {
            let n = view.axes()[0];
            assert_eq!(views.nearest(n), Some(v));
            assert_eq!(views.nearest(n.map(|c| -c)), Some(v));
        }
    }
}

/// Past the last azimuth the nearest view is the first one, seen from the other side: its tilt is the opposite.
#[test]
fn azimuths_close_over_half_a_turn_with_opposite_tilt() {
    let grid = Views::grid(8, 3, 0.1745).unwrap();
    let list = Views::new(grid.list().to_vec(), 0.1745).unwrap();
    for views in [grid, list] {
        assert_eq!(views.nearest(unit(PI - 0.1, 0.1)), Some(0));
        assert_eq!(views.nearest(unit(PI - 0.1, -0.1)), Some(2));
        assert_eq!(views.nearest(unit(0.1, 0.1)), Some(2));
        assert_eq!(views.nearest(unit(PI, 0.1)), Some(0));
        assert_eq!(views.nearest(unit(-0.1, 0.1)), Some(2));
        for beyond in [unit(0.4, 0.18), [0.0, 0.0, 1.0], [0.0, 0.0, -3.0]] {
            assert_eq!(views.nearest(beyond), None);
        }
        // Every length does.
        assert_eq!(views.nearest(unit(0.1, 0.1).map(|c| 700.0 * c)), Some(2));
    }
}

/// The definition, written out: differences modulo pi, intervals from -max to max. Borders are met with probability 1e-12.
#[test]
fn grids_take_the_nearest_azimuth_and_there_the_tilt() {
    let mut random = StdRng::seed_from_u64(3);
    for (azimuths, tilts, limit) in [(40, 3, 0.1745), (1, 1, 0.3), (2, 5, 1.5), (9, 2, 0.7)] {
        let views = Views::grid(azimuths, tilts, limit).unwrap();
        for _ in 0..20_000 {
            let n = unit(random.random_range(-PI..PI), random.random_range(-1.55..1.55));
            let (azimuth, tilt) = (n[1].atan2(n[0]), n[2].asin());
            let turns = |a: usize| ((azimuth - a as f64 * PI / azimuths as f64) / PI).round();
            let distance = |a: usize| (azimuth - a as f64 * PI / azimuths as f64 - turns(a) * PI).abs();
            let a = (0..azimuths).min_by(|p, q| distance(*p).total_cmp(&distance(*q))).unwrap();
            let tilt = if turns(a) as i64 % 2 == 0 { tilt } else { -tilt };
            let t = ((tilt + limit) / (2.0 * limit) * tilts as f64).floor() as usize;
            let expected = (tilt.abs() <= limit).then_some(a * tilts + t);
            assert_eq!(views.nearest(n), expected, "{azimuth} {tilt}");
        }
    }
}

/// Both take the view at the smallest angle, but where two are equally near to rounding.
#[test]
fn lists_are_searched_well() {
    let mut random = StdRng::seed_from_u64(5);
    for (count, limit) in [(1, 0.2), (7, 0.01), (120, 0.3), (700, 1.57)] {
        let list = random_list(&mut random, count, limit);
        let views = Views::new(list.clone(), limit).unwrap();
        for _ in 0..20_000 {
            let tilt: f64 = random.random_range(-1.1 * limit..1.1 * limit);
            let n = unit(random.random_range(-PI..PI), tilt.clamp(-FRAC_PI_2, FRAC_PI_2));
            let cosine = |v: usize| (0..3).map(|d| n[d] * list[v].axes()[0][d]).sum::<f64>().abs();
            match views.nearest(n) {
                None => assert!(tilt.abs() > limit),
                Some(v) => {
                    assert!(tilt.abs() <= limit + 1e-12);
                    assert!(cosine(v) >= (0..count).map(cosine).fold(0.0, f64::max) - 1e-15);
                }
            }
        }
    }
}

#[test]
fn many_at_once_are_as_one_by_one() {
    let mut random = StdRng::seed_from_u64(6);
    let list = random_list(&mut random, 50, 0.3);
    for views in [Views::grid(40, 3, 0.2).unwrap(), Views::new(list, 0.3).unwrap()] {
        let mut direction = [[0.0; BLOCK]; 3];
        for d in direction.iter_mut().flatten() {
            *d = random.random_range(-1.0..1.0);
        }
        direction[2].iter_mut().for_each(|z| *z *= 0.3);
        for d in &mut direction {
            d[7] = f64::NAN;
        }
        let mut found = [0; BLOCK];
        views.assign(&direction, &mut found);
        for (i, v) in found.into_iter().enumerate() {
            assert_eq!(usize::try_from(v).ok(), views.nearest(std::array::from_fn(|a| direction[a][i])), "{i}");
        }
        assert_eq!(found[7], NONE);
        assert!(found.iter().filter(|v| **v != NONE).count() > BLOCK / 4);
    }
}

fn solid_angle(strips: &[Strip]) -> f64 {
    strips.iter().map(|s| s.width * (s.tilts[1].sin() - s.tilts[0].sin())).sum()
}

/// Cells cover all tilts once, and hold the directions that belong to their view: random points of a strip do, but for those
/// that merged strips put on the wrong side of a slanting border.
#[test]
fn cells_are_the_directions_of_their_views() {
    let mut random = StdRng::seed_from_u64(7);
    let list = random_list(&mut random, 40, 0.3);
    for (views, wrong) in [(Views::grid(40, 3, 0.1745).unwrap(), 0.0), (Views::new(list, 0.3).unwrap(), 0.03)] {
        let cells = views.cells();
        let all = 2.0 * PI * views.max_tilt().sin();
        let sum = cells.iter().map(|c| solid_angle(c)).sum::<f64>();
        // Merged strips have the mean of their tilts, whose sine is not the mean of their sines.
        let tolerance = if wrong == 0.0 { 1e-9 } else { 1e-3 };
        assert!((sum / all - 1.0).abs() < tolerance, "{sum} {all}");
        let (mut strays, mut total) = (0, 0);
        for (v, cell) in cells.iter().enumerate() {
            for s in cell {
                for _ in 0..20 {
                    let mut part = || random.random_range(0.001..0.999f64);
                    let azimuth = s.azimuth + s.width * (part() - 0.5);
                    let tilt = s.tilts[0] + (s.tilts[1] - s.tilts[0]) * part();
                    strays += usize::from(views.nearest(unit(azimuth, tilt)) != Some(v));
                    total += 1;
                }
            }
        }
        assert!(strays as f64 <= wrong * total as f64, "{strays} of {total}");
    }
    // A list that is a grid has the grid's cells, but for the great circles between its tilts.
    let grid = Views::grid(8, 3, 0.2).unwrap();
    let list = Views::new(grid.list().to_vec(), 0.2).unwrap();
    for (a, b) in grid.cells().iter().zip(list.cells()) {
        assert!((solid_angle(a) / solid_angle(&b) - 1.0).abs() < 0.03);
    }
}

#[test]
fn impossible_views_are_named() {
    let message = |result: Result<Views>| result.expect_err("invalid").message;
    assert_eq!(message(Views::grid(0, 1, 0.1)), "geometry.azimuths is 0; it must be 1 to 65536");
    assert_eq!(
        message(Views::grid(60_000, 2, 0.1)),
        "geometry.azimuths is 60000 and geometry.tilts 2, 120000 views; there must be 1 to 65536"
    );
    assert_eq!(message(Views::grid(4, 1, 0.0)), "geometry.max_tilt is 0 rad; it must be above 0 and below pi/2");
    assert_eq!(message(Views::grid(4, 1, f64::NAN)), "geometry.max_tilt is NaN; it must be finite, in rad");
    assert_eq!(message(Views::new(vec![], 0.1)), "there are 0 views; there must be 1 to 65536");
    let view = |azimuth, tilt| View { azimuth, tilt };
    assert_eq!(
        message(Views::new(vec![view(0.0, 0.2)], 0.1)),
        "views[0] has a tilt of 0.2 rad; geometry.max_tilt is 0.1"
    );
    assert_eq!(
        message(Views::new(vec![view(f64::NAN, 0.0)], 0.1)),
        "views[0] has an azimuth of NaN; it must be finite, in rad"
    );
    let opposite = vec![view(0.5, 0.1), view(1.0, 0.0), view(0.5 - PI, -0.1)];
    assert_eq!(
        message(Views::new(opposite, 0.2)),
        "views[0] and views[2] are the same direction; views must not repeat"
    );
    assert!(Views::new(vec![view(0.5, 0.1), view(0.5 - PI, 0.1)], 0.2).is_ok());
}
