//! Which projections, flats and darks are used.

use super::{Input, Scan};
use anyhow::{Context, Result, bail, ensure};

/// Projections that a scan may have, at most.
const MOST: usize = 1 << 26;

/// Every `step`-th of some frames.
struct Named {
    first: usize,
    end: usize,
    step: usize,
}

impl Named {
    fn names(&self, view: usize) -> bool {
        (self.first..self.end).contains(&view) && (view - self.first).is_multiple_of(self.step)
    }
}

/// Frames counted from 0, the end of a range left out: "10", "55..60", "0..1800:2", and lists of these with commas.
fn parse(text: &str) -> Result<Vec<Named>> {
    let part = |part: &str| {
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
        // A single number has no end before it, whatever comes behind the largest.
        ensure!(first < end || first == usize::MAX, "{part}: there is nothing in it");
        Ok(Named { first, end, step })
    };
    text.split(',').map(|text| part(text.trim())).collect()
}

/// Those of so many frames of a kind that a text names.
fn named(text: &str, all: usize, what: &str) -> Result<Vec<bool>> {
    let mut named = vec![false; all];
    for Named { first, end, step } in parse(text)? {
        if first >= all || end > all {
            bail!("{text}: the scan has {all} {what}, which are counted from 0");
        }
        (first..end).step_by(step).for_each(|k| named[k] = true);
    }
    Ok(named)
}

/// Projections in rising order, as a text that names them.
pub fn text(views: &[usize]) -> String {
    let range = |run: &[usize]| match run {
        [view] => view.to_string(),
        _ => format!("{}..{}", run[0], run[run.len() - 1] + 1),
    };
    views.chunk_by(|a, b| a + 1 == *b).map(range).collect::<Vec<_>>().join(",")
}

/// The number that each of the projections in use has in the scan.
pub fn numbers(scan: &Scan, input: &Input) -> Result<Vec<usize>> {
    let of = |text: &Option<String>| text.as_deref().map(parse).transpose();
    let (views, skip, bad) = (of(&input.views)?, of(&input.skip)?, of(&input.left_out)?);
    let names = |named: &Option<Vec<Named>>, view: usize| named.iter().flatten().any(|named| named.names(view));
    let used = |view: &usize| (views.is_none() || names(&views, *view)) && !names(&skip, *view) && !names(&bad, *view);
    Ok((0..MOST).filter(used).take(scan.views.which.len()).collect())
}

/// Leaves all projections out but those that are said to be used.
pub fn choose(scan: &mut Scan, input: &Input) -> Result<()> {
    let all = scan.views.which.len();
    let mut used = match &input.views {
        Some(text) => named(text, all, "projections").context("--views")?,
        None => vec![true; all],
    };
    for (text, option) in [(&input.skip, "--skip"), (&input.left_out, "left_out")] {
        let Some(text) = text else { continue };
        let skipped = named(text, all, "projections").context(option)?;
        used.iter_mut().zip(skipped).for_each(|(used, skipped)| *used &= !skipped);
    }
    if used.iter().all(|used| *used) {
        return Ok(());
    }
    keep(scan, &used);
    scan.notes.push(format!("{} of {all} projections are used", scan.views.which.len()));
    Ok(())
}

/// Leaves out those that another process has found to be no measurement.
pub fn leave_out(scan: &mut Scan, input: &Input, found: Option<&str>) -> Result<()> {
    let Some(bad) = found.map(parse).transpose()? else { return Ok(()) };
    let named = |view: &usize| bad.iter().any(|bad| bad.names(*view));
    let used: Vec<_> = numbers(scan, input)?.iter().map(|view| !named(view)).collect();
    keep(scan, &used);
    Ok(())
}

/// Keeps these projections alone. Groups of flats stay between the same ones.
pub fn keep(scan: &mut Scan, used: &[bool]) {
    for flats in &mut scan.flats {
        flats.position = used.iter().take(flats.position).filter(|used| **used).count();
    }
    // Where these do not fit each other, the check that follows tells.
    let angles = scan.angles.iter().enumerate().filter(|(k, _)| used.get(*k) != Some(&false));
    scan.angles = angles.map(|(_, angle)| *angle).collect();
    let mut place = used.iter();
    scan.views.which.retain(|_| place.next() == Some(&true));
}

/// Leaves flats and darks out, counted over all groups in the order in which they were taken.
pub fn without(scan: &mut Scan, flats: Option<&str>, darks: Option<&str>) -> Result<()> {
    let groups = scan.flats.iter_mut().map(|flats| &mut flats.frames.which).collect();
    let note = drop_some(groups, flats, "flats")?;
    scan.notes.extend(note);
    let group = scan.darks.iter_mut().map(|darks| &mut darks.which).collect();
    let note = drop_some(group, darks, "darks")?;
    scan.notes.extend(note);
    Ok(())
}

/// Frames of a kind that are left out, if any, in words.
fn drop_some(mut groups: Vec<&mut Vec<usize>>, skipped: Option<&str>, what: &str) -> Result<Option<String>> {
    let Some(text) = skipped else { return Ok(None) };
    let option = || format!("--skip-{what}");
    let all = groups.iter().map(|which| which.len()).sum();
    let skipped = named(text, all, what).with_context(option)?;
    let left = skipped.iter().filter(|skipped| !**skipped).count();
    ensure!(left > 0, "--skip-{what} {text}: no {what} are left of {all}");
    let mut place = skipped.iter();
    groups.iter_mut().for_each(|which| which.retain(|_| place.next() == Some(&false)));
    Ok(Some(format!("{left} of {all} {what} are used")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<usize> {
        let named = named(text, 12, "projections").expect("projections");
        (0..12).filter(|view| named[*view]).collect()
    }

    #[test]
    fn what_is_named_is_said_by_ranges() {
        for views in [&[][..], &[3], &[3, 4], &[0, 2, 3, 4, 9, 11]] {
            let told = text(views);
            assert_eq!(if told.is_empty() { Vec::new() } else { of(&told) }, views, "{told}");
        }
        assert_eq!(text(&[0, 2, 3, 4, 11]), "0,2..5,11");
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
            ("4..4", "nothing in it"),
            ("5..3", "nothing in it"),
            ("12", "has 12 projections"),
            ("18446744073709551615", "has 12 projections"),
            ("0..13", "has 12 projections"),
        ] {
            let error = named(text, 12, "projections").expect_err("an error").to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
