//! What may be said on the command line.

use crate::commands;
use crate::commands::bad_views::BadViews;
use crate::pet::options::Pet;
use crate::plan::trial::Trial;
use crate::plan::{Overlap, Steps};
use crate::scan::pyhst::{self, Parameters, Taken};
use crate::scan::{Input, is_table, range};
use crate::table::{Place, Table};
use crate::talk;
use anyhow::{Context as _, Result, bail};
use clap::{ArgMatches, Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// From a scan to a volume file: parallel-beam CT, and time-of-flight PET
///
/// A scan is an NXtomo, a Data Exchange or another HDF5 file; a folder, a pattern or a file of TIFF or EDF images; or PyHST's parameter file. With no option `recon` searches the rotation axis, removes stripes that stand out from
/// noise, and writes attenuation in 32-bit floating point.
#[derive(Debug, Parser)]
#[command(name = "isocenter", version, arg_required_else_help = true)]
pub struct Cli {
    /// Tell programs what goes on: a JSON object a line on standard output, in place of text
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Tell what a scan holds
    Inspect(Inspect),
    /// Search the rotation axis
    Axis(Axis),
    /// Reconstruct a volume
    #[command(after_help = EXAMPLES)]
    Recon(Box<Recon>),
    /// Do a run again
    Repeat(Repeat),
    /// Look at a volume in a browser
    View(View),
    /// Make an image in Bq/ml of a PET scanner's list of events, or tell what is in it
    #[command(after_help = PET_EXAMPLES)]
    Pet(Box<Pet>),
}

impl Command {
    fn name(&self) -> &'static str {
        match self {
            Self::Inspect(_) => "inspect",
            Self::Axis(_) => "axis",
            Self::Recon(_) => "recon",
            Self::Repeat(_) => "repeat",
            Self::View(_) => "view",
            Self::Pet(_) => "pet",
        }
    }
}

const EXAMPLES: &str = "examples:
  isocenter recon tooth.h5
  isocenter recon scan.nx -o volume.h5 --depth u16 --outliers --bad-pixels
  isocenter recon scan.nx -o slices/
  isocenter recon scan.nx -o volume.zarr --depth u16
  isocenter recon folder --angles 0..180
  isocenter recon \"proj_*.tif\" --flats before --flats after --darks dark.tif
  isocenter recon transmissions.h5 --input transmission --full-beam 65535
  isocenter recon sinogram.tif --sinograms
  isocenter recon scan.par --axis 1023.4
  isocenter recon scan.nxs --data /entry/imaging/data --keys /entry/instrument/imaging/image_key --angles /entry/imaging/theta
  isocenter recon folder --flats calibration.h5:/entry/flats --angles log.txt
  isocenter recon scan.nx --filter hann --cutoff 0.8 --columns 400..900 --lines 600..1100
  isocenter recon scan.nx --algorithm sirt --iterations 20 --subsets 10 --minimum 0
  isocenter recon scan.nx --algorithm total-variation --minimum 0
  isocenter recon scan.nx --bin 2 --crop-bins 100..1900
  isocenter recon scans.csv --phase --energy 20 --distance 300 --delta-beta 200
  isocenter recon scan.nx --rows 1000..1010 --phase --energy 20 --distance 300 --delta-beta 200
  isocenter repeat volume.toml";

const PET_EXAMPLES: &str = "examples:
  isocenter pet scan.petsird
  isocenter pet scan.petsird --attenuation map.nii -o image.nii.gz
  isocenter pet scan.petsird --attenuation ct.nii --unit HU --kilovolts 100 --isotope Ga-68 -o image.nii
  isocenter pet scan.petsird --attenuation map.nii --frame 0 300 --frame 300 900 -o series.nii
  isocenter pet scan.petsird --attenuation map.nii --voxel 2 --algorithm osem -o image.hv";

/// What a scan may be.
const SCAN: &str = "The scan:
  an HDF5 file     NXtomo, Data Exchange, a file of BLISS's or of ALS 8.3.2's; others are read by what they hold if that is certain: frames of
                   three dimensions, and keys, flats, darks and angles beside; --data, --keys, --flats, --darks and --angles name datasets
  a folder         TIFF images, of which names with a word such as flat, ref or white are flats, with dark darks, all others one series of
                   projections, or with TOMCAT's .log of the Swiss Light Source; or an ESRF folder of EDF images with refHST, dark.edf and .info
  a pattern        in quotes, as in \"proj_*.tif\": projections alone, beside --flats and --darks
  an image file    TIFF or EDF, with all projections
  sinograms        of any of these, with --sinograms: images are (views, bins), one a detector row
  scan.par         PyHST's parameters
  scans.csv        of `recon` and `inspect`: a table, a scan a line; its first line names columns, scan and others that are called as options
                   are. Each scan becomes a volume, or all of them one where columns say where each lies: z-mm or z-rows downwards, x-mm or
                   x-bins sideways
`isocenter inspect` tells what was found, assumed and left out.";

/// Where to compute.
#[derive(Clone, Debug, PartialEq, Args)]
pub struct Machine {
    /// auto: GPUs if there are any; cpu; gpu: all of them
    #[arg(long, default_value = "auto", value_parser = ["auto", "cpu", "gpu"], help_heading = "Machine")]
    pub device: String,
    /// Worker threads, no more than there are processors; 0: one per processor
    #[arg(long, default_value_t = 0, help_heading = "Machine")]
    pub threads: usize,
    /// Memory that a run may take, as in 48G or 500M: half of it for the decoded frames of a compressed scan, half for the work [default:
    /// what is available]
    #[arg(long, value_name = "BYTES", value_parser = bytes, help_heading = "Machine")]
    pub memory: Option<u64>,
    /// Where decoded frames are kept if half of it is too little, in a file that goes with the run [default: TMPDIR, or /tmp]
    #[arg(long, value_name = "FOLDER", help_heading = "Machine")]
    pub scratch: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct Inspect {
    /// The scan: a file, a folder of images, or a pattern in quotes, as in "proj_*.tif"; or a table of scans, with any option of `recon`
    #[arg(long_help = SCAN)]
    pub scan: PathBuf,
    #[command(flatten, next_help_heading = "Scan")]
    pub input: Input,
    /// What a table says, if that is the scan.
    #[arg(skip)]
    pub table: Option<Box<Recon>>,
}

#[derive(Debug, Args)]
pub struct Axis {
    /// The scan: a file, a folder of images, or a pattern in quotes, as in "proj_*.tif"
    #[arg(long_help = SCAN)]
    pub scan: PathBuf,
    #[command(flatten, next_help_heading = "Scan")]
    pub input: Input,
    /// What becomes of projections that are no measurement, by eight rows of them
    #[arg(long, value_enum, default_value_t, help_heading = "Scan")]
    pub bad_views: BadViews,
    /// Look at rows far apart, and tell how the axis moves from row to row
    #[arg(long)]
    pub tilt: bool,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(Debug, Args)]
pub struct Repeat {
    /// The plan that `recon` has written beside a volume
    pub plan: PathBuf,
    /// Just one of several equal parts of a volume that `recon --begin` has begun, as in 3/8; whoever is done last finishes it
    #[arg(long, value_parser = part, value_name = "WHICH/OF")]
    pub part: Option<[usize; 2]>,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(Debug, Args)]
pub struct View {
    /// The volume, of any kind that `recon` writes: a file, or a folder
    pub volume: PathBuf,
    /// Of an HDF5 file of another program: the dataset, (slices, rows, columns), as in /exchange/data
    #[arg(long, value_name = "PATH")]
    pub data: Option<String>,
    /// Side of a voxel in millimetres [default: what the volume says]
    #[arg(long, value_name = "MM")]
    pub pixel: Option<f64>,
    /// Port of this machine, which no other machine reaches; 0: one that is free
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Open the address in a browser, too
    #[arg(long)]
    pub open: bool,
    /// Just write a page of three planes through the middle, which needs nothing beside it, as for a mail
    #[arg(long, value_name = "FILE.html", conflicts_with_all = ["port", "open"])]
    pub save: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub struct Recon {
    /// The scan: a file, a folder of images, or a pattern in quotes, as in "proj_*.tif"
    #[arg(long_help = SCAN)]
    pub scan: PathBuf,
    /// The volume: its name tells its kind (.h5, .tif, .vol, .zarr, or folder/ for a TIFF file a slice), as --format does [default: the scan's name with
    /// _volume.h5, in this folder]
    #[arg(short, long)]
    pub output: Option<PathBuf>,
    /// Rotation axis as a fractional bin, counted from 0; of scans side by side that of the wide field [default: it is searched]
    #[arg(long)]
    pub axis: Option<f64>,
    /// First detector row and the one behind the last, as in 100..200 [default: all]
    #[arg(long, value_parser = range, value_name = "FIRST..END")]
    pub rows: Option<[usize; 2]>,
    /// Of a table of scans that make one volume: what becomes of rows that two of them have [default: blend]
    #[arg(long, value_enum)]
    pub overlap: Option<Overlap>,
    /// Just measure how fast the scan is read, slices are made and the volume's folder is written, and tell how long a run takes
    #[arg(long, conflicts_with = "begin")]
    pub probe: bool,
    /// Just find what is to be found, write the plan, and begin the volume, for about so many processes: `repeat --part` does the rest
    #[arg(long, value_name = "PARTS", num_args = 0..=1, default_missing_value = "1")]
    pub begin: Option<usize>,
    #[command(flatten)]
    pub trial: Trial,
    /// Side of a pixel in millimetres: attenuation comes out per millimetre [default: what the file says, or 1]
    #[arg(long, value_name = "MM")]
    pub pixel: Option<f64>,
    #[command(flatten, next_help_heading = "Scan")]
    pub input: Input,
    /// What becomes of projections that are no measurement, by eight rows of them
    #[arg(long, value_enum, default_value_t, help_heading = "Scan")]
    pub bad_views: BadViews,
    /// What became of PyHST's parameters, if they are the scan.
    #[arg(skip)]
    pub taken: Option<Taken>,
    /// Where it lies in a volume of several scans.
    #[arg(skip)]
    pub place: Place,
    /// What the lines of a table say, if that is the scan.
    #[arg(skip)]
    pub lines: Vec<Recon>,
    #[command(flatten)]
    pub steps: Steps,
    #[command(flatten)]
    pub machine: Machine,
}

impl Cli {
    /// Of a command line's words. What they leave open, a table or PyHST's parameter file says, if that is the scan of `recon`.
    pub fn read(mut words: Vec<OsString>) -> Result<Self> {
        // Before what the file says there may be options without those that they need.
        let first = |words: &[OsString]| Self::command().ignore_errors(true).try_get_matches_from(words).ok();
        let of = |first: &Option<ArgMatches>, command: &str| {
            first.as_ref().and_then(|first| first.subcommand_matches(command)?.get_one::<PathBuf>("scan")).cloned()
        };
        // A table is read as by `recon`, whose options its columns are.
        let inspected = of(&first(&words), "inspect").is_some_and(|scan| is_table(&scan));
        if let Some(word) = words.iter_mut().skip(1).find(|word| inspected && *word == "inspect") {
            *word = "recon".into();
        }
        let scan = of(&first(&words), "recon");
        match scan {
            Some(scan) if is_table(&scan) => {
                let recon = Box::new(Recon::of_table(&words, &scan)?);
                let command = match inspected {
                    true => Command::Inspect(Inspect { scan, input: recon.input.clone(), table: Some(recon) }),
                    false => Command::Recon(recon),
                };
                Ok(Self { json: talk::is_json(), command })
            }
            Some(scan) if pyhst::is(&scan) => {
                let (words, taken) = taken(words, &scan)?;
                let mut cli = Self::try_parse_from(words)?;
                if let Command::Recon(recon) = &mut cli.command {
                    recon.taken = Some(taken);
                }
                Ok(cli)
            }
            _ => Ok(Self::try_parse_from(words)?),
        }
    }

    /// Does what is said.
    pub fn run(self) -> Result<()> {
        if self.json {
            talk::in_json();
        }
        talk::begin(self.command.name());
        match self.command {
            Command::Inspect(inspect) => commands::inspect::run(&inspect),
            Command::Axis(axis) => commands::axis::run(&axis),
            Command::Recon(recon) => commands::recon::run(&recon),
            Command::Repeat(repeat) => commands::recon::repeat(&repeat),
            Command::View(view) => commands::view::run(&view),
            Command::Pet(pet) => commands::pet::run(&pet),
        }
    }
}

/// Words and those that stand for what PyHST's parameter file says and they leave open.
fn taken(mut words: Vec<OsString>, scan: &Path) -> Result<(Vec<OsString>, Taken)> {
    let texts: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let given = |option: &str| {
        let rest = texts.iter().filter_map(|word| word.strip_prefix(option));
        rest.into_iter().any(|rest| rest.is_empty() || rest.starts_with('='))
    };
    let told = || scan.display().to_string();
    let taken = Parameters::read(scan)?.taken(given).with_context(told)?;
    words.extend(taken.words().map(OsString::from));
    Ok((words, taken))
}

impl Recon {
    /// Of a table, with what each of its lines says besides these words.
    pub fn of_table(words: &[OsString], path: &Path) -> Result<Self> {
        let table = Table::read(path)?;
        let mut lines = Vec::new();
        for line in table.lines {
            let told = || format!("{}, line {}", path.display(), line.number);
            let mut words = [words, &line.words.iter().map(OsString::from).collect::<Vec<_>>()].concat();
            let mut taken_over = None;
            if pyhst::is(&line.scan) {
                let (more, taken) = taken(words, &line.scan).with_context(told)?;
                (words, taken_over) = (more, Some(taken));
            }
            let cli = Cli::try_parse_from(&words).map_err(|error| first_line(&error)).with_context(told)?;
            let Command::Recon(mut recon) = cli.command else { bail!("{}: it is no line of `recon`", told()) };
            (recon.scan, recon.place, recon.taken) = (line.scan, line.place, taken_over);
            lines.push(*recon);
        }
        let mut recon = lines.first().cloned().context("the table has no scans")?;
        (recon.scan, recon.lines) = (path.into(), lines);
        if table.columns.iter().any(|column| column == "axis") {
            // Those of the lines are no axis of all.
            recon.axis = None;
        }
        Ok(recon)
    }
}

/// What is wrong with a command line, without how it is used.
fn first_line(error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let lines: Vec<_> = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim).collect();
    anyhow::anyhow!("{}", lines.join(" ").trim_start_matches("error: "))
}

fn part(text: &str) -> Result<[usize; 2], String> {
    let both = text.split_once('/').and_then(|(a, b)| Some([a.parse().ok()?, b.parse().ok()?]));
    both.filter(|[a, b]| (1..=*b).contains(a)).ok_or_else(|| "a part is expected, 1/8 to 8/8 for example".into())
}

fn bytes(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1e3),
        Some((at, 'M' | 'm')) => (&text[..at], 1e6),
        Some((at, 'G' | 'g')) => (&text[..at], 1e9),
        Some((at, 'T' | 't')) => (&text[..at], 1e12),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    number.map(|n| (n * factor) as u64).ok_or_else(|| "a number of bytes is expected, as in 48G or 500M".into())
}
