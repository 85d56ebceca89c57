//! Values of the binary form that are left out.

use super::value::Reader;
use super::{Kind, Stream};
use anyhow::Result;

impl Stream {
    /// Goes on after the next value.
    pub fn leave_out(&mut self, kind: &Kind) -> Result<()> {
        self.skip(kind, &mut Reader::new(self.size()))
    }

    /// Goes on after so many items of a vector.
    pub fn leave_items_out(&mut self, item: &Kind, count: u64) -> Result<()> {
        self.skip_many(item, count, &mut Reader::new(self.size()))
    }

    fn skip(&mut self, kind: &Kind, counted: &mut Reader) -> Result<()> {
        counted.one()?;
        match kind {
            Kind::Text => {
                let count = self.count()?;
                self.pass_over(count)
            }
            Kind::Record(record) => record.kinds.iter().try_for_each(|kind| self.skip(kind, counted)),
            Kind::Enumeration(_, base) => self.skip(base, counted),
            Kind::Union(cases) => {
                cases[self.case(cases.len())?].as_ref().map_or(Ok(()), |kind| self.skip(kind, counted))
            }
            Kind::Vector(item, length) => {
                let count = length.map_or_else(|| self.count(), Ok)?;
                self.skip_many(item, count, counted)
            }
            Kind::Array(item, axes) => {
                let shape = self.shape(axes.as_deref())?;
                let count = shape.iter().try_fold(1u64, |n, side| n.checked_mul(*side));
                self.skip_many(item, count.unwrap_or(u64::MAX), counted)
            }
            Kind::Map(of) => {
                for _ in 0..self.count()? {
                    of.iter().try_for_each(|kind| self.skip(kind, counted))?;
                }
                Ok(())
            }
            Kind::Whole(bits) | Kind::Folded(bits) => self.whole(*bits).map(drop),
            _ => self.pass_over(kind.bytes().unwrap_or(0)),
        }
    }

    fn skip_many(&mut self, item: &Kind, count: u64, counted: &mut Reader) -> Result<()> {
        self.room(count)?;
        if let Some(bytes) = item.bytes() {
            return self.pass_over(count.saturating_mul(bytes));
        }
        let columns = if let Kind::Whole(_) | Kind::Folded(_) = item { Some(1) } else { item.columns() };
        if let Some(columns) = columns {
            let numbers = count.saturating_mul(columns);
            self.room(numbers)?;
            return self.skip_wholes(numbers);
        }
        (0..count).try_for_each(|_| self.skip(item, counted))
    }
}
