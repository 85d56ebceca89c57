//! `isocenter axis`: the rotation axis, from some rows.

use super::bad_views::leave_out;
use super::{array, context, input, plan, room};
use crate::cli::Axis;
use crate::plan::FlatField;
use crate::scan::Scan;
use crate::team::Alone;
use crate::watch::Watch;
use crate::{status, talk, words};
use anyhow::{Context as _, Result};
use isocenter::context::Context;
use isocenter::ct::{AxisMethod, AxisOptions, Distortion, FoundAxis, Geometry, Options};
use serde_json::json;
use std::ops::Range;
use std::sync::Arc;

/// Rows that the search looks at, at most.
const ROWS: usize = 24;
/// Points of the search's curve.
const CURVE: usize = 401;
/// Rows on either side of these that are read where a distortion is taken out.
const BESIDE: usize = 64;

pub fn run(axis: &Axis) -> Result<()> {
    let team = Alone::default();
    let context = context(&axis.machine, axis.input.nan, &Watch::new()?, &team)?;
    let mut scan = Scan::open(&axis.scan, &axis.input).map_err(status::unreadable)?;
    let rows = scan.views.source.shape()[1];
    let held = scan.hold(&looked_at(rows, 0..rows, false).0, &mut room(&axis.machine, &team), &team);
    held.map_err(status::unreadable)?;
    let flat = FlatField::default();
    leave_out(axis.bad_views, &context, &mut scan, (&axis.input, &flat), 0..rows)?;
    let search = Search { scan: &scan, flat: &flat, distortion: None, range: None, tilt: axis.tilt };
    let found = search.run(&context, 0..rows)?;
    tell(&found, axis.tilt);
    Ok(())
}

/// Says what was found.
pub fn tell(found: &FoundAxis, tilt: bool) {
    let FoundAxis { axis, error, confidence, method, half_acquisition, .. } = found;
    let method = match method {
        AxisMethod::Auto => "auto",
        AxisMethod::OppositeViews => "opposite-views",
        AxisMethod::Sinogram => "sinogram",
        AxisMethod::Sharpness => "sharpness",
    };
    let event = json!({
        "axis": axis, "error": error, "confidence": confidence, "method": method, "half_acquisition": half_acquisition,
        "tilt": tilt.then_some(found.tilt),
    });
    let more = if tilt { format!("\ntilt {:.6} bins a row", found.tilt) } else { String::new() };
    talk::tell("axis", event, told(found) + &more);
}

/// In words.
fn told(found: &FoundAxis) -> String {
    let FoundAxis { axis, error, confidence, method, half_acquisition, .. } = found;
    let half = if *half_acquisition { ", a half acquisition" } else { "" };
    format!("axis {axis:.3} +- {error:.3} bins, confidence {confidence:.2} ({method:?}){half}")
}

/// The rows that are read, and those of them that are searched, of a detector that has so many.
pub fn looked_at(all: usize, rows: Range<usize>, distorted: bool) -> (Vec<usize>, Range<usize>) {
    if distorted {
        // About the middle, where frames are turned about.
        let count = (ROWS + all % 2).min(all);
        let first = (all - count) / 2;
        let beside = first.min(BESIDE);
        return ((first - beside..first + count + beside).collect(), beside..beside + count);
    }
    let count = ROWS.min(rows.len());
    let step = |k: usize| rows.start + (k * (rows.len() - 1) + (count - 1) / 2) / (count - 1).max(1);
    ((0..count).map(step).collect(), 0..count)
}

/// What is searched.
pub struct Search<'a> {
    pub scan: &'a Scan,
    pub flat: &'a FlatField,
    pub distortion: Option<Distortion>,
    /// First and last axis to look at; None for all.
    pub range: Option<[f64; 2]>,
    pub tilt: bool,
}

impl Search<'_> {
    /// The axis at the middle of some rows, or of the detector where a distortion is taken out.
    pub fn run(&self, context: &Arc<Context>, rows: Range<usize>) -> Result<FoundAxis> {
        let [_, all, bins] = self.scan.views.source.shape();
        let (read, own) = looked_at(all, rows, self.distortion.is_some());
        let mut ct = plan(context, self.scan, &self.flat.of_rows(), &read)?;
        let geometry = ct.geometry()?.clone();
        ct.set_geometry(Geometry { first_row: own.start, slices: own.len(), ..geometry })?;
        ct.set_options(Options { input: input(self.scan), ..Options::default() })?;
        let shifted = |d: &Distortion| Distortion { centre: [d.centre[0], d.centre[1] - read[0] as f64], ..d.clone() };
        ct.set_distortion(self.distortion.as_ref().map(shifted))?;
        let bytes = self.scan.views.rows(&read).map_err(status::unreadable)?;
        let (dtype, views) = (self.scan.views.source.dtype(), self.scan.views.which.len());
        let options = AxisOptions { tilt: self.tilt, curve: CURVE, range: self.range, ..AxisOptions::default() };
        let found = ct.find_axis(array(&bytes, dtype, [views, read.len(), bins]), &options);
        let found = found.map_err(|error| words::in_rows(error, &read)).context("searching the rotation axis")?;
        // Rows that were read are so far apart.
        let apart = (read[read.len() - 1] - read[0]) as f64 / (read.len() - 1).max(1) as f64;
        Ok(FoundAxis { tilt: found.tilt / apart.max(1.0), ..found })
    }
}
