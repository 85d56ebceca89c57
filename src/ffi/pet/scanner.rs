//! Scanners, and events that name crystals.

use super::events::{MAX_EVENTS, isoc_pet_dropped};
use super::plan::{isoc_pet, with_plan};
use crate::ffi::boundary::{OutList, Sized32, array, count, guard, read_struct, write_struct};
use crate::ffi::tensor::{Expected, check_apart, first_size, isoc_tensor, sizes};
use isocenter_base::array::DType;
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::scanner::{Blocks, CrystalArrays, Crystals, MAX_CRYSTALS, MAX_TIME_BINS, Scanner, Sizes, TimeBins};

/// Sizes of crystals, and time bins.
///
/// An event that names two crystals is anywhere on their faces, and in its time bin anywhere between the edges, as its number says: the
/// same place whenever it is deposited. So histo-images have no pattern of crystals and bins, and their blur, some 0.2 crystals of
/// standard deviation at the middle of a line and 0.29 bins along it, belongs to the response. With 0 and 0 crystals are points.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_scanner {
    /// sizeof(isoc_pet_scanner).
    pub struct_size: u32,
    /// Bins of the time difference; 0: events have time differences in ps.
    pub time_bins: u32,
    /// Of a crystal's face, across the scanner's axis, mm.
    pub crystal_width: f64,
    /// Of a crystal's face, across the width, mm.
    pub crystal_height: f64,
    /// time_bins + 1 edges of t2 - t1, ascending, in ps; NULL without bins.
    pub time_edges: *const f64,
    /// Real (crystals, 2) in host memory: width and height of each crystal's face, in place of crystal_width and crystal_height, which must be 0; NULL: all have these.
    pub crystal_sizes: *const isoc_tensor,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_pet_scanner {
    const NAME: &'static str = "isoc_pet_scanner";
    const FIRST_SIZE: usize = std::mem::offset_of!(Self, crystal_sizes);
}

/// Rings of flat blocks of crystals about the z axis, in mm; the middle of all is 0, 0, 0. A ring of crystals has those of all its blocks,
/// `crystal = ring (blocks across) + block across + place across the block`; places rise with the azimuth, rings with z.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_blocks {
    /// sizeof(isoc_pet_blocks).
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Blocks of a ring.
    pub blocks: i64,
    /// Rings of blocks; 0 means 1.
    pub block_rings: i64,
    /// Crystals of a block across.
    pub across: i64,
    /// Crystals of a block along the axis.
    pub along: i64,
    /// Between faces of opposite blocks.
    pub diameter: f64,
    /// From crystal to crystal across.
    pub pitch_across: f64,
    /// From crystal to crystal along the axis; 0 means as across.
    pub pitch_along: f64,
    /// From block to block along the axis; 0: no gap.
    pub block_pitch: f64,
    /// Azimuth of the middle of block 0, rad.
    pub first_azimuth: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_blocks {
    const NAME: &'static str = "isoc_pet_blocks";
    const FIRST_SIZE: usize = size_of::<Self>();
}

impl isoc_pet_blocks {
    fn to_blocks(self) -> Result<Blocks> {
        if self.reserved != 0 {
            fail!(UnknownValue, "blocks.reserved is {}; it must be 0", self.reserved);
        }
        let size = |v: i64, name: &str| count(v, name, 1, MAX_CRYSTALS);
        Ok(Blocks {
            blocks: size(self.blocks, "blocks.blocks")?,
            block_rings: if self.block_rings == 0 { 1 } else { size(self.block_rings, "blocks.block_rings")? },
            across: size(self.across, "blocks.across")?,
            along: size(self.along, "blocks.along")?,
            diameter: self.diameter,
            pitch_across: self.pitch_across,
            pitch_along: if self.pitch_along == 0.0 { self.pitch_across } else { self.pitch_along },
            block_pitch: self.block_pitch,
            first_azimuth: self.first_azimuth,
        })
    }
}

/// Writes the crystals of a scanner of blocks: (count, 3) each of the places of their faces, x, y, z in mm, and of the directions that
/// these look in, either NULL to leave it out. `capacity` and `count` are of crystals.
///
/// # Safety
/// `blocks` is NULL or valid; `positions` and `normals` are NULL or have room for `capacity` crystals; `count` is NULL or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_block_crystals(
    blocks: *const isoc_pet_blocks,
    positions: *mut f64,
    normals: *mut f64,
    capacity: i64,
    count: *mut i64,
) -> Status {
    guard(|| {
        // SAFETY: by this function's contract.
        let blocks = unsafe { read_struct(blocks) }?.to_blocks()?;
        let number = blocks.count()?;
        let list = |name, out: *mut f64, count| OutList {
            names: [name, "capacity"],
            out: out.cast::<[f64; 3]>(),
            // One of the two may be left out.
            capacity: if out.is_null() && !(positions.is_null() && normals.is_null()) { 0 } else { capacity },
            count,
        };
        let lists = [list("positions", positions, count), list("normals", normals, count)];
        for (part, list) in lists.iter().enumerate() {
            // SAFETY: by this function's contract.
            unsafe {
                list.offer(number)?;
                list.write((0..number).map(|k| blocks.crystal(k)[part]));
            }
        }
        Ok(())
    })
}

/// Sets the scanner that events of isoc_pet_deposit_crystals are of. `positions`: real (crystals, 3) of x, y, z in mm from the centre of the
/// lattice: where in a crystal photons are detected on average. `normals`: real (crystals, 3), which way faces look, of any length; NULL: to
/// the z axis. Both in host memory, copied. It holds whatever the geometry. Crystals may lie behind others, as where the depth of interaction is told: lines cross up to 8 of them.
/// isoc_pet_set_pairs says which pairs are measured.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_scanner(
    pet: *mut isoc_pet,
    scanner: *const isoc_pet_scanner,
    positions: *const isoc_tensor,
    normals: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        let (given, positions, normals, sizes) = unsafe {
            let given = read_struct(scanner)?;
            if positions.is_null() {
                fail!(NullPointer, "positions is NULL");
            }
            let number = first_size(positions, "positions", &["crystals", "axes"])?;
            let number = count(number, "positions.shape[0]", 2, MAX_CRYSTALS)?;
            let expected = |name| Expected {
                name,
                shape: [number, 3],
                dims: ["crystals", "axes"],
                optional: &[],
                dtypes: DType::REAL,
                gpus: &[],
            };
            let normals = if normals.is_null() { None } else { Some(expected("normals").input(normals)?) };
            let sizes = match given.crystal_sizes.is_null() {
                true => None,
                false => {
                    let of_each = Expected {
                        name: "scanner.crystal_sizes",
                        shape: [number, 2],
                        dims: ["crystals", "sides"],
                        optional: &[],
                        dtypes: DType::REAL,
                        gpus: &[],
                    };
                    Some(of_each.input(given.crystal_sizes)?)
                }
            };
            (given, expected("positions").input(positions)?, normals, sizes)
        };
        if sizes.is_some() && (given.crystal_width != 0.0 || given.crystal_height != 0.0) {
            fail!(
                OutOfRange,
                "scanner.crystal_width is {} and crystal_height {} beside scanner.crystal_sizes; they must be 0",
                given.crystal_width,
                given.crystal_height
            );
        }
        let edges = match given.time_bins {
            0 if !given.time_edges.is_null() => {
                fail!(OutOfRange, "scanner.time_bins is 0 beside scanner.time_edges; it must be their number less 1")
            }
            0 => None,
            n => {
                let n = count(n.into(), "scanner.time_bins", 0, MAX_TIME_BINS)?;
                // SAFETY: by this function's contract.
                Some(unsafe { array(given.time_edges, n + 1, "scanner.time_edges") }?)
            }
        };
        let row = |from: &isocenter_base::array::Array<2>, k: usize| {
            let mut row = [0.0; 3];
            from.read_row([k, 0], &mut row);
            row
        };
        let normal = normals.map(|normals| move |k: usize| row(&normals, k));
        let size = sizes.map(|sizes| {
            move |k: usize| {
                let mut row = [0.0; 2];
                sizes.read_row([k, 0], &mut row);
                row
            }
        });
        let crystals = Crystals::new(
            positions.shape()[0],
            |k| row(&positions, k),
            normal.as_ref().map(|n| n as &dyn Fn(usize) -> [f64; 3]),
            match &size {
                Some(size) => Sizes::Each(size),
                None => Sizes::Same([given.crystal_width, given.crystal_height]),
            },
        )?;
        pet.set_scanner(Scanner { time_bins: edges.map(TimeBins::new).transpose()?, ..crystals.into() });
        Ok(())
    })
}

/// Adds list-mode events that name crystals to histo-images, as isoc_pet_deposit does: u32 or f32 (labels, views, nz, ny, nx), which the
/// caller has set to zeros before the first of several lists; without the first dimension where it is 1. An event is counted in the images of
/// its label: of prompts and delays, gates, frames of time.
///
/// `crystals`: u8, u16 or u32 (events, 2), the first and the second photon's, counted from 0; `times`: u8, u16 or u32 (events) time bins of
/// the scanner, or real (events) of t2 - t1 in ps, positive where the event is nearer to the first crystal; `labels`: u8, u16 or u32
/// (events), NULL for 0 everywhere. Of any strides, as fields of records have them, in host memory or, with histo-images on a GPU, all on that GPU.
/// A list may be empty. `first_event` is the number of the list's first event in the scan, so that a scan in several lists is as one in one.
/// `dropped` may be NULL; events of crystals, bins and labels that there are not are dropped and counted as `unknown`, those of pairs that isoc_pet_set_pairs has 0 for as `not_measured`.
/// After an error (cancel, memory) part of the events may have been added.
///
/// # Safety
/// Pointers are NULL or valid; `dropped` has its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_deposit_crystals(
    pet: *mut isoc_pet,
    crystals: *const isoc_tensor,
    times: *const isoc_tensor,
    labels: *const isoc_tensor,
    first_event: u64,
    histo_images: *const isoc_tensor,
    dropped: *mut isoc_pet_dropped,
) -> Status {
    with_plan(pet, |pet| {
        pet.scanner()?;
        let [nz, ny, nx] = pet.lattice()?.shape();
        // SAFETY: by this function's contract.
        unsafe {
            let views = pet.views()?.len();
            let to = Expected {
                name: "histo_images",
                shape: [sets(histo_images)?, views, nz, ny, nx],
                dims: ["labels", "views", "nz", "ny", "nx"],
                optional: &[0, 1],
                dtypes: DType::HISTOS,
                gpus: pet.gpus(),
            };
            let to = to.output(histo_images)?;
            if times.is_null() {
                fail!(NullPointer, "times is NULL");
            }
            let number = count(first_size(times, "times", &["events"])?, "times.shape[0]", 0, MAX_EVENTS)?;
            if number == 0 {
                // Nothing may be at NULL.
                for (name, tensor, dims) in
                    [("crystals", crystals, &["events", "crystals"][..]), ("labels", labels, &["events"])]
                {
                    if !tensor.is_null() && first_size(tensor, name, dims)? != 0 {
                        fail!(TensorShape, "{name}.shape[0] is not 0, as that of times is");
                    }
                }
                return if dropped.is_null() {
                    Ok(())
                } else {
                    write_struct(dropped, &isoc_pet_dropped::of(Default::default()))
                };
            }
            let per_event = |name, dtypes| Expected {
                name,
                shape: [number],
                dims: ["events"],
                optional: &[],
                dtypes,
                gpus: pet.gpus(),
            };
            let pairs = Expected {
                name: "crystals",
                shape: [number, 2],
                dims: ["events", "crystals"],
                optional: &[],
                dtypes: DType::COUNTS,
                gpus: pet.gpus(),
            };
            let events = CrystalArrays {
                crystals: pairs.input(crystals)?,
                times: per_event("times", DType::TIMES).input(times)?,
                labels: match labels.is_null() {
                    true => None,
                    false => Some(per_event("labels", DType::COUNTS).input(labels)?),
                },
                first: first_event,
            };
            check_apart((events.crystals.layout(), "crystals"), (to.layout(), "histo_images"))?;
            check_apart((events.times.layout(), "times"), (to.layout(), "histo_images"))?;
            if let Some(labels) = &events.labels {
                check_apart((labels.layout(), "labels"), (to.layout(), "histo_images"))?;
            }
            if !dropped.is_null() {
                read_struct(dropped)?;
            }
            let found = pet.deposit_crystals(&events, to)?;
            if dropped.is_null() { Ok(()) } else { write_struct(dropped, &isoc_pet_dropped::of(found)) }
        }
    })
}

/// More sets of histo-images than any scan has: a larger number is a mistake.
pub(super) const MAX_LABELS: usize = 1 << 16;

/// The first of five sizes of histo-images, which the caller chooses; 1 where there are fewer.
///
/// # Safety
/// `histo_images` is NULL or valid.
unsafe fn sets(histo_images: *const isoc_tensor) -> Result<usize> {
    if histo_images.is_null() {
        fail!(NullPointer, "histo_images is NULL");
    }
    // SAFETY: by this function's contract.
    let shape = unsafe { sizes(&histo_images.read_unaligned(), 5) };
    match shape[..] {
        [labels, _, _, _, _] => count(labels, "histo_images.shape[0]", 1, MAX_LABELS),
        _ => Ok(1),
    }
}
