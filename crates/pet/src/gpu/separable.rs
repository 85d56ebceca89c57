//! Kernels of a view that have, in each of their columns along z, the same values but for a factor: those that are cut by boxes,
//! where voxels are sampled at their centres or lines lie in the transverse plane. The radial profile alone varies then, and that
//! does not depend on z.

use crate::tables::Tables;
use isocenter_base::cpu::buffer::{collected, zeros};
use isocenter_base::error::Result;

/// Sum of the errors of a kernel's values, beside their sum of 1: what f32 rounds.
const ROUNDING: f64 = 2.0 / (1u32 << 23) as f64;

#[derive(Debug)]
pub(super) struct Separable {
    /// Of each offset: its column. Opposite columns are as far from the first and from the last.
    pub(super) columns: Vec<u32>,
    /// Of each offset.
    pub(super) common: Vec<f32>,
    /// `[identifier][column]`
    pub(super) factors: Vec<f32>,
}

impl Separable {
    /// None if the kernels are not so.
    pub(super) fn new(tables: &Tables) -> Result<Option<Self>> {
        let (offsets, values) = (tables.offsets(), tables.values());
        let column = |o: &[i32; 3]| [o[1], o[0]];
        let mut places = collected(offsets.iter().map(column))?;
        places.sort_unstable();
        places.dedup();
        let columns = collected(offsets.iter().map(|o| places.partition_point(|p| *p < column(o)) as u32))?;
        let mut members: Vec<Vec<usize>> = collected(places.iter().map(|_| Vec::new()))?;
        columns.iter().enumerate().for_each(|(i, c)| members[*c as usize].push(i));

        let rows = || values.chunks_exact(offsets.len());
        let mut common = zeros(offsets.len())?;
        let mut factors = zeros(tables.identifiers() * places.len())?;
        let mut errors: Vec<f64> = zeros(tables.identifiers())?;
        for (c, members) in members.iter().enumerate() {
            let product =
                |a: &[f32], b: &[f32]| members.iter().map(|i| f64::from(a[*i]) * f64::from(b[*i])).sum::<f64>();
            let Some(largest) = rows().max_by(|a, b| product(a, a).total_cmp(&product(b, b))) else { continue };
            let square = product(largest, largest);
            if square == 0.0 {
                continue;
            }
            for (a, (row, error)) in rows().zip(&mut errors).enumerate() {
                let factor = (product(row, largest) / square) as f32;
                factors[a * places.len() + c] = factor;
                *error += members.iter().map(|i| f64::from(factor * largest[*i] - row[*i]).abs()).sum::<f64>();
            }
            members.iter().for_each(|i| common[*i] = largest[*i]);
        }
        let separable = errors.iter().all(|e| *e <= ROUNDING);
        Ok(separable.then_some(Self { columns, common, factors }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::{lattices, responses, view};
    use crate::lattice::Lattice;
    use crate::response::{Cut, Radial, Response, Shape};

    fn varying(cut: Shape) -> Response {
        let radial = Radial::Table { radius: vec![0.0, 100.0], fwhm: vec![6.0, 12.0] };
        Response { cut: Cut { shape: cut, k: 3.0 }, ..Response::new(300.0, radial, 6.0) }
    }

    #[test]
    fn boxes_of_fine_voxels_factor() {
        let lattice = Lattice::new([40, 60, 60], [2.0; 3]).expect("valid");
        for (azimuth, tilt) in [(0.0, 0.0), (20.0, 7.0), (75.0, -9.0)] {
            let view = view(azimuth, tilt);
            let found = |cut| {
                let tables = Tables::new(&lattice, &view, &varying(cut)).expect("valid");
                assert!(tables.identifiers() > 10);
                Separable::new(&tables).expect("memory")
            };
            assert!(found(Shape::Box).is_some(), "{azimuth} {tilt}");
            // Those cut by an ellipsoid are shorter along z where they are wider, unless there is one plane.
            assert!(found(Shape::Ellipsoid).is_none(), "{azimuth} {tilt}");
        }
    }

    #[test]
    fn products_are_the_kernels() {
        let mut factored = 0;
        for lattice in lattices() {
            for (name, response) in responses() {
                for (azimuth, tilt) in [(10.0, 0.0), (90.0, 6.0), (171.0, -6.67)] {
                    let Ok(tables) = Tables::new(&lattice, &view(azimuth, tilt), &response) else { continue };
                    let Some(found) = Separable::new(&tables).expect("memory") else { continue };
                    let n = tables.offsets().len();
                    let columns = found.factors.len() / tables.identifiers();
                    for (a, row) in tables.values().chunks_exact(n).enumerate() {
                        let at = |i: usize| found.factors[a * columns + found.columns[i] as usize] * found.common[i];
                        let error: f64 = (0..n).map(|i| f64::from((at(i) - row[i]).abs())).sum();
                        assert!(error <= ROUNDING, "{name} {azimuth} {tilt}: {error:e}");
                    }
                    for (i, c) in found.columns.iter().enumerate() {
                        assert_eq!(*c, columns as u32 - 1 - found.columns[n - 1 - i]);
                    }
                    factored += usize::from(tables.identifiers() > 1);
                }
            }
        }
        assert!(factored > 0);
    }
}
