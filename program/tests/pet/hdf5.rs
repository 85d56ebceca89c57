//! Files in HDF5, of which all is as of the same scan in the binary form.

use crate::doubts::{QUICK, block, small, through};
use crate::folder::Folder;
use crate::writer::{self, Block, Exam, Scanner};
use crate::{done, event, events, refused, run, text, tree};
use isocenter_program::pet;

fn exam() -> Exam {
    Exam { nuclide: "F-18".into(), position: ["head-first".into(), "recumbent".into(), "supine".into()] }
}

/// A scanner of which the file says all, and blocks of all kinds, some of them without events.
fn binary() -> Vec<u8> {
    let count = small().count();
    let efficiencies = (0..count).map(|k| 0.5 + k as f32 / 300.0).collect();
    let scanner = Scanner { efficiencies, ..small() };
    let long = Block { time: [1000, 2000], prompts: through(300_000), delays: through(70) };
    let all = [
        block(0, 2000, 100),
        long,
        Block { time: [2000, 3000], ..Block::default() },
        block(3000, 0, 5),
        block(4000, 900, 0),
    ];
    [writer::header(&scanner, Some(&exam())), writer::blocks(&all)].concat()
}

#[test]
fn results_are_those_of_the_binary_form() {
    let folder = Folder::new("pet-hdf5");
    let [list, same] = ["scan.petsird", "scan.h5"].map(|name| folder.path(name));
    let binary = binary();
    std::fs::write(&list, &binary).expect("a file");
    tree::write(&same, &binary, usize::MAX);
    let [told, told_same] = [&list, &same].map(|path| {
        let output = run(&[text(path)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).split_once(": ").expect("words").1.to_string()
    });
    assert_eq!(told, told_same);
    let images = [&list, &same].map(|path| {
        let out = path.with_extension("npy");
        let words = [&[text(path), "-o", text(&out), "--frame", "0", "2", "--frame", "2", "5"][..], &QUICK].concat();
        let all = events(&words);
        (event(&all, "image")["frames"].clone(), std::fs::read(out).expect("an image"))
    });
    assert_eq!(images[0].0, images[1].0);
    assert!(images[0].1 == images[1].1, "images differ");
    assert_eq!(pet::look(&same).expect("events"), 303_075);
}

/// Of a file that was not closed: the index has fewer blocks than were written.
#[test]
fn blocks_of_the_index_are_read() {
    let folder = Folder::new("pet-hdf5-early");
    let [list, out] = ["scan.h5", "image.npy"].map(|name| folder.path(name));
    tree::write(&list, &binary(), 2);
    let all = done(&[&[text(&list), "-o", text(&out)][..], &QUICK].concat());
    assert!(
        all.contains(
            "is not whole (5 of EventTimeBlock were written, and 2 of them are in the index): 2 blocks of events to 2 s"
        ),
        "{all}"
    );
    tree::write(&list, &binary(), 0);
    let (told, status) = refused(&[&[text(&list), "-o", text(&out)][..], &QUICK].concat());
    assert!(status == 3 && told.contains("no block of events of it is"), "{told}");
}

#[test]
fn others_in_hdf5_are_told() {
    let folder = Folder::new("pet-hdf5-others");
    let list = folder.path("scan.h5");
    let file = hdf5_metno::File::create(&list).expect("a file");
    file.create_group("HeaderData").expect("a group");
    drop(file);
    let (told, status) = refused(&[text(&list)]);
    assert!(status == 3 && told.contains("it is an HDF5 file without a group of yardl's, which PETSIRD has"), "{told}");
    tree::write(&list, &binary(), usize::MAX);
    let bytes = std::fs::read(&list).expect("a file");
    std::fs::write(&list, &bytes[..bytes.len() / 2]).expect("a file");
    let (told, status) = refused(&[text(&list)]);
    assert!(status == 3 && told.contains("it cannot be read as HDF5") && told.contains("truncated file"), "{told}");
    tree::write(&list, &binary(), usize::MAX);
    let file = hdf5_metno::File::open_rw(&list).expect("a file");
    file.relink("PETSIRD/timeBlocks", "elsewhere").expect("a group elsewhere");
    drop(file);
    let (told, status) = refused(&[&[text(&list), "-o", text(&folder.path("image.npy"))][..], &QUICK].concat());
    assert!(
        status == 3 && told.contains("scan.h5 has no blocks of time that can be read: it has no timeBlocks"),
        "{told}"
    );
    tree::write(&list, &binary(), usize::MAX);
    let group = hdf5_metno::File::open_rw(&list).expect("a file").group("PETSIRD").expect("a group");
    group.attr("$yardl_format_version").expect("a version").write_scalar(&2).expect("a version");
    drop(group);
    let (told, status) = refused(&[text(&list)]);
    assert!(status == 3 && told.contains("version 2 of yardl's HDF5 format"), "{told}");
}

/// Whatever heaps, elements and the index are: a result, or a sentence. What the HDF5 library reads itself, which is before them, stays as it is.
#[test]
fn other_bytes() {
    let folder = Folder::new("pet-hdf5-bytes");
    let list = folder.path("scan.h5");
    let event = |k: u32| [4 + k % 4, k % 4, k % 2];
    let block = Block { time: [0, 1000], prompts: (0..10).map(event).collect(), delays: (0..10).map(event).collect() };
    let scanner = Scanner { efficiencies: vec![1.0; 8], ..Scanner::blocks(4, [2, 1], 6.0, 60.0, vec![-9.0, 0.0, 9.0]) };
    let blocks = [block.clone(), block];
    tree::write(&list, &[writer::header(&scanner, Some(&exam())), writer::blocks(&blocks)].concat(), usize::MAX);
    assert_eq!(pet::look(&list).expect("events"), 40);
    let bytes = std::fs::read(&list).expect("a file");
    // Heaps, but for the first, in which the schema is.
    let heaps: Vec<_> = (0..bytes.len() - 4).filter(|at| &bytes[*at..*at + 4] == b"GCOL").skip(1).collect();
    assert!(!heaps.is_empty());
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    };
    let mut ends = [0; 2];
    for _ in 0..3000 {
        let mut other = bytes.clone();
        for _ in 0..1 + random(4) {
            let at = heaps[random(heaps.len())] + random(1200);
            let byte = [random(256) as u8, 0, 1, 127, 255][random(5)];
            let count = [1, 1, 4, 8][random(4)];
            other.iter_mut().skip(at).take(count).for_each(|to| *to = byte);
        }
        std::fs::write(&list, &other).expect("a file");
        match pet::look(&list) {
            Ok(count) => {
                assert!(count <= bytes.len() as u64);
                ends[0] += 1;
            }
            Err(error) => {
                assert!(!format!("{error:#}").is_empty());
                ends[1] += 1;
            }
        }
    }
    assert!(ends.iter().all(|count| *count > 100), "{ends:?}");
}
