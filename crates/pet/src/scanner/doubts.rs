//! Doubts about a scanner's units.

use super::Scanner;
use crate::units::Short;

/// From the z axis to a scanner's crystals, in mm: those of mice have 30, of whole bodies 450.
const RADII: std::ops::RangeInclusive<f64> = 10.0..=1500.0;
/// A window of coincidence is longer than this, in ps: a photon needs as much for 6 mm.
const SHORTEST_WINDOW: f64 = 20.0;

/// What seems wrong, for the log.
pub(crate) fn doubt(scanner: &Scanner) -> Option<String> {
    let faces = scanner.crystals.faces();
    let crystals = &faces[..faces.len() - 1];
    let mut radii: Vec<f32> = crystals.iter().map(|f| f.centre[0].hypot(f.centre[1])).collect();
    let middle = radii.len() / 2;
    let radius = f64::from(*radii.select_nth_unstable_by(middle, f32::total_cmp).1);
    if !RADII.contains(&radius) {
        let units = [("cm", 10.0), ("m", 1e3), ("um", 1e-3)];
        let unit = units.into_iter().find(|(_, factor)| RADII.contains(&(radius * factor)));
        let hint = unit.map_or(String::new(), |(name, _)| format!(", these seem to be in {name}"));
        return Some(format!(
            "half of the crystals are within {} mm of the z axis; positions must be in mm{hint}",
            Short(radius)
        ));
    }
    let bins = scanner.time_bins.as_ref()?;
    let [first, .., _] = bins.bins() else { return None };
    let [last, width] = bins.bins()[bins.count() - 1];
    let window = last + width - first[0];
    (window < SHORTEST_WINDOW).then(|| {
        format!(
            "time bins are of {} ps together; edges must be in ps, these seem to be in {}",
            Short(window),
            if window > 1e-2 { "ns" } else { "s" }
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::{Crystals, TimeBins};

    #[test]
    fn units_are_doubted() {
        let of = |radius: f64, edges: &[f64]| {
            let at = |k: usize| [radius * (k as f64).cos(), radius * (k as f64).sin(), k as f64];
            let crystals = Crystals::new(50, at, None, [0.0; 2]).expect("crystals");
            doubt(&Scanner { time_bins: Some(TimeBins::new(edges).expect("bins")), ..crystals.into() })
        };
        assert_eq!(of(390.0, &[-2000.0, 2000.0]), None);
        assert_eq!(of(15.0, &[-300.0, 0.0, 300.0]), None);
        let cm = of(8.0, &[-2000.0, 2000.0]).expect("a doubt");
        assert_eq!(
            cm,
            "half of the crystals are within 8 mm of the z axis; positions must be in mm, these seem to be in cm"
        );
        assert!(of(0.39, &[-2000.0, 2000.0]).expect("a doubt").ends_with("in m"));
        let ns = of(390.0, &[-2.0, 0.0, 2.0]).expect("a doubt");
        assert_eq!(ns, "time bins are of 4 ps together; edges must be in ps, these seem to be in ns");
        assert!(of(390.0, &[-2e-9, 2e-9]).expect("a doubt").ends_with("in s"));
    }
}
