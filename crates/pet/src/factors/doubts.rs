//! Attenuation maps in other units, or elsewhere.

use super::AttenuationMap;
use crate::lattice::Lattice;
use crate::units::Short;
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Of water, at 511 keV, 1/mm.
pub(crate) const WATER: f64 = 0.0096;
/// Below this, 1/mm, there is air, or what is left of it between voxels.
const AIR: f32 = 1e-4;
/// Where half of what is dense has at most this, 1/mm, there is no doubt.
const USUAL: f32 = 2.0 * WATER as f32;

/// An error where no map can have such values, and what seems wrong with others, for the log.
pub(crate) fn doubt(map: &AttenuationMap, lattice: &Lattice) -> Result<Option<String>> {
    let [_, ny, nx] = map.shape;
    // All of a part, which is quicker than to stop within it.
    let is_below = |part: &[f32]| part.iter().fold(false, |found, v| found | (*v < 0.0));
    let below: Vec<bool> = map.values.par_chunks(PART).map(is_below).collect();
    let first = below.iter().position(|found| *found).map_or(map.values.len(), |part| part * PART);
    if let Some(k) = map.values[first..].iter().position(|v| *v < 0.0).map(|k| first + k) {
        let lowest = map.values.iter().copied().fold(0.0, f32::min);
        let hint =
            if lowest < -1.0 { ": these seem to be Hounsfield units, which isoc_pet_attenuation converts" } else { "" };
        let (at, v) = ([k / (ny * nx), k / nx % ny, k % nx], map.values[k]);
        fail!(OutOfRange, "attenuation{at:?} is {v} /mm; it must be at least 0{hint}");
    }
    // Of most maps the median need not be found: more than half of what is dense is so light.
    let count = |part: &[f32]| [AIR, USUAL].map(|least| part.iter().filter(|v| **v > least).count());
    let counts = map.values.par_chunks(PART).map(count);
    let [dense, heavy] = counts.reduce(|| [0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
    if dense - heavy > dense / 2 {
        return Ok(beside(map, lattice));
    }
    let Some(median) = median(map.values) else {
        let largest = map.values.iter().copied().fold(0.0, f32::max);
        return Ok((largest > 0.0).then(|| {
            format!(
                "attenuation is {} /mm at most; water has {WATER} /mm at 511 keV, and values must be in 1/mm",
                Short(largest.into())
            )
        }));
    };
    let median = f64::from(median);
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

/// Bits of a number that are told apart at a time, and how often each of their values is there.
const DIGIT: u32 = 8;
type Counts = [u64; 1 << DIGIT];
/// Values that a thread takes at a time.
const PART: usize = 1 << 16;

/// The middle one of the values that are more than [`AIR`], of two the upper; None: there are none. Bits ascend as numbers above 0 do, so it is found digit by
/// digit among those that begin as it does, without a copy of a map that may be most of the memory.
fn median(values: &[f32]) -> Option<f32> {
    let (mut known, mut rank) = (0u32, None);
    for shift in [24, 16, 8, 0] {
        let count = |mut counts: Counts, part: &[f32]| {
            for bits in part.iter().filter(|v| **v > AIR).map(|v| v.to_bits()) {
                // In 64 bits, since first nothing is known, and all 32 are shifted out.
                if u64::from(bits) >> (shift + DIGIT) == u64::from(known) {
                    counts[(bits >> shift) as usize % (1 << DIGIT)] += 1;
                }
            }
            counts
        };
        let sum = |mut a: Counts, b: Counts| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let zero = || [0; 1 << DIGIT];
        let counts = values.par_chunks(PART).map(|part| count(zero(), part)).reduce(zero, sum);
        let mut rest = rank.unwrap_or(counts.iter().sum::<u64>() / 2);
        let digit = counts.iter().position(|n| {
            let is_here = rest < *n;
            rest -= if is_here { 0 } else { *n };
            is_here
        })?;
        (known, rank) = (known << DIGIT | digit as u32, Some(rest));
    }
    Some(f32::from_bits(known))
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
    use crate::cases::noise;

    fn of(scale: f32, offset: f32) -> Result<Option<String>> {
        let values: Vec<f32> = (0..60).map(|k| if k < 30 { offset } else { scale * (1.0 + 0.01 * k as f32) }).collect();
        placed(&values, [0.0; 3])
    }

    fn placed(values: &[f32], centre: [f64; 3]) -> Result<Option<String>> {
        let lattice = Lattice::new([6, 10, 8], [2.0; 3]).expect("lattice");
        doubt(&AttenuationMap { values, shape: [3, 4, 5], voxel: [1.0; 3], centre }, &lattice)
    }

    #[test]
    fn the_median_is_the_sorted_values_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[0.0, AIR]), None);
        for count in [1, 2, 3, 1000, 3 * PART + 5] {
            // Of both signs, over some orders of magnitude, many of them equal.
            let value = |(k, v): (usize, f32)| if k % 3 == 0 { 0.0096 } else { v * 10f32.powi(k as i32 % 9 - 4) };
            let values: Vec<f32> = noise(count, 7).into_iter().enumerate().map(value).collect();
            let mut dense: Vec<f32> = values.iter().copied().filter(|v| *v > AIR).collect();
            dense.sort_by(f32::total_cmp);
            assert_eq!(median(&values), Some(dense[dense.len() / 2]), "{count}");
        }
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
