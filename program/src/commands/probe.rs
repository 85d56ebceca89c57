//! `isocenter recon --probe`: how fast a scan is read, slices are made, and a folder is written, here and now.

use super::joined::Joined;
use super::run::{Prepared, prepared};
use crate::frames::Frames;
use crate::memory::{at_least, zeros};
use crate::plan::Plan;
use crate::scan::Scan;
use crate::talk;
use crate::team::Team;
use crate::volume::{Contiguous, PAGE};
use anyhow::{Context as _, Result, bail};
use isocenter::context::Context;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes that are read, and slices are made of, at a time; and how long that goes on.
const PART: usize = 256 << 20;
const LONG: Duration = Duration::from_secs(2);
/// Bytes that are written.
const WRITTEN: usize = 1 << 30;

/// Rates of a process.
struct Rates {
    /// Bytes of decoded frames a second.
    read: f64,
    /// Slices a second, reading and writing apart.
    made: f64,
    /// Bytes a second.
    written: f64,
}

pub fn run(context: &Arc<Context>, plan: &Plan, scans: &[Scan], team: &dyn Team) -> Result<()> {
    if plan.steps.method.together() {
        bail!(
            "--probe makes some slices, which does not tell how long --variation volume takes for all of them together"
        );
    }
    let output = plan.steps.volume.wanted()?;
    let mut prepared = prepared(context, plan, scans, &output)?;
    // Of several that make one volume, the first that has some of its rows.
    let which = prepared.used()[0];
    let (scan, own) = (&scans[which], plan.of(which, scans[which].views.source.shape()[1]));
    let [slices, ny, nx] = prepared.shape();
    let own = Rates { read: read(&own, scan, team)?, made: made(&mut prepared, plan)?, written: write(plan, team)? };
    let sum = |rate: f64| Ok::<f64, anyhow::Error>(team.gathered(rate)?.iter().sum());
    let all = Rates { read: sum(own.read)?, made: sum(own.made)?, written: sum(own.written)? };
    if team.rank() > 0 {
        return Ok(());
    }
    let (bytes, stored) = (scan.views.bytes(slices) as f64, (slices * ny * nx * output.dtype.size()) as f64);
    let taken = [bytes / all.read, slices as f64 / all.made, stored / all.written];
    let bound = (0..3).max_by(|a, b| taken[*a].total_cmp(&taken[*b])).unwrap_or_default();
    let whose = if team.size() > 1 { format!(" by {} processes together", team.size()) } else { String::new() };
    let name = ["reading", "making", "writing"][bound];
    let text = [
        format!("rates{whose}"),
        format!("  reading  {:9.2} GB/s of decoded frames, {}", all.read / 1e9, scan.views.source.storage()),
        format!("  making   {:9.2} slices/s of {ny} x {nx} from {} views", all.made, scan.views.which.len()),
        format!("  writing  {:9.2} GB/s", all.written / 1e9),
        format!(
            "{slices} slices: reading {:.1} s, making {:.1} s, writing {:.1} s; all three at once, about {:.1} s, bound by {name}",
            taken[0], taken[1], taken[2], taken[bound]
        ),
    ];
    let event = json!({
        "processes": team.size(), "slices": slices, "rows": ny, "columns": nx,
        "reading": {"bytes_per_second": all.read, "seconds": taken[0]},
        "making": {"slices_per_second": all.made, "seconds": taken[1]},
        "writing": {"bytes_per_second": all.written, "seconds": taken[2]},
        "seconds": taken[bound], "bound_by": name,
    });
    talk::tell("rates", event, text.join("\n"));
    Ok(())
}

/// Reads as a run does, for some time; each process elsewhere in the scan.
fn read(plan: &Plan, scan: &Scan, team: &dyn Team) -> Result<f64> {
    let Frames { source, which } = &scan.views;
    let [first, end] = plan.rows;
    let row = source.shape()[2] * source.dtype().size();
    // What is decoded is decoded by frames, other frames are read by rows.
    let (frames, rows) = match source.together() {
        Some(_) => ((PART / (row * source.shape()[1]).max(1)).clamp(1, which.len()), source.shape()[1]),
        None => (which.len(), (PART / (row * which.len()).max(1)).clamp(1, end - first)),
    };
    let mut values = Vec::new();
    at_least(&mut values, frames * rows * row)?;
    let (begun, mut done) = (Instant::now(), 0);
    let start = if rows < end - first { first + (end - first) * team.rank() / team.size() } else { 0 };
    let (mut row_at, mut frame_at) = (start, which.len() * team.rank() / team.size());
    while begun.elapsed() < LONG {
        if frames < which.len() {
            frame_at = if frame_at + frames > which.len() { 0 } else { frame_at };
            source.read(&which[frame_at..frame_at + frames], 0..rows, &mut values)?;
            frame_at += frames;
        } else {
            row_at = if row_at + rows > source.shape()[1] { 0 } else { row_at };
            source.read(which, row_at..row_at + rows, &mut values)?;
            row_at += rows;
        }
        done += values.len();
    }
    Ok(done as f64 / begun.elapsed().as_secs_f64())
}

/// Makes slices for some time.
fn made(prepared: &mut Joined<Prepared>, plan: &Plan) -> Result<f64> {
    let [first, end] = plan.rows;
    let mut count = (end - first).min(4);
    loop {
        // What is made once is made before.
        prepared.stream(first..first + count, |_, _| Ok(()))?;
        let (begun, read) = (Instant::now(), prepared.read());
        prepared.stream(first..first + count, |_, _| Ok(()))?;
        let taken = begun.elapsed().saturating_sub(prepared.read() - read);
        if begun.elapsed() > LONG / 2 || count == end - first {
            return Ok(count as f64 / taken.as_secs_f64());
        }
        count = (4 * count).min(end - first);
    }
}

/// Writes a file beside the volume, and removes it.
fn write(plan: &Plan, team: &dyn Team) -> Result<f64> {
    let folder = plan.output.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new().prefix(".isocenter-probe").tempfile_in(folder);
    let file = file.with_context(|| format!("writing into {}", folder.display()))?;
    // Nothing that a file system could make smaller.
    let mut part = zeros(PART / 4 + PAGE)?;
    let lead = part.as_ptr().align_offset(PAGE);
    let part = &mut part[lead..lead + PART / 4];
    let mut state = 1u64;
    for word in part.chunks_exact_mut(8) {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        word.copy_from_slice(&(state ^ state >> 29).to_ne_bytes());
    }
    team.meet()?;
    let begun = Instant::now();
    let values = Contiguous::open(file.path(), 0, part.len(), WRITTEN / part.len())?;
    (0..WRITTEN / part.len()).try_for_each(|k| values.write(k, part))?;
    values.sync()?;
    Ok(WRITTEN as f64 / begun.elapsed().as_secs_f64())
}
