//! `isocenter recon` and `repeat`: slabs of rows from the scan file, through the library, into the volume file.

use super::axis::{Search, told};
use super::{array, context, input, plan};
use crate::cli::{Recon, Repeat};
use crate::plan::Plan;
use crate::report::{Image, Report};
use crate::scan::Scan;
use crate::volume::hdf5::{About, Writer};
use crate::watch::Watch;
use anyhow::{Result, bail};
use isocenter::array::{ArrayMut, DType};
use isocenter::context::Context;
use isocenter::ct::{Ct, Filter, FoundAxis, Geometry, Options, Slab};
use isocenter::error::{Error, Status};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub fn run(recon: &Recon) -> Result<()> {
    let (watch, start) = (Watch::new()?, Instant::now());
    let context = context(&recon.machine, &watch)?;
    let scan = Scan::open(&recon.scan)?;
    let (plan, axis) = decide(recon, &context, &scan)?;
    let run = Run { context, watch, plan, scan, axis, start };
    let written = run.plan.write()?;
    run.go()?;
    println!("plan {}", written.display());
    Ok(())
}

pub fn repeat(repeat: &Repeat) -> Result<()> {
    let (watch, start) = (Watch::new()?, Instant::now());
    let context = context(&repeat.machine, &watch)?;
    let plan = Plan::read(&repeat.plan)?;
    let scan = Scan::open(&plan.scan)?;
    Run { context, watch, plan, scan, axis: None, start }.go()
}

/// The plan of what was said on the command line: what was left to be found is found.
fn decide(recon: &Recon, context: &Arc<Context>, scan: &Scan) -> Result<(Plan, Option<FoundAxis>)> {
    let all = scan.views.source.shape()[1];
    let rows = recon.rows.unwrap_or([0, all]);
    if rows[1] > all {
        bail!("--rows {}..{}: the scan has {all}", rows[0], rows[1]);
    }
    let steps = recon.steps.clone();
    let found = match recon.axis {
        Some(_) => None,
        None => {
            let distortion = steps.distortion.wanted()?;
            let found = Search { scan, flat: &steps.flats, distortion, tilt: false }.run(context, rows[0]..rows[1])?;
            println!("{}", told(&found));
            Some(found)
        }
    };
    let axis = recon.axis.or(found.as_ref().map(|found| found.axis)).unwrap_or_default();
    let output = recon.output.clone().unwrap_or_else(|| beside(&recon.scan));
    Ok((Plan { scan: recon.scan.clone(), output, axis, rows, pixel: recon.pixel, steps }, found))
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

/// A plan at work.
struct Run {
    context: Arc<Context>,
    watch: Arc<Watch>,
    plan: Plan,
    scan: Scan,
    /// Of the search, where there was one.
    axis: Option<FoundAxis>,
    start: Instant,
}

/// What a stream leaves behind.
#[derive(Default)]
struct Streamed {
    read: Duration,
    write: Duration,
    /// The middle slice, as it is stored.
    middle: Vec<u8>,
}

impl Run {
    fn go(&self) -> Result<()> {
        let Self { plan: wanted, scan, .. } = self;
        let [views, all, bins] = [scan.views.which.len(), scan.views.source.shape()[1], scan.views.source.shape()[2]];
        let [first, end] = wanted.rows;
        if first >= end || end > all {
            bail!("rows {first}..{end}: the scan has {all}");
        }
        let rows: Vec<usize> = (0..all).collect();
        let mut ct = plan(&self.context, scan, wanted.pixel, &wanted.steps.flats, &rows)?;
        let mut geometry = ct.geometry()?.clone();
        (geometry.axis, geometry.first_row, geometry.slices) = (vec![wanted.axis], first, end - first);
        if wanted.steps.slices.half_acquisition.wanted(scan, wanted.axis) {
            // All that is seen, about the axis.
            let side = 2.0 * wanted.axis.max(bins as f64 - 1.0 - wanted.axis) + 1.0;
            (geometry.nx, geometry.ny) = (side.ceil() as usize, side.ceil() as usize);
        }
        let shape @ [slices, ny, nx] = geometry.volume_shape();
        ct.set_geometry(geometry)?;
        ct.set_options(Options { input: input(scan), interpolation: wanted.interpolation(), ..Options::default() })?;
        wanted.set_up(&mut ct, scan)?;
        let dtype = wanted.steps.volume.dtype();
        let about = About { title: scan.title.as_deref(), pixel: wanted.pixel.or(scan.pixel), plan: &wanted.text()? };
        let writer = Writer::create(&wanted.output, shape, dtype, &about)?;
        let memory = ct.memory()?;
        self.watch.begin();
        let streamed = self.stream(&mut ct, &writer, ny * nx * dtype.size());
        self.watch.end();
        let (streamed, written) = (streamed?, ct.written()?);
        writer.finish(written.slope, written.offset)?;
        let seconds = self.start.elapsed().as_secs_f64();
        println!("{}: {slices} slices of {ny} x {nx} in {seconds:.1} s", wanted.output.display());
        let stored = values(&streamed.middle, dtype);
        let (slope, offset) = (written.slope, written.offset);
        let middle = first + slices / 2;
        let slice = Image {
            values: stored.map(|v| (f64::from(v) * slope + offset) as f32).collect(),
            columns: nx,
            caption: format!("slice of row {middle}"),
        };
        let name = wanted.output.display().to_string();
        let seconds = |time: Duration| format!("{:.2} s", time.as_secs_f64());
        let facts = vec![
            ("scan", format!("{}, {}", wanted.scan.display(), scan.format)),
            ("title", scan.title.clone().unwrap_or_default()),
            (
                "projections",
                format!(
                    "{views} of {all} rows x {bins} bins, {:?}, {}",
                    scan.views.source.dtype(),
                    scan.views.source.storage()
                ),
            ),
            (
                "volume",
                format!(
                    "{slices} slices of {ny} x {nx}, {dtype:?}: {:.1} MB",
                    (shape.iter().product::<usize>() * dtype.size()) as f64 / 1e6
                ),
            ),
            ("axis", format!("{:.3}", wanted.axis)),
            (
                "time",
                format!(
                    "{} in all, {} of them reading, {} writing",
                    seconds(self.start.elapsed()),
                    seconds(streamed.read),
                    seconds(streamed.write)
                ),
            ),
            ("memory", format!("{:.1} MB of the library", memory as f64 / 1e6)),
            ("isocenter", env!("CARGO_PKG_VERSION").into()),
        ];
        let sinogram = self.sinogram(middle)?;
        let report = Report { title: name, facts, slice, sinogram, axis: self.axis.clone(), plan: wanted.text()? };
        let path = wanted.output.with_extension("html");
        report.write(&path)?;
        println!("report {}", path.display());
        Ok(())
    }

    /// All slabs; a slice of the volume has so many bytes.
    fn stream(&self, ct: &mut Ct, writer: &Writer, slice: usize) -> Result<Streamed> {
        let (source, which) = (&self.scan.views.source, &self.scan.views.which);
        let (bins, middle) = (source.shape()[2], (self.plan.rows[1] - self.plan.rows[0]) / 2);
        let mut done = Streamed::default();
        let (mut reading, mut writing, mut kept) = (Duration::ZERO, Duration::ZERO, Vec::new());
        let read = |slab: Slab| {
            let begun = Instant::now();
            let rows = slab.first_row..slab.first_row + slab.shape[1];
            let bytes = which.len() * rows.len() * bins * slab.dtype.size();
            // SAFETY: the slab's array, (views, rows, bins), lent for this call.
            let to = unsafe { std::slice::from_raw_parts_mut(slab.data, bytes) };
            source.read(which, rows, to).map_err(handed)?;
            reading += begun.elapsed();
            Ok(())
        };
        let write = |slab: Slab| {
            let begun = Instant::now();
            // SAFETY: the slab's array of finished slices, lent for this call.
            let from = unsafe { std::slice::from_raw_parts(slab.data, slab.count * slice) };
            writer.write((slab.first * slice) as u64, from).map_err(handed)?;
            if (slab.first..slab.first + slab.count).contains(&middle) {
                kept = from[(middle - slab.first) * slice..][..slice].to_vec();
            }
            writing += begun.elapsed();
            Ok(())
        };
        ct.reconstruct_stream(source.dtype(), read, write)?;
        (done.read, done.write, done.middle) = (reading, writing, kept);
        Ok(done)
    }

    /// Line integrals of a detector row as they are measured.
    fn sinogram(&self, row: usize) -> Result<Image> {
        let Self { scan, plan: wanted, .. } = self;
        let [_, _, bins] = scan.views.source.shape();
        let views = scan.views.which.len();
        let mut ct = plan(&self.context, scan, wanted.pixel, &wanted.steps.flats, &[row])?;
        let geometry = Geometry { axis: vec![wanted.axis], ..ct.geometry()?.clone() };
        ct.set_geometry(geometry)?;
        ct.set_options(Options { input: input(scan), filter: Filter::None, ..Options::default() })?;
        let bytes = scan.views.rows(&[row])?;
        let mut values = vec![0.0; views * bins];
        let to = ArrayMut::new(&mut values, [views, 1, bins])?;
        ct.filter(array(&bytes, scan.views.source.dtype(), [views, 1, bins]), to)?;
        Ok(Image { values, columns: bins, caption: format!("line integrals of row {row}, views from top to bottom") })
    }
}

/// Numbers of a volume, as they are stored.
fn values(bytes: &[u8], dtype: DType) -> Box<dyn Iterator<Item = f32> + '_> {
    match dtype {
        DType::U8 => Box::new(bytes.iter().map(|v| f32::from(*v))),
        DType::U16 => Box::new(bytes.chunks_exact(2).map(|v| f32::from(u16::from_ne_bytes([v[0], v[1]])))),
        _ => Box::new(bytes.chunks_exact(4).map(|v| f32::from_ne_bytes([v[0], v[1], v[2], v[3]]))),
    }
}
