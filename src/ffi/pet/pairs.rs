//! Which pairs of crystals are measured.

use super::plan::{isoc_pet, with_plan};
use super::tensors::of_crystals;
use crate::ffi::boundary::count;
use crate::ffi::tensor::{Expected, first_size, isoc_tensor, sizes};
use isocenter_base::array::DType;
use isocenter_base::cpu::buffer::zeros;
use isocenter_base::error::{Result, Status, fail};
use isocenter_pet::scanner::{MAX_CRYSTALS, MAX_GROUPS, MAX_MODULES, Pairs};

/// Sets which pairs of crystals the scanner measures, and what is measured of each besides what its crystals detect; without this call all pairs are, with 1. isoc_pet_set_scanner
/// comes first, and a new scanner has none. All three NULL take it away. All in host memory, copied.
///
/// `modules`: u8, u16 or u32 (crystals), the module of each, counted from 0: a block, a ring of crystals, a panel. `groups`: u8, u16 or u32 (modules, modules), the same both ways: 0 where
/// the two modules are not in coincidence, else the group of the pair, counted from 1. `efficiencies`: real (groups), of all pairs of crystals of a group; or real (groups, elements,
/// elements), of the crystals of either module, numbered within it by their numbers in the scanner: first that of the module with the larger number, within one module the crystal with the
/// larger number. NULL for 1. A pair is measured with the product of both crystals' efficiencies and its own; of pairs that have 0 there are no events.
///
/// So a limit on differences of rings is a table with a module for each ring, and PETSIRD's modulePairSGIDLUT is `groups` less 1, its modulePairEfficiencies `efficiencies`.
/// Factors, randoms, scatter, detection, sums over fans and single rates have it; events of pairs that are not measured are dropped and counted as `not_measured`.
///
/// # Safety
/// Pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_pet_set_pairs(
    pet: *mut isoc_pet,
    modules: *const isoc_tensor,
    groups: *const isoc_tensor,
    efficiencies: *const isoc_tensor,
) -> Status {
    with_plan(pet, |pet| {
        pet.scanner()?;
        if modules.is_null() && groups.is_null() && efficiencies.is_null() {
            return pet.set_pairs(None);
        }
        // SAFETY: by this function's contract.
        unsafe {
            let given = of_crystals(pet, "modules", DType::COUNTS)?.input(modules)?;
            let mut of_crystal: Vec<u32> = zeros(given.shape()[0])?;
            given.read_counts([0], &mut of_crystal);
            if groups.is_null() {
                fail!(NullPointer, "groups is NULL");
            }
            let number = first_size(groups, "groups", &["modules", "modules"])?;
            let number = count(number, "groups.shape[0]", 1, MAX_MODULES)?;
            let table = Expected {
                name: "groups",
                shape: [number; 2],
                dims: ["modules", "modules"],
                optional: &[],
                dtypes: DType::COUNTS,
                gpus: &[],
            };
            let table = table.input(groups)?;
            let mut of_pairs: Vec<u32> = zeros(number * number)?;
            of_pairs.chunks_exact_mut(number).enumerate().for_each(|(m, row)| table.read_counts([m, 0], row));
            let values = match efficiencies.is_null() {
                // One group of all that are measured.
                true => {
                    of_pairs.iter_mut().for_each(|group| *group = (*group).min(1));
                    (1, vec![1.0])
                }
                false => read_efficiencies(efficiencies)?,
            };
            pet.set_pairs(Some(Pairs::new(&of_crystal, of_pairs, values)?))
        }
    })
}

/// The side of groups' tables, and all values.
///
/// # Safety
/// The tensor is valid.
unsafe fn read_efficiencies(efficiencies: *const isoc_tensor) -> Result<(usize, Vec<f32>)> {
    // SAFETY: by this function's contract.
    let tensor = unsafe { efficiencies.read_unaligned() };
    let group_count = |n| count(n, "efficiencies.shape[0]", 1, MAX_GROUPS);
    // SAFETY: by this function's contract.
    if let [groups] = unsafe { sizes(&tensor, 1) }[..] {
        let one = Expected {
            name: "efficiencies",
            shape: [group_count(groups)?],
            dims: ["groups"],
            optional: &[],
            dtypes: DType::REAL,
            gpus: &[],
        };
        // SAFETY: by this function's contract.
        let from = unsafe { one.input(efficiencies) }?;
        let mut values: Vec<f32> = zeros(from.shape()[0])?;
        from.read_row([0], &mut values);
        return Ok((1, values));
    }
    // SAFETY: by this function's contract.
    let [groups, side, _] = unsafe { sizes(&tensor, 3) }[..] else {
        fail!(
            TensorNdim,
            "efficiencies.ndim is {}; it must be 1 (groups) or 3 (groups, elements, elements)",
            tensor.ndim
        );
    };
    let (groups, side) = (group_count(groups)?, count(side, "efficiencies.shape[1]", 1, MAX_CRYSTALS)?);
    let tables = Expected {
        name: "efficiencies",
        shape: [groups, side, side],
        dims: ["groups", "elements", "elements"],
        optional: &[],
        dtypes: DType::REAL,
        gpus: &[],
    };
    // SAFETY: by this function's contract.
    let from = unsafe { tables.input(efficiencies) }?;
    let mut values: Vec<f32> = zeros(groups * side * side)?;
    let rows = values.chunks_exact_mut(side).enumerate();
    rows.for_each(|(k, row)| from.read_row([k / side, k % side, 0], row));
    Ok((side, values))
}
