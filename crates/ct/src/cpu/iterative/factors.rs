//! One over the sums of A, along rays and over pixels, from the pair itself: A and A^T of ones, for one slice.

use super::pairs::Pairs;
use super::smooth::{self, Part};
use crate::cpu::groups::Lanes;
use crate::geometry::Geometry;
use crate::iterative::Iteration;
use crate::iterative::norms::Norms;
use crate::iterative::smooth::Smooth;
use crate::iterative::space::LEAST;
use crate::output::mask::Mask;
use isocenter_base::context::{Context, Job};
use isocenter_base::cpu::buffer::{Buffer, copied, filled};
use isocenter_base::error::Result;

/// Factors that all slices share, and the mask, as vectors of slices have them.
pub(super) struct Factors {
    /// Of each bin, subset after subset; empty where there are none.
    pub(super) rays: Vec<f32>,
    /// Of each pixel of each subset, 0 outside the mask; empty where there are none.
    pub(super) pixels: Vec<Vec<f32>>,
    /// 1 inside the mask, 0 outside; empty where all is inside.
    pub(super) mask: Vec<f32>,
    pub(super) norms: Option<Norms>,
}

impl Factors {
    pub(super) fn bytes(iteration: &Iteration, g: &Geometry, row_floats: usize) -> u64 {
        let (needs, subsets) = (iteration.needs(), iteration.subsets.all().len());
        let rays = if needs.ray_factors { g.views() * row_floats } else { 0 };
        let images = if needs.pixel_factors { subsets } else { 0 } + usize::from(!iteration.mask.spans().is_empty());
        (4 * (rays + images * g.ny * g.nx) + iteration.smooth.as_ref().map_or(0, Smooth::bytes)) as u64
    }

    /// For vectors whose rows have so many elements, the first bin at `pad`.
    pub(super) fn new(
        (context, job): (&Context, &Job),
        (iteration, g): (&Iteration, &Geometry),
        pairs: &Pairs,
        [row, pad]: [usize; 2],
    ) -> Result<Self> {
        let needs = iteration.needs();
        let mut factors = Self { rays: Vec::new(), pixels: Vec::new(), mask: Vec::new(), norms: None };
        if !iteration.mask.spans().is_empty() {
            factors.mask = ones(&iteration.mask, g)?;
        }
        if !needs.ray_factors && !needs.pixel_factors && !needs.norms {
            return Ok(factors);
        }
        let kept = pairs.kept(g, Lanes::Alone, 1)?;
        let mut packed = Buffer::zeroed(kept.packed)?;
        let mut rows = Buffer::zeroed(kept.rows)?;
        let mut image = Buffer::zeroed(g.ny * g.nx)?;
        let (own, least) = (kept.row, (LEAST * g.pixel_size) as f32);
        factors.norms = iteration.known_norms().filter(|_| needs.norms);
        if needs.norms && factors.norms.is_none() {
            let normal = |x: &[f32]| {
                image.copy_from_slice(x);
                for subset in 0..pairs.len() {
                    pairs.forward((context, job), &kept, subset, &image, &mut packed, &mut rows)?;
                }
                if let Some(smooth) = &iteration.smooth {
                    smooth::approach(context.level(), (&kept, smooth), (&mut rows, None), &Part::of_norms(smooth));
                }
                // One subset: what several give would be added up.
                pairs.adjoint((context, job), &kept, 0, &rows, &mut packed, &mut image)?;
                copied(&image)
            };
            let norms = Norms::new(context, (g, &iteration.mask), normal)?;
            iteration.keep_norms(norms);
            factors.norms = Some(norms);
        }
        if needs.ray_factors {
            image.copy_from_slice(&ones(&iteration.mask, g)?);
            for subset in 0..pairs.len() {
                pairs.forward((context, job), &kept, subset, &image, &mut packed, &mut rows)?;
            }
            factors.rays = filled(g.views() * row, 0.0)?;
            for (to, from) in factors.rays.chunks_exact_mut(row).zip(rows.chunks_exact(own.floats)) {
                let bins = &from[own.pad..][..g.bins];
                to[pad..].iter_mut().zip(bins).for_each(|(to, sum)| *to = inverse(*sum, least));
            }
        }
        if needs.pixel_factors {
            for view in rows.chunks_exact_mut(own.floats) {
                let bins = &mut view[own.pad..][..g.bins];
                bins.iter_mut().for_each(|v| *v = f32::from(!needs.leaves_rays_out || *v >= least));
            }
            for subset in 0..pairs.len() {
                pairs.adjoint((context, job), &kept, subset, &rows, &mut packed, &mut image)?;
                let mut pixels = filled(g.ny * g.nx, 0.0)?;
                for (i, (to, from)) in pixels.chunks_exact_mut(g.nx).zip(image.chunks_exact(g.nx)).enumerate() {
                    let inside = iteration.mask.inside(i);
                    to[inside.clone()].iter_mut().zip(&from[inside]).for_each(|(to, sum)| *to = inverse(*sum, least));
                }
                factors.pixels.push(pixels);
            }
        }
        Ok(factors)
    }
}

/// 1 inside the mask, 0 outside.
fn ones(mask: &Mask, g: &Geometry) -> Result<Vec<f32>> {
    let mut ones = filled(g.ny * g.nx, 0.0)?;
    ones.chunks_exact_mut(g.nx).enumerate().for_each(|(i, row)| row[mask.inside(i)].fill(1.0));
    Ok(ones)
}

/// 0 of what no ray, or no pixel, has a part in.
fn inverse(sum: f32, least: f32) -> f32 {
    if sum >= least { 1.0 / sum } else { 0.0 }
}
