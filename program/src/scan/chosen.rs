//! Which projections are used.

use super::Scan;
use anyhow::{Context, Result, bail, ensure};

/// Projections counted from 0, the end of a range left out: "10", "55..60", "0..1800:2", and lists of these with commas.
fn parse(text: &str, views: usize) -> Result<Vec<bool>> {
    let mut named = vec![false; views];
    for part in text.split(',').map(str::trim) {
        let number = |text: &str| {
            let number = text.trim().parse::<usize>();
            number.with_context(|| {
                format!("{part}: a number such as 10, or a range such as 55..60 or 0..1800:2 is expected")
            })
        };
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, number(step)?),
            None => (part, 1),
        };
        let (first, end) = match range.split_once("..") {
            Some((first, end)) => (number(first)?, number(end)?),
            None => (number(range)?, number(range)?.saturating_add(1)),
        };
        ensure!(step > 0, "{part}: a step of 0 leads nowhere");
        if first >= views || end > views {
            bail!("{part}: the scan has {views} projections, which are counted from 0");
        }
        ensure!(first < end, "{part}: there are no projections in it");
        (first..end).step_by(step).for_each(|view| named[view] = true);
    }
    Ok(named)
}

/// Leaves all projections out but those of `views`, and of these those of `skip`. Groups of flats stay between the same ones.
pub fn choose(scan: &mut Scan, views: Option<&str>, skip: Option<&str>) -> Result<()> {
    let all = scan.views.which.len();
    let mut used = match views {
        Some(text) => parse(text, all).context("--views")?,
        None => vec![true; all],
    };
    if let Some(text) = skip {
        let skipped = parse(text, all).context("--skip")?;
        used.iter_mut().zip(skipped).for_each(|(used, skipped)| *used &= !skipped);
    }
    let left = used.iter().filter(|used| **used).count();
    if left == all {
        return Ok(());
    }
    for flats in &mut scan.flats {
        flats.position = used.iter().take(flats.position).filter(|used| **used).count();
    }
    // Where these do not fit each other, the check that follows tells.
    let angles = scan.angles.iter().enumerate().filter(|(k, _)| used.get(*k) != Some(&false));
    scan.angles = angles.map(|(_, angle)| *angle).collect();
    let mut place = used.iter();
    scan.views.which.retain(|_| place.next() == Some(&true));
    scan.notes.push(format!("{left} of {all} projections are used"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<usize> {
        let named = parse(text, 12).expect("projections");
        (0..12).filter(|view| named[*view]).collect()
    }

    #[test]
    fn numbers_ranges_and_steps() {
        assert_eq!(of("3"), [3]);
        assert_eq!(of("3, 5..7,11"), [3, 5, 6, 11]);
        assert_eq!(of("0..12:5"), [0, 5, 10]);
        for (text, word) in [
            ("", "is expected"),
            ("a", "is expected"),
            ("3..", "is expected"),
            ("-1", "is expected"),
            ("0..4:0", "step of 0"),
            ("4..4", "no projections"),
            ("5..3", "no projections"),
            ("12", "has 12 projections"),
            ("18446744073709551615", "has 12 projections"),
            ("0..13", "has 12 projections"),
        ] {
            let error = parse(text, 12).expect_err("an error").to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
