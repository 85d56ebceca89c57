//! The weight of total variation that projections ask for by their noise.

use super::axis::looked_at;
use super::{array, geometry, plan_of};
use crate::plan::Plan;
use crate::scan::Scan;
use crate::words;
use anyhow::{Context as _, Result, bail};
use isocenter::context::Context;
use isocenter::ct::{Distortion, Geometry, Suggested};
use std::sync::Arc;

/// Of some rows of a plan.
pub fn suggested(context: &Arc<Context>, wanted: &Plan, scan: &Scan) -> Result<Suggested> {
    let [first, end] = wanted.rows;
    let [_, all, bins] = scan.views.source.shape();
    if wanted.steps.phase.method.is_some() {
        bail!(
            "--phase makes neighbouring bins share noise, by which no weight can be told: --regularisation gives one"
        );
    }
    let distortion = wanted.steps.distortion.wanted(scan, &wanted.input.detector)?;
    let (read, own) = looked_at(all, first..end, distortion.is_some());
    let mut whole = geometry(scan, read.len());
    wanted.whole(scan, &mut whole)?;
    whole.axis = vec![wanted.axis];
    let mut ct = plan_of(context, scan, &wanted.steps.flats.of_rows(), &read, whole)?;
    let whole = ct.geometry()?.clone();
    ct.set_geometry(Geometry { first_row: own.start, slices: own.len(), ..whole })?;
    // Within the bounds and the circle that slices will have.
    wanted.check(&mut ct, scan)?;
    let moved = |d: Distortion| Distortion { centre: [d.centre[0], d.centre[1] - read[0] as f64], ..d };
    ct.set_distortion(distortion.map(moved))?;
    let bytes = scan.views.rows(&read)?;
    let frames = array(&bytes, scan.views.source.dtype(), [scan.views.which.len(), read.len(), bins]);
    let found = ct.suggest_regularisation(frames).map_err(|error| words::in_rows(error, &read));
    let found = found.context("the weight of total variation by noise")?;
    if found.weight == 0.0 {
        bail!("the projections have no noise, by which --regularisation could be told: give one");
    }
    Ok(found)
}
