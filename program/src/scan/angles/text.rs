//! Angles in files of text: one a line, a column of a table, or in the lines of a log.

use super::Angles;
use crate::scan::terms::{self, is_angle};
use anyhow::{Context, Result, bail, ensure};

/// A text of these bytes: UTF-8, or UTF-16 where a mark of the order of bytes says so.
pub fn decode(bytes: &[u8]) -> Result<String> {
    let wide = |bytes: &[u8], of: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.as_chunks::<2>().0.iter().map(|pair| of(*pair)).collect();
        String::from_utf16(&units).context("it is no text")
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] | rest => String::from_utf8(rest.to_vec()).context("it is no text"),
    }
}

/// A number that can be an angle.
fn number(text: &str) -> Option<f64> {
    text.trim().trim_matches('"').parse::<f64>().ok().filter(|number| number.is_finite())
}

/// A line that has something to say, with its number.
type Line<'a> = (usize, &'a str);

pub fn parse(text: &str) -> Result<Angles> {
    // What comes before, in SRS files of Diamond's, is no table.
    let lines: Vec<Line> = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim())).collect();
    let behind = lines.iter().position(|(_, line)| *line == "&END").map_or(0, |at| at + 1);
    let lines: Vec<Line> = lines[behind..].iter().copied().filter(|(_, line)| !line.is_empty()).collect();
    let angles = if lines.iter().any(|(_, line)| logged(line).is_some()) { log(&lines)? } else { table(&lines)? };
    ensure!(!angles.values.is_empty(), "there are no angles");
    Ok(angles)
}

/// What follows a word in a line, whatever its letters are.
fn behind<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let at = line.to_ascii_lowercase().find(word)?;
    Some(line[at + word.len()..].trim_start_matches([' ', ':', ',', '\t']))
}

/// The first number of a text.
fn first(text: &str) -> Option<&str> {
    text.split([' ', ',', ';', '\t']).next()
}

/// The angle in a line such as "Sun Feb 10 00:22:37 2019   Projection:  1  angle: 0.3152   Monitor 3 before:  4729337".
fn logged(line: &str) -> Option<f64> {
    number(first(behind(line, "angle:")?)?)
}

/// Lines of a log of IMAT's (ISIS), of text or with commas, an image each. Its angles are in degrees.
fn log(lines: &[Line]) -> Result<Angles> {
    let counted = lines.iter().any(|(_, line)| behind(line, "projection").is_some() && logged(line).is_some());
    let mut values = Vec::new();
    let (mut last, mut others) = (None, 0);
    for (k, line) in lines {
        let Some(angle) = logged(line) else {
            others += usize::from(behind(line, "monitor").is_some());
            continue;
        };
        if counted {
            let Some(rest) = behind(line, "projection") else {
                others += 1;
                continue;
            };
            let count = first(rest).and_then(|count| count.parse::<u64>().ok());
            let count = count.with_context(|| format!("line {k}: a number behind \"Projection\" is expected"))?;
            ensure!(
                last.is_none_or(|last| last < count),
                "line {k}: projection {count} comes after {}",
                last.unwrap_or(0)
            );
            last = Some(count);
        }
        values.push(angle);
    }
    let note = (others > 0).then(|| format!("{others} lines of its log are of no projection, and left out"));
    Ok(Angles { values, unit: Some("degrees".into()), note })
}

/// Fields of a line, by the sign that divides it.
fn fields(line: &str) -> Vec<&str> {
    let sign = ['\t', ';', ','].into_iter().find(|sign| line.contains(*sign));
    let mut fields: Vec<_> = match sign {
        Some(sign) => line.split(sign).map(str::trim).collect(),
        None => line.split_whitespace().collect(),
    };
    fields.pop_if(|last| last.is_empty());
    fields
}

/// Names of columns, of which those of SPEC (#L) may have a space inside.
fn names(line: &str, columns: usize) -> Option<Vec<String>> {
    let owned = |names: Vec<&str>| names.into_iter().map(|name| name.trim_matches('"').to_string()).collect();
    let spaced: Vec<_> = line.split("  ").map(str::trim).filter(|name| !name.is_empty()).collect();
    [fields(line), spaced].into_iter().find(|names| names.len() == columns).map(owned)
}

/// A comment's text; nothing where a line is none.
fn comment(line: &str) -> Option<&str> {
    let rest = line.strip_prefix(['#', '%', '!'])?;
    Some(rest.strip_prefix("L ").unwrap_or(rest).trim())
}

/// Columns of numbers, with their names before them, or without.
fn table(lines: &[Line]) -> Result<Angles> {
    let scans = lines.iter().filter(|(_, line)| line.starts_with("#S ")).count();
    ensure!(scans < 2, "it has {scans} scans of SPEC: a file with the wanted one alone is needed");
    let uncommented = |line: &str| line.split(['#', '%']).next().unwrap_or_default().trim().to_string();
    let rows: Vec<(usize, String)> =
        lines.iter().filter(|(_, line)| comment(line).is_none()).map(|(k, line)| (*k, uncommented(line))).collect();
    // The first line with numbers, in which names of columns have none alone.
    let is_row = |line: &str| fields(line).into_iter().any(|field| number(field).is_some());
    let begin = rows.iter().position(|(_, line)| is_row(line)).context("there are no angles")?;
    let columns = fields(&rows[begin].1).len();
    let named = |(_, line): &(usize, String)| names(line, columns);
    let before = lines.iter().filter(|(k, _)| *k < rows[begin].0).filter_map(|(_, line)| comment(line));
    let header =
        rows[..begin].last().and_then(named).or_else(|| before.clone().filter_map(|c| names(c, columns)).last());
    let rows = &rows[begin..];
    if columns == 1 {
        let said = rows_before(lines, rows[0].0);
        let unit = said.iter().rev().find_map(|line| terms::radians(line));
        return Ok(Angles { values: column(rows, 0, 1)?, unit: unit.map(unit_name), note: None });
    }
    let Some(header) = header else {
        // All in a line.
        if let [(_, line)] = rows {
            let values: Option<Vec<_>> = fields(line).into_iter().map(number).collect();
            return Ok(Angles::new(values.context("numbers are expected, and there are others between")?));
        }
        bail!(
            "line {} has {columns} numbers, and no line before it says which is the angle: one a line is expected, or names of columns",
            rows[0].0
        );
    };
    let fits: Vec<_> = (0..columns).filter(|&k| is_angle(&header[k])).collect();
    let &[at] = fits.as_slice() else {
        let how = if fits.is_empty() { "none" } else { "more than one" };
        bail!("of its columns {} {how} has a name with a word such as angle, theta or rot", header.join(", "));
    };
    // A log names what each of its images is.
    let kind = header.iter().position(|name| name.eq_ignore_ascii_case("image type"));
    let is_projection = |line: &str| {
        kind.is_none_or(|kind| fields(line).get(kind).is_some_and(|kind| kind.eq_ignore_ascii_case("projection")))
    };
    let (views, others): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(|(_, line)| is_projection(line));
    let note = (!others.is_empty()).then(|| format!("{} lines are of no projection, and left out", others.len()));
    Ok(Angles { values: column(&views, at, columns)?, unit: terms::radians(&header[at]).map(unit_name), note })
}

fn unit_name(radians: bool) -> String {
    if radians { "radians" } else { "degrees" }.into()
}

/// Lines before that of a number.
fn rows_before<'a>(lines: &[Line<'a>], k: usize) -> Vec<&'a str> {
    lines.iter().filter(|(line, _)| *line < k).map(|(_, line)| *line).collect()
}

/// The numbers of a column of so many.
fn column(rows: &[(usize, String)], at: usize, columns: usize) -> Result<Vec<f64>> {
    let value = |(k, line): &(usize, String)| {
        let fields = fields(line);
        ensure!(fields.len() == columns, "line {k}: {} values where others have {columns}", fields.len());
        number(fields[at]).with_context(|| format!("line {k}: one angle is expected, and it is \"{}\"", fields[at]))
    };
    rows.iter().filter(|(_, line)| !line.is_empty()).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (Vec<f64>, Option<String>) {
        let angles = parse(text).unwrap_or_else(|e| panic!("{text}: {e:#}"));
        (angles.values, angles.unit)
    }

    const LOG: &str = " TIME STAMP  IMAGE TYPE   IMAGE COUNTER   COUNTS BM3 before image   COUNTS BM3 after image

Mon Mar 04 10:00:00 2024   Dark:  0  angle: 0.0   Monitor 3 before:  1   Monitor 3 after:  2
Mon Mar 04 10:00:33 2024   Projection:  0  angle: 0.0   Monitor 3 before:  1200   Monitor 3 after:  2400
Mon Mar 04 10:01:06 2024   Projection:  1  angle: 0.5   Monitor 3 before:  2400   Monitor 3 after:  3600
Mon Mar 04 10:01:39 2024   Projection:  2  angle: 1.25   Monitor 3 before:  3600   Monitor 3 after:  4800
";
    const COMMAS: &str = "TIME STAMP,IMAGE TYPE,IMAGE COUNTER,COUNTS BM3 before image,COUNTS BM3 after image
Mon Mar 04 10:00:33 2024,Projection,0,angle:0.0,counts before: 1200,counts_after: 2400
Mon Mar 04 10:01:06 2024,Projection,1,angle:0.5,counts before: 2400,counts_after: 3600
Mon Mar 04 10:01:39 2024,Projection,2,angle:1.25,counts before: 3600,counts_after: 4800
";
    const COLUMNS: &str = "TIME STAMP,IMAGE TYPE,IMAGE COUNTER,PROJECTION ANGLE DEG,COUNTS BEFORE,COUNTS AFTER
Mon Mar 04 10:00:01 2024,Flat,0,0.0,1200,2400
Mon Mar 04 10:00:33 2024,Projection,0,0.0,1200,2400
Mon Mar 04 10:01:06 2024,Projection,1,0.5,2400,3600
Mon Mar 04 10:01:39 2024,Projection,2,1.25,3600,4800
";
    /// As SPEC writes it at the ESRF.
    const SPEC: &str = "#F /data/id99/test.dat
#D Mon Mar  4 10:00:00 2024

#S 3  ascan  srot 0 1.25  2 1
#N 4
#L srot  Epoch  Monitor  Seconds per point
0 100 5000 1
0.5 101 5001 1
1.25 102 5002 1
";
    /// As Diamond's GDA writes it.
    const SRS: &str = " &SRS
 SRSRUN=20,SRSDAT=20240304
 &END
ix\ttomography_theta\tpco_dio\timage_key
0\t0.0\t1.5\t0
1\t0.5\t1.5\t0
2\t1.25\t1.5\t0
";

    #[test]
    fn lists_tables_and_logs() {
        let degrees = Some("degrees".to_string());
        let radians = Some("radians".to_string());
        for (text, unit) in [
            ("0\n0.5\n1.25\n", None),
            ("0\r\n\r\n0.5\r\n1.25", None),
            ("# a comment\n0 # the first\n0.5\n% another\n1.25\n", None),
            ("0,\n0.5,\n1.25,\n", None),
            ("0, 0.5, 1.25", None),
            ("0 0.5 1.25\n", None),
            ("\"0\"\n\"5e-1\"\n\"1.25\"\n", None),
            ("angle\n0\n0.5\n1.25\n", None),
            ("# rotation in radians\n0\n0.5\n1.25\n", radians.clone()),
            ("Angle (rad)\n0\n0.5\n1.25\n", radians.clone()),
            ("# index theta_rad\n0 0\n1 0.5\n2 1.25\n", radians),
            ("image,angle [deg],monitor\n0,0,7\n1,0.5,8\n2,1.25,9\n", degrees.clone()),
            ("image;angle;monitor\n0;0;7\n1;0.5;8\n2;1.25;9\n", None),
            (LOG, degrees.clone()),
            (COMMAS, degrees.clone()),
            (COLUMNS, degrees.clone()),
            (SPEC, None),
            (SRS, None),
        ] {
            assert_eq!(of(text), (vec![0.0, 0.5, 1.25], unit), "{text}");
        }
        assert!(parse(LOG).expect("angles").note.is_some_and(|note| note.starts_with("1 lines")));
        assert!(parse(COLUMNS).expect("angles").note.is_some_and(|note| note.starts_with("1 lines")));
    }

    #[test]
    fn texts_that_say_too_little() {
        let twice = format!("{SPEC}{}", &SPEC[SPEC.find("#S").expect("a scan")..]);
        let again = LOG.replace("Projection:  2", "Projection:  1");
        for (text, word) in [
            ("", "no angles"),
            ("# nothing\n", "no angles"),
            ("0\nten\n", "line 2"),
            ("0\nnan\n", "line 2"),
            ("0\n1 2\n", "line 2"),
            ("0 0\n1 0.5\n", "no line before it says"),
            ("0,5\n1,5\n", "no line before it says"),
            ("a b\n0 0\n1 0.5\n", "none has a name"),
            ("theta omega\n0 0\n1 0.5\n", "more than one"),
            ("theta x\n0 0\n1\n", "line 3"),
            (&twice, "2 scans"),
            (&again, "projection 1 comes after 1"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn marks_of_the_order_of_bytes() {
        let wide = |of: fn(u16) -> [u8; 2]| "0\n0.5\n".encode_utf16().flat_map(of).collect::<Vec<_>>();
        for bytes in [
            [b"\xef\xbb\xbf".to_vec(), b"0\n0.5\n".to_vec()].concat(),
            [vec![0xff, 0xfe], wide(u16::to_le_bytes)].concat(),
            [vec![0xfe, 0xff], wide(u16::to_be_bytes)].concat(),
        ] {
            assert_eq!(decode(&bytes).expect("a text"), "0\n0.5\n");
        }
        assert!(decode(b"0\n\xff\n").is_err());
    }

    #[test]
    fn texts_that_are_damaged() {
        for text in [LOG, COLUMNS, SPEC, SRS] {
            crate::mutations::each(text.as_bytes(), |bytes| {
                // Errors are in order, others are not.
                let _ = decode(bytes).and_then(|text| parse(&text));
            });
        }
    }
}
