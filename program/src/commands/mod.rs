//! The commands.

pub mod axis;
pub mod bad_views;
mod corrected;
mod decide;
mod history;
pub mod inspect;
mod joined;
mod noise;
mod overlap;
pub mod pet;
mod pictures;
mod placed;
mod probe;
pub mod recon;
mod run;
mod several;
mod shares;
mod sides;
mod trial;
pub mod view;
mod wide;

use crate::cli::Machine;
use crate::frames::Room;
use crate::plan::FlatField;
use crate::scan::{Flats, Nan, Scan};
use crate::team::Team;
use crate::watch::Watch;
use crate::{status, talk, words};
use anyhow::{Context as _, Result};
use isocenter::array::{Array, DType};
use isocenter::context::{Compute, Context, ContextOptions, Log, LogLevel};
use isocenter::ct::{Combine, Ct, FlatFieldOptions, FlatGroup, Geometry, InputKind};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// A context of the library.
fn context(machine: &Machine, nan: Nan, watch: &Arc<Watch>, team: &dyn Team) -> Result<Arc<Context>> {
    let (rank, size) = (team.rank(), team.size());
    context_told(machine, nan, watch, team, move |message| {
        let message = words::of(message);
        if rank > 0 {
            talk::warning(format!("process {rank} of {size}: {message}"));
        } else {
            talk::warning(message);
        }
    })
}

/// The same, with whom warnings are told.
fn context_told(
    machine: &Machine,
    nan: Nan,
    watch: &Arc<Watch>,
    team: &dyn Team,
    warned: impl Fn(&str) + Send + Sync + 'static,
) -> Result<Arc<Context>> {
    let compute = match machine.device.as_str() {
        "cpu" => Compute::Cpu,
        "gpu" => own(team).unwrap_or(Compute::Gpus(Vec::new())),
        _ => own(team).unwrap_or(Compute::Auto),
    };
    let threads = match machine.threads {
        0 => team.threads(),
        wanted => {
            // A process may be bound to fewer than its share of the machine.
            let processors = std::thread::available_parallelism().map_or(wanted, usize::from).max(team.threads());
            let (threads, note) = at_most(wanted, processors);
            note.filter(|_| team.rank() == 0).iter().for_each(talk::note);
            threads
        }
    };
    // What reads and decodes heeds the same number; a pool that is there already has it.
    let _ = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    let (rank, size) = (team.rank(), team.size());
    // Several plans of a run see the same geometry.
    let said = Mutex::new(HashSet::new());
    let log: Log = Box::new(move |level, message| {
        let again = said.lock().is_ok_and(|mut said| !said.insert(message.to_string()));
        match level {
            _ if again => {}
            LogLevel::Warning => warned(message),
            _ if rank > 0 => {}
            _ => talk::remark(words::of(message)),
        }
    });
    let options = ContextOptions {
        compute,
        threads,
        memory_cap: machine.memory.map_or(0, |memory| (memory / 2).max(1)),
        nan_policy: nan.policy(),
        progress: Some(watch.progress()),
        log: Some(log),
        warnings_only: true,
        ..ContextOptions::default()
    };
    let context = Context::new(options).map(Arc::new).context("the library")?;
    let without = team.gathered(context.gpus().len() as f64)?.iter().filter(|&&gpus| gpus == 0.0).count();
    if rank == 0 && (1..size).contains(&without) {
        talk::remark(format_args!("{without} of {size} processes have no GPU, and compute on the processor"));
    }
    Ok(context)
}

/// So many threads, but no more than there are processors: others would take turns with them, and a thousand have no time for anything else.
fn at_most(wanted: usize, processors: usize) -> (usize, Option<String>) {
    let told = || format!("--threads {wanted}: {processors} are used, as many as there are processors for this run");
    (wanted.min(processors), (wanted > processors).then(told))
}

/// The GPUs of a process that has its machine not for itself.
fn own(team: &dyn Team) -> Option<Compute> {
    let [which, of] = team.neighbours();
    let count = isocenter::gpu::device_count().ok().filter(|_| of > 1)?;
    let own = (0..count).filter(|gpu| gpu % of == which % count.min(of)).collect();
    Some(Compute::Gpus(own))
}

/// Where decoded frames may be kept.
fn room(machine: &Machine, team: &dyn Team) -> Room {
    let all = || isocenter::cpu::memory::available().unwrap_or(0) / team.neighbours()[1] as u64;
    let memory = machine.memory.unwrap_or_else(all);
    Room { memory: memory / 2, scratch: machine.scratch.clone().unwrap_or_else(std::env::temp_dir) }
}

/// Bytes of (frames, rows, bins) as an array of the library.
fn array<'a>(bytes: &'a [u8], dtype: DType, shape: [usize; 3]) -> Array<'a> {
    let [frames, rows, bins] = shape;
    assert!(frames * rows * bins * dtype.size() <= bytes.len());
    // As allocators have it for any element.
    assert!(bytes.as_ptr().addr().is_multiple_of(dtype.alignment()));
    let strides = [rows * bins, bins, 1].map(|step| step as isize);
    // SAFETY: the bytes hold as many values, which live for 'a; the library reads them where they lie.
    unsafe { Array::from_raw(bytes.as_ptr(), dtype, shape, strides, None) }
}

/// So many detector rows of a scan, all of which are reconstructed.
fn geometry(scan: &Scan, rows: usize) -> Geometry {
    let [_, _, bins] = scan.views.source.shape();
    let mut geometry = Geometry::new(scan.angles.clone(), bins).with_rows(rows);
    if let Some(pixel) = scan.pixel.millimetres() {
        (geometry.bin_pitch, geometry.pixel_size) = (pixel, pixel);
    }
    geometry
}

/// A plan of the library for some detector rows of a scan, all of which are reconstructed, with their flats and darks.
fn plan(context: &Arc<Context>, scan: &Scan, flat: &FlatField, rows: &[usize]) -> Result<Ct> {
    plan_of(context, scan, flat, rows, geometry(scan, rows.len()))
}

/// The same with another geometry.
fn plan_of(context: &Arc<Context>, scan: &Scan, flat: &FlatField, rows: &[usize], geometry: Geometry) -> Result<Ct> {
    let [_, _, bins] = scan.views.source.shape();
    let mut ct = Ct::new(context.clone());
    ct.set_geometry(geometry)?;
    let Some(first) = scan.flats.first() else { return Ok(ct) };
    let views = scan.views.which.len() as f64;
    let group = |flats: &Flats| FlatGroup {
        frames: flats.frames.which.len(),
        position: (flats.position as f64).min(views),
        monitor: 1.0,
    };
    let groups = if scan.flats.len() > 1 { scan.flats.iter().map(group).collect() } else { Vec::new() };
    let mut bytes = Vec::new();
    for flats in &scan.flats {
        bytes.extend(flats.frames.rows(rows).map_err(status::unreadable)?);
    }
    let count = scan.flats.iter().map(|flats| flats.frames.which.len()).sum();
    let flats = array(&bytes, first.frames.source.dtype(), [count, rows.len(), bins]);
    let held = scan.darks.as_ref().map(|darks| darks.rows(rows)).transpose().map_err(status::unreadable)?;
    let darks = held.as_ref().zip(scan.darks.as_ref());
    let darks = darks.map(|(bytes, darks)| array(bytes, darks.source.dtype(), [darks.which.len(), rows.len(), bins]));
    let combine = if flat.median_flats { Combine::Median } else { Combine::Mean };
    let options = FlatFieldOptions {
        combine,
        groups,
        bad_pixels: flat.bad_pixels,
        eigenflats: flat.eigenflats.unwrap_or(0),
        ..FlatFieldOptions::default()
    };
    let set = ct.set_flat_field_by(Some(flats), darks, &options);
    set.map_err(|error| words::in_rows(error, rows)).context("flats and darks")?;
    Ok(ct)
}

/// What projections of a scan are.
fn input(scan: &Scan) -> InputKind {
    scan.input()
}

#[cfg(test)]
mod tests {
    use super::at_most;

    #[test]
    fn no_more_threads_than_processors() {
        assert_eq!(at_most(1, 2), (1, None));
        assert_eq!(at_most(2, 2), (2, None));
        let (threads, note) = at_most(1000, 2);
        assert!(threads == 2 && note.is_some_and(|note| note.contains("--threads 1000: 2 are used")));
    }
}
