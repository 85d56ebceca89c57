//! Non-Cartesian MRI.

// Its callers are on their way.
#[cfg_attr(not(test), expect(dead_code))]
mod gpu;
