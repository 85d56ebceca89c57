//! Values, as a schema describes them.

use super::kinds::{Kind, Record};
use super::{At, damaged, plain};
use anyhow::{Context, Result, bail};
use std::sync::Arc;

/// What was read. Numbers of more than 53 bits are rounded.
#[derive(Clone, Debug)]
pub enum Value {
    Nothing,
    Number(f64),
    Text(String),
    /// Of an enumeration, a [`plain`] name, or a number where that has none.
    Symbol(String),
    /// Of a vector or an array of numbers.
    Numbers {
        shape: Vec<usize>,
        values: Vec<f64>,
    },
    List(Vec<Value>),
    Record(Arc<Record>, Vec<Value>),
}

/// Values that a file may have for each of its bytes, and that it may have whatever its size: types of nothing take none.
const A_BYTE: u64 = 8;
const ANYHOW: u64 = 1 << 16;

impl At<'_> {
    /// The value.
    pub fn value(&mut self, kind: &Kind) -> Result<Value> {
        Reader::new(self.size()).read(self, kind)
    }
}

/// Makes values, as many as a file can have.
pub(super) struct Reader {
    room: u64,
}

impl Reader {
    /// Of a file of so many bytes.
    pub(super) fn new(size: u64) -> Self {
        Self { room: size.saturating_mul(A_BYTE).saturating_add(ANYHOW) }
    }

    /// Counts a value.
    pub(super) fn one(&mut self) -> Result<()> {
        match self.room.checked_sub(1) {
            Some(room) => self.room = room,
            None => damaged!("more values than a file of its size has"),
        }
        Ok(())
    }

    pub(super) fn read(&mut self, at: &mut At, kind: &Kind) -> Result<Value> {
        self.one()?;
        Ok(match kind {
            Kind::Text => Value::Text(at.text()?),
            Kind::Record(record) => {
                let fields = record.names.iter().zip(&record.kinds);
                let values = fields.map(|(name, kind)| self.read(&mut at.field(name)?, kind)).collect::<Result<_>>()?;
                Value::Record(record.clone(), values)
            }
            Kind::Enumeration(symbols, base) => {
                let number = at.number(base, 0)?;
                let known = symbols.iter().find(|(value, _)| *value as f64 == number);
                Value::Symbol(known.map_or_else(|| number.to_string(), |(_, name)| name.clone()))
            }
            Kind::Union(cases) => {
                let (case, mut part) = at.case(cases)?;
                match &cases[case] {
                    Some(kind) => self.read(&mut part, kind)?,
                    None => Value::Nothing,
                }
            }
            Kind::Vector(item, length) => {
                let (count, mut part) = at.vector(*length)?;
                self.many(&mut part, item, count, vec![count as usize])?
            }
            Kind::Array(item, axes) => {
                let (shape, mut part) = at.array(axes.as_deref())?;
                let count = shape.iter().try_fold(1u64, |n, side| n.checked_mul(*side));
                let Some(count) = count else { damaged!("an array of {shape:?}") };
                let shape = shape.iter().map(|n| if count == 0 { 0 } else { *n as usize }).collect();
                self.many(&mut part, item, count, shape)?
            }
            Kind::Map(_) | Kind::Complex(_) => {
                at.leave_out(kind)?;
                Value::Nothing
            }
            _ => Value::Number(at.number(kind, 0)?),
        })
    }

    fn many(&mut self, at: &mut At, item: &Kind, count: u64, shape: Vec<usize>) -> Result<Value> {
        at.room(item, count)?;
        if !item.is_number() || matches!(item, Kind::Bool) {
            let mut list = Vec::new();
            for k in 0..count {
                list.try_reserve(1).context("no memory for a list")?;
                list.push(self.read(&mut at.item(k)?, item)?);
            }
            return Ok(Value::List(list));
        }
        let mut values = Vec::new();
        values.try_reserve_exact(count as usize).with_context(|| format!("no memory for {count} numbers"))?;
        for k in 0..count {
            values.push(at.number(item, k)?);
        }
        Ok(Value::Numbers { shape, values })
    }
}

impl Value {
    /// A field by its [`plain`] name, or any other way that it is written; None of one that there is not, and of an optional one that is not given.
    pub fn field(&self, name: &str) -> Option<&Value> {
        let Self::Record(record, values) = self else { return None };
        let at = record.names.iter().position(|known| *known == plain(name))?;
        values.get(at).filter(|value| !matches!(value, Self::Nothing))
    }

    /// The same of a field that there must be.
    pub fn part(&self, name: &str) -> Result<&Value> {
        let of = if let Self::Record(record, _) = self { &record.name } else { "value" };
        self.field(name).with_context(|| format!("its {of} has no {name}"))
    }

    /// Of a list.
    pub fn list(&self) -> Result<&[Value]> {
        match self {
            Self::List(list) => Ok(list),
            Self::Numbers { values, .. } if values.is_empty() => Ok(&[]),
            _ => bail!("something is no list"),
        }
    }

    /// Of a text or a symbol.
    pub fn text(&self) -> Result<&str> {
        match self {
            Self::Text(text) | Self::Symbol(text) => Ok(text),
            _ => bail!("something is no text"),
        }
    }

    /// Of one that is finite; `what` it is, of several.
    pub fn number(&self, what: &str) -> Result<f64> {
        match self {
            Self::Number(number) if number.is_finite() => Ok(*number),
            Self::Number(_) => bail!("the file's {what} are not all finite"),
            _ => bail!("the file's {what} are no numbers"),
        }
    }

    /// Of numbers that are finite, with their shape; rows of as many numbers have two axes.
    pub fn numbers(&self, what: &str) -> Result<(Vec<usize>, Vec<f64>)> {
        let (shape, values) = match self {
            Self::Numbers { shape, values } => (shape.clone(), values.clone()),
            Self::List(rows) => {
                let rows = rows.iter().map(|row| row.numbers(what)).collect::<Result<Vec<_>>>()?;
                let Some((first, _)) = rows.first() else { return Ok((vec![0], Vec::new())) };
                if rows.iter().any(|(shape, _)| shape != first) {
                    bail!("the file's {what} are of several lengths");
                }
                let shape = [&[rows.len()], &first[..]].concat();
                (shape, rows.into_iter().flat_map(|(_, values)| values).collect())
            }
            _ => bail!("the file's {what} are no numbers"),
        };
        if values.iter().any(|v| !v.is_finite()) {
            bail!("the file's {what} are not all finite");
        }
        Ok((shape, values))
    }
}
