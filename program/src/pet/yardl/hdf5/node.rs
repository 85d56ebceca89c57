//! Values in an HDF5 file of yardl's.

use super::heaps::{Heaps, Place};
use super::layout::{Form, Layout, REFERENCE};
use super::types::Number;
use crate::pet::yardl::damaged;
use crate::pet::yardl::kinds::{AXES, Kind};
use anyhow::{Context, Result};
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of rows that are read together, about.
const AT_ONCE: u64 = 1 << 20;

/// Where a value is, or the first of some; what it is made of are others.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    heaps: &'a Heaps,
    of: Arc<Layout>,
    data: Data,
}

#[derive(Clone, Debug)]
enum Data {
    /// In memory, from a byte on.
    Held(Rc<[u8]>, usize),
    /// Of a vector that was not read yet; rows have been up to a byte.
    Stored(Place, u64),
}

impl<'a> Node<'a> {
    pub fn new(heaps: &'a Heaps, of: Arc<Layout>, place: Place) -> Self {
        Self { heaps, of, data: Data::Stored(place, 0) }
    }

    /// How far in the file it is, 0 to 1.
    pub fn at(&self) -> f64 {
        self.heaps.progress()
    }

    /// Bytes of the file.
    pub fn size(&self) -> u64 {
        self.heaps.size()
    }

    pub fn text(&mut self) -> Result<String> {
        if !matches!(self.of.form, Form::Text) {
            return Err(self.of.other("a text"));
        }
        let (_, place) = self.referred(1)?;
        let bytes = place.map_or_else(|| Ok(Vec::new()), |place| self.heaps.bytes(place))?;
        match String::from_utf8(bytes) {
            Ok(text) => Ok(text),
            Err(_) => damaged!("a text that is none"),
        }
    }

    /// The number of a place among others.
    pub fn number(&mut self, kind: &Kind, at: u64) -> Result<f64> {
        let Form::Number(number, _) = &self.of.form else { return Err(self.of.other(&kind.to_string())) };
        let number = *number;
        if !is_stored_as(kind, number) {
            return Err(self.of.other(&kind.to_string()));
        }
        let begin = at * self.of.size;
        Ok(match number {
            Number::U8 => u8::from_le_bytes(self.array(begin)?).into(),
            Number::I8 => i8::from_le_bytes(self.array(begin)?).into(),
            Number::U16 => u16::from_le_bytes(self.array(begin)?).into(),
            Number::I16 => i16::from_le_bytes(self.array(begin)?).into(),
            Number::U32 => u32::from_le_bytes(self.array(begin)?).into(),
            Number::I32 => i32::from_le_bytes(self.array(begin)?).into(),
            Number::U64 => u64::from_le_bytes(self.array(begin)?) as f64,
            Number::I64 => i64::from_le_bytes(self.array(begin)?) as f64,
            Number::F32 => f32::from_le_bytes(self.array(begin)?).into(),
            Number::F64 => f64::from_le_bytes(self.array(begin)?),
        })
    }

    pub fn field(&mut self, name: &str) -> Result<Self> {
        let (begin, of) = self.of.field(name).map(|(begin, of)| (begin, of.clone()))?;
        self.part(begin, of)
    }

    /// Which of the cases of a union there is, and where its value is.
    pub fn case(&mut self, cases: &[Option<Kind>]) -> Result<(usize, Self)> {
        let of_all = self.of.clone();
        let Form::Record(fields) = &of_all.form else { return Err(of_all.other("one of several types")) };
        let nullable = usize::from(matches!(cases.first(), Some(None)));
        if cases.len() == 2 && nullable == 1 && fields.len() == 2 && of_all.field("hasvalue").is_ok() {
            let has = self.field("hasvalue")?.number(&Kind::Bool, 0)? != 0.0;
            return Ok((has.into(), self.field("value")?));
        }
        let values: Vec<_> = fields.iter().filter(|(name, ..)| name != "$type").collect();
        if values.len() + nullable != cases.len() {
            return Err(of_all.other(&format!("one of {} types", cases.len())));
        }
        let at = self.field("$type")?.number(&Kind::I8, 0)?;
        let case = at + nullable as f64;
        if !(0.0..cases.len() as f64).contains(&case) {
            damaged!("case {case} of {}", cases.len());
        }
        // Nothing has no value: what is given for it is not read.
        let value = values.get(at.max(0.0) as usize).map_or((0, &of_all), |(_, begin, of)| (*begin, of));
        Ok((case as usize, self.part(value.0, value.1.clone())?))
    }

    /// How many items a vector has, and where they are.
    pub fn vector(&mut self, length: Option<u64>) -> Result<(u64, Self)> {
        match length {
            None => self.items(),
            Some(length) => Ok((length, self.within(&[length])?)),
        }
    }

    /// The shape of an array, and where its values are.
    pub fn array_of(&mut self, axes: Option<&[Option<u64>]>) -> Result<(Vec<u64>, Self)> {
        if let Some(shape) = axes.and_then(|axes| axes.iter().copied().collect::<Option<Vec<_>>>()) {
            let part = self.within(&shape)?;
            return Ok((shape, part));
        }
        if axes.is_some_and(|axes| axes.len() == 1) {
            let (count, part) = self.items()?;
            return Ok((vec![count], part));
        }
        let mut dimensions = self.field("dimensions")?;
        let (known, mut sides) = match axes {
            Some(axes) => (axes.len() as u64, dimensions.within(&[axes.len() as u64])?),
            None => dimensions.items()?,
        };
        if known > AXES as u64 {
            damaged!("an array of {known} axes");
        }
        let side = |k| Ok::<_, anyhow::Error>(sides.number(&Kind::Whole(64), k)? as u64);
        let shape = (0..known).map(side).collect::<Result<Vec<_>>>()?;
        let (count, part) = self.field("data")?.items()?;
        let fits = axes.is_none_or(|axes| axes.iter().zip(&shape).all(|(axis, side)| axis.is_none_or(|n| n == *side)));
        if shape.iter().try_fold(1u64, |n, side| n.checked_mul(*side)) != Some(count) || !fits {
            damaged!("an array {shape:?} of {count} values");
        }
        Ok((shape, part))
    }

    /// One of some items.
    pub fn item(&mut self, k: u64) -> Result<Self> {
        self.part(k * self.of.size, self.of.clone())
    }

    /// Reads the next rows of so many numbers of 32 bits into a buffer: as many as it has room for, and `most`. Gives how many rows they are.
    pub fn rows(&mut self, columns: usize, most: u64, to: &mut [u32]) -> Result<usize> {
        let size = self.of.size.max(1);
        let found = self.of.columns().filter(|found| found.len() == columns);
        let (Some(begins), Data::Stored(place, done)) = (found, &mut self.data) else {
            return Err(self.of.other(&format!("{columns} numbers")));
        };
        let count =
            most.min((to.len() / columns) as u64).min((AT_ONCE / size).max(1)).min((place.count - *done) / size);
        let bytes = self.heaps.bytes(Place { begin: place.begin + *done, count: count * size })?;
        *done += count * size;
        for (row, to) in bytes.chunks_exact(size as usize).zip(to.chunks_exact_mut(columns)) {
            for (begin, to) in begins.iter().zip(to) {
                let begin = *begin as usize;
                *to = u32::from_le_bytes(std::array::from_fn(|k| row[begin + k]));
            }
        }
        Ok(count as usize)
    }

    /// Bytes from one on, in memory.
    fn held(&mut self) -> Result<(&Rc<[u8]>, usize)> {
        if let Data::Stored(place, _) = &self.data {
            self.data = Data::Held(self.heaps.bytes(*place)?.into(), 0);
        }
        match &self.data {
            Data::Held(bytes, at) => Ok((bytes, *at)),
            Data::Stored(..) => unreachable!("it was read"),
        }
    }

    fn part(&mut self, begin: u64, of: Arc<Layout>) -> Result<Self> {
        let heaps = self.heaps;
        let (bytes, at) = self.held()?;
        Ok(Self { heaps, of, data: Data::Held(bytes.clone(), at + begin as usize) })
    }

    fn array<const N: usize>(&mut self, begin: u64) -> Result<[u8; N]> {
        let (bytes, at) = self.held()?;
        let found = bytes.get(at + begin as usize..).and_then(|bytes| bytes.first_chunk());
        found.copied().context("a value is beyond its bytes")
    }

    /// Items of an array.
    fn within(&mut self, shape: &[u64]) -> Result<Self> {
        let of = self.of.clone();
        match &of.form {
            Form::Array(known, items) if known == shape => self.part(0, items.clone()),
            _ => Err(of.other(&format!("an array {shape:?}"))),
        }
    }

    /// Those of a vector, and how many.
    fn items(&mut self) -> Result<(u64, Self)> {
        let of = self.of.clone();
        let Form::Vector(items) = &of.form else { return Err(of.other("a vector")) };
        let (count, place) = self.referred(items.size)?;
        let data = place.map_or_else(|| Data::Held(Rc::new([]), 0), |place| Data::Stored(place, 0));
        Ok((count, Self { heaps: self.heaps, of: items.clone(), data }))
    }

    /// How many items of such a size a heap has, and where.
    fn referred(&mut self, size: u64) -> Result<(u64, Option<Place>)> {
        let bytes: [u8; REFERENCE as usize] = self.array(0)?;
        let four = |at| u32::from_le_bytes(std::array::from_fn(|k| bytes[at + k]));
        let (count, heap, number) = (u64::from(four(0)), u64::from(four(4)) | u64::from(four(8)) << 32, four(12));
        if count == 0 {
            return Ok((0, None));
        }
        let Some(bytes) = count.checked_mul(size) else { damaged!("{count} items of {size} bytes") };
        let Ok(number) = u16::try_from(number) else { damaged!("no object {number} in the heap at byte {heap}") };
        Ok((count, Some(self.heaps.object(heap, number, bytes)?)))
    }
}

/// Whether HDF5 has numbers of a kind so.
fn is_stored_as(kind: &Kind, number: Number) -> bool {
    match kind {
        Kind::F32 => number == Number::F32,
        Kind::F64 => number == Number::F64,
        Kind::I8 => number == Number::I8,
        Kind::U8 | Kind::Bool => number == Number::U8,
        Kind::Whole(16) => number == Number::U16,
        Kind::Whole(32) => number == Number::U32,
        Kind::Whole(_) => number == Number::U64,
        Kind::Folded(16) => number == Number::I16,
        Kind::Folded(32) => number == Number::I32,
        // Days are numbers of 32 bits.
        Kind::Folded(_) => number == Number::I64 || number == Number::I32,
        _ => false,
    }
}
