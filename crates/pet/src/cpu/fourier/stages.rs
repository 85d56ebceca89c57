//! The steps of a projection by Fourier transforms: rows to and from frequencies along x, columns along y with the product
//! between both transforms, and the axial factor alone.

use super::Fourier;
use crate::cpu::columns::{Columns, Layout};
use isocenter_base::cpu::buffer::{filled, zeros};
use isocenter_base::cpu::lanes::Strand;
use isocenter_base::cpu::parallel::*;
use isocenter_base::cpu::shared::Shared;
use isocenter_base::cpu::simd::{Kernel, Vector, dispatch};
use isocenter_base::error::Result;
use std::ops::Range;

/// Between columns of voxels and frequencies of rows.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    Spread {
        input: &'a [f32],
        axial: Option<&'a [f32]>,
    },
    /// `add`: to what is there.
    Collect {
        output: Shared<'a, f32>,
        add: bool,
    },
}

/// Frequencies of rows, `[term][kx][vector along z][y][re, im]`.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) data: Shared<'a, f32>,
    /// Floats of a term.
    pub(super) len: usize,
}

impl Fourier {
    /// From or to the lines of so many terms: of these if they have factors at this end, otherwise of one.
    pub(super) fn rows(&self, what: Rows, lines: Lines, factors: Option<Range<usize>>) -> Result<()> {
        let [_, ny, nx] = self.layout.shape;
        let room = 2 * 2 * self.along_x.len() * self.lanes() + self.along_x.room();
        let terms = factors.clone().map_or(1, |f| f.len());
        let scratch = || Ok((zeros(room)?, filled(terms * 2 * nx, 1.0)?));
        (0..ny.div_ceil(2)).into_par_iter().try_for_each_init(scratch, |both: &mut Result<_>, pair| {
            let (scratch, values) = both.as_mut().map_err(|e| e.clone())?;
            let own = self.factors(factors.clone(), 2 * pair * nx, values);
            let factors = own.then_some(&*values);
            dispatch(self.level, Pair { fourier: self, what, lines, terms, y: 2 * pair, scratch, factors });
            Ok(())
        })
    }

    /// The product with spectra, from the first line to all of the terms or the other way round.
    pub(super) fn frequencies(&self, spectra: &[Vec<f32>], forward: bool, lines: Lines) -> Result<()> {
        let ny = self.along_y.len();
        let [near, product] = [self.grid.pad + ny * 2 * (self.block() + self.grid.pad), ny * 2 * self.block()];
        let scratch = || zeros(near + product + self.along_y.room());
        (0..self.grid.half).into_par_iter().try_for_each_init(scratch, |scratch, kx| {
            let scratch = scratch.as_mut().map_err(|e| e.clone())?;
            let (near, rest) = scratch.split_at_mut(near);
            let (product, room) = rest.split_at_mut(product);
            dispatch(self.level, Column { fourier: self, spectra, forward, lines, kx, near, product, room });
            Ok(())
        })
    }

    pub(super) fn along_z(&self, axial: &[f32], volume: &mut Columns) -> Result<()> {
        assert!(volume.layout() == self.layout && axial.len() / 2 <= self.layout.margin);
        let Layout { shape: [_, ny, nx], margin, column, .. } = self.layout;
        let scratch = || zeros(column + margin);
        let volume = Shared::new(volume.data_mut());
        (0..ny).into_par_iter().try_for_each_init(scratch, |scratch, y| {
            let scratch = scratch.as_mut().map_err(|e| e.clone())?;
            for x in 0..nx {
                dispatch(
                    self.level,
                    AlongZ { fourier: self, axial, start: volume.at(self.layout.start(x, y)), scratch },
                );
            }
            Ok(())
        })
    }

    /// `[term][row][x]` of two rows from voxel `from` of the map on; false where there are none.
    fn factors(&self, terms: Option<Range<usize>>, from: usize, values: &mut [f32]) -> bool {
        let Some(terms) = terms.filter(|_| !self.coefficients.is_empty()) else { return false };
        let two = 2 * self.layout.shape[2];
        for (of, to) in self.coefficients[terms].iter().zip(values.chunks_exact_mut(two)) {
            for (to, a) in to.iter_mut().zip(&self.map[from..]) {
                *to = of[*a as usize];
            }
        }
        true
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
    lines: Lines<'a>,
    terms: usize,
    /// The first row.
    y: usize,
    /// Two lines and room of the transform.
    scratch: &'a mut [f32],
    /// `[term][row][x]`
    factors: Option<&'a Vec<f32>>,
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
        // SAFETY: columns have whole vectors; rows of frequencies hold a vector twice for each term, kx, vector and y, and these
        // y are this task's own, as are the output's rows; the scratch holds a vector pair for each element of the transform
        // and its room; factors are as many as voxels of both rows, for each term; instructions by the caller's contract.
        unsafe {
            let factor = |term: usize, x: usize, row: usize| match self.factors {
                Some(factors) => V::splat(*factors.get_unchecked((2 * term + row) * nx + x)),
                None => V::splat(1.0),
            };
            let mirror = |kx: usize| if kx == 0 { 0 } else { len - kx };
            let cell = |i: usize| (frequencies.add(2 * i * V::LANES), frequencies.add((2 * i + 1) * V::LANES));
            for (v, term) in (0..grid.vectors).flat_map(|v| (0..self.terms).map(move |t| (v, t))) {
                let first = self.lines.data.at(term * self.lines.len);
                let at = |kx: usize, row: usize| {
                    let start = first.add(kx * grid.line_column(ny) + (v * ny + self.y + row) * 2 * V::LANES);
                    (start, start.add(V::LANES))
                };
                match self.what {
                    Rows::Spread { input, axial } => {
                        let from = starts.map(|s| input.as_ptr().add(s + v * V::LANES));
                        let [re, im] = from.map(|p| p.cast_mut());
                        let mut strand = Strand { re, im, step: column, count: nx };
                        if !both || self.factors.is_some() || axial.is_some() {
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
                                        sum = sum.mul(factor(term, x, row));
                                    }
                                    sum.store(line.add((2 * x + row) * V::LANES));
                                }
                            }
                        }
                        along_x.run(strand, whole, room);
                        for kx in 0..grid.half {
                            // The transforms of both real rows, twice.
                            let ((re, im), (other_re, other_im)) = (cell(kx), cell(mirror(kx)));
                            let (re, im) = (V::load(re), V::load(im));
                            let (other_re, other_im) = (V::load(other_re), V::load(other_im));
                            let to = at(kx, 0);
                            re.add(other_re).store(to.0);
                            im.sub(other_im).store(to.1);
                            if both {
                                let to = at(kx, 1);
                                im.add(other_im).store(to.0);
                                other_re.sub(re).store(to.1);
                            }
                        }
                    }
                    Rows::Collect { output, add } => {
                        for kx in 0..grid.half {
                            let (re, im) = at(kx, 0);
                            let (re, im) = (V::load(re), V::load(im));
                            let (mut other_re, mut other_im) = (V::splat(0.0), V::splat(0.0));
                            if both {
                                let other = at(kx, 1);
                                (other_re, other_im) = (V::load(other.0), V::load(other.1));
                            }
                            let to = cell(kx);
                            re.sub(other_im).store(to.0);
                            im.add(other_re).store(to.1);
                            if mirror(kx) != kx {
                                let to = cell(mirror(kx));
                                re.add(other_im).store(to.0);
                                other_re.sub(im).store(to.1);
                            }
                        }
                        let to = starts.map(|s| output.at(s).add(v * V::LANES));
                        if both && self.factors.is_none() && !add {
                            let strand = Strand { re: to[0], im: to[1], step: column, count: nx };
                            along_x.run(whole.swapped(), strand.swapped(), room);
                            continue;
                        }
                        along_x.run(whole.swapped(), voxels.swapped(), room);
                        for x in 0..nx {
                            for (row, to) in to.iter().enumerate().take(rows) {
                                let to = to.add(x * column);
                                let there = if add || term > 0 { V::load(to) } else { V::splat(0.0) };
                                let value = V::load(line.add((2 * x + row) * V::LANES));
                                value.fma(factor(term, x, row), there).store(to);
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
    spectra: &'a [Vec<f32>],
    forward: bool,
    lines: Lines<'a>,
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
        let terms = self.spectra.len();
        for z in (0..grid.deep).step_by(block) {
            let vectors = || (0..block).step_by(V::LANES);
            // SAFETY: this kx of all lines is this task's own; the scratch holds a block for each ky; instructions by the
            // caller's contract.
            unsafe {
                let line = |term: usize, at: usize| {
                    let start =
                        self.lines.data.at(term * self.lines.len + self.kx * grid.line_column(ny) + (z + at) * 2 * ny);
                    Strand::packed(start, V::LANES, ny)
                };
                let there = |term| vectors().for_each(|at| along_y.run(line(term, at), near.strand(at, long), room));
                let back = |term| {
                    vectors().for_each(|at| {
                        along_y.run(product.strand(at, long).swapped(), line(term, at).swapped(), room);
                    });
                };
                for term in 0..terms {
                    if self.forward || term == 0 {
                        there(term);
                    }
                    self.multiply::<V>(&self.spectra[term], near, product, block, self.forward && term > 0);
                    if !self.forward || term + 1 == terms {
                        back(if self.forward { 0 } else { term });
                    }
                }
            }
        }
    }
}

impl Column<'_> {
    /// to = by * from, a sum over neighbours along z; `add`: to what is there.
    ///
    /// # Safety
    /// Both hold `block` floats twice for each ky, `from` with zeros around; the processor has V's instructions.
    #[inline(always)]
    unsafe fn multiply<V: Vector<Element = f32>>(&self, by: &[f32], from: Full, to: Full, block: usize, add: bool) {
        let (long, slices) = (self.fourier.along_y.len(), self.fourier.slices);
        let floats = slices.floats();
        let weights = by[self.kx * long * floats..].chunks_exact(floats).take(long);
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
                            let (d, sign) = if self.forward { (-d, 1.0) } else { (d, -1.0) };
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
