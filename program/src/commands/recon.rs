//! `isocenter recon` and `repeat`: slabs of rows from the scan file, through the library, into the volume file.

use super::axis::{Search, told};
use super::{context, input, plan, room};
use crate::cli::{Recon, Repeat};
use crate::plan::Plan;
use crate::scan::Scan;
use crate::volume::hdf5::{About, Writer};
use anyhow::{Result, bail};
use isocenter::context::Context;
use isocenter::ct::{Ct, Geometry, Options, Slab};
use isocenter::error::{Error, Status};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub fn run(recon: &Recon) -> Result<()> {
    let context = context(&recon.machine)?;
    let mut scan = Scan::open(&recon.scan)?;
    let rows = rows(recon.rows, &scan)?;
    scan.hold(&around(rows, &scan).collect::<Vec<_>>(), &mut room(&recon.machine))?;
    let plan = decide(recon, rows, &context, &scan)?;
    let written = plan.write()?;
    reconstruct(&context, &plan, &scan)?;
    println!("plan {}", written.display());
    Ok(())
}

pub fn repeat(repeat: &Repeat) -> Result<()> {
    let context = context(&repeat.machine)?;
    let plan = Plan::read(&repeat.plan)?;
    let mut scan = Scan::open(&plan.scan)?;
    let rows = rows(Some(plan.rows), &scan)?;
    scan.hold(&around(rows, &scan).collect::<Vec<_>>(), &mut room(&repeat.machine))?;
    reconstruct(&context, &plan, &scan)
}

/// Rows on either side of those that are wanted, at which steps may look: they are decoded with them.
const BESIDE: usize = 64;

/// The rows that are wanted, which have to be there; all of them if none are named.
fn rows(wanted: Option<[usize; 2]>, scan: &Scan) -> Result<[usize; 2]> {
    let all = scan.views.source.shape()[1];
    let [first, end] = wanted.unwrap_or([0, all]);
    if first >= end || end > all {
        bail!("rows {first}..{end}: the scan has {all}");
    }
    Ok([first, end])
}

/// Some rows and those beside them.
fn around([first, end]: [usize; 2], scan: &Scan) -> Range<usize> {
    first.saturating_sub(BESIDE)..end.saturating_add(BESIDE).min(scan.views.source.shape()[1])
}

/// The plan of what was said on the command line: what was left to be found is found.
fn decide(recon: &Recon, rows: [usize; 2], context: &Arc<Context>, scan: &Scan) -> Result<Plan> {
    let steps = recon.steps.clone();
    let axis = match recon.axis {
        Some(axis) => axis,
        None => {
            let distortion = steps.distortion.wanted()?;
            let found = Search { scan, flat: &steps.flats, distortion, tilt: false }.run(context, rows[0]..rows[1])?;
            println!("{}", told(&found));
            found.axis
        }
    };
    let output = recon.output.clone().unwrap_or_else(|| beside(&recon.scan));
    Ok(Plan { scan: recon.scan.clone(), output, axis, rows, pixel: recon.pixel, steps })
}

/// The volume's name for a scan's.
fn beside(scan: &Path) -> PathBuf {
    let stem = scan.file_stem().unwrap_or_default().to_string_lossy();
    PathBuf::from(format!("{stem}_volume.h5"))
}

/// An error of this program for the library, which hands it back from callbacks.
fn handed(error: anyhow::Error) -> Error {
    Error { status: Status::Callback, message: format!("{error:#}") }
}

fn reconstruct(context: &Arc<Context>, wanted: &Plan, scan: &Scan) -> Result<()> {
    let start = Instant::now();
    let [_, all, bins] = scan.views.source.shape();
    let [first, end] = wanted.rows;
    let mut ct = plan(context, scan, wanted.pixel, &wanted.steps.flats, &(0..all).collect::<Vec<_>>())?;
    let mut geometry =
        Geometry { axis: vec![wanted.axis], first_row: first, slices: end - first, ..ct.geometry()?.clone() };
    if wanted.steps.slices.half_acquisition.wanted(scan, wanted.axis) {
        // All that is seen, about the axis.
        let side = 2.0 * wanted.axis.max(bins as f64 - 1.0 - wanted.axis) + 1.0;
        (geometry.nx, geometry.ny) = (side.ceil() as usize, side.ceil() as usize);
    }
    let shape = geometry.volume_shape();
    ct.set_geometry(geometry)?;
    ct.set_options(Options { input: input(scan), interpolation: wanted.interpolation(), ..Options::default() })?;
    wanted.set_up(&mut ct, scan)?;
    let dtype = wanted.steps.volume.dtype();
    let about = About { title: scan.title.as_deref(), pixel: wanted.pixel.or(scan.pixel), plan: &wanted.text()? };
    let writer = Writer::create(&wanted.output, shape, dtype, &about)?;
    stream(&mut ct, scan, &writer, shape[1] * shape[2] * dtype.size())?;
    let written = ct.written()?;
    writer.finish(written.slope, written.offset)?;
    let ([n, ny, nx], seconds) = (shape, start.elapsed().as_secs_f64());
    println!("{}: {n} slices of {ny} x {nx} in {seconds:.1} s", wanted.output.display());
    Ok(())
}

/// All slabs; a slice of the volume has so many bytes.
fn stream(ct: &mut Ct, scan: &Scan, writer: &Writer, slice: usize) -> Result<()> {
    let bins = scan.views.source.shape()[2];
    let read = |slab: Slab| {
        let rows = slab.first_row..slab.first_row + slab.shape[1];
        let bytes = scan.views.which.len() * rows.len() * bins * slab.dtype.size();
        // SAFETY: the slab's array, (views, rows, bins), lent for this call.
        let to = unsafe { std::slice::from_raw_parts_mut(slab.data, bytes) };
        scan.views.source.read(&scan.views.which, rows, to).map_err(handed)
    };
    let write = |slab: Slab| {
        // SAFETY: the slab's array of finished slices, lent for this call.
        let from = unsafe { std::slice::from_raw_parts(slab.data, slab.count * slice) };
        writer.write((slab.first * slice) as u64, from).map_err(handed)
    };
    Ok(ct.reconstruct_stream(scan.views.source.dtype(), read, write)?)
}
