//! From transmissions to line integrals.

use wide::f32x8;

/// -ln of values, none of them below `minimum`.
pub(super) fn logarithm(values: &mut [f32], minimum: f32) {
    let minimum = f32x8::splat(minimum);
    for v in values.chunks_mut(8) {
        let n = v.len();
        let mut lanes = [1.0; 8];
        lanes[..n].copy_from_slice(v);
        v.copy_from_slice(&(-f32x8::new(lanes).max(minimum).ln()).to_array()[..n]);
    }
}
