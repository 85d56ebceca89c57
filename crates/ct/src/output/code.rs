//! The numbers of the conversion. All of it is in f64, each operation rounded by itself, so that the processor and GPUs store the same.

use super::options::Output;
use isocenter_base::array::DType;
use isocenter_base::cpu::half::F16;

/// What a value becomes: `x = (value - low) * scale`, between `floor` and `top`; integers are the nearest to x, even ones at ties, f16 the
/// nearest to x as f32. f32 stay as they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Code {
    pub(crate) dtype: DType,
    /// Values below the first and above the second are counted as clipped.
    pub(crate) limits: [f64; 2],
    pub(crate) low: f64,
    pub(crate) scale: f64,
    pub(crate) floor: f64,
    pub(crate) top: f64,
    /// Of the histogram; 0 for none. Integers are counted by `stored * bins / (largest + 1)`, others by
    /// `(value - limits[0]) * bin_scale`, rounded down, what is clipped in the bins at the ends.
    pub(crate) bins: usize,
    pub(crate) bin_scale: f64,
}

impl Code {
    /// `window` has low and high, where the output has a window.
    pub(crate) fn new(output: &Output, window: Option<[f64; 2]>) -> Self {
        let dtype = output.dtype;
        let (low, high) = window.map_or((0.0, 1.0), |[low, high]| (low, high));
        let bins = output.histogram_bins;
        let largest = f64::from(F16::MAX);
        let plain = Self {
            dtype,
            limits: window.unwrap_or([f64::NEG_INFINITY, f64::INFINITY]),
            low: 0.0,
            scale: 1.0,
            floor: -largest,
            top: largest,
            bins,
            bin_scale: bins as f64 / (high - low),
        };
        let of_window = |top: f64| Self { low, scale: top / (high - low), floor: 0.0, top, ..plain };
        match dtype {
            DType::U8 => of_window(u8::MAX.into()),
            DType::U16 => of_window(u16::MAX.into()),
            DType::F16 if output.mapped => of_window(1.0),
            DType::F16 if window.is_none() => Self { limits: [-largest, largest], ..plain },
            _ => plain,
        }
    }

    /// value = offset + slope * stored.
    pub(crate) fn line(&self) -> [f64; 2] {
        [1.0 / self.scale, self.low]
    }

    #[inline(always)]
    pub(super) fn place(&self, value: f32) -> f64 {
        ((f64::from(value) - self.low) * self.scale).max(self.floor).min(self.top)
    }

    /// The histogram's bin of a value that is stored as a float.
    #[inline(always)]
    pub(super) fn bin(&self, value: f32) -> usize {
        // Below 0, and NaN, is 0.
        (((f64::from(value) - self.limits[0]) * self.bin_scale) as usize).min(self.bins - 1)
    }
}

/// 2^52: of a sum with a number from 0 to 2^52 the last bits are the nearest integer, the even one at a tie.
const NEAREST: f64 = 4_503_599_627_370_496.0;

/// An integer between 0 and 2^52 nearest to x, its last bits.
#[inline(always)]
pub(super) fn nearest(x: f64) -> u64 {
    (x + NEAREST).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::options::Window;

    #[test]
    fn ties_go_to_even() {
        let bits = |x| nearest(x) as u16;
        let halves = [0.0, 0.5, 1.5, 2.5, 254.5, 65534.5, 65535.0];
        assert_eq!(halves.map(bits), [0, 0, 2, 2, 254, 65534, 65535]);
    }

    #[test]
    fn both_ends_of_the_window_are_both_ends_of_the_integers() {
        let [low, high] = [-0.25, 1.0];
        let output = Output { dtype: DType::U8, window: Some(Window::Given { low, high }), ..Output::default() };
        let code = Code::new(&output, Some([low, high]));
        assert_eq!([-1.0, -0.25, 0.375, 1.0, 7.0].map(|v| code.place(v)), [0.0, 0.0, 127.5, 255.0, 255.0]);
        assert_eq!(code.place(f32::NAN), 0.0);
        let [slope, offset] = code.line();
        assert!((offset + slope * 255.0 - 1.0).abs() < 1e-15);
    }
}
