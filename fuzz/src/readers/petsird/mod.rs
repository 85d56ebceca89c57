//! PETSIRD files, whose schema, header or blocks are of the bytes, the rest being as it should.

pub mod writer;

use super::{Choices, scratch};
use isocenter_program::{pet, status};
use writer::{Block, Bytes, Exam, MAGIC, SCHEMA, Scanner};

/// A small scanner.
fn scanner(choices: &mut Choices) -> Scanner {
    let edges = (0..=choices.below(6)).map(|k| 10.0 * (k as f32 - 2.0)).collect();
    let sides = [1 + choices.below(3), 1 + choices.below(2)];
    let mut made = Scanner::blocks(2 + choices.below(5), sides, 4.0, 40.0, edges);
    made.energies = (0..choices.below(4)).map(|k| 400.0 + 100.0 * k as f32).collect();
    if choices.once_in(2) {
        made.efficiencies = (0..choices.below(40)).map(|k| k as f32 / 8.0).collect();
    }
    if choices.once_in(2) {
        let row = |k: usize| (0..=k).map(|j| (k + j) as i32 % 4 - 1).collect();
        made.groups = (0..choices.below(7)).map(row).collect();
    }
    made
}

fn file(bytes: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(bytes);
    let kind = choices.below(5);
    if kind == 0 {
        return [MAGIC, choices.rest()].concat();
    }
    if kind == 1 {
        let mut file = Bytes(MAGIC.to_vec());
        let rest = choices.rest();
        file.whole(rest.len() as u64);
        return [&file.0, rest, &[0; 64]].concat();
    }
    if kind == 2 {
        let mut file = Bytes(MAGIC.to_vec());
        file.text(SCHEMA);
        return [&file.0, choices.rest()].concat();
    }
    let exam = Exam { nuclide: String::from_utf8_lossy(choices.some()).into(), ..Exam::default() };
    let header = writer::header(&scanner(&mut choices), choices.once_in(2).then_some(&exam));
    if kind == 3 {
        return [&header[..], choices.rest()].concat();
    }
    // A whole file, some bytes of which are others.
    let event = |k: u32| [k % 7, k % 5, k % 3];
    let count = choices.below(40) as u32;
    let block = |k: u32| Block {
        time: [k, k + 1],
        prompts: (0..count).map(event).collect(),
        delays: (0..k).map(event).collect(),
    };
    let some: Vec<f32> = (0..choices.below(40)).map(|k| 1.0 - k as f32 / 64.0).collect();
    let counts: Vec<u64> = (0..choices.below(40) as u64).map(|k| 1 << k).collect();
    let rates = [writer::dead_time([0, 2], &some), writer::singles([1, 3], &counts)].concat();
    let mut file = [header, rates, writer::blocks(&[block(0), block(1), block(2)])].concat();
    let first = MAGIC.len() + if choices.once_in(2) { 0 } else { SCHEMA.len() };
    for change in choices.rest().chunks_exact(3) {
        let at = first + usize::from(u16::from_le_bytes([change[0], change[1]]));
        let at = at % file.len();
        match change[2] {
            0 => file.truncate(at),
            byte => file[at] = byte,
        }
        if file.is_empty() {
            break;
        }
    }
    file
}

/// Reads all of a file; events are as many as it has bytes at most.
pub fn read(bytes: &[u8]) {
    let file = file(bytes);
    scratch::with(|folder| {
        let path = folder.join("list.petsird");
        std::fs::write(&path, &file).expect("a file");
        match pet::look(&path) {
            Ok(count) => assert!(count <= file.len() as u64),
            Err(error) => assert!(status::told(&error).len() > "error: ".len()),
        }
    });
}
