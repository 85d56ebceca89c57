//! 16-bit floats, which Rust has no type for.

/// The bits of an IEEE 754 binary16.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct F16(pub u16);

impl F16 {
    /// Its largest number.
    pub const MAX: f32 = 65504.0;

    /// The nearest to a number from -65504 to 65504, the even one at a tie. Loops over it are vectorised by the compiler.
    #[inline(always)]
    pub fn nearest(v: f32) -> Self {
        // Exponents of f32 and f16 are 112 apart; below 2^-14 numbers of f16 are multiples of 2^-24, the last place of f32 about 1/2.
        const APART: u32 = 112 << 23;
        const SUBNORMAL: u32 = 113 << 23;
        let sign = v.to_bits() & 1 << 31;
        let bits = v.to_bits() ^ sign;
        let small = (f32::from_bits(bits) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        // Half of the last place, or just less than that after an even number.
        let rounded = bits.wrapping_sub(APART).wrapping_add(0xfff + (bits >> 13 & 1)) >> 13;
        Self((sign >> 16 | if bits < SUBNORMAL { small } else { rounded }) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every f32 between neighbours that matters: each f16, the middles between two, and what is next to them.
    #[test]
    fn numbers_go_to_the_nearest() {
        let largest = half::f16::MAX.to_bits();
        for bits in 0..=largest {
            let [a, b] = [bits, bits + 1].map(|bits| half::f16::from_bits(bits).to_f32());
            let middle = 0.5 * (a + if bits == largest { a } else { b });
            for v in [a, middle, a.next_up(), middle.next_down(), middle.next_up()] {
                let v = v.clamp(0.0, F16::MAX);
                for v in [v, -v] {
                    assert_eq!(F16::nearest(v).0, half::f16::from_f32(v).to_bits(), "{v:e}");
                }
            }
        }
        assert_eq!(F16::nearest(f32::MIN_POSITIVE / 8.0).0, 0);
    }
}
