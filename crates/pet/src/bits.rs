//! Numbers that look as if they were drawn, by what they belong to: the same whenever and wherever they are made.

/// C. Wellons' "lowbias32", one to one.
#[inline(always)]
pub(super) fn mix(mut bits: u32) -> u32 {
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x7feb_352d);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x846c_a68b);
    bits ^ (bits >> 16)
}

/// Number `which` of those that belong to some bits, from -1/2 to 1/2, neither of which it is.
#[inline(always)]
pub(super) fn centred(bits: u32, which: u32) -> f64 {
    let bits = mix(bits.wrapping_add(which.wrapping_mul(0x9e37_79b9)));
    (f64::from((bits >> 1) as i32) + 0.5) * (1.0 / (1u32 << 31) as f64) - 0.5
}
