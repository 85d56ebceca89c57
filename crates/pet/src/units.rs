//! Units that numbers seem to be in, where they are not in those of the interface: mm, ps.

use std::fmt;

/// Units that lengths are given in by mistake, in mm.
const LENGTHS: [(&str, f64); 3] = [("cm", 10.0), ("m", 1e3), ("um", 1e-3)];
/// And times, in ps.
const TIMES: [(&str, f64); 4] = [("ns", 1e3), ("s", 1e12), ("fs", 1e-3), ("us", 1e6)];

/// What a parameter is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Millimetre,
    Picosecond,
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Millimetre => "mm",
            Unit::Picosecond => "ps",
        }
    }

    /// For the end of a message on a value that is not between two bounds: the unit in which it would be, if there is one.
    pub(super) fn hint(self, value: f64, [low, high]: [f64; 2]) -> String {
        let others: &[_] = if self == Unit::Millimetre { &LENGTHS } else { &TIMES };
        let fits = |(_, factor): &&(&str, f64)| (low..=high).contains(&(value * factor));
        match others.iter().find(fits) {
            Some((name, factor)) => {
                format!(" ({} {name} would be {} {})", Short(value), Short(value * factor), self.name())
            }
            None => String::new(),
        }
    }
}

/// A number to three digits.
pub(super) struct Short(pub(super) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let three = format!("{:.2e}", self.0).parse().unwrap_or(self.0);
        if three == 0.0 || (1e-4..1e7).contains(&three.abs()) { write!(f, "{three}") } else { write!(f, "{three:e}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let text = |v| Short(v).to_string();
        let numbers = [0.3, 1.2567, 230.43, 120_000.0, 3e-10, 0.0, 1e300, 576.0];
        assert_eq!(numbers.map(text), ["0.3", "1.26", "230", "120000", "3e-10", "0", "1e300", "576"]);
    }
}
