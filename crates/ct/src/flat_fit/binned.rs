//! Means of a detector's pixels in blocks: of the flat field, and of frames.

use crate::rows::flat_field::{Beams, FlatField};
use isocenter_base::cpu::buffer::{append, zeros};
use isocenter_base::cpu::parallel::*;
use isocenter_base::error::Result;

/// The flat field in blocks, and which of these are compared.
#[derive(Debug)]
pub(super) struct Binned {
    /// Blocks along rows and bins.
    pub(super) size: [usize; 2],
    pub(super) components: usize,
    /// (plane, block): groups, then components.
    planes: Vec<f64>,
    /// Mean of each component.
    pub(super) means: Vec<f64>,
    dark: Vec<f64>,
    /// 1 where the next block along bins, or rows, can be compared with a block; else 0.
    across: Vec<f64>,
    down: Vec<f64>,
    /// Blocks with a good pixel.
    pub(super) count: f64,
    blocks: Blocks,
}

/// How pixels make blocks.
#[derive(Debug)]
struct Blocks {
    rows: usize,
    bins: usize,
    /// Rows and bins of a block.
    by: usize,
    /// Pixels that are left out, in their order.
    bad: Vec<usize>,
    /// 1 over the number of good pixels of a block, or 0.
    shares: Vec<f64>,
}

impl Blocks {
    fn new(flat: &FlatField, [rows, bins]: [usize; 2], by: usize) -> Result<Self> {
        let mut bad = Vec::new();
        for row in 0..rows {
            for bin in flat.unmeasured(row) {
                append(&mut bad, row * bins + bin)?;
            }
        }
        bad.sort_unstable();
        let mut blocks = Self { rows, bins, by, bad, shares: Vec::new() };
        let mut counts: Vec<f64> = zeros(blocks.size().iter().product())?;
        let ones = |_, row: &mut [f32]| {
            row.fill(1.0);
            Ok(())
        };
        blocks.sum(ones, &mut counts, &mut blocks.scratch()?)?;
        counts.iter_mut().filter(|n| **n > 0.0).for_each(|n| *n = 1.0 / *n);
        blocks.shares = counts;
        Ok(blocks)
    }

    fn size(&self) -> [usize; 2] {
        [self.rows.div_ceil(self.by), self.bins.div_ceil(self.by)]
    }

    fn scratch(&self) -> Result<Scratch> {
        Ok(Scratch { row: zeros(self.bins)?, columns: zeros(self.bins)? })
    }

    /// Sums over good pixels of what `read` gives row by row.
    fn sum(
        &self,
        read: impl Fn(usize, &mut [f32]) -> Result<()>,
        sums: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let Scratch { row, columns } = scratch;
        for (block, sums) in sums.chunks_exact_mut(self.size()[1]).enumerate() {
            columns.fill(0.0);
            for at in block * self.by..self.rows.min((block + 1) * self.by) {
                read(at, row)?;
                let pixels = at * self.bins..(at + 1) * self.bins;
                let bad = [pixels.start, pixels.end].map(|end| self.bad.partition_point(|k| *k < end));
                self.bad[bad[0]..bad[1]].iter().for_each(|k| row[k - pixels.start] = 0.0);
                columns.iter_mut().zip(&*row).for_each(|(sum, v)| *sum += f64::from(*v));
            }
            sums.iter_mut().zip(columns.chunks(self.by)).for_each(|(sum, columns)| *sum = columns.iter().sum());
        }
        Ok(())
    }
}

/// A row, and sums over some.
pub(super) struct Scratch {
    row: Vec<f32>,
    columns: Vec<f64>,
}

impl Binned {
    /// Of a flat field with components, in blocks of so many rows and bins.
    pub(super) fn new<'a>(flat: &'a FlatField, beams: &'a Beams, detector: [usize; 2], by: usize) -> Result<Self> {
        let blocks = Blocks::new(flat, detector, by)?;
        let (size, bins, n) = (blocks.size(), blocks.bins, blocks.shares.len());
        let pixels = |row: usize| row * bins..(row + 1) * bins;
        let means = |of: &dyn Fn(usize) -> &'a [f32], to: &mut [f64]| -> Result<()> {
            let read = |row, to: &mut [f32]| {
                to.copy_from_slice(of(row));
                Ok(())
            };
            blocks.sum(read, to, &mut blocks.scratch()?)?;
            to.iter_mut().zip(&blocks.shares).for_each(|(sum, share)| *sum *= share);
            Ok(())
        };
        let (components, mut planes, mut dark) = (beams.components(), zeros(beams.count() * n)?, zeros(n)?);
        let groups = beams.count() - components;
        planes
            .par_chunks_exact_mut(n)
            .enumerate()
            .try_for_each(|(plane, to)| means(&|row| beams.of_plane(plane, pixels(row)), to))?;
        means(&|row| flat.rows(row..row + 1).0, &mut dark)?;
        let (mut across, mut down): (Vec<f64>, Vec<f64>) = (zeros(n)?, zeros(n)?);
        let good = |k: usize| blocks.shares[k] > 0.0;
        for k in (0..n).filter(|k| good(*k)) {
            let (y, x) = (k / size[1], k % size[1]);
            across[k] = f64::from(x + 1 < size[1] && good(k + 1));
            down[k] = f64::from(y + 1 < size[0] && good(k + size[1]));
        }
        let count = (0..n).filter(|k| good(*k)).count() as f64;
        let mut mean: Vec<f64> = zeros(components)?;
        for (mean, plane) in mean.iter_mut().zip(planes.chunks_exact(n).skip(groups)) {
            *mean = plane.iter().sum::<f64>() / count.max(1.0);
        }
        Ok(Self { size, components, planes, means: mean, dark, across, down, count, blocks })
    }

    /// Number of blocks.
    pub(super) fn len(&self) -> usize {
        self.dark.len()
    }

    /// Whether a block has a good pixel.
    pub(super) fn good(&self, block: usize) -> bool {
        self.blocks.shares[block] > 0.0
    }

    /// A plane of a group or a component.
    pub(super) fn plane(&self, plane: usize) -> &[f64] {
        &self.planes[plane * self.len()..][..self.len()]
    }

    pub(super) fn component(&self, k: usize) -> &[f64] {
        self.plane(self.planes.len() / self.len() - self.components + k)
    }

    /// Whether the neighbours along bins and along rows of the blocks of a row can be compared with them.
    #[inline(always)]
    pub(super) fn neighbours(&self, y: usize) -> impl Iterator<Item = (&f64, &f64)> {
        let at = y * self.size[1]..(y + 1) * self.size[1];
        self.across[at.clone()].iter().zip(&self.down[at])
    }

    /// Means of counts less darks of a frame that `read` gives row by row.
    pub(super) fn frame(
        &self,
        read: impl Fn(usize, &mut [f32]) -> Result<()>,
        counts: &mut [f64],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.blocks.sum(read, counts, scratch)?;
        for ((sum, share), dark) in counts.iter_mut().zip(&self.blocks.shares).zip(&self.dark) {
            *sum = *sum * share - dark;
        }
        Ok(())
    }

    /// What `frame` works with.
    pub(super) fn scratch(&self) -> Result<Scratch> {
        self.blocks.scratch()
    }
}
