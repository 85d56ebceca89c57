//! Attenuation maps in other units, or elsewhere.

use super::AttenuationMap;
use crate::cpu::buffer::reserved;
use crate::error::{Result, fail};
use crate::pet::lattice::Lattice;
use crate::pet::units::Short;

/// Of water, at 511 keV, 1/mm.
const WATER: f64 = 0.0096;
/// Below this, 1/mm, there is air, or what is left of it between voxels.
const AIR: f32 = 1e-4;

/// An error where no map can have such values, and what seems wrong with others, for the log.
pub(in crate::pet) fn doubt(map: &AttenuationMap, lattice: &Lattice) -> Result<Option<String>> {
    let [_, ny, nx] = map.shape;
    if let Some(k) = map.values.iter().position(|v| *v < 0.0) {
        let lowest = map.values.iter().copied().fold(0.0, f32::min);
        let hint =
            if lowest < -1.0 { ": these seem to be Hounsfield units, which isoc_pet_attenuation converts" } else { "" };
        let (at, v) = ([k / (ny * nx), k / nx % ny, k % nx], map.values[k]);
        fail!(OutOfRange, "attenuation{at:?} is {v} /mm; it must be at least 0{hint}");
    }
    let all = || map.values.iter().copied().filter(|v| *v > AIR);
    let mut dense: Vec<f32> = reserved(all().count())?;
    dense.extend(all());
    if dense.is_empty() {
        let largest = map.values.iter().copied().fold(0.0, f32::max);
        return Ok((largest > 0.0).then(|| {
            format!(
                "attenuation is {} /mm at most; water has {WATER} /mm at 511 keV, and values must be in 1/mm",
                Short(largest.into())
            )
        }));
    }
    let middle = dense.len() / 2;
    let median = f64::from(*dense.select_nth_unstable_by(middle, f32::total_cmp).1);
    let unit = match median / WATER {
        ..3.0 => return Ok(beside(map, lattice)),
        3.0..30.0 => "in 1/cm",
        300.0..3000.0 => "in 1/m",
        _ => "of another kind, such as Hounsfield units and 1000",
    };
    let half = "half of the attenuation that is not 0 is at least";
    let text = format!("{half} {} /mm; water has {WATER} /mm at 511 keV: these seem to be {unit}", Short(median));
    // Denser than any element.
    if median > 0.5 {
        fail!(OutOfRange, "{text}");
    }
    Ok(Some(text))
}

/// A map that the lattice has no part of.
fn beside(map: &AttenuationMap, lattice: &Lattice) -> Option<String> {
    let [nz, ny, nx] = map.shape;
    let (axis, name) = ["x", "y", "z"].into_iter().enumerate().find(|(axis, _)| {
        let half = |count: usize, voxel: f64| 0.5 * voxel * count as f64;
        let reach = half([nx, ny, nz][*axis], map.voxel[*axis]) + half(lattice.along()[*axis], lattice.voxel()[*axis]);
        map.centre[*axis].abs() >= reach
    })?;
    let centre = Short(map.centre[axis]);
    Some(format!("the attenuation map is beside the lattice along {name}: options.map_centre_{name} is {centre} mm"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(scale: f32, offset: f32) -> Result<Option<String>> {
        let values: Vec<f32> = (0..60).map(|k| if k < 30 { offset } else { scale * (1.0 + 0.01 * k as f32) }).collect();
        placed(&values, [0.0; 3])
    }

    fn placed(values: &[f32], centre: [f64; 3]) -> Result<Option<String>> {
        let lattice = Lattice::new([6, 10, 8], [2.0; 3]).expect("lattice");
        doubt(&AttenuationMap { values, shape: [3, 4, 5], voxel: [1.0; 3], centre }, &lattice)
    }

    #[test]
    fn maps_elsewhere_are_doubted() {
        let water = [0.0096; 60];
        // Halves of 2.5, 2, 1.5 mm and of 8, 10, 6 mm.
        assert_eq!(placed(&water, [10.4, -11.9, 7.4]), Ok(None));
        let told = placed(&water, [0.0, 0.0, -7.5]).expect("a doubt").expect("a doubt");
        assert_eq!(told, "the attenuation map is beside the lattice along z: options.map_centre_z is -7.5 mm");
        assert!(placed(&water, [10.5, 0.0, 0.0]).expect("a doubt").expect("a doubt").contains("along x"));
    }

    #[test]
    fn units_are_told_by_water() {
        assert_eq!(of(0.0096, 0.0), Ok(None));
        assert_eq!(of(0.0096 * 1.7, 0.0), Ok(None), "bone");
        assert_eq!(of(0.0, 0.0), Ok(None), "air alone");
        assert!(of(0.096, 0.0).expect("a doubt").expect("a doubt").ends_with("in 1/cm"));
        assert!(of(9.6, 0.0).expect_err("no map").message.ends_with("in 1/m"));
        assert!(of(1000.0, 0.0).expect_err("no map").message.contains("Hounsfield"));
        assert!(of(9.6e-6, 0.0).expect("a doubt").expect("a doubt").contains("1/mm"));
        let e = of(40.0, -1000.0).expect_err("no map");
        assert_eq!(
            e.message,
            "attenuation[0, 0, 0] is -1000 /mm; it must be at least 0: these seem to be Hounsfield units, which \
             isoc_pet_attenuation converts"
        );
    }
}
