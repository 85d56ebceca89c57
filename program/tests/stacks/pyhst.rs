//! Parameter files of PyHST.

use crate::folder::Folder;
use crate::scans::*;

/// As the ESRF's scripts write them, for a scan that has moved since.
fn parameters(more: &str) -> String {
    format!(
        r#"# HST_SLAVE PARAMETER FILE

FILE_PREFIX = /data/visitor/moved/bone_
NUM_FIRST_IMAGE = 0 # No. of first projection file
NUM_LAST_IMAGE = {last} # No. of last projection file
NUMBER_LENGTH_VARIES = NO
LENGTH_OF_NUMERICAL_PART = 4 # No. of characters
FILE_POSTFIX = .edf
FILE_INTERVAL = 1 # Interval between input files
NUM_IMAGE_1 = {BINS} # Number of pixels horizontally
NUM_IMAGE_2 = {ROWS} # Number of pixels vertically
IMAGE_PIXEL_SIZE_1 = 0.700000 # Pixel size horizontally (microns)
IMAGE_PIXEL_SIZE_2 = 0.700000 # Pixel size vertically
SUBTRACT_BACKGROUND = YES # Subtract background from data
BACKGROUND_FILE = /data/visitor/moved/dark.edf
CORRECT_FLATFIELD = YES # Divide by flat-field image
FLATFIELD_CHANGING = YES # Series of flat-field files
FLATFIELD_FILE = N.A.
FF_PREFIX = /data/visitor/moved/refHST
FF_NUM_FIRST_IMAGE = 0 # No. of first flat-field file
FF_NUM_LAST_IMAGE = {VIEWS} # No. of last flat-field file
FF_NUMBER_LENGTH_VARIES = NO
FF_LENGTH_OF_NUMERICAL_PART = 4 # No. of characters
FF_POSTFIX = .edf
FF_FILE_INTERVAL = 45 # Interval between flat-field files
TAKE_LOGARITHM = YES # Take log of projection values
ANGLE_BETWEEN_PROJECTIONS = {step} # Increment angle in degrees
ROTATION_VERTICAL = YES
ROTATION_AXIS_POSITION = 30.700000 # Position in pixels
OUTPUT_SINOGRAMS = NO # Output sinograms to files or not
OUTPUT_RECONSTRUCTION = YES # Reconstruct and save or not
START_VOXEL_1 =      1 # X-start of reconstruction volume
START_VOXEL_2 =      1 # Y-start of reconstruction volume
START_VOXEL_3 =      2 # Z-start of reconstruction volume
END_VOXEL_1 =   {BINS} # X-end of reconstruction volume
END_VOXEL_2 =   {BINS} # Y-end of reconstruction volume
END_VOXEL_3 =   4 # Z-end of reconstruction volume
OVERSAMPLING_FACTOR = 4 # 0 = Linear, 1 = Nearest pixel
ANGLE_OFFSET = 0.000000 # Reconstruction rotation offset angle in degrees
CACHE_KILOBYTES = 256 # Size of processor cache (L2) per processor (KBytes)
SINOGRAM_MEGABYTES = 400 # Maximum size of sinogram storage (megabytes)
DO_CCD_FILTER = NO # CCD filter (spikes)
CCD_FILTER = "CCD_Filter"
CCD_FILTER_PARA = {{"threshold": 0.040000 }}
DO_SINO_FILTER = NO # Sinogram filter (rings)
SINO_FILTER = "SINO_Filter"
ar = Numeric.ones({BINS},'f')
ar[0]=0.0
ar[2:18]=0.0
SINO_FILTER_PARA = {{"FILTER": ar }}
DO_AXIS_CORRECTION = NO # Axis correction
AXIS_CORRECTION_FILE = correct.txt
OPTIONS= {{ 'padding':'E' , 'axis_to_the_center':'Y' , 'avoidhalftomo':'Y'}} # Padding and position axis
ZEROCLIPVALUE = 0.001
OUTPUT_FILE = /data/visitor/moved/bone_.vol
DISPLAY_GRAPHICS = NO # No images
{more}"#,
        last = VIEWS - 1,
        step = 180.0 / VIEWS as f64,
    )
}

/// Frames where the parameter file is, and the same scan in an NXtomo file.
fn scan(name: &str) -> Folder {
    let folder = Folder::new(name);
    nxtomo(folder.path("whole.nx"), &half_turn(VIEWS), &[0, 45, 90]);
    for (k, angle) in half_turn(VIEWS).into_iter().enumerate() {
        write_edf(&folder, &format!("bone_{k:04}.edf"), &[&projection(k, angle.to_radians())]);
    }
    for position in [0, 45, 90] {
        write_edf(&folder, &format!("refHST{position:04}.edf"), &[&flat(position)]);
    }
    write_edf(&folder, "dark.edf", &[&DARK]);
    folder
}

fn run(folder: &Folder, more: &str, words: &[&str]) -> Result<(String, Vec<f32>), String> {
    std::fs::write(folder.path("bone.par"), parameters(more)).expect("a file");
    let output = isocenter(folder, &[&["recon", "bone.par", "--device", "cpu", "-o", "made.h5"], words].concat());
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let file = hdf5_metno::File::open(folder.path("made.h5")).expect("a volume");
    Ok((told, file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values")))
}

const STEPS: [&str; 8] = ["--pixel", "0.0007", "--rows", "1..4", "--padding", "edge", "--stripes", "off"];

#[test]
fn keys_become_options() {
    let folder = scan("pyhst");
    let (told, seen) = run(&folder, "", &[]).expect("success");
    same(&seen, &volume(&folder, "whole.nx", &STEPS), "as it is written");
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in [
        "ROTATION_AXIS_POSITION = 30.700000 -> --axis=30.700000",
        "END_VOXEL_3 = 4 -> --rows=1..4",
        "--padding=edge --half-acquisition=off",
        "OUTPUT_FILE = /data/visitor/moved/bone_.vol -> -o names the volume",
        "CCD_FILTER_PARA = {\"threshold\": 0.040000 } -> outliers",
    ] {
        assert!(told.contains(line), "{line}: {told}");
    }
    // The plan has them, and the scan's name.
    let first = std::fs::read_to_string(folder.path("made.toml")).expect("a plan");
    std::fs::write(folder.path("again.toml"), first.replace("made.h5", "again.h5")).expect("a plan");
    succeeds(&folder, &["repeat", "again.toml", "--device", "cpu"]);
    let file = hdf5_metno::File::open(folder.path("again.h5")).expect("a volume");
    let again: Vec<f32> = file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values");
    assert!(again == seen);
    assert!(
        succeeds(&folder, &["inspect", "bone.par"]).contains("1 after 0 views, 1 after 45 views, 1 after 90 views")
    );
}

#[test]
fn steps_are_taken_over_and_options_win() {
    let folder = scan("pyhst-steps");
    std::fs::write(folder.path("correct.txt"), "0.5\n".repeat(VIEWS)).expect("a file");
    let shifted =
        "DO_AXIS_CORRECTION = YES\nDO_CCD_FILTER = YES\nDO_RING_FILTER = 1\nDO_SINO_FILTER = YES\nZEROOFFMASK = 1\n";
    let (_, seen) = run(&folder, shifted, &["--axis", "31.2"]).expect("success");
    let words = [
        "--pixel",
        "0.0007",
        "--rows",
        "1..4",
        "--padding",
        "edge",
        "--shifts",
        "correct.txt",
        "--outliers",
        "--mask",
        "1",
    ];
    succeeds(
        &folder,
        &[&["recon", "whole.nx", "--axis", "31.2", "--device", "cpu", "-o", "volume.h5"], &words[..]].concat(),
    );
    let file = hdf5_metno::File::open(folder.path("volume.h5")).expect("a volume");
    let expected: Vec<f32> =
        file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw()).expect("values");
    same(&seen, &expected, "shifts, outliers, stripes and a mask");
    let phase = "DO_PAGANIN = 1\nPAGANIN_Lmicron = 2.1\nPAGANIN_MARGE = 50\nPUS = 0.8\nPUC = 2.0\nUNSHARP_LOG = 0\nMULTI_PAGANIN_PARS={}\n";
    let (_, seen) = run(&folder, phase, &[]).expect("success");
    // pi wavelength distance ratio, in um: 1.2398 nm at 1 keV.
    let ratio = 2.1f64.powi(2) / (std::f64::consts::PI * 1.239_841_984e-3 / 20.0 * 10_000.0);
    let ratio = ratio.to_string();
    let words = ["--phase", "--energy", "20", "--distance", "10", "--delta-beta", &ratio, "--unsharp", "0.8", "2"];
    same(&seen, &volume(&folder, "whole.nx", &[&STEPS[..], &words].concat()), "phase");
    let (told, seen) = run(&folder, &format!("{phase}UNSHARP_LOG = 1\n"), &["--unsharp", "1", "1", "--rows", "0..2"])
        .expect("success");
    assert!(told.contains("--unsharp is given") && seen.len() == 2 * BINS * BINS, "{told}");
}

/// Projections, flats and darks in HDF5 files.
#[test]
fn frames_in_hdf5() {
    let folder = scan("pyhst-hdf5");
    let write = |name: &str, dataset: &str, frames: Vec<u16>| {
        let file = hdf5_metno::File::create(folder.path(name)).expect("a file");
        let shape = [frames.len() / PLANE, ROWS, BINS];
        let data = file.new_dataset::<u16>().shape(shape).create(dataset).expect("a dataset");
        data.write_raw(&frames).expect("frames");
    };
    let views = half_turn(VIEWS).into_iter().enumerate().flat_map(|(k, angle)| projection(k, angle.to_radians()));
    write("views.h5", "projections", views.collect());
    [0, 45, 90].iter().for_each(|k| write(&format!("flat{k}.h5"), "flats", flat(*k)));
    write("dark.h5", "darks", DARK.to_vec());
    let keys =
        "FILE_PREFIX = views.h5\nPROJ_DS_NAME = projections\nBACKGROUND_FILE = dark.h5\nBACKGROUND_DS_NAME = /darks\n";
    let flats = "FF_PREFIX = [\"flat0.h5\", \"flat45.h5\", \"flat90.h5\"]\nFF_DS_NAME = flats\n";
    let (_, seen) = run(&folder, &format!("{keys}{flats}"), &[]).expect("success");
    same(&seen, &volume(&folder, "whole.nx", &STEPS), "HDF5");
    for (more, word) in [
        ("NUM_LAST_IMAGE = 91\n", "there are 91 frames"),
        ("PROJ_DS_NAME = nothing\n", "views.h5:nothing"),
        ("FF_PREFIX = [\"flat0.h5\", \"flat1.h5\"]\n", "flat1.h5"),
    ] {
        let told = run(&folder, &format!("{keys}{flats}{more}"), &[]).expect_err(more);
        assert!(told.contains(word), "{more}: {told}");
    }
}

#[test]
fn what_is_not_to_be_had_is_refused_at_once() {
    let folder = scan("pyhst-refused");
    let told = run(
        &folder,
        "CONICITY = 1\nDZPERPROJ = 0.1\nNEW_KEY = 3\nBINNING = 1\nDXPERPROJ = 0.0\nBH_LUT_FILE = None\n",
        &[],
    );
    let told = told.expect_err("refused");
    assert!(["CONICITY = 1", "DZPERPROJ = 0.1", "NEW_KEY = 3"].iter().all(|key| told.contains(key)), "{told}");
    assert!(!["BINNING", "DXPERPROJ", "BH_LUT_FILE"].iter().any(|key| told.contains(key)), "{told}");
    for (more, word) in [
        ("FILE_INTERVAL = 2\n", "--angles"),
        ("TAKE_LOGARITHM = NO\n", "TAKE_LOGARITHM"),
        ("TAKE_LOGARITHM = PERHAPS\n", "PERHAPS"),
        ("TAKE_LOGARITHM = N.A.\n", "what projections are"),
        (
            "TAKE_LOGARITHM = NO\nCORRECT_FLATFIELD = NO\nSUBTRACT_BACKGROUND = NO\nDO_CCD_FILTER = YES\n",
            "outliers of line",
        ),
        ("NUM_LAST_IMAGE = 200\n", "bone_0091.edf is missing"),
        ("NUM_IMAGE_1 = 63\n", "NUM_IMAGE_1"),
        ("FF_NUM_LAST_IMAGE = 135\n", "refHST0135.edf is missing"),
        ("BACKGROUND_FILE = other.edf\n", "BACKGROUND_FILE"),
        ("START_VOXEL_3 = 0\n", "counted from 1"),
        ("END_VOXEL_3 = 1\n", "END_VOXEL_3 1"),
        ("ROTATION_AXIS_POSITION = middle\n", "middle"),
        ("DO_PAGANIN = 1\nPAGANIN_Lmicron = 0\n", "PAGANIN_Lmicron"),
        ("DO_PAGANIN = 1\nPAGANIN_Lmicron = 2\nPUS = 0.8\nPUC = 3\nUNSHARP_LOG = 1\n", "Laplacian"),
        ("MULTI_PAGANIN_PARS={}\nMULTI_PAGANIN_PARS[\"BONE_Lmicron\"]= 3\n", "several materials"),
        ("LENGTH_OF_NUMERICAL_PART = 1e8\n", "LENGTH_OF_NUMERICAL_PART"),
        ("FF_FILE_INTERVAL = 0\n", "FF_FILE_INTERVAL"),
        ("FBFILTER = 2\n", "FBFILTER"),
        ("RECONSTRUCT_FROM_SINOGRAMS = YES\n", "sinograms"),
    ] {
        let told = run(&folder, more, &[]).expect_err(more);
        assert!(told.contains(word), "{more}: {told}");
    }
    // Options stand in for keys.
    for (more, option) in [
        ("FBFILTER = 2\n", vec!["--filter", "hann"]),
        // Ends of rows are the filter's, and the file has them.
        ("ITERATIVE_CORRECTIONS = 50\n", vec!["--algorithm", "cgls", "--padding", "zero"]),
    ] {
        assert!(run(&folder, more, &[]).is_err(), "{more}");
        let (told, _) = run(&folder, more, &option).expect(more);
        assert!(told.contains(&format!("{} is given", option[0])), "{told}");
    }
    std::fs::write(folder.path("text.par"), "nothing\n").expect("a file");
    let output = isocenter(&folder, &["recon", "text.par"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("no parameter file"));
}

/// An axis along the rows of images, which the scan above has turned by the test.
#[test]
fn axis_along_rows() {
    let folder = scan("pyhst-turned");
    let turn = |image: &[u16]| (0..PLANE).map(|k| image[k % ROWS * BINS + k / ROWS]).collect::<Vec<_>>();
    let write = |name: &str, image: &[u16]| {
        let image = crate::files::bytes(&turn(image), 16, 1, false);
        crate::files::edf(&folder.path(name), &[image], [BINS, ROWS], "UnsignedShort", false, "");
    };
    for (k, angle) in half_turn(VIEWS).into_iter().enumerate() {
        write(&format!("bone_{k:04}.edf"), &projection(k, angle.to_radians()));
    }
    [0, 45, 90].into_iter().for_each(|position| write(&format!("refHST{position:04}.edf"), &flat(position)));
    write("dark.edf", &DARK);
    let sides = format!("NUM_IMAGE_1 = {ROWS}\nNUM_IMAGE_2 = {BINS}\nROTATION_VERTICAL = NO\n");
    let (told, seen) = run(&folder, &sides, &[]).expect("success");
    assert!(seen == volume(&folder, "whole.nx", &STEPS), "not the same to the bit");
    assert!(told.contains("-> --transpose"), "{told}");
    // The file's axis and rows are of the detector as it is.
    for (words, word) in [
        (["--bin", "2"], "a bin that --bin moves"),
        (["--bin=2", "--axis=15"], "rows that --bin moves"),
        (["--flip", "rows"], "rows that --flip moves"),
        (["--crop-bins=4..60", "--rows=1..4"], "a bin that --crop-bins moves"),
    ] {
        let told = run(&folder, &sides, &words).expect_err("refused");
        assert!(told.contains(word), "{words:?}: {told}");
    }
    run(&folder, &format!("{sides}BINNING = 2\n"), &["--bin", "2", "--axis", "15.1", "--rows", "0..2"])
        .expect("success");
}
