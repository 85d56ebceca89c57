//! `include/isocenter.h` is what cbindgen makes of `src/ffi`. `ISOC_BLESS=1 cargo test --test header` rewrites it.

use std::path::Path;

#[test]
fn header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cbindgen.toml");
    let mut builder = cbindgen::Builder::new().with_config(config);
    let mut enums = Vec::new();
    for source in [
        "crates/base/src/error.rs",
        "src/ffi/tensor.rs",
        "src/ffi/context.rs",
        "src/ffi/host.rs",
        "src/ffi/ct/plan.rs",
        "src/ffi/ct/geometry.rs",
        "src/ffi/ct/options.rs",
        "src/ffi/ct/outliers.rs",
        "src/ffi/ct/distortion.rs",
        "src/ffi/ct/phase.rs",
        "src/ffi/ct/flat_field.rs",
        "src/ffi/ct/flat_fit.rs",
        "src/ffi/ct/stripes.rs",
        "src/ffi/ct/half_acquisition.rs",
        "src/ffi/ct/output.rs",
        "src/ffi/ct/info.rs",
        "src/ffi/ct/iterative.rs",
        "src/ffi/ct/operators.rs",
        "src/ffi/ct/data.rs",
        "src/ffi/ct/axis.rs",
        "src/ffi/ct/bad_views.rs",
        "src/ffi/ct/noise.rs",
        "src/ffi/mri/plan.rs",
        "src/ffi/mri/geometry.rs",
        "src/ffi/mri/options.rs",
        "src/ffi/mri/inputs.rs",
        "src/ffi/mri/series.rs",
        "src/ffi/mri/info.rs",
        "src/ffi/mri/operators.rs",
        "src/ffi/mri/stream.rs",
        "src/ffi/mri/delays.rs",
        "src/ffi/mri/maps.rs",
        "src/ffi/mri/q.rs",
        "src/ffi/mri/phantom.rs",
        "src/ffi/mri/measures.rs",
        "src/ffi/mri/coils.rs",
        "src/ffi/pet/plan.rs",
        "src/ffi/pet/prior.rs",
        "src/ffi/pet/geometry.rs",
        "src/ffi/pet/response.rs",
        "src/ffi/pet/scanner.rs",
        "src/ffi/pet/pairs.rs",
        "src/ffi/pet/tables.rs",
        "src/ffi/pet/options.rs",
        "src/ffi/pet/info.rs",
        "src/ffi/pet/operators.rs",
        "src/ffi/pet/events.rs",
        "src/ffi/pet/detect.rs",
        "src/ffi/pet/corrections.rs",
        "src/ffi/pet/background.rs",
        "src/ffi/pet/memory.rs",
        "src/ffi/pet/lines.rs",
        "src/ffi/pet/phantom.rs",
        "src/ffi/pet/simulation.rs",
        "src/ffi/pet/measures.rs",
    ] {
        builder = builder.with_src(root.join(source));
        let text = std::fs::read_to_string(root.join(source)).expect("a source");
        let names = text.lines().filter_map(|l| l.strip_prefix("pub enum isoc_"));
        enums.extend(names.map(|l| format!("isoc_{}", l.trim_end_matches(" {"))));
    }
    let bindings = builder.generate().expect("cbindgen");
    let mut made = Vec::new();
    bindings.write(&mut made);
    let made = for_c(&String::from_utf8(made).expect("UTF-8"));
    // No signature names them (structs and calls take integers), so cbindgen must be told of each.
    for name in enums {
        assert!(made.contains(&format!(" {name};\nenum {{")), "cbindgen.toml does not export {name}");
    }
    let path = root.join("include/isocenter.h");
    if std::env::var_os("ISOC_BLESS").is_some() {
        std::fs::write(&path, &made).expect("write the header");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(made == committed, "include/isocenter.h differs from src/ffi: run ISOC_BLESS=1 cargo test --test header");
}

/// The header without what only Rust needs. cbindgen guards each enum's integer type with nine lines of conditions for C, C++ and C23. An integer typedef beside an
/// enum of constants says the same in every dialect, and reads better.
fn for_c(header: &str) -> String {
    let mut out = String::new();
    let mut lines = header.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        if let Some(name) = line.strip_prefix("enum ").filter(|_| next.starts_with("#if defined(__cplusplus) ||")) {
            lines.next();
            let integer = lines.next().and_then(|l| l.trim().strip_prefix(": ")).expect("an integer type");
            lines.next();
            out += &format!("typedef {integer} {name};\nenum {{\n");
            assert_eq!(lines.next().map(str::trim), Some("{"));
        } else if line == "#ifndef __cplusplus" && next.starts_with("#if __STDC_VERSION__") {
            lines.by_ref().take_while(|l| *l != "#endif // __cplusplus").for_each(drop);
        } else if line == "//" && next == "// # Safety" {
            // Rust's words for what the header's introduction says once.
            while lines.next_if(|l| l.starts_with("//")).is_some() {}
        } else if line == "//" && next.starts_with("enum ") {
            // What a cbindgen annotation leaves behind.
        } else {
            out += line;
            out.push('\n');
        }
    }
    out
}
