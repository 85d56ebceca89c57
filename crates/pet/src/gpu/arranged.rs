//! How `kernels/pet/gather.cu` goes through a view's kernels: its blocks, and what it reads, as the GPU will have it.

use super::array::Place;
use super::finish::{Finish, What};
use super::parts::Parts;
use super::separable::Separable;
use super::steps::{CHAIN, Group, Segment, Steps, TAPS};
use crate::tables::Tables;
use isocenter_base::error::{Result, fail};
use isocenter_base::gpu::mirrored;

/// Threads of a block that sum.
const SUMMING: usize = 128;
/// Groups in shared memory at a time.
const STAGES: usize = 2;
/// Voxels along z of a thread.
const DEEP: usize = 8;
/// Bytes of a segment's header.
const HEADER: usize = 16;
/// Anchors of a block, at least, where shared memory is short.
const MIN_ANCHORS: usize = 8;

/// Mirrors `Gather`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments {
    input: u64,
    records: u64,
    weights: u64,
    columns: u64,
    map: u64,
    groups: u64,
    axial: u64,
    to: Finish,
    major_stride: i64,
    minor_stride: i64,
    majors: i32,
    minors: i32,
    map_major: i32,
    map_minor: i32,
    column: i32,
    nz: i32,
    chain: [i32; CHAIN],
    first_anchor: i32,
    anchors: i32,
    lanes: i32,
    tiles: i32,
    group_count: i32,
    group_rows: i32,
    width: i32,
    pitch: i32,
    margin: i32,
    group_bytes: i32,
    group_weights: i32,
    axial_groups: i32,
    axial_front: i32,
}
mirrored!(Arguments, 224);

/// Mirrors `Group`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct GroupRecord {
    major: i32,
    minor: i32,
    extent: i32,
    record_bytes: i32,
    columns: i32,
    unused: [i32; 3],
}
mirrored!(GroupRecord, 32);

/// Mirrors `WeightColumn` in `kernels/pet/weights.cuh`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct WeightColumn {
    first: i32,
    taps: i32,
    rank: i32,
    place: i32,
}
mirrored!(WeightColumn, 16);

impl Arguments {
    /// For a launch: input and weights; records, columns, map, groups and axial factor of the view.
    pub(super) fn with(
        self,
        [input, weights]: [u64; 2],
        [records, columns, map, groups, axial]: [u64; 5],
        to: Finish,
    ) -> Self {
        Self { input, records, weights, columns, map, groups, axial, to, ..self }
    }
}

/// What weights a product takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// There is one kernel.
    Same,
    /// Kernels vary, and factor.
    Factored,
    /// Kernels vary.
    Whole,
}

impl Kind {
    /// Of each column of data and anchor, in 16 bytes.
    fn parts(self) -> usize {
        match self {
            Self::Same => 0,
            Self::Factored => 1,
            Self::Whole => CHAIN,
        }
    }

    /// Rows of a group; fewer where memory is short.
    fn rows(self) -> usize {
        if self == Self::Same { 4 } else { 2 }
    }

    /// Threads of a block that bring them.
    fn fetching(self) -> usize {
        if self == Self::Same { 64 } else { 128 }
    }

    /// Of a segment's weights.
    fn taps(self, segment: &Segment) -> usize {
        if self == Self::Factored { 1 } else { segment.taps }
    }

    /// Of adjoint and forward.
    pub(super) fn kernels(self) -> [&'static str; 2] {
        match self {
            Self::Same => ["gather_one"; 2],
            Self::Factored => ["gather_factored_of_sum", "gather_factored_of_data"],
            Self::Whole => ["gather_of_sum", "gather_of_data"],
        }
    }
}

/// Taps of a segment as they lie together by sum.
fn together(taps: usize) -> usize {
    if taps == 3 { 4 } else { taps }
}

/// How a view's blocks are cut, and what they hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) arguments: Arguments,
    pub(super) blocks: usize,
    pub(super) shared: usize,
    /// Of a block.
    pub(super) threads: usize,
}

/// Anchors of a block and blocks along the minor axis, for so many anchors and a maximum for each block.
fn tiles(anchors: usize, max: usize) -> (usize, usize) {
    let count = anchors.div_ceil(max);
    (anchors.div_ceil(count), count)
}

/// Maximum of anchors for so many threads along z of each.
fn max_anchors(lanes: usize) -> usize {
    (SUMMING / lanes).max(1)
}

/// Threads along z.
fn lanes(nz: usize) -> usize {
    nz.div_ceil(DEEP)
}

/// Maximum of blocks that a view of such a lattice can have.
pub(super) fn max_blocks([nz, ny, nx]: [usize; 3]) -> usize {
    let fewest = max_anchors(lanes(nz)).min(MIN_ANCHORS);
    let of = |majors: usize, minors: usize| majors.div_ceil(CHAIN) * tiles(minors + CHAIN - 1, fewest).1;
    of(nx, ny).max(of(ny, nx))
}

impl Arranged {
    /// About the seconds of a projection with one kernel on an H200.
    pub(super) fn cost(place: Place, tables: &Tables) -> f64 {
        const LAUNCH: f64 = 8e-6;
        const PRODUCT: f64 = 1e-13;
        let products = tables.offsets().len() + tables.axial().len();
        LAUNCH + PRODUCT * (products * place.floats()) as f64
    }
}

/// Bytes of a segment's records.
fn record(segment: &Segment, kind: Kind) -> usize {
    let list = (4 * segment.columns.len()).next_multiple_of(16);
    let ranks = if kind == Kind::Same { 0 } else { list };
    let weights = if kind == Kind::Whole { 0 } else { 16 * segment.taps * segment.columns.len() };
    HEADER + list + ranks + weights
}

/// Of all segments.
fn columns_of(group: &Group) -> usize {
    group.segments.iter().map(|s| s.columns.len()).sum()
}

impl Plan {
    /// None if such kernels take more shared memory than there is. `max_anchors`: of a block.
    fn new(
        place: Place,
        tables: &Tables,
        (steps, rows): (&Steps, usize),
        kind: Kind,
        max_anchors: usize,
        max_shared: usize,
    ) -> Option<Self> {
        let Place { shape: [nz, ny, nx], column } = place;
        let lanes = lanes(nz);
        if lanes > SUMMING {
            return None;
        }
        let [majors, minors] = if steps.along_x { [nx, ny] } else { [ny, nx] };
        let (low, high) = steps.chain.iter().fold((0, 0), |(low, high), c| (low.min(*c), high.max(*c)));
        let (anchors, tiles) = tiles(minors + (high - low) as usize, max_anchors);

        let (mut front, mut back, mut extent, mut group_bytes, mut columns) = (0i32, 0, 0, 0, 0);
        for group in &steps.groups {
            extent = extent.max(group.extent);
            group_bytes = group_bytes.max(group.segments.iter().map(|s| record(s, kind)).sum());
            columns = columns.max(columns_of(group));
            for Segment { z, taps, .. } in &group.segments {
                let chunk = z.div_euclid(4);
                front = front.max(-chunk);
                // One past the last part of the window, beyond the thread's own two.
                back = back.max(chunk + (z.rem_euclid(4) + *taps as i32 + 2) / 4);
            }
        }
        let axial = tables.axial().len() > 1;
        let axial_front = if axial { (tables.axial().len() / 2).div_ceil(4) } else { 0 };
        let margin = axial_front.max(front as usize);
        let parts = (margin + 2 * lanes + axial_front.max(back as usize) + 2).div_ceil(2);
        // Eight threads' loads of 16 bytes meet no bank twice, also where they go from one column to the next.
        let pitch = parts + (lanes % 8 + 8 - parts % 8) % 8;
        let width = anchors + extent;
        let group_weights = columns * anchors * kind.parts();
        let stage = 2 * rows * width * pitch + group_bytes / 16 + (rows * width).div_ceil(2) + group_weights;
        let groups = steps.groups.len() * size_of::<GroupRecord>() / 16;
        // Two columns of voxels in 16 bytes.
        let own = if kind == Kind::Same { 0 } else { CHAIN * anchors / 2 };
        let axial_room = if axial { 2 * CHAIN * anchors * pitch } else { 0 };
        let shared = 16 * (STAGES * stage + groups + own).max(axial_room);
        if shared > max_shared {
            return None;
        }
        let (stride_x, stride_y) = (column as i64, (column * nx) as i64);
        let [major_stride, minor_stride] = if steps.along_x { [stride_x, stride_y] } else { [stride_y, stride_x] };
        let [map_major, map_minor] = if steps.along_x { [1, nx] } else { [nx, 1] };
        let int = |n: usize| n as i32;
        let nothing = Finish::new(What::Store, 0);
        let arguments = Arguments {
            input: 0,
            records: 0,
            weights: 0,
            columns: 0,
            map: 0,
            groups: 0,
            axial: 0,
            to: nothing,
            major_stride,
            minor_stride,
            majors: int(majors),
            minors: int(minors),
            map_major: int(map_major),
            map_minor: int(map_minor),
            column: int(column),
            nz: int(nz),
            chain: steps.chain,
            first_anchor: -high,
            anchors: int(anchors),
            lanes: int(lanes),
            tiles: int(tiles),
            group_count: int(steps.groups.len()),
            group_rows: int(rows),
            width: int(width),
            pitch: int(pitch),
            margin: int(margin),
            group_bytes: int(group_bytes),
            group_weights: int(group_weights),
            axial_groups: if axial { int((axial_front * 4 + tables.axial().len() / 2 + 1).div_ceil(4)) } else { 0 },
            axial_front: int(axial_front),
        };
        let threads = SUMMING + kind.fetching();
        Some(Self { arguments, blocks: majors.div_ceil(CHAIN) * tiles, shared, threads })
    }

    /// The kernel's `Segment`.
    fn header(&self, segment: &Segment) -> [i32; HEADER / 4] {
        let Arguments { group_rows, width, pitch, margin, .. } = self.arguments;
        let first = segment.z.div_euclid(4) + margin;
        let place = |k: i32| k % 2 * group_rows * width * pitch + k / 2;
        let kind = 4 * segment.z.rem_euclid(4) + segment.taps as i32 - 1;
        [place(first), place(first + 1), kind, segment.columns.len() as i32]
    }
}

/// So many values more that the whole fills 16 bytes.
fn fill(values: &mut Vec<i32>, value: i32) {
    values.resize(values.len().next_multiple_of(4), value);
}

/// What a view has on the GPU, before it is there.
pub(super) struct Arranged {
    pub(super) plan: Plan,
    pub(super) parts: Parts,
    pub(super) places: Places,
    pub(super) kind: Kind,
    /// Data columns, kernels, and values of one that weights are made of.
    pub(super) columns: usize,
    pub(super) identifiers: usize,
    pub(super) kernel: usize,
    /// Of one direction.
    pub(super) weight_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    pub(super) groups: usize,
    pub(super) axial: usize,
    pub(super) map: usize,
    /// Of adjoint and forward.
    pub(super) records: [usize; 2],
    pub(super) columns: usize,
    pub(super) offsets: usize,
    pub(super) values: usize,
}

impl Arranged {
    /// None if the kernels are too large for this.
    pub(super) fn new(place: Place, tables: &Tables, max_shared: usize) -> Result<Option<Self>> {
        let separable = if tables.identifiers() > 1 { Separable::new(tables)? } else { None };
        let kind = match (tables.identifiers(), &separable) {
            (1, _) => Kind::Same,
            (_, Some(_)) => Kind::Factored,
            (_, None) => Kind::Whole,
        };
        let variant = kind != Kind::Same;
        let mut rows = kind.rows();
        let mut anchors = max_anchors(lanes(place.shape[0]));
        let (steps, plan) = loop {
            let steps = Steps::new(tables, rows)?;
            // Two blocks at a time, if need be with fewer rows.
            let shared = if rows > 1 { max_shared / 2 } else { max_shared };
            match Plan::new(place, tables, (&steps, rows), kind, anchors, shared) {
                Some(plan) => break (steps, plan),
                None if rows > 1 => rows /= 2,
                None if anchors > MIN_ANCHORS => anchors = (anchors / 2).max(MIN_ANCHORS),
                None => return Ok(None),
            }
        };
        let n = tables.offsets().len();
        let segments = || steps.groups.iter().flat_map(|g| &g.segments);
        let columns = || segments().flat_map(|s| &s.columns);
        let mut parts = Parts::default();
        let mut places = Places::default();
        let group = |g: &Group| {
            let record_bytes = g.segments.iter().map(|s| record(s, kind)).sum::<usize>() as i32;
            [g.major, g.minor, g.extent as i32, record_bytes, columns_of(g) as i32, 0, 0, 0]
        };
        places.groups = parts.push_ints(steps.groups.iter().flat_map(group));
        if plan.arguments.axial_groups > 0 {
            let (front, axial) = (plan.arguments.axial_front as usize, tables.axial());
            let mut padded = vec![0.0; 4 * plan.arguments.axial_groups as usize];
            padded[4 * front - axial.len() / 2..][..axial.len()].copy_from_slice(axial);
            places.axial = parts.push_floats(&padded);
        }
        let width = plan.arguments.width as usize;
        let same = separable.as_ref().map_or(tables.values(), |s| &s.common);
        let records = |forward: bool| {
            let mut all = Vec::new();
            for segment in segments() {
                all.extend(plan.header(segment));
                all.extend(segment.columns.iter().map(|c| (c.row * width + c.minor) as i32));
                fill(&mut all, 0);
                if variant {
                    all.extend(segment.columns.iter().map(|c| c.rank as i32));
                    fill(&mut all, i32::MAX);
                }
                if kind != Kind::Whole {
                    let value = |o: &Option<u32>| {
                        let at = |o: u32| if forward { n - 1 - o as usize } else { o as usize };
                        o.map_or(0.0, |o| same[at(o)]).to_bits() as i32
                    };
                    let taps = segment.columns.iter().flat_map(|c| &c.offsets[..segment.taps]);
                    all.extend(taps.flatten().map(value));
                }
            }
            all
        };
        let (adjoint, forward) = (records(false), records(true));
        let first = parts.push_ints(adjoint.iter().copied());
        let second = if forward == adjoint { first } else { parts.push_ints(forward.into_iter()) };
        places.records = [first, second];
        let (mut weights, mut kernel) = (0, n);
        if variant {
            let map = tables.map().iter().flat_map(|a| [*a as i32, steps.limits[*a as usize] as i32]);
            places.map = parts.push_ints(map);
            let mut all = Vec::new();
            for segment in segments() {
                let taps = kind.taps(segment);
                for c in &segment.columns {
                    let Ok(first) = i32::try_from(weights) else {
                        fail!(SizeOverflow, "{} kernels of {n} voxels are too large", tables.identifiers())
                    };
                    // Groups that shared memory holds have far less than 2^15 rows or columns.
                    all.extend([first, taps as i32, c.rank as i32, (c.row << 16 | c.minor) as i32]);
                    weights += tables.identifiers() * together(taps);
                }
            }
            places.columns = parts.push_ints(all.into_iter());
            let number = |o: Option<u32>| o.map_or(-1, |o| o as i32);
            match &separable {
                None => {
                    let offsets = columns().flat_map(|c| c.offsets.iter().flatten());
                    places.offsets = parts.push_ints(offsets.map(|o| number(*o)));
                    places.values = parts.push_floats(tables.values());
                }
                Some(separable) => {
                    // As kernels of one tap.
                    let offsets = columns().flat_map(|c| {
                        let of_sum =
                            |s: usize| c.offsets.iter().find_map(|tap| tap[s]).map(|o| separable.columns[o as usize]);
                        (0..CHAIN * TAPS).map(move |i| if i < CHAIN { of_sum(i) } else { None })
                    });
                    places.offsets = parts.push_ints(offsets.map(number));
                    places.values = parts.push_floats(&separable.factors);
                    kernel = separable.factors.len() / tables.identifiers();
                }
            }
        }
        let weight_bytes = 16 * weights as u64;
        let (columns, identifiers) = (columns().count(), tables.identifiers());
        Ok(Some(Self { plan, parts, places, kind, columns, identifiers, kernel, weight_bytes }))
    }

    /// Bytes on the GPU: without, and with the weights of both directions.
    pub(super) fn bytes(&self) -> [u64; 2] {
        let minimum = self.parts.bytes().len() as u64;
        [minimum, minimum + 2 * self.weight_bytes]
    }
}
