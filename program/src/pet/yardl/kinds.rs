//! Types of a schema.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value as Json};
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Types within types, types of a schema in all, and axes of an array, at most.
const DEEPEST: usize = 40;
const MOST: usize = 1 << 16;
pub(super) const AXES: usize = 8;
/// Of a vector or an axis.
const LONGEST: u64 = 1 << 31;

/// How a value is stored.
#[derive(Clone, Debug)]
pub enum Kind {
    F32,
    F64,
    I8,
    U8,
    /// Two numbers of so many bytes.
    Complex(usize),
    Bool,
    Text,
    /// 7 bits a byte.
    Whole(u32),
    /// The same, of 0, -1, 1, -2 and so on.
    Folded(u32),
    Record(Arc<Record>),
    /// Values and their names.
    Enumeration(Arc<[(i64, String)]>, Arc<Kind>),
    /// None: nothing follows.
    Union(Arc<[Option<Kind>]>),
    Vector(Arc<Kind>, Option<u64>),
    /// Sizes that are fixed; None: of any number of axes.
    Array(Arc<Kind>, Option<Arc<[Option<u64>]>>),
    Map(Arc<[Kind; 2]>),
}

/// Fields, by [`plain`] names.
#[derive(Debug)]
pub struct Record {
    pub name: String,
    pub names: Vec<String>,
    pub kinds: Vec<Kind>,
}

/// A name as it is compared: tofBinEdges and tof_bin_edges are the same.
pub fn plain(name: &str) -> String {
    name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::F32 => f.write_str("float32"),
            Self::F64 => f.write_str("float64"),
            Self::I8 => f.write_str("int8"),
            Self::U8 => f.write_str("uint8"),
            Self::Bool => f.write_str("bool"),
            Self::Whole(bits) => write!(f, "uint{bits}"),
            Self::Folded(bits) => write!(f, "int{bits}"),
            _ => f.write_str("no number"),
        }
    }
}

impl Kind {
    pub(super) fn is_number(&self) -> bool {
        use Kind::*;
        matches!(self, F32 | F64 | I8 | U8 | Bool | Whole(_) | Folded(_))
    }

    /// How many numbers of 32 bits it is, one after the other, and nothing else, as events are.
    pub fn columns(&self) -> Option<u64> {
        match self {
            Self::Whole(32) => Some(1),
            Self::Record(record) if !record.kinds.is_empty() => {
                record.kinds.iter().map(Self::columns).try_fold(0u64, |sum, n| sum.checked_add(n?))
            }
            Self::Vector(item, Some(length)) => item.columns()?.checked_mul(*length),
            _ => None,
        }
    }

    /// Bytes of each, where all have as many.
    pub(super) fn bytes(&self) -> Option<u64> {
        match self {
            Self::I8 | Self::U8 | Self::Bool => Some(1),
            Self::F32 => Some(4),
            Self::F64 => Some(8),
            Self::Complex(size) => Some(2 * *size as u64),
            _ => None,
        }
    }
}

/// A schema's named types, and how many were made of them.
pub(super) struct Schema {
    named: HashMap<String, Json>,
    made: Cell<usize>,
}

/// Arguments of generic types, by the names that they have within.
type Given = HashMap<String, Kind>;

impl Schema {
    /// Of a text.
    pub(super) fn steps(text: &str) -> Result<Vec<super::Step>> {
        let whole: Json = serde_json::from_str(text)?;
        let types = whole.get("types").and_then(Json::as_array).cloned().unwrap_or_default();
        let named = types.into_iter().map(|one| Ok((known(name_of(&one)?).to_string(), one)));
        let schema = Self { named: named.collect::<Result<_>>()?, made: Cell::new(0) };
        let sequence = whole.pointer("/protocol/sequence").and_then(Json::as_array).context("no protocol")?;
        let step = |step: &Json| {
            let written = name_of(step)?;
            let kind = step.get("type").context("a step without type")?;
            let streamed = kind.get("stream").map(|stream| stream.get("items").context("a stream without items"));
            let of = streamed.transpose()?;
            let kind = schema.kind(of.unwrap_or(kind), &Given::new(), 0)?;
            Ok(super::Step { name: plain(written), written: written.into(), kind, streamed: of.is_some() })
        };
        sequence.iter().map(step).collect()
    }

    fn kind(&self, json: &Json, given: &Given, deep: usize) -> Result<Kind> {
        ensure!(deep <= DEEPEST, "types within types");
        self.made.set(self.made.get() + 1);
        ensure!(self.made.get() <= MOST, "more than {MOST} types");
        let inner = |json: &Json| self.kind(json, given, deep + 1);
        match json {
            Json::String(name) => {
                let name = known(name);
                match (given.get(name), self.named.get(name)) {
                    (Some(kind), _) => Ok(kind.clone()),
                    (_, Some(named)) => self.of_name(named, &Given::new(), deep + 1),
                    _ => primitive(name),
                }
            }
            Json::Array(cases) => {
                let case = |case: &Json| match case {
                    Json::Null => Ok(None),
                    Json::Object(tagged) if tagged.contains_key("tag") => inner(part(tagged, "type")?).map(Some),
                    other => inner(other).map(Some),
                };
                Ok(Kind::Union(cases.iter().map(case).collect::<Result<_>>()?))
            }
            Json::Object(of) => self.made_of(of, given, deep),
            _ => bail!("a type that is {json}"),
        }
    }

    fn made_of(&self, of: &Map<String, Json>, given: &Given, deep: usize) -> Result<Kind> {
        let inner = |json: &Json| self.kind(json, given, deep + 1);
        if let Some(vector) = of.get("vector") {
            let item = inner(vector.get("items").context("a vector without items")?)?;
            return Ok(Kind::Vector(Arc::new(item), vector.get("length").map(length).transpose()?));
        }
        if let Some(array) = of.get("array") {
            let item = inner(array.get("items").context("an array without items")?)?;
            return Ok(Kind::Array(Arc::new(item), axes(array.get("dimensions"))?));
        }
        if let Some(Json::Object(map)) = of.get("map") {
            return Ok(Kind::Map(Arc::new([inner(part(map, "keys")?)?, inner(part(map, "values")?)?])));
        }
        let name = known(of.get("name").and_then(Json::as_str).context("a type without name")?);
        let described = self.named.get(name).with_context(|| format!("a type that is not described, {name}"))?;
        let list = |json: Option<&Json>| json.and_then(Json::as_array).cloned().unwrap_or_default();
        let names = list(described.get("typeParameters"));
        let names = names.iter().map(|name| name.as_str().unwrap_or_default().to_string());
        let kinds = list(of.get("typeArguments")).iter().map(inner).collect::<Result<Vec<_>>>()?;
        self.of_name(described, &names.zip(kinds).collect(), deep + 1)
    }

    fn of_name(&self, described: &Json, given: &Given, deep: usize) -> Result<Kind> {
        if let Some(values) = described.get("values").and_then(Json::as_array) {
            let base = described.get("base").and_then(Json::as_str).unwrap_or("int32");
            let symbol = |value: &Json| {
                let number = value.get("value").and_then(Json::as_i64).context("a symbol without value")?;
                Ok((number, plain(value.get("symbol").and_then(Json::as_str).context("a symbol without name")?)))
            };
            let symbols = values.iter().map(symbol).collect::<Result<_>>()?;
            return Ok(Kind::Enumeration(symbols, Arc::new(primitive(known(base))?)));
        }
        let Some(fields) = described.get("fields").and_then(Json::as_array) else {
            return self.kind(described.get("type").context("a name without type")?, given, deep);
        };
        let names = fields.iter().map(|field| Ok(plain(name_of(field)?))).collect::<Result<_>>()?;
        let kind = |field: &Json| self.kind(field.get("type").context("a field without type")?, given, deep);
        let kinds = fields.iter().map(kind).collect::<Result<_>>()?;
        Ok(Kind::Record(Arc::new(Record { name: known(name_of(described)?).into(), names, kinds })))
    }
}

/// Without the name of its package.
fn known(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn name_of(json: &Json) -> Result<&str> {
    json.get("name").and_then(Json::as_str).context("something without name")
}

fn part<'a>(of: &'a Map<String, Json>, name: &str) -> Result<&'a Json> {
    of.get(name).with_context(|| format!("no {name}"))
}

fn length(json: &Json) -> Result<u64> {
    json.as_u64().filter(|n| *n < LONGEST).with_context(|| format!("a length of {json}"))
}

fn axes(dimensions: Option<&Json>) -> Result<Option<Arc<[Option<u64>]>>> {
    match dimensions {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Array(all)) => {
            ensure!(all.len() <= AXES, "an array of {} axes", all.len());
            let size = |axis: &Json| match axis.get("length") {
                None | Some(Json::Null) => Ok(None),
                Some(json) => length(json).map(Some),
            };
            all.iter().map(size).collect::<Result<_>>().map(Some)
        }
        Some(count) => {
            let count = length(count)?;
            ensure!(count <= AXES as u64, "an array of {count} axes");
            Ok(Some((0..count).map(|_| None).collect()))
        }
    }
}

fn primitive(name: &str) -> Result<Kind> {
    Ok(match name {
        "float32" => Kind::F32,
        "float64" => Kind::F64,
        "int8" => Kind::I8,
        "uint8" => Kind::U8,
        "complexfloat32" => Kind::Complex(4),
        "complexfloat64" => Kind::Complex(8),
        "bool" => Kind::Bool,
        "string" => Kind::Text,
        "uint16" => Kind::Whole(16),
        "uint32" => Kind::Whole(32),
        "uint64" | "size" => Kind::Whole(64),
        "int16" => Kind::Folded(16),
        "int32" => Kind::Folded(32),
        "int64" | "date" | "time" | "datetime" => Kind::Folded(64),
        _ => bail!("a type that is not described, {name}"),
    })
}
