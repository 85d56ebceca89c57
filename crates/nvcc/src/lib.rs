//! CUDA's compiler, for the build scripts of the crates that have kernels: `kernels/<room>/*.cu` become compressed fat binaries, and
//! `images.rs` in the crate's `OUT_DIR` a static `Image` each, for `include!` beside `use isocenter_base::gpu::Image`.
//!
//! It compiles a source once for each set of architectures and keeps the result beside the build folders, by a hash of all that the
//! source includes; clippy, tests and builds share it. Without a compiler the images are empty, and a warning says so.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs};

/// Compute capabilities with machine code of their own. 8.6's serves 8.9 too, which differs in nothing that the kernels use; PTX of
/// the first serves all others from it on.
const ARCHITECTURES: &[&str] = &["80", "86", "90", "100", "120"];

/// What a build script runs: compiles the kernels of `kernels/<room>`.
///
/// # Panics
/// Where the compiler that `ISOC_NVCC` names is missing, a kernel does not compile, or a file cannot be written: the build ends.
pub fn compile(room: &str) {
    for name in ["ISOC_NVCC", "ISOC_CUDA_ARCHS", "ISOC_CUDA_LINEINFO", "CUDA_HOME", "CUDA_PATH", "PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let root = own.ancestors().nth(2).expect("a crate lies in crates/").to_path_buf();
    let sources = sources(&root.join("kernels").join(room));
    println!("cargo:rerun-if-changed={}", root.join("kernels").join(room).display());
    for file in sources.iter().flat_map(|source| with_headers(source)) {
        println!("cargo:rerun-if-changed={}", file.display());
    }
    let nvcc = find_nvcc(&root);
    let archs = env::var("ISOC_CUDA_ARCHS").unwrap_or_else(|_| ARCHITECTURES.join(","));
    let archs: Vec<&str> = archs.split(',').map(str::trim).filter(|a| !a.is_empty()).collect();
    let mut built = String::new();
    let images = match &nvcc {
        None => {
            println!(
                "cargo:warning=no nvcc found (ISOC_NVCC, CUDA_HOME, CUDA_PATH, PATH, target/cuda): building without GPU kernels"
            );
            vec![None; sources.len()]
        }
        Some(nvcc) => {
            // Beside OUT_DIR: clippy's builds have another one, and would compile all of it again.
            let kept = out.ancestors().nth(2).unwrap_or(&out).join("isocenter-kernels");
            fs::create_dir_all(&kept).expect("the build folder is writable");
            built = format!("sm_{}, ptx {}", archs.join(" "), archs[0]);
            compile_all(nvcc, &archs, &root, &sources, &kept)
        }
    };
    let mut list = String::new();
    for (source, image) in sources.iter().zip(images) {
        let name = source.file_stem().unwrap_or_default().to_string_lossy();
        let binary =
            image.map_or("&[]".into(), |path: PathBuf| format!("include_bytes!({:?})", path.display().to_string()));
        let (upper, label) = (name.to_uppercase(), format!("{room}/{name}"));
        list += &format!(
            "/// `kernels/{label}.cu`\npub static {upper}: Image = Image::new({label:?}, {binary}, {built:?});\n"
        );
    }
    fs::write(out.join("images.rs"), list).expect("OUT_DIR is writable");
}

/// The folder's kernels, the largest first: the compiler's time goes by the size, and the last one should be short.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let list = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = list.filter_map(|e| Some(e.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "cu"));
    files.sort_by_key(|path| (std::cmp::Reverse(fs::metadata(path).map_or(0, |m| m.len())), path.clone()));
    files
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
fn compile_all(nvcc: &Path, archs: &[&str], root: &Path, sources: &[PathBuf], out: &Path) -> Vec<Option<PathBuf>> {
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
    let job = |source: &Path| -> PathBuf {
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
        image
    };
    let next = AtomicUsize::new(0);
    let threads = env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(2).min(sources.len()).max(1);
    let mut images = vec![None; sources.len()];
    std::thread::scope(|scope| {
        let worker = || {
            let mut done = Vec::new();
            loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                let Some(source) = sources.get(k) else { return done };
                done.push((k, job(source)));
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            for (k, image) in worker.join().unwrap_or_else(|e| std::panic::resume_unwind(e)) {
                images[k] = Some(image);
            }
        }
    });
    images
}

fn first_line(command: &mut Command) -> String {
    let output = command.output().ok().and_then(|o| String::from_utf8(o.stdout).ok()).unwrap_or_default();
    output.trim().into()
}
