use super::super::events::interleaved;
use super::super::phantom::{Object, Phantom};
use super::super::plan::Pet;
use super::super::response::Radial;
use super::super::simulation::{Background, Resolution, Scan, Scanner, Source};
use super::super::views::Views;
use super::*;
use isocenter_base::array::ArrayMut;
use isocenter_base::context::{Compute, Context, ContextOptions, LogLevel};
use isocenter_base::phantom::Shape;
use std::sync::{Arc, Mutex};

const TILT: f64 = 0.1745;

/// An honest scan: a lattice, and events in mm and ps.
struct Case {
    name: &'static str,
    lattice: Lattice,
    events: Vec<[f64; 7]>,
}

/// Warnings of one deposit.
fn warnings(lattice: Lattice, events: &[[f64; 7]]) -> Vec<String> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let to = told.clone();
    let log = Box::new(move |level: LogLevel, message: &str| {
        if level == LogLevel::Warning {
            to.lock().unwrap().push(message.to_owned());
        }
    });
    let options = ContextOptions { compute: Compute::Cpu, threads: 2, log: Some(log), ..ContextOptions::default() };
    let mut pet = Pet::new(Arc::new(Context::new(options).unwrap()));
    pet.set_geometry(lattice, Views::grid(2, 1, TILT).unwrap()).unwrap();
    let [nz, ny, nx] = lattice.shape();
    let mut counts = vec![0u32; 2 * lattice.voxels()];
    let histos = ArrayMut::of(&mut counts, [2, nz, ny, nx]).unwrap();
    pet.deposit(&interleaved::read(events), histos).unwrap();
    told.lock().unwrap().clone()
}

fn case(
    name: &'static str,
    (shape, voxel): ([usize; 3], f64),
    [diameter, axial_length]: [f64; 2],
    (body, time, randoms): (Shape, f64, f64),
) -> Case {
    let phantom = Phantom::new(vec![Object { shape: body, activity: 1.0, attenuation: 0.002 }]).unwrap();
    let scan = Scan {
        source: Source::Phantom(&phantom),
        attenuation: &phantom,
        map: None,
        scanner: Scanner { diameter, axial_length, max_tilt: TILT },
        resolution: Resolution { time, radial: Radial::Constant(1.5), axial: 1.5 },
        background: Background { randoms, scatter: 0.2, scatter_sigma: 0.2 * diameter, window: 3000.0, compton: None },
    };
    let context =
        Context::new(ContextOptions { compute: Compute::Cpu, threads: 2, ..ContextOptions::default() }).unwrap();
    let mut events = vec![[0.0; 7]; 20_000];
    scan.simulate(&context, 5, interleaved::written(&mut events)).unwrap();
    Case { name, lattice: Lattice::new(shape, [voxel; 3]).unwrap(), events }
}

fn honest() -> Vec<Case> {
    let cylinder = |radius, length| Shape::Cylinder { centre: [0.0; 3], radius, length };
    let aside = Shape::sphere([190.0, -120.0, 40.0], 20.0);
    let (body, mouse) = ([930.0, 250.0], [80.0, 130.0]);
    vec![
        case("a body", ([20, 72, 72], 8.0), body, (cylinder(160.0, 300.0), 400.0, 0.3)),
        case("nearly randoms alone", ([20, 72, 72], 8.0), body, (cylinder(160.0, 300.0), 400.0, 0.75)),
        case("a phantom off the axis", ([20, 72, 72], 8.0), body, (aside, 210.0, 0.0)),
        case("a point in the middle", ([20, 72, 72], 8.0), body, (Shape::sphere([0.0; 3], 0.5), 60.0, 0.0)),
        case("no blur of time", ([20, 72, 72], 8.0), body, (cylinder(160.0, 300.0), 0.0, 0.0)),
        case("a head in detail", ([64, 32, 32], 4.0), body, (cylinder(90.0, 180.0), 300.0, 0.2)),
        case("one slice, smaller than the object", ([1, 40, 40], 4.0), body, (cylinder(160.0, 300.0), 400.0, 0.3)),
        case("a mouse", ([100, 64, 64], 0.6), mouse, (cylinder(15.0, 80.0), 350.0, 0.3)),
        case("a mouse off the axis", ([100, 64, 64], 0.6), mouse, (Shape::sphere([11.0, 9.0, 20.0], 4.0), 350.0, 0.0)),
        case("a lattice about all of the detectors", ([100, 80, 80], 1.2), mouse, (cylinder(15.0, 80.0), 350.0, 0.3)),
    ]
}

fn scaled(events: &[[f64; 7]], positions: f64, times: f64) -> Vec<[f64; 7]> {
    let scale = |e: &[f64; 7]| std::array::from_fn(|c| e[c] * if c < 6 { positions } else { times });
    events.iter().map(scale).collect()
}

#[test]
fn honest_scans_are_not_doubted() {
    for Case { name, lattice, events } in honest() {
        assert_eq!(warnings(lattice, &events), [""; 0], "{name}");
        // Nor a few of the events, nor with stray ones among them.
        assert_eq!(warnings(lattice, &events[..100]), [""; 0], "{name}");
        let mut some = events.clone();
        some.iter_mut().step_by(20).for_each(|e| *e = [0.0, 0.0, f64::NAN, 1e300, 0.0, 0.0, 1e9]);
        some.iter_mut().skip(1).step_by(20).for_each(|e| e[6] = 1e12);
        assert_eq!(warnings(lattice, &some), [""; 0], "{name}");
    }
}

#[test]
fn a_lattice_larger_than_the_scanner_is_no_mistake() {
    let Case { events, .. } = honest().remove(0);
    let lattice = Lattice::new([20, 160, 160], [8.0; 3]).unwrap();
    assert_eq!(warnings(lattice, &events), [""; 0]);
}

#[test]
fn most_events_are_not_lost_without_a_word() {
    let Case { lattice, events, .. } = honest().remove(0);
    // z, y, x: detectors lie anywhere along the scanner.
    let turned: Vec<[f64; 7]> = events.iter().map(|e| [e[2], e[1], e[0], e[5], e[4], e[3], e[6]]).collect();
    for (events, words) in [
        (turned, "tilted beyond max_tilt"),
        (vec![[f64::NAN; 7]; 100], "100 % of the events have a NaN"),
        (vec![[300.0, 0.0, 0.0, 300.0, 0.0, 0.0, 0.0]; 100], "twice the same position"),
    ] {
        let said = warnings(lattice, &events);
        assert!(said.len() == 1 && said[0].contains(words), "{words}: {said:?}");
    }
}

#[test]
fn other_units_are_named_once() {
    for Case { name, lattice, events } in honest() {
        for (positions, times, words) in [
            (0.1, 1.0, "these seem to be in cm"),
            (1e-3, 1.0, "these seem to be in m"),
            (1.0, 1e-3, "these seem to be in ns"),
            (1.0, 1e-12, "these seem to be in s"),
            (1.0, 1e-6, "these seem to be in us"),
            (1.0, 0.0, "they are all 0"),
            // Both: of the positions first.
            (0.1, 1e-3, "these seem to be in cm"),
            (1e3, 1.0, "these seem to be in um"),
            (1e3, 1e3, "these seem to be in um"),
        ] {
            // The middle between detectors is where a point in the middle is.
            if name == "a point in the middle" && positions > 1.0 {
                continue;
            }
            let said = warnings(lattice, &scaled(&events, positions, times));
            assert_eq!(said.len(), 1, "{name}, {positions} {times}: {said:?}");
            assert!(said[0].contains(words), "{name}, {positions} {times}: {}", said[0]);
        }
    }
}

/// An event in the middle between its detectors stays there, whatever its time is multiplied by.
#[test]
fn times_that_are_too_large_are_named() {
    for Case { name, lattice, events } in honest().into_iter().filter(|c| !c.name.contains("mouse")) {
        let said = warnings(lattice, &scaled(&events, 1.0, 1e3));
        assert_eq!(said.len(), 1, "{name}: {said:?}");
        assert!(
            said[0].contains("beyond their detectors") && said[0].contains("these seem to be in fs"),
            "{name}: {}",
            said[0]
        );
    }
}

#[test]
fn a_lattice_in_metres_is_named() {
    let Case { lattice, events, .. } = &honest()[0];
    let metres = Lattice::new(lattice.shape(), lattice.voxel().map(|v| v / 1e3)).unwrap();
    let said = warnings(metres, events);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("all events are outside the lattice, which is 0.576 x 0.576 x 0.16 mm; detectors are 9"),
        "{}",
        said[0]
    );
}

fn moved(events: &[[f64; 7]], by: [f64; 3]) -> Vec<[f64; 7]> {
    events.iter().map(|e| std::array::from_fn(|c| if c < 6 { e[c] + by[c % 3] } else { e[c] })).collect()
}

#[test]
fn another_origin_is_named() {
    let Case { events, .. } = honest().remove(0);
    let lattice = Lattice::new([40, 44, 44], [8.0; 3]).unwrap();
    assert_eq!(warnings(lattice, &events), [""; 0]);
    // A little of the body stays inside.
    for (by, percent) in
        [([300.0, 0.0, 0.0], "outside the lattice"), ([0.0, 0.0, 2000.0], "100 % of the events are outside")]
    {
        let said = warnings(lattice, &moved(&events, by));
        assert!(said.len() == 1 && said[0].contains(percent), "{said:?}");
        assert!(said[0].contains("positions must be from the middle of the scanner"), "{said:?}");
    }
}

#[test]
fn what_is_lost_for_several_reasons_is_counted() {
    let Case { lattice, mut events, .. } = honest().remove(0);
    events.iter_mut().step_by(3).for_each(|e| e[2] = f64::NAN);
    events.iter_mut().skip(1).step_by(3).for_each(|e| e[2] += 900.0);
    let said = warnings(lattice, &events);
    assert!(said.len() == 1 && said[0].contains("of 20000 events are dropped: "), "{said:?}");
    assert!(said[0].contains(" tilted beyond max_tilt") && said[0].contains("6667 with a NaN or Inf"), "{said:?}");
}

/// A lattice that is smaller than the object drops most events, rightly so: the log can tell, and does not warn.
#[test]
fn a_small_lattice_is_told_of() {
    let Case { events, .. } = honest().remove(0);
    let lattice = Lattice::new([1, 40, 40], [4.0; 3]).unwrap();
    assert_eq!(warnings(lattice, &events), [""; 0]);
    let dropped = Dropped { outside_lattice: 19_000, outside_tilts: 10, ..Dropped::default() };
    let told = tell(&dropped, &lattice, 20_000).unwrap();
    assert_eq!(
        told,
        "19010 of 20000 events are dropped: 19000 outside the lattice, 10 tilted beyond max_tilt; the lattice is 160 x 160 x 4 mm \
         about 0, 0, 0"
    );
    assert_eq!(tell(&Dropped { outside_lattice: 9000, ..Dropped::default() }, &lattice, 20_000), None);
}

#[test]
fn few_events_say_nothing() {
    let Case { lattice, events, .. } = &honest()[0];
    assert_eq!(warnings(*lattice, &scaled(&events[..MIN_EVENTS - 1], 0.1, 1.0)), [""; 0]);
    assert_eq!(warnings(*lattice, &scaled(&events[..MIN_EVENTS], 0.1, 1.0)).len(), 1);
}

/// Lines along the scanner end above and below the lattice, not beside it.
#[test]
fn lines_along_the_scanner_are_not_doubted() {
    let lattice = Lattice::new([20, 40, 40], [5.0; 3]).unwrap();
    let event = |k: usize| [k as f64 % 30.0, 20.0, 300.0, 0.0, -10.0, -300.0, 17.0 * (k % 9) as f64];
    let said = warnings(lattice, &(0..1000).map(event).collect::<Vec<_>>());
    assert!(
        said.len() == 1 && said[0].contains("tilted beyond max_tilt") && !said[0].contains("seem to be"),
        "{said:?}"
    );
}
