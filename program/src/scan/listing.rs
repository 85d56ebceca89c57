//! Files by their names: patterns, and numbers in names in their order.

use super::elsewhere;
use crate::frames::Kind;
use anyhow::{Context, Result, bail, ensure};
use std::cmp::Ordering;
use std::path::{Path, PathBuf};

/// Stands for a number: no name has it.
const NUMBER: char = '\0';

/// A name's text without its numbers, and these.
fn parts(name: &str) -> (String, Vec<&str>) {
    let (mut text, mut numbers) = (String::new(), Vec::new());
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        text.push_str(&rest[..at]);
        text.push(NUMBER);
        let end = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| at + end);
        numbers.push(&rest[at..end]);
        rest = &rest[end..];
    }
    text.push_str(rest);
    (text, numbers)
}

/// Which of two runs of digits is the larger number, of any length.
fn compare(a: &str, b: &str) -> Ordering {
    let [a, b] = [a, b].map(|digits| digits.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// Names in the order in which people count: 2 before 10.
pub fn natural(a: &str, b: &str) -> Ordering {
    let [mut a, mut b] = [a, b];
    loop {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let ends = [digits(a), digits(b)];
        if ends[0] > 0 && ends[1] > 0 {
            let order = compare(&a[..ends[0]], &b[..ends[1]]);
            if order.is_ne() {
                return order;
            }
            [a, b] = [&a[ends[0]..], &b[ends[1]..]];
            continue;
        }
        let [mut left, mut right] = [a.chars(), b.chars()];
        match (left.next(), right.next()) {
            (Some(x), Some(y)) if x == y => [a, b] = [left.as_str(), right.as_str()],
            (x, y) => return x.cmp(&y),
        }
    }
}

/// Without its folder.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A name's text, with a sign for each number: files of a series share it.
pub fn series(path: &Path) -> String {
    parts(&name(path)).0
}

/// A pattern that files of a series fit.
fn series_pattern(path: &Path) -> String {
    series(path).replace(NUMBER, "*")
}

/// Whether a path has signs that stand for others, and is no file's name itself.
pub fn is_pattern(path: &Path) -> bool {
    name(path).contains(['*', '?']) && !path.exists()
}

/// Whether a name is one of those of a pattern: a star stands for any text, a question mark for one character.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    // Which parts of the pattern the name so far may be.
    let mut fits = vec![false; pattern.len() + 1];
    fits[0] = true;
    let pass_stars = |fits: &mut Vec<bool>| {
        for k in 0..pattern.len() {
            fits[k + 1] |= fits[k] && pattern[k] == '*';
        }
    };
    pass_stars(&mut fits);
    for c in name.chars() {
        let mut next = vec![false; fits.len()];
        for (k, &sign) in pattern.iter().enumerate() {
            next[k] |= fits[k] && sign == '*';
            next[k + 1] |= fits[k] && (sign == '?' || sign == c);
        }
        fits = next;
        pass_stars(&mut fits);
    }
    fits[pattern.len()]
}

/// Files of a folder, by name.
pub fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    let reading = || format!("reading the folder {}", path.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).with_context(reading)? {
        let entry = entry.with_context(reading)?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            files.push(entry.path());
        }
    }
    files.sort_by(|a, b| natural(&name(a), &name(b)));
    Ok(files)
}

/// Files of a pattern, whose last part alone may have signs.
fn pattern(path: &Path) -> Result<Vec<PathBuf>> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wanted = name(path);
    let mut files = folder(parent)?;
    files.retain(|file| matches(&wanted, &name(file)));
    ensure!(!files.is_empty(), "no file has a name like {}", path.display());
    Ok(files)
}

/// Whether a path is that of a table of scans.
pub fn is_table(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    extension.is_some_and(|extension| matches!(extension.as_str(), "csv" | "tsv" | "txt"))
}

/// Whether a path is a pattern that files fit.
pub fn is_of_files(path: &Path) -> bool {
    is_pattern(path) && pattern(path).is_ok()
}

/// The images of a folder, a pattern or a file, all of one kind.
pub fn images(path: &Path) -> Result<(Kind, Vec<PathBuf>)> {
    let mut files = if path.is_dir() {
        folder(path)?
    } else if is_pattern(path) {
        pattern(path)?
    } else {
        vec![path.to_path_buf()]
    };
    let kinds = [Kind::Tiff, Kind::Edf].map(|kind| files.iter().any(|file| Kind::of(file) == Some(kind)));
    let kind = match kinds {
        [true, false] => Kind::Tiff,
        [false, true] => Kind::Edf,
        [true, true] => bail!("{} has TIFF and EDF images: name them by a pattern", path.display()),
        [false, false] => bail!("{} has no TIFF and no EDF images{}", path.display(), others(&files)),
    };
    files.retain(|file| Kind::of(file) == Some(kind));
    Ok((kind, files))
}

/// What else there is that may have been meant.
fn others(files: &[PathBuf]) -> String {
    let ends = |file: &&PathBuf| {
        let name = name(file).to_ascii_lowercase();
        [".h5", ".hdf5", ".hdf", ".nx", ".nxs", ".par", ".edf.gz"].iter().any(|end| name.ends_with(end))
    };
    match files.iter().find(ends) {
        Some(file) if name(file).ends_with(".gz") => format!("; gunzip {} and the others", file.display()),
        Some(file) if files.len() > 1 => format!("; {} is a file that may be named itself", file.display()),
        _ => files.iter().find_map(|file| elsewhere::told(file)).map_or_else(String::new, |told| format!("; {told}")),
    }
}

/// An error unless files are one series.
pub fn one_series(path: &Path, files: &[PathBuf]) -> Result<()> {
    let Some(first) = files.first() else {
        bail!(
            "{} has no projections: all of its images have names of flats or darks; a pattern may name them all the same",
            path.display()
        );
    };
    let of = series(first);
    let Some(other) = files.iter().find(|file| series(file) != of) else { return Ok(()) };
    bail!(
        "{} has images of more than one series, {} and {}: name the projections by a pattern, as in \"{}\", and --flats and --darks",
        path.display(),
        name(first),
        name(other),
        path.with_file_name(series_pattern(first)).display()
    )
}

/// An error where a series, in its order, leaves a number out.
pub fn complete(files: &[PathBuf]) -> Result<()> {
    let names: Vec<_> = files.iter().map(|file| name(file)).collect();
    let split: Vec<_> = names.iter().map(|name| parts(name)).collect();
    let Some((text, first)) = split.first() else { return Ok(()) };
    if split.iter().any(|(other, _)| other != text) {
        return Ok(());
    }
    // The only number that is not the same in all.
    let mut varying = (0..first.len()).filter(|&k| split.iter().any(|(_, numbers)| numbers[k] != first[k]));
    let (Some(at), None) = (varying.next(), varying.next()) else { return Ok(()) };
    let numbers: Option<Vec<u64>> = split.iter().map(|(_, numbers)| numbers[at].parse().ok()).collect();
    let Some(numbers) = numbers else { return Ok(()) };
    let Some(step) = numbers.windows(2).map(|pair| pair[1] - pair[0]).min() else { return Ok(()) };
    for (k, pair) in numbers.windows(2).enumerate() {
        ensure!(step > 0, "{} and {} have one number", names[k], names[k + 1]);
        if pair[1] - pair[0] == step {
            continue;
        }
        let missing = format!("{:0width$}", pair[0] + step, width = split[k].1[at].len());
        let mut digits = split[k].1.iter().enumerate().map(|(k, digits)| if k == at { &missing } else { *digits });
        let missing: String =
            text.split(NUMBER).map(|part| part.to_string() + digits.next().unwrap_or_default()).collect();
        bail!(
            "{missing} is missing between {} and {}; if it never was, --angles FILE tells the angle of each view",
            names[k],
            names[k + 1]
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_counted() {
        let mut names = ["p_10.tif", "p_2.tif", "p_1b.tif", "p_1.tif", "a_99999999999999999999999.tif", "a_7.tif", "a"];
        names.sort_by(|a, b| natural(a, b));
        let expected = ["a", "a_7.tif", "a_99999999999999999999999.tif", "p_1.tif", "p_1b.tif", "p_2.tif", "p_10.tif"];
        assert_eq!(names, expected);
    }

    #[test]
    fn patterns() {
        for (pattern, name, fits) in [
            ("*.tif", "a.tif", true),
            ("p*_?.tif", "proj_1.tif", true),
            ("p*_?.tif", "proj_12.tif", false),
            ("**", "", true),
            ("?", "é", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn gaps_in_series() {
        let check = |names: &[&str]| complete(&names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert!(check(&["p_0.tif", "p_5.tif", "p_10.tif"]).is_ok());
        assert!(check(&["p1_0001.tif", "p1_0002.tif"]).is_ok());
        assert!(check(&["p1_1.tif", "p2_2.tif", "p2_4.tif"]).is_ok());
        let error = check(&["s2_0008.tif", "s2_0009.tif", "s2_0011.tif"]).expect_err("a gap").to_string();
        assert!(error.starts_with("s2_0010.tif is missing between s2_0009.tif"), "{error}");
        assert!(check(&["p_1.tif", "p_01.tif"]).is_err());
        // A sign that is itself, and a number in its place.
        assert!(check(&["p_1.tif", "p_#.tif"]).is_ok() && check(&["p_#.tif", "p_1.tif"]).is_ok());
        assert!(check(&["a#2.tif", "a1#.tif"]).is_ok());
    }
}
