//! Files of images.

use crate::doubts::{QUICK, block, small, write};
use crate::folder::Folder;
use crate::scans::npy;
use crate::writer::Exam;
use crate::{done, text};

#[test]
fn one_image_in_every_format() {
    let folder = Folder::new("pet-images");
    let list = folder.path("scan.petsird");
    let exam = Exam { nuclide: "Ga-68".into(), position: ["feet first".into(), String::new(), "supine".into()] };
    write(&list, &small(), Some(&exam), &[block(2000, 4000, 100), block(3000, 4000, 100)]);
    let made = |name: &str| {
        let out = folder.path(name);
        done(&[&[text(&list), "-o", text(&out), "--size", "18", "--slices", "5"][..], &QUICK].concat());
        assert!(folder.path("image.html").exists());
        std::fs::remove_file(folder.path("image.html")).expect("a report");
        out
    };
    let (header, image) = npy(&made("image.npy"));
    assert!(header.contains("'<f4'") && header.contains("(5, 18, 18)") && header.len() % 64 == 54, "{header}");
    assert!(image.iter().any(|v| *v > 0.0));

    let bytes = std::fs::read(made("image.nii")).expect("a file");
    let real = |at: usize| f32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let data: Vec<f32> = bytes[352..].chunks(4).map(|b| f32::from_le_bytes(b.try_into().expect("4 bytes"))).collect();
    assert_eq!(data, image);
    assert_eq!((&bytes[344..348], &bytes[328..334]), (&b"n+1\0"[..], &b"Bq/ml\0"[..]));
    assert_eq!([real(92), real(136)], [2.0, 2.0], "duration and start");
    // Feet first supine: x goes to the right, y to the back, z to the feet; the middle of the scanner is at 0.
    let half = |n: f32| 4.0 * (n - 1.0) / 2.0;
    assert_eq!([280, 284, 288, 292].map(real), [4.0, 0.0, 0.0, -half(18.0)]);
    assert_eq!([296, 300, 304, 308].map(real), [0.0, -4.0, 0.0, half(18.0)]);
    assert_eq!([312, 316, 320, 324].map(real), [0.0, 0.0, -4.0, half(5.0)]);
    let packed = std::fs::read(made("image.nii.gz")).expect("a file");
    let mut unpacked = vec![0; bytes.len()];
    libdeflater::Decompressor::new().gzip_decompress(&packed, &mut unpacked).expect("unpacked");
    assert!(unpacked == bytes);

    let header = std::fs::read_to_string(made("image.hv")).expect("a header");
    for line in [
        "name of data file := image.v",
        "patient orientation := feet_in",
        "patient rotation := supine",
        "radionuclide name[1] := ^68^Gallium",
        "!matrix size [3] := 5",
        "scaling factor (mm/pixel) [1] := 4",
        "first pixel offset (mm) [1] := -34",
        "image duration (sec)[1] := 2",
        "image relative start time (sec)[1] := 2",
    ] {
        assert!(header.lines().any(|own| own == line), "{line}: {header}");
    }
    let data = std::fs::read(folder.path("image.v")).expect("data");
    assert!(data == bytes[352..]);
}
