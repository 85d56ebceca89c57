//! Views that were lost.

use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::File;

/// Mean of a slice about the denser rod.
fn rod(folder: &Folder) -> f32 {
    let file = File::open(folder.path("v.h5")).expect("a volume");
    let values: Vec<f32> = file.dataset("entry/reconstruction/data").and_then(|d| d.read_raw()).expect("values");
    let slice = &values[3 * BINS * BINS..4 * BINS * BINS];
    let most = slice.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(k, _)| k);
    let about = (0..9).map(|k| slice[most + (k / 3) * BINS + k % 3 - BINS - 1]);
    about.sum::<f32>() / 9.0
}

/// A short gap goes to its neighbours, whose weights are told of once; values stay, as near as 1 / 91 of the views matter.
#[test]
fn short_gaps() {
    let folder = Folder::new("lost");
    let angles = half_turn(VIEWS);
    let run = || {
        let words = [&["recon", "scan.nx", "--stripes", "off"], &RUN[..], &["v.h5"]].concat();
        let output = isocenter(&folder, &words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        (rod(&folder), told)
    };
    nxtomo(folder.path("scan.nx"), &angles, &[0]);
    let (whole, told) = run();
    assert!(!told.contains("gap"), "{told}");
    for lost in [1, 3] {
        nxtomo(folder.path("scan.nx"), &[&angles[..60], &angles[60 + lost..]].concat(), &[0]);
        let (seen, told) = run();
        assert!((seen / whole - 1.0).abs() < 1.0 / 91.0, "{lost} lost: {seen} of {whole}");
        assert_eq!(told.matches("warning").count(), usize::from(lost > 1), "{lost} lost: {told}");
    }
}
