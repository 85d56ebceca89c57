//! Isotopes of PET.

use std::collections::BTreeSet;
use std::sync::OnceLock;

/// Half-life in s, and the part of the decays that send positrons.
#[derive(Clone, Debug, PartialEq)]
pub struct Isotope {
    /// Such as "F-18".
    pub name: String,
    pub half_life: f64,
    pub branching: f64,
}

const TABLE: &str = include_str!("isotopes.txt");
const MINUTE: f64 = 60.0;
const HOUR: f64 = 3600.0;
const DAY: f64 = 86400.0;
const YEAR: f64 = 365.2422 * DAY;

/// Names of elements as DICOM has them, CID 4020.
pub const ELEMENTS: [(&str, &str); 26] = [
    ("C", "Carbon"),
    ("N", "Nitrogen"),
    ("O", "Oxygen"),
    ("F", "Fluorine"),
    ("Na", "Sodium"),
    ("K", "Potassium"),
    ("Sc", "Scandium"),
    ("Ti", "Titanium"),
    ("Mn", "Manganese"),
    ("Fe", "Iron"),
    ("Co", "Cobalt"),
    ("Cu", "Copper"),
    ("Zn", "Zinc"),
    ("Ga", "Gallium"),
    ("Ge", "Germanium"),
    ("As", "Arsenic"),
    ("Se", "Selenium"),
    ("Br", "Bromine"),
    ("Rb", "Rubidium"),
    ("Y", "Yttrium"),
    ("Zr", "Zirconium"),
    ("Nb", "Niobium"),
    ("Tc", "Technetium"),
    ("I", "Iodine"),
    ("La", "Lanthanum"),
    ("Tb", "Terbium"),
];

const GAMMAS: &str =
    "sends other photons together with positrons: coincidences with them are counted as scatter or activity";
/// Those with photons above 400 keV in a tenth of the decays or more, at the time of a positron.
const WITH_GAMMAS: [&str; 20] = [
    "O-14", "Na-22", "K-38", "Sc-44", "Mn-52", "Mn-52m", "Co-55", "Cu-60", "Cu-61", "Ga-66", "As-70", "As-72", "As-74",
    "Br-76", "Rb-82", "Nb-90", "Tc-94m", "I-120", "I-124", "Tb-152",
];

/// All of the table, and their codes.
fn table() -> &'static [(Isotope, &'static str)] {
    static MADE: OnceLock<Vec<(Isotope, &'static str)>> = OnceLock::new();
    MADE.get_or_init(|| TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(line).collect())
}

fn line(text: &'static str) -> Option<(Isotope, &'static str)> {
    let [name, time, unit, branching, code] = text.split_whitespace().collect::<Vec<_>>()[..] else { return None };
    let second = match unit {
        "s" => 1.0,
        "min" => MINUTE,
        "h" => HOUR,
        "d" => DAY,
        "a" => YEAR,
        _ => return None,
    };
    let half_life = time.parse::<f64>().ok()? * second;
    Some((Isotope { name: name.into(), half_life, branching: branching.parse().ok()? }, code))
}

/// Names of all.
pub fn names() -> String {
    table().iter().map(|(isotope, _)| isotope.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// The isotope of a code of DICOM's CID 4020.
pub fn of_code(code: &str) -> Option<Isotope> {
    table().iter().find(|(_, own)| *own == code.trim() && *own != "-").map(|(isotope, _)| isotope.clone())
}

/// The code of an isotope in DICOM's CID 4020, None of one that it does not have.
pub fn code(name: &str) -> Option<&'static str> {
    table().iter().find(|(own, code)| own.name == name && *code != "-").map(|(_, code)| *code)
}

/// What makes values of some doubtful.
pub fn remark(name: &str) -> Option<String> {
    let decays = |other: &str| {
        format!("decays to {other}, whose positrons are not in its branching: give --branching if they are in the scan")
    };
    match name {
        "Y-86" => Some(format!("{GAMMAS}; of its positrons values from 0.27 to 0.32 a decay are published")),
        "Fe-52" => Some(decays("Mn-52m")),
        "Zn-62" => Some(decays("Cu-62")),
        "Ge-68" => Some("has the branching of Ga-68 in equilibrium with it, as in sealed sources".into()),
        _ => WITH_GAMMAS.contains(&name).then(|| GAMMAS.into()),
    }
}

/// The isotope of a name in any spelling: F-18, F18, 18F, [18F]FDG, ^18^Fluorine, Fluorine-18, Tc-94m, 94mTc; None of one that is not in the table, or of several.
pub fn known(text: &str) -> Option<Isotope> {
    let lower = text.to_lowercase();
    let of = |word: &str| ELEMENTS.iter().find(|(s, m)| word.eq_ignore_ascii_case(s) || word.eq_ignore_ascii_case(m));
    let is_element = |word: &str| of(word).is_some();
    let words = parts(&lower, |c| c.is_ascii_alphabetic());
    let words = words.iter().flat_map(|(_, word)| [*word, word.strip_prefix('m').unwrap_or("")]);
    let symbols: BTreeSet<_> = words.filter_map(of).map(|(symbol, _)| *symbol).collect();
    let mut masses = BTreeSet::new();
    for (at, mass) in parts(text, |c| c.is_ascii_digit()) {
        let rest = &text[at + mass.len()..];
        let meta = rest.starts_with('m') && !rest[1..].starts_with(|c: char| c.is_ascii_lowercase());
        masses.insert(format!("{mass}{}", if meta { "m" } else { "" }));
        // Letters of 94mTc are those of Tc and an m.
        let rest = rest.strip_prefix('^').unwrap_or(rest).to_lowercase();
        let Some(rest) = rest.strip_prefix('m') else { continue };
        let word = &rest[..rest.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(rest.len())];
        if is_element(word) && !is_element(&format!("m{word}")) {
            masses.insert(format!("{mass}m"));
        }
    }
    let named = |name: &String| table().iter().find(|(isotope, _)| isotope.name == *name);
    let all = symbols.iter().flat_map(|symbol| masses.iter().map(move |mass| format!("{symbol}-{mass}")));
    let mut found: Vec<_> = all.filter_map(|name| named(&name)).map(|(isotope, _)| isotope).collect();
    if found.len() > 1 && found.iter().any(|one| one.name.ends_with('m')) {
        found.retain(|one| one.name.ends_with('m'));
    }
    if let [one] = found[..] { Some(one.clone()) } else { None }
}

/// Parts of a text whose signs are all of a kind, and where they begin.
fn parts(text: &str, is: impl Fn(char) -> bool) -> Vec<(usize, &str)> {
    let mut made = Vec::new();
    let mut begin = None;
    for (at, sign) in text.char_indices().chain([(text.len(), '\0')]) {
        match (begin, is(sign)) {
            (None, true) => begin = Some(at),
            (Some(from), false) => {
                made.push((from, &text[from..at]));
                begin = None;
            }
            _ => {}
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of Python's module, as rows of a name, a product, a number and a code.
    #[test]
    fn the_table_is_pythons() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cbindings/python/isocenter/_isotopes.py");
        let text = std::fs::read_to_string(path).expect("Python's table");
        let body = text.split("_TABLE = (").nth(1).expect("a table").split("\n\n").next().expect("its end");
        let rows: Vec<Vec<&str>> =
            body.split("(\"").skip(1).map(|row| row.split(", ").map(str::trim).collect()).collect();
        assert_eq!(rows.len(), table().len());
        for (row, (isotope, code)) in rows.iter().zip(table()) {
            let unit = |name: &str| match name {
                "_MINUTE" => MINUTE,
                "_HOUR" => HOUR,
                "_DAY" => DAY,
                "_YEAR" => YEAR,
                number => number.parse().expect("a number"),
            };
            let name = row[0].trim_matches('"');
            let half_life: f64 = row[1].split(" * ").map(unit).product();
            let (own, other) = (*code, row[3].split('"').nth(1).expect("a code"));
            assert_eq!(name, isotope.name);
            assert!((half_life / isotope.half_life - 1.0).abs() < 1e-15, "{name}");
            assert_eq!(row[2].parse(), Ok(isotope.branching), "{name}");
            assert!(own == other || (own == "-" && other.is_empty()), "{name}: {own} {other}");
        }
        for (name, meaning) in ELEMENTS {
            assert!(text.contains(&format!("\"{name}\": \"{meaning}\"")), "{name}");
        }
        assert_eq!(
            text.split("ELEMENTS = {").nth(1).and_then(|t| t.split('}').next()).map(|t| t.matches(':').count()),
            Some(26)
        );
        let listed = text.split("dict.fromkeys((").nth(1).and_then(|t| t.split(')').next()).expect("a list");
        assert_eq!(listed.matches('-').count(), WITH_GAMMAS.len());
        assert!(WITH_GAMMAS.iter().all(|name| listed.contains(&format!("\"{name}\""))));
        assert!(text.contains(GAMMAS));
    }

    #[test]
    fn names_in_any_spelling() {
        for (text, name) in [
            ("F-18", "F-18"),
            ("F18", "F-18"),
            ("18F", "F-18"),
            ("[18F]FDG", "F-18"),
            ("^18^Fluorine", "F-18"),
            ("fluorine-18", "F-18"),
            ("Tc-94m", "Tc-94m"),
            ("94mTc", "Tc-94m"),
            ("^94m^Technetium", "Tc-94m"),
            ("52mMn", "Mn-52m"),
            ("52Mn", "Mn-52"),
            ("Mn-52", "Mn-52"),
            ("68Ga-PSMA", "Ga-68"),
        ] {
            assert_eq!(known(text).map(|one| one.name).as_deref(), Some(name), "{text}");
        }
        for text in ["", "F", "18", "F-19", "F-18 and Ga-68", "\u{130}18", "18\u{130}m^"] {
            assert_eq!(known(text), None, "{text}");
        }
        assert_eq!(of_code("35337001").map(|one| one.name).as_deref(), Some("Ga-68"));
        assert!(of_code("-").is_none() && of_code("").is_none());
    }
}
