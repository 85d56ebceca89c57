//! Records what the library was built from, gives the shared object its soname or the DLL its version, and compiles the CUDA kernels.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

/// Compute capabilities with machine code of their own. 8.6's serves 8.9 too, which differs in nothing that the kernels use; PTX of
/// the first serves all others from it on.
const ARCHITECTURES: &[&str] = &["80", "86", "90", "100", "120"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    println!("cargo:rustc-env=ISOC_RUSTC={}", first_line(Command::new(rustc).arg("--version")));
    println!("cargo:rustc-env=ISOC_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo:rustc-env=ISOC_PROFILE={}", env::var("PROFILE").unwrap_or_default());
    // Before 1.0 the ABI may change with every minor version, so the library's run-time name carries both numbers.
    let major = env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    let minor = env::var("CARGO_PKG_VERSION_MINOR").unwrap_or_default();
    let abi = if major == "0" { format!("0.{minor}") } else { major };
    match env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libisocenter.so.{abi}");
            // Threads may still be ending when the last handle is gone: whoever unloads the library must not take their code away.
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos") => println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libisocenter.{abi}.dylib"),
        Ok("windows") if env::var("CARGO_CFG_TARGET_ENV").as_deref() == Ok("gnu") => {
            println!("cargo:rustc-cdylib-link-arg={}", version_resource().display());
            // The same sources give the same file: the linker leaves the day out.
            println!("cargo:rustc-cdylib-link-arg=-Wl,--no-insert-timestamp");
        }
        _ => {}
    }
    kernels();
}

/// What Windows shows of a DLL under Properties, Details, and what tells two of them apart: a DLL has no soname. Compiled by windres, which
/// comes with the linker; WINDRES names another.
fn version_resource() -> PathBuf {
    println!("cargo:rerun-if-env-changed=WINDRES");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (script, object) = (out.join("version.rc"), out.join("version.o"));
    let number = |part: &str| env::var(format!("CARGO_PKG_VERSION_{part}")).unwrap_or_default();
    let numbers = format!("{},{},{},0", number("MAJOR"), number("MINOR"), number("PATCH"));
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // 40004: NT; 2: a DLL; 0409 04b0: English, in UTF-16.
    let text = format!(
        "1 VERSIONINFO FILEVERSION {numbers} PRODUCTVERSION {numbers} FILEOS 0x40004 FILETYPE 2\nBEGIN\n\
         BLOCK \"StringFileInfo\" BEGIN BLOCK \"040904b0\" BEGIN\n\
         VALUE \"FileDescription\", \"Isocenter: image reconstruction\"\nVALUE \"FileVersion\", \"{version}\"\n\
         VALUE \"InternalName\", \"isocenter\"\nVALUE \"LegalCopyright\", \"MIT or Apache-2.0\"\n\
         VALUE \"OriginalFilename\", \"isocenter.dll\"\nVALUE \"ProductName\", \"Isocenter\"\n\
         VALUE \"ProductVersion\", \"{version}\"\nEND END\n\
         BLOCK \"VarFileInfo\" BEGIN VALUE \"Translation\", 0x409, 1200 END\nEND\n"
    );
    fs::write(&script, text).expect("OUT_DIR is writable");
    let named = env::var("WINDRES").ok().filter(|name| !name.is_empty());
    let names = named.map_or(vec!["x86_64-w64-mingw32-windres".into(), "windres".into()], |name| vec![name]);
    let run = |name: &String| Command::new(name).arg(&script).arg(&object).output().ok();
    let output = names.iter().find_map(run).unwrap_or_else(|| panic!("none of {names:?}, which belong to the linker"));
    assert!(output.status.success(), "windres failed:\n{}", String::from_utf8_lossy(&output.stderr));
    object
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().ok().and_then(|o| String::from_utf8(o.stdout).ok()).unwrap_or_default();
    output.trim().into()
}

/// Compiles `kernels/**/*.cu` to compressed fat binaries, and lists them in `images.rs` for `include!`.
fn kernels() {
    for name in ["ISOC_NVCC", "ISOC_CUDA_ARCHS", "ISOC_CUDA_LINEINFO", "CUDA_HOME", "CUDA_PATH", "PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=kernels");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let mut sources = Vec::new();
    collect(&root.join("kernels"), &mut sources);
    let nvcc = find_nvcc(&root);
    let archs = env::var("ISOC_CUDA_ARCHS").unwrap_or_else(|_| ARCHITECTURES.join(","));
    let archs: Vec<&str> = archs.split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
    let mut images = Vec::new();
    let mut built = String::new();
    match &nvcc {
        None => println!(
            "cargo:warning=no nvcc found (ISOC_NVCC, CUDA_HOME, CUDA_PATH, PATH, target/cuda): building without GPU kernels"
        ),
        Some(nvcc) => {
            // Beside OUT_DIR: clippy's builds have another one, and would compile all of it again.
            let kept = out.ancestors().nth(2).unwrap_or(&out).join("isocenter-kernels");
            fs::create_dir_all(&kept).expect("the build folder is writable");
            images = compile(nvcc, &archs, &root, &sources, &kept);
            built = format!("sm_{}, ptx {}", archs.join(" "), archs[0]);
        }
    }
    let mut list = format!(
        "/// What the kernels were compiled for; empty without them.\npub(super) const BUILT_FOR: &str = {built:?};\n"
    );
    list += "/// Fat binaries by the name of their source.\npub(super) static IMAGES: &[(&str, &[u8])] = &[\n";
    for (name, path) in images {
        list += &format!("    ({name:?}, include_bytes!({:?})),\n", path.display().to_string());
    }
    list += "];\n";
    fs::write(out.join("images.rs"), list).expect("OUT_DIR is writable");
}

/// The one that ISOC_NVCC names, a path, a program on PATH, or `none` for no kernels; without a name, the first that is found.
fn find_nvcc(root: &Path) -> Option<PathBuf> {
    let homes =
        ["CUDA_HOME", "CUDA_PATH"].iter().filter_map(env::var_os).map(|home| PathBuf::from(home).join("bin/nvcc"));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = |name: &Path| env::split_paths(&path).map(|folder| folder.join(name)).collect::<Vec<_>>();
    if let Some(named) = env::var_os("ISOC_NVCC").filter(|n| !n.is_empty()).map(PathBuf::from) {
        let places = if named.components().count() > 1 { vec![named.clone()] } else { on_path(&named) };
        let found = places.into_iter().find(|p| p.is_file());
        assert!(found.is_some() || named == Path::new("none"), "ISOC_NVCC is {}: no such file", named.display());
        return found;
    }
    let local = root.join("target/cuda/nvidia/cu13/bin/nvcc");
    homes.chain(on_path(Path::new("nvcc"))).chain([local]).find(|p| p.is_file())
}

/// All files below a folder, in order of their names.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).map(|list| list.filter_map(|e| Some(e.ok()?.path())).collect()).unwrap_or_default();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// A source and the project's headers that it includes, directly or through others, each once: what its machine code depends on
/// beside the compiler, whose own headers are included in angle brackets.
fn with_headers(source: &Path) -> Vec<PathBuf> {
    let mut files = vec![source.to_path_buf()];
    let mut next = 0;
    while let Some(file) = files.get(next).cloned() {
        for line in fs::read_to_string(&file).unwrap_or_default().lines() {
            let included = line.trim_start().strip_prefix("#include \"").and_then(|rest| rest.split('"').next());
            let header = included.and_then(|name| file.with_file_name(name).canonicalize().ok());
            files.extend(header.filter(|header| !files.contains(header)));
        }
        next += 1;
    }
    files
}

/// One fat binary for each source, several at a time; unchanged ones are taken from the last build.
fn compile(nvcc: &Path, archs: &[&str], root: &Path, files: &[PathBuf], out: &Path) -> Vec<(String, PathBuf)> {
    let mut flags: Vec<String> =
        ["-fatbin", "-O3", "-std=c++17", "--compress-mode=size", "-Werror", "all-warnings"].map(Into::into).to_vec();
    // Lines are for profilers alone, and with them the text of the PTX goes into each architecture's image: more than half of all bytes.
    if env::var_os("ISOC_CUDA_LINEINFO").is_some_and(|value| value == "1") {
        flags.push("-lineinfo".into());
    }
    for arch in archs {
        // Made once for two: 8.6 has the same PTX as 8.0, and 12.0's machine code is the same from 10.0's.
        let ptx = match *arch {
            "86" => "80",
            "120" => "100",
            own => own,
        };
        flags.push(format!("-gencode=arch=compute_{ptx},code=sm_{arch}"));
    }
    flags.push(format!("-gencode=arch=compute_{0},code=compute_{0}", archs[0]));
    let mut common = DefaultHasher::new();
    (first_line(Command::new(nvcc).arg("--version")), &flags).hash(&mut common);
    let sources: Vec<&PathBuf> = files.iter().filter(|f| f.extension().is_some_and(|e| e == "cu")).collect();
    let job = |source: &Path| -> (String, PathBuf) {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let folder = source.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let mut hash = common.clone();
        for file in with_headers(source) {
            fs::read(file).unwrap_or_default().hash(&mut hash);
        }
        let image = out.join(format!("{folder}_{name}_{:016x}.fatbin", hash.finish()));
        if !image.is_file() {
            let partial = image.with_extension(format!("partial{}", std::process::id()));
            // By its path in the project: the image holds the name.
            let named = source.strip_prefix(root).unwrap_or(source);
            let mut command = Command::new(nvcc);
            let result = command.current_dir(root).args(&flags).arg("-o").arg(&partial).arg(named).output();
            let result = result.unwrap_or_else(|e| panic!("{} did not start: {e}", nvcc.display()));
            let messages =
                String::from_utf8_lossy(&result.stdout).into_owned() + &String::from_utf8_lossy(&result.stderr);
            assert!(result.status.success(), "nvcc failed on {}:\n{messages}", source.display());
            fs::rename(&partial, &image).expect("the build folder is writable");
        }
        (format!("{folder}/{name}"), image)
    };
    let next = AtomicUsize::new(0);
    let threads = env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(2).min(sources.len()).max(1);
    let mut images: Vec<(String, PathBuf)> = std::thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push(job(source));
            }
            done
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
    });
    images.sort();
    images
}
