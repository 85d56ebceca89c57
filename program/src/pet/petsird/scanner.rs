//! The scanner of a header.

use super::axis::Turn;
use super::boxes::{Corners, FARTHEST, Face, Rigid, joined};
use super::pairs::{Modules, Pairs};
use super::times::Times;
use crate::pet::images::read_npy;
use crate::pet::options::ScannerOptions;
use crate::pet::told::general;
use crate::pet::yardl::Value;
use anyhow::{Context, Result, ensure};
use isocenter::pet::scanner::{Crystals, Scanner as Plan, Sizes, TimeBins};
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
    /// Width and height of a crystal's face, mm; of crystals that differ the medians.
    pub crystal: [f64; 2],
    /// Those of each, where they differ.
    pub sizes: Option<Vec<[f64; 2]>>,
    pub times: Times,
    /// The number of the first crystal of each type of module, and how many there are.
    pub first: Vec<usize>,
    /// Modules of each type, and energy bins.
    pub modules: Vec<Modules>,
    pub energies: Vec<usize>,
    /// Of each type with several, `[crystal][bin]`: which part of what a crystal detects each bin does.
    pub bin_parts: Vec<Vec<f64>>,
    pub model: String,
    /// Full width at half maximum at 511 keV over that, and the window in keV; 0 where the file does not say.
    pub energy_resolution: f64,
    pub window: [f64; 2],
    /// Of crystals, the sum over their energy bins. None: the file has none.
    pub efficiencies: Option<Vec<f32>>,
    /// None: all pairs of modules are in coincidence, with 1.
    pub pairs: Option<Pairs>,
    /// From the file's axes to those of positions and normals, of which z is the scanner's.
    pub turn: Turn,
    /// What of the scanner is not as the image is made.
    pub doubts: Vec<String>,
}

impl Scanner {
    /// That of a header; places are so many mm behind crystals' inner faces, or in their middles.
    pub fn new(header: &Value, depth: Option<f64>) -> Result<Self> {
        let scanner = header.part("scanner")?;
        let kinds = scanner.part("scannerGeometry")?.part("replicatedModules")?.list()?;
        let count = kinds.len();
        ensure!(count > 0, "the scanner has no modules");
        let times = Times::new(scanner, count)?;
        let (mut boxes, mut first, mut modules) = (Vec::new(), vec![0], Vec::new());
        for kind in kinds {
            modules.push(corners(kind, &mut boxes)?);
            first.push(boxes.len());
        }
        let turn = Turn::of(&boxes)?;
        let face = |of: &Corners| Corners(of.0.map(|corner| turn.turned(corner))).face(depth);
        let faces = boxes.par_iter().map(face).collect::<Result<Vec<_>>>()?;
        drop(boxes);
        let mut doubts = Vec::new();
        let (energies, window) = energies(scanner, count, &mut doubts)?;
        let pairs = Pairs::new(scanner, &modules, &energies)?;
        let of_bins = efficiencies(scanner.part("detectionEfficiencies")?, &first, &energies)?;
        let bin_parts = bin_parts(of_bins.as_deref(), &first, &energies);
        let efficiencies = of_bins.map(|lists| summed(&lists, &energies));
        // Where there are none, all may be in those of pairs.
        let all = || pairs.as_ref().filter(|pairs| pairs.is_measured()).map(|_| vec![1.0; faces.len()]);
        let efficiencies = efficiencies.or_else(all);
        let of_energy = scanner.part("energyResolutionAt511")?.numbers("energy resolutions")?.1;
        let of_energy = widest(of_energy, "energy resolutions", &mut doubts, short, f64::max).unwrap_or(0.0);
        let (crystal, differ) = size(&faces);
        Ok(Self {
            crystal,
            sizes: differ.then(|| faces.iter().map(|face| face.size).collect()),
            positions: faces.iter().map(|face| face.place).collect(),
            normals: faces.iter().map(|face| face.normal).collect(),
            times,
            first,
            modules,
            energies,
            bin_parts,
            model: scanner.part("modelName")?.text()?.into(),
            energy_resolution: of_energy,
            window,
            efficiencies,
            pairs,
            turn,
            doubts,
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

    /// For a plan whose lattice has its centre here, mm.
    pub fn plan(&self, centre: [f64; 3]) -> Result<Plan> {
        let place = |k: usize| super::boxes::minus(self.positions[k], centre);
        let of_each = self.sizes.as_ref().map(|sizes| move |k: usize| sizes[k]);
        let sizes = of_each.as_ref().map_or(Sizes::Same(self.crystal), |of| Sizes::Each(of));
        let crystals = Crystals::new(self.count(), place, Some(&|k| self.normals[k]), sizes)?;
        let pairs = self.pairs.as_ref().map(Pairs::plan).transpose()?;
        let time_bins = self.times.edges.as_deref().map(TimeBins::new).transpose()?;
        Ok(Plan { time_bins, pairs, ..crystals.into() })
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
    pub(super) fn number(&self, what: &str) -> Result<f64> {
        match self {
            Self::Number(number) => Value::Number(*number).number(what),
            Self::Value(value) => value.number(what),
        }
    }
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

/// Medians of width and height, and whether crystals differ.
fn size(faces: &[Face]) -> ([f64; 2], bool) {
    let [width, height] = [0, 1].map(|k| median(faces.iter().map(|face| face.size[k]).collect()));
    let off = ALIKE * width.max(height);
    let alike = |face: &Face| face.size.iter().zip([width, height]).all(|(a, b)| (a - b).abs() <= off);
    ([width, height], !faces.iter().all(alike))
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    0.5 * (values[(n - 1) / 2] + values[n / 2])
}

/// Energy bins of each type of modules, and the window of all.
fn energies(scanner: &Value, count: usize, doubts: &mut Vec<String>) -> Result<(Vec<usize>, [f64; 2])> {
    let lists = scanner.part("eventEnergyBinEdges")?.list()?;
    let known = lists.len();
    ensure!(known >= count, "there are {known} lists of energy bins; {count} types of modules need one each");
    let edges = lists[..count].iter().map(|bins| Ok(bins.part("edges")?.numbers("edges of energy bins")?.1));
    let edges = edges.collect::<Result<Vec<_>>>()?;
    let windows = edges.iter().filter(|bins| bins.len() > 1).map(|bins| [bins[0], bins[bins.len() - 1]]).collect();
    let told = |[from, to]: [f64; 2]| format!("{} to {} keV", short(from), short(to));
    let window = widest(windows, "energy windows", doubts, told, |a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    Ok((edges.iter().map(|bins| bins.len().saturating_sub(1).max(1)).collect(), window.unwrap_or_default()))
}

/// That of all types of modules; where they differ what has them all, which is doubted.
fn widest<T: PartialEq + Copy>(
    values: Vec<T>,
    what: &str,
    doubts: &mut Vec<String>,
    told: impl Fn(T) -> String,
    join: fn(T, T) -> T,
) -> Option<T> {
    let all = values.iter().copied().reduce(join)?;
    if values.iter().any(|value| *value != values[0]) {
        let mut shown: Vec<String> = Vec::new();
        for value in values {
            let text = told(value);
            if !shown.contains(&text) {
                shown.push(text);
            }
        }
        doubts.push(format!(
            "modules have several {what}, {}: scatter is made with {} of all",
            shown.join(", "),
            told(all)
        ));
    }
    Some(all)
}

fn short(v: f64) -> String {
    general(v, 6)
}

/// Of each type of modules `[crystal][energy bin]`, 1 of one that has none; None of a file without any.
fn efficiencies(found: &Value, first: &[usize], energies: &[usize]) -> Result<Option<Vec<Vec<f64>>>> {
    let Some(lists) = found.field("detectionBinEfficiencies") else { return Ok(None) };
    let lists = &lists.list()?[..lists.list()?.len().min(energies.len())];
    let lists = lists.iter().map(|list| Ok(list.numbers("detection efficiencies")?.1)).collect::<Result<Vec<_>>>()?;
    if lists.iter().all(Vec::is_empty) {
        return Ok(None);
    }
    let mut made = Vec::new();
    for (kind, bins) in energies.iter().enumerate() {
        let count = first[kind + 1] - first[kind];
        let needed = count.saturating_mul(*bins);
        let Some(values) = lists.get(kind).filter(|values| !values.is_empty()) else {
            made.push(vec![1.0; needed]);
            continue;
        };
        let known = values.len();
        ensure!(
            known == needed,
            "modules of type {kind} have {known} detection efficiencies; their {count} crystals of {bins} energy bins need {needed}"
        );
        ensure!(values.iter().all(|v| *v >= 0.0), "modules of type {kind} have detection efficiencies below 0");
        made.push(values.clone());
    }
    Ok(Some(made))
}

/// Of all crystals. A pair's efficiency is the product of two bins', so that it is a product of sums over bins of energy, too.
fn summed(lists: &[Vec<f64>], energies: &[usize]) -> Vec<f32> {
    let of = |(values, bins): (&Vec<f64>, &usize)| {
        values.chunks(*bins).map(|own| own.iter().sum::<f64>() as f32).collect::<Vec<_>>()
    };
    lists.iter().zip(energies).flat_map(of).collect()
}

/// Of types with several energy bins, which part of what a crystal detects each does.
fn bin_parts(lists: Option<&[Vec<f64>]>, first: &[usize], energies: &[usize]) -> Vec<Vec<f64>> {
    let of = |kind: usize| {
        let (bins, count) = (energies[kind], first[kind + 1] - first[kind]);
        match lists {
            _ if bins < 2 => Vec::new(),
            None => vec![1.0 / bins as f64; count * bins],
            Some(lists) => {
                let parts = |own: &[f64]| {
                    let sum: f64 = own.iter().sum();
                    own.iter().map(|v| if sum > 0.0 { v / sum } else { 1.0 / bins as f64 }).collect::<Vec<_>>()
                };
                lists[kind].chunks(bins).flat_map(parts).collect()
            }
        }
    };
    (0..energies.len()).map(of).collect()
}
