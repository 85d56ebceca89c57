//! What is no scan, or none that can be reconstructed: a sentence that says what to give, and a status.

use crate::doubts::{QUICK, block, small, write};
use crate::folder::Folder;
use crate::scans::nifti;
use crate::writer::{self, Exam, Rigid};
use crate::{refused, text};

const INPUT: i32 = 3;

#[test]
fn files_that_are_none() {
    let folder = Folder::new("pet-files");
    let path = folder.path("scan.petsird");
    let of = |bytes: &[u8]| {
        std::fs::write(&path, bytes).expect("a file");
        let (told, status) = refused(&[text(&path)]);
        assert_eq!(status, INPUT, "{told}");
        told
    };
    assert!(of(b"").contains("it is empty"));
    assert!(of(b"PETSIRD").contains("does not begin with yardl"));
    assert!(of(b"\x1f\x8b\x08\0\0\0\0\0").contains("compressed by gzip, and damaged"));
    assert!(of(b"\x89HDF\r\n\x1a\n....").contains("it cannot be read as HDF5"));
    assert!(of(b"{\"protocol\"").contains("PETSIRD in JSON"));
    assert!(of(b"yardl\x02\0\0\0").contains("version 2 of yardl"));
    assert!(of(b"yardl\x01\0\0\0\x03{}}").contains("a schema that cannot be read"));
    let other = r#"{"protocol":{"sequence":[{"name":"images","type":"int32"}]}}"#;
    let mut bytes = writer::Bytes(writer::MAGIC.to_vec());
    bytes.text(other);
    assert!(of(&bytes.0).contains("it is a file of yardl, of images"));
    let header = writer::header(&small(), None);
    assert!(of(&header[..header.len() - 1]).contains("whose header is not whole"));
    let (told, status) = refused(&[text(&folder.path("nowhere"))]);
    assert!(status == INPUT && told.contains("No such file"), "{told}");
    assert_eq!(refused(&[text(&folder.0)]).1, INPUT);
}

#[test]
fn scanners_that_are_none() {
    let folder = Folder::new("pet-scanners");
    let path = folder.path("scan.petsird");
    let of = |change: &dyn Fn(&mut writer::Scanner)| {
        let mut scanner = small();
        change(&mut scanner);
        write(&path, &scanner, None, &[block(0, 100, 10)]);
        refused(&[text(&path)]).0
    };
    let flat: Rigid = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    for (change, word) in [
        (&|s: &mut writer::Scanner| s.modules.clear() as _, "has no crystals"),
        (
            &|s: &mut writer::Scanner| s.edges = vec![1.0, 1.0],
            "2 edges of time bins; there must be 2 at least, ascending",
        ),
        (&|s: &mut writer::Scanner| s.edges[3] = f32::NAN, "edges of time bins are not all finite"),
        (&|s: &mut writer::Scanner| s.efficiencies = vec![1.0; 7], "7 detection efficiencies; their 120 crystals"),
        (&|s: &mut writer::Scanner| s.efficiencies = vec![-1.0; 120], "efficiencies below 0"),
        (&|s: &mut writer::Scanner| s.groups = vec![vec![0]; 3], "is not of their 10 and 10 modules"),
        (
            &|s: &mut writer::Scanner| s.groups = (0..10).map(|k| vec![-1; k + 1]).collect(),
            "no pair of modules is in coincidence",
        ),
        (
            &|s: &mut writer::Scanner| s.groups = (0..10).map(|k| vec![100; k + 1]).collect(),
            "has group 100 of 100 pairs",
        ),
        (&|s: &mut writer::Scanner| s.crystal[0] = 0.0, "crystals are no boxes"),
        (&|s: &mut writer::Scanner| s.crystal[1] = 2e5, "within 100000 mm"),
    ] as [(&dyn Fn(&mut writer::Scanner), &str); 10]
    {
        let told = of(change);
        assert!(told.contains(word), "{word}: {told}");
    }
    // On the axis.
    let told = of(&|s| {
        s.modules = vec![flat; 2];
        s.elements = vec![[[1.0, 0.0, 0.0, -5.0], [0.0, 1.0, 0.0, -3.0], [0.0, 0.0, 1.0, -3.0]]];
    });
    assert!(told.contains("crystals lie on the scanner's axis"), "{told}");
}

#[test]
fn scans_that_make_no_image() {
    let folder = Folder::new("pet-refused");
    let [list, map, out] = ["scan.petsird", "map.nii", "image.nii"].map(|name| folder.path(name));
    let exam = Exam { nuclide: "F-18".into(), ..Exam::default() };
    let of = |more: &[&str]| {
        let base = [text(&list), "-o", text(&out)];
        let (told, status) = refused(&[&base[..], &QUICK, more].concat());
        assert!(!out.exists() && status != 101 && !told.contains("isoc_"), "{status}: {told}");
        told
    };
    let good = [block(0, 1000, 100)];
    write(&list, &small(), Some(&exam), &good);
    assert!(of(&["--isotope", "Xx-3"]).contains("--isotope Xx-3 is none that is known"));
    assert!(of(&["--frame", "3", "1"]).contains("its end must be after its start"));
    assert!(of(&["--frame", "0", "2", "--frame", "1", "3"]).contains("--frame 1 3 begins before the end"));
    assert!(of(&["--frame", "100", "200"]).contains("there are no events"));
    assert!(of(&["--frames", "2x0"]).contains("its end must be after its start"));
    assert!(of(&["--frames", "nowhere.csv"]).contains("neither counts and seconds"));
    assert!(of(&["--frames", "60", "--gates", text(&list)]).contains("cannot be used with"));
    assert!(of(&["--gates", text(&list)]).contains("it is no text of numbers"));
    let rows = folder.path("rows.txt");
    std::fs::write(&rows, "0\n1\n2\n").expect("a file");
    assert!(of(&["--gates", text(&rows)]).contains("give --gate-count"));
    assert!(of(&["--motion", text(&rows)]).contains("rows of 1 numbers"));
    assert!(of(&["--gates", text(&rows), "--gate-count", "0"]).contains("1 or more"));
    assert!(of(&["--energy-window", "600", "400"]).contains("--energy-window is 600 to 400 keV"));
    assert!(of(&["--efficiencies", text(&list)]).contains("it is no NumPy file"));
    assert!(of(&["--size", "2", "--projector", "histo-images"]).contains("--size, "));
    assert!(of(&["--voxel", "0.05"]).contains("--voxel"), "memory");
    assert!(of(&["--voxel=-1"]).contains("must be a number above 0"));
    assert!(of(&["--position", "XYZ"]).contains("it must be one of HFS"));
    assert!(of(&["--attenuation", text(&folder.path("nowhere.nii"))]).contains("nowhere.nii"));
    nifti(&map, &[0.0096; 64], [4; 3], 4.0, "1/mm");
    assert!(of(&["--attenuation", text(&map), "--size", "20"]).contains("pad the map with what is there"));
    assert!(
        of(&["--attenuation", text(&map), "--map-centre", "0", "500", "0"])
            .contains("may be in another frame (--map-centre)")
    );
    let [units, negative] = [vec![-1000.0; 8000], vec![-0.01; 8000]];
    nifti(&map, &units, [20; 3], 4.0, "");
    assert!(of(&["--attenuation", text(&map)]).contains("are Hounsfield units: give --unit HU"));
    nifti(&map, &negative, [20; 3], 4.0, "");
    assert!(of(&["--attenuation", text(&map)]).contains("attenuation"));
    nifti(&map, &vec![0.0096; 8000], [20; 3], 4.0, "");
    assert!(of(&["--attenuation", text(&map), "--unit", "HU"]).contains("are in 1/mm: give --unit 1/mm"));
    assert!(of(&["--kilovolts", "100"]).contains("--attenuation"), "an option that needs another");
    let (told, status) = refused(&[text(&list), "--voxel", "3"]);
    assert!(status == 2 && told.contains("--output"), "{told}");
    let (told, _) = refused(&[text(&list), "-o", text(&folder.path("image.mhd"))]);
    assert!(told.contains("it must end in .nii, .nii.gz, .hv, .dcm or .npy"), "{told}");
    let with = |nuclide: &str, change: &dyn Fn(&mut writer::Scanner), blocks: &[writer::Block]| {
        let mut scanner = small();
        change(&mut scanner);
        write(&list, &scanner, Some(&Exam { nuclide: nuclide.into(), ..Exam::default() }), blocks);
        of(&[])
    };
    assert!(
        with("Xx-3", &|_| (), &good).contains("names its isotope Xx-3, which is not one that is known: give --isotope")
    );
    assert!(with("F-18", &|_| (), &[block(0, 1000, 0)]).contains(
        "prompts without delays, and without rates of single photons, of which randoms are made: give --no-randoms"
    ));
    assert!(with("F-18", &|_| (), &[block(0, 0, 10)]).contains("delays without prompts"));
    assert!(with("F-18", &|_| (), &[]).contains("there are no events"));
    let none = writer::Block { time: [5, 5], ..block(0, 1000, 100) };
    assert!(with("F-18", &|_| (), &[none]).contains("last 0 s"));
    let back = writer::Block { time: [5, 4], ..block(0, 1000, 100) };
    assert!(with("F-18", &|_| (), &[back]).contains("ends before it begins"));
    assert!(with("F-18", &|s| s.stores = [false, true], &good).contains("has no coincidences"));
    let untimed = writer::Scanner { edges: vec![-60.0, 60.0], ..small() };
    write(&list, &untimed, Some(&exam), &good);
    let told = of(&["--projector", "histo-images"]);
    assert!(told.contains("no time of flight") && told.contains("take --projector lines"), "{told}");
    assert!(of(&["--window", "900"]).contains("the file has time bins, which tell it"));
    let turned = [[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];
    assert!(with("F-18", &|s| s.alignment = Some(turned), &good).contains("turns by 81 degrees"));
    let beyond = writer::Block { prompts: vec![[500, 600, 3]; 10], ..block(0, 0, 10) };
    assert!(with("F-18", &|_| (), &[beyond]).contains("none of 10 prompts are in the lattice: 10 unknown"));
    let moved = [writer::header(&small(), Some(&exam)), writer::bed(0.0)].concat();
    let mut first = writer::blocks(&good);
    first.pop();
    let rest = [writer::bed(50.0), writer::blocks(&good)].concat();
    std::fs::write(&list, [moved, first, rest].concat()).expect("a file");
    assert!(of(&[]).contains("bed or gantry move"));
}
