//! What is said of a rotation axis beside the detector.

use crate::common::on_processor;
use crate::common::scene::half_turn;
use isocenter::context::{Context, ContextOptions};
use isocenter::ct::{Ct, Geometry};
use std::f64::consts::PI;
use std::sync::{Arc, Mutex};

const BINS: usize = 200;

/// Warnings of setting a geometry.
fn warnings(g: Geometry) -> Vec<String> {
    let log = Arc::new(Mutex::new(Vec::new()));
    let copy = Arc::clone(&log);
    let options = ContextOptions {
        log: Some(Box::new(move |level, text| copy.lock().expect("the log").push(format!("{level:?}: {text}")))),
        ..on_processor()
    };
    let mut ct = Ct::new(Arc::new(Context::new(options).expect("a context")));
    ct.set_geometry(g).expect("a geometry");
    log.lock().expect("the log").drain(..).filter(|m| m.starts_with("Warning")).collect()
}

fn with_axis(angles: Vec<f64>, axis: f64) -> Geometry {
    Geometry { axis: vec![axis], ..Geometry::new(angles, BINS) }
}

fn full_turn(views: usize) -> Vec<f64> {
    (0..views).map(|v| 2.0 * PI * v as f64 / views as f64).collect()
}

#[test]
fn an_axis_far_beside_the_detector_is_warned_of() {
    // Beyond reach of any pixel (an axis in micrometres, say), and so near that some views see something.
    for (axis, percent) in [(1e6, Some("0 %")), (-1e4, Some("0 %")), (400.0, Some("0 %")), (300.0, None), (-90.0, None)]
    {
        for angles in [half_turn(90), full_turn(180)] {
            let seen = warnings(with_axis(angles, axis));
            assert_eq!(seen.len(), 1, "{axis}");
            for word in ["axis is", "0 to 199", "99.5", percent.unwrap_or("%")] {
                assert!(seen[0].contains(word), "{seen:?}");
            }
        }
    }
    // An axis from the middle, where it has to be from bin 0: half a turn sees half.
    assert_eq!(warnings(with_axis(half_turn(90), 0.0)).len(), 1);
    // One for each view: they count on average.
    let drift = |from: f64| (0..90).map(|v| from + 0.1 * f64::from(v)).collect::<Vec<_>>();
    assert_eq!(warnings(Geometry { axis: drift(500.0), ..Geometry::new(half_turn(90), BINS) }).len(), 1);
    assert_eq!(warnings(Geometry { axis: drift(95.0), ..Geometry::new(half_turn(90), BINS) }).len(), 0);
    // So near an end of the detector that half a turn sees little more than half, of a volume of any size; an axis in other lengths, say.
    for axis in [7.0, 20.0, 180.0, 199.0] {
        for side in [BINS, 3 * BINS] {
            let g = Geometry { nx: side, ny: side, ..with_axis(half_turn(90), axis) };
            assert_eq!(warnings(g).len(), 1, "{axis}, {side}");
        }
    }
    // A region in other lengths than pixels.
    let far = warnings(Geometry { x_offset: 1e4, ..with_axis(half_turn(90), 99.5) });
    assert!(far.len() == 1 && far[0].contains("x_offset is 10000"), "{far:?}");
    // A small region about the axis of a scan that never sees it.
    assert_eq!(warnings(Geometry { nx: 20, ny: 20, ..with_axis(full_turn(180), -20.0) }).len(), 1);
}

/// Half acquisition: the axis near an edge of the detector, or a little beyond, over a full turn, for a slice of one or two
/// detectors' width; and axes on the detector, whatever the volume.
#[test]
fn honest_axes_are_not_warned_of() {
    for axis in [0.0, -0.5, 3.0, -10.0, 196.0, 199.0, 205.0] {
        for side in [BINS, 2 * BINS] {
            assert_eq!(
                warnings(Geometry { nx: side, ny: side, ..with_axis(full_turn(180), axis) }),
                Vec::<String>::new()
            );
        }
    }
    for axis in [40.0, 60.0, 99.5, 150.0] {
        for g in [
            with_axis(half_turn(90), axis),
            Geometry { nx: 4 * BINS, ny: 4 * BINS, ..with_axis(half_turn(90), axis) },
            Geometry { nx: 40, ny: 40, x_offset: 30.0, ..with_axis(half_turn(90), axis) },
        ] {
            assert_eq!(warnings(g), Vec::<String>::new());
        }
    }
    // One bin, whose axis is its middle, and one view.
    assert_eq!(warnings(Geometry { nx: 9, ny: 9, ..Geometry::new(half_turn(5), 1) }), Vec::<String>::new());
    assert_eq!(warnings(Geometry::new(vec![0.3], BINS)), Vec::<String>::new());
}

/// A volume many times as wide as what the detector sees is one in other units.
#[test]
fn a_volume_far_wider_than_the_detector_is_warned_of() {
    for (pixel_size, warned) in [(1.0, 0), (4.0, 0), (6.5, 1), (40.0, 1), (0.1, 0)] {
        let seen = warnings(Geometry { pixel_size, ..Geometry::new(half_turn(90), BINS) });
        assert_eq!(seen.len(), warned, "{seen:?}");
        assert!(seen.iter().all(|m| m.contains("are both in one unit?")), "{seen:?}");
    }
}
