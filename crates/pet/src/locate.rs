//! Which element of histo-images an event counts in.
//!
//! What counts is the arithmetic in f64. Most events are far enough from borders of voxels and views that f32 finds the same, in a third of the
//! time: see [`Quick`].

use super::dropped::Dropped;
use super::events::{BLOCK, Block, MOST_SETS, NO_SET, Source};
use super::lattice::Lattice;
use super::quick::{Event, Found, Quick};
use super::response::HALF_LIGHT;
use super::views::{NONE, Views};
use isocenter_base::array::Layout;
use isocenter_base::cpu::buffer::{Buffer, reserved};
use isocenter_base::error::{Result, fail};

/// Events that a task sorts by region: their sorted offsets stay in the second-level cache.
pub(super) const CHUNK: usize = 1 << 15;

/// What a task finds elements with.
pub(super) struct Scratch {
    pub(super) elements: Buffer<u64>,
    /// Of blocks in f32: room for those of two.
    doubtful: Vec<Event>,
}

impl Scratch {
    /// For a chunk.
    pub(super) fn new() -> Result<Self> {
        Ok(Self { elements: Buffer::zeroed(CHUNK)?, doubtful: reserved(2 * BLOCK)? })
    }

    /// Bytes of one.
    pub(super) const BYTES: usize = CHUNK * size_of::<u64>() + 2 * BLOCK * size_of::<Event>();
}

/// From events to the counts' memory, counted in elements from the lowest.
#[derive(Clone, Copy)]
pub(super) struct Places<'a> {
    views: &'a Views,
    /// Along x, y, z.
    sides: [f64; 3],
    per_mm: [f64; 3],
    /// Steps along x, y, z, views and sets, and of the first element.
    strides: [f64; 5],
    first: f64,
    quick: Option<Quick>,
}

impl<'a> Places<'a> {
    /// `first`: element at index 0.
    pub(super) fn new(views: &'a Views, lattice: &Lattice, histos: &Layout<5>, first: u64) -> Result<Self> {
        let [nz, ny, nx] = lattice.shape();
        let shape = [views.list().len(), nz, ny, nx];
        let [_, own @ ..] = histos.shape;
        if own != shape {
            fail!(TensorShape, "the histo-images have shape {own:?}; it must be {shape:?}");
        }
        let [s, v, z, y, x] = histos.strides;
        let strides = [x, y, z, v, s];
        Ok(Self {
            views,
            sides: lattice.along().map(|n| n as f64),
            per_mm: lattice.voxel().map(|s| 1.0 / s),
            strides: strides.map(|s| s as f64),
            first: first as f64,
            quick: Quick::new(views, lattice, strides, first),
        })
    }

    /// Elements of events from `from` on, in any order, into memory for them; how many, and what became of the others.
    #[inline(always)]
    pub(super) fn locate(&self, events: &impl Source, from: usize, n: usize, to: &mut Scratch) -> (usize, Dropped) {
        let Scratch { elements, doubtful } = to;
        let mut found = Found { elements, count: 0, dropped: Dropped::default() };
        let mut block = Block::<f64>::new();
        let quick = self.quick.as_ref().filter(|_| events.is_single());
        let mut single = Block::<f32>::new();
        let mut read = 0;
        loop {
            let exact = match quick {
                Some(quick) if read < n && doubtful.len() < BLOCK => {
                    let more = events.read(from + read, &mut single).min(n - read);
                    quick.locate(&single, more, &mut found, doubtful);
                    read += more;
                    continue;
                }
                Some(_) => take(doubtful, &mut block),
                None if read < n => {
                    let more = events.read(from + read, &mut block).min(n - read);
                    read += more;
                    more
                }
                None => 0,
            };
            if exact == 0 {
                break;
            }
            self.exact(&block, exact, &mut found);
        }
        (found.count, found.dropped)
    }

    #[inline(always)]
    fn exact(&self, list: &Block, n: usize, found: &mut Found) {
        let Self { sides, per_mm, strides, first, .. } = self;
        let middle = sides.map(|n| n / 2.0);
        let mut direction = [[0.0; BLOCK]; 3];
        let mut place = [[0.0; BLOCK]; 3];
        let mut squares = [0.0; BLOCK];
        let mut view = [NONE; BLOCK];
        let mut index = [0u64; BLOCK];
        let [x1, y1, z1, x2, y2, z2] = &list.positions;
        for i in 0..BLOCK {
            let d = [x1[i] - x2[i], y1[i] - y2[i], z1[i] - z2[i]];
            let square = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            let shift = HALF_LIGHT * list.time[i] / square.sqrt();
            let sum = [x1[i] + x2[i], y1[i] + y2[i], z1[i] + z2[i]];
            for a in 0..3 {
                direction[a][i] = d[a];
                // Voxel j reaches from j to j + 1.
                place[a][i] = (0.5 * sum[a] + shift * d[a]) * per_mm[a] + middle[a];
            }
            squares[i] = square;
        }
        self.views.assign(&direction, &mut view);
        let mut bad = 0;
        let (mut unknown, mut not_measured, mut tilted, mut outside) = (0, 0, 0, 0);
        for i in 0..BLOCK {
            let q = [place[0][i], place[1][i], place[2][i]];
            // Any non-finite number of the event makes one of these so; the difference is then NaN.
            let sum = q[0] + q[1] + q[2] + squares[i];
            #[expect(clippy::eq_op, reason = "vectors compare this in a way that memory checkers follow")]
            let good = (sum - sum == 0.0) & (squares[i] > 0.0);
            let known = list.set[i] < MOST_SETS;
            let named = list.set[i] != NO_SET;
            let level = view[i] != NONE;
            let inside = (q[0] >= 0.0) & (q[0] < sides[0]) & (q[1] >= 0.0) & (q[1] < sides[1]);
            let inside = inside & (q[2] >= 0.0) & (q[2] < sides[2]);
            let counted = u64::from(i < n);
            unknown += u64::from(!named) & counted;
            not_measured += u64::from(named & !known) & counted;
            bad += u64::from(known & !good) & counted;
            tilted += u64::from(known & good & !level) & counted;
            outside += u64::from(known & good & level & !inside) & counted;
            let at = |a: usize| {
                // SAFETY: not NaN, and within 32 bits.
                let voxel: i32 = unsafe { q[a].max(0.0).min(sides[a]).to_int_unchecked() };
                f64::from(voxel) * strides[a]
            };
            // Whole numbers below 2^43: exact. Added to 2^52 they are its lowest bits.
            let p =
                first + f64::from(list.set[i]) * strides[4] + f64::from(view[i]) * strides[3] + at(2) + at(1) + at(0);
            let bits = (p + (1u64 << 52) as f64).to_bits() & ((1 << 52) - 1);
            index[i] = if known & good & level & inside { bits } else { u64::MAX };
        }
        found.dropped.unknown += unknown;
        found.dropped.not_measured += not_measured;
        found.dropped.outside_tilts += tilted;
        found.dropped.outside_lattice += outside;
        if bad > 0 {
            found.dropped = found.dropped.plus(causes(list, &squares, &place, n));
        }
        for p in &index[..n] {
            found.elements[found.count] = *p;
            found.count += usize::from(*p != u64::MAX);
        }
    }
}

/// Fills a block with the first of some events; how many.
fn take(events: &mut Vec<Event>, block: &mut Block) -> usize {
    let n = events.len().min(BLOCK);
    for (i, (event, set)) in events.drain(..n).enumerate() {
        let [positions @ .., time] = event;
        block.positions.iter_mut().zip(positions).for_each(|(column, p)| column[i] = p);
        (block.time[i], block.set[i]) = (time, set);
    }
    n
}

/// Of events whose places are not numbers.
fn causes(list: &Block, squares: &[f64; BLOCK], place: &[[f64; BLOCK]; 3], n: usize) -> Dropped {
    let mut dropped = Dropped::default();
    for i in 0..n {
        let good = (place[0][i] + place[1][i] + place[2][i] + squares[i]).is_finite() && squares[i] > 0.0;
        match () {
            () if good || list.set[i] >= MOST_SETS => {}
            () if !list.event(i).iter().all(|v| v.is_finite()) => dropped.not_finite += 1,
            () if squares[i] == 0.0 => dropped.equal_positions += 1,
            () => dropped.outside_lattice += 1,
        }
    }
    dropped
}
