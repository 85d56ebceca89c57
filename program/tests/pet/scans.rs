//! A scan of a hot cylinder in a warm one in water, with randoms and scatter, of a scanner of 24 blocks.

use crate::writer::{self, Block, Event, Exam, Scanner, turned};
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Compute, Context, ContextOptions};
use isocenter::pet::events::{EventArrays, EventArraysMut};
use isocenter::pet::phantom::{Object, Phantom, Quantity};
use isocenter::pet::scanner::{Crystals, DetectedMut, TimeBins};
use isocenter::pet::scatter::EnergyWindow;
use isocenter::pet::simulation::{Background, Resolution, Scan, Scanner as Cylinder, Source};
use isocenter::pet::{Lattice, Pet, Radial, Views};
use isocenter::phantom::Shape;
use std::path::Path;
use std::sync::Arc;

pub const SECONDS: f64 = 600.0;
pub const VOXEL: f64 = 6.0;
/// nz, ny, nx.
pub const SHAPE: [usize; 3] = [15, 34, 34];
const MAX_TILT: f64 = 0.3;
const HALF_LIGHT: f32 = 0.149_896_23;
const BINS: usize = 36;
/// F-18's, s, and positrons a decay.
pub const HALF_LIFE: f64 = 1.8289 * 3600.0;
pub const BRANCHING: f64 = 0.9686;

pub struct Simulated {
    pub scanner: Scanner,
    /// As a file has them, in the order of time.
    pub prompts: Vec<Event>,
    pub delays: Vec<Event>,
    /// Bq/ml at the start of the scan, `[z][y][x]`.
    pub truth: Vec<f32>,
    /// 1/mm.
    pub map: Vec<f32>,
}

fn object(radius: f64, length: f64, [x, y]: [f64; 2], activity: f64, attenuation: f64) -> Object {
    Object { shape: Shape::Cylinder { centre: [x, y, 0.0], radius, length }, activity, attenuation }
}

fn context() -> Arc<Context> {
    Arc::new(Context::new(ContextOptions { compute: Compute::Cpu, ..ContextOptions::default() }).expect("a context"))
}

/// A number from 0 to 1 for each crystal.
fn noise(k: usize) -> f32 {
    ((k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f32 / (1u64 << 24) as f32
}

impl Simulated {
    pub fn new(events: usize) -> Self {
        let edges: Vec<f32> = (0..=BINS).map(|k| (50.0 * k as f32 - 900.0) * HALF_LIGHT).collect();
        let mut scanner = Scanner::blocks(24, [8, 16], 5.5, 360.0, edges);
        scanner.efficiencies = (0..scanner.count()).map(|k| 0.6 + 0.4 * noise(k)).collect();
        let mut pet = Pet::new(context());
        let lattice = Lattice::new(SHAPE, [VOXEL; 3]).expect("a lattice");
        pet.set_geometry(lattice, Views::grid(8, 1, MAX_TILT).expect("views")).expect("a geometry");
        pet.set_scanner(plan(&scanner));
        let bodies = [object(70.0, 60.0, [0.0; 2], 1.0, 0.0), object(20.0, 60.0, [35.0, -10.0], 2.0, 0.0)];
        let water = object(75.0, 72.0, [0.0; 2], 0.0, 0.0096);
        let [active, all] =
            [bodies.to_vec(), [&bodies[..], &[water]].concat()].map(|o| Phantom::new(o).expect("a phantom"));
        let background =
            Background { randoms: 0.2, window: 900.0, compton: Some(EnergyWindow::default()), ..Background::default() };
        let (prompts, tally) = listed(&pet, &scanner, (&all, background), events, 1);
        // Nearly all of them: there are no scans without trues.
        let background = Background { randoms: 0.999_999, window: 900.0, ..Background::default() };
        let (delays, _) = listed(&pet, &scanner, (&active, background), tally.randoms as usize, 2);
        let image = |phantom: &Phantom, quantity| {
            let mut image = vec![0.0; SHAPE.iter().product()];
            pet.phantom_image(phantom, quantity, ArrayMut::new(&mut image, SHAPE).expect("an image")).expect("means");
            image
        };
        let mut truth = image(&active, Quantity::Activity);
        // Decays of all directions, of which the scan has those within the tilts.
        let rate = std::f64::consts::LN_2 / HALF_LIFE * SECONDS;
        let becquerel = tally.decays as f64 / MAX_TILT.sin() / (SECONDS * BRANCHING * -(-rate).exp_m1() / rate);
        let sum: f64 = truth.iter().map(|v| f64::from(*v)).sum();
        let scale = (becquerel / (sum * VOXEL.powi(3) / 1000.0)) as f32;
        truth.iter_mut().for_each(|v| *v *= scale);
        let map = image(&all, Quantity::Attenuation);
        Self { scanner, prompts, delays, truth, map }
    }

    /// A file of all events in so many blocks.
    pub fn write(&self, path: &Path, count: usize, exam: Option<&Exam>) {
        let bytes = [writer::header(&self.scanner, exam), writer::blocks(&self.blocks(count))].concat();
        std::fs::write(path, bytes).expect("a file");
    }

    pub fn blocks(&self, count: usize) -> Vec<Block> {
        let length = (1000.0 * SECONDS) as u32 / count as u32;
        // As many as decay until then.
        let decayed = |k: usize| 1.0 - (-SECONDS / HALF_LIFE * k as f64 / count as f64).exp2();
        let until = |all: &[Event], k: usize| (all.len() as f64 * decayed(k) / decayed(count)).round() as usize;
        let part = |all: &[Event], k: usize| all[until(all, k)..until(all, k + 1)].to_vec();
        let block = |k: usize| {
            let time = [k as u32 * length, (k as u32 + 1) * length];
            Block { time, prompts: part(&self.prompts, k), delays: part(&self.delays, k) }
        };
        (0..count).map(block).collect()
    }
}

/// Crystals as the file numbers them, by module and element, from its places alone.
fn plan(of: &Scanner) -> isocenter::pet::scanner::Scanner {
    let elements = of.elements.len();
    let middle = of.crystal.map(|side| f64::from(side) / 2.0);
    let moved = |place: &writer::Rigid, at: [f64; 3]| {
        place.map(|row| (0..3).map(|k| f64::from(row[k]) * at[k]).sum::<f64>() + f64::from(row[3]))
    };
    let position = |k: usize| moved(&of.modules[k / elements], moved(&of.elements[k % elements], middle));
    let normal = |k: usize| of.modules[k / elements].map(|row| -f64::from(row[0]));
    let [_, width, height] = of.crystal.map(f64::from);
    let crystals = Crystals::new(of.count(), position, Some(&normal), [width, height]).expect("crystals");
    let edges: Vec<f64> = of.edges.iter().rev().map(|edge| -f64::from(edge / HALF_LIGHT)).collect();
    isocenter::pet::scanner::Scanner { time_bins: Some(TimeBins::new(&edges).expect("bins")), ..crystals.into() }
}

fn listed(
    pet: &Pet,
    scanner: &Scanner,
    (phantom, background): (&Phantom, Background),
    count: usize,
    seed: u64,
) -> (Vec<Event>, isocenter::pet::simulation::Tally) {
    let scan = Scan {
        source: Source::Phantom(phantom),
        attenuation: phantom,
        map: None,
        scanner: Cylinder { diameter: 370.0, axial_length: 88.0, max_tilt: MAX_TILT },
        resolution: Resolution { time: 300.0, radial: Radial::Constant(0.0), axial: 0.0 },
        background,
    };
    let (mut first, mut second, mut time) = (vec![0f32; 3 * count], vec![0f32; 3 * count], vec![0f32; count]);
    let to = EventArraysMut {
        first: ArrayMut::of(&mut first, [count, 3]).expect("places"),
        second: ArrayMut::of(&mut second, [count, 3]).expect("places"),
        time: ArrayMut::of(&mut time, [count]).expect("times"),
    };
    let tally = scan.simulate(pet.context(), seed, to).expect("events");
    let events = EventArrays {
        first: Array::of(&first, [count, 3]).expect("places"),
        second: Array::of(&second, [count, 3]).expect("places"),
        time: Array::of(&time, [count]).expect("times"),
    };
    let (mut crystals, mut bins) = (vec![0u32; 2 * count], vec![0u32; count]);
    let to = DetectedMut {
        crystals: ArrayMut::of(&mut crystals, [count, 2]).expect("crystals"),
        times: ArrayMut::of(&mut bins, [count]).expect("bins"),
    };
    let efficiencies = Array::of(&scanner.efficiencies, [scanner.count()]).expect("efficiencies");
    pet.detect(&events, Some(&efficiencies), seed, &to).expect("detected");
    let kept = crystals.chunks(2).zip(bins).filter(|(pair, _)| (pair[0] as usize) < scanner.count());
    // A file has the larger number first; its places are c (t1 - t2) / 2.
    let events = kept.map(|(pair, bin)| match pair[0] < pair[1] {
        true => [pair[1], pair[0], bin],
        false => [pair[0], pair[1], BINS as u32 - 1 - bin],
    });
    (events.collect(), tally)
}

/// The same scanner with its axis along another of the file's.
pub fn along(mut scanner: Scanner, times: usize) -> Scanner {
    scanner.modules.iter_mut().for_each(|module| *module = turned(*module, times));
    scanner
}

/// A NIfTI file of values, head first supine: x goes to the left, y to the back.
pub fn nifti(path: &Path, values: &[f32], [nz, ny, nx]: [usize; 3], voxel: f32, unit: &str) {
    let mut header = vec![0u8; 352];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &348i32.to_le_bytes());
    for (k, n) in [3, nx, ny, nz, 1, 1, 1, 1].into_iter().enumerate() {
        put(40 + 2 * k, &(n as i16).to_le_bytes());
    }
    put(70, &16i16.to_le_bytes());
    put(108, &352f32.to_le_bytes());
    put(123, &[2]);
    put(254, &1i16.to_le_bytes());
    put(328, unit.as_bytes());
    put(344, b"n+1\0");
    for (row, (sign, n)) in [(-1.0, nx), (-1.0, ny), (1.0, nz)].into_iter().enumerate() {
        put(280 + 20 * row, &f32::to_le_bytes(sign * voxel));
        put(292 + 16 * row, &f32::to_le_bytes(-sign * voxel * (n as f32 - 1.0) / 2.0));
    }
    header.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    std::fs::write(path, header).expect("a file");
}

/// Values of a .npy file of f32.
pub fn npy(path: &Path) -> (String, Vec<f32>) {
    let bytes = std::fs::read(path).expect("a file");
    let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let header = String::from_utf8_lossy(&bytes[10..10 + length]).into_owned();
    (header, bytes[10 + length..].chunks(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect())
}
