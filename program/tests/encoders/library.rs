//! C-Blosc's and LibLZF's encoders, in a shared library that is built apart (`program/encoders`): what the command is made of stays as it is
//! installed.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

type Blosc =
    unsafe extern "C" fn(*const c_char, c_int, c_int, usize, usize, *const c_void, *mut c_void, usize) -> usize;
type Lzf = unsafe extern "C" fn(c_uint, *const c_void, *mut c_void, c_uint) -> usize;

pub struct Library {
    pub blosc: Blosc,
    pub lzf: Lzf,
}

pub fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("encoders");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/encoders/Cargo.toml");
        let words = ["build", "--quiet", "--release", "--locked", "--manifest-path", manifest, "--target-dir"];
        let built = Command::new(env!("CARGO")).args(words).arg(&folder).status().expect("cargo");
        assert!(built.success(), "{manifest}: not built");
        let file = folder.join("release").join(format!("libisocenter_encoders{}", std::env::consts::DLL_SUFFIX));
        let file = CString::new(file.into_os_string().into_encoded_bytes()).expect("a path");
        // SAFETY: a library of the project's, which does nothing when it is loaded, and stays.
        let library = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!library.is_null(), "{file:?}: not loaded");
        let named = |name: &CStr| {
            // SAFETY: a loaded library and a name.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            assert!(!found.is_null(), "{name:?}: not found");
            found
        };
        // SAFETY: as `program/encoders/src/lib.rs` declares them.
        unsafe {
            Library {
                blosc: std::mem::transmute::<*mut c_void, Blosc>(named(c"isoc_encode_blosc")),
                lzf: std::mem::transmute::<*mut c_void, Lzf>(named(c"isoc_encode_lzf")),
            }
        }
    })
}
