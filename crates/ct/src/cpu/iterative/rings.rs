//! Offsets that all views share, laid out like one row of each group: `[group][bin][lane]`, with the rows' padding, which stays 0.

use isocenter_base::cpu::parallel::*;

/// Rows of groups of slices.
#[derive(Clone, Copy)]
pub(super) struct Bins {
    pub(super) lanes: usize,
    /// Floats of a row.
    pub(super) row: usize,
    pub(super) views: usize,
}

/// Offsets that are summed together.
const TOGETHER: usize = 512;

impl Bins {
    /// See [`Space::spread`].
    ///
    /// [`Space::spread`]: crate::iterative::space::Space::spread
    pub(super) fn spread(&self, offsets: &[f32], (rows, roots): (&mut [f32], Option<&[f32]>), factor: f32) {
        rows.par_chunks_exact_mut(self.row).enumerate().for_each(|(k, row)| {
            let own = row.iter_mut().zip(&offsets[k / self.views * self.row..]);
            match roots {
                None => own.for_each(|(v, r)| *v += factor * r),
                Some(roots) => {
                    own.zip(&roots[k * self.row..]).for_each(|((v, r), root)| *v += factor * root * r);
                }
            }
        });
    }

    /// See [`Space::gather`].
    ///
    /// [`Space::gather`]: crate::iterative::space::Space::gather
    pub(super) fn gather(&self, (rows, roots): (&[f32], Option<&[f32]>), offsets: &mut [f32]) {
        let Self { row, views, .. } = *self;
        let groups = offsets.par_chunks_exact_mut(row).enumerate();
        groups.for_each(|(group, own)| {
            own.par_chunks_mut(TOGETHER).enumerate().for_each(|(k, part)| {
                let (mut sums, n) = ([0.0f64; TOGETHER], part.len());
                for view in 0..views {
                    let at = (group * views + view) * row + k * TOGETHER;
                    let sums = sums.iter_mut().zip(&rows[at..at + n]);
                    match roots {
                        None => sums.for_each(|(sum, v)| *sum += f64::from(*v)),
                        Some(roots) => {
                            sums.zip(&roots[at..at + n]).for_each(|((sum, v), root)| *sum += f64::from(root * v));
                        }
                    }
                }
                part.iter_mut().zip(sums).for_each(|(to, sum)| *to = sum as f32);
            });
        });
    }

    /// See [`Space::shift`]; `part` of the step, and the weight.
    ///
    /// [`Space::shift`]: crate::iterative::space::Space::shift
    pub(super) fn shift(
        &self,
        [offsets, gradient, ahead]: [&mut [f32]; 3],
        [steps, relaxed]: [&[f32]; 2],
        [part, weight]: [f32; 2],
    ) {
        let all = offsets.iter_mut().zip(gradient).zip(ahead).enumerate();
        for (e, ((r, gradient), ahead)) in all {
            let lane = e / self.row * self.lanes + e % self.lanes;
            let step = part * steps[lane];
            let moved = *r + step * *gradient;
            let next = (moved.abs() - step * weight).max(0.0).copysign(moved);
            *gradient = next;
            *ahead = 2.0 * next - *r;
            *r += relaxed[lane] * (next - *r);
        }
    }

    /// The two numbers of [`Limit`] for each lane.
    ///
    /// [`Limit`]: crate::iterative::space::Limit
    pub(super) fn limit(
        &self,
        (offsets, sums): (&[f32], &mut [f32]),
        mass: Option<&[f32]>,
        weight: f32,
    ) -> Vec<[f64; 2]> {
        let mut found = vec![[0.0; 2]; offsets.len() / self.row * self.lanes];
        for (e, (r, s)) in offsets.iter().zip(sums).enumerate() {
            let kept = s.clamp(-weight, weight);
            let own = f64::from(weight) * f64::from(r.abs());
            let found = &mut found[e / self.row * self.lanes + e % self.lanes];
            found[0] += own;
            found[1] += own - f64::from(kept) * f64::from(*r);
            let mass = mass.map_or(self.views as f32, |mass| mass[e]);
            *s = if mass > 0.0 { (*s - kept) / mass } else { 0.0 };
        }
        found
    }
}
