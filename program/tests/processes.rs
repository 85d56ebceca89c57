//! Runs of several processes, and runs that were killed: the same volume to the bit.

mod folder;

use folder::Folder;
use hdf5_metno::File;
use std::path::Path;
use std::process::{Child, Command, Output};

const VIEWS: usize = 60;
const ROWS: usize = 27;
/// Rows of scans that take some time: blocks of 128 and less.
const MANY: usize = 400;
const BINS: usize = 64;

/// A scan of a rod in each row, with flats and darks; in chunks that processes have to share, or in one piece.
fn scan(path: &Path, rows: usize, chunk: Option<[usize; 3]>) {
    let frame = |level: f64, view: usize| {
        let angle = std::f64::consts::PI * view as f64 / VIEWS as f64;
        (0..rows * BINS).map(move |k| {
            let (row, bin) = ((k / BINS) as f64, (k % BINS) as f64);
            let s = bin - 30.5 - 9.0 * (angle + row).cos();
            (level * (-0.7 * (-s * s / 30.0).exp()).exp()) as u16 + (k * 7 + view) as u16 % 5
        })
    };
    let exchange = File::create(path).expect("a file").create_group("exchange").expect("a group");
    let write = |name: &str, frames: Vec<u16>| {
        let builder = exchange.new_dataset::<u16>();
        let builder = match chunk {
            Some(chunk) => builder.chunk(chunk).shuffle().deflate(1),
            None => builder,
        };
        let dataset = builder.shape([frames.len() / (rows * BINS), rows, BINS]).create(name).expect("a dataset");
        dataset.write_raw(&frames).expect("frames");
    };
    write("data", (0..VIEWS).flat_map(|view| frame(9000.0, view)).collect());
    write("data_white", (0..3).flat_map(|k| (0..rows * BINS).map(move |i| 9000 + ((i + k) % 7) as u16)).collect());
    write("data_dark", vec![2; 2 * rows * BINS]);
}

/// A plan of blocks of 4 slices.
fn plan(folder: &Folder, scan: &str, output: &str, rows: usize) {
    let text = format!("scan = \"{scan}\"\noutput = \"{output}\"\naxis = 30.5\nrows = [0, {rows}]\nblock = 4\n");
    std::fs::write(folder.path("plan.toml"), text).expect("a plan");
}

/// So little memory that slabs are small, and that decoded frames of many rows go into a file.
const REPEAT: [&str; 8] = ["repeat", "plan.toml", "--device", "cpu", "--threads", "1", "--memory", "4M"];

fn run(folder: &Folder, program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).current_dir(&folder.0).output().expect("the command runs")
}

const ISOCENTER: &str = env!("CARGO_BIN_EXE_isocenter");

fn succeeds(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fails(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn volume(folder: &Folder, name: &str) -> Vec<u32> {
    let data = File::open(folder.path(name)).and_then(|file| file.dataset("entry/reconstruction/data"));
    let values = data.and_then(|data| data.read_raw::<f32>()).expect("a volume");
    values.into_iter().map(f32::to_bits).collect()
}

/// What a run in one process makes, in one stream.
fn undisturbed(folder: &Folder, scan: &str, rows: usize) -> Vec<u32> {
    plan(folder, scan, "undisturbed.h5", rows);
    succeeds(&run(folder, ISOCENTER, &["repeat", "plan.toml", "--device", "cpu"]));
    volume(folder, "undisturbed.h5")
}

/// Pictures of a report: a slice, what lies across it, and the sinogram.
fn pictures(folder: &Folder, output: &str) -> Vec<String> {
    let page = std::fs::read_to_string(folder.path(output).with_extension("html")).expect("a report");
    assert!(!page.contains("are missing here"), "{output}");
    page.split("src=\"data:").skip(1).map(|rest| rest.split('"').next().unwrap_or_default().to_owned()).collect()
}

/// Nothing is left but the volume, its plan and its report.
fn tidy(folder: &Folder) {
    for entry in std::fs::read_dir(&folder.0).expect("a folder") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(!name.contains("unfinished"), "{name}");
    }
}

/// Blocks that the journals of a volume tell of.
fn noted(folder: &Folder, output: &str) -> usize {
    let journal = format!("{output}.unfinished.journal");
    let names =
        std::fs::read_dir(&folder.0).expect("a folder").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let own = names.filter(|name| name.starts_with(&journal));
    own.map(|name| std::fs::read_to_string(folder.path(&name)).map_or(0, |text| text.matches("block").count())).sum()
}

/// Waits until some blocks are on disk, or the run is over.
fn at_work(folder: &Folder, output: &str, run: &mut Child) {
    while noted(folder, output) < 3 && run.try_wait().expect("a child").is_none() {
        std::thread::yield_now();
    }
}

/// Kills a run between its blocks and tells how many are on disk. On a busy machine the signal may come when all is done: then it is another run's turn.
fn killed_amid(folder: &Folder, output: &str, start: impl Fn() -> Command, kill: impl Fn(&mut Child)) -> usize {
    for _ in 0..20 {
        let mut run = start().spawn().expect("the command runs");
        at_work(folder, output, &mut run);
        kill(&mut run);
        let killed = !run.wait().expect("a child").success();
        let before = noted(folder, output);
        if killed && (3..MANY / 4).contains(&before) {
            assert!(!folder.path(output).exists());
            return before;
        }
        for entry in std::fs::read_dir(&folder.0).expect("a folder") {
            let entry = entry.expect("an entry");
            if entry.file_name().to_string_lossy().starts_with(output.trim_end_matches("h5")) {
                std::fs::remove_file(entry.path()).expect("removed");
            }
        }
    }
    panic!("twenty runs were over before they were killed");
}

/// A run that was killed goes on behind the blocks that are on disk.
#[test]
fn a_killed_run_goes_on() {
    let folder = Folder::new("killed");
    scan(&folder.path("scan.h5"), MANY, Some([2, 9, BINS]));
    let expected = undisturbed(&folder, "scan.h5", MANY);
    plan(&folder, "scan.h5", "killed.h5", MANY);
    let start = || {
        let mut command = Command::new(ISOCENTER);
        command.args(REPEAT).current_dir(&folder.0);
        command
    };
    let before = killed_amid(&folder, "killed.h5", start, |run| {
        let _ = run.kill();
    });
    // Another plan does not mix with it.
    let other = ["recon", "scan.h5", "-o", "killed.h5", "--axis", "30", "--device", "cpu"];
    let error = fails(&run(&folder, ISOCENTER, &other));
    assert!(error.contains("another plan"), "{error}");
    assert!(!folder.path("killed.toml").exists(), "the plan of a refused run");
    let told = succeeds(&run(&folder, ISOCENTER, &REPEAT));
    assert!(told.contains(&format!("going on: {before} blocks")), "{told}");
    assert!(volume(&folder, "killed.h5") == expected);
    // Slices of both runs are in the report's pictures.
    let seen = pictures(&folder, "killed.h5");
    assert!(seen.len() == 4 && seen == pictures(&folder, "undisturbed.h5"));
    tidy(&folder);
}

/// A run by iterations goes on as any other; its report tells of which slices the objective is. What was kept for the pictures may be gone, too.
#[test]
fn iterations_go_on() {
    let folder = Folder::new("iterations-go-on");
    scan(&folder.path("scan.h5"), ROWS, None);
    let words =
        ["recon", "scan.h5", "--axis", "30.5", "--device", "cpu", "--algorithm", "sirt", "--iterations", "3", "-o"];
    let begin = [words.as_slice(), &["parts.h5", "--begin", "2"]].concat();
    succeeds(&run(&folder, ISOCENTER, &begin));
    let text = std::fs::read_to_string(folder.path("parts.toml")).expect("a plan");
    assert!(text.contains("algorithm = \"sirt\"") && text.contains("block = 8"), "{text}");
    succeeds(&run(&folder, ISOCENTER, &["repeat", "parts.toml", "--device", "cpu", "--part", "1/2"]));
    let planes = folder.path("parts.h5.unfinished.planes");
    assert!(planes.exists());
    let kept = std::fs::read(&planes).expect("planes");
    std::fs::remove_file(&planes).expect("removed");
    succeeds(&run(&folder, ISOCENTER, &["repeat", "parts.toml", "--device", "cpu", "--part", "2/2"]));
    let plan = text.replace("parts.h5", "whole.h5");
    std::fs::write(folder.path("plan.toml"), plan).expect("a plan");
    succeeds(&run(&folder, ISOCENTER, &["repeat", "plan.toml", "--device", "cpu"]));
    assert!(volume(&folder, "parts.h5") == volume(&folder, "whole.h5"));
    let page = std::fs::read_to_string(folder.path("parts.html")).expect("a report");
    // Of 27 slices in blocks of 8 the first part has 16.
    for word in ["; of 11 of 27 slices", "16 slices, of a run before, are missing here, not in the volume"] {
        assert!(page.contains(word), "{word}");
    }
    tidy(&folder);
    // With them all are in the pictures.
    succeeds(&run(&folder, ISOCENTER, &begin));
    succeeds(&run(&folder, ISOCENTER, &["repeat", "parts.toml", "--device", "cpu", "--part", "1/2"]));
    assert!(std::fs::read(&planes).expect("planes") == kept);
    succeeds(&run(&folder, ISOCENTER, &["repeat", "parts.toml", "--device", "cpu", "--part", "2/2"]));
    assert!(pictures(&folder, "parts.h5") == pictures(&folder, "whole.h5"));
}

/// What a run has found before it ended is not searched again by the one that goes on with it, unless another thing was wanted.
#[test]
fn what_was_found_stays() {
    let folder = Folder::new("found");
    scan(&folder.path("scan.h5"), ROWS, None);
    let find = ["recon", "scan.h5", "-o", "found.h5", "--depth", "u16", "--device", "cpu"];
    let told = succeeds(&run(&folder, ISOCENTER, &[find.as_slice(), &["--begin"]].concat()));
    assert!(told.contains(" +- ") && told.contains("window"), "{told}");
    let plan = std::fs::read(folder.path("found.toml")).expect("a plan");
    let told = succeeds(&run(&folder, ISOCENTER, &find));
    assert!(told.contains("as the run has it") && !told.contains("window"), "{told}");
    assert!(std::fs::read(folder.path("found.toml")).expect("a plan") == plan);
    // It is over, and so is found again; another percentile is another plan.
    succeeds(&run(&folder, ISOCENTER, &[find.as_slice(), &["--begin"]].concat()));
    let told = succeeds(&run(&folder, ISOCENTER, &[find.as_slice(), &["--percentiles", "1", "99"]].concat()));
    assert!(told.contains(" +- ") && told.contains("window"), "{told}");
}

/// Parts of a volume, each by a process that knows nothing of the others; the last that is done finishes it.
#[test]
fn parts_make_a_volume() {
    let folder = Folder::new("parts");
    scan(&folder.path("scan.h5"), MANY, None);
    let expected = undisturbed(&folder, "scan.h5", MANY);
    let begin = ["recon", "scan.h5", "-o", "parts.h5", "--axis", "30.5", "--device", "cpu", "--begin"];
    succeeds(&run(&folder, ISOCENTER, &begin));
    let part = |plan, part| run(&folder, ISOCENTER, &["repeat", plan, "--device", "cpu", "--part", part]);
    for (plan, which, word) in [
        ("plan.toml", "1/3", "undisturbed.h5.unfinished has not begun"),
        ("parts.toml", "0/3", "1/8 to 8/8"),
        ("parts.toml", "4/3", "1/8 to 8/8"),
        ("edited.toml", "1/3", "another plan"),
    ] {
        let text = std::fs::read_to_string(folder.path("parts.toml")).expect("a plan");
        std::fs::write(folder.path("edited.toml"), text.replace("axis = 30.5", "axis = 30")).expect("a plan");
        let error = fails(&part(plan, which));
        assert!(error.contains(word), "{error}");
    }
    for which in ["3/3", "1/3", "2/3"] {
        assert!(!folder.path("parts.h5").exists());
        succeeds(&part("parts.toml", which));
    }
    assert!(volume(&folder, "parts.h5") == expected);
    tidy(&folder);
}

#[cfg(feature = "mpi")]
mod mpi {
    use super::*;

    /// Under mpirun, of which OpenMPI asks to be allowed what machines of tests are.
    fn mpirun(folder: &Folder, processes: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var("MPIRUN").unwrap_or("mpirun".into()));
        for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
            command.env(name, "1");
        }
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        command.args(["-n", &processes.to_string(), ISOCENTER]).args(arguments).current_dir(&folder.0);
        command
    }

    fn runs(folder: &Folder, processes: usize, arguments: &[&str]) -> Output {
        mpirun(folder, processes, arguments).output().expect("mpirun runs")
    }

    /// Seven blocks, by one process and by more than there are blocks; of frames as they are, and of such that are decoded between them.
    #[test]
    fn any_number_of_processes_makes_the_same() {
        let folder = Folder::new("ranks");
        for chunk in [None, Some([2, 9, BINS])] {
            scan(&folder.path("scan.h5"), ROWS, chunk);
            let expected = undisturbed(&folder, "scan.h5", ROWS);
            for processes in [1, 2, 3, 7, 9] {
                plan(&folder, "scan.h5", "ranks.h5", ROWS);
                succeeds(&runs(&folder, processes, &REPEAT));
                assert!(volume(&folder, "ranks.h5") == expected, "{processes} processes");
                assert!(pictures(&folder, "ranks.h5") == pictures(&folder, "undisturbed.h5"), "{processes} processes");
                std::fs::remove_file(folder.path("ranks.h5")).expect("removed");
                tidy(&folder);
            }
        }
    }

    /// By iterations, and a region of slices; the objective is the sum over all processes.
    #[test]
    fn iterations_of_many_processes() {
        let folder = Folder::new("ranks-iterations");
        scan(&folder.path("scan.h5"), ROWS, None);
        let words = "recon scan.h5 --axis 30.5 --device cpu --columns 5..50 --algorithm total-variation --minimum 0 --iterations 40 -o";
        let with = |output| words.split(' ').chain([output]).collect::<Vec<_>>();
        let told = succeeds(&runs(&folder, 3, &with("three.h5")));
        assert_eq!(told.matches("regularisation ").count(), 1, "{told}");
        // The same plan by one process: blocks of eight slices, and one of three.
        let plan = std::fs::read_to_string(folder.path("three.toml")).expect("a plan");
        assert!(plan.contains("block = 8"), "{plan}");
        std::fs::write(folder.path("plan.toml"), plan.replace("three.h5", "one.h5")).expect("a plan");
        succeeds(&run(&folder, ISOCENTER, &["repeat", "plan.toml", "--device", "cpu"]));
        assert!(volume(&folder, "one.h5") == volume(&folder, "three.h5"));
        assert!(pictures(&folder, "one.h5") == pictures(&folder, "three.h5"));
        let objective = |name: &str| {
            let page = std::fs::read_to_string(folder.path(name)).expect("a report");
            assert!(!page.contains("by other runs"));
            let caption = page.split("summed over slices: ").nth(1).expect("a caption").to_owned();
            caption.split(" at iteration 40").next().and_then(|number| number.parse::<f64>().ok()).expect("a number")
        };
        // Four digits are told, of sums in another order.
        let [one, three] = ["one.html", "three.html"].map(objective);
        assert!((one - three).abs() <= 1.1e-3 * one, "{one} {three}");
        // All slices together are one process' work, and the volume is the same.
        let volume_of = |output, more: &[&'static str]| [with(output), more.to_vec()].concat();
        succeeds(&run(&folder, ISOCENTER, &volume_of("one.h5", &["--variation", "volume"])));
        let output = runs(&folder, 2, &volume_of("two.h5", &["--variation", "volume"]));
        succeeds(&output);
        assert!(String::from_utf8_lossy(&output.stderr).contains("one of 2 processes does it"));
        assert!(volume(&folder, "one.h5") == volume(&folder, "two.h5"));
        tidy(&folder);
    }

    /// Axis and window are found once, for all.
    #[test]
    fn what_is_found_is_told() {
        let folder = Folder::new("told");
        scan(&folder.path("scan.h5"), ROWS, Some([2, 9, BINS]));
        let stored = |name: &str| {
            let data = File::open(folder.path(name)).and_then(|file| file.dataset("entry/reconstruction/data"));
            data.and_then(|data| data.read_raw::<u16>()).expect("a volume")
        };
        let find = |output| ["recon", "scan.h5", "-o", output, "--depth", "u16", "--device", "cpu"];
        succeeds(&run(&folder, ISOCENTER, &find("one.h5")));
        let told = succeeds(&runs(&folder, 3, &find("three.h5")));
        assert_eq!(told.matches(" +- ").count(), 1, "{told}");
        assert_eq!(told.matches("\nwindow ").count(), 1, "{told}");
        assert!(stored("one.h5") == stored("three.h5"));
    }

    /// One of three processes is killed: all end, and two go on with what is on disk.
    #[test]
    fn a_killed_process_ends_all() {
        let folder = Folder::new("lost");
        scan(&folder.path("scan.h5"), MANY, Some([2, 9, BINS]));
        let expected = undisturbed(&folder, "scan.h5", MANY);
        plan(&folder, "scan.h5", "lost.h5", MANY);
        let name = std::fs::canonicalize(ISOCENTER).expect("a program");
        let ours = |process: &Path| {
            let folder_of = std::fs::read_link(process.join("cwd")).ok();
            let own = std::fs::read_link(process.join("exe")).ok();
            own.is_some_and(|exe| exe == name) && folder_of == std::fs::canonicalize(&folder.0).ok()
        };
        let start = || {
            let mut command = mpirun(&folder, 3, &REPEAT);
            command.stderr(std::process::Stdio::null());
            command
        };
        let before = killed_amid(&folder, "lost.h5", start, |_| {
            let processes = std::fs::read_dir("/proc").expect("processes").filter_map(|entry| Some(entry.ok()?.path()));
            let last = processes.filter(|process| ours(process)).max();
            if let Some(last) = last.as_ref().and_then(|process| process.file_name()) {
                let _ = Command::new("kill").arg("-9").arg(last).status().expect("kill runs");
            }
        });
        let told = succeeds(&runs(&folder, 2, &REPEAT));
        assert!(told.contains(&format!("going on: {before} blocks")), "{told}");
        assert!(volume(&folder, "lost.h5") == expected);
        tidy(&folder);
    }

    /// What one process meets ends all, with its message.
    #[test]
    fn an_error_ends_all() {
        let folder = Folder::new("torn");
        scan(&folder.path("scan.h5"), ROWS, Some([2, 9, BINS]));
        // A chunk near the end of the projections, which the last process decodes.
        let data =
            File::open(folder.path("scan.h5")).and_then(|file| file.dataset("exchange/data")).expect("a dataset");
        let chunk = data.chunk_info(data.num_chunks().expect("chunks") - 1).expect("a chunk");
        let mut bytes = std::fs::read(folder.path("scan.h5")).expect("a file");
        bytes[chunk.addr as usize..][..chunk.size as usize].fill(0xff);
        std::fs::write(folder.path("scan.h5"), bytes).expect("a file");
        plan(&folder, "scan.h5", "torn.h5", ROWS);
        let output = runs(&folder, 3, &REPEAT);
        let error = fails(&output);
        assert!(error.contains("process 2 of 3") && error.contains("exchange/data"), "{error}");
        let other = ["recon", "none.h5"];
        let error = fails(&runs(&folder, 2, &other));
        assert!(error.contains("none.h5"), "{error}");
    }
}
