//! What tests do with a corpus: each line of it, hexadecimal digits, is given to what was found with it, and so are random variations.
//! Bytes that fail are printed: `ISOC_FUZZ_SESSION=ct:a0ff07` has them alone given to `ct`. `ISOC_FUZZ_VARIATIONS` says how many
//! variations there are, `ISOC_FUZZ_SEED` which.

use std::cell::RefCell;
use std::sync::Once;
use std::{env, panic};

static PRINT: Once = Once::new();
thread_local! {
    static RUNNING: RefCell<String> = RefCell::default();
}

/// Longest of what is made.
const LONGEST: usize = 1024;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % end as u64) as usize
    }
}

fn run(name: &str, session: fn(&[u8]), bytes: &[u8]) {
    let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    RUNNING.set(format!("ISOC_FUZZ_SESSION={name}:{text}"));
    session(bytes);
    RUNNING.set(String::new());
}

/// A session's bytes with a few changes.
fn vary(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 + random.below(7) {
        let place = random.below(bytes.len() + 1);
        match random.below(5) {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, random.below(256) as u8),
            2 => bytes.extend((0..32).map(|_| random.below(200) as u8)),
            3 => {
                let other = &corpus[random.below(corpus.len())];
                bytes.extend(&other[place.min(other.len())..]);
            }
            _ if place < bytes.len() => bytes[place] = random.below(256) as u8,
            _ => {}
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

fn bytes_of(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|k| u8::from_str_radix(&text[2 * k..][..2], 16).expect("hexadecimal digits")).collect()
}

/// Runs a corpus and as many variations of it.
pub(crate) fn repeat(name: &str, corpus: &str, session: fn(&[u8]), variations: usize) {
    PRINT.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            RUNNING.with_borrow(|running| eprintln!("{running}"));
            before(info);
        }));
    });
    if let Ok(only) = env::var("ISOC_FUZZ_SESSION") {
        if let Some(text) = only.strip_prefix(&format!("{name}:")) {
            run(name, session, &bytes_of(text));
        }
        return;
    }
    let mut corpus: Vec<Vec<u8>> = corpus.lines().map(bytes_of).collect();
    assert!(!corpus.is_empty(), "an empty corpus");
    for bytes in &corpus {
        run(name, session, bytes);
    }
    corpus.push(Vec::new());
    let variations = env::var("ISOC_FUZZ_VARIATIONS").map_or(variations, |n| n.parse().expect("a number"));
    let mut random = Random(env::var("ISOC_FUZZ_SEED").map_or(0, |n| n.parse().expect("a number")));
    for _ in 0..variations {
        run(name, session, &vary(&mut random, &corpus));
    }
}
