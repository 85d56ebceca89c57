//! Records what the library was built from, and gives the shared object its soname.

use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc)
        .arg("--version")
        .output()
        .ok()
        .and_then(|o| String::from_utf8(o.stdout).ok())
        .unwrap_or_default();
    println!("cargo:rustc-env=ISOC_RUSTC={}", version.trim());
    println!("cargo:rustc-env=ISOC_TARGET={}", env::var("TARGET").unwrap_or_default());
    println!("cargo:rustc-env=ISOC_PROFILE={}", env::var("PROFILE").unwrap_or_default());
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // Before 1.0 the ABI may change with every minor version, so the soname carries both numbers.
        let major = env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
        let minor = env::var("CARGO_PKG_VERSION_MINOR").unwrap_or_default();
        let abi = if major == "0" { format!("0.{minor}") } else { major };
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libisocenter.so.{abi}");
    }
}
