//! Values to try: one slice with each.

use clap::Args;

#[derive(Clone, Debug, Default, Args)]
pub struct Trial {
    /// Just make one slice, of the middle of --rows, with each of these axes, LAST included: a sheet to choose from
    #[arg(
        long,
        value_name = "FIRST..LAST:STEP",
        value_parser = axes,
        allow_hyphen_values = true,
        conflicts_with_all = ["axis", "probe", "begin"]
    )]
    pub try_axis: Option<Axes>,
    /// Just make one slice, of the middle of --rows, with each way to remove stripes: a sheet to choose from
    #[arg(
        long,
        conflicts_with_all = ["try_axis", "probe", "begin", "stripes", "snr", "large_window", "small_window", "stripe_alpha", "stripe_sigma"]
    )]
    pub try_stripes: bool,
}

impl Trial {
    pub fn wanted(&self) -> bool {
        self.try_axis.is_some() || self.try_stripes
    }
}

/// Axes as they are said, and what they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes(pub Vec<(String, f64)>);

/// Values that are tried, at most.
const MOST: i64 = 100;
/// Digits behind the point, at most.
const DIGITS: usize = 6;

/// A number in units of its last digit, and how many digits are behind its point.
fn number(text: &str) -> Option<(i64, usize)> {
    let text = text.trim();
    let digits = text.split_once('.').map_or(0, |(_, behind)| behind.len());
    let plain = text.strip_prefix('-').unwrap_or(text);
    let known = !plain.is_empty() && plain.chars().all(|c| c.is_ascii_digit() || c == '.');
    let units = text.replacen('.', "", 1).parse().ok();
    units.filter(|_| known && digits <= DIGITS).map(|units| (units, digits))
}

fn axes(text: &str) -> Result<Axes, String> {
    let expected =
        || format!("three numbers are expected, of up to {DIGITS} digits behind the point, as in 1020..1027:0.5");
    let parts = text.split_once("..").and_then(|(first, rest)| Some((first, rest.split_once(':')?)));
    let (first, (last, step)) = parts.ok_or_else(expected)?;
    let numbers = [first, last, step].map(number).into_iter().collect::<Option<Vec<_>>>().ok_or_else(expected)?;
    // All of them in units of the finest digit, so that a label is the very number.
    let digits = numbers.iter().map(|(_, digits)| *digits).max().unwrap_or(0);
    let scaled = |(units, own): &(i64, usize)| units.checked_mul(10i64.pow((digits - own) as u32));
    let units = numbers.iter().map(scaled).collect::<Option<Vec<_>>>().ok_or_else(expected)?;
    let [first, last, step] = units[..] else { return Err(expected()) };
    if step <= 0 || last <= first {
        return Err("FIRST is below LAST, and STEP above 0".into());
    }
    let count = last.checked_sub(first).map(|all| all / step + 1).filter(|count| *count <= MOST);
    let count = count.ok_or_else(|| format!("{MOST} axes are tried at most: STEP is too small"))?;
    if count < 2 {
        return Err("that is one axis: STEP is too large".into());
    }
    let label = |k: i64| {
        let units = first + k * step;
        let (sign, size, one) = (if units < 0 { "-" } else { "" }, units.unsigned_abs(), 10u64.pow(digits as u32));
        match digits {
            0 => format!("{sign}{size}"),
            _ => format!("{sign}{}.{:0digits$}", size / one, size % one),
        }
    };
    let axis = |k| {
        let label = label(k);
        label.parse().map(|axis| (label, axis)).map_err(|_| expected())
    };
    (0..count).map(axis).collect::<Result<_, _>>().map(Axes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_the_numbers() {
        let labels = |text: &str| axes(text).map(|axes| axes.0.into_iter().map(|(label, _)| label).collect::<Vec<_>>());
        assert_eq!(labels("1020..1021:0.5"), Ok(["1020.0", "1020.5", "1021.0"].map(String::from).to_vec()));
        assert_eq!(labels("7..9:1"), Ok(["7", "8", "9"].map(String::from).to_vec()));
        // The last one is left out where no step leads to it.
        assert_eq!(labels("7.25..8:0.5"), Ok(["7.25", "7.75"].map(String::from).to_vec()));
        assert_eq!(labels("-0.1..0.1:0.1"), Ok(["-0.1", "0.0", "0.1"].map(String::from).to_vec()));
        for (label, axis) in axes("0.1..9.9:0.1").expect("axes").0 {
            assert_eq!(label.parse(), Ok(axis));
        }
        for (text, word) in [
            ("1020", "expected"),
            ("1020..1027", "expected"),
            ("1020..1027:x", "expected"),
            ("1e3..1027:1", "expected"),
            ("nan..3:1", "expected"),
            ("1..2:0.00000001", "expected"),
            ("..:", "expected"),
            ("1.2.3..4:1", "expected"),
            ("99999999999999999999..4:1", "expected"),
            ("5..3:1", "below"),
            ("3..5:0", "above 0"),
            ("3..5:-1", "above 0"),
            ("0..1000:1", "too small"),
            ("-9223372036854775808..9223372036854775807:1", "too small"),
            ("3..5:4", "too large"),
        ] {
            let error = labels(text).expect_err("an error");
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
