//! Numbers in words.

/// As C's %g: so many digits, without zeros at the end.
pub fn general(v: f64, digits: usize) -> String {
    if v == 0.0 || !v.is_finite() {
        return format!("{v}");
    }
    let scientific = format!("{v:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text.to_string(),
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", short(mantissa), exponent.abs());
    }
    short(&format!("{v:.*}", (digits as i32 - 1 - exponent).max(0) as usize))
}

/// A whole number, with commas.
pub fn grouped(v: f64) -> String {
    let text = format!("{:.0}", v.abs());
    let groups: Vec<_> = text.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    format!("{}{}", if v < 0.0 && text != "0" { "-" } else { "" }, groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (v, digits, text) in [
            (0.0, 6, "0"),
            (1.0, 6, "1"),
            (300.0, 6, "300"),
            (0.1 + 0.2, 6, "0.3"),
            (1234567.0, 6, "1.23457e+06"),
            (1.5e-7, 4, "1.5e-07"),
            (-12.3456, 3, "-12.3"),
            (9.9996, 4, "10"),
            (99.0, 2, "99"),
        ] {
            assert_eq!(general(v, digits), text);
        }
        assert_eq!([0.0, 999.0, 1000.0, -1234567.4, -0.2].map(grouped), ["0", "999", "1,000", "-1,234,567", "0"]);
    }
}
