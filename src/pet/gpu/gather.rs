//! Launches `kernels/pet/gather.cu`: projections by blocks of voxels.

use super::array::Place;
use super::finish::{Finish, What};
use super::parts::Parts;
use super::steps::{CHAIN, Group, Segment, Steps};
use crate::error::{Result, fail};
use crate::gpu::{Function, Launch, Lent, Queue, mirrored};
use crate::pet::direction::Direction;
use crate::pet::tables::Tables;

const IMAGE: &str = "pet/gather";
/// Threads of a block that sum, and those that bring data.
const SUMMING: usize = 128;
const FETCHING: usize = 64;
/// Voxels along z of a thread.
const DEEP: usize = 8;
/// Rows of a group, with one kernel and with several; fewer where memory is short.
const ROWS: [usize; 2] = [4, 2];
/// Groups in shared memory at a time.
const STAGES: usize = 2;
/// Bytes of a segment's header.
const HEADER: usize = 32;

/// Mirrors `Gather`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Arguments {
    input: u64,
    records: u64,
    weights: u64,
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
    identifiers: i32,
    axial_groups: i32,
    axial_front: i32,
}
mirrored!(Arguments, 216);

/// Mirrors `Expand` in `kernels/pet/tables.cu`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Expand {
    columns: u64,
    offsets: u64,
    values: u64,
    weights: u64,
    count: i64,
    kernel: i32,
    identifiers: i32,
}
mirrored!(Expand, 48);

/// Taps of a segment as they lie together by sum.
fn together(taps: usize) -> usize {
    if taps == 3 { 4 } else { taps }
}

/// How a view's blocks are cut, and what they hold.
#[derive(Clone, Copy, Debug)]
struct Plan {
    arguments: Arguments,
    blocks: usize,
    shared: usize,
}

/// Anchors of a block and blocks along the minor axis, for so many anchors and threads along z of each.
fn tiles(anchors: usize, lanes: usize) -> (usize, usize) {
    let count = anchors.div_ceil((SUMMING / lanes).max(1));
    (anchors.div_ceil(count), count)
}

/// Threads along z.
fn lanes(nz: usize) -> usize {
    nz.div_ceil(DEEP)
}

/// Maximum of blocks that a view of such a lattice can have.
pub(super) fn max_blocks([nz, ny, nx]: [usize; 3]) -> usize {
    let of = |majors: usize, minors: usize| majors.div_ceil(CHAIN) * tiles(minors + CHAIN - 1, lanes(nz)).1;
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
fn record(segment: &Segment, variant: bool) -> usize {
    let list = (4 * segment.columns.len()).next_multiple_of(16);
    HEADER + list + if variant { list } else { 16 * segment.taps * segment.columns.len() }
}

impl Plan {
    /// None if such kernels take more shared memory than there is.
    fn new(place: Place, tables: &Tables, steps: &Steps, rows: usize, max_shared: usize) -> Option<Self> {
        let Place { shape: [nz, ny, nx], column } = place;
        let lanes = lanes(nz);
        if lanes > SUMMING {
            return None;
        }
        let variant = tables.identifiers() > 1;
        let [majors, minors] = if steps.along_x { [nx, ny] } else { [ny, nx] };
        let (low, high) = steps.chain.iter().fold((0, 0), |(low, high), c| (low.min(*c), high.max(*c)));
        let (anchors, tiles) = tiles(minors + (high - low) as usize, lanes);

        let (mut front, mut back, mut extent, mut group_bytes) = (0i32, 0, 0, 0);
        for group in &steps.groups {
            extent = extent.max(group.extent);
            group_bytes = group_bytes.max(group.segments.iter().map(|s| record(s, variant)).sum());
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
        let stage = 2 * rows * width * pitch + group_bytes / 16 + (rows * width).div_ceil(2);
        let axial_room = if axial { 2 * CHAIN * anchors * pitch } else { 0 };
        let shared = 16 * (STAGES * stage + steps.groups.len()).max(axial_room);
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
            identifiers: int(tables.identifiers()),
            axial_groups: if axial { int((axial_front * 4 + tables.axial().len() / 2 + 1).div_ceil(4)) } else { 0 },
            axial_front: int(axial_front),
        };
        Some(Self { arguments, blocks: majors.div_ceil(CHAIN) * tiles, shared })
    }

    /// The kernel's `Segment`; `weights` is where they begin, in 16 bytes.
    fn header(&self, segment: &Segment, weights: i32) -> [i32; HEADER / 4] {
        let Arguments { group_rows, width, pitch, margin, .. } = self.arguments;
        let first = segment.z.div_euclid(4) + margin;
        let place = |k: i32| k % 2 * group_rows * width * pitch + k / 2;
        let kind = 4 * segment.z.rem_euclid(4) + segment.taps as i32 - 1;
        [place(first), place(first + 1), kind, segment.columns.len() as i32, weights, 0, 0, 0]
    }
}

/// So many values more that the whole fills 16 bytes.
fn fill(values: &mut Vec<i32>, value: i32) {
    values.resize(values.len().next_multiple_of(4), value);
}

/// What a view has on the GPU, before it is there.
pub(super) struct Arranged {
    plan: Plan,
    parts: Parts,
    places: Places,
    /// Data columns, and voxels of a kernel.
    columns: usize,
    kernel: usize,
    /// Of one direction.
    weight_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Places {
    groups: usize,
    axial: usize,
    map: usize,
    /// Of adjoint and forward.
    records: [usize; 2],
    columns: usize,
    offsets: usize,
    values: usize,
}

impl Arranged {
    /// None if the kernels are too large for this.
    pub(super) fn new(place: Place, tables: &Tables, max_shared: usize) -> Result<Option<Self>> {
        let variant = tables.identifiers() > 1;
        let mut rows = ROWS[usize::from(variant)];
        let (steps, plan) = loop {
            let steps = Steps::new(tables, rows)?;
            // Two blocks at a time, if need be with fewer rows.
            let shared = if rows > 1 { max_shared / 2 } else { max_shared };
            match Plan::new(place, tables, &steps, rows, shared) {
                Some(plan) => break (steps, plan),
                None if rows == 1 => return Ok(None),
                None => rows /= 2,
            }
        };
        let n = tables.offsets().len();
        let segments = || steps.groups.iter().flat_map(|g| &g.segments);
        let columns = || segments().flat_map(|s| &s.columns);
        let mut parts = Parts::default();
        let mut places = Places::default();
        let bytes = |g: &Group| g.segments.iter().map(|s| record(s, variant)).sum::<usize>() as i32;
        let groups = steps.groups.iter();
        places.groups = parts.push_ints(groups.flat_map(|g| [g.major, g.minor, g.extent as i32, bytes(g)]));
        if plan.arguments.axial_groups > 0 {
            let (front, axial) = (plan.arguments.axial_front as usize, tables.axial());
            let mut padded = vec![0.0; 4 * plan.arguments.axial_groups as usize];
            padded[4 * front - axial.len() / 2..][..axial.len()].copy_from_slice(axial);
            places.axial = parts.push_floats(&padded);
        }
        let width = plan.arguments.width as usize;
        let mut weights = 0;
        let mut records = |forward: bool| -> Result<Vec<i32>> {
            let mut all = Vec::new();
            weights = 0;
            for segment in segments() {
                let Ok(first) = i32::try_from(weights) else {
                    fail!(SizeOverflow, "{} kernels of {n} voxels are too large", tables.identifiers())
                };
                all.extend(plan.header(segment, first));
                all.extend(segment.columns.iter().map(|c| (c.row * width + c.minor) as i32));
                fill(&mut all, 0);
                if variant {
                    all.extend(segment.columns.iter().map(|c| c.rank as i32));
                    fill(&mut all, i32::MAX);
                    weights += segment.columns.len() * tables.identifiers() * together(segment.taps);
                } else {
                    let value = |o: &Option<u32>| {
                        let at = |o: u32| if forward { n - 1 - o as usize } else { o as usize };
                        o.map_or(0.0, |o| tables.values()[at(o)]).to_bits() as i32
                    };
                    let taps = segment.columns.iter().flat_map(|c| &c.offsets[..segment.taps]);
                    all.extend(taps.flatten().map(value));
                }
            }
            Ok(all)
        };
        let (adjoint, forward) = (records(false)?, records(true)?);
        let first = parts.push_ints(adjoint.iter().copied());
        let second = if forward == adjoint { first } else { parts.push_ints(forward.into_iter()) };
        places.records = [first, second];
        if variant {
            let map = tables.map().iter().flat_map(|a| [*a as i32, steps.limits[*a as usize] as i32]);
            places.map = parts.push_ints(map);
            let mut first = 0;
            let places_of_columns = segments().flat_map(|s| {
                let of_column = move |k: usize| [first, k as i32, s.taps as i32, 0];
                first += (s.columns.len() * tables.identifiers() * together(s.taps)) as i32;
                (0..s.columns.len()).flat_map(of_column)
            });
            places.columns = parts.push_ints(places_of_columns);
            let offsets = columns().flat_map(|c| c.offsets.iter().flatten());
            places.offsets = parts.push_ints(offsets.map(|o| o.map_or(-1, |o| o as i32)));
            places.values = parts.push_floats(tables.values());
        }
        let weight_bytes = 16 * weights as u64;
        Ok(Some(Self { plan, parts, places, columns: columns().count(), kernel: n, weight_bytes }))
    }

    /// Bytes on the GPU: without, and with the weights of both directions.
    pub(super) fn bytes(&self) -> [u64; 2] {
        let minimum = self.parts.bytes().len() as u64;
        [minimum, minimum + 2 * self.weight_bytes]
    }
}

/// A view's kernels.
#[derive(Debug)]
pub(super) struct Gather {
    plan: Plan,
    memory: Lent,
    places: Places,
    columns: usize,
    kernel: usize,
    /// Of one direction; 0 where there is one kernel.
    weight_bytes: usize,
    /// Of adjoint and forward, if they are kept.
    weights: Option<[Lent; 2]>,
    /// Of adjoint and forward; those that make weights, where there are several kernels.
    kernels: [Function; 2],
    expand: Option<[Function; 2]>,
}

impl Gather {
    /// # Safety
    /// The GPU is current.
    pub(super) unsafe fn new(queue: &Queue, from: &Arranged, keep: bool) -> Result<Self> {
        let Arranged { plan, parts, places, columns, kernel, weight_bytes } = from;
        let (device, tables) = (&queue.device, "pet/tables");
        let (kernels, expand) = match weight_bytes {
            0 => ([device.function(IMAGE, "gather_one")?, device.function(IMAGE, "gather_one")?], None),
            _ => (
                [device.function(IMAGE, "gather_of_sum")?, device.function(IMAGE, "gather_of_data")?],
                Some([device.function(tables, "tables_of_sum")?, device.function(tables, "tables_of_data")?]),
            ),
        };
        let mut made = Self {
            plan: *plan,
            memory: queue.upload(parts.bytes())?,
            places: *places,
            columns: *columns,
            kernel: *kernel,
            weight_bytes: *weight_bytes as usize,
            weights: None,
            kernels,
            expand,
        };
        if let (true, Some(expand)) = (keep, &made.expand) {
            // SAFETY: by this function's contract.
            made.weights = Some(unsafe { [made.expand(queue, &expand[0])?, made.expand(queue, &expand[1])?] });
        }
        Ok(made)
    }

    pub(super) fn bytes(&self) -> u64 {
        let weights = self.weights.iter().flatten().map(|w| w.bytes() as u64).sum::<u64>();
        self.memory.bytes() as u64 + weights
    }

    /// Whether launches need no memory of the pool.
    pub(super) fn is_complete(&self) -> bool {
        self.weight_bytes == 0 || self.weights.is_some()
    }

    fn at(&self, place: usize) -> u64 {
        self.memory.address() + place as u64
    }

    /// Weights in the order of the steps.
    ///
    /// # Safety
    /// The GPU is current.
    unsafe fn expand(&self, queue: &Queue, kernel: &Function) -> Result<Lent> {
        let weights = queue.pool.take(self.weight_bytes)?;
        let Places { columns, offsets, values, .. } = self.places;
        let arguments = Expand {
            columns: self.at(columns),
            offsets: self.at(offsets),
            values: self.at(values),
            weights: weights.address(),
            count: self.columns as i64,
            kernel: self.kernel as i32,
            identifiers: self.plan.arguments.identifiers,
        };
        // SAFETY: the struct mirrors the kernel's; memory of these sizes, which stays in the pool.
        unsafe { queue.launch_each(kernel, self.weight_bytes / 16, &arguments)? };
        Ok(weights)
    }

    /// # Safety
    /// Volumes of the shape that this was made for, in use by the queue's stream alone; the GPU is current.
    pub(super) unsafe fn launch(&self, queue: &Queue, direction: Direction, input: u64, to: Finish) -> Result<()> {
        let k = direction as usize;
        // Goes back to the pool with the launch under way, whose stream later users follow.
        let made;
        let weights = match (&self.weights, &self.expand) {
            (Some(weights), _) => weights[k].address(),
            (None, Some(expand)) => {
                // SAFETY: by this function's contract.
                made = unsafe { self.expand(queue, &expand[k])? };
                made.address()
            }
            (None, None) => 0,
        };
        let Places { groups, axial, map, records, .. } = self.places;
        let arguments = Arguments {
            input,
            records: self.at(records[k]),
            weights,
            map: self.at(map),
            groups: self.at(groups),
            axial: self.at(axial),
            to,
            ..self.plan.arguments
        };
        let launch =
            Launch { grid: [self.plan.blocks, 1, 1], block: [SUMMING + FETCHING, 1, 1], shared: self.plan.shared };
        // SAFETY: the struct mirrors the kernel's; the rest by this function's contract.
        unsafe { self.kernels[k].launch(&queue.stream, launch, &arguments) }
    }
}
