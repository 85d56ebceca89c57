//! Maps of attenuation, in 1/mm at 511 keV.

use super::images::{Volume, read_nifti};
use super::options::Unit;
use super::position::Position;
use super::told::general;
use anyhow::{Result, bail};
use isocenter::array::{Array, ArrayMut};
use isocenter::pet::Pet;
use std::path::Path;

/// In 1/mm: water has 0.0096, the lung a third of that, bone 0.017. Voxels that attenuate have the first or more, and few of a body less than the second or more than
/// the third.
const SOME: f32 = 1e-4;
const LEAST: f32 = 0.0015;
const MOST: f32 = 0.02;
/// Parts of the voxels that attenuate, above which more than bone and less than the lung are told: of the first there is metal, of the second edges and beds.
const FEW: f64 = 0.05;
const EDGES: f64 = 0.25;
/// Hounsfield units are below the first in air; lead, the densest of materials that are used, has 0.17 /mm, so that values above the second are in no unit of attenuation.
const AIR: f32 = -50.0;
const DENSE: f32 = 5.0;
/// Values below 0 by less, over the largest, are what resampling leaves of 0.
const ROUNDING: f32 = 1e-6;
/// A fifth of water.
const BODY: f32 = 0.002;

/// A map as its file has it, and its unit.
pub fn read(path: &Path, unit: Option<Unit>, position: Position) -> Result<(Volume, Unit)> {
    let map = read_nifti(path, position)?;
    let known =
        [Unit::Millimetres, Unit::Centimetres, Unit::Hounsfield].into_iter().find(|unit| unit.name() == map.unit);
    let unit = unit.or(known).unwrap_or(Unit::Millimetres);
    Ok((map, unit))
}

/// The map in 1/mm; `doubt` is told where its values look like those of another unit.
pub fn in_millimetres(pet: &Pet, map: &mut Volume, unit: Unit, kilovolts: f64, doubt: &dyn Fn(String)) -> Result<()> {
    let [low, high] = ends(&map.image);
    let [from, to] = [low, high].map(|v| general(v.into(), 4));
    let said = format!("the map of attenuation is taken to be in {}, but its values, {from} to {to}", unit.name());
    let seen = looks_like(&map.image);
    if unit == Unit::Hounsfield {
        match seen {
            Some(Unit::Hounsfield) => {}
            Some(other) => bail!("{said}, are in {}: give --unit {}", other.name(), other.name()),
            None => doubt(format!("{said}, look like no unit of a body")),
        }
        let units = map.image.clone();
        pet.attenuation(kilovolts, &Array::new(&units, map.shape)?, &mut ArrayMut::new(&mut map.image, map.shape)?)?;
        return Ok(());
    }
    if low < AIR || high > DENSE {
        bail!("{said}, are Hounsfield units: give --unit HU");
    }
    without_rounding(&mut map.image, [low, high], doubt);
    if unit == Unit::Centimetres {
        map.image.iter_mut().for_each(|v| *v *= 0.1);
    }
    for ((what, part), most) in strange(&map.image, 1.0).into_iter().zip([FEW, EDGES]) {
        if part > most {
            let other =
                seen.filter(|other| *other != unit).map_or(String::new(), |o| format!(": they look like {}", o.name()));
            let percent = general(100.0 * part, 3);
            doubt(format!("{said}, are {what} in {percent} % of the voxels that attenuate{other}"));
        }
    }
    Ok(())
}

/// Which voxels of a lattice `[z][y][x]` attenuate as a body does: those of the map that are nearest, above a fifth of water.
pub fn body(map: &Volume, shape: [usize; 3], voxel: f64, centre: [f64; 3]) -> Vec<bool> {
    let at = [0, 1, 2].map(|axis| {
        let (n, of) = (shape[2 - axis], map.shape[2 - axis]);
        let place = |j: usize| centre[axis] + (j as f64 - (n as f64 - 1.0) / 2.0) * voxel - map.centre[axis];
        let nearest = |j: usize| (place(j) / map.voxel[axis] + (of as f64 - 1.0) / 2.0).round_ties_even();
        (0..n).map(|j| nearest(j).clamp(0.0, of as f64 - 1.0) as usize).collect::<Vec<_>>()
    });
    let [_, ny, nx] = map.shape;
    let rows = at[2].iter().flat_map(|z| at[1].iter().map(move |y| (z * ny + y) * nx));
    rows.flat_map(|row| at[0].iter().map(move |x| row + x)).map(|k| map.image[k] > BODY).collect()
}

fn ends(values: &[f32]) -> [f32; 2] {
    values.iter().fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], v| [low.min(*v), high.max(*v)])
}

/// The map without values that are below 0 by rounding alone; others stay, and are errors.
fn without_rounding(values: &mut [f32], [low, high]: [f32; 2], doubt: &dyn Fn(String)) {
    if !(low < 0.0 && low >= -ROUNDING * high.max(LEAST)) {
        return;
    }
    let count = values.iter().filter(|v| **v < 0.0).count();
    let lowest = general(low.into(), 2);
    doubt(format!("the map of attenuation has {count} values below 0, {lowest} at least, which are taken for 0"));
    values.iter_mut().for_each(|v| *v = v.max(0.0));
}

/// Which part of the voxels that attenuate, of a map in 1/mm after it is scaled, have more than bone, and less than the lung.
fn strange(values: &[f32], scale: f32) -> Vec<(String, f64)> {
    let count = |is: &dyn Fn(f32) -> bool| values.iter().filter(|v| is(**v * scale)).count() as f64;
    let some = count(&|v| v > SOME);
    if some == 0.0 {
        return vec![(format!("below {SOME} /mm everywhere, which is air,"), 1.0)];
    }
    vec![
        (format!("above {MOST} /mm, more than bone has,"), count(&|v| v > MOST) / some),
        (format!("below {LEAST} /mm, less than the lung has,"), count(&|v| v > SOME && v < LEAST) / some),
    ]
}

/// The unit in which a map is most of all a body's, None of none.
fn looks_like(values: &[f32]) -> Option<Unit> {
    let [low, high] = ends(values);
    if low < AIR || high > DENSE {
        return Some(Unit::Hounsfield);
    }
    let part = |scale| strange(values, scale).into_iter().map(|(_, part)| part).fold(0.0, f64::max);
    let [mm, cm] = [part(1.0), part(0.1)];
    let (best, part) = if mm <= cm { (Unit::Millimetres, mm) } else { (Unit::Centimetres, cm) };
    (part < 0.5).then_some(best)
}
