//! Parameter files of PyHST_2 (and of HST before it): `KEY = value`, a key a line.
//!
//! What keys mean is from the reference of HST (A. Hammersley, ESRF), the pages about PyHST_2's input (ftp.esrf.fr/scisoft/PYHST2) and
//! from files that the ESRF's own scripts write.

mod files;
mod keys;
mod taken;

pub use files::scan;
pub use taken::Taken;

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};

/// What a file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// The file's folder.
    folder: PathBuf,
    /// In the file's order; the last of a key counts.
    keys: Vec<(String, String)>,
}

/// Whether a path is that of a parameter file.
pub fn is(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("par"))
}

/// A line without its comment, which begins with # or, as in HST, with an exclamation mark; either may stand in quotes.
fn uncommented(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '#') => return &line[..at],
            // Names of files may have one inside.
            (None, '!') if before.is_whitespace() => return &line[..at],
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        before = c;
    }
    line
}

/// A value without the quotes about it.
fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    inside('\'').or_else(|| inside('"')).unwrap_or(value)
}

impl Parameters {
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let parameters = Self::parse(&String::from_utf8_lossy(&text), folder);
        ensure!(
            parameters.get("FILE_PREFIX").is_some() || parameters.get("RECONSTRUCT_FROM_SINOGRAMS").is_some(),
            "{} is no parameter file of PyHST: it has no FILE_PREFIX",
            path.display()
        );
        Ok(parameters)
    }

    pub fn parse(text: &str, folder: PathBuf) -> Self {
        let mut keys: Vec<(String, String)> = Vec::new();
        for line in text.lines() {
            let Some((key, value)) = uncommented(line).split_once('=') else { continue };
            // Of dictionaries, too, that are made entry by entry.
            let key = key.split('[').next().unwrap_or_default().trim();
            // Others are lines of Python, of which there are some for filters that are not taken over.
            let word = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if word && key.starts_with(|c: char| c.is_ascii_uppercase()) {
                keys.retain(|(other, _)| other != key);
                keys.push((key.into(), unquoted(value).into()));
            }
        }
        Self { folder, keys }
    }

    /// What a key says, if anything.
    fn get(&self, key: &str) -> Option<&str> {
        let (_, value) = self.keys.iter().find(|(k, _)| k == key)?;
        (!matches!(value.as_str(), "" | "N.A." | "None" | "???" | "[]" | "{}")).then_some(value)
    }

    /// YES or NO, 1 or 0; NO where it is not said.
    fn yes(&self, key: &str) -> Result<bool> {
        match self.get(key).map(str::to_ascii_uppercase).as_deref() {
            None | Some("NO" | "N" | "0" | "FALSE") => Ok(false),
            Some("YES" | "Y" | "1" | "TRUE") => Ok(true),
            Some(other) => bail!("{key} is \"{other}\"; YES, NO, 1 and 0 are known"),
        }
    }

    fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some(text) = self.get(key) else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|n| n.is_finite());
        number.map(Some).with_context(|| format!("{key} is \"{text}\"; it must be a number"))
    }

    fn count(&self, key: &str) -> Result<Option<usize>> {
        let Some(number) = self.number(key)? else { return Ok(None) };
        ensure!(number.fract() == 0.0 && (0.0..1e9).contains(&number), "{key} is {number}; it must be a whole number");
        Ok(Some(number as usize))
    }

    /// A file that a key names: as it is named, in the parameter file's folder, or of that name there, for scans that were moved.
    fn file(&self, key: &str, postfix: &str) -> Result<PathBuf> {
        self.found(key, self.get(key).with_context(|| format!("{key} is not said"))?, postfix)
    }

    /// The same of a name that is one of the key's.
    fn found(&self, key: &str, named: &str, postfix: &str) -> Result<PathBuf> {
        let with = |path: PathBuf| PathBuf::from(format!("{}{postfix}", path.display()));
        let last = Path::new(named).file_name().map(|name| self.folder.join(name));
        let places = [Some(PathBuf::from(named)), Some(self.folder.join(named)), last];
        let found = places.into_iter().flatten().map(with).find(|path| path.exists());
        found.with_context(|| {
            format!("{key}: there is no {named}{postfix}, nor one of that name beside the parameter file")
        })
    }

    /// A value of the dictionary OPTIONS.
    fn option(&self, name: &str) -> Option<&str> {
        let text = self.get("OPTIONS")?.trim_matches(|c| "{} ".contains(c));
        let pairs = text.split(',').filter_map(|pair| pair.split_once(':'));
        pairs.filter(|(key, _)| unquoted(key) == name).map(|(_, value)| unquoted(value)).next()
    }

    /// All keys, with what they say.
    fn listed(&self) -> &[(String, String)] {
        &self.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"! HST_SLAVE PARAMETER FILE
FILE_PREFIX = "/no/such/folder/a # b_" # quoted
NUM_LAST_IMAGE = 12 ! the last
FILE_POSTFIX=.edf
ar[0]=0.0
OPTIONS= { 'padding':'E' , 'avoidhalftomo':'N'} # Padding
START_VOXEL_3 = 3
END_VOXEL_3 = 7
DO_PAGANIN = 1
PAGANIN_Lmicron = 34.5
PUC = 3
PUS = 0.8
ROTATION_AXIS_POSITION = 12.5
ROTATION_AXIS_POSITION = 13.5
BACKGROUND_FILE = N.A.
"#;

    #[test]
    fn lines() {
        let parameters = Parameters::parse(TEXT, PathBuf::new());
        let is = |key: &str, value: Option<&str>| assert_eq!(parameters.get(key), value, "{key}");
        is("FILE_PREFIX", Some("/no/such/folder/a # b_"));
        is("NUM_LAST_IMAGE", Some("12"));
        is("ROTATION_AXIS_POSITION", Some("13.5"));
        is("BACKGROUND_FILE", None);
        is("ar", None);
        assert_eq!([parameters.option("padding"), parameters.option("avoidhalftomo")], [Some("E"), Some("N")]);
        let taken = parameters.taken(|option| option == "--axis").expect("fates");
        let words: Vec<_> = taken.words().map(String::as_str).collect();
        let expected =
            ["--padding=edge", "--rows=2..7", "--phase=paganin", "--phase-length=34.5", "--unsharp", "0.8", "3"];
        assert_eq!(words, [&expected[..], &["--stripes=off"]].concat());
    }

    #[test]
    fn damaged_files() {
        crate::mutations::each(TEXT.as_bytes(), |bytes| {
            let parameters = Parameters::parse(&String::from_utf8_lossy(bytes), PathBuf::from("/no/such/folder"));
            // Errors are in order, others are not.
            let taken = parameters.taken(|_| false).map(|taken| (taken.check().is_ok(), taken.to_string()));
            let _ = (taken, files::read(&parameters, &Default::default()).err());
        });
    }
}
