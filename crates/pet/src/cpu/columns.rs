//! Image and histo-images as the projections want them: `[y][x][z]`, zeros between the columns.

use crate::lattice::Lattice;
use isocenter_base::cpu::buffer::{Buffer, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::error::{Error, Result, Status};

/// Columns' length is a multiple of this: the widest vector.
const VECTOR: usize = 16;
/// Half a cache line.
const STEP: usize = 8;

/// Where columns lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(super) shape: [usize; 3],
    /// Zeros before each column; those of the next are behind it.
    pub(super) margin: usize,
    /// From column to column.
    pub(super) column: usize,
    /// From row to row.
    pub(super) row: usize,
}

impl Layout {
    /// With room for kernels that reach `reach` voxels along z.
    pub(crate) fn new(lattice: &Lattice, reach: usize) -> Result<Self> {
        let shape @ [nz, ny, nx] = lattice.shape();
        let margin = reach.max(1).next_multiple_of(STEP);
        let column = nz.next_multiple_of(VECTOR) + margin;
        // Cache lines of a row, 25 modulo 64: the columns that a kernel touches in neighbouring rows spread over the sets of the
        // first-level cache, which large powers of two would heap up.
        const LINE: usize = 16;
        let lines = (nx * column).div_ceil(LINE);
        let row = (lines + (25 + 64 - lines % 64) % 64) * LINE;
        let layout = Self { shape, margin, column, row };
        let bytes = ny.checked_mul(row).and_then(|n| n.checked_add(2 * margin)?.checked_mul(size_of::<f32>()));
        match bytes.map(isize::try_from) {
            Some(Ok(_)) => Ok(layout),
            _ => Err(Error::new(Status::SizeOverflow, format!("columns of {nz} x {ny} x {nx} voxels overflow"))),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.shape[1] * self.row + self.margin
    }

    /// Of an image or histo-image.
    pub(crate) fn bytes(&self) -> usize {
        self.len() * size_of::<f32>()
    }

    /// First voxel of the column at x, y.
    pub(super) fn start(&self, x: usize, y: usize) -> usize {
        self.margin + y * self.row + x * self.column
    }

    /// Columns of one y, the first at `from`, to rows `[z][x]`.
    ///
    /// # Safety
    /// The columns are readable, and nobody writes to them.
    #[inline(always)]
    pub(super) unsafe fn get_rows(&self, from: *const f32, rows: &mut [f32]) {
        let [nz, _, nx] = self.shape;
        assert_eq!(rows.len(), nz * nx);
        let whole = nx - nx % STEP;
        for x in (0..whole).step_by(STEP) {
            for z in 0..nz {
                for i in 0..STEP {
                    // SAFETY: z, x + i is in the rows; the column by this function's contract.
                    unsafe { *rows.get_unchecked_mut(z * nx + x + i) = *from.add((x + i) * self.column + z) };
                }
            }
        }
        for (z, row) in rows.chunks_exact_mut(nx).enumerate() {
            for (x, v) in row.iter_mut().enumerate().skip(whole) {
                // SAFETY: by this function's contract.
                *v = unsafe { *from.add(x * self.column + z) };
            }
        }
    }

    /// Rows `[z][x]` to the columns of y.
    ///
    /// # Safety
    /// Nobody else reads or writes the columns of y.
    #[inline(always)]
    pub(super) unsafe fn put_rows(&self, y: usize, rows: &[f32], columns: &Shared<f32>) {
        let [nz, _, nx] = self.shape;
        assert_eq!(rows.len(), nz * nx);
        for x in 0..nx {
            let to = columns.at(self.start(x, y));
            for z in 0..nz {
                // SAFETY: z, x is in the rows; a column has nz voxels.
                unsafe { *to.add(z) = *rows.get_unchecked(z * nx + x) };
            }
        }
    }
}

/// An image or a histo-image.
#[derive(Debug)]
pub(crate) struct Columns {
    layout: Layout,
    data: Buffer,
}

impl Columns {
    pub(crate) fn zeroed(layout: Layout) -> Result<Self> {
        Ok(Self { layout, data: Buffer::zeroed(layout.len())? })
    }

    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// Calls with each column.
    pub(super) fn par_columns(&mut self, call: impl Fn(usize, usize, &mut [f32]) + Sync) {
        let Layout { shape: [nz, ny, nx], margin, column, row } = self.layout;
        self.data[margin..].par_chunks_mut(row).take(ny).enumerate().for_each(|(y, row)| {
            row.chunks_mut(column).take(nx).enumerate().for_each(|(x, c)| call(x, y, &mut c[..nz]));
        });
    }

    /// Voxels at x, y, from the lowest z on.
    pub(crate) fn column(&self, x: usize, y: usize) -> &[f32] {
        &self.data[self.layout.start(x, y)..][..self.layout.shape[0]]
    }

    /// All of it; what lies between columns must stay 0.
    pub(super) fn data(&self) -> &[f32] {
        &self.data
    }

    pub(super) fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// The same value in every voxel.
    pub(crate) fn fill(&mut self, value: f32) {
        let Layout { shape: [nz, _, nx], margin, column, row } = self.layout;
        self.data[margin..].par_chunks_mut(row).for_each(|row| {
            row.chunks_mut(column).take(nx).for_each(|c| c[..nz].fill(value));
        });
    }

    /// Largest size of a value.
    pub(crate) fn largest(&self) -> f32 {
        let of = |part: &[f32]| part.iter().fold(0.0f32, |m, v| m.max(v.abs()));
        self.data.par_chunks(1 << 14).map(of).reduce(|| 0.0, f32::max)
    }

    /// From rows along x: `read` fills the row at z, y.
    pub(crate) fn set_rows(&mut self, read: impl Fn(usize, usize, &mut [f32]) + Sync) -> Result<()> {
        let layout = self.layout;
        let Layout { shape: [nz, ny, nx], .. } = layout;
        let columns = Shared::new(&mut self.data);
        (0..ny).into_par_iter().try_for_each_init(
            || zeros(nz * nx),
            |rows, y| {
                let rows = rows.as_mut().map_err(|e| e.clone())?;
                rows.chunks_exact_mut(nx).enumerate().for_each(|(z, row)| read(z, y, row));
                // SAFETY: columns of this y are this task's own.
                unsafe { layout.put_rows(y, rows, &columns) };
                Ok(())
            },
        )
    }

    /// To rows along x: `write` gets the row at z, y.
    pub(crate) fn get_rows(&self, write: impl Fn(usize, usize, &[f32]) + Sync) -> Result<()> {
        let Layout { shape: [nz, ny, nx], .. } = self.layout;
        (0..ny).into_par_iter().try_for_each_init(
            || zeros(nz * nx),
            |rows, y| {
                let rows = rows.as_mut().map_err(|e| e.clone())?;
                let columns = &self.data[self.layout.start(0, y)..];
                // SAFETY: it begins with the columns of this y, which nobody writes to.
                unsafe { self.layout.get_rows(columns.as_ptr(), rows) };
                rows.chunks_exact(nx).enumerate().for_each(|(z, row)| write(z, y, row));
                Ok(())
            },
        )
    }

    /// From `[z][y][x]`.
    #[cfg(test)]
    pub(crate) fn load(&mut self, volume: &[f32]) {
        let [nz, ny, nx] = self.layout.shape;
        assert_eq!(volume.len(), nz * ny * nx);
        self.set_rows(|z, y, row| row.copy_from_slice(&volume[(z * ny + y) * nx..][..nx])).expect("memory");
    }

    /// To `[z][y][x]`.
    #[cfg(test)]
    pub(crate) fn store(&self, volume: &mut [f32]) {
        let [nz, ny, nx] = self.layout.shape;
        assert_eq!(volume.len(), nz * ny * nx);
        let to = isocenter_base::cpu::shared::Shared::new(volume);
        self.get_rows(|z, y, row| {
            for (x, v) in row.iter().enumerate() {
                // SAFETY: each row is written once.
                unsafe { *to.at((z * ny + y) * nx + x) = *v };
            }
        })
        .expect("memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_come_back_and_margins_stay_zero() {
        for (shape, reach) in [([48, 5, 7], 5), ([1, 1, 1], 0), ([17, 3, 2], 9)] {
            let lattice = Lattice::new(shape, [4.0; 3]).expect("valid");
            let layout = Layout::new(&lattice, reach).expect("small");
            assert!(layout.margin >= reach && layout.row / 16 % 64 == 25);
            let volume: Vec<f32> = (1..=lattice.voxels()).map(|i| i as f32).collect();
            let mut columns = Columns::zeroed(layout).expect("memory");
            columns.load(&volume);
            let [nz, ny, nx] = shape;
            let top = columns.column(nx - 1, ny - 1)[nz - 1];
            assert_eq!(top, lattice.voxels() as f32);
            assert_eq!(columns.data().iter().filter(|v| **v != 0.0).count(), lattice.voxels());
            let mut back = vec![0.0; volume.len()];
            columns.store(&mut back);
            assert_eq!(back, volume);
        }
    }
}
