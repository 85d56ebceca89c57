//! The scanner of a header.

use super::axis::Turn;
use super::boxes::{Corners, FARTHEST, Face, Rigid, joined};
use super::pairs::{Modules, Pairs};
use crate::pet::HALF_LIGHT;
use crate::pet::images::read_npy;
use crate::pet::options::ScannerOptions;
use crate::pet::told::general;
use crate::pet::yardl::Value;
use anyhow::{Context, Result, bail, ensure};
use isocenter::pet::scanner::{Crystals, Scanner as Plan, TimeBins};
use rayon::prelude::*;

/// Crystals of a scanner, at most.
const MOST: usize = 1 << 23;
/// By how much crystals' sizes may differ, over the larger side.
const ALIKE: f64 = 0.01;

/// Crystals and time bins, in the order in which events are numbered here: by type of module, module and element.
#[derive(Clone, Debug)]
pub struct Scanner {
    /// Middles of crystals, mm, or places at a depth, and the direction of their depth, towards the axis.
    pub positions: Vec<[f64; 3]>,
    pub normals: Vec<[f64; 3]>,
    /// Width and height of a crystal's face, mm.
    pub crystal: [f64; 2],
    /// Of t2 - t1, ascending, ps.
    pub time_edges: Vec<f64>,
    /// The number of the first crystal of each type of module, and how many there are.
    pub first: Vec<usize>,
    /// Energy bins of each type.
    pub energies: Vec<usize>,
    pub model: String,
    /// Of the time difference, full width at half maximum without what bins add, ps; 0 where the file does not say.
    pub tof_fwhm: f64,
    /// Full width at half maximum at 511 keV over that, and the window in keV; 0 where the file does not say.
    pub energy_resolution: f64,
    pub window: [f64; 2],
    /// Of crystals, the sum over their energy bins. None: the file has none.
    pub efficiencies: Option<Vec<f32>>,
    /// None: all pairs of modules are in coincidence, with 1.
    pub pairs: Option<Pairs>,
    /// From the file's axes to those of positions and normals, of which z is the scanner's.
    pub turn: Turn,
}

impl Scanner {
    /// That of a header; places are so many mm behind crystals' inner faces, or in their middles.
    pub fn new(header: &Value, depth: Option<f64>) -> Result<Self> {
        let scanner = header.part("scanner")?;
        let kinds = scanner.part("scannerGeometry")?.part("replicatedModules")?.list()?;
        let count = kinds.len();
        ensure!(count > 0, "the scanner has no modules");
        let time = time_edges(scanner, count)?;
        let (mut boxes, mut first, mut modules) = (Vec::new(), vec![0], Vec::new());
        for kind in kinds {
            modules.push(corners(kind, &mut boxes)?);
            first.push(boxes.len());
        }
        let turn = Turn::of(&boxes)?;
        let face = |of: &Corners| Corners(of.0.map(|corner| turn.turned(corner))).face(depth);
        let faces = boxes.par_iter().map(face).collect::<Result<Vec<_>>>()?;
        drop(boxes);
        let (energies, window) = energies(scanner, count)?;
        let pairs = Pairs::new(scanner, &modules, &energies)?;
        let efficiencies = efficiencies(scanner.part("detectionEfficiencies")?, &first, &energies)?;
        // Where there are none, all may be in those of pairs.
        let all = || pairs.as_ref().filter(|pairs| pairs.is_measured()).map(|_| vec![1.0; faces.len()]);
        let efficiencies = efficiencies.or_else(all);
        let resolution = triangle(scanner.part("tofResolution")?, count, "resolutions of time")?;
        let resolution = resolution.into_iter().map(|(_, value)| value.number("resolutions of time"));
        let resolution = one(resolution.collect::<Result<Vec<_>>>()?, "resolutions of time", short)?.unwrap_or(0.0);
        let of_energy = scanner.part("energyResolutionAt511")?.numbers("energy resolutions")?.1;
        Ok(Self {
            crystal: size(&faces)?,
            positions: faces.iter().map(|face| face.place).collect(),
            normals: faces.iter().map(|face| face.normal).collect(),
            time_edges: time.iter().rev().map(|edge| -edge / HALF_LIGHT).collect(),
            first,
            energies,
            model: scanner.part("modelName")?.text()?.into(),
            tof_fwhm: resolution / HALF_LIGHT,
            energy_resolution: one(of_energy, "energy resolutions", short)?.unwrap_or(0.0),
            window,
            efficiencies,
            pairs,
            turn,
        })
    }

    /// What is given goes before what the file says.
    pub fn take(&mut self, given: &ScannerOptions) -> Result<()> {
        if let Some(path) = &given.efficiencies {
            let (values, count) = (read_npy(path)?, self.count());
            let known = values.len();
            ensure!(
                known == count,
                "--efficiencies has {known} numbers; there must be one for each of {count} crystals"
            );
            let other = values.iter().find(|v| !(0.0..=1.0).contains(*v));
            ensure!(other.is_none(), "--efficiencies has {}; all must be 0 to 1", other.copied().unwrap_or_default());
            self.efficiencies = Some(values.iter().map(|v| *v as f32).collect());
        }
        if let Some([lower, upper]) = given.energy_window.as_deref() {
            let [from, to] = [short(*lower), short(*upper)];
            ensure!(lower < upper, "--energy-window is {from} to {to} keV; it must be two energies, ascending");
            self.window = [*lower, *upper];
        }
        self.energy_resolution = given.energy_resolution.unwrap_or(self.energy_resolution);
        Ok(())
    }

    /// How many crystals.
    pub fn count(&self) -> usize {
        self.positions.len()
    }

    /// How many time bins.
    pub fn bins(&self) -> usize {
        self.time_edges.len() - 1
    }

    /// For a plan whose lattice has its centre here, mm.
    pub fn plan(&self, centre: [f64; 3]) -> Result<Plan> {
        let place = |k: usize| super::boxes::minus(self.positions[k], centre);
        let crystals = Crystals::new(self.count(), place, Some(&|k| self.normals[k]), self.crystal)?;
        let pairs = self.pairs.as_ref().map(Pairs::plan).transpose()?;
        Ok(Plan { time_bins: Some(TimeBins::new(&self.time_edges)?), pairs, ..crystals.into() })
    }
}

/// Whether a scanner stores "prompt" or "delayed" coincidences.
pub fn stored(scanner: &Value, kind: &str) -> bool {
    let policy = scanner.field(&format!("{kind}EventPolicy")).and_then(|policy| policy.text().ok());
    // Of versions before 0.10.
    let flags = [format!("{kind}EventsAreStored"), format!("{kind}CoincidencesAreStored")];
    let is_set = |flag: &String| !matches!(scanner.field(flag), Some(Value::Number(0.0)));
    policy != Some("none") && flags.iter().all(is_set)
}

/// Values of pairs of types of modules: those below the diagonal and on it, whatever is written above.
pub(super) fn triangle<'a>(rows: &'a Value, count: usize, what: &str) -> Result<Vec<([usize; 2], Entry<'a>)>> {
    let mut made = Vec::new();
    for a in 0..count {
        for b in 0..=a {
            let row = rows.list()?.get(a);
            let value = match row {
                Some(Value::Numbers { values, .. }) => values.get(b).map(|v| Entry::Number(*v)),
                Some(row) => row.list()?.get(b).map(Entry::Value),
                None => None,
            };
            let value = value.with_context(|| format!("modules of types {a} and {b} have no {what}"))?;
            made.push(([a, b], value));
        }
    }
    Ok(made)
}

/// Of a row: rows of numbers have no values of their own.
pub(super) enum Entry<'a> {
    Number(f64),
    Value(&'a Value),
}

impl Entry<'_> {
    fn number(&self, what: &str) -> Result<f64> {
        match self {
            Self::Number(number) => Value::Number(*number).number(what),
            Self::Value(value) => value.number(what),
        }
    }
}

fn time_edges(scanner: &Value, count: usize) -> Result<Vec<f64>> {
    let mut edges: Option<Vec<f64>> = None;
    for ([a, b], pair) in triangle(scanner.part("tofBinEdges")?, count, "time bins")? {
        let Entry::Value(pair) = pair else { bail!("modules of types {a} and {b} have no edges of time bins") };
        let (_, own) = pair.part("edges")?.numbers("edges of time bins")?;
        let ascend = own.len() >= 2 && own.windows(2).all(|pair| pair[0] < pair[1]);
        let known = own.len();
        ensure!(
            ascend,
            "modules of types {a} and {b} have {known} edges of time bins; there must be 2 at least, ascending"
        );
        let same = edges.as_ref().is_none_or(|edges| *edges == own);
        ensure!(
            same,
            "modules of types {a} and {b} have other time bins than those of types 0 and 0; there must be one kind"
        );
        edges = Some(own);
    }
    edges.context("the scanner has no time bins")
}

/// Appends corners of all crystals of a type of modules.
fn corners(kind: &Value, boxes: &mut Vec<Corners>) -> Result<Modules> {
    let elements = kind.part("object")?.part("detectingElements")?;
    let shape = elements.part("object")?.part("shape")?.part("corners")?;
    let given = shape.list()?.iter().map(|corner| Ok(corner.part("c")?.numbers("corners of crystals")?.1));
    let given = given.collect::<Result<Vec<_>>>()?;
    let one: Option<Vec<[f64; 3]>> = given.iter().map(|c| c[..].try_into().ok()).collect();
    let one: Option<[[f64; 3]; 8]> = one.and_then(|all| all.try_into().ok());
    let one = Corners(one.with_context(|| format!("crystals have no 8 corners within {FARTHEST} mm"))?);
    let [of_modules, of_elements] = [rigids(kind)?, rigids(elements)?];
    let (modules, elements) = (of_modules.len(), of_elements.len());
    ensure!(modules > 0 && elements > 0, "a type of modules has no crystals");
    let number = modules.checked_mul(elements).filter(|n| *n <= MOST - boxes.len());
    let number = number.with_context(|| {
        format!("there are {modules} modules of {elements} crystals; a scanner of {MOST} crystals at most can be read")
    })?;
    boxes.try_reserve(number).context("no memory for the scanner's crystals")?;
    let begin = boxes.len();
    let made = of_modules.iter().flat_map(|m| of_elements.iter().map(move |e| one.at(&joined(m, e))));
    boxes.extend(made);
    ensure!(boxes[begin..].iter().all(Corners::is_near), "crystals have no 8 corners within {FARTHEST} mm");
    Ok(Modules { modules, elements })
}

/// Places of what is there several times.
fn rigids(of: &Value) -> Result<Vec<Rigid>> {
    of.part("transforms")?.list()?.iter().map(rigid).collect()
}

fn rigid(of: &Value) -> Result<Rigid> {
    let (shape, values) = of.part("matrix")?.numbers("places of modules and crystals")?;
    ensure!(shape == [3, 4], "a place of a module or crystal has shape {shape:?}; it must be (3, 4)");
    Ok([0, 1, 2].map(|row| [0, 1, 2, 3].map(|k| values[4 * row + k])))
}

/// Width and height, of which there must be one.
fn size(faces: &[Face]) -> Result<[f64; 2]> {
    let [width, height] = [0, 1].map(|k| median(faces.iter().map(|face| face.size[k]).collect()));
    let off = ALIKE * width.max(height);
    let alike = |face: &Face| face.size.iter().zip([width, height]).all(|(a, b)| (a - b).abs() <= off);
    if !faces.iter().all(alike) {
        let ends = |k: usize| {
            let of = faces.iter().map(|face| face.size[k]);
            let [low, high] = [of.clone().fold(f64::INFINITY, f64::min), of.fold(0.0, f64::max)];
            format!("{} to {}", general(low, 6), general(high, 6))
        };
        bail!("crystals are {} mm wide and {} mm high; there must be one size", ends(0), ends(1));
    }
    Ok([width, height])
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    0.5 * (values[(n - 1) / 2] + values[n / 2])
}

/// Energy bins of each type of modules, and the window of all.
fn energies(scanner: &Value, count: usize) -> Result<(Vec<usize>, [f64; 2])> {
    let lists = scanner.part("eventEnergyBinEdges")?.list()?;
    let known = lists.len();
    ensure!(known >= count, "there are {known} lists of energy bins; {count} types of modules need one each");
    let edges = lists[..count].iter().map(|bins| Ok(bins.part("edges")?.numbers("edges of energy bins")?.1));
    let edges = edges.collect::<Result<Vec<_>>>()?;
    let windows = edges.iter().filter(|bins| bins.len() > 1).map(|bins| [bins[0], bins[bins.len() - 1]]).collect();
    let window =
        one(windows, "energy windows", |[from, to]| format!("{} to {}", short(from), short(to)))?.unwrap_or_default();
    Ok((edges.iter().map(|bins| bins.len().saturating_sub(1).max(1)).collect(), window))
}

/// That of all types of modules.
fn one<T: PartialEq + Copy>(values: Vec<T>, what: &str, told: impl Fn(T) -> String) -> Result<Option<T>> {
    let first = values.first().copied();
    if let Some((a, b)) = first.zip(values.iter().copied().find(|v| Some(*v) != first)) {
        bail!("modules have several {what}, {} and {}; there must be one kind", told(a), told(b));
    }
    Ok(first)
}

fn short(v: f64) -> String {
    general(v, 6)
}

/// Of all crystals. A pair's efficiency is the product of two bins', so that it is a product of sums over bins of energy, too.
fn efficiencies(found: &Value, first: &[usize], energies: &[usize]) -> Result<Option<Vec<f32>>> {
    let Some(lists) = found.field("detectionBinEfficiencies") else { return Ok(None) };
    let lists = &lists.list()?[..lists.list()?.len().min(energies.len())];
    let lists = lists.iter().map(|list| Ok(list.numbers("detection efficiencies")?.1)).collect::<Result<Vec<_>>>()?;
    if lists.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let mut sums = Vec::new();
    for (kind, bins) in energies.iter().enumerate() {
        let count = first[kind + 1] - first[kind];
        let Some(values) = lists.get(kind).filter(|values| !values.is_empty()) else {
            sums.extend((0..count).map(|_| *bins as f32));
            continue;
        };
        let (known, needed) = (values.len(), count.saturating_mul(*bins));
        ensure!(
            known == needed,
            "modules of type {kind} have {known} detection efficiencies; their {count} crystals of {bins} energy bins need {needed}"
        );
        ensure!(values.iter().all(|v| *v >= 0.0), "modules of type {kind} have detection efficiencies below 0");
        sums.extend(values.chunks(*bins).map(|of| of.iter().sum::<f64>() as f32));
    }
    Ok(Some(sums))
}
