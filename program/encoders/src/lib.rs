//! C-Blosc's and LibLZF's encoders behind functions of C.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// C-Blosc's, with its own words and in one thread: bytes of what it wrote; none where they do not fit.
///
/// # Safety
/// So many bytes can be read and written there; the codec's name is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_encode_blosc(
    codec: *const c_char,
    level: c_int,
    shuffle: c_int,
    element: usize,
    bytes: usize,
    from: *const c_void,
    to: *mut c_void,
    room: usize,
) -> usize {
    // SAFETY: as the caller promises; 0: blocks of a size that it chooses.
    let written = unsafe { blosc_src::blosc_compress_ctx(level, shuffle, element, bytes, from, to, room, codec, 0, 1) };
    written.try_into().unwrap_or(0)
}

/// LibLZF's: bytes of what it wrote; none where they do not fit.
///
/// # Safety
/// So many bytes can be read and written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn isoc_encode_lzf(bytes: c_uint, from: *const c_void, to: *mut c_void, room: c_uint) -> usize {
    // SAFETY: as the caller promises.
    unsafe { lzf_sys::lzf_compress(from, bytes, to, room) as usize }
}
