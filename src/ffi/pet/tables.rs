//! Tables of a view's kernels.

use super::plan::{isoc_pet, with_plan};
use super::response::MAX_ENTRIES;
use crate::ffi::boundary::{OutList, Sized32, array, count, read_struct, write_struct};
use isocenter_base::error::{Result, Status, fail};

/// Sizes of a view's tables, and what their kernels hold.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_table_sizes {
    /// sizeof(isoc_pet_table_sizes), set by the caller.
    pub struct_size: u32,
    /// Zero.
    pub reserved: u32,
    /// Kernels: identifiers are 0 to kernels - 1.
    pub kernels: i64,
    /// Voxels of a kernel.
    pub offsets: i64,
    /// The minimum mass that the cut leaves of a kernel; 1 of the caller's own.
    pub least_mass: f64,
    /// The greatest.
    pub greatest_mass: f64,
}

// SAFETY: numbers; all zero is valid.
unsafe impl Sized32 for isoc_pet_table_sizes {
    const NAME: &'static str = "isoc_pet_table_sizes";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Where isoc_pet_get_tables writes a view's tables, in the form that isoc_pet_set_tables takes: of each array its capacity, and how many
/// elements there are, which the call sets. An array with capacity 0 is left out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct isoc_pet_tables {
    /// sizeof(isoc_pet_tables).
    pub struct_size: u32,
    /// Must be 0.
    pub reserved: u32,
    /// (ny, nx): the kernel of all voxels of a column.
    pub map: *mut u32,
    /// Room in `map`.
    pub map_capacity: i64,
    /// Set to ny nx.
    pub map_count: i64,
    /// (offset_count, 3) in voxels along x, y, z, in the order of z, y, x.
    pub offsets: *mut i32,
    /// Room in `offsets`, of three numbers each.
    pub offset_capacity: i64,
    /// Set to the voxels of a kernel.
    pub offset_count: i64,
    /// (kernels, offset_count), each kernel's sum 1.
    pub values: *mut f32,
    /// Room in `values`.
    pub value_capacity: i64,
    /// Set to kernels x offset_count.
    pub value_count: i64,
    /// (kernels): the mass that the cut left of each; 1 of the caller's own.
    pub mass: *mut f64,
    /// Room in `mass`.
    pub mass_capacity: i64,
    /// Set to the number of kernels.
    pub mass_count: i64,
}

// SAFETY: numbers and pointers; all zero is valid.
unsafe impl Sized32 for isoc_pet_tables {
    const NAME: &'static str = "isoc_pet_tables";
    const FIRST_SIZE: usize = size_of::<Self>();
}

/// Sets the caller's own kernels of a view; copied. `map`: (ny, nx), so that map_count is ny nx, the kernel of all voxels of a column;
/// `offsets`: (offset_count, 3) in voxels along x, y, z, none twice; `values`: (kernels, offset_count), value_count in all, not negative,
/// scaled to a sum of 1 for each kernel. A voxel p of the image gives to p + m of the histo-image with the weight that its kernel has at
/// offset m, and H' brings it back from there.
///
/// # Safety
/// Pointers are NULL or hold as many numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_tables(
    pet: *mut isoc_pet,
    view: i64,
    map: *const u32,
    map_count: i64,
    offsets: *const i32,
    offset_count: i64,
    values: *const f32,
    value_count: i64,
) -> Status {
    with_plan(pet, |pet| {
        let view = count(view, "view", 0, pet.views()?.len() - 1)?;
        let [_, ny, nx] = pet.lattice()?.shape();
        if usize::try_from(map_count) != Ok(nx * ny) {
            fail!(OutOfRange, "map_count is {map_count}; it must be ny x nx, {ny} x {nx}");
        }
        let offset_count = count(offset_count, "offset_count", 1, MAX_ENTRIES)?;
        let value_count = count(value_count, "value_count", offset_count, MAX_ENTRIES * offset_count)?;
        if value_count % offset_count != 0 {
            fail!(OutOfRange, "value_count is {value_count}; it must be a multiple of offset_count, {offset_count}");
        }
        // SAFETY: by this function's contract; three offsets have the alignment of one.
        unsafe {
            let map = array(map, nx * ny, "map")?;
            let offsets = array(offsets.cast::<[i32; 3]>(), offset_count, "offsets")?;
            let values = array(values, value_count, "values")?;
            pet.set_tables(view, map, offsets, values)
        }
    })
}

/// Tells how large a view's tables are: isoc_pet_get_tables takes a map of ny nx, `offsets` triples, kernels x offsets values, and masses of
/// `kernels`.
///
/// # Safety
/// `sizes` is NULL or valid, its struct_size set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_get_table_sizes(
    pet: *mut isoc_pet,
    view: i64,
    sizes: *mut isoc_pet_table_sizes,
) -> Status {
    with_plan(pet, |pet| {
        let view = count(view, "view", 0, pet.views()?.len() - 1)?;
        let tables = pet.tables(view)?;
        let full = tables.full()?;
        let mass = tables.mass();
        let value = isoc_pet_table_sizes {
            struct_size: 0,
            reserved: 0,
            kernels: tables.identifiers() as i64,
            offsets: full.offsets.len() as i64,
            least_mass: mass.iter().copied().fold(f64::INFINITY, f64::min),
            greatest_mass: mass.iter().copied().fold(0.0, f64::max),
        };
        // SAFETY: by this function's contract.
        unsafe { write_struct(sizes, &value) }
    })
}

/// Writes a view's tables to the arrays of `tables`, all of them as they are at one time, and sets its counts. Unless every array has
/// capacity 0 or enough, only the counts are written.
///
/// # Safety
/// `tables` is NULL or valid, its struct_size set; its arrays are NULL or have the room that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_get_tables(pet: *mut isoc_pet, view: i64, tables: *mut isoc_pet_tables) -> Status {
    with_plan(pet, |pet| {
        // SAFETY: by this function's contract.
        let mut to = unsafe { read_struct(tables) }?;
        if to.reserved != 0 {
            fail!(UnknownValue, "tables.reserved is {}; it must be 0", to.reserved);
        }
        let view = count(view, "view", 0, pet.views()?.len() - 1)?;
        let found = pet.tables(view)?;
        let full = found.full()?;
        let map = OutList {
            names: ["tables.map", "tables.map_capacity"],
            out: to.map,
            capacity: to.map_capacity,
            count: &mut to.map_count,
        };
        let offsets = OutList {
            names: ["tables.offsets", "tables.offset_capacity"],
            out: to.offsets.cast::<[i32; 3]>(),
            capacity: to.offset_capacity,
            count: &mut to.offset_count,
        };
        let values = OutList {
            names: ["tables.values", "tables.value_capacity"],
            out: to.values,
            capacity: to.value_capacity,
            count: &mut to.value_count,
        };
        let mass = OutList {
            names: ["tables.mass", "tables.mass_capacity"],
            out: to.mass,
            capacity: to.mass_capacity,
            count: &mut to.mass_count,
        };
        // SAFETY: by this function's contract; all counts are told before the first list that does not fit fails.
        unsafe {
            let fit = [
                map.offer(found.map().len()),
                offsets.offer(full.offsets.len()),
                values.offer(full.values.len()),
                mass.offer(found.mass().len()),
            ];
            write_struct(tables, &to)?;
            fit.into_iter().collect::<Result<()>>()?;
            map.write(found.map().iter().copied());
            offsets.write(full.offsets.iter().copied());
            values.write(full.values.iter().copied());
            mass.write(found.mass().iter().copied());
        }
        Ok(())
    })
}
