//! How flats and darks make the flat field.

use super::combine::Combine;
use crate::rows::outliers::Outliers;
use isocenter_base::error::{Result, fail};

/// Flats that were taken together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlatGroup {
    /// How many frames.
    pub frames: usize,
    /// Views that were taken before them.
    pub position: f64,
    /// What the beam's monitor said.
    pub monitor: f64,
}

/// How flats and darks make the flat field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlatFieldOptions {
    /// What becomes of several darks, and of the flats of a group.
    pub combine: Combine,
    /// Flats in the order of their frames, between which views are interpolated; none: all of them are one group.
    pub groups: Vec<FlatGroup>,
    /// What the beam's monitor said in each view; or nothing.
    pub monitor: Vec<f64>,
    /// Finds bad pixels: how far they are from their neighbours, in multiples of the noise.
    pub bad_pixels: Option<f64>,
    /// Removed from each frame before it is combined with others.
    pub outliers: Option<Outliers>,
    /// Maximum number of components of what differs between flats that views are fitted with; 0 for none.
    pub eigenflats: usize,
}

/// Maximum number of components.
const MAX_EIGENFLATS: usize = 20;
/// Flats beyond which their eigenvectors would take too long.
const MAX_FLATS: usize = 512;

impl FlatFieldOptions {
    /// Refuses what is out of range, naming the field, for so many flats and views.
    pub(crate) fn check(&self, flats: usize, views: usize) -> Result<()> {
        let frames: usize = self.groups.iter().map(|g| g.frames).fold(0, usize::saturating_add);
        if !self.groups.is_empty() && frames != flats {
            fail!(OutOfRange, "options.group_frames add up to {frames}; flats has {flats} frames");
        }
        for (k, group) in self.groups.iter().enumerate() {
            let FlatGroup { frames, position, monitor } = *group;
            if frames == 0 {
                fail!(OutOfRange, "options.group_frames[{k}] is 0; a group has 1 frame or more");
            }
            if !position.is_finite() {
                fail!(NotFiniteParameter, "options.group_positions[{k}] is {position}; it must be finite");
            }
            if !(0.0..=views as f64).contains(&position) {
                fail!(
                    OutOfRange,
                    "options.group_positions[{k}] is {position}, outside the scan; it is the number of views taken before, 0 to {views}"
                );
            }
            if let Some(before) = self.groups[..k].last().map(|g| g.position)
                && position <= before
            {
                let what = if position == before { "two groups at one place" } else { "not in order" };
                fail!(
                    OutOfRange,
                    "options.group_positions[{k}] is {position} after {before}: {what}; positions must ascend, and flats of one place are one group"
                );
            }
            check_monitor(monitor, &format!("options.group_monitor[{k}]"))?;
        }
        if !self.monitor.is_empty() && self.monitor.len() != views {
            fail!(
                OutOfRange,
                "options.monitor_count is {}; it must be the number of views, {views}",
                self.monitor.len()
            );
        }
        for (view, monitor) in self.monitor.iter().enumerate() {
            check_monitor(*monitor, &format!("options.monitor[{view}]"))?;
        }
        if let Some(threshold) = self.bad_pixels {
            if !threshold.is_finite() {
                fail!(NotFiniteParameter, "options.bad_pixels is {threshold}; it must be finite");
            }
            if !(1.0..=1e6).contains(&threshold) {
                fail!(
                    OutOfRange,
                    "options.bad_pixels is {threshold}; it must be 1 to 1e6 times the noise, or 0 for none"
                );
            }
        }
        self.check_eigenflats(flats)?;
        self.outliers.as_ref().map_or(Ok(()), Outliers::check)
    }

    /// Each group's mean takes a flat's worth of what there is to know, each component another, and one has to be left for noise.
    fn check_eigenflats(&self, flats: usize) -> Result<()> {
        let (wanted, groups) = (self.eigenflats, self.groups.len().max(1));
        if wanted > MAX_EIGENFLATS {
            fail!(OutOfRange, "options.eigenflats is {wanted}; it must be 0 to {MAX_EIGENFLATS}");
        }
        let needed = wanted + groups + 1;
        if wanted > 0 && flats < needed {
            let of = if groups == 1 { String::new() } else { format!(" in {groups} groups") };
            fail!(
                OutOfRange,
                "options.eigenflats is {wanted}, which needs {needed} flats or more{of}; flats has {flats}"
            );
        }
        if wanted > 0 && flats > MAX_FLATS {
            fail!(
                OutOfRange,
                "options.eigenflats is {wanted} with {flats} flats; it takes {MAX_FLATS} of them at most"
            );
        }
        Ok(())
    }
}

fn check_monitor(value: f64, name: &str) -> Result<()> {
    if !value.is_finite() {
        fail!(NotFiniteParameter, "{name} is {value}; it must be finite");
    }
    if !(1e-30..=1e30).contains(&value) {
        fail!(OutOfRange, "{name} is {value}; it must be above 0 (1e-30 to 1e30)");
    }
    Ok(())
}
