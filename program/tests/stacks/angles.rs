//! Angles in files of text, and their unit.

use crate::folder::Folder;
use crate::scans::*;
use std::fmt::Write;

#[test]
fn texts_and_units() {
    let folder = Folder::new("angles");
    let angles = half_turn(VIEWS);
    nxtomo(folder.path("plain.nx"), &angles, &[0]);
    let expected = volume(&folder, "plain.nx", &[]);
    let lines = |line: &dyn Fn(usize, f64) -> String| -> String {
        angles.iter().enumerate().fold(String::new(), |mut text, (k, angle)| {
            writeln!(text, "{}", line(k, *angle)).expect("a line");
            text
        })
    };
    let list = lines(&|_, angle| angle.to_string());
    let radians = lines(&|_, angle| angle.to_radians().to_string());
    let imat = lines(&|k, angle| {
        format!(
            "Mon Mar 04 10:00:{:02} 2024   Projection:  {k}  angle: {angle}   Monitor 3 before:  1   Monitor 3 after:  2",
            k % 60
        )
    });
    let commas = lines(&|k, angle| format!("Mon Mar 04 10:00:{:02} 2024,Projection,{k},{angle},12,34", k % 60));
    for (name, text, words) in [
        ("bom.txt", format!("\u{feff}# measured\r\n{}", list.replace('\n', "\r\n")), &[][..]),
        ("radians.txt", radians.clone(), &["--angle-unit", "radians"]),
        ("column.csv", format!("theta [rad]\n{radians}"), &[]),
        (
            "imat.txt",
            format!(
                " TIME STAMP  IMAGE TYPE   IMAGE COUNTER   COUNTS BM3 before image   COUNTS BM3 after image\n\n{imat}"
            ),
            &[],
        ),
        (
            "imat.csv",
            format!("TIME STAMP,IMAGE TYPE,IMAGE COUNTER,PROJECTION ANGLE DEG,COUNTS BEFORE,COUNTS AFTER\n{commas}"),
            &[],
        ),
    ] {
        std::fs::write(folder.path(name), text).expect("a file");
        let words = [&["--angles", name], words].concat();
        same(&volume(&folder, "plain.nx", &words), &expected, name);
    }
    // Radians that nothing names.
    for words in [vec!["--angles", "radians.txt"], vec!["--angles", "0..3.1"]] {
        let error = fails(&folder, &[vec!["inspect", "plain.nx"], words.clone()].concat());
        assert!(error.contains("--angle-unit radians"), "{words:?}: {error}");
    }
    let whole = std::f64::consts::PI * (VIEWS - 1) as f64 / VIEWS as f64;
    let words = ["--angles", &format!("0..{whole}"), "--angle-unit", "radians"];
    same(&volume(&folder, "plain.nx", &words), &expected, "a range in radians");
    // So in files: where units are wrong, they are said.
    let (frames, keys, degrees) = taken(&angles, &[0]);
    let radians: Vec<_> = degrees.iter().map(|angle| angle.to_radians()).collect();
    write_nxtomo(folder.path("radians.nx"), &frames, &keys, &radians);
    assert!(fails(&folder, &["inspect", "radians.nx"]).contains("--angle-unit radians"));
    same(&volume(&folder, "radians.nx", &["--angle-unit", "radians"]), &expected, "a file in radians");
}
