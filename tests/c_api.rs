//! Compiles each program in `tests/c` against the shared library as a C or C++ caller would, and runs it: plain, under
//! AddressSanitizer and UBSan, and under Valgrind. Each prints its failing cases and `N passed, N failed`. With the sanitizers always;
//! the others where `ISOC_TEST_RELEASE` is set, as `make test-release` does.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::thread;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
const C: [&str; 3] = ["-std=c11", "-x", "c"];
const CXX: [&str; 3] = ["-std=c++17", "-x", "c++"];
const SANITIZE: [&str; 3] =
    ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"];

/// A compiler, which the environment may choose, as in make.
fn tool(variable: &str, default: &str) -> String {
    env::var(variable).ok().filter(|v| !v.is_empty()).unwrap_or_else(|| default.into())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder for one test, emptied.
fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_api").join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for the test");
    path
}

/// The library of this build. Cargo leaves it beside the test executable, in the profile's folder, or in both; an older
/// build may have left one too, so the newest is right.
fn library() -> PathBuf {
    let exe = env::current_exe().expect("the test's own path");
    let beside = exe.parent().expect("a folder");
    let folders = [Some(beside), beside.parent()];
    let found = folders.into_iter().flatten().map(|f| f.join("libisocenter.so")).filter(|p| p.exists());
    let newest = found.max_by_key(|p| fs::metadata(p).and_then(|m| m.modified()).expect("a modification time"));
    newest.expect("libisocenter.so beside the test or in the profile's folder")
}

/// Puts the library into `folder` under its linking and its run-time name.
fn install(folder: &Path) {
    let (major, minor) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION_MINOR"));
    let soname = if major == "0" { format!("libisocenter.so.0.{minor}") } else { format!("libisocenter.so.{major}") };
    let library = library();
    for name in ["libisocenter.so", &soname] {
        symlink(&library, folder.join(name)).expect("a link to the library");
    }
}

fn programs() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("tests/c")).expect("tests/c").map(|f| f.expect("a file").path());
    let mut sources: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "c")).collect();
    sources.sort();
    assert!(!sources.is_empty(), "no programs in tests/c");
    sources
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn compile(compiler: &str, flags: &[&str], source: &Path, folder: &Path) -> PathBuf {
    let program = folder.join(source.file_stem().expect("a name"));
    let mut command = Command::new(compiler);
    command.args(["-g", "-O1", "-pthread"]).args(WARNINGS).args(flags);
    command.arg("-I").arg(root().join("include")).arg(source).args(["-x", "none"]);
    command.arg("-L").arg(folder).args(["-lisocenter", "-lm", "-o"]).arg(&program);
    let output = command.output().unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(output.status.success(), "{command:?}\n{}", text(&output));
    program
}

/// Compiles and runs a program; `runner` goes before its name on the command line. What it said, and whether it failed.
fn run(
    (name, folder): (&str, &Path),
    (compiler, flags): (&str, &[&str]),
    source: &Path,
    runner: &[&str],
    environment: &[(&str, &str)],
) -> (String, bool) {
    let program = compile(compiler, flags, source, folder);
    let mut words = runner.iter().map(|w| w.as_ref()).chain([program.as_os_str()]);
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).env("LD_LIBRARY_PATH", folder).envs(environment.iter().copied());
    let output = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let said = format!("{name}: {}: {}: {}", source.display(), output.status, text(&output).trim_end());
    (said, !output.status.success())
}

/// Every program, as many at a time as there are processors.
fn run_all(name: &str, compiler: &str, flags: &[&str], runner: &[&str], environment: &[(&str, &str)]) {
    let folder = folder(name);
    install(&folder);
    let left = Mutex::new(programs());
    let one_after_another = || {
        let next = || left.lock().expect("no thread fails with it").pop();
        let mut found = Vec::new();
        while let Some(source) = next() {
            found.push(run((name, &folder), (compiler, flags), &source, runner, environment));
        }
        found
    };
    let found: Vec<(String, bool)> = thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, |n| n.get());
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(one_after_another)).collect();
        running.into_iter().flat_map(|t| t.join().expect("a thread that did not fail")).collect()
    });
    found.iter().for_each(|(said, _)| println!("{said}"));
    assert!(found.iter().all(|(_, failed)| !failed), "{name}: see above");
}

/// Whether to go on: a missing tool is a failure where CI is set, and a remark elsewhere.
fn have(what: &str, found: bool) -> bool {
    let required = env::var("CI").is_ok_and(|v| v == "true");
    assert!(found || !required, "{what} is not installed");
    if !found {
        eprintln!("skipped: {what} is not installed");
    }
    found
}

/// Compiles and runs an empty program with the sanitizers.
fn sanitizers_work(compiler: &str) -> bool {
    let folder = folder("sanitizer-probe");
    let (source, program) = (folder.join("probe.c"), folder.join("probe"));
    fs::write(&source, "int main(void) { return 0; }\n").expect("a source file");
    let succeeds = |command: &mut Command| match command.output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            eprintln!("{command:?}\n{}", text(&output));
            false
        }
        Err(e) => {
            eprintln!("{command:?}: {e}");
            false
        }
    };
    // Where a process lies is random, and may be where a sanitizer's shadow has to be: the next one lies elsewhere.
    succeeds(Command::new(compiler).args(SANITIZE).arg(&source).arg("-o").arg(&program))
        && (0..3).any(|_| succeeds(&mut Command::new(&program)))
}

/// Whether all variants are asked for, and not just the one that finds most.
fn release() -> bool {
    let asked = env::var_os("ISOC_TEST_RELEASE").is_some_and(|v| !v.is_empty());
    if !asked {
        eprintln!("left to make test-release");
    }
    asked
}

#[test]
fn as_c() {
    if !release() {
        return;
    }
    run_all("c", &tool("CC", "cc"), &C, &[], &[]);
}

#[test]
fn as_cpp() {
    if !release() {
        return;
    }
    run_all("cpp", &tool("CXX", "c++"), &CXX, &[], &[]);
}

#[test]
fn with_sanitizers() {
    let compiler = tool("CC", "cc");
    if !have("a compiler with AddressSanitizer and UBSan", sanitizers_work(&compiler)) {
        return;
    }
    let flags = [C.as_slice(), &SANITIZE].concat();
    // The programs ask for more memory than there is, and want to hear so.
    let options = [
        ("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1"),
        ("UBSAN_OPTIONS", "print_stacktrace=1"),
        ("ISOC_TEST_ROUNDS", "300"),
    ];
    run_all("sanitizers", &compiler, &flags, &[], &options);
}

#[test]
fn under_valgrind() {
    if !release() {
        return;
    }
    let found = Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success());
    if !have("valgrind", found) {
        return;
    }
    // Rayon's and crossbeam's thread-local parts are freed late: "possibly lost" is no leak.
    let runner = [
        "valgrind",
        "--quiet",
        "--error-exitcode=99",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,indirect",
        "--show-leak-kinds=definite,indirect",
        "--num-callers=30",
        "--fair-sched=yes",
    ];
    // Valgrind knows no AVX-512.
    run_all("valgrind", &tool("CC", "cc"), &C, &runner, &[("ISOC_CPU_LEVEL", "avx2"), ("ISOC_TEST_ROUNDS", "30")]);
}

/// What a program hears that asks for a GPU while a driver of this kind is all there is; the automatic choice must work.
fn with_driver(name: &str, version: u32, init: u32) -> String {
    let folder = folder(name);
    install(&folder);
    let sources = root().join("tests/c/driver");
    let mut command = Command::new(tool("CC", "cc"));
    command.args(["-shared", "-fPIC"]).arg(format!("-DVERSION={version}")).arg(format!("-DINIT={init}"));
    command.arg(sources.join("stub.c")).arg("-o").arg(folder.join("libcuda.so"));
    let output = command.output().expect("a C compiler");
    assert!(output.status.success(), "{}", text(&output));
    let program = compile(&tool("CC", "cc"), &C, &sources.join("probe.c"), &folder);
    let output = Command::new(program).env("LD_LIBRARY_PATH", &folder).output().expect("the probe runs");
    assert!(output.status.success(), "{}", text(&output));
    let said = text(&output);
    assert!(said.ends_with("auto 0\n"), "{said}");
    said
}

#[test]
fn drivers_that_do_not_serve_are_named() {
    let said = with_driver("old-driver", 12080, 0);
    assert!(said.starts_with("25: ") && said.contains("CUDA 12.8") && said.contains("580"), "{said}");
    let said = with_driver("driver-without-gpu", 13000, 100);
    assert!(said.starts_with("24: ") && said.contains("no GPU"), "{said}");
    let said = with_driver("driver-that-counts-none", 13000, 0);
    assert!(said.starts_with("24: ") && said.contains("no GPU"), "{said}");
    let said = with_driver("driver-that-fails", 13000, 999);
    assert!(said.starts_with("27: ") && said.contains("cuInit") && said.contains("what the stub says"), "{said}");
}
