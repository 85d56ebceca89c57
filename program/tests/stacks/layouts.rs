//! HDF5 files in layouts of other names: read as the same scan in an NXtomo file, or refused with all that they may be.

use crate::files::PLAIN;
use crate::folder::Folder;
use crate::scans::*;
use hdf5_metno::{File, Group};

/// The scan in an NXtomo file, and what becomes of it.
fn plain(folder: &Folder, flats: &[usize]) -> Vec<f32> {
    nxtomo(folder.path("plain.nx"), &half_turn(VIEWS), flats);
    volume(folder, "plain.nx", &[])
}

/// As Diamond's K11 writes it: frames behind external links, two detectors with keys, places of the stage under four names, where it was sent,
/// and other lists as long.
fn diamond(folder: &Folder, name: &str) {
    let (frames, keys, degrees) = taken(&half_turn(VIEWS), &[0, VIEWS]);
    std::fs::create_dir_all(folder.path("k11")).expect("a folder");
    write_stack(&File::create(folder.path("k11/imaging.h5")).expect("a file"), "data", &frames);
    let file = File::create(folder.path(name)).expect("a file");
    for detector in ["imaging", "imaging_sum"] {
        let keys: Vec<_> = keys.iter().map(|&key| f64::from(key)).collect();
        write_list(&file, &format!("entry/instrument/{detector}/image_key"), &keys, None);
        write_list(&file, &format!("entry/instrument/{detector}/count_time"), &vec![0.1; keys.len()], Some("s"));
        file.create_group(&format!("entry/{detector}")).expect("a group");
    }
    for group in ["entry/instrument/imaging", "entry/imaging"] {
        file.group(group).and_then(|group| group.link_external("k11/imaging.h5", "data", "data")).expect("a link");
    }
    let sums: Vec<_> = (0..keys.len()).map(|k| 1e6 + k as f64).collect();
    write_list(&file, "entry/instrument/imaging_sum/sum", &sums, None);
    write_list(&file, "entry/instrument/gts_theta/value", &degrees, Some("deg"));
    let sent: Vec<_> = degrees.iter().map(|angle| angle + 0.001).collect();
    write_list(&file, "entry/instrument/gts_theta/value_set", &sent, Some("deg"));
    for group in ["entry/imaging", "entry/imaging_sum"] {
        file.link_hard("/entry/instrument/gts_theta/value", &format!("{group}/gts_theta_value")).expect("a link");
        file.link_hard("/entry/instrument/gts_theta/value_set", &format!("{group}/gts_theta_value_set"))
            .expect("a link");
    }
    let numbers: Vec<_> = (1..=keys.len() as i64).collect();
    write_list(&file, "entry/diamond_scan/keys/imaging", &numbers, None);
    write_text(&file, "entry/title", "two rods");
}

#[test]
fn detectors_with_keys_and_no_definition() {
    let folder = Folder::new("layouts-diamond");
    let expected = plain(&folder, &[0, VIEWS]);
    diamond(&folder, "k11.nxs");
    let told = succeeds(&folder, &["inspect", "k11.nxs"]);
    for part in [
        "by what it holds",
        "title       two rods",
        "projections: /entry/imaging/data (94 x 6 x 64)",
        "keys: /entry/instrument/imaging/image_key",
        "angles: /entry/imaging/gts_theta_value (94), by its name",
        "1 after 0 views, 1 after 91 views",
        "darks       1",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    same(&volume(&folder, "k11.nxs", &[]), &expected, "Diamond's");
    // What is named is not searched.
    let words = ["--data", "/entry/imaging/data", "--keys", "/entry/instrument/imaging_sum/image_key"];
    same(&volume(&folder, "k11.nxs", &words), &expected, "by name");
    // Keys of the other detector that differ are not those of the frames; keys elsewhere that differ are in doubt.
    let file = File::append(folder.path("k11.nxs")).expect("a file");
    let keys = file.dataset("entry/instrument/imaging_sum/image_key").expect("keys");
    keys.write_raw(&vec![0.0; VIEWS + 3]).expect("keys");
    drop((keys, file));
    same(&volume(&folder, "k11.nxs", &[]), &expected, "keys of two detectors");
    let file = File::append(folder.path("k11.nxs")).expect("a file");
    let instrument = file.group("entry/instrument").expect("a group");
    instrument.relink("imaging/image_key", "other_key").expect("moved");
    drop((instrument, file));
    let error = fails(&folder, &["inspect", "k11.nxs"]);
    for part in ["/entry/instrument/other_key", "/entry/instrument/imaging_sum/image_key", "--keys names one"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // Two motors that turn.
    let file = File::append(folder.path("k11.nxs")).expect("a file");
    let other: Vec<_> = (0..VIEWS + 3).map(|k| k as f64).collect();
    write_list(&file, "entry/imaging/rotation", &other, None);
    drop(file);
    let words = ["inspect", "k11.nxs", "--keys", "/entry/instrument/other_key"];
    let error = fails(&folder, &words);
    assert!(error.contains("/entry/imaging/rotation (94)") && error.contains("--angles names one"), "{error}");
    // What is behind the links is gone.
    std::fs::remove_file(folder.path("k11/imaging.h5")).expect("removed");
    let error = fails(&folder, &["inspect", "k11.nxs"]);
    assert!(error.contains("leads to what is not there") && error.contains("/entry/imaging/data"), "{error}");
}

/// A file whose names say nothing but what they have to.
fn made(folder: &Folder, name: &str, fill: impl Fn(&Group)) {
    let file = File::create(folder.path(name)).expect("a file");
    fill(&file);
}

#[test]
fn stacks_with_flats_beside() {
    let folder = Folder::new("layouts-beside");
    let angles = half_turn(VIEWS);
    let [one, two] = [plain(&folder, &[0]), plain(&folder, &[0, VIEWS])];
    // NSLS-II's FXI.
    made(&folder, "fxi.h5", |file| {
        write_stack(file, "img_tomo", &projections(&angles));
        write_stack(file, "img_bkg", &flat(0));
        write_stack(file, "img_dark", &DARK);
        write_list(file, "angle", &angles, None);
    });
    same(&volume(&folder, "fxi.h5", &[]), &one, "NSLS-II's");
    // Savu's NXtomo-like files without keys.
    made(&folder, "savu.nxs", |file| {
        write_stack(file, "entry1/tomo_entry/instrument/detector/data", &projections(&angles));
        write_stack(file, "entry1/tomo_entry/instrument/detector/flatfield", &flat(0));
        write_stack(file, "entry1/tomo_entry/instrument/detector/darkfield", &DARK);
        write_list(file, "entry1/tomo_entry/data/rotation_angle", &angles, Some("degrees"));
        write_text(file, "entry1/tomo_entry/definition", "NXtomo");
    });
    same(&volume(&folder, "savu.nxs", &[]), &one, "Savu's");
    // Flats of two times, and angles that their unit tells, or their values alone.
    for (name, unit) in [("scan_axis", Some("deg")), ("positions", None)] {
        made(&folder, "groups.h5", |file| {
            write_stack(file, "scan/frames", &projections(&angles));
            write_stack(file, "scan/flats/before", &flat(0));
            write_stack(file, "scan/flats/after", &flat(VIEWS));
            write_stack(file, "scan/darks/data", &DARK);
            write_list(file, &format!("scan/{name}"), &angles, unit);
            write_list(file, "scan/time", &angles, None);
            write_list(file, "scan/chamber", &angles.iter().map(|angle| 100.0 * angle.sin()).collect::<Vec<_>>(), None);
            write_list(file, "scan/number", &(0..VIEWS as i32).collect::<Vec<_>>(), None);
        });
        same(&volume(&folder, "groups.h5", &[]), &two, name);
    }
    // The Swiss Light Source's names.
    made(&folder, "sls.h5", |file| {
        write_stack(file, "exchange/data", &projections(&angles));
        write_stack(file, "exchange/data_white_pre", &flat(0));
        write_stack(file, "exchange/data_white_post", &flat(VIEWS));
        write_stack(file, "exchange/data_dark", &DARK);
        write_list(file, "exchange/theta", &angles, None);
    });
    same(&volume(&folder, "sls.h5", &[]), &two, "the Swiss Light Source's");
    // A first angle and a step, of the Advanced Photon Source.
    made(&folder, "aps.h5", |file| {
        write_stack(file, "exchange/data", &projections(&angles));
        write_stack(file, "exchange/data_white", &flat(0));
        write_stack(file, "exchange/data_dark", &DARK);
        write_list(file, "process/acquisition/rotation/rotation_start", &[0.0], None);
        write_list(file, "process/acquisition/rotation/rotation_step", &[180.0 / VIEWS as f64], None);
    });
    same(&volume(&folder, "aps.h5", &[]), &one, "a start and a step");
}

/// Files between Savu's steps: line integrals, with axes.
#[test]
fn axes_tell_projections_sinograms_and_slices() {
    let folder = Folder::new("layouts-axes");
    let angles = half_turn(VIEWS);
    let values: Vec<f32> = projections(&angles).iter().map(|&v| (9110.0 / f32::from(v)).ln()).collect();
    let write = |name: &str, shape: [usize; 3], values: &[f32], axes: [&str; 3]| {
        let file = File::create(folder.path(name)).expect("a file");
        let group = file.create_group("2-MinusLog-tomo").expect("a group");
        let data = group.new_dataset::<f32>().shape(shape).create("data").expect("a dataset");
        data.write_raw(values).expect("values");
        attribute(&group, "signal", &["data"]);
        attribute(&group, "axes", &axes);
        write_list(&group, "rotation_angle", &angles, Some("degrees"));
    };
    write("views.h5", [VIEWS, ROWS, BINS], &values, ["rotation_angle", "detector_y", "detector_x"]);
    let sinograms: Vec<f32> = (0..ROWS)
        .flat_map(|row| (0..VIEWS).flat_map(move |view| [view * PLANE + row * BINS]))
        .flat_map(|at| values[at..at + BINS].to_vec())
        .collect();
    write("rows.h5", [ROWS, VIEWS, BINS], &sinograms, ["detector_y", "rotation_angle", "detector_x"]);
    let expected = volume(&folder, "views.h5", &[]);
    assert!(expected.len() == ROWS * BINS * BINS && expected.iter().any(|v| *v != 0.0));
    same(&volume(&folder, "rows.h5", &[]), &expected, "sinograms");
    write("slices.h5", [VIEWS, ROWS, BINS], &values, ["voxel_y", "voxel_x", "voxel_z"]);
    let error = fails(&folder, &["inspect", "slices.h5"]);
    assert!(error.contains("no other frames") && error.contains("/2-MinusLog-tomo/data"), "{error}");
}

/// As ALS 8.3.2 wrote it: a dataset a frame.
#[test]
fn a_dataset_a_frame() {
    let folder = Folder::new("layouts-sheets");
    // The stage turns the other way, and scans begin at 270 degrees.
    let step = 180.0 / (VIEWS - 1) as f64;
    let angles: Vec<_> = (0..VIEWS).map(|k| 270.0 - k as f64 * step).collect();
    nxtomo(folder.path("plain.nx"), &angles, &[0, VIEWS]);
    let expected = volume(&folder, "plain.nx", &["--pixel", "0.00065"]);
    for (turned, chunked) in [(false, false), (true, true)] {
        let file = File::create(folder.path("als.h5")).expect("a file");
        let group = file.create_group("20240304_rods").expect("a group");
        for (name, text) in
            [("nangles", "91"), ("arange", "180.0"), ("nslices", "6"), ("nrays", "64"), ("pxsize", "0.00065")]
        {
            attribute(&group, name, &[text]);
        }
        let write = |name: &str, values: &[u16]| {
            let builder = group.new_dataset::<u16>();
            let builder = if chunked { builder.chunk([1, 3, BINS]).deflate(2) } else { builder };
            let data =
                builder.shape([1, ROWS, BINS]).create(format!("20240304_rods{name}.tif").as_str()).expect("a dataset");
            data.write_raw(values).expect("values");
            data
        };
        for (k, angle) in angles.iter().enumerate() {
            let data = write(&format!("_0000_{k:04}"), &projection(k, angle.to_radians()));
            if turned {
                attribute(&data, "rot_angle", &[&(270.0 - angle).to_string()]);
            }
        }
        write("bak_0000_0000", &flat(0));
        write("bak_0000_0090", &flat(VIEWS));
        write("drk_0000_0090", &DARK);
        drop((group, file));
        same(&volume(&folder, "als.h5", &[]), &expected, &format!("rot_angle {turned}, chunks {chunked}"));
    }
    assert!(succeeds(&folder, &["inspect", "als.h5"]).contains("1 after 0 views, 1 after 91 views"));
    let file = File::append(folder.path("als.h5")).expect("a file");
    file.unlink("20240304_rods/20240304_rods_0000_0007.tif").expect("removed");
    drop(file);
    assert!(fails(&folder, &["inspect", "als.h5"]).contains("projection 7"));
}

/// As BLISS writes it at the ESRF: an entry for each step.
#[test]
fn entries_of_steps() {
    let folder = Folder::new("layouts-steps");
    let expected = plain(&folder, &[0, 40, VIEWS]);
    let angles = half_turn(VIEWS);
    let file = File::create(folder.path("bliss.h5")).expect("a file");
    let step = |number: usize, title: &str, frames: &[u16], angles: &[f64]| {
        let entry = file.create_group(&format!("{number}.1")).expect("a group");
        write_text(&entry, "title", title);
        if frames.is_empty() {
            return;
        }
        write_stack(&entry, "instrument/pcolinux/data", frames);
        entry.create_group("measurement").expect("a group");
        entry.link_hard(&format!("/{number}.1/instrument/pcolinux/data"), "measurement/pcolinux").expect("a link");
        write_list(
            &entry,
            "measurement/elapsed_time",
            &(0..frames.len() / PLANE).map(|k| k as f64).collect::<Vec<_>>(),
            None,
        );
        if !angles.is_empty() {
            write_list(&entry, "measurement/hrsrot", angles, Some("deg"));
            write_list(
                &entry,
                "measurement/hrsrot_center",
                &angles.iter().map(|a| a + 0.1).collect::<Vec<_>>(),
                Some("deg"),
            );
        }
    };
    let frames = projections(&angles);
    step(1, "tomo:halfturn", &[], &[]);
    step(2, "dark images", &DARK, &[]);
    step(3, "reference images 0", &flat(0), &[]);
    step(4, "projections 0 - 40", &frames[..40 * PLANE], &angles[..40]);
    step(5, "reference images 1", &flat(40), &[]);
    step(10, "projections 40 - 91", &frames[40 * PLANE..], &angles[40..]);
    step(11, "reference images 2", &flat(VIEWS), &[]);
    step(12, "static images", &frames[..PLANE], &[]);
    drop(file);
    same(&volume(&folder, "bliss.h5", &[]), &expected, "BLISS's");
    let told = succeeds(&folder, &["inspect", "bliss.h5"]);
    assert!(told.contains("1 after 40 views") && told.contains("/10.1/measurement/pcolinux"), "{told}");
    let file = File::append(folder.path("bliss.h5")).expect("a file");
    write_text(&file.create_group("13.1").expect("a group"), "title", "tomo:halfturn");
    drop(file);
    assert!(fails(&folder, &["inspect", "bliss.h5"]).contains("nxtomomill h52nx"));
}

#[test]
fn what_may_be_several_things_is_refused() {
    let folder = Folder::new("layouts-refused");
    let angles = half_turn(VIEWS);
    made(&folder, "two.h5", |file| {
        write_stack(file, "a/frames", &projections(&angles));
        write_stack(file, "b/frames", &projections(&angles));
        write_list(file, "theta", &angles, None);
    });
    let error = fails(&folder, &["inspect", "two.h5"]);
    assert!(error.contains("/a/frames (91 x 6 x 64), /b/frames (91 x 6 x 64): --data names one"), "{error}");
    succeeds(&folder, &["inspect", "two.h5", "--data", "/b/frames", "--input", "transmission", "--full-beam", "9000"]);
    made(&folder, "still.h5", |file| {
        write_stack(file, "frames", &projections(&angles));
        write_list(file, "theta", &vec![3.0; VIEWS], None);
        write_list(file, "time", &angles, None);
    });
    let error = fails(&folder, &["inspect", "still.h5"]);
    assert!(error.contains("nothing in it tells the angles") && error.contains("--angles 0..180"), "{error}");
    assert!(error.contains("/theta (91)"), "{error}");
    succeeds(&folder, &["inspect", "still.h5", "--angles", "0..178"]);
    made(&folder, "flats.h5", |file| {
        write_stack(file, "frames", &projections(&angles));
        write_stack(file, "flats/a", &flat(0));
        write_stack(file, "flats/b", &flat(9));
        write_list(file, "theta", &angles, None);
    });
    let error = fails(&folder, &["inspect", "flats.h5"]);
    assert!(error.contains("/flats/a (1 x 6 x 64), /flats/b (1 x 6 x 64): --flats"), "{error}");
    made(&folder, "none.h5", |file| write_list(file, "x", &[1.0], None));
    let error = fails(&folder, &["inspect", "none.h5"]);
    assert!(error.contains("no NXtomo entry") && error.contains("/x (1)"), "{error}");
}

/// One series of TIFF images with a log, as TOMCAT writes it.
#[test]
fn a_series_with_a_log() {
    let folder = Folder::new("layouts-log");
    let angles: Vec<_> = (0..VIEWS).map(|k| 180.0 * k as f64 / (VIEWS - 1) as f64).collect();
    nxtomo(folder.path("plain.nx"), &angles, &[0, VIEWS]);
    let expected = volume(&folder, "plain.nx", &["--pixel", "0.00065"]);
    std::fs::create_dir_all(folder.path("rods")).expect("a folder");
    let views = angles.iter().enumerate().map(|(k, angle)| projection(k, angle.to_radians()));
    let images = [DARK.to_vec(), flat(0)].into_iter().chain(views).chain([flat(VIEWS)]);
    for (k, image) in images.enumerate() {
        write_tiff(&folder, &format!("rods/rods{:04}.tif", k + 1), &image, PLAIN);
    }
    let log = "File Prefix                  : rods\nNumber of projections        : 91\nNumber of darks              : 1\n\
               Number of flats              : 1\nNumber of inter-flats        : 0\nRot Y min position  [deg]    : 0.000\n\
               Rot Y max position  [deg]    : 180.000\nAngular step [deg]           : 2.000\nActual pixel size [um]       : 0.65\n";
    std::fs::write(folder.path("rods/rods.log"), log).expect("a log");
    same(&volume(&folder, "rods", &[]), &expected, "TOMCAT's");
    std::fs::write(folder.path("rods/rods.log"), log.replace("91", "90")).expect("a log");
    let error = fails(&folder, &["inspect", "rods"]);
    assert!(error.contains("90 projections, and there are 94 images"), "{error}");
}
