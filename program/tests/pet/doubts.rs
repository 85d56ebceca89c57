//! What is told.

use crate::folder::Folder;
use crate::scans::nifti;
use crate::writer::{self, Block, Event, Exam, Scanner};
use crate::{done, event, events, run, text};
use std::path::Path;

/// A ring of 10 blocks, whose crystals 0 and 60 are opposite.
pub fn small() -> Scanner {
    let edges = (-10..=10).map(|k| k as f32 * 6.0).collect();
    Scanner::blocks(10, [4, 3], 6.0, 120.0, edges)
}

/// Lines through the middle, of all blocks.
pub fn through(count: usize) -> Vec<Event> {
    let event = |k: usize| {
        let (block, element) = (k % 5, k / 5 % 12);
        [((block + 5) * 12 + element) as u32, (block * 12 + element) as u32, 8 + (k / 60 % 5) as u32]
    };
    (0..count).map(event).collect()
}

pub fn block(start: u32, prompts: usize, delays: usize) -> Block {
    Block { time: [start, start + 1000], prompts: through(prompts), delays: through(delays) }
}

pub fn write(path: &Path, scanner: &Scanner, exam: Option<&Exam>, blocks: &[Block]) {
    std::fs::write(path, [writer::header(scanner, exam), writer::blocks(blocks)].concat()).expect("a file");
}

/// Words for little work.
pub const QUICK: [&str; 10] =
    ["--algorithm", "osem", "--iterations", "1", "--azimuths", "10", "--tilts", "1", "--tof-fwhm", "250"];

fn f18() -> Exam {
    Exam { nuclide: "F-18".into(), ..Exam::default() }
}

#[test]
fn a_file_alone_is_told() {
    let folder = Folder::new("pet-told");
    let list = folder.path("a list.petsird");
    let exam =
        Exam { nuclide: "Fluorine-18".into(), position: ["feet-first".into(), "recumbent".into(), "prone".into()] };
    write(&list, &small(), Some(&exam), &[block(0, 100, 10)]);
    let output = run(&[text(&list)]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "a list.petsird: 10 blocks, 120 crystals of 6 x 6 mm, 20 time bins of -400.3 to 400.3 ps, no efficiencies, isotope F-18, patient FFP, PETSIRD of a version \
         that is not known\n"
    );
    let all = events(&[text(&list)]);
    let about = event(&all, "petsird");
    assert_eq!((about["crystals"].as_u64(), about["position"].as_str()), (Some(120), Some("FFP")));
    assert_eq!(about["energy_window"], serde_json::json!([435.0, 585.0]));
    assert!(all.iter().all(|one| one["event"] != "image"));
}

#[test]
fn doubts_are_told() {
    let folder = Folder::new("pet-doubts");
    let [list, map, out] = ["scan.petsird", "map.nii", "image.nii.gz"].map(|name| folder.path(name));
    let words = |more: &[&str]| {
        let base = [text(&list), "-o", text(&out)];
        done(&[&base[..], &QUICK, more].concat())
    };
    let exam =
        |nuclide: &str, position: [&str; 3]| Exam { nuclide: nuclide.into(), position: position.map(String::from) };
    let mut strange = small();
    (strange.calibration, strange.energies, strange.energy_resolution) = (1.5, vec![0.4, 0.6], 11.0);
    strange.alignment = Some([[1.0, 0.0, 0.0, 5.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -3.0]]);
    let blocks = [block(0, 3000, 200), block(1000, 3000, 200)];
    write(&list, &strange, Some(&exam("Cu-60", ["headfirst", "", "standing"])), &blocks);
    let told = words(&["--position", "HFP"]);
    for word in [
        "no efficiencies of its crystals",
        "no map of attenuation",
        "Cu-60 sends other photons",
        "calibration factor, 1.5, is not used",
        "energy window, 0.4 to 0.6 keV",
        "energy resolution, 11 of 511 keV",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(!told.contains("isoc_") && !told.contains("options."), "{told}");
    let page = std::fs::read_to_string(folder.path("image.html")).expect("a report");
    for word in [
        "energy window, 0.4 to 0.6 keV",
        "map and image are shifted by 5, 0, -3 mm",
        "data:image/png",
        "6,000",
        "isocenter pet ",
    ] {
        assert!(page.contains(word), "{word}: {page}");
    }
    let told = words(&[]);
    assert!(told.contains("lies headfirst, standing, which is none of HFS"), "{told}");
    // Bins from 1, one that there is not among them; and what is dropped.
    let mut from_one = [block(0, 3000, 200)];
    from_one[0].prompts.iter_mut().for_each(|[a, b, _]| (*a, *b) = (*a + 1, *b + 1));
    from_one[0].delays.iter_mut().for_each(|[a, b, _]| (*a, *b) = (*a + 1, *b + 1));
    write(&list, &small(), None, &from_one);
    let told = words(&[]);
    assert!(told.contains("counted from 1") && told.contains("have number 120, which there is not"), "{told}");
    assert!(told.contains("does not name its isotope, which is taken to be F-18: give --isotope"), "{told}");
    // Frames within blocks, without blocks, without counts; overlaps.
    let blocks = [block(0, 3000, 200), block(500, 0, 0), block(5000, 3000, 200)];
    write(&list, &small(), Some(&f18()), &blocks);
    let told = words(&["--frame", "0", "0.3", "--frame", "0.4", "0.6", "--frame", "2", "3", "--frame", "4.9", "7"]);
    for word in [
        "frame 0, 0 to 0.3 s, has the events from 0 to 1 s",
        "there are no prompts in frame 1: its image is 0",
        "no block of events begins in frame 2: its image is NaN",
        "1 blocks of events begin before",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    // Dead times that do not cover the events, and given ones.
    let dead = writer::dead_time([0, 500], &[0.9; 120]);
    let bytes = [writer::header(&small(), Some(&f18())), dead, writer::blocks(&[block(0, 3000, 0)])].concat();
    std::fs::write(&list, bytes).expect("a file");
    let told = words(&["--no-randoms"]);
    assert!(told.contains("blocks of dead time cover 0.5 of 1 s of events"), "{told}");
    let told = words(&["--no-randoms", "--live", "0.9"]);
    assert!(told.contains("--live is given, 0.9: the file's dead times are not used"), "{told}");
    // Pairs of modules that are not in coincidence.
    let mut parted = small();
    parted.groups = (0..10).map(|m| (0..=m).map(|n| if m - n == 5 && n > 0 { 0 } else { -1 }).collect()).collect();
    write(&list, &parted, Some(&f18()), &[block(0, 3000, 200)]);
    let told = words(&[]);
    assert!(
        told.contains("600 of 3000 prompts are of pairs of crystals that the file says are not measured"),
        "{told}"
    );
    // Maps in other units, and with rounding.
    write(&list, &small(), Some(&f18()), &[block(0, 3000, 200)]);
    let foam: Vec<f32> = (0..8000).map(|k| if k == 7 { -1e-9 } else { 0.025 }).collect();
    nifti(&map, &foam, [20; 3], 4.0, "");
    let told = words(&["--attenuation", text(&map), "--scatter", "0"]);
    assert!(told.contains("above 0.02 /mm, more than bone has, in 100 %"), "{told}");
    assert!(told.contains("has 1 values below 0, -1e-09 at least"), "{told}");
    // What is given goes before the file.
    let npy = folder.path("efficiencies.npy");
    let header = format!("{:<118}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (120,), }");
    let half = [0.5f32.to_le_bytes(); 120].concat();
    std::fs::write(&npy, [b"\x93NUMPY\x01\0\x77\0", header.as_bytes(), &half].concat()).expect("a file");
    let settings = ["--efficiencies", text(&npy), "--energy-window", "400", "600", "--energy-resolution", "0.15"];
    let all = events(&[&[text(&list), "-o", text(&out)][..], &QUICK, &settings].concat());
    let made = &event(&all, "image")["settings"];
    assert_eq!(
        (made["efficiencies"].as_str(), made["energy window"].as_str()),
        (Some("as given"), Some("400 to 600 keV, resolution 0.15"))
    );
    let said = |word: &str| all.iter().filter_map(|one| one["text"].as_str()).any(|text| text.contains(word));
    assert!(!said("no efficiencies"));
}
