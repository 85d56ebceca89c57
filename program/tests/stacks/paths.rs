//! Datasets of any HDF5 file that are named on the command line.

use crate::files::PLAIN;
use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::File;

/// Frames, keys and angles under names that say nothing, flats and darks in other files.
fn files(folder: &Folder) {
    let (frames, keys, degrees) = taken(&half_turn(VIEWS), &[0, VIEWS]);
    let file = File::create(folder.path("a.h5")).expect("a file");
    write_stack(&file, "x/one", &frames);
    write_stack(&file, "x/two", &frames);
    write_list(&file, "x/kinds", &keys, None);
    write_list(&file, "x/places", &degrees, None);
    write_list(&file, "x/short", &degrees[..7], None);
    let file = File::create(folder.path("b.h5")).expect("a file");
    write_stack(&file, "y/before", &flat(0));
    write_stack(&file, "y/after", &flat(VIEWS));
    write_stack(&file, "y/dark", &DARK);
    write_stack(&file, "y/views", &projections(&half_turn(VIEWS)));
    let radians: Vec<_> = half_turn(VIEWS).into_iter().map(f64::to_radians).collect();
    write_list(&file, "y/radians", &radians, None);
}

#[test]
fn datasets_are_named() {
    let folder = Folder::new("paths");
    files(&folder);
    nxtomo(folder.path("plain.nx"), &half_turn(VIEWS), &[0, VIEWS]);
    let expected = volume(&folder, "plain.nx", &[]);
    let keyed = ["--data", "/x/one", "--keys", "/x/kinds", "--angles", "/x/places"];
    same(&volume(&folder, "a.h5", &keyed), &expected, "of the scan");
    let told = succeeds(&folder, &[&["inspect", "a.h5"][..], &keyed].concat());
    assert!(told.contains("projections: /x/one (94 x 6 x 64)") && told.contains("keys: /x/kinds"), "{told}");
    // The same again, by the plan beside the volume.
    std::fs::rename(folder.path("volume.h5"), folder.path("first.h5")).expect("renamed");
    succeeds(&folder, &["repeat", "volume.toml", "--device", "cpu"]);
    let again = File::open(folder.path("volume.h5")).and_then(|file| file.dataset("entry/reconstruction/data"));
    same(&again.and_then(|data| data.read_raw()).expect("values"), &expected, "repeated");
    // Frames of another file than the scan, and everything from files of its own.
    let others = [
        "--data",
        "b.h5:/y/views",
        "--flats",
        "b.h5:/y/before",
        "--flats",
        "b.h5:/y/after",
        "--darks",
        "b.h5::/y/dark",
        "--angles",
        "b.h5:/y/radians",
        "--angle-unit",
        "radians",
    ];
    same(&volume(&folder, "a.h5", &others), &expected, "of another file");
    let own = ["--data", ":/y/views", "--flats", "/y/before", "--flats", "/y/after", "--darks", "/y/dark"];
    same(
        &volume(&folder, "b.h5", &[&own[..], &["--angles", "0..178.02197802197801"]].concat()),
        &expected,
        "of one file",
    );
    // Images of TIFF, and flats and angles of HDF5 files.
    std::fs::create_dir_all(folder.path("images")).expect("a folder");
    for (k, angle) in half_turn(VIEWS).iter().enumerate() {
        write_tiff(&folder, &format!("images/p_{k:03}.tif"), &projection(k, angle.to_radians()), PLAIN);
    }
    let words = [&others[2..], &[]].concat();
    same(&volume(&folder, "images", &words), &expected, "images with flats of HDF5 files");
    // Of frames of all kinds their keys tell which are flats, and which are darks.
    nxtomo(folder.path("one.nx"), &half_turn(VIEWS), &[0]);
    let one = volume(&folder, "one.nx", &[]);
    let all = "one.nx:/entry/instrument/detector/data";
    let words =
        ["--data", "/y/views", "--flats", all, "--darks", all, "--angles", "one.nx:/entry/sample/rotation_angle"];
    let error = fails(&folder, &[&["inspect", "b.h5"][..], &words].concat());
    assert!(error.contains("93 angles for 91 projections"), "{error}");
    let words = [&words[..7], &["b.h5:/y/radians", "--angle-unit", "radians"]].concat();
    same(&volume(&folder, "b.h5", &words), &one, "flats by keys");
    assert!(
        succeeds(&folder, &[&["inspect", "b.h5"][..], &words].concat()).contains("flats: 1 of 93 frames of one.nx")
    );
    // Keys and angles of files that are not their scan's.
    let words = ["--data", "/x/two", "--keys", "a.h5:/x/kinds", "--angles", "plain.nx:/entry/sample/rotation_angle"];
    same(&volume(&folder, "a.h5", &words), &expected, "angles of another scan");
}

/// What begins with / is a dataset where there is one of its name, and a file else.
#[test]
fn files_and_datasets_are_told_apart() {
    let folder = Folder::new("paths-apart");
    nxtomo(folder.path("plain.nx"), &half_turn(VIEWS), &[0]);
    let lines: String = half_turn(VIEWS).iter().map(|angle| format!("{angle}\n")).collect();
    std::fs::write(folder.path("angles.txt"), &lines).expect("a file");
    std::fs::write(folder.path("a:"), "").expect("a file");
    let whole = folder.path("angles.txt").to_string_lossy().into_owned();
    let told = |angles: &str| succeeds(&folder, &["inspect", "plain.nx", "--angles", angles]);
    for angles in
        [&whole, "angles.txt", "./angles.txt", "/entry/sample/rotation_angle", ":/entry/sample/rotation_angle"]
    {
        assert!(told(angles).contains("0.0000 to 178.0220 degrees"), "{angles}");
    }
    // Both a file and a dataset.
    let file = File::append(folder.path("plain.nx")).expect("a file");
    let backwards: Vec<_> = half_turn(VIEWS).iter().map(|angle| -angle).collect();
    write_list(&file, whole.trim_start_matches('/'), &backwards, None);
    drop(file);
    let error = fails(&folder, &["inspect", "plain.nx", "--angles", &whole]);
    assert!(error.contains("also a file") && error.contains(&format!("plain.nx:{whole}")), "{error}");
    assert!(told(&format!("plain.nx:{whole}")).contains("to -178.0220 degrees"));
    assert!(told("angles.txt").contains("to 178.0220 degrees"));
}

#[test]
fn names_that_are_not_there() {
    let folder = Folder::new("paths-missing");
    files(&folder);
    nxtomo(folder.path("plain.nx"), &half_turn(VIEWS), &[0]);
    std::fs::create_dir_all(folder.path("images")).expect("a folder");
    for (words, parts) in [
        (
            vec!["a.h5", "--data", "/x/three"],
            vec!["a.h5 has no dataset /x/three", "/x/one (94 x 6 x 64), /x/two (94 x 6 x 64)"],
        ),
        (vec!["a.h5", "--data", "/x"], vec!["/x of a.h5 is a group", "/x/one"]),
        (vec!["a.h5", "--data", "/x/kinds"], vec!["1 dimensions; it must have 3"]),
        (vec!["a.h5", "--data", "frames"], vec!["/dataset of the scan"]),
        (vec!["a.h5", "--data", "c.h5:/x"], vec!["c.h5"]),
        (
            vec!["a.h5", "--data", "/x/one", "--keys", "/x/no"],
            vec!["lists of 94 numbers are", "/x/places (94)", "/x/kinds (94)"],
        ),
        (vec!["a.h5", "--data", "/x/one", "--keys", "/x/short"], vec!["/x/short has 7 values for 94 frames"]),
        (vec!["plain.nx", "--angles", "/entry/no"], vec!["no file /entry/no", "/entry/sample/rotation_angle (93)"]),
        (vec!["plain.nx", "--angles", "a.h5:/x/short"], vec!["7 angles for 91 projections"]),
        (vec!["plain.nx", "--angles", "a.h5"], vec!["a.h5:/dataset names its angles"]),
        (vec!["plain.nx", "--flats", "b.h5:/y/no"], vec!["--flats", "/y/before (1 x 6 x 64)"]),
        (vec!["plain.nx", "--flats", "c.h5:/y/no"], vec!["there is no file c.h5"]),
        (vec!["plain.nx", "--entry", "entry", "--keys", "/x"], vec!["one of both"]),
        (vec!["images", "--data", "b.h5:/y/views"], vec!["--data belongs to a scan in an HDF5 file"]),
        (vec!["images", "--keys", "b.h5:/y/views"], vec!["--keys belongs to a scan in an HDF5 file"]),
    ] {
        let error = fails(&folder, &[vec!["inspect"], words.clone()].concat());
        for part in parts {
            assert!(error.contains(part), "{words:?}: {part}: {error}");
        }
    }
}
