//! Simulated frames of all kinds of scans, and faults planted in them.

use isocenter::array::{Array, DType};
use isocenter::ct::{Ct, Geometry, InputKind, Options, Order, ViewFault};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::{LN_10, PI};

/// How frames are handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    U8,
    U16,
    F32,
    Transmissions,
    LineIntegrals,
}

/// A scan: frames of (views, rows, bins), as numbers that their type holds.
#[derive(Clone, Debug)]
pub struct Scan {
    pub geometry: Geometry,
    pub given: Given,
    pub frames: Vec<f32>,
    flats: Vec<f32>,
    darks: Vec<f32>,
    pub about: String,
}

const FLATS: usize = 10;

/// Nearly normal, of deviation 1: four uniform numbers of 16 bits.
fn quick(rng: &mut SmallRng) -> f64 {
    let bits = rng.random_range(0..u64::MAX);
    let sum: u64 = (0..4).map(|k| bits >> (16 * k) & 0xffff).sum();
    (sum as f64 / 65536.0 - 2.0) * 3f64.sqrt()
}

/// Events of a mean number.
fn poisson(mean: f64, rng: &mut SmallRng) -> f64 {
    if mean > 10.0 {
        return (mean + mean.sqrt() * quick(rng)).round().max(0.0);
    }
    let (limit, mut left, mut events) = ((-mean).exp(), rng.random_range(0.0..1.0f64), 0.0);
    while left > limit {
        left *= rng.random_range(0.0..1.0f64);
        events += 1.0;
    }
    events
}

/// Chord of an ellipse with half axes a and b that was turned by `at`, `s` from its middle.
fn chord([a, b]: [f64; 2], at: f64, s: f64) -> f64 {
    let half = (a * at.cos()).powi(2) + (b * at.sin()).powi(2);
    2.0 * a * b * (half - s * s).max(0.0).sqrt() / half
}

/// An object: line integral at an angle and a distance from the axis, on so many bins.
fn object(kind: usize, bins: f64, rng: &mut SmallRng) -> Box<dyn Fn(f64, f64) -> f64> {
    let dark = 2.0 * LN_10;
    let turned = rng.random_range(0.0..PI);
    let thin = rng.random_range(10.0..60.0);
    match kind {
        // Air.
        0 => Box::new(|_, _| 0.0),
        // Some bodies, one of them dense.
        1 => Box::new(move |t, s| {
            let body = |[x, y, a, b]: [f64; 4], turned: f64, value: f64| {
                let middle = bins * (x * t.cos() + y * t.sin());
                value * chord([a * bins, b * bins], t - turned, s - middle) / bins
            };
            body([0.05, 0.02, 0.35, 0.2], turned, 1.5) + body([-0.15, 0.1, 0.05, 0.08], 0.3, 20.0)
        }),
        // A slab inside the detector, which leaves a hundredth of the beam along its length.
        2 => Box::new(move |t, s| {
            let a = 0.45 * bins;
            dark / (2.0 * a) * chord([a, a / thin], t - turned, s)
        }),
        // A slab far beyond it, which darkens all of a view to a hundredth.
        3 => Box::new(move |t, s| dark * (1.0 / thin / (t - turned).sin().abs()).min(1.0) + 0.01 * (0.1 * s + t).sin()),
        // A cylinder about the axis.
        4 => Box::new(move |_, s| chord([0.3 * bins, 0.3 * bins], 0.0, s) / bins),
        // One that is wider than the detector, and dense.
        _ => Box::new(move |_, s| dark * (1.0 - (s / (0.7 * bins)).powi(2)).sqrt()),
    }
}

impl Scan {
    /// A scan of its own for each number, with noise or of any kind.
    pub fn random(number: u64, noisy: bool) -> Self {
        let mut rng = SmallRng::seed_from_u64(number);
        let views = rng.random_range(40..120usize);
        let (rows, bins) = (rng.random_range(4..10usize), rng.random_range(128..160usize));
        let turn = PI * f64::from(rng.random_range(1..=2u8));
        let step = |k: usize| turn * k as f64 / views as f64;
        let angles: Vec<f64> = match rng.random_range(0..4u8) {
            // In order; by the golden section; every fourth one first.
            0 | 1 => (0..views).map(step).collect(),
            2 => (0..views).map(|k| k as f64 * PI * 0.618_034).collect(),
            _ => (0..4).flat_map(|first| (first..views).step_by(4).map(step)).collect(),
        };
        let kind = rng.random_range(0..6usize);
        let body = object(kind, bins as f64, &mut rng);
        let photons = [20.0, 60.0, 1000.0, 2e4][rng.random_range(0..4usize)];
        let given = [Given::U16, Given::F32, Given::Transmissions, Given::LineIntegrals, Given::U8];
        let given = given[rng.random_range(0..if photons < 100.0 { 5 } else { 4 })];
        // Counts of a photon, of the dark, and the noise of reading them, in parts of the beam.
        let (gain, dark) = if given == Given::U8 { (1.0, 10.0) } else { (3e4 / photons, 100.0) };
        let reading = 0.008 * photons * rng.random_range(0.0..1.0);
        let noise = noisy || rng.random_range(0..4u8) > 0;
        let source = rng.random_range(0..5u8);
        let strength = move |k: usize, rng: &mut SmallRng| match source {
            0 => 1.0,
            // It decays to a half; is filled up every 37 views; jumps; flickers.
            1 => 0.5f64.powf(k as f64 / views as f64),
            2 => 1.0 - 0.05 * (k % 37) as f64 / 37.0,
            3 => 1.0 - 0.1 * ((k / 50) % 2) as f64,
            _ => 1.0 + 0.02 * quick(rng),
        };
        let profile = |bin: usize| 0.8 + 0.2 * (PI * bin as f64 / bins as f64).sin();
        let count = |beam: f64, bin: usize, rng: &mut SmallRng| {
            let mean = photons * profile(bin) * beam;
            let events = if noise { poisson(mean, rng) + reading * quick(rng) } else { mean };
            let value = (dark + gain * events).clamp(0.0, 65535.0);
            if given == Given::F32 { value } else { value.round() }
        };
        let plain = |beam: f64, n: usize, rng: &mut SmallRng| -> Vec<f32> {
            (0..n * rows * bins).map(|k| count(beam, k % bins, rng) as f32).collect()
        };
        let (flats, darks) = (plain(1.0, FLATS, &mut rng), plain(0.0, FLATS, &mut rng));
        let mut frames = Vec::new();
        for (k, angle) in angles.iter().enumerate() {
            let beam = strength(k, &mut rng);
            for row in 0..rows {
                let part = 0.7 + 0.3 * row as f64 / rows as f64;
                for bin in 0..bins {
                    let seen = beam * (-part * body(*angle, bin as f64 - (bins as f64 - 1.0) / 2.0)).exp();
                    frames.push(count(seen, bin, &mut rng) as f32);
                }
            }
        }
        let about = format!(
            "scan {number}: object {kind}, {photons} photons, source {source}, {given:?}, noise {noise}, {views} x {rows} x {bins}"
        );
        let mut scan =
            Self { geometry: Geometry::new(angles, bins).with_rows(rows), given, frames, flats, darks, about };
        scan.correct(profile, [dark, gain * photons]);
        scan
    }

    /// Makes transmissions or line integrals, where these are handed over.
    fn correct(&mut self, profile: impl Fn(usize) -> f64, [dark, beam]: [f64; 2]) {
        let bins = self.geometry.bins;
        let transmission = |k: usize, v: f32| (f64::from(v) - dark) / (beam * profile(k % bins));
        match self.given {
            Given::Transmissions => {
                self.frames.iter_mut().enumerate().for_each(|(k, v)| *v = transmission(k, *v) as f32);
            }
            Given::LineIntegrals => self.frames.iter_mut().enumerate().for_each(|(k, v)| {
                *v = -(transmission(k, *v).max(1e-6).ln()) as f32;
            }),
            _ => {}
        }
    }

    fn view(&mut self, view: usize) -> &mut [f32] {
        let frame = self.geometry.rows * self.geometry.bins;
        &mut self.frames[view * frame..][..frame]
    }

    /// Plants a fault, if frames of this kind can tell of it.
    pub fn plant(&mut self, fault: ViewFault, view: usize, rng: &mut SmallRng) -> bool {
        let (given, frame) = (self.given, self.geometry.rows * self.geometry.bins);
        let counts = matches!(given, Given::U8 | Given::U16 | Given::F32);
        match fault {
            ViewFault::Black if given != Given::LineIntegrals => {
                let dark = self.darks[frame..2 * frame].to_vec();
                let zeros = !counts || rng.random_range(0..2u8) == 0;
                self.view(view).iter_mut().zip(dark).for_each(|(v, dark)| *v = if zeros { 0.0 } else { dark });
            }
            ViewFault::Saturated if counts => {
                let most = if given == Given::U8 { 255.0 } else { 65535.0 };
                let part = rng.random_range(0.6..1.0);
                let values = self.view(view).iter_mut();
                values.filter(|_| rng.random_range(0.0..1.0) < part).for_each(|v| *v = most);
            }
            ViewFault::Frozen if view > 0 => {
                self.frames.copy_within((view - 1) * frame..view * frame, view * frame);
            }
            ViewFault::NotFinite if !matches!(given, Given::U8 | Given::U16) => self.view(view).fill(f32::NAN),
            _ => return false,
        }
        true
    }

    /// Multiplies the light of a view.
    pub fn dim(&mut self, view: usize, factor: f32) {
        let dark = match self.given {
            Given::U8 | Given::U16 | Given::F32 => self.darks.iter().sum::<f32>() / self.darks.len() as f32,
            Given::Transmissions | Given::LineIntegrals => 0.0,
        };
        let whole = matches!(self.given, Given::U8 | Given::U16);
        for v in self.view(view) {
            let dimmed = dark + factor * (*v - dark);
            *v = if whole { dimmed.round() } else { dimmed };
        }
    }

    /// What a plan finds in its frames, which are handed over in this order.
    pub fn found(&self, ct: &mut Ct, order: Order) -> Vec<Option<ViewFault>> {
        let g = Geometry { order, ..self.geometry.clone() };
        self.set_up(ct, &g);
        let values = ordered(&self.frames, &g);
        self.lent(&values, g.projection_shape(), |array| ct.find_bad_views(array).expect("views"))
    }

    /// Geometry, flats and darks.
    pub fn set_up(&self, ct: &mut Ct, g: &Geometry) {
        ct.set_geometry(g.clone()).expect("a geometry");
        let input = match self.given {
            Given::U8 | Given::U16 | Given::F32 => InputKind::Counts,
            Given::Transmissions => InputKind::Transmission,
            Given::LineIntegrals => InputKind::LineIntegrals,
        };
        ct.set_options(Options { input, ..Options::default() }).expect("options");
        if input == InputKind::Counts {
            let shape = [FLATS, g.rows, g.bins];
            let (flats, darks) = (Array::new(&self.flats, shape), Array::new(&self.darks, shape));
            ct.set_flat_field(Some(flats.expect("flats")), Some(darks.expect("darks"))).expect("a flat field");
        }
    }

    /// Frames as an array of their type.
    pub fn lent<R>(&self, values: &[f32], shape: [usize; 3], with: impl FnOnce(Array) -> R) -> R {
        match self.dtype() {
            DType::U8 => {
                let values: Vec<u8> = values.iter().map(|v| *v as u8).collect();
                with(Array::of(&values, shape).expect("frames"))
            }
            DType::U16 => {
                let values: Vec<u16> = values.iter().map(|v| *v as u16).collect();
                with(Array::of(&values, shape).expect("frames"))
            }
            _ => with(Array::new(values, shape).expect("frames")),
        }
    }

    pub fn dtype(&self) -> DType {
        match self.given {
            Given::U8 => DType::U8,
            Given::U16 => DType::U16,
            _ => DType::F32,
        }
    }
}

/// Frames in a geometry's order.
pub fn ordered(frames: &[f32], g: &Geometry) -> Vec<f32> {
    let (views, rows, bins) = (g.views(), g.rows, g.bins);
    let row = |v: usize, r: usize| frames[(v * rows + r) * bins..][..bins].iter().copied();
    match g.order {
        Order::Frames => frames.to_vec(),
        Order::Sinograms => (0..rows).flat_map(|r| (0..views).flat_map(move |v| row(v, r))).collect(),
    }
}
