//! How a file has the elements of a dataset, by their type as the library tells it: that of memory, where references to heaps have other sizes.

use super::types::{Number, Type};
use crate::pet::yardl::{Damaged, damaged, plain};
use anyhow::{Context, Result};
use hdf5_metno_sys::h5t::H5T_class_t;
use std::fmt;
use std::sync::Arc;

/// Of a number of items, of a heap's address and of the number of an object in it.
pub const REFERENCE: u64 = 16;
/// Types within types, and columns of a row, at most.
const DEEPEST: usize = 80;
const COLUMNS: u64 = 64;

/// Of a value.
#[derive(Debug)]
pub struct Layout {
    /// Bytes in the file.
    pub size: u64,
    pub form: Form,
}

#[derive(Debug)]
pub enum Form {
    /// Names of some, where it is an enumeration of bytes.
    Number(Number, Vec<(i8, String)>),
    Text,
    /// A reference to items.
    Vector(Arc<Layout>),
    Array(Vec<u64>, Arc<Layout>),
    /// Names, as [`plain`] has them, and where fields begin, in their order in the file.
    Record(Vec<(String, u64, Arc<Layout>)>),
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.form {
            Form::Number(number, _) => write!(f, "a number {number:?}"),
            Form::Text => f.write_str("a text"),
            Form::Vector(_) => f.write_str("a vector"),
            Form::Array(shape, _) => write!(f, "an array {shape:?}"),
            Form::Record(fields) => {
                let names: Vec<_> = fields.iter().map(|(name, ..)| name.as_str()).collect();
                write!(f, "a record of {}", names.join(", "))
            }
        }
    }
}

impl Layout {
    /// Of a type, while the library's lock is held.
    pub fn of(of: &Type) -> Result<Self> {
        Self::within(of, 0)
    }

    fn within(of: &Type, deep: usize) -> Result<Self> {
        if deep > DEEPEST {
            damaged!("it has types within types");
        }
        let inner = |of: &Type| Self::within(of, deep + 1);
        let items = || Ok::<_, anyhow::Error>(Arc::new(inner(&of.inner().context("a type without items")?)?));
        Ok(match of.class() {
            H5T_class_t::H5T_COMPOUND => {
                let members = (0..of.count()).map(|k| Some((k, of.member(k)?))).collect::<Option<Vec<_>>>();
                let mut members = members.context("a record without its fields")?;
                members.sort_by_key(|(_, (begin, _))| *begin);
                let (mut fields, mut more) = (Vec::new(), 0u64);
                for (k, (begin, member)) in members {
                    let made = inner(&member)?;
                    let name = of.name(k).context("a field without name")?;
                    let begin = begin.wrapping_add(more);
                    more = more.wrapping_add(made.size.wrapping_sub(member.size()));
                    fields.push((plain(&name), begin, Arc::new(made)));
                }
                let size = of.size().wrapping_add(more);
                let is_within = |(_, begin, of): &(String, u64, Arc<Self>)| begin.checked_add(of.size) <= Some(size);
                if !fields.iter().all(is_within) {
                    damaged!("it has a record of fields that are beyond it");
                }
                Self { size, form: Form::Record(fields) }
            }
            H5T_class_t::H5T_VLEN => Self { size: REFERENCE, form: Form::Vector(items()?) },
            H5T_class_t::H5T_STRING if of.is_any_text() => Self { size: REFERENCE, form: Form::Text },
            H5T_class_t::H5T_ARRAY => {
                let (items, shape) = (items()?, of.shape().context("an array without axes")?);
                let size = shape.iter().try_fold(items.size, |size, n| size.checked_mul(*n));
                Self { size: size.context("an array of too many items")?, form: Form::Array(shape, items) }
            }
            H5T_class_t::H5T_ENUM => {
                let base = inner(&of.inner().context("an enumeration without numbers")?)?;
                let Form::Number(number, _) = base.form else { damaged!("it has an enumeration of no numbers") };
                let symbol = |k| Some((of.value(k)?, of.name(k)?));
                let symbols = if base.size == 1 { (0..of.count()).map_while(symbol).collect() } else { Vec::new() };
                Self { form: Form::Number(number, symbols), ..base }
            }
            _ => match of.number() {
                Some(number) => Self { size: of.size(), form: Form::Number(number, Vec::new()) },
                None => damaged!("it has a type that yardl does not write"),
            },
        })
    }

    /// A field of a record.
    pub fn field(&self, name: &str) -> Result<(u64, &Arc<Self>)> {
        let fields = if let Form::Record(fields) = &self.form { &fields[..] } else { &[] };
        let found = fields.iter().find(|(known, ..)| known == name);
        found.map(|(_, begin, of)| (*begin, of)).ok_or_else(|| self.other(&format!("a record with {name}")))
    }

    /// An error.
    pub fn other(&self, expected: &str) -> anyhow::Error {
        Damaged(format!("it has {self} where its schema has {expected}")).into()
    }

    /// Where each number of 32 bits is, where there are no others.
    pub fn columns(&self) -> Option<Vec<u64>> {
        let mut made = Vec::new();
        self.add_columns(0, &mut made).then_some(made)
    }

    fn add_columns(&self, begin: u64, to: &mut Vec<u64>) -> bool {
        match &self.form {
            Form::Number(Number::U32, _) => {
                to.push(begin);
                true
            }
            Form::Record(fields) => fields.iter().all(|(_, at, of)| of.add_columns(begin + at, to)),
            Form::Array(shape, items) => {
                let count = shape.iter().product::<u64>();
                count <= COLUMNS && (0..count).all(|k| items.add_columns(begin + k * items.size, to))
            }
            _ => false,
        }
    }
}
