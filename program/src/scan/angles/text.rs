//! Angles in files of text: one a line, a column of a table, or in the lines of a log.

use super::Angles;
use super::{log, table};
use anyhow::{Context, Result, ensure};

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
pub fn number(text: &str) -> Option<f64> {
    text.trim().trim_matches('"').parse::<f64>().ok().filter(|number| number.is_finite())
}

/// A line that has something to say, with its number.
pub type Line<'a> = (usize, &'a str);

pub fn parse(text: &str) -> Result<Angles> {
    // What comes before, in SRS files of Diamond's, is no table.
    let lines: Vec<Line> = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim())).collect();
    let behind = lines.iter().position(|(_, line)| *line == "&END").map_or(0, |at| at + 1);
    let lines: Vec<Line> = lines[behind..].iter().copied().filter(|(_, line)| !line.is_empty()).collect();
    let angles = if lines.iter().any(|(_, line)| log::angle(line).is_some()) {
        log::read(&lines)?
    } else {
        table::read(&lines)?
    };
    ensure!(!angles.values.is_empty(), "there are no angles");
    Ok(angles)
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
