//! Records what the library was built from, and gives the shared object its soname or the DLL its version.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

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
