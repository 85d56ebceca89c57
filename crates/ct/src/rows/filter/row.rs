//! Rows that the processor filters.

use super::{Filter, Kernel, Padding, padded_bins};
use isocenter_base::cpu::buffer::{collected, probe, zeros};
use isocenter_base::error::Result;
use isocenter_fft::Planner;
use rustfft::Fft;
use rustfft::num_complex::Complex;
use std::sync::Arc;

/// A filter made ready for rows of one length.
pub(crate) struct RowFilter {
    bins: usize,
    forward: Arc<dyn Fft<f32>>,
    inverse: Arc<dyn Fft<f32>>,
    /// Response over the transform's length, its scale included; empty for [`Filter::None`].
    response: Vec<f32>,
    /// The kernel's tails, where edge values go on beyond the row: at n bins from its end.
    tails: Vec<f32>,
}

/// A thread's working memory.
pub(crate) struct Scratch {
    line: Vec<Complex<f32>>,
    fft: Vec<Complex<f32>>,
}

impl RowFilter {
    pub(crate) fn new(filter: &Filter, padding: Padding, bins: usize, bin_pitch: f64) -> Result<Self> {
        let padded = padded_bins(bins);
        // The planner's tables.
        probe(Self::table_bytes(bins))?;
        let mut planner = Planner::new();
        let (forward, inverse) = (planner.plan_fft_forward(padded), planner.plan_fft_inverse(padded));
        let (mut response, mut tails) = (Vec::new(), Vec::new());
        if let Some(kernel) = Kernel::new(filter, bins)? {
            let scale = 1.0 / (bin_pitch * padded as f64);
            response = collected(kernel.response(padded)?.iter().map(|h| (h * scale) as f32))?;
            if padding == Padding::Edge {
                tails = collected(kernel.tails.iter().map(|t| (t / bin_pitch) as f32))?;
            }
        }
        Ok(Self { bins, forward, inverse, response, tails })
    }

    pub(crate) fn scratch(&self) -> Result<Scratch> {
        let [line, fft] = self.line_lens();
        Ok(Scratch { line: zeros(line)?, fft: zeros(fft)? })
    }

    /// Bytes of one [`Scratch`]: the transform, and as much again for rustfft.
    pub(crate) fn scratch_bytes(bins: usize) -> u64 {
        2 * 8 * padded_bins(bins) as u64
    }

    /// Bytes of the response, the tails and rustfft's tables for both directions.
    pub(crate) fn table_bytes(bins: usize) -> u64 {
        (4 + 2 + 4 * 8) * padded_bins(bins) as u64 + (32 << 10)
    }

    /// Numbers in a line of [`RowFilter::apply_to_line`], and those that it works in besides.
    pub(crate) fn line_lens(&self) -> [usize; 2] {
        let fft = self.forward.get_inplace_scratch_len().max(self.inverse.get_inplace_scratch_len());
        [self.forward.len(), fft]
    }

    /// Filters two rows in place, as the real and imaginary part of one: the response is real and even, so they stay apart.
    pub(crate) fn apply(&self, a: &mut [f32], b: &mut [f32], scratch: &mut Scratch) {
        if self.response.is_empty() {
            return;
        }
        let Scratch { line, fft } = scratch;
        for ((z, &re), &im) in line.iter_mut().zip(a.iter()).zip(b.iter()) {
            *z = Complex { re, im };
        }
        self.apply_to_line(line, fft);
        for ((z, re), im) in line.iter().zip(a).zip(b) {
            (*re, *im) = (z.re, z.im);
        }
    }

    /// Filters the two rows that a line begins with, as real and imaginary part; what follows them is lost.
    pub(crate) fn apply_to_line(&self, line: &mut [Complex<f32>], fft: &mut [Complex<f32>]) {
        if self.response.is_empty() {
            return;
        }
        let (rows, beyond) = line.split_at_mut(self.bins);
        beyond.fill(Complex::default());
        let (first, last) = (rows[0], rows[self.bins - 1]);
        self.forward.process_with_scratch(line, fft);
        for (z, h) in line.iter_mut().zip(&self.response) {
            *z = z.scale(*h);
        }
        self.inverse.process_with_scratch(line, fft);
        for ((z, before), after) in line.iter_mut().zip(&self.tails).zip(self.tails.iter().rev()) {
            *z += first.scale(*before) + last.scale(*after);
        }
    }
}
