//! Memory of factors, randoms, scatter and lists of events along lines, against the allocator that counts.

use super::common::on_processor;
use super::taken;
use isocenter::array::{Array, ArrayMut};
use isocenter::context::{Context, ContextOptions};
use isocenter::error::Status;
use isocenter::pet::background::{ScatterArrays, ScatterOptions};
use isocenter::pet::corrections::FactorOptions;
use isocenter::pet::factors::Accidentals;
use isocenter::pet::lines::{Ends, LinesOf, ListArrays, no_times};
use isocenter::pet::normalisation::KnownSource;
use isocenter::pet::scanner::{Blocks, CrystalArrays, Crystals};
use isocenter::pet::scatter::Model;
use isocenter::pet::{Algorithm, Lattice, Memory, Options, Pet, View, Views};
use std::sync::Arc;

/// What varies.
#[derive(Clone)]
struct Case {
    /// nz, ny, nx.
    shape: [usize; 3],
    voxel: [f64; 3],
    views: Views,
    directions: usize,
    map: [usize; 3],
    map_voxel: [f64; 3],
    /// Of blocks of 4 by 4 crystals.
    block_rings: usize,
    spacing: f64,
}

fn cases() -> Vec<Case> {
    let usual = Case {
        shape: [6, 20, 22],
        voxel: [6.0; 3],
        views: Views::grid(6, 2, 0.2).expect("views"),
        directions: 4,
        map: [6, 20, 22],
        map_voxel: [0.0; 3],
        block_rings: 2,
        spacing: 60.0,
    };
    let list: Vec<View> = (0..12).map(|k| View { azimuth: 0.26 * f64::from(k), tilt: 0.0 }).collect();
    vec![
        usual.clone(),
        // A map that is most of it, of thin planes; one that is small, of thick ones.
        Case { map: [160, 60, 50], map_voxel: [4.0, 4.0, 0.5], ..usual.clone() },
        Case { map: [3, 9, 8], map_voxel: [30.0; 3], ..usual.clone() },
        // Directions, crystals, views and places that are most of it.
        Case { shape: [1, 8, 8], directions: 2048, views: Views::grid(2, 1, 0.2).expect("views"), ..usual.clone() },
        Case { shape: [1, 8, 8], block_rings: 5, ..usual.clone() },
        Case { shape: [1, 8, 8], views: Views::grid(90, 5, 0.2).expect("views"), directions: 1, ..usual.clone() },
        Case { shape: [4, 8, 8], views: Views::new(list, 0.1).expect("views"), spacing: 24.0, ..usual.clone() },
    ]
}

impl Case {
    fn crystals(&self) -> Crystals {
        let blocks = Blocks {
            blocks: 24,
            block_rings: self.block_rings,
            across: 4,
            along: 4,
            diameter: 400.0,
            pitch_across: 12.5,
            pitch_along: 10.0,
            block_pitch: 0.0,
            first_azimuth: 0.0,
        };
        let (count, normal) = (blocks.count().expect("blocks"), |k| blocks.crystal(k)[1]);
        Crystals::new(count, |k| blocks.crystal(k)[0], Some(&normal), [12.0, 9.5]).expect("crystals")
    }

    fn plan(&self, memory_cap: u64) -> Pet {
        let options = ContextOptions { memory_cap, threads: 2, ..on_processor() };
        let mut pet = Pet::new(Arc::new(Context::new(options).expect("a context")));
        let lattice = Lattice::new(self.shape, self.voxel).expect("a lattice");
        pet.set_geometry(lattice, self.views.clone()).expect("a geometry");
        pet.set_scanner(self.crystals().into());
        pet
    }
}

/// To write to.
fn to(out: &mut [f32], shape: [usize; 4]) -> ArrayMut<'_, 4> {
    ArrayMut::new(out, shape).expect("histo-images")
}

/// Every call takes its figure at most and half of it at least, and as much of a cap.
pub(crate) fn corrections_take_what_memory_says() {
    for (number, case) in cases().into_iter().enumerate() {
        let histos = case.views.list().len() * case.shape.iter().product::<usize>();
        let [nz, ny, nx] = case.shape;
        let shape = [case.views.list().len(), nz, ny, nx];
        let crystals = case.crystals().count();
        let (singles, efficiencies) = (vec![1e4f32; crystals], vec![0.5f32; crystals]);
        let map = vec![0.0096f32; case.map.iter().product()];
        let (image, counts) = (vec![1f32; histos / shape[0]], vec![1f32; histos]);
        let mut out = vec![0f32; histos];
        let factors = FactorOptions { directions: case.directions, map_voxel: case.map_voxel, ..Default::default() };
        let model = Model { tof_fwhm: Some(400.0), spacing: Some(case.spacing), ..Model::default() };
        let scatter = ScatterOptions { factors, model };

        let of_crystals = |values| Array::new(values, [crystals]).expect("of crystals");
        let attenuation = Array::new(&map, case.map).expect("a map");
        let arrays = ScatterArrays {
            image: Array::new(&image, case.shape).expect("an image"),
            efficiencies: Some(of_crystals(&efficiencies)),
            attenuation,
            measured: Some(Array::new(&counts, shape).expect("counts")),
            randoms: Some(Array::new(&counts, shape).expect("randoms")),
        };
        type Call<'a> =
            (&'a str, Box<dyn Fn(&mut Pet) -> Memory + 'a>, Box<dyn Fn(&mut Pet, &mut [f32]) -> Status + 'a>);
        let status = |done: isocenter::error::Result<()>| done.map_or_else(|e| e.status, |()| Status::Ok);
        let calls: [Call; 4] = [
            (
                "factors",
                Box::new(|pet| pet.factors_memory(&factors, Some(case.map)).expect("bytes")),
                Box::new(|pet, out| {
                    status(pet.factors(&factors, Some(&of_crystals(&efficiencies)), Some(&attenuation), to(out, shape)))
                }),
            ),
            (
                "factors without a map",
                Box::new(|pet| pet.factors_memory(&factors, None).expect("bytes")),
                Box::new(|pet, out| {
                    status(pet.factors(&factors, Some(&of_crystals(&efficiencies)), None, to(out, shape)))
                }),
            ),
            (
                "randoms",
                Box::new(|pet| pet.randoms_memory(case.directions).expect("bytes")),
                Box::new(|pet, out| {
                    let of = Accidentals { duration: 60.0, window: 4000.0 };
                    status(pet.randoms(&of, case.directions, &of_crystals(&singles), to(out, shape)))
                }),
            ),
            (
                "scatter",
                Box::new(|pet| pet.scatter_memory(&scatter, &attenuation).expect("bytes")),
                Box::new(|pet, out| status(pet.scatter(&scatter, &arrays, to(out, shape)).map(|_| ()))),
            ),
        ];
        for (name, memory, call) in calls {
            let name = format!("{name} of case {number}");
            let mut pet = case.plan(1 << 30);
            let mut promised = None;
            let asking = taken(|| promised = Some(memory(&mut pet)));
            let Some(Memory { host, gpu: 0 }) = promised else { panic!("of a GPU: {promised:?}") };
            let taken = taken(|| assert_eq!(call(&mut pet, &mut out), Status::Ok));
            println!("{name}: {taken} taken, {host} promised, {asking} to ask");
            assert!(taken <= host as usize, "{name}: {taken} taken, {host} promised");
            assert!(host as usize <= 2 * taken, "{name}: {taken} taken, {host} promised");
            assert!(asking <= host as usize, "{name}: {asking} to ask for {host}");
            assert_eq!(call(&mut case.plan(host), &mut out), Status::Ok, "{name}");
            assert_eq!(call(&mut case.plan(host - 1), &mut out), Status::MemoryCap, "{name}");
        }
    }
}

/// A reconstruction along lines takes its figure at most, but for the few lines that each thread looks at, and half of it at least.
pub(crate) fn lines_take_what_memory_says() {
    // Blocks of 256 events, a few numbers each.
    const THREADS: usize = 128 << 10;
    let case = Case { shape: [30, 50, 60], block_rings: 4, ..cases().remove(0) };
    let voxels = case.shape.iter().product();
    let (seen, mut image) = (vec![1f32; voxels], vec![0f32; voxels]);
    let crystals = case.crystals().count();
    for events in [300, 20_000, 65_000] {
        let pairs: Vec<u32> = (0..2 * events).map(|k| (k * 7919 % crystals) as u32).collect();
        let list = ListArrays {
            ends: Ends::Crystals(CrystalArrays {
                crystals: Array::of(&pairs, [events, 2]).expect("pairs"),
                times: no_times(events),
                labels: None,
                first: 0,
            }),
            timed: false,
            tof_fwhm: None,
        };
        let ones = vec![1f32; events];
        for algorithm in [Algorithm::Osem, Algorithm::Mlem, Algorithm::Bsrem, Algorithm::Svrg] {
            let name = format!("{events} events, {algorithm:?}");
            let options = Options { algorithm, iterations: 2, ..Options::default() };
            let mut call = |pet: &mut Pet| {
                let of = LinesOf {
                    factors: Some(Array::new(&ones, [events]).expect("factors")),
                    additive: Some(Array::new(&ones, [events]).expect("additive")),
                    sensitivity: Array::new(&seen, case.shape).expect("a sensitivity"),
                };
                let to = ArrayMut::new(&mut image, case.shape).expect("an image");
                pet.reconstruct_lines(&list, &of, to).map_or_else(|e| e.status, |_| Status::Ok)
            };
            let plan = |cap| {
                let mut pet = case.plan(cap);
                pet.set_options(options).expect("options");
                pet
            };
            let host = plan(1 << 30).lines_memory(events).expect("bytes");
            let mut pet = plan(host);
            // The plan's own are made by the first call.
            assert_eq!(pet.lines_memory(events).expect("bytes"), host, "{name}");
            let taken = taken(|| assert_eq!(call(&mut pet), Status::Ok, "{name}"));
            println!("{name}: {taken} taken, {host} promised");
            let host = host as usize;
            assert!(taken <= host + THREADS, "{name}: {taken} taken, {host} promised");
            assert!(host <= 2 * taken, "{name}: {taken} taken, {host} promised");
            // Either part of it is looked at on its own.
            assert_eq!(call(&mut plan(host as u64 / 2 - 1)), Status::MemoryCap, "{name}");
        }
    }
}

/// Efficiencies take no more than the cap, from the least that is enough on, by which few pairs are kept, and are the same.
pub(crate) fn efficiencies_stay_below_the_cap() {
    for (number, case) in cases().into_iter().enumerate() {
        let (crystals, map) = (case.crystals().count(), vec![0.0096f32; case.map.iter().product()]);
        let (sums, image) = (vec![100f32; crystals], vec![1f32; case.shape.iter().product()]);
        let options = FactorOptions { map_voxel: case.map_voxel, ..Default::default() };
        let of = KnownSource {
            sums: Array::new(&sums, [crystals]).expect("sums"),
            image: Array::new(&image, case.shape).expect("an image"),
            attenuation: Some(Array::new(&map, case.map).expect("a map")),
            singles: None,
        };
        let found = |cap: u64, taken_at_most: usize| -> Option<Vec<f32>> {
            let (mut pet, mut out) = (case.plan(cap), vec![0f32; crystals]);
            let mut status = None;
            let taken = taken(|| {
                let mut to = ArrayMut::new(&mut out, [crystals]).expect("efficiencies");
                let done = pet.efficiencies(0.0, &options, &of, &mut to);
                status = Some(done.map_or_else(|e| e.status, |()| Status::Ok));
            });
            println!("efficiencies of case {number}: {taken} taken, of {cap}");
            assert!(taken <= taken_at_most, "case {number}: {taken} taken, {taken_at_most} allowed");
            assert!(matches!(status, Some(Status::Ok | Status::MemoryCap)), "case {number}: {status:?}");
            (status == Some(Status::Ok)).then_some(out)
        };
        let whole = found(1 << 30, 1 << 30).expect("enough");
        let least = (1..).map(|k| k * (1 << 15)).find_map(|cap| found(cap, cap as usize)).expect("enough at last");
        assert_eq!(least, whole, "case {number}");
    }
}
