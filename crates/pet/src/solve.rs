//! How an image is found: what is iterated, over which views, and what a pass tells.

use super::prior::Given;
use super::stopping::{Bounds, Regions};
use isocenter_base::cpu::random::{OneByOne, Random};
use std::sync::Arc;

/// Counts of which all views are taken together.
const NEXT_TO_NONE: f64 = 1000.0;

/// What is iterated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Row-action maximum likelihood, one view at a time.
    #[default]
    Ramla,
    /// Ordered subsets of views.
    Osem,
    /// All views at a time.
    Mlem,
    /// Gradients of subsets, with ever smaller steps.
    Bsrem,
    /// Gradients of subsets, corrected by what they were for an earlier image.
    Svrg,
}

impl Algorithm {
    /// Whether it goes up a gradient, which may be that of a prior too.
    pub(super) fn climbs(self) -> bool {
        matches!(self, Self::Bsrem | Self::Svrg)
    }

    /// As options say it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ramla => "0 (ramla)",
            Self::Osem => "1 (osem)",
            Self::Mlem => "2 (mlem)",
            Self::Bsrem => "3 (bsrem)",
            Self::Svrg => "4 (svrg)",
        }
    }
}

/// The order in which views are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Each far from the one before.
    #[default]
    Geometric,
    /// Another in every pass, by a seed.
    Random(u64),
    /// The caller's.
    Given,
}

/// How an image is found.
#[derive(Clone, Debug)]
pub(super) struct Solve {
    pub(super) algorithm: Algorithm,
    pub(super) order: Vec<usize>,
    /// Seed of random orders.
    pub(super) shuffle: Option<u64>,
    pub(super) subsets: usize,
    /// Whether the caller chose them: others are joined where there are few counts.
    pub(super) subsets_given: bool,
    pub(super) iterations: usize,
    /// Passes made before.
    pub(super) first: usize,
    pub(super) relaxation: f64,
    pub(super) decay: f64,
    pub(super) warm: bool,
    pub(super) prior: Option<Arc<Given>>,
    pub(super) bounds: Bounds,
    pub(super) regions: Option<Arc<Regions>>,
}

/// What a pass over the views saw.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Iteration {
    /// Sum of d ln e - e over voxels of histo-images, each view with the image as it was when the view's turn came.
    pub log_likelihood: f64,
    /// What the prior takes off, for the image that the pass began with.
    pub penalty: f64,
    /// |after - before| / |after|; 0 unless it was asked for by a bound.
    pub change: f64,
    /// Largest change of a region's mean, over the mean of all regions; 0 as `change`, or without regions.
    pub region_change: f64,
    /// Voxels with counts where none are expected.
    pub skipped: u64,
}

impl Solve {
    /// Volumes that must be there at a time.
    pub(super) fn volumes(&self) -> usize {
        // Images of two passes, to be compared.
        let compared = if self.bounds == Bounds::default() { 0 } else { 2 };
        let own = match self.algorithm {
            // Image and ratio; what voxels begin as 0.
            Algorithm::Ramla => 3,
            // Quotients' back projection and sensitivity.
            Algorithm::Osem | Algorithm::Mlem => 4,
            Algorithm::Bsrem | Algorithm::Svrg => {
                // Weights of seen voxels, slope and curvature.
                let prior = self.prior.as_ref().map_or(0, |given| 3 + given.volumes());
                // An anchor, its gradient, that of a subset, and what steps are over.
                let anchor = if self.algorithm == Algorithm::Svrg { 4 } else { 0 };
                // Image, ratio, sensitivity, gradient.
                4 + prior + anchor
            }
        };
        own + compared
    }

    /// Views of each subset, in the order that is given; none where views follow one another.
    pub(super) fn parts(&self) -> Vec<Vec<usize>> {
        match self.algorithm {
            Algorithm::Ramla => Vec::new(),
            _ => (0..self.subsets).map(|s| self.subset(&self.order, s)).collect(),
        }
    }

    /// Which subsets are taken together, of so many counts in an image of so many voxels: two groups, one of next to no counts, and more where each has half a count a voxel at least. Of fewer, a
    /// gradient is that of single counts, which says little of the other views'.
    pub(super) fn groups(&self, counts: f64, voxels: usize) -> Vec<Vec<usize>> {
        let least = if counts < NEXT_TO_NONE { 1 } else { 2 };
        let most = ((2.0 * counts / voxels as f64) as usize).max(least);
        let count = if self.subsets_given { self.subsets } else { self.subsets.min(most) };
        (0..count).map(|group| (group..self.subsets).step_by(count).collect()).collect()
    }

    /// Views of a subset, by the order of a pass.
    pub(super) fn subset(&self, order: &[usize], s: usize) -> Vec<usize> {
        order.iter().copied().skip(s).step_by(self.subsets).collect()
    }

    /// A list in the order of a pass.
    pub(super) fn shuffled(&self, mut list: Vec<usize>, pass: usize) -> Vec<usize> {
        if let Some(seed) = self.shuffle {
            let mut random = OneByOne::uniform(Random::new(seed, 0, pass as u64));
            for k in (1..list.len()).rev() {
                list.swap(k, (random.draw() * (k + 1) as f64) as usize);
            }
        }
        list
    }
}
