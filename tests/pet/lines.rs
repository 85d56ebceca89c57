//! Lists of events along lines, through the C ABI, against sums term by term in double precision.

use super::device;
use super::scan::*;
use isocenter::error::Status;
use isocenter::ffi::context::isoc_context_options;
use isocenter::ffi::pet::*;
use isocenter::ffi::tensor::isoc_tensor;
use std::f64::consts::{PI, TAU};
use std::ptr::{from_ref, null, null_mut};

pub(crate) const SHAPE: [usize; 3] = [9, 18, 20];
const VOXEL: [f64; 3] = [5.0, 4.6, 6.0];
const AZIMUTHS: usize = 6;
const TILTS: usize = 2;
const MAX_TILT: f64 = 0.2;
/// Half the speed of light, mm/ps.
const HALF_LIGHT: f64 = 0.149896229;
const FWHM_PER_SIGMA: f64 = 2.354820045;

/// Crystals of two rings of 24 blocks of 6 by 6, 300 mm wide and 108 mm long: centres, and directions that they look in.
fn crystals() -> (Vec<f64>, Vec<f64>) {
    let blocks = isoc_pet_blocks {
        blocks: 24,
        block_rings: 2,
        across: 6,
        along: 6,
        diameter: 300.0,
        pitch_across: 6.58,
        pitch_along: 9.0,
        ..sized()
    };
    let mut count = 0;
    // SAFETY: valid pointers; the lists are as long as the call says.
    unsafe {
        ok(isoc_pet_block_crystals(&blocks, null_mut(), null_mut(), 0, &mut count));
        let (mut places, mut normals) = (vec![0.0; 3 * count as usize], vec![0.0; 3 * count as usize]);
        ok(isoc_pet_block_crystals(&blocks, places.as_mut_ptr(), normals.as_mut_ptr(), count, &mut count));
        (places, normals)
    }
}

/// A plan of a grid of views with a scanner of such crystals.
pub(crate) struct Scanner {
    pub(crate) plan: Plan,
    places: Vec<f64>,
    normals: Vec<f64>,
}

impl Scanner {
    pub(crate) fn new(context: &isoc_context_options, face: [f64; 2], edges: &[f64]) -> Self {
        Self::of(context, (SHAPE, VOXEL), face, edges)
    }

    fn of(
        context: &isoc_context_options,
        (shape, voxel): ([usize; 3], [f64; 3]),
        face: [f64; 2],
        edges: &[f64],
    ) -> Self {
        // Of as many views as the grid has.
        let views: Vec<[f64; 2]> = (0..AZIMUTHS * TILTS).map(|k| [0.1 * k as f64, 0.0]).collect();
        let plan = Plan::with(context, shape, voxel, &views);
        let (places, normals) = crystals();
        let scanner = Self { plan, places, normals };
        scanner.set_tilts(MAX_TILT);
        scanner.set(face, edges);
        scanner
    }

    fn set_tilts(&self, max_tilt: f64) {
        let Plan { shape, voxel, pet, .. } = &self.plan;
        let geometry = isoc_pet_geometry {
            nx: shape[2] as i64,
            ny: shape[1] as i64,
            nz: shape[0] as i64,
            voxel_x: voxel[0],
            voxel_y: voxel[1],
            voxel_z: voxel[2],
            azimuths: AZIMUTHS as i64,
            tilts: TILTS as u32,
            max_tilt,
            ..sized()
        };
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_set_geometry(*pet, &geometry, null()) });
    }

    pub(crate) fn set(&self, [width, height]: [f64; 2], edges: &[f64]) {
        let shape = [self.count(), 3];
        let of = isoc_pet_scanner {
            crystal_width: width,
            crystal_height: height,
            time_bins: edges.len().saturating_sub(1) as u32,
            time_edges: if edges.is_empty() { null() } else { edges.as_ptr() },
            ..sized()
        };
        let (places, normals) = (tensor(&self.places, &shape), tensor(&self.normals, &shape));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_set_scanner(self.plan.pet, &of, &places, &normals) });
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len() / 3
    }

    fn place(&self, crystal: u32) -> [f64; 3] {
        // As a scanner keeps them.
        std::array::from_fn(|d| f64::from(self.places[3 * crystal as usize + d] as f32))
    }

    fn normal(&self, crystal: u32) -> [f64; 3] {
        std::array::from_fn(|d| self.normals[3 * crystal as usize + d])
    }

    /// Events of crystals about opposite each other, some further apart along the axis than the tilts allow, and their times in ps.
    pub(crate) fn events(&self, events: usize, seed: u64) -> Events {
        let draws = noise(4 * events, seed);
        let (ring, rings) = (24 * 6, 12);
        let mut of = Events::default();
        for d in draws.chunks(4) {
            let draw = |k: usize, n: usize| (d[k] * n as f32) as usize;
            let (around, z) = (draw(0, ring), draw(1, rings));
            let across = (around + ring / 2 - 18 + draw(2, 37)) % ring;
            let other = (z + draw(3, 17)).saturating_sub(8).min(rings - 1);
            of.crystals.push([(z * ring + around) as u32, (other * ring + across) as u32]);
            of.times.push(600.0 * (d[3] - 0.5));
        }
        of
    }

    /// Of an event between the middles of its crystals: x1, y1, z1, x2, y2, z2, t2 - t1.
    fn line(&self, events: &Events, k: usize) -> [f64; 7] {
        let [[x1, y1, z1], [x2, y2, z2]] = events.crystals[k].map(|c| self.place(c));
        [x1, y1, z1, x2, y2, z2, f64::from(events.times[k])]
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    pub(crate) crystals: Vec<[u32; 2]>,
    pub(crate) times: Vec<f32>,
}

impl Events {
    pub(crate) fn pairs(&self) -> isoc_tensor {
        tensor(self.crystals.as_flattened(), &[self.crystals.len(), 2])
    }
}

/// A list, whose tensors are the caller's.
pub(crate) fn listed(crystals: &isoc_tensor, times: Option<&isoc_tensor>) -> isoc_pet_list {
    isoc_pet_list { crystals, times: times.map_or(null(), from_ref), ..sized() }
}

fn told() -> isoc_pet_dropped {
    sized()
}

impl Plan {
    pub(crate) fn forward_lines(
        &self,
        list: &isoc_pet_list,
        events: usize,
        image: &[f32],
    ) -> (Vec<f32>, isoc_pet_dropped) {
        let (mut values, mut dropped) = (vec![f32::NAN; events], told());
        let to = output(&mut values, &[events]);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_forward_lines(self.pet, list, &tensor(image, &self.shape), &to, &mut dropped) });
        (values, dropped)
    }

    fn adjoint_lines(&self, list: &isoc_pet_list, values: &[f32]) -> Vec<f32> {
        let mut image = vec![f32::NAN; self.voxels()];
        let (from, to) = (tensor(values, &[values.len()]), output(&mut image, &self.shape));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_adjoint_lines(self.pet, list, &from, &to, null_mut()) });
        image
    }

    fn line_factors(
        &self,
        (list, events): (&isoc_pet_list, usize),
        options: &isoc_pet_factor_options,
        efficiencies: Option<&[f32]>,
        attenuation: Option<&isoc_tensor>,
    ) -> (Vec<f32>, isoc_pet_dropped) {
        let (mut values, mut dropped) = (vec![f32::NAN; events], told());
        let to = output(&mut values, &[events]);
        let efficiencies = efficiencies.map(|e| tensor(e, &[e.len()]));
        let (e, a) = (efficiencies.as_ref().map_or(null(), from_ref), attenuation.map_or(null(), from_ref));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_line_factors(self.pet, list, options, e, a, &to, &mut dropped) });
        (values, dropped)
    }

    fn line_sensitivity(&self, options: &isoc_pet_factor_options, attenuation: Option<&isoc_tensor>) -> Vec<f32> {
        let mut image = vec![f32::NAN; self.voxels()];
        let to = output(&mut image, &self.shape);
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_line_sensitivity(self.pet, options, null(), attenuation.map_or(null(), from_ref), &to) });
        image
    }

    fn line_randoms(&self, list: &isoc_pet_list, events: usize, of: [f64; 2], singles: &[f32]) -> Vec<f32> {
        let mut values = vec![f32::NAN; events];
        let (from, to) = (tensor(singles, &[singles.len()]), output(&mut values, &[events]));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_line_randoms(self.pet, list, of[0], of[1], &from, &to) });
        values
    }

    fn sample_lines(&self, list: &isoc_pet_list, events: usize, histos: &[f32]) -> (Vec<f32>, isoc_pet_dropped) {
        let (mut values, mut dropped) = (vec![f32::NAN; events], told());
        let (from, to) = (tensor(histos, &self.histos(self.views.len())), output(&mut values, &[events]));
        // SAFETY: valid pointers.
        ok(unsafe { isoc_pet_sample_lines(self.pet, list, &from, &to, &mut dropped) });
        (values, dropped)
    }

    /// The status, and the image that was there or is there now.
    pub(crate) fn try_reconstruct_lines(
        &self,
        (list, events): (&isoc_pet_list, usize),
        factors: Option<&[f32]>,
        additive: Option<&[f32]>,
        sensitivity: &[f32],
        start: &[f32],
    ) -> (Status, Vec<f32>) {
        let mut image = start.to_vec();
        let to = output(&mut image, &self.shape);
        let of_events = |values: Option<&[f32]>| values.map(|v| tensor(v, &[events]));
        let (factors, additive) = (of_events(factors), of_events(additive));
        let pointer = |t: &Option<isoc_tensor>| t.as_ref().map_or(null(), from_ref);
        let seen = tensor(sensitivity, &self.shape);
        // SAFETY: valid pointers.
        let status = unsafe {
            isoc_pet_reconstruct_lines(self.pet, list, pointer(&factors), pointer(&additive), &seen, &to, null_mut())
        };
        (status, image)
    }
}

/// The error function's half: the part of a normal distribution between 0 and `u` sigmas, by Simpson's rule.
fn part_of_normal(u: f64) -> f64 {
    let density = |t: f64| (-0.5 * t * t).exp() / TAU.sqrt();
    let weight = |k: u32| if k == 0 || k == 400 { 1.0 } else { f64::from(2 + 2 * (k % 2)) };
    (0..=400).map(|k| weight(k) * density(u * f64::from(k) / 400.0)).sum::<f64>() * u / 1200.0
}

/// Voxels of a lattice about a place.
struct Lattice {
    /// z, y, x
    shape: [usize; 3],
    /// Along x, y, z, and the middle of all.
    voxel: [f64; 3],
    centre: [f64; 3],
}

impl Lattice {
    /// Joseph's sum along a line as the header has it: in each plane across the axis that the line crosses most of, the image interpolated, times the mm from plane to plane, or with `timing`, a sigma in mm
    /// and where it is cut, the part of the Gaussian that is nearer to the plane than to others.
    fn sum(&self, image: &[f32], event: &[f64; 7], timing: Option<[f64; 2]>) -> f64 {
        let [nz, ny, nx] = self.shape;
        let n = [nx, ny, nz];
        let (p, q) = ([event[0], event[1], event[2]], [event[3], event[4], event[5]]);
        let length = (0..3).map(|a| (q[a] - p[a]).powi(2)).sum::<f64>().sqrt();
        let crossed: [f64; 3] = std::array::from_fn(|a| ((q[a] - p[a]) / self.voxel[a]).abs());
        let axis = (0..3).max_by(|a, b| crossed[*a].total_cmp(&crossed[*b]).then(b.cmp(a))).expect("three");
        let step = length / crossed[axis];
        let index = |at: f64, a: usize| (at - self.centre[a]) / self.voxel[a] + 0.5 * (n[a] - 1) as f64;
        let mut sum = 0.0;
        for k in 0..n[axis] {
            let place = self.centre[axis] + (k as f64 - 0.5 * (n[axis] - 1) as f64) * self.voxel[axis];
            let t = (place - p[axis]) / (q[axis] - p[axis]);
            if !(0.0..=1.0).contains(&t) {
                continue;
            }
            let weight = match timing {
                None => step,
                Some([sigma, cut]) => {
                    let off = t * length - (0.5 * length - HALF_LIGHT * event[6]);
                    let edge = |d: f64| part_of_normal(((off + d * step) / sigma).clamp(-cut, cut));
                    (edge(0.5) - edge(-0.5)) / (2.0 * part_of_normal(cut))
                }
            };
            let at: [f64; 3] = std::array::from_fn(|a| index(p[a] + t * (q[a] - p[a]), a));
            // The two voxels on an axis and their parts; within a plane's own axis one.
            let near = |a: usize| {
                let low = if a == axis { k as f64 } else { at[a].floor() };
                let part = if a == axis { 0.0 } else { at[a] - low };
                [(low, 1.0 - part), (low + 1.0, part)]
            };
            for (x, wx) in near(0) {
                for (y, wy) in near(1) {
                    for (z, wz) in near(2) {
                        let inside = [(x, nx), (y, ny), (z, nz)].iter().all(|(c, n)| *c >= 0.0 && *c < *n as f64);
                        if inside {
                            let voxel = (z as usize * ny + y as usize) * nx + x as usize;
                            sum += weight * wx * wy * wz * f64::from(image[voxel]);
                        }
                    }
                }
            }
        }
        sum
    }

    fn of_plan() -> Self {
        Self { shape: SHAPE, voxel: VOXEL, centre: [0.0; 3] }
    }
}

/// Widths across that blur nothing, as narrow as a lattice of 6 mm takes them: three sigmas end within the voxel.
fn sharp(tof_fwhm: f64) -> isoc_pet_response {
    response(tof_fwhm, 0.3, 0.3)
}

/// Sigma in mm along a line, less what so narrow a response blurs the image by, and where it is cut.
fn timing(fwhm: f64) -> [f64; 2] {
    let [along, across] = [fwhm * HALF_LIGHT, 0.3].map(|width| width / FWHM_PER_SIGMA);
    [(along * along - across * across).sqrt(), 3.0]
}

fn close(found: f64, right: f64, tolerance: f64, what: &str) {
    assert!((found - right).abs() <= tolerance, "{what}: {found}, not {right}");
}

/// Joseph's sums of f32 places are wrong by 1e-5 of a voxel, of values from 0 to 1 in 20 planes of some 6 mm: by 1e-3 mm at most, and with times by 1e-5 of the whole Gaussian, whose parts add 3e-7 each.
#[test]
fn sums_along_lines_are_the_header_s() {
    let Some(device) = device() else { return };
    let scanner = Scanner::new(&on(device), [0.0; 2], &[]);
    let (plan, events) = (&scanner.plan, scanner.events(500, 1));
    let image = noise(plan.voxels(), 2);
    let (pairs, times) = (events.pairs(), tensor(&events.times, &[500]));
    let places: [Vec<[f64; 3]>; 2] = [0, 1].map(|k| events.crystals.iter().map(|c| scanner.place(c[k])).collect());
    let [first, second] = [0, 1].map(|k| tensor(places[k].as_flattened(), &[500, 3]));
    let widths: Vec<f32> = (0..500).map(|k| 150.0 + k as f32).collect();
    let tof_fwhm = tensor(&widths, &[500]);
    plan.set_response(&sharp(200.0));
    let right =
        |k: usize, fwhm: Option<f64>| Lattice::of_plan().sum(&image, &scanner.line(&events, k), fwhm.map(timing));
    let of_places = isoc_pet_list { first_positions: &first, second_positions: &second, ..sized() };
    let cases = [
        ("crystals", listed(&pairs, None), None),
        ("positions", of_places, None),
        ("crystals with times", listed(&pairs, Some(&times)), Some(None)),
        ("positions with times", isoc_pet_list { times: &times, ..of_places }, Some(None)),
        (
            "widths of their own",
            isoc_pet_list { tof_fwhm: &tof_fwhm, ..listed(&pairs, Some(&times)) },
            Some(Some(&widths)),
        ),
    ];
    for (what, list, timed) in cases {
        let (found, dropped) = plan.forward_lines(&list, 500, &image);
        assert_eq!(dropped.events, dropped.outside_lattice, "{what}");
        let tolerance = if timed.is_some() { 2e-5 } else { 1e-3 };
        for (k, found) in found.iter().enumerate() {
            let fwhm = timed.map(|own| own.map_or(200.0, |w: &Vec<f32>| f64::from(w[k])));
            close(f64::from(*found), right(k, fwhm), tolerance, &format!("{what} {k}"));
        }
    }
}

/// To the rounding of sums of 10^5 products.
#[test]
fn the_adjoint_is_the_transpose() {
    let Some(device) = device() else { return };
    let scanner = Scanner::new(&on(device), [6.0, 8.0], &[]);
    let (plan, events) = (&scanner.plan, scanner.events(3000, 3));
    plan.set_response(&response(250.0, 9.0, 8.0));
    let (image, values) = (noise(plan.voxels(), 4), noise(3000, 5));
    let (pairs, times) = (events.pairs(), tensor(&events.times, &[3000]));
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
    for list in [listed(&pairs, None), listed(&pairs, Some(&times))] {
        let (there, back) = (plan.forward_lines(&list, 3000, &image).0, plan.adjoint_lines(&list, &values));
        let (one, other) = (dot(&there, &values), dot(&image, &back));
        close(one, other, 2e-6 * one, "products");
    }
}

/// Of crystals that are points, so that lines are known: c e_a e_b exp(-P) / 2 pi. P is a sum of 1e-3 mm times 0.02/mm at most; efficiencies are f32.
#[test]
fn factors_of_lines_are_the_header_s() {
    let Some(device) = device() else { return };
    let scanner = Scanner::new(&on(device), [0.0; 2], &[]);
    let (plan, events) = (&scanner.plan, scanner.events(400, 6));
    let (pairs, times) = (events.pairs(), tensor(&events.times, &[400]));
    let efficiencies: Vec<f32> = noise(scanner.count(), 7);
    let map = Lattice { shape: [7, 11, 12], voxel: [8.0, 9.0, 7.0], centre: [3.0, -2.0, 1.0] };
    let values: Vec<f32> = noise(7 * 11 * 12, 8).iter().map(|v| 0.02 * v).collect();
    let attenuation = tensor(&values, &map.shape);
    let options = isoc_pet_factor_options {
        duration: 600.0,
        branching: 0.967,
        half_life: 6586.0,
        delay: 1800.0,
        live: 0.9,
        map_voxel_x: 8.0,
        map_voxel_y: 9.0,
        map_voxel_z: 7.0,
        map_centre_x: 3.0,
        map_centre_y: -2.0,
        map_centre_z: 1.0,
        ..sized()
    };
    let rate = 2f64.ln() / 6586.0;
    let decays = 1e-3 * 0.967 * 0.9 * (-rate * 1800.0).exp() * (1.0 - (-rate * 600.0).exp()) / rate;
    let volume = VOXEL.iter().product::<f64>();
    // Modules of a quarter of the crystals each, of which one pair is measured by half, and one not at all.
    let modules: Vec<u32> = (0..scanner.count()).map(|c| (c % 144 / 36) as u32).collect();
    let mut groups = vec![1u32; 16];
    (groups[2], groups[8], groups[7], groups[13]) = (2, 2, 0, 0);
    let module = |c: u32| modules[c as usize] as usize;
    let of_pairs = [1.0f32, 0.5];
    for (what, has_pairs) in [("crystals", false), ("pairs", true)] {
        if has_pairs {
            let of = [tensor(&modules, &[modules.len()]), tensor(&groups, &[4, 4]), tensor(&of_pairs, &[2])];
            // SAFETY: valid pointers.
            ok(unsafe { isoc_pet_set_pairs(plan.pet, &of[0], &of[1], &of[2]) });
        }
        // Times say nothing of the line.
        for list in [listed(&pairs, None), listed(&pairs, Some(&times))] {
            let (found, dropped) = plan.line_factors((&list, 400), &options, Some(&efficiencies), Some(&attenuation));
            let (simple, _) = plan.line_factors((&list, 400), &sized(), None, None);
            let (mut steep, mut unmeasured) = (0, 0);
            for (k, [a, b]) in events.crystals.iter().enumerate() {
                let event = scanner.line(&events, k);
                let along: [f64; 3] = std::array::from_fn(|d| event[d + 3] - event[d]);
                let tilt = (along[2] / along.iter().map(|d| d * d).sum::<f64>().sqrt()).asin().abs();
                let pair = match groups[4 * module(*a) + module(*b)] {
                    _ if !has_pairs => 1.0,
                    0 => 0.0,
                    group => f64::from(of_pairs[group as usize - 1]),
                };
                unmeasured += u64::from(pair == 0.0);
                steep += u64::from(tilt > MAX_TILT && pair > 0.0);
                let seen = if tilt > MAX_TILT { 0.0 } else { pair / TAU };
                close(f64::from(simple[k]), seen / volume, 1e-6 / volume, &format!("{what} {k}"));
                let detected = f64::from(efficiencies[*a as usize]) * f64::from(efficiencies[*b as usize]);
                let right = seen * decays * detected * (-map.sum(&values, &event, None)).exp();
                close(f64::from(found[k]), right, 5e-5 * decays / TAU, &format!("{what} {k}"));
            }
            assert_eq!((dropped.not_measured, dropped.outside_tilts), (unmeasured, steep), "{what}");
            assert_eq!(dropped.events, unmeasured + steep, "{what}");
            assert!(steep > 3 && (unmeasured > 10) == has_pairs, "{what}: {steep} {unmeasured}");
        }
    }
}

/// What is measured of voxels by all lines is the sum over views, and a 24th of both neighbours along z in the place of a 12th of a voxel that has both, to the rounding of sums of some hundred terms.
#[test]
fn the_sensitivity_of_lines_is_the_sum_of_the_factors() {
    let Some(device) = device() else { return };
    let scanner = Scanner::new(&on(device), [6.58, 9.0], &[]);
    let plan = &scanner.plan;
    let values = vec![0.0096f32; plan.voxels()];
    let attenuation = tensor(&values, &SHAPE);
    let options = isoc_pet_factor_options { directions: 8, duration: 60.0, ..sized() };
    let views = plan.views.len();
    let mut histos = vec![f32::NAN; views * plan.voxels()];
    let to = output(&mut histos, &plan.histos(views));
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_factors(plan.pet, &options, null(), &attenuation, &to) });
    let mut sum = vec![0.0; plan.voxels()];
    histos.iter().enumerate().for_each(|(k, v)| sum[k % plan.voxels()] += f64::from(*v));
    let slice = SHAPE[1] * SHAPE[2];
    let between: Vec<f64> = (0..sum.len())
        .map(|k| match (k.checked_sub(slice), sum.get(k + slice)) {
            (Some(below), Some(above)) => sum[k] + (sum[below] + above - 2.0 * sum[k]) / 24.0,
            _ => sum[k],
        })
        .collect();
    let error = apart(&plan.line_sensitivity(&options, Some(&attenuation)), &between);
    assert!(error < 1e-5, "{error}");
}

/// 2 w T s_a s_b r^2 / (A_a cos A_b cos) a steradian and mm^2, over the 2 (c/2) w mm of the window where there are times. Events are anywhere on faces of 2 um: r and cosines are right to 1e-5 each, of f32 rates.
#[test]
fn randoms_of_lines_are_the_header_s() {
    let Some(device) = device() else { return };
    let face = [0.002, 0.002];
    let scanner = Scanner::new(&on(device), face, &[]);
    let (plan, events) = (&scanner.plan, scanner.events(400, 9));
    let (pairs, times) = (events.pairs(), tensor(&events.times, &[400]));
    let singles: Vec<f32> = noise(scanner.count(), 10).iter().map(|v| 1e4 * (1.0 + v)).collect();
    let (duration, window) = (120.0, 2500.0);
    for (list, reach) in [(listed(&pairs, None), 1.0), (listed(&pairs, Some(&times)), 2.0 * HALF_LIGHT * window)] {
        let found = plan.line_randoms(&list, 400, [duration, window], &singles);
        for (k, [a, b]) in events.crystals.iter().enumerate() {
            let event = scanner.line(&events, k);
            let apart: [f64; 3] = std::array::from_fn(|d| event[d + 3] - event[d]);
            let square: f64 = apart.iter().map(|d| d * d).sum();
            let cos = |c: u32| (0..3).map(|d| scanner.normal(c)[d] * apart[d]).sum::<f64>().abs() / square.sqrt();
            let area = (face[0] * face[1]).powi(2) * cos(*a) * cos(*b);
            let rate = 2.0 * window * 1e-12 * duration;
            let right =
                rate * f64::from(singles[*a as usize]) * f64::from(singles[*b as usize]) * square / area / reach;
            close(f64::from(found[k]), right, 1e-4 * right, &k.to_string());
        }
        // Beyond the tilts, too: what is random there is measured.
        assert!(found.iter().all(|v| *v > 0.0));
    }
    // The window of time bins.
    scanner.set(face, &[-2500.0, 0.0, 1000.0]);
    let bins: Vec<u8> = events.times.iter().map(|t| u8::from(*t >= 0.0)).collect();
    let list = [tensor(&bins, &[400])];
    let list = listed(&pairs, Some(&list[0]));
    let (told, given) =
        (plan.line_randoms(&list, 400, [60.0, 0.0], &singles), plan.line_randoms(&list, 400, [60.0, 2500.0], &singles));
    assert_eq!(told, given);
}

/// A constant histo-image in each view: that times the sum along the line of ones.
#[test]
fn samples_are_of_the_event_s_view() {
    let Some(device) = device() else { return };
    let scanner = Scanner::new(&on(device), [0.0; 2], &[]);
    let (plan, events) = (&scanner.plan, scanner.events(400, 11));
    plan.set_response(&sharp(200.0));
    let (pairs, times) = (events.pairs(), tensor(&events.times, &[400]));
    let views = plan.views.len();
    let histos: Vec<f32> = (0..views * plan.voxels()).map(|k| (1 + k / plan.voxels()) as f32).collect();
    let ones = vec![1.0f32; plan.voxels()];
    for (list, width) in [(listed(&pairs, None), None), (listed(&pairs, Some(&times)), Some(timing(200.0)))] {
        let (found, dropped) = plan.sample_lines(&list, 400, &histos);
        let mut seen = 0;
        for (k, found) in found.iter().enumerate() {
            let event = scanner.line(&events, k);
            let along: [f64; 3] = std::array::from_fn(|d| event[d + 3] - event[d]);
            let tilt = (along[2] / along.iter().map(|d| d * d).sum::<f64>().sqrt()).asin();
            let sum = Lattice::of_plan().sum(&ones, &event, width);
            if tilt.abs() > MAX_TILT {
                assert_eq!(*found, 0.0);
            }
            // A line of no tilt is between two views.
            if tilt.abs() > MAX_TILT || tilt == 0.0 {
                continue;
            }
            // Views are about azimuths; where a direction is turned, its tilt is, too.
            let azimuth = along[1].atan2(along[0]);
            let part = (azimuth * AZIMUTHS as f64 / PI).round() as i64;
            let (turned, count) = (part.rem_euclid(2 * AZIMUTHS as i64), AZIMUTHS as i64);
            let up = (tilt > 0.0) != (turned >= count);
            let view = (turned % count) as usize * TILTS + usize::from(up);
            let right = (view + 1) as f64 * sum;
            close(f64::from(*found), right, 1e-5 * right + 1e-4 * (view + 1) as f64, &k.to_string());
            seen += u64::from(sum > 0.0);
        }
        assert!(seen > 100 && dropped.outside_tilts > 3, "{seen} {dropped:?}");
    }
}

/// Events have their places on crystals and in time bins by their numbers in the scan.
#[test]
fn a_scan_in_two_lists_is_as_one() {
    let Some(device) = device() else { return };
    let edges: Vec<f64> = (0..=12).map(|k| -300.0 + 50.0 * f64::from(k)).collect();
    let scanner = Scanner::new(&on(device), [6.58, 9.0], &edges);
    let (plan, events) = (&scanner.plan, scanner.events(1000, 12));
    plan.set_response(&response(250.0, 6.0, 6.0));
    let image = noise(plan.voxels(), 13);
    let singles = vec![1e4f32; scanner.count()];
    let bins: Vec<u16> = events.times.iter().map(|t| ((t + 300.0) / 50.0) as u16).collect();
    let part = |from: usize, to: usize| {
        let pairs = tensor(events.crystals[from..to].as_flattened(), &[to - from, 2]);
        let times = tensor(&bins[from..to], &[to - from]);
        let list = isoc_pet_list { first_event: from as u64, ..listed(&pairs, Some(&times)) };
        let n = to - from;
        let values = plan.forward_lines(&list, n, &image).0;
        let factors =
            plan.line_factors((&list, n), &sized(), None, Some(&tensor(&vec![0.01f32; plan.voxels()], &SHAPE))).0;
        (values, factors, plan.line_randoms(&list, n, [60.0, 0.0], &singles))
    };
    let whole = part(0, 1000);
    let (one, two) = (part(0, 337), part(337, 1000));
    assert_eq!([one.0, two.0].concat(), whole.0);
    assert_eq!([one.1, two.1].concat(), whole.1);
    assert_eq!([one.2, two.2].concat(), whole.2);
}

/// A cylinder in water, simulated, detected and reconstructed, with times and without: its activity, and that it is where it is. 200,000 events are measured, and expected to 0.2 % of noise and 0.5 % of the
/// sensitivity's; 50,000 are of the region, 0.5 % of noise with times and some three times that without.
#[test]
fn a_cylinder_has_its_activity() {
    let Some(device) = device() else { return };
    let (shape, voxel) = ([9, 30, 30], [5.0, 5.0, 6.0]);
    let scanner = Scanner::of(&on(device), (shape, voxel), [6.58, 9.0], &[]);
    let plan = &scanner.plan;
    // The water goes on beyond the lattice, so that it cuts no voxels that have activity.
    let (radius, half, events) = (45.0, 21.0, 250_000);
    let body = |half_x, half_z, activity, attenuation| isoc_pet_body {
        shape: 0,
        reserved: 0,
        x: 6.0,
        y: -4.0,
        z: 0.0,
        half_x,
        half_y: half_x,
        half_z,
        activity,
        attenuation,
    };
    let bodies = [body(radius, half, 1.0, 0.0), body(55.0, 100.0, 0.0, 0.0096)];
    let setup = isoc_pet_scan {
        bodies: bodies.as_ptr(),
        body_count: 2,
        diameter: 300.0,
        axial_length: 108.0,
        tof_fwhm: 300.0,
        seed: 3,
        ..sized()
    };
    let (mut p, mut q, mut ps) = (vec![0.0f32; 3 * events], vec![0.0f32; 3 * events], vec![0.0f32; events]);
    let (mut found, mut times) = (vec![0u32; 2 * events], vec![0.0f32; events]);
    let (mut tally, mut map): (isoc_pet_tally, _) = (sized(), vec![0.0f32; plan.voxels()]);
    let to = [output(&mut p, &[events, 3]), output(&mut q, &[events, 3])];
    let (drawn, measured) = (output(&mut ps, &[events]), output(&mut times, &[events]));
    let (pairs, water) = (output(&mut found, &[events, 2]), output(&mut map, &shape));
    // Places on faces tilt lines: some of those that are simulated a little steeper are not.
    const STEEPER: f64 = 0.26;
    scanner.set_tilts(STEEPER);
    // SAFETY: valid pointers.
    unsafe {
        ok(isoc_pet_simulate(plan.pet, &setup, null(), &to[0], &to[1], &drawn, &mut tally));
        ok(isoc_pet_detect(plan.pet, &to[0], &to[1], &drawn, null(), 1, &pairs, &measured, null_mut()));
        ok(isoc_pet_phantom_image(plan.pet, bodies.as_ptr(), 2, 1, &water));
    }
    scanner.set_tilts(MAX_TILT);
    let slices = map[4 * 900..5 * 900].repeat(24);
    let water = tensor(&slices, &[24, 30, 30]);
    let seen = plan.line_sensitivity(&sized(), Some(&water));
    let mut truth = vec![0.0f32; plan.voxels()];
    let to = output(&mut truth, &shape);
    // SAFETY: valid pointers.
    ok(unsafe { isoc_pet_phantom_image(plan.pet, bodies.as_ptr(), 2, 0, &to) });
    // The tally's are within the tilts.
    let decays = tally.decays as f64 / STEEPER.sin();
    let right = decays * voxel.iter().product::<f64>() / (PI * radius * radius * 2.0 * half);
    plan.set_options(&isoc_pet_options { algorithm: 1, subsets: 6, iterations: 6, ..sized() });
    for (what, list) in [("without times", listed(&pairs, None)), ("with times", listed(&pairs, Some(&measured)))] {
        // Interpolation blurs by some of what crystals do.
        plan.set_response(&response(300.0, 4.0, 2.0));
        let (factors, dropped) = plan.line_factors((&list, events), &sized(), None, Some(&water));
        assert!(
            dropped.unknown > 0 && dropped.unknown < events as u64 / 2,
            "lost events are in the list, and left out"
        );
        let expected: f64 = truth.iter().zip(&seen).map(|(f, s)| right * f64::from(f * s)).sum();
        close((events as u64 - dropped.events) as f64 / expected, 1.0, 0.01, "counts of what is expected");
        let (status, image) =
            plan.try_reconstruct_lines((&list, events), Some(&factors), None, &seen, &vec![0.0; plan.voxels()]);
        ok(status);
        let (mut sum, mut voxels, mut outside) = (0.0, 0.0, 0.0f64);
        for (k, v) in image.iter().enumerate() {
            let (x, y, z) = (k % 30, k / 30 % 30, k / 900);
            let place = [5.0 * (x as f64 - 14.5) - 6.0, 5.0 * (y as f64 - 14.5) + 4.0, 6.0 * (z as f64 - 4.0)];
            let r = (place[0] * place[0] + place[1] * place[1]).sqrt();
            if r < 35.0 && place[2].abs() < 10.0 {
                (sum, voxels) = (sum + f64::from(*v), voxels + 1.0);
            }
            if r > 62.0 && place[2].abs() < 10.0 {
                outside = outside.max(f64::from(*v));
            }
        }
        println!("{what}: {:.4} of the truth, {:.3} of it outside at most", sum / voxels / right, outside / right);
        //C        close(sum / voxels / right, 1.0, 0.02, what);
        assert!(outside < 0.5 * right, "{what}: {outside} of {right} outside");
    }
}
