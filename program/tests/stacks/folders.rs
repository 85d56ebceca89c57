//! Folders, patterns and files of images.

use crate::files::{Layout, PLAIN, Packing};
use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::File;

#[test]
fn folders_of_tiff() {
    let folder = Folder::new("tiff-folder");
    let angles = half_turn(VIEWS);
    nxtomo(folder.path("whole.nx"), &angles, &[0]);
    nxtomo(folder.path("twice.nx"), &angles, &[0, VIEWS]);
    let [expected, twice] = ["whole.nx", "twice.nx"].map(|name| volume(&folder, name, &[]));
    std::fs::create_dir_all(folder.path("scan/sub")).expect("a folder");
    let packed = Layout { packing: Packing::Deflate, ..PLAIN };
    for (layout, what) in [(PLAIN, "plain"), (packed, "deflate"), (Layout { bits: 32, form: 3, ..PLAIN }, "f32")] {
        for (k, angle) in angles.iter().enumerate() {
            // Numbers of as many digits as they need: 10 comes behind 9.
            write_tiff(&folder, &format!("scan/bone_{k}.tif"), &projection(k, angle.to_radians()), layout);
        }
        write_tiff(&folder, "scan/flat_0.tif", &flat(0), layout);
        write_tiff(&folder, "scan/dark_0.tif", &DARK, layout);
        std::fs::write(folder.path("scan/notes.txt"), "nothing").expect("a file");
        same(&volume(&folder, "scan", &[]), &expected, what);
        write_tiff(&folder, "after.tiff", &flat(VIEWS), layout);
        let words = ["--flats", "scan/flat_*.tif", "--flats", "after.tiff", "--darks", "scan/dark_0.tif"];
        same(&volume(&folder, "scan/bone_*.tif", &words), &twice, what);
    }
    let told = succeeds(&folder, &["inspect", "scan"]);
    for word in ["TIFF images", "91 of 6 rows x 64 bins", "0.0000 to 178.0220", "1 after 0 views", "half a turn"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    let told = succeeds(&folder, &["inspect", "scan", "--angles", "-90..90"]);
    assert!(told.contains("-90.0000 to 90.0000") && !told.contains("half a turn"), "{told}");
    // Flats of two series, whose names tell when they were taken.
    std::fs::rename(folder.path("scan/flat_0.tif"), folder.path("scan/flat_pre_0.tif")).expect("renamed");
    write_tiff(&folder, "scan/flat_post_0.tif", &flat(VIEWS), PLAIN);
    same(&volume(&folder, "scan", &[]), &twice, "flats before and after");
    std::fs::rename(folder.path("scan/flat_pre_0.tif"), folder.path("scan/flat_0.tif")).expect("renamed");
    std::fs::remove_file(folder.path("scan/flat_post_0.tif")).expect("removed");
    // More files than may be open.
    let words = format!("ulimit -n 40; exec {} recon scan {} few.h5", env!("CARGO_BIN_EXE_isocenter"), RUN.join(" "));
    let done = std::process::Command::new("sh")
        .args(["-c", &words])
        .current_dir(&folder.0)
        .output()
        .expect("the command runs");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let file = File::open(folder.path("few.h5")).expect("a volume");
    same(
        &file.dataset("entry/reconstruction/data").and_then(|d| d.read_raw()).expect("values"),
        &expected,
        "few files",
    );
    drop(file);
    // Angles and images are in the plan.
    let words =
        ["recon", "scan/bone_*.tif", "--angles", "0..180", "--flats", "scan/flat_0.tif", "--darks", "scan/dark_0.tif"];
    succeeds(&folder, &[&words[..], &RUN, &["first.h5"]].concat());
    let plan = std::fs::read_to_string(folder.path("first.toml")).expect("a plan");
    std::fs::write(folder.path("again.toml"), plan.replace("first.h5", "again.h5")).expect("a plan");
    succeeds(&folder, &["repeat", "again.toml", "--device", "cpu"]);
    let bytes = |name: &str| {
        let file = File::open(folder.path(name)).expect("a volume");
        file.dataset("entry/reconstruction/data").and_then(|data| data.read_raw::<f32>()).expect("values")
    };
    assert!(bytes("first.h5") == bytes("again.h5"));
    let list: String = (0..VIEWS).map(|k| format!("{}\n", 2.0 * k as f64)).collect();
    std::fs::write(folder.path("angles.txt"), format!("# degrees\n{list}")).expect("a file");
    same(&volume(&folder, "scan", &["--angles", "angles.txt"]), &bytes("first.h5"), "a list of angles");
}

/// Flats are groups at their places, and frames behind the scan are left out.
#[test]
fn folders_of_edf() {
    let folder = Folder::new("edf-folder");
    let step = 180.0 / VIEWS as f64;
    nxtomo(folder.path("whole.nx"), &half_turn(VIEWS), &[0, 45, VIEWS]);
    let expected = volume(&folder, "whole.nx", &["--pixel", "0.0007"]);
    std::fs::create_dir_all(folder.path("bone_")).expect("a folder");
    let write = |name: &str, images: &[&[u16]]| write_edf(&folder, &format!("bone_/{name}"), images);
    for k in 0..VIEWS + 3 {
        write(&format!("bone_{k:04}.edf"), &[&projection(k, (k as f64 * step).to_radians())]);
    }
    for position in [0, 45, VIEWS] {
        write(&format!("refHST{position:04}.edf"), &[&flat(position)]);
    }
    write("dark.edf", &[&DARK]);
    let info = format!(
        "Prefix=  bone_\nTOMO_N=   {VIEWS}\nREF_ON= 45\nREF_N= 1\nDARK_N= 20\nScanRange=  180\nPixelSize= 0.7\n"
    );
    std::fs::write(folder.path("bone_/bone_.info"), &info).expect("a file");
    same(&volume(&folder, "bone_", &[]), &expected, "refHST");
    let told = succeeds(&folder, &["inspect", "bone_"]);
    for word in [
        "EDF",
        "1 after 0 views, 1 after 45 views, 1 after 91 views",
        "0.0007 mm",
        "bone_0091.edf, bone_0092.edf, bone_0093.edf",
    ] {
        assert!(told.contains(word), "{word}: {told}");
    }
    // Flats one by one, and a sum of darks.
    for position in [0, 45, VIEWS] {
        std::fs::remove_file(folder.path(&format!("bone_/refHST{position:04}.edf"))).expect("removed");
        write(&format!("ref0000_{position:04}.edf"), &[&flat(position)]);
        write(&format!("ref0001_{position:04}.edf"), &[&flat(position)]);
    }
    std::fs::remove_file(folder.path("bone_/dark.edf")).expect("removed");
    write("darkend0000.edf", &[&DARK.map(|v| 20 * v)]);
    same(&volume(&folder, "bone_", &[]), &expected, "flats one by one");
    assert!(succeeds(&folder, &["inspect", "bone_"]).contains("2 after 45 views"));
    std::fs::remove_file(folder.path("bone_/bone_.info")).expect("removed");
    let output = isocenter(&folder, &["inspect", "bone_"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("DARK_N"));
    // All in one file.
    let all: Vec<_> = (0..VIEWS).map(|k| projection(k, (k as f64 * step).to_radians())).collect();
    write("all.edf", &all.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let words = ["--flats", "bone_/ref0000_0000.edf", "--flats", "bone_/ref0001_0091.edf", "--darks", "dark.tif"];
    write_tiff(&folder, "dark.tif", &DARK, PLAIN);
    nxtomo(folder.path("twice.nx"), &half_turn(VIEWS), &[0, VIEWS]);
    same(&volume(&folder, "bone_/all.edf", &words), &volume(&folder, "twice.nx", &[]), "one file");
}

/// Projections that are left out are as if they had not been taken: views, angles and places of flats are those of a scan without them.
#[test]
fn projections_are_chosen() {
    let folder = Folder::new("chosen");
    let angles = half_turn(VIEWS);
    nxtomo(folder.path("whole.nx"), &angles, &[0, 45, VIEWS]);
    let file = File::open_rw(folder.path("whole.nx")).expect("a file");
    // In place of some frames nonsense: behind one of darks, and two of flats from the second half on.
    let data = file.dataset("entry/instrument/detector/data").expect("a dataset");
    let mut frames: Vec<u16> = data.read_raw().expect("frames");
    let at = |view: usize| (view + 2 + usize::from(view >= 45)) * PLANE;
    for view in [10, 55, 56, 57] {
        frames[at(view)..][..PLANE].fill(100);
    }
    let whole = frames.clone();
    data.write_raw(&frames).expect("frames");
    drop((data, file));
    let seen = volume(&folder, "whole.nx", &["--skip", "10,55..58"]);
    let kept: Vec<usize> = (0..VIEWS).filter(|view| ![10, 55, 56, 57].contains(view)).collect();
    let (mut frames, mut keys, mut degrees) = (whole[..PLANE].to_vec(), vec![2], vec![0.0]);
    let flat = |k: usize, frames: &mut Vec<u16>, keys: &mut Vec<i32>, degrees: &mut Vec<f64>| {
        frames.extend(crate::scans::flat(k));
        keys.push(1);
        degrees.push(0.0);
    };
    for view in 0..=VIEWS {
        if [0, 45, VIEWS].contains(&view) {
            flat(view, &mut frames, &mut keys, &mut degrees);
        }
        if kept.contains(&view) {
            frames.extend(&whole[at(view)..][..PLANE]);
            keys.push(0);
            degrees.push(angles[view]);
        }
    }
    write_nxtomo(folder.path("rest.nx"), &frames, &keys, &degrees);
    assert!(seen == volume(&folder, "rest.nx", &[]), "skipped, or never taken");
    let told = succeeds(&folder, &["inspect", "whole.nx", "--views", "0..90:3", "--skip", "3"]);
    assert!(told.contains("29 of 91 projections are used"), "{told}");
    for (words, said) in [(["--skip", "0..91"], "no projections"), (["--views", "91"], "has 91 projections")] {
        let output = isocenter(&folder, &[&["recon", "whole.nx"][..], &words, &RUN, &["v.h5"]].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(3) && error.contains(said), "{words:?}: {error}");
    }
}
