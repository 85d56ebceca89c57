//! Lists of events along lines that the calls of the C ABI refuse: the status, words of the message, and that nothing is written.

use super::device;
use super::lines::{Events, SHAPE, Scanner, listed};
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::context::{isoc_context_create, isoc_context_destroy, isoc_context_options};
use isocenter::ffi::pet::*;
use isocenter::ffi::tensor::isoc_tensor;
use std::ffi::{c_char, c_int, c_void};
use std::ptr::{from_ref, null, null_mut};

const EVENTS: usize = 40;

/// A plan with a scanner, and arguments that are right.
struct Right {
    scanner: Scanner,
    events: Events,
    /// First and second positions, times, widths, bins.
    first: Vec<f32>,
    second: Vec<f32>,
    widths: Vec<f32>,
    bins: Vec<u8>,
    image: Vec<f32>,
    values: Vec<f32>,
    rates: Vec<f32>,
    water: Vec<f32>,
    histos: Vec<f32>,
    /// What calls write to.
    to_image: Vec<f32>,
    to_values: Vec<f32>,
}

/// What is in outputs before a call.
const BEFORE: f32 = 7.0;

/// The tensors of a call, which a case may change.
struct Arguments {
    list: isoc_pet_list,
    crystals: isoc_tensor,
    first: isoc_tensor,
    second: isoc_tensor,
    times: isoc_tensor,
    widths: isoc_tensor,
    bins: isoc_tensor,
    options: isoc_pet_factor_options,
    duration: f64,
    window: f64,
    /// Of the call's name.
    image: isoc_tensor,
    values: isoc_tensor,
    rates: isoc_tensor,
    map: isoc_tensor,
    histos: isoc_tensor,
    factors: isoc_tensor,
    additive: isoc_tensor,
    to_image: isoc_tensor,
    to_values: isoc_tensor,
    /// Leaves the call's first array besides the list out; its output.
    no_input: bool,
    no_output: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Call {
    Forward,
    Adjoint,
    Factors,
    Sensitivity,
    Randoms,
    Sample,
    Reconstruct,
}

use Call::*;

/// Those that take lists.
const OF_LISTS: [Call; 6] = [Forward, Adjoint, Factors, Randoms, Sample, Reconstruct];
/// Those that look at times.
const TIMED: [Call; 4] = [Forward, Adjoint, Sample, Reconstruct];
/// Those that blur.
const BLURRED: [Call; 3] = [Forward, Adjoint, Reconstruct];

impl Right {
    fn new(context: &isoc_context_options) -> Self {
        let scanner = Scanner::new(context, [6.0, 8.0], &[]);
        let plan = &scanner.plan;
        plan.set_response(&response(300.0, 8.0, 8.0));
        plan.set_options(&isoc_pet_options { algorithm: 1, subsets: 2, iterations: 2, ..sized() });
        let (voxels, histos) = (plan.voxels(), plan.views.len() * plan.voxels());
        let ends = |side: f32| (0..EVENTS).flat_map(|k| [150.0 * side, k as f32 - 20.0, 2.0 * side]).collect();
        Self {
            events: scanner.events(EVENTS, 1),
            first: ends(1.0),
            second: ends(-1.0),
            widths: vec![300.0; EVENTS],
            bins: (0..EVENTS).map(|k| (k % 2) as u8).collect(),
            image: vec![0.5; voxels],
            values: vec![1.0; EVENTS],
            rates: vec![1e3; scanner.count()],
            water: vec![0.0096; voxels],
            histos: vec![1.0; histos],
            to_image: vec![BEFORE; voxels],
            to_values: vec![BEFORE; EVENTS],
            scanner,
        }
    }

    fn plan(&self) -> &Plan {
        &self.scanner.plan
    }

    fn arguments(&mut self) -> Box<Arguments> {
        let (each, three) = ([EVENTS], [EVENTS, 3]);
        let histos = self.plan().histos(self.plan().views.len());
        Box::new(Arguments {
            list: sized(),
            crystals: self.events.pairs(),
            first: tensor(&self.first, &three),
            second: tensor(&self.second, &three),
            times: tensor(&self.events.times, &each),
            widths: tensor(&self.widths, &each),
            bins: tensor(&self.bins, &each),
            options: isoc_pet_factor_options { directions: 1, ..sized() },
            duration: 60.0,
            window: 2000.0,
            image: tensor(&self.image, &SHAPE),
            values: tensor(&self.values, &each),
            rates: tensor(&self.rates, &[self.rates.len()]),
            map: tensor(&self.water, &SHAPE),
            histos: tensor(&self.histos, &histos),
            factors: tensor(&self.values, &each),
            additive: tensor(&self.values, &each),
            to_image: output(&mut self.to_image, &SHAPE),
            to_values: output(&mut self.to_values, &each),
            no_input: false,
            no_output: false,
        })
    }

    /// What a call says of arguments that begin as crystals without times; the outputs have to be as they were where it fails.
    fn status(&mut self, call: Call, change: &dyn Fn(&Plan, &mut Arguments)) -> Status {
        self.to_image.fill(BEFORE);
        self.to_values.fill(BEFORE);
        let mut a = self.arguments();
        a.list = listed(&a.crystals, None);
        change(&self.scanner.plan, &mut a);
        let (pet, list) = (self.plan().pet, if a.list.reserved == u32::MAX { null() } else { from_ref(&a.list) });
        let of = |t: &isoc_tensor, left_out: bool| if left_out { null() } else { from_ref(t) };
        let given = |t: &isoc_tensor| of(t, a.no_input);
        let (image, values) = (of(&a.to_image, a.no_output), of(&a.to_values, a.no_output));
        let mut dropped: isoc_pet_dropped = sized();
        // SAFETY: valid pointers, or NULL.
        let status = unsafe {
            match call {
                Forward => isoc_pet_forward_lines(pet, list, given(&a.image), values, &mut dropped),
                Adjoint => isoc_pet_adjoint_lines(pet, list, given(&a.values), image, &mut dropped),
                Factors => isoc_pet_line_factors(pet, list, &a.options, &a.rates, &a.map, values, &mut dropped),
                Sensitivity => isoc_pet_line_sensitivity(pet, &a.options, &a.rates, &a.map, image),
                Randoms => isoc_pet_line_randoms(pet, list, a.duration, a.window, given(&a.rates), values),
                Sample => isoc_pet_sample_lines(pet, list, given(&a.histos), values, &mut dropped),
                Reconstruct => {
                    isoc_pet_reconstruct_lines(pet, list, &a.factors, &a.additive, given(&a.image), image, &mut dropped)
                }
            }
        };
        drop(a);
        if status != Status::Ok {
            let kept = self.to_image.iter().chain(&self.to_values).all(|v| *v == BEFORE);
            assert!(kept, "{call:?} wrote, and failed with {}", said());
        }
        status
    }

    /// The call fails so, and works afterwards.
    fn refuses(&mut self, call: Call, status: Status, words: &str, change: impl Fn(&Plan, &mut Arguments)) {
        let found = self.status(call, &change);
        assert!(
            found == status && said().contains(words),
            "{call:?}: {found:?}, not {status:?} with {words:?}: {}",
            said()
        );
        self.works(call, &|_, _| ());
    }

    fn works(&mut self, call: Call, change: &dyn Fn(&Plan, &mut Arguments)) {
        let found = self.status(call, change);
        assert_eq!(found, Status::Ok, "{call:?}: {}", said());
    }
}

fn right() -> Option<Right> {
    Some(Right::new(&on(device()?)))
}

/// Places in the array, whose values are the case's for the call.
fn with<T: Copy>(values: &[T], at: usize, value: T) -> &'static [T] {
    let mut list = values.to_vec();
    list[at] = value;
    list.leak()
}

#[test]
fn lists_are_refused_as_the_table_says() {
    let Some(mut right) = right() else { return };
    type Change = fn(&mut Arguments);
    let table: [(Status, &str, Change); 28] = [
        (Status::NullPointer, "isoc_pet_list", |a| a.list.reserved = u32::MAX),
        (Status::StructSize, "struct_size is 3", |a| a.list.struct_size = 3),
        (Status::OutOfRange, "list.reserved is 1; it must be 0", |a| a.list.reserved = 1),
        (Status::NullPointer, "list.crystals is NULL, and so is list.first_positions", |a| a.list.crystals = null()),
        (Status::NullPointer, "list.second_positions", |a| {
            (a.list.crystals, a.list.first_positions) = (null(), &a.first);
        }),
        (Status::OutOfRange, "list has crystals and positions", |a| {
            (a.list.first_positions, a.list.second_positions) = (&a.first, &a.second);
        }),
        (Status::OutOfRange, "list has crystals and positions", |a| a.list.second_positions = &a.second),
        (Status::TensorShape, "list.crystals.shape[1] is 3", |a| {
            a.crystals = tensor(&[0u32; 3 * EVENTS], &[EVENTS, 3])
        }),
        (Status::TensorNdim, "list.crystals.ndim is 1", |a| a.crystals = tensor(&[0u32; EVENTS], &[EVENTS])),
        (Status::TensorDtype, "list.crystals.dtype", |a| a.crystals.dtype.code = 2),
        (Status::TensorDtype, "list.crystals.dtype", |a| a.crystals.dtype = tensor(&[0u64; 1], &[1]).dtype),
        (Status::TensorDevice, "list.crystals is on device type 2", |a| a.crystals.device.device_type = 2),
        (Status::OutOfRange, "list.crystals.shape[0] is 0", |a| a.crystals = tensor(&[0u32; 0], &[0, 2])),
        (Status::NullPointer, "list.crystals.data is NULL", |a| a.crystals.data = null_mut()),
        (Status::TensorShape, "list.times.shape[0] is 39; it must be 40", |a| {
            timed(a);
            a.times = tensor(&[0.0f32; 39], &[39]);
        }),
        (Status::TensorDevice, "list.times is on device type 2", |a| {
            timed(a);
            a.times.device.device_type = 2;
        }),
        (Status::TensorDtype, "list.times.dtype", |a| {
            timed(a);
            a.times.dtype.code = 0;
        }),
        (Status::NotConfigured, "the scanner has no time bins", |a| a.list.times = &a.bins),
        (Status::TensorShape, "list.second_positions.shape[0] is 39; it must be 40", |a| {
            positions(a);
            a.second = tensor(&[0.0f32; 39 * 3], &[39, 3]);
        }),
        (Status::TensorShape, "list.first_positions.shape[1] is 2; it must be 3", |a| {
            positions(a);
            a.first = tensor(&[0.0f32; 2 * EVENTS], &[EVENTS, 2]);
        }),
        (Status::TensorDtype, "list.second_positions.dtype", |a| {
            positions(a);
            a.second.dtype.code = 1;
        }),
        (Status::TensorDtype, "list.times.dtype", |a| {
            positions(a);
            a.list.times = &a.bins;
        }),
        (Status::TensorDevice, "list.first_positions is on device type 2", |a| {
            positions(a);
            a.first.device.device_type = 2;
        }),
        (Status::TensorShape, "list.tof_fwhm.shape[0] is 39; it must be 40", |a| {
            timed_by_widths(a);
            a.widths = tensor(&[1.0f32; 39], &[39]);
        }),
        (Status::TensorDtype, "list.tof_fwhm.dtype", |a| {
            timed_by_widths(a);
            a.widths.dtype.code = 1;
        }),
        (Status::TensorDevice, "list.tof_fwhm is on device type 2", |a| {
            timed_by_widths(a);
            a.widths.device.device_type = 2;
        }),
        (Status::TensorStrides, "list.crystals", |a| {
            a.crystals.strides = [i64::MAX, 1].as_slice().to_vec().leak().as_ptr()
        }),
        (Status::TensorStrides, "aligned", |a| a.crystals.byte_offset = 1),
    ];
    for call in OF_LISTS {
        for (status, words, change) in &table {
            // Randoms and efficiencies are of crystals: their words of a list of positions are their own, once its arrays are right.
            right.refuses(call, *status, words, |_, a| change(a));
        }
    }
}

#[test]
fn lists_that_share_memory_with_an_output_are_refused() {
    let Some(mut right) = right() else { return };
    type Change = fn(&mut Arguments, *mut std::ffi::c_void);
    let table: [(&str, Change); 6] = [
        ("list.crystals (", |a, to| a.crystals.data = to),
        ("list.times (", |a, to| {
            timed(a);
            a.times.data = to;
        }),
        ("list.tof_fwhm (", |a, to| {
            timed_by_widths(a);
            a.widths.data = to;
        }),
        ("list.first_positions (", |a, to| {
            positions(a);
            a.first.data = to;
        }),
        ("list.second_positions (", |a, to| {
            positions(a);
            a.second.data = to;
        }),
        ("list.times (", |a, to| {
            positions(a);
            timed(a);
            a.times.data = to;
        }),
    ];
    for call in OF_LISTS {
        for (name, change) in &table {
            right.refuses(call, Status::Overlap, name, |_, a| {
                let to = if matches!(call, Adjoint | Reconstruct) { a.to_image.data } else { a.to_values.data };
                change(a, to);
            });
        }
    }
}

fn timed(a: &mut Arguments) {
    a.list.times = &a.times;
}

fn timed_by_widths(a: &mut Arguments) {
    timed(a);
    a.list.tof_fwhm = &a.widths;
}

/// A list of positions.
fn positions(a: &mut Arguments) {
    (a.list.crystals, a.list.first_positions, a.list.second_positions) = (null(), &a.first, &a.second);
}

#[test]
fn times_need_widths() {
    let Some(mut right) = right() else { return };
    for call in TIMED {
        for (value, status, words) in [
            (0.0, Status::OutOfRange, "list.tof_fwhm[3] is 0 ps; it must be above 0"),
            (-3.0, Status::OutOfRange, "list.tof_fwhm[3] is -3 ps; it must be above 0"),
            (f32::NAN, Status::NotFiniteData, "list.tof_fwhm[3] is NaN"),
            (f32::INFINITY, Status::NotFiniteData, "list.tof_fwhm[3] is inf"),
        ] {
            right.refuses(call, status, words, |_, a| {
                a.widths = tensor(with(&[300.0f32; EVENTS], 3, value), &[EVENTS]);
                timed_by_widths(a);
            });
        }
        right.refuses(call, Status::OutOfRange, "list.tof_fwhm is of times, and list.times is NULL", |_, a| {
            a.list.tof_fwhm = &a.widths;
        });
        // A response of no time of flight: an error beside times, unless they have widths of their own, and none without.
        right.plan().set_response(&response(0.0, 8.0, 8.0));
        right.refuses(call, Status::NotConfigured, "response.tof_fwhm is 0", |_, a| a.list.times = &a.times);
        right.works(call, &|_, a| timed_by_widths(a));
        right.plan().set_response(&response(300.0, 8.0, 8.0));
        right.works(call, &|_, a| a.list.times = &a.times);
    }
    for call in BLURRED {
        right.plan().set_response(&widening(response(300.0, 8.0, 8.0), &[[0.0, 8.0], [50.0, 9.0]]));
        let found = right.status(call, &|_, _| ());
        assert!(found == Status::OutOfRange && said().contains("the response has a radial_table"), "{}", said());
        right.plan().set_response(&isoc_pet_response {
            profile: 1,
            ratio: 1.5,
            shift: 0.6,
            share: 0.4,
            ..response(300.0, 8.0, 8.0)
        });
        let found = right.status(call, &|_, _| ());
        assert!(found == Status::OutOfRange && said().contains("asymmetric profile"), "{}", said());
        right.plan().set_response(&response(300.0, 8.0, 8.0));
        right.works(call, &|_, _| ());
    }
    // Time bins that the scanner has.
    right.scanner.set([6.0, 8.0], &[-500.0, 0.0, 500.0]);
    for call in OF_LISTS {
        right.works(call, &|_, a| a.list.times = &a.bins);
    }
}

#[test]
fn plans_that_are_not_ready_say_what_comes_first() {
    let Some(device) = device() else { return };
    let mut ctx = null_mut();
    let mut pet = null_mut();
    // SAFETY: valid pointers, or NULL.
    unsafe {
        ok(isoc_context_create(&on(device), &mut ctx));
        ok(isoc_pet_create(ctx, &mut pet));
        let (values, events) = (vec![1.0f32; 4], [[0u32, 1]; 4]);
        let (image, pairs) = (tensor(&values, &[1, 2, 2]), tensor(events.as_flattened(), &[4, 2]));
        let each = tensor(&values, &[4]);
        let list = listed(&pairs, None);
        let calls = |pet: *mut isoc_pet| {
            let mut bytes = 0;
            [
                isoc_pet_forward_lines(pet, &list, &image, &each, null_mut()),
                isoc_pet_adjoint_lines(pet, &list, &each, &image, null_mut()),
                isoc_pet_line_factors(pet, &list, null(), null(), null(), &each, null_mut()),
                isoc_pet_line_sensitivity(pet, null(), null(), null(), &image),
                isoc_pet_line_randoms(pet, &list, 1.0, 1.0, &each, &each),
                isoc_pet_sample_lines(pet, &list, &image, &each, null_mut()),
                isoc_pet_reconstruct_lines(pet, &list, null(), null(), &image, &image, null_mut()),
                isoc_pet_lines_memory(pet, 4, &mut bytes),
            ]
        };
        let mlem = isoc_pet_options { algorithm: 2, ..sized() };
        ok(isoc_pet_set_options(pet, &mlem));
        assert_eq!(calls(pet), [Status::NotConfigured; 8], "no geometry");
        assert_eq!(calls(null_mut()), [Status::NullPointer; 8]);
        assert_eq!(calls(ctx.cast()), [Status::InvalidHandle; 8]);
        let geometry = isoc_pet_geometry { nx: 2, ny: 2, nz: 1, voxel_x: 4.0, azimuths: 2, max_tilt: 0.1, ..sized() };
        ok(isoc_pet_set_geometry(pet, &geometry, null()));
        // Without a scanner there are no crystals; the others' arrays are of two views and of no scanner.
        let other = tensor(&[2.0f32; 4], &[1, 2, 2]);
        let no_scanner = |call: &str, status: Status| {
            assert!(status == Status::NotConfigured, "{call}: {status:?}");
            assert!(said().contains("isoc_pet_set_scanner comes first"), "{call}: {}", said());
        };
        no_scanner("forward", isoc_pet_forward_lines(pet, &list, &other, &each, null_mut()));
        no_scanner("factors", isoc_pet_line_factors(pet, &list, null(), null(), null(), &each, null_mut()));
        no_scanner("sensitivity", isoc_pet_line_sensitivity(pet, null(), null(), null(), &other));
        no_scanner("randoms", isoc_pet_line_randoms(pet, &list, 1.0, 1.0, &each, &other));
        ok(isoc_pet_destroy(pet));
        assert_eq!(calls(pet), [Status::InvalidHandle; 8]);
        ok(isoc_context_destroy(ctx));
    }
    // Times that nothing tells the width of.
    let scanner = Scanner::new(&on(device), [6.0, 8.0], &[]);
    let events = scanner.events(EVENTS, 2);
    let (pairs, times) = (events.pairs(), tensor(&events.times, &[EVENTS]));
    let (image, mut values) = (vec![0.5f32; scanner.plan.voxels()], vec![0.0f32; EVENTS]);
    let (from, to) = (tensor(&image, &SHAPE), output(&mut values, &[EVENTS]));
    // SAFETY: valid pointers.
    let status =
        unsafe { isoc_pet_forward_lines(scanner.plan.pet, &listed(&pairs, Some(&times)), &from, &to, null_mut()) };
    assert!(status == Status::NotConfigured && said().contains("isoc_pet_set_response comes first"), "{}", said());
}

#[test]
fn arrays_besides_the_list_are_refused() {
    let Some(mut right) = right() else { return };
    let names = |call| match call {
        Forward => ("image", "values"),
        Adjoint => ("values", "image"),
        Factors => ("", "factors"),
        Sensitivity => ("", "sensitivity"),
        Randoms => ("singles", "randoms"),
        Sample => ("histo_images", "values"),
        Reconstruct => ("sensitivity", "image"),
    };
    for call in [Forward, Adjoint, Factors, Sensitivity, Randoms, Sample, Reconstruct] {
        let (input, to) = names(call);
        if !input.is_empty() {
            right.refuses(call, Status::NullPointer, &format!("{input} is NULL"), |_, a| a.no_input = true);
        }
        right.refuses(call, Status::NullPointer, &format!("{to} is NULL"), |_, a| a.no_output = true);
        right.refuses(call, Status::TensorDtype, &format!("{to}.dtype"), |_, a| {
            (a.to_values.dtype.bits, a.to_image.dtype.bits) = (64, 64);
        });
        right.refuses(call, Status::TensorShape, &format!("{to}.shape["), |_, a| {
            a.to_values = tensor(&[0.0f32; 39], &[39]);
            a.to_image = tensor(&[0.0f32; 2], &[1, 1, 2]);
        });
        if matches!(call, Forward | Factors | Randoms | Sample) {
            right.refuses(call, Status::TensorDevice, &format!("{to} is on device type 2"), |_, a| {
                a.to_values.device.device_type = 2;
            });
        }
    }
    right.refuses(Forward, Status::TensorShape, "image.shape[2] is 2; it must be 20", |_, a| {
        a.image = tensor(&[0.0f32; 2], &[1, 1, 2]);
    });
    right.refuses(Forward, Status::Overlap, "values", |_, a| a.image.data = a.to_values.data);
    right.refuses(Adjoint, Status::TensorShape, "values.shape[0] is 39", |_, a| {
        a.values = tensor(&[0.0f32; 39], &[39]);
    });
    right.refuses(Adjoint, Status::Overlap, "image", |_, a| a.values.data = a.to_image.data);
    right.refuses(Adjoint, Status::TensorDevice, "values is on device type 2", |_, a| a.values.device.device_type = 2);
    right.refuses(Randoms, Status::TensorShape, "singles.shape[0]", |_, a| a.rates = tensor(&[0.0f32; 3], &[3]));
    right.refuses(Randoms, Status::Overlap, "randoms", |_, a| a.rates.data = a.to_values.data);
    right.refuses(Sample, Status::TensorShape, "histo_images.shape[3] is 1", |_, a| {
        a.histos = tensor(&[0.0f32; 2], &[2, 1, 1, 1]);
    });
    right.refuses(Sample, Status::TensorDtype, "histo_images.dtype", |_, a| a.histos.dtype.code = 1);
    right.refuses(Sample, Status::TensorDevice, "histo_images is on device type 2", |_, a| {
        a.histos.device.device_type = 2
    });
    right.refuses(Sample, Status::Overlap, "values", |_, a| a.histos.data = a.to_values.data);
    for (name, pick) in [("factors", 0), ("additive", 1)] {
        let of = |a: &mut Arguments, t: isoc_tensor| if pick == 0 { a.factors = t } else { a.additive = t };
        right.refuses(Reconstruct, Status::TensorShape, &format!("{name}.shape[0] is 39; it must be 40"), |_, a| {
            of(a, tensor(&[0.0f32; 39], &[39]));
        });
        right.refuses(Reconstruct, Status::TensorDtype, &format!("{name}.dtype"), |_, a| of(a, a.bins));
        right.refuses(Reconstruct, Status::Overlap, &format!("{name} ("), |_, a| {
            of(a, isoc_tensor { data: a.to_image.data, ..a.values });
        });
        for (value, status, words) in [
            (-1.0, Status::OutOfRange, "[5] is -1; it must not be below 0"),
            (f32::NAN, Status::NotFiniteData, "[5] is NaN"),
        ] {
            right.refuses(Reconstruct, status, &format!("{name}{words}"), |_, a| {
                of(a, tensor(with(&[1.0; EVENTS], 5, value), &[EVENTS]));
            });
        }
    }
    right.refuses(Reconstruct, Status::Overlap, "sensitivity (", |_, a| a.image.data = a.to_image.data);
    for (name, pick) in [("efficiencies (", 0), ("attenuation (", 1)] {
        for call in [Factors, Sensitivity] {
            right.refuses(call, Status::Overlap, name, |_, a| {
                let to = if matches!(call, Factors) { a.to_values.data } else { a.to_image.data };
                if pick == 0 { a.rates.data = to } else { a.map.data = to }
            });
        }
    }
    for (call, name) in [(Forward, "image"), (Reconstruct, "sensitivity")] {
        let voxels = right.image.clone();
        right.refuses(call, Status::NotFiniteData, &format!("{name}[0, 0, 7] is NaN"), |_, a| {
            a.image = tensor(with(&voxels, 7, f32::NAN), &SHAPE);
        });
    }
    let voxels = right.image.clone();
    right.refuses(Reconstruct, Status::OutOfRange, "sensitivity[0, 0, 7] is -1", |_, a| {
        a.image = tensor(with(&voxels, 7, -1.0), &SHAPE);
    });
    // Negative values are projected.
    right.works(Forward, &|_, a| a.image = tensor(with(&voxels, 7, -1.0), &SHAPE));
    right.works(Adjoint, &|_, a| a.values = tensor(with(&[1.0f32; EVENTS], 5, -1.0), &[EVENTS]));
    right.refuses(Adjoint, Status::NotFiniteData, "values[5] is NaN", |_, a| {
        a.values = tensor(with(&[1.0f32; EVENTS], 5, f32::NAN), &[EVENTS]);
    });
}

#[test]
fn corrections_are_refused() {
    let Some(mut right) = right() else { return };
    let rates = right.rates.clone();
    for call in [Factors, Sensitivity] {
        right.refuses(call, Status::OutOfRange, "efficiencies[3]", |_, a| {
            a.rates = tensor(with(&rates, 3, -1.0), &[rates.len()]);
        });
        right.refuses(call, Status::NotFiniteData, "efficiencies[3] is NaN", |_, a| {
            a.rates = tensor(with(&rates, 3, f32::NAN), &[rates.len()]);
        });
        right.refuses(call, Status::TensorShape, "efficiencies.shape[0]", |_, a| a.rates = tensor(&[1.0f32; 3], &[3]));
        right.refuses(call, Status::OutOfRange, "attenuation[0, 0, 7] is -1000 /mm", |_, a| {
            a.map = tensor(with(&[0.0; SHAPE[0] * SHAPE[1] * SHAPE[2]], 7, -1000.0), &SHAPE);
        });
        right.refuses(call, Status::OutOfRange, "options.half_life is 6586 beside a duration of 0", |_, a| {
            a.options.half_life = 6586.0;
        });
        right.refuses(call, Status::OutOfRange, "options.live is 7", |_, a| {
            (a.options.duration, a.options.live) = (60.0, 7.0);
        });
        right.refuses(call, Status::OutOfRange, "options.directions is 16385", |_, a| a.options.directions = 16385);
        right.refuses(call, Status::OutOfRange, "options.map_voxel_x is -1", |_, a| a.options.map_voxel_x = -1.0);
        right.refuses(call, Status::StructSize, "struct_size is 3", |_, a| a.options.struct_size = 3);
    }
    right.refuses(Factors, Status::OutOfRange, "the list has positions alone: give list.crystals", |_, a| positions(a));
    right.refuses(Randoms, Status::OutOfRange, "the list has positions alone: give list.crystals", |_, a| positions(a));
    for (duration, window, status, words) in [
        (0.0, 2000.0, Status::OutOfRange, "duration is 0 s"),
        (-1.0, 2000.0, Status::OutOfRange, "duration is -1 s"),
        (f64::NAN, 2000.0, Status::NotFiniteParameter, "duration is NaN"),
        (60.0, -1.0, Status::OutOfRange, "window is -1 ps"),
        (60.0, f64::INFINITY, Status::NotFiniteParameter, "window is inf"),
        (60.0, 0.0, Status::NotConfigured, "window is 0, and the scanner has no time bins"),
    ] {
        right.refuses(Randoms, status, words, |_, a| (a.duration, a.window) = (duration, window));
    }
    right.refuses(Randoms, Status::OutOfRange, "singles[3] is -1; it must be at least 0", |_, a| {
        a.rates = tensor(with(&rates, 3, -1.0), &[rates.len()]);
    });
    right.refuses(Randoms, Status::NotFiniteData, "singles[3] is NaN", |_, a| {
        a.rates = tensor(with(&rates, 3, f32::NAN), &[rates.len()]);
    });
    // Points have no area, and no line meets them.
    right.scanner.set([0.0; 2], &[]);
    for call in [Randoms, Sensitivity] {
        let found = right.status(call, &|_, _| ());
        assert!(found == Status::NotConfigured && said().contains("crystals are points"), "{call:?}: {}", said());
    }
    right.works(Factors, &|_, _| ());
}

#[test]
fn options_of_views_are_refused() {
    let Some(mut right) = right() else { return };
    let options = |right: &Right, o: isoc_pet_options| right.plan().set_options(&o);
    let usual = isoc_pet_options { algorithm: 1, subsets: 2, iterations: 2, ..sized() };
    let mut bytes = 0u64;
    for (o, words) in [
        (
            isoc_pet_options { algorithm: 0, subsets: 0, ..usual },
            "options.algorithm is 0 (ramla), which goes view by view",
        ),
        (isoc_pet_options { order: 2, ..usual }, "options.order is 2 (given), an order of views"),
    ] {
        options(&right, o);
        assert_eq!(right.status(Reconstruct, &|_, _| ()), Status::OutOfRange);
        assert!(said().contains(words), "{}", said());
        // SAFETY: valid pointers.
        assert_eq!(unsafe { isoc_pet_lines_memory(right.plan().pet, 40, &mut bytes) }, Status::OutOfRange);
        assert!(said().contains(words), "{}", said());
    }
    options(&right, usual);
    // SAFETY: valid pointers, or NULL.
    unsafe {
        assert_eq!(isoc_pet_lines_memory(right.plan().pet, 0, &mut bytes), Status::OutOfRange);
        assert!(said().contains("events is 0"), "{}", said());
        assert_eq!(isoc_pet_lines_memory(right.plan().pet, u64::MAX, &mut bytes), Status::OutOfRange);
        assert_eq!(isoc_pet_lines_memory(right.plan().pet, 40, null_mut()), Status::NullPointer);
        ok(isoc_pet_lines_memory(right.plan().pet, 40, &mut bytes));
    }
    // The image that a warm start begins with.
    options(&right, isoc_pet_options { warm_start: 1, ..usual });
    right.works(Reconstruct, &|_, _| ());
    let crystals = right.events.pairs();
    let ones = vec![1.0f32; right.plan().voxels()];
    let mut start = ones.clone();
    start[11] = -1.0;
    let (status, image) =
        right.plan().try_reconstruct_lines((&listed(&crystals, None), EVENTS), None, None, &ones, &start);
    assert!(status == Status::OutOfRange && said().contains("image[0, 0, 11] is -1"), "{}", said());
    assert_eq!(image, start);
}

/// A subset of no events would take all of the image away. Those that nobody asked for are fewer of few events.
#[test]
fn subsets_have_events() {
    let Some(right) = right() else { return };
    let ones = vec![1.0f32; right.plan().voxels()];
    let crystals = tensor(right.events.crystals[..3].as_flattened(), &[3, 2]);
    let list = listed(&crystals, None);
    for algorithm in [1, 3, 4] {
        let of = |subsets| {
            right.plan().set_options(&isoc_pet_options { algorithm, subsets, iterations: 1, ..sized() });
            right.plan().try_reconstruct_lines((&list, 3), None, None, &ones, &ones)
        };
        let (status, image) = of(8);
        assert_eq!(status, Status::OutOfRange, "algorithm {algorithm}");
        assert!(said().contains("options.subsets is 8; the list has 3 events"), "{}", said());
        assert!(image == ones, "nothing is written");
        let (status, image) = of(0);
        ok(status);
        assert!(image.iter().any(|v| *v > 0.0), "algorithm {algorithm}: an image of nothing");
    }
}

/// As if zeros had been there, and counted.
#[test]
fn values_that_are_replaced_are_counted() {
    let Some(device) = device() else { return };
    let mut right = Right::new(&isoc_context_options { nan_policy: 1, ..on(device) });
    let voxels = right.image.clone();
    let replaced = |right: &Right| {
        let mut info: isoc_pet_info = sized();
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_get_info(right.plan().pet, &mut info) });
        info.replaced_values
    };
    for (call, broken) in [(Forward, f32::NAN), (Forward, f32::INFINITY), (Reconstruct, f32::NAN)] {
        right.works(call, &|_, a| a.image = tensor(with(&voxels, 7, broken), &SHAPE));
        assert_eq!(replaced(&right), 1, "{call:?}");
        let found = (right.to_image.clone(), right.to_values.clone());
        right.works(call, &|_, a| a.image = tensor(with(&voxels, 7, 0.0), &SHAPE));
        assert!((&right.to_image, &right.to_values) == (&found.0, &found.1), "{call:?}");
        assert_eq!(replaced(&right), 0);
    }
    let ones = [1.0f32; EVENTS];
    right.works(Adjoint, &|_, a| a.values = tensor(with(&ones, 5, f32::NAN), &[EVENTS]));
    assert_eq!(replaced(&right), 1);
    let found = right.to_image.clone();
    right.works(Adjoint, &|_, a| a.values = tensor(with(&ones, 5, 0.0), &[EVENTS]));
    assert!(right.to_image == found, "zeros and NaN are added up alike");
    right.works(Reconstruct, &|_, a| {
        (a.factors, a.additive) =
            (tensor(with(&ones, 5, f32::NAN), &[EVENTS]), tensor(with(&ones, 8, f32::INFINITY), &[EVENTS]));
    });
    assert_eq!(replaced(&right), 2);
    let found = right.to_image.clone();
    assert!(found.iter().all(|v| v.is_finite()));
    right.works(Reconstruct, &|_, a| {
        (a.factors, a.additive) = (tensor(with(&ones, 5, 0.0), &[EVENTS]), tensor(with(&ones, 8, 0.0), &[EVENTS]));
    });
    assert!(right.to_image == found, "factors and additive of NaN are zeros");
}

/// Events that are no lines have 0, and are told of by cause.
#[test]
fn events_that_are_no_lines_are_told_of() {
    let Some(mut right) = right() else { return };
    let count = right.scanner.count() as u32;
    right.events.crystals[4] = [count, 3];
    right.events.crystals[5] = [u32::MAX, u32::MAX];
    right.events.crystals[6] = [3, 3];
    right.events.times[7] = f32::NAN;
    // From ring to ring, along the side of the scanner: past the lattice.
    right.events.crystals[8] = [0, 144 * 11];
    let (pairs, times) = (right.events.pairs(), tensor(&right.events.times, &[EVENTS]));
    let (values, dropped) = right.plan().forward_lines(&listed(&pairs, Some(&times)), EVENTS, &right.image);
    assert_eq!((dropped.unknown, dropped.equal_positions, dropped.not_finite), (2, 1, 1), "{dropped:?}");
    assert!(dropped.outside_lattice >= 1 && dropped.outside_tilts == 0, "{dropped:?}");
    let listed_ones = dropped.unknown + dropped.equal_positions + dropped.not_finite + dropped.outside_lattice;
    assert_eq!(dropped.events, listed_ones);
    assert!(values[4..9].iter().all(|v| *v == 0.0), "{:?}", &values[4..9]);
    let (ones, mut image, mut again) = ([1.0f32; EVENTS], vec![0.0f32; right.image.len()], sized());
    let (from, to) = (tensor(&ones, &[EVENTS]), output(&mut image, &SHAPE));
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_adjoint_lines(right.plan().pet, &listed(&pairs, Some(&times)), &from, &to, &mut again) });
    let causes = |d: &isoc_pet_dropped| [d.events, d.unknown, d.equal_positions, d.not_finite, d.outside_lattice];
    assert_eq!(causes(&again), causes(&dropped), "back and forth alike");
    let far = isoc_pet_dropped { struct_size: 3, ..sized() };
    let (mut far, from, mut to) = (far, tensor(&right.image, &SHAPE), [0.0f32; EVENTS]);
    let to = output(&mut to, &[EVENTS]);
    // SAFETY: valid pointers.
    let status = unsafe { isoc_pet_forward_lines(right.plan().pet, &listed(&pairs, None), &from, &to, &mut far) };
    assert_eq!(status, Status::StructSize);
}

#[test]
fn caps_hold() {
    let Some(device) = device() else { return };
    let mut right = Right::new(&isoc_context_options { memory_cap: 1 << 14, ..on(device) });
    for call in [Forward, Adjoint, Reconstruct, Sensitivity] {
        assert_eq!(right.status(call, &|_, _| ()), Status::MemoryCap, "{call:?}: {}", said());
        assert!(said().contains("memory_cap is 16384") || said().contains("is 16384 bytes"), "{}", said());
    }
}

/// Stops at the first report.
unsafe extern "C" fn stop(_: *mut c_void, _: f64, _: *const c_char) -> c_int {
    1
}

#[test]
fn cancelled_calls_leave_their_output() {
    let Some(device) = device() else { return };
    let mut right = Right::new(&isoc_context_options { progress: Some(stop), ..on(device) });
    right.plan().set_options(&isoc_pet_options { algorithm: 2, iterations: 100_000, ..sized() });
    assert_eq!(right.status(Reconstruct, &|_, _| ()), Status::Cancelled, "{}", said());
}
