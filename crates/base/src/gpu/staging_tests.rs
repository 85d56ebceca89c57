//! Staged copies.

use super::*;
use crate::gpu::DeviceMemory;

fn span(count: usize, unit: usize) -> Span {
    Span { address: 0, count, unit }
}

#[test]
fn parts_are_whole_units_and_cover_all() {
    const MIB: usize = 1 << 20;
    for (bytes, unit, chunk) in [
        (1, 1, MIB),
        (100, 20, MIB),
        (4 * MIB, 1, MIB),
        (16 * MIB, 8, 4 * MIB),
        (10 * MIB, 10, 4 * MIB),
        (64 * MIB, 4096, 16 * MIB),
        (1000 * MIB, 1000, 16 * MIB),
        (40 * MIB, 20 * MIB, 20 * MIB),
    ] {
        let cut = Cut::new::<u8>(&span(bytes, unit));
        assert_eq!(cut.chunk, chunk, "{bytes} bytes, {unit} together");
        assert!(cut.step <= cut.chunk && cut.step.is_multiple_of(unit), "{cut:?}");
        let mut next = 0;
        for k in 0..cut.parts() {
            let (first, count) = cut.part(k);
            assert!(first == next && count > 0 && count.is_multiple_of(unit), "{cut:?}, part {k}");
            next += count;
        }
        assert_eq!(next, bytes);
    }
    let cut = Cut::new::<f64>(&span(3 * MIB, 1));
    assert_eq!((cut.chunk, cut.step), (8 * MIB, MIB), "sizes are in elements, chunks in bytes");
}

#[test]
fn what_went_up_comes_down() {
    let Some(device) = crate::gpu::testing::gpu() else { return };
    let _current = device.enter().expect("a context");
    let stream = Stream::new(&device).expect("a stream");
    let staging = Staging::new(&device);
    // One part, as many as chunks, more; chunks that grow, and chunks that are larger than needed.
    for count in [1usize, 1000, 400_000, 3 << 20, 9 << 20, 700_001] {
        let memory = DeviceMemory::new(&device, count * 4).expect("memory");
        let to = Span { address: memory.address(), ..span(count, 1) };
        let mut expected = 0;
        let fill = |first: usize, part: &mut [f32]| {
            assert_eq!(first, expected);
            expected += part.len();
            part.iter_mut().zip(first..).for_each(|(v, k)| *v = (k % 65_537) as f32);
            Ok(())
        };
        // SAFETY: memory of that size, which outlives the copy.
        unsafe { staging.upload(&stream, to, fill).expect("a copy") };
        assert_eq!(expected, count);
        let mut seen = 0;
        let drain = |first: usize, part: &mut [f32]| {
            assert_eq!(first, seen);
            seen += part.len();
            assert!(
                part.iter().zip(first..).all(|(v, k)| *v == (k % 65_537) as f32),
                "{count} values, from {first} on"
            );
            Ok(())
        };
        // SAFETY: as above.
        unsafe { staging.download(&stream, to, drain).expect("a copy") };
        assert_eq!(seen, count);
    }
}

/// Made by the driver, and the system's own that is locked: page-locked to its last byte, and copied to and from.
#[test]
fn page_locked_on_a_gpu() {
    let Some(device) = crate::gpu::testing::gpu() else { return };
    let _current = device.enter().expect("a context");
    for bytes in [4099, (16 << 20) + 4099] {
        let (up, down) = (Pinned::new(&device, bytes).expect("memory"), Pinned::new(&device, bytes).expect("memory"));
        let there = DeviceMemory::new(&device, bytes).expect("memory");
        let stream = Stream::new(&device).expect("a stream");
        // SAFETY: this test's memory, of as many bytes.
        let [from, to] = [&up, &down].map(|p| unsafe { std::slice::from_raw_parts_mut(p.data(), bytes) });
        from.iter_mut().enumerate().for_each(|(k, byte)| *byte = (k % 251) as u8);
        to.fill(255);
        for place in [&from[0], &from[bytes - 1], &to[0], &to[bytes - 1]] {
            assert!(crate::gpu::is_pinned(place), "{bytes} bytes");
        }
        let rows = |p: &Pinned| Rows::one(p.data().addr() as u64, bytes);
        // SAFETY: memory of as many bytes, until the stream has been waited for.
        unsafe { rows(&up).upload(there.address(), bytes, &stream).expect("sent") };
        // SAFETY: as above.
        unsafe { Rows::one(there.address(), bytes).download(down.data().addr() as u64, bytes, &stream).expect("sent") };
        stream.synchronize().expect("there");
        assert!(from == to, "{bytes} bytes");
    }
}
