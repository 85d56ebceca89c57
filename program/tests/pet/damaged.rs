//! Files that end early, or whose bytes are others.

use crate::doubts::{QUICK, block, small, through, write};
use crate::folder::Folder;
use crate::writer::{self, Block, Exam};
use crate::{done, event, events, refused, text};
use isocenter_program::pet;

fn exam() -> Exam {
    Exam { nuclide: "F-18".into(), ..Exam::default() }
}

#[test]
fn whole_blocks_are_read() {
    let folder = Folder::new("pet-early");
    let [list, out] = ["scan.petsird", "image.npy"].map(|name| folder.path(name));
    let header = writer::header(&small(), Some(&exam()));
    let block = |k: u32| block(1000 * k, 2000 + k as usize, 100);
    let parts: Vec<_> = (0..4).map(|k| writer::blocks(&[block(k)])).map(|mut part| (part.pop(), part).1).collect();
    // Within the third: its events, its time, its tag.
    for cut in [0, 1, 2, 3, 20, parts[2].len() / 2, parts[2].len() - 1] {
        let bytes = [&header, &parts[0], &parts[1], &parts[2][..cut].to_vec()].map(|part| part.as_slice()).concat();
        std::fs::write(&list, bytes).expect("a file");
        let all = events(&[&[text(&list), "-o", text(&out)][..], &QUICK].concat());
        let frame = &event(&all, "image")["frames"][0];
        assert_eq!((frame["prompts"].as_u64(), frame["duration"].as_f64()), (Some(4001), Some(2.0)), "{cut}");
        let doubt = all.iter().filter_map(|one| one["text"].as_str()).find(|words| words.contains("is not whole"));
        assert!(
            doubt.is_some_and(|words| words.contains("2 blocks of events to 2 s are in the image")),
            "{cut}: {doubt:?}"
        );
    }
    std::fs::write(&list, [&header[..], &parts[0][..40]].concat()).expect("a file");
    let (told, status) = refused(&[&[text(&list), "-o", text(&out)][..], &QUICK].concat());
    assert!(status == 3 && told.contains("no block of events of it is"), "{told}");
}

/// A block of more events than are given at a time is left out as one, after some of them were.
#[test]
fn a_long_block_is_whole_or_left_out() {
    let folder = Folder::new("pet-long");
    let [list, out] = ["scan.petsird", "image.npy"].map(|name| folder.path(name));
    let long = Block { time: [1000, 2000], prompts: through(2_500_000), delays: Vec::new() };
    write(&list, &small(), Some(&exam()), &[block(0, 2000, 100), long]);
    assert_eq!(pet::look(&list).expect("all"), 2_502_100);
    let words = [&[text(&list), "-o", text(&out)][..], &QUICK].concat();
    let counted = |words: &[&str]| event(&events(words), "image")["frames"][0]["prompts"].as_u64();
    assert_eq!(counted(&words), Some(2_502_000));
    let bytes = std::fs::read(&list).expect("a file");
    std::fs::write(&list, &bytes[..bytes.len() - 9]).expect("a file");
    assert_eq!(pet::look(&list).expect("what is whole"), 2100);
    assert_eq!(counted(&words), Some(2000));
    assert!(done(&words).contains("1 blocks of events to 1 s are in the image"));
}

/// Whatever the bytes are: a result, or a sentence.
#[test]
fn other_bytes() {
    let folder = Folder::new("pet-bytes");
    let list = folder.path("scan.petsird");
    let scanner = writer::Scanner {
        efficiencies: vec![1.0; 8],
        ..writer::Scanner::blocks(4, [2, 1], 6.0, 60.0, vec![-9.0, 0.0, 9.0])
    };
    let event = |k: u32| [4 + k % 4, k % 4, k % 2];
    let events: Vec<_> = (0..10).map(event).collect();
    let block = Block { time: [0, 1000], prompts: events.clone(), delays: events };
    let bytes = [writer::header(&scanner, Some(&exam())), writer::blocks(&[block.clone(), block])].concat();
    let first = bytes.len() - 900.min(bytes.len());
    let look = |bytes: &[u8]| {
        std::fs::write(&list, bytes).expect("a file");
        if let Err(error) = pet::look(&list) {
            assert!(!format!("{error:#}").is_empty());
        }
    };
    std::fs::write(&list, &bytes).expect("a file");
    assert_eq!(pet::look(&list).expect("events"), 40);
    (first..bytes.len()).for_each(|end| look(&bytes[..end]));
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 33) as usize % below
    };
    for round in 0..3000 {
        let mut other = bytes.clone();
        // Those of the schema in every third round.
        let from = if round % 3 == 0 { 0 } else { first };
        for _ in 0..1 + random(4) {
            let at = from + random(other.len() - from);
            match random(4) {
                0 => other[at] = random(256) as u8,
                1 => other[at] = [0, 127, 128, 255][random(4)],
                2 => drop(other.drain(at..(at + random(9)).min(other.len()))),
                _ => other.splice(at..at, (0..random(9)).map(|_| 0xff)).for_each(drop),
            }
        }
        look(&other);
    }
}
