//! The demos' reader of NumPy files: what it takes, and that it refuses everything else in words and without a fault.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A file of the given version; `length` is what it says of its header's, by default the truth.
fn file(version: u8, header: &str, length: Option<usize>, data: &[u8]) -> Vec<u8> {
    let length = length.unwrap_or(header.len());
    let digits = if version == 2 { 4 } else { 2 };
    let fixed = [b"\x93NUMPY".as_slice(), &[version, 0], &length.to_le_bytes()[..digits]];
    [&fixed.concat(), header.as_bytes(), data].concat()
}

/// Of version 1, as NumPy writes it.
fn plain(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    file(1, &format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}    \n"), None, data)
}

fn bytes<const N: usize, T>(values: &[T], encode: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(encode).collect()
}

/// The program with the reader in it, with the sanitizers where the compiler has them.
fn program(folder: &Path) -> PathBuf {
    let examples = root().join("cbindings/examples/c");
    let program = folder.join("show");
    let compiler = std::env::var("CC").ok().filter(|c| !c.is_empty()).unwrap_or_else(|| "cc".into());
    let build = |flags: &[&str]| {
        let mut command = Command::new(&compiler);
        command.args(["-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]).args(flags);
        command.arg("-I").arg(root().join("include")).arg("-I").arg(&examples);
        command.arg(root().join("tests/c/npy/show.c")).arg(examples.join("npy.c")).arg("-o").arg(&program);
        command.output().expect("a C compiler")
    };
    let sanitized = build(&["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]);
    if !sanitized.status.success() {
        let output = build(&[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    program
}

#[test]
fn numpy_files_are_read_or_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npy");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    let six32 = bytes(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.5], |v| v.to_le_bytes());
    let six64 = bytes(&[0.0f64, 1.0, 2.0, 3.0, 4.0, 5.25], |v| v.to_le_bytes());
    let good = |descr, shape| plain(descr, "False", shape, &six32);
    let too_deep = format!("({}6,)", "1, ".repeat(8));
    let cases = [
        // Type, then size/stride of each dimension, then the last number.
        (good("<f4", "(2, 3)"), "2.32 2/3 3/1 5.5", ""),
        (plain("<f4", "True", "(2, 3)", &six32), "2.32 2/1 3/2 5.5", ""),
        (good("<f4", "(1, 2, 3)"), "2.32 1/6 2/3 3/1 5.5", ""),
        (good("<c8", "(3,)"), "5.64 3/1 5.5", ""),
        (plain("<f8", "False", "(6,)", &six64), "2.64 6/1 5.25", ""),
        (plain("<c16", "True", "(3, 1)", &six64), "5.128 3/1 1/3 5.25", ""),
        (plain("<f8", "False", "()", &six64[40..]), "2.64 5.25", ""),
        (file(2, "{'shape': (6,), 'fortran_order': False, 'descr': '<f4'}", None, &six32), "2.32 6/1 5.5", ""),
        // Not one of these.
        (Vec::new(), "", "ends too early"),
        (b"\x89HDF\r\n\x1a\n".to_vec(), "", "not a NumPy .npy file"),
        (file(3, "{}", None, &[]), "", "version must be 1 or 2"),
        (file(1, "{}", Some(60), &[]), "", "ends too early"),
        (file(2, "{}", Some(u32::MAX as usize), &[]), "", "longer than 1 MiB"),
        (file(1, "{}", None, &[]), "", "must be little-endian float32"),
        (good(">f4", "(6,)"), "", "must be little-endian float32"),
        (good("<i4", "(6,)"), "", "must be little-endian float32"),
        (plain("<f4", "Maybe", "(6,)", &six32), "", "no fortran_order"),
        (good("<f4", "6"), "", "no shape"),
        (good("<f4", "(2, -3)"), "", "no shape"),
        (good("<f4", "(2 3)"), "", "no shape"),
        (good("<f4", "(99999999999999999999,)"), "", "no shape"),
        (good("<f4", &too_deep), "", "no shape"),
        (file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (6", None, &[]), "", "no shape"),
        (good("<f4", "(0, 3)"), "", "empty or too large"),
        (good("<f4", "(4294967296, 4294967296)"), "", "empty or too large"),
        (good("<f4", "(7,)"), "", "ends too early"),
        (good("<f4", "(5,)"), "", "more in the file than its shape says"),
    ];
    let program = program(&folder);
    for (k, (content, printed, said)) in cases.iter().enumerate() {
        let path = folder.join(format!("{k}.npy"));
        fs::write(&path, content).expect("a file");
        let output = Command::new(&program).arg(&path).output().expect("the program runs");
        let (seen, heard) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let what = String::from_utf8_lossy(content);
        assert!(output.status.success(), "case {k}, {what:?}: {heard}");
        let expected = if said.is_empty() { *printed } else { "refused" };
        assert_eq!(seen.trim_end(), expected, "case {k}, {what:?}: {heard}");
        assert!(heard.contains(said) && heard.is_empty() == said.is_empty(), "case {k}, {what:?}: {heard}");
    }
    let output = Command::new(&program).arg(folder.join("absent.npy")).output().expect("the program runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("No such file"), "{output:?}");
}
