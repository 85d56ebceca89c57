//! Scans that are cut into frames, gates and places of a patient who moves; those along lines, and compressed ones.

use crate::folder::Folder;
use crate::scans::{SECONDS, SHAPE, Simulated, VOXEL, nifti, npy};
use crate::truth::{WORDS, means};
use crate::writer::{Exam, Scanner};
use crate::{done, event, events, text};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

const BLOCKS: usize = 20;

/// x, y and z of the middle of an image, voxels.
fn middle(image: &[f32]) -> [f64; 3] {
    let [_, ny, nx] = SHAPE;
    let mut sums = [0.0; 4];
    for (k, v) in image.iter().enumerate() {
        let place = [1, k % nx, k / nx % ny, k / (nx * ny)];
        sums.iter_mut().zip(place).for_each(|(sum, at)| *sum += f64::from(*v) * at as f64);
    }
    [1, 2, 3].map(|k| sums[k] / sums[0])
}

fn total(image: &[f32]) -> f64 {
    image.iter().map(|v| f64::from(*v)).sum()
}

#[test]
fn time_is_cut() {
    let folder = Folder::new("pet-cut");
    let [list, out, rows, packed] =
        ["scan.petsird", "image.npy", "rows.txt", "scan.petsird.gz"].map(|name| folder.path(name));
    let scan = Simulated::new(200_000);
    let exam = Exam { nuclide: "F-18".into(), ..Exam::default() };
    scan.write(&list, BLOCKS, Some(&exam));
    let words = ["-o", text(&out), "--algorithm", "osem", "--no-randoms"];
    let run = |file: &str, more: &[&str]| {
        let all = events(&[&[file][..], &words, &WORDS, more].concat());
        let made = event(&all, "image").clone();
        (made, npy(&out).1)
    };
    let plain = text(&list);
    let (made, whole) = run(plain, &[]);
    let counted = made["frames"][0]["counted"].as_u64();

    let mut packing = GzEncoder::new(Vec::new(), Compression::fast());
    packing.write_all(&std::fs::read(&list).expect("a file")).expect("packed");
    std::fs::write(&packed, packing.finish().expect("packed")).expect("a file");
    assert!(run(text(&packed), &[]).1 == whole, "compressed");

    let (made, frames) = run(plain, &["--frame", "0", "240", "--frame", "240", "600"]);
    let (same, others) = run(plain, &["--frames", "240,360"]);
    assert!(frames == others && made["frames"][1]["start"] == 240.0);
    std::fs::write(&rows, "start, end\n0, 240\n240, 600\n").expect("a file");
    assert!(run(plain, &["--frames", text(&rows)]).1 == frames);
    // The decay of the frames is corrected: both have the activity at the start.
    let decays: Vec<_> = (0..2).map(|k| same["frames"][k]["decay"].as_f64().expect("a number")).collect();
    assert!(1.0 < decays[0] && decays[0] < decays[1], "{decays:?}");
    let beside: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path("image.json")).expect("a file")).expect("JSON");
    assert_eq!(beside["FrameTimesStart"], serde_json::json!([0.0, 240.0]));
    assert_eq!(beside["FrameDuration"], serde_json::json!([240.0, 360.0]));
    assert_eq!(beside["TracerRadionuclide"], "F18");

    // Two gates that have every other block.
    let step = SECONDS / BLOCKS as f64;
    let times: String =
        (0..BLOCKS).map(|k| format!("{} {} {}\n", step * k as f64, step * (k + 1) as f64, k % 2 + 1)).collect();
    std::fs::write(&rows, times).expect("a file");
    let (made, gates) = run(plain, &["--gates", text(&rows)]);
    let of = |k: usize| &made["frames"][k];
    assert_eq!((of(0)["name"].as_str(), of(1)["name"].as_str()), (Some("gate 1"), Some("gate 2")));
    assert!((0..2).all(|k| of(k)["duration"] == SECONDS / 2.0));
    let sum = of(0)["counted"].as_u64().zip(of(1)["counted"].as_u64()).map(|(a, b)| a + b);
    // Where events have their places on crystals goes by their numbers, which are the same.
    assert_eq!(sum, counted);
    for gate in gates.chunks(whole.len()) {
        // 60,000 counts of each gate, of which chance leaves 0.4 %, and iterations more.
        assert!((total(gate) / total(&whole) - 1.0).abs() < 0.02, "{} {}", total(gate), total(&whole));
    }
    let triggers: String = (0..=BLOCKS / 2).map(|k| format!("{}\n", 2.0 * step * k as f64)).collect();
    std::fs::write(&rows, triggers).expect("a file");
    assert!(run(plain, &["--gates", text(&rows), "--gate-count", "2"]).1 == gates, "triggers");

    // A place that does not move it, given twice, is one part, and the image as it was but for rounding.
    std::fs::write(&rows, "0 0 0 0 0 0 0\n300 0 0 0 0 0 0\n").expect("a file");
    let (_, still) = run(plain, &["--motion", text(&rows)]);
    let most = whole.iter().copied().fold(0.0, f32::max);
    assert!(still.iter().zip(&whole).all(|(a, b)| (a - b).abs() <= 1e-5 * most));
    // What lies still, taken for moved by two voxels along x in the second half, is half the way there, by counts.
    let shift = 2.0 * VOXEL;
    std::fs::write(&rows, format!("0 0 0 0 0 0 0\n300 {shift} 0 0 0 0 0\n")).expect("a file");
    let (made, moved) = run(plain, &["--motion", text(&rows)]);
    assert_eq!(made["frames"].as_array().map(Vec::len), Some(1));
    let (here, there) = (middle(&whole), middle(&moved));
    // Sensitivities are those of the first and the second half: decay makes them 0.94 to each other. Images of half the counts are elsewhere by chance by a tenth of a voxel.
    assert!((there[0] - here[0] - 1.0).abs() < 0.15, "{here:?} {there:?}");
    assert!((1..3).all(|k| (there[k] - here[k]).abs() < 0.1), "{here:?} {there:?}");
}

/// With time of flight and without.
#[test]
fn lists_along_lines() {
    let folder = Folder::new("pet-lines");
    let [list, map, out] = ["scan.petsird", "map.nii", "image.npy"].map(|name| folder.path(name));
    let scan = Simulated::new(400_000);
    let exam = Exam { nuclide: "F-18".into(), ..Exam::default() };
    nifti(&map, &scan.map, SHAPE, VOXEL as f32, "1/mm");
    let base =
        [text(&list), "--attenuation", text(&map), "-o", text(&out), "--voxel", "6", "--size", "34", "--slices", "15"];
    let base = [&base[..], &["--algorithm", "osem", "--scatter", "2"]].concat();
    let check = |told: &str, most: f64| {
        let (_, image) = npy(&out);
        let found = means(&image, &scan.truth);
        assert!(found.iter().all(|mean| (mean - 1.0).abs() < most), "{told}: {found:?}");
    };
    scan.write(&list, 3, Some(&exam));
    let all = events(&[&base[..], &["--projector", "lines"]].concat());
    // Of 130,000 trues chance leaves half a percent in the regions; scatter and randoms along lines are known to 2 % of all.
    check("with time of flight", 0.04);
    assert_eq!(event(&all, "image")["settings"]["projector"], "lines");
    let edges = &scan.scanner.edges;
    let ends = vec![edges[0], edges[edges.len() - 1]];
    let alike = |events: &[[u32; 3]]| events.iter().map(|[a, b, _]| [*a, *b, 0]).collect();
    let untimed = Simulated {
        scanner: Scanner { edges: ends, ..scan.scanner.clone() },
        prompts: alike(&scan.prompts),
        delays: alike(&scan.delays),
        truth: Vec::new(),
        map: Vec::new(),
    };
    untimed.write(&list, 3, Some(&exam));
    let told = done(&[&base[..]].concat());
    check("without", 0.06);
    assert!(!told.contains("dropped"), "{told}");
}
