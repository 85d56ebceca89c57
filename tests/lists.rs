//! The one rule of calls that fill a caller's list: capacity in, number out, all of it or nothing.

use isocenter::error::Status;
use isocenter::ffi::context::{isoc_context, isoc_context_create, isoc_context_destroy, isoc_context_options};
use isocenter::ffi::ct::*;
use isocenter::ffi::mri::*;
use isocenter::ffi::pet::*;
use scan::{ok, output, said, sized, tensor};
use std::fmt::Debug;
use std::ptr::null_mut;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

#[path = "pet/scan.rs"]
mod scan;

/// Elements beyond a list that must stay as they are.
const BEYOND: usize = 3;

/// All that a call may be asked, of a list with `number` elements named `name`.
fn holds<T: Copy + PartialEq + Debug>(
    name: &str,
    number: i64,
    mark: T,
    call: impl Fn(*mut T, i64, *mut i64) -> Status,
) {
    let ask = |out: *mut T, capacity: i64| {
        let mut count = -7;
        let status = call(out, capacity, &mut count);
        assert_eq!(count, number, "{name}: {capacity}");
        // The number need not be asked for.
        assert_eq!(call(out, capacity, null_mut()), status);
        status
    };
    let size = number as usize;
    let fresh = || vec![mark; size + BEYOND];
    let mut list = fresh();
    ok(ask(null_mut(), 0));
    ok(ask(list.as_mut_ptr(), 0));
    assert_eq!(list, fresh(), "{name}: nothing is written where there is no capacity");
    for capacity in [1, number - 1].into_iter().filter(|c| (1..number).contains(c)) {
        assert_eq!(ask(list.as_mut_ptr(), capacity), Status::OutOfRange, "{name}");
        let words = format!("capacity is {capacity}; it must be at least {number}, the number of {name}, or 0");
        assert_eq!(said(), words);
        assert_eq!(list, fresh(), "{name}: nothing is written where there is not room for all");
    }
    assert_eq!(ask(null_mut(), number), Status::NullPointer);
    assert!(said().starts_with(&format!("{name} is NULL with capacity {number}")), "{}", said());
    for capacity in [-1, i64::MIN] {
        assert_eq!(ask(list.as_mut_ptr(), capacity), Status::OutOfRange);
        assert!(said().starts_with(&format!("capacity is {capacity}; it must be at least {number}")), "{}", said());
    }
    assert_eq!(list, fresh());
    for capacity in [number, number + BEYOND as i64, i64::MAX] {
        let mut list = fresh();
        ok(ask(list.as_mut_ptr(), capacity));
        assert!(list[..size].iter().all(|v| *v != mark), "{name}: {list:?}");
        assert_eq!(list[size..], fresh()[size..], "{name}: nothing is written beyond the list");
    }
    // An address that is not aligned.
    let mut bytes = vec![0u8; (size + 1) * size_of::<T>()];
    let odd = bytes.as_mut_ptr().wrapping_add(1).cast::<T>();
    ok(ask(odd, number));
    // SAFETY: written just now.
    let last = unsafe { odd.add(size - 1).read_unaligned() };
    ok(ask(list.as_mut_ptr(), number));
    assert_eq!(last, list[size - 1], "{name}");
}

fn context() -> *mut isoc_context {
    let mut ctx = null_mut();
    // SAFETY: valid pointers.
    ok(unsafe { isoc_context_create(&isoc_context_options { threads: 1, ..scan::on(scan::PROCESSOR) }, &mut ctx) });
    ctx
}

/// As numbers, to be compared.
fn numbers<T: Copy, const N: usize>(values: T) -> [u64; N] {
    assert_eq!(size_of::<T>(), 8 * N);
    // SAFETY: plain numbers of 8 bytes.
    unsafe { std::mem::transmute_copy(&values) }
}

/// An element of a list of `$of`, which are whole words of 8 bytes, in which nothing was written.
macro_rules! unwritten {
    ($of:ty) => {
        [0x7ff4_dead_beef_0001u64; size_of::<$of>() / 8]
    };
}

#[test]
fn phantoms() {
    // SAFETY: as `holds` says.
    holds("ellipses", ISOC_CT_SHEPP_LOGAN_ELLIPSES, unwritten!(isoc_ct_ellipse), |out, capacity, count| unsafe {
        isoc_ct_shepp_logan(0, 10.0, out.cast(), capacity, count)
    });
    for half_z in [0.0, 4.0] {
        // SAFETY: as above.
        holds(
            "ellipsoids",
            ISOC_MRI_SHEPP_LOGAN_ELLIPSOIDS,
            unwritten!(isoc_mri_ellipsoid),
            |out, capacity, count| unsafe { isoc_mri_shepp_logan(0, 10.0, half_z, out.cast(), capacity, count) },
        );
    }
    let plane =
        isoc_mri_ellipsoid { value: 1.0, x: 2.0, y: 0.0, z: 0.0, semi_x: 3.0, semi_y: 1.0, semi_z: 1.0, angle: 0.0 };
    assert_eq!(numbers::<_, 8>(plane)[1], 2f64.to_bits());
}

#[test]
fn residuals() {
    let (ctx, mut mri) = (context(), null_mut());
    let trajectory: Vec<f32> = (0..48).map(|k| 0.02 * ((k * 7) % 48) as f32 - 0.47).collect();
    let geometry = isoc_mri_geometry { unit: 1, nx: 6, ny: 6, samples: 24, ..sized() };
    let options = isoc_mri_options { iterations: 3, ..sized() };
    let complex = |mut t: isocenter::ffi::tensor::isoc_tensor| {
        (t.dtype.code, t.dtype.bits) = (5, 64);
        t
    };
    let samples = vec![[1.0f32, 0.5]; 24];
    let mut image = vec![[0.0f32; 2]; 36];
    // SAFETY: valid pointers.
    unsafe {
        ok(isoc_mri_create(ctx, &mut mri));
        ok(isoc_mri_set_geometry(mri, &geometry, &tensor(&trajectory, &[24, 2])));
        ok(isoc_mri_set_options(mri, &options));
        let (from, to) = (complex(tensor(&samples, &[24])), complex(output(&mut image, &[6, 6])));
        ok(isoc_mri_reconstruct(mri, &from, &to));
    }
    // SAFETY: as `holds` says.
    holds("residuals", 4, f64::from_bits(0x1234), |out, capacity, count| unsafe {
        isoc_mri_history(mri, 0, out, capacity, count)
    });
    ok(isoc_mri_destroy(mri));
    ok(isoc_context_destroy(ctx));
}

const VIEWS: [[f64; 2]; 3] = [[0.3, 0.1], [1.4, 0.2], [2.5, -0.1]];

fn pet() -> scan::Plan {
    let plan = scan::Plan::new(scan::PROCESSOR, [9, 15, 17], [4.0; 3], &VIEWS);
    plan.set_response(&scan::response(60.0, 8.0, 8.0));
    plan
}

#[test]
fn views_and_passes() {
    let plan = pet();
    // SAFETY: as `holds` says.
    holds("views", 3, unwritten!([f64; 2]), |out, capacity, count| unsafe {
        isoc_pet_get_views(plan.pet, out.cast(), capacity, count)
    });
    let mut views = [[0.0; 2]; 3];
    // SAFETY: there is room.
    ok(unsafe { isoc_pet_get_views(plan.pet, views.as_mut_ptr().cast(), 3, null_mut()) });
    assert_eq!(views, VIEWS);

    plan.set_options(&isoc_pet_options { iterations: 3, ..sized() });
    plan.reconstruct(&vec![1.0; 3 * plan.voxels()], None, None);
    // SAFETY: as `holds` says.
    holds("iterations", 3, unwritten!(isoc_pet_iteration), |out, capacity, count| unsafe {
        isoc_pet_history(plan.pet, out.cast(), capacity, count)
    });
}

/// Room for tables in which nothing was written yet, and what is beyond it.
fn unwritten(sizes: &isoc_pet_table_sizes, pixels: usize) -> scan::Tables {
    let (kernels, offsets) = (sizes.kernels as usize, sizes.offsets as usize);
    scan::Tables {
        map: vec![u32::MAX; pixels + BEYOND],
        offsets: vec![[i32::MAX; 3]; offsets + BEYOND],
        values: vec![-1.0; kernels * offsets + BEYOND],
        mass: vec![-1.0; kernels + BEYOND],
    }
}

/// Room for as many as `sizes` says, and the marks beyond.
fn room(to: &mut scan::Tables) -> isoc_pet_tables {
    let all = to.room();
    let less = |capacity: i64| capacity - BEYOND as i64;
    isoc_pet_tables {
        map_capacity: less(all.map_capacity),
        offset_capacity: less(all.offset_capacity),
        value_capacity: less(all.value_capacity),
        mass_capacity: less(all.mass_capacity),
        ..all
    }
}

fn is_unwritten(to: &scan::Tables) -> bool {
    to.map.iter().all(|v| *v == u32::MAX)
        && to.offsets.iter().flatten().all(|v| *v == i32::MAX)
        && to.values.iter().all(|v| *v == -1.0)
        && to.mass.iter().all(|v| *v == -1.0)
}

fn table_sizes(pet: *mut isoc_pet) -> isoc_pet_table_sizes {
    let mut sizes = sized();
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_get_table_sizes(pet, 1, &mut sizes) });
    sizes
}

fn counts(t: &isoc_pet_tables) -> [i64; 4] {
    [t.map_count, t.offset_count, t.value_count, t.mass_count]
}

#[test]
fn tables() {
    let plan = pet();
    let sizes = table_sizes(plan.pet);
    let pixels = 15 * 17;
    let expected = [pixels as i64, sizes.offsets, sizes.kernels * sizes.offsets, sizes.kernels];
    // SAFETY: what is not NULL has room.
    let get = |to: &mut isoc_pet_tables| unsafe { isoc_pet_get_tables(plan.pet, 1, to) };
    let mut question: isoc_pet_tables = sized();
    ok(get(&mut question));
    assert_eq!(counts(&question), expected);
    // One array too small, or nowhere, and none is written; all numbers are told.
    type Change = fn(&mut isoc_pet_tables);
    let changes: [(Change, &str); 8] = [
        (
            |t| t.map_capacity -= 1,
            "tables.map_capacity is 254; it must be at least 255, the number of tables.map, or 0",
        ),
        (|t| t.offset_capacity -= 1, "tables.offset_capacity is"),
        (|t| t.value_capacity = 1, "tables.value_capacity is 1"),
        (|t| t.mass_capacity = -1, "tables.mass_capacity is -1"),
        (|t| t.map = null_mut(), "tables.map is NULL with tables.map_capacity 255"),
        (|t| t.offsets = null_mut(), "tables.offsets is NULL"),
        (|t| t.values = null_mut(), "tables.values is NULL"),
        (|t| t.mass = null_mut(), "tables.mass is NULL"),
    ];
    for (change, words) in changes {
        let mut to = unwritten(&sizes, pixels);
        let mut lists = room(&mut to);
        change(&mut lists);
        let status = get(&mut lists);
        assert!(matches!(status, Status::OutOfRange | Status::NullPointer), "{words}: {status:?}");
        assert!(said().starts_with(words), "{}", said());
        assert_eq!(counts(&lists), expected, "{words}");
        assert!(is_unwritten(&to), "{words}");
    }
    let mut to = unwritten(&sizes, pixels);
    ok(get(&mut room(&mut to)));
    let all = plan.tables(1);
    assert_eq!(to.map[..pixels], all.map);
    assert_eq!(to.offsets[..all.offsets.len()], all.offsets);
    assert_eq!(to.values[..all.values.len()], all.values);
    assert_eq!(to.mass[..all.mass.len()], all.mass);
    assert_eq!(to.map[pixels..], [u32::MAX; BEYOND]);
    assert_eq!(to.offsets[all.offsets.len()..], [[i32::MAX; 3]; BEYOND]);
    assert_eq!(to.values[all.values.len()..], [-1.0; BEYOND]);
    assert_eq!(to.mass[all.mass.len()..], [-1.0; BEYOND]);
    // One of them alone.
    let mut to = unwritten(&sizes, pixels);
    let mut lists = isoc_pet_tables { mass: to.mass.as_mut_ptr(), mass_capacity: sizes.kernels, ..sized() };
    ok(get(&mut lists));
    assert_eq!(to.mass[..all.mass.len()], all.mass);
    to.mass.fill(-1.0);
    assert!(is_unwritten(&to));
}

/// Between the question how large tables are and the call that takes them, another thread sets a response with larger ones.
#[test]
fn tables_that_grow_in_between_are_not_written() {
    let plan = pet();
    let handle = plan.pet.addr();
    let (small, large) = (
        scan::response(60.0, 8.0, 8.0),
        scan::widening(scan::response(110.0, 12.0, 9.0), &[[0.0, 12.0], [40.0, 14.0]]),
    );
    let (pixels, asked) = (15 * 17, Barrier::new(2));
    thread::scope(|s| {
        let other = s.spawn(|| {
            let plan: *mut isoc_pet = std::ptr::without_provenance_mut(handle);
            asked.wait();
            // SAFETY: valid pointers.
            ok(unsafe {
                isoc_pet_set_response(
                    plan,
                    &scan::widening(scan::response(110.0, 12.0, 9.0), &[[0.0, 12.0], [40.0, 14.0]]),
                )
            });
            asked.wait();
        });
        let sizes = table_sizes(plan.pet);
        let mut to = unwritten(&sizes, pixels);
        asked.wait();
        asked.wait();
        let mut lists = room(&mut to);
        // SAFETY: the room that the lists say.
        let status = unsafe { isoc_pet_get_tables(plan.pet, 1, &mut lists) };
        assert_eq!(status, Status::OutOfRange);
        assert!(said().contains("offset_capacity"), "{}", said());
        let now = table_sizes(plan.pet);
        assert!(now.offsets > sizes.offsets && now.kernels > sizes.kernels);
        assert_eq!(counts(&lists), [pixels as i64, now.offsets, now.kernels * now.offsets, now.kernels]);
        assert!(is_unwritten(&to));
        other.join().expect("the other thread");
    });

    // The same with nobody waiting for anybody: what is there is one response's tables, whole.
    let of = |response: &isoc_pet_response| {
        plan.set_response(response);
        plan.tables(1)
    };
    let known = [of(&small), of(&large)];
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            let plan: *mut isoc_pet = std::ptr::without_provenance_mut(handle);
            let both = [
                scan::response(60.0, 8.0, 8.0),
                scan::widening(scan::response(110.0, 12.0, 9.0), &[[0.0, 12.0], [40.0, 14.0]]),
            ];
            while !stop.load(Ordering::Relaxed) {
                for response in &both {
                    // SAFETY: valid pointers.
                    ok(unsafe { isoc_pet_set_response(plan, response) });
                    thread::yield_now();
                }
            }
        });
        for _ in 0..300 {
            let sizes = table_sizes(plan.pet);
            let mut to = unwritten(&sizes, pixels);
            let mut lists = room(&mut to);
            // SAFETY: the room that the lists say.
            match unsafe { isoc_pet_get_tables(plan.pet, 1, &mut lists) } {
                Status::Ok => {
                    let [_, offsets, values, mass] = counts(&lists).map(|n| n as usize);
                    let found = known.iter().find(|t| t.offsets.len() == offsets).expect("the tables of one of both");
                    assert_eq!(to.map[..pixels], found.map);
                    assert_eq!(to.offsets[..offsets], found.offsets);
                    assert_eq!(to.values[..values], found.values);
                    assert_eq!(to.mass[..mass], found.mass);
                    let beyond = to.values.len() - BEYOND;
                    assert!(
                        to.values[beyond..].iter().all(|v| *v == -1.0)
                            && to.offsets[offsets..].iter().all(|o| o[0] == i32::MAX)
                    );
                }
                status => {
                    assert_eq!(status, Status::OutOfRange);
                    assert!(is_unwritten(&to));
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
}
