//! Which datasets may be frames, and which flats and darks beside them.

use super::axes;
use crate::frames::{Frames, joined, of_dataset};
use crate::scan::stack::{AFTER, BEFORE};
use crate::scan::terms::{self, is_darks, is_flats};
use crate::scan::tree::{Found, Tree, told};
use anyhow::{Context, Result, bail};

/// Whether a stack may be projections: several frames that are neither flats nor darks, nor slices.
pub fn may_be(stack: &Found, sinograms: bool) -> bool {
    let other = |path: &String| is_flats(path) || is_darks(path) || terms::has(terms::parts(path)[0], &["bkg"]);
    let file = stack.dataset.file().ok();
    let volume = file.is_some_and(|file| axes::are_of_volume(&file, stack));
    stack.shape[usize::from(sinograms)] > 1 && !stack.paths.iter().any(other) && !volume
}

/// Stacks and images of the size of frames that are named as flats and darks.
pub struct Others<'a> {
    flats: Vec<&'a Found>,
    pub darks: Vec<&'a Found>,
}

impl<'a> Others<'a> {
    /// Those beside a stack, of which frames have this shape.
    pub fn of(tree: &'a Tree, stack: &Found, [_, rows, bins]: [usize; 3]) -> Self {
        let of_size = |found: &&Found| match found.shape[..] {
            [frames, r, b] => frames > 0 && [r, b] == [rows, bins],
            [r, b] => [r, b] == [rows, bins],
            _ => false,
        };
        let all = || tree.found.iter().filter(of_size).filter(|found| found.path() != stack.path());
        let any = |found: &&Found, is: fn(&str) -> bool| found.paths.iter().any(|path| is(path));
        let darks: Vec<_> = all().filter(|found| any(found, is_darks)).collect();
        // What lies beside darks and is called background (at NSLS-II: img_bkg) is flats.
        let is_background = |path: &str| terms::has(terms::parts(path)[0], &["bkg"]);
        let flats =
            all().filter(|found| any(found, is_flats) || (!darks.is_empty() && any(found, is_background))).collect();
        Self { flats, darks }
    }

    /// Flats and how many of so many views were taken before them.
    pub fn flats(&self, views: usize) -> Result<Vec<(&'a Found, usize)>> {
        let has = |found: &&Found, of: &[&str]| {
            found.paths.iter().any(|path| terms::parts(path).iter().any(|name| terms::has(name, of)))
        };
        let (after, rest): (Vec<_>, Vec<_>) = self.flats.iter().copied().partition(|found| has(found, &AFTER));
        let (before, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|found| has(found, &BEFORE));
        let before = [before, rest].concat();
        if before.len() > 1 || after.len() > 1 {
            bail!(
                "flats may be {}: --flats names one, or those before and, given again, those after the projections",
                told(self.flats.iter().copied())
            );
        }
        Ok(before.into_iter().map(|found| (found, 0)).chain(after.into_iter().map(|found| (found, views))).collect())
    }

    /// All darks.
    pub fn darks(&self) -> Result<Option<Frames>> {
        if self.darks.is_empty() {
            return Ok(None);
        }
        let sources = self.darks.iter().map(|found| of_dataset(found.dataset.clone())).collect::<Result<_>>()?;
        Ok(Some(Frames::all(joined(sources).context("darks")?)))
    }
}
