//! Values, as a schema describes them.

use super::kinds::{AXES, Kind, Record};
use super::{Stream, damaged, plain};
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

/// Reads values, as many as a file can have.
pub struct Reader<'a> {
    stream: &'a mut Stream,
    room: u64,
}

impl Stream {
    /// The next value.
    pub fn value(&mut self, kind: &Kind) -> Result<Value> {
        let room = self.size().saturating_mul(A_BYTE).saturating_add(ANYHOW);
        Reader { stream: self, room }.read(kind)
    }

    /// Goes on after the next value.
    pub fn leave_out(&mut self, kind: &Kind) -> Result<()> {
        let room = self.size().saturating_mul(A_BYTE).saturating_add(ANYHOW);
        Reader { stream: self, room }.skip(kind)
    }
}

impl Reader<'_> {
    fn one(&mut self) -> Result<()> {
        match self.room.checked_sub(1) {
            Some(room) => self.room = room,
            None => damaged!("more values before byte {} than a file of its size has", self.stream.place()),
        }
        Ok(())
    }

    fn read(&mut self, kind: &Kind) -> Result<Value> {
        self.one()?;
        Ok(match kind {
            Kind::Text => Value::Text(self.stream.text()?),
            Kind::Record(record) => {
                let values = record.kinds.iter().map(|kind| self.read(kind)).collect::<Result<_>>()?;
                Value::Record(record.clone(), values)
            }
            Kind::Enumeration(symbols, base) => {
                let Some(number) = self.number(base)? else { damaged!("an enumeration of no numbers") };
                let known = symbols.iter().find(|(value, _)| *value as f64 == number);
                Value::Symbol(known.map_or_else(|| number.to_string(), |(_, name)| name.clone()))
            }
            Kind::Union(cases) => match self.case(cases)? {
                Some(kind) => self.read(kind)?,
                None => Value::Nothing,
            },
            Kind::Vector(item, length) => {
                let count = match length {
                    Some(length) => *length,
                    None => self.stream.count()?,
                };
                self.many(item, count, vec![count as usize])?
            }
            Kind::Array(item, axes) => {
                let shape = self.shape(axes.as_deref())?;
                let count = shape.iter().try_fold(1u64, |n, side| n.checked_mul(*side));
                let Some(count) = count else { damaged!("an array of {shape:?} before byte {}", self.stream.place()) };
                let shape = shape.iter().map(|n| if count == 0 { 0 } else { *n as usize }).collect();
                self.many(item, count, shape)?
            }
            Kind::Map(_) => {
                self.skip(kind)?;
                Value::Nothing
            }
            Kind::Complex(_) => {
                self.skip(kind)?;
                Value::Nothing
            }
            _ => match self.number(kind)? {
                Some(number) => Value::Number(number),
                None => damaged!("a schema with a type that is not described"),
            },
        })
    }

    /// None of what is no number.
    fn number(&mut self, kind: &Kind) -> Result<Option<f64>> {
        let folded = |value: u64| (value >> 1) as i64 ^ -((value & 1) as i64);
        Ok(Some(match kind {
            Kind::F32 => f32::from_le_bytes(self.stream.array()?).into(),
            Kind::F64 => f64::from_le_bytes(self.stream.array()?),
            Kind::I8 => (self.stream.byte()? as i8).into(),
            Kind::U8 => self.stream.byte()?.into(),
            Kind::Bool => f64::from(u8::from(self.stream.byte()? != 0)),
            Kind::Whole(bits) => self.stream.whole(*bits)? as f64,
            Kind::Folded(bits) => folded(self.stream.whole(*bits)?) as f64,
            _ => return Ok(None),
        }))
    }

    fn case<'k>(&mut self, cases: &'k [Option<Kind>]) -> Result<Option<&'k Kind>> {
        let at = self.stream.byte()?;
        match cases.get(usize::from(at)) {
            Some(case) => Ok(case.as_ref()),
            None => damaged!("case {at} of {} before byte {}", cases.len(), self.stream.place()),
        }
    }

    fn shape(&mut self, axes: Option<&[Option<u64>]>) -> Result<Vec<u64>> {
        let any;
        let axes = match axes {
            Some(axes) => axes,
            None => {
                let count = self.stream.whole(64)?;
                if count > AXES as u64 {
                    damaged!("an array of {count} axes before byte {}", self.stream.place());
                }
                any = vec![None; count as usize];
                &any
            }
        };
        axes.iter().map(|size| size.map_or_else(|| self.stream.count(), Ok)).collect()
    }

    fn many(&mut self, item: &Kind, count: u64, shape: Vec<usize>) -> Result<Value> {
        self.stream.room(count)?;
        let is_number = matches!(item, Kind::F32 | Kind::F64 | Kind::I8 | Kind::U8 | Kind::Whole(_) | Kind::Folded(_));
        if !is_number {
            let mut list = Vec::new();
            for _ in 0..count {
                list.try_reserve(1).context("no memory for a list")?;
                list.push(self.read(item)?);
            }
            return Ok(Value::List(list));
        }
        if let Some(bytes) = item.bytes() {
            self.stream.room(count.saturating_mul(bytes))?;
        }
        let mut values = Vec::new();
        values.try_reserve_exact(count as usize).with_context(|| format!("no memory for {count} numbers"))?;
        for _ in 0..count {
            values.extend(self.number(item)?);
        }
        Ok(Value::Numbers { shape, values })
    }

    fn skip(&mut self, kind: &Kind) -> Result<()> {
        self.one()?;
        match kind {
            Kind::Text => {
                let count = self.stream.count()?;
                self.stream.skip(count)
            }
            Kind::Record(record) => record.kinds.iter().try_for_each(|kind| self.skip(kind)),
            Kind::Enumeration(_, base) => self.skip(base),
            Kind::Union(cases) => self.case(cases)?.map_or(Ok(()), |kind| self.skip(kind)),
            Kind::Vector(item, length) => {
                let count = length.map_or_else(|| self.stream.count(), Ok)?;
                self.skip_many(item, count)
            }
            Kind::Array(item, axes) => {
                let shape = self.shape(axes.as_deref())?;
                let count = shape.iter().try_fold(1u64, |n, side| n.checked_mul(*side));
                self.skip_many(item, count.unwrap_or(u64::MAX))
            }
            Kind::Map(of) => {
                for _ in 0..self.stream.count()? {
                    of.iter().try_for_each(|kind| self.skip(kind))?;
                }
                Ok(())
            }
            Kind::Whole(bits) | Kind::Folded(bits) => self.stream.whole(*bits).map(drop),
            _ => self.stream.skip(kind.bytes().unwrap_or(0)),
        }
    }

    fn skip_many(&mut self, item: &Kind, count: u64) -> Result<()> {
        self.stream.room(count)?;
        if let Some(bytes) = item.bytes() {
            return self.stream.skip(count.saturating_mul(bytes));
        }
        let columns = if let Kind::Whole(_) | Kind::Folded(_) = item { Some(1) } else { item.columns() };
        if let Some(columns) = columns {
            let numbers = count.saturating_mul(columns);
            self.stream.room(numbers)?;
            return self.stream.skip_wholes(numbers);
        }
        (0..count).try_for_each(|_| self.skip(item))
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
