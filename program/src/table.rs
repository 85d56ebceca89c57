//! Tables of scans: a text file with a scan a line, and options that are its own, in columns that have their names.

use crate::scan::is_of_files;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

/// Columns whose cells may name files, which are looked for beside the table, too.
const FILES: [&str; 8] = ["scan", "data", "keys", "flats", "darks", "angles", "lens", "shifts"];

/// A distance along the detector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Length {
    Millimetres(f64),
    /// Rows, or bins.
    Pixels(f64),
}

/// Where a scan lies in a volume that is made of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Place {
    /// Its first row.
    pub z: Option<Length>,
    /// Its first bin.
    pub x: Option<Length>,
}

/// Columns that tell it.
const PLACES: [[&str; 2]; 2] = [["z-mm", "z-rows"], ["x-mm", "x-bins"]];

/// A scan.
#[derive(Debug, PartialEq)]
pub struct Line {
    /// In the file, from 1.
    pub number: usize,
    pub scan: PathBuf,
    /// Words of a command line.
    pub words: Vec<String>,
    pub place: Place,
}

/// All of a file.
#[derive(Debug, PartialEq)]
pub struct Table {
    /// Names of columns, as those of options are.
    pub columns: Vec<String>,
    /// One at least.
    pub lines: Vec<Line>,
}

/// Cells of a line: those in quotes may have the separator inside, and two quotes for one.
fn cells(line: &str, separator: char) -> Vec<String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if quoted && signs.peek() == Some(&'"') => cell.extend(signs.next()),
            '"' if quoted || cell.trim().is_empty() => quoted = !quoted,
            _ if sign == separator && !quoted => cells.push(std::mem::take(&mut cell)),
            _ => cell.push(sign),
        }
    }
    cells.push(cell);
    cells.into_iter().map(|cell| cell.trim().to_string()).collect()
}

/// A cell as words of a command line.
fn words(column: &str, cell: &str) -> Vec<String> {
    let parts: Vec<_> = cell.split_whitespace().collect();
    match cell.to_ascii_lowercase().as_str() {
        "" | "no" | "false" => Vec::new(),
        "yes" | "true" => vec![format!("--{column}")],
        // Of options that take several.
        _ if parts.len() > 1 && parts.iter().all(|part| part.parse::<f64>().is_ok()) => {
            std::iter::once(format!("--{column}")).chain(parts.into_iter().map(String::from)).collect()
        }
        _ => vec![format!("--{column}={cell}")],
    }
}

/// A cell of a column of places; an empty one tells none.
fn length(column: &str, cell: &str) -> Result<Option<Length>> {
    if cell.is_empty() {
        return Ok(None);
    }
    let number = cell.parse::<f64>().ok().filter(|number| number.is_finite());
    let number = number.with_context(|| format!("{column} is \"{cell}\"; it must be a number"))?;
    let of = if column.ends_with("-mm") { Length::Millimetres } else { Length::Pixels };
    Ok(Some(of(number)))
}

/// A name as it is, or, where nothing has it, beside the table.
fn found(folder: &Path, name: &str) -> PathBuf {
    let beside = folder.join(name);
    // Of a dataset, as in file.h5:/entry/data, its file.
    let file = name.split_once(":/").map_or(name, |(file, _)| file);
    let there = |path: &Path| path.exists() || is_of_files(path);
    let is_beside = !there(Path::new(file)) && there(&folder.join(file));
    if is_beside && !file.is_empty() { beside } else { name.into() }
}

impl Place {
    /// Whether it makes one volume with others.
    pub fn is_told(&self) -> bool {
        self.z.is_some() || self.x.is_some()
    }
}

impl Table {
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&String::from_utf8_lossy(&bytes), folder).with_context(|| path.display().to_string())
    }

    /// Of a text, whose files may be in this folder.
    fn parse(text: &str, folder: &Path) -> Result<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let lines = text.lines().enumerate().map(|(k, line)| (k + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (_, head) = lines.next().context("the table is empty")?;
        let separator = ['\t', ';'].into_iter().find(|sign| head.contains(*sign)).unwrap_or(',');
        let column = |name: String| name.to_lowercase().trim_start_matches('-').replace(['_', ' '], "-");
        let columns: Vec<_> = cells(head, separator).into_iter().map(column).collect();
        let scans = columns.iter().filter(|column| *column == "scan").count();
        ensure!(
            scans == 1,
            "a table of scans has a line of columns first, one of which is called scan, and others as options are, such as output or axis; this is \"{head}\""
        );
        ensure!(!columns.iter().any(String::is_empty), "a column has no name: \"{head}\"");
        for [a, b] in PLACES {
            let count = columns.iter().filter(|column| [a, b].contains(&column.as_str())).count();
            ensure!(count <= 1, "{a} and {b} tell one thing: one column of them is enough");
        }
        let line = |(number, text): (usize, &str)| {
            Self::line(&columns, number, cells(text, separator), folder).with_context(|| format!("line {number}"))
        };
        let lines = lines.map(line).collect::<Result<Vec<_>>>()?;
        ensure!(!lines.is_empty(), "the table has no scans, but a line of columns");
        let told = |line: &Line| [line.place.z, line.place.x].map(|place| place.is_some());
        if let Some(other) = lines.iter().find(|line| told(line) != told(&lines[0])) {
            bail!("lines {} and {}: one has a place in the volume, and one has none", lines[0].number, other.number);
        }
        Ok(Self { columns, lines })
    }

    fn line(columns: &[String], number: usize, cells: Vec<String>, folder: &Path) -> Result<Line> {
        let count = cells.len();
        ensure!(count == columns.len(), "it has {count} cells, and there are {} columns", columns.len());
        let mut line = Line { number, scan: PathBuf::new(), words: Vec::new(), place: Place::default() };
        for (column, cell) in columns.iter().zip(cells) {
            let cell = match FILES.contains(&column.as_str()) && !cell.is_empty() {
                true => found(folder, &cell).to_string_lossy().into_owned(),
                false => cell,
            };
            match column.as_str() {
                "scan" => line.scan = cell.into(),
                "z-mm" | "z-rows" => line.place.z = length(column, &cell)?,
                "x-mm" | "x-bins" => line.place.x = length(column, &cell)?,
                _ => line.words.extend(words(column, &cell)),
            }
        }
        ensure!(!line.scan.as_os_str().is_empty(), "it names no scan");
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\u{feff}# of a night\nScan, Output ,axis,bad_pixels,window,skip\n\na.nx,a.h5,12.5,yes,-0.1 2,\"1,3..5\"\n\
                        \"say \"\"b\"\".nx\",,,no,,\n";

    #[test]
    fn lines_are_words() {
        let table = Table::parse(TEXT, Path::new("")).expect("a table");
        assert_eq!(table.columns, ["scan", "output", "axis", "bad-pixels", "window", "skip"]);
        let words = ["--output=a.h5", "--axis=12.5", "--bad-pixels", "--window", "-0.1", "2", "--skip=1,3..5"];
        assert_eq!(table.lines[0].words, words);
        assert_eq!((table.lines[0].scan.as_path(), table.lines[0].number), (Path::new("a.nx"), 4));
        assert_eq!((table.lines[1].scan.as_path(), table.lines[1].words.len()), (Path::new("say \"b\".nx"), 0));
        // As spreadsheets write them in other countries.
        for text in ["z-mm;scan\n-1.5;a.nx", "scan\tz_rows\na.nx\t7"] {
            let table = Table::parse(text, Path::new("")).expect("a table");
            assert!(matches!(table.lines[0].place.z, Some(Length::Millimetres(-1.5) | Length::Pixels(7.0))), "{text}");
            assert!(table.lines[0].place.is_told() && table.lines[0].place.x.is_none());
        }
        let table = Table::parse("scan,x_bins,z-mm\na,-1e3,0\nb,1.5,0", Path::new("")).expect("a table");
        assert_eq!(table.lines[1].place, Place { z: Some(Length::Millimetres(0.0)), x: Some(Length::Pixels(1.5)) });
        // Beside the table, unless there is one here.
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("beside.nx"), "").expect("a file");
        for (name, there) in [
            ("beside.nx", true),
            ("be*.n?", true),
            ("beside.nx:/entry/data", true),
            ("/entry/data", false),
            ("Cargo.toml", false),
            ("Carg*.toml", false),
            ("nowhere.nx", false),
            ("p_*.tif", false),
        ] {
            let table = Table::parse(&format!("scan\n{name}"), folder.path()).expect("a table");
            let expected = if there { folder.path().join(name) } else { name.into() };
            assert_eq!(table.lines[0].scan, expected);
        }
    }

    #[test]
    fn what_is_no_table() {
        for (text, word) in [
            ("", "is empty"),
            ("# scan\n", "is empty"),
            ("scan\n", "no scans"),
            ("0.5\n1.0\n", "one of which is called scan"),
            ("scan,scan\na,b\n", "one of which is called scan"),
            ("scan,\na,b\n", "no name"),
            ("scan,axis\na\n", "line 2: it has 1 cells, and there are 2 columns"),
            ("scan,axis\n,3\n", "names no scan"),
            ("scan,z-mm,z-rows\na,1,2\n", "one column of them"),
            ("scan,x-mm,x-bins\na,1,2\n", "x-mm and x-bins"),
            ("scan,z-mm\na,here\n", "\"here\""),
            ("scan,x-bins\na,NaN\n", "\"NaN\"; it must be a number"),
            ("scan,z-mm,x-mm\na,1,1\nb,1,\n", "lines 2 and 3"),
            ("scan,z-mm\na,inf\n", "must be a number"),
            ("scan,z-mm\na,1\nb,\n", "lines 2 and 3"),
        ] {
            let error = format!("{:#}", Table::parse(text, Path::new("")).expect_err(text));
            assert!(error.contains(word), "{text}: {error}");
        }
        crate::mutations::each(TEXT.as_bytes(), |bytes| {
            let _ = Table::parse(&String::from_utf8_lossy(bytes), Path::new("")).is_ok();
        });
    }
}
