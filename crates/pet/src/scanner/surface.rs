//! Which crystal a line meets.
//!
//! A map of azimuth and z tells a crystal for each direction from the axis; where a line meets that crystal's plane is another place on the map,
//! until the crystal is the one before: blocks are flat, and lines do not go through the axis.

use super::crystals::{Crystals, Face};
use isocenter_base::cpu::buffer::{collected, filled};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::{Result, fail};
use std::f64::consts::TAU;

/// Cells of the map across a crystal's smaller side, and most cells along either axis.
const CELLS: f64 = 3.0;
const MOST_CELLS: usize = 1 << 13;
/// How far beyond its face a crystal is told for a cell that no face covers, in faces: gaps, seen from the side.
const MARGIN: f64 = 1.0;
/// Rows of cells that are filled together.
const BAND: usize = 16;
/// Cells about one that are searched where no crystal is met: one and a half crystals.
const NEAR: i64 = 5;
/// Planes that a line is met with at most.
const STEPS: usize = 4;
/// No crystal.
const NONE: u32 = u32::MAX;

/// A crystal's face, as lines are met with it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    centre: [f64; 3],
    normal: [f64; 3],
    /// Along width and height, over their squares: a place's product with these is from -1/2 to 1/2 on the face.
    width: [f64; 3],
    height: [f64; 3],
}

impl Plane {
    fn new(face: &Face) -> Self {
        let three = |v: [f32; 4]| [v[0], v[1], v[2]].map(f64::from);
        let (centre, width, height) = (three(face.centre), three(face.width), three(face.height));
        let over = |v: [f64; 3]| v.map(|c| c / dot(v, v));
        Self { centre, normal: cross(width, height), width: over(width), height: over(height) }
    }

    /// The face's area as a line sees it.
    pub(crate) fn facing(&self, along: [f64; 3]) -> f64 {
        dot(along, self.normal).abs()
    }

    /// How far along a line from a place its plane is, and where on the face that is.
    fn meet(&self, place: [f64; 3], along: [f64; 3]) -> Option<([f64; 3], [f64; 2])> {
        let slope = dot(along, self.normal);
        let t = dot(minus(self.centre, place), self.normal) / slope;
        if !t.is_finite() {
            return None;
        }
        let at = std::array::from_fn(|d| place[d] + t * along[d]);
        let off = minus(at, self.centre);
        Some((at, [dot(off, self.width), dot(off, self.height)]))
    }
}

/// Width and height.
fn sides(face: &Face) -> [f64; 2] {
    [face.width, face.height].map(|v| v.iter().map(|c| f64::from(*c).powi(2)).sum::<f64>().sqrt())
}

/// Mean radius of crystals, and how far the map reaches along z from the middle.
fn extent(faces: &[Face]) -> (f64, f64) {
    let centres = || faces.iter().map(|face| face.centre.map(f64::from));
    let radius = centres().map(|c| c[0].hypot(c[1])).sum::<f64>() / faces.len() as f64;
    (radius, centres().map(|c| c[2].abs()).fold(0.0, f64::max) + sides(&faces[0])[1] * (0.5 + MARGIN))
}

/// Finds crystals that lines meet.
#[derive(Clone, Debug)]
pub(crate) struct Surface {
    planes: Vec<Plane>,
    radius: f64,
    /// Azimuths and places along z.
    cells: [usize; 2],
    lowest: f64,
    per_mm: f64,
    /// `[z][azimuth]`
    map: Vec<u32>,
}

/// How large a surface is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Of the map.
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
    pub(crate) seen: &'a [u32],
}

impl Surface {
    pub(crate) fn parts(&self) -> Parts<'_> {
        let Self { planes, radius, cells, lowest, per_mm, map } = self;
        Parts { planes, radius: *radius, cells: *cells, lowest: *lowest, per_mm: *per_mm, seen: map }
    }

    /// Crystals must have faces.
    pub(crate) fn new(crystals: &Crystals) -> Result<Self> {
        let faces = &crystals.faces()[..crystals.count()];
        let cells = Self::cells(crystals)?;
        let planes: Vec<Plane> = collected(faces.iter().map(Plane::new))?;
        let (radius, reach) = extent(faces);
        let mut surface = Self {
            radius,
            cells,
            lowest: -reach,
            per_mm: cells[1] as f64 / (2.0 * reach),
            map: filled(cells[0] * cells[1], NONE)?,
            planes,
        };
        surface.fill()?;
        Ok(surface)
    }

    /// How many cells its map has, along azimuth and z.
    fn cells(crystals: &Crystals) -> Result<[usize; 2]> {
        let faces = &crystals.faces()[..crystals.count()];
        let (radius, reach) = extent(faces);
        let [width, height] = sides(&faces[0]);
        if width * height == 0.0 {
            fail!(
                NotConfigured,
                "crystals are points, which no line meets: scanner.crystal_width and scanner.crystal_height must be above 0"
            );
        }
        let cell = width.min(height) / CELLS;
        let count = |length: f64| ((length / cell).ceil() as usize).clamp(1, MOST_CELLS);
        Ok([count(TAU * radius), count(2.0 * reach)])
    }

    /// How large one is, before it is made.
    pub(crate) fn size(crystals: &Crystals) -> Result<Size> {
        let cells = Self::cells(crystals)?.iter().product::<usize>();
        let a_crystal = size_of::<Plane>() + size_of::<([i64; 2], [usize; 2])>();
        let a_cell = size_of::<u32>() + size_of::<f32>();
        Ok(Size { cells, making: (crystals.count() * a_crystal + cells * a_cell) as u64 })
    }

    /// Tells each cell its nearest crystal: the one on whose face, or least beyond it, its direction from the axis is.
    fn fill(&mut self) -> Result<()> {
        let mut off: Vec<f32> = filled(self.map.len(), f32::INFINITY)?;
        let [around, along] = self.cells;
        let step = TAU / around as f64;
        let seen: Vec<_> = collected(self.planes.iter().map(|plane| self.seen_from(plane)))?;
        let (planes, lowest, per_mm) = (&self.planes, self.lowest, self.per_mm);
        let bands = self.map.par_chunks_mut(BAND * around).zip(off.par_chunks_mut(BAND * around)).enumerate();
        bands.for_each(|(band, (map, off))| {
            let (from, to) = (band * BAND, (band * BAND + BAND).min(along));
            for (k, ([first, last], [low, high])) in seen.iter().enumerate() {
                let (low, high) = (from.max(*low), to.min(*high));
                if low >= high {
                    continue;
                }
                for a in *first..*last {
                    let (sin, cos) = ((a as f64 + 0.5) * step).sin_cos();
                    let column = a.rem_euclid(around as i64) as usize;
                    for row in low..high {
                        let z = lowest + (row as f64 + 0.5) / per_mm;
                        let Some((at, place)) = planes[k].meet([0.0, 0.0, z], [cos, sin, 0.0]) else { continue };
                        let beyond = place[0].abs().max(place[1].abs());
                        let cell = (row - from) * around + column;
                        if at[0] * cos + at[1] * sin > 0.0 && beyond < 0.5 + MARGIN && (beyond as f32) < off[cell] {
                            (off[cell], map[cell]) = (beyond as f32, k as u32);
                        }
                    }
                }
            }
        });
        Ok(())
    }

    /// Cells along azimuth and z that a face with its margin may be seen in, from the axis.
    fn seen_from(&self, plane: &Plane) -> ([i64; 2], [usize; 2]) {
        let [around, along] = self.cells;
        // Edges of the face.
        let edges = [plane.width, plane.height].map(|v| v.map(|c| c / dot(v, v)));
        let reach = |of: fn(&[f64; 3]) -> f64| (0.5 + MARGIN) * edges.iter().map(of).sum::<f64>();
        let (across, up) = (reach(|edge| edge[0].hypot(edge[1])), reach(|edge| edge[2].abs()));
        let off_axis = plane.centre[0].hypot(plane.centre[1]);
        // A crystal on the axis is seen from everywhere.
        let half = if off_axis > across { (across / off_axis).asin() } else { TAU / 2.0 };
        let azimuth = plane.centre[1].atan2(plane.centre[0]);
        let step = TAU / around as f64;
        let (first, last) = (((azimuth - half) / step).floor() as i64, ((azimuth + half) / step).ceil() as i64);
        let row = |z: f64| (z - self.lowest) * self.per_mm;
        let low = row(plane.centre[2] - up).floor().max(0.0) as usize;
        let high = row(plane.centre[2] + up).ceil().min(along as f64) as usize;
        ([first, last.min(first + around as i64)], [low, high])
    }

    /// The cell in a place's direction from the axis: along azimuth and z.
    fn cell(&self, at: [f64; 3]) -> [i64; 2] {
        let turn = at[1].atan2(at[0]) / TAU;
        [(turn * self.cells[0] as f64).floor() as i64, ((at[2] - self.lowest) * self.per_mm).floor() as i64]
    }

    /// The crystal of a cell.
    fn seen(&self, [column, row]: [i64; 2]) -> u32 {
        let [around, along] = self.cells;
        match usize::try_from(row) {
            Ok(row) if row < along => self.map[row * around + column.rem_euclid(around as i64) as usize],
            _ => NONE,
        }
    }

    /// The nearest crystal that a line meets of those about a cell: where blocks meet at an angle, that of one's plane is behind the other's.
    fn search(&self, place: [f64; 3], along: [f64; 3], [column, row]: [i64; 2]) -> Option<(usize, f64)> {
        let mut found: Option<(usize, f64)> = None;
        let mut before = NONE;
        for z in -NEAR..=NEAR {
            for a in -NEAR..=NEAR {
                let crystal = self.seen([column + a, row + z]);
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

    /// The crystal that a line meets ahead of a place between the crystals, and how far. `along` is a unit vector.
    pub(crate) fn meet(&self, place: [f64; 3], along: [f64; 3]) -> Option<(usize, f64)> {
        let [x, y, _] = place;
        let (square, middle) = (along[0] * along[0] + along[1] * along[1], -(x * along[0] + y * along[1]));
        let t = (middle + (middle * middle + square * (self.radius * self.radius - x * x - y * y)).max(0.0).sqrt())
            / square;
        if !t.is_finite() {
            return None;
        }
        let mut at: [f64; 3] = std::array::from_fn(|d| place[d] + t * along[d]);
        let mut before = NONE;
        for _ in 0..STEPS {
            let crystal = self.seen(self.cell(at));
            if crystal == NONE || crystal == before {
                break;
            }
            let Some((met, off)) = self.planes[crystal as usize].meet(place, along) else { break };
            if on_face(off) {
                return Some((crystal as usize, dot(minus(met, place), along)));
            }
            (at, before) = (met, crystal);
        }
        self.search(place, along, self.cell(at))
    }
}

/// Where a line met a crystal: its azimuth's cells, and how far.
pub(crate) type Near = Option<(i64, f64)>;

impl Surface {
    /// [`Surface::meet`] of lines that differ in z alone from the one before, which most often meet a crystal above or below that one's.
    pub(crate) fn meet_near(&self, near: &mut Near, place: [f64; 3], along: [f64; 3]) -> Option<(usize, f64)> {
        if let Some((column, far)) = *near {
            let row = ((place[2] + far * along[2] - self.lowest) * self.per_mm).floor() as i64;
            let plane = self.planes.get(self.seen([column, row]) as usize);
            if let Some((at, off)) = plane.and_then(|plane| plane.meet(place, along))
                && on_face(off)
            {
                let t = dot(minus(at, place), along);
                if t > 0.0 {
                    return Some((self.seen([column, row]) as usize, t));
                }
            }
        }
        let found = self.meet(place, along);
        if let Some((_, t)) = found {
            let at = std::array::from_fn(|d| place[d] + t * along[d]);
            *near = Some((self.cell(at)[0], t));
        }
        found
    }
}

fn on_face(off: [f64; 2]) -> bool {
    off[0].abs() <= 0.5 && off[1].abs() <= 0.5
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn minus(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|d| a[d] - b[d])
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::Blocks;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

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
                let (found, expected) = (surface.meet(place, along), by_search(&surface.planes, place, along));
                assert_eq!(found, expected, "line {k} from {place:?} along {along:?}, {count} crystals");
                met += usize::from(found.is_some());
            }
            assert!(met > 1500 && met < 4000, "{met} of 4000 lines meet a crystal");
        }
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
                let found = surface.meet_near(&mut near, place, along);
                assert_eq!(found, by_search(&surface.planes, place, along), "from {place:?} along {along:?}");
                met += usize::from(found.is_some());
            }
        }
        assert!(met > 2000 && met < 5000, "{met} of 6000 lines meet a crystal");
    }

    #[test]
    fn points_are_not_met() {
        let crystals = Crystals::new(2, |k| [100.0, k as f64, 0.0], None, [0.0; 2]).expect("crystals");
        let e = Surface::new(&crystals).expect_err("points");
        assert!(e.message.contains("crystal_width"), "{e}");
    }
}
