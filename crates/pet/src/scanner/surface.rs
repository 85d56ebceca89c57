//! Which crystals a line meets.
//!
//! A map of azimuth and z tells a crystal for each direction from the axis; where a line meets that crystal's plane is another place on the map,
//! until the crystal is the one before: blocks are flat, and lines do not go through the axis. Crystals that lie behind others have maps of their own,
//! one for each layer.

use super::cells::{Cells, MARGIN};
use super::crystals::Crystals;
use super::plane::{Plane, dot, minus, on_face};
use isocenter_base::cpu::buffer::{collected, filled};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};

/// Rows of cells that are filled together.
const BAND: usize = 16;
/// Cells about one that are searched where no crystal is met: one and a half crystals.
const NEAR: i64 = 5;
/// Planes that a line is met with at most.
const STEPS: usize = 4;
/// No crystal.
const NONE: u32 = u32::MAX;
/// Most layers of crystals behind each other.
pub(crate) const MAX_LAYERS: usize = 8;

/// Finds crystals that lines meet.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    planes: Vec<Plane>,
    cells: Cells,
    layers: usize,
    /// `[layer][z][azimuth]`
    map: Vec<u32>,
}

/// How large a surface is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Of the maps.
    pub(crate) cells: usize,
    /// Bytes while it is made.
    pub(crate) making: u64,
}

/// What a surface is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) planes: &'a [Plane],
    pub(crate) radius: f64,
    pub(crate) cells: [usize; 2],
    pub(crate) lowest: f64,
    pub(crate) per_mm: f64,
    pub(crate) layers: usize,
    pub(crate) seen: &'a [u32],
}

/// Cells that each crystal may be seen in, along azimuth and z.
type Seen = ([i64; 2], [usize; 2]);

impl Surface {
    pub(crate) fn parts(&self) -> Parts<'_> {
        let Self { planes, cells: Cells { count, lowest, per_mm, radius }, layers, map } = self;
        Parts { planes, radius: *radius, cells: *count, lowest: *lowest, per_mm: *per_mm, layers: *layers, seen: map }
    }

    /// Crystals must have faces.
    pub(crate) fn new(crystals: &Crystals) -> Result<Self> {
        let faces = &crystals.faces()[..crystals.count()];
        let (cells, layers) = (Cells::new(faces)?, Self::layers_of(crystals)?);
        let planes: Vec<Plane> = collected(faces.iter().map(Plane::new))?;
        let mut surface = Self { cells, layers, map: filled(layers * cells.len(), NONE)?, planes };
        surface.fill(crystals.layers()?)?;
        Ok(surface)
    }

    fn layers_of(crystals: &Crystals) -> Result<usize> {
        let layers = crystals.layers()?.iter().max().map_or(1, |last| usize::from(*last) + 1);
        if layers > MAX_LAYERS {
            fail!(
                OutOfRange,
                "{layers} or more crystals lie behind each other, as seen from the axis; lines cross {MAX_LAYERS} layers at most: leave out those that detect little"
            );
        }
        Ok(layers)
    }

    /// How large one is, before it is made.
    pub(crate) fn size(crystals: &Crystals) -> Result<Size> {
        let of_layer = Cells::new(&crystals.faces()[..crystals.count()])?.len();
        let cells = of_layer * Self::layers_of(crystals)?;
        let a_crystal = size_of::<Plane>() + size_of::<Seen>();
        let making = crystals.count() * a_crystal + cells * size_of::<u32>() + of_layer * size_of::<f32>();
        Ok(Size { cells, making: making as u64 })
    }

    /// Tells each cell of a layer its nearest crystal: the one on whose face, or least beyond it, its direction from the axis is.
    fn fill(&mut self, of_layers: &[u8]) -> Result<()> {
        let mut off: Vec<f32> = filled(self.cells.len(), f32::INFINITY)?;
        let seen: Vec<Seen> = collected(self.planes.iter().map(|plane| self.cells.seen_from(plane, MARGIN)))?;
        let (planes, cells) = (&self.planes, self.cells);
        let [around, along] = cells.count;
        for (layer, map) in self.map.chunks_mut(cells.len()).enumerate() {
            off.fill(f32::INFINITY);
            let bands = map.par_chunks_mut(BAND * around).zip(off.par_chunks_mut(BAND * around)).enumerate();
            bands.for_each(|(band, (map, off))| {
                let (from, to) = (band * BAND, (band * BAND + BAND).min(along));
                let of_layer = seen.iter().enumerate().filter(|(k, _)| usize::from(of_layers[*k]) == layer);
                for (k, ([first, last], [low, high])) in of_layer {
                    let (low, high) = (from.max(*low), to.min(*high));
                    if low >= high {
                        continue;
                    }
                    for a in *first..*last {
                        let direction = cells.along(a);
                        let column = a.rem_euclid(around as i64) as usize;
                        for row in low..high {
                            let Some((at, place)) = planes[k].meet(cells.height(row), direction) else { continue };
                            let beyond = place[0].abs().max(place[1].abs());
                            let cell = (row - from) * around + column;
                            if dot(at, direction) > 0.0 && beyond < 0.5 + MARGIN && (beyond as f32) < off[cell] {
                                (off[cell], map[cell]) = (beyond as f32, k as u32);
                            }
                        }
                    }
                }
            });
        }
        Ok(())
    }

    /// The crystal of a layer in a cell.
    fn seen(&self, layer: usize, cell: [i64; 2]) -> u32 {
        self.cells.number(cell).map_or(NONE, |cell| self.map[layer * self.cells.len() + cell])
    }

    /// The nearest crystal that a line meets of those about a cell: where blocks meet at an angle, that of one's plane is behind the other's.
    fn search(
        &self,
        layer: usize,
        (place, along): ([f64; 3], [f64; 3]),
        [column, row]: [i64; 2],
    ) -> Option<(usize, f64)> {
        let mut found: Option<(usize, f64)> = None;
        let mut before = NONE;
        for z in -NEAR..=NEAR {
            for a in -NEAR..=NEAR {
                let crystal = self.seen(layer, [column + a, row + z]);
                if crystal == NONE || crystal == before {
                    continue;
                }
                before = crystal;
                let Some((at, off)) = self.planes[crystal as usize].meet(place, along) else { continue };
                let t = dot(minus(at, place), along);
                if on_face(off) && t > 0.0 && found.is_none_or(|(_, nearest)| t < nearest) {
                    found = Some((crystal as usize, t));
                }
            }
        }
        found
    }

    /// The crystal of a layer that a line meets ahead of a place between the crystals, and how far. `along` is a unit vector.
    fn meet(&self, layer: usize, place: [f64; 3], along: [f64; 3]) -> Option<(usize, f64)> {
        let [x, y, _] = place;
        let (square, middle) = (along[0] * along[0] + along[1] * along[1], -(x * along[0] + y * along[1]));
        let radius = self.cells.radius;
        let t = (middle + (middle * middle + square * (radius * radius - x * x - y * y)).max(0.0).sqrt()) / square;
        if !t.is_finite() {
            return None;
        }
        let mut at: [f64; 3] = std::array::from_fn(|d| place[d] + t * along[d]);
        let mut before = NONE;
        for _ in 0..STEPS {
            let crystal = self.seen(layer, self.cells.of(at));
            if crystal == NONE || crystal == before {
                break;
            }
            let Some((met, off)) = self.planes[crystal as usize].meet(place, along) else { break };
            if on_face(off) {
                return Some((crystal as usize, dot(minus(met, place), along)));
            }
            (at, before) = (met, crystal);
        }
        self.search(layer, (place, along), self.cells.of(at))
    }

    /// [`Surface::meet`] of lines that differ in z alone from the one before, which most often meet a crystal above or below that one's.
    pub(crate) fn meet_near(
        &self,
        layer: usize,
        near: &mut Near,
        place: [f64; 3],
        along: [f64; 3],
    ) -> Option<(usize, f64)> {
        if let Some((column, far)) = *near {
            let row = ((place[2] + far * along[2] - self.cells.lowest) * self.cells.per_mm).floor() as i64;
            let crystal = self.seen(layer, [column, row]) as usize;
            let met = self.planes.get(crystal).and_then(|plane| plane.meet(place, along));
            if let Some((at, off)) = met
                && on_face(off)
            {
                let t = dot(minus(at, place), along);
                if t > 0.0 {
                    return Some((crystal, t));
                }
            }
        }
        let found = self.meet(layer, place, along);
        if let Some((_, t)) = found {
            let at = std::array::from_fn(|d| place[d] + t * along[d]);
            *near = Some((self.cells.of(at)[0], t));
        }
        found
    }

    /// The crystals that a line meets ahead of a place between them, one of each layer at most, from the axis on.
    pub(crate) fn crossed(&self, place: [f64; 3], along: [f64; 3]) -> Crossed {
        let mut crossed = Crossed::default();
        (0..self.layers).filter_map(|layer| self.meet(layer, place, along)).for_each(|met| crossed.push(met));
        crossed
    }

    /// How many lie behind each other, one or more.
    pub(crate) fn layers(&self) -> usize {
        self.layers
    }

    /// The same of lines that differ in z alone from the one before.
    pub(crate) fn crossed_near(&self, near: &mut Nears, place: [f64; 3], along: [f64; 3]) -> Crossed {
        let mut crossed = Crossed::default();
        for (layer, near) in near.iter_mut().enumerate().take(self.layers) {
            if let Some(met) = self.meet_near(layer, near, place, along) {
                crossed.push(met);
            }
        }
        crossed
    }
}

/// Where a line met a crystal: its azimuth's cells, and how far.
pub(crate) type Near = Option<(i64, f64)>;
/// Of each layer.
pub(crate) type Nears = [Near; MAX_LAYERS];

/// Crystals, and how far they are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Crossed {
    met: [(usize, f64); MAX_LAYERS],
    count: usize,
}

impl Crossed {
    fn push(&mut self, met: (usize, f64)) {
        self.met[self.count] = met;
        self.count += 1;
    }

    pub(crate) fn all(&self) -> &[(usize, f64)] {
        &self.met[..self.count]
    }

    /// Without those behind the first.
    pub(crate) fn first(&self) -> &[(usize, f64)] {
        &self.met[..self.count.min(1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::Blocks;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use std::f64::consts::TAU;

    /// The crystal whose face a line meets, by looking at all: the nearest ahead.
    fn by_search(planes: &[Plane], place: [f64; 3], along: [f64; 3]) -> Option<(usize, f64)> {
        let met = planes.iter().enumerate().filter_map(|(k, plane)| {
            let (at, off) = plane.meet(place, along)?;
            let t = dot(minus(at, place), along);
            (off[0].abs() <= 0.5 && off[1].abs() <= 0.5 && t > 0.0).then_some((k, t))
        });
        met.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Also of crystals with gaps between them, and of few large blocks, whose corners are far behind their middles.
    #[test]
    fn lines_meet_the_crystals_that_a_search_finds() {
        let mut random = StdRng::seed_from_u64(2);
        for (blocks, across, diameter, size) in
            [(24, 5, 200.0, [4.9, 4.0]), (8, 12, 180.0, [5.5, 5.5]), (60, 2, 240.0, [6.0, 3.5])]
        {
            let blocks = Blocks {
                blocks,
                block_rings: 3,
                across,
                along: 4,
                diameter,
                pitch_across: diameter * (TAU / 2.0 / blocks as f64).tan() / across as f64 * 0.97,
                pitch_along: 5.6,
                block_pitch: 25.0,
                first_azimuth: 0.2,
            };
            let count = blocks.count().expect("a scanner");
            let normal = |k| blocks.crystal(k)[1];
            let crystals = Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), size).expect("crystals");
            let surface = Surface::new(&crystals).expect("a map");
            let mut met = 0;
            for k in 0..4000 {
                let mut draw = |half: f64| random.random_range(-half..half);
                let place = [draw(0.35 * diameter), draw(0.35 * diameter), draw(30.0)];
                let (azimuth, tilt) = (draw(TAU / 2.0), draw(0.3));
                let along = [azimuth.cos() * tilt.cos(), azimuth.sin() * tilt.cos(), tilt.sin()];
                let (found, expected) = (surface.meet(0, place, along), by_search(&surface.planes, place, along));
                assert_eq!(found, expected, "line {k} from {place:?} along {along:?}, {count} crystals");
                met += usize::from(found.is_some());
            }
            assert!(met > 1500 && met < 4000, "{met} of 4000 lines meet a crystal");
        }
    }

    /// Faces that are turned have sides that are rounded; 24 crystals without gaps, with the margin of one at both ends, have three rows of cells each all the same, whose edges are theirs.
    #[test]
    fn rounding_adds_no_row_of_cells() {
        let blocks = Blocks {
            blocks: 32,
            block_rings: 1,
            across: 12,
            along: 24,
            diameter: 700.0,
            pitch_across: 5.0,
            pitch_along: 5.0,
            block_pitch: 120.0,
            first_azimuth: 0.2,
        };
        let normal = |k| blocks.crystal(k)[1];
        let count = blocks.count().expect("a scanner");
        let crystals = Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), [5.0; 2]).expect("crystals");
        assert_eq!(Surface::new(&crystals).expect("a map").parts().cells[1], 26 * 3);
    }

    /// Lines above each other, through gaps and beyond the ends.
    #[test]
    fn lines_near_each_other_are_met_as_each_alone() {
        let blocks = Blocks {
            blocks: 24,
            block_rings: 3,
            across: 5,
            along: 4,
            diameter: 200.0,
            pitch_across: 5.0,
            pitch_along: 5.6,
            block_pitch: 25.0,
            first_azimuth: 0.2,
        };
        let normal = |k| blocks.crystal(k)[1];
        let count = blocks.count().expect("a scanner");
        let crystals = Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), [4.9, 4.0]).expect("crystals");
        let surface = Surface::new(&crystals).expect("a map");
        let mut random = StdRng::seed_from_u64(4);
        let mut met = 0;
        for _ in 0..60 {
            let mut draw = |half: f64| random.random_range(-half..half);
            let (x, y, azimuth, tilt) = (draw(70.0), draw(70.0), draw(TAU / 2.0), draw(0.3));
            let along = [azimuth.cos() * tilt.cos(), azimuth.sin() * tilt.cos(), tilt.sin()];
            let mut near = None;
            for k in 0..100 {
                let place = [x, y, -50.0 + f64::from(k) + draw(0.5)];
                let found = surface.meet_near(0, &mut near, place, along);
                assert_eq!(found, by_search(&surface.planes, place, along), "from {place:?} along {along:?}");
                met += usize::from(found.is_some());
            }
        }
        assert!(met > 2000 && met < 5000, "{met} of 6000 lines meet a crystal");
    }

    /// Of two layers, the outer one's crystals half as far apart and turned, a line crosses one of each.
    #[test]
    fn lines_cross_crystals_behind_others() {
        let layer = |diameter, across, first_azimuth| Blocks {
            blocks: 24,
            block_rings: 2,
            across,
            along: 4,
            diameter,
            pitch_across: 25.0 / across as f64,
            pitch_along: 5.0,
            block_pitch: 23.0,
            first_azimuth,
        };
        let layers = [layer(200.0, 5, 0.2), layer(218.0, 5, 0.21)];
        let each = layers[0].count().expect("a scanner");
        let crystal = |k: usize| layers[k / each].crystal(k % each);
        let normal = |k| crystal(k)[1];
        let crystals = Crystals::new(2 * each, |k| crystal(k)[0], Some(&normal), [4.9, 4.9]).expect("crystals");
        let surface = Surface::new(&crystals).expect("maps");
        let mut random = StdRng::seed_from_u64(5);
        let mut counts = [0; 3];
        let mut near = Nears::default();
        for k in 0..4000 {
            let mut draw = |half: f64| random.random_range(-half..half);
            let place = [draw(70.0), draw(70.0), draw(20.0)];
            let (azimuth, tilt) = (draw(TAU / 2.0), draw(0.3));
            let along = [azimuth.cos() * tilt.cos(), azimuth.sin() * tilt.cos(), tilt.sin()];
            let of_layer = |layer: usize| {
                let found = by_search(&surface.planes[layer * each..][..each], place, along);
                found.map(|(k, t)| (k + layer * each, t))
            };
            let expected: Vec<_> = [0, 1].into_iter().filter_map(of_layer).collect();
            assert_eq!(surface.crossed(place, along).all(), expected, "line {k} from {place:?} along {along:?}");
            assert_eq!(surface.crossed_near(&mut near, place, along).all(), expected);
            counts[expected.len()] += 1;
        }
        assert!(counts[1] > 500 && counts[2] > 1500, "{counts:?}");
    }

    #[test]
    fn too_many_layers_are_refused() {
        let crystals = Crystals::new(24, |k| [100.0 + k as f64, 0.0, 0.0], None, [4.0; 2]).expect("crystals");
        let e = Surface::new(&crystals).expect_err("24 layers");
        assert!(e.message.starts_with("24 or more crystals lie behind each other"), "{e}");
    }

    #[test]
    fn points_are_not_met() {
        let crystals = Crystals::new(2, |k| [100.0, k as f64, 0.0], None, [0.0; 2]).expect("crystals");
        let e = Surface::new(&crystals).expect_err("points");
        assert!(e.message.contains("crystal_width"), "{e}");
    }
}
