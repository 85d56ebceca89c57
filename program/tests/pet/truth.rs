//! Activity against what was simulated.

use crate::folder::Folder;
use crate::scans::{SHAPE, Simulated, VOXEL, along, nifti, npy};
use crate::writer::{Exam, turned};
use crate::{done, event, events, text};

/// Words for the lattice and views of the simulation.
pub const WORDS: [&str; 8] = ["--voxel", "6", "--azimuths", "12", "--tilts", "3", "--max-tilt", "0.3"];

/// Of voxels of the simulation, by x, y and z in mm: all, those about the hot cylinder, and the half of the warm one that is away from it. They reach beyond edges, which are blurred.
const REGIONS: [fn([f64; 3]) -> bool; 3] =
    [|_| true, |[x, y, _]| (x - 35.0).hypot(y + 10.0) < 30.0, |[x, y, _]| x * 35.0 - y * 10.0 < 0.0];

/// Means of the image over those of the truth.
pub fn means(image: &[f32], truth: &[f32]) -> [f64; 3] {
    let [nz, ny, nx] = SHAPE;
    let place = |k: usize| {
        let at = [(k % nx, nx), (k / nx % ny, ny), (k / (nx * ny), nz)];
        at.map(|(j, n)| (j as f64 - (n as f64 - 1.0) / 2.0) * VOXEL)
    };
    REGIONS.map(|is_of| {
        let of =
            |values: &[f32]| (0..truth.len()).filter(|k| is_of(place(*k))).map(|k| f64::from(values[k])).sum::<f64>();
        of(image) / of(truth)
    })
}

/// One simulation, by two algorithms, in blocks of several lengths; in frames; and along another axis.
#[test]
fn activity_is_right() {
    let folder = Folder::new("pet-truth");
    let [list, map, out] = ["scan.petsird", "map.nii", "image.npy"].map(|name| folder.path(name));
    let scan = Simulated::new(900_000);
    let exam = Exam { nuclide: "^18^Fluorine".into(), position: ["headfirst".into(), String::new(), "supine".into()] };
    scan.write(&list, 7, Some(&exam));
    nifti(&map, &scan.map, SHAPE, VOXEL as f32, "1/mm");
    let base = [text(&list), "--attenuation", text(&map), "-o", text(&out)];
    let base = [&base[..], &WORDS].concat();

    // Of 300,000 trues in the lattice a third are about the hot cylinder, and as many in the other half: their sums deviate by 0.3 % and, after iterations, some times that. Scatter's tails,
    // of 500 counts, say its scale to 4 %: a hundredth of all.
    let all = events(&[&base[..], &["--iterations", "12"]].concat());
    let (_, image) = npy(&out);
    let found = means(&image, &scan.truth);
    assert!(found.iter().all(|mean| (mean - 1.0).abs() < 0.02), "{found:?}");
    let made = event(&all, "image");
    let frame = &made["frames"][0];
    let number = |name: &str| frame[name].as_f64().unwrap_or_else(|| panic!("{name}: {frame}"));
    assert_eq!(number("prompts") as usize, scan.prompts.len());
    assert_eq!(number("delays") as usize, scan.delays.len());
    let dropped: f64 =
        frame["dropped"].as_object().expect("causes").values().filter_map(serde_json::Value::as_f64).sum();
    assert_eq!(number("prompts"), number("counted") + dropped);
    assert_eq!((made["isotope"].as_str(), made["position"].as_str()), (Some("F-18"), Some("HFS")));
    // Of those that are sent: the field of view takes as many as of prompts.
    assert!((number("randoms") / number("counted") - 0.1).abs() < 0.05, "{frame}");
    assert!(frame["passes"].as_array().is_some_and(|passes| passes.len() <= 12));
    assert!(folder.path("image.html").exists());

    // The same counts in two frames, whose images are of the activity at the start of the scan.
    let frames = ["--frame", "0", "240", "--frame", "240", "600", "--algorithm", "osem"];
    scan.write(&list, 5, Some(&exam));
    let all = events(&[&base[..], &frames].concat());
    let (header, image) = npy(&out);
    assert!(header.contains("(2, 15, 34, 34)"), "{header}");
    let voxels: usize = SHAPE.iter().product();
    for (frame, image) in event(&all, "image")["frames"].as_array().expect("frames").iter().zip(image.chunks(voxels)) {
        let [total, ..] = means(image, &scan.truth);
        // Scatter is not scaled by so few counts of tails.
        assert!((total - 1.0).abs() < 0.03, "{total} {frame}");
    }

    // Along y of the file: z, y and x of the image are others, and the map is in the file's frame.
    let [nz, ny, nx] = SHAPE;
    let axes = turned([[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]], 2);
    // Which of the scanner's axes the file's are.
    let order = axes.map(|row| row.iter().sum::<f32>() as usize - 1);
    assert_eq!(order, [1, 2, 0]);
    let sides = order.map(|axis| [nx, ny, nz][axis]);
    let steps = order.map(|axis| [1, nx, nx * ny][axis]);
    let at =
        |k: usize| k % sides[0] * steps[0] + k / sides[0] % sides[1] * steps[1] + k / (sides[0] * sides[1]) * steps[2];
    let moved: Vec<_> = (0..scan.map.len()).map(|k| scan.map[at(k)]).collect();
    let other = Simulated { scanner: along(scan.scanner.clone(), 2), ..scan };
    other.write(&list, 3, Some(&exam));
    nifti(&map, &moved, [sides[2], sides[1], sides[0]], VOXEL as f32, "1/mm");
    let told = done(&[&base[..], &["--algorithm", "osem", "--scatter", "2"]].concat());
    assert!(told.contains("the scanner's axis is y of the file"), "{told}");
    let (header, image) = npy(&out);
    assert!(header.contains(&format!("({}, {}, {})", sides[2], sides[1], sides[0])), "{header}");
    let mut back = vec![0.0; image.len()];
    image.iter().enumerate().for_each(|(k, v)| back[at(k)] = *v);
    let found = means(&back, &other.truth);
    assert!(found.iter().all(|mean| (mean - 1.0).abs() < 0.03), "{found:?}");
}
