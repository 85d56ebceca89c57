//! The steps of a projection by Fourier transforms: rows to and from frequencies along x, columns along y with the product
//! between both transforms, and the axial factor alone.

use super::columns::{Columns, Layout};
use super::fourier::Fourier;
use crate::cpu::lanes::Strand;
use crate::cpu::shared::Shared;
use crate::cpu::vector::{Kernel, Vector, dispatch};
use rayon::prelude::*;

/// Of a term, or of all: map and values by identifier.
type Factors<'a> = Option<(&'a [u32], &'a [f32])>;

/// Between columns of voxels and `[kx][y][z]`.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    Spread {
        input: &'a [f32],
        factors: Factors<'a>,
        axial: Option<&'a [f32]>,
    },
    /// `add`: to what is there.
    Collect {
        output: Shared<'a, f32>,
        factors: Factors<'a>,
        add: bool,
    },
}

/// Which steps of a kx are done, and where its full frequencies are.
#[derive(Clone, Copy)]
pub(super) enum Stages {
    /// All of them, in the cache.
    All,
    /// Products are added up in the large buffer; the last goes back.
    Add { first: bool, last: bool },
    /// Frequencies stay in the large buffer for all terms.
    Share { first: bool },
}

/// From `[kx][y][z]` to itself.
#[derive(Clone, Copy)]
pub(super) struct Frequencies<'a> {
    pub(super) spectrum: &'a [f32],
    pub(super) forward: bool,
    pub(super) rows: Shared<'a, f32>,
    pub(super) full: Shared<'a, f32>,
    pub(super) stages: Stages,
}

impl Fourier {
    pub(super) fn rows(&self, what: Rows, rows: Shared<f32>) {
        let line = 2 * self.along_x.len() * self.lanes();
        let scratch = || vec![0.0f32; 2 * line + self.along_x.room()];
        (0..self.layout.shape[1].div_ceil(2)).into_par_iter().for_each_init(scratch, |scratch, pair| {
            dispatch(self.level, Pair { fourier: self, what, rows, y: 2 * pair, scratch });
        });
    }

    pub(super) fn frequencies(&self, what: Frequencies) {
        let ny = self.along_y.len();
        let [near, product] = [self.grid.pad + ny * 2 * (self.block() + self.grid.pad), ny * 2 * self.block()];
        let scratch = || vec![0.0f32; near + product + self.along_y.room()];
        (0..self.grid.half).into_par_iter().for_each_init(scratch, |scratch, kx| {
            let (near, rest) = scratch.split_at_mut(near);
            let (product, room) = rest.split_at_mut(product);
            dispatch(self.level, Column { fourier: self, what, kx, near, product, room });
        });
    }

    pub(super) fn along_z(&self, axial: &[f32], volume: &mut Columns) {
        let Layout { shape: [_, ny, nx], margin, column, .. } = self.layout;
        let scratch = || vec![0.0f32; column + margin];
        let volume = Shared::new(volume.data_mut());
        (0..ny).into_par_iter().for_each_init(scratch, |scratch, y| {
            for x in 0..nx {
                dispatch(
                    self.level,
                    AlongZ { fourier: self, axial, start: volume.at(self.layout.start(x, y)), scratch },
                );
            }
        });
    }

    fn lanes(&self) -> usize {
        self.grid.deep / self.grid.vectors
    }

    /// Floats along z that a kx takes at once: all, if neighbours along z are summed.
    fn block(&self) -> usize {
        if self.slices.reach == 0 { self.lanes() } else { self.grid.deep }
    }
}

struct Pair<'a> {
    fourier: &'a Fourier,
    what: Rows<'a>,
    rows: Shared<'a, f32>,
    /// The first row.
    y: usize,
    /// Two lines and room of the transform.
    scratch: &'a mut [f32],
}

impl Kernel<f32> for Pair<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Fourier { layout, along_x, grid, .. } = self.fourier;
        let Layout { shape: [nz, ny, nx], column, .. } = *layout;
        let (line, rest) = self.scratch.split_at_mut(2 * along_x.len() * V::LANES);
        let (frequencies, room) = rest.split_at_mut(2 * along_x.len() * V::LANES);
        let (line, frequencies, room) = (line.as_mut_ptr(), frequencies.as_mut_ptr(), room.as_mut_ptr());
        let whole = Strand::packed(frequencies, V::LANES, along_x.len());
        let voxels = Strand::packed(line, V::LANES, nx);
        let (len, both) = (along_x.len(), self.y + 1 < ny);
        let starts = [layout.start(0, self.y), layout.start(0, if both { self.y + 1 } else { self.y })];
        let rows = if both { 2 } else { 1 };
        let factor = |factors: Factors, x: usize, row: usize| match factors {
            Some((map, values)) => values[map[(self.y + row) * nx + x] as usize],
            None => 1.0,
        };
        // SAFETY: columns have whole vectors; rows of frequencies hold `deep` floats twice for each kx and y, and these y are
        // this task's own, as are the output's rows; the scratch holds a vector pair for each element of the transform and
        // its room; instructions by the caller's contract.
        unsafe {
            let at = |kx: usize, row: usize, v: usize| {
                let (column, y) = (grid.row_column(ny), self.y + row);
                let start = self.rows.at(kx * column + y * 2 * grid.deep).wrapping_add(v * V::LANES);
                (start, start.wrapping_add(grid.deep))
            };
            let cell = |i: usize| (frequencies.add(2 * i * V::LANES), frequencies.add((2 * i + 1) * V::LANES));
            for v in 0..grid.vectors {
                match self.what {
                    Rows::Spread { input, factors, axial } => {
                        let from = starts.map(|s| input.as_ptr().add(s + v * V::LANES));
                        let [re, im] = from.map(|p| p.cast_mut());
                        let mut strand = Strand { re, im, step: column, count: nx };
                        if !both || factors.is_some() || axial.is_some() {
                            strand = voxels;
                            for x in 0..nx {
                                for row in 0..2 {
                                    let mut sum = V::splat(0.0);
                                    if row < rows {
                                        let from = from[row].add(x * column);
                                        sum = match axial {
                                            Some(axial) => along::<V>(from, axial),
                                            None => V::load(from),
                                        };
                                        if factors.is_some() {
                                            sum = sum.mul(V::splat(factor(factors, x, row)));
                                        }
                                    }
                                    sum.store(line.add((2 * x + row) * V::LANES));
                                }
                            }
                        }
                        along_x.run(strand, whole, room);
                        for kx in 0..grid.half {
                            // The transforms of both real rows, twice.
                            let ((re, im), (other_re, other_im)) = (cell(kx), cell((len - kx) % len));
                            let (re, im) = (V::load(re), V::load(im));
                            let (other_re, other_im) = (V::load(other_re), V::load(other_im));
                            let to = at(kx, 0, v);
                            re.add(other_re).store(to.0);
                            im.sub(other_im).store(to.1);
                            if both {
                                let to = at(kx, 1, v);
                                im.add(other_im).store(to.0);
                                other_re.sub(re).store(to.1);
                            }
                        }
                    }
                    Rows::Collect { output, factors, add } => {
                        for kx in 0..grid.half {
                            let (re, im) = at(kx, 0, v);
                            let (re, im) = (V::load(re), V::load(im));
                            let (mut other_re, mut other_im) = (V::splat(0.0), V::splat(0.0));
                            if both {
                                let other = at(kx, 1, v);
                                (other_re, other_im) = (V::load(other.0), V::load(other.1));
                            }
                            let to = cell(kx);
                            re.sub(other_im).store(to.0);
                            im.add(other_re).store(to.1);
                            let mirror = (len - kx) % len;
                            if mirror != kx {
                                let to = cell(mirror);
                                re.add(other_im).store(to.0);
                                other_re.sub(im).store(to.1);
                            }
                        }
                        let to = starts.map(|s| output.at(s).add(v * V::LANES));
                        if both && factors.is_none() && !add {
                            let strand = Strand { re: to[0], im: to[1], step: column, count: nx };
                            along_x.run(whole.swapped(), strand.swapped(), room);
                            continue;
                        }
                        along_x.run(whole.swapped(), voxels.swapped(), room);
                        for x in 0..nx {
                            for (row, to) in to.iter().enumerate().take(rows) {
                                let to = to.add(x * column);
                                let there = if add { V::load(to) } else { V::splat(0.0) };
                                let value = V::load(line.add((2 * x + row) * V::LANES));
                                value.fma(V::splat(factor(factors, x, row)), there).store(to);
                            }
                        }
                    }
                }
            }
            if let Rows::Collect { output, .. } = self.what {
                for start in &starts[..rows] {
                    for x in 0..nx {
                        for z in nz..grid.deep {
                            *output.at(start + x * column + z) = 0.0;
                        }
                    }
                }
            }
        }
    }
}

struct Column<'a> {
    fourier: &'a Fourier,
    what: Frequencies<'a>,
    kx: usize,
    /// Full frequencies of one block, its zeros never written.
    near: &'a mut [f32],
    product: &'a mut [f32],
    room: &'a mut [f32],
}

/// Full frequencies, or products: `[ky]` from `start` on, imaginary parts `half` behind real ones.
#[derive(Clone, Copy)]
struct Full {
    start: *mut f32,
    half: usize,
}

impl Full {
    fn strand(self, z: usize, count: usize) -> Strand {
        let re = self.start.wrapping_add(z);
        Strand { re, im: re.wrapping_add(self.half), step: 2 * self.half, count }
    }
}

impl Kernel<f32> for Column<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Fourier { layout, along_y, grid, .. } = self.fourier;
        let (ny, long) = (layout.shape[1], along_y.len());
        let block = self.fourier.block();
        let near = Full { start: self.near.as_mut_ptr().wrapping_add(grid.pad), half: block + grid.pad };
        let product = Full { start: self.product.as_mut_ptr(), half: block };
        let room = self.room.as_mut_ptr();
        for z in (0..grid.deep).step_by(block) {
            let vectors = || (0..block).step_by(V::LANES);
            // SAFETY: this kx of both buffers is this task's own; the scratch holds a block for each ky; instructions by the
            // caller's contract.
            unsafe {
                let rows = |at: usize| {
                    let re = self.what.rows.at(self.kx * grid.row_column(ny)).add(z + at);
                    Strand { re, im: re.add(grid.deep), step: 2 * grid.deep, count: ny }
                };
                let far = || {
                    let start = self.what.full.at(self.kx * grid.full_column(long)).add(grid.pad + z);
                    Full { start, half: grid.deep + grid.pad }
                };
                let spread = |to: Full| vectors().for_each(|at| along_y.run(rows(at), to.strand(at, long), room));
                let back = |from: Full| {
                    vectors().for_each(|at| along_y.run(from.strand(at, long).swapped(), rows(at).swapped(), room));
                };
                match self.what.stages {
                    Stages::All => {
                        spread(near);
                        self.multiply::<V>(near, product, block, false);
                        back(product);
                    }
                    Stages::Add { first, last } => {
                        spread(near);
                        self.multiply::<V>(near, far(), block, !first);
                        if last {
                            back(far());
                        }
                    }
                    Stages::Share { first } => {
                        if first {
                            spread(far());
                            let zeros = |p: *mut f32| std::slice::from_raw_parts_mut(p, grid.pad).fill(0.0);
                            zeros(far().start.sub(grid.pad));
                            (0..2 * long).for_each(|i| zeros(far().start.add(i * far().half + grid.deep)));
                        }
                        self.multiply::<V>(far(), product, block, false);
                        back(product);
                    }
                }
            }
        }
    }
}

impl Column<'_> {
    /// to = spectrum * from, a sum over neighbours along z.
    ///
    /// # Safety
    /// Both hold `block` floats twice for each ky, `from` with zeros around; the processor has V's instructions.
    #[inline(always)]
    unsafe fn multiply<V: Vector<Element = f32>>(&self, from: Full, to: Full, block: usize, add: bool) {
        let (long, slices) = (self.fourier.along_y.len(), self.fourier.slices);
        let floats = slices.floats();
        let weights = self.what.spectrum[self.kx * long * floats..].chunks_exact(floats).take(long);
        let reach = slices.reach as isize;
        for (ky, weights) in weights.enumerate() {
            let (from, to) = (from.strand(0, long), to.strand(0, long));
            for z in (0..block).step_by(V::LANES) {
                // SAFETY: by the caller's contract; the zeros are as long as the reach.
                unsafe {
                    let [re, im] = [from.re, from.im].map(|p| p.add(ky * from.step + z).cast_const());
                    let [to_re, to_im] = [to.re, to.im].map(|p| p.add(ky * to.step + z));
                    let (mut sum_re, mut sum_im) = (V::splat(0.0), V::splat(0.0));
                    if add {
                        (sum_re, sum_im) = (V::load(to_re), V::load(to_im));
                    }
                    if slices.even {
                        let weight = V::splat(weights[0]);
                        sum_re = V::load(re).fma(weight, sum_re);
                        sum_im = V::load(im).fma(weight, sum_im);
                        for d in 1..=reach {
                            let weight = weights.as_ptr().offset(2 * d - 1);
                            let (w_re, w_im) = (V::splat(*weight), V::splat(*weight.add(1)));
                            let (below_re, below_im) = (V::load(re.offset(-d)), V::load(im.offset(-d)));
                            let (above_re, above_im) = (V::load(re.offset(d)), V::load(im.offset(d)));
                            sum_re = below_re.add(above_re).fma(w_re, sum_re);
                            sum_im = below_im.add(above_im).fma(w_re, sum_im);
                            sum_re = below_im.sub(above_im).nfma(w_im, sum_re);
                            sum_im = below_re.sub(above_re).fma(w_im, sum_im);
                        }
                    } else {
                        for (d, weight) in (-reach..=reach).zip(weights.chunks_exact(2)) {
                            // The transpose takes the complex conjugate, from the other side.
                            let (d, sign) = if self.what.forward { (-d, 1.0) } else { (d, -1.0) };
                            let (w_re, w_im) = (V::splat(weight[0]), V::splat(sign * weight[1]));
                            let (v_re, v_im) = (V::load(re.offset(d)), V::load(im.offset(d)));
                            sum_re = v_im.nfma(w_im, v_re.fma(w_re, sum_re));
                            sum_im = v_re.fma(w_im, v_im.fma(w_re, sum_im));
                        }
                    }
                    sum_re.store(to_re);
                    sum_im.store(to_im);
                }
            }
        }
    }
}

/// A vector's sums along z, with weights that are the same above and below.
///
/// # Safety
/// Around `from` are as many floats more as the weights reach; the processor has V's instructions.
#[inline(always)]
unsafe fn along<V: Vector<Element = f32>>(from: *const f32, axial: &[f32]) -> V {
    // SAFETY: by the caller's contract.
    unsafe {
        let from = from.sub(axial.len() / 2);
        let mut sum = V::splat(0.0);
        for (k, weight) in axial.iter().enumerate() {
            sum = V::load(from.add(k)).fma(V::splat(*weight), sum);
        }
        sum
    }
}

/// One column.
struct AlongZ<'a> {
    fourier: &'a Fourier,
    axial: &'a [f32],
    start: *mut f32,
    /// Its margins stay 0.
    scratch: &'a mut [f32],
}

impl Kernel<f32> for AlongZ<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Element = f32>>(self) {
        let Layout { shape: [nz, ..], margin, .. } = self.fourier.layout;
        // SAFETY: columns are as long as whole vectors, the scratch has a margin more on either side; what lies beyond the
        // lattice was 0 and is set to 0 again; instructions by the caller's contract.
        unsafe {
            self.scratch[margin..][..nz].copy_from_slice(std::slice::from_raw_parts(self.start, nz));
            for z in (0..self.fourier.grid.deep).step_by(V::LANES) {
                along::<V>(self.scratch.as_ptr().add(margin + z), self.axial).store(self.start.add(z));
            }
            (nz..self.fourier.grid.deep).for_each(|z| *self.start.add(z) = 0.0);
        }
    }
}
