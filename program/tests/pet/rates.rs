//! Dead times and single photons that a file has.

use crate::doubts::{QUICK, block, small};
use crate::folder::Folder;
use crate::scans::{Simulated, npy};
use crate::truth::{WORDS, means};
use crate::writer::{self, Exam};
use crate::{event, events, refused, text};

const LATTICE: [&str; 4] = ["--size", "34", "--slices", "15"];
const MS: u32 = 600_000;

fn exam() -> Exam {
    Exam { nuclide: "F-18".into(), ..Exam::default() }
}

/// A number from 0 to 1 for an event.
fn chance(k: usize) -> f64 {
    ((k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1u64 << 24) as f64
}

/// Events are left out as crystals of one half of the ring, and pairs, are dead: the image is that of all events.
#[test]
fn dead_times_are_made_good() {
    let folder = Folder::new("pet-dead");
    let [list, out] = ["scan.petsird", "image.npy"].map(|name| folder.path(name));
    let scan = Simulated::new(300_000);
    let words = [text(&list), "-o", text(&out), "--algorithm", "mlem", "--iterations", "4", "--no-randoms"];
    let run = |more: &[&str]| {
        let all = events(&[&words[..], &WORDS, &LATTICE, more].concat());
        (event(&all, "image")["frames"][0].clone(), npy(&out).1)
    };
    scan.write(&list, 1, Some(&exam()));
    let whole = run(&[]).1;
    let crystals = scan.scanner.count();
    let fraction = |crystal: usize| if crystal < crystals / 2 { 0.9 } else { 0.6 };
    let alive = |[a, b, _]: [u32; 3]| fraction(a as usize) * fraction(b as usize);
    let kept =
        scan.prompts.iter().enumerate().filter(|(k, event)| chance(*k) < alive(**event)).map(|(_, event)| *event);
    let thinned = Simulated { prompts: kept.collect(), delays: Vec::new(), ..scan };
    let fractions: Vec<f32> = (0..crystals).map(|k| fraction(k) as f32).collect();
    let parts = |dead: Vec<u8>| {
        let header = writer::header(&thinned.scanner, Some(&exam()));
        let bytes = [header, dead, writer::blocks(&thinned.blocks(1))].concat();
        std::fs::write(&list, bytes).expect("a file");
    };
    parts(Vec::new());
    let lost = means(&run(&[]).1, &whole);
    assert!(lost.iter().all(|mean| *mean < 0.75), "{lost:?}");
    parts(writer::dead_time([0, MS], &fractions));
    let (frame, image) = run(&[]);
    let found = means(&image, &whole);
    // Some 50,000 of 90,000 events are there; of a region of 20,000 those deviate from all by 0.6 %.
    assert!(found.iter().all(|mean| (mean - 1.0).abs() < 0.025), "{found:?}");
    assert!((frame["alive"].as_f64().expect("a number") - 0.75 * 0.75).abs() < 1e-6, "{frame}");
    // One fraction of all is a factor of the image.
    parts(writer::dead_time([0, MS], &vec![0.5; crystals]));
    let half = run(&[]).1;
    let given = run(&["--live", "0.25"]).1;
    assert_eq!(half, given);
}

/// Randoms are 2 w T s_i s_j, of delays or of single photons.
#[test]
fn randoms_are_made_of_singles() {
    let folder = Folder::new("pet-singles");
    let [list, out] = ["scan.petsird", "image.npy"].map(|name| folder.path(name));
    let scan = Simulated::new(200_000);
    let words = [text(&list), "-o", text(&out), "--algorithm", "mlem", "--iterations", "2"];
    let run = || {
        let all = events(&[&words[..], &WORDS, &LATTICE].concat());
        let made = event(&all, "image").clone();
        (made["frames"][0]["randoms"].as_f64().expect("a number"), made["settings"]["randoms"].to_string())
    };
    scan.write(&list, 1, Some(&exam()));
    let (of_delays, told) = run();
    assert!(told.contains("of delays"), "{told}");
    // Singles of crystals that see each other all are as their efficiencies; as many as make the delays that there are: of n^2 / 2 ordered pairs across, 2 w T s^2 each.
    let efficiencies = &scan.scanner.efficiencies;
    let write = |scale: f64| {
        let counts: Vec<u64> = efficiencies.iter().map(|e| (scale * f64::from(*e)).round() as u64).collect();
        let quiet: Vec<_> =
            scan.blocks(1).into_iter().map(|block| writer::Block { delays: Vec::new(), ..block }).collect();
        let header = writer::header(&scan.scanner, Some(&exam()));
        let bytes = [header, writer::singles([0, MS], &counts), writer::blocks(&quiet)].concat();
        std::fs::write(&list, bytes).expect("a file");
    };
    write(1e6);
    let (once, told) = run();
    assert!(told.contains("of single photons that the file has"), "{told}");
    write(2e6);
    let twice = run().0;
    assert!((twice / once - 4.0).abs() < 1e-4, "{once} {twice}");
    // Of s = e 10^6 / 600 s a crystal with the window of 900 ps, over the pairs that delays are of: the mean of e is 0.8, and some 1 in 4 of the pairs is in the field of view and the tilts.
    let pairs = (efficiencies.len() * efficiencies.len()) as f64 / 2.0;
    let all = 2.0 * 900e-12 * 600.0 * (0.8e6f64 / 600.0).powi(2) * pairs;
    assert!(once > 0.1 * all && once < 0.6 * all, "{once} of {all}, {of_delays}");
}

#[test]
fn rates_that_are_none() {
    let folder = Folder::new("pet-rates");
    let [list, out] = ["scan.petsird", "image.nii"].map(|name| folder.path(name));
    let of = |rates: Vec<u8>, more: &[&str]| {
        let header = writer::header(&small(), Some(&exam()));
        let bytes = [header, rates, writer::blocks(&[block(0, 1000, 0)])].concat();
        std::fs::write(&list, bytes).expect("a file");
        let base = [text(&list), "-o", text(&out)];
        let (told, _) = refused(&[&base[..], &QUICK, more].concat());
        assert!(!out.exists(), "{told}");
        told
    };
    let none = ["--no-randoms"];
    for (fractions, word) in [
        (&[0.9; 7][..], "whose modules of type 0 have 7 fractions; their 120 crystals of 1 energy bins need 120"),
        (&[1.5; 120], "whose fractions are 1.5 to 1.5; they must be 0 to 1"),
        (&[f32::NAN; 120], "whose fractions are not all finite"),
        (&[0.0; 120], "by the file's dead times the scanner was never ready: give --live"),
    ] {
        let told = of(writer::dead_time([0, 1000], fractions), &none);
        assert!(told.contains(word), "{word}: {told}");
    }
    assert!(of(writer::dead_time([1000, 0], &[0.9; 120]), &none).contains("ends before it begins"));
    assert!(of(Vec::new(), &[]).contains("without delays, and without rates of single photons"));
    assert!(of(writer::singles([0, 1000], &[5; 7]), &[]).contains("have 7 counts; 120 of 1 energy bins need 120"));
    assert!(of(writer::singles([0, 1000], &[1 << 40; 120]), &[]).contains("more than any counts"));
    assert!(of(writer::singles([5000, 6000], &[5; 120]), &[]).contains("has no singles of the scan"));
}
