//! Writes PETSIRD files in yardl's binary format, by a schema that has what the program takes of one.

/// Of types that have the names and fields of PETSIRD's, in short.
pub const SCHEMA: &str = include_str!("schema.json");
/// In front of a schema's length.
pub const MAGIC: &[u8] = b"yardl\x01\0\0\0";

/// A place and its turn.
pub type Rigid = [[f32; 4]; 3];
/// Detection bins and time bin.
pub type Event = [u32; 3];

/// Modules of crystals about an axis.
#[derive(Clone, Debug)]
pub struct Scanner {
    pub name: String,
    /// One, from its first corner: depth, width, height, mm.
    pub crystal: [f32; 3],
    /// Of a module's crystals, and of modules.
    pub elements: Vec<Rigid>,
    pub modules: Vec<Rigid>,
    /// Of c (t1 - t2) / 2, mm, and its resolution.
    pub edges: Vec<f32>,
    pub resolution: f32,
    pub energies: Vec<f32>,
    pub energy_resolution: f32,
    /// None at all if it is empty.
    pub efficiencies: Vec<f32>,
    /// Groups of pairs of modules by rows up to the diagonal; none at all if it is empty.
    pub groups: Vec<Vec<i32>>,
    pub alignment: Option<Rigid>,
    pub calibration: f32,
    /// Whether it has prompts and delays.
    pub stores: [bool; 2],
}

/// What is said of the scan: an isotope, how the patient enters and lies.
#[derive(Clone, Debug, Default)]
pub struct Exam {
    pub nuclide: String,
    pub position: [String; 3],
}

/// A block of events.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// ms.
    pub time: [u32; 2],
    pub prompts: Vec<Event>,
    pub delays: Vec<Event>,
}

/// Bytes that are put one after the other.
#[derive(Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn whole(&mut self, mut value: u64) {
        while value >= 128 {
            self.0.push(value as u8 | 128);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn folded(&mut self, value: i32) {
        self.whole(((value << 1) ^ (value >> 31)) as u32 as u64);
    }

    pub fn text(&mut self, text: &str) {
        self.whole(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    fn reals(&mut self, values: &[f32]) {
        values.iter().for_each(|v| self.0.extend(v.to_le_bytes()));
    }

    fn list(&mut self, values: &[f32]) {
        self.whole(values.len() as u64);
        self.reals(values);
    }

    fn rigids(&mut self, all: &[Rigid]) {
        self.whole(all.len() as u64);
        all.iter().for_each(|one| self.reals(one.as_flattened()));
    }

    /// A triangle of one type of modules.
    fn triangle(&mut self) {
        self.whole(1);
        self.whole(1);
    }

    fn code(&mut self, meaning: &str) {
        self.text("");
        self.text(meaning);
    }

    fn scanner(&mut self, of: &Scanner) {
        let [depth, width, height] = of.crystal;
        self.text(&of.name);
        self.whole(1);
        for corner in 0..8 {
            let side = |bit: u32, length: f32| if corner >> bit & 1 == 1 { length } else { 0.0 };
            self.reals(&[side(2, depth), side(1, width), side(0, height)]);
        }
        self.whole(1);
        self.rigids(&of.elements);
        self.rigids(&of.modules);
        match &of.alignment {
            None => self.0.push(0),
            Some(matrix) => {
                self.0.push(1);
                self.reals(matrix.as_flattened());
            }
        }
        self.triangle();
        self.list(&of.edges);
        self.triangle();
        self.reals(&[of.resolution]);
        self.whole(1);
        self.list(&of.energies);
        self.list(&[of.energy_resolution]);
        of.stores.iter().for_each(|stores| self.folded(i32::from(*stores)));
        self.reals(&[of.calibration]);
        match of.efficiencies.is_empty() {
            true => self.whole(0),
            false => {
                self.whole(1);
                self.list(&of.efficiencies);
            }
        }
        match of.groups.is_empty() {
            true => self.whole(0),
            false => {
                self.triangle();
                self.whole(of.groups.len() as u64);
                for row in &of.groups {
                    self.whole(row.len() as u64);
                    row.iter().for_each(|group| self.folded(*group));
                }
            }
        }
        self.whole(0);
    }

    fn events(&mut self, events: &[Event]) {
        self.triangle();
        self.whole(events.len() as u64);
        events.as_flattened().iter().for_each(|number| self.whole(u64::from(*number)));
    }

    fn block(&mut self, block: &Block) {
        self.0.push(0);
        block.time.iter().for_each(|time| self.whole(u64::from(*time)));
        // Two single photons.
        self.whole(1);
        self.whole(2);
        [1, 2, 300, 4].into_iter().for_each(|number| self.whole(number));
        self.events(&block.prompts);
        match block.delays.is_empty() {
            true => self.0.push(0),
            false => {
                self.0.push(1);
                self.events(&block.delays);
            }
        }
    }
}

/// Magic, schema and header.
pub fn header(scanner: &Scanner, exam: Option<&Exam>) -> Vec<u8> {
    let mut bytes = Bytes(MAGIC.to_vec());
    bytes.text(SCHEMA);
    bytes.scanner(scanner);
    match exam {
        None => bytes.0.push(0),
        Some(Exam { nuclide, position: [enters, lies, turned] }) => {
            bytes.0.push(1);
            [lies, turned, enters].into_iter().for_each(|word| bytes.code(word));
            bytes.whole(u64::from(!nuclide.is_empty()));
            if !nuclide.is_empty() {
                // A date.
                bytes.whole(1 << 60);
                bytes.code(nuclide);
            }
        }
    }
    bytes.0
}

/// Blocks of events, one a part of the stream, and its end.
pub fn blocks(all: &[Block]) -> Vec<u8> {
    let mut bytes = Bytes::default();
    for block in all {
        bytes.whole(1);
        bytes.block(block);
    }
    bytes.0.push(0);
    bytes.0
}

/// A part of the stream: where the bed is.
pub fn bed(z: f32) -> Vec<u8> {
    let mut bytes = Bytes(vec![1, 1, 0, 0]);
    bytes.reals([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, z]].as_flattened());
    bytes.0
}

/// A part of the stream: fractions of the time in which the crystals of one type of modules were ready, from a time to another, ms.
pub fn dead_time([begin, end]: [u32; 2], fractions: &[f32]) -> Vec<u8> {
    let mut bytes = Bytes(vec![1, 2]);
    [begin, end].into_iter().for_each(|edge| bytes.whole(edge.into()));
    bytes.whole(1);
    bytes.list(fractions);
    bytes.whole(0);
    bytes.0
}

/// A part of the stream: single photons that crystals of one type counted, likewise.
pub fn singles([begin, end]: [u32; 2], counts: &[u64]) -> Vec<u8> {
    let mut bytes = Bytes(vec![1, 3]);
    [begin, end].into_iter().for_each(|edge| bytes.whole(edge.into()));
    bytes.whole(1);
    bytes.whole(counts.len() as u64);
    counts.iter().for_each(|count| bytes.whole(*count));
    bytes.0
}

/// About z, turned to another axis: x, y and z become (y, z, x) each time.
pub fn turned(of: Rigid, times: usize) -> Rigid {
    (0..times).fold(of, |[x, y, z], _| [z, x, y])
}

impl Scanner {
    /// Flat blocks in a ring of a diameter between inner faces, of crystals across and along.
    pub fn blocks(blocks: usize, [across, along]: [usize; 2], pitch: f32, diameter: f32, edges: Vec<f32>) -> Self {
        let crystal = [10.0, pitch, pitch];
        let from_middle = |i: usize, n: usize| (i as f32 - (n - 1) as f32 / 2.0) * pitch - pitch / 2.0;
        let element = |k: usize| {
            let (y, z) = (from_middle(k % across, across), from_middle(k / across, along));
            [[1.0, 0.0, 0.0, diameter / 2.0], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]]
        };
        let module = |k: usize| {
            let (sin, cos) = (std::f32::consts::TAU * k as f32 / blocks as f32).sin_cos();
            [[cos, -sin, 0.0, 0.0], [sin, cos, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
        };
        Self {
            name: format!("{blocks} blocks"),
            crystal,
            elements: (0..across * along).map(element).collect(),
            modules: (0..blocks).map(module).collect(),
            edges,
            resolution: 45.0,
            energies: vec![435.0, 585.0],
            energy_resolution: 0.11,
            efficiencies: Vec::new(),
            groups: Vec::new(),
            alignment: None,
            calibration: 1.0,
            stores: [true, true],
        }
    }

    pub fn count(&self) -> usize {
        self.elements.len() * self.modules.len()
    }
}
