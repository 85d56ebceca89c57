//! From a CT's values to attenuation at 511 keV.
//!
//! Two lines: one for mixtures of air, water and soft tissue, whatever the tube's voltage, and one for bone, whose slope and place depend on it: J. P. J. Carney,
//! D. W. Townsend, V. Rappoport, B. Bendriem, "Method for transforming CT images for attenuation correction in PET/CT imaging", Med. Phys. 33(4), 2006, table I.

use isocenter_base::error::{Result, fail};

/// A line's slope, 1/mm for each unit above air.
const TISSUE: f64 = 9.6e-6;
/// kV; slope of bone, 1/mm a unit; where it begins, in units above air.
const BONE: [[f64; 3]; 6] = [
    [80.0, 3.64e-6, 1050.0],
    [100.0, 4.43e-6, 1052.0],
    [110.0, 4.92e-6, 1043.0],
    [120.0, 5.10e-6, 1047.0],
    [130.0, 5.51e-6, 1037.0],
    [140.0, 5.64e-6, 1030.0],
];

/// From Hounsfield units to attenuation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hounsfield {
    slope: f64,
    begin: f64,
}

impl Hounsfield {
    /// For a tube's peak voltage; between those of the table, in between.
    pub fn new(kilovolts: f64) -> Result<Self> {
        let (low, high) = (BONE[0][0], BONE[BONE.len() - 1][0]);
        if !(kilovolts >= low && kilovolts <= high) {
            fail!(OutOfRange, "kilovolts is {kilovolts}; it must be {low} to {high}");
        }
        let after = BONE.iter().position(|[kv, ..]| *kv >= kilovolts).unwrap_or(0).max(1);
        let ([a, slope, begin], [b, slope_b, begin_b]) = (BONE[after - 1], BONE[after]);
        let part = (kilovolts - a) / (b - a);
        Ok(Self { slope: slope + part * (slope_b - slope), begin: begin + part * (begin_b - begin) })
    }

    /// 1/mm; 0 below air.
    pub fn attenuation(&self, units: f64) -> f64 {
        let above = (units + 1000.0).max(0.0);
        TISSUE * above.min(self.begin) + self.slope * (above - self.begin).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tissue_and_bone_have_their_attenuation() {
        for kilovolts in [80.0, 100.0, 120.0, 125.0, 140.0] {
            let of = Hounsfield::new(kilovolts).expect("a line");
            assert_eq!(of.attenuation(-1000.0), 0.0);
            assert_eq!(of.attenuation(-1024.0), 0.0);
            assert!((of.attenuation(0.0) - 0.0096).abs() < 1e-15);
            assert!((of.attenuation(-700.0) - 0.3 * 0.0096).abs() < 1e-15, "lung");
        }
        // The table's other column: where the line of bone would meet that of air, 1/mm.
        for (kilovolts, offset) in
            [(80.0, 6.26e-3), (100.0, 5.44e-3), (110.0, 4.88e-3), (120.0, 4.71e-3), (140.0, 4.08e-3)]
        {
            let of = Hounsfield::new(kilovolts).expect("a line");
            let above = of.attenuation(1000.0) - 2000.0 * of.slope;
            // Both of three digits.
            assert!((above - offset).abs() < 2e-5, "{kilovolts} kV: {above} {offset}");
        }
        let between = Hounsfield::new(125.0).expect("a line");
        let mean = |f: fn(&Hounsfield) -> f64| {
            0.5 * [120.0, 130.0].map(|kv| f(&Hounsfield::new(kv).expect("a line"))).iter().sum::<f64>()
        };
        assert!((between.slope - mean(|h| h.slope)).abs() < 1e-15);
        assert!((between.begin - mean(|h| h.begin)).abs() < 1e-9);
    }

    #[test]
    fn other_voltages_are_refused() {
        for kilovolts in [0.12, 70.0, 511.0, f64::NAN] {
            let e = Hounsfield::new(kilovolts).expect_err("refused");
            assert_eq!(e.message, format!("kilovolts is {kilovolts}; it must be 80 to 140"));
        }
    }
}
