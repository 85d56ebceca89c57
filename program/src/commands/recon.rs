//! `isocenter recon`: slabs of rows from the scan file, through the library, into the volume file.

use super::{axis, context, plan};
use crate::cli::Recon;
use crate::plan::{Depth, Plan, StripeMethod};
use crate::scan::Scan;
use crate::volume::hdf5::{About, Writer};
use anyhow::{Context as _, Result, bail};
use isocenter::array::DType;
use isocenter::context::Context;
use isocenter::ct::{Ct, Output, Slab, Stripes, Vo, Window};
use isocenter::error::{Error, Status};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

pub fn run(recon: &Recon) -> Result<()> {
    let start = Instant::now();
    let context = context(&recon.machine)?;
    let (plan, scan) = match &recon.plan {
        Some(path) => {
            let plan = Plan::read(path)?;
            let scan = Scan::open(&plan.scan)?;
            (plan, scan)
        }
        None => decide(recon, &context)?,
    };
    let written = plan.write()?;
    reconstruct(&context, &plan, &scan)?;
    println!("{} in {:.1} s; plan in {}", plan.volume.display(), start.elapsed().as_secs_f64(), written.display());
    Ok(())
}

/// The plan of what was said on the command line.
fn decide(recon: &Recon, context: &Arc<Context>) -> Result<(Plan, Scan)> {
    let path = recon.scan.as_deref().context("there is no scan")?;
    let scan = Scan::open(path)?;
    let all = scan.views.source.shape()[1];
    let rows = recon.rows.unwrap_or([0, all]);
    if rows[1] > all {
        bail!("rows {}..{} of a scan that has {all}", rows[0], rows[1]);
    }
    let axis = match recon.axis {
        Some(axis) => axis,
        None => {
            let found = axis::find(context, &scan, rows[0]..rows[1])?;
            println!("axis {:.3} +- {:.3}, confidence {:.2}", found.axis, found.error, found.confidence);
            found.axis
        }
    };
    let window = recon.window.as_ref().map(|w| [w[0], w[1]]);
    let volume = recon.output.clone().unwrap_or_else(|| beside(path));
    let (stripes, depth) = (recon.stripes, recon.depth);
    Ok((Plan { scan: path.to_owned(), volume, axis, rows, stripes, depth, window }, scan))
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
    let [_, all, bins] = scan.views.source.shape();
    let [first, end] = wanted.rows;
    let mut ct = plan(context, scan, Some(wanted.axis), 0..all)?;
    let geometry = isocenter::ct::Geometry { first_row: first, slices: end - first, ..ct.geometry()?.clone() };
    let shape = geometry.volume_shape();
    ct.set_geometry(geometry)?;
    configure(&mut ct, wanted)?;
    let dtype = match wanted.depth {
        Depth::F32 => DType::F32,
        Depth::U16 => DType::U16,
        Depth::U8 => DType::U8,
    };
    let text = toml::to_string_pretty(wanted)?;
    let about = About { title: scan.title.as_deref(), pixel: scan.pixel, plan: &text };
    let writer = Writer::create(&wanted.volume, shape, dtype, &about)?;
    let slice = (shape[1] * shape[2] * dtype.size()) as u64;
    let read = |slab: Slab| {
        let rows = slab.first_row..slab.first_row + slab.shape[1];
        let bytes = scan.views.which.len() * rows.len() * bins * slab.dtype.size();
        // SAFETY: the slab's array, (views, rows, bins), lent for this call.
        let to = unsafe { std::slice::from_raw_parts_mut(slab.data, bytes) };
        scan.views.source.read(&scan.views.which, rows, to).map_err(handed)
    };
    let write = |slab: Slab| {
        // SAFETY: the slab's array of finished slices, lent for this call.
        let from = unsafe { std::slice::from_raw_parts(slab.data, slab.count * slice as usize) };
        writer.write(slab.first as u64 * slice, from).map_err(handed)
    };
    ct.reconstruct_stream(scan.views.source.dtype(), read, write)?;
    let written = ct.written()?;
    writer.finish(written.slope, written.offset)
}

/// The steps and the volume's type.
fn configure(ct: &mut Ct, wanted: &Plan) -> Result<()> {
    match wanted.stripes {
        StripeMethod::Off => {}
        StripeMethod::Significant => ct.set_stripes(Some(Stripes::Significant))?,
        StripeMethod::Vo => ct.set_stripes(Some(Stripes::Vo(Vo { snr: 3.0, large: 0, small: 0, dropped: 0.1 })))?,
    }
    let window = match (wanted.depth, wanted.window) {
        (Depth::F32, None) => return Ok(()),
        (Depth::F32, Some(_)) => bail!("a window is for integers; --depth u16 or u8"),
        (_, Some([low, high])) => Window::Given { low, high },
        (_, None) => {
            let [low, high] = Window::PERCENTILES;
            Window::Percentiles { low, high, slices: None }
        }
    };
    let dtype = if wanted.depth == Depth::U8 { DType::U8 } else { DType::U16 };
    Ok(ct.set_output(Output { dtype, window: Some(window), ..Output::default() })?)
}
