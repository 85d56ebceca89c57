//! Sessions at the C boundary: those of the corpora in `fuzz/corpus`, a line of hexadecimal digits each, and random variations of
//! them. `make fuzz` lets libFuzzer look for others, with AddressSanitizer. A session that fails is printed:
//! `ISOC_FUZZ_SESSION=ct:a0ff07 cargo test --test fuzz` runs it alone. `ISOC_FUZZ_DEVICE=gpu` takes a GPU's contexts.

#[allow(unreachable_pub, dead_code)] // A crate of its own elsewhere.
#[path = "../fuzz/src/lib.rs"]
mod sessions;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use sessions::Bounds;
use std::cell::RefCell;
use std::sync::Once;
use std::{env, panic};

static PRINT: Once = Once::new();
thread_local! {
    static RUNNING: RefCell<String> = RefCell::default();
}

fn run(name: &str, session: fn(&[u8], Bounds), bytes: &[u8]) {
    let text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    RUNNING.set(format!("ISOC_FUZZ_SESSION={name}:{text}"));
    session(bytes, Bounds::Guarded);
    RUNNING.set(String::new());
}

/// A session's bytes with a few changes.
fn vary(rng: &mut SmallRng, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = corpus[rng.random_range(0..corpus.len())].clone();
    for _ in 0..rng.random_range(1..8) {
        let place = rng.random_range(0..bytes.len() + 1);
        match rng.random_range(0..5) {
            0 => bytes.truncate(place),
            1 => bytes.insert(place, rng.random()),
            2 => bytes.extend((0..32).map(|_| rng.random_range(0..200u8))),
            3 => {
                let other = &corpus[rng.random_range(0..corpus.len())];
                bytes.extend(&other[place.min(other.len())..]);
            }
            _ if place < bytes.len() => bytes[place] = rng.random(),
            _ => {}
        }
    }
    bytes.truncate(1024);
    bytes
}

fn bytes_of(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|k| u8::from_str_radix(&text[2 * k..][..2], 16).expect("hexadecimal digits")).collect()
}

/// Runs the corpus and as many variations of it.
fn sessions_of(name: &str, corpus: &str, session: fn(&[u8], Bounds), variations: usize) {
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
    let mut rng = SmallRng::seed_from_u64(env::var("ISOC_FUZZ_SEED").map_or(0, |n| n.parse().expect("a number")));
    for _ in 0..variations {
        run(name, session, &vary(&mut rng, &corpus));
    }
}

#[test]
fn ct() {
    sessions_of("ct", include_str!("../fuzz/corpus/ct.txt"), sessions::ct, 1000);
}

#[test]
fn mri() {
    sessions_of("mri", include_str!("../fuzz/corpus/mri.txt"), sessions::mri, 1000);
}

#[test]
fn pet() {
    // Each may simulate, make factors and scatter, and reconstruct: fewer take as long as the others' thousand.
    sessions_of("pet", include_str!("../fuzz/corpus/pet.txt"), sessions::pet, 300);
}
