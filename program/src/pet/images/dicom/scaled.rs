//! Values as integers of 16 bits with a slope for each frame.

use super::decimal;

pub struct Scaled {
    /// Those of signed ones are their bits.
    pub stored: Vec<u16>,
    pub slopes: Vec<f64>,
    /// Whether any value is below 0.
    pub is_signed: bool,
}

impl Scaled {
    /// Of finite values of each frame. Slopes are as the 16 characters hold them that DICOM has for them.
    pub fn new(frames: &[&[f32]]) -> Self {
        let is_signed = frames.iter().any(|values| values.iter().any(|v| *v < 0.0));
        let most = f64::from(if is_signed { i16::MAX as u16 } else { u16::MAX });
        let (mut stored, mut slopes) = (Vec::with_capacity(frames.iter().map(|values| values.len()).sum()), Vec::new());
        for values in frames {
            let largest = f64::from(values.iter().fold(0.0f32, |largest, v| largest.max(v.abs())));
            let slope = if largest > 0.0 { decimal(largest / most).parse().unwrap_or(largest / most) } else { 1.0 };
            let integer = |v: &f32| (f64::from(*v) / slope).round_ties_even();
            stored.extend(values.iter().map(|v| if is_signed { integer(v) as i16 as u16 } else { integer(v) as u16 }));
            slopes.push(slope);
        }
        Self { stored, slopes, is_signed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half a step of the frame's own maximum over 65535, or 32767, and what rounding of the slope adds, 1e-9 of 65535 steps.
    #[test]
    fn values_come_back_to_half_a_step() {
        let low = [0.0, 0.1, 0.37, 1.0, 3.0];
        let high = low.map(|v| 1000.0 * v + 0.013);
        for shift in [0.0, -0.5] {
            let frames = [low.map(|v| v + shift), high.map(|v| v + shift), [0.0; 5]];
            let made = Scaled::new(&frames.each_ref().map(|values| &values[..]));
            assert_eq!(made.is_signed, shift < 0.0);
            for (k, values) in frames.iter().enumerate() {
                for (v, stored) in values.iter().zip(&made.stored[5 * k..]) {
                    let stored = if made.is_signed { f64::from(*stored as i16) } else { f64::from(*stored) };
                    assert!((stored * made.slopes[k] - f64::from(*v)).abs() <= made.slopes[k] * (0.5 + 1e-4), "{v}");
                }
            }
        }
    }
}
