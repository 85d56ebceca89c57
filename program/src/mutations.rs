//! Damaged texts for the tests of what parses them: the same ones each time.

/// Calls `read` with a text and many that differ from it: bytes that are others, fewer, more, and twice.
pub fn each(text: &[u8], mut read: impl FnMut(&[u8])) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below.max(1)
    };
    for end in 0..=text.len() {
        read(&text[..end]);
    }
    for _ in 0..20_000 {
        let mut bytes = text.to_vec();
        for _ in 0..1 + random(6) {
            let at = random(bytes.len());
            match random(5) {
                0 => bytes[at] = random(256) as u8,
                1 => bytes[at] = b"={};#!'\"\n\r\0-.9[]:,e"[random(19)],
                2 => drop(bytes.drain(at..(at + random(9)).min(bytes.len()))),
                3 => bytes.splice(at..at, (0..random(9)).map(|_| 0xff)).for_each(drop),
                _ => bytes.extend_from_within(at..(at + random(40)).min(text.len()).max(at).min(bytes.len())),
            }
            if bytes.is_empty() {
                break;
            }
        }
        read(&bytes);
    }
}
