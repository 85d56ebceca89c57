//! Layers of crystals: of those that lie behind each other, as where the depth of interaction is told, each is in a layer of its own.

use super::cells::Cells;
use super::face::Face;
use super::plane::{Plane, dot, on_face};
use isocenter_base::cpu::buffer::{collected, filled};
use isocenter_base::error::Result;

/// Places on a face that may be behind another crystal, in faces: layers may be moved against each other by half a crystal.
const PLACES: [[f64; 2]; 5] = [[0.0, 0.0], [-0.25, -0.25], [-0.25, 0.25], [0.25, -0.25], [0.25, 0.25]];
/// No crystal.
const NONE: u32 = u32::MAX;

/// The layer of each crystal, from the axis on: one more than the last of those that it is behind, as seen from the axis. Faces have a width and a height.
pub(super) fn layers(faces: &[Face]) -> Result<Vec<u8>> {
    let cells = Cells::new(faces)?;
    let planes: Vec<Plane> = collected(faces.iter().map(Plane::new))?;
    let mut order: Vec<u32> = collected(0..faces.len() as u32)?;
    let far = |k: &u32| planes[*k as usize].centre[0].hypot(planes[*k as usize].centre[1]);
    order.sort_by(|a, b| far(a).total_cmp(&far(b)));
    let mut layers: Vec<u8> = filled(faces.len(), 0)?;
    let mut outermost: Vec<u32> = filled(cells.len(), NONE)?;
    for k in order {
        let plane = &planes[k as usize];
        let [width, height] = plane.edges();
        let before = |[u, v]: [f64; 2]| {
            let at: [f64; 3] = std::array::from_fn(|d| plane.centre[d] + u * width[d] + v * height[d]);
            let front = outermost[cells.number(cells.of(at))?];
            let along = [at[0], at[1], 0.0];
            let (met, off) = planes.get(front as usize)?.meet([0.0, 0.0, at[2]], along)?;
            (on_face(off) && dot(met, along) > 0.0).then(|| layers[front as usize].saturating_add(1))
        };
        layers[k as usize] = PLACES.into_iter().filter_map(before).max().unwrap_or(0);
        let ([first, last], [low, high]) = cells.seen_from(plane, 0.0);
        for column in first..last {
            let along = cells.along(column);
            for row in low..high {
                let Some((met, off)) = plane.meet(cells.height(row), along) else { continue };
                if let Some(cell) = cells.number([column, row as i64]).filter(|_| on_face(off) && dot(met, along) > 0.0)
                {
                    outermost[cell] = k;
                }
            }
        }
    }
    Ok(layers)
}

#[cfg(test)]
mod tests {
    use super::super::{Blocks, Crystals};

    fn of(radii: &[f64], [across, up]: [f64; 2], size: [f64; 2]) -> Vec<u8> {
        let blocks = Blocks {
            blocks: 24,
            block_rings: 2,
            across: 5,
            along: 4,
            diameter: 0.0,
            pitch_across: 0.0,
            pitch_along: 5.0,
            block_pitch: 23.0,
            first_azimuth: 0.1,
        };
        let layer = |radius: f64| Blocks { diameter: 2.0 * radius, pitch_across: 4.9, ..blocks };
        let each = layer(100.0).count().expect("blocks");
        let crystal = |k: usize| {
            let (depth, k) = (k / each, k % each);
            let [[x, y, z], normal] = layer(radii[depth]).crystal(k);
            // Moved along the face, and up.
            let (s, part) = (across * depth as f64, depth as f64 * up);
            [[x - s * normal[1], y + s * normal[0], z + part], normal]
        };
        let normal = |k| crystal(k)[1];
        let crystals = Crystals::new(radii.len() * each, |k| crystal(k)[0], Some(&normal), size).expect("crystals");
        crystals.layers().expect("layers").to_vec()
    }

    /// Blocks are flat and meet at angles: crystals beside each other are of one layer, whatever is behind them, and however the layers are moved against each other.
    #[test]
    fn crystals_behind_others_are_layers() {
        let each = 24 * 2 * 5 * 4;
        assert_eq!(of(&[100.0], [0.0; 2], [4.9, 5.0]), vec![0; each]);
        // Of the same size as their distance, and a little more.
        assert_eq!(of(&[100.0], [0.0; 2], [4.91, 5.01]), vec![0; each]);
        for moved in [[0.0, 0.0], [2.45, 0.0], [0.0, 2.5], [2.45, 2.5]] {
            let found = of(&[100.0, 108.0], moved, [4.9, 5.0]);
            assert_eq!(&found[..each], vec![0; each], "{moved:?}");
            // At the ends and the blocks' edges a layer that is moved may be beside the other.
            let behind = found[each..].iter().filter(|layer| **layer == 1).count();
            assert!(behind as f64 > 0.99 * each as f64, "{moved:?}: {behind}");
        }
        let found = of(&[110.0, 100.0, 120.0], [0.0; 2], [4.9, 5.0]);
        let expected: Vec<u8> = [1, 0, 2].iter().flat_map(|layer| vec![*layer; each]).collect();
        assert_eq!(found, expected, "in any order");
    }
}
