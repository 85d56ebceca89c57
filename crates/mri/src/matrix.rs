//! The caller's sparse matrix R.

use isocenter_base::cpu::buffer::{Buffer, collected, copied, zeros};
use isocenter_base::error::{Result, fail};
use isocenter_nufft::Scalar;
use rustfft::num_complex::Complex;

/// A sparse matrix by rows.
pub(super) struct Rows<T: Scalar> {
    starts: Vec<usize>,
    columns: Vec<usize>,
    values: Buffer<Complex<T>>,
}

impl<T: Scalar> Rows<T> {
    /// First entry of each row (and one past the last), columns, values.
    pub(super) fn parts(&self) -> (&[usize], &[usize], &[Complex<T>]) {
        (&self.starts, &self.columns, &self.values)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    fn memory(&self) -> u64 {
        (size_of_val(&*self.starts) + size_of_val(&*self.columns) + size_of_val(&*self.values)) as u64
    }

    /// Row times vector.
    pub(super) fn times(&self, row: usize, x: &[Complex<T>]) -> Complex<T> {
        let part = self.starts[row]..self.starts[row + 1];
        let terms = self.columns[part.clone()].iter().zip(&self.values[part]);
        terms.fold(Complex::new(T::of(0.0), T::of(0.0)), |sum, (c, v)| sum + *v * x[*c])
    }
}

/// A sparse matrix, and its conjugate transpose by rows, so that both products are gathers.
pub(super) struct Matrix<T: Scalar> {
    forward: Rows<T>,
    adjoint: Rows<T>,
}

impl<T: Scalar> Matrix<T> {
    /// Compressed sparse rows: row i has the entries `starts[i]..starts[i + 1]` of columns and values.
    pub(super) fn new(starts: &[i64], columns: &[i64], values: &[Complex<f64>], voxels: usize) -> Result<Self> {
        let mut own = Buffer::<Complex<T>>::zeroed(values.len())?;
        own.iter_mut().zip(values).for_each(|(o, v)| *o = Complex::new(T::of(v.re), T::of(v.im)));
        let values = own;
        let rows = starts.len().saturating_sub(1);
        let entries = values.len();
        if starts.first() != Some(&0) || starts.last() != i64::try_from(entries).ok().as_ref() {
            fail!(OutOfRange, "matrix.row_starts must begin with 0 and end with the number of entries, {entries}");
        }
        if let Some(i) = starts.windows(2).position(|w| w[1] < w[0]) {
            fail!(
                OutOfRange,
                "matrix.row_starts[{}] is {}, below row_starts[{i}] ({})",
                i + 1,
                starts[i + 1],
                starts[i]
            );
        }
        let mut counts = zeros::<usize>(voxels + 1)?;
        for (i, c) in columns.iter().enumerate() {
            match usize::try_from(*c) {
                Ok(c) if c < voxels => counts[c + 1] += 1,
                _ => fail!(OutOfRange, "matrix.columns[{i}] is {c}; it must be 0 to {}, a voxel", voxels - 1),
            }
        }
        for c in 0..voxels {
            counts[c + 1] += counts[c];
        }
        let mut next = copied(&counts)?;
        let mut adjoint = Rows { starts: counts, columns: zeros(entries)?, values: Buffer::zeroed(entries)? };
        for row in 0..rows {
            for i in starts[row] as usize..starts[row + 1] as usize {
                let to = &mut next[columns[i] as usize];
                adjoint.columns[*to] = row;
                adjoint.values[*to] = values[i].conj();
                *to += 1;
            }
        }
        let whole = |list: &[i64]| collected(list.iter().map(|v| *v as usize));
        let forward = Rows { starts: whole(starts)?, columns: whole(columns)?, values };
        Ok(Self { forward, adjoint })
    }

    /// The matrix and its conjugate transpose.
    pub(super) fn both(&self) -> (&Rows<T>, &Rows<T>) {
        (&self.forward, &self.adjoint)
    }

    /// Bytes that it holds.
    pub(super) fn memory(&self) -> u64 {
        self.forward.memory() + self.adjoint.memory()
    }
}
